// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The extension block: how it is found, and its registers. docs/extension.md is
 * the reference.
 *
 * An access is one register, or half of one of 64 bits, and nothing else.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "system/runstate.h"
#include "rfm5565.h"
#include "rfm5565-regbank.h"
#include "trace.h"

/* --- clock and interrupts ------------------------------------------------- */

/* The upper half belongs to the lower one that was read before it. */
static uint64_t clock_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    if (op->mask & 1) {
        s->ext.clock = rfm_node_clock(&s->node, rfm5565_now());
    }
    return s->ext.clock;
}

static uint64_t clock_domain_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->node.config.clock_domain;
}

static uint64_t event_made_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return (uint32_t)(s->ext.producer + s->ext.staged_count);
}

static void int_status_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    s->ext.int_status &= ~op->value;
}

/* What waits to be announced may go now. */
static void moderation_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    if (s->ext.moderation_count > UINT16_MAX) {
        rfm5565_guest_error(s, "MODERATION_COUNT of %u has more than 16 bits",
                            s->ext.moderation_count);
        s->ext.moderation_count = UINT16_MAX;
    }
    rfm5565_events_schedule(s);
}

static void int_enable_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_events_schedule(s);
}

/* --- event ring ----------------------------------------------------------- */

static void event_control_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    bool on = op->value & RFM_EXT_EVENT_ENABLE;

    if (on != !!(s->ext.event_control & RFM_EXT_EVENT_ENABLE)) {
        s->ext.event_control = on ? RFM_EXT_EVENT_ENABLE : 0;
        rfm5565_events_enable(s, on);
    }
}

static void consumer_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_events_consumed(s);
}

/* --- granules, slots, writers --------------------------------------------- */

static void range_command_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    s->ext.range_result = rfm5565_planes_command(s, op->value);
}

static uint64_t range_bits_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return rfm_granules_word(&s->ext.granules, op->index,
                             s->ext.range_offset / RFM_GRANULE);
}

static uint64_t range_rights_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return rfm_granules_word(&s->ext.granules,
                             rfm5565_plane(RFM_PLANE_READ + op->index),
                             s->ext.range_offset / RFM_GRANULE);
}

static void slot_index_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    if (op->value < RFM_EXT_SLOTS) {
        rfm5565_slots_select(s, op->value);
    } else {
        rfm5565_guest_error(s, "there is no slot %" PRIu64, op->value);
    }
}

static uint64_t slot_control_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->ext.slots[s->ext.slot_index].control;
}

static void slot_control_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_slots_arm(s, op->value);
    rfm5565_planes_refresh(s);
}

static void slot_setting_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    s->ext.slots[s->ext.slot_index].setting = s->ext.slot_setting;
}

static void writer_offset_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_planes_look_up(s);
}

/* --- multicast ------------------------------------------------------------ */

static void multicast_send_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    uint8_t type = op->value & RFM_NIC_TYPE_M;
    Rfm5565Command command = {
        .multicast = true, .kind = type, .data = s->ext.multicast_data,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(s->ext.multicast_set); i++) {
        stl_le_p(command.set + 4 * i, s->ext.multicast_set[i]);
    }
    trace_rfm5565_multicast(s->node_id, type, s->ext.multicast_data);
    rfm5565_burst_interrupt(s, &command);
}

/* --- fences --------------------------------------------------------------- */

static void fence_done(Rfm5565State *s, uint32_t ticket, uint32_t result)
{
    trace_rfm5565_fence(s->node_id, ticket, result);
    s->ext.fence_done = ticket;
    /* A query that is over stays over, however many fences follow. */
    if ((int32_t)(ticket - s->ext.query_fence) >= 0) {
        s->ext.query_fence = ticket;
    }
    s->ext.fence_result = result;
    rfm5565_event_plain(s, RFM_RECORD_FENCE, RFM_RECORD_NODE_NONE, ticket, 0);
}

/* The upper half tells what was begun before a reset from what was after. */
static uint64_t ticket_of(const Rfm5565Ext *ext, uint32_t number)
{
    return (uint64_t)ext->reset_generation << 32 | number;
}

