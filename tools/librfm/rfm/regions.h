/* SPDX-License-Identifier: MIT */
/*
 * Named, typed regions: what lies where in the reflected memory, who writes it, in
 * what unit. The text file that says so is described in rfm-regions(5); each call
 * has a manual page.
 *
 * Loading and checking read a file and allocate. All other calls work on what was
 * loaded, which nobody changes: they allocate nothing, take no lock, make no system
 * call, and any thread may make them at any time. Only those with a handle of librfm
 * touch a card.
 *
 * Structures grow into their reserved words, which are 0, and must be in those that a
 * program makes itself.
 */
#ifndef RFM_REGIONS_H
#define RFM_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RFM_API
#define RFM_API	__attribute__((visibility("default")))
#endif

#define RFM_REGIONS_DEFAULT	"/etc/rfm/regions.yaml"
#define RFM_REGIONS_FILE_MAX	(16 << 20)	/* bytes of a file */
#define RFM_REGION_NAME_MAX	64		/* of one name, its end included */
#define RFM_REGION_LEVELS	8		/* structures in structures */
#define RFM_REGION_PATH_MAX	((RFM_REGION_LEVELS + 1) * (RFM_REGION_NAME_MAX + 13))
#define RFM_REGION_COUNT_MAX	(1u << 28)	/* elements of an array */
#define RFM_REGION_TEXT_MAX	512		/* print of any value but text, its end included */

enum rfm_region_type {
	RFM_REGION_STRUCT,
	RFM_REGION_INT8,
	RFM_REGION_UINT8,
	RFM_REGION_INT16,
	RFM_REGION_UINT16,
	RFM_REGION_INT32,
	RFM_REGION_UINT32,
	RFM_REGION_INT64,
	RFM_REGION_UINT64,
	RFM_REGION_FLOAT,
	RFM_REGION_DOUBLE,
	RFM_REGION_BOOL,	/* one byte, 0 or 1 */
	RFM_REGION_CHAR,	/* all elements together are one value, a text */
	RFM_REGION_TYPES
};

enum rfm_region_order {
	RFM_REGION_INHERIT,	/* as what it lies in; a file without any is little-endian */
	RFM_REGION_LITTLE,
	RFM_REGION_BIG
};

#define RFM_REGION_NOBODY	(-1)	/* no owner is named here */

/**
 * struct rfm_region_name - what bits of a value, or a value, are called
 * @next: the next beside it, in the order of the file; NULL after the last
 * @name: "running"
 * @value: of an enumeration: the number, sign-extended; of bits 0
 * @first: of bits: the lowest, from 0
 * @last: the highest; @first if it is one
 * @line: where in the file, from 1
 * @pad, @reserved: 0
 */
struct rfm_region_name {
	const struct rfm_region_name *next;
	const char *name;
	uint64_t value;
	uint32_t first;
	uint32_t last;
	uint32_t line;
	uint32_t pad;
	uint64_t reserved[2];
};

/**
 * struct rfm_region - a region, a field, or the definition of a type, as the file has it
 * @next: the next beside it, in the order of the file; NULL after the last
 * @fields: of a structure, be it defined here or elsewhere; NULL for all else
 * @name: "pump"
 * @type_name: name of the defined structure; NULL for basic types and structures
 *	that are defined here
 * @unit: "" if there is none
 * @description: one line; "" if there is none
 * @offset: bytes, in the memory (region) or in its structure (field)
 * @size: bytes of one element, to the next of an array
 * @stated_size: @size if the file says it, otherwise 0
 * @period_ns: time between two updates, 0 if not said
 * @count: elements; 1 if it is no array
 * @align: @offset should be a multiple of it
 * @line: where in the file, from 1
 * @owner: id of the node that writes it, or RFM_REGION_NOBODY
 * @type: enum rfm_region_type: what one element is
 * @order: enum rfm_region_order: byte order, as far as said here
 * @scale: in @unit, a value is what stands in the memory times @scale, plus @bias; 0: it
 *	is what stands there
 * @bias: see @scale
 * @bits: named bits; NULL if there are none
 * @values: named values; NULL if there are none
 * @reserved: 0
 */
struct rfm_region {
	const struct rfm_region *next;
	const struct rfm_region *fields;
	const char *name;
	const char *type_name;
	const char *unit;
	const char *description;
	uint64_t offset;
	uint64_t size;
	uint64_t stated_size;
	uint64_t period_ns;
	uint32_t count;
	uint32_t align;
	uint32_t line;
	int32_t owner;
	uint32_t type;
	uint32_t order;
	double scale;
	double bias;
	const struct rfm_region_name *bits;
	const struct rfm_region_name *values;
	uint64_t reserved[8];
};

/**
 * struct rfm_regions - a file
 * @path: as it was named
 * @description: one line; "" if there is none
 * @types: the structures that it defines
 * @regions: what lies in the memory
 * @memory_size: bytes, 0 if not said
 * @order: enum rfm_region_order: byte order, as far as said for all
 * @pad, @reserved: 0
 */
