/* SPDX-License-Identifier: GPL-2.0-only */
/* What foreign.ko offers to foreign_test: /dev/foreignN, N the card's node id. */
#ifndef FOREIGN_H
#define FOREIGN_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The types of events, in the order of the vendor's API. */
#define FOREIGN_RESET		0
#define FOREIGN_INT1		1
#define FOREIGN_INT4		4
#define FOREIGN_TYPES		12

#define FOREIGN_ALL_NODES	0xffff

struct foreign_info {
	__u64 memory_size;
	__u64 window_size;
	__u32 node;
	__u32 interrupts;	/* served so far */
};

struct foreign_send {
	__u32 node;
	__u32 type;
	__u32 data;
};

/* ETIMEDOUT if none came. The type has been enabled before. */
struct foreign_event {
	__u32 type;
	__u32 timeout_ms;
	__u32 node;		/* out */
	__u32 data;		/* out */
};

/* Between the beginning of the buffer and the card's memory; ETIMEDOUT */
struct foreign_dma {
	__u32 offset;
	__u32 length;
	__u32 to_host;
	__u32 poll;		/* else it waits for the interrupt */
	__u32 timeout_ms;
};

#define FOREIGN_GET_INFO	_IOR('F', 0, struct foreign_info)
#define FOREIGN_ENABLE		_IO('F', 1)		/* a type */
#define FOREIGN_SEND		_IOW('F', 2, struct foreign_send)
#define FOREIGN_WAIT		_IOWR('F', 3, struct foreign_event)
#define FOREIGN_DMA		_IOW('F', 4, struct foreign_dma)
#define FOREIGN_RING		_IO('F', 5)		/* ETIMEDOUT if it is open */
#define FOREIGN_CLEAR		_IO('F', 6)		/* a type: what came so far is forgotten */

/* mmap(): the card's memory at 0; its buffer for DMA: */
#define FOREIGN_BUFFER_AT	0x40000000ul
#define FOREIGN_BUFFER_SIZE	0x100000ul

#endif /* FOREIGN_H */
