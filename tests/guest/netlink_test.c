// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family: what the operations do, who may, and what a refusal says.
 * Which cards it wants: netlink_ask.h. Must run as root. What monitors hear is in
 * netlink_monitor_test.c.
 */

#include <sched.h>

#include "netlink_ask.h"

/* --- which card ------------------------------------------------------------ */

static void cards_are_as_ioctls_say(void)
{
	struct rfm_config config = {};
	unsigned int i;

	for (i = 0; i < CARDS; i++) {
		struct rfm_info *info = &cards[i].info;

		REQUIRE(!card_info(cards[i].fd, info));
		REQUIRE(!ioctl(cards[i].fd, RFM_IOC_GET_CONFIG, &config));
		card_get(i);
		CHECK(is_text(answer_attr(RFM_A_CARD_NAME), cards[i].name));
		CHECK(is_text(answer_attr(RFM_A_CARD_PCI), info->pci_name));
		CHECK_EQ(answer_number(RFM_A_CARD_NODE), info->node);
		CHECK_EQ(answer_number(RFM_A_CARD_MEMORY_SIZE), info->memory_size);
		CHECK_EQ(answer_number(RFM_A_CARD_WINDOW_SIZE), info->window_size);
		CHECK_EQ(answer_number(RFM_A_CARD_BOARD_ID), 0x65);
		CHECK_EQ(answer_number(RFM_A_CARD_BOARD_REVISION), info->board_revision);
		CHECK_EQ(answer_number(RFM_A_CARD_BUILD), info->build);
		CHECK_EQ(answer_number(RFM_A_CARD_FEATURES), info->features);
		CHECK_EQ(answer_number(RFM_A_CARD_LINK), !!(info->lcsr1 & RFM_LCSR1_SIGNAL));
		CHECK_EQ(answer_number(RFM_A_CARD_BASE_POLICY), info->base_policy);
		CHECK_EQ(answer_number(RFM_A_CARD_LED), !!(config.on & RFM_CONFIG_LED));
		CHECK_EQ(answer_number(RFM_A_CARD_TRANSMIT),
			 !!(config.on & RFM_CONFIG_TRANSMIT));
		CHECK_EQ(answer_number(RFM_A_CARD_LCSR1) & RFM_LCSR1_LED ? 1 : 0,
			 answer_number(RFM_A_CARD_LED));
		CHECK_EQ(!answer_attr(RFM_A_CARD_MODERATION_COUNT), !info->features);
		CHECK(answer_number(RFM_A_CARD_FILES) >= 1);
	}
}

static void names_select_cards(void)
{
	ask_for(RFM_CMD_CARD_GET);
	put_string(RFM_A_CARD_NAME, cards[HEARER].name);
	CHECK_TAKEN();
	CHECK_EQ(answer_number(RFM_A_CARD_ID), cards[HEARER].id);
	ask_for(RFM_CMD_CARD_GET);
	put_string(RFM_A_CARD_PCI, cards[PLAIN].info.pci_name);
	CHECK_TAKEN();
	CHECK_EQ(answer_number(RFM_A_CARD_ID), cards[PLAIN].id);
	/* A descriptor does, too. */
	ask_for(RFM_CMD_CARD_GET);
	put_fd(cards[HEARER].fd);
	CHECK_TAKEN();
	CHECK_EQ(answer_number(RFM_A_CARD_ID), cards[HEARER].id);
}

static void wrong_cards_are_refused(void)
{
	int file = open("/dev/null", O_RDWR);

	ask_for(RFM_CMD_CARD_GET);
	CHECK_REFUSED(EINVAL, "the request names no card", 0);
	CHECK_EQ(outcome.missing, RFM_A_CARD_ID);
	ask_for(RFM_CMD_CARD_GET);
	genl_put_u32(&request, RFM_A_CARD_ID, 255);
	CHECK_REFUSED(ENODEV, "there is no such card", RFM_A_CARD_ID);
	ask_for(RFM_CMD_CARD_GET);
	genl_put_u32(&request, RFM_A_CARD_ID, UINT32_MAX);
	CHECK_REFUSED(ENODEV, "there is no such card", RFM_A_CARD_ID);
	ask_for(RFM_CMD_CARD_GET);
	put_string(RFM_A_CARD_NAME, "rfm");
	CHECK_REFUSED(ENODEV, "there is no such card", RFM_A_CARD_NAME);
	ask_of(RFM_CMD_CARD_GET, TALKER);
	put_string(RFM_A_CARD_NAME, cards[HEARER].name);
	CHECK_REFUSED(ENODEV, "there is no such card", RFM_A_CARD_ID);

	ask_of(RFM_CMD_CARD_GET, TALKER);
	put_fd(1000);
	CHECK_REFUSED(EBADF, "this is not an open descriptor", RFM_A_CARD_FD);
	ask_of(RFM_CMD_CARD_GET, TALKER);
	put_fd(file);
	CHECK_REFUSED(EINVAL, "this is not a descriptor of a card", RFM_A_CARD_FD);
	ask_of(RFM_CMD_CARD_GET, TALKER);
	put_fd(cards[HEARER].fd);
	CHECK_REFUSED(EINVAL, "this descriptor is of another card", RFM_A_CARD_FD);
	close(file);
}

