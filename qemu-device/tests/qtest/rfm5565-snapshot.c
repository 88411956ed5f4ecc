/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot of a machine is saved while the ring goes on, and loaded: its
 * cards go on where they were then.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

/* Has the job "job" ended? It must have done well then. */
static bool job_has_ended(Vm *vm)
{
    QDict *reply = qtest_qmp(vm->qts, "{'execute': 'query-jobs'}");
    QList *jobs = qdict_get_qlist(reply, "return");
    QDict *job = qobject_to(QDict, qlist_peek(jobs));
    bool ended = !strcmp(qdict_get_str(job, "status"), "concluded");

    if (ended && qdict_haskey(job, "error")) {
        g_error("%s", qdict_get_str(job, "error"));
    }
    qobject_unref(reply);
    return ended;
}

static void job_finish(Vm *vm)
{
    wait_until(job_has_ended(vm));
    qtest_qmp_assert_success(vm->qts, "{'execute': 'job-dismiss',"
                             " 'arguments': {'id': 'job'}}");
}

/*
 * Something to keep snapshots in. It need not outlive the host, and who waits
 * for its disk in QEMU's main loop takes the card's time.
 */
static void add_disk(Vm *vm)
{
    g_autofree char *file = lab_path("disk");

    qtest_qmp_assert_success(vm->qts, "{'execute': 'blockdev-create',"
                             " 'arguments': {'job-id': 'job', 'options':"
                             " {'driver': 'file', 'filename': %s, 'size': 0}}}",
                             file);
    job_finish(vm);
    qtest_qmp_assert_success(vm->qts, "{'execute': 'blockdev-add',"
                             " 'arguments': {'driver': 'file', 'node-name':"
                             " 'file', 'filename': %s, 'cache':"
                             " {'no-flush': true}}}", file);
    qtest_qmp_assert_success(vm->qts, "{'execute': 'blockdev-create',"
                             " 'arguments': {'job-id': 'job', 'options':"
                             " {'driver': 'qcow2', 'file': 'file',"
                             " 'size': 1048576}}}");
    job_finish(vm);
    qtest_qmp_assert_success(vm->qts, "{'execute': 'blockdev-add',"
                             " 'arguments': {'driver': 'qcow2', 'node-name':"
                             " 'disk', 'file': 'file', 'cache':"
                             " {'no-flush': true}}}");
}

/*
 * False if QEMU stood still for so long meanwhile that whoever waits for one of
 * its nodes may have given it up.
 */
static bool snapshot(Vm *vm, const char *verb)
{
    gint64 begun = g_get_monotonic_time();

    qtest_qmp_assert_success(vm->qts, "{'execute': %s, 'arguments':"
                             " {'job-id': 'job', 'tag': 'one',"
                             " 'vmstate': 'disk', 'devices': ['disk']}}", verb);
    job_finish(vm);
    return g_get_monotonic_time() - begun < G_USEC_PER_SEC;
}

/* A round that is false was not made in time. */
static void repeat_until_in_time(bool (*round)(void))
{
    while (!round()) {
        g_test_message("the machine took too long to save: once more");
    }
}

/* The ring has not been broken since @epoch was read. */
static void expect_unbroken(Card *card, uint64_t epoch)
{
    g_assert_cmphex(ctl_readl(card, LCSR1) & (SIGNAL | SYNC_LOST), ==, SIGNAL);
    g_assert_cmpuint(counter(card, "epoch"), ==, epoch);
}

