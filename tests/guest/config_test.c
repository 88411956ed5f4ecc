// SPDX-License-Identifier: GPL-2.0-only
/*
 * GET_CONFIG and SET_CONFIG: every switch does what it says.
 *
 *	config_test NEAR FAR [NARROW]
 *
 * NEAR and FAR are a ring of their own, see pair.h; the window of NARROW is
 * smaller than its memory, and nobody else uses it.
 */

#include <pthread.h>
#include <sys/uio.h>

#include "faults.h"
#include "pair.h"

#define PLACE 0x280000ull
#define PAGE 4096ul

static const char *narrow_path;
static struct rfm_config home;	/* of near, at the beginning */

static struct rfm_config get(int fd)
{
	struct rfm_config state;

	memset(&state, 0xa5, sizeof(state));
	CHECK_EQ(ioctl(fd, RFM_IOC_GET_CONFIG, &state), 0);
	return state;
}

static int set(int fd, uint32_t mask, uint32_t on)
{
	struct rfm_config state = { .mask = mask, .on = on };

	return ioctl(fd, RFM_IOC_SET_CONFIG, &state);
}

static int set_window(int fd, uint64_t offset)
{
	struct rfm_config state = { .mask = RFM_CONFIG_WINDOW,
				      .window_offset = offset };

	return ioctl(fd, RFM_IOC_SET_CONFIG, &state);
}

static uint32_t lcsr1(int fd)
{
	struct rfm_info now;

	CHECK_EQ(card_info(fd, &now), 0);
	return now.lcsr1;
}

static void get_says_all(void)
{
	struct rfm_config state = get(pair.near);

	CHECK_EQ(state.mask, RFM_CONFIG_ALL);
	CHECK_EQ(state.on & ~(uint32_t)RFM_CONFIG_OWN_DATA,
		 RFM_CONFIG_TRANSMIT);
	CHECK_EQ(state.window_offset, 0);
	CHECK_EQ(state.address_offset, 0);
	CHECK_EQ(state.pad, 0);
	CHECK_EQ(state.reserved[0] | state.reserved[1], 0);
	check_bad_pointers(pair.near, RFM_IOC_GET_CONFIG, "GET_CONFIG");
}

static void refusals(void)
{
	const uint64_t window = pair.info.window_size;
	const uint32_t led = RFM_CONFIG_LED;
	const struct {
		struct rfm_config args;
		const char *why;
	} bad[] = {
		{ { .mask = led | 0x400, .on = led }, "unknown switch" },
		{ { .mask = led | 0x80000000, .on = led }, "unknown switch" },
		{ { .mask = led, .on = led | 0x400 }, "unknown state" },
		{ { .mask = led | RFM_CONFIG_OWN_DATA,
		    .on = led | RFM_CONFIG_OWN_DATA }, "OWN DATA on" },
		{ { .mask = led | RFM_CONFIG_OFFSET, .on = led,
		    .address_offset = 1 }, "offset 1" },
		{ { .mask = led | RFM_CONFIG_OFFSET, .on = led,
		    .address_offset = 1u << 25 }, "offset 32 MiB" },
		{ { .mask = led | RFM_CONFIG_OFFSET, .on = led,
		    .address_offset = 1u << 28 }, "offset 256 MiB" },
		{ { .mask = led | RFM_CONFIG_WINDOW, .on = led,
		    .window_offset = window }, "window behind the end" },
		{ { .mask = led | RFM_CONFIG_WINDOW, .on = led,
		    .window_offset = window / 2 }, "half a window" },
		{ { .mask = led | RFM_CONFIG_WINDOW, .on = led,
		    .window_offset = 1 }, "window at 1" },
		{ { .mask = led | RFM_CONFIG_WINDOW, .on = led,
		    .window_offset = 1ull << 32 }, "window at 4 GiB" },
	};
	struct rfm_config args;
	int reader = open(pair.path, O_RDONLY);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_SET_CONFIG, args,
				   EINVAL))
			tap_note("%s", bad[i].why);
	}
	check_bad_pointers(pair.near, RFM_IOC_SET_CONFIG, "SET_CONFIG");
	REQUIRE(reader >= 0);
	args = (struct rfm_config){ .mask = led, .on = led };
	CHECK_REFUSED(reader, RFM_IOC_SET_CONFIG, args, EBADF);
	CHECK_EQ(ioctl(reader, RFM_IOC_GET_CONFIG, &args), 0);
	close(reader);
	/* All or nothing: the LED, asked for each time, is still off. */
	CHECK_EQ(lcsr1(pair.near) & RFM_LCSR1_LED, 0);
}

