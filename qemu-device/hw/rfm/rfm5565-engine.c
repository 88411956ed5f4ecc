// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine: its turns, who wakes it, and its clock. In a turn it gives the
 * node what has come through the memory shared with the upstream neighbour,
 * then moves what the node sends into that shared with the downstream one. All
 * of this is under the card's lock, and in the engine's context; in another one
 * only where it says so. A CPU that comes (rfm5565_engine_come()), or the net
 * layer's thread, may make such a turn itself.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/processor.h"
#include "qemu/rcu.h"
#include "block/aio-wait.h"
#include "rfm5565.h"

/* What is done in one go before others have their turn. */
#define FRAMES_PER_RUN      256     /* under the lock, and a train beyond */
#define FRAMES_PER_VISIT    32      /* taken, when a CPU does it */

/* A burst of stores */
#define BURST_STORES        64      /* so many, soon one after another */
#define COALESCE_NS         8000    /* then one turn each so long */
#define INLINE_IDLE_NS      16000   /* a store after so long without is alone */
#define COALESCE_STORES     8       /* worth having waited for */

/* --- receiving and sending ------------------------------------------------ */

/* Out of any context: a handler that is on its way finds no queue. */
void rfm5565_engine_detach(Rfm5565State *s, Rfm5565Port *port)
{
    if (port->attached) {
        aio_set_event_notifier(s->ctx, &port->wake, NULL, NULL, NULL);
    }
    port->attached = port->polling = false;
    rfm_shm_close(&port->shm);
}

/*
 * Give what has come to the node. Returns whether there may be more. Also in
 * the main context, when the neighbour goes.
 */
bool rfm5565_engine_receive(Rfm5565State *s, unsigned limit, uint64_t now)
{
    const char *error;
    unsigned taken;

    if (!s->link_rx.shm || s->rx.disconnect_reason) {
        return false;
    }
    /* Each frame takes it again for the dirty marks: that costs no fences. */
    RCU_READ_LOCK_GUARD();
    error = rfm_link_rx_drain(&s->link_rx, &s->rx.shm, limit, now, &taken);
    if (error) {
        rfm5565_link_disconnect(s, &s->rx, error);
        return false;
    }
    return taken >= limit;
}

/*
 * Every wake-up costs the CPU that stores, and both pay for each cache line
 * that goes from one to the other. So in a burst of stores the engine awaits
 * several before it begins, and takes no more than were there: two that run
 * side by side would hand over one store at a time. A lone store, or one of a
 * few, is never held up. In the main loop nothing is gained: there it keeps
 * the CPU from storing. The other producers need this thread to store more.
 */
static bool in_burst(const Rfm5565State *s)
{
    return s->iothread && s->burst_stores >= BURST_STORES;
}

/* What others said before does not wait for that. */
static void coalesce(const Rfm5565State *s)
{
    if (rfm_fifo_used(&s->node.transmit) || qatomic_read(&s->others_send) ||
        rfm_node_has_packets(&s->node)) {
        return;
    }
    while (in_burst(s) && rfm5565_now() - s->last_store_ns < COALESCE_NS) {
        cpu_relax();
    }
}

/* @waiting stores are about to be sent. */
static void update_burst(Rfm5565State *s, unsigned waiting, uint64_t now)
{
    if (!waiting) {
        return;
    }
    if (now - s->last_store_ns > 2 * COALESCE_NS ||
        (in_burst(s) && waiting < COALESCE_STORES)) {
        s->burst_stores = 0;
    } else {
        s->burst_stores = MIN(s->burst_stores + waiting, BURST_STORES);
    }
    s->last_store_ns = now;
}

/* The line holds back the next frame: come again when it lets it go. */
void rfm5565_engine_arm_pace(Rfm5565State *s)
{
    uint64_t next = rfm_node_next_pull(&s->node);

    if (next != UINT64_MAX) {
        timer_mod_ns(s->pace, MAX(next, rfm5565_now() + 1));
    }
}

