/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The burst range. No CPU runs, and the virtual clock stands still: so nothing
 * is sent from there but by a scan that the test asks for.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"
#include "rfm5565-asker.h"

#define AT      0x10000u
#define SIZE    0x20000u
#define END     (AT + SIZE)
#define PAGE    4096u
#define MS      1000000ull
#define OUTSIDE 0x8000u

/* --- the registers -------------------------------------------------------- */

/* Return when the range is that. */
static void burst_set(Card *card, uint32_t offset, uint32_t length)
{
    ext_writel(card, X_BURST_OFFSET, offset);
    ext_writel(card, X_BURST_LENGTH, length);
    ext_writel(card, X_BURST_COMMAND, 1);
    g_assert_cmphex(ext_readl(card, X_BURST_COMMAND), ==, 0);
    wait_until(ext_readl(card, X_BURST_NOW_OFFSET) == (length ? offset : 0) &&
               ext_readl(card, X_BURST_NOW_LENGTH) == length);
}

static uint32_t flush_begin(Card *card)
{
    ext_writel(card, X_BURST_FLUSH, 0x5a5a5a5a);
    return ext_readl(card, X_BURST_FLUSH);
}

static bool flush_has_ended(Card *card, uint32_t ticket)
{
    return (int32_t)(ext_readl(card, X_BURST_FLUSHED) - ticket) >= 0;
}

static void flush(Card *card)
{
    uint32_t ticket = flush_begin(card);

    wait_until(flush_has_ended(card, ticket));
}

/* What the other card has in its memory once a store outside has come. */
static uint32_t seen_behind_store(Card *a, Card *b, uint32_t at)
{
    static uint32_t number;

    mem_writel(a, OUTSIDE, ++number);
    mem_waitl(b, OUTSIDE, number);
    return mem_readl(b, at);
}

static void test_registers(void)
{
    static const struct {
        uint32_t offset, length;
    } bad[] = {
        { 1, PAGE }, { 0, 1 }, { 0, PAGE - 64 }, { 64, PAGE },
        { 64 * MIB, PAGE }, { 64 * MIB - PAGE, 2 * PAGE },
        { PAGE, 0u - PAGE }, { 0u - PAGE, PAGE },
    };
    Lab *lab = block_ring("node-id=7", "node-id=9,burst-offset=64K,"
                          "burst-size=128K");
    Card *a = &lab->card[0], *b = &lab->card[1];

    g_assert_cmphex(ext_readl(a, X_BURST_NOW_LENGTH), ==, 0);
    g_assert_cmpuint(ext_readl(a, X_BURST_PERIOD), ==, 1000);
    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        ext_writel(a, X_BURST_OFFSET, bad[i].offset);
        ext_writel(a, X_BURST_LENGTH, bad[i].length);
        ext_writel(a, X_BURST_COMMAND, 1);
        g_assert_cmphex(ext_readl(a, X_BURST_COMMAND), ==, 1);
        flush(a);
        g_assert_cmphex(ext_readl(a, X_BURST_NOW_LENGTH), ==, 0);
    }
    burst_set(a, 64 * MIB - PAGE, PAGE);
    burst_set(a, 0, 64 * MIB);
    burst_set(a, 0, 0);

    ext_writel(a, X_BURST_PERIOD, 99);
    g_assert_cmpuint(ext_readl(a, X_BURST_PERIOD), ==, 100);
    ext_writel(a, X_BURST_PERIOD, 1000001);
    g_assert_cmpuint(ext_readl(a, X_BURST_PERIOD), ==, 1000000);

    /* As the card was made */
    g_assert_cmphex(ext_readl(b, X_BURST_OFFSET), ==, AT);
    g_assert_cmphex(ext_readl(b, X_BURST_LENGTH), ==, SIZE);
    wait_until(ext_readl(b, X_BURST_NOW_LENGTH) == SIZE);
    g_assert_cmphex(ext_readl(b, X_BURST_NOW_OFFSET), ==, AT);
    lab_stop(lab);
}

/* --- what sends ----------------------------------------------------------- */

