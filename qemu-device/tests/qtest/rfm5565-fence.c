/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: multicast and fences. */
#include "qemu/osdep.h"
#include "rfm5565-block.h"

/* --- multicast ------------------------------------------------------------ */

static void multicast(Card *card, const uint8_t *nodes, unsigned n,
                      uint32_t kind, uint32_t data)
{
    uint32_t set[8] = {};
    unsigned i;

    for (i = 0; i < n; i++) {
        set[nodes[i] / 32] |= 1u << nodes[i] % 32;
    }
    for (i = 0; i < 8; i++) {
        ext_writel(card, X_SET + 4 * i, set[i]);
    }
    ext_writel(card, X_DATA, data);
    ext_writel(card, X_SEND, kind);
}

/* To those in the set, behind what was stored before, and never to oneself */
static void test_multicast(void)
{
    static const uint8_t kinds[] = { 1, 2, 3, 7 };
    Lab *lab = block_ring("node-id=70", "node-id=255");
    Card *a = &lab->card[0], *b = &lab->card[1];

    for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
        int fifo = i + 1;

        multicast(a, (uint8_t[]){ 70, 71, 254, 127 }, 4, kinds[i], 0xbad);
        mem_writel(a, 4 * i, 0x600d + i);
        multicast(a, (uint8_t[]){ 0, 70, 255 }, 3, kinds[i], 0x100 + i);
        fifo_expect(b, fifo, 70, 0x100 + i);
        g_assert_cmphex(mem_readl(b, 4 * i), ==, 0x600d + i);
        multicast(b, (uint8_t[]){ 70 }, 1, kinds[i], 0x200 + i);
        fifo_expect(a, fifo, 255, 0x200 + i);
    }
    multicast(a, (uint8_t[]){ 255 }, 1, 0, 0);
    ctl_wait(b, LISR, L_RESET, L_RESET);
    g_assert_cmphex(ctl_readl(b, LISR), ==, L_RESET);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    lab_stop(lab);
}

/* --- fences --------------------------------------------------------------- */

static bool fence_has_ended(Card *card, uint32_t ticket)
{
    return (int32_t)(ext_readl(card, X_FENCE_DONE) - ticket) >= 0;
}

static uint32_t fence_begin(Card *card)
{
    ext_writel(card, X_FENCE, 0x5a5a5a5a);
    return ext_readl(card, X_FENCE);
}

/* Everything stored before is there; on a dark ring it says so at once. */
static void test_fence(void)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;
    uint32_t ticket;

    events_start(&events, a, RING_AT, 8, 1u << R_FENCE);
    for (unsigned i = 1; i <= 20; i++) {
        for (unsigned k = 0; k < 50; k++) {
            mem_writel(a, 4 * k, i * k);
        }
        ticket = fence_begin(a);
        g_assert_cmpuint(ticket, ==, i);
        wait_until(fence_has_ended(a, ticket));
        g_assert_cmphex(ext_readl(a, X_FENCE_RESULT), ==, 0);
        for (unsigned k = 0; k < 50; k++) {
            g_assert_cmphex(mem_readl(b, 4 * k), ==, i * k);
        }
        g_assert_cmpuint(events_next(&events, R_FENCE).value, ==, ticket);
    }
    g_assert_cmpuint(ext_readq(a, X_FENCE_LOST), ==, 0);
    g_assert_cmpuint(ext_readl(b, X_FENCE_DONE), ==, 0);

    lcsr1_set(a, TX_DISABLE);
    ticket = fence_begin(a);
    g_assert_true(fence_has_ended(a, ticket));
    g_assert_cmphex(ext_readl(a, X_FENCE_RESULT) & 8, ==, 8);
    lab_stop(lab);
}

