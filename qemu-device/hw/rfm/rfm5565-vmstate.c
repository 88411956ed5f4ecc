// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What migrates of the DMA engine, of the extension block and of what the card
 * has counted on the ring; the rest is in rfm5565.c. Planes and last writers
 * are large and mostly empty: of them go the blocks of 4 KiB that are not as
 * at reset. Whatever comes in is checked; a wrong stream ends the migration.
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/lockable.h"
#include "hw/pci/msix.h"
#include "migration/qemu-file-types.h"
#include "migration/vmstate.h"
#include "rfm5565.h"

#define BLOCK           4096
#define BLOCK_WORDS     (BLOCK / sizeof(uint32_t))
#define BLOCK_WRITERS   (BLOCK / sizeof(Rfm5565Writer))
#define NO_BLOCK        UINT32_MAX

/* QEMU says which device it was; this says what of it. */
int rfm5565_refuse_state(const char *what)
{
    error_report("rfm5565: the saved state is damaged: %s", what);
    return -EINVAL;
}

/* --- the DMA engine ------------------------------------------------------- */

static int dma_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;
    const Rfm5565Dma *dma = &s->dma;

    /* One that is held has nothing yet: it takes all from the registers. */
    if (dma->busy && (dma->left || dma->piece) &&
        (!dma->left || dma->piece > dma->left ||
         (!dma->chain && dma->piece != dma->left) ||
         (uint64_t)dma->card + dma->left > s->memory_size)) {
        return rfm5565_refuse_state("a DMA transfer reaches where it cannot");
    }
    return 0;
}

/* A card that never moved anything is as one without the engine. */
static bool dma_needed(void *opaque)
{
    const Rfm5565State *s = opaque;
    const Rfm5565Dma *dma = &s->dma;

    return dma->transfers || dma->busy || dma->padr || dma->ladr ||
           dma->size || dma->dac || dma->csr ||
           dma->mode != RFM_DMAMODE0_RESET || dma->dpr != RFM_DMADPR0_RESET;
}

const VMStateDescription vmstate_rfm5565_dma = {
    .name = TYPE_RFM5565 "/dma",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = dma_needed,
    .post_load = dma_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(dma.mode, Rfm5565State),
        VMSTATE_UINT32(dma.padr, Rfm5565State),
        VMSTATE_UINT32(dma.ladr, Rfm5565State),
        VMSTATE_UINT32(dma.size, Rfm5565State),
        VMSTATE_UINT32(dma.dpr, Rfm5565State),
        VMSTATE_UINT32(dma.dac, Rfm5565State),
        VMSTATE_UINT32(dma.csr, Rfm5565State),
        VMSTATE_BOOL(dma.busy, Rfm5565State),
        VMSTATE_BOOL(dma.chain, Rfm5565State),
        VMSTATE_BOOL(dma.to_host, Rfm5565State),
        VMSTATE_BOOL(dma.swap, Rfm5565State),
        VMSTATE_UINT64(dma.host, Rfm5565State),
        VMSTATE_UINT32(dma.card, Rfm5565State),
        VMSTATE_UINT32(dma.left, Rfm5565State),
        VMSTATE_UINT32(dma.piece, Rfm5565State),
        VMSTATE_UINT32(dma.next, Rfm5565State),
        VMSTATE_UINT32(dma.empty, Rfm5565State),
        VMSTATE_UINT64(dma.transfers, Rfm5565State),
        VMSTATE_UINT64(dma.errors, Rfm5565State),
        VMSTATE_UINT64(dma.bytes, Rfm5565State),
        VMSTATE_BOOL(dma.msi_sent, Rfm5565State),
        VMSTATE_BOOL(dma.msi_pending, Rfm5565State),
        VMSTATE_END_OF_LIST()
    },
};

/* --- what was counted on the ring ----------------------------------------- */

static int books_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;

    s->saved.books = true;
    return rfm_node_past_is_sound(&s->saved.past) ? 0 :
           rfm5565_refuse_state("what it has counted");
}

