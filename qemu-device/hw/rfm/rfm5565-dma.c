// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The DMA engine of the 5565: channel 0, in one block or by descriptors.
 *
 * It works in pieces, each under the card's lock, in the context of the ring:
 * a long transfer holds up neither the guest nor the ring. There it reaches
 * plain memory of the machine only. All else, and everything behind a vIOMMU,
 * is left to a bottom half in the main context, which has the BQL and lets go
 * of the lock while it is on the bus. What a CPU starts and is short is moved,
 * and sent, by the CPU itself before its write to the register is over.
 *
 * What goes to the card is stored as a CPU's store would be, and is the second
 * producer of the ring: see rfm5565_producer_lock(). It leaves room for the
 * CPUs, so that they wait for the ring and never for it; if they leave it none,
 * it has a share of what the ring takes. Where nothing waits, it sends what it
 * stores at once: rfm5565_engine_store_run().
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "hw/pci/pci.h"
#include "system/runstate.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

#define FRAME           RFM_FRAME_DATA_MAX
#define CHUNK           RFM5565_DMA_CHUNK
#define CHUNKS_PER_RUN   4      /* before the ring has its turn */
/*
 * A piece whose bytes are swapped, with its edges apart, and a store of a CPU
 * that has seen room before the piece took it.
 */
#define NEEDED          (CHUNK / FRAME + 2 + 1)
#define QUEUED          512     /* frames that wait, behind which it waits */
#define SHORT           RFM_DMA_SHORT   /* bytes that a CPU moves itself */
#define EMPTY_MAX       4096    /* descriptors without bytes, a transfer */
#define GAP_NS          20000   /* in which the main loop lets go of the BQL */
#define PATIENCE_NS     50000   /* to wait for others to take the lock */

/* What the engine does next on the bus. */
typedef struct Rfm5565Access {
    uint64_t host;
    uint32_t len;
    bool to_host;
    bool is_descriptor;
    bool counts_on_room;        /* there was some on the ring */
    bool off_bus;               /* it is no bus master: it fails */
    uint8_t *data;
} Rfm5565Access;

typedef enum Rfm5565Step {
    STEP_MORE,
    STEP_HALT,          /* until it is woken */
    STEP_MAIN,          /* only the main context can do it */
} Rfm5565Step;

/* --- when it runs: under the lock ----------------------------------------- */

/* It was started, and has not begun: the card is no bus master yet. */
static bool is_held(const Rfm5565State *s)
{
    return s->dma.busy && !s->dma.left;
}

static bool may_run(const Rfm5565State *s)
{
    return s->dma.busy && s->dma.left && !s->dma.frozen && !s->dma.hung &&
           !rfm5565_is_unreachable(s);
}

/* In the main loop others need the BQL meanwhile. */
static void run_soon(Rfm5565State *s)
{
    if (s->iothread) {
        qemu_bh_schedule(s->dma.bh);
    } else {
        timer_mod_ns(s->dma.timer, rfm5565_now() + GAP_NS);
    }
}

/* The transfer is over, or given up. */
static void dma_stop_transfer(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    dma->busy = dma->waiting = false;
    dma->run++;
    rfm5565_set_other_producer(s, RFM5565_DMA_SENDS, false);
}

static void dma_complete(Rfm5565State *s, bool ok)
{
    Rfm5565Dma *dma = &s->dma;

    trace_rfm5565_dma_end(s->node_id, ok, dma->left);
    dma->transfers++;
    if (!ok) {
        dma->errors++;
        s->intcsr &= ~RFM_INTCSR_DMA0_NO_ABORT;
    }
    s->intcsr |= RFM_INTCSR_DMA0_ACTIVE;
    dma_stop_transfer(s);
}

/* A card that is no bus master has no cycle that could be aborted. */
static bool is_on_bus(const Rfm5565State *s)
{
    const PCIDevice *pci = &s->parent_obj;

    return !s->gone &&
           (s->firmware_bus_master == ON_OFF_AUTO_ON ||
            (pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER));
}

