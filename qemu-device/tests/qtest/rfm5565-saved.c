/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of a machine is loaded from a file while the ring goes on: one that
 * is older, newer or other than the card would like.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include "qemu/bswap.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

/* A card whose fibres end in the test. */
typedef struct Ends {
    Vm *vm;
    Card card;
    int listener;
    char *rx_path;
} Ends;

static void ends_start(Ends *ends, const char *options)
{
    g_autofree char *tx_path = lab_path("fibre");
    g_autofree char *rx = NULL;
    g_autofree char *tx = chardev_tx("tx", tx_path);

    ends->rx_path = lab_path("fibre");
    rx = chardev_rx("rx", ends->rx_path);
    ends->listener = peer_listen(tx_path);
    ends->vm = vm_start("%s %s %s -device rfm5565,id=card0,addr=%u,node-id=7,"
                        "rx=rx,tx=tx", options, rx, tx, FIRST_SLOT);
    ends->card = (Card){ .vm = ends->vm, .slot = FIRST_SLOT };
}

static void ends_stop(Ends *ends)
{
    vm_stop(ends->vm);
    close(ends->listener);
    g_free(ends->rx_path);
}

static bool readable(int fd, int patience_ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    return poll(&pfd, 1, patience_ms) == 1;
}

/* The life that the card announces to its neighbour. */
static uint64_t announced_life(Ends *ends)
{
    uint8_t wire[PEER_MESSAGE];
    ssize_t n;

    do {
        int fd;

        g_assert_true(readable(ends->listener, WAIT_US / 1000));
        fd = accept4(ends->listener, NULL, NULL, SOCK_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_true(readable(fd, WAIT_US / 1000));
        n = recv(fd, wire, sizeof(wire), MSG_WAITALL);
        close(fd);
    } while (n != sizeof(wire));        /* it was not on the ring yet */
    g_assert_cmpint(memcmp(wire, "RL", 2), ==, 0);
    g_assert_cmpuint(wire[3], ==, 1);       /* HELLO */
    return ldq_le_p(wire + 8);
}

typedef struct Saved {
    char *data;
    gsize len;
} Saved;

/* A machine with one card is saved; @life is what that announced. */
static Saved save(uint64_t *life)
{
    g_autofree char *file = lab_path("migration");
    Ends source;
    Saved saved;

    ends_start(&source, "");
    card_init(&source.card, source.vm, FIRST_SLOT);
    ctl_writel(&source.card, NTD, 0x9a77e125);
    ctl_writel(&source.card, LIER, 0x3a85);
    bar_write(&source.card, 0, DMAPADR0, 4, BUFFER);
    *life = announced_life(&source);
    migrate_to_file(source.vm, file);
    g_assert_true(g_file_get_contents(file, &saved.data, &saved.len, NULL));
    card_fini(&source.card);
    ends_stop(&source);
    return saved;
}

/* Where @pattern stands in it, once. */
static char *find(Saved *saved, const void *pattern, size_t len)
{
    char *at = memmem(saved->data, saved->len, pattern, len);

    g_assert_nonnull(at);
    g_assert_null(memmem(at + 1, saved->data + saved->len - at - 1, pattern,
                         len));
    return at;
}

static char *saved_to_file(const Saved *saved)
{
    char *file = lab_path("migration");

    g_assert_true(g_file_set_contents(file, saved->data, saved->len, NULL));
    return file;
}

/* A card that moved has a later life than it had, whatever the clocks say. */
static void test_life_grows(void)
{
    const uint64_t ten_years = 10 * 365 * 86400 * 1000000000ull;
    const uint64_t future = g_get_real_time() * 1000ull + ten_years;
    uint64_t life;
    uint8_t pattern[8];
    Saved saved = save(&life);
    g_autofree char *file = NULL;
    Ends target;

    stq_be_p(pattern, life);
    stq_be_p(find(&saved, pattern, sizeof(pattern)), future);
    file = saved_to_file(&saved);
    ends_start(&target, "-incoming defer");
    migrate_from_file(target.vm, file);
    g_assert_cmpuint(announced_life(&target), ==, future + 1);
    ends_stop(&target);
    g_free(saved.data);
}

static bool sends_by_stream(Card *card)
{
    g_autofree char *link = property(card, "tx-link");

    return !strcmp(link, "stream");
}

/* What is left of its earlier life is not taken for another node. */
static void test_former_life(void)
{
    uint64_t life;
    uint8_t pattern[8], wire[PEER_FRAME];
    Saved saved = save(&life);
    g_autofree char *file = NULL;
    Ends target;
    Peer peer;

    stq_be_p(pattern, life);
    stq_be_p(find(&saved, pattern, sizeof(pattern)), PEER_INCARNATION);
    file = saved_to_file(&saved);
    ends_start(&target, "-incoming defer");
    migrate_from_file(target.vm, file);
    announced_life(&target);
    peer_connect(&peer, target.rx_path, target.listener, NULL, 0);
    wait_until(sends_by_stream(&target.card));
    peer_send(peer.upstream, wire, peer_update(wire, 7, 5, 0, 0, 0x01d));
    peer_send(peer.upstream, wire,
              peer_update(wire, PEER_NODE, 1, 0, 4, 0x600d));
    peer_next_update(peer.downstream, wire);
    g_assert_cmphex(ldl_le_p(wire + 48), ==, 0x600d);
    g_assert_cmpuint(vm_errors(target.vm, "already used"), ==, 0);
    close(peer.upstream);
    close(peer.downstream);
    ends_stop(&target);
    g_free(saved.data);
}

/* No card takes it, and QEMU's last words tell @why. */
static void expect_refused(const Saved *saved, const char *why)
{
    g_autofree char *file = saved_to_file(saved);
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    Ends target;

    ends_start(&target, "-incoming defer");
    qtest_set_expected_status(target.vm->qts, 1);
    qtest_qmp_send(target.vm->qts, "{'execute': 'migrate-incoming',"
                   " 'arguments': {'uri': %s}}", uri);
    qtest_wait_qemu(target.vm->qts);
    g_assert_cmpuint(vm_errors(target.vm, why), >=, 1);
    ends_stop(&target);
}

/*
 * A state of before or of the future, as a whole or in a part: each part is
 * laid out otherwise in every version of it.
 */
static void test_other_version(void)
{
    static const struct {
        const char *name;
        unsigned behind;    /* so many bytes stands the version */
        uint32_t version, other;
        const char *why;
    } others[] = {
        { "/rfm5565\0\0\0\0", 4, 5, 6, "unsupported version 6" },
        { "/rfm5565\0\0\0\0", 4, 5, 1,
          "rfm5565: incoming version_id 1 is too old" },
        { "\x05\x11rfm5565/extension", 0, 4, 3,
          "rfm5565/extension: incoming version_id 3 is too old" },
        { "\x05\x11rfm5565/extension", 0, 4, 5,
          "rfm5565/extension: incoming version_id 5 is too new" },
        { "\x05\x0brfm5565/dma", 0, 1, 2,
          "rfm5565/dma: incoming version_id 2 is too new" },
        { "\x05\x0drfm5565/books", 0, 1, 2,
          "rfm5565/books: incoming version_id 2 is too new" },
        { "\x05\x0drfm5565/books", 0, 1, 0,
          "rfm5565/books: incoming version_id 0 is too old" },
        { "\x05\x0erfm5565/remote", 0, 1, 2,
          "rfm5565/remote: incoming version_id 2 is too new" },
    };
    uint64_t life;
    Saved saved = save(&life);
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(others); i++) {
        const char *name = others[i].name;
        char *version = find(&saved, name, strlen(name) + others[i].behind) +
                        strlen(name) + others[i].behind;

        g_test_message("%s: %u", name, others[i].other);
        g_assert_cmpuint(ldl_be_p(version), ==, others[i].version);
        stl_be_p(version, others[i].other);
        expect_refused(&saved, others[i].why);
        stl_be_p(version, others[i].version);
    }
    g_free(saved.data);
}

