// SPDX-License-Identifier: MIT
#include "tools/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/clock.h"

int journal_open(struct journal *journal, const char *path, int fd)
{
	*journal = (struct journal){ .fd = fd, .own = path };
	journal->room = malloc(JOURNAL_ROOM);
	if (!journal->room)
		return -1;
	if (path)
		journal->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (journal->fd >= 0)
		return 0;
	free(journal->room);
	journal->room = NULL;
	return -1;
}

void journal_line(struct journal *journal, const char *line)
{
	size_t length = strlen(line);

	journal->lines++;
	if (journal->dead || length + 1 > JOURNAL_ROOM - journal->fill) {
		journal->lost++;
		return;
	}
	memcpy(journal->room + journal->fill, line, length);
	journal->room[journal->fill + length] = '\n';
	journal->fill += length + 1;
}

static uint64_t lines_in(const char *text, size_t length)
{
	uint64_t lines = 0;

	while (length--)
		lines += *text++ == '\n';
	return lines;
}

/*
 * The descriptor may be shared with others, so it is not made non-blocking: a
 * pipe that says it can be written takes PIPE_BUF bytes at once.
 */
bool journal_flush(struct journal *journal)
{
	size_t done = 0;

	while (done < journal->fill && !journal->dead) {
		struct pollfd pollfd = { .fd = journal->fd, .events = POLLOUT };
		size_t piece = journal->fill - done;
		ssize_t written;

		if (poll(&pollfd, 1, 0) <= 0)
			break;
		if (piece > PIPE_BUF)
			piece = PIPE_BUF;
		written = write(journal->fd, journal->room + done, piece);
		if (written > 0)
			done += written;
		else if (written < 0 && errno == EAGAIN)
			break;
		else if (written < 0 && errno != EINTR)
			journal->dead = true;
	}
	memmove(journal->room, journal->room + done, journal->fill - done);
	journal->fill -= done;
	if (journal->dead) {
		journal->lost += lines_in(journal->room, journal->fill);
		journal->fill = 0;
	}
	return !journal->fill;
}

/* What the reader does not take in time is lost. */
static void flush_the_end(struct journal *journal)
{
	uint64_t end = now_ns() + JOURNAL_END_MS * NSEC_PER_MSEC, now;

	while (!journal_flush(journal) && (now = now_ns()) < end) {
		struct pollfd pollfd = { .fd = journal->fd, .events = POLLOUT };

		poll(&pollfd, 1, (int)((end - now) / NSEC_PER_MSEC) + 1);
	}
	journal->lost += lines_in(journal->room, journal->fill);
	journal->fill = 0;
}

uint64_t journal_close(struct journal *journal)
{
	if (!journal->room)
		return journal->lost;
	flush_the_end(journal);
	if (journal->own)
		close(journal->fd);
	free(journal->room);
	journal->room = NULL;
	return journal->lost;
}
