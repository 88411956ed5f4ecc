// SPDX-License-Identifier: MIT
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe is read to its end before anything is done with what it has. */
static int read_all(const struct command *cmd, struct source *source, int fd, uint64_t expected)
{
	uint64_t room = expected + 1;	/* one more shows that there is more */

	source->data = malloc(room);
	if (!source->data)
		return failed(cmd, "out of memory");
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
