/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The burst range of the 5565: a part of BAR3 in which stores do not trap. */
#ifndef HW_RFM_RFM5565_BURST_H
#define HW_RFM_RFM5565_BURST_H

#include "exec/memory.h"
#include "ring/node.h"
#include "rfm5565-room.h"

typedef struct Rfm5565State Rfm5565State;

#define RFM5565_BURST_COMMANDS  256     /* interrupts that wait for a scan */

/* A network interrupt that goes behind what was stored before it */
typedef struct Rfm5565Command {
    uint32_t behind;            /* scan */
    uint32_t data;
    uint8_t kind;
    uint8_t dest;
    bool multicast;             /* to @set */
    uint8_t set[RFM_NODE_SET];
} Rfm5565Command;

typedef struct Rfm5565Burst {
    /* Properties: what the registers are after reset */
    uint64_t first_offset;
    uint64_t first_size;

    /* Registers */
    uint32_t offset;
    uint32_t length;
    uint32_t result;
    uint32_t period;            /* microseconds */
    uint32_t asked;             /* scans that were asked for, ever */
    uint32_t done;              /* of these, have ended */
    uint32_t at;                /* the range in effect; no @size: none */
    uint32_t size;

    /* What COMMAND has asked for */
    uint32_t wanted_at;
    uint32_t wanted_size;

    /* (BQL) but for @shadow, which changes under both locks */
    MemoryRegion ram;           /* the memory, as what stores do not trap to */
    MemoryRegion range;         /* of it */
    uint8_t *shadow;            /* what the ring knows of the range */
    bool shown;                 /* BAR3 has the range */
    bool scanning;              /* perhaps with the BQL released */
    QemuCond ended;             /* it is so no more */
    uint32_t scan;              /* the last one that began, */
    uint32_t closed;            /* and the one behind the last store to it */
    unsigned long *pages;       /* that are still to be compared */
    unsigned left;              /* so many */
    Rfm5565Share share;
    unsigned granted;           /* runs that it has room for already */
    QEMUTimer *timer;           /* of the period */
    QEMUTimer *again;           /* when there was no room */
    QEMUBH *bh;                 /* main context */
    Rfm5565Command *commands;   /* that wait, under both locks */
    unsigned command_first;
    unsigned command_count;

    /* Counters */
    uint64_t scans;
    uint64_t bytes;
    uint64_t late;
} Rfm5565Burst;

void rfm5565_burst_init(Rfm5565State *s);
void rfm5565_burst_memory_init(Rfm5565State *s);
void rfm5565_burst_exit(Rfm5565State *s);
void rfm5565_burst_memory_exit(Rfm5565State *s);
void rfm5565_burst_reset(Rfm5565State *s);
void rfm5565_burst_loading(Rfm5565State *s);
void rfm5565_burst_update(Rfm5565State *s);
void rfm5565_burst_stopped(Rfm5565State *s, bool leaves);
void rfm5565_burst_command(Rfm5565State *s);
void rfm5565_burst_set_period(Rfm5565State *s);
void rfm5565_burst_flush(Rfm5565State *s);
uint32_t rfm5565_burst_ask(Rfm5565State *s);
bool rfm5565_burst_is_past(const Rfm5565State *s, uint32_t scan);
void rfm5565_burst_interrupt(Rfm5565State *s, Rfm5565Command *command);
void rfm5565_burst_put(Rfm5565State *s, uint32_t offset, const void *data,
                       unsigned len);
unsigned rfm5565_burst_merge(Rfm5565State *s, uint32_t offset,
                             const uint8_t *data, unsigned len);
bool rfm5565_burst_has(const Rfm5565State *s, uint32_t offset, unsigned len);

#endif
