// SPDX-License-Identifier: MIT
/* Who has something of a card: subscribes, maps, watches, listens. rmctl subscriptions says it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event_names.h"
#include "masks.h"
#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/**
 * struct descriptor - one of them
 * @comm: the process that made it
 * @ranges: what it has of the memory, each with its RFM_PLANES_*
 * @number: its attributes
 */
struct descriptor {
	char comm[32];
	struct ranges ranges;
	union {
		uint64_t number[RFM_A_DESCRIPTOR_MAX + 1];
		RFM_DESCRIPTOR_NUMBERS;
	};
};

struct descriptors {
	const struct command *cmd;
	size_t count;
	struct descriptor *list;
};

/* A dump that something changes is begun again. */
#define DUMPS_MAX 100

static void take_range(const struct command *cmd, struct ranges *ranges, struct nlattr *nest)
{
	struct nlattr *attributes[RFM_A_RANGE_MAX + 1];

	if (nla_parse_nested(attributes, RFM_A_RANGE_MAX, nest, NULL) ||
	    !attributes[RFM_A_RANGE_OFFSET] || !attributes[RFM_A_RANGE_LENGTH] ||
	    !attributes[RFM_A_RANGE_PLANES])
		return;
	ranges_add(cmd, ranges, &(struct range){
		.offset = nla_get_u64(attributes[RFM_A_RANGE_OFFSET]),
		.length = nla_get_u64(attributes[RFM_A_RANGE_LENGTH]),
		.planes = nla_get_u32(attributes[RFM_A_RANGE_PLANES]),
	});
}

/* The last one of the list if it goes on there, or a new one. */
static struct descriptor *continued(struct descriptors *descriptors, uint64_t id)
{
	struct descriptor *list = descriptors->list;

	if (descriptors->count && list[descriptors->count - 1].id == id)
		return &list[descriptors->count - 1];
	descriptors->list = grown(descriptors->cmd, list, descriptors->count, sizeof(*list));
	return &descriptors->list[descriptors->count++];
}

static void take(struct nlmsghdr *message, void *context)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1], *values[RFM_A_DESCRIPTOR_MAX + 1];
	struct descriptors *descriptors = context;
	struct descriptor told = { .comm = "" }, *descriptor;
	struct nlattr *nest, *range;
	int left;

	if (genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL))
		return;
	nest = attributes[RFM_A_CARD_DESCRIPTOR];
	if (!nest || nla_parse_nested(values, RFM_A_DESCRIPTOR_MAX, nest, NULL) ||
	    !values[RFM_A_DESCRIPTOR_ID])
		return;
	numbers_take(told.number, values, RFM_A_DESCRIPTOR_MAX);
	/* The one that was opened to ask is of no interest. */
	if (told.kind == RFM_DESCRIPTOR_KIND_FILE && told.pid == (uint32_t)getpid())
		return;
	descriptor = continued(descriptors, told.id);
	numbers_take(descriptor->number, values, RFM_A_DESCRIPTOR_MAX);
	if (values[RFM_A_DESCRIPTOR_COMM])
		nla_strlcpy(descriptor->comm, values[RFM_A_DESCRIPTOR_COMM],
			    sizeof(descriptor->comm));
	text_clean(descriptor->comm);
	nla_for_each_nested(range, nest, left)
		if (nla_type(range) == RFM_A_DESCRIPTOR_RANGE)
			take_range(descriptors->cmd, &descriptor->ranges, range);
}

static void descriptors_free(struct descriptors *descriptors)
{
	for (size_t i = 0; i < descriptors->count; i++)
		free(descriptors->list[i].ranges.list);
	free(descriptors->list);
	*descriptors = (struct descriptors){ .cmd = descriptors->cmd };
}

/*
 * Asks who has something of the command's card, which has been asked for its state; free
 * @descriptors also after a failure. Returns an exit status; what is wrong has been said.
 */
static int descriptors_get(struct command *cmd, struct descriptors *descriptors)
{
	int error, left = DUMPS_MAX;

	*descriptors = (struct descriptors){ .cmd = cmd };
	do {
		descriptors_free(descriptors);
		error = card_talk(cmd->card, false,
				  card_request(RFM_CMD_DESCRIPTOR_GET, NLM_F_DUMP, cmd->card), take,
				  descriptors);
	} while (error == EAGAIN && --left);
	return error ? card_refused(cmd) : STATUS_OK;
}

