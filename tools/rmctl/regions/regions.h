/* SPDX-License-Identifier: MIT */
/* Names on the command line, and the file that says what they mean. */
#ifndef RMCTL_REGIONS_H
#define RMCTL_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/librfm/rfm/regions.h"
#include "tools/rmctl/cli/rmctl.h"

/* --- names instead of numbers ------------------------------------------------------ */

const char *regions_path(const struct command *cmd);
bool word_is_name(const char *word);
int get_place(struct command *cmd, const char *name, struct rfm_place *place);

/* What a word on the command line means. */
struct target {
	const char *word;	/* as it was typed */
	bool named;		/* it is a name, and @place is what that means */
	uint64_t offset;	/* of the range, in the memory */
	uint64_t length;	/* bytes, not 0 */
	struct rfm_place place;	/* see @named */
};

int get_target(struct command *cmd, const char *word, struct target *target);
int get_target_or_offset(struct command *cmd, const char *word, struct target *target);
void regions_try(struct command *cmd);
int regions_need(struct command *cmd);

/* --- files in other forms ------------------------------------------------------------- */

json_t *regions_json(const struct rfm_regions *regions);
int regions_write_yaml(struct command *cmd);
int regions_write_csv(struct command *cmd, const char *prefix);
int regions_write_header(struct command *cmd, const char *prefix);
char *csv_as_yaml(const char *path, char *text, size_t length, rfm_regions_report *report,
		  void *context);

const char *number_word(char text[24], const char *key, const json_t *value);

#endif /* RMCTL_REGIONS_H */
