// SPDX-License-Identifier: MIT
/* librfmring: settings, counters and who else is there. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/host/internal.h"
#include "ring/util/structs.h"

#define OFFSET_STEP	(64u << 20)
#define OFFSET_MAX	(192u << 20)

/*
 * For what may be done in a callback too. @entered: what leave() has to know.
 * False with errno EDEADLK in a callback of another ring, if this one is busy.
 */
static bool enter_or_be_inside(struct rfmring *ring, bool *entered)
{
	*entered = !rfm_host_is_locked(ring->host);
	return !*entered || rfm_host_lock(ring->host);
}

static void leave(struct rfmring *ring, bool entered)
{
	if (entered)
		rfm_host_unlock(ring->host);
}

/*
 * For what changes the engine side of a node, which is not to be called back
 * from its callbacks.
 */
static bool enter(struct rfmring *ring, bool *entered)
{
	if (rfm_host_in_callback(ring->host)) {
		errno = EDEADLK;
		return false;
	}
	return enter_or_be_inside(ring, entered);
}

/* --- watches -------------------------------------------------------------------------- */

static int add_watch(struct rfmring *ring, const struct rfm_range_watch *watch)
{
	size_t size = (ring->watch_count + 1) * sizeof(*ring->watches);
	struct rfm_range_watch *watches = realloc(ring->watches, size);

	if (!watches)
		return rfm_fail(ENOMEM);
	ring->watches = watches;
	watches[ring->watch_count] = *watch;
	watches[ring->watch_count++].number = ++ring->last_watch;
	return ring->last_watch;
}

int rfmring_watch(struct rfmring *ring, uint64_t offset, uint64_t length,
		  void (*update)(void *opaque, const struct rfmring_update *update), void *opaque)
{
	const struct rfm_range_watch watch = {
		.first = offset,
		.last = offset + length - 1,
		.update = update,
		.opaque = opaque,
	};
	bool entered;
	int number;

	if (!length || offset > ring->memory_size || length > ring->memory_size - offset || !update)
		return rfm_fail(EINVAL);
	if (!enter(ring, &entered))
		return -1;
	number = add_watch(ring, &watch);
	leave(ring, entered);
	return number;
}

int rfmring_unwatch(struct rfmring *ring, int watch)
{
	int status = rfm_fail(ENOENT);
	bool entered;

	if (!enter(ring, &entered))
		return -1;
	for (unsigned int i = 0; i < ring->watch_count; i++) {
		if (ring->watches[i].number != watch)
			continue;
		ring->watch_count--;
		memmove(&ring->watches[i], &ring->watches[i + 1],
			(ring->watch_count - i) * sizeof(*ring->watches));
		status = 0;
		break;
	}
	leave(ring, entered);
	return status;
}

void rfmring_on_frame(struct rfmring *ring, rfm_frame_seen *seen, void *opaque)
{
	bool entered;

	if (!enter_or_be_inside(ring, &entered))
		return;
	ring->seen = seen;
	ring->seen_opaque = opaque;
	rfm_host_set_links(ring->host);
	leave(ring, entered);
}

int rfmring_set_timer(struct rfmring *ring, uint64_t when_ns)
{
	bool entered;

	if (!enter_or_be_inside(ring, &entered))
		return -1;
	rfm_timer_set(ring->host->loop, &ring->user_timer, when_ns);
	leave(ring, entered);
	/* A loop that sleeps does not know of it yet. */
	if (entered)
		rfm_loop_wake(ring->host->loop);
	return 0;
}

/* --- settings -------------------------------------------------------------------------- */

int rfmring_set_optics(struct rfmring *ring, uint32_t optics)
{
	bool entered;

	if (optics & ~(uint32_t)(RFMRING_TX_DISABLE | RFMRING_LOOPBACK | RFMRING_DARK_ON_DARK))
		return rfm_fail(EINVAL);
	if (!enter(ring, &entered))
		return -1;
	rfm_node_set_optics(&ring->node, optics & RFMRING_TX_DISABLE, optics & RFMRING_LOOPBACK,
			    optics & RFMRING_DARK_ON_DARK, rfm_now());
	leave(ring, entered);
	return 0;
}

int rfmring_set_address_offset(struct rfmring *ring, uint64_t offset)
{
	bool entered;

	if (offset % OFFSET_STEP || offset > OFFSET_MAX)
		return rfm_fail(EINVAL);
	if (!enter(ring, &entered))
		return -1;
	rfm_node_set_address_offset(&ring->node, offset);
	leave(ring, entered);
	return 0;
}

int rfmring_set_paused(struct rfmring *ring, bool paused)
{
	bool entered;

	if (!enter(ring, &entered))
		return -1;
	rfm_node_set_paused(&ring->node, paused);
	rfm_host_remote_wake(ring);
	leave(ring, entered);
	return 0;
}

/* --- questions -------------------------------------------------------------------------- */

static void get_ethernet(const struct rfmring *ring, struct rfmring_stats *all)
{
	const struct rfm_tap *tap = ring->tap;

	if (!tap)
		return;
	_Static_assert(sizeof(tap->ether.stats) ==
		       offsetof(struct rfmring_stats, ethernet_dropped) -
		       offsetof(struct rfmring_stats, ethernet_sent), "the same counters");
	memcpy(&all->ethernet_sent, &tap->ether.stats, sizeof(tap->ether.stats));
	all->ethernet_dropped = tap->dropped;
}

