/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * Interface of /dev/rfmN, one reflective-memory card.
 *
 * The memory itself needs no call: mmap() it (MAP_SHARED, never PROT_EXEC;
 * file offset = offset in the reflected memory), or use pread()/pwrite().
 * Loads are local. Stores go to every node of the ring, in program order.
 *
 * Rules for every structure here: padding is explicit and 64-bit fields are
 * aligned to 8 bytes, so that 32-bit programs use the same layout. A structure
 * that a call reads begins with what goes in; all that follows, be it out, pad
 * or reserved, must be 0 when it is passed (EINVAL otherwise), so that it may
 * mean something one day. A structure may grow at its end only, up to the 8191
 * bytes that an ioctl number of some architectures can tell: what may be longer
 * stands behind a pointer. A call is known by its number and direction, and takes
 * the caller's structure in the size that is in its ioctl number: of a shorter
 * one the rest counts as 0 and is not returned; of a longer one the rest must be
 * 0 (EINVAL), and is 0 on return. Where records follow each other, the caller
 * says how long one is (@record_size, @member_size).
 *
 * Errors common to all calls: ENODEV the card is gone (unplugged, driver
 * unbound), EFAULT bad pointer, ENOTTY unknown ioctl, EINVAL a field that must
 * be 0 is not, or an unknown flag is set.
 */
#ifndef _UAPI_LINUX_RFM_H
#define _UAPI_LINUX_RFM_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include <linux/rfm_status.h>

/**
 * struct rfm_info - what the card is and how it is (RFM_IOC_INFO)
 * @memory_size: bytes of reflected memory on the card
 * @window_size: bytes of it that can be mapped, from offset @window_offset;
 *	equal to @memory_size unless the card's switches narrow its window
 * @window_offset: see above, bytes
 * @node: this card's node id, 0..255
 * @board_id: 0x65
 * @board_revision: BRV register
 * @pad: 0
 * @build: BRB register
 * @pad2: 0
 * @lcsr1: the LCSR1 register as it reads now (RFM_LCSR1_* in rfm_status.h)
 * @lisr: latched status bits seen since the driver was bound (RFM_LISR_*);
 *	the driver clears the card's latches as it serves them, this field
 *	remembers them
 * @features: RFM_EXT_FEATURE_* of rfm_status.h, 0 on a card without the
 *	extension block: the calls that need one answer EOPNOTSUPP then
 * @pci_name: PCI address of the card, "0000:01:00.0", zero-terminated
 * @irqs: interrupts served since the driver was bound
 * @sync_losses: how often the receiver has lost its signal since then, as
 *	far as interrupts told
 * @base_policy: RFM_BASE_ALL, RFM_BASE_NONE or RFM_BASE_MASK
 * @clock_domain: of the card's clock; origin times of other domains cannot be
 *	compared with arrival times here. 0 without the extension block
 * @events_dropped: events that the card could not hand to the driver
 * @watches: watch descriptors open now
 * @runtime_at: byte in the page at RFM_MAP_RUNTIME where those registers begin
 * @control_at: and of those at RFM_MAP_CONTROL
 * @reserved: 0
 * @burst_offset: where the burst range begins, in which stores are sent in no order
 * @burst_length: its bytes; 0: there is none
 */
struct rfm_info {
	__u64 memory_size;
	__u64 window_size;
	__u64 window_offset;
	__u8  node;
	__u8  board_id;
	__u8  board_revision;
	__u8  pad;
	__u16 build;
	__u16 pad2;
	__u32 lcsr1;
	__u32 lisr;
	__u64 features;
	char  pci_name[32];
	__u64 irqs;
	__u64 sync_losses;
	__u32 base_policy;
	__u32 clock_domain;
	__u64 events_dropped;
	__u32 watches;
	__u16 runtime_at;
	__u16 control_at;
	__u64 reserved[4];
	__u64 burst_offset;
	__u64 burst_length;
};

/* What a card receives that nobody has subscribed to. */
#define RFM_BASE_ALL		0u	/* everything, as a 5565 */
#define RFM_BASE_NONE		1u	/* nothing */
#define RFM_BASE_MASK		2u	/* what base masks say: docs/man/rfm-netlink.7 */

/*
 * Kinds of events. The first five can be sent; the others are only heard.
 * From UPDATE on they need the extension block. DROPPED comes unasked for,
 * to a watch as to a listener: the card had no room for events, perhaps ours,
 * so anything may have happened at this place of the stream.
 */
enum rfm_event_type {
	RFM_EVENT_RESET		= 0,	/* reset request by another node */
	RFM_EVENT_INT1		= 1,	/* network interrupts 1 to 4 */
	RFM_EVENT_INT2		= 2,
	RFM_EVENT_INT3		= 3,
	RFM_EVENT_INT4		= 4,
	RFM_EVENT_SYNC_LOSS	= 5,	/* the receiver lost its signal */
	RFM_EVENT_BAD_DATA	= 6,	/* a damaged packet was dropped */
	RFM_EVENT_TX_FULL	= 7,	/* a store found no room in time: not sent */
	RFM_EVENT_RX_FULL	= 8,	/* the receive FIFO was full */
	RFM_EVENT_RX_ALMOST_FULL = 9,
	RFM_EVENT_ROGUE		= 10,	/* a rogue packet was removed */
	RFM_EVENT_WRITE_INHIBITED = 11,	/* a store narrower than 4 bytes, parity on */
	RFM_EVENT_PARITY	= 12,	/* local memory parity error */
	RFM_EVENT_UPDATE	= 13,	/* watched bytes were written by another node */
	RFM_EVENT_MATCH		= 14,	/* and the condition has become true */
	RFM_EVENT_STALE		= 15,	/* no update for too long */
	RFM_EVENT_FRESH		= 16,	/* the first update after that */
	RFM_EVENT_CONFLICT	= 17,	/* another node wrote what a file here owns */
	RFM_EVENT_SIGNAL	= 18,	/* the receiver has its signal again */
	RFM_EVENT_BREAK		= 19,	/* another node has lost its signal */
	RFM_EVENT_MEMBERSHIP	= 20,	/* nodes have come or gone */
	RFM_EVENT_LOSS		= 21,	/* updates of another node never arrived */
	RFM_EVENT_ID_IN_USE	= 22,	/* this node has left: an earlier one has its id */
	RFM_EVENT_DROPPED	= 23,	/* the card has dropped events */
	RFM_EVENT_INCOMPLETE	= 24,	/* the memory misses something from now on, or no more */
	RFM_EVENT_WRITTEN	= 25,	/* another node has written to a region */
	RFM_EVENT_TYPES		= 26
};

