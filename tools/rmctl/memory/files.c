// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* mkostemp(3), asprintf(3) */
#endif
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

/* --- a file that the memory goes to --------------------------------------------------- */

/* What a new file may be, as open(2) has it. */
static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/*
 * A file beside the one that it will replace, of the same owner and mode. @old: what there is,
 * NULL: nothing. Returns a descriptor, or -1 with errno.
 */
static int open_beside(struct sink *sink, const struct stat *old)
{
	int fd;

	sink->is_new = !old;
	/* A symbolic link stays one. */
	sink->path = old ? realpath(sink->name, NULL) : strdup(sink->name);
	if (!sink->path || (old && faccessat(AT_FDCWD, sink->path, W_OK, AT_EACCESS)) ||
	    asprintf(&sink->temporary, "%s.XXXXXX", sink->path) < 0) {
		sink->temporary = NULL;
		return -1;
	}
	fd = mkostemp(sink->temporary, O_CLOEXEC);
	if (fd < 0)
		return -1;
	/* Who may not give a file away keeps it, and that is no reason to fail. */
	(void)!(old && fchown(fd, old->st_uid, old->st_gid));
	fchmod(fd, old ? old->st_mode & 0777 : new_mode());
	return fd;
}

static void forget(struct sink *sink)
{
	free(sink->path);
	free(sink->temporary);
	sink->path = sink->temporary = NULL;
}

static int cannot_write(const struct command *cmd, const struct sink *sink)
{
	return failed(cmd, "cannot write %s: %s", sink->name, strerror(errno));
}

/*
 * Begins to write @name, "-" for standard output. A regular file, or one that is not there yet,
 * is written beside its place, as NAME.XXXXXX. After success close it with sink_close(). Returns
 * an exit status.
 */
int sink_open(const struct command *cmd, struct sink *sink, const char *name)
{
	bool standard = !strcmp(name, "-");
	struct stat st;

	*sink = (struct sink){ .name = standard ? "standard output" : name };
	if (standard)
		sink->fd = dup(STDOUT_FILENO);
	else if (!stat(name, &st))
		sink->fd = S_ISREG(st.st_mode) ? open_beside(sink, &st) :
						 open(name, O_WRONLY | O_CLOEXEC);
	else
		sink->fd = lstat(name, &st) ? open_beside(sink, NULL) :
					      open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (sink->fd >= 0)
		return STATUS_OK;
	cannot_write(cmd, sink);
	forget(sink);
	return STATUS_FAILED;
}

/* Ends early, with STATUS_OK, when the user has ended it. Returns an exit status. */
int sink_write(const struct command *cmd, struct sink *sink, const char *data, size_t length)
{
	while (length && !stop_asked()) {
		ssize_t put = write(sink->fd, data, length);

		if (put < 0 && errno != EINTR)
			return cannot_write(cmd, sink);
		if (put <= 0)
			continue;
		sink->written += (size_t)put;
		data += put;
		length -= (size_t)put;
	}
	return STATUS_OK;
}

/*
 * All that will come has been written. Unless @status of that is STATUS_OK what the file was
 * before stays, and that is said. Returns @status, or what has gone wrong here.
 */
int sink_close(const struct command *cmd, struct sink *sink, int status)
{
	bool beside = sink->temporary;

	/* Some file systems say only now that there was no room. */
	if (!status && beside && fsync(sink->fd))
		status = cannot_write(cmd, sink);
	if (close(sink->fd) && !status)
		status = cannot_write(cmd, sink);
	if (!status && beside && rename(sink->temporary, sink->path))
		status = cannot_write(cmd, sink);
	if (status && beside) {
		unlink(sink->temporary);
		warn_user(cmd, sink->is_new ? "%s has not been made" : "%s is as it was",
			  sink->name);
	}
	forget(sink);
	return status;
}

/* --- a file that is put into the memory ----------------------------------------------- */

/* A pipe is read to its end before anything is done with what it has. */
static int read_all(const struct command *cmd, struct source *source, int fd, uint64_t expected)
{
	uint64_t room = expected + 1;	/* one more shows that there is more */

	source->data = needed(cmd, malloc(room));
	while (source->size < room) {
		ssize_t got = read(fd, source->data + source->size, room - source->size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return failed(cmd, "cannot read %s: %s", source->name, strerror(errno));
		if (!got)
			break;
		source->size += (size_t)got;
	}
	return STATUS_OK;
}

static int check_size(const struct command *cmd, const struct source *source, uint64_t expected)
{
	if (source->size == expected)
		return STATUS_OK;
	if (source->data && source->size > expected)
		return failed(cmd, "%s has more than the range's %" PRIu64 " bytes", source->name,
			      expected);
	return failed(cmd, "%s has %" PRIu64 " bytes, the range %" PRIu64, source->name,
		      source->size, expected);
}

/*
 * Opens @name, "-" for standard input, which must have @expected bytes; 0: any number but 0.
 * Close it with source_close(), also after an error. Returns an exit status.
 */
int source_open(const struct command *cmd, struct source *source, const char *name,
		uint64_t expected)
{
	int fd = strcmp(name, "-") ? open(name, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	struct stat st;
	int status;

	*source = (struct source){ .name = strcmp(name, "-") ? name : "standard input", .fd = fd };
	if (!*name)
		return misused(cmd, "the name of the file is empty");
	if (fd < 0 || fstat(fd, &st))
		return failed(cmd, "cannot read %s: %s", source->name, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return failed(cmd, "cannot read %s: %s", source->name, strerror(EISDIR));
	if (!S_ISREG(st.st_mode)) {
		if (!expected)
			return misused(cmd, "%s is no regular file, its length is not known: say a "
				       "range such as 0x1000+4K", source->name);
		status = read_all(cmd, source, fd, expected);
		source->fd = -1;
		close(fd);
		return status ? status : check_size(cmd, source, expected);
	}
	source->size = (uint64_t)st.st_size;
	if (!source->size)
		return failed(cmd, "%s is empty", source->name);
	return expected ? check_size(cmd, source, expected) : STATUS_OK;
}

/* Bytes of the file; all of them must be there. Returns an exit status. */
int source_read(const struct command *cmd, const struct source *source, uint64_t offset,
		void *data, size_t length)
{
	if (source->data) {
		memcpy(data, source->data + offset, length);
		return STATUS_OK;
	}
	for (size_t done = 0; done < length;) {
		ssize_t got = pread(source->fd, (char *)data + done, length - done,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return failed(cmd, "cannot read %s at byte %" PRIu64 ": %s", source->name,
				      offset + done, got ? strerror(errno) : "it has become shorter");
		done += (size_t)got;
	}
	return STATUS_OK;
}

void source_close(struct source *source)
{
	if (source->fd >= 0)
		close(source->fd);
	free(source->data);
}
