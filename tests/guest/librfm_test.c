// SPDX-License-Identifier: MIT
/*
 * librfm: librfm_test NEAR FAR [NARROW]. Two nodes on one ring, see librfm_pair.h, and a card
 * whose window is smaller than its memory. What queues, watches and fences do in detail is in
 * librfm_events_test.c.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>

#include <rfm/rfm.h>

#include "tap.h"
#include "card.h"
#include "librfm_pair.h"

static const char *narrow_path;

/* --- every card ------------------------------------------------------------------ */

static void opening(void)
{
	struct rfm_info info;
	struct rfm *rfm;

	CHECK_NULL(rfm_open("/dev/rfm-none", O_RDWR), ENOENT);
	CHECK(strstr(rfm_error(), "/dev/rfm-none"));
	CHECK_NULL(rfm_open("/dev/null", O_RDWR), ENOTTY);
	CHECK_NULL(rfm_open(near_path, O_WRONLY), EINVAL);
	CHECK_NULL(rfm_open(near_path, O_RDWR | O_NONBLOCK), EINVAL);

	setenv("RFM_CARD", near_path, 1);
	rfm = rfm_open(NULL, O_RDONLY);
	REQUIRE(rfm);
	CHECK_EQ(rfm_can(rfm), rfm_can(near_card));
	if (rfm_can(rfm) & RFM_CAN_FD) {
		CHECK_EQ(fcntl(rfm_fd(rfm), F_GETFD), FD_CLOEXEC);
		CHECK_EQ(fcntl(rfm_fd(rfm), F_GETFL) & O_ACCMODE, O_RDONLY);
	} else {
		CHECK_ERRNO(rfm_fd(rfm), EOPNOTSUPP);
	}
	CHECK_EQ(rfm_close(rfm), 0);
	unsetenv("RFM_CARD");
	CHECK_EQ(rfm_close(NULL), 0);

	/* A program with a fixed path is sent elsewhere; number 4711 is no card here. */
	CHECK_NULL(rfm_open("rfm4711", O_RDONLY), ENOENT);
	setenv("RFM_CARD_4711", near_path, 1);
	rfm = rfm_open("rfm4711", O_RDONLY);
	CHECK(rfm);
	rfm_close(rfm);
	rfm = rfm_open("/dev/rfm4711", O_RDONLY);
	CHECK(rfm && !rfm_info(rfm, &info) && info.node == near_info.node);
	rfm_close(rfm);
	unsetenv("RFM_CARD_4711");
}

static void cards_are_listed(void)
{
	int count = rfm_cards(NULL, 0);
	uint32_t numbers[8];
	struct rfm *rfm;
	char path[32];

	CHECK(count >= 0);
	CHECK_EQ(rfm_cards(numbers, ARRAY_SIZE(numbers)), count);
	for (int i = 0; i < count && i < (int)ARRAY_SIZE(numbers); i++) {
		snprintf(path, sizeof(path), "rfm%u", numbers[i]);
		rfm = rfm_open(path, O_RDONLY);
		CHECK(rfm);
		rfm_close(rfm);
		CHECK(!i || numbers[i] > numbers[i - 1]);
	}
	if (rfm_can(near_card) & RFM_CAN_FD)
		CHECK(count >= 2);
}

