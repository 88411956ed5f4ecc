// SPDX-License-Identifier: MIT
/* Words, transfers, mappings and windows. */
#include "tests/guest/rfm2g/private.h"

void words(void)
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

void what_is_no_place(void)
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

void transfers(void)
{
	static uint8_t out[20000], in[20000];

	transfers_to(out, in, sizeof(out));
}

/* A buffer is for the card's engine, of memory as there is any. */
void transfers_by_dma(void)
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
void byte_swaps(void)
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
void mappings(void)
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

void mappings_that_are_none(void)
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

void windows(void)
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
void windows_that_slide(void)
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
