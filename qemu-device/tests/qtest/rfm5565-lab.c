/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bench of the rfm5565 tests; see rfm5565-lab.h. */
#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "hw/pci/pci_regs.h"
#include "qobject/qdict.h"
#include "libqos/pci-pc.h"
#include "rfm5565-lab.h"

static char *lab_folder;
static unsigned lab_files;

/* --- the ways in which a card can work ------------------------------------ */

typedef struct Variant {
    const char *name;
    const char *options;        /* of the machine */
} Variant;

static const Variant variants[] = {
    { "thread", "-object iothread,id=engine -global rfm5565.iothread=engine" },
    { "plain", "-global rfm5565.shm=off" },
};

static const Variant *variant = &variants[0];

typedef struct VariantTest {
    const Variant *variant;
    void (*run)(void);
} VariantTest;

static void run_variant(const void *opaque)
{
    const VariantTest *test = opaque;

    variant = test->variant;
    test->run();
}

bool lab_shares_memory(void)
{
    return variant == &variants[0];
}

static void add_test(const Variant *kind, const char *name, void (*run)(void))
{
    g_autofree char *path = g_strdup_printf("rfm5565-%s/%s", kind->name, name);
    VariantTest *test = g_new(VariantTest, 1);

    *test = (VariantTest) { kind, run };
    qtest_add_data_func_full(path, test, run_variant, g_free);
}

void lab_add_test(const char *name, void (*run)(void))
{
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
        add_test(&variants[i], name, run);
    }
}

void lab_add_thread_test(const char *name, void (*run)(void))
{
    add_test(&variants[0], name, run);
}

/* --- files ---------------------------------------------------------------- */

/* What QEMU said may explain a failure; then leave nothing behind. */
static void lab_clear(bool show_errors)
{
    GDir *dir = g_dir_open(lab_folder, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(lab_folder, name, NULL);
        g_autofree char *text = NULL;

        if (show_errors && g_str_has_suffix(name, "-errors") &&
            g_file_get_contents(path, &text, NULL, NULL) && *text) {
            fprintf(stderr, "QEMU said: %s", text);
        }
        g_unlink(path);
    }
    if (dir) {
        g_dir_close(dir);
    }
    g_rmdir(lab_folder);
}

static void lab_aborted(void *unused)
{
    lab_clear(true);
}

void lab_init(void)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *firmware = NULL;
    static char blank[64 * 1024];

    lab_folder = g_dir_make_tmp("rfm5565-XXXXXX", &err);
    g_assert_no_error(err);
    qtest_add_abrt_handler(lab_aborted, &lab_folder);

    /* QEMU insists on a firmware, but without a CPU it is never run. */
    firmware = g_build_filename(lab_folder, "blank.bin", NULL);
    g_assert_true(g_file_set_contents(firmware, blank, sizeof(blank), NULL));
}

void lab_cleanup(void)
{
    qtest_remove_abrt_handler(&lab_folder);
    lab_clear(false);
    g_free(lab_folder);
}

char *lab_path(const char *name)
{
    return g_strdup_printf("%s/%u-%s", lab_folder, ++lab_files, name);
}

char *chardev_rx(const char *id, const char *path)
{
    return g_strdup_printf("-chardev socket,id=%s,path=%s,server=on,wait=off",
                           id, path);
}

char *chardev_tx(const char *id, const char *path)
{
    return g_strdup_printf("-chardev socket,id=%s,path=%s,reconnect-ms=100",
                           id, path);
}

/* --- machines ------------------------------------------------------------- */

Vm *vm_start(const char *format, ...)
{
    g_autofree char *options = NULL;
    Vm *vm = g_new0(Vm, 1);
    va_list ap;

    va_start(ap, format);
    options = g_strdup_vprintf(format, ap);
    va_end(ap);

    vm->errors = lab_path("errors");
    vm->qts = qtest_initf("-machine pc -global apic-common.vapic=off "
                          "-nodefaults -bios %s/blank.bin %s %s 2>%s",
                          lab_folder, variant->options, options, vm->errors);
    vm->bus = qpci_new_pc(vm->qts, NULL);
    vm->bus->mmio_alloc_ptr = 0x40000000;   /* room for two of 256 MiB */
    return vm;
}

