// SPDX-License-Identifier: GPL-2.0-only
/*
 * WRITER, COUNTERS, RING_MAP and SEND_SET: what they say, and refuse.
 *
 *	status_test NEAR FAR
 *
 * Two cards that are a ring of their own; see pair.h.
 */

#include <sys/wait.h>

#include "pair.h"

#define PLACE 0x300000ull

/* --- last writers ---------------------------------------------------------- */

static struct rfm_writer writer_of(uint64_t offset)
{
	struct rfm_writer args = { .offset = offset };

	CHECK_EQ(ioctl(pair.near, RFM_IOC_WRITER, &args), 0);
	CHECK_EQ(args.offset, offset);
	return args;
}

static uint64_t card_clock(void)
{
	struct rfm_counters counters;

	CHECK_EQ(ioctl(pair.near, RFM_IOC_COUNTERS, &counters), 0);
	return counters.clock_ns;
}

static void writer_refusals(void)
{
	const uint64_t size = pair.info.memory_size;
	const struct {
		struct rfm_writer args;
		const char *why;
	} bad[] = {
		{ { .offset = size }, "the end" },
		{ { .offset = size + 64 }, "behind the end" },
		{ { .offset = 1ull << 32 }, "4 GiB, which is 0 in 32 bits" },
		{ { .offset = ~0ull }, "the largest" },
	};
	struct rfm_writer args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_WRITER, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	check_bad_pointers(pair.near, RFM_IOC_WRITER, "WRITER");
}

static void the_last_writer_is_named(void)
{
	struct rfm_writer first, second;
	uint64_t before, after;

	before = card_clock();
	CHECK(word_put(pair.far, PLACE, ++pair.value));
	CHECK(fence(pair.far));
	after = card_clock();
	first = writer_of(PLACE);
	CHECK_EQ(first.node, pair.far_info.node);
	CHECK_EQ(first.flags, 0);
	CHECK(first.frame > 0);
	CHECK(first.time_ns >= before && first.time_ns <= after);

	/* Any byte of the granule asks for it, none of its neighbours. */
	second = writer_of(PLACE + RFM_GRANULE - 1);
	CHECK_EQ(second.frame, first.frame);
	CHECK(writer_of(PLACE + RFM_GRANULE).frame != first.frame);
	CHECK(writer_of(PLACE - 1).frame != first.frame);

	CHECK(word_put(pair.near, PLACE + 8, ++pair.value));
	second = writer_of(PLACE);
	CHECK_EQ(second.node, pair.info.node);
	CHECK_EQ(second.frame, 0);
	CHECK_EQ(second.flags, 0);
	CHECK(second.time_ns >= first.time_ns);

	CHECK(word_put(pair.far, PLACE + 16, ++pair.value));
	CHECK(fence(pair.far));
	second = writer_of(PLACE);
	CHECK_EQ(second.node, pair.far_info.node);
	CHECK(second.frame > first.frame);
}

static void nobody_is_nobody(void)
{
	/* The last granules of the window, which no other test touches. */
	struct rfm_writer writer = writer_of(pair.info.window_size - 0x20000);

	CHECK_EQ(writer.node, RFM_NODE_ALL);
	CHECK_EQ(writer.flags, 0);
	CHECK_EQ(writer.frame, 0);
	CHECK_EQ(writer.time_ns, 0);
}

