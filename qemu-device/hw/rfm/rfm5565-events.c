// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The event ring of the extension block.
 *
 * An event is staged as a record, under the lock and at a bounded cost. The
 * bottom half of rfm5565-irq.c takes it from there: only in the main context
 * may the guest's memory be written. An event that finds the ring full is
 * dropped when it is staged, so that the guest sees the same events dropped
 * whenever the bottom half runs; unless it lets RFM5565_STAGED of them wait,
 * as a paused machine does.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/pci/pci.h"
#include "rfm5565.h"
#include "trace.h"

#define RECORDS_PER_LOCK  64    /* written before PRODUCER moves */
#define RECORDS_PER_RUN  1024   /* before others have their turn */

/* Which vectors a record's type raises beside EVENTS. */
static const uint8_t record_causes[RFM_RECORD_TYPES] = {
    [RFM_RECORD_SYNC_LOSS]      = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_SIGNAL]         = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_BREAK]          = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_MEMBERSHIP]     = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_ID_IN_USE]      = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_INCOMPLETE]     = BIT(RFM_VECTOR_LINK),
    [RFM_RECORD_BAD_DATA]       = BIT(RFM_VECTOR_ERRORS),
    [RFM_RECORD_TX_FULL]        = BIT(RFM_VECTOR_ERRORS),
    [RFM_RECORD_RX_FULL]        = BIT(RFM_VECTOR_ERRORS),
    [RFM_RECORD_WRITE_INHIBITED] = BIT(RFM_VECTOR_ERRORS),
    [RFM_RECORD_PARITY]         = BIT(RFM_VECTOR_ERRORS),
    [RFM_RECORD_LOSS]           = BIT(RFM_VECTOR_ERRORS),
};

static const struct {
    uint32_t lisr;
    unsigned type;
} latched_records[] = {
    { RFM_LISR_SYNC_LOSS,       RFM_RECORD_SYNC_LOSS },
    { RFM_LISR_BAD_DATA,        RFM_RECORD_BAD_DATA },
    { RFM_LISR_TX_FULL,         RFM_RECORD_TX_FULL },
    { RFM_LISR_RX_FULL,         RFM_RECORD_RX_FULL },
    { RFM_LISR_RX_ALMOST_FULL,  RFM_RECORD_RX_ALMOST_FULL },
    { RFM_LISR_ROGUE,           RFM_RECORD_ROGUE },
    { RFM_LISR_WRITE_INHIBITED, RFM_RECORD_WRITE_INHIBITED },
    { RFM_LISR_PARITY,          RFM_RECORD_PARITY },
};

/* --- staging: under the lock ---------------------------------------------- */

/* The main context has something to do. */
void rfm5565_events_schedule(Rfm5565State *s)
{
    if (!s->ext.bh_scheduled) {
        s->ext.bh_scheduled = true;
        qemu_bh_schedule(s->ext.bh);
    }
}

/* Does an event of this type go to the ring? */
bool rfm5565_events_wants(const Rfm5565State *s, unsigned type)
{
    return (s->ext.event_control & RFM_EXT_EVENT_ENABLE) &&
           (s->ext.event_types & BIT(type));
}

static bool event_ring_has_room(const Rfm5565Ext *ext)
{
    uint32_t used = ext->producer + ext->staged_count - ext->consumer;

    return (ext->event_status & RFM_EXT_EVENT_RUNNING) &&
           used < ext->ring_records && ext->staged_count < RFM5565_STAGED;
}

/*
 * A record to be filled in before the lock is left, all 0 but what is known
 * here. NULL if the guest did not ask for it, or if it is dropped and counted.
 */
