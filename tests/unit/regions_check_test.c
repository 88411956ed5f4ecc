// SPDX-License-Identifier: MIT
/* links: tools/librfm/regions.c tools/librfm/regions_yaml.c tools/librfm/regions_decode.c */
/* links: tools/librfm/regions_layout.c tools/librfm/regions_find.c tools/librfm/regions_value.c */
/* What is wrong with files of regions, and hostile ones. */
#include "tests/unit/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Complaints of a check; the file needs a place for that. */
static void check(const char *text, uint64_t memory_size, struct told *told)
{
	char path[] = "test-XXXXXX";
	int fd = mkstemp(path), wrong;

	*told = (struct told){ .count = 0 };
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(rename(path, "test"), 0);
	wrong = rfm_regions_check("test", memory_size, tell, told);
	unlink("test");
	assert_int_equal(wrong, told->count);
}

static int own_folder(void **state)
{
	static char folder[] = "/tmp/regions-check-XXXXXX";

	*state = mkdtemp(folder);
	return *state ? chdir(*state) : -1;
}

static int leave_folder(void **state)
{
	return chdir("/") || rmdir(*state);
}

#define HEAD "rfm-regions: 1\n"
#define REGIONS HEAD "regions:\n"
#define SIXTYNINE "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define FIELD(x) "  a: {offset: 0, " x "}\n"

