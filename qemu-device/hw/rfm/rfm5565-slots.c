// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slots: comparators, which look at an update, and timers, which miss one.
 *
 * Timers run in the engine's context, so that they are on time while the ring,
 * or its peer, is not. They measure run time, which stands still while the
 * guest does, migration included.
 */

#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "system/runstate.h"
#include "rfm5565.h"
#include "trace.h"

/* --- run time ------------------------------------------------------------- */

static uint64_t run_time(const Rfm5565State *s)
{
    return s->ext.frozen ? s->ext.frozen_at : rfm5565_now() - s->ext.skipped;
}

static uint32_t slot_mode(const Rfm5565Slot *slot)
{
    return slot->control & RFM_SLOT_MODE_M;
}

static bool slot_is_stale(const Rfm5565Slot *slot)
{
    return slot->control & RFM_SLOT_STALE;
}

/* Wake the timer for @slot, unless it is to be woken earlier. */
static void await(Rfm5565State *s, const Rfm5565Slot *slot)
{
    if (slot_mode(slot) == RFM_SLOT_TIMER && !slot_is_stale(slot) &&
        !s->ext.frozen) {
        timer_mod_anticipate_ns(s->ext.silence, slot->touched +
                                slot->armed.silence + s->ext.skipped);
    }
}

static void await_all(Rfm5565State *s)
{
    for (unsigned i = find_first_bit(s->ext.armed, RFM_EXT_SLOTS);
         i < RFM_EXT_SLOTS;
         i = find_next_bit(s->ext.armed, RFM_EXT_SLOTS, i + 1)) {
        await(s, &s->ext.slots[i]);
    }
}

void rfm5565_run_freeze(Rfm5565State *s, bool freeze)
{
    Rfm5565Ext *ext = &s->ext;

    if (freeze == ext->frozen) {
        return;
    }
    if (freeze) {
        ext->frozen_at = run_time(s);
        ext->frozen = true;
        timer_del(ext->silence);
    } else {
        ext->skipped = rfm5565_now() - ext->frozen_at;
        ext->frozen = false;
        await_all(s);
    }
}

/* --- updates of others: in a turn of the engine, under the lock ----------- */

static uint64_t value_at(const Rfm5565State *s, const Rfm5565Slot *slot)
{
    return ldn_le_p(s->ram + slot->armed.offset, slot->armed.length) &
           slot->armed.mask;
}

/* Does the update store a byte that the slot looks at? */
static bool touches(const Rfm5565State *s, const Rfm5565Slot *slot,
                    const Rfm5565Update *update)
{
    uint32_t first = MAX(slot->armed.offset, update->offset);
    uint32_t end = MIN(slot->armed.offset + slot->armed.length,
                       update->offset + update->length);

    return first < end && rfm_granules_any(&s->ext.granules, RFM_GRANULES_RX,
                                           first, end - first);
}

/* Before the update is stored. */
void rfm5565_slots_before(Rfm5565State *s, const Rfm5565Update *update,
                          Rfm5565Touched *touched)
{
    touched->count = 0;
    for (unsigned i = find_first_bit(s->ext.armed, RFM_EXT_SLOTS);
         i < RFM_EXT_SLOTS;
         i = find_next_bit(s->ext.armed, RFM_EXT_SLOTS, i + 1)) {
        const Rfm5565Slot *slot = &s->ext.slots[i];

        if (!touches(s, slot, update)) {
            continue;
        }
        if (slot_mode(slot) != RFM_SLOT_TIMER) {
            touched->before[touched->count] = value_at(s, slot);
        }
        touched->slot[touched->count++] = i;
    }
}

static bool has_matched(const Rfm5565Slot *slot, uint64_t before,
                        uint64_t after)
{
    uint64_t value = slot->armed.value;

    switch (slot_mode(slot)) {
    case RFM_SLOT_EQUAL:
        return before != value && after == value;
    case RFM_SLOT_NOT_EQUAL:
        return before == value && after != value;
    default:
        return before != after;
    }
}

static void feed_timer(Rfm5565State *s, Rfm5565Slot *slot, unsigned index,
                       const Rfm5565Update *update)
{
    const struct rfm_origin *origin = &update->origin;
    uint64_t now = run_time(s);

    if (slot_is_stale(slot)) {
        rfm5565_event_update(s, RFM_RECORD_FRESH, update, index,
                             now - slot->touched);
        slot->control &= ~RFM_SLOT_STALE;
        slot->touched = now;
        await(s, slot);
    }
    slot->touched = now;
    slot->last_offset = update->offset;
    slot->last_length = update->length;
    slot->last_node = origin->node;
    slot->last_flags = origin->same_clock ? 0 : RFM_RECORD_OTHER_CLOCK;
    slot->last_seq = origin->seq;
    slot->last_origin_ns = origin->time_ns;
    slot->last_arrival_ns = origin->arrival_ns;
}

