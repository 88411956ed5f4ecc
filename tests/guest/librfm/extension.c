// SPDX-License-Identifier: MIT
/* What a card with the extension block has. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/guest/librfm/private.h"

static uint64_t stores(void)
{
	static struct rfm_counters counters;

	CHECK_EQ(rfm_counters(near_card, &counters), 0);
	CHECK(counters.count > RFM_COUNTER_STORES);
	return counters.value[RFM_COUNTER_STORES];
}

void a_publication_is_one_store(void)
{
	uint8_t data[100] = { 1 };
	volatile uint64_t *at;
	struct pair pair;
	uint64_t before;

	if (!(rfm_can(near_card) & RFM_CAN_PUBLISH))
		return tap_skip("what is stored in a mapping does not go to the ring");
	if (!map_pair(&pair, 0, 256))
		return;
	at = (volatile uint64_t *)pair.near;
	before = stores();
	rfm_publish8((volatile uint8_t *)at, 1);
	CHECK_EQ(stores(), ++before);
	rfm_publish16((volatile uint16_t *)at, 2);
	CHECK_EQ(stores(), ++before);
	rfm_publish32((volatile uint32_t *)at, 3);
	CHECK_EQ(stores(), ++before);
	rfm_publish64(at, 4);
	CHECK_EQ(stores(), ++before);
	rfm_publish_float((volatile float *)at, 1.5f);
	CHECK_EQ(stores(), ++before);
	rfm_publish_double((volatile double *)at, -2.5);
	CHECK_EQ(stores(), ++before);
	CHECK_EQ(rfm_record_write(at + 8, data, sizeof(data)), 0);
	CHECK_EQ(stores(), before + RFM_RECORD_SIZE(sizeof(data)) / 8);

	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	CHECK(rfm_read_double((const volatile double *)pair.far) == -2.5);
	unmap_pair(&pair, 256);
}

/* So is a store through the handle. */
void a_store_is_one_store(void)
{
	uint8_t data[100] = { 1 };
	struct pair pair;
	uint64_t before;

	if (!map_pair(&pair, 8, 256))
		return;
	before = stores();
	CHECK_EQ(rfm_store8(near_card, pair.offset, 1), 0);
	CHECK_EQ(stores(), ++before);
	CHECK_EQ(rfm_store16(near_card, pair.offset, 2), 0);
	CHECK_EQ(stores(), ++before);
	CHECK_EQ(rfm_store64(near_card, pair.offset, 3), 0);
	CHECK_EQ(stores(), ++before);
	CHECK_EQ(rfm_record_store(near_card, pair.offset + 64, data, sizeof(data)), 0);
	CHECK_EQ(stores(), before + RFM_RECORD_SIZE(sizeof(data)) / 8);
	CHECK_ERRNO(rfm_record_store(near_card, pair.offset + 4, data, 8), EINVAL);
	CHECK_ERRNO(rfm_record_store(near_card, near_info.memory_size - 16, data, 8), EINVAL);
	unmap_pair(&pair, 256);
}

/* Every node has the same, until one byte differs; nobody else is asked. */
void what_every_node_has(void)
{
	static struct rfm_verify result;
	struct pair pair;

	if (!map_pair(&pair, 10, 4096))
		return;
	put(near_card, &pair, 0, 0x1122334455667788);
	memset(&result, 0xa5, sizeof(result));
	CHECK_EQ(rfm_verify(near_card, pair.offset, 4096, PATIENCE_MS, &result), 0);
	CHECK_EQ(result.flags, 0);
	CHECK_EQ(result.node, near_info.node);
	for (unsigned int i = 0; i < ARRAY_SIZE(result.answer); i++) {
		bool there = i == near_info.node || i == far_info.node;

		CHECK_EQ(result.answer[i].flags, there ? RFM_ANSWER_GIVEN : 0);
		CHECK_EQ(result.answer[i].length, there ? 4096 : 0);
		CHECK_EQ(result.answer[i].crc, there ? result.answer[near_info.node].crc : 0);
		CHECK_EQ(result.answer[i].first[0], there ? 0x88 : 0);
	}
	CHECK_ERRNO(rfm_verify(near_card, pair.offset, 0, 1000, &result), EINVAL);
	CHECK_ERRNO(rfm_verify(near_card, pair.offset, RFM_VERIFY_MAX + 1, 1000, &result), EINVAL);
	CHECK_ERRNO(rfm_verify(near_card, near_info.memory_size - 8, 16, 1000, &result), EINVAL);
	unmap_pair(&pair, 4096);
}

