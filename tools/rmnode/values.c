// SPDX-License-Identifier: MIT
#include "tools/rmnode/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/memory.h"

/**
 * struct reach - a value in the order of the offsets
 * @end: the furthest that this one or one before it ends, for values may overlap
 */
struct reach {
	uint64_t offset, end;
	unsigned int number;
};

static bool is_text(const struct value *value)
{
	return value->place.type == RFM_REGION_CHAR;
}

/* --- from the file --------------------------------------------------------------------- */

#define refuse(values, ...) \
	({ snprintf((values)->error, VALUES_SENTENCE, __VA_ARGS__); -1; })

/* What can be loaded as one word, so that nobody is told of half a value. */
static int check_value(struct values *values, const char *name, const struct rfm_place *place)
{
	if (values->count == VALUES_MAX)
		return refuse(values, "there are more than %u values, which is the most that can be published",
			      VALUES_MAX);
	if (place->type != RFM_REGION_CHAR && place->offset % place->length)
		return refuse(values, "'%s' cannot be published: at 0x%llx it is not one load", name,
			      (unsigned long long)place->offset);
	if (place->type == RFM_REGION_CHAR && place->length > VALUES_TEXT_MAX)
		return refuse(values, "'%s' cannot be published: a text may have %u bytes at most", name,
			      VALUES_TEXT_MAX);
	return 0;
}

static int add_value(void *context, const char *name, const struct rfm_place *place)
{
	struct values *values = context;
	struct value *value;

	if (check_value(values, name, place))
		return -1;
	if (values->count == values->room) {
		values->room = values->room ? values->room * 2 : 64;
		value = reallocarray(values->value, values->room, sizeof(*value));
		if (!value)
			return refuse(values, "no memory");
		values->value = value;
	}
	value = &values->value[values->count];
	*value = (struct value){ .place = *place, .name = strdup(name), .region = values->regions };
	if (!value->name)
		return refuse(values, "no memory");
	values->count++;
	return 0;
}

static int add_region(struct values *values, const struct rfm_regions *regions,
		      const struct rfm_region *region, uint64_t memory_size)
{
	struct rfm_place place;

	if (rfm_regions_find(regions, region->name, &place, NULL, NULL))
		return refuse(values, "'%s': %s", region->name, strerror(errno));
	if (place.offset + place.length > memory_size)
		return refuse(values, "'%s' ends behind the memory, which has %llu bytes", region->name,
			      (unsigned long long)memory_size);
	values->news[values->regions].region = region->name;
	if (rfm_regions_each(region->name, &place, add_value, values))
		return *values->error ? -1 : refuse(values, "'%s' has values beyond its stated size, or "
						    "with too long a name", region->name);
	values->regions++;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct reach *one = a, *other = b;

	return (one->offset > other->offset) - (one->offset < other->offset);
}

static int add_all(struct values *values, const struct rfm_regions *regions, uint64_t memory_size)
{
	unsigned int count = 0;
	uint64_t end = 0;

	for (const struct rfm_region *region = regions->regions; region; region = region->next)
		count++;
	values->news = calloc(count + 1, sizeof(*values->news));
	if (!values->news)
		return refuse(values, "no memory");
	for (const struct rfm_region *region = regions->regions; region; region = region->next)
		if (add_region(values, regions, region, memory_size))
			return -1;
	values->by_offset = calloc(values->count + 1, sizeof(*values->by_offset));
	if (!values->by_offset)
		return refuse(values, "no memory");
	for (unsigned int i = 0; i < values->count; i++) {
		const struct rfm_place *place = &values->value[i].place;

		values->by_offset[i] = (struct reach){ place->offset, place->offset + place->length, i };
	}
	qsort(values->by_offset, values->count, sizeof(*values->by_offset), by_offset);
	for (unsigned int i = 0; i < values->count; i++) {
		if (end < values->by_offset[i].end)
			end = values->by_offset[i].end;
		values->by_offset[i].end = end;
	}
	return 0;
}

struct values *values_new(const struct rfm_regions *regions, uint64_t memory_size, char *error)
{
	struct values *values = calloc(1, sizeof(*values));

	if (values && !add_all(values, regions, memory_size))
		return values;
	strcpy(error, values ? values->error : "no memory");
	values_free(values);
	return NULL;
}

void values_free(struct values *values)
{
	if (!values)
		return;
	for (unsigned int i = 0; i < values->count; i++)
		free(values->value[i].name);
	free(values->value);
	free(values->by_offset);
	free(values->news);
	free(values);
}

/* --- in the memory ------------------------------------------------------------------------ */

/* The first in the order of the offsets that may have a byte from @offset on. */
static unsigned int first_reaching(const struct values *values, uint64_t offset)
{
	unsigned int low = 0, high = values->count;

	while (low < high) {
		unsigned int middle = (low + high) / 2;

		if (values->by_offset[middle].end > offset)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void values_stored(struct values *values, uint64_t offset, uint64_t length, uint32_t writer,
		   uint64_t now, void (*each)(void *opaque, unsigned int number), void *opaque)
{
	unsigned int region = values->regions;

	for (unsigned int i = first_reaching(values, offset);
	     i < values->count && values->by_offset[i].offset < offset + length; i++) {
		unsigned int number = values->by_offset[i].number;
		const struct value *value = &values->value[number];

		if (value->place.offset + value->place.length <= offset)
			continue;
		if (value->region != region) {
			region = value->region;
			values->news[region].updates++;
			values->news[region].updated_ns = now;
			values->news[region].writer = writer;
		}
		each(opaque, number);
	}
}

void value_load(const struct values *values, const struct value *value, void *bytes)
{
	rfm_memory_load(bytes, values->memory + value->place.offset, value->place.length);
}

unsigned int value_text_length(const struct value *value, const void *bytes)
{
	const char *text = bytes;
	unsigned int length = value->place.length;

	while (length && !text[length - 1])
		length--;
	return length;
}

unsigned int value_plain(const struct value *value, const void *bytes, char *plain)
{
	if (!is_text(value))
		return rfm_value_print(&value->place, bytes, plain, VALUES_PAYLOAD_MAX);
	memcpy(plain, bytes, value->place.length);
	return value_text_length(value, bytes);
}
