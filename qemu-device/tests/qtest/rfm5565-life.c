/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties, counters, a dead card, reset, unplug, migration. */
#include "qemu/osdep.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "rfm5565-lab.h"

/* --- properties ----------------------------------------------------------- */

/* Run QEMU with these options; it must end by itself. Returns its status. */
static int run_qemu(char **output, char **errors, const char *options)
{
    g_autofree char *command = NULL;
    g_autoptr(GError) err = NULL;
    int status;

    command = g_strdup_printf("timeout 20 %s -machine pc -nodefaults "
                              "-accel qtest -display none -S %s",
                              g_getenv("QTEST_QEMU_BINARY"), options);
    g_assert_true(g_spawn_command_line_sync(command, output, errors, &status,
                                            &err));
    g_assert_no_error(err);
    g_assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

typedef struct Wrong {
    const char *device;
    const char *names;      /* what the sentence must mention */
} Wrong;

static const Wrong wrongs[] = {
    { "node-id=256",                      "node-id" },
    { "node-id=-1",                       "node-id" },
    { "node-id=seven",                    "node-id" },
    { "memory-size=32M",                  "memory-size" },
    { "memory-size=96M",                  "memory-size" },
    { "memory-size=512M",                 "memory-size" },
    { "memory-size=0",                    "memory-size" },
    { "memory-size=67108865",             "memory-size" },
    { "memory-size=large",                "memory-size" },
    { "window=32M",                       "window" },
    { "window=128M",                      "window" },
    { "window=0",                         "window" },
    { "window=none",                      "window" },
    { "window=2m",                        "window" },
    { "window=",                          "window" },
    { "rx=one",                           "tx" },
    { "tx=one",                           "rx" },
    { "rx=nosuch,tx=one",                 "rx" },
    { "rx=one,tx=nosuch",                 "tx" },
    { "rx=one,tx=one",                    "tx" },
    { "stall-limit-ms=10001",             "stall-limit-ms" },
    { "burst-size=4097",                  "burst-size" },
    { "burst-size=4K,burst-offset=64",    "burst-offset" },
    { "burst-size=64M,burst-offset=4K",   "within the memory" },
    { "burst-size=4K,extension=off",      "extension" },
    { "dead=on",                          "dead" },
    { "dma-hung=on",                      "dma-hung" },
    { "bridge-revision=256",              "bridge-revision" },
    { "iothread=nosuch",                  "nosuch" },
    { "shm=perhaps",                      "shm" },
    { "line=slow",                        "line" },
    { "line=paced,,rate=0",               "line" },
    { "frames-in-flight=0",               "frames-in-flight" },
    { "frames-in-flight=16385",           "frames-in-flight" },
    { "train=0",                          "train" },
    { "train=33",                         "train" },
    { "redundant=2",                      "redundant" },
    { "rogue-master-0=x",                 "rogue-master-0" },
    { "rogue=elephant",                   "rogue" },
    { "duplicate-ids=stay",               "duplicate-ids" },
    { "pcap=/nonexistent/x",              "pcap" },
    { "firmware-bus-master=perhaps",      "firmware-bus-master" },
    { "colour=green",                     "colour" },
};

static void test_wrong_properties(void)
{
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
        g_autofree char *options = NULL;
        g_autofree char *errors = NULL;
        g_auto(GStrv) lines = NULL;
        int status;

        options = g_strdup_printf("-chardev null,id=one -device rfm5565,%s",
                                  wrongs[i].device);
        status = run_qemu(NULL, &errors, options);
        g_test_message("%s: %s", wrongs[i].device, errors);
        g_assert_cmpint(status, ==, 1);
        g_assert_nonnull(strstr(errors, wrongs[i].names));
        lines = g_strsplit(g_strchomp(errors), "\n", -1);
        g_assert_cmpuint(g_strv_length(lines), ==, 1);
    }
}

