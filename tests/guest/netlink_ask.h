/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to the netlink family, and what comes of them: errno, the sentence,
 * and the attribute that was wrong. Wants two cards on one ring, one without the
 * extension block and one with a narrow window, all in this machine.
 */
#ifndef NETLINK_ASK_H
#define NETLINK_ASK_H

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <linux/rfm_netlink.h>

#include "tap.h"
#include "card.h"
#include "genl.h"

#define TALKER	0
#define HEARER	1
#define PLAIN	2	/* no extension block */
#define NARROW	3	/* a window smaller than the memory */
#define CARDS	4

static struct {
	const char *path;
	const char *name;
	uint32_t id;
	int fd;
	struct rfm_info info;
} cards[CARDS];

static int asking = -1;		/* the socket for requests */
static uint16_t family;
static uint32_t monitor_group;

static struct genl request;	/* the one that is being made, or was sent last */
static struct genl answer;	/* the last datagram that came back */

/* What came of the request before. */
static struct {
	int error;
	char sentence[256];
	uint16_t bad;		/* type of the attribute that was wrong, 0: none */
	uint16_t missing;	/* type of the one that was missing */
	bool replied;		/* @answer begins with a reply */
} outcome;

#define attr_put(type, value)	_Generic((value),			\
	uint8_t: genl_put_u8, uint64_t: genl_put_u64,			\
	default: genl_put_u32)(&request, RFM_A_CARD_##type, value)

static void ask_for(uint8_t cmd)
{
	genl_begin(&request, family, NLM_F_REQUEST | NLM_F_ACK, cmd);
}

/* A request about a card, by its number. */
static void ask_of(uint8_t cmd, unsigned int card)
{
	ask_for(cmd);
	genl_put_u32(&request, RFM_A_CARD_ID, cards[card].id);
}

__attribute__((unused))
static void put_string(uint16_t type, const char *text)
{
	genl_put(&request, type, text, strlen(text) + 1);
}

__attribute__((unused))
static void put_fd(int fd)
{
	genl_put_u32(&request, RFM_A_CARD_FD, fd);
}

/* A change of a base mask. */
__attribute__((unused))
static void put_step(uint64_t offset, uint64_t length, uint32_t planes, uint32_t action)
{
	size_t nest = genl_nest(&request, RFM_A_CARD_BASE);

	genl_put_u64(&request, RFM_A_RANGE_OFFSET, offset);
	genl_put_u64(&request, RFM_A_RANGE_LENGTH, length);
	genl_put_u32(&request, RFM_A_RANGE_PLANES, planes);
	genl_put_u32(&request, RFM_A_RANGE_ACTION, action);
	genl_nest_end(&request, nest);
}

/* What the acknowledgement says of the message that it is for. */
static void outcome_read_attrs(const struct nlmsghdr *head)
{
	const uint8_t *at = (const uint8_t *)head + NLMSG_HDRLEN;
	const struct nlmsgerr *error = (const void *)at;
	const uint8_t *end = (const uint8_t *)head + head->nlmsg_len;
	const struct nlattr *offset, *missing;

	at += sizeof(*error);
	if (!(head->nlmsg_flags & NLM_F_CAPPED))
		at += NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
	offset = genl_find(at, end, NLMSGERR_ATTR_OFFS);
	if (offset && genl_number(offset) < request.len)
		outcome.bad = genl_type((const void *)(request.bytes + genl_number(offset)));
	missing = genl_find(at, end, NLMSGERR_ATTR_MISS_TYPE);
	outcome.missing = genl_number(missing);
}

static void outcome_read(const struct nlmsghdr *head)
{
	const int *error = (const void *)((const uint8_t *)head + NLMSG_HDRLEN);
	const char *sentence = genl_sentence(head);

	outcome.error = -*error;
	if (sentence)
		snprintf(outcome.sentence, sizeof(outcome.sentence), "%s", sentence);
	if (head->nlmsg_type == NLMSG_ERROR && head->nlmsg_flags & NLM_F_ACK_TLVS)
		outcome_read_attrs(head);
}

/*
 * Sends the request by a socket and waits for its end; @each gets the answers.
 * Returns the errno.
 */
static int ask_by(int fd, void (*each)(const struct nlmsghdr *head))
{
	static struct genl end;
	const struct nlmsghdr *head;
	size_t at;

	memset(&outcome, 0, sizeof(outcome));
	answer.len = 0;
	if (!genl_send(fd, &request))
		return outcome.error = errno;
	for (;;) {
		if (genl_recv(fd, &end, GENL_MAX, 0) < 0)
			return outcome.error = errno;
		for (at = 0; (head = genl_message(&end, &at));) {
			if (head->nlmsg_type == NLMSG_ERROR || head->nlmsg_type == NLMSG_DONE) {
				outcome_read(head);
				return outcome.error;
			}
			if (each)
				each(head);
			memcpy(answer.bytes, head, head->nlmsg_len);
			answer.len = head->nlmsg_len;
			outcome.replied = true;
		}
	}
}

static int ask(void)
{
	return ask_by(asking, NULL);
}

/* As ask(), for a dump. */
__attribute__((unused))
static int ask_all(void (*each)(const struct nlmsghdr *head))
{
	genl_head(&request)->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	return ask_by(asking, each);
}

static const struct nlattr *message_attr(const struct nlmsghdr *head, uint16_t type)
{
	const uint8_t *begin = (const uint8_t *)head;

	return genl_find(begin + GENL_ATTRS, begin + head->nlmsg_len, type);
}

/* An attribute of the last answer. */
static const struct nlattr *answer_attr(uint16_t type)
{
	return outcome.replied ? message_attr(genl_head(&answer), type) : NULL;
}

static uint64_t answer_number(uint16_t type)
{
	return genl_number(answer_attr(type));
}

/* An attribute that is that text. */
__attribute__((unused))
static bool is_text(const struct nlattr *attr, const char *text)
{
	size_t len = strlen(text) + 1;

	return attr && genl_len(attr) == len && !memcmp(genl_data(attr), text, len);
}

static const struct nlattr *nest_attr(const struct nlattr *nest, uint16_t type)
{
	return nest ? genl_find(genl_data(nest), genl_data(nest) + genl_len(nest), type) : NULL;
}

/* The request is refused, with that sentence, for that attribute (0: none). */
#define CHECK_REFUSED(number, words, attr) ({				\
	ask();								\
	CHECK_EQ(outcome.error, number);				\
	if (!CHECK(!strcmp(outcome.sentence, words)))			\
		tap_note("it says '%s'", outcome.sentence);		\
	CHECK_EQ(outcome.bad, attr); })

