/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfer modes, rogue masters, a paused machine, the line, capture. */
#include "qemu/osdep.h"
#include <sys/mman.h>
#include <sys/socket.h>
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "rfm5565-lab.h"

/* --- switches ------------------------------------------------------------- */

/* LCSR1 shows how the switches are set, whatever is written there. */
static void test_switches(void)
{
    static const struct {
        const char *options;
        uint32_t bits;
    } settings[] = {
        { "node-id=7",                    0 },
        { "node-id=7,redundant=on",       REDUNDANT },
        { "node-id=7,rogue-master-0=on",  ROGUE_0 },
        { "node-id=7,rogue-master-1=on",  ROGUE_1 },
        { "node-id=7,redundant=on,rogue-master-0=on,rogue-master-1=on",
          REDUNDANT | ROGUE_0 | ROGUE_1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
        const uint32_t all = REDUNDANT | ROGUE_0 | ROGUE_1;
        Lab *lab = lab_dark(settings[i].options, NULL);
        Card *card = &lab->card[0];

        g_assert_cmphex(ctl_readl(card, LCSR1) & all, ==, settings[i].bits);
        lcsr1_set(card, all);
        g_assert_cmphex(ctl_readl(card, LCSR1) & all, ==, settings[i].bits);
        lcsr1_clear(card, all);
        g_assert_cmphex(ctl_readl(card, LCSR1) & all, ==, settings[i].bits);
        lab_stop(lab);
    }
}

/* --- redundant transfer --------------------------------------------------- */

static const uint64_t marker = 0x4edcafe500c0ffeeull;

/* Everything goes twice; one copy damaged, nothing is lost. */
static void test_redundant(void)
{
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,redundant=on", "node-id=9,redundant=on" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t copies;

    ring_wait_closed(lab->card, 2);
    copies = counter(b, "frames-copies");
    fibre_aim(box, FIBRE_FLIP, marker);
    qpci_io_writeq(a->pci, a->bar[3], 0x40, marker);
    fibre_wait_hit(box);
    latch_expect(b, L_BAD_DATA, BAD);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 0x40), ==, marker);
    g_assert_cmpuint(counter(b, "frames-bad"), ==, 1);
    g_assert_cmpuint(counter(b, "frames-missed"), ==, 0);
    /* The second copy of the marker was no copy any more; the fence's was. */
    wait_until(counter(b, "frames-copies") == copies + 1);
    lab_stop(lab);
    fibre_free(box);
}

/* A node of the other mode takes frames off the ring. */
static void test_mixed_modes(void)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7", "node-id=9,redundant=on" }, .fibres = true,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];

    ctl_wait(a, LCSR1, SIGNAL, SIGNAL);
    ctl_wait(b, LCSR1, SIGNAL, SIGNAL);
    wait_until((mem_writel(a, 0, 0x111), counter(b, "frames-mixed") > 0));
    latch_expect(b, L_BAD_DATA, BAD);
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(ctl_readl(a, LCSR1) & OWN_DATA, ==, 0);
    lab_stop(lab);
}

/* --- what passes by ------------------------------------------------------- */

/*
 * A rogue master marks what passes, and takes off the ring what has its mark
 * already; the other master's mark is nothing to it.
 */