/* Each bit of LCSR1 by itself, whatever else @on says. */
static void bits_of_lcsr1(void)
{
	static const struct {
		uint32_t flag, bit;
		bool inverted;
	} bits[] = {
		{ RFM_CONFIG_LED, 0x80000000, false },
		{ RFM_CONFIG_TRANSMIT, 0x40000000, true },
		{ RFM_CONFIG_DARK_ON_DARK, 0x20000000, false },
		{ RFM_CONFIG_LOOPBACK, 0x10000000, false },
		{ RFM_CONFIG_PARITY, 0x08000000, false },
	};
	const uint32_t steady = 0xfff00000;	/* the others come and go */
	uint32_t before = lcsr1(pair.near) & steady;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bits); i++) {
		bool usual = bits[i].flag == RFM_CONFIG_TRANSMIT;

		CHECK_EQ(set(pair.near, bits[i].flag,
			     usual ? RFM_CONFIG_ALL & ~bits[i].flag :
				     bits[i].flag), 0);
		CHECK_EQ(lcsr1(pair.near) & steady, before ^ bits[i].bit);
		CHECK_EQ(get(pair.near).on & ~(uint32_t)RFM_CONFIG_OWN_DATA,
			 RFM_CONFIG_TRANSMIT ^ bits[i].flag);
		CHECK_EQ(set(pair.near, bits[i].flag,
			     usual ? bits[i].flag :
				     RFM_CONFIG_ALL & ~bits[i].flag), 0);
		CHECK_EQ(lcsr1(pair.near) & steady, before);
		CHECK_EQ(set(pair.near, 0, bits[i].flag), 0);
		CHECK_EQ(lcsr1(pair.near) & steady, before);
	}
}

static void own_data_can_be_cleared(void)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };

	REQUIRE(!ioctl(pair.near, RFM_IOC_RING_TEST, &test));
	CHECK(get(pair.near).on & RFM_CONFIG_OWN_DATA);
	/* Changing others leaves it. */
	CHECK_EQ(set(pair.near, RFM_CONFIG_LED, RFM_CONFIG_LED), 0);
	CHECK_EQ(set(pair.near, RFM_CONFIG_LED, 0), 0);
	CHECK(get(pair.near).on & RFM_CONFIG_OWN_DATA);
	CHECK_EQ(set(pair.near, RFM_CONFIG_OWN_DATA, 0), 0);
	CHECK_EQ(get(pair.near).on & RFM_CONFIG_OWN_DATA, 0);
}

/*
 * Until a packet goes round again. What was sent too early is lost, and the
 * fences that come next are to find nothing of that.
 */
static void ring_heals(void)
{
	struct rfm_ring_test near = { .timeout_ms = 200 }, far = near;
	struct rfm_fence_wait ignored[2] = { { .timeout_ms = 10000 },
					     { .timeout_ms = 10000 } };

	while (ioctl(pair.near, RFM_IOC_RING_TEST, &near) ||
	       ioctl(pair.far, RFM_IOC_RING_TEST, &far)) {
		if (!CHECK_EQ(errno, ETIMEDOUT))
			return;
		near.round_trip_ns = 0;
	}
	CHECK_EQ(ioctl(pair.near, RFM_IOC_FENCE, &ignored[0]), 0);
	CHECK_EQ(ioctl(pair.far, RFM_IOC_FENCE, &ignored[1]), 0);
}

