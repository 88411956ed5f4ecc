/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The DMA engine: what it moves, in which frames, and how it says so. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

#define AREA    16384       /* of the card's memory that is looked at */

/* --- registers ------------------------------------------------------------ */

/* A start takes ENABLE and START; ENABLE stays, the rest is not kept. */
static void test_start(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    Transfer block = { TO_CARD, BUFFER, 0x40, 64 };
    g_autofree uint8_t *data = dma_pattern(64, 1);

    host_write(lab->vm, BUFFER, data, 64);
    dma_program(card, &block);
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE);

    /* Without ENABLE nothing begins, nor with it alone. */
    bar_write(card, 0, DMACSR0, 1, DMA_START);
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE);
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE | DMA_ENABLE);
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, 0);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010100);

    /* As LIGO does it, by dwords; and the upper bytes are nobody's. */
    bar_write(card, 0, DMACSR0, 4, 0xffffff00 | DMA_ENABLE | DMA_START);
    wait_until(bar_read(card, 0, DMACSR0, 4) == (DMA_DONE | DMA_ENABLE));
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==,
                    0x0f010100 | DMA_INT_ACTIVE);
    card_expect(card, 0x40, data, 64);
    bar_write(card, 0, DMACSR0, 4, DMA_CLEAR);
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010100);

    /* As the vendor does it, by bytes, in the I/O space; all is still set. */
    data[3] ^= 0xff;
    host_write(lab->vm, BUFFER, data, 64);
    bar_write(card, 1, DMACSR0, 1, DMA_ENABLE | DMA_START);
    wait_until(bar_read(card, 1, DMACSR0, 1) == (DMA_DONE | DMA_ENABLE));
    card_expect(card, 0x40, data, 64);
    g_assert_cmphex(bar_read(card, 0, DMAPADR0, 4), ==, BUFFER);
    g_assert_cmphex(bar_read(card, 0, DMALADR0, 4), ==, 0x40);
    g_assert_cmphex(bar_read(card, 0, DMASIZ0, 4), ==, 64);
    g_assert_cmphex(bar_read(card, 0, DMADPR0, 4), ==, 1);

    /* The bytes beside it do nothing. */
    bar_write(card, 0, DMACSR0 + 1, 1, DMA_ENABLE | DMA_START | DMA_CLEAR);
    bar_write(card, 0, DMACSR0 + 2, 2, 0xffff);
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, 2);
    g_assert_true(bar_read(card, 0, INTCSR, 4) & DMA_INT_ACTIVE);
    lab_stop(lab);
}

/* Nothing is done at once, in either mode; a descriptor is not even read. */
static void test_nothing(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];

    dma_run(card, &(Transfer){ TO_CARD, NO_MEMORY, 0x40, 0 });
    dma_run(card, &(Transfer){ TO_HOST, NO_MEMORY, 0x40, 0 });
    dma_run(card, &(Transfer){ TO_CARD, 0, 0x40, 0, NO_MEMORY });
    dma_run(card, &(Transfer){ TO_CARD, NO_MEMORY, 64 * MIB, 0 });
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, 4);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 0);
    g_assert_cmpuint(counter(card, "stores"), ==, 0);
    lab_stop(lab);
}

/* --- blocks --------------------------------------------------------------- */

/* The longest there is, both ways, and at both nodes. */
static void block_round(const char *options)
{
    Lab *lab = dma_ring(options, "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(DMA_MAX, 1);

    host_write(lab->vm, BUFFER, data, DMA_MAX);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 0x1000, DMA_MAX });
    fence(a, b);
    card_expect(a, 0x1000, data, DMA_MAX);
    card_expect(b, 0x1000, data, DMA_MAX);
    g_assert_cmphex(mem_readl(b, 0xffc), ==, 0);
    g_assert_cmphex(mem_readl(b, 0x1000 + DMA_MAX), ==, 0);
    dma_run(b, &(Transfer){ TO_HOST, BUFFER2, 0x1000, DMA_MAX });
    host_expect(lab->vm, BUFFER2, data, DMA_MAX);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, DMA_MAX);
    g_assert_cmpuint(counter(b, "dma-bytes"), ==, DMA_MAX);
    g_assert_cmpuint(counter(a, "frames-full"), ==, 0);
    g_assert_cmpuint(counter(b, "frames-missed"), ==, 0);
    lab_stop(lab);
}

