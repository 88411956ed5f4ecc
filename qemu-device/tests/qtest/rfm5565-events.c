/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: the event ring, and what makes records. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "rfm5565-block.h"

#define SMALL 4         /* log2 of the smallest ring */

/* --- a record ------------------------------------------------------------- */

static const uint8_t text[64] =
    "what a card puts on the ring, all the others have, in one order";

typedef struct Sent {
    uint32_t address;
    uint8_t len;
    bool watched;
} Sent;

/* Granules 0x1000 to 0x10ff are watched */
static const Sent sent[] = {
    { 0x1003, 13, true }, { 0x0fff, 1, false }, { 0x0fff, 2, true },
    { 0x0fc0, 64, false }, { 0x10ff, 1, true }, { 0x1100, 64, false },
    { 0x10f0, 64, true }, { 0x1000, 64, true }, { 0x0fd0, 64, true },
};

static void expect_update(PeerLab *lab, Events *events, const Sent *what,
                          uint64_t seq, uint64_t before)
{
    Card *card = &lab->card;
    Record record = events_next(events, R_UPDATE);
    uint8_t stored[64];

    g_assert_cmphex(record.flags, ==, seq & 1 ? OTHER_CLOCK : 0);
    g_assert_cmpuint(record.node, ==, PEER_NODE);
    g_assert_cmpuint(record.event, ==, events->taken);
    record_expect_data(&record, what->address, text, what->len);
    g_assert_cmphex(record.value, ==, 0);
    g_assert_cmphex(record.seq, ==, seq);
    g_assert_cmphex(record.origin, ==, 0x1122334455667700 + seq);
    g_assert_cmpuint(record.arrival, >=, before);
    g_assert_cmpuint(record.arrival, <=, ext_readq(card, X_CLOCK));
    g_assert_cmphex(record.age, ==, 0);
    mem_read(card, what->address, stored, what->len);
    g_assert_cmpmem(stored, what->len, text, what->len);
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, events->taken);
}

/* Every field of records of what is watched, and none of what is not */
static void test_update(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint32_t domain = ext_readl(card, X_DOMAIN);
    uint8_t wire[PEER_FRAME];
    Events events;

    plane_set(card, 0x1000, 0x100, WATCH | ON);
    events_start(&events, card, RING_AT, SMALL, T_DATA);
    for (unsigned i = 0; i < ARRAY_SIZE(sent); i++) {
        uint64_t seq = 0x123456789aull + i, before = ext_readq(card, X_CLOCK);
        PeerFrame frame = {
            .source = PEER_NODE, .seq = seq, .address = sent[i].address,
            .time = 0x1122334455667700 + seq, .len = sent[i].len,
            .domain = seq & 1 ? domain + 1 : domain,
        };

        memcpy(frame.data, text, frame.len);
        peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
        if (sent[i].watched) {
            expect_update(lab, &events, &sent[i], seq, before);
        }
    }
    mem_writel(card, 0x1000, 1);        /* own stores make none */
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, events.taken);
    peer_lab_stop(lab);
}

/* Frames that come as a train are told of one by one, each with its number */
static void test_train(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    PeerFrame first = {
        .source = PEER_NODE, .seq = 100, .address = 0xfc0, .time = 77,
        .domain = ext_readl(card, X_DOMAIN),
    };
    const size_t len = 3 * 64 + 20;     /* the first is not watched */
    uint8_t wire[PEER_TRAIN], data[3 * 64 + 20], stored[3 * 64 + 20];
    Events events;

    for (size_t i = 0; i < len; i++) {
        data[i] = i * 3 + 1;
    }
    plane_set(card, 0x1000, 0x100, WATCH | ON);
    events_start(&events, card, RING_AT, SMALL, T_DATA);
    peer_send(lab->peer.upstream, wire, peer_train(wire, &first, data, len));
    for (unsigned i = 1; i < 4; i++) {
        Record record = events_next(&events, R_UPDATE);

        g_assert_cmpuint(record.node, ==, PEER_NODE);
        g_assert_cmphex(record.seq, ==, 100 + i);
        g_assert_cmphex(record.origin, ==, 77);
        record_expect_data(&record, 0xfc0 + i * 64, data + i * 64,
                           i == 3 ? 20 : 64);
    }
    mem_read(card, 0xfc0, stored, len);
    g_assert_cmpmem(stored, len, data, len);
    g_assert_cmpuint(counter(card, "frames-received"), ==, 4);
    peer_lab_stop(lab);
}

