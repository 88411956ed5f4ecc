// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMIC / GE / Abaco 5565 reflective-memory card, PIORC generation.
 *
 * A memory that is the same on every computer of a ring: loads are local,
 * stores travel to all the others in order. See docs/system/devices/rfm5565.rst
 * for how to use it, rfm5565.h for the parts.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "hw/pci/pci.h"
#include "hw/pci/pcie.h"
#include "migration/vmstate.h"
#include "ring/memory.h"
#include "rfm5565.h"
#include "trace.h"

#define CAPABILITIES_AT 0x78    /* where the real card's list begins */

/* --- BAR3 ----------------------------------------------------------------- */

/* Loads come here only from a dead card; else the guest reads the memory. */
static uint64_t memory_read(void *opaque, hwaddr addr, unsigned size)
{
    Rfm5565State *s = opaque;

    return rfm5565_is_silent(s) ? MAKE_64BIT_MASK(0, size * 8)
                                : ldn_le_p(s->ram + addr, size);
}

static void latch(Rfm5565State *s, uint32_t lisr_bits)
{
    rfm5565_lock(s);
    rfm5565_latch(s, lisr_bits);
    rfm5565_unlock(s);
}

/* The hot path: without a lock of ours while there is room. */
static void memory_write(void *opaque, hwaddr addr, uint64_t value,
                         unsigned size)
{
    Rfm5565State *s = opaque;
    uint8_t data[8];

    if (rfm5565_is_silent(s)) {
        return;
    }
    trace_rfm5565_store(s->node_id, addr, value, size);
    if ((s->lcsr1 & RFM_LCSR1_PARITY) && size < 4) {
        trace_rfm5565_store_inhibited(s->node_id, addr, size);
        latch(s, RFM_LISR_WRITE_INHIBITED);
        return;
    }

    /* Only then into local memory: what is visible here is on its way. */
    if (!rfm5565_ring_wait_for_room(s)) {
        return;
    }
    stn_le_p(data, size, value);
    rfm_memory_store(s->ram + addr, data, size);
    memory_region_flush_rom_device(&s->memory, addr, size);
    if (!rfm_node_store(&s->node, addr, data, size, rfm5565_now())) {
        latch(s, RFM_LISR_TX_FULL);
    }
}

static const MemoryRegionOps memory_ops = {
    .read = memory_read,
    .write = memory_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8, .unaligned = true },
};

void rfm5565_set_window(Rfm5565State *s)
{
    if (s->window_size < s->memory_size) {
        memory_region_set_alias_offset(&s->window_alias,
                                       s->las1ba & RFM_LAS1BA_REMAP_M);
    }
}

static bool init_memory(Rfm5565State *s, Error **errp)
{
    MemoryRegion *bar = &s->memory;

    if (!memory_region_init_rom_device(&s->memory, OBJECT(s), &memory_ops, s,
                                       "rfm5565-memory", s->memory_size,
                                       errp)) {
        return false;
    }
    s->ram = memory_region_get_ram_ptr(&s->memory);
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

/* --- a card that falls off the bus ---------------------------------------- */

/*
 * For tests of drivers: what it decodes reads as all ones, stores vanish, its
 * light goes out. Off again, it is back with its registers reset.
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
    /* Nothing may arrive while loads are not served by the memory. */
    if (dead) {
        rfm5565_ring_set_away(s, true);
    }
    rfm5565_lock(s);
    s->dead = dead;
    qemu_cond_broadcast(&s->room);
    rfm5565_unlock(s);
    memory_region_rom_device_set_romd(&s->memory, !dead);
    if (!dead) {
        rfm5565_regs_reset(s);
        rfm5565_ring_set_away(s, false);
    }
}

/* --- life ----------------------------------------------------------------- */

static void rfm5565_realize(PCIDevice *pci, Error **errp)
{
    Rfm5565State *s = RFM5565(pci);
    struct rfm_node_config config;

    if (!rfm5565_check_properties(s, &config, errp)) {
        return;
    }
    pci_config_set_interrupt_pin(pci->config, 1);
    if (pci_bus_is_express(pci_get_bus(pci)) &&
        pcie_endpoint_cap_init(pci, CAPABILITIES_AT) < 0) {
        error_setg(errp, "rfm5565: no room for the PCI Express capability");
        return;
    }
    if (!init_memory(s, errp) || !rfm5565_ring_init(s, &config, errp)) {
        return;
    }
    rfm5565_regs_init(s);
}

static void rfm5565_exit(PCIDevice *pci)
{
    Rfm5565State *s = RFM5565(pci);

    rfm5565_ring_exit(s);
    /* Somebody may hold the memory for a while; its name must be free now. */
    vmstate_unregister_ram(&s->memory, DEVICE(s));
    if (pci->exp.exp_cap) {
        pcie_cap_exit(pci);
    }
}

static void rfm5565_finalize(Object *obj)
{
    Rfm5565State *s = RFM5565(obj);

    qemu_cond_destroy(&s->room);
    qemu_mutex_destroy(&s->lock);
}

/* Memory, light and forwarding stay: only the registers begin again. */
static void rfm5565_reset_hold(Object *obj, ResetType type)
{
    rfm5565_regs_reset(RFM5565(obj));
}

/*
 * A machine that was paused before its state is saved is still on the ring.
 * Nothing has reached its memory since: what comes for it is held back.
 */
static int rfm5565_pre_save(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_ring_set_away(s, true);
    return 0;
}

static int rfm5565_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;

    for (unsigned i = 0; i < RFM_FIFOS; i++) {
        if (s->fifo[i].head >= RFM_FIFO_DEPTH ||
            s->fifo[i].count > RFM_FIFO_DEPTH) {
            return -EINVAL;
        }
    }
    memory_region_rom_device_set_romd(&s->memory, !s->dead);
    rfm5565_regs_loaded(s);
    return 0;
}

/*
 * The memory migrates as RAM. The ring does not: the card leaves it before
 * and joins under a new incarnation after; what was on its way is counted as
 * lost by whoever misses it.
 */
static const VMStateDescription vmstate_rfm5565 = {
    .name = TYPE_RFM5565,
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_save = rfm5565_pre_save,
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
        VMSTATE_END_OF_LIST()
    },
};

static void rfm5565_instance_init(Object *obj)
{
    Rfm5565State *s = RFM5565(obj);

    PCI_DEVICE(obj)->cap_present |= QEMU_PCI_CAP_EXPRESS;
    qemu_mutex_init(&s->lock);
    qemu_cond_init(&s->room);
}

static void rfm5565_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    pc->realize = rfm5565_realize;
    pc->exit = rfm5565_exit;
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