static void test_block(void)
{
    block_round("node-id=7");
}

/* It waits for credit, never for more than there can be. */
static void test_small_window(void)
{
    block_round("node-id=7,frames-in-flight=16");
    block_round("node-id=7,frames-in-flight=100");
}

/* A short one to the card is over when the write that starts it is. */
static void test_short(void)
{
    static const uint32_t lengths[] = { 1, 63, 64, 131, 4095, 4096 };
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
        g_autofree uint8_t *data = dma_pattern(lengths[i], i);

        host_write(lab->vm, BUFFER + i, data, lengths[i]);
        dma_start(a, &(Transfer){ TO_CARD, BUFFER + i, 0x1003, lengths[i] });
        g_assert_cmphex(bar_read(a, 0, DMACSR0, 1), ==, DMA_DONE | DMA_ENABLE);
        g_assert_cmphex(bar_read(a, 0, INTCSR, 4) & DMA_INT_ACTIVE, !=, 0);
        card_expect(a, 0x1003, data, lengths[i]);
        fence(a, b);
        card_expect(b, 0x1003, data, lengths[i]);
        bar_write(a, 0, DMACSR0, 1, DMA_CLEAR);
    }
    g_assert_cmpuint(counter(a, "dma-transfers"), ==, ARRAY_SIZE(lengths));
    g_assert_cmpuint(counter(b, "frames-missed"), ==, 0);
    lab_stop(lab);
}

static void test_base_card(void)
{
    block_round("node-id=7,extension=off");
}

/* Frames end where a multiple of 64 does. */
static void test_frames(void)
{
    static const struct {
        uint32_t at, len, frames;
    } blocks[] = {
        { 0x40, 64, 1 }, { 0x40, 6400, 100 }, { 0x44, 6400, 101 },
        { 0x7f, 1, 1 }, { 0x7f, 2, 2 }, { 0x20, 0x7fc0, 512 },
    };
    Lab *lab = dma_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0];

    for (unsigned i = 0; i < ARRAY_SIZE(blocks); i++) {
        uint64_t sent = counter(a, "frames-sent");
        uint64_t stores = counter(a, "stores");

        dma_run(a, &(Transfer){ TO_CARD, BUFFER, blocks[i].at,
                                blocks[i].len });
        g_assert_cmpuint(counter(a, "stores"), ==, stores + blocks[i].frames);
        fence(a, &lab->card[1]);
        g_assert_cmpuint(counter(a, "frames-sent"), ==,
                         sent + blocks[i].frames + 1);
    }
    lab_stop(lab);
}

/* --- edges ---------------------------------------------------------------- */

static const uint32_t lengths[] = {
    1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 127, 4095, 4096, 4097, 8191,
};

/*
 * One transfer of every shape to the card, and back; @model has what is to be
 * in both cards. @flip: which byte of a dword is which.
 */
static void edge_round(Lab *lab, uint8_t *model, uint32_t host, uint32_t at,
                       uint32_t len, unsigned flip)
{
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(len, host + at * 8 + len);
    uint8_t guard[16];

    at += 256;
    memset(guard, 0xee, sizeof(guard));
    host_write(lab->vm, BUFFER + host, data, len);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER + host, at, len });
    for (uint32_t i = 0; i < len; i++) {
        model[(at + i) ^ flip] = data[i];
    }
    fence(a, b);
    card_expect(a, 0, model, AREA);
    card_expect(b, 0, model, AREA);

    qtest_memset(lab->vm->qts, BUFFER2, 0xee, host + len + 32);
    dma_run(b, &(Transfer){ TO_HOST, BUFFER2 + 16 + host, at, len });
    host_expect(lab->vm, BUFFER2 + 16 + host, data, len);
    host_expect(lab->vm, BUFFER2 + host, guard, 16);
    host_expect(lab->vm, BUFFER2 + 16 + host + len, guard, 16);
}

