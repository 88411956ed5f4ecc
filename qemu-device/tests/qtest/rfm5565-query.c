/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: what stands in the memory of every node. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"

#define AT      0x10000
#define QUEUE   4096    /* stores, commands and interrupts that may wait */

/* CRC32C, from RFC 3720 */
#define CRC_OF_32_ZEROS 0x8a9136aa
#define CRC_OF_DIGITS   0xe3069283

typedef struct Answer {
    uint32_t crc, state;
    uint64_t first;
} Answer;

static Answer answer(Card *card, uint8_t node)
{
    unsigned at = X_ANSWERS + 16 * node;

    return (Answer) {
        .crc = ext_readl(card, at), .state = ext_readl(card, at + 4),
        .first = ext_readq(card, at + 8),
    };
}

static bool has_answered(Card *card, uint8_t node)
{
    return ext_readl(card, X_ANSWERED + node / 32 * 4) >> node % 32 & 1;
}

static void expect_answer(Card *card, uint8_t node, uint32_t crc,
                          uint32_t state, uint64_t first)
{
    Answer is = answer(card, node);

    g_assert_true(has_answered(card, node));
    g_assert_cmphex(is.crc, ==, crc);
    g_assert_cmphex(is.state, ==, state);
    g_assert_cmphex(is.first, ==, first);
}

static unsigned answers(Card *card)
{
    unsigned count = 0;

    for (unsigned n = 0; n < 256; n++) {
        count += has_answered(card, n);
    }
    return count;
}

static uint32_t query_begin(Card *card, uint32_t offset, uint32_t length)
{
    ext_writel(card, X_QUERY_OFFSET, offset);
    ext_writel(card, X_QUERY_LENGTH, length);
    ext_writel(card, X_QUERY, 0x5a5a5a5a);
    return ext_readl(card, X_QUERY);
}

static void fence_end(Card *card)
{
    uint32_t ticket;

    ext_writel(card, X_FENCE, 0);
    ticket = ext_readl(card, X_FENCE);
    wait_until((int32_t)(ext_readl(card, X_FENCE_DONE) - ticket) >= 0);
}

/* All have answered when the fence behind the query has ended. */
static void query(Card *card, uint32_t offset, uint32_t length)
{
    uint32_t before = ext_readl(card, X_QUERY);

    g_assert_cmpuint(query_begin(card, offset, length), ==, before + 1);
    fence_end(card);
}

static void test_answers(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=200");
    Card *a = &lab->card[0], *b = &lab->card[1];

    query(a, AT, 32);
    expect_answer(a, 7, CRC_OF_32_ZEROS, 32, 0);
    expect_answer(a, 200, CRC_OF_32_ZEROS, 32, 0);
    g_assert_cmpuint(answers(a), ==, 2);
    g_assert_cmpuint(answers(b), ==, 0);

    /* Behind the stores, each time. */
    mem_write(a, AT, "123456789", 9);
    query(a, AT, 9);
    expect_answer(a, 7, CRC_OF_DIGITS, 9, 0x3837363534333231);
    expect_answer(a, 200, CRC_OF_DIGITS, 9, 0x3837363534333231);
    query(a, AT + 8, 1);
    g_assert_cmphex(answer(a, 200).first, ==, '9');
    for (unsigned i = 0; i < 50; i++) {
        for (unsigned k = 0; k < 64; k++) {
            mem_writel(a, AT + 4 * k, i * k);
        }
        query(a, AT, 4096);
        g_assert_cmphex(answer(a, 7).crc, ==, answer(a, 200).crc);
        g_assert_cmphex(answer(a, 200).first, ==, (uint64_t)i << 32);
    }

    /* What one of them does not take shows, from either side. */
    plane_set(b, AT + 0x1000, GRANULE, RX);
    mem_writel(a, AT + 0x1000, 0xbad);
    query(a, AT, 8192 - 4096);
    g_assert_cmphex(answer(a, 7).crc, ==, answer(a, 200).crc);
    query(a, AT + 0x1000, 4096);
    g_assert_cmphex(answer(a, 7).crc, !=, answer(a, 200).crc);
    g_assert_cmphex(answer(a, 7).first, ==, 0xbad);
    g_assert_cmphex(answer(a, 200).first, ==, 0);
    query(b, AT + 0x1000, 64);
    g_assert_cmphex(answer(b, 7).first, ==, 0xbad);
    g_assert_cmphex(answer(b, 200).first, ==, 0);
    /* Nobody has received anything that is no update. */
    g_assert_cmphex(ctl_readl(a, LISR) | ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* What cannot be asked is not, and a second question waits for the fence. */
static void test_refusals(void)
{
    static const struct {
        uint32_t offset, length;
    } bad[] = {
        { 0, 0 }, { 0, 32769 }, { 0, UINT32_MAX }, { 64 * MIB, 1 },
        { 64 * MIB - 1, 2 }, { UINT32_MAX, 1 }, { UINT32_MAX, UINT32_MAX },
    };
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0];

    mem_writel(a, AT, 1);
    query(a, AT, 32);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_assert_cmpuint(query_begin(a, bad[i].offset, bad[i].length), ==, 1);
        g_assert_cmpuint(answers(a), ==, 2);
    }
    g_assert_cmpuint(query_begin(a, 64 * MIB - 4096, 4096), ==, 2);
    g_assert_cmpuint(query_begin(a, AT, 32), ==, 2);
    fence_end(a);
    expect_answer(a, 7, answer(a, 9).crc, 4096, 0);
    g_assert_cmpuint(query_begin(a, AT, 32), ==, 3);
    fence_end(a);
    expect_answer(a, 9, answer(a, 7).crc, 32, 1);

    /* On a dark ring only this node answers, and the fence ends at once. */
    lcsr1_set(a, TX_DISABLE);
    query(a, AT, 32);
    g_assert_cmpuint(answers(a), ==, 1);
    g_assert_true(has_answered(a, 7));
    lab_stop(lab);
}