#define RFM_EVENT_BIT(type)	(1u << (type))
#define RFM_EVENT_ALL		0x17fffffu	/* that can be asked for */
#define RFM_EVENT_SENDABLE	0x1fu
#define RFM_EVENT_WATCHED	0x201e000u	/* UPDATE to FRESH, WRITTEN: not by a listener */

#define RFM_NODE_ALL		0xffffu	/* every other node */

/**
 * struct rfm_send - send a network interrupt (RFM_IOC_SEND)
 * @node: target node id 0..255, or RFM_NODE_ALL
 * @type: RFM_EVENT_RESET, RFM_EVENT_INT1 .. RFM_EVENT_INT4
 * @data: 32 bits that arrive with it (not with RFM_EVENT_RESET)
 * @reserved: 0
 *
 * Returns 0 once the interrupt is queued behind every store that the caller
 * made before it; that says nothing about its arrival. Needs a descriptor
 * open for writing (EBADF). EINVAL: unknown type, node out of range, or the
 * card's own node id: a node never interrupts itself.
 */
struct rfm_send {
	__u32 node;
	__u32 type;
	__u32 data;
	__u32 reserved;
};

#define RFM_LISTEN_NONBLOCK	0x1u	/* as O_NONBLOCK */
#define RFM_LISTEN_CLOEXEC	0x2u	/* as O_CLOEXEC */
#define RFM_LISTEN_DISCARD	0x4u	/* throw away what waited in the card */
#define RFM_LISTEN_EXCLUSIVE	0x8u	/* nobody else may listen for these types */
#define RFM_LISTEN_FLAGS	0xfu

#define RFM_LISTEN_DEPTH_DEFAULT 256
#define RFM_LISTEN_DEPTH_MAX	65536
#define RFM_LISTENERS_MAX	1024	/* of one card */
#define RFM_QUEUED_MAX		524288	/* sum of the depths of all queues of a card */

/**
 * struct rfm_listen - hear events (RFM_IOC_LISTEN)
 * @types: mask of RFM_EVENT_BIT() within RFM_EVENT_ALL, not 0, none of
 *	RFM_EVENT_WATCHED
 * @flags: RFM_LISTEN_*
 * @depth: events the queue holds, 1..RFM_LISTEN_DEPTH_MAX;
 *	0 = RFM_LISTEN_DEPTH_DEFAULT
 * @record_size: bytes of each record that is read, sizeof(struct rfm_event) as the
 *	caller knows it: what is not in it is left out, what the driver does not know
 *	is 0. A multiple of 8, at least RFM_EVENT_SIZE_VER0; 0 = RFM_EVENT_SIZE_VER0
 *
 * Returns a new descriptor that delivers struct rfm_event records by read()
 * and poll(). Each listener has a queue of its own; when it is full, new
 * events are dropped and counted (@dropped of the next record, and a gap in
 * @seq). Interrupts that arrive while nobody listens for their type wait in
 * the card, up to 127 a type, for the first listener. read() with a buffer
 * smaller than one record is EINVAL; it returns whole records only. The call
 * needs a descriptor open for reading (EBADF). EOPNOTSUPP: a type that needs
 * the extension block, on a card without. EBUSY: somebody listens exclusively
 * for one of the types, or somebody listens for one at all and this call asks
 * for RFM_LISTEN_EXCLUSIVE. When the exclusive descriptor is closed, others may
 * listen again. ENOSPC: RFM_LISTENERS_MAX listeners, or RFM_QUEUED_MAX records
 * of all listeners and watches. EIO: a type that needs the extension block, and
 * the card can no longer write its events to this machine's memory; a listener
 * for one then ends: EPOLLERR, and EIO by read() when its queue is empty.
 */
struct rfm_listen {
	__u32 types;
	__u32 flags;
	__u32 depth;
	__u32 record_size;
};

#define RFM_EVENT_SIZE_VER0	176	/* bytes of the first struct rfm_event */

#define RFM_EVENT_LATE		0x1u	/* older than the watch's deadline on arrival */
#define RFM_EVENT_AGE_UNKNOWN	0x2u	/* origin and arrival are on different clocks */
#define RFM_EVENT_NEVER		0x4u	/* STALE: nothing since the watch was made */
#define RFM_EVENT_INFERRED	0x8u	/* STALE, FRESH: concluded, as the card has dropped it */

/*
 * A watch is told of a silence, and of its end, even if the card dropped the
 * event: then with RFM_EVENT_INFERRED, the range watched and nothing of the
 * update, and perhaps twice.
 */

/**
 * struct rfm_event - one event
 * @type: enum rfm_event_type
 * @node: who sent or wrote, RFM_NODE_ALL where that is unknown
 * @data: the 32 bits sent with an interrupt; LOSS: how many updates are
 *	missing; MEMBERSHIP: the epoch; INCOMPLETE: 1, or 0 when nothing is missing
 *	any more; WRITTEN: the region's key; DROPPED: how many events the card has
 *	dropped since this descriptor was told last, or was made: there, or
 *	behind some of the records that follow, never before one already read.
 *	More is added while it is the newest and unread; else 0
 * @flags: RFM_EVENT_LATE and the like
 * @seq: counts the events of this descriptor from 1, dropped ones included;
 *	of a record that stands for several it is the last one's
 * @time_ns: CLOCK_MONOTONIC of this machine when the driver took it
 * @dropped: events this descriptor has lost so far to a full queue
 * @offset: UPDATE, MATCH, FRESH, CONFLICT: first byte of the update, STALE: of
 *	the last one; a whole update, also where it reaches beyond the range.
 *	With RFM_EVENT_NEVER: of the range that is silent. WRITTEN: in the region
 * @length: its bytes
 * @count: updates this record stands for: 1, more on a coalescing watch, whose
 *	record tells of the last one
 * @frame: number of the frame, per originator
 * @origin_ns: when the originator stored it, on the clock of its domain
 * @arrival_ns: when it came, on the card's clock: the age at arrival is the
 *	difference unless RFM_EVENT_AGE_UNKNOWN
 * @age_ns: STALE, FRESH: how long it was silent
 * @late: updates and matches of this watch that were late so far
 * @bytes: the first 64 bytes of the update at most
 * @reserved: 0
 */
