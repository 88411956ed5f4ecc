// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The burst range: there BAR3 is RAM whose pages QEMU marks when they are
 * written, and a scan sends what has changed since.
 *
 * What has changed is what differs from the shadow, a copy of what the ring
 * knows. What others store goes into memory and shadow under the lock, and the
 * scan holds the lock while it compares: so it sends nothing that came from
 * others, and nothing older than what they have stored.
 *
 * Scans run in the main context only. To forget the marks of pages, QEMU waits
 * until each CPU has ended what it is at, with the BQL released: two CPUs that
 * did so at registers would wait for each other. So what has to stay behind the
 * stores, a fence or an interrupt, waits for a scan that began after it.
 */

#include "qemu/osdep.h"
#include "qemu/bitmap.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "exec/cputlb.h"
#include "exec/memory.h"
#include "exec/ramlist.h"
#include "exec/target_page.h"
#include "system/kvm.h"
#include "system/tcg.h"
#include "hw/pci/pci.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

#define PAGE            RFM_EXT_BURST_PAGE
#define LINE            RFM_FRAME_DATA_MAX
#define PAGES_PER_RUN   256             /* before others have their turn */
#define AGAIN_NS        (200 * SCALE_US)
#define COPY            (64 * KiB)      /* before frames of others do */
#define RUNS            64              /* for which room is looked for */
#define QUEUED          960             /* a CPU that waits is woken at 1024 */

