/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BAR3: stores of all widths, the sliding window, address offset, parity. */
#include "qemu/osdep.h"
#include "rfm5565-lab.h"

#define END_64M (64 * MIB)

/* Expect the same bytes at both cards. */
static void expect_bytes(Card *card, uint64_t offset, const void *want,
                         size_t len)
{
    g_autofree uint8_t *got = g_malloc(len);

    mem_read(card, offset, got, len);
    g_assert_cmpmem(got, len, want, len);
}

/*
 * Every length up to 8 at every alignment: changes its bytes, no others, here
 * and at the other node.
 */
static void test_widths(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    static const uint64_t bases[] = { 0, 0xff8, 0x12340, END_64M - 32 };
    unsigned i, at, len;

    for (i = 0; i < ARRAY_SIZE(bases); i++) {
        uint8_t want[32] = {};
        uint8_t next = 1;

        for (len = 1; len <= 8; len++) {
            for (at = 8; at < 16; at++) {
                uint8_t data[8];
                unsigned k;

                for (k = 0; k < len; k++) {
                    want[at + k] = data[k] = next++;
                }
                mem_write(a, bases[i] + at, data, len);
                expect_bytes(a, bases[i], want, sizeof(want));
                if (at == 15) {
                    fence(a, b);
                    expect_bytes(b, bases[i], want, sizeof(want));
                }
            }
        }
    }
    lab_stop(lab);
}

/* Single accesses of each width, as a CPU makes them. */
static void test_accesses(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    QPCIBar bar = a->bar[3];

    qpci_io_writeq(a->pci, bar, 0x100, 0x8877665544332211ull);
    qpci_io_writel(a->pci, bar, 0x108, 0xccbbaa99);
    qpci_io_writew(a->pci, bar, 0x10c, 0xeedd);
    qpci_io_writeb(a->pci, bar, 0x10e, 0xff);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 0x100), ==,
                    0x8877665544332211ull);
    g_assert_cmphex(mem_readl(b, 0x108), ==, 0xccbbaa99);
    g_assert_cmphex(mem_readl(b, 0x10c), ==, 0x00ffeedd);
    g_assert_cmphex(mem_readl(a, 0x10c), ==, 0x00ffeedd);
    g_assert_cmphex(qpci_io_readb(b->pci, b->bar[3], 0x103), ==, 0x44);
    g_assert_cmphex(qpci_io_readw(b->pci, b->bar[3], 0x103), ==, 0x5544);

    /* The last bytes of the memory */
    mem_writel(a, END_64M - 4, 0x1a57);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, END_64M - 4), ==, 0x1a57);
    lab_stop(lab);
}

/* A long run of stores in both directions at once, then compare. */
static void test_bulk(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    const size_t size = 256 * 1024;
    g_autofree uint8_t *data_a = g_malloc(size);
    g_autofree uint8_t *data_b = g_malloc(size);
    size_t i, chunk = 2 * 1024;

    for (i = 0; i < size; i++) {
        data_a[i] = g_test_rand_int();
        data_b[i] = g_test_rand_int();
    }
    for (i = 0; i < size; i += chunk) {
        mem_write(a, i, data_a + i, chunk);
        mem_write(b, MIB + i, data_b + i, chunk);
        /* The bench has no CPU that would wait for room. */
        ctl_wait(a, LCSR1, TX_ALMOST_FULL, 0);
        ctl_wait(b, LCSR1, TX_ALMOST_FULL, 0);
    }
    fence(a, b);
    fence(b, a);
    expect_bytes(a, 0, data_a, size);
    expect_bytes(b, 0, data_a, size);
    expect_bytes(a, MIB, data_b, size);
    expect_bytes(b, MIB, data_b, size);
    g_assert_cmphex(ctl_readl(a, LISR) & L_TX_FULL, ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR) & L_TX_FULL, ==, 0);
    lab_stop(lab);
}

/*
 * More at once than the ring takes, as nothing comes home meanwhile: the bench
 * has no CPU that could wait for room. The frame is dropped, LISR[5] tells,
 * local memory has it all, and traffic goes on.
 */
