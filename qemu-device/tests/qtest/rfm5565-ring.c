/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Light and its loss, damaged traffic, strangers, rings of several machines. */
#include "qemu/osdep.h"
#include <poll.h>
#include <signal.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qobject/qdict.h"
#include "rfm5565-lab.h"

#define WINDOW  1024    /* own frames on a closed ring */

static void expect_no_errors(Card *card)
{
    g_assert_cmphex(ctl_readl(card, LISR) & 0x3f68, ==, 0);
}

/* --- light ---------------------------------------------------------------- */

static void test_tx_disable(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    lcsr1_set(a, TX_DISABLE);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    latch_expect(b, L_SYNC_LOSS, SYNC_LOST);
    /* The latch is cleared, the light is still out. */
    g_assert_cmphex(ctl_readl(b, LCSR1) & (SIGNAL | SYNC_LOST), ==, 0);

    /* The other fibre is whole: no loss there, but nothing is sent. */
    expect_no_errors(a);
    g_assert_cmphex(ctl_readl(a, LCSR1) & SIGNAL, ==, SIGNAL);
    mem_writel(a, 0, 0x10571);
    mem_writel(b, 4, 0x10572);
    nic_send(a, 9, NIC_INT1, 0);
    nic_send(b, 7, NIC_INT1, 0);

    lcsr1_clear(a, TX_DISABLE);
    ring_wait_closed(lab->card, 2);
    mem_writel(a, 8, 0x600d);
    mem_writel(b, 12, 0x600e);
    fence(a, b);
    fence(b, a);
    g_assert_cmphex(mem_readl(b, 8), ==, 0x600d);
    g_assert_cmphex(mem_readl(a, 12), ==, 0x600e);
    /* What was said in the dark is never replayed. */
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(mem_readl(a, 4), ==, 0);
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* With dark-on-dark a node without light puts its own out. */
static void test_dark_on_dark(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    lcsr1_set(b, DARK_ON_DARK);
    g_assert_cmphex(ctl_readl(a, LCSR1) & SIGNAL, ==, SIGNAL);
    lcsr1_set(a, TX_DISABLE);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    ctl_wait(a, LCSR1, SIGNAL, 0);
    latch_expect(a, L_SYNC_LOSS, SYNC_LOST);
    latch_expect(b, L_SYNC_LOSS, SYNC_LOST);

    lcsr1_clear(a, TX_DISABLE);
    ring_wait_closed(lab->card, 2);
    expect_no_errors(a);
    expect_no_errors(b);
    lab_stop(lab);
}

/* Loopback: own frames come home at once, the neighbour is in the dark. */
static void test_loopback(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    lcsr1_set(a, LOOPBACK);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    latch_expect(b, L_SYNC_LOSS, SYNC_LOST);
    g_assert_cmphex(ctl_readl(a, LCSR1) & (SIGNAL | OWN_DATA), ==, SIGNAL);

    mem_writel(a, 0, 0x100b);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);
    lcsr1_clear(a, OWN_DATA);
    nic_send(a, 9, NIC_INT1, 1);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);
    nic_send(a, 7, NIC_GLOBAL | NIC_INT1, 1);
    expect_no_errors(a);
    g_assert_cmphex(ctl_readl(a, LISR) & L_FIFOS, ==, 0);

    lcsr1_clear(a, LOOPBACK);
    ring_wait_closed(lab->card, 2);
    fence(a, b);
    fence(b, a);
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* A card without fibres passes the vendor's ring check in loopback. */
static void test_loopback_dark(void)
{
    Lab *lab = lab_dark("node-id=7", NULL);
    Card *card = &lab->card[0];

    g_assert_cmphex(ctl_readl(card, LCSR1), ==, LED | TX_EMPTY);
    lcsr1_set(card, LOOPBACK);
    nic_send(card, 7, NIC_PROBE, 0);
    ctl_wait(card, LCSR1, OWN_DATA | SIGNAL, OWN_DATA | SIGNAL);
    lcsr1_clear(card, LOOPBACK | OWN_DATA);
    nic_send(card, 7, NIC_PROBE, 0);
    mem_writel(card, 0, 1);
    g_assert_cmphex(ctl_readl(card, LCSR1) & (OWN_DATA | SIGNAL), ==, 0);
    lab_stop(lab);
}

