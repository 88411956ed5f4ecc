// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lock, and the interrupts that follow what is done under it: latches and
 * FIFOs, INTx, and the messages of the extension block.
 *
 * INTx and messages need the BQL: who has not got it leaves them to a bottom
 * half in the main context.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "system/runstate.h"
#include "rfm5565.h"
#include "trace.h"

#define EVENTS  BIT(RFM_VECTOR_EVENTS)
#define DMA     BIT(RFM_VECTOR_DMA)
#define LINK    BIT(RFM_VECTOR_LINK)
#define ERRORS  BIT(RFM_VECTOR_ERRORS)
#define TRANSFER BIT(RFM_VECTORS)   /* the DMA engine's, enabled by INTCSR */

/* --- latches and FIFOs: under the lock ------------------------------------ */

void rfm5565_latch(Rfm5565State *s, uint32_t lisr_bits)
{
    trace_rfm5565_latch(s->node_id, lisr_bits);
    s->lisr |= lisr_bits;
    /* A new event must be read before it can be cleared, and be announced. */
    s->ext.base_msi_sent &= ~(lisr_bits & s->lisr_seen);
    s->lisr_seen &= ~lisr_bits;
    rfm5565_event_latched(s, lisr_bits);
}

void rfm5565_fifo_push(Rfm5565State *s, unsigned index, uint8_t sender,
                       uint32_t data)
{
    Rfm5565Fifo *fifo = &s->fifo[index];
    unsigned tail = (fifo->head + fifo->count) % RFM_FIFO_DEPTH;

    if (fifo->count == RFM_FIFO_DEPTH) {
        /* Not documented by the vendor; the new one is lost. */
        trace_rfm5565_fifo_full(s->node_id, index + 1, sender);
        s->fifo_dropped++;
        return;
    }
    fifo->sender[tail] = sender;
    fifo->data[tail] = data;
    fifo->count++;
}

const VMStateDescription vmstate_rfm5565_fifo = {
    .name = "rfm5565/fifo",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_ARRAY(sender, Rfm5565Fifo, RFM_FIFO_DEPTH),
        VMSTATE_UINT32_ARRAY(data, Rfm5565Fifo, RFM_FIFO_DEPTH),
        VMSTATE_UINT8(head, Rfm5565Fifo),
        VMSTATE_UINT8(count, Rfm5565Fifo),
        VMSTATE_UINT32(last_data, Rfm5565Fifo),
        VMSTATE_END_OF_LIST()
    },
};

/* The bits of LISR that say which FIFOs have something. */
uint32_t rfm5565_fifo_levels(const Rfm5565State *s)
{
    uint32_t levels = 0;

    for (unsigned i = 0; i < RFM_FIFOS; i++) {
        if (s->fifo[i].count) {
            levels |= RFM_LISR_INT(i + 1);
        }
    }
    return levels;
}

/* --- what interrupts ------------------------------------------------------ */

/* What of LISR interrupts. */
uint32_t rfm5565_local_sources(const Rfm5565State *s)
{
    uint32_t pending = (s->lisr | rfm5565_fifo_levels(s)) & RFM_LISR_SOURCES_M;

    return s->lisr & RFM_LISR_GLOBAL_ENABLE ? pending & s->lier : 0;
}

/* What of it reaches the bus. */
static uint32_t base_sources(const Rfm5565State *s)
{
    const uint32_t enables = RFM_INTCSR_PCI_ENABLE | RFM_INTCSR_LOCAL_ENABLE;

    return !s->dead && (s->intcsr & enables) == enables ?
           rfm5565_local_sources(s) : 0;
}

/* Does the end of a transfer assert INTA#, if that is not by messages? */
static bool dma_irq_pending(const Rfm5565State *s)
{
    const uint32_t all = RFM_INTCSR_PCI_ENABLE | RFM_INTCSR_DMA0_ENABLE |
                         RFM_INTCSR_DMA0_ACTIVE;

    return !s->dead && (s->intcsr & all) == all;
}