/* The same bytes by words, by copies and by a mapping, here and there. */
static void words_and_copies(void)
{
	uint8_t out[300], in[300];
	struct pair pair;
	uint64_t wide;
	uint32_t word;
	uint16_t half;
	uint8_t byte;
	double real;
	float single;

	if (!map_pair(&pair, 9, 4096))
		return;
	CHECK_EQ(rfm_store8(near_card, pair.offset + 1, 0x12), 0);
	CHECK_EQ(rfm_store16(near_card, pair.offset + 2, 0x3456), 0);
	CHECK_EQ(rfm_store32(near_card, pair.offset + 4, 0x789abcde), 0);
	CHECK_EQ(rfm_store64(near_card, pair.offset + 8, 0x0123456789abcdef), 0);
	CHECK_EQ(rfm_store_float(near_card, pair.offset + 16, 1.5f), 0);
	CHECK_EQ(rfm_store_double(near_card, pair.offset + 24, -2.5), 0);
	for (unsigned int i = 0; i < sizeof(out); i++)
		out[i] = i * 7 + 1;
	CHECK_EQ(rfm_write(near_card, pair.offset + 131, out, sizeof(out)), 0);
	CHECK_EQ(rfm_fence(near_card, PATIENCE_MS, NULL), 0);
	for (int side = 0; side < 2; side++) {
		struct rfm *card = side ? far_card : near_card;

		CHECK(!rfm_load8(card, pair.offset + 1, &byte) && byte == 0x12);
		CHECK(!rfm_load16(card, pair.offset + 2, &half) && half == 0x3456);
		CHECK(!rfm_load32(card, pair.offset + 4, &word) && word == 0x789abcde);
		CHECK(!rfm_load64(card, pair.offset + 8, &wide) && wide == 0x0123456789abcdef);
		CHECK(!rfm_load_float(card, pair.offset + 16, &single) && single == 1.5f);
		CHECK(!rfm_load_double(card, pair.offset + 24, &real) && real == -2.5);
		memset(in, 0xa5, sizeof(in));
		CHECK_EQ(rfm_read(card, pair.offset + 131, in, sizeof(in)), 0);
		CHECK(!memcmp(in, out, sizeof(in)));
	}
	CHECK_EQ(rfm_read64(pair.far + 1), 0x0123456789abcdef);
	unmap_pair(&pair, 4096);
}

static void words_and_copies_by_the_processor(void)
{
	struct rfm *cards[2] = { near_card, far_card };

	near_card = rfm_open(near_path, O_RDWR);
	far_card = rfm_open(far_path, O_RDWR);
	if (CHECK(near_card && far_card) && CHECK_EQ(rfm_set_threshold(near_card, 256), 0) &&
	    CHECK_EQ(rfm_set_threshold(far_card, 4096), 0))
		words_and_copies();
	rfm_close(near_card);
	rfm_close(far_card);
	near_card = cards[0];
	far_card = cards[1];
}

static void what_is_no_place(void)
{
	struct rfm *reader = rfm_open(near_path, O_RDONLY);
	uint64_t size = near_info.memory_size, wide = 42;
	uint32_t word = 42;
	uint8_t bytes[16] = { 42 };

	REQUIRE(reader);
	CHECK_ERRNO(rfm_load32(near_card, PLACE + 2, &word), EINVAL);
	CHECK_ERRNO(rfm_load64(near_card, size, &wide), EINVAL);
	CHECK_ERRNO(rfm_load64(near_card, UINT64_MAX - 7, &wide), EINVAL);
	CHECK_ERRNO(rfm_read(near_card, size - 8, bytes, 16), EINVAL);
	CHECK_ERRNO(rfm_read(near_card, UINT64_MAX, bytes, 2), EINVAL);
	CHECK(word == 42 && wide == 42 && bytes[0] == 42);
	CHECK_ERRNO(rfm_store32(near_card, PLACE + 2, 1), EINVAL);
	CHECK_ERRNO(rfm_store8(near_card, size, 1), EINVAL);
	CHECK_ERRNO(rfm_write(near_card, size - 8, bytes, 16), EINVAL);
	CHECK_ERRNO(rfm_store8(reader, PLACE, 1), EBADF);
	CHECK_ERRNO(rfm_write(reader, PLACE, bytes, 1), EBADF);
	rfm_close(reader);
}

static void settings(void)
{
	struct rfm *reader = rfm_open(near_path, O_RDONLY);
	struct rfm_config config, set = { .mask = RFM_CONFIG_DARK_ON_DARK };
	uint64_t turn = 0;

	REQUIRE(reader);
	memset(&config, 0xa5, sizeof(config));
	CHECK_EQ(rfm_get_config(reader, &config), 0);
	CHECK(config.mask & RFM_CONFIG_TRANSMIT && config.on & RFM_CONFIG_TRANSMIT);
	CHECK(!(config.on & RFM_CONFIG_LOOPBACK) && !config.address_offset);
	CHECK_ERRNO(rfm_set_config(reader, &set), EBADF);
	set.on = RFM_CONFIG_DARK_ON_DARK;
	CHECK_EQ(rfm_set_config(near_card, &set), 0);
	CHECK_EQ(rfm_get_config(near_card, &config), 0);
	CHECK(config.on & RFM_CONFIG_DARK_ON_DARK);
	set.on = 0;
	CHECK_EQ(rfm_set_config(near_card, &set), 0);
	CHECK_EQ(rfm_get_config(near_card, &config), 0);
	CHECK(!(config.on & RFM_CONFIG_DARK_ON_DARK) && config.on & RFM_CONFIG_TRANSMIT);
	set.mask = RFM_CONFIG_OFFSET;
	set.address_offset = 1;
	CHECK_ERRNO(rfm_set_config(near_card, &set), EINVAL);
	set = (struct rfm_config){ .mask = RFM_CONFIG_OWN_DATA, .on = RFM_CONFIG_OWN_DATA };
	CHECK_ERRNO(rfm_set_config(near_card, &set), EINVAL);

	CHECK_EQ(rfm_ring_test(near_card, 5000, &turn), 0);
	CHECK(turn > 0 && turn < 5000000000ull);
	CHECK_EQ(rfm_ring_test(near_card, -1, NULL), 0);
	CHECK_ERRNO(rfm_ring_test(reader, 500, NULL), EBADF);
	rfm_close(reader);
}

