// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of the 5565, BAR3: what loads see, and what stores do.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "exec/ramlist.h"
#include "exec/target_page.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "system/xen.h"
#include "migration/vmstate.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

/* --- what it shows -------------------------------------------------------- */

/*
 * BIGEND reverses the bytes of each aligned dword: byte n of the BAR is byte
 * n ^ 3 of the memory.
 */
static bool is_swapped(const Rfm5565State *s)
{
    return s->bigend & RFM_BIGEND_PIO;
}

/*
 * BAR3 follows the registers: what of the memory it shows, and whether loads
 * go to the memory itself, as they do unless they are all ones or swapped.
 * Under the BQL and without the lock: it may take long, and frames of others
 * do not wait for it.
 */
void rfm5565_map_memory(Rfm5565State *s)
{
    bool direct = !s->dead && !is_swapped(s);

    rfm5565_burst_update(s);
    if (s->window_size < s->memory_size) {
        memory_region_set_alias_offset(&s->window_alias,
                                       s->las1ba & RFM_LAS1BA_REMAP_M);
    }
    if (direct == s->direct) {
        return;
    }
    /* The engine sees @direct only while the region is a ROM device. */
    if (direct) {
        memory_region_rom_device_set_romd(&s->memory, true);
    }
    WITH_QEMU_LOCK_GUARD(&s->lock) {
        s->direct = direct;
    }
    if (direct) {
        /* What was stored meanwhile may have been code. */
        memory_region_flush_rom_device(&s->memory, 0, s->memory_size);
    } else {
        memory_region_rom_device_set_romd(&s->memory, false);
    }
}

/*
 * Are these bytes in a page that is marked for all who want to know what
 * changes? Then nothing is left to do, as most often: a mark goes only when one
 * of them has looked. QEMU's own look at it took a third of what the card needs
 * for a store. With the BQL, under which the marks grow, or RCU's read lock.
 */
static bool is_dirty(Rfm5565State *s, uint32_t offset, unsigned len)
{
    unsigned long page = s->first_page + (offset >> s->page_bits);
    unsigned clients = memory_region_get_dirty_log_mask(&s->memory);

    /* Xen wants to hear of each. */
    if (offset >> s->page_bits != (offset + len - 1) >> s->page_bits ||
        xen_enabled()) {
        return false;
    }
    while (clients) {
        const DirtyMemoryBlocks *marks;

        marks = qatomic_rcu_read(&ram_list.dirty_memory[ctz32(clients)]);
        if (!test_bit(page % DIRTY_MEMORY_BLOCK_SIZE,
                      marks->blocks[page / DIRTY_MEMORY_BLOCK_SIZE])) {
            return false;
        }
        clients &= clients - 1;
    }
    return true;
}

/* These bytes are others now: who has to know that. Locks as of is_dirty(). */
static void mark_changed(Rfm5565State *s, uint32_t offset, unsigned len)
{
    if (is_dirty(s, offset, len)) {
        return;
    }
    if (s->direct) {
        memory_region_flush_rom_device(&s->memory, offset, len);
    } else {
        memory_region_set_dirty(&s->memory, offset, len);
    }
}

/* As rfm5565_memory_put(), with the locks of is_dirty(). */
static void put(Rfm5565State *s, uint32_t offset, const void *data,
                unsigned len)
{
    rfm_remote_stored(&s->remote.engine, offset, len);
    rfm_memory_store(s->ram + offset, data, len);
    mark_changed(s, offset, len);
    if (s->burst_on) {
        rfm5565_burst_put(s, offset, data, len);
    }
}

/*
 * Put bytes into the memory: under the lock; outside the burst range also as
 * the node's producer.
 */
void rfm5565_memory_put(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len)
{
    RCU_READ_LOCK_GUARD();
    put(s, offset, data, len);
}

