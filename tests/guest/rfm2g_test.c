// SPDX-License-Identifier: MIT
/*
 * librfm2g: rfm2g_test NEAR FAR [NARROW | SPARE_NEAR SPARE_FAR]. Two nodes on one ring, cards
 * of this machine or nodes in this process ("ring:..."); a card whose window is smaller than
 * its memory; and two for a process that ends while it has them, the same unless given. All
 * 68 calls: success, errors, NULL and stale handles, threads, fork, an exit in a callback.
 * One source for both kinds. rfm2g_test --gone CARD is what programs see of a card that goes,
 * --back CARD also of the one in its place.
 */
#include <pthread.h>
#include <linux/capability.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rfm2g_api.h>

#include "dma.h"

#define IS(call, status)	CHECK_EQ(call, RFM2G_##status)
#define PLACE	0x20000u		/* of the words here; each case has a page of its own */
#define LAST	(size - 8)

static char *near_path, *far_path, *narrow_path, *spare_near, *spare_far;
static RFM2GHANDLE near, far, stale;
static RFM2G_UINT32 size;
static RFM2G_NODE near_node, far_node;
static bool on_card;

/* What has been stored and sent by the near node is at the far one. */
static bool settle(void)
{
	static RFM2G_UINT32 number;
	RFM2GEVENTINFO info = { .Event = RFM2GEVENT_INTR4, .Timeout = PATIENCE_MS };
	RFM2G_STATUS status;

	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR4), SUCCESS);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_INTR4, ++number), SUCCESS);
	do {
		status = RFM2gWaitForEvent(far, &info);
	} while (!status && info.ExtendedInfo != number);
	return IS(status, SUCCESS);
}

static RFM2GEVENTINFO waits_for(RFM2GEVENTTYPE event, RFM2G_UINT32 timeout)
{
	return (RFM2GEVENTINFO){ .Event = event, .Timeout = timeout, .ExtendedInfo = 0xa5a5a5a5,
				 .NodeId = 0xa5a5 };
}

/* The next event of the far node is from the near one, and brings this. */
static void comes(RFM2GEVENTTYPE event, RFM2G_UINT32 data)
{
	RFM2GEVENTINFO info = waits_for(event, PATIENCE_MS);

	if (!IS(RFM2gWaitForEvent(far, &info), SUCCESS))
		return;
	CHECK_EQ(info.ExtendedInfo, data);
	CHECK_EQ(info.NodeId, near_node);
	CHECK_EQ(info.Event, event);
}

static void nothing_comes(RFM2GEVENTTYPE event)
{
	RFM2GEVENTINFO info = waits_for(event, RFM2G_NO_WAIT);

	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
}

static void sends(RFM2GEVENTTYPE event, RFM2G_UINT32 data)
{
	IS(RFM2gSendEvent(near, far_node, event, data), SUCCESS);
}

/* The far node has taken so many from its card since they were cleared. */
static bool counted(RFM2GEVENTTYPE event, RFM2G_UINT32 wanted)
{
	uint64_t end = now_ns() + PATIENCE_NS;
	RFM2G_UINT32 count = 0;

	while (count < wanted && now_ns() < end)
		if (!IS(RFM2gGetEventCount(far, event, &count), SUCCESS))
			return false;
	return CHECK(count >= wanted);
}

/* Nobody has events enabled, none waits. */
static void quiet(RFM2GEVENTTYPE event)
{
	IS(RFM2gDisableEvent(far, event), SUCCESS);
	settle();
	IS(RFM2gClearEvent(far, event), SUCCESS);
	IS(RFM2gClearEventStats(far, event), SUCCESS);
}

static void no_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	(void)handle;
	(void)info;
}

/* --- handles ----------------------------------------------------------------------- */

static void opening(void)
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

static void a_handle_is_null(void)
{
	every_call(NULL, RFM2G_NULL_DESCRIPTOR);
}

static void a_handle_is_stale(void)
{
	every_call(stale, RFM2G_BAD_PARAMETER_1);
	/* Nor is a place that only looks like one. */
	every_call((RFM2GHANDLE)(uintptr_t)8, RFM2G_BAD_PARAMETER_1);
}

/* A NULL pointer is named by its position. */
static void a_pointer_is_null(void)
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

static void an_event_is_none(void)
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

static void what_it_is(void)
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

static void every_status_has_a_sentence(void)
{
	CHECK(!strcmp(RFM2gErrorMsg(RFM2G_SUCCESS), "No error"));
	for (int i = 0; i <= RFM2G_MAX_ERROR_CODE; i++)
		for (int k = 0; k < i; k++)
			CHECK(RFM2gErrorMsg(i) && strcmp(RFM2gErrorMsg(i), RFM2gErrorMsg(k)));
	CHECK(RFM2gErrorMsg(-1) == RFM2gErrorMsg(RFM2G_MAX_ERROR_CODE));
	CHECK(RFM2gErrorMsg(4711) == RFM2gErrorMsg(RFM2G_MAX_ERROR_CODE));
}

/* --- memory ------------------------------------------------------------------------ */

static void words(void)
{
	RFM2G_UINT32 at = PLACE, word;
	RFM2G_UINT64 wide;
	RFM2G_UINT16 half;
	RFM2G_UINT8 byte;

	IS(RFM2gPoke64(near, at, 0x8877665544332211ull), SUCCESS);
	IS(RFM2gPoke32(near, at + 8, 0xccbbaa99), SUCCESS);
	IS(RFM2gPoke16(near, at + 12, 0xeedd), SUCCESS);
	IS(RFM2gPoke8(near, at + 15, 0xff), SUCCESS);
	if (!settle())
		return;
	for (int i = 0; i < 2; i++) {
		RFM2GHANDLE here = i ? near : far;

		IS(RFM2gPeek64(here, at, &wide), SUCCESS);
		CHECK_EQ(wide, 0x8877665544332211ull);
		IS(RFM2gPeek32(here, at + 4, &word), SUCCESS);
		CHECK_EQ(word, 0x88776655);
		IS(RFM2gPeek16(here, at + 2, &half), SUCCESS);
		CHECK_EQ(half, 0x4433);
		IS(RFM2gPeek8(here, at + 7, &byte), SUCCESS);
		CHECK_EQ(byte, 0x88);
		IS(RFM2gPeek64(here, at + 8, &wide), SUCCESS);
		CHECK_EQ(wide, 0xff00eeddccbbaa99ull);
	}
}

static void what_is_no_place(void)
{
	RFM2G_UINT8 bytes[8] = { 0 };

	IS(RFM2gPeek8(near, size, bytes), OUT_OF_RANGE);
	IS(RFM2gPeek16(near, size - 1, (void *)bytes), OUT_OF_RANGE);
	IS(RFM2gPeek32(near, size, (void *)bytes), OUT_OF_RANGE);
	IS(RFM2gPeek64(near, 0xffffffff, (void *)bytes), OUT_OF_RANGE);
	IS(RFM2gPoke8(near, size, 0), OUT_OF_RANGE);
	IS(RFM2gPoke16(near, size, 0), OUT_OF_RANGE);
	IS(RFM2gPoke32(near, 0xfffffffc, 0), OUT_OF_RANGE);
	IS(RFM2gPoke64(near, size - 4, 0), OUT_OF_RANGE);
	IS(RFM2gPeek16(near, 1, (void *)bytes), UNALIGNED_OFFSET);
	IS(RFM2gPeek32(near, 2, (void *)bytes), UNALIGNED_OFFSET);
	IS(RFM2gPeek64(near, 4, (void *)bytes), UNALIGNED_OFFSET);
	IS(RFM2gPoke16(near, 1, 0), UNALIGNED_OFFSET);
	IS(RFM2gPoke32(near, 2, 0), UNALIGNED_OFFSET);
	IS(RFM2gPoke64(near, 4, 0), UNALIGNED_OFFSET);
	IS(RFM2gPeek8(near, size - 1, bytes), SUCCESS);
	IS(RFM2gRead(near, size - 4, bytes, 5), OUT_OF_RANGE);
	IS(RFM2gWrite(near, size - 4, bytes, 5), OUT_OF_RANGE);
	IS(RFM2gRead(near, 0xffffffff, bytes, 0xffffffff), OUT_OF_RANGE);
	IS(RFM2gRead(near, size - 4, bytes, 4), SUCCESS);
	IS(RFM2gWrite(near, size - 4, bytes, 4), SUCCESS);
	IS(RFM2gRead(near, size, bytes, 0), SUCCESS);
	IS(RFM2gWrite(near, 0, bytes, 0), SUCCESS);
}

static void fill(uint8_t *bytes, size_t length, uint64_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = random_next(&seed);
}

/* From a buffer of any kind, at any offset and of any length, these bytes are there. */
static void transfers_to(uint8_t *out, uint8_t *in, uint32_t room)
{
	const uint32_t lengths[] = { 1, 3, 4, 7, 64, 1023, 1025, 4099, 20000 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths) && lengths[i] <= room; i++) {
		uint32_t at = PLACE + PAGE + i % 5;

		fill(out, lengths[i], i + 1);
		IS(RFM2gWrite(near, at, out, lengths[i]), SUCCESS);
		if (!settle())
			return;
		memset(in, 0xa5, lengths[i]);
		IS(RFM2gRead(far, at, in, lengths[i]), SUCCESS);
		CHECK(!memcmp(in, out, lengths[i]));
	}
}