/* Two cards cannot share a chardev. */
static void test_shared_chardev(void)
{
    g_autofree char *errors = NULL;
    int status;

    status = run_qemu(NULL, &errors,
                      "-chardev null,id=one -chardev null,id=two "
                      "-device rfm5565,rx=one,tx=two "
                      "-device rfm5565,rx=one,tx=two");
    g_assert_cmpint(status, ==, 1);
    g_assert_nonnull(strstr(errors, "rx"));
}

/* Is this line of "-device X,help" about a property, and which? */
static char *help_property(const char *line)
{
    const char *end = strstr(line, "=<");

    return g_str_has_prefix(line, "  ") && end ?
           g_strndup(line + 2, end - line - 2) : NULL;
}

/* Every property that other PCI devices have not is explained. */
static void test_help(void)
{
    static const char *const own[] = {
        "node-id", "memory-size", "window", "rx", "tx", "stall-limit-ms",
        "iothread", "shm", "line", "frames-in-flight", "packing", "train",
        "redundant",
        "rogue-master-0", "rogue-master-1", "rogue", "duplicate-ids", "pcap",
        "extension", "firmware-bus-master", "burst-offset", "burst-size",
    };
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                       g_free, NULL);
    g_autofree char *other = NULL;
    g_autofree char *help = NULL;
    g_autofree char *list = NULL;
    g_auto(GStrv) lines = NULL;
    unsigned i;

    g_assert_cmpint(run_qemu(&other, NULL, "-device pci-testdev,help"), ==, 0);
    g_assert_cmpint(run_qemu(&help, NULL, "-device rfm5565,help"), ==, 0);
    lines = g_strsplit(help, "\n", -1);
    for (i = 0; lines[i]; i++) {
        char *name = help_property(lines[i]);
        g_autofree char *start = g_strdup_printf("  %s=<", name);
        const char *text;

        if (!name) {
            continue;
        }
        g_hash_table_add(seen, name);
        if (!strstr(other, start)) {
            text = strstr(lines[i], " - ");
            g_test_message("%s", lines[i]);
            g_assert_nonnull(text);
            g_assert_cmpuint(strlen(text), >, 15);
        }
    }
    for (i = 0; i < ARRAY_SIZE(own); i++) {
        g_assert_true(g_hash_table_contains(seen, own[i]));
    }

    g_assert_cmpint(run_qemu(&list, NULL, "-device help"), ==, 0);
    g_assert_nonnull(strstr(list, "name \"rfm5565\", bus PCI"));
}

/* --- counters ------------------------------------------------------------- */

