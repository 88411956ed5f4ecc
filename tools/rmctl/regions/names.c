// SPDX-License-Identifier: MIT
/* Names on the command line, in place of offsets and ranges. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "regions.h"
#include "tools/common/parse.h"

/* What was told first, and how much. */
struct told {
	char sentence[400];
	uint32_t line;
	unsigned int count;
};

static void note(void *context, const struct rfm_regions_complaint *complaint)
{
	struct told *told = context;

	if (told->count++)
		return;
	snprintf(told->sentence, sizeof(told->sentence), "%s", complaint->sentence);
	told->line = complaint->line;
}

/* A number begins with a digit, so that a slip of the finger is not looked up. */
bool word_is_name(const char *word)
{
	return (*word >= 'a' && *word <= 'z') || (*word >= 'A' && *word <= 'Z');
}

/* The file that librfm reads, too. */
const char *regions_path(const struct command *cmd)
{
	const char *path = cmd->regions_path ? cmd->regions_path : getenv("RFM_REGIONS");

	return path && *path ? path : RFM_REGIONS_DEFAULT;
}

/* Loads the file, unless that is done. Returns 0, or an errno; @told is why it is not good. */
static int load(struct command *cmd, struct told *told)
{
	*told = (struct told){ .count = 0 };
	if (!cmd->regions)
		cmd->regions = rfm_regions_load(regions_path(cmd), note, told);
	return cmd->regions ? 0 : errno;
}

/* Nobody has named one, and there is no default one? */
static bool no_file(const struct command *cmd, const struct told *told, int error)
{
	return !told->count && error == ENOENT && !strcmp(regions_path(cmd), RFM_REGIONS_DEFAULT);
}

/*
 * Loads the file when the first name is used: numbers need none. Returns an exit status;
 * what is wrong has been said.
 */
int regions_need(struct command *cmd)
{
	struct told told;
	int error = load(cmd, &told);

	if (!error)
		return STATUS_OK;
	if (no_file(cmd, &told, error))
		return misused(cmd, "no file says what a name means: use -R FILE, RFM_REGIONS or "
			       RFM_REGIONS_DEFAULT);
	if (!told.count)
		return failed(cmd, "cannot read %s, which says what names mean: %s",
			      regions_path(cmd), strerror(error));
	if (told.count > 1)
		return failed(cmd, "%s:%u: %s, and %u more ('rmctl regions check' shows them)",
			      regions_path(cmd), told.line, told.sentence, told.count - 1);
	return failed(cmd, "%s:%u: %s", regions_path(cmd), told.line, told.sentence);
}

/*
 * Loads the file if there is one, for those who show names beside numbers and can do
 * without.
 */
void regions_try(struct command *cmd)
{
	struct told told;
	int error = load(cmd, &told);

	if (!error || no_file(cmd, &told, error))
		return;
	if (told.count)
		warn_user(cmd, "no names will be shown: %s:%u: %s", regions_path(cmd), told.line,
			  told.sentence);
	else
		warn_user(cmd, "no names will be shown: cannot read %s: %s", regions_path(cmd),
			  strerror(error));
}

/*
 * Reads a name from the command line; @cmd keeps the file. @place is set on success only.
 * Returns an exit status.
 */
int get_place(struct command *cmd, const char *name, struct rfm_place *place)
{
	struct told told = { .count = 0 };
	int status = regions_need(cmd);

	if (status)
		return status;
	if (!rfm_regions_find(cmd->regions, name, place, note, &told))
		return STATUS_OK;
	if (told.line)
		return misused(cmd, "%s (%s:%u)", told.sentence, cmd->regions->path, told.line);
	return misused(cmd, "%s in %s", told.sentence, cmd->regions->path);
}

/* "0x1000-0x1fff", both included, or "0x1000+4K". */
static int get_numbers(struct command *cmd, const char *word, uint64_t *offset, uint64_t *length)
{
	char number[RANGE_FIRST], form;
	uint64_t second;
	const char *rest;
	int status;

	form = range_form(word, number, &rest);
	if (form != '-' && form != '+')
		return misused(cmd, "'%s' is no range such as 0x1000-0x1fff, 0x1000+4K or a name",
			       word);
	status = get_number(cmd, "offset", number, UINT64_MAX, offset);
	if (!status)
		status = get_number(cmd, form == '+' ? "length" : "end", rest, UINT64_MAX, &second);
	if (status)
		return status;
	if (form == '-' && (second < *offset || second - *offset == UINT64_MAX))
		return misused(cmd, "range '%s' ends before it begins", word);
	*length = form == '-' ? second - *offset + 1 : second;
	return *length ? STATUS_OK : misused(cmd, "length must be at least 1");
}

/* Is it 0x1000-0x1fff or 0x1000+4K, rather than a number? */
static bool word_is_range(const char *word)
{
	return *word >= '0' && *word <= '9' && word[strcspn(word, "+-")];
}

/*
 * Reads 0x1000-0x1fff, 0x1000+4K or a name from the command line. @target is set on success
 * only. Returns an exit status.
 */
int get_target(struct command *cmd, const char *word, struct target *target)
{
	struct target made = { .word = word, .named = word_is_name(word) };
	int status;

	if (made.named) {
		status = get_place(cmd, word, &made.place);
		made.offset = made.place.offset;
		made.length = made.place.length;
	} else {
		status = get_numbers(cmd, word, &made.offset, &made.length);
	}
	if (!status)
		*target = made;
	return status;
}

/* The same, or an offset alone, whose length is 0. */
int get_target_or_offset(struct command *cmd, const char *word, struct target *target)
{
	if (word_is_name(word) || word_is_range(word))
		return get_target(cmd, word, target);
	*target = (struct target){ .word = word };
	return get_number(cmd, "offset", word, UINT64_MAX, &target->offset);
}
