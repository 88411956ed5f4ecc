/* SPDX-License-Identifier: MIT */
/*
 * librfm: reflective memory for applications. librfm(7) is the overview and
 * has the real-time rules; each call has a manual page.
 *
 * A handle is a card, /dev/rfmN, or a node of a ring in this process; every call means
 * the same on both. On a card one call here is one system call there, unless its page says
 * otherwise. Any thread may make any call at any time; only one thread at a time should
 * wait on a stream of events, and rfm_close() and rfm_events_close() must be the last call
 * that uses their object.
 *
 * Calls that return int return 0, or -1 with errno, unless they say otherwise.
 * Every call can fail with ENODEV (the card is gone) and those that name a
 * range with EINVAL (it is not in the memory); EOPNOTSUPP: the handle has not
 * what the call needs, see rfm_can(); ECHILD: it is a node of the parent process.
 *
 * Offsets and lengths are bytes. A timeout is in ms, 0: do not wait, -1: for ever; less is
 * EINVAL.
 *
 * Structures grow at their end. The library is told the size that this program knows: by
 * the inline functions here, each of which stands for one with _sized behind its name, for
 * languages that cannot use this header. What the program does not know is left out; what
 * the library does not know is 0 on the way out, and must be on the way in (EINVAL).
 */
#ifndef RFM_RFM_H
#define RFM_RFM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/rfm.h>

#include "version.h"

/* A word of 8 bytes must be one load and one store. */
#if UINTPTR_MAX <= 0xffffffff
#error "librfm is for 64-bit programs; others use the calls of linux/rfm.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#ifndef RFM_API
#define RFM_API	__attribute__((visibility("default")))
#endif
#ifndef RFM_INLINE
#define RFM_INLINE	static inline	/* the library has these too */
#endif

/**
 * rfm_version() - the library's RFM_VERSION, where that of the header is the program's
 *
 * Major << 16 | minor << 8 | patch. With an equal major number a library can do all that a
 * program of a smaller version wants.
 */
RFM_API uint32_t rfm_version(void);

struct rfm;		/* an open card, or a node in this process */
struct rfm_events;	/* a stream of events: a watch, a listener or a region */
struct rfm_messages;	/* where messages come */

/* --- the handle ------------------------------------------------------------------ */

/**
 * rfm_open() - open a card, or be a node
 * @card: "rfm0" or "/dev/rfm0"; "ring:unix:/run/ring/port1?node=2&size=64M", a node
 *	in this process: rfm_open(3) has all that can follow; NULL: what the environment
 *	variable RFM_CARD says, otherwise the card with the lowest number that there is
 * @flags: O_RDONLY or O_RDWR, as open(2); what the handle has of descriptors is O_CLOEXEC
 *
 * The variable RFM_CARD_0, if it is set, is used in place of rfm0, and so on; it says the
 * same words, but for another variable. All handles
 * of a process that name a node by the same words are that one node, which leaves the ring
 * with the last of them and of their streams. Allocates. Returns NULL with errno, and
 * rfm_error() says why: ENOENT no such card, or what open(2) said; ENOTTY: @card is no
 * card; EINVAL: @flags, or words that mean no node.
 */
RFM_API struct rfm *rfm_open(const char *card, int flags);

/**
 * rfm_error() - one sentence: why the last rfm_open() of this thread has failed, or has waited
 * for its ring in vain; else empty
 */
RFM_API const char *rfm_error(void);

/**
 * rfm_close() - let go of the card
 *
 * Mappings and streams made through it stay valid. Its subscriptions end, or go
 * on for as long as such a mapping does; a stream does not keep them. NULL is
 * allowed. Errors: EDEADLK in a callback of librfmring; nothing was done.
 */
RFM_API int rfm_close(struct rfm *rfm);

