// SPDX-License-Identifier: MIT
/*
 * Sizes of structures, and what is wrong with the layout.
 *
 * Fields are listed once, for however many arrays and types they stand: each
 * structure is checked where it is defined. Only owners depend on where in the
 * memory a structure comes to lie.
 */
#include "regions_private.h"

#include <stdlib.h>
#include <string.h>

/* --- sizes ---------------------------------------------------------------------- */

static int by_name(const void *one, const void *other)
{
	const struct rfm_region *const *a = one, *const *b = other;

	return strcmp((*a)->name, (*b)->name);
}

/* The regions of a list in another order, none if there is no memory. */
static const struct rfm_region **sorted_list(struct job *job, const struct rfm_region *list,
					     int (*order)(const void *one, const void *other),
					     size_t *count)
{
	const struct rfm_region **sorted;
	size_t i = 0;

	*count = 0;
	for (const struct rfm_region *region = list; region; region = region->next)
		++*count;
	sorted = job_get(job, &job->scratch, *count * sizeof(*sorted));
	for (; list && sorted; list = list->next)
		sorted[i++] = list;
	*count = i;
	if (i)
		qsort(sorted, i, sizeof(*sorted), order);
	return sorted;
}

static struct region *find_type(const struct job *job, const char *name)
{
	const struct rfm_region key = { .name = name }, *pointer = &key, **found = NULL;

	if (job->type_count)
		found = bsearch(&pointer, job->types, job->type_count, sizeof(*job->types),
				by_name);
	return found ? region_of(*found) : NULL;
}

static void size_structure(struct job *job, struct region *region, unsigned int depth);

/* What the structure of a type definition is, is what a region of that type is. */
static void size_named(struct job *job, struct region *region, unsigned int depth)
{
	struct region *type = find_type(job, region->pub.type_name);

	if (!type) {
		malformed(job, region->pub.line,
			  "there is no type '%.70s', of which '%.70s' is said to be",
			  region->pub.type_name, region->pub.name);
		return;
	}
	if (type->state == REGION_BUSY) {
		malformed(job, region->pub.line, "'%.70s' lies in itself: it is of type '%.70s'",
			  region->pub.name, type->pub.name);
		return;
	}
	if (type->state == REGION_NEW)
		size_structure(job, type, depth + 1);
	region->pub.fields = type->pub.fields;
	region->pub.size = type->pub.size;
	region->pub.align = type->pub.align;
	region->levels = type->levels;
	region->owners = type->owners;
	if (!region->order)
		region->order = type->pub.order;
}

static void size_region(struct job *job, struct region *region, unsigned int depth)
{
	struct rfm_region *pub = &region->pub;

	region->order = pub->order;
	if (pub->type) {
		pub->size = pub->align = type_size(pub->type);
	} else if (pub->type_name) {
		size_named(job, region, depth);
	} else {
		size_structure(job, region, depth + 1);
	}
	if (pub->size && pub->count > (REGIONS_SPACE - pub->offset) / pub->size) {
		malformed(job, pub->line,
			  "'%.70s' ends beyond 4 GiB: %u times %llu bytes from 0x%llx", pub->name,
			  pub->count, (unsigned long long)pub->size,
			  (unsigned long long)pub->offset);
		pub->count = 1;
		region->placed = false;
	}
}

/* Nobody who walks through structures has to expect more levels than there may be. */
static void cut(struct job *job, struct region *region)
{
	malformed(job, region->pub.line,
		  "structures lie in each other more than %d deep at '%.70s'", RFM_REGION_LEVELS,
		  region->pub.name);
	region->pub.fields = NULL;
	region->levels = 1;
	region->owners = false;
}

static void size_structure(struct job *job, struct region *region, unsigned int depth)
{
	struct rfm_region *pub = &region->pub;
	uint64_t end = 0;

	region->state = REGION_BUSY;
	region->levels = 1;
	pub->align = 1;
	if (depth > RFM_REGION_LEVELS)
		cut(job, region);
	for (const struct rfm_region *at = pub->fields; at; at = at->next) {
		struct region *field = region_of(at);

		size_region(job, field, depth);
		if (region->levels <= field->levels)
			region->levels = field->levels + 1;
		region->owners |= field->owners || at->owner != RFM_REGION_NOBODY;
		if (pub->align < at->align)
			pub->align = at->align;
		if (end < at->offset + region_length(at))
			end = at->offset + region_length(at);
	}
	if (region->levels > RFM_REGION_LEVELS)
		cut(job, region);
	pub->size = pub->stated_size ? pub->stated_size :
		    (end + pub->align - 1) / pub->align * pub->align;
	region->state = REGION_DONE;
}

