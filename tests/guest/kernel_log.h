/* SPDX-License-Identifier: GPL-2.0-only */
/* Did the kernel complain while we were at work? Reads /dev/kmsg. */
#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A reader that stands at the end of the log; -1 if there is none. */
static int kernel_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/* Prints what looks like trouble since then; returns how many lines do. */
static unsigned int kernel_log_complaints(int fd)
{
	static const char *const trouble[] = {
		"BUG:", "WARNING:", "Oops", "general protection", "Call Trace",
		"unable to handle", "blocked for more than", "soft lockup",
		"hard LOCKUP", "detected stalls", "self-detected stall",
		"nobody cared", "refcount_t", "use-after-free", "Bad page",
		"scheduling while atomic", "possible circular locking",
		"sysfs: cannot create duplicate", "Busy inodes",
	};
	char line[2048];
	unsigned int count = 0, i;
	ssize_t len;

	/* One record a read; EPIPE says that some were overwritten. */
	while ((len = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		if (len <= 0)
			continue;
		line[len] = '\0';
		for (i = 0; i < sizeof(trouble) / sizeof(*trouble); i++) {
			if (strstr(line, trouble[i])) {
				count++;
				printf("# kernel: %s", line);
				break;
			}
		}
	}
	return count;
}

#endif /* KERNEL_LOG_H */