/* After it was stored: first all matches, then timers. */
void rfm5565_slots_after(Rfm5565State *s, const Rfm5565Update *update,
                         const Rfm5565Touched *touched)
{
    for (unsigned i = 0; i < touched->count; i++) {
        Rfm5565Slot *slot = &s->ext.slots[touched->slot[i]];

        if (slot_mode(slot) != RFM_SLOT_TIMER &&
            has_matched(slot, touched->before[i], value_at(s, slot))) {
            rfm5565_event_update(s, RFM_RECORD_MATCH, update, touched->slot[i],
                                 0);
        }
    }
    for (unsigned i = 0; i < touched->count; i++) {
        Rfm5565Slot *slot = &s->ext.slots[touched->slot[i]];

        if (slot_mode(slot) == RFM_SLOT_TIMER) {
            feed_timer(s, slot, touched->slot[i], update);
        }
    }
}

/* --- silence -------------------------------------------------------------- */

static void go_stale(Rfm5565State *s, Rfm5565Slot *slot, unsigned index,
                     uint64_t age_ns)
{
    struct rfm_ext_record *record;

    trace_rfm5565_stale(s->node_id, index, age_ns);
    slot->control |= RFM_SLOT_STALE;
    record = rfm5565_event(s, RFM_RECORD_STALE, slot->last_arrival_ns);
    if (!record) {
        return;
    }
    record->value = cpu_to_le32(index);
    record->age_ns = cpu_to_le64(age_ns);
    record->flags = RFM_RECORD_NEVER;
    if (slot->last_length) {
        record->flags = slot->last_flags;
        record->node = cpu_to_le16(slot->last_node);
        record->offset = cpu_to_le32(slot->last_offset);
        record->length = cpu_to_le32(slot->last_length);
        record->seq = cpu_to_le64(slot->last_seq);
        record->origin_ns = cpu_to_le64(slot->last_origin_ns);
    }
}

/* An update only notes its time; whether one came in time is found out here. */
static void silence_ends(void *opaque)
{
    Rfm5565State *s = opaque;
    uint64_t now;

    rfm5565_lock(s);
    now = run_time(s);
    for (unsigned i = find_first_bit(s->ext.armed, RFM_EXT_SLOTS);
         i < RFM_EXT_SLOTS && !s->ext.frozen && !s->dead;
         i = find_next_bit(s->ext.armed, RFM_EXT_SLOTS, i + 1)) {
        Rfm5565Slot *slot = &s->ext.slots[i];

        if (slot_mode(slot) != RFM_SLOT_TIMER || slot_is_stale(slot)) {
            continue;
        }
        if (now - slot->touched >= slot->armed.silence) {
            go_stale(s, slot, i, now - slot->touched);
        } else {
            await(s, slot);
        }
    }
    rfm5565_update_and_unlock(s);
}

/* --- what the guest does: under both locks -------------------------------- */

/* The registers of slots show this one from now on. */
void rfm5565_slots_select(Rfm5565State *s, uint32_t index)
{
    s->ext.slot_index = index;
    s->ext.slot_setting = s->ext.slots[index].setting;
}

static bool within_memory(const Rfm5565State *s,
                          const Rfm5565SlotSetting *setting)
{
    return setting->length &&
           (uint64_t)setting->offset + setting->length <= s->memory_size;
}

/* Mask and value as they are compared; false if they cannot be. */
static bool check_comparator(const Rfm5565State *s, Rfm5565SlotSetting *setting)
{
    if (!within_memory(s, setting) || setting->length > 8 ||
        !is_power_of_2(setting->length) || setting->offset % setting->length) {
        return false;
    }
    setting->mask &= MAKE_64BIT_MASK(0, setting->length * 8);
    return setting->mask;
}

static bool check_slot(const Rfm5565State *s, uint32_t mode,
                       Rfm5565SlotSetting *setting)
{
    switch (mode) {
    case RFM_SLOT_EQUAL:
    case RFM_SLOT_NOT_EQUAL:
        return check_comparator(s, setting) &&
               !(setting->value & ~setting->mask);
    case RFM_SLOT_CHANGED:
        return check_comparator(s, setting);
    case RFM_SLOT_TIMER:
        return within_memory(s, setting) &&
               setting->silence >= RFM_SLOT_SILENCE_MIN &&
               setting->silence <= RFM_SLOT_SILENCE_MAX;
    default:
        return false;
    }
}

static uint32_t first_granule(const Rfm5565Slot *slot)
{
    return slot->armed.offset / RFM_GRANULE;
}