#define RFM_CAN_PUBLISH		0x0001u	/* what is stored in a mapping goes to the ring */
#define RFM_CAN_SUBSCRIBE	0x0002u	/* rfm_subscribe() */
#define RFM_CAN_OWN		0x0004u	/* rfm_own() */
#define RFM_CAN_WATCH		0x0008u	/* rfm_watch(), and listeners from RFM_EVENT_UPDATE on */
#define RFM_CAN_WRITER		0x0010u	/* rfm_writer() */
#define RFM_CAN_SEND_SET	0x0020u	/* rfm_send_set() */
#define RFM_CAN_FENCE		0x0040u	/* rfm_fence() */
#define RFM_CAN_COUNTERS	0x0080u	/* rfm_counters(), rfm_ring_map() */
#define RFM_CAN_VERIFY		0x0100u	/* rfm_verify() */
#define RFM_CAN_FD		0x0200u	/* rfm_fd() */
#define RFM_CAN_FORK		0x0400u	/* a child process may use it too */
#define RFM_CAN_REGS		0x0800u	/* all of rfm_reg_read() and the like, rfm_map_regs() */
#define RFM_CAN_REMOTE		0x1000u	/* rfm_get() and the like, messages, rfm_export(), rfm_resync() */
#define RFM_CAN_REGION		0x2000u	/* rfm_region_open(), and keys in rfm_operate() */

/** rfm_can() - what this handle can do, a mask of RFM_CAN_*; never fails */
RFM_API uint64_t rfm_can(const struct rfm *rfm);

/**
 * rfm_fd() - the descriptor of the card, for calls that the library has not
 *
 * -1 with errno EOPNOTSUPP: there is none.
 */
RFM_API int rfm_fd(const struct rfm *rfm);

/**
 * rfm_cards() - which cards are there?
 * @numbers: room for @count; of rfmN it is N, ascending
 *
 * Returns how many there are, which may be more than @count.
 */
RFM_API int rfm_cards(uint32_t *numbers, size_t count);

/** rfm_info() - what the card is and how it is */
RFM_API int rfm_info_sized(struct rfm *rfm, struct rfm_info *info, size_t size);
static inline int rfm_info(struct rfm *rfm, struct rfm_info *info)
{
	return rfm_info_sized(rfm, info, sizeof(*info));
}

/**
 * rfm_get_config() - what users set: transmitter, loopback, offset...
 * @config: RFM_CONFIG_*: @config->mask says which there are here
 */
RFM_API int rfm_get_config_sized(struct rfm *rfm, struct rfm_config *config, size_t size);
static inline int rfm_get_config(struct rfm *rfm, struct rfm_config *config)
{
	return rfm_get_config_sized(rfm, config, sizeof(*config));
}

/**
 * rfm_set_config() - set some of it, all or nothing
 * @config: @config->mask says what
 *
 * Errors: EINVAL, EOPNOTSUPP, EBUSY, EBADF.
 */
RFM_API int rfm_set_config_sized(struct rfm *rfm, const struct rfm_config *config, size_t size);
static inline int rfm_set_config(struct rfm *rfm, const struct rfm_config *config)
{
	return rfm_set_config_sized(rfm, config, sizeof(*config));
}

/* --- memory ---------------------------------------------------------------------- */

/**
 * rfm_map() - see bytes of the memory
 * @offset: in the memory, bytes, within the card's window; need not be aligned
 * @length: bytes, at least 1
 *
 * For reading; for writing too if the handle was opened O_RDWR and can RFM_CAN_PUBLISH,
 * otherwise a store there is SIGSEGV. Whole pages are mapped, and with base policy none
 * subscribed, unless RFM_SUBSCRIBE_NO_MAPS. Returns the address of byte @offset, or NULL
 * with errno.
 */
RFM_API void *rfm_map(struct rfm *rfm, uint64_t offset, size_t length);

/** rfm_unmap() - @address and @length as of rfm_map() */
RFM_API int rfm_unmap(void *address, size_t length);

