/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The extension block: how it is found, its registers, granules, writers,
 * snapshots.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"

/* --- how it is found ------------------------------------------------------ */

static void expect_capabilities(QPCIDevice *pci)
{
    unsigned at = qpci_find_capability(pci, 0x09, 0);

    g_assert_cmpuint(at, !=, 0);
    g_assert_cmphex(qpci_config_readb(pci, at + 2), ==, 0x14);
    g_assert_cmphex(qpci_config_readb(pci, at + 3), ==, 4);
    g_assert_cmphex(qpci_config_readl(pci, at + 4), ==, 0x584d4652);
    g_assert_cmphex(qpci_config_readl(pci, at + 8), ==, 0x00020000);
    g_assert_cmphex(qpci_config_readl(pci, at + 12), ==, 0x7ff);
    g_assert_cmphex(qpci_config_readl(pci, at + 16), ==, 0);
    for (unsigned i = 2; i < 0x14; i += 2) {    /* nobody can write it */
        uint16_t value = qpci_config_readw(pci, at + i);

        qpci_config_writew(pci, at + i, ~value);
        g_assert_cmphex(qpci_config_readw(pci, at + i), ==, value);
    }
    g_assert_cmpuint(qpci_find_capability(pci, 0x09, at), ==, 0);

    at = qpci_find_capability(pci, PCI_CAP_ID_MSIX, 0);
    g_assert_cmpuint(at, !=, 0);
    g_assert_cmphex(qpci_config_readw(pci, at + PCI_MSIX_FLAGS), ==, 3);
    g_assert_cmphex(qpci_config_readl(pci, at + PCI_MSIX_TABLE), ==, 0x8004);
    g_assert_cmphex(qpci_config_readl(pci, at + PCI_MSIX_PBA), ==, 0x9004);
    g_assert_cmpuint(qpci_find_capability(pci, PCI_CAP_ID_MSI, 0), ==, 0);
}

static uint32_t bar4_size(QPCIDevice *pci)
{
    qpci_config_writel(pci, PCI_BASE_ADDRESS_4, ~0u);
    return qpci_config_readl(pci, PCI_BASE_ADDRESS_4);
}

static void test_capability(void)
{
    Lab *lab = lab_dark("node-id=7", "node-id=9,extension=off");
    QPCIDevice *with = lab->card[0].pci, *without = lab->card[1].pci;

    /* 64 KiB of 32 bits, not prefetchable */
    g_assert_cmphex(bar4_size(with), ==, 0xffff0000);
    expect_capabilities(with);
    g_assert_cmphex(bar4_size(without), ==, 0);
    g_assert_cmphex(qpci_config_readw(without, PCI_STATUS) & 0x10, ==, 0);
    g_assert_cmphex(qpci_config_readb(without, PCI_CAPABILITY_LIST), ==, 0);
    lab_stop(lab);
}

static void test_express(void)
{
    Vm *vm = vm_start("-machine q35 "
                      "-device pcie-root-port,id=rp0,chassis=1,slot=1,addr=4 "
                      "-device rfm5565,bus=rp0");
    QPCIDevice *pci;

    qpci_secondary_buses_init(vm->bus);
    pci = qpci_device_find(vm->bus, QPCI_DEVFN(1 << 5, 0));
    g_assert_nonnull(pci);
    g_assert_cmpuint(qpci_find_capability(pci, PCI_CAP_ID_EXP, 0), !=, 0);
    expect_capabilities(pci);
    g_free(pci);
    vm_stop(vm);
}

/* A card with and one without it, on one ring, reflect each other. */
static void test_mixed_ring(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9,extension=off");
    Card *a = &lab->card[0], *b = &lab->card[1];

    block_map(a);
    mem_writel(a, 0, 0x111);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x111);
    mem_writel(b, 4, 0x222);
    fence(b, a);
    g_assert_cmphex(mem_readl(a, 4), ==, 0x222);
    lab_stop(lab);
}

/* --- every register ------------------------------------------------------- */

typedef struct Reg {
    const char *name;
    unsigned offset, width, count;
    uint64_t reset, writable;
    bool acts;          /* a write does more than what it reads then */
} Reg;

#define ALL (~0ull)

