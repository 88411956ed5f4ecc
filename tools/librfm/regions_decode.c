// SPDX-License-Identifier: MIT
/* From the keys and words of a file to declarations. What is wrong is skipped and told. */
#include "regions_private.h"

#include <math.h>
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
	uint32_t type;

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

static void set_order(struct job *job, const struct item *item, uint32_t *order)
{
	if (!strcmp(item->text, "little"))
		*order = RFM_REGION_LITTLE;
	else if (!strcmp(item->text, "big"))
		*order = RFM_REGION_BIG;
	else
		malformed(job, item->line, "byte-order is little or big, not '%.70s'", item->text);
}

/* --- what values mean ---------------------------------------------------------------- */

/* Decimal, whatever the locale. */
static void set_real(struct job *job, const struct item *item, double *real)
{
	const struct rfm_place place = {
		.type = RFM_REGION_DOUBLE, .count = 1, .length = sizeof(*real),
		.order = RFM_REGION_LITTLE,
	};
	unsigned char bytes[sizeof(*real)];
	double number;

	if (rfm_value_scan(&place, item->text, bytes) || rfm_value_real(&place, bytes, &number) ||
	    !isfinite(number))
		malformed(job, item->line, "%s '%.70s' is not a number such as 0.01", item->key,
			  item->text);
	else
		*real = number;
}

/* "3", or "4-6" */
static bool get_bits(const char *text, uint32_t *first, uint32_t *last)
{
	const char *dash = strchr(text, '-');
	size_t length = dash ? (size_t)(dash - text) : strlen(text);
	uint64_t from, to;
	bool negative;

	if (!is_digit(*text) || number_scan(text, length, &negative, &from))
		return false;
	to = from;
	if (dash && (!is_digit(dash[1]) || number_scan(dash + 1, strlen(dash + 1), &negative, &to)))
		return false;
	if (to > 63 || from > to)
		return false;
	*first = (uint32_t)from;
	*last = (uint32_t)to;
	return true;
}

/* A name, and the bits or the value that have it; false after a complaint. */
static bool fill_name(struct job *job, const struct item *item, bool bits,
		      struct rfm_region_name *name)
{
	bool negative = false;

	name->line = item->line;
	if (!item->text) {
		malformed(job, item->line, "'%.70s' needs a word, not 'key: value'", item->key);
		return false;
	}
	if (!name_is_good(item->key, strlen(item->key))) {
		malformed(job, item->line,
			  "'%.70s' is no name: a letter, then letters, digits and _, at most %d",
			  item->key, RFM_REGION_NAME_MAX - 1);
		return false;
	}
	if (bits && !get_bits(item->text, &name->first, &name->last)) {
		malformed(job, item->line,
			  "'%.70s' of '%s' is no bit from 0 to 63, nor bits such as 4-6", item->text,
			  item->key);
		return false;
	}
	if (!bits && (!*item->text || strlen(item->text) >= DIGITS_MAX ||
		      number_scan(item->text, strlen(item->text), &negative, &name->value) ||
		      (negative && name->value > 1ull << 63))) {
		malformed(job, item->line, "'%.70s' of '%s' is no integer", item->text, item->key);
		return false;
	}
	if (negative)
		name->value = -name->value;
	name->pad = negative;	/* until check_values() has looked */
	return true;
}

static const struct rfm_region_name *get_names(struct job *job, const struct item *mapping,
					       bool bits)
{
	const struct rfm_region_name *first = NULL, **end = &first;

	for (const struct item *item = mapping->children; item; item = item->next) {
		struct rfm_region_name *name;

		if (item->again)
			continue;
		name = job_get(job, &job->regions->arena, sizeof(*name));
		if (!name || !fill_name(job, item, bits, name))
			continue;
		name->name = job_copy(job, &job->regions->arena, item->key);
		if (!name->name)
			continue;
		*end = name;
		end = &name->next;
	}
	if (!mapping->children)
		malformed(job, mapping->line, "'%s' has no names", mapping->key);
	return first;
}

#define NAMES_TEXT_MAX	(RFM_REGION_TEXT_MAX - 20)	/* and what has no name */

static void check_bits(struct job *job, const struct rfm_region *region)
{
	uint64_t taken_bits = 0, mask;
	size_t text = 0;

	for (const struct rfm_region_name *name = region->bits; name; name = name->next) {
		if (name->last >= 8 * type_size(region->type))
			malformed(job, name->line, "bit %u of '%s' is none of %s", name->last,
				  name->name, rfm_region_type_name(region->type));
		mask = UINT64_MAX >> (63 - (name->last - name->first)) << name->first;
		if (taken_bits & mask)
			malformed(job, name->line, "the bits of '%s' have another name already",
				  name->name);
		taken_bits |= mask;
		text += strlen(name->name) + 1 + (name->last > name->first ? 21 : 0);
	}
	if (text > NAMES_TEXT_MAX)
		malformed(job, region->line, "the names of the bits of '%.70s' are too long together",
			  region->name);
}