struct rfm_ext_record *rfm5565_event(Rfm5565State *s, unsigned type,
                                     uint64_t arrival_ns)
{
    Rfm5565Ext *ext = &s->ext;
    struct rfm_ext_record *record;

    if (!rfm5565_events_wants(s, type)) {
        return NULL;
    }
    ext->event++;
    ext->events++;
    if (!event_ring_has_room(ext)) {
        trace_rfm5565_event_dropped(s->node_id, type, ext->event);
        ext->dropped++;
        ext->events_dropped++;
        return NULL;
    }
    trace_rfm5565_event(s->node_id, type, ext->event);
    record = &ext->staged[(ext->staged_first + ext->staged_count) %
                          RFM5565_STAGED];
    ext->staged_count++;
    memset(record, 0, sizeof(*record));
    record->type = type;
    record->node = cpu_to_le16(RFM_RECORD_NODE_NONE);
    record->event = cpu_to_le64(ext->event);
    record->arrival_ns = cpu_to_le64(arrival_ns);
    rfm5565_events_schedule(s);
    return record;
}

void rfm5565_event_plain(Rfm5565State *s, unsigned type, unsigned node,
                         uint32_t value, uint64_t seq)
{
    uint64_t now = rfm_node_clock(&s->node, rfm5565_now());
    struct rfm_ext_record *record = rfm5565_event(s, type, now);

    if (record) {
        record->node = cpu_to_le16(node);
        record->value = cpu_to_le32(value);
        record->seq = cpu_to_le64(seq);
    }
}

void rfm5565_event_update(Rfm5565State *s, unsigned type,
                          const Rfm5565Update *update, uint32_t value,
                          uint64_t age_ns)
{
    const struct rfm_origin *origin = &update->origin;
    struct rfm_ext_record *record = rfm5565_event(s, type, origin->arrival_ns);

    if (!record) {
        return;
    }
    record->flags = origin->same_clock ? 0 : RFM_RECORD_OTHER_CLOCK;
    record->node = cpu_to_le16(origin->node);
    record->offset = cpu_to_le32(update->offset);
    record->length = cpu_to_le32(update->length);
    record->value = cpu_to_le32(value);
    record->seq = cpu_to_le64(origin->seq);
    record->origin_ns = cpu_to_le64(origin->time_ns);
    record->age_ns = cpu_to_le64(age_ns);
    memcpy(record->data, update->data, update->length);
}

void rfm5565_event_latched(Rfm5565State *s, uint32_t lisr_bits)
{
    for (size_t i = 0; i < ARRAY_SIZE(latched_records); i++) {
        if (lisr_bits & latched_records[i].lisr) {
            rfm5565_event_plain(s, latched_records[i].type,
                                RFM_RECORD_NODE_NONE, 0, 0);
        }
    }
}

/* --- into the guest's memory ---------------------------------------------- */

/* The index makes it complete, so it comes last. */
static bool write_record(Rfm5565State *s, uint32_t number,
                         struct rfm_ext_record *record)
{
    const unsigned head = sizeof(uint64_t);
    uint64_t address = s->ext.ring_base + (uint64_t)RFM_EXT_RECORD_SIZE *
                       (number % s->ext.ring_records);

    record->index = cpu_to_le32(number + 1);
    if (!rfm5565_guest_rw(s, address + head, (uint8_t *)record + head,
                          sizeof(*record) - head, DMA_DIRECTION_FROM_DEVICE)) {
        return false;
    }
    smp_wmb();      /* before the index */
    return rfm5565_guest_rw(s, address, record, head,
                            DMA_DIRECTION_FROM_DEVICE);
}

/* The ring stops; what waits for it is dropped. Under the lock. */
static void fault(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    trace_rfm5565_event_fault(s->node_id, ext->ring_base);
    ext->event_status = RFM_EXT_EVENT_FAULT;
    ext->dropped += ext->staged_count;
    ext->events_dropped += ext->staged_count;
    ext->staged_count = 0;
    ext->causes |= BIT(RFM_VECTOR_ERRORS);
}

/*
 * Write some of the staged records. They stay staged until they are there;
 * only the BQL lets others take any away, so the lock is not needed for it.
 */