static void test_rogue_master(void)
{
    static const struct {
        const char *options;
        uint8_t own, other;
    } masters[] = {
        { ",rogue-master-0=on", 1, 2 },
        { ",rogue-master-1=on", 2, 1 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(masters); i++) {
        PeerLab *lab = peer_lab(masters[i].options);
        Card *card = &lab->card;
        uint8_t wire[PEER_FRAME];
        size_t len;

        len = peer_update(wire, PEER_NODE, 1, 0, 0x40, 0x1111);
        peer_send(lab->peer.upstream, wire, len);
        peer_next_update(lab->peer.downstream, wire);
        g_assert_cmphex(wire[46], ==, masters[i].own);
        g_assert_cmphex(wire[44], ==, 2);
        mem_waitl(card, 0x40, 0x1111);
        g_assert_cmpuint(counter(card, "frames-rogue"), ==, 0);

        /* It comes again: its source has gone. */
        peer_send(lab->peer.upstream, wire, len);
        latch_expect(card, L_ROGUE, 0);
        g_assert_cmpuint(counter(card, "frames-rogue"), ==, 1);

        len = peer_update(wire, PEER_NODE, 2, masters[i].other, 0x44, 0x2222);
        peer_send(lab->peer.upstream, wire, len);
        peer_next_update(lab->peer.downstream, wire);
        g_assert_cmphex(wire[46], ==, 3);
        g_assert_cmphex(ldl_le_p(wire + 48), ==, 0x2222);
        mem_waitl(card, 0x44, 0x2222);
        g_assert_cmpuint(counter(card, "frames-rogue"), ==, 1);
        peer_lab_stop(lab);
    }
}

/* A late update is passed on and stored only by a card that does as glass. */
static void test_late_updates(void)
{
    static const struct {
        const char *options;
        uint32_t end;
    } cards[] = {
        { "",                  0x2222 },
        { ",rogue=discard",    0x2222 },
        { ",rogue=authentic",  0x1111 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cards); i++) {
        PeerLab *lab = peer_lab(cards[i].options);
        Card *card = &lab->card;
        uint8_t wire[PEER_FRAME];

        for (unsigned k = 0; k < 3; k++) {
            static const uint64_t seq[] = { 1, 2, 1 };
            static const uint32_t value[] = { 0x1111, 0x2222, 0x1111 };
            size_t len = peer_update(wire, PEER_NODE, seq[k], 0, 0x40,
                                     value[k]);

            peer_send(lab->peer.upstream, wire, len);
            peer_next_update(lab->peer.downstream, wire);
            g_assert_cmphex(ldl_le_p(wire + 48), ==, value[k]);
        }
        g_assert_cmpuint(counter(card, "frames-late"), ==, 1);
        g_assert_cmphex(mem_readl(card, 0x40), ==, cards[i].end);
        peer_lab_stop(lab);
    }
}

/* Own frames on the ring at a time are as many as was said, and no more. */
static void test_frames_in_flight(void)
{
    PeerLab *lab = peer_lab(",frames-in-flight=3,packing=off");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    unsigned i;

    peer_close_ring(lab);
    for (i = 0; i < 20; i++) {
        mem_writel(card, 4 * i, 0x100 + i);
    }
    for (i = 0; i < 20; i++) {
        peer_next_update(lab->peer.downstream, wire);
        g_assert_cmphex(ldl_le_p(wire + 48), ==, 0x100 + i);
        peer_send(lab->peer.upstream, wire, 52);
    }
    wait_until(counter(card, "frames-home") == 21);
    g_assert_cmpuint(counter(card, "window-peak"), ==, 3);
    peer_lab_stop(lab);
}

/* --- one id twice --------------------------------------------------------- */

static void test_authentic_ids(void)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,duplicate-ids=authentic",
                     "node-id=7,duplicate-ids=authentic" },
        .fibres = true,
    });
    unsigned i;

    ring_wait_closed(lab->card, 2);
    /* Several heartbeats of each reach the other. */
    g_usleep(1200 * 1000);
    for (i = 0; i < 2; i++) {
        g_assert_cmphex(ctl_readl(&lab->card[i], LCSR1) & SIGNAL, ==, SIGNAL);
        g_assert_cmphex(ctl_readl(&lab->card[i], LISR), ==, 0);
    }
    g_assert_cmpuint(vm_complaints(lab->vm), ==, 0);
    lab_stop(lab);
}

/* --- how the links work --------------------------------------------------- */

static void link_expect(Card *card, const char *name, const char *want)
{
    g_autofree char *link = property(card, name);

    g_assert_cmpstr(link, ==, want);
}

/* Memory is shared where both ends want it; the stream does where not. */
static void test_links(void)
{
    const char *best = lab_shares_memory() ? "shared-memory" : "stream";
    Lab *lab = lab_ring("node-id=7", "node-id=9,shm=off");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i;

    link_expect(a, "tx-link", "stream");
    link_expect(b, "rx-link", "stream");
    link_expect(b, "tx-link", "stream");
    link_expect(a, "rx-link", "stream");
    lab_stop(lab);

    lab = lab_ring("node-id=7", "node-id=9");
    a = &lab->card[0];
    b = &lab->card[1];
    for (i = 0; i < 2; i++) {
        link_expect(&lab->card[i], "tx-link", best);
        link_expect(&lab->card[i], "rx-link", best);
    }
    lcsr1_set(a, TX_DISABLE);       /* dark is not disconnected */
    ctl_wait(b, LCSR1, SIGNAL, 0);
    link_expect(b, "rx-link", best);
    lab_stop(lab);

    lab = lab_dark("node-id=7", NULL);
    link_expect(&lab->card[0], "rx-link", "none");
    link_expect(&lab->card[0], "tx-link", "none");
    lab_stop(lab);
}

