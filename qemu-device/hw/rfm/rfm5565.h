/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The 5565 reflective-memory card, private header.
 *
 *   rfm5565.c          the PCI device, realize to exit
 *   rfm5565-memory.c   BAR3, and stores
 *   rfm5565-room.h     room on the ring: who waits for it, and how long
 *   rfm5565-burst.c    the part of BAR3 in which stores do not trap
 *   rfm5565-props.c    properties
 *   rfm5565-counters.c what is counted; the ring map
 *   rfm5565-regbank.h  how an access finds its registers
 *   rfm5565-regs.c     BAR0/1 and BAR2
 *   rfm5565-irq.c      the lock; latches, FIFOs, INTx, messages
 *   rfm5565-ring.c     the card as a member of the ring; its capture
 *   rfm5565-link.c     its fibres: the chardevs
 *   rfm5565-engine.c   its engine: receive, then send; who wakes it, its clock
 *   rfm5565-dma.c      the DMA engine
 *   rfm5565-net.c      Ethernet on the ring
 *   rfm5565-ext.h      the extension block, its parts
 *   rfm5565-remote.h   operations at one node, their parts
 *
 * Contexts and locks. The engine (node, links, clock) runs in the AioContext
 * of the property iothread, or in the main context, without the big lock
 * (BQL). Chardevs stay in the main context: they carry the handshake, frames
 * where memory cannot be shared, and the neighbour's death.
 *
 * - @lock protects the node's engine side, the links, the shared-memory queues
 *   and everything the engine reports in (latches, interrupt FIFOs). It is
 *   taken after the BQL, and only @producer after it: under it no chardev,
 *   INTx, DMA or other device is touched. rfm5565_update_and_unlock() then
 *   brings INTx up to date.
 * - The guest's other registers change under both, and are read under either.
 * - A store is the node's producer: it runs under the BQL, which serialises
 *   vCPUs, and needs no lock while there is room in the ring. A lone one then
 *   tries the lock, but never waits for it; if it gets it, it does the engine's
 *   sending turn itself (rfm5565_engine_send_inline()). Without room a store
 *   waits with the BQL released, and what makes room never needs the BQL.
 * - What a CPU sends by a register leaves before its access ends. One that asks
 *   something of another node, or looks for its end, makes whole turns of the
 *   engine. Both are under both locks: see rfm5565_engine_come().
 * - The DMA engine is a second producer, and operations at one node are a
 *   third, under the lock, most often without the BQL. While one of them sends,
 *   stores and it take turns by @producer, which comes after the lock. It
 *   begins under the BQL, so a store sees that it has.
 * - Guest loads read @ram directly, without any lock: what arrives is applied
 *   with rfm_memory_store().
 *
 * What only the thread under the BQL uses is marked (BQL) below.
 */
#ifndef HW_RFM_RFM5565_H
#define HW_RFM_RFM5565_H

#include "qemu/event_notifier.h"
#include "qemu/log.h"
#include "qemu/thread.h"
#include "qemu/units.h"
#include "hw/pci/pci_device.h"
#include "chardev/char-fe.h"
#include "net/net.h"
#include "migration/misc.h"
#include "qom/object.h"
#include "system/iothread.h"
#include "ring/ether.h"
#include "ring/link.h"
#include "ring/node.h"
#include "ring/util/clock-domain.h"
#include "ring/util/pcapng.h"
#include "ring/shm.h"
#include "driver/hw/regs.h"
#include "crypto/tlssession.h"
#include "ring/permit.h"
#include "rfm5565-burst.h"
#include "rfm5565-ext.h"
#include "rfm5565-remote.h"

#define TYPE_RFM5565 "rfm5565"
OBJECT_DECLARE_SIMPLE_TYPE(Rfm5565State, RFM5565)

/* How much of the memory BAR3 shows at a time */
typedef enum Rfm5565Window {
    RFM5565_WINDOW_FULL,
    RFM5565_WINDOW_64M,
    RFM5565_WINDOW_16M,
    RFM5565_WINDOW_2M,
} Rfm5565Window;

/* As we have it, or as the real card has it */
typedef enum Rfm5565Behaviour {
    RFM5565_OURS,
    RFM5565_AUTHENTIC,
} Rfm5565Behaviour;

/* Of the times that the card tells */
typedef enum Rfm5565Clock {
    RFM5565_CLOCK_HOST,
    RFM5565_CLOCK_TAI,
} Rfm5565Clock;

