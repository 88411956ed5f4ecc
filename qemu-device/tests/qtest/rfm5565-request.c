/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations at one node: the table of requests, what cannot be asked, how
 * requests end when something else does, and what is on the wire.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "rfm5565-asker.h"
#include "rfm5565-dma.h"

#define AT      0x8000
#define A       7
#define B       9
#define PORT    3

static const Request hello = {
    .op = O_SEND, .node = B, .key = PORT, .data = DATA_AT, .length = 5,
};
static const Request receive = {
    .op = O_RECEIVE, .key = PORT, .data = 2 * DATA_AT, .length = 5,
};
static const Request listen_there = { .op = O_LISTEN, .key = PORT };
static const Request get = {
    .op = O_READ, .node = B, .offset = AT, .data = DATA_AT, .length = 8,
};

static Lab *ring(void)
{
    return asker_ring("node-id=7", "node-id=9");
}

/* It does not end by itself: to port 1 nobody sends anything. */
static void begin_endless(Card *card, unsigned slot)
{
    const Request open = { .op = O_LISTEN, .key = 1 };
    Request wait = receive;

    if (!slot) {
        g_assert_cmpuint(request_run(card, &open), ==, E_OK);
    }
    wait.key = 1;
    request_begin(card, slot, &wait);
}

/* One that is on the ring for some seconds: nobody receives at b's port. */
static void begin_sending(Lab *lab, unsigned slot)
{
    Card *a = &lab->card[0];
    uint64_t packets = counter(a, "packets");

    request_begin(a, slot, &hello);
    wait_until(counter(a, "packets") > packets);
}

/* --- what cannot be ------------------------------------------------------- */

static const Request bad_requests[] = {
    { .op = 0 },
    { .op = 7 },
    { .op = 15 },
    { .op = 22 },
    { .op = 255 },
    { .op = O_READ, .node = B, .data = DATA_AT },
    { .op = O_READ, .node = B, .data = DATA_AT, .length = REQUEST_MAX + 1 },
    { .op = O_WRITE, .node = B, .data = DATA_AT, .length = 0xffffffff },
    { .op = O_READ, .node = B, .data = DATA_AT, .length = 8, .width = 8 },
    { .op = O_READ, .node = B, .data = DATA_AT, .length = 8, .flags = 1 },
    { .op = O_READ, .node = B, .data = DATA_AT, .length = 8, .reserved = 1 },
    { .op = O_READ, .node = B, .data = DATA_AT, .length = 8, .list = 0x600004 },
    { .op = O_ADD, .node = B },
    { .op = O_ADD, .node = B, .width = 2 },
    { .op = O_CAS, .node = B, .width = 16 },
    { .op = O_CAS, .node = B, .width = 8, .flags = 1 },
    { .op = O_MERGE, .node = B },
    { .op = O_MERGE, .node = B, .length = 64, .key = 1 },
    { .op = O_SEND, .node = B, .key = 65536, .data = DATA_AT, .length = 5 },
    { .op = O_RESYNC, .flags = 2 },
    { .op = O_RECEIVE, .key = PORT, .data = DATA_AT },
    { .op = O_REGION, .data = DATA_AT, .length = 8 },
    { .op = O_REGION, .key = 1, .data = DATA_AT },
    { .op = O_REGION, .key = 1, .data = DATA_AT, .length = 8, .flags = 16 },
    { .op = O_REGION, .key = 1, .data = DATA_AT, .length = 64 * MIB + 1 },
};

static void test_invalid(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0];
    Request crooked = get;

    for (unsigned i = 0; i < ARRAY_SIZE(bad_requests); i++) {
        g_test_message("bad request %u", i);
        g_assert_cmpuint(request_run(a, &bad_requests[i]), ==, E_INVALID);
    }
    /* A second page that does not begin where pages do */
    qtest_writeq(lab->vm->qts, 0x600000, DATA_AT + 4090);
    qtest_writeq(lab->vm->qts, 0x600008, DATA_AT + 8);
    crooked.list = 0x600000;
    g_assert_cmpuint(request_run(a, &crooked), ==, E_INVALID);
    g_assert_cmphex(ext_readl(a, X_REQUEST_STATUS), ==, 1);
    g_assert_cmpuint(counter(a, "packets"), ==, 0);
    lab_stop(lab);
}

