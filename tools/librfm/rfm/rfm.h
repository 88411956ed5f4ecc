/* SPDX-License-Identifier: MIT */
/*
 * librfm: reflective memory for applications. librfm(7) is the overview and
 * has the real-time rules; each call has a manual page.
 *
 * A thin layer over /dev/rfmN: one call here is one system call there, unless
 * its page says otherwise, and no call keeps state that another could disturb.
 * Any thread may make any call at any time; only one thread at a time should
 * wait on a stream of events, and rfm_close() and rfm_events_close() must be
 * the last call that uses their object.
 *
 * Calls that return int return 0, or -1 with errno, unless they say otherwise.
 * Every call can fail with ENODEV (the card is gone) and those that name a
 * range with EINVAL (it is not in the memory); EOPNOTSUPP: the card has not
 * what the call needs, see rfm_info.features.
 */
#ifndef RFM_RFM_H
#define RFM_RFM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/rfm.h>

/* A word of 8 bytes must be one load and one store. */
#if UINTPTR_MAX <= 0xffffffff
#error "librfm is for 64-bit programs; others use the calls of linux/rfm.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RFM_API	__attribute__((visibility("default")))

struct rfm;		/* an open card */
struct rfm_events;	/* a stream of events: a watch or a listener */

/* --- the card ------------------------------------------------------------------ */

/**
 * rfm_open() - open a card
 * @path: "/dev/rfm0"; NULL: the card with the lowest number that there is
 * @flags: O_RDONLY or O_RDWR, as open(2); the descriptor is always O_CLOEXEC
 *
 * Allocates. Returns NULL with errno: ENOENT no such card, or what open(2)
 * said; ENOTTY: @path is no card.
 */
RFM_API struct rfm *rfm_open(const char *path, int flags);

/**
 * rfm_close() - let go of the card
 *
 * Mappings and streams made through it stay valid. Its subscriptions end, or go
 * on for as long as such a mapping does; a stream does not keep them. NULL is
 * allowed.
 */
RFM_API void rfm_close(struct rfm *rfm);

/** rfm_fd() - the descriptor of the card, for calls that the library has not; never fails */
RFM_API int rfm_fd(const struct rfm *rfm);

/** rfm_info() - what the card is and how it is */
RFM_API int rfm_info(struct rfm *rfm, struct rfm_info *info);

/**
 * rfm_map() - see bytes of the memory
 * @offset: in the memory, bytes, within the card's window; need not be aligned
 * @length: bytes, at least 1
 *
 * For reading, and for writing if the card was opened O_RDWR. Whole pages are
 * mapped, and with base policy none subscribed, unless RFM_SUBSCRIBE_NO_MAPS.
 * Returns the address of byte @offset, or NULL with errno.
 */
RFM_API void *rfm_map(struct rfm *rfm, uint64_t offset, size_t length);

/** rfm_unmap() - @address and @length as of rfm_map() */
RFM_API int rfm_unmap(void *address, size_t length);

/**
 * rfm_subscribe() - take part in a range
 * @flags: RFM_SUBSCRIBE_*, at least one. With RFM_SUBSCRIBE_NO_MAPS alone
 *	@offset and @length are 0
 * @result: out: RFM_SUBSCRIBE_NO_EFFECT, as RX and TX are on there anyway, or 0; may be
 *	NULL
 *
 * Errors: EBADF, ENOSPC.
 */
RFM_API int rfm_subscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags,
			  uint32_t *result);

/** rfm_unsubscribe() - give back what of a range this open card holds */
RFM_API int rfm_unsubscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags);

/**
 * rfm_own() - nobody else should write there
 *
 * If another node does, listeners for RFM_EVENT_CONFLICT learn who and where.
 * Given back by rfm_unsubscribe() with RFM_SUBSCRIBE_OWN.
 */
RFM_API int rfm_own(struct rfm *rfm, uint64_t offset, uint64_t length);

/* --- events ---------------------------------------------------------------------- */

/**
 * rfm_watch() - be woken when other nodes write to a range
 *
 * One record for each update, in a queue of RFM_LISTEN_DEPTH_DEFAULT. Returns
 * NULL with errno: EBADF, ENOSPC, ENOMEM.
 */
RFM_API struct rfm_events *rfm_watch(struct rfm *rfm, uint64_t offset, uint64_t length);

