// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family: base masks, which decide what is received that nobody has
 * subscribed to, and who has something of a card. Which cards it wants:
 * netlink_ask.h. Must run as root.
 */

#define TAP_CASE_SECONDS	240	/* thousands of ranges, on a debug kernel */

#include "netlink_ask.h"

/* --- base masks ------------------------------------------------------------ */

static bool arrives(volatile uint64_t *from, volatile uint64_t *to, uint64_t value)
{
	struct rfm_ring_test ring = { .timeout_ms = 10000 };

	*from = value;
	/* Behind the store; when it is home, that was everywhere. */
	if (ioctl(cards[TALKER].fd, RFM_IOC_RING_TEST, &ring))
		tap_note("the ring is open");
	return *to == value;
}

static void base_masks_decide_what_is_received(void)
{
	int out = open(cards[TALKER].path, O_RDWR), in = open(cards[HEARER].path, O_RDWR);
	struct rfm_subscribe bare = { .flags = RFM_SUBSCRIBE_NO_MAPS };
	struct rfm_subscribe rx = { .range = { 0x10000, 64 }, .flags = RFM_SUBSCRIBE_RX };
	uint32_t policy = setting(HEARER, RFM_A_CARD_BASE_POLICY);
	volatile uint64_t *from, *to;

	REQUIRE(out >= 0 && in >= 0 && !ioctl(in, RFM_IOC_SUBSCRIBE, &bare));
	from = card_map(out, 0x20000);
	to = card_map(in, 0x20000);
	REQUIRE(from && to);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(BASE_POLICY, RFM_POLICY_NONE);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_POLICY), RFM_POLICY_NONE);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_RANGES), 0);
	CHECK(!arrives(&from[0x2000], &to[0x2000], 1));

	/* The masks work while programs have their memory mapped. */
	ask_of(RFM_CMD_CARD_SET, HEARER);
	put_step(0x10000, 128, RFM_PLANES_RX, RFM_ACTION_ADD);
	put_step(0x10040, 64, RFM_PLANES_RX, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_POLICY), RFM_POLICY_MASK);
	CHECK(arrives(&from[0x2000], &to[0x2000], 2));
	CHECK(!arrives(&from[0x2008], &to[0x2008], 3));
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_BASE));
	CHECK_EQ(seen.ranges, 1);
	CHECK_EQ(seen.first.offset, 0x10000);
	CHECK_EQ(seen.first.length, 64);
	CHECK_EQ(seen.planes, RFM_PLANES_RX);
	CHECK_EQ(ioctl(in, RFM_IOC_SUBSCRIBE, &rx), 0);
	CHECK_EQ(rx.result, RFM_SUBSCRIBE_NO_EFFECT);

	/* What a file holds as well stays on. */
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(BASE_POLICY, RFM_POLICY_NONE);
	CHECK_TAKEN();
	CHECK(arrives(&from[0x2000], &to[0x2000], 4));
	rx.result = 0;
	CHECK_EQ(ioctl(in, RFM_IOC_UNSUBSCRIBE, &rx), 0);
	CHECK_EQ(rx.result, 0);
	CHECK(!arrives(&from[0x2000], &to[0x2000], 5));

	/* All but a hole. */
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(BASE_POLICY, RFM_POLICY_ALL);
	put_step(0x10000, 64, RFM_PLANES_RX, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
	CHECK(!arrives(&from[0x2000], &to[0x2000], 6));
	CHECK(arrives(&from[0x2008], &to[0x2008], 7));
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(BASE_POLICY, policy);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_POLICY), policy);
	munmap((void *)from, 0x20000);
	munmap((void *)to, 0x20000);
	close(out);
	close(in);
}

static void base_masks_have_a_limit(void)
{
	uint32_t policy = setting(HEARER, RFM_A_CARD_BASE_POLICY);
	uint64_t i, ranges = answer_number(RFM_A_CARD_BASE_RANGES);

	ask_of(RFM_CMD_CARD_SET, HEARER);
	for (i = 0; i < 2800; i++)
		put_step(i * 128, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_RANGES), ranges + 2800);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	for (i = 2800; i < 4097; i++)
		put_step(i * 128, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_REFUSED(ENOSPC, "a base mask would have more than 4096 separate ranges",
		      RFM_A_CARD_BASE);
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_RANGES), ranges + 2800);
	/* A dump tells of all of them, in pieces. */
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_BASE));
	CHECK_EQ(seen.ranges, ranges + 2800);
	CHECK(seen.messages > 40);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	put_step(0, cards[HEARER].info.memory_size, RFM_PLANES_OWNED, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_RANGES), ranges);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_POLICY), policy);
}

