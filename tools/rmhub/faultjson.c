// SPDX-License-Identifier: MIT
#include "faultjson.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "tools/common/hex.h"
#include "tools/common/parse.h"

static const char *const type_names[RFM_FRAME_TYPES] = {
	[RFM_FRAME_DATA] = "data",
	[RFM_FRAME_INTERRUPT] = "interrupt",
	[RFM_FRAME_HEARTBEAT] = "heartbeat",
	[RFM_FRAME_DUPLICATE] = "duplicate",
	[RFM_FRAME_BREAK] = "break",
	[RFM_FRAME_FENCE] = "fence",
	[RFM_FRAME_MULTICAST] = "multicast",
	[RFM_FRAME_QUERY] = "query",
	[RFM_FRAME_ANSWER] = "answer",
	[RFM_FRAME_PACKET] = "packet",
};

/* --- reading -------------------------------------------------------------- */

static bool take_kind(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	int kind = fault_kind_parse(json_string_value(value));

	spec->kind = kind;
	return kind >= 0 || fields_fail(fields, field->name, "must be drop, corrupt, delay, "
					"duplicate, reorder or freeze");
}

static bool take_port(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	const char *name = json_string_value(value);
	char number[24];

	if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		name = number;
	}
	spec->port = name ? settings_port_of(fields->settings, name) : -1;
	return spec->port >= 0 ||
	       fields_fail(fields, field->name, "must be the number or name of a port");
}

static bool take_type(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	const char *name = json_string_value(value);

	spec->types = !strcmp(name, "any") ? RFM_FRAME_ALL_TYPES : 0;
	for (unsigned int type = 1; type < RFM_FRAME_TYPES; type++)
		if (type_names[type] && !strcmp(name, type_names[type]))
			spec->types = 1u << type;
	return spec->types ||
	       fields_fail(fields, field->name, "must be data, interrupt, multicast, heartbeat, "
			   "duplicate, break, fence, query, answer, packet or any");
}

static bool take_copy(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	const char *name = json_string_value(value);

	spec->copy = !strcmp(name, "first") ? FAULT_COPY_FIRST :
		     !strcmp(name, "second") ? FAULT_COPY_SECOND : FAULT_COPY_ANY;
	return spec->copy != FAULT_COPY_ANY ||
	       fields_fail(fields, field->name, "must be first or second");
}

static bool take_address(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	uint64_t first, last;
	char text[64] = "";

	if (json_is_integer(value))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		snprintf(text, sizeof(text), "%s", json_string_value(value));
	if (parse_range(text, RFM_RING_SPACE - 1, &first, &last) != PARSE_OK)
		return fields_fail(fields, field->name, "must be an address below 0x%x, or a range "
				   "such as \"0x1000-0x1fff\"", RFM_RING_SPACE);
	spec->addressed = true;
	spec->first = first;
	spec->last = last;
	return true;
}

static bool take_value(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	ssize_t length = hex_bytes(json_string_value(value), spec->value, RFM_FRAME_DATA_MAX);

	spec->value_length = length;
	return length > 0 || fields_fail(fields, field->name, "must be 1 to 64 bytes as pairs of "
					 "hexadecimal digits, such as \"deadbeef\"");
}

static bool take_at(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;

	spec->valued_at = true;
	return true;
}

/* What happens by chance goes on, unless it says otherwise. */
static bool take_probability(struct fields *fields, const struct field *field, json_t *value)
{
	struct fault_spec *spec = fields->to;
	const char *text = json_string_value(value);
	char *end = "";
	bool good = text ? isdigit((unsigned char)*text) : json_is_number(value);

	spec->probability = text ? strtod(text, &end) : json_number_value(value);
	spec->count = 0;
	return (good && !*end && spec->probability >= 0 && spec->probability <= 1) ||
	       fields_fail(fields, field->name, "must be a number from 0 to 1");
}

#define AT(member)	FIELD_AT(struct fault_spec, member)

static const struct field rows[] = {
	{ "kind", FIELD_TEXT, .take = take_kind, .needed = true },
	{ "port", FIELD_ANY, .take = take_port },
	{ "type", FIELD_TEXT, .take = take_type },
	{ "copy", FIELD_TEXT, .take = take_copy },
	{ "address", FIELD_ANY, .take = take_address },
	{ "value", FIELD_TEXT, .take = take_value },
	{ "probability", FIELD_ANY, .take = take_probability },
	{ "seed", FIELD_NUMBER, AT(seed), 0, INT64_MAX },
	{ "source", FIELD_NUMBER, AT(source), 0, RFM_RING_NODES - 1 },
	{ "interrupt", FIELD_NUMBER, AT(interrupt), 0, 7 },
	{ "at", FIELD_NUMBER, AT(value_at), 0, RFM_RING_SPACE - 1, take_at },
	{ "nth", FIELD_NUMBER, AT(nth), 1, INT64_MAX },
	{ "count", FIELD_NUMBER, AT(count), 0, INT64_MAX },
	{ "after", FIELD_TIME, AT(after), 0, FAULT_TIME_MAX },
	{ "for", FIELD_TIME, AT(lasting), 0, FAULT_TIME_MAX },
	{ "time", FIELD_TIME, AT(time), 0, FAULT_TIME_MAX },
	{ "depth", FIELD_NUMBER, AT(depth), 1, FAULT_DEPTH_MAX },
	{ "bit", FIELD_NUMBER, AT(bit), 0, RFM_FRAME_DATA_MAX * 8 - 1 },
	{ NULL },
};