/**
 * rfm_load8() - read a word, never in part, with acquire order
 * @offset: a multiple of the word's size (EINVAL)
 * @value: set on success only
 */
RFM_API int rfm_load8(struct rfm *rfm, uint64_t offset, uint8_t *value);
RFM_API int rfm_load16(struct rfm *rfm, uint64_t offset, uint16_t *value);
RFM_API int rfm_load32(struct rfm *rfm, uint64_t offset, uint32_t *value);
RFM_API int rfm_load64(struct rfm *rfm, uint64_t offset, uint64_t *value);
RFM_API int rfm_load_float(struct rfm *rfm, uint64_t offset, float *value);
RFM_API int rfm_load_double(struct rfm *rfm, uint64_t offset, double *value);

/**
 * rfm_store8() - store a word here and on every node, never in part, behind all before it
 * @offset: a multiple of the word's size (EINVAL)
 *
 * Waits while the ring has no room, up to its stall limit. Errors: EBADF; ENOBUFS no room
 * in time: it was stored here only, and counted (a card says so by RFM_EVENT_TX_FULL).
 */
RFM_API int rfm_store8(struct rfm *rfm, uint64_t offset, uint8_t value);
RFM_API int rfm_store16(struct rfm *rfm, uint64_t offset, uint16_t value);
RFM_API int rfm_store32(struct rfm *rfm, uint64_t offset, uint32_t value);
RFM_API int rfm_store64(struct rfm *rfm, uint64_t offset, uint64_t value);
RFM_API int rfm_store_float(struct rfm *rfm, uint64_t offset, float value);
RFM_API int rfm_store_double(struct rfm *rfm, uint64_t offset, double value);

/** rfm_read() - copy bytes out of the memory, aligned words not torn */
RFM_API int rfm_read(struct rfm *rfm, uint64_t offset, void *data, size_t length);

/**
 * rfm_write() - store bytes here and on every node, aligned words not torn
 *
 * Errors as rfm_store8(); after one some of the bytes may have been stored. No signal ends
 * it, nor rfm_read().
 */
RFM_API int rfm_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length);

/**
 * rfm_set_threshold() - which transfers are left to the card
 * @bytes: loads, stores, reads and writes of fewer bytes are made by the processor in a
 *	mapping of the whole window, which is made now and kept: no system call, but SIGBUS
 *	when the card goes. 0, as at first: none are
 *
 * All others go through the driver, which leaves those from its own threshold on to the
 * card's DMA engine. In process there is nothing to choose. Errors, after which nothing has
 * changed: EMFILE, ENFILE, EACCES and the like, as the card is opened once more; ENOMEM,
 * EUSERS, EIO as of the mapping.
 */
RFM_API int rfm_set_threshold(struct rfm *rfm, size_t bytes);

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

/** rfm_unsubscribe() - give back what of a range this handle holds */
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
 *
 * @watch->record_size stays 0: records are as rfm_events_wait() is told.
 */
RFM_API void rfm_watch_init_sized(struct rfm_watch *watch, size_t size,
				  const struct rfm_range *ranges, uint32_t count);
static inline void rfm_watch_init(struct rfm_watch *watch, const struct rfm_range *ranges,
				  uint32_t count)
{
	rfm_watch_init_sized(watch, sizeof(*watch), ranges, count);
}

/** rfm_watch_with() - a watch with deadline, silence, comparison, several ranges... */
RFM_API struct rfm_events *rfm_watch_with_sized(struct rfm *rfm, const struct rfm_watch *watch,
						size_t size);
static inline struct rfm_events *rfm_watch_with(struct rfm *rfm, const struct rfm_watch *watch)
{
	return rfm_watch_with_sized(rfm, watch, sizeof(*watch));
}