/* --- the ring ------------------------------------------------------------- */

#define AT 0x4000       /* a granule that is watched, at b */

/* Two cards; b watches AT */
static Lab *watched_ring(Events *events, unsigned size)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");

    plane_set(&lab->card[1], AT, GRANULE, WATCH | ON);
    events_start(events, &lab->card[1], RING_AT, size, T_DATA);
    return lab;
}

/* The first record of a ring that was just enabled is that of a's store now. */
static void expect_first(Lab *lab, Events *events, uint32_t value)
{
    Record record;

    mem_writel(&lab->card[0], AT, value);
    record = events_next(events, R_UPDATE);
    g_assert_cmpuint(record.index, ==, 1);
    g_assert_cmpuint(record.event, ==, 1);
    g_assert_cmpuint(record.node, ==, 7);
    record_expect_data(&record, AT, &value, 4);
}

/* All of them in order, many times round the ring */
static void test_order(void)
{
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t seq = 0;
    uint32_t sent_so_far = 0;

    while (events.taken < 500) {
        unsigned burst = g_test_rand_int_range(1, 17);

        for (unsigned i = 0; i < burst; i++) {
            mem_writel(a, AT, sent_so_far++);
        }
        while (events.taken < sent_so_far) {
            Record record = events_peek(&events, R_UPDATE);

            g_assert_cmpuint(record.event, ==, events.taken);
            g_assert_cmphex(record_word(&record), ==, events.taken - 1);
            g_assert_cmpuint(record.seq, >, seq);
            seq = record.seq;
        }
        events_consume(&events);
    }
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, sent_so_far);
    g_assert_cmpuint(ext_readl(b, X_CONSUMER), ==, sent_so_far);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 0);
    lab_stop(lab);
}

/* What finds no room is dropped, counted, and shows as a gap. */
static void test_overflow(void)
{
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *a = &lab->card[0], *b = &lab->card[1];
    Record record;

    for (unsigned i = 0; i < 40; i++) {
        mem_writel(a, AT, i);
    }
    fence(a, b);
    wait_until(ext_readl(b, X_PRODUCER) == 16);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 24);
    g_assert_cmpuint(ext_readl(b, X_DROPPED), ==, 24);
    for (unsigned i = 0; i < 5; i++) {
        record = events_next(&events, R_UPDATE);
        g_assert_cmphex(record_word(&record), ==, i);
    }

    /* Room for five, of seven */
    for (unsigned i = 40; i < 47; i++) {
        mem_writel(a, AT, i);
    }
    fence(a, b);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 26);
    for (unsigned i = 5; i < 16; i++) {
        record = events_peek(&events, R_UPDATE);
        g_assert_cmpuint(record.event, ==, i + 1);
    }
    for (unsigned i = 40; i < 45; i++) {
        record = events_peek(&events, R_UPDATE);
        g_assert_cmpuint(record.event, ==, i + 1);
        g_assert_cmphex(record_word(&record), ==, i);
    }

    /* A consumer that is ahead of all there was is no room. */
    ext_writel(b, X_CONSUMER, events.taken + 1);
    mem_writel(a, AT, 47);
    fence(a, b);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 27);
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, events.taken);
    events_consume(&events);
    mem_writel(a, AT, 48);
    record = events_next(&events, R_UPDATE);
    g_assert_cmpuint(record.event, ==, 49);
    g_assert_cmphex(record_word(&record), ==, 48);
    lab_stop(lab);
}

/* A guest that never looks holds up nobody, and loses no data. */
static void test_never_consumed(void)
{
    const unsigned stores = 2000;
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t epoch = counter(b, "epoch");

    plane_set(b, 0, 4 * stores + GRANULE - 4 * stores % GRANULE, WATCH | ON);
    for (unsigned i = 0; i < stores; i++) {
        mem_writel(a, 4 * i, ~i);
        if (i % 200 == 199) {
            fence(a, b);
        }
    }
    fence(a, b);
    for (unsigned i = 0; i < stores; i++) {
        g_assert_cmphex(mem_readl(b, 4 * i), ==, ~i);
    }
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 16);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, stores - 16);
    g_assert_cmpuint(counter(b, "epoch"), ==, epoch);
    for (unsigned i = 0; i < 16; i++) {
        Record record = events_peek(&events, R_UPDATE);

        g_assert_cmphex(record_word(&record), ==, ~i);
    }
    lab_stop(lab);
}

