/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Interface of /dev/rfmN, one reflective-memory card.
 *
 * The memory itself needs no call: mmap() it (MAP_SHARED, never PROT_EXEC;
 * file offset = offset in the reflected memory), or use pread()/pwrite().
 * Loads are local. Stores go to every node of the ring, in program order.
 *
 * Rules for every structure here: padding is explicit, reserved
 * fields must be 0 (EINVAL otherwise) and 64-bit fields are aligned to 8
 * bytes, so that 32-bit programs use the same layout. A structure may grow
 * at its end only; then it gets a new ioctl number by its size.
 *
 * Errors common to all calls: ENODEV the card is gone (unplugged, driver
 * unbound), EFAULT bad pointer, ENOTTY unknown ioctl, EINVAL a reserved
 * field or an unknown flag is set.
 */
#ifndef _UAPI_LINUX_RFM_H
#define _UAPI_LINUX_RFM_H

#include <linux/ioctl.h>
#include <linux/types.h>

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
 * @lcsr1: the LCSR1 register as it reads now (RFM_LCSR1_* in rfm_regs.h)
 * @lisr: latched status bits seen since the driver was bound (RFM_LISR_*);
 *	the driver clears the card's latches as it serves them, this field
 *	remembers them
 * @features: RFM_FEATURE_* bits, 0 on a base card
 * @pci_name: PCI address of the card, "0000:01:00.0", zero-terminated
 * @irqs: interrupts served since the driver was bound
 * @sync_losses: how often the receiver has lost its signal since then, as
 *	far as interrupts told
 * @reserved: 0
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
	__u64 reserved[4];
};

/* Kinds of events. The first five can be sent; the others are only heard. */
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
	RFM_EVENT_TYPES		= 13
};

#define RFM_EVENT_BIT(type)	(1u << (type))
#define RFM_EVENT_ALL		(RFM_EVENT_BIT(RFM_EVENT_TYPES) - 1)
#define RFM_EVENT_SENDABLE	0x1fu

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
#define RFM_LISTEN_FLAGS	0x7u

#define RFM_LISTEN_DEPTH_DEFAULT 256
#define RFM_LISTEN_DEPTH_MAX	65536

/**
 * struct rfm_listen - hear events (RFM_IOC_LISTEN)
 * @types: mask of RFM_EVENT_BIT(), not 0
 * @flags: RFM_LISTEN_*
 * @depth: events the queue holds, 1..RFM_LISTEN_DEPTH_MAX;
 *	0 = RFM_LISTEN_DEPTH_DEFAULT
 * @reserved: 0
 *
 * Returns a new descriptor that delivers struct rfm_event records by read()
 * and poll(). Each listener has a queue of its own; when it is full, new
 * events are dropped and counted (@dropped of the next record, and a gap in
 * @seq). Interrupts that arrive while nobody listens for their type wait in
 * the card, up to 127 a type, for the first listener. read() with a buffer
 * smaller than one record is EINVAL; it returns whole records only. The call
 * needs a descriptor open for reading (EBADF).
 */
struct rfm_listen {
	__u32 types;
	__u32 flags;
	__u32 depth;
	__u32 reserved;
};

/**
 * struct rfm_event - one event
 * @type: enum rfm_event_type
 * @node: sender for RFM_EVENT_INT1..4, otherwise RFM_NODE_ALL (unknown)
 * @data: the 32 bits sent with it, 0 where there are none
 * @reserved: 0
 * @seq: counts the events of this listener from 1, dropped ones included
 * @time_ns: CLOCK_MONOTONIC of this machine when the driver took it
 * @dropped: events this listener has lost so far to a full queue
 */
struct rfm_event {
	__u32 type;
	__u32 node;
	__u32 data;
	__u32 reserved;
	__u64 seq;
	__u64 time_ns;
	__u64 dropped;
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

#define RFM_IOC_MAGIC		0xF5

#define RFM_IOC_INFO		_IOR(RFM_IOC_MAGIC, 0x00, struct rfm_info)
#define RFM_IOC_SEND		_IOW(RFM_IOC_MAGIC, 0x01, struct rfm_send)
#define RFM_IOC_LISTEN		_IOW(RFM_IOC_MAGIC, 0x02, struct rfm_listen)
#define RFM_IOC_RING_TEST	_IOWR(RFM_IOC_MAGIC, 0x03, struct rfm_ring_test)

#endif /* _UAPI_LINUX_RFM_H */
