// SPDX-License-Identifier: MIT
/* The hub's log: whoever reads it slowly loses lines, and holds nobody up.
 * links: tools/common/log.c
 */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/log.h"

static uint64_t count_lines(const char *text, ssize_t length)
{
	uint64_t lines = 0;

	for (ssize_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

static uint64_t read_lines(int fd)
{
	uint64_t lines = 0;
	char buf[4096];
	ssize_t length;

	while ((length = read(fd, buf, sizeof(buf))) > 0)
		lines += count_lines(buf, length);
	return lines;
}

static void test_file(void **state)
{
	char path[] = "/tmp/rmhub-journal-XXXXXX", buf[64];
	int fd = mkstemp(path);
	struct journal journal;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before\n", 7), 7);
	assert_int_equal(journal_open(&journal, path, -1), 0);
	journal_line(&journal, "one");
	journal_line(&journal, "two");
	journal_close(&journal);
	journal_close(&journal);
	assert_int_equal(pread(fd, buf, sizeof(buf), 0), 15);
	assert_memory_equal(buf, "before\none\ntwo\n", 15);
	close(fd);
	unlink(path);
	assert_int_equal(journal_open(&journal, "/nowhere/at/all", -1), -1);
}

static void test_slow_reader(void **state)
{
	struct journal journal;
	char line[500];
	int fds[2];
	uint64_t read = 0;

	(void)state;
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	/* The hub's own end may block: it shares it with others. */
	assert_int_equal(fcntl(fds[1], F_SETFL, 0), 0);
	assert_int_equal(journal_open(&journal, NULL, fds[1]), 0);
	for (int i = 0; i < 10000; i++) {
		journal_line(&journal, line);
		journal_flush(&journal);
	}
	assert_int_equal(journal.lines, 10000);
	assert_true(journal.lost > 0);
	while (!journal_flush(&journal))
		read += read_lines(fds[0]);
	read += read_lines(fds[0]);
	assert_int_equal(read, journal.lines - journal.lost);
	journal_line(&journal, line);
	assert_true(journal_flush(&journal));
	assert_int_equal(read_lines(fds[0]), 1);
	journal_close(&journal);
	close(fds[0]);
	close(fds[1]);
}

static void test_reader_gone(void **state)
{
	struct journal journal;
	int fds[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(journal_open(&journal, NULL, fds[1]), 0);
	close(fds[0]);
	journal_line(&journal, "one");
	journal_line(&journal, "two");
	assert_true(journal_flush(&journal));
	assert_int_equal(journal.lost, 2);
	journal_line(&journal, "three");
	assert_int_equal(journal.lost, 3);
	journal_close(&journal);
	close(fds[1]);
}

/* Instead of the C library's: no time passes while it stands. */
static bool stands;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static struct timespec stood_at;

	if (!stands)
		syscall(SYS_clock_gettime, clock, &stood_at);
	*time = stood_at;
	return 0;
}

/* Reads nothing before the pipe is full, then to the end; returns how many lines. */
static void *read_late(void *opaque)
{
	int fd = *(int *)opaque, waiting = 0;

	while (waiting < fcntl(fd, F_GETPIPE_SZ)) {
		assert_int_equal(ioctl(fd, FIONREAD, &waiting), 0);
		sched_yield();
	}
	return (void *)(uintptr_t)read_lines(fd);
}

static void fill(struct journal *journal)
{
	char line[64];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < JOURNAL_ROOM / 64; i++)
		journal_line(journal, line);
	assert_int_equal(journal->lost, 0);
}

static void test_end_is_awaited(void **state)
{
	struct journal journal;
	pthread_t reader;
	void *lines;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(journal_open(&journal, NULL, fds[1]), 0);
	fill(&journal);
	stands = true;		/* the reader may be as slow as it likes */
	assert_int_equal(pthread_create(&reader, NULL, read_late, &fds[0]), 0);
	assert_int_equal(journal_close(&journal), 0);
	stands = false;
	close(fds[1]);
	pthread_join(reader, &lines);
	assert_int_equal((uintptr_t)lines, journal.lines);
	close(fds[0]);
}

static void test_end_is_lost(void **state)
{
	struct journal journal;
	uint64_t lost;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(journal_open(&journal, NULL, fds[1]), 0);
	fill(&journal);
	lost = journal_close(&journal);
	assert_true(lost > 0);
	close(fds[1]);
	assert_int_equal(read_lines(fds[0]) + lost, journal.lines);
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_slow_reader),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_end_is_awaited),
		cmocka_unit_test(test_end_is_lost),
	};

	return cmocka_run_group_tests_name("hub journal", tests, NULL, NULL);
}
