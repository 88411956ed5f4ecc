// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Granules of the memory: which are received, sent, watched and owned here, and
 * who wrote them last.
 *
 * A card on which nothing of this is in use looks at one flag with each update
 * (@planes_on_update) and at one with each store (@planes_on_store), and no
 * further.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qapi/error.h"
#include "rfm5565.h"
#include "trace.h"

/* The last writer: who it was, in one word. 0: not known. */
#define WHO_KNOWN       BIT_ULL(0)
#define WHO_OTHER_CLOCK BIT_ULL(1)
#define WHO_NODE_SHIFT  2
#define WHO_SEQ_SHIFT   10      /* 54 bits last for decades */

/* --- last writers --------------------------------------------------------- */

static void note_writer(Rfm5565State *s, uint32_t offset, unsigned len,
                        uint64_t who, uint64_t time_ns)
{
    Rfm5565Writer *writers = s->ext.writers;
    uint32_t last = (offset + len - 1) / RFM_GRANULE;

    for (uint32_t i = offset / RFM_GRANULE; i <= last; i++) {
        qatomic_set_u64(&writers[i].who, who | WHO_KNOWN);
        qatomic_set_u64(&writers[i].time_ns, time_ns);
    }
}

static void forget_writer(Rfm5565State *s, uint32_t offset, unsigned len)
{
    uint32_t last = (offset + len - 1) / RFM_GRANULE;

    for (uint32_t i = offset / RFM_GRANULE; i <= last; i++) {
        qatomic_set_u64(&s->ext.writers[i].who, 0);
    }
}

static void note_other(Rfm5565State *s, uint32_t offset, unsigned len,
                       const struct rfm_origin *origin)
{
    uint64_t who = (uint64_t)origin->node << WHO_NODE_SHIFT |
                   origin->seq << WHO_SEQ_SHIFT |
                   (origin->same_clock ? 0 : WHO_OTHER_CLOCK);

    note_writer(s, offset, len, who, origin->time_ns);
}

/*
 * They are kept if CONTROL says so. Under the BQL and without the lock: memory
 * may take long to get or to return, and frames of others do not wait for it.
 */
void rfm5565_planes_keep_writers(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    bool keep = ext->control & RFM_EXT_CONTROL_WRITERS;
    Rfm5565Writer *writers = NULL, *before = ext->writers;

    if (keep == !!before) {
        return;
    }
    if (keep) {
        /* Pages of it that are never written cost nothing. */
        writers = g_try_new0(Rfm5565Writer, ext->granules.count);
    }
    /* Under both locks neither a store nor an update is looking. */
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        ext->writers = writers;
        ext->control = writers ? RFM_EXT_CONTROL_WRITERS : 0;
        rfm5565_planes_refresh(s);
    }
    g_free(before);
}

/* The registers tell of the granule at writer_offset. */
void rfm5565_planes_look_up(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    const Rfm5565Writer *writer;
    uint64_t who;

    ext->writer_node = 0;
    ext->writer_seq = ext->writer_time = 0;
    if (!ext->writers || ext->writer_offset >= s->memory_size) {
        return;
    }
    writer = &ext->writers[ext->writer_offset / RFM_GRANULE];
    who = writer->who;
    if (!(who & WHO_KNOWN)) {
        return;
    }
    ext->writer_node = RFM_WRITER_KNOWN |
                       (who & WHO_OTHER_CLOCK ? RFM_WRITER_OTHER_CLOCK : 0) |
                       (who >> WHO_NODE_SHIFT & RFM_WRITER_NODE_M);
    ext->writer_seq = who >> WHO_SEQ_SHIFT;
    ext->writer_time = writer->time_ns;
}

/* The times that are known were taken by another clock than CLOCK. */
void rfm5565_planes_other_clock(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    for (uint32_t i = 0; ext->writers && i < ext->granules.count; i++) {
        if (ext->writers[i].who & WHO_KNOWN) {
            ext->writers[i].who |= WHO_OTHER_CLOCK;
        }
    }
    if (ext->writer_node & RFM_WRITER_KNOWN) {
        ext->writer_node |= RFM_WRITER_OTHER_CLOCK;
    }
}

/* --- updates of others: in a turn of the engine --------------------------- */

static void store_granules(Rfm5565State *s, const Rfm5565Update *update,
                           uint32_t offset, unsigned len)
{
    rfm5565_memory_put(s, offset, update->data + (offset - update->offset),
                       len);
    if (s->ext.writers) {
        note_other(s, offset, len, &update->origin);
    }
}

/*
 * Store the bytes that are received here. Returns whether a watched granule is
 * among them.
 */
