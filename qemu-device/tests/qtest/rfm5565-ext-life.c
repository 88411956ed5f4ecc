/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a card with the extension block goes through: byte swap, pause, reset,
 * unplugging, migration.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "rfm5565-block.h"

#define AT      0x8000
#define MS      1000000ull

/* --- byte swap ------------------------------------------------------------ */

#define PIO_SWAP 0x20
#define DMA_SWAP 0x80

/* The other node shows the memory as it is. */
static void test_byte_swap(void)
{
    const uint64_t both = 0x1122334455667788;
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    QPCIBar bar = a->bar[3];

    bar_write(a, 0, BIGEND, 4, ~0u);
    g_assert_cmphex(bar_read(a, 0, BIGEND, 4), ==, PIO_SWAP | DMA_SWAP);
    mem_writel(a, 0, 0x11223344);
    qpci_io_writeq(a->pci, bar, 8, both);
    qpci_io_writeb(a->pci, bar, 16, 0xaa);
    qpci_io_writeb(a->pci, bar, 18, 0xbb);
    qpci_io_writew(a->pci, bar, 20, 0x1122);
    qpci_io_writew(a->pci, bar, 26, 0x3344);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x44332211);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 8), ==,
                    0x4433221188776655);
    g_assert_cmphex(mem_readl(b, 16), ==, 0xaa00bb00);
    g_assert_cmphex(mem_readl(b, 20), ==, 0x22110000);
    g_assert_cmphex(mem_readl(b, 24), ==, 0x00004433);

    /* It reads back as it was written. */
    g_assert_cmphex(mem_readl(a, 0), ==, 0x11223344);
    g_assert_cmphex(qpci_io_readq(a->pci, bar, 8), ==, both);
    g_assert_cmphex(qpci_io_readb(a->pci, bar, 16), ==, 0xaa);
    g_assert_cmphex(qpci_io_readb(a->pci, bar, 19), ==, 0);
    g_assert_cmphex(qpci_io_readw(a->pci, bar, 20), ==, 0x1122);
    g_assert_cmphex(qpci_io_readw(a->pci, bar, 26), ==, 0x3344);
    mem_writel(b, 0, 0x01020304);       /* what comes is not swapped */
    fence(b, a);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x04030201);
    bar_write(a, 0, BIGEND, 4, ~PIO_SWAP);
    g_assert_cmphex(bar_read(a, 0, BIGEND, 4), ==, DMA_SWAP);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x01020304);
    g_assert_cmphex(mem_readl(a, 16), ==, 0xaa00bb00);
    lab_stop(lab);
}

/* --- pause ---------------------------------------------------------------- */

/*
 * While the machine stands still its memory stays as it is and nothing
 * interrupts; what happened to the card meanwhile follows.
 */
static void test_paused(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;

    events_start(&events, b, RING_AT, 4, T_DATA | 1u << R_SYNC_LOSS);
    vm_set_running(lab->vm, false);
    lcsr1_set(a, TX_DISABLE);
    ctl_wait(b, LCSR1, SYNC_LOST, SYNC_LOST);
    g_assert_false(events_ready(&events));
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 0);
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);
    vm_set_running(lab->vm, true);
    events_next(&events, R_SYNC_LOSS);
    wait_until(ext_readl(b, X_INT_STATUS) == (1u << V_EVENTS | 1u << V_LINK));
    lab_stop(lab);
}

/* What waits for a ring that is switched off does not come to the next one. */
static void test_paused_switched(void)
{
    const uint32_t types = 1u << R_SYNC_LOSS | 1u << R_SIGNAL;
    static uint8_t memory[RECORD << 4];
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;

    events_start(&events, b, RING_AT, 4, types);
    vm_set_running(lab->vm, false);
    lcsr1_set(a, TX_DISABLE);
    ctl_wait(b, LCSR1, SYNC_LOST, SYNC_LOST);
    events_stop(&events);
    events_start(&events, b, RING_AT + 0x10000, 4, types);
    vm_set_running(lab->vm, true);
    lcsr1_clear(a, TX_DISABLE);
    g_assert_cmpuint(events_next(&events, R_SIGNAL).event, ==, 1);
    qtest_memread(lab->vm->qts, RING_AT, memory, sizeof(memory));
    g_assert_true(buffer_is_zero(memory, sizeof(memory)));
    lab_stop(lab);
}

