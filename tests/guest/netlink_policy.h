/* SPDX-License-Identifier: GPL-2.0-only */
/* Is the policy that the kernel says it has that of the specification? */
#ifndef NETLINK_POLICY_H
#define NETLINK_POLICY_H

#include "netlink_check.h"

#define POLICIES	64

/* What the kernel says of an attribute of a policy. */
struct told_attr {
	uint64_t kind, min, max, mask, length, nest;
};

static struct told_attr told[POLICIES][ATTRS];
static int policy_of[UINT8_MAX + 1][SPEC_MODES];

static const uint32_t kernel_kind[] = {
	[SPEC_FLAG] = NL_ATTR_TYPE_FLAG, [SPEC_U8] = NL_ATTR_TYPE_U8,
	[SPEC_U16] = NL_ATTR_TYPE_U16, [SPEC_U32] = NL_ATTR_TYPE_U32,
	[SPEC_U64] = NL_ATTR_TYPE_U64, [SPEC_S32] = NL_ATTR_TYPE_S32,
	[SPEC_STRING] = NL_ATTR_TYPE_NUL_STRING, [SPEC_NEST] = NL_ATTR_TYPE_NESTED,
};

static uint64_t inner(const struct nlattr *nest, uint16_t type)
{
	return genl_number(genl_find(genl_data(nest), genl_data(nest) + genl_len(nest), type));
}

static void learn_attr(const struct nlattr *attr, struct told_attr *to)
{
	*to = (struct told_attr){
		.kind = inner(attr, NL_POLICY_TYPE_ATTR_TYPE),
		.min = inner(attr, NL_POLICY_TYPE_ATTR_MIN_VALUE_U) |
		       inner(attr, NL_POLICY_TYPE_ATTR_MIN_VALUE_S),
		.max = inner(attr, NL_POLICY_TYPE_ATTR_MAX_VALUE_U) |
		       inner(attr, NL_POLICY_TYPE_ATTR_MAX_VALUE_S),
		.mask = inner(attr, NL_POLICY_TYPE_ATTR_MASK),
		.length = inner(attr, NL_POLICY_TYPE_ATTR_MAX_LENGTH),
		.nest = inner(attr, NL_POLICY_TYPE_ATTR_POLICY_IDX),
	};
}

/* A policy, attribute by attribute; or which command has which. */
static void learn(const struct nlmsghdr *head)
{
	const uint8_t *begin = (const uint8_t *)head, *end = begin + head->nlmsg_len, *at;
	const struct nlattr *policy, *attr;

	policy = genl_find(begin + GENL_ATTRS, end, CTRL_ATTR_POLICY);
	for (at = policy ? genl_data(policy) : end;
	     policy && (attr = genl_next(&at, genl_data(policy) + genl_len(policy)));) {
		const uint8_t *in = genl_data(attr);
		const struct nlattr *one;

		while ((one = genl_next(&in, genl_data(attr) + genl_len(attr))))
			if (genl_type(attr) < POLICIES && genl_type(one) < ATTRS)
				learn_attr(one, &told[genl_type(attr)][genl_type(one)]);
	}
	policy = genl_find(begin + GENL_ATTRS, end, CTRL_ATTR_OP_POLICY);
	for (at = policy ? genl_data(policy) : end;
	     policy && (attr = genl_next(&at, genl_data(policy) + genl_len(policy)));) {
		const uint8_t *in = genl_data(attr), *out = in + genl_len(attr);
		const struct nlattr *on_do = genl_find(in, out, CTRL_ATTR_POLICY_DO),
				    *on_dump = genl_find(in, out, CTRL_ATTR_POLICY_DUMP);

		if (on_do)
			policy_of[genl_type(attr) & UINT8_MAX][SPEC_DO] = genl_number(on_do);
		if (on_dump)
			policy_of[genl_type(attr) & UINT8_MAX][SPEC_DUMP] = genl_number(on_dump);
	}
}

static bool ask_for_policies(void)
{
	static struct genl genl;
	const struct nlmsghdr *head;
	size_t at;

	memset(policy_of, -1, sizeof(policy_of));
	genl_begin(&genl, GENL_ID_CTRL, NLM_F_REQUEST | NLM_F_DUMP, CTRL_CMD_GETPOLICY);
	genl_put(&genl, CTRL_ATTR_FAMILY_ID, &world.family, sizeof(world.family));
	if (!genl_send(world.control, &genl))
		return false;
	while (genl_recv(world.control, &genl, GENL_MAX, 0) > 0)
		for (at = 0; (head = genl_message(&genl, &at));) {
			if (head->nlmsg_type == NLMSG_DONE)
				return true;
			if (head->nlmsg_type != GENL_ID_CTRL)
				return false;
			learn(head);
		}
	return false;
}

static bool limits_agree(const struct spec_attr *attr, const struct told_attr *is)
{
	if (attr->limit == SPEC_MASK)
		return is->mask == attr->max;
	if (attr->kind == SPEC_STRING)
		return is->length == attr->max;
	return !spec_is_number(attr) ||
	       (is->min == (uint64_t)attr->min && is->max == attr->max);
}

static void compare_policy(const char *where, const struct spec_set *set,
			   const uint16_t *list, unsigned int policy)
{
	uint16_t number;

	for (number = 1; number < ATTRS; number++) {
		const struct spec_attr *attr = spec_attr(set, number);
		const struct told_attr *is = &told[policy][number];
		bool wanted = attr && attr->kind != SPEC_PAD &&
			      (!list || spec_listed(list, number));

		if (!CHECK_EQ(is->kind, wanted ? kernel_kind[attr->kind] : 0) ||
		    (wanted && !CHECK(limits_agree(attr, is))))
			tap_note("%s: attribute %u, %s", where, number, spec_attr_name(attr));
		if (wanted && attr->nest)
			compare_policy(attr->name, attr->nest, NULL, is->nest % POLICIES);
	}
}

static void policy_is_that_of_the_specification(void)
{
	unsigned int cmd, mode;

	REQUIRE(ask_for_policies());
	for (cmd = 0; cmd <= UINT8_MAX; cmd++)
		for (mode = SPEC_DO; mode < SPEC_EVENT; mode++) {
			const struct spec_op *op = spec_op(cmd, mode);

			if (!CHECK_EQ(policy_of[cmd][mode] >= 0, !!op))
				tap_note("command %u, mode %u", cmd, mode);
			else if (op)
				compare_policy(op->name, op->set, op->request,
					       policy_of[cmd][mode] % POLICIES);
		}
}

#endif /* NETLINK_POLICY_H */
