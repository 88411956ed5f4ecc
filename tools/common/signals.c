// SPDX-License-Identifier: MIT
#include "tools/common/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

int watch_signals(struct rfm_loop *loop, struct rfm_loop_fd *watch)
{
	sigset_t set;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -1 : rfm_loop_watch(loop, watch, fd, EPOLLIN);
}