static void transfers(void)
{
	static uint8_t out[20000], in[20000];

	transfers_to(out, in, sizeof(out));
}

/* A buffer is for the card's engine, of memory as there is any. */
static void transfers_by_dma(void)
{
	volatile void *buffer = NULL, *far_buffer = NULL;
	RFM2G_UINT32 threshold = 0;
	RFM2GHANDLE second;

	IS(RFM2gGetDMAThreshold(near, &threshold), SUCCESS);
	CHECK_EQ(threshold, 0xffffffff);
	IS(RFM2gUserMemory(near, &buffer, 0x10000000 | RFM2G_DMA_MMAP_OFFSET, 8), SUCCESS);
	IS(RFM2gUserMemoryBytes(far, &far_buffer, RFM2G_DMA_MMAP_OFFSET, 8 * PAGE - 1), SUCCESS);
	REQUIRE(buffer && far_buffer);
	if (on_card)
		dma_card_is(near_path);
	/* Not used yet, then from a length on, then always. */
	for (int i = 0; i < 3; i++) {
		long long before = on_card ? dma_figure("operations") : 0;

		transfers_to((uint8_t *)buffer, (uint8_t *)far_buffer, 8 * PAGE);
		if (on_card)
			CHECK_EQ(!!i, dma_figure("operations") > before);
		IS(RFM2gSetDMAThreshold(near, i ? 0 : 1024), SUCCESS);
		IS(RFM2gSetDMAThreshold(far, i ? 0 : 1024), SUCCESS);
	}
	IS(RFM2gGetDMAThreshold(near, &threshold), SUCCESS);
	CHECK_EQ(threshold, 0);
	/* It is the handle's. */
	IS(RFM2gOpen(near_path, &second), SUCCESS);
	IS(RFM2gGetDMAThreshold(second, &threshold), SUCCESS);
	CHECK_EQ(threshold, 0xffffffff);
	IS(RFM2gClose(&second), SUCCESS);
	IS(RFM2gUnMapUserMemory(near, &buffer, 8), SUCCESS);
	IS(RFM2gUnMapUserMemoryBytes(far, &far_buffer, 8 * PAGE), SUCCESS);
	CHECK(!buffer && !far_buffer);
	IS(RFM2gSetDMAThreshold(near, 0xffffffff), SUCCESS);
	IS(RFM2gSetDMAThreshold(far, 0xffffffff), SUCCESS);
}

/* Of programmed I/O and of DMA apart; words come out as they are whatever is set. */
static void byte_swaps(void)
{
	const char *wanted[] = { "abcdefghijk", "bcdefghijk" };
	volatile void *buffer = NULL;
	uint32_t at = PLACE + 12 * PAGE;
	RFM2G_BOOL on = 9;
	RFM2G_UINT64 wide;
	RFM2G_UINT32 word;
	RFM2G_UINT16 half;
	RFM2G_UINT8 byte;
	char text[16];

	IS(RFM2gUserMemory(near, &buffer, RFM2G_DMA_MMAP_OFFSET, 1), SUCCESS);
	REQUIRE(buffer);
	IS(RFM2gSetDMAThreshold(near, 1), SUCCESS);
	IS(RFM2gWrite(near, at, "abcdefghijklmnop", 16), SUCCESS);
	IS(RFM2gGetPIOByteSwap(near, &on), SUCCESS);
	CHECK_EQ(on, 0);
	IS(RFM2gGetDMAByteSwap(near, &on), SUCCESS);
	CHECK_EQ(on, 0);

	for (unsigned int i = 0; i < 4; i++) {
		RFM2G_BOOL pio = i & 1, dma = i >> 1;

		IS(RFM2gSetPIOByteSwap(near, pio), SUCCESS);
		IS(RFM2gSetDMAByteSwap(near, dma), SUCCESS);
		IS(RFM2gGetPIOByteSwap(near, &on), SUCCESS);
		CHECK_EQ(on, pio);
		IS(RFM2gGetDMAByteSwap(near, &on), SUCCESS);
		CHECK_EQ(on, dma);

		memset(text, 0, sizeof(text));
		IS(RFM2gRead(near, at, text, 11), SUCCESS);
		CHECK(!strcmp(text, pio ? "dcbahgfelkj" : wanted[0]));
		memset((void *)buffer, 0, PAGE);
		IS(RFM2gRead(near, at + 1, (void *)buffer, 10), SUCCESS);
		CHECK(!strcmp((char *)buffer, dma ? "cbahgfelkj" : wanted[1]));

		/* Written in an order, read in the same, and as it stands there. */
		strcpy((char *)buffer, "01234567");
		IS(RFM2gWrite(near, at + 0x21, "01234567", 8), SUCCESS);
		IS(RFM2gWrite(near, at + 0x41, (void *)buffer, 8), SUCCESS);
		IS(RFM2gRead(near, at + 0x21, text, 8), SUCCESS);
		CHECK(!memcmp(text, "01234567", 8));
		IS(RFM2gPeek32(near, at + 0x24, &word), SUCCESS);
		CHECK_EQ(word, pio ? 0x33343536 : 0x36353433);
		IS(RFM2gPeek32(near, at + 0x44, &word), SUCCESS);
		CHECK_EQ(word, dma ? 0x33343536 : 0x36353433);

		IS(RFM2gPeek8(near, at + 1, &byte), SUCCESS);
		CHECK_EQ(byte, 'b');
		IS(RFM2gPeek16(near, at + 2, &half), SUCCESS);
		CHECK_EQ(half, 'd' << 8 | 'c');
		IS(RFM2gPeek32(near, at + 4, &word), SUCCESS);
		CHECK_EQ(word, 0x68676665);
		IS(RFM2gPeek64(near, at + 8, &wide), SUCCESS);
		CHECK_EQ(wide, 0x706f6e6d6c6b6a69ull);
		IS(RFM2gPoke8(near, at + 0x60, 0x11), SUCCESS);
		IS(RFM2gPoke8(near, at + 0x61, 0x22), SUCCESS);
		IS(RFM2gPoke16(near, at + 0x62, 0x4433), SUCCESS);
		IS(RFM2gPoke32(near, at + 0x64, 0x88776655), SUCCESS);
		settle();
		IS(RFM2gPeek64(far, at + 0x60, &wide), SUCCESS);
		CHECK_EQ(wide, 0x8877665544332211ull);
		IS(RFM2gPoke64(near, at + 0x60, 0), SUCCESS);
	}
	IS(RFM2gSetPIOByteSwap(near, RFM2G_OFF), SUCCESS);
	IS(RFM2gSetDMAByteSwap(near, RFM2G_OFF), SUCCESS);
	IS(RFM2gSetDMAThreshold(near, 0xffffffff), SUCCESS);
	IS(RFM2gUnMapUserMemory(near, &buffer, 1), SUCCESS);
}

/* A store to a mapping is seen on the other node, in a mapping and by a call. */
static void mappings(void)
{
	uint32_t at = PLACE + 16 * PAGE;
	volatile void *here = NULL, *there = NULL;
	volatile RFM2G_UINT32 *mine, *theirs;
	RFM2G_UINT32 word;

	/* What was there before it is mapped is in it. */
	IS(RFM2gPoke32(near, at + 0xff0, 0x600d), SUCCESS);
	settle();
	IS(RFM2gUserMemory(near, &here, at, 2), SUCCESS);
	IS(RFM2gUserMemoryBytes(far, &there, at, PAGE + 1), SUCCESS);
	REQUIRE(here && there);
	mine = here;
	theirs = there;
	CHECK_EQ(mine[0x3fc], 0x600d);
	CHECK_EQ(theirs[0x3fc], 0x600d);
	/* The near node stores, and says so; at the far one nothing is older than that. */
	for (unsigned int i = 1; i <= 100; i++) {
		mine[i] = i;
		mine[PAGE / 4 + i] = ~i;
		if (!settle())
			break;
		CHECK_EQ(theirs[i], i);
		CHECK_EQ(theirs[PAGE / 4 + i], ~i);
		IS(RFM2gPeek32(far, at + 4 * i, &word), SUCCESS);
		CHECK_EQ(word, i);
		IS(RFM2gPeek32(near, at + 4 * i, &word), SUCCESS);
		CHECK_EQ(word, i);
	}
	/* What a call stores is in the mappings of its own node at once. */
	IS(RFM2gPoke32(near, at + 0x400, 0x12345678), SUCCESS);
	CHECK_EQ(mine[0x100], 0x12345678);
	IS(RFM2gWrite(near, at + 0x404, "abcd", 4), SUCCESS);
	CHECK(!memcmp((void *)&mine[0x101], "abcd", 4));
	/* A mapping is looked at without a call, too: one is for who only waits for a value. */
	mine[0x120] = 4711;
	for (uint64_t end = now_ns() + PATIENCE_NS; theirs[0x120] != 4711 && now_ns() < end;)
		sched_yield();
	CHECK_EQ(theirs[0x120], 4711);
	/* Bytes of one word by two nodes do not disturb each other. */
	for (unsigned int i = 1; i < 50; i++) {
		((volatile uint16_t *)here)[0x300] = i;
		((volatile uint16_t *)there)[0x301] = i;
		IS(RFM2gSendEvent(far, near_node, RFM2GEVENT_INTR3, 0), SUCCESS);
		settle();
	}
	for (uint64_t end = now_ns() + PATIENCE_NS;
	     mine[0x180] != 0x00310031 && now_ns() < end;)
		sched_yield();
	CHECK_EQ(mine[0x180], 0x00310031);
	CHECK_EQ(theirs[0x180], 0x00310031);

	IS(RFM2gUnMapUserMemory(near, &here, 2), SUCCESS);
	IS(RFM2gUnMapUserMemoryBytes(far, &there, PAGE + 1), SUCCESS);
	CHECK(!here && !there);
	IS(RFM2gPeek32(far, at + 4, &word), SUCCESS);
	CHECK_EQ(word, 1);
	/* What was there when it is mapped again is in it. */
	IS(RFM2gUserMemory(near, &here, at, 1), SUCCESS);
	REQUIRE(here);
	CHECK_EQ(((volatile RFM2G_UINT32 *)here)[1], 1);
	IS(RFM2gUnMapUserMemory(near, &here, 1), SUCCESS);
}