/* A part that no card of today knows: QEMU says no more of it. */
static void test_other_part(void)
{
    static const char name[] = "\x05\x0drfm5565/books";
    uint64_t life;
    Saved saved = save(&life);

    memcpy(find(&saved, name, strlen(name)) + 10, "looks", 5);
    expect_refused(&saved, "migration failed: No such file or directory");
    g_free(saved.data);
}

/* A state that ends too early is none, wherever it ends. */
static void test_cut_off(void)
{
    static const char *const names[] = {
        "\x05\x11rfm5565/extension", "\x05\x0brfm5565/dma",
        "\x05\x0drfm5565/books", "\x05\x0erfm5565/remote",
    };
    uint64_t life;
    Saved saved = save(&life);
    gsize whole = saved.len, rest;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(names); i++) {
        rest = find(&saved, names[i], strlen(names[i])) - saved.data;
        for (saved.len = rest; saved.len <= rest + 40; saved.len += 20) {
            g_test_message("%zu of %zu bytes", saved.len, whole);
            expect_refused(&saved, "load of migration failed");
        }
        saved.len = whole;
    }
    g_free(saved.data);
}

/*
 * What the card has counted goes with the guest. What others have sent while it
 * was away is missed there, as its driver counts along.
 */
static void test_books(void)
{
    g_autofree char *file = lab_path("migration");
    uint8_t wire[PEER_FRAME];
    Ends source, target;
    Peer peer;
    unsigned i;

    ends_start(&source, "");
    announced_life(&source);
    peer_connect(&peer, source.rx_path, source.listener, NULL, 0);
    wait_until(sends_by_stream(&source.card));
    for (i = 1; i <= 5; i++) {
        /* Number 3 gets lost. */
        peer_send(peer.upstream, wire,
                  peer_update(wire, PEER_NODE, i + (i > 2), 0, 0, i));
    }
    wait_until(counter(&source.card, "frames-received") == 5);
    migrate_to_file(source.vm, file);
    close(peer.upstream);
    close(peer.downstream);

    ends_start(&target, "-incoming defer");
    migrate_from_file(target.vm, file);
    g_assert_cmpuint(counter(&target.card, "frames-received"), ==, 5);
    g_assert_cmpuint(counter(&target.card, "frames-missed"), ==, 1);
    announced_life(&target);
    peer_connect(&peer, target.rx_path, target.listener, NULL, 0);
    wait_until(sends_by_stream(&target.card));
    peer_send(peer.upstream, wire, peer_update(wire, PEER_NODE, 9, 0, 0, 9));
    wait_until(counter(&target.card, "frames-received") == 6);
    g_assert_cmpuint(counter(&target.card, "frames-missed"), ==, 1 + 2);
    close(peer.upstream);
    close(peer.downstream);
    ends_stop(&target);
    ends_stop(&source);
}