/* A fence behind everything that was stored so far. Under both locks. */
static void fence_start(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    ext->fence_waiting = false;
    ext->fence_running = rfm_node_fence(&s->node,
                                        ticket_of(ext, ext->fence_ticket),
                                        rfm5565_now());
    if (!ext->fence_running) {
        fence_done(s, ext->fence_ticket, RFM_FENCE_DARK);
    }
}

/* The engine takes one at a time; the next one stands for all since. */
static void fence_begin_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    Rfm5565Ext *ext = &s->ext;

    ext->fence_ticket++;
    ext->fence_behind = rfm5565_burst_ask(s);
    if (ext->fence_running || !rfm5565_burst_is_past(s, ext->fence_behind)) {
        ext->fence_waiting = true;
    } else {
        fence_start(s);
    }
}

/* In a turn of the engine. One that was begun before a reset is dropped. */
void rfm5565_ext_fence_ended(Rfm5565State *s,
                             const struct rfm_fence_result *fence)
{
    Rfm5565Ext *ext = &s->ext;
    bool dark = atomic_load_explicit(&s->node.insert.offline,
                                     memory_order_relaxed);

    ext->fence_running = false;
    if (fence->ticket >> 32 == ext->reset_generation) {
        uint64_t lost = fence->lost + ext->fence_lost_carried;

        ext->fence_lost_carried = 0;
        ext->fence_lost += lost;
        fence_done(s, fence->ticket,
                   (lost ? RFM_FENCE_LOST : 0) |
                   (fence->paused ? RFM_FENCE_PAUSED : 0) |
                   (fence->epoch_changed ? RFM_FENCE_EPOCH_CHANGED : 0) |
                   (dark ? RFM_FENCE_DARK : 0));
    }
    /* Stores come from under the BQL, and so does the next fence. */
    if (ext->fence_waiting) {
        qemu_bh_schedule(s->main_work_bh);
    }
}

/* Under both locks. While the guest stands still it waits. */
void rfm5565_ext_fence_next(Rfm5565State *s)
{
    if (s->ext.fence_waiting && !s->ext.fence_running &&
        rfm5565_burst_is_past(s, s->ext.fence_behind) &&
        runstate_is_running() && !rfm5565_is_unreachable(s)) {
        fence_start(s);
    }
}

/*
 * Own frames that no fence has told of and that are not home: what the next
 * one has to tell of if the card left the ring now. Under the lock.
 */
uint64_t rfm5565_ext_fence_unreported(const Rfm5565State *s)
{
    const struct rfm_node_stats stats = rfm_node_read_stats(&s->node);

    return s->ext.fence_lost_carried + stats.sent - stats.home -
           s->node.fence_lost + rfm_insert_used(&s->node.insert);
}

/* --- queries -------------------------------------------------------------- */

/*
 * What stands in the memory of every node, as a checksum. The answers are kept
 * in registers, one set a node; a fence that the guest begins behind the query
 * tells it that all have come.
 */

static void keep_answer(Rfm5565Ext *ext, uint8_t from,
                        const struct rfm_answer *answer)
{
    ext->answered[from / 32] |= 1u << from % 32;
    ext->answers[from] = (Rfm5565Answer) {
        .crc = answer->crc,
        .state = answer->bytes | (answer->paused ? RFM_ANSWER_PAUSED : 0),
        .first = ldq_le_p(answer->first),
    };
}

/* Has the fence come that ends the last one? */
static bool query_is_over(const Rfm5565Ext *ext)
{
    return (int32_t)(ext->fence_done - ext->query_fence) >= 0;
}

static void query_begin_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    Rfm5565Ext *ext = &s->ext;
    uint32_t offset = ext->query_offset, length = ext->query_length;
    struct rfm_answer own;

    if (!query_is_over(ext)) {
        return;
    }
    if (!length || length > RFM_EXT_QUERY_LENGTH_MAX ||
        offset >= s->memory_size || length > s->memory_size - offset) {
        rfm5565_guest_error(s, "a query of 0x%x bytes at 0x%x", length, offset);
        return;
    }
    /* No answer can have come yet: the engine needs the lock for it. */
    if (!rfm_node_query(&s->node, ticket_of(ext, ext->queries + 1), offset,
                        length, rfm5565_now())) {
        return;
    }
    trace_rfm5565_query(s->node_id, offset, length);
    memset(ext->answered, 0, sizeof(ext->answered));
    memset(ext->answers, 0, sizeof(ext->answers));
    ext->queries++;
    ext->query_fence = ext->fence_ticket + 1;
    rfm_node_digest(&s->node, offset, length, &own);
    keep_answer(ext, s->node_id, &own);
}

