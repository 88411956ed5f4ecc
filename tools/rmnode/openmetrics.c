// SPDX-License-Identifier: MIT
/*
 * All there is to say is a list of families, made once: first the member's own, whose names begin
 * with rfmnode_, then those of the values in the order of their names, which begin with rfm_.
 * Elements of arrays are one family and differ in their labels.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "tools/rmnode/openmetrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line that is being made; none is longer than METRICS_LINE. */
struct out {
	char *line;
	size_t length;
};

struct family;

/** sample - one more of @family as a line; false: there are no more */
typedef bool sample(struct metrics_text *text, const struct family *family, struct out *out);

enum family_type { GAUGE, COUNTER, STATESET, INFO };

/* The older format has the suffix in the name of the family, too. */
static const struct {
	const char *name, *plain, *suffix;
} types[] = {
	[GAUGE]	   = { "gauge", "gauge", "" },
	[COUNTER]  = { "counter", "counter", "_total" },
	[STATESET] = { "stateset", "gauge", "" },
	[INFO]	   = { "info", "gauge", "_info" },
};

/**
 * struct family - samples with one name
 * @name: without the suffix of its type
 * @unit: with which @name ends; NULL: none
 * @path: of a value, without indices, or what else it is; for people
 * @description: may be ""
 * @field: of a value with named bits: several of these, a number; else NULL
 * @counter: of the member; else NULL
 * @first, @end: of its values, in struct metrics.order
 */
struct family {
	enum family_type type;
	sample *sample;
	char *name, *unit, *path;
	const char *description;
	const struct rfm_region_name *field;
	const struct counter *counter;
	unsigned int first, end;
};

/* A value in the order of the names. */
struct named {
	const char *name;
	unsigned int number;
};

struct metrics {
	const struct values *values;
	struct named *order;
	struct family *family;
	unsigned int count, room;
	void (*say)(void *opaque, const char *sentence);
	void *opaque;
	char error[VALUES_SENTENCE];
};

/* --- lines -------------------------------------------------------------------------------- */

static void put(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct out *out, const char *format, ...)
{
	size_t room = METRICS_LINE - out->length;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(out->line + out->length, room, format, args);
	va_end(args);
	out->length += (size_t)length < room ? (size_t)length : room - 1;
}

static void put_escaped(struct out *out, const char *text, bool quotes)
{
	for (; *text; text++)
		put(out, *text == '\\' || (quotes && *text == '"') ? "\\%c" : "%c", *text);
}

/* The bytes of a text: what is not printable as \xNN, whose backslash is one of the text. */
static void put_text(struct out *out, const char *text, unsigned int length)
{
	for (unsigned int i = 0; i < length; i++) {
		if (text[i] == '\\' || text[i] == '"')
			put(out, "\\%c", text[i]);
		else if (text[i] >= ' ' && text[i] <= '~')
			put(out, "%c", text[i]);
		else
			put(out, "\\\\x%02x", (unsigned char)text[i]);
	}
}

static void put_seconds(struct out *out, uint64_t ns)
{
	put(out, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

/* The name of a sample and its labels: the indices of its value, and @key, which may be NULL. */
static void begin_sample(struct out *out, const struct family *family, const char *name,
			 const char *key, const char *word, unsigned int length)
{
	const char *mark = "{";
	unsigned int level = 0;

	put(out, "%s%s", family->name, types[family->type].suffix);
	for (const char *index = strchr(name, '['); index; index = strchr(index + 1, '[')) {
		put(out, "%sindex", mark);
		if (level++)
			put(out, "%u", level);
		put(out, "=\"%d\"", atoi(index + 1));
		mark = ",";
	}
	if (key) {
		put(out, "%s%s=\"", mark, key);
		put_text(out, word, length);
		put(out, "\"");
		mark = ",";
	}
	put(out, *mark == ',' ? "} " : " ");
}

static void begin_word(struct out *out, const struct family *family, const char *name,
		       const char *key, const char *word)
{
	begin_sample(out, family, name, key, word, strlen(word));
}

/* --- samples of the member ------------------------------------------------------------------ */

static bool counter_sample(struct metrics_text *text, const struct family *family,
			   struct out *out)
{
	uint64_t value = counter_value(family->counter, &text->moment.stats);

	if (text->value++)
		return false;
	begin_sample(out, family, "", NULL, NULL, 0);
	if (family->counter->kind == COUNTER_NS)
		put_seconds(out, value);
	else
		put(out, "%" PRIu64 "\n", value);
	return true;
}

static bool member_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	char id[12];

	if (text->value++)
		return false;
	snprintf(id, sizeof(id), "%u", text->moment.id);
	begin_word(out, family, "", "node", id);
	put(out, "1\n");
	return true;
}

static bool members_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	if (text->value++)
		return false;
	begin_sample(out, family, "", NULL, NULL, 0);
	put(out, "%u\n", text->moment.members);
	return true;
}

