// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Operations at one node: packets, what other nodes may do with the memory of
 * this one, and when all that runs.
 *
 * What is owed and what is asked for is sent in turns of the engine's context
 * (remote_turn()), or of a CPU (turn_and_leave()), which store as well: so they
 * need leave to be a producer beside the CPUs, which only the main context can
 * give. They have it while there is something to do, and a while longer: CPUs
 * pay for it.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "ring/memory.h"
#include "rfm5565.h"

#define QUIET_NS    (100 * SCALE_MS)    /* then CPUs are alone again */

/* --- what others may do here: under the lock ------------------------------ */

static bool is_on(const Rfm5565State *s, enum rfm_granules_plane plane,
                  uint32_t offset, uint32_t length)
{
    bool on;

    return rfm_granules_run(&s->ext.granules, plane, offset, length, &on) ==
           length && on;
}

static enum rfm_remote_result remote_check(void *opaque, uint8_t from,
                                           enum rfm_remote_access access,
                                           uint32_t key, uint64_t offset,
                                           uint32_t length)
{
    const Rfm5565State *s = opaque;

    if (key) {
        return rfm5565_region_check(s, access, key, offset, length);
    }
    if (offset > s->memory_size || length > s->memory_size - offset) {
        return RFM_REMOTE_RANGE;
    }
    switch (access) {
    case RFM_REMOTE_LOADS:
        return is_on(s, RFM_GRANULES_READ, offset, length) ? RFM_REMOTE_OK
                                                           : RFM_REMOTE_DENIED;
    case RFM_REMOTE_STORES:
        return is_on(s, RFM_GRANULES_WRITE, offset, length) ? RFM_REMOTE_OK
                                                            : RFM_REMOTE_DENIED;
    case RFM_REMOTE_CHANGES:
        return is_on(s, RFM_GRANULES_HOME, offset, length)
               ? RFM_REMOTE_OK : RFM_REMOTE_NOT_HOME;
    case RFM_REMOTE_MERGES:     /* what is not reflected is this node's own */
        return is_on(s, RFM_GRANULES_RX, offset, length) &&
               is_on(s, RFM_GRANULES_TX, offset, length) ? RFM_REMOTE_OK
                                                         : RFM_REMOTE_DENIED;
    }
    return RFM_REMOTE_DENIED;
}

static void remote_load(void *opaque, uint32_t key, uint64_t offset,
                        void *data, uint32_t length)
{
    Rfm5565State *s = opaque;

    rfm_memory_load(data, s->ram + offset, length);
}

static void remote_store(void *opaque, uint32_t key, uint64_t offset,
                         const void *data, uint32_t length)
{
    Rfm5565State *s = opaque;

    rfm5565_memory_put(s, offset, data, length);
    rfm5565_planes_written(s, s->remote.writer, offset, length);
}

static void remote_merge(void *opaque, uint64_t offset, const void *data,
                         uint32_t length)
{
    rfm5565_planes_merge(opaque, offset, data, length);
}

/* Room for a word, and a store of a CPU that has seen room before that. */
static bool has_word_room(const Rfm5565State *s)
{
    const struct rfm_insert *insert = &s->node.insert;

    return rfm_insert_used(insert) + 2 <= insert->size / 2 ||
           atomic_load_explicit(&insert->offline, memory_order_relaxed);
}

static bool remote_may_update(void *opaque)
{
    Rfm5565State *s = opaque;

    s->remote.wants_room = !has_word_room(s);
    return !s->remote.wants_room;
}

/* Under the lock and the producer's, as a CPU's store. */
static void remote_update(void *opaque, uint64_t offset, const void *data,
                          uint32_t length)
{
    Rfm5565State *s = opaque;

    rfm5565_memory_put(s, offset, data, length);
    if (!rfm5565_memory_send(s, offset, data, length, rfm5565_now())) {
        rfm5565_latch(s, RFM_LISR_TX_FULL);
    }
}

/* --- when it runs --------------------------------------------------------- */

static bool may_send(const Rfm5565State *s)
{
    return s->others_send & RFM5565_REMOTE_SENDS;
}

static void remote_wake(void *opaque)
{
    Rfm5565State *s = opaque;

    s->remote.woken_ns = rfm5565_now();
    if (s->remote.visited) {
        s->remote.rung = true;
        return;
    }
    s->remote.wants_turn = !may_send(s);
    qemu_bh_schedule(may_send(s) ? s->remote.bh : s->remote.main_bh);
}

static void remote_away(void *opaque)
{
    Rfm5565State *s = opaque;

    qemu_bh_schedule(s->remote.main_bh);
}

static const struct rfm_remote_ops remote_ops = {
    .check = remote_check,
    .load = remote_load,
    .store = remote_store,
    .may_update = remote_may_update,
    .update = remote_update,
    .merge = remote_merge,
    .away = remote_away,
    .port_room = rfm5565_port_room,
    .message = rfm5565_message,
    .wake = remote_wake,
};

