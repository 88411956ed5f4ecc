/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bench for the extension block; see rfm5565-block.h. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-block.h"

/* --- registers ------------------------------------------------------------ */

void block_map(Card *card)
{
    card->bar[4] = qpci_iomap(card->pci, 4, &card->size[4]);
    g_assert_cmphex(card->size[4], ==, 0x10000);
}

uint32_t ext_readl(Card *card, unsigned offset)
{
    return qpci_io_readl(card->pci, card->bar[4], offset);
}

uint64_t ext_readq(Card *card, unsigned offset)
{
    return qpci_io_readq(card->pci, card->bar[4], offset);
}

void ext_writel(Card *card, unsigned offset, uint32_t value)
{
    qpci_io_writel(card->pci, card->bar[4], offset, value);
}

void ext_writeq(Card *card, unsigned offset, uint64_t value)
{
    qpci_io_writeq(card->pci, card->bar[4], offset, value);
}

Lab *block_ring(const char *options0, const char *options1)
{
    Lab *lab = lab_ring(options0, options1);

    for (unsigned i = 0; i < lab->cards; i++) {
        block_map(&lab->card[i]);
    }
    return lab;
}

PeerLab *block_peer(const char *options)
{
    PeerLab *lab = peer_lab(options);

    block_map(&lab->card);
    return lab;
}

void plane_set(Card *card, uint32_t offset, uint32_t length, uint32_t command)
{
    ext_writel(card, X_OFFSET, offset);
    ext_writel(card, X_LENGTH, length);
    ext_writel(card, X_COMMAND, command);
    g_assert_cmphex(ext_readl(card, X_COMMAND), ==, 0);
}

uint32_t slot_arm(Card *card, unsigned slot, uint32_t mode,
                  const SlotSetting *setting)
{
    ext_writel(card, X_SLOT, slot);
    ext_writel(card, X_SLOT_OFFSET, setting->offset);
    ext_writel(card, X_SLOT_LENGTH, setting->length);
    ext_writeq(card, X_SLOT_MASK, setting->mask);
    ext_writeq(card, X_SLOT_VALUE, setting->value);
    ext_writeq(card, X_SLOT_SILENCE, setting->silence);
    ext_writel(card, X_SLOT_CONTROL, mode);
    return ext_readl(card, X_SLOT_CONTROL);
}

uint32_t slot_control(Card *card, unsigned slot)
{
    ext_writel(card, X_SLOT, slot);
    return ext_readl(card, X_SLOT_CONTROL);
}

void peer_data(PeerLab *lab, uint64_t seq, uint32_t address, const void *data,
               size_t len)
{
    PeerFrame frame = {
        .source = PEER_NODE, .seq = seq, .address = address, .len = len,
    };
    uint8_t wire[PEER_FRAME];

    memcpy(frame.data, data, len);
    peer_send(lab->peer.upstream, wire, peer_frame(wire, &frame));
}

/* --- the event ring ------------------------------------------------------- */

void events_start(Events *events, Card *card, uint64_t base, unsigned size,
                  uint32_t types)
{
    *events = (Events) { .card = card, .base = base, .records = 1u << size };
    qtest_memset(card->vm->qts, base, 0, (size_t)RECORD << size);
    ext_writeq(card, X_BASE, base);
    ext_writel(card, X_SIZE, size);
    ext_writel(card, X_TYPES, types);
    plane_set(card, MARK, GRANULE, WATCH | ON);
    ext_writel(card, X_EVENTS, 1);
    g_assert_cmphex(ext_readl(card, X_STATUS), ==, RUNNING);
}

void events_stop(Events *events)
{
    ext_writel(events->card, X_EVENTS, 0);
    g_assert_cmphex(ext_readl(events->card, X_STATUS), ==, 0);
}

static uint64_t next_place(const Events *events)
{
    return events->base + (uint64_t)RECORD * (events->taken % events->records);
}

bool events_ready(Events *events)
{
    uint8_t wire[4];

    qtest_memread(events->card->vm->qts, next_place(events), wire, 4);
    return ldl_le_p(wire) == events->taken + 1;
}

static Record parse(const uint8_t *wire)
{
    Record record = {
        .index = ldl_le_p(wire), .type = wire[4], .flags = wire[5],
        .node = lduw_le_p(wire + 6), .event = ldq_le_p(wire + 8),
        .offset = ldl_le_p(wire + 16), .length = ldl_le_p(wire + 20),
        .value = ldl_le_p(wire + 24),
        .seq = ldq_le_p(wire + 32), .origin = ldq_le_p(wire + 40),
        .arrival = ldq_le_p(wire + 48), .age = ldq_le_p(wire + 56),
    };

    g_assert_cmphex(ldl_le_p(wire + 28), ==, 0);
    memcpy(record.data, wire + 64, sizeof(record.data));
    return record;
}

Record events_peek(Events *events, unsigned type)
{
    uint8_t wire[RECORD];
    Record record;

    wait_until(events_ready(events));
    qtest_memread(events->card->vm->qts, next_place(events), wire, RECORD);
    record = parse(wire);
    g_assert_cmpuint(record.type, ==, type);
    events->taken++;
    return record;
}

void events_consume(Events *events)
{
    ext_writel(events->card, X_CONSUMER, events->taken);
}

Record events_next(Events *events, unsigned type)
{
    Record record = events_peek(events, type);

    events_consume(events);
    return record;
}

void events_expect_member(Events *events, uint32_t epoch)
{
    Record record = events_next(events, R_MEMBERSHIP);

    g_assert_cmpuint(record.node, ==, NOBODY);
    g_assert_cmpuint(record.value, ==, epoch + 1);
    g_assert_cmpuint(ext_readl(events->card, X_EPOCH), ==, epoch + 1);
}

void events_expect_none(Events *events, Card *from)
{
    static uint32_t mark;
    Record record;

    mem_writel(from, MARK, ++mark);
    record = events_next(events, R_UPDATE);
    g_assert_cmphex(record.offset, ==, MARK);
    g_assert_cmphex(record_word(&record), ==, mark);
}

uint32_t record_word(const Record *record)
{
    return ldl_le_p(record->data);
}

void record_expect_data(const Record *record, uint32_t offset,
                        const void *data, uint32_t len)
{
    static const uint8_t zeroes[64];

    g_assert_cmphex(record->offset, ==, offset);
    g_assert_cmpuint(record->length, ==, len);
    g_assert_cmpmem(record->data, len, data, len);
    g_assert_cmpmem(record->data + len, 64 - len, zeroes, 64 - len);
}