/* What keeps a file from being loaded: one complaint each. */
static const struct {
	const char *text, *told;
} forms[] = {
	{ "", "0: the file is empty\n" },
	{ "# nothing\n", "0: the file is empty\n" },
	{ "words\n", "1: 'key: value' is expected here\n" },
	{ "[1]\n", "1: there is no place for a list here\n" },
	{ "regions: {}\n", "1: this is no file of regions: it has no 'rfm-regions: 1'\n" },
	{ HEAD, "1: there is no 'regions'\n" },
	{ "rfm-regions: 2\nregions: {}\n",
	  "1: version '2' of the format is not known, only 1\n" },
	{ REGIONS "  {}\n" "colour: red\n", "4: a file has no key 'colour'\n" },
	{ HEAD "regions: 5\n", "2: 'regions' needs 'key: value' below it, not a word\n" },
	{ HEAD "memory: {a: 1}\nregions: {}\n", "2: 'memory' needs a word, not 'key: value'\n" },
	{ HEAD "memory: 0\nregions: {}\n", "2: memory 0 is out of range: 0x1 to 0x100000000\n" },
	{ HEAD "byte-order: middle\nregions: {}\n",
	  "2: byte-order is little or big, not 'middle'\n" },
	{ HEAD "regions: {}\nregions: {}\n", "3: 'regions' is here a second time, after line 2\n" },
	{ REGIONS "\ta: 1\n", "3: this is not YAML: found character that cannot start any token\n" },
	{ REGIONS "  a: [1]\n", "3: there is no place for a list here\n" },
	{ REGIONS "  a: &x {}\n", "3: there is no place for an anchor (&) here\n" },
	{ REGIONS "  a: *x\n", "3: there is no place for an alias (*) here\n" },
	{ REGIONS "  a: !!map {}\n", "3: there is no place for a tag (!) here\n" },
	{ REGIONS "  a: !!str b\n", "3: there is no place for a tag (!) here\n" },
	{ REGIONS "  ? {}\n  : b\n", "3: a name is expected here\n" },
	{ REGIONS "  a: \"\\0\"\n", "3: a word has a NUL in it\n" },
	{ REGIONS "  a: \x01\n", "3: this is not YAML: control characters are not allowed\n" },
	{ REGIONS "  a: \xff\n", "3: this is not YAML: invalid leading UTF-8 octet\n" },
	{ REGIONS "  {}\n---\na: b\n", "4: a second document begins here\n" },
	{ REGIONS "  a: {offset: 0, type: int8\n",
	  "4: this is not YAML: did not find expected ',' or '}'\n" },
	{ REGIONS "  a:\n", "3: 'a' needs 'key: value' below it, not a word\n" },
	{ REGIONS "  a: {type: int8}\n", "3: 'a' has no offset\n" },
	{ REGIONS "  a: {offset: 0}\n", "3: 'a' has neither a type nor fields\n" },
	{ REGIONS FIELD("type: int8, fields: {b: {offset: 0, type: int8}}"),
	  "3: 'a' has both a type and fields\n" },
	{ REGIONS FIELD("type: int8, size: 4"),
	  "3: 'a' has a size, which only a structure with fields has\n" },
	{ REGIONS FIELD("fields: {}"), "3: a structure has at least one field\n" },
	{ REGIONS FIELD("fields: {b: {offset: 0, type: int8}}, unit: m"),
	  "3: 'a' has a unit, which only a value has\n" },
	{ REGIONS FIELD("type: int16, scale: 0"), "3: the scale of 'a' is 0\n" },
	{ REGIONS FIELD("type: int16, scale: x"), "3: scale 'x' is not a number such as 0.01\n" },
	{ REGIONS FIELD("type: int16, scale: nan"),
	  "3: scale 'nan' is not a number such as 0.01\n" },
	{ REGIONS FIELD("type: int16, bias: inf"),
	  "3: bias 'inf' is not a number such as 0.01\n" },
	{ REGIONS FIELD("type: int16, scale: 1e-20, bias: 1"),
	  "3: scale and bias of 'a' leave its values no numbers of their own\n" },
	{ REGIONS FIELD("type: float, scale: 2"),
	  "3: 'a' has a scale, which only an integer of up to 32 bits has\n" },
	{ REGIONS FIELD("type: int64, bias: 2"),
	  "3: 'a' has a scale, which only an integer of up to 32 bits has\n" },
	{ REGIONS FIELD("type: int16, bits: {b: 1}"),
	  "3: 'a' has bits, which only an unsigned integer has\n" },
	{ REGIONS FIELD("fields: {f: {offset: 0, type: int8}}, bits: {b: 1}"),
	  "3: 'a' has bits, which only an unsigned integer has\n" },
	{ REGIONS FIELD("type: float, values: {b: 1}"),
	  "3: 'a' has values, which only an integer has\n" },
	{ REGIONS FIELD("type: uint8, values: {b: 1}, scale: 2"),
	  "3: 'a' has more than one of scale, bits and values\n" },
	{ REGIONS FIELD("type: uint8, bits: {}"), "3: 'bits' has no names\n" },
	{ REGIONS FIELD("type: uint8, bits: 3"),
	  "3: 'bits' needs 'key: value' below it, not a word\n" },
	{ REGIONS FIELD("type: uint8, bits: {b: 8}"), "3: bit 8 of 'b' is none of uint8\n" },
	{ REGIONS FIELD("type: uint8, bits: {b: x}"),
	  "3: 'x' of 'b' is no bit from 0 to 63, nor bits such as 4-6\n" },
	{ REGIONS FIELD("type: uint8, bits: {b: 3-1}"),
	  "3: '3-1' of 'b' is no bit from 0 to 63, nor bits such as 4-6\n" },
	{ REGIONS FIELD("type: uint64, bits: {b: 0-64}"),
	  "3: '0-64' of 'b' is no bit from 0 to 63, nor bits such as 4-6\n" },
	{ REGIONS FIELD("type: uint8, bits: {b: 0-3, c: 3}"),
	  "3: the bits of 'c' have another name already\n" },
	{ REGIONS FIELD("type: uint8, bits: {b c: 0}"),
	  "3: 'b c' is no name: a letter, then letters, digits and _, at most 63\n" },
	{ REGIONS FIELD("type: uint8, bits: {b: {c: 1}}"),
	  "3: 'b' needs a word, not 'key: value'\n" },
	{ REGIONS FIELD("type: uint8, values: {b: 256}"),
	  "3: the value of 'b' does not fit in uint8\n" },
	{ REGIONS FIELD("type: uint8, values: {b: -1}"),
	  "3: the value of 'b' does not fit in uint8\n" },
	{ REGIONS FIELD("type: int8, values: {b: 128}"),
	  "3: the value of 'b' does not fit in int8\n" },
	{ REGIONS FIELD("type: int64, values: {b: 0x8000000000000000}"),
	  "3: the value of 'b' does not fit in int64\n" },
	{ REGIONS FIELD("type: int8, values: {b: on}"), "3: 'on' of 'b' is no integer\n" },
	{ REGIONS FIELD("type: int8, values: {b: 1, c: 0x1}"),
	  "3: 'c' has the value of 'b' of line 3\n" },
	{ REGIONS FIELD("type: int8, values: {b: 1, b: 2}"),
	  "3: 'b' is here a second time, after line 3\n" },
	{ REGIONS FIELD("type: int8, color: red"), "3: a region or field has no key 'color'\n" },
	{ HEAD "types:\n  t: {offset: 0, fields: {b: {offset: 0, type: int8}}}\nregions: {}\n",
	  "3: the definition of a type has no key 'offset'\n" },
	{ HEAD "types:\n  t: {description: x}\nregions: {}\n", "3: 't' has no fields\n" },
	{ REGIONS FIELD("type: int8, type: int8"), "3: 'type' is here a second time, after line 3\n" },
	{ REGIONS FIELD("type: int8") FIELD("type: int8"),
	  "4: 'a' is here a second time, after line 3\n" },
	{ REGIONS FIELD("type: INT8"), "3: there is no type 'INT8', of which 'a' is said to be\n" },
	{ REGIONS FIELD("type: struct"),
	  "3: there is no type 'struct', of which 'a' is said to be\n" },
	{ HEAD "types:\n  t: {fields: {u: {offset: 0, type: t}}}\nregions: {}\n",
	  "3: 'u' lies in itself: it is of type 't'\n" },
	{ REGIONS "  a b: {offset: 0, type: int8}\n",
	  "3: 'a b' is no name: a letter, then letters, digits and _, at most 63\n" },
	{ REGIONS "  \"\": {offset: 0, type: int8}\n",
	  "3: '' is no name: a letter, then letters, digits and _, at most 63\n" },
	{ REGIONS "  _a: {offset: 0, type: int8}\n",
	  "3: '_a' is no name: a letter, then letters, digits and _, at most 63\n" },
	{ REGIONS "  \"\\e[2J\": {offset: 0, type: int8}\n",
	  "3: '?[2J' is no name: a letter, then letters, digits and _, at most 63\n" },
	{ REGIONS "  class: {offset: 0, type: int8}\n",
	  "3: 'class' is a word of C, of C++ or of this file and cannot be a name\n" },
	{ REGIONS "  xor_eq: {offset: 0, type: int8}\n",
	  "3: 'xor_eq' is a word of C, of C++ or of this file and cannot be a name\n" },
	{ REGIONS "  alignas: {offset: 0, type: int8}\n",
	  "3: 'alignas' is a word of C, of C++ or of this file and cannot be a name\n" },
	{ REGIONS "  int8: {offset: 0, type: int8}\n",
	  "3: 'int8' is a word of C, of C++ or of this file and cannot be a name\n" },
	{ REGIONS "  a: {offset: x, type: int8}\n", "3: offset 'x' is not a number\n" },
	{ REGIONS "  a: {offset: '', type: int8}\n", "3: offset '' is not a number\n" },
	{ REGIONS "  a: {offset: K, type: int8}\n", "3: offset 'K' is not a number\n" },
	{ REGIONS "  a: {offset: 1.5, type: int8}\n", "3: offset '1.5' is not a number\n" },
	{ REGIONS "  a: {offset: -1, type: int8}\n",
	  "3: offset -1 is out of range: 0x0 to 0xffffffff\n" },
	{ REGIONS "  a: {offset: 4096M, type: int8}\n",
	  "3: offset 4096M is out of range: 0x0 to 0xffffffff\n" },
	{ REGIONS "  a: {offset: 17592186044416M, type: int8}\n",
	  "3: offset 17592186044416M is out of range: 0x0 to 0xffffffff\n" },
	{ REGIONS "  a: {offset: 0x10000000000000000, type: int8}\n",
	  "3: offset 0x10000000000000000 is out of range: 0x0 to 0xffffffff\n" },
	{ REGIONS "  a: {offset: 99999999999999999999999999999999999999999, type: int8}\n",
	  "3: offset 99999999999999999999999999999999999999999 is out of range: 0x0 to 0xffffffff\n" },
	{ REGIONS FIELD("type: int8, count: 0"),
	  "3: count 0 is out of range: 0x1 to 0x10000000\n" },
	{ REGIONS FIELD("type: int8, owner: 256"), "3: owner 256 is out of range: 0x0 to 0xff\n" },
	{ REGIONS "  a: {offset: 0xfffffffc, type: int8, count: 5}\n",
	  "3: 'a' ends beyond 4 GiB: 5 times 1 bytes from 0xfffffffc\n" },
	{ REGIONS FIELD("count: 16, fields: {b: {offset: 0, type: int32, count: 0x10000000}}"),
	  "3: 'a' ends beyond 4 GiB: 16 times 1073741824 bytes from 0x0\n" },
	{ REGIONS FIELD("type: int8, unit: \"a\\eb\""), "3: unit has a control character\n" },
	{ REGIONS FIELD("type: int8, unit: \"a\\x80\""), "3: unit has a control character\n" },
	{ REGIONS FIELD("type: int8, description: \"\\x9bm\""),
	  "3: description has a control character\n" },
	{ REGIONS FIELD("type: int8, unit: \"a\\x9f\""), "3: unit has a control character\n" },
	/* The second is cut in the middle of a character. */
	{ HEAD "byte-order: \"gr\u00fcn\"\nregions: {}\n",
	  "2: byte-order is little or big, not 'gr??n'\n" },
	{ HEAD "byte-order: " SIXTYNINE "\u00fc\nregions: {}\n",
	  "2: byte-order is little or big, not '" SIXTYNINE "?'\n" },
	{ REGIONS FIELD("type: int8, unit: 12345678901234567890123456789012"),
	  "3: unit is longer than 31 bytes\n" },
};