/* What is sent is counted as come home, what is lost as lost, at both ends. */
static void test_counters(void)
{
    static const uint64_t marker = 0xc0a47e5ull << 32 | 0x12345678;
    static const char *const quiet[] = {
        "frames-full", "frames-missed", "frames-late", "frames-beyond",
        "frames-unsendable", "frames-overrun", "frames-bad",
        "frames-hop-limit", "interrupts-dropped",
    };
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,memory-size=128M,packing=off", "node-id=9" },
        .fibres = true, .fault_box = &box,
    });
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t sent, home, received, lost, dark;
    unsigned i;

    ring_wait_closed(lab->card, 2);
    sent = counter(a, "frames-sent");
    home = counter(a, "frames-home");
    received = counter(b, "frames-received");
    lost = counter(a, "frames-lost");
    dark = counter(a, "frames-dark");

    for (i = 0; i < 100; i++) {
        mem_writel(a, 4 * i, i);
    }
    fence(a, b);
    wait_until(counter(a, "frames-home") == home + 101);
    g_assert_cmpuint(counter(a, "frames-sent"), ==, sent + 101);
    g_assert_cmpuint(counter(b, "frames-received"), ==, received + 101);
    for (i = 0; i < ARRAY_SIZE(quiet); i++) {
        g_test_message("%s", quiet[i]);
        g_assert_cmpuint(counter(a, quiet[i]), ==, 0);
        g_assert_cmpuint(counter(b, quiet[i]), ==, 0);
    }

    /* One damaged: dropped by b, missed by b, lost for a */
    fibre_aim(box, FIBRE_FLIP, marker);
    qpci_io_writeq(a->pci, a->bar[3], 0, marker);
    fibre_wait_hit(box);
    fence(a, b);
    wait_until(counter(a, "frames-home") == home + 102);
    g_assert_cmpuint(counter(a, "frames-lost"), ==, lost + 1);
    g_assert_cmpuint(counter(b, "frames-bad"), ==, 1);
    g_assert_cmpuint(counter(b, "frames-missed"), ==, 1);

    /* Past the end of b's memory */
    mem_writel(a, 64 * MIB, 1);
    fence(a, b);
    g_assert_cmpuint(counter(b, "frames-beyond"), ==, 1);

    /* More interrupts than the FIFO takes */
    for (i = 0; i < FIFO_DEPTH + 5; i++) {
        nic_send(a, 9, NIC_INT1, i);
    }
    fence(a, b);
    g_assert_cmpuint(counter(b, "interrupts-dropped"), ==, 5);

    /* In the dark */
    lcsr1_set(b, TX_DISABLE);
    ctl_wait(a, LCSR1, SIGNAL, 0);
    mem_writel(a, 0, 2);
    g_assert_cmpuint(counter(a, "frames-dark"), ==, dark + 1);
    lab_stop(lab);
    fibre_free(box);
}

/* --- a card that falls off the bus ---------------------------------------- */

static void set_dead(Lab *lab, unsigned i, bool dead)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/card%u", i);

    qtest_qom_set_bool(lab->vm->qts, path, "dead", dead);
}

/* It answers all ones, takes nothing, interrupts nobody, and sends no light. */
static void test_dead(void)
{
    static const char *const options[] = { "node-id=7", "node-id=7,window=2M" };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(options); i++) {
        Lab *lab = lab_ring(options[i], "node-id=9");
        Card *a = &lab->card[0], *b = &lab->card[1];
        unsigned width;

        intx_watch(lab->vm);
        mem_writel(a, 0, 0x11fe);
        bar_write(a, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
        ctl_writel(a, LIER, L_INT1);
        ctl_writel(a, LISR, GIE);
        nic_send(b, 7, NIC_INT1, 0xd00d);
        wait_until(intx_level(a));

        set_dead(lab, 0, true);
        g_assert_false(intx_level(a));
        for (width = 1; width <= 4; width *= 2) {
            uint32_t ones = width == 4 ? ~0u : (1u << 8 * width) - 1;

            g_assert_cmphex(bar_read(a, 0, INTCSR, width), ==, ones);
            g_assert_cmphex(bar_read(a, 1, INTCSR, width), ==, ones);
            g_assert_cmphex(bar_read(a, 2, BRV, width), ==, ones);
            g_assert_cmphex(bar_read(a, 2, SID(1), width), ==, ones);
            g_assert_cmphex(bar_read(a, 3, 0, width), ==, ones);
        }
        mem_writel(a, 0, 0xbad);
        ctl_writel(a, LIER, 0);
        nic_send(a, 9, NIC_INT1, 0);
        ctl_wait(b, LCSR1, SIGNAL, 0);
        mem_writel(b, 4, 0xbad);

        set_dead(lab, 0, false);
        g_assert_false(intx_level(a));
        g_assert_cmphex(mem_readl(a, 0), ==, 0x11fe);
        g_assert_cmphex(ctl_readl(a, LIER), ==, 0);
        g_assert_cmphex(ctl_readl(a, LISR) & L_INT1, ==, 0);
        ring_wait_closed(lab->card, 2);
        mem_writel(a, 8, 0xa11e);
        fence(a, b);
        fence(b, a);
        g_assert_cmphex(mem_readl(b, 8), ==, 0xa11e);
        g_assert_cmphex(mem_readl(a, 4), ==, 0);
        g_assert_cmphex(ctl_readl(b, LISR) & L_FIFOS, ==, 0);
        lab_stop(lab);
    }
}

