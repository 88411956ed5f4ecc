/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bench for the DMA engine; see rfm5565-dma.h. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "rfm5565-dma.h"

void bus_master(Card *card, bool on)
{
    uint16_t command = qpci_config_readw(card->pci, PCI_COMMAND);

    command = on ? command | PCI_COMMAND_MASTER
                 : command & ~PCI_COMMAND_MASTER;
    qpci_config_writew(card->pci, PCI_COMMAND, command);
}

Lab *dma_ring(const char *options0, const char *options1)
{
    Lab *lab = lab_ring(options0, options1);

    for (unsigned i = 0; i < lab->cards; i++) {
        bus_master(&lab->card[i], true);
    }
    return lab;
}

Lab *dma_dark(const char *options)
{
    Lab *lab = lab_dark(options, NULL);

    bus_master(&lab->card[0], true);
    return lab;
}

Lab *dma_boxed(const char *options0, Fibre **box)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { options0, "node-id=9" }, .fibres = true, .fault_box = box,
    });

    ring_wait_closed(lab->card, 2);
    bus_master(&lab->card[0], true);
    bus_master(&lab->card[1], true);
    return lab;
}

uint8_t *dma_pattern(size_t len, uint32_t seed)
{
    uint8_t *data = g_malloc(len + 4);

    for (size_t i = 0; i < len; i += 4) {
        stl_le_p(data + i, (seed << 24) + 0x9e3779b1u * (uint32_t)(i / 4 + 1));
    }
    return data;
}

void dma_program(Card *card, const Transfer *transfer)
{
    bool chain = transfer->first;

    bar_write(card, 0, DMAMODE0, 4, chain ? CHAIN : 0);
    bar_write(card, 0, DMAPADR0, 4, transfer->host);
    bar_write(card, 0, DMADAC0, 4, transfer->host >> 32);
    bar_write(card, 0, DMALADR0, 4, transfer->at);
    bar_write(card, 0, DMASIZ0, 4, transfer->len);
    bar_write(card, 0, DMADPR0, 4, transfer->direction | transfer->first);
}

void dma_start(Card *card, const Transfer *transfer)
{
    dma_program(card, transfer);
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_START);
}

bool dma_is_done(Card *card)
{
    return bar_read(card, 0, DMACSR0, 1) & DMA_DONE;
}

void dma_expect(Card *card, bool good)
{
    uint32_t intcsr;

    wait_until(dma_is_done(card));
    intcsr = bar_read(card, 0, INTCSR, 4);
    g_assert_true(intcsr & DMA_INT_ACTIVE);
    g_assert_cmpint(!!(intcsr & DMA_NO_ABORT), ==, good);
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_CLEAR);
    intcsr = bar_read(card, 0, INTCSR, 4);
    g_assert_false(intcsr & DMA_INT_ACTIVE);
    g_assert_true(intcsr & DMA_NO_ABORT);
}

void dma_run(Card *card, const Transfer *transfer)
{
    dma_start(card, transfer);
    dma_expect(card, true);
}

void dma_fail(Card *card, const Transfer *transfer)
{
    dma_start(card, transfer);
    dma_expect(card, false);
}

void dma_descriptor(Vm *vm, unsigned n, uint64_t host, uint32_t bytes,
                    uint32_t next)
{
    uint8_t descriptor[16];

    stq_le_p(descriptor, host);
    stl_le_p(descriptor + 8, bytes);
    stl_le_p(descriptor + 12, next);
    qtest_memwrite(vm->qts, DESCRIPTOR(n), descriptor, sizeof(descriptor));
}

#define VTD             0xfed90000u
#define VTD_GCMD        0x18
#define VTD_GSTS        0x1c
#define VTD_ROOT        0x20

/* Its tables; each GiB has one of level 2. */
#define ROOT_TABLE      0x100000u
#define CONTEXT_TABLE   0x101000u
#define LEVEL_3         0x102000u
#define LEVEL_2(gib)    (0x103000u + 0x1000 * (gib))
#define LARGE           0x80

void vtd_map(Vm *vm, uint64_t iova, uint64_t page)
{
    unsigned gib = iova / GiB;

    g_assert_cmpuint(LEVEL_2(gib + 1), <=, DESCRIPTORS);
    qtest_writeq(vm->qts, LEVEL_3 + 8 * gib, LEVEL_2(gib) | VTD_READ_WRITE);
    qtest_writeq(vm->qts, LEVEL_2(gib) + 8 * (iova % GiB / VTD_PAGE),
                 page | LARGE);
}

static void vtd_command(Vm *vm, unsigned bit)
{
    qtest_writel(vm->qts, VTD + VTD_GCMD, 1u << bit);
    g_assert_cmphex(qtest_readl(vm->qts, VTD + VTD_GSTS) & 1u << bit, !=, 0);
}

void vtd_start(Vm *vm, unsigned slot)
{
    const uint64_t levels_3 = 1, domain = 1;
    uint64_t context = CONTEXT_TABLE + 16 * QPCI_DEVFN(slot, 0);

    qtest_writeq(vm->qts, ROOT_TABLE, CONTEXT_TABLE | 1);
    qtest_writeq(vm->qts, context, LEVEL_3 | 1);
    qtest_writeq(vm->qts, context + 8, domain << 8 | levels_3);
    qtest_writeq(vm->qts, VTD + VTD_ROOT, ROOT_TABLE);
    vtd_command(vm, 30);
    vtd_command(vm, 31);
}

/* What is much longer takes the test's protocol very long. */
#define CHUNK 0x10000

void host_write(Vm *vm, uint64_t at, const void *data, size_t len)
{
    for (size_t i = 0; i < len; i += CHUNK) {
        qtest_bufwrite(vm->qts, at + i, (const uint8_t *)data + i,
                       MIN(len - i, CHUNK));
    }
}

void card_expect(Card *card, uint32_t at, const void *data, size_t len)
{
    uint8_t seen[CHUNK];

    for (size_t i = 0; i < len; i += CHUNK) {
        size_t part = MIN(len - i, CHUNK);

        mem_read(card, at + i, seen, part);
        g_assert_cmpmem(seen, part, (const uint8_t *)data + i, part);
    }
}

void host_expect(Vm *vm, uint64_t at, const void *data, size_t len)
{
    uint8_t seen[CHUNK];

    for (size_t i = 0; i < len; i += CHUNK) {
        size_t part = MIN(len - i, CHUNK);

        qtest_bufread(vm->qts, at + i, seen, part);
        g_assert_cmpmem(seen, part, (const uint8_t *)data + i, part);
    }
}
