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

/* NULL: it is not said. */
static const char *order_word(enum rfm_region_order order)
{
	return order == RFM_REGION_BIG ? "big" : order == RFM_REGION_LITTLE ? "little" : NULL;
}

static const char *word(const char *text)
{
	return *text ? text : NULL;
}

static json_t *number(bool said, uint64_t value)
{
	return said ? json_integer((json_int_t)value) : NULL;
}

static json_t *list_json(const struct rfm_region *list, bool types);

static json_t *region_json(const struct rfm_region *region, bool is_type)
{
	const char *type = region->type ? rfm_region_type_name(region->type) : region->type_name;
	char period[UNIT_TEXT];

	return json_pack(
		"{s:o*, s:s*, s:o*, s:o*, s:s*, s:o*, s:s*, s:s*, s:s*, s:o*}",
		"offset", number(!is_type, region->offset), "type", type,
		"count", number(region->count > 1, region->count),
		"size", number(region->stated_size, region->stated_size),
		"byte-order", order_word(region->order),
		"owner", number(region->owner != RFM_REGION_NOBODY, (uint64_t)region->owner),
		"period", region->period_ns ? time_exact(period, region->period_ns, " ") : NULL,
		"unit", word(region->unit), "description", word(region->description),
		"fields", type ? NULL : list_json(region->fields, false));
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
	return json_pack("{s:i, s:s*, s:o*, s:s*, s:o*, s:o}", "rfm-regions", 1,
			 "description", word(regions->description),
			 "memory", number(regions->memory_size, regions->memory_size),
			 "byte-order", order_word(regions->order),
			 "types", regions->types ? list_json(regions->types, true) : NULL,
			 "regions", list_json(regions->regions, false));
}

/* Numbers as people write them: what says where or how large is hexadecimal. */
const char *number_word(char text[24], const char *key, const json_t *value)
{
	bool hexadecimal = !strcmp(key, "offset") || !strcmp(key, "size") || !strcmp(key, "memory");

	snprintf(text, 24, hexadecimal ? "0x%" PRIx64 : "%" PRIu64,
		 (uint64_t)json_integer_value(value));
	return text;
}

/* --- YAML ------------------------------------------------------------------------- */

static int to_stdout(void *unused, unsigned char *text, size_t length)
{
	return fwrite(text, 1, length, stdout) == length;
}

/* Texts are in quotes, as other readers of YAML see numbers and truth in some. 0: no memory. */
static int add_word(yaml_document_t *document, const char *word, bool quoted)
{
	return yaml_document_add_scalar(document, NULL, (const yaml_char_t *)word, -1, quoted ?
					YAML_SINGLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE);
}

/* A region or field that is no structure takes one line. */
static int add_value(yaml_document_t *document, const char *key, json_t *value)
{
	bool flat = !json_object_size(value) ||
		    (json_object_get(value, "offset") && !json_object_get(value, "fields"));
	bool quoted = !strcmp(key, "unit") || !strcmp(key, "description");
	char text[24];
	json_t *inside;
	int mapping;

	if (!json_is_object(value))
		return add_word(document, json_is_string(value) ? json_string_value(value) :
				number_word(text, key, value), quoted);
	mapping = yaml_document_add_mapping(document, NULL, flat ? YAML_FLOW_MAPPING_STYLE :
								   YAML_BLOCK_MAPPING_STYLE);
	json_object_foreach(value, key, inside) {
		int name = add_word(document, key, false), node = add_value(document, key, inside);

		if (!mapping || !name || !node ||
		    !yaml_document_append_mapping_pair(document, mapping, name, node))
			return 0;
	}
	return mapping;
}

/* Prints a file of regions. Returns an exit status. */
int regions_write_yaml(struct command *cmd)
{
	json_t *object = regions_json(cmd->regions);
	yaml_document_t document;
	yaml_emitter_t emitter;
	bool done = false;

	if (object && yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1)) {
		if (yaml_emitter_initialize(&emitter)) {
			yaml_emitter_set_output(&emitter, to_stdout, NULL);
			yaml_emitter_set_unicode(&emitter, 1);
			yaml_emitter_set_width(&emitter, -1);
			done = add_value(&document, "", object) &&
			       yaml_emitter_dump(&emitter, &document) &&
			       yaml_emitter_close(&emitter);
			yaml_emitter_delete(&emitter);
		}
		yaml_document_delete(&document);
	}
	json_decref(object);
	if (!done && !ferror(stdout))
		return failed(cmd, "out of memory");
	return out_flush(cmd);
}
