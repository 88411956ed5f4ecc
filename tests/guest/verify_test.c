// SPDX-License-Identifier: GPL-2.0-only
/*
 * VERIFY: what every node has, to how many, and what is refused.
 *
 *	verify_test NEAR FAR
 *	verify_test -q DEV
 *
 * Two cards that are a ring of their own; see pair.h. With -q: nothing can be asked
 * when the queue is full; the ring must come to a stand after "ready".
 */

#include <sys/time.h>
#include <sys/wait.h>

#include "pair.h"

#define PLACE 0x400000ull

/* CRC32C, from RFC 3720 */
#define CRC_OF_32_ZEROS	0x8a9136aau
#define CRC_OF_DIGITS	0xe3069283u

static struct rfm_verify args;

static int verify(int fd, uint64_t offset, uint32_t length)
{
	args = (struct rfm_verify){
		.offset = offset, .length = length, .timeout_ms = 30000,
	};
	return ioctl(fd, RFM_IOC_VERIFY, &args);
}

static void refusals(void)
{
	const uint64_t size = pair.info.memory_size;
	const struct {
		struct rfm_verify args;
		const char *why;
	} bad[] = {
		{ { .offset = 0, .length = 0 }, "nothing" },
		{ { .offset = 0, .length = 32769 }, "too much" },
		{ { .offset = 0, .length = 0xffffffff }, "far too much" },
		{ { .offset = size, .length = 1 }, "the end" },
		{ { .offset = size - 8, .length = 9 }, "past the end" },
		{ { .offset = 1ull << 32, .length = 8 }, "4 GiB" },
		{ { .offset = ~0ull, .length = 8 }, "the largest" },
		{ { .length = 8, .timeout_ms = 60001 }, "timeout 60001 ms" },
		{ { .length = 8, .timeout_ms = ~0u }, "timeout for ever" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_VERIFY, args, EINVAL))
			tap_note("%s", bad[i].why);
	}
	check_bad_pointers(pair.near, RFM_IOC_VERIFY, "VERIFY");
}

/* It sends a question, and shows what stands in the memory of others. */
static void needs_both_rights(void)
{
	int reader = open(pair.path, O_RDONLY);
	int writer = open(pair.path, O_WRONLY);

	REQUIRE(reader >= 0 && writer >= 0);
	args = (struct rfm_verify){ .length = 8 };
	CHECK_REFUSED(reader, RFM_IOC_VERIFY, args, EBADF);
	CHECK_REFUSED(writer, RFM_IOC_VERIFY, args, EBADF);
	close(reader);
	close(writer);
}

static void check_answer(unsigned int node, uint32_t crc, uint32_t length,
			 uint64_t first)
{
	const struct rfm_node_answer *answer = &args.answer[node];

	CHECK_EQ(answer->flags, RFM_ANSWER_GIVEN);
	CHECK_EQ(answer->length, length);
	CHECK_EQ(answer->crc, crc);
	CHECK_EQ(answer->pad, 0);
	CHECK(!memcmp(answer->first, &first, 8));
}

/* Who is not there is all 0. */
static void both_answer(void)
{
	static const struct rfm_node_answer none;
	static const char zeros[32];
	struct rfm_ring_map map = { .count = 0 };
	unsigned int i, others = 0;

	CHECK_EQ(pwrite(pair.near, "123456789", 9, PLACE), 9);
	CHECK_EQ(verify(pair.near, PLACE, 9), 0);
	CHECK_EQ(args.node, pair.info.node);
	CHECK_EQ(args.flags, 0);
	CHECK_EQ(args.lost, 0);
	check_answer(pair.info.node, CRC_OF_DIGITS, 9, 0x3837363534333231);
	check_answer(pair.far_info.node, CRC_OF_DIGITS, 9, 0x3837363534333231);
	for (i = 0; i < ARRAY_SIZE(args.answer); i++)
		others += i != pair.info.node && i != pair.far_info.node &&
			  memcmp(&args.answer[i], &none, sizeof(none));
	CHECK_EQ(others, 0);
	CHECK_EQ(ioctl(pair.near, RFM_IOC_RING_MAP, &map), 0);
	CHECK_EQ(args.epoch, map.epoch);

	CHECK_EQ(pwrite(pair.far, zeros, 32, PLACE + 0x1000), 32);
	CHECK_EQ(verify(pair.far, PLACE + 0x1000, 32), 0);
	CHECK_EQ(args.node, pair.far_info.node);
	check_answer(pair.info.node, CRC_OF_32_ZEROS, 32, 0);
	check_answer(pair.far_info.node, CRC_OF_32_ZEROS, 32, 0);
}

/* Each time all that was stored before is in the answers. */
static void answers_are_behind_the_stores(void)
{
	unsigned int i, k;

	for (i = 0; i < 200; i++) {
		for (k = 0; k < 512; k += 64)
			CHECK(word_put(pair.near, PLACE + 8 * k, ++pair.value));
		if (!CHECK_EQ(verify(pair.near, PLACE, 4096), 0) ||
		    !CHECK_EQ(args.flags, 0) ||
		    !CHECK_EQ(args.answer[pair.far_info.node].crc,
			      args.answer[pair.info.node].crc) ||
		    !CHECK_EQ(verify(pair.near, PLACE + 8 * 448, 8), 0) ||
		    !CHECK(!memcmp(args.answer[pair.far_info.node].first,
				   &pair.value, 8)))
			break;
	}
}