/* The setup registers keep their values. */
static void dma_begin(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    dma->chain = dma->mode & RFM_DMAMODE0_CHAIN;
    dma->to_host = dma->dpr & RFM_DMADPR0_TO_HOST;
    dma->swap = s->bigend & RFM_BIGEND_DMA0;
    dma->host = (uint64_t)dma->dac << 32 | dma->padr;
    dma->card = dma->ladr;
    dma->left = dma->size;
    dma->piece = dma->chain ? 0 : dma->left;
    dma->next = dma->dpr & RFM_DMADPR0_FIRST_M;
    dma->empty = 0;
    dma->share.no_room_since = 0;
    trace_rfm5565_dma_start(s->node_id, dma->to_host, dma->chain, dma->card,
                            dma->left);
    if (!dma->left) {
        dma_complete(s, true);
    } else if ((uint64_t)dma->card + dma->left > s->memory_size) {
        rfm5565_guest_error(s, "DMA of 0x%x bytes at 0x%x, past the memory",
                            dma->left, dma->card);
        dma_complete(s, false);
    } else {
        rfm5565_set_other_producer(s, RFM5565_DMA_SENDS, !dma->to_host);
    }
}

/*
 * Drivers that leave it to the firmware to make the card a bus master would not
 * notice that a transfer has failed. So it does not end: they do, and so does
 * whoever runs the machine.
 */
static void dma_begin_or_hold(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    if (is_on_bus(s)) {
        dma_begin(s);
        return;
    }
    rfm5565_guest_error(s, "DMA waits, as the card is no bus master");
    if (!dma->hold_told) {
        dma->hold_told = dma->tell_hold = true;
        qemu_bh_schedule(s->main_work_bh);
    }
}

/* Under both locks. */
static void dma_start(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    s->intcsr |= RFM_INTCSR_DMA0_NO_ABORT;
    dma->run++;
    dma->busy = true;
    dma->left = dma->piece = 0;
    dma_begin_or_hold(s);
}

/* --- the registers' part -------------------------------------------------- */

static bool is_short(const Rfm5565State *s)
{
    const Rfm5565Dma *dma = &s->dma;

    return may_run(s) && !dma->chain && !dma->to_host && dma->left <= SHORT;
}

/* ENABLE has its new value already. */
void rfm5565_dma_command(Rfm5565State *s, uint32_t value)
{
    if (value & RFM_DMACSR0_CLEAR_INT) {
        s->intcsr &= ~RFM_INTCSR_DMA0_ACTIVE;
        s->intcsr |= RFM_INTCSR_DMA0_NO_ABORT;
        s->dma.msi_sent = false; /* what ends from here on is announced */
    }
    if (!(value & RFM_DMACSR0_START) || s->dma.busy) {
        return;
    }
    if (s->dma.csr & RFM_DMACSR0_ENABLE) {
        dma_start(s);
        if (is_short(s)) {
            s->dma.now = true;
        } else if (may_run(s)) {
            qemu_bh_schedule(s->dma.bh);
        }
    } else {
        rfm5565_guest_error(s, "DMA start without the enable bit");
    }
}

/* What was moved stays moved. The guest gets no interrupt. */
void rfm5565_dma_abort(Rfm5565State *s)
{
    if (s->dma.busy) {
        trace_rfm5565_dma_abort(s->node_id, s->dma.left);
        dma_stop_transfer(s);
    }
}

/* For tests of drivers: it goes on where it stood, once it is not hung. */
void rfm5565_dma_set_hung(Rfm5565State *s, bool hung)
{
    rfm5565_lock(s);
    s->dma.hung = hung;
    if (may_run(s)) {
        qemu_bh_schedule(s->dma.bh);
    }
    rfm5565_update_and_unlock(s);
}

/* --- room on the ring ----------------------------------------------------- */

/*
 * What leaves at once waits for credit: in the insertion queue it would be
 * copied once more, and keep what follows from leaving at once. If others use
 * up the credit, it goes there all the same when it is its turn.
 */
static bool dma_has_room(Rfm5565State *s)
{
    if (rfm5565_engine_is_clear(s)) {
        return rfm_node_credit(&s->node) >= MIN(NEEDED, s->node.window / 2) ||
               rfm5565_share_has_turn(s, &s->dma.share);
    }
    return rfm5565_share_has_room(s, &s->dma.share, NEEDED, QUEUED);
}

/* Something may have left this node. */
void rfm5565_dma_check_room(Rfm5565State *s)
{
    if (dma_has_room(s)) {
        s->dma.waiting = false;
        qemu_bh_schedule(s->dma.bh);
    }
}

/*
 * Has the ring taken nothing for so long that a store would not wait either?
 * Then the data goes where stores go then: it is kept here, and counted lost.
 */