static int by_value(const void *one, const void *other)
{
	const struct rfm_region_name *const *a = one, *const *b = other;

	if ((*a)->value != (*b)->value)
		return (*a)->value < (*b)->value ? -1 : 1;
	return (*a)->line < (*b)->line ? -1 : (*a)->line > (*b)->line;
}

/* Does it fit? Then there is no sign left to remember. */
static void check_fit(struct job *job, struct rfm_region_name *name, uint32_t type)
{
	bool is_signed = type_is_signed(type), negative = name->pad;
	unsigned int width = 8 * type_size(type) - is_signed;
	uint64_t max = UINT64_MAX >> (64 - width), value = negative ? -name->value : name->value;

	name->pad = 0;
	if (value > max + (negative && is_signed) || (negative && value && !is_signed))
		malformed(job, name->line, "the value of '%s' does not fit in %s", name->name,
			  rfm_region_type_name(type));
}

static void check_values(struct job *job, const struct rfm_region *region)
{
	const struct rfm_region_name **sorted, *name;
	size_t count = 0, i = 0;

	for (name = region->values; name; name = name->next, count++)
		check_fit(job, (struct rfm_region_name *)(uintptr_t)name, region->type);
	sorted = job_get(job, &job->scratch, count * sizeof(*sorted));
	for (name = region->values; name && sorted; name = name->next)
		sorted[i++] = name;
	if (i)
		qsort(sorted, i, sizeof(*sorted), by_value);
	for (count = i, i = 1; i < count; i++)
		if (sorted[i - 1]->value == sorted[i]->value)
			malformed(job, sorted[i]->line, "'%s' has the value of '%s' of line %u",
				  sorted[i]->name, sorted[i - 1]->name, sorted[i - 1]->line);
}

/* Each value must have a number of its own, which its text can tell from the others. */
static void check_scale(struct job *job, const struct rfm_region *region)
{
	double most = fabs(region->bias) + fabs(region->scale) * 0x1p32;

	if (region->scale == 0)
		malformed(job, region->line, "the scale of '%.70s' is 0", region->name);
	else if (!(fabs(region->scale) > most * 0x1p-50) || fabs(region->scale) < 0x1p-900 ||
		 most > 0x1p900)
		malformed(job, region->line,
			  "scale and bias of '%.70s' leave its values no numbers of their own",
			  region->name);
}

static bool is_integer(uint32_t type)
{
	return type >= RFM_REGION_INT8 && type <= RFM_REGION_UINT64;
}

/* What says how a value is to be read must go with its type, and with each other. */
static void check_meaning(struct job *job, const struct rfm_region *region, bool scaled)
{
	const uint32_t type = region->type;
	bool integer = is_integer(type);

	if (!region->bits + !region->values + !scaled < 2)
		malformed(job, region->line, "'%.70s' has more than one of scale, bits and values",
			  region->name);
	else if (scaled && (!integer || type_size(type) > 4))
		malformed(job, region->line,
			  "'%.70s' has a scale, which only an integer of up to 32 bits has",
			  region->name);
	else if (region->bits && (!integer || type_is_signed(type)))
		malformed(job, region->line, "'%.70s' has bits, which only an unsigned integer has",
			  region->name);
	else if (region->values && !integer)
		malformed(job, region->line, "'%.70s' has values, which only an integer has",
			  region->name);
	else if (scaled)
		check_scale(job, region);
	else if (region->bits)
		check_bits(job, region);
	else if (region->values)
		check_values(job, region);
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
	VERSION, OFFSET, NUMBER, NUMBER32, LINE, ORDER, TYPE, PERIOD, REAL,
	FIELDS, TYPES, REGIONS, BITS, VALUES,	/* these have a mapping */
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
	{ "scale", IN_REGION, REAL, AT(scale), 0, 0 },
	{ "bias", IN_REGION, REAL, AT(bias), 0, 0 },
	{ "bits", IN_REGION, BITS, AT(bits), 0, 0 },
	{ "values", IN_REGION, VALUES, AT(values), 0, 0 },
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
	case REAL:
		set_real(job, item, at);
		break;
	case BITS:
	case VALUES:
		*(const struct rfm_region_name **)at = get_names(job, item, key->kind == BITS);
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
	bool scaled;

	if (!region || !name)
		return NULL;
	region->pub = (struct rfm_region){
		.name = name, .unit = "", .description = "", .count = 1,
		.line = mapping->line, .owner = RFM_REGION_NOBODY,
		.scale = item_of(mapping, "scale") || item_of(mapping, "bias"),
	};
	check_name(job, mapping);
	if (!has_form(job, mapping, true))
		return NULL;
	for (const struct item *item = mapping->children; item; item = item->next)
		if (!item->again)
			set_key(job, item, where, &region->pub);
	check_keys(job, mapping, where);
	scaled = item_of(mapping, "scale") || item_of(mapping, "bias");
	if (scaled || region->pub.bits || region->pub.values)
		check_meaning(job, &region->pub, scaled);
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