bool faultjson_parse(struct fault_spec *spec, json_t *object, bool in_scenario, const char *what,
		     struct settings *settings, char *error)
{
	struct fields fields = { .what = what, .settings = settings, .error = error };
	const char *sentence;

	fault_spec_init(spec, FAULT_DROP);
	fields.to = spec;
	if (!fields_take(&fields, rows, object))
		return false;
	sentence = fault_spec_check(spec, in_scenario);
	return !sentence || fields_why(error, "%s: %s", what, sentence);
}

bool faultjson_parse_list(struct settings_faults *faults, json_t *list, bool in_scenario,
			  struct settings *settings, char *error)
{
	size_t count;
	bool good = true;

	*faults = (struct settings_faults){ NULL, 0 };
	if (json_is_object(list) && json_object_size(list) == 1)
		list = json_object_get(list, "faults");
	if (!json_is_array(list))
		return fields_why(error, "faults must be an array, or an object with nothing but "
				  "an array 'faults'");
	count = json_array_size(list);
	if (count > FAULTS_MAX)
		return fields_why(error, "there are more than %d faults", FAULTS_MAX);
	faults->specs = calloc(count + 1, sizeof(*faults->specs));
	if (!faults->specs)
		return fields_why(error, "there is no memory for the faults");
	for (; good && faults->count < count; faults->count++) {
		char what[32];

		snprintf(what, sizeof(what), "fault %u", faults->count + 1);
		good = faultjson_parse(&faults->specs[faults->count],
				       json_array_get(list, faults->count), in_scenario, what,
				       settings, error);
	}
	return good;
}

/* --- writing -------------------------------------------------------------- */

static json_t *known(bool is_known, uint64_t value)
{
	return is_known ? json_integer(value) : NULL;
}

static json_t *seconds(uint64_t ns)
{
	return ns ? json_real(ns / 1e9) : NULL;
}

static const char *type_name(uint32_t types)
{
	for (unsigned int type = 1; type < RFM_FRAME_TYPES; type++)
		if (type_names[type] && types == 1u << type)
			return type_names[type];
	return types == RFM_FRAME_ALL_TYPES ? "any" : NULL;
}

static json_t *report_sources(const struct fault *fault)
{
	json_t *sources = json_object();

	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		char name[8];

		snprintf(name, sizeof(name), "%u", id);
		if (fault->by_source[id])
			json_object_set_new(sources, name, json_integer(fault->by_source[id]));
	}
	return sources;
}

json_t *faultjson_report(const struct fault *fault, const char *state)
{
	static const char *const copies[] = { NULL, "first", "second" };
	const struct fault_spec *spec = &fault->spec;
	bool by_chance = spec->probability < 1;
	char *value = spec->value_length ? hex_text(spec->value, spec->value_length) : NULL;
	char range[32];
	json_t *report;

	snprintf(range, sizeof(range), "0x%x-0x%x", spec->first, spec->last);
	report = json_pack("{s:i, s:s, s:s, s:o*, s:o*, s:s*, s:s*, s:s*, s:o*, s:o*, s:s*, s:o*,"
			   " s:o*, s:I, s:I, s:o*, s:o*, s:o*, s:o*, s:o*, s:I, s:I, s:I, s:o}",
			   "fault", (int)fault->id, "kind", fault_kind_name(spec->kind),
			   "state", state, "port", known(spec->port >= 0, spec->port),
			   "source", known(spec->source >= 0, spec->source),
			   "type", type_name(spec->types), "copy", copies[spec->copy],
			   "address", spec->addressed ? range : NULL,
			   "interrupt", known(spec->interrupt >= 0, spec->interrupt),
			   "at", known(spec->valued_at, spec->value_at), "value", value,
			   "probability", by_chance ? json_real(spec->probability) : NULL,
			   "seed", known(by_chance, spec->seed), "nth", (json_int_t)spec->nth,
			   "count", (json_int_t)spec->count, "after", seconds(spec->after),
			   "for", seconds(spec->lasting), "time", seconds(spec->time),
			   "depth", known(spec->kind == FAULT_REORDER, spec->depth),
			   "bit", known(spec->bit >= 0, spec->bit),
			   "matched", (json_int_t)fault->matched, "fired", (json_int_t)fault->fired,
			   "in_vain", (json_int_t)fault->in_vain,
			   "fired_by_source", report_sources(fault));
	free(value);
	return report;
}

json_t *faultjson_firing(const struct hub_firing *firing, uint64_t start)
{
	const struct rfm_frame *frame = firing->frame;

	return json_pack("{s:f, s:i, s:s, s:i, s:i, s:I, s:I, s:s*, s:o*, s:i, s:o*, s:o*, s:o*, s:o*}",
			 "time", (firing->now - start) / 1e9, "fault", (int)firing->fault,
			 "action", firing->let_go ? "let-go" : fault_kind_name(firing->kind),
			 "port", (int)firing->port,
			 "source", (int)frame->source,
			 "incarnation", (json_int_t)frame->incarnation,
			 "seq", (json_int_t)frame->seq, "type", type_names[frame->type],
			 "address", known(frame->type == RFM_FRAME_DATA, frame->address),
			 "length", (int)frame->length,
			 "second", frame->flags & RFM_FLAG_SECOND ? json_true() : NULL,
			 "bit", known(firing->kind == FAULT_CORRUPT, firing->bit),
			 "overtaken_by", known(firing->let_go, firing->overtaken_by),
			 "heartbeats", known(firing->let_go, firing->heartbeats));
}
