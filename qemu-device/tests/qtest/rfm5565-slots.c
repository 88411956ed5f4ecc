/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: comparators and timers. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"

#define AT      0x8000
#define MS      1000000ull

/* --- comparators ---------------------------------------------------------- */

typedef struct Edge {
    uint64_t store;     /* what the other node stores */
    bool matches;
} Edge;

/* A comparator at byte @at of the update, and what becomes of updates of it */
typedef struct Compare {
    const char *name;
    uint32_t mode, length;
    uint64_t mask, value;
    Edge edges[6];
} Compare;

static const Compare compares[] = {
    { "equal, 1 byte", EQUAL, 1, 0xff, 0x03,
      { { 0x03, true }, { 0x03 }, { 0x04 }, { 0x05 }, { 0x03, true }, { 2 } } },
    { "equal, 2 bytes, masked", EQUAL, 2, 0x0ff0, 0x0120,
      { { 0x0120, true }, { 0xf12f }, { 0x0130 }, { 0x0020 },
        { 0x912f, true }, { 0 } } },
    { "equal, 4 bytes", EQUAL, 4, 0xffffffff, 0x80000001,
      { { 0x80000000 }, { 0x00000001 }, { 0x80000001, true }, { 0x80000001 },
        { 0 }, { 0x80000001, true } } },
    { "equal, 8 bytes", EQUAL, 8, ~0ull, 0x8000000000000001,
      { { 1 }, { 0x8000000000000000 }, { 0x8000000000000001, true },
        { 0x8000000000000001 }, { 0x8000000100000001 },
        { 0x8000000000000001, true } } },
    { "equal to 0", EQUAL, 4, 0xffffffff, 0,
      { { 0 }, { 1 }, { 0, true }, { 0 }, { 2 }, { 0, true } } },
    { "bits of the mask above the length", EQUAL, 1, ~0ull, 0x07,
      { { 0x07, true }, { 7 }, { 8 }, { 9 }, { 7, true }, { 0 } } },
    { "not equal, 1 byte", NOT_EQUAL, 1, 0xff, 0,
      { { 1, true }, { 2 }, { 0 }, { 0 }, { 0x80, true }, { 1 } } },
    { "not equal, 4 bytes, masked", NOT_EQUAL, 4, 0x80000000, 0x80000000,
      { { 1 }, { 0x80000000 }, { 0x80000001 }, { 0x7fffffff, true }, { 0 },
        { 0xffffffff } } },
    { "not equal, 8 bytes", NOT_EQUAL, 8, ~0ull, 5,
      { { 5 }, { 0x100000005, true }, { 5 }, { 5 }, { 4, true }, { 0 } } },
    { "changed, 2 bytes", CHANGED, 2, 0xffff, 0,
      { { 0 }, { 1, true }, { 1 }, { 0x101, true }, { 0x8101, true },
        { 0x8101 } } },
    { "changed, 4 bytes, masked", CHANGED, 4, 0x00ff0000, 0xdeadbeef,
      { { 1 }, { 0x00010000, true }, { 0xff01ffff }, { 0x00020000, true },
        { 0xff02ffff }, { 0x00000000, true } } },
    { "changed, 8 bytes", CHANGED, 8, 1ull << 63, 0,
      { { 1ull << 62 }, { 1ull << 63, true }, { ~0ull }, { 1, true }, { 2 },
        { ~0ull, true } } },
};

static void compare_run(Lab *lab, Events *events, const Compare *compare,
                        unsigned slot, uint32_t at)
{
    Card *a = &lab->card[0], *b = &lab->card[1];
    const SlotSetting setting = {
        .offset = at, .length = compare->length, .mask = compare->mask,
        .value = compare->value,
    };

    g_test_message("%s", compare->name);
    g_assert_cmphex(slot_arm(b, slot, compare->mode, &setting), ==,
                    compare->mode);
    for (unsigned i = 0; i < ARRAY_SIZE(compare->edges); i++) {
        uint8_t data[8];

        stq_le_p(data, compare->edges[i].store);
        /* One store, one update */
        if (compare->length == 8) {
            qpci_io_writeq(a->pci, a->bar[3], at, compare->edges[i].store);
        } else {
            bar_write(a, 3, at, compare->length, compare->edges[i].store);
        }
        if (compare->edges[i].matches) {
            Record record = events_next(events, R_MATCH);

            g_assert_cmpuint(record.value, ==, slot);
            g_assert_cmpuint(record.node, ==, 7);
            g_assert_cmphex(record.age, ==, 0);
            record_expect_data(&record, at, data, compare->length);
        }
        events_expect_none(events, a);
    }
    slot_arm(b, slot, 0, &setting);
    bar_write(a, 3, at, 1, ~compare->value);
    bar_write(a, 3, at, 1, compare->value);
    events_expect_none(events, a);
}

