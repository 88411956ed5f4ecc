// SPDX-License-Identifier: MIT
/* From the keys and words of a file to declarations. What is wrong is skipped and told. */
#include "regions_private.h"

#include <stdlib.h>
#include <string.h>

#define UNIT_MAX	31	/* bytes */
#define DESCRIPTION_MAX	1000
#define OWNER_MAX	255

/* --- names ---------------------------------------------------------------------- */

/*
 * A name also becomes one of C and C++. Sorted. Beside their words those that the
 * header of 'rmctl regions export' uses, what compilers for Linux define, and the macros of
 * <stdint.h> and <stddef.h>.
 */
static const char *const taken[] = {
	"INT16_MAX", "INT16_MIN", "INT16_WIDTH", "INT32_MAX", "INT32_MIN", "INT32_WIDTH",
	"INT64_MAX", "INT64_MIN", "INT64_WIDTH", "INT8_MAX", "INT8_MIN", "INT8_WIDTH",
	"INTMAX_MAX", "INTMAX_MIN", "INTMAX_WIDTH", "INTPTR_MAX", "INTPTR_MIN", "INTPTR_WIDTH",
	"INT_FAST16_MAX", "INT_FAST16_MIN", "INT_FAST16_WIDTH", "INT_FAST32_MAX",
	"INT_FAST32_MIN", "INT_FAST32_WIDTH", "INT_FAST64_MAX", "INT_FAST64_MIN",
	"INT_FAST64_WIDTH", "INT_FAST8_MAX", "INT_FAST8_MIN", "INT_FAST8_WIDTH",
	"INT_LEAST16_MAX", "INT_LEAST16_MIN", "INT_LEAST16_WIDTH", "INT_LEAST32_MAX",
	"INT_LEAST32_MIN", "INT_LEAST32_WIDTH", "INT_LEAST64_MAX", "INT_LEAST64_MIN",
	"INT_LEAST64_WIDTH", "INT_LEAST8_MAX", "INT_LEAST8_MIN", "INT_LEAST8_WIDTH", "NULL",
	"PTRDIFF_MAX", "PTRDIFF_MIN", "PTRDIFF_WIDTH", "SIG_ATOMIC_MAX", "SIG_ATOMIC_MIN",
	"SIG_ATOMIC_WIDTH", "SIZE_MAX", "SIZE_WIDTH", "UINT16_MAX", "UINT16_WIDTH", "UINT32_MAX",
	"UINT32_WIDTH", "UINT64_MAX", "UINT64_WIDTH", "UINT8_MAX", "UINT8_WIDTH", "UINTMAX_MAX",
	"UINTMAX_WIDTH", "UINTPTR_MAX", "UINTPTR_WIDTH", "UINT_FAST16_MAX", "UINT_FAST16_WIDTH",
	"UINT_FAST32_MAX", "UINT_FAST32_WIDTH", "UINT_FAST64_MAX", "UINT_FAST64_WIDTH",
	"UINT_FAST8_MAX", "UINT_FAST8_WIDTH", "UINT_LEAST16_MAX", "UINT_LEAST16_WIDTH",
	"UINT_LEAST32_MAX", "UINT_LEAST32_WIDTH", "UINT_LEAST64_MAX", "UINT_LEAST64_WIDTH",
	"UINT_LEAST8_MAX", "UINT_LEAST8_WIDTH", "WCHAR_MAX", "WCHAR_MIN", "WCHAR_WIDTH",
	"WINT_MAX", "WINT_MIN", "WINT_WIDTH",
	"alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
	"case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await",
	"co_return", "co_yield", "compl", "concept", "const", "const_cast", "consteval",
	"constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double",
	"dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for",
	"friend", "goto", "if", "inline", "int", "int16_t", "int32_t", "int64_t", "int8_t",
	"linux", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
	"operator", "or", "or_eq", "private", "protected", "public", "register",
	"reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof",
	"static", "static_assert", "static_cast", "struct", "switch", "template", "this",
	"thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof",
	"uint16_t", "uint32_t", "uint64_t", "uint8_t", "union", "unix", "unsigned", "using",
	"virtual", "void", "volatile", "wchar_t", "while", "xor", "xor_eq",
};

static int by_word(const void *name, const void *word)
{
	return strcmp(name, *(const char *const *)word);
}

