// SPDX-License-Identifier: MIT
/* Handles, arguments that are none, and what a board is. */
#include "tests/guest/rfm2g/private.h"

void opening(void)
{
	RFM2GHANDLE handle = NULL, second = (RFM2GHANDLE)&handle;
	RFM2G_NODE node;

	IS(RFM2gOpen(NULL, &handle), BAD_PARAMETER_1);
	IS(RFM2gOpen(near_path, NULL), BAD_PARAMETER_2);
	IS(RFM2gOpen("/dev/rfm2g4711", &handle), NO_RFM2G_BOARD);
	IS(RFM2gOpen("/nowhere/rfm2g0", &handle), NO_RFM2G_BOARD);
	IS(RFM2gOpen("/dev/null", &handle), OS_ERROR);
	IS(RFM2gOpen("/tmp", &handle), NOT_OPEN);
	CHECK(!handle);

	/* A handle that is not NULL is no error, and a board has many. */
	IS(RFM2gOpen(near_path, &handle), SUCCESS);
	IS(RFM2gOpen(near_path, &second), SUCCESS);
	CHECK(handle && second && handle != second && handle != near);
	IS(RFM2gNodeID(second, &node), SUCCESS);
	CHECK_EQ(node, near_node);
	IS(RFM2gClose(&second), SUCCESS);
	CHECK(!second);
	IS(RFM2gNodeID(handle, &node), SUCCESS);
	second = handle;
	IS(RFM2gClose(&handle), SUCCESS);
	IS(RFM2gClose(&handle), NULL_DESCRIPTOR);
	IS(RFM2gClose(&second), BAD_PARAMETER_1);
	IS(RFM2gClose(NULL), BAD_PARAMETER_1);

	/* A program with a fixed path is sent elsewhere. */
	setenv("RFM_CARD_4711", near_path, 1);
	IS(RFM2gOpen("/dev/rfm2g4711", &handle), SUCCESS);
	IS(RFM2gNodeID(handle, &node), SUCCESS);
	CHECK_EQ(node, near_node);
	CHECK_EQ(handle->Config.Unit, 4711 & 0xff);
	IS(RFM2gClose(&handle), SUCCESS);
	unsetenv("RFM_CARD_4711");
	setenv("RFM_CARD", near_path, 1);
	IS(RFM2gOpen("/dev/rfm2g0", &handle), SUCCESS);
	IS(RFM2gClose(&handle), SUCCESS);
	unsetenv("RFM_CARD");
}