static void mappings_that_are_none(void)
{
	volatile void *map = NULL;

	IS(RFM2gUserMemory(near, &map, 0, 0), BAD_PARAMETER_4);
	IS(RFM2gUserMemoryBytes(near, &map, 0, 0), BAD_PARAMETER_4);
	IS(RFM2gUserMemory(near, &map, 0, size / PAGE + 1), OUT_OF_RANGE);
	IS(RFM2gUserMemory(near, &map, size, 1), OUT_OF_RANGE);
	IS(RFM2gUserMemory(near, &map, 0x100000000ull, 1), OUT_OF_RANGE);
	IS(RFM2gUserMemoryBytes(near, &map, 0, size + 1), OUT_OF_RANGE);
	IS(RFM2gUserMemory(near, &map, 0x10, 1), MEM_NOT_MAPPED);
	IS(RFM2gUserMemory(near, &map, 0x1000 | RFM2G_BAR0_MMAP_OFFSET, 1), BAD_PARAMETER_3);
	IS(RFM2gUserMemory(near, &map, 0x1000 | RFM2G_BAR2_MMAP_OFFSET, 1), BAD_PARAMETER_3);
	IS(RFM2gUnMapUserMemory(near, &map, 1), BAD_PARAMETER_2);
	CHECK(!map);
	map = (void *)0x1000;
	IS(RFM2gUnMapUserMemory(near, &map, 0), BAD_PARAMETER_3);
	IS(RFM2gUnMapUserMemoryBytes(near, &map, 0), BAD_PARAMETER_3);
	/* No process has anything there. */
	map = (void *)(UINTPTR_MAX - 8 * PAGE + 1);
	IS(RFM2gUnMapUserMemory(near, &map, 1), OS_ERROR);
}

static void windows(void)
{
	RFM2G_UINT32 offset = 1, length = 0;

	IS(RFM2gGetSlidingWindow(near, &offset, &length), SUCCESS);
	CHECK_EQ(offset, 0);
	CHECK_EQ(length, size);
	IS(RFM2gSetSlidingWindow(near, 0), SUCCESS);
	IS(RFM2gSetSlidingWindow(near, 0x1000), BAD_PARAMETER_2);
	IS(RFM2gSetSlidingWindow(near, size), OUT_OF_RANGE);
}

/* The window moves under a mapping: what it shows then is the memory there. */
static void windows_that_slide(void)
{
	RFM2G_UINT32 offset = 1, length = 0, all = 0, word = 0;
	volatile void *map = NULL;
	RFM2GHANDLE narrow;

	if (!narrow_path) {
		tap_skip("a card with a narrow window is needed");
		return;
	}
	REQUIRE(!RFM2gOpen(narrow_path, &narrow));
	IS(RFM2gSize(narrow, &all), SUCCESS);
	IS(RFM2gGetSlidingWindow(narrow, &offset, &length), SUCCESS);
	CHECK_EQ(offset, 0);
	CHECK(length && length < all);
	IS(RFM2gSetSlidingWindow(narrow, length / 2), BAD_PARAMETER_2);
	IS(RFM2gSetSlidingWindow(narrow, all), OUT_OF_RANGE);
	IS(RFM2gPeek32(narrow, length, &word), OUT_OF_RANGE);
	IS(RFM2gRead(narrow, length - 2, &word, 4), OUT_OF_RANGE);
	IS(RFM2gPoke32(narrow, PLACE, 0x1111), SUCCESS);
	IS(RFM2gSetSlidingWindow(narrow, length), SUCCESS);
	IS(RFM2gPoke32(narrow, PLACE, 0x2222), SUCCESS);
	IS(RFM2gUserMemory(narrow, &map, PLACE, 1), SUCCESS);
	REQUIRE(map);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(*(volatile RFM2G_UINT32 *)map, i & 1 ? 0x1111 : 0x2222);
		IS(RFM2gPeek32(narrow, PLACE, &word), SUCCESS);
		CHECK_EQ(word, i & 1 ? 0x1111 : 0x2222);
		IS(RFM2gSetSlidingWindow(narrow, i & 1 ? length : 0), SUCCESS);
		IS(RFM2gGetSlidingWindow(narrow, &offset, &length), SUCCESS);
		CHECK_EQ(offset, i & 1 ? length : 0);
	}
	IS(RFM2gUnMapUserMemory(narrow, &map, 1), SUCCESS);
	IS(RFM2gSetSlidingWindow(narrow, 0), SUCCESS);
	IS(RFM2gClose(&narrow), SUCCESS);
}

/* --- events ------------------------------------------------------------------------ */

static void events_come(void)
{
	const RFM2GEVENTTYPE events[] = {
		RFM2GEVENT_RESET, RFM2GEVENT_INTR1, RFM2GEVENT_INTR2, RFM2GEVENT_INTR3,
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		RFM2GEVENTTYPE event = events[i];

		quiet(event);
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		nothing_comes(event);
		/* One that is there already, and one that is waited for. */
		sends(event, 0x12345678);
		settle();
		comes(event, event == RFM2GEVENT_RESET ? 0 : 0x12345678);
		sends(event, 42);
		comes(event, event == RFM2GEVENT_RESET ? 0 : 42);
		IS(RFM2gSendEvent(near, RFM2G_NODE_ALL, event, 43), SUCCESS);
		comes(event, event == RFM2GEVENT_RESET ? 0 : 43);
		nothing_comes(event);
		IS(RFM2gDisableEvent(far, event), SUCCESS);
		IS(RFM2gDisableEvent(far, event), SUCCESS);
	}
}

static void events_that_cannot_be_sent(void)
{
	IS(RFM2gSendEvent(near, near_node, RFM2GEVENT_INTR1, 0), NODE_ID_SELF);
	IS(RFM2gSendEvent(near, 256, RFM2GEVENT_INTR1, 0), BAD_PARAMETER_2);
	IS(RFM2gSendEvent(near, RFM2G_NODE_UNKNOWN, RFM2GEVENT_INTR1, 0), BAD_PARAMETER_2);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_BAD_DATA, 0), BAD_PARAMETER_3);
	IS(RFM2gSendEvent(near, far_node, RFM2GEVENT_SYNC_LOSS, 0), BAD_PARAMETER_3);
}

/* The queue holds one, and those behind it wait, in their order; 128 in all. */
static void events_queue(void)
{
	RFM2GQINFO queue = { .Event = RFM2GEVENT_INTR1 };
	RFM2G_UINT32 count;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	for (unsigned int i = 0; i < 100; i++)
		sends(RFM2GEVENT_INTR1, i);
	counted(RFM2GEVENT_INTR1, 100);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.EventsQueued, 1);
	CHECK_EQ(queue.QueueSize, 1);
	CHECK_EQ(queue.MaxQueueSize, 1);
	CHECK_EQ(queue.QueuePeak, 1);
	CHECK_EQ(queue.EventCount, 100);
	CHECK_EQ(queue.Overflowed, 0);
	for (unsigned int i = 0; i < 100; i++)
		comes(RFM2GEVENT_INTR1, i);
	nothing_comes(RFM2GEVENT_INTR1);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &count), SUCCESS);
	CHECK_EQ(count, 100);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.EventsQueued, 0);
	CHECK_EQ(queue.EventCount, 100);
	CHECK_EQ(queue.EventTimeout, RFM2G_NO_WAIT);
	IS(RFM2gClearEventCount(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &count), SUCCESS);
	CHECK_EQ(count, 0);
	IS(RFM2gClearEventStats(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gGetEventStats(far, &queue), SUCCESS);
	CHECK_EQ(queue.QueuePeak, 0);
}