static void each_error_has_its_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct told told = { .count = 0 };

		errno = 0;
		assert_null(rfm_regions_parse("test", forms[i].text, strlen(forms[i].text), tell,
					      &told));
		assert_int_equal(errno, EINVAL);
		assert_int_equal(told.fault, RFM_REGIONS_FORM);
		if (strcmp(told.text, forms[i].told))
			fail_msg("%s\nis told as\n%s\nnot\n%s", forms[i].text, told.text,
				 forms[i].told);
		check(forms[i].text, 0, &told);
		assert_string_equal(told.text, forms[i].told);
	}
}

static void times(void **state)
{
	static const struct {
		const char *word;
		uint64_t ns;
	} periods[] = {
		{ "1 ns", 1 }, { "10ms", 10000000 }, { "0.5 ms", 500000 }, { "1.000000001 s", 1000000001 },
		{ "1000000 s", 1000000000000000 }, { "2.5 us", 2500 },
		{ "0 ms", 0 }, { "0.5 ns", 0 }, { "1000001 s", 0 }, { "10", 0 }, { "ms", 0 },
		{ "-1 ms", 0 }, { "1 min", 0 }, { "1  ms", 0 }, { "1. ms", 0 }, { ".5 ms", 0 },
		{ "99999999999999999999 ns", 0 }, { "1 ms ", 1000000 }, { "'1 ms '", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		struct told told = { .count = 0 };
		struct rfm_regions *regions;
		char text[200];

		sprintf(text, REGIONS FIELD("type: int8, period: %s"), periods[i].word);
		regions = rfm_regions_parse("test", text, strlen(text), tell, &told);
		if (!regions != !periods[i].ns ||
		    (regions && regions->regions->period_ns != periods[i].ns))
			fail_msg("%s: %s", periods[i].word, told.text);
		if (!regions && !strstr(told.text, " is not a time such as '10 ms'"))
			fail_msg("%s", told.text);
		rfm_regions_free(regions);
	}
}

/* What a file may have and be loaded, but not be checked with success. */
static const struct {
	const char *text, *told;
	uint32_t fault;
	uint64_t memory_size;
} layouts[] = {
	{ REGIONS "  a: {offset: 0, type: int32}\n  b: {offset: 3, type: int8}\n",
	  "4: 'b' at 0x3 to 0x3 overlaps 'a' at 0x0 to 0x3 of line 3\n", RFM_REGIONS_OVERLAP, 0 },
	/* The first ends last: the third is told, not lost behind the second. */
	{ REGIONS "  a: {offset: 0, type: int8, count: 16}\n  b: {offset: 4, type: int8}\n"
	  "  c: {offset: 8, type: int8}\n",
	  "4: 'b' at 0x4 to 0x4 overlaps 'a' at 0x0 to 0xf of line 3\n"
	  "5: 'c' at 0x8 to 0x8 overlaps 'a' at 0x0 to 0xf of line 3\n", RFM_REGIONS_OVERLAP, 0 },
	{ REGIONS "  a:\n    offset: 0\n    fields:\n      x: {offset: 0, type: int16}\n"
	  "      y: {offset: 0, type: int8}\n",
	  "7: 'y' at 0x0 to 0x0 overlaps 'x' at 0x0 to 0x1 of line 6\n", RFM_REGIONS_OVERLAP, 0 },
	{ REGIONS "  a: {offset: 4, type: double}\n",
	  "3: 'a' at 0x4 is misaligned: not at a multiple of 8\n", RFM_REGIONS_ALIGNMENT, 0 },
	{ HEAD "types:\n  t: {fields: {x: {offset: 0, type: int8}, y: {offset: 1, type: int16}}}\n"
	  "regions:\n  a: {offset: 0, type: t, count: 9}\n",
	  "3: 'y' at 0x1 is misaligned: not at a multiple of 2\n", RFM_REGIONS_ALIGNMENT, 0 },
	{ HEAD "types:\n  t: {size: 6, fields: {x: {offset: 0, type: int32}}}\nregions: {}\n",
	  "3: the size of 't', 0x6, is misaligned: not a multiple of 4\n",
	  RFM_REGIONS_ALIGNMENT, 0 },
	{ HEAD "types:\n  t: {size: 4, fields: {x: {offset: 4, type: int32}}}\nregions: {}\n",
	  "3: 'x' at 0x4 to 0x7 ends beyond 't', which has 0x4 bytes\n", RFM_REGIONS_BEYOND, 0 },
	{ HEAD "memory: 8\nregions:\n  a: {offset: 8, type: int8}\n",
	  "4: 'a' at 0x8 to 0x8 ends beyond the memory, which has 0x8 bytes\n",
	  RFM_REGIONS_BEYOND, 0 },
	{ HEAD "memory: 16\nregions:\n  a: {offset: 8, type: int8}\n",
	  "4: 'a' at 0x8 to 0x8 ends beyond the memory, which has 0x8 bytes\n",
	  RFM_REGIONS_BEYOND, 8 },
	{ REGIONS "  a: {offset: 0x40, type: int32, owner: 1}\n"
	  "  b: {offset: 0x7c, type: int32, owner: 2}\n",
	  "4: two owners in the granule of 64 bytes at 0x40: node 2 of 'b', and node 1 of 'a' of line 3\n",
	  RFM_REGIONS_OWNERS, 0 },
	{ REGIONS "  a:\n    offset: 0\n    owner: 1\n    fields:\n"
	  "      x: {offset: 0, type: int8}\n      y: {offset: 1, type: int8, owner: 2}\n",
	  "8: two owners in the granule of 64 bytes at 0x0: node 2 of 'y', and node 1 of 'x' of line 7\n",
	  RFM_REGIONS_OWNERS, 0 },
	/* Element 1 is the first whose fields meet in a granule; the end of the last, too. */
	{ REGIONS "  a:\n    offset: 0\n    count: 1000000\n    fields:\n"
	  "      x: {offset: 0, type: int8, owner: 1}\n"
	  "      y: {offset: 64, type: int8, owner: 2}\n",
	  "8: two owners in the granule of 64 bytes at 0x40: node 2 of 'y', and node 1 of 'x' of line 7\n",
	  RFM_REGIONS_OWNERS, 0 },
	{ REGIONS "  a:\n    offset: 0\n    count: 100000\n    size: 128\n    fields:\n"
	  "      x: {offset: 0, type: int8, owner: 1}\n"
	  "      y: {offset: 64, type: int8, owner: 2}\n"
	  "  b: {offset: 12799999, type: int8, owner: 3}\n",
	  "10: 'b' at 0xc34fff to 0xc34fff overlaps 'a' at 0x0 to 0xc34fff of line 3\n"
	  "10: two owners in the granule of 64 bytes at 0xc34fc0: node 3 of 'b', and node 2 of 'y'"
	  " of line 9\n",
	  RFM_REGIONS_OWNERS, 0 },
};

static void each_fault_has_its_sentence(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		struct told told;

		rfm_regions_free(good(layouts[i].text));
		check(layouts[i].text, layouts[i].memory_size, &told);
		if (strcmp(told.text, layouts[i].told) || told.fault != layouts[i].fault)
			fail_msg("%s\nis told as\n%s\nnot\n%s", layouts[i].text, told.text,
				 layouts[i].told);
	}
}