static const Reg regs[] = {
    { "ID",               0x000, 4, 1, 0x584d4652 },
    { "VERSION",          0x004, 4, 1, 0x00020000 },
    { "FEATURES",         0x008, 4, 1, 0x7ff },
    { "CONTROL",          0x00c, 4, 1, 0, 1 },
    { "INT_STATUS",       0x020, 4, 1, 0, 0 },
    { "INT_ENABLE",       0x024, 4, 1, 0, 0xf },
    { "MODERATION_COUNT", 0x028, 4, 1, 0, 0xffff },
    { "MODERATION_TIME",  0x02c, 4, 1, 0, ALL },
    { "EVENT_BASE",       0x040, 8, 1, 0, ALL },
    { "EVENT_SIZE",       0x048, 4, 1, 0, ALL },
    { "EVENT_CONTROL",    0x04c, 4, 1, 0, 1, true },
    { "EVENT_TYPES",      0x050, 4, 1, 0, 0x3ffffff },
    { "EVENT_CONSUMER",   0x054, 4, 1, 0, ALL },
    { "EVENT_PRODUCER",   0x058, 4, 1, 0, 0 },
    { "EVENT_STATUS",     0x05c, 4, 1, 0, 0 },
    { "EVENT_DROPPED",    0x060, 8, 1, 0, 0 },
    { "EVENT_MADE",       0x068, 4, 1, 0, 0 },
    { "RANGE_OFFSET",     0x080, 4, 1, 0, ALL },
    { "RANGE_LENGTH",     0x084, 4, 1, 0, ALL },
    { "RANGE_COMMAND",    0x088, 4, 1, 0, 0, true },
    { "RANGE_BITS RX TX", 0x090, 4, 2, ALL, 0, true },
    { "WATCH OWNED",      0x098, 4, 2, 0, 0, true },
    { "SLOT_INDEX",       0x0a0, 4, 1, 0, 0xff, true },
    { "SLOT_CONTROL",     0x0a4, 4, 1, 0, 0, true },
    { "SLOT_OFFSET",      0x0a8, 4, 1, 0, ALL },
    { "SLOT_LENGTH",      0x0ac, 4, 1, 0, ALL },
    { "SLOT_MASK",        0x0b0, 8, 1, 0, ALL },
    { "SLOT_VALUE",       0x0b8, 8, 1, 0, ALL },
    { "SLOT_SILENCE",     0x0c0, 8, 1, 0, ALL },
    { "WRITER_OFFSET",    0x0d0, 4, 1, 0, ALL },
    { "WRITER_NODE",      0x0d4, 4, 1, 0, 0 },
    { "WRITER_SEQ",       0x0d8, 8, 1, 0, 0 },
    { "WRITER_TIME",      0x0e0, 8, 1, 0, 0 },
    { "READ WRITE HOME",  0x0e8, 4, 3, 0, 0, true },
    { "MULTICAST_SET",    0x100, 4, 8, 0, ALL },
    { "MULTICAST_DATA",   0x120, 4, 1, 0, ALL },
    { "MULTICAST_SEND",   0x124, 4, 1, 0, 7 },
    { "FENCE_BEGIN",      0x130, 4, 1, 0, 0, true },
    { "FENCE_DONE",       0x134, 4, 1, 0, 0 },
    { "FENCE_LOST",       0x138, 8, 1, 0, 0 },
    { "FENCE_RESULT",     0x140, 4, 1, 0, 0 },
    { "QUERY_OFFSET",     0x160, 4, 1, 0, ALL },
    { "QUERY_LENGTH",     0x164, 4, 1, 0, ALL },
    { "QUERY_BEGIN",      0x168, 4, 1, 0, 0, true },
    { "QUERY_ANSWERED",   0x170, 4, 8, 0, 0 },
    { "REQUEST_BASE",     0x200, 8, 1, 0, ALL },
    { "REQUEST_CONTROL",  0x208, 4, 1, 0, 1, true },
    { "REQUEST_STATUS",   0x20c, 4, 1, 0, 0, true },
    { "REQUEST_BEGIN",    0x210, 4, 1, 0, 0, true },
    { "REQUEST_CANCEL",   0x214, 4, 1, 0, 0, true },
    { "BURST_OFFSET",     0x220, 4, 1, 0, ALL },
    { "BURST_LENGTH",     0x224, 4, 1, 0, ALL },
    { "BURST_COMMAND",    0x228, 4, 1, 0, 0, true },
    { "BURST_PERIOD",     0x22c, 4, 1, 1000, 0, true },
    { "BURST_FLUSH",      0x230, 4, 1, 0, 0, true },
    { "BURST_FLUSHED",    0x234, 4, 1, 0, 0, true },
    { "BURST_NOW",        0x238, 4, 2, 0, 0 },
    { "ANSWER",           0x4000, 4, 1024, 0, 0 },
    { "SNAPSHOT",         0x150, 4, 1, 0, 0, true },
    { "COUNTER",          0x800, 8, 50, 0, 0 },
    { "COUNTER_TIME",     0xc00, 8, 50, 0, 0 },
    { "HEARD BROKE",      0x5000, 8, 512, 0, 0 },
};