/* In a turn of the engine. An answer to an earlier query is dropped. */
void rfm5565_query_answered(Rfm5565State *s, uint8_t from,
                            const struct rfm_answer *answer)
{
    trace_rfm5565_answer(s->node_id, from, answer->crc, answer->bytes);
    if (answer->ticket == ticket_of(&s->ext, s->ext.queries)) {
        keep_answer(&s->ext, from, answer);
    }
}

/* --- requests ------------------------------------------------------------- */

static void request_control_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_requests_control(s, op->value);
}

static void request_begin_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_requests_begin(s, op->value);
}

static void request_cancel_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_requests_cancel(s, op->value);
}

/* --- the burst range ------------------------------------------------------ */

static uint64_t burst_flush_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->burst.asked;
}

static uint64_t burst_flushed_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->burst.done;
}

static uint64_t burst_now_offset_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->burst.shown ? s->burst.at : 0;
}

static uint64_t burst_now_length_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->burst.shown ? s->burst.size : 0;
}

static void burst_command_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_burst_command(s);
}

static void burst_period_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    uint32_t *period = &s->burst.period;

    if (*period < RFM_EXT_BURST_PERIOD_MIN ||
        *period > RFM_EXT_BURST_PERIOD_MAX) {
        rfm5565_guest_error(s, "BURST_PERIOD of %u us", *period);
        *period = MIN(MAX(*period, RFM_EXT_BURST_PERIOD_MIN),
                      RFM_EXT_BURST_PERIOD_MAX);
    }
    rfm5565_burst_set_period(s);
}

static void burst_flush_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_burst_flush(s);
}

/* --- snapshots ------------------------------------------------------------ */

static uint64_t epoch_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->node.epoch;
}

static void snapshot_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    s->ext.snapshots++;
    rfm5565_snapshot(s);
}

/* --- the table ------------------------------------------------------------ */

#define FIELD_OF(member) offsetof(Rfm5565State, ext.member)
#define REMOTE_FIELD(member) offsetof(Rfm5565State, remote.member)
#define BURST_FIELD(member) offsetof(Rfm5565State, burst.member)
#define ALL32 UINT32_MAX
#define ALL64 UINT64_MAX
#define NODE_REG(reg, reg_width, member) \
    { .name = "NODE_" #reg, .width = reg_width, \
      .offset = RFM_EXT_NODE(0) + RFM_EXT_NODE_ ## reg, \
      .count = RFM_RING_NODES, .stride = RFM_EXT_NODE(1) - RFM_EXT_NODE(0), \
      .field = FIELD_OF(nodes[0].member) }
#define NODE_TIME_REG(reg, member) \
    { .name = "NODE_" #reg, .width = 8, .offset = RFM_EXT_NODE_ ## reg(0), \
      .count = RFM_RING_NODES, \
      .stride = RFM_EXT_NODE_ ## reg(1) - RFM_EXT_NODE_ ## reg(0), \
      .field = FIELD_OF(node_times[0].member) }
#define ANSWER_REG(reg, reg_width, member) \
    { .name = "ANSWER_" #reg, .width = reg_width, \
      .offset = RFM_EXT_ANSWER(0) + RFM_EXT_ANSWER_ ## reg, \
      .count = RFM_RING_NODES, \
      .stride = RFM_EXT_ANSWER(1) - RFM_EXT_ANSWER(0), \
      .field = FIELD_OF(answers[0].member) }
#define SLOT_REG(reg, reg_width, member) \
    { .name = "SLOT_" #reg, .offset = RFM_EXT_SLOT_ ## reg, \
      .width = reg_width, .field = FIELD_OF(slot_setting.member), \
      .writable = ALL64, .write = slot_setting_write }