/* Descriptors that are no queue: one line at most, and the stream does. */
static void test_bad_descriptors(void)
{
    int sealed = memfd_create("not-sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int wake = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int fds[][PEER_FDS] = {
        { null, null, null, null },
        { null, wake, wake, null },
        { sealed, wake, wake, null },
    };

    g_assert_cmpint(ftruncate(sealed, 1 << 20), ==, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(fds); i++) {
        for (unsigned n = 1; n <= PEER_FDS; n++) {
            PeerLab *lab = peer_lab_offering("", fds[i], n);
            bool looked_at = lab_shares_memory() && n == 3;
            uint8_t wire[PEER_FRAME];
            size_t len = peer_update(wire, PEER_NODE, 1, 0, 0x40, 0x600d);

            g_assert_true(link_is(&lab->card, "rx-link", "stream"));
            peer_send(lab->peer.upstream, wire, len);
            mem_waitl(&lab->card, 0x40, 0x600d);
            g_assert_cmpuint(vm_errors(lab->vm, "frames come by the socket"),
                             ==, looked_at);
            peer_lab_stop(lab);
        }
    }
    close(sealed);
    close(null);
    close(wake);
}

/* What the line says is how long it takes at least. */
static void test_paced_line(void)
{
    /* 0.001 Gbaud: 157 us a frame and 10 us a byte, so 237 us for 8 bytes */
    const gint64 min = 400 * 237;
    gint64 best = G_MAXINT64;
    Lab *lab = lab_ring("node-id=7,packing=off,line=paced,,rate=0.001",
                        "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i, turn;

    /* Never too fast; too slow only if the host has something else to do. */
    for (turn = 0; turn < 50 && best >= 3 * min; turn++) {
        gint64 start = g_get_monotonic_time();

        for (i = 0; i < 400; i++) {
            qpci_io_writeq(a->pci, a->bar[3], 8 * i, i + turn);
        }
        fence(a, b);
        best = MIN(best, g_get_monotonic_time() - start);
        g_assert_cmpint(best, >=, min);
        for (i = 0; i < 400; i++) {
            g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 8 * i), ==,
                            i + turn);
        }
    }
    g_assert_cmpint(best, <, 3 * min);
    lab_stop(lab);
}

/* Adjacent stores that wait share a frame, up to 64 bytes. */
static void test_packing(void)
{
    PeerLab *lab = peer_lab(",frames-in-flight=1");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    unsigned i;

    peer_close_ring(lab);
    mem_writel(card, 0x1000, 0xaaaa);       /* takes the window */
    for (i = 0; i < 20; i++) {
        mem_writel(card, 4 * i, i + 1);
    }
    mem_writel(card, 0x2000, 0xbbbb);       /* not adjacent */
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmpuint(wire[7], ==, 4);
    peer_send(lab->peer.upstream, wire, 52);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmpuint(wire[7], ==, 64);
    for (i = 0; i < 16; i++) {
        g_assert_cmphex(ldl_le_p(wire + 48 + 4 * i), ==, i + 1);
    }
    peer_send(lab->peer.upstream, wire, 48 + 64);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmpuint(wire[7], ==, 16);
    g_assert_cmphex(ldl_le_p(wire + 8), ==, 64);
    peer_send(lab->peer.upstream, wire, 48 + 16);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmphex(ldl_le_p(wire + 48), ==, 0xbbbb);
    g_assert_cmpuint(counter(card, "stores"), ==, 23);
    g_assert_cmpuint(counter(card, "frames-sent"), ==, 5);
    peer_lab_stop(lab);
}

/* --- a paused machine ----------------------------------------------------- */

#define HELD 4096       /* frames a paused card keeps */

/*
 * Its card passes on, marks, and keeps what is for itself, up to a limit; what
 * finds no room is marked as well as never stored, counted and reported. When
 * it goes on it gets the rest.
 */
static void test_paused_queue(void)
{
    static const unsigned too_many = 100;
    PeerLab *lab = peer_lab("");
    Card *card = &lab->card;
    uint8_t wire[PEER_FRAME];
    unsigned i;

    vm_set_running(lab->vm, false);
    for (i = 1; i <= HELD + too_many; i++) {
        size_t len = peer_update(wire, PEER_NODE, i, 0, 4 * i, i);

        peer_send(lab->peer.upstream, wire, len);
        peer_next_update(lab->peer.downstream, wire);
        g_assert_cmphex(ldl_le_p(wire + 48), ==, i);
        g_assert_cmphex(wire[46], ==, i > HELD ? 4 | 8 : 4);
        /* What was passed on has been kept. */
        if (i == HELD / 4 * 3 - 1) {
            g_assert_cmphex(ctl_readl(card, LCSR1) & RX_ALMOST_FULL, ==, 0);
        } else if (i == HELD / 4 * 3) {
            latch_expect(card, L_RX_ALMOST_FULL, RX_ALMOST_FULL);
        }
    }
    g_assert_cmphex(mem_readl(card, 4), ==, 0);
    g_assert_cmpuint(counter(card, "frames-held-lost"), ==, too_many);
    latch_expect(card, L_RX_FULL, RX_FULL);

    vm_set_running(lab->vm, true);
    for (i = 1; i <= HELD; i++) {
        g_assert_cmphex(mem_readl(card, 4 * i), ==, i);
    }
    g_assert_cmphex(mem_readl(card, 4 * i), ==, 0);
    g_assert_cmpuint(counter(card, "frames-received"), ==, HELD);
    g_assert_cmphex(ctl_readl(card, LISR), ==, 0);

    /* And takes part again. */
    peer_send(lab->peer.upstream, wire,
              peer_update(wire, PEER_NODE, HELD + too_many + 1, 0, 0, 0xa11));
    mem_waitl(card, 0, 0xa11);
    peer_next_update(lab->peer.downstream, wire);
    g_assert_cmphex(wire[46], ==, 0);
    peer_lab_stop(lab);
}

