// SPDX-License-Identifier: GPL-2.0-only
/*
 * WATCH: more than the driver, or the reader, can take. What is dropped is
 * counted to the last event, and told of before the first event behind it.
 * Wants two cards with the extension block on one ring, both in this machine:
 * the second stores, the first watches.
 */

#include "watch.h"

#define WATCHES		600
#define FRAMES		16384
#define BUSY		(AT + 4096)
#define SILENCE		40000000ull

/* What a descriptor has delivered so far. */
struct tally {
	uint64_t records;	/* whatever they told */
	uint64_t updates;	/* that they stood for */
	uint64_t by_card;	/* dropped there, as RFM_EVENT_DROPPED told */
	uint64_t by_queue;
	uint64_t value, seq;	/* of the last update */
	uint64_t owed;		/* dropped by the card, and not missed yet */
	uint64_t told;		/* records that said so, since that update */
	unsigned int wrong;
};

static void count_dropped(struct tally *tally, const struct rfm_event *event)
{
	tally->by_card += event->data;
	tally->owed += event->data;
	tally->told++;
	tally->wrong += !event->data || event->node != RFM_NODE_ALL ||
			event->flags || event->length || event->frame;
}

/*
 * Values ascend with the numbers of updates, and by more only for those that
 * the card has dropped. These may be told of some records early, never late.
 */
static void count_update(struct tally *tally, const struct rfm_event *event)
{
	uint64_t value, gap;

	memcpy(&value, event->bytes, 8);
	gap = value - tally->value - (event->seq - tally->seq - tally->told);
	tally->updates += event->count;
	tally->wrong += value <= tally->value;
	tally->wrong += gap > tally->owed;
	tally->owed -= gap <= tally->owed ? gap : 0;
	tally->told = 0;
	tally->value = value;
	tally->seq = event->seq;
}

static void count(struct tally *tally, const struct rfm_event *event)
{
	tally->records++;
	tally->by_queue = event->dropped;
	if (event->type == RFM_EVENT_DROPPED)
		count_dropped(tally, event);
	else
		count_update(tally, event);
}

/* All that there is; true if there was something. */
static bool count_all(struct tally *tally, int fd)
{
	struct rfm_event events[16];
	bool any = false;
	ssize_t len;

	while ((len = read(fd, events, sizeof(events))) > 0) {
		any = true;
		for (size_t i = 0; i < len / sizeof(*events); i++)
			count(tally, &events[i]);
	}
	return any;
}

/* Frames that far has made, one for each update here. */
static uint64_t frames(void)
{
	struct rfm_counters counters = {};

	CHECK_EQ(ioctl(pair.far, RFM_IOC_COUNTERS, &counters), 0);
	return counters.value[RFM_COUNTER_SENT];
}

/* The last drop is told of when the driver finds the ring empty. */
static void count_until_told(struct tally *tally, int fd, uint64_t dropped)
{
	struct pollfd pollfd = { fd, POLLIN, 0 };

	do
		count_all(tally, fd);
	while (tally->by_card < dropped &&
	       poll(&pollfd, 1, PATIENCE_MS) == 1 &&
	       !(pollfd.revents & (POLLERR | POLLHUP)));
	CHECK_EQ(tally->by_card, dropped);
}

/* A writer that never pauses against a reader that cannot keep up. */
static void delivered_and_dropped_are_all(void)
{
	enum { STORES = 200000, UNREAD = 256 };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	volatile uint64_t *far_word = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					   MAP_SHARED, pair.far, AT);
	uint64_t before = dropped_by_card(), made = frames() - marks_heard;
	struct rfm_event events[16];
	struct tally tally = {};
	unsigned int i;
	ssize_t len;
	int fd;

	args.depth = 128;
	fd = watch(&args);
	REQUIRE(fd >= 0 && far_word != MAP_FAILED);
	for (i = 1; i <= STORES; i++) {
		*far_word = i;
		if (i % 512)
			continue;
		len = read(fd, events, sizeof(events));
		for (size_t e = 0; len > 0 && e < len / sizeof(*events); e++) {
			count(&tally, &events[e]);
			tally.wrong += events[e].seq !=
				       tally.records + tally.by_queue;
		}
	}
	CHECK(settled());
	/* Had the card dropped all else: it has room for these, the queue has not. */
	while (i <= STORES + UNREAD)
		*far_word = i++;
	CHECK(settled());
	count_until_told(&tally, fd, dropped_by_card() - before);
	/* One more shows what the queue dropped last. */
	*far_word = i;
	REQUIRE(next_event(fd, events));
	count(&tally, events);
	CHECK_EQ(events[0].seq, tally.records + tally.by_queue);
	CHECK_EQ(tally.wrong, 0);
	CHECK(tally.by_queue > 0);
	made = frames() - made;
	CHECK(made > STORES);
	CHECK_EQ(tally.updates + tally.by_queue + tally.by_card + marks_heard,
		 made);
	tap_note("%u stored: %llu delivered, %llu dropped in the queue, %llu by the card",
		 STORES, (unsigned long long)tally.updates,
		 (unsigned long long)tally.by_queue,
		 (unsigned long long)tally.by_card);
	munmap((void *)far_word, 4096);
	close(fd);
}

static int crowd[WATCHES];

