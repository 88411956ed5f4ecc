// SPDX-License-Identifier: MIT
/* links: tools/rmctl/cli/stop.c */
/* How rmctl waits, and what ends that. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/rmctl/cli/stop.h"

/* In this order: that a signal has asked is never forgotten. */

static struct pollfd always_ready(void)
{
	static int pipes[2];

	if (!pipes[1]) {
		assert_int_equal(pipe(pipes), 0);
		assert_int_equal(write(pipes[1], "x", 1), 1);
	}
	return (struct pollfd){ .fd = pipes[0], .events = POLLIN };
}

static void what_is_ready_is_told(void **state)
{
	struct pollfd fd = always_ready();

	(void)state;
	signal(SIGHUP, SIG_IGN);
	stop_hold_signals();
	assert_int_equal(stop_poll(&fd, 1, STOP_NEVER), 1);
	assert_int_equal(stop_poll(NULL, 0, 0), 0);
}

/* As with nohup(1). */
static void an_ignored_hangup_stays_ignored(void **state)
{
	(void)state;
	raise(SIGHUP);
	assert_int_equal(stop_poll(NULL, 0, 0), 0);
	assert_false(stop_asked());
}

static void the_end_of_a_child_wakes(void **state)
{
	bool by_terminal;
	pid_t child = fork();

	(void)state;
	if (!child)
		_exit(0);
	assert_int_equal(stop_poll(NULL, 0, STOP_NEVER), -1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(stop_asked());
	assert_int_equal(stop_signal(&by_terminal), 0);
}

/* In a storm there is always something to read, and yet Ctrl-C has to end it. */
static void a_signal_comes_before_what_is_ready(void **state)
{
	struct pollfd fd = always_ready();
	bool by_terminal = true;

	(void)state;
	raise(SIGINT);
	assert_false(stop_asked());
	assert_int_equal(stop_poll(&fd, 1, STOP_NEVER), -1);
	assert_true(stop_asked());
	assert_int_equal(stop_signal(&by_terminal), SIGINT);
	assert_false(by_terminal);
	assert_int_equal(stop_signal(&by_terminal), 0);
	assert_int_equal(stop_poll(&fd, 1, STOP_NEVER), 1);
}

/* The second time is passed on as the first. */
static void each_signal_is_told(void **state)
{
	bool by_terminal;

	(void)state;
	raise(SIGTERM);
	assert_int_equal(stop_poll(NULL, 0, STOP_NEVER), -1);
	assert_int_equal(stop_signal(&by_terminal), SIGTERM);
}

static void a_child_forgets(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (!child) {
		stop_forget();
		raise(SIGHUP);		/* ignored, as it was */
		raise(SIGTERM);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_ready_is_told),
		cmocka_unit_test(an_ignored_hangup_stays_ignored),
		cmocka_unit_test(the_end_of_a_child_wakes),
		cmocka_unit_test(a_signal_comes_before_what_is_ready),
		cmocka_unit_test(each_signal_is_told),
		cmocka_unit_test(a_child_forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
