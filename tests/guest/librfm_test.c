// SPDX-License-Identifier: MIT
/*
 * librfm against the driver. Wants two cards on one ring, both in this
 * machine: the first is called near, the second far.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>

#include <rfm/rfm.h>

#include "tap.h"
#include "card.h"

#define PLACE	0x20000ull		/* of the words and records here */
#define STEP	0x1000ull		/* each case has a page of its own */

static const char *near_path, *far_path, *narrow_path;
static struct rfm *near_card, *far_card;
static struct rfm_info near_info, far_info;

/* A word at the same place in both memories, both 0 on both nodes. */
struct pair {
	uint64_t offset;
	volatile uint64_t *near, *far;
};

static bool map_pair(struct pair *pair, unsigned int page, size_t size)
{
	pair->offset = PLACE + page * STEP;
	pair->near = rfm_map(near_card, pair->offset, size);
	pair->far = rfm_map(far_card, pair->offset, size);
	if (!CHECK(pair->near && pair->far))
		return false;
	card_fill((void *)pair->near, 0, size);
	return CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
}

static void unmap_pair(struct pair *pair, size_t size)
{
	CHECK_EQ(rfm_unmap((void *)pair->near, size), 0);
	CHECK_EQ(rfm_unmap((void *)pair->far, size), 0);
}

/* The next record. Prefilled, so a field that is forgotten shows. */
static bool next(struct rfm_events *events, struct rfm_event *record)
{
	memset(record, 0xa5, sizeof(*record));
	return CHECK_EQ(rfm_events_wait(events, record, 1, PATIENCE_MS), 1);
}

/* All that was stored has been everywhere, and no record came of it. */
static bool silent(struct rfm_events *events)
{
	struct rfm_event record;

	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	return CHECK_EQ(rfm_events_wait(events, &record, 1, 100), 0);
}

/* CHECK_ERRNO() for calls that return a pointer. */
#define CHECK_NULL(call, expected) ({					\
	errno = 0;							\
	const void *null_r = (call);					\
	int null_errno = errno;						\
	CHECK(!null_r) && CHECK_EQ(null_errno, expected); })

/* --- every card ------------------------------------------------------------------ */

static void opening(void)
{
	struct rfm *rfm;

	CHECK_NULL(rfm_open("/dev/rfm-none", O_RDWR), ENOENT);
	CHECK_NULL(rfm_open("/dev/null", O_RDWR), ENOTTY);
	CHECK_NULL(rfm_open(near_path, O_WRONLY), EINVAL);
	CHECK_NULL(rfm_open(near_path, O_RDWR | O_NONBLOCK), EINVAL);

	rfm = rfm_open(NULL, O_RDONLY);
	REQUIRE(rfm);
	CHECK_EQ(fcntl(rfm_fd(rfm), F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(rfm_fd(rfm), F_GETFL) & O_ACCMODE, O_RDONLY);
	rfm_close(rfm);
	rfm_close(NULL);
}

static void mapping(void)
{
	uint64_t places[] = { 0, 8, PLACE + 4088, near_info.window_size - 8 };
	volatile uint64_t *at;
	uint64_t stored;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		at = rfm_map(near_card, places[i], 8);
		REQUIRE(at);
		rfm_publish64(at, places[i] + 1);
		CHECK_EQ(rfm_read64(at), places[i] + 1);
		CHECK_EQ(pread(rfm_fd(near_card), &stored, 8, places[i]), 8);
		CHECK_EQ(stored, places[i] + 1);
		CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	}
	CHECK_NULL(rfm_map(near_card, 0, 0), EINVAL);
	CHECK_NULL(rfm_map(near_card, near_info.window_size, 1), EINVAL);
	CHECK_NULL(rfm_map(near_card, 0, near_info.window_size + 1), EINVAL);
	CHECK_NULL(rfm_map(near_card, UINT64_MAX, 2), EINVAL);
	CHECK_NULL(rfm_map(near_card, 8, SIZE_MAX), EINVAL);
	CHECK_ERRNO(rfm_unmap((void *)8, 0), EINVAL);
}