/* The queue alone, or all that waits. */
static void events_are_thrown_away(void)
{
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	for (unsigned int i = 0; i < 3; i++)
		sends(RFM2GEVENT_INTR1, i);
	counted(RFM2GEVENT_INTR1, 3);
	IS(RFM2gFlushEventQueue(far, RFM2GEVENT_INTR1), SUCCESS);
	comes(RFM2GEVENT_INTR1, 1);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), SUCCESS);
	nothing_comes(RFM2GEVENT_INTR1);
}

/* One that nobody has enabled yet waits in the card, and is heard or thrown away. */
static void events_that_wait(void)
{
	sends(RFM2GEVENT_INTR3, 7);
	sends(RFM2GEVENT_INTR2, 8);
	settle();
	IS(RFM2gClearEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	nothing_comes(RFM2GEVENT_INTR3);
	comes(RFM2GEVENT_INTR2, 8);
	nothing_comes(RFM2GEVENT_INTR2);
}

/* While it is disabled nothing comes, and nothing is lost. */
static void events_are_disabled(void)
{
	quiet(RFM2GEVENT_INTR3);
	for (unsigned int i = 0; i < 20; i++)
		sends(RFM2GEVENT_INTR3, i);
	settle();
	nothing_comes(RFM2GEVENT_INTR3);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (unsigned int i = 0; i < 20; i++)
		comes(RFM2GEVENT_INTR3, i);
	nothing_comes(RFM2GEVENT_INTR3);
}

struct waiter {
	pthread_t thread;
	RFM2GHANDLE handle;
	RFM2GEVENTINFO info;
	RFM2G_STATUS status;
};

static void *wait_in_thread(void *of)
{
	struct waiter *waiter = of;

	/* Who looks whether it waits waits itself for a moment. */
	do {
		waiter->status = RFM2gWaitForEvent(waiter->handle, &waiter->info);
	} while (waiter->status == RFM2G_EVENT_IN_USE);
	return NULL;
}

/* Returns when it waits: then, and only then, a second one is refused. */
static void start_waiting(struct waiter *waiter, RFM2GHANDLE handle, RFM2GEVENTTYPE event)
{
	RFM2GEVENTINFO info = waits_for(event, RFM2G_NO_WAIT);
	uint64_t end = now_ns() + PATIENCE_NS;

	*waiter = (struct waiter){ .handle = handle,
				   .info = waits_for(event, RFM2G_INFINITE_TIMEOUT) };
	pthread_create(&waiter->thread, NULL, wait_in_thread, waiter);
	while (RFM2gWaitForEvent(far, &info) != RFM2G_EVENT_IN_USE && now_ns() < end)
		info = waits_for(event, RFM2G_NO_WAIT);
}

static void one_waits(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, RFM2G_INFINITE_TIMEOUT);
	struct waiter waiter;
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	start_waiting(&waiter, second, RFM2GEVENT_INTR1);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	IS(RFM2gWaitForEvent(second, &info), EVENT_IN_USE);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR1, no_callback), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR1, 99);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, SUCCESS);
	CHECK_EQ(waiter.info.ExtendedInfo, 99);
	IS(RFM2gClose(&second), SUCCESS);
}

/* This program, in a process that waits for one event. */
static int waits_for_one(char *path)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, PATIENCE_MS);
	RFM2G_STATUS status;
	RFM2GHANDLE handle;

	alarm(120);
	if (RFM2gOpen(path, &handle) || RFM2gEnableEvent(handle, RFM2GEVENT_INTR3))
		return 1;
	/* Who looks whether it waits waits itself for a moment. */
	do {
		status = RFM2gWaitForEvent(handle, &info);
	} while (status == RFM2G_EVENT_IN_USE);
	return status || info.ExtendedInfo != 31 || RFM2gClose(&handle);
}

/* This program, in a process that does not wait: what it is told. */
static int tries(char *path, const char *event)
{
	RFM2GEVENTINFO info = waits_for(atoi(event), RFM2G_NO_WAIT);
	RFM2GHANDLE handle;

	alarm(120);
	return RFM2gOpen(path, &handle) ? 255 : (int)RFM2gWaitForEvent(handle, &info);
}

static RFM2G_STATUS of_child(pid_t child)
{
	int status = -1;

	CHECK_EQ(waitpid(child, &status, 0), child);
	return CHECK(WIFEXITED(status)) ? WEXITSTATUS(status) : 255;
}

static RFM2G_STATUS tried_elsewhere(RFM2GEVENTTYPE event)
{
	char text[8];
	pid_t child = fork();

	if (!child) {
		snprintf(text, sizeof(text), "%d", event);
		execl("/proc/self/exe", "rfm2g_test", "--try", far_path, text, NULL);
		_exit(255);
	}
	return of_child(child);
}

static void one_waits_of_all_processes(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, RFM2G_NO_WAIT);
	uint64_t end = now_ns() + PATIENCE_NS;
	int status = -1;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR3);
	child = fork();
	if (!child) {
		execl("/proc/self/exe", "rfm2g_test", "--wait", far_path, NULL);
		_exit(2);
	}
	while (RFM2gWaitForEvent(far, &info) != RFM2G_EVENT_IN_USE && now_ns() < end)
		sleep_ms(1);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR3, 31);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	/* Each process that has enabled it hears it. */
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	comes(RFM2GEVENT_INTR3, 31);
}

/* A child is another process, and does not let others in either. */
static void one_waits_of_parent_and_child(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR3, RFM2G_NO_WAIT);
	struct waiter waiter;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR3);
	start_waiting(&waiter, far, RFM2GEVENT_INTR3);
	child = fork();
	if (!child) {
		alarm(60);
		_exit(RFM2gWaitForEvent(far, &info));
	}
	IS(of_child(child), EVENT_IN_USE);
	IS(tried_elsewhere(RFM2GEVENT_INTR3), EVENT_IN_USE);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(tried_elsewhere(RFM2GEVENT_INTR3), TIMED_OUT);
}

static void waits_are_cancelled(void)
{
	struct waiter waiter;
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), EVENT_NOT_IN_USE);
	/* Enabled or not; and afterwards it is as before. */
	for (int i = 0; i < 2; i++) {
		start_waiting(&waiter, far, RFM2GEVENT_INTR1);
		IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), SUCCESS);
		IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR1), EVENT_NOT_IN_USE);
		pthread_join(waiter.thread, NULL);
		IS(waiter.status, WAIT_EVENT_CANCELED);
		IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	}
	sends(RFM2GEVENT_INTR1, 3);
	comes(RFM2GEVENT_INTR1, 3);
	/* With its handle a wait ends too. */
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	start_waiting(&waiter, second, RFM2GEVENT_INTR1);
	IS(RFM2gClose(&second), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, WAIT_EVENT_CANCELED);
	/* One that is waited for while disabled comes when it is enabled. */
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	start_waiting(&waiter, far, RFM2GEVENT_INTR1);
	sends(RFM2GEVENT_INTR1, 4);
	settle();
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, SUCCESS);
	CHECK_EQ(waiter.info.ExtendedInfo, 4);
}

static void waits_end_in_time(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, 50);
	uint64_t begun = now_ns();

	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	begun = now_ns();
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	CHECK(now_ns() - begun >= 50000000 && now_ns() - begun < PATIENCE_NS);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	begun = now_ns();
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	CHECK(now_ns() - begun >= 50000000 && now_ns() - begun < PATIENCE_NS);
}

static void caught(int signo)
{
	(void)signo;
}

static void a_signal_ends_a_wait(void)
{
	struct sigaction action = { .sa_handler = caught }, before;
	struct waiter waiter;
	uint64_t end = now_ns() + PATIENCE_NS;

	sigaction(SIGUSR1, &action, &before);
	start_waiting(&waiter, far, RFM2GEVENT_INTR1);
	/* It waits, but may not sleep yet. */
	while (pthread_tryjoin_np(waiter.thread, NULL) && now_ns() < end) {
		pthread_kill(waiter.thread, SIGUSR1);
		sleep_ms(1);
	}
	IS(waiter.status, SIGNALED);
	sigaction(SIGUSR1, &before, NULL);
}

/* --- callbacks --------------------------------------------------------------------- */

static RFM2GEVENTINFO heard[256];
static RFM2GHANDLE heard_by;
static sem_t heard_one;
static unsigned int heard_count;

static void hear(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	heard_by = handle;
	heard[heard_count++ % ARRAY_SIZE(heard)] = *info;
	sem_post(&heard_one);
}

static bool next_heard(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_MS / 1000;
	return CHECK(!sem_timedwait(&heard_one, &until));
}