static unsigned int dumped;
static uint32_t dumped_ids;

static void dumped_card(const struct nlmsghdr *head)
{
	dumped++;
	dumped_ids |= 1u << genl_find_number(head, RFM_A_CARD_ID);
	CHECK_EQ(head->nlmsg_flags & NLM_F_DUMP_INTR, 0);
}

static void dumps_have_all_cards(void)
{
	unsigned int i;

	dumped = dumped_ids = 0;
	ask_for(RFM_CMD_CARD_GET);
	CHECK_EQ(ask_all(dumped_card), 0);
	CHECK(dumped >= CARDS);
	for (i = 0; i < CARDS; i++)
		CHECK(dumped_ids & 1u << cards[i].id);

	dumped = dumped_ids = 0;
	ask_of(RFM_CMD_CARD_GET, HEARER);
	CHECK_EQ(ask_all(dumped_card), 0);
	CHECK_EQ(dumped, 1);
	CHECK_EQ(dumped_ids, 1u << cards[HEARER].id);

	ask_for(RFM_CMD_CARD_GET);
	genl_put_u32(&request, RFM_A_CARD_ID, 255);
	CHECK_EQ(ask_all(NULL), ENODEV);
	CHECK(!strcmp(outcome.sentence, "there is no such card"));
}

static void messages_are_checked_strictly(void)
{
	size_t nest;

	ask_of(RFM_CMD_CARD_GET, TALKER);
	genl_put_u32(&request, RFM_A_CARD_MAX + 1, 0);
	CHECK_EQ(ask(), EINVAL);
	CHECK(outcome.sentence[0]);
	/* Known to the family, but not to this operation. */
	ask_of(RFM_CMD_CARD_GET, TALKER);
	attr_put(LED, (uint8_t)1);
	CHECK_EQ(ask(), EINVAL);
	CHECK(outcome.sentence[0]);
	ask_for(RFM_CMD_CARD_GET);
	genl_put_u8(&request, RFM_A_CARD_ID, cards[TALKER].id);
	CHECK_EQ(ask(), EINVAL);
	CHECK_EQ(outcome.bad, RFM_A_CARD_ID);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	attr_put(LED, (uint8_t)2);
	CHECK_EQ(ask(), ERANGE);
	CHECK_EQ(outcome.bad, RFM_A_CARD_LED);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	nest = request.len;
	put_step(0, 64, RFM_PLANES_RX, RFM_ACTION_ADD);
	((struct nlattr *)(request.bytes + nest))->nla_type &= ~NLA_F_NESTED;
	CHECK_EQ(ask(), EINVAL);
	CHECK(outcome.sentence[0]);
	ask_for(RFM_CMD_MAX + 1);
	CHECK_EQ(ask(), EOPNOTSUPP);
	/* Notifications are not for asking. */
	ask_of(RFM_CMD_EVENT_NTF, TALKER);
	CHECK_EQ(ask(), EOPNOTSUPP);
}

/* --- settings -------------------------------------------------------------- */

static void set_u8(unsigned int card, uint16_t attr, uint8_t value)
{
	ask_of(RFM_CMD_CARD_SET, card);
	genl_put_u8(&request, attr, value);
	CHECK_TAKEN();
}