/* --- damage --------------------------------------------------------------- */

static Lab *lab_with_fault_box(Fibre **box)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7", "node-id=9" },
        .fibres = true, .fault_box = box,
    });

    ring_wait_closed(lab->card, 2);
    return lab;
}

static const uint64_t marker = 0xd15ea5ed00c0ffeeull;

/* A damaged frame is dropped and reported where it is found. */
static void test_damaged_frame(void)
{
    Fibre *box;
    Lab *lab = lab_with_fault_box(&box);
    Card *a = &lab->card[0], *b = &lab->card[1];

    mem_writel(a, 0x40, 1);
    fence(a, b);
    lcsr1_clear(a, OWN_DATA);
    wait_until(ctl_readl(a, LCSR1) & TX_EMPTY);

    fibre_aim(box, FIBRE_FLIP, marker);
    qpci_io_writeq(a->pci, a->bar[3], 0x40, marker);
    fibre_wait_hit(box);
    latch_expect(b, L_BAD_DATA, BAD);
    g_assert_cmphex(mem_readl(b, 0x40), ==, 1);
    g_assert_cmphex(mem_readl(b, 0x44), ==, 0);
    g_assert_cmphex(mem_readl(a, 0x40), ==, (uint32_t)marker);

    /* The link and the ring are whole. */
    g_assert_cmphex(ctl_readl(b, LCSR1) & SIGNAL, ==, SIGNAL);
    qpci_io_writeq(a->pci, a->bar[3], 0x48, marker);
    fence(a, b);
    g_assert_cmphex(qpci_io_readq(b->pci, b->bar[3], 0x48), ==, marker);
    expect_no_errors(a);
    expect_no_errors(b);
    lab_stop(lab);
    fibre_free(box);
}

/* A fibre that breaks within a frame, or carries what is no frame. */
static void test_broken_stream(void)
{
    static const FibreFault faults[] = { FIBRE_TRUNCATE, FIBRE_NOISE };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(faults); i++) {
        Fibre *box;
        Lab *lab = lab_with_fault_box(&box);
        Card *a = &lab->card[0], *b = &lab->card[1];

        fibre_aim(box, faults[i], marker);
        qpci_io_writeq(a->pci, a->bar[3], 0x40, marker);
        fibre_wait_hit(box);
        latch_expect(b, L_BAD_DATA | L_SYNC_LOSS, BAD | SYNC_LOST);
        g_assert_cmphex(mem_readl(b, 0x40), ==, 0);
        expect_no_errors(a);

        /* It mends itself, and nothing is replayed. */
        ring_wait_closed(lab->card, 2);
        mem_writel(a, 0x80, 0x600d);
        fence(a, b);
        g_assert_cmphex(mem_readl(b, 0x80), ==, 0x600d);
        g_assert_cmphex(mem_readl(b, 0x40), ==, 0);
        expect_no_errors(a);
        expect_no_errors(b);
        if (faults[i] == FIBRE_NOISE) {
            g_assert_cmpuint(vm_errors(lab->vm, "node 0x09"), ==, 1);
        }
        lab_stop(lab);
        fibre_free(box);
    }
}

/* Own frames that have left and are not home yet */
static uint64_t in_flight(Card *card)
{
    return counter(card, "frames-sent") - counter(card, "frames-full") -
           counter(card, "frames-home");
}

/*
 * A downstream that takes nothing: what finds no room is lost and counted, on
 * a closed ring and once it is found open; when it takes again, all the rest
 * is there.
 */
