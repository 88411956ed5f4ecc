// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fibres of the card. Each end is a chardev; beside it may stand a queue
 * in memory that it shares with its neighbour (rfm5565-engine.c).
 *
 * The chardev's side runs in the main context: it says HELLO and passes the
 * queue's descriptors with it, takes those of the upstream neighbour, carries
 * the frames where there is no queue, and its end is the end of the link. No
 * chardev is written or closed under the card's lock: it may answer at once
 * with an event.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "chardev/char-socket.h"
#include "rfm5565.h"
#include "trace.h"

#define BATCHES_PER_RUN  16     /* writes to the chardev in one go */

#define SETTLED_NS      (2 * NANOSECONDS_PER_SECOND)    /* of a link */

/* --- ports ---------------------------------------------------------------- */

/* A socket that is still connecting must be let alone: QEMU would abort. */
static void port_disconnect(Rfm5565Port *port)
{
    if (port->open) {
        qemu_chr_fe_disconnect(&port->chr);
    }
}

/* Over TCP a frame must not wait for the acknowledgement of the one before. */
static void port_set_nodelay(Rfm5565Port *port, QEMUChrEvent event)
{
    SocketChardev *socket = (SocketChardev *)
        object_dynamic_cast(OBJECT(port->chr.chr), TYPE_CHARDEV_SOCKET);

    if (event == CHR_EVENT_OPENED && socket && socket->ioc) {
        qio_channel_set_delay(socket->ioc, false);
    }
}

/* Has it been a good link for a while? */
static bool port_has_settled(const Rfm5565Port *port)
{
    return port->up_since_ns && rfm5565_now() - port->up_since_ns >= SETTLED_NS;
}

/*
 * Is this fault worth a line? A peer that keeps coming back with it is not,
 * even if it begins well: only one that was a good neighbour for a while has
 * a clean slate. @why is a literal, of which there are few.
 */
static bool port_should_warn(Rfm5565Port *port, const char *why)
{
    if (port_has_settled(port)) {
        g_clear_pointer(&port->warned, g_slist_free);
    }
    if (g_slist_find(port->warned, why)) {
        return false;
    }
    port->warned = g_slist_prepend(port->warned, (void *)why);
    return true;
}

/* Close a port and say why. */
static void port_drop(Rfm5565State *s, Rfm5565Port *port, const char *why)
{
    if (port_should_warn(port, why)) {
        warn_report("rfm5565: node 0x%02x (%u): %s; disconnected",
                    s->node_id, s->node_id, why);
    }
    port->refused++;
    port_disconnect(port);
}

/* The same from the engine, which leaves the deed to the main context. */
void rfm5565_link_disconnect(Rfm5565State *s, Rfm5565Port *port,
                             const char *why)
{
    if (!port->disconnect_reason) {
        port->disconnect_reason = why;
        qemu_bh_schedule(s->main_work_bh);
    }
}

void rfm5565_link_main_work(Rfm5565State *s)
{
    Rfm5565Port *ports[] = { &s->tx, &s->rx };

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        const char *why;

        rfm5565_lock(s);
        why = ports[i]->disconnect_reason;
        ports[i]->disconnect_reason = NULL;
        rfm5565_update_and_unlock(s);
        if (why) {
            port_drop(s, ports[i], why);
        } else if (s->quiesced) {
            /* The neighbour takes one peer at a time, and another may come. */
            port_disconnect(ports[i]);
        }
    }
}

/* --- the stream: in the main context, without the lock -------------------- */

static gboolean tx_writable(void *do_not_use, GIOCondition cond, void *opaque);

static int port_write(Rfm5565Port *port, const uint8_t *buf, int len)
{
    return port->tls.creds ? rfm5565_tls_write(port, buf, len)
                           : qemu_chr_fe_write(&port->chr, buf, len);
}

/* Write what is in tx_buf. Returns whether all of it went. */
static bool tx_write(Rfm5565State *s)
{
    while (s->tx_done < s->tx_fill) {
        int n = port_write(&s->tx, s->tx_buf + s->tx_done,
                           s->tx_fill - s->tx_done);

        if (n > 0) {
            s->tx_done += n;
            continue;
        }
        if (s->tx.open && !s->tx_watch) {
            s->tx_watch = qemu_chr_fe_add_watch(&s->tx.chr,
                                                G_IO_OUT | G_IO_HUP,
                                                tx_writable, s);
        }
        return false;
    }
    s->tx_fill = s->tx_done = 0;
    return true;
}

