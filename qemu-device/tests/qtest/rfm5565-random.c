/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whatever a driver does to the registers, each reads what the documents know,
 * and a reset mends it.
 *
 * Accesses of all widths at random offsets of every BAR, a few seconds or as
 * long as RFM5565_RANDOM_SECONDS says. GLib prints the seed, and takes it back
 * with --seed.
 */
#include "qemu/osdep.h"
#include "rfm5565-block.h"

#define ALL     0xffffffffu
#define NODE_A  7
#define NODE_B  9

/* A row of dwords: bits that read 1 always, and others that may do so. */
typedef struct Known {
    int bar;
    unsigned offset, count, stride;
    uint32_t always, may;
    bool of_nodes;          /* each is of a node: 0 if that is on no ring */
} Known;

/* docs/card.md and docs/extension.md; what is not in here reads 0. */
static const Known known[] = {
    { 0, MARBR,    1, 0, 0x02040000, 0x01000000 },
    { 0, BIGEND,   1, 0, 0,          0x000000a0 },
    { 0, INTCSR,   1, 0, 0x0d010000, 0x02248900 },
    { 0, CNTRL,    1, 0, 0,          0x0000000f },
    { 0, PCIHREV,  1, 0, 0x000000c0, 0 },
    { 0, DMAMODE0, 1, 0, 0x00020583, 0x00000200 },
    { 0, DMAPADR0, 1, 0, 0,          ALL },
    { 0, DMALADR0, 1, 0, 0,          ALL },
    { 0, DMASIZ0,  1, 0, 0,          0x007fffff },
    { 0, DMADPR0,  1, 0, 0x00000001, 0xfffffff8 },
    { 0, DMACSR0,  1, 0, 0,          0x00000011 },
    { 0, MARBR2,   1, 0, 0x02040000, 0x01000000 },
    { 0, DMADAC0,  1, 0, 0,          ALL },

    { 2, BRV,      1, 0, 0x0001658c, 0 },
    { 2, LISR,     1, 0, 0,          0x0000dfef },
    { 2, LIER,     1, 0, 0,          0x0000bfef },
    { 2, NTD,      1, 0, 0,          ALL },
    { 2, NTN,      1, 0, 0,          0x0000ffff },
    { 2, ISD(1),   4, 8, 0,          ALL },
    { 2, SID(1),   4, 8, 0,          0x000000ff },

    { 4, X_ID,           1, 0, 0x584d4652, 0 },
    { 4, X_VERSION,      1, 0, 0x00020000, 0 },
    { 4, X_FEATURES,     1, 0, 0x000007ff, 0 },
    { 4, X_CONTROL,      1, 0, 0,          1 },
    { 4, X_CLOCK,        3, 4, 0,          ALL },   /* and its domain */
    { 4, X_INT_STATUS,   1, 0, 0,          0xf },
    { 4, X_INT_ENABLE,   1, 0, 0,          0xf },
    { 4, X_COUNT,        1, 0, 0,          0xffff },
    { 4, X_TIME,         1, 0, 0,          ALL },
    { 4, X_BASE,         3, 4, 0,          ALL },   /* and X_SIZE */
    { 4, X_EVENTS,       1, 0, 0,          1 },
    { 4, X_TYPES,        1, 0, 0,          0x3ffffff },
    { 4, X_CONSUMER,     2, 4, 0,          ALL },   /* and X_PRODUCER */
    { 4, X_STATUS,       1, 0, 0,          3 },
    { 4, X_DROPPED,      3, 4, 0,          ALL },   /* and X_MADE */
    { 4, X_OFFSET,       2, 4, 0,          ALL },   /* and X_LENGTH */
    { 4, X_COMMAND,      1, 0, 0,          3 },
    { 4, X_BITS,         4, 4, 0,          ALL },
    { 4, X_RIGHTS,       3, 4, 0,          ALL },
    { 4, X_SLOT,         1, 0, 0,          0xff },
    { 4, X_SLOT_CONTROL, 1, 0, 0,          SLOT_STALE | SLOT_BAD | 7 },
    { 4, X_SLOT_OFFSET,  8, 4, 0,          ALL },   /* to X_SLOT_SILENCE */
    { 4, X_WRITER,       1, 0, 0,          ALL },
    { 4, X_WRITER_NODE,  1, 0, 0,          0x800000ff },
    { 4, X_WRITER_SEQ,   4, 4, 0,          ALL },   /* and X_WRITER_TIME */
    { 4, X_SET,          9, 4, 0,          ALL },   /* and X_DATA */
    { 4, X_SEND,         1, 0, 0,          7 },
    { 4, X_FENCE,        4, 4, 0,          ALL },   /* to X_FENCE_LOST */
    { 4, X_FENCE_RESULT, 1, 0, 0,          0xf },
    { 4, X_EPOCH,        1, 0, 0,          ALL },
    { 4, X_SNAPSHOT,     1, 0, 0,          ALL },
    { 4, X_QUERY_OFFSET, 3, 4, 0,          ALL },   /* to X_QUERY */
    { 4, X_TABLE,        2, 4, 0,          ALL },
    { 4, X_REQUESTS,     1, 0, 0,          1 },
    { 4, X_REQUEST_STATUS, 1, 0, 0,        3 },
    { 4, X_BURST_OFFSET, 2, 4, 0,          ALL },   /* and X_BURST_LENGTH */
    { 4, X_BURST_COMMAND, 1, 0, 0,         3 },
    { 4, X_BURST_PERIOD, 1, 0, 0,          0xfffff },
    { 4, X_BURST_FLUSH,  4, 4, 0,          ALL },   /* to X_BURST_NOW_LENGTH */
    { 4, X_ANSWERED,     1, 0, 0,          1u << NODE_A | 1u << NODE_B },
    { 4, X_COUNTERS,    100, 4, 0,          ALL },
    { 4, X_COUNTER_TIMES, 100, 4, 0,        ALL },
    { 4, X_NODES,      256, 32, 0,         0x900fffff, true },
    { 4, X_NODES + 4,  256, 32, 0,         ALL, true },
    { 4, X_NODES + 8,  256, 32, 0,         ALL, true },
    { 4, X_NODES + 12, 256, 32, 0,         ALL, true },
    { 4, X_NODES + 16, 256, 32, 0,         ALL, true },
    { 4, X_NODES + 20, 256, 32, 0,         ALL, true },
    { 4, X_NODES + 24, 256, 32, 0,         ALL, true },
    { 4, X_NODES + 28, 256, 32, 0,         ALL, true },
    { 4, X_ANSWERS,      256, 16, 0,       ALL, true },
    { 4, X_ANSWERS + 4,  256, 16, 0,       0x0000ffff, true },
    { 4, X_ANSWERS + 8,  256, 16, 0,       ALL, true },
    { 4, X_ANSWERS + 12, 256, 16, 0,       ALL, true },
    { 4, X_HEARD,        256, 16, 0,       ALL, true },
    { 4, X_HEARD + 4,    256, 16, 0,       ALL, true },
    { 4, X_HEARD + 8,    256, 16, 0,       ALL, true },
    { 4, X_HEARD + 12,   256, 16, 0,       ALL, true },
    { 4, X_MSIX_TABLE,   16, 4, 0,         ALL },   /* QEMU's */
    { 4, X_MSIX_PBA,      1, 0, 0,         0xf },
};

