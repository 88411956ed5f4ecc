// SPDX-License-Identifier: GPL-2.0-only
/*
 * Four processes change a card's settings as fast as they can, while another
 * node stores and interrupts; the monitor must hear of every change, or be told
 * how many it has missed, and nobody must ever see half a change.
 *
 * Wants two cards with the extension block on one ring, both in this machine.
 */

#include <getopt.h>

#define TAP_CASE_SECONDS	storm_patience
static unsigned int storm_patience = 60;

#include "netlink_hear.h"
#include "kernel_log.h"

static unsigned int seconds = 4;
static uint64_t seed = 1;

/* --- dumps ----------------------------------------------------------------- */

#define DUMP_ROOM	16384	/* bytes of an answer, so that there are several */

static struct {
	unsigned long whole, interrupted;
} dumps;

/* What a dump of the descriptors has told so far. */
struct dumped {
	unsigned int owned;	/* ranges */
	uint32_t last;
	bool interrupted, ended;
};

static void take_descriptor(struct dumped *dumped, const struct nlmsghdr *head)
{
	const uint8_t *begin = (const uint8_t *)head, *at, *end;
	const struct nlattr *nest = genl_find(begin + GENL_ATTRS, begin + head->nlmsg_len,
					      RFM_A_CARD_DESCRIPTOR), *attr;
	uint32_t id;

	if (!CHECK(nest != NULL))
		return;
	at = genl_data(nest);
	end = at + genl_len(nest);
	id = genl_number(genl_find(at, end, RFM_A_DESCRIPTOR_ID));
	if (id < dumped->last)
		wrong("descriptor %u follows %u", id, dumped->last);
	dumped->last = id;
	while (!id && (attr = genl_next(&at, end)))
		if (genl_type(attr) == RFM_A_DESCRIPTOR_RANGE &&
		    genl_number(genl_find(genl_data(attr), genl_data(attr) + genl_len(attr),
					  RFM_A_RANGE_PLANES)) & RFM_PLANES_OWNED)
			dumped->owned++;
}

/* Some of the answers to a dump; false when it has ended. */
static bool dump_on(int fd, struct dumped *dumped, void (*take)(struct dumped *dumped,
							       const struct nlmsghdr *head))
{
	static struct genl genl;
	const struct nlmsghdr *head;
	size_t at = 0;

	if (!CHECK(genl_recv(fd, &genl, DUMP_ROOM, 0) > 0))
		return false;
	while ((head = genl_message(&genl, &at))) {
		dumped->interrupted |= head->nlmsg_flags & NLM_F_DUMP_INTR;
		if (head->nlmsg_type == NLMSG_DONE)
			return false;
		if (!CHECK_EQ(head->nlmsg_type, storm.family))
			return false;
		take(dumped, head);
	}
	return true;
}

static bool dump_begin(int fd, uint8_t cmd)
{
	static struct genl genl;

	begin(&genl, cmd, NLM_F_DUMP);
	return CHECK(genl_send(fd, &genl));
}

static void dump_descriptors(int fd)
{
	struct dumped dumped = {};

	if (!dump_begin(fd, RFM_CMD_DESCRIPTOR_GET))
		return;
	while (dump_on(fd, &dumped, take_descriptor))
		;
	if (dumped.interrupted)
		dumps.interrupted++;
	else
		dumps.whole++;
	if (!dumped.interrupted && dumped.owned != 1)
		wrong("%u ranges are owned", dumped.owned);
}

static void take_any(struct dumped *dumped, const struct nlmsghdr *head)
{
	(void)head;
	dumped->last++;
}

static void take_card(struct dumped *dumped, const struct nlmsghdr *head)
{
	const char *what = torn(head);

	if (what)
		wrong("a dump has half a change: %s", what);
	keep_sample(CHANGERS, head);
	dumped->last++;
}

static void dump_cards(int fd)
{
	struct dumped dumped = {};

	if (!dump_begin(fd, RFM_CMD_CARD_GET))
		return;
	while (dump_on(fd, &dumped, take_card))
		;
	if (dumped.last != 1)
		wrong("%u cards are near", dumped.last);
}

/* --- traffic that arrives -------------------------------------------------- */

/* Numbers ascend; what a queue dropped is counted. */
struct stream {
	int fd;
	uint64_t records, dropped, value;
};