/* Stores stay here until a scan, whatever their width and place. */
static void test_flush(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(SIZE, 1);
    g_autofree uint8_t *there = g_malloc(SIZE);
    uint64_t before;

    burst_set(a, AT, SIZE);
    mem_write(a, AT, data, SIZE);
    g_assert_cmphex(seen_behind_store(a, b, AT), ==, 0);
    flush(a);
    fence(a, b);
    card_expect(b, AT, data, SIZE);
    g_assert_cmpuint(counter(a, "burst-bytes"), >, 0);

    /* Nothing has changed: nothing is sent. */
    before = counter(a, "stores");
    mem_write(a, AT, data, SIZE);
    flush(a);
    flush(a);
    g_assert_cmpuint(counter(a, "stores"), ==, before);

    /* Unaligned, across pages, and across both ends of the range */
    data[1]++;
    for (unsigned i = PAGE - 3; i < PAGE + 70; i++) {
        data[i] ^= 0xa5;
    }
    mem_write(a, AT + 1, data + 1, 1);
    mem_write(a, AT + PAGE - 3, data + PAGE - 3, 73);
    qpci_io_writeq(a->pci, a->bar[3], AT - 4, 0x1122334455667788);
    qpci_io_writeq(a->pci, a->bar[3], END - 3, 0x1122334455667788);
    mem_read(a, AT, data, SIZE);
    flush(a);
    fence(a, b);
    mem_read(b, AT, there, SIZE);
    g_assert_true(!memcmp(there, data, SIZE));
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], AT - 4), ==,
                    0x1122334455667788);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], END - 3), ==,
                    0x1122334455667788);
    lab_stop(lab);
}

/* A fence, each interrupt, and the period: what was stored goes before. */
static void test_before(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint32_t ticket;

    burst_set(a, AT, SIZE);
    for (unsigned i = 1; i <= 50; i++) {
        mem_writel(a, AT + PAGE, i);
        ext_writel(a, X_FENCE, 1);
        ticket = ext_readl(a, X_FENCE);
        wait_until((int32_t)(ext_readl(a, X_FENCE_DONE) - ticket) >= 0);
        g_assert_cmphex(ext_readl(a, X_FENCE_RESULT), ==, 0);
        g_assert_cmpuint(mem_readl(b, AT + PAGE), ==, i);

        mem_writel(a, AT, i);
        nic_send(a, 9, NIC_INT1, i);
        mem_writel(a, AT + 4, i);
        nic_send(a, 9, NIC_INT2, i);
        fifo_expect(b, 2, 7, i);
        g_assert_cmpuint(mem_readl(b, AT + 4), ==, i);
        fifo_expect(b, 1, 7, i);
        g_assert_cmpuint(mem_readl(b, AT), ==, i);

        mem_writel(a, END - 4, i);
        ext_writel(a, X_SET, 1u << 9);
        ext_writel(a, X_DATA, i);
        ext_writel(a, X_SEND, 3);
        fifo_expect(b, 3, 7, i);
        g_assert_cmpuint(mem_readl(b, END - 4), ==, i);
    }
    g_assert_cmpuint(counter(a, "burst-late"), ==, 0);

    for (unsigned period = 100; period <= 1000000; period *= 10) {
        ext_writel(a, X_BURST_PERIOD, period);
        mem_writel(a, AT + 8, period);
        qtest_clock_step(lab->vm->qts, (period - 1) * 1000ull);
        g_assert_cmpuint(seen_behind_store(a, b, AT + 8), !=, period);
        qtest_clock_step(lab->vm->qts, 1000);
        mem_waitl(b, AT + 8, period);
    }
    lab_stop(lab);
}

/* --- nothing of others, nothing older ------------------------------------- */

/* The next update of the card is that, byte by byte. */
static void next_is(PeerLab *lab, uint32_t address, const void *data,
                    unsigned len)
{
    uint8_t wire[PEER_FRAME];

    peer_next_update(lab->peer.downstream, wire);
    while (wire[4] != 7) {      /* of the test, on its way home */
        peer_next_update(lab->peer.downstream, wire);
    }
    g_assert_cmphex(ldl_le_p(wire + 8), ==, address);
    g_assert_cmpuint(wire[7], ==, len);
    g_assert_cmpint(memcmp(wire + 48, data, len), ==, 0);
}