static unsigned tx_output(Rfm5565State *s)
{
    unsigned fill = 0;

    rfm5565_lock(s);
    if (s->tx.open && !s->quiesced) {
        fill = rfm_link_tx_output(&s->link_tx, s->tx_buf, rfm5565_now());
        if (!fill && s->streaming) {
            rfm5565_engine_arm_pace(s);
        } else if (!fill) {
            qemu_bh_schedule(s->engine_bh);     /* it was not for us */
        }
    }
    rfm5565_update_and_unlock(s);
    return fill;
}

static void stream_run(void *opaque)
{
    Rfm5565State *s = opaque;

    for (unsigned i = 0; i < BATCHES_PER_RUN; i++) {
        if (s->tx_watch || !tx_write(s)) {
            return;
        }
        s->tx_fill = tx_output(s);
        if (!s->tx_fill) {
            return;
        }
    }
    qemu_bh_schedule(s->stream_bh);
}

/* What the neighbour takes at once. */
void rfm5565_link_push(Rfm5565State *s)
{
    stream_run(s);
}

static gboolean tx_writable(void *do_not_use, GIOCondition cond, void *opaque)
{
    Rfm5565State *s = opaque;

    s->tx_watch = 0;
    stream_run(s);
    return G_SOURCE_REMOVE;
}

static const char *link_kind(bool shm)
{
    return shm ? "shares memory" : "speaks over the socket";
}

static int port_can_receive(void *opaque)
{
    Rfm5565State *s = opaque;

    /* Receiving never waits for sending, only for the card to come back. */
    return s->quiesced ? 0 : RFM_LINK_BATCH;
}

static void port_receive(Rfm5565State *s, Rfm5565Port *port,
                         const uint8_t *buf, int size)
{
    if (s->quiesced) {
        return;     /* came in while we left */
    }
    if (port->tls.creds) {
        rfm5565_tls_received(s, port, buf, size);
    } else {
        port->received(s, buf, size);
    }
}

static void tx_receive(void *opaque, const uint8_t *buf, int size)
{
    Rfm5565State *s = opaque;

    port_receive(s, &s->tx, buf, size);
}

static void rx_receive(void *opaque, const uint8_t *buf, int size)
{
    Rfm5565State *s = opaque;

    port_receive(s, &s->rx, buf, size);
}

/* The neighbour may not be who it says, and is told. */
static void tx_refuse(Rfm5565State *s, enum rfm_link_refusal refusal)
{
    struct rfm_link_self self = rfm_node_link_ops.self(&s->node);
    uint8_t message[RFM_LINK_MESSAGE];

    rfm_link_refuse(message, refusal, &self);
    port_write(&s->tx, message, sizeof(message));
}

static void tx_received(Rfm5565State *s, const uint8_t *buf, int size)
{
    enum rfm_link_refusal refusal;
    const char *error;

    rfm5565_lock(s);
    error = rfm_link_tx_received(&s->link_tx, buf, size, rfm5565_now());
    if (s->link_tx.welcome) {
        s->tx.up_since_ns = s->tx.up_since_ns ?: rfm5565_now();
        if (!s->link_tx.shm) {
            rfm5565_engine_detach(s, &s->tx);
        }
        qatomic_set(&s->streaming, !s->link_tx.shm);
        trace_rfm5565_link(s->node_id, "downstream", link_kind(s->link_tx.shm));
    }
    refusal = s->link_tx.refusal;
    qemu_bh_schedule(s->engine_bh);
    timer_mod_ns(s->tick, rfm5565_now());
    rfm5565_update_and_unlock(s);
    if (refusal) {
        tx_refuse(s, refusal);
    }
    if (error) {
        port_drop(s, &s->tx, error);
    }
}

/* The queue of the upstream neighbour, if it is offered with these bytes. */
static void rx_take_descriptors(Rfm5565State *s)
{
    int fds[RFM_SHM_FDS + 1];
    int n = qemu_chr_fe_get_msgfds(&s->rx.chr, fds, ARRAY_SIZE(fds));
    const char *error;

    if (n <= 0) {
        return;
    }
    if (!s->use_shm || n != RFM_SHM_FDS || s->link_rx.agreed ||
        rfm_shm_is_open(&s->rx.shm)) {
        while (n) {
            close(fds[--n]);
        }
        return;
    }
    error = rfm_shm_attach(&s->rx.shm, fds);
    if (!error) {
        rfm_link_rx_attached(&s->link_rx);
    } else if (port_should_warn(&s->rx, error)) {
        warn_report("rfm5565: node 0x%02x (%u): %s; frames come by the socket",
                    s->node_id, s->node_id, error);
    }
}