static bool has_waited_enough(Rfm5565State *s)
{
    uint64_t until = rfm5565_share_waits_until(s, &s->dma.share);

    if (until && !qatomic_read(&s->backpressure_expired)) {
        timer_mod_ns(s->dma.timer, until);
        return false;
    }
    /* A CPU may be about to store, or ask the same. */
    WITH_QEMU_LOCK_GUARD(&s->producer) {
        if (!rfm_node_may_store(&s->node)) {
            qatomic_set(&s->backpressure_expired, true);
        }
    }
    return true;
}

/* Must these bytes wait? The ring, or the timer, goes on with them then. */
static bool must_wait(Rfm5565State *s, Rfm5565Access *access)
{
    Rfm5565Dma *dma = &s->dma;

    if (access->to_host ||
        (s->planes_on_store &&
         !rfm5565_planes_sends(s, dma->card, access->len))) {
        return false;
    }
    /* It fails, even if the guest changes its mind: it need not wait before. */
    if (!is_on_bus(s)) {
        access->off_bus = true;
        return false;
    }
    if (dma_has_room(s)) {
        dma->share.no_room_since = 0;
        access->counts_on_room = true;
        return false;
    }
    if (has_waited_enough(s)) {
        return false;
    }
    trace_rfm5565_dma_wait(s->node_id, dma->left);
    dma->waiting = true;
    return true;
}

/* The guest has written to the command register. */
void rfm5565_dma_bus_changed(Rfm5565State *s)
{
    if (is_held(s) && is_on_bus(s)) {
        dma_begin(s);
        if (may_run(s)) {
            qemu_bh_schedule(s->dma.bh);
        }
    } else if (s->dma.waiting && !is_on_bus(s)) {
        s->dma.waiting = false;
        qemu_bh_schedule(s->dma.bh);
    }
}

/* --- the card's side: under the lock -------------------------------------- */

/*
 * As a CPU's store, but in frames that end where a multiple of their size does.
 * Under both locks: a thread that sees it here before it is on the ring can
 * store only after it.
 */
static void store_run(Rfm5565State *s, uint32_t card, const uint8_t *data,
                      uint32_t len)
{
    uint64_t now = rfm5565_now();
    bool sent;

    if (!len) {
        return;
    }
    rfm5565_memory_put(s, card, data, len);
    sent = s->planes_on_store
           ? rfm5565_planes_store_run(s, card, data, len, now)
           : rfm5565_engine_store_run(s, card, data, len, now);
    if (!sent) {
        rfm5565_latch(s, RFM_LISR_TX_FULL);
    }
}

/* A dword of which not all bytes come. */
static void store_edge(Rfm5565State *s, uint32_t card, uint8_t *data,
                       uint32_t len)
{
    if (len && (s->lcsr1 & RFM_LCSR1_PARITY)) {
        rfm5565_latch(s, RFM_LISR_WRITE_INHIBITED);
        return;
    }
    if (s->dma.swap) {
        for (uint32_t i = 0; i < len / 2; i++) {
            uint8_t other = data[len - 1 - i];

            data[len - 1 - i] = data[i];
            data[i] = other;
        }
        card = QEMU_ALIGN_DOWN(card, 4) + 4 - card % 4 - len;
    }
    store_run(s, card, data, len);
}

static void swap_dwords(uint8_t *data, uint32_t len)
{
    for (uint32_t i = 0; i < len; i += 4) {
        stl_he_p(data + i, bswap32(ldl_he_p(data + i)));
    }
}

static void dma_store(Rfm5565State *s, uint8_t *data, uint32_t len)
{
    uint32_t card = s->dma.card;
    uint32_t head = MIN(len, -card % 4), tail = (len - head) % 4;
    uint32_t body = len - head - tail;

    if (!s->dma.swap && !(s->lcsr1 & RFM_LCSR1_PARITY)) {
        store_run(s, card, data, len);
        return;
    }
    store_edge(s, card, data, head);
    if (s->dma.swap) {
        swap_dwords(data + head, body);
    }
    store_run(s, card + head, data + head, body);
    store_edge(s, card + head + body, data + head + body, tail);
}

/* Returns where in the buffer the bytes are. */
static uint8_t *dma_load(Rfm5565State *s, uint32_t len)
{
    Rfm5565Dma *dma = &s->dma;
    uint32_t skipped = dma->card % 4;
    uint32_t whole = ROUND_UP(skipped + len, 4);

    if (!dma->swap) {
        rfm_memory_load(dma->buffer, s->ram + dma->card, len);
        return dma->buffer;
    }
    rfm_memory_load(dma->buffer, s->ram + dma->card - skipped, whole);
    swap_dwords(dma->buffer, whole);
    return dma->buffer + skipped;
}