static bool is_behind(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

/* Under the BQL or the lock. */
bool rfm5565_burst_has(const Rfm5565State *s, uint32_t offset, unsigned len)
{
    const Rfm5565Burst *burst = &s->burst;

    return offset < burst->at + burst->size && offset + len > burst->at;
}

/* --- what is stored by other ways: under the lock ------------------------- */

/* It is in the memory already, and on the ring, or from there. */
void rfm5565_burst_put(Rfm5565State *s, uint32_t offset, const void *data,
                       unsigned len)
{
    Rfm5565Burst *burst = &s->burst;
    uint32_t from = MAX(offset, burst->at);
    uint32_t end = MIN(offset + len, burst->at + burst->size);

    if (from < end) {
        memcpy(burst->shadow + (from - burst->at),
               (const uint8_t *)data + (from - offset), end - from);
    }
}

/* One aligned word of a merge; bit n of @mask: byte n of it has come. */
static void merge_word(uint64_t *memory, uint8_t *shadow, const uint8_t *data,
                       uint8_t mask)
{
    uint64_t before;
    union {
        uint64_t word;
        uint8_t byte[8];
    } now;

    do {
        now.word = before = qatomic_read(memory);
        for (unsigned i = 0; i < 8; i++) {
            if ((mask & BIT(i)) && now.byte[i] == shadow[i]) {
                now.byte[i] = data[i];
            }
        }
    } while (qatomic_cmpxchg(memory, before, now.word) != before);
    for (unsigned i = 0; i < 8; i++) {
        if (mask & BIT(i)) {
            shadow[i] = data[i];
        }
    }
}

/*
 * What a MERGE has brought, and begins in the range: what was stored here and
 * is not sent yet is newer, and stays. Returns how many bytes of it are there.
 */
unsigned rfm5565_burst_merge(Rfm5565State *s, uint32_t offset,
                             const uint8_t *data, unsigned len)
{
    Rfm5565Burst *burst = &s->burst;
    unsigned done = 0;

    len = MIN(len, burst->at + burst->size - offset);
    while (done < len) {
        unsigned skipped = (offset + done) % 8;
        unsigned part = MIN(8 - skipped, len - done);
        uint32_t word = offset + done - skipped;
        uint8_t bytes[8] = {};

        memcpy(bytes + skipped, data + done, part);
        merge_word((uint64_t *)(s->ram + word),
                   burst->shadow + (word - burst->at), bytes,
                   MAKE_64BIT_MASK(skipped, part));
        done += part;
    }
    return len;
}

/* --- what a scan sends: under both locks ---------------------------------- */

/*
 * Is there room for one run more? One of them may be two frames, where the
 * address offset makes the ring's space end inside it.
 */
static bool grant_run(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (!burst->granted) {
        if (!rfm5565_share_has_room(s, &burst->share, RUNS + 1, QUEUED)) {
            return false;
        }
        rfm5565_share_taken(s, &burst->share);
        burst->granted = RUNS;
    }
    burst->granted--;
    burst->share.no_room_since = 0;
    return true;
}

/* As a store of a CPU that does not wait. */
static bool send_run(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                     unsigned len, bool force)
{
    if (!force &&
        (!s->planes_on_store || rfm5565_planes_sends(s, offset, len)) &&
        !grant_run(s)) {
        return false;
    }
    rfm_remote_stored(&s->remote.engine, offset, len);
    if (!rfm5565_memory_send(s, offset, data, len, rfm5565_now())) {
        rfm5565_latch(s, RFM_LISR_TX_FULL);
    }
    memcpy(s->burst.shadow + (offset - s->burst.at), data, len);
    s->burst.bytes += len;
    return true;
}

/*
 * What has changed in a line, byte by byte: a byte that has not may be another
 * node's, who has changed it meanwhile. Returns whether there was room.
 */
static bool send_line(Rfm5565State *s, uint32_t offset, bool force)
{
    const uint8_t *shadow = s->burst.shadow + (offset - s->burst.at);
    QEMU_ALIGNED(8) uint8_t data[LINE];
    unsigned at = 0;

    rfm_memory_load(data, s->ram + offset, LINE);
    if (!memcmp(data, shadow, LINE)) {
        return true;
    }
    while (at < LINE) {
        unsigned end;

        if (data[at] == shadow[at]) {
            at++;
            continue;
        }
        for (end = at + 1; end < LINE && data[end] != shadow[end]; end++) {
            /* it has changed as well */
        }
        if (!send_run(s, offset + at, data + at, end - at, force)) {
            return false;
        }
        at = end;
    }
    return true;
}

static bool send_page(Rfm5565State *s, uint32_t offset, bool force)
{
    bool shared, room = true;

    rfm5565_lock(s);
    shared = rfm5565_producer_lock(s);
    /* Others may have taken what was left of it. */
    if (!rfm5565_ring_has_room(s, s->burst.granted)) {
        s->burst.granted = 0;
    }
    for (unsigned at = 0; at < PAGE && room; at += LINE) {
        room = send_line(s, offset + at, force);
    }
    rfm5565_producer_unlock(s, shared);
    rfm5565_update_and_unlock(s);
    return room;
}

/* --- which pages: under the BQL ------------------------------------------- */

/*
 * Has a page been written since the last scan? QEMU's marks only tell if it is
 * QEMU that sees the stores; the kernel's are asked for by a scan.
 */
static bool is_marked(const Rfm5565State *s)
{
    const Rfm5565Burst *burst = &s->burst;
    unsigned bits = qemu_target_page_bits();
    unsigned long page = (memory_region_get_ram_addr((MemoryRegion *)
                                                     &burst->ram) +
                          burst->at) >> bits;
    unsigned long end = page + (burst->size >> bits);
    DirtyMemoryBlocks *marks;

    if (kvm_enabled()) {
        return true;
    }
    RCU_READ_LOCK_GUARD();
    marks = qatomic_rcu_read(&ram_list.dirty_memory[DIRTY_MEMORY_VGA]);
    while (page < end) {
        unsigned long in_block = page % DIRTY_MEMORY_BLOCK_SIZE;
        unsigned long stop = MIN(in_block + (end - page),
                                 DIRTY_MEMORY_BLOCK_SIZE);

        if (find_next_bit(marks->blocks[page / DIRTY_MEMORY_BLOCK_SIZE], stop,
                          in_block) < stop) {
            return true;
        }
        page += stop - in_block;
    }
    return false;
}

/*
 * Under TCG a CPU that marks a page makes its next stores there go without a
 * mark in a second step. If the mark is taken away between the two, these would
 * not be noticed until somebody marks the page again. So when each CPU has
 * ended what it was at, all are made to mark anew; and once more each may be at
 * a store.
 */
static void mark_anew(Rfm5565Burst *burst)
{
    if (tcg_enabled()) {
        tlb_reset_dirty_range_all(memory_region_get_ram_addr(&burst->ram) +
                                  burst->at, burst->size);
        memory_global_after_dirty_log_sync();
    }
}

/*
 * A mark that is forgotten here is kept in @pages. Lets go of the BQL. When the
 * range is not shown any more a CPU may still be at its last store there, which
 * it has not marked yet: that is waited for, too.
 */
static void collect(Rfm5565State *s)
{
    const unsigned many = COPY / PAGE;
    Rfm5565Burst *burst = &s->burst;
    unsigned count = burst->size / PAGE;
    g_autofree DirtyBitmapSnapshot *marks = NULL;

    if (burst->shown && !is_marked(s)) {
        return;
    }
    marks = memory_region_snapshot_and_clear_dirty(&burst->ram, burst->at,
                                                   burst->size,
                                                   DIRTY_MEMORY_VGA);
    burst->scans++;
    if (burst->shadow) {
        mark_anew(burst);
    }
    /* Unplugged meanwhile */
    if (!burst->shadow) {
        return;
    }
    for (unsigned page = 0; page < count; page++) {
        if (page % many == 0 &&
            !memory_region_snapshot_get_dirty(&burst->ram, marks,
                                              burst->at + page * PAGE,
                                              MIN(many, count - page) * PAGE)) {
            page += many - 1;
            continue;
        }
        if (memory_region_snapshot_get_dirty(&burst->ram, marks,
                                             burst->at + page * PAGE, PAGE)) {
            burst->left += !test_and_set_bit(page, burst->pages);
        }
    }
    trace_rfm5565_burst_scan(s->node_id, burst->left);
}

/* --- scans: in the main context, under the BQL ---------------------------- */

static void run_command(Rfm5565State *s, const Rfm5565Command *command)
{
    uint64_t now = rfm5565_now();
    bool fits;

    fits = command->multicast
         ? rfm_node_interrupt_set(&s->node, command->set, command->kind,
                                  command->data, now)
         : rfm_node_interrupt(&s->node, command->dest, command->kind,
                              command->data, now);
    if (!fits) {
        rfm5565_latch(s, RFM_LISR_TX_FULL);
    }
}

/* A scan has ended: what waited for it goes on. */
static void scan_ended(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    rfm5565_lock(s);
    while (burst->command_count) {
        const Rfm5565Command *next = &burst->commands[burst->command_first];

        if (!rfm5565_burst_is_past(s, next->behind)) {
            break;
        }
        run_command(s, next);
        burst->command_first = (burst->command_first + 1) %
                               RFM5565_BURST_COMMANDS;
        burst->command_count--;
    }
    rfm5565_update_and_unlock(s);
    qemu_bh_schedule(s->main_work_bh);
    rfm5565_requests_go_on(s);
}

static bool cpu_waits(const Rfm5565State *s)
{
    return s->ticket_served != s->ticket_next;
}

/*
 * Returns whether all pages that were written before have been compared. A CPU
 * that waits for room needs the BQL, so it does not wait for many.
 */
static bool send_pages(Rfm5565State *s, bool force, unsigned *budget)
{
    Rfm5565Burst *burst = &s->burst;
    unsigned count = burst->size / PAGE;
    unsigned page = 0;

    while (burst->left && *budget) {
        page = find_next_bit(burst->pages, count, page);
        if (!send_page(s, burst->at + page * PAGE, force)) {
            return false;
        }
        clear_bit(page, burst->pages);
        burst->left--;
        (*budget)--;
        if (cpu_waits(s)) {
            break;
        }
    }
    return !burst->left;
}

/*
 * A store that finds no room waits, and is lost to the ring after the limit, so
 * that its CPU goes on. What is stored here waits for as long as nobody waits
 * for it.
 */
static bool is_overdue(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (burst->asked == burst->done) {
        burst->share.no_room_since = 0;
        return false;
    }
    return !rfm5565_share_waits_until(s, &burst->share);
}

/*
 * Compare and send until there is no room, or others are to have their turn.
 * Off the ring the memory may be about to become another one. Marks are not
 * collected while a CPU waits in a store, as that waits for the CPU. Whoever
 * calls this has a reference to the card, which may go meanwhile.
 */
static void scan(Rfm5565State *s, bool force)
{
    Rfm5565Burst *burst = &s->burst;
    unsigned budget = PAGES_PER_RUN;
    bool room;

    if (!burst->shadow || burst->scanning || s->quiesced) {
        return;
    }
    if (!burst->left && cpu_waits(s)) {
        timer_mod(burst->again, rfm5565_now() + AGAIN_NS);
        return;
    }
    burst->scanning = true;
    if (!burst->left) {
        burst->scan = burst->asked;
        collect(s);
    }
    room = !burst->shadow || s->quiesced || send_pages(s, force, &budget) ||
           !budget;
    burst->scanning = false;
    qemu_cond_broadcast(&burst->ended);
    if (!burst->shadow || s->quiesced) {
        return;
    }
    if (!burst->left) {
        burst->share.no_room_since = 0;
    }
    if (!burst->left && burst->done != burst->scan) {
        burst->done = burst->scan;
        scan_ended(s);
    }
    if (!room) {
        timer_mod(burst->again, rfm5565_now() + AGAIN_NS);
    } else if (burst->left || burst->asked != burst->done) {
        qemu_bh_schedule(burst->bh);
    }
}

/* --- the range, from its beginning to its end ----------------------------- */

static bool is_wanted(const Rfm5565State *s)
{
    return s->burst.wanted_size && !rfm5565_is_unreachable(s) &&
           !(s->bigend & RFM_BIGEND_PIO) && !(s->lcsr1 & RFM_LCSR1_PARITY);
}

static bool is_as_wanted(const Rfm5565State *s)
{
    const Rfm5565Burst *burst = &s->burst;

    return is_wanted(s) && burst->at == burst->wanted_at &&
           burst->size == burst->wanted_size;
}

/* From now on updates of others go into the shadow as well. */
static void set_shadow(Rfm5565State *s, uint8_t *shadow)
{
    Rfm5565Burst *burst = &s->burst;

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        burst->at = shadow ? burst->wanted_at : 0;
        burst->size = shadow ? burst->wanted_size : 0;
        burst->shadow = shadow;
        s->burst_on = shadow;
    }
}

