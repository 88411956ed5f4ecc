// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMIC / GE / Abaco 5565 reflective-memory card, PIORC generation.
 *
 * A memory that is the same on every computer of a ring: loads are local,
 * stores travel to all the others in order. See docs/system/devices/rfm5565.rst
 * for how to use it, rfm5565.h for the parts.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qapi/error.h"
#include "hw/core/cpu.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

#define CAPABILITIES_AT 0x78    /* where the real card's list begins */

/* --- BAR3 ----------------------------------------------------------------- */

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

/* Put bytes into the memory: under the BQL, or under the lock. */
void rfm5565_memory_put(Rfm5565State *s, uint32_t offset, const void *data,
                        unsigned len)
{
    rfm_memory_store(s->ram + offset, data, len);
    if (s->direct) {
        memory_region_flush_rom_device(&s->memory, offset, len);
    } else {
        memory_region_set_dirty(&s->memory, offset, len);
    }
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
    bool fits, shared;

    if ((!s->planes_on_store || rfm5565_planes_sends(s, addr, size)) &&
        may_wait && !rfm5565_backpressure_wait(s)) {
        return;
    }
    shared = rfm5565_producer_lock(s);
    rfm5565_memory_put(s, addr, data, size);
    fits = s->planes_on_store
         ? rfm5565_planes_store(s, addr, data, size, rfm5565_now())
         : rfm_node_store(&s->node, addr, data, size, rfm5565_now());
    rfm5565_producer_unlock(s, shared);
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

static bool init_memory(Rfm5565State *s, Error **errp)
{
    MemoryRegion *bar = &s->memory;

    if (!memory_region_init_rom_device(&s->memory, OBJECT(s), &memory_ops, s,
                                       "rfm5565-memory", s->memory_size,
                                       errp)) {
        return false;
    }
    s->ram = memory_region_get_ram_ptr(&s->memory);
    s->direct = true;
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

/* --- registers ------------------------------------------------------------ */

/* They have changed without an access: the rest of the card follows. */
static void registers_changed(Rfm5565State *s)
{
    rfm5565_map_memory(s);
    rfm5565_planes_keep_writers(s);
    rfm5565_lock(s);
    rfm5565_ring_set_optics(s);
    rfm5565_update_and_unlock(s);
    rfm5565_update_intx(s);
}

static void reset_registers(Rfm5565State *s)
{
    rfm5565_lock(s);
    rfm5565_dma_abort(s);
    s->dma.msi_sent = s->dma.msi_pending = false;
    rfm5565_regs_reset(s);
    rfm5565_ext_reset(s);
    rfm5565_update_and_unlock(s);
    registers_changed(s);
}

/* --- a card that falls off the bus ---------------------------------------- */

/*
 * For tests of drivers: what it decodes reads as all ones, stores vanish, its
 * light goes out. Off again, it is back with its registers reset. The vectors
 * stay: no memory region may come or go here, as under TCG a vCPU that is at
 * an MMIO access meanwhile looks its region up by the number it had before,
 * and iotlb_to_section() asserts (QEMU 10.0).
 */
static bool get_dead(Object *obj, Error **errp)
{
    return RFM5565(obj)->dead;
}

static void set_dead(Object *obj, bool dead, Error **errp)
{
    Rfm5565State *s = RFM5565(obj);

    if (!DEVICE(s)->realized) {
        error_setg(errp, "rfm5565: dead can be set only once the card is "
                   "plugged in");
        return;
    }
    if (dead == s->dead) {
        return;
    }
    /* Nothing may move or arrive while loads are not served by the memory. */
    if (dead) {
        rfm5565_lock(s);
        rfm5565_dma_abort(s);
        rfm5565_update_and_unlock(s);
        rfm5565_ring_set_quiesced(s, true);
    }
    rfm5565_lock(s);
    s->dead = dead;
    qemu_cond_broadcast(&s->room);
    rfm5565_update_and_unlock(s);
    rfm5565_map_memory(s);
    if (!dead) {
        reset_registers(s);
        rfm5565_ring_set_quiesced(s, false);
    }
}

static bool get_dma_hung(Object *obj, Error **errp)
{
    return RFM5565(obj)->dma.hung;
}

static void set_dma_hung(Object *obj, bool hung, Error **errp)
{
    if (!DEVICE(obj)->realized) {
        error_setg(errp, "rfm5565: dma-hung can be set only once the card is "
                   "plugged in");
        return;
    }
    rfm5565_dma_set_hung(RFM5565(obj), hung);
}

/* --- lifecycle ------------------------------------------------------------ */

static void release(Rfm5565State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    rfm5565_ext_exit(s);
    /* It refers to the card as long as it is in there. */
    if (s->window_size < s->memory_size) {
        memory_region_del_subregion(&s->window_bar, &s->window_alias);
    }
    /* References may keep the memory for a while; its name must be free. */
    vmstate_unregister_ram(&s->memory, DEVICE(s));
    if (pci->exp.exp_cap) {
        pcie_cap_exit(pci);
    }
}

static bool init_express(PCIDevice *pci, Error **errp)
{
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        pcie_endpoint_cap_init(pci, CAPABILITIES_AT) < 0) {
        error_setg(errp, "rfm5565: no room for the PCI Express capability");
        return false;
    }
    return true;
}

static void rfm5565_realize(PCIDevice *pci, Error **errp)
{
    Rfm5565State *s = RFM5565(pci);
    struct rfm_node_config config;

    if (!rfm5565_check_properties(s, &config, errp) || !init_memory(s, errp)) {
        return;
    }
    pci_config_set_interrupt_pin(pci->config, 1);
    /* The capability added last comes first: that is the real card's own. */
    if (!rfm5565_ext_init(s, errp) || !init_express(pci, errp) ||
        !rfm5565_ring_init(s, &config, errp)) {
        release(s);
        return;
    }
    rfm5565_regs_init(s);
}

static void rfm5565_exit(PCIDevice *pci)
{
    Rfm5565State *s = RFM5565(pci);

    rfm5565_ring_exit(s);
    release(s);
}

static void rfm5565_finalize(Object *obj)
{
    Rfm5565State *s = RFM5565(obj);

    qemu_cond_destroy(&s->room);
    qemu_mutex_destroy(&s->producer);
    qemu_mutex_destroy(&s->lock);
}

/* INTx or messages: the guest may have changed that. */
static void rfm5565_config_write(PCIDevice *pci, uint32_t addr, uint32_t value,
                                 int len)
{
    Rfm5565State *s = RFM5565(pci);

    pci_default_write_config(pci, addr, value, len);
    rfm5565_lock(s);
    rfm5565_dma_bus_changed(s);
    rfm5565_update_and_unlock(s);
}

/* Memory, light and forwarding stay: only the registers begin again. */
static void rfm5565_reset_hold(Object *obj, ResetType type)
{
    reset_registers(RFM5565(obj));
}

/*
 * A machine that was paused before its state is saved is still on the ring.
 * Nothing has reached its memory since: what comes for it is held back.
 */
static int rfm5565_pre_save(void *opaque)
{
    rfm5565_ring_saving(opaque);
    return 0;
}

/* The engine must not see registers that are half old, half new. */
static int rfm5565_pre_load(void *opaque)
{
    rfm5565_ring_set_quiesced(opaque, true);
    rfm5565_dma_loading(opaque);
    return 0;
}

static int rfm5565_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;

    if (!rfm5565_regs_are_valid(s)) {
        return -EINVAL;
    }
    registers_changed(s);
    rfm5565_ring_loaded(s);
    return 0;
}