/* Offsets are those of the memory, wherever the window is. */
static void mapping_through_a_window(void)
{
	struct rfm_config move = { .mask = RFM_CONFIG_WINDOW };
	volatile uint64_t *at;
	struct rfm_info info;
	struct rfm *narrow;
	uint64_t stored;

	if (!narrow_path)
		return tap_skip("no card with a narrow window");
	narrow = rfm_open(narrow_path, O_RDWR);
	REQUIRE(narrow && !rfm_info(narrow, &info) && info.window_size < info.memory_size);
	move.window_offset = info.window_size;
	CHECK_EQ(ioctl(rfm_fd(narrow), RFM_IOC_SET_CONFIG, &move), 0);
	at = rfm_map(narrow, info.window_size + PLACE, 8);
	REQUIRE(at);
	rfm_publish64(at, 0x1234);
	CHECK_EQ(pread(rfm_fd(narrow), &stored, 8, PLACE), 8);
	CHECK_EQ(stored, 0x1234);
	CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	CHECK_NULL(rfm_map(narrow, PLACE, 8), EINVAL);
	CHECK_NULL(rfm_map(narrow, 2 * info.window_size, 8), EINVAL);
	move.window_offset = 0;
	CHECK_EQ(ioctl(rfm_fd(narrow), RFM_IOC_SET_CONFIG, &move), 0);
	rfm_close(narrow);
}

static void read_only(void)
{
	struct rfm *rfm = rfm_open(near_path, O_RDONLY);
	volatile uint8_t *at;

	REQUIRE(rfm);
	at = rfm_map(rfm, PLACE, 1);
	REQUIRE(at);
	CHECK_EQ(load_fault(at), 0);
	CHECK_EQ(store_fault(at), SIGSEGV);
	CHECK_EQ(rfm_unmap((void *)at, 1), 0);
	CHECK_ERRNO(rfm_send(rfm, far_info.node, RFM_EVENT_INT1, 0), EBADF);
	rfm_close(rfm);
}

static void interrupts(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT1) |
					       RFM_EVENT_BIT(RFM_EVENT_INT3), RFM_LISTEN_DISCARD);
	struct rfm_event record;

	REQUIRE(events);
	CHECK_EQ(fcntl(rfm_events_fd(events), F_GETFD), FD_CLOEXEC);
	CHECK_EQ(rfm_events_wait(events, &record, 1, 0), 0);
	CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT1, 0x1234), 0);
	CHECK_EQ(rfm_send_all(near_card, RFM_EVENT_INT3, 0x5678), 0);
	if (next(events, &record)) {
		CHECK_EQ(record.type, RFM_EVENT_INT1);
		CHECK_EQ(record.data, 0x1234);
		CHECK_EQ(record.node, near_info.node);
		CHECK_ERRNO(rfm_age_ns(&record), EINVAL);
	}
	if (next(events, &record))
		CHECK_EQ(record.data, 0x5678);
	CHECK_ERRNO(rfm_events_wait(events, &record, 0, 0), EINVAL);
	rfm_events_close(events);
	rfm_events_close(NULL);
	CHECK_ERRNO(rfm_send(near_card, near_info.node, RFM_EVENT_INT1, 0), EINVAL);
	CHECK_ERRNO(rfm_send(near_card, far_info.node, RFM_EVENT_SYNC_LOSS, 0), EINVAL);
	CHECK_NULL(rfm_listen(far_card, 0, 0), EINVAL);
	CHECK_NULL(rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT1), 0x8000), EINVAL);
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Waiting for ever, and with a timeout, ends with a signal. */
static void signals_end_a_wait(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT4),
					       RFM_LISTEN_DISCARD);
	/* Again and again: the first may come before the wait has begun. */
	struct itimerval soon = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct rfm_event record;

	REQUIRE(events);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, -1), EINTR);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, 10000), EINTR);
	/* The same on a descriptor that never blocks. */
	CHECK_EQ(fcntl(rfm_events_fd(events), F_SETFL, O_NONBLOCK), 0);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, -1), EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, tap_hung);
	rfm_events_close(events);
}

