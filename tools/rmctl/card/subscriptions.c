// SPDX-License-Identifier: MIT
/* rmctl subscriptions: who subscribes to, maps, watches and listens to what. */
#include <inttypes.h>
#include <stdio.h>

#include "event_names.h"
#include "holders.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Names of bits. */
static const char *const planes[] = { "rx", "tx", "watch", "own" };

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
	       descriptor->kind == RFM_DESCRIPTOR_KIND_LISTEN;
}

/* --- for programs ------------------------------------------------------------------------ */

static json_t *bits_json(uint64_t bits, const char *const *words, size_t count)
{
	json_t *names = json_array();

	for (size_t i = 0; i < count; i++)
		if (bits >> i & 1)
			json_array_append_new(names, json_string(words[i]));
	return names;
}

static json_t *types_json(uint64_t types)
{
	json_t *names = json_array();

	for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
		if (types & RFM_EVENT_BIT(type))
			json_array_append_new(names, json_string(event_name(type)));
	return names;
}

static json_t *held_json(const struct descriptor *descriptor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < descriptor->ranges.count; i++) {
		const struct range *range = &descriptor->ranges.list[i];

		json_array_append_new(list, json_pack(
			"{s:I, s:I, s:o}", "offset", (json_int_t)range->offset, "length",
			(json_int_t)range->length, "planes",
			bits_json(descriptor->planes[i], planes, COUNT(planes))));
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
		"ranges", held_json(descriptor), "types", types_json(descriptor->types),
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

static void print_bits(uint64_t bits, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bits >> i & 1)
			printf(" %s", words[i]);
}

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
	print_bits(descriptor->flags, rfm_descriptor_flag_names,
			  COUNT(rfm_descriptor_flag_names));
	if (has_queue(descriptor))
		print_queue(descriptor);
	putchar('\n');
	for (size_t i = 0; i < descriptor->ranges.count; i++) {
		const struct range *range = &descriptor->ranges.list[i];

		printf("  0x%08" PRIx64 "-0x%08" PRIx64, range->offset,
		       range->offset + range->length - 1);
		print_bits(descriptor->planes[i], planes, COUNT(planes));
		putchar('\n');
	}
	if (descriptor->types) {
		fputs(" ", stdout);
		for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
			if (descriptor->types & RFM_EVENT_BIT(type))
				printf(" %s", event_name(type));
		putchar('\n');
	}
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
	struct netlink nl;
	int status;

	status = state_of_only_card(cmd, argc, argv, &nl, &state);
	if (status)
		return status;
	status = descriptors_get(cmd, &nl, &descriptors);
	if (!status)
		status = cmd->json ? print_json(cmd, &state, &descriptors) :
				     print_text(cmd, &state, &descriptors);
	descriptors_free(&descriptors);
	netlink_close(&nl);
	return status;
}
