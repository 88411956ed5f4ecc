// SPDX-License-Identifier: MIT
/* Cycles of a loop: by time, or by events. */
#include "private.h"

#include <stdbool.h>
#include <time.h>

#include "rfm/cycle.h"

#define BATCH	16	/* records taken at once */

/* They say something of the stream, and begin no cycle. */
#define OF_STREAM	(RFM_EVENT_BIT(RFM_EVENT_STALE) | RFM_EVENT_BIT(RFM_EVENT_FRESH) | \
			 RFM_EVENT_BIT(RFM_EVENT_DROPPED))

/* --- by time --------------------------------------------------------------------------- */

/* The newest cycle that has begun, or else the next. */
static void advance(struct rfm_cycle *cycle, uint64_t now)
{
	uint64_t next = cycle->begin_ns + cycle->period_ns;
	uint64_t over = now > next ? (now - next) / cycle->period_ns : 0;

	cycle->begin_ns = next + over * cycle->period_ns;
	cycle->number += 1 + over;
	cycle->missed += over;
}

static int wait_time(struct rfm_cycle *cycle)
{
	uint64_t now = clock_ns();
	struct timespec begin;
	int error;

	if (!cycle->period_ns || cycle->period_ns > INT64_MAX - now)
		return fail_with(EINVAL);
	if (!cycle->number) {
		cycle->begin_ns = now;
		cycle->number = 1;
		return 0;
	}
	advance(cycle, now);
	begin.tv_sec = cycle->begin_ns / 1000000000;
	begin.tv_nsec = cycle->begin_ns % 1000000000;
	error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &begin, NULL);
	return error ? fail_with(error) : 0;
}

/* --- by events ------------------------------------------------------------------------- */

/* What the stream has numbered and not told of, it has dropped, or joined with what it tells. */
static bool begins(struct rfm_cycle *cycle, const struct rfm_event *event, bool begun)
{
	bool is_cycle = !(OF_STREAM & RFM_EVENT_BIT(event->type));
	uint64_t untold = event->seq - cycle->seq - 1;

	if (event->type == RFM_EVENT_DROPPED)
		untold += event->data;
	cycle->missed += untold + (is_cycle && begun);
	cycle->number += untold + is_cycle;
	cycle->seq = event->seq;
	if (is_cycle) {
		cycle->begin_ns = event->time_ns;
		cycle->type = event->type;
		cycle->node = event->node;
		cycle->data = event->data;
	}
	return is_cycle;
}

/* Takes what has come until now, however much comes meanwhile. */
static int wait_event(struct rfm_cycle *cycle, struct rfm_events *source)
{
	uint64_t now = clock_ns(), until = now + cycle->period_ns;
	struct rfm_event records[BATCH];
	bool begun = false;
	int got;

	if (!cycle->period_ns || until < now)
		until = UINT64_MAX;
	do {
		/* Once begun, a cancel is for the next wait. */
		got = begun ? rfm_events_wait(source, records, BATCH, 0) :
			      rfm_events_wait_until(source, records, BATCH, until);
		if (got <= 0 && !begun)
			return got ? -1 : fail_with(ETIMEDOUT);
		if (!begun)
			now = clock_ns();
		for (int i = 0; i < got; i++)
			begun |= begins(cycle, &records[i], begun);
	} while (!begun || (got == BATCH && records[BATCH - 1].time_ns < now));
	return 0;
}

int rfm_cycle_wait_sized(struct rfm_cycle *cycle, size_t size, struct rfm_events *source)
{
	struct rfm_cycle all;
	int error;

	if (take_struct(&all, sizeof(all), cycle, size) || check_reserved(all.reserved))
		return -1;
	if (all.pad)
		return fail_with(EINVAL);
	error = source ? wait_event(&all, source) : wait_time(&all);
	if (!error) {
		uint64_t now = clock_ns();

		all.late_ns = now > all.begin_ns ? now - all.begin_ns : 0;
	}
	/* Of the time nothing is lost by a wait that was in vain; events are gone. */
	if (!error || source)
		give_struct(cycle, size, &all, sizeof(all));
	return error;
}
