// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* ppoll(2) */
#endif
#include "stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "tools/common/clock.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

#define SIGNALS (sizeof(signals) / sizeof(*signals))

static volatile sig_atomic_t asked, latest, typed;
static sigset_t before;
static bool handled[SIGNALS];

static void on_signal(int signo, siginfo_t *info, void *context)
{
	if (signo == SIGCHLD)
		return;
	asked = 1;
	latest = signo;
	typed = info->si_code == SI_KERNEL;
}

static void handle(int signo)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(signo, &action, NULL);
}

/*
 * From now on these signals do not end the program, but make a call that waits fail with
 * EINTR, and stop_asked() true.
 */
void stop_on_signals(void)
{
	struct sigaction now;

	for (size_t i = 0; i < SIGNALS; i++) {
		/* nohup(1) wants that one to be ignored. */
		handled[i] = signals[i] != SIGHUP || sigaction(SIGHUP, NULL, &now) ||
			     now.sa_handler != SIG_IGN;
		if (handled[i])
			handle(signals[i]);
	}
}

bool stop_asked(void)
{
	return asked;
}

/*
 * The signal that has asked since the last call, 0: none. @by_terminal: all programs of the
 * terminal's foreground have got it, too.
 */
int stop_signal(bool *by_terminal)
{
	int signo = latest;

	latest = 0;
	*by_terminal = typed;
	return signo;
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
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&held, signals[i]);
	sigaddset(&held, SIGCHLD);
	sigprocmask(SIG_BLOCK, &held, &before);
}

/* Of a child: signals are as they were. */
void stop_forget(void)
{
	for (size_t i = 0; i < SIGNALS; i++)
		if (handled[i])
			signal(signals[i], SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/*
 * As poll(2), until @deadline_ns of CLOCK_MONOTONIC, or STOP_NEVER. Returns how many are
 * ready, 0 at the deadline, -1 after a signal.
 */
int stop_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns)
{
	static const struct timespec at_once;
	struct timespec left, *timeout = NULL;

	/* First the signals: ppoll(2) lets none in while something is ready, which in a storm
	 * is always.
	 */
	if (ppoll(NULL, 0, &at_once, &before) < 0)
		return -1;
	if (deadline_ns != STOP_NEVER) {
		uint64_t now = now_ns();
		uint64_t rest = deadline_ns > now ? deadline_ns - now : 0;

		left = (struct timespec){ .tv_sec = (time_t)(rest / NSEC_PER_SEC),
					  .tv_nsec = (long)(rest % NSEC_PER_SEC) };
		timeout = &left;
	}
	return ppoll(fds, count, timeout, &before);
}