static void policies_leave_owners_alone(void)
{
	static const uint32_t policies[] = { RFM_POLICY_NONE, RFM_POLICY_ALL };
	uint32_t policy = setting(HEARER, RFM_A_CARD_BASE_POLICY);
	unsigned int i;

	ask_of(RFM_CMD_CARD_SET, HEARER);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_TAKEN();
	for (i = 0; i < ARRAY_SIZE(policies); i++) {
		ask_of(RFM_CMD_CARD_SET, HEARER);
		attr_put(BASE_POLICY, policies[i]);
		CHECK_TAKEN();
		CHECK_EQ(setting(HEARER, RFM_A_CARD_BASE_POLICY), policies[i]);
		CHECK(!see_nothing_owned(HEARER));
	}
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(BASE_POLICY, policy);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
	CHECK(see_nothing_owned(HEARER));
}

/* --- descriptors ----------------------------------------------------------- */

/* All that /proc/self/fdinfo says of it is by which name and number netlink tells of it. */
static bool fdinfo_names_it(int fd)
{
	char path[64], wanted[64], told[64], line[128];
	unsigned int lines = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	snprintf(wanted, sizeof(wanted), "rfm-card: %s\nrfm-id: %u\n", cards[HEARER].name, seen.id);
	told[0] = '\0';
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "rfm-", 4))
			continue;
		strncat(told, line, sizeof(told) - strlen(told) - 1);
		lines++;
	}
	if (file)
		fclose(file);
	return lines == 2 && !strcmp(told, wanted);
}

static void descriptors_are_told(void)
{
	struct rfm_range range = { 0x3004, 100 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1, .depth = 7,
				   .flags = RFM_WATCH_COALESCE };
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_INT2), .depth = 9,
				     .flags = RFM_LISTEN_EXCLUSIVE };
	struct rfm_subscribe owned = { .range = { 0x4000, 64 }, .flags = RFM_SUBSCRIBE_OWN };
	int fd = open(cards[HEARER].path, O_RDWR), watcher, listener;
	uint32_t file;
	void *map;

	REQUIRE(fd >= 0 && see(HEARER, RFM_DESCRIPTOR_KIND_FILE));
	file = seen.id;
	CHECK_EQ(seen.ranges, 0);
	CHECK_EQ(seen.pid, getpid());
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_FLAGS],
		 RFM_DESCRIPTOR_FLAG_READ | RFM_DESCRIPTOR_FLAG_WRITE);
	CHECK(!strcmp(seen.comm, "netlink_holders"));
	CHECK_EQ(ioctl(fd, RFM_IOC_SUBSCRIBE, &owned), 0);
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_FILE));
	CHECK_EQ(seen.id, file);
	CHECK_EQ(seen.first.offset, 0x4000);
	CHECK_EQ(seen.planes, RFM_PLANES_OWNED);
	CHECK(fdinfo_names_it(fd));

	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 4096);
	watcher = ioctl(fd, RFM_IOC_WATCH, &watch);
	listener = ioctl(fd, RFM_IOC_LISTEN, &listen);
	REQUIRE(map != MAP_FAILED && watcher >= 0 && listener >= 0);
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_MAP));
	CHECK_EQ(seen.first.offset, 4096);
	CHECK_EQ(seen.first.length, 8192);
	CHECK_EQ(seen.planes, RFM_PLANES_RX | RFM_PLANES_TX);
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_WATCH));
	CHECK_EQ(seen.first.offset, range.offset);
	CHECK_EQ(seen.first.length, range.length);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DEPTH], 7);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_FLAGS], RFM_DESCRIPTOR_FLAG_COALESCE);
	CHECK(fdinfo_names_it(watcher));
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_LISTEN));
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_TYPES], listen.types);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DEPTH], 9);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_FLAGS], RFM_DESCRIPTOR_FLAG_EXCLUSIVE);
	CHECK(fdinfo_names_it(listener));
	CHECK_EQ(setting(HEARER, RFM_A_CARD_WATCHES), 1);
	CHECK_EQ(answer_number(RFM_A_CARD_LISTENERS), 1);

	munmap(map, 8192);
	close(watcher);
	close(listener);
	close(fd);
	CHECK(!see(HEARER, RFM_DESCRIPTOR_KIND_MAP));
	CHECK(!see(HEARER, RFM_DESCRIPTOR_KIND_WATCH));
	CHECK(!see(HEARER, RFM_DESCRIPTOR_KIND_LISTEN));
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_FILE) && seen.id != file);
}

