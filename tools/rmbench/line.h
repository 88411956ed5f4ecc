/* SPDX-License-Identifier: MIT */
/* One way from one machine to another and back, and how long half of that takes. */
#ifndef RMBENCH_LINE_H
#define RMBENCH_LINE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "samples.h"

#define LINE_TICK_S	5	/* a wait ends with EINTR so often: is the other there at all? */
#define LINE_TICKS	2	/* so many without an answer, and there is none */

/**
 * struct bench_line - one way, at one of its ends
 * @put: tell the other a number; 0, or -1 with errno
 * @get: wait for a number from the other; 0, or -1 with errno, EINTR at a tick
 * @in: descriptor to sleep on, where there is one
 * @out: descriptor to write to, where it is another
 * @polled: where the other's number comes, for who looks all the time
 * @stored: where ours goes
 * @last: what was seen last at @polled
 * @node: the other's, or the peer's number
 * @peer: the other's address
 * @steps: where @get leaves what it knows of a part of the way, NULL: nowhere
 * @step: which part
 */
struct bench_line {
	int (*put)(struct bench_line *line, uint32_t number);
	int (*get)(struct bench_line *line, uint32_t *number);
	int in, out;
	volatile uint64_t *polled, *stored;
	uint64_t last;
	uint32_t node;
	struct sockaddr_in peer;
	struct bench_samples *steps;
	unsigned int step;
};

/* Is set at each tick. */
extern volatile bool line_ticked;

/** line_start_ticking() - from now on nobody waits for ever */
void line_start_ticking(void);

/**
 * line_ask() - numbers go there and come back, for so long
 * @half: half of what each took
 *
 * Returns 0, or -1 with errno, ETIMEDOUT if nobody answers.
 */
int line_ask(struct bench_line *line, uint64_t for_ns, struct bench_samples *half);

/**
 * line_answer() - give back every number
 *
 * Returns -1 with errno. Where nobody asks, it goes on waiting.
 */
int line_answer(struct bench_line *line);

/** line_poll_put(), line_poll_get() - numbers by memory that both look at */
int line_poll_put(struct bench_line *line, uint32_t number);
int line_poll_get(struct bench_line *line, uint32_t *number);

#endif