/* Edges of every mode and width, at the first and the last byte there is */
static void test_compare(void)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Events events;

    events_start(&events, &lab->card[1], RING_AT, 4, T_DATA);
    for (unsigned i = 0; i < ARRAY_SIZE(compares); i++) {
        compare_run(lab, &events, &compares[i], i ? 256 - i : 0,
                    AT + 0x100 * i + 8 - compares[i].length);
    }
    lab_stop(lab);
}

/* An update that touches a part of it, one beside it, and own stores */
static void test_compare_parts(void)
{
    const SlotSetting setting = {
        .offset = AT + 0x40, .length = 8, .mask = ~0ull,
        .value = 0x0807060504030201,
    };
    const uint8_t before[8] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 };
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    Events events;
    Record record;

    events_start(&events, card, RING_AT, 4, T_DATA);
    g_assert_cmphex(slot_arm(card, 0, EQUAL, &setting), ==, EQUAL);
    qpci_io_writeq(card->pci, card->bar[3], AT + 0x40, setting.value);
    qpci_io_writeq(card->pci, card->bar[3], AT + 0x40, 0x0807060504030200);
    peer_data(lab, 1, AT + 0x48, "\x09", 1);
    peer_data(lab, 2, AT + 0x3f, "\x09", 1);
    /* Its first byte is the eighth here. */
    peer_data(lab, 3, AT + 0x39, before, 8);
    record = events_next(&events, R_MATCH);
    record_expect_data(&record, AT + 0x39, before, 8);
    g_assert_cmphex(qpci_io_readq(card->pci, card->bar[3], AT + 0x40), ==,
                    setting.value);
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, 1);
    peer_lab_stop(lab);
}