static void test_jam(void)
{
    static const size_t chunk = 64 * 1024;
    g_autofree uint8_t *data = g_malloc0(chunk);
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,packing=off", "node-id=9" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t sent, got, lost;
    gint64 start;
    unsigned i;

    ring_wait_closed(lab->card, 2);
    lost = counter(a, "frames-lost");
    sent = counter(a, "frames-sent");
    got = counter(b, "frames-received") + counter(b, "frames-missed");

    fibre_hold(box, true);
    for (i = 0; i < 16; i++) {
        memset(data, i + 1, chunk);
        start = g_get_monotonic_time();
        mem_write(a, i * chunk, data, chunk);
        g_assert_cmpint(g_get_monotonic_time() - start, <, PROMPT_US);
        if (i == 7) {
            /* No more than the window, until nothing is known to come home */
            wait_until(in_flight(a) - lost > WINDOW);
        } else if (!i) {
            g_assert_cmpuint(in_flight(a) - lost, <=, WINDOW);
        }
    }
    g_assert_cmphex(mem_readl(a, 15 * chunk), ==, 0x10101010);
    g_assert_cmpuint(counter(a, "frames-full"), >, 0);
    latch_expect(a, L_TX_FULL, 0);

    fibre_hold(box, false);
    ctl_wait(a, LCSR1, TX_EMPTY, TX_EMPTY);
    mem_writel(a, 32 * chunk, 0x600d);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 32 * chunk), ==, 0x600d);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x01010101);

    /* The books balance at both ends. */
    sent = counter(a, "frames-sent") - sent;
    g_assert_cmpuint(sent, ==, 16 * chunk / 8 + 2);
    g_assert_cmpuint(counter(b, "frames-received") +
                     counter(b, "frames-missed") - got, ==, sent);
    wait_until(counter(a, "frames-home") + counter(a, "frames-lost") ==
               counter(a, "frames-sent"));
    g_assert_cmpuint(counter(b, "frames-missed"), >=,
                     counter(a, "frames-full"));
    lab_stop(lab);
    fibre_free(box);
}

/* --- strangers ------------------------------------------------------------ */

static int stranger_connect(const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpuint(strlen(path), <, sizeof(addr.sun_path));
    strcpy(addr.sun_path, path);
    g_assert_cmpint(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    return fd;
}

/* Wait until the card hangs up; returns after how many us. */
static gint64 stranger_wait_hangup(int fd)
{
    gint64 start = g_get_monotonic_time();
    uint8_t buf[4096];
    ssize_t n;

    do {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };

        g_assert_cmpint(poll(&pfd, 1, WAIT_US / 1000), ==, 1);
        n = read(fd, buf, sizeof(buf));
    } while (n > 0);
    close(fd);
    return g_get_monotonic_time() - start;
}

typedef struct Stranger {
    const char *name;
    const char *says;       /* NULL: zeroes, random bytes if many */
    size_t length;
    bool greets;            /* properly, before that */
} Stranger;

static const Stranger strangers[] = {
    { "says nothing",      "", 0 },
    { "says one byte",     "R", 1 },
    { "speaks HTTP",       "GET / HTTP/1.0\r\nHost: ring\r\n\r\n", 29 },
    { "sends zeroes",      NULL, 200 },
    { "sends much noise",  NULL, 100000 },
    { "says HELLO and nothing more", "", 0, .greets = true },
};

/*
 * Whoever connects to a card's receiver without being a neighbour is sent
 * away within the handshake's deadline, and the neighbour gets in.
 */
static void test_strangers(void)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(strangers); i++) {
        const Stranger *stranger = &strangers[i];
        g_autofree char *path = lab_path("fibre");
        g_autofree char *later = lab_path("fibre");
        g_autofree char *rx = chardev_rx("rx", path);
        g_autofree char *tx = chardev_tx("tx", later);
        g_autofree uint8_t *says = g_malloc0(stranger->length + 1);
        Vm *vm = vm_start("%s %s -device rfm5565,id=card0,addr=%u,node-id=7,"
                          "rx=rx,tx=tx", rx, tx, FIRST_SLOT);
        Card card;
        int fd;
        size_t k;

        g_test_message("%s", stranger->name);
        card_init(&card, vm, FIRST_SLOT);
        fd = stranger_connect(path);
        if (stranger->greets) {
            uint8_t hello[PEER_MESSAGE];

            peer_message(hello, 1, PEER_NODE, 0);
            peer_send(fd, hello, sizeof(hello));
        }
        if (stranger->says) {
            memcpy(says, stranger->says, stranger->length);
        } else if (stranger->length > 200) {
            for (k = 0; k < stranger->length; k++) {
                says[k] = g_test_rand_int();
            }
        }
        for (k = 0; k < stranger->length;) {
            ssize_t n = send(fd, says + k, stranger->length - k, MSG_NOSIGNAL);

            if (n <= 0) {
                break;      /* it has hung up already */
            }
            k += n;
        }
        /* The neighbour comes while the stranger holds the line. */
        g_assert_cmpint(symlink(path, later), ==, 0);
        g_assert_cmpint(stranger_wait_hangup(fd), <, PROMPT_US);

        ring_wait_closed(&card, 1);
        g_assert_cmphex(ctl_readl(&card, LISR) & ~L_SYNC_LOSS, ==, 0);
        g_assert_cmphex(ctl_readb(&card, BID), ==, 0x65);
        /* The neighbour's own patience may end before it has its turn. */
        g_assert_cmpuint(vm_complaints(vm), ==, 1);
        g_assert_cmpuint(counter(&card, "rx-refused"), ==, 1);
        card_fini(&card);
        vm_stop(vm);
    }
}

