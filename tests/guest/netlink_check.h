/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What must hold of the netlink family whatever it is sent:
 *
 *   a message that breaks the specification is refused, with a sentence;
 *   what the driver refuses comes with a sentence, too;
 *   what is answered is within the specification, and each request is
 *   answered once;
 *   who has not the right is refused;
 *   a refused request has changed nothing, and one that was taken, what it
 *   asked for; the generation counts those, and the monitor is told of each.
 */
#ifndef NETLINK_CHECK_H
#define NETLINK_CHECK_H

#include <sys/stat.h>

#include "netlink_mutate.h"

#define CARDS		4
#define TALKERS		4
#define MESSAGES	64	/* of a datagram */
#define FDS		16
#define ATTRS		(RFM_A_CARD_MAX + 1)

/* A message that was sent, and what came back. */
struct sent {
	uint32_t seq;
	enum fate fate;
	const struct spec_op *op;	/* if the specification lets it through */
	const uint8_t *begin, *end;	/* its attributes */
	bool asks_ack;
	bool admin;
	unsigned int acks, answers, dones;
	int error;
	bool sentence;
};

/* A socket. */
struct talker {
	int fd;
	bool root;		/* who made it */
	uint32_t port;
	struct sent sent[MESSAGES];
	unsigned int count;
	struct sent left;	/* a dump from before that was left half-way */
	bool dumping;		/* one has begun and is not known to have ended */
};

struct card_state {
	uint64_t value[ATTRS];
	bool has[ATTRS];
};

struct fuzzed_card {
	int rw, ro;
	bool has_base;		/* masks that can be changed */
	uint64_t memory_size;
	bool dirty;		/* settings have been changed */
	struct card_state state;
	uint64_t changes;	/* made by us */
	uint64_t told;		/* notified */
};

static struct {
	unsigned int cards, number, requests, complaints;
	uint16_t family;
	uint32_t group;
	struct fuzzed_card card[CARDS];
	struct selector selectors[CARDS];
	struct talker talkers[TALKERS];
	int fds[FDS];
	int control, monitor;
	uint64_t seq;		/* of the last notification */
	uint32_t next;		/* number of a message */
	struct { unsigned long taken, refused; } tried[ARRAY_SIZE(spec_ops)][ATTRS];
	unsigned long long acked, answered, refused_by_policy, refused_by_driver;
} world;

/* --- complaints ------------------------------------------------------------ */

static const struct genl *suspect;	/* the datagram that is being looked at */

__attribute__((format(printf, 1, 2)))
static void complain(const char *format, ...)
{
	char text[256];
	va_list args;
	size_t i, line;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	world.complaints++;
	tap_note("message %u: %s", world.number, text);
	for (i = 0; suspect && i < suspect->len && i < 256; i += line) {
		char hex[3 * 16 + 1] = "";

		for (line = 0; line < 16 && i + line < suspect->len; line++)
			sprintf(hex + 3 * line, " %02x", suspect->bytes[i + line]);
		tap_note("   %03zx:%s", i, hex);
	}
}

/* --- sockets --------------------------------------------------------------- */

/* Who makes a socket is remembered with it. */
static int socket_of(bool root)
{
	int fd;

	if (!root && seteuid(65534))
		complain("seteuid: %s", strerror(errno));
	fd = genl_open();
	if (!root && seteuid(0))
		complain("seteuid: %s", strerror(errno));
	return fd;
}

static void talker_open(struct talker *talker)
{
	struct sockaddr_nl address = {};
	socklen_t len = sizeof(address);
	unsigned int number = talker - world.talkers;
	int max = 8 << 20, on = 1;

	memset(talker, 0, sizeof(*talker));
	talker->root = number & 2;
	talker->fd = socket_of(talker->root);
	/* Half of them are told of their own message by its head alone. */
	if (talker->fd < 0 ||
	    setsockopt(talker->fd, SOL_SOCKET, SO_RCVBUFFORCE, &max, sizeof(max)) ||
	    (number & 1 &&
	     setsockopt(talker->fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on))) ||
	    getsockname(talker->fd, (void *)&address, &len))
		complain("socket: %s", strerror(errno));
	talker->port = address.nl_pid;
}