/* --- parameters ----------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t mode;
    SlotSetting setting;
} bad_slots[] = {
    { "length 0", EQUAL, { AT, 0, 1, 1 } },
    { "length 3", EQUAL, { AT, 3, 1, 1 } },
    { "length 16", CHANGED, { AT, 16, 1, 1 } },
    { "2 at 1", EQUAL, { AT + 1, 2, 1, 1 } },
    { "4 at 2", NOT_EQUAL, { AT + 2, 4, 1, 1 } },
    { "8 at 4", CHANGED, { AT + 4, 8, 1, 1 } },
    { "past the end", CHANGED, { 64 * MIB, 4, 1, 1 } },
    { "far past the end", CHANGED, { 0xfffffffc, 4, 1, 1 } },
    { "mask 0", CHANGED, { AT, 4, 0, 0 } },
    { "mask above the length", CHANGED, { AT, 4, 1ull << 32, 0 } },
    { "value beyond the mask", EQUAL, { AT, 4, 0xff, 0x100 } },
    { "value beyond the mask", NOT_EQUAL, { AT, 8, 0xff, 1ull << 63 } },
    { "mode 5", 5, { AT, 4, 1, 1, MS } },
    { "mode 7", 7, { AT, 4, 1, 1, MS } },
    { "timer of nothing", TIMER, { AT, 0, 0, 0, MS } },
    { "timer past the end", TIMER, { 64 * MIB - 4, 5, 0, 0, MS } },
    { "timer that wraps", TIMER, { AT, 0xffffffff, 0, 0, MS } },
    { "too short", TIMER, { AT, 4, 0, 0, MS - 1 } },
    { "too long", TIMER, { AT, 4, 0, 0, 3600000 * MS + 1 } },
};

static const SlotSetting good_slots[] = {
    { 64 * MIB - 8, 8, ~0ull, ~0ull, MS },
    { 0, 1, 1, 1, 3600000 * MS },
};

static void test_bad(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];

    block_map(card);
    for (unsigned i = 0; i < ARRAY_SIZE(good_slots); i++) {
        for (unsigned mode = EQUAL; mode <= TIMER; mode++) {
            g_assert_cmphex(slot_arm(card, i, mode, &good_slots[i]) &
                            ~SLOT_STALE, ==, mode);
        }
    }
    for (unsigned i = 0; i < ARRAY_SIZE(bad_slots); i++) {
        g_test_message("%s", bad_slots[i].name);
        slot_arm(card, 200, CHANGED, &good_slots[0]);
        g_assert_cmphex(slot_arm(card, 200, bad_slots[i].mode,
                                 &bad_slots[i].setting), ==, SLOT_BAD);
        g_assert_cmphex(slot_arm(card, 200, 0, &bad_slots[i].setting), ==, 0);
    }

    /* Each slot has registers of its own; there is no 257th. */
    slot_arm(card, 1, CHANGED, &good_slots[1]);
    slot_arm(card, 255, 0, &good_slots[0]);
    ext_writel(card, X_SLOT, 256);
    g_assert_cmpuint(ext_readl(card, X_SLOT), ==, 255);
    g_assert_cmphex(ext_readl(card, X_SLOT_OFFSET), ==, 64 * MIB - 8);
    g_assert_cmphex(ext_readq(card, X_SLOT_SILENCE), ==, MS);
    g_assert_cmphex(slot_control(card, 1), ==, CHANGED);
    g_assert_cmphex(ext_readl(card, X_SLOT_OFFSET), ==, 0);
    g_assert_cmphex(ext_readq(card, X_SLOT_SILENCE), ==, 3600000 * MS);
    lab_stop(lab);
}

/* --- many of them --------------------------------------------------------- */

/* Of all slots, while the others are armed; the least is not of the host. */
static gint64 least_time_to_arm(Card *card, const SlotSetting *timer)
{
    gint64 start, min = G_MAXINT64;

    for (unsigned i = 0; i < 512; i++) {
        start = g_get_monotonic_time();
        g_assert_cmphex(slot_arm(card, i % 256, TIMER, timer), ==, TIMER);
        if (i >= 256) {
            min = MIN(min, g_get_monotonic_time() - start);
        }
    }
    for (unsigned i = 0; i < 256; i++) {
        slot_arm(card, i, 0, timer);
    }
    return min;
}

/* The whole memory, by every slot: each one costs no more than a narrow one. */
static void test_wide(void)
{
    const SlotSetting wide = {
        .length = 256 * MIB, .silence = 3600000 * MS,
    };
    const SlotSetting narrow = { .length = 4, .silence = 3600000 * MS };
    Lab *lab = block_ring("node-id=7,memory-size=256M", NULL);
    Card *card = &lab->card[0];
    gint64 narrow_us = least_time_to_arm(card, &narrow);

    g_assert_cmpint(least_time_to_arm(card, &wide), <, 5 * narrow_us);
    lab_stop(lab);
}

/* A slot that is switched off takes nothing from those that overlap it. */
static void test_overlap(void)
{
    static const struct {
        uint32_t first, end;            /* granules from AT */
    } ranges[] = { { 2, 4 }, { 4, 6 }, { 8, 9 }, { 11, 14 } };
    const SlotSetting all = {
        .offset = AT, .length = 16 * GRANULE, .silence = 3600000 * MS,
    };
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;
    unsigned i, k;

    events_start(&events, b, RING_AT, 4, T_DATA);
    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        SlotSetting timer = {
            .offset = AT + ranges[i].first * GRANULE,
            .length = (ranges[i].end - ranges[i].first) * GRANULE,
            .silence = MS,
        };

        slot_arm(b, i, TIMER, &timer);
        events_next(&events, R_STALE);
    }
    for (i = 0; i < 2; i++) {
        slot_arm(b, 255, TIMER, &all);
    }
    slot_arm(b, 255, 0, &all);
    for (i = 0; i < ARRAY_SIZE(ranges); i++) {
        for (k = ranges[i].first; k < ranges[i].end; k++) {
            mem_writel(a, AT + k * GRANULE, k);
            g_assert_cmpuint(events_next(&events, R_FRESH).value, ==, i);
            events_next(&events, R_STALE);
        }
    }
    lab_stop(lab);
}