/* Those that are begun while one is on the ring end together, after it. */
static void test_fences_join(void)
{
    PeerLab *lab = block_peer(",packing=off");
    Card *card = &lab->card;
    uint8_t wire[48 + 64];
    Events events;
    unsigned i, fences = 0;

    peer_close_ring(lab);
    events_start(&events, card, RING_AT, 4, 1u << R_FENCE);
    for (i = 0; i < 5; i++) {
        g_assert_cmpuint(fence_begin(card), ==, i + 1);
    }
    g_assert_cmpuint(ext_readl(card, X_FENCE_DONE), ==, 0);
    while (fences < 2) {
        peer_receive(lab->peer.downstream, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(lab->peer.downstream, wire + PEER_MESSAGE,
                         48 - PEER_MESSAGE + wire[7]);
            if (wire[3] == 6) {         /* FENCE: let it come home */
                g_assert_cmpuint(ext_readl(card, X_FENCE_DONE), ==, fences);
                peer_send(lab->peer.upstream, wire, 56);
                g_assert_cmpuint(events_next(&events, R_FENCE).value, ==,
                                 fences ? 5 : 1);
                fences++;
            }
        }
    }
    g_assert_cmpuint(ext_readl(card, X_FENCE_DONE), ==, 5);

    /* What is under way when the node goes dark ends then. */
    fence_begin(card);
    fence_begin(card);
    lcsr1_set(card, TX_DISABLE);
    wait_until(fence_has_ended(card, 7));
    g_assert_cmphex(ext_readl(card, X_FENCE_RESULT) & 8, ==, 8);
    peer_lab_stop(lab);
}

/* Let a frame of the card come home, marked by a node that it passed. */
static void send_home(PeerLab *lab, uint8_t *wire, uint8_t marks)
{
    wire[46] = marks;
    wire[47] = ~(wire[44] * 3 + wire[45] * 7 + marks * 11);
    peer_send(lab->peer.upstream, wire, 48 + wire[7]);
}

/* The next numbered frame of the card */
static void next_frame(PeerLab *lab, uint8_t *wire)
{
    do {
        peer_receive(lab->peer.downstream, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(lab->peer.downstream, wire + PEER_MESSAGE,
                         48 - PEER_MESSAGE + wire[7]);
        }
    } while (memcmp(wire, "RF", 2) || wire[3] == 3);
}

static void fence_expect(PeerLab *lab, uint32_t ticket, uint32_t result,
                         uint64_t lost)
{
    wait_until(fence_has_ended(&lab->card, ticket));
    g_assert_cmphex(ext_readl(&lab->card, X_FENCE_RESULT), ==, result);
    g_assert_cmpuint(ext_readq(&lab->card, X_FENCE_LOST), ==, lost);
}

/* A lab in which the first fence has come home */
static PeerLab *fenced(uint8_t *wire)
{
    PeerLab *lab = block_peer(",packing=off");

    peer_close_ring(lab);
    fence_begin(&lab->card);
    next_frame(lab, wire);
    send_home(lab, wire, 0);
    fence_expect(lab, 1, 0, 0);
    return lab;
}

/* What may have kept a store from being everywhere */
static void test_fence_results(void)
{
    uint8_t wire[PEER_FRAME];
    PeerLab *lab = fenced(wire);
    Card *card = &lab->card;

    /* A node stood still when the store passed it. */
    mem_writel(card, 0, 1);
    next_frame(lab, wire);
    send_home(lab, wire, 4);
    fence_begin(card);
    next_frame(lab, wire);
    send_home(lab, wire, 0);
    fence_expect(lab, 2, 2, 0);

    /* Another store and the fence behind it never come home. */
    mem_writel(card, 0, 2);
    fence_begin(card);
    mem_writel(card, 0, 3);
    for (unsigned i = 0; i < 3; i++) {
        next_frame(lab, wire);
    }
    g_assert_cmphex(wire[48], ==, 3);
    send_home(lab, wire, 0);
    fence_expect(lab, 3, 1, 2);

    /* A node appears meanwhile. */
    fence_begin(card);
    next_frame(lab, wire);
    peer_data(lab, 1, 0x1000, "abcd", 4);
    mem_waitl(card, 0x1000, 0x64636261);
    send_home(lab, wire, 0);
    fence_expect(lab, 4, 4, 2);

    fence_begin(card);
    do {
        next_frame(lab, wire);
    } while (wire[3] != 6);             /* what the other node has sent */
    send_home(lab, wire, 0);
    fence_expect(lab, 5, 0, 2);
    peer_lab_stop(lab);
}

