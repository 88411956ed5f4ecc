// SPDX-License-Identifier: GPL-2.0-only
/*
 * What long reads and writes pin, by the kernel's own figures:
 *
 *	dma_pin_test [DEVICE]
 *
 * Pages that are pinned are those of the caller's buffer, and nothing else in
 * the guest pins any while this runs.
 */

#define TAP_CASE_SECONDS 600

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "async.h"
#include "dma.h"

#define MIB (1ul << 20)
enum { FILES = 20, ROUNDS = 12, BLOCK = 2 * MIB };	/* more than a card pins */

/* Pages that a caller without a slice may have pinned, while it looks at them. */
enum { A_LOOK = 16 };

/* What the processors have not yet added up when the figures are read. */
enum { NOT_ADDED = 250 };

static const char *path;
static int card;

static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return some == MAP_FAILED ? NULL : some;
}

/* Every page of an aligned buffer is pinned once: nothing was copied. */
static void aligned_blocks_are_not_copied(void)
{
	struct pins before, between, after;
	uint8_t *buf = pages(MIB);

	REQUIRE(buf && pins_read(&before));
	CHECK_EQ(pwrite(card, buf, MIB, 8 * MIB), MIB);
	REQUIRE(pins_read(&between));
	CHECK_EQ(pread(card, buf, MIB, 8 * MIB), MIB);
	REQUIRE(pins_read(&after));
	CHECK_EQ(between.acquired - before.acquired, MIB / PAGE);
	CHECK_EQ(between.released - before.released, MIB / PAGE);
	CHECK_EQ(after.acquired - between.acquired, MIB / PAGE);
	CHECK_EQ(after.released - between.released, MIB / PAGE);
	/* What does not agree with its offset is copied, and not pinned. */
	CHECK_EQ(pwrite(card, buf, MIB - PAGE, 8 * MIB + 4), MIB - PAGE);
	REQUIRE(pins_read(&before));
	CHECK_EQ(before.acquired, after.acquired);
	munmap(buf, MIB);
}

/* --- many at once ---------------------------------------------------------- */

static volatile unsigned int left;	/* callers */

/* Each time both at once, by one who does not wait for them. */
static void *move_blocks(void *data)
{
	uint8_t *buf = pages(2 * BLOCK);
	int fd = open(path, O_RDWR);
	unsigned int i, end, *bad = data;
	struct iocb iocbs[2];
	struct io_event event;
	aio_context_t context;

	*bad += !buf || fd < 0 || aio_setup(2, &context);
	for (i = 0; i < ROUNDS && !*bad; i++) {
		aio_fill(&iocbs[0], IOCB_CMD_PREAD, fd, buf, BLOCK, 8 * MIB, 0);
		aio_fill(&iocbs[1], IOCB_CMD_PWRITE, fd, buf + BLOCK, BLOCK,
			 8 * MIB, 1);
		for (end = 0; end < 2; end++)
			*bad += aio_submit(context, &iocbs[end]) != 1;
		for (end = 0; end < 2 && !*bad; end++)
			*bad += aio_wait(context, &event) != 1 ||
				event.res != BLOCK;
	}
	close(fd);
	if (buf)
		munmap(buf, 2 * BLOCK);
	__sync_fetch_and_sub(&left, 1);
	return NULL;
}

/* However many files there are, no more is pinned than the bound and a slice. */
static void pinned_memory_is_bounded(void)
{
	const long long slice = dma_slice() / PAGE;
	const long long bound = PINNED_MAX / PAGE + slice + 1;
	const long long moved = 2ll * FILES * ROUNDS * BLOCK / PAGE;
	const long long most_seen = bound + FILES * A_LOOK + NOT_ADDED;
	long long max = 0, figure = 0, now;
	unsigned int bad[FILES] = { 0 }, i, looks = 0;
	pthread_t threads[FILES];
	struct pins before, pins;

	REQUIRE(pins_read(&before));
	left = FILES;
	for (i = 0; i < FILES; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, move_blocks,
					&bad[i]));
	while (left && pins_read(&pins)) {
		now = pins.acquired - before.acquired -
		      (pins.released - before.released);
		max = now > max ? now : max;
		now = dma_figure("pinned") / PAGE;
		figure = now > figure ? now : figure;
		looks++;
	}
	for (i = 0; i < FILES; i++) {
		pthread_join(threads[i], NULL);
		CHECK_EQ(bad[i], 0);
	}
	tap_note("%lld pages of %lld at most, %lld by the driver's figure, in %u looks",
		 max, bound, figure, looks);
	/* How near they come depends on who is quicker; dma_full_test reaches it. */
	CHECK(max <= most_seen);
	CHECK(figure > 0 && figure <= bound);
	CHECK(dma_is_idle());
	REQUIRE(pins_read(&pins));
	CHECK(pins.acquired - before.acquired >= moved);
	CHECK_EQ(pins.acquired - before.acquired,
		 pins.released - before.released);
}

/* --- O_DIRECT --------------------------------------------------------------- */

/* All I/O is direct; who asks for it gets no other, nor other alignments. */
static void direct_is_what_it_is(void)
{
	uint8_t *buf = pages(2 * MIB), *seen = buf + MIB;
	int fd = open(path, O_RDWR | O_DIRECT);

	REQUIRE(buf && fd >= 0);
	CHECK(fcntl(fd, F_GETFL) & O_DIRECT);
	pattern_fill(buf, MIB, 1);
	CHECK_EQ(pwrite(fd, buf, 65536, MIB), 65536);
	CHECK_EQ(pwrite(fd, buf + 3, 5001, MIB + 1), 5001);
	CHECK_EQ(pread(card, seen, 5001, MIB + 1), 5001);
	CHECK_EQ(first_difference(buf + 3, seen, 5001), 5001);
	CHECK_EQ(fcntl(card, F_SETFL, O_DIRECT), 0);
	CHECK_EQ(pread(card, seen, 65536, MIB + 8192), 65536);
	CHECK_EQ(first_difference(buf + 8192, seen, 65536 - 8192), 65536 - 8192);
	CHECK_EQ(fcntl(card, F_SETFL, 0), 0);
	close(fd);
	munmap(buf, 2 * MIB);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(aligned_blocks_are_not_copied),
		TAP_CASE(pinned_memory_is_bounded),
		TAP_CASE(direct_is_what_it_is),
	};
	struct rfm_info info;

	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 4096);
	return dma_end(TAP_RUN(cases));
}
