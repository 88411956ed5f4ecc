/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bench for operations at one node; see rfm5565-asker.h. */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-asker.h"
#include "rfm5565-dma.h"

#define PAGE 4096u

/* --- the ring ------------------------------------------------------------- */

uint32_t node_state(Card *card, uint8_t node)
{
    ext_writel(card, X_SNAPSHOT, 0);
    return ext_readl(card, X_NODES + 32 * node);
}

void table_start(Card *card)
{
    qtest_memset(card->vm->qts, TABLE_OF(card), 0, REQUESTS * REQUEST_SIZE);
    ext_writeq(card, X_TABLE, TABLE_OF(card));
    ext_writel(card, X_REQUESTS, 1);
    g_assert_cmphex(ext_readl(card, X_REQUEST_STATUS), ==, 1);
}

/* Nodes that meet before either has sent anything have missed nothing. */
Lab *asker_ring(const char *options0, const char *options1)
{
    Lab *lab = lab_build(&(LabSpec){ .options = { options0, options1 },
                                     .fibres = true });

    for (unsigned i = 0; i < 2; i++) {
        block_map(&lab->card[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        wait_until(node_state(&lab->card[i], lab->card[!i].node) &
                   NODE_PRESENT);
    }
    ring_wait_closed(lab->card, 2);
    for (unsigned i = 0; i < 2; i++) {
        g_assert_cmphex(node_state(&lab->card[i], lab->card[i].node) &
                        NODE_INCOMPLETE, ==, 0);
        table_start(&lab->card[i]);
    }
    return lab;
}

/* --- data ----------------------------------------------------------------- */

static uint64_t page_of(uint64_t at, unsigned page)
{
    return page ? (at & ~(PAGE - 1ull)) + 2ull * PAGE * page : at;
}

static void data_move(Vm *vm, uint64_t at, uint8_t *data, size_t len, bool put)
{
    unsigned page = 0;

    while (len) {
        uint64_t from = page_of(at, page++);
        size_t piece = MIN(len, PAGE - from % PAGE);

        if (put) {
            qtest_memwrite(vm->qts, from, data, piece);
        } else {
            qtest_memread(vm->qts, from, data, piece);
        }
        data += piece;
        len -= piece;
    }
}

void data_put(Vm *vm, uint64_t at, const void *data, size_t len)
{
    data_move(vm, at, (uint8_t *)data, len, true);
}

void data_get(Vm *vm, uint64_t at, void *data, size_t len)
{
    data_move(vm, at, data, len, false);
}

void data_expect(Vm *vm, uint64_t at, const void *data, size_t len)
{
    g_autofree uint8_t *got = g_malloc(len);

    data_get(vm, at, got, len);
    g_assert_cmpmem(got, len, data, len);
}

/* --- requests ------------------------------------------------------------- */

static uint64_t slot_at(Card *card, unsigned slot)
{
    return TABLE_OF(card) + REQUEST_SIZE * slot;
}

static void put_list(Card *card, unsigned slot, const Request *request)
{
    unsigned count = DIV_ROUND_UP(request->data % PAGE + request->length, PAGE);
    g_autofree uint64_t *list = g_new(uint64_t, count);

    for (unsigned i = 0; i < count; i++) {
        list[i] = cpu_to_le64(page_of(request->data, i));
    }
    qtest_memwrite(card->vm->qts, LIST_AT(card, slot), list, 8 * count);
}

void request_put(Card *card, unsigned slot, const Request *request)
{
    uint64_t list = request->list ?: request->data ? LIST_AT(card, slot) : 0;
    uint8_t wire[REQUEST_SIZE] = {
        request->op, request->node, request->width, request->flags,
    };

    if (request->data && request->length <= 2 * REQUEST_MAX) {
        put_list(card, slot, request);
    }
    stl_le_p(wire + 4, request->key);
    stq_le_p(wire + 8, request->offset);
    stq_le_p(wire + 16, list);
    stl_le_p(wire + 24, request->length);
    stq_le_p(wire + 32, request->compare);
    stq_le_p(wire + 40, request->value);
    stq_le_p(wire + 56, request->reserved);
    qtest_memwrite(card->vm->qts, slot_at(card, slot), wire, sizeof(wire));
}

void request_begin(Card *card, unsigned slot, const Request *request)
{
    request_put(card, slot, request);
    ext_writel(card, X_BEGIN, slot);
}

uint32_t request_status(Card *card, unsigned slot)
{
    return qtest_readl(card->vm->qts, slot_at(card, slot) + 28);
}

uint32_t request_end(Card *card, unsigned slot)
{
    uint32_t status;

    wait_until((status = request_status(card, slot)));
    g_assert_cmphex(status & 0xffffff00, ==, 0x80000000);
    return status & 0xff;
}

uint32_t request_run(Card *card, const Request *request)
{
    request_begin(card, 0, request);
    return request_end(card, 0);
}

uint64_t request_old(Card *card, unsigned slot)
{
    return qtest_readq(card->vm->qts, slot_at(card, slot) + 48);
}

uint8_t request_node(Card *card, unsigned slot)
{
    return qtest_readb(card->vm->qts, slot_at(card, slot) + 1);
}
