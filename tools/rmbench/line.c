// SPDX-License-Identifier: MIT
/* One way from one machine to another and back, and how long half of that takes. */
#include "line.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "tools/common/clock.h"

#define WARM_UP		20	/* rounds that do not count: pages come, code is translated */
#define LEAST		20	/* rounds that do, however long they take */

volatile bool line_ticked;

static void tick(int number)
{
	line_ticked = true;
}

void line_start_ticking(void)
{
	/* Without SA_RESTART: it ends a wait. */
	struct sigaction action = { .sa_handler = tick };
	struct itimerval each = { { LINE_TICK_S, 0 }, { LINE_TICK_S, 0 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

/* Until this number has come back; what came late of rounds before does not matter. */
static int await(struct bench_line *line, uint32_t number)
{
	int patience = LINE_TICKS;
	uint32_t got = !number;

	while (got != number) {
		if (!line->get(line, &got))
			continue;
		if (errno != EINTR)
			return -1;
		if (!patience--) {
			errno = ETIMEDOUT;
			return -1;
		}
	}
	return 0;
}

int line_ask(struct bench_line *line, uint64_t for_ns, struct bench_samples *half)
{
	uint64_t begin = now_ns(), start, end;
	/* Other numbers than those of whoever asked before; 31 bits, and never 0. */
	uint32_t number = (begin >> 10 & 0x3fffffff) | 1;

	for (unsigned int round = 0; ; round++, number++) {
		start = now_ns();
		if (line->put(line, number) || await(line, number))
			return -1;
		end = now_ns();
		if (round >= WARM_UP)
			samples_add(half, (end - start) / 2.0, 1);
		if (end - begin >= for_ns && round >= WARM_UP + LEAST)
			return 0;
	}
}

int line_answer(struct bench_line *line)
{
	uint32_t number;

	for (;;) {
		if (!line->get(line, &number)) {
			if (line->put(line, number))
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
}

int line_poll_put(struct bench_line *line, uint32_t number)
{
	*line->stored = number;
	return 0;
}

int line_poll_get(struct bench_line *line, uint32_t *number)
{
	uint64_t now;

	for (;;) {
		now = *line->polled;
		if (now != line->last)
			break;
		if (line_ticked) {
			line_ticked = false;
			errno = EINTR;
			return -1;
		}
	}
	line->last = now;
	*number = now;
	return 0;
}