/* --- reset, unplugging ---------------------------------------------------- */

/* Everything that may want to tell something later */
static void keep_busy(PeerLab *lab, Events *events)
{
    const SlotSetting timer = {
        .offset = AT, .length = 4, .silence = 300 * MS,
    };
    Card *card = &lab->card;

    plane_set(card, AT, GRANULE, WATCH | ON);
    plane_set(card, AT, GRANULE, OWNED | ON);
    ext_writel(card, X_CONTROL, 1);
    ext_writel(card, X_TIME, 1000 * MS);
    ext_writel(card, X_INT_ENABLE, 0xf);
    events_start(events, card, RING_AT, 4, T_DATA | 1u << R_FENCE);
    peer_data(lab, 1, AT, "abcd", 4);
    events_next(events, R_UPDATE);
    ext_writel(card, X_FENCE, 0);
    ext_writel(card, X_FENCE, 0);
    for (unsigned i = 0; i < 256; i++) {
        slot_arm(card, i, TIMER, &timer);
    }
}

/* The frame of the fence that the card has sent */
static void receive_fence(PeerLab *lab, uint8_t *wire)
{
    do {
        peer_receive(lab->peer.downstream, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(lab->peer.downstream, wire + PEER_MESSAGE,
                         48 - PEER_MESSAGE + wire[7]);
        }
    } while (memcmp(wire, "RF", 2) || wire[3] != 6);
}

/* It is forgotten: nothing comes later, and nothing of a fence that ends. */
static void test_reset(void)
{
    static uint8_t memory[RECORD << 4];
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    Events events;
    uint64_t start;

    intx_watch(lab->vm);
    peer_close_ring(lab);
    keep_busy(lab, &events);
    receive_fence(lab, wire);
    qtest_system_reset(lab->vm->qts);
    card_fini(card);
    card_init(card, lab->vm, FIRST_SLOT);
    block_map(card);
    qtest_memset(lab->vm->qts, RING_AT, 0, sizeof(memory));
    peer_send(lab->peer.upstream, wire, 56);
    peer_data(lab, 2, AT, "efgh", 4);
    mem_waitl(card, AT, 0x68676665);
    start = ext_readq(card, X_CLOCK);
    wait_until(ext_readq(card, X_CLOCK) > start + 400 * MS);
    g_assert_cmpuint(ext_readl(card, X_PRODUCER), ==, 0);
    g_assert_cmpuint(ext_readl(card, X_FENCE_DONE), ==, 0);
    g_assert_cmphex(ext_readl(card, X_INT_STATUS), ==, 0);
    g_assert_cmphex(slot_control(card, 255), ==, 0);
    g_assert_false(intx_level(card));
    qtest_memread(lab->vm->qts, RING_AT, memory, sizeof(memory));
    g_assert_true(buffer_is_zero(memory, sizeof(memory)));

    /* All of it works again. */
    plane_set(card, AT, GRANULE, WATCH | ON);
    events_start(&events, card, RING_AT, 4, T_DATA);
    peer_data(lab, 3, AT, "ijkl", 4);
    g_assert_cmpuint(events_next(&events, R_UPDATE).event, ==, 1);
    peer_lab_stop(lab);
}

/* A card is pulled in the middle of it all, and another one put in. */
static void test_unplug(void)
{
    const SlotSetting timer = {
        .offset = AT, .length = 4, .silence = MS,
    };
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events;

    for (unsigned turn = 0; turn < 3; turn++) {
        plane_set(b, 0, 64 * MIB, WATCH | ON);
        ext_writel(b, X_CONTROL, 1);
        ext_writel(b, X_TIME, 10 * MS);
        events_start(&events, b, RING_AT, 4 + turn, ~0u);
        for (unsigned i = 0; i < 256; i++) {
            slot_arm(b, i, TIMER, &timer);
        }
        for (unsigned i = 0; i < 100; i++) {
            mem_writel(a, AT + 4 * i, i);
            ext_writel(b, X_FENCE, 0);
        }
        lab_unplug(lab, 1);
        lab_replug(lab, 1, 9);
        block_map(b);
        ring_wait_closed(lab->card, 2);
        g_assert_cmphex(ext_readl(b, X_EVENTS), ==, 0);
        g_assert_cmphex(slot_control(b, 255), ==, 0);
        mem_writel(a, AT, 0x600d);
        fence(a, b);
        g_assert_cmphex(mem_readl(b, AT), ==, 0x600d);
    }
    lab_stop(lab);
}