/* BASE and SIZE count from ENABLE on; all begins anew then. */
static void test_moved(void)
{
    const uint64_t other = RING_AT + 0x100000;
    static uint8_t before[RECORD << SMALL], after[RECORD << SMALL];
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *a = &lab->card[0], *b = &lab->card[1];

    expect_first(lab, &events, 0x111);
    qtest_memset(lab->vm->qts, other, 0x5a, sizeof(before));
    ext_writeq(b, X_BASE, other);
    ext_writel(b, X_SIZE, 99);
    ext_writel(b, X_EVENTS, 1);         /* it is on already */
    for (unsigned i = 0; i < 20; i++) {
        mem_writel(a, AT, i);
        g_assert_cmpuint(events_next(&events, R_UPDATE).event, ==, i + 2);
    }
    qtest_memread(lab->vm->qts, other, before, sizeof(before));
    for (unsigned i = 0; i < sizeof(before); i++) {
        g_assert_cmphex(before[i], ==, 0x5a);
    }

    events_stop(&events);
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 21);
    qtest_memread(lab->vm->qts, RING_AT, before, sizeof(before));
    mem_writel(a, AT, 0xdead);
    fence(a, b);
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 21);
    events_start(&events, b, other, 6, T_DATA);
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 0);
    g_assert_cmpuint(ext_readl(b, X_CONSUMER), ==, 0);
    expect_first(lab, &events, 0x222);
    qtest_memread(lab->vm->qts, RING_AT, after, sizeof(after));
    g_assert_cmpmem(before, sizeof(before), after, sizeof(after));
    lab_stop(lab);
}

/*
 * The ring is switched off and on, here and there, in the middle of traffic:
 * nothing is written to where it is not, and a new ring begins with 1.
 */
static void test_moved_in_traffic(void)
{
    static uint8_t memory[RECORD << 6];
    Events events;
    Lab *lab = watched_ring(&events, 6);
    Card *a = &lab->card[0], *b = &lab->card[1];

    for (unsigned i = 0; i < 40; i++) {
        uint64_t old = events.base;
        uint64_t base = RING_AT + 0x10000 * (1 + i % 3);

        for (unsigned k = 0; k < 20; k++) {
            mem_writel(a, AT, k);
        }
        events_stop(&events);
        qtest_memset(lab->vm->qts, old, 0, sizeof(memory));
        events_start(&events, b, base, 4 + i % 3, T_DATA);
        fence(a, b);
        if (ext_readl(b, X_PRODUCER)) {
            Record record = events_peek(&events, R_UPDATE);

            g_assert_cmpuint(record.index, ==, 1);
            g_assert_cmpuint(record.event, ==, 1);
        }
        qtest_memread(lab->vm->qts, old, memory, sizeof(memory));
        g_assert_true(old == base || buffer_is_zero(memory, sizeof(memory)));
    }
    lab_stop(lab);
}

/* --- memory that does not take it ----------------------------------------- */

typedef struct Fault {
    const char *name;
    uint64_t base;
    int bar;            /* base is in this one, if it is not -1 */
    unsigned size;
    bool at_once;       /* as soon as it is enabled */
    unsigned written;   /* records before that */
} Fault;

static const Fault faults[] = {
    { "misaligned",       RING_AT + 64,       -1, SMALL, true },
    { "misaligned a bit", RING_AT + 1,        -1, SMALL, true },
    { "too small",        RING_AT,            -1, 3,     true },
    { "too large",        RING_AT,            -1, 17,    true },
    { "far too large",    RING_AT,            -1, 0x80000004, true },
    { "hole",             0xd0000000,         -1, SMALL },
    { "beyond",           0xffffffffffffff80, -1, SMALL },
    { "end of memory",    128 * MIB - 8 * RECORD, -1, SMALL, false, 8 },
    { "own registers",    0,                  2,  SMALL },
    { "own memory",       0,                  3,  SMALL },
    { "own block",        0,                  4,  SMALL },
    { "own vectors",      0x8000,             4,  SMALL },
};