/* --- neighbours that misbehave -------------------------------------------- */

#define SETTLED_US (2 * G_USEC_PER_SEC) /* a good neighbour for a while */

/* Greet as a neighbour does, and shine. */
static int bad_neighbour(const char *path)
{
    int fd = stranger_connect(path);
    uint8_t wire[PEER_MESSAGE];

    peer_message(wire, 1, PEER_NODE, 0);
    peer_send(fd, wire, sizeof(wire));
    peer_receive(fd, wire, sizeof(wire));
    peer_message(wire, 4, PEER_NODE, 1);
    peer_send(fd, wire, sizeof(wire));
    return fd;
}

static void talk_nonsense(int fd)
{
    static const uint8_t nonsense[200];

    peer_send(fd, nonsense, sizeof(nonsense));
    stranger_wait_hangup(fd);
}

/*
 * A neighbour that comes back to do the same again and again, or one thing and
 * then the other, is worth a line for each; more only after it has behaved.
 */
static void test_repeated_faults(void)
{
    g_autofree char *path = lab_path("fibre");
    g_autofree char *nowhere = lab_path("fibre");
    g_autofree char *rx = chardev_rx("rx", path);
    g_autofree char *tx = chardev_tx("tx", nowhere);
    Vm *vm = vm_start("%s %s -device rfm5565,id=card0,addr=%u,node-id=7,"
                      "rx=rx,tx=tx", rx, tx, FIRST_SLOT);
    Card card;
    unsigned i, bad, all, slow = 0;
    gint64 met;
    int fd;

    card_init(&card, vm, FIRST_SLOT);
    for (i = 0; i < 5; i++) {
        met = g_get_monotonic_time();
        talk_nonsense(bad_neighbour(path));
        /* Had we stood still, it would have behaved for a while. */
        slow += g_get_monotonic_time() - met >= SETTLED_US;
        talk_nonsense(stranger_connect(path));
    }
    bad = vm_errors(vm, "no frame");
    all = vm_errors(vm, " rfm5565:");
    g_assert_cmpuint(bad, >=, 1);
    g_assert_cmpuint(bad, <=, 1 + slow);
    g_assert_cmpuint(all, >=, 2);
    g_assert_cmpuint(all, <=, 2 + 2 * slow);

    /* Silent for two seconds: its light is lost, but it has behaved. */
    fd = bad_neighbour(path);
    met = g_get_monotonic_time();
    wait_until(g_get_monotonic_time() - met > SETTLED_US);
    ctl_wait(&card, LCSR1, SIGNAL, 0);
    talk_nonsense(fd);
    g_assert_cmpuint(vm_errors(vm, "no frame"), ==, bad + 1);
    g_assert_cmpuint(vm_errors(vm, " rfm5565:"), ==, all + 1);
    card_fini(&card);
    vm_stop(vm);
}

/* --- two with one id ------------------------------------------------------ */

static gint64 wall_clock_epoch(void)
{
    return g_get_real_time() - g_get_monotonic_time();
}