static const Rfm5565Reg ext_regs[] = {
    { .name = "ID", .offset = RFM_EXT_ID, .width = 4, .reset = RFM_EXT_MAGIC },
    { .name = "VERSION", .offset = RFM_EXT_ID + 4, .width = 4,
      .reset = RFM_EXT_VERSION },
    { .name = "FEATURES", .offset = RFM_EXT_ID + 8, .width = 4,
      .reset = RFM_EXT_FEATURES },
    { .name = "CONTROL", .offset = RFM_EXT_CONTROL, .width = 4,
      .field = FIELD_OF(control), .writable = RFM_EXT_CONTROL_WRITERS },
    { .name = "CLOCK", .offset = RFM_EXT_CLOCK, .width = 8,
      .read = clock_read },
    { .name = "CLOCK_DOMAIN", .offset = RFM_EXT_CLOCK_DOMAIN, .width = 4,
      .read = clock_domain_read },

    { .name = "INT_STATUS", .offset = RFM_EXT_INT_STATUS, .width = 4,
      .field = FIELD_OF(int_status), .write = int_status_write },
    { .name = "INT_ENABLE", .offset = RFM_EXT_INT_ENABLE, .width = 4,
      .field = FIELD_OF(int_enable),
      .writable = MAKE_64BIT_MASK(0, RFM_VECTORS), .write = int_enable_write },
    { .name = "MODERATION_COUNT", .offset = RFM_EXT_MODERATION_COUNT,
      .width = 4, .field = FIELD_OF(moderation_count), .writable = ALL32,
      .write = moderation_write },
    { .name = "MODERATION_TIME", .offset = RFM_EXT_MODERATION_TIME,
      .width = 4, .field = FIELD_OF(moderation_time), .writable = ALL32,
      .write = moderation_write },

    { .name = "EVENT_BASE", .offset = RFM_EXT_EVENT_BASE, .width = 8,
      .field = FIELD_OF(event_base), .writable = ALL64 },
    { .name = "EVENT_SIZE", .offset = RFM_EXT_EVENT_SIZE, .width = 4,
      .field = FIELD_OF(event_size), .writable = ALL32 },
    { .name = "EVENT_CONTROL", .offset = RFM_EXT_EVENT_CONTROL, .width = 4,
      .field = FIELD_OF(event_control), .write = event_control_write },
    { .name = "EVENT_TYPES", .offset = RFM_EXT_EVENT_TYPES, .width = 4,
      .field = FIELD_OF(event_types),
      .writable = MAKE_64BIT_MASK(0, RFM_RECORD_TYPES) },
    { .name = "EVENT_CONSUMER", .offset = RFM_EXT_EVENT_CONSUMER, .width = 4,
      .field = FIELD_OF(consumer), .writable = ALL32,
      .write = consumer_write },
    { .name = "EVENT_PRODUCER", .offset = RFM_EXT_EVENT_PRODUCER, .width = 4,
      .field = FIELD_OF(producer) },
    { .name = "EVENT_STATUS", .offset = RFM_EXT_EVENT_STATUS, .width = 4,
      .field = FIELD_OF(event_status) },
    { .name = "EVENT_DROPPED", .offset = RFM_EXT_EVENT_DROPPED, .width = 8,
      .field = FIELD_OF(dropped) },
    { .name = "EVENT_MADE", .offset = RFM_EXT_EVENT_MADE, .width = 4,
      .read = event_made_read },

    { .name = "RANGE_OFFSET", .offset = RFM_EXT_RANGE_OFFSET, .width = 4,
      .field = FIELD_OF(range_offset), .writable = ALL32 },
    { .name = "RANGE_LENGTH", .offset = RFM_EXT_RANGE_LENGTH, .width = 4,
      .field = FIELD_OF(range_length), .writable = ALL32 },
    { .name = "RANGE_COMMAND", .offset = RFM_EXT_RANGE_COMMAND, .width = 4,
      .field = FIELD_OF(range_result), .write = range_command_write },
    { .name = "RANGE_BITS", .offset = RFM_EXT_RANGE_BITS(0), .width = 4,
      .count = RFM_PLANE_READ, .stride = 4, .read = range_bits_read },
    { .name = "RANGE_RIGHTS", .offset = RFM_EXT_RANGE_BITS(RFM_PLANE_READ),
      .width = 4, .count = RFM_PLANES - RFM_PLANE_READ, .stride = 4,
      .read = range_rights_read },

    { .name = "SLOT_INDEX", .offset = RFM_EXT_SLOT_INDEX, .width = 4,
      .field = FIELD_OF(slot_index), .write = slot_index_write },
    { .name = "SLOT_CONTROL", .offset = RFM_EXT_SLOT_CONTROL, .width = 4,
      .read = slot_control_read, .write = slot_control_write },
    SLOT_REG(OFFSET, 4, offset),
    SLOT_REG(LENGTH, 4, length),
    SLOT_REG(MASK, 8, mask),
    SLOT_REG(VALUE, 8, value),
    SLOT_REG(SILENCE, 8, silence),

    { .name = "WRITER_OFFSET", .offset = RFM_EXT_WRITER_OFFSET, .width = 4,
      .field = FIELD_OF(writer_offset), .writable = ALL32,
      .write = writer_offset_write },
    { .name = "WRITER_NODE", .offset = RFM_EXT_WRITER_NODE, .width = 4,
      .field = FIELD_OF(writer_node) },
    { .name = "WRITER_SEQ", .offset = RFM_EXT_WRITER_SEQ, .width = 8,
      .field = FIELD_OF(writer_seq) },
    { .name = "WRITER_TIME", .offset = RFM_EXT_WRITER_TIME, .width = 8,
      .field = FIELD_OF(writer_time) },

    { .name = "MULTICAST_SET", .offset = RFM_EXT_MULTICAST_SET(0), .width = 4,
      .count = RFM_RING_NODES / 32, .stride = 4,
      .field = FIELD_OF(multicast_set), .writable = ALL32 },
    { .name = "MULTICAST_DATA", .offset = RFM_EXT_MULTICAST_DATA, .width = 4,
      .field = FIELD_OF(multicast_data), .writable = ALL32 },
    { .name = "MULTICAST_SEND", .offset = RFM_EXT_MULTICAST_SEND, .width = 4,
      .field = FIELD_OF(multicast_send), .writable = RFM_NIC_TYPE_M,
      .write = multicast_send_write },

    { .name = "FENCE_BEGIN", .offset = RFM_EXT_FENCE_BEGIN, .width = 4,
      .field = FIELD_OF(fence_ticket), .write = fence_begin_write },
    { .name = "FENCE_DONE", .offset = RFM_EXT_FENCE_DONE, .width = 4,
      .field = FIELD_OF(fence_done) },
    { .name = "FENCE_LOST", .offset = RFM_EXT_FENCE_LOST, .width = 8,
      .field = FIELD_OF(fence_lost) },
    { .name = "FENCE_RESULT", .offset = RFM_EXT_FENCE_RESULT, .width = 4,
      .field = FIELD_OF(fence_result) },
    { .name = "EPOCH", .offset = RFM_EXT_EPOCH, .width = 4,
      .read = epoch_read },

    { .name = "QUERY_OFFSET", .offset = RFM_EXT_QUERY_OFFSET, .width = 4,
      .field = FIELD_OF(query_offset), .writable = ALL32 },
    { .name = "QUERY_LENGTH", .offset = RFM_EXT_QUERY_LENGTH, .width = 4,
      .field = FIELD_OF(query_length), .writable = ALL32 },
    { .name = "QUERY_BEGIN", .offset = RFM_EXT_QUERY_BEGIN, .width = 4,
      .field = FIELD_OF(queries), .write = query_begin_write },
    { .name = "QUERY_ANSWERED", .offset = RFM_EXT_QUERY_ANSWERED(0),
      .width = 4, .count = RFM_RING_NODES / 32, .stride = 4,
      .field = FIELD_OF(answered) },
    ANSWER_REG(CRC, 4, crc),
    ANSWER_REG(STATE, 4, state),
    ANSWER_REG(FIRST, 8, first),

    { .name = "REQUEST_BASE", .offset = RFM_EXT_REQUEST_BASE, .width = 8,
      .field = REMOTE_FIELD(base), .writable = ALL64 },
    { .name = "REQUEST_CONTROL", .offset = RFM_EXT_REQUEST_CONTROL, .width = 4,
      .field = REMOTE_FIELD(control), .write = request_control_write },
    { .name = "REQUEST_STATUS", .offset = RFM_EXT_REQUEST_STATUS, .width = 4,
      .field = REMOTE_FIELD(status) },
    { .name = "REQUEST_BEGIN", .offset = RFM_EXT_REQUEST_BEGIN, .width = 4,
      .write = request_begin_write },
    { .name = "REQUEST_CANCEL", .offset = RFM_EXT_REQUEST_CANCEL, .width = 4,
      .write = request_cancel_write },

    { .name = "BURST_OFFSET", .offset = RFM_EXT_BURST_OFFSET, .width = 4,
      .field = BURST_FIELD(offset), .writable = ALL32 },
    { .name = "BURST_LENGTH", .offset = RFM_EXT_BURST_LENGTH, .width = 4,
      .field = BURST_FIELD(length), .writable = ALL32 },
    { .name = "BURST_COMMAND", .offset = RFM_EXT_BURST_COMMAND, .width = 4,
      .field = BURST_FIELD(result), .write = burst_command_write },
    { .name = "BURST_PERIOD", .offset = RFM_EXT_BURST_PERIOD, .width = 4,
      .field = BURST_FIELD(period), .writable = ALL32,
      .write = burst_period_write },
    { .name = "BURST_FLUSH", .offset = RFM_EXT_BURST_FLUSH, .width = 4,
      .read = burst_flush_read, .write = burst_flush_write },
    { .name = "BURST_FLUSHED", .offset = RFM_EXT_BURST_FLUSHED, .width = 4,
      .read = burst_flushed_read },
    { .name = "BURST_NOW_OFFSET", .offset = RFM_EXT_BURST_NOW_OFFSET,
      .width = 4, .read = burst_now_offset_read },
    { .name = "BURST_NOW_LENGTH", .offset = RFM_EXT_BURST_NOW_LENGTH,
      .width = 4, .read = burst_now_length_read },

    { .name = "SNAPSHOT", .offset = RFM_EXT_SNAPSHOT, .width = 4,
      .field = FIELD_OF(snapshots), .write = snapshot_write },
    { .name = "COUNTER", .offset = RFM_EXT_COUNTER(0), .width = 8,
      .count = RFM_COUNTERS, .stride = 8, .field = FIELD_OF(counters) },
    NODE_REG(STATE, 4, state),
    NODE_REG(DOMAIN, 4, domain),
    NODE_REG(TRANSIT, 8, transit_ns),
    NODE_REG(RECEIVED, 8, received),
    NODE_REG(MISSED, 8, missed),
    { .name = "COUNTER_TIME", .offset = RFM_EXT_COUNTER_TIME(0), .width = 8,
      .count = RFM_COUNTERS, .stride = 8, .field = FIELD_OF(counter_times) },
    NODE_TIME_REG(HEARD, heard),
    NODE_TIME_REG(BROKE, broke),
};