/**
 * rfm_listen() - hear network interrupts and what happens on the ring
 * @types: mask of RFM_EVENT_BIT()
 * @flags: RFM_LISTEN_*; RFM_LISTEN_CLOEXEC is always added
 * @depth: records the queue holds, 1..RFM_LISTEN_DEPTH_MAX; 0: RFM_LISTEN_DEPTH_DEFAULT
 *
 * Returns NULL with errno: EBADF, EBUSY, ENOSPC, ENOMEM, EIO.
 */
RFM_API struct rfm_events *rfm_listen(struct rfm *rfm, uint32_t types, uint32_t flags,
				      uint32_t depth);

/**
 * rfm_events_fd() - for poll(), epoll: readable when there is a record; never fails
 *
 * What can be read from it is the library's affair, and may be another with the next
 * version: rfm_events_wait() takes records.
 */
RFM_API int rfm_events_fd(const struct rfm_events *events);

/**
 * rfm_events_wait() - the oldest records
 * @records: room for @count; what is not filled stays as it was
 * @timeout_ms: -1: wait for ever; 0: do not wait
 *
 * Returns how many records there are, 0 after @timeout_ms, or -1 with errno:
 * EINTR a signal handler has run, whether it restarts calls or not; ENODEV the card is gone;
 * EIO it can no longer tell of events.
 */
RFM_API int rfm_events_wait_sized(struct rfm_events *events, struct rfm_event *records,
				  size_t size, size_t count, int timeout_ms);
static inline int rfm_events_wait(struct rfm_events *events, struct rfm_event *records,
				  size_t count, int timeout_ms)
{
	return rfm_events_wait_sized(events, records, sizeof(*records), count, timeout_ms);
}

/**
 * rfm_events_wait_until() - the same, to a moment, and another thread may end it
 * @until_ns: CLOCK_MONOTONIC; UINT64_MAX: for ever
 *
 * As rfm_events_wait(); ECANCELED: rfm_events_cancel().
 */
RFM_API int rfm_events_wait_until_sized(struct rfm_events *events, struct rfm_event *records,
					size_t size, size_t count, uint64_t until_ns);
static inline int rfm_events_wait_until(struct rfm_events *events, struct rfm_event *records,
					size_t count, uint64_t until_ns)
{
	return rfm_events_wait_until_sized(events, records, sizeof(*records), count, until_ns);
}

/**
 * rfm_events_cancel() - end the wait of rfm_events_wait_until() that is under way, or the next
 *
 * Any thread, and signal handlers.
 */
RFM_API int rfm_events_cancel(struct rfm_events *events);

/**
 * rfm_events_close() - no more; NULL is allowed
 *
 * Errors: EDEADLK in a callback of librfmring; nothing was done.
 */
RFM_API int rfm_events_close(struct rfm_events *events);

/**
 * rfm_age_ns() - how old was the update when it came?
 *
 * Returns ns, or -1 with errno EXDEV if the originator's clock is another, or
 * EINVAL if no update brought the event. Between hosts (clock=tai) it is as exact as
 * their clocks agree; 0 if it seems to have come before it was stored.
 */
RFM_API int64_t rfm_age_ns(const struct rfm_event *event);

/* --- interrupts and fences ------------------------------------------------------- */

/**
 * rfm_send() - a network interrupt to a node, behind every store so far
 * @node: 0..255, or RFM_NODE_ALL: every other one
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
 * rfm_fence() - wait until all that this handle's node has stored is in every node's memory
 * @timeout_ms: -1: for ever
 * @result: how it ended; may be NULL
 *
 * Returns 0 only if it is. Errors: EIO frames did not reach every node, since the
 * fence before (@result->lost); EBUSY a node stands still, and will store them when
 * it goes on; EAGAIN nodes came or went meanwhile; ENOLINK this node sends nothing;
 * ETIMEDOUT, ENOBUFS and EINTR, after which @result is not set; EBADF.
 */
RFM_API int rfm_fence_sized(struct rfm *rfm, int timeout_ms, struct rfm_fence_wait *result,
			    size_t size);
