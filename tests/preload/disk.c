// SPDX-License-Identifier: MIT
/*
 * A disk that stands still, to be preloaded: a write to a capture waits while
 * the file $DISK_STANDS is there, and says so by making $DISK_STANDS.waits.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_capture(int fd)
{
	char link[64], name[4096];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name));
	return len > 7 && !memcmp(name + len - 7, ".pcapng", 7);
}

ssize_t write(int fd, const void *data, size_t len)
{
	const char *stands = getenv("DISK_STANDS");
	char waits[4096];

	while (stands && is_capture(fd) && !access(stands, F_OK)) {
		snprintf(waits, sizeof(waits), "%s.waits", stands);
		close(open(waits, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		usleep(10000);
	}
	return syscall(SYS_write, fd, data, len);
}
