/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations at one node: what they do, between two cards, and who may. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-asker.h"
#include "rfm5565-dma.h"

#define AT      0x8000
#define A       7
#define B       9

static Lab *ring(void)
{
    return asker_ring("node-id=7", "node-id=9");
}

static uint64_t mem_readq(Card *card, uint64_t offset)
{
    uint8_t bytes[8];

    mem_read(card, offset, bytes, sizeof(bytes));
    return ldq_le_p(bytes);
}

/* --- words ---------------------------------------------------------------- */

/* What the home changes, all have when the request ends. */
static void test_words(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request add = {
        .op = O_ADD, .node = B, .width = 8, .offset = AT, .value = 5,
    };
    Request cas = {
        .op = O_CAS, .node = B, .width = 8, .offset = AT, .compare = 10,
        .value = ~0ull,
    };

    g_assert_cmpuint(request_run(a, &add), ==, E_NOT_HOME);
    plane_set(b, AT, GRANULE, HOME | ON);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(request_run(a, &add), ==, E_OK);
        g_assert_cmpuint(request_old(a, 0), ==, 5 * i);
        g_assert_cmpuint(mem_readq(a, AT), ==, 5 * i + 5);
        g_assert_cmpuint(mem_readq(b, AT), ==, 5 * i + 5);
    }
    g_assert_cmpuint(request_run(a, &cas), ==, E_OK);
    g_assert_cmpuint(request_old(a, 0), ==, 10);
    g_assert_cmphex(mem_readq(a, AT), ==, ~0ull);
    g_assert_cmpuint(request_run(a, &cas), ==, E_OK);   /* it is not 10 */
    g_assert_cmphex(request_old(a, 0), ==, ~0ull);
    g_assert_cmphex(mem_readq(b, AT), ==, ~0ull);

    /* Of four bytes, at the home itself */
    add.width = 4;
    g_assert_cmpuint(request_run(b, &add), ==, E_OK);
    g_assert_cmphex(request_old(b, 0), ==, 0xffffffff);
    fence(b, a);
    g_assert_cmphex(mem_readq(a, AT), ==, 0xffffffff00000004);

    /* What does not leave the home stays there. */
    plane_set(b, AT, GRANULE, TX);
    g_assert_cmpuint(request_run(a, &add), ==, E_OK);
    g_assert_cmpuint(mem_readl(b, AT), ==, 9);
    g_assert_cmpuint(mem_readl(a, AT), ==, 4);
    lab_stop(lab);
}

static const struct {
    Request request;
    uint32_t result;
} refused_words[] = {
    { { .op = O_ADD, .node = B, .width = 8, .offset = AT + 4 }, E_RANGE },
    { { .op = O_ADD, .node = B, .width = 4, .offset = AT + 2 }, E_RANGE },
    { { .op = O_CAS, .node = B, .width = 8, .offset = 64 * MIB }, E_RANGE },
    { { .op = O_CAS, .node = B, .width = 8, .offset = ~7ull }, E_RANGE },
    { { .op = O_CAS, .node = B, .width = 4, .offset = AT + 64 }, E_NOT_HOME },
    { { .op = O_CAS, .node = A, .width = 4, .offset = AT }, E_NOT_HOME },
    { { .op = O_ADD, .node = B, .width = 4, .key = 1, .offset = AT },
      E_DENIED },
    { { .op = O_ADD, .node = 200, .width = 4, .offset = AT }, E_NO_NODE },
};

static void test_refused_words(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];

    plane_set(b, AT, GRANULE, HOME | ON);
    for (unsigned i = 0; i < ARRAY_SIZE(refused_words); i++) {
        g_assert_cmpuint(request_run(a, &refused_words[i].request), ==,
                         refused_words[i].result);
    }
    g_assert_cmpuint(counter(a, "requests"), ==, ARRAY_SIZE(refused_words));
    g_assert_cmpuint(counter(a, "requests-failed"), ==,
                     ARRAY_SIZE(refused_words));
    g_assert_cmpuint(counter(b, "requests-failed"), ==, 0);
    lab_stop(lab);
}

/* --- bytes ---------------------------------------------------------------- */

