/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bench for the extension block. The numbers are copied from
 * docs/extension.md and not from the header that device and driver share, so
 * that a wrong number there shows here.
 */
#ifndef RFM5565_BLOCK_H
#define RFM5565_BLOCK_H

#include "rfm5565-lab.h"

/* BAR4 */
enum {
    X_ID            = 0x000,
    X_VERSION       = 0x004,
    X_FEATURES      = 0x008,
    X_CONTROL       = 0x00c,
    X_CLOCK         = 0x010,
    X_DOMAIN        = 0x018,
    X_INT_STATUS    = 0x020,
    X_INT_ENABLE    = 0x024,
    X_COUNT         = 0x028,
    X_TIME          = 0x02c,
    X_BASE          = 0x040,
    X_SIZE          = 0x048,
    X_EVENTS        = 0x04c,
    X_TYPES         = 0x050,
    X_CONSUMER      = 0x054,
    X_PRODUCER      = 0x058,
    X_STATUS        = 0x05c,
    X_DROPPED       = 0x060,
    X_MADE          = 0x068,
    X_OFFSET        = 0x080,
    X_LENGTH        = 0x084,
    X_COMMAND       = 0x088,
    X_BITS          = 0x090,
    X_SLOT          = 0x0a0,
    X_SLOT_CONTROL  = 0x0a4,
    X_SLOT_OFFSET   = 0x0a8,
    X_SLOT_LENGTH   = 0x0ac,
    X_SLOT_MASK     = 0x0b0,
    X_SLOT_VALUE    = 0x0b8,
    X_SLOT_SILENCE  = 0x0c0,
    X_WRITER        = 0x0d0,
    X_WRITER_NODE   = 0x0d4,
    X_WRITER_SEQ    = 0x0d8,
    X_WRITER_TIME   = 0x0e0,
    X_RIGHTS        = 0x0e8,
    X_SET           = 0x100,
    X_DATA          = 0x120,
    X_SEND          = 0x124,
    X_FENCE         = 0x130,
    X_FENCE_DONE    = 0x134,
    X_FENCE_LOST    = 0x138,
    X_FENCE_RESULT  = 0x140,
    X_EPOCH         = 0x144,
    X_SNAPSHOT      = 0x150,
    X_QUERY_OFFSET  = 0x160,
    X_QUERY_LENGTH  = 0x164,
    X_QUERY         = 0x168,
    X_ANSWERED      = 0x170,
    X_TABLE         = 0x200,
    X_REQUESTS      = 0x208,
    X_REQUEST_STATUS = 0x20c,
    X_BEGIN         = 0x210,
    X_CANCEL        = 0x214,
    X_BURST_OFFSET  = 0x220,
    X_BURST_LENGTH  = 0x224,
    X_BURST_COMMAND = 0x228,
    X_BURST_PERIOD  = 0x22c,
    X_BURST_FLUSH   = 0x230,
    X_BURST_FLUSHED = 0x234,
    X_BURST_NOW_OFFSET = 0x238,
    X_BURST_NOW_LENGTH = 0x23c,
    X_COUNTERS      = 0x800,
    X_NODES         = 0x2000,
    X_HEARD         = 0x5000,
    X_COUNTER_TIMES = 0xc00,
    X_ANSWERS       = 0x4000,
    X_MSIX_TABLE    = 0x8000,
    X_MSIX_PBA      = 0x9000,
};

/* Planes of granules, and what switches one on */
enum { RX, TX, WATCH, OWNED, MAY_READ, MAY_WRITE, HOME, ON = 0x10 };
#define GRANULE 64

/* X_STATUS */
enum { RUNNING = 1, FAULT = 2 };

/* Vectors, and bits of X_INT_STATUS */
enum { V_EVENTS, V_DMA, V_LINK, V_ERRORS, VECTORS };

/* Modes of a slot, and what its control shows */
enum { EQUAL = 1, NOT_EQUAL, CHANGED, TIMER };
#define SLOT_BAD    (1u << 30)
#define SLOT_STALE  (1u << 31)

/* Types of records */
enum {
    R_RESET, R_INT1, R_INT2, R_INT3, R_INT4,
    R_SYNC_LOSS, R_BAD_DATA, R_TX_FULL, R_RX_FULL, R_RX_ALMOST_FULL, R_ROGUE,
    R_INHIBITED, R_PARITY,
    R_UPDATE, R_MATCH, R_STALE, R_FRESH, R_CONFLICT,
    R_SIGNAL, R_BREAK, R_MEMBERSHIP, R_LOSS, R_ID_IN_USE, R_FENCE,
    R_INCOMPLETE, R_WRITTEN,
};
/* What does not come by itself while a ring lives its life */
#define T_DATA (1u << R_UPDATE | 1u << R_MATCH | 1u << R_STALE | \
                1u << R_FRESH | 1u << R_CONFLICT)

#define OTHER_CLOCK 1
#define NEVER       2
#define NOBODY      0xffff

/* --- registers ------------------------------------------------------------ */

/* Map BAR4, after card_init(). */
void block_map(Card *card);
uint32_t ext_readl(Card *card, unsigned offset);
uint64_t ext_readq(Card *card, unsigned offset);
void ext_writel(Card *card, unsigned offset, uint32_t value);
void ext_writeq(Card *card, unsigned offset, uint64_t value);

/* As lab_ring() and peer_lab(), with BAR4 mapped. */
Lab *block_ring(const char *options0, const char *options1);
PeerLab *block_peer(const char *options);

/* Switch a plane in a range; it must be taken. */
void plane_set(Card *card, uint32_t offset, uint32_t length, uint32_t command);

/* A slot's registers, and its mode; returns what its control reads then. */
typedef struct SlotSetting {
    uint32_t offset, length;
    uint64_t mask, value, silence;
} SlotSetting;
uint32_t slot_arm(Card *card, unsigned slot, uint32_t mode,
                  const SlotSetting *setting);
uint32_t slot_control(Card *card, unsigned slot);

/* Send one update of @len bytes from the test's node. */
void peer_data(PeerLab *lab, uint64_t seq, uint32_t address, const void *data,
               size_t len);

/* --- the event ring ------------------------------------------------------- */

#define RECORD 128
#define RING_AT 0x200000    /* an address in the machine's memory */

typedef struct Record {
    uint32_t index;
    uint8_t type, flags;
    uint16_t node;
    uint64_t event;
    uint32_t offset, length, value;
    uint64_t seq, origin, arrival, age;
    uint8_t data[64];
} Record;

typedef struct Events {
    Card *card;
    uint64_t base;
    uint32_t records;
    uint32_t taken;
} Events;

/* Clear the memory, enable the ring; 2^@size records. */
void events_start(Events *events, Card *card, uint64_t base, unsigned size,
                  uint32_t types);
void events_stop(Events *events);
/* Is the next record there? */
bool events_ready(Events *events);
/* Wait for the next record, of this type; it stays unconsumed. */
Record events_peek(Events *events, unsigned type);
/* The same, and consume it. */
Record events_next(Events *events, unsigned type);
/* Tell the card how many were taken. */
void events_consume(Events *events);
/* The record of a node that came, after @epoch. */
void events_expect_member(Events *events, uint32_t epoch);
/*
 * Nothing more is there, nor is any on its way from @from: its next store, to
 * a granule that events_start() watches, makes the next record.
 */
#define MARK (64 * MIB - 64)
void events_expect_none(Events *events, Card *from);
/* The first four bytes of the data */
uint32_t record_word(const Record *record);
void record_expect_data(const Record *record, uint32_t offset,
                        const void *data, uint32_t len);

#endif