static inline int rfm_fence(struct rfm *rfm, int timeout_ms, struct rfm_fence_wait *result)
{
	return rfm_fence_sized(rfm, timeout_ms, result, sizeof(*result));
}

/**
 * rfm_verify() - what stands in the memory of every node?
 * @offset: in the memory; at the other nodes the same address
 * @length: 1..RFM_VERIFY_MAX
 * @timeout_ms: -1: for ever
 * @result: @result->answer[] has a checksum for each node that is on the ring; set
 *	unless the call fails
 *
 * A fence is part of it: @result->flags are its RFM_FENCED_*. Errors: ETIMEDOUT,
 * EINTR, EINVAL; ENOBUFS the card's queue is full, and nobody was asked; EBADF;
 * EOPNOTSUPP.
 */
RFM_API int rfm_verify_sized(struct rfm *rfm, uint64_t offset, uint32_t length, int timeout_ms,
			     struct rfm_verify *result, size_t size);
static inline int rfm_verify(struct rfm *rfm, uint64_t offset, uint32_t length, int timeout_ms,
			     struct rfm_verify *result)
{
	return rfm_verify_sized(rfm, offset, length, timeout_ms, result, sizeof(*result));
}

/**
 * rfm_ring_test() - does what this node sends come back?
 * @timeout_ms: -1: for ever; the field's usual value is 500
 * @round_trip_ns: out: the time it took; may be NULL
 *
 * Errors: ETIMEDOUT the ring is open; EBADF, EINTR.
 */
RFM_API int rfm_ring_test(struct rfm *rfm, int timeout_ms, uint64_t *round_trip_ns);

/* --- operations at one node -------------------------------------------------------- */

/**
 * rfm_get() - read the memory of one node
 * @node: its id, 0..255; may be this node
 * @offset: there
 * @data: @length bytes; after an error some of them may have been set
 * @length: 1..RFM_OP_MAX
 * @timeout_ms: -1: as long as it takes; it ends by itself after some seconds
 *
 * The bytes are as they are there when this comes by, behind all that this node has stored
 * before. A word of up to 8 bytes that is aligned is not torn.
 *
 * Errors of all operations: EHOSTUNREACH there is no such node on the ring; EACCES that node
 * does not allow it there; EINVAL a range or word that cannot be, here or there; EBUSY it
 * stands still, or had no room all the time: not done; ENOLINK this node is off the ring: not
 * done; EREMOTEIO it was done, once, or not: nobody here knows; ETIMEDOUT the same, after
 * @timeout_ms; EINTR a signal was handled; EBADF.
 */
RFM_API int rfm_get(struct rfm *rfm, uint32_t node, uint64_t offset, void *data, size_t length,
		    int timeout_ms);

/**
 * rfm_put() - write into the memory of one node, and of no other
 *
 * As rfm_get(). Nobody is told there, and other nodes keep what they have. After an error some
 * of the bytes may have been written.
 */
RFM_API int rfm_put(struct rfm *rfm, uint32_t node, uint64_t offset, const void *data,
		    size_t length, int timeout_ms);

/**
 * rfm_cas64() - change a word at its home if it is what it is thought to be
 * @node: home of the word
 * @offset: of the word, a multiple of its size
 * @compare: what it must be
 * @value: what it becomes then
 * @old: out: what it was: changed if that is @compare; may be NULL
 *
 * No other such operation on the word comes in between; plain stores may. The change is a
 * store of its home: it goes to every node, and is in this node's memory when this returns.
 * Errors as rfm_get(); once it was begun no signal ends it.
 */
RFM_API int rfm_cas64(struct rfm *rfm, uint32_t node, uint64_t offset, uint64_t compare,
		      uint64_t value, uint64_t *old, int timeout_ms);
RFM_API int rfm_cas32(struct rfm *rfm, uint32_t node, uint64_t offset, uint32_t compare,
		      uint32_t value, uint32_t *old, int timeout_ms);