struct rfm_event {
	__u32 type;
	__u32 node;
	__u32 data;
	__u32 flags;
	__u64 seq;
	__u64 time_ns;
	__u64 dropped;
	__u64 offset;
	__u32 length;
	__u32 count;
	__u64 frame;
	__u64 origin_ns;
	__u64 arrival_ns;
	__u64 age_ns;
	__u64 late;
	__u8  bytes[64];
	__u64 reserved[2];
};

/**
 * struct rfm_ring_test - does a packet come back? (RFM_IOC_RING_TEST)
 * @timeout_ms: how long to wait, 1..10000; 0 = 500, the field's usual value
 * @reserved: 0
 * @round_trip_ns: out: time until the card saw its own packet
 *
 * Clears OWN DATA, sends a probe that no node reacts to, and waits for OWN
 * DATA. ETIMEDOUT: the ring is open. Concurrent tests are serialised.
 * Needs a descriptor open for writing (EBADF). Interruptible (EINTR).
 */
struct rfm_ring_test {
	__u32 timeout_ms;
	__u32 reserved;
	__u64 round_trip_ns;
};

/**
 * struct rfm_range - bytes of the memory
 * @offset: first byte
 * @length: bytes, at least 1; may not reach past the end of the memory (EINVAL,
 *	also where @offset + @length overflows)
 */
struct rfm_range {
	__u64 offset;
	__u64 length;
};

#define RFM_SUBSCRIBE_RX	0x1u	/* receive what others write there */
#define RFM_SUBSCRIBE_TX	0x2u	/* send what is written there */
#define RFM_SUBSCRIBE_OWN	0x4u	/* nobody else should write there: CONFLICT if one does */
#define RFM_SUBSCRIBE_NO_MAPS	0x8u	/* mappings made through this file hold no subscription */
#define RFM_SUBSCRIBE_FLAGS	0xfu

#define RFM_SUBSCRIBE_NO_EFFECT	0x1u	/* the base has RX and TX on there anyway */

#define RFM_SUBSCRIBE_MAX	4096	/* separate ranges of one file, for each of RX, TX, OWN */
#define RFM_HOLDS_MAX		32768	/* of one card: ranges of files and watches, mappings */

/**
 * struct rfm_subscribe - take or give back a range (RFM_IOC_SUBSCRIBE, RFM_IOC_UNSUBSCRIBE)
 * @range: rounded outwards to granules of 64 bytes. With no flag but
 *	RFM_SUBSCRIBE_NO_MAPS both fields are 0
 * @flags: RFM_SUBSCRIBE_*, at least one
 * @result: out: RFM_SUBSCRIBE_NO_EFFECT or 0
 *
 * Each open file has a set of its own (duplicated, inherited and passed
 * descriptors are the same file). What the card does is the union of all sets
 * and the base policy. The last close of the file takes its set back.
 * UNSUBSCRIBE takes back what of the range this file holds, and is content if
 * that is nothing; it refuses RFM_SUBSCRIBE_NO_MAPS.
 *
 * With base policy none a mapping holds RX of its range, and TX if its file is
 * open for writing, until its last page is unmapped, and a watch holds RX of
 * its ranges. What is subscribed anew keeps its old bytes until somebody
 * writes there.
 *
 * EBADF: RX on a file not open for reading, TX or OWN on one not open for
 * writing. ENOSPC: more than RFM_SUBSCRIBE_MAX separate ranges. EUSERS: more
 * than RFM_HOLDS_MAX of the card, as of mmap() and RFM_IOC_WATCH. EOPNOTSUPP:
 * no extension block. EIO: the card refuses.
 */
struct rfm_subscribe {
	struct rfm_range range;
	__u32 flags;
	__u32 result;
	__u64 reserved[2];
};

#define RFM_WATCH_NONBLOCK	0x01u	/* as O_NONBLOCK */
#define RFM_WATCH_CLOEXEC	0x02u	/* as O_CLOEXEC */
#define RFM_WATCH_COALESCE	0x04u	/* updates, or matches, are one record while unread */
#define RFM_WATCH_EVENTFD	0x08u	/* @eventfd counts records as well */
#define RFM_WATCH_COMPARE	0x10u	/* MATCH instead of UPDATE */
#define RFM_WATCH_FLAGS		0x1fu

enum rfm_watch_compare {
	RFM_COMPARE_EQUAL	= 1,	/* has become equal to @value */
	RFM_COMPARE_NOT_EQUAL	= 2,	/* is no longer equal to it */
	RFM_COMPARE_CHANGED	= 3	/* has become another */
};

#define RFM_WATCH_RANGES_MAX	256	/* of one watch */
#define RFM_WATCHES_MAX		1024	/* of one card */
#define RFM_WATCHED_RANGES_MAX	16384	/* of all watches of one card */
#define RFM_WATCH_SILENCE_MIN	1000000ull	/* ns */
#define RFM_WATCH_SILENCE_MAX	3600000000000ull

