/* SPDX-License-Identifier: MIT */
/* librfm: cycles of a loop, by time or by events: rfm_cycle_wait(3) has an example. */
#ifndef RFM_CYCLE_H
#define RFM_CYCLE_H

#include "rfm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rfm_cycle - where a loop is; one thread at a time may use it
 * @period_ns: in: from one cycle to the next, 1 ns to 100 years. With a source of events, how
 *	long to wait for the next one; 0: for ever
 * @number: out: of this cycle, from 1; those that were missed have numbers too
 * @missed: out: how many were, since the first
 * @late_ns: out: how long after its beginning the call has returned
 * @begin_ns: out: when this cycle began, CLOCK_MONOTONIC
 * @seq: out: number of the event that began it, in its stream
 * @type: out: what it was, enum rfm_event_type
 * @node: out: of whom
 * @data: out: of an interrupt
 * @pad, @reserved: 0 (EINVAL)
 *
 * All but @period_ns are 0 before the first cycle.
 */
struct rfm_cycle {
	uint64_t period_ns;
	uint64_t number;
	uint64_t missed;
	uint64_t late_ns;
	uint64_t begin_ns;
	uint64_t seq;
	uint32_t type;
	uint32_t node;
	uint32_t data;
	uint32_t pad;
	uint64_t reserved[2];
};

/**
 * rfm_cycle_wait() - sleep until the next cycle begins
 * @cycle: always the same with one source
 * @source: what begins a cycle: NULL: the time, @cycle->period_ns after the one before, the
 *	first now; of rfm_watch() or rfm_listen(): each event. Nobody else takes its events
 *
 * Whoever comes late gets the newest cycle that has begun, at once; the others are missed. So
 * are events that the stream has dropped. Events that say something of the stream (STALE, FRESH,
 * DROPPED) begin none; what the card has dropped counts as missed, though some of it
 * may have been for other streams.
 *
 * Errors, after which the next call waits for the same cycle: ETIMEDOUT no event for
 * @cycle->period_ns since this call; EINTR a signal handler has run; EINVAL; others as
 * rfm_events_wait_until().
 */
RFM_API int rfm_cycle_wait_sized(struct rfm_cycle *cycle, size_t size, struct rfm_events *source);
static inline int rfm_cycle_wait(struct rfm_cycle *cycle, struct rfm_events *source)
{
	return rfm_cycle_wait_sized(cycle, sizeof(*cycle), source);
}

#ifdef __cplusplus
}
#endif

#endif
