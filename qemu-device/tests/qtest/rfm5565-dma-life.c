/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DMA engine in the middle of things: a ring that takes nothing, other
 * stores, pause, reset, unplug, migration.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-dma.h"

#define AT      0x1000
#define LEN     (4 * MIB)       /* more than waits anywhere on its way */

/*
 * A transfer of LEN bytes of @data in its middle: the ring takes nothing until
 * the box lets it, and all that may wait to be sent is waiting.
 */
static void get_stuck(Lab *lab, Fibre *box, const uint8_t *data)
{
    Card *a = &lab->card[0];

    host_write(lab->vm, BUFFER, data, LEN);
    fibre_hold(box, true);
    dma_start(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    wait_until(counter(a, "insert-peak") >= 400);
    g_assert_false(dma_is_done(a));
}

/* What was stored at both cards is the same. */
static void expect_both(Lab *lab, const uint8_t *data)
{
    fence(&lab->card[0], &lab->card[1]);
    card_expect(&lab->card[0], AT, data, LEN);
    card_expect(&lab->card[1], AT, data, LEN);
    g_assert_cmpuint(counter(&lab->card[1], "frames-missed"), ==, 0);
    g_assert_cmpuint(counter(&lab->card[0], "frames-full"), ==, 0);
}

/* --- room ----------------------------------------------------------------- */

/*
 * It waits while others go on: stores, registers, interrupts, which still find
 * room. When the ring takes frames again everything comes, in order.
 */
static void test_back_pressure(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    unsigned i;

    get_stuck(lab, box, data);
    for (i = 0; i < 256; i++) {
        mem_writel(a, 8 * i, 0x1000 + i);
    }
    nic_send(a, 9, NIC_INT1, 0x17e);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_false(dma_is_done(a));
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    /* From the other side it is a ring like any other. */
    mem_writel(b, 0xff8, 0xbbbb);
    mem_waitl(a, 0xff8, 0xbbbb);

    fibre_hold(box, false);
    dma_expect(a, true);
    mem_writel(a, 0xff0, 0xaaaa);
    nic_send(a, 9, NIC_INT2, 0x17f);
    wait_until(ctl_readl(b, LISR) & L_INT2);
    g_assert_cmphex(mem_readl(b, 0xff0), ==, 0xaaaa);
    card_expect(b, AT, data, LEN);
    fifo_expect(b, 1, 7, 0x17e);
    fifo_expect(b, 2, 7, 0x17f);
    for (i = 0; i < 256; i++) {
        g_assert_cmphex(mem_readl(b, 8 * i), ==, 0x1000 + i);
    }
    expect_both(lab, data);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/* As dma_boxed(), behind an IOMMU: there it works in another context. */
static Lab *boxed_with_iommu(const char *options0, Fibre **box)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { options0, "node-id=9" }, .fibres = true, .fault_box = box,
        .machine = "-machine q35 -device intel-iommu,aw-bits=39",
    });

    ring_wait_closed(lab->card, 2);
    bus_master(&lab->card[0], true);
    return lab;
}

static void test_back_pressure_iommu(void)
{
    Fibre *box;
    Lab *lab = boxed_with_iommu("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    get_stuck(lab, box, data);
    g_assert_cmpuint(counter(a, "dma-bytes"), >, 16 * 1024);
    mem_writel(a, 0, 0x1234);
    nic_send(a, 9, NIC_INT1, 0x17e);
    g_assert_false(dma_is_done(a));

    fibre_hold(box, false);
    dma_expect(a, true);
    expect_both(lab, data);
    fifo_expect(&lab->card[1], 1, 7, 0x17e);
    lab_stop(lab);
    fibre_free(box);
}

/*
 * A ring that takes nothing for too long loses it, as it does stores. That is
 * waited for once: for each piece, it would be longer than a test waits.
 */
static void stall_limit(Lab *lab, Fibre *box)
{
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    host_write(lab->vm, BUFFER, data, LEN);
    fibre_hold(box, true);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    card_expect(a, AT, data, LEN);
    latch_expect(a, L_TX_FULL, 0);
    g_assert_cmpuint(counter(a, "frames-full"), >, 0);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, LEN);
    fibre_hold(box, false);
    fence(a, b);
    /* What it lost is counted there too, and the next one gets through. */
    wait_until(counter(b, "frames-missed") == counter(a, "frames-full"));
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    fence(a, b);
    card_expect(b, AT, data, LEN);
    lab_stop(lab);
    fibre_free(box);
}

static void test_stall_limit(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=3000", &box);

    stall_limit(lab, box);
}

