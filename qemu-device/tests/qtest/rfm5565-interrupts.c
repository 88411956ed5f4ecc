/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LISR, LIER, INTCSR, INTx, the FIFOs, and network interrupts. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "rfm5565-lab.h"

/* --- own data ------------------------------------------------------------- */

static void own_data_clear(Card *card)
{
    /* A packet that is still on its way would set it again. */
    wait_until(counter(card, "frames-sent") == counter(card, "frames-home") +
               counter(card, "frames-lost"));
    lcsr1_clear(card, OWN_DATA);
    g_assert_cmphex(ctl_readl(card, LCSR1) & OWN_DATA, ==, 0);
}

static void test_own_data(void)
{
    Lab *lab = lab_ring("node-id=7", NULL);
    Card *card = &lab->card[0];
    unsigned code;

    /* Writing 1 sets nothing. */
    own_data_clear(card);
    lcsr1_set(card, OWN_DATA);
    ctl_writeb(card, LCSR1, 0xff);
    g_assert_cmphex(ctl_readl(card, LCSR1) & OWN_DATA, ==, 0);

    /* Nor do heartbeats, which are no packets of the card. */
    g_usleep(700 * 1000);
    g_assert_cmphex(ctl_readl(card, LCSR1) & OWN_DATA, ==, 0);

    /* A store that has been round the ring sets it, ... */
    mem_writel(card, 0, 0x600df00d);
    ctl_wait(card, LCSR1, OWN_DATA, OWN_DATA);
    /* ... a 1 and the other bytes leave it, a byte of 0 clears it. */
    lcsr1_set(card, OWN_DATA);
    ctl_writeb(card, LCSR1 + 1, 0);
    bar_write(card, 2, LCSR1 + 2, 2, 0x8000);
    g_assert_cmphex(ctl_readl(card, LCSR1) & OWN_DATA, ==, OWN_DATA);
    ctl_writeb(card, LCSR1, 0xfe);
    g_assert_cmphex(ctl_readl(card, LCSR1) & OWN_DATA, ==, 0);

    /* So does each network command, the reserved ones included. */
    for (code = 0; code < 16; code++) {
        nic_send(card, 200, code, code);
        ctl_wait(card, LCSR1, OWN_DATA, OWN_DATA);
        own_data_clear(card);
    }
    lab_stop(lab);
}

/* The ring check of the vendor's driver, access by access. */
static void test_ring_check(void)
{
    Lab *lab = lab_ring("node-id=7", NULL);
    Lab *dark = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];

    ctl_writel(card, LCSR1, ctl_readl(card, LCSR1) & ~OWN_DATA);
    ctl_writeb(card, NTN, 7);
    ctl_writeb(card, NIC, NIC_PROBE);
    ctl_wait(card, LCSR1, OWN_DATA, OWN_DATA);
    lab_stop(lab);

    card = &dark->card[0];
    ctl_writel(card, LCSR1, ctl_readl(card, LCSR1) & ~OWN_DATA);
    ctl_writeb(card, NTN, 7);
    ctl_writeb(card, NIC, NIC_PROBE);
    mem_writel(card, 0, 1);
    g_usleep(100 * 1000);       /* nothing to wait for: it must not happen */
    g_assert_cmphex(ctl_readl(card, LCSR1) & (OWN_DATA | SIGNAL | TX_EMPTY),
                    ==, TX_EMPTY);
    g_assert_cmphex(mem_readl(card, 0), ==, 1);
    lab_stop(dark);
}

/* --- network interrupts --------------------------------------------------- */

typedef struct Command {
    uint8_t code;
    int fifo;               /* 0: none */
    uint32_t lisr;          /* what the target latches or raises */
} Command;

static const Command commands[] = {
    { NIC_RESET, 0, L_RESET },
    { NIC_INT1,  1, L_INT1 },
    { NIC_INT2,  2, L_INT2 },
    { NIC_INT3,  3, L_INT3 },
    { NIC_PROBE, 0, 0 },
    { 5,         0, 0 },
    { 6,         0, 0 },
    { NIC_INT4,  4, L_INT4 },
};