/* No register is there. */
static const unsigned holes[] = {
    0x01c, 0x030, 0x03c, 0x068, 0x07c, 0x08c, 0x0c8, 0x0cc, 0x0f4, 0x0fc,
    0x128, 0x12c, 0x148, 0x14c, 0x154, 0x15c, 0x16c, 0x190, 0x1fc,
    0x218, 0x240, 0x7fc, 0x990,
    0xbfc, 0xd90, 0x1ffc, 0x6000, 0x7ffc,
    0x8040, 0x8ffc, 0x9008, 0xfffc,
};

static uint64_t width_mask(unsigned width)
{
    return width == 8 ? ALL : 0xffffffff;
}

static void expect_reg(Card *card, const Reg *reg, unsigned offset,
                       uint64_t want)
{
    uint64_t value = ext_readl(card, offset);

    if (reg->width == 8) {
        value |= (uint64_t)ext_readl(card, offset + 4) << 32;
        g_assert_cmphex(ext_readq(card, offset), ==, value);
    }
    g_test_message("%s at 0x%x: 0x%" PRIx64, reg->name, offset, value);
    g_assert_cmphex(value, ==, want & width_mask(reg->width));
}

static void expect_reset(Card *card)
{
    for (unsigned i = 0; i < ARRAY_SIZE(regs); i++) {
        for (unsigned k = 0; k < regs[i].count; k++) {
            expect_reg(card, &regs[i], regs[i].offset + k * regs[i].width,
                       regs[i].reset);
        }
    }
    for (unsigned n = 0; n < 256; n++) {
        for (unsigned k = 0; k < 32; k += 4) {
            g_assert_cmphex(ext_readl(card, X_NODES + 32 * n + k), ==, 0);
        }
    }
}

/* Accesses of other widths, and unaligned ones, read 0 and write nothing. */
static void try_widths(Card *card, const Reg *reg, unsigned offset)
{
    QPCIBar bar = card->bar[4];
    unsigned at;

    for (at = offset; at < offset + reg->width; at++) {
        g_assert_cmphex(qpci_io_readb(card->pci, bar, at), ==, 0);
        qpci_io_writeb(card->pci, bar, at, 0xff);
    }
    for (at = offset; at < offset + reg->width - 1; at++) {
        g_assert_cmphex(qpci_io_readw(card->pci, bar, at), ==, 0);
        qpci_io_writew(card->pci, bar, at, 0xffff);
    }
    for (at = offset + 1; at < offset + reg->width; at++) {
        if (at % 4) {
            g_assert_cmphex(ext_readl(card, at), ==, 0);
            ext_writel(card, at, ~0u);
        }
        g_assert_cmphex(ext_readq(card, at), ==, 0);
        ext_writeq(card, at, ALL);
    }
    if (reg->width == 4) {
        g_assert_cmphex(ext_readq(card, offset), ==, 0);
        ext_writeq(card, offset, ALL);
    }
}