/*
 * Without the shadow copy the scan could not tell what is whose: it would send
 * the page, or the word.
 */
static void test_foreign(void)
{
    PeerLab *lab = block_peer(",packing=off,train=1");
    Card *card = &lab->card;
    uint64_t before, seq = 1;

    peer_close_ring(lab);
    burst_set(card, AT, SIZE);
    flush(card);

    /* What comes in between is not sent back, nor what it has replaced. */
    before = counter(card, "stores");
    mem_writel(card, AT + 0x100, 0x01010101);
    mem_writel(card, AT + 0x200, 0x02020202);
    peer_data(lab, seq++, AT + 0x100, "abcd", 4);
    peer_data(lab, seq++, AT + 0x300, "efgh", 4);
    mem_waitl(card, AT + 0x300, 0x68676665);
    flush(card);
    next_is(lab, AT + 0x200, "\2\2\2\2", 4);
    g_assert_cmpuint(counter(card, "stores"), ==, before + 1);
    g_assert_cmphex(mem_readl(card, AT + 0x100), ==, 0x64636261);

    /* Bytes of one word, of two writers */
    qpci_io_writeq(card->pci, card->bar[3], AT + 0x400, 0);
    mem_write(card, AT + 0x400, "\x11", 1);
    mem_write(card, AT + 0x405, "\x55\x66", 2);
    peer_data(lab, seq++, AT + 0x401, "hij", 3);
    peer_data(lab, seq++, AT + 0x407, "k", 1);
    mem_waitl(card, AT + 0x404, 0x6b665500);
    flush(card);
    next_is(lab, AT + 0x400, "\x11", 1);
    next_is(lab, AT + 0x405, "\x55\x66", 2);
    g_assert_cmpuint(counter(card, "stores"), ==, before + 3);

    /* An own store behind theirs is sent, also if it is what was before. */
    peer_data(lab, seq++, AT + 0x500, "lmno", 4);
    mem_waitl(card, AT + 0x500, 0x6f6e6d6c);
    mem_writel(card, AT + 0x500, 0);
    flush(card);
    next_is(lab, AT + 0x500, "\0\0\0\0", 4);
    g_assert_cmpuint(counter(card, "stores"), ==, before + 4);

    /* Theirs and nothing else: nothing is sent. */
    peer_data(lab, seq++, AT + PAGE - 2, "pqrs", 4);
    mem_waitl(card, AT + PAGE, 0x00007372);
    flush(card);
    g_assert_cmpuint(counter(card, "stores"), ==, before + 4);
    g_assert_cmpuint(counter(card, "burst-bytes"), ==, 11);
    peer_lab_stop(lab);
}

/* What the card's own engine moves there is sent once. */
static void test_dma(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(SIZE, 3);

    block_map(a);
    burst_set(a, AT, SIZE);
    flush(a);
    host_write(lab->vm, BUFFER, data, SIZE);
    dma_run(a, &(Transfer){ .host = BUFFER, .at = AT, .len = SIZE });
    flush(a);
    fence(a, b);
    card_expect(a, AT, data, SIZE);
    card_expect(b, AT, data, SIZE);
    g_assert_cmpuint(counter(a, "burst-bytes"), ==, 0);

    /* What was stored there is moved out of there. */
    mem_writel(a, AT + 64, 0x12345678);
    memcpy(data + 64, "\x78\x56\x34\x12", 4);
    dma_run(a, &(Transfer){ .direction = 8, .host = BUFFER2, .at = AT,
                            .len = SIZE });
    host_expect(lab->vm, BUFFER2, data, SIZE);
    lab_stop(lab);
}