void fences(void)
{
	struct rfm_fence_wait result;
	struct pair pair;
	uint64_t i;

	if (!map_pair(&pair, 1, 8))
		return;
	for (i = 1; i <= 100; i++) {
		put(near_card, &pair, 0, i);
		memset(&result, 0xa5, sizeof(result));
		if (!CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, &result), 0))
			break;
		CHECK_EQ(rfm_read64(pair.far), i);
		CHECK_EQ(result.flags, 0);
		CHECK_EQ(result.lost, 0);
		CHECK(result.wait_ns > 0 && result.wait_ns < PATIENCE_NS);
	}
	CHECK_ERRNO(rfm_fence(near_card, -2, NULL), EINVAL);
	unmap_pair(&pair, 8);
}

void updates_are_told(void)
{
	struct rfm_events *events;
	struct rfm_event records[8];
	struct pair pair;
	uint64_t i, got = 0;
	int64_t age;

	if (!map_pair(&pair, 2, 16))
		return;
	events = rfm_watch(far_card, pair.offset, 8);
	REQUIRE(events);
	CHECK_EQ(fcntl(rfm_events_fd(events), F_GETFD), FD_CLOEXEC);
	CHECK_EQ(rfm_events_wait(events, records, 8, 0), 0);

	put(near_card, &pair, 1, 1);	/* beside it */
	CHECK(silent(events));
	put(far_card, &pair, 0, 5);		/* the watcher's own */
	CHECK(silent(events));
	for (i = 0; i < 20; i++) {
		put(near_card, &pair, 0, 100 + i);
		CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	}
	while (got < 20) {
		int n = rfm_events_wait(events, records, 8, PATIENCE_MS);

		if (!CHECK(n > 0 && n <= 8))
			break;
		for (int k = 0; k < n; k++, got++) {
			uint64_t value;

			memcpy(&value, records[k].bytes, sizeof(value));
			CHECK_EQ(value, 100 + got);
			CHECK_EQ(records[k].type, RFM_EVENT_UPDATE);
			CHECK_EQ(records[k].node, near_info.node);
			CHECK_EQ(records[k].offset, pair.offset);
			CHECK_EQ(records[k].length, 8);
			CHECK_EQ(records[k].seq, got + 1);
			age = rfm_age_ns(&records[k]);
			CHECK(age >= 0 && age < (int64_t)PATIENCE_NS);
		}
	}
	CHECK(silent(events));
	rfm_events_close(events);
	unmap_pair(&pair, 16);
}

/* What rfm_watch_init() gives is what rfm_watch() does; the rest is passed on. */
void watches_with_conditions(void)
{
	struct rfm_range range;
	struct rfm_watch watch;
	struct rfm_events *events;
	struct rfm_event record;
	struct pair pair;

	if (!map_pair(&pair, 3, 8))
		return;
	range = (struct rfm_range){ .offset = pair.offset, .length = 8 };
	memset(&watch, 0xa5, sizeof(watch));
	rfm_watch_init(&watch, &range, 1);
	watch.flags |= RFM_WATCH_COMPARE;
	watch.compare = RFM_COMPARE_EQUAL;
	watch.compare_offset = pair.offset;
	watch.compare_width = 8;
	watch.compare_mask = UINT64_MAX;
	watch.compare_value = 3;
	events = rfm_watch_with(far_card, &watch);
	REQUIRE(events);
	for (uint64_t mode = 1; mode <= 5; mode++)
		put(near_card, &pair, 0, mode);
	if (next(events, &record)) {
		CHECK_EQ(record.type, RFM_EVENT_MATCH);
		CHECK(rfm_age_ns(&record) >= 0);
	}
	CHECK(silent(events));
	rfm_events_close(events);

	rfm_watch_init(&watch, &range, 1);
	watch.silence_ns = 20000000;
	events = rfm_watch_with(far_card, &watch);
	REQUIRE(events);
	if (next(events, &record)) {
		CHECK_EQ(record.type, RFM_EVENT_STALE);
		CHECK(record.age_ns >= watch.silence_ns);
		CHECK_ERRNO(rfm_age_ns(&record), EINVAL);
	}
	put(near_card, &pair, 0, 9);
	/* The update has a record of its own. */
	if (next(events, &record) && record.type == RFM_EVENT_UPDATE)
		next(events, &record);
	CHECK_EQ(record.type, RFM_EVENT_FRESH);
	CHECK(record.age_ns >= watch.silence_ns);
	CHECK(rfm_age_ns(&record) >= 0);
	rfm_events_close(events);

	watch.silence_ns = 1;
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	rfm_watch_init(&watch, &range, 0);
	CHECK_NULL(rfm_watch_with(far_card, &watch), EINVAL);
	CHECK_NULL(rfm_watch(far_card, far_info.memory_size, 1), EINVAL);
	CHECK_NULL(rfm_watch(far_card, pair.offset, 0), EINVAL);
	CHECK_NULL(rfm_watch(far_card, UINT64_MAX, 2), EINVAL);
	unmap_pair(&pair, 8);
}

