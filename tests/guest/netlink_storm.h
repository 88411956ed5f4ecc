/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What netlink_storm_test.c is made of: settings that come in pairs, those who
 * change them, and who hears of it.
 *
 * A change sets both of a pair, so whoever reads sees both or none. The shared
 * pair carries who made the change and the how-manyth of his it is. Whatever is
 * read of the card, generation by generation, must be what the notification of
 * that generation has said: who listens compares what all have read.
 */
#ifndef NETLINK_STORM_H
#define NETLINK_STORM_H

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>

#include "pair.h"
#include "netlink_table.h"

#define CHANGERS	4
#define AT		(1u << 20)	/* words that far writes */
#define OWNED		(2u << 20)	/* granules, one of which is owned */
#define OWNABLE		512u
#define SAMPLES		1024u
#define ATTRS		(RFM_A_CARD_MAX + 1)
#define BACKLOG		2000		/* notifications that wait at most, where none may be lost */

static struct {
	uint16_t family;
	uint32_t group;
	uint32_t near_id;
	int control;
} storm;

/* All settings of near, as somebody has read them. */
struct sample {
	uint64_t generation;
	uint64_t value[ATTRS];
};

/* Between the processes. */
static struct shared {
	volatile bool stop;
	bool throttled;			/* wait for who hears */
	uint64_t made[CHANGERS];	/* changes, acknowledged */
	uint64_t heard;			/* changes, by who listens */
	pid_t pid[CHANGERS];
	unsigned int wrong[CHANGERS];
	struct sample sample[CHANGERS + 1][SAMPLES];	/* the last is of who listens */
	uint64_t sampled[CHANGERS + 1];
} *shared;

/* --- asking ---------------------------------------------------------------- */

static void begin(struct genl *genl, uint8_t cmd, uint16_t flags)
{
	genl_begin(genl, storm.family, NLM_F_REQUEST | flags, cmd);
	genl_put_u32(genl, RFM_A_CARD_ID, storm.near_id);
}

/* Sends what is to be acknowledged; its errno, with the kernel's words. */
static int acknowledged(int fd, struct genl *genl)
{
	const struct nlmsghdr *head;
	size_t at = 0;
	int error;

	if (!genl_send(fd, genl) || genl_recv(fd, genl, GENL_MAX, 0) < 0)
		return errno;
	head = genl_message(genl, &at);
	if (!head || head->nlmsg_type != NLMSG_ERROR)
		return EPROTO;
	error = -*(const int *)(head + 1);
	if (error)
		tap_note("%s: %s", strerror(error), genl_sentence(head) ?: "no word");
	return error;
}

static uint64_t field(const struct nlmsghdr *head, uint16_t number)
{
	return genl_find_number(head, number);
}

/* What of a card does not fit together; NULL if everything does. */
static const char *torn(const struct nlmsghdr *head)
{
	if (field(head, RFM_A_CARD_DMA_READ_THRESHOLD) != field(head, RFM_A_CARD_DMA_WRITE_THRESHOLD))
		return "dma-read-threshold and dma-write-threshold";
	if (field(head, RFM_A_CARD_LED) != field(head, RFM_A_CARD_DARK_ON_DARK))
		return "led and dark-on-dark";
	if (field(head, RFM_A_CARD_MODERATION_TIME) !=
	    1000 * field(head, RFM_A_CARD_MODERATION_COUNT))
		return "moderation-count and moderation-time";
	if (field(head, RFM_A_CARD_PARITY) << 26 != field(head, RFM_A_CARD_ADDRESS_OFFSET))
		return "parity and address-offset";
	return NULL;
}

/* What a generation has of its own: every setting that can be read. */
static struct sample sample_of(const struct nlmsghdr *head)
{
	static const struct spec_op *set;
	struct sample sample = { .generation = field(head, RFM_A_CARD_GENERATION) };
	const uint8_t *at = (const uint8_t *)head + GENL_ATTRS;
	const struct nlattr *attr;

	if (!set)
		set = spec_op(RFM_CMD_CARD_SET, SPEC_DO);
	while ((attr = genl_next(&at, (const uint8_t *)head + head->nlmsg_len)))
		/* A packet comes home when it likes. */
		if (spec_listed(set->request, genl_type(attr)) &&
		    genl_type(attr) != RFM_A_CARD_OWN_DATA)
			sample.value[genl_type(attr)] = genl_number(attr);
	return sample;
}

static void keep_sample(unsigned int who, const struct nlmsghdr *head)
{
	uint64_t number = shared->sampled[who];

	shared->sample[who][number % SAMPLES] = sample_of(head);
	__atomic_store_n(&shared->sampled[who], number + 1, __ATOMIC_RELEASE);
}

/* Near as it is now; NULL if it cannot be had. */
static const struct nlmsghdr *ask(int fd, struct genl *genl)
{
	const struct nlmsghdr *head;
	size_t at = 0;

	begin(genl, RFM_CMD_CARD_GET, 0);
	if (!genl_send(fd, genl) || genl_recv(fd, genl, GENL_MAX, 0) < 0)
		return NULL;
	head = genl_message(genl, &at);
	return head && head->nlmsg_type == storm.family ? head : NULL;
}

/* --- changing -------------------------------------------------------------- */

static void put_shared(struct genl *genl, unsigned int who, uint32_t n)
{
	genl_put_u32(genl, RFM_A_CARD_DMA_READ_THRESHOLD, n << 2 | who);
	genl_put_u32(genl, RFM_A_CARD_DMA_WRITE_THRESHOLD, n << 2 | who);
}