/* Every call that has a handle says so if it is none. */
static void every_call(RFM2GHANDLE h, RFM2G_STATUS expected)
{
	RFM2GCONFIG config;
	RFM2GEVENTINFO info = { .Event = RFM2GEVENT_INTR1 };
	RFM2GQINFO queue = { .Event = RFM2GEVENT_INTR1 };
	RFM2G_MEM_OFFSETTYPE offset;
	volatile void *map = &config;
	char text[128];
	RFM2G_NODE node;
	RFM2G_BOOL on;
	RFM2G_UINT8 u8;
	RFM2G_UINT16 u16;
	RFM2G_UINT32 u32;
	RFM2G_UINT64 u64;
	unsigned int calls = 0;

#define CALL(call)	(calls++, CHECK_EQ(call, expected))
	CALL(RFM2gGetConfig(h, &config));
	CALL(RFM2gNodeID(h, &node));
	CALL(RFM2gBoardID(h, &u8));
	CALL(RFM2gSize(h, &u32));
	CALL(RFM2gFirst(h, &u32));
	CALL(RFM2gDeviceName(h, text));
	CALL(RFM2gDllVersion(h, text));
	CALL(RFM2gDriverVersion(h, text));
	CALL(RFM2gUserMemory(h, &map, 0, 1));
	CALL(RFM2gUserMemoryBytes(h, &map, 0, 1));
	CALL(RFM2gUnMapUserMemory(h, &map, 1));
	CALL(RFM2gUnMapUserMemoryBytes(h, &map, 1));
	CALL(RFM2gRead(h, 0, &u32, 4));
	CALL(RFM2gWrite(h, 0, &u32, 4));
	CALL(RFM2gPeek8(h, 0, &u8));
	CALL(RFM2gPeek16(h, 0, &u16));
	CALL(RFM2gPeek32(h, 0, &u32));
	CALL(RFM2gPeek64(h, 0, &u64));
	CALL(RFM2gPoke8(h, 0, 0));
	CALL(RFM2gPoke16(h, 0, 0));
	CALL(RFM2gPoke32(h, 0, 0));
	CALL(RFM2gPoke64(h, 0, 0));
	CALL(RFM2gGetDMAThreshold(h, &u32));
	CALL(RFM2gSetDMAThreshold(h, 0));
	CALL(RFM2gGetDMAByteSwap(h, &on));
	CALL(RFM2gSetDMAByteSwap(h, 0));
	CALL(RFM2gGetPIOByteSwap(h, &on));
	CALL(RFM2gSetPIOByteSwap(h, 0));
	CALL(RFM2gGetSlidingWindow(h, &u32, &u32));
	CALL(RFM2gSetSlidingWindow(h, 0));
	CALL(RFM2gEnableEvent(h, RFM2GEVENT_INTR1));
	CALL(RFM2gDisableEvent(h, RFM2GEVENT_INTR1));
	CALL(RFM2gSendEvent(h, RFM2G_NODE_ALL, RFM2GEVENT_INTR1, 0));
	CALL(RFM2gWaitForEvent(h, &info));
	CALL(RFM2gCancelWaitForEvent(h, RFM2GEVENT_INTR1));
	CALL(RFM2gEnableEventCallback(h, RFM2GEVENT_INTR1, no_callback));
	CALL(RFM2gDisableEventCallback(h, RFM2GEVENT_INTR1));
	CALL(RFM2gClearEvent(h, RFM2GEVENT_INTR1));
	CALL(RFM2gClearEventCount(h, RFM2GEVENT_INTR1));
	CALL(RFM2gGetEventCount(h, RFM2GEVENT_INTR1, &u32));
	CALL(RFM2gGetEventStats(h, &queue));
	CALL(RFM2gClearEventStats(h, RFM2GEVENT_INTR1));
	CALL(RFM2gFlushEventQueue(h, RFM2GEVENT_INTR1));
	CALL(RFM2gGetLed(h, &on));
	CALL(RFM2gSetLed(h, 0));
	CALL(RFM2gCheckRingCont(h));
	CALL(RFM2gGetDarkOnDark(h, &on));
	CALL(RFM2gSetDarkOnDark(h, 0));
	CALL(RFM2gClearOwnData(h, &on));
	CALL(RFM2gGetTransmit(h, &on));
	CALL(RFM2gSetTransmit(h, 1));
	CALL(RFM2gGetLoopback(h, &on));
	CALL(RFM2gSetLoopback(h, 0));
	CALL(RFM2gGetParityEnable(h, &on));
	CALL(RFM2gSetParityEnable(h, 0));
	CALL(RFM2gGetMemoryOffset(h, &offset));
	CALL(RFM2gSetMemoryOffset(h, RFM2G_MEM_OFFSET0));
	CALL(RFM2gReadReg(h, RFM2GMEM, 0, 4, &u32));
	CALL(RFM2gWriteReg(h, RFM2GMEM, 0, 4, 0));
	CALL(RFM2gSetReg(h, RFM2GMEM, 0, 4, 0));
	CALL(RFM2gClearReg(h, RFM2GMEM, 0, 4, 0));
	CALL(RFM2gMapDeviceMemory(h, RFM2GCTRLREGMEM, &map));
	CALL(RFM2gUnMapDeviceMemory(h, RFM2GCTRLREGMEM, &map));
	CALL(RFM2gGetDebugFlags(h, &u32));
	CALL(RFM2gSetDebugFlags(h, 0));
	CALL(RFM2gClose(&h));
#undef CALL
	/* The other two are RFM2gOpen() and RFM2gErrorMsg(). */
	CHECK_EQ(calls, 66);
}

