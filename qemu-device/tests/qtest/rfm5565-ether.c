/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ethernet on the ring: what a netdev sends, those of other cards get. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <sys/un.h>
#include "rfm5565-lab.h"

#define JUMBO       9014    /* an MTU of 9000 */
#define LONGEST     9216
#define AT          0x2000
#define WAITING     1024    /* frames that wait in a card at most */

/* A ring of two cards; the test is at the other end of their netdevs. */
typedef struct Wires {
    Lab *lab;
    int fd[MAX_CARDS];
    char *path[MAX_CARDS];      /* where the test receives */
    char *card_path[MAX_CARDS];
} Wires;

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    g_assert_cmpuint(strlen(path), <, sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    return address;
}

static Wires *wires_new(const char *more)
{
    g_autofree char *a = g_strdup_printf("node-id=7,netdev=n0%s", more);
    g_autofree char *b = g_strdup_printf("node-id=200,netdev=n1%s", more);
    g_autoptr(GString) machine = g_string_new(NULL);
    Wires *wires = g_new0(Wires, 1);

    for (unsigned i = 0; i < MAX_CARDS; i++) {
        struct sockaddr_un address;

        wires->path[i] = lab_path("wire");
        wires->card_path[i] = lab_path("wire");
        address = address_of(wires->path[i]);
        wires->fd[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        g_assert_cmpint(bind(wires->fd[i], (struct sockaddr *)&address,
                             sizeof(address)), ==, 0);
        g_string_append_printf(machine, " -netdev dgram,id=n%u,"
            "local.type=unix,local.path=%s,remote.type=unix,remote.path=%s",
            i, wires->card_path[i], wires->path[i]);
    }
    wires->lab = lab_build(&(LabSpec){
        .options = { a, b }, .fibres = true, .machine = machine->str });
    ring_wait_closed(wires->lab->card, 2);
    return wires;
}

static void wires_free(Wires *wires)
{
    lab_stop(wires->lab);
    for (unsigned i = 0; i < MAX_CARDS; i++) {
        close(wires->fd[i]);
        g_free(wires->path[i]);
        g_free(wires->card_path[i]);
    }
    g_free(wires);
}

static void make(uint8_t *frame, uint8_t to, uint8_t from, unsigned len,
                 uint32_t seed)
{
    for (unsigned i = 12; i < len; i++) {
        frame[i] = (i * 7 + seed) ^ seed >> (i % 24);
    }
    memset(frame, to == 0xff ? 0xff : 2, 6);
    frame[5] = to;
    memset(frame + 6, 2, 6);
    frame[11] = from;
    stl_le_p(frame + 14, seed);
}

/* It goes to the card. */
static void wire_send(Wires *wires, unsigned i, uint8_t to, uint8_t from,
                      unsigned len, uint32_t seed)
{
    struct sockaddr_un address = address_of(wires->card_path[i]);
    uint8_t frame[LONGEST + 1];

    make(frame, to, from, len, seed);
    g_assert_cmpint(sendto(wires->fd[i], frame, len, 0,
                           (struct sockaddr *)&address, sizeof(address)),
                    ==, len);
}

/* The next one that comes from the card; returns its length, 0: none yet. */
static unsigned wire_next(Wires *wires, unsigned i, uint8_t *frame)
{
    ssize_t len = recv(wires->fd[i], frame, 65536, MSG_DONTWAIT);

    return MAX(len, 0);
}

static void wire_expect(Wires *wires, unsigned i, uint8_t to, uint8_t from,
                        unsigned len, uint32_t seed)
{
    g_autofree uint8_t *is = g_malloc(65536), *want = g_malloc(65536);
    unsigned got;

    wait_until((got = wire_next(wires, i, is)));
    make(want, to, from, len, seed);
    g_assert_cmpmem(is, got, want, len);
}

/* Of each length, whole; to whom it is for; and behind what was stored. */
static void test_frames(void)
{
    static const unsigned lengths[] = { 60, 64, 1514, 2048, 2049, JUMBO,
                                        LONGEST };
    Wires *wires = wires_new("");
    Card *a = &wires->lab->card[0], *b = &wires->lab->card[1];
    unsigned n = ARRAY_SIZE(lengths);

    for (unsigned i = 0; i < n; i++) {
        mem_writel(a, AT, i + 1);
        wire_send(wires, 0, i ? 2 : 0xff, 1, lengths[i], i);
        wire_expect(wires, 1, i ? 2 : 0xff, 1, lengths[i], i);
        g_assert_cmphex(mem_readl(b, AT), ==, i + 1);
        wire_send(wires, 1, 1, 2, lengths[i], ~i);
        wire_expect(wires, 0, 1, 2, lengths[i], ~i);
    }
    wire_send(wires, 0, 2, 1, LONGEST + 1, 0);
    wait_until(counter(a, "ethernet-unfit") == 1);
    g_assert_cmpuint(counter(a, "ethernet-sent"), ==, n);
    g_assert_cmpuint(counter(b, "ethernet-received"), ==, n);
    g_assert_cmpuint(counter(a, "ethernet-lost"), ==, 0);
    g_assert_cmpuint(counter(b, "ethernet-broken"), ==, 0);
    /* To the memory, and to the guest, it is nothing. */
    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_cmphex(ctl_readl(b, LISR), ==, 0);
    wires_free(wires);
}

/* In packets of one piece: 141 of them are a frame. */
static void test_redundant(void)
{
    Wires *wires = wires_new(",redundant=on");

    for (unsigned i = 0; i < 20; i++) {
        wire_send(wires, 0, 0xff, 1, JUMBO, i);
        wire_expect(wires, 1, 0xff, 1, JUMBO, i);
    }
    wires_free(wires);
}

/*
 * Nobody takes them at the other end: what finds no room is lost, and counted
 * at both; what has found some comes, in order. The CPUs go on meanwhile.
 */
static void test_flood(void)
{
    enum { FRAMES = 4000 };
    Wires *wires = wires_new("");
    Card *a = &wires->lab->card[0], *b = &wires->lab->card[1];
    g_autofree uint8_t *is = g_malloc(65536);
    unsigned come = 0, expected = 0;

    wire_send(wires, 1, 0xff, 2, 60, 0);        /* where it is */
    wire_expect(wires, 0, 0xff, 2, 60, 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        wire_send(wires, 0, 2, 1, i % 2 ? 60 : 3000, i);
        if (i % 64 == 0) {
            mem_writel(a, AT, i);
        }
    }
    mem_writel(a, AT, 0xcafe);
    mem_waitl(b, AT, 0xcafe);
    wait_until(counter(a, "ethernet-sent") == FRAMES);
    fence(a, b);
    wait_until(counter(b, "ethernet-received") +
               counter(b, "ethernet-refused") == FRAMES);
    wait_until(counter(a, "ethernet-lost") == counter(b, "ethernet-refused"));
    expected = counter(b, "ethernet-received");
    g_assert_cmpuint(expected, >=, WAITING);
    g_assert_cmpuint(counter(b, "ethernet-refused"), >, 0);
    for (uint32_t last = 0; come < expected; come++) {
        unsigned got;

        wait_until((got = wire_next(wires, 1, is)));
        g_assert_cmpuint(got, ==, ldl_le_p(is + 14) % 2 ? 60 : 3000);
        g_assert_true(!come || ldl_le_p(is + 14) > last);
        last = ldl_le_p(is + 14);
    }
    wire_send(wires, 0, 2, 1, JUMBO, 5);
    wire_expect(wires, 1, 2, 1, JUMBO, 5);
    wires_free(wires);
}

/* A card leaves under its frames; and a frame finds no ring. */
static void test_leave(void)
{
    Wires *wires = wires_new("");
    Card *a = &wires->lab->card[0];

    lcsr1_set(a, TX_DISABLE);
    wire_send(wires, 0, 2, 1, JUMBO, 1);
    wait_until(counter(a, "ethernet-dark") == 1);
    lcsr1_clear(a, TX_DISABLE);
    ring_wait_current(a, &wires->lab->card[1]);
    wire_send(wires, 0, 2, 1, JUMBO, 2);
    wire_expect(wires, 1, 2, 1, JUMBO, 2);
    for (unsigned i = 0; i < 200; i++) {
        wire_send(wires, 0, 2, 1, JUMBO, 3);
    }
    lab_unplug(wires->lab, 1);
    wait_until(counter(a, "ethernet-sent") + counter(a, "ethernet-dark") ==
               202);
    lab_replug(wires->lab, 1, 200);
    wires_free(wires);
}

void rfm5565_add_ether_tests(void)
{
    lab_add_test("ether/frames", test_frames);
    lab_add_test("ether/redundant", test_redundant);
    lab_add_test("ether/flood", test_flood);
    lab_add_test("ether/leave", test_leave);
}