static void config_is_set(void)
{
	static const struct {
		uint16_t attr;
		uint32_t flag;
	} rows[] = {
		{ RFM_A_CARD_LED, RFM_CONFIG_LED },
		{ RFM_A_CARD_TRANSMIT, RFM_CONFIG_TRANSMIT },
		{ RFM_A_CARD_LOOPBACK, RFM_CONFIG_LOOPBACK },
		{ RFM_A_CARD_DARK_ON_DARK, RFM_CONFIG_DARK_ON_DARK },
		{ RFM_A_CARD_PARITY, RFM_CONFIG_PARITY },
		{ RFM_A_CARD_BYTE_SWAP, RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP },
		{ RFM_A_CARD_DMA_BYTE_SWAP, RFM_CONFIG_DMA_BYTE_SWAP },
	};
	struct rfm_config before = {}, now = {};
	uint64_t generation;
	unsigned int i;

	REQUIRE(!ioctl(cards[PLAIN].fd, RFM_IOC_GET_CONFIG, &before));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		bool on = before.on & rows[i].flag;

		generation = setting(PLAIN, RFM_A_CARD_GENERATION);
		set_u8(PLAIN, rows[i].attr, !on);
		CHECK_EQ(setting(PLAIN, rows[i].attr), !on);
		CHECK_EQ(answer_number(RFM_A_CARD_GENERATION), generation + 1);
		memset(&now, 0, sizeof(now));
		REQUIRE(!ioctl(cards[PLAIN].fd, RFM_IOC_GET_CONFIG, &now));
		CHECK_EQ(now.on & ~RFM_CONFIG_OWN_DATA,
			 (before.on ^ rows[i].flag) & ~RFM_CONFIG_OWN_DATA);
		set_u8(PLAIN, rows[i].attr, on);
	}
	ask_of(RFM_CMD_CARD_SET, PLAIN);
	attr_put(ADDRESS_OFFSET, (uint32_t)(64 << 20));
	CHECK_TAKEN();
	CHECK_EQ(setting(PLAIN, RFM_A_CARD_ADDRESS_OFFSET), 64 << 20);
	ask_of(RFM_CMD_CARD_SET, PLAIN);
	attr_put(ADDRESS_OFFSET, (uint32_t)0);
	attr_put(OWN_DATA, (uint8_t)0);
	CHECK_TAKEN();
	CHECK_EQ(setting(PLAIN, RFM_A_CARD_OWN_DATA), 0);
}

/* The last attribute is wrong; nothing of what comes before it is done. */
static void check_refused_whole(unsigned int card, int error, const char *sentence, uint16_t attr)
{
	static struct genl kept;
	uint64_t led, generation, ranges;

	kept = request;
	led = setting(card, RFM_A_CARD_LED);
	generation = answer_number(RFM_A_CARD_GENERATION);
	ranges = answer_number(RFM_A_CARD_BASE_RANGES);
	ask_of(RFM_CMD_CARD_SET, card);
	attr_put(LED, (uint8_t)!led);
	if (attr == RFM_A_CARD_WINDOW_OFFSET && cards[card].info.features)
		put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	memcpy(request.bytes + request.len, kept.bytes + GENL_ATTRS, kept.len - GENL_ATTRS);
	request.len += kept.len - GENL_ATTRS;
	genl_head(&request)->nlmsg_len = request.len;
	CHECK_REFUSED(error, sentence, attr);
	CHECK_EQ(setting(card, RFM_A_CARD_LED), led);
	CHECK_EQ(answer_number(RFM_A_CARD_GENERATION), generation);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_RANGES), ranges);
}

