/* SPDX-License-Identifier: MIT */
/* What the RFM2g API has on Linux only. */
#ifndef RFM2G_DEFS_LINUX_H
#define RFM2G_DEFS_LINUX_H

#include "rfm2g_defs.h"
#include "rfm2g_errno.h"

/* Registers and memory of a card, by the PCI regions they are in. */
typedef enum rfm2gRegSetType {
	RFM2GCFGREGMEM		= 0,	/* BAR0 */
	RFM2GCFGREGIO		= 1,
	RFM2GCTRLREGMEM		= 2,	/* BAR2 */
	RFM2GMEM		= 3,	/* BAR3 */
	RFM2GRESERVED0REG	= 4,
	RFM2GRESERVED1REG	= 5
} RFM2GREGSETTYPE;

/* Or'ed into the offset of RFM2gUserMemory(). */
#define RFM2G_DMA_MMAP_OFFSET	1
#define RFM2G_BAR0_MMAP_OFFSET	2
#define RFM2G_BAR2_MMAP_OFFSET	4

/* The queue that the driver has for each event: RFM2gGetEventStats(). */
typedef struct rfm2gQInfo {
	RFM2G_UINT8 Event;		/* in: which */
	RFM2G_UINT8 Overflowed;
	RFM2G_UINT8 QueuePeak;
	RFM2G_UINT32 EventCount;
	RFM2G_UINT32 EventsQueued;
	RFM2G_UINT32 QueueSize;
	RFM2G_UINT32 MaxQueueSize;
	RFM2G_UINT32 EventTimeout;
} RFM2GQINFO;

#define QFLAG_HALF_FULL		1
#define QFLAG_OVERFLOWED	2
#define QFLAG_DEQUEUED		4

/* Structures of the vendor's driver, which programs do not need. */
typedef struct rfm2gAtomic {
	RFM2G_UINT64 data;
	RFM2G_UINT32 offset;
	RFM2G_UINT8 width;
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

/* RFM2gSetDebugFlags() */
#define RFM2G_DBERROR		0x00000001
#define RFM2G_DBINIT		0x00000002
#define RFM2G_DBINTR		0x00000004
#define RFM2G_DBIOCTL		0x00000008
#define RFM2G_DBMMAP		0x00000010
#define RFM2G_DBOPEN		0x00000020
#define RFM2G_DBCLOSE		0x00000040
#define RFM2G_DBREAD		0x00000080
#define RFM2G_DBWRITE		0x00000100
#define RFM2G_DBPEEK		0x00000200
#define RFM2G_DBPOKE		0x00000400
#define RFM2G_DBSTRAT		0x00000800
#define RFM2G_DBTIMER		0x00001000
#define RFM2G_DBTRACE		0x00002000
#define RFM2G_DBMUTEX		0x00004000
#define RFM2G_DBINTR_NOT	0x00008000
#define RFM2G_DBSLOW		0x00010000
#define RFM2G_DBMINPHYS		0x00020000
#define RFM2G_DBDMA		0x00040000

/* An open board. Programs are known that look at Config; the rest is the library's. */
struct rfm2ghandle_s {
	int fd;				/* of the card; -1: there is none */
	RFM2GCONFIG Config;
	RFM2G_UINT32 struct_id;
};

typedef struct rfm2ghandle_s *RFM2GHANDLE;

#endif