/* A node whose memory ends earlier says how much it has. */
static void test_sizes(void)
{
    Lab *lab = block_ring("node-id=7,memory-size=128M", "node-id=9");
    Card *a = &lab->card[0];

    query(a, 64 * MIB - 8, 32);
    g_assert_cmphex(answer(a, 7).state, ==, 32);
    g_assert_cmphex(answer(a, 9).state, ==, 8);
    query(a, 64 * MIB, 4096);
    g_assert_cmphex(answer(a, 7).state, ==, 4096);
    expect_answer(a, 9, 0, 0, 0);
    lab_stop(lab);
}

static void peer_answer(PeerLab *lab, uint64_t ticket, uint8_t dest,
                        uint32_t crc)
{
    PeerFrame frame = {
        .type = 10, .source = PEER_NODE, .dest = dest, .len = 24,
    };
    uint8_t wire[PEER_FRAME];

    stq_le_p(frame.data, ticket);
    stl_le_p(frame.data + 8, crc);
    stl_le_p(frame.data + 12, 32 | 1u << 16);   /* paused */
    stq_le_p(frame.data + 16, 0x1122334455667788);
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
}

/* The next frame of type @type that the card sends. */
static void next_of_type(PeerLab *lab, uint8_t type, uint8_t *wire)
{
    do {
        peer_receive(lab->peer.downstream, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(lab->peer.downstream, wire + PEER_MESSAGE,
                         48 - PEER_MESSAGE + wire[7]);
        }
    } while (memcmp(wire, "RF", 2) || wire[3] != type);
}

/* Only answers to the last question, and to this node, count. */
static void test_tickets(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    uint64_t tickets[2];

    peer_close_ring(lab);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(query_begin(card, AT, 32), ==, i + 1);
        next_of_type(lab, 9, wire);
        tickets[i] = ldq_le_p(wire + 48);
        ext_writel(card, X_FENCE, 0);
        next_of_type(lab, 6, wire);
        peer_send(lab->peer.upstream, wire, 56);
        wait_until(ext_readl(card, X_FENCE_DONE) == i + 1);
    }
    g_assert_cmphex(tickets[0], !=, tickets[1]);
    peer_answer(lab, tickets[0], 7, 1);
    peer_answer(lab, tickets[1], 8, 2);
    peer_answer(lab, tickets[1] ^ 1ull << 32, 7, 3);
    peer_data(lab, 1, 0, "x", 1);
    wait_until(mem_readl(card, 0) == 'x');
    g_assert_cmpuint(answers(card), ==, 1);
    peer_answer(lab, tickets[1], 7, 4);
    wait_until(has_answered(card, PEER_NODE));
    expect_answer(card, PEER_NODE, 4, 32 | 1u << 31, 0x1122334455667788);
    peer_lab_stop(lab);
}

/* The next DATA frame of the card comes home. */
static void take_home(PeerLab *lab)
{
    uint8_t wire[PEER_FRAME];

    next_of_type(lab, 1, wire);
    peer_send(lab->peer.upstream, wire, 48 + wire[7]);
}

/*
 * A card that waits for its first frame, and has no room. NULL if that took
 * longer than a node waits for a frame: the next may be quicker.
 * @wire: the first frame
 */