/* No CPU stores meanwhile: as long as the range is not shown that traps. */
static void burst_begin(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;
    uint8_t *shadow = g_try_malloc(burst->wanted_size);

    if (!shadow) {
        burst->result = RFM_EXT_BURST_NO_MEMORY;
        burst->wanted_size = 0;
        return;
    }
    burst->pages = bitmap_new(burst->wanted_size / PAGE);
    burst->left = 0;
    burst->share.no_room_since = 0;
    set_shadow(s, shadow);
    for (uint32_t at = 0; at < burst->size; at += COPY) {
        WITH_QEMU_LOCK_GUARD(&s->lock) {
            memcpy(shadow + at, s->ram + burst->at + at,
                   MIN(COPY, burst->size - at));
        }
    }
    memory_region_transaction_begin();
    memory_region_set_size(&burst->range, burst->size);
    memory_region_set_address(&burst->range, burst->at);
    memory_region_set_alias_offset(&burst->range, burst->at);
    memory_region_set_enabled(&burst->range, true);
    memory_region_transaction_commit();
    burst->shown = true;
    trace_rfm5565_burst_range(s->node_id, burst->at, burst->size);
    rfm5565_burst_set_period(s);
}

static void hide(Rfm5565State *s)
{
    if (s->burst.shown) {
        memory_region_set_enabled(&s->burst.range, false);
        s->burst.shown = false;
    }
}

