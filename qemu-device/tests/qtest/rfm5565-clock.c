/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: its clock, of this host or of all. */
#include "qemu/osdep.h"
#include "rfm5565-block.h"

/* It never goes back, read in halves or at once, and is one for all here. */
static void test_one_for_all(void)
{
    Lab *lab = lab_dark("node-id=7", "node-id=9");
    uint64_t last = 0, lower, now;

    block_map(&lab->card[0]);
    block_map(&lab->card[1]);
    for (unsigned i = 0; i < 2000; i++) {
        Card *card = &lab->card[i & 1];

        lower = ext_readl(card, X_CLOCK);
        now = (uint64_t)ext_readl(card, X_CLOCK + 4) << 32 | lower;
        g_assert_cmpuint(now, >, last);
        last = ext_readq(card, X_CLOCK);
        g_assert_cmpuint(last, >, now);
        g_assert_cmpuint(last - now, <, 10000000000ull);
    }

    /* The upper half is that of the lower one, however long ago it was read. */
    do {
        last = ext_readq(&lab->card[1], X_CLOCK);
        ext_readl(&lab->card[0], X_CLOCK);
    } while (ext_readq(&lab->card[1], X_CLOCK) >> 32 != last >> 32);
    wait_until(ext_readq(&lab->card[1], X_CLOCK) >> 32 != last >> 32);
    g_assert_cmpuint(ext_readl(&lab->card[0], X_CLOCK + 4), ==, last >> 32);
    last = ext_readq(&lab->card[0], X_CLOCK);
    g_assert_cmpuint(ext_readl(&lab->card[0], X_CLOCK + 4), ==, last >> 32);
    ext_writeq(&lab->card[0], X_CLOCK, 0);
    g_assert_cmpuint(ext_readq(&lab->card[0], X_CLOCK), >, last);
    g_assert_cmphex(ext_readl(&lab->card[0], X_DOMAIN), !=, 0);
    g_assert_cmphex(ext_readl(&lab->card[0], X_DOMAIN), ==,
                    ext_readl(&lab->card[1], X_DOMAIN));
    lab_stop(lab);
}

/* --- a clock for all hosts ------------------------------------------------ */

static uint64_t host_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* What the card's own host does with TAI is not ours to say: its domain is. */
static uint32_t host_domain(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    uint32_t domain;

    block_map(&lab->card[0]);
    domain = ext_readl(&lab->card[0], X_DOMAIN);
    lab_stop(lab);
    return domain;
}

static void tai_snapshot(Card *card, uint32_t state, bool known)
{
    const uint32_t ahead = 0x20000000;
    uint64_t transit;

    ext_writel(card, X_SNAPSHOT, 1);
    g_assert_cmphex(ext_readl(card, X_NODES + 32 * PEER_NODE) & ahead, ==,
                    state);
    transit = ext_readq(card, X_NODES + 32 * PEER_NODE + 8);
    g_assert_cmpint(transit != 0, ==, known);
    g_assert_cmpint(transit == 1, ==, state == ahead);
}

/* All that is told of time is of CLOCK_TAI, and ages are by it. */
static void test_tai(void)
{
    const uint32_t tai = 0x00494154, own = host_domain();
    const uint64_t second = 1000000000, margin = 60 * second;
    PeerLab *lab = block_peer(",clock=tai");
    Card *card = &lab->card;
    uint32_t domain = ext_readl(card, X_DOMAIN);
    PeerFrame frame = {
        .source = PEER_NODE, .seq = 1, .address = 0x2000, .len = 4,
        .domain = domain,
    };
    uint64_t before = host_ns(CLOCK_TAI), clock = ext_readq(card, X_CLOCK);
    uint8_t wire[PEER_FRAME];
    Events events;
    Record record;

    g_assert_true(domain == tai || domain == ~own);
    g_assert_cmpuint(clock + margin, >, before);
    g_assert_cmpuint(clock, <, host_ns(CLOCK_TAI) + margin);

    plane_set(card, 0x2000, GRANULE, WATCH | ON);
    ext_writel(card, X_CONTROL, 1);
    events_start(&events, card, RING_AT, 4, T_DATA);
    frame.time = clock - 5 * second;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    record = events_next(&events, R_UPDATE);
    g_assert_cmphex(record.flags, ==, 0);
    g_assert_cmpuint(record.origin, ==, frame.time);
    g_assert_cmpuint(record.arrival, >=, clock);
    g_assert_cmpuint(record.arrival, <=, ext_readq(card, X_CLOCK));
    tai_snapshot(card, 0, true);
    g_assert_cmpuint(ext_readq(card, X_HEARD + 16 * PEER_NODE), >=, clock);
    g_assert_cmpuint(ext_readq(card, X_HEARD + 16 * PEER_NODE), <=,
                     ext_readq(card, X_CLOCK));
    g_assert_cmpuint(ext_readq(card, X_COUNTER_TIMES + 8 * 6), >=, clock);
    g_assert_cmpuint(ext_readq(card, X_COUNTER_TIMES + 8 * 6), <=,
                     ext_readq(card, X_CLOCK));

    /* A clock that is wrong shows. */
    frame.seq++;
    frame.time = clock + 1000 * second;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    record = events_next(&events, R_UPDATE);
    g_assert_cmphex(record.flags, ==, 0);
    g_assert_cmpuint(record.arrival, <, record.origin);
    tai_snapshot(card, 0x20000000, true);

    /* That of this host is another one. */
    frame.seq++;
    frame.time = host_ns(CLOCK_MONOTONIC);
    frame.domain = own;
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
    record = events_next(&events, R_UPDATE);
    g_assert_cmphex(record.flags, ==, OTHER_CLOCK);
    tai_snapshot(card, 0, false);

    before = ext_readq(card, X_CLOCK);
    mem_writel(card, 0x3000, 1);
    ext_writel(card, X_WRITER, 0x3000);
    g_assert_cmphex(ext_readl(card, X_WRITER_NODE), ==, 0x80000007);
    g_assert_cmpuint(ext_readq(card, X_WRITER_TIME), >=, before);
    g_assert_cmpuint(ext_readq(card, X_WRITER_TIME), <=,
                     ext_readq(card, X_CLOCK));
    peer_lab_stop(lab);
}

void rfm5565_add_clock_tests(void)
{
    lab_add_test("clock/one-for-all", test_one_for_all);
    lab_add_test("clock/tai", test_tai);
}