/* --- reset ---------------------------------------------------------------- */

/* The guest begins again; memory, light and forwarding stay. */
static void test_reset(void)
{
    Lab *lab = lab_ring("node-id=7,window=2M", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i;

    mem_writel(a, 0x10, 0x1234);
    bar_write(a, 0, LAS1BA, 4, 0x200001);
    mem_writel(a, 0x10, 0x5678);
    fence(a, b);
    bar_write(a, 0, INTCSR, 4, LOCAL_INT_ENABLE);
    bar_write(a, 0, MARBR, 4, 0x01000000);
    ctl_writel(a, LIER, 0x3fff);
    ctl_writel(a, LISR, GIE);
    ctl_writel(a, NTD, 0xffffffff);
    lcsr1_clear(a, LED);
    nic_send(b, 7, NIC_INT1, 1);
    nic_send(b, 7, NIC_RESET, 1);
    fence(b, a);
    ctl_writeb(a, NTN, 0x55);

    qtest_system_reset(lab->vm->qts);
    for (i = 0; i < 2; i++) {
        g_assert_cmphex(qpci_config_readl(lab->card[i].pci, 0x1c), ==, 0);
        g_assert_cmphex(qpci_config_readw(lab->card[i].pci, PCI_COMMAND), ==,
                        0);
        card_fini(&lab->card[i]);
        card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
    }

    g_assert_cmphex(ctl_readl(a, LISR), ==, 0);
    g_assert_cmphex(ctl_readl(a, LIER), ==, 0);
    g_assert_cmphex(ctl_readl(a, NTD), ==, 0);
    g_assert_cmphex(ctl_readl(a, NTN), ==, 0);
    g_assert_cmphex(ctl_readl(a, ISD(1)), ==, 0);
    g_assert_cmphex(ctl_readb(a, SID(1)), ==, 0);
    g_assert_cmphex(bar_read(a, 0, INTCSR, 4), ==, 0x0f010100);
    g_assert_cmphex(bar_read(a, 0, MARBR, 4), ==, 0x02040000);
    g_assert_cmphex(bar_read(a, 0, LAS1BA, 4), ==, 1);
    g_assert_cmphex(ctl_readl(a, LCSR1) & (LED | SIGNAL | SYNC_LOST), ==,
                    LED | SIGNAL);
    g_assert_cmphex(qpci_config_readw(a->pci, PCI_STATUS) & 0x0008, ==, 0);

    /* Memory is kept, seen through the window at its beginning. */
    g_assert_cmphex(mem_readl(a, 0x10), ==, 0x1234);
    g_assert_cmphex(mem_readl(b, 0x10), ==, 0x1234);
    g_assert_cmphex(mem_readl(b, 0x200010), ==, 0x5678);
    bar_write(a, 0, LAS1BA, 4, 0x200001);
    g_assert_cmphex(mem_readl(a, 0x10), ==, 0x5678);

    /* The ring was never open. */
    mem_writel(a, 0x20, 0x9abc);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0x200020), ==, 0x9abc);
    g_assert_cmphex(ctl_readl(a, LISR) | ctl_readl(b, LISR), ==, 0);
    lab_stop(lab);
}