/* It has gone to FAULT, and back. */
static void expect_fault(Card *card)
{
    wait_until(ext_readl(card, X_REQUEST_STATUS) == FAULT);
    wait_until((ext_readl(card, X_INT_STATUS) &
                (1u << V_DMA | 1u << V_ERRORS)) ==
               (1u << V_DMA | 1u << V_ERRORS));
    ext_writel(card, X_INT_STATUS, ~0u);
    ext_writel(card, X_BEGIN, 1);       /* nobody looks */
    ext_writel(card, X_REQUESTS, 0);
    g_assert_cmphex(ext_readl(card, X_REQUEST_STATUS), ==, 0);
}

static void test_fault(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0];
    static const uint64_t bases[] = {
        0x300004, NO_MEMORY_AT, ~0ull << 6, 0xfee00000,
    };
    Request bad = get;

    for (unsigned i = 0; i < ARRAY_SIZE(bases); i++) {
        ext_writel(a, X_REQUESTS, 0);
        ext_writeq(a, X_TABLE, bases[i]);
        ext_writel(a, X_REQUESTS, 1);
        ext_writel(a, X_BEGIN, 255);
        expect_fault(a);
    }
    /* A list, then data, where no memory is; and the card's own is none */
    for (unsigned i = 0; i < 3; i++) {
        table_start(a);
        bad.op = O_WRITE;
        bad.list = i ? 0 : NO_MEMORY_AT;
        bad.data = i == 2 ? a->bar[3].addr : NO_MEMORY_AT;
        request_begin(a, 1, &bad);
        expect_fault(a);
        g_assert_cmphex(request_status(a, 1), ==, 0);
    }
    table_start(a);
    bus_master(a, false);
    request_begin(a, 1, &hello);
    expect_fault(a);
    bus_master(a, true);

    table_start(a);
    g_assert_cmpuint(request_run(a, &hello), ==, E_CLOSED);
    lab_stop(lab);
}

/* Bells of no slot, of one that is under way, and of a table that is off */
static void test_doorbells(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0];

    begin_endless(a, 0);
    for (unsigned i = 0; i < 100; i++) {
        ext_writel(a, X_BEGIN, 256 + i);
        ext_writel(a, X_BEGIN, ~i);
        ext_writel(a, X_BEGIN, 0);
        ext_writel(a, X_CANCEL, 256 + i);
        ext_writel(a, X_CANCEL, 1 + i % 255);   /* nothing is there */
    }
    g_assert_cmphex(request_status(a, 0), ==, 0);
    ext_writel(a, X_CANCEL, 0);
    g_assert_cmpuint(request_end(a, 0), ==, E_CANCELLED);
    ext_writel(a, X_CANCEL, 0);
    g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);

    /* All slots at once */
    for (unsigned i = 0; i < REQUESTS; i++) {
        request_begin(a, i, &get);
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        g_assert_cmpuint(request_end(a, i), ==, E_DENIED);
    }
    ext_writel(a, X_REQUESTS, 0);
    request_begin(a, 0, &get);
    ext_writel(a, X_REQUESTS, 1);
    request_begin(a, 1, &get);
    g_assert_cmpuint(request_end(a, 1), ==, E_DENIED);
    g_assert_cmphex(request_status(a, 0), ==, 0);
    lab_stop(lab);
}

/* What is asked for is read once, whoever writes there afterwards. */
static void test_read_once(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request other = hello;

    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    begin_sending(lab, 0);
    other.op = O_READ;
    other.data = NO_MEMORY_AT;
    request_put(a, 0, &other);
    data_put(lab->vm, DATA_AT, "xxxxx", 5);
    request_begin(b, 1, &receive);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);
    g_assert_cmpuint(request_end(a, 0), ==, E_OK);
    data_expect(lab->vm, 2 * DATA_AT, "\0\0\0\0\0", 5);
    lab_stop(lab);
}