/* qtest_quit() looks only every 100 ms whether QEMU has ended. */
static void end_at_once(QTestState *qts)
{
    siginfo_t info;
    pid_t pid;

    if (!qtest_probe_child(qts)) {
        return;             /* it has ended by itself, and has no pid now */
    }
    pid = qtest_pid(qts);
    g_assert_cmpint(pid, >, 1);
    kill(pid, SIGTERM);
    waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
}

void vm_stop(Vm *vm)
{
    g_autofree char *text = NULL;

    end_at_once(vm->qts);
    qtest_quit(vm->qts);
    if (g_file_get_contents(vm->errors, &text, NULL, NULL) && *text) {
        g_test_message("QEMU said: %s", text);
    }
    g_assert_cmpuint(vm_errors(vm, "ERROR:"), ==, 0);
    qpci_free_pc(vm->bus);
    g_free(vm->errors);
    g_free(vm);
}

void vm_set_running(Vm *vm, bool running)
{
    qtest_qmp_assert_success(vm->qts, "{'execute': %s}",
                             running ? "cont" : "stop");
}

char *vm_error_text(Vm *vm)
{
    char *text;

    g_assert_true(g_file_get_contents(vm->errors, &text, NULL, NULL));
    return text;
}

unsigned vm_errors(Vm *vm, const char *text)
{
    g_autofree char *all = vm_error_text(vm);
    g_auto(GStrv) lines = g_strsplit(all, "\n", -1);
    unsigned i, n = 0;

    for (i = 0; lines[i]; i++) {
        n += strstr(lines[i], text) != NULL;
    }
    return n;
}

unsigned vm_complaints(Vm *vm)
{
    /* This one first: the other must not be the smaller one. */
    unsigned slow = vm_errors(vm, "the downstream neighbour does not answer");

    return vm_errors(vm, " rfm5565:") - slow;
}

/* --- cards ---------------------------------------------------------------- */

void card_init(Card *card, Vm *vm, unsigned slot)
{
    int i;

    card->vm = vm;
    card->slot = slot;
    card->pci = qpci_device_find(vm->bus, QPCI_DEVFN(slot, 0));
    g_assert_nonnull(card->pci);
    for (i = 0; i < 4; i++) {
        card->bar[i] = qpci_iomap(card->pci, i, &card->size[i]);
    }
    qpci_device_enable(card->pci);
    card->node = ctl_readb(card, NID);
}

void card_fini(Card *card)
{
    g_free(card->pci);
    card->pci = NULL;
}

void card_attach(Card *card, Vm *vm, const Card *twin)
{
    int i;

    *card = *twin;
    card->vm = vm;
    card->pci = qpci_device_find(vm->bus, QPCI_DEVFN(card->slot, 0));
    g_assert_nonnull(card->pci);
    for (i = 0; i < 4; i++) {
        uint32_t bar = qpci_config_readl(card->pci, PCI_BASE_ADDRESS_0 + 4 * i);

        g_assert_cmphex(bar & ~0xfu, ==, card->bar[i].addr);
    }
}

Lab *lab_build(const LabSpec *spec)
{
    g_autoptr(GString) args = g_string_new(spec->incoming ?
                                              "-incoming defer" : "");
    char *rx_path[MAX_CARDS] = {};
    Lab *lab = g_new0(Lab, 1);
    unsigned i;

    if (spec->machine) {
        g_string_append_printf(args, " %s", spec->machine);
    }
    lab->cards = spec->options[1] ? 2 : 1;
    for (i = 0; spec->fibres && i < lab->cards; i++) {
        g_autofree char *id = g_strdup_printf("rx%u", i);
        g_autofree char *rx = NULL;

        rx_path[i] = lab_path("fibre");
        rx = chardev_rx(id, rx_path[i]);
        g_string_append_printf(args, " %s", rx);
    }
    for (i = 0; spec->fibres && i < lab->cards; i++) {
        g_autofree char *id = g_strdup_printf("tx%u", i);
        g_autofree char *to = g_strdup(rx_path[(i + 1) % lab->cards]);
        g_autofree char *tx = NULL;

        if (i == 0 && spec->fault_box) {
            char *box = lab_path("fibre");

            *spec->fault_box = fibre_new(box, to);
            g_free(to);
            to = box;
        }
        tx = chardev_tx(id, to);
        g_string_append_printf(args, " %s", tx);
    }
    for (i = 0; i < lab->cards; i++) {
        g_string_append_printf(args, " -device rfm5565,id=card%u,addr=%u,%s",
                               i, FIRST_SLOT + i, spec->options[i]);
        if (spec->fibres) {
            g_string_append_printf(args, ",rx=rx%u,tx=tx%u", i, i);
        }
    }

    lab->vm = vm_start("%s", args->str);
    for (i = 0; i < lab->cards; i++) {
        if (!spec->incoming) {
            card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
        }
        g_free(rx_path[i]);
    }
    return lab;
}