/**
 * struct rfm_watch - sleep until bytes change (RFM_IOC_WATCH)
 * @ranges: address of @count struct rfm_range; exact to the byte
 * @count: 1..RFM_WATCH_RANGES_MAX
 * @flags: RFM_WATCH_*
 * @depth: records the queue holds, 1..RFM_LISTEN_DEPTH_MAX; 0 =
 *	RFM_LISTEN_DEPTH_DEFAULT
 * @eventfd: with RFM_WATCH_EVENTFD an eventfd, else 0
 * @deadline_ns: an update older than that on arrival is marked and counted as
 *	late; 0: none. One of unknown age is never late
 * @silence_ns: STALE when no update has touched the watch's bytes for that
 *	long, FRESH with the next one; RFM_WATCH_SILENCE_MIN..MAX; 0: none.
 *	With more than one range each has a clock of its own
 * @compare: with RFM_WATCH_COMPARE one of enum rfm_watch_compare, else 0
 * @compare_width: 1, 2, 4 or 8 bytes
 * @compare_offset: a multiple of the width, within one of the ranges
 * @compare_mask: bits that count, not 0
 * @compare_value: within @compare_mask
 * @record_size: as of struct rfm_listen
 * @pad: 0
 * @reserved: 0
 *
 * Returns a new descriptor that delivers struct rfm_event by read() and
 * poll(), as one of RFM_IOC_LISTEN does. Every update by another node that
 * touches the bytes makes one record; a store of this node makes none. The
 * queue is bounded: what finds it full is dropped and counted, but the last
 * STALE or FRESH of each range and the last MATCH are kept. A watch that
 * compares sees the update that makes the condition true, not those that
 * leave it true: make the watch, then look at the memory.
 *
 * Needs a descriptor open for reading (EBADF). ENOSPC: RFM_WATCHES_MAX
 * watches, RFM_WATCHED_RANGES_MAX ranges, RFM_QUEUED_MAX records, or the card
 * has no comparator or timer left (256 together). EBADF, EINVAL: @eventfd is no
 * eventfd. EOPNOTSUPP: no extension block. EIO: the card can no longer write
 * its events, which ends a watch as it does a listener, or it refuses.
 */
struct rfm_watch {
	__u64 ranges;
	__u32 count;
	__u32 flags;
	__u32 depth;
	__s32 eventfd;
	__u64 deadline_ns;
	__u64 silence_ns;
	__u32 compare;
	__u32 compare_width;
	__u64 compare_offset;
	__u64 compare_mask;
	__u64 compare_value;
	__u32 record_size;
	__u32 pad;
	__u64 reserved[3];
};

#define RFM_FENCED_LOST		0x1u	/* @lost frames did not reach every node */
#define RFM_FENCED_PAUSED	0x2u	/* a node stands still; it stores them when it goes on */
#define RFM_FENCED_EPOCH	0x4u	/* nodes came or went meanwhile */
#define RFM_FENCED_DARK		0x8u	/* this node sends nothing: no signal, or transmitter off */

/**
 * struct rfm_fence_wait - wait until all is everywhere (RFM_IOC_FENCE)
 * @timeout_ms: 1..60000; 0 = 1000
 * @flags: out: RFM_FENCED_*; 0: everything that this machine has stored before
 *	the call is in the memory of every node of the ring
 * @lost: out: frames that did not arrive everywhere, as found by the fences of
 *	this card that ended since this file's fence before, or since it was
 *	opened. So a file's first fence may tell of what was lost before that,
 *	when nobody fenced
 * @epoch: out: counts changes of the ring's membership
 * @pad: 0
 * @wait_ns: out: how long it took
 * @reserved: 0
 *
 * ETIMEDOUT: it has not come home; EINTR: a signal was handled. Needs a
 * descriptor open for writing (EBADF). EOPNOTSUPP: no extension block.
 */
struct rfm_fence_wait {
	__u32 timeout_ms;
	__u32 flags;
	__u64 lost;
	__u32 epoch;
	__u32 pad;
	__u64 wait_ns;
	__u64 reserved[2];
};

/**
 * struct rfm_send_set - a network interrupt to several nodes (RFM_IOC_SEND_SET)
 * @nodes: 256 bits, bit n % 64 of element n / 64 is node n; at least one, not
 *	this card's (EINVAL)
 * @type: as struct rfm_send
 * @data: as struct rfm_send
 * @reserved: 0
 *
 * As RFM_IOC_SEND; one frame however many nodes. EOPNOTSUPP: no extension block.
 */
struct rfm_send_set {
	__u64 nodes[4];
	__u32 type;
	__u32 data;
	__u64 reserved;
};

#define RFM_CONFIG_LED		0x001u	/* the red status LED */
#define RFM_CONFIG_TRANSMIT	0x002u	/* the transmitter sends light */
#define RFM_CONFIG_LOOPBACK	0x004u
#define RFM_CONFIG_DARK_ON_DARK	0x008u
#define RFM_CONFIG_PARITY	0x010u	/* then stores narrower than 4 bytes are inhibited */
#define RFM_CONFIG_OWN_DATA	0x020u	/* get: a packet came home; set: can be cleared only */
#define RFM_CONFIG_BYTE_SWAP	0x040u	/* bytes of each aligned 4 reversed, loads and stores */
#define RFM_CONFIG_WINDOW	0x080u	/* @window_offset */
#define RFM_CONFIG_OFFSET	0x100u	/* @address_offset */
#define RFM_CONFIG_DMA_BYTE_SWAP 0x200u	/* the same, in reads and writes, by DMA or not */
#define RFM_CONFIG_ALL		0x3ffu

/**
 * struct rfm_config - what users of a 5565 set (RFM_IOC_GET_CONFIG, RFM_IOC_SET_CONFIG)
 * @mask: set: what is to be changed, RFM_CONFIG_*; get: out: what this card has
 * @on: RFM_CONFIG_* that are on
 * @window_offset: bytes, where in the memory the window begins, a multiple of
 *	its size below the memory size. File offsets are then offsets in the
 *	window
 * @address_offset: added to the address of own updates on the ring, 0, 64, 128
 *	or 192 MiB
 * @pad: 0
 * @reserved: 0
 *
 * BYTE_SWAP set without DMA_BYTE_SWAP sets both, as it did when it was one for both; get
 * tells of each.
 *
 * Set applies all or nothing. EINVAL: a value out of range, OWN_DATA asked to be on.
 * EOPNOTSUPP: a window on a card older than sliding windows. EBUSY: the window
 * is not moved under a mapping, a subscription, a watch, a read or a write, nor
 * a byte swap changed under a read or a write. EIO: the card does not move its
 * window. EINTR: a signal was handled while another change was made, or, to clear
 * OWN_DATA, a ring test. Set needs a descriptor open for writing (EBADF). Each
 * change is told to monitors, with the process: docs/man/rfm-netlink.7.
 */
