// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The card as a member of the ring: what the node engine in ring/ needs from
 * QEMU, and how the card joins and leaves the ring. rfm5565.h says in which
 * context what runs.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "system/runstate.h"
#include "system/system.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

#define FLUSH_NS    (100 * SCALE_MS)    /* of a capture whose file is busy */

/* The card's next incarnation: later than the last, whatever the clock says. */
static uint64_t new_incarnation(uint64_t previous)
{
    return MAX((uint64_t)qemu_clock_get_ns(QEMU_CLOCK_HOST), previous + 1);
}

/* --- what the node asks for ----------------------------------------------- */

static void card_apply(void *opaque, uint32_t offset, const void *data,
                       unsigned int len, const struct rfm_origin *origin)
{
    Rfm5565State *s = opaque;

    trace_rfm5565_receive(s->node_id, offset, len);
    if (s->ext.planes_on_update) {
        rfm5565_planes_apply(s, offset, data, len, origin);
    } else {
        rfm5565_memory_put(s, offset, data, len);
    }
}

/* Has somebody chosen to find it in the event ring, and not in its FIFO? */
static bool card_interrupt_event(Rfm5565State *s, uint8_t type, uint8_t from,
                                 uint32_t data)
{
    unsigned record = type == RFM_NIC_INT4 ? RFM_RECORD_INT4 : type;

    if (!rfm5565_events_wants(s, record)) {
        return false;
    }
    rfm5565_event_plain(s, record, from, data, 0);
    return true;
}