/* What a MERGE has brought: to merges it is no store. Under the lock. */
void rfm5565_memory_merge(Rfm5565State *s, uint32_t offset, const void *data,
                          unsigned len)
{
    const uint8_t *from = data;

    RCU_READ_LOCK_GUARD();
    while (len) {
        unsigned piece = len;

        if (!s->burst_on || !rfm5565_burst_has(s, offset, len)) {
            rfm_memory_store(s->ram + offset, from, piece);
        } else if (rfm5565_burst_has(s, offset, 1)) {
            piece = rfm5565_burst_merge(s, offset, from, len);
        } else {
            piece = s->burst.at - offset;
            rfm_memory_store(s->ram + offset, from, piece);
        }
        mark_changed(s, offset, piece);
        offset += piece;
        from += piece;
        len -= piece;
    }
}

/*
 * Send what this node has stored, at most a frame, unless that is filtered.
 * Returns false if there was no room: TX FIFO FULL is due. As the node's
 * producer.
 */
bool rfm5565_memory_send(Rfm5565State *s, uint32_t offset, const uint8_t *data,
                         unsigned len, uint64_t now)
{
    return s->planes_on_store
         ? rfm5565_planes_store(s, offset, data, len, now)
         : rfm_node_store(&s->node, offset, data, len, now);
}

static uint64_t memory_read(void *opaque, hwaddr addr, unsigned size)
{
    Rfm5565State *s = opaque;
    uint8_t data[8];

    if (rfm5565_is_unreachable(s)) {
        return MAKE_64BIT_MASK(0, size * 8);
    }
    if (!is_swapped(s)) {
        return ldn_le_p(s->ram + addr, size);
    }
    if ((addr | size) % 4 == 0) {
        return size == 4 ? bswap32(ldl_le_p(s->ram + addr))
                         : ror64(bswap64(ldq_le_p(s->ram + addr)), 32);
    }
    for (unsigned i = 0; i < size; i++) {
        data[i] = s->ram[(addr + i) ^ 3];
    }
    return ldn_le_p(data, size);
}

/* --- stores --------------------------------------------------------------- */

/*
 * Called before a store of a CPU: wait, for a bounded time and with the big
 * lock released, until the ring has room for it.
 */
static bool wait_if_full(Rfm5565State *s)
{
    bool shared, room;

    if (qatomic_read(&s->backpressure_expired)) {
        return true;
    }
    shared = rfm5565_producer_lock(s);
    room = s->ticket_served == s->ticket_next && rfm_node_may_store(&s->node);
    rfm5565_producer_unlock(s, shared);
    return room || rfm5565_wait_in_turn(s);
}

static void lock_and_latch(Rfm5565State *s, uint32_t lisr_bits)
{
    rfm5565_lock(s);
    rfm5565_latch(s, lisr_bits);
    rfm5565_update_and_unlock(s);
}

/*
 * The hot path: without a lock of ours while there is room. Only then into the
 * local memory: what is visible here is on its way.
 */
static void store_bytes(Rfm5565State *s, hwaddr addr, const uint8_t *data,
                        unsigned size, bool may_wait)
{
    /* Only what reaches across its end, or was on its way when it changed. */
    bool locked = s->burst_on && rfm5565_burst_has(s, addr, size);
    bool fits, shared;

    may_wait &= !s->planes_on_store || rfm5565_planes_sends(s, addr, size);
    for (;;) {
        if (may_wait && !wait_if_full(s)) {
            return;
        }
        if (locked) {
            rfm5565_lock(s);
        }
        shared = rfm5565_producer_lock(s);
        /* Packets may have taken the room meanwhile. */
        if (!shared || !may_wait || rfm_node_may_store(&s->node) ||
            qatomic_read(&s->backpressure_expired)) {
            break;
        }
        rfm5565_producer_unlock(s, shared);
        if (locked) {
            rfm5565_update_and_unlock(s);
        }
    }
    put(s, addr, data, size);
    fits = rfm5565_memory_send(s, addr, data, size, rfm5565_now());
    rfm5565_producer_unlock(s, shared);
    if (locked) {
        rfm5565_update_and_unlock(s);
    }
    if (!fits) {
        lock_and_latch(s, RFM_LISR_TX_FULL);
    }
}

