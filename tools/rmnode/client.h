/* SPDX-License-Identifier: MIT */
/* What the verbs of the command line share. */
#ifndef RMNODE_CLIENT_H
#define RMNODE_CLIENT_H

#include "rmnode.h"

/**
 * struct ask - one call of the program
 * @fd: the control socket; -1: not connected yet
 * @misused: the node has said that the request was wrong
 * @args: of the request, from the options; taken over by whoever sends it
 * @width: of a word, bytes
 * @file: of -f
 */
struct ask {
	const struct client_verb *verb;
	const char *socket;
	int fd;
	bool json, misused, raw;
	json_t *args;
	unsigned int width;
	const char *file;
};

enum choice_kind {
	CHOICE_NUMBER, CHOICE_TIME, CHOICE_SPEED, CHOICE_FLAG, CHOICE_RANGE, CHOICE_WIDTH, CHOICE_RAW,
	CHOICE_PATH
};

/**
 * struct choice - an option of a verb
 * @name: its long name, or NULL
 * @arg: the argument of the request that it becomes
 * @what: CHOICE_NUMBER: for the sentence; from @min to @max
 */
struct choice {
	int letter;
	const char *name;
	enum choice_kind kind;
	const char *arg, *what;
	uint64_t min, max;
};

#define CHOICES_MAX	9

/**
 * struct client_verb - a row of the table
 * @min, @max: words behind the options; @words says so
 * @run: returns an exit status
 * @event: prints an event for people; NULL: as JSON
 * @print: prints the result for people, or NULL
 * @judge: says what is wrong with the result, and returns an exit status; or NULL
 */
struct client_verb {
	const char *name, *synopsis, *help;
	int min, max;
	const char *words;
	int (*run)(struct ask *ask, int count, char **words);
	void (*event)(json_t *event);
	void (*print)(json_t *result);
	int (*judge)(json_t *result);
	struct choice choices[CHOICES_MAX + 1];
};

/* --- client.c: asking ------------------------------------------------------------ */

/** misused() - says why and how; returns STATUS_MISUSED */
int misused(const struct ask *ask, const char *why);

/** print_json() - one line; returns an exit status */
int print_json(json_t *object);

/** print_event() - and release it */
void print_event(const struct ask *ask, json_t *event);

/** send_request() - connect if need be; @args is taken over; false after an error was said */
bool send_request(struct ask *ask, const char *verb, json_t *args);

/** receive() - the next line of the answer; an error was said, and leaves @object NULL */
enum control_answer receive(struct ask *ask, json_t **object);

/** send_more() - an empty object for the request under way; false after an error was said */
bool send_more(struct ask *ask);

/** await() - print events; the last answer, to be released; NULL after an error was said */
json_t *await(struct ask *ask);

/** ask_for() - both */
json_t *ask_for(struct ask *ask, const char *verb, json_t *args);

/** finish() - prints and judges the result as the verb does; released; an exit status */
int finish(struct ask *ask, json_t *result);

/* JSON and words. */
void set_number(json_t *object, const char *name, uint64_t value);
uint64_t number_in(json_t *object, const char *name);
const char *text_in(json_t *object, const char *name);
bool add_range(json_t *args, const char *text);
bool add_to_ranges(json_t *args, const char *text);

/** add_value() - a word of the command line as bytes, of the width that was asked for */
bool add_value(struct ask *ask, const char *name, const char *word);

/**
 * read_range() - print what @verb answers for the range, in pieces;
 * the args are in each request
 */
int read_range(struct ask *ask, const char *verb, uint64_t first, uint64_t last);

/** write_file() - @verb with what is in the file, in pieces; likewise */
int write_file(struct ask *ask, const char *verb, uint64_t first);

/** print_word() - little-endian bytes as a number */
void print_word(const char *digits);

/** print_raw() - digits as the bytes that they are */
void print_raw(const char *digits);

/* --- the verbs --------------------------------------------------------------------- */

typedef int client_run(struct ask *ask, int count, char **words);

client_run run_plain, run_range, run_read, run_write, run_fill, run_send, run_wait, run_set,
	   run_pause, run_record, run_replay, run_get, run_put, run_cas, run_add, run_export,
	   run_resync, run_message, run_receive;

typedef void client_print(json_t *object);

client_print print_update, print_checksum, print_interrupt, print_stats, print_members, print_load,
	     print_nothing, print_record, print_step, print_replay, print_old,
	     print_resync;

int judge_fence(json_t *result);
int judge_cas(json_t *result);

#endif
