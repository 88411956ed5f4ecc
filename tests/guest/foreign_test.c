// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a program does with a 5565 by way of tests/guest/foreign/foreign.ko, which
 * is none of our drivers. Two cards of this machine, that driver's both, on one
 * ring; what is tested goes both ways.
 *
 *	foreign_test [-h HABIT] DEVICE DEVICE
 *	foreign_test -t DEVICE		one transfer, which may have to wait: prints
 *					"started", and passes when it is right
 *	foreign_test -e SENDER DATA DEVICE
 *					prints "ready"; passes when that interrupt 2 comes
 *	foreign_test -s NODE DATA DEVICE	sends interrupt 2
 */

#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "tap.h"
#include "foreign/foreign.h"

#define PATIENCE_MS 60000
#define BLOCK 0x10000u

static struct end {
	const char *path;
	int fd;
	struct foreign_info info;
	volatile uint32_t *memory;
	uint32_t *buffer;	/* for DMA */
} ends[2];

static const char *habit = "ge";

static bool is_habit(const char *name)
{
	return !strcmp(habit, name);
}

static void *map(int fd, size_t size, off_t at)
{
	void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			     at);

	if (address == MAP_FAILED) {
		perror("mmap");
		exit(TAP_FAIL);
	}
	return address;
}

static void begin(struct end *end, const char *path)
{
	end->path = path;
	end->fd = open(path, O_RDWR);
	if (end->fd < 0 || ioctl(end->fd, FOREIGN_GET_INFO, &end->info)) {
		perror(path);
		exit(TAP_FAIL);
	}
	end->memory = map(end->fd, end->info.memory_size, 0);
	end->buffer = map(end->fd, FOREIGN_BUFFER_SIZE, FOREIGN_BUFFER_AT);
}

static uint32_t pattern(uint32_t seed, uint32_t i)
{
	return seed * 0x9e3779b1u + i * 0x85ebca6bu;
}

static void fill(uint32_t *data, uint32_t seed, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes / 4; i++)
		data[i] = pattern(seed, i);
}

static bool matches(const volatile uint32_t *data, uint32_t seed, uint32_t bytes)
{
	uint32_t i;

	for (i = 0; i < bytes / 4; i++)
		if (data[i] != pattern(seed, i))
			return false;
	return true;
}

static bool arrives(const volatile uint32_t *at, uint32_t value)
{
	double end = tap_seconds() + PATIENCE_MS / 1000;

	while (*at != value && tap_seconds() < end)
		;
	return *at == value;
}

static int send(struct end *from, uint32_t node, uint32_t type, uint32_t data)
{
	struct foreign_send args = { node, type, data };

	return ioctl(from->fd, FOREIGN_SEND, &args);
}

/* What came before is nobody's. */
static void listen_for(struct end *end, uint32_t type)
{
	CHECK(!ioctl(end->fd, FOREIGN_CLEAR, type));
	CHECK(!ioctl(end->fd, FOREIGN_ENABLE, type));
}

static int wait_for(struct end *end, struct foreign_event *event)
{
	event->timeout_ms = PATIENCE_MS;
	return ioctl(end->fd, FOREIGN_WAIT, event);
}

/* The next event of this type is this one; "sol" does not read the data. */
static bool comes(struct end *to, struct end *from, uint32_t type, uint32_t data)
{
	struct foreign_event event = { .type = type };

	if (!CHECK(!wait_for(to, &event)))
		return false;
	if (type == FOREIGN_RESET)	/* tells nothing more */
		return true;
	return CHECK_EQ(event.node, from->info.node) &
	       CHECK_EQ(event.data, is_habit("sol") ? 0 : data);
}

static int dma(struct end *end, uint32_t offset, uint32_t length, bool to_host,
	       bool poll)
{
	struct foreign_dma args = { offset, length, to_host, poll, PATIENCE_MS };

	return ioctl(end->fd, FOREIGN_DMA, &args);
}

/* --- cases: from one end to the other, and back ------------------------------ */

static uint32_t fresh = 1;	/* never used before */

static uint64_t common_size(void)
{
	uint64_t a = ends[0].info.memory_size, b = ends[1].info.memory_size;

	return a < b ? a : b;
}

static void maps(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct end *from = &ends[i], *to = &ends[!i];
		uint64_t last = from->info.memory_size - 4, common;

		CHECK_EQ(from->info.window_size, from->info.memory_size);
		from->memory[last / 4] = ++fresh;
		CHECK_EQ(from->memory[last / 4], fresh);
		for (common = 0; common < common_size(); common += 16 << 20) {
			from->memory[common / 4] = ++fresh;
			CHECK(arrives(&to->memory[common / 4], fresh));
		}
		from->memory[common / 4 - 1] = ++fresh;
		CHECK(arrives(&to->memory[common / 4 - 1], fresh));
	}
}

static void copies(void)
{
	static uint32_t data[BLOCK / 4], back[BLOCK / 4];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct end *from = &ends[i], *to = &ends[!i];

		fill(data, ++fresh, BLOCK);
		CHECK_EQ(pwrite(from->fd, data, BLOCK, 0x100000), BLOCK);
		CHECK(arrives(&to->memory[(0x100000 + BLOCK) / 4 - 1],
			      data[BLOCK / 4 - 1]));
		CHECK_EQ(pread(to->fd, back, BLOCK, 0x100000), BLOCK);
		CHECK(!memcmp(data, back, BLOCK));
	}
}

