/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages for the netlink family: right ones, made from the specification's
 * tables, and what becomes of them when they are damaged.
 */
#ifndef NETLINK_MUTATE_H
#define NETLINK_MUTATE_H

#include "dice.h"
#include "netlink_table.h"

#define PLACES		256	/* attributes of a message that can be damaged */

/* What selects a card, and descriptors that may stand for one. */
struct selector {
	uint32_t id;
	char name[16];
	char pci[32];
};

struct mutate {
	uint16_t family;
	const struct selector *cards;
	unsigned int card_count;
	const int *fds;		/* two of each card, then others */
	unsigned int fd_count;
	uint64_t (*generation)(unsigned int card);	/* of a card, as far as it is known */
};

static struct mutate mutate;

/* True @times out of @of. */
static bool chance(unsigned int times, unsigned int of)
{
	return below(of) < times;
}

/* One that the specification allows. */
static uint64_t good_number(const struct spec_attr *attr)
{
	uint64_t span = attr->max - attr->min, value;

	if (attr->limit == SPEC_MASK)
		return any() & attr->max;
	switch (below(8)) {
	case 0: return attr->min;
	case 1: return attr->max;
	default:
		value = odd_number();
		return attr->min + (span == UINT64_MAX ? value : value % (span + 1));
	}
}

static void put_attr(struct genl *genl, const struct spec_set *set, uint16_t number,
		     const struct selector *card);

static void put_nest(struct genl *genl, const struct spec_set *set, uint16_t type)
{
	size_t nest = genl_nest(genl, type);
	uint16_t number;

	for (number = 1; number <= set->max; number++)
		if (spec_attr(set, number) && set->attrs[number].kind != SPEC_PAD &&
		    chance(15, 16))
			put_attr(genl, set, number, NULL);
	genl_nest_end(genl, nest);
}

static void put_string(struct genl *genl, const struct spec_attr *attr, uint16_t type)
{
	char text[64] = "";
	unsigned int len = below(attr->max && attr->max < 63 ? attr->max + 1 : 63), i;

	for (i = 0; i < len; i++)
		text[i] = chance(7, 8) ? 'a' + below(26) : 1 + below(255);
	genl_put(genl, type, text, len + 1);
}

/* What the driver takes: of all that the specification allows it is next to nothing. */
static bool takes(const struct spec_set *set, uint16_t number, uint64_t *value)
{
	if (set == &spec_range && number == RFM_A_RANGE_OFFSET)
		*value = below(1 << 20) * 64ull;
	else if (set == &spec_range && set->attrs[number].kind == SPEC_U64)
		*value = 1 + below(1 << 16);
	else if (set == &spec_card && number == RFM_A_CARD_BURST_PERIOD)
		*value = (100 + below(999901)) * 1000ull;
	else if (set == &spec_card && number == RFM_A_CARD_BURST_OFFSET)
		*value = below(1 << 10) * 4096ull;
	else if (set == &spec_card && number == RFM_A_CARD_BURST_LENGTH)
		*value = below(1 << 6) * 4096ull;
	else
		return false;
	return true;
}

/* An attribute with a value that the specification allows; @card: one that selects it. */
static void put_attr(struct genl *genl, const struct spec_set *set, uint16_t number,
		     const struct selector *card)
{
	const struct spec_attr *attr = &set->attrs[number];
	uint64_t value;

	if (card && number == RFM_A_CARD_ID)
		genl_put_u32(genl, number, card->id);
	else if (card && number == RFM_A_CARD_NAME)
		genl_put(genl, number, card->name, strlen(card->name) + 1);
	else if (card && number == RFM_A_CARD_PCI)
		genl_put(genl, number, card->pci, strlen(card->pci) + 1);
	else if (card && number == RFM_A_CARD_FD && chance(3, 4))
		genl_put_u32(genl, number, mutate.fds[2 * (card - mutate.cards) + below(2)]);
	else if (card && number == RFM_A_CARD_FD && chance(7, 8))
		genl_put_u32(genl, number, mutate.fds[below(mutate.fd_count)]);
	else if (card && number == RFM_A_CARD_GENERATION && chance(3, 4))
		genl_put_u64(genl, number, mutate.generation(card - mutate.cards));
	else if (attr->kind == SPEC_NEST)
		put_nest(genl, attr->nest, number);
	else if (attr->kind == SPEC_STRING)
		put_string(genl, attr, number);
	else if (spec_is_number(attr)) {
		if (!takes(set, number, &value) || chance(1, 4))
			value = good_number(attr);
		genl_put(genl, number, &value, spec_size[attr->kind]);
	} else
		genl_put(genl, number, NULL, 0);
}

static bool selects(uint16_t number)
{
	return number == RFM_A_CARD_ID || number == RFM_A_CARD_NAME || number == RFM_A_CARD_PCI;
}

/* Mostly one that selects a card, sometimes two, or none. */
static void put_selectors(struct genl *genl, const struct spec_op *op,
			  const struct selector *card)
{
	unsigned int count = chance(1, 8) ? below(4) : 1;

	while (count--)
		put_attr(genl, op->set, op->request[below(3)], card);
}