static void enable_faulty(Card *card, const Fault *fault)
{
    uint64_t base = fault->base;

    g_test_message("%s", fault->name);
    if (fault->bar >= 0) {
        base += card->bar[fault->bar].addr;
    }
    ext_writeq(card, X_BASE, base);
    ext_writel(card, X_SIZE, fault->size);
    ext_writel(card, X_INT_STATUS, ~0u);
    ext_writel(card, X_EVENTS, 1);
    g_assert_cmphex(ext_readl(card, X_STATUS), ==,
                    fault->at_once ? FAULT : RUNNING);
}

/* It stops, says so, counts what it drops, and all else goes on. */
static void expect_fault(Lab *lab, unsigned written)
{
    Card *a = &lab->card[0], *b = &lab->card[1];

    for (unsigned i = 0; i <= written; i++) {
        mem_writel(a, AT, 0xfa017 + i);
    }
    wait_until(ext_readl(b, X_STATUS) == FAULT);
    fence(a, b);
    wait_until(ext_readl(b, X_INT_STATUS) & 1u << V_ERRORS);
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, written);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 1);
    mem_writel(a, AT, 0x600d);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, AT), ==, 0x600d);
    g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 2);
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(ext_readl(b, X_STATUS), ==, FAULT);
}

static void test_faults(void)
{
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *b = &lab->card[1];

    for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
        events_stop(&events);
        enable_faulty(b, &faults[i]);
        expect_fault(lab, faults[i].written);
        events_stop(&events);
        g_assert_cmpuint(ext_readq(b, X_DROPPED), ==, 2);
        events_start(&events, b, RING_AT, SMALL, T_DATA);
        expect_first(lab, &events, i);
    }
    lab_stop(lab);
}

/* A card that may not be bus master has no memory to write to. */
static void test_bus_master(void)
{
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *b = &lab->card[1];
    uint16_t command = qpci_config_readw(b->pci, 4);

    qpci_config_writew(b->pci, 4, command & ~4);
    expect_fault(lab, 0);
    events_stop(&events);
    qpci_config_writew(b->pci, 4, command | 4);
    events_start(&events, b, RING_AT, SMALL, T_DATA);
    expect_first(lab, &events, 0x600d);
    lab_stop(lab);
}

/* --- network interrupts --------------------------------------------------- */

static const struct {
    uint8_t nic;
    unsigned type;
    uint32_t lisr;
} interrupts[] = {
    { NIC_INT1, R_INT1, L_INT1 },
    { NIC_INT2, R_INT2, L_INT2 },
    { NIC_INT3, R_INT3, L_INT3 },
    { NIC_INT4, R_INT4, L_INT4 },
    { NIC_RESET, R_RESET, L_RESET },
};

/* Those that make records, and those alone, do not enter the FIFOs. */
static void test_network_interrupts(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;

    for (unsigned i = 0; i < ARRAY_SIZE(interrupts); i++) {
        unsigned type = interrupts[i].type;
        Record record;

        events_start(&events, b, RING_AT, SMALL, 1u << type);
        nic_send(a, 9, interrupts[i].nic, 0xda7a0000 + i);
        record = events_next(&events, type);
        g_assert_cmpuint(record.node, ==, 7);
        g_assert_cmpuint(record.event, ==, 1);
        if (type != R_RESET) {
            g_assert_cmphex(record.value, ==, 0xda7a0000 + i);
        }
        g_assert_cmphex(ctl_readl(b, LISR), ==, 0);

        ext_writel(b, X_TYPES, T_DATA);
        nic_send(a, 9, interrupts[i].nic, 0xda7b0000 + i);
        ctl_wait(b, LISR, interrupts[i].lisr, interrupts[i].lisr);
        if (type != R_RESET) {
            fifo_expect(b, type, 7, 0xda7b0000 + i);
        }
        g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 1);
        events_stop(&events);
    }

    /* A ring that is off takes none. */
    ext_writel(b, X_TYPES, 1u << R_INT1);
    nic_send(a, 9, NIC_INT1, 1);
    fifo_expect(b, 1, 7, 1);
    lab_stop(lab);
}

/* --- what latches --------------------------------------------------------- */

