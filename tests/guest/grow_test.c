// SPDX-License-Identifier: GPL-2.0-only
/*
 * Structures of another version: a program may know shorter or longer ones than the
 * driver does. Wants two cards on one ring.
 */

#include <stddef.h>

#include "listen.h"

#define MORE	40u	/* bytes that only this program's structures have */
#define PATTERN	0xa5

static unsigned char args[8192], before[8192];

/* The same call with a structure of @size bytes. */
static unsigned long sized(unsigned long cmd, size_t size)
{
	return (cmd & ~(unsigned long)IOCSIZE_MASK) | size << IOCSIZE_SHIFT;
}

/* @size bytes of @from, zeros, and from @end on the pattern. */
static void fill(const void *from, size_t size, size_t end)
{
	memset(args, 0, end);
	memset(args + end, PATTERN, sizeof(args) - end);
	memcpy(args, from, size);
	memcpy(before, args, sizeof(args));
}

static bool is_pattern(size_t from)
{
	while (from < sizeof(args) && args[from] == PATTERN)
		from++;
	return from == sizeof(args);
}

static bool is_zero(const unsigned char *bytes, size_t count)
{
	while (count && !bytes[count - 1])
		count--;
	return !count;
}

#define GOOD(name, type, ...)						\
	{ #name, RFM_IOC_##name, sizeof(struct rfm_##type),		\
	  &(struct rfm_##type){ __VA_ARGS__ } }

/* Calls that are good; those of a card without the extension block come first. */
struct good {
	const char *name;
	unsigned long cmd;
	size_t size;
	const void *args;
};

#define BASE_CALLS	6u

static void each_good_call(void (*check)(const struct good *call))
{
	struct rfm_range range = { 0, 64 };
	const struct good calls[] = {
		GOOD(INFO, info, .pad = 0),
		GOOD(SEND, send, .node = hearer_info.node, .type = RFM_EVENT_INT1),
		GOOD(LISTEN, listen, .types = INT1),
		GOOD(GET_CONFIG, config, .mask = 0),
		GOOD(SET_CONFIG, config, .mask = 0),
		GOOD(EVENT_COUNTS, event_counts, .count = { 0 }),
		GOOD(SUBSCRIBE, subscribe, .range = { 0, 64 }, .flags = RFM_SUBSCRIBE_RX),
		GOOD(UNSUBSCRIBE, subscribe, .range = { 0, 64 }, .flags = RFM_SUBSCRIBE_RX),
		GOOD(WATCH, watch, .ranges = (uintptr_t)&range, .count = 1),
		GOOD(FENCE, fence_wait, .timeout_ms = 60000),
		GOOD(SEND_SET, send_set, .nodes = { talker_info.node ? 1 : 2 },
		     .type = RFM_EVENT_INT1),
		GOOD(WRITER, writer, .offset = 0),
		GOOD(COUNTERS, counters, .count = 0),
		GOOD(RING_MAP, ring_map, .count = 0),
		GOOD(VERIFY, verify, .length = 8, .timeout_ms = 60000),
	};
	unsigned int i, count = talker_info.features ? ARRAY_SIZE(calls) : BASE_CALLS;

	for (i = 0; i < count; i++)
		check(&calls[i]);
}

/* As if there were nothing there. */
static void takes_longer(const struct good *call)
{
	const size_t size = call->size + MORE;
	int ret;

	fill(call->args, call->size, size);
	/* What is only filled in may have been anything. */
	if (_IOC_DIR(call->cmd) == _IOC_READ)
		memset(args, PATTERN, size);
	ret = ioctl(talker, sized(call->cmd, size), args);
	if (!CHECK(ret >= 0) || !CHECK(is_zero(args + call->size, MORE)) ||
	    !CHECK(is_pattern(size)))
		tap_note("%s with %zu bytes: %d, %s", call->name, size, ret, strerror(errno));
	if (ret > 0)
		close(ret);
}

static void longer_ones_are_taken(void)
{
	each_good_call(takes_longer);
}

/* Something asked for that the driver does not know. */
static void refuses_more(const struct good *call)
{
	static const size_t places[] = { 0, 7, MORE - 1 };
	const size_t size = call->size + MORE;
	unsigned int i;

	if (!(_IOC_DIR(call->cmd) & _IOC_WRITE))
		return;
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		fill(call->args, call->size, size);
		args[call->size + places[i]] = before[call->size + places[i]] = 1;
		if (!CHECK_ERRNO(ioctl(talker, sized(call->cmd, size), args), EINVAL) ||
		    !CHECK(!memcmp(args, before, sizeof(args))))
			tap_note("%s with byte %zu set", call->name, call->size + places[i]);
	}
}

static void what_is_not_known_is_refused(void)
{
	each_good_call(refuses_more);
}

/* Nothing behind it is read or written. */
static void takes_shorter(const struct good *call)
{
	const size_t size = call->size - 8;
	int ret;

	fill(call->args, size, size);
	ret = ioctl(talker, sized(call->cmd, size), args);
	if (!CHECK(ret >= 0 || errno == EINVAL) || !CHECK(is_pattern(size)))
		tap_note("%s with %zu bytes: %d, %s", call->name, size, ret, strerror(errno));
	if (ret > 0)
		close(ret);
}

static void shorter_ones_are_taken(void)
{
	struct rfm_fence_wait fence = { .timeout_ms = 60000 };
	struct rfm_info info;

	each_good_call(takes_shorter);

	memset(&info, PATTERN, sizeof(info));
	CHECK_EQ(ioctl(talker, sized(RFM_IOC_INFO, 8), &info), 0);
	CHECK_EQ(info.memory_size, talker_info.memory_size);
	CHECK_EQ(info.window_size, 0xa5a5a5a5a5a5a5a5);
	CHECK_EQ(ioctl(talker, sized(RFM_IOC_INFO, 0), NULL), 0);
	if (!talker_info.features)
		return;
	fence.lost = 0xa5;
	CHECK_EQ(ioctl(talker, sized(RFM_IOC_FENCE, 8), &fence), 0);
	CHECK_EQ(fence.lost, 0xa5);
}

static void bad_pointers_are_told(void)
{
	unsigned char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rfm_send *send = (void *)(pages + 4096 - sizeof(*send));
	struct rfm_info *info = (void *)(pages + 4096 - sizeof(*info));

	REQUIRE(pages != MAP_FAILED);
	munmap(pages + 4096, 4096);
	*send = (struct rfm_send){ .node = hearer_info.node, .type = RFM_EVENT_INT1 };
	CHECK_EQ(ioctl(talker, RFM_IOC_SEND, send), 0);
	CHECK_ERRNO(ioctl(talker, sized(RFM_IOC_SEND, sizeof(*send) + 8), send), EFAULT);
	CHECK_EQ(ioctl(talker, RFM_IOC_INFO, info), 0);
	CHECK_ERRNO(ioctl(talker, sized(RFM_IOC_INFO, sizeof(*info) + 8), info), EFAULT);
	munmap(pages, 4096);
}

/* --- records ----------------------------------------------------------------- */

/* Records of @size bytes, of which this program looks at all. */
static void check_records(int fd, size_t size)
{
	unsigned char records[4 * 4096];
	struct pollfd pollfd = { fd, POLLIN, 0 };
	unsigned int got = 0, i;

	for (i = 0; i < 5; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, 100 + i), 0);
	memset(records, PATTERN, sizeof(records));
	while (got < 5 && poll(&pollfd, 1, PATIENCE_MS) == 1) {
		ssize_t some;

		CHECK_ERRNO(read(fd, records + got * size, size - 1), EINVAL);
		/* Two and a part of a third: whole ones only. */
		some = read(fd, records + got * size, 3 * size - 1);
		if (!CHECK(some > 0 && some % size == 0 && some <= (ssize_t)(2 * size)))
			return;
		got += some / size;
	}
	for (i = 0; i < got; i++) {
		const unsigned char *record = records + i * size;
		struct rfm_event event;

		memcpy(&event, record, sizeof(event));
		CHECK_EQ(event.type, RFM_EVENT_INT1);
		CHECK_EQ(event.data, 100 + i);
		CHECK_EQ(event.seq, i + 1);
		CHECK(is_zero(record + sizeof(event), size - sizeof(event)));
	}
	CHECK_EQ(got, 5);
	CHECK_EQ(records[got * size], PATTERN);
}