struct rfm_config {
	__u32 mask;
	__u32 on;
	__u64 window_offset;
	__u32 address_offset;
	__u32 pad;
	__u64 reserved[2];
};

/**
 * struct rfm_writer - who wrote there last? (RFM_IOC_WRITER)
 * @offset: any byte of a granule of 64
 * @node: out: node id, RFM_NODE_ALL: nobody since the card was reset
 * @flags: out: RFM_EVENT_AGE_UNKNOWN or 0
 * @frame: out: number of the frame, 0: a store of this machine
 * @time_ns: out: when it was stored, on the clock of the writer's domain
 * @reserved: 0
 *
 * Needs a descriptor open for reading (EBADF).
 */
struct rfm_writer {
	__u64 offset;
	__u32 node;
	__u32 flags;
	__u64 frame;
	__u64 time_ns;
	__u64 reserved[2];
};

/**
 * struct rfm_counters - the card's counters, all of one instant (RFM_IOC_COUNTERS)
 * @count: out: how many of @value the card has
 * @pad: 0
 * @clock_ns: out: the card's clock at that instant
 * @value: out: RFM_COUNTER_* of rfm_status.h
 * @changed_ns: out: when each last changed, on the card's clock, to 0.2 s; 0: never
 * @reset_ns: out: the card's clock when counting was last begun anew, by the netlink
 *	operation counters-reset; 0: never
 * @reset: out: what each was then; 0 for levels, peaks, the epoch and times, which
 *	are no counts
 *
 * Needs a descriptor open for reading (EBADF).
 */
struct rfm_counters {
	__u32 count;
	__u32 pad;
	__u64 clock_ns;
	__u64 value[64];
	__u64 changed_ns[64];
	__u64 reset_ns;
	__u64 reset[64];
};

/**
 * struct rfm_member - a node as this one sees it
 * @present: 1 if it has been heard within two seconds; of this node: if it has not
 *	left the ring, because an earlier node has its id
 * @hops: links from there to here
 * @hubs: how many of them lead out of a hub, modulo 16
 * @pad: 0
 * @flags: RFM_EVENT_AGE_UNKNOWN: another clock, @transit_ns is 0; RFM_MEMBER_PAUSED;
 *	RFM_MEMBER_AHEAD; RFM_MEMBER_INCOMPLETE
 * @pad2: 0
 * @transit_ns: time its last frame took to come here
 * @received: frames taken from it
 * @missed: frames of it that never arrived here
 * @heard_ns: when it was last heard, on the card's clock; 0: never, or this node
 * @broke_ns: when it last told that it had lost its signal; 0: never
 */
struct rfm_member {
	__u16 present;
	__u16 hops;
	__u16 hubs;
	__u16 pad;
	__u32 flags;
	__u32 pad2;
	__u64 transit_ns;
	__u64 received;
	__u64 missed;
	__u64 heard_ns;
	__u64 broke_ns;
};

#define RFM_MEMBER_PAUSED	0x4u	/* its machine stands still, and stores nothing now */
#define RFM_MEMBER_AHEAD	0x8u	/* its last frame seems to have come before its time */
#define RFM_MEMBER_INCOMPLETE	0x10u	/* its memory misses some of what others have stored */

#define RFM_MEMBER_SIZE_VER0	56	/* bytes of the first struct rfm_member */

#define RFM_NODES		256u	/* that a ring may have */

/**
 * struct rfm_ring_map - who is on the ring (RFM_IOC_RING_MAP)
 * @members: address of @count struct rfm_member, filled in by node id
 * @count: 0..RFM_NODES; nodes with a greater id are left out there
 * @member_size: bytes from one to the next, sizeof(struct rfm_member) as the caller
 *	knows it, a multiple of 8, at least RFM_MEMBER_SIZE_VER0;
 *	0 = RFM_MEMBER_SIZE_VER0
 * @turn_ns: out: time once round the ring, 0: nothing comes home. A message to any
 *	node and its answer make one turn together, so this is the round-trip
 *	time to each
 * @epoch: out: counts changes of the membership
 * @present: out: how many are on the ring, of all, this node included
 * @clock_ns: out: the card's clock at that instant
 * @reserved: 0
 *
 * Needs a descriptor open for reading (EBADF).
 */
struct rfm_ring_map {
	__u64 members;
	__u32 count;
	__u32 member_size;
	__u64 turn_ns;
	__u32 epoch;
	__u32 present;
	__u64 clock_ns;
	__u64 reserved;
};

#define RFM_ANSWER_GIVEN	0x1u	/* the node has answered */
#define RFM_ANSWER_BEHIND	0x2u	/* it stands still, and will store more when it goes on */

/**
 * struct rfm_node_answer - what a node has in its memory
 * @flags: RFM_ANSWER_*; without RFM_ANSWER_GIVEN all else is 0
 * @length: how many of the bytes asked for lie within its memory: only they count
 * @crc: CRC32C of them
 * @pad: 0
 * @first: the first eight of them, as they stand there, zeros behind the last
 */
struct rfm_node_answer {
	__u32 flags;
	__u32 length;
	__u32 crc;
	__u32 pad;
	__u8 first[8];
};

#define RFM_VERIFY_MAX		32768

/**
 * struct rfm_verify - what stands in the memory of every node? (RFM_IOC_VERIFY)
 * @offset: in the memory; at the other nodes the same address
 * @length: 1..RFM_VERIFY_MAX bytes, within the memory
 * @timeout_ms: 1..60000; 0 = 1000
 * @flags: out: RFM_FENCED_*, as of RFM_IOC_FENCE: with 0 every node that is on the
 *	ring and is able to has answered, and all that this machine had stored before
 *	the call is in what they have answered for
 * @node: out: this node
 * @lost: out: as of RFM_IOC_FENCE
 * @epoch: out: counts changes of the ring's membership
 * @pad: 0
 * @reserved: 0
 * @answer: out: by node id, this node's among them
 *
 * Each node answers for the moment at which the question comes by; where others
 * store meanwhile the answers differ.
 *
 * EINVAL: a range outside the memory, or too long. ETIMEDOUT: it has not come
 * round in time; EINTR: a signal was handled. ENOBUFS: nothing was asked, as the
 * card's queue is full of what waits for the ring. Needs a descriptor open for
 * reading and writing (EBADF). EOPNOTSUPP: no extension block, or one without
 * queries.
 */