static bool signal_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	if (text->value++)
		return false;
	begin_sample(out, family, "", NULL, NULL, 0);
	put(out, "%d\n", text->moment.signal);
	return true;
}

/* The next region, with its label; NULL: there are no more. */
static const struct news *next_region(struct metrics_text *text, const struct family *family,
				      struct out *out, bool silent_too)
{
	const struct values *values = text->metrics->values;

	while (text->value < values->regions) {
		const struct news *news = &values->news[text->value++];

		if (!silent_too && !news->updates)
			continue;
		begin_word(out, family, "", "region", news->region);
		return news;
	}
	return NULL;
}

static bool updates_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	const struct news *news = next_region(text, family, out, true);

	if (news)
		put(out, "%" PRIu64 "\n", news->updates);
	return news;
}

static bool updated_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	const struct news *news = next_region(text, family, out, false);

	if (news)
		put_seconds(out, text->moment.epoch_ns + news->updated_ns);
	return news;
}

static bool writer_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	const struct news *news = next_region(text, family, out, false);

	if (news)
		put(out, "%" PRIu32 "\n", news->writer);
	return news;
}

static const struct {
	enum family_type type;
	sample *sample;
	const char *name, *unit, *what;
} own[] = {
	{ INFO, member_sample, "rfmnode", NULL, "the member that tells this" },
	{ GAUGE, members_sample, "rfmnode_members", NULL, "other nodes on the ring" },
	{ GAUGE, signal_sample, "rfmnode_signal", NULL, "1: light arrives" },
	{ COUNTER, updates_sample, "rfmnode_region_updates", NULL, "updates that touched its values" },
	{ GAUGE, updated_sample, "rfmnode_region_updated_timestamp_seconds", "seconds",
	  "when the last of these came" },
	{ GAUGE, writer_sample, "rfmnode_region_writer", NULL, "id of the node that stored it" },
};

/* --- samples of values --------------------------------------------------------------------- */

/* The value whose turn it is, loaded; NULL: there are no more. */
static const struct value *this_value(struct metrics_text *text, const struct family *family,
				      void *bytes)
{
	const struct metrics *metrics = text->metrics;
	const struct value *value;

	if (family->first + text->value == family->end)
		return NULL;
	value = &metrics->values->value[metrics->order[family->first + text->value].number];
	value_load(metrics->values, value, bytes);
	return value;
}

/* An integer as it stands in the memory, sign-extended. */
static uint64_t raw(const struct value *value, const void *bytes)
{
	struct rfm_place place = value->place;
	int64_t integer = 0;

	/* The same bits, of which none is refused. */
	if (place.type == RFM_REGION_UINT64)
		place.type = RFM_REGION_INT64;
	rfm_value_integer(&place, bytes, &integer);
	return (uint64_t)integer;
}

static uint64_t bits_of(const struct rfm_region_name *name, uint64_t raw)
{
	return raw >> name->first & UINT64_MAX >> (63 - (name->last - name->first));
}

/* Words that rmctl has and the format has not. */
static const char *number_word(const char *text)
{
	static const char *const words[][2] = {
		{ "nan", "NaN" }, { "inf", "+Inf" }, { "-inf", "-Inf" },
		{ "true", "1" }, { "false", "0" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i][0]))
			return words[i][1];
	return text;
}

static bool number_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	char bytes[VALUES_TEXT_MAX], number[RFM_REGION_TEXT_MAX] = "";
	const struct value *value = this_value(text, family, bytes);

	if (!value)
		return false;
	rfm_value_print(&value->place, bytes, number, sizeof(number));
	begin_sample(out, family, value->name, NULL, NULL, 0);
	put(out, "%s\n", number_word(number));
	text->value++;
	return true;
}