/* While some wait for the host's memory, others go on. */
static void test_memory(void)
{
    enum { WAITING = 33 };
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request much = hello, little = get;
    const Request region = {
        .op = O_REGION, .key = 77, .data = 3 * DATA_AT, .length = 8,
    }, revoke = { .op = O_REVOKE, .key = 77 };
    const Request close_there = { .op = O_UNLISTEN, .key = PORT };

    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    much.length = REQUEST_MAX;
    for (unsigned i = 0; i < WAITING; i++) {
        request_begin(a, 1 + i, &much);
    }
    g_assert_cmpuint(request_run(a, &region), ==, E_OK);
    g_assert_cmpuint(request_run(a, &revoke), ==, E_OK);
    g_assert_cmpuint(request_run(a, &little), ==, E_DENIED);
    ext_writel(a, X_CANCEL, WAITING);
    g_assert_cmpuint(request_end(a, WAITING), ==, E_CANCELLED);
    request_begin(a, WAITING, &much);
    for (unsigned i = 0; i < WAITING; i++) {
        g_assert_cmphex(request_status(a, 1 + i), ==, 0);
    }
    g_assert_cmpuint(request_run(b, &close_there), ==, E_OK);
    for (unsigned i = 0; i < WAITING; i++) {
        g_assert_cmpuint(request_end(a, 1 + i), ==, E_CLOSED);
    }
    lab_stop(lab);
}

/* --- who looks for the end ------------------------------------------------ */

static bool dma_interrupts(Card *a)
{
    return ext_readl(a, X_INT_STATUS) & 1u << V_DMA;
}

/* Returns whether it was found by looking, before the card told it. */
static bool look_finds(Card *a)
{
    ext_writel(a, X_INT_STATUS, ~0u);
    request_begin(a, 1, &get);
    do {
        g_assert_cmphex(ext_readl(a, X_REQUEST_STATUS), ==, RUNNING);
    } while (!request_status(a, 1));
    g_assert_cmpuint(request_end(a, 1), ==, E_OK);
    data_expect(a->vm, DATA_AT, "watchful", 8);
    data_put(a->vm, DATA_AT, "\0\0\0\0\0\0\0", 8);
    /* The main context has told it if the interrupt comes in its next turns. */
    for (unsigned i = 0; i < 20 && !dma_interrupts(a); i++) {
        g_usleep(200);
    }
    return !dma_interrupts(a);
}

/*
 * To read the register is to look. What is found raises no interrupt, unless
 * somebody may wait for another one.
 */
static void test_look(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];

    mem_writel(b, AT, ldl_le_p("watc"));
    mem_writel(b, AT + 4, ldl_le_p("hful"));
    plane_set(b, AT, GRANULE, MAY_READ | ON);
    g_assert_cmpuint(request_run(a, &get), ==, E_OK);
    wait_until(dma_interrupts(a));
    if (lab_shares_memory()) {
        wait_until(look_finds(a));
    } else {
        g_assert_false(look_finds(a));  /* a socket's reader is elsewhere */
    }
    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    begin_sending(lab, 2);
    for (unsigned i = 0; i < 20; i++) {
        g_assert_false(look_finds(a));
    }
    lab_stop(lab);
}

/* --- how it is told ------------------------------------------------------- */

/* The vector DMA, which the DMA engine has for itself too */
static void test_interrupt(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0];

    intx_watch(lab->vm);
    ext_writel(a, X_TIME, 4000000000u);         /* it is not held up */
    ext_writel(a, X_INT_ENABLE, 1u << V_DMA);
    for (unsigned i = 0; i < 3; i++) {
        g_assert_false(intx_level(a));
        g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);
        wait_until(intx_level(a));
        g_assert_cmphex(ext_readl(a, X_INT_STATUS), ==, 1u << V_DMA);
        ext_writel(a, X_INT_STATUS, 1u << V_DMA);
    }
    g_assert_false(intx_level(a));
    lab_stop(lab);
}

