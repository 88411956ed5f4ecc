/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of subscriptions share: two areas, and who holds what in them. */
#ifndef SUBSCRIBE_H
#define SUBSCRIBE_H

#include <sys/mman.h>
#include <sys/wait.h>

#include "pair.h"

#define PAGE 4096ul
#define RX RFM_SUBSCRIBE_RX
#define TX RFM_SUBSCRIBE_TX
#define OWN RFM_SUBSCRIBE_OWN
#define NO_MAPS RFM_SUBSCRIBE_NO_MAPS

/* Where these tests are at work: the pages of two areas. */
#define HERE 0x100000ull
#define THERE (HERE + AREA_SIZE)

static bool base_all;

/* What the planes show if @held is held. */
static uint64_t shown(uint64_t held)
{
	return base_all ? ~0ull : held;
}

/* Bits first..end-1. */
static uint64_t bits(unsigned int first, unsigned int end)
{
	uint64_t below = end == 64 ? ~0ull : (1ull << end) - 1;

	return below & ~((1ull << first) - 1);
}

#define CHECK_HELD(at, rx, tx) ({					\
	CHECK_EQ(received(at), shown(rx));				\
	CHECK_EQ(sent(at), shown(tx)); })

/* Granules from @first to @end - 1 of the area at @at. */
static int take(int fd, uint64_t at, unsigned int first, unsigned int end,
		uint32_t flags)
{
	return subscribe(fd, at + first * RFM_GRANULE,
			 (end - first) * RFM_GRANULE, flags);
}

static int give(int fd, uint64_t at, unsigned int first, unsigned int end,
		uint32_t flags)
{
	return unsubscribe(fd, at + first * RFM_GRANULE,
			   (end - first) * RFM_GRANULE, flags);
}

static int fresh(int mode)
{
	return open(pair.path, mode);
}

/* A child that holds on to what it has inherited until it is killed. */
static pid_t start_holder(int *ready)
{
	int pipes[2];
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		if (write(pipes[1], "r", 1) == 1)
			pause();
		_exit(0);
	}
	close(pipes[1]);
	*ready = pipes[0];
	return pid;
}

static void end_holder(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#define RW (PROT_READ | PROT_WRITE)

/* NULL if they cannot be mapped. */
static void *map_pages(int fd, int prot, uint64_t at, unsigned int pages)
{
	void *map = mmap(NULL, pages * PAGE, prot, MAP_SHARED, fd, at);

	return map == MAP_FAILED ? NULL : map;
}

/* Opens both, as pair.h does, and asks near for its base policy. */
static void subscribe_open(int argc, char **argv)
{
	pair_open(argc, argv);
	base_all = pair.info.base_policy == RFM_BASE_ALL;
}

#endif /* SUBSCRIBE_H */