static bool field_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	char bytes[VALUES_TEXT_MAX];
	const struct value *value = this_value(text, family, bytes);

	if (!value)
		return false;
	begin_sample(out, family, value->name, NULL, NULL, 0);
	put(out, "%" PRIu64 "\n", bits_of(family->field, raw(value, bytes)));
	text->value++;
	return true;
}

static bool text_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	char bytes[VALUES_TEXT_MAX];
	const struct value *value = this_value(text, family, bytes);

	if (!value)
		return false;
	begin_sample(out, family, value->name, "text", bytes, value_text_length(value, bytes));
	put(out, "1\n");
	text->value++;
	return true;
}

/* Several bits are a number, and have a family of their own. */
static const struct rfm_region_name *next_state(const struct rfm_region_name *name)
{
	while (name && name->first != name->last)
		name = name->next;
	return name;
}

static bool state_sample(struct metrics_text *text, const struct family *family, struct out *out)
{
	char bytes[VALUES_TEXT_MAX];
	const struct value *value = this_value(text, family, bytes);
	const struct rfm_region_name *bits;
	bool on;

	if (!value)
		return false;
	bits = value->place.region->bits;
	if (!text->name) {
		text->name = bits ? next_state(bits) : value->place.region->values;
		text->raw = raw(value, bytes);
	}
	on = bits ? bits_of(text->name, text->raw) : text->name->value == text->raw;
	begin_word(out, family, value->name, family->name, text->name->name);
	put(out, "%d\n", on);
	text->name = bits ? next_state(text->name->next) : text->name->next;
	text->value += !text->name;
	return true;
}

/* --- the families ---------------------------------------------------------------------------- */

#define fail(metrics, ...) \
	({ snprintf((metrics)->error, VALUES_SENTENCE, __VA_ARGS__); false; })

/* Names and units are what the family takes over; NULL for want of memory. */
static struct family *add_family(struct metrics *metrics, struct family family)
{
	if (metrics->count == metrics->room && family.name && family.path) {
		struct family *more;

		metrics->room = metrics->room ? metrics->room * 2 : 64;
		more = reallocarray(metrics->family, metrics->room, sizeof(*more));
		if (more)
			metrics->family = more;
		else
			metrics->room = 0;
	}
	if (!family.name || !family.path || !metrics->room) {
		free(family.name);
		free(family.unit);
		free(family.path);
		fail(metrics, "no memory");
		return NULL;
	}
	metrics->family[metrics->count] = family;
	return &metrics->family[metrics->count++];
}

static bool add_own(struct metrics *metrics)
{
	static const struct {
		enum family_type type;
		const char *unit;
	} kinds[] = {
		[COUNTER_COUNT] = { COUNTER, NULL },
		[COUNTER_PEAK]	= { GAUGE, NULL },
		[COUNTER_NS]	= { GAUGE, "seconds" },
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!add_family(metrics, (struct family){
				.type = own[i].type, .sample = own[i].sample,
				.name = strdup(own[i].name), .path = strdup(own[i].what),
				.unit = own[i].unit ? strdup(own[i].unit) : NULL,
				.description = "" }))
			return false;
	for (const struct counter *counter = counters; counter < counters + COUNTERS; counter++) {
		const char *unit = kinds[counter->kind].unit;
		size_t length = strlen(counter->name) - (unit ? strlen("_ns") : 0);
		char *name = NULL;

		if (asprintf(&name, "rfmnode_%.*s%s%s", (int)length, counter->name,
			     unit ? "_" : "", unit ?: "") < 0)
			name = NULL;
		if (!add_family(metrics, (struct family){
				.type = kinds[counter->kind].type, .sample = counter_sample,
				.name = name, .path = strdup(counter->what),
				.unit = unit ? strdup(unit) : NULL, .description = "",
				.counter = counter }))
			return false;
	}
	return true;
}

/* Without indices; NULL for want of memory. */
static char *path_of(const char *name, const char *field)
{
	char *path = malloc(strlen(name) + strlen(field) + 2), *to = path;

	for (; path && *name; name++) {
		if (*name == '[')
			name = strchr(name, ']');
		else
			*to++ = *name;
	}
	if (path)
		sprintf(to, "%s%s", *field ? "." : "", field);
	return path;
}