/* Registers that no card can have are refused. */
static void test_impossible_state(void)
{
    /* INTCSR, MARBR, CNTRL, LAS1BA, LCSR1, as they stand there */
    static const uint32_t registers[] = {
        0x0f010100, 0x02040000, 0, 0x00000001, 0x80000000,
    };
    static const struct {
        unsigned which;
        uint32_t value;
    } wrongs[] = {
        { 0, 0xffffffff }, { 1, 0x0fffffff }, { 2, 0x10 },
        { 3, 0xffe00001 }, { 3, 0x00200001 }, { 4, 0x80000001 },
        { 4, 0x83000000 },
    };
    uint8_t pattern[sizeof(registers)];
    uint64_t life;
    Saved saved = save(&life);
    char *at;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        stl_be_p(pattern + 4 * i, registers[i]);
    }
    at = find(&saved, pattern, sizeof(pattern));
    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        memcpy(at, pattern, sizeof(pattern));
        stl_be_p(at + 4 * wrongs[i].which, wrongs[i].value);
        g_test_message("register %u: 0x%x", wrongs[i].which, wrongs[i].value);
        expect_refused(&saved, "saved state is damaged: registers");
    }
    g_free(saved.data);
}

/* Nor are books that no card can have kept. */
static void test_impossible_books(void)
{
    static const char name[] = "\x05\x0drfm5565/books";
    static const struct {
        unsigned count;     /* which */
        uint64_t more;      /* than there were */
    } wrongs[] = {
        { 1, 1 },                       /* sent */
        { 2, 1 }, { 2, -1ull },         /* home */
        { 3, 1 },                       /* lost */
        { 6, 1 },                       /* received of all nodes */
        { 10, -1ull },                  /* missed */
        { 20, 1 << 20 }, { 20, 1ull << 32 },    /* tx_peak */
        { 21, 4097 }, { 21, 1ull << 32 },       /* insert_peak */
        { 27 + 3, 1 },                        /* received of node 0 */
        { 27 + 4, 1 },                        /* missed */
    };
    uint64_t life;
    Saved saved = save(&life);
    char *counts = find(&saved, name, strlen(name)) + strlen(name) + 4;
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        char *at = counts + 8 * wrongs[i].count;
        uint64_t right = ldq_be_p(at);

        stq_be_p(at, right + wrongs[i].more);
        g_test_message("%u: 0x%" PRIx64, wrongs[i].count, wrongs[i].more);
        expect_refused(&saved, "damaged: what it has counted");
        stq_be_p(at, right);
    }
    g_free(saved.data);
}