static void records_are_as_long_as_asked(void)
{
	static const uint32_t sizes[] = {
		0, RFM_EVENT_SIZE_VER0, RFM_EVENT_SIZE_VER0 + 8, RFM_EVENT_SIZE_VER0 + 40, 1024,
	};
	unsigned int i;

	discard_all();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rfm_listen listen = {
			.types = INT1, .flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD,
			.record_size = sizes[i],
		};
		int fd = ioctl(hearer, RFM_IOC_LISTEN, &listen);

		REQUIRE(fd >= 0);
		check_records(fd, sizes[i] ? sizes[i] : RFM_EVENT_SIZE_VER0);
		close(fd);
	}
}

/* Each reader of the same events has its own. */
static void a_watch_has_them_too(void)
{
	struct rfm_range range = { 4096, 8 };
	const uint64_t value = 0x1122334455667788;
	struct rfm_watch watch = {
		.ranges = (uintptr_t)&range, .count = 1, .record_size = RFM_EVENT_SIZE_VER0 + 16,
	};
	unsigned char record[RFM_EVENT_SIZE_VER0 + 16];
	struct rfm_event event;
	struct pollfd pollfd = { .events = POLLIN };
	int plain;

	if (!hearer_info.features)
		return tap_skip("this card has no extension block");
	pollfd.fd = ioctl(hearer, RFM_IOC_WATCH, &watch);
	watch.record_size = 0;
	plain = ioctl(hearer, RFM_IOC_WATCH, &watch);
	REQUIRE(pollfd.fd >= 0 && plain >= 0);
	CHECK_EQ(pwrite(talker, &value, 8, 4096), 8);
	memset(record, PATTERN, sizeof(record));
	CHECK_EQ(poll(&pollfd, 1, PATIENCE_MS), 1);
	CHECK_EQ(read(pollfd.fd, record, sizeof(record)), sizeof(record));
	CHECK(next_event(plain, &event));
	CHECK_EQ(event.type, RFM_EVENT_UPDATE);
	CHECK(!memcmp(event.bytes, &value, 8));
	CHECK(!memcmp(&event, record, offsetof(struct rfm_event, seq)));
	CHECK(!memcmp(event.bytes, record + offsetof(struct rfm_event, bytes), 64));
	CHECK(is_zero(record + RFM_EVENT_SIZE_VER0, 16));
	close(pollfd.fd);
	close(plain);

	watch.record_size = RFM_EVENT_SIZE_VER0 - 8;
	CHECK_ERRNO(ioctl(hearer, RFM_IOC_WATCH, &watch), EINVAL);
	watch.record_size = RFM_EVENT_SIZE_VER0 + 1;
	CHECK_ERRNO(ioctl(hearer, RFM_IOC_WATCH, &watch), EINVAL);
}