static void test_stall_limit_iommu(void)
{
    Fibre *box;
    Lab *lab = boxed_with_iommu("node-id=7,stall-limit-ms=500", &box);

    stall_limit(lab, box);
}

/* Dark, it waits for nothing. */
static void test_dark(void)
{
    Lab *lab = dma_dark("node-id=7,stall-limit-ms=10000");
    Card *card = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    host_write(lab->vm, BUFFER, data, LEN);
    dma_run(card, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    card_expect(card, AT, data, LEN);
    g_assert_cmpuint(counter(card, "frames-dark"), ==, LEN / 64);
    g_assert_cmphex(ctl_readl(card, LISR), ==, 0);
    lab_stop(lab);
}

/* What stays here needs no room on the ring. */
static void test_not_sent(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    get_stuck(lab, box, data);
    g_assert_cmpuint(counter(a, "dma-transfers"), ==, 0);
    fibre_hold(box, false);
    dma_expect(a, true);
    fibre_hold(box, true);
    dma_run(a, &(Transfer){ TO_HOST, BUFFER2, AT, LEN });
    host_expect(lab->vm, BUFFER2, data, LEN);
    fibre_hold(box, false);
    expect_both(lab, data);
    lab_stop(lab);
    fibre_free(box);
}

/* --- what is done to it meanwhile ----------------------------------------- */

/* A second start, other parameters, ENABLE off: it goes on as it began. */
static void test_busy(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    get_stuck(lab, box, data);
    bar_write(a, 0, BIGEND, 4, DMA_SWAP);
    dma_start(a, &(Transfer){ TO_HOST, BUFFER2, 0, 64, DESCRIPTOR(0) });
    g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, DMA_ENABLE);
    g_assert_cmphex(bar_read(a, 0, DMAPADR0, 4), ==, BUFFER2);
    bar_write(a, 0, DMACSR0, 1, DMA_CLEAR);
    g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, 0);
    fibre_hold(box, false);
    wait_until(bar_read(a, 0, DMACSR0, 4) == DMA_DONE);
    g_assert_cmpuint(counter(a, "dma-transfers"), ==, 1);
    dma_expect(a, true);
    expect_both(lab, data);
    lab_stop(lab);
    fibre_free(box);
}

/* Clear and start in one go: only what ended before is forgotten. */
static void test_clear_and_start(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    host_write(lab->vm, BUFFER, data, LEN);
    dma_start(a, &(Transfer){ TO_CARD, BUFFER, 0, 64 });
    wait_until(dma_is_done(a));
    fibre_hold(box, true);
    dma_program(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    g_assert_true(bar_read(a, 0, INTCSR, 4) & DMA_INT_ACTIVE);
    bar_write(a, 0, DMACSR0, 1, DMA_ENABLE | DMA_START | DMA_CLEAR);
    g_assert_false(bar_read(a, 0, INTCSR, 4) & DMA_INT_ACTIVE);
    wait_until(counter(a, "insert-peak") >= 400);
    g_assert_false(dma_is_done(a));
    g_assert_false(bar_read(a, 0, INTCSR, 4) & DMA_INT_ACTIVE);
    fibre_hold(box, false);
    dma_expect(a, true);
    expect_both(lab, data);
    lab_stop(lab);
    fibre_free(box);
}

/* The bit is taken away: what is left is not read any more. */
static void test_bus_master_lost(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    uint64_t moved;
    gint64 begin;

    get_stuck(lab, box, data);
    /* What has lost the bus waits for no room, not even for its limit. */
    begin = g_get_monotonic_time();
    bus_master(a, false);
    dma_expect(a, false);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, PROMPT_US);
    fibre_hold(box, false);
    moved = counter(a, "dma-bytes");
    g_assert_cmpuint(moved, <, LEN);
    fence(a, &lab->card[1]);
    card_expect(&lab->card[1], AT, data, moved);
    g_assert_cmphex(mem_readl(&lab->card[1], AT + moved), ==, 0);
    lab_stop(lab);
    fibre_free(box);
}

/* What a card forgets in its middle does not go on, and does not interrupt. */
static void expect_forgotten(Card *card)
{
    g_assert_cmphex(bar_read(card, 0, DMACSR0, 4), ==, DMA_DONE);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010100);
    g_assert_cmphex(bar_read(card, 0, DMASIZ0, 4), ==, 0);
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, 0);
}