/*
 * The memory migrates as RAM. The ring does not: the card leaves it before
 * and joins under a new incarnation after; what was on its way is counted as
 * lost by the nodes that miss it. Older states are of cards with
 * extension=off: the block takes only its own version.
 */
static const VMStateDescription vmstate_rfm5565 = {
    .name = TYPE_RFM5565,
    .version_id = 4,
    .minimum_version_id = 2,
    .pre_save = rfm5565_pre_save,
    .pre_load = rfm5565_pre_load,
    .post_load = rfm5565_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, Rfm5565State),
        VMSTATE_UINT32_EQUAL(node_id, Rfm5565State, "node-id differs"),
        VMSTATE_UINT64_EQUAL(window_size, Rfm5565State, "window differs"),
        VMSTATE_UINT32_EQUAL(switches, Rfm5565State,
                             "redundant or rogue-master-0 or -1 differs"),
        VMSTATE_UINT32(intcsr, Rfm5565State),
        VMSTATE_UINT32(marbr, Rfm5565State),
        VMSTATE_UINT32(cntrl, Rfm5565State),
        VMSTATE_UINT32(las1ba, Rfm5565State),
        VMSTATE_UINT32(lcsr1, Rfm5565State),
        VMSTATE_BOOL(own_data, Rfm5565State),
        VMSTATE_UINT32(lisr, Rfm5565State),
        VMSTATE_UINT32(lisr_seen, Rfm5565State),
        VMSTATE_UINT32(lier, Rfm5565State),
        VMSTATE_UINT32(ntd, Rfm5565State),
        VMSTATE_UINT32(ntn, Rfm5565State),
        VMSTATE_UINT32(nic, Rfm5565State),
        VMSTATE_STRUCT_ARRAY(fifo, Rfm5565State, RFM_FIFOS, 1,
                             vmstate_rfm5565_fifo, Rfm5565Fifo),
        VMSTATE_UINT64(fifo_dropped, Rfm5565State),
        VMSTATE_BOOL(dead, Rfm5565State),
        VMSTATE_UINT32_V(bigend, Rfm5565State, 3),
        VMSTATE_UINT64_V(saved.incarnation, Rfm5565State, 3),
        VMSTATE_UINT64_V(saved.held, Rfm5565State, 3),
        VMSTATE_BOOL_V(saved.signal, Rfm5565State, 3),
        VMSTATE_UINT32_V(saved.epoch, Rfm5565State, 4),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_rfm5565_ext,
        &vmstate_rfm5565_dma,
        NULL
    },
};

