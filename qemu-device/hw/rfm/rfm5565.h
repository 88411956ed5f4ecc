/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 5565 reflective-memory card, private header.
 *
 *   rfm5565.c       the PCI device: properties, BARs, stores, life
 *   rfm5565-regs.c  BAR0/1 and BAR2, the interrupt FIFOs, INTx
 *   rfm5565-ring.c  the card as a member of the ring: node, links, time
 *
 * Locking: everything here runs under the big QEMU lock. Guest loads from
 * BAR3 do not: they read @ram directly, which is why updates are applied with
 * rfm_memory_store(). A vCPU that must wait for room in the ring gives the
 * lock up while it waits, see rfm5565_ring_wait_for_room().
 */
#ifndef HW_RFM_RFM5565_H
#define HW_RFM_RFM5565_H

#include "qemu/units.h"
#include "hw/pci/pci_device.h"
#include "chardev/char-fe.h"
#include "qom/object.h"
#include "ring/link.h"
#include "ring/node.h"
#include "linux/rfm_regs.h"

#define TYPE_RFM5565 "rfm5565"
OBJECT_DECLARE_SIMPLE_TYPE(Rfm5565State, RFM5565)

/* A network interrupt FIFO: sender and data move together. */
typedef struct Rfm5565Fifo {
    uint8_t sender[RFM_FIFO_DEPTH];
    uint32_t data[RFM_FIFO_DEPTH];
    uint8_t head;
    uint8_t count;
    uint32_t last_data;     /* what ISD reads once it is empty */
} Rfm5565Fifo;

/* One end of the fibre: the chardev and what speaks over it. */
typedef struct Rfm5565Port {
    CharBackend chr;
    bool open;              /* the chardev has a peer */
    QEMUTimer *deadline;    /* of the handshake */
    const char *complaint;  /* the last one, so that it is not repeated */
} Rfm5565Port;

struct Rfm5565State {
    PCIDevice parent_obj;

    /* Properties */
    uint32_t node_id;
    uint64_t memory_size;
    char *window;
    uint32_t stall_limit_ms;
    bool dead;                  /* answers all ones, as if it had been pulled */

    /* BARs */
    MemoryRegion runtime;
    MemoryRegion runtime_io;
    MemoryRegion control;
    MemoryRegion memory;        /* the ROM device: all of the memory */
    MemoryRegion window_bar;    /* BAR3 if the window is narrower than that */
    MemoryRegion window_alias;
    uint8_t *ram;
    uint64_t window_size;
    uint32_t window_switches;   /* their bits in LCSR1 */

    /* Registers with a value of their own; the rest is computed */
    uint32_t intcsr;
    uint32_t marbr;
    uint32_t cntrl;
    uint32_t las1ba;
    uint32_t lcsr1;             /* control bits and OWN DATA */
    uint32_t lisr;              /* latched bits and global enable */
    uint32_t lisr_seen;         /* latched bits that were read as 1 */
    uint32_t lier;
    uint32_t ntd;
    uint32_t ntn;
    uint32_t nic;
    Rfm5565Fifo fifo[RFM_FIFOS];
    uint64_t fifo_dropped;      /* network interrupts that found it full */

    /* The ring */
    struct rfm_node node;
    struct rfm_link_tx link_tx;
    struct rfm_link_rx link_rx;
    Rfm5565Port rx;
    Rfm5565Port tx;
    QEMUBH *tx_bh;
    QEMUTimer *tick;
    guint tx_watch;             /* waiting until the pipe takes more */
    uint8_t tx_buf[RFM_LINK_BATCH];
    unsigned tx_fill;
    unsigned tx_done;
    bool away;                  /* migrating: not a member of the ring */
    VMChangeStateEntry *vmstate_entry;

    /* Stores that wait for room, first come first served */
    QemuCond room;
    uint64_t ticket_next;
    uint64_t ticket_served;
    bool stalled;               /* one waited in vain; no more until room */
    uint64_t longest_stall_us;
    bool gone;                  /* unrealized, perhaps while a vCPU waited */
};

/*
 * Does an access reach nothing? When the card is unplugged, a vCPU may already
 * be on its way into a callback and get the big lock only after.
 */
static inline bool rfm5565_is_silent(const Rfm5565State *s)
{
    return s->dead || s->gone;
}

/* rfm5565.c */
void rfm5565_set_window(Rfm5565State *s);

/* rfm5565-regs.c */
void rfm5565_regs_init(Rfm5565State *s);
void rfm5565_regs_reset(Rfm5565State *s);
void rfm5565_regs_loaded(Rfm5565State *s);
void rfm5565_update_intx(Rfm5565State *s);
void rfm5565_latch(Rfm5565State *s, uint32_t lisr_bits);
void rfm5565_fifo_push(Rfm5565State *s, unsigned fifo, uint8_t sender,
                       uint32_t data);
extern const VMStateDescription vmstate_rfm5565_fifo;

/* rfm5565-ring.c */
void rfm5565_ring_add_counters(Rfm5565State *s);
bool rfm5565_ring_init(Rfm5565State *s, Error **errp);
void rfm5565_ring_exit(Rfm5565State *s);
void rfm5565_ring_set_optics(Rfm5565State *s);
void rfm5565_ring_set_away(Rfm5565State *s, bool away);
bool rfm5565_ring_wait_for_room(Rfm5565State *s);
void rfm5565_ring_store(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len);
void rfm5565_ring_interrupt(Rfm5565State *s);

#endif