static void edges(uint32_t bigend, unsigned flip)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    g_autofree uint8_t *model = g_malloc0(AREA);

    bar_write(&lab->card[0], 0, BIGEND, 4, bigend);
    bar_write(&lab->card[1], 0, BIGEND, 4, bigend);
    for (uint32_t at = 0; at < 8; at++) {
        for (uint32_t host = 0; host < 8; host += 3) {
            for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
                edge_round(lab, model, host, at, lengths[i], flip);
            }
        }
    }
    lab_stop(lab);
}

static void test_edges(void)
{
    edges(0, 0);
}

static void test_edges_swapped(void)
{
    edges(DMA_SWAP, 3);
}

/* The swap of BAR3 is none of the engine's, and the other way round. */
static void test_pio_swapped(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(4096, 1);

    host_write(lab->vm, BUFFER, data, 4096);
    bar_write(a, 0, BIGEND, 1, PIO_SWAP);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 0, 4096 });
    fence(a, b);
    card_expect(b, 0, data, 4096);
    g_assert_cmphex(mem_readl(a, 8), ==, bswap32(ldl_le_p(data + 8)));
    dma_run(a, &(Transfer){ TO_HOST, BUFFER2, 0, 4096 });
    host_expect(lab->vm, BUFFER2, data, 4096);
    bar_write(a, 0, BIGEND, 1, DMA_SWAP);
    card_expect(a, 0, data, 4096);
    mem_writel(a, 0, 0x11223344);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x11223344);
    lab_stop(lab);
}

/* With parity on, dwords of which not all bytes come stay as they are. */
static void test_parity(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(64, 1);
    uint8_t model[64] = {};

    host_write(lab->vm, BUFFER, data, 64);
    lcsr1_set(a, PARITY);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 8, 8 });
    memcpy(model + 8, data, 8);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 17, 16 });
    memcpy(model + 20, data + 3, 12);
    fence(a, b);
    card_expect(a, 0, model, 64);
    card_expect(b, 0, model, 64);
    latch_expect(a, L_INHIBITED, 0);
    dma_run(a, &(Transfer){ TO_HOST, BUFFER2, 9, 3 });
    host_expect(lab->vm, BUFFER2, model + 9, 3);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    lab_stop(lab);
}

/* --- chains --------------------------------------------------------------- */

/* Pieces from all over the place, some of them empty, to one place. */
static void test_chain(void)
{
    static const struct {
        uint32_t host, bytes;
    } pieces[] = {
        { 8, 8 }, { 0x10000, 4096 }, { 0x20ff8, 0 }, { 0x30008, 0x11ff8 },
        { 0x8000, 24 },
    };
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(0x50000, 1);
    g_autofree uint8_t *model = g_malloc(0x50000);
    uint32_t len = 0;

    host_write(lab->vm, BUFFER, data, 0x50000);
    for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
        /* They stand in any order. */
        unsigned place = i * 3 % ARRAY_SIZE(pieces);
        unsigned next = (i + 1) * 3 % ARRAY_SIZE(pieces);
        bool last = i == ARRAY_SIZE(pieces) - 1;

        dma_descriptor(lab->vm, place, BUFFER + pieces[i].host,
                       pieces[i].bytes, last ? LAST : DESCRIPTOR(next));
        memcpy(model + len, data + pieces[i].host, pieces[i].bytes);
        len += pieces[i].bytes;
    }
    /* The block registers are nothing to it. */
    dma_run(a, &(Transfer){ TO_CARD, 0xfffffff000000001, 0x1004, len,
                            DESCRIPTOR(0) });
    fence(a, b);
    card_expect(a, 0x1004, model, len);
    card_expect(b, 0x1004, model, len);

    qtest_memset(lab->vm->qts, BUFFER, 0, 0x50000);
    dma_run(b, &(Transfer){ TO_HOST, 0, 0x1004, len, DESCRIPTOR(0) });
    for (unsigned i = 0; i < ARRAY_SIZE(pieces); i++) {
        host_expect(lab->vm, BUFFER + pieces[i].host, data + pieces[i].host,
                    pieces[i].bytes);
    }
    lab_stop(lab);
}

