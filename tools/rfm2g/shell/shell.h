/* SPDX-License-Identifier: MIT */
/* What the files of rfm2g-shell share. */
#ifndef SHELL_H
#define SHELL_H

#include <signal.h>

#include "rfm2g_api.h"

#define WORDS_MAX	32	/* of a line */

/**
 * struct command - a command of the shell
 * @arguments: what is to follow, for people
 * @least: how many words at least
 * @most: and at most
 * @run: 0, or -1 after it has said what is wrong; @words has what follows the name, and NULL
 */
struct command {
	const char *name;
	const char *arguments;
	const char *does;
	int least, most;
	int (*run)(char **words);
};

extern RFM2GHANDLE board;
extern volatile sig_atomic_t is_interrupted;	/* by Ctrl-C, since a line was read */
extern const struct command memory_commands[], event_commands[], board_commands[];

/* Runs a command, of @count words. */
int run_command(char **words, int count);

/* 0, or -1 after it has said that the call has failed. */
int check(RFM2G_STATUS status);

/* What is no number, or above @limit, is said; -1 then. */
int get_number(const char *word, RFM2G_UINT64 limit, RFM2G_UINT64 *number);
int get_number32(const char *word, RFM2G_UINT32 *number);

/* on, off, 1, 0 */
int get_switch(const char *word, RFM2G_BOOL *on);

#endif