/* A stream and a mapping outlive the card that they came from. */
void closing_in_any_order(void)
{
	struct rfm *rfm = rfm_open(far_path, O_RDONLY);
	struct rfm_events *events;
	struct rfm_event record;
	const volatile uint64_t *at;
	struct pair pair;

	if (!map_pair(&pair, 4, 8))
		return;
	REQUIRE(rfm);
	events = rfm_watch(rfm, pair.offset, 8);
	at = rfm_map(rfm, pair.offset, 8);
	REQUIRE(events && at);
	rfm_close(rfm);
	put(near_card, &pair, 0, 77);
	if (next(events, &record))
		CHECK_EQ(rfm_read64(at), 77);
	rfm_events_close(events);
	CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	unmap_pair(&pair, 8);
}

void sets_of_nodes(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT2),
					       RFM_LISTEN_DISCARD, 0);
	const uint8_t nodes[] = { 255, far_info.node, 0, far_info.node };
	const uint8_t absent[] = { 255, 0 };
	struct rfm_event record;
	uint8_t own = near_info.node;

	REQUIRE(events);
	CHECK_EQ(rfm_send_set(near_card, nodes, 4, RFM_EVENT_INT2, 0xabcd), 0);
	if (next(events, &record)) {
		CHECK_EQ(record.data, 0xabcd);
		CHECK_EQ(record.node, near_info.node);
	}
	CHECK_EQ(rfm_send_set(near_card, absent, 2, RFM_EVENT_INT2, 1), 0);
	CHECK(silent(events));
	CHECK_ERRNO(rfm_send_set(near_card, nodes, 0, RFM_EVENT_INT2, 0), EINVAL);
	CHECK_ERRNO(rfm_send_set(near_card, &own, 1, RFM_EVENT_INT2, 0), EINVAL);
	rfm_events_close(events);
}

void owners_learn_of_conflicts(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0, 0);
	struct rfm_event record;
	struct rfm_writer writer;
	struct pair pair;

	REQUIRE(events);
	if (!map_pair(&pair, 5, 128))
		return;
	CHECK_EQ(rfm_own(far_card, pair.offset, 64), 0);
	put(far_card, &pair, 0, 1);		/* the owner may */
	put(near_card, &pair, 8, 1);	/* and who writes beside it */
	CHECK(silent(events));
	put(near_card, &pair, 2, 1);
	if (next(events, &record)) {
		CHECK_EQ(record.type, RFM_EVENT_CONFLICT);
		CHECK_EQ(record.node, near_info.node);
		CHECK_EQ(record.offset, pair.offset + 16);
		CHECK_EQ(record.length, 8);
	}
	CHECK_EQ(rfm_writer(far_card, pair.offset, &writer), 0);
	CHECK_EQ(writer.node, near_info.node);
	CHECK(writer.frame > 0);
	CHECK_EQ(rfm_unsubscribe(far_card, pair.offset, 64, RFM_SUBSCRIBE_OWN), 0);
	put(near_card, &pair, 2, 2);
	CHECK(silent(events));
	rfm_events_close(events);
	unmap_pair(&pair, 128);
}

void subscriptions(void)
{
	struct rfm *reader = rfm_open(near_path, O_RDONLY);
	uint32_t result = 42;

	REQUIRE(reader);
	/* The base policy is all, unless somebody has changed it. */
	CHECK_EQ(rfm_subscribe(near_card, PLACE, 64, RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX, &result),
		 0);
	CHECK_EQ(result, near_info.base_policy == RFM_BASE_ALL ? RFM_SUBSCRIBE_NO_EFFECT : 0);
	CHECK_EQ(rfm_unsubscribe(near_card, PLACE, 64, RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX), 0);
	CHECK_EQ(rfm_unsubscribe(near_card, PLACE, 64, RFM_SUBSCRIBE_RX), 0);
	CHECK_EQ(rfm_subscribe(reader, 0, 0, RFM_SUBSCRIBE_NO_MAPS, NULL), 0);
	CHECK_ERRNO(rfm_subscribe(near_card, PLACE, 64, 0, NULL), EINVAL);
	CHECK_ERRNO(rfm_subscribe(near_card, PLACE, 64, 0x100, NULL), EINVAL);
	CHECK_ERRNO(rfm_subscribe(near_card, near_info.memory_size - 1, 2, RFM_SUBSCRIBE_RX,
				  NULL), EINVAL);
	CHECK_ERRNO(rfm_own(near_card, UINT64_MAX, 1), EINVAL);
	CHECK_ERRNO(rfm_subscribe(reader, PLACE, 64, RFM_SUBSCRIBE_TX, NULL), EBADF);
	CHECK_ERRNO(rfm_own(reader, PLACE, 64), EBADF);
	CHECK_ERRNO(rfm_unsubscribe(reader, 0, 0, RFM_SUBSCRIBE_NO_MAPS), EINVAL);
	rfm_close(reader);
}