/* What may take long, without the lock */
static void ext_written(Rfm5565State *s)
{
    rfm5565_planes_keep_writers(s);
    rfm5565_burst_update(s);
}

static const Rfm5565Bank ext_bank = {
    .bar = RFM_BAR_EXTENSION,
    .regs = ext_regs,
    .count = ARRAY_SIZE(ext_regs),
    .exact = true,
    .written = ext_written,
};

static uint64_t ext_read(void *opaque, hwaddr addr, unsigned size)
{
    if (addr == RFM_EXT_REQUEST_STATUS && size == 4) {
        rfm5565_remote_look(opaque);
    }
    return rfm5565_bank_read(opaque, &ext_bank, addr, size);
}

static void ext_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    rfm5565_bank_write(opaque, &ext_bank, addr, value, size);
    if (addr == RFM_EXT_REQUEST_BEGIN && size == 4) {
        rfm5565_remote_begun(opaque);
    }
}

/* Unaligned, so that we see what the guest did, and answer it as we say. */
static const MemoryRegionOps ext_ops = {
    .read = ext_read,
    .write = ext_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* --- lifecycle ------------------------------------------------------------ */

/* Under both locks, as a part of the reset of all registers. */
void rfm5565_ext_reset(Rfm5565State *s)
{
    if (!s->extension) {
        return;
    }
    rfm5565_bank_reset(s, &ext_bank);
    rfm5565_requests_disable(s);
    s->ext.clock = 0;
    rfm5565_irq_reset(s);
    rfm5565_events_reset(s);
    rfm5565_slots_reset(s);
    rfm5565_planes_reset(s);
    rfm5565_burst_reset(s);
    s->ext.reset_generation++;
    s->ext.fence_waiting = false;
    s->ext.fence_lost_carried = 0;
    s->ext.query_fence = 0;
}

/* CLOCK is another than that of all times so far. Under both locks. */
void rfm5565_ext_other_clock(Rfm5565State *s)
{
    rfm5565_planes_other_clock(s);
    rfm5565_slots_other_clock(s);
    rfm5565_events_other_clock(s);
    memset(s->ext.counter_times, 0, sizeof(s->ext.counter_times));
    memset(s->ext.node_times, 0, sizeof(s->ext.node_times));
}

/* Under the BQL. */
void rfm5565_ext_set_running(Rfm5565State *s, bool running)
{
    if (!s->extension) {
        return;
    }
    rfm5565_lock(s);
    rfm5565_run_freeze(s, !running);
    if (running) {
        rfm5565_events_schedule(s);
        qemu_bh_schedule(s->main_work_bh);
    }
    rfm5565_update_and_unlock(s);
}

static void add_vendor_capability(PCIDevice *pci)
{
    int at = pci_add_capability(pci, PCI_CAP_ID_VNDR, 0, RFM_EXT_CAP_LENGTH,
                                &error_abort);
    uint8_t *cap = pci->config + at;

    pci_set_byte(cap + PCI_CAP_FLAGS, RFM_EXT_CAP_LENGTH);
    pci_set_byte(cap + RFM_EXT_CAP_BAR, RFM_BAR_EXTENSION);
    pci_set_long(cap + RFM_EXT_CAP_MAGIC, RFM_EXT_MAGIC);
    pci_set_long(cap + RFM_EXT_CAP_VERSION, RFM_EXT_VERSION);
    pci_set_long(cap + RFM_EXT_CAP_FEATURES, RFM_EXT_FEATURES);
    pci_set_long(cap + RFM_EXT_CAP_OFFSET, 0);
}

/*
 * BAR4 with its two capabilities. Without an interrupt controller that takes
 * messages there is no MSI-X; INTx does it then.
 */
static void init_bar(Rfm5565State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    Rfm5565Ext *ext = &s->ext;

    memory_region_init(&ext->bar, OBJECT(s), "rfm5565-extension",
                       RFM_EXT_BAR_SIZE);
    memory_region_init_io(&ext->regs, OBJECT(s), &ext_ops, s,
                          "rfm5565-extension-registers", RFM_EXT_BAR_SIZE);
    memory_region_add_subregion_overlap(&ext->bar, 0, &ext->regs, -1);
    add_vendor_capability(pci);
    ext->has_msix = !msix_init(pci, RFM_VECTORS, &ext->bar, RFM_BAR_EXTENSION,
                               RFM_EXT_MSIX_TABLE, &ext->bar,
                               RFM_BAR_EXTENSION, RFM_EXT_MSIX_PBA, 0, NULL);
    for (unsigned i = 0; ext->has_msix && i < RFM_VECTORS; i++) {
        msix_vector_use(pci, i);
    }
    pci_register_bar(pci, RFM_BAR_EXTENSION, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &ext->bar);
}

/* Before the engine begins. If it fails, rfm5565_ext_exit() is due too. */
bool rfm5565_ext_init(Rfm5565State *s, Error **errp)
{
    if (!s->extension) {
        return true;
    }
    init_bar(s);
    rfm5565_irq_init(s);
    rfm5565_events_init(s);
    return rfm5565_planes_init(s, errp);
}

/* After the engine has ended. */
void rfm5565_ext_exit(Rfm5565State *s)
{
    if (!s->extension) {
        return;
    }
    rfm5565_irq_exit(s);
    rfm5565_events_exit(s);
    rfm5565_planes_exit(s);
    g_clear_pointer(&s->ext.moment, g_free);
    if (s->ext.has_msix) {
        msix_uninit(PCI_DEVICE(s), &s->ext.bar, &s->ext.bar);
        s->ext.has_msix = false;
    }
    /* It refers to the card as long as it is in there. */
    memory_region_del_subregion(&s->ext.bar, &s->ext.regs);
}