/* --- migration ------------------------------------------------------------ */

#define WORDS 0x2800        /* registers and the first nodes of the map */

/* Registers that are as they were on another machine, or another time */
static bool is_of_the_moment(unsigned at)
{
    return (at >= X_CLOCK && at <= X_DOMAIN) || at == X_EPOCH;
}

static void registers_read(Card *card, uint32_t *words)
{
    for (unsigned at = 0; at < WORDS; at += 4) {
        words[at / 4] = is_of_the_moment(at) ? 0 : ext_readl(card, at);
    }
}

static const SlotSetting match = {
    .offset = AT, .length = 4, .mask = 0xffff, .value = 0x600d,
};
static const SlotSetting silence = {
    .offset = AT + 0x1000, .length = 4, .silence = 3600000 * MS,
};
static const SlotSetting stale = {
    .offset = AT + 0x2000, .length = 4, .silence = MS,
};

/* Something of everything, at b */
static void migration_prepare(Lab *lab, Events *events)
{
    Card *a = &lab->card[0], *b = &lab->card[1];

    ext_writel(b, X_CONTROL, 1);
    plane_set(b, AT, GRANULE, WATCH | ON);
    plane_set(b, AT + 0x100, GRANULE, RX);
    plane_set(b, 48 * MIB, 2 * GRANULE, TX);
    plane_set(b, AT, 2 * GRANULE, OWNED | ON);
    events_start(events, b, RING_AT, 4, T_DATA | 1u << R_SYNC_LOSS |
                 1u << R_FENCE);
    for (unsigned i = 0; i < 20; i++) {
        mem_writel(a, AT, i);
        events_next(events, R_UPDATE);
        events_next(events, R_CONFLICT);
    }
    slot_arm(b, 200, TIMER, &stale);
    events_next(events, R_STALE);
    slot_arm(b, 3, EQUAL, &match);
    slot_arm(b, 100, TIMER, &silence);
    ext_writel(b, X_FENCE, 0);
    events_next(events, R_FENCE);
    ext_writel(b, X_INT_ENABLE, 0xf);
    ext_writel(b, X_COUNT, 3);
    ext_writel(b, X_SET + 8, 0x11112222);
    ext_writel(b, X_DATA, 0x33334444);
    ext_writel(b, X_WRITER, AT + 5);
    ext_writel(b, X_SNAPSHOT, 0);
}

/* What was set has come along and does what it did. */
static void migration_expect(Lab *lab, Events *events)
{
    Card *a = &lab->card[0], *b = &lab->card[1];

    g_assert_cmphex(slot_control(b, 200), ==, TIMER | SLOT_STALE);
    g_assert_cmphex(slot_control(b, 100), ==, TIMER);
    g_assert_cmphex(ext_readq(b, X_SLOT_SILENCE), ==, silence.silence);
    ext_writel(b, X_WRITER, AT);
    g_assert_cmphex(ext_readl(b, X_WRITER_NODE), ==, 0x80000007);
    mem_writel(a, AT + 0x100, 0xbad);
    mem_writel(a, AT, 0x1234600d);
    events_next(events, R_UPDATE);
    g_assert_cmpuint(events_next(events, R_MATCH).value, ==, 3);
    events_next(events, R_CONFLICT);
    mem_writel(a, AT + 0x2000, 1);
    g_assert_cmpuint(events_next(events, R_FRESH).value, ==, 200);
    g_assert_cmphex(mem_readl(b, AT + 0x100), ==, 0);
    mem_writel(b, 48 * MIB, 0xbad);
    fence(b, a);
    g_assert_cmphex(mem_readl(a, 48 * MIB), ==, 0);
}