static const VMStateDescription vmstate_source = {
    .name = "rfm5565/source",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(current.incarnation, struct rfm_source_past),
        VMSTATE_UINT64(current.seq, struct rfm_source_past),
        VMSTATE_UINT64(refused_incarnation, struct rfm_source_past),
        VMSTATE_UINT64(received, struct rfm_source_past),
        VMSTATE_UINT64(missed, struct rfm_source_past),
        VMSTATE_END_OF_LIST()
    },
};

#define STAT(member) VMSTATE_UINT64(saved.past.stats.member, Rfm5565State)

/*
 * A guest that goes on elsewhere, or from a snapshot, finds what it has read
 * before, and what it was not there for as missed: its driver counts along.
 */
const VMStateDescription vmstate_rfm5565_books = {
    .name = TYPE_RFM5565 "/books",
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = books_post_load,
    .fields = (const VMStateField[]) {
        STAT(stores), STAT(sent), STAT(home), STAT(lost), STAT(dark),
        STAT(full), STAT(received), STAT(forwarded), STAT(unsendable),
        STAT(overrun), STAT(missed), STAT(late), STAT(copies), STAT(beyond),
        STAT(bad), STAT(hop_limit), STAT(rogue), STAT(mixed), STAT(held_lost),
        STAT(window_peak), STAT(tx_peak), STAT(insert_peak), STAT(sent_bytes),
        STAT(received_bytes), STAT(forwarded_bytes),
        VMSTATE_UINT64(saved.breaks, Rfm5565State),
        VMSTATE_UINT64(saved.longest_stall_us, Rfm5565State),
        VMSTATE_STRUCT_ARRAY(saved.past.sources, Rfm5565State, RFM_RING_NODES,
                             1, vmstate_source, struct rfm_source_past),
        VMSTATE_END_OF_LIST()
    },
};

/* --- what the engine changes ---------------------------------------------- */

/*
 * The card of a machine that stands still may be on the ring: then the light
 * may go out, a fence come home, or a frame be missed, while the rest is being
 * saved. So these go together, as they and the books are at one moment.
 */
typedef struct Rfm5565EngineState {
    uint64_t event;
    uint64_t events;
    uint64_t events_dropped;
    uint64_t dropped;
    uint64_t fence_lost;
    uint64_t fence_lost_carried;
    uint32_t fence_done;
    uint32_t fence_result;
    uint32_t base_msi_sent;
    uint32_t staged_count;
    struct rfm_ext_record staged[RFM5565_STAGED];
} Rfm5565EngineState;

static void copy_engine_state(Rfm5565State *s, Rfm5565EngineState *m)
{
    const Rfm5565Ext *ext = &s->ext;

    m->event = ext->event;
    m->events = ext->events;
    m->events_dropped = ext->events_dropped;
    m->dropped = ext->dropped;
    m->fence_lost = ext->fence_lost;
    m->fence_lost_carried = rfm5565_ext_fence_unreported(s);
    m->fence_done = ext->fence_done;
    m->fence_result = ext->fence_result;
    m->base_msi_sent = ext->base_msi_sent;
    m->staged_count = ext->staged_count;
    for (unsigned i = 0; i < m->staged_count; i++) {
        m->staged[i] = ext->staged[(ext->staged_first + i) % RFM5565_STAGED];
    }
}

/* Under the lock. */
void rfm5565_ext_saving(Rfm5565State *s)
{
    if (s->extension) {
        g_free(s->ext.moment);
        s->ext.moment = g_new(Rfm5565EngineState, 1);
        copy_engine_state(s, s->ext.moment);
    }
}

static int put_engine_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field, JSONWriter *desc)
{
    Rfm5565Ext *ext = &((Rfm5565State *)pv)->ext;
    g_autofree Rfm5565EngineState *m = g_steal_pointer(&ext->moment);

    qemu_put_be64(f, m->event);
    qemu_put_be64(f, m->events);
    qemu_put_be64(f, m->events_dropped);
    qemu_put_be64(f, m->dropped);
    qemu_put_be64(f, m->fence_lost);
    qemu_put_be64(f, m->fence_lost_carried);
    qemu_put_be32(f, m->fence_done);
    qemu_put_be32(f, m->fence_result);
    qemu_put_be32(f, m->base_msi_sent);
    qemu_put_be32(f, m->staged_count);
    qemu_put_buffer(f, (const uint8_t *)m->staged,
                    (size_t)m->staged_count * RFM_EXT_RECORD_SIZE);
    return 0;
}

