/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The DMA engine: what cannot be done, and what must not be. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

#define MEMORY      (64 * MIB)      /* of a card */
#define RAM         0x8000000u      /* of the machine, in bytes */

/* Was a cycle aborted since this was asked last? */
static bool was_aborted(Card *card)
{
    uint16_t bit = qpci_config_readw(card->pci, PCI_STATUS) &
                   PCI_STATUS_REC_MASTER_ABORT;

    qpci_config_writew(card->pci, PCI_STATUS, bit);
    return bit;
}

/* What is there, in the card and in the machine, is still 0. */
static void expect_untouched(Card *card, uint32_t at, uint32_t host)
{
    static const uint8_t zeroes[4096];

    card_expect(card, at, zeroes, sizeof(zeroes));
    host_expect(card->vm, host, zeroes, sizeof(zeroes));
}

/* --- ranges --------------------------------------------------------------- */

/* Past the end of the card: nothing moves. */
static void test_past_the_end(void)
{
    static const struct {
        uint32_t at, len;
    } ranges[] = {
        { MEMORY, 1 }, { MEMORY - 4, 8 }, { MEMORY - 4096, 4097 },
        { MEMORY - 4096, DMA_MAX }, { 0xfffffff8, 16 }, { 0x80000000, 8 },
    };
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];

    dma_descriptor(lab->vm, 0, BUFFER, 4096, DESCRIPTOR(0));
    for (unsigned i = 0; i < ARRAY_SIZE(ranges); i++) {
        for (unsigned k = 0; k < 4; k++) {
            dma_fail(card, &(Transfer){
                k & 1 ? TO_HOST : TO_CARD, BUFFER, ranges[i].at,
                ranges[i].len, k & 2 ? DESCRIPTOR(0) : 0,
            });
        }
    }
    g_assert_cmpuint(counter(card, "dma-errors"), ==,
                     4 * ARRAY_SIZE(ranges));
    g_assert_cmpuint(counter(card, "dma-transfers"), ==,
                     4 * ARRAY_SIZE(ranges));
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 0);
    expect_untouched(card, MEMORY - 4096, BUFFER);
    g_assert_false(was_aborted(card));
    dma_run(card, &(Transfer){ TO_CARD, BUFFER, MEMORY - 4096, 4096 });
    lab_stop(lab);
}

/* No memory at the host's end, from the first byte on or from the middle */
static void test_no_memory(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(100, 1);
    const uint64_t hosts[] = {
        NO_MEMORY, NO_MEMORY - 2, (uint64_t)BUFFER + (1ull << 32), ~0ull - 7,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(hosts); i++) {
        dma_fail(card, &(Transfer){ TO_CARD, hosts[i], 0, 64 });
        g_assert_true(was_aborted(card));
        g_assert_false(was_aborted(card));
        dma_fail(card, &(Transfer){ TO_HOST, hosts[i], 0, 64 });
        g_assert_true(was_aborted(card));
    }
    expect_untouched(card, 0, BUFFER);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 0);

    host_write(lab->vm, RAM - 100, data, 100);
    dma_fail(card, &(Transfer){ TO_CARD, RAM - 100, 0x1001, 5000 });
    g_assert_true(was_aborted(card));
    card_expect(card, 0x1001, data, 100);
    expect_untouched(card, 0x1001 + 100, BUFFER);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 100);

    /* The next one is none the worse, and says so from its start. */
    dma_start(card, &(Transfer){ TO_CARD, NO_MEMORY, 0, 64 });
    wait_until(dma_is_done(card));
    g_assert_false(bar_read(card, 0, INTCSR, 4) & DMA_NO_ABORT);
    dma_run(card, &(Transfer){ TO_CARD, RAM - 100, 0x1001, 100 });
    lab_stop(lab);
}

/* --- descriptors ---------------------------------------------------------- */