static void stream_read(struct stream *stream, bool update)
{
	struct rfm_event events[16];
	ssize_t len;
	uint64_t value;

	while ((len = read(stream->fd, events, sizeof(events))) > 0)
		for (size_t i = 0; i < len / sizeof(*events); i++) {
			if (events[i].type == RFM_EVENT_DROPPED)
				continue;
			value = events[i].data;
			if (update)
				memcpy(&value, events[i].bytes, 8);
			if (value <= stream->value)
				wrong("%llu arrived after %llu", (unsigned long long)value,
				      (unsigned long long)stream->value);
			stream->value = value;
			stream->records++;
		}
}

/* --- the storm ------------------------------------------------------------- */

static struct stream updates, interrupts;
static int crowd[48];
static pid_t children[CHANGERS + 1];

/* So many holders that a dump takes several answers. */
static bool crowd_open(void)
{
	struct rfm_subscribe args = { .flags = RFM_SUBSCRIBE_RX };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(crowd); i++) {
		crowd[i] = open(pair.path, O_RDWR | O_CLOEXEC);
		for (j = 0; j < 32; j++) {
			args.range = (struct rfm_range){ j * 8192, 64 };
			args.result = 0;
			if (!CHECK(ioctl(crowd[i], RFM_IOC_SUBSCRIBE, &args) == 0))
				return false;
		}
	}
	return true;
}

static void crowd_close(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(crowd); i++)
		close(crowd[i]);
}

static bool streams_open(void)
{
	struct rfm_range range = { AT, 8 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1,
				   .flags = RFM_WATCH_NONBLOCK };
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_INT1),
				     .flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD };

	memset(&updates, 0, sizeof(updates));
	memset(&interrupts, 0, sizeof(interrupts));
	updates.fd = ioctl(pair.near, RFM_IOC_WATCH, &watch);
	interrupts.fd = ioctl(pair.near, RFM_IOC_LISTEN, &listen);
	return CHECK(updates.fd >= 0) & CHECK(interrupts.fd >= 0);
}

static pid_t child(unsigned int who)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (who < CHANGERS) {
		shared->pid[who] = getpid();
		changer(who);
	} else {
		traffic();
	}
	fflush(stdout);
	_exit(0);
}

static void storm_begin(bool throttled)
{
	unsigned int who;

	memset(shared, 0, sizeof(*shared));
	shared->throttled = throttled;
	for (who = 0; who <= CHANGERS; who++) {
		children[who] = child(who);
		if (who < CHANGERS)
			shared->pid[who] = children[who];
	}
}

static void storm_end(void)
{
	unsigned int who;
	int status;

	shared->stop = true;
	for (who = 0; who <= CHANGERS; who++) {
		CHECK(waitpid(children[who], &status, 0) == children[who] && !status);
		if (who < CHANGERS)
			CHECK_EQ(shared->wrong[who], 0);
	}
}

/* Everything that is to be heard has been: a last change says so. */
static void hear_the_end(void)
{
	static struct genl genl;
	const struct nlmsghdr *head;
	uint64_t generation, end = now_ns() + 20000000000ull;

	while (listen_once(0))
		;
	CHECK_EQ(change_all(storm.control, &genl, 1), 0);
	head = ask(storm.control, &genl);
	if (!CHECK(head != NULL))
		return;
	generation = field(head, RFM_A_CARD_GENERATION);
	while (hearing.generation != generation && now_ns() < end)
		listen_once(100);
	CHECK_EQ(hearing.generation, generation);
	compare_all();
}

static void account(void)
{
	uint64_t heard = 0;
	unsigned int who;

	for (who = 0; who < CHANGERS; who++) {
		CHECK(shared->made[who] >= 20);
		CHECK(hearing.changes[who] <= shared->made[who]);
		heard += hearing.changes[who];
		if (!hearing.missing)
			CHECK_EQ(hearing.changes[who], shared->made[who]);
	}
	CHECK_EQ(heard + hearing.missing, made_by_all());
	CHECK_EQ(hearing.wrong, 0);
	CHECK(updates.records > 0 && interrupts.records > 0);
	CHECK(dumps.interrupted > 0);
	CHECK(hearing.compared > 0);
	tap_note("%llu changes, %llu heard, %llu missed in %llu gaps, %llu lost in %llu overruns",
		 (unsigned long long)made_by_all(), (unsigned long long)heard,
		 (unsigned long long)hearing.missing, (unsigned long long)hearing.gaps,
		 (unsigned long long)hearing.lost, (unsigned long long)hearing.overruns);
	tap_note("%llu reads compared; %lu dumps, %lu interrupted; %llu updates, %llu interrupts",
		 (unsigned long long)hearing.compared,
		 dumps.whole + dumps.interrupted, dumps.interrupted,
		 (unsigned long long)updates.records, (unsigned long long)interrupts.records);
}