/** rfm_add64() - add to a word at its home, modulo 2^64; otherwise as rfm_cas64() */
RFM_API int rfm_add64(struct rfm *rfm, uint32_t node, uint64_t offset, uint64_t value,
		      uint64_t *old, int timeout_ms);
RFM_API int rfm_add32(struct rfm *rfm, uint32_t node, uint64_t offset, uint32_t value,
		      uint32_t *old, int timeout_ms);

/**
 * rfm_operate() - any of these, and at a region
 * @operation: as of RFM_IOC_REMOTE in linux/rfm.h; @operation->key is that of a region
 *
 * Errors as rfm_get(); EOPNOTSUPP a key, without RFM_CAN_REGION.
 */
RFM_API int rfm_operate_sized(struct rfm *rfm, struct rfm_operation *operation, size_t size);
static inline int rfm_operate(struct rfm *rfm, struct rfm_operation *operation)
{
	return rfm_operate_sized(rfm, operation, sizeof(*operation));
}

/**
 * rfm_message() - send a message to a port of a node
 * @port: below RFM_PORTS
 * @length: 1..RFM_OP_MAX
 *
 * It comes whole or not at all, behind all that this node has stored, and those of one node to
 * a port come in their order. Returns when it is in the queue there. Errors as rfm_cas64(), and:
 * ECONNREFUSED nobody listens there; EMSGSIZE it is longer than its listener takes; EBUSY the
 * queue was full all the time.
 */
RFM_API int rfm_message(struct rfm *rfm, uint32_t node, uint32_t port, const void *data,
			size_t length, int timeout_ms);

/**
 * rfm_listen_port() - take messages
 * @port: below RFM_PORTS
 * @depth: how many may wait, 1..RFM_PORT_DEPTH_MAX; 0: RFM_PORT_DEPTH_DEFAULT
 * @length_max: bytes of the longest that is taken, 1..RFM_OP_MAX; 0: RFM_PORT_LENGTH_DEFAULT.
 *	In process all are taken
 *
 * Returns NULL with errno: EADDRINUSE somebody listens there; ENOSPC; EBADF; ENOMEM.
 */
RFM_API struct rfm_messages *rfm_listen_port(struct rfm *rfm, uint32_t port, uint32_t depth,
					 uint32_t length_max);

/**
 * rfm_receive() - the oldest message
 * @data: room for @size bytes
 * @length: out: how many it has; may be NULL
 * @node: out: who has sent it; may be NULL
 * @timeout_ms: -1: wait for ever
 *
 * Returns 1, or 0 after @timeout_ms, or -1 with errno: EMSGSIZE it is longer than @size, @length
 * says how long, and it stays; ENODEV; EIO nothing more will come; EINTR.
 */
RFM_API int rfm_receive(struct rfm_messages *port, void *data, size_t size, size_t *length,
			uint32_t *node, int timeout_ms);

/**
 * rfm_messages_fd() - for poll(), epoll: readable when there is a message
 *
 * -1 with EOPNOTSUPP in process: there rfm_receive() has to wait.
 */
RFM_API int rfm_messages_fd(const struct rfm_messages *port);

/** rfm_messages_close() - no more; what has not been received is dropped. NULL is allowed */
RFM_API void rfm_messages_close(struct rfm_messages *port);

/**
 * rfm_export() - allow operations on a range of this node's memory
 * @offset: rounded outwards to granules of 64 bytes, with
 * @length:
 * @rights: RFM_EXPORT_*, in place of those that this handle gave it; 0: none
 *
 * On a card what all handles give counts together, and rfm_close() takes this one's back. In
 * process they are the node's, and what was said last counts. One node alone should be home of
 * a word; its own operations need the same rights. Errors: EBADF, ENOSPC.
 */
RFM_API int rfm_export(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t rights);

