// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers of the 5565: BAR0 (with its I/O alias BAR1) and BAR2.
 *
 * Drivers mix access widths freely, so an access may cover part of a register
 * or several. docs/card.md is the reference.
 */

#include "qemu/osdep.h"
#include "hw/pci/pci.h"
#include "rfm5565.h"
#include "rfm5565-regbank.h"

/* --- FIFOs ---------------------------------------------------------------- */

static uint64_t isd_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    const Rfm5565Fifo *fifo = &s->fifo[op->index];

    return fifo->count ? fifo->data[fifo->head] : fifo->last_data;
}

static uint64_t sid_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    Rfm5565Fifo *fifo = &s->fifo[op->index];
    uint32_t sender;

    if (!fifo->count) {
        return 0;
    }
    sender = fifo->sender[fifo->head];
    fifo->last_data = fifo->data[fifo->head];
    fifo->head = (fifo->head + 1) % RFM_FIFO_DEPTH;
    fifo->count--;
    return sender;
}

static void sid_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    s->fifo[op->index].count = 0;
}

/* --- BAR2 ----------------------------------------------------------------- */

/* LCSR1 repeats four latches of LISR. */
static const struct {
    uint32_t lcsr1, lisr;
} shared_latches[] = {
    { RFM_LCSR1_SYNC_LOSS,      RFM_LISR_SYNC_LOSS },
    { RFM_LCSR1_RX_FULL,        RFM_LISR_RX_FULL },
    { RFM_LCSR1_RX_ALMOST_FULL, RFM_LISR_RX_ALMOST_FULL },
    { RFM_LCSR1_BAD_DATA,       RFM_LISR_BAD_DATA },
};

#define LCSR1_CONTROL_M (RFM_LCSR1_LED | RFM_LCSR1_TX_DISABLE | \
                         RFM_LCSR1_DARK_ON_DARK | RFM_LCSR1_LOOPBACK | \
                         RFM_LCSR1_PARITY | RFM_LCSR1_OFFSET_M)

static uint32_t lcsr1_straps(const Rfm5565State *s)
{
    uint32_t size_code = ctz64(s->memory_size / (64 * MiB));

    return size_code << RFM_LCSR1_MEMSIZE_SHIFT | s->switches;
}

static uint64_t lcsr1_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    uint32_t value = s->lcsr1 | lcsr1_straps(s);

    for (unsigned i = 0; i < ARRAY_SIZE(shared_latches); i++) {
        if (s->lisr & shared_latches[i].lisr) {
            value |= shared_latches[i].lcsr1;
        }
    }
    if (s->own_data) {
        value |= RFM_LCSR1_OWN_DATA;
    }
    if (rfm_node_tx_empty(&s->node)) {
        value |= RFM_LCSR1_TX_EMPTY;
    }
    if (rfm_node_tx_almost_full(&s->node)) {
        value |= RFM_LCSR1_TX_ALMOST_FULL;
    }
    if (rfm_node_signal(&s->node)) {
        value |= RFM_LCSR1_SIGNAL;
    }
    return value;
}

static void lcsr1_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    /* OWN DATA: 0 clears, 1 leaves as it is; drivers read, modify, write. */
    if (op->mask & ~op->value & RFM_LCSR1_OWN_DATA) {
        s->own_data = false;
    }
    rfm5565_ring_set_optics(s);
}

/*
 * The vendor's driver notes that a latched bit can be cleared only after it
 * was read as 1, and relies on it; the exact rule is not published.
 */
static uint64_t lisr_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    uint32_t value = s->lisr | rfm5565_fifo_levels(s) |
                     (s->lier & RFM_LIER_AUTO_CLEAR);

    s->lisr_seen |= s->lisr & RFM_LISR_LATCHED_M & op->mask;
    if (value & RFM_LISR_AUTO_CLEAR & op->mask) {
        s->lisr &= ~RFM_LISR_GLOBAL_ENABLE;
    }
    return value;
}

static void lisr_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    uint32_t clear = s->lisr_seen & ~op->value & op->mask;

    s->lisr &= ~clear;
    s->lisr_seen &= ~clear;
}

static uint64_t nid_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->node_id;
}

static void nic_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_ring_interrupt(s);
}

#define FIELD_OF(member) offsetof(Rfm5565State, member)
#define FIFO_ROW .count = RFM_FIFOS, .stride = RFM_ISD(2) - RFM_ISD(1)

