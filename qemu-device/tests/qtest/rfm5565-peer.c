/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A neighbour that the test plays itself: it speaks the ring protocol as
 * docs/ring-protocol.md describes it, without any of the code in ring/, and
 * can say what no card would.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qemu/bswap.h"
#include "rfm5565-lab.h"

#define VERSION 6

static uint32_t crc32c(uint32_t crc, const uint8_t *data, size_t len)
{
    crc = ~crc;
    while (len--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
        }
    }
    return ~crc;
}

/* --- what is said --------------------------------------------------------- */

void peer_message(uint8_t *wire, uint8_t kind, uint8_t node, uint8_t value)
{
    memset(wire, 0, PEER_MESSAGE);
    memcpy(wire, "RL", 2);
    wire[2] = VERSION;
    wire[3] = kind;
    wire[4] = node;
    wire[5] = value;
    stq_le_p(wire + 8, PEER_INCARNATION);
    stq_le_p(wire + 16, 64 * MIB);
    stl_le_p(wire + 36, crc32c(0, wire, 36));
}

/* The data stand there. */
static size_t put_header(uint8_t *wire, const PeerFrame *frame, uint8_t type,
                         size_t len)
{
    memset(wire, 0, 48);
    memcpy(wire, "RF", 2);
    wire[2] = VERSION;
    wire[3] = type;
    wire[4] = frame->source;
    wire[5] = type == 8 ? DIV_ROUND_UP(len, 64) : frame->dest;
    wire[6] = frame->kind;
    wire[7] = type == 8 ? (len - 1) % 64 + 1 : len;
    stl_le_p(wire + 8, frame->address);
    stl_le_p(wire + 12, frame->domain);
    stq_le_p(wire + 16, PEER_INCARNATION);
    stq_le_p(wire + 24, frame->seq);
    stq_le_p(wire + 32, frame->time);
    stl_le_p(wire + 40, crc32c(crc32c(0, wire, 40), wire + 48, len));
    wire[44] = 1;
    wire[46] = frame->marks;
    wire[47] = ~(wire[44] * 3 + wire[45] * 7 + frame->marks * 11);
    return 48 + len;
}

size_t peer_frame(uint8_t *wire, const PeerFrame *frame)
{
    memcpy(wire + 48, frame->data, frame->len);
    return put_header(wire, frame, frame->type ?: 1, frame->len);
}

size_t peer_train(uint8_t *wire, const PeerFrame *first, const void *data,
                  size_t len)
{
    memcpy(wire + 48, data, len);
    return put_header(wire, first, 8, len);
}

size_t peer_update(uint8_t *wire, uint8_t source, uint64_t seq, uint8_t marks,
                   uint32_t address, uint32_t value)
{
    PeerFrame frame = {
        .source = source, .marks = marks, .seq = seq, .address = address,
        .len = sizeof(value),
    };

    stl_le_p(frame.data, value);
    return peer_frame(wire, &frame);
}

/* --- sockets -------------------------------------------------------------- */

static void address_of(struct sockaddr_un *addr, const char *path)
{
    *addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
    g_assert_cmpuint(strlen(path), <, sizeof(addr->sun_path));
    strcpy(addr->sun_path, path);
}

void peer_send(int fd, const void *data, size_t len)
{
    g_assert_cmpint(send(fd, data, len, MSG_NOSIGNAL), ==, len);
}

void peer_receive(int fd, void *data, size_t len)
{
    uint8_t *at = data;

    while (len) {
        struct pollfd pfd = { .fd = fd, .events = POLLIN };
        ssize_t n;

        g_assert_cmpint(poll(&pfd, 1, WAIT_US / 1000), ==, 1);
        n = read(fd, at, len);
        g_assert_cmpint(n, >, 0);
        at += n;
        len -= n;
    }
}

/* The next update that the card sends, whatever else it says before it. */
void peer_next_update(int fd, uint8_t *wire)
{
    gint64 end = g_get_monotonic_time() + WAIT_US;

    for (;;) {
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        peer_receive(fd, wire, PEER_MESSAGE);
        if (!memcmp(wire, "RF", 2)) {
            peer_receive(fd, wire + PEER_MESSAGE, 48 - PEER_MESSAGE + wire[7]);
            if (wire[3] == 1) {
                return;
            }
        }
    }
}

/* HELLO, with descriptors that are said to be a queue. */
static void send_hello(int fd, const int *fds, unsigned n)
{
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(PEER_FDS * sizeof(int))];
    } control = {};
    uint8_t wire[PEER_MESSAGE];
    struct iovec iov = { .iov_base = wire, .iov_len = sizeof(wire) };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    peer_message(wire, 1, PEER_NODE, n ? 4 : 0);
    if (n) {
        msg.msg_control = control.space;
        msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.align.cmsg_level = SOL_SOCKET;
        control.align.cmsg_type = SCM_RIGHTS;
        control.align.cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
    }
    g_assert_cmpint(sendmsg(fd, &msg, MSG_NOSIGNAL), ==, sizeof(wire));
}

