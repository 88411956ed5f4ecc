/* SPDX-License-Identifier: MIT */
/*
 * From text to regions: what the files regions*.c share.
 *
 *	regions_yaml.c		text -> a tree of keys and words (struct item)
 *	regions_decode.c	that tree -> declarations (struct region)
 *	regions_layout.c	sizes, and what is wrong with the layout
 *	regions.c		the calls, complaints, memory
 *	regions_find.c		names
 *	regions_value.c		values
 *	regions_place.c		values in the memory of a handle of librfm
 *	regions_io.c		many of them, each cycle
 */
#ifndef RFM_REGIONS_PRIVATE_H
#define RFM_REGIONS_PRIVATE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fail.h"
#include "rfm/regions.h"

#define REGIONS_SPACE	(1ull << 32)	/* no offset and no size is larger */
#define REGIONS_GRANULE	64		/* bytes that have one owner, one subscription */

/* Memory that is given back as a whole. */
struct arena {
	struct chunk *chunks;
};

/* A key of the file and what it has. */
struct item {
	struct item *next;	/* the next in the same mapping */
	struct item *children;	/* of a mapping */
	const char *key;	/* its name */
	const char *text;	/* its word; NULL: it has a mapping */
	uint32_t line;		/* from 1 */
	/* The key was in this mapping before, which has been complained about. */
	bool again;
};

/* A declaration and what is needed while it is made. */
struct region {
	struct rfm_region pub;		/* what users see; first */
	unsigned int levels;		/* structures in it, itself included */
	/* Byte order of its values, as far as said here or by its type. */
	uint32_t order;
	bool placed;			/* it has a good offset */
	bool owners;			/* something in it names an owner */
	bool told;			/* its owner has been complained about */
	enum { REGION_NEW, REGION_BUSY, REGION_DONE } state;	/* of the computation of its size */
};

/* What rfm_regions_load() returns. */
struct regions {
	struct rfm_regions pub;	/* what users see; first */
	struct arena arena;	/* all memory that @pub points to */
};

/* A file that is being read. */
struct job {
	struct regions *regions;	/* what has been made of it */
	struct arena scratch;		/* memory that is needed until all is read */
	/* The definitions of the file, @type_count of them, by name; layout_sizes() has them. */
	const struct rfm_region **types;
	size_t type_count;
	struct rfm_regions_complaint *complaints;	/* in the order in which they were found */
	size_t count;			/* of them */
	size_t room;			/* for so many */
	bool no_memory;			/* something is missing for want of memory */
};

void *job_get(struct job *job, struct arena *arena, size_t size);
char *job_copy(struct job *job, struct arena *arena, const char *text);
void regions_complain(struct job *job, uint32_t line, uint32_t fault, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));
#define malformed(job, line, ...)	regions_complain(job, line, RFM_REGIONS_FORM, __VA_ARGS__)

/* Tells @report why a name is not taken; fails with @error. */
int refused(const struct rfm_regions *regions, rfm_regions_report *report, void *context, int error,
	    uint32_t line, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Room for a sentence; what it quotes is cut. */
#define SENTENCE_MAX	400

struct item *yaml_read(struct job *job, const char *text, size_t length);
void decode(struct job *job, const struct item *file);
void layout_sizes(struct job *job);
void layout_check(struct job *job, uint64_t memory_size);

bool name_is_good(const char *name, size_t length);
bool type_from_name(const char *name, uint32_t *type);
unsigned int type_size(uint32_t type);
bool type_is_signed(uint32_t type);
#define DIGITS_MAX	32	/* of a number that is no value: more are refused */
int number_scan(const char *text, size_t length, bool *negative, uint64_t *magnitude);

static inline struct region *region_of(const struct rfm_region *pub)
{
	return (struct region *)(uintptr_t)pub;
}

/* One value, its @bytes as they are in the memory; errors as rfm_store8(). */
int place_store(struct rfm *rfm, const struct rfm_place *place, const void *bytes);

/* Bytes of all elements. */
static inline uint64_t region_length(const struct rfm_region *region)
{
	return region->size * region->count;
}

#endif
