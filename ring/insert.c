// SPDX-License-Identifier: MIT
#include "ring/insert.h"

#include <errno.h>
#include <sys/mman.h>

static size_t records_size(const struct rfm_insert *q)
{
	return (size_t)q->size * sizeof(struct rfm_insert_record);
}

int rfm_insert_init(struct rfm_insert *q, uint32_t slots)
{
	void *records;

	*q = (struct rfm_insert){ .size = slots * 2, .offline = true, .asleep = true };
	if (slots < RFM_INSERT_SLOTS_MIN || slots > RFM_INSERT_SLOTS || slots & (slots - 1)) {
		errno = EINVAL;
		return -1;
	}
	/* Fresh pages straight from the kernel: what is never used costs nothing. */
	records = mmap(NULL, records_size(q), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (records == MAP_FAILED)
		return -1;
	q->records = records;
	return 0;
}

void rfm_insert_destroy(struct rfm_insert *q)
{
	if (q->records)
		munmap(q->records, records_size(q));
	q->records = NULL;
}

static void count_more(_Atomic uint64_t *counter, uint32_t more)
{
	/* One writer: no need to lock the bus. */
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, value + more, memory_order_release);
}

static void count_one(_Atomic uint64_t *counter)
{
	count_more(counter, 1);
}

static bool queue_has_room(struct rfm_insert *q, uint32_t limit)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	if (tail - q->head_seen < limit)
		return true;
	q->head_seen = atomic_load_explicit(&q->head, memory_order_acquire);
	return tail - q->head_seen < limit;
}

bool rfm_insert_has_room(struct rfm_insert *q)
{
	if (atomic_load_explicit(&q->offline, memory_order_relaxed) || queue_has_room(q, q->size / 2))
		return true;
	atomic_store(&q->producer_waits, true);
	/* The consumer makes room, then looks at @producer_waits; here it is the other way round. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&q->offline) || queue_has_room(q, q->size / 2);
}

/*
 * The consumer has the lines of a record that comes later: ask for them now,
 * so that the producer need not wait for them then.
 */
static void prefetch_record(const struct rfm_insert_record *record)
{
	for (size_t at = 0; at < sizeof(*record); at += 64) {
		const char *line = (const char *)record + at;

#ifdef __x86_64__
		/* The builtin would fetch it to be read, and it would have to be fetched again. */
		__asm__ volatile("prefetchw %0" : : "m"(*line));
#else
		__builtin_prefetch(line, 1);
#endif
	}
}

enum rfm_insert_result rfm_insert_reserve(struct rfm_insert *q, bool beyond,
					  struct rfm_insert_record **record)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	count_one(&q->stores);
	if (atomic_load_explicit(&q->offline, memory_order_relaxed)) {
		count_one(&q->dark);
		count_one(&q->dropped);
		return RFM_INSERT_OFFLINE;
	}
	if (!queue_has_room(q, beyond ? q->size : q->size / 2)) {
		count_one(&q->full);
		count_one(&q->dropped);
		return RFM_INSERT_FULL;
	}
	*record = &q->records[tail & (q->size - 1)];
	prefetch_record(&q->records[(tail + 2) & (q->size - 1)]);
	(*record)->dropped = atomic_load_explicit(&q->dropped, memory_order_relaxed);
	return RFM_INSERT_OK;
}

struct rfm_insert_record *rfm_insert_place(struct rfm_insert *q, uint32_t index)
{
	uint32_t at = atomic_load_explicit(&q->tail, memory_order_relaxed) + index;
	struct rfm_insert_record *record = &q->records[at & (q->size - 1)];

	count_one(&q->stores);
	record->dropped = atomic_load_explicit(&q->dropped, memory_order_relaxed);
	return record;
}

void rfm_insert_pass(struct rfm_insert *q, uint32_t count)
{
	count_more(&q->stores, count);
}

bool rfm_insert_commit(struct rfm_insert *q, uint32_t count)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed) + count;
	uint32_t used = tail - q->head_seen;

	atomic_store_explicit(&q->tail, tail, memory_order_release);
	/* @head_seen may be old: look again before a peak is believed. */
	if (used > atomic_load_explicit(&q->peak, memory_order_relaxed)) {
		q->head_seen = atomic_load_explicit(&q->head, memory_order_acquire);
		used = tail - q->head_seen;
		if (used > atomic_load_explicit(&q->peak, memory_order_relaxed))
			atomic_store_explicit(&q->peak, used, memory_order_relaxed);
	}
	/* The consumer sets @asleep, then looks for a record; here it is the other way round. */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&q->asleep, memory_order_relaxed) &&
	       atomic_exchange(&q->asleep, false);
}

bool rfm_insert_sleep(struct rfm_insert *q)
{
	atomic_store_explicit(&q->asleep, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!rfm_insert_peek(q))
		return true;
	atomic_store_explicit(&q->asleep, false, memory_order_relaxed);
	return false;
}
