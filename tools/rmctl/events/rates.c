// SPDX-License-Identifier: MIT
#include "rates.h"

/* Periods without an update after which a range is stale. */
#define PATIENCE 3

/* What is of one round only begins anew. */
void rates_next_round(struct rates *rates)
{
	*rates = (struct rates){
		.total = rates->total, .last_ns = rates->last_ns, .node = rates->node,
	};
}

/*
 * Takes a record of a coalescing watch: it counts all updates that it stands for, and
 * knows the age of the last.
 */
void rates_add(struct rates *rates, const struct rfm_event *event)
{
	uint64_t updates = event->count ? event->count : 1, latency = 0;

	if (event->type == RFM_EVENT_DROPPED) {
		rates->lost += event->data;
		return;
	}
	rates->updates += updates;
	rates->total += updates;
	rates->last_ns = event->time_ns;
	rates->node = event->node;
	if (event->flags & RFM_EVENT_AGE_UNKNOWN)
		return;
	if (event->arrival_ns > event->origin_ns)
		latency = event->arrival_ns - event->origin_ns;
	if (!rates->latencies++ || latency < rates->latency_min_ns)
		rates->latency_min_ns = latency;
	if (latency > rates->latency_max_ns)
		rates->latency_max_ns = latency;
	rates->latency_sum_ns += latency;
}

/* This machine itself stored there; a watch does not see that. */
void rates_own(struct rates *rates, uint64_t time_ns, uint32_t node)
{
	if (time_ns <= rates->last_ns)
		return;
	rates->last_ns = time_ns;
	rates->node = node;
}

/* Of this round; false if none is known. */
bool rates_latency(const struct rates *rates, uint64_t *mean_ns)
{
	if (!rates->latencies)
		return false;
	*mean_ns = rates->latency_sum_ns / rates->latencies;
	return true;
}

/* How long ago was the last update? False if there was none. */
bool rates_age(const struct rates *rates, uint64_t now_ns, uint64_t *age_ns)
{
	if (!rates->last_ns)
		return false;
	*age_ns = now_ns > rates->last_ns ? now_ns - rates->last_ns : 0;
	return true;
}

/*
 * Has an update been missing for some periods? @now_ns: CLOCK_MONOTONIC; @since_ns: likewise, when
 * the range was begun to be watched; @period_ns: between two updates, as the file of regions says;
 * 0: not said, never stale.
 */
bool rates_stale(const struct rates *rates, uint64_t now_ns, uint64_t since_ns, uint64_t period_ns)
{
	uint64_t last = rates->last_ns ? rates->last_ns : since_ns;

	return period_ns && now_ns > last && (now_ns - last) / PATIENCE > period_ns;
}
