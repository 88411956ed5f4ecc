/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The netlink family as uapi/netlink/rfm.yaml has it, in tables: what the
 * kernel must refuse of a message by policy alone, and whether an answer is
 * one that the specification knows.
 */
#ifndef NETLINK_TABLE_H
#define NETLINK_TABLE_H

#include "tap.h"
#include "card.h"
#include "genl.h"

#include <linux/rfm_netlink.h>

enum spec_kind {
	SPEC_NONE, SPEC_FLAG, SPEC_U8, SPEC_U16, SPEC_U32, SPEC_U64, SPEC_S32,
	SPEC_STRING, SPEC_NEST, SPEC_PAD,
};

enum spec_limit {
	SPEC_RANGE,	/* min to max; of a string, max bytes without the end, 0: any */
	SPEC_MASK,	/* bits of max only */
};

enum spec_mode {
	SPEC_DO, SPEC_DUMP, SPEC_EVENT, SPEC_MODES
};

struct spec_set;

struct spec_attr {
	const char *name;
	enum spec_kind kind;
	enum spec_limit limit;
	long long min;
	unsigned long long max;
	const struct spec_set *nest;
	bool multi;
};

/* Attributes by their numbers; those of kind SPEC_NONE do not exist. */
struct spec_set {
	const char *name;
	const struct spec_attr *attrs;
	uint16_t max;
};

/* What an operation takes and answers, lists of numbers that end with 0. */
struct spec_op {
	const char *name;
	uint8_t cmd;
	enum spec_mode mode;
	const struct spec_set *set;
	const uint16_t *request;
	const uint16_t *reply;
};

#include "netlink_spec.h"

static const uint8_t spec_size[] = {
	[SPEC_U8] = 1, [SPEC_U16] = 2, [SPEC_U32] = 4, [SPEC_U64] = 8, [SPEC_S32] = 4,
};

static inline bool spec_is_number(const struct spec_attr *attr)
{
	return attr->kind < ARRAY_SIZE(spec_size) && spec_size[attr->kind];
}

static inline bool spec_listed(const uint16_t *list, uint16_t number)
{
	while (*list && *list != number)
		list++;
	return *list;
}

static inline const struct spec_attr *spec_attr(const struct spec_set *set, uint16_t number)
{
	return number <= set->max && set->attrs[number].kind ? &set->attrs[number] : NULL;
}

static inline const struct spec_op *spec_op(uint8_t cmd, enum spec_mode mode)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(spec_ops); i++)
		if (spec_ops[i].cmd == cmd && spec_ops[i].mode == mode)
			return &spec_ops[i];
	return NULL;
}

static inline const char *spec_attr_name(const struct spec_attr *attr)
{
	return attr ? attr->name : "unknown";
}

/* Is the value within what the specification says? */
static inline bool spec_number_fits(const struct spec_attr *attr, uint64_t value)
{
	if (attr->limit == SPEC_MASK)
		return !(value & ~attr->max);
	if (attr->kind == SPEC_S32)
		return (int32_t)value >= attr->min &&
		       (int32_t)value <= (long long)attr->max;
	return value >= (unsigned long long)attr->min && value <= attr->max;
}

static inline bool spec_string_fits(const struct spec_attr *attr, const struct nlattr *at)
{
	size_t len = genl_len(at), max = attr->max ? attr->max : len;
	const uint8_t *text = genl_data(at);

	if (!len || !memchr(text, '\0', max + 1 < len ? max + 1 : len))
		return false;
	return len - !text[len - 1] <= max;
}

/* Which attributes may be somewhere. @list NULL: all of @set. @pads: those too. */
struct spec_place {
	const struct spec_set *set;
	const uint16_t *list;
	bool pads;
};

static inline const char *spec_faults(const uint8_t *at, const uint8_t *end,
				      struct spec_place place);

static inline const char *spec_nest_fault(const struct nlattr *at, const struct spec_set *set,
					  bool pads)
{
	const uint8_t *begin = genl_data(at);

	return spec_faults(begin, begin + genl_len(at), (struct spec_place){ set, NULL, pads });
}

/* What is wrong with it by itself; NULL if nothing is. */
static inline const char *spec_fault(const struct nlattr *at, const struct spec_attr *attr,
				     bool pads)
{
	bool nested = at->nla_type & NLA_F_NESTED;

	if (nested != (attr->kind == SPEC_NEST))
		return "nested or not";
	if (spec_is_number(attr))
		return genl_len(at) != spec_size[attr->kind] ? "size" :
		       !spec_number_fits(attr, genl_number(at)) ? "value" : NULL;
	switch (attr->kind) {
	case SPEC_FLAG:
		return genl_len(at) ? "size of a flag" : NULL;
	case SPEC_STRING:
		return spec_string_fits(attr, at) ? NULL : "string";
	case SPEC_NEST:
		return genl_len(at) ? spec_nest_fault(at, attr->nest, pads) : NULL;
	case SPEC_PAD:
		return !pads ? "pad" : genl_len(at) ? "size of a pad" : NULL;
	default:
		return "kind";
	}
}