/* Looks up types, computes sizes, complains of what has none. */
void layout_sizes(struct job *job)
{
	const struct rfm_regions *file = &job->regions->pub;

	job->types = sorted_list(job, file->types, by_name, &job->type_count);
	for (const struct rfm_region *type = file->types; type; type = type->next)
		if (region_of(type)->state == REGION_NEW)
			size_structure(job, region_of(type), 1);
	for (const struct rfm_region *region = file->regions; region; region = region->next)
		size_region(job, region_of(region), 0);
}

/* --- overlaps, alignment, ends --------------------------------------------------------- */

static int by_offset(const void *one, const void *other)
{
	const struct rfm_region *const *a = one, *const *b = other;

	if ((*a)->offset != (*b)->offset)
		return (*a)->offset < (*b)->offset ? -1 : 1;
	return (*a)->line < (*b)->line ? -1 : (*a)->line > (*b)->line;
}

/* Is it known where it is, and how large? */
static bool is_placed(const struct rfm_region *region)
{
	return region_of(region)->placed && region->size;
}

static unsigned long long last_byte(const struct rfm_region *region)
{
	return region->offset + region_length(region) - 1;
}

static void complain_overlap(struct job *job, const struct rfm_region *a,
			     const struct rfm_region *b)
{
	const struct rfm_region *late = a->line > b->line ? a : b, *early = late == a ? b : a;

	regions_complain(job, late->line, RFM_REGIONS_OVERLAP,
			 "'%.70s' at 0x%llx to 0x%llx overlaps '%.70s' at 0x%llx to 0x%llx of line %u",
			 late->name, (unsigned long long)late->offset, last_byte(late), early->name,
			 (unsigned long long)early->offset, last_byte(early), early->line);
}

/* Each that begins before another has ended is told, with the one that ends last. */
static void check_overlaps(struct job *job, const struct rfm_region *list)
{
	const struct rfm_region **sorted, *furthest = NULL;
	size_t count;

	sorted = sorted_list(job, list, by_offset, &count);
	for (size_t i = 0; i < count; i++) {
		if (!is_placed(sorted[i]))
			continue;
		if (furthest && sorted[i]->offset <= last_byte(furthest))
			complain_overlap(job, furthest, sorted[i]);
		if (!furthest || last_byte(sorted[i]) > last_byte(furthest))
			furthest = sorted[i];
	}
}

static void check_alignment(struct job *job, const struct rfm_region *list)
{
	for (; list; list = list->next)
		if (list->align > 1 && list->offset % list->align)
			regions_complain(job, list->line, RFM_REGIONS_ALIGNMENT,
					 "'%.70s' at 0x%llx is misaligned: not at a multiple of %u",
					 list->name, (unsigned long long)list->offset, list->align);
}

static void check_structure(struct job *job, const struct rfm_region *region)
{
	check_overlaps(job, region->fields);
	check_alignment(job, region->fields);
	if (region->align > 1 && region->size % region->align)
		regions_complain(job, region->line, RFM_REGIONS_ALIGNMENT,
				 "the size of '%.70s', 0x%llx, is misaligned: not a multiple of %u",
				 region->name, (unsigned long long)region->size, region->align);
	for (const struct rfm_region *field = region->fields; field; field = field->next) {
		if (is_placed(field) && last_byte(field) >= region->size)
			regions_complain(job, field->line, RFM_REGIONS_BEYOND,
					 "'%.70s' at 0x%llx to 0x%llx ends beyond '%.70s', which has 0x%llx bytes",
					 field->name, (unsigned long long)field->offset, last_byte(field),
					 region->name, (unsigned long long)region->size);
		if (!field->type && !field->type_name)
			check_structure(job, field);
	}
}

/* --- owners ------------------------------------------------------------------------ */

#define VISITS_MAX	(1u << 20)	/* of declarations, in search of owners */

/* Bytes of the memory with an owner. */
struct span {
	const struct rfm_region *region;
	uint64_t first, last;
	int32_t owner;
};