/*
 * What was on the ring when the machine left it is lost: the fence after that
 * says so, where the machine goes on, and only that one.
 */
static void test_fence_migrates(void)
{
    const LabSpec spec = { .options = { "node-id=7" }, .fibres = true };
    g_autofree char *file = lab_path("migration");
    uint8_t wire[PEER_FRAME];
    PeerLab *source = fenced(wire);
    Card *card = &source->card;
    Lab *target;
    uint64_t lost;

    mem_writel(card, 0, 1);
    mem_writel(card, 64, 2);
    next_frame(source, wire);
    next_frame(source, wire);
    migrate_to_file(source->vm, file);

    target = lab_migrate(&spec, file, card);
    card = &target->card[0];
    ring_wait_closed(card, 1);
    for (unsigned ticket = 2; ticket < 4; ticket++) {
        g_assert_cmpuint(fence_begin(card), ==, ticket);
        wait_until(fence_has_ended(card, ticket));
        lost = ext_readq(card, X_FENCE_LOST);
        g_assert_cmphex(ext_readl(card, X_FENCE_RESULT) & 1, ==, ticket == 2);
        g_assert_cmpuint(lost, ==, 2);
    }
    lab_stop(target);
    peer_lab_stop(source);
}

/*
 * A fence that is under way, and one that waits for it, when the machine is
 * saved: both end where it goes on, and what was not home is told as lost.
 */
static void test_fence_under_way_migrates(void)
{
    const LabSpec spec = { .options = { "node-id=7" }, .fibres = true };
    g_autofree char *file = lab_path("migration");
    uint8_t wire[PEER_FRAME];
    PeerLab *source = fenced(wire);
    Card *card = &source->card;
    Lab *target;

    mem_writel(card, 0, 1);
    g_assert_cmpuint(fence_begin(card), ==, 2);
    g_assert_cmpuint(fence_begin(card), ==, 3);
    next_frame(source, wire);
    next_frame(source, wire);
    g_assert_cmpuint(wire[3], ==, 6);
    g_assert_cmpuint(ext_readl(card, X_FENCE_DONE), ==, 1);
    migrate_to_file(source->vm, file);

    target = lab_migrate(&spec, file, card);
    card = &target->card[0];
    g_assert_cmpuint(ext_readl(card, X_FENCE), ==, 3);
    wait_until(fence_has_ended(card, 3));
    g_assert_cmphex(ext_readl(card, X_FENCE_RESULT) & 9, !=, 0);
    ring_wait_closed(card, 1);
    /* Told once: by the one under way, or by the first that goes round. */
    g_assert_cmpuint(fence_begin(card), ==, 4);
    wait_until(fence_has_ended(card, 4));

    g_assert_cmpuint(ext_readq(card, X_FENCE_LOST), >=, 1);
    g_assert_cmpuint(fence_begin(card), ==, 5);
    wait_until(fence_has_ended(card, 5));
    g_assert_cmphex(ext_readl(card, X_FENCE_RESULT), ==, 0);
    lab_stop(target);
    peer_lab_stop(source);
}

void rfm5565_add_fence_tests(void)
{
    lab_add_test("fence/multicast", test_multicast);
    lab_add_test("fence/ends", test_fence);
    lab_add_test("fence/join", test_fences_join);
    lab_add_test("fence/results", test_fence_results);
    lab_add_test("fence/migrates", test_fence_migrates);
    lab_add_test("fence/under-way-migrates", test_fence_under_way_migrates);
}
