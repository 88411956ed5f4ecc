// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the card counts: as properties for the user, and as the snapshot of the
 * extension block, with the ring map, for the guest.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qapi/visitor.h"
#include "rfm5565.h"

/* Behind those of the snapshot: what only the user sees */
enum {
    COUNTER_RX_REFUSED = RFM_COUNTERS,
    COUNTER_TX_REFUSED,
    COUNTER_DMA_TRANSFERS,
    COUNTER_DMA_ERRORS,
    COUNTER_DMA_BYTES,
    COUNTER_BREAK_AT,
    COUNTER_ETHER_SENT,
    COUNTER_ETHER_LOST,
    COUNTER_ETHER_DARK,
    COUNTER_ETHER_UNFIT,
    COUNTER_ETHER_RECEIVED,
    COUNTER_ETHER_REFUSED,
    COUNTER_ETHER_BROKEN,
    COUNTERS
};

/* Under the lock. */
static void count(const Rfm5565State *s, uint64_t counter[COUNTERS])
{
    const struct rfm_node *node = &s->node;
    const struct rfm_node_stats stats = rfm_node_read_stats(node);
    const struct rfm_ether_stats *ether = &s->net.ether.stats;

    counter[RFM_COUNTER_STORES] = stats.stores;
    counter[RFM_COUNTER_SENT] = stats.sent;
    counter[RFM_COUNTER_HOME] = stats.home;
    counter[RFM_COUNTER_LOST] = stats.lost;
    counter[RFM_COUNTER_DARK] = stats.dark;
    counter[RFM_COUNTER_FULL] = stats.full;
    counter[RFM_COUNTER_RECEIVED] = stats.received;
    counter[RFM_COUNTER_FORWARDED] = stats.forwarded;
    counter[RFM_COUNTER_UNSENDABLE] = stats.unsendable;
    counter[RFM_COUNTER_OVERRUN] = stats.overrun;
    counter[RFM_COUNTER_MISSED] = stats.missed;
    counter[RFM_COUNTER_LATE] = stats.late;
    counter[RFM_COUNTER_COPIES] = stats.copies;
    counter[RFM_COUNTER_BEYOND] = stats.beyond;
    counter[RFM_COUNTER_BAD] = stats.bad;
    counter[RFM_COUNTER_HOP_LIMIT] = stats.hop_limit;
    counter[RFM_COUNTER_ROGUE] = stats.rogue;
    counter[RFM_COUNTER_MIXED] = stats.mixed;
    counter[RFM_COUNTER_HELD_LOST] = stats.held_lost;
    counter[RFM_COUNTER_SENT_BYTES] = stats.sent_bytes;
    counter[RFM_COUNTER_RECEIVED_BYTES] = stats.received_bytes;
    counter[RFM_COUNTER_FORWARDED_BYTES] = stats.forwarded_bytes;
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
    rfm5565_remote_count(s, counter);
    counter[RFM_COUNTER_BURST_SCANS] = s->burst.scans;
    counter[RFM_COUNTER_BURST_BYTES] = s->burst.bytes;
    counter[RFM_COUNTER_BURST_LATE] = s->burst.late;
    counter[COUNTER_RX_REFUSED] = s->rx.refused;
    counter[COUNTER_TX_REFUSED] = s->tx.refused;
    counter[COUNTER_DMA_TRANSFERS] = s->dma.transfers;
    counter[COUNTER_DMA_ERRORS] = s->dma.errors;
    counter[COUNTER_DMA_BYTES] = s->dma.bytes;
    counter[COUNTER_BREAK_AT] = node->break_at;
    counter[COUNTER_ETHER_SENT] = ether->sent;
    counter[COUNTER_ETHER_LOST] = ether->lost;
    counter[COUNTER_ETHER_DARK] = ether->dark;
    counter[COUNTER_ETHER_UNFIT] = ether->unfit;
    counter[COUNTER_ETHER_RECEIVED] = ether->received;
    counter[COUNTER_ETHER_REFUSED] = ether->refused;
    counter[COUNTER_ETHER_BROKEN] = ether->broken;
}

/* --- properties ----------------------------------------------------------- */