/* While the guest stands still its memory does not change. */
static void run_remote(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;
    uint64_t now = rfm5565_now();

    if (s->quiesced || s->node.paused || rfm5565_is_unreachable(s)) {
        return;
    }
    if (!may_send(s)) {
        remote->wants_turn = true;
        qemu_bh_schedule(remote->main_bh);
        return;
    }
    remote->rung = false;
    WITH_QEMU_LOCK_GUARD(&s->producer) {
        remote->next_ns = rfm_remote_run(&remote->engine, now);
    }
    if (remote->next_ns != UINT64_MAX) {
        /* One that is too early asks again, and a later one wakes nobody. */
        timer_mod_anticipate_ns(remote->timer, MAX(remote->next_ns, now + 1));
    }
}

/* In the engine's context. */
static void remote_turn(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_lock(s);
    run_remote(s);
    rfm5565_update_and_unlock(s);
}

/* No CPU is at a store: each sees from now on that it is not alone. */
static void give_leave(Rfm5565State *s)
{
    rfm5565_lock(s);
    if (s->remote.wants_turn && !rfm5565_is_unreachable(s)) {
        s->remote.wants_turn = false;
        rfm5565_set_other_producer(s, RFM5565_REMOTE_SENDS, true);
        qemu_bh_schedule(s->remote.bh);
    }
    rfm5565_update_and_unlock(s);
}

/* In the main context: what touches the guest's memory, and no CPU has done. */
static void remote_main(void *opaque)
{
    Rfm5565State *s = opaque;
    bool more;

    give_leave(s);
    if (!runstate_is_running() || rfm5565_is_unreachable(s)) {
        return;
    }
    more = rfm5565_requests_run(s);
    more |= rfm5565_regions_serve(s);
    give_leave(s);
    if (more) {
        qemu_bh_schedule(s->remote.main_bh);
    }
}

/*
 * A CPU has rung the doorbell, or looks for the end of what it asked for. It
 * does what is to be done itself: to wake other threads takes longer than all
 * the rest. With the BQL, which it keeps. Returns false if others must do it.
 */
static bool come(Rfm5565State *s)
{
    bool here;

    /* Of one that is gone nothing is touched; and not if the engine is next. */
    if (rfm5565_is_unreachable(s) || qatomic_read(&s->lock_wanted)) {
        return false;
    }
    rfm5565_lock(s);
    here = runstate_is_running() && may_send(s) &&
           s->remote.status == RFM_EXT_REQUEST_RUNNING &&
           rfm5565_engine_come(s);
    s->remote.visited = here;
    rfm5565_update_and_unlock(s);
    return here;
}

static void turn_and_leave(Rfm5565State *s)
{
    rfm5565_lock(s);
    rfm5565_engine_visit(s);
    run_remote(s);
    rfm5565_engine_visit(s);
    rfm5565_engine_leave(s, true);
    s->remote.visited = false;
    if (s->remote.rung) {
        remote_wake(s);
    }
    rfm5565_update_and_unlock(s);
}

/* What is left over is for the main context. */
static void leave_rest(Rfm5565State *s)
{
    if (!QTAILQ_EMPTY(&s->remote.begun) || !QTAILQ_EMPTY(&s->remote.ended)) {
        qemu_bh_schedule(s->remote.main_bh);
    }
}

void rfm5565_remote_begun(Rfm5565State *s)
{
    if (!QTAILQ_EMPTY(&s->remote.begun) && come(s)) {
        rfm5565_requests_start(s);
        turn_and_leave(s);
    }
    leave_rest(s);
}

void rfm5565_remote_look(Rfm5565State *s)
{
    if (come(s)) {
        turn_and_leave(s);
        rfm5565_requests_look(s);
        leave_rest(s);
    }
}

/* With each tick of the engine. No part of a MERGE is there when leave ends. */
void rfm5565_remote_tick(Rfm5565State *s, uint64_t now)
{
    Rfm5565Remote *remote = &s->remote;

    if (s->auto_resync && !remote->resync) {
        rfm_auto_resync(&remote->auto_resync, &remote->engine, now);
    }
    if (may_send(s) && remote->next_ns == UINT64_MAX &&
        now > remote->woken_ns + QUIET_NS) {
        rfm5565_set_other_producer(s, RFM5565_REMOTE_SENDS, false);
    }
}

/* Something may have left this node. */
void rfm5565_remote_check_room(Rfm5565State *s)
{
    if (has_word_room(s)) {
        s->remote.wants_room = false;
        remote_wake(s);
    }
}

/* The guest stands still, and nothing more comes for it. */
void rfm5565_remote_stopped(Rfm5565State *s)
{
    if (s->extension && !rfm5565_is_unreachable(s)) {
        rfm5565_requests_stopped(s);
    }
}