/* In the middle of a dump, if there is one. */
static void talker_renew(struct talker *talker)
{
	close(talker->fd);
	talker_open(talker);
}

/* --- what is expected ------------------------------------------------------ */

static void expect_one(struct talker *talker, struct nlmsghdr *head, size_t left, bool admin)
{
	bool dump = (head->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	struct sent *sent = &talker->sent[talker->count++];

	if (head->nlmsg_type >= NLMSG_MIN_TYPE)
		head->nlmsg_type = world.family;
	head->nlmsg_seq = ++world.next;
	*sent = (struct sent){ .seq = head->nlmsg_seq, .admin = admin,
		.asks_ack = head->nlmsg_flags & NLM_F_ACK,
		.fate = spec_fate(head, left, world.family),
		.begin = (const uint8_t *)head + GENL_ATTRS,
		.end = (const uint8_t *)head + head->nlmsg_len };
	if (sent->fate != FATE_BY_POLICY && sent->fate != FATE_BY_DRIVER)
		return;
	sent->op = spec_op(((struct genlmsghdr *)(head + 1))->cmd, dump ? SPEC_DUMP : SPEC_DO);
	if (sent->fate == FATE_BY_DRIVER && dump)
		talker->dumping = true;
}

/* Takes the datagram apart as the kernel does, and numbers its messages. */
static void expect_answers(struct talker *talker, struct genl *genl, bool admin)
{
	size_t at = 0;

	suspect = genl;
	talker->count = 0;
	while (genl->len - at >= NLMSG_HDRLEN) {
		struct nlmsghdr *head = (void *)(genl->bytes + at);

		if (head->nlmsg_len < NLMSG_HDRLEN || head->nlmsg_len > genl->len - at)
			return;
		if (talker->count == MESSAGES) {
			genl->len = at;
			return;
		}
		expect_one(talker, head, genl->len - at, admin);
		if (NLMSG_ALIGN(head->nlmsg_len) >= genl->len - at)
			return;
		at += NLMSG_ALIGN(head->nlmsg_len);
	}
}

/* --- what comes ------------------------------------------------------------ */

static struct sent *sent_of(struct talker *talker, uint32_t seq)
{
	unsigned int i;

	if (talker->left.seq && talker->left.seq == seq)
		return &talker->left;
	for (i = 0; i < talker->count; i++)
		if (talker->sent[i].seq == seq)
			return &talker->sent[i];
	return NULL;
}

static void take_error(struct sent *sent, const struct nlmsghdr *head)
{
	const int *error = (const void *)(head + 1);
	const char *sentence = genl_sentence(head);

	sent->error = *error;
	sent->sentence = sentence && *sentence;
	if (sentence && strlen(sentence) < 5)
		complain("that is no sentence: '%s'", sentence);
	if (*error > 0 || *error < -4095)
		complain("error %d", *error);
}

static void take_message(struct talker *talker, const struct nlmsghdr *head)
{
	struct sent *sent = sent_of(talker, head->nlmsg_seq);
	const char *fault;

	if (!sent || head->nlmsg_pid != talker->port) {
		complain("an answer of type %u, number %u, port %u, to nobody", head->nlmsg_type,
			 head->nlmsg_seq, head->nlmsg_pid);
		return;
	}
	if (head->nlmsg_type == NLMSG_ERROR || head->nlmsg_type == NLMSG_DONE) {
		take_error(sent, head);
		head->nlmsg_type == NLMSG_ERROR ? sent->acks++ : sent->dones++;
		return;
	}
	sent->answers++;
	fault = head->nlmsg_type != world.family ? "not of the family" : !sent->op ? "unasked" :
		spec_answer_fault(head, sent->op->mode);
	if (!fault && sent->op->cmd != ((const struct genlmsghdr *)(head + 1))->cmd)
		fault = "another command's";
	if (!fault && !(head->nlmsg_flags & NLM_F_MULTI) != (sent->op->mode == SPEC_DO))
		fault = "one of several, or not";
	if (fault)
		complain("%s answered: %s", sent->op ? sent->op->name : "?", fault);
}

/* One datagram of answers; false if there is none. */
static bool take_answer(struct talker *talker)
{
	static struct genl answer;
	const struct nlmsghdr *head;
	ssize_t len = genl_recv(talker->fd, &answer, GENL_MAX, MSG_DONTWAIT | MSG_TRUNC);
	size_t at = 0;

	if (len < 0 && errno == EAGAIN) {
		talker->dumping = false;
		return false;
	}
	if (len < 0 || len > GENL_MAX) {
		complain("recv: %zd, %s", len, strerror(errno));
		return false;
	}
	while ((head = genl_message(&answer, &at)))
		take_message(talker, head);
	if (at != answer.len)
		complain("%zu bytes left over behind an answer", answer.len - at);
	return true;
}

/* --- rights ---------------------------------------------------------------- */

static bool is_setting(uint16_t number)
{
	return !selects(number) && number != RFM_A_CARD_FD && number != RFM_A_CARD_GENERATION &&
	       spec_listed(spec_op(RFM_CMD_CARD_SET, SPEC_DO)->request, number);
}

static const struct nlattr *sent_attr(const struct sent *sent, uint16_t number)
{
	return genl_find(sent->begin, sent->end, number);
}

static bool text_is(const struct nlattr *attr, const char *text)
{
	return !attr || !strcmp((const char *)genl_data(attr), text);
}

/* Any of our descriptors may be meant: those that come and go are of cards, too. */
static bool fd_is_of(const struct nlattr *attr, const struct fuzzed_card *card)
{
	struct stat stat, device;

	return !attr || (!fstat(genl_number(attr), &stat) && !fstat(card->rw, &device) &&
			 S_ISCHR(stat.st_mode) && stat.st_rdev == device.st_rdev);
}

static bool fd_writes(const struct nlattr *attr)
{
	return (fcntl(genl_number(attr), F_GETFL) & O_ACCMODE) != O_RDONLY;
}

/* The card that a good message is about; NULL if there is none. */
static struct fuzzed_card *card_of(const struct sent *sent)
{
	const struct nlattr *id = sent_attr(sent, RFM_A_CARD_ID),
			    *name = sent_attr(sent, RFM_A_CARD_NAME),
			    *pci = sent_attr(sent, RFM_A_CARD_PCI),
			    *fd = sent_attr(sent, RFM_A_CARD_FD);
	unsigned int i;

	if (!id && !name && !pci && !fd)
		return NULL;
	for (i = 0; i < world.cards; i++)
		if ((!id || genl_number(id) == world.selectors[i].id) &&
		    text_is(name, world.selectors[i].name) &&
		    text_is(pci, world.selectors[i].pci) && fd_is_of(fd, &world.card[i]))
			return &world.card[i];
	return NULL;
}

/* May somebody who is no administrator do this? */
static bool within_rights(const struct sent *sent)
{
	const struct fuzzed_card *card = card_of(sent);
	const struct nlattr *fd = sent_attr(sent, RFM_A_CARD_FD);
	bool reads = fd && card, writes = reads && fd_writes(fd);

	switch (sent->op->cmd) {
	case RFM_CMD_CARD_SET:
	case RFM_CMD_COUNTERS_RESET: return writes;
	default: return reads;
	}
}

/* --- verdicts -------------------------------------------------------------- */

static void count_tried(const struct sent *sent, bool taken)
{
	unsigned int op = sent->op - spec_ops;
	const uint8_t *at = sent->begin;
	const struct nlattr *attr;

	while ((attr = genl_next(&at, sent->end)))
		if (genl_type(attr) < ATTRS) {
			world.tried[op][genl_type(attr)].taken += taken;
			world.tried[op][genl_type(attr)].refused += !taken;
		}
}

static void note_change(struct fuzzed_card *card, bool is_one)
{
	card->state.value[RFM_A_CARD_GENERATION] += is_one;
	card->changes += is_one;
}

static uint64_t generation_of(unsigned int card)
{
	return world.card[card].state.value[RFM_A_CARD_GENERATION];
}

/* What it has changed, as far as the message says. */
static void note_settings(const struct sent *sent, struct fuzzed_card *card)
{
	struct card_state *state = &card->state;
	const uint8_t *at = sent->begin;
	const struct nlattr *attr;
	bool any = false;

	while ((attr = genl_next(&at, sent->end))) {
		uint16_t number = genl_type(attr);

		if (!is_setting(number))
			continue;
		any = true;
		if (number == RFM_A_CARD_BASE || number == RFM_A_CARD_BASE_POLICY)
			state->has[RFM_A_CARD_BASE_POLICY] = state->has[RFM_A_CARD_BASE_RANGES] = false;
		else if (state->has[number])
			state->value[number] = genl_number(attr);
		/* One switch sets both, unless the other is in the message too. */
		if (number == RFM_A_CARD_BYTE_SWAP &&
		    !sent_attr(sent, RFM_A_CARD_DMA_BYTE_SWAP))
			state->value[RFM_A_CARD_DMA_BYTE_SWAP] = genl_number(attr);
	}
	card->dirty = true;
	note_change(card, any);
}

static void judge_taken(const struct sent *sent)
{
	struct fuzzed_card *card = card_of(sent);

	if (!sent->admin && !within_rights(sent))
		complain("%s was done for somebody without the right", sent->op->name);
	if (sent->op->mode == SPEC_DO && !card)
		complain("%s was done for no card, or several", sent->op->name);
	else if (sent->op->cmd == RFM_CMD_CARD_SET)
		note_settings(sent, card);
	else if (sent->op->cmd == RFM_CMD_COUNTERS_RESET)
		note_change(card, true);
	if (sent->acks)
		world.acked++;
	if (sent->answers || sent->dones)
		world.answered++;
}

static void judge_do(const struct sent *sent)
{
	bool taken = !sent->error;

	if (sent->dones || sent->acks > 1 || (!sent->acks && sent->asks_ack) ||
	    (sent->acks && taken && !sent->asks_ack) ||
	    sent->answers != (taken && sent->op->reply[0]))
		complain("%s: %u times acknowledged, %u answers, %u ends, error %d",
			 sent->op->name, sent->acks, sent->answers, sent->dones, sent->error);
	count_tried(sent, taken);
	if (taken)
		judge_taken(sent);
}

/* The core says EBUSY, without a word, while another dump of the socket goes on. */
static void judge_dump(const struct sent *sent, bool busy)
{
	if (sent->acks + sent->dones != 1 || (sent->acks && !sent->error) ||
	    (sent->acks && sent->answers))
		complain("dump %s: %u times acknowledged, %u answers, %u ends, error %d",
			 sent->op->name, sent->acks, sent->answers, sent->dones, sent->error);
	if (sent->error == -EBUSY && busy)
		return;
	count_tried(sent, !sent->error);
	if (!sent->error)
		judge_taken(sent);
}

/* Nobody waits for what a driver has to say about a refusal: it must be there. */
static void judge_words(const struct sent *sent, bool busy)
{
	if (!sent->error)
		return;
	if (!sent->sentence && !(busy && sent->error == -EBUSY))
		complain("%s (%s) was refused without a sentence: %s",
			 sent->op->name, sent->op->mode == SPEC_DUMP ? "dump" : "do",
			 strerror(-sent->error));
	if (sent->fate == FATE_BY_POLICY)
		world.refused_by_policy++;
	else
		world.refused_by_driver++;
}

static void judge_core(const struct sent *sent)
{
	bool refused = sent->fate == FATE_BY_CORE;

	if (sent->answers || sent->dones || sent->acks != (refused || sent->asks_ack) ||
	    !sent->error != !refused)
		complain("no request of the family: %u times acknowledged, %u answers, %u ends, error %d",
			 sent->acks, sent->answers, sent->dones, sent->error);
}

static void judge_policy(const struct sent *sent, bool busy)
{
	if (sent->acks != 1 || sent->error >= 0 || sent->answers || sent->dones)
		complain("%s should have been refused: %s; %u times acknowledged, %u answers, %u ends, error %d",
			 sent->op->name,
			 spec_message_fault((const void *)(sent->begin - GENL_ATTRS)),
			 sent->acks, sent->answers, sent->dones, sent->error);
	count_tried(sent, false);
	judge_words(sent, busy);
}

static void judge_one(const struct sent *sent, bool busy)
{
	if (sent->fate == FATE_ACKED || sent->fate == FATE_BY_CORE) {
		judge_core(sent);
	} else if (sent->fate == FATE_BY_POLICY) {
		judge_policy(sent, busy);
	} else if (sent->op->mode == SPEC_DO) {
		judge_do(sent);
		judge_words(sent, false);
	} else {
		judge_dump(sent, busy);
		judge_words(sent, busy);
	}
}

/* A dump that was left half-way, the message itself forgotten. */
static void judge_left(struct sent *left)
{
	if (left->seq && left->dones != 1)
		complain("a dump of %s was left half-way, and never ended", left->op->name);
	if (left->seq)
		judge_words(left, false);
	left->seq = 0;
}

/* Can the talker go on to something else before it has all answers? */
static bool may_leave(const struct talker *talker)
{
	const struct sent *sent = &talker->sent[0];

	return talker->count == 1 && !talker->left.seq && sent->fate == FATE_BY_DRIVER &&
	       sent->op->mode == SPEC_DUMP;
}

/* Looks at what has come, which is everything unless @left. */
static void judge(struct talker *talker, bool left)
{
	struct sent *first = &talker->sent[0];
	bool busy = talker->left.seq;
	unsigned int i;

	if (left && !first->acks && !first->dones) {
		talker->left = *first;
		talker->left.begin = talker->left.end = NULL;
		return;
	}
	judge_left(&talker->left);
	for (i = 0; i < talker->count; i++) {
		judge_one(&talker->sent[i], busy);
		busy |= talker->sent[i].op && talker->sent[i].op->mode == SPEC_DUMP;
	}
}

/* --- how the cards are ----------------------------------------------------- */

/* What nobody but us changes, and a change of which counts. */
static bool is_state(uint16_t number)
{
	static const struct spec_op *get;

	if (!get)
		get = spec_op(RFM_CMD_CARD_GET, SPEC_DO);
	/* What comes home comes when it likes. */
	return spec_listed(get->reply, number) && number != RFM_A_CARD_OWN_DATA &&
	       (is_setting(number) || number == RFM_A_CARD_GENERATION ||
		number == RFM_A_CARD_BASE_RANGES);
}

static bool get_state(unsigned int number, struct card_state *state)
{
	static struct genl genl;
	const struct nlmsghdr *head;
	const struct nlattr *attr;
	const uint8_t *at, *end;
	size_t from = 0;

	memset(state, 0, sizeof(*state));
	genl_begin(&genl, world.family, NLM_F_REQUEST, RFM_CMD_CARD_GET);
	genl_put_u32(&genl, RFM_A_CARD_ID, world.selectors[number].id);
	if (!genl_send(world.control, &genl) || genl_recv(world.control, &genl, GENL_MAX, 0) < 0)
		return false;
	head = genl_message(&genl, &from);
	if (!head || head->nlmsg_type != world.family)
		return false;
	at = (const uint8_t *)head + GENL_ATTRS;
	end = (const uint8_t *)head + head->nlmsg_len;
	while ((attr = genl_next(&at, end)))
		if (is_state(genl_type(attr))) {
			state->has[genl_type(attr)] = true;
			state->value[genl_type(attr)] = genl_number(attr);
		}
	return true;
}

static void compare_states(unsigned int number, const struct card_state *is)
{
	const struct card_state *was = &world.card[number].state;
	unsigned int i;

	for (i = 0; i < ATTRS; i++)
		if (was->has[i] && (!is->has[i] || was->value[i] != is->value[i]))
			complain("%s: %s is %#llx, should be %#llx", world.selectors[number].name,
				 spec_card.attrs[i].name, (unsigned long long)is->value[i],
				 (unsigned long long)was->value[i]);
}

/* Is a card set as the messages so far have set it? */
static void check_state(unsigned int number)
{
	struct card_state state;

	if (!get_state(number, &state)) {
		complain("%s cannot be asked", world.selectors[number].name);
		return;
	}
	compare_states(number, &state);
	world.card[number].state = state;
}

/* Did one of the messages ask for a change of this card? */
static bool asked_for_change(const struct talker *talker, const struct fuzzed_card *card)
{
	const struct sent *sent;
	unsigned int i;

	for (i = 0; i < talker->count; i++) {
		sent = &talker->sent[i];
		if (sent->op && sent->fate == FATE_BY_DRIVER && card_of(sent) == card &&
		    (sent->op->cmd == RFM_CMD_CARD_SET ||
		     sent->op->cmd == RFM_CMD_COUNTERS_RESET))
			return true;
	}
	return false;
}

/* All cards are looked at now and then: whatever changes one has to be known. */
static void check_states(const struct talker *talker, bool all)
{
	unsigned int i;

	for (i = 0; i < world.cards; i++)
		if (all || asked_for_change(talker, &world.card[i]))
			check_state(i);
}

/* So that rings stay closed and the base masks small. */
static void make_sane(struct talker *talker, unsigned int number)
{
	static struct genl genl;
	size_t nest;

	genl_begin(&genl, world.family, NLM_F_REQUEST | NLM_F_ACK, RFM_CMD_CARD_SET);
	genl_put_u32(&genl, RFM_A_CARD_ID, world.selectors[number].id);
	genl_put_u8(&genl, RFM_A_CARD_TRANSMIT, 1);
	genl_put_u8(&genl, RFM_A_CARD_LOOPBACK, 0);
	genl_put_u8(&genl, RFM_A_CARD_DARK_ON_DARK, 0);
	genl_put_u8(&genl, RFM_A_CARD_PARITY, 0);
	genl_put_u8(&genl, RFM_A_CARD_BYTE_SWAP, 0);
	genl_put_u32(&genl, RFM_A_CARD_ADDRESS_OFFSET, 0);
	if (world.card[number].has_base) {
		genl_put_u32(&genl, RFM_A_CARD_BASE_POLICY, RFM_POLICY_ALL);
		genl_put_u32(&genl, RFM_A_CARD_MODERATION_COUNT, 1);
		genl_put_u32(&genl, RFM_A_CARD_MODERATION_TIME, 0);
		nest = genl_nest(&genl, RFM_A_CARD_BASE);
		genl_put_u64(&genl, RFM_A_RANGE_OFFSET, 0);
		genl_put_u64(&genl, RFM_A_RANGE_LENGTH, world.card[number].memory_size);
		genl_put_u32(&genl, RFM_A_RANGE_PLANES, RFM_PLANES_OWNED);
		genl_put_u32(&genl, RFM_A_RANGE_ACTION, RFM_ACTION_REMOVE);
		genl_nest_end(&genl, nest);
	}
	expect_answers(talker, &genl, true);
	if (!genl_send(talker->fd, &genl))
		complain("send: %s", strerror(errno));
	while (take_answer(talker))
		;
	if (talker->count != 1 || talker->sent[0].error)
		complain("%s cannot be made sane: %s", world.selectors[number].name,
			 strerror(-talker->sent[0].error));
	judge(talker, false);
	world.card[number].dirty = false;
}

/* --- what the monitor hears ------------------------------------------------ */

static struct fuzzed_card *card_told_of(const struct nlmsghdr *head)
{
	unsigned int i;

	for (i = 0; i < world.cards; i++)
		if (genl_find_number(head, RFM_A_CARD_ID) == world.selectors[i].id)
			return &world.card[i];
	return NULL;
}

static void hear(const struct nlmsghdr *head)
{
	const struct genlmsghdr *genl = (const void *)(head + 1);
	const char *fault = spec_answer_fault(head, SPEC_EVENT);
	uint64_t seq = genl_find_number(head, RFM_A_CARD_SEQ);
	struct fuzzed_card *card = card_told_of(head);

	if (fault)
		complain("notification %u: %s", genl->cmd, fault);
	if (world.seq && seq != world.seq + 1 + (genl->cmd == RFM_CMD_OVERRUN_NTF ?
						 genl_find_number(head, RFM_A_CARD_LOST) : 0))
		complain("notification %llu follows %llu", (unsigned long long)seq,
			 (unsigned long long)world.seq);
	world.seq = seq;
	if (genl->cmd != RFM_CMD_CARD_CHANGE_NTF || !card)
		return;
	card->told++;
	if (genl_find_number(head, RFM_A_CARD_PID) != (uint32_t)getpid())
		complain("a change was made by process %llu",
			 (unsigned long long)genl_find_number(head, RFM_A_CARD_PID));
}

static void hear_monitor(void)
{
	static struct genl genl;
	const struct nlmsghdr *head;
	size_t at = 0;

	while (genl_recv(world.monitor, &genl, GENL_MAX, MSG_DONTWAIT) > 0)
		for (at = 0; (head = genl_message(&genl, &at));)
			hear(head);
	if (errno != EAGAIN)
		complain("monitor: %s", strerror(errno));
}

/* --- the beginning --------------------------------------------------------- */

static bool card_open(unsigned int number, const char *path)
{
	struct fuzzed_card *card = &world.card[number];
	struct selector *selector = &world.selectors[number];
	struct rfm_info info;

	card->rw = open(path, O_RDWR | O_CLOEXEC);
	card->ro = open(path, O_RDONLY | O_CLOEXEC);
	if (card->rw < 0 || card->ro < 0 || card_info(card->rw, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return false;
	}
	card->memory_size = info.memory_size;
	card->has_base = info.features & RFM_EXT_FEATURE_SUBSCRIBE;
	selector->id = strtoul(strrchr(path, 'm') + 1, NULL, 10);
	snprintf(selector->name, sizeof(selector->name), "rfm%u", selector->id);
	memcpy(selector->pci, info.pci_name, sizeof(selector->pci));
	world.fds[2 * number] = card->rw;
	world.fds[2 * number + 1] = card->ro;
	return true;
}

static bool monitor_open(void)
{
	int max = 32 << 20;

	world.monitor = genl_open();
	return world.monitor >= 0 &&
	       !setsockopt(world.monitor, SOL_SOCKET, SO_RCVBUFFORCE, &max, sizeof(max)) &&
	       !setsockopt(world.monitor, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &world.group,
			   sizeof(world.group));
}

static bool world_open(char (*paths)[64], unsigned int cards)
{
	unsigned int i;

	world.cards = cards;
	world.control = genl_open();
	if (!cards || !genl_family(world.control, RFM_FAMILY_NAME, RFM_MCGRP_MONITOR,
				   &world.family, &world.group) || !world.group) {
		tap_note("no card, or no family");
		return false;
	}
	for (i = 0; i < cards; i++)
		if (!card_open(i, paths[i]))
			return false;
	/* Descriptors of something else, closed ones, none. */
	world.fds[2 * cards] = world.control;
	world.fds[2 * cards + 1] = 0;
	world.fds[2 * cards + 2] = 1000;
	while (world.requests < ARRAY_SIZE(spec_ops) &&
	       spec_ops[world.requests].mode != SPEC_EVENT)
		world.requests++;
	for (i = 0; i < TALKERS; i++)
		talker_open(&world.talkers[i]);
	for (i = 0; i < cards; i++)
		if (!get_state(i, &world.card[i].state))
			return false;
	mutate.family = world.family;
	mutate.cards = world.selectors;
	mutate.card_count = cards;
	mutate.fds = world.fds;
	mutate.generation = generation_of;
	mutate.fd_count = 2 * cards + 3;
	return monitor_open() && !world.complaints;
}

#endif /* NETLINK_CHECK_H */
