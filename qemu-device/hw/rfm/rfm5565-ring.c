// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The card as a member of the ring: what the node engine in ring/ needs from
 * QEMU. Links are chardevs and live in the main context; a vCPU only queues
 * and, when the queue was empty, wakes it.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "system/runstate.h"
#include "ring/crc32c.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

/* Batches written in one go before the rest of the main loop has its turn. */
#define BATCHES_A_TURN 16

static uint64_t now_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

/* Nodes of one boot of one host share their monotonic clock. */
static uint32_t clock_domain(void)
{
    g_autofree char *boot_id = NULL;
    gsize len;

    if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot_id, &len,
                             NULL)) {
        return g_random_int();
    }
    return rfm_crc32c(0, boot_id, len);
}

static uint64_t new_incarnation(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_HOST);
}

/* --- what the node asks for ----------------------------------------------- */

static void node_store(void *opaque, uint32_t offset, const void *data,
                       unsigned int len)
{
    Rfm5565State *s = opaque;

    trace_rfm5565_receive(s->node_id, offset, len);
    rfm_memory_store(s->ram + offset, data, len);
    memory_region_flush_rom_device(&s->memory, offset, len);
}

static void node_interrupt(void *opaque, uint8_t type, uint8_t from,
                           uint32_t data)
{
    Rfm5565State *s = opaque;

    trace_rfm5565_interrupt_in(s->node_id, type, from, data);
    switch (type) {
    case RFM_NIC_RESET:
        rfm5565_latch(s, RFM_LISR_RESET_REQ);
        break;
    case RFM_NIC_INT1:
    case RFM_NIC_INT2:
    case RFM_NIC_INT3:
        rfm5565_fifo_push(s, type - RFM_NIC_INT1, from, data);
        break;
    case RFM_NIC_INT4:
        rfm5565_fifo_push(s, 3, from, data);
        break;
    default:
        break;      /* reserved: only the sender's OWN DATA */
    }
}

static void node_status(void *opaque, unsigned int what)
{
    Rfm5565State *s = opaque;
    uint32_t latch = 0;

    trace_rfm5565_status(s->node_id, what);
    if (what & RFM_NODE_OWN_DATA) {
        s->lcsr1 |= RFM_LCSR1_OWN_DATA;
    }
    if (what & RFM_NODE_SYNC_LOSS) {
        latch |= RFM_LISR_SYNC_LOSS;
    }
    if (what & RFM_NODE_BAD_DATA) {
        latch |= RFM_LISR_BAD_DATA;
    }
    if (what & RFM_NODE_TX_FULL) {
        latch |= RFM_LISR_TX_FULL;
    }
    if (latch) {
        rfm5565_latch(s, latch);
    }
    if (what & RFM_NODE_DUPLICATE_ID) {
        error_report("rfm5565: node id 0x%02x (%u) is already used on this "
                     "ring; this card has left it and only passes frames on",
                     s->node_id, s->node_id);
    }
}

static void node_transmit(void *opaque)
{
    Rfm5565State *s = opaque;

    if (!s->tx_watch) {
        qemu_bh_schedule(s->tx_bh);
    }
}

static void node_room(void *opaque)
{
    Rfm5565State *s = opaque;

    s->stalled = false;
    qemu_cond_broadcast(&s->room);
}

static const struct rfm_node_ops node_ops = {
    .store = node_store,
    .interrupt = node_interrupt,
    .status = node_status,
    .transmit = node_transmit,
    .room = node_room,
};

/* --- what the guest asks for ---------------------------------------------- */

/*
 * Called before a store: wait, for a bounded time and with the big lock
 * released, until the ring has room for it. Stores of several vCPUs pass in
 * the order in which they came, else a later one could overtake on the ring.
 * Returns false if the card was unplugged or fell off the bus meanwhile.
 *
 * Only a CPU may wait. The DMA of another device comes from the main context,
 * which would wait for itself, and whose callers expect it to keep the lock.
 */