static bool store_received(Rfm5565State *s, const Rfm5565Update *update)
{
    const struct rfm_granules *granules = &s->ext.granules;
    uint32_t offset = update->offset, end = offset + update->length;
    bool watched = false;

    while (offset < end) {
        bool on;
        unsigned len = rfm_granules_run(granules, RFM_GRANULES_RX, offset,
                                        end - offset, &on);

        if (on) {
            store_granules(s, update, offset, len);
            watched |= rfm_granules_any(granules, RFM_GRANULES_WATCH, offset,
                                        len);
        } else {
            s->ext.filtered_rx += len;
        }
        offset += len;
    }
    return watched;
}

/* The data is in the memory before a record of it is staged. */
static void store_and_tell(Rfm5565State *s, const Rfm5565Update *update)
{
    if (store_received(s, update)) {
        rfm5565_event_update(s, RFM_RECORD_UPDATE, update, 0, 0);
    }
}

/* Apart, because QEMU clears what is on the stack, and @touched is large. */
static void G_NO_INLINE store_for_slots(Rfm5565State *s,
                                        const Rfm5565Update *update)
{
    Rfm5565Touched touched;

    rfm5565_slots_before(s, update, &touched);
    store_and_tell(s, update);
    rfm5565_slots_after(s, update, &touched);
}

/* Is all of it received, and does nobody look there? */
static bool is_plain(const struct rfm_granules *granules, uint32_t offset,
                     unsigned len)
{
    bool on;

    return !rfm_granules_any(granules, RFM_GRANULES_WATCH, offset, len) &&
           !rfm_granules_any(granules, RFM_GRANULES_OWNED, offset, len) &&
           !rfm_granules_any(granules, RFM_GRANULES_SLOT, offset, len) &&
           rfm_granules_run(granules, RFM_GRANULES_RX, offset, len, &on) ==
           len && on;
}

static void apply_frame(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len, const struct rfm_origin *origin)
{
    const struct rfm_granules *granules = &s->ext.granules;
    const Rfm5565Update update = {
        .offset = offset, .length = len, .data = data, .origin = *origin,
    };

    if (rfm_granules_any(granules, RFM_GRANULES_SLOT, offset, len)) {
        store_for_slots(s, &update);
    } else {
        store_and_tell(s, &update);
    }
    if (rfm_granules_any(granules, RFM_GRANULES_OWNED, offset, len)) {
        s->ext.conflicts++;
        rfm5565_event_update(s, RFM_RECORD_CONFLICT, &update, 0, 0);
    }
}

/* An update, or as many as a train has: each is of the next number. */
void rfm5565_planes_apply(Rfm5565State *s, uint32_t offset, const void *data,
                          unsigned len, const struct rfm_origin *origin)
{
    bool plain = is_plain(&s->ext.granules, offset, len);
    struct rfm_origin each = *origin;
    const uint8_t *from = data;

    if (plain) {
        rfm5565_memory_put(s, offset, data, len);
    }
    while (len && (!plain || s->ext.writers)) {
        unsigned piece = MIN(len, RFM_FRAME_DATA_MAX);

        if (plain) {
            note_other(s, offset, piece, &each);
        } else {
            apply_frame(s, offset, from, piece, &each);
        }
        offset += piece;
        from += piece;
        len -= piece;
        each.seq++;
    }
}

/* --- operations of other nodes: under the lock ---------------------------- */

/* A WRITE of node @from has changed this memory, and no other: no event. */
void rfm5565_planes_written(Rfm5565State *s, uint8_t from, uint32_t offset,
                            uint32_t len)
{
    if (s->ext.writers) {
        note_writer(s, offset, len, (uint64_t)from << WHO_NODE_SHIFT,
                    rfm_node_clock(&s->node, rfm5565_now()));
    }
}

/* What a complete node has there, where this one receives. Nobody wrote it. */
void rfm5565_planes_merge(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                          uint32_t len)
{
    while (len) {
        bool on;
        unsigned piece = rfm_granules_run(&s->ext.granules, RFM_GRANULES_RX,
                                          offset, len, &on);

        if (on) {
            rfm5565_memory_merge(s, offset, data, piece);
            if (s->ext.writers) {
                forget_writer(s, offset, piece);
            }
        }
        offset += piece;
        data += piece;
        len -= piece;
    }
}

/*
 * --- own stores: of a CPU, under the BQL, without the lock; those that others
 * ask for with CAS and ADD, under the lock and the producer's ----------------
 */

/* Does any byte of it leave this node? */
bool rfm5565_planes_sends(Rfm5565State *s, uint32_t offset, unsigned len)
{
    return rfm_granules_any(&s->ext.granules, RFM_GRANULES_TX, offset, len);
}