/* What depends on the card's options. */
typedef struct Kind {
    const char *options;
    int bars;
    uint32_t node, lcsr1, las1rr, las1ba;
} Kind;

static const Kind kinds[MAX_CARDS] = {
    { "node-id=7", 5, NODE_A, 0, 0xfc000000, 0 },
    { "node-id=9,extension=off,memory-size=128M,window=16M", 4, NODE_B,
      0x00500000, 0xff000000, 0x07000000 },
};

static uint64_t random64(void)
{
    return (uint64_t)(uint32_t)g_test_rand_int() << 32 |
           (uint32_t)g_test_rand_int();
}

static unsigned below(unsigned n)
{
    return g_test_rand_int_range(0, n);
}

/* --- what a register may read --------------------------------------------- */

static Known find(const Kind *kind, int bar, unsigned offset)
{
    const Known of_kind[] = {
        { 2, NID,    1, 0, kind->node,   0 },
        { 2, LCSR1,  1, 0, kind->lcsr1,  0xf80300ff },
        { 0, LAS1RR, 1, 0, kind->las1rr, 0 },
        { 0, LAS1BA, 1, 0, 1,            kind->las1ba },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(of_kind); i++) {
        if (of_kind[i].bar == bar && of_kind[i].offset == offset) {
            return of_kind[i];
        }
    }
    for (i = 0; i < ARRAY_SIZE(known); i++) {
        unsigned stride = known[i].stride ?: 4;
        unsigned n = (offset - known[i].offset) / stride;

        if (known[i].bar == bar && offset >= known[i].offset &&
            n < known[i].count && (offset - known[i].offset) % stride == 0) {
            return known[i].of_nodes && n != NODE_A && n != NODE_B
                 ? (Known) {} : known[i];
        }
    }
    return (Known) {};
}