Lab *lab_dark(const char *options0, const char *options1)
{
    return lab_build(&(LabSpec){ .options = { options0, options1 } });
}

Lab *lab_ring(const char *options0, const char *options1)
{
    Lab *lab = lab_build(&(LabSpec){ .options = { options0, options1 },
                                     .fibres = true });

    ring_wait_closed(lab->card, lab->cards);
    return lab;
}

void ring_wait_closed(Card *cards, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        ctl_wait(&cards[i], LCSR1, SIGNAL, SIGNAL);
    }
    /*
     * Own frames leave only when the neighbour listens, which may be a moment
     * after its light arrives here: the ring is closed when one comes home.
     */
    for (i = 0; i < n; i++) {
        Card *card = &cards[i];

        lcsr1_clear(card, OWN_DATA);
        wait_until((nic_send(card, 0, NIC_PROBE, 0),
                    ctl_readl(card, LCSR1) & OWN_DATA));
    }
    /* Probes that wait or are on their way would set it again. */
    for (i = 0; i < n; i++) {
        ctl_wait(&cards[i], LCSR1, TX_EMPTY, TX_EMPTY);
        wait_until(counter(&cards[i], "frames-sent") ==
                   counter(&cards[i], "frames-home") +
                   counter(&cards[i], "frames-lost"));
    }
    for (i = 0; i < n; i++) {
        lcsr1_clear(&cards[i], OWN_DATA);
        ctl_writel(&cards[i], NTD, 0);
    }
}

void lab_stop(Lab *lab)
{
    unsigned i;

    for (i = 0; i < lab->cards; i++) {
        card_fini(&lab->card[i]);
    }
    vm_stop(lab->vm);
    g_free(lab);
}

/* --- hot plug ------------------------------------------------------------- */

void lab_unplug(Lab *lab, unsigned i)
{
    g_autofree char *id = g_strdup_printf("card%u", i);

    qpci_unplug_acpi_device_test(lab->vm->qts, id, FIRST_SLOT + i);
    card_fini(&lab->card[i]);
}

void lab_replug(Lab *lab, unsigned i, unsigned node)
{
    g_autofree char *id = g_strdup_printf("card%u", i);
    g_autofree char *addr = g_strdup_printf("%u", FIRST_SLOT + i);
    g_autofree char *rx = g_strdup_printf("rx%u", i);
    g_autofree char *tx = g_strdup_printf("tx%u", i);

    qtest_qmp_assert_success(lab->vm->qts,
        "{'execute': 'device_add', 'arguments': {'driver': 'rfm5565',"
        " 'id': %s, 'addr': %s, 'node-id': %u, 'rx': %s, 'tx': %s}}",
        id, addr, node, rx, tx);
    card_init(&lab->card[i], lab->vm, FIRST_SLOT + i);
}

/*
 * Until @to takes what @from sends. A card that was put in again, or a node
 * that was started again, after the host's clock had been set back is of an
 * earlier incarnation, which takes two heartbeats to become the current one.
 * Writes to 32 MiB.
 */
void ring_wait_current(Card *from, Card *to)
{
    static uint32_t number;

    number++;
    wait_until((mem_writel(from, 32 * MIB, number),
                mem_readl(to, 32 * MIB) == number));
}

/* --- migration ------------------------------------------------------------ */

static bool migration_is(Vm *vm, const char *wanted)
{
    QDict *reply = qtest_qmp_assert_success_ref(vm->qts,
                                                "{'execute': 'query-migrate'}");
    const char *status = qdict_get_try_str(reply, "status");
    bool is = status && !strcmp(status, wanted);

    g_assert_cmpstr(status, !=, "failed");
    qobject_unref(reply);
    return is;
}

void migrate_to_file(Vm *vm, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);

    qtest_qmp_assert_success(vm->qts, "{'execute': 'migrate',"
                             " 'arguments': {'uri': %s}}", uri);
    wait_until(migration_is(vm, "completed"));
}

