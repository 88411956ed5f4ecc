// SPDX-License-Identifier: MIT
/* From names to places. Nothing here allocates. */
#include "regions_private.h"

#include <stdio.h>
#include <string.h>

/* Quoted in a sentence. */
#define NAME_SHOWN	100

/* A name that is being looked up. */
struct search {
	const struct rfm_regions *regions;	/* where */
	const char *name;			/* all of it */
	const char *at;				/* what is still to be looked up */
	struct rfm_place place;			/* what the part before @at means */
	rfm_regions_report *report;
	void *context;
};

#define not_found(search, error, line, ...) \
	(refused((search)->regions, (search)->report, (search)->context, error, line, __VA_ARGS__), -1)

/* What lies around all regions. */
static struct rfm_place whole_memory(const struct rfm_regions *regions)
{
	return (struct rfm_place){
		.owner = RFM_REGION_NOBODY,
		.order = regions->order ? regions->order : RFM_REGION_LITTLE,
	};
}

/* Of the place around it, a region has what it does not say itself. */
static void enter(struct rfm_place *place, const struct rfm_region *region)
{
	place->region = region;
	place->offset += region->offset;
	place->length = region_length(region);
	place->count = region->count;
	place->type = region->type;
	place->unit = region->unit;
	if (region_of(region)->order)
		place->order = region_of(region)->order;
	if (region->owner != RFM_REGION_NOBODY)
		place->owner = region->owner;
	if (region->period_ns)
		place->period_ns = region->period_ns;
}

static void take_element(struct rfm_place *place, uint32_t index)
{
	place->offset += index * place->region->size;
	place->length = place->region->size;
	place->count = 1;
}

/* Looks up the name at @search->at in @list. */
static int find_in(struct search *search, const struct rfm_region *list)
{
	size_t length = strcspn(search->at, ".[");
	int before = (int)(search->at - search->name);

	if (!name_is_good(search->at, length))
		return not_found(search, EINVAL, 0,
				 "'%.*s' is not the name of a region, such as pump.pressure or loop.setpoint[3]",
				 NAME_SHOWN, search->name);
	for (; list; list = list->next)
		if (!strncmp(list->name, search->at, length) && !list->name[length])
			break;
	if (!list && before)
		return not_found(search, ENOENT, search->place.region->line,
				 "there is no '%.*s' in '%.*s'", (int)length, search->at,
				 before - 1 > NAME_SHOWN ? NAME_SHOWN : before - 1, search->name);
	if (!list)
		return not_found(search, ENOENT, 0, "there is no region '%.*s'", (int)length,
				 search->at);
	enter(&search->place, list);
	search->at += length;
	return 0;
}

/* Takes "[3]" at @search->at. */
static int find_element(struct search *search)
{
	const struct rfm_region *region = search->place.region;
	const char *end = strchr(search->at, ']');
	size_t length = end ? (size_t)(end - search->at) - 1 : 0;
	bool negative = false;
	uint64_t index;
	int error = number_scan(search->at + 1, length, &negative, &index);

	if (!end || error == -1 || length >= DIGITS_MAX || negative || search->at[1] == '+' ||
	    (end[1] && end[1] != '.'))
		return not_found(search, EINVAL, 0, "'%.*s' has no index such as [3]", NAME_SHOWN,
				 search->name);
	if (error || index >= region->count)
		return not_found(search, ERANGE, region->line,
				 "'%.*s' is beyond '%s', which has %u", NAME_SHOWN, search->name,
				 region->name, region->count);
	take_element(&search->place, (uint32_t)index);
	search->at = end + 1;
	return 0;
}

/* Goes through "." at @search->at. */
static int find_field(struct search *search)
{
	const struct rfm_place *place = &search->place;
	int before = (int)(search->at - search->name);

	if (before > NAME_SHOWN)
		before = NAME_SHOWN;
	if (place->type)
		return not_found(search, ENOENT, place->region->line,
				 "'%.*s' has no fields: it is of type %s", before, search->name,
				 rfm_region_type_name(place->type));
	if (place->count > 1)
		return not_found(search, EINVAL, place->region->line,
				 "'%.*s' is an array: say which, [0] to [%u]", before,
				 search->name, place->count - 1);
	search->at++;
	return find_in(search, place->region->fields);
}