/* Slow machines need longer for something to happen. */
static bool enough(bool lazy)
{
	unsigned int who;

	for (who = 0; who < CHANGERS; who++)
		if (shared->made[who] < 20)
			return false;
	return dumps.interrupted && hearing.compared && updates.records && interrupts.records &&
	       ((hearing.gaps && hearing.missing) || !lazy);
}

/* Listens, dumps and reads until the time is over. @lazy: listens now and then only. */
static void be_fifth(int fd, bool lazy)
{
	uint64_t random = seed, end = now_ns() + seconds * 1000000000ull;
	uint64_t patience = end + 60000000000ull;

	while (hearing.wrong < 5 &&
	       (now_ns() < end || (!enough(lazy) && now_ns() < patience))) {
		unsigned int max = random_next(&random) % (lazy ? 20 : 200);

		while (max-- && listen_once(10))
			;
		if (lazy)
			sched_yield();
		compare_all();
		stream_read(&updates, true);
		stream_read(&interrupts, false);
		if (random_next(&random) % 2)
			dump_descriptors(fd);
		else
			dump_cards(fd);
	}
}

static void weather(int room, bool throttled)
{
	static struct genl genl;
	int fd = genl_open();

	memset(&dumps, 0, sizeof(dumps));
	REQUIRE(fd >= 0 && streams_open() && crowd_open());
	REQUIRE(change_all(storm.control, &genl, 1) == 0);
	REQUIRE(hearing_begin(room));
	hearing.generation = field(ask(storm.control, &genl), RFM_A_CARD_GENERATION);
	storm_begin(throttled);
	be_fifth(fd, !throttled);
	storm_end();
	hear_the_end();
	account();
	crowd_close();
	close(hearing.fd);
	close(updates.fd);
	close(interrupts.fd);
	close(fd);
}

/* Who keeps up hears everything. */
static void with_room_nothing_is_missed(void)
{
	weather(64 << 20, true);
	CHECK_EQ(hearing.missing, 0);
	CHECK_EQ(hearing.gaps, 0);
}

/* Who does not is told, and knows how many changes it has not heard of. */
static void what_is_missed_is_known(void)
{
	weather(1, false);
	CHECK(hearing.gaps > 0);
	CHECK(hearing.missing > 0);
}

/* --- single things --------------------------------------------------------- */

/* Between two answers of a dump somebody comes. */
static void a_disturbed_dump_says_so(void)
{
	struct dumped dumped = {};
	int fd = genl_open(), more;

	hearing.wrong = 0;
	REQUIRE(fd >= 0 && crowd_open() && dump_begin(fd, RFM_CMD_DESCRIPTOR_GET));
	while (dump_on(fd, &dumped, take_descriptor))
		;
	CHECK(!dumped.interrupted);

	memset(&dumped, 0, sizeof(dumped));
	REQUIRE(dump_begin(fd, RFM_CMD_DESCRIPTOR_GET));
	REQUIRE(dump_on(fd, &dumped, take_descriptor));
	more = open(pair.path, O_RDWR | O_CLOEXEC);
	while (dump_on(fd, &dumped, take_descriptor))
		;
	CHECK(dumped.interrupted);
	CHECK_EQ(hearing.wrong, 0);
	close(more);
	crowd_close();
	close(fd);
}

static uint64_t counter(int card, enum rfm_counter which)
{
	struct rfm_counters counters = {};

	CHECK_EQ(ioctl(card, RFM_IOC_COUNTERS, &counters), 0);
	return counters.value[which];
}

/* Frames of far that never arrived, so far as is known: a busy machine may be too slow. */
static uint64_t lost_on_the_ring(void)
{
	struct rfm_fence_wait args = { .timeout_ms = 10000 };

	CHECK_EQ(ioctl(pair.far, RFM_IOC_FENCE, &args), 0);
	return counter(pair.far, RFM_COUNTER_LOST) + counter(pair.far, RFM_COUNTER_FULL) +
	       counter(pair.far, RFM_COUNTER_DARK);
}

/*
 * What two watches are told of by turns cannot be told as one. (Conflicts can:
 * when many come, the card counts them and makes no records for a while.)
 */