static void test_migration(void)
{
    static uint32_t before[WORDS / 4], after[WORDS / 4];
    LabSpec spec = {
        .options = { "node-id=7,packing=off", "node-id=9" }, .fibres = true,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec), *target;
    Events events;
    unsigned i;

    ring_wait_closed(source->card, 2);
    block_map(&source->card[0]);
    block_map(&source->card[1]);
    migration_prepare(source, &events);

    /* A record that waits: the machine is paused already. */
    vm_set_running(source->vm, false);
    lcsr1_set(&source->card[0], TX_DISABLE);
    ctl_wait(&source->card[1], LCSR1, SYNC_LOST, SYNC_LOST);
    registers_read(&source->card[1], before);
    migrate_to_file(source->vm, file);

    target = lab_load(&spec, file, source->card);
    registers_read(&target->card[1], after);
    for (i = 0; i < WORDS / 4; i++) {
        if (before[i] != after[i]) {
            g_error("0x%x: 0x%x before, 0x%x after", 4 * i, before[i],
                    after[i]);
        }
    }
    vm_set_running(target->vm, true);
    events.card = &target->card[1];
    events_next(&events, R_SYNC_LOSS);
    ctl_writel(&target->card[0], LCSR1, 0);
    ring_wait_closed(target->card, 2);
    events.taken = ext_readl(&target->card[1], X_PRODUCER);
    events_consume(&events);
    migration_expect(target, &events);
    lab_stop(target);
    lab_stop(source);
}

/*
 * Nodes that came and went are counted on where the machine goes on: a fence
 * that was begun before compares the epoch of then with one of now.
 */
static void test_migration_epoch(void)
{
    LabSpec spec = {
        .options = { "node-id=7", "node-id=9" }, .fibres = true,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec), *target;
    uint32_t before[2];

    for (unsigned i = 0; i < 3; i++) {
        ring_wait_closed(source->card, 2);
        lcsr1_set(&source->card[0], TX_DISABLE);
        ctl_wait(&source->card[1], LCSR1, SIGNAL, 0);
        lcsr1_clear(&source->card[0], TX_DISABLE);
    }
    ring_wait_closed(source->card, 2);
    for (unsigned i = 0; i < 2; i++) {
        block_map(&source->card[i]);
        before[i] = ext_readl(&source->card[i], X_EPOCH);
    }
    migrate_to_file(source->vm, file);
    target = lab_migrate(&spec, file, source->card);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmpuint(ext_readl(&target->card[i], X_EPOCH), >, before[i]);
    }
    lab_stop(target);
    lab_stop(source);
}

/* A state with the block does not fit a card without it, nor the reverse. */
static void test_migration_mismatch(void)
{
    static const char *const options[] = {
        "node-id=7", "node-id=7,extension=off",
    };

    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *file = lab_path("migration");
        g_autofree char *uri = g_strdup_printf("file:%s", file);
        Lab *source = lab_dark(options[i], NULL);
        Vm *target;

        migrate_to_file(source->vm, file);
        target = vm_start("-incoming defer -device rfm5565,id=card0,addr=%u,%s",
                          FIRST_SLOT, options[!i]);
        qtest_set_expected_status(target->qts, 1);
        qtest_qmp_send(target->qts, "{'execute': 'migrate-incoming',"
                       " 'arguments': {'uri': %s}}", uri);
        qtest_wait_qemu(target->qts);
        g_assert_cmpuint(vm_errors(target, "rfm5565"), >=, 1);
        vm_stop(target);
        lab_stop(source);
    }
}

/* A saved state, to be changed */
typedef struct Saved {
    char *data;
    gsize len;
} Saved;

static char *saved_find(const Saved *saved, const char *from,
                        const void *pattern, size_t len)
{
    char *at = memmem(from, saved->data + saved->len - from, pattern, len);

    g_assert_nonnull(at);
    return at;
}

/* Migrate to @file, and read that */
static Saved saved_read(Vm *vm, const char *file)
{
    Saved saved;

    migrate_to_file(vm, file);
    g_assert_true(g_file_get_contents(file, &saved.data, &saved.len, NULL));
    return saved;
}

static void saved_write(Saved *saved, const char *file)
{
    g_assert_true(g_file_set_contents(file, saved->data, saved->len, NULL));
    g_free(saved->data);
}

/*
 * The next host has another clock, or the next card is set to another one: no
 * time of before is taken for one of it.
 */