/* --- other ends ----------------------------------------------------------- */

/* When the register has been written all is over, and nothing is touched. */
static void test_disable(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];

    for (unsigned turn = 0; turn < 2; turn++) {
        g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
        for (unsigned i = 0; i < 16; i++) {
            begin_endless(a, i);
        }
        begin_sending(lab, 16);
        if (turn) {
            qtest_system_reset(lab->vm->qts);
            card_fini(a);
            card_fini(b);
            card_init(a, lab->vm, FIRST_SLOT);
            card_init(b, lab->vm, FIRST_SLOT + 1);
            block_map(a);
            block_map(b);
        } else {
            ext_writel(a, X_REQUESTS, 0);
            ext_writel(b, X_REQUESTS, 0);
        }
        g_assert_cmphex(ext_readl(a, X_REQUESTS), ==, 0);
        g_assert_cmphex(ext_readl(a, X_REQUEST_STATUS), ==, 0);
        g_usleep(20000);
        for (unsigned i = 0; i < 16; i++) {
            g_assert_cmphex(request_status(a, i), ==, 0);
        }
        g_assert_true(!request_status(a, 16) ||
                      request_end(a, 16) == E_NO_ROOM);     /* before */
        table_start(a);
        table_start(b);
        g_assert_cmpuint(request_run(a, &hello), ==, E_CLOSED);
        g_assert_cmpuint(request_run(a, &receive), ==, E_CLOSED);
    }
    lab_stop(lab);
}

/* What was asked before the machine stood still ends when it goes on. */
static void test_paused(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];

    begin_endless(a, 0);
    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    vm_set_running(lab->vm, false);
    ext_writel(a, X_CANCEL, 0);
    request_begin(b, 1, &receive);
    g_usleep(20000);
    g_assert_cmphex(request_status(a, 0), ==, 0);
    vm_set_running(lab->vm, true);
    g_assert_cmpuint(request_end(a, 0), ==, E_CANCELLED);
    g_assert_cmpuint(request_run(a, &hello), ==, E_OK);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);
    lab_stop(lab);
}

/* A node that leaves the ring ends what it asks; so does one that is asked. */
static void test_dark(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint32_t result;

    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    begin_sending(lab, 0);
    lcsr1_set(a, TX_DISABLE);
    result = request_end(a, 0);
    g_assert_true(result == E_DARK || result == E_UNKNOWN ||
                  result == E_NO_ROOM);
    g_assert_cmpuint(request_run(a, &get), ==, E_DARK);
    lcsr1_clear(a, TX_DISABLE);
    ring_wait_closed(lab->card, 2);
    ring_wait_current(a, b);
    request_begin(b, 1, &receive);
    wait_until(request_run(a, &hello) == E_OK);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);

    begin_sending(lab, 1);
    begin_endless(&lab->card[1], 0);
    lab_unplug(lab, 1);
    result = request_end(a, 1);
    g_assert_true(result == E_DARK || result == E_UNKNOWN ||
                  result == E_NO_NODE || result == E_NO_ROOM);
    lab_unplug(lab, 0);
    vm_stop(lab->vm);
    g_free(lab);
}

