// SPDX-License-Identifier: GPL-2.0-only
/*
 * INFO, RING_TEST and the refusals of every ioctl. Wants one card.
 *
 * Every argument is filled with a pattern before a call that must fail, and
 * both the result and that nothing was changed are checked.
 */

#include <stddef.h>

#include "tap.h"
#include "card.h"

static const char *path;
static int card;		/* open for reading and writing */
static struct rfm_info info;

/* Addresses that the kernel must not follow. */
static void *bad_pointers[] = {
	NULL, (void *)8, (void *)0x7ffffffff000, (void *)-4096l,
	(void *)0xffff800000000000,
};

static void each_bad_pointer(int fd, unsigned long cmd, const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad_pointers); i++)
		if (!CHECK_ERRNO(ioctl(fd, cmd, bad_pointers[i]), EFAULT))
			tap_note("%s with %p", name, bad_pointers[i]);
}

/* The call fails as expected and leaves its argument alone. */
#define CHECK_REFUSED(fd, cmd, arg, expected) ({			\
	typeof(arg) refused_before = (arg);				\
	CHECK_ERRNO(ioctl(fd, cmd, &(arg)), expected);			\
	CHECK(!memcmp(&refused_before, &(arg), sizeof(arg))); })

static void info_is_plausible(void)
{
	unsigned int code = (info.lcsr1 & RFM_LCSR1_MEMSIZE_M) >>
			    RFM_LCSR1_MEMSIZE_SHIFT;
	unsigned int i;

	CHECK_EQ(info.board_id, 0x65);
	CHECK_EQ(info.memory_size, 64ull << 20 << code);
	CHECK(info.window_size && info.window_size <= info.memory_size);
	CHECK_EQ(info.window_size % 4096, 0);
	CHECK_EQ(info.window_offset, 0);
	CHECK_EQ(info.features & ~(uint64_t)RFM_EXT_FEATURES, 0);
	CHECK_EQ(info.pad, 0);
	CHECK_EQ(info.pad2, 0);
	CHECK(info.runtime_at < 4096 && info.control_at <= 4096 - 0x40);
	CHECK_EQ(info.watches, 0);
	CHECK(info.base_policy <= RFM_BASE_NONE);
	if (!info.features) {
		CHECK_EQ(info.base_policy, RFM_BASE_ALL);
		CHECK_EQ(info.clock_domain, 0);
		CHECK_EQ(info.events_dropped, 0);
	}
	for (i = 0; i < ARRAY_SIZE(info.reserved); i++)
		CHECK_EQ(info.reserved[i], 0);
	/* The driver has put out the red LED. */
	CHECK_EQ(info.lcsr1 & RFM_LCSR1_LED, 0);
	tap_note("%s: node %u, %llu MiB, lcsr1 %#x, lisr %#x", path, info.node,
		 info.memory_size >> 20, info.lcsr1, info.lisr);
}

static void info_names_the_pci_device(void)
{
	char link[256], target[4096], *name;
	unsigned int i, end;
	ssize_t len;

	snprintf(link, sizeof(link), "/sys/class/rfm/%s/device",
		 strrchr(path, '/') + 1);
	len = readlink(link, target, sizeof(target) - 1);
	REQUIRE(len > 0);
	target[len] = '\0';
	name = strrchr(target, '/');
	REQUIRE(name);
	if (!CHECK(!strcmp(name + 1, info.pci_name)))
		tap_note("INFO says %s, sysfs %s", info.pci_name, name + 1);

	/* Nothing of the kernel's stack behind the name. */
	end = strlen(info.pci_name);
	for (i = end; i < sizeof(info.pci_name); i++)
		CHECK_EQ(info.pci_name[i], 0);
}

/* What udev makes /dev/rfm/by-node/N of. */
static void sysfs_has_the_node_id(void)
{
	unsigned int node = ~0;
	char name[256];
	FILE *file;

	snprintf(name, sizeof(name), "/sys/class/rfm/%s/node_id",
		 strrchr(path, '/') + 1);
	file = fopen(name, "r");
	REQUIRE(file);
	CHECK_EQ(fscanf(file, "%u", &node), 1);
	CHECK_EQ(node, info.node);
	fclose(file);
}

static void info_works_read_only(void)
{
	struct rfm_info other;
	int fd = open(path, O_RDONLY);

	REQUIRE(fd >= 0);
	CHECK_EQ(card_info(fd, &other), 0);
	CHECK_EQ(other.node, info.node);
	close(fd);
}