static void burst_end(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;
    uint8_t *shadow = burst->shadow;

    hide(s);
    timer_del(burst->timer);
    timer_del(burst->again);
    set_shadow(s, NULL);
    g_free(shadow);
    g_clear_pointer(&burst->pages, g_free);
    burst->left = 0;
    burst->scan = burst->done = burst->asked;
    trace_rfm5565_burst_range(s->node_id, 0, 0);
    scan_ended(s);
}

/*
 * What the range is to be has changed, or whether there can be one: not while
 * loads are swapped, or stores of bytes are inhibited. At once no store goes
 * there any more; the rest follows in the main context. Under the BQL.
 */
void rfm5565_burst_update(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (!s->extension || !burst->bh) {
        return;
    }
    if (burst->shown && !is_as_wanted(s)) {
        hide(s);
        burst->closed = ++burst->asked;
    }
    if (burst->shadow ? !burst->shown : is_wanted(s)) {
        qemu_bh_schedule(burst->bh);
    }
}

/* The range ends, or begins, if that is due. */
static void change_range(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (burst->shadow && !burst->shown &&
        (s->dead || is_behind(burst->done, burst->closed))) {
        burst_end(s);
    }
    if (!burst->shadow) {
        burst->done = burst->scan = burst->asked;
        if (is_wanted(s)) {
            burst_begin(s);
        }
    }
}