/* Fence from a to b when FIFO 3 of b may hold other entries. */
static void pass_marker(Card *a, Card *b, int fifo)
{
    nic_send(a, b->node, fifo == 4 ? NIC_INT4 : fifo, 0x3a23e2);
    fifo_expect(b, fifo, a->node, 0x3a23e2);
}

static void check_command(Card *a, Card *b, const Command *c, uint8_t target,
                          bool global, bool arrives)
{
    uint32_t data = 0xda7a0000 | target << 8 | c->code;
    int marker = c->fifo == 1 ? 2 : 1;

    own_data_clear(a);
    own_data_clear(b);
    nic_send(a, target, c->code | (global ? NIC_GLOBAL : 0), data);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);

    if (!arrives || !c->lisr) {
        /* What is sent later arrives, so this one has not and will not. */
        pass_marker(a, b, marker);
        g_assert_cmphex(ctl_readl(b, LISR) & 0x3fff, ==, 0);
        return;
    }
    g_assert_cmphex(ctl_wait(b, LISR, c->lisr, c->lisr) & 0x3fff, ==, c->lisr);
    if (c->fifo) {
        fifo_expect(b, c->fifo, a->node, data);
    } else {
        ctl_writel(b, LISR, 0);
    }
    g_assert_cmphex(ctl_readl(b, LISR) & 0x3fff, ==, 0);
    /* It set no OWN DATA at the target. */
    g_assert_cmphex(ctl_readl(b, LCSR1) & OWN_DATA, ==, 0);
}

static void test_commands(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=0");
    Card *a = &lab->card[0], *b = &lab->card[1];
    const Command *c;

    for (c = commands; c < commands + ARRAY_SIZE(commands); c++) {
        g_test_message("code %u", c->code);
        check_command(a, b, c, b->node, false, true);
        check_command(a, b, c, 99, false, false);
        check_command(a, b, c, a->node, false, false);
        check_command(a, b, c, 0xff, true, true);
        check_command(a, b, c, a->node, true, true);
        /* and none of all that came to the sender */
        g_assert_cmphex(ctl_readl(a, LISR) & 0x3fff, ==, 0);
    }
    /* The other way round, from node 0. */
    check_command(b, a, &commands[1], a->node, false, true);
    check_command(b, a, &commands[7], 0, true, true);
    lab_stop(lab);
}

/* NTN and NIC written together: the target counts before the command. */
static void test_command_widths(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    ctl_writel(a, NTD, 0x11111111);
    bar_write(a, 2, NTN, 2, NIC_INT1 << 8 | 9);
    fifo_expect(b, 1, 7, 0x11111111);

    ctl_writel(a, NTD, 0x22222222);
    bar_write(a, 2, NTN, 4, 0xffff0000 | NIC_INT2 << 8 | 9);
    fifo_expect(b, 2, 7, 0x22222222);

    /* NTD by bytes; NIC alone takes what NTN holds. */
    ctl_writeb(a, NTD + 3, 0x33);
    bar_write(a, 2, NTD, 2, 0x4444);
    ctl_writeb(a, NIC, NIC_INT4);
    fifo_expect(b, 4, 7, 0x33224444);
    /* The upper half of NIC says nothing. */
    ctl_writeb(a, NIC, 0x70 | NIC_INT1);
    fifo_expect(b, 1, 7, 0x33224444);

    /* NTD and NTN alone send nothing. */
    ctl_writel(a, NTD, 0);
    ctl_writeb(a, NTN, 9);
    fence(a, b);
    g_assert_cmphex(ctl_readl(b, LISR) & L_FIFOS, ==, 0);
    lab_stop(lab);
}

/* --- FIFOs ---------------------------------------------------------------- */

