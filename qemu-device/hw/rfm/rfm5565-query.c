// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queries: what stands in the memory of every node, as a checksum. The answers
 * are kept in registers, one set a node; a fence that the guest begins behind
 * the query tells it that all have come.
 *
 * All of it is under the card's lock.
 */

#include "qemu/osdep.h"
#include "rfm5565.h"
#include "trace.h"

/* The upper half tells queries of before a reset from those of after it. */
static uint64_t ticket_of(const Rfm5565Ext *ext, uint32_t query)
{
    return (uint64_t)ext->reset_generation << 32 | query;
}

static void keep(Rfm5565Ext *ext, uint8_t from, const struct rfm_answer *answer)
{
    ext->answered[from / 32] |= 1u << from % 32;
    ext->answers[from] = (Rfm5565Answer) {
        .crc = answer->crc,
        .state = answer->bytes | (answer->paused ? RFM_ANSWER_PAUSED : 0),
        .first = ldq_le_p(answer->first),
    };
}

/* Has the fence come that ends the last one? */
static bool is_over(const Rfm5565Ext *ext)
{
    return (int32_t)(ext->fence_done - ext->query_fence) >= 0;
}

/* Also under the BQL: stores come from there. */
void rfm5565_query_begin(Rfm5565State *s)
{
    Rfm5565Ext *ext = &s->ext;
    uint32_t offset = ext->query_offset, length = ext->query_length;
    struct rfm_answer own;

    if (!is_over(ext)) {
        return;
    }
    if (!length || length > RFM_EXT_QUERY_LENGTH_MAX ||
        offset >= s->memory_size || length > s->memory_size - offset) {
        rfm5565_guest_error(s, "a query of 0x%x bytes at 0x%x", length, offset);
        return;
    }
    /* Nobody can have answered yet: we have the lock. */
    if (!rfm_node_query(&s->node, ticket_of(ext, ext->queries + 1), offset,
                        length, rfm5565_now())) {
        return;
    }
    trace_rfm5565_query(s->node_id, offset, length);
    memset(ext->answered, 0, sizeof(ext->answered));
    memset(ext->answers, 0, sizeof(ext->answers));
    ext->queries++;
    ext->query_fence = ext->fence_ticket + 1;
    rfm_node_digest(&s->node, offset, length, &own);
    keep(ext, s->node_id, &own);
}

/* In the engine's context. An answer to an earlier query is nobody's. */
void rfm5565_query_answered(Rfm5565State *s, uint8_t from,
                            const struct rfm_answer *answer)
{
    trace_rfm5565_answer(s->node_id, from, answer->crc, answer->bytes);
    if (answer->ticket == ticket_of(&s->ext, s->ext.queries)) {
        keep(&s->ext, from, answer);
    }
}