static void members_are_as_long_as_asked(void)
{
	const size_t size = sizeof(struct rfm_member) + 24;
	static unsigned char members[(RFM_NODES + 1) * (sizeof(struct rfm_member) + 24)];
	static struct rfm_member plain[RFM_NODES];
	struct rfm_ring_map map = {
		.members = (uintptr_t)members, .count = RFM_NODES, .member_size = size,
	};
	unsigned int i;

	if (!talker_info.features)
		return tap_skip("this card has no extension block");
	memset(members, PATTERN, sizeof(members));
	CHECK_EQ(ioctl(talker, RFM_IOC_RING_MAP, &map), 0);
	CHECK_EQ(map.member_size, size);
	map = (struct rfm_ring_map){ .members = (uintptr_t)plain, .count = RFM_NODES };
	CHECK_EQ(ioctl(talker, RFM_IOC_RING_MAP, &map), 0);
	for (i = 0; i < RFM_NODES; i++) {
		const struct rfm_member *member = (const void *)(members + i * size);

		CHECK_EQ(member->present, plain[i].present);
		CHECK_EQ(member->hops, plain[i].hops);
		CHECK(is_zero(members + i * size + sizeof(*member), size - sizeof(*member)));
	}
	CHECK_EQ(members[RFM_NODES * size], PATTERN);
	CHECK_EQ(plain[hearer_info.node].present, 1);

	map = (struct rfm_ring_map){ .count = 0, .member_size = RFM_MEMBER_SIZE_VER0 - 8 };
	CHECK_ERRNO(ioctl(talker, RFM_IOC_RING_MAP, &map), EINVAL);
	map = (struct rfm_ring_map){ .count = 0, .member_size = RFM_MEMBER_SIZE_VER0 + 2 };
	CHECK_ERRNO(ioctl(talker, RFM_IOC_RING_MAP, &map), EINVAL);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(longer_ones_are_taken),
		TAP_CASE(what_is_not_known_is_refused),
		TAP_CASE(shorter_ones_are_taken),
		TAP_CASE(bad_pointers_are_told),
		TAP_CASE(records_are_as_long_as_asked),
		TAP_CASE(a_watch_has_them_too),
		TAP_CASE(members_are_as_long_as_asked),
	};

	listen_open(argc, argv);
	return TAP_RUN(cases);
}