static bool is_word(const char *text)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return *text && !text[strspn(text, good)];
}

/* A unit as a part of a name, "m/s" as "m_per_s"; NULL: it cannot be one. */
static char *unit_word(const char *unit)
{
	static const struct {
		const char *from, *to;
	} words[] = {
		{ "°C", "celsius" }, { "°", "degrees" }, { "%", "percent" }, { "/", "_per_" },
		{ "µ", "u" }, { "μ", "u" }, { "Ω", "ohm" }, { "²", "2" }, { "³", "3" }, { "^", "" },
		{ "·", "_" }, { "*", "_" }, { "-", "_" }, { " ", "_" },
	};
	char word[8 * 32] = "", *to = word;

	while (*unit && to < word + sizeof(word) - 8) {
		size_t i = 0;

		while (i < sizeof(words) / sizeof(*words) &&
		       strncmp(unit, words[i].from, strlen(words[i].from)))
			i++;
		if (i == sizeof(words) / sizeof(*words)) {
			*to++ = *unit++;
			continue;
		}
		to = stpcpy(to, words[i].to);
		unit += strlen(words[i].from);
	}
	*to = '\0';
	to = word + strspn(word, "_");
	return is_word(to) ? strdup(to) : NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length > tail && text[length - tail - 1] == '_' && !strcmp(text + length - tail, end);
}

/* NULL for want of memory. */
static char *name_of(const char *path, const char *unit)
{
	bool with_unit = unit && !ends_with(path, unit);
	char *name;

	if (asprintf(&name, "rfm_%s%s%s", path, with_unit ? "_" : "", with_unit ? unit : "") < 0)
		return NULL;
	for (char *at = name; *at; at++)
		if (*at == '.')
			*at = '_';
	return name;
}

static bool add_value_family(struct metrics *metrics, struct family family, const char *unit)
{
	char sentence[VALUES_SENTENCE];

	if (family.path && *unit) {
		family.unit = unit_word(unit);
		if (!family.unit) {
			snprintf(sentence, sizeof(sentence), "the unit '%s' of '%s' cannot be part of a "
				 "metric's name: it is published without", unit, family.path);
			metrics->say(metrics->opaque, sentence);
		}
	}
	if (family.path)
		family.name = name_of(family.path, family.unit);
	return add_family(metrics, family);
}

/* What the values from @first to @end have in common. */
static bool add_families(struct metrics *metrics, unsigned int first, unsigned int end)
{
	const struct named *named = &metrics->order[first];
	const struct rfm_place *place = &metrics->values->value[named->number].place;
	const struct rfm_region *region = place->region;
	struct family family = {
		.path = path_of(named->name, ""), .description = region->description,
		.first = first, .end = end, .type = STATESET, .sample = state_sample,
	};

	if (region->values || next_state(region->bits)) {
		if (!add_value_family(metrics, family, ""))
			return false;
	} else if (region->bits) {
		free(family.path);
	} else if (place->type == RFM_REGION_CHAR) {
		family.type = INFO;
		family.sample = text_sample;
		return add_value_family(metrics, family, "");
	} else {
		family.type = GAUGE;
		family.sample = number_sample;
		return add_value_family(metrics, family, place->unit);
	}
	family.type = GAUGE;
	family.sample = field_sample;
	for (const struct rfm_region_name *bits = region->bits; bits; bits = bits->next) {
		family.path = path_of(named->name, bits->name);
		family.field = bits;
		if (bits->first != bits->last && !add_value_family(metrics, family, ""))
			return false;
		if (bits->first == bits->last)
			free(family.path);
	}
	return true;
}

static char next_of_path(const char **name)
{
	while (**name == '[')
		*name = strchr(*name, ']') + 1;
	return *(*name)++;
}

static int by_path(const char *one, const char *other)
{
	char a, b;

	do {
		a = next_of_path(&one);
		b = next_of_path(&other);
	} while (a && a == b);
	return (unsigned char)a - (unsigned char)b;
}

static int by_name(const void *a, const void *b)
{
	const struct named *one = a, *other = b;

	return by_path(one->name, other->name) ?:
	       (one->number > other->number) - (one->number < other->number);
}

