/* SPDX-License-Identifier: MIT */
/* Who has something of a card: subscribes, maps, watches, listens. */
#ifndef RMCTL_HOLDERS_H
#define RMCTL_HOLDERS_H

#include <stddef.h>
#include <stdint.h>

#include "masks.h"
#include "state.h"

/**
 * struct descriptor - one of them
 * @comm: the process that made it
 * @ranges: what it has of the memory
 * @planes: of each range, RFM_PLANES_*
 * @number: its attributes
 */
struct descriptor {
	char comm[32];
	struct ranges ranges;
	uint32_t *planes;
	union {
		uint64_t number[RFM_A_DESCRIPTOR_MAX + 1];
		struct { RFM_DESCRIPTOR_NUMBERS; };
	};
};

struct descriptors {
	size_t count;
	struct descriptor *list;
	int error;
};

int descriptors_get(struct command *cmd, struct netlink *nl, struct descriptors *descriptors);
void descriptors_free(struct descriptors *descriptors);
int planes_get(struct command *cmd, struct netlink *nl, uint64_t memory_size,
	       struct planes *planes);

#endif /* RMCTL_HOLDERS_H */