/*
 * So many own frames that come home are worth waking the engine up for. A guest
 * that has cleared OWN DATA waits for the next. What leaves by a stream does so
 * in another context: nobody would look again there.
 */
static uint32_t wake_frames(const Rfm5565State *s)
{
    return !s->link_tx.shm ||
           (!s->own_data && rfm_node_owes_own_data(&s->node))
           ? 1 : rfm_node_wake_frames(&s->node);
}

/* If they are fewer now, a neighbour that was told more is told. */
static void look_at_wake_frames(Rfm5565State *s)
{
    if (s->link_rx.shm && !s->rx.disconnect_reason && !s->rx.polling &&
        s->rx.shm.wake_frames > wake_frames(s) &&
        !rfm_shm_wait_data(&s->rx.shm, wake_frames(s))) {
        qemu_bh_schedule(s->engine_bh);
    }
}

/*
 * The neighbour sleeps beside frames that can wait. To set a timer of another
 * thread wakes that one up: then the neighbour can as well be woken.
 */
static void put_off_wake(Rfm5565State *s)
{
    if (qemu_get_current_aio_context() != s->ctx) {
        rfm_shm_wake(&s->tx.shm);
    } else if (!timer_pending(s->late)) {
        timer_mod_ns(s->late, rfm5565_now() + RFM_SHM_WAKE_NS);
    }
}

static void engine_late(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_lock(s);
    rfm_shm_wake(&s->tx.shm);
    rfm5565_update_and_unlock(s);
}

/* Take what the node has to send. Returns whether there may be more. */
static bool send_up_to(Rfm5565State *s, unsigned limit, uint64_t now)
{
    unsigned sent;
    enum rfm_link_fill left;

    left = rfm_link_tx_fill(&s->link_tx, &s->tx.shm, limit, now, &sent);
    if (sent) {
        s->last_send_ns = rfm5565_now();
    }
    if (rfm_shm_owes_wake(&s->tx.shm)) {
        put_off_wake(s);
    }
    s->tx_queue_full = left == RFM_LINK_FULL &&
                       rfm_shm_wait_room(&s->tx.shm, RFM_TRAIN_FRAMES);
    switch (left) {
    case RFM_LINK_DRY:
        rfm5565_engine_arm_pace(s);
        return false;
    case RFM_LINK_BROKEN:
        rfm5565_link_disconnect(s, &s->tx,
                    "the downstream neighbour has spoilt the shared memory");
        return false;
    case RFM_LINK_FULL:
        return !s->tx_queue_full;
    default:
        return true;
    }
}

static bool send_frames(Rfm5565State *s, uint64_t now)
{
    unsigned waiting = rfm_insert_used(&s->node.insert);
    unsigned limit = FRAMES_PER_RUN;

    update_burst(s, waiting, now);
    if (in_burst(s)) {
        limit = MIN(limit, waiting + rfm_fifo_used(&s->node.transmit) + 1);
    }
    return send_up_to(s, limit, now);
}

/* Can frames leave from this thread, whichever it is? */
static bool reaches_neighbour(const Rfm5565State *s)
{
    return s->link_tx.shm && s->tx.attached && !s->tx.disconnect_reason &&
           !s->quiesced;
}

/* Has this thread come? See rfm5565_engine_come(). */
static bool has_come(Rfm5565State *s)
{
    return s->visited && qemu_thread_is_self(&s->visitor);
}

/*
 * May a run leave from this thread? Not that of one that has come: it sends
 * when it leaves, or has more to do.
 */
static bool may_send_run(Rfm5565State *s)
{
    return !has_come(s) && reaches_neighbour(s) && !s->tx_queue_full;
}

/* Would it leave at once, but for want of credit? */
bool rfm5565_engine_is_clear(Rfm5565State *s)
{
    return may_send_run(s) && rfm_node_is_clear(&s->node);
}