static const struct {
    uint32_t length;
    uint32_t in_page;       /* where the data begin */
} sizes[] = {
    { 1, 0 }, { 3, 4094 }, { 64, 1 }, { 4096, 0 }, { 5000, 4095 },
    { REQUEST_MAX, 7 },
};

/* READ and WRITE of other nodes, where it is allowed; and nowhere else. */
static void test_bytes(void)
{
    g_autofree uint8_t *zeroes = g_malloc0(REQUEST_MAX);
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];

    plane_set(b, 0, 2 * MIB, MAY_WRITE | ON);
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        g_autofree uint8_t *data = dma_pattern(sizes[i].length, i);
        Request put = {
            .op = O_WRITE, .node = B, .offset = AT + i,
            .data = DATA_AT + sizes[i].in_page, .length = sizes[i].length,
        }, get = put;

        get.op = O_READ;
        get.data = 2 * DATA_AT + sizes[i].in_page;
        data_put(lab->vm, put.data, data, put.length);
        data_put(lab->vm, get.data, zeroes, put.length);
        g_assert_cmpuint(request_run(a, &put), ==, E_OK);
        card_expect(b, AT + i, data, put.length);
        card_expect(a, AT + i, zeroes, put.length); /* it is no update */

        plane_set(b, 0, 2 * MIB, MAY_READ);
        g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);
        data_expect(lab->vm, get.data, zeroes, get.length);
        plane_set(b, 0, 2 * MIB, MAY_READ | ON);
        g_assert_cmpuint(request_run(a, &get), ==, E_OK);
        data_expect(lab->vm, get.data, data, get.length);
        g_assert_cmpuint(request_run(b, &get), ==, E_OK);   /* at itself */
    }
    lab_stop(lab);
}

/* Each granule of it must be allowed. */
static void test_refused_bytes(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request get = {
        .op = O_READ, .node = B, .offset = AT + 60, .data = DATA_AT,
        .length = 72,
    };

    plane_set(b, AT, 4 * GRANULE, MAY_READ | ON);
    g_assert_cmpuint(request_run(a, &get), ==, E_OK);
    plane_set(b, AT + 2 * GRANULE, GRANULE, MAY_READ);
    g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);
    get.length = 68;
    g_assert_cmpuint(request_run(a, &get), ==, E_OK);
    get.op = O_WRITE;
    g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);
    get.op = O_READ;
    get.key = 5;
    g_assert_cmpuint(request_run(a, &get), ==, E_DENIED);
    get.key = 0;
    get.offset = 64 * MIB - 60;
    g_assert_cmpuint(request_run(a, &get), ==, E_RANGE);
    get.offset = ~0ull - 7;
    g_assert_cmpuint(request_run(a, &get), ==, E_RANGE);
    get.node = 33;
    g_assert_cmpuint(request_run(a, &get), ==, E_NO_NODE);
    lab_stop(lab);
}

/* Who keeps writers learns of a WRITE; who watches is not told. */
static void test_written(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request put = {
        .op = O_WRITE, .node = B, .offset = AT + 3, .data = DATA_AT,
        .length = 70,
    };
    Events events;

    ext_writel(b, X_CONTROL, 1);
    plane_set(b, AT, 2 * GRANULE, MAY_WRITE | ON);
    plane_set(b, AT + GRANULE, GRANULE, WATCH | ON);
    events_start(&events, b, RING_AT, 4, T_DATA | 1u << R_WRITTEN);
    g_assert_cmpuint(request_run(a, &put), ==, E_OK);
    ext_writel(b, X_WRITER, AT);
    g_assert_cmphex(ext_readl(b, X_WRITER_NODE), ==, 0x80000000 | A);
    g_assert_cmpuint(ext_readq(b, X_WRITER_SEQ), ==, 0);
    events_expect_none(&events, a);
    lab_stop(lab);
}

/* --- merge, resync -------------------------------------------------------- */

/* Store where @card alone has it. */
static void store_here_only(Card *card, uint64_t offset, uint32_t value)
{
    uint32_t granule = offset / GRANULE * GRANULE;

    plane_set(card, granule, GRANULE, TX);
    mem_writel(card, offset, value);
    plane_set(card, granule, GRANULE, TX | ON);
}

