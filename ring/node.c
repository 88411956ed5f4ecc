// SPDX-License-Identifier: MIT
/* A node's setup, its optics and its timers. What it sends: send.c; what comes: receive.c. */
#include "ring/node-private.h"

#include <errno.h>

/* --- optics and time ------------------------------------------------------ */

/* What the optics let through, before and after a change. */
struct optics {
	bool signal, ready, light_out;
};

static struct optics optics_state(const struct rfm_node *node)
{
	return (struct optics){
		.signal = rfm_node_signal(node),
		.ready = rfm_can_originate(node),
		.light_out = rfm_node_light_out(node),
	};
}

/* Something about the optics has changed from what they were @before. */
static void optics_changed(struct rfm_node *node, struct optics before, uint64_t now)
{
	struct optics after = optics_state(node);

	if (before.signal && !after.signal)
		node->ops->status(node->opaque, RFM_NODE_SYNC_LOSS);
	if (!before.signal && after.signal)
		node->ops->status(node->opaque, RFM_NODE_SIGNAL_BACK);
	if (before.signal != after.signal)
		rfm_new_epoch(node);
	if ((before.ready && !after.ready) || (before.light_out && !after.light_out))
		rfm_cancel_transmit(node);
	if (before.signal && !after.signal)
		rfm_send_break(node, now);
	atomic_store(&node->insert.offline, !after.ready);
	if (!before.ready && after.ready)
		rfm_send_heartbeat(node, now);
	if (before.light_out != after.light_out)
		node->ops->kick(node->opaque);		/* the link must send LIGHT */
}

void rfm_node_set_light(struct rfm_node *node, bool light, uint64_t now)
{
	struct optics before = optics_state(node);

	node->light_in = light;
	optics_changed(node, before, now);
}

void rfm_node_set_downstream(struct rfm_node *node, bool up, uint64_t now)
{
	struct optics before = optics_state(node);

	if (!up)
		rfm_cancel_transmit(node);
	before.ready = before.ready && up;
	node->downstream = up;
	optics_changed(node, before, now);
}

void rfm_node_set_optics(struct rfm_node *node, bool tx_disable, bool loopback,
			 bool dark_on_dark, uint64_t now)
{
	struct optics before = optics_state(node);

	if (loopback != node->loopback) {
		rfm_cancel_transmit(node);
		before.ready = false;
	}
	node->tx_disable = tx_disable;
	node->loopback = loopback;
	node->dark_on_dark = dark_on_dark;
	optics_changed(node, before, now);
}

void rfm_node_set_address_offset(struct rfm_node *node, uint32_t offset)
{
	__atomic_store_n(&node->address_offset, offset, __ATOMIC_RELAXED);
}

void rfm_node_set_clock(struct rfm_node *node, uint32_t domain, uint64_t offset)
{
	node->config.clock_domain = domain;
	__atomic_store_n(&node->clock_offset, offset, __ATOMIC_RELAXED);
}

/* A source that has been silent for long is not on the ring any more. */
static void expire_sources(struct rfm_node *node, uint64_t now)
{
	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		struct rfm_source *source = &node->sources[id];
		uint64_t since = source->heard > node->silence_grace ? source->heard : node->silence_grace;

		if (source->present && now - since >= RFM_NODE_SILENCE_NS) {
			source->present = false;
			rfm_members_changed(node);
		}
	}
}

uint64_t rfm_node_expiry(const struct rfm_node *node)
{
	return node->break_heard ? RFM_NODE_EXPIRY_NS : RFM_NODE_SLOW_EXPIRY_NS;
}

uint32_t rfm_node_wake_frames(const struct rfm_node *node)
{
	/* In half of a smaller one a packet may find no room beside less than a quarter. */
	if (node->config.line.paced || node->config.window < 4 * RFM_PACKET_PIECES)
		return 1;
	return rfm_usual_window(node) / 4;
}