/* Without light from near there is none at far, nor a ring. */
static void transmit_off_is_dark(void)
{
	struct rfm_ring_test test = { .timeout_ms = 100 };

	REQUIRE(!set(pair.near, RFM_CONFIG_TRANSMIT, 0));
	while (lcsr1(pair.far) & RFM_LCSR1_SIGNAL)
		;
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_RING_TEST, &test), ETIMEDOUT);
	REQUIRE(!set(pair.near, RFM_CONFIG_TRANSMIT, RFM_CONFIG_TRANSMIT));
	ring_heals();
	CHECK(lcsr1(pair.far) & RFM_LCSR1_SIGNAL);
}

/* In loopback near hears itself and far hears nothing of it. */
static void loopback_is_a_ring_of_one(void)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };

	CHECK(fence(pair.near));
	CHECK(word_put(pair.far, PLACE, 1));
	CHECK(fence(pair.far));
	REQUIRE(!set(pair.near, RFM_CONFIG_LOOPBACK, RFM_CONFIG_LOOPBACK));
	CHECK_EQ(ioctl(pair.near, RFM_IOC_RING_TEST, &test), 0);
	CHECK(word_put(pair.near, PLACE, ++pair.value));
	CHECK(word_get(pair.far, PLACE) == 1);
	REQUIRE(!set(pair.near, RFM_CONFIG_LOOPBACK, 0));
	ring_heals();
}

static void parity_inhibits_narrow_stores(void)
{
	const uint8_t byte = 0x5a;

	CHECK(word_put(pair.near, PLACE, 0x1122334455667788));
	REQUIRE(!set(pair.near, RFM_CONFIG_PARITY, RFM_CONFIG_PARITY));
	CHECK_EQ(pwrite(pair.near, &byte, 1, PLACE), 1);
	CHECK_EQ(word_get(pair.near, PLACE), 0x1122334455667788);
	REQUIRE(!set(pair.near, RFM_CONFIG_PARITY, 0));
	CHECK_EQ(pwrite(pair.near, &byte, 1, PLACE), 1);
	CHECK_EQ(word_get(pair.near, PLACE), 0x112233445566775a);
}

/* A long write is made by parts, and none ends inside a word: only its two ends are narrow. */
static void parity_inhibits_nothing_in_the_middle(void)
{
	static uint8_t written[3 * 8192], read[sizeof(written)];
	const struct iovec out = { written, sizeof(written) };

	memset(written, 0x5a, sizeof(written));
	REQUIRE(!set(pair.near, RFM_CONFIG_PARITY, RFM_CONFIG_PARITY));
	CHECK_EQ(pwritev2(pair.near, &out, 1, PLACE + 2, RWF_NOWAIT), sizeof(written));
	REQUIRE(!set(pair.near, RFM_CONFIG_PARITY, 0));
	CHECK_EQ(pread(pair.near, read, sizeof(read), PLACE + 2), sizeof(read));
	CHECK(!memcmp(read + 2, written + 2, sizeof(read) - 4));
}

static void byte_swap_reverses_fours(void)
{
	CHECK(word_put(pair.near, PLACE, 0x0123456789abcdef));
	REQUIRE(!set(pair.near, RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP));
	CHECK(get(pair.near).on & RFM_CONFIG_BYTE_SWAP);
	CHECK_EQ(word_get(pair.near, PLACE), 0x67452301efcdab89);
	CHECK(word_put(pair.near, PLACE + 8, 0x0011223344556677));
	CHECK_EQ(word_get(pair.near, PLACE + 8), 0x0011223344556677);
	REQUIRE(!set(pair.near, RFM_CONFIG_BYTE_SWAP, 0));
	CHECK_EQ(get(pair.near).on & RFM_CONFIG_BYTE_SWAP, 0);
	CHECK_EQ(word_get(pair.near, PLACE), 0x0123456789abcdef);
	CHECK_EQ(word_get(pair.near, PLACE + 8), 0x3322110077665544);
}

#define BOTH_SWAPS	(RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP)

