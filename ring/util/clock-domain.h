/* SPDX-License-Identifier: MIT */
/* A member's clock: which it is, and who may compare times with it. */
#ifndef RFM_UTIL_CLOCK_DOMAIN_H
#define RFM_UTIL_CLOCK_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/timex.h>

/* The clock domain of CLOCK_TAI, on every host that keeps it: "TAI" in ASCII */
#define RFM_CLOCK_DOMAIN_TAI	0x00494154u

/* A clock that goes on otherwise than by so much was set. */
#define RFM_CLOCK_STEP_NS	1000000u

/**
 * struct rfm_clock - a member's clock
 * @tai: it is CLOCK_TAI, else CLOCK_MONOTONIC
 * @domain: nodes of one domain may subtract
 * @offset_ns: added to CLOCK_MONOTONIC, modulo 2^64, it is this clock
 * @error_ns: how wrong CLOCK_TAI may be, as the kernel believes
 * @trouble: why only nodes of this host may compare times with it, or NULL
 * @host: the domain of the host's CLOCK_MONOTONIC
 */
struct rfm_clock {
	bool tai;
	uint32_t domain;
	uint64_t offset_ns, error_ns;
	const char *trouble;
	uint32_t host;
};

/**
 * rfm_clock_init() - begin with a clock
 * @tai: CLOCK_TAI; else CLOCK_MONOTONIC, of a domain for each boot of each host
 *
 * Where the boot cannot be told, the host's domain is one of our own.
 */
void rfm_clock_init(struct rfm_clock *clock, bool tai);

/**
 * rfm_clock_look() - how does it go now?
 *
 * To be asked about twice a second. Both clocks tick alike, also while they are disciplined:
 * @offset_ns changes when CLOCK_TAI is set, and only then. Returns whether times of before
 * are of another clock: it was set, or has another domain.
 */
bool rfm_clock_look(struct rfm_clock *clock);

/**
 * rfm_tai_trouble() - does this host keep CLOCK_TAI?
 * @state: what adjtimex(2) has returned
 * @timex: and said
 *
 * Returns NULL, or why not: a part of a sentence.
 */
const char *rfm_tai_trouble(int state, const struct timex *timex);

#endif
