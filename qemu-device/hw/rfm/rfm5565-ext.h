/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The extension block of the 5565: what no real card has. docs/extension.md is
 * the reference of its registers.
 *
 *   rfm5565-ext.c       capability, BAR4 and its registers, fences, queries
 *   rfm5565-events.c    the event ring
 *   rfm5565-planes.c    granules: who receives, sends, watches, owns, wrote,
 *                       and what others may do there
 *   rfm5565-slots.c     comparators and timers
 *   rfm5565-vmstate.c   what migrates, also of the DMA engine
 *
 * All of it is under the card's lock, except what is marked. An event is
 * staged under the lock, by the engine mostly; a bottom half in the main
 * context writes it into the guest's memory and interrupts, under the BQL.
 * Registers change under both, so the guest's memory is not written any more
 * once the guest has switched the ring off.
 */
#ifndef HW_RFM_RFM5565_EXT_H
#define HW_RFM_RFM5565_EXT_H

#include "qemu/bitmap.h"
#include "ring/util/granules.h"
#include "ring/node.h"
#include "driver/hw/regs.h"

#define RFM5565_STAGED 4096     /* records that may wait for the main context */

typedef struct Rfm5565State Rfm5565State;

/* What the registers call a plane; that of the slots has no number there. */
static inline enum rfm_granules_plane rfm5565_plane(unsigned plane)
{
    return plane < (unsigned)RFM_GRANULES_SLOT ? plane : plane + 1;
}

/* An update of another node, as it came */
typedef struct Rfm5565Update {
    uint32_t offset;
    uint32_t length;
    const uint8_t *data;
    struct rfm_origin origin;
} Rfm5565Update;

/* A slot's registers. */
typedef struct Rfm5565SlotSetting {
    uint32_t offset;
    uint32_t length;
    uint64_t mask;
    uint64_t value;
    uint64_t silence;
} Rfm5565SlotSetting;

typedef struct Rfm5565Slot {
    Rfm5565SlotSetting setting; /* what the registers say */
    Rfm5565SlotSetting armed;   /* what counts */
    uint32_t control;
    uint64_t touched;           /* run time of the last update, or of arming */
    /* The last update since it was armed; no length: none */
    uint32_t last_offset;
    uint32_t last_length;
    uint32_t last_node;
    uint32_t last_flags;
    uint64_t last_seq;
    uint64_t last_origin_ns;
    uint64_t last_arrival_ns;
} Rfm5565Slot;

/*
 * The last writer of a granule: node, flags and number of the frame in one
 * word. The engine and a vCPU may both write it, so each word is atomic.
 */
typedef struct Rfm5565Writer {
    uint64_t who;
    uint64_t time_ns;
} Rfm5565Writer;

/* A node in the ring map, laid out as its registers. */
typedef struct Rfm5565NodeView {
    uint32_t state;
    uint32_t domain;
    uint64_t transit_ns;
    uint64_t received;
    uint64_t missed;
} Rfm5565NodeView;

/* When something was last heard of it, laid out as its registers. */
typedef struct Rfm5565NodeTimes {
    uint64_t heard;
    uint64_t broke;
} Rfm5565NodeTimes;

/* What a node has answered, laid out as its registers. */
typedef struct Rfm5565Answer {
    uint32_t crc;
    uint32_t state;
    uint64_t first;
} Rfm5565Answer;