static void test_merge(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request merge = {
        .op = O_MERGE, .node = B, .offset = AT, .length = 0x10000,
    };

    for (unsigned i = 0; i < 16; i++) {
        store_here_only(b, AT + 0x1000 * i, 0x600d0000 + i);
    }
    store_here_only(b, AT + 0x10000, 0xbad);
    store_here_only(a, AT + 64, 0xbad);
    plane_set(a, AT + 0x1000, GRANULE, RX);     /* it does not want that */
    g_assert_cmpuint(request_run(a, &merge), ==, E_OK);
    for (unsigned i = 0; i < 16; i++) {
        g_assert_cmphex(mem_readl(a, AT + 0x1000 * i), ==,
                        i == 1 ? 0 : 0x600d0000 + i);
    }
    g_assert_cmphex(mem_readl(a, AT + 64), ==, 0);
    g_assert_cmphex(mem_readl(a, AT + 0x10000), ==, 0);

    /* What a node has for itself is nobody's. */
    plane_set(b, AT + 0x8000, GRANULE, TX);
    g_assert_cmpuint(request_run(a, &merge), ==, E_DENIED);
    plane_set(b, AT + 0x8000, GRANULE, TX | ON);
    plane_set(b, AT + 0x8000, GRANULE, RX);
    g_assert_cmpuint(request_run(a, &merge), ==, E_DENIED);

    merge.length = 64 * MIB - AT + 1;
    g_assert_cmpuint(request_run(a, &merge), ==, E_INVALID);
    merge.length = 0x10000;
    merge.offset = 64 * MIB - 0xffff;
    g_assert_cmpuint(request_run(a, &merge), ==, E_INVALID);
    merge.offset = 0;
    merge.node = A;
    g_assert_cmpuint(request_run(a, &merge), ==, E_INVALID);
    lab_stop(lab);
}

/*
 * What is stored here between the question and the answer stays: by a CPU, and
 * by DMA. The answer is held up meanwhile, and so has none of it.
 */
static void test_merge_meanwhile(void)
{
    const uint32_t dma = AT + 0x200;
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7", &box);
    Card *donor = &lab->card[0], *asker = &lab->card[1];
    const Request merge = {
        .op = O_MERGE, .node = A, .offset = AT, .length = 0x400,
    };

    block_map(donor);
    block_map(asker);
    table_start(asker);
    wait_until(node_state(asker, A) & NODE_PRESENT);
    for (unsigned i = 0; i < 0x400; i += 0x80) {
        store_here_only(donor, AT + i, 0x01d);
    }
    ring_wait_current(donor, asker);
    fibre_hold(box, true);
    request_begin(asker, 0, &merge);
    wait_until(counter(donor, "requests-served"));
    mem_writel(asker, AT + 0x100, 0x600d);
    qtest_writel(lab->vm->qts, BUFFER, 0x600d);
    qtest_writel(lab->vm->qts, BUFFER + 4, 0);
    dma_run(asker, &(Transfer){ TO_CARD, BUFFER, dma, 8 });
    mem_waitl(donor, dma, 0x600d);
    fibre_hold(box, false);
    g_assert_cmpuint(request_end(asker, 0), ==, E_OK);
    for (unsigned i = 0; i < 0x400; i += 0x80) {
        uint32_t want = i == 0x100 || i == 0x200 ? 0x600d : 0x01d;

        g_assert_cmphex(mem_readl(asker, AT + i), ==, want);
        g_assert_cmphex(mem_readl(donor, AT + i), ==, want);
    }
    lab_stop(lab);
    fibre_free(box);
}

/*
 * A node that has missed a frame says so, and helps nobody, until it has all
 * that a complete one has.
 */