uint64_t rfm_node_tick(struct rfm_node *node, uint64_t now)
{
	uint64_t next = now + RFM_NODE_EXPIRY_NS / 2;
	uint64_t heartbeat, expiry;

	/* Who stood still itself cannot say that others were silent. */
	if (now - node->tick_time > RFM_NODE_SILENCE_NS / 2)
		node->silence_grace = now;
	node->tick_time = now;
	if (!node->ring_open && rfm_in_flight(node) &&
	    now - node->home_time >= rfm_node_expiry(node)) {
		if (!rfm_node_credit(node))
			node->credit_time = now;
		node->ring_open = true;
		rfm_node_send_queued(node, now);
	}
	if (now - node->heartbeat_time >= RFM_NODE_HEARTBEAT_NS) {
		/* Those of one host beat together, so that many pass at a time. */
		node->heartbeat_time = now - now % RFM_NODE_HEARTBEAT_NS;
		rfm_send_heartbeat(node, now);
		expire_sources(node, now);
		if (now - node->turn_time >= RFM_NODE_SILENCE_NS)
			node->turn_ns = 0;
	}
	rfm_notify_room(node);		/* nothing is pulled while downstream has no room */
	expiry = rfm_packets_expire(node, now);
	if (expiry < next)
		next = expiry;
	heartbeat = node->heartbeat_time + RFM_NODE_HEARTBEAT_NS;
	return heartbeat < next ? heartbeat : next;
}

void rfm_node_set_incomplete(struct rfm_node *node)
{
	if (node->incomplete)
		return;
	node->incomplete = true;
	node->ops->status(node->opaque, RFM_NODE_INCOMPLETE);
}

void rfm_node_set_complete(struct rfm_node *node, uint64_t now)
{
	if (!node->incomplete)
		return;
	node->incomplete = false;
	node->ops->status(node->opaque, RFM_NODE_INCOMPLETE);
	rfm_send_heartbeat(node, now);
}

struct rfm_node_stats rfm_node_read_stats(const struct rfm_node *node)
{
	const struct rfm_insert *insert = &node->insert;
	struct rfm_node_stats stats = node->stats;

	stats.stores = atomic_load(&insert->stores);
	stats.dark += atomic_load(&insert->dark);
	stats.full = atomic_load(&insert->full);
	stats.sent += atomic_load(&insert->dropped) - insert->dropped_seen;
	stats.insert_peak = atomic_load(&insert->peak);
	stats.tx_peak = node->transmit.deepest;
	return stats;
}

/* --- behind a link -------------------------------------------------------- */

static struct rfm_link_self node_link_self(void *opaque)
{
	const struct rfm_node *node = opaque;

	return (struct rfm_link_self){
		.id = node->config.id,
		.redundant = node->config.redundant,
		.incarnation = node->config.incarnation,
		.memory_size = node->config.memory_size,
		.clock_domain = node->config.clock_domain,
	};
}

static void node_link_light(void *opaque, bool on, uint64_t now)
{
	rfm_node_set_light(opaque, on, now);
}

static void node_link_frame(void *opaque, uint8_t *wire, unsigned int len, uint64_t now)
{
	rfm_node_receive(opaque, wire, len, now);
}

static bool node_link_knows(void *opaque, const uint8_t *wire)
{
	return rfm_node_knows(opaque, wire);
}

static void node_link_bad(void *opaque)
{
	rfm_node_receive_bad(opaque);
}

static void node_link_downstream(void *opaque, bool up, uint64_t now)
{
	rfm_node_set_downstream(opaque, up, now);
}

static bool node_link_light_out(void *opaque)
{
	return rfm_node_light_out(opaque);
}

static unsigned int node_link_pull(void *opaque, uint8_t *wire, uint64_t now)
{
	return rfm_node_pull(opaque, wire, now);
}

const struct rfm_link_ops rfm_node_link_ops = {
	.self = node_link_self,
	.light = node_link_light,
	.frame = node_link_frame,
	.knows = node_link_knows,
	.bad = node_link_bad,
	.downstream = node_link_downstream,
	.light_out = node_link_light_out,
	.pull = node_link_pull,
};

/* --- lifecycle ------------------------------------------------------------ */