/**
 * rfm_watch_init() - the defaults of rfm_watch(), to be changed for rfm_watch_with()
 * @watch: all other fields become 0
 * @ranges: @count of them, which must stay until rfm_watch_with() has returned
 */
RFM_API void rfm_watch_init(struct rfm_watch *watch, const struct rfm_range *ranges,
			    uint32_t count);

/** rfm_watch_with() - a watch with deadline, silence, comparison, several ranges... */
RFM_API struct rfm_events *rfm_watch_with(struct rfm *rfm, const struct rfm_watch *watch);

/**
 * rfm_listen() - hear network interrupts and what happens on the ring
 * @types: mask of RFM_EVENT_BIT()
 * @flags: RFM_LISTEN_*; RFM_LISTEN_CLOEXEC is always added
 *
 * Returns NULL with errno: EBADF, EBUSY, ENOMEM.
 */
RFM_API struct rfm_events *rfm_listen(struct rfm *rfm, uint32_t types, uint32_t flags);

/** rfm_events_fd() - for poll(), epoll: readable when there is a record; never fails */
RFM_API int rfm_events_fd(const struct rfm_events *events);

/**
 * rfm_events_wait() - the oldest records
 * @records: room for @count; what is not filled stays as it was
 * @timeout_ms: -1: wait for ever; 0: do not wait
 *
 * Returns how many records there are, 0 after @timeout_ms, or -1 with errno:
 * EINTR a signal handler has run; ENODEV the card is gone.
 */
RFM_API int rfm_events_wait(struct rfm_events *events, struct rfm_event *records, size_t count,
			    int timeout_ms);

/** rfm_events_close() - no more; NULL is allowed */
RFM_API void rfm_events_close(struct rfm_events *events);

/**
 * rfm_age_ns() - how old was the update when it came?
 *
 * Returns ns, or -1 with errno EXDEV if the originator's clock is another, or
 * EINVAL if no update brought the event.
 */
RFM_API int64_t rfm_age_ns(const struct rfm_event *event);

/* --- interrupts and fences ------------------------------------------------------- */

/**
 * rfm_send() - a network interrupt to a node, behind every store so far
 * @type: RFM_EVENT_RESET, RFM_EVENT_INT1 .. RFM_EVENT_INT4
 * @data: 32 bits that travel with it
 *
 * Errors: EINVAL also for this node itself; EBADF.
 */
RFM_API int rfm_send(struct rfm *rfm, uint32_t node, uint32_t type, uint32_t data);

/** rfm_send_all() - to every other node */
RFM_API int rfm_send_all(struct rfm *rfm, uint32_t type, uint32_t data);

/**
 * rfm_send_set() - to a set of nodes
 * @nodes: node ids, none of them this node's
 * @count: of them, at least 1
 */
RFM_API int rfm_send_set(struct rfm *rfm, const uint8_t *nodes, size_t count, uint32_t type,
			 uint32_t data);

/**
 * rfm_fence() - wait until all that this machine has stored is in every node's memory
 * @timeout_ms: 1..60000; 0: 1000
 * @result: how it ended; may be NULL
 *
 * Returns 0 only if it is. Errors: EIO frames did not reach every node, since the
 * fence before (@result->lost); EBUSY a node stands still, and will store them when
 * it goes on; EAGAIN nodes came or went meanwhile; ENOLINK this node sends nothing;
 * ETIMEDOUT and EINTR, after which @result is not set; EBADF.
 */
RFM_API int rfm_fence(struct rfm *rfm, uint32_t timeout_ms, struct rfm_fence_wait *result);

/**
 * rfm_verify() - what stands in the memory of every node?
 * @offset: in the memory; at the other nodes the same address
 * @length: 1..RFM_VERIFY_MAX
 * @timeout_ms: 1..60000; 0: 1000
 * @result: @result->answer[] has a checksum for each node that is on the ring; set
 *	unless the call fails
 *
 * A fence is part of it: @result->flags are its RFM_FENCED_*. Errors: ETIMEDOUT,
 * EINTR, EINVAL; ENOBUFS the card's queue is full, and nobody was asked; EBADF;
 * EOPNOTSUPP.
 */
RFM_API int rfm_verify(struct rfm *rfm, uint64_t offset, uint32_t length, uint32_t timeout_ms,
		       struct rfm_verify *result);

