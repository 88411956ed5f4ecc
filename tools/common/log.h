/* SPDX-License-Identifier: MIT */
/*
 * Lines for a file or pipe that never hold the hub up: what a slow reader
 * leaves no room for is dropped and counted.
 */
#ifndef RFM_TOOLS_LOG_H
#define RFM_TOOLS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_ROOM	262144		/* bytes that wait */
#define JOURNAL_LINE	1024
#define JOURNAL_END_MS	250		/* the reader has that long to take the end */

/**
 * struct journal - @lost: lines that found no room, or that the file did not take
 */
struct journal {
	int fd;
	bool own;
	bool dead;		/* the file takes nothing any more */
	uint64_t lines, lost;
	size_t fill;
	char *room;
};

/** journal_open() - to a file, appended, or to an open descriptor with @path NULL; -1 with errno */
int journal_open(struct journal *journal, const char *path, int fd);

/** journal_line() - add a line, without its end */
void journal_line(struct journal *journal, const char *line);

/** journal_flush() - write what goes without waiting; true if all has gone */
bool journal_flush(struct journal *journal);

/**
 * journal_close() - write the end, waiting for the reader for JOURNAL_END_MS at most
 *
 * Returns how many lines were lost in all. Harmless if it is closed already.
 */
uint64_t journal_close(struct journal *journal);

#endif