/* A network interrupt FIFO: sender and data move together. */
typedef struct Rfm5565Fifo {
    uint8_t sender[RFM_FIFO_DEPTH];
    uint32_t data[RFM_FIFO_DEPTH];
    uint8_t head;
    uint8_t count;
    uint32_t last_data;     /* what ISD reads once it is empty */
} Rfm5565Fifo;

/* TLS over a chardev (BQL) */
typedef struct Rfm5565Tls {
    QCryptoTLSCreds *creds;     /* NULL: none */
    QCryptoTLSSession *session;
    struct Rfm5565State *card;
    QEMUTimer *deadline;        /* of the handshake */
    const uint8_t *in;          /* encrypted, to be looked at */
    size_t in_left;
    unsigned busy;              /* in a call to the session */
    bool ready;                 /* the neighbour may stay */
    bool closed;                /* the session goes when it is not @busy */
    struct rfm_permit permit;   /* of the neighbour */
} Rfm5565Tls;

/* One end of the fibre: the chardev, and the queue that may stand beside it. */
typedef struct Rfm5565Port {
    CharBackend chr;        /* (BQL) */
    bool open;              /* the chardev has a peer; written under both */
    Rfm5565Tls tls;
    /* What comes, decrypted if it has to be */
    void (*received)(struct Rfm5565State *s, const uint8_t *buf, int size);
    GSList *warned;         /* (BQL) said already, so as not to be repeated */
    uint64_t up_since_ns;   /* (BQL) since when it has a neighbour; 0: none */
    uint64_t refused;       /* (BQL) peers that were shown out */
    const char *disconnect_reason; /* why the engine wants the chardev closed */
    struct rfm_shm shm;
    EventNotifier wake;     /* of the queue; wakes this end */
    bool attached;          /* the engine's context listens to it */
    bool polling;           /* and looks at the queue by itself just now */
} Rfm5565Port;

#define RFM5565_DMA_CHUNK 4096  /* bytes that are moved in one go */

/* The DMA engine, under the lock. */
typedef struct Rfm5565Dma {
    /* Registers */
    uint32_t mode;
    uint32_t padr;
    uint32_t ladr;
    uint32_t size;
    uint32_t dpr;
    uint32_t dac;
    uint32_t csr;               /* its ENABLE bit only */

    /* The transfer under way, from the registers as they were at its start */
    bool busy;                  /* with @left 0: it was started, not begun */
    bool chain;
    bool to_host;
    bool swap;
    uint64_t host;              /* of the next byte */
    uint32_t card;
    uint32_t left;              /* bytes of the transfer */
    uint32_t piece;             /* bytes of this descriptor */
    uint32_t next;              /* where the next one is, or RFM_DMA_LAST */
    uint32_t empty;             /* descriptors so far that had no bytes */

    uint32_t run;               /* counts starts and ends */
    bool frozen;                /* the guest stands still */
    bool hung;                  /* it begins transfers, and ends none */
    bool waiting;               /* for room on the ring */
    bool tell_hold;             /* to be said: one waits for the bus */
    bool hold_told;             /* said already, or to be */
    Rfm5565Share share;
    bool now;                   /* (BQL) the CPU moves it that starts it */
    bool in_main;               /* who has the BQL has the transfer now */
    /* Used by the context that has the transfer */
    QEMU_ALIGNED(8) uint8_t buffer[RFM5565_DMA_CHUNK + 8];
    AddressSpace *as;           /* the bus as the card sees it */
    bool direct;                /* no vIOMMU is in between */
    QEMUBH *bh;                 /* in @ctx */
    QEMUTimer *timer;           /* in @ctx */
    QEMUBH *main_bh;            /* main context */

    /* Interrupts by message */
    bool msi_sent;              /* what would assert INTA# was announced */
    bool msi_pending;           /* it is to be announced */

    /* Counters */
    uint64_t transfers;
    uint64_t errors;
    uint64_t bytes;
} Rfm5565Dma;

/* Ethernet on the ring */
typedef struct Rfm5565Net {
    NICConf conf;
    NICState *nic;              /* NULL: none */
    QEMUBH *bh;                 /* main context */
    bool due;                   /* schedule @bh once the lock is free */
    bool blocked;               /* (BQL) the net layer waits for room */
    bool stuck;                 /* (BQL) it has a frame it cannot deliver yet */
    QEMUTimer *again;           /* to ask who takes no frames now, */
    uint64_t nap_ns;            /* (BQL) after so long */
    struct rfm_ether ether;     /* written under the lock */
} Rfm5565Net;