/* --- finding out ------------------------------------------------------------------- */

/** rfm_writer() - who wrote last to the 64 bytes around @offset? */
RFM_API int rfm_writer(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer);

/** rfm_counters() - all counters of the card, of one instant */
RFM_API int rfm_counters(struct rfm *rfm, struct rfm_counters *counters);

/**
 * rfm_ring_map() - who is on the ring
 * @members: by node id, those with an id below @count
 * @count: 0..RFM_NODES
 * @map: how many there are, and how long once round takes; may be NULL
 */
RFM_API int rfm_ring_map(struct rfm *rfm, struct rfm_member *members, uint32_t count,
			 struct rfm_ring_map *map);

/* --- a word ------------------------------------------------------------------------- */

/*
 * rfm_publishN() is exactly one store of N bits, with release order: every node
 * that sees it also sees what this thread stored before it. rfm_readN() is
 * exactly one load, with acquire order: what is loaded after it is at least as
 * new. The address must be aligned to its size; then no node ever sees a part.
 * They cannot fail, never wait on the reader's side, and make no system call.
 * They are inline, and the library has them too, for languages that call it.
 */
#ifndef RFM_INLINE
#define RFM_INLINE	static inline
#endif

#define RFM_WORD(bits, type)								\
RFM_INLINE void rfm_publish##bits(volatile type *at, type value)			\
{											\
	__atomic_store_n(at, value, __ATOMIC_RELEASE);					\
}											\
RFM_INLINE type rfm_read##bits(const volatile type *at)				\
{											\
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);					\
}

RFM_WORD(8, uint8_t)
RFM_WORD(16, uint16_t)
RFM_WORD(32, uint32_t)
RFM_WORD(64, uint64_t)
#undef RFM_WORD

/* Floating-point numbers, stored as their bits: the same one store and one load. */
#define RFM_REAL(name, bits)								\
RFM_INLINE void rfm_publish_##name(volatile name *at, name value)			\
{											\
	uint##bits##_t word;								\
											\
	memcpy(&word, &value, sizeof(word));						\
	rfm_publish##bits((volatile uint##bits##_t *)at, word);				\
}											\
RFM_INLINE name rfm_read_##name(const volatile name *at)				\
{											\
	uint##bits##_t word = rfm_read##bits((const volatile uint##bits##_t *)at);	\
	name value;									\
											\
	memcpy(&value, &word, sizeof(value));						\
	return value;									\
}

RFM_REAL(float, 32)
RFM_REAL(double, 64)
#undef RFM_REAL

/* --- a record: more than a word, seen whole or not at all ------------------------------ */

#define RFM_RECORD_MAX		65536	/* bytes of data */
#define RFM_RECORD_TRIES	256	/* of one read, at most */

/* Bytes that a record of @size bytes of data takes in the memory. */
#define RFM_RECORD_SIZE(size)	(16 + ((size) + 7) / 8 * 8)

/*
 * Where in the record the 8 bytes are that are written last. A watch of these
 * wakes once for each write, when all of it is there.
 */
#define RFM_RECORD_END(size)	(RFM_RECORD_SIZE(size) - 8)

/**
 * rfm_record_write() - publish a record
 * @record: in the mapped memory, aligned to 8, RFM_RECORD_SIZE(@size) bytes;
 *	all zero before its first write
 * @data: what it is to hold
 * @size: bytes, 1..RFM_RECORD_MAX, always the same for one record
 *
 * One load and RFM_RECORD_SIZE(@size) / 8 stores. One writer only: one thread of
 * one node. Errors: EINVAL (nothing was written).
 */
RFM_API int rfm_record_write(volatile void *record, const void *data, size_t size);

/**
 * rfm_record_read() - get a record as a whole
 * @record: as rfm_record_write()
 * @data: room for @size bytes; after an error it may have parts of several writes
 * @size: as it was written
 * @sequence: number of the write, from 1; may be NULL
 *
 * Never waits for the writer and never disturbs it; at most RFM_RECORD_TRIES
 * attempts. Errors: ENODATA it was never written; EAGAIN it is being written,
 * or a part of the last write was lost on the way: the next write mends
 * that; EINVAL.
 */
RFM_API int rfm_record_read(const volatile void *record, void *data, size_t size,
			    uint64_t *sequence);

#ifdef __cplusplus
}
#endif

#endif
