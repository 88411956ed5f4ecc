/* SPDX-License-Identifier: MIT */
/*
 * The insertion queue: stores, network interrupts and fences that wait for
 * window credit, in the order in which they were made. One producer and one
 * consumer may be at it at the same time without a lock. What the producer
 * had to drop stays in its place: the next record says how many there were
 * before it, so that they take their numbers in order.
 */
#ifndef RFM_RING_INSERT_H
#define RFM_RING_INSERT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ring/frame.h"

#define RFM_INSERT_SLOTS	2048	/* stores, by default and at most */
#define RFM_INSERT_SLOTS_MIN	16

/**
 * struct rfm_insert_record - what waits
 * @time: when it was made, ns
 * @dropped: total of drops before it, see struct rfm_insert
 * @address: DATA: network address; PACKET: its stream, and its pieces above it (bit 16)
 * @type: enum rfm_frame_type; of a packet each piece has a record
 * @length: bytes of @data
 * @dest: INTERRUPT, PACKET
 * @kind: INTERRUPT, MULTICAST, PACKET, which has its flags above it (bit 4)
 */
struct rfm_insert_record {
	uint64_t time;
	uint64_t dropped;
	uint32_t address;
	uint8_t type, length, dest, kind;
	uint8_t data[RFM_FRAME_DATA_MAX];
};

/**
 * struct rfm_insert - the queue
 * @records: @size of them, a power of two: half for stores, half in reserve
 *	for what never waits
 *
 * The rest is grouped by who writes it.
 */
struct rfm_insert {
	struct rfm_insert_record *records;
	uint32_t size;

	/* producer */
	_Alignas(64) _Atomic uint32_t tail;
	_Atomic uint64_t stores;	/* asked for */
	_Atomic uint64_t dropped;	/* of these, dropped here: @dark and @full */
	_Atomic uint64_t dark, full;
	_Atomic uint32_t peak;
	uint32_t head_seen;

	/* consumer */
	_Alignas(64) _Atomic uint32_t head;
	uint32_t tail_seen;
	uint64_t dropped_seen;

	/* both; looked at with every store, so not beside what changes as often */
	_Alignas(64) _Atomic bool asleep;	/* the consumer wants to be woken */
	_Atomic bool producer_waits;	/* the producer waits for room */
	_Atomic bool offline;		/* nothing can leave: do not wait, do not queue */
};

/**
 * rfm_insert_init() - room for @slots stores
 *
 * A power of two, RFM_INSERT_SLOTS_MIN..RFM_INSERT_SLOTS. Returns 0, or -1 with
 * errno EINVAL or ENOMEM.
 */
int rfm_insert_init(struct rfm_insert *q, uint32_t slots);
void rfm_insert_destroy(struct rfm_insert *q);

/** rfm_insert_used() - how many wait? Either side; what the other did last may be missing yet */
static inline uint32_t rfm_insert_used(const struct rfm_insert *q)
{
	/* The head first: it never passes the tail. */
	uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

	return atomic_load_explicit(&q->tail, memory_order_acquire) - head;
}

/* --- producer --- */

/** rfm_insert_has_room() - for a store, without the reserve */
bool rfm_insert_has_room(struct rfm_insert *q);

enum rfm_insert_result {
	RFM_INSERT_OK,
	RFM_INSERT_OFFLINE,	/* nothing can leave */
	RFM_INSERT_FULL,	/* no room */
};

/**
 * rfm_insert_reserve() - a record to be filled in
 * @beyond: may use the reserve
 * @record: where to fill it in, but for @dropped; only if RFM_INSERT_OK
 *
 * Counts the store; without a record it is dropped.
 */
enum rfm_insert_result rfm_insert_reserve(struct rfm_insert *q, bool beyond,
					  struct rfm_insert_record **record);

/**
 * rfm_insert_place() - the record that will be @index-th behind the last, to be filled in
 *
 * For who knows that there is room for so many. Each counts as a store.
 */
struct rfm_insert_record *rfm_insert_place(struct rfm_insert *q, uint32_t index);

/** rfm_insert_pass() - @count stores leave past the queue, which is empty; they count as stores */
void rfm_insert_pass(struct rfm_insert *q, uint32_t count);

/** rfm_insert_commit() - @count are filled in; returns whether the consumer is to be woken */
bool rfm_insert_commit(struct rfm_insert *q, uint32_t count);

/* --- consumer --- */

/** rfm_insert_peek_behind() - the record that comes @count after the next one, or NULL */
static inline const struct rfm_insert_record *rfm_insert_peek_behind(struct rfm_insert *q,
								     uint32_t count)
{
	uint32_t at = atomic_load_explicit(&q->head, memory_order_relaxed) + count;

	/* What has been filled in begins at most @size before the tail. */
	if (q->tail_seen - at - 1 >= q->size) {
		q->tail_seen = atomic_load_explicit(&q->tail, memory_order_acquire);
		if (q->tail_seen - at - 1 >= q->size)
			return NULL;
	}
	return &q->records[at & (q->size - 1)];
}

/** rfm_insert_peek() - the next record, NULL if there is none */
static inline const struct rfm_insert_record *rfm_insert_peek(struct rfm_insert *q)
{
	return rfm_insert_peek_behind(q, 0);
}

/** rfm_insert_seen() - the same, of one that has been peeked at before: it is there */
static inline const struct rfm_insert_record *rfm_insert_seen(const struct rfm_insert *q,
								uint32_t count)
{
	uint32_t at = atomic_load_explicit(&q->head, memory_order_relaxed) + count;

	return &q->records[at & (q->size - 1)];
}

/** rfm_insert_release() - done with the next @count */
static inline void rfm_insert_release(struct rfm_insert *q, uint32_t count)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	atomic_store_explicit(&q->head, head + count, memory_order_release);
}

/**
 * rfm_insert_dropped() - drops that come before the next record, or so far if there is none
 *
 * Those that it has returned before are not among them.
 */
static inline uint64_t rfm_insert_dropped(struct rfm_insert *q)
{
	const struct rfm_insert_record *next = rfm_insert_peek(q);
	uint64_t so_far, dropped;

	if (!next) {
		/*
		 * In this order: if there is still no record after the drops
		 * were counted, then none that was made before them is left.
		 */
		so_far = atomic_load_explicit(&q->dropped, memory_order_acquire);
		next = rfm_insert_peek(q);
	}
	dropped = (next ? next->dropped : so_far) - q->dropped_seen;
	q->dropped_seen += dropped;
	return dropped;
}

/** rfm_insert_sleep() - wake me when there is something; false if there is already */
bool rfm_insert_sleep(struct rfm_insert *q);

#endif