int rfmring_get_stats(struct rfmring *ring, struct rfmring_stats *stats)
{
	struct rfmring_stats all = { .size = stats->size };
	struct rfm_node_stats node;
	bool entered;

	if (stats->size < sizeof(stats->size))
		return rfm_fail(EINVAL);
	if (!enter_or_be_inside(ring, &entered))
		return -1;
	node = rfm_node_read_stats(&ring->node);
	all.window = ring->node.seq - ring->node.home_seq;
	all.tx = rfm_fifo_used(&ring->node.transmit);
	all.insert = rfm_insert_used(&ring->node.insert);
	/* And so are these. */
	_Static_assert(sizeof(ring->remote.stats) ==
		       offsetof(struct rfmring_stats, ethernet_sent) -
		       offsetof(struct rfmring_stats, asked), "the same counters");
	memcpy(&all.asked, &ring->remote.stats, sizeof(ring->remote.stats));
	get_ethernet(ring, &all);
	leave(ring, entered);
	/* Up to there they are the same counters in the same order. */
	_Static_assert(offsetof(struct rfm_node_stats, sent_bytes) ==
		       offsetof(struct rfmring_stats, stalls) -
		       offsetof(struct rfmring_stats, stores), "the same counters");
	memcpy(&all.stores, &node, offsetof(struct rfm_node_stats, sent_bytes));
	all.sent_bytes = node.sent_bytes;
	all.received_bytes = node.received_bytes;
	all.forwarded_bytes = node.forwarded_bytes;
	pthread_mutex_lock(&ring->producer);
	all.stalls = ring->stalls;
	all.longest_stall_ns = ring->longest_stall;
	pthread_mutex_unlock(&ring->producer);
	pthread_mutex_lock(&ring->pending_lock);
	all.interrupts_lost = ring->interrupts_lost;
	pthread_mutex_unlock(&ring->pending_lock);
	give_struct(stats, all.size, &all, sizeof(all));
	return 0;
}

static uint32_t neighbour(const struct rfm_port_info *port)
{
	return port->up && !port->peer.hub ? port->peer.id : RFMRING_NODE_ALL;
}

static void get_ports(struct rfmring *ring, struct rfm_port_info *rx, struct rfm_port_info *tx)
{
	*rx = ring->host->rx ? rfm_port_info(ring->host->rx) : (struct rfm_port_info){ 0 };
	*tx = ring->host->tx ? rfm_port_info(ring->host->tx) : (struct rfm_port_info){ 0 };
}

bool rfmring_ports(struct rfmring *ring, struct rfm_port_info *rx, struct rfm_port_info *tx)
{
	bool entered;

	if (!enter_or_be_inside(ring, &entered))
		return false;
	get_ports(ring, rx, tx);
	leave(ring, entered);
	return true;
}

static void get_state(struct rfmring *ring, struct rfmring_state *state)
{
	const struct rfm_node *node = &ring->node;
	struct rfm_port_info rx, tx;

	get_ports(ring, &rx, &tx);
	state->incarnation = node->config.incarnation;
	state->clock_domain = node->config.clock_domain;
	state->clock_error_ns = ring->clock.error_ns;
	state->clock_trouble = ring->clock.trouble;
	state->epoch = node->epoch;
	state->id = node->config.id;
	state->optics = (node->tx_disable ? RFMRING_TX_DISABLE : 0) |
			(node->loopback ? RFMRING_LOOPBACK : 0) |
			(node->dark_on_dark ? RFMRING_DARK_ON_DARK : 0);
	state->address_offset = node->address_offset;
	state->break_at = ring->break_seen ? node->break_at : RFMRING_NODE_ALL;
	state->signal = rfm_node_signal(node);
	state->downstream = node->downstream;
	state->left = node->left;
	state->paused = node->paused;
	state->ring_open = node->ring_open;
	state->incomplete = node->incomplete;
	state->rx_shm = !ring->previous && rx.shm;
	state->tx_shm = !ring->next && tx.shm;
	state->upstream = ring->previous ? ring->previous->node.config.id : neighbour(&rx);
	state->turn_ns = node->turn_ns;
	state->downstream_id = ring->next ? ring->next->node.config.id : neighbour(&tx);
}

int rfmring_get_state(struct rfmring *ring, struct rfmring_state *state)
{
	struct rfmring_state all = { .size = state->size };
	bool entered;

	if (state->size < sizeof(state->size))
		return rfm_fail(EINVAL);
	if (!enter_or_be_inside(ring, &entered))
		return -1;
	get_state(ring, &all);
	leave(ring, entered);
	give_struct(state, all.size, &all, sizeof(all));
	return 0;
}

static struct rfmring_member member_of(unsigned int id, const struct rfm_source *source)
{
	return (struct rfmring_member){
		.id = id,
		.hops = source->hops,
		.incarnation = source->current.incarnation,
		.received = source->received,
		.missed = source->missed,
		.clock_domain = source->clock_domain,
		.hubs = source->hubs,
		.paused = source->paused,
		.present = source->present,
		.transit_ns = source->transit_ns,
		.heard_ns = source->heard,
		.broke_ns = source->broke,
		.ahead_ns = source->ahead_ns,
		.incomplete = source->incomplete,
	};
}

/* @gone: those that have left as well */
static int find_members(struct rfmring *ring, struct rfmring_member *members, unsigned int count,
			bool gone)
{
	unsigned int found = 0;
	bool entered;

	if (!enter_or_be_inside(ring, &entered))
		return -1;
	for (unsigned int id = 0; id < RFM_RING_NODES; id++) {
		const struct rfm_source *source = &ring->node.sources[id];

		if (!source->present && !(gone && source->heard))
			continue;
		if (found < count)
			members[found] = member_of(id, source);
		found++;
	}
	leave(ring, entered);
	return found;
}

int rfmring_members(struct rfmring *ring, struct rfmring_member *members, unsigned int count)
{
	return find_members(ring, members, count, false);
}

int rfmring_known(struct rfmring *ring, struct rfmring_member *members, unsigned int count)
{
	return find_members(ring, members, count, true);
}