/* --- a card without the extension block --------------------------------------------- */

static void base_card_says_so(void)
{
	struct rfm_counters counters;
	struct rfm_writer writer;
	uint8_t node = far_info.node;

	CHECK_NULL(rfm_watch(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_NULL(rfm_listen(near_card, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0), EOPNOTSUPP);
	CHECK_ERRNO(rfm_own(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_ERRNO(rfm_fence(near_card, 0, NULL), EOPNOTSUPP);
	CHECK_ERRNO(rfm_send_set(near_card, &node, 1, RFM_EVENT_INT1, 0), EOPNOTSUPP);
	CHECK_ERRNO(rfm_writer(near_card, PLACE, &writer), EOPNOTSUPP);
	CHECK_ERRNO(rfm_counters(near_card, &counters), EOPNOTSUPP);
}

/* --- with the extension block -------------------------------------------------------- */

static uint64_t stores(void)
{
	static struct rfm_counters counters;

	CHECK_EQ(rfm_counters(near_card, &counters), 0);
	CHECK(counters.count > RFM_COUNTER_STORES);
	return counters.value[RFM_COUNTER_STORES];
}

static void a_publication_is_one_store(void)
{
	uint8_t data[100] = { 1 };
	struct pair pair;
	uint64_t before;

	if (!map_pair(&pair, 0, 256))
		return;
	before = stores();
	rfm_publish8((volatile uint8_t *)pair.near, 1);
	CHECK_EQ(stores(), ++before);
	rfm_publish16((volatile uint16_t *)pair.near, 2);
	CHECK_EQ(stores(), ++before);
	rfm_publish32((volatile uint32_t *)pair.near, 3);
	CHECK_EQ(stores(), ++before);
	rfm_publish64(pair.near, 4);
	CHECK_EQ(stores(), ++before);
	rfm_publish_float((volatile float *)pair.near, 1.5f);
	CHECK_EQ(stores(), ++before);
	rfm_publish_double((volatile double *)pair.near, -2.5);
	CHECK_EQ(stores(), ++before);
	CHECK_EQ(rfm_record_write(pair.near + 8, data, sizeof(data)), 0);
	CHECK_EQ(stores(), before + RFM_RECORD_SIZE(sizeof(data)) / 8);

	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	CHECK(rfm_read_double((const volatile double *)pair.far) == -2.5);
	unmap_pair(&pair, 256);
}

static void fences(void)
{
	struct rfm_fence_wait result;
	struct pair pair;
	uint64_t i;

	if (!map_pair(&pair, 1, 8))
		return;
	for (i = 1; i <= 100; i++) {
		rfm_publish64(pair.near, i);
		memset(&result, 0xa5, sizeof(result));
		if (!CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, &result), 0))
			break;
		CHECK_EQ(rfm_read64(pair.far), i);
		CHECK_EQ(result.flags, 0);
		CHECK_EQ(result.lost, 0);
		CHECK(result.wait_ns > 0 && result.wait_ns < PATIENCE_NS);
	}
	CHECK_ERRNO(rfm_fence(near_card, 60001, NULL), EINVAL);
	unmap_pair(&pair, 8);
}

static void updates_are_told(void)
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

	rfm_publish64(pair.near + 1, 1);	/* beside it */
	CHECK(silent(events));
	rfm_publish64(pair.far, 5);		/* the watcher's own */
	CHECK(silent(events));
	for (i = 0; i < 20; i++) {
		rfm_publish64(pair.near, 100 + i);
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
static void watches_with_conditions(void)
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
		rfm_publish64(pair.near, mode);
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
	rfm_publish64(pair.near, 9);
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
static void closing_in_any_order(void)
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
	rfm_publish64(pair.near, 77);
	if (next(events, &record))
		CHECK_EQ(rfm_read64(at), 77);
	rfm_events_close(events);
	CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	unmap_pair(&pair, 8);
}

static void sets_of_nodes(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT2),
					       RFM_LISTEN_DISCARD);
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

static void owners_learn_of_conflicts(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0);
	struct rfm_event record;
	struct rfm_writer writer;
	struct pair pair;

	REQUIRE(events);
	if (!map_pair(&pair, 5, 128))
		return;
	CHECK_EQ(rfm_own(far_card, pair.offset, 64), 0);
	rfm_publish64(pair.far, 1);		/* the owner may */
	rfm_publish64(pair.near + 8, 1);	/* and who writes beside it */
	CHECK(silent(events));
	rfm_publish64(pair.near + 2, 1);
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
	rfm_publish64(pair.near + 2, 2);
	CHECK(silent(events));
	rfm_events_close(events);
	unmap_pair(&pair, 128);
}

