/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fibre with a fault box in it, for the bench; see rfm5565-lab.h. */
#include "qemu/osdep.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "qemu/atomic.h"
#include "qemu/bswap.h"
#include "rfm5565-lab.h"

struct Fibre {
    GThread *thread;
    int listener;
    int quit[2];
    char *to;
    bool held;              /* accessed atomically */

    GMutex lock;            /* protects what follows */
    GCond hit_cond;
    bool aimed, hit;
    FibreFault fault;
    uint64_t marker;
};

static int unix_socket(const char *path, struct sockaddr_un *addr)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(fd, >=, 0);
    *addr = (struct sockaddr_un){ .sun_family = AF_UNIX };
    g_assert_cmpuint(strlen(path), <, sizeof(addr->sun_path));
    strcpy(addr->sun_path, path);
    return fd;
}

static bool write_all(int fd, const void *data, size_t len)
{
    const uint8_t *p = data;

    while (len) {
        ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

        if (n <= 0) {
            return false;
        }
        p += n;
        len -= n;
    }
    return true;
}

/* Pass on a chunk to the receiver, under the lock; false cuts the fibre. */
static bool fibre_pass(Fibre *fibre, int fd, uint8_t *data, size_t len)
{
    uint8_t *at = NULL;
    bool alive = true;

    if (fibre->aimed) {
        at = memmem(data, len, &fibre->marker, sizeof(fibre->marker));
    }
    if (!at) {
        return write_all(fd, data, len);
    }

    switch (fibre->fault) {
    case FIBRE_FLIP:
        at[3] ^= 0x10;
        alive = write_all(fd, data, len);
        break;
    case FIBRE_TRUNCATE:
        write_all(fd, data, at + 4 - data);
        alive = false;
        break;
    case FIBRE_NOISE: {
        uint8_t noise[256];

        memset(noise, 0x5a, sizeof(noise));
        alive = write_all(fd, noise, sizeof(noise)) &&
                write_all(fd, data, len);
        break;
    }
    }
    fibre->aimed = false;
    fibre->hit = true;
    g_cond_broadcast(&fibre->hit_cond);
    return alive;
}

#define HEAD      8                     /* tells how long a unit is */
#define LIGHT_US  (G_USEC_PER_SEC / 5)  /* a line is lit again that often */

/* What has passed towards the receiver, unit by unit. */
typedef struct Passed {
    uint8_t head[HEAD];
    size_t have;            /* bytes of the next one's head */
    size_t left;            /* bytes of the last one that are to come */
    bool lit;
} Passed;

static void passed_add(Passed *passed, const uint8_t *data, size_t len)
{
    const uint8_t *head = passed->head;
    size_t n;

    for (; len; data += n, len -= n) {
        if (passed->left) {
            n = MIN(len, passed->left);
            passed->left -= n;
            continue;
        }
        n = MIN(len, HEAD - passed->have);
        memcpy(passed->head + passed->have, data, n);
        passed->have += n;
        if (passed->have < HEAD) {
            continue;
        }
        passed->have = 0;
        if (!memcmp(head, "RL", 2)) {
            passed->left = PEER_MESSAGE - HEAD;
            passed->lit = head[3] == 4 && head[5];
        } else {
            /* Of a train, full frames and the last one */
            passed->left = 48 - HEAD + head[7] +
                           (head[3] == 8 ? (head[5] - 1) * 64 : 0);
        }
    }
}

/*
 * The light of a fibre that is held stays on, however slow the test is: it is
 * held between two units, and the box says it.
 */
static bool fibre_shine(const Passed *passed, int rx, gint64 *told)
{
    gint64 now = g_get_monotonic_time();
    uint8_t wire[PEER_MESSAGE];

    if (!passed->lit || now - *told < LIGHT_US) {
        return true;
    }
    *told = now;
    peer_message(wire, 4, PEER_NODE, 1);
    return write_all(rx, wire, sizeof(wire));
}