/* What happens to the fibre is no update: it is latched at once. */
static void test_paused_sync_loss(void)
{
    PeerLab *lab = peer_lab("");
    Card *card = &lab->card;

    intx_watch(lab->vm);
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    ctl_writel(card, LIER, L_SYNC_LOSS);
    ctl_writel(card, LISR, GIE);
    vm_set_running(lab->vm, false);
    shutdown(lab->peer.upstream, SHUT_RDWR);
    wait_until(intx_level(card));
    vm_set_running(lab->vm, true);
    g_assert_true(intx_level(card));
    ctl_writel(card, LIER, 0);
    ctl_writel(card, LISR, 0x3fff);
    latch_expect(card, L_SYNC_LOSS, SYNC_LOST);
    peer_lab_stop(lab);
}

/* --- capture -------------------------------------------------------------- */

static unsigned occurrences(const char *data, size_t len, uint64_t value)
{
    const char *at = data;
    unsigned n = 0;

    value = cpu_to_le64(value);
    while ((at = memmem(at, data + len - at, &value, sizeof(value)))) {
        at += sizeof(value);
        n++;
    }
    return n;
}

/* Every frame of both fibres is in the file, each with its bytes. */
static void test_capture(void)
{
    g_autofree char *file = lab_path("capture");
    g_autofree char *options = g_strdup_printf("node-id=7,pcap=%s", file);
    g_autofree char *data = NULL;
    Lab *lab = lab_ring(options, "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    gsize len;

    qpci_io_writeq(a->pci, a->bar[3], 0, marker);
    qpci_io_writeq(b->pci, b->bar[3], 8, marker + 1);
    fence(a, b);
    fence(b, a);
    wait_until(counter(a, "frames-home") == counter(a, "frames-sent"));
    wait_until(counter(b, "frames-home") == counter(b, "frames-sent"));
    lab_stop(lab);

    g_assert_true(g_file_get_contents(file, &data, &len, NULL));
    g_assert_cmpuint(len, >, 28);
    g_assert_cmpint(memcmp(data, "\x0a\x0d\x0d\x0a", 4), ==, 0);
    /* Each passes a's transmitter and its receiver once. */
    g_assert_cmpuint(occurrences(data, len, marker), ==, 2);
    g_assert_cmpuint(occurrences(data, len, marker + 1), ==, 2);
}

/* A file that takes no more ends the capture with a line; all else goes on. */
static void test_capture_full(void)
{
    Lab *lab = lab_ring("node-id=7,pcap=/dev/full", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    wait_until(vm_errors(lab->vm, "capture ends") == 1);
    mem_writel(a, 0, 0x600d);
    fence(a, b);
    fence(b, a);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x600d);
    g_assert_cmpuint(vm_complaints(lab->vm), ==, 1);
    lab_stop(lab);
}

void rfm5565_add_mode_tests(void)
{
    lab_add_test("modes/switches", test_switches);
    lab_add_test("modes/redundant", test_redundant);
    lab_add_test("modes/mixed", test_mixed_modes);
    lab_add_test("modes/rogue-master", test_rogue_master);
    lab_add_test("modes/late-updates", test_late_updates);
    lab_add_test("modes/frames-in-flight", test_frames_in_flight);
    lab_add_test("modes/packing", test_packing);
    lab_add_test("modes/authentic-ids", test_authentic_ids);
    lab_add_test("modes/links", test_links);
    lab_add_test("modes/bad-descriptors", test_bad_descriptors);
    lab_add_test("modes/paced-line", test_paced_line);
    lab_add_test("paused/queue", test_paused_queue);
    lab_add_test("paused/sync-loss", test_paused_sync_loss);
    lab_add_test("capture/file", test_capture);
    lab_add_test("capture/full", test_capture_full);
}
