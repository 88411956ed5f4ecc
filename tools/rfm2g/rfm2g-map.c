/* SPDX-License-Identifier: MIT */
/*
 * The memory of a board as memory of the program: shows some words of a page, or stores a
 * counter there so many times a second, or waits until somebody does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rfm2g_api.h"

#define PAGE		4096u
#define SHOWN		8
#define STEP_US		10000
#define PATIENCE_STEPS	6000

static RFM2GHANDLE handle;
static volatile void *memory;

static void check(const char *call, RFM2G_STATUS status)
{
	if (status == RFM2G_SUCCESS)
		return;
	fprintf(stderr, "rfm2g-map: %s: %s\n", call, RFM2gErrorMsg(status));
	exit(1);
}

static void show(void)
{
	volatile RFM2G_UINT32 *word = (volatile RFM2G_UINT32 *)memory;
	int i;

	for (i = 0; i < SHOWN; i++)
		printf("0x%08x%c", word[i], i < SHOWN - 1 ? ' ' : '\n');
}

/* Every store goes to all nodes. */
static void count(RFM2G_UINT32 number)
{
	volatile RFM2G_UINT32 *word = (volatile RFM2G_UINT32 *)memory;
	RFM2G_UINT32 i;

	for (i = 1; i <= number; i++) {
		word[0] = i;
		usleep(STEP_US);
	}
}

/* Every load is local. -1: it has not come */
static int wait_for(RFM2G_UINT32 number)
{
	volatile RFM2G_UINT32 *word = (volatile RFM2G_UINT32 *)memory;
	int i;

	for (i = 0; i < PATIENCE_STEPS; i++) {
		if (word[0] == number)
			return 0;
		usleep(STEP_US);
	}
	fprintf(stderr, "rfm2g-map: the word is still 0x%x\n", word[0]);
	return -1;
}

static RFM2G_UINT64 get_number(const char *word, RFM2G_UINT64 limit)
{
	RFM2G_UINT64 number;
	char *end;

	number = strtoull(word, &end, 0);
	if (*word >= '0' && *word <= '9' && !*end && number <= limit)
		return number;
	fprintf(stderr, "rfm2g-map: '%s' is no number, or too great\n", word);
	exit(2);
}

int main(int argc, char **argv)
{
	int counts = argc == 5 && !strcmp(argv[3], "count");
	int waits = argc == 5 && !strcmp(argv[3], "wait");
	RFM2G_UINT32 number = 0;
	RFM2G_UINT64 offset;
	int status = 0;

	if (argc != 3 && !counts && !waits) {
		fprintf(stderr, "usage: rfm2g-map DEVICE OFFSET [count NUMBER|wait NUMBER]\n");
		return 2;
	}
	offset = get_number(argv[2], (RFM2G_UINT64)-1);
	if (counts || waits)
		number = (RFM2G_UINT32)get_number(argv[4], 0xffffffff);
	check("RFM2gOpen", RFM2gOpen(argv[1], &handle));
	check("RFM2gUserMemory", RFM2gUserMemory(handle, &memory, offset & ~(RFM2G_UINT64)(PAGE - 1),
						 1));
	if (counts)
		count(number);
	else if (waits)
		status = wait_for(number);
	show();
	check("RFM2gUnMapUserMemory", RFM2gUnMapUserMemory(handle, &memory, 1));
	check("RFM2gClose", RFM2gClose(&handle));
	return status ? 1 : 0;
}