/* Ports, regions and rights come along; requests end where they arrive. */
static void test_migration(void)
{
    LabSpec spec = {
        .options = { "node-id=7", "node-id=9" }, .fibres = true,
    };
    const Request region = {
        .op = O_REGION, .key = 77, .data = 3 * DATA_AT + 8, .length = 9000,
        .flags = MAY_BE_READ | MAY_BE_WRITTEN,
    };
    Request put = {
        .op = O_WRITE, .node = B, .key = 77, .offset = 5000, .data = DATA_AT,
        .length = 5,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = ring(), *target;
    Card *a = &source->card[0], *b = &source->card[1];
    uint64_t packets;
    uint32_t result;
    uint8_t got[9000];

    g_assert_cmpuint(request_run(b, &region), ==, E_OK);
    plane_set(b, AT, GRANULE, MAY_READ | ON);
    plane_set(b, AT + 64, GRANULE, HOME | ON);
    data_put(source->vm, DATA_AT, "hello", 5);
    g_assert_cmpuint(request_run(b, &listen_there), ==, E_OK);
    for (unsigned i = 0; i < 40; i++) {
        begin_endless(a, i);
    }
    begin_sending(source, 255);
    packets = counter(a, "packets");
    migrate_to_file(source->vm, file);

    target = lab_migrate(&spec, file, source->card);
    a = &target->card[0];
    b = &target->card[1];
    for (unsigned i = 0; i < 40; i++) {
        g_assert_cmpuint(request_end(a, i), ==, E_CANCELLED);
    }
    result = request_end(a, 255);
    g_assert_true(result == E_CANCELLED || result == E_NO_ROOM);
    g_assert_cmpuint(counter(a, "packets"), >=, packets);
    ring_wait_closed(target->card, 2);
    ring_wait_current(a, b);
    ring_wait_current(b, a);
    g_assert_cmpuint(request_run(a, &get), ==, E_OK);
    ext_writel(b, X_OFFSET, AT);
    g_assert_cmphex(ext_readl(b, X_RIGHTS), ==, 1);
    g_assert_cmphex(ext_readl(b, X_RIGHTS + 8), ==, 2);
    data_put(target->vm, DATA_AT, "hello", 5);
    g_assert_cmpuint(request_run(a, &put), ==, E_OK);
    data_get(target->vm, 3 * DATA_AT + 8, got, sizeof(got));
    g_assert_cmpmem(got + 5000, 5, "hello", 5);
    request_begin(b, 1, &receive);
    g_assert_cmpuint(request_run(a, &hello), ==, E_OK);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);
    lab_stop(target);
    lab_stop(source);
}

/* A plain 5565 knows nothing of it, and refuses. */
static void test_plain(void)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7", "node-id=9,extension=off" }, .fibres = true,
    });
    Card *a = &lab->card[0];

    block_map(a);
    ring_wait_closed(lab->card, 2);
    table_start(a);
    wait_until(node_state(a, B) & NODE_PRESENT);
    g_assert_cmpuint(request_run(a, &get), ==, E_NO_ROOM);
    g_assert_cmpuint(counter(&lab->card[1], "packets-refused"), >, 0);
    lab_stop(lab);
}

/* --- on the wire ---------------------------------------------------------- */

/* A request to the card, of 48 bytes; the number of the part is @stream. */
static void peer_ask(PeerLab *lab, uint64_t seq, uint8_t op, uint8_t stream,
                     uint32_t ticket, uint64_t incarnation, uint64_t value)
{
    PeerFrame frame = {
        .type = 11, .source = PEER_NODE, .dest = A, .kind = 0xc1, .seq = seq,
        .address = stream | 1u << 16, .len = 48,
    };
    uint8_t wire[PEER_FRAME];

    frame.data[0] = op;
    frame.data[1] = 4;
    stl_le_p(frame.data + 4, ticket);
    stq_le_p(frame.data + 8, incarnation);
    stq_le_p(frame.data + 16, AT);
    stl_le_p(frame.data + 28, 4);
    stq_le_p(frame.data + 40, value);
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
}

/* The next frame of the card; others that it says are skipped. */
static void next_of_type(PeerLab *lab, uint8_t type, uint8_t source,
                         uint8_t *wire)
{
    do {
        peer_receive(lab->peer.downstream, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(lab->peer.downstream, wire + PEER_MESSAGE,
                         48 - PEER_MESSAGE + wire[7]);
        }
    } while (memcmp(wire, "RF", 2) || wire[3] != type || wire[4] != source);
}