static bool are_records_sound(const struct rfm_ext_record *record,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (record[i].type >= RFM_RECORD_TYPES) {
            return false;
        }
    }
    return true;
}

/* The card is quiesced: nobody else looks. */
static int get_engine_state(QEMUFile *f, void *pv, size_t size,
                            const VMStateField *field)
{
    Rfm5565Ext *ext = &((Rfm5565State *)pv)->ext;
    uint32_t count;

    ext->event = qemu_get_be64(f);
    ext->events = qemu_get_be64(f);
    ext->events_dropped = qemu_get_be64(f);
    ext->dropped = qemu_get_be64(f);
    ext->fence_lost = qemu_get_be64(f);
    ext->fence_lost_carried = qemu_get_be64(f);
    ext->fence_done = qemu_get_be32(f);
    ext->fence_result = qemu_get_be32(f);
    ext->base_msi_sent = qemu_get_be32(f);
    ext->staged_first = ext->staged_count = 0;
    count = qemu_get_be32(f);
    if (count > RFM5565_STAGED) {
        return rfm5565_refuse_state("it has too many records of events");
    }
    qemu_get_buffer(f, (uint8_t *)ext->staged,
                    (size_t)count * RFM_EXT_RECORD_SIZE);
    if (!are_records_sound(ext->staged, count)) {
        return rfm5565_refuse_state("a record is of no type of event");
    }
    ext->staged_count = count;
    return 0;
}

static const VMStateInfo info_engine_state = {
    .name = "rfm5565/moment",
    .get = get_engine_state,
    .put = put_engine_state,
};

/* --- planes --------------------------------------------------------------- */

static bool is_reset_word(unsigned plane, uint32_t word)
{
    return word == (plane == RFM_PLANE_RX || plane == RFM_PLANE_TX ? UINT32_MAX
                                                                   : 0);
}

/* Fill in a block of a plane; returns whether it is worth sending. */
static bool fill_block(const struct rfm_granules *granules, unsigned plane,
                       uint32_t block, uint32_t *words)
{
    bool differs = false;

    for (unsigned i = 0; i < BLOCK_WORDS; i++) {
        words[i] = rfm_granules_word(granules, plane,
                                     (block * BLOCK_WORDS + i) *
                                     RFM_GRANULES_WORD);
        differs |= !is_reset_word(plane, words[i]);
    }
    return differs;
}

static uint32_t plane_blocks(const struct rfm_granules *granules)
{
    return granules->count / RFM_GRANULES_WORD / BLOCK_WORDS;
}

/* The registers' planes from @plane on, up to @end. */
static int put_some_planes(QEMUFile *f, const Rfm5565Ext *ext, unsigned plane,
                           unsigned end)
{
    uint32_t words[BLOCK_WORDS];

    for (; plane < end; plane++) {
        enum rfm_granules_plane bits = rfm5565_plane(plane);
        uint32_t blocks = rfm_granules_is_changed(&ext->granules, bits)
                        ? plane_blocks(&ext->granules) : 0;

        for (uint32_t block = 0; block < blocks; block++) {
            if (!fill_block(&ext->granules, bits, block, words)) {
                continue;
            }
            qemu_put_be32(f, block);
            for (unsigned i = 0; i < BLOCK_WORDS; i++) {
                qemu_put_be32(f, words[i]);
            }
        }
        qemu_put_be32(f, NO_BLOCK);
    }
    return 0;
}

/* Granules of one word that are not as at reset. */
static void set_word(struct rfm_granules *granules, unsigned plane,
                     uint32_t first, uint32_t word)
{
    for (unsigned i = 0; i < RFM_GRANULES_WORD && !is_reset_word(plane, word);
         i++) {
        rfm_granules_set(granules, plane, first + i, 1, word >> i & 1);
    }
}

static int get_some_planes(QEMUFile *f, struct rfm_granules *granules,
                           unsigned plane, unsigned end)
{
    uint32_t block;

    for (; plane < end; plane++) {
        while ((block = qemu_get_be32(f)) != NO_BLOCK) {
            if (qemu_file_get_error(f) || block >= plane_blocks(granules)) {
                return rfm5565_refuse_state("its granules");
            }
            for (unsigned i = 0; i < BLOCK_WORDS; i++) {
                set_word(granules, rfm5565_plane(plane),
                         (block * BLOCK_WORDS + i) * RFM_GRANULES_WORD,
                         qemu_get_be32(f));
            }
        }
    }
    return 0;
}