static uint32_t end_granule(const Rfm5565Slot *slot)
{
    return (slot->armed.offset + slot->armed.length - 1) / RFM_GRANULE + 1;
}

/*
 * Does an armed slot look at granule @at? Then all up to *@next are looked at,
 * else none before *@next, which comes in as the end of what is asked for.
 */
static bool is_looked_at(const Rfm5565State *s, uint32_t at, uint32_t *next)
{
    uint32_t seen = at, unseen = *next;

    for (unsigned i = find_first_bit(s->ext.armed, RFM_EXT_SLOTS);
         i < RFM_EXT_SLOTS;
         i = find_next_bit(s->ext.armed, RFM_EXT_SLOTS, i + 1)) {
        uint32_t first = first_granule(&s->ext.slots[i]);
        uint32_t end = end_granule(&s->ext.slots[i]);

        if (first > at) {
            unseen = MIN(unseen, first);
        } else {
            seen = MAX(seen, end);
        }
    }
    *next = seen > at ? seen : unseen;
    return seen > at;
}

/*
 * The plane that says where slots look: set it for a slot that is not among
 * those armed. Granules of these stay as they are, so that many slots of a
 * wide range cost no more than one.
 */
static void mark(Rfm5565State *s, const Rfm5565Slot *slot, bool on)
{
    uint32_t at = first_granule(slot), end = end_granule(slot), next;

    for (; at < end; at = next) {
        next = end;
        if (!is_looked_at(s, at, &next)) {
            rfm_granules_set(&s->ext.granules, RFM_GRANULES_SLOT, at,
                             next - at, on);
        }
    }
}

static void arm(Rfm5565State *s, unsigned index)
{
    mark(s, &s->ext.slots[index], true);
    set_bit(index, s->ext.armed);
}

static void disarm(Rfm5565State *s, unsigned index)
{
    if (test_and_clear_bit(index, s->ext.armed)) {
        mark(s, &s->ext.slots[index], false);
    }
}

/* A write of SLOT_CONTROL. The caller refreshes the planes. */
void rfm5565_slots_arm(Rfm5565State *s, uint32_t control)
{
    unsigned index = s->ext.slot_index;
    Rfm5565Slot *slot = &s->ext.slots[index];
    uint32_t mode = control & RFM_SLOT_MODE_M;
    Rfm5565SlotSetting setting = slot->setting;

    disarm(s, index);
    slot->control = RFM_SLOT_OFF;
    if (mode != RFM_SLOT_OFF && !check_slot(s, mode, &setting)) {
        rfm5565_guest_error(s, "slot %u cannot have mode %u as it is set",
                            index, mode);
        slot->control |= RFM_SLOT_BAD;
    } else if (mode != RFM_SLOT_OFF) {
        slot->control = mode;
        slot->armed = setting;
        slot->touched = run_time(s);
        slot->last_length = 0;
        slot->last_arrival_ns = 0;
        arm(s, index);
        await(s, slot);
    }
    trace_rfm5565_slot(s->node_id, index, slot->control, setting.offset,
                       setting.length);
}

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_slots_init(Rfm5565State *s)
{
    s->ext.frozen = !runstate_is_running();
    s->ext.silence = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                                   silence_ends, s);
}

/* In the engine's context. */
void rfm5565_slots_exit(Rfm5565State *s)
{
    timer_free(s->ext.silence);
}

void rfm5565_slots_reset(Rfm5565State *s)
{
    timer_del(s->ext.silence);
    bitmap_zero(s->ext.armed, RFM_EXT_SLOTS);
    memset(s->ext.slots, 0, sizeof(s->ext.slots));
    rfm5565_slots_select(s, 0);
}

/* Slots that came with the machine's state. Returns false if they cannot be. */
bool rfm5565_slots_loaded(Rfm5565State *s)
{
    if (s->ext.slot_index >= RFM_EXT_SLOTS) {
        return false;
    }
    bitmap_zero(s->ext.armed, RFM_EXT_SLOTS);
    for (unsigned i = 0; i < RFM_EXT_SLOTS; i++) {
        Rfm5565Slot *slot = &s->ext.slots[i];

        if (slot_mode(slot) == RFM_SLOT_OFF) {
            continue;
        }
        if (!check_slot(s, slot_mode(slot), &slot->armed) ||
            slot->last_length > RFM_GRANULE) {
            return false;
        }
        arm(s, i);
    }
    await_all(s);
    return true;
}

/* The last updates came by another clock than CLOCK. */
void rfm5565_slots_other_clock(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_SLOTS; i++) {
        s->ext.slots[i].last_flags |= RFM_RECORD_OTHER_CLOCK;
        s->ext.slots[i].last_arrival_ns = 0;
    }
}
