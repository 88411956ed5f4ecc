/* SPDX-License-Identifier: MIT */
/*
 * Ranges of the memory that are on in the card's base masks: received, sent, owned; what other
 * nodes may read and write, and what this node is home of.
 */
#ifndef RMCTL_MASKS_H
#define RMCTL_MASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

struct nl_msg;

enum plane { PLANE_RX, PLANE_TX, PLANE_OWN, PLANE_READ, PLANE_WRITE, PLANE_HOME, PLANES };

extern const char *const plane_names[PLANES];

/**
 * struct range - bytes of the memory
 * @planes: for who looks at more than one, RFM_PLANES_*; else 0
 */
struct range {
	uint64_t offset, length, planes;
};

/* Some of them, in order and apart from each other once ranges_tidy() has seen them. */
struct ranges {
	size_t count;
	struct range *list;
};

/**
 * struct planes - what is on, or is to be
 * @given: bit n: plane n is
 * @of: by enum plane
 */
struct planes {
	uint32_t given;
	struct ranges of[PLANES];
};

void ranges_add(const struct command *cmd, struct ranges *ranges, const struct range *range);
int ranges_read(struct command *cmd, const char *word, struct ranges *ranges);
void ranges_tidy(struct ranges *ranges, uint64_t memory_size);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
char *ranges_word(const struct ranges *ranges, uint64_t memory_size);

int plane_find(const char *name, size_t length);
uint32_t plane_bit(enum plane plane);
int planes_get(struct command *cmd, uint64_t memory_size, struct planes *planes);
int planes_read(struct command *cmd, enum plane plane, const char *text, struct planes *planes);
int planes_fit(struct command *cmd, struct planes *planes, uint64_t memory_size);
int planes_put(struct nl_msg *request, const struct planes *planes, uint64_t memory_size);
int planes_put_change(struct nl_msg *request, const struct range *range, uint32_t bits,
		      uint32_t action);
void planes_free(struct planes *planes);

#endif /* RMCTL_MASKS_H */