static void test_resync(void)
{
    const uint64_t marker = 0x0123456789abcdef;
    const uint32_t types = 1u << R_INCOMPLETE;
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,train=1,packing=off", "node-id=9" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request resync = { .op = O_RESYNC, .flags = 1 };
    Request as_it_is = { .op = O_RESYNC, .node = B };
    Request merge = { .op = O_MERGE, .node = B, .length = 64 };
    Events events;

    block_map(a);
    block_map(b);
    wait_until(node_state(a, B) & NODE_PRESENT);
    wait_until(node_state(b, A) & NODE_PRESENT);
    ring_wait_closed(lab->card, 2);
    table_start(a);
    table_start(b);
    events_start(&events, b, RING_AT, 4, types);
    g_assert_cmphex(node_state(a, B) & NODE_INCOMPLETE, ==, 0);

    fibre_aim(box, FIBRE_FLIP, marker);
    mem_write(a, AT, &marker, sizeof(marker));
    fibre_wait_hit(box);
    mem_writel(a, AT + 64, 1);
    mem_waitl(b, AT + 64, 1);
    g_assert_cmpuint(events_next(&events, R_INCOMPLETE).value, ==, 1);
    wait_until(ext_readl(b, X_INT_STATUS) & 1u << V_LINK);
    g_assert_cmphex(node_state(b, B) & NODE_INCOMPLETE, !=, 0);
    wait_until(node_state(a, B) & NODE_INCOMPLETE);
    g_assert_cmpuint(request_run(a, &merge), ==, E_INCOMPLETE);
    g_assert_cmpuint(request_run(a, &resync), ==, E_INCOMPLETE);

    g_assert_cmpuint(request_run(b, &resync), ==, E_OK);
    g_assert_cmpuint(request_old(b, 0), ==, 64 * MIB);
    g_assert_cmpuint(request_node(b, 0), ==, A);
    g_assert_cmphex(mem_readq(b, AT), ==, marker);
    g_assert_cmpuint(events_next(&events, R_INCOMPLETE).value, ==, 0);
    g_assert_cmphex(node_state(b, B) & NODE_INCOMPLETE, ==, 0);
    g_assert_cmpuint(counter(b, "resync-bytes"), ==, 64 * MIB);

    /* While another node is complete a node is not believed. */
    fibre_aim(box, FIBRE_FLIP, ~marker);
    mem_write(a, AT, &(uint64_t){ ~marker }, sizeof(marker));
    fibre_wait_hit(box);
    mem_writel(a, AT + 64, 2);
    g_assert_cmpuint(events_next(&events, R_INCOMPLETE).value, ==, 1);
    g_assert_cmpuint(request_run(b, &as_it_is), ==, E_DENIED);
    g_assert_cmphex(node_state(b, B) & NODE_INCOMPLETE, !=, 0);
    as_it_is.node = A;
    g_assert_cmpuint(request_run(a, &as_it_is), ==, E_OK);
    g_assert_cmpuint(request_old(a, 0), ==, 0);
    g_assert_cmpuint(request_node(a, 0), ==, A);
    g_assert_cmpuint(request_run(b, &resync), ==, E_OK);
    g_assert_cmphex(mem_readq(b, AT), ==, ~marker);
    lab_stop(lab);
    fibre_free(box);
}