/* Whole dwords stay one store; of others each dword has its own. */
static void store_swapped(Rfm5565State *s, hwaddr addr, uint64_t value,
                          unsigned size, bool may_wait)
{
    uint8_t data[8];

    if ((addr | size) % 4 == 0) {
        stn_le_p(data, size, size == 4 ? bswap32(value)
                                       : ror64(bswap64(value), 32));
        store_bytes(s, addr, data, size, may_wait);
        return;
    }
    while (size) {
        unsigned skipped = addr % 4, piece = MIN(size, 4 - skipped);

        for (unsigned i = 0; i < piece; i++) {
            data[piece - 1 - i] = value >> (8 * i);
        }
        store_bytes(s, addr - skipped + 4 - skipped - piece, data, piece,
                    may_wait);
        addr += piece;
        value >>= 8 * piece;
        size -= piece;
    }
}

/*
 * Only a CPU may wait, as it lets go of the BQL meanwhile. The DMA of another
 * device comes from the main context, which would wait for itself, or from
 * within an access of a CPU to that device, which expects to keep the BQL.
 */
static bool is_of_cpu(MemTxAttrs attrs)
{
    return current_cpu && !attrs.unspecified && !attrs.requester_id;
}

static MemTxResult memory_write(void *opaque, hwaddr addr, uint64_t value,
                                unsigned size, MemTxAttrs attrs)
{
    Rfm5565State *s = opaque;
    uint8_t data[8];

    if (rfm5565_is_unreachable(s)) {
        return MEMTX_OK;
    }
    trace_rfm5565_store(s->node_id, addr, value, size);
    if ((s->lcsr1 & RFM_LCSR1_PARITY) && size < 4) {
        trace_rfm5565_store_inhibited(s->node_id, addr, size);
        lock_and_latch(s, RFM_LISR_WRITE_INHIBITED);
        return MEMTX_OK;
    }
    if (is_swapped(s)) {
        store_swapped(s, addr, value, size, is_of_cpu(attrs));
        return MEMTX_OK;
    }
    stn_le_p(data, size, value);
    store_bytes(s, addr, data, size, is_of_cpu(attrs));
    return MEMTX_OK;
}

static const MemoryRegionOps memory_ops = {
    .read = memory_read,
    .write_with_attrs = memory_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

/* --- lifecycle ------------------------------------------------------------ */

bool rfm5565_memory_init(Rfm5565State *s, Error **errp)
{
    MemoryRegion *bar = &s->memory;

    if (!memory_region_init_rom_device(&s->memory, OBJECT(s), &memory_ops, s,
                                       "rfm5565-memory", s->memory_size,
                                       errp)) {
        return false;
    }
    s->ram = memory_region_get_ram_ptr(&s->memory);
    s->page_bits = qemu_target_page_bits();
    s->first_page = memory_region_get_ram_addr(&s->memory) >> s->page_bits;
    s->direct = true;
    rfm5565_burst_memory_init(s);
    if (s->window_size < s->memory_size) {
        bar = &s->window_bar;
        memory_region_init(bar, OBJECT(s), "rfm5565-window", s->window_size);
        memory_region_init_alias(&s->window_alias, OBJECT(s),
                                 "rfm5565-window-alias", &s->memory, 0,
                                 s->window_size);
        memory_region_add_subregion(bar, 0, &s->window_alias);
    }
    pci_register_bar(PCI_DEVICE(s), RFM_BAR_MEMORY,
                     PCI_BASE_ADDRESS_SPACE_MEMORY, bar);
    return true;
}

void rfm5565_memory_exit(Rfm5565State *s)
{
    /* It refers to the card as long as it is in there. */
    rfm5565_burst_memory_exit(s);
    if (s->window_size < s->memory_size) {
        memory_region_del_subregion(&s->window_bar, &s->window_alias);
    }
    /* References may keep the memory for a while; its name must be free. */
    vmstate_unregister_ram(&s->memory, DEVICE(s));
}
