// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family, with messages right and wrong: all of every command, from
 * the specification and damaged in every way that netlink_mutate.h knows, by
 * callers with rights and without, dumps left half-way.
 *
 * What must hold is in netlink_check.h; it takes all cards that there are, the
 * first with the extension block. All random numbers of a message come
 * from the seed and the message's number, so -s SEED does the same again, and
 * -f FIRST begins later.
 */

#define TAP_CASE_SECONDS	120	/* for STEP messages */

#include <limits.h>

#include "netlink_check.h"
#include "netlink_policy.h"
#include "kernel_log.h"

#define STEP		100
#define HOLDERS		64	/* watches, listeners and files that come and go */

static struct {
	uint64_t seed;
	unsigned int count, first;
} plan = { 0, 50000, 0 };

/* --- what there is to dump ------------------------------------------------ */

static int holders[HOLDERS];
static char paths[CARDS][64];

static int any_watch(int card)
{
	struct rfm_range ranges[8];
	struct rfm_watch args = { .ranges = (uintptr_t)ranges, .count = 1 + below(8),
				  .flags = RFM_WATCH_NONBLOCK, .depth = 16 };
	unsigned int i;

	for (i = 0; i < args.count; i++)
		ranges[i] = (struct rfm_range){ (i * 64 + below(32)) * 4096ull, 1 + below(4096) };
	return ioctl(card, RFM_IOC_WATCH, &args);
}

static int any_listener(int card)
{
	struct rfm_listen args = { .types = RFM_EVENT_BIT(below(5)), .depth = 16 };

	return ioctl(card, RFM_IOC_LISTEN, &args);
}

/* A file with ranges that do not touch; many of them fill a message. */
static int any_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned int i, count = chance(1, 16) ? 600 : below(20);
	struct rfm_subscribe args = { .flags = RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX };

	for (i = 0; fd >= 0 && i < count; i++) {
		args.range = (struct rfm_range){ i * 8192ull, 64 };
		args.result = 0;
		if (ioctl(fd, RFM_IOC_SUBSCRIBE, &args))
			break;
	}
	return fd;
}

/* Somebody comes, or goes. */
static void turnover(void)
{
	int *holder = &holders[below(HOLDERS)];

	if (*holder >= 0) {
		close(*holder);
		*holder = -1;
		return;
	}
	switch (below(3)) {
	case 0: *holder = any_watch(world.card[0].rw); break;
	case 1: *holder = any_listener(world.card[0].rw); break;
	default: *holder = any_file(paths[0]); break;
	}
}

/* --- sending --------------------------------------------------------------- */

static struct genl datagram, message;

/* Some messages behind each other, mostly one. */
static void make_datagram(void)
{
	unsigned int count = chance(7, 8) ? 1 : 1 + below(5);

	datagram.len = 0;
	while (count--) {
		make_message(&message, chance(1, 4) ? spec_op(RFM_CMD_CARD_SET, SPEC_DO) :
					       &spec_ops[below(world.requests)]);
		damage(&message);
		if (NLMSG_ALIGN(datagram.len) + message.len > GENL_MAX / 2)
			return;
		memset(datagram.bytes + datagram.len, 0, NLMSG_ALIGN(datagram.len) - datagram.len);
		datagram.len = NLMSG_ALIGN(datagram.len);
		memcpy(datagram.bytes + datagram.len, message.bytes, message.len);
		datagram.len += message.len;
	}
}

/* A dump may be left for later, or for ever; true if it is. */
static bool read_answers(struct talker *talker)
{
	unsigned int max = may_leave(talker) && chance(1, 4) ? below(3) : UINT_MAX;

	while (max && take_answer(talker))
		max--;
	return !max;
}

/* Without rights, its sender may be nobody. */
static void send_as(struct talker *talker, bool root)
{
	if (!root && seteuid(65534))
		complain("seteuid");
	if (send(talker->fd, datagram.bytes, datagram.len, 0) < 0 &&
	    (datagram.len || errno != ENODATA))
		complain("send: %s", strerror(errno));
	if (!root && seteuid(0))
		complain("seteuid");
}

static void clean_up(void)
{
	unsigned int i;

	for (i = 0; i < world.cards; i++)
		if (world.card[i].dirty)
			make_sane(&world.talkers[TALKERS - 1], i);
}

static void one(void)
{
	struct talker *talker = &world.talkers[below(TALKERS)];
	bool root = chance(3, 4), left;

	if (chance(1, 32))
		turnover();
	make_datagram();
	expect_answers(talker, &datagram, talker->root && root);
	send_as(talker, root);
	left = read_answers(talker);
	judge(talker, left);
	check_states(talker, chance(1, 16));
	hear_monitor();
	if (left && chance(1, 2))
		talker_renew(talker);
	if (chance(1, 4))
		clean_up();
}

/* --- memory ---------------------------------------------------------------- */