/* With auto-resync nobody has to ask for it. */
static void test_auto_resync(void)
{
    const uint64_t marker = 0x0123456789abcdef;
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,train=1,packing=off",
                     "node-id=9,auto-resync=on" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];

    block_map(a);
    block_map(b);
    wait_until(node_state(a, B) & NODE_PRESENT);
    wait_until(node_state(b, A) & NODE_PRESENT);
    ring_wait_closed(lab->card, 2);
    fibre_aim(box, FIBRE_FLIP, marker);
    mem_write(a, AT, &marker, sizeof(marker));
    fibre_wait_hit(box);
    mem_writel(a, AT + 64, 1);
    mem_waitl(b, AT + 64, 1);
    wait_until(counter(b, "resync-bytes") == 64 * MIB);
    wait_until(!(node_state(b, B) & NODE_INCOMPLETE));
    g_assert_cmphex(mem_readq(b, AT), ==, marker);
    wait_until(!(node_state(a, B) & NODE_INCOMPLETE));
    g_assert_cmpuint(counter(a, "resync-bytes"), ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/* That it misses something goes with the machine. */
static void test_incomplete_migrates(void)
{
    const LabSpec spec = { .options = { "node-id=7" }, .fibres = true };

    for (unsigned missed = 0; missed < 2; missed++) {
        g_autofree char *file = lab_path("migration");
        PeerLab *source = block_peer("");
        Card *card = &source->card;
        Lab *target;

        peer_data(source, 1, AT, "abcd", 4);
        peer_data(source, 2 + missed, AT + 4, "efgh", 4);
        mem_waitl(card, AT + 4, 0x68676665);
        g_assert_cmphex(node_state(card, A) & NODE_INCOMPLETE, ==,
                        missed * NODE_INCOMPLETE);
        vm_set_running(source->vm, false);
        migrate_to_file(source->vm, file);
        target = lab_load(&spec, file, card);
        g_assert_cmphex(node_state(&target->card[0], A) & NODE_INCOMPLETE, ==,
                        missed * NODE_INCOMPLETE);
        lab_stop(target);
        peer_lab_stop(source);
    }
}

/* --- regions -------------------------------------------------------------- */

#define KEY 0x1234

static const uint8_t all_rights = MAY_BE_READ | MAY_BE_WRITTEN |
                                  MAY_BE_CHANGED | WATCHED;

static void add_region(Card *card, uint32_t key, uint64_t data, uint32_t length,
                   uint8_t flags)
{
    const Request request = {
        .op = O_REGION, .key = key, .data = data, .length = length,
        .flags = flags,
    };

    g_assert_cmpuint(request_run(card, &request), ==, E_OK);
}

static void revoke_region(Card *card, uint32_t key)
{
    const Request request = { .op = O_REVOKE, .key = key };

    g_assert_cmpuint(request_run(card, &request), ==, E_OK);
    g_assert_cmpuint(request_run(card, &request), ==, E_DENIED);
}

/* Memory of the other machine, as far as it lets us */
static void test_region(void)
{
    const uint32_t length = 3 * 4096;
    g_autofree uint8_t *data = dma_pattern(length, 1);
    const uint64_t there = 3 * DATA_AT + 100, here = DATA_AT + 8;
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request put = {
        .op = O_WRITE, .node = B, .key = KEY, .data = here, .length = length,
    }, get = put, add = {
        .op = O_ADD, .node = B, .width = 8, .key = KEY, .offset = 4,
        .value = 0x100,
    };
    Events events;
    Record record;
    uint64_t word;

    g_assert_cmpuint(request_run(a, &put), ==, E_DENIED);
    events_start(&events, b, RING_AT, 6, T_DATA | 1u << R_WRITTEN);
    data_put(lab->vm, here, data, length);
    add_region(b, KEY, there, length, all_rights);
    g_assert_cmpuint(request_run(a, &put), ==, E_OK);
    data_expect(lab->vm, there, data, length);
    for (uint32_t told = 0; told < length;) {
        record = events_next(&events, R_WRITTEN);
        g_assert_cmpuint(record.node, ==, A);
        g_assert_cmphex(record.value, ==, KEY);
        g_assert_cmpuint(record.length, >, 0);
        g_assert_cmpuint(record.offset + record.length, <=, length);
        told += record.length;
    }
    get.op = O_READ;
    get.data = here + 0x100000;
    g_assert_cmpuint(request_run(a, &get), ==, E_OK);
    data_expect(lab->vm, get.data, data, length);
    get.data += 0x100000;
    g_assert_cmpuint(request_run(b, &get), ==, E_OK);   /* at itself */
    data_expect(lab->vm, get.data, data, length);

    /* 100 + 4 is a multiple of 8, and so the word is one there. */
    memcpy(&word, data + 4, 8);
    word = le64_to_cpu(word);
    add.offset = 4;
    g_assert_cmpuint(request_run(a, &add), ==, E_RANGE);    /* but not here */
    add.width = 4;
    g_assert_cmpuint(request_run(a, &add), ==, E_OK);
    g_assert_cmphex(request_old(a, 0), ==, (uint32_t)word);
    stl_le_p(data + 4, (uint32_t)word + 0x100);
    data_expect(lab->vm, there, data, length);
    record = events_next(&events, R_WRITTEN);
    g_assert_cmphex(record.offset, ==, 4);
    g_assert_cmpuint(record.length, ==, 4);

    /* One that changes nothing, and what b does itself, is told to nobody. */
    add.op = O_CAS;
    add.compare = (uint32_t)word;
    g_assert_cmpuint(request_run(a, &add), ==, E_OK);
    g_assert_cmphex(request_old(a, 0), ==, (uint32_t)word + 0x100);
    data_expect(lab->vm, there, data, length);
    add.compare = (uint32_t)word + 0x100;
    add.value = 1;
    g_assert_cmpuint(request_run(b, &add), ==, E_OK);
    stl_le_p(data + 4, 1);
    data_expect(lab->vm, there, data, length);
    g_assert_cmpuint(request_run(a, &add), ==, E_OK);
    g_assert_cmphex(request_old(a, 0), ==, 1);
    add.compare = 1;
    add.value = 0x55;
    g_assert_cmpuint(request_run(a, &add), ==, E_OK);
    stl_le_p(data + 4, 0x55);
    data_expect(lab->vm, there, data, length);
    record = events_next(&events, R_WRITTEN);
    g_assert_cmphex(record.offset, ==, 4);
    events_expect_none(&events, a);

    put.offset = 1;
    g_assert_cmpuint(request_run(a, &put), ==, E_RANGE);
    revoke_region(b, KEY);
    put.offset = 0;
    g_assert_cmpuint(request_run(a, &put), ==, E_DENIED);
    g_assert_cmpuint(request_run(b, &get), ==, E_DENIED);
    lab_stop(lab);
}

/* A key allows what it was given, and keys come to an end. */
static void test_region_rights(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request ask[] = {
        { .op = O_READ, .node = B, .data = DATA_AT, .length = 8 },
        { .op = O_WRITE, .node = B, .data = DATA_AT, .length = 8 },
        { .op = O_CAS, .node = B, .width = 8 },
    };
    Request more = {
        .op = O_REGION, .key = 1, .data = 2 * DATA_AT, .length = 8,
    };

    for (unsigned i = 0; i < REGIONS; i++) {
        add_region(b, i + 1, 2 * DATA_AT, 4096, i % 8);
    }
    g_assert_cmpuint(request_run(b, &more), ==, E_IN_USE);
    more.key = REGIONS + 1;
    g_assert_cmpuint(request_run(b, &more), ==, E_FULL);
    for (unsigned i = 0; i < 8; i++) {
        for (unsigned k = 0; k < ARRAY_SIZE(ask); k++) {
            ask[k].key = i + 1;
            g_assert_cmpuint(request_run(a, &ask[k]), ==,
                             i & 1u << k ? E_OK : E_DENIED);
        }
    }
    lab_stop(lab);
}

/* --- messages ------------------------------------------------------------- */

#define PORT 65535

static void expect_at_port(Card *card, uint8_t op, uint32_t port, uint32_t want)
{
    const Request request = { .op = op, .key = port };

    g_assert_cmpuint(request_run(card, &request), ==, want);
}

static void test_messages(void)
{
    const uint32_t length = 100000;
    g_autofree uint8_t *data = dma_pattern(length, 3);
    Lab *lab = ring();
    Card *a = &lab->card[0], *b = &lab->card[1];
    Request send = {
        .op = O_SEND, .node = B, .key = PORT, .data = DATA_AT, .length = length,
    }, receive = {
        .op = O_RECEIVE, .key = PORT, .data = 2 * DATA_AT + 77,
        .length = REQUEST_MAX,
    };

    data_put(lab->vm, send.data, data, length);
    g_assert_cmpuint(request_run(a, &send), ==, E_CLOSED);
    g_assert_cmpuint(request_run(b, &receive), ==, E_CLOSED);
    expect_at_port(b, O_UNLISTEN, PORT, E_CLOSED);
    expect_at_port(b, O_LISTEN, PORT, E_OK);
    expect_at_port(b, O_LISTEN, PORT, E_IN_USE);

    /* Those who receive are served in their order, and not only when asked. */
    receive.key = PORT;
    request_begin(b, 5, &receive);
    receive.data += 0x400000;
    request_begin(b, 4, &receive);
    mem_writel(a, AT, 1);
    g_assert_cmpuint(request_run(a, &send), ==, E_OK);
    g_assert_cmpuint(request_end(b, 5), ==, E_OK);
    g_assert_cmpuint(mem_readl(b, AT), ==, 1);      /* what was before it */
    g_assert_cmpuint(request_old(b, 5), ==, length);
    g_assert_cmpuint(request_node(b, 5), ==, A);
    data_expect(lab->vm, 2 * DATA_AT + 77, data, length);
    g_assert_cmphex(request_status(b, 4), ==, 0);

    /* A message that comes first waits for who is to receive it. */
    send.length = 1;
    g_assert_cmpuint(request_run(a, &send), ==, E_OK);
    g_assert_cmpuint(request_end(b, 4), ==, E_OK);
    g_assert_cmpuint(request_old(b, 4), ==, 1);
    request_begin(a, 1, &send);
    request_begin(b, 1, &receive);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);
    g_assert_cmpuint(request_end(a, 1), ==, E_OK);

    receive.length = 4999;
    request_begin(b, 1, &receive);
    send.length = 5000;
    g_assert_cmpuint(request_run(a, &send), ==, E_TOO_LONG);
    send.length = 4999;
    g_assert_cmpuint(request_run(a, &send), ==, E_OK);
    g_assert_cmpuint(request_end(b, 1), ==, E_OK);

    request_begin(b, 2, &receive);
    request_begin(b, 3, &receive);
    request_begin(b, 4, &receive);
    ext_writel(b, X_CANCEL, 3);
    g_assert_cmpuint(request_end(b, 3), ==, E_CANCELLED);
    expect_at_port(b, O_UNLISTEN, PORT, E_OK);
    g_assert_cmpuint(request_end(b, 2), ==, E_CLOSED);
    g_assert_cmpuint(request_end(b, 4), ==, E_CLOSED);
    lab_stop(lab);
}