static void burst_bh(void *opaque)
{
    Rfm5565State *s = opaque;
    Rfm5565Burst *burst = &s->burst;

    /* The last other reference may go while a scan has released the BQL. */
    object_ref(OBJECT(s));
    scan(s, burst->left && is_overdue(s));
    if (!burst->scanning && !s->gone) {
        change_range(s);
    }
    object_unref(OBJECT(s));
}

/* A scan that was asked for and did not end goes on by itself. */
static void burst_timer(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_burst_set_period(s);
    if (!timer_pending(s->burst.again)) {
        burst_bh(s);
    }
}

/* --- what the guest asks for: under both locks ---------------------------- */

/* Returns the scan behind which all is sent that has been stored by now. */
uint32_t rfm5565_burst_ask(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (burst->shadow && (burst->scanning || burst->left ||
                          burst->asked != burst->done || is_marked(s))) {
        burst->asked++;
        qemu_bh_schedule(burst->bh);
    }
    return burst->asked;
}

bool rfm5565_burst_is_past(const Rfm5565State *s, uint32_t scan)
{
    return !s->burst.shadow || is_behind(s->burst.done, scan);
}

/* It goes at once, or behind the scan. */
void rfm5565_burst_interrupt(Rfm5565State *s, Rfm5565Command *command)
{
    Rfm5565Burst *burst = &s->burst;

    command->behind = burst->shadow ? rfm5565_burst_ask(s) : burst->done;
    if (!burst->command_count && rfm5565_burst_is_past(s, command->behind)) {
        run_command(s, command);
        return;
    }
    if (burst->command_count == RFM5565_BURST_COMMANDS) {
        burst->late++;
        run_command(s, command);
        return;
    }
    burst->commands[(burst->command_first + burst->command_count) %
                    RFM5565_BURST_COMMANDS] = *command;
    burst->command_count++;
}

/* FLUSH */
void rfm5565_burst_flush(Rfm5565State *s)
{
    s->burst.asked++;
    qemu_bh_schedule(s->burst.bh);
}

/* COMMAND: what OFFSET and LENGTH say is the range. */
void rfm5565_burst_command(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (burst->offset % PAGE || burst->length % PAGE ||
        (uint64_t)burst->offset + burst->length > s->memory_size) {
        rfm5565_guest_error(s, "no burst range can be 0x%x bytes at 0x%x",
                            burst->length, burst->offset);
        burst->result = RFM_EXT_BURST_BAD_RANGE;
        return;
    }
    /*
     * A scan waits for the CPUs, and one of them may wait for room on the ring:
     * if the engine were in the main loop there would be none.
     */
    if (burst->length && !s->iothread) {
        burst->result = RFM_EXT_BURST_NO_THREAD;
        return;
    }
    burst->wanted_at = burst->offset;
    burst->wanted_size = burst->length;
    burst->result = RFM_EXT_BURST_DONE;
}

/* PERIOD has changed, or has passed. */
void rfm5565_burst_set_period(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (burst->shadow) {
        timer_mod(burst->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) +
                                (int64_t)burst->period * SCALE_US);
    }
}

/* --- stop, reset, migration: under the BQL -------------------------------- */

/* Under the BQL, which is released. */
static void await_scan(Rfm5565State *s)
{
    while (s->burst.scanning) {
        qemu_cond_wait_bql(&s->burst.ended);
    }
}

/* Has all that was stored, by any way, left the insertion queue? */
static bool has_left(const Rfm5565State *s)
{
    return s->burst.asked == s->burst.done &&
           !rfm_insert_used(&s->node.insert);
}

/*
 * The machine stands still: nobody stores any more. If the card leaves the ring
 * now, what finds no room for as long as a store would wait is lost to it, as
 * that would be. In the thread that stops the machine: another one may be at a
 * scan.
 */