/* Carry bytes both ways until one end or the fault box ends it. */
static void fibre_carry(Fibre *fibre, int tx, int rx)
{
    static const size_t size = 64 * 1024;
    g_autofree uint8_t *buf = g_malloc(size);
    Passed passed = {};
    gint64 told = 0;

    for (;;) {
        size_t rest = passed.have ? HEAD - passed.have : passed.left;
        bool held = qatomic_read(&fibre->held) && !rest;
        struct pollfd fds[] = {
            { .fd = held ? -1 : tx, .events = POLLIN },
            { .fd = rx, .events = POLLIN },
            { .fd = fibre->quit[0], .events = POLLIN },
        };
        ssize_t n;

        if (poll(fds, 3, held ? 5 : -1) < 0 || fds[2].revents) {
            return;
        }
        if (held && !fibre_shine(&passed, rx, &told)) {
            return;
        }
        if (fds[0].revents) {
            /* Who has it held sees no unit begin after that. */
            g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&fibre->lock);

            held = qatomic_read(&fibre->held);
            if (rest || !held) {
                n = read(tx, buf, held ? rest : size);
                if (n > 0) {
                    passed_add(&passed, buf, n);
                }
                if (n <= 0 || !fibre_pass(fibre, rx, buf, n)) {
                    return;
                }
            }
        }
        if (fds[1].revents) {
            n = read(rx, buf, size);
            if (n <= 0 || !write_all(tx, buf, n)) {
                return;
            }
        }
    }
}

static void *fibre_thread(void *opaque)
{
    Fibre *fibre = opaque;

    for (;;) {
        struct pollfd fds[] = {
            { .fd = fibre->listener, .events = POLLIN },
            { .fd = fibre->quit[0], .events = POLLIN },
        };
        struct sockaddr_un addr;
        int tx, rx;

        if (poll(fds, 2, -1) < 0 || fds[1].revents) {
            return NULL;
        }
        tx = accept4(fibre->listener, NULL, NULL, SOCK_CLOEXEC);
        rx = unix_socket(fibre->to, &addr);
        if (tx >= 0 &&
            connect(rx, (struct sockaddr *)&addr, sizeof(addr)) == 0) {
            fibre_carry(fibre, tx, rx);
        }
        close(rx);
        close(tx);
    }
}

Fibre *fibre_new(const char *from, const char *to)
{
    Fibre *fibre = g_new0(Fibre, 1);
    struct sockaddr_un addr;

    g_mutex_init(&fibre->lock);
    g_cond_init(&fibre->hit_cond);
    fibre->to = g_strdup(to);
    fibre->listener = unix_socket(from, &addr);
    g_assert_cmpint(bind(fibre->listener, (struct sockaddr *)&addr,
                         sizeof(addr)), ==, 0);
    g_assert_cmpint(listen(fibre->listener, 1), ==, 0);
    g_assert_cmpint(pipe2(fibre->quit, O_CLOEXEC), ==, 0);
    fibre->thread = g_thread_new("fibre", fibre_thread, fibre);
    return fibre;
}

void fibre_free(Fibre *fibre)
{
    g_assert_cmpint(write(fibre->quit[1], "", 1), ==, 1);
    g_thread_join(fibre->thread);
    close(fibre->listener);
    close(fibre->quit[0]);
    close(fibre->quit[1]);
    g_mutex_clear(&fibre->lock);
    g_cond_clear(&fibre->hit_cond);
    g_free(fibre->to);
    g_free(fibre);
}

void fibre_aim(Fibre *fibre, FibreFault fault, uint64_t marker)
{
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&fibre->lock);

    fibre->fault = fault;
    fibre->marker = cpu_to_le64(marker);
    fibre->aimed = true;
    fibre->hit = false;
}

void fibre_hold(Fibre *fibre, bool hold)
{
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&fibre->lock);

    qatomic_set(&fibre->held, hold);
}

void fibre_wait_hit(Fibre *fibre)
{
    gint64 end = g_get_monotonic_time() + WAIT_US;
    g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&fibre->lock);

    while (!fibre->hit) {
        g_assert_true(g_cond_wait_until(&fibre->hit_cond, &fibre->lock, end));
    }
}