static int put_planes(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, JSONWriter *desc)
{
    return put_some_planes(f, &((Rfm5565State *)pv)->ext, 0, RFM_PLANE_READ);
}

static int get_planes(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field)
{
    struct rfm_granules *granules = &((Rfm5565State *)pv)->ext.granules;

    rfm_granules_reset(granules);
    return get_some_planes(f, granules, 0, RFM_PLANE_READ);
}

static int put_rights(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, JSONWriter *desc)
{
    return put_some_planes(f, &((Rfm5565State *)pv)->ext, RFM_PLANE_READ,
                           RFM_PLANES);
}

static int get_rights(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field)
{
    return get_some_planes(f, &((Rfm5565State *)pv)->ext.granules,
                           RFM_PLANE_READ, RFM_PLANES);
}

static const VMStateInfo info_rights = {
    .name = "rfm5565/rights",
    .get = get_rights,
    .put = put_rights,
};

static const VMStateInfo info_planes = {
    .name = "rfm5565/planes",
    .get = get_planes,
    .put = put_planes,
};

/* --- last writers --------------------------------------------------------- */

static int put_writers(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, JSONWriter *desc)
{
    const Rfm5565Ext *ext = &((Rfm5565State *)pv)->ext;
    uint32_t blocks = ext->writers ? ext->granules.count / BLOCK_WRITERS : 0;

    for (uint32_t block = 0; block < blocks; block++) {
        const Rfm5565Writer *writer = &ext->writers[block * BLOCK_WRITERS];

        if (buffer_is_zero(writer, BLOCK)) {
            continue;
        }
        qemu_put_be32(f, block);
        for (unsigned i = 0; i < BLOCK_WRITERS; i++) {
            qemu_put_be64(f, writer[i].who);
            qemu_put_be64(f, writer[i].time_ns);
        }
    }
    qemu_put_be32(f, NO_BLOCK);
    return 0;
}

/* CONTROL, which says whether they are kept, has been read before. */
static int get_writers(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field)
{
    Rfm5565Ext *ext = &((Rfm5565State *)pv)->ext;
    uint32_t block;

    g_clear_pointer(&ext->writers, g_free);
    if (ext->control & RFM_EXT_CONTROL_WRITERS) {
        ext->writers = g_try_new0(Rfm5565Writer, ext->granules.count);
        if (!ext->writers) {
            return -ENOMEM;
        }
    }
    while ((block = qemu_get_be32(f)) != NO_BLOCK) {
        if (qemu_file_get_error(f) || !ext->writers ||
            block >= ext->granules.count / BLOCK_WRITERS) {
            return rfm5565_refuse_state("its last writers");
        }
        for (unsigned i = 0; i < BLOCK_WRITERS; i++) {
            Rfm5565Writer *writer = &ext->writers[block * BLOCK_WRITERS + i];

            writer->who = qemu_get_be64(f);
            writer->time_ns = qemu_get_be64(f);
        }
    }
    return 0;
}

static const VMStateInfo info_writers = {
    .name = "rfm5565/writers",
    .get = get_writers,
    .put = put_writers,
};

/* --- the whole ------------------------------------------------------------ */