bool rfm5565_ring_wait_for_room(Rfm5565State *s)
{
    const int64_t limit = (int64_t)s->stall_limit_ms * SCALE_MS;
    uint64_t ticket, stalled_us;
    int64_t start, left;
    bool silent;

    if (s->stalled ||
        (s->ticket_served == s->ticket_next && rfm_node_may_store(&s->node)) ||
        !current_cpu) {
        return true;
    }

    ticket = s->ticket_next++;
    start = now_ns();
    left = limit;
    object_ref(OBJECT(s));
    while (!rfm5565_is_silent(s) && left > 0 &&
           (s->ticket_served < ticket || !rfm_node_may_store(&s->node))) {
        qemu_cond_timedwait_bql(&s->room, DIV_ROUND_UP(left, SCALE_MS));
        left = start + limit - now_ns();
    }
    silent = rfm5565_is_silent(s);
    stalled_us = (now_ns() - start) / SCALE_US;
    s->longest_stall_us = MAX(s->longest_stall_us, stalled_us);
    trace_rfm5565_stalled(s->node_id, stalled_us, left > 0);
    /* Two that give up at the same time may get the lock in either order. */
    s->ticket_served = MAX(s->ticket_served, ticket + 1);
    s->stalled = left <= 0 && !silent && !rfm_node_may_store(&s->node);
    qemu_cond_broadcast(&s->room);
    object_unref(OBJECT(s));
    return !silent;
}

void rfm5565_ring_store(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len)
{
    rfm_node_store(&s->node, offset, data, len, now_ns());
}

void rfm5565_ring_interrupt(Rfm5565State *s)
{
    trace_rfm5565_interrupt_out(s->node_id, s->ntn, s->nic, s->ntd);
    rfm_node_interrupt(&s->node, s->ntn, s->nic, s->ntd, now_ns());
}

void rfm5565_ring_set_optics(Rfm5565State *s)
{
    uint32_t steps = extract32(s->lcsr1, RFM_LCSR1_OFFSET_SHIFT, 2);

    rfm_node_set_address_offset(&s->node, steps * 64 * MiB);
    rfm_node_set_optics(&s->node, s->lcsr1 & RFM_LCSR1_TX_DISABLE,
                        s->lcsr1 & RFM_LCSR1_LOOPBACK,
                        s->lcsr1 & RFM_LCSR1_DARK_ON_DARK, now_ns());
}

/* --- ports ---------------------------------------------------------------- */

static void port_arm(Rfm5565Port *port)
{
    timer_mod_ns(port->deadline, now_ns() + RFM_LINK_DEADLINE_NS);
}

/* A socket that is still connecting must be let alone: QEMU would abort. */
static void port_disconnect(Rfm5565Port *port)
{
    if (port->open) {
        qemu_chr_fe_disconnect(&port->chr);
    }
}

/*
 * Close a port and say why, once: a peer that keeps coming back with the same
 * fault is not worth a line each time.
 */
static void port_reject(Rfm5565State *s, Rfm5565Port *port, const char *why)
{
    if (port->complaint != why) {
        warn_report("rfm5565: node 0x%02x (%u): %s; disconnected",
                    s->node_id, s->node_id, why);
        port->complaint = why;
    }
    port_disconnect(port);
}

static gboolean tx_writable(void *do_not_use, GIOCondition cond, void *opaque);

/* Write what is in tx_buf. Returns whether all of it went. */
static bool tx_write(Rfm5565State *s)
{
    while (s->tx_done < s->tx_fill) {
        int n = qemu_chr_fe_write(&s->tx.chr, s->tx_buf + s->tx_done,
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

static void tx_pump(void *opaque)
{
    Rfm5565State *s = opaque;

    if (!s->tx.open || s->away) {
        return;
    }
    for (unsigned i = 0; i < BATCHES_A_TURN; i++) {
        if (!tx_write(s)) {
            return;
        }
        s->tx_fill = rfm_link_tx_output(&s->link_tx, s->tx_buf, now_ns());
        if (!s->tx_fill) {
            return;
        }
    }
    qemu_bh_schedule(s->tx_bh);
}

static gboolean tx_writable(void *do_not_use, GIOCondition cond, void *opaque)
{
    Rfm5565State *s = opaque;

    s->tx_watch = 0;
    tx_pump(s);
    return G_SOURCE_REMOVE;
}

static int port_can_receive(void *opaque)
{
    Rfm5565State *s = opaque;

    /* Receiving never waits for sending, only for the card to come back. */
    return s->away ? 0 : RFM_LINK_BATCH;
}

static void tx_receive(void *opaque, const uint8_t *buf, int size)
{
    Rfm5565State *s = opaque;
    const char *error;

    if (s->away) {
        return;     /* came in while we left */
    }
    error = rfm_link_tx_received(&s->link_tx, buf, size, now_ns());
    if (error) {
        port_reject(s, &s->tx, error);
        return;
    }
    if (s->link_tx.welcome) {
        timer_del(s->tx.deadline);
        s->tx.complaint = NULL;
    }
    node_transmit(s);
}

static void rx_receive(void *opaque, const uint8_t *buf, int size)
{
    Rfm5565State *s = opaque;
    const char *error;

    if (s->away) {
        return;     /* came in while we left */
    }
    error = rfm_link_rx_received(&s->link_rx, buf, size, now_ns());
    if (s->link_rx.reply_length) {
        qemu_chr_fe_write_all(&s->rx.chr, s->link_rx.reply,
                              s->link_rx.reply_length);
    }
    if (error) {
        port_reject(s, &s->rx, error);
        return;
    }
    if (s->link_rx.agreed) {
        timer_del(s->rx.deadline);
        s->rx.complaint = NULL;
    }
}

static void tx_open(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "downstream", "connected");
    rfm_link_tx_opened(&s->link_tx, now_ns());
    port_arm(&s->tx);
    qemu_bh_schedule(s->tx_bh);
}

static void tx_close(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "downstream", "gone");
    timer_del(s->tx.deadline);
    g_clear_handle_id(&s->tx_watch, g_source_remove);
    s->tx_fill = s->tx_done = 0;
    rfm_link_tx_closed(&s->link_tx, now_ns());
}

static void rx_open(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "upstream", "connected");
    rfm_link_rx_opened(&s->link_rx, now_ns());
    port_arm(&s->rx);
}