static void add_base(struct command *cmd, struct planes *planes, const struct range *range)
{
	const struct range plain = { .offset = range->offset, .length = range->length };

	for (unsigned int plane = 0; plane < PLANES; plane++)
		if (range->planes & plane_bit(plane))
			ranges_add(cmd, &planes->of[plane], &plain);
}

/*
 * Asks what is on in the base masks of the command's card, which has been asked for its state; free
 * @planes also after a failure. Returns an exit status; what is wrong has been said.
 */
int planes_get(struct command *cmd, uint64_t memory_size, struct planes *planes)
{
	struct descriptors descriptors;
	int status = descriptors_get(cmd, &descriptors);

	*planes = (struct planes){ .given = (1u << PLANES) - 1 };
	for (size_t i = 0; i < descriptors.count && !status; i++) {
		const struct descriptor *it = &descriptors.list[i];

		for (size_t at = 0; at < it->ranges.count; at++)
			if (it->kind == RFM_DESCRIPTOR_KIND_BASE)
				add_base(cmd, planes, &it->ranges.list[at]);
	}
	for (unsigned int plane = 0; plane < PLANES; plane++)
		ranges_tidy(&planes->of[plane], memory_size);
	descriptors_free(&descriptors);
	return status;
}

/* --- how they are shown ------------------------------------------------------------------ */

/* Names of bits. */
static const char *const planes[] = { "rx", "tx", "watch", "own", "read", "write", "home" };

static const char *const compares[] = {
	[RFM_COMPARE_EQUAL] = "equal",
	[RFM_COMPARE_NOT_EQUAL] = "not-equal",
	[RFM_COMPARE_CHANGED] = "changed",
};

static const char *kind(const struct descriptor *descriptor)
{
	return descriptor->kind < COUNT(rfm_descriptor_kind_names) &&
	       rfm_descriptor_kind_names[descriptor->kind] ?
		       rfm_descriptor_kind_names[descriptor->kind] : "unknown";
}

static bool has_queue(const struct descriptor *descriptor)
{
	return descriptor->kind == RFM_DESCRIPTOR_KIND_WATCH ||
	       descriptor->kind == RFM_DESCRIPTOR_KIND_LISTEN ||
	       descriptor->kind == RFM_DESCRIPTOR_KIND_REGION;
}

/* --- for programs ------------------------------------------------------------------------ */

static json_t *held_json(const struct descriptor *descriptor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < descriptor->ranges.count; i++) {
		const struct range *range = &descriptor->ranges.list[i];

		json_array_append_new(list, json_pack(
			"{s:I, s:I, s:o}", "offset", (json_int_t)range->offset, "length",
			(json_int_t)range->length, "planes",
			bits_json(range->planes, planes, COUNT(planes))));
	}
	return list;
}

static json_t *compare_json(const struct descriptor *descriptor)
{
	unsigned int width = (unsigned int)descriptor->compare_width;

	if (!descriptor->compare || descriptor->compare >= COUNT(compares))
		return json_null();
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "how", compares[descriptor->compare], "offset",
			 (json_int_t)descriptor->compare_offset, "width", (json_int_t)width, "mask",
			 json_hex(descriptor->compare_mask, width), "value",
			 json_hex(descriptor->compare_value, width));
}

static json_t *descriptor_json(const struct descriptor *descriptor)
{
	bool queue = has_queue(descriptor), base = descriptor->kind == RFM_DESCRIPTOR_KIND_BASE;
	bool watch = descriptor->kind == RFM_DESCRIPTOR_KIND_WATCH;

	return json_pack(
		"{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"id", (json_int_t)descriptor->id, "kind", kind(descriptor),
		"pid", json_known(!base, descriptor->pid),
		"comm", base ? json_null() : json_string(descriptor->comm),
		"flags", bits_json(descriptor->flags, rfm_descriptor_flag_names,
			  COUNT(rfm_descriptor_flag_names)),
		"ranges", held_json(descriptor),
		"types", bits_json(descriptor->types, event_names(), RFM_EVENT_TYPES),
		"depth", json_known(queue, descriptor->depth), "queued", json_known(queue, descriptor->queued),
		"events", json_known(queue, descriptor->events),
		"dropped", json_known(queue, descriptor->dropped), "late", json_known(watch, descriptor->late),
		"deadline_ns", json_known(descriptor->deadline_ns, descriptor->deadline_ns),
		"silence_ns", json_known(descriptor->silence_ns, descriptor->silence_ns),
		"compare", compare_json(descriptor));
}

