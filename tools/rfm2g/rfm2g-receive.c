/* SPDX-License-Identifier: MIT */
/*
 * One of a pair with rfm2g-send: waits for its event, reads its data, writes the complement
 * as the answer, and sends an event behind it. Ends after so many rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rfm2g_api.h"

#define OFFSET_DATA	0x1000
#define OFFSET_ANSWER	0x2000
#define LENGTH		256
#define TIMEOUT_MS	60000

/* Says which call has failed; the program ends. */
static void check(const char *call, RFM2G_STATUS status)
{
	if (status == RFM2G_SUCCESS)
		return;
	fprintf(stderr, "rfm2g-receive: %s: %s\n", call, RFM2gErrorMsg(status));
	exit(1);
}

/* Returns the number of the round. */
static RFM2G_UINT32 answer(RFM2GHANDLE handle)
{
	RFM2G_UINT8 data[LENGTH];
	RFM2GEVENTINFO info;
	int i;

	memset(&info, 0, sizeof(info));
	info.Event = RFM2GEVENT_INTR1;
	info.Timeout = TIMEOUT_MS;
	check("RFM2gWaitForEvent", RFM2gWaitForEvent(handle, &info));
	check("RFM2gRead", RFM2gRead(handle, OFFSET_DATA, data, LENGTH));
	for (i = 0; i < LENGTH; i++)
		data[i] = (RFM2G_UINT8)~data[i];
	check("RFM2gWrite", RFM2gWrite(handle, OFFSET_ANSWER, data, LENGTH));
	check("RFM2gSendEvent", RFM2gSendEvent(handle, info.NodeId, RFM2GEVENT_INTR2,
					       info.ExtendedInfo));
	return info.ExtendedInfo;
}

int main(int argc, char **argv)
{
	RFM2GHANDLE handle = NULL;
	RFM2G_UINT32 rounds;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: rfm2g-receive DEVICE [ROUNDS]\n");
		return 2;
	}
	rounds = argc > 2 ? (RFM2G_UINT32)strtoul(argv[2], NULL, 0) : 1;
	check("RFM2gOpen", RFM2gOpen(argv[1], &handle));
	/* What was left by somebody who has not waited for it is none of our rounds. */
	check("RFM2gClearEvent", RFM2gClearEvent(handle, RFM2GEVENT_INTR1));
	check("RFM2gEnableEvent", RFM2gEnableEvent(handle, RFM2GEVENT_INTR1));
	while (answer(handle) < rounds)
		;
	check("RFM2gDisableEvent", RFM2gDisableEvent(handle, RFM2GEVENT_INTR1));
	check("RFM2gClose", RFM2gClose(&handle));
	printf("%u rounds\n", rounds);
	return 0;
}
