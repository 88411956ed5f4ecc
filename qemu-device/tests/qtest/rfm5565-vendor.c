/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the drivers of the field do, access by access: on a base card, and by
 * an interrupt line. More of it is where the registers are tested.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "rfm5565-dma.h"

/* --- the vendor's driver: probe to unload --------------------------------- */

/* Its handler's half for DMA. Returns whether the interrupt was its own. */
static bool vendor_dma_handler(Card *card)
{
    uint32_t intcsr = bar_read(card, 0, INTCSR, 4);

    if (intcsr & 0x200000) {
        bar_write(card, 0, INTCSR, 4, intcsr & ~0x40000);
        bar_write(card, 0, DMACSR0, 1, 0x08);
    }
    bar_read(card, 0, INTCSR, 4);
    return intcsr & 0x200000;
}

/* One chunk; it waits for its interrupt. */
static void vendor_dma(Card *card, uint32_t direction, uint32_t host,
                       uint32_t at, uint32_t len)
{
    bar_write(card, 0, DMAPADR0, 4, host);
    bar_write(card, 0, DMADAC0, 4, 0);
    bar_write(card, 0, DMAMODE0, 4, 0x000205c3);
    bar_write(card, 0, DMASIZ0, 4, len);
    bar_write(card, 0, DMALADR0, 4, at);
    bar_write(card, 0, DMADPR0, 4, direction);
    bar_write(card, 0, INTCSR, 4, bar_read(card, 0, INTCSR, 4) | 0x40100);
    bar_read(card, 0, INTCSR, 4);
    bar_write(card, 0, DMACSR0, 1, 0x03);
    bar_read(card, 0, DMACSR0, 1);
    wait_until(intx_level(card));
    g_assert_true(vendor_dma_handler(card));
    g_assert_false(intx_level(card));
    g_assert_false(vendor_dma_handler(card));
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4) & 0x02040000, ==, 0x02000000);
}

/* The window stands elsewhere: that is nothing to the engine. */
static void test_vendor_dma(void)
{
    Lab *lab = dma_ring("node-id=7,extension=off,window=2M", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(0x7fff80, 1);
    const uint32_t window = 0x00400000, at = window + 0x80;

    intx_watch(lab->vm);
    host_write(lab->vm, BUFFER, data, 0x7fff80);
    bar_write(a, 0, LAS1BA, 4, window | 1);
    g_assert_cmphex(bar_read(a, 0, LAS1BA, 4), ==, window | 1);
    vendor_dma(a, 0, BUFFER, at, 0x7fff80);
    fence(a, b);
    card_expect(b, at, data, 0x7fff80);
    card_expect(a, 0x80, data, 0x1000);     /* through the window */
    vendor_dma(a, 8, BUFFER2, at, 0x7fff80);
    host_expect(lab->vm, BUFFER2, data, 0x7fff80);
    lab_stop(lab);
}

/* Its last accesses; then no interrupt comes, whatever arrives. */
static void test_vendor_unload(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9,extension=off");
    Card *a = &lab->card[0], *b = &lab->card[1];

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, bar_read(b, 0, INTCSR, 4) | 0x40900);
    ctl_writel(b, LIER, 0x3fef);
    ctl_writel(b, LISR, GIE);
    nic_send(a, 9, NIC_INT1, 1);
    nic_send(a, 9, NIC_RESET, 0);
    wait_until(intx_level(b));
    ctl_wait(b, LISR, L_RESET, L_RESET);

    ctl_writel(b, LIER, 0);
    bar_write(b, 0, INTCSR, 4, bar_read(b, 0, INTCSR, 4) & ~0x40900u);
    ctl_writel(b, LISR, 0xffff03f3);
    g_assert_false(intx_level(b));
    nic_send(a, 9, NIC_INT2, 2);
    fifo_expect(b, 2, 7, 2);
    g_assert_false(intx_level(b));
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_INT1);
    g_assert_cmphex(bar_read(b, 0, INTCSR, 4), ==, 0x0f010000);
    lab_stop(lab);
}

/* "PCI compatibility": two registers of the bridge, read, modified, written */
static void test_vendor_compatibility(void)
{
    Lab *lab = lab_ring("node-id=7,extension=off", NULL);
    Card *card = &lab->card[0];

    bar_write(card, 0, MARBR2, 4,
              bar_read(card, 0, MARBR2, 4) & ~0x01000000u);
    bar_write(card, 0, LBRD0, 4,
              (bar_read(card, 0, LBRD0, 4) & ~0xf0000000u) | 0xf0000000u);
    g_assert_cmphex(bar_read(card, 0, MARBR2, 4), ==, 0x02040000);
    mem_writel(card, 0, 0x600d);
    ctl_wait(card, LCSR1, OWN_DATA, OWN_DATA);
    lab_stop(lab);
}

/* --- the others ----------------------------------------------------------- */

/*
 * LIGO: no interrupts, LCSR1 cleared by a wrong mask, dwords at DMACSR0, length
 * and direction programmed once.
 */