/* The record comes beside the latch, with nothing else in it. */
static void expect_latched(Events *events, unsigned type, uint32_t lisr)
{
    Record record = events_next(events, type);

    g_assert_cmpuint(record.node, ==, NOBODY);
    g_assert_cmphex(record.value, ==, 0);
    g_assert_cmphex(record.length, ==, 0);
    g_assert_cmphex(record.seq, ==, 0);
    g_assert_cmpuint(record.arrival, <=, ext_readq(events->card, X_CLOCK));
    g_assert_cmphex(ctl_readl(events->card, LISR) & lisr, ==, lisr);
}

static void test_latched(void)
{
    const uint32_t types = 1u << R_BAD_DATA | 1u << R_ROGUE |
                           1u << R_INHIBITED | 1u << R_LOSS;
    PeerLab *lab = block_peer(",rogue-master-0=on");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    Events events;
    Record record;
    size_t len;

    events_start(&events, card, RING_AT, SMALL, types);
    len = peer_update(wire, PEER_NODE, 1, 0, 0, 1);
    wire[48] ^= 1;
    peer_send(lab->peer.upstream, wire, len);
    expect_latched(&events, R_BAD_DATA, L_BAD_DATA);
    peer_send(lab->peer.upstream, wire, len);   /* latched already */
    expect_latched(&events, R_BAD_DATA, L_BAD_DATA);
    len = peer_update(wire, PEER_NODE, 1, 1, 0, 1);
    peer_send(lab->peer.upstream, wire, len);
    expect_latched(&events, R_ROGUE, L_ROGUE);

    /* Some that never came: 11 to 14 */
    peer_data(lab, 10, 0, "abcd", 4);
    peer_data(lab, 15, 0, "abcd", 4);
    record = events_next(&events, R_LOSS);
    g_assert_cmpuint(record.node, ==, PEER_NODE);
    g_assert_cmpuint(record.value, ==, 4);
    g_assert_cmpuint(record.seq, ==, 15);

    lcsr1_set(card, PARITY);
    qpci_io_writeb(card->pci, card->bar[3], 0, 1);
    expect_latched(&events, R_INHIBITED, L_INHIBITED);
    peer_lab_stop(lab);
}

#define HELD   4096     /* updates that wait for a paused machine */
#define STAGED 4096     /* records that wait for it */

/*
 * More updates than are kept for a paused machine: each that is lost makes a
 * record, and of these too as many are kept as fit; the others are counted.
 */
static void test_latched_paused(void)
{
    const unsigned lost = STAGED + 100;
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    Events events;
    unsigned i;

    events_start(&events, card, RING_AT, 13, 1u << R_RX_FULL |
                 1u << R_RX_ALMOST_FULL);
    vm_set_running(lab->vm, false);
    for (i = 1; i <= HELD + lost; i++) {
        peer_send(lab->peer.upstream, wire,
                  peer_update(wire, PEER_NODE, i, 0, 4 * i, i));
        peer_next_update(lab->peer.downstream, wire);
    }
    g_assert_cmpuint(counter(card, "frames-held-lost"), ==, lost);
    g_assert_cmpuint(ext_readq(card, X_DROPPED), ==, 1 + lost - STAGED);
    g_assert_cmpuint(ext_readl(card, X_MADE), ==, STAGED);
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, 0);
    vm_set_running(lab->vm, true);
    expect_latched(&events, R_RX_ALMOST_FULL, L_RX_ALMOST_FULL);
    for (i = 2; i <= STAGED; i++) {
        g_assert_cmpuint(events_next(&events, R_RX_FULL).event, ==, i);
    }
    g_assert_cmphex(ctl_readl(card, LISR) & L_RX_FULL, ==, L_RX_FULL);
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, STAGED);
    peer_lab_stop(lab);
}

/* More at once than the ring takes; the bench has no CPU that would wait. */
static void test_latched_tx_full(void)
{
    const size_t size = 512 * 1024;
    g_autofree uint8_t *data = g_malloc0(size);
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0];
    Events events;

    events_start(&events, a, RING_AT, SMALL, 1u << R_TX_FULL);
    mem_write(a, 0, data, size);
    expect_latched(&events, R_TX_FULL, L_TX_FULL);
    lab_stop(lab);
}