static void test_overflow(void)
{
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=9", "node-id=7" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[1], *b = &lab->card[0];
    const size_t size = 512 * 1024;
    g_autofree uint8_t *data = g_malloc(size);
    gint64 start;

    ring_wait_closed(lab->card, 2);
    memset(data, 0xab, size);
    fibre_hold(box, true);      /* that leaves b: frames of a stay there */
    start = g_get_monotonic_time();
    mem_write(a, 0, data, size);
    g_assert_cmpint(g_get_monotonic_time() - start, <, 20 * G_USEC_PER_SEC);
    fibre_hold(box, false);
    expect_bytes(a, 0, data, size);
    latch_expect(a, L_TX_FULL, 0);

    ctl_wait(a, LCSR1, TX_EMPTY, TX_EMPTY);
    mem_writel(a, MIB, 0x900d);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, MIB), ==, 0x900d);
    g_assert_cmphex(mem_readl(b, 0), ==, 0xabababab);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/*
 * Frames that find the window closed pile up: LCSR1[6] tells at three quarters
 * of the queue, LCSR1[7] when all is sent, and nothing is lost.
 */
static void test_backlog(void)
{
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,packing=off,frames-in-flight=256",
                     "node-id=9" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];
    const size_t size = 8 * 1900;
    g_autofree uint8_t *data = g_malloc(size);

    ring_wait_closed(lab->card, 2);
    g_assert_cmphex(ctl_readl(a, LCSR1) & (TX_EMPTY | TX_ALMOST_FULL), ==,
                    TX_EMPTY);
    memset(data, 0x77, size);
    fibre_hold(box, true);
    mem_write(a, 0, data, size);
    nic_send(a, 9, NIC_INT1, 0xbac1);
    g_assert_cmphex(ctl_readl(a, LCSR1) & (TX_EMPTY | TX_ALMOST_FULL), ==,
                    TX_ALMOST_FULL);
    g_assert_cmphex(mem_readl(b, 0), ==, 0);

    fibre_hold(box, false);
    fifo_expect(b, 1, 7, 0xbac1);
    expect_bytes(b, 0, data, size);
    ctl_wait(a, LCSR1, TX_EMPTY | TX_ALMOST_FULL, TX_EMPTY);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/* The window moves over the memory; the network knows nothing of it. */
static void test_window(void)
{
    static const struct {
        const char *options;
        uint32_t base;          /* as written */
        uint32_t at;            /* what it means */
    } moves[] = {
        { "node-id=7,window=2M",                   0x00200001, 0x00200000 },
        { "node-id=7,window=2M",                   0x00200000, 0x00200000 },
        { "node-id=7,window=2M",                   0x03ffffff, 0x03e00000 },
        { "node-id=7,window=16M",                  0x03ffffff, 0x03000000 },
        { "node-id=7,window=16M",                  0x01234567, 0x01000000 },
        { "node-id=7,window=64M,memory-size=256M", 0x08000001, 0x08000000 },
        { "node-id=7,window=2M,memory-size=256M",  0xffffffff, 0x0fe00000 },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(moves); i++) {
        Lab *lab = lab_ring(moves[i].options, "node-id=9,memory-size=256M");
        Card *a = &lab->card[0], *b = &lab->card[1];
        uint32_t end = a->size[3] - 4;

        mem_writel(a, 0x10, 0x0ddba11);
        bar_write(a, 0, LAS1BA, 4, moves[i].base);
        g_assert_cmphex(bar_read(a, 0, LAS1BA, 4), ==, moves[i].at | 1);
        g_assert_cmphex(mem_readl(a, 0x10), ==, 0);

        mem_writel(a, 0x10, 0x5e7 + i);
        mem_writel(a, end, 0xe4d + i);
        fence(a, b);
        g_assert_cmphex(mem_readl(b, moves[i].at + 0x10), ==, 0x5e7 + i);
        g_assert_cmphex(mem_readl(b, moves[i].at + end), ==, 0xe4d + i);

        /* From the other side, seen through the window */
        mem_writel(b, moves[i].at + 0x20, 0xf00 + i);
        fence(b, a);
        g_assert_cmphex(mem_readl(a, 0x20), ==, 0xf00 + i);

        /* Back at the beginning */
        bar_write(a, 0, LAS1BA, 4, 1);
        g_assert_cmphex(mem_readl(a, 0x10), ==, 0x0ddba11);
        lab_stop(lab);
    }
}