/* A message that the specification allows. */
static void make_message(struct genl *genl, const struct spec_op *op)
{
	const struct selector *card = &mutate.cards[below(mutate.card_count)];
	uint16_t flags = NLM_F_REQUEST | (op->mode == SPEC_DUMP ? NLM_F_DUMP : 0);
	unsigned int count = 0, some;
	const uint16_t *number;

	genl_begin(genl, mutate.family, flags | (chance(3, 4) ? NLM_F_ACK : 0), op->cmd);
	put_selectors(genl, op, card);
	while (op->request[count])
		count++;
	some = 1 + below(count > 4 ? count / 2 : 4);
	for (number = op->request; *number; number++)
		if (!selects(*number) && chance(1, some))
			do
				put_attr(genl, op->set, *number, card);
			while (op->set->attrs[*number].multi && chance(1, 2));
}

/* An attribute of a message, at @at; and those it is in. */
struct place {
	size_t at;
	unsigned int parents[4];
	unsigned int depth;
};

static struct place places[PLACES];
static unsigned int place_count;

static void find_places(struct genl *genl, size_t begin, size_t end,
			unsigned int parent, unsigned int depth)
{
	const uint8_t *at = genl->bytes + begin;
	const struct nlattr *attr;
	unsigned int mine;

	while (place_count < PLACES && (attr = genl_next(&at, genl->bytes + end))) {
		mine = place_count++;
		places[mine] = depth ? places[parent] : (struct place){};
		if (depth)
			places[mine].parents[places[mine].depth++] = parent;
		places[mine].at = (const uint8_t *)attr - genl->bytes;
		if (attr->nla_type & NLA_F_NESTED && depth < 4)
			find_places(genl, places[mine].at + NLA_HDRLEN,
				    places[mine].at + attr->nla_len, mine, depth + 1);
	}
}

/* Any attribute of the message; NULL if it has none. */
static struct place *any_place(struct genl *genl)
{
	size_t end = genl_head(genl)->nlmsg_len;

	place_count = 0;
	if (end > GENL_ATTRS && end <= genl->len)
		find_places(genl, GENL_ATTRS, end, 0, 0);
	return place_count ? &places[below(place_count)] : NULL;
}

static struct nlattr *attr_at(struct genl *genl, size_t at)
{
	return (struct nlattr *)(genl->bytes + at);
}

static void grow(uint16_t *len, long by)
{
	*len += by;
}

/* @by bytes more, or fewer, at @at; those it is in grow too, mostly. */
static bool resize(struct genl *genl, const struct place *place, size_t at, long by)
{
	unsigned int i;

	if (by < 0 ? genl->len - at < (size_t)-by : genl->len + by > GENL_MAX)
		return false;
	memmove(genl->bytes + at + (by > 0 ? by : 0), genl->bytes + at - (by < 0 ? by : 0),
		genl->len - at + (by < 0 ? by : 0));
	for (i = 0; by > 0 && i < (unsigned long)by; i++)
		genl->bytes[at + i] = any();
	genl->len += by;
	genl_head(genl)->nlmsg_len += by;
	for (i = 0; i < place->depth; i++)
		if (chance(7, 8))
			grow(&attr_at(genl, places[place->parents[i]].at)->nla_len, by);
	return true;
}

static void wrong_length(struct genl *genl)
{
	struct place *place = any_place(genl);
	static const int by[] = { -8, -4, -1, 1, 4, 8, 256 };
	struct nlattr *attr;

	if (!place)
		return;
	attr = attr_at(genl, place->at);
	if (chance(1, 2))
		attr->nla_len += by[below(ARRAY_SIZE(by))];
	else
		attr->nla_len = chance(1, 2) ? below(8) : any() >> below(16);
}

static void wrong_size(struct genl *genl)
{
	struct place *place = any_place(genl);
	size_t len;
	long to;

	if (!place)
		return;
	len = attr_at(genl, place->at)->nla_len;
	to = chance(15, 16) ? NLA_HDRLEN + below(32) : NLA_HDRLEN + below(60000);
	if (resize(genl, place, place->at + NLA_HDRLEN,
		   (long)NLA_ALIGN(to) - (long)NLA_ALIGN(len)))
		attr_at(genl, place->at)->nla_len = to;
}

static void wrong_type(struct genl *genl)
{
	struct place *place = any_place(genl);

	if (place)
		attr_at(genl, place->at)->nla_type =
			chance(3, 4) ? below(RFM_A_CARD_MAX + 4) : any();
}

static void wrong_flag(struct genl *genl)
{
	struct place *place = any_place(genl);

	if (place)
		attr_at(genl, place->at)->nla_type ^=
			chance(3, 4) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
}

static void wrong_value(struct genl *genl)
{
	struct place *place = any_place(genl);
	uint64_t value = odd_number();
	size_t len, i;

	if (!place)
		return;
	len = genl_len(attr_at(genl, place->at));
	for (i = 0; i < len && i < 64; i++)
		genl->bytes[place->at + NLA_HDRLEN + i] = value >> i % 8 * 8;
}