static void test_ligo(void)
{
    Lab *lab = dma_ring("node-id=7,extension=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(8 * 64, 1);
    unsigned i;

    host_write(lab->vm, BUFFER, data, 8 * 64);
    lcsr1_set(a, TX_DISABLE | PARITY | 3u << OFFSET_SHIFT);
    bar_write(a, 0, INTCSR, 4, 0);
    ctl_writel(a, LCSR1, ctl_readl(a, LCSR1) & !1);
    g_assert_cmphex(ctl_readl(a, LCSR1) & 0xf8030001, ==, 0);
    ring_wait_closed(lab->card, 2);

    bar_write(a, 0, DMASIZ0, 4, 64);
    bar_write(a, 0, DMADPR0, 4, 0);
    for (i = 0; i < 8; i++) {
        bar_write(a, 0, DMAPADR0, 4, BUFFER + 64 * i);
        bar_write(a, 0, DMALADR0, 4, 0x1000 * i);
        bar_write(a, 0, DMACSR0, 4, 3);
        wait_until((bar_read(a, 0, DMACSR0, 4) & 0x11) == 0x11);
        bar_write(a, 0, DMACSR0, 4, 8);
        g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, 0x10);
    }
    fence(a, b);
    for (i = 0; i < 8; i++) {
        card_expect(b, 0x1000 * i, data + 64 * i, 64);
    }
    lab_stop(lab);
}

/*
 * XPC: a broadcast without a target, the LED toggled, and a handler that reads
 * the sender first and then empties the FIFO.
 */
static void test_xpc(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9,extension=off");
    Card *a = &lab->card[0], *b = &lab->card[1];

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, bar_read(b, 0, INTCSR, 4) | 0x900);
    ctl_writel(b, LIER, L_INT1);
    ctl_writel(b, LISR, 0x4000);
    ctl_writel(b, LCSR1, ctl_readl(b, LCSR1) ^ 0x80000000);
    g_assert_cmphex(ctl_readl(b, LCSR1) & LED, ==, 0);
    ctl_writel(a, NTD, 0x900d);
    ctl_writeb(a, NIC, 0x8 | 1);
    wait_until(intx_level(b));
    g_assert_cmphex(ctl_readl(b, ISD(1)), ==, 0x900d);
    g_assert_cmphex(ctl_readb(b, SID(1)), ==, 7);
    ctl_writeb(b, SID(1), 0);
    ctl_writel(b, LISR, 0x4000);
    g_assert_false(intx_level(b));
    lab_stop(lab);
}

/* SOL: a handler that reads nothing but the sender */
static void test_sol(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9,extension=off");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i;

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, bar_read(b, 0, INTCSR, 4) | 0x40900);
    ctl_writel(b, LIER, ctl_readl(b, LIER) | 7);
    ctl_writel(b, LISR, GIE);
    for (i = 0; i < 3; i++) {
        nic_send(a, 9, NIC_INT1, i);
    }
    fence(a, b);
    for (i = 0; i < 3; i++) {
        g_assert_true(intx_level(b));
        g_assert_cmphex(ctl_readb(b, SID(1)), ==, 7);
    }
    g_assert_false(intx_level(b));
    lab_stop(lab);
}

/* --- what is not there ---------------------------------------------------- */

/* Memory that is not decoded reads 0, ports and configuration all ones. */
static void test_not_there(void)
{
    Lab *lab = lab_dark("node-id=7,extension=off", NULL);
    QTestState *qts = lab->vm->qts;
    Card *card = &lab->card[0];
    uint64_t control = card->bar[2].addr, ports = card->bar[1].addr;
    uint16_t command = qpci_config_readw(card->pci, PCI_COMMAND);

    qpci_config_writew(card->pci, PCI_COMMAND, 0);
    g_assert_cmphex(qtest_readl(qts, control), ==, 0);
    g_assert_cmphex(qtest_inl(qts, ports + INTCSR), ==, 0xffffffff);
    qpci_config_writew(card->pci, PCI_COMMAND, command);
    g_assert_cmphex(qtest_readl(qts, control) >> 8 & 0xff, ==, 0x65);
    g_assert_cmphex(qtest_inl(qts, ports + INTCSR), ==, 0x0f010100);

    lab_unplug(lab, 0);
    g_assert_cmphex(qtest_readl(qts, control), ==, 0);
    g_assert_cmphex(qtest_inl(qts, ports + INTCSR), ==, 0xffffffff);
    g_assert_null(qpci_device_find(lab->vm->bus, QPCI_DEVFN(FIRST_SLOT, 0)));
    lab_stop(lab);
}

void rfm5565_add_vendor_tests(void)
{
    lab_add_test("vendor/dma", test_vendor_dma);
    lab_add_test("vendor/unload", test_vendor_unload);
    lab_add_test("vendor/compatibility", test_vendor_compatibility);
    lab_add_test("vendor/ligo", test_ligo);
    lab_add_test("vendor/xpc", test_xpc);
    lab_add_test("vendor/sol", test_sol);
    lab_add_test("vendor/not-there", test_not_there);
}
