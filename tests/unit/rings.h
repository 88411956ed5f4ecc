/* SPDX-License-Identifier: MIT */
/* Rings of librfmring's nodes in this process, on sockets in a folder of the test's own. */
#ifndef RFM_TESTS_UNIT_RINGS_H
#define RFM_TESTS_UNIT_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/host/rfmring.h"

#define MEMORY	(1u << 20)
#define NODES	3

/* What cmocka calls before and after each test: what one leaves behind is not in another's way. */
int make_folder(void **state);
int remove_folder(void **state);
#define ring_test(test)	cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
extern char folder[64];
extern char addresses[NODES][2][128];	/* of node @i: where it listens, and connects to */

uint64_t now_ns(void);

/* What stands at @offset, which is in the memory and aligned; also in callbacks. */
#define LOAD(bits)								\
static inline uint##bits##_t load##bits(const struct rfmring *ring, uint32_t offset)	\
{										\
	uint##bits##_t value;							\
										\
	return rfmring_load##bits(ring, offset, &value) ? 0xa5 : value;		\
}
LOAD(8)
LOAD(16)
LOAD(32)
LOAD(64)
#undef LOAD

/* Node @i of a ring of @count; 1, 2, 3 are the ids. */
struct rfmring_config config_of(unsigned int i, unsigned int count);
struct rfmring *open_with(const struct rfmring_config *config);
struct rfmring_state state_of(struct rfmring *ring);
struct rfmring_stats stats_of(struct rfmring *ring);
bool is_up(struct rfmring *ring);
/* All are on the ring, and a fence of each comes home. */
void wait_up(struct rfmring **rings, unsigned int count);

/* Started nodes that are up, and drop no store for want of time. */
void open_ring(struct rfmring **rings, unsigned int count, uint32_t flags);
void close_ring(struct rfmring **rings, unsigned int count);

#endif