struct Rfm5565State {
    PCIDevice parent_obj;

    /* Properties */
    uint32_t node_id;
    uint64_t memory_size;
    Rfm5565Window window;
    uint32_t stall_limit_ms;
    IOThread *iothread;
    bool use_shm;
    char *line;
    uint32_t frames_in_flight;
    uint8_t train;
    bool packing;
    bool redundant;
    bool rogue_master[2];
    Rfm5565Behaviour rogue;
    Rfm5565Behaviour duplicate_ids;
    Rfm5565Clock clock_kind;
    char *pcap;
    bool extension;
    bool auto_resync;
    OnOffAuto firmware_bus_master;  /* not auto once it is realized */
    uint8_t bridge_revision;

    /* BARs */
    MemoryRegion runtime;
    MemoryRegion runtime_io;
    MemoryRegion control;
    MemoryRegion memory;        /* the ROM device: all of the memory */
    MemoryRegion window_bar;    /* BAR3 if the window is narrower than that */
    MemoryRegion window_alias;
    uint64_t window_size;
    uint32_t switches;          /* their bits in LCSR1 */

    /*
     * What every store looks at. It shares no cache line with what the engine
     * writes, else each store would wait for that line.
     */
    QEMU_ALIGNED(64) uint8_t *ram;
    unsigned long first_page;   /* of QEMU that @ram is in, see is_dirty() */
    uint64_t ticket_next;       /* (BQL) of stores that wait for room, */
    uint64_t ticket_served;     /* (BQL) first come, first served */
    uint32_t lcsr1;             /* control bits */
    uint32_t bigend;
    uint8_t page_bits;          /* of an address in such a page */
    bool direct;                /* loads are served by @ram; set under both */
    bool planes_on_store;       /* the extension looks at stores */
    bool burst_on;              /* there is a burst range; set under both */
    uint8_t others_send;        /* who stores too; see below */
    bool backpressure_expired;  /* one waited in vain: none waits until room */
    bool streaming;             /* frames go by the chardev; read atomically */
    bool dead;                  /* all ones, as if it had been pulled */
    bool gone;                  /* unrealized, perhaps while a vCPU waited */
    QEMUBH *engine_bh;          /* in @ctx: receive and send */

    QEMU_ALIGNED(64) QemuMutex lock;
    QemuMutex producer;         /* of the node, while @others_send */
    unsigned lock_wanted;       /* who waits for one of them; atomic */

    /* Registers with a value of their own; the rest is computed */
    uint32_t intcsr;
    uint32_t marbr;
    uint32_t cntrl;
    uint32_t las1ba;
    bool own_data;
    uint32_t lisr;              /* latched bits and global enable */
    uint32_t lisr_seen;         /* latched bits that were read as 1 */
    uint32_t lier;
    uint32_t ntd;
    uint32_t ntn;
    uint32_t nic;
    Rfm5565Fifo fifo[RFM_FIFOS];
    uint64_t fifo_dropped;      /* network interrupts that found it full */
    bool intx_level;            /* that the PCI bus has; set under both */
    Rfm5565Ext ext;
    Rfm5565Burst burst;
    Rfm5565Dma dma;
    Rfm5565Remote remote;
    Rfm5565Net net;

    /* The ring */
    AioContext *ctx;            /* of the engine */
    bool in_turn;               /* atomic: it receives, and then sends */
    bool visited;               /* a CPU or the net layer is; under both */
    bool brought;               /* something to be sent, by: */
    QemuThread visitor;
    struct rfm_node node;
    struct rfm_link_tx link_tx;
    struct rfm_link_rx link_rx;
    Rfm5565Port rx;
    Rfm5565Port tx;
    QEMUBH *main_work_bh;       /* main context: INTx, what is to be said */
    QEMUTimer *tick;            /* in @ctx */
    QEMUTimer *pace;            /* in @ctx: the line lets the next frame go */
    QEMUTimer *late;            /* in @ctx: the neighbour is owed a wake-up */
    bool tx_queue_full;         /* the downstream queue is full */
    uint64_t last_store_ns;     /* when the last store went into it */
    uint64_t last_send_ns;      /* end of the last turn that sent something */
    unsigned burst_stores;      /* stores that went soon after one another */
    QEMUBH *stream_bh;          /* main context: write to the chardev */
    guint tx_watch;             /* (BQL) until the chardev takes more */
    uint8_t tx_buf[RFM_LINK_BATCH];     /* (BQL), as the next two */
    unsigned tx_fill;
    unsigned tx_done;
    bool quiesced;              /* migrating or dead: not on the ring */
    struct {                    /* (BQL) what a saved state says of */
        uint64_t incarnation;   /* of the card, */
        uint64_t held;          /* frames that were held back for the guest, */
        uint32_t epoch;         /* changes of the membership, */
        bool signal;            /* its receiver had light, */
        bool incomplete;        /* its memory missed something, */
        bool books;             /* and of what it has counted, if it does: */
        uint64_t breaks;
        uint64_t longest_stall_us;
        struct rfm_node_past past;
    } saved;
    VMChangeStateEntry *vmstate_entry;
    NotifierWithReturn migration_notifier;
    uint64_t breaks;            /* break notices of other nodes */
    bool duplicate_id;          /* to be said: another node has our id */
    struct rfm_pcapng capture;
    struct rfm_link_tap tap;    /* of both links, for @capture */
    int capture_rx;
    int capture_tx;
    const char *capture_trouble;    /* to be said */
    struct rfm_clock clock;
    const char *clock_trouble;      /* what was said of it last */
    bool clock_told;                /* anything was */
    bool other_clock;               /* it goes otherwise than before */
    Notifier exit_notifier;