void who_is_there(void)
{
	static struct rfm_member members[RFM_NODES];
	struct rfm_ring_map map;
	struct rfm_writer writer;

	CHECK_EQ(rfm_ring_map(near_card, members, RFM_NODES, &map), 0);
	CHECK_EQ(map.present, 2);
	CHECK_EQ(members[far_info.node].present, 1);
	/* Beside those out of a hub: */
	CHECK_EQ(members[far_info.node].hops - members[far_info.node].hubs, 1);
	CHECK_EQ(rfm_ring_map(near_card, members, 0, NULL), 0);
	CHECK_ERRNO(rfm_ring_map(near_card, members, RFM_NODES + 1, &map), EINVAL);
	memset(&writer, 0xa5, sizeof(writer));
	CHECK_ERRNO(rfm_writer(near_card, near_info.memory_size, &writer), EINVAL);
	CHECK_EQ(writer.node, 0xa5a5a5a5);	/* an error changes nothing */
}

#define SIZE	200

static void fill(uint8_t *data, uint64_t n)
{
	for (int i = 0; i < SIZE; i++)
		data[i] = n * 37 + i;
}

/* Watched at its end, a record wakes exactly once for each write, and can be read then. */
void a_record_wakes_once(void)
{
	uint8_t data[SIZE], got[SIZE];
	struct rfm_events *events;
	struct rfm_event record;
	uint64_t sequence;
	struct pair pair;

	if (!map_pair(&pair, 6, RFM_RECORD_SIZE(SIZE)))
		return;
	CHECK_ERRNO(rfm_record_read(pair.far, got, SIZE, NULL), ENODATA);
	events = rfm_watch(far_card, pair.offset + RFM_RECORD_END(SIZE), 8);
	REQUIRE(events);
	for (uint64_t n = 1; n <= 200; n++) {
		fill(data, n);
		CHECK_EQ(rfm_record_store(near_card, pair.offset, data, SIZE), 0);
		if (!next(events, &record))
			break;
		if (!CHECK_EQ(rfm_record_read(pair.far, got, SIZE, &sequence), 0))
			break;
		CHECK_EQ(sequence, n);
		CHECK(!memcmp(data, got, SIZE));
	}
	CHECK(silent(events));
	rfm_events_close(events);
	unmap_pair(&pair, RFM_RECORD_SIZE(SIZE));
}

struct writing {
	uint64_t offset;
	atomic_bool stop;
};

static void *write_on(void *opaque)
{
	struct writing *writing = opaque;
	uint8_t data[SIZE];

	/* Two in a row, and a rest: one that never rests leaves its readers little. */
	for (uint64_t n = 1; !atomic_load(&writing->stop); n++) {
		fill(data, n);
		rfm_record_store(near_card, writing->offset, data, SIZE);
		if (n % 2)
			rfm_fence(near_card, PATIENCE_MS, NULL);
	}
	return NULL;
}

/* While it is written, on the writer's own node and on the other. */
void a_record_is_whole_or_not_there(void)
{
	struct writing writing = { 0 };
	uint64_t seen[2] = { 0 }, changes[2] = { 0 };
	uint8_t want[SIZE], got[SIZE];
	const volatile void *sides[2];
	uint64_t start = now_ns();
	pthread_t thread;
	struct pair pair;

	if (!map_pair(&pair, 7, RFM_RECORD_SIZE(SIZE)))
		return;
	writing.offset = pair.offset;
	sides[0] = pair.near;
	sides[1] = pair.far;
	REQUIRE(!pthread_create(&thread, NULL, write_on, &writing));
	while ((changes[0] < 100 || changes[1] < 100) && now_ns() - start < 40000000000ull) {
		for (int i = 0; i < 2; i++) {
			uint64_t sequence;

			if (rfm_record_read(sides[i], got, SIZE, &sequence)) {
				CHECK(errno == EAGAIN || (errno == ENODATA && !seen[i]));
				continue;
			}
			fill(want, sequence);
			CHECK(!memcmp(want, got, SIZE));
			CHECK(sequence >= seen[i]);
			changes[i] += sequence > seen[i];
			seen[i] = sequence;
		}
	}
	atomic_store(&writing.stop, true);
	pthread_join(thread, NULL);
	tap_note("%llu records seen on the writer's node, %llu on the other",
		 (unsigned long long)changes[0], (unsigned long long)changes[1]);
	CHECK(changes[0] >= 100 && changes[1] >= 100);
	unmap_pair(&pair, RFM_RECORD_SIZE(SIZE));
}