struct rfm_verify {
	__u64 offset;
	__u32 length;
	__u32 timeout_ms;
	__u32 flags;
	__u32 node;
	__u64 lost;
	__u32 epoch;
	__u32 pad;
	__u64 reserved[2];
	struct rfm_node_answer answer[256];
};

enum rfm_reg_set {
	RFM_REGS_RUNTIME	= 0,	/* BAR0: bridge, DMA, interrupt enable; 0x000..0x1ff */
	RFM_REGS_CONTROL	= 1	/* BAR2: the ring's; 0x00..0x3f */
};

/* Each has a page of its own in the file, of which mmap() takes no more and no less. */
#define RFM_MAP_RUNTIME		0x100000000ull
#define RFM_MAP_CONTROL		0x200000000ull

/**
 * struct rfm_reg - read, write, or change a register of the 5565 (RFM_IOC_REG)
 * @set: enum rfm_reg_set
 * @offset: a multiple of @width, below 0x200 or 0x40, or the size of the BAR if that
 *	is smaller
 * @width: 1, 2 or 4 bytes: of one access each to read and to write
 * @mask: bits to be changed. 0: it is not written; all of @width: it is not read before
 * @value: to what, within @mask. The other bits are written as they were read
 * @before: out: what was read; 0 if nothing was
 * @reserved: 0
 *
 * The driver does nothing to the register meanwhile, nor does another such call. It
 * goes on to use all of them as before, and knows the byte swaps and the window that
 * this call sets, under whatever users; nobody is told of them. What is written to a
 * mapping of the registers it does not know.
 *
 * EINVAL: a register, width, mask or value that cannot be; nothing is done. Needs a
 * descriptor open for reading and writing (EBADF) and CAP_SYS_RAWIO, and a kernel that
 * is not locked down (EPERM), as the mapping does: registers make the card write to any
 * memory of this machine, and reading one may take something out of it.
 */
struct rfm_reg {
	__u32 set;
	__u32 offset;
	__u32 width;
	__u32 mask;
	__u32 value;
	__u32 before;
	__u64 reserved;
};

/**
 * struct rfm_event_counts - how many events there were (RFM_IOC_EVENT_COUNTS)
 * @count: out: by enum rfm_event_type, those that the driver has taken from the card
 *	since it was bound to it, whoever heard of them; 0 of RFM_EVENT_WATCHED and
 *	DROPPED
 *
 * An interrupt, a reset request and RX_ALMOST_FULL is taken while somebody listens for
 * it; all else always, though some of those that nobody listens for may count as one.
 * Nothing sets them back: who wants to count from here remembers what they were.
 *
 * Needs a descriptor open for reading (EBADF).
 */
struct rfm_event_counts {
	__u64 count[32];
};

/* --- operations at one node: they need RFM_EXT_FEATURE_REMOTE (EOPNOTSUPP) ----- */

enum rfm_op {
	RFM_OP_READ	= 1,	/* @length bytes from there to @data */
	RFM_OP_WRITE	= 2,	/* @length bytes of @data to there, and to no other node */
	RFM_OP_CAS	= 3,	/* the word becomes @value if it is @compare */
	RFM_OP_ADD	= 4,	/* @value is added to the word */
	RFM_OP_SEND	= 6	/* @length bytes of @data are a message to port @key */
};

#define RFM_OP_MAX		0x100000u	/* bytes of one operation */
#define RFM_OP_MS_MAX	60000

/**
 * struct rfm_operation - an operation at one node (RFM_IOC_REMOTE)
 * @op: enum rfm_op
 * @node: where, 0..255; may be this node
 * @width: CAS, ADD: bytes of the word, 4 or 8; others 0
 * @key: 0: the node's reflective memory; else of a region there (RFM_IOC_REGION). SEND:
 *	the port, 0..65535
 * @offset: of the first byte there; CAS, ADD: a multiple of @width, and in a region so is
 *	the address that it begins at; SEND: 0
 * @data: address of the bytes; CAS, ADD: 0
 * @length: 1..RFM_OP_MAX; CAS, ADD: 0
 * @timeout_ms: 1..RFM_OP_MS_MAX, also for its turn at the card; 0: until it ends by itself,
 *	in some seconds from its turn on
 * @compare: CAS: what the word must be; others 0
 * @value: CAS, ADD; within @width; others 0
 * @old: out: CAS, ADD: what the word was
 * @reserved: 0
 *
 * All that this machine has stored before is in the node's memory before the operation
 * is done there. A word that is aligned is not torn. CAS and ADD on reflective memory
 * are stores of the node to all others, and are in this card's memory when the call
 * returns; the node must be home of the word (RFM_IOC_EXPORT there). CAS and ADD on a region,
 * and atomic instructions of the machine there, keep each other out; plain stores to the word
 * are not kept out, by either memory. A message comes whole
 * or not at all, and those of one node to a port come in their order; the call returns
 * when it is in the queue there.
 *
 * EHOSTUNREACH: there is no such node on the ring. EACCES: that node does not allow it
 * there, has no such key, or is not home of the word. EBUSY: it stands still, or had no
 * room all the time: not done. ECONNREFUSED: nobody listens at that port. EMSGSIZE: the
 * message is longer than its listener takes. ENOLINK: this node is off the ring: not done.
 * EREMOTEIO: done, once, or not: nobody here knows, as that node has left the ring or begun
 * anew, or this machine has moved to another host. ETIMEDOUT: the same, after @timeout_ms.
 * EINTR: a signal came, READ or WRITE, or nothing was begun yet: only a kill ends a CAS, ADD
 * or SEND that was, and after 5 s each ends by itself. EINVAL: a field that cannot be, or
 * there: not all of it is in the memory, or the word not aligned. EIO: the card cannot reach
 * this machine's memory. ENOMEM: nothing was begun. After an error some bytes may have been
 * read or written.
 *
 * READ needs a descriptor that is open for reading, all others one for writing (EBADF).
 *
 * The same as a command of io_uring: IORING_OP_URING_CMD on the descriptor, cmd_op
 * RFM_IOC_REMOTE, and in the entry's command the address of the structure, which, as
 * the data, must stay until the completion, whose result is that of the call. Its @timeout_ms
 * is 0 (EINVAL): it ends by itself, and cannot be cancelled. If all of the card's slots for
 * such are taken, a worker of io_uring waits for one. ECANCELED: the task that submitted it
 * was ending; the operation was done or not.
 */