/*
 * So many watches of a burst that the driver cannot keep up, and the card
 * drops what its ring has no room for.
 */
static bool crowd_begin(void)
{
	struct rfm_range busy = { BUSY, FRAMES * 64 };
	struct rfm_watch args = watch_of(&busy);
	unsigned int i;

	args.depth = 1;
	for (i = 0; i < WATCHES; i++)
		crowd[i] = watch(&args);
	return CHECK(crowd[WATCHES - 1] >= 0);
}

static bool burst(void)
{
	static uint64_t words[FRAMES * 8];
	unsigned int i;

	for (i = 0; i < FRAMES; i++)
		words[i * 8] = i + 1;
	return far_stores(BUSY, words, sizeof(words));
}

static bool storm_begin(void)
{
	return crowd_begin() && burst();
}

/* The card has dropped more than @before. */
static bool drops(uint64_t before)
{
	unsigned int tries;

	for (tries = 0; tries < PATIENCE_MS && dropped_by_card() == before; tries++)
		sleep_ms(1);
	return CHECK(dropped_by_card() > before);
}

/* With nobody left to tell it to, the driver is soon through what is in the ring. */
static void storm_end(void)
{
	unsigned int i;

	for (i = 0; i < WATCHES; i++)
		close(crowd[i]);
	CHECK(settled());
}

/* That a writer has fallen silent is told, whatever the card has dropped. */
static void silence_in_a_storm(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct rfm_event event = { .type = RFM_EVENT_TYPES };
	uint64_t dropped = dropped_by_card();
	int fd;

	args.silence_ns = SILENCE;
	fd = watch(&args);
	REQUIRE(fd >= 0 && crowd_begin());
	/* It is heard, for it comes before what fills the card's ring. */
	REQUIRE(far_sets(AT, now_ns()) && burst() && drops(dropped));
	while (event.type != RFM_EVENT_STALE && next_event(fd, &event))
		if (event.type == RFM_EVENT_STALE &&
		    event.flags & RFM_EVENT_NEVER)
			event.type = RFM_EVENT_TYPES;
	CHECK_EQ(event.type, RFM_EVENT_STALE);
	dropped = dropped_by_card() - dropped;
	tap_note("%llu dropped by the card", (unsigned long long)dropped);
	storm_end();
	close(fd);
}

/* Every descriptor that depends on the ring hears of it, whatever else it does. */
static void dropped_events_are_told(void)
{
	struct rfm_listen ring = { .types = RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP),
				   .flags = RFM_LISTEN_NONBLOCK };
	struct rfm_listen errors = { .types = RFM_EVENT_BIT(RFM_EVENT_PARITY),
				     .flags = RFM_LISTEN_NONBLOCK };
	int fds[] = {
		watch_range(AT, 8),
		watch_compare(RFM_COMPARE_CHANGED, 8, AT, UINT64_MAX, 0),
		ioctl(pair.near, RFM_IOC_LISTEN, &ring),
	};
	int deaf = ioctl(pair.near, RFM_IOC_LISTEN, &errors);
	uint64_t before = dropped_by_card(), dropped;
	struct pollfd pollfd = { deaf, POLLIN, 0 };
	unsigned int i;

	REQUIRE(deaf >= 0 && storm_begin() && drops(before));
	storm_end();
	dropped = dropped_by_card() - before;
	for (i = 0; i < ARRAY_SIZE(fds); i++) {
		struct tally tally = {};

		REQUIRE(fds[i] >= 0);
		count_until_told(&tally, fds[i], dropped);
		CHECK_EQ(tally.updates, 0);
		CHECK_EQ(tally.wrong, 0);
		/* Unread, they are one; the last may have come after a read. */
		CHECK(tally.records <= 2);
		close(fds[i]);
	}
	/* Nothing was there when it was made; errors come another way. */
	CHECK(silent(watch_range(AT, 8)));
	CHECK_EQ(poll(&pollfd, 1, 0), 0);
	close(deaf);
}

/* A full queue does not drop that the card has; what is joined is counted. */
static void full_queues_tell(void)
{
	struct rfm_range range = { BUSY, FRAMES * 64 };
	struct rfm_watch args = watch_of(&range);
	uint64_t before = dropped_by_card(), made = frames() - marks_heard;
	uint64_t dropped;
	struct tally plain = {}, lumped = {};
	int fd, lumps;

	args.depth = 1;
	fd = watch(&args);
	args.flags |= RFM_WATCH_COALESCE;
	lumps = watch(&args);
	REQUIRE(fd >= 0 && lumps >= 0 && storm_begin() && drops(before));
	storm_end();
	dropped = dropped_by_card() - before;
	count_until_told(&plain, fd, dropped);
	count_until_told(&lumped, lumps, dropped);
	far_sets(BUSY, FRAMES + 1);
	CHECK(settled());
	CHECK(count_all(&plain, fd) && count_all(&lumped, lumps));
	made = frames() - made;
	CHECK_EQ(plain.updates + plain.by_queue + dropped + marks_heard, made);
	CHECK_EQ(lumped.updates + lumped.by_queue + dropped + marks_heard,
		 made);
	close(lumps);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(delivered_and_dropped_are_all),
		TAP_CASE(silence_in_a_storm),
		TAP_CASE(dropped_events_are_told),
		TAP_CASE(full_queues_tell),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
