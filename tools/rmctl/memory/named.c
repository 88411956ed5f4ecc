// SPDX-License-Identifier: MIT
/*
 * rmctl peek, poke and dump by name. A value is one load or one store, as an
 * application would make it; a text, which is never one, as few as its place allows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "named.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"
#include "tools/rmctl/regions/value.h"

#define BATCH 1024u	/* values of one JSON object */
#define ROW 8u		/* bytes in a row of a dump */

/* The values that are being shown, or poked. */
struct shown {
	struct command *cmd;
	struct rfm_place place;	/* all of it */
	const char *name;	/* of that */
	volatile char *memory;	/* where byte @place.offset is */
	char **words;		/* what to store, NULL: show what there is */
	uint64_t count;		/* values so far */
	unsigned char *bytes;	/* room for the largest value, as it is in the memory */
	char *text;		/* room for its text, of @room bytes */
	size_t room;
	json_t *values;		/* JSON, of the object that is not printed yet */
	uint64_t end;		/* dump: the byte behind what has been shown */
	bool dump;		/* show the bytes too */
	bool storing;		/* all words are good */
};

/* --- the memory ------------------------------------------------------------------ */

/* The widest access that begins at @offset and stays inside of @length. */
static unsigned int widest(uint64_t offset, uint64_t length)
{
	unsigned int width = sizeof(uint64_t);

	while (width > 1 && (offset % width || length < width))
		width /= 2;
	return width;
}

/* Loads a value, or stores it. */
static void access_value(const struct shown *shown, const struct rfm_place *value, bool store)
{
	volatile char *at = shown->memory + (value->offset - shown->place.offset);
	uint64_t word = 0;

	for (uint64_t done = 0; done < value->length;) {
		unsigned int width = widest(value->offset + done, value->length - done);

		if (store) {
			memcpy(&word, shown->bytes + done, width);
			store_word(at + done, width, word);
		} else {
			word = load_word(at + done, width);
			memcpy(shown->bytes + done, &word, width);
		}
		done += width;
	}
}

/* What is not a text must be one access, except in a dump, which is of bytes. */
static int check_value(void *context, const char *name, const struct rfm_place *value)
{
	struct shown *shown = context;

	shown->count++;
	if (value->length > shown->room)
		shown->room = value->length;
	if (shown->dump || value->type == RFM_REGION_CHAR ||
	    (value->offset % value->length == 0 && value->length <= sizeof(uint64_t)))
		return 0;
	return failed(shown->cmd, "'%s' at 0x%" PRIx64
		      " cannot be a single access of %" PRIu64 " bytes", name,
		      value->offset, value->length);
}

/* --- JSON ---------------------------------------------------------------------------- */

static int print_json(struct shown *shown)
{
	json_t *values = shown->values;

	shown->values = json_array();
	return out_json(shown->cmd, json_pack(
		"{s:s, s:s, s:I, s:I, s:o}", "device", shown->cmd->card, "name", shown->name,
		"offset", (json_int_t)shown->place.offset, "length",
		(json_int_t)shown->place.length, "values", values));
}

/* --- text ------------------------------------------------------------------------------ */

void print_row(uint64_t offset, const unsigned char *bytes, uint64_t count, unsigned int room)
{
	printf("%08" PRIx64 " ", offset);
	for (unsigned int i = 0; i < room; i++) {
		fputs(i == 8 ? "  " : " ", stdout);
		if (i < count)
			printf("%02x", bytes[i]);
		else
			fputs("  ", stdout);
	}
}

/* Bytes that have no name, up to @offset. */
static void print_gap(struct shown *shown, uint64_t offset)
{
	if (offset > shown->end)
		printf("%08" PRIx64 "  %" PRIu64 " bytes have no name\n", shown->end,
		       offset - shown->end);
}

static void dump_value(struct shown *shown, const char *name, const struct rfm_place *value)
{
	print_gap(shown, value->offset);
	for (uint64_t done = 0; done < value->length; done += ROW) {
		print_row(value->offset + done, shown->bytes + done, value->length - done, ROW);
		if (!done) {
			fputs("  ", stdout);
			value_print(name, value, shown->text);
		}
		putchar('\n');
	}
	if (shown->end < value->offset + value->length)
		shown->end = value->offset + value->length;
}