static const Rfm5565Reg control_regs[] = {
    { .name = "BRV", .offset = RFM_BRV, .width = 1,
      .reset = RFM_BRV_SLIDING_WINDOW },
    { .name = "BID", .offset = RFM_BID, .width = 1, .reset = RFM_BID_5565 },
    { .name = "BRB", .offset = RFM_BRB, .width = 2, .reset = 1 },
    { .name = "NID", .offset = RFM_NID, .width = 1, .read = nid_read },
    { .name = "LCSR1", .offset = RFM_LCSR1, .width = 4,
      .field = FIELD_OF(lcsr1), .reset = RFM_LCSR1_LED,
      .writable = LCSR1_CONTROL_M, .read = lcsr1_read, .write = lcsr1_write },
    { .name = "LISR", .offset = RFM_LISR, .width = 4,
      .field = FIELD_OF(lisr), .writable = RFM_LISR_GLOBAL_ENABLE,
      .latched = RFM_LISR_LATCHED_M,
      .read = lisr_read, .write = lisr_write },
    { .name = "LIER", .offset = RFM_LIER, .width = 4,
      .field = FIELD_OF(lier), .writable = RFM_LIER_M },
    { .name = "NTD", .offset = RFM_NTD, .width = 4,
      .field = FIELD_OF(ntd), .writable = 0xffffffff },
    { .name = "NTN", .offset = RFM_NTN, .width = 1,
      .field = FIELD_OF(ntn), .writable = 0xff },
    { .name = "NIC", .offset = RFM_NIC, .width = 1,
      .field = FIELD_OF(nic), .writable = 0xff, .write = nic_write },
    { .name = "ISD", .offset = RFM_ISD(1), .width = 4, FIFO_ROW,
      .read = isd_read },
    { .name = "SID", .offset = RFM_SID(1), .width = 1, FIFO_ROW,
      .read = sid_read, .write = sid_write },
};

static const Rfm5565Bank control_bank = {
    .bar = RFM_BAR_CONTROL,
    .regs = control_regs,
    .count = ARRAY_SIZE(control_regs),
    .written = rfm5565_burst_update,
};

/* --- BAR0 ----------------------------------------------------------------- */

static uint64_t intcsr_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->intcsr | (rfm5565_local_sources(s) ? RFM_INTCSR_LOCAL_ACTIVE : 0);
}

static uint64_t pcihrev_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->bridge_revision;
}

static uint64_t las1rr_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return -s->window_size;
}

/* Where the window can stand. */
static uint32_t las1ba_mask(const Rfm5565State *s)
{
    return ((s->memory_size - 1) & ~(s->window_size - 1)) | RFM_LAS1BA_ENABLE;
}

static void las1ba_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    if (op->value & ~(uint64_t)las1ba_mask(s)) {
        rfm5565_guest_error(s, "LAS1BA cannot be 0x%" PRIx64 ", a window has "
                            "0x%" PRIx64 " bytes", op->value, s->window_size);
    }
    s->las1ba &= las1ba_mask(s);
}

static uint64_t dmacsr0_read(Rfm5565State *s, const Rfm5565RegOp *op)
{
    return s->dma.csr | (s->dma.busy ? 0 : RFM_DMACSR0_DONE);
}

static void dmacsr0_write(Rfm5565State *s, const Rfm5565RegOp *op)
{
    rfm5565_dma_command(s, op->value);
}

static const Rfm5565Reg runtime_regs[] = {
    { .name = "MARBR", .offset = RFM_MARBR, .width = 4,
      .field = FIELD_OF(marbr), .reset = RFM_MARBR_RESET,
      .writable = RFM_MARBR_DELAYED_READ },
    { .name = "BIGEND", .offset = RFM_BIGEND, .width = 4,
      .field = FIELD_OF(bigend),
      .writable = RFM_BIGEND_PIO | RFM_BIGEND_DMA0 },
    { .name = "INTCSR", .offset = RFM_INTCSR, .width = 4,
      .field = FIELD_OF(intcsr), .reset = RFM_INTCSR_RESET,
      .writable = RFM_INTCSR_PCI_ENABLE | RFM_INTCSR_LOCAL_ENABLE |
                  RFM_INTCSR_DMA0_ENABLE,
      .latched = RFM_INTCSR_DMA0_ACTIVE, .read = intcsr_read },
    { .name = "CNTRL", .offset = RFM_CNTRL, .width = 4,
      .field = FIELD_OF(cntrl), .writable = 0xf },
    { .name = "PCIHREV", .offset = RFM_PCIHREV, .width = 1,
      .read = pcihrev_read },
    { .name = "DMAMODE0", .offset = RFM_DMAMODE0, .width = 4,
      .field = FIELD_OF(dma.mode), .reset = RFM_DMAMODE0_RESET,
      .writable = RFM_DMAMODE0_CHAIN },
    { .name = "DMAPADR0", .offset = RFM_DMAPADR0, .width = 4,
      .field = FIELD_OF(dma.padr), .writable = 0xffffffff },
    { .name = "DMALADR0", .offset = RFM_DMALADR0, .width = 4,
      .field = FIELD_OF(dma.ladr), .writable = 0xffffffff },
    { .name = "DMASIZ0", .offset = RFM_DMASIZ0, .width = 4,
      .field = FIELD_OF(dma.size), .writable = RFM_DMASIZ0_M },
    { .name = "DMADPR0", .offset = RFM_DMADPR0, .width = 4,
      .field = FIELD_OF(dma.dpr), .reset = RFM_DMADPR0_RESET,
      .writable = RFM_DMADPR0_FIRST_M | RFM_DMADPR0_TO_HOST },
    { .name = "DMACSR0", .offset = RFM_DMACSR0, .width = 1,
      .field = FIELD_OF(dma.csr), .writable = RFM_DMACSR0_ENABLE,
      .read = dmacsr0_read, .write = dmacsr0_write },
    { .name = "DMADAC0", .offset = RFM_DMADAC0, .width = 4,
      .field = FIELD_OF(dma.dac), .writable = 0xffffffff },
    { .name = "MARBR", .offset = RFM_MARBR_ALIAS, .width = 4,
      .field = FIELD_OF(marbr), .reset = RFM_MARBR_RESET,
      .writable = RFM_MARBR_DELAYED_READ },
    { .name = "LAS1RR", .offset = RFM_LAS1RR, .width = 4, .read = las1rr_read },
    { .name = "LAS1BA", .offset = RFM_LAS1BA, .width = 4,
      .field = FIELD_OF(las1ba), .reset = RFM_LAS1BA_ENABLE,
      .writable = RFM_LAS1BA_REMAP_M, .write = las1ba_write },
};