static void stores_that_are_told_of(unsigned int count)
{
	volatile uint64_t *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
				      pair.far, OWNED);
	unsigned int i;

	if (!CHECK(map != MAP_FAILED))
		return;
	for (i = 0; i < count; i++) {
		map[0] = i;			/* a conflict */
		map[RFM_GRANULE / 8] = i;	/* too late, for one watch */
		map[2 * RFM_GRANULE / 8] = i;	/* and for the other */
	}
	munmap((void *)map, 4096);
}

/* Listens until so many have been told of, or lost; false if they never are. */
static bool hear_events(uint64_t events)
{
	uint64_t end = now_ns() + 20000000000ull;

	while (hearing.counted + hearing.lost < events && now_ns() < end)
		if (listen_once(100))
			end = now_ns() + 20000000000ull;
	return CHECK(hearing.counted + hearing.lost >= events);
}

/* What else monitors are told of: on a busy machine the ring may break. */
#define OTHER_EVENTS	(RFM_EVENT_ALL & ~RFM_EVENT_WATCHED & ~RFM_EVENT_SENDABLE & \
			 ~RFM_EVENT_BIT(RFM_EVENT_CONFLICT))

static int listen_for_others(void)
{
	struct rfm_listen listen = { .types = OTHER_EVENTS,
				     .flags = RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD };

	return ioctl(pair.near, RFM_IOC_LISTEN, &listen);
}

/* Everything that the card told of is in the notifications, or in their losses. */
static void what_the_driver_loses_is_counted(void)
{
	static struct genl genl;
	struct rfm_range range = { OWNED, 8 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1, .deadline_ns = 1,
				   .flags = RFM_WATCH_NONBLOCK };
	uint64_t stores = 0, end = now_ns() + 60000000000ull, conflicts, dropped, lost;
	struct rfm_event other;
	int fds[2], others, i;

	REQUIRE(change_all(storm.control, &genl, 0) == 0);	/* the first granule is owned */
	for (i = 0; i < 2; i++) {
		range.offset += RFM_GRANULE;
		fds[i] = ioctl(pair.near, RFM_IOC_WATCH, &watch);
		REQUIRE(fds[i] >= 0);
	}
	others = listen_for_others();
	REQUIRE(others >= 0 && hearing_begin(64 << 20));
	lost = lost_on_the_ring();
	conflicts = counter(pair.near, RFM_COUNTER_CONFLICTS);
	dropped = counter(pair.near, RFM_COUNTER_EVENTS_DROPPED);
	while (!hearing.overruns && now_ns() < end) {
		stores_that_are_told_of(1000);
		stores += 1000;
		lost_on_the_ring();
		while (listen_once(100))
			;
	}
	conflicts = counter(pair.near, RFM_COUNTER_CONFLICTS) - conflicts;
	dropped = counter(pair.near, RFM_COUNTER_EVENTS_DROPPED) - dropped;
	lost = lost_on_the_ring() - lost;
	tap_note("%llu stores, %llu conflicts; %llu events heard for %llu, %llu lost in %llu overruns",
		 (unsigned long long)stores, (unsigned long long)conflicts,
		 (unsigned long long)hearing.events, (unsigned long long)hearing.counted,
		 (unsigned long long)hearing.lost, (unsigned long long)hearing.overruns);
	CHECK(hearing.overruns > 0);
	CHECK(conflicts + lost >= stores);
	CHECK_EQ(hearing.wrong, 0);
	/* What the driver has lost may have been something else, if there was something else. */
	if (!dropped && !lost && hear_events(3 * stores) && !hearing.others &&
	    read(others, &other, sizeof(other)) < 0)
		CHECK_EQ(hearing.counted + hearing.lost, 3 * stores);
	close(others);
	for (i = 0; i < 2; i++)
		close(fds[i]);
	close(hearing.fd);
}

/* --- a card that goes ------------------------------------------------------- */

static bool driver_does(const char *what, const char *pci)
{
	char path[64];
	bool good;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/rfm/%s", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	good = fd >= 0 && write(fd, pci, strlen(pci)) == (ssize_t)strlen(pci);
	close(fd);
	return good;
}

