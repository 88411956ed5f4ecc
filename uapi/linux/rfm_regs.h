/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Registers of the 5565 reflective-memory card (VMIC / GE / Abaco), PIORC
 * generation, as the driver and the device model both see them.
 *
 * This is the only place where these numbers stand. Source of every value,
 * unless a line says otherwise: the vendor's hardware manual for the
 * PCI(E)-5565PIORC; the tables are named in docs/card.md. "Own choice" marks
 * what the manual leaves open.
 *
 * All registers are little-endian. Names ending in _M are masks.
 */
#ifndef _UAPI_LINUX_RFM_REGS_H
#define _UAPI_LINUX_RFM_REGS_H

/* --- PCI identity ------------------------------------------------------- */

#define RFM_PCI_VENDOR_ID		0x114a
#define RFM_PCI_DEVICE_ID		0x5565
#define RFM_PCI_SUBVENDOR_ID		0x1556	/* PIORC: ids of the PCI core */
#define RFM_PCI_SUBDEVICE_ID		0x0080
#define RFM_PCI_CLASS			0x0280	/* network, other */
#define RFM_PCI_REVISION		0x01	/* own choice: not published */

#define RFM_BAR_RUNTIME			0	/* bridge, DMA, interrupt enable */
#define RFM_BAR_RUNTIME_IO		1	/* I/O alias of BAR0 0x00..0xff */
#define RFM_BAR_CONTROL			2	/* the reflective-memory registers */
#define RFM_BAR_MEMORY			3	/* the reflected memory */

#define RFM_BAR_RUNTIME_SIZE		0x200	/* own choice: manual contradicts itself */
#define RFM_BAR_RUNTIME_IO_SIZE		0x100
#define RFM_BAR_CONTROL_SIZE		0x40

/* --- BAR0: bridge ------------------------------------------------------- */

#define RFM_MARBR			0x08
#define RFM_INTCSR			0x68
#define RFM_CNTRL			0x6c
#define RFM_PCIHREV			0x74
#define RFM_DMAMODE0			0x80
#define RFM_DMADPR0			0x90
#define RFM_DMACSR0			0xa8
#define RFM_MARBR_ALIAS			0xac
#define RFM_LAS1RR			0xf0
#define RFM_LAS1BA			0xf4

#define RFM_INTCSR_PCI_ENABLE		0x00000100u	/* master enable, reset 1 */
#define RFM_INTCSR_LOCAL_ENABLE		0x00000800u	/* BAR2 interrupts */
#define RFM_INTCSR_LOCAL_ACTIVE		0x00008000u	/* read-only, ungated */
#define RFM_INTCSR_DMA0_ENABLE		0x00040000u
#define RFM_INTCSR_DMA0_ACTIVE		0x00200000u	/* read-only, ungated */
#define RFM_INTCSR_RESET		0x0f010100u

#define RFM_MARBR_RESET			0x02040000u
#define RFM_MARBR_DELAYED_READ		0x01000000u
#define RFM_PCIHREV_PIORC		0xc0
#define RFM_DMAMODE0_RESET		0x00020583u
#define RFM_DMADPR0_RESET		0x00000001u
#define RFM_DMACSR0_DONE		0x10
#define RFM_LAS1BA_ENABLE		0x00000001u	/* always reads 1 */
#define RFM_LAS1BA_REMAP_M		0x0fe00000u

/* --- BAR2: reflective memory -------------------------------------------- */

#define RFM_BRV				0x00	/* board revision, 8 bit */
#define RFM_BID				0x01	/* board id, 8 bit */
#define RFM_BRB				0x02	/* build, 16 bit */
#define RFM_NID				0x04	/* node id, 8 bit */
#define RFM_LCSR1			0x08
#define RFM_LISR			0x10
#define RFM_LIER			0x14
#define RFM_NTD				0x18	/* data of the next network interrupt */
#define RFM_NTN				0x1c	/* its target node, 8 bit */
#define RFM_NIC				0x1d	/* its kind, 8 bit; a write sends it */
#define RFM_ISD(n)			(0x20 + 8 * ((n) - 1))	/* data FIFO, n = 1..4 */
#define RFM_SID(n)			(0x24 + 8 * ((n) - 1))	/* sender FIFO; a read pops both */