static void no_end_of_string(struct genl *genl)
{
	struct place *place = any_place(genl);
	struct nlattr *attr;

	if (!place)
		return;
	attr = attr_at(genl, place->at);
	memset((uint8_t *)attr + NLA_HDRLEN, 'a' + below(26), genl_len(attr));
}

static void without(struct genl *genl)
{
	struct place *place = any_place(genl);

	if (place)
		resize(genl, place, place->at,
		       -(long)NLA_ALIGN(attr_at(genl, place->at)->nla_len));
}

static void again(struct genl *genl)
{
	struct place *place = any_place(genl);
	unsigned int times = chance(7, 8) ? 1 + below(4) : 1 + below(2000);
	size_t len;

	if (!place)
		return;
	len = NLA_ALIGN(attr_at(genl, place->at)->nla_len);
	if (place->at + len > genl->len)
		return;
	while (times-- && genl->len < GENL_MAX / 2 && resize(genl, place, place->at, len))
		memcpy(genl->bytes + place->at, genl->bytes + place->at + len, len);
}

/* In another, and that in another... */
static void deeper(struct genl *genl)
{
	struct place *place = any_place(genl);
	unsigned int depth = chance(3, 4) ? 1 : 1 + below(200);
	uint16_t type, len;

	if (!place)
		return;
	type = attr_at(genl, place->at)->nla_type;
	while (depth--) {
		len = attr_at(genl, place->at)->nla_len;
		if (!resize(genl, place, place->at, NLA_HDRLEN))
			return;
		*attr_at(genl, place->at) = (struct nlattr){ len + NLA_HDRLEN,
			(chance(1, 2) ? type : below(RFM_A_CARD_MAX + 1)) | NLA_F_NESTED };
	}
}

static void one_more(struct genl *genl)
{
	uint16_t number = below(RFM_A_CARD_MAX + 1);

	if (genl_head(genl)->nlmsg_len != genl->len)
		return;
	if (spec_attr(&spec_card, number))
		put_attr(genl, &spec_card, number, NULL);
	else
		genl_put(genl, number, "", below(2));
}

static void cut(struct genl *genl)
{
	genl->len = below(genl->len + 1);
	if (genl->len >= NLMSG_HDRLEN && chance(3, 4))
		genl_head(genl)->nlmsg_len = genl->len;
}

static void tail(struct genl *genl)
{
	size_t len = chance(7, 8) ? 1 + below(16) : 1 + below(40000);

	if (genl->len + len > GENL_MAX / 2)
		return;
	memset(genl->bytes + genl->len, chance(1, 2) ? 0 : any(), len);
	genl->len += len;
	if (chance(3, 4))
		genl_head(genl)->nlmsg_len = genl->len;
}

static void huge(struct genl *genl)
{
	static uint8_t bytes[60000];

	if (genl_head(genl)->nlmsg_len == genl->len && genl->len < GENL_MAX / 2)
		genl_put(genl, below(RFM_A_CARD_MAX + 2), bytes, below(sizeof(bytes)));
}

static void flip(struct genl *genl)
{
	unsigned int count = 1 + below(8);

	while (count--)
		genl->bytes[below(genl->len)] ^= 1 << below(8);
}

static void wrong_head(struct genl *genl)
{
	struct nlmsghdr *head = genl_head(genl);

	switch (below(8)) {
	case 0: head->nlmsg_flags ^= 1 << below(16); break;
	case 1: head->nlmsg_flags = any(); break;
	case 2: genl_genl(genl)->cmd = below(RFM_CMD_MAX + 2); break;
	case 3: genl_genl(genl)->cmd = any(); break;
	case 4: genl_genl(genl)->version = any(); break;
	case 5: genl_genl(genl)->reserved = 1 << below(16); break;
	case 6: head->nlmsg_type = below(NLMSG_MIN_TYPE); break;
	default: head->nlmsg_pid = any(); break;
	}
}

static void noise(struct genl *genl)
{
	size_t i;

	for (i = GENL_ATTRS; i < genl->len; i++)
		genl->bytes[i] = any();
}

static void (*const damages[])(struct genl *genl) = {
	wrong_length, wrong_size, wrong_size, wrong_type, wrong_type, wrong_flag, wrong_value,
	wrong_value, wrong_value, no_end_of_string, without, again, deeper, one_more, one_more,
	cut, tail, huge, flip, wrong_head, wrong_head, noise,
};

/*
 * Damages the message, or leaves it as it is. It stays one for our family, or
 * for nobody: others are not to be tested here.
 */
static void damage(struct genl *genl)
{
	unsigned int count = chance(1, 4) ? 0 : chance(2, 3) ? 1 : 2 + below(3);
	struct nlmsghdr *head = genl_head(genl);

	while (count-- && genl->len >= GENL_ATTRS)
		damages[below(ARRAY_SIZE(damages))](genl);
	if (genl->len >= NLMSG_HDRLEN && head->nlmsg_type >= NLMSG_MIN_TYPE)
		head->nlmsg_type = mutate.family;
}

#endif /* NETLINK_MUTATE_H */