struct rfm_regions {
	const char *path;
	const char *description;
	const struct rfm_region *types;
	const struct rfm_region *regions;
	uint64_t memory_size;
	uint32_t order;
	uint32_t pad;
	uint64_t reserved[8];
};

/**
 * struct rfm_place - what a name means: a range of the memory and what is in it
 * @region: its declaration, which has names and scale of the value; NULL: there is none
 * @unit: "" if there is none
 * @offset: in the memory, bytes
 * @length: bytes, of all elements
 * @period_ns: its own, or that of what it lies in; 0 if not said
 * @count: elements; 1 after an index
 * @owner: its own, or that of what it lies in, or RFM_REGION_NOBODY
 * @type: enum rfm_region_type: what one element is
 * @order: RFM_REGION_LITTLE or RFM_REGION_BIG
 * @reserved: 0
 */
struct rfm_place {
	const struct rfm_region *region;
	const char *unit;
	uint64_t offset;
	uint64_t length;
	uint64_t period_ns;
	uint32_t count;
	int32_t owner;
	uint32_t type;
	uint32_t order;
	uint64_t reserved[8];
};

enum rfm_regions_fault {
	RFM_REGIONS_FORM,	/* it is not what rfm-regions(5) says: cannot be loaded */
	RFM_REGIONS_OVERLAP,	/* two lie on the same bytes */
	RFM_REGIONS_ALIGNMENT,	/* a value cannot be one load and one store */
	RFM_REGIONS_BEYOND,	/* behind the end of the memory, or of its structure */
	RFM_REGIONS_OWNERS	/* two owners in a granule of 64 bytes */
};

/**
 * struct rfm_regions_complaint - what is wrong
 * @path: of the file
 * @sentence: without file and line, valid during the call
 * @line: from 1; 0: the file as a whole
 * @fault: enum rfm_regions_fault: which kind
 * @reserved: 0
 */
struct rfm_regions_complaint {
	const char *path;
	const char *sentence;
	uint32_t line;
	uint32_t fault;
	uint64_t reserved[4];
};

/** rfm_regions_report - who is told; in the order of the lines */
typedef void rfm_regions_report(void *context, const struct rfm_regions_complaint *complaint);

/* --- a file -------------------------------------------------------------------- */

/**
 * rfm_regions_load() - read a file
 * @path: NULL: what the environment variable RFM_REGIONS names, otherwise
 *	RFM_REGIONS_DEFAULT
 * @report: told all that is wrong; may be NULL
 * @context: for @report
 *
 * Only what keeps the file from being understood is an error; overlaps and the
 * like are for rfm_regions_check(). Returns NULL with errno: EINVAL the file is
 * not good; EFBIG it is too large; ENOMEM; or what open(2) and read(2) said.
 */
RFM_API struct rfm_regions *rfm_regions_load(const char *path, rfm_regions_report *report,
					     void *context);

/**
 * rfm_regions_parse() - the same from memory
 * @path: for complaints
 * @text: @length bytes; not needed any more afterwards
 */
RFM_API struct rfm_regions *rfm_regions_parse(const char *path, const char *text, size_t length,
					      rfm_regions_report *report, void *context);

/** rfm_regions_free() - and all that it points to; NULL is allowed */
RFM_API void rfm_regions_free(struct rfm_regions *regions);

/**
 * rfm_regions_check() - all that is wrong with a file
 * @path: as rfm_regions_load()
 * @memory_size: bytes that there are; 0: as the file says, if it does
 *
 * Returns how many complaints there were, at most INT_MAX, or -1 with errno if
 * the file could not be read.
 */
RFM_API int rfm_regions_check(const char *path, uint64_t memory_size, rfm_regions_report *report,
			      void *context);

/* --- names ------------------------------------------------------------------------ */

/**
 * rfm_regions_find() - what does a name mean?
 * @name: "pump", "pump.pressure", "loop.setpoint[3]", "axis[2].limit[0]"
 * @place: set on success only
 * @report: told why not; may be NULL
 *
 * Returns 0, or -1 with errno: EINVAL @name is not of that form, or goes into an
 * array without an index; ENOENT there is nothing of that name; ERANGE the index
 * is beyond the array.
 */
RFM_API int rfm_regions_find(const struct rfm_regions *regions, const char *name,
			     struct rfm_place *place, rfm_regions_report *report, void *context);

/**
 * rfm_regions_each() - all values in a range, in the order of the file
 * @name: of @place, with which the names of its values begin
 * @place: of rfm_regions_find()
 * @each: called with the full name of each value and its place, whose @count is 1
 *	(a text: its size); ends it by returning other than 0
 *
 * Returns 0, or what @each returned; -1 with errno: ENAMETOOLONG the name of a
 * value would have RFM_REGION_PATH_MAX bytes or more; ERANGE a value ends beyond
 * @place, which rfm_regions_check() complains about. @each was called for the
 * values before that one.
 */
RFM_API int rfm_regions_each(const char *name, const struct rfm_place *place,
			     int (*each)(void *context, const char *name,
					 const struct rfm_place *value),
			     void *context);