static void scribble(Card *card, const Reg *reg, unsigned offset)
{
    const uint64_t pattern = 0x5a96c3e1f0872db4;

    if (reg->width == 8) {
        ext_writeq(card, offset, ALL);
        expect_reg(card, reg, offset, reg->reset | reg->writable);
        ext_writeq(card, offset, pattern);
        expect_reg(card, reg, offset, reg->reset | (reg->writable & pattern));
        ext_writel(card, offset + 4, ~0u);
        expect_reg(card, reg, offset, reg->reset |
                   (reg->writable & (pattern | ALL << 32)));
        ext_writel(card, offset, 0);
        expect_reg(card, reg, offset, reg->reset | (reg->writable & ALL << 32));
        return;
    }
    ext_writel(card, offset, ~0u);
    expect_reg(card, reg, offset, reg->reset | reg->writable);
    if (reg->writable != 0xffff) {      /* else a limit and no mask */
        ext_writel(card, offset, (uint32_t)pattern);
        expect_reg(card, reg, offset, reg->reset | (reg->writable & pattern));
        ext_writel(card, offset, (uint32_t)~pattern);
        expect_reg(card, reg, offset, reg->reset | (reg->writable & ~pattern));
    }
}

/* What each reads after reset, what can be written, and that a reset undoes. */
static void test_registers(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];
    unsigned i, k;

    block_map(card);
    expect_reset(card);
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        for (k = 0; k < regs[i].count; k++) {
            try_widths(card, &regs[i], regs[i].offset + k * regs[i].width);
        }
    }
    for (i = 0; i < ARRAY_SIZE(holes); i++) {
        ext_writel(card, holes[i], ~0u);
        g_assert_cmphex(ext_readl(card, holes[i]), ==, 0);
    }
    expect_reset(card);
    for (i = 0; i < ARRAY_SIZE(regs); i++) {
        for (k = 0; k < regs[i].count && !regs[i].acts; k++) {
            scribble(card, &regs[i], regs[i].offset + k * regs[i].width);
        }
    }

    ext_writel(card, X_SLOT, 77);
    ext_writel(card, X_EVENTS, ~0u);
    g_assert_cmphex(ext_readl(card, X_EVENTS), ==, 1);
    ext_writel(card, X_FENCE, 0);
    ext_writel(card, X_SNAPSHOT, 0);
    g_assert_cmphex(ext_readl(card, X_SNAPSHOT), ==, 1);
    plane_set(card, 0, 64 * MIB, RX);
    plane_set(card, 0, 64 * MIB, TX);
    plane_set(card, 0, 64 * MIB, WATCH | ON);
    plane_set(card, 0, 64 * MIB, OWNED | ON);
    qtest_system_reset(lab->vm->qts);
    card_fini(card);
    card_init(card, lab->vm, FIRST_SLOT);
    block_map(card);
    expect_reset(card);
    g_assert_cmphex(slot_control(card, 77), ==, 0);
    g_assert_cmphex(ext_readq(card, X_SLOT_MASK), ==, 0);
    lab_stop(lab);
}

/* A dead card is all ones, but for the vectors: QEMU answers for those. */
static void test_dead(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];

    block_map(card);
    qtest_qmp_assert_success(lab->vm->qts, "{'execute': 'qom-set', 'arguments':"
                             " {'path': '/machine/peripheral/card0',"
                             " 'property': 'dead', 'value': true}}");
    for (unsigned at = 0; at < X_MSIX_TABLE; at += 0x84) {
        g_assert_cmphex(ext_readl(card, at), ==, 0xffffffff);
    }
    g_assert_cmphex(ext_readq(card, X_CLOCK), ==, ALL);
    lab_stop(lab);
}

/* --- granules ------------------------------------------------------------- */

typedef struct BadRange {
    uint32_t offset, length, command, result;
} BadRange;

static const BadRange bad_ranges[] = {
    { 0,             0,             RX,         1 },
    { 32,            64,            RX,         1 },
    { 1,             64,            TX,         1 },
    { 64,            63,            WATCH | ON, 1 },
    { 64,            65,            OWNED | ON, 1 },
    { 0,             64 * MIB + 64, RX,         1 },
    { 64 * MIB,      64,            RX,         1 },
    { 64 * MIB - 64, 128,           TX,         1 },
    { 0xffffffc0,    64,            RX,         1 },
    { 64,            0xffffffc0,    RX,         1 },
    { 0,             64,            HOME + 1,   2 },
    { 0,             64,            7 | ON,     2 },
    { 0,             64,            RX | 0x20,  2 },
    { 0,             64,            0x80000000, 2 },
    { 0,             64,            0xffffffff, 2 },
};