/* What is wrong with attributes; NULL if nothing is. */
static inline const char *spec_faults(const uint8_t *at, const uint8_t *end,
				      struct spec_place place)
{
	const struct spec_attr *known;
	const struct nlattr *attr;
	const char *fault = NULL;

	while (!fault && (attr = genl_next(&at, end))) {
		known = spec_attr(place.set, genl_type(attr));
		if (!known || (place.list && known->kind != SPEC_PAD &&
			       !spec_listed(place.list, genl_type(attr))))
			fault = "attribute that is not for here";
		else
			fault = spec_fault(attr, known, place.pads);
	}
	return fault ? fault : at != end ? "left over" : NULL;
}

/* What must become of a message, so far as that is seen from outside. */
enum fate {
	FATE_IGNORED,		/* no answer at all */
	FATE_ACKED,		/* an ACK if it asks for one, and nothing is done */
	FATE_BY_CORE,		/* refused before the family's policy: no sentence is owed */
	FATE_BY_POLICY,		/* refused, with a sentence */
	FATE_BY_DRIVER,		/* the driver's decision */
};

/*
 * Of all refusals, these alone are made where the kernel has no words for it,
 * up to 6.12 at least: a message without the head of a generic one, and a
 * command, or a way to call it, that there is not.
 */
static inline enum fate spec_core_fate(const struct nlmsghdr *head)
{
	const struct genlmsghdr *genl = (const void *)(head + 1);
	bool dump = (head->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;

	if (head->nlmsg_len < GENL_ATTRS)
		return FATE_BY_CORE;
	return spec_op(genl->cmd, dump ? SPEC_DUMP : SPEC_DO) ? FATE_BY_DRIVER : FATE_BY_CORE;
}

/* What is wrong with the head, of what the core looks at after the command. */
static inline const char *spec_head_fault(const struct nlmsghdr *head)
{
	const struct genlmsghdr *genl = (const void *)(head + 1);
	uint16_t flags = head->nlmsg_flags;

	if ((flags & NLM_F_DUMP) == NLM_F_DUMP)
		flags &= ~NLM_F_DUMP;
	if (flags & ~(NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO))
		return "flags";
	return genl->reserved ? "reserved" : NULL;
}

/* What is wrong with the whole message by the specification; NULL if nothing is. */
static inline const char *spec_message_fault(const struct nlmsghdr *head)
{
	const struct genlmsghdr *genl = (const void *)(head + 1);
	bool dump = (head->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	const struct spec_op *op = spec_op(genl->cmd, dump ? SPEC_DUMP : SPEC_DO);
	const uint8_t *begin = (const uint8_t *)head;
	const char *fault = spec_head_fault(head);

	return fault ? fault :
	       spec_faults(begin + GENL_ATTRS, begin + head->nlmsg_len,
			   (struct spec_place){ op->set, op->request, false });
}

/* The fate of the message at the beginning of @left bytes. */
static inline enum fate spec_fate(const struct nlmsghdr *head, size_t left, uint16_t family)
{
	enum fate fate;

	if (left < NLMSG_HDRLEN || head->nlmsg_len < NLMSG_HDRLEN || head->nlmsg_len > left)
		return FATE_IGNORED;
	if (!(head->nlmsg_flags & NLM_F_REQUEST) || head->nlmsg_type < NLMSG_MIN_TYPE)
		return FATE_ACKED;
	if (head->nlmsg_type != family)
		return FATE_BY_CORE;
	fate = spec_core_fate(head);
	if (fate == FATE_BY_DRIVER && spec_message_fault(head))
		fate = FATE_BY_POLICY;
	return fate;
}

/* Is an answer, or a notification, one that the specification knows? Else says what is wrong. */
static inline const char *spec_answer_fault(const struct nlmsghdr *head, enum spec_mode mode)
{
	const struct genlmsghdr *genl = (const void *)(head + 1);
	const uint8_t *begin = (const uint8_t *)head;
	const struct spec_op *op;

	if (head->nlmsg_len < GENL_ATTRS)
		return "short";
	op = spec_op(genl->cmd, mode);
	if (!op || !op->reply[0])
		return "no such answer";
	return spec_faults(begin + GENL_ATTRS, begin + head->nlmsg_len,
			   (struct spec_place){ op->set, op->reply, true });
}

#endif /* NETLINK_TABLE_H */