static int print_json(const struct command *cmd, const struct state *state,
		      const struct descriptors *descriptors)
{
	char policy[UNIT_TEXT];
	json_t *list = json_array();

	for (size_t i = 0; i < descriptors->count; i++)
		json_array_append_new(list, descriptor_json(&descriptors->list[i]));
	return out_json(cmd, json_pack("{s:s, s:s, s:o}", "device", state->name, "base_policy",
				       setting_word(policy, SETTING_POLICY,
						    state->settings.value[SETTING_POLICY]),
				       "descriptors", list));
}

/* --- for people -------------------------------------------------------------------------- */

static void print_queue(const struct descriptor *descriptor)
{
	char time[UNIT_TEXT];

	printf("; %" PRIu64 " event(s), %" PRIu64 " of %" PRIu64 " wait, %" PRIu64 " dropped",
	       descriptor->events, descriptor->queued, descriptor->depth, descriptor->dropped);
	if (descriptor->deadline_ns)
		printf(", %" PRIu64 " later than %s", descriptor->late,
		       time_text(time, descriptor->deadline_ns));
	if (descriptor->silence_ns)
		printf(", stale after %s", time_text(time, descriptor->silence_ns));
	if (descriptor->compare && descriptor->compare < COUNT(compares))
		printf(", when 0x%" PRIx64 " & 0x%" PRIx64 " is %s%s", descriptor->compare_offset,
		       descriptor->compare_mask, compares[descriptor->compare],
		       descriptor->compare == RFM_COMPARE_CHANGED ? "" : " to ");
	if (descriptor->compare && descriptor->compare != RFM_COMPARE_CHANGED)
		printf("0x%" PRIx64, descriptor->compare_value);
}

static void print_descriptor(const struct descriptor *descriptor)
{
	if (descriptor->kind == RFM_DESCRIPTOR_KIND_BASE)
		printf("base masks");
	else
		printf("%s %" PRIu64 ", made by %s (pid %" PRIu64 ")", kind(descriptor),
		       descriptor->id, descriptor->comm, descriptor->pid);
	bits_print(descriptor->flags, rfm_descriptor_flag_names, COUNT(rfm_descriptor_flag_names),
		   " ", " ");
	if (has_queue(descriptor))
		print_queue(descriptor);
	putchar('\n');
	for (size_t i = 0; i < descriptor->ranges.count; i++) {
		const struct range *range = &descriptor->ranges.list[i];

		printf("  0x%08" PRIx64 "-0x%08" PRIx64, range->offset,
		       range->offset + range->length - 1);
		bits_print(range->planes, planes, COUNT(planes), " ", " ");
		putchar('\n');
	}
	bits_print(descriptor->types, event_names(), RFM_EVENT_TYPES, "  ", " ");
	if (descriptor->types)
		putchar('\n');
}

static int print_text(const struct command *cmd, const struct state *state,
		      const struct descriptors *descriptors)
{
	char policy[UNIT_TEXT];

	printf("%s: the base policy is %s\n", state->name,
	       setting_word(policy, SETTING_POLICY, state->settings.value[SETTING_POLICY]));
	for (size_t i = 0; i < descriptors->count; i++)
		print_descriptor(&descriptors->list[i]);
	return out_flush(cmd);
}

int verb_subscriptions(struct command *cmd, int argc, char **argv)
{
	struct descriptors descriptors;
	struct state state;
	int status = state_of_only_card(cmd, argc, argv, &state);

	if (status)
		return status;
	status = descriptors_get(cmd, &descriptors);
	if (!status)
		status = cmd->json ? print_json(cmd, &state, &descriptors) :
				     print_text(cmd, &state, &descriptors);
	descriptors_free(&descriptors);
	return status;
}
