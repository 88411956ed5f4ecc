/* SPDX-License-Identifier: MIT */
/* Constants and structures of the RFM2g API that every system has. */
#ifndef RFM2G_DEFS_H
#define RFM2G_DEFS_H

#include "rfm2g_types.h"
#include "rfm2g_errno.h"

/* What the functions are declared with. */
#define STDRFM2GCALL		RFM2G_STATUS

#define RFM2G_DISABLE		RFM2G_FALSE
#define RFM2G_ENABLE		RFM2G_TRUE
#define RFM2G_OFF		RFM2G_FALSE
#define RFM2G_ON		RFM2G_TRUE

#define RFM2G_NODE_MIN		0
#define RFM2G_NODE_MAX		255
#define RFM2G_NODE_SPECIAL_MIN	0xFFFE
#define RFM2G_NODE_UNKNOWN	0xFFFE
#define RFM2G_NODE_ALL		0xFFFF
#define RFM2G_NODE_SPECIAL_MAX	0xFFFF

/* Of RFM2GEVENTINFO.Timeout, which is in ms. */
#define RFM2G_NO_WAIT		0u
#define RFM2G_INFINITE_TIMEOUT	0xFFFFFFFFu

typedef enum rfm2gEventType {
	RFM2GEVENT_RESET		= 0,	/* another node asks this one to reset */
	RFM2GEVENT_INTR1		= 1,	/* network interrupts */
	RFM2GEVENT_INTR2		= 2,
	RFM2GEVENT_INTR3		= 3,
	RFM2GEVENT_INTR4		= 4,
	RFM2GEVENT_BAD_DATA		= 5,
	RFM2GEVENT_RXFIFO_FULL		= 6,
	RFM2GEVENT_ROGUE_PKT		= 7,
	RFM2GEVENT_RXFIFO_AFULL		= 8,
	RFM2GEVENT_SYNC_LOSS		= 9,
	RFM2GEVENT_MEM_WRITE_INHIBITED	= 10,
	RFM2GEVENT_LOCAL_MEM_PARITY_ERR	= 11,
	RFM2GEVENT_LAST			= 12	/* not an event; where calls that clear allow it: all */
} RFM2GEVENTTYPE;

#define RFM2GEVENT_FIFO_AF	RFM2GEVENT_RXFIFO_AFULL

/* Registers and memory of a card, by the PCI regions they are in. */
typedef enum rfm2gRegSetType {
	RFM2GCFGREGMEM		= 0,	/* BAR0 */
	RFM2GCFGREGIO		= 1,
	RFM2GCTRLREGMEM		= 2,	/* BAR2 */
	RFM2GMEM		= 3,	/* BAR3 */
	RFM2GRESERVED0REG	= 4,
	RFM2GRESERVED1REG	= 5
} RFM2GREGSETTYPE;

typedef enum rfm2gMemWindowType {
	RFM2G_MEM_OFFSET0 = 0,
	RFM2G_MEM_OFFSET1 = 1,	/* 64 MiB */
	RFM2G_MEM_OFFSET2 = 2,
	RFM2G_MEM_OFFSET3 = 3
} RFM2G_MEM_OFFSETTYPE;

typedef struct rfm2gPciConfig {
	RFM2G_UINT32 rfm2gOrWindowSize;	/* BAR0 */
	RFM2G_UINT32 rfm2gOrRegSize;
	RFM2G_UINT32 rfm2gCsWindowSize;	/* BAR2 */
	RFM2G_UINT32 rfm2gCsRegSize;
	RFM2G_UINT32 rfm2gWindowSize;	/* BAR3 */
	RFM2G_UINT32 devfn;
	RFM2G_UINT16 type;
	RFM2G_UINT8 interruptNumber;
	RFM2G_UINT8 bus;
	RFM2G_UINT8 function;
	RFM2G_UINT8 revision;
	RFM2G_UINT32 rfm2gBase;		/* BAR3 */
	RFM2G_UINT32 rfm2gCsBase;	/* BAR2 */
	RFM2G_UINT32 rfm2gOrBase;	/* BAR0 */
} RFM2GPCICONFIG;

typedef struct RFM2GCONFIG_ {
	RFM2G_NODE NodeId;
	RFM2G_UINT8 BoardId;		/* 0x65 */
	RFM2G_UINT8 Unit;
	RFM2G_UINT8 PlxRevision;
	RFM2G_UINT32 MemorySize;	/* bytes */
	char Device[128];
	char Name[32];
	char DriverVersion[16];
	RFM2G_UINT8 BoardRevision;
	RFM2G_UINT8 RevisionId;
	RFM2G_UINT32 Lcsr1;
	RFM2GPCICONFIG PciConfig;
	RFM2G_UINT16 BuildId;
} RFM2GCONFIG;

typedef struct rfm2gEventInfo {
	RFM2G_UINT32 ExtendedInfo;	/* the 32 bits that came with it */
	RFM2GEVENTTYPE Event;
	RFM2G_UINT32 Timeout;		/* ms */
	RFM2G_NODE NodeId;		/* who has sent it */
	void *pDrvSpec;
} RFM2GEVENTINFO;

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

#endif
