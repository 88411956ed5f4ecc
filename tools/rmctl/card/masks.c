// SPDX-License-Identifier: MIT
#include "masks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netlink/attr.h>
#include <netlink/msg.h>

#include <linux/rfm.h>
#include <linux/rfm_netlink.h>

#include "open.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/regions/regions.h"

const char *const plane_names[PLANES] = { "rx", "tx", "own", "read", "write", "home" };

/* --- ranges ---------------------------------------------------------------------------- */

void ranges_add(const struct command *cmd, struct ranges *ranges, const struct range *range)
{
	ranges->list = grown(cmd, ranges->list, ranges->count, sizeof(*range));
	ranges->list[ranges->count++] = *range;
}

/* Adds the RANGE that a word is. Returns an exit status; what is wrong has been said. */
int ranges_read(struct command *cmd, const char *word, struct ranges *ranges)
{
	struct target target;
	int status = get_target(cmd, word, &target);

	if (!status)
		ranges_add(cmd, ranges, &(struct range){ target.offset, target.length, 0 });
	return status;
}

static int by_offset(const void *a, const void *b)
{
	const struct range *first = a, *second = b;

	return first->offset < second->offset ? -1 : first->offset > second->offset;
}

/* Whole granules, in order, what touches joined: all that the card tells apart. */
void ranges_tidy(struct ranges *ranges, uint64_t memory_size)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		struct range *range = &ranges->list[i];
		uint64_t end = range->offset + range->length;

		range->offset -= range->offset % RFM_GRANULE;
		if (end % RFM_GRANULE)
			end += RFM_GRANULE - end % RFM_GRANULE;
		range->length = (end < memory_size ? end : memory_size) - range->offset;
	}
	if (ranges->count)
		qsort(ranges->list, ranges->count, sizeof(*ranges->list), by_offset);
	for (size_t i = 0; i < ranges->count; i++) {
		struct range *range = &ranges->list[i], *last = &ranges->list[kept - !!kept];
		uint64_t end = range->offset + range->length;

		if (!kept || range->offset > last->offset + last->length)
			ranges->list[kept++] = *range;
		else if (end > last->offset + last->length)
			last->length = end - last->offset;
	}
	ranges->count = kept;
}

bool ranges_equal(const struct ranges *a, const struct ranges *b)
{
	return a->count == b->count &&
	       (!a->count || !memcmp(a->list, b->list, a->count * sizeof(*a->list)));
}

/* --- planes ---------------------------------------------------------------------------- */

/* The plane whose name the first @length characters are; -1 if there is none. */
int plane_find(const char *name, size_t length)
{
	for (int plane = 0; plane < PLANES; plane++)
		if (strlen(plane_names[plane]) == length &&
		    !strncmp(name, plane_names[plane], length))
			return plane;
	return -1;
}

uint32_t plane_bit(enum plane plane)
{
	static const uint32_t bits[PLANES] = {
		RFM_PLANES_RX, RFM_PLANES_TX, RFM_PLANES_OWNED, RFM_PLANES_READ, RFM_PLANES_WRITE,
		RFM_PLANES_HOME,
	};

	return bits[plane];
}

/*
 * Reads what is to be on in one plane, which is given then: "all", "none", or ranges with commas
 * between them. "all" reaches to the end of a memory of any size. Returns an exit status.
 */
int planes_read(struct command *cmd, enum plane plane, const char *text, struct planes *planes)
{
	const struct range all = { .length = UINT64_MAX };
	char *words, *rest, *word;
	int status = STATUS_OK;

	if (planes->given & 1u << plane)
		return misused(cmd, "%s is given twice", plane_names[plane]);
	planes->given |= 1u << plane;
	if (!strcmp(text, "all"))
		ranges_add(cmd, &planes->of[plane], &all);
	if (!strcmp(text, "all") || !strcmp(text, "none"))
		return STATUS_OK;
	rest = words = needed(cmd, strdup(text));
	while (!status && (word = strsep(&rest, ",")))
		status = ranges_read(cmd, word, &planes->of[plane]);
	free(words);
	return status;
}

/* What is on in a plane, as planes_read() reads it; the caller frees it. */
char *ranges_word(const struct ranges *ranges, uint64_t memory_size)
{
	size_t size;
	char *text;
	FILE *file;

	if (!ranges->count)
		return strdup("none");
	if (!ranges->list[0].offset && ranges->list[0].length >= memory_size)
		return strdup("all");
	file = open_memstream(&text, &size);
	if (!file)
		return NULL;
	for (size_t i = 0; i < ranges->count; i++)
		fprintf(file, "%s0x%08" PRIx64 "-0x%08" PRIx64, i ? "," : "",
			ranges->list[i].offset,
			ranges->list[i].offset + ranges->list[i].length - 1);
	return fclose(file) ? NULL : text;
}

/* Adds a change of the base masks to a request. Returns 0 or below. */
int planes_put_change(struct nl_msg *request, const struct range *range, uint32_t bits,
		      uint32_t action)
{
	struct nlattr *nest = nla_nest_start(request, RFM_A_CARD_BASE);

	if (!nest || nla_put_u64(request, RFM_A_RANGE_OFFSET, range->offset) ||
	    nla_put_u64(request, RFM_A_RANGE_LENGTH, range->length) ||
	    nla_put_u32(request, RFM_A_RANGE_PLANES, bits) ||
	    nla_put_u32(request, RFM_A_RANGE_ACTION, action))
		return -1;
	return nla_nest_end(request, nest);
}

/* Adds what makes the planes that are given as they are. Returns 0 or below. */
int planes_put(struct nl_msg *request, const struct planes *planes, uint64_t memory_size)
{
	const struct range whole = { .length = memory_size };
	int status = 0;

	for (unsigned int plane = 0; plane < PLANES && !status; plane++) {
		if (!(planes->given & 1u << plane))
			continue;
		status = planes_put_change(request, &whole, plane_bit(plane), RFM_ACTION_REMOVE);
		for (size_t i = 0; i < planes->of[plane].count && !status; i++)
			status = planes_put_change(request, &planes->of[plane].list[i],
						   plane_bit(plane), RFM_ACTION_ADD);
	}
	return status;
}

/*
 * Do the ranges lie in the memory of so many bytes, and are they few enough? They are tidy
 * afterwards. Returns an exit status.
 */
int planes_fit(struct command *cmd, struct planes *planes, uint64_t memory_size)
{
	for (unsigned int plane = 0; plane < PLANES; plane++) {
		for (size_t i = 0; i < planes->of[plane].count; i++) {
			struct range *range = &planes->of[plane].list[i];

			if (range->length == UINT64_MAX)
				range->length = memory_size;
			if (card_check_memory(cmd, memory_size, range->offset, range->length))
				return STATUS_FAILED;
		}
		ranges_tidy(&planes->of[plane], memory_size);
		if (planes->of[plane].count > RFM_SUBSCRIBE_MAX)
			return failed(cmd, "%s would have %zu separate ranges, at most %d can be set",
				      plane_names[plane], planes->of[plane].count,
				      RFM_SUBSCRIBE_MAX);
	}
	return STATUS_OK;
}

void planes_free(struct planes *planes)
{
	for (unsigned int plane = 0; plane < PLANES; plane++)
		free(planes->of[plane].list);
}