static void test_fifo_access(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    int fifo;

    /* Empty, never used */
    for (fifo = 1; fifo <= 4; fifo++) {
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0);
        g_assert_cmphex(ctl_readb(b, SID(fifo)), ==, 0);
    }
    for (fifo = 1; fifo <= 4; fifo++) {
        uint8_t code = fifo == 4 ? NIC_INT4 : fifo;
        uint32_t bit = fifo == 4 ? L_INT4 : 1u << (fifo - 1);
        int marker = fifo == 3 ? 2 : 3;
        uint32_t i;

        for (i = 1; i <= 6; i++) {
            nic_send(a, 9, code, 0xf1f00000 | fifo << 8 | i);
        }
        pass_marker(a, b, marker);

        /* Reading the data pops nothing, in any width; */
        for (i = 0; i < 3; i++) {
            g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==,
                            0xf1f00001 | fifo << 8);
            g_assert_cmphex(ctl_readb(b, ISD(fifo)), ==, 1);
            g_assert_cmphex(bar_read(b, 2, ISD(fifo) + 2, 2), ==, 0xf1f0);
        }
        /* writing it is harmless; */
        ctl_writel(b, ISD(fifo), 0);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00001 | fifo << 8);
        /* reading beside the sender pops nothing either; */
        g_assert_cmphex(ctl_readb(b, SID(fifo) + 1), ==, 0);
        g_assert_cmphex(bar_read(b, 2, SID(fifo) + 2, 2), ==, 0);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00001 | fifo << 8);
        /* reading the sender pops both, once, in any width. */
        g_assert_cmphex(bar_read(b, 2, SID(fifo), 1), ==, 7);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00002 | fifo << 8);
        g_assert_cmphex(bar_read(b, 2, SID(fifo), 2), ==, 7);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00003 | fifo << 8);
        g_assert_cmphex(bar_read(b, 2, SID(fifo), 4), ==, 7);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00004 | fifo << 8);
        g_assert_cmphex(ctl_readl(b, LISR), ==, bit);

        /* Both in one 64-bit access: data first */
        g_assert_cmphex(qpci_io_readq(b->pci, b->bar[2], ISD(fifo)), ==,
                        0x7f1f00004ull | fifo << 8);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xf1f00005 | fifo << 8);

        /* LISR cannot empty it; */
        ctl_writel(b, LISR, 0);
        g_assert_cmphex(ctl_readl(b, LISR), ==, bit);
        /* writing the sender does, whatever is written. */
        ctl_writeb(b, SID(fifo), 0xff);
        g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
        g_assert_cmphex(ctl_readb(b, SID(fifo)), ==, 0);

        /* Drained, the data register shows the last one. */
        nic_send(a, 9, code, 0xabcdef01);
        fifo_expect(b, fifo, 7, 0xabcdef01);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xabcdef01);
        g_assert_cmphex(ctl_readb(b, SID(fifo)), ==, 0);
        g_assert_cmphex(ctl_readl(b, ISD(fifo)), ==, 0xabcdef01);
    }
    lab_stop(lab);
}

/* 127 entries fit; the next is lost, and the card works on. */
static void test_fifo_depth(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    int fifo;

    for (fifo = 1; fifo <= 4; fifo++) {
        uint8_t code = fifo == 4 ? NIC_INT4 : fifo;
        uint32_t bit = fifo == 4 ? L_INT4 : 1u << (fifo - 1);
        unsigned round, i;

        /* Twice, so that the pointers wrap. */
        for (round = 0; round < 2; round++) {
            for (i = 0; i < FIFO_DEPTH + 3; i++) {
                nic_send(a, 9, code, i);
            }
            pass_marker(a, b, fifo == 1 ? 2 : 1);
            for (i = 0; i < FIFO_DEPTH; i++) {
                g_assert_cmphex(ctl_readl(b, LISR), ==, bit);
                fifo_expect(b, fifo, 7, i);
            }
            g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
            nic_send(a, 9, code, 0x900d);
            fifo_expect(b, fifo, 7, 0x900d);
        }
    }
    lab_stop(lab);
}