static void refused_sets_change_nothing(void)
{
	void *map;

	ask_of(RFM_CMD_CARD_SET, TALKER);
	CHECK_REFUSED(EINVAL, "the request sets nothing", 0);
	ask_for(0);
	attr_put(OWN_DATA, (uint8_t)1);
	check_refused_whole(TALKER, EINVAL, "own-data can be cleared only", RFM_A_CARD_OWN_DATA);
	ask_for(0);
	attr_put(ADDRESS_OFFSET, (uint32_t)1);
	check_refused_whole(TALKER, EINVAL, "the address offset is 0, 64, 128 or 192 MiB",
			    RFM_A_CARD_ADDRESS_OFFSET);
	ask_for(0);
	attr_put(WINDOW_OFFSET, (uint64_t)64);
	check_refused_whole(TALKER, EINVAL,
			    "the window begins at a multiple of its size, inside the memory",
			    RFM_A_CARD_WINDOW_OFFSET);
	ask_for(0);
	attr_put(BASE_POLICY, RFM_POLICY_MASK);
	check_refused_whole(TALKER, EINVAL,
			    "this policy is made by changes of the base masks, it cannot be set",
			    RFM_A_CARD_BASE_POLICY);
	ask_for(0);
	attr_put(MODERATION_COUNT, (uint32_t)30000);
	check_refused_whole(TALKER, ERANGE,
			    "so many events do not fit into half of the event ring",
			    RFM_A_CARD_MODERATION_COUNT);
	ask_for(0);
	attr_put(MODERATION_TIME, (uint32_t)1000000001);
	check_refused_whole(TALKER, ERANGE, "events wait for a second at most",
			    RFM_A_CARD_MODERATION_TIME);

	map = card_map(cards[NARROW].fd, 4096);
	REQUIRE(map);
	ask_for(0);
	attr_put(WINDOW_OFFSET, (uint64_t)cards[NARROW].info.window_size);
	check_refused_whole(NARROW, EBUSY,
			    "the window is not moved under a mapping, a subscription, a watch, a read or a write",
			    RFM_A_CARD_WINDOW_OFFSET);
	munmap(map, 4096);
	CHECK(see_nothing_owned(NARROW));

	ask_for(0);
	attr_put(BASE_POLICY, RFM_POLICY_NONE);
	check_refused_whole(PLAIN, EOPNOTSUPP,
			    "the card has no extension block, it receives and sends everything",
			    RFM_A_CARD_BASE_POLICY);
	ask_for(0);
	attr_put(MODERATION_COUNT, (uint32_t)1);
	check_refused_whole(PLAIN, EOPNOTSUPP,
			    "the card has no event ring, there is nothing to moderate",
			    RFM_A_CARD_MODERATION_COUNT);
}

/* The base does not keep the window where it is. */
static void windows_move(void)
{
	uint64_t size = cards[NARROW].info.window_size;
	struct rfm_config config = {};

	ask_of(RFM_CMD_CARD_SET, NARROW);
	attr_put(WINDOW_OFFSET, 3 * size);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_TAKEN();
	CHECK_EQ(setting(NARROW, RFM_A_CARD_WINDOW_OFFSET), 3 * size);
	REQUIRE(!ioctl(cards[NARROW].fd, RFM_IOC_GET_CONFIG, &config));
	CHECK_EQ(config.window_offset, 3 * size);
	ask_of(RFM_CMD_CARD_SET, NARROW);
	attr_put(WINDOW_OFFSET, (uint64_t)0);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
	CHECK_EQ(setting(NARROW, RFM_A_CARD_WINDOW_OFFSET), 0);
	CHECK(see_nothing_owned(NARROW));
}

static void bad_steps_are_refused(void)
{
	uint64_t size = cards[TALKER].info.memory_size;
	const struct {
		uint64_t offset, length;
		uint32_t planes;
		int error;
		const char *sentence;
		uint16_t bad;
	} rows[] = {
		{ 0, 0, RFM_PLANES_RX, EINVAL, "the range is empty", RFM_A_RANGE_LENGTH },
		{ size, 1, RFM_PLANES_RX, EINVAL, "the range reaches past the end of the memory",
		  RFM_A_RANGE_OFFSET },
		{ UINT64_MAX, 2, RFM_PLANES_RX, EINVAL,
		  "the range reaches past the end of the memory", RFM_A_RANGE_OFFSET },
		{ 64, size, RFM_PLANES_TX, EINVAL, "the range reaches past the end of the memory",
		  RFM_A_RANGE_OFFSET },
		{ 0, 64, 0, EINVAL, "the base has masks for rx, tx, owned, read, write and home only",
		  RFM_A_RANGE_PLANES },
		{ 0, 64, RFM_PLANES_WATCH, EINVAL,
		  "the base has masks for rx, tx, owned, read, write and home only",
		  RFM_A_RANGE_PLANES },
	};
	unsigned int i;
	size_t nest;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_for(0);
		/* A good one before it is not done either. */
		put_step(0x1000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
		put_step(rows[i].offset, rows[i].length, rows[i].planes, RFM_ACTION_ADD);
		check_refused_whole(TALKER, rows[i].error, rows[i].sentence, rows[i].bad);
	}
	ask_of(RFM_CMD_CARD_SET, TALKER);
	nest = genl_nest(&request, RFM_A_CARD_BASE);
	genl_put_u64(&request, RFM_A_RANGE_OFFSET, 0);
	genl_put_u64(&request, RFM_A_RANGE_LENGTH, 64);
	genl_put_u32(&request, RFM_A_RANGE_PLANES, RFM_PLANES_RX);
	genl_nest_end(&request, nest);
	CHECK_REFUSED(EINVAL,
		      "a change of the base masks takes offset, length, planes and action",
		      RFM_A_CARD_BASE);
	CHECK_EQ(outcome.missing, RFM_A_RANGE_ACTION);
	ask_of(RFM_CMD_CARD_SET, PLAIN);
	put_step(0, 64, RFM_PLANES_RX, RFM_ACTION_ADD);
	CHECK_REFUSED(EOPNOTSUPP,
		      "the card has no extension block, it receives and sends everything",
		      RFM_A_RANGE_PLANES);
}

