/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The extension block: its interrupts, by INTA# and by MSI-X. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "rfm5565-block.h"
#include "rfm5565-dma.h"

#define AT      0x8000          /* a granule that b watches */
#define MS      1000000ull
#define ALL     ((1u << VECTORS) - 1)

/* Two cards; b has a ring for @types beside the data of AT. */
static Lab *vector_ring(Events *events, uint32_t types)
{
    Lab *lab = block_ring("node-id=7,packing=off", "node-id=9");

    plane_set(&lab->card[1], AT, GRANULE, WATCH | ON);
    events_start(events, &lab->card[1], RING_AT, 8, T_DATA | types);
    return lab;
}

/* --- INTA# ---------------------------------------------------------------- */

/* A cause sets its bit; the line is STATUS and ENABLE, if INTCSR[8] lets it. */
static void test_intx(void)
{
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];

    intx_watch(lab->vm);
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);
    mem_writel(a, AT, 1);
    wait_until(ext_readl(b, X_INT_STATUS) == 1u << V_EVENTS);
    g_assert_false(intx_level(b));
    ext_writel(b, X_INT_ENABLE, ALL & ~(1u << V_EVENTS));
    g_assert_false(intx_level(b));
    ext_writel(b, X_INT_ENABLE, 1u << V_EVENTS);
    g_assert_true(intx_level(b));
    bar_write(b, 0, INTCSR, 4, LOCAL_INT_ENABLE);
    g_assert_false(intx_level(b));
    bar_write(b, 0, INTCSR, 4, PCI_INT_ENABLE);
    g_assert_true(intx_level(b));
    ext_writel(b, X_INT_STATUS, ~(1u << V_EVENTS));
    g_assert_true(intx_level(b));
    ext_writel(b, X_INT_STATUS, 1u << V_EVENTS);
    g_assert_false(intx_level(b));
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);

    mem_writel(a, AT, 2);
    wait_until(intx_level(b));
    ext_writel(b, X_INT_ENABLE, 0);
    g_assert_false(intx_level(b));
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 1u << V_EVENTS);
    g_assert_false(intx_level(a));
    lab_stop(lab);
}

/* Which record is which cause */
static void test_causes(void)
{
    const uint32_t link = 1u << V_LINK | 1u << V_EVENTS;
    const uint32_t errors = 1u << V_ERRORS | 1u << V_EVENTS;
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint32_t epoch = ext_readl(card, X_EPOCH);
    uint8_t wire[PEER_FRAME];
    Events events;
    size_t len;

    events_start(&events, card, RING_AT, 4, 1u << R_MEMBERSHIP |
                 1u << R_LOSS | 1u << R_BAD_DATA | 1u << R_CONFLICT);
    peer_data(lab, 1, 0, "abcd", 4);
    events_expect_member(&events, epoch);
    wait_until(ext_readl(card, X_INT_STATUS) == link);
    ext_writel(card, X_INT_STATUS, link);
    peer_data(lab, 3, 0, "abcd", 4);
    events_next(&events, R_LOSS);
    wait_until(ext_readl(card, X_INT_STATUS) == errors);
    ext_writel(card, X_INT_STATUS, errors);
    len = peer_update(wire, PEER_NODE, 4, 0, 0, 1);
    wire[48] ^= 1;
    peer_send(lab->peer.upstream, wire, len);
    events_next(&events, R_BAD_DATA);
    wait_until(ext_readl(card, X_INT_STATUS) == errors);
    ext_writel(card, X_INT_STATUS, errors);
    plane_set(card, 0, GRANULE, OWNED | ON);
    peer_data(lab, 4, 0, "abcd", 4);
    events_next(&events, R_CONFLICT);
    wait_until(ext_readl(card, X_INT_STATUS) == 1u << V_EVENTS);
    peer_lab_stop(lab);
}

/* --- MSI-X ---------------------------------------------------------------- */

#define MESSAGE_AT      0x1f0000        /* a word for each vector */

static uint32_t message(Card *card, unsigned vector)
{
    return qtest_readl(card->vm->qts, MESSAGE_AT + 4 * vector);
}

static void message_clear(Card *card)
{
    qtest_memset(card->vm->qts, MESSAGE_AT, 0, 4 * VECTORS);
}