static void expect_known(Card *card, const Kind *kind, int bar,
                         unsigned offset)
{
    /* BAR1 is the lower half of BAR0. */
    const Known reg = find(kind, bar == 1 ? 0 : bar, offset);
    uint32_t value = bar_read(card, bar, offset, 4);

    if ((value & reg.always) != reg.always ||
        (value & ~(reg.always | reg.may))) {
        g_error("node %u, BAR%d 0x%x reads 0x%08x: may be 0x%08x, must be "
                "0x%08x", card->node, bar, offset, value, reg.may, reg.always);
    }
}

/* Values that a mask does not tell of */
static void expect_sense(Card *card)
{
    uint32_t control = ext_readl(card, X_SLOT_CONTROL);
    uint32_t before;

    g_assert_cmphex(ext_readl(card, X_STATUS), <=, FAULT);
    g_assert_cmphex(ext_readl(card, X_COMMAND), <=, 2);
    g_assert_cmphex(control & 7, <=, TIMER);
    g_assert_true(!(control & SLOT_BAD) || control == SLOT_BAD);
    g_assert_true(!(control & SLOT_STALE) || control == (SLOT_STALE | TIMER));
    before = ext_readl(card, X_FENCE_DONE);
    g_assert_cmpint((int32_t)(ext_readl(card, X_FENCE) - before), >=, 0);
    before = ext_readl(card, X_PRODUCER);
    g_assert_cmpint((int32_t)(ext_readl(card, X_MADE) - before), >=, 0);
}

/* Of the block its first 0x200 bytes and some others, or all of it. */
static void expect_all_known(Card *card, const Kind *kind, bool all)
{
    for (int bar = 0; bar < kind->bars; bar++) {
        unsigned end = bar == 4 && !all ? 0x200 : card->size[bar];

        for (unsigned at = 0; bar != 3 && at < end; at += 4) {
            expect_known(card, kind, bar, at);
        }
    }
    if (kind->bars > 4) {
        for (unsigned n = 0; n < 64; n++) {
            expect_known(card, kind, 4, 4 * below(card->size[4] / 4));
        }
        expect_sense(card);
    }
}

/* --- what is done to it --------------------------------------------------- */

/* Some that mean something where they come, and some that do not */
static uint64_t random_value(void)
{
    switch (below(6)) {
    case 0:
        return 0;
    case 1:
        return ~0ull;
    case 2:
        return below(32);
    case 3:
        return 64 * below(256);
    case 4:
        return 1ull << below(64);
    default:
        return random64();
    }
}

/* Most go where the registers are. */
static unsigned random_offset(Card *card, int bar, unsigned width)
{
    unsigned end = bar >= 3 && below(8) ? 0x200 : card->size[bar];
    unsigned offset = below(end - width + 1);

    return below(4) ? offset & -width : offset;
}