struct rfm_operation {
	__u32 op;
	__u32 node;
	__u32 width;
	__u32 key;
	__u64 offset;
	__u64 data;
	__u32 length;
	__u32 timeout_ms;
	__u64 compare;
	__u64 value;
	__u64 old;
	__u64 reserved[2];
};

#define RFM_RESYNCED_DOUBTFUL	0x1u	/* something got lost meanwhile: once more */

/**
 * struct rfm_resync_wait - make the memory what that of a complete node is (RFM_IOC_RESYNC)
 * @node: who gives, 0..255; RFM_NODE_ALL: the nearest node that is complete. This node: nothing
 *	is got, its memory is right as it is; of a ring of which every node is incomplete, one
 *	may say so
 * @timeout_ms: 0: as long as it takes
 * @flags: out: RFM_RESYNCED_*
 * @donor: out: who gave
 * @bytes: out: how many have been got: all of the memory, or none from this node
 * @reserved: 0
 *
 * While it runs, all go on storing; nothing that anybody stores is lost or undone.
 * RFM_COUNTER_RESYNC_BYTES tells meanwhile how far it is. Errors as RFM_IOC_REMOTE, and
 * EHOSTUNREACH also if no node is complete; EACCES: @node is this one, and another is
 * complete; ENODATA: @node is not complete itself;
 * EALREADY: one is under way; ETIMEDOUT, EINTR: the time or a signal ended it, and what is
 * right by then stays so.
 * Needs a descriptor open for writing (EBADF).
 */
struct rfm_resync_wait {
	__u32 node;
	__u32 timeout_ms;
	__u32 flags;
	__u32 donor;
	__u64 bytes;
	__u64 reserved[2];
};

#define RFM_PORT_NONBLOCK	0x1u	/* as O_NONBLOCK */
#define RFM_PORT_CLOEXEC	0x2u	/* as O_CLOEXEC */
#define RFM_PORT_FLAGS		0x3u

#define RFM_PORTS		65536u
#define RFM_PORT_DEPTH_DEFAULT	16
#define RFM_PORT_DEPTH_MAX	1024
#define RFM_PORT_LENGTH_DEFAULT	65536

/**
 * struct rfm_port_listen - take messages (RFM_IOC_PORT)
 * @port: below RFM_PORTS
 * @flags: RFM_PORT_*
 * @depth: messages that may wait to be read, 1..RFM_PORT_DEPTH_MAX;
 *	0 = RFM_PORT_DEPTH_DEFAULT
 * @length_max: bytes of the longest message that is taken, 1..RFM_OP_MAX;
 *	0 = RFM_PORT_LENGTH_DEFAULT
 * @header_size: bytes of struct rfm_message_header as the caller knows it, a multiple of 8, at
 *	least RFM_MESSAGE_SIZE_VER0; 0 = RFM_MESSAGE_SIZE_VER0
 * @pad: 0
 * @reserved: 0
 *
 * Returns a new descriptor of which each read() gives one message: @header_size bytes of
 * struct rfm_message_header and then the message. EMSGSIZE: the buffer is too short for both, and
 * the message stays. poll() tells that there is one. While @depth messages wait, senders
 * do, and after some seconds are told EBUSY; nothing is dropped. Those that have not been
 * read when the descriptor is closed are. read() answers, once nothing waits: ENODEV the
 * card is gone; EIO it could not reach this machine's memory, and nobody listens any more.
 *
 * Needs a descriptor open for reading (EBADF). EADDRINUSE: somebody listens at that port.
 * ENOSPC: at too many, 64 a card; or the queues of its ports, @depth times @length_max, would
 * hold more than 128 MiB. EREMOTEIO: this machine has just moved to another host: once more.
 */
struct rfm_port_listen {
	__u32 port;
	__u32 flags;
	__u32 depth;
	__u32 length_max;
	__u32 header_size;
	__u32 pad;
	__u64 reserved[2];
};

#define RFM_MESSAGE_SIZE_VER0	32	/* bytes of the first struct rfm_message_header */

/**
 * struct rfm_message_header - what a message begins with
 * @node: who has sent it
 * @length: its bytes, which follow
 * @seq: counts the messages of this descriptor from 1
 * @time_ns: CLOCK_MONOTONIC of this machine when the driver took it
 * @reserved: 0
 */
struct rfm_message_header {
	__u32 node;
	__u32 length;
	__u64 seq;
	__u64 time_ns;
	__u64 reserved;
};

#define RFM_MEMORY_READ		0x01u	/* others may READ */
#define RFM_MEMORY_WRITE	0x02u	/* WRITE */
#define RFM_MEMORY_CHANGE	0x04u	/* CAS, ADD */
#define RFM_MEMORY_RIGHTS	0x07u
#define RFM_MEMORY_WATCH	0x08u	/* a change by another node makes a record WRITTEN */
#define RFM_MEMORY_NONBLOCK	0x10u	/* as O_NONBLOCK */
#define RFM_MEMORY_CLOEXEC	0x20u	/* as O_CLOEXEC */
#define RFM_MEMORY_FLAGS	0x3fu

#define RFM_MEMORY_REGION_MAX		(64u << 20)	/* bytes */

