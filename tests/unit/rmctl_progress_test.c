// SPDX-License-Identifier: MIT
/* links: tools/rmctl/cli/progress.c tools/rmctl/cli/stop.c tools/common/units.c */
/* The line that tells how far rmctl is, on a terminal; and the end that the user asks for. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/rmctl/cli/progress.h"

static const struct verb verb = { .name = "load" };
static const struct command cmd = { .verb = &verb, .card = "rfm0" };

/* Instead of the C library's: it goes on when a test says so. */
static struct timespec the_time = { .tv_sec = 1000 };

int clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	*time = the_time;
	return 0;
}

static int saved;	/* standard error, while it is something else */

/* Makes @end standard error. */
static void redirect(int end)
{
	saved = dup(STDERR_FILENO);
	dup2(end, STDERR_FILENO);
	close(end);
}

/* Also after a failure, so that it can be read. */
static int restore(void **state)
{
	(void)state;
	dup2(saved, STDERR_FILENO);
	return close(saved);
}

/* What has come to the other end, which does not wait, since the last call. */
static const char *told(int end)
{
	static char text[1024];
	ssize_t length = read(end, text, sizeof(text) - 1);

	text[length > 0 ? length : 0] = '\0';
	return text;
}

static void a_terminal_is_told_now_and_then(void **state)
{
	struct progress progress;
	int terminal, its;

	(void)state;
	assert_int_equal(openpty(&terminal, &its, NULL, NULL, NULL), 0);
	assert_int_equal(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
	redirect(its);
	progress_begin(&progress, &cmd, 100);
	/* What is over soon shows nothing. */
	progress_show(&progress, 10);
	progress_end(&progress);
	assert_string_equal(told(terminal), "");
	the_time.tv_sec++;
	progress_show(&progress, 50);
	assert_non_null(strstr(told(terminal), "\rrfm0: load [############            ]  50 %"));
	progress_show(&progress, 60);
	assert_string_equal(told(terminal), "");
	the_time.tv_sec++;
	progress_show(&progress, 70);
	assert_non_null(strstr(told(terminal), "  70 %"));
	/* The line goes, once. */
	progress_end(&progress);
	assert_string_equal(told(terminal), "\r\033[K");
	progress_end(&progress);
	assert_string_equal(told(terminal), "");
	close(terminal);
}

static void a_file_is_not(void **state)
{
	struct progress progress;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	redirect(ends[1]);
	progress_begin(&progress, &cmd, 100);
	the_time.tv_sec++;
	progress_show(&progress, 50);
	progress_end(&progress);
	assert_string_equal(told(ends[0]), "");
	close(ends[0]);
}

/* The last test: what has been asked for cannot be taken back. */
static void a_signal_stops_what_is_not_done(void **state)
{
	struct progress progress;

	(void)state;
	progress_begin(&progress, &cmd, 100);
	assert_false(progress_stopped(&progress, 0));
	raise(SIGINT);
	assert_true(progress_stopped(&progress, 0));
	assert_true(progress_stopped(&progress, 99));
	assert_false(progress_stopped(&progress, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_terminal_is_told_now_and_then, restore),
		cmocka_unit_test_teardown(a_file_is_not, restore),
		cmocka_unit_test(a_signal_stops_what_is_not_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