/* What others do with this node's memory alone is not sent by a scan. */
static void test_write(void)
{
    Lab *lab = asker_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(PAGE, 7);

    burst_set(b, AT, SIZE);
    flush(b);
    plane_set(b, AT, SIZE, MAY_WRITE | ON);
    data_put(lab->vm, DATA_AT, data, PAGE);
    g_assert_cmpuint(request_run(a, &(Request){
        .op = O_WRITE, .node = 9, .offset = AT + 128, .data = DATA_AT,
        .length = PAGE - 128,
    }), ==, E_OK);
    card_expect(b, AT + 128, data, PAGE - 128);
    mem_writel(b, AT, 1);
    flush(b);
    fence(b, a);
    g_assert_cmpuint(mem_readl(a, AT), ==, 1);
    g_assert_cmpuint(mem_readl(a, AT + 128), ==, 0);
    g_assert_cmpuint(counter(b, "burst-bytes"), ==, 1);
    lab_stop(lab);
}

/*
 * What a MERGE brings is not sent, and what was stored here while it was asked
 * for, and no scan has sent, is newer.
 */
static void test_merge(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7", &box);
    Card *donor = &lab->card[0], *asker = &lab->card[1];
    const Request merge = {
        .op = O_MERGE, .node = 7, .offset = AT, .length = 0x400,
    };

    block_map(donor);
    block_map(asker);
    table_start(asker);
    wait_until(node_state(asker, 7) & NODE_PRESENT);
    plane_set(donor, AT, 0x400, TX);
    for (unsigned i = 0; i < 0x400; i += 0x80) {
        mem_writel(donor, AT + i, 0x1d);
    }
    plane_set(donor, AT, 0x400, TX | ON);
    burst_set(asker, AT, SIZE);
    flush(asker);
    ring_wait_current(donor, asker);
    fibre_hold(box, true);
    request_begin(asker, 0, &merge);
    wait_until(counter(donor, "requests-served"));
    mem_writel(asker, AT + 0x100, 0x600d);
    fibre_hold(box, false);
    g_assert_cmpuint(request_end(asker, 0), ==, E_OK);
    for (unsigned i = 0; i < 0x400; i += 0x80) {
        g_assert_cmphex(mem_readl(asker, AT + i), ==,
                        i == 0x100 ? 0x600d : 0x1d);
    }
    flush(asker);
    fence(asker, donor);
    g_assert_cmphex(mem_readl(donor, AT + 0x100), ==, 0x600d);
    g_assert_cmpuint(counter(asker, "burst-bytes"), ==, 2);
    lab_stop(lab);
    fibre_free(box);
}

/* --- what ordinary stores obey -------------------------------------------- */

static void test_filters(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t before;

    burst_set(a, AT, SIZE);
    flush(a);
    plane_set(a, AT + 64, 64, TX);
    mem_writel(a, AT, 1);
    mem_writel(a, AT + 64, 2);
    mem_writel(a, AT + 128, 3);
    flush(a);
    fence(a, b);
    g_assert_cmpuint(mem_readl(b, AT), ==, 1);
    g_assert_cmpuint(mem_readl(b, AT + 64), ==, 0);
    g_assert_cmpuint(mem_readl(b, AT + 128), ==, 3);
    plane_set(a, AT + 64, 64, TX | ON);
    flush(a);
    fence(a, b);
    g_assert_cmpuint(mem_readl(b, AT + 64), ==, 0);

    /* Off the ring they are counted as stores are. */
    lcsr1_set(a, TX_DISABLE);
    before = counter(a, "frames-dark");
    mem_writel(a, AT, 4);
    flush(a);
    g_assert_cmpuint(counter(a, "frames-dark"), ==, before + 1);
    lab_stop(lab);
}

/* Where stores must be looked at there is no range meanwhile. */
static void test_suspended(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    burst_set(a, AT, SIZE);
    mem_writel(a, AT, 0x11223344);
    bar_write(a, 0, BIGEND, 4, PIO_SWAP);
    wait_until(ext_readl(a, X_BURST_NOW_LENGTH) == 0);
    g_assert_cmphex(mem_readl(a, AT), ==, 0x44332211);
    flush(a);
    mem_writel(a, AT + 4, 0x11223344);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, AT), ==, 0x11223344);
    g_assert_cmphex(mem_readl(b, AT + 4), ==, 0x44332211);
    bar_write(a, 0, BIGEND, 4, 0);
    wait_until(ext_readl(a, X_BURST_NOW_LENGTH) == SIZE);

    lcsr1_set(a, PARITY);
    wait_until(ext_readl(a, X_BURST_NOW_LENGTH) == 0);
    flush(a);
    qpci_io_writeb(a->pci, a->bar[3], AT + 8, 0xff);
    g_assert_cmphex(ctl_readl(a, LISR) & L_INHIBITED, ==, L_INHIBITED);
    g_assert_cmphex(mem_readl(a, AT + 8), ==, 0);
    lcsr1_clear(a, PARITY);
    wait_until(ext_readl(a, X_BURST_NOW_LENGTH) == SIZE);
    mem_writel(a, AT + 8, 5);
    g_assert_cmpuint(seen_behind_store(a, b, AT + 8), ==, 0);
    flush(a);
    mem_waitl(b, AT + 8, 5);
    lab_stop(lab);
}