static const struct {
    const char *name;       /* NULL: no property */
    const char *text;
} counter_properties[COUNTERS] = {
    [RFM_COUNTER_STORES] = { "stores",
      "stores and network interrupts asked for" },
    [RFM_COUNTER_SENT] = { "frames-sent",
      "own frames given a number" },
    [RFM_COUNTER_HOME] = { "frames-home",
      "of these, came back" },
    [RFM_COUNTER_LOST] = { "frames-lost",
      "of these, did not come back although a later one did, or came back "
      "from a node that never stores them" },
    [RFM_COUNTER_DARK] = { "frames-dark",
      "own frames not sent: no signal or no neighbour" },
    [RFM_COUNTER_FULL] = { "frames-full",
      "own frames not sent: no room in time" },
    [RFM_COUNTER_RECEIVED] = { "frames-received",
      "frames of others taken" },
    [RFM_COUNTER_FORWARDED] = { "frames-forwarded",
      "frames of others passed on" },
    [RFM_COUNTER_UNSENDABLE] = { "frames-unsendable",
      "frames of others not passed on: no neighbour" },
    [RFM_COUNTER_OVERRUN] = { "frames-overrun",
      "frames of others not passed on: no room" },
    [RFM_COUNTER_MISSED] = { "frames-missed",
      "frames of others that never arrived" },
    [RFM_COUNTER_LATE] = { "frames-late",
      "frames out of turn: passed on, not stored" },
    [RFM_COUNTER_COPIES] = { "frames-copies",
      "second copies, in redundant mode, of what had come already" },
    [RFM_COUNTER_BEYOND] = { "frames-beyond",
      "updates past the end of the memory" },
    [RFM_COUNTER_BAD] = { "frames-bad",
      "damaged frames dropped" },
    [RFM_COUNTER_HOP_LIMIT] = { "frames-hop-limit",
      "frames dropped for circling too long" },
    [RFM_COUNTER_ROGUE] = { "frames-rogue",
      "frames this rogue master removed" },
    [RFM_COUNTER_MIXED] = { "frames-mixed",
      "frames removed: from a node of the other transfer mode" },
    [RFM_COUNTER_HELD_LOST] = { "frames-held-lost",
      "frames of others dropped here: the machine was paused, or moved" },
    [RFM_COUNTER_WINDOW_PEAK] = { "window-peak",
      "most own frames that were ever on the ring" },
    [RFM_COUNTER_TX_PEAK] = { "tx-peak",
      "most frames that were ever in the transmit FIFO" },
    [RFM_COUNTER_INSERT_PEAK] = { "insert-peak",
      "most stores that ever waited to be sent" },
    [RFM_COUNTER_INTERRUPTS_DROPPED] = { "interrupts-dropped",
      "network interrupts that found their FIFO full" },
    [RFM_COUNTER_STALL_US] = { "longest-stall-us",
      "longest time a store held its CPU, microseconds" },
    [RFM_COUNTER_BREAKS] = { "breaks",
      "times another node said that it had lost its signal" },
    [RFM_COUNTER_PACKETS] = { "packets",
      "own packets to one node that have ended" },
    [RFM_COUNTER_PACKETS_TAKEN] = { "packets-taken",
      "of these, taken there" },
    [RFM_COUNTER_PACKETS_LOST] = { "packets-lost",
      "of these, nobody knows whether they were" },
    [RFM_COUNTER_PACKETS_RECEIVED] = { "packets-received",
      "packets of others that were taken here" },
    [RFM_COUNTER_PACKETS_REFUSED] = { "packets-refused",
      "packets of others for which there was no room here" },
    [RFM_COUNTER_REQUESTS] = { "requests",
      "operations at one node that the guest has asked for and have ended" },
    [RFM_COUNTER_REQUESTS_FAILED] = { "requests-failed",
      "of these, not as asked" },
    [RFM_COUNTER_SERVED] = { "requests-served",
      "operations of other nodes that were answered" },
    [RFM_COUNTER_RESYNC_BYTES] = { "resync-bytes",
      "bytes of the memory made right by resync" },
    [RFM_COUNTER_BURST_SCANS] = { "burst-scans",
      "scans of the burst range that found written pages" },
    [RFM_COUNTER_BURST_BYTES] = { "burst-bytes",
      "bytes that had changed there" },
    [RFM_COUNTER_BURST_LATE] = { "burst-late",
      "network interrupts that went before what was stored there" },
    [COUNTER_RX_REFUSED] = { "rx-refused",
      "upstream peers shown out for what they said, or did not say" },
    [COUNTER_TX_REFUSED] = { "tx-refused",
      "downstream peers shown out likewise" },
    [COUNTER_DMA_TRANSFERS] = { "dma-transfers",
      "DMA transfers that have ended" },
    [COUNTER_DMA_ERRORS] = { "dma-errors",
      "of these, ended with an error" },
    [COUNTER_DMA_BYTES] = { "dma-bytes",
      "bytes moved by DMA" },
    [RFM_COUNTER_EPOCH] = { "epoch",
      "changes of the ring's membership seen" },
    [COUNTER_BREAK_AT] = { "break-at",
      "node that lost its signal last" },
    [COUNTER_ETHER_SENT] = { "ethernet-sent",
      "Ethernet frames that have left whole" },
    [COUNTER_ETHER_LOST] = { "ethernet-lost",
      "of these, not taken: no room, no such node, or lost on the ring" },
    [COUNTER_ETHER_DARK] = { "ethernet-dark",
      "Ethernet frames not sent: no signal or no neighbour" },
    [COUNTER_ETHER_UNFIT] = { "ethernet-unfit",
      "Ethernet frames not sent: shorter than 14 or longer than 9216 bytes" },
    [COUNTER_ETHER_RECEIVED] = { "ethernet-received",
      "Ethernet frames of others that have come whole" },
    [COUNTER_ETHER_REFUSED] = { "ethernet-refused",
      "Ethernet frames of others that found no room" },
    [COUNTER_ETHER_BROKEN] = { "ethernet-broken",
      "Ethernet frames of others of which a part is missing" },
};