void load_from_file(Vm *vm, const char *file)
{
    g_autofree char *uri = g_strdup_printf("file:%s", file);

    qtest_qmp_assert_success(vm->qts, "{'execute': 'migrate-incoming',"
                             " 'arguments': {'uri': %s}}", uri);
    wait_until(migration_is(vm, "completed"));
}

void migrate_from_file(Vm *vm, const char *file)
{
    const char *status;
    QDict *reply;
    bool running = false;

    load_from_file(vm, file);
    wait_until(({
        reply = qtest_qmp_assert_success_ref(vm->qts,
                                             "{'execute': 'query-status'}");
        status = qdict_get_str(reply, "status");
        running = !strcmp(status, "running");
        qobject_unref(reply);
        running;
    }));
}

static Lab *lab_incoming(const LabSpec *spec, const char *file,
                         const Card *twins,
                         void (*load)(Vm *vm, const char *file))
{
    LabSpec incoming = *spec;
    Lab *lab;

    incoming.incoming = true;
    lab = lab_build(&incoming);
    load(lab->vm, file);
    for (unsigned i = 0; i < lab->cards; i++) {
        card_attach(&lab->card[i], lab->vm, &twins[i]);
    }
    return lab;
}

Lab *lab_load(const LabSpec *spec, const char *file, const Card *twins)
{
    return lab_incoming(spec, file, twins, load_from_file);
}

Lab *lab_migrate(const LabSpec *spec, const char *file, const Card *twins)
{
    return lab_incoming(spec, file, twins, migrate_from_file);
}

/* --- registers ------------------------------------------------------------ */

uint32_t bar_read(Card *card, int bar, unsigned offset, unsigned width)
{
    switch (width) {
    case 1:
        return qpci_io_readb(card->pci, card->bar[bar], offset);
    case 2:
        return qpci_io_readw(card->pci, card->bar[bar], offset);
    case 4:
        return qpci_io_readl(card->pci, card->bar[bar], offset);
    }
    g_assert_not_reached();
}

void bar_write(Card *card, int bar, unsigned offset, unsigned width,
               uint32_t value)
{
    switch (width) {
    case 1:
        qpci_io_writeb(card->pci, card->bar[bar], offset, value);
        return;
    case 2:
        qpci_io_writew(card->pci, card->bar[bar], offset, value);
        return;
    case 4:
        qpci_io_writel(card->pci, card->bar[bar], offset, value);
        return;
    }
    g_assert_not_reached();
}

uint8_t ctl_readb(Card *card, unsigned offset)
{
    return bar_read(card, 2, offset, 1);
}

uint32_t ctl_readl(Card *card, unsigned offset)
{
    return bar_read(card, 2, offset, 4);
}

void ctl_writeb(Card *card, unsigned offset, uint8_t value)
{
    bar_write(card, 2, offset, 1, value);
}

void ctl_writel(Card *card, unsigned offset, uint32_t value)
{
    bar_write(card, 2, offset, 4, value);
}

uint32_t ctl_wait(Card *card, unsigned offset, uint32_t mask, uint32_t want)
{
    gint64 end = g_get_monotonic_time() + WAIT_US;
    uint32_t value;

    while (((value = ctl_readl(card, offset)) & mask) != want) {
        if (g_get_monotonic_time() > end) {
            g_test_message("BAR2 register 0x%02x of node %u is 0x%08x and not "
                           "0x%x in 0x%x", offset, card->node, value, want,
                           mask);
            g_assert_cmphex(value & mask, ==, want);
        }
        g_usleep(200);
    }
    return value;
}

void lcsr1_set(Card *card, uint32_t bits)
{
    ctl_writel(card, LCSR1, ctl_readl(card, LCSR1) | bits);
}

void lcsr1_clear(Card *card, uint32_t bits)
{
    ctl_writel(card, LCSR1, ctl_readl(card, LCSR1) & ~bits);
}

/* --- memory --------------------------------------------------------------- */

void mem_write(Card *card, uint64_t offset, const void *data, size_t len)
{
    qpci_memwrite(card->pci, card->bar[3], offset, data, len);
}

void mem_read(Card *card, uint64_t offset, void *data, size_t len)
{
    qpci_memread(card->pci, card->bar[3], offset, data, len);
}

void mem_writel(Card *card, uint64_t offset, uint32_t value)
{
    qpci_io_writel(card->pci, card->bar[3], offset, value);
}

