/* SPDX-License-Identifier: MIT */
/* A node that stands between others and moves only when it is told to: what is under way waits. */
#ifndef RFM_TESTS_UNIT_STALLED_H
#define RFM_TESTS_UNIT_STALLED_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "ring/host/rfmring.h"

struct stalled {
	struct rfmring *ring;
	pthread_t thread;
	_Atomic bool stop;
};

static void *stalled_move(void *opaque)
{
	struct stalled *node = opaque;

	while (!atomic_load(&node->stop))
		rfmring_run(node->ring, 10);
	return NULL;
}

static inline void stalled_go(struct stalled *node)
{
	atomic_store(&node->stop, false);
	assert_int_equal(pthread_create(&node->thread, NULL, stalled_move, node), 0);
}

static inline void stalled_stop(struct stalled *node)
{
	atomic_store(&node->stop, true);
	pthread_join(node->thread, NULL);
}

#endif