static void rx_close(Rfm5565State *s)
{
    trace_rfm5565_link(s->node_id, "upstream", "gone");
    timer_del(s->rx.deadline);
    rfm_link_rx_closed(&s->link_rx, now_ns());
}

/* Follow the chardev; returns whether its state has changed. */
static bool port_follow(Rfm5565Port *port, QEMUChrEvent event)
{
    bool open = event == CHR_EVENT_OPENED;

    if ((!open && event != CHR_EVENT_CLOSED) || open == port->open) {
        return false;
    }
    port->open = open;
    return true;
}

static void tx_event(void *opaque, QEMUChrEvent event)
{
    Rfm5565State *s = opaque;

    if (!port_follow(&s->tx, event) || s->away) {
        return;
    }
    if (s->tx.open) {
        tx_open(s);
    } else {
        tx_close(s);
    }
}

static void rx_event(void *opaque, QEMUChrEvent event)
{
    Rfm5565State *s = opaque;

    if (!port_follow(&s->rx, event) || s->away) {
        return;
    }
    if (s->rx.open) {
        rx_open(s);
    } else {
        rx_close(s);
    }
}

static void tx_deadline(void *opaque)
{
    Rfm5565State *s = opaque;

    if (rfm_link_tx_late(&s->link_tx, now_ns())) {
        port_reject(s, &s->tx, "the downstream neighbour does not answer");
    }
}

/* Else a silent stranger would lock the real neighbour out. */
static void rx_deadline(void *opaque)
{
    Rfm5565State *s = opaque;

    if (rfm_link_rx_late(&s->link_rx, now_ns())) {
        port_reject(s, &s->rx, "whoever connected says nothing");
    }
}

/* --- counters ------------------------------------------------------------- */

