// SPDX-License-Identifier: MIT
#include "faultjson.h"

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
};

/* --- reading -------------------------------------------------------------- */

static uint32_t type_mask(const char *name)
{
	if (!strcmp(name, "any"))
		return RFM_FRAME_ALL_TYPES;
	for (unsigned int type = 1; type < RFM_FRAME_TYPES; type++)
		if (type_names[type] && !strcmp(name, type_names[type]))
			return 1u << type;
	return 0;
}

static void take_type(struct fields *fields, struct fault_spec *spec)
{
	const char *name;

	if (!fields_string(fields, "type", &name))
		return;
	spec->types = type_mask(name);
	if (!spec->types)
		fields_fail(fields, "type", "must be data, interrupt, multicast, heartbeat, "
			    "duplicate, break, fence, query, answer or any");
}

static void take_copy(struct fields *fields, struct fault_spec *spec)
{
	const char *name;

	if (!fields_string(fields, "copy", &name))
		return;
	if (!strcmp(name, "first"))
		spec->copy = FAULT_COPY_FIRST;
	else if (!strcmp(name, "second"))
		spec->copy = FAULT_COPY_SECOND;
	else
		fields_fail(fields, "copy", "must be first or second");
}

static void take_address(struct fields *fields, struct fault_spec *spec)
{
	uint64_t first, last;
	char text[64] = "";
	json_t *found;

	if (!fields_any(fields, "address", &found))
		return;
	if (json_is_integer(found))
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(found));
	else if (json_is_string(found))
		snprintf(text, sizeof(text), "%s", json_string_value(found));
	if (parse_range(text, RFM_RING_SPACE - 1, &first, &last) != PARSE_OK) {
		fields_fail(fields, "address", "must be an address below 0x%x, or a range such as "
			    "\"0x1000-0x1fff\"", RFM_RING_SPACE);
		return;
	}
	spec->addressed = true;
	spec->first = first;
	spec->last = last;
}

static void take_value(struct fields *fields, struct fault_spec *spec)
{
	const char *text;
	ssize_t length;

	if (!fields_string(fields, "value", &text))
		return;
	length = hex_bytes(text, spec->value, RFM_FRAME_DATA_MAX);
	if (length > 0)
		spec->value_length = length;
	else
		fields_fail(fields, "value", "must be 1 to 64 bytes as pairs of hexadecimal "
			    "digits, such as \"deadbeef\"");
}

static void take_port(struct fields *fields, struct fault_spec *spec,
		      int (*port_of)(void *opaque, const char *name), void *opaque)
{
	char number[24];
	const char *name = number;
	json_t *found;

	if (!fields_any(fields, "port", &found))
		return;
	snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(found));
	if (json_is_string(found))
		name = json_string_value(found);
	spec->port = json_is_string(found) || json_is_integer(found) ? port_of(opaque, name) : -1;
	if (spec->port < 0)
		fields_fail(fields, "port", "must be the number or name of a port");
}

static void take_kind(struct fields *fields, struct fault_spec *spec)
{
	const char *name;
	int kind;

	fault_spec_init(spec, FAULT_DROP);
	if (!fields_string(fields, "kind", &name)) {
		fields_fail(fields, "kind", "is missing");
		return;
	}
	kind = fault_kind_parse(name);
	if (kind < 0)
		fields_fail(fields, "kind", "must be drop, corrupt, delay, duplicate, reorder or "
			    "freeze");
	else
		fault_spec_init(spec, kind);
}

static void take_numbers(struct fields *fields, struct fault_spec *spec)
{
	uint64_t number;

	if (fields_real(fields, "probability", 0, 1, &spec->probability))
		spec->count = 0;
	fields_number(fields, "seed", 0, INT64_MAX, &spec->seed);
	if (fields_number(fields, "source", 0, RFM_RING_NODES - 1, &number))
		spec->source = number;
	if (fields_number(fields, "interrupt", 0, 7, &number))
		spec->interrupt = number;
	if (fields_number(fields, "at", 0, RFM_RING_SPACE - 1, &number)) {
		spec->valued_at = true;
		spec->value_at = number;
	}
	fields_number(fields, "nth", 1, INT64_MAX, &spec->nth);
	fields_number(fields, "count", 0, INT64_MAX, &spec->count);
	fields_time(fields, "after", FAULT_TIME_MAX, &spec->after);
	fields_time(fields, "for", FAULT_TIME_MAX, &spec->lasting);
	fields_time(fields, "time", FAULT_TIME_MAX, &spec->time);
	if (fields_number(fields, "depth", 1, FAULT_DEPTH_MAX, &number))
		spec->depth = number;
	if (fields_number(fields, "bit", 0, RFM_FRAME_DATA_MAX * 8 - 1, &number))
		spec->bit = number;
}

bool faultjson_parse(struct fault_spec *spec, json_t *object, bool in_scenario, const char *what,
		     int (*port_of)(void *opaque, const char *name), void *opaque, char *error)
{
	struct fields fields;
	const char *sentence;

	fields_begin(&fields, object, what);
	take_kind(&fields, spec);
	take_port(&fields, spec, port_of, opaque);
	take_type(&fields, spec);
	take_copy(&fields, spec);
	take_address(&fields, spec);
	take_value(&fields, spec);
	take_numbers(&fields, spec);
	if (!fields_end(&fields)) {
		snprintf(error, FIELDS_SENTENCE, "%s", fields.error);
		return false;
	}
	sentence = fault_spec_check(spec, in_scenario);
	if (sentence)
		snprintf(error, FIELDS_SENTENCE, "%s: %s", what, sentence);
	return !sentence;
}

int faultjson_parse_list(struct fault_spec **specs, json_t *list, bool in_scenario,
			 int (*port_of)(void *opaque, const char *name), void *opaque,
			 char *error)
{
	size_t count;

	if (json_is_object(list) && json_object_size(list) == 1)
		list = json_object_get(list, "faults");
	if (!json_is_array(list)) {
		snprintf(error, FIELDS_SENTENCE, "faults must be an array, or an object with "
			 "nothing but an array 'faults'");
		return -1;
	}
	count = json_array_size(list);
	if (count > FAULTS_MAX) {
		snprintf(error, FIELDS_SENTENCE, "there are more than %d faults", FAULTS_MAX);
		return -1;
	}
	*specs = calloc(count + 1, sizeof(**specs));
	if (!*specs) {
		snprintf(error, FIELDS_SENTENCE, "there is no memory for the faults");
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		char what[32];

		snprintf(what, sizeof(what), "fault %zu", i + 1);
		if (!faultjson_parse(&(*specs)[i], json_array_get(list, i), in_scenario, what,
				     port_of, opaque, error)) {
			free(*specs);
			*specs = NULL;
			return -1;
		}
	}
	return count;
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
	enum fault_kind kind = firing->fault->spec.kind;

	return json_pack("{s:f, s:i, s:s, s:i, s:i, s:I, s:I, s:s*, s:o*, s:i, s:o*, s:o*}",
			 "time", (firing->now - start) / 1e9, "fault", (int)firing->fault->id,
			 "action", fault_kind_name(kind), "port", (int)firing->port,
			 "source", (int)frame->source,
			 "incarnation", (json_int_t)frame->incarnation,
			 "seq", (json_int_t)frame->seq, "type", type_names[frame->type],
			 "address", known(frame->type == RFM_FRAME_DATA, frame->address),
			 "length", (int)frame->length,
			 "second", frame->flags & RFM_FLAG_SECOND ? json_true() : NULL,
			 "bit", known(kind == FAULT_CORRUPT, firing->bit));
}