/* Nor requests, ports and regions of a table that is off, or cannot be. */
static void test_impossible_requests(void)
{
    static const char name[] = "\x05\x0erfm5565/remote";
    enum {      /* where they stand, behind the version */
        CONTROL = 8, STATUS = 12, TABLE = 20, BUSY = 24, PORTS = BUSY + 32,
        REGIONS = PORTS + 64 * 4 + 3 * 9 * 8 + 3 * 4,
    };
    static const struct {
        unsigned at[4];
        uint32_t value[4];
    } wrongs[] = {
        { { CONTROL, STATUS }, { 1, 3 } },
        { { CONTROL }, { 1 } },
        { { STATUS }, { 1 } },
        { { CONTROL, STATUS }, { 2, 1 } },
        { { CONTROL, STATUS, TABLE }, { 1, 1, 4 } },
        { { CONTROL, STATUS, TABLE - 4, TABLE }, { 1, 1, ~0u, ~0u << 6 } },
        { { BUSY }, { 1 } },
        { { PORTS + 4 }, { 6 } },
        { { CONTROL, STATUS, PORTS }, { 1, 1, 65537 } },
        { { CONTROL, STATUS, PORTS, PORTS + 8 }, { 1, 1, 6, 6 } },
        { { REGIONS }, { 64 * MIB + 1 } },
        { { REGIONS, REGIONS + 4 }, { 64, 0 } },        /* key */
    };
    uint64_t life;
    Saved saved = save(&life);
    char *state = find(&saved, name, strlen(name)) + strlen(name) + 4;
    unsigned i, k;

    g_assert_cmphex((uint32_t)ldl_be_p(state + REGIONS - 4), ==, ~0u);
    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        uint8_t right[REGIONS + 8];

        memcpy(right, state, sizeof(right));
        for (k = 0; k < 4 && wrongs[i].at[k]; k++) {
            stl_be_p(state + wrongs[i].at[k], wrongs[i].value[k]);
        }
        g_test_message("%u", i);
        expect_refused(&saved, "damaged: its re");  /* requests, regions */
        memcpy(state, right, sizeof(right));
    }
    g_free(saved.data);
}

/* Nor is a transfer taken that reaches where it never could. */
static void test_impossible_transfer(void)
{
    static const struct {
        unsigned word;
        uint32_t value;
    } wrongs[] = {
        { 0, 64 * MIB - 4 },            /* where in the card's memory */
        { 1, 0 }, { 1, 0xfffffff8 },    /* bytes left */
        { 2, 0 }, { 2, 72 },            /* of these, in one piece */
    };
    const uint32_t setup[] = { 0x00020583, BUFFER, 0x40, 64 };
    g_autofree char *file = lab_path("migration");
    Lab *source = dma_dark("node-id=7");
    uint8_t pattern[sizeof(setup)];
    Saved saved;
    char *state;
    unsigned i;

    vm_set_running(source->vm, false);
    dma_start(&source->card[0], &(Transfer){ TO_CARD, BUFFER, 0x40, 64 });
    migrate_to_file(source->vm, file);
    g_assert_true(g_file_get_contents(file, &saved.data, &saved.len, NULL));
    for (i = 0; i < ARRAY_SIZE(setup); i++) {
        stl_be_p(pattern + 4 * i, setup[i]);
    }
    /* Seven registers, four flags, the address at the host */
    state = find(&saved, pattern, sizeof(pattern)) + 7 * 4 + 4 + 8;
    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        char *at = state + 4 * wrongs[i].word;
        uint32_t right = ldl_be_p(at);
        g_autofree char *wrong = NULL;
        g_autofree char *uri = NULL;
        Lab *target = lab_build(&(LabSpec){
            .options = { "node-id=7" }, .incoming = true,
        });

        stl_be_p(at, wrongs[i].value);
        wrong = saved_to_file(&saved);
        stl_be_p(at, right);
        uri = g_strdup_printf("file:%s", wrong);
        g_test_message("%u: 0x%x", wrongs[i].word, wrongs[i].value);
        qtest_set_expected_status(target->vm->qts, 1);
        qtest_qmp_send(target->vm->qts, "{'execute': 'migrate-incoming',"
                       " 'arguments': {'uri': %s}}", uri);
        qtest_wait_qemu(target->vm->qts);
        g_assert_cmpuint(vm_errors(target->vm, "damaged: a DMA transfer"),
                         ==, 1);
        lab_stop(target);
    }
    g_free(saved.data);
    lab_stop(source);
}