/* --- timers --------------------------------------------------------------- */

static const SlotSetting short_timer = {
    .offset = AT + 3, .length = 70, .silence = 100 * MS,
};

/* Never, fresh, stale of a last update, and fresh again */
static void test_timer(void)
{
    const uint32_t value = 0x5111;
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t armed, seq, origin, arrival;
    Events events;
    Record record;

    events_start(&events, b, RING_AT, 4, T_DATA);
    armed = ext_readq(b, X_CLOCK);
    g_assert_cmphex(slot_arm(b, 9, TIMER, &short_timer), ==, TIMER);
    record = events_next(&events, R_STALE);
    g_assert_cmpuint(ext_readq(b, X_CLOCK) - armed, >=, 100 * MS);
    g_assert_cmphex(record.flags, ==, NEVER);
    g_assert_cmpuint(record.node, ==, NOBODY);
    g_assert_cmpuint(record.value, ==, 9);
    g_assert_cmpuint(record.length, ==, 0);
    g_assert_cmpuint(record.seq, ==, 0);
    g_assert_cmpuint(record.age, >=, 100 * MS);
    g_assert_cmpuint(record.age, <, 10000 * MS);
    g_assert_cmphex(slot_control(b, 9), ==, TIMER | SLOT_STALE);

    /* Beside it, and by the node itself, is nothing. */
    bar_write(a, 3, AT + 2, 1, 0x11);
    bar_write(a, 3, AT + 3 + 70, 1, 0x11);
    mem_writel(b, AT + 4, 0x11);
    events_expect_none(&events, a);
    g_assert_cmphex(slot_control(b, 9), ==, TIMER | SLOT_STALE);

    mem_writel(a, AT, value);           /* its last byte is in the range */
    record = events_next(&events, R_FRESH);
    g_assert_cmpuint(record.node, ==, 7);
    g_assert_cmpuint(record.value, ==, 9);
    g_assert_cmpuint(record.age, >=, 100 * MS);
    record_expect_data(&record, AT, &value, 4);
    seq = record.seq;
    origin = record.origin;
    arrival = record.arrival;
    record = events_next(&events, R_STALE);
    g_assert_cmpuint(ext_readq(b, X_CLOCK) - arrival, >=, 100 * MS);
    g_assert_cmphex(record.flags, ==, 0);
    g_assert_cmpuint(record.node, ==, 7);
    g_assert_cmpuint(record.value, ==, 9);
    g_assert_cmphex(record.offset, ==, AT);
    g_assert_cmpuint(record.length, ==, 4);
    g_assert_cmpuint(record.seq, ==, seq);
    g_assert_cmpuint(record.origin, ==, origin);
    g_assert_cmpuint(record.arrival, ==, arrival);
    g_assert_cmpuint(record.age, >=, 100 * MS);
    g_assert_cmphex(record_word(&record), ==, 0);

    /* Arming it again begins anew. */
    g_assert_cmphex(slot_arm(b, 9, TIMER, &short_timer), ==, TIMER);
    record = events_next(&events, R_STALE);
    g_assert_cmphex(record.flags, ==, NEVER);
    g_assert_cmpuint(record.seq, ==, 0);
    lab_stop(lab);
}