/* One switch sets both, as it did when it was the only one; the other is DMA's. */
static void byte_swaps_are_two(void)
{
	static const struct {
		uint32_t mask, on, then;
	} steps[] = {
		{ RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP, BOTH_SWAPS },
		{ RFM_CONFIG_DMA_BYTE_SWAP, 0, RFM_CONFIG_BYTE_SWAP },
		{ RFM_CONFIG_LED, RFM_CONFIG_ALL, RFM_CONFIG_BYTE_SWAP },
		{ RFM_CONFIG_LED, 0, RFM_CONFIG_BYTE_SWAP },
		{ RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP, BOTH_SWAPS },
		{ RFM_CONFIG_BYTE_SWAP, 0, 0 },
		{ RFM_CONFIG_DMA_BYTE_SWAP, RFM_CONFIG_DMA_BYTE_SWAP, RFM_CONFIG_DMA_BYTE_SWAP },
		{ BOTH_SWAPS, RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP },
		{ BOTH_SWAPS, RFM_CONFIG_DMA_BYTE_SWAP, RFM_CONFIG_DMA_BYTE_SWAP },
		{ RFM_CONFIG_BYTE_SWAP, 0, 0 },
	};
	const uint64_t plain = 0x0123456789abcdef, reversed = 0x67452301efcdab89;
	volatile uint64_t *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				      pair.near, PLACE);
	unsigned int i;

	REQUIRE(map != MAP_FAILED);
	CHECK(word_put(pair.near, PLACE, plain));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		uint32_t now;

		REQUIRE(!set(pair.near, steps[i].mask, steps[i].on));
		now = get(pair.near).on & BOTH_SWAPS;
		if (!CHECK_EQ(now, steps[i].then))
			tap_note("step %u", i);
		CHECK_EQ(map[0], now & RFM_CONFIG_BYTE_SWAP ? reversed : plain);
		CHECK_EQ(word_get(pair.near, PLACE),
			 now & RFM_CONFIG_DMA_BYTE_SWAP ? reversed : plain);
		CHECK(word_put(pair.near, PLACE + 8, plain));
		CHECK_EQ(word_get(pair.near, PLACE + 8), plain);
		CHECK_EQ(map[1], !(now & RFM_CONFIG_BYTE_SWAP) ==
				 !(now & RFM_CONFIG_DMA_BYTE_SWAP) ? plain : reversed);
	}
	munmap((void *)map, PAGE);
}

/* The least that a load from here takes, in ns. */
static double cost_of_a_load(const volatile uint32_t *from)
{
	enum { PASSES = 20, LOADS = 2000 };
	uint64_t best = UINT64_MAX, start, took;
	unsigned int pass, i;

	for (pass = 0; pass < PASSES; pass++) {
		start = now_ns();
		for (i = 0; i < LOADS; i++)
			(void)*from;
		took = now_ns() - start;
		if (took < best)
			best = took;
	}
	return (double)best / LOADS;
}

/* Bytes 0 to 15 at @at, as loads of all widths see them: byte n is @flip ^ n. */
static void check_widths(const volatile uint8_t *at, unsigned int flip)
{
	uint8_t seen[16];
	uint64_t value;
	size_t width, i;

	for (width = 1; width <= 8; width *= 2) {
		for (i = 0; i < 16; i += width) {
			value = width == 1 ? at[i] :
				width == 2 ? *(volatile uint16_t *)(at + i) :
				width == 4 ? *(volatile uint32_t *)(at + i) :
				*(volatile uint64_t *)(at + i);
			memcpy(seen + i, &value, width);
		}
		for (i = 0; i < 16; i++)
			CHECK_EQ(seen[i], i ^ flip);
	}
}

/*
 * A mapping that was there before, and touched, follows the switch both ways.
 * While it is set, the card itself answers each load; then no longer.
 */