/* Does the block assert INTA#? INTCSR apart. */
static bool ext_irq_pending(const Rfm5565State *s)
{
    return s->ext.int_status & s->ext.int_enable;
}

static bool uses_msix(const Rfm5565State *s)
{
    return s->ext.has_msix && msix_enabled((PCIDevice *)&s->parent_obj);
}

static bool intx_wanted(const Rfm5565State *s)
{
    if (!s->extension) {
        return base_sources(s) || dma_irq_pending(s);
    }
    return !uses_msix(s) &&
           (base_sources(s) || dma_irq_pending(s) ||
            (!s->dead && (s->intcsr & RFM_INTCSR_PCI_ENABLE) &&
             ext_irq_pending(s)));
}

/* --- the lock ------------------------------------------------------------- */

/* Under the BQL, without the lock. */
void rfm5565_update_intx(Rfm5565State *s)
{
    bool level;

    qemu_mutex_lock(&s->lock);
    level = s->intx_level = intx_wanted(s);
    qemu_mutex_unlock(&s->lock);
    trace_rfm5565_intx(s->node_id, level);
    pci_set_irq(PCI_DEVICE(s), level);
}

void rfm5565_lock(Rfm5565State *s)
{
    if (qemu_mutex_trylock(&s->lock)) {
        qatomic_inc(&s->lock_wanted);
        qemu_mutex_lock(&s->lock);
        qatomic_dec(&s->lock_wanted);
    }
}

/*
 * What would assert INTA# on a 5565 sends a message instead, if it was not
 * there before, or was latched again since the guest has looked: else an event
 * between its read and its write would get none.
 */
static void update_base_msix(Rfm5565State *s, uint32_t sources)
{
    Rfm5565Ext *ext = &s->ext;

    if (!uses_msix(s) || !(ext->int_enable & ERRORS)) {
        sources = 0;
    }
    if (sources & ~ext->base_msi_sent) {
        ext->base_msi_pending = true;
        rfm5565_events_schedule(s);
    }
    ext->base_msi_sent = sources;
}

/*
 * The end of a transfer, likewise. INTCSR alone enables it, and the guest asks
 * for each one: nothing to moderate.
 */
static void update_dma_msix(Rfm5565State *s, bool asserts)
{
    asserts &= uses_msix(s);
    if (asserts && !s->dma.msi_sent) {
        s->dma.msi_pending = true;
        rfm5565_events_schedule(s);
    }
    s->dma.msi_sent = asserts;
}

/*
 * Every change of a register or latch ends here: INTx or messages follow it,
 * what waits for room on the ring is looked at, then the lock is given back,
 * and the net layer told of what there is for it.
 */
void rfm5565_update_and_unlock(Rfm5565State *s)
{
    bool changed = intx_wanted(s) != s->intx_level;

    if (s->extension) {
        update_base_msix(s, base_sources(s));
        update_dma_msix(s, dma_irq_pending(s));
    }
    if (s->dma.waiting) {
        rfm5565_dma_check_room(s);
    }
    if (s->remote.wants_room) {
        rfm5565_remote_check_room(s);
    }
    rfm5565_unlock(s);
    if (!changed) {
        return;
    }
    if (bql_locked()) {
        rfm5565_update_intx(s);
    } else {
        qemu_bh_schedule(s->main_work_bh);
    }
}

/* --- messages ------------------------------------------------------------- */

/* Under the BQL, without the lock, as all that follows. */
static void raise_causes(Rfm5565State *s, uint32_t causes)
{
    rfm5565_lock(s);
    if (!uses_msix(s)) {
        s->ext.int_status |= causes & ~TRANSFER;
        causes = 0;
    }
    causes = (causes & s->ext.int_enable) | (causes & TRANSFER ? DMA : 0);
    rfm5565_update_and_unlock(s);
    for (unsigned i = 0; i < RFM_VECTORS; i++) {
        if (causes & BIT(i)) {
            trace_rfm5565_message(s->node_id, i);
            msix_notify(PCI_DEVICE(s), i);
        }
    }
}