typedef struct Rfm5565Ext {
    MemoryRegion bar;
    MemoryRegion regs;
    bool has_msix;

    /* Registers */
    uint32_t control;
    uint64_t clock;             /* as it was last read, for its upper half */
    uint32_t clock_domain;      /* that of a state that was saved */
    uint32_t int_status;
    uint32_t int_enable;
    uint32_t moderation_count;
    uint32_t moderation_time;
    uint64_t event_base;
    uint32_t event_size;
    uint32_t event_control;
    uint32_t event_types;
    uint32_t consumer;
    uint32_t producer;
    uint32_t event_status;
    uint64_t dropped;
    uint32_t range_offset;
    uint32_t range_length;
    uint32_t range_result;
    uint32_t slot_index;
    Rfm5565SlotSetting slot_setting;    /* of that slot */
    uint32_t writer_offset;
    uint32_t writer_node;
    uint64_t writer_seq;
    uint64_t writer_time;
    uint32_t multicast_set[RFM_RING_NODES / 32];
    uint32_t multicast_data;
    uint32_t multicast_send;
    uint32_t fence_ticket;      /* the last one given */
    uint32_t fence_done;
    uint64_t fence_lost;
    uint32_t fence_result;
    uint32_t fence_behind;      /* scan of the burst range that it awaits */
    uint32_t query_offset;
    uint32_t query_length;
    uint32_t queries;           /* so many were begun */
    uint32_t query_fence;       /* ticket of the fence that ends the last one */
    uint32_t answered[RFM_RING_NODES / 32];
    Rfm5565Answer answers[RFM_RING_NODES];
    uint32_t snapshots;
    uint64_t counters[RFM_COUNTERS];
    Rfm5565NodeView nodes[RFM_RING_NODES];
    uint64_t counter_times[RFM_COUNTERS];
    Rfm5565NodeTimes node_times[RFM_RING_NODES];

    /* The event ring, from when it was enabled */
    uint64_t ring_base;
    uint32_t ring_records;
    uint64_t event;             /* number of the last one */
    struct rfm_ext_record *staged;
    uint32_t staged_first;
    uint32_t staged_count;
    uint64_t events;            /* since reset */
    uint64_t events_dropped;
    struct Rfm5565EngineState *moment;  /* (BQL) while it is being saved */

    /* Interrupts */
    QEMUBH *bh;                 /* main context: writes records, interrupts */
    QEMUTimer *moderation;      /* main context */
    bool bh_scheduled;
    uint32_t causes;            /* vectors whose cause is to be raised */
    bool base_msi_pending;      /* a message for what asserts INTA# */
    uint32_t base_msi_sent;     /* LISR sources that a message has told */
    uint32_t unannounced;       /* records written since the last interrupt */
    uint64_t unannounced_since;
    uint64_t raised_at[RFM_VECTORS];    /* when each has interrupted last */

    /* Counters as they were last looked at, and when each had changed */
    uint64_t counted[RFM_COUNTERS];
    uint64_t counted_at[RFM_COUNTERS];

    /* Granules and slots */
    struct rfm_granules granules;
    bool planes_on_update;      /* updates have to be looked at */
    Rfm5565Writer *writers;     /* if they are kept: one a granule */
    uint64_t filtered_rx;       /* bytes */
    uint64_t filtered_tx;       /* (BQL), read also under the lock */
    uint64_t conflicts;
    Rfm5565Slot slots[RFM_EXT_SLOTS];
    DECLARE_BITMAP(armed, RFM_EXT_SLOTS);
    QEMUTimer *silence;         /* in the engine's context */
    /* Run time: stands still while the guest does */
    bool frozen;
    uint64_t frozen_at;         /* run time */
    uint64_t skipped;           /* run time is that much behind the clock */

    /* Fences */
    uint32_t reset_generation;  /* counts resets */
    bool fence_running;         /* the engine has one */
    bool fence_waiting;         /* another one is to follow */
    uint64_t fence_lost_carried; /* lost on leaving a ring: next one's */
} Rfm5565Ext;

/* rfm5565-ext.c */
bool rfm5565_ext_init(Rfm5565State *s, Error **errp);
void rfm5565_ext_exit(Rfm5565State *s);
void rfm5565_ext_reset(Rfm5565State *s);
void rfm5565_ext_other_clock(Rfm5565State *s);
void rfm5565_ext_set_running(Rfm5565State *s, bool running);
void rfm5565_ext_fence_ended(Rfm5565State *s,
                             const struct rfm_fence_result *fence);
void rfm5565_ext_fence_next(Rfm5565State *s);
uint64_t rfm5565_ext_fence_unreported(const Rfm5565State *s);
void rfm5565_query_answered(Rfm5565State *s, uint8_t from,
                            const struct rfm_answer *answer);