static bool snapshots_in_time(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t epoch_a = counter(a, "epoch"), epoch_b = counter(b, "epoch");
    bool in_time = true;
    unsigned running;

    add_disk(lab->vm);
    for (running = 0; running < 2; running++) {
        uint64_t received = counter(b, "frames-received");

        vm_set_running(lab->vm, running);
        mem_writel(a, 4 * running, 0x5a4ed + running);
        wait_until(counter(b, "frames-received") == received + 1);
        in_time = snapshot(lab->vm, "snapshot-save");
        if (!in_time) {
            break;
        }
        expect_unbroken(a, epoch_a);
        expect_unbroken(b, epoch_b);

        /* What came for a machine that was paused still waits for it. */
        if (!running) {
            g_assert_cmphex(mem_readl(b, 0), ==, 0);
            vm_set_running(lab->vm, true);
        }
        g_assert_cmphex(mem_readl(b, 4 * running), ==, 0x5a4ed + running);
        g_assert_cmpuint(counter(b, "frames-held-lost"), ==, 0);
        qtest_qmp_assert_success(lab->vm->qts, "{'execute': 'blockdev-snapshot-"
                                 "delete-internal-sync', 'arguments':"
                                 " {'device': 'disk', 'name': 'one'}}");
    }
    if (in_time) {
        mem_writel(a, 8, 0x600d);
        fence(a, b);
        g_assert_cmphex(mem_readl(b, 8), ==, 0x600d);
    }
    lab_stop(lab);
    return in_time;
}

/* A snapshot of a machine, whether it runs or not, does not break its ring. */
static void test_save(void)
{
    repeat_until_in_time(snapshots_in_time);
}

/*
 * A paused machine goes back to a snapshot: its cards begin a new life on the
 * ring at once, with the books of then. What waited when the snapshot was taken
 * is dropped and counted.
 */
static void test_load(void)
{
    Lab *lab = lab_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t epoch = counter(b, "epoch");
    uint64_t received = counter(b, "frames-received");

    add_disk(lab->vm);
    mem_writel(a, 0, 0x01d);
    fence(a, b);
    vm_set_running(lab->vm, false);
    mem_writel(a, 0, 0x4e1d);
    mem_writel(a, 4, 0x4e1e);
    wait_until(counter(b, "frames-received") == received + 4);
    snapshot(lab->vm, "snapshot-save");
    mem_writel(a, 8, 0x4e1f);
    wait_until(counter(b, "frames-received") == received + 5);
    snapshot(lab->vm, "snapshot-load");
    g_assert_cmpuint(counter(b, "frames-received"), ==, received + 2);

    ring_wait_closed(lab->card, 2);
    g_assert_cmpuint(counter(b, "epoch"), >, epoch);
    /* Those that wait in the snapshot; the old life is forgotten. */
    g_assert_cmpuint(counter(b, "frames-held-lost"), ==, 2);
    vm_set_running(lab->vm, true);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x01d);
    g_assert_cmphex(mem_readl(b, 4), ==, 0);
    g_assert_cmphex(mem_readl(b, 8), ==, 0);
    g_assert_cmphex(mem_readl(a, 4), ==, 0x4e1e);
    g_assert_cmphex(mem_readl(a, 8), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR) & (L_RX_FULL | L_SYNC_LOSS), ==,
                    L_RX_FULL | L_SYNC_LOSS);
    mem_writel(a, 12, 0x600d);
    fence(a, b);
    fence(b, a);
    g_assert_cmphex(mem_readl(b, 12), ==, 0x600d);
    lab_stop(lab);
}

/* So does the extension block: its event ring goes on where it was then. */
static void test_events(void)
{
    const SlotSetting match = {
        .offset = 0x1000, .length = 4, .mask = ~0ull, .value = 0x600d,
    };
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    Events events, then;
    unsigned i;

    add_disk(lab->vm);
    events_start(&events, b, RING_AT, 4, T_DATA);
    plane_set(b, 0x2000, GRANULE, WATCH | ON);
    slot_arm(b, 77, EQUAL, &match);
    for (i = 0; i < 20; i++) {
        mem_writel(a, 0x2000, i);
        events_next(&events, R_UPDATE);
    }
    vm_set_running(lab->vm, false);
    snapshot(lab->vm, "snapshot-save");
    vm_set_running(lab->vm, true);
    then = events;
    for (i = 0; i < 3; i++) {
        mem_writel(a, 0x2000, i);
        events_next(&events, R_UPDATE);
    }
    plane_set(b, 0x2000, GRANULE, WATCH);
    slot_arm(b, 77, 0, &match);
    vm_set_running(lab->vm, false);
    snapshot(lab->vm, "snapshot-load");
    g_assert_cmpuint(ext_readl(b, X_PRODUCER), ==, 20);
    g_assert_cmpuint(ext_readl(b, X_CONSUMER), ==, 20);
    g_assert_false(events_ready(&then));

    ring_wait_closed(lab->card, 2);
    vm_set_running(lab->vm, true);
    mem_writel(a, 0x2000, 0x4e1d);
    g_assert_cmpuint(events_next(&then, R_UPDATE).event, ==, 21);
    mem_writel(a, 0x1000, 0x600d);
    g_assert_cmpuint(events_next(&then, R_MATCH).value, ==, 77);
    lab_stop(lab);
}