static void rx_received(Rfm5565State *s, const uint8_t *buf, int size)
{
    uint8_t reply[RFM_LINK_MESSAGE];
    unsigned reply_length;
    const char *error;

    rfm5565_lock(s);
    rx_take_descriptors(s);
    error = rfm_link_rx_received(&s->link_rx, buf, size, rfm5565_now());
    reply_length = s->link_rx.reply_length;
    memcpy(reply, s->link_rx.reply, reply_length);
    if (reply_length && !error) {
        if (!s->link_rx.shm) {
            rfm5565_engine_detach(s, &s->rx);
        }
        s->rx.up_since_ns = rfm5565_now();
        trace_rfm5565_link(s->node_id, "upstream", link_kind(s->link_rx.shm));
        qemu_bh_schedule(s->engine_bh);
        timer_mod_ns(s->tick, rfm5565_now());
    }
    rfm5565_update_and_unlock(s);
    if (reply_length && s->rx.tls.creds) {
        rfm5565_tls_write(&s->rx, reply, reply_length);
    } else if (reply_length) {
        qemu_chr_fe_write_all(&s->rx.chr, reply, reply_length);
    }
    if (error) {
        port_drop(s, &s->rx, error);
    }
}

/* --- light comes and goes ------------------------------------------------- */

/* Under the lock, as are the next three. */
static void tx_open(Rfm5565State *s)
{
    bool offer = s->use_shm && !s->tx.tls.creds &&
                 !rfm_shm_create(&s->tx.shm, RFM_SHM_SLOTS);

    trace_rfm5565_link(s->node_id, "downstream", "connected");
    if (offer && qemu_chr_fe_set_msgfds(&s->tx.chr, s->tx.shm.offer,
                                        RFM_SHM_FDS) < 0) {
        rfm_shm_close(&s->tx.shm);
        offer = false;
    }
    rfm_link_tx_opened(&s->link_tx, offer, rfm5565_now());
    qemu_bh_schedule(s->stream_bh);
    timer_mod_ns(s->tick, rfm5565_now());
}

/* Its peer has gone: what it did wrong is forgotten if it was a good one. */
static void port_reset(Rfm5565Port *port)
{
    port->disconnect_reason = NULL;
    if (port_has_settled(port)) {
        g_clear_pointer(&port->warned, g_slist_free);
    }
    port->up_since_ns = 0;
}

static void tx_close(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "downstream", "gone");
    g_clear_handle_id(&s->tx_watch, g_source_remove);
    s->tx_fill = s->tx_done = 0;
    port_reset(&s->tx);
    s->tx_queue_full = false;
    qatomic_set(&s->streaming, false);
    rfm5565_engine_detach(s, &s->tx);
    rfm_link_tx_closed(&s->link_tx, rfm5565_now());
}

static void rx_open(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "upstream", "connected");
    rfm_link_rx_opened(&s->link_rx, rfm5565_now());
    timer_mod_ns(s->tick, rfm5565_now());
}

/* What a neighbour said before it died counts. */
static void rx_close(Rfm5565State *s)
{
    uint64_t now = rfm5565_now();

    trace_rfm5565_link(s->node_id, "upstream", "gone");
    rfm5565_engine_receive(s, RFM_SHM_SLOTS_MAX, now);
    port_reset(&s->rx);
    rfm5565_engine_detach(s, &s->rx);
    rfm_link_rx_closed(&s->link_rx, now);
    qemu_bh_schedule(s->engine_bh);
}

/*
 * Follow the chardev; returns whether its state has changed and the card is
 * on the ring to see it. One that is quiesced sends its peer home, but not from
 * within the chardev's own event.
 */
static bool port_set_open(Rfm5565State *s, Rfm5565Port *port,
                          QEMUChrEvent event)
{
    bool open = event == CHR_EVENT_OPENED;

    if ((!open && event != CHR_EVENT_CLOSED) || open == port->open) {
        return false;
    }
    port->open = open;
    if (open && s->quiesced) {
        qemu_bh_schedule(s->main_work_bh);
    }
    return !s->quiesced;
}

/* Under the lock. */
static void port_opened(Rfm5565State *s, Rfm5565Port *port)
{
    port == &s->tx ? tx_open(s) : rx_open(s);
}