static void subscriptions(void)
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

static void who_is_there(void)
{
	static struct rfm_member members[RFM_NODES];
	struct rfm_ring_map map;
	struct rfm_writer writer;

	CHECK_EQ(rfm_ring_map(near_card, members, RFM_NODES, &map), 0);
	CHECK_EQ(map.present, 2);
	CHECK_EQ(members[far_info.node].present, 1);
	CHECK_EQ(members[far_info.node].hops, 1);
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
static void a_record_wakes_once(void)
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
		CHECK_EQ(rfm_record_write(pair.near, data, SIZE), 0);
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
	volatile void *record;
	atomic_bool stop;
};

static void *write_on(void *opaque)
{
	struct writing *writing = opaque;
	uint8_t data[SIZE];

	/* Two in a row, and a rest: one that never rests leaves its readers little. */
	for (uint64_t n = 1; !atomic_load(&writing->stop); n++) {
		fill(data, n);
		rfm_record_write(writing->record, data, SIZE);
		if (n % 2)
			rfm_fence(near_card, PATIENCE_MS, NULL);
	}
	return NULL;
}

/* While it is written, on the writer's own node and on the other. */
static void a_record_is_whole_or_not_there(void)
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
	writing.record = pair.near;
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

int main(int argc, char **argv)
{
	static const struct tap_case base[] = {
		TAP_CASE(opening),
		TAP_CASE(mapping),
		TAP_CASE(mapping_through_a_window),
		TAP_CASE(read_only),
		TAP_CASE(interrupts),
		TAP_CASE(signals_end_a_wait),
		TAP_CASE(base_card_says_so),
	};
	static const struct tap_case full[] = {
		TAP_CASE(opening),
		TAP_CASE(mapping),
		TAP_CASE(mapping_through_a_window),
		TAP_CASE(read_only),
		TAP_CASE(interrupts),
		TAP_CASE(signals_end_a_wait),
		TAP_CASE(a_publication_is_one_store),
		TAP_CASE(fences),
		TAP_CASE(updates_are_told),
		TAP_CASE(watches_with_conditions),
		TAP_CASE(closing_in_any_order),
		TAP_CASE(sets_of_nodes),
		TAP_CASE(owners_learn_of_conflicts),
		TAP_CASE(subscriptions),
		TAP_CASE(who_is_there),
		TAP_CASE(a_record_wakes_once),
		TAP_CASE(a_record_is_whole_or_not_there),
	};

	near_path = card_path(argc, argv, 0);
	far_path = card_path(argc, argv, 1);
	narrow_path = argc > 3 ? argv[3] : NULL;
	if (!near_path || !far_path)
		tap_skip_all("two cards are needed");
	near_card = rfm_open(near_path, O_RDWR);
	far_card = rfm_open(far_path, O_RDWR);
	if (!near_card || !far_card || rfm_info(near_card, &near_info) ||
	    rfm_info(far_card, &far_info)) {
		printf("Bail out! the cards: %s\n", strerror(errno));
		return TAP_FAIL;
	}
	return near_info.features ? TAP_RUN(full) : TAP_RUN(base);
}
