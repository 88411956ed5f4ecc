/* SPDX-License-Identifier: MIT */
/* The two ends of a shared-memory queue in one process, and numbered frames to go through it. */
#ifndef RFM_TESTS_UNIT_QUEUE_H
#define RFM_TESTS_UNIT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/shm.h"

enum { MEMORY, DATA, ROOM };	/* of the descriptors */

/* Fresh descriptors, as they come out of a socket. */
void duplicate(const int *from, int *to);
void make_pair(struct rfm_shm *tx, struct rfm_shm *rx, uint32_t slots);
void close_pair(struct rfm_shm *tx, struct rfm_shm *rx);

/* How many wake-ups wait there? They are taken. */
unsigned int wake_ups(int fd);
bool readable(int fd, int patience_ms);

/* Commits frame number @n, whose length and data follow from it; false: no room. */
bool put(struct rfm_shm *tx, uint64_t n);
/* The same, shown at once, and it can wait. */
void show_later(struct rfm_shm *tx, uint64_t n);
/* The next frame is number @n. */
void assert_takes(struct rfm_shm *rx, uint64_t n);

#endif