static void byte_swap_reaches_old_mappings(void)
{
	uint8_t *near = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     pair.near, PLACE);
	struct rfm_ring_test test = { .timeout_ms = 10000 };
	uint8_t bytes[16];
	double before, swapped, after;
	size_t i;

	REQUIRE(near != MAP_FAILED);
	for (i = 0; i < 16; i++)
		bytes[i] = i;
	CHECK_EQ(pwrite(pair.near, bytes, 16, PLACE), 16);
	check_widths(near, 0);
	before = cost_of_a_load((volatile uint32_t *)near);

	REQUIRE(!set(pair.near, RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP));
	check_widths(near, 3);
	swapped = cost_of_a_load((volatile uint32_t *)near);
	/* Stores of each width, as they arrive elsewhere. */
	*(volatile uint64_t *)(near + 64) = 0x0706050403020100;
	*(volatile uint32_t *)(near + 72) = 0x0b0a0908;
	*(volatile uint16_t *)(near + 76) = 0x0d0c;
	*(volatile uint8_t *)(near + 78) = 0x0e;
	*(volatile uint8_t *)(near + 79) = 0x0f;
	check_widths(near + 64, 0);

	REQUIRE(!set(pair.near, RFM_CONFIG_BYTE_SWAP, 0));
	check_widths(near, 0);
	check_widths(near + 64, 3);
	after = cost_of_a_load((volatile uint32_t *)near);
	*(volatile uint64_t *)(near + 128) = ++pair.value;
	CHECK_EQ(*(volatile uint64_t *)(near + 128), pair.value);

	tap_note("a load: %.1f ns, swapped %.1f ns, then %.1f ns", before,
		 swapped, after);
	CHECK(swapped > 3 * before);
	CHECK(after < swapped / 3);
	REQUIRE(!ioctl(pair.near, RFM_IOC_RING_TEST, &test));
	CHECK_EQ(pread(pair.far, bytes, 16, PLACE + 64), 16);
	for (i = 0; i < 16; i++)
		CHECK_EQ(bytes[i], i ^ 3);
	munmap(near, PAGE);
}

/* LCSR1[17:16]; own updates then go elsewhere, here beyond far's memory. */
static void offset_moves_own_updates(void)
{
	struct rfm_config args = { .mask = RFM_CONFIG_OFFSET };
	uint32_t step;

	for (step = 1; step < 4; step++) {
		args.address_offset = step << 26;
		REQUIRE(!ioctl(pair.near, RFM_IOC_SET_CONFIG, &args));
		CHECK_EQ(lcsr1(pair.near) >> 16 & 3, step);
		CHECK_EQ(get(pair.near).address_offset, step << 26);
	}
	if (pair.far_info.memory_size == 64 << 20) {
		/* Near's earlier stores, at their own address, come first. */
		CHECK(fence(pair.near));
		CHECK(word_put(pair.far, PLACE, 1));
		CHECK(fence(pair.far));
		CHECK(word_put(pair.near, PLACE, ++pair.value));
		CHECK(fence(pair.near));
		CHECK_EQ(word_get(pair.far, PLACE), 1);
	}
	args.address_offset = 0;
	REQUIRE(!ioctl(pair.near, RFM_IOC_SET_CONFIG, &args));
	CHECK_EQ(lcsr1(pair.near) >> 16 & 3, 0);
	CHECK(word_put(pair.near, PLACE, pair.value));
	CHECK(fence(pair.near));
	CHECK_EQ(word_get(pair.far, PLACE), pair.value);
}

/* --- the window ---------------------------------------------------------------- */

/* The window shows another part; file offsets are offsets in it. */
static void window_shows_another_part(void)
{
	struct rfm_info info;
	uint64_t offset;
	int fd;

	if (!narrow_path)
		return tap_skip("no card with a narrow window");
	fd = open(narrow_path, O_RDWR);
	REQUIRE(fd >= 0 && !card_info(fd, &info));
	REQUIRE(info.window_size < info.memory_size);
	for (offset = 0; offset < info.memory_size;
	     offset += info.window_size) {
		REQUIRE(!set_window(fd, offset));
		CHECK_EQ(get(fd).window_offset, offset);
		CHECK_EQ(card_info(fd, &info), 0);
		CHECK_EQ(info.window_offset, offset);
		CHECK(word_put(fd, 0x40, offset + 1));
		CHECK(word_put(fd, info.window_size - 8, offset + 2));
	}
	for (offset = 0; offset < info.memory_size;
	     offset += info.window_size) {
		volatile uint64_t *map;

		REQUIRE(!set_window(fd, offset));
		CHECK_EQ(word_get(fd, 0x40), offset + 1);
		map = card_map(fd, info.window_size);
		REQUIRE(map);
		CHECK_EQ(map[8], offset + 1);
		CHECK_EQ(map[info.window_size / 8 - 1], offset + 2);
		munmap((void *)map, info.window_size);
	}
	CHECK_EQ(set_window(fd, 0), 0);
	close(fd);
}

