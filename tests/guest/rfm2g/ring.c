// SPDX-License-Identifier: MIT
/* The ring, settings and registers. */
#include "tests/guest/rfm2g/private.h"

#include <linux/capability.h>
#include <sys/syscall.h>

/* --- the ring ---------------------------------------------------------------------- */

bool ring_is_up(void)
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
void a_lost_signal(void)
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
void a_ring_check_under_signals(void)
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

void settings(void)
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

void registers(void)
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

void registers_of_the_card(void)
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

void what_takes_a_capability(void)
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