#define CHECK_TAKEN() ({						\
	ask();								\
	if (!CHECK_EQ(outcome.error, 0))				\
		tap_note("it says '%s'", outcome.sentence); })

/* Until a packet of the card comes home: after a break it takes a moment. */
__attribute__((unused))
static void await_light(unsigned int card)
{
	struct rfm_ring_test test;
	int ret;

	do {
		test = (struct rfm_ring_test){ .timeout_ms = 10 };
		ret = ioctl(cards[card].fd, RFM_IOC_RING_TEST, &test);
	} while (ret && errno == ETIMEDOUT);
	CHECK_EQ(ret, 0);
}

static void card_get(unsigned int card)
{
	ask_of(RFM_CMD_CARD_GET, card);
	CHECK_TAKEN();
}

/* One setting of a card, as it is now. */
static uint64_t setting(unsigned int card, uint16_t attr)
{
	card_get(card);
	return answer_number(attr);
}

static struct {
	uint32_t id, kind, pid, planes;
	unsigned int messages, ranges, matches;
	uint64_t next;		/* ranges come in order */
	char comm[16];
	struct rfm_range first;
	uint64_t number[RFM_A_DESCRIPTOR_MAX + 1];	/* by attribute, 0: it has none */
} seen;

/* Collects what is told of the descriptor seen.id, or of the newest of seen.kind. */
__attribute__((unused))
static void see_descriptor(const struct nlmsghdr *head)
{
	const struct nlattr *nest = message_attr(head, RFM_A_CARD_DESCRIPTOR), *attr;
	const uint8_t *at = genl_data(nest), *end = at + genl_len(nest);
	uint32_t id = genl_number(nest_attr(nest, RFM_A_DESCRIPTOR_ID));
	uint32_t kind = genl_number(nest_attr(nest, RFM_A_DESCRIPTOR_KIND));
	uint16_t type;

	if (kind != seen.kind || id < seen.id)
		return;
	if (id > seen.id)
		seen.ranges = seen.messages = seen.planes = seen.next = 0;
	seen.id = id;
	seen.messages++;
	seen.pid = genl_number(nest_attr(nest, RFM_A_DESCRIPTOR_PID));
	for (type = 0; type <= RFM_A_DESCRIPTOR_MAX; type++) {
		bool number = type != RFM_A_DESCRIPTOR_COMM && type != RFM_A_DESCRIPTOR_RANGE;

		attr = number ? nest_attr(nest, type) : NULL;
		seen.number[type] = attr ? genl_number(attr) : 0;
	}
	if ((attr = nest_attr(nest, RFM_A_DESCRIPTOR_COMM)))
		snprintf(seen.comm, sizeof(seen.comm), "%s", (const char *)genl_data(attr));
	while ((attr = genl_next(&at, end))) {
		uint64_t offset = genl_number(nest_attr(attr, RFM_A_RANGE_OFFSET));

		if (genl_type(attr) != RFM_A_DESCRIPTOR_RANGE)
			continue;
		if (!seen.ranges++)
			seen.first = (struct rfm_range){
				offset, genl_number(nest_attr(attr, RFM_A_RANGE_LENGTH)) };
		CHECK(offset >= seen.next);
		seen.next = offset;
		seen.planes |= genl_number(nest_attr(attr, RFM_A_RANGE_PLANES));
	}
}