/* It ends with its total, or with its chain; neither is an error. */
static void test_chain_ends(void)
{
    Lab *lab = dma_dark("node-id=7");
    Card *card = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(64, 1);
    uint8_t model[256] = {};

    host_write(lab->vm, BUFFER, data, 64);
    dma_descriptor(lab->vm, 0, BUFFER, 16, DESCRIPTOR(1));
    dma_descriptor(lab->vm, 1, BUFFER + 32, 32, LAST);
    dma_run(card, &(Transfer){ TO_CARD, 0, 0, 19, DESCRIPTOR(0) });
    memcpy(model, data, 16);
    memcpy(model + 16, data + 32, 3);
    card_expect(card, 0, model, 256);
    dma_run(card, &(Transfer){ TO_CARD, 0, 64, 1000, DESCRIPTOR(0) });
    memcpy(model + 64, data, 16);
    memcpy(model + 80, data + 32, 32);
    card_expect(card, 0, model, 256);
    g_assert_cmpuint(counter(card, "dma-bytes"), ==, 19 + 48);

    /* What comes after the total is not looked at. */
    dma_descriptor(lab->vm, 0, BUFFER, 16, NO_MEMORY);
    dma_run(card, &(Transfer){ TO_CARD, 0, 128, 16, DESCRIPTOR(0) });
    memcpy(model + 128, data, 16);
    /* One that leads to itself ends with its total. */
    dma_descriptor(lab->vm, 0, BUFFER, 16, DESCRIPTOR(0));
    dma_run(card, &(Transfer){ TO_CARD, 0, 192, 40, DESCRIPTOR(0) });
    memcpy(model + 192, data, 16);
    memcpy(model + 208, data, 16);
    memcpy(model + 224, data, 8);
    card_expect(card, 0, model, 256);
    lab_stop(lab);
}

/* --- as a store ----------------------------------------------------------- */

/* On a ring of the other kind, under another address, past a mask */
static void test_modes(void)
{
    const uint32_t half = 64 * MIB;
    Lab *lab = dma_ring("node-id=7,redundant=on,memory-size=128M",
                        "node-id=9,redundant=on,memory-size=128M");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(0x40000, 1);

    host_write(lab->vm, BUFFER, data, 0x40000);
    lcsr1_set(a, 1u << OFFSET_SHIFT);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 0x40, 0x40000 });
    fence(a, b);
    card_expect(a, 0x40, data, 0x40000);
    card_expect(b, half + 0x40, data, 0x40000);
    g_assert_cmphex(mem_readl(b, 0x40), ==, 0);
    g_assert_cmpuint(counter(b, "frames-missed"), ==, 0);
    lab_stop(lab);
}