/* This vector has sent its message, and no other has. */
static void message_expect(Card *card, unsigned vector)
{
    wait_until(message(card, vector) == 0x4d000000 + vector);
    for (unsigned i = 0; i < VECTORS; i++) {
        g_assert_true(i == vector || message(card, i) == 0);
    }
    message_clear(card);
}

static unsigned msix_at(Card *card)
{
    unsigned at = qpci_find_capability(card->pci, PCI_CAP_ID_MSIX, 0);

    g_assert_cmpuint(at, !=, 0);
    return at;
}

static void msix_control(Card *card, uint16_t bits)
{
    unsigned at = msix_at(card) + PCI_MSIX_FLAGS;
    uint16_t size = qpci_config_readw(card->pci, at) & PCI_MSIX_FLAGS_QSIZE;

    qpci_config_writew(card->pci, at, size | bits);
}

static void msix_mask(Card *card, unsigned vector, bool mask)
{
    ext_writel(card, X_MSIX_TABLE + 16 * vector + 12, mask);
}

/* A message for each vector, into memory */
static void msix_start(Card *card)
{
    unsigned i;

    message_clear(card);
    msix_control(card, PCI_MSIX_FLAGS_ENABLE);
    for (i = 0; i < VECTORS; i++) {
        ext_writel(card, X_MSIX_TABLE + 16 * i, MESSAGE_AT + 4 * i);
        ext_writel(card, X_MSIX_TABLE + 16 * i + 4, 0);
        ext_writel(card, X_MSIX_TABLE + 16 * i + 8, 0x4d000000 + i);
        msix_mask(card, i, false);
    }
}

/* Each cause its message, and neither a status nor a line beside it */
static void test_msix(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint32_t epoch = ext_readl(card, X_EPOCH);
    Events events;

    intx_watch(lab->vm);
    msix_start(card);
    ext_writel(card, X_INT_ENABLE, 1u << V_LINK);
    events_start(&events, card, RING_AT, 4, T_DATA | 1u << R_MEMBERSHIP |
                 1u << R_LOSS);
    peer_data(lab, 1, 0, "abcd", 4);
    events_expect_member(&events, epoch);
    message_expect(card, V_LINK);
    ext_writel(card, X_INT_ENABLE, 1u << V_ERRORS);
    peer_data(lab, 3, 0, "abcd", 4);
    events_next(&events, R_LOSS);
    message_expect(card, V_ERRORS);

    ext_writel(card, X_INT_ENABLE, 1u << V_EVENTS);
    plane_set(card, AT, GRANULE, WATCH | ON);
    for (unsigned i = 4; i < 10; i++) {
        peer_data(lab, i, AT, "abcd", 4);
        events_next(&events, R_UPDATE);
        message_expect(card, V_EVENTS);
    }
    g_assert_cmphex(ext_readl(card, X_INT_STATUS), ==, 0);
    g_assert_false(intx_level(card));
    peer_lab_stop(lab);
}

/*
 * The end of a transfer: one message each time that INTCSR would have asserted
 * INTA#, whatever INT_ENABLE and the moderation say.
 */
static void test_dma(void)
{
    const uint32_t on = PCI_INT_ENABLE | DMA_INT_ENABLE;
    const Transfer block = { TO_CARD, BUFFER, 0, 64 };
    Lab *lab = block_ring("node-id=7", NULL);
    Card *card = &lab->card[0];

    bus_master(card, true);
    intx_watch(lab->vm);
    msix_start(card);
    ext_writel(card, X_TIME, 1000 * MS);
    bar_write(card, 0, INTCSR, 4, on);
    for (unsigned i = 0; i < 3; i++) {
        dma_start(card, &block);
        message_expect(card, V_DMA);
        dma_expect(card, true);
    }
    dma_start(card, &(Transfer){ TO_CARD, NO_MEMORY, 0, 64 });
    message_expect(card, V_DMA);
    dma_expect(card, false);

    /* A second end before the first was cleared is no other one. */
    dma_start(card, &block);
    message_expect(card, V_DMA);
    dma_start(card, &block);
    wait_until(counter(card, "dma-transfers") == 6);
    dma_expect(card, true);
    /* Not enabled it waits until it is. */
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE);
    dma_start(card, &block);
    wait_until(dma_is_done(card));
    ext_writel(card, X_INT_ENABLE, 1u << V_DMA);
    g_assert_cmpuint(counter(card, "dma-transfers"), ==, 7);
    g_assert_cmphex(message(card, V_DMA), ==, 0);
    bar_write(card, 0, INTCSR, 4, on);
    message_expect(card, V_DMA);
    g_assert_cmphex(ext_readl(card, X_INT_STATUS), ==, 0);
    g_assert_false(intx_level(card));
    msix_control(card, 0);
    g_assert_true(intx_level(card));
    dma_expect(card, true);
    g_assert_false(intx_level(card));
    lab_stop(lab);
}