struct spans {
	struct job *job;
	struct span *list;
	size_t count, room, visits;
	bool full;		/* no more is gathered */
};

static void add_span(struct spans *spans, const struct rfm_region *region, uint64_t first,
		     uint64_t length, int32_t owner)
{
	struct span *more;

	if (owner == RFM_REGION_NOBODY || !length || spans->full)
		return;
	if (spans->count == spans->room) {
		more = realloc(spans->list, (spans->room * 2 + 64) * sizeof(*more));
		if (!more) {
			spans->job->no_memory = spans->full = true;
			return;
		}
		spans->list = more;
		spans->room = spans->room * 2 + 64;
	}
	spans->list[spans->count++] = (struct span){ region, first, first + length - 1, owner };
}

/*
 * Where in its granule an element of an array begins comes again after at most 64
 * elements: these, and the last one with what lies behind the array, stand for all.
 */
static void gather(struct spans *spans, const struct rfm_region *region, uint64_t offset,
		   int32_t owner)
{
	uint32_t count = region->count;

	if (!is_placed(region))
		return;
	spans->full |= ++spans->visits > VISITS_MAX;
	if (region->owner != RFM_REGION_NOBODY)
		owner = region->owner;
	if (!region_of(region)->owners) {
		add_span(spans, region, offset, region_length(region), owner);
		return;
	}
	for (uint32_t i = 0; i < count && !spans->full; i++) {
		if (i > REGIONS_GRANULE && i < count - 1)
			i = count - 1;
		for (const struct rfm_region *field = region->fields; field; field = field->next)
			gather(spans, field, offset + i * region->size + field->offset, owner);
	}
}

static int by_first(const void *one, const void *other)
{
	const struct span *a = one, *b = other;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->region->line < b->region->line ? -1 : a->region->line > b->region->line;
}

/* A declaration is told once, not for each element of its arrays. */
static void complain_owners(struct job *job, const struct span *a, const struct span *b)
{
	const struct span *late = a->region->line > b->region->line ? a : b;
	const struct span *early = late == a ? b : a;
	struct region *region = region_of(late->region);

	if (!region->told)
		regions_complain(job, late->region->line, RFM_REGIONS_OWNERS,
				 "two owners in the granule of 64 bytes at 0x%llx: node %d of '%.70s',"
				 " and node %d of '%.70s' of line %u",
				 (unsigned long long)b->first / REGIONS_GRANULE * REGIONS_GRANULE,
				 late->owner, late->region->name, early->owner, early->region->name,
				 early->region->line);
	region->told = true;
}

static void check_owners(struct job *job)
{
	struct spans spans = { .job = job };
	const struct span *furthest;

	for (const struct rfm_region *region = job->regions->pub.regions; region;
	     region = region->next)
		gather(&spans, region, region->offset, RFM_REGION_NOBODY);
	if (spans.full && !job->no_memory)
		regions_complain(job, 0, RFM_REGIONS_OWNERS,
				 "owners change too often in this file to be checked");
	if (spans.count)
		qsort(spans.list, spans.count, sizeof(*spans.list), by_first);
	furthest = spans.list;
	for (size_t i = 1; i < spans.count; i++) {
		const struct span *span = &spans.list[i];

		if (furthest->owner != span->owner &&
		    span->first / REGIONS_GRANULE <= furthest->last / REGIONS_GRANULE)
			complain_owners(job, furthest, span);
		if (span->last >= furthest->last)
			furthest = span;
	}
	free(spans.list);
}

/* All that is wrong with the layout, as far as the file is understood. */
void layout_check(struct job *job, uint64_t memory_size)
{
	const struct rfm_regions *file = &job->regions->pub;

	check_overlaps(job, file->regions);
	check_alignment(job, file->regions);
	for (const struct rfm_region *type = file->types; type; type = type->next)
		check_structure(job, type);
	for (const struct rfm_region *region = file->regions; region; region = region->next) {
		if (!region->type && !region->type_name)
			check_structure(job, region);
		if (memory_size && is_placed(region) && last_byte(region) >= memory_size)
			regions_complain(job, region->line, RFM_REGIONS_BEYOND,
					 "'%.70s' at 0x%llx to 0x%llx ends beyond the memory, which has 0x%llx bytes",
					 region->name, (unsigned long long)region->offset,
					 last_byte(region), (unsigned long long)memory_size);
	}
	check_owners(job);
}