static void card_interrupt(void *opaque, uint8_t type, uint8_t from,
                           uint32_t data)
{
    Rfm5565State *s = opaque;

    trace_rfm5565_interrupt_in(s->node_id, type, from, data);
    if (card_interrupt_event(s, type, from, data)) {
        return;
    }
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

static const struct {
    unsigned int status;
    uint32_t lisr;
} latched_status[] = {
    { RFM_NODE_SYNC_LOSS, RFM_LISR_SYNC_LOSS },
    { RFM_NODE_BAD_DATA,  RFM_LISR_BAD_DATA },
    { RFM_NODE_TX_FULL,   RFM_LISR_TX_FULL },
    { RFM_NODE_RX_FULL,   RFM_LISR_RX_FULL },
    { RFM_NODE_RX_ALMOST_FULL, RFM_LISR_RX_ALMOST_FULL },
    { RFM_NODE_ROGUE,     RFM_LISR_ROGUE },
};

static void card_status(void *opaque, unsigned int what)
{
    Rfm5565State *s = opaque;

    trace_rfm5565_status(s->node_id, what);
    if (what & RFM_NODE_OWN_DATA) {
        s->own_data = true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(latched_status); i++) {
        if (what & latched_status[i].status) {
            rfm5565_latch(s, latched_status[i].lisr);
        }
    }
    if (what & RFM_NODE_BREAK) {
        s->breaks++;
        rfm5565_event_plain(s, RFM_RECORD_BREAK, s->node.break_at, 0, 0);
    }
    if (what & RFM_NODE_SIGNAL_BACK) {
        rfm5565_event_plain(s, RFM_RECORD_SIGNAL, RFM_RECORD_NODE_NONE, 0, 0);
    }
    if (what & RFM_NODE_EPOCH) {
        rfm5565_event_plain(s, RFM_RECORD_MEMBERSHIP, RFM_RECORD_NODE_NONE,
                            s->node.epoch, 0);
    }
    if (what & RFM_NODE_INCOMPLETE) {
        rfm5565_event_plain(s, RFM_RECORD_INCOMPLETE, RFM_RECORD_NODE_NONE,
                            s->node.incomplete, 0);
    }
    if (what & RFM_NODE_DUPLICATE_ID) {
        rfm5565_event_plain(s, RFM_RECORD_ID_IN_USE, s->node_id, 0, 0);
        s->duplicate_id = true;
        qemu_bh_schedule(s->main_work_bh);
    }
}

/*
 * From a vCPU, with the lock or without, or from the engine with it. The vCPU
 * sends a lone store itself if it can, and what it has written to a register:
 * that saves waking the engine up.
 */
static void card_kick(void *opaque)
{
    Rfm5565State *s = opaque;

    if (rfm5565_engine_bring(s) ||
        (current_cpu ? rfm5565_engine_send_inline(s)
                     : qatomic_read(&s->in_turn))) {
        return;
    }
    qemu_bh_schedule(qatomic_read(&s->streaming) ? s->stream_bh
                                                 : s->engine_bh);
}

static void card_room(void *opaque)
{
    Rfm5565State *s = opaque;

    qatomic_set(&s->backpressure_expired, false);
    qemu_cond_broadcast(&s->room);
}

static void card_missed(void *opaque, uint8_t source, uint64_t count,
                        uint64_t seq)
{
    rfm5565_event_plain(opaque, RFM_RECORD_LOSS, source,
                        MIN(count, UINT32_MAX), seq);
}

static void card_fence(void *opaque, const struct rfm_fence_result *fence)
{
    rfm5565_ext_fence_ended(opaque, fence);
}

static void card_load(void *opaque, uint32_t offset, void *data,
                      unsigned int len)
{
    Rfm5565State *s = opaque;

    rfm_memory_load(data, s->ram + offset, len);
}

static void card_answer(void *opaque, uint8_t from,
                        const struct rfm_answer *answer)
{
    rfm5565_query_answered(opaque, from, answer);
}

static void card_packet_end(void *opaque, uint64_t cookie,
                            enum rfm_packet_fate fate)
{
    Rfm5565State *s = opaque;

    if (cookie & RFM_ETHER_COOKIE) {
        rfm_ether_packet_end(&s->net.ether, cookie, fate);
    } else {
        rfm5565_remote_packet_end(s, cookie, fate);
    }
}

static void card_packet_room(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_remote_packet_room(s);
    if (s->net.nic) {
        rfm_ether_packet_room(&s->net.ether);
    }
}

static bool card_take(void *opaque, const struct rfm_packet *packet,
                      const uint8_t *data)
{
    switch (packet->class) {
    case RFM_PACKET_MESSAGE:
    case RFM_PACKET_REQUEST:
    case RFM_PACKET_ANSWER:
        return rfm5565_remote_take(opaque, packet, data);
    case RFM_PACKET_ETHERNET:
        return rfm5565_net_take(opaque, packet);
    default:
        return false;
    }
}

/* Of a class of which one was taken. */
static void card_packet(void *opaque, const struct rfm_packet *packet,
                        const uint8_t *data)
{
    Rfm5565State *s = opaque;

    if (packet->class == RFM_PACKET_ETHERNET) {
        rfm_ether_packet(&s->net.ether, packet, data);
    } else {
        rfm5565_remote_packet(s, packet, data);
    }
}

static const struct rfm_node_ops card_ops = {
    .apply = card_apply,
    .interrupt = card_interrupt,
    .status = card_status,
    .kick = card_kick,
    .room = card_room,
    .missed = card_missed,
    .fence = card_fence,
    .load = card_load,
    .answer = card_answer,
    .packet_end = card_packet_end,
    .packet_room = card_packet_room,
    .take = card_take,
    .packet = card_packet,
};

/* --- what the guest asks for ---------------------------------------------- */

/* Under the lock, as is the next one. */
void rfm5565_ring_interrupt(Rfm5565State *s)
{
    Rfm5565Command command = {
        .dest = s->ntn, .kind = s->nic, .data = s->ntd,
    };

    trace_rfm5565_interrupt_out(s->node_id, s->ntn, s->nic, s->ntd);
    rfm5565_burst_interrupt(s, &command);
}

void rfm5565_ring_set_optics(Rfm5565State *s)
{
    uint32_t steps = extract32(s->lcsr1, RFM_LCSR1_OFFSET_SHIFT, 2);

    rfm_node_set_address_offset(&s->node, steps * 64 * MiB);
    rfm_node_set_optics(&s->node, s->lcsr1 & RFM_LCSR1_TX_DISABLE,
                        s->lcsr1 & RFM_LCSR1_LOOPBACK,
                        s->lcsr1 & RFM_LCSR1_DARK_ON_DARK, rfm5565_now());
}

/* --- the capture ---------------------------------------------------------- */

static void capture_packet(void *opaque, bool sent, const uint8_t *wire,
                           unsigned int len, uint64_t now)
{
    Rfm5565State *s = opaque;

    if (rfm_pcapng_is_open(&s->capture)) {
        rfm_pcapng_packet(&s->capture, sent ? s->capture_tx : s->capture_rx,
                          sent ? RFM_PCAPNG_OUT : RFM_PCAPNG_IN, now, wire,
                          len, NULL);
    }
}

static bool start_capture(Rfm5565State *s, Error **errp)
{
    int64_t epoch = qemu_clock_get_ns(QEMU_CLOCK_HOST) - rfm5565_now();

    if (!s->pcap) {
        return true;
    }
    if (rfm_pcapng_create(&s->capture, s->pcap, "QEMU rfm5565", epoch)) {
        error_setg_errno(errp, errno, "rfm5565: pcap=%s", s->pcap);
        return false;
    }
    s->capture_rx = rfm_pcapng_interface(&s->capture, "rx",
                                         "from the upstream neighbour");
    s->capture_tx = rfm_pcapng_interface(&s->capture, "tx",
                                         "to the downstream neighbour");
    s->tap = (struct rfm_link_tap) { .seen = capture_packet, .opaque = s };
    return true;
}

/* Under the lock. */
void rfm5565_ring_flush_capture(Rfm5565State *s)
{
    const char *trouble;

    if (!rfm_pcapng_is_open(&s->capture)) {
        return;
    }
    rfm_pcapng_flush(&s->capture);
    /* On the ring the engine's next tick asks again. */
    if (s->quiesced && rfm_pcapng_has_more(&s->capture)) {
        timer_mod_ns(s->tick, rfm5565_now() + FLUSH_NS);
    }
    trouble = rfm_pcapng_trouble(&s->capture);
    if (trouble) {
        s->capture_trouble = trouble;
        qemu_bh_schedule(s->main_work_bh);
    }
}

/* QEMU is left without unplugging anything. */
static void end_capture(Notifier *notifier, void *unused)
{
    Rfm5565State *s = container_of(notifier, Rfm5565State, exit_notifier);

    rfm5565_lock(s);
    rfm_pcapng_end(&s->capture);
    rfm5565_update_and_unlock(s);
}

/* --- the clock ------------------------------------------------------------ */

/* Under the lock. */
void rfm5565_ring_look_at_clock(Rfm5565State *s)
{
    const char *trouble = s->clock.trouble;
    bool other = rfm_clock_look(&s->clock);

    rfm_node_set_clock(&s->node, s->clock.domain, s->clock.offset_ns);
    s->other_clock |= other;
    if (other || trouble != s->clock.trouble) {
        qemu_bh_schedule(s->main_work_bh);
    }
}

/* In the main context, as what the times of before are in is under the BQL. */
static void tell_clock(Rfm5565State *s)
{
    const char *trouble;
    bool told;

    rfm5565_lock(s);
    if (s->other_clock && s->extension) {
        rfm5565_ext_other_clock(s);
    }
    s->other_clock = false;
    trouble = s->clock.trouble;
    told = s->clock_told && trouble == s->clock_trouble;
    s->clock_trouble = trouble;
    s->clock_told = true;
    rfm5565_update_and_unlock(s);
    if (told || !s->clock.tai) {
        return;
    }
    if (trouble) {
        warn_report("rfm5565: node 0x%02x (%u): clock=tai: %s: its times can "
                    "be compared on this host only", s->node_id, s->node_id,
                    trouble);
    } else {
        info_report("rfm5565: node 0x%02x (%u): clock=tai: the kernel's clock "
                    "is synchronised: its times can be compared between hosts",
                    s->node_id, s->node_id);
    }
}

/* --- leaving and joining -------------------------------------------------- */

/*
 * Does the guest stand still? One that has not begun yet does not: its card
 * is a card with power.
 */
static bool is_paused(void)
{
    return !runstate_is_running() && !runstate_check(RUN_STATE_PRELAUNCH) &&
           !runstate_check(RUN_STATE_INMIGRATE);
}

/*
 * A card that moves to another host leaves the ring here, else the node would
 * have two incarnations at once; one whose state is replaced begins a new one.
 * A VM that is merely paused, perhaps because a snapshot is taken of it, stays
 * on and passes frames along; what comes for its own memory is held back.
 */
static bool must_quiesce(RunState state)
{
    return state == RUN_STATE_FINISH_MIGRATE ||
           state == RUN_STATE_POSTMIGRATE || state == RUN_STATE_RESTORE_VM ||
           state == RUN_STATE_INMIGRATE;
}

/* What a fence has not told of yet is lost now, and the node forgets it. */
static void rejoin(Rfm5565State *s)
{
    uint64_t told;

    rfm5565_lock(s);
    s->quiesced = false;
    told = s->node.fence_lost;
    rfm_node_rejoin(&s->node, new_incarnation(s->node.config.incarnation),
                    rfm5565_now());
    s->ext.fence_lost_carried += s->node.fence_lost - told;
    rfm_node_set_paused(&s->node, is_paused());
    rfm5565_link_up(s);
    timer_mod_ns(s->tick, rfm5565_now());
    rfm5565_remote_go_on(s);
    rfm5565_update_and_unlock(s);
}

/* Once quiesced, the engine touches neither memory nor registers. */
void rfm5565_ring_set_quiesced(Rfm5565State *s, bool quiesced)
{
    if (quiesced == s->quiesced) {
        return;
    }
    trace_rfm5565_quiesce(s->node_id, quiesced);
    if (quiesced) {
        rfm5565_link_down(s);
        WITH_QEMU_LOCK_GUARD(&s->lock) {
            rfm5565_ring_flush_capture(s);
        }
    } else {
        rejoin(s);
    }
}

static void set_paused(Rfm5565State *s, bool paused)
{
    rfm5565_lock(s);
    if (!s->quiesced) {
        rfm_node_set_paused(&s->node, paused);
    }
    rfm5565_update_and_unlock(s);
}

static void vm_state_changed(void *opaque, bool running, RunState state)
{
    Rfm5565State *s = opaque;

    if (!running) {
        rfm5565_dma_set_running(s, false);
        rfm5565_ext_set_running(s, false);
        rfm5565_burst_stopped(s, must_quiesce(state));
        if (must_quiesce(state)) {
            rfm5565_ring_set_quiesced(s, true);
        }
        set_paused(s, true);
        rfm5565_remote_stopped(s);
        return;
    }
    if (!s->dead) {
        rfm5565_ring_set_quiesced(s, false);
    }
    /* What was held back feeds the timers before their time goes on. */
    set_paused(s, false);
    rfm5565_ext_set_running(s, true);
    rfm5565_dma_set_running(s, true);
    rfm5565_remote_go_on(s);
    rfm5565_burst_update(s);
    rfm5565_net_go_on(s);
}

/*
 * The state is about to be saved. A VM that was paused before it began to
 * migrate has heard of no change of its run state since. What is held back
 * now goes neither with the memory nor with the registers, nor does the light:
 * whoever loads them counts and latches it.
 */
void rfm5565_ring_saving(Rfm5565State *s)
{
    rfm5565_burst_stopped(s, must_quiesce(runstate_get()));
    if (must_quiesce(runstate_get())) {
        rfm5565_ring_set_quiesced(s, true);
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        rfm_node_save(&s->node, &s->saved.past);
        s->saved.breaks = s->breaks;
        s->saved.longest_stall_us = s->longest_stall_us;
        rfm5565_ext_saving(s);
        s->saved.incarnation = s->node.config.incarnation;
        s->saved.held = s->saved.past.held;
        s->saved.epoch = s->node.epoch;
        s->saved.signal = rfm_node_signal(&s->node);
        s->saved.incomplete = s->node.incomplete;
    }
}

/*
 * The card, which is quiesced, has another past now, and its books: so what
 * others have sent since is missed here, and counted. A process that has waited
 * for a migration goes on with the incarnation that was saved; one that was on
 * the ring itself since must not be taken for what it sent there. The epoch is
 * one that no fence of before has seen.
 */
void rfm5565_ring_loaded(Rfm5565State *s)
{
    uint64_t *incarnation = &s->node.config.incarnation;

    rfm5565_lock(s);
    *incarnation = MAX(*incarnation, s->saved.incarnation);
    if (s->saved.books) {
        rfm_node_load(&s->node, &s->saved.past);
        s->breaks = s->saved.breaks;
        s->longest_stall_us = s->saved.longest_stall_us;
    }
    rfm5565_counters_loaded(s);
    s->node.stats.held_lost += s->saved.held;
    s->node.epoch = MAX(s->node.epoch, s->saved.epoch) + 1;
    s->node.incomplete = s->saved.incomplete;
    if (s->saved.held) {
        rfm_node_set_incomplete(&s->node);
    }
    rfm5565_latch(s, (s->saved.held ? RFM_LISR_RX_FULL : 0) |
                     (s->saved.signal ? RFM_LISR_SYNC_LOSS : 0));
    rfm5565_update_and_unlock(s);
    if (!runstate_check(RUN_STATE_INMIGRATE) && !s->dead) {
        rfm5565_ring_set_quiesced(s, false);
    }
}

static int migration_event(NotifierWithReturn *notifier, MigrationEvent *event,
                           Error **errp)
{
    Rfm5565State *s = container_of(notifier, Rfm5565State, migration_notifier);

    if (event->type == MIG_EVENT_PRECOPY_SETUP && migration_in_bg_snapshot()) {
        error_setg(errp, "rfm5565: a background snapshot would miss what "
                   "arrives in the card's memory meanwhile");
        return -ENOTSUP;
    }
    /*
     * No memory has been saved yet: what is held back for a paused machine goes
     * with it. What comes from here on does not.
     */
    if (event->type == MIG_EVENT_PRECOPY_SETUP && is_paused()) {
        set_paused(s, false);
        set_paused(s, true);
    }
    /* A paused machine left for nothing; a running one joins by itself. */
    if (event->type == MIG_EVENT_PRECOPY_FAILED && is_paused() && !s->dead) {
        rfm5565_ring_set_quiesced(s, false);
    }
    return 0;
}

/* --- lifecycle ------------------------------------------------------------ */

/* In the main context: what the engine cannot say or do itself. */
static void main_work(void *opaque)
{
    Rfm5565State *s = opaque;
    const char *trouble;
    bool duplicate_id, dma_held;

    rfm5565_lock(s);
    duplicate_id = s->duplicate_id;
    s->duplicate_id = false;
    dma_held = s->dma.tell_hold;
    s->dma.tell_hold = false;
    trouble = s->capture_trouble;
    s->capture_trouble = NULL;
    rfm5565_ext_fence_next(s);
    rfm5565_update_and_unlock(s);

    if (duplicate_id) {
        error_report("rfm5565: node id 0x%02x (%u) is already used on this "
                     "ring; this card has left it and only passes frames on",
                     s->node_id, s->node_id);
    }
    if (dma_held) {
        warn_report("rfm5565: node 0x%02x (%u): a DMA transfer waits until the "
                    "guest makes the card a bus master; a driver that leaves "
                    "that to the firmware needs firmware-bus-master=on",
                    s->node_id, s->node_id);
    }
    if (trouble) {
        warn_report("rfm5565: pcap=%s: %s", s->pcap, trouble);
    }
    tell_clock(s);
    rfm5565_link_main_work(s);
}

bool rfm5565_ring_init(Rfm5565State *s, struct rfm_node_config *config,
                       Error **errp)
{
    s->quiesced = runstate_check(RUN_STATE_INMIGRATE);
    /* Who waits for a migration has had no incarnation yet. */
    config->incarnation = s->quiesced ? 0 : new_incarnation(0);
    rfm_clock_init(&s->clock, s->clock_kind == RFM5565_CLOCK_TAI);
    config->clock_domain = s->clock.domain;
    if (!start_capture(s, errp)) {
        return false;
    }
    if (rfm_node_init(&s->node, config, &card_ops, s, rfm5565_now())) {
        error_setg_errno(errp, errno, "rfm5565: no memory for the FIFOs");
        rfm_pcapng_end(&s->capture);
        return false;
    }
    rfm_node_set_clock(&s->node, s->clock.domain, s->clock.offset_ns);
    rfm_node_set_paused(&s->node, is_paused());
    s->gone = false;
    rfm5565_link_init(s);
    s->main_work_bh = qemu_bh_new_guarded(main_work, s,
                                          &DEVICE(s)->mem_reentrancy_guard);
    rfm5565_net_init(s);
    rfm5565_engine_init(s);
    rfm5565_burst_init(s);
    s->vmstate_entry = qemu_add_vm_change_state_handler(vm_state_changed, s);
    migration_add_notifier(&s->migration_notifier, migration_event);
    s->exit_notifier.notify = end_capture;
    qemu_add_exit_notifier(&s->exit_notifier);
    timer_mod_ns(s->tick, rfm5565_now());
    tell_clock(s);
    rfm5565_link_connect(s);
    return true;
}

/*
 * A vCPU may be waiting for room at this moment; it holds a reference, sees
 * @gone and touches nothing else.
 */
void rfm5565_ring_exit(Rfm5565State *s)
{
    rfm5565_lock(s);
    s->gone = true;
    rfm5565_dma_abort(s);
    if (s->extension) {
        rfm5565_remote_abort(s);
    }
    qemu_cond_broadcast(&s->room);
    rfm5565_update_and_unlock(s);
    qemu_remove_exit_notifier(&s->exit_notifier);
    migration_remove_notifier(&s->migration_notifier);
    qemu_del_vm_change_state_handler(s->vmstate_entry);
    /* The neighbours see the light go out. */
    rfm5565_link_down(s);
    rfm5565_burst_exit(s);
    rfm5565_engine_exit(s);
    rfm5565_link_exit(s);
    rfm5565_net_exit(s);
    qemu_bh_delete(s->main_work_bh);
    rfm_pcapng_end(&s->capture);
    rfm_node_destroy(&s->node);
}