static void test_reset(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    uint64_t moved;

    get_stuck(lab, box, data);
    qtest_system_reset(lab->vm->qts);
    moved = counter(a, "dma-bytes");
    for (unsigned i = 0; i < 2; i++) {
        card_fini(&lab->card[i]);
        card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
    }
    expect_forgotten(a);
    fibre_hold(box, false);
    fence(a, b);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, moved);
    card_expect(b, AT, data, moved);
    g_assert_cmphex(mem_readl(b, AT + moved), ==, 0);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    expect_both(lab, data);
    lab_stop(lab);
    fibre_free(box);
}

static void test_dead(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    uint64_t moved;

    get_stuck(lab, box, data);
    qtest_qom_set_bool(lab->vm->qts, "/machine/peripheral/card0", "dead",
                       true);
    moved = counter(a, "dma-bytes");
    g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, 0xffffffff);
    bar_write(a, 0, DMACSR0, 1, DMA_ENABLE | DMA_START);
    fibre_hold(box, false);
    qtest_qom_set_bool(lab->vm->qts, "/machine/peripheral/card0", "dead",
                       false);
    expect_forgotten(a);
    ring_wait_closed(lab->card, 2);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, moved);
    dma_run(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    fence(a, &lab->card[1]);
    card_expect(&lab->card[1], AT, data, LEN);
    lab_stop(lab);
    fibre_free(box);
}

static void set_hung(Lab *lab, bool hung)
{
    qtest_qom_set_bool(lab->vm->qts, "/machine/peripheral/card0", "dma-hung",
                       hung);
}

/* All else works while it hangs, and then it ends as it should. */
static void test_hung(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    host_write(lab->vm, BUFFER, data, LEN);
    set_hung(lab, true);
    dma_start(a, &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    mem_writel(a, 0, 0x1234);
    mem_waitl(b, 0, 0x1234);
    fence(a, b);
    g_assert_false(dma_is_done(a));
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, 0);
    set_hung(lab, false);
    dma_expect(a, true);
    expect_both(lab, data);
    lab_stop(lab);
}

static void test_unplug(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    g_autofree uint8_t *data = dma_pattern(LEN, 1);

    get_stuck(lab, box, data);
    lab_unplug(lab, 0);
    fibre_hold(box, false);
    lab_replug(lab, 0, 7);
    ring_wait_closed(lab->card, 2);
    ring_wait_current(&lab->card[0], &lab->card[1]);
    bus_master(&lab->card[0], true);
    expect_forgotten(&lab->card[0]);
    dma_run(&lab->card[0], &(Transfer){ TO_CARD, BUFFER, AT, LEN });
    fence(&lab->card[0], &lab->card[1]);
    card_expect(&lab->card[1], AT, data, LEN);
    lab_stop(lab);
    fibre_free(box);
}

/* Nor does the one that moves at full speed mind it. */
static void test_unplug_moving(void)
{
    Lab *lab = dma_ring("node-id=7", "node-id=9");

    for (unsigned i = 0; i < 10; i++) {
        dma_start(&lab->card[0], &(Transfer){
            i % 2 ? TO_HOST : TO_CARD, BUFFER, AT, DMA_MAX,
        });
        lab_unplug(lab, 0);
        lab_replug(lab, 0, 7);
    }
    ring_wait_closed(lab->card, 2);
    lab_stop(lab);
}

/* --- a machine that stands still ------------------------------------------ */

static void test_paused(void)
{
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0], *b = &lab->card[1];
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    g_autofree uint8_t *zeroes = g_malloc0(LEN);
    uint64_t moved;

    get_stuck(lab, box, data);
    vm_set_running(lab->vm, false);
    moved = counter(a, "dma-bytes");
    fibre_hold(box, false);
    wait_until(counter(a, "frames-home") == counter(a, "frames-sent"));
    /* Nor does anything begin. */
    dma_start(b, &(Transfer){ TO_HOST, BUFFER2, AT, LEN });
    nic_send(a, 9, NIC_PROBE, 0);
    wait_until(ctl_readl(a, LCSR1) & OWN_DATA);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, moved);
    g_assert_cmpuint(counter(b, "dma-bytes"), ==, 0);
    host_expect(lab->vm, BUFFER2, zeroes, LEN);
    g_assert_false(dma_is_done(a) || dma_is_done(b));

    vm_set_running(lab->vm, true);
    dma_expect(a, true);
    dma_expect(b, true);
    expect_both(lab, data);
    dma_run(b, &(Transfer){ TO_HOST, BUFFER2, AT, LEN });
    host_expect(lab->vm, BUFFER2, data, LEN);
    lab_stop(lab);
    fibre_free(box);
}

/*
 * It goes on where the machine does, with the byte at which it stood, by the
 * parameters with which it was started.
 */