/**
 * rfm_region_open() - let other nodes at memory of this process
 * @address: @length bytes of any alignment, 1..RFM_MEMORY_REGION_MAX, which must stay until the end
 * @flags: RFM_MEMORY_*, at least one of RFM_MEMORY_RIGHTS; RFM_MEMORY_CLOEXEC is always added
 * @key: out: what rfm_operate() elsewhere has to say
 *
 * Returns a stream; with RFM_MEMORY_WATCH rfm_events_wait() tells who has written which bytes.
 * rfm_events_close() ends the region: when that has returned nobody touches the memory. NULL with
 * errno: ENOBUFS more than RLIMIT_MEMLOCK; EFAULT not all of it can be had; ENOSPC; EBADF; EIO.
 */
RFM_API struct rfm_events *rfm_region_open(struct rfm *rfm, void *address, size_t length,
					   uint32_t flags, uint32_t *key);

/**
 * rfm_resync() - make this memory what that of a complete node is, while all go on storing
 * @donor: its id; RFM_NODE_ALL: the nearest node that is complete
 * @timeout_ms: -1: as long as it takes
 * @result: how it ended; may be NULL
 *
 * What anybody stores meanwhile is neither lost nor undone. Returns 0 if this node is
 * complete. Errors as rfm_get(), and: EHOSTUNREACH no node is complete; ENODATA @donor is not;
 * EAGAIN something got lost meanwhile: once more; EALREADY one is under way.
 */
RFM_API int rfm_resync_sized(struct rfm *rfm, uint32_t donor, int timeout_ms,
			     struct rfm_resync_wait *result, size_t size);
static inline int rfm_resync(struct rfm *rfm, uint32_t donor, int timeout_ms,
			     struct rfm_resync_wait *result)
{
	return rfm_resync_sized(rfm, donor, timeout_ms, result, sizeof(*result));
}

/* --- finding out ------------------------------------------------------------------- */

/** rfm_writer() - who wrote last to the 64 bytes around @offset? */
RFM_API int rfm_writer_sized(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer,
			     size_t size);
static inline int rfm_writer(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer)
{
	return rfm_writer_sized(rfm, offset, writer, sizeof(*writer));
}

/** rfm_counters() - all counters of the card, of one instant */
RFM_API int rfm_counters_sized(struct rfm *rfm, struct rfm_counters *counters, size_t size);
static inline int rfm_counters(struct rfm *rfm, struct rfm_counters *counters)
{
	return rfm_counters_sized(rfm, counters, sizeof(*counters));
}

/**
 * rfm_ring_map() - who is on the ring
 * @members: by node id, those with an id below @count
 * @count: 0..RFM_NODES
 * @map: how many there are, and how long once round takes; may be NULL
 */
RFM_API int rfm_ring_map_sized(struct rfm *rfm, struct rfm_member *members, size_t member_size,
			       uint32_t count, struct rfm_ring_map *map, size_t map_size);
static inline int rfm_ring_map(struct rfm *rfm, struct rfm_member *members, uint32_t count,
			       struct rfm_ring_map *map)
{
	return rfm_ring_map_sized(rfm, members, sizeof(*members), count, map, sizeof(*map));
}

/**
 * rfm_event_counts() - how many events of each type has the driver taken from the card?
 * @counts: by enum rfm_event_type, of types below @count; since the driver was bound to the
 *	card, for all programs alike, and never set back
 *
 * Those that somebody listened for, and errors in any case; not UPDATE to FRESH. What waits
 * in the card for its first listener is not counted yet. In process: since the node is there.
 */
RFM_API int rfm_event_counts(struct rfm *rfm, uint64_t *counts, size_t count);

/** rfm_event_name() - "int1", "update"...; NULL for no type */
RFM_API const char *rfm_event_name(uint32_t type);

/** rfm_counter_name() - "stores", "sent_bytes"...; NULL for no enum rfm_counter */
RFM_API const char *rfm_counter_name(uint32_t counter);