static void callbacks(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR2, RFM2G_NO_WAIT);

	quiet(RFM2GEVENT_INTR2);
	heard_count = 0;
	sem_init(&heard_one, 0, 0);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	/* It does not enable the event. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), EVENT_IN_USE);
	IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
	sends(RFM2GEVENT_INTR2, 1000);
	settle();
	CHECK_EQ(heard_count, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	for (unsigned int i = 1; i < 100; i++)
		sends(RFM2GEVENT_INTR2, 1000 + i);
	for (unsigned int i = 0; i < 100 && next_heard(); i++) {
		CHECK_EQ(heard[i].ExtendedInfo, 1000 + i);
		CHECK_EQ(heard[i].NodeId, near_node);
		CHECK_EQ(heard[i].Event, RFM2GEVENT_INTR2);
	}
	CHECK(heard_by == far);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	sends(RFM2GEVENT_INTR2, 5);
	settle();
	CHECK_EQ(heard_count, 100);
	/* One that is there already: it comes to a new callback first. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear), SUCCESS);
	next_heard();
	CHECK_EQ(heard[100].ExtendedInfo, 5);
	/* A cancelled wait is the end of it. */
	while (RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR2) == RFM2G_EVENT_NOT_IN_USE)
		sched_yield();
	while (RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear) == RFM2G_EVENT_IN_USE)
		sched_yield();
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
}

static void close_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	IS(RFM2gClose(&handle), SUCCESS);
	sem_post(&heard_one);
}

static void stop_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	IS(RFM2gDisableEventCallback(handle, info->Event), SUCCESS);
	hear(handle, info);
}

/* A callback may end itself, or close its handle. */
static void callbacks_that_end(void)
{
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, stop_in_callback), SUCCESS);
	sends(RFM2GEVENT_INTR2, 1);
	next_heard();
	sends(RFM2GEVENT_INTR2, 2);
	comes(RFM2GEVENT_INTR2, 2);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, close_in_callback), SUCCESS);
	sends(RFM2GEVENT_INTR2, 3);
	next_heard();
	next_heard();
	IS(RFM2gClose(&second), BAD_PARAMETER_1);
	sends(RFM2GEVENT_INTR2, 4);
	comes(RFM2GEVENT_INTR2, 4);
	/* Closing it from outside ends it too, at once. */
	for (int i = 0; i < 200; i++) {
		IS(RFM2gOpen(far_path, &second), SUCCESS);
		IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, hear), SUCCESS);
		IS(RFM2gClose(&second), SUCCESS);
		sends(RFM2GEVENT_INTR2, 5);
		comes(RFM2GEVENT_INTR2, 5);
	}
}

static void exit_thread_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	pthread_exit(NULL);
}

/* A function that ends its thread has ended its callback, and nobody waits for it. */
static void callbacks_whose_thread_ends(void)
{
	RFM2GHANDLE second;

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gOpen(far_path, &second), SUCCESS);
	for (unsigned int i = 0; i < 20; i++) {
		RFM2G_STATUS status;

		do {
			status = RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2,
							  exit_thread_in_callback);
		} while (status == RFM2G_EVENT_IN_USE);
		IS(status, SUCCESS);
		sends(RFM2GEVENT_INTR2, i);
		next_heard();
	}
	IS(RFM2gClose(&second), SUCCESS);
	sends(RFM2GEVENT_INTR2, 21);
	comes(RFM2GEVENT_INTR2, 21);
}

static sem_t go_on;
static volatile bool has_returned;

static void hear_and_stay(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	hear(handle, info);
	sem_wait(&go_on);
}

/* A callback has its event for itself also while its function runs. */
static void callbacks_keep_their_event(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR2, RFM2G_NO_WAIT);

	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	sem_init(&go_on, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR2, hear_and_stay), SUCCESS);
	for (unsigned int i = 0; i < 3; i++) {
		sends(RFM2GEVENT_INTR2, i);
		next_heard();
		IS(RFM2gWaitForEvent(far, &info), EVENT_IN_USE);
		if (on_card)
			IS(tried_elsewhere(RFM2GEVENT_INTR2), EVENT_IN_USE);
		sem_post(&go_on);
	}
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), SUCCESS);
	if (on_card)
		IS(tried_elsewhere(RFM2GEVENT_INTR2), TIMED_OUT);
}

/* Until somebody has begun to end the callback, and a while longer. */
static void hear_until_disabled(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTINFO no = waits_for(info->Event, RFM2G_NO_WAIT);

	hear(handle, info);
	while (RFM2gWaitForEvent(far, &no) == RFM2G_EVENT_IN_USE)
		sched_yield();
	sleep_ms(20);
	has_returned = true;
}

/* @function has begun for a handle of its own, and has returned when @end says so. */
static void ends_when_returned(RFM2G_EVENT_FUNCPTR function, RFM2G_STATUS (*end)(RFM2GHANDLE *))
{
	RFM2GHANDLE second;

	IS(RFM2gOpen(far_path, &second), SUCCESS);
	IS(RFM2gEnableEventCallback(second, RFM2GEVENT_INTR2, function), SUCCESS);
	has_returned = false;
	sends(RFM2GEVENT_INTR2, 1);
	next_heard();
	IS(end(&second), SUCCESS);
	CHECK(has_returned);
	if (second)
		IS(RFM2gClose(&second), SUCCESS);
}

static RFM2G_STATUS disable_only(RFM2GHANDLE *handle)
{
	return RFM2gDisableEventCallback(*handle, RFM2GEVENT_INTR2);
}

/* No function runs when its callback has been disabled, or its handle closed. */
static void callbacks_have_returned(void)
{
	quiet(RFM2GEVENT_INTR2);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	ends_when_returned(hear_until_disabled, disable_only);
	ends_when_returned(hear_until_disabled, RFM2gClose);
}

/* For another event, which does not come. */
static void hear_and_wait(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTINFO other = waits_for(RFM2GEVENT_INTR3, RFM2G_INFINITE_TIMEOUT);
	RFM2G_STATUS status;

	hear(handle, info);
	status = RFM2gWaitForEvent(handle, &other);
	CHECK(status == RFM2G_WAIT_EVENT_CANCELED || status == RFM2G_BAD_PARAMETER_1);
	has_returned = true;
}

/* What a function waits for ends before Close waits for the function. */
static void closing_ends_waits_of_callbacks(void)
{
	quiet(RFM2GEVENT_INTR2);
	quiet(RFM2GEVENT_INTR3);
	sem_init(&heard_one, 0, 0);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (int i = 0; i < 50; i++)
		ends_when_returned(hear_and_wait, RFM2gClose);
}

static pthread_barrier_t both;

static void stop_the_other(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	RFM2GEVENTTYPE other = info->Event == RFM2GEVENT_INTR2 ? RFM2GEVENT_INTR3 :
			       RFM2GEVENT_INTR2;

	pthread_barrier_wait(&both);
	IS(RFM2gDisableEventCallback(handle, other), SUCCESS);
	hear(handle, info);
}

/* Two that end each other do not wait for each other. */
static void callbacks_that_end_each_other(void)
{
	quiet(RFM2GEVENT_INTR2);
	quiet(RFM2GEVENT_INTR3);
	sem_init(&heard_one, 0, 0);
	pthread_barrier_init(&both, NULL, 2);
	for (RFM2GEVENTTYPE event = RFM2GEVENT_INTR2; event <= RFM2GEVENT_INTR3; event++) {
		IS(RFM2gEnableEvent(far, event), SUCCESS);
		IS(RFM2gEnableEventCallback(far, event, stop_the_other), SUCCESS);
		sends(event, 1);
	}
	next_heard();
	next_heard();
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR2), NOT_ENABLED);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR3), NOT_ENABLED);
	pthread_barrier_destroy(&both);
}

/* --- the ring ---------------------------------------------------------------------- */

static bool ring_is_up(void)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (now_ns() < end)
		if (!RFM2gCheckRingCont(near) && !RFM2gCheckRingCont(far))
			return true;
	return CHECK(false);
}

/* The near node goes dark until the far one has lost its signal. */
static bool goes_dark(void)
{
	RFM2G_UINT32 before = 0;
	RFM2G_BOOL on = 9;

	IS(RFM2gGetEventCount(far, RFM2GEVENT_SYNC_LOSS, &before), SUCCESS);
	IS(RFM2gSetTransmit(near, RFM2G_OFF), SUCCESS);
	IS(RFM2gGetTransmit(near, &on), SUCCESS);
	CHECK_EQ(on, 0);
	counted(RFM2GEVENT_SYNC_LOSS, before + 1);
	IS(RFM2gCheckRingCont(near), LINK_TEST_FAIL);
	IS(RFM2gSetTransmit(near, RFM2G_ON), SUCCESS);
	IS(RFM2gGetTransmit(near, &on), SUCCESS);
	CHECK_EQ(on, 1);
	return ring_is_up();
}

/* It is told once, and again when it was enabled anew. */
static void a_lost_signal(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_SYNC_LOSS, RFM2G_NO_WAIT);

	IS(RFM2gClearEvent(far, RFM2GEVENT_SYNC_LOSS), SUCCESS);
	IS(RFM2gClearEventStats(far, RFM2GEVENT_SYNC_LOSS), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_SYNC_LOSS), SUCCESS);
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	if (!goes_dark())
		return;
	IS(RFM2gWaitForEvent(far, &info), SUCCESS);
	CHECK_EQ(info.NodeId, RFM2G_NODE_UNKNOWN);
	if (!goes_dark())
		return;
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
	/* The second was latched meanwhile. */
	IS(RFM2gEnableEvent(far, RFM2GEVENT_SYNC_LOSS), SUCCESS);
	IS(RFM2gWaitForEvent(far, &info), SUCCESS);
	IS(RFM2gWaitForEvent(far, &info), TIMED_OUT);
}