static void ring_is_closed(void)
{
	double end = tap_seconds() + PATIENCE_MS / 1000;
	unsigned int i;

	/* The half a second that it looks is little for a card on a host that is busy. */
	for (i = 0; i < 2; i++) {
		while (ioctl(ends[i].fd, FOREIGN_RING) && tap_seconds() < end)
			;
		CHECK(tap_seconds() < end);
	}
}

static void events(void)
{
	unsigned int i, type;

	for (i = 0; i < 2; i++) {
		struct end *from = &ends[i], *to = &ends[!i];

		for (type = FOREIGN_RESET; type <= FOREIGN_INT4; type++) {
			listen_for(to, type);
			CHECK(!send(from, to->info.node, type, ++fresh));
			comes(to, from, type, fresh);
			CHECK(!send(from, FOREIGN_ALL_NODES, type, ++fresh));
			comes(to, from, type, fresh);
		}
	}
}

/* More than one waits: in the card's FIFO, as the driver may take one at a time. */
static void events_that_wait(void)
{
	unsigned int i, n;

	if (is_habit("xpc")) {
		tap_skip("it empties the FIFO with each");
		return;
	}
	for (i = 0; i < 2; i++) {
		struct end *from = &ends[i], *to = &ends[!i];
		uint32_t first = fresh + 1;

		listen_for(to, FOREIGN_INT1 + 2);
		for (n = 0; n < 100; n++)
			CHECK(!send(from, to->info.node, FOREIGN_INT1 + 2, ++fresh));
		for (n = 0; n < 100; n++)
			if (!comes(to, from, FOREIGN_INT1 + 2, first + n))
				return;
	}
}

/* An interrupt comes behind the data. */
static void transfers_by(bool poll)
{
	static const uint32_t lengths[] = { FOREIGN_BUFFER_SIZE, 0x1000, 0x1000, 8 };
	unsigned int i, n;

	for (i = 0; i < 2; i++) {
		struct end *from = &ends[i], *to = &ends[!i];

		listen_for(to, FOREIGN_INT1);
		for (n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
			uint32_t at = 0x200000 + 8 * n, length = lengths[n];

			fill(from->buffer, ++fresh, length);
			CHECK(!dma(from, at, length, false, poll));
			CHECK(matches(&from->memory[at / 4], fresh, length));
			CHECK(!send(from, to->info.node, FOREIGN_INT1, fresh));
			comes(to, from, FOREIGN_INT1, fresh);
			CHECK(matches(&to->memory[at / 4], fresh, length));
			memset(to->buffer, 0, length);
			CHECK(!dma(to, at, length, true, poll));
			CHECK(matches(to->buffer, fresh, length));
		}
	}
}

static void transfers_with_interrupt(void)
{
	struct foreign_info before, after;

	CHECK(!ioctl(ends[0].fd, FOREIGN_GET_INFO, &before));
	transfers_by(false);
	CHECK(!ioctl(ends[0].fd, FOREIGN_GET_INFO, &after));
	/* Eight transfers; four events came meanwhile. */
	CHECK(after.interrupts >= before.interrupts + 8 + 4);
}

static void transfers_by_polling(void)
{
	transfers_by(true);
}

static const struct tap_case cases[] = {
	TAP_CASE(maps),
	TAP_CASE(copies),
	TAP_CASE(ring_is_closed),
	TAP_CASE(events),
	TAP_CASE(events_that_wait),
	TAP_CASE(transfers_with_interrupt),
	TAP_CASE(transfers_by_polling),
};

/* --- single steps ------------------------------------------------------------- */

static int say(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
	return 0;
}

static int one_transfer(const char *path)
{
	begin(&ends[0], path);
	fill(ends[0].buffer, 0x5565, BLOCK);
	say("started");
	return dma(&ends[0], 0x8000, BLOCK, false, false) ||
	       !matches(&ends[0].memory[0x8000 / 4], 0x5565, BLOCK);
}

static int one_event(const char *sender, const char *data, const char *path)
{
	struct foreign_event event = { .type = FOREIGN_INT1 + 1 };

	begin(&ends[0], path);
	if (ioctl(ends[0].fd, FOREIGN_ENABLE, event.type))
		return TAP_FAIL;
	say("ready");
	return wait_for(&ends[0], &event) || event.node != strtoul(sender, NULL, 0) ||
	       event.data != strtoul(data, NULL, 0);
}

static int one_send(const char *node, const char *data, const char *path)
{
	begin(&ends[0], path);
	return !!send(&ends[0], strtoul(node, NULL, 0), FOREIGN_INT1 + 1,
		      strtoul(data, NULL, 0));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-t"))
		return one_transfer(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "-e"))
		return one_event(argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(argv[1], "-s"))
		return one_send(argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(argv[1], "-h"))
		habit = argv[2];
	else if (argc != 3)
		return TAP_FAIL;
	begin(&ends[0], argv[argc - 2]);
	begin(&ends[1], argv[argc - 1]);
	return TAP_RUN(cases);
}
