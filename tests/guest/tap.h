/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small test harness: a table of cases, one TAP line for each.
 *
 * A case is a function that makes checks. A check that fails says where and
 * why on a "#" line and marks the case as failed; the case goes on, unless it
 * was a REQUIRE. A case that hangs ends the program after TAP_CASE_SECONDS.
 * Exit status as in the kernel's kselftest: 0 passed, 1 failed, 4 skipped.
 */
#ifndef TAP_H
#define TAP_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAP_PASS 0
#define TAP_FAIL 1
#define TAP_SKIP 4

#ifndef TAP_CASE_SECONDS
#define TAP_CASE_SECONDS 240
#endif

struct tap_case {
	const char *name;
	void (*run)(void);
};

#define TAP_CASE(function) { #function, function }

/* In a header: one for all files of a program. */
#define __weak __attribute__((weak))

__weak bool tap_failed;
__weak char tap_skipped[256];

__attribute__((format(printf, 1, 2), unused))
static void tap_note(const char *format, ...)
{
	va_list args;

	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
}

/* The case cannot be run here; return from it after this. */
__attribute__((format(printf, 1, 2), unused))
static void tap_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(tap_skipped, sizeof(tap_skipped), format, args);
	va_end(args);
}

/* Nothing of this program can be run here. */
__attribute__((format(printf, 1, 2), noreturn, unused))
static void tap_skip_all(const char *format, ...)
{
	va_list args;

	printf("TAP version 13\n1..0 # SKIP ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	exit(TAP_SKIP);
}

#define CHECK(condition) ({						\
	bool tap_good = (condition);					\
	if (!tap_good) {						\
		tap_failed = true;					\
		tap_note("%s:%d: not true: %s", __func__, __LINE__,	\
			 #condition);					\
	}								\
	tap_good; })

#define CHECK_EQ(actual, expected) ({					\
	unsigned long long tap_a = (actual), tap_e = (expected);	\
	if (tap_a != tap_e) {						\
		tap_failed = true;					\
		tap_note("%s:%d: %s is %#llx (%lld), expected %#llx (%lld)", \
			 __func__, __LINE__, #actual, tap_a,		\
			 (long long)tap_a, tap_e, (long long)tap_e);	\
	}								\
	tap_a == tap_e; })

/* The call returns -1 and sets errno to what is expected. */
#define CHECK_ERRNO(call, expected) ({					\
	errno = 0;							\
	long long tap_r = (long long)(call);				\
	int tap_errno = errno;						\
	bool tap_good = tap_r == -1 && tap_errno == (expected);		\
	if (!tap_good) {						\
		tap_failed = true;					\
		tap_note("%s:%d: %s returned %lld, errno %d (%s), expected errno %s", \
			 __func__, __LINE__, #call, tap_r, tap_errno,	\
			 strerror(tap_errno), #expected);		\
	}								\
	tap_good; })

/* As CHECK, and the case ends here if it fails. Not for use in a function
 * that returns a value.
 */
#define REQUIRE(condition) do {						\
	errno = 0;							\
	if (!(condition)) {						\
		tap_failed = true;					\
		tap_note("%s:%d: not true: %s (errno: %s)", __func__,	\
			 __LINE__, #condition, strerror(errno));	\
		return;							\
	}								\
} while (0)

static void tap_hung(int signo)
{
	static const char text[] = "Bail out! this case hangs\n";

	(void)signo;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(TAP_FAIL);
	_exit(TAP_FAIL);
}

static double tap_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Runs all cases; returns the exit status. */
__attribute__((unused))
static int tap_run(const struct tap_case *cases, unsigned int count)
{
	unsigned int i, failed = 0, skipped = 0;
	double begin;

	signal(SIGALRM, tap_hung);
	printf("TAP version 13\n1..%u\n", count);
	for (i = 0; i < count; i++) {
		fflush(stdout);
		tap_failed = false;
		tap_skipped[0] = '\0';

		begin = tap_seconds();
		alarm(TAP_CASE_SECONDS);
		cases[i].run();
		alarm(0);

		if (tap_failed) {
			failed++;
			printf("not ok %u %s\n", i + 1, cases[i].name);
		} else if (tap_skipped[0]) {
			skipped++;
			printf("ok %u %s # SKIP %s\n", i + 1, cases[i].name,
			       tap_skipped);
		} else {
			printf("ok %u %s (%.1f s)\n", i + 1, cases[i].name,
			       tap_seconds() - begin);
		}
	}
	printf("# %u passed, %u failed, %u skipped\n",
	       count - failed - skipped, failed, skipped);
	fflush(stdout);
	if (failed)
		return TAP_FAIL;
	return skipped == count ? TAP_SKIP : TAP_PASS;
}

#define TAP_RUN(cases) tap_run(cases, sizeof(cases) / sizeof((cases)[0]))

#endif /* TAP_H */