/* Signals that come more often than it takes do not keep it from ending. */
static void a_ring_check_under_signals(void)
{
	const struct itimerspec often = { .it_interval.tv_nsec = 20000000,
					  .it_value.tv_nsec = 20000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct sigaction action = { .sa_handler = caught }, before;
	timer_t timer;

	sigaction(SIGUSR1, &action, &before);
	REQUIRE(!timer_create(CLOCK_MONOTONIC, &event, &timer));
	IS(RFM2gSetTransmit(near, RFM2G_OFF), SUCCESS);
	REQUIRE(!timer_settime(timer, 0, &often, NULL));
	IS(RFM2gCheckRingCont(near), LINK_TEST_FAIL);
	timer_delete(timer);
	sigaction(SIGUSR1, &before, NULL);
	IS(RFM2gSetTransmit(near, RFM2G_ON), SUCCESS);
	ring_is_up();
}

#define SWITCHED(name) do {						\
	RFM2G_BOOL before = 9, now = 9;					\
									\
	IS(RFM2gGet##name(near, &before), SUCCESS);			\
	IS(RFM2gSet##name(near, !before), SUCCESS);			\
	IS(RFM2gGet##name(near, &now), SUCCESS);			\
	CHECK_EQ(now, !before);						\
	IS(RFM2gSet##name(near, before), SUCCESS);			\
	IS(RFM2gGet##name(near, &now), SUCCESS);			\
	CHECK_EQ(now, before);						\
} while (0)

static void settings(void)
{
	RFM2G_MEM_OFFSETTYPE offset = 9;
	RFM2G_BOOL on = 9;

	SWITCHED(Led);
	SWITCHED(DarkOnDark);
	SWITCHED(Loopback);
	if (!ring_is_up())
		return;
	if (on_card) {
		SWITCHED(ParityEnable);
	} else {
		IS(RFM2gGetParityEnable(near, &on), SUCCESS);
		CHECK_EQ(on, 0);
		IS(RFM2gSetParityEnable(near, RFM2G_OFF), SUCCESS);
		IS(RFM2gSetParityEnable(near, RFM2G_ON), NOT_SUPPORTED);
	}
	IS(RFM2gGetMemoryOffset(near, &offset), SUCCESS);
	CHECK_EQ(offset, RFM2G_MEM_OFFSET0);
	IS(RFM2gSetMemoryOffset(near, RFM2G_MEM_OFFSET3), SUCCESS);
	IS(RFM2gGetMemoryOffset(near, &offset), SUCCESS);
	CHECK_EQ(offset, RFM2G_MEM_OFFSET3);
	IS(RFM2gSetMemoryOffset(near, RFM2G_MEM_OFFSET0), SUCCESS);
	IS(RFM2gSetMemoryOffset(near, RFM2G_MEM_OFFSET3 + 1), BAD_PARAMETER_2);
	IS(RFM2gSetMemoryOffset(near, (RFM2G_MEM_OFFSETTYPE)-1), BAD_PARAMETER_2);

	/* One check alone has half a second, which a busy host may take. */
	ring_is_up();
	IS(RFM2gClearOwnData(near, &on), SUCCESS);
	CHECK_EQ(on, 1);
}

/* --- registers --------------------------------------------------------------------- */

static void memory_as_registers(void)
{
	RFM2G_UINT32 at = PLACE + 20 * PAGE, word = 0;
	RFM2G_UINT16 half = 0;
	RFM2G_UINT8 bytes[2] = { 0, 0xa5 };

	IS(RFM2gWriteReg(near, RFM2GMEM, at, RFM2G_LONG, 0x44332211), SUCCESS);
	IS(RFM2gReadReg(near, RFM2GMEM, at, RFM2G_LONG, &word), SUCCESS);
	CHECK_EQ(word, 0x44332211);
	IS(RFM2gReadReg(near, RFM2GMEM, at + 2, RFM2G_WORD, &half), SUCCESS);
	CHECK_EQ(half, 0x4433);
	IS(RFM2gReadReg(near, RFM2GMEM, at + 1, RFM2G_BYTE, bytes), SUCCESS);
	CHECK(bytes[0] == 0x22 && bytes[1] == 0xa5);
	IS(RFM2gSetReg(near, RFM2GMEM, at, RFM2G_LONG, 0x8000000f), SUCCESS);
	IS(RFM2gClearReg(near, RFM2GMEM, at, RFM2G_BYTE, 0xf0), SUCCESS);
	IS(RFM2gPeek32(near, at, &word), SUCCESS);
	CHECK_EQ(word, 0xc433220f);
}

static void registers(void)
{
	RFM2G_UINT32 word = 0;

	/* Words of the memory, which no swap changes. */
	for (unsigned int i = 0; i < 4; i++) {
		IS(RFM2gSetPIOByteSwap(near, i & 1), SUCCESS);
		IS(RFM2gSetDMAByteSwap(near, i >> 1), SUCCESS);
		memory_as_registers();
	}
	IS(RFM2gSetPIOByteSwap(near, RFM2G_OFF), SUCCESS);
	IS(RFM2gSetDMAByteSwap(near, RFM2G_OFF), SUCCESS);

	IS(RFM2gReadReg(near, RFM2GCFGREGIO, 0, 4, &word), BAD_PARAMETER_2);
	IS(RFM2gWriteReg(near, RFM2GRESERVED0REG, 0, 4, 0), BAD_PARAMETER_2);
	IS(RFM2gSetReg(near, RFM2GRESERVED1REG, 0, 4, 0), BAD_PARAMETER_2);
	IS(RFM2gClearReg(near, (RFM2GREGSETTYPE)6, 0, 4, 0), BAD_PARAMETER_2);
	IS(RFM2gReadReg(near, RFM2GCFGREGMEM, 509, 4, &word), BAD_PARAMETER_3);
	IS(RFM2gWriteReg(near, RFM2GCTRLREGMEM, 0x3d, 4, 0), BAD_PARAMETER_3);
	IS(RFM2gSetReg(near, RFM2GCTRLREGMEM, 0x40, 1, 0), BAD_PARAMETER_3);
	IS(RFM2gClearReg(near, RFM2GMEM, 0xffffffff, 2, 0), BAD_PARAMETER_3);
	IS(RFM2gReadReg(near, RFM2GMEM, size - 3, 4, &word), BAD_PARAMETER_3);
	IS(RFM2gReadReg(near, RFM2GMEM, 2, 4, &word), BAD_PARAMETER_3);
	IS(RFM2gWriteReg(near, RFM2GMEM, 1, 2, 0), BAD_PARAMETER_3);
	IS(RFM2gReadReg(near, RFM2GMEM, 0, 8, &word), BAD_PARAMETER_4);
	IS(RFM2gWriteReg(near, RFM2GMEM, 0, 0, 0), BAD_PARAMETER_4);
	IS(RFM2gSetReg(near, RFM2GMEM, 0, 3, 0), BAD_PARAMETER_4);
	IS(RFM2gClearReg(near, RFM2GMEM, 0, 5, 0), BAD_PARAMETER_4);
}

#define BID	0x01
#define NID	0x04
#define NTD	0x18

static void registers_of_the_card(void)
{
	volatile void *map = NULL, *second = NULL;
	RFM2G_UINT32 word = 0;
	RFM2G_UINT8 byte = 0;

	IS(RFM2gMapDeviceMemory(near, RFM2GMEM, &map), BAD_PARAMETER_2);
	IS(RFM2gUnMapDeviceMemory(near, RFM2GMEM, &map), BAD_PARAMETER_2);
	IS(RFM2gUnMapDeviceMemory(near, RFM2GCTRLREGMEM, &map), BAD_PARAMETER_3);
	if (!on_card) {
		IS(RFM2gMapDeviceMemory(near, RFM2GCTRLREGMEM, &map), NOT_SUPPORTED);
		IS(RFM2gUserMemory(near, &map, RFM2G_BAR2_MMAP_OFFSET, 1), NOT_SUPPORTED);
		IS(RFM2gWriteReg(near, RFM2GCTRLREGMEM, NTD, 4, 0), NOT_SUPPORTED);
		IS(RFM2gSetReg(near, RFM2GCFGREGMEM, 0x68, 4, 0), NOT_SUPPORTED);
		return;
	}
	IS(RFM2gReadReg(near, RFM2GCTRLREGMEM, BID, 1, &byte), SUCCESS);
	CHECK_EQ(byte, 0x65);
	IS(RFM2gReadReg(near, RFM2GCTRLREGMEM, NID, 1, &byte), SUCCESS);
	CHECK_EQ(byte, near_node);
	IS(RFM2gWriteReg(near, RFM2GCTRLREGMEM, NTD, 4, 0x12345678), SUCCESS);
	IS(RFM2gSetReg(near, RFM2GCTRLREGMEM, NTD, 2, 0x8001), SUCCESS);
	IS(RFM2gClearReg(near, RFM2GCTRLREGMEM, NTD, 4, 0x10000000), SUCCESS);
	IS(RFM2gReadReg(near, RFM2GCTRLREGMEM, NTD, 4, &word), SUCCESS);
	CHECK_EQ(word, 0x0234d679);
	IS(RFM2gMapDeviceMemory(near, RFM2GCTRLREGMEM, &map), SUCCESS);
	IS(RFM2gUserMemory(near, &second, RFM2G_BAR0_MMAP_OFFSET, 1), SUCCESS);
	REQUIRE(map && second);
	CHECK_EQ(((volatile RFM2G_UINT8 *)map)[BID], 0x65);
	CHECK_EQ(((volatile RFM2G_UINT32 *)map)[NTD / 4], 0x0234d679);
	CHECK(((volatile RFM2G_UINT32 *)second)[0x68 / 4] & 0x100);
	IS(RFM2gUnMapDeviceMemory(near, RFM2GCTRLREGMEM, &map), SUCCESS);
	IS(RFM2gUnMapUserMemory(near, &second, 1), SUCCESS);
	CHECK(!map && !second);
}

/* In a child that may not touch registers: 0, or the line that is wrong. */
static int without_rawio(RFM2GHANDLE narrow, RFM2G_UINT32 window)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	volatile void *map = NULL;
	RFM2G_UINT32 word;

	if (syscall(SYS_capget, &head, caps))
		return __LINE__;
	caps[0].effective &= ~(1u << CAP_SYS_RAWIO);
	if (syscall(SYS_capset, &head, caps))
		return __LINE__;
	if (RFM2gReadReg(near, RFM2GCTRLREGMEM, NTD, 4, &word) != RFM2G_OS_ERROR ||
	    RFM2gWriteReg(near, RFM2GCTRLREGMEM, NTD, 4, 0) != RFM2G_OS_ERROR ||
	    RFM2gSetReg(near, RFM2GCTRLREGMEM, NTD, 4, 0) != RFM2G_OS_ERROR)
		return __LINE__;
	if (RFM2gMapDeviceMemory(near, RFM2GCTRLREGMEM, &map) != RFM2G_MEM_NOT_MAPPED ||
	    RFM2gUserMemory(near, &map, RFM2G_BAR2_MMAP_OFFSET, 1) != RFM2G_MEM_NOT_MAPPED)
		return __LINE__;
	if (RFM2gReadReg(near, RFM2GMEM, PLACE, 4, &word))
		return __LINE__;
	if (!narrow)
		return 0;
	/* The window moves for whoever has the card, but under a mapping only for who may. */
	if (RFM2gSetSlidingWindow(narrow, window) || RFM2gSetSlidingWindow(narrow, 0) ||
	    RFM2gUserMemory(narrow, &map, PLACE, 1) ||
	    RFM2gSetSlidingWindow(narrow, window) != RFM2G_OS_ERROR)
		return __LINE__;
	return 0;
}

static void what_takes_a_capability(void)
{
	RFM2G_UINT32 offset = 0, window = 0;
	RFM2GHANDLE narrow = NULL;
	pid_t child;

	if (!on_card) {
		tap_skip("a node's registers are nobody's");
		return;
	}
	if (narrow_path) {
		IS(RFM2gOpen(narrow_path, &narrow), SUCCESS);
		IS(RFM2gGetSlidingWindow(narrow, &offset, &window), SUCCESS);
	}
	child = fork();
	if (!child) {
		int line;

		alarm(60);
		line = without_rawio(narrow, window);
		if (line)
			tap_note("in the child, line %d", line);
		_exit(!!line);
	}
	CHECK_EQ(of_child(child), 0);
	if (narrow)
		IS(RFM2gClose(&narrow), SUCCESS);
}

/* --- threads, fork, exit ----------------------------------------------------------- */

#define THREADS	8
#define ROUNDS	300

/* Each its own words, events that all have, and handles that come and go. */
static void *do_all(void *number)
{
	RFM2G_UINT32 at = PLACE + 24 * PAGE + 16 * (uintptr_t)number, word;
	unsigned long bad = 0;
	RFM2GHANDLE handle;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, RFM2G_NO_WAIT);
		RFM2G_STATUS status;

		bad += RFM2gOpen((uintptr_t)number & 1 ? near_path : far_path, &handle) != 0;
		bad += RFM2gPoke32(handle, at, i) != 0;
		bad += RFM2gPeek32(handle, at, &word) != 0 || word != i;
		bad += RFM2gEnableEvent(handle, RFM2GEVENT_INTR1) != 0;
		RFM2gSendEvent(handle, RFM2G_NODE_ALL, RFM2GEVENT_INTR1, i);
		status = RFM2gWaitForEvent(handle, &info);
		bad += status && status != RFM2G_TIMED_OUT && status != RFM2G_EVENT_IN_USE &&
		       status != RFM2G_WAIT_EVENT_CANCELED;
		status = RFM2gEnableEventCallback(handle, RFM2GEVENT_INTR3, no_callback);
		bad += status && status != RFM2G_EVENT_IN_USE;
		RFM2gCancelWaitForEvent(handle, RFM2GEVENT_INTR1);
		bad += RFM2gClose(&handle) != 0;
	}
	return (void *)bad;
}

static void threads_at_once(void)
{
	pthread_t threads[THREADS];
	void *bad;

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, do_all, (void *)i);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &bad);
		CHECK_EQ((unsigned long)bad, 0);
	}
	IS(RFM2gClearEvent(near, RFM2GEVENT_LAST), SUCCESS);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), SUCCESS);
	/* None of them is left. */
	IS(RFM2gEnableEventCallback(far, RFM2GEVENT_INTR3, no_callback), SUCCESS);
	IS(RFM2gDisableEventCallback(far, RFM2GEVENT_INTR3), SUCCESS);
}