/*
 * A cause that is not enabled is not told later, unless it is records that
 * wait unannounced.
 */
static void test_enabled_later(void)
{
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint32_t epoch = ext_readl(card, X_EPOCH);
    uint8_t wire[PEER_FRAME];
    Events events;
    size_t len;

    msix_start(card);
    events_start(&events, card, RING_AT, 4, T_DATA | 1u << R_MEMBERSHIP |
                 1u << R_LOSS);
    peer_data(lab, 1, 0, "abcd", 4);
    peer_data(lab, 3, 0, "abcd", 4);
    events_expect_member(&events, epoch);
    events_peek(&events, R_LOSS);
    ext_writel(card, X_INT_ENABLE, ALL);
    message_expect(card, V_EVENTS);

    /* Nor what was consumed */
    ext_writel(card, X_INT_ENABLE, 0);
    peer_data(lab, 5, 0, "abcd", 4);
    events_next(&events, R_LOSS);
    wait_until(ext_readl(card, X_PRODUCER) == events.taken);
    events_consume(&events);
    ext_writel(card, X_TYPES, 0);
    ext_writel(card, X_INT_ENABLE, ALL);
    ctl_writel(card, LIER, L_BAD_DATA);
    ctl_writel(card, LISR, GIE);
    bar_write(card, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    len = peer_update(wire, PEER_NODE, 6, 0, 0, 1);
    wire[48] ^= 1;
    peer_send(lab->peer.upstream, wire, len);
    message_expect(card, V_ERRORS);
    peer_lab_stop(lab);
}

/* Masked vectors wait in the pending bits. */
static void test_masked(void)
{
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];

    msix_start(b);
    ext_writel(b, X_INT_ENABLE, ALL);
    msix_mask(b, V_EVENTS, true);
    mem_writel(a, AT, 1);
    wait_until(ext_readl(b, X_MSIX_PBA) == 1u << V_EVENTS);
    g_assert_cmphex(message(b, V_EVENTS), ==, 0);
    msix_mask(b, V_EVENTS, false);
    message_expect(b, V_EVENTS);
    g_assert_cmphex(ext_readl(b, X_MSIX_PBA), ==, 0);

    msix_control(b, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
    mem_writel(a, AT, 2);
    wait_until(ext_readl(b, X_MSIX_PBA) == 1u << V_EVENTS);
    g_assert_cmphex(message(b, V_EVENTS), ==, 0);
    msix_control(b, PCI_MSIX_FLAGS_ENABLE);
    message_expect(b, V_EVENTS);

    /* Without MSI-X the same comes by STATUS. */
    msix_control(b, 0);
    mem_writel(a, AT, 3);
    wait_until(ext_readl(b, X_INT_STATUS) == 1u << V_EVENTS);
    g_assert_cmphex(message(b, V_EVENTS), ==, 0);
    lab_stop(lab);
}

/* A message that the guest has aimed at the card itself changes nothing. */
static void test_own_registers(void)
{
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];

    msix_start(b);
    ext_writel(b, X_MSIX_TABLE + 16 * V_EVENTS, b->bar[2].addr + NTD);
    ext_writel(b, X_INT_ENABLE, ALL);
    mem_writel(a, AT, 1);
    events_peek(&events, R_UPDATE);     /* record and message are of one turn */
    g_assert_cmphex(ctl_readl(b, NTD), ==, 0);
    lab_stop(lab);
}