static void test_descriptors(void)
{
    static const struct {
        const char *what;
        uint64_t host;
        uint32_t bytes, next;
        bool aborts;
    } second[] = {
        { "address", BUFFER + 4, 64, LAST },
        { "address by one", BUFFER + 1, 64, LAST },
        { "length", BUFFER, 63, LAST },
        { "length by four", BUFFER, 68, LAST },
        { "across 4 GiB", 0xfffffff8, 16, LAST },
        { "no memory", NO_MEMORY, 64, LAST, true },
        { "high", 1ull << 32, 64, LAST, true },
        { "next by eight", BUFFER, 64, DESCRIPTOR(3) + 8 },
        { "next by two", BUFFER, 64, DESCRIPTOR(3) + 2 },
        { "next and last", BUFFER, 64, DESCRIPTOR(3) + 1 },
        { "next no memory", BUFFER, 64, NO_MEMORY, true },
        { "empty for ever", BUFFER, 0, DESCRIPTOR(1) },
    };
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(128, 1);

    host_write(lab->vm, BUFFER2, data, 128);
    dma_descriptor(lab->vm, 0, BUFFER2, 128, DESCRIPTOR(1));
    dma_descriptor(lab->vm, 3, BUFFER, 64, LAST);
    for (unsigned i = 0; i < ARRAY_SIZE(second); i++) {
        uint32_t at = 0x1000 * i;

        g_test_message("%s", second[i].what);
        dma_descriptor(lab->vm, 1, second[i].host, second[i].bytes,
                       second[i].next);
        dma_fail(card, &(Transfer){ TO_CARD, 0, at, 1024, DESCRIPTOR(0) });
        g_assert_cmpint(was_aborted(card), ==, second[i].aborts);
        card_expect(card, at, data, 128);
        expect_untouched(card, at + 128, BUFFER);
    }
    /* The first one nowhere; one in the last bytes of the memory */
    dma_fail(card, &(Transfer){ TO_CARD, 0, 0, 64, NO_MEMORY });
    g_assert_true(was_aborted(card));
    qtest_memwrite(lab->vm->qts, RAM - 16, "\0\0\0\1\0\0\0\0\20\0\0\0\1\0\0\0",
                   16);
    dma_run(card, &(Transfer){ TO_CARD, 0, 0x100000, 16, RAM - 16 });
    card_expect(card, 0x100000, data, 16);
    lab_stop(lab);
}

/* --- the bus master bit --------------------------------------------------- */

/* It was started, and nothing has come of it: no end, no interrupt, no byte. */
static void expect_held(Card *card, unsigned before)
{
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_ENABLE);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f050100);
    g_assert_false(intx_level(card));
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, before);
    expect_untouched(card, 0x1000 * before, BUFFER);
}

#define HELD    "waits until the guest makes the card a bus master"

/* A transfer that is started without it is not lost: it goes on with it. */
static void test_bus_master(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    const Transfer transfers[] = {
        { TO_CARD, BUFFER2, 0, 8 },
        { TO_CARD, 0, 0x1000, 8, DESCRIPTOR(0) },
        { TO_HOST, BUFFER, 0, 8 },
    };

    intx_watch(lab->vm);
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | DMA_INT_ENABLE);
    host_write(lab->vm, BUFFER2, "12345678", 8);
    dma_descriptor(lab->vm, 0, BUFFER2, 8, LAST);
    for (unsigned i = 0; i < ARRAY_SIZE(transfers); i++) {
        bus_master(card, false);
        dma_start(card, &transfers[i]);
        bus_master(card, false);
        wait_until(vm_errors(card->vm, HELD) == 1);
        expect_held(card, i);
        /* Once more, as who waits in vain does */
        bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_START);
        bus_master(card, true);
        wait_until(intx_level(card));
        dma_expect(card, true);
    }
    card_expect(card, 0, "12345678", 8);
    card_expect(card, 0x1000, "12345678", 8);
    host_expect(lab->vm, BUFFER, "12345678", 8);
    g_assert_false(was_aborted(card));
    /* It is said once of a card, which names the property that helps. */
    g_assert_cmpuint(vm_errors(card->vm, HELD), ==, 1);
    g_assert_cmpuint(vm_errors(card->vm, "firmware-bus-master=on"), ==, 1);
    lab_stop(lab);
}

