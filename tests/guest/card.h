/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs here share: finding cards, time, expected SIGBUS. */
#ifndef CARD_H
#define CARD_H

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/rfm.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * What takes longer does not come: a busy host takes a while, and so does a
 * kernel that checks everything.
 */
#define PATIENCE_MS	60000
#define PATIENCE_NS	(PATIENCE_MS * 1000000ull)

/*
 * The n-th card, counted from 0: the n-th argument if arguments are given,
 * else the n-th device node there is. NULL if there is none.
 */
__attribute__((unused))
static const char *card_path(int argc, char **argv, unsigned int n)
{
	static glob_t nodes;

	if (argc > 1)
		return n + 1 < (unsigned int)argc ? argv[n + 1] : NULL;
	if (!nodes.gl_pathv && glob("/dev/rfm[0-9]*", 0, NULL, &nodes))
		return NULL;
	return n < nodes.gl_pathc ? nodes.gl_pathv[n] : NULL;
}

__attribute__((unused))
static int card_info(int fd, struct rfm_info *info)
{
	memset(info, 0xa5, sizeof(*info));
	return ioctl(fd, RFM_IOC_INFO, info);
}

/* The whole window, for reading and writing; NULL if it cannot be had. */
__attribute__((unused))
static void *card_map(int fd, size_t size)
{
	void *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return map == MAP_FAILED ? NULL : map;
}

/*
 * memset() for mapped memory, from and len multiples of 8: the C library may
 * use AVX stores, which KVM cannot emulate on a memory that traps them.
 */
__attribute__((unused))
static void card_fill(void *from, uint8_t byte, size_t len)
{
	volatile uint64_t *word = from;
	size_t i;

	for (i = 0; i < len / 8; i++)
		word[i] = byte * 0x0101010101010101ull;
}

__attribute__((unused))
static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

__attribute__((unused))
static void sleep_ms(unsigned int ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000l };

	nanosleep(&time, NULL);
}

/* xorshift64*: good enough to choose, and the same everywhere. */
__attribute__((unused))
static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

static sigjmp_buf fault_jump;

__attribute__((unused))
static void fault_caught(int signo)
{
	siglongjmp(fault_jump, signo);
}

/*
 * The signal, SIGBUS or SIGSEGV, that the statement raises, or 0.
 */
#define FAULT_OF(statement) ({						\
	void (*fault_bus)(int) = signal(SIGBUS, fault_caught);		\
	void (*fault_segv)(int) = signal(SIGSEGV, fault_caught);	\
	int fault_signo = sigsetjmp(fault_jump, 1);			\
	if (!fault_signo) { statement; }				\
	signal(SIGBUS, fault_bus);					\
	signal(SIGSEGV, fault_segv);					\
	fault_signo; })

/* The same for one byte, for use inside a function that has variables. */
__attribute__((unused, noinline))
static int load_fault(const volatile uint8_t *at)
{
	return FAULT_OF((void)*at);
}

__attribute__((unused, noinline))
static int store_fault(volatile uint8_t *at)
{
	return FAULT_OF(*at = 1);
}

#endif /* CARD_H */
