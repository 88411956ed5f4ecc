/* SPDX-License-Identifier: MIT */
/*
 * One of a pair with rfm2g-receive: writes data, sends an event behind it, waits for the
 * event of the other node that says that its answer is there, and looks at the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm2g_api.h"

#define OFFSET_DATA	0x1000
#define OFFSET_ANSWER	0x2000
#define LENGTH		256
#define TIMEOUT_MS	10000
#define START_MS	500	/* until the other node is asked again whether it is there */
#define START_TRIES	120

/* Says which call has failed; the program ends. */
static void check(const char *call, RFM2G_STATUS status)
{
	if (status == RFM2G_SUCCESS)
		return;
	fprintf(stderr, "rfm2g-send: %s: %s\n", call, RFM2gErrorMsg(status));
	exit(1);
}

/* What round @round is about: bytes of which none is that of another round near it. */
static void make_data(RFM2G_UINT8 *data, RFM2G_UINT32 round)
{
	RFM2G_UINT32 i;

	for (i = 0; i < LENGTH; i++)
		data[i] = (RFM2G_UINT8)(round * 7 + i);
}

/* Until the answer to this round is there; those to earlier ones may come before it. */
static RFM2G_STATUS wait_for_answer(RFM2GHANDLE handle, RFM2G_UINT32 round, RFM2G_UINT32 timeout)
{
	RFM2GEVENTINFO info;
	RFM2G_STATUS status;

	do {
		memset(&info, 0, sizeof(info));
		info.Event = RFM2GEVENT_INTR2;
		info.Timeout = timeout;
		status = RFM2gWaitForEvent(handle, &info);
	} while (status == RFM2G_SUCCESS && info.ExtendedInfo != round);
	return status;
}

static void exchange(RFM2GHANDLE handle, RFM2G_NODE node, RFM2G_UINT32 round)
{
	RFM2G_UINT8 data[LENGTH], answer[LENGTH], wanted;
	RFM2G_STATUS status;
	int tries = round == 1 ? START_TRIES : 1, i;

	make_data(data, round);
	/* The other program may not run yet. */
	do {
		check("RFM2gWrite", RFM2gWrite(handle, OFFSET_DATA, data, LENGTH));
		check("RFM2gSendEvent", RFM2gSendEvent(handle, node, RFM2GEVENT_INTR1, round));
		status = wait_for_answer(handle, round, round == 1 ? START_MS : TIMEOUT_MS);
	} while (status == RFM2G_TIMED_OUT && --tries);
	check("RFM2gWaitForEvent", status);
	check("RFM2gRead", RFM2gRead(handle, OFFSET_ANSWER, answer, LENGTH));
	for (i = 0; i < LENGTH; i++) {
		wanted = (RFM2G_UINT8)~data[i];
		if (answer[i] == wanted)
			continue;
		fprintf(stderr, "rfm2g-send: round %u: byte %d of the answer is 0x%02x, "
			"not 0x%02x\n", round, i, answer[i], wanted);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	RFM2GHANDLE handle = NULL;
	RFM2G_UINT32 round, rounds;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: rfm2g-send DEVICE NODE [ROUNDS]\n");
		return 2;
	}
	rounds = argc > 3 ? (RFM2G_UINT32)strtoul(argv[3], NULL, 0) : 1;
	check("RFM2gOpen", RFM2gOpen(argv[1], &handle));
	check("RFM2gClearEvent", RFM2gClearEvent(handle, RFM2GEVENT_INTR2));
	check("RFM2gEnableEvent", RFM2gEnableEvent(handle, RFM2GEVENT_INTR2));
	for (round = 1; round <= rounds; round++)
		exchange(handle, (RFM2G_NODE)strtoul(argv[2], NULL, 0), round);
	check("RFM2gDisableEvent", RFM2gDisableEvent(handle, RFM2GEVENT_INTR2));
	check("RFM2gClose", RFM2gClose(&handle));
	printf("%u rounds\n", rounds);
	return 0;
}