static uint32_t bits(Card *card, unsigned plane, uint32_t offset)
{
    ext_writel(card, X_OFFSET, offset);
    return ext_readl(card, plane <= OWNED ? X_BITS + 4 * plane
                                          : X_RIGHTS + 4 * (plane - MAY_READ));
}

/* What a plane shows, where it begins and ends, and commands that cannot be */
static void test_planes(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];
    unsigned i, plane;

    block_map(card);
    for (plane = RX; plane <= HOME; plane++) {
        uint32_t reset = plane <= TX ? 0xffffffff : 0;
        uint32_t change = plane <= TX ? plane : plane | ON;

        for (i = 0; i < ARRAY_SIZE(bad_ranges); i++) {
            ext_writel(card, X_OFFSET, bad_ranges[i].offset);
            ext_writel(card, X_LENGTH, bad_ranges[i].length);
            ext_writel(card, X_COMMAND, bad_ranges[i].command);
            g_assert_cmphex(ext_readl(card, X_COMMAND), ==,
                            bad_ranges[i].result);
            g_assert_cmphex(bits(card, plane, 0), ==, reset);
            g_assert_cmphex(bits(card, plane, 64 * MIB - 1), ==, reset);
        }
        /* Granules 33, and 62 to 65: in three words */
        plane_set(card, 33 * 64, 64, change);
        plane_set(card, 62 * 64, 4 * 64, change);
        g_assert_cmphex(bits(card, plane, 0) ^ reset, ==, 0);
        g_assert_cmphex(bits(card, plane, 32 * 64) ^ reset, ==, 0xc0000002);
        g_assert_cmphex(bits(card, plane, 63 * 64 + 63) ^ reset, ==,
                        0xc0000002);
        g_assert_cmphex(bits(card, plane, 64 * 64) ^ reset, ==, 0x00000003);
        plane_set(card, 63 * 64, 64, change ^ ON);
        g_assert_cmphex(bits(card, plane, 32 * 64) ^ reset, ==, 0x40000002);
        plane_set(card, 64 * MIB - 64, 64, change);
        g_assert_cmphex(bits(card, plane, 64 * MIB - 64) ^ reset, ==,
                        0x80000000);
        g_assert_cmphex(bits(card, plane, 64 * MIB), ==, 0);
        g_assert_cmphex(bits(card, plane, 0xffffffff), ==, 0);
        plane_set(card, 0, 64 * MIB, change ^ ON);
        g_assert_cmphex(bits(card, plane, 32 * 64), ==, reset);
        plane_set(card, 0, 64 * MIB, change);
        g_assert_cmphex(bits(card, plane, 12345 * 64), ==, ~reset);
        for (i = plane + 1; i <= HOME; i++) {
            g_assert_cmphex(bits(card, i, 0), ==, i <= TX ? 0xffffffff : 0);
        }
    }
    lab_stop(lab);
}

#define AREA 0x400

static void area_expect(Card *card, const uint8_t *want)
{
    uint8_t got[AREA];

    mem_read(card, 0x2000, got, AREA);
    g_assert_cmpmem(got, AREA, want, AREA);
}

static uint64_t count_of(Card *card, unsigned n)
{
    ext_writel(card, X_SNAPSHOT, 0);
    return ext_readq(card, X_COUNTERS + 8 * n);
}

/* After how many us a store is home; one that is awaited wakes the card up. */
static gint64 time_home(Card *a, bool awaited)
{
    uint64_t home = counter(a, "frames-home");
    gint64 begin;

    ctl_writel(a, LCSR1, awaited ? 0 : OWN_DATA);
    begin = g_get_monotonic_time();
    mem_writel(a, 0, awaited);
    wait_until(counter(a, "frames-home") == home + 1);
    return g_get_monotonic_time() - begin;
}

/*
 * If nobody awaits that a store comes home and nothing woke the card up for it,
 * it would be home with the next heartbeat or LIGHT, after up to an eighth of a
 * second. How long one takes that is awaited depends on the host, too.
 */
#define LONE_STORES     50

