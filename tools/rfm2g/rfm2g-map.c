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

int main(int argc, char **argv)
{
	RFM2G_UINT64 offset;
	RFM2G_UINT32 number;
	int status = 0;

	if (argc < 3 || argc == 4 || argc > 5) {
		fprintf(stderr, "usage: rfm2g-map DEVICE OFFSET [show 0|count NUMBER|wait NUMBER]\n");
		return 2;
	}
	offset = strtoull(argv[2], NULL, 0);
	number = argc > 4 ? (RFM2G_UINT32)strtoul(argv[4], NULL, 0) : 0;
	check("RFM2gOpen", RFM2gOpen(argv[1], &handle));
	check("RFM2gUserMemory", RFM2gUserMemory(handle, &memory, offset & ~(RFM2G_UINT64)(PAGE - 1),
						 1));
	if (argc > 3 && !strcmp(argv[3], "count"))
		count(number);
	else if (argc > 3 && !strcmp(argv[3], "wait"))
		status = wait_for(number);
	show();
	check("RFM2gUnMapUserMemory", RFM2gUnMapUserMemory(handle, &memory, 1));
	check("RFM2gClose", RFM2gClose(&handle));
	return status ? 1 : 0;
}