/* --- the bus -------------------------------------------------------------- */

#define ATTRS   MEMTXATTRS_UNSPECIFIED
#define WIDEST  8       /* access to a region that is not RAM */

typedef enum Rfm5565Bus {
    BUS_DONE,
    BUS_ABORT,
    BUS_MAIN,
} Rfm5565Bus;

/*
 * One region of what is accessed, in the engine's context; @len becomes how far
 * it reaches. What is not plain memory needs the BQL, and is left to the main
 * context; so is the card's own memory.
 */
static Rfm5565Bus access_ram(Rfm5565State *s, const Rfm5565Access *access,
                             uint32_t done, uint32_t *len)
{
    uint8_t *data = access->data + done;
    Rfm5565Bus result = BUS_MAIN;
    MemoryRegionCache cache;

    RCU_READ_LOCK_GUARD();
    *len = address_space_cache_init(&cache, s->dma.as, access->host + done,
                                    access->len - done, access->to_host);
    if (cache.ptr && memory_region_owner(cache.mrs.mr) != OBJECT(s)) {
        if (access->to_host) {
            address_space_write_cached(&cache, 0, data, *len);
            address_space_cache_invalidate(&cache, 0, *len);
        } else {
            address_space_read_cached(&cache, 0, data, *len);
        }
        result = BUS_DONE;
    }
    address_space_cache_destroy(&cache);
    return result;
}

/*
 * The same in the main context. How far a region reaches, QEMU tells of RAM
 * only: of anything else it is one access, for what follows may be another
 * region, or none. The card does not answer itself: its registers would be
 * written while it works.
 */
static Rfm5565Bus access_any(Rfm5565State *s, const Rfm5565Access *access,
                             uint32_t done, uint32_t *len)
{
    AddressSpace *as = s->dma.as;
    uint64_t host = access->host + done;
    hwaddr at, reach = access->len - done;
    MemoryRegion *mr;

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(as, host, &at, &reach, access->to_host, ATTRS);
    if (!memory_region_is_ram(mr)) {
        reach = MIN(reach, WIDEST - host % WIDEST);
    }
    *len = reach;
    if (memory_region_owner(mr) == OBJECT(s)) {
        return BUS_ABORT;
    }
    return address_space_rw(as, host, ATTRS, access->data + done, reach,
                            access->to_host) == MEMTX_OK ? BUS_DONE : BUS_ABORT;
}

/* Returns what became of it; what has gone before may be less than @access. */
static Rfm5565Bus access_bus(Rfm5565State *s, Rfm5565Access *access, bool main)
{
    uint32_t done = 0;

    while (done < access->len) {
        uint32_t len;
        Rfm5565Bus result = main ? access_any(s, access, done, &len)
                                 : access_ram(s, access, done, &len);

        if (result != BUS_DONE) {
            if (access->is_descriptor || !done) {
                return result;
            }
            access->len = done;
            return BUS_DONE;
        }
        done += len;
    }
    return BUS_DONE;
}

/* --- a step: under the lock ----------------------------------------------- */

static void take_descriptor(Rfm5565State *s,
                            const struct rfm_dma_descriptor *descriptor)
{
    Rfm5565Dma *dma = &s->dma;
    uint32_t low = le32_to_cpu(descriptor->address_low);
    uint32_t bytes = le32_to_cpu(descriptor->bytes);

    trace_rfm5565_dma_descriptor(s->node_id, dma->next, low, bytes);
    dma->host = (uint64_t)le32_to_cpu(descriptor->address_high) << 32 | low;
    dma->next = le32_to_cpu(descriptor->next);
    dma->piece = MIN(bytes, dma->left);
    if (low % 8 || bytes % 8 || (uint64_t)low + bytes > 4 * GiB ||
        (!bytes && ++dma->empty > EMPTY_MAX)) {
        rfm5565_guest_error(s, "DMA descriptor of 0x%x bytes at 0x%" PRIx64,
                            bytes, dma->host);
        dma_complete(s, false);
    }
}

static void dma_advance(Rfm5565State *s, uint32_t len)
{
    Rfm5565Dma *dma = &s->dma;

    dma->host += len;
    dma->card += len;
    dma->left -= len;
    dma->piece -= len;
    dma->bytes += len;
    if (!dma->left) {
        dma_complete(s, true);
    }
}