/* Is it time to announce what was written? If not yet, a timer asks again. */
static bool may_announce(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    uint64_t now = rfm5565_now(), time = ext->moderation_time, due;

    if (!ext->unannounced ||
        (uses_msix(s) && !(ext->int_enable & EVENTS))) {
        return false;
    }
    due = ext->raised_at[RFM_VECTOR_EVENTS] + time;
    if (ext->unannounced < ext->moderation_count) {
        due = MAX(due, ext->unannounced_since + time);
    }
    if (time && now < due) {
        timer_mod_anticipate_ns(ext->moderation, due);
        return false;
    }
    ext->unannounced = 0;
    ext->raised_at[RFM_VECTOR_EVENTS] = now;
    return true;
}

/* May vector @i interrupt once more? If not yet, a timer asks again. */
static bool may_raise(Rfm5565State *s, unsigned i)
{
    Rfm5565Ext *ext = &s->ext;
    uint64_t now = rfm5565_now(), time = ext->moderation_time;

    if (time && now < ext->raised_at[i] + time) {
        timer_mod_anticipate_ns(ext->moderation, ext->raised_at[i] + time);
        return false;
    }
    ext->raised_at[i] = now;
    return true;
}

/*
 * The vectors that interrupt now. Causes of one that has just done so are
 * kept, but not those that are not enabled: they are not announced later. The
 * end of a request is what somebody waits for, so it is not held up.
 */
static uint32_t due_causes(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    uint32_t causes, taken = may_announce(s) ? EVENTS : 0;

    if (uses_msix(s)) {
        ext->causes &= ext->int_enable;
        ext->base_msi_pending &= !!(ext->int_enable & ERRORS);
    } else {
        ext->base_msi_pending = false;
    }
    causes = ext->causes | (ext->base_msi_pending ? ERRORS : 0);
    for (unsigned i = RFM_VECTOR_LINK; i < RFM_VECTORS; i++) {
        if ((causes & BIT(i)) && may_raise(s, i)) {
            taken |= BIT(i);
        }
    }
    taken |= ext->causes & DMA;
    ext->causes &= ~taken;
    ext->base_msi_pending &= !(taken & ERRORS);
    if (s->dma.msi_pending) {
        s->dma.msi_pending = false;
        taken |= TRANSFER;
    }
    return taken;
}

/* Nothing reaches the guest while it stands still: then it is asked again. */
static void irq_bh(void *opaque)
{
    Rfm5565State *s = opaque;
    Rfm5565Ext *ext = &s->ext;
    uint32_t causes;

    rfm5565_lock(s);
    ext->bh_scheduled = false;
    rfm5565_update_and_unlock(s);
    if (!runstate_is_running() || rfm5565_is_unreachable(s)) {
        return;
    }
    rfm5565_events_write(s);
    rfm5565_lock(s);
    if (ext->staged_count) {
        rfm5565_events_schedule(s);
    }
    causes = due_causes(s);
    rfm5565_update_and_unlock(s);
    if (causes) {
        raise_causes(s, causes);
    }
}

static void moderation_ends(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_lock(s);
    rfm5565_events_schedule(s);
    rfm5565_update_and_unlock(s);
}

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_irq_reset(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;

    ext->causes = ext->base_msi_sent = 0;
    ext->base_msi_pending = false;
    memset(ext->raised_at, 0, sizeof(ext->raised_at));
    timer_del(ext->moderation);
}

void rfm5565_irq_init(Rfm5565State *s)
{
    s->ext.bh = qemu_bh_new_guarded(irq_bh, s,
                                    &DEVICE(s)->mem_reentrancy_guard);
    s->ext.moderation = timer_new_ns(QEMU_CLOCK_REALTIME, moderation_ends, s);
}

void rfm5565_irq_exit(Rfm5565State *s)
{
    timer_free(s->ext.moderation);
    qemu_bh_delete(s->ext.bh);
}