/* Bytes that the kernel has taken for itself, in small pieces and mapped ones. */
static uint64_t kernel_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kilobytes, sum = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SUnreclaim: %llu", &kilobytes) == 1 ||
		    sscanf(line, "VmallocUsed: %llu", &kilobytes) == 1)
			sum += kilobytes * 1024;
	if (file)
		fclose(file);
	return sum;
}

static void holders_close(void)
{
	unsigned int i;

	for (i = 0; i < HOLDERS; i++) {
		if (holders[i] >= 0)
			close(holders[i]);
		holders[i] = -1;
	}
}

static struct {
	uint64_t early, late;
	unsigned int messages;
} memory;

/* --- cases ----------------------------------------------------------------- */

static void answers_are_right(void)
{
	unsigned int number, end = plan.first + plan.count;

	for (number = plan.first; number < end && world.complaints < 10; number++) {
		if (number % STEP == 0) {
			alarm(TAP_CASE_SECONDS);
			if (number % (100 * STEP) == 0)
				tap_note("message %u", number);
		}
		if (number - plan.first == plan.count / 4) {
			holders_close();
			memory.early = kernel_memory();
		}
		world.number = number;
		dice = (plan.seed + 1) * 0x9e3779b97f4a7c15ull + number;
		any();
		one();
	}
	clean_up();
	holders_close();
	memory.late = kernel_memory();
	memory.messages = number - plan.first;
	CHECK_EQ(world.complaints, 0);
	tap_note("%llu acknowledged, %llu answered, %llu refused by policy, %llu by the driver",
		 world.acked, world.answered, world.refused_by_policy, world.refused_by_driver);
}

/* Each attribute of each operation was in a message that was taken, and in one that was not. */
static void nothing_was_left_out(void)
{
	const char *name = "", *where = "";
	unsigned long rarest = ULONG_MAX;
	const uint16_t *number;
	unsigned int i;

	if (plan.count < 20000) {
		tap_skip("too few messages");
		return;
	}
	for (i = 0; i < world.requests; i++)
		for (number = spec_ops[i].request; *number; number++) {
			if (!CHECK(world.tried[i][*number].taken > 0) ||
			    !CHECK(world.tried[i][*number].refused > 0))
				tap_note("%s: %s", spec_ops[i].name,
					 spec_ops[i].set->attrs[*number].name);
			if (world.tried[i][*number].taken >= rarest)
				continue;
			rarest = world.tried[i][*number].taken;
			name = spec_ops[i].set->attrs[*number].name;
			where = spec_ops[i].name;
		}
	tap_note("taken least often, %lu times: %s in %s", rarest, name, where);
}

static void changes_were_told(void)
{
	uint64_t changes = 0;
	unsigned int i;

	hear_monitor();
	for (i = 0; i < world.cards; i++) {
		changes += world.card[i].changes;
		CHECK_EQ(world.card[i].told, world.card[i].changes);
		tap_note("%llu changes of %s", (unsigned long long)world.card[i].changes,
			 world.selectors[i].name);
	}
	CHECK(changes > 0);
}

/* What is left of a message that was freed is none: an answer has at least 256 bytes. */
static void memory_is_given_back(void)
{
	int64_t more = memory.late - memory.early;

	if (!access("/sys/kernel/debug/kmemleak", F_OK)) {
		tap_skip("this kernel finds leaks itself");
		return;
	}
	if (memory.messages < 20000) {
		tap_skip("too few messages");
		return;
	}
	tap_note("%lld bytes more after %u messages", (long long)more, memory.messages);
	CHECK(more < 1 << 20);
}

static int kernel_log = -1;

static void kernel_is_quiet(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

static const struct tap_case cases[] = {
	TAP_CASE(policy_is_that_of_the_specification),
	TAP_CASE(answers_are_right),
	TAP_CASE(nothing_was_left_out),
	TAP_CASE(changes_were_told),
	TAP_CASE(memory_is_given_back),
	TAP_CASE(kernel_is_quiet),
};

int main(int argc, char **argv)
{
	unsigned int i;
	int option;

	plan.seed = now_ns() & 0xffffffff;
	while ((option = getopt(argc, argv, "n:s:f:")) != -1)
		switch (option) {
		case 'n': plan.count = strtoul(optarg, NULL, 0); break;
		case 's': plan.seed = strtoull(optarg, NULL, 0); break;
		case 'f': plan.first = strtoul(optarg, NULL, 0); break;
		default:
			fprintf(stderr, "usage: %s [-n MESSAGES] [-s SEED] [-f FIRST] DEVICE...\n",
				argv[0]);
			return TAP_FAIL;
		}
	kernel_log = kernel_log_open();
	for (i = 0; i < CARDS && optind + i < (unsigned int)argc; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s", argv[optind + i]);
	memset(holders, -1, sizeof(holders));
	dice = plan.seed + 1;
	if (!world_open(paths, i))
		return TAP_FAIL;
	tap_note("seed %llu: netlink_fuzz_test -s %llu -n %u does the same again",
		 (unsigned long long)plan.seed, (unsigned long long)plan.seed,
		 plan.first + plan.count);
	return TAP_RUN(cases);
}