static void get_counter(Object *obj, Visitor *v, const char *name, void *opaque,
                        Error **errp)
{
    Rfm5565State *s = RFM5565(obj);
    uint64_t counter[COUNTERS];

    WITH_QEMU_LOCK_GUARD(&s->lock) {
        count(s, counter);
    }
    visit_type_uint64(v, name, &counter[GPOINTER_TO_UINT(opaque)], errp);
}

void rfm5565_add_counters(ObjectClass *klass)
{
    for (unsigned i = 0; i < COUNTERS; i++) {
        const char *name = counter_properties[i].name;

        if (name) {
            object_class_property_add(klass, name, "uint64", get_counter, NULL,
                                      NULL, GUINT_TO_POINTER(i));
            object_class_property_set_description(klass, name,
                                                  counter_properties[i].text);
        }
    }
}

/* --- when they changed ---------------------------------------------------- */

/* A state was loaded: what it has counted was counted elsewhere. */
void rfm5565_counters_loaded(Rfm5565State *s)
{
    uint64_t counter[COUNTERS];

    count(s, counter);
    memcpy(s->ext.counted, counter, sizeof(s->ext.counted));
    memset(s->ext.counted_at, 0, sizeof(s->ext.counted_at));
}

/* With each tick of the engine, and before a snapshot. Under the lock. */
void rfm5565_counters_watch(Rfm5565State *s, uint64_t now)
{
    uint64_t counter[COUNTERS];

    count(s, counter);
    for (unsigned i = 0; i < RFM_COUNTERS; i++) {
        if (counter[i] != s->ext.counted[i]) {
            s->ext.counted[i] = counter[i];
            s->ext.counted_at[i] = now;
        }
    }
}

/* --- the snapshot: all of one instant ------------------------------------- */

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
    if (source->ahead_ns) {
        view->state |= RFM_NODE_STATE_AHEAD;
    }
    if (source->incomplete) {
        view->state |= RFM_NODE_STATE_INCOMPLETE;
    }
}

/* On CLOCK; 0 stays 0: never */
static uint64_t told_time(const Rfm5565State *s, uint64_t then)
{
    return then ? rfm_node_clock(&s->node, then) : 0;
}

/* Under both locks. */
void rfm5565_snapshot(Rfm5565State *s)
{
    Rfm5565NodeView *own = &s->ext.nodes[s->node_id];

    QEMU_BUILD_BUG_ON(sizeof(*own) != RFM_EXT_NODE(1) - RFM_EXT_NODE(0));
    rfm5565_counters_watch(s, rfm5565_now());
    memcpy(s->ext.counters, s->ext.counted, sizeof(s->ext.counters));
    for (unsigned i = 0; i < RFM_COUNTERS; i++) {
        s->ext.counter_times[i] = told_time(s, s->ext.counted_at[i]);
    }
    for (unsigned id = 0; id < RFM_RING_NODES; id++) {
        map_node(s, id, &s->ext.nodes[id]);
        s->ext.node_times[id] = (Rfm5565NodeTimes) {
            .heard = told_time(s, s->node.sources[id].heard),
            .broke = told_time(s, s->node.sources[id].broke),
        };
    }
    /* A node is a member of its own ring, unless it had to leave. */
    *own = (Rfm5565NodeView) {
        .state = s->node.left ? 0 : RFM_NODE_STATE_PRESENT,
        .domain = s->node.config.clock_domain,
    };
    if (s->node.incomplete) {
        own->state |= RFM_NODE_STATE_INCOMPLETE;
    }
}