static void migrate(bool paused)
{
    LabSpec spec = {
        .options = { "node-id=7,stall-limit-ms=10000", "node-id=9" },
        .fibres = true,
    };
    g_autofree char *file = lab_path("migration");
    Fibre *box;
    Lab *source = dma_boxed(spec.options[0], &box), *target;
    Card *a;
    g_autofree uint8_t *data = dma_pattern(LEN, 1);
    uint64_t moved;

    for (unsigned i = 0; i < 4; i++) {
        dma_descriptor(source->vm, i, BUFFER + i * MIB, MIB,
                       i < 3 ? DESCRIPTOR(i + 1) : LAST);
    }
    host_write(source->vm, BUFFER, data, LEN);
    fibre_hold(box, true);
    bar_write(&source->card[0], 0, INTCSR, 4, PCI_INT_ENABLE | DMA_INT_ENABLE);
    dma_start(&source->card[0],
              &(Transfer){ TO_CARD, 0, AT, LEN, DESCRIPTOR(0) });
    wait_until(counter(&source->card[0], "insert-peak") >= 400);
    bar_write(&source->card[0], 0, DMASIZ0, 4, 8);
    vm_set_running(source->vm, !paused);
    migrate_to_file(source->vm, file);
    moved = counter(&source->card[0], "dma-bytes");
    g_assert_cmpuint(moved, <, LEN);

    target = lab_load(&spec, file, source->card);
    a = &target->card[0];
    g_assert_cmphex(bar_read(a, 0, DMASIZ0, 4), ==, 8);
    if (paused) {
        intx_watch(target->vm);
        g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, DMA_ENABLE);
        g_assert_cmpuint(counter(a, "dma-bytes"), ==, moved);
        g_assert_false(intx_level(a));
        vm_set_running(target->vm, true);
        wait_until(intx_level(a));
    }
    dma_expect(a, true);
    g_assert_false(paused && intx_level(a));
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, LEN);
    card_expect(a, AT, data, LEN);
    fibre_hold(box, false);
    lab_stop(target);
    lab_stop(source);
    fibre_free(box);
}

static void test_migration(void)
{
    migrate(false);
}

static void test_migration_paused(void)
{
    migrate(true);
}

/* One that waits for the bus goes on waiting; unless it need not there. */
static void migrate_held(const char *options)
{
    LabSpec spec = { .options = { options } };
    g_autofree char *file = lab_path("migration");
    Lab *source = dma_dark("node-id=7"), *target;
    Card *a = &source->card[0];

    bus_master(a, false);
    host_write(source->vm, BUFFER, "12345678", 8);
    dma_start(a, &(Transfer){ TO_CARD, BUFFER, AT, 8 });
    migrate_to_file(source->vm, file);
    target = lab_migrate(&spec, file, a);
    a = &target->card[0];
    if (!strstr(options, "firmware-bus-master=on")) {
        wait_until(vm_errors(target->vm, "firmware-bus-master=on") == 1);
        g_assert_cmphex(bar_read(a, 0, DMACSR0, 4), ==, DMA_ENABLE);
        g_assert_cmpuint(counter(a, "dma-transfers"), ==, 0);
        bus_master(a, true);
    }
    dma_expect(a, true);
    card_expect(a, AT, "12345678", 8);
    lab_stop(target);
    lab_stop(source);
}

static void test_migration_held(void)
{
    migrate_held("node-id=7");
    migrate_held("node-id=7,firmware-bus-master=on");
}

void rfm5565_add_dma_life_tests(void)
{
    lab_add_test("dma-life/back-pressure", test_back_pressure);
    lab_add_test("dma-life/back-pressure-iommu", test_back_pressure_iommu);
    lab_add_test("dma-life/stall-limit", test_stall_limit);
    lab_add_test("dma-life/stall-limit-iommu", test_stall_limit_iommu);
    lab_add_test("dma-life/dark", test_dark);
    lab_add_test("dma-life/not-sent", test_not_sent);
    lab_add_test("dma-life/busy", test_busy);
    lab_add_test("dma-life/clear-and-start", test_clear_and_start);
    lab_add_test("dma-life/bus-master-lost", test_bus_master_lost);
    lab_add_test("dma-life/reset", test_reset);
    lab_add_test("dma-life/dead", test_dead);
    lab_add_test("dma-life/hung", test_hung);
    lab_add_test("dma-life/unplug", test_unplug);
    lab_add_test("dma-life/unplug-moving", test_unplug_moving);
    lab_add_test("dma-life/paused", test_paused);
    lab_add_test("dma-life/migration", test_migration);
    lab_add_test("dma-life/migration-paused", test_migration_paused);
    lab_add_test("dma-life/migration-held", test_migration_held);
}