static void rfm5565_instance_init(Object *obj)
{
    Rfm5565State *s = RFM5565(obj);

    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
    qemu_mutex_init(&s->lock);
    qemu_mutex_init(&s->producer);
    qemu_cond_init(&s->room);
}

static void rfm5565_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    pc->realize = rfm5565_realize;
    pc->exit = rfm5565_exit;
    pc->config_write = rfm5565_config_write;
    pc->vendor_id = RFM_PCI_VENDOR_ID;
    pc->device_id = RFM_PCI_DEVICE_ID;
    pc->subsystem_vendor_id = RFM_PCI_SUBVENDOR_ID;
    pc->subsystem_id = RFM_PCI_SUBDEVICE_ID;
    pc->class_id = RFM_PCI_CLASS;
    pc->revision = RFM_PCI_REVISION;
    rc->phases.hold = rfm5565_reset_hold;
    dc->desc = "5565 reflective-memory card";
    dc->vmsd = &vmstate_rfm5565;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    object_class_property_add_bool(klass, "dead", get_dead, set_dead);
    object_class_property_add_bool(klass, "dma-hung", get_dma_hung,
                                   set_dma_hung);
    rfm5565_add_class_properties(klass);
}

static const TypeInfo rfm5565_types[] = {
    {
        .name = TYPE_RFM5565,
        .parent = TYPE_PCI_DEVICE,
        .instance_size = sizeof(Rfm5565State),
        .instance_align = __alignof__(Rfm5565State),
        .instance_init = rfm5565_instance_init,
        .instance_finalize = rfm5565_finalize,
        .class_init = rfm5565_class_init,
        .interfaces = (InterfaceInfo[]) {
            { INTERFACE_PCIE_DEVICE },
            { INTERFACE_CONVENTIONAL_PCI_DEVICE },
            { },
        },
    },
};

DEFINE_TYPES(rfm5565_types)
