/* SPDX-License-Identifier: MIT */
/*
 * What the verbs of rmctl share: the table entry, the running command, and the
 * two ways to end badly.
 *
 * Exit statuses, the same for all verbs; rmctl(1) has the table: 1 is the answer no, 2 means
 * that the command line is wrong by itself, whatever the card, 3 that the card, the kernel or
 * the ring refused, or that it was cut short; 4 that not all could be looked at.
 */
#ifndef RMCTL_H
#define RMCTL_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STATUS_OK = 0, STATUS_NO = 1, STATUS_MISUSED = 2, STATUS_FAILED = 3, STATUS_UNKNOWN = 4,
};

struct command;
struct rfm_regions;

/* Parses its arguments and does it; returns an exit status. */
typedef int verb_run(struct command *cmd, int argc, char **argv);

/**
 * struct verb - one row of the table in verbs.c
 * @name: what the user types
 * @synopsis: its arguments, for the usage line
 * @help: the rest of its help, lines ending in a newline
 * @options: long names of its options besides --json, --help and --regions, which main.c knows
 */
struct verb {
	const char *name;
	const char *synopsis;
	const char *help;
	const char *options;
	verb_run *run;
};

/**
 * struct command - the command being run
 * @verb: its row of the table
 * @card: name of the card for messages, NULL until it is known
 * @regions_path: the file that says what names mean, NULL: the default
 * @regions: that file, NULL until a name has been used
 * @json: -j was given
 * @file: what is read line by line, for messages, NULL: nothing is
 * @line: number of its line
 */
struct command {
	const struct verb *verb;
	const char *card;
	const char *regions_path;
	struct rfm_regions *regions;
	bool json;
	const char *file;
	unsigned int line;
};

/* Ends in a zero entry. */
extern const struct verb verbs[];
extern const char verbs_help[];

/* What next_option() returns for an option that has no letter. */
enum {
	OPTION_RESET = 256, OPTION_ABSOLUTE, OPTION_RX, OPTION_TX, OPTION_OWN, OPTION_WHILE,
	OPTION_DISCARD, OPTION_DEPTH, OPTION_RAW, OPTION_EQUAL, OPTION_NOT_EQUAL, OPTION_CHANGED,
	OPTION_DEADLINE, OPTION_SILENCE, OPTION_EXEC, OPTION_TO, OPTION_FROM, OPTION_MEMORY,
	OPTION_PREFIX, OPTION_AS_IS, OPTION_BASE,
};

int next_option(struct command *cmd, int argc, char **argv);
int check_operands(struct command *cmd, int argc, char **argv, int min, int max);
int get_number(struct command *cmd, const char *what, const char *text, uint64_t max,
	       uint64_t *value);
int get_duration(struct command *cmd, const char *what, const char *text, uint64_t *nanoseconds);
int get_timeout(struct command *cmd, int argc, char **argv, uint32_t max_ms,
		uint32_t *milliseconds);

/* Says what is wrong, and returns @status. */
int refuse(const struct command *cmd, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The card, the kernel or the ring has refused; the command line is wrong. Both are never 0. */
#define failed(cmd, ...) ({ refuse(cmd, STATUS_FAILED, __VA_ARGS__); STATUS_FAILED; })
#define misused(cmd, ...) ({ refuse(cmd, STATUS_MISUSED, __VA_ARGS__); STATUS_MISUSED; })
/* Says something that does not end the command. */
#define warn_user(cmd, ...) ((void)failed(cmd, __VA_ARGS__))

verb_run verb_list, verb_show, verb_peek, verb_poke, verb_dump, verb_send, verb_listen, verb_test,
	 verb_fence, verb_verify, verb_map, verb_who, verb_fill, verb_load, verb_save, verb_diff,
	 verb_trace, verb_watch, verb_top, verb_set, verb_stats, verb_subscribe, verb_unsubscribe,
	 verb_subscriptions, verb_monitor, verb_save_config, verb_apply, verb_regions, verb_report,
	 verb_get, verb_put, verb_cas, verb_add, verb_message, verb_receive, verb_resync, verb_export;

#endif /* RMCTL_H */