/* Plan the next access. Returns false if there is none, for now or any more. */
static bool dma_plan(Rfm5565State *s, Rfm5565Access *access)
{
    Rfm5565Dma *dma = &s->dma;
    uint32_t len = MIN(dma->piece, CHUNK - dma->card % FRAME);

    if (!dma->piece) {
        if (dma->next == RFM_DMA_LAST) {
            dma_complete(s, true);
            return false;
        }
        if (dma->next % sizeof(struct rfm_dma_descriptor)) {
            rfm5565_guest_error(s, "no DMA descriptor can be at 0x%x",
                                dma->next);
            dma_complete(s, false);
            return false;
        }
        *access = (Rfm5565Access) {
            .host = dma->next,
            .len = sizeof(struct rfm_dma_descriptor),
            .is_descriptor = true,
            .data = dma->buffer,
        };
        return true;
    }
    *access = (Rfm5565Access) {
        .host = dma->host,
        .len = len,
        .to_host = dma->to_host,
        .data = dma->to_host ? dma_load(s, len) : dma->buffer,
    };
    return !must_wait(s, access);
}

/* Returns false if the CPUs were quicker: it has to wait once more. */
static bool store_and_send(Rfm5565State *s, const Rfm5565Access *access)
{
    QEMU_LOCK_GUARD(&s->producer);
    if (access->counts_on_room && !rfm5565_ring_has_room(s, NEEDED)) {
        return false;
    }
    dma_store(s, access->data, access->len);
    rfm5565_share_taken(s, &s->dma.share);
    return true;
}

static void dma_finish_access(Rfm5565State *s, const Rfm5565Access *access)
{
    if (access->is_descriptor) {
        take_descriptor(s, (struct rfm_dma_descriptor *)access->data);
    } else if (access->to_host || store_and_send(s, access)) {
        dma_advance(s, access->len);
    }
}

/*
 * With the BQL, and without the lock while on the bus: whatever is there may
 * reset the card, stop the machine, even unplug the card meanwhile.
 */
static Rfm5565Bus access_in_main(Rfm5565State *s, Rfm5565Access *access)
{
    PCIDevice *pci = PCI_DEVICE(s);
    Rfm5565Bus result;

    rfm5565_update_and_unlock(s);
    result = access_bus(s, access, true);
    if (result == BUS_ABORT && is_on_bus(s)) {
        rfm5565_guest_error(s, "DMA was aborted at 0x%" PRIx64, access->host);
        pci_word_test_and_set_mask(pci->config + PCI_STATUS,
                                   PCI_STATUS_REC_MASTER_ABORT);
    }
    rfm5565_lock(s);
    return result;
}

static Rfm5565Step dma_step(Rfm5565State *s, bool main)
{
    Rfm5565Access access;
    Rfm5565Bus result;
    uint32_t run;

    s->dma.waiting = false;     /* dma_plan() says whether it must, once more */
    if (!may_run(s) || !dma_plan(s, &access)) {
        return STEP_HALT;
    }
    if (access.off_bus) {
        dma_complete(s, false);
        return STEP_MORE;
    }
    run = s->dma.run;
    result = main ? access_in_main(s, &access) : access_bus(s, &access, false);
    if (!main && result != BUS_DONE) {
        return STEP_MAIN;
    }
    if (run != s->dma.run || !may_run(s)) {
        return STEP_MORE;
    }
    if (result == BUS_DONE) {
        dma_finish_access(s, &access);
    } else {
        dma_complete(s, false);
    }
    return STEP_MORE;
}

/* --- its turns ------------------------------------------------------------ */

/* Else the threads that wait for the lock would not get it. */
static void yield_lock(const Rfm5565State *s)
{
    uint64_t end;

    if (!qatomic_read(&s->lock_wanted)) {
        return;
    }
    end = rfm5565_now() + PATIENCE_NS;
    while (qatomic_read(&s->lock_wanted) && rfm5565_now() < end) {
        sched_yield();
    }
}

/* Some pieces; a CPU does all of a short one. */
static Rfm5565Step dma_steps(Rfm5565State *s, bool main, bool is_cpu)
{
    Rfm5565Step next = STEP_MORE;

    for (unsigned i = 0; i < CHUNKS_PER_RUN && next == STEP_MORE; i++) {
        next = dma_step(s, main);
        if (!is_cpu && qatomic_read(&s->lock_wanted)) {
            break;
        }
    }
    return next;
}