/* --- value by value ------------------------------------------------------------------------ */

static int show_value(void *context, const char *name, const struct rfm_place *value)
{
	struct shown *shown = context;

	access_value(shown, value, false);
	rfm_value_print(value, shown->bytes, shown->text, shown->room);
	if (shown->cmd->json) {
		json_t *object = value_object(name, value, shown->text);

		if (shown->dump)
			json_object_set_new(object, "data", data_json(shown->bytes, value->length));
		json_array_append_new(shown->values, object);
		return json_array_size(shown->values) < BATCH ? STATUS_OK : print_json(shown);
	}
	if (shown->dump) {
		dump_value(shown, name, value);
	} else {
		value_print(name, value, shown->text);
		putchar('\n');
	}
	return ferror(stdout) ? STATUS_FAILED : STATUS_OK;
}

/* First all words are read, then all are stored. */
static int poke_value(void *context, const char *name, const struct rfm_place *value)
{
	struct shown *shown = context;
	const char *word = plain_word(shown->words[shown->count++]);
	int status = value_scan(shown->cmd, name, value, word, shown->bytes);

	if (!status && shown->storing)
		access_value(shown, value, true);
	return status;
}

/* Room for every value of @place and its text; what cannot be accessed is said. */
static int shown_begin(struct shown *shown)
{
	int status = rfm_regions_each(shown->name, &shown->place, check_value, shown);

	if (status < 0 && errno == ERANGE)
		return failed(shown->cmd, "'%s' has values beyond its end: 'rmctl regions check' "
			      "shows them", shown->name);
	if (status)
		return status < 0 ? failed(shown->cmd, "'%s': %s", shown->name, strerror(errno)) :
				    status;
	shown->bytes = needed(shown->cmd, malloc(shown->room + 1));
	shown->room = VALUE_TEXT(shown->room);
	shown->text = needed(shown->cmd, malloc(shown->room));
	shown->values = needed(shown->cmd, json_array());
	return STATUS_OK;
}

/* The words, if there are any, are as many as the place has values, and all are good. */
static int check_words(struct shown *shown, uint64_t count)
{
	if (!shown->words)
		return STATUS_OK;
	if (shown->count != count)
		return misused(shown->cmd, "'%s' has %" PRIu64 " value(s), not %" PRIu64,
			       shown->name, shown->count, count);
	shown->count = 0;
	return rfm_regions_each(shown->name, &shown->place, poke_value, shown);
}

static int on_card(struct shown *shown, const struct card *card)
{
	const struct rfm_place *place = &shown->place;
	struct command *cmd = shown->cmd;
	int status = STATUS_OK;

	shown->memory = (volatile char *)card_map(cmd, card, place->offset, place->length);
	if (!shown->memory)
		return STATUS_FAILED;
	shown->count = 0;
	shown->storing = true;
	shown->end = place->offset;
	if (shown->words)
		status = rfm_regions_each(shown->name, place, poke_value, shown);
	if (!status && (!shown->words || cmd->json))
		status = rfm_regions_each(shown->name, place, show_value, shown);
	if (!status && json_array_size(shown->values))
		status = print_json(shown);
	if (!status && shown->dump && !cmd->json)
		print_gap(shown, place->offset + place->length);
	return status;
}

static int by_name(struct shown *shown, const char *dev, int count)
{
	struct card card;
	int status = get_place(shown->cmd, shown->name, &shown->place);

	if (!status)
		status = shown_begin(shown);
	if (!status)
		status = check_words(shown, (uint64_t)count);
	if (!status)
		status = card_open_window(shown->cmd, &card, dev, shown->words);
	if (!status)
		status = on_card(shown, &card);
	free(shown->bytes);
	free(shown->text);
	json_decref(shown->values);
	return status;
}

/* Prints the values of @name, one a line; @dump: beside their bytes. Returns an exit status. */
int show_name(struct command *cmd, const char *dev, const char *name, bool dump)
{
	return by_name(&(struct shown){ .cmd = cmd, .name = name, .dump = dump }, dev, 0);
}

/* Stores @words into @name, which must have so many values. Returns an exit status. */
int poke_name(struct command *cmd, const char *dev, const char *name, char **words, int count)
{
	return by_name(&(struct shown){ .cmd = cmd, .name = name, .words = words }, dev, count);
}