/* Read them with qom-get; docs/system/devices/rfm5565.rst says more. */
void rfm5565_ring_add_counters(Rfm5565State *s)
{
    struct rfm_node_stats *stats = &s->node.stats;
    const struct {
        const char *name;
        uint64_t *value;
        const char *text;
    } counters[] = {
        { "frames-sent", &stats->sent,
          "own updates and interrupts given a number" },
        { "frames-home", &stats->home,
          "of these, came back" },
        { "frames-lost", &stats->lost,
          "of these, did not come back although a later one did" },
        { "frames-dark", &stats->dark,
          "own frames not sent: no signal or no neighbour" },
        { "frames-full", &stats->full,
          "own frames not sent: no room in time" },
        { "frames-received", &stats->received,
          "frames of others taken" },
        { "frames-forwarded", &stats->forwarded,
          "frames of others passed on" },
        { "frames-unsendable", &stats->unsendable,
          "frames of others not passed on: no neighbour" },
        { "frames-overrun", &stats->overrun,
          "frames of others not passed on: no room" },
        { "frames-missed", &stats->missed,
          "frames of others that never arrived" },
        { "frames-late", &stats->late,
          "frames out of turn: passed on, not stored" },
        { "frames-beyond", &stats->beyond,
          "updates past the end of the memory" },
        { "frames-bad", &stats->bad,
          "damaged frames dropped" },
        { "frames-hop-limit", &stats->hop_limit,
          "frames dropped for circling too long" },
        { "interrupts-dropped", &s->fifo_dropped,
          "network interrupts that found their FIFO full" },
        { "longest-stall-us", &s->longest_stall_us,
          "longest time a store held its CPU, microseconds" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
        object_property_add_uint64_ptr(OBJECT(s), counters[i].name,
                                       counters[i].value, OBJ_PROP_FLAG_READ);
        object_property_set_description(OBJECT(s), counters[i].name,
                                        counters[i].text);
    }
}

/* --- life ----------------------------------------------------------------- */

static void tick(void *opaque)
{
    Rfm5565State *s = opaque;

    timer_mod_ns(s->tick, rfm_node_tick(&s->node, now_ns()));
}

/*
 * While its state is saved the card is not on the ring: two lives of one node
 * would be. A VM that is merely paused stays on and passes frames along.
 */
static bool state_is_leaving(RunState state)
{
    return state == RUN_STATE_FINISH_MIGRATE ||
           state == RUN_STATE_POSTMIGRATE || state == RUN_STATE_SAVE_VM ||
           state == RUN_STATE_RESTORE_VM || state == RUN_STATE_INMIGRATE;
}

static void leave(Rfm5565State *s)
{
    trace_rfm5565_away(s->node_id, true);
    if (s->tx.open) {
        tx_close(s);
    }
    if (s->rx.open) {
        rx_close(s);
    }
    s->away = true;
    port_disconnect(&s->tx);
    port_disconnect(&s->rx);
}

static void join(Rfm5565State *s)
{
    trace_rfm5565_away(s->node_id, false);
    s->away = false;
    rfm_node_rejoin(&s->node, new_incarnation(), now_ns());
    if (s->tx.open) {
        tx_open(s);
    }
    if (s->rx.open) {
        rx_open(s);
    }
}

void rfm5565_ring_set_away(Rfm5565State *s, bool away)
{
    if (away && !s->away) {
        leave(s);
    } else if (!away && s->away) {
        join(s);
    }
}

static void vm_state_changed(void *opaque, bool running, RunState state)
{
    Rfm5565State *s = opaque;

    if (running && !s->dead) {
        rfm5565_ring_set_away(s, false);
    } else if (!running && state_is_leaving(state)) {
        rfm5565_ring_set_away(s, true);
    }
}

bool rfm5565_ring_init(Rfm5565State *s, Error **errp)
{
    struct rfm_node_config config = {
        .id = s->node_id,
        .memory_size = s->memory_size,
        .incarnation = new_incarnation(),
        .clock_domain = clock_domain(),
    };

    if (rfm_node_init(&s->node, &config, &node_ops, s, now_ns())) {
        error_setg_errno(errp, errno, "rfm5565: no memory for the FIFOs");
        return false;
    }
    rfm_link_tx_init(&s->link_tx, &s->node);
    rfm_link_rx_init(&s->link_rx, &s->node);
    s->gone = false;
    s->away = runstate_check(RUN_STATE_INMIGRATE);
    s->tx_bh = qemu_bh_new_guarded(tx_pump, s,
                                   &DEVICE(s)->mem_reentrancy_guard);
    s->tx.deadline = timer_new_ns(QEMU_CLOCK_REALTIME, tx_deadline, s);
    s->rx.deadline = timer_new_ns(QEMU_CLOCK_REALTIME, rx_deadline, s);
    s->tick = timer_new_ns(QEMU_CLOCK_REALTIME, tick, s);
    tick(s);
    s->vmstate_entry = qemu_add_vm_change_state_handler(vm_state_changed, s);
    qemu_chr_fe_set_handlers(&s->rx.chr, port_can_receive, rx_receive,
                             rx_event, NULL, s, NULL, true);
    qemu_chr_fe_set_handlers(&s->tx.chr, port_can_receive, tx_receive,
                             tx_event, NULL, s, NULL, true);
    return true;
}

/*
 * A vCPU may be waiting for room at this moment; it holds a reference, sees
 * @gone and touches nothing else.
 */
void rfm5565_ring_exit(Rfm5565State *s)
{
    s->gone = true;
    qemu_cond_broadcast(&s->room);
    qemu_del_vm_change_state_handler(s->vmstate_entry);
    g_clear_handle_id(&s->tx_watch, g_source_remove);
    /* The neighbours see the light go out. */
    port_disconnect(&s->tx);
    port_disconnect(&s->rx);
    qemu_chr_fe_deinit(&s->tx.chr, false);
    qemu_chr_fe_deinit(&s->rx.chr, false);
    qemu_bh_delete(s->tx_bh);
    timer_free(s->tx.deadline);
    timer_free(s->rx.deadline);
    timer_free(s->tick);
    rfm_node_destroy(&s->node);
}