/* --- a range that ends ---------------------------------------------------- */

static void test_change(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    burst_set(a, AT, SIZE);
    mem_writel(a, AT, 1);
    mem_writel(a, AT + SIZE / 2, 2);
    burst_set(a, AT + SIZE / 2, SIZE);
    mem_waitl(b, AT, 1);
    mem_waitl(b, AT + SIZE / 2, 2);
    /* Where it is no more each store goes at once. */
    mem_writel(a, AT, 3);
    mem_waitl(b, AT, 3);
    mem_writel(a, END, 4);
    g_assert_cmpuint(seen_behind_store(a, b, END), ==, 0);
    burst_set(a, 0, 0);
    mem_waitl(b, END, 4);
    mem_writel(a, END, 5);
    mem_waitl(b, END, 5);

    /* A reset ends it as well; it begins with what is there. */
    burst_set(a, AT, SIZE);
    mem_writel(a, AT, 6);
    qtest_system_reset(lab->vm->qts);
    for (unsigned i = 0; i < 2; i++) {
        card_fini(&lab->card[i]);
        card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
    }
    mem_waitl(b, AT, 6);
    lab_stop(lab);
}

/* --- no room -------------------------------------------------------------- */

#define MUCH (2 * MIB)

#define CPU_WAKES 1024      /* a CPU that waits runs when fewer stores wait */

/*
 * What finds no room stays, and goes on when there is; no fence passes it. A
 * CPU that is woken as there is room again finds some: a scan leaves it.
 */
