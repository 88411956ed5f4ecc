// SPDX-License-Identifier: MIT
/* What every card has. */
#include <pthread.h>
#include <sys/time.h>

#include "tests/asleep.h"
#include "tests/guest/librfm/private.h"

void opening(void)
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

void cards_are_listed(void)
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
void words_and_copies(void)
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

void words_and_copies_by_the_processor(void)
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

void what_is_no_place(void)
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

void settings(void)
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

void everything_has_a_name(void)
{
	for (uint32_t i = 0; i < RFM_EVENT_TYPES; i++)
		CHECK(rfm_event_name(i));
	CHECK(!strcmp(rfm_event_name(RFM_EVENT_INT1), "int1"));
	CHECK(!rfm_event_name(RFM_EVENT_TYPES));
	for (uint32_t i = 0; i < RFM_COUNTERS; i++)
		CHECK(rfm_counter_name(i));
	CHECK(!rfm_counter_name(RFM_COUNTERS));
	CHECK(strstr(rfm_error_text(ETIMEDOUT), "in time"));
	CHECK(!strcmp(rfm_error_text(ENOENT), strerror(ENOENT)));
	CHECK(rfm_error_text(123456));
}

void mapping(void)
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
void mapping_through_a_window(void)
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

void read_only(void)
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

void interrupts(void)
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
void signals_end_a_wait(void)
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
	while (!is_asleep(getpid()))
		;
	rfm_events_cancel(events);
	return NULL;
}

void waits_end_when_they_should(void)
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
