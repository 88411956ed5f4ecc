/* SPDX-License-Identifier: MIT */
#ifndef RFM_RING_CLOCK_DOMAIN_H
#define RFM_RING_CLOCK_DOMAIN_H

#include <stdint.h>

/**
 * rfm_clock_domain() - whose monotonic clock is ours?
 *
 * The same on all nodes of one boot of one host, which share that clock. Where
 * the boot cannot be told, a domain of our own.
 */
uint32_t rfm_clock_domain(void);

#endif