static void runtime_written(Rfm5565State *s)
{
    rfm5565_map_memory(s);
    rfm5565_dma_written(s);
}

static const Rfm5565Bank runtime_bank = {
    .bar = RFM_BAR_RUNTIME,
    .regs = runtime_regs,
    .count = ARRAY_SIZE(runtime_regs),
    .written = runtime_written,
};

/* --- access --------------------------------------------------------------- */

bool rfm5565_regs_are_valid(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_FIFOS; i++) {
        if (s->fifo[i].head >= RFM_FIFO_DEPTH ||
            s->fifo[i].count > RFM_FIFO_DEPTH) {
            return false;
        }
    }
    return rfm5565_bank_is_valid(s, &runtime_bank) &&
           rfm5565_bank_is_valid(s, &control_bank) &&
           !(s->las1ba & ~las1ba_mask(s)) && !(s->lisr_seen & ~s->lisr);
}

static uint64_t runtime_read(void *opaque, hwaddr addr, unsigned size)
{
    return rfm5565_bank_read(opaque, &runtime_bank, addr, size);
}

static void runtime_write(void *opaque, hwaddr addr, uint64_t value,
                          unsigned size)
{
    rfm5565_bank_write(opaque, &runtime_bank, addr, value, size);
}

static uint64_t control_read(void *opaque, hwaddr addr, unsigned size)
{
    return rfm5565_bank_read(opaque, &control_bank, addr, size);
}

static void control_write(void *opaque, hwaddr addr, uint64_t value,
                          unsigned size)
{
    rfm5565_bank_write(opaque, &control_bank, addr, value, size);
}

static const MemoryRegionOps runtime_ops = {
    .read = runtime_read,
    .write = runtime_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 4 },
};

static const MemoryRegionOps control_ops = {
    .read = control_read,
    .write = control_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8 },
    .impl = { .min_access_size = 1, .max_access_size = 4 },
};

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_regs_init(Rfm5565State *s)
{
    PCIDevice *pci = PCI_DEVICE(s);

    memory_region_init_io(&s->runtime, OBJECT(s), &runtime_ops, s,
                          "rfm5565-runtime", RFM_BAR_RUNTIME_SIZE);
    memory_region_init_alias(&s->runtime_io, OBJECT(s), "rfm5565-runtime-io",
                             &s->runtime, 0, RFM_BAR_RUNTIME_IO_SIZE);
    memory_region_init_io(&s->control, OBJECT(s), &control_ops, s,
                          "rfm5565-control", RFM_BAR_CONTROL_SIZE);

    pci_register_bar(pci, RFM_BAR_RUNTIME, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->runtime);
    pci_register_bar(pci, RFM_BAR_RUNTIME_IO, PCI_BASE_ADDRESS_SPACE_IO,
                     &s->runtime_io);
    pci_register_bar(pci, RFM_BAR_CONTROL, PCI_BASE_ADDRESS_SPACE_MEMORY,
                     &s->control);
}

/* Under both locks. */
void rfm5565_regs_reset(Rfm5565State *s)
{
    rfm5565_bank_reset(s, &runtime_bank);
    rfm5565_bank_reset(s, &control_bank);
    s->own_data = false;
    s->lisr_seen = 0;
    memset(s->fifo, 0, sizeof(s->fifo));
}