/* Two cards with one id: the later joiner leaves, with one sentence. */
static void test_duplicate_id(void)
{
    const LabSpec spec = {
        .options = { "node-id=7", "node-id=7" }, .fibres = true,
    };
    gint64 before = wall_clock_epoch();
    Lab *lab = lab_build(&spec);
    Card *a, *b;

    /* Who came later is told by the wall clock, which may be set. */
    while (wall_clock_epoch() < before - G_USEC_PER_SEC / 1000) {
        lab_stop(lab);
        before = wall_clock_epoch();
        lab = lab_build(&spec);
    }
    a = &lab->card[0];
    b = &lab->card[1];
    wait_until(vm_errors(lab->vm, "already used") == 1);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    ctl_wait(a, LCSR1, SIGNAL, SIGNAL);

    /* The one that stays has a whole ring; the other takes part in nothing. */
    ring_wait_closed(a, 1);
    mem_writel(a, 0, 0x1d);
    nic_send(a, 0, NIC_GLOBAL | NIC_INT1, 0);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);
    mem_writel(b, 4, 0x1e);
    nic_send(b, 0, NIC_GLOBAL | NIC_INT1, 0);
    wait_until(ctl_readl(b, LCSR1) & TX_EMPTY);
    g_usleep(700 * 1000);       /* a heartbeat or two: still silent */
    g_assert_cmphex(mem_readl(b, 0), ==, 0);
    g_assert_cmphex(mem_readl(a, 4), ==, 0);
    g_assert_cmphex(ctl_readl(a, LISR) & ~L_SYNC_LOSS, ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR) & L_FIFOS, ==, 0);
    g_assert_cmpuint(vm_complaints(lab->vm), ==, 1);
    lab_stop(lab);
}

/* --- several machines ----------------------------------------------------- */

#define MAX_VMS 3

typedef struct VmRing {
    unsigned n;
    char *path[MAX_VMS];    /* where the receiver of each listens */
    Vm *vm[MAX_VMS];
    Card card[MAX_VMS];     /* node ids from 1 */
} VmRing;

static void vm_ring_boot(VmRing *ring, unsigned i)
{
    g_autofree char *rx = chardev_rx("rx", ring->path[i]);
    g_autofree char *tx = chardev_tx("tx", ring->path[(i + 1) % ring->n]);

    ring->vm[i] = vm_start("%s %s -device rfm5565,id=card0,addr=%u,node-id=%u,"
                           "rx=rx,tx=tx", rx, tx, FIRST_SLOT, i + 1);
    card_init(&ring->card[i], ring->vm[i], FIRST_SLOT);
}

static void vm_ring_kill(VmRing *ring, unsigned i)
{
    card_fini(&ring->card[i]);
    vm_stop(ring->vm[i]);
}

static void vm_ring_start(VmRing *ring, unsigned n)
{
    unsigned i;

    ring->n = n;
    for (i = 0; i < n; i++) {
        ring->path[i] = lab_path("fibre");
    }
    for (i = 0; i < n; i++) {
        vm_ring_boot(ring, i);
    }
    ring_wait_closed(ring->card, n);
}

static void vm_ring_stop(VmRing *ring)
{
    unsigned i;

    for (i = 0; i < ring->n; i++) {
        vm_ring_kill(ring, i);
        g_free(ring->path[i]);
    }
}

/*
 * Node 3 of 3 dies: node 1 latches the loss, node 2 does not; nobody sees
 * anybody's stores; nothing hangs. It comes back and all is well.
 */