static void test_home_in_time(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0];
    unsigned late = 0;

    /* Who polls needs no wake-up. Labs without the thread refuse: no matter. */
    qobject_unref(qtest_qmp(lab->vm->qts, "{'execute': 'qom-set', 'arguments':"
                            "{'path': '/objects/engine',"
                            " 'property': 'poll-max-ns', 'value': 0}}"));
    for (unsigned i = 0; i < LONE_STORES; i++) {
        gint64 awaited = time_home(a, true);

        late += time_home(a, false) > 2 * awaited + G_USEC_PER_SEC / 20;
    }
    g_assert_cmpuint(late, <, LONE_STORES * 9 / 10);
    lab_stop(lab);
}

/*
 * One end does not take, or the other does not send, what is not subscribed;
 * pieces of stores included.
 */
static void filter(Card *from, Card *to, Card *filtering, unsigned plane)
{
    uint8_t data[AREA], seen[AREA];
    uint64_t bytes = count_of(filtering, 22 + plane), out = 0;
    unsigned i, turn;

    mem_read(to, 0x2000, seen, AREA);
    for (turn = 0; turn < 12; turn++) {
        unsigned granule = g_test_rand_int_range(0, AREA / GRANULE);
        unsigned n = g_test_rand_int_range(1, AREA / GRANULE - granule + 1);

        plane_set(filtering, 0x2000 + granule * GRANULE, n * GRANULE,
                  plane | (turn % 3 == 2 ? ON : 0));
        for (i = 0; i < AREA; i++) {
            data[i] = g_test_rand_int();
        }
        /* Not aligned to granules */
        mem_write(from, 0x2000, data, 36);
        mem_write(from, 0x2000 + 36, data + 36, AREA - 36);
        fence(from, to);
        for (i = 0; i < AREA; i++) {
            uint32_t at = 0x2000 + i;

            if (bits(filtering, plane, at) >> at / GRANULE % 32 & 1) {
                seen[i] = data[i];
            } else {
                out++;
            }
        }
        area_expect(from, data);
        area_expect(to, seen);
    }
    g_assert_cmpuint(count_of(filtering, 22 + plane), ==, bytes + out);
    plane_set(filtering, 0x2000, AREA, plane | ON);
}

static void test_filters(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    filter(a, b, b, RX);
    filter(a, b, a, TX);
    filter(b, a, a, RX);
    lab_stop(lab);
}

/* What is not received goes on to the others all the same. */
static void test_filter_passes(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];

    plane_set(card, 0, 64 * MIB, RX);
    peer_data(lab, 1, 0x2000, "abcd", 4);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmpmem(wire + 48, 4, "abcd", 4);
    g_assert_cmphex(mem_readl(card, 0x2000), ==, 0);
    plane_set(card, 0, 64 * MIB, TX);
    for (unsigned i = 0; i < 4096; i++) {
        mem_writel(card, 4 * i, ~i);    /* waits for no room */
    }
    plane_set(card, 0, 64 * MIB, TX | ON);
    mem_writel(card, 0x3000, 0x600d);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmphex((uint32_t)ldl_le_p(wire + 48), ==, 0x600d);
    g_assert_cmphex((uint32_t)ldl_le_p(wire + 8), ==, 0x3000);
    peer_lab_stop(lab);
}

/*
 * A granule is one of the memory, whatever window it is stored through, also
 * for a store that crosses its end, and in a memory of another size.
 */