/* A card that was switched dark is lit again by the reset. */
static void test_reset_lights_up(void)
{
    static const uint32_t darks[] = { TX_DISABLE, LOOPBACK };
    unsigned i, k;

    for (i = 0; i < ARRAY_SIZE(darks); i++) {
        Lab *lab = lab_ring("node-id=7", "node-id=9");

        lcsr1_set(&lab->card[0], darks[i]);
        ctl_wait(&lab->card[1], LCSR1, SIGNAL, 0);
        qtest_system_reset(lab->vm->qts);
        for (k = 0; k < 2; k++) {
            card_fini(&lab->card[k]);
            card_init(&lab->card[k], lab->vm, FIRST_SLOT + k);
        }
        ring_wait_closed(lab->card, 2);
        fence(&lab->card[0], &lab->card[1]);
        fence(&lab->card[1], &lab->card[0]);
        lab_stop(lab);
    }
}

/* --- unplug --------------------------------------------------------------- */

/* Either card is pulled while both have traffic, and put in again. */
static void test_unplug(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    g_autofree uint8_t *data = g_malloc0(32 * 1024);
    unsigned round;

    for (round = 0; round < 6; round++) {
        unsigned out = round % 2;
        Card *gone = &lab->card[out], *left = &lab->card[!out];
        gint64 start;

        memset(data, round + 1, 32 * 1024);
        mem_write(&lab->card[0], 0, data, 8 * 1024);
        mem_write(&lab->card[1], MIB, data, 8 * 1024);
        lab_unplug(lab, out);

        ctl_wait(left, LCSR1, SIGNAL | SYNC_LOST, SYNC_LOST);
        start = g_get_monotonic_time();
        mem_write(left, 2 * MIB, data, 32 * 1024);
        nic_send(left, 0, NIC_GLOBAL | NIC_INT1, round);
        g_assert_cmpint(g_get_monotonic_time() - start, <, PROMPT_US);
        g_assert_cmphex(ctl_readb(left, BID), ==, 0x65);

        lab_replug(lab, out, 7 + 2 * out);
        ring_wait_closed(lab->card, 2);
        ring_wait_current(gone, left);
        /* A new card has an empty memory; only new stores reach it. */
        g_assert_cmphex(mem_readl(gone, 2 * MIB), ==, 0);
        mem_writel(left, 0x100, round);
        fence(left, gone);
        fence(gone, left);
        g_assert_cmphex(mem_readl(gone, 0x100), ==, round);
        ctl_readl(left, LISR);
        ctl_writel(left, LISR, 0);
        g_assert_cmphex(ctl_readl(left, LISR), ==, 0);
    }
    lab_stop(lab);
}

/* With its interrupt raised and its FIFOs full */
static void test_unplug_interrupting(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i;

    intx_watch(lab->vm);
    bar_write(b, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    ctl_writel(b, LIER, L_INT1);
    ctl_writel(b, LISR, GIE);
    for (i = 0; i < FIFO_DEPTH + 10; i++) {
        nic_send(a, 9, NIC_INT1, i);
    }
    fence(a, b);
    g_assert_true(intx_level(b));
    lab_unplug(lab, 1);
    g_assert_false(intx_level(b));
    lab->cards = 1;
    lab_stop(lab);
}

/* While its transmitter is stuck, and there is much to send */
static void test_unplug_jammed(void)
{
    static const size_t size = 512 * 1024;
    g_autofree uint8_t *data = g_malloc0(size);
    Fibre *box;
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7", "node-id=9" },
        .fibres = true, .fault_box = &box,
    });

    ring_wait_closed(lab->card, 2);
    fibre_hold(box, true);
    mem_write(&lab->card[0], 0, data, size);
    lab_unplug(lab, 0);
    fibre_hold(box, false);
    ctl_wait(&lab->card[1], LCSR1, SIGNAL, 0);
    lab_replug(lab, 0, 7);
    ring_wait_closed(lab->card, 2);
    ring_wait_current(&lab->card[0], &lab->card[1]);
    fence(&lab->card[0], &lab->card[1]);
    lab_stop(lab);
    fibre_free(box);
}

