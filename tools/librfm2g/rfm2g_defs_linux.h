/* SPDX-License-Identifier: MIT */
/* What the RFM2g API has on Linux only. */
#ifndef RFM2G_DEFS_LINUX_H
#define RFM2G_DEFS_LINUX_H

#include "rfm2g_defs.h"

/* Or'ed into the offset of RFM2gUserMemory(). */
#define RFM2G_DMA_MMAP_OFFSET	1
#define RFM2G_BAR0_MMAP_OFFSET	2
#define RFM2G_BAR2_MMAP_OFFSET	4

/* The queue that the driver has for each event: RFM2gGetEventStats(). */
typedef struct rfm2gQInfo {
	RFM2G_UINT8 Event;		/* in: which */
	RFM2G_BOOL Overflowed;
	RFM2G_UINT8 QueuePeak;
	RFM2G_UINT8 reserved;
	RFM2G_UINT32 EventCount;
	RFM2G_UINT32 EventsQueued;
	RFM2G_UINT32 QueueSize;
	RFM2G_UINT32 MaxQueueSize;
	RFM2G_UINT32 EventTimeout;
} RFM2GQINFO, *PRFM2GQINFO;

#define QFLAG_HALF_FULL		1
#define QFLAG_OVERFLOWED	2
#define QFLAG_DEQUEUED		4

/* Structures of the vendor's driver, which programs do not need. */
typedef struct rfm2gAtomic {
	RFM2G_UINT64 data;
	RFM2G_UINT32 offset;
	RFM2G_UINT8 width;
	RFM2G_UINT8 spare[3];
} RFM2GATOMIC;

typedef struct rfm2gTransfer {
	RFM2G_UINT32 Offset;
	RFM2G_UINT32 Length;
	void *Buffer;
} RFM2GTRANSFER;

typedef struct rfm2gLinuxRegInfo {
	RFM2GREGSETTYPE regset;
	RFM2G_UINT32 Offset;
	RFM2G_UINT32 Width;
	RFM2G_UINT32 Value;
} RFM2GLINUXREGINFO;

/* An open board. Programs are known that look at Config; the rest is the library's. */
typedef struct rfm2ghandle_s {
	int fd;				/* of the card; -1: there is none */
	RFM2GCONFIG Config;
	RFM2G_UINT32 struct_id;
} rfm2ghandle_t, *RFM2GHANDLE;

#endif
