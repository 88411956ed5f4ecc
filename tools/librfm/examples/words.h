/* SPDX-License-Identifier: MIT */
/* Where the small examples meet: a place in the reflected memory with one writer, publish.c. */
#ifndef WORDS_H
#define WORDS_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#define WORDS_OFFSET	0x8000	/* in the memory; begins a granule of 64 bytes */
#define WORDS_PERIOD_NS	10000000

/*
 * Each aligned to its size: a reader never sees half of one. Stores that follow each other in
 * time and in memory may come as one update. So what ends a cycle is last in both: no update
 * has the end of one cycle and the beginning of the next.
 */
struct words {
	double value;
	uint32_t mode;		/* 0..3 */
	uint32_t pad;
	uint64_t count;		/* of publications */
};

#define WORDS_VALUE	(WORDS_OFFSET + offsetof(struct words, value))
#define WORDS_MODE	(WORDS_OFFSET + offsetof(struct words, mode))
#define WORDS_COUNT	(WORDS_OFFSET + offsetof(struct words, count))

/* SIGINT or SIGTERM has come. */
static volatile sig_atomic_t words_stop;

static inline void words_on_signal(int signo)
{
	(void)signo;
	words_stop = 1;
}

static inline void words_catch_signals(void)
{
	struct sigaction action = { .sa_handler = words_on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

#endif