/* Two who ask at the same time get an answer each to their own question. */
static void askers_do_not_meet(void)
{
	int status;
	pid_t pid;
	unsigned int i;

	CHECK(word_put(pair.far, PLACE, ++pair.value));
	CHECK(fence(pair.far));
	CHECK(word_put(pair.near, PLACE + 0x1000, ++pair.value));
	pid = fork();
	for (i = 0; i < 5000; i++) {
		struct rfm_writer args = {
			.offset = PLACE + (pid ? 0 : 0x1000),
		};
		uint32_t node = pid ? pair.far_info.node : pair.info.node;

		if (ioctl(pair.near, RFM_IOC_WRITER, &args) ||
		    args.node != node || !args.frame != !pid)
			break;
	}
	if (!pid)
		_exit(i != 5000);
	CHECK_EQ(i, 5000);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

/* --- counters ---------------------------------------------------------------- */

static struct rfm_counters counters_of(int fd)
{
	struct rfm_counters counters;

	memset(&counters, 0xa5, sizeof(counters));
	CHECK_EQ(ioctl(fd, RFM_IOC_COUNTERS, &counters), 0);
	return counters;
}

static void counters_count(void)
{
	enum { STORES = 100 };
	struct rfm_counters near[2], far[2];
	unsigned int i;

	check_bad_pointers(pair.near, RFM_IOC_COUNTERS, "COUNTERS");
	CHECK(fence(pair.near) && fence(pair.far));
	near[0] = counters_of(pair.near);
	far[0] = counters_of(pair.far);
	for (i = 0; i < STORES; i++)
		CHECK(word_put(pair.near, PLACE, ++pair.value));
	CHECK(fence(pair.near));
	near[1] = counters_of(pair.near);
	far[1] = counters_of(pair.far);

	for (i = 0; i < 2; i++) {
		CHECK_EQ(near[i].pad, 0);
		CHECK_EQ(near[i].count, RFM_COUNTERS);
	}
	for (i = RFM_COUNTERS; i < ARRAY_SIZE(near[0].value); i++)
		CHECK_EQ(near[1].value[i], 0);
	CHECK(near[1].clock_ns > near[0].clock_ns);
#define GREW(card, counter) ((card)[1].value[RFM_COUNTER_##counter] -	\
			     (card)[0].value[RFM_COUNTER_##counter])
	CHECK(GREW(near, STORES) >= STORES);
	CHECK(GREW(near, SENT_BYTES) >= 8 * STORES);
	CHECK(GREW(far, RECEIVED_BYTES) >= 8 * STORES);
	CHECK_EQ(GREW(near, SENT), GREW(near, HOME));
	CHECK_EQ(GREW(near, LOST), 0);
	CHECK(near[1].value[RFM_COUNTER_TURN_NS] > 0);
}

/* What was not subscribed to is counted. */
static void filtered_bytes_count(void)
{
	struct rfm_counters before, after;

	if (pair.info.base_policy == RFM_BASE_ALL)
		return tap_skip("everything is received");
	CHECK_EQ(unsubscribe(pair.near, PLACE, RFM_GRANULE, RFM_SUBSCRIBE_RX |
			     RFM_SUBSCRIBE_TX), 0);
	before = counters_of(pair.near);
	CHECK(word_put(pair.far, PLACE, ++pair.value));
	CHECK(fence(pair.far));
	CHECK(word_put(pair.near, PLACE, ++pair.value));
	after = counters_of(pair.near);
	CHECK_EQ(after.value[RFM_COUNTER_FILTERED_RX] -
		 before.value[RFM_COUNTER_FILTERED_RX], 8);
	CHECK_EQ(after.value[RFM_COUNTER_FILTERED_TX] -
		 before.value[RFM_COUNTER_FILTERED_TX], 8);
	CHECK_EQ(subscribe(pair.near, PLACE, RFM_GRANULE, RFM_SUBSCRIBE_RX |
			   RFM_SUBSCRIBE_TX), 0);
}

/*
 * All of one instant: what came home has been sent, and what was sent is home
 * or on its way, in every snapshot, however fast the stores are.
 */
static void a_snapshot_is_of_one_instant(void)
{
	unsigned int i;
	pid_t pid;

	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		for (;;)
			word_put(pair.near, PLACE, 1);
	}
	for (i = 0; i < 500; i++) {
		struct rfm_counters now = counters_of(pair.near);
		const uint64_t *value = (const uint64_t *)now.value;

		if (!CHECK_EQ(value[RFM_COUNTER_SENT],
			      value[RFM_COUNTER_HOME] +
			      value[RFM_COUNTER_LOST] +
			      value[RFM_COUNTER_WINDOW]))
			break;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- the ring map -------------------------------------------------------------- */

static void the_map_shows_both(void)
{
	struct rfm_member member[RFM_NODES];
	struct rfm_ring_map map = { .members = (uintptr_t)member,
				    .count = RFM_NODES };
	unsigned int i, present = 0;
	const struct rfm_member *far = &member[pair.far_info.node];
	const struct rfm_member *near = &member[pair.info.node];

	check_bad_pointers(pair.near, RFM_IOC_RING_MAP, "RING_MAP");
	CHECK(fence(pair.near) && fence(pair.far));
	memset(member, 0xa5, sizeof(member));
	REQUIRE(!ioctl(pair.near, RFM_IOC_RING_MAP, &map));
	CHECK_EQ(map.present, 2);
	CHECK(map.epoch > 0);
	CHECK(map.turn_ns > 0 && map.turn_ns < 10000000000ull);
	for (i = 0; i < ARRAY_SIZE(member); i++) {
		if (member[i].present)
			present++;
		else
			CHECK_EQ(member[i].hops, 0);
	}
	CHECK_EQ(present, 2);
	CHECK_EQ(near->present, 1);
	CHECK_EQ(near->hops, 0);
	CHECK_EQ(near->flags, 0);
	CHECK_EQ(far->present, 1);
	CHECK_EQ(far->hops, 1);
	CHECK_EQ(far->flags & ~RFM_MEMBER_INCOMPLETE, 0);	/* it may have come late */
	CHECK(far->transit_ns > 0 && far->transit_ns < 10000000000ull);
	CHECK(far->received > 0);
	CHECK_EQ(far->missed, 0);
	CHECK_EQ(near->heard_ns, 0);
	CHECK(far->heard_ns > 0 && far->heard_ns <= map.clock_ns);
	CHECK_EQ(far->hubs, 0);
	tap_note("turn %llu us, transit %llu us, %llu frames",
		 map.turn_ns / 1000, far->transit_ns / 1000, far->received);
}

/* As many members as there is room for, and not one more; all are counted. */
static void the_map_fits_its_room(void)
{
	struct rfm_member member[RFM_NODES];
	struct rfm_ring_map map;
	const unsigned int counts[] = { 0, 1, pair.far_info.node + 1, 255 };
	const struct rfm_member *far = &member[pair.far_info.node];
	unsigned int i;

	CHECK(fence(pair.near) && fence(pair.far));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		memset(member, 0xa5, sizeof(member));
		map = (struct rfm_ring_map){ .members = (uintptr_t)member,
					     .count = counts[i] };
		CHECK_EQ(ioctl(pair.near, RFM_IOC_RING_MAP, &map), 0);
		CHECK_EQ(map.present, 2);
		CHECK_EQ(member[counts[i]].hops, 0xa5a5);
		CHECK_EQ(far->hops, pair.far_info.node < counts[i] ? 1 : 0xa5a5);
	}
	map = (struct rfm_ring_map){ .members = (uintptr_t)member,
				     .count = RFM_NODES + 1 };
	CHECK_REFUSED(pair.near, RFM_IOC_RING_MAP, map, EINVAL);
	map = (struct rfm_ring_map){ .members = 8, .count = RFM_NODES };
	CHECK_REFUSED(pair.near, RFM_IOC_RING_MAP, map, EFAULT);
	map.count = 0;
	CHECK_EQ(ioctl(pair.near, RFM_IOC_RING_MAP, &map), 0);
}

static void who_may_read_may_look(void)
{
	int reader = open(pair.path, O_RDONLY), writer_only = open(pair.path, O_WRONLY);
	struct rfm_writer writer = { .offset = 0 };
	struct rfm_counters counters;
	struct rfm_ring_map map = { .count = 0 };

	REQUIRE(reader >= 0 && writer_only >= 0);
	CHECK_ERRNO(ioctl(writer_only, RFM_IOC_WRITER, &writer), EBADF);
	CHECK_ERRNO(ioctl(writer_only, RFM_IOC_COUNTERS, &counters), EBADF);
	CHECK_ERRNO(ioctl(writer_only, RFM_IOC_RING_MAP, &map), EBADF);
	close(writer_only);
	CHECK_EQ(ioctl(reader, RFM_IOC_WRITER, &writer), 0);
	CHECK_EQ(ioctl(reader, RFM_IOC_COUNTERS, &counters), 0);
	CHECK_EQ(ioctl(reader, RFM_IOC_RING_MAP, &map), 0);
	close(reader);
}

/* --- interrupts to several ------------------------------------------------------- */

static void node_add(struct rfm_send_set *args, unsigned int node)
{
	args->nodes[node / 64] |= 1ull << node % 64;
}

static void send_set_refusals(void)
{
	struct rfm_send_set none = { .type = RFM_EVENT_INT1 };
	struct rfm_send_set own = none, type = none, args;
	int reader = open(pair.path, O_RDONLY);

	node_add(&own, pair.info.node);
	node_add(&own, pair.far_info.node);
	node_add(&type, pair.far_info.node);
	type.type = RFM_EVENT_SYNC_LOSS;
	CHECK_REFUSED(pair.near, RFM_IOC_SEND_SET, none, EINVAL);
	CHECK_REFUSED(pair.near, RFM_IOC_SEND_SET, own, EINVAL);
	CHECK_REFUSED(pair.near, RFM_IOC_SEND_SET, type, EINVAL);
	type.type = 0xffffffff;
	CHECK_REFUSED(pair.near, RFM_IOC_SEND_SET, type, EINVAL);
	type.type = RFM_EVENT_INT1;
	REQUIRE(reader >= 0);
	args = type;
	CHECK_REFUSED(reader, RFM_IOC_SEND_SET, args, EBADF);
	close(reader);
	check_bad_pointers(pair.near, RFM_IOC_SEND_SET, "SEND_SET");
}

/* Whoever is in the set hears it, behind the data, and nobody else. */
static void send_set_reaches_the_set(void)
{
	static const unsigned int others[] = { 0, 63, 64, 127, 128, 255 };
	struct rfm_listen listen = { RFM_EVENT_SENDABLE, RFM_LISTEN_DISCARD,
				     0, 0 };
	struct rfm_send_set args = { .data = 0xcafe0001 };
	struct rfm_event event;
	int listener = ioctl(pair.far, RFM_IOC_LISTEN, &listen);
	unsigned int i;

	REQUIRE(listener >= 0);
	for (i = 0; i < ARRAY_SIZE(others); i++)
		if (others[i] != pair.info.node &&
		    others[i] != pair.far_info.node)
			node_add(&args, others[i]);
	args.type = RFM_EVENT_INT2;
	CHECK_EQ(ioctl(pair.near, RFM_IOC_SEND_SET, &args), 0);

	node_add(&args, pair.far_info.node);
	for (args.type = RFM_EVENT_INT1; args.type <= RFM_EVENT_INT4;
	     args.type++, args.data++) {
		CHECK(word_put(pair.near, PLACE, ++pair.value));
		CHECK_EQ(ioctl(pair.near, RFM_IOC_SEND_SET, &args), 0);
		CHECK_EQ(read(listener, &event, sizeof(event)), sizeof(event));
		CHECK_EQ(event.type, args.type);
		CHECK_EQ(event.node, pair.info.node);
		CHECK_EQ(event.data, args.data);
		CHECK_EQ(word_get(pair.far, PLACE), pair.value);
	}
	args.type = RFM_EVENT_RESET;
	CHECK_EQ(ioctl(pair.near, RFM_IOC_SEND_SET, &args), 0);
	CHECK_EQ(read(listener, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.type, RFM_EVENT_RESET);
	close(listener);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(writer_refusals),
		TAP_CASE(the_last_writer_is_named),
		TAP_CASE(nobody_is_nobody),
		TAP_CASE(askers_do_not_meet),
		TAP_CASE(counters_count),
		TAP_CASE(filtered_bytes_count),
		TAP_CASE(a_snapshot_is_of_one_instant),
		TAP_CASE(the_map_shows_both),
		TAP_CASE(the_map_fits_its_room),
		TAP_CASE(who_may_read_may_look),
		TAP_CASE(send_set_refusals),
		TAP_CASE(send_set_reaches_the_set),
	};

	pair_open(argc, argv);
	if (subscribe(pair.near, 0, pair.info.memory_size,
		      RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX)) {
		tap_note("SUBSCRIBE: %s", strerror(errno));
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}
