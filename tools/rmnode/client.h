/* SPDX-License-Identifier: MIT */
/* What the verbs of the command line share. */
#ifndef RMNODE_CLIENT_H
#define RMNODE_CLIENT_H

#include <getopt.h>

#include "rmnode.h"

struct client_verb;

/**
 * struct ask - one call of the program
 * @print: what to do with an event; NULL: print it as JSON
 * @misused: the node has said that the request was wrong
 */
struct ask {
	const struct client_verb *verb;
	const char *socket;
	bool json, misused;
	struct control_client *client;
	void (*print)(const struct ask *ask, json_t *event);
};

struct client_verb {
	const char *name, *synopsis, *help;
	const char *options;		/* of getopt */
	const struct option *long_options;
	int (*run)(struct ask *ask, int argc, char **argv);
};

/* --- client.c: asking ------------------------------------------------------------ */

/** misused() - says why and how; returns STATUS_MISUSED */
int misused(const struct ask *ask, const char *why);

/** print_json() - one line; returns an exit status */
int print_json(json_t *object);

/** connect_once() - false after an error was said */
bool connect_once(struct ask *ask);

/** print_event() - and release it */
void print_event(const struct ask *ask, json_t *event);

/** await() - print events; the last answer, to be released; NULL after an error was said */
json_t *await(struct ask *ask);

/** ask_for() - connect if need be, ask, await(); @args is taken over */
json_t *ask_for(struct ask *ask, const char *verb, json_t *args);

/** ask_simply() - the running verb; prints number @name with @format if that is not NULL */
int ask_simply(struct ask *ask, json_t *args, const char *format, const char *name);

/** tell_dark() - what of @result stays in the node's own memory */
void tell_dark(const struct ask *ask, json_t *result);

/** complain_of_loss() - what of @result was dropped or lost; returns an exit status */
int complain_of_loss(json_t *result);

/** ask_to_store() - as ask_simply() without a print; fails if stores were dropped */
int ask_to_store(struct ask *ask, json_t *args);

/* JSON and words. */
void set_number(json_t *object, const char *name, uint64_t value);
uint64_t number_in(json_t *object, const char *name);
bool is_set(json_t *object, const char *name);
bool word_seconds(const char *what, const char *text, uint64_t *ms);
bool add_range(json_t *args, const char *text);

/* --- the verbs --------------------------------------------------------------------- */

extern const struct option load_options[], replay_options[];

int verb_read_c(struct ask *ask, int argc, char **argv);
int verb_write_c(struct ask *ask, int argc, char **argv);
int verb_fill_c(struct ask *ask, int argc, char **argv);
int verb_checksum_c(struct ask *ask, int argc, char **argv);
int verb_watch_c(struct ask *ask, int argc, char **argv);
int verb_send_c(struct ask *ask, int argc, char **argv);
int verb_wait_interrupt_c(struct ask *ask, int argc, char **argv);
int verb_wait_c(struct ask *ask, int argc, char **argv);
int verb_fence_c(struct ask *ask, int argc, char **argv);
int verb_stats_c(struct ask *ask, int argc, char **argv);
int verb_members_c(struct ask *ask, int argc, char **argv);
int verb_set_c(struct ask *ask, int argc, char **argv);
int verb_pause_c(struct ask *ask, int argc, char **argv);
int verb_stop_c(struct ask *ask, int argc, char **argv);
int verb_monitor_c(struct ask *ask, int argc, char **argv);
int verb_load_c(struct ask *ask, int argc, char **argv);
int verb_record_c(struct ask *ask, int argc, char **argv);
int verb_replay_c(struct ask *ask, int argc, char **argv);

#endif
