// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters and the ring map of the extension block, all of one instant. */

#include "qemu/osdep.h"
#include "rfm5565.h"

#define STAT(member) offsetof(struct rfm_node_stats, member)

/* Those that the node keeps. */
static const size_t node_counters[] = {
    [RFM_COUNTER_STORES]        = STAT(stores),
    [RFM_COUNTER_SENT]          = STAT(sent),
    [RFM_COUNTER_HOME]          = STAT(home),
    [RFM_COUNTER_LOST]          = STAT(lost),
    [RFM_COUNTER_DARK]          = STAT(dark),
    [RFM_COUNTER_FULL]          = STAT(full),
    [RFM_COUNTER_RECEIVED]      = STAT(received),
    [RFM_COUNTER_FORWARDED]     = STAT(forwarded),
    [RFM_COUNTER_UNSENDABLE]    = STAT(unsendable),
    [RFM_COUNTER_OVERRUN]       = STAT(overrun),
    [RFM_COUNTER_MISSED]        = STAT(missed),
    [RFM_COUNTER_LATE]          = STAT(late),
    [RFM_COUNTER_COPIES]        = STAT(copies),
    [RFM_COUNTER_BEYOND]        = STAT(beyond),
    [RFM_COUNTER_BAD]           = STAT(bad),
    [RFM_COUNTER_HOP_LIMIT]     = STAT(hop_limit),
    [RFM_COUNTER_ROGUE]         = STAT(rogue),
    [RFM_COUNTER_MIXED]         = STAT(mixed),
    [RFM_COUNTER_HELD_LOST]     = STAT(held_lost),
    [RFM_COUNTER_SENT_BYTES]    = STAT(sent_bytes),
    [RFM_COUNTER_RECEIVED_BYTES] = STAT(received_bytes),
    [RFM_COUNTER_FORWARDED_BYTES] = STAT(forwarded_bytes),
};

static void count(Rfm5565State *s, uint64_t *counter)
{
    const struct rfm_node *node = &s->node;
    const struct rfm_node_stats stats = rfm_node_read_stats(node);

    for (size_t i = 0; i < ARRAY_SIZE(node_counters); i++) {
        counter[i] = *(uint64_t *)((char *)&stats + node_counters[i]);
    }
    counter[RFM_COUNTER_FILTERED_RX] = s->ext.filtered_rx;
    counter[RFM_COUNTER_FILTERED_TX] = s->ext.filtered_tx;
    counter[RFM_COUNTER_WINDOW] = node->seq - node->home_seq;
    counter[RFM_COUNTER_WINDOW_PEAK] = stats.window_peak;
    counter[RFM_COUNTER_TX] = rfm_fifo_used(&node->transmit);
    counter[RFM_COUNTER_TX_PEAK] = stats.tx_peak;
    counter[RFM_COUNTER_INSERT] = rfm_insert_used(&node->insert);
    counter[RFM_COUNTER_INSERT_PEAK] = stats.insert_peak;
    counter[RFM_COUNTER_STALL_US] = s->longest_stall_us;
    counter[RFM_COUNTER_INTERRUPTS_DROPPED] = s->fifo_dropped;
    counter[RFM_COUNTER_EVENTS] = s->ext.events;
    counter[RFM_COUNTER_EVENTS_DROPPED] = s->ext.events_dropped;
    counter[RFM_COUNTER_CONFLICTS] = s->ext.conflicts;
    counter[RFM_COUNTER_BREAKS] = s->breaks;
    counter[RFM_COUNTER_EPOCH] = node->epoch;
    counter[RFM_COUNTER_TURN_NS] = node->turn_ns;
}

static void map_node(const Rfm5565State *s, unsigned id, Rfm5565NodeView *view)
{
    const struct rfm_source *source = &s->node.sources[id];

    *view = (Rfm5565NodeView) {
        .state = source->hubs << RFM_NODE_STATE_HUBS_SHIFT |
                 (source->hops & RFM_NODE_STATE_HOPS_M),
        .domain = source->clock_domain,
        .transit_ns = source->transit_ns,
        .received = source->received,
        .missed = source->missed,
    };
    if (source->present) {
        view->state |= RFM_NODE_STATE_PRESENT;
    }
    if (source->paused) {
        view->state |= RFM_NODE_STATE_PAUSED;
    }
}

/* --- when the counters changed -------------------------------------------- */

/* A state was loaded: what it has counted was counted elsewhere. */
void rfm5565_counters_loaded(Rfm5565State *s)
{
    count(s, s->ext.counted);
    memset(s->ext.counted_at, 0, sizeof(s->ext.counted_at));
}

/* With each tick of the engine, and before a snapshot. Under the lock. */
void rfm5565_counters_watch(Rfm5565State *s, uint64_t now)
{
    uint64_t counter[RFM_COUNTERS];

    count(s, counter);
    for (unsigned i = 0; i < RFM_COUNTERS; i++) {
        if (counter[i] != s->ext.counted[i]) {
            s->ext.counted[i] = counter[i];
            s->ext.counted_at[i] = now;
        }
    }
}

/* --- all of one instant --------------------------------------------------- */

/* Under both locks. */
void rfm5565_snapshot(Rfm5565State *s)
{
    Rfm5565NodeView *own = &s->ext.nodes[s->node_id];

    QEMU_BUILD_BUG_ON(sizeof(*own) != RFM_EXT_NODE(1) - RFM_EXT_NODE(0));
    rfm5565_counters_watch(s, rfm5565_now());
    memcpy(s->ext.counters, s->ext.counted, sizeof(s->ext.counters));
    memcpy(s->ext.counter_times, s->ext.counted_at,
           sizeof(s->ext.counter_times));
    for (unsigned id = 0; id < RFM_RING_NODES; id++) {
        map_node(s, id, &s->ext.nodes[id]);
        s->ext.node_times[id] = (Rfm5565NodeTimes) {
            .heard = s->node.sources[id].heard,
            .broke = s->node.sources[id].broke,
        };
    }
    /* A node is a member of its own ring, unless it had to leave. */
    *own = (Rfm5565NodeView) {
        .state = s->node.left ? 0 : RFM_NODE_STATE_PRESENT,
        .domain = s->node.config.clock_domain,
    };
}
