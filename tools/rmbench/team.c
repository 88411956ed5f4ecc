// SPDX-License-Identifier: MIT
/* Processes that measure something together, and what they share. */
#include "rmbench.h"
#include "tools/common/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_LIMIT_NS	120000000000ull	/* to set up 256 processes on a busy machine */
#define NAP_US		1000

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

static void set_signals(void (*handler)(int))
{
	/* Without SA_RESTART: it ends the wait for a member. */
	struct sigaction action = { .sa_handler = handler };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

void bench_fail(struct bench_shared *shared, const char *format, ...)
{
	va_list args;

	/* The first one has the word. */
	if (!atomic_exchange(&shared->stop, true)) {
		va_start(args, format);
		vsnprintf(shared->sentence, sizeof(shared->sentence), format, args);
		va_end(args);
		atomic_store(&shared->failed, true);
	}
	_exit(1);
}

void bench_ready(struct bench_shared *shared, unsigned int count)
{
	uint64_t limit = now_ns() + READY_LIMIT_NS;

	atomic_fetch_add(&shared->ready, 1);
	while (atomic_load(&shared->ready) < count) {
		if (now_ns() > limit)
			bench_fail(shared, "only %u of %u processes were ready in time",
				   atomic_load(&shared->ready), count);
		usleep(NAP_US);
	}
}

static int start(const struct bench_team *team, struct bench_shared *shared, pid_t *pids,
		 char *sentence)
{
	pid_t parent = getpid();

	for (unsigned int i = 0; i < team->count; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			return bench_why(sentence, "cannot start process %u of %u: %s", i + 1,
					 team->count, strerror(errno));
		if (pids[i])
			continue;
		set_signals(SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		team->member(shared, i, team->opaque);
		_exit(0);
	}
	return 0;
}

/* Until number 0 has ended, or one has failed. */
static int await(const struct bench_team *team, struct bench_shared *shared, pid_t *pids,
		 char *sentence)
{
	int status = 0;
	pid_t pid = interrupted ? -1 : waitpid(-1, &status, 0);

	if (pid < 0)
		return bench_why(sentence, "interrupted");
	for (unsigned int i = 0; i < team->count; i++)
		if (pids[i] == pid)
			pids[i] = 0;
	if (atomic_load(&shared->failed))
		return bench_why(sentence, "%s", shared->sentence);
	if (pids[0] || !WIFEXITED(status) || WEXITSTATUS(status))
		return bench_why(sentence, "a process of the measurement died");
	return 0;
}

static void end_all(const struct bench_team *team, const pid_t *pids)
{
	for (unsigned int i = 0; i < team->count; i++)
		if (pids[i] > 0)
			kill(pids[i], SIGKILL);
	for (unsigned int i = 0; i < team->count; i++)
		if (pids[i] > 0)
			waitpid(pids[i], NULL, 0);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return values[count / 2];
}

static double median_slice(const struct bench_shared *shared)
{
	double each[BENCH_SLICES];

	for (int i = 0; i < BENCH_SLICES; i++)
		each[i] = (double)shared->ns[i] / (double)(shared->units[i] ? shared->units[i] : 1);
	return bench_median(each, BENCH_SLICES);
}

double bench_run(const struct bench_team *team, char *sentence)
{
	pid_t pids[BENCH_NODES] = { 0 };
	struct bench_shared *shared;
	double result = -1;

	set_signals(on_signal);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return bench_why(sentence, "no room for the results: %s", strerror(errno));
	fflush(stdout);
	if (!start(team, shared, pids, sentence) && !await(team, shared, pids, sentence))
		result = median_slice(shared);
	end_all(team, pids);
	munmap(shared, sizeof(*shared));
	return result;
}
