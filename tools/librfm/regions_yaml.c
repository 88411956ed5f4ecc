// SPDX-License-Identifier: MIT
/*
 * YAML as far as a file of regions needs it: mappings of words. libyaml finds the
 * words and says where they are. What would let a small file become a large one, or
 * one line mean something elsewhere (aliases, tags, merges), is refused.
 */
#include "regions_private.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

/* The file, "regions", for each structure its name and "fields", and a last field. */
#define MAPPINGS_MAX	(2 + 2 * RFM_REGION_LEVELS + 1)

struct reader {
	struct job *job;
	yaml_parser_t parser;
	yaml_event_t event;
	bool over;		/* nothing more can be made of it */
};

static uint32_t line_here(const struct reader *reader)
{
	return (uint32_t)reader->event.start_mark.line + 1;
}

#define refuse(reader, line, ...) do { \
	malformed((reader)->job, line, __VA_ARGS__); \
	(reader)->over = true; \
} while (0)

/* Bytes that are no text have an offset only. */
static uint32_t line_of_problem(const struct reader *reader, const char *text)
{
	const yaml_parser_t *parser = &reader->parser;
	uint32_t line = 1;

	if (parser->error != YAML_READER_ERROR)
		return (uint32_t)parser->problem_mark.line + 1;
	for (size_t i = 0; i < parser->problem_offset; i++)
		line += text[i] == '\n';
	return line;
}

/* The next event; false when there is no next. */
static bool next(struct reader *reader, const char *text)
{
	yaml_event_delete(&reader->event);
	if (reader->over)
		return false;
	if (yaml_parser_parse(&reader->parser, &reader->event))
		return true;
	if (reader->parser.error == YAML_MEMORY_ERROR)
		reader->job->no_memory = true;
	else
		refuse(reader, line_of_problem(reader, text), "this is not YAML: %s",
		       reader->parser.problem);
	reader->over = true;
	return false;
}

/* A word as a string of the job's; NULL if it cannot be one. */
static char *take_word(struct reader *reader)
{
	const yaml_event_t *event = &reader->event;
	size_t length = event->data.scalar.length;
	char *word;

	if (memchr(event->data.scalar.value, 0, length)) {
		refuse(reader, line_here(reader), "a word has a NUL in it");
		return NULL;
	}
	word = job_get(reader->job, &reader->job->scratch, length + 1);
	if (!word)
		reader->over = true;
	else
		memcpy(word, event->data.scalar.value, length);
	return word;
}

/* Has the event what no file of regions has? */
static bool is_foreign(struct reader *reader)
{
	const yaml_event_t *event = &reader->event;
	bool word = event->type == YAML_SCALAR_EVENT;
	bool mapping = event->type == YAML_MAPPING_START_EVENT;
	const char *what = event->type == YAML_ALIAS_EVENT ? "an alias (*)" :
			   event->type == YAML_SEQUENCE_START_EVENT ? "a list" : NULL;

	if ((word && event->data.scalar.anchor) || (mapping && event->data.mapping_start.anchor))
		what = "an anchor (&)";
	else if ((word && event->data.scalar.tag) || (mapping && event->data.mapping_start.tag))
		what = "a tag (!)";
	if (what)
		refuse(reader, line_here(reader), "there is no place for %s here", what);
	return what;
}

static int by_key(const void *one, const void *other)
{
	const struct item *a = *(struct item *const *)one, *b = *(struct item *const *)other;
	int order = strcmp(a->key, b->key);

	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static void find_twice(struct reader *reader, struct item *mapping, size_t count)
{
	struct item **sorted = job_get(reader->job, &reader->job->scratch, count * sizeof(*sorted));
	const struct item *first;
	size_t i = 0;

	if (!sorted)
		return;
	for (struct item *item = mapping->children; item; item = item->next)
		sorted[i++] = item;
	qsort(sorted, count, sizeof(*sorted), by_key);
	for (i = 1, first = sorted[0]; i < count; i++) {
		if (strcmp(first->key, sorted[i]->key)) {
			first = sorted[i];
			continue;
		}
		sorted[i]->again = true;
		malformed(reader->job, sorted[i]->line,
			  "'%.70s' is here a second time, after line %u", first->key, first->line);
	}
}

/* What follows the beginning of a mapping, to its end. */
static void read_mapping(struct reader *reader, const char *text, struct item *mapping,
			 unsigned int depth)
{
	struct item **end = &mapping->children, *item;
	size_t count = 0;

	if (depth > MAPPINGS_MAX) {
		refuse(reader, line_here(reader), "structures lie in each other more than %d deep",
		       RFM_REGION_LEVELS);
		return;
	}
	while (next(reader, text) && reader->event.type != YAML_MAPPING_END_EVENT) {
		if (is_foreign(reader))
			return;
		if (reader->event.type != YAML_SCALAR_EVENT) {
			refuse(reader, line_here(reader), "a name is expected here");
			return;
		}
		item = job_get(reader->job, &reader->job->scratch, sizeof(*item));
		reader->over |= !item;
		if (!item || !(item->key = take_word(reader)))
			return;
		item->line = line_here(reader);
		if (!next(reader, text) || is_foreign(reader))
			return;
		if (reader->event.type == YAML_SCALAR_EVENT)
			item->text = take_word(reader);
		else
			read_mapping(reader, text, item, depth + 1);
		*end = item;
		end = &item->next;
		count++;
	}
	if (count > 1 && !reader->over)
		find_twice(reader, mapping, count);
}

/* The one document that there should be. */
static struct item *read_document(struct reader *reader, const char *text)
{
	struct item *file = job_get(reader->job, &reader->job->scratch, sizeof(*file));

	if (!file || !next(reader, text) || !next(reader, text))	/* stream, document */
		return NULL;
	if (reader->event.type == YAML_STREAM_END_EVENT) {
		refuse(reader, 0, "the file is empty");
		return NULL;
	}
	if (!next(reader, text) || is_foreign(reader))
		return NULL;
	file->line = line_here(reader);
	if (reader->event.type != YAML_MAPPING_START_EVENT) {
		refuse(reader, file->line, "'key: value' is expected here");
		return NULL;
	}
	read_mapping(reader, text, file, 1);
	if (!next(reader, text) || !next(reader, text))		/* end of document, stream */
		return NULL;
	if (reader->event.type == YAML_STREAM_END_EVENT)
		return file;
	refuse(reader, line_here(reader), "a second document begins here");
	return NULL;
}

/* Returns the file's keys, or NULL when it has complained or has no memory. */
struct item *yaml_read(struct job *job, const char *text, size_t length)
{
	struct reader reader = { .job = job };
	struct item *file;

	if (!yaml_parser_initialize(&reader.parser)) {
		job->no_memory = true;
		return NULL;
	}
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
	file = read_document(&reader, text);
	yaml_event_delete(&reader.event);
	yaml_parser_delete(&reader.parser);
	return reader.over ? NULL : file;
}