static void numbers_are_set(void)
{
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(DMA_READ_THRESHOLD, (uint32_t)12345);
	attr_put(DMA_WRITE_THRESHOLD, (uint32_t)0);
	attr_put(MODERATION_COUNT, (uint32_t)8);
	attr_put(MODERATION_TIME, (uint32_t)100000);
	CHECK_TAKEN();
	CHECK_EQ(setting(HEARER, RFM_A_CARD_DMA_READ_THRESHOLD), 12345);
	CHECK_EQ(answer_number(RFM_A_CARD_DMA_WRITE_THRESHOLD), 0);
	CHECK_EQ(answer_number(RFM_A_CARD_MODERATION_COUNT), 8);
	CHECK_EQ(answer_number(RFM_A_CARD_MODERATION_TIME), 100000);
	/* Another card has its own. */
	CHECK_EQ(setting(TALKER, RFM_A_CARD_DMA_READ_THRESHOLD), 16384);
	CHECK_EQ(answer_number(RFM_A_CARD_MODERATION_COUNT), 1);
	CHECK_EQ(answer_number(RFM_A_CARD_MODERATION_TIME), 50000);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(DMA_READ_THRESHOLD, (uint32_t)16384);
	attr_put(DMA_WRITE_THRESHOLD, (uint32_t)2048);
	attr_put(MODERATION_COUNT, (uint32_t)1);
	attr_put(MODERATION_TIME, (uint32_t)50000);
	CHECK_TAKEN();
}

/* --- rights ---------------------------------------------------------------- */

#define NEEDS_ANY	"needs a descriptor of the card, or CAP_NET_ADMIN"
#define NEEDS_READ	"needs a descriptor of the card that is open for reading, or CAP_NET_ADMIN"
#define NEEDS_WRITE	"needs a descriptor of the card that is open for writing, or CAP_NET_ADMIN"

static int read_only, write_only;
static uint8_t led;	/* other than it is */

/* All that netlink does for somebody, in the order of the rights that it takes. */
static const struct {
	uint8_t cmd;
	const char *needs;
} functions[] = {
	{ RFM_CMD_CARD_GET, NEEDS_ANY },
	{ RFM_CMD_CARD_SET, NEEDS_WRITE },
	{ RFM_CMD_COUNTERS_RESET, NEEDS_WRITE },
};

static const struct {
	uint8_t cmd;
	const char *needs;
} dumps[] = {
	{ RFM_CMD_CARD_GET, NEEDS_ANY },
	{ RFM_CMD_DESCRIPTOR_GET, NEEDS_READ },
};

static void function_with(unsigned int i, int fd)
{
	ask_of(functions[i].cmd, HEARER);
	if (fd >= 0)
		put_fd(fd);
	if (functions[i].cmd == RFM_CMD_CARD_SET)
		genl_put(&request, RFM_A_CARD_LED, &led, 1);
}

/* What a device node refuses whose mode is 0600, netlink refuses as well. */
static void nobody_without_a_descriptor(void)
{
	unsigned int i;
	int fd = genl_open();

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		function_with(i, -1);
		CHECK_REFUSED(EPERM, functions[i].needs, 0);
	}
	for (i = 0; i < ARRAY_SIZE(dumps); i++) {
		ask_for(dumps[i].cmd);
		CHECK_EQ(ask_all(NULL), EPERM);
		CHECK(!strcmp(outcome.sentence, dumps[i].needs));
	}
	CHECK_ERRNO(setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &monitor_group,
			       sizeof(monitor_group)), EPERM);
	close(fd);
}