/* Already dead, as after a surprise removal */
static void test_unplug_dead(void)
{
    Lab *lab = lab_ring("node-id=7", "node-id=9");

    set_dead(lab, 1, true);
    mem_writel(&lab->card[1], 0, 1);
    lab_unplug(lab, 1);
    ctl_wait(&lab->card[0], LCSR1, SIGNAL, 0);
    lab_replug(lab, 1, 9);
    ring_wait_closed(lab->card, 2);
    lab_stop(lab);
}

/* A server that never accepts and whose queue is full: who connects waits. */
static void busy_server(int *server, int *client, const char *path)
{
    struct sockaddr_un addr = { .sun_family = AF_UNIX };

    g_assert_cmpuint(g_strlcpy(addr.sun_path, path, sizeof(addr.sun_path)), <,
                     sizeof(addr.sun_path));
    *server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(*server, (struct sockaddr *)&addr, sizeof(addr)), ==,
                    0);
    g_assert_cmpint(listen(*server, 0), ==, 0);
    g_assert_cmpint(connect(*client, (struct sockaddr *)&addr, sizeof(addr)),
                    ==, 0);
}

/* While its transmitter is still looking for the neighbour */
static void test_unplug_connecting(void)
{
    g_autofree char *up = lab_path("fibre");
    g_autofree char *down = lab_path("busy");
    g_autofree char *rx = chardev_rx("rx0", up);
    g_autofree char *tx = chardev_tx("tx0", down);
    Lab *lab = g_new0(Lab, 1);
    int server, client;

    busy_server(&server, &client, down);
    lab->vm = vm_start("%s %s -device rfm5565,id=card0,addr=%u,rx=rx0,tx=tx0",
                       rx, tx, FIRST_SLOT);
    lab->cards = 1;
    card_init(&lab->card[0], lab->vm, FIRST_SLOT);
    lab_unplug(lab, 0);
    lab_replug(lab, 0, 7);
    g_assert_cmphex(ctl_readb(&lab->card[0], NID), ==, 7);
    lab_stop(lab);
    close(client);
    close(server);
}

/* --- migration ------------------------------------------------------------ */

