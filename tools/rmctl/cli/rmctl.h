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

#define RMCTL_VERSION "0.1"

enum {
	STATUS_OK = 0, STATUS_NO = 1, STATUS_MISUSED = 2, STATUS_FAILED = 3, STATUS_UNKNOWN = 4,
};

struct command;
struct rfm_regions;

/**
 * struct verb - one row of the tables in verbs.c and verbs_memory.c
 * @name: what the user types
 * @synopsis: its arguments, for the usage line
 * @help: the rest of its help, lines ending in a newline; help.c has the list of verbs
 * @shortopts: short options besides -j, -h and -R, as getopt(3) wants them
 * @longopts: long options besides --json, --help and --regions, or NULL; ends in a zero entry
 * @run: parses its arguments and does it; returns an exit status
 */
struct verb {
	const char *name;
	const char *synopsis;
	const char *help;
	const char *shortopts;
	const struct option *longopts;
	int (*run)(struct command *cmd, int argc, char **argv);
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

/* Each ends in a zero entry. */
extern const struct verb card_verbs[];
extern const struct verb memory_verbs[];

void print_help(void);
void print_verb_help(const struct verb *verb);

/* Longest verb-specific option table, terminator included. */
#define VERB_OPTIONS_MAX 12

int next_option(struct command *cmd, int argc, char **argv);
int check_operands(struct command *cmd, int argc, char **argv, int least, int most);
int get_number(struct command *cmd, const char *what, const char *text, uint64_t max,
	       uint64_t *value);
int get_duration(struct command *cmd, const char *what, const char *text, uint64_t *nanoseconds);
int get_timeout(struct command *cmd, int argc, char **argv, uint32_t max_ms,
		uint32_t *milliseconds);

int failed(const struct command *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
int misused(const struct command *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void warn_user(const struct command *cmd, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

int verb_list(struct command *cmd, int argc, char **argv);
int verb_show(struct command *cmd, int argc, char **argv);
int verb_peek(struct command *cmd, int argc, char **argv);
int verb_poke(struct command *cmd, int argc, char **argv);
int verb_dump(struct command *cmd, int argc, char **argv);
int verb_send(struct command *cmd, int argc, char **argv);
int verb_listen(struct command *cmd, int argc, char **argv);
int verb_test(struct command *cmd, int argc, char **argv);
int verb_fence(struct command *cmd, int argc, char **argv);
int verb_verify(struct command *cmd, int argc, char **argv);
int verb_map(struct command *cmd, int argc, char **argv);
int verb_who(struct command *cmd, int argc, char **argv);
int verb_fill(struct command *cmd, int argc, char **argv);
int verb_load(struct command *cmd, int argc, char **argv);
int verb_save(struct command *cmd, int argc, char **argv);
int verb_diff(struct command *cmd, int argc, char **argv);
int verb_trace(struct command *cmd, int argc, char **argv);
int verb_watch(struct command *cmd, int argc, char **argv);
int verb_top(struct command *cmd, int argc, char **argv);
int verb_set(struct command *cmd, int argc, char **argv);
int verb_stats(struct command *cmd, int argc, char **argv);
int verb_subscribe(struct command *cmd, int argc, char **argv);
int verb_unsubscribe(struct command *cmd, int argc, char **argv);
int verb_subscriptions(struct command *cmd, int argc, char **argv);
int verb_monitor(struct command *cmd, int argc, char **argv);
int verb_save_config(struct command *cmd, int argc, char **argv);
int verb_apply(struct command *cmd, int argc, char **argv);
int verb_regions(struct command *cmd, int argc, char **argv);

extern const struct option width_option[];
extern const struct option dump_options[];
extern const struct option fill_options[];
extern const struct option yes_option[];
extern const struct option diff_options[];
extern const struct option trace_options[];
extern const struct option watch_options[];
extern const struct option top_options[];
extern const struct option listen_options[];
extern const struct option monitor_options[];
extern const struct option stats_options[];
extern const struct option subscribe_options[];
extern const struct option unsubscribe_options[];
extern const struct option regions_options[];

#endif /* RMCTL_H */