static void info_bad_pointer(void)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	each_bad_pointer(card, RFM_IOC_INFO, "INFO");
	REQUIRE(page != MAP_FAILED);
	CHECK_ERRNO(ioctl(card, RFM_IOC_INFO, page), EFAULT);
	munmap(page, 4096);
}

static void unknown_ioctls(void)
{
	static const unsigned long cmds[] = {
		_IO(RFM_IOC_MAGIC, 0x7f),
		_IOWR(RFM_IOC_MAGIC, 0x7f, struct rfm_info),
		/* known numbers, other directions */
		_IOW(RFM_IOC_MAGIC, 0x00, struct rfm_info),
		_IOWR(RFM_IOC_MAGIC, 0x01, struct rfm_send),
		/* other people's numbers */
		0, 0x5401, _IO('T', 1), 0xffffffff,
	};
	unsigned char arg[256], before[256];
	unsigned int i;

	memset(arg, 0xa5, sizeof(arg));
	memcpy(before, arg, sizeof(arg));
	for (i = 0; i < ARRAY_SIZE(cmds); i++)
		if (!CHECK_ERRNO(ioctl(card, cmds[i], arg), ENOTTY))
			tap_note("command %#lx", cmds[i]);
	CHECK(!memcmp(arg, before, sizeof(arg)));
}

static void send_refusals(void)
{
	uint32_t peer = info.node ^ 1;
	const struct {
		struct rfm_send args;
		const char *why;
	} bad[] = {
		{ { info.node, RFM_EVENT_INT1, 1, 0 }, "to itself" },
		{ { info.node, RFM_EVENT_RESET, 0, 0 }, "reset to itself" },
		{ { 256, RFM_EVENT_INT1, 1, 0 }, "node 256" },
		{ { 0xfffe, RFM_EVENT_INT1, 1, 0 }, "node 0xfffe" },
		{ { 0x10000, RFM_EVENT_INT1, 1, 0 }, "node 0x10000" },
		{ { 0xffffffff, RFM_EVENT_INT1, 1, 0 }, "node 0xffffffff" },
		{ { peer | 0x100, RFM_EVENT_INT1, 1, 0 }, "peer + 256" },
		{ { peer, RFM_EVENT_SYNC_LOSS, 1, 0 }, "type sync loss" },
		{ { peer, RFM_EVENT_TYPES, 1, 0 }, "type past the end" },
		{ { peer, 0xffffffff, 1, 0 }, "type 0xffffffff" },
		{ { RFM_NODE_ALL, 7, 1, 0 }, "type 7 to all" },
	};
	struct rfm_send args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(card, RFM_IOC_SEND, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	each_bad_pointer(card, RFM_IOC_SEND, "SEND");
}

static void listen_refusals(void)
{
	const struct {
		struct rfm_listen args;
		const char *why;
	} bad[] = {
		{ { 0, 0, 0, 0 }, "no types" },
		{ { 1u << RFM_EVENT_TYPES, 0, 0, 0 }, "unknown type" },
		{ { 0xffffffff, 0, 0, 0 }, "all bits" },
		{ { 2, 0x10, 0, 0 }, "unknown flag" },
		{ { 2, 0x80000000, 0, 0 }, "unknown flag" },
		{ { 2, 0, RFM_LISTEN_DEPTH_MAX + 1, 0 }, "too deep" },
		{ { 2, 0, 0xffffffff, 0 }, "much too deep" },
		{ { 2, 0, 0, RFM_EVENT_SIZE_VER0 - 8 }, "records too short" },
		{ { 2, 0, 0, 8 }, "records of 8 bytes" },
		{ { 2, 0, 0, RFM_EVENT_SIZE_VER0 + 4 }, "records not of whole words" },
		{ { 2, 0, 0, 0xffffffff }, "records of 4 GiB - 1" },
	};
	int before, after;
	struct rfm_listen args;
	unsigned int i;

	before = dup(card);
	close(before);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(card, RFM_IOC_LISTEN, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	each_bad_pointer(card, RFM_IOC_LISTEN, "LISTEN");
	/* A refusal leaves no descriptor behind. */
	after = dup(card);
	close(after);
	CHECK_EQ(after, before);
}

/* What only a card with the extension block can do, each well formed. */
static void without_extension(void)
{
	static struct {
		struct rfm_subscribe subscribe;
		struct rfm_watch watch;
		struct rfm_fence_wait fence;
		struct rfm_send_set send_set;
		struct rfm_writer writer;
		struct rfm_counters counters;
		struct rfm_ring_map map;
		struct rfm_verify verify;
	} args = {
		.subscribe = { { 0, 64 }, RFM_SUBSCRIBE_RX, 0, { 0, 0 } },
		.watch = { .count = 1 },
		.fence = { .timeout_ms = 10 },
	};
	static struct rfm_range range = { 0, 64 };
	const struct {
		unsigned long cmd;
		void *arg;
	} calls[] = {
		{ RFM_IOC_SUBSCRIBE, &args.subscribe },
		{ RFM_IOC_UNSUBSCRIBE, &args.subscribe },
		{ RFM_IOC_WATCH, &args.watch },
		{ RFM_IOC_FENCE, &args.fence },
		{ RFM_IOC_SEND_SET, &args.send_set },
		{ RFM_IOC_WRITER, &args.writer },
		{ RFM_IOC_COUNTERS, &args.counters },
		{ RFM_IOC_RING_MAP, &args.map },
		{ RFM_IOC_VERIFY, &args.verify },
	};
	typeof(args) before;
	unsigned int i;

	if (info.features)
		return tap_skip("this card has the extension block");
	args.watch.ranges = (uintptr_t)&range;
	args.send_set.nodes[(info.node ^ 1) / 64] =
		1ull << (info.node ^ 1) % 64;
	args.send_set.type = RFM_EVENT_INT1;
	before = args;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!CHECK_ERRNO(ioctl(card, calls[i].cmd, calls[i].arg),
				 EOPNOTSUPP))
			tap_note("command %#lx", calls[i].cmd);
		/* A program may ask with nothing, too. */
		CHECK_ERRNO(ioctl(card, calls[i].cmd, NULL), EOPNOTSUPP);
	}
	CHECK(!memcmp(&before, &args, sizeof(args)));
	for (i = RFM_EVENT_CONFLICT; i < RFM_EVENT_DROPPED; i++) {
		struct rfm_listen listen = { RFM_EVENT_BIT(i), 0, 0, 0 };

		CHECK_REFUSED(card, RFM_IOC_LISTEN, listen, EOPNOTSUPP);
	}
}