static void test_filter_places(void)
{
    const uint64_t value = 0x8877665544332211;
    Lab *lab = block_ring("node-id=7,memory-size=128M,window=2M",
                          "node-id=9,memory-size=256M");
    Card *a = &lab->card[0], *b = &lab->card[1];
    const uint32_t at = 66 * MIB + 64, end = 256 * MIB - 64;

    plane_set(a, at, GRANULE, TX);
    bar_write(a, 0, LAS1BA, 4, 66 * MIB);
    qpci_io_writeq(a->pci, a->bar[3], 60, value);       /* half of it */
    qpci_io_writeq(a->pci, a->bar[3], 124, value);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(a->pci, a->bar[3], 60), ==, value);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], at - 4), ==,
                    (uint32_t)value);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], at + 60), ==,
                    value >> 32 << 32);

    plane_set(b, at - GRANULE, GRANULE, RX);
    qpci_io_writeq(a->pci, a->bar[3], 0, value);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], at - GRANULE), ==, 0);

    plane_set(b, end, GRANULE, OWNED | ON);
    g_assert_cmphex(bits(b, OWNED, end), ==, 0x80000000);
    g_assert_cmphex(bits(b, OWNED, 256 * MIB), ==, 0);
    ext_writel(b, X_OFFSET, end);
    ext_writel(b, X_LENGTH, 2 * GRANULE);
    ext_writel(b, X_COMMAND, OWNED);
    g_assert_cmphex(ext_readl(b, X_COMMAND), ==, 1);
    mem_writel(b, end, 1);              /* past the end of a's memory */
    fence(b, a);
    g_assert_cmphex(mem_readl(b, end), ==, 1);
    g_assert_cmpuint(count_of(a, 13), >, 0);
    lab_stop(lab);
}

/* --- last writer ---------------------------------------------------------- */

static void writer_expect(Card *card, uint32_t offset, uint32_t node,
                          uint64_t seq, uint64_t time)
{
    ext_writel(card, X_WRITER, offset);
    g_assert_cmphex(ext_readl(card, X_WRITER_NODE), ==, node);
    g_assert_cmphex(ext_readq(card, X_WRITER_SEQ), ==, seq);
    g_assert_cmphex(ext_readq(card, X_WRITER_TIME), ==, time);
}

static void test_writer(void)
{
    const uint32_t known = 0x80000000, other_clock = 0x40000000;
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    PeerFrame frame = {
        .source = PEER_NODE, .seq = 0x123456789, .address = 0x203e, .len = 4,
        .time = 0x1111222233334444, .domain = ext_readl(card, X_DOMAIN),
    };
    uint8_t wire[PEER_FRAME];
    uint64_t before, time;

    memset(frame.data, 0x11, 4);
    writer_expect(card, 0x2000, 0, 0, 0);
    ext_writel(card, X_CONTROL, 1);
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    mem_waitl(card, 0x2040, 0x1111);
    writer_expect(card, 0x2000, known | PEER_NODE, frame.seq, frame.time);
    writer_expect(card, 0x207f, known | PEER_NODE, frame.seq, frame.time);
    writer_expect(card, 0x2080, 0, 0, 0);
    writer_expect(card, 0x1fff, 0, 0, 0);
    writer_expect(card, 64 * MIB, 0, 0, 0);

    frame.seq++;
    frame.domain++;
    frame.address = 0x2100;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    mem_waitl(card, 0x2100, 0x11111111);
    writer_expect(card, 0x2101, known | other_clock | PEER_NODE, frame.seq,
                  frame.time);

    /* Own stores count, sent or not; updates that are not received do not. */
    plane_set(card, 0x2100, GRANULE, TX);
    plane_set(card, 0x2100, GRANULE, RX);
    before = ext_readq(card, X_CLOCK);
    mem_writel(card, 0x2100, 1);
    frame.seq++;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    frame.seq++;
    frame.address = 0x3000;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    mem_waitl(card, 0x3000, 0x11111111);
    ext_writel(card, X_WRITER, 0x2100);
    g_assert_cmphex(ext_readl(card, X_WRITER_NODE), ==, known | 7);
    g_assert_cmphex(ext_readq(card, X_WRITER_SEQ), ==, 0);
    time = ext_readq(card, X_WRITER_TIME);
    g_assert_cmpuint(time, >=, before);
    g_assert_cmpuint(time, <=, ext_readq(card, X_CLOCK));

    ext_writel(card, X_CONTROL, 0);
    ext_writel(card, X_CONTROL, 1);
    writer_expect(card, 0x2100, 0, 0, 0);
    peer_lab_stop(lab);
}

/* --- snapshot and map ----------------------------------------------------- */

static const struct {
    unsigned n;
    const char *property;
} counters[] = {
    { 0, "stores" }, { 1, "frames-sent" }, { 2, "frames-home" },
    { 3, "frames-lost" }, { 4, "frames-dark" }, { 5, "frames-full" },
    { 6, "frames-received" }, { 7, "frames-forwarded" },
    { 10, "frames-missed" }, { 11, "frames-late" }, { 12, "frames-copies" },
    { 14, "frames-bad" }, { 16, "frames-rogue" }, { 17, "frames-mixed" },
    { 18, "frames-held-lost" }, { 25, "window-peak" }, { 36, "epoch" },
};