/** rfm_error_text() - what an errno of these calls means, a few words; never fails */
RFM_API const char *rfm_error_text(int error);

/* --- registers of the card ------------------------------------------------------------ */

/**
 * rfm_reg_read() - read a register of the 5565
 * @set: RFM_REGS_RUNTIME or RFM_REGS_CONTROL
 * @offset: a multiple of @width, below 0x200 or 0x40
 * @width: 1, 2 or 4 bytes, one access
 * @value: set on success only
 *
 * Takes CAP_SYS_RAWIO and a handle open for writing, for registers tell the card where to
 * write in this machine's memory, and a read may take something away. A node in process has
 * board id, node id, LCSR1 and LISR for reading. Errors: EPERM, EBADF; EINVAL; EOPNOTSUPP.
 */
RFM_API int rfm_reg_read(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset,
			 unsigned int width, uint32_t *value);

/** rfm_reg_write() - write one, without reading it before; as rfm_reg_read() */
RFM_API int rfm_reg_write(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset,
			  unsigned int width, uint32_t value);

/**
 * rfm_reg_update() - change bits of one, which neither the driver nor others do meanwhile
 * @mask: bits to be changed, to those of @value; others are written as they were read
 * @before: what was read; may be NULL
 *
 * As rfm_reg_read(). With @mask 0 it is only read, with all bits of @width only written.
 */
RFM_API int rfm_reg_update(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset,
			   unsigned int width, uint32_t mask, uint32_t value,
			   uint32_t *before);

/**
 * rfm_map_regs() - a set of registers, for reading and writing
 * @size: out: how many bytes of them there are; may be NULL
 *
 * Returns the address of the first; the page it is in may show other things too. NULL with
 * errno, as rfm_reg_read(). rfm_unmap() ends it; when the card goes, an access is SIGBUS.
 */
RFM_API void *rfm_map_regs(struct rfm *rfm, enum rfm_reg_set set, size_t *size);

/* --- a word ------------------------------------------------------------------------- */

/*
 * In a mapping; what is stored in one goes to the ring where rfm_can() has RFM_CAN_PUBLISH,
 * elsewhere rfm_storeN() does that.
 *
 * rfm_publishN() is exactly one store of N bits, with release order: every node
 * that sees it also sees what this thread stored before it. rfm_readN() is
 * exactly one load, with acquire order: what is loaded after it is at least as
 * new. The address must be aligned to its size; then no node ever sees a part.
 * They cannot fail, never wait on the reader's side, and make no system call.
 * They are inline, and the library has them too, for languages that call it.
 */
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
 * rfm_record_store() - the same through a handle, also where a mapping cannot be written to
 * @offset: in the memory, a multiple of 8
 *
 * By a load and stores of 8 bytes, as of rfm_store64(), with its errors; EOPNOTSUPP:
 * in a burst range, where stores go in no order.
 */
RFM_API int rfm_record_store(struct rfm *rfm, uint64_t offset, const void *data, size_t size);

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

#define RFM_RECORDS_TRIES	16	/* of all of them, at most */

/**
 * struct rfm_record_part - one of several records that are read together
 * @record: as of rfm_record_read(), as are
 * @data: and
 * @size:
 * @sequence: out
 * @reserved: 0 (EINVAL)
 */
struct rfm_record_part {
	const volatile void *record;
	void *data;
	size_t size;
	uint64_t sequence;
	uint64_t reserved[4];
};

/**
 * rfm_records_read() - several records, as all of them stood in this node's memory at one instant
 * @parts: @count of them
 *
 * There was a moment at which each was what was read of it, whoever wrote it. Never waits; at
 * most RFM_RECORDS_TRIES attempts. Errors: as rfm_record_read(), of any of them; EAGAIN also
 * if one was written each time while others were read.
 */
RFM_API int rfm_records_read(struct rfm_record_part *parts, size_t count);

#ifdef __cplusplus
}
#endif

#endif