/* What waited for a paused machine when it began to move goes along */
static void test_held_goes_along(void)
{
    LabSpec spec = {
        .options = { "node-id=7", "node-id=9" }, .fibres = true,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec), *target;
    Card *a = &source->card[0], *b = &source->card[1];
    uint64_t received;
    unsigned i;

    ring_wait_closed(source->card, 2);
    received = counter(b, "frames-received");
    vm_set_running(source->vm, false);
    for (i = 0; i < 3; i++) {
        mem_writel(a, 16 * i, 0x1057);
    }
    wait_until(counter(b, "frames-received") == received + 3);
    migrate_to_file(source->vm, file);

    target = lab_load(&spec, file, source->card);
    b = &target->card[1];
    vm_set_running(target->vm, true);
    ring_wait_closed(target->card, 2);
    g_assert_cmpuint(counter(b, "frames-held-lost"), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR) & L_RX_FULL, ==, 0);
    for (i = 0; i < 3; i++) {
        g_assert_cmphex(mem_readl(b, 16 * i), ==, 0x1057);
    }
    lab_stop(target);
    lab_stop(source);
}

/* A card that is away leaves its neighbour's socket to another. */
static void test_away_occupies_nothing(void)
{
    Ends ends;
    uint8_t byte;
    int fd;

    ends_start(&ends, "-incoming defer");
    g_assert_true(readable(ends.listener, WAIT_US / 1000));
    fd = accept4(ends.listener, NULL, NULL, SOCK_CLOEXEC);
    g_assert_true(readable(fd, WAIT_US / 1000));
    g_assert_cmpint(recv(fd, &byte, 1, 0), ==, 0);
    close(fd);
    ends_stop(&ends);
}

static bool file_has(const char *file, const void *what, size_t size)
{
    g_autofree char *data = NULL;
    gsize len;

    g_assert_true(g_file_get_contents(file, &data, &len, NULL));
    return memmem(data, len, what, size);
}

/* What a capture holds goes to its file also when the card leaves the ring. */
static void test_capture_of_the_last(void)
{
    g_autofree char *file = lab_path("capture");
    g_autofree char *options = g_strdup_printf("node-id=7,pcap=%s", file);
    Lab *lab = lab_ring(options, "node-id=9");
    Card *a = &lab->card[0];
    unsigned i;

    /* Some of these are the last before a tick of the engine's clock. */
    for (i = 0; i < 20; i++) {
        const uint64_t mark = 0xd0d0cafe00000000ull + i;
        const uint64_t wire = cpu_to_le64(mark);
        uint64_t home = counter(a, "frames-home");

        qpci_io_writeq(a->pci, a->bar[3], 0, mark);
        wait_until(counter(a, "frames-home") > home);
        qtest_qom_set_bool(lab->vm->qts, "/machine/peripheral/card0", "dead",
                           true);
        wait_until(file_has(file, &wire, sizeof(wire)));
        qtest_qom_set_bool(lab->vm->qts, "/machine/peripheral/card0", "dead",
                           false);
        ring_wait_closed(lab->card, 2);
    }
    lab_stop(lab);
}

void rfm5565_add_saved_tests(void)
{
    lab_add_test("saved/life-grows", test_life_grows);
    lab_add_test("saved/former-life", test_former_life);
    lab_add_test("saved/other-version", test_other_version);
    lab_add_test("saved/other-part", test_other_part);
    lab_add_test("saved/cut-off", test_cut_off);
    lab_add_test("saved/books", test_books);
    lab_add_test("saved/impossible-state", test_impossible_state);
    lab_add_test("saved/impossible-books", test_impossible_books);
    lab_add_test("saved/impossible-requests", test_impossible_requests);
    lab_add_test("saved/impossible-transfer", test_impossible_transfer);
    lab_add_test("saved/held-goes-along", test_held_goes_along);
    lab_add_test("saved/away-occupies-nothing", test_away_occupies_nothing);
    lab_add_test("saved/capture-of-the-last", test_capture_of_the_last);
}