static void migration_prepare(Card *a, Card *b)
{
    unsigned i;

    /* FIFO 1: wrapped round its end, three left; FIFO 2: drained */
    for (i = 0; i < 100; i++) {
        nic_send(b, 7, NIC_INT1, i);
        fifo_expect(a, 1, 9, i);
    }
    for (i = 100; i < 150; i++) {
        nic_send(b, 7, NIC_INT1, i);
    }
    nic_send(b, 7, NIC_INT2, 0x2222);
    fifo_expect(a, 2, 9, 0x2222);
    for (i = 100; i < 147; i++) {
        fifo_expect(a, 1, 9, i);
    }

    /* Memory, and the window away from its beginning */
    mem_writel(a, 0x10, 0x10);
    bar_write(a, 0, LAS1BA, 4, 0x3e00001);
    mem_writel(a, 0x1ffffc, 0xe4d);
    mem_writel(b, 5 * MIB, 0x5555);
    fence(a, b);
    fence(b, a);

    /* One latch that was read, one that was not */
    lcsr1_set(a, PARITY);
    qpci_io_writeb(a->pci, a->bar[3], 0, 1);
    ctl_readl(a, LISR);
    nic_send(b, 7, NIC_RESET, 0);
    nic_send(b, 7, NIC_INT4, 0x4444);
    wait_until(ctl_readl(a, ISD(4)) == 0x4444);
    ctl_readb(a, SID(4));

    bar_write(a, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    bar_write(a, 0, MARBR, 4, 0x01000000);
    bar_write(a, 0, CNTRL, 1, 0xc);
    ctl_writel(a, LIER, 0x3a85);
    ctl_writel(a, LISR, 0x3fff | GIE);
    nic_send(a, 200, NIC_PROBE, 0x7d7d7d7d);
    ctl_wait(a, LCSR1, OWN_DATA, OWN_DATA);
    ctl_writel(a, LCSR1, PARITY | 2u << OFFSET_SHIFT | OWN_DATA);
}

/* Also used on the source, to know that the expectations are right. */
static void migration_expect_registers(Card *a)
{
    /* A heartbeat may just be leaving. */
    ctl_wait(a, LCSR1, TX_EMPTY, TX_EMPTY);
    g_assert_cmphex(ctl_readl(a, LCSR1) & ~(SIGNAL | SYNC_LOST | TX_EMPTY), ==,
                    PARITY | 2u << OFFSET_SHIFT | 0x00480000 | OWN_DATA);
    g_assert_cmphex(ctl_readl(a, LIER), ==, 0x3a85);
    g_assert_cmphex(ctl_readl(a, NTD), ==, 0x7d7d7d7d);
    g_assert_cmphex(ctl_readl(a, NTN), ==, NIC_PROBE << 8 | 200);
    g_assert_cmphex(ctl_readl(a, ISD(1)), ==, 147);
    g_assert_cmphex(ctl_readl(a, ISD(2)), ==, 0x2222);
    g_assert_cmphex(bar_read(a, 0, INTCSR, 4), ==, 0x0f018900);
    g_assert_cmphex(bar_read(a, 0, MARBR, 4), ==, 0x03040000);
    g_assert_cmphex(bar_read(a, 0, CNTRL, 4) & 0xf, ==, 0xc);
    g_assert_cmphex(bar_read(a, 0, LAS1BA, 4), ==, 0x3e00001);
    g_assert_cmphex(qpci_config_readw(a->pci, PCI_STATUS) & 0x0008, ==, 0x0008);
    g_assert_cmphex(mem_readl(a, 0x1ffffc), ==, 0xe4d);
}

static void test_migration(void)
{
    LabSpec spec = {
        .options = { "node-id=7,window=2M", "node-id=9" }, .fibres = true,
    };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec);
    Lab *target;
    Card *a = &source->card[0], *b = &source->card[1];
    unsigned i;

    ring_wait_closed(source->card, 2);
    migration_prepare(a, b);
    migration_expect_registers(a);
    migrate_to_file(source->vm, file);

    target = lab_migrate(&spec, file, source->card);
    a = &target->card[0];
    b = &target->card[1];
    migration_expect_registers(a);

    /* The latch that had been read can be cleared, the other not yet. */
    ctl_writel(a, LISR, GIE);
    g_assert_cmphex(ctl_readl(a, LISR) & ~L_SYNC_LOSS, ==,
                    GIE | L_RESET | L_INT1);
    ctl_writel(a, LISR, GIE);
    g_assert_cmphex(ctl_readl(a, LISR), ==, GIE | L_INT1);
    for (i = 147; i < 150; i++) {
        fifo_expect(a, 1, 9, i);
    }
    g_assert_cmphex(ctl_readl(a, LISR), ==, GIE);
    g_assert_cmphex(bar_read(a, 0, INTCSR, 4), ==, 0x0f010900);

    /* Memory, all of it */
    g_assert_cmphex(mem_readl(b, 0x10), ==, 0x10);
    g_assert_cmphex(mem_readl(b, 0x3fffffc), ==, 0xe4d);
    g_assert_cmphex(mem_readl(b, 5 * MIB), ==, 0x5555);
    bar_write(a, 0, LAS1BA, 4, 0);
    g_assert_cmphex(mem_readl(a, 0x10), ==, 0x10);
    bar_write(a, 0, LAS1BA, 4, 4 * MIB);
    g_assert_cmphex(mem_readl(a, MIB), ==, 0x5555);

    /* And it is a member of a ring again. */
    ctl_writel(a, LCSR1, 0);
    ring_wait_closed(target->card, 2);
    mem_writel(a, 0x20, 0x20);
    mem_writel(b, 4 * MIB + 0x24, 0x24);
    fence(a, b);
    fence(b, a);
    g_assert_cmphex(mem_readl(b, 4 * MIB + 0x20), ==, 0x20);
    g_assert_cmphex(mem_readl(a, 0x24), ==, 0x24);

    /* So is the source, if it is set going again instead. */
    qtest_qmp_assert_success(source->vm->qts, "{'execute': 'cont'}");
    a = &source->card[0];
    b = &source->card[1];
    ctl_writel(a, LCSR1, 0);
    ring_wait_closed(source->card, 2);
    bar_write(a, 0, LAS1BA, 4, 0);
    mem_writel(a, 0x20, 0x2020);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 0x20), ==, 0x2020);

    lab_stop(target);
    lab_stop(source);
}