int rfm_node_init(struct rfm_node *node, const struct rfm_node_config *config,
		  const struct rfm_node_ops *ops, void *opaque, uint64_t now)
{
	static const struct rfm_line_config no_line;
	uint32_t slots = config->insert_slots ? config->insert_slots : RFM_INSERT_SLOTS;

	*node = (struct rfm_node){
		.config = *config,
		.ops = ops,
		.opaque = opaque,
		.ring_open = true,
		.home_time = now,
		.heartbeat_time = now,
		.tick_time = now,
		.duplicate_notice_time = now - RFM_NODE_HEARTBEAT_NS,
	};
	if (config->window > RFM_NODE_WINDOW_MAX || config->train > RFM_TRAIN_FRAMES) {
		errno = EINVAL;
		return -1;
	}
	if (!config->train)
		node->config.train = RFM_TRAIN_FRAMES;
	if (config->unpacked || config->redundant || config->line.paced)
		node->config.train = 1;
	if (!config->window)
		node->config.window = RFM_NODE_WINDOW;
	/* More would only make others wait behind them: nothing is gained on such a line. */
	if (config->line.paced && node->config.window > RFM_NODE_PACED_WINDOW)
		node->config.window = RFM_NODE_PACED_WINDOW;
	/* Both copies must find room in every FIFO. */
	if (config->redundant && node->config.window > RFM_NODE_WINDOW / 2)
		node->config.window = RFM_NODE_WINDOW / 2;
	node->window = rfm_usual_window(node);
	if (rfm_insert_init(&node->insert, slots) ||
	    rfm_fifo_init(&node->transmit, RFM_NODE_TX_SLOTS, &config->line, now) ||
	    rfm_fifo_init(&node->held, RFM_NODE_HELD_SLOTS, &no_line, now)) {
		int error = errno;

		rfm_node_destroy(node);
		errno = error;
		return -1;
	}
	return 0;
}

void rfm_node_destroy(struct rfm_node *node)
{
	rfm_insert_destroy(&node->insert);
	rfm_fifo_destroy(&node->transmit);
	rfm_fifo_destroy(&node->held);
}

void rfm_node_rejoin(struct rfm_node *node, uint64_t incarnation, uint64_t now)
{
	const bool had_left = node->left;

	rfm_cancel_transmit(node);
	rfm_cancel_held(node);
	node->stats.lost += rfm_in_flight(node);
	node->fence_lost = node->stats.lost;
	node->previous_incarnation = node->config.incarnation;
	node->config.incarnation = incarnation;
	node->seq = node->home_seq = node->update_seq = 0;
	node->turn_ns = 0;
	node->left = false;
	if (had_left && rfm_node_signal(node))
		node->ops->status(node->opaque, RFM_NODE_SIGNAL_BACK);
	atomic_store(&node->insert.offline, !rfm_can_originate(node));
	rfm_send_heartbeat(node, now);
}

/* What the producer counts, as rfm_node_read_stats() adds it. */
static void load_stats(struct rfm_node *node, const struct rfm_node_stats *stats)
{
	struct rfm_insert *insert = &node->insert;

	node->stats = *stats;
	node->stats.dark -= atomic_load(&insert->dark);
	node->stats.sent -= atomic_load(&insert->dropped) - insert->dropped_seen;
	atomic_store(&insert->stores, stats->stores);
	atomic_store(&insert->full, stats->full);
	atomic_store(&insert->peak, stats->insert_peak);
	node->transmit.deepest = stats->tx_peak;
}

void rfm_node_save(const struct rfm_node *node, struct rfm_node_past *past)
{
	*past = (struct rfm_node_past){ .stats = rfm_node_read_stats(node) };
	past->stats.sent += rfm_insert_used(&node->insert);
	past->stats.lost = past->stats.sent - past->stats.home;
	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		const struct rfm_source *source = &node->sources[id];

		past->sources[id] = (struct rfm_source_past){
			.current = source->current,
			.refused_incarnation = source->refused_incarnation,
			.received = source->received,
			.missed = source->missed,
		};
	}
	rfm_discount_held(node, past);
}

bool rfm_node_past_is_sound(const struct rfm_node_past *past)
{
	const struct rfm_node_stats *stats = &past->stats;
	uint64_t received = 0, missed = 0;

	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		received += past->sources[id].received;
		missed += past->sources[id].missed;
	}
	return stats->home <= stats->sent && stats->lost == stats->sent - stats->home &&
	       stats->received == received && stats->missed == missed &&
	       stats->tx_peak <= RFM_NODE_TX_SLOTS &&
	       stats->insert_peak <= 2 * RFM_INSERT_SLOTS;	/* with the reserve */
}

void rfm_node_load(struct rfm_node *node, const struct rfm_node_past *past)
{
	rfm_cancel_transmit(node);
	rfm_cancel_held(node);
	node->home_seq = node->seq;
	load_stats(node, &past->stats);
	node->fence_lost = node->stats.lost;
	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		struct rfm_source *source = &node->sources[id];

		source->current = past->sources[id].current;
		source->other = (struct rfm_incarnation){ 0 };
		source->refused_incarnation = past->sources[id].refused_incarnation;
		source->met = source->current.incarnation;
		source->received = past->sources[id].received;
		source->missed = past->sources[id].missed;
	}
}