static const VMStateDescription vmstate_setting = {
    .name = "rfm5565/slot-setting",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(offset, Rfm5565SlotSetting),
        VMSTATE_UINT32(length, Rfm5565SlotSetting),
        VMSTATE_UINT64(mask, Rfm5565SlotSetting),
        VMSTATE_UINT64(value, Rfm5565SlotSetting),
        VMSTATE_UINT64(silence, Rfm5565SlotSetting),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_slot = {
    .name = "rfm5565/slot",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(setting, Rfm5565Slot, 1, vmstate_setting,
                       Rfm5565SlotSetting),
        VMSTATE_STRUCT(armed, Rfm5565Slot, 1, vmstate_setting,
                       Rfm5565SlotSetting),
        VMSTATE_UINT32(control, Rfm5565Slot),
        VMSTATE_UINT64(touched, Rfm5565Slot),
        VMSTATE_UINT32(last_offset, Rfm5565Slot),
        VMSTATE_UINT32(last_length, Rfm5565Slot),
        VMSTATE_UINT32(last_node, Rfm5565Slot),
        VMSTATE_UINT32(last_flags, Rfm5565Slot),
        VMSTATE_UINT64(last_seq, Rfm5565Slot),
        VMSTATE_UINT64(last_origin_ns, Rfm5565Slot),
        VMSTATE_UINT64(last_arrival_ns, Rfm5565Slot),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_node_view = {
    .name = "rfm5565/node-view",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(state, Rfm5565NodeView),
        VMSTATE_UINT32(domain, Rfm5565NodeView),
        VMSTATE_UINT64(transit_ns, Rfm5565NodeView),
        VMSTATE_UINT64(received, Rfm5565NodeView),
        VMSTATE_UINT64(missed, Rfm5565NodeView),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_node_times = {
    .name = "rfm5565/node-times",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(heard, Rfm5565NodeTimes),
        VMSTATE_UINT64(broke, Rfm5565NodeTimes),
        VMSTATE_END_OF_LIST()
    },
};

static const VMStateDescription vmstate_answer = {
    .name = "rfm5565/answer",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(crc, Rfm5565Answer),
        VMSTATE_UINT32(state, Rfm5565Answer),
        VMSTATE_UINT64(first, Rfm5565Answer),
        VMSTATE_END_OF_LIST()
    },
};

/* The machine stands still, and so does run time. */
static int ext_pre_save(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_lock(s);
    rfm5565_run_freeze(s, true);
    s->ext.clock_domain = s->node.config.clock_domain;
    rfm5565_update_and_unlock(s);
    return 0;
}

/* A card without the block has nothing into which it could be loaded. */
static int ext_pre_load(void *opaque)
{
    Rfm5565State *s = opaque;

    if (!s->extension) {
        error_report("rfm5565: the state is of a card with extension=on");
        return -EINVAL;
    }
    return ext_pre_save(opaque);
}

static bool is_ring_sound(const Rfm5565Ext *ext)
{
    if (!(ext->event_status & RFM_EXT_EVENT_RUNNING)) {
        return !ext->staged_count;
    }
    return is_power_of_2(ext->ring_records) &&
           ext->ring_records >= 1u << RFM_EXT_EVENT_SIZE_MIN &&
           ext->ring_records <= 1u << RFM_EXT_EVENT_SIZE_MAX;
}

static int ext_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;
    Rfm5565Ext *ext = &s->ext;
    bool sound;

    rfm5565_lock(s);
    sound = is_ring_sound(ext) && rfm5565_slots_loaded(s);
    /* A fence that was under way ended with the node's incarnation there. */
    ext->reset_generation++;
    ext->fence_running = false;
    ext->fence_waiting = ext->fence_done != ext->fence_ticket;
    memset(ext->raised_at, 0, sizeof(ext->raised_at));
    ext->unannounced_since = 0;
    /* The clock here is not the one by which the times were taken. */
    if (ext->clock_domain != s->node.config.clock_domain) {
        rfm5565_ext_other_clock(s);
    }
    rfm5565_planes_refresh(s);
    rfm5565_update_and_unlock(s);
    return sound ? 0 : rfm5565_refuse_state("its event ring, or its slots");
}

static bool ext_needed(void *opaque)
{
    Rfm5565State *s = opaque;

    return s->extension;
}

#define EXT32(member) VMSTATE_UINT32(ext.member, Rfm5565State)
#define EXT64(member) VMSTATE_UINT64(ext.member, Rfm5565State)
/* No size: it is not as long as anything here, which tests/vmstate compares. */
#define WHOLE(_name, _info) { \
    .name = _name, .info = &(_info), .flags = VMS_SINGLE, \
}