/*
 * A machine that was paused before leaves the ring as well. What its card had
 * kept for it is stored first.
 */
static void test_migration_paused(void)
{
    g_autofree char *file = lab_path("migration");
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t received = counter(b, "frames-received");

    qtest_qmp_assert_success(lab->vm->qts, "{'execute': 'stop'}");
    mem_writel(a, 0, 0x1057);
    wait_until(counter(b, "frames-received") == received + 1);
    migrate_to_file(lab->vm, file);
    ctl_wait(a, LCSR1, SIGNAL, 0);
    ctl_wait(b, LCSR1, SIGNAL, 0);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x1057);

    qtest_qmp_assert_success(lab->vm->qts, "{'execute': 'cont'}");
    ring_wait_closed(lab->card, 2);
    g_assert_cmpuint(counter(b, "frames-held-lost"), ==, 0);
    mem_writel(a, 4, 0x600d);
    fence(a, b);
    g_assert_cmphex(mem_readl(b, 4), ==, 0x600d);
    lab_stop(lab);
}

/* A card with other properties refuses the state, naming what differs. */
static void test_migration_refused(void)
{
    static const struct {
        const char *options, *names;
    } others[] = {
        { "node-id=8",                        "node-id" },
        { "node-id=7,window=2M",              "window" },
        { "node-id=7,memory-size=128M",       "rfm5565-memory" },
        { "node-id=7,redundant=on",           "redundant" },
    };
    g_autofree char *file = lab_path("migration");
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    Lab *source = lab_dark("node-id=7", NULL);
    unsigned i;

    migrate_to_file(source->vm, file);
    for (i = 0; i < ARRAY_SIZE(others); i++) {
        Lab *target = lab_build(&(LabSpec){
            .options = { others[i].options }, .incoming = true,
        });
        QTestState *qts = target->vm->qts;

        g_test_message("%s", others[i].options);
        qtest_set_expected_status(qts, 1);
        qtest_qmp_send(qts, "{'execute': 'migrate-incoming',"
                       " 'arguments': {'uri': %s}}", uri);
        qtest_wait_qemu(qts);
        g_test_message("%s", vm_error_text(target->vm));
        g_assert_cmpuint(vm_errors(target->vm, others[i].names), >=, 1);
        lab_stop(target);
    }
    lab_stop(source);
}

void rfm5565_add_life_tests(void)
{
    lab_add_test("properties/wrong", test_wrong_properties);
    lab_add_test("properties/shared-chardev", test_shared_chardev);
    lab_add_test("properties/help", test_help);
    lab_add_test("counters", test_counters);
    lab_add_test("dead/all-ones", test_dead);
    lab_add_test("dead/unplug", test_unplug_dead);
    lab_add_test("reset/registers", test_reset);
    lab_add_test("reset/lights-up", test_reset_lights_up);
    lab_add_test("unplug/traffic", test_unplug);
    lab_add_test("unplug/jammed", test_unplug_jammed);
    lab_add_test("unplug/interrupting", test_unplug_interrupting);
    lab_add_test("unplug/connecting", test_unplug_connecting);
    lab_add_test("migration/state", test_migration);
    lab_add_test("migration/paused", test_migration_paused);
    lab_add_test("migration/refused", test_migration_refused);
}
