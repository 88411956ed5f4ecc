// SPDX-License-Identifier: GPL-2.0-only
/*
 * A card that has all that it may pin:
 *
 *	dma_full_test DEVICE
 *
 * The card's DMA engine stands still when this begins, so that whatever is
 * submitted stays. It goes on when this has said "full", before the driver gives
 * the engine up: 47 s after it began with a slice of so many bytes (io/dma.c).
 */

#define TAP_CASE_SECONDS 600

#include <sys/mman.h>

#include "async.h"
#include "dma.h"

#define MIB (1ul << 20)
enum { COUNT = 256, BYTES = 256 * 1024 };	/* twice what a card pins */

static int card;

/* Submits what must not wait, until one is refused. Returns how many were not; -1: an error. */
static int fill(aio_context_t context, const void *buf)
{
	static struct iocb iocbs[COUNT];
	struct timespec at_once = { 0 };
	struct io_event event;
	int i;

	for (i = 0; i < COUNT; i++) {
		aio_fill(&iocbs[i], IOCB_CMD_PWRITE, card, buf, BYTES, 0, i);
		iocbs[i].aio_rw_flags = RWF_NOWAIT;
		/* It is an error of the call, or of the transfer; nothing else can end. */
		if (aio_submit(context, &iocbs[i]) != 1)
			return errno == EAGAIN ? i : -1;
		if (syscall(SYS_io_getevents, context, 0, 1, &event, &at_once))
			return event.res == -EAGAIN ? i : -1;
	}
	return -1;
}

/* Two that go on while their caller does something else */
static bool begin_two(struct uring *uring, const void *buf)
{
	return uring_open(uring, 2) &&
	       uring_add(uring, IORING_OP_WRITE, card, buf, BYTES, 0, 0) &&
	       uring_add(uring, IORING_OP_WRITE, card, buf, BYTES, 0, 1) &&
	       uring_enter(uring, 0) == 0;
}

/* So many pages more than @before; they come by workers of io_uring. */
static bool await_pins(const struct pins *before, long long pages)
{
	struct pins pins;

	do {
		if (!pins_read(&pins))
			return false;
	} while (pins.acquired - before->acquired < pages);
	return true;
}

/*
 * Who must not wait is told that there is no room; who may, waits for it. All that
 * was not refused ends.
 */
static void a_full_card_says_so(void)
{
	const long long bound = PINNED_MAX + dma_slice() + 2 * PAGE;
	uint8_t *buf = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	long long pinned, pages;
	struct pins before, pins;
	aio_context_t context;
	struct io_event event;
	struct io_uring_cqe cqe;
	struct uring uring;
	int good, i;

	REQUIRE(buf != MAP_FAILED && aio_setup(COUNT, &context) == 0);
	/* One request is one slice. */
	REQUIRE(dma_slice() >= BYTES);
	REQUIRE(pins_read(&before) && begin_two(&uring, buf));
	REQUIRE(await_pins(&before, 2 * BYTES / PAGE));
	CHECK_EQ(dma_figure("requests"), 2);
	good = fill(context, buf);
	pinned = dma_figure("pinned");
	REQUIRE(pins_read(&pins));
	pages = pins.acquired - before.acquired - (pins.released - before.released);
	tap_note("%d requests, %lld bytes by the driver's figure, %lld pages",
		 2 + good, pinned, pages);
	REQUIRE(good >= 0);
	CHECK_EQ(dma_figure("requests"), 2 + good);
	CHECK(pinned >= PINNED_MAX && pinned <= bound);
	CHECK_EQ(pages, (2 + good) * (long long)(BYTES / PAGE));
	/* A worker of io_uring may wait for room, and does. */
	REQUIRE(uring_add(&uring, IORING_OP_WRITE, card, buf, BYTES, 0, 2) &&
		uring_enter(&uring, 0) == 0);
	while (dma_figure("requests") != 3 + good)
		sleep_ms(1);
	CHECK_EQ(dma_figure("pinned"), pinned);
	CHECK(!uring_next(&uring, &cqe));
	tap_note("full");

	for (i = 0; i < good; i++) {
		REQUIRE(aio_wait(context, &event) == 1);
		CHECK_EQ(event.res, BYTES);
	}
	for (i = 0; i < 3; i++) {
		REQUIRE(uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, BYTES);
	}
	CHECK(dma_is_idle());
	REQUIRE(pins_read(&pins));
	CHECK_EQ(pins.acquired - before.acquired,
		 pins.released - before.released);
	CHECK_EQ(aio_destroy(context), 0);
	uring_close(&uring);
	munmap(buf, BYTES);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(a_full_card_says_so),
	};
	const char *path = card_path(argc, argv, 0);
	struct rfm_info info;

	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 4096);
	return dma_end(TAP_RUN(cases));
}