static void all_is_told_at_once(void **state)
{
	struct told told;

	(void)state;
	check(HEAD "memory: 16\n"
	      "regions:\n"
	      "  late: {offset: 32, type: int32}\n"
	      "  a: {offset: 2, type: int32}\n"
	      "  b: {offset: 4, type: real}\n"
	      "  c: {offset: 4, type: int8}\n"
	      "types: {int: {fields: {x: {offset: 0, type: int8}}}}\n", 0, &told);
	assert_string_equal(told.text,
		"4: 'late' at 0x20 to 0x23 ends beyond the memory, which has 0x10 bytes\n"
		"5: 'a' at 0x2 is misaligned: not at a multiple of 4\n"
		"6: there is no type 'real', of which 'b' is said to be\n"
		"7: 'c' at 0x4 to 0x4 overlaps 'a' at 0x2 to 0x5 of line 5\n"
		"8: 'int' is a word of C, of C++ or of this file and cannot be a name\n");
}

static void good_neighbours(void **state)
{
	struct told told;

	(void)state;
	check(HEAD "memory: 0x100\nregions:\n"
	      "  a: {offset: 0, type: int8, count: 0x40, owner: 1}\n"
	      "  b: {offset: 0x40, type: int8, count: 0x40, owner: 2}\n"
	      "  c: {offset: 0x80, type: double, count: 8, owner: 1}\n"
	      "  d: {offset: 0xc0, type: int16, owner: 1}\n"
	      "  e: {offset: 0xc2, type: int16, owner: 1}\n"
	      "  f: {offset: 0xff, type: bool}\n", 0, &told);
	assert_string_equal(told.text, "");
}

