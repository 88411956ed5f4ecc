/* SPDX-License-Identifier: MIT */
/* Shared-memory queues of the node fuzzer: both ends in one process, one of them hostile. */
#ifndef RFM_TESTS_FUZZ_QUEUE_H
#define RFM_TESTS_FUZZ_QUEUE_H

#include "ring/shm.h"
#include "tests/fuzz/speech.h"

#define QUEUE_SLOTS	(2 * RFM_TRAIN_FRAMES)	/* room for one when half are free */
#define QUEUE_HEADER	24	/* bytes before the indices, which nobody reads again */

/** queue_attach() - as rfm_shm_attach(), to copies of the producer's descriptors */
const char *queue_attach(const struct rfm_shm *producer, struct rfm_shm *consumer);

/** queue_pair() - a queue with both its ends */
void queue_pair(struct rfm_shm *producer, struct rfm_shm *consumer);

/** queue_renew() - one end as it was when it was made */
void queue_renew(struct rfm_shm *shm);

/** queue_scribble() - write over the mapping of a queue, mostly where the indices are */
void queue_scribble(struct input *in, struct rfm_shm *peer);

#endif