static void expect_answer(PeerLab *lab, uint8_t stream, uint32_t ticket,
                          uint8_t result, uint64_t old)
{
    uint8_t wire[PEER_FRAME];

    next_of_type(lab, 11, A, wire);
    g_assert_cmpuint(wire[5], ==, PEER_NODE);
    g_assert_cmphex(wire[6], ==, 0xc2);
    g_assert_cmpuint(wire[7], ==, 16);
    g_assert_cmphex(ldl_le_p(wire + 8), ==, stream | 1u << 16);
    g_assert_cmpuint(wire[48], ==, result);
    g_assert_cmpuint(wire[49], ==, O_ADD);
    g_assert_cmpuint(ldl_le_p(wire + 52), ==, ticket);
    g_assert_cmpuint(ldq_le_p(wire + 56), ==, old);
    /* It comes home, with the marks of who has taken it. */
    wire[45] |= 0xc0;
    wire[47] = ~(wire[44] * 3 + wire[45] * 7 + wire[46] * 11);
    peer_send(lab->peer.upstream, wire, 64);
}

/*
 * The home stores what it changes ahead of its answer, and a request that
 * comes twice is done once. The frame comes home with the verdict.
 */
static void test_wire(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    uint64_t incarnation;

    plane_set(card, AT, GRANULE, HOME | ON);
    mem_writel(card, 64 * MIB - 4, 0xc105ed);
    peer_next_update(lab->peer.downstream, wire);
    incarnation = ldq_le_p(wire + 16);
    peer_send(lab->peer.upstream, wire, 52);
    ctl_wait(card, LCSR1, OWN_DATA, OWN_DATA);

    peer_ask(lab, 1, O_ADD, 5, 1000, incarnation, 3);
    next_of_type(lab, 11, PEER_NODE, wire);
    g_assert_cmphex(wire[45] & 0xc0, ==, 0xc0);
    next_of_type(lab, 1, A, wire);
    g_assert_cmphex(ldl_le_p(wire + 8), ==, AT);
    g_assert_cmpuint(ldl_le_p(wire + 48), ==, 3);
    peer_send(lab->peer.upstream, wire, 52);
    expect_answer(lab, 5, 1000, 0, 0);

    peer_ask(lab, 2, O_ADD, 5, 1000, incarnation, 3);
    expect_answer(lab, 5, 1000, 0, 0);
    g_assert_cmpuint(mem_readl(card, AT), ==, 3);
    peer_ask(lab, 3, O_ADD, 5, 1001, incarnation - 1, 3);
    expect_answer(lab, 5, 1001, 4, 0);
    peer_ask(lab, 4, O_ADD, 31, 1, incarnation, 1);
    expect_answer(lab, 31, 1, 0, 3);
    g_assert_cmpuint(mem_readl(card, AT), ==, 4);

    /* No such part, and no request: it is seen, and not taken. */
    peer_ask(lab, 5, O_ADD, 32, 1, incarnation, 1);
    next_of_type(lab, 11, PEER_NODE, wire);
    while (ldq_le_p(wire + 24) != 5) {
        next_of_type(lab, 11, PEER_NODE, wire);
    }
    g_assert_cmphex(wire[45] & 0xc0, ==, 0x40);
    g_assert_cmpuint(counter(card, "packets-refused"), ==, 1);
    g_assert_cmpuint(counter(card, "requests-served"), ==, 4);
    peer_lab_stop(lab);
}

void rfm5565_add_request_tests(void)
{
    lab_add_test("request/invalid", test_invalid);
    lab_add_test("request/fault", test_fault);
    lab_add_test("request/doorbells", test_doorbells);
    lab_add_test("request/look", test_look);
    lab_add_test("request/read-once", test_read_once);
    lab_add_test("request/memory", test_memory);
    lab_add_test("request/interrupt", test_interrupt);
    lab_add_test("request/disable", test_disable);
    lab_add_test("request/paused", test_paused);
    lab_add_test("request/dark", test_dark);
    lab_add_test("request/migration", test_migration);
    lab_add_test("request/plain", test_plain);
    lab_add_test("request/wire", test_wire);
}