/* TLS has let the neighbour in. */
void rfm5565_link_secured(Rfm5565State *s, Rfm5565Port *port)
{
    rfm5565_lock(s);
    if (port->open && !s->quiesced) {
        port_opened(s, port);
    }
    rfm5565_update_and_unlock(s);
}

static void port_event(Rfm5565State *s, Rfm5565Port *port, QEMUChrEvent event)
{
    bool secure = false;

    port_set_nodelay(port, event);
    if (port->tls.creds && event == CHR_EVENT_CLOSED) {
        rfm5565_tls_close(port);
    }
    rfm5565_lock(s);
    if (port_set_open(s, port, event)) {
        secure = port->open && port->tls.creds;
        if (port->open && !secure) {
            port_opened(s, port);
        } else if (!port->open) {
            port == &s->tx ? tx_close(s) : rx_close(s);
        }
    }
    rfm5565_update_and_unlock(s);
    if (secure) {
        rfm5565_tls_open(s, port);
    }
}

static void tx_event(void *opaque, QEMUChrEvent event)
{
    Rfm5565State *s = opaque;

    port_event(s, &s->tx, event);
}

static void rx_event(void *opaque, QEMUChrEvent event)
{
    Rfm5565State *s = opaque;

    port_event(s, &s->rx, event);
}

/* --- lifecycle: in the main context, without the lock --------------------- */

void rfm5565_link_down(Rfm5565State *s)
{
    rfm5565_lock(s);
    if (s->tx.open) {
        tx_close(s);
    }
    if (s->rx.open) {
        rx_close(s);
    }
    s->quiesced = true;
    rfm5565_update_and_unlock(s);
    port_disconnect(&s->tx);
    port_disconnect(&s->rx);
}

/* Under the lock. Who came meanwhile has not seen TLS begin: it comes again. */
void rfm5565_link_up(Rfm5565State *s)
{
    Rfm5565Port *ports[] = { &s->tx, &s->rx };

    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        if (!ports[i]->open) {
            continue;
        }
        if (ports[i]->tls.creds) {
            rfm5565_link_disconnect(s, ports[i],
                                    "the card was away when it came");
        } else {
            port_opened(s, ports[i]);
        }
    }
}

void rfm5565_link_init(Rfm5565State *s)
{
    rfm_link_tx_init(&s->link_tx, &rfm_node_link_ops, &s->node);
    rfm_link_rx_init(&s->link_rx, &rfm_node_link_ops, &s->node);
    s->link_tx.tap = s->link_rx.tap =
        rfm_pcapng_is_open(&s->capture) ? &s->tap : NULL;
    rfm_shm_init(&s->tx.shm);
    rfm_shm_init(&s->rx.shm);
    s->tx.received = tx_received;
    s->rx.received = rx_received;
    s->stream_bh = qemu_bh_new_guarded(stream_run, s,
                                       &DEVICE(s)->mem_reentrancy_guard);
}

/* Also when QMP chardev-change replaces the fibre: the old one was closed. */
static int rx_connect(void *opaque)
{
    Rfm5565State *s = opaque;

    qemu_chr_fe_set_handlers(&s->rx.chr, port_can_receive, rx_receive,
                             rx_event, rx_connect, s, NULL, true);
    return 0;
}

static int tx_connect(void *opaque)
{
    Rfm5565State *s = opaque;

    qemu_chr_fe_set_handlers(&s->tx.chr, port_can_receive, tx_receive,
                             tx_event, tx_connect, s, NULL, true);
    return 0;
}

/* Once everything else is there: they may have a peer already. */
void rfm5565_link_connect(Rfm5565State *s)
{
    if (rfm5565_tls_is_missed(&s->rx) || rfm5565_tls_is_missed(&s->tx)) {
        warn_report("rfm5565: node 0x%02x (%u): anybody who can reach this "
                    "host can read and change the memory of the whole ring: "
                    "a fibre listens on TCP without TLS",
                    s->node_id, s->node_id);
    }
    rx_connect(s);
    tx_connect(s);
}

/* After rfm5565_link_down(), and when the engine stands still. */
void rfm5565_link_exit(Rfm5565State *s)
{
    qemu_chr_fe_deinit(&s->tx.chr, false);
    qemu_chr_fe_deinit(&s->rx.chr, false);
    rfm5565_tls_exit(&s->tx);
    rfm5565_tls_exit(&s->rx);
    g_clear_pointer(&s->tx.warned, g_slist_free);
    g_clear_pointer(&s->rx.warned, g_slist_free);
    qemu_bh_delete(s->stream_bh);
}
