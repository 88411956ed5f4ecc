// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ethernet on the ring: the card as a network card of QEMU's net layer, whose
 * wire is the ring. What stands on the other side is a stock network card of
 * the guest, behind a hub; or a network of the host.
 *
 * The net layer is at home in the main context. Frames from there become
 * packets at once, under both locks: the third producer, beside CPUs and the
 * DMA engine, which has its bound in the node (ring/packet.c). One that finds
 * no room waits in @ether, and the net layer with it. Frames from the ring are
 * put together in the engine, and wait there, a bounded number, for the main
 * context.
 *
 * Nothing of it migrates: what was under way is lost, as on any network.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "system/runstate.h"
#include "net/net.h"
#include "net/queue.h"
#include "rfm5565.h"
#include "trace.h"

#define FRAMES_PER_RUN  64      /* before others in the main context */

/* Who does not take frames is asked again after */
#define NAP_MIN_NS      (50 * SCALE_US)     /* and twice so long each time */
#define NAP_MAX_NS      (10 * SCALE_MS)

/* --- the ring's side: engine, under the lock ------------------------------ */

static void net_due(void *opaque)
{
    Rfm5565State *s = opaque;

    s->net.due = true;
}

bool rfm5565_net_take(Rfm5565State *s, const struct rfm_packet *packet)
{
    return s->net.nic && rfm_ether_take(&s->net.ether, packet);
}

/* --- the net layer's side: main context ----------------------------------- */

static void net_wake(void *opaque)
{
    Rfm5565State *s = opaque;

    qemu_bh_schedule(s->net.bh);
}

static bool net_can_receive(NetClientState *nc)
{
    Rfm5565State *s = qemu_get_nic_opaque(nc);

    s->net.blocked = !rfm_ether_may_send(&s->net.ether);
    return !s->net.blocked;
}

/*
 * This thread comes as a CPU does, and sends itself what finds room: to wake
 * the engine up would take longer. What it returns, and sets *@shared to, is
 * for end_sending().
 */
static bool begin_sending(Rfm5565State *s, bool *shared)
{
    bool here;

    rfm5565_lock(s);
    here = rfm5565_engine_come(s);
    *shared = rfm5565_producer_lock(s);
    return here;
}

static void end_sending(Rfm5565State *s, bool here, bool shared)
{
    rfm5565_producer_unlock(s, shared);
    if (here) {
        rfm5565_engine_leave(s, false);
    }
    rfm5565_update_and_unlock(s);
}

/*
 * Only whoever asked net_can_receive() before comes here; a hub of three ports
 * may not have.
 */
static ssize_t net_receive(NetClientState *nc, const uint8_t *data, size_t len)
{
    Rfm5565State *s = qemu_get_nic_opaque(nc);
    bool here, shared;

    if (!net_can_receive(nc)) {
        return 0;
    }
    trace_rfm5565_net_send(s->node_id, len);
    here = begin_sending(s, &shared);
    rfm_ether_send(&s->net.ether, data, MIN(len, UINT32_MAX), rfm5565_now());
    end_sending(s, here, shared);
    return len;
}

static NetClientInfo net_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = net_can_receive,
    .receive = net_receive,
};

/*
 * A hub that flushes gives us what we do not take then, and it waits in our
 * queue: it is older than what the hub has the next time.
 */
static void net_flush(NetClientState *nc)
{
    nc->receive_disabled = 0;
    if (qemu_net_queue_flush(nc->incoming_queue)) {
        qemu_flush_queued_packets(nc);
    }
}

static void net_send_waiting(Rfm5565State *s)
{
    bool here, shared;

    if (rfm_ether_may_send(&s->net.ether)) {
        return;
    }
    here = begin_sending(s, &shared);
    rfm_ether_run(&s->net.ether, rfm5565_now());
    end_sending(s, here, shared);
}

/* What the net layer could not give us waits there. */
static void net_take_waiting(Rfm5565State *s)
{
    if (s->net.blocked && rfm_ether_may_send(&s->net.ether)) {
        s->net.blocked = false;
        net_flush(qemu_get_queue(s->net.nic));
    }
}

/* It takes the next one again. */
static void net_delivered(NetClientState *nc, ssize_t len)
{
    Rfm5565State *s = qemu_get_nic_opaque(nc);

    s->net.stuck = false;
    net_wake(s);
}

static struct rfm_ether_frame *net_fetch(Rfm5565State *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    return rfm_ether_fetch(&s->net.ether);
}

static bool net_has_frames(Rfm5565State *s)
{
    QEMU_LOCK_GUARD(&s->lock);
    return s->net.ether.first;
}

/*
 * A frame that finds no buffer in the guest waits behind a hub, the next ones
 * in the hub, and when there are buffers the hub's come first. So nothing is
 * given to a hub that would wait there; and nobody tells when it would not.
 */
static bool net_may_deliver(Rfm5565State *s)
{
    if (qemu_can_send_packet(qemu_get_queue(s->net.nic))) {
        s->net.nap_ns = NAP_MIN_NS;
        return true;
    }
    if (runstate_is_running() && !timer_pending(s->net.again) &&
        net_has_frames(s)) {
        timer_mod_ns(s->net.again, rfm5565_now() + s->net.nap_ns);
        s->net.nap_ns = MIN(2 * s->net.nap_ns, NAP_MAX_NS);
    }
    return false;
}

/* Without the lock: other devices are reached. */
static void net_deliver(Rfm5565State *s)
{
    for (unsigned i = 0; !s->net.stuck && net_may_deliver(s); i++) {
        struct rfm_ether_frame *frame;

        if (i == FRAMES_PER_RUN) {
            net_wake(s);
            return;
        }
        frame = net_fetch(s);
        if (!frame) {
            return;
        }
        trace_rfm5565_net_receive(s->node_id, frame->length);
        s->net.stuck = !qemu_send_packet_async(qemu_get_queue(s->net.nic),
                                               frame->data, frame->length,
                                               net_delivered);
        free(frame);
    }
}

static void net_work(void *opaque)
{
    Rfm5565State *s = opaque;

    net_send_waiting(s);
    net_take_waiting(s);
    net_deliver(s);
}

/* --- lifecycle ------------------------------------------------------------ */

/* Before the engine runs. */
void rfm5565_net_init(Rfm5565State *s)
{
    DeviceState *dev = DEVICE(s);

    if (!s->net.conf.peers.ncs[0]) {
        return;
    }
    rfm_ether_init(&s->net.ether, &s->node, net_due, s);
    s->net.bh = qemu_bh_new_guarded(net_work, s, &dev->mem_reentrancy_guard);
    s->net.again = timer_new_ns(QEMU_CLOCK_REALTIME, net_wake, s);
    s->net.nap_ns = NAP_MIN_NS;
    s->net.nic = qemu_new_nic(&net_info, &s->net.conf, TYPE_RFM5565, dev->id,
                              &dev->mem_reentrancy_guard, s);
}

void rfm5565_net_go_on(Rfm5565State *s)
{
    if (s->net.nic) {
        net_wake(s);
    }
}

/* When nothing of the card runs any more but this. */
void rfm5565_net_exit(Rfm5565State *s)
{
    if (!s->net.nic) {
        return;
    }
    /* One that the net layer keeps would be told of when the card has gone. */
    qemu_purge_queued_packets(qemu_get_queue(s->net.nic));
    qemu_del_nic(s->net.nic);
    s->net.nic = NULL;
    timer_free(s->net.again);
    qemu_bh_delete(s->net.bh);
    rfm_ether_destroy(&s->net.ether);
}