static void test_full(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(MUCH, 5);
    uint32_t ticket;

    block_map(a);
    burst_set(a, AT, MUCH);
    fibre_hold(box, true);
    mem_write(a, AT, data, MUCH);
    ticket = flush_begin(a);
    wait_until(counter(a, "insert-peak") > 300);
    nic_send(a, 9, NIC_INT1, 1);
    g_assert_false(flush_has_ended(a, ticket));
    g_assert_cmpuint(counter(a, "frames-full"), ==, 0);
    fibre_hold(box, false);
    wait_until(flush_has_ended(a, ticket));
    fifo_expect(b, 1, 7, 1);
    card_expect(b, AT, data, MUCH);
    g_assert_cmpuint(counter(a, "insert-peak"), <, CPU_WAKES);
    g_assert_cmpuint(counter(a, "frames-full"), ==, 0);
    g_assert_cmphex(ctl_readl(a, LISR) & L_TX_FULL, ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/* The ring takes nothing for longer than a store waits: then it is counted. */
static void test_stuck(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=50", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(MUCH, 5);
    uint32_t ticket;

    block_map(a);
    burst_set(a, AT, MUCH);
    fibre_hold(box, true);
    mem_write(a, AT, data, MUCH);
    ticket = flush_begin(a);
    wait_until(flush_has_ended(a, ticket));
    g_assert_cmpuint(counter(a, "frames-full"), >, 0);
    g_assert_cmphex(ctl_readl(a, LISR) & L_TX_FULL, ==, L_TX_FULL);
    lab_stop(lab);
    fibre_free(box);
}

/* --- migration ------------------------------------------------------------ */

/*
 * What was stored is sent before the machine leaves; where it goes on, memory
 * and range are the same, and what the ring knows is what is in the memory.
 */
static void test_migrates(void)
{
    const LabSpec spec = { .options = { "node-id=7" }, .fibres = true };
    g_autofree char *file = lab_path("migration");
    PeerLab *source = block_peer(",packing=off,train=1");
    Card *card = &source->card;
    Lab *target;

    peer_close_ring(source);
    burst_set(card, AT, SIZE);
    flush(card);
    ext_writel(card, X_BURST_PERIOD, 250);
    mem_writel(card, AT + 0x100, 0x61616161);
    peer_data(source, 1, AT + 0x200, "bcde", 4);
    mem_waitl(card, AT + 0x200, 0x65646362);
    migrate_to_file(source->vm, file);
    next_is(source, AT + 0x100, "aaaa", 4);

    target = lab_migrate(&spec, file, card);
    card = &target->card[0];
    ring_wait_closed(card, 1);
    g_assert_cmphex(mem_readl(card, AT + 0x100), ==, 0x61616161);
    g_assert_cmphex(mem_readl(card, AT + 0x200), ==, 0x65646362);
    wait_until(ext_readl(card, X_BURST_NOW_LENGTH) == SIZE);
    g_assert_cmphex(ext_readl(card, X_BURST_NOW_OFFSET), ==, AT);
    g_assert_cmpuint(ext_readl(card, X_BURST_PERIOD), ==, 250);
    g_assert_cmpuint(counter(card, "burst-bytes"), ==, 4);
    flush(card);
    g_assert_cmpuint(counter(card, "burst-bytes"), ==, 4);
    mem_writel(card, AT + 0x100, 0x62616161);
    flush(card);
    g_assert_cmpuint(counter(card, "burst-bytes"), ==, 5);
    lab_stop(target);
    peer_lab_stop(source);
}

/* A machine that is paused sends the rest, and what comes is held back. */
static void test_paused(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    burst_set(a, AT, SIZE);
    mem_writel(a, AT, 1);
    vm_set_running(lab->vm, false);
    vm_set_running(lab->vm, true);
    mem_waitl(b, AT, 1);
    lab_stop(lab);
}

static void test_unplugged(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0];

    burst_set(a, AT, SIZE);
    mem_writel(a, AT, 1);
    lab_unplug(lab, 0);
    lab_replug(lab, 0, 7);
    block_map(a);
    g_assert_cmphex(ext_readl(a, X_BURST_NOW_LENGTH), ==, 0);
    burst_set(a, AT, SIZE);
    lab_stop(lab);
}

/* A card whose engine is in the main loop can have none. */
static void test_thread(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *card = &lab->card[0];

    ext_writel(card, X_BURST_OFFSET, AT);
    ext_writel(card, X_BURST_LENGTH, SIZE);
    ext_writel(card, X_BURST_COMMAND, 1);
    if (lab_shares_memory()) {
        g_assert_cmphex(ext_readl(card, X_BURST_COMMAND), ==, 0);
        wait_until(ext_readl(card, X_BURST_NOW_LENGTH) == SIZE);
    } else {
        g_assert_cmphex(ext_readl(card, X_BURST_COMMAND), ==, 3);
        flush(card);
        g_assert_cmphex(ext_readl(card, X_BURST_NOW_LENGTH), ==, 0);
    }
    lab_stop(lab);
}

void rfm5565_add_burst_tests(void)
{
    lab_add_test("burst/thread", test_thread);
    lab_add_thread_test("burst/registers", test_registers);
    lab_add_thread_test("burst/flush", test_flush);
    lab_add_thread_test("burst/before", test_before);
    lab_add_thread_test("burst/foreign", test_foreign);
    lab_add_thread_test("burst/dma", test_dma);
    lab_add_thread_test("burst/write", test_write);
    lab_add_thread_test("burst/merge", test_merge);
    lab_add_thread_test("burst/filters", test_filters);
    lab_add_thread_test("burst/suspended", test_suspended);
    lab_add_thread_test("burst/change", test_change);
    lab_add_thread_test("burst/full", test_full);
    lab_add_thread_test("burst/stuck", test_stuck);
    lab_add_thread_test("burst/migrates", test_migrates);
    lab_add_thread_test("burst/paused", test_paused);
    lab_add_thread_test("burst/unplugged", test_unplugged);
}