/* Interrupts stay behind the data that were stored before them. */
static void test_interrupt_behind_data(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint32_t round, i;

    for (round = 1; round <= 200; round++) {
        uint32_t burst = round % 40 + 1;

        for (i = 0; i < burst; i++) {
            mem_writel(a, 0x1000 + 68 * i, round << 16 | i);
        }
        nic_send(a, 9, NIC_INT1, round);
        ctl_wait(b, LISR, L_INT1, L_INT1);
        for (i = burst; i-- > 0;) {
            g_assert_cmphex(mem_readl(b, 0x1000 + 68 * i), ==, round << 16 | i);
        }
        fifo_expect(b, 1, 7, round);
    }
    lab_stop(lab);
}

/* --- LISR ----------------------------------------------------------------- */

static void latch_inhibited(Card *card)
{
    lcsr1_set(card, PARITY);
    qpci_io_writeb(card->pci, card->bar[3], 0, 1);
    lcsr1_clear(card, PARITY);
}

/* Latch LISR[12] here and LISR[3] by the neighbour. */
static void latch_two(Card *from, Card *card)
{
    latch_inhibited(card);
    nic_send(from, card->node, NIC_RESET, 0);
    nic_send(from, card->node, NIC_INT3, 0);
    /* FIFO 3 instead of LISR tells of the arrival: LISR stays unread. */
    wait_until(ctl_readb(card, SID(3)) == from->node);
}

static void test_latched(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    const uint32_t both = L_INHIBITED | L_RESET;

    /* Nothing can be set by writing. */
    ctl_writel(b, LISR, 0xffffffff);
    g_assert_cmphex(ctl_readl(b, LISR), ==, GIE);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);

    /* Not yet read as 1: a 0 does not clear. */
    latch_two(a, b);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, both);
    /* Read, but written as 1: stays. */
    ctl_writel(b, LISR, 0xffffffff);
    g_assert_cmphex(ctl_readl(b, LISR), ==, both | GIE);
    /* Byte by byte: the other byte is not written. */
    ctl_writeb(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_INHIBITED | GIE);
    ctl_writeb(b, LISR + 1, GIE >> 8);
    g_assert_cmphex(ctl_readl(b, LISR), ==, GIE);

    /* The permission to clear is used up with the clearing. */
    latch_two(a, b);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, both);
    ctl_writel(b, LISR, L_RESET);
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_RESET);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);

    /* An event between read and write is not lost. */
    latch_two(a, b);
    g_assert_cmphex(ctl_readl(b, LISR), ==, both);
    latch_two(a, b);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, both);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* A read of one byte gives no permission to clear the other. */