static void everything_has_a_name(void)
{
	for (uint32_t i = 0; i < RFM_EVENT_TYPES; i++)
		CHECK(rfm_event_name(i));
	CHECK(!strcmp(rfm_event_name(RFM_EVENT_INT1), "int1"));
	CHECK(!rfm_event_name(RFM_EVENT_TYPES));
	for (uint32_t i = 0; i < RFM_COUNTERS; i++)
		CHECK(rfm_counter_name(i));
	CHECK(!rfm_counter_name(RFM_COUNTERS));
	CHECK(strstr(rfm_error_text(ETIMEDOUT), "home"));
	CHECK(!strcmp(rfm_error_text(ENOENT), strerror(ENOENT)));
	CHECK(rfm_error_text(123456));
}

static void mapping(void)
{
	uint64_t places[] = { 0, 8, PLACE + 4088, near_info.window_size - 8 };
	bool publish = rfm_can(near_card) & RFM_CAN_PUBLISH;
	volatile uint64_t *at;
	uint64_t stored;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		at = rfm_map(near_card, places[i], 8);
		REQUIRE(at);
		if (publish)
			rfm_publish64(at, places[i] + 1);
		else
			CHECK_EQ(rfm_store64(near_card, places[i], places[i] + 1), 0);
		CHECK_EQ(rfm_read64(at), places[i] + 1);
		CHECK_EQ(rfm_load64(near_card, places[i], &stored), 0);
		CHECK_EQ(stored, places[i] + 1);
		if (!publish)
			CHECK_EQ(store_fault((volatile uint8_t *)at), SIGSEGV);
		CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	}
	CHECK_NULL(rfm_map(near_card, 0, 0), EINVAL);
	CHECK_NULL(rfm_map(near_card, near_info.window_size, 1), EINVAL);
	CHECK_NULL(rfm_map(near_card, 0, near_info.window_size + 1), EINVAL);
	CHECK_NULL(rfm_map(near_card, UINT64_MAX, 2), EINVAL);
	CHECK_NULL(rfm_map(near_card, 0, 1ull << 50), EINVAL);
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
	CHECK_EQ(rfm_set_config(narrow, &move), 0);
	CHECK_EQ(rfm_store64(narrow, info.window_size + PLACE, 0x5678), 0);
	CHECK_EQ(rfm_load64(narrow, info.window_size + PLACE, &stored), 0);
	CHECK_EQ(stored, 0x5678);
	CHECK_ERRNO(rfm_load64(narrow, PLACE, &stored), EINVAL);
	at = rfm_map(narrow, info.window_size + PLACE, 8);
	REQUIRE(at);
	rfm_publish64(at, 0x1234);
	CHECK_EQ(pread(rfm_fd(narrow), &stored, 8, PLACE), 8);
	CHECK_EQ(stored, 0x1234);
	CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	CHECK_NULL(rfm_map(narrow, PLACE, 8), EINVAL);
	CHECK_NULL(rfm_map(narrow, 2 * info.window_size, 8), EINVAL);
	move.window_offset = 0;
	CHECK_EQ(rfm_set_config(narrow, &move), 0);
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
					       RFM_EVENT_BIT(RFM_EVENT_INT3), RFM_LISTEN_DISCARD, 0);
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
	CHECK_NULL(rfm_listen(far_card, 0, 0, 0), EINVAL);
	CHECK_NULL(rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT1), 0x8000, 0), EINVAL);
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* Waiting for ever, and with a timeout, ends with a signal. */
static void signals_end_a_wait(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT4),
					       RFM_LISTEN_DISCARD, 0);
	/* Again and again: the first may come before the wait has begun. */
	struct itimerval soon = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct rfm_event record;

	REQUIRE(events);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, -1), EINTR);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, 10000), EINTR);
	/* And as it has always been of handlers that restart nothing. */
	action.sa_flags = 0;
	sigaction(SIGALRM, &action, NULL);
	CHECK_ERRNO(rfm_events_wait(events, &record, 1, -1), EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, tap_hung);
	rfm_events_close(events);
}