void rfm5565_burst_stopped(Rfm5565State *s, bool leaves)
{
    Rfm5565Burst *burst = &s->burst;

    if (!s->extension) {
        return;
    }
    object_ref(OBJECT(s));
    await_scan(s);
    burst->asked += burst->shadow != NULL;
    scan(s, false);
    burst->share.no_room_since = 0;
    while (leaves && burst->shadow && !s->quiesced && !has_left(s)) {
        uint64_t bytes = burst->bytes;
        unsigned left = burst->left;
        bool stuck;

        rfm5565_engine_push(s);
        stuck = !rfm5565_share_waits_until(s, &burst->share);
        if (burst->asked != burst->done) {
            scan(s, stuck);
        } else if (stuck) {
            break;
        }
        if (burst->bytes == bytes && burst->left == left && !has_left(s)) {
            qemu_cond_timedwait_bql(&burst->ended, 1);  /* the engine works */
            await_scan(s);
        }
    }
    if (leaves && burst->shadow && !s->quiesced) {
        rfm5565_engine_push(s);
    }
    object_unref(OBJECT(s));
}

/* Under both locks. */
void rfm5565_burst_reset(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    burst->offset = burst->wanted_at = burst->first_offset;
    burst->length = burst->wanted_size = burst->first_size;
    burst->result = RFM_EXT_BURST_DONE;
    burst->period = RFM_EXT_BURST_PERIOD_DEFAULT;
}

/* The memory is another one now, and so are the registers. */
void rfm5565_burst_loading(Rfm5565State *s)
{
    if (!s->extension) {
        return;
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        s->burst.command_count = 0;
    }
    if (s->burst.shadow) {
        burst_end(s);
    }
    rfm5565_burst_reset(s);
    s->burst.length = s->burst.offset = 0;
    s->burst.wanted_size = s->burst.wanted_at = 0;
}

/* --- lifecycle ------------------------------------------------------------ */

/*
 * The range is the memory's own block once more, in a region that is RAM. A
 * block of its own over the same bytes would not do: QEMU looks blocks up by
 * the bytes, and then marks that of the two which it finds.
 */
void rfm5565_burst_memory_init(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (!s->extension) {
        return;
    }
    memory_region_init(&burst->ram, OBJECT(s), "rfm5565-burst",
                       s->memory_size);
    burst->ram.ram = true;
    burst->ram.terminates = true;
    burst->ram.ram_block = s->memory.ram_block;
    memory_region_set_log(&burst->ram, true, DIRTY_MEMORY_VGA);
    memory_region_init_alias(&burst->range, OBJECT(s), "rfm5565-burst-range",
                             &burst->ram, 0, PAGE);
    memory_region_set_enabled(&burst->range, false);
    memory_region_add_subregion_overlap(&s->memory, 0, &burst->range, 1);
}

void rfm5565_burst_memory_exit(Rfm5565State *s)
{
    if (s->extension) {
        memory_region_del_subregion(&s->memory, &s->burst.range);
    }
}

/*
 * No guard against re-entrancy: while a scan has released the BQL, it would
 * make register accesses fail.
 */
void rfm5565_burst_init(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;

    if (!s->extension) {
        return;
    }
    burst->commands = g_new0(Rfm5565Command, RFM5565_BURST_COMMANDS);
    qemu_cond_init(&burst->ended);
    /* Never in a nested loop of somebody who keeps the BQL. */
    burst->bh = aio_bh_new_guarded(iohandler_get_aio_context(), burst_bh, s,
                                   NULL);
    burst->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, burst_timer, s);
    burst->again = timer_new_ns(QEMU_CLOCK_REALTIME, burst_bh, s);
}

/* Perhaps in a CPU that unplugs the card, while a scan awaits that CPU. */
void rfm5565_burst_exit(Rfm5565State *s)
{
    Rfm5565Burst *burst = &s->burst;
    uint8_t *shadow = burst->shadow;

    if (!s->extension) {
        return;
    }
    hide(s);
    set_shadow(s, NULL);
    g_free(shadow);
    g_clear_pointer(&burst->pages, g_free);
    g_clear_pointer(&burst->commands, g_free);
    burst->command_count = 0;
    g_clear_pointer(&burst->bh, qemu_bh_delete);
    g_clear_pointer(&burst->timer, timer_free);
    g_clear_pointer(&burst->again, timer_free);
}