static void ring_test_refusals(void)
{
	const struct {
		struct rfm_ring_test args;
		const char *why;
	} bad[] = {
		{ { 10001, 0, 0 }, "timeout 10001 ms" },
		{ { 0xffffffff, 0, 0 }, "timeout for ever" },
	};
	struct rfm_ring_test args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(card, RFM_IOC_RING_TEST, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	each_bad_pointer(card, RFM_IOC_RING_TEST, "RING_TEST");
}

#define GOOD(name, type, last, ...)					\
	{ #name, RFM_IOC_##name, sizeof(struct rfm_##type),		\
	  offsetof(struct rfm_##type, last) +				\
	  sizeof(((struct rfm_##type *)NULL)->last),			\
	  &(struct rfm_##type){ __VA_ARGS__ } }

/*
 * What is not an input yet can become one: each byte behind the inputs must be 0.
 * Calls that are good, each with the last of its inputs.
 */
static void what_comes_out_goes_in_as_0(void)
{
	struct rfm_range range = { 0, 64 };
	const struct {
		const char *name;
		unsigned long cmd;
		size_t size, inputs;
		const void *args;
	} calls[] = {
		GOOD(SEND, send, data, .node = RFM_NODE_ALL, .type = RFM_EVENT_INT1),
		GOOD(LISTEN, listen, record_size, .types = RFM_EVENT_BIT(RFM_EVENT_INT1)),
		GOOD(RING_TEST, ring_test, timeout_ms, .timeout_ms = 10000),
		GOOD(SET_CONFIG, config, address_offset, .mask = 0),
		GOOD(REG, reg, value, .set = RFM_REGS_CONTROL, .width = 4),
		GOOD(SUBSCRIBE, subscribe, flags, .range = { 0, 64 },
		     .flags = RFM_SUBSCRIBE_RX),
		GOOD(UNSUBSCRIBE, subscribe, flags, .range = { 0, 64 },
		     .flags = RFM_SUBSCRIBE_RX),
		GOOD(WATCH, watch, record_size, .ranges = (uintptr_t)&range,
		     .count = 1),
		GOOD(FENCE, fence_wait, timeout_ms, .timeout_ms = 10000),
		GOOD(SEND_SET, send_set, data, .nodes = { info.node ? 1 : 2 },
		     .type = RFM_EVENT_INT1),
		GOOD(WRITER, writer, offset, .offset = 0),
		GOOD(RING_MAP, ring_map, member_size, .count = 0),
		GOOD(VERIFY, verify, timeout_ms, .length = 8, .timeout_ms = 10000),
	};
	static unsigned char args[8192], before[8192];
	size_t i, at;
	int ret;

	for (i = 0; i < (info.features ? ARRAY_SIZE(calls) : 5); i++) {
		memcpy(args, calls[i].args, calls[i].size);
		for (at = calls[i].inputs; at < calls[i].size; at++) {
			args[at] = 0x80;
			memcpy(before, args, sizeof(args));
			if (!CHECK_ERRNO(ioctl(card, calls[i].cmd, args), EINVAL) ||
			    !CHECK(!memcmp(args, before, sizeof(args)))) {
				tap_note("%s with byte %zu set", calls[i].name, at);
				break;
			}
			args[at] = 0;
		}
		memcpy(args, calls[i].args, calls[i].size);
		ret = ioctl(card, calls[i].cmd, args);
		if (!CHECK(ret >= 0))
			tap_note("%s: %s", calls[i].name, strerror(errno));
		if (ret > 0)
			close(ret);
	}
}

static void access_modes(void)
{
	struct rfm_send send = { RFM_NODE_ALL, RFM_EVENT_INT1, 0, 0 };
	struct rfm_ring_test test = { 0, 0, 0 };
	struct rfm_listen listen = { RFM_EVENT_BIT(RFM_EVENT_INT1), 0, 0, 0 };
	int reader = open(path, O_RDONLY), writer = open(path, O_WRONLY);

	REQUIRE(reader >= 0 && writer >= 0);
	CHECK_REFUSED(reader, RFM_IOC_SEND, send, EBADF);
	CHECK_REFUSED(reader, RFM_IOC_RING_TEST, test, EBADF);
	CHECK_REFUSED(writer, RFM_IOC_LISTEN, listen, EBADF);
	close(reader);
	close(writer);
}

/* Timeouts in range, default included. */
static void ring_test_passes(void)
{
	static const uint32_t timeouts[] = { 0, 500, 10000, 1000 };
	struct rfm_info after;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(timeouts); i++) {
		struct rfm_ring_test test = { timeouts[i], 0, 0 };
		uint64_t start = now_ns(), took;
		unsigned int tries = 20;

		/* Too little time is what a busy host has now and then. */
		while (ioctl(card, RFM_IOC_RING_TEST, &test) && errno == ETIMEDOUT && --tries)
			test = (struct rfm_ring_test){ timeouts[i], 0, 0 };
		if (!CHECK(test.round_trip_ns)) {
			tap_note("errno: %s", strerror(errno));
			continue;
		}
		took = now_ns() - start;
		CHECK(test.round_trip_ns <= took);
		tap_note("round trip %llu us", test.round_trip_ns / 1000);
	}
	CHECK_EQ(card_info(card, &after), 0);
	CHECK(after.lcsr1 & RFM_LCSR1_OWN_DATA);
}

/* OWN DATA is the only bit of LCSR1 that a ring test moves. */
static void ring_test_keeps_lcsr1(void)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };
	struct rfm_info before, after;
	const uint32_t live = RFM_LCSR1_OWN_DATA | RFM_LCSR1_TX_EMPTY |
			      RFM_LCSR1_TX_ALMOST_FULL;

	REQUIRE(card_info(card, &before) == 0);
	REQUIRE(ioctl(card, RFM_IOC_RING_TEST, &test) == 0);
	REQUIRE(card_info(card, &after) == 0);
	CHECK_EQ(after.lcsr1 & ~live, before.lcsr1 & ~live);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(info_is_plausible),
		TAP_CASE(info_names_the_pci_device),
		TAP_CASE(sysfs_has_the_node_id),
		TAP_CASE(info_works_read_only),
		TAP_CASE(info_bad_pointer),
		TAP_CASE(unknown_ioctls),
		TAP_CASE(send_refusals),
		TAP_CASE(listen_refusals),
		TAP_CASE(without_extension),
		TAP_CASE(ring_test_refusals),
		TAP_CASE(what_comes_out_goes_in_as_0),
		TAP_CASE(access_modes),
		TAP_CASE(ring_test_passes),
		TAP_CASE(ring_test_keeps_lcsr1),
	};

	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = open(path, O_RDWR);
	if (card < 0 || card_info(card, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}