/* It is good for what it is open for, and for its own card. */
static void nobody_with_a_descriptor(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(functions); i++) {
		function_with(i, read_only);
		if (strcmp(functions[i].needs, NEEDS_WRITE))
			CHECK_TAKEN();
		else
			CHECK_REFUSED(EPERM, NEEDS_WRITE, 0);
		function_with(i, write_only);
		CHECK_TAKEN();
		function_with(i, cards[HEARER].fd);
		CHECK_TAKEN();
	}
	for (i = 0; i < ARRAY_SIZE(dumps); i++) {
		dumped = dumped_ids = 0;
		ask_for(dumps[i].cmd);
		put_fd(read_only);
		CHECK_EQ(ask_all(dumped_card), 0);
		CHECK(dumped >= 1);
		CHECK_EQ(dumped_ids, 1u << cards[HEARER].id);
		ask_for(dumps[i].cmd);
		put_fd(write_only);
		if (!strcmp(dumps[i].needs, NEEDS_READ)) {
			CHECK_EQ(ask_all(NULL), EPERM);
			CHECK(!strcmp(outcome.sentence, NEEDS_READ));
		} else {
			CHECK_EQ(ask_all(dumped_card), 0);
		}
	}
}

/* Settings that reach no other node take no more than those that do. */
static void nobody_sets_everything(void)
{
	static const struct {
		uint16_t attr;
		uint32_t value;
	} rows[] = {
		{ RFM_A_CARD_DMA_READ_THRESHOLD, 16384 }, { RFM_A_CARD_DMA_WRITE_THRESHOLD, 2048 },
		{ RFM_A_CARD_MODERATION_COUNT, 1 }, { RFM_A_CARD_MODERATION_TIME, 50000 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		ask_of(RFM_CMD_CARD_SET, HEARER);
		put_fd(write_only);
		genl_put(&request, rows[i].attr, &rows[i].value, 4);
		CHECK_TAKEN();
	}
	for (i = RFM_ACTION_ADD + 1; i--;) {
		ask_of(RFM_CMD_CARD_SET, HEARER);
		put_fd(write_only);
		put_step(0, 64, RFM_PLANES_OWNED, i);
		CHECK_TAKEN();
	}
}

static void rights_are_those_of_the_descriptor(void)
{
	read_only = open(cards[HEARER].path, O_RDONLY);
	write_only = open(cards[HEARER].path, O_WRONLY);
	REQUIRE(read_only >= 0 && write_only >= 0);
	led = !setting(HEARER, RFM_A_CARD_LED);
	as_nobody(nobody_without_a_descriptor);
	CHECK_EQ(setting(HEARER, RFM_A_CARD_LED), !led);
	as_nobody(nobody_with_a_descriptor);
	CHECK_EQ(setting(HEARER, RFM_A_CARD_LED), led);
	as_nobody(nobody_sets_everything);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(LED, (uint8_t)!led);
	CHECK_TAKEN();
	close(read_only);
	close(write_only);
}

/* The file rights bind root too, who could have opened it otherwise. */
static void ioctls_have_the_same_rights(void)
{
	struct rfm_config config = { .mask = RFM_CONFIG_LED };
	int reader = open(cards[HEARER].path, O_RDONLY);
	int writer = open(cards[HEARER].path, O_WRONLY);
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_INT1) };

	REQUIRE(reader >= 0 && writer >= 0);
	CHECK_ERRNO(ioctl(reader, RFM_IOC_SET_CONFIG, &config), EBADF);
	CHECK_ERRNO(ioctl(writer, RFM_IOC_LISTEN, &listen), EBADF);
	CHECK_EQ(ioctl(writer, RFM_IOC_SET_CONFIG, &config), 0);
	close(reader);
	close(writer);
}

static void only_in_the_first_network_namespace(void)
{
	int status, fd;
	uint16_t number;
	uint32_t group;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(77);
		fd = genl_open();
		if (fd < 0 || genl_family(fd, RFM_FAMILY_NAME, RFM_MCGRP_MONITOR, &number, &group))
			_exit(1);
		/* Not by its number either. */
		ask_of(RFM_CMD_CARD_GET, HEARER);
		_exit(ask_by(fd, NULL) != ENOENT);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		tap_skip("this kernel has no network namespaces");
	else
		CHECK_EQ(status, 0);
}