/* --- hostile files ----------------------------------------------------------------------- */

/* Parses @length bytes in a block of their own, so that a look behind them is seen. */
static struct rfm_regions *parse_bytes(const char *text, size_t length, struct told *told)
{
	char *copy = malloc(length ? length : 1);
	struct rfm_regions *regions;

	memcpy(copy, text, length);
	*told = (struct told){ .count = 0 };
	regions = rfm_regions_parse("test", copy, length, tell, told);
	free(copy);
	return regions;
}

static void nesting_ends(void **state)
{
	static const char level[] = "a: {offset: 0, fields: {";
	char text[100000];
	struct told told;

	(void)state;
	for (unsigned int levels = 1; levels < 3000; levels = levels < 12 ? levels + 1 : levels * 9) {
		struct rfm_regions *regions;
		size_t length = (size_t)sprintf(text, HEAD "regions: {");

		for (unsigned int i = 0; i < levels; i++)
			length += (size_t)sprintf(text + length, level);
		length += (size_t)sprintf(text + length, "b: {offset: 0, type: int8}");
		for (unsigned int i = 0; i < 2 * levels; i++)
			text[length++] = '}';
		text[length++] = '}';
		regions = parse_bytes(text, length, &told);
		if (levels <= RFM_REGION_LEVELS)
			assert_non_null(regions);
		else
			assert_string_equal(told.text,
					    "2: structures lie in each other more than 8 deep\n");
		rfm_regions_free(regions);
	}
	memset(text, '[', sizeof(text));
	assert_null(parse_bytes(text, sizeof(text), &told));
	memset(text, '{', sizeof(text));
	assert_null(parse_bytes(text, sizeof(text), &told));
}