/* A node may write to itself. */
static void test_own_messages(void)
{
    Lab *lab = ring();
    Card *a = &lab->card[0];
    Request send = {
        .op = O_SEND, .node = A, .key = 1, .data = DATA_AT, .length = 10,
    }, receive = {
        .op = O_RECEIVE, .key = 1, .data = 2 * DATA_AT, .length = 10,
    };

    g_assert_cmpuint(request_run(a, &send), ==, E_CLOSED);
    expect_at_port(a, O_LISTEN, 1, E_OK);
    data_put(lab->vm, DATA_AT, "0123456789", 10);
    request_begin(a, 1, &send);
    request_begin(a, 2, &receive);
    g_assert_cmpuint(request_end(a, 1), ==, E_OK);
    g_assert_cmpuint(request_end(a, 2), ==, E_OK);
    g_assert_cmpuint(request_node(a, 2), ==, A);
    data_expect(lab->vm, 2 * DATA_AT, "0123456789", 10);
    for (unsigned i = 1; i < PORTS; i++) {
        expect_at_port(a, O_LISTEN, i + 1, E_OK);
    }
    expect_at_port(a, O_LISTEN, 0, E_FULL);
    expect_at_port(a, O_LISTEN, 65536, E_INVALID);
    lab_stop(lab);
}

void rfm5565_add_remote_tests(void)
{
    lab_add_test("remote/words", test_words);
    lab_add_test("remote/refused-words", test_refused_words);
    lab_add_test("remote/bytes", test_bytes);
    lab_add_test("remote/refused-bytes", test_refused_bytes);
    lab_add_test("remote/written", test_written);
    lab_add_test("remote/merge", test_merge);
    lab_add_test("remote/merge-meanwhile", test_merge_meanwhile);
    lab_add_test("remote/resync", test_resync);
    lab_add_test("remote/auto-resync", test_auto_resync);
    lab_add_test("remote/incomplete-migrates", test_incomplete_migrates);
    lab_add_test("remote/region", test_region);
    lab_add_test("remote/region-rights", test_region_rights);
    lab_add_test("remote/messages", test_messages);
    lab_add_test("remote/own-messages", test_own_messages);
}