/* Feed a timer for longer than its time; false: not often enough for a proof */
static bool feed(Card *from, Events *events)
{
    const SlotSetting timer = {
        .offset = AT, .length = 4, .silence = 1500 * MS,
    };
    Card *card = events->card;
    uint64_t last = ext_readq(card, X_CLOCK), end = last + 2500 * MS, now;
    uint32_t control, producer;
    Record record;

    slot_arm(card, 0, TIMER, &timer);
    while (last < end) {
        mem_writel(from, AT, last);
        fence(from, card);
        now = ext_readq(card, X_CLOCK);
        if (now - last > timer.silence) {
            return false;
        }
        last = now;
    }
    control = slot_control(card, 0);
    producer = ext_readl(card, X_PRODUCER);
    if (ext_readq(card, X_CLOCK) - last > timer.silence) {
        return false;
    }
    g_assert_cmphex(control, ==, TIMER);
    g_assert_cmpuint(producer, ==, 0);
    record = events_next(events, R_STALE);
    g_assert_cmphex(record.flags, ==, 0);
    g_assert_cmpuint(record.arrival, >, end - timer.silence);
    g_assert_cmpuint(ext_readq(card, X_CLOCK) - record.arrival, >=,
                     timer.silence);
    return true;
}

/* As long as updates come in time there is none; then STALE comes. */
static void test_timer_fed(void)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Events events;
    unsigned turns = 0;
    bool fed;

    do {
        events_start(&events, &lab->card[1], RING_AT, 4, 1u << R_STALE);
        fed = feed(&lab->card[0], &events);
        events_stop(&events);
    } while (!fed && ++turns < 20);
    g_assert_true(fed);     /* else the host has something else to do */
    lab_stop(lab);
}

/* The ring is dead, and its neighbour silent: the timer runs. */
static void test_timer_dark(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];
    Events events;

    block_map(card);
    events_start(&events, card, RING_AT, 4, T_DATA);
    slot_arm(card, 0, TIMER, &short_timer);
    g_assert_cmphex(events_next(&events, R_STALE).flags, ==, NEVER);
    lab_stop(lab);
}

static void test_timer_broken(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;
    Record record;

    events_start(&events, b, RING_AT, 4, T_DATA);
    mem_writel(a, AT + 4, 1);
    fence(a, b);
    slot_arm(b, 0, TIMER, &short_timer);
    mem_writel(a, AT + 4, 2);
    fence(a, b);
    lcsr1_set(a, TX_DISABLE);
    record = events_next(&events, R_STALE);
    if (record.flags == NEVER) {        /* a host with other things to do */
        events_next(&events, R_FRESH);
        record = events_next(&events, R_STALE);
    }
    g_assert_cmpuint(record.node, ==, 7);
    g_assert_cmphex(record.offset, ==, AT + 4);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    g_assert_cmphex(slot_control(b, 0), ==, TIMER | SLOT_STALE);
    lab_stop(lab);
}

/* The time of a paused machine does not count. */
static void test_timer_paused(void)
{
    const SlotSetting timer = {
        .offset = AT, .length = 4, .silence = 2000 * MS,
    };
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *b = &lab->card[1];
    uint64_t armed, stopped, gone_on;
    Events events;
    Record record;

    events_start(&events, b, RING_AT, 4, T_DATA);
    armed = ext_readq(b, X_CLOCK);
    slot_arm(b, 0, TIMER, &timer);
    vm_set_running(lab->vm, false);
    stopped = ext_readq(b, X_CLOCK);
    wait_until(ext_readq(b, X_CLOCK) > stopped + 2500 * MS);
    g_assert_cmphex(slot_control(b, 0), ==, TIMER);
    gone_on = ext_readq(b, X_CLOCK);
    vm_set_running(lab->vm, true);
    record = events_next(&events, R_STALE);
    g_assert_cmpuint(record.age, >=, timer.silence);
    g_assert_cmpuint(ext_readq(b, X_CLOCK) - gone_on, >=,
                     timer.silence - MIN(stopped - armed, timer.silence));
    lab_stop(lab);
}

void rfm5565_add_slot_tests(void)
{
    lab_add_test("slots/compare", test_compare);
    lab_add_test("slots/compare-parts", test_compare_parts);
    lab_add_test("slots/bad", test_bad);
    lab_add_test("slots/wide", test_wide);
    lab_add_test("slots/overlap", test_overlap);
    lab_add_test("slots/timer", test_timer);
    lab_add_test("slots/timer-fed", test_timer_fed);
    lab_add_test("slots/timer-dark", test_timer_dark);
    lab_add_test("slots/timer-broken", test_timer_broken);
    lab_add_test("slots/timer-paused", test_timer_paused);
}