/* LCSR1[17:16] shift what goes out up and what comes in down by 64 MiB. */
static void test_address_offset(void)
{
    Lab *lab = lab_ring("node-id=7,memory-size=128M",
                        "node-id=9,memory-size=256M");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint32_t steps;

    for (steps = 0; steps < 4; steps++) {
        uint64_t offset;

        ctl_writel(a, LCSR1, (ctl_readl(a, LCSR1) & ~(3u << OFFSET_SHIFT)) |
                             steps << OFFSET_SHIFT);
        for (offset = 0x40; offset < 128 * MIB; offset += 64 * MIB) {
            uint64_t there = (offset + steps * 64 * MIB) % (256 * MIB);

            mem_writel(a, offset, 0xa0000000 | steps << 8 | offset >> 26);
            fence(a, b);
            /* visible to itself where it was stored */
            g_assert_cmphex(mem_readl(a, offset), ==,
                            0xa0000000 | steps << 8 | offset >> 26);
            g_assert_cmphex(mem_readl(b, there), ==,
                            0xa0000000 | steps << 8 | offset >> 26);

            mem_writel(b, there + 4, 0xb0000000 | steps << 8 | offset >> 26);
            fence(b, a);
            g_assert_cmphex(mem_readl(a, offset + 4), ==,
                            0xb0000000 | steps << 8 | offset >> 26);
        }
    }
    lab_stop(lab);
}

/* What lies past the smaller memory is no error there. */
static void test_two_sizes(void)
{
    Lab *lab = lab_ring("node-id=7,memory-size=256M",
                        "node-id=9,memory-size=64M");
    Card *a = &lab->card[0], *b = &lab->card[1];

    mem_writel(a, 64 * MIB, 0x1);
    mem_writel(a, 256 * MIB - 4, 0x2);
    qpci_io_writeq(a->pci, a->bar[3], 64 * MIB - 8, 0x3344556677889900ull);
    /* across the end of the smaller one */
    mem_write(a, 64 * MIB - 2, "\x11\x22\x33\x44", 4);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 64 * MIB - 8), ==,
                    0x2211556677889900ull);
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* With parity on, stores narrower than 32 bits are inhibited and reported. */
static void test_parity(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    QPCIBar bar = a->bar[3];

    mem_writel(a, 0, 0x11111111);
    lcsr1_set(a, PARITY);

    qpci_io_writeb(a->pci, bar, 0, 0xff);
    g_assert_cmphex(ctl_readl(a, LISR), ==, L_INHIBITED);
    ctl_writel(a, LISR, 0);
    qpci_io_writew(a->pci, bar, 2, 0xffff);
    g_assert_cmphex(ctl_readl(a, LISR), ==, L_INHIBITED);
    ctl_writel(a, LISR, 0);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x11111111);

    mem_writel(a, 4, 0x22222222);
    qpci_io_writeq(a->pci, bar, 8, 0x3333333344444444ull);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x11111111);
    g_assert_cmphex(mem_readl(b, 4), ==, 0x22222222);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 8), ==,
                    0x3333333344444444ull);

    /* Narrow updates of others are not inhibited. */
    qpci_io_writeb(b->pci, b->bar[3], 0, 0x55);
    fence(b, a);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x11111155);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);

    lcsr1_clear(a, PARITY);
    qpci_io_writeb(a->pci, bar, 1, 0x66);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x11116655);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    lab_stop(lab);
}

void rfm5565_add_memory_tests(void)
{
    lab_add_test("memory/widths", test_widths);
    lab_add_test("memory/accesses", test_accesses);
    lab_add_test("memory/bulk", test_bulk);
    lab_add_test("memory/overflow", test_overflow);
    lab_add_test("memory/backlog", test_backlog);
    lab_add_test("memory/window", test_window);
    lab_add_test("memory/address-offset", test_address_offset);
    lab_add_test("memory/two-sizes", test_two_sizes);
    lab_add_test("memory/parity", test_parity);
}
