// SPDX-License-Identifier: GPL-2.0-only
/*
 * FENCE: what it says, to how many, and how it ends otherwise.
 *
 *	fence_test NEAR FAR
 *	fence_test -w DEVICE
 *
 * Two cards that are a ring of their own; see pair.h. With -w somebody outside
 * freezes the next machine once the program has printed "ready": for the two
 * seconds until its link counts as dark, no fence comes home.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "pair.h"

#define PLACE 0x200000ull

static void refusals(void)
{
	const struct {
		struct rfm_fence_wait args;
		const char *why;
	} bad[] = {
		{ { .timeout_ms = 60001 }, "timeout 60001 ms" },
		{ { .timeout_ms = 0xffffffff }, "timeout for ever" },
	};
	struct rfm_fence_wait args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_FENCE, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	check_bad_pointers(pair.near, RFM_IOC_FENCE, "FENCE");
}

static void needs_the_right_to_write(void)
{
	struct rfm_fence_wait args = { .timeout_ms = 100 };
	int reader = open(pair.path, O_RDONLY);

	REQUIRE(reader >= 0);
	CHECK_REFUSED(reader, RFM_IOC_FENCE, args, EBADF);
	close(reader);
}

/* Without the time that is asked for, or with too little of it, a busy host may be too late. */
static int fence_until_in_time(struct rfm_fence_wait *args)
{
	const struct rfm_fence_wait asked = *args;
	unsigned int tries = 20;

	while (ioctl(pair.near, RFM_IOC_FENCE, args)) {
		if (errno != ETIMEDOUT || !--tries)
			return -1;
		*args = asked;
	}
	return 0;
}

static void says_how_it_went(void)
{
	static const uint32_t timeouts[] = { 0, 60000, 1000 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(timeouts); i++) {
		struct rfm_fence_wait args = { .timeout_ms = timeouts[i] };
		struct rfm_ring_map map = { .count = 0 };
		uint64_t start = now_ns();

		REQUIRE(!fence_until_in_time(&args));
		CHECK(args.wait_ns && args.wait_ns <= now_ns() - start);
		CHECK_EQ(args.flags, 0);
		CHECK_EQ(args.lost, 0);
		REQUIRE(!ioctl(pair.near, RFM_IOC_RING_MAP, &map));
		CHECK_EQ(args.epoch, map.epoch);
		CHECK_EQ(args.timeout_ms, timeouts[i]);
		tap_note("a fence took %llu us", args.wait_ns / 1000);
	}
}

/* After a fence the other node has what was stored before it. */
static void everything_is_there(void)
{
	enum { WORDS = 64, ROUNDS = 200 };
	unsigned int i, round;

	for (round = 0; round < ROUNDS && !tap_failed; round++) {
		uint64_t base = pair.value;

		pair.value += WORDS;
		for (i = 0; i < WORDS; i++)
			CHECK(word_put(pair.near, PLACE + 8 * i, base + i));
		CHECK(fence(pair.near));
		/* The last first: it is the one that can be late. */
		for (i = WORDS; i--; )
			CHECK_EQ(word_get(pair.far, PLACE + 8 * i), base + i);
	}
}

struct waiter {
	pthread_t thread;
	unsigned int number;
	unsigned int failures;
};

static void *wait_often(void *arg)
{
	struct waiter *waiter = arg;
	const uint64_t at = PLACE + 0x1000 + 8 * waiter->number;
	unsigned int i;

	for (i = 1; i <= 50; i++) {
		struct rfm_fence_wait args = { .timeout_ms = 10000 };
		uint64_t value = (uint64_t)waiter->number << 32 | i;

		if (!word_put(pair.near, at, value) ||
		    ioctl(pair.near, RFM_IOC_FENCE, &args) || args.flags ||
		    word_get(pair.far, at) != value)
			waiter->failures++;
	}
	return NULL;
}

static void many_wait_at_once(void)
{
	struct waiter waiters[32] = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(waiters); i++) {
		waiters[i].number = i;
		REQUIRE(!pthread_create(&waiters[i].thread, NULL, wait_often,
					&waiters[i]));
	}
	for (i = 0; i < ARRAY_SIZE(waiters); i++) {
		pthread_join(waiters[i].thread, NULL);
		CHECK_EQ(waiters[i].failures, 0);
	}
}

static int set_switch(int fd, uint32_t which, bool on)
{
	struct rfm_config args = { .mask = which, .on = on ? which : 0 };

	return ioctl(fd, RFM_IOC_SET_CONFIG, &args);
}

/* Until a packet goes round again; what is sent too early is lost. */
static void ring_heals(int fd)
{
	struct rfm_ring_test test = { .timeout_ms = 200 };

	while (ioctl(fd, RFM_IOC_RING_TEST, &test))
		if (!CHECK_EQ(errno, ETIMEDOUT))
			return;
}

/* Nothing leaves a node whose transmitter is off, and its fence says so. */
static void a_dark_node_says_so(void)
{
	struct rfm_fence_wait args = { .timeout_ms = 10000 };

	REQUIRE(!set_switch(pair.near, RFM_CONFIG_TRANSMIT, false));
	CHECK(word_put(pair.near, PLACE, ++pair.value));
	CHECK_EQ(ioctl(pair.near, RFM_IOC_FENCE, &args), 0);
	CHECK(args.flags & RFM_FENCED_DARK);
	CHECK(word_get(pair.far, PLACE) != pair.value);
	REQUIRE(!set_switch(pair.near, RFM_CONFIG_TRANSMIT, true));
	ring_heals(pair.near);
	args = (struct rfm_fence_wait){ .timeout_ms = 10000 };
	CHECK(word_put(pair.near, PLACE, pair.value));
	CHECK_EQ(ioctl(pair.near, RFM_IOC_FENCE, &args), 0);
	CHECK_EQ(args.flags & RFM_FENCED_DARK, 0);
	CHECK_EQ(word_get(pair.far, PLACE), pair.value);
}