static void random_access(Card *card, const Kind *kind)
{
    int bar = kind->bars > 4 && below(2) ? 4 : below(4);
    unsigned log2_width = below(4);
    unsigned offset = random_offset(card, bar, 1u << log2_width);
    uint64_t value = random_value();
    QPCIBar to = card->bar[bar];

    switch (log2_width + 4 * below(2)) {
    case 0:
        qpci_io_readb(card->pci, to, offset);
        break;
    case 1:
        qpci_io_readw(card->pci, to, offset);
        break;
    case 2:
        qpci_io_readl(card->pci, to, offset);
        break;
    case 3:
        qpci_io_readq(card->pci, to, offset);
        break;
    case 4:
        qpci_io_writeb(card->pci, to, offset, value);
        break;
    case 5:
        qpci_io_writew(card->pci, to, offset, value);
        break;
    case 6:
        qpci_io_writel(card->pci, to, offset, value);
        break;
    case 7:
        qpci_io_writeq(card->pci, to, offset, value);
        break;
    }
}

/* --- the test ------------------------------------------------------------- */

#define SNAPSHOT_DWORDS ((0x200 + 0x40 + 0x200) / 4)

static void reset(Lab *lab)
{
    qtest_system_reset(lab->vm->qts);
    lab->vm->bus->mmio_alloc_ptr = 0x40000000;
    for (unsigned i = 0; i < lab->cards; i++) {
        card_fini(&lab->card[i]);
        card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
        if (kinds[i].bars > 4) {
            block_map(&lab->card[i]);
        }
    }
}

/* All that a reset brings back: not the clock, nor the epoch */
static void read_all(Card *card, const Kind *kind,
                     uint32_t values[SNAPSHOT_DWORDS])
{
    for (int bar = 0; bar < kind->bars; bar += 2) {
        for (unsigned at = 0; at < MIN(card->size[bar], 0x200); at += 4) {
            bool runs = bar == 4 && (at == X_CLOCK || at == X_CLOCK + 4 ||
                                     at == X_EPOCH);

            *values++ = runs ? 0 : bar_read(card, bar, at, 4);
        }
    }
}

static int64_t seconds(void)
{
    const char *wanted = g_getenv("RFM5565_RANDOM_SECONDS");

    return wanted ? g_ascii_strtoll(wanted, NULL, 10) : 2;
}

static void test_random(void)
{
    Lab *lab = lab_ring(kinds[0].options, kinds[1].options);
    uint32_t fresh[MAX_CARDS][SNAPSHOT_DWORDS] = {};
    uint32_t again[MAX_CARDS][SNAPSHOT_DWORDS] = {};
    int64_t end = g_get_monotonic_time() + seconds() * G_USEC_PER_SEC;
    unsigned i, accesses = 0;

    reset(lab);
    for (i = 0; i < lab->cards; i++) {
        read_all(&lab->card[i], &kinds[i], fresh[i]);
    }
    while (g_get_monotonic_time() < end) {
        for (unsigned n = 0; n < 1000; n++, accesses++) {
            i = below(lab->cards);
            random_access(&lab->card[i], &kinds[i]);
        }
        for (i = 0; i < lab->cards; i++) {
            expect_all_known(&lab->card[i], &kinds[i], false);
        }
    }
    for (i = 0; i < lab->cards; i++) {
        expect_all_known(&lab->card[i], &kinds[i], true);
    }

    /* Then nothing is on its way any more, and a reset is one from scratch. */
    reset(lab);
    ring_wait_closed(lab->card, lab->cards);
    reset(lab);
    for (i = 0; i < lab->cards; i++) {
        read_all(&lab->card[i], &kinds[i], again[i]);
        for (unsigned n = 0; n < SNAPSHOT_DWORDS; n++) {
            g_assert_cmphex(again[i][n], ==, fresh[i][n]);
        }
    }
    mem_writel(&lab->card[0], 0x1000, 0x600d);
    fence(&lab->card[0], &lab->card[1]);
    g_assert_cmphex(mem_readl(&lab->card[1], 0x1000), ==, 0x600d);
    g_test_message("%u random accesses", accesses);
    lab_stop(lab);
}

void rfm5565_add_random_tests(void)
{
    lab_add_test("random", test_random);
}