/* In the child, after fork(): 0, or the line that is wrong. */
static int in_child(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, PATIENCE_MS);
	RFM2GHANDLE copy = far;
	RFM2G_UINT32 word;

	if (!on_card)
		return RFM2gPeek32(near, PLACE, &word) != RFM2G_BAD_PARAMETER_1 ||
		       RFM2gWaitForEvent(far, &info) != RFM2G_BAD_PARAMETER_1 ||
		       RFM2gClose(&copy) != RFM2G_BAD_PARAMETER_1 ? __LINE__ : 0;
	if (RFM2gPoke32(near, PLACE, 0x600dc41d) || RFM2gPeek32(near, PLACE, &word) ||
	    word != 0x600dc41d)
		return __LINE__;
	if (RFM2gEnableEvent(far, RFM2GEVENT_INTR1) ||
	    RFM2gSendEvent(near, far_node, RFM2GEVENT_INTR1, 4711))
		return __LINE__;
	/* Others send meanwhile. */
	do {
		if (RFM2gWaitForEvent(far, &info))
			return __LINE__;
	} while (info.ExtendedInfo != 4711);
	if (RFM2gClose(&near) || RFM2gClose(&far))
		return __LINE__;
	return 0;
}

/* While threads are in the middle of calls. */
static void a_fork(void)
{
	struct waiter waiter;
	pthread_t busy;
	RFM2G_UINT32 word;
	pid_t child;

	quiet(RFM2GEVENT_INTR1);
	start_waiting(&waiter, far, RFM2GEVENT_INTR2);
	pthread_create(&busy, NULL, do_all, (void *)1);
	for (int i = 0; i < 10; i++) {
		child = fork();
		if (!child) {
			int line;

			alarm(60);
			line = in_child();
			if (line)
				tap_note("in the child, line %d", line);
			_exit(!!line);
		}
		CHECK_EQ(of_child(child), 0);
	}
	pthread_join(busy, NULL);
	IS(RFM2gCancelWaitForEvent(far, RFM2GEVENT_INTR2), SUCCESS);
	pthread_join(waiter.thread, NULL);
	IS(waiter.status, WAIT_EVENT_CANCELED);
	IS(RFM2gPeek32(near, PLACE, &word), SUCCESS);
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	sends(RFM2GEVENT_INTR1, 5);
	comes(RFM2GEVENT_INTR1, 5);
}

/* A child that has no room for streams of its own is told so, and does not wait in vain. */
static void a_fork_without_files(void)
{
	RFM2GEVENTINFO info = waits_for(RFM2GEVENT_INTR1, PATIENCE_MS);
	struct rlimit before, none;
	pid_t child;

	if (!on_card) {
		tap_skip("a node is in one process");
		return;
	}
	quiet(RFM2GEVENT_INTR1);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &before));
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
	child = fork();
	setrlimit(RLIMIT_NOFILE, &before);
	if (!child) {
		alarm(2 * PATIENCE_MS / 1000);
		_exit(RFM2gWaitForEvent(far, &info));
	}
	IS(of_child(child), DRIVER_ERROR);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
}

static void exit_in_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	(void)handle;
	(void)info;
	exit(77);
}

/* This program, in a process that exits in a callback while others are in calls. */
static int exits_in_callback(void)
{
	RFM2GHANDLE from, to;
	RFM2G_NODE node;
	pthread_t busy;

	alarm(120);
	near_path = spare_near;
	far_path = spare_far;
	if (RFM2gOpen(spare_near, &from) || RFM2gOpen(spare_far, &to) || RFM2gNodeID(to, &node) ||
	    RFM2gEnableEvent(to, RFM2GEVENT_INTR2) ||
	    RFM2gEnableEventCallback(to, RFM2GEVENT_INTR2, exit_in_callback) ||
	    pthread_create(&busy, NULL, do_all, (void *)0))
		return 1;
	for (;;)
		RFM2gSendEvent(from, node, RFM2GEVENT_INTR2, 0);
}