static void test_death_of_a_node(void)
{
    VmRing ring = {};
    Card *one = &ring.card[0], *two = &ring.card[1], *three = &ring.card[2];
    gint64 start;

    vm_ring_start(&ring, 3);
    expect_no_errors(one);
    expect_no_errors(two);
    mem_writel(one, 0, 0x11);
    mem_writel(two, 4, 0x22);
    mem_writel(three, 8, 0x33);
    fence(one, three);
    fence(two, three);
    fence(three, two);
    g_assert_cmphex(mem_readl(three, 0), ==, 0x11);
    g_assert_cmphex(mem_readl(three, 4), ==, 0x22);
    g_assert_cmphex(mem_readl(two, 8), ==, 0x33);

    vm_ring_kill(&ring, 2);
    ctl_wait(one, LCSR1, SIGNAL, 0);
    latch_expect(one, L_SYNC_LOSS, SYNC_LOST);
    expect_no_errors(two);
    g_assert_cmphex(ctl_readl(two, LCSR1) & SIGNAL, ==, SIGNAL);

    /* One does not send although its own fibre is whole; no store waits. */
    start = g_get_monotonic_time();
    lcsr1_clear(one, OWN_DATA);
    lcsr1_clear(two, OWN_DATA);
    mem_writel(one, 0, 0xdead1);
    mem_writel(two, 4, 0xdead2);
    g_assert_cmpint(g_get_monotonic_time() - start, <, PROMPT_US);
    g_usleep(300 * 1000);       /* nothing arrives in that time */
    g_assert_cmphex(mem_readl(two, 0), ==, 0x11);
    g_assert_cmphex(mem_readl(one, 4), ==, 0x22);
    g_assert_cmphex(ctl_readl(one, LCSR1) & OWN_DATA, ==, 0);
    g_assert_cmphex(ctl_readl(two, LCSR1) & OWN_DATA, ==, 0);

    vm_ring_boot(&ring, 2);
    ring_wait_closed(ring.card, 3);
    ring_wait_current(three, one);
    ring_wait_current(three, two);
    /* It joins with an empty memory, and gets what is stored from now on. */
    mem_writel(one, 0, 0x1111);
    mem_writel(two, 4, 0x2222);
    fence(one, three);
    fence(two, three);
    g_assert_cmphex(mem_readl(three, 0), ==, 0x1111);
    g_assert_cmphex(mem_readl(three, 4), ==, 0x2222);
    g_assert_cmphex(mem_readl(three, 8), ==, 0);
    mem_writel(three, 8, 0x3333);
    fence(three, one);
    fence(three, two);
    g_assert_cmphex(mem_readl(one, 8), ==, 0x3333);
    g_assert_cmphex(mem_readl(two, 8), ==, 0x3333);
    expect_no_errors(one);
    expect_no_errors(two);
    vm_ring_stop(&ring);
}

/* The neighbours may start in any order, and long after each other. */
static void test_start_order(void)
{
    static const unsigned orders[][3] = { { 2, 0, 1 }, { 1, 2, 0 } };
    unsigned i, k;

    for (i = 0; i < ARRAY_SIZE(orders); i++) {
        VmRing ring = { .n = 3 };

        for (k = 0; k < 3; k++) {
            ring.path[k] = lab_path("fibre");
        }
        for (k = 0; k < 3; k++) {
            vm_ring_boot(&ring, orders[i][k]);
            g_usleep(150 * 1000);   /* let reconnects fail meanwhile */
        }
        ring_wait_closed(ring.card, 3);
        for (k = 0; k < 3; k++) {
            fence(&ring.card[k], &ring.card[(k + 1) % 3]);
            fence(&ring.card[k], &ring.card[(k + 2) % 3]);
        }
        vm_ring_stop(&ring);
    }
}

/* A paused guest's card goes on forwarding and keeps what arrives. */
static void test_paused(void)
{
    VmRing ring = {};
    Card *one = &ring.card[0], *two = &ring.card[1], *three = &ring.card[2];
    unsigned i;

    vm_ring_start(&ring, 3);
    vm_set_running(ring.vm[1], false);
    lcsr1_clear(one, OWN_DATA);
    for (i = 0; i < 1000; i++) {
        mem_writel(one, 4 * i, i + 1);
    }
    ctl_wait(one, LCSR1, OWN_DATA, OWN_DATA);
    fence(one, three);
    g_assert_cmphex(mem_readl(three, 4 * 999), ==, 1000);
    g_assert_cmphex(mem_readl(two, 4 * 999), ==, 0);
    nic_send(one, 2, NIC_INT1, 0x9a5ed);
    fence(one, three);

    vm_set_running(ring.vm[1], true);
    fifo_expect(two, 1, 1, 0x9a5ed);
    for (i = 0; i < 1000; i++) {
        g_assert_cmphex(mem_readl(two, 4 * i), ==, i + 1);
    }
    for (i = 0; i < 3; i++) {
        expect_no_errors(&ring.card[i]);
    }
    vm_ring_stop(&ring);
}