/* --- counters ----------------------------------------------------- */

/* Masks and counters, which a message of the card does not have, tell of a change this way. */
static void generations_are_told(void)
{
	uint64_t generation = setting(TALKER, RFM_A_CARD_GENERATION);
	uint64_t reset = answer_number(RFM_A_CARD_RESET_GENERATION);
	uint64_t ranges = answer_number(RFM_A_CARD_BASE_RANGES);

	ask_of(RFM_CMD_CARD_SET, TALKER);
	put_step(0x1000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_TAKEN();
	ask_of(RFM_CMD_CARD_SET, TALKER);
	put_step(0x1000, 64, RFM_PLANES_OWNED, RFM_ACTION_REMOVE);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	CHECK_TAKEN();
	CHECK_EQ(setting(TALKER, RFM_A_CARD_BASE_RANGES), ranges + 1);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_GENERATION), generation + 2);
	set_u8(TALKER, RFM_A_CARD_LED, setting(TALKER, RFM_A_CARD_LED));
	CHECK_EQ(setting(TALKER, RFM_A_CARD_GENERATION), generation + 3);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_GENERATION), generation + 2);
	CHECK_EQ(answer_number(RFM_A_CARD_RESET_GENERATION), reset);
	ask_of(RFM_CMD_COUNTERS_RESET, TALKER);
	CHECK_TAKEN();
	CHECK_EQ(setting(TALKER, RFM_A_CARD_RESET_GENERATION), generation + 4);
	CHECK_EQ(answer_number(RFM_A_CARD_BASE_GENERATION), generation + 2);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	put_step(0x2000, 64, RFM_PLANES_OWNED, RFM_ACTION_REMOVE);
	CHECK_TAKEN();
}

/* What was read and is to be replaced is still so, or nothing is done. */
static void changes_are_of_a_generation(void)
{
	uint64_t generation = setting(TALKER, RFM_A_CARD_GENERATION);

	ask_of(RFM_CMD_CARD_SET, TALKER);
	attr_put(GENERATION, generation);
	CHECK_REFUSED(EINVAL, "the request sets nothing", 0);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	attr_put(LED, (uint8_t)1);
	attr_put(GENERATION, generation);
	CHECK_TAKEN();
	ask_for(0);
	attr_put(GENERATION, generation);
	check_refused_whole(TALKER, EAGAIN, "the card has been changed meanwhile",
			    RFM_A_CARD_GENERATION);
	ask_for(0);
	put_step(0x1000, 64, RFM_PLANES_OWNED, RFM_ACTION_ADD);
	attr_put(GENERATION, generation + 2);
	check_refused_whole(TALKER, EAGAIN, "the card has been changed meanwhile",
			    RFM_A_CARD_GENERATION);
	set_u8(TALKER, RFM_A_CARD_LED, 0);
}

static struct rfm_counters counters_of(unsigned int card)
{
	struct rfm_counters counters;

	memset(&counters, 0xa5, sizeof(counters));
	CHECK_EQ(ioctl(cards[card].fd, RFM_IOC_COUNTERS, &counters), 0);
	return counters;
}

/* What the driver has counted, since the reset or since it was bound. */
static uint64_t driver_count(unsigned int card, bool absolute, uint16_t attr)
{
	ask_of(RFM_CMD_CARD_GET, card);
	if (absolute)
		genl_put(&request, RFM_A_CARD_ABSOLUTE, NULL, 0);
	CHECK_TAKEN();
	return genl_number(nest_attr(answer_attr(RFM_A_CARD_DRIVER), attr));
}

