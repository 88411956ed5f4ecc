/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a driver does wrong, and what QEMU's log says of it. */
#include "qemu/osdep.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

#define LINES "rfm5565: node 0x07: "

typedef struct LogLab {
    Lab *lab;
    Card *card;
    unsigned lines;         /* in the log so far */
} LogLab;

/* A ring of one, whose machine tells what its driver does wrong. */
static LogLab log_lab(void)
{
    Lab *lab = lab_build(&(LabSpec){
        .options = { "node-id=7,memory-size=128M,window=2M" },
        .fibres = true,
        .machine = "-d guest_errors,unimp",
    });
    Card *card = &lab->card[0];

    ring_wait_closed(card, 1);
    block_map(card);
    bus_master(card, true);
    return (LogLab) { lab, card };
}

/* One more line is there, and no other line says the same. */
static void expect(LogLab *log, const char *text)
{
    log->lines++;
    wait_until(vm_errors(log->card->vm, LINES) >= log->lines);
    g_test_message("%s", text);
    g_assert_cmpuint(vm_errors(log->card->vm, LINES), ==, log->lines);
    g_assert_cmpuint(vm_errors(log->card->vm, text), ==, 1);
}

static void expect_nothing(LogLab *log)
{
    g_assert_cmpuint(vm_errors(log->card->vm, LINES), ==, log->lines);
}

/* --- the 5565 ------------------------------------------------------------- */

/* Old drivers do some of it, so those that do no harm are not even told. */
static void test_old_habits(void)
{
    LogLab log = log_lab();
    Card *card = log.card;

    ctl_readl(card, LCSR1);
    ctl_writeb(card, SID(1), 0);
    ctl_writel(card, LISR, 0xffff);
    bar_read(card, 2, NID, 4);
    nic_send(card, 7, NIC_PROBE, 0);
    bar_write(card, 0, LAS1BA, 4, 0x00200001);
    bar_write(card, 0, DMASIZ0, 4, 0);
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_START);
    bar_write(card, 0, DMACSR0, 1, DMA_ENABLE | DMA_CLEAR);
    dma_run(card, &(Transfer){ TO_CARD, BUFFER, 0, 4096 });
    dma_descriptor(log.lab->vm, 0, BUFFER, 4096, LAST);
    dma_run(card, &(Transfer){ TO_HOST, 0, 0, 4096, DESCRIPTOR(0) });
    expect_nothing(&log);

    bar_read(card, 0, LBRD0, 4);
    expect(&log, "BAR0 has no register for a read of 4 bytes at 0x18");
    bar_write(card, 2, 0x0c, 1, 0);
    expect(&log, "BAR2 has no register for a write of 1 bytes at 0xc");
    lab_stop(log.lab);
}

static void test_window(void)
{
    LogLab log = log_lab();

    bar_write(log.card, 0, LAS1BA, 4, 0x00300001);
    expect(&log, "LAS1BA cannot be 0x300001, a window has 0x200000 bytes");
    bar_write(log.card, 0, LAS1BA, 4, 0x08000001);
    expect(&log, "LAS1BA cannot be 0x8000001, a window has 0x200000 bytes");
    lab_stop(log.lab);
}

static void test_dma(void)
{
    LogLab log = log_lab();
    Card *card = log.card;
    Vm *vm = log.lab->vm;

    bar_write(card, 0, DMACSR0, 1, DMA_START);
    expect(&log, "DMA start without the enable bit");
    dma_fail(card, &(Transfer){ TO_CARD, BUFFER, 128 * MIB - 8, 16 });
    expect(&log, "DMA of 0x10 bytes at 0x7fffff8, past the memory");
    dma_fail(card, &(Transfer){ TO_CARD, NO_MEMORY, 0, 16 });
    expect(&log, "DMA was aborted at 0x20000000");
    dma_fail(card, &(Transfer){ TO_HOST, card->bar[2].addr, 0, 16 });
    expect(&log, "DMA was aborted at 0x4");

    dma_descriptor(vm, 0, BUFFER + 4, 64, LAST);
    dma_fail(card, &(Transfer){ TO_CARD, 0, 0, 64, DESCRIPTOR(0) });
    expect(&log, "DMA descriptor of 0x40 bytes at 0x400004");
    dma_descriptor(vm, 0, BUFFER, 64, DESCRIPTOR(1) + 8);
    dma_fail(card, &(Transfer){ TO_CARD, 0, 0, 128, DESCRIPTOR(0) });
    expect(&log, "no DMA descriptor can be at 0x300018");

    bus_master(card, false);
    dma_start(card, &(Transfer){ TO_CARD, BUFFER, 0, 16 });
    expect(&log, "DMA waits, as the card is no bus master");
    lab_stop(log.lab);
}