/*
 * As rfm_node_store_run(), in any context, with the lock and the producers':
 * as much as can leaves from here, and what is left waits in the insertion
 * queue. Whether there is more to send need not be looked at: nothing waited
 * before, so what is queued now makes the node call the engine.
 */
bool rfm5565_engine_store_run(Rfm5565State *s, uint32_t offset,
                              const uint8_t *data, unsigned len, uint64_t now)
{
    unsigned left = len;

    if (may_send_run(s) && rfm_node_begin_run(&s->node, offset, data, len)) {
        send_up_to(s, FRAMES_PER_RUN, now);
        left = rfm_node_end_run(&s->node);
        look_at_wake_frames(s);
    }
    return rfm_node_store_run(&s->node, offset + len - left, data + len - left,
                              left, now);
}

/*
 * In a vCPU, of which the engine waits to hear: send a lone store, if the
 * neighbour can be reached from here and nobody else is at it. Returns false
 * if the engine has to do it. One that follows soon after another is left to
 * it: the vCPU has more to store.
 */
bool rfm5565_engine_send_inline(Rfm5565State *s)
{
    bool done = false;
    uint64_t now;

    if (qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    now = rfm5565_now();
    if (reaches_neighbour(s) && now - s->last_send_ns > INLINE_IDLE_NS) {
        done = !send_frames(s, now);
        look_at_wake_frames(s);
    }
    rfm5565_unlock(s);
    return done;
}

/*
 * In the main context, before the card leaves the ring: what the node has to
 * send goes as far as there is room. Under the BQL.
 */
void rfm5565_engine_push(Rfm5565State *s)
{
    rfm5565_lock(s);
    while (reaches_neighbour(s) && send_frames(s, rfm5565_now())) {
        /* there is more */
    }
    rfm5565_update_and_unlock(s);
    if (qatomic_read(&s->streaming)) {
        rfm5565_link_push(s);
    }
}

static bool engine_send(Rfm5565State *s, uint64_t now)
{
    if (s->link_tx.shm) {
        return !s->tx.disconnect_reason && send_frames(s, now);
    }
    if (s->link_tx.welcome) {
        qemu_bh_schedule(s->stream_bh);
        return false;
    }
    /* Nobody takes it: the node must know, and count. */
    return rfm_link_tx_discard(&s->link_tx, FRAMES_PER_RUN, now) >=
           FRAMES_PER_RUN;
}

/*
 * A CPU comes, or the net layer, under both locks, and keeps the BQL until it
 * leaves. Nobody is woken up meanwhile for what it brings: it sends that
 * itself, at the latest when it leaves. Returns false where that can only be
 * done in the engine's context.
 */
bool rfm5565_engine_come(Rfm5565State *s)
{
    if (s->quiesced || !s->rx.attached || !s->tx.attached) {
        return false;
    }
    qemu_thread_get_self(&s->visitor);
    s->visited = true;
    s->brought = false;
    return true;
}

/* If this thread has come, it has brought something. */
bool rfm5565_engine_bring(Rfm5565State *s)
{
    if (!has_come(s)) {
        return false;
    }
    s->brought = true;
    return true;
}

/* A whole turn, by one that has come, under the lock. */
void rfm5565_engine_visit(Rfm5565State *s)
{
    bool more = rfm5565_engine_receive(s, FRAMES_PER_VISIT, rfm5565_now());

    s->brought = false;
    more |= engine_send(s, rfm5565_now());
    if (more) {
        qemu_bh_schedule(s->engine_bh);
    }
}

/*
 * Under the lock. What a CPU brings soon after another is left to the engine,
 * as with stores: it has more to do.
 */
void rfm5565_engine_leave(Rfm5565State *s, bool is_cpu)
{
    uint64_t now = rfm5565_now();

    s->visited = false;
    if (s->quiesced) {
        return;     /* it went meanwhile */
    }
    if (s->brought &&
        ((is_cpu && now - s->last_send_ns <= INLINE_IDLE_NS) ||
         engine_send(s, now))) {
        qemu_bh_schedule(s->engine_bh);
    }
    look_at_wake_frames(s);
}

static void attach_notifier(Rfm5565State *s, Rfm5565Port *port, int fd);

/*
 * Receive, then send. If there is no more to do at once, the engine sleeps
 * until somebody wakes it. What has woken it, if @woken, is cleared after what
 * came has gone on, and before it says that it sleeps.
 */
static void engine_run(Rfm5565State *s, bool woken)
{
    bool more;

    if (s->quiesced) {
        if (woken) {
            rfm_shm_clear_wakeup(&s->rx.shm, false);
        }
        return;
    }
    if (s->link_rx.shm) {
        attach_notifier(s, &s->rx, s->rx.shm.fds[1]);
    }
    if (s->link_tx.shm) {
        attach_notifier(s, &s->tx, s->tx.shm.fds[2]);
    }
    qatomic_set(&s->in_turn, true);
    more = rfm5565_engine_receive(s, FRAMES_PER_RUN, rfm5565_now());
    coalesce(s);
    qatomic_set(&s->in_turn, false);
    more |= engine_send(s, rfm5565_now());
    if (woken && rfm_shm_is_open(&s->rx.shm)) {
        rfm_shm_clear_wakeup(&s->rx.shm, false);
    }
    if (!more && s->link_rx.shm && !s->rx.disconnect_reason && !s->rx.polling) {
        more = !rfm_shm_wait_data(&s->rx.shm, wake_frames(s));
    }
    if (more) {
        qemu_bh_schedule(s->engine_bh);
    }
}

static void engine_turn(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_lock(s);
    engine_run(s, false);
    rfm5565_update_and_unlock(s);
}

/* --- who wakes the engine ------------------------------------------------- */

static void rx_woken(EventNotifier *e)
{
    Rfm5565State *s = container_of(e, Rfm5565State, rx.wake);

    rfm5565_lock(s);
    if (rfm_shm_is_open(&s->rx.shm)) {
        engine_run(s, true);
    }
    rfm5565_update_and_unlock(s);
}

static bool rx_poll(void *opaque)
{
    EventNotifier *e = opaque;
    Rfm5565State *s = container_of(e, Rfm5565State, rx.wake);
    bool ready;

    if (qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    ready = rfm_shm_is_open(&s->rx.shm) && !s->rx.disconnect_reason &&
            rfm_shm_pending(&s->rx.shm);
    qemu_mutex_unlock(&s->lock);
    return ready;
}

static void rx_poll_ready(EventNotifier *e)
{
    Rfm5565State *s = container_of(e, Rfm5565State, rx.wake);

    rfm5565_lock(s);
    engine_run(s, false);
    rfm5565_update_and_unlock(s);
}

static void rx_poll_begin(EventNotifier *e)
{
    Rfm5565State *s = container_of(e, Rfm5565State, rx.wake);

    rfm5565_lock(s);
    s->rx.polling = s->rx.attached;
    rfm5565_update_and_unlock(s);
}

/* From now on the neighbour has to wake us. */
static void rx_poll_end(EventNotifier *e)
{
    Rfm5565State *s = container_of(e, Rfm5565State, rx.wake);

    rfm5565_lock(s);
    s->rx.polling = false;
    engine_run(s, false);
    rfm5565_update_and_unlock(s);
}

static void tx_woken(EventNotifier *e)
{
    Rfm5565State *s = container_of(e, Rfm5565State, tx.wake);

    rfm5565_lock(s);
    if (rfm_shm_is_open(&s->tx.shm)) {
        rfm_shm_clear_wakeup(&s->tx.shm, true);
        engine_run(s, false);
    }
    rfm5565_update_and_unlock(s);
}

static bool tx_poll(void *opaque)
{
    EventNotifier *e = opaque;
    Rfm5565State *s = container_of(e, Rfm5565State, tx.wake);
    bool ready;

    if (qemu_mutex_trylock(&s->lock)) {
        return false;
    }
    ready = s->tx_queue_full && rfm_shm_is_open(&s->tx.shm) &&
            rfm_shm_reserve(&s->tx.shm, RFM_TRAIN_FRAMES);
    qemu_mutex_unlock(&s->lock);
    return ready;
}

/*
 * Listen to a queue on which a handshake has agreed. In the engine's context:
 * only there handlers can be told when polling begins and ends.
 */
static void attach_notifier(Rfm5565State *s, Rfm5565Port *port, int fd)
{
    bool receives = port == &s->rx;

    if (port->attached) {
        return;
    }
    port->attached = true;
    event_notifier_init_fd(&port->wake, fd);
    aio_set_event_notifier(s->ctx, &port->wake, receives ? rx_woken : tx_woken,
                           receives ? rx_poll : tx_poll,
                           receives ? rx_poll_ready : tx_woken);
    if (receives) {
        aio_set_event_notifier_poll(s->ctx, &port->wake, rx_poll_begin,
                                    rx_poll_end);
    }
}

/* --- its clock ------------------------------------------------------------ */

/* Returns when to call again. */
static uint64_t link_tick(Rfm5565State *s, uint64_t now)
{
    uint64_t tx_next, rx_next;
    const char *error;

    error = rfm_link_tx_tick(&s->link_tx, now, &tx_next);
    if (error) {
        rfm5565_link_disconnect(s, &s->tx, error);
    }
    error = rfm_link_rx_tick(&s->link_rx, now, &rx_next);
    if (error) {
        rfm5565_link_disconnect(s, &s->rx, error);
    }
    return MIN(tx_next, rx_next);
}

static void engine_tick(void *opaque)
{
    Rfm5565State *s = opaque;
    uint64_t now, next;

    rfm5565_lock(s);
    if (!s->quiesced) {
        /* Not before the lock: others may have noted later times meanwhile. */
        now = rfm5565_now();
        rfm5565_ring_look_at_clock(s);
        next = MIN(rfm_node_tick(&s->node, now), link_tick(s, now));
        rfm5565_counters_watch(s, now);
        rfm5565_remote_tick(s, now);
        /* A timer that is due already would be run again before anything. */
        timer_mod_ns(s->tick, MAX(next, now + SCALE_MS));
    }
    rfm5565_ring_flush_capture(s);
    engine_run(s, false);
    rfm5565_update_and_unlock(s);
}

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_engine_init(Rfm5565State *s)
{
    s->ctx = s->iothread ? iothread_get_aio_context(s->iothread)
                         : qemu_get_aio_context();
    /*
     * What runs without the BQL has no guard against re-entrancy: it would
     * make a register access of a vCPU fail that comes at the same time.
     */
    s->engine_bh = aio_bh_new_guarded(s->ctx, engine_turn, s, NULL);
    s->tick = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS, engine_tick,
                            s);
    s->pace = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS, engine_turn,
                            s);
    s->late = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS, engine_late,
                            s);
    rfm5565_dma_init(s);
    if (s->extension) {
        rfm5565_slots_init(s);
        rfm5565_remote_init(s);
    }
}

/* In the engine's context: nothing of the card runs there afterwards. */
static void stop_engine(void *opaque)
{
    Rfm5565State *s = opaque;

    qemu_bh_delete(s->engine_bh);
    timer_free(s->tick);
    timer_free(s->pace);
    timer_free(s->late);
    rfm5565_dma_stop(s);
    if (s->extension) {
        rfm5565_slots_exit(s);
        rfm5565_remote_stop(s);
    }
}

void rfm5565_engine_exit(Rfm5565State *s)
{
    if (s->iothread) {
        aio_wait_bh_oneshot(s->ctx, stop_engine, s);
    } else {
        stop_engine(s);
    }
    rfm5565_dma_exit(s);
    if (s->extension) {
        rfm5565_remote_exit(s);
    }
}