static void put_lights(struct genl *genl, uint32_t n)
{
	genl_put_u8(genl, RFM_A_CARD_LED, n & 1);
	genl_put_u8(genl, RFM_A_CARD_DARK_ON_DARK, n & 1);
}

static void put_moderation(struct genl *genl, uint32_t n)
{
	genl_put_u32(genl, RFM_A_CARD_MODERATION_COUNT, 1 + n % 64);
	genl_put_u32(genl, RFM_A_CARD_MODERATION_TIME, 1000 * (1 + n % 64));
}

static void put_base(struct genl *genl, uint64_t offset, uint64_t length, uint32_t action)
{
	size_t nest = genl_nest(genl, RFM_A_CARD_BASE);

	genl_put_u64(genl, RFM_A_RANGE_OFFSET, offset);
	genl_put_u64(genl, RFM_A_RANGE_LENGTH, length);
	genl_put_u32(genl, RFM_A_RANGE_PLANES, RFM_PLANES_OWNED);
	genl_put_u32(genl, RFM_A_RANGE_ACTION, action);
	genl_nest_end(genl, nest);
}

/* One granule is owned, another each time. */
static void put_owned(struct genl *genl, uint32_t n)
{
	put_base(genl, OWNED, OWNABLE * RFM_GRANULE, RFM_ACTION_REMOVE);
	put_base(genl, OWNED + n % OWNABLE * RFM_GRANULE, RFM_GRANULE, RFM_ACTION_ADD);
}

static void put_parity(struct genl *genl, uint32_t n)
{
	genl_put_u8(genl, RFM_A_CARD_PARITY, n & 1);
	genl_put_u32(genl, RFM_A_CARD_ADDRESS_OFFSET, (n & 1) << 26);
}

static void (*const put_own[CHANGERS])(struct genl *genl, uint32_t n) = {
	put_lights, put_moderation, put_owned, put_parity,
};

/* The last of them does every other change by ioctl, and those without the shared pair. */
static bool by_ioctl(unsigned int who, uint32_t n)
{
	return who == CHANGERS - 1 && n & 1;
}

static int change_by_ioctl(uint32_t n)
{
	struct rfm_config args = {
		.mask = RFM_CONFIG_PARITY | RFM_CONFIG_OFFSET,
		.on = n & 1 ? RFM_CONFIG_PARITY : 0,
		.address_offset = (n & 1) << 26,
	};

	return ioctl(pair.near, RFM_IOC_SET_CONFIG, &args) ? errno : 0;
}

static int change(int fd, struct genl *genl, unsigned int who, uint32_t n)
{
	if (by_ioctl(who, n))
		return change_by_ioctl(n);
	begin(genl, RFM_CMD_CARD_SET, NLM_F_ACK);
	put_shared(genl, who, n);
	put_own[who](genl, n);
	return acknowledged(fd, genl);
}

/* Everything that is a pair, at once. */
static int change_all(int fd, struct genl *genl, uint32_t n)
{
	unsigned int who;

	begin(genl, RFM_CMD_CARD_SET, NLM_F_ACK);
	put_shared(genl, 0, n);
	for (who = 0; who < CHANGERS; who++)
		put_own[who](genl, n);
	return acknowledged(fd, genl);
}

/* What nobody else sets is as it was set last. */
static bool own_is_there(const struct nlmsghdr *head, unsigned int who, uint32_t n)
{
	switch (who) {
	case 0: return field(head, RFM_A_CARD_LED) == (n & 1);
	case 1: return field(head, RFM_A_CARD_MODERATION_COUNT) == 1 + n % 64;
	case 3: return field(head, RFM_A_CARD_PARITY) == (n & 1);
	default: return true;
	}
}

static uint64_t made_by_all(void)
{
	uint64_t sum = 0;
	unsigned int who;

	for (who = 0; who < CHANGERS; who++)
		sum += __atomic_load_n(&shared->made[who], __ATOMIC_ACQUIRE);
	return sum;
}

static void look(int fd, struct genl *genl, unsigned int who, uint32_t n)
{
	const struct nlmsghdr *head = ask(fd, genl);
	const char *what = head ? torn(head) : "no answer";

	if (what || !own_is_there(head, who, n)) {
		tap_note("changer %u, change %u: %s", who, n, what ?: "not what was set");
		shared->wrong[who]++;
	} else {
		keep_sample(who, head);
	}
}

/* A process that makes changes until it is to stop. */
static void changer(unsigned int who)
{
	static struct genl genl;
	int fd = genl_open(), error;
	uint32_t n = 0;

	while (!shared->stop && shared->wrong[who] < 5) {
		while (shared->throttled && !shared->stop && made_by_all() > BACKLOG +
		       __atomic_load_n(&shared->heard, __ATOMIC_ACQUIRE))
			sched_yield();
		error = change(fd, &genl, who, ++n);
		if (error) {
			tap_note("changer %u, change %u: %s", who, n, strerror(error));
			shared->wrong[who]++;
			break;
		}
		__atomic_store_n(&shared->made[who], n, __ATOMIC_RELEASE);
		if (n % 4 < 2)
			look(fd, &genl, who, n);
	}
	close(fd);
}

/* --- traffic --------------------------------------------------------------- */

/* Updates and interrupts, numbered, from the other node. */
static void traffic(void)
{
	struct rfm_send send = { .node = pair.info.node, .type = RFM_EVENT_INT1 };
	uint64_t n = 0;

	while (!shared->stop) {
		n++;
		if (pwrite(pair.far, &n, 8, AT) != 8)
			break;
		send.data = n;
		if (n % 4 == 0 && ioctl(pair.far, RFM_IOC_SEND, &send))
			break;
		sched_yield();
	}
}

#endif /* NETLINK_STORM_H */