static bool is_taken(const char *name)
{
	return bsearch(name, taken, sizeof(taken) / sizeof(*taken), sizeof(*taken), by_word);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Has it the form of a name? */
bool name_is_good(const char *name, size_t length)
{
	if (!length || length >= RFM_REGION_NAME_MAX || !is_letter(*name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_letter(name[i]) && !is_digit(name[i]) && name[i] != '_')
			return false;
	return true;
}

static void check_name(struct job *job, const struct item *item)
{
	enum rfm_region_type type;

	if (!name_is_good(item->key, strlen(item->key)))
		malformed(job, item->line,
			  "'%.70s' is no name: a letter, then letters, digits and _, at most %d",
			  item->key, RFM_REGION_NAME_MAX - 1);
	else if (is_taken(item->key) || type_from_name(item->key, &type))
		malformed(job, item->line,
			  "'%s' is a word of C, of C++ or of this file and cannot be a name",
			  item->key);
}

/* --- words ------------------------------------------------------------------------ */

/**
 * number_scan() - an integer in decimal, or in hexadecimal after 0x
 * @text: @length bytes of it, none of which is a NUL; may begin with a sign
 *
 * Returns 0, -1: it is no number, -2: more than 64 bits; unchanged then.
 */
int number_scan(const char *text, size_t length, bool *negative, uint64_t *magnitude)
{
	bool minus = *text == '-', overflow = false;
	const char *end = text + length;
	unsigned int base = 10;
	uint64_t sum = 0;

	text += minus || *text == '+';
	if (end - text >= 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	if (text >= end)
		return -1;
	for (; text < end; text++) {
		unsigned int digit = is_digit(*text) ? (unsigned int)(*text - '0') :
				     is_letter(*text) ? (unsigned int)(*text | 0x20) - 'a' + 10 : 99;

		if (digit >= base)
			return -1;
		overflow |= __builtin_mul_overflow(sum, base, &sum) ||
			    __builtin_add_overflow(sum, digit, &sum);
	}
	if (overflow)
		return -2;
	*negative = minus;
	*magnitude = sum;
	return 0;
}

/* A number of the file, which may end in K or M; false after a complaint. */
static bool get_number(struct job *job, const struct item *item, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	size_t length = strlen(item->text);
	char last = length ? item->text[length - 1] : 0;
	uint64_t factor = last == 'K' ? 1 << 10 : last == 'M' ? 1 << 20 : 1, number = 0;
	bool negative = false;
	int error;

	length -= factor > 1;
	error = length < DIGITS_MAX ? number_scan(item->text, length, &negative, &number) :
		strspn(item->text, "0123456789") == length ? -2 : -1;
	if (error == -1) {
		malformed(job, item->line, "%s '%.70s' is not a number", item->key, item->text);
		return false;
	}
	if (error || (negative && number) || __builtin_mul_overflow(number, factor, &number) ||
	    number < min || number > max) {
		malformed(job, item->line, "%s %.70s is out of range: 0x%llx to 0x%llx", item->key,
			  item->text, (unsigned long long)min, (unsigned long long)max);
		return false;
	}
	*value = number;
	return true;
}

/* One of U+0080 to U+009f, in UTF-8. */
static bool is_c1(const char *at)
{
	return (unsigned char)at[0] == 0xc2 && (unsigned char)at[1] < 0xa0;
}

/* Copies a text as one line: its white space becomes single blanks, none at its ends. */
static const char *get_line(struct job *job, const struct item *item, size_t max)
{
	char *line = job_get(job, &job->regions->arena, strlen(item->text) + 1);
	size_t length = 0;

	if (!line)
		return "";
	for (const char *at = item->text; *at; at++) {
		if ((unsigned char)*at > ' ' && *at != 0x7f && !is_c1(at)) {
			line[length++] = *at;
		} else if (!strchr(" \t\r\n", *at)) {
			malformed(job, item->line, "%s has a control character", item->key);
			return "";
		} else if (length && line[length - 1] != ' ') {
			line[length++] = ' ';
		}
	}
	length -= length && line[length - 1] == ' ';
	line[length] = '\0';
	if (length <= max)
		return line;
	malformed(job, item->line, "%s is longer than %zu bytes", item->key, max);
	return "";
}

static void set_order(struct job *job, const struct item *item, enum rfm_region_order *order)
{
	if (!strcmp(item->text, "little"))
		*order = RFM_REGION_LITTLE;
	else if (!strcmp(item->text, "big"))
		*order = RFM_REGION_BIG;
	else
		malformed(job, item->line, "byte-order is little or big, not '%.70s'", item->text);
}

/* --- keys ------------------------------------------------------------------------------ */

/* "10 ms", "0.5 s": an integer or decimal fraction, and a unit. */
static void set_period(struct job *job, const struct item *item, struct region *region)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	const char *at = item->text;
	uint64_t whole = 0, ns = 0, step;

	for (; is_digit(*at) && whole < 1000000000; at++)
		whole = whole * 10 + (uint64_t)(*at - '0');
	for (size_t i = 0; i < sizeof(units) / sizeof(*units) && at > item->text; i++) {
		const char *rest = at;

		ns = whole * units[i].ns;
		step = units[i].ns;
		if (*rest == '.' && is_digit(rest[1]))
			for (rest++; is_digit(*rest) && step >= 10; rest++)
				ns += (step /= 10) * (uint64_t)(*rest - '0');
		rest += *rest == ' ';
		if (strcmp(rest, units[i].name))
			continue;
		if (!ns || ns > 1000000000000000ull)
			break;
		region->pub.period_ns = ns;
		return;
	}
	malformed(job, item->line,
		  "period '%.70s' is not a time such as '10 ms': ns, us, ms or s, 1 ns to 1000000 s",
		  item->text);
}

static const struct rfm_region *get_list(struct job *job, const struct item *mapping,
					 unsigned int where);

/* Where a key has a place. */
enum { IN_FILE = 1, IN_REGION = 2, IN_TYPE = 4 };

enum kind {
	VERSION, OFFSET, NUMBER, NUMBER32, LINE, ORDER, TYPE, PERIOD,
	FIELDS, TYPES, REGIONS,		/* these have a mapping */
};

/* A key and what it has. */
static const struct key {
	const char *name;
	unsigned int where;
	enum kind kind;
	size_t at;	/* where it goes, in struct rfm_regions or struct rfm_region */
	uint64_t min;	/* of a number */
	uint64_t max;	/* of a number, or bytes of a line */
} keys[] = {
#define FILE_AT(member)	offsetof(struct rfm_regions, member)
#define AT(member)	offsetof(struct rfm_region, member)
	{ "rfm-regions", IN_FILE, VERSION, 0, 0, 0 },
	{ "description", IN_FILE, LINE, FILE_AT(description), 0, DESCRIPTION_MAX },
	{ "memory", IN_FILE, NUMBER, FILE_AT(memory_size), 1, REGIONS_SPACE },
	{ "byte-order", IN_FILE, ORDER, FILE_AT(order), 0, 0 },
	{ "types", IN_FILE, TYPES, FILE_AT(types), 0, 0 },
	{ "regions", IN_FILE, REGIONS, FILE_AT(regions), 0, 0 },
	{ "offset", IN_REGION, OFFSET, AT(offset), 0, REGIONS_SPACE - 1 },
	{ "type", IN_REGION, TYPE, 0, 0, 0 },
	{ "count", IN_REGION, NUMBER32, AT(count), 1, RFM_REGION_COUNT_MAX },
	{ "size", IN_REGION | IN_TYPE, NUMBER, AT(stated_size), 1, REGIONS_SPACE },
	{ "byte-order", IN_REGION | IN_TYPE, ORDER, AT(order), 0, 0 },
	{ "owner", IN_REGION, NUMBER32, AT(owner), 0, OWNER_MAX },
	{ "period", IN_REGION, PERIOD, 0, 0, 0 },
	{ "unit", IN_REGION, LINE, AT(unit), 0, UNIT_MAX },
	{ "description", IN_REGION | IN_TYPE, LINE, AT(description), 0, DESCRIPTION_MAX },
	{ "fields", IN_REGION | IN_TYPE, FIELDS, AT(fields), 0, 0 },
#undef FILE_AT
#undef AT
};

static const struct item *item_of(const struct item *mapping, const char *key)
{
	for (const struct item *item = mapping->children; item; item = item->next)
		if (!strcmp(item->key, key))
			return item;
	return NULL;
}

/* Is it a word where a word belongs, a mapping where a mapping does? */
static bool has_form(struct job *job, const struct item *item, bool mapping)
{
	if (mapping == !item->text)
		return true;
	malformed(job, item->line, mapping ? "'%.70s' needs 'key: value' below it, not a word" :
		  "'%.70s' needs a word, not 'key: value'", item->key);
	return false;
}

/* @into: the struct rfm_regions, or the struct rfm_region. */
static void set_value(struct job *job, const struct item *item, const struct key *key, void *into)
{
	void *at = (char *)into + key->at;
	const struct rfm_region *list;
	struct rfm_region *region;
	uint64_t number;

	switch (key->kind) {
	case VERSION:
		if (strcmp(item->text, "1"))
			malformed(job, item->line,
				  "version '%.70s' of the format is not known, only 1", item->text);
		break;
	case OFFSET:
		region_of(into)->placed = get_number(job, item, key->min, key->max, at);
		break;
	case NUMBER:
		get_number(job, item, key->min, key->max, at);
		break;
	case NUMBER32:
		if (get_number(job, item, key->min, key->max, &number))
			*(uint32_t *)at = (uint32_t)number;
		break;
	case LINE:
		*(const char **)at = get_line(job, item, key->max);
		break;
	case ORDER:
		set_order(job, item, at);
		break;
	case TYPE:
		region = into;
		/* The definition of another may stand further down: layout_sizes() looks it up. */
		if (!type_from_name(item->text, &region->type))
			region->type_name = job_copy(job, &job->regions->arena, item->text);
		break;
	case PERIOD:
		set_period(job, item, region_of(into));
		break;
	case FIELDS:
	case TYPES:
	case REGIONS:
		list = get_list(job, item, key->kind == TYPES ? IN_TYPE : IN_REGION);
		if (!list && key->kind == FIELDS)
			malformed(job, item->line, "a structure has at least one field");
		*(const struct rfm_region **)at = list;
		break;
	}
}

static void set_key(struct job *job, const struct item *item, unsigned int where, void *into)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct key *key = &keys[i];

		if (!(key->where & where) || strcmp(key->name, item->key))
			continue;
		if (has_form(job, item, key->kind >= FIELDS))
			set_value(job, item, key, into);
		return;
	}
	malformed(job, item->line, "%s has no key '%.70s'", where == IN_FILE ? "a file" :
		  where == IN_TYPE ? "the definition of a type" : "a region or field", item->key);
}