static void test_latched_bytes(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    latch_two(a, b);
    g_assert_cmphex(ctl_readb(b, LISR), ==, L_RESET);
    ctl_writel(b, LISR, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_INHIBITED);
    ctl_writel(b, LISR, 0);

    latch_two(a, b);
    g_assert_cmphex(ctl_readb(b, LISR + 1), ==, L_INHIBITED >> 8);
    bar_write(b, 2, LISR, 2, 0);
    g_assert_cmphex(bar_read(b, 2, LISR, 2), ==, L_RESET);
    bar_write(b, 2, LISR, 2, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* What the vendor's driver writes at unload clears 13..10 and 3. */
static void test_unload_value(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    ctl_writel(b, LISR, GIE);
    latch_two(a, b);
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_INHIBITED | L_RESET | GIE);
    ctl_writel(b, LISR, 0xffff03f3);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

static void test_auto_clear(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];

    ctl_writel(card, LISR, GIE);
    g_assert_cmphex(ctl_readl(card, LISR), ==, GIE);
    g_assert_cmphex(ctl_readl(card, LISR), ==, GIE);

    ctl_writel(card, LIER, AUTO_CLEAR);
    g_assert_cmphex(ctl_readl(card, LISR), ==, AUTO_CLEAR | GIE);
    g_assert_cmphex(ctl_readl(card, LISR), ==, AUTO_CLEAR);
    /* Re-armed as the field's drivers do it */
    ctl_writel(card, LISR, ctl_readl(card, LISR) | GIE);
    g_assert_cmphex(ctl_readl(card, LISR), ==, AUTO_CLEAR | GIE);
    g_assert_cmphex(ctl_readl(card, LISR), ==, AUTO_CLEAR);

    /* A read that does not cover GIE leaves it. */
    ctl_writel(card, LISR, GIE);
    ctl_readb(card, LISR);
    bar_read(card, 2, LISR + 2, 2);
    g_assert_cmphex(ctl_readb(card, LISR + 1), ==, (AUTO_CLEAR | GIE) >> 8);
    g_assert_cmphex(ctl_readb(card, LISR + 1), ==, AUTO_CLEAR >> 8);

    /* The flag is a copy; it cannot be written here. */
    ctl_writel(card, LISR, 0);
    g_assert_cmphex(ctl_readl(card, LISR), ==, AUTO_CLEAR);
    ctl_writel(card, LIER, 0);
    ctl_writel(card, LISR, 0xffffffff);
    g_assert_cmphex(ctl_readl(card, LISR), ==, GIE);
    lab_stop(lab);
}

/* --- LINTi, INTCSR, INTx -------------------------------------------------- */

typedef struct Source {
    const char *name;
    uint32_t bit;
    int fifo;
} Source;

static const Source sources[] = {
    { "network interrupt 1", L_INT1, 1 },
    { "network interrupt 2", L_INT2, 2 },
    { "network interrupt 3", L_INT3, 3 },
    { "network interrupt 4", L_INT4, 4 },
    { "reset request",       L_RESET },
    { "write inhibited",     L_INHIBITED },
};

static void raise_source(Card *from, Card *card, const Source *src)
{
    if (src->bit == L_INHIBITED) {
        latch_inhibited(card);
    } else {
        nic_send(from, card->node, src->fifo == 4 ? NIC_INT4 : src->fifo, 0);
    }
    ctl_wait(card, LISR, src->bit, src->bit);
}

static void lower_source(Card *card, const Source *src)
{
    if (src->fifo) {
        ctl_readb(card, SID(src->fifo));
    } else {
        ctl_writel(card, LISR, ctl_readl(card, LISR) & ~src->bit);
    }
}

/* INTCSR[15], the line, and the status bit of configuration space. */
static void expect_interrupt(Card *card, bool linti, bool line, bool status)
{
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4) & LOCAL_INT_ACTIVE, ==,
                    linti ? LOCAL_INT_ACTIVE : 0);
    g_assert_cmpint(intx_level(card), ==, line);
    g_assert_cmphex(qpci_config_readw(card->pci, PCI_STATUS) & 0x0008, ==,
                    status ? 0x0008 : 0);
}

static void test_intx(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    const uint32_t enables = PCI_INT_ENABLE | LOCAL_INT_ENABLE;
    const Source *src;

    intx_watch(lab->vm);
    for (src = sources; src < sources + ARRAY_SIZE(sources); src++) {
        uint16_t command;

        g_test_message("%s", src->name);
        bar_write(b, 0, INTCSR, 4, enables);
        ctl_writel(b, LIER, src->bit);
        ctl_writel(b, LISR, GIE);
        expect_interrupt(b, false, false, false);

        raise_source(a, b, src);
        expect_interrupt(b, true, true, true);
        expect_interrupt(a, false, false, false);

        /* Each enable gates it, ... */
        ctl_writel(b, LIER, 0x3fff & ~src->bit);
        expect_interrupt(b, false, false, false);
        ctl_writel(b, LIER, src->bit);
        expect_interrupt(b, true, true, true);

        ctl_writel(b, LISR, ctl_readl(b, LISR) & ~GIE);
        expect_interrupt(b, false, false, false);
        ctl_writel(b, LISR, ctl_readl(b, LISR) | GIE);
        expect_interrupt(b, true, true, true);

        /* ... but INTCSR[15] shows it also when INTCSR gates it. */
        bar_write(b, 0, INTCSR, 4, PCI_INT_ENABLE);
        expect_interrupt(b, true, false, false);
        bar_write(b, 0, INTCSR, 4, LOCAL_INT_ENABLE);
        expect_interrupt(b, true, false, false);
        bar_write(b, 0, INTCSR, 4, 0);
        expect_interrupt(b, true, false, false);
        bar_write(b, 0, INTCSR, 4, enables);
        expect_interrupt(b, true, true, true);

        /* Disabled in the command register, the status bit still tells. */
        command = qpci_config_readw(b->pci, PCI_COMMAND);
        qpci_config_writew(b->pci, PCI_COMMAND, command | 0x0400);
        expect_interrupt(b, true, false, true);
        qpci_config_writew(b->pci, PCI_COMMAND, command);
        expect_interrupt(b, true, true, true);

        lower_source(b, src);
        expect_interrupt(b, false, false, false);
        if (src->fifo) {
            raise_source(a, b, src);
            expect_interrupt(b, true, true, true);
            ctl_writeb(b, SID(src->fifo), 0);
            expect_interrupt(b, false, false, false);
        }
    }
    lab_stop(lab);
}