/* A fence that is not awaited to its end harms no other. */
static void interrupted(int signo)
{
	(void)signo;
}

static void signals_and_others(void)
{
	struct sigaction action = { .sa_handler = interrupted };
	unsigned int i, ended = 0, eintr = 0;
	int status, ready[2];
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	pid = fork();
	if (!pid) {
		/* Without SA_RESTART a fence ends with EINTR or well. */
		signal(SIGALRM, SIG_DFL);
		sigaction(SIGUSR1, &action, NULL);
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		while (ended < 1000) {
			struct rfm_fence_wait args = { .timeout_ms = 10000 };

			if (!ioctl(pair.near, RFM_IOC_FENCE, &args))
				ended++;
			else if (errno == EINTR)
				eintr++;
			else
				_exit(1);
		}
		tap_note("%u ended, %u interrupted", ended, eintr);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	for (i = 0; i < 500; i++) {
		kill(pid, SIGUSR1);
		if (!CHECK(fence(pair.near)))
			break;
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	close(ready[0]);
	close(ready[1]);
}

#define STOPS 500
#define FENCES 2000

/* Who is stopped in a fence and goes on, as a machine that sleeps does to all, waits on. */
static void stopped_and_continued(void)
{
	atomic_bool *enough = mmap(NULL, sizeof(*enough), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rfm_fence_wait args;
	unsigned int stops, fences;
	int status;
	pid_t pid;

	REQUIRE(enough != MAP_FAILED);
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		for (fences = 0; !*enough || fences < FENCES; fences++) {
			args = (struct rfm_fence_wait){ .timeout_ms = 10000 };
			if (ioctl(pair.near, RFM_IOC_FENCE, &args)) {
				tap_note("fence %u: %s", fences, strerror(errno));
				_exit(1);
			}
		}
		tap_note("%u fences", fences);
		_exit(0);
	}
	for (stops = 0; stops < STOPS; stops++) {
		kill(pid, SIGSTOP);
		if (!CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid) ||
		    !CHECK(WIFSTOPPED(status)))
			break;
		kill(pid, SIGCONT);
		if (!CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid) ||
		    !CHECK(WIFCONTINUED(status)))
			break;
	}
	*enough = true;
	if (CHECK_EQ(stops, STOPS)) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	munmap(enough, sizeof(*enough));
}

/* --- with -w -------------------------------------------------------------- */

#define MS 1000000ull

/* Less than the light of a frozen machine lasts, which would end a fence, too. */
#define BEFORE_DARK_MS 1500
/* More than a fence takes as long as nothing is frozen. */
#define FROZEN_MS 300

/* Fences until one does not come home. */
static void the_time_runs_out(void)
{
	uint64_t start, end = now_ns() + 60000 * MS;
	struct rfm_fence_wait args;

	printf("ready\n");
	fflush(stdout);
	do {
		args = (struct rfm_fence_wait){ .timeout_ms = FROZEN_MS };
		start = now_ns();
	} while (!ioctl(pair.near, RFM_IOC_FENCE, &args) && start < end);
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK(now_ns() - start >= FROZEN_MS * MS);
	CHECK(!args.flags && !args.lost && !args.wait_ns);
}

static void a_signal_interrupts(void)
{
	struct sigaction action = { .sa_handler = interrupted }, before;
	/* Again and again: the first may come before the wait has begun. */
	struct itimerval soon = { { 0, 50000 }, { 0, 50000 } }, never = { 0 };
	struct rfm_fence_wait args = { .timeout_ms = 60000 };

	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_REFUSED(pair.near, RFM_IOC_FENCE, args, EINTR);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
}

/* Nobody who waits holds up the end of its process, or the other waiters. */
static void a_kill_ends_a_waiter(void)
{
	struct rfm_fence_wait args = { .timeout_ms = 60000 };
	struct pollfd ended = { .events = POLLIN };
	int pipes[2], i;
	pid_t pids[8];
	char byte;

	REQUIRE(!pipe(pipes));
	for (i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		if (write(pipes[1], "r", 1) == 1)
			ioctl(pair.near, RFM_IOC_FENCE, &args);
		pause();
	}
	close(pipes[1]);
	for (i = 0; i < 8; i++)
		CHECK_EQ(read(pipes[0], &byte, 1), 1);
	for (i = 0; i < 8; i++)
		kill(pids[i], SIGKILL);
	/* The pipe ends with the last of them. */
	ended.fd = pipes[0];
	CHECK_EQ(poll(&ended, 1, BEFORE_DARK_MS), 1);
	for (i = 0; i < 8; i++)
		waitpid(pids[i], NULL, 0);
	close(pipes[0]);
}

static int run_frozen(const char *path)
{
	static const struct tap_case cases[] = {
		TAP_CASE(the_time_runs_out),
		TAP_CASE(a_signal_interrupts),
		TAP_CASE(a_kill_ends_a_waiter),
	};

	pair.near = open(path, O_RDWR);
	if (pair.near < 0) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(refusals),
		TAP_CASE(needs_the_right_to_write),
		TAP_CASE(says_how_it_went),
		TAP_CASE(everything_is_there),
		TAP_CASE(many_wait_at_once),
		TAP_CASE(signals_and_others),
		TAP_CASE(stopped_and_continued),
		TAP_CASE(a_dark_node_says_so),
	};

	if (argc == 3 && !strcmp(argv[1], "-w"))
		return run_frozen(argv[2]);
	pair_open_whole(argc, argv);
	return TAP_RUN(cases);
}