/* Types in types, from either end of the chain: deep, and wide ones in deep ones. */
static void chains_of_types_end(void **state)
{
	enum { COUNT = 20000 };
	char *text = malloc(COUNT * 80);
	struct told told;

	(void)state;
	for (int up = 0; up < 2; up++) {
		size_t length = (size_t)sprintf(text, HEAD "types:\n");

		for (int i = 0; i < COUNT; i++)
			length += (size_t)sprintf(text + length,
						  "  t%d: {fields: {x: {offset: 0, type: t%d}}}\n",
						  up ? i : COUNT - i, up ? i + 1 : COUNT - i - 1);
		length += (size_t)sprintf(text + length, "  t%d: {fields: {x: {offset: 0, type: int8}}}\n"
					  "regions: {}\n", up ? COUNT : 0);
		assert_null(parse_bytes(text, length, &told));
		assert_non_null(strstr(told.text, "structures lie in each other more than 8 deep"));
		/* Not one a line: the last says that there are more. */
		assert_in_range(told.count, 1, 1001);
		check(text, 0, &told);
	}
	free(text);
}

/* Eight levels of ten fields, arrays and owners: 10^8 values, which nobody visits. */
static void wide_and_deep(void **state)
{
	char *text = malloc(100000);
	size_t length = (size_t)sprintf(text, HEAD "types:\n");
	struct told told;

	(void)state;
	for (int i = 1; i < RFM_REGION_LEVELS; i++) {
		length += (size_t)sprintf(text + length, "  t%d:\n    fields:\n", i);
		for (int k = 0; k < 10; k++)
			length += (size_t)sprintf(text + length,
						  "      f%d: {offset: 0, type: %s%.0d, owner: %d, count: 2}\n",
						  k, i > 1 ? "t" : "int8", i - 1, k);
	}
	sprintf(text + length, "regions:\n  all: {offset: 0, type: t7}\n");
	check(text, 0, &told);
	assert_non_null(strstr(told.text, "owners change too often in this file to be checked"));
	free(text);
}

