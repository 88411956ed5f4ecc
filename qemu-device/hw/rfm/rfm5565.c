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
#include "rfm5565.h"

#define CAPABILITIES_AT 0x78    /* where the real card's list begins */
#define LATENCY_TIMER   0x40    /* after reset */

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
    s->dma.hold_told = false;
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
    rfm5565_memory_exit(s);
    if (pci->exp.exp_cap) {
        pcie_cap_exit(pci);
    }
}

/* What the manual's tables have and QEMU's devices have not */
static void init_config(PCIDevice *pci)
{
    pci_word_test_and_set_mask(pci->wmask + PCI_COMMAND, PCI_COMMAND_PARITY);
    if (!pci_bus_is_express(pci_get_bus(pci))) {
        pci_word_test_and_set_mask(pci->config + PCI_STATUS,
                                   PCI_STATUS_66MHZ | PCI_STATUS_DEVSEL_SLOW);
        pci->wmask[PCI_LATENCY_TIMER] = 0xff;
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

    if (!rfm5565_check_properties(s, &config, errp) ||
        !rfm5565_memory_init(s, errp)) {
        return;
    }
    pci_config_set_interrupt_pin(pci->config, 1);
    init_config(pci);
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
    PCIDevice *pci = PCI_DEVICE(obj);

    pci->config[PCI_LATENCY_TIMER] = LATENCY_TIMER &
                                     pci->wmask[PCI_LATENCY_TIMER];
    reset_registers(RFM5565(obj));
}

/*
 * A machine that was paused before its state is saved is still on the ring.
 * Nothing has reached its memory since that began: what comes is held back.
 */
static int rfm5565_pre_save(void *opaque)
{
    rfm5565_ring_saving(opaque);
    return 0;
}

/* The engine must not see registers that are half old, half new. */
static int rfm5565_pre_load(void *opaque)
{
    Rfm5565State *s = opaque;

    rfm5565_ring_set_quiesced(s, true);
    rfm5565_dma_loading(s);
    rfm5565_remote_loading(s);
    rfm5565_burst_loading(s);
    s->saved.books = s->saved.incomplete = false;
    return 0;
}

static int rfm5565_post_load(void *opaque, int version_id)
{
    Rfm5565State *s = opaque;

    if (!rfm5565_regs_are_valid(s)) {
        return rfm5565_refuse_state("registers that no card can have");
    }
    registers_changed(s);
    rfm5565_ring_loaded(s);
    return 0;
}

/*
 * The memory migrates as RAM. The ring does not: the card leaves it before
 * and joins under a new incarnation after; what was on its way is counted as
 * lost by the nodes that miss it, and so is here what it was away for. Older
 * states are of cards with extension=off: the block takes only its own version.
 */
static const VMStateDescription vmstate_rfm5565 = {
    .name = TYPE_RFM5565,
    .version_id = 5,
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
        VMSTATE_BOOL_V(saved.incomplete, Rfm5565State, 5),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription * const []) {
        &vmstate_rfm5565_ext,
        &vmstate_rfm5565_dma,
        &vmstate_rfm5565_books,
        &vmstate_rfm5565_remote,
        &vmstate_rfm5565_burst,
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