/* What asserts INTA# on a 5565 is the message of ERRORS. */
static void test_base(void)
{
    Lab *lab = block_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];

    intx_watch(lab->vm);
    msix_start(b);
    ext_writel(b, X_INT_ENABLE, 1u << V_ERRORS);
    ctl_writel(b, LIER, L_INT1 | L_RESET);
    ctl_writel(b, LISR, GIE);
    bar_write(b, 0, INTCSR, 4, PCI_INT_ENABLE | LOCAL_INT_ENABLE);
    nic_send(a, 9, NIC_INT1, 0x111);
    message_expect(b, V_ERRORS);
    g_assert_false(intx_level(b));
    fifo_expect(b, 1, 7, 0x111);
    nic_send(a, 9, NIC_INT1, 0x112);    /* the FIFO was empty */
    message_expect(b, V_ERRORS);
    fifo_expect(b, 1, 7, 0x112);

    /* A latch that was seen and comes again before it is cleared */
    nic_send(a, 9, NIC_RESET, 0);
    message_expect(b, V_ERRORS);
    g_assert_cmphex(ctl_readl(b, LISR) & L_RESET, ==, L_RESET);
    nic_send(a, 9, NIC_RESET, 0);
    message_expect(b, V_ERRORS);
    ctl_writel(b, LISR, GIE);

    /* What LIER does not let through is none. */
    nic_send(a, 9, NIC_INT2, 0x222);
    fifo_expect(b, 2, 7, 0x222);
    /* One that came while the vector was off is told when it is on. */
    ext_writel(b, X_INT_ENABLE, 0);
    nic_send(a, 9, NIC_INT1, 0x113);
    ctl_wait(b, LISR, L_INT1, L_INT1);
    for (unsigned i = 0; i < VECTORS; i++) {
        g_assert_cmphex(message(b, i), ==, 0);
    }
    ext_writel(b, X_INT_ENABLE, 1u << V_ERRORS);
    message_expect(b, V_ERRORS);
    lab_stop(lab);
}

/* The ring's end is an error, told once. */
static void test_fault(void)
{
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];

    msix_start(b);
    ext_writel(b, X_INT_ENABLE, ALL);
    events_stop(&events);
    ext_writeq(b, X_BASE, RING_AT + 64);
    ext_writel(b, X_EVENTS, 1);
    message_expect(b, V_ERRORS);
    for (unsigned i = 0; i < 10; i++) {
        mem_writel(a, AT, i);
    }
    fence(a, b);
    wait_until(ext_readq(b, X_DROPPED) == 10);
    events_stop(&events);
    events_start(&events, b, RING_AT, 4, T_DATA);
    mem_writel(a, AT, 1);
    events_next(&events, R_UPDATE);
    message_expect(b, V_EVENTS);
    lab_stop(lab);
}

/*
 * What is pending, and what was not announced yet, is told where the machine
 * goes on.
 */
static void test_migration(void)
{
    LabSpec spec = { .options = { "node-id=7", "node-id=9" } };
    g_autofree char *file = lab_path("migration");
    Lab *source = lab_build(&spec), *target;
    Card *card = &source->card[0];
    Events events;

    block_map(card);
    msix_start(card);
    msix_mask(card, V_ERRORS, true);
    ext_writel(card, X_INT_ENABLE, 1u << V_ERRORS);
    ext_writeq(card, X_BASE, RING_AT + 64);
    ext_writel(card, X_EVENTS, 1);
    wait_until(ext_readl(card, X_MSIX_PBA) == 1u << V_ERRORS);
    ext_writel(card, X_EVENTS, 0);
    events_start(&events, card, RING_AT, 4, 1u << R_FENCE);
    ext_writel(card, X_FENCE, 0);       /* ends at once: there is no ring */
    events_peek(&events, R_FENCE);
    migrate_to_file(source->vm, file);

    target = lab_migrate(&spec, file, source->card);
    card = &target->card[0];
    g_assert_cmphex(ext_readl(card, X_MSIX_PBA), ==, 1u << V_ERRORS);
    msix_mask(card, V_ERRORS, false);
    message_expect(card, V_ERRORS);
    ext_writel(card, X_INT_ENABLE, 1u << V_EVENTS);
    message_expect(card, V_EVENTS);
    lab_stop(target);
    lab_stop(source);
}

/* --- moderation ----------------------------------------------------------- */

/* Wait for the interrupt, clear it; returns when it was seen. */
static uint64_t interrupt_wait(Card *card)
{
    wait_until(ext_readl(card, X_INT_STATUS));
    ext_writel(card, X_INT_STATUS, ~0u);
    return ext_readq(card, X_CLOCK);
}