/* The extension sees it as it sees a store of this node. */
static void test_granules(void)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(1024, 1);
    uint8_t model[1024];
    Events events;
    Record record;

    bus_master(a, true);
    host_write(lab->vm, BUFFER, data, 1024);
    plane_set(a, 256, 128, TX);
    ext_writel(a, X_CONTROL, 1);
    plane_set(b, 512, GRANULE, WATCH | ON);
    plane_set(b, 576, GRANULE, OWNED | ON);
    events_start(&events, b, RING_AT, 4, T_DATA);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, 0, 1024 });
    fence(a, b);
    memcpy(model, data, 1024);
    card_expect(a, 0, model, 1024);
    memset(model + 256, 0, 128);
    card_expect(b, 0, model, 1024);

    record = events_next(&events, R_UPDATE);
    g_assert_cmpuint(record.node, ==, 7);
    record_expect_data(&record, 512, data + 512, 64);
    record = events_next(&events, R_CONFLICT);
    record_expect_data(&record, 576, data + 576, 64);
    ext_writel(a, X_WRITER, 300);
    g_assert_cmphex(ext_readl(a, X_WRITER_NODE), ==, 0x80000007);
    ext_writel(a, X_WRITER, 1024);
    g_assert_cmphex(ext_readl(a, X_WRITER_NODE), ==, 0);
    lab_stop(lab);
}

/* --- the interrupt -------------------------------------------------------- */

static void interrupt_round(const char *options)
{
    Lab *lab = dma_dark(options);
    Card *card = &lab->card[0];
    const Transfer block = { TO_CARD, BUFFER, 0, 64 };

    intx_watch(lab->vm);
    dma_start(card, &block);
    wait_until(dma_is_done(card));
    g_assert_true(bar_read(card, 0, INTCSR, 4) & DMA_INT_ACTIVE);
    g_assert_false(intx_level(card));
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | DMA_INT_ENABLE);
    g_assert_true(intx_level(card));
    g_assert_cmphex(qpci_config_readw(card->pci, PCI_STATUS) &
                    PCI_STATUS_INTERRUPT, ==, PCI_STATUS_INTERRUPT);
    bar_write(card, 0, INTCSR, 4, DMA_INT_ENABLE);
    g_assert_false(intx_level(card));
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    g_assert_false(intx_level(card));
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | DMA_INT_ENABLE);
    g_assert_true(intx_level(card));
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_CLEAR);
    g_assert_false(intx_level(card));
    g_assert_false(bar_read(card, 0, INTCSR, 4) & DMA_INT_ACTIVE);

    /* It comes by itself, and a second start does not take it away. */
    dma_start(card, &block);
    wait_until(intx_level(card));
    dma_start(card, &block);
    wait_until(counter(card, "dma-transfers") == 3);
    g_assert_true(intx_level(card));
    dma_expect(card, true);
    g_assert_false(intx_level(card));

    /* An error interrupts too. */
    dma_start(card, &(Transfer){ TO_CARD, NO_MEMORY, 0, 64 });
    wait_until(intx_level(card));
    dma_expect(card, false);
    g_assert_false(intx_level(card));
    lab_stop(lab);
}

static void test_interrupt(void)
{
    interrupt_round("node-id=7");
}

static void test_base_interrupt(void)
{
    interrupt_round("node-id=7,extension=off");
}

void rfm5565_add_dma_tests(void)
{
    lab_add_test("dma/start", test_start);
    lab_add_test("dma/nothing", test_nothing);
    lab_add_test("dma/block", test_block);
    lab_add_test("dma/small-window", test_small_window);
    lab_add_test("dma/short", test_short);
    lab_add_test("dma/base-card", test_base_card);
    lab_add_test("dma/frames", test_frames);
    lab_add_test("dma/edges", test_edges);
    lab_add_test("dma/edges-swapped", test_edges_swapped);
    lab_add_test("dma/pio-swapped", test_pio_swapped);
    lab_add_test("dma/parity", test_parity);
    lab_add_test("dma/chain", test_chain);
    lab_add_test("dma/chain-ends", test_chain_ends);
    lab_add_test("dma/modes", test_modes);
    lab_add_test("dma/granules", test_granules);
    lab_add_test("dma/interrupt", test_interrupt);
    lab_add_test("dma/base-interrupt", test_base_interrupt);
}