static PeerLab *full_block_peer(uint8_t *wire)
{
    PeerLab *lab = block_peer(",packing=off,frames-in-flight=1");
    Card *card = &lab->card;
    g_autofree uint8_t *stores = g_malloc0(8 * QUEUE / 2);
    uint32_t begun;

    peer_close_ring(lab);
    mem_writel(card, AT, 0x600d);
    next_of_type(lab, 1, wire);
    /* That one is not home, so all others wait, stores in half of the room. */
    mem_write(card, 0, stores, 8 * QUEUE / 2);
    ctl_writeb(card, NTN, PEER_NODE);
    for (unsigned i = 0; i < QUEUE / 2 - 1; i++) {
        ctl_writeb(card, NIC, NIC_PROBE);
    }
    begun = query_begin(card, AT, 32);
    if (counter(card, "frames-lost")) {
        peer_lab_stop(lab);
        return NULL;
    }
    g_assert_cmpuint(begun, ==, 0);
    return lab;
}

/* Without room in the queue BEGIN does nothing, and that is no loss. */
static void test_no_room(void)
{
    uint8_t wire[PEER_FRAME];
    PeerLab *lab;
    Card *card;

    do {
        lab = full_block_peer(wire);
    } while (!lab);
    card = &lab->card;
    g_assert_cmpuint(answers(card), ==, 0);
    g_assert_cmpuint(counter(card, "frames-full"), ==, 0);

    peer_send(lab->peer.upstream, wire, 48 + wire[7]);
    take_home(lab);
    next_of_type(lab, 1, wire);
    g_assert_cmpuint(query_begin(card, AT, 32), ==, 1);
    g_assert_cmpuint(answers(card), ==, 1);
    g_assert_cmphex(answer(card, card->node).first, ==, 0x600d);
    g_assert_cmpuint(counter(card, "frames-full"), ==, 0);
    peer_lab_stop(lab);
}

/* A machine that stands still says that its memory is behind. */
static void test_paused(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0];

    vm_set_running(lab->vm, false);
    mem_writel(a, AT, 5);
    query(a, AT, 32);
    g_assert_cmphex(answer(a, 7).first, ==, 5);
    expect_answer(a, 9, CRC_OF_32_ZEROS, 1u << 31 | 32, 0);
    vm_set_running(lab->vm, true);
    query(a, AT, 32);
    expect_answer(a, 9, answer(a, 7).crc, 32, 5);
    lab_stop(lab);
}

/* Answers come along; a question that is under way stays unanswered. */
static void test_migrates(void)
{
    LabSpec spec = { .options = { "node-id=7" }, .fibres = true };
    g_autofree char *file = lab_path("migration");
    PeerLab *source = block_peer(",packing=off");
    Card *card = &source->card;
    uint8_t node = card->node;
    uint8_t wire[PEER_FRAME];
    g_autofree char *options = g_strdup_printf("node-id=%u", node);
    Lab *target;

    spec.options[0] = options;
    peer_close_ring(source);
    mem_writel(card, AT, 0x600d);
    g_assert_cmpuint(query_begin(card, AT, 32), ==, 1);
    ext_writel(card, X_FENCE, 0);
    next_of_type(source, 9, wire);
    g_assert_cmpuint(wire[7], ==, 16);
    g_assert_cmphex(ldl_le_p(wire + 56), ==, AT);
    g_assert_cmpuint(ldl_le_p(wire + 60), ==, 32);
    migrate_to_file(source->vm, file);

    spec.incoming = true;
    target = lab_build(&spec);
    migrate_from_file(target->vm, file);
    card_attach(&target->card[0], target->vm, card);
    card = &target->card[0];
    g_assert_cmpuint(ext_readl(card, X_QUERY), ==, 1);
    g_assert_cmphex(ext_readl(card, X_QUERY_OFFSET), ==, AT);
    g_assert_cmphex(ext_readl(card, X_QUERY_LENGTH), ==, 32);
    g_assert_cmphex(answer(card, node).first, ==, 0x600d);
    g_assert_cmpuint(answers(card), ==, 1);
    wait_until(ext_readl(card, X_FENCE_DONE) == 1);
    g_assert_cmpuint(query_begin(card, AT, 32), ==, 2);
    fence_end(card);
    lab_stop(target);
    peer_lab_stop(source);
}

void rfm5565_add_query_tests(void)
{
    lab_add_test("query/answers", test_answers);
    lab_add_test("query/refusals", test_refusals);
    lab_add_test("query/sizes", test_sizes);
    lab_add_test("query/tickets", test_tickets);
    lab_add_test("query/no-room", test_no_room);
    lab_add_test("query/paused", test_paused);
    lab_add_test("query/migrates", test_migrates);
}