/* What is told of the watch, when it has heard so many updates. */
static bool see_watch(uint64_t events)
{
	unsigned int left = 1000;

	while (see(HEARER, RFM_DESCRIPTOR_KIND_WATCH) &&
	       seen.number[RFM_A_DESCRIPTOR_EVENTS] < events && left--)
		usleep(10000);
	return seen.number[RFM_A_DESCRIPTOR_EVENTS] == events;
}

static void watches_are_told(void)
{
	struct rfm_range range = { 0x3000, 4 };
	struct rfm_watch late = { .ranges = (uintptr_t)&range, .count = 1, .depth = 2,
				  .deadline_ns = 1 };
	struct rfm_watch match = { .ranges = (uintptr_t)&range, .count = 1,
				   .flags = RFM_WATCH_COMPARE, .silence_ns = 3600000000000ull,
				   .compare = RFM_COMPARE_NOT_EQUAL, .compare_width = 2,
				   .compare_offset = 0x3002, .compare_mask = 0xff0,
				   .compare_value = 0x120 };
	volatile uint64_t *to = card_map(cards[HEARER].fd, 0x4000);
	volatile uint64_t *from = card_map(cards[TALKER].fd, 0x4000);
	unsigned int i;
	int fd;

	REQUIRE(to && from);
	fd = ioctl(cards[HEARER].fd, RFM_IOC_WATCH, &late);
	REQUIRE(fd >= 0 && see_watch(0));
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DEADLINE_NS], 1);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_SILENCE_NS], 0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE], 0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_QUEUED], 0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DROPPED], 0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_LATE], 0);
	for (i = 1; i <= 3; i++)
		CHECK(arrives(&from[0x600], &to[0x600], i));
	CHECK(see_watch(3));
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_QUEUED], 2);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DROPPED], 1);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_LATE], 3);
	CHECK(fdinfo_names_it(fd));
	close(fd);

	fd = ioctl(cards[HEARER].fd, RFM_IOC_WATCH, &match);
	REQUIRE(fd >= 0 && see_watch(0));
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_FLAGS], RFM_DESCRIPTOR_FLAG_COMPARE);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_DEADLINE_NS], 0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_SILENCE_NS], match.silence_ns);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE], RFM_COMPARE_NOT_EQUAL);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE_WIDTH], 2);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE_OFFSET], 0x3002);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE_MASK], 0xff0);
	CHECK_EQ(seen.number[RFM_A_DESCRIPTOR_COMPARE_VALUE], 0x120);
	close(fd);
	munmap((void *)from, 0x4000);
	munmap((void *)to, 0x4000);
}

/* A dump that is left while others come and go says so, and loses nobody. */
static void changes_interrupt_a_dump(void)
{
	static struct genl datagram;
	const struct nlmsghdr *head;
	struct rfm_subscribe args = { .flags = RFM_SUBSCRIBE_OWN };
	int fd = open(cards[HEARER].path, O_RDWR), other;
	bool interrupted = false, done = false;
	unsigned int i;
	size_t at;

	REQUIRE(fd >= 0);
	for (i = 0; i < 2000; i++) {
		args.range = (struct rfm_range){ i * 128ull, 64 };
		REQUIRE(!ioctl(fd, RFM_IOC_SUBSCRIBE, &args));
	}
	memset(&seen, 0, sizeof(seen));
	seen.kind = RFM_DESCRIPTOR_KIND_FILE;
	ask_of(RFM_CMD_DESCRIPTOR_GET, HEARER);
	genl_head(&request)->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	REQUIRE(genl_send(asking, &request));
	REQUIRE(genl_recv(asking, &datagram, GENL_MAX, 0) > 0);
	other = open(cards[HEARER].path, O_RDONLY);
	for (; !done && datagram.len; genl_recv(asking, &datagram, GENL_MAX, 0)) {
		for (at = 0; !done && (head = genl_message(&datagram, &at));) {
			interrupted |= head->nlmsg_flags & NLM_F_DUMP_INTR;
			done = head->nlmsg_type == NLMSG_DONE;
			if (!done && seen.ranges < 2000)
				see_descriptor(head);
		}
		if (done)
			break;
	}
	CHECK(done);
	CHECK(interrupted);
	CHECK_EQ(seen.ranges, 2000);
	close(other);
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(base_masks_decide_what_is_received),
		TAP_CASE(base_masks_have_a_limit),
		TAP_CASE(policies_leave_owners_alone),
		TAP_CASE(descriptors_are_told),
		TAP_CASE(watches_are_told),
		TAP_CASE(changes_interrupt_a_dump),
	};

	open_cards(argc, argv);
	return leave_cards(TAP_RUN(cases));
}
