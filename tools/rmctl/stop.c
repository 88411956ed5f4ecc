// SPDX-License-Identifier: MIT
#include "stop.h"

#include <signal.h>
#include <time.h>

#include "clock.h"

static volatile sig_atomic_t asked;
static sigset_t before;

static void on_signal(int signo)
{
	asked |= signo != SIGCHLD;
}

static void handle(int signo)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(signo, &action, NULL);
}

/*
 * From now on these signals do not end the program, but make a call that waits fail with
 * EINTR, and stop_asked() true.
 */
void stop_on_signals(void)
{
	handle(SIGINT);
	handle(SIGTERM);
}

bool stop_asked(void)
{
	return asked;
}

/*
 * The same for a program that waits in stop_poll() and nowhere else: between two of its
 * calls the signals, and SIGCHLD, are held, so that none can be missed.
 */
void stop_hold_signals(void)
{
	sigset_t held;

	stop_on_signals();
	handle(SIGCHLD);
	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGCHLD);
	sigprocmask(SIG_BLOCK, &held, &before);
}

/* Of a child: signals are as they were. */
void stop_forget(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/**
 * stop_poll - poll(2), until @deadline_ns or a signal
 * @fds: as poll(2)
 * @count: as poll(2)
 * @deadline_ns: CLOCK_MONOTONIC, or STOP_NEVER
 *
 * Returns how many are ready, 0 at the deadline, -1 after a signal.
 */
int stop_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
	struct timespec left, *timeout = NULL;

	if (deadline_ns != STOP_NEVER) {
		uint64_t now = now_ns();
		uint64_t rest = deadline_ns > now ? deadline_ns - now : 0;

		left = (struct timespec){ .tv_sec = (time_t)(rest / NSEC_PER_SEC),
					  .tv_nsec = (long)(rest % NSEC_PER_SEC) };
		timeout = &left;
	}
	return ppoll(fds, count, timeout, &before);
}