static void many_regions(void **state)
{
	enum { COUNT = 100000 };
	char *text = malloc(COUNT * 60);
	size_t length = (size_t)sprintf(text, REGIONS);
	struct rfm_regions *regions;
	struct rfm_place place;
	struct told told;

	(void)state;
	for (int i = 0; i < COUNT; i++)
		length += (size_t)sprintf(text + length, "  r%d: {offset: %d, type: int32}\n", i, i * 4);
	regions = parse_bytes(text, length, &told);
	assert_non_null(regions);
	assert_int_equal(rfm_regions_find(regions, "r99999", &place, NULL, NULL), 0);
	assert_int_equal(place.offset, 399996);
	rfm_regions_free(regions);
	free(text);
}

/* Every beginning of a file, and the file with each byte changed. */
static void damaged_files(void **state)
{
	static const char text[] =
		HEAD "description: \"a \\u00e4 b\"\nmemory: 64M\ntypes:\n  t:\n    size: 8\n"
		"    fields: {x: {offset: 0x4, type: float, unit: '%', owner: 7}}\n"
		"regions:\n  r: {offset: 8, type: t, count: 3, period: 1.5 ms}\n"
		"  s:\n    offset: 64\n    fields:\n      c: {offset: 0, type: char, count: 4}\n";
	static const char bytes[] = "\0\n\t {}[]:#&*!|>'\"%@`\\,-?\x7f\x80\xff" "0a";
	char changed[sizeof(text)];
	struct told told;

	(void)state;
	rfm_regions_free(good(text));
	for (size_t i = 0; i < sizeof(text); i++)
		rfm_regions_free(parse_bytes(text, i, &told));
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
			struct rfm_regions *regions;

			memcpy(changed, text, sizeof(text));
			changed[i] = bytes[k];
			regions = parse_bytes(changed, sizeof(text) - 1, &told);
			assert_true(!regions == !!told.count);
			rfm_regions_free(regions);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_error_has_its_sentence),
		cmocka_unit_test(times),
		cmocka_unit_test(each_fault_has_its_sentence),
		cmocka_unit_test(all_is_told_at_once),
		cmocka_unit_test(good_neighbours),
		cmocka_unit_test(nesting_ends),
		cmocka_unit_test(chains_of_types_end),
		cmocka_unit_test(wide_and_deep),
		cmocka_unit_test(many_regions),
		cmocka_unit_test(damaged_files),
	};

	return cmocka_run_group_tests(tests, own_folder, leave_folder);
}