/* In the engine's context. */
static void dma_bh(void *opaque)
{
    Rfm5565State *s = opaque;
    Rfm5565Dma *dma = &s->dma;
    Rfm5565Step next = STEP_MAIN;

    yield_lock(s);
    rfm5565_lock(s);
    if (dma->in_main || !may_run(s)) {
        rfm5565_update_and_unlock(s);
        return;
    }
    if (dma->direct) {
        next = dma_steps(s, false, false);
    }
    if (next == STEP_MAIN) {
        dma->in_main = true;
        qemu_bh_schedule(dma->main_bh);
    } else if (next == STEP_MORE) {
        run_soon(s);
        /* Nothing is queued: nobody else makes it take what comes home. */
        if (!dma->to_host && rfm5565_engine_is_clear(s)) {
            qemu_bh_schedule(s->engine_bh);
        }
    }
    rfm5565_update_and_unlock(s);
}

/* Under the BQL. */
static void run_in_main(Rfm5565State *s, bool is_cpu)
{
    bool here;

    object_ref(OBJECT(s));
    rfm5565_lock(s);
    s->dma.in_main = true;
    here = is_cpu && rfm5565_engine_come(s);
    dma_steps(s, true, is_cpu);
    s->dma.in_main = false;
    if (here) {
        rfm5565_engine_leave(s, true);
    }
    if (may_run(s) && !s->dma.waiting) {
        run_soon(s);
    }
    if (s->gone) {
        qemu_mutex_unlock(&s->lock);    /* there are no interrupts any more */
    } else {
        rfm5565_update_and_unlock(s);
    }
    object_unref(OBJECT(s));
}

/* In the main context. Afterwards other threads have the BQL for a while. */
static void dma_main_bh(void *opaque)
{
    run_in_main(opaque, false);
}

/* At the end of a CPU's write to a register, with the BQL: see is_short(). */
void rfm5565_dma_written(Rfm5565State *s)
{
    bool now = s->dma.now;

    s->dma.now = false;
    /* If the bottom half is on its way, it does this as well. */
    if (now && !qatomic_read(&s->dma.in_main)) {
        run_in_main(s, true);
    }
}

/* --- lifecycle ------------------------------------------------------------ */

/* Under the BQL. While the guest stands still its memory is let alone. */
void rfm5565_dma_set_running(Rfm5565State *s, bool running)
{
    PCIDevice *pci = PCI_DEVICE(s);
    Rfm5565Dma *dma = &s->dma;
    AddressSpace *plain = pci_device_iommu_address_space(pci);

    rfm5565_lock(s);
    dma->as = s->firmware_bus_master == ON_OFF_AUTO_ON
            ? plain : pci_get_address_space(pci);
    dma->direct = plain == &address_space_memory;
    dma->frozen = !running;
    /* What was held where the machine was before may begin here. */
    if (running && is_held(s)) {
        dma_begin_or_hold(s);
    }
    if (may_run(s)) {
        dma->share.no_room_since = 0;
        rfm5565_set_other_producer(s, RFM5565_DMA_SENDS, !dma->to_host);
        qemu_bh_schedule(dma->bh);
    }
    rfm5565_update_and_unlock(s);
}

/* Before the registers are loaded: a state without the engine has it idle. */
void rfm5565_dma_loading(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    rfm5565_lock(s);
    rfm5565_dma_abort(s);
    dma->padr = dma->ladr = dma->size = dma->dac = dma->csr = 0;
    dma->mode = RFM_DMAMODE0_RESET;
    dma->dpr = RFM_DMADPR0_RESET;
    dma->transfers = dma->errors = dma->bytes = 0;
    dma->msi_sent = dma->msi_pending = false;
    rfm5565_update_and_unlock(s);
}

void rfm5565_dma_init(Rfm5565State *s)
{
    Rfm5565Dma *dma = &s->dma;

    /* No guards: the first has no BQL, and the card may go in the second. */
    dma->bh = aio_bh_new_guarded(s->ctx, dma_bh, s, NULL);
    dma->timer = aio_timer_new(s->ctx, QEMU_CLOCK_REALTIME, SCALE_NS, dma_bh,
                               s);
    dma->main_bh = qemu_bh_new_guarded(dma_main_bh, s, NULL);
    rfm5565_dma_set_running(s, runstate_is_running());
}

/* In the engine's context. */
void rfm5565_dma_stop(Rfm5565State *s)
{
    qemu_bh_delete(s->dma.bh);
    timer_free(s->dma.timer);
}

/* In the main context, after that. */
void rfm5565_dma_exit(Rfm5565State *s)
{
    qemu_bh_delete(s->dma.main_bh);
}