/* Have all keys come that must, and none that make no sense together? */
static void check_keys(struct job *job, const struct item *mapping, unsigned int where)
{
	bool type = item_of(mapping, "type"), fields = item_of(mapping, "fields");

	if (!(where & IN_TYPE) && !item_of(mapping, "offset"))
		malformed(job, mapping->line, "'%.70s' has no offset", mapping->key);
	if (type && fields)
		malformed(job, mapping->line, "'%.70s' has both a type and fields", mapping->key);
	if (!type && !fields)
		malformed(job, mapping->line, where & IN_TYPE ? "'%.70s' has no fields" :
			  "'%.70s' has neither a type nor fields", mapping->key);
	if (item_of(mapping, "size") && !fields)
		malformed(job, mapping->line,
			  "'%.70s' has a size, which only a structure with fields has",
			  mapping->key);
}

static struct region *get_region(struct job *job, const struct item *mapping, unsigned int where)
{
	struct region *region = job_get(job, &job->regions->arena, sizeof(*region));
	char *name = job_copy(job, &job->regions->arena, mapping->key);

	if (!region || !name)
		return NULL;
	region->pub = (struct rfm_region){
		.name = name, .unit = "", .description = "", .count = 1,
		.line = mapping->line, .owner = RFM_REGION_NOBODY,
	};
	check_name(job, mapping);
	if (!has_form(job, mapping, true))
		return NULL;
	for (const struct item *item = mapping->children; item; item = item->next)
		if (!item->again)
			set_key(job, item, where, &region->pub);
	check_keys(job, mapping, where);
	if (*region->pub.unit && !region->pub.type)
		malformed(job, mapping->line, "'%s' has a unit, which only a value has", name);
	return region;
}

/* The regions, types or fields of a mapping; NULL if there is none. */
static const struct rfm_region *get_list(struct job *job, const struct item *mapping,
					 unsigned int where)
{
	const struct rfm_region *first = NULL, **end = &first;

	for (const struct item *item = mapping->children; item; item = item->next) {
		struct region *region = item->again ? NULL : get_region(job, item, where);

		if (!region)
			continue;
		*end = &region->pub;
		end = &region->pub.next;
	}
	return first;
}

void decode(struct job *job, const struct item *file)
{
	const struct item *version = item_of(file, "rfm-regions");

	if (!version)
		malformed(job, file->line,
			  "this is no file of regions: it has no 'rfm-regions: 1'");
	for (const struct item *item = file->children; item; item = item->next)
		if (!item->again)
			set_key(job, item, IN_FILE, &job->regions->pub);
	if (version && !item_of(file, "regions"))
		malformed(job, file->line, "there is no 'regions'");
}