/**
 * struct rfm_memory_region - let other nodes at memory of this process (RFM_IOC_REGION)
 * @address: of its first byte
 * @length: 1..RFM_MEMORY_REGION_MAX
 * @flags: RFM_MEMORY_*, at least one of RFM_MEMORY_RIGHTS
 * @depth: records that the queue holds, 1..RFM_LISTEN_DEPTH_MAX; 0 =
 *	RFM_LISTEN_DEPTH_DEFAULT; without RFM_MEMORY_WATCH 0
 * @record_size: as of struct rfm_listen
 * @pad: 0
 * @key: out: what others name it by in RFM_IOC_REMOTE; no other has it, nor will
 *	soon. It is random, and no secret from a node that tries all
 * @reserved: 0
 *
 * Returns a new descriptor. Until its last close, and no longer, other nodes can do
 * what @flags allow with the memory: the pages that are there now are kept, and count
 * against RLIMIT_MEMLOCK (ENOBUFS). What the process maps there later, others do not see.
 * With RFM_MEMORY_WATCH it delivers struct rfm_event by read() and poll(), as that of
 * RFM_IOC_LISTEN does: of each WRITE, of which a long one comes in parts of about 2 KiB, and
 * of each CAS or ADD that changes a word. It ends as that does, and
 * EIO also if the card could not reach this machine's memory.
 *
 * Needs a descriptor open for reading and writing (EBADF). EFAULT: not all of it can
 * be had. ENOSPC: the card has no more of them than 64, or the queues hold too much. EIO: the
 * card cannot reach this machine's memory, or, with RFM_MEMORY_WATCH, no longer write its
 * events. ENOMEM. EOPNOTSUPP: also if the kernel has the card work on copies of the memory, as
 * without an IOMMU for a card that does not reach all of it. EREMOTEIO: as of RFM_IOC_PORT.
 */
struct rfm_memory_region {
	__u64 address;
	__u64 length;
	__u32 flags;
	__u32 depth;
	__u32 record_size;
	__u32 pad;
	__u32 key;
	__u32 pad2;
	__u64 reserved[2];
};

#define RFM_EXPORT_READ		0x1u	/* READ */
#define RFM_EXPORT_WRITE	0x2u	/* WRITE */
#define RFM_EXPORT_HOME		0x4u	/* CAS, ADD: this node is the home of these words */
#define RFM_EXPORT_RIGHTS	0x7u

/**
 * struct rfm_export - allow operations on reflective memory of this card (RFM_IOC_EXPORT)
 * @range: rounded outwards to granules of 64 bytes
 * @rights: RFM_EXPORT_*, what this file allows there from now on, in place of what it did; 0:
 *	nothing
 * @pad: 0
 * @reserved: 0
 *
 * As subscriptions, exports belong to the open file, and end with its last close. What
 * the card allows is the union of all files; at first there is nothing. One node alone
 * should be home of a word; its own operations need the same rights.
 *
 * Needs a descriptor open for writing (EBADF). ENOSPC, EUSERS, EIO as of
 * RFM_IOC_SUBSCRIBE; nothing has changed then.
 */
struct rfm_export {
	struct rfm_range range;
	__u32 rights;
	__u32 pad;
	__u64 reserved[2];
};

#define RFM_IOC_MAGIC		0xF5

#define RFM_IOC_INFO		_IOR(RFM_IOC_MAGIC, 0x00, struct rfm_info)
#define RFM_IOC_SEND		_IOW(RFM_IOC_MAGIC, 0x01, struct rfm_send)
#define RFM_IOC_LISTEN		_IOW(RFM_IOC_MAGIC, 0x02, struct rfm_listen)
#define RFM_IOC_RING_TEST	_IOWR(RFM_IOC_MAGIC, 0x03, struct rfm_ring_test)
#define RFM_IOC_SUBSCRIBE	_IOWR(RFM_IOC_MAGIC, 0x04, struct rfm_subscribe)
#define RFM_IOC_UNSUBSCRIBE	_IOWR(RFM_IOC_MAGIC, 0x05, struct rfm_subscribe)
#define RFM_IOC_WATCH		_IOW(RFM_IOC_MAGIC, 0x06, struct rfm_watch)
#define RFM_IOC_FENCE		_IOWR(RFM_IOC_MAGIC, 0x07, struct rfm_fence_wait)
#define RFM_IOC_SEND_SET	_IOW(RFM_IOC_MAGIC, 0x08, struct rfm_send_set)
#define RFM_IOC_GET_CONFIG	_IOR(RFM_IOC_MAGIC, 0x09, struct rfm_config)
#define RFM_IOC_SET_CONFIG	_IOW(RFM_IOC_MAGIC, 0x0a, struct rfm_config)
#define RFM_IOC_WRITER		_IOWR(RFM_IOC_MAGIC, 0x0b, struct rfm_writer)
#define RFM_IOC_COUNTERS	_IOR(RFM_IOC_MAGIC, 0x0c, struct rfm_counters)
#define RFM_IOC_RING_MAP	_IOWR(RFM_IOC_MAGIC, 0x0d, struct rfm_ring_map)
#define RFM_IOC_VERIFY		_IOWR(RFM_IOC_MAGIC, 0x0e, struct rfm_verify)
#define RFM_IOC_REG		_IOWR(RFM_IOC_MAGIC, 0x0f, struct rfm_reg)
#define RFM_IOC_EVENT_COUNTS	_IOR(RFM_IOC_MAGIC, 0x10, struct rfm_event_counts)
#define RFM_IOC_REMOTE		_IOWR(RFM_IOC_MAGIC, 0x11, struct rfm_operation)
#define RFM_IOC_RESYNC		_IOWR(RFM_IOC_MAGIC, 0x12, struct rfm_resync_wait)
#define RFM_IOC_PORT		_IOW(RFM_IOC_MAGIC, 0x13, struct rfm_port_listen)
#define RFM_IOC_REGION		_IOWR(RFM_IOC_MAGIC, 0x14, struct rfm_memory_region)
#define RFM_IOC_EXPORT		_IOW(RFM_IOC_MAGIC, 0x15, struct rfm_export)

#endif /* _UAPI_LINUX_RFM_H */