/**
 * rfm_regions_at() - what lies in these bytes of the memory?
 * @offset: in the memory, bytes
 * @length: bytes
 * @each: called with the full name of each value that has a byte among them, and its
 *	place, as by rfm_regions_each(); ends it by returning other than 0
 *
 * Regions come in the order of the file. Values of a structure whose stated size is
 * too small for them are passed over. Returns 0, or what @each returned.
 */
RFM_API int rfm_regions_at(const struct rfm_regions *regions, uint64_t offset, uint64_t length,
			   int (*each)(void *context, const char *name,
				       const struct rfm_place *value),
			   void *context);

/** rfm_region_type_name() - "uint16"; "struct" for a structure, NULL for no type */
RFM_API const char *rfm_region_type_name(uint32_t type);

/* --- values ---------------------------------------------------------------------- */

/**
 * rfm_value_print() - a value as text
 * @place: one value
 * @bytes: @place->length of them as they are in the memory, any alignment
 * @text: filled in like snprintf(3) does; @size bytes
 *
 * As the file says: a name of @values; "running|mode=3|0x80" of @bits, "0" if none is set;
 * scaled; otherwise as it is.
 *
 * Reads back with rfm_value_scan(). The same in every locale. Returns the length
 * of the whole text, also when @size was too small, or -1 with errno EINVAL:
 * @place is not one value.
 */
RFM_API int rfm_value_print(const struct rfm_place *place, const void *bytes, char *text,
			    size_t size);

/**
 * rfm_value_scan() - text as a value
 * @text: all of it is the value
 * @bytes: room for @place->length of them; unchanged after an error
 *
 * Where there are names, a number does too; what is scaled is rounded to what can stand in
 * the memory. Errors: EINVAL @text is no value of this type, or @place is not one value;
 * ERANGE it does not fit.
 */
RFM_API int rfm_value_scan(const struct rfm_place *place, const char *text, void *bytes);

/**
 * rfm_value_real() - a value as a number, scaled if the file says so
 * @place: one value, no text
 * @bytes: as of rfm_value_print()
 * @real: set on success only; of 64 bits only 53 count
 */
RFM_API int rfm_value_real(const struct rfm_place *place, const void *bytes, double *real);

/**
 * rfm_value_set_real() - and back
 * @bytes: as of rfm_value_scan()
 *
 * Rounded to what can stand in the memory. Errors: EINVAL, as rfm_value_real(); ERANGE it does
 * not fit.
 */
RFM_API int rfm_value_set_real(const struct rfm_place *place, double real, void *bytes);

/**
 * rfm_value_integer() - a value as it stands in the memory, neither scaled nor named
 * @place: one integer or bool
 * @integer: set on success only
 *
 * Errors: EINVAL; ERANGE it is 2^63 or more.
 */
RFM_API int rfm_value_integer(const struct rfm_place *place, const void *bytes, int64_t *integer);

/** rfm_value_set_integer() - and back; EINVAL, ERANGE */
RFM_API int rfm_value_set_integer(const struct rfm_place *place, int64_t integer, void *bytes);

/* --- values in the memory of a handle ------------------------------------------------ */

struct rfm;

/**
 * rfm_place_load() - load a value and print it
 * @rfm: of rfm_open()
 * @place: one value
 * @text: as rfm_value_print(), with what it returns; of a text with at most
 *	RFM_PLACE_TEXT_MAX bytes (EMSGSIZE)
 *
 * Loads once, so that it is never seen in part; EINVAL where it lies across (a text apart,
 * which is read by rfm_read()). Errors as rfm_load8().
 */
RFM_API int rfm_place_load(struct rfm *rfm, const struct rfm_place *place, char *text,
			   size_t size);

/** rfm_place_store() - scan a value and store it, once; errors as rfm_value_scan(), rfm_store8() */
RFM_API int rfm_place_store(struct rfm *rfm, const struct rfm_place *place, const char *text);

#define RFM_PLACE_TEXT_MAX	4096	/* bytes of a text that rfm_place_load() takes */

/** rfm_place_load_real() - load a value once, as rfm_value_real(); errors as that, rfm_load8() */
RFM_API int rfm_place_load_real(struct rfm *rfm, const struct rfm_place *place, double *real);

/** rfm_place_store_real() - and back; errors as rfm_value_set_real(), rfm_store8() */
RFM_API int rfm_place_store_real(struct rfm *rfm, const struct rfm_place *place, double real);

/** rfm_place_load_integer() - as rfm_value_integer(); errors as that, rfm_load8() */
RFM_API int rfm_place_load_integer(struct rfm *rfm, const struct rfm_place *place,
				   int64_t *integer);

/** rfm_place_store_integer() - and back; errors as rfm_value_set_integer(), rfm_store8() */
RFM_API int rfm_place_store_integer(struct rfm *rfm, const struct rfm_place *place,
				    int64_t integer);

#ifdef __cplusplus
}
#endif

#endif