__attribute__((unused))
static bool see(unsigned int card, uint32_t kind)
{
	memset(&seen, 0, sizeof(seen));
	seen.kind = kind;
	ask_of(RFM_CMD_DESCRIPTOR_GET, card);
	CHECK_EQ(ask_all(see_descriptor), 0);
	return seen.messages;
}

__attribute__((unused))
static bool see_nothing_owned(unsigned int card)
{
	see(card, RFM_DESCRIPTOR_KIND_BASE);
	return !(seen.planes & RFM_PLANES_OWNED);
}

/* Runs it as somebody without any right but those of open descriptors. */
__attribute__((unused))
static void as_nobody(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		tap_failed = false;
		if (setgid(65534) || setuid(65534))
			_exit(2);
		close(asking);
		asking = genl_open();
		run();
		fflush(stdout);
		_exit(tap_failed);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

/* A socket that hears the monitor from now on. */
__attribute__((unused))
static int monitor_open(void)
{
	int fd = genl_open();

	if (fd >= 0 && setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &monitor_group,
				  sizeof(monitor_group))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void open_family(void)
{
	asking = genl_open();
	if (asking < 0 || !genl_family(asking, RFM_FAMILY_NAME, RFM_MCGRP_MONITOR, &family,
				       &monitor_group)) {
		tap_note("there is no netlink family: %s", strerror(errno));
		exit(TAP_FAIL);
	}
}

static void open_cards(int argc, char **argv)
{
	unsigned int i;

	for (i = 0; i < CARDS; i++) {
		const char *path = card_path(argc, argv, i);

		if (!path)
			tap_skip_all("wants two cards on one ring, a plain and a narrow one");
		cards[i].path = path;
		cards[i].name = strrchr(path, '/') + 1;
		cards[i].id = atoi(cards[i].name + 3);
		cards[i].fd = open(path, O_RDWR | O_CLOEXEC);
		if (cards[i].fd < 0 || card_info(cards[i].fd, &cards[i].info)) {
			tap_note("%s: %s", path, strerror(errno));
			exit(TAP_FAIL);
		}
	}
	open_family();
}

/* What was lost while it was dark is not for the fences of whoever comes next. */
static int leave_cards(int status)
{
	unsigned int i;

	for (i = 0; i < CARDS; i++) {
		struct rfm_fence_wait fence = { .timeout_ms = 10000 };

		if (cards[i].info.features && ioctl(cards[i].fd, RFM_IOC_FENCE, &fence))
			tap_note("%s: fence: %s", cards[i].name, strerror(errno));
	}
	return status;
}

#endif /* NETLINK_ASK_H */