void a_handle_is_null(void)
{
	every_call(NULL, RFM2G_NULL_DESCRIPTOR);
}

void a_handle_is_stale(void)
{
	every_call(stale, RFM2G_BAD_PARAMETER_1);
	/* Nor is a place that only looks like one. */
	every_call((RFM2GHANDLE)(uintptr_t)8, RFM2G_BAD_PARAMETER_1);
}

/* A NULL pointer is named by its position. */
void a_pointer_is_null(void)
{
	RFM2GHANDLE h = near;
	RFM2G_UINT32 word;

	IS(RFM2gGetConfig(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gNodeID(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gBoardID(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gSize(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gFirst(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gDeviceName(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gDllVersion(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gDriverVersion(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gUserMemory(h, NULL, 0, 1), BAD_PARAMETER_2);
	IS(RFM2gUserMemoryBytes(h, NULL, 0, 1), BAD_PARAMETER_2);
	IS(RFM2gUnMapUserMemory(h, NULL, 1), BAD_PARAMETER_2);
	IS(RFM2gUnMapUserMemoryBytes(h, NULL, 1), BAD_PARAMETER_2);
	IS(RFM2gRead(h, 0, NULL, 4), BAD_PARAMETER_3);
	IS(RFM2gWrite(h, 0, NULL, 4), BAD_PARAMETER_3);
	IS(RFM2gPeek8(h, 0, NULL), BAD_PARAMETER_3);
	IS(RFM2gPeek16(h, 0, NULL), BAD_PARAMETER_3);
	IS(RFM2gPeek32(h, 0, NULL), BAD_PARAMETER_3);
	IS(RFM2gPeek64(h, 0, NULL), BAD_PARAMETER_3);
	IS(RFM2gGetDMAThreshold(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetDMAByteSwap(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetPIOByteSwap(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetSlidingWindow(h, NULL, &word), BAD_PARAMETER_2);
	IS(RFM2gGetSlidingWindow(h, &word, NULL), BAD_PARAMETER_3);
	IS(RFM2gWaitForEvent(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gEnableEventCallback(h, RFM2GEVENT_INTR1, NULL), BAD_PARAMETER_3);
	IS(RFM2gGetEventCount(h, RFM2GEVENT_INTR1, NULL), BAD_PARAMETER_3);
	IS(RFM2gGetEventStats(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetLed(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetDarkOnDark(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gClearOwnData(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetTransmit(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetLoopback(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetParityEnable(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gGetMemoryOffset(h, NULL), BAD_PARAMETER_2);
	IS(RFM2gReadReg(h, RFM2GMEM, 0, 4, NULL), BAD_PARAMETER_5);
	IS(RFM2gMapDeviceMemory(h, RFM2GCTRLREGMEM, NULL), BAD_PARAMETER_3);
	IS(RFM2gUnMapDeviceMemory(h, RFM2GCTRLREGMEM, NULL), BAD_PARAMETER_3);
	IS(RFM2gGetDebugFlags(h, NULL), BAD_PARAMETER_2);
}

void an_event_is_none(void)
{
	const RFM2GEVENTTYPE bad[] = { RFM2GEVENT_LAST, RFM2GEVENT_LAST + 1, (RFM2GEVENTTYPE)-1 };
	RFM2G_UINT32 count;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		RFM2GEVENTTYPE event = bad[i];
		RFM2GEVENTINFO info = { .Event = event };
		RFM2GQINFO queue = { .Event = event };

		IS(RFM2gEnableEvent(near, event), BAD_PARAMETER_2);
		IS(RFM2gDisableEvent(near, event), BAD_PARAMETER_2);
		IS(RFM2gSendEvent(near, far_node, event, 0), BAD_PARAMETER_3);
		IS(RFM2gWaitForEvent(near, &info), BAD_PARAMETER_2);
		IS(RFM2gCancelWaitForEvent(near, event), BAD_PARAMETER_2);
		IS(RFM2gEnableEventCallback(near, event, no_callback), BAD_PARAMETER_2);
		IS(RFM2gDisableEventCallback(near, event), BAD_PARAMETER_2);
		IS(RFM2gGetEventCount(near, event, &count), BAD_PARAMETER_2);
		IS(RFM2gGetEventStats(near, &queue), BAD_PARAMETER_2);
		/* Where something is cleared the first of these is all. */
		CHECK_EQ(RFM2gClearEvent(near, event), i ? RFM2G_BAD_PARAMETER_2 : 0);
		CHECK_EQ(RFM2gClearEventCount(near, event), i ? RFM2G_BAD_PARAMETER_2 : 0);
		CHECK_EQ(RFM2gClearEventStats(near, event), i ? RFM2G_BAD_PARAMETER_2 : 0);
		CHECK_EQ(RFM2gFlushEventQueue(near, event), i ? RFM2G_BAD_PARAMETER_2 : 0);
	}
}

/* --- what it is -------------------------------------------------------------------- */

void what_it_is(void)
{
	RFM2G_UINT32 word = 0xa5a5a5a5, flags;
	RFM2GCONFIG config;
	char text[128];
	RFM2G_UINT8 board;

	memset(&config, 0xa5, sizeof(config));
	IS(RFM2gGetConfig(near, &config), SUCCESS);
	CHECK_EQ(config.NodeId, near_node);
	CHECK_EQ(config.BoardId, 0x65);
	CHECK_EQ(config.MemorySize, size);
	CHECK_EQ(config.PciConfig.rfm2gWindowSize, size);
	CHECK(!strcmp(config.Device, near_path));
	CHECK(!strcmp(config.Name, "SW-RFM2G-DRV-LNX"));
	CHECK(!strcmp(config.DriverVersion, "R09.00"));
	CHECK_EQ(near->Config.MemorySize, size);
	CHECK_EQ(near->Config.NodeId, near_node);
	CHECK_EQ(on_card, !!config.PciConfig.rfm2gBase);
	IS(RFM2gBoardID(near, &board), SUCCESS);
	CHECK_EQ(board, 0x65);
	IS(RFM2gFirst(near, &word), SUCCESS);
	CHECK_EQ(word, 0);
	IS(RFM2gDeviceName(near, text), SUCCESS);
	CHECK(!strcmp(text, near_path));
	IS(RFM2gDllVersion(near, text), SUCCESS);
	CHECK(!strcmp(text, "R09.00"));
	IS(RFM2gDriverVersion(near, text), SUCCESS);
	CHECK(!strcmp(text, "R09.00"));

	IS(RFM2gGetDebugFlags(near, &flags), SUCCESS);
	CHECK_EQ(flags, RFM2G_DBERROR);
	IS(RFM2gSetDebugFlags(near, RFM2G_DBERROR | RFM2G_DBTRACE), SUCCESS);
	IS(RFM2gGetDebugFlags(far, &word), SUCCESS);
	CHECK_EQ(word, RFM2G_DBERROR | RFM2G_DBTRACE);
	IS(RFM2gSetDebugFlags(near, flags), SUCCESS);
}

void every_status_has_a_sentence(void)
{
	CHECK(!strcmp(RFM2gErrorMsg(RFM2G_SUCCESS), "No error"));
	for (int i = 0; i <= RFM2G_MAX_ERROR_CODE; i++)
		for (int k = 0; k < i; k++)
			CHECK(RFM2gErrorMsg(i) && strcmp(RFM2gErrorMsg(i), RFM2gErrorMsg(k)));
	CHECK(RFM2gErrorMsg(-1) == RFM2gErrorMsg(RFM2G_MAX_ERROR_CODE));
	CHECK(RFM2gErrorMsg(4711) == RFM2gErrorMsg(RFM2G_MAX_ERROR_CODE));
}