static void *cancel_when_asleep(void *events)
{
	when_thread_sleeps(getpid());
	rfm_events_cancel(events);
	return NULL;
}

static void waits_end_when_they_should(void)
{
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT2),
					       RFM_LISTEN_DISCARD, 4);
	struct rfm_events *deep = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT2), 0, 0);
	struct rfm_event records[8];
	uint64_t begun = now_ns();
	pthread_t thread;

	REQUIRE(events && deep);
	CHECK_EQ(rfm_events_wait_until(events, records, 8, 0), 0);
	CHECK_EQ(rfm_events_wait_until(events, records, 8, begun + 30000000), 0);
	CHECK(now_ns() - begun >= 30000000);
	REQUIRE(!pthread_create(&thread, NULL, cancel_when_asleep, events));
	CHECK_ERRNO(rfm_events_wait_until(events, records, 8, UINT64_MAX), ECANCELED);
	pthread_join(thread, NULL);
	/* One that nobody waited for ends the next. */
	CHECK_EQ(rfm_events_cancel(events), 0);
	CHECK_ERRNO(rfm_events_wait_until(events, records, 8, UINT64_MAX), ECANCELED);

	/* As deep as asked for: what comes then is counted. */
	for (uint32_t i = 1; i <= 6; i++)
		CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT2, i), 0);
	for (uint32_t i = 1; i <= 6; i++)
		next(deep, &records[0]);	/* then both have been told */
	CHECK_EQ(rfm_events_wait_until(events, records, 8, now_ns() + PATIENCE_NS), 4);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK_EQ(records[i].data, i + 1);
		CHECK_EQ(records[i].seq, i + 1);
	}
	CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT2, 7), 0);
	if (next(events, &records[0])) {
		CHECK_EQ(records[0].data, 7);
		CHECK_EQ(records[0].dropped, 2);
		CHECK_EQ(records[0].seq, 7);
	}
	rfm_events_close(events);
	rfm_events_close(deep);
	CHECK_NULL(rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT2), 0,
			      RFM_LISTEN_DEPTH_MAX + 1), EINVAL);
}

/* --- a card without the extension block --------------------------------------------- */