static unsigned write_some(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    uint32_t causes = 0;
    unsigned count, done = 0;

    rfm5565_lock(s);
    count = MIN(ext->staged_count, RECORDS_PER_LOCK);
    rfm5565_update_and_unlock(s);
    while (done < count) {
        struct rfm_ext_record *record =
            &ext->staged[(ext->staged_first + done) % RFM5565_STAGED];

        causes |= record_causes[record->type];
        if (!write_record(s, ext->producer + done, record)) {
            break;
        }
        done++;
    }
    rfm5565_lock(s);
    if (done) {
        if (!ext->unannounced) {
            ext->unannounced_since = rfm5565_now();
        }
        ext->unannounced += done;
        ext->causes |= causes;
    }
    ext->producer += done;
    ext->staged_first = (ext->staged_first + done) % RFM5565_STAGED;
    ext->staged_count -= done;
    if (done < count) {
        rfm5565_guest_error(s, "no event can be written to the ring at 0x%"
                            PRIx64, ext->ring_base);
        fault(s);
    }
    rfm5565_update_and_unlock(s);
    return done;
}

/* In the main context, without the lock. */
void rfm5565_events_write(Rfm5565State *s)
{
    unsigned written = 0, some;

    do {
        some = write_some(s);
        written += some;
    } while (some == RECORDS_PER_LOCK && written < RECORDS_PER_RUN);
}

/* --- what the guest does: under both locks -------------------------------- */

static void discard_staged(Rfm5565Ext *ext)
{
    ext->staged_first = ext->staged_count = 0;
    ext->unannounced = 0;
}

void rfm5565_events_enable(Rfm5565State *s, bool on)
{
    Rfm5565Ext *ext = &s->ext;
    bool sound = ext->event_size >= RFM_EXT_EVENT_SIZE_MIN &&
                 ext->event_size <= RFM_EXT_EVENT_SIZE_MAX &&
                 !(ext->event_base % RFM_EXT_RECORD_SIZE);

    trace_rfm5565_event_ring(s->node_id, on, ext->event_base, ext->event_size);
    discard_staged(ext);
    if (!on) {
        ext->event_status = 0;
        return;
    }
    ext->producer = ext->consumer = 0;
    ext->event = ext->dropped = 0;
    ext->ring_base = ext->event_base;
    ext->ring_records = sound ? 1u << ext->event_size : 0;
    ext->event_status = RFM_EXT_EVENT_RUNNING;
    if (!sound) {
        rfm5565_guest_error(s, "no event ring can be at 0x%" PRIx64 ", of 2^%u "
                            "records", ext->event_base, ext->event_size);
        fault(s);
        rfm5565_events_schedule(s);
    }
}

/*
 * What the guest has consumed needs no interrupt any more. It may have seen
 * records of which PRODUCER does not tell yet.
 */
void rfm5565_events_consumed(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    if ((int32_t)(ext->producer + ext->staged_count - ext->consumer) < 0) {
        rfm5565_guest_error(s, "CONSUMER of %u, there were %u records",
                            ext->consumer, ext->producer);
    }
    ext->unannounced = MIN(ext->unannounced, ext->producer - ext->consumer);
}

void rfm5565_events_reset(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    discard_staged(ext);
    ext->event_status = 0;
    ext->ring_records = 0;
    ext->event = ext->events = ext->events_dropped = 0;
}

/* What waits in a loaded state was noted by a clock other than CLOCK. */
void rfm5565_events_other_clock(Rfm5565State *s)
{
    for (unsigned i = 0; i < s->ext.staged_count; i++) {
        struct rfm_ext_record *record = &s->ext.staged[i];

        record->arrival_ns = 0;
        if (record->origin_ns) {
            record->flags |= RFM_RECORD_OTHER_CLOCK;
        }
    }
}

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_events_init(Rfm5565State *s)
{
    QEMU_BUILD_BUG_ON(sizeof(struct rfm_ext_record) != RFM_EXT_RECORD_SIZE);

    s->ext.staged = g_new(struct rfm_ext_record, RFM5565_STAGED);
}

void rfm5565_events_exit(Rfm5565State *s)
{
    g_clear_pointer(&s->ext.staged, g_free);
}