const VMStateDescription vmstate_rfm5565_ext = {
    .name = TYPE_RFM5565 "/extension",
    .version_id = 4,
    .minimum_version_id = 4,
    .needed = ext_needed,
    .pre_save = ext_pre_save,
    .pre_load = ext_pre_load,
    .post_load = ext_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_MSIX(parent_obj, Rfm5565State),
        EXT32(control),
        EXT64(clock),
        EXT32(clock_domain),
        EXT32(int_status),
        EXT32(int_enable),
        EXT32(moderation_count),
        EXT32(moderation_time),
        EXT64(event_base),
        EXT32(event_size),
        EXT32(event_control),
        EXT32(event_types),
        EXT32(consumer),
        EXT32(producer),
        EXT32(event_status),
        EXT32(range_offset),
        EXT32(range_length),
        EXT32(range_result),
        EXT32(slot_index),
        VMSTATE_STRUCT(ext.slot_setting, Rfm5565State, 1, vmstate_setting,
                       Rfm5565SlotSetting),
        EXT32(writer_offset),
        EXT32(writer_node),
        EXT64(writer_seq),
        EXT64(writer_time),
        VMSTATE_UINT32_ARRAY(ext.multicast_set, Rfm5565State,
                             RFM_RING_NODES / 32),
        EXT32(multicast_data),
        EXT32(multicast_send),
        EXT32(fence_ticket),
        EXT32(snapshots),
        VMSTATE_UINT64_SUB_ARRAY(ext.counters, Rfm5565State, 0,
                                 RFM5565_REMOTE_COUNTER_FIRST),
        VMSTATE_STRUCT_ARRAY(ext.nodes, Rfm5565State, RFM_RING_NODES, 1,
                             vmstate_node_view, Rfm5565NodeView),
        VMSTATE_UINT64_SUB_ARRAY(ext.counter_times, Rfm5565State, 0,
                                 RFM5565_REMOTE_COUNTER_FIRST),
        VMSTATE_STRUCT_ARRAY(ext.node_times, Rfm5565State, RFM_RING_NODES, 1,
                             vmstate_node_times, Rfm5565NodeTimes),
        EXT32(query_offset),
        EXT32(query_length),
        EXT32(queries),
        EXT32(query_fence),
        VMSTATE_UINT32_ARRAY(ext.answered, Rfm5565State, RFM_RING_NODES / 32),
        VMSTATE_STRUCT_ARRAY(ext.answers, Rfm5565State, RFM_RING_NODES, 1,
                             vmstate_answer, Rfm5565Answer),
        EXT64(ring_base),
        EXT32(ring_records),
        EXT32(causes),
        VMSTATE_BOOL(ext.base_msi_pending, Rfm5565State),
        EXT32(unannounced),
        EXT64(filtered_rx),
        EXT64(filtered_tx),
        EXT64(conflicts),
        VMSTATE_STRUCT_ARRAY(ext.slots, Rfm5565State, RFM_EXT_SLOTS, 1,
                             vmstate_slot, Rfm5565Slot),
        EXT64(frozen_at),
        WHOLE("moment", info_engine_state),
        WHOLE("planes", info_planes),
        WHOLE("writers", info_writers),
        VMSTATE_END_OF_LIST()
    },
};

/* --- operations at one node ----------------------------------------------- */

static int remote_pre_save(void *opaque)
{
    Rfm5565State *s = opaque;
    uint64_t counter[RFM_COUNTERS];

    rfm5565_lock(s);
    rfm5565_remote_count(s, counter);
    memcpy(s->remote.saved.counted, counter + RFM5565_REMOTE_COUNTER_FIRST,
           sizeof(s->remote.saved.counted));
    rfm5565_requests_saving(s);
    rfm5565_update_and_unlock(s);
    return 0;
}

static int remote_pre_load(void *opaque)
{
    const Rfm5565State *s = opaque;

    return s->extension ? 0 :
           rfm5565_refuse_state("it is of a card with extension=on");
}

/* What it has counted here since it was made, it goes on from there. */
static int remote_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;
    Rfm5565Remote *remote = &s->remote;
    uint64_t counter[RFM_COUNTERS];
    bool sound;

    rfm5565_lock(s);
    rfm5565_remote_count(s, counter);
    for (unsigned i = 0; i < RFM5565_REMOTE_COUNTERS; i++) {
        remote->counted_before[i] += remote->saved.counted[i] -
                                     counter[RFM5565_REMOTE_COUNTER_FIRST + i];
    }
    sound = rfm5565_requests_loaded(s);
    rfm5565_update_and_unlock(s);
    return sound ? 0 : rfm5565_refuse_state("its requests, or its ports");
}