/*
 * One entry per interrupt, the mask as flow control: the vendor's handler. What
 * is latched and not enabled is cleared with the first.
 */
static void test_vendor_handler(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint32_t i;

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, bar_read(b, 0, INTCSR, 4) | 0x900);
    ctl_writel(b, LISR, GIE);
    ctl_writel(b, LIER, L_INT2);
    latch_inhibited(b);
    for (i = 0; i < 5; i++) {
        nic_send(a, 9, NIC_INT2, i);
    }
    fence(a, b);
    for (i = 0; i < 5; i++) {
        uint32_t lisr, s;

        g_assert_true(intx_level(b));
        g_assert_cmphex(bar_read(b, 0, INTCSR, 4) & 0x8000, ==, 0x8000);
        lisr = ctl_readl(b, LISR);
        g_assert_cmphex(lisr & L_INHIBITED, ==, i ? 0 : L_INHIBITED);
        s = (lisr & ctl_readl(b, LIER)) | GIE;
        g_assert_cmphex(s, ==, GIE | L_INT2);
        ctl_writel(b, LIER, ctl_readl(b, LIER) & ~L_INT2);
        g_assert_cmphex(ctl_readl(b, ISD(2)), ==, i);
        g_assert_cmphex(ctl_readb(b, SID(2)), ==, 7);
        ctl_writel(b, LISR, s);
        g_assert_false(intx_level(b));
        /* The next wait call re-arms: the line must rise again. */
        ctl_writel(b, LIER, L_INT2);
    }
    g_assert_false(intx_level(b));
    lab_stop(lab);
}

/* Auto-clear takes the line down with the read. */
static void test_auto_clear_line(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    ctl_writel(b, LIER, AUTO_CLEAR | L_INT1);
    ctl_writel(b, LISR, GIE);
    nic_send(a, 9, NIC_INT1, 5);
    wait_until(intx_level(b));
    g_assert_cmphex(ctl_readl(b, LISR), ==, AUTO_CLEAR | GIE | L_INT1);
    expect_interrupt(b, false, false, false);
    ctl_writel(b, LISR, GIE);
    expect_interrupt(b, true, true, true);
    lab_stop(lab);
}

void rfm5565_add_interrupt_tests(void)
{
    lab_add_test("own-data", test_own_data);
    lab_add_test("ring-check", test_ring_check);
    lab_add_test("nic/commands", test_commands);
    lab_add_test("nic/widths", test_command_widths);
    lab_add_test("nic/behind-data", test_interrupt_behind_data);
    lab_add_test("fifo/access", test_fifo_access);
    lab_add_test("fifo/depth", test_fifo_depth);
    lab_add_test("lisr/latched", test_latched);
    lab_add_test("lisr/latched-bytes", test_latched_bytes);
    lab_add_test("lisr/unload-value", test_unload_value);
    lab_add_test("lisr/auto-clear", test_auto_clear);
    lab_add_test("intx/equation", test_intx);
    lab_add_test("intx/vendor-handler", test_vendor_handler);
    lab_add_test("intx/auto-clear", test_auto_clear_line);
}