/* A neighbour that stands still is a broken fibre, until it goes on. */
static void test_silence(void)
{
    VmRing ring = {};
    Card *one = &ring.card[0], *two = &ring.card[1];
    pid_t pid;

    vm_ring_start(&ring, 2);
    pid = qtest_pid(ring.vm[1]->qts);
    kill(pid, SIGSTOP);
    mem_writel(one, 0, 0x51e47);
    ctl_wait(one, LCSR1, SIGNAL, 0);
    latch_expect(one, L_SYNC_LOSS, SYNC_LOST);
    mem_writel(one, 4, 0xda4c);     /* nothing leaves any more */
    kill(pid, SIGCONT);

    ring_wait_closed(ring.card, 2);
    mem_writel(one, 8, 0x600d);
    fence(one, two);
    fence(two, one);
    g_assert_cmphex(mem_readl(two, 0), ==, 0x51e47);
    g_assert_cmphex(mem_readl(two, 4), ==, 0);
    g_assert_cmphex(mem_readl(two, 8), ==, 0x600d);
    g_assert_cmpuint(counter(two, "frames-missed"), ==,
                     counter(one, "frames-dark"));
    vm_ring_stop(&ring);
}

/* --- over TCP ------------------------------------------------------------- */

/* Both ends of a connection; the first one is for QEMU. */
static void tcp_pair(int *ends)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof(addr);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(bind(listener, (struct sockaddr *)&addr, len), ==, 0);
    g_assert_cmpint(listen(listener, 1), ==, 0);
    getsockname(listener, (struct sockaddr *)&addr, &len);
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    g_assert_cmpint(connect(ends[0], (struct sockaddr *)&addr, len), ==, 0);
    ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    g_assert_cmpint(ends[1], >=, 0);
    close(listener);
}

static void expect_nodelay(int fd)
{
    int on = 0;
    socklen_t len = sizeof(on);

    getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len);
    g_assert_cmpint(on, ==, 1);
}

/* No frame waits for the acknowledgement of the one before it. */
static void test_nodelay(void)
{
    uint8_t wire[PEER_MESSAGE];
    int rx[2], tx[2];
    Card card;
    Vm *vm;

    tcp_pair(rx);
    tcp_pair(tx);
    vm = vm_start("-chardev socket,id=rx,fd=%d -chardev socket,id=tx,fd=%d "
                  "-device rfm5565,id=card0,addr=%u,node-id=7,rx=rx,tx=tx",
                  rx[0], tx[0], FIRST_SLOT);
    card_init(&card, vm, FIRST_SLOT);
    peer_receive(tx[1], wire, sizeof(wire));
    g_assert_cmpint(memcmp(wire, "RL\x06\x01", 4), ==, 0);
    expect_nodelay(tx[0]);
    peer_message(wire, 1, PEER_NODE, 0);
    peer_send(rx[1], wire, sizeof(wire));
    peer_receive(rx[1], wire, sizeof(wire));
    g_assert_cmpint(memcmp(wire, "RL\x06\x02", 4), ==, 0);
    expect_nodelay(rx[0]);
    card_fini(&card);
    vm_stop(vm);
    for (unsigned i = 0; i < 2; i++) {
        close(rx[i]);
        close(tx[i]);
    }
}

void rfm5565_add_ring_tests(void)
{
    lab_add_test("light/tx-disable", test_tx_disable);
    lab_add_test("light/dark-on-dark", test_dark_on_dark);
    lab_add_test("light/loopback", test_loopback);
    lab_add_test("light/loopback-dark", test_loopback_dark);
    lab_add_test("damage/frame", test_damaged_frame);
    lab_add_test("damage/stream", test_broken_stream);
    lab_add_test("damage/jam", test_jam);
    lab_add_test("ring/strangers", test_strangers);
    lab_add_test("ring/repeated-faults", test_repeated_faults);
    lab_add_test("ring/duplicate-id", test_duplicate_id);
    lab_add_test("ring/death-of-a-node", test_death_of_a_node);
    lab_add_test("ring/start-order", test_start_order);
    lab_add_test("ring/paused", test_paused);
    lab_add_test("ring/silence", test_silence);
    lab_add_test("ring/nodelay", test_nodelay);
}