    /* Stores that wait for room */
    QemuCond room;              /* with @lock */
    uint64_t longest_stall_us;  /* (BQL) */
};

/*
 * Does an access reach nothing? When the card is unplugged, a vCPU may already
 * be on its way into a callback and get the big lock only after.
 */
static inline bool rfm5565_is_unreachable(const Rfm5565State *s)
{
    return s->dead || s->gone;
}

/* What the guest's driver does wrong: QEMU shows it with -d guest_errors. */
#define rfm5565_guest_error(s, format, ...) \
    qemu_log_mask(LOG_GUEST_ERROR, "rfm5565: node 0x%02x: " format "\n", \
                  (s)->node_id, ## __VA_ARGS__)

static inline uint64_t rfm5565_now(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

/* Not before the lock is free: who is woken up would wait for it. */
static inline void rfm5565_unlock(Rfm5565State *s)
{
    bool net_due = s->net.due;

    s->net.due = false;
    qemu_mutex_unlock(&s->lock);
    if (net_due) {
        qemu_bh_schedule(s->net.bh);
    }
}

/* Who sends beside the CPUs. Set under both locks, cleared under the lock. */
#define RFM5565_DMA_SENDS       1
#define RFM5565_REMOTE_SENDS    2

static inline void rfm5565_set_other_producer(Rfm5565State *s, uint8_t who,
                                              bool sends)
{
    qatomic_store_release(&s->others_send, sends ? s->others_send | who
                                                 : s->others_send & ~who);
}

/* Does a store share the node with others? Then it has the lock. */
static inline bool rfm5565_producer_lock(Rfm5565State *s)
{
    if (!qatomic_load_acquire(&s->others_send)) {
        return false;
    }
    qatomic_inc(&s->lock_wanted);
    qemu_mutex_lock(&s->producer);
    qatomic_dec(&s->lock_wanted);
    return true;
}

static inline void rfm5565_producer_unlock(Rfm5565State *s, bool shared)
{
    if (shared) {
        qemu_mutex_unlock(&s->producer);
    }
}

/* rfm5565-memory.c */
bool rfm5565_memory_init(Rfm5565State *s, Error **errp);
void rfm5565_memory_exit(Rfm5565State *s);
void rfm5565_map_memory(Rfm5565State *s);
void rfm5565_memory_put(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len);
void rfm5565_memory_merge(Rfm5565State *s, uint32_t offset, const void *data,
                          unsigned len);
bool rfm5565_memory_send(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                         unsigned len, uint64_t now);

/* rfm5565-props.c */
void rfm5565_add_class_properties(ObjectClass *klass);
bool rfm5565_check_properties(Rfm5565State *s, struct rfm_node_config *config,
                              Error **errp);

/* rfm5565-counters.c */
void rfm5565_add_counters(ObjectClass *klass);

/* rfm5565-regs.c */
void rfm5565_regs_init(Rfm5565State *s);
void rfm5565_regs_reset(Rfm5565State *s);
bool rfm5565_regs_are_valid(Rfm5565State *s);

/* rfm5565-irq.c */
void rfm5565_lock(Rfm5565State *s);
void rfm5565_update_and_unlock(Rfm5565State *s);
void rfm5565_update_intx(Rfm5565State *s);
void rfm5565_latch(Rfm5565State *s, uint32_t lisr_bits);
void rfm5565_fifo_push(Rfm5565State *s, unsigned fifo, uint8_t sender,
                       uint32_t data);
uint32_t rfm5565_fifo_levels(const Rfm5565State *s);
uint32_t rfm5565_local_sources(const Rfm5565State *s);
void rfm5565_irq_init(Rfm5565State *s);
void rfm5565_irq_exit(Rfm5565State *s);
void rfm5565_irq_reset(Rfm5565State *s);
extern const VMStateDescription vmstate_rfm5565_fifo;

/* rfm5565-ring.c */
bool rfm5565_ring_init(Rfm5565State *s, struct rfm_node_config *config,
                       Error **errp);
void rfm5565_ring_exit(Rfm5565State *s);
void rfm5565_ring_look_at_clock(Rfm5565State *s);
void rfm5565_ring_flush_capture(Rfm5565State *s);
void rfm5565_ring_set_optics(Rfm5565State *s);
void rfm5565_ring_set_quiesced(Rfm5565State *s, bool quiesced);
void rfm5565_ring_saving(Rfm5565State *s);
void rfm5565_ring_loaded(Rfm5565State *s);
void rfm5565_ring_interrupt(Rfm5565State *s);

/* rfm5565-link.c */
void rfm5565_link_init(Rfm5565State *s);
void rfm5565_link_connect(Rfm5565State *s);
void rfm5565_link_exit(Rfm5565State *s);
void rfm5565_link_disconnect(Rfm5565State *s, Rfm5565Port *port,
                             const char *why);
void rfm5565_link_secured(Rfm5565State *s, Rfm5565Port *port);
void rfm5565_link_main_work(Rfm5565State *s);
void rfm5565_link_push(Rfm5565State *s);
void rfm5565_link_down(Rfm5565State *s);
void rfm5565_link_up(Rfm5565State *s);

/* rfm5565-tls.c */
bool rfm5565_tls_check(Rfm5565State *s, Error **errp);
bool rfm5565_tls_is_missed(const Rfm5565Port *port);
void rfm5565_tls_open(Rfm5565State *s, Rfm5565Port *port);
void rfm5565_tls_close(Rfm5565Port *port);
void rfm5565_tls_exit(Rfm5565Port *port);
void rfm5565_tls_received(Rfm5565State *s, Rfm5565Port *port,
                          const uint8_t *buf, int size);
int rfm5565_tls_write(Rfm5565Port *port, const uint8_t *buf, int len);

/* rfm5565-engine.c */
void rfm5565_engine_init(Rfm5565State *s);
void rfm5565_engine_exit(Rfm5565State *s);
void rfm5565_engine_arm_pace(Rfm5565State *s);
bool rfm5565_engine_send_inline(Rfm5565State *s);
bool rfm5565_engine_come(Rfm5565State *s);
void rfm5565_engine_leave(Rfm5565State *s, bool is_cpu);
bool rfm5565_engine_bring(Rfm5565State *s);
void rfm5565_engine_visit(Rfm5565State *s);
void rfm5565_engine_push(Rfm5565State *s);
bool rfm5565_engine_is_clear(Rfm5565State *s);
bool rfm5565_engine_store_run(Rfm5565State *s, uint32_t offset,
                              const uint8_t *data, unsigned len, uint64_t now);
bool rfm5565_engine_receive(Rfm5565State *s, unsigned limit, uint64_t now);
void rfm5565_engine_detach(Rfm5565State *s, Rfm5565Port *port);

/* rfm5565-dma.c */
void rfm5565_dma_init(Rfm5565State *s);
void rfm5565_dma_stop(Rfm5565State *s);
void rfm5565_dma_exit(Rfm5565State *s);
void rfm5565_dma_command(Rfm5565State *s, uint32_t value);
void rfm5565_dma_abort(Rfm5565State *s);
void rfm5565_dma_written(Rfm5565State *s);
void rfm5565_dma_bus_changed(Rfm5565State *s);
void rfm5565_dma_check_room(Rfm5565State *s);
void rfm5565_dma_set_running(Rfm5565State *s, bool running);
void rfm5565_dma_set_hung(Rfm5565State *s, bool hung);
void rfm5565_dma_loading(Rfm5565State *s);

/* rfm5565-net.c */
void rfm5565_net_init(Rfm5565State *s);
void rfm5565_net_go_on(Rfm5565State *s);
void rfm5565_net_exit(Rfm5565State *s);
bool rfm5565_net_take(Rfm5565State *s, const struct rfm_packet *packet);

#endif