uint32_t mem_readl(Card *card, uint64_t offset)
{
    return qpci_io_readl(card->pci, card->bar[3], offset);
}

void mem_waitl(Card *card, uint64_t offset, uint32_t want)
{
    wait_until(mem_readl(card, offset) == want);
}

/* --- the network ---------------------------------------------------------- */

void nic_send(Card *card, uint8_t target, uint8_t code, uint32_t data)
{
    ctl_writel(card, NTD, data);
    ctl_writeb(card, NTN, target);
    ctl_writeb(card, NIC, code);
}

static uint32_t fifo_bit(int fifo)
{
    return fifo == 4 ? L_INT4 : 1u << (fifo - 1);
}

void fifo_expect(Card *card, int fifo, uint8_t sender, uint32_t data)
{
    ctl_wait(card, LISR, fifo_bit(fifo), fifo_bit(fifo));
    g_assert_cmphex(ctl_readl(card, ISD(fifo)), ==, data);
    g_assert_cmphex(ctl_readb(card, SID(fifo)), ==, sender);
}

static bool linti(Card *card)
{
    return bar_read(card, 0, INTCSR, 4) & LOCAL_INT_ACTIVE;
}

void latch_expect(Card *card, uint32_t lisr, uint32_t lcsr1)
{
    ctl_wait(card, LCSR1, lcsr1, lcsr1);

    /* LINTi shows it without a read of LISR. */
    ctl_writel(card, LIER, 0x3fff & ~lisr);
    ctl_writel(card, LISR, 0x3fff | GIE);
    g_assert_false(linti(card));
    ctl_writel(card, LIER, lisr);
    wait_until(linti(card));

    /* A 0 does not clear it before it was read, nor does a 0 in LCSR1. */
    ctl_writel(card, LISR, GIE);
    lcsr1_clear(card, lcsr1);
    g_assert_cmphex(ctl_readl(card, LCSR1) & lcsr1, ==, lcsr1);
    g_assert_true(linti(card));

    g_assert_cmphex(ctl_readl(card, LISR) & lisr, ==, lisr);
    ctl_writel(card, LISR, (0x3fff & ~lisr) | GIE);
    g_assert_cmphex(ctl_readl(card, LISR) & lisr, ==, 0);
    g_assert_cmphex(ctl_readl(card, LCSR1) & lcsr1, ==, 0);
    g_assert_false(linti(card));
    ctl_writel(card, LIER, 0);
    ctl_writel(card, LISR, 0x3fff);
}

void fence(Card *from, Card *to)
{
    static uint32_t ticket = 0xfe9ce000;

    nic_send(from, to->node, NIC_INT3, ++ticket);
    fifo_expect(to, 3, from->node, ticket);
}

static QDict *qom_get(Card *card, const char *name)
{
    g_autofree char *path = g_strdup_printf("/machine/peripheral/card%u",
                                            card->slot - FIRST_SLOT);

    return qtest_qmp(card->vm->qts, "{'execute': 'qom-get', 'arguments':"
                     " {'path': %s, 'property': %s}}", path, name);
}

uint64_t counter(Card *card, const char *name)
{
    QDict *reply = qom_get(card, name);
    uint64_t value = qdict_get_int(reply, "return");

    qobject_unref(reply);
    return value;
}

char *property(Card *card, const char *name)
{
    QDict *reply = qom_get(card, name);
    char *value = g_strdup(qdict_get_str(reply, "return"));

    qobject_unref(reply);
    return value;
}

/* --- INTx ----------------------------------------------------------------- */

#define PIIX_DEVFN  QPCI_DEVFN(1, 0)
#define PIIX_PIRQ   0x60
static const uint8_t pirq_to_isa[4] = { 5, 9, 10, 11 };

void intx_watch(Vm *vm)
{
    int i;

    for (i = 0; i < 4; i++) {
        vm->bus->config_writeb(vm->bus, PIIX_DEVFN, PIIX_PIRQ + i,
                               pirq_to_isa[i]);
    }
    qtest_irq_intercept_in(vm->qts, "ioapic");
}

bool intx_level(Card *card)
{
    /* INTA# of slot n is wired to PIRQ (n - 1) modulo 4 */
    return qtest_get_irq(card->vm->qts, pirq_to_isa[(card->slot - 1) & 3]);
}