static bool snapshot_of_transfer_in_time(void)
{
    const uint32_t len = 4 * MIB;
    Fibre *box;
    Lab *lab = dma_boxed("node-id=7,stall-limit-ms=10000", &box);
    Card *a = &lab->card[0];
    g_autofree uint8_t *data = dma_pattern(len, 1);
    bool in_time;

    add_disk(lab->vm);
    host_write(lab->vm, BUFFER, data, len);
    fibre_hold(box, true);
    dma_start(a, &(Transfer){ TO_CARD, BUFFER, 0, len });
    wait_until(counter(a, "insert-peak") >= 400);
    in_time = snapshot(lab->vm, "snapshot-save");
    g_assert_false(in_time && dma_is_done(a));
    fibre_hold(box, false);
    if (!in_time) {
        goto end;
    }
    dma_expect(a, true);
    fence(a, &lab->card[1]);
    card_expect(&lab->card[1], 0, data, len);

    /* It leaves another transfer behind, which is no more. */
    dma_start(a, &(Transfer){ TO_HOST, BUFFER2, 0, DMA_MAX });
    snapshot(lab->vm, "snapshot-load");
    dma_expect(a, true);
    g_assert_cmpuint(counter(a, "dma-transfers"), ==, 1);
    g_assert_cmpuint(counter(a, "dma-bytes"), ==, len);
    g_assert_cmphex(bar_read(a, 0, DMAPADR0, 4), ==, BUFFER);
    card_expect(a, 0, data, len);
    ring_wait_closed(lab->card, 2);
end:
    lab_stop(lab);
    fibre_free(box);
    return in_time;
}

/* The machine goes back to the middle of a transfer, which then ends again. */
static void test_dma(void)
{
    repeat_until_in_time(snapshot_of_transfer_in_time);
}

/* Why the last migration failed, to be freed; NULL: it has not (yet). */
static char *migration_failure(Vm *vm)
{
    QDict *reply = qtest_qmp_assert_success_ref(vm->qts,
                                                "{'execute': 'query-migrate'}");
    const char *status = qdict_get_str(reply, "status");
    bool failed = !strcmp(status, "failed");
    char *why = failed ? g_strdup(qdict_get_str(reply, "error-desc")) : NULL;

    g_assert_cmpstr(status, !=, "completed");
    qobject_unref(reply);
    return why;
}

/* It would miss what arrives meanwhile, as it does not see such stores. */
static void test_background(void)
{
    g_autofree char *file = lab_path("migration");
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *why = NULL;
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    QTestState *qts = lab->vm->qts;
    QDict *reply, *error;

    reply = qtest_qmp(qts, "{'execute': 'migrate-set-capabilities',"
                      " 'arguments': {'capabilities': [{'capability':"
                      " 'background-snapshot', 'state': true}]}}");
    error = qdict_get_qdict(reply, "error");
    if (error) {
        g_test_skip(qdict_get_str(error, "desc"));
    } else {
        qtest_qmp_assert_success(qts, "{'execute': 'migrate', 'arguments':"
                                 " {'uri': %s}}", uri);
        wait_until((why = migration_failure(lab->vm)));
        g_assert_nonnull(strstr(why, "background snapshot"));
        fence(&lab->card[0], &lab->card[1]);
    }
    qobject_unref(reply);
    lab_stop(lab);
}

void rfm5565_add_snapshot_tests(void)
{
    lab_add_test("snapshot/save", test_save);
    lab_add_test("snapshot/load", test_load);
    lab_add_test("snapshot/events", test_events);
    lab_add_test("snapshot/dma", test_dma);
    lab_add_test("snapshot/background", test_background);
}