/*
 * As rfm_node_store(), or with @run rfm5565_engine_store_run(), of what is
 * sent.
 */
static bool send_granules(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                          unsigned len, uint64_t now, bool run)
{
    bool fits = true;

    if (s->ext.writers) {
        note_writer(s, offset, len, (uint64_t)s->node_id << WHO_NODE_SHIFT,
                    rfm_node_clock(&s->node, now));
    }
    while (len) {
        bool on;
        unsigned piece = rfm_granules_run(&s->ext.granules, RFM_GRANULES_TX,
                                          offset, len, &on);

        if (on) {
            fits &= run
                  ? rfm5565_engine_store_run(s, offset, data, piece, now)
                  : rfm_node_store(&s->node, offset, data, piece, now);
        } else {
            s->ext.filtered_tx += piece;
        }
        offset += piece;
        data += piece;
        len -= piece;
    }
    return fits;
}

bool rfm5565_planes_store(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                          unsigned len, uint64_t now)
{
    return send_granules(s, offset, data, len, now, false);
}

bool rfm5565_planes_store_run(Rfm5565State *s, uint32_t offset,
                              const uint8_t *data, unsigned len, uint64_t now)
{
    return send_granules(s, offset, data, len, now, true);
}

/* --- planes: under both locks --------------------------------------------- */

/* Which way updates and stores take from now on. */
void rfm5565_planes_refresh(Rfm5565State *s)
{
    const struct rfm_granules *granules = &s->ext.granules;

    s->planes_on_store = s->ext.writers ||
                  rfm_granules_is_changed(granules, RFM_GRANULES_TX);
    s->ext.planes_on_update = s->ext.writers ||
                      rfm_granules_is_changed(granules, RFM_GRANULES_RX) ||
                      rfm_granules_is_changed(granules, RFM_GRANULES_WATCH) ||
                      rfm_granules_is_changed(granules, RFM_GRANULES_OWNED) ||
                      rfm_granules_is_changed(granules, RFM_GRANULES_SLOT);
}

/* Returns what the register RANGE_COMMAND then reads. */
uint32_t rfm5565_planes_command(Rfm5565State *s, uint32_t command)
{
    uint32_t offset = s->ext.range_offset, length = s->ext.range_length;
    uint32_t plane = command & ~RFM_EXT_RANGE_ON;

    if (plane >= RFM_PLANES) {
        rfm5565_guest_error(s, "RANGE_COMMAND of 0x%x", command);
        return RFM_EXT_RANGE_BAD_COMMAND;
    }
    if (!length || offset % RFM_GRANULE || length % RFM_GRANULE ||
        (uint64_t)offset + length > s->memory_size) {
        rfm5565_guest_error(s, "no granules are 0x%x bytes at 0x%x", length,
                            offset);
        return RFM_EXT_RANGE_BAD_RANGE;
    }
    trace_rfm5565_range(s->node_id, plane, offset, length,
                        !!(command & RFM_EXT_RANGE_ON));
    rfm_granules_set(&s->ext.granules, rfm5565_plane(plane),
                     offset / RFM_GRANULE,
                     length / RFM_GRANULE, command & RFM_EXT_RANGE_ON);
    rfm5565_planes_refresh(s);
    return RFM_EXT_RANGE_DONE;
}

/* --- lifecycle ------------------------------------------------------------ */

bool rfm5565_planes_init(Rfm5565State *s, Error **errp)
{
    QEMU_BUILD_BUG_ON(RFM_PLANE_RX != (int)RFM_GRANULES_RX ||
                      RFM_PLANE_TX != (int)RFM_GRANULES_TX ||
                      RFM_PLANE_WATCH != (int)RFM_GRANULES_WATCH ||
                      RFM_PLANE_OWNED != (int)RFM_GRANULES_OWNED ||
                      RFM_PLANE_READ != RFM_GRANULES_READ - 1 ||
                      RFM_PLANE_WRITE != RFM_GRANULES_WRITE - 1 ||
                      RFM_PLANE_HOME != RFM_GRANULES_HOME - 1 ||
                      RFM_GRANULE != RFM_GRANULES_BYTES);

    if (rfm_granules_init(&s->ext.granules, s->memory_size)) {
        error_setg_errno(errp, errno, "rfm5565: no memory for the granules");
        return false;
    }
    return true;
}

void rfm5565_planes_exit(Rfm5565State *s)
{
    g_clear_pointer(&s->ext.writers, g_free);
    rfm_granules_destroy(&s->ext.granules);
}

void rfm5565_planes_reset(Rfm5565State *s)
{
    rfm_granules_reset(&s->ext.granules);
    rfm5565_planes_refresh(s);
}