static void migrate_to_clock(bool host)
{
    LabSpec spec = {
        .options = { "node-id=7,packing=off", "node-id=9" }, .fibres = true,
    };
    const SlotSetting timer = {
        .offset = AT, .length = 4, .silence = 3000 * MS,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec), *target;
    Card *a = &source->card[0], *b = &source->card[1];
    uint8_t clock[12];
    Events events;
    Record record;
    Saved saved;

    ring_wait_closed(source->card, 2);
    block_map(b);
    ext_writel(b, X_CONTROL, 1);
    events_start(&events, b, RING_AT, 4, T_DATA | 1u << R_SYNC_LOSS);
    slot_arm(b, 0, TIMER, &timer);
    mem_writel(a, AT, 1);
    fence(a, b);
    ext_writel(b, X_WRITER, AT);
    g_assert_cmphex(ext_readl(b, X_WRITER_NODE), ==, 0x80000007);
    vm_set_running(source->vm, false);
    lcsr1_set(a, TX_DISABLE);
    ctl_wait(b, LCSR1, SYNC_LOST, SYNC_LOST);

    /* CLOCK as it was read last, and its domain */
    stq_be_p(clock, ext_readq(b, X_CLOCK));
    stl_be_p(clock + 8, ext_readl(b, X_DOMAIN));
    saved = saved_read(source->vm, file);
    if (host) {
        saved_find(&saved, saved.data, clock, sizeof(clock))[8] ^= 1;
    } else {
        spec.options[1] = "node-id=9,clock=tai";
    }
    saved_write(&saved, file);

    target = lab_load(&spec, file, source->card);
    b = events.card = &target->card[1];
    g_assert_cmphex(ext_readl(b, X_WRITER_NODE), ==, 0xc0000007);
    ext_writel(b, X_WRITER, AT);
    g_assert_cmphex(ext_readl(b, X_WRITER_NODE), ==, 0xc0000007);
    vm_set_running(target->vm, true);
    record = events_next(&events, R_SYNC_LOSS);
    g_assert_cmphex(record.flags, ==, 0);
    g_assert_cmpuint(record.arrival, ==, 0);
    record = events_next(&events, R_STALE);
    g_assert_cmphex(record.flags, ==, OTHER_CLOCK);
    g_assert_cmpuint(record.node, ==, 7);
    g_assert_cmpuint(record.origin, !=, 0);
    g_assert_cmpuint(record.arrival, ==, 0);
    lab_stop(target);
    lab_stop(source);
}

static void test_migration_clock(void)
{
    migrate_to_clock(true);
}

static void test_migration_clock_kind(void)
{
    migrate_to_clock(false);
}

/* Where the configuration space of the card stands */
static char *saved_config(const Saved *saved)
{
    static const uint8_t ids[] = { 0x4a, 0x11, 0x65, 0x55 };
    char *section = saved_find(saved, saved->data, "/rfm5565", 8);

    return saved_find(saved, section, ids, sizeof(ids));
}

/* A state that hides its block until it is too late for the card without */
static void test_migration_crafted(void)
{
    g_autofree char *file = lab_path("migration");
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    Lab *without = lab_dark("node-id=7,extension=off", NULL);
    Lab *with = lab_dark("node-id=7", NULL);
    Saved plain = saved_read(without->vm, file);
    Saved saved = saved_read(with->vm, file);
    Vm *target;

    memcpy(saved_config(&saved), saved_config(&plain), 256);
    saved_write(&saved, file);
    target = vm_start("-incoming defer -device rfm5565,id=card0,addr=%u,"
                      "node-id=7,extension=off", FIRST_SLOT);
    qtest_set_expected_status(target->qts, 1);
    qtest_qmp_send(target->qts, "{'execute': 'migrate-incoming',"
                   " 'arguments': {'uri': %s}}", uri);
    qtest_wait_qemu(target->qts);
    g_assert_cmpuint(vm_errors(target, "extension=on"), ==, 1);
    vm_stop(target);
    lab_stop(with);
    lab_stop(without);
    g_free(plain.data);
}

void rfm5565_add_ext_life_tests(void)
{
    lab_add_test("ext-life/byte-swap", test_byte_swap);
    lab_add_test("ext-life/paused", test_paused);
    lab_add_test("ext-life/paused-switched", test_paused_switched);
    lab_add_test("ext-life/reset", test_reset);
    lab_add_test("ext-life/unplug", test_unplug);
    lab_add_test("ext-life/migration", test_migration);
    lab_add_test("ext-life/migration-epoch", test_migration_epoch);
    lab_add_test("ext-life/migration-mismatch", test_migration_mismatch);
    lab_add_test("ext-life/migration-clock", test_migration_clock);
    lab_add_test("ext-life/migration-clock-kind", test_migration_clock_kind);
    lab_add_test("ext-life/migration-crafted", test_migration_crafted);
}