/* --- the extension block -------------------------------------------------- */

static void test_extension_registers(void)
{
    LogLab log = log_lab();
    Card *card = log.card;

    ext_readl(card, X_ID);
    ext_readl(card, X_CLOCK + 4);
    ext_writel(card, X_COUNT, 0xffff);
    expect_nothing(&log);
    bar_read(card, 4, X_ID, 2);
    expect(&log, "BAR4 has no register for a read of 2 bytes at 0x0");
    ext_readq(card, X_FEATURES);
    expect(&log, "BAR4 has no register for a read of 8 bytes at 0x8");
    ext_writel(card, X_DOMAIN + 4, 0);
    expect(&log, "BAR4 has no register for a write of 4 bytes at 0x1c");
    ext_writel(card, X_COUNT, 0x10000);
    expect(&log, "MODERATION_COUNT of 65536 has more than 16 bits");
    lab_stop(log.lab);
}

static void test_extension_events(void)
{
    LogLab log = log_lab();
    Card *card = log.card;
    Events events;

    events_start(&events, card, RING_AT, 4, 1u << R_FENCE);
    ext_writel(card, X_FENCE, 0);
    events_next(&events, R_FENCE);
    expect_nothing(&log);
    ext_writel(card, X_CONSUMER, 2);
    expect(&log, "CONSUMER of 2, there were 1 records");
    events_stop(&events);

    ext_writeq(card, X_BASE, RING_AT + 8);
    ext_writel(card, X_EVENTS, 1);
    expect(&log, "no event ring can be at 0x200008, of 2^4 records");
    ext_writel(card, X_EVENTS, 0);
    ext_writeq(card, X_BASE, NO_MEMORY);
    ext_writel(card, X_EVENTS, 1);
    ext_writel(card, X_FENCE, 0);
    expect(&log, "no event can be written to the ring at 0x20000000");
    lab_stop(log.lab);
}

static void test_extension_ranges(void)
{
    LogLab log = log_lab();
    Card *card = log.card;

    plane_set(card, 0, GRANULE, WATCH | ON);
    slot_arm(card, 63, CHANGED, &(SlotSetting){ 0, 4, 1 });
    ext_writel(card, X_QUERY_LENGTH, 1);
    ext_writel(card, X_QUERY, 0);
    ext_writel(card, X_QUERY, 0);           /* too early: it is not begun */
    g_assert_cmpuint(ext_readl(card, X_QUERY), ==, 1);
    expect_nothing(&log);

    ext_writel(card, X_FENCE, 0);
    wait_until(ext_readl(card, X_FENCE_DONE) == 1);
    ext_writel(card, X_QUERY_OFFSET, 128 * MIB);
    ext_writel(card, X_QUERY, 0);
    expect(&log, "a query of 0x1 bytes at 0x8000000");

    ext_writel(card, X_COMMAND, 0xf);
    expect(&log, "RANGE_COMMAND of 0xf");
    ext_writel(card, X_OFFSET, 1);
    ext_writel(card, X_COMMAND, WATCH | ON);
    expect(&log, "no granules are 0x40 bytes at 0x1");

    ext_writel(card, X_SLOT, 256);
    expect(&log, "there is no slot 256");
    g_assert_cmphex(slot_arm(card, 3, TIMER, &(SlotSetting){}), ==, SLOT_BAD);
    expect(&log, "slot 3 cannot have mode 4 as it is set");
    lab_stop(log.lab);
}

void rfm5565_add_guest_error_tests(void)
{
    lab_add_test("guest-errors/old-habits", test_old_habits);
    lab_add_test("guest-errors/window", test_window);
    lab_add_test("guest-errors/dma", test_dma);
    lab_add_test("guest-errors/registers", test_extension_registers);
    lab_add_test("guest-errors/events", test_extension_events);
    lab_add_test("guest-errors/ranges", test_extension_ranges);
}