void peer_connect(Peer *peer, const char *rx_path, int listener,
                  const int *fds, unsigned n)
{
    struct sockaddr_un addr;
    uint8_t wire[PEER_MESSAGE];

    address_of(&addr, rx_path);
    peer->upstream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(connect(peer->upstream, (struct sockaddr *)&addr,
                            sizeof(addr)), ==, 0);
    send_hello(peer->upstream, fds, n);
    peer_receive(peer->upstream, wire, sizeof(wire));
    g_assert_cmpint(memcmp(wire, "RL\x06\x02", 4), ==, 0);
    g_assert_cmphex(wire[5] & 4, ==, 0);    /* it does not take them */
    peer_message(wire, 4, PEER_NODE, 1);
    peer_send(peer->upstream, wire, sizeof(wire));

    peer->downstream = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    g_assert_cmpint(peer->downstream, >=, 0);
    peer_receive(peer->downstream, wire, sizeof(wire));
    g_assert_cmpint(memcmp(wire, "RL\x06\x01", 4), ==, 0);
    peer_message(wire, 2, PEER_NODE, 0);
    peer_send(peer->downstream, wire, sizeof(wire));
}

int peer_listen(const char *path)
{
    struct sockaddr_un addr;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address_of(&addr, path);
    g_assert_cmpint(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), ==, 0);
    g_assert_cmpint(listen(fd, 1), ==, 0);
    return fd;
}

/* --- a ring of one card and the test -------------------------------------- */

bool link_is(Card *card, const char *name, const char *want)
{
    g_autofree char *link = property(card, name);

    return !strcmp(link, want);
}

/* Shine, whatever the test does meanwhile, and however slow it is. */
static void *shine(void *opaque)
{
    PeerLab *lab = opaque;
    struct pollfd pfd = { .fd = lab->quit[0], .events = POLLIN };
    uint8_t wire[PEER_MESSAGE];

    peer_message(wire, 4, PEER_NODE, 1);
    while (!poll(&pfd, 1, 200)) {
        /* All of it or nothing, and between two units of the test. */
        send(lab->peer.upstream, wire, sizeof(wire),
             MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return NULL;
}

PeerLab *peer_lab_offering(const char *options, const int *fds, unsigned n)
{
    PeerLab *lab = g_new0(PeerLab, 1);
    g_autofree char *rx = NULL;
    g_autofree char *tx = NULL;

    lab->rx_path = lab_path("fibre");
    lab->tx_path = lab_path("fibre");
    lab->listener = peer_listen(lab->tx_path);
    rx = chardev_rx("rx", lab->rx_path);
    tx = chardev_tx("tx", lab->tx_path);
    lab->vm = vm_start("%s %s -device rfm5565,id=card0,addr=%u,node-id=7,"
                       "rx=rx,tx=tx%s", rx, tx, FIRST_SLOT, options);
    card_init(&lab->card, lab->vm, FIRST_SLOT);
    peer_connect(&lab->peer, lab->rx_path, lab->listener, fds, n);
    g_assert_cmpint(pipe2(lab->quit, O_CLOEXEC), ==, 0);
    lab->light = g_thread_new("light", shine, lab);
    ctl_wait(&lab->card, LCSR1, SIGNAL, SIGNAL);
    wait_until(link_is(&lab->card, "tx-link", "stream"));
    return lab;
}

PeerLab *peer_lab(const char *options)
{
    return peer_lab_offering(options, NULL, 0);
}

void peer_lab_stop(PeerLab *lab)
{
    card_fini(&lab->card);
    vm_stop(lab->vm);
    g_assert_cmpint(write(lab->quit[1], "", 1), ==, 1);
    g_thread_join(lab->light);
    close(lab->quit[0]);
    close(lab->quit[1]);
    close(lab->peer.upstream);
    close(lab->peer.downstream);
    close(lab->listener);
    g_free(lab->rx_path);
    g_free(lab->tx_path);
    g_free(lab);
}

void peer_close_ring(PeerLab *lab)
{
    uint8_t wire[PEER_FRAME];

    mem_writel(&lab->card, 64 * MIB - 4, 0xc105ed);
    peer_next_update(lab->peer.downstream, wire);
    peer_send(lab->peer.upstream, wire, 52);
    ctl_wait(&lab->card, LCSR1, OWN_DATA, OWN_DATA);
    lcsr1_clear(&lab->card, OWN_DATA);
}