/* It takes the registers as they are when it begins; a reset forgets it. */
static void test_bus_master_late(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];

    host_write(lab->vm, BUFFER2, "12345678", 8);
    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_HOST, BUFFER, 0, 64 });
    dma_program(card, &(Transfer){ TO_CARD, BUFFER2, 0x1000, 8 });
    bus_master(card, true);
    dma_expect(card, true);
    card_expect(card, 0x1000, "12345678", 8);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 8);

    /* So who has to get rid of it lets it move nothing, */
    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_CARD, BUFFER2, 0, 64 });
    bar_write(card, 0, DMASIZ0, 4, 0);
    g_assert_false(dma_is_done(card));
    bus_master(card, true);
    dma_expect(card, true);
    /* and what cannot be is an error only then. */
    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_CARD, BUFFER2, MEMORY, 64 });
    g_assert_false(dma_is_done(card));
    bus_master(card, true);
    dma_expect(card, false);

    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_CARD, BUFFER2, 0, 64 });
    qtest_system_reset(lab->vm->qts);
    card_fini(card);
    card_init(card, lab->vm, FIRST_SLOT);
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE);
    bus_master(card, true);
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE);
    expect_untouched(card, 0, BUFFER);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 8);
    lab_stop(lab);
}

/* For drivers that never set it; it survives what they do to the rest. */
static void firmware(const char *options)
{
    Lab *lab = lab_dark(options, NULL);
    Card *card = &lab->card[0];

    bus_master(card, false);
    host_write(lab->vm, BUFFER2, "12345678", 8);
    dma_run(card, &(Transfer){ TO_CARD, BUFFER2, 0, 8 });
    card_expect(card, 0, "12345678", 8);
    dma_run(card, &(Transfer){ TO_HOST, BUFFER, 4, 4 });
    host_expect(lab->vm, BUFFER, "5678", 4);
    dma_fail(card, &(Transfer){ TO_CARD, NO_MEMORY, 0, 8 });
    g_assert_true(was_aborted(card));
    qtest_system_reset(lab->vm->qts);
    card_fini(card);
    card_init(card, lab->vm, FIRST_SLOT);
    bus_master(card, false);
    dma_run(card, &(Transfer){ TO_CARD, BUFFER2, 64, 8 });
    card_expect(card, 64, "12345678", 8);
    g_assert_cmpuint(vm_errors(card->vm, HELD), ==, 0);
    lab_stop(lab);
}

static void test_firmware(void)
{
    firmware("node-id=7,firmware-bus-master=on");
}

/* Where no driver can be meant that sets it, that is so without a word. */
static void test_firmware_auto(void)
{
    firmware("node-id=7,extension=off");
    firmware("node-id=7,extension=off,firmware-bus-master=auto");
}

static void test_firmware_off(void)
{
    Lab *lab = lab_dark("node-id=7,extension=off,firmware-bus-master=off",
                        NULL);
    Card *card = &lab->card[0];

    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_CARD, BUFFER2, 0, 8 });
    wait_until(vm_errors(card->vm, HELD) == 1);
    g_assert_false(dma_is_done(card));
    bus_master(card, true);
    dma_expect(card, true);
    lab_stop(lab);
}

/* --- what is no plain memory ---------------------------------------------- */