#define RFM_BRV_SLIDING_WINDOW		0x8c	/* from this revision on LAS1xx exist */
#define RFM_BID_5565			0x65
#define RFM_FIFO_DEPTH			127	/* entries of each ISD/SID pair */
#define RFM_FIFOS			4

#define RFM_LCSR1_LED			0x80000000u	/* red status LED, reset 1 */
#define RFM_LCSR1_TX_DISABLE		0x40000000u
#define RFM_LCSR1_DARK_ON_DARK		0x20000000u
#define RFM_LCSR1_LOOPBACK		0x10000000u
#define RFM_LCSR1_PARITY		0x08000000u
#define RFM_LCSR1_REDUNDANT		0x04000000u
#define RFM_LCSR1_ROGUE_MASTER1		0x02000000u
#define RFM_LCSR1_ROGUE_MASTER0		0x01000000u
#define RFM_LCSR1_WINDOW1		0x00400000u	/* {1,0}: 00 full, 01 64M, 10 16M, 11 2M */
#define RFM_LCSR1_MEMSIZE_SHIFT		20		/* 0, 1, 2: 64, 128, 256 MiB */
#define RFM_LCSR1_MEMSIZE_M		0x00300000u
#define RFM_LCSR1_WINDOW0		0x00080000u
#define RFM_LCSR1_DELAYED_TX		0x00040000u
#define RFM_LCSR1_OFFSET_SHIFT		16		/* steps of 64 MiB */
#define RFM_LCSR1_OFFSET_M		0x00030000u
#define RFM_LCSR1_TX_EMPTY		0x00000080u	/* live */
#define RFM_LCSR1_TX_ALMOST_FULL	0x00000040u	/* live */
#define RFM_LCSR1_RX_FULL		0x00000020u	/* latched, cleared by LISR[10] */
#define RFM_LCSR1_RX_ALMOST_FULL	0x00000010u	/* latched, cleared by LISR[9] */
#define RFM_LCSR1_SYNC_LOSS		0x00000008u	/* latched, cleared by LISR[11] */
#define RFM_LCSR1_SIGNAL		0x00000004u	/* live: light on the receiver */
#define RFM_LCSR1_BAD_DATA		0x00000002u	/* latched, cleared by LISR[8] */
#define RFM_LCSR1_OWN_DATA		0x00000001u	/* own packet came back; 0 clears */

#define RFM_LISR_AUTO_CLEAR		0x8000u	/* copy of LIER[15] */
#define RFM_LISR_GLOBAL_ENABLE		0x4000u
#define RFM_LISR_PARITY			0x2000u
#define RFM_LISR_WRITE_INHIBITED	0x1000u
#define RFM_LISR_SYNC_LOSS		0x0800u
#define RFM_LISR_RX_FULL		0x0400u
#define RFM_LISR_RX_ALMOST_FULL		0x0200u
#define RFM_LISR_BAD_DATA		0x0100u
#define RFM_LISR_INT4			0x0080u	/* level: FIFO 4 holds something */
#define RFM_LISR_ROGUE			0x0040u
#define RFM_LISR_TX_FULL		0x0020u
#define RFM_LISR_RESET_REQ		0x0008u
#define RFM_LISR_INT3			0x0004u
#define RFM_LISR_INT2			0x0002u
#define RFM_LISR_INT1			0x0001u
#define RFM_LISR_LATCHED_M		0x3f68u	/* write 0 clears, once read as 1 */
#define RFM_LISR_LEVEL_M		0x0087u
#define RFM_LISR_SOURCES_M		0x3fefu	/* what can interrupt */
#define RFM_LISR_INT(n)			((n) == 4 ? RFM_LISR_INT4 : 1u << ((n) - 1))

#define RFM_LIER_AUTO_CLEAR		0x8000u	/* reading LISR clears its bit 14 */
#define RFM_LIER_M			0xbfefu

#define RFM_NIC_RESET			0x0
#define RFM_NIC_INT1			0x1
#define RFM_NIC_INT2			0x2
#define RFM_NIC_INT3			0x3
#define RFM_NIC_INT4			0x7
#define RFM_NIC_TYPE_M			0x7
#define RFM_NIC_GLOBAL			0x8	/* to every other node */
#define RFM_NIC_PROBE			0x4	/* reserved kind: only sets the sender's OWN DATA */

#endif /* _UAPI_LINUX_RFM_REGS_H */
