// SPDX-License-Identifier: MIT
/*
 * Records: data wider than a word in the reflected memory, one writer, any
 * number of readers on any node. In 8-byte words, little-endian on every node:
 *
 *	first		sequence number of the write, 1, 2, 3...; 0: never written
 *	the data	as its bytes are, the last word filled up with zero bytes
 *	last		low half: check of the data; high half: low half of the
 *			sequence number
 *
 * The writer stores first word, data, last word, ascending; every node
 * gets its stores in that order, however frames pack them. A reader loads in
 * the opposite direction: last word, data, first word. If both carry the same
 * number s, all of write s had been stored before the data was loaded, and
 * nothing of write s + 1 had been when that was over: the data is that of s.
 *
 * That holds as long as no frame is lost. Is the frame with the first or the
 * last word lost, the numbers differ until the next write. Is one in the middle
 * lost, they are equal: then the check differs (but for one case in 2^32).
 */
#include "private.h"

#include <endian.h>

#define CHECK_PRIME	0x9e3779b97f4a7c15ull

/* Tells an unrolled spin from work to do; the writer may be on the sibling thread. */
static inline void pause_a_little(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* One step of the check: each word changes all bits of what follows. */
static inline uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * CHECK_PRIME;
	return sum ^ sum >> 32;
}

static inline uint64_t last_word(uint64_t sequence, uint64_t sum)
{
	return sequence << 32 | (sum & 0xffffffff);
}

/* Nothing can be torn or mixed up: never by memcpy(), which may take any width. */
static inline void put(volatile uint64_t *at, uint64_t word)
{
	__atomic_store_n(at, htole64(word), __ATOMIC_RELAXED);
}

static inline uint64_t get(const volatile uint64_t *at)
{
	return le64toh(__atomic_load_n(at, __ATOMIC_RELAXED));
}

static int fits(uint64_t at, size_t size)
{
	return at && !(at % 8) && size && size <= RFM_RECORD_MAX;
}

/**
 * Write number @sequence of a record, word by word.
 * @put: stores a word, in the order in which it is called; other than 0 ends it
 */
static inline int write_record(int (*put)(void *opaque, size_t index, uint64_t word, int last),
			       void *opaque, uint64_t sequence, const uint8_t *from, size_t size)
{
	uint64_t sum = mix(sequence, size);
	size_t done, piece, index = 0;
	int status = put(opaque, index++, sequence, 0);

	for (done = 0; done < size && !status; done += piece) {
		uint64_t word = 0;

		piece = size - done < 8 ? size - done : 8;
		memcpy(&word, from + done, piece);
		word = le64toh(word);
		status = put(opaque, index++, word, 0);
		sum = mix(sum, word);
	}
	return status ? status : put(opaque, index, last_word(sequence, sum), 1);
}

static uint64_t sequence_after(uint64_t before)
{
	return before + 1 ? before + 1 : 1;
}

static inline int put_mapped(void *opaque, size_t index, uint64_t word, int last)
{
	volatile uint64_t *at = (volatile uint64_t *)opaque + index;

	if (last)
		__atomic_store_n(at, htole64(word), __ATOMIC_RELEASE);
	else
		put(at, word);
	if (!index)
		__atomic_thread_fence(__ATOMIC_RELEASE);	/* no data before the first word */
	return 0;
}

int rfm_record_write(volatile void *record, const void *data, size_t size)
{
	if (!fits((uintptr_t)record, size))
		return fail_with(EINVAL);
	return write_record(put_mapped, (void *)record, sequence_after(get(record)), data, size);
}

struct place {
	struct rfm *rfm;
	uint64_t offset;
};

static int put_through(void *opaque, size_t index, uint64_t word, int last)
{
	const struct place *place = opaque;

	(void)last;	/* all are in order */
	return rfm_store64(place->rfm, place->offset + 8 * index, htole64(word));
}

/* Where stores go in no order a record cannot be: no part of it would be behind another. */
static int is_in_order(struct rfm *rfm, uint64_t offset, size_t size)
{
	struct rfm_info info;

	if (rfm_info(rfm, &info))
		return 0;
	if (offset < info.burst_offset + info.burst_length && info.burst_offset < offset + size) {
		errno = EOPNOTSUPP;
		return 0;
	}
	return 1;
}

int rfm_record_store(struct rfm *rfm, uint64_t offset, const void *data, size_t size)
{
	struct place place = { .rfm = rfm, .offset = offset };
	uint64_t before;

	if (!fits(offset + 8, size) ||
	    !range_is_inside(rfm->memory_size, offset, RFM_RECORD_SIZE(size)))
		return fail_with(EINVAL);
	if (!is_in_order(rfm, offset, RFM_RECORD_SIZE(size)) || rfm_load64(rfm, offset, &before))
		return -1;
	return write_record(put_through, &place, sequence_after(le64toh(before)), data, size);
}

/* Copies the data out, and returns the check that belongs to it. */
static uint64_t copy_out(const volatile uint64_t *words, uint8_t *data, size_t size,
			 uint64_t sequence)
{
	uint64_t sum = mix(sequence, size);
	size_t done, piece;

	for (done = 0; done < size; done += piece) {
		uint64_t word = get(words++), bytes = htole64(word);

		piece = size - done < 8 ? size - done : 8;
		memcpy(data + done, &bytes, piece);
		sum = mix(sum, word);
	}
	return sum;
}

int rfm_record_read(const volatile void *record, void *data, size_t size, uint64_t *sequence)
{
	const volatile uint64_t *words = record;
	size_t end = RFM_RECORD_END(size) / 8;
	uint64_t first, last, sum;
	int try;

	if (!fits((uintptr_t)record, size))
		return fail_with(EINVAL);
	for (try = 0; try < RFM_RECORD_TRIES; try++) {
		last = le64toh(__atomic_load_n(&words[end], __ATOMIC_ACQUIRE));
		first = get(words);
		if (!first && !last)
			return fail_with(ENODATA);
		if (first && last >> 32 == (first & 0xffffffff)) {
			sum = copy_out(words + 1, data, size, first);
			__atomic_thread_fence(__ATOMIC_ACQUIRE);	/* the data before this: */
			if (get(words) == first) {
				if (last != last_word(first, sum))
					break;	/* all there is, and wrong: something was lost */
				if (sequence)
					*sequence = first;
				return 0;
			}
		}
		pause_a_little();
	}
	return fail_with(EAGAIN);
}

/* Has it not been begun anew since it was read? */
static int is_unchanged(const struct rfm_record_part *part)
{
	const volatile uint64_t *words = part->record;

	return get(words) == part->sequence &&
	       get(words + RFM_RECORD_END(part->size) / 8) >> 32 == (part->sequence & 0xffffffff);
}

static int are_unchanged(const struct rfm_record_part *parts, size_t count)
{
	size_t i = 0;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);	/* all data before this: */
	while (i < count && is_unchanged(&parts[i]))
		i++;
	return i == count;
}

/*
 * A writer stores the number of a write before anything else of it. So if all numbers are still
 * those that were read when the last record has been read, then at that moment each record was
 * what was read of it. Is the frame with the number lost, the last word shows that it was written.
 */
int rfm_records_read(struct rfm_record_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (check_reserved(parts[i].reserved))
			return -1;
	for (int try = 0; try < RFM_RECORDS_TRIES; try++) {
		for (size_t i = 0; i < count; i++)
			if (rfm_record_read(parts[i].record, parts[i].data, parts[i].size,
					    &parts[i].sequence))
				return -1;
		if (are_unchanged(parts, count))
			return 0;
		pause_a_little();
	}
	return fail_with(EAGAIN);
}
