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

static void put(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

static void report_conditions(json_t *object, const struct fault_spec *spec)
{
	char text[2 * RFM_FRAME_DATA_MAX + 1];

	if (spec->port >= 0)
		put(object, "port", spec->port);
	if (spec->source >= 0)
		put(object, "source", spec->source);
	for (unsigned int type = 1; type < RFM_FRAME_TYPES; type++)
		if (type_names[type] && spec->types == 1u << type)
			json_object_set_new(object, "type", json_string(type_names[type]));
	if (spec->types == RFM_FRAME_ALL_TYPES)
		json_object_set_new(object, "type", json_string("any"));
	if (spec->copy != FAULT_COPY_ANY)
		json_object_set_new(object, "copy", json_string(spec->copy == FAULT_COPY_FIRST ?
								"first" : "second"));
	if (spec->addressed) {
		snprintf(text, sizeof(text), "0x%x-0x%x", spec->first, spec->last);
		json_object_set_new(object, "address", json_string(text));
	}
	if (spec->interrupt >= 0)
		put(object, "interrupt", spec->interrupt);
	if (spec->valued_at)
		put(object, "at", spec->value_at);
	for (unsigned int i = 0; i < spec->value_length; i++)
		snprintf(text + 2 * i, 3, "%02x", spec->value[i]);
	if (spec->value_length)
		json_object_set_new(object, "value", json_string(text));
}

json_t *faultjson_report(const struct fault *fault, const char *state)
{
	const struct fault_spec *spec = &fault->spec;
	json_t *object = json_object(), *sources = json_object();

	put(object, "fault", fault->id);
	json_object_set_new(object, "kind", json_string(fault_kind_name(spec->kind)));
	json_object_set_new(object, "state", json_string(state));
	report_conditions(object, spec);
	if (spec->probability < 1) {
		json_object_set_new(object, "probability", json_real(spec->probability));
		put(object, "seed", spec->seed);
	}
	put(object, "nth", spec->nth);
	put(object, "count", spec->count);
	if (spec->after)
		json_object_set_new(object, "after", json_real(spec->after / 1e9));
	if (spec->lasting)
		json_object_set_new(object, "for", json_real(spec->lasting / 1e9));
	if (spec->time)
		json_object_set_new(object, "time", json_real(spec->time / 1e9));
	if (spec->kind == FAULT_REORDER)
		put(object, "depth", spec->depth);
	if (spec->bit >= 0)
		put(object, "bit", spec->bit);
	put(object, "matched", fault->matched);
	put(object, "fired", fault->fired);
	put(object, "in_vain", fault->in_vain);
	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		char name[8];

		snprintf(name, sizeof(name), "%u", id);
		if (fault->by_source[id])
			put(sources, name, fault->by_source[id]);
	}
	json_object_set_new(object, "fired_by_source", sources);
	return object;
}

json_t *faultjson_firing(const struct hub_firing *firing, uint64_t start)
{
	const struct rfm_frame *frame = firing->frame;
	json_t *object = json_object();

	json_object_set_new(object, "time", json_real((firing->now - start) / 1e9));
	put(object, "fault", firing->fault->id);
	json_object_set_new(object, "action",
			    json_string(fault_kind_name(firing->fault->spec.kind)));
	put(object, "port", firing->port);
	put(object, "source", frame->source);
	put(object, "incarnation", frame->incarnation);
	put(object, "seq", frame->seq);
	json_object_set_new(object, "type", json_string(type_names[frame->type]));
	if (frame->type == RFM_FRAME_DATA)
		put(object, "address", frame->address);
	put(object, "length", frame->length);
	if (frame->flags & RFM_FLAG_SECOND)
		json_object_set_new(object, "second", json_true());
	if (firing->fault->spec.kind == FAULT_CORRUPT)
		put(object, "bit", firing->bit);
	return object;
}
