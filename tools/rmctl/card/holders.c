// SPDX-License-Identifier: MIT
#include "holders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/rmctl/cli/text.h"

/* A dump that something changes is begun again. */
#define DUMPS_MAX 100

/* Returns 0 or ENOMEM. */
static int take_range(struct descriptor *descriptor, struct nlattr *nest)
{
	struct nlattr *attributes[RFM_A_RANGE_MAX + 1];
	size_t at = descriptor->ranges.count;
	uint32_t *planes;

	if (nla_parse_nested(attributes, RFM_A_RANGE_MAX, nest, NULL) ||
	    !attributes[RFM_A_RANGE_OFFSET] || !attributes[RFM_A_RANGE_LENGTH] ||
	    !attributes[RFM_A_RANGE_PLANES])
		return 0;
	planes = realloc(descriptor->planes, (at + 1) * sizeof(*planes));
	if (!planes)
		return ENOMEM;
	descriptor->planes = planes;
	planes[at] = nla_get_u32(attributes[RFM_A_RANGE_PLANES]);
	return ranges_add(&descriptor->ranges, nla_get_u64(attributes[RFM_A_RANGE_OFFSET]),
			  nla_get_u64(attributes[RFM_A_RANGE_LENGTH]));
}

static int take_ranges(struct descriptor *descriptor, struct nlattr *nest)
{
	struct nlattr *attribute;
	int left, error = 0;

	nla_for_each_nested(attribute, nest, left)
		if (nla_type(attribute) == RFM_A_DESCRIPTOR_RANGE && !error)
			error = take_range(descriptor, attribute);
	return error;
}

/* The last one of the list if it goes on there, or a new one; NULL without memory. */
static struct descriptor *continued(struct descriptors *descriptors, uint32_t id)
{
	struct descriptor *list = descriptors->list;

	if (descriptors->count && list[descriptors->count - 1].id == id)
		return &list[descriptors->count - 1];
	list = realloc(list, (descriptors->count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	descriptors->list = list;
	memset(&list[descriptors->count], 0, sizeof(*list));
	return &list[descriptors->count++];
}

static void take(struct nlmsghdr *message, void *context)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1], *values[RFM_A_DESCRIPTOR_MAX + 1];
	struct descriptors *descriptors = context;
	struct descriptor *descriptor;
	struct nlattr *nest;

	if (descriptors->error || genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL))
		return;
	nest = attributes[RFM_A_CARD_DESCRIPTOR];
	if (!nest || nla_parse_nested(values, RFM_A_DESCRIPTOR_MAX, nest, NULL) ||
	    !values[RFM_A_DESCRIPTOR_ID])
		return;
	descriptor = continued(descriptors, nla_get_u32(values[RFM_A_DESCRIPTOR_ID]));
	if (!descriptor) {
		descriptors->error = ENOMEM;
		return;
	}
	numbers_take(descriptor->number, values, RFM_A_DESCRIPTOR_MAX);
	if (values[RFM_A_DESCRIPTOR_COMM])
		nla_strlcpy(descriptor->comm, values[RFM_A_DESCRIPTOR_COMM],
			    sizeof(descriptor->comm));
	text_clean(descriptor->comm);
	descriptors->error = take_ranges(descriptor, nest);
}

static struct nl_msg *build(const struct netlink *nl, const void *name)
{
	return card_request(nl, RFM_CMD_DESCRIPTOR_GET, NLM_F_DUMP, name);
}

/* The one that was opened to ask is of no interest. */
static void drop_own(struct descriptors *descriptors)
{
	size_t kept = 0;

	for (size_t i = 0; i < descriptors->count; i++) {
		struct descriptor *descriptor = &descriptors->list[i];

		if (descriptor->kind == RFM_DESCRIPTOR_KIND_FILE &&
		    descriptor->pid == (uint32_t)getpid()) {
			free(descriptor->ranges.list);
			free(descriptor->planes);
		} else {
			descriptors->list[kept++] = *descriptor;
		}
	}
	descriptors->count = kept;
}

/**
 * descriptors_get - ask who has something of a card
 * @cmd: the command, whose card it is
 * @nl: the connection
 * @descriptors: filled in; free it with descriptors_free(), also after a failure
 *
 * Returns an exit status; what is wrong has been said.
 */
int descriptors_get(struct command *cmd, struct netlink *nl, struct descriptors *descriptors)
{
	int error, left = DUMPS_MAX;

	memset(descriptors, 0, sizeof(*descriptors));
	do {
		descriptors_free(descriptors);
		error = card_talk(cmd->card, nl, false, build, cmd->card, take, descriptors);
	} while (error == EAGAIN && --left);
	if (error)
		return failed(cmd, "%s", nl->reason);
	if (descriptors->error)
		return failed(cmd, "out of memory");
	drop_own(descriptors);
	return STATUS_OK;
}

void descriptors_free(struct descriptors *descriptors)
{
	for (size_t i = 0; i < descriptors->count; i++) {
		free(descriptors->list[i].ranges.list);
		free(descriptors->list[i].planes);
	}
	free(descriptors->list);
	memset(descriptors, 0, sizeof(*descriptors));
}

static int take_base(const struct descriptor *base, struct planes *planes)
{
	int error = 0;

	for (size_t i = 0; i < base->ranges.count; i++)
		for (unsigned int plane = 0; plane < PLANES && !error; plane++)
			if (base->planes[i] & plane_bit(plane))
				error = ranges_add(&planes->of[plane], base->ranges.list[i].offset,
						   base->ranges.list[i].length);
	return error;
}

/**
 * planes_get - ask what is on in a card's base masks
 * @cmd: the command, whose card it is
 * @nl: the connection
 * @memory_size: bytes
 * @planes: filled in; free it with planes_free(), also after a failure
 *
 * Returns an exit status; what is wrong has been said.
 */
int planes_get(struct command *cmd, struct netlink *nl, uint64_t memory_size,
	       struct planes *planes)
{
	struct descriptors descriptors;
	int status = descriptors_get(cmd, nl, &descriptors);

	memset(planes, 0, sizeof(*planes));
	planes->given = (1u << PLANES) - 1;
	for (size_t i = 0; i < descriptors.count && !status; i++)
		if (descriptors.list[i].kind == RFM_DESCRIPTOR_KIND_BASE &&
		    take_base(&descriptors.list[i], planes))
			status = failed(cmd, "out of memory");
	for (unsigned int plane = 0; plane < PLANES; plane++)
		ranges_tidy(&planes->of[plane], memory_size);
	descriptors_free(&descriptors);
	return status;
}