/* Light that goes and comes, at both ends of the fibre */
static void test_link(void)
{
    const uint32_t types = 1u << R_SYNC_LOSS | 1u << R_SIGNAL;
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events at_a, at_b;
    Record record;

    events_start(&at_a, a, RING_AT, SMALL, 1u << R_BREAK);
    events_start(&at_b, b, RING_AT + 0x10000, SMALL, types);
    lcsr1_set(a, TX_DISABLE);
    expect_latched(&at_b, R_SYNC_LOSS, L_SYNC_LOSS);
    record = events_next(&at_a, R_BREAK);
    g_assert_cmpuint(record.node, ==, 9);
    lcsr1_clear(a, TX_DISABLE);
    record = events_next(&at_b, R_SIGNAL);
    g_assert_cmpuint(record.node, ==, NOBODY);
    g_assert_cmphex(ctl_readl(b, LCSR1) & SIGNAL, ==, SIGNAL);
    lab_stop(lab);
}

static void test_membership(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint32_t epoch = ext_readl(card, X_EPOCH);
    Events events;

    events_start(&events, card, RING_AT, SMALL, 1u << R_MEMBERSHIP);
    peer_data(lab, 1, 0, "abcd", 4);
    events_expect_member(&events, epoch);
    g_assert_cmpuint(counter(card, "epoch"), ==, ext_readl(card, X_EPOCH));
    peer_lab_stop(lab);
}

/* --- owned granules ------------------------------------------------------- */

/* Updates of others conflict, stored or not; own stores do not. */
static void test_conflict(void)
{
    const uint32_t value = 0xc0f17c;
    Events events;
    Lab *lab = watched_ring(&events, SMALL);
    Card *a = &lab->card[0], *b = &lab->card[1];
    const SlotSetting timer = { .offset = AT, .length = 4, .silence = 1000000 };
    const SlotSetting changed = { .offset = AT, .length = 4, .mask = ~0ull };
    Record record;

    plane_set(b, AT, GRANULE, OWNED | ON);
    slot_arm(b, 255, TIMER, &timer);
    g_assert_cmpuint(events_next(&events, R_STALE).value, ==, 255);
    slot_arm(b, 7, CHANGED, &changed);
    slot_arm(b, 3, CHANGED, &changed);

    /* What one update brings, in order */
    mem_writel(a, AT, value);
    events_next(&events, R_UPDATE);
    g_assert_cmpuint(events_next(&events, R_MATCH).value, ==, 3);
    g_assert_cmpuint(events_next(&events, R_MATCH).value, ==, 7);
    g_assert_cmpuint(events_next(&events, R_FRESH).value, ==, 255);
    record = events_next(&events, R_CONFLICT);
    g_assert_cmpuint(record.node, ==, 7);
    record_expect_data(&record, AT, &value, 4);

    /* Not received, it conflicts all the same, and that is all. */
    slot_arm(b, 255, 0, &timer);
    ext_writel(b, X_EVENTS, 0);         /* STALE may have come again */
    events_start(&events, b, RING_AT, SMALL, T_DATA);
    plane_set(b, AT, GRANULE, RX);
    mem_writel(a, AT, 0x0bad);
    events_next(&events, R_CONFLICT);
    g_assert_cmphex(mem_readl(b, AT), ==, value);
    mem_writel(b, AT, 0x0e1);
    fence(b, a);
    events_expect_none(&events, a);
    ext_writel(b, X_SNAPSHOT, 0);
    g_assert_cmpuint(ext_readq(b, X_COUNTERS + 8 * 34), ==, 2);
    lab_stop(lab);
}

void rfm5565_add_event_tests(void)
{
    lab_add_test("events/update", test_update);
    lab_add_test("events/train", test_train);
    lab_add_test("events/order", test_order);
    lab_add_test("events/overflow", test_overflow);
    lab_add_test("events/never-consumed", test_never_consumed);
    lab_add_test("events/moved", test_moved);
    lab_add_test("events/moved-in-traffic", test_moved_in_traffic);
    lab_add_test("events/faults", test_faults);
    lab_add_test("events/bus-master", test_bus_master);
    lab_add_test("events/network-interrupts", test_network_interrupts);
    lab_add_test("events/latched", test_latched);
    lab_add_test("events/latched-paused", test_latched_paused);
    lab_add_test("events/latched-tx-full", test_latched_tx_full);
    lab_add_test("events/link", test_link);
    lab_add_test("events/membership", test_membership);
    lab_add_test("events/conflict", test_conflict);
}