int rfm_regions_find(const struct rfm_regions *regions, const char *name, struct rfm_place *place,
		     rfm_regions_report *report, void *context)
{
	struct search search = {
		.regions = regions, .name = name, .at = name, .report = report,
		.context = context, .place = whole_memory(regions),
	};
	int error = find_in(&search, regions->regions);

	while (!error && *search.at)
		error = *search.at == '[' ? find_element(&search) : find_field(&search);
	if (!error)
		*place = search.place;
	return error;
}

/* --- all values in a place ------------------------------------------------------------ */

/* A walk through the values of a place. */
struct walk {
	int (*each)(void *context, const char *name, const struct rfm_place *value);
	void *context;
	char name[RFM_REGION_PATH_MAX];	/* of where it is */
	size_t length;	/* of that */
	uint64_t end;	/* the byte behind the place, in the memory */
	uint64_t from;	/* what ends at this byte of the memory or before it is passed over, */
	uint64_t to;	/* and what begins at this one or behind it */
	bool lenient;	/* pass over what lies beyond the place, too */
};

static int walk_place(struct walk *walk, const struct rfm_place *place);

static bool touches(const struct walk *walk, const struct rfm_place *place)
{
	return place->offset < walk->to && place->offset + place->length > walk->from;
}

/* Visits a place whose name is that of the walk and more. */
__attribute__((format(printf, 3, 4)))
static int walk_into(struct walk *walk, const struct rfm_place *place, const char *format, ...)
{
	size_t length = walk->length, room = sizeof(walk->name) - length;
	va_list args;
	int more, result;

	va_start(args, format);
	more = vsnprintf(walk->name + length, room, format, args);
	va_end(args);
	if (more < 0 || (size_t)more >= room)
		return fail_with(ENAMETOOLONG);
	walk->length += (size_t)more;
	result = walk_place(walk, place);
	walk->length = length;
	walk->name[length] = '\0';
	return result;
}

static int walk_elements(struct walk *walk, const struct rfm_place *place)
{
	struct rfm_place inside;
	uint64_t first = 0;
	int result = 0;

	if (walk->from > place->offset)
		first = (walk->from - place->offset) / place->region->size;
	for (uint64_t i = first; i < place->count && !result; i++) {
		inside = *place;
		take_element(&inside, (uint32_t)i);
		if (!touches(walk, &inside))
			break;
		result = walk_into(walk, &inside, "[%u]", (uint32_t)i);
	}
	return result;
}

static int walk_place(struct walk *walk, const struct rfm_place *place)
{
	struct rfm_place inside;
	int result = 0;

	if (place->type == RFM_REGION_CHAR || (place->type && place->count == 1)) {
		/* A stated size may be smaller than what is in it. */
		if (place->offset + place->length > walk->end)
			return walk->lenient ? 0 : fail_with(ERANGE);
		return walk->each(walk->context, walk->name, place);
	}
	if (place->count > 1)
		return walk_elements(walk, place);
	for (const struct rfm_region *field = place->region->fields; field && !result;
	     field = field->next) {
		inside = *place;
		enter(&inside, field);
		if (touches(walk, &inside))
			result = walk_into(walk, &inside, ".%s", field->name);
	}
	return result;
}

int rfm_regions_each(const char *name, const struct rfm_place *place,
		     int (*each)(void *context, const char *name, const struct rfm_place *value),
		     void *context)
{
	struct walk walk = {
		.each = each, .context = context, .length = strlen(name),
		.end = place->offset + place->length, .to = UINT64_MAX,
	};

	if (walk.length >= RFM_REGION_PATH_MAX)
		return fail_with(ENAMETOOLONG);
	memcpy(walk.name, name, walk.length);
	return walk_place(&walk, place);
}

int rfm_regions_at(const struct rfm_regions *regions, uint64_t offset, uint64_t length,
		   int (*each)(void *context, const char *name, const struct rfm_place *value),
		   void *context)
{
	struct walk walk = {
		.each = each, .context = context, .from = offset, .lenient = true,
		.to = offset + length < offset ? UINT64_MAX : offset + length,
	};
	int result = 0;

	for (const struct rfm_region *region = regions->regions; region && !result;
	     region = region->next) {
		struct rfm_place place = whole_memory(regions);

		enter(&place, region);
		if (!touches(&walk, &place))
			continue;
		walk.length = strlen(region->name);
		memcpy(walk.name, region->name, walk.length + 1);
		walk.end = place.offset + place.length;
		result = walk_place(&walk, &place);
	}
	return result;
}