static void an_exit_in_a_callback(void)
{
	int status = -1;
	pid_t child = fork();

	if (!child) {
		execl("/proc/self/exe", "rfm2g_test", "--exit", spare_near, spare_far, NULL);
		_exit(2);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 77);
}

/* --- a card that goes -------------------------------------------------------------- */

static volatile RFM2G_UINT32 *gone_map;

/* Events that are enabled and are not, of both kinds; each is waited for, or called for. */
static const RFM2GEVENTTYPE waited[] = { RFM2GEVENT_INTR1, RFM2GEVENT_INTR2, RFM2GEVENT_ROGUE_PKT };
static const RFM2GEVENTTYPE called[] = { RFM2GEVENT_INTR3, RFM2GEVENT_INTR4, RFM2GEVENT_BAD_DATA };

static void a_card_is_taken_away(void)
{
	struct waiter waiters[ARRAY_SIZE(waited)];
	RFM2G_BOOL on;
	RFM2G_UINT32 word;
	RFM2G_NODE node;
	int fault;

	IS(RFM2gUserMemoryBytes(far, (volatile void **)&gone_map, PLACE, PAGE), SUCCESS);
	REQUIRE(gone_map);
	(void)*gone_map;
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), SUCCESS);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR3), SUCCESS);
	for (size_t i = 0; i < ARRAY_SIZE(waited); i++)
		start_waiting(&waiters[i], far, waited[i]);
	for (size_t i = 0; i < ARRAY_SIZE(called); i++)
		IS(RFM2gEnableEventCallback(far, called[i], no_callback), SUCCESS);
	printf("# running\n");
	fflush(stdout);

	for (size_t i = 0; i < ARRAY_SIZE(waited); i++) {
		pthread_join(waiters[i].thread, NULL);
		IS(waiters[i].status, DRIVER_ERROR);
	}
	/* As soon as the thread has ended: until then it is somebody's. */
	for (size_t i = 0; i < ARRAY_SIZE(called); i++) {
		RFM2G_STATUS status;

		do {
			status = RFM2gEnableEventCallback(far, called[i], no_callback);
		} while (status == RFM2G_EVENT_IN_USE);
		IS(status, DRIVER_ERROR);
		IS(RFM2gDisableEventCallback(far, called[i]), NOT_ENABLED);
	}
	/* Who waits is woken before the mappings go. */
	while (!(fault = load_fault((volatile uint8_t *)gone_map)))
		;
	CHECK_EQ(fault, SIGBUS);
	IS(RFM2gPeek32(far, PLACE, &word), OS_ERROR);
	IS(RFM2gPoke32(far, PLACE, 1), OS_ERROR);
	IS(RFM2gGetTransmit(far, &on), OS_ERROR);
	IS(RFM2gCheckRingCont(far), OS_ERROR);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gEnableEvent(far, RFM2GEVENT_INTR2), DRIVER_ERROR);
	IS(RFM2gDisableEvent(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gClearEvent(far, RFM2GEVENT_LAST), DRIVER_ERROR);
	IS(RFM2gClearEventStats(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gFlushEventQueue(far, RFM2GEVENT_INTR1), DRIVER_ERROR);
	IS(RFM2gSendEvent(far, RFM2G_NODE_ALL, RFM2GEVENT_INTR1, 0), DRIVER_ERROR);
	IS(RFM2gGetEventCount(far, RFM2GEVENT_INTR1, &word), DRIVER_ERROR);
	IS(RFM2gNodeID(far, &node), SUCCESS);
	IS(RFM2gUnMapUserMemoryBytes(far, (volatile void **)&gone_map, PAGE), SUCCESS);
	IS(RFM2gClose(&far), SUCCESS);
}

/* In the place of one that has gone, whose number it has, while that is still open. */
static void the_next_card_is_opened(void)
{
	uint64_t end = now_ns() + PATIENCE_NS;
	RFM2GHANDLE next = NULL;
	RFM2G_STATUS status;
	RFM2G_UINT32 word;

	do {
		status = RFM2gOpen(near_path, &next);
		sleep_ms(10);
	} while (status == RFM2G_NO_RFM2G_BOARD && now_ns() < end);
	IS(status, SUCCESS);
	REQUIRE(next);
	IS(RFM2gPeek32(next, PLACE, &word), SUCCESS);
	IS(RFM2gPeek32(near, PLACE, &word), OS_ERROR);
	IS(RFM2gClose(&near), SUCCESS);
	IS(RFM2gPeek32(next, PLACE, &word), SUCCESS);
	IS(RFM2gClose(&next), SUCCESS);
}

/* This program with a card that somebody takes away after "running", and @back: puts back. */
static int sees_it_go(char *path, bool back)
{
	static const struct tap_case cases[] = {
		TAP_CASE(a_card_is_taken_away),
		TAP_CASE(the_next_card_is_opened),
	};
	RFM2G_STATUS status = RFM2gOpen(path, &far);

	near_path = path;
	if (!status && back)
		status = RFM2gOpen(path, &near);
	if (!status)
		return tap_run(cases, back ? 2 : 1);
	printf("Bail out! %s: %s\n", path, RFM2gErrorMsg(status));
	return TAP_FAIL;
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(opening),
		TAP_CASE(a_handle_is_null),
		TAP_CASE(a_handle_is_stale),
		TAP_CASE(a_pointer_is_null),
		TAP_CASE(an_event_is_none),
		TAP_CASE(what_it_is),
		TAP_CASE(every_status_has_a_sentence),
		TAP_CASE(words),
		TAP_CASE(what_is_no_place),
		TAP_CASE(transfers),
		TAP_CASE(transfers_by_dma),
		TAP_CASE(byte_swaps),
		TAP_CASE(mappings),
		TAP_CASE(mappings_that_are_none),
		TAP_CASE(windows),
		TAP_CASE(windows_that_slide),
		TAP_CASE(events_that_wait),
		TAP_CASE(events_come),
		TAP_CASE(events_that_cannot_be_sent),
		TAP_CASE(events_queue),
		TAP_CASE(events_are_thrown_away),
		TAP_CASE(events_are_disabled),
		TAP_CASE(one_waits),
		TAP_CASE(one_waits_of_all_processes),
		TAP_CASE(one_waits_of_parent_and_child),
		TAP_CASE(waits_are_cancelled),
		TAP_CASE(waits_end_in_time),
		TAP_CASE(a_signal_ends_a_wait),
		TAP_CASE(callbacks),
		TAP_CASE(callbacks_keep_their_event),
		TAP_CASE(callbacks_that_end),
		TAP_CASE(callbacks_whose_thread_ends),
		TAP_CASE(callbacks_have_returned),
		TAP_CASE(closing_ends_waits_of_callbacks),
		TAP_CASE(callbacks_that_end_each_other),
		TAP_CASE(a_lost_signal),
		TAP_CASE(a_ring_check_under_signals),
		TAP_CASE(settings),
		TAP_CASE(registers),
		TAP_CASE(registers_of_the_card),
		TAP_CASE(what_takes_a_capability),
		TAP_CASE(threads_at_once),
		TAP_CASE(a_fork),
		TAP_CASE(a_fork_without_files),
		TAP_CASE(an_exit_in_a_callback),
	};
	RFM2G_STATUS status;

	if (argc == 4 && !strcmp(argv[1], "--exit")) {
		spare_near = argv[2];
		spare_far = argv[3];
		return exits_in_callback();
	}
	if (argc == 3 && !strcmp(argv[1], "--wait"))
		return waits_for_one(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "--try"))
		return tries(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "--gone"))
		return sees_it_go(argv[2], false);
	if (argc == 3 && !strcmp(argv[1], "--back"))
		return sees_it_go(argv[2], true);
	near_path = (char *)card_path(argc, argv, 0);
	far_path = (char *)card_path(argc, argv, 1);
	if (!near_path || !far_path)
		tap_skip_all("two cards are needed");
	narrow_path = argc == 4 ? argv[3] : NULL;
	spare_near = argc > 4 ? argv[3] : near_path;
	spare_far = argc > 4 ? argv[4] : far_path;
	on_card = strncmp(near_path, "ring:", 5);
	status = RFM2gOpen(near_path, &near);
	if (!status)
		status = RFM2gOpen(far_path, &far);
	if (!status)
		status = RFM2gOpen(far_path, &stale);
	if (status || RFM2gSize(near, &size) || RFM2gNodeID(near, &near_node) ||
	    RFM2gNodeID(far, &far_node)) {
		printf("Bail out! the boards: %s\n", RFM2gErrorMsg(status));
		return TAP_FAIL;
	}
	{
		RFM2GHANDLE closed = stale;

		RFM2gClose(&closed);
	}
	if (!ring_is_up()) {
		printf("Bail out! the boards are no ring\n");
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}
