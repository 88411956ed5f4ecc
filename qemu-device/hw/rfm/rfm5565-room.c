// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Room on the ring: how stores of CPUs wait for it, and how what moves much
 * leaves them some.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "rfm5565.h"
#include "trace.h"

/*
 * Once the ring has taken so many stores since the last time, the others have
 * their turn: CPUs that store all the time must not keep them out.
 */
#define SHARE           256

/* --- CPUs ----------------------------------------------------------------- */

/*
 * Let the engine work, or another CPU whose turn it is, until one of them says
 * that something has changed, but @limit_ns at most. Called and left under both
 * locks.
 */
static void wait_for_room(Rfm5565State *s, int64_t limit_ns)
{
    bql_unlock();
    qemu_cond_timedwait(&s->room, &s->lock, DIV_ROUND_UP(limit_ns, SCALE_MS));
    /* The big lock comes first. */
    qemu_mutex_unlock(&s->lock);
    bql_lock();
    qemu_mutex_lock(&s->lock);
}

/*
 * The ring has no room: wait until it has, or the limit is reached. Stores of
 * several vCPUs pass in the order in which they came, else a later one could
 * overtake on the ring. Returns false if the card was unplugged or fell off
 * the bus meanwhile.
 */
bool rfm5565_wait_in_turn(Rfm5565State *s)
{
    const int64_t limit = (int64_t)s->stall_limit_ms * SCALE_MS;
    const int64_t start = rfm5565_now();
    const uint64_t ticket = s->ticket_next++;
    uint64_t waited_us;
    int64_t left = limit;
    bool silent, room = false;

    object_ref(OBJECT(s));
    qemu_mutex_lock(&s->lock);
    while (!(silent = rfm5565_is_unreachable(s)) &&
           !(room = s->ticket_served >= ticket &&
                    rfm_node_may_store(&s->node)) && left > 0) {
        wait_for_room(s, left);
        left = start + limit - (int64_t)rfm5565_now();
    }
    /* Two that give up at the same time may get the lock in either order. */
    s->ticket_served = MAX(s->ticket_served, ticket + 1);
    /* The node says when there is room, under the lock, so it is not missed. */
    qatomic_set(&s->backpressure_expired,
                !silent && !rfm_node_may_store(&s->node));
    qemu_cond_broadcast(&s->room);
    qemu_mutex_unlock(&s->lock);

    waited_us = (rfm5565_now() - start) / SCALE_US;
    s->longest_stall_us = MAX(s->longest_stall_us, waited_us);
    trace_rfm5565_backpressure(s->node_id, waited_us, room);
    object_unref(OBJECT(s));
    return !silent;
}

/* --- the DMA engine, and scans of the burst range ------------------------- */

/* How many stores have left the insertion queue, ever; modulo 2^32. */
static uint32_t dequeued(const Rfm5565State *s)
{
    return atomic_load_explicit(&s->node.insert.head, memory_order_relaxed);
}

/* Would one of @frames be dropped if more than @limit stores wait then? */
static bool has_room_below(const Rfm5565State *s, unsigned frames,
                           uint32_t limit)
{
    const struct rfm_insert *insert = &s->node.insert;

    return rfm_insert_used(insert) + frames <= limit ||
           atomic_load_explicit(&insert->offline, memory_order_relaxed);
}

/* What the ring itself allows: the CPUs fill it up to there. */
bool rfm5565_ring_has_room(const Rfm5565State *s, unsigned frames)
{
    return has_room_below(s, frames, s->node.insert.size / 2);
}

/* Has the ring taken so many others' stores that it is this one's turn? */
bool rfm5565_share_has_turn(const Rfm5565State *s, const Rfm5565Share *share)
{
    return dequeued(s) - share->dequeued_before >= SHARE;
}

/* Is there room for @frames if no more than @queued may wait, or its turn? */
bool rfm5565_share_has_room(const Rfm5565State *s, const Rfm5565Share *share,
                            unsigned frames, uint32_t queued)
{
    return has_room_below(s, frames, queued) ||
           (rfm5565_share_has_turn(s, share) &&
            rfm5565_ring_has_room(s, frames));
}

/* So many as were asked for are sent, or about to be. */
void rfm5565_share_taken(const Rfm5565State *s, Rfm5565Share *share)
{
    share->dequeued_before = dequeued(s);
}

/*
 * There was no room. Returns until when it is waited for, or 0 if the ring has
 * taken nothing for as long as a store would wait.
 */
uint64_t rfm5565_share_waits_until(const Rfm5565State *s, Rfm5565Share *share)
{
    uint64_t now = rfm5565_now();
    uint64_t until;

    if (!share->no_room_since || share->dequeued_seen != dequeued(s)) {
        share->no_room_since = now;
        share->dequeued_seen = dequeued(s);
    }
    until = share->no_room_since + (uint64_t)s->stall_limit_ms * SCALE_MS;
    return now < until ? until : 0;
}