static void base_card_says_so(void)
{
	struct rfm_counters counters;
	struct rfm_writer writer;
	uint8_t node = far_info.node;

	CHECK_NULL(rfm_watch(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_NULL(rfm_listen(near_card, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0, 0), EOPNOTSUPP);
	CHECK_ERRNO(rfm_own(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_ERRNO(rfm_fence(near_card, 1000, NULL), EOPNOTSUPP);
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
static void a_store_is_one_store(void)
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
static void what_every_node_has(void)
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

static void fences(void)
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
	put(near_card, &pair, 0, 77);
	if (next(events, &record))
		CHECK_EQ(rfm_read64(at), 77);
	rfm_events_close(events);
	CHECK_EQ(rfm_unmap((void *)at, 8), 0);
	unmap_pair(&pair, 8);
}

static void sets_of_nodes(void)
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

static void owners_learn_of_conflicts(void)
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

/* --- what a program for the 5565 asks -------------------------------------------------- */

static void registers(void)
{
	struct rfm *reader = rfm_open(near_path, O_RDONLY);
	volatile uint8_t *map;
	uint32_t value = 0, before = 0;
	size_t size = 0;

	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 1, 1, &value), 0);
	CHECK_EQ(value, 0x65);
	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 4, 1, &value), 0);
	CHECK_EQ(value, near_info.node);
	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 8, 4, &value), 0);
	CHECK_EQ(value >> 24, near_info.lcsr1 >> 24);
	CHECK_ERRNO(rfm_reg_read(near_card, RFM_REGS_CONTROL, 0x40, 1, &value), EINVAL);
	CHECK_ERRNO(rfm_reg_read(near_card, RFM_REGS_CONTROL, 8, 3, &value), EINVAL);
	CHECK_ERRNO(rfm_reg_update(near_card, RFM_REGS_CONTROL, 8, 1, 1, 2, &value), EINVAL);
	CHECK(reader);
	CHECK_ERRNO(rfm_reg_read(reader, RFM_REGS_CONTROL, 8, 4, &value), EBADF);
	CHECK_EQ(rfm_close(reader), 0);
	if (!(rfm_can(near_card) & RFM_CAN_REGS)) {
		CHECK_ERRNO(rfm_reg_write(near_card, RFM_REGS_CONTROL, 0x18, 4, 1), EOPNOTSUPP);
		CHECK_NULL(rfm_map_regs(near_card, RFM_REGS_CONTROL, &size), EOPNOTSUPP);
		return;
	}
	/* The data of an interrupt that nobody sends. */
	CHECK_EQ(rfm_reg_write(near_card, RFM_REGS_CONTROL, 0x18, 4, 0x12345678), 0);
	CHECK_EQ(rfm_reg_update(near_card, RFM_REGS_CONTROL, 0x18, 2, 0xff, 0x11, &before), 0);
	CHECK_EQ(before, 0x5678);
	map = rfm_map_regs(near_card, RFM_REGS_CONTROL, &size);
	REQUIRE(map);
	CHECK_EQ(size, 0x40);
	CHECK_EQ(map[1], 0x65);
	CHECK_EQ(*(volatile uint32_t *)(map + 0x18), 0x12345611);
	CHECK_EQ(rfm_unmap((void *)map, size), 0);
	map = rfm_map_regs(near_card, RFM_REGS_RUNTIME, &size);
	REQUIRE(map);
	CHECK_EQ(size, 0x200);
	CHECK_EQ(map[0x74], 0xc0);
	CHECK_EQ(rfm_unmap((void *)map, size), 0);
	CHECK_NULL(rfm_map_regs(near_card, 2, &size), EINVAL);
}

static void counts_of_events(void)
{
	uint64_t before[RFM_EVENT_TYPES], after[RFM_EVENT_TYPES];
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT3),
					       RFM_LISTEN_DISCARD, 0);
	struct rfm_event record;

	REQUIRE(events);
	CHECK_EQ(rfm_event_counts(far_card, before, RFM_EVENT_TYPES), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT3, i), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(next(events, &record));
	CHECK_EQ(rfm_event_counts(far_card, after, RFM_EVENT_TYPES), 0);
	CHECK_EQ(after[RFM_EVENT_INT3], before[RFM_EVENT_INT3] + 3);
	rfm_events_close(events);
}

int main(int argc, char **argv)
{
	static const struct tap_case base[] = {
		TAP_CASE(registers),
		TAP_CASE(counts_of_events),
		TAP_CASE(opening),
		TAP_CASE(cards_are_listed),
		TAP_CASE(what_is_no_place),
		TAP_CASE(settings),
		TAP_CASE(everything_has_a_name),
		TAP_CASE(waits_end_when_they_should),
		TAP_CASE(mapping),
		TAP_CASE(mapping_through_a_window),
		TAP_CASE(read_only),
		TAP_CASE(interrupts),
		TAP_CASE(signals_end_a_wait),
		TAP_CASE(base_card_says_so),
	};
	static const struct tap_case full[] = {
		TAP_CASE(registers),
		TAP_CASE(counts_of_events),
		TAP_CASE(opening),
		TAP_CASE(cards_are_listed),
		TAP_CASE(words_and_copies),
		TAP_CASE(words_and_copies_by_the_processor),
		TAP_CASE(what_is_no_place),
		TAP_CASE(settings),
		TAP_CASE(everything_has_a_name),
		TAP_CASE(waits_end_when_they_should),
		TAP_CASE(mapping),
		TAP_CASE(mapping_through_a_window),
		TAP_CASE(read_only),
		TAP_CASE(interrupts),
		TAP_CASE(signals_end_a_wait),
		TAP_CASE(a_publication_is_one_store),
		TAP_CASE(a_store_is_one_store),
		TAP_CASE(what_every_node_has),
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

	narrow_path = argc > 3 ? argv[3] : NULL;
	if (!open_cards(argc, argv))
		return TAP_FAIL;
	return near_info.features ? TAP_RUN(full) : TAP_RUN(base);
}