static void counters_are_counted_from_the_reset(void)
{
	static const enum rfm_counter levels[] = { RFM_COUNTER_TURN_NS, RFM_COUNTER_EPOCH,
		RFM_COUNTER_WINDOW_PEAK };
	volatile uint64_t *memory = card_map(cards[TALKER].fd, 4096);
	uint64_t before, interrupts;
	struct rfm_counters now;
	unsigned int i;

	REQUIRE(memory);
	memory[0] = 1;
	before = counters_of(TALKER).value[RFM_COUNTER_STORES];
	CHECK(before > 0);
	await_light(TALKER);
	interrupts = driver_count(TALKER, true, RFM_A_DRIVER_INTERRUPTS);
	CHECK(interrupts > 0);
	ask_of(RFM_CMD_COUNTERS_RESET, TALKER);
	CHECK_TAKEN();
	CHECK(driver_count(TALKER, false, RFM_A_DRIVER_INTERRUPTS) < interrupts);
	CHECK(driver_count(TALKER, true, RFM_A_DRIVER_INTERRUPTS) >= interrupts);
	now = counters_of(TALKER);
	CHECK(now.reset_ns > 0);
	CHECK(now.clock_ns > now.reset_ns);
	/* The card itself counts on. */
	CHECK(now.reset[RFM_COUNTER_STORES] >= before);
	CHECK(now.value[RFM_COUNTER_STORES] >= now.reset[RFM_COUNTER_STORES]);
	/* How long a turn takes is no count. A ring that stood still has to turn first. */
	while (!counters_of(TALKER).value[RFM_COUNTER_TURN_NS])
		sleep_ms(1);
	for (i = 0; i < ARRAY_SIZE(levels); i++)
		CHECK_EQ(now.reset[levels[i]], 0);
	before = now.value[RFM_COUNTER_STORES];
	for (i = 0; i < 100; i++)
		memory[i] = i;
	CHECK_EQ(counters_of(TALKER).value[RFM_COUNTER_STORES], before + 100);
	CHECK_EQ(counters_of(TALKER).reset[RFM_COUNTER_STORES], now.reset[RFM_COUNTER_STORES]);
	munmap((void *)memory, 4096);

	/* A card without counters has what the driver counts. */
	ask_of(RFM_CMD_COUNTERS_RESET, PLAIN);
	CHECK_TAKEN();
	driver_count(PLAIN, false, RFM_A_DRIVER_INTERRUPTS);
	CHECK(answer_attr(RFM_A_CARD_DRIVER));
	CHECK_ERRNO(ioctl(cards[PLAIN].fd, RFM_IOC_COUNTERS, &now), EOPNOTSUPP);
	CHECK_ERRNO(ioctl(cards[PLAIN].fd, RFM_IOC_RING_MAP, &(struct rfm_ring_map){}),
		    EOPNOTSUPP);
}

/* A test may take ten seconds, and generic netlink would stand still for so long. */
static void a_ring_test_is_not_waited_for(void)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };
	uint64_t end;
	pid_t pid;

	set_u8(HEARER, RFM_A_CARD_TRANSMIT, 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		/* What was on its way before may come home yet, and counts. */
		while (!ioctl(cards[TALKER].fd, RFM_IOC_RING_TEST, &test))
			;
		_exit(0);
	}
	end = now_ns() + 8000000000;
	do {
		ask_of(RFM_CMD_CARD_SET, TALKER);
		attr_put(OWN_DATA, (uint8_t)0);
	} while (!ask() && now_ns() < end);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	attr_put(OWN_DATA, (uint8_t)0);
	CHECK_REFUSED(EBUSY, "a ring test is running, which waits for own-data",
		      RFM_A_CARD_OWN_DATA);
	/* Whatever else is set, is. */
	set_u8(TALKER, RFM_A_CARD_LED, 0);
	CHECK(now_ns() < end);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	set_u8(HEARER, RFM_A_CARD_TRANSMIT, 1);
	await_light(TALKER);
	ask_of(RFM_CMD_CARD_SET, TALKER);
	attr_put(OWN_DATA, (uint8_t)0);
	CHECK_TAKEN();
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(cards_are_as_ioctls_say),
		TAP_CASE(names_select_cards),
		TAP_CASE(wrong_cards_are_refused),
		TAP_CASE(dumps_have_all_cards),
		TAP_CASE(messages_are_checked_strictly),
		TAP_CASE(config_is_set),
		TAP_CASE(refused_sets_change_nothing),
		TAP_CASE(windows_move),
		TAP_CASE(bad_steps_are_refused),
		TAP_CASE(numbers_are_set),
		TAP_CASE(generations_are_told),
		TAP_CASE(changes_are_of_a_generation),
		TAP_CASE(rights_are_those_of_the_descriptor),
		TAP_CASE(ioctls_have_the_same_rights),
		TAP_CASE(only_in_the_first_network_namespace),
		TAP_CASE(counters_are_counted_from_the_reset),
		TAP_CASE(a_ring_test_is_not_waited_for),
	};

	open_cards(argc, argv);
	return leave_cards(TAP_RUN(cases));
}