/* The guest runs again, or the card is on the ring again. */
void rfm5565_remote_go_on(Rfm5565State *s)
{
    if (s->extension) {
        qemu_bh_schedule(s->remote.bh);
        qemu_bh_schedule(s->remote.main_bh);
    }
}

/* --- packets: in a turn of the engine ------------------------------------- */

void rfm5565_remote_packet_end(Rfm5565State *s, uint64_t cookie,
                               enum rfm_packet_fate fate)
{
    rfm_remote_packet_end(&s->remote.engine, cookie, fate);
}

void rfm5565_remote_packet_room(Rfm5565State *s)
{
    if (s->extension) {
        remote_wake(s);
    }
}

bool rfm5565_remote_take(Rfm5565State *s, const struct rfm_packet *packet,
                         const uint8_t *data)
{
    return s->extension && rfm_remote_take(&s->remote.engine, packet, data);
}

void rfm5565_remote_packet(Rfm5565State *s, const struct rfm_packet *packet,
                           const uint8_t *data)
{
    s->remote.writer = packet->node;
    rfm_remote_packet(&s->remote.engine, packet, data);
    s->remote.writer = s->node_id;
}

/* --- counters: under the lock --------------------------------------------- */

/* @counter: all of the card's. */
void rfm5565_remote_count(const Rfm5565State *s, uint64_t *counter)
{
    const Rfm5565Remote *remote = &s->remote;
    const struct rfm_packets *packets = &s->node.packets;

    for (unsigned i = 0; i < RFM5565_REMOTE_COUNTERS; i++) {
        counter[RFM5565_REMOTE_COUNTER_FIRST + i] = remote->counted_before[i];
    }
    for (unsigned fate = 0; fate < RFM_PACKET_FATES; fate++) {
        counter[RFM_COUNTER_PACKETS] += packets->fates[fate];
    }
    counter[RFM_COUNTER_PACKETS_TAKEN] += packets->fates[RFM_PACKET_TAKEN];
    counter[RFM_COUNTER_PACKETS_LOST] += packets->fates[RFM_PACKET_LOST];
    counter[RFM_COUNTER_PACKETS_RECEIVED] += packets->received;
    counter[RFM_COUNTER_PACKETS_REFUSED] += packets->refused;
    counter[RFM_COUNTER_REQUESTS] += remote->requests_ended;
    counter[RFM_COUNTER_REQUESTS_FAILED] += remote->requests_failed;
    counter[RFM_COUNTER_SERVED] += remote->engine.stats.served;
    counter[RFM_COUNTER_RESYNC_BYTES] += remote->resync_bytes +
        remote->auto_resync.finished;
    if (remote->resync) {
        counter[RFM_COUNTER_RESYNC_BYTES] += remote->resync->resync->finished;
    } else if (remote->auto_resync.resync) {
        counter[RFM_COUNTER_RESYNC_BYTES] +=
            remote->auto_resync.resync->finished;
    }
}

/* --- lifecycle ------------------------------------------------------------ */

/* Another past is about to be loaded, in which nothing of now was asked. */
void rfm5565_remote_loading(Rfm5565State *s)
{
    uint64_t served = s->remote.engine.stats.served;

    if (!s->extension) {
        return;
    }
    rfm5565_lock(s);
    rfm5565_requests_disable(s);
    s->remote.base = s->remote.control = 0;
    rfm_remote_destroy(&s->remote.engine);
    rfm_remote_init(&s->remote.engine, &s->node, &remote_ops, s);
    s->remote.engine.stats.served = served;
    rfm5565_update_and_unlock(s);
}

void rfm5565_remote_init(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;

    rfm_remote_init(&remote->engine, &s->node, &remote_ops, s);
    remote->writer = s->node_id;
    remote->next_ns = UINT64_MAX;
    rfm5565_requests_init(s);
    /* No guard: it has no BQL. */
    remote->bh = aio_bh_new_guarded(s->ctx, remote_turn, s, NULL);
    remote->timer = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS,
                                  remote_turn, s);
    remote->main_bh = qemu_bh_new_guarded(remote_main, s,
                                          &DEVICE(s)->mem_reentrancy_guard);
}

/* Under both locks: the card is gone, and none of this runs any more. */
void rfm5565_remote_abort(Rfm5565State *s)
{
    rfm5565_requests_disable(s);
    s->remote.wants_room = false;
}

/* In the engine's context. */
void rfm5565_remote_stop(Rfm5565State *s)
{
    qemu_bh_delete(s->remote.bh);
    timer_free(s->remote.timer);
}

/* In the main context, after that: nothing wakes it any more. */
void rfm5565_remote_exit(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;

    rfm5565_requests_exit(s);
    rfm_remote_destroy(&remote->engine);
    qemu_bh_delete(remote->main_bh);
    memset(remote, 0, sizeof(*remote));
}