/* Refused, and the other changes of the same call are left alone. */
static void check_busy(int fd, const struct rfm_info *info)
{
	struct rfm_config args = {
		.mask = RFM_CONFIG_WINDOW | RFM_CONFIG_LED,
		.on = RFM_CONFIG_LED, .window_offset = info->window_size,
	};

	CHECK_REFUSED(fd, RFM_IOC_SET_CONFIG, args, EBUSY);
	CHECK_EQ(get(fd).window_offset, 0);
	CHECK_EQ(lcsr1(fd) & RFM_LCSR1_LED, 0);
	/* Where it is anyway, it can be set to. */
	CHECK_EQ(set_window(fd, 0), 0);
}

static void check_free(int fd, const struct rfm_info *info)
{
	CHECK_EQ(set_window(fd, info->window_size), 0);
	CHECK_EQ(set_window(fd, 0), 0);
}

static void window_stays_under_its_users(void)
{
	struct rfm_range range = { 0, 8 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1 };
	struct rfm_info info;
	int fd, user;
	char *map;

	if (!narrow_path)
		return tap_skip("no card with a narrow window");
	fd = open(narrow_path, O_RDWR);
	user = open(narrow_path, O_RDWR);
	REQUIRE(fd >= 0 && user >= 0 && !card_info(fd, &info));

	map = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, user, 0);
	REQUIRE(map != MAP_FAILED);
	check_busy(fd, &info);
	munmap(map, PAGE);
	check_busy(fd, &info);
	munmap(map + PAGE, PAGE);
	check_free(fd, &info);
	if (!info.features) {
		close(user);
		close(fd);
		return;
	}

	CHECK_EQ(subscribe(user, 0, 0, RFM_SUBSCRIBE_NO_MAPS), 0);
	map = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, user, 0);
	REQUIRE(map != MAP_FAILED);
	check_busy(fd, &info);
	munmap(map, PAGE);
	check_free(fd, &info);

	CHECK_EQ(subscribe(user, info.window_size, 64, RFM_SUBSCRIBE_RX), 0);
	check_busy(fd, &info);
	CHECK_EQ(unsubscribe(user, 0, info.memory_size, RFM_SUBSCRIBE_RX), 0);
	check_free(fd, &info);
	CHECK_EQ(subscribe(user, 0, 64, RFM_SUBSCRIBE_OWN), 0);
	check_busy(fd, &info);
	close(user);
	check_free(fd, &info);

	user = ioctl(fd, RFM_IOC_WATCH, &watch);
	REQUIRE(user >= 0);
	check_busy(fd, &info);
	close(user);
	check_free(fd, &info);
	close(fd);
}

/* --- a read or write that is under way ------------------------------------- */

/* A short one, by the processor; the second half of the buffer is not there. */
struct transfer {
	int fd;
	bool store;
	uint8_t *buf;
	ssize_t done;
};

enum { SHORT = 1024 };

static void *transfer_run(void *data)
{
	struct transfer *transfer = data;

	transfer->done = transfer->store ?
		pwrite(transfer->fd, transfer->buf, SHORT, PLACE) :
		pread(transfer->fd, transfer->buf, SHORT, PLACE);
	return NULL;
}

static void block_fill(int fd, uint64_t window, uint8_t byte)
{
	uint8_t block[SHORT];

	memset(block, byte, SHORT);
	CHECK_EQ(set_window(fd, window), 0);
	CHECK_EQ(pwrite(fd, block, SHORT, PLACE), SHORT);
}