/* What far does not take is another there. */
static void differences_show(void)
{
	struct rfm_config off = { .mask = RFM_CONFIG_TRANSMIT };
	struct rfm_config on = { RFM_CONFIG_TRANSMIT, RFM_CONFIG_TRANSMIT,
				   0, 0, 0, { 0, 0 } };
	struct rfm_ring_test test = { .timeout_ms = 200 };
	uint64_t before = word_get(pair.far, PLACE);

	CHECK_EQ(ioctl(pair.near, RFM_IOC_SET_CONFIG, &off), 0);
	CHECK(word_put(pair.near, PLACE, ++pair.value));
	/* Nobody hears the question either, and the fence says why. */
	CHECK_EQ(verify(pair.near, PLACE, 8), 0);
	CHECK(args.flags & RFM_FENCED_DARK);
	CHECK_EQ(args.answer[pair.far_info.node].flags, 0);
	CHECK_EQ(args.answer[pair.info.node].flags, RFM_ANSWER_GIVEN);
	CHECK_EQ(ioctl(pair.near, RFM_IOC_SET_CONFIG, &on), 0);
	while (ioctl(pair.near, RFM_IOC_RING_TEST, &test) && errno == ETIMEDOUT)
		;
	CHECK_EQ(verify(pair.near, PLACE, 8), 0);
	CHECK(!memcmp(args.answer[pair.info.node].first, &pair.value, 8));
	CHECK(!memcmp(args.answer[pair.far_info.node].first, &before, 8));
	CHECK(word_put(pair.near, PLACE, pair.value));
	CHECK_EQ(verify(pair.near, PLACE, 8), 0);
	CHECK(!memcmp(args.answer[pair.far_info.node].first, &pair.value, 8));
}

static void interrupted(int signo)
{
	(void)signo;
}

/* Several ask at the same time, and are interrupted: each gets what it asked for. */
static void askers_do_not_meet(void)
{
	struct sigaction action = { .sa_handler = interrupted };
	struct itimerval often = { { 0, 3000 }, { 0, 3000 } };
	unsigned int asker, i, ended, in_a_row = 0;
	int status;

	for (asker = 0; asker < 3; asker++)
		CHECK(word_put(pair.near, PLACE + 8 * asker, 1000 + asker));
	CHECK(fence(pair.near));
	for (asker = 0; asker < 3; asker++) {
		uint64_t mine = 1000 + asker;

		if (fork())
			continue;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &often, NULL);
		for (ended = 0; ended < 300;) {
			if (verify(pair.near, PLACE + 8 * asker, 8)) {
				if (errno != EINTR)
					_exit(1);
				/* A slow host gets through between two signals, too. */
				if (++in_a_row % 32 == 0 && often.it_interval.tv_usec < 200000) {
					often.it_interval.tv_usec *= 2;
					setitimer(ITIMER_REAL, &often, NULL);
				}
				continue;
			}
			in_a_row = 0;
			ended++;
			for (i = 0; i < 2; i++)
				if (memcmp(args.answer[i ? pair.info.node :
						       pair.far_info.node].first,
					   &mine, 8))
					_exit(2);
		}
		_exit(0);
	}
	for (asker = 0; asker < 3; asker++) {
		CHECK(wait(&status) > 0);
		CHECK_EQ(status, 0);
	}
}

/*
 * The ring stands from some moment on, for less than the 2 s after which its link is dark.
 * Returns an exit status.
 */
static int queue_full(const char *path)
{
	struct rfm_send nobody = { .type = RFM_EVENT_INT1, .node = 250 };
	static const struct rfm_verify question = { .length = 8, .timeout_ms = 100 };
	struct rfm_ring_test test = { .timeout_ms = 100 };
	int fd = open(path, O_RDWR);
	unsigned int i;

	puts("ready");
	fflush(stdout);
	alarm(60);
	do {
		while (!ioctl(fd, RFM_IOC_RING_TEST, &test))
			test.round_trip_ns = 0;
		/* More than may be on the ring, and wait; where it was only slow they go. */
		for (i = 0; i < 8192; i++)
			if (!CHECK_EQ(ioctl(fd, RFM_IOC_SEND, &nobody), 0))
				return TAP_FAIL;
		args = question;
	} while (!ioctl(fd, RFM_IOC_VERIFY, &args) || errno != ENOBUFS);
	return CHECK(!memcmp(&question, &args, sizeof(args))) ? 0 : TAP_FAIL;
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(refusals),
		TAP_CASE(needs_both_rights),
		TAP_CASE(both_answer),
		TAP_CASE(answers_are_behind_the_stores),
		TAP_CASE(differences_show),
		TAP_CASE(askers_do_not_meet),
	};

	if (argc == 3 && !strcmp(argv[1], "-q"))
		return queue_full(argv[2]);
	pair_open_whole(argc, argv);
	return TAP_RUN(cases);
}