/* The card does not answer itself. */
static void test_own_bars(void)
{
    Lab *lab = block_ring("node-id=7", NULL);
    Card *card = &lab->card[0];
    static const int bars[] = { 0, 2, 3, 4 };
    g_autofree uint8_t *data = dma_pattern(64, 1);

    bus_master(card, true);
    mem_writel(card, 0x100, 0x12345678);
    mem_write(card, 0x200, data, 64);
    for (unsigned i = 0; i < ARRAY_SIZE(bars); i++) {
        uint64_t host = card->bar[bars[i]].addr;

        dma_fail(card, &(Transfer){ TO_CARD, host, 0, 8 });
        g_assert_true(was_aborted(card));
        dma_fail(card, &(Transfer){ TO_HOST, host + 0x20, 0x100, 4 });
        g_assert_true(was_aborted(card));
        dma_fail(card, &(Transfer){ TO_CARD, 0, 0, 8, host });
        /* Nor when nothing was there before */
        dma_fail(card, &(Transfer){ TO_HOST, host - 4, 0x200, 64 });
        g_assert_true(was_aborted(card));
    }
    dma_fail(card, &(Transfer){ TO_HOST, card->bar[4].addr + X_MSIX_TABLE,
                                0x100, 4 });
    /* Neither what it does by itself nor memory that others reach */
    dma_fail(card, &(Transfer){ TO_HOST, card->bar[0].addr + DMACSR0, 0x100,
                                4 });
    g_assert_cmphex(bar_read(card, 0, BIGEND, 4), ==, 0);
    g_assert_cmphex(ctl_readl(card, NTD), ==, 0);
    g_assert_cmphex(mem_readl(card, 0x20), ==, 0);
    g_assert_cmphex(mem_readl(card, 0), ==, 0);
    g_assert_cmphex(ext_readl(card, X_INT_STATUS), ==, 0);
    g_assert_cmphex(ext_readl(card, X_MSIX_TABLE), ==, 0);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 0);
    lab_stop(lab);
}

/* Another card may answer: its memory, and its registers. */
static void test_other_card(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(8192, 1);
    uint64_t sent;

    mem_write(a, 0, data, 8192);
    fence(a, b);
    sent = counter(b, "frames-sent");
    dma_run(a, &(Transfer){ TO_HOST, b->bar[3].addr + 0x10000, 0, 8192 });
    fence(b, a);
    g_assert_cmpuint(counter(b, "frames-sent"), >, sent + 8192 / 64);
    card_expect(a, 0x10000, data, 8192);
    card_expect(b, 0x10000, data, 8192);
    dma_run(a, &(Transfer){ TO_CARD, b->bar[3].addr, 0x20000, 8192 });
    fence(a, b);
    card_expect(b, 0x20000, data, 8192);

    /* Past its end there is nothing. */
    mem_write(b, MEMORY - 8, data, 8);
    dma_fail(a, &(Transfer){ TO_CARD, b->bar[3].addr + MEMORY - 8, 0x40000,
                             8192 });
    g_assert_true(was_aborted(a));
    card_expect(a, 0x40000, data, 8);
    expect_untouched(a, 0x40008, BUFFER);

    mem_writel(a, 0x30000, 0xdada);
    dma_run(a, &(Transfer){ TO_HOST, b->bar[2].addr + NTD, 0x30000, 4 });
    g_assert_cmphex(ctl_readl(b, NTD), ==, 0xdada);
    dma_run(a, &(Transfer){ TO_CARD, b->bar[2].addr + NTD, 0x30004, 4 });
    g_assert_cmphex(mem_readl(a, 0x30004), ==, 0xdada);
    g_assert_false(was_aborted(a));
    lab_stop(lab);
}

/* Firmware can be read; a write to it is not for the card to judge. */
static void test_read_only(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    static const uint8_t zeroes[4096];

    mem_writel(card, 0, 0x12345678);
    dma_start(card, &(Transfer){ TO_HOST, 0xffff0000, 0, 4 });
    wait_until(dma_is_done(card));
    host_expect(lab->vm, 0xffff0000, zeroes, 4);
    dma_run(card, &(Transfer){ TO_CARD, 0xffff0000, 0, 4 });
    g_assert_cmphex(mem_readl(card, 0), ==, 0);
    lab_stop(lab);
}

/* --- behind an IOMMU ------------------------------------------------------ */

#define IOVA    0x10000000u     /* where the machine has no memory */