static void check_block(int fd, uint64_t window, const uint8_t *expected)
{
	uint8_t block[SHORT];

	CHECK_EQ(set_window(fd, window), 0);
	CHECK_EQ(pread(fd, block, SHORT, PLACE), SHORT);
	CHECK(!memcmp(block, expected, SHORT));
}

/* The change is refused when half of the transfer is done. */
static void stays_under(int fd, const struct rfm_info *info, uint8_t *memory,
			bool store)
{
	struct transfer transfer = {
		.fd = fd, .store = store, .buf = memory + PAGE - SHORT / 2,
	};
	uint8_t here[SHORT], there[SHORT];
	pthread_t thread;

	memset(here, 0x11, SHORT);
	memset(there, 0x22, SHORT);
	block_fill(fd, info->window_size, 0x22);
	block_fill(fd, 0, 0x11);
	faults_take(memory + PAGE);
	REQUIRE(!pthread_create(&thread, NULL, transfer_run, &transfer));
	CHECK(faults_next() == memory + PAGE);
	check_busy(fd, info);
	CHECK_ERRNO(set(fd, RFM_CONFIG_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP), EBUSY);
	CHECK_ERRNO(set(fd, RFM_CONFIG_DMA_BYTE_SWAP, RFM_CONFIG_DMA_BYTE_SWAP), EBUSY);
	CHECK_EQ(get(fd).on & RFM_CONFIG_BYTE_SWAP, 0);
	faults_give(memory + PAGE);
	pthread_join(thread, NULL);

	CHECK_EQ(transfer.done, SHORT);
	CHECK(store || !memcmp(transfer.buf, here, SHORT));
	CHECK_EQ(set(fd, RFM_CONFIG_BYTE_SWAP, 0), 0);
	check_block(fd, info->window_size, there);
	check_block(fd, 0, store ? transfer.buf : here);
}

static void a_transfer_sees_one_window(void)
{
	struct rfm_info info;
	uint8_t *memory;
	int fd;

	if (!narrow_path)
		return tap_skip("no card with a narrow window");
	fd = open(narrow_path, O_RDWR);
	REQUIRE(fd >= 0 && !card_info(fd, &info) && faults_open());
	memory = faults_memory(2 * PAGE);
	REQUIRE(memory);
	stays_under(fd, &info, memory, true);
	stays_under(fd, &info, memory, false);
	munmap(memory, 2 * PAGE);
	close(faults);
	close(fd);
}

/* At the end everything is as it was. */
static void all_is_as_before(void)
{
	struct rfm_config state = get(pair.near);

	state.on &= ~(uint32_t)RFM_CONFIG_OWN_DATA;
	home.on &= ~(uint32_t)RFM_CONFIG_OWN_DATA;
	CHECK(!memcmp(&state, &home, sizeof(state)));
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(get_says_all),
		TAP_CASE(refusals),
		TAP_CASE(bits_of_lcsr1),
		TAP_CASE(own_data_can_be_cleared),
		TAP_CASE(transmit_off_is_dark),
		TAP_CASE(loopback_is_a_ring_of_one),
		TAP_CASE(parity_inhibits_narrow_stores),
		TAP_CASE(parity_inhibits_nothing_in_the_middle),
		TAP_CASE(byte_swap_reverses_fours),
		TAP_CASE(byte_swaps_are_two),
		TAP_CASE(byte_swap_reaches_old_mappings),
		TAP_CASE(offset_moves_own_updates),
		TAP_CASE(window_shows_another_part),
		TAP_CASE(window_stays_under_its_users),
		TAP_CASE(a_transfer_sees_one_window),
		TAP_CASE(all_is_as_before),
	};

	pair_open(argc, argv);
	narrow_path = argc > 3 ? argv[3] : NULL;
	if (subscribe(pair.near, 0, pair.info.memory_size,
		      RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX)) {
		tap_note("SUBSCRIBE: %s", strerror(errno));
		return TAP_FAIL;
	}
	home = get(pair.near);
	return TAP_RUN(cases);
}