static bool add_values(struct metrics *metrics)
{
	const struct values *values = metrics->values;

	metrics->order = calloc(values->count, sizeof(*metrics->order));
	if (!metrics->order)
		return fail(metrics, "no memory");
	for (unsigned int i = 0; i < values->count; i++)
		metrics->order[i] = (struct named){ values->value[i].name, i };
	qsort(metrics->order, values->count, sizeof(*metrics->order), by_name);
	for (unsigned int first = 0, end; first < values->count; first = end) {
		for (end = first + 1; end < values->count; end++)
			if (by_path(metrics->order[first].name, metrics->order[end].name))
				break;
		if (!add_families(metrics, first, end))
			return false;
	}
	return true;
}

/* A name that a family takes, with or without its suffix. */
struct taken {
	char *name;
	const char *path;
};

static int by_taken(const void *a, const void *b)
{
	return strcmp(((const struct taken *)a)->name, ((const struct taken *)b)->name);
}

static bool check_names(struct metrics *metrics)
{
	struct taken *taken = calloc(2 * metrics->count, sizeof(*taken));
	unsigned int count = 0;
	bool good = taken || fail(metrics, "no memory");

	for (unsigned int i = 0; good && i < metrics->count; i++) {
		const struct family *family = &metrics->family[i];

		for (int with = 0; good && with < (*types[family->type].suffix ? 2 : 1); with++) {
			taken[count].path = family->path;
			if (asprintf(&taken[count].name, "%s%s", family->name,
				     with ? types[family->type].suffix : "") < 0)
				good = fail(metrics, "no memory");
			else
				count++;
		}
	}
	if (good)
		qsort(taken, count, sizeof(*taken), by_taken);
	for (unsigned int i = 1; good && i < count; i++)
		if (!strcmp(taken[i - 1].name, taken[i].name))
			good = fail(metrics, "'%s' and '%s' would both be the metric %s",
				    taken[i - 1].path, taken[i].path, taken[i].name);
	for (unsigned int i = 0; i < count; i++)
		free(taken[i].name);
	free(taken);
	return good;
}

struct metrics *metrics_new(const struct values *values,
			    void (*say)(void *opaque, const char *sentence), void *opaque,
			    char *error)
{
	struct metrics *metrics = calloc(1, sizeof(*metrics));

	strcpy(error, "no memory");
	if (!metrics)
		return NULL;
	metrics->values = values;
	metrics->say = say;
	metrics->opaque = opaque;
	if (add_own(metrics) && add_values(metrics) && check_names(metrics))
		return metrics;
	strcpy(error, metrics->error);
	metrics_free(metrics);
	return NULL;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics)
		return;
	for (unsigned int i = 0; i < metrics->count; i++) {
		free(metrics->family[i].name);
		free(metrics->family[i].unit);
		free(metrics->family[i].path);
	}
	free(metrics->family);
	free(metrics->order);
	free(metrics);
}

/* --- the text --------------------------------------------------------------------------------- */

enum { TYPE_LINE, UNIT_LINE, HELP_LINE, SAMPLES };

static void put_head(const struct metrics_text *text, const struct family *family, struct out *out)
{
	const char *suffix = text->plain ? types[family->type].suffix : "";

	if (text->line == TYPE_LINE) {
		put(out, "# TYPE %s%s %s\n", family->name, suffix,
		    text->plain ? types[family->type].plain : types[family->type].name);
	} else if (text->line == HELP_LINE) {
		put(out, "# HELP %s%s %s%s", family->name, suffix, family->path,
		    *family->description ? ": " : "");
		put_escaped(out, family->description, !text->plain);
		put(out, "\n");
	} else if (family->unit && !text->plain) {
		put(out, "# UNIT %s %s\n", family->name, family->unit);
	}
}

size_t metrics_line(struct metrics_text *text, char *line)
{
	struct out out = { .line = line };

	while (text->family < text->metrics->count) {
		const struct family *family = &text->metrics->family[text->family];

		if (text->line < SAMPLES) {
			put_head(text, family, &out);
			text->line++;
		} else if (!family->sample(text, family, &out)) {
			text->family++;
			text->line = text->value = 0;
		}
		if (out.length)
			return out.length;
	}
	if (!text->plain && !text->ended)
		put(&out, "# EOF\n");
	text->ended = true;
	return out.length;
}
