/* SPDX-License-Identifier: MIT */
/*
 * The shared-memory queue: frames from one process to the next on the same
 * host without a system call a frame. One producer (the upstream end, which
 * makes it), one consumer (the downstream end, which is handed three
 * descriptors with the HELLO). Each side sleeps on a datagram socket and is
 * woken only when it has said that it sleeps.
 *
 * Neither side trusts the other: the memory is a memfd sealed against
 * shrinking and growing, slots are copied out before they are looked at, an
 * index that cannot be is an error, and none of it can make either side wait,
 * loop or touch anything else. One thing is left, because the producer makes
 * both ends of the sockets: it could read from the consumer's end itself, into
 * memory whose pages it has to deliver (userfaultfd, FUSE), and so hold the
 * consumer up in the kernel for as long as it keeps that page back.
 */
#ifndef RFM_RING_SHM_H
#define RFM_RING_SHM_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/frame.h"

#define RFM_SHM_SLOT		128	/* bytes of a slot: a frame or link message and padding */
#define RFM_SHM_SLOTS		1024	/* by default */
#define RFM_SHM_SLOTS_MAX	65536u
#define RFM_SHM_FDS		3	/* memfd, socket "data", socket "room" */
#define RFM_SHM_WAKE_NS		1000000u	/* no wake-up that is owed is put off for longer */

struct rfm_shm_map;

/**
 * struct rfm_shm - one side of a queue
 * @size: slots, a power of two
 * @own_index: own index: of the next slot to fill or to take; runs freely
 * @published: of that, what the other side has been told
 * @peer_index: the other side's index as last seen
 * @wake_frames: consumer: what it said when it went to sleep
 * @unwoken: producer: so many slots, at most, lie beside a consumer that sleeps and was
 *	not woken up for them
 * @urgent: producer: some of what is not published may not wait
 * @broken: the other side wrote an index that cannot be. There is nothing to
 *	take and no room any more: close
 * @fds: memfd; own ends of the socket that wakes the consumer and of the one
 *	that wakes the producer. All -1 while there is none
 * @offer: producer: what the consumer is to be handed. The sockets are its
 *	ends of them
 */
struct rfm_shm {
	struct rfm_shm_map *map;
	uint8_t *slots;
	uint32_t size;
	uint32_t own_index, published, peer_index;
	uint32_t wake_frames, unwoken;
	bool urgent, broken;
	int fds[RFM_SHM_FDS];
	int offer[RFM_SHM_FDS];
};

/** rfm_shm_init() - none yet */
void rfm_shm_init(struct rfm_shm *shm);

/**
 * rfm_shm_create() - producer: make one
 * @slots: a power of two, 2..RFM_SHM_SLOTS_MAX. Of less than twice
 *	RFM_TRAIN_FRAMES the longest train may never find room
 *
 * Only pages that were used take memory. Returns 0, or -1 with errno and
 * nothing open.
 */
int rfm_shm_create(struct rfm_shm *shm, uint32_t slots);

/**
 * rfm_shm_attach() - consumer: take what the upstream neighbour handed over
 * @fds: RFM_SHM_FDS descriptors; closed or owned by @shm afterwards
 *
 * Returns NULL, or one sentence that says why they are not accepted.
 */
const char *rfm_shm_attach(struct rfm_shm *shm, const int *fds);

/** rfm_shm_close() - unmap and close; harmless if there is none */
void rfm_shm_close(struct rfm_shm *shm);

static inline bool rfm_shm_is_open(const struct rfm_shm *shm)
{
	return shm->map;
}

/* --- producer --- */

/**
 * rfm_shm_reserve() - slots to be filled
 * @slots: at least so many, 1..RFM_TRAIN_FRAMES
 *
 * Only write to them: the consumer can change what stands there. Returns where
 * RFM_FRAME_HEADER + @slots * RFM_FRAME_DATA_MAX bytes may stand, NULL if there
 * is no room, or never will be (@broken).
 */
uint8_t *rfm_shm_reserve(struct rfm_shm *shm, unsigned int slots);

/**
 * rfm_shm_commit() - what was reserved is filled; not visible before publish
 * @slots: one for each frame, one for a link message; no more than were reserved
 * @urgent: a consumer that sleeps is woken up for it. For the rest only when there is
 *	as much of it as it has said, or by rfm_shm_wake()
 */
void rfm_shm_commit(struct rfm_shm *shm, unsigned int slots, bool urgent);

/** rfm_shm_publish() - show all committed slots, wake a consumer that sleeps if it is time */
void rfm_shm_publish(struct rfm_shm *shm);

/**
 * rfm_shm_owes_wake() - producer: does the consumer perhaps sleep beside slots that can wait?
 *
 * Then rfm_shm_wake() is to be called within RFM_SHM_WAKE_NS.
 */
static inline bool rfm_shm_owes_wake(const struct rfm_shm *shm)
{
	return shm->unwoken;
}

/** rfm_shm_wake() - producer: if that is owed, wake a consumer that sleeps beside slots */
void rfm_shm_wake(struct rfm_shm *shm);

/**
 * rfm_shm_wait_room() - about to sleep until fds[2] is readable
 * @slots: of rfm_shm_reserve()
 *
 * Publishes first. It will be when half of the slots are free. Returns false if there is room
 * after all, or @broken.
 */
bool rfm_shm_wait_room(struct rfm_shm *shm, unsigned int slots);

/* --- consumer --- */

/**
 * rfm_shm_take() - copy the next slot out, or those of a train
 * @slot: RFM_UNIT_MAX bytes; as much of it is filled in as the frame is long
 * @knows: does the consumer need no more of a train than its header at @wire? Then what
 *	stands behind that is left as it was, or not. NULL: it needs all
 * @opaque: of @knows
 *
 * Returns how many slots it was, 0 if there is none, -1 if @broken.
 */
int rfm_shm_take(struct rfm_shm *shm, uint8_t *slot,
		 bool (*knows)(void *opaque, const uint8_t *wire), void *opaque);

/**
 * rfm_shm_release() - give back taken slots, wake a producer that waits
 *
 * To be called when a batch was taken, before rfm_shm_wait_data() at the
 * latest. It may keep some back, always less than an eighth of all.
 */
void rfm_shm_release(struct rfm_shm *shm);

/** rfm_shm_pending() - is there something to take (or is it broken)? For polling; no side effect */
bool rfm_shm_pending(const struct rfm_shm *shm);

/**
 * rfm_shm_wait_data() - about to sleep until fds[1] is readable
 * @frames: so many that are not urgent are worth waking up for, from 1 on. As many network
 *	cards are told "rx-frames", and RFM_SHM_WAKE_NS is their "rx-usecs"
 *
 * Returns false if there is something after all, or @broken. A consumer that
 * wakes for another reason need not take this back: it may cost one needless
 * wake-up.
 */
bool rfm_shm_wait_data(struct rfm_shm *shm, uint32_t frames);

/**
 * rfm_shm_clear_wakeup() - either side, when its socket is readable: take one wake-up
 *
 * Who is told of edges takes one for each that he was told of, before he says again that he
 * sleeps.
 */
void rfm_shm_clear_wakeup(struct rfm_shm *shm, bool producer);

#endif