static void test_iommu(void)
{
    Vm *vm = vm_start("-machine q35 -device intel-iommu,aw-bits=39 -device "
                      "rfm5565,id=card0,addr=%u,node-id=7", FIRST_SLOT);
    Card card;
    g_autofree uint8_t *data = dma_pattern(0x20000, 1);

    card_init(&card, vm, FIRST_SLOT);
    host_write(vm, BUFFER2, data, 0x20000);
    /* Not switched on yet */
    dma_run(&card, &(Transfer){ TO_CARD, BUFFER2 + 1, 0, 0x10000 });
    card_expect(&card, 0, data + 1, 0x10000);
    dma_fail(&card, &(Transfer){ TO_CARD, IOVA, 0, 64 });

    vtd_map(vm, IOVA, BUFFER2 | VTD_READ_WRITE);
    vtd_map(vm, IOVA + VTD_PAGE, BUFFER2 | VTD_READ_ONLY);
    vtd_map(vm, IOVA + 3 * VTD_PAGE, card.bar[3].addr | VTD_READ_WRITE);
    g_assert_cmphex(card.bar[3].addr % VTD_PAGE, ==, 0);
    vtd_map(vm, IOVA + 4 * VTD_PAGE, BUFFER | VTD_READ_WRITE);
    vtd_start(vm, FIRST_SLOT);
    g_assert_true(was_aborted(&card));
    dma_run(&card, &(Transfer){ TO_CARD, IOVA + 8, 3, 0x1fff8 });
    card_expect(&card, 3, data + 8, 0x1fff8);
    dma_run(&card, &(Transfer){ TO_HOST, IOVA + 4 * VTD_PAGE, 3, 0x1fff8 });
    host_expect(vm, BUFFER, data + 8, 0x1fff8);
    dma_descriptor(vm, 0, IOVA + VTD_PAGE, 64, LAST);
    dma_fail(&card, &(Transfer){ TO_CARD, 0, 0x40000, 64, DESCRIPTOR(0) });
    qtest_bufwrite(vm->qts, BUFFER2 + 0x40000,
                   "\0\0\x20\x10\0\0\0\0\x40\0\0\0\1\0\0\0", 16);
    dma_run(&card, &(Transfer){ TO_CARD, 0, 0x40000, 64, IOVA + 0x40000 });
    card_expect(&card, 0x40000, data, 64);

    /* The machine's own address; read-only; not there; the card itself */
    g_assert_true(was_aborted(&card));
    dma_fail(&card, &(Transfer){ TO_CARD, BUFFER2, 0x50000, 64 });
    g_assert_true(was_aborted(&card));
    dma_fail(&card, &(Transfer){ TO_HOST, IOVA + VTD_PAGE, 0x50000, 64 });
    g_assert_true(was_aborted(&card));
    dma_fail(&card, &(Transfer){ TO_HOST, IOVA + 2 * VTD_PAGE, 0x50000, 64 });
    g_assert_true(was_aborted(&card));
    dma_fail(&card, &(Transfer){ TO_HOST, IOVA + 3 * VTD_PAGE, 0, 64 });
    g_assert_true(was_aborted(&card));
    host_expect(vm, BUFFER2, data, 0x20000);
    card_expect(&card, 3, data + 8, 0x1fff8);
    expect_untouched(&card, 0x50000, BUFFER + VTD_PAGE);
    card_fini(&card);
    vm_stop(vm);
}

void rfm5565_add_dma_bad_tests(void)
{
    lab_add_test("dma-bad/past-the-end", test_past_the_end);
    lab_add_test("dma-bad/no-memory", test_no_memory);
    lab_add_test("dma-bad/descriptors", test_descriptors);
    lab_add_test("dma-bad/bus-master", test_bus_master);
    lab_add_test("dma-bad/bus-master-late", test_bus_master_late);
    lab_add_test("dma-bad/firmware", test_firmware);
    lab_add_test("dma-bad/firmware-auto", test_firmware_auto);
    lab_add_test("dma-bad/firmware-off", test_firmware_off);
    lab_add_test("dma-bad/own-bars", test_own_bars);
    lab_add_test("dma-bad/other-card", test_other_card);
    lab_add_test("dma-bad/read-only", test_read_only);
    lab_add_test("dma-bad/iommu", test_iommu);
}
