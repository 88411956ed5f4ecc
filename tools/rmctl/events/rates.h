/* SPDX-License-Identifier: MIT */
/* What rmctl top knows of a range: how often it is written, how old what comes is. */
#ifndef RMCTL_RATES_H
#define RMCTL_RATES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/rfm.h>

/**
 * struct rates - updates of a range
 * @updates: in this round
 * @latencies: of them whose age at arrival is known
 * @latency_sum_ns: of those
 * @latency_min_ns: of those
 * @latency_max_ns: of those
 * @lost: events lost in this round
 * @total: updates in all rounds
 * @last_ns: when the last came, CLOCK_MONOTONIC; 0: never
 * @node: who made it
 */
struct rates {
	uint64_t updates, latencies, latency_sum_ns, latency_min_ns, latency_max_ns, lost;
	uint64_t total, last_ns;
	uint32_t node;
};

void rates_next_round(struct rates *rates);
void rates_add(struct rates *rates, const struct rfm_event *event);
void rates_own(struct rates *rates, uint64_t time_ns, uint32_t node);
bool rates_latency(const struct rates *rates, uint64_t *mean_ns);
bool rates_age(const struct rates *rates, uint64_t now_ns, uint64_t *age_ns);
bool rates_stale(const struct rates *rates, uint64_t now_ns, uint64_t since_ns, uint64_t period_ns);

#endif /* RMCTL_RATES_H */