/* --- the burst range ------------------------------------------------------ */

/* What was written there is sent before the state is saved, or counted lost. */
static bool burst_needed(void *opaque)
{
    const Rfm5565Burst *burst = &((Rfm5565State *)opaque)->burst;

    return burst->offset || burst->length || burst->wanted_size ||
           burst->asked || burst->scans || burst->late ||
           burst->period != RFM_EXT_BURST_PERIOD_DEFAULT;
}

static int burst_pre_load(void *opaque)
{
    const Rfm5565State *s = opaque;

    return s->extension ? 0 :
           rfm5565_refuse_state("it is of a card with extension=on");
}

static int burst_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;
    Rfm5565Burst *burst = &s->burst;

    burst->done = burst->scan = burst->asked;
    if ((burst->wanted_at | burst->wanted_size) % RFM_EXT_BURST_PAGE ||
        (uint64_t)burst->wanted_at + burst->wanted_size > s->memory_size ||
        (burst->wanted_size && !s->iothread) ||
        burst->period < RFM_EXT_BURST_PERIOD_MIN ||
        burst->period > RFM_EXT_BURST_PERIOD_MAX) {
        return rfm5565_refuse_state("its burst range");
    }
    return 0;
}

#define BURST32(member) VMSTATE_UINT32(burst.member, Rfm5565State)
#define BURST64(member) VMSTATE_UINT64(burst.member, Rfm5565State)

const VMStateDescription vmstate_rfm5565_burst = {
    .name = TYPE_RFM5565 "/burst",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = burst_needed,
    .pre_load = burst_pre_load,
    .post_load = burst_post_load,
    .fields = (const VMStateField[]) {
        BURST32(offset),
        BURST32(length),
        BURST32(result),
        BURST32(period),
        BURST32(asked),
        BURST32(wanted_at),
        BURST32(wanted_size),
        BURST64(scans),
        BURST64(bytes),
        BURST64(late),
        VMSTATE_UINT64_SUB_ARRAY(ext.counters, Rfm5565State,
                                 RFM_COUNTER_BURST_SCANS,
                                 RFM_COUNTERS - RFM_COUNTER_BURST_SCANS),
        VMSTATE_UINT64_SUB_ARRAY(ext.counter_times, Rfm5565State,
                                 RFM_COUNTER_BURST_SCANS,
                                 RFM_COUNTERS - RFM_COUNTER_BURST_SCANS),
        VMSTATE_END_OF_LIST()
    },
};

#define REMOTE(macro, member, ...) \
    macro(remote.member, Rfm5565State, ## __VA_ARGS__)

const VMStateDescription vmstate_rfm5565_remote = {
    .name = TYPE_RFM5565 "/remote",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = ext_needed,
    .pre_save = remote_pre_save,
    .pre_load = remote_pre_load,
    .post_load = remote_post_load,
    .fields = (const VMStateField[]) {
        REMOTE(VMSTATE_UINT64, base),
        REMOTE(VMSTATE_UINT32, control),
        REMOTE(VMSTATE_UINT32, status),
        REMOTE(VMSTATE_UINT64, table),
        REMOTE(VMSTATE_UINT32_ARRAY, saved.busy, RFM_EXT_REQUESTS / 32),
        REMOTE(VMSTATE_UINT32_ARRAY, saved.ports, RFM_EXT_PORTS),
        REMOTE(VMSTATE_UINT64_ARRAY, saved.counted, RFM5565_REMOTE_COUNTERS),
        VMSTATE_UINT64_SUB_ARRAY(ext.counters, Rfm5565State,
                                 RFM5565_REMOTE_COUNTER_FIRST,
                                 RFM5565_REMOTE_COUNTERS),
        VMSTATE_UINT64_SUB_ARRAY(ext.counter_times, Rfm5565State,
                                 RFM5565_REMOTE_COUNTER_FIRST,
                                 RFM5565_REMOTE_COUNTERS),
        WHOLE("rights", info_rights),
        WHOLE("regions", rfm5565_info_regions),
        VMSTATE_END_OF_LIST()
    },
};