/* Waits for a notification about the card at @pci. */
static bool heard_of(uint8_t cmd, const char *pci)
{
	static struct genl genl;
	const struct nlmsghdr *head;
	const struct nlattr *attr;
	size_t at;

	while (genl_recv(hearing.fd, &genl, GENL_MAX, 0) > 0)
		for (at = 0; (head = genl_message(&genl, &at));) {
			attr = genl_find((const uint8_t *)head + GENL_ATTRS,
					 (const uint8_t *)head + head->nlmsg_len, RFM_A_CARD_PCI);
			if (((const struct genlmsghdr *)(head + 1))->cmd == cmd && attr &&
			    !strcmp((const char *)genl_data(attr), pci))
				return true;
		}
	return false;
}

/* The last case that uses near: it comes back as another card. */
static void a_card_goes_in_the_middle_of_a_dump(void)
{
	struct dumped descriptors = {}, cards = {};
	int fd = genl_open(), other = genl_open();

	REQUIRE(fd >= 0 && other >= 0 && crowd_open() && hearing_begin(64 << 20));
	REQUIRE(dump_begin(fd, RFM_CMD_DESCRIPTOR_GET));
	REQUIRE(dump_begin(other, RFM_CMD_CARD_GET));
	REQUIRE(dump_on(fd, &descriptors, take_descriptor));
	REQUIRE(driver_does("unbind", pair.info.pci_name));
	while (dump_on(fd, &descriptors, take_descriptor))
		;
	while (dump_on(other, &cards, take_any))
		;
	CHECK(descriptors.interrupted);
	CHECK(heard_of(RFM_CMD_CARD_DELETE_NTF, pair.info.pci_name));
	crowd_close();
	REQUIRE(driver_does("bind", pair.info.pci_name));
	CHECK(heard_of(RFM_CMD_CARD_CREATE_NTF, pair.info.pci_name));
	close(hearing.fd);
	close(other);
	close(fd);
}

static int kernel_log = -1;

static void kernel_is_quiet(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

/* As the card was, but for the generation. */
static void put_back(void)
{
	static struct genl genl;

	begin(&genl, RFM_CMD_CARD_SET, NLM_F_ACK);
	put_lights(&genl, 0);
	put_parity(&genl, 0);
	put_base(&genl, 0, pair.info.memory_size, RFM_ACTION_REMOVE);
	genl_put_u32(&genl, RFM_A_CARD_BASE_POLICY, RFM_POLICY_ALL);
	genl_put_u32(&genl, RFM_A_CARD_MODERATION_COUNT, 1);
	genl_put_u32(&genl, RFM_A_CARD_MODERATION_TIME, 0);
	genl_put_u32(&genl, RFM_A_CARD_DMA_READ_THRESHOLD, 16384);
	genl_put_u32(&genl, RFM_A_CARD_DMA_WRITE_THRESHOLD, 2048);
	CHECK_EQ(acknowledged(storm.control, &genl), 0);
}

static void settings_can_be_put_back(void)
{
	put_back();
}

static const struct tap_case cases[] = {
	TAP_CASE(with_room_nothing_is_missed),
	TAP_CASE(what_is_missed_is_known),
	TAP_CASE(a_disturbed_dump_says_so),
	TAP_CASE(what_the_driver_loses_is_counted),
	TAP_CASE(settings_can_be_put_back),
	TAP_CASE(a_card_goes_in_the_middle_of_a_dump),
	TAP_CASE(kernel_is_quiet),
};

int main(int argc, char **argv)
{
	struct rfm_fence_wait before = {};
	int option;

	while ((option = getopt(argc, argv, "t:s:")) != -1)
		switch (option) {
		case 't': seconds = strtoul(optarg, NULL, 0); break;
		case 's': seed = strtoull(optarg, NULL, 0) | 1; break;
		default:
			fprintf(stderr, "usage: %s [-t SECONDS] [-s SEED] NEAR FAR\n", argv[0]);
			return TAP_FAIL;
		}
	storm_patience = seconds + 120;
	kernel_log = kernel_log_open();
	pair_open(argc - optind + 1, argv + optind - 1);
	storm.near_id = strtoul(strrchr(pair.path, 'm') + 1, NULL, 10);
	storm.control = genl_open();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || !genl_family(storm.control, RFM_FAMILY_NAME,
						 RFM_MCGRP_MONITOR, &storm.family, &storm.group)) {
		tap_note("no family");
		return TAP_FAIL;
	}
	/* What was lost before is told now, and nobody minds. */
	ioctl(pair.far, RFM_IOC_FENCE, &before);
	put_back();
	return TAP_RUN(cases);
}