/* A heartbeat may pass between the two readings; they are taken again then. */
static void expect_counter(Card *card, unsigned n, const char *property)
{
    uint64_t before, value;

    do {
        before = counter(card, property);
        value = count_of(card, n);
    } while (counter(card, property) != before);
    g_test_message("%s", property);
    g_assert_cmpuint(value, ==, before);
}

static void test_snapshot(void)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t received, bytes;

    bytes = count_of(b, 20);
    received = ext_readq(b, X_NODES + 32 * 7 + 0x10);
    for (unsigned i = 0; i < 100; i++) {
        mem_writel(a, 4 * i, i + 1);
    }
    fence(a, b);
    wait_until(counter(a, "frames-sent") == counter(a, "frames-home"));

    /* It stays as it was until the next write. */
    g_assert_cmpuint(ext_readq(b, X_COUNTERS + 8 * 20), ==, bytes);
    g_assert_cmpuint(count_of(b, 20), ==, bytes + 400);
    for (unsigned i = 0; i < ARRAY_SIZE(counters); i++) {
        expect_counter(a, counters[i].n, counters[i].property);
        expect_counter(b, counters[i].n, counters[i].property);
    }
    g_assert_cmpuint(ext_readq(a, X_COUNTERS + 8 * 24), ==, 0);

    /* The map: oneself, the neighbour one link away, and nobody else */
    for (unsigned n = 0; n < 256; n++) {
        uint32_t state = n == 7 ? 0x80000001 : n == 9 ? 0x80000000 : 0;

        g_assert_cmphex(ext_readl(b, X_NODES + 32 * n), ==, state);
        g_assert_cmphex(ext_readl(b, X_NODES + 32 * n + 4), ==,
                        state ? ext_readl(b, X_DOMAIN) : 0);
    }
    /* Of who was never heard there is no time, nor of a signal not lost. */
    g_assert_cmpuint(ext_readq(b, X_HEARD + 16 * 7), >, 0);
    g_assert_cmpuint(ext_readq(b, X_HEARD + 16 * 7), <=, ext_readq(b, 0x10));
    g_assert_cmpuint(ext_readq(b, X_HEARD + 16 * 7 + 8), ==, 0);
    g_assert_cmpuint(ext_readq(b, X_HEARD + 16 * 9), ==, 0);
    g_assert_cmpuint(ext_readq(b, X_COUNTER_TIMES + 8 * 6), >, 0);
    g_assert_cmpuint(ext_readq(b, X_COUNTER_TIMES + 8 * 6), <=,
                     ext_readq(b, 0x10));
    g_assert_cmpuint(ext_readq(b, X_COUNTER_TIMES + 8 * 14), ==, 0);
    g_assert_cmpuint(ext_readq(b, X_NODES + 32 * 7 + 8), >, 0);
    g_assert_cmpuint(ext_readq(b, X_NODES + 32 * 7 + 8), <, 10000000000ull);
    g_assert_cmpuint(ext_readq(b, X_NODES + 32 * 7 + 0x10), >=,
                     received + 101);
    g_assert_cmpuint(ext_readq(b, X_NODES + 32 * 7 + 0x18), ==,
                     counter(b, "frames-missed"));
    lab_stop(lab);
}

void rfm5565_add_ext_tests(void)
{
    lab_add_test("ext/capability", test_capability);
    lab_add_test("ext/express", test_express);
    lab_add_test("ext/mixed-ring", test_mixed_ring);
    lab_add_test("ext/registers", test_registers);
    lab_add_test("ext/dead", test_dead);
    lab_add_test("ext/planes", test_planes);
    lab_add_test("ext/filters", test_filters);
    lab_add_test("ext/filter-passes", test_filter_passes);
    lab_add_test("ext/filter-places", test_filter_places);
    lab_add_test("ext/writer", test_writer);
    lab_add_test("ext/snapshot", test_snapshot);
    lab_add_test("ext/home-in-time", test_home_in_time);
}