/* rfm5565-events.c */
void rfm5565_events_init(Rfm5565State *s);
void rfm5565_events_exit(Rfm5565State *s);
void rfm5565_events_reset(Rfm5565State *s);
void rfm5565_events_enable(Rfm5565State *s, bool on);
void rfm5565_events_consumed(Rfm5565State *s);
bool rfm5565_events_wants(const Rfm5565State *s, unsigned type);
struct rfm_ext_record *rfm5565_event(Rfm5565State *s, unsigned type,
                                     uint64_t arrival_ns);
void rfm5565_event_plain(Rfm5565State *s, unsigned type, unsigned node,
                         uint32_t value, uint64_t seq);
void rfm5565_event_update(Rfm5565State *s, unsigned type,
                          const Rfm5565Update *update, uint32_t value,
                          uint64_t age_ns);
void rfm5565_event_latched(Rfm5565State *s, uint32_t lisr_bits);
void rfm5565_events_schedule(Rfm5565State *s);
void rfm5565_events_write(Rfm5565State *s);
void rfm5565_events_other_clock(Rfm5565State *s);

/* rfm5565-planes.c */
bool rfm5565_planes_init(Rfm5565State *s, Error **errp);
void rfm5565_planes_exit(Rfm5565State *s);
void rfm5565_planes_reset(Rfm5565State *s);
void rfm5565_planes_refresh(Rfm5565State *s);
uint32_t rfm5565_planes_command(Rfm5565State *s, uint32_t command);
void rfm5565_planes_other_clock(Rfm5565State *s);
void rfm5565_planes_keep_writers(Rfm5565State *s);
void rfm5565_planes_look_up(Rfm5565State *s);
void rfm5565_planes_apply(Rfm5565State *s, uint32_t offset, const void *data,
                          unsigned len, const struct rfm_origin *origin);
void rfm5565_planes_written(Rfm5565State *s, uint8_t from, uint32_t offset,
                            uint32_t len);
void rfm5565_planes_merge(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                          uint32_t len);
bool rfm5565_planes_sends(Rfm5565State *s, uint32_t offset, unsigned len);
bool rfm5565_planes_store_run(Rfm5565State *s, uint32_t offset,
                              const uint8_t *data, unsigned len, uint64_t now);
bool rfm5565_planes_store(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                          unsigned len, uint64_t now);

/* rfm5565-slots.c */
typedef struct Rfm5565Touched {
    unsigned count;
    uint8_t slot[RFM_EXT_SLOTS];
    uint64_t before[RFM_EXT_SLOTS];     /* what a comparator saw */
} Rfm5565Touched;

void rfm5565_slots_init(Rfm5565State *s);
void rfm5565_slots_exit(Rfm5565State *s);
void rfm5565_slots_reset(Rfm5565State *s);
void rfm5565_slots_select(Rfm5565State *s, uint32_t index);
void rfm5565_slots_arm(Rfm5565State *s, uint32_t control);
bool rfm5565_slots_loaded(Rfm5565State *s);
void rfm5565_slots_other_clock(Rfm5565State *s);
void rfm5565_slots_before(Rfm5565State *s, const Rfm5565Update *update,
                          Rfm5565Touched *touched);
void rfm5565_slots_after(Rfm5565State *s, const Rfm5565Update *update,
                         const Rfm5565Touched *touched);
void rfm5565_run_freeze(Rfm5565State *s, bool freeze);

/* rfm5565-counters.c */
void rfm5565_snapshot(Rfm5565State *s);
void rfm5565_counters_loaded(Rfm5565State *s);
void rfm5565_counters_watch(Rfm5565State *s, uint64_t now);

/* rfm5565-vmstate.c */
int rfm5565_refuse_state(const char *what);
void rfm5565_ext_saving(Rfm5565State *s);
extern const VMStateDescription vmstate_rfm5565_books;
extern const VMStateDescription vmstate_rfm5565_burst;
extern const VMStateDescription vmstate_rfm5565_dma;
extern const VMStateDescription vmstate_rfm5565_ext;
extern const VMStateDescription vmstate_rfm5565_remote;

#endif