/* COUNT records, or the oldest has waited for TIME */
static void test_moderation(void)
{
    const uint64_t time = 1000 * MS;
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t start, seen;
    unsigned i;

    ext_writel(b, X_TIME, time);
    ext_writel(b, X_COUNT, 4);
    g_assert_cmpuint(ext_readl(b, X_COUNT), ==, 4);

    /* One alone waits for TIME. */
    start = ext_readq(b, X_CLOCK);
    mem_writel(a, AT, 0);
    events_peek(&events, R_UPDATE);
    seen = interrupt_wait(b);
    g_assert_cmpuint(seen - start, >=, time);

    /* Four do not, but TIME has to pass between two interrupts. */
    for (i = 0; i < 8; i++) {
        mem_writel(a, AT, i);
        events_peek(&events, R_UPDATE);
    }
    seen = interrupt_wait(b);
    g_assert_cmpuint(seen - start, >=, 2 * time);
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);

    /* What is consumed before waits no more. */
    start = ext_readq(b, X_CLOCK);
    mem_writel(a, AT, 0);
    events_next(&events, R_UPDATE);
    wait_until(ext_readl(b, X_PRODUCER) == events.taken);
    events_consume(&events);
    wait_until(ext_readq(b, X_CLOCK) > start + time / 2);
    ext_writel(b, X_INT_STATUS, ~0u);   /* of a host that was too slow for it */
    start = ext_readq(b, X_CLOCK);
    mem_writel(a, AT, 0);
    seen = interrupt_wait(b);
    g_assert_cmpuint(seen - start, >=, time);
    lab_stop(lab);
}

/* By count, long before its time; and at once if there is no time */
static void test_moderation_count(void)
{
    const uint64_t time = 4000 * MS;
    Events events;
    Lab *lab = vector_ring(&events, 0);
    Card *a = &lab->card[0], *b = &lab->card[1];
    uint64_t start = ext_readq(b, X_CLOCK);
    unsigned i;

    ext_writel(b, X_TIME, time);
    ext_writel(b, X_COUNT, 5);
    for (i = 0; i < 4; i++) {
        mem_writel(a, AT, i);
        events_peek(&events, R_UPDATE);
    }
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);
    mem_writel(a, AT, 4);
    g_assert_cmpuint(interrupt_wait(b) - start, <, time);

    mem_writel(a, AT, 5);
    events_peek(&events, R_UPDATE);
    g_assert_cmphex(ext_readl(b, X_INT_STATUS), ==, 0);
    ext_writel(b, X_TIME, 0);
    g_assert_cmpuint(interrupt_wait(b) - start, <, time);
    ext_writel(b, X_COUNT, 0xffffffff);
    g_assert_cmpuint(ext_readl(b, X_COUNT), ==, 65535);
    mem_writel(a, AT, 6);
    interrupt_wait(b);
    lab_stop(lab);
}

static void send_bad(PeerLab *lab)
{
    uint8_t wire[PEER_FRAME];
    size_t len = peer_update(wire, PEER_NODE, 1, 0, 0, 1);

    wire[48] ^= 1;
    peer_send(lab->peer.upstream, wire, len);
}

/* A fibre that damages every frame interrupts no more often than it may. */
static void test_moderation_errors(void)
{
    const uint64_t time = 500 * MS;
    PeerLab *lab = block_peer("");
    Card *card = &lab->card;
    uint64_t start, seen;
    Events events;

    events_start(&events, card, RING_AT, 8, 1u << R_BAD_DATA);
    ext_writel(card, X_TIME, time);
    start = ext_readq(card, X_CLOCK);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 20; k++) {
            send_bad(lab);
            events_next(&events, R_BAD_DATA);
        }
        wait_until(ext_readl(card, X_INT_STATUS) & 1u << V_ERRORS);
        ext_writel(card, X_INT_STATUS, ~0u);
        seen = ext_readq(card, X_CLOCK);
        g_assert_cmpuint(seen - start, >=, i * time);
    }
    peer_lab_stop(lab);
}

void rfm5565_add_vector_tests(void)
{
    lab_add_test("vectors/intx", test_intx);
    lab_add_test("vectors/causes", test_causes);
    lab_add_test("vectors/msix", test_msix);
    lab_add_test("vectors/dma", test_dma);
    lab_add_test("vectors/enabled-later", test_enabled_later);
    lab_add_test("vectors/masked", test_masked);
    lab_add_test("vectors/own-registers", test_own_registers);
    lab_add_test("vectors/base", test_base);
    lab_add_test("vectors/fault", test_fault);
    lab_add_test("vectors/migration", test_migration);
    lab_add_test("vectors/moderation", test_moderation);
    lab_add_test("vectors/moderation-count", test_moderation_count);
    lab_add_test("vectors/moderation-errors", test_moderation_errors);
}
