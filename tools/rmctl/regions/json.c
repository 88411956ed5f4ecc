// SPDX-License-Identifier: MIT
/*
 * A file of regions as JSON, with the keys of rfm-regions(5), and as YAML again.
 * What is not said in the file, or is what it is anyway, is left out.
 */
#include <inttypes.h>
#include <string.h>

#include <yaml.h>

#include "regions.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

static const char *order_word(enum rfm_region_order order)
{
	return order == RFM_REGION_BIG ? "big" : order == RFM_REGION_LITTLE ? "little" : "";
}

static void set_word(json_t *object, const char *key, const char *word)
{
	if (*word)
		json_object_set_new(object, key, json_string(word));
}

static void set_number(json_t *object, const char *key, bool said, uint64_t value)
{
	if (said)
		json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *list_json(const struct rfm_region *list, bool types);

static json_t *region_json(const struct rfm_region *region, bool is_type)
{
	json_t *object = json_object();
	char period[UNIT_TEXT];

	set_number(object, "offset", !is_type, region->offset);
	if (region->type || region->type_name)
		set_word(object, "type", region->type ? rfm_region_type_name(region->type) :
							region->type_name);
	set_number(object, "count", region->count > 1, region->count);
	set_number(object, "size", region->stated_size, region->stated_size);
	set_word(object, "byte-order", order_word(region->order));
	set_number(object, "owner", region->owner != RFM_REGION_NOBODY, (uint64_t)region->owner);
	set_word(object, "period", region->period_ns ? time_exact(period, region->period_ns, " ") : "");
	set_word(object, "unit", region->unit);
	set_word(object, "description", region->description);
	if (!region->type && !region->type_name)
		json_object_set_new(object, "fields", list_json(region->fields, false));
	return object;
}

static json_t *list_json(const struct rfm_region *list, bool types)
{
	json_t *object = json_object();

	for (; list; list = list->next)
		json_object_set_new(object, list->name, region_json(list, types));
	return object;
}

/* NULL: no memory. */
json_t *regions_json(const struct rfm_regions *regions)
{
	json_t *object = json_pack("{s:i}", "rfm-regions", 1);

	set_word(object, "description", regions->description);
	set_number(object, "memory", regions->memory_size, regions->memory_size);
	set_word(object, "byte-order", order_word(regions->order));
	if (regions->types)
		json_object_set_new(object, "types", list_json(regions->types, true));
	json_object_set_new(object, "regions", list_json(regions->regions, false));
	return object;
}

/* Numbers as people write them: what says where or how large is hexadecimal. */
const char *number_word(char text[24], const char *key, const json_t *value)
{
	bool hexadecimal = !strcmp(key, "offset") || !strcmp(key, "size") ||
			   !strcmp(key, "memory");

	snprintf(text, 24, hexadecimal ? "0x%" PRIx64 : "%" PRIu64,
		 (uint64_t)json_integer_value(value));
	return text;
}

/* --- YAML ------------------------------------------------------------------------- */

static int to_stdout(void *unused, unsigned char *text, size_t length)
{
	return fwrite(text, 1, length, stdout) == length;
}

static bool emit(yaml_emitter_t *emitter, int good, yaml_event_t *event)
{
	return good && yaml_emitter_emit(emitter, event);
}

/* Texts are in quotes, as other readers of YAML see numbers and truth in some. */
static bool put_word(yaml_emitter_t *emitter, const char *word, bool quoted)
{
	yaml_event_t event;

	return emit(emitter, yaml_scalar_event_initialize(&event, NULL, NULL, (yaml_char_t *)word,
							  (int)strlen(word), !quoted, 1, quoted ?
							  YAML_SINGLE_QUOTED_SCALAR_STYLE :
							  YAML_ANY_SCALAR_STYLE), &event);
}

static bool put_value(yaml_emitter_t *emitter, const char *key, json_t *value);

/* A region or field that is no structure takes one line. */
static bool put_mapping(yaml_emitter_t *emitter, json_t *object)
{
	bool flat = !json_object_size(object) ||
		    (json_object_get(object, "offset") && !json_object_get(object, "fields"));
	yaml_event_t event;
	const char *key;
	json_t *value;

	if (!emit(emitter, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, flat ?
							       YAML_FLOW_MAPPING_STYLE :
							       YAML_BLOCK_MAPPING_STYLE), &event))
		return false;
	json_object_foreach(object, key, value)
		if (!put_word(emitter, key, false) || !put_value(emitter, key, value))
			return false;
	return emit(emitter, yaml_mapping_end_event_initialize(&event), &event);
}

static bool put_value(yaml_emitter_t *emitter, const char *key, json_t *value)
{
	char number[24];

	if (json_is_object(value))
		return put_mapping(emitter, value);
	if (json_is_string(value))
		return put_word(emitter, json_string_value(value),
				!strcmp(key, "unit") || !strcmp(key, "description"));
	return put_word(emitter, number_word(number, key, value), false);
}

static bool put_document(yaml_emitter_t *emitter, json_t *object)
{
	yaml_event_t event;

	return emit(emitter, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING),
		    &event) &&
	       emit(emitter, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1),
		    &event) &&
	       put_mapping(emitter, object) &&
	       emit(emitter, yaml_document_end_event_initialize(&event, 1), &event) &&
	       emit(emitter, yaml_stream_end_event_initialize(&event), &event);
}

/* Prints a file of regions. Returns an exit status. */
int regions_write_yaml(struct command *cmd, const struct rfm_regions *regions)
{
	json_t *object = regions_json(regions);
	yaml_emitter_t emitter;
	bool done = false;

	if (object && yaml_emitter_initialize(&emitter)) {
		yaml_emitter_set_output(&emitter, to_stdout, NULL);
		yaml_emitter_set_unicode(&emitter, 1);
		yaml_emitter_set_width(&emitter, -1);
		done = put_document(&emitter, object);
		yaml_emitter_delete(&emitter);
	}
	json_decref(object);
	if (!done && !ferror(stdout))
		return failed(cmd, "out of memory");
	return out_flush(cmd);
}
