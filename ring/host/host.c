// SPDX-License-Identifier: MIT
/*
 * The engine of librfmring: two ports, and the nodes in series between them.
 *
 *   rx port -> first node -> (hop) -> ... -> last node -> tx port
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/host/internal.h"
#include "ring/memory.h"

#define HOP_BATCH	64
#define PCAP_FLUSH_NS	200000000ull

/* The host whose engine lock this thread has. */
static _Thread_local const struct rfm_host *locked_host;

/* --- the lock ----------------------------------------------------------------- */

/*
 * A mutex alone would let callers that come again at once keep the engine out
 * for ever: the thread that moves the host says that it wants its turn, and who
 * comes later waits until it sleeps or gives way. It gives way after each
 * round, to as many as wait at that moment.
 */
static void engine_lock(struct rfm_host *host)
{
	atomic_store(&host->engine_first, true);
	pthread_mutex_lock(&host->engine);
}

/* With the lock: callers may have it. */
static void allow_callers(struct rfm_host *host)
{
	atomic_store(&host->engine_first, false);
	pthread_cond_broadcast(&host->callers_may_lock);
}

static void push_host(struct rfm_host *host)
{
	host->outer_host = locked_host;
	locked_host = host;
}

static void pop_host(struct rfm_host *host)
{
	locked_host = host->outer_host;
	host->outer_host = NULL;
}

bool rfm_host_is_locked(const struct rfm_host *host)
{
	const struct rfm_host *at = locked_host;

	while (at && at != host)
		at = at->outer_host;
	return at;
}

bool rfm_host_any_locked(void)
{
	return locked_host;
}

bool rfm_host_in_callback(const struct rfm_host *host)
{
	return rfm_host_is_locked(host) && host->in_callback;
}

/*
 * Who has the lock of one host must not wait for that of another, whose owner
 * may wait for the first.
 */
static bool trylock_nested(struct rfm_host *host)
{
	if (!pthread_mutex_trylock(&host->engine)) {
		if (!atomic_load(&host->engine_first)) {
			push_host(host);
			return true;
		}
		pthread_mutex_unlock(&host->engine);
	}
	errno = EDEADLK;
	return false;
}

bool rfm_host_lock(struct rfm_host *host)
{
	if (locked_host)
		return trylock_nested(host);
	atomic_fetch_add(&host->callers, 1);
	pthread_mutex_lock(&host->engine);
	while (atomic_load(&host->engine_first))
		pthread_cond_wait(&host->callers_may_lock, &host->engine);
	atomic_fetch_sub(&host->callers, 1);
	push_host(host);
	return true;
}

void rfm_host_unlock(struct rfm_host *host)
{
	pop_host(host);
	if (host->callers_to_serve && !--host->callers_to_serve) {
		atomic_store(&host->engine_first, true);
		pthread_cond_signal(&host->callers_served);
	}
	pthread_mutex_unlock(&host->engine);
}

void rfm_host_engine_lock(struct rfm_host *host)
{
	engine_lock(host);
	push_host(host);
}

void rfm_host_engine_unlock(struct rfm_host *host)
{
	pop_host(host);
	allow_callers(host);
	pthread_mutex_unlock(&host->engine);
}

void rfm_host_yield(struct rfm_host *host)
{
	host->callers_to_serve = atomic_load(&host->callers);
	if (!host->callers_to_serve)
		return;
	pop_host(host);
	allow_callers(host);
	while (host->callers_to_serve)
		pthread_cond_wait(&host->callers_served, &host->engine);
	push_host(host);
}

static void before_sleep(void *opaque)
{
	struct rfm_host *host = opaque;

	allow_callers(host);
	pthread_mutex_unlock(&host->engine);
}

static void after_sleep(void *opaque)
{
	engine_lock(opaque);
}

bool rfm_host_run_once(struct rfm_host *host, uint64_t until)
{
	bool worked;

	rfm_host_engine_lock(host);
	worked = rfm_loop_once(host->loop, until);
	rfm_host_engine_unlock(host);
	return worked;
}

/* --- what a node asks for -------------------------------------------------------- */

static void call_watches(struct rfmring *ring, uint32_t offset, const void *data,
			 unsigned int len, const struct rfm_origin *origin)
{
	const struct rfmring_update update = {
		.offset = offset,
		.length = len,
		.data = data,
		.node = origin->node,
		.clock_domain = origin->clock_domain,
		.seq = origin->seq,
		.time_ns = origin->time_ns,
		.arrival_ns = origin->arrival_ns,
		.same_clock = origin->same_clock,
		.monotonic_ns = origin->now,
	};

	for (unsigned int i = 0; i < ring->watch_count; i++) {
		const struct rfm_range_watch *watch = &ring->watches[i];

		if (offset > watch->last || offset + len - 1 < watch->first)
			continue;
		ring->host->in_callback = true;
		watch->update(watch->opaque, &update);
		ring->host->in_callback = false;
	}
}

static void node_apply(void *opaque, uint32_t offset, const void *data, unsigned int len,
		       const struct rfm_origin *origin)
{
	struct rfmring *ring = opaque;
	struct rfm_origin each = *origin;
	const uint8_t *from = data;

	rfm_memory_store(ring->memory + offset, data, len);
	rfm_remote_stored(&ring->remote, offset, len);
	if (!ring->watch_count)
		return;
	for (unsigned int piece; len; len -= piece, offset += piece, from += piece, each.seq++) {
		piece = len < RFM_FRAME_DATA_MAX ? len : RFM_FRAME_DATA_MAX;
		call_watches(ring, offset, from, piece, &each);
	}
}

static void node_interrupt(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	struct rfmring *ring = opaque;
	struct rfmring_interrupt interrupt = {
		.type = rfm_type_of_wire(type),
		.node = from,
		.data = data,
		.time_ns = rfm_loop_now(ring->host->loop),
	};

	if (ring->config.interrupt) {
		ring->host->in_callback = true;
		ring->config.interrupt(ring->config.opaque, &interrupt);
		ring->host->in_callback = false;
		return;
	}
	pthread_mutex_lock(&ring->pending_lock);
	if (ring->interrupts_count == RFMRING_INTERRUPTS) {
		ring->interrupts_lost++;
	} else {
		unsigned int at = ring->interrupts_head + ring->interrupts_count++;

		ring->interrupts[at % RFMRING_INTERRUPTS] = interrupt;
		pthread_cond_broadcast(&ring->pending_cond);
	}
	pthread_mutex_unlock(&ring->pending_lock);
}

static void call_status(struct rfmring *ring, uint32_t what)
{
	bool outer_host = ring->host->in_callback;

	if (!ring->config.status)
		return;
	ring->host->in_callback = true;
	ring->config.status(ring->config.opaque, what);
	ring->host->in_callback = outer_host;
}

/* The two sets of bits are the same as far as they go. */
_Static_assert(RFMRING_OWN_DATA == RFM_NODE_OWN_DATA && RFMRING_EPOCH == RFM_NODE_EPOCH &&
	       RFMRING_SYNC_LOSS == RFM_NODE_SYNC_LOSS && RFMRING_BREAK == RFM_NODE_BREAK &&
	       RFMRING_BAD_DATA == RFM_NODE_BAD_DATA && RFMRING_TX_FULL == RFM_NODE_TX_FULL &&
	       RFMRING_DUPLICATE_ID == RFM_NODE_DUPLICATE_ID &&
	       RFMRING_ROGUE == RFM_NODE_ROGUE && RFMRING_RX_FULL == RFM_NODE_RX_FULL &&
	       RFMRING_SIGNAL == RFM_NODE_SIGNAL_BACK && RFMRING_INCOMPLETE == RFM_NODE_INCOMPLETE &&
	       RFMRING_RX_ALMOST_FULL == RFM_NODE_RX_ALMOST_FULL,
	       "status bits");

static void node_status(void *opaque, unsigned int what)
{
	struct rfmring *ring = opaque;

	ring->break_seen |= what & RFM_NODE_BREAK;
	ring->status_held |= what;
	if (!ring->holds_status)
		rfm_host_tell_status(ring);
}

void rfm_host_tell_status(struct rfmring *ring)
{
	uint32_t what = ring->status_held;

	ring->status_held = 0;
	if (what)
		call_status(ring, what);
}

static void node_kick(void *opaque)
{
	struct rfmring *ring = opaque;

	if (atomic_load_explicit(&ring->next, memory_order_relaxed))
		rfm_poller_kick(&ring->hop_poller);
	else if (ring->host->tx)
		rfm_port_kick(ring->host->tx);
}

static void node_room(void *opaque)
{
	struct rfmring *ring = opaque;

	pthread_mutex_lock(&ring->producer);
	ring->backpressure_expired = false;
	pthread_cond_broadcast(&ring->room);
	pthread_mutex_unlock(&ring->producer);
	rfm_host_remote_wake(ring);
	if (ring->on_room)
		ring->on_room(ring->on_room_opaque);
}

static void node_fence(void *opaque, const struct rfm_fence_result *fence)
{
	struct rfmring *ring = opaque;
	struct rfm_fence_result told = *fence;
	rfm_fence_done *done;

	pthread_mutex_lock(&ring->pending_lock);
	ring->fence = *fence;
	ring->fence_lost += fence->lost;
	done = fence->ticket == ring->fence_ticket ? ring->fence_done : NULL;
	if (done) {
		ring->fence_done = NULL;
		told.lost = ring->fence_lost - ring->fence_told;
		ring->fence_told = ring->fence_lost;
	}
	pthread_cond_broadcast(&ring->pending_cond);
	pthread_mutex_unlock(&ring->pending_lock);
	if (!done)
		return;
	ring->host->in_callback = true;
	done(ring->fence_opaque, &told);
	ring->host->in_callback = false;
}

static void node_missed(void *opaque, uint8_t source, uint64_t count, uint64_t seq)
{
	struct rfmring *ring = opaque;

	(void)seq;
	if (!ring->config.lost)
		return;
	ring->host->in_callback = true;
	ring->config.lost(ring->config.opaque, source, count);
	ring->host->in_callback = false;
}

static void node_answer(void *opaque, uint8_t from, const struct rfm_answer *answer)
{
	struct rfmring *ring = opaque;

	pthread_mutex_lock(&ring->pending_lock);
	if (ring->answers && answer->ticket == ring->query_ticket)
		rfm_host_put_answer(&ring->answers[from], answer);
	pthread_mutex_unlock(&ring->pending_lock);
}

static void node_load(void *opaque, uint32_t offset, void *data, unsigned int len)
{
	const struct rfmring *ring = opaque;

	rfm_memory_load(data, ring->memory + offset, len);
}

const struct rfm_node_ops rfm_host_node_ops = {
	.apply = node_apply,
	.interrupt = node_interrupt,
	.status = node_status,
	.kick = node_kick,
	.room = node_room,
	.missed = node_missed,
	.fence = node_fence,
	.load = node_load,
	.answer = node_answer,
	.packet_end = rfm_host_packet_end,
	.packet_room = rfm_host_packet_room,
	.take = rfm_host_take,
	.packet = rfm_host_packet,
};

/* --- into a node and out of it ------------------------------------------------------ */

static void call_frame_hook(struct rfmring *ring, const uint8_t *unit, uint64_t now)
{
	struct rfm_frame frame;
	uint8_t wire[RFM_FRAME_MAX];

	if (rfm_frame_decode(unit, &frame) == RFM_FRAME_OK)
		ring->seen(ring->seen_opaque, &frame, now);
	if (!rfm_frame_is_train(unit) || rfm_frame_decode_header(unit, &frame) != RFM_FRAME_OK)
		return;
	for (unsigned int i = 0, count = frame.count; i < count; i++) {
		rfm_train_frame(unit, i, wire);
		if (rfm_frame_decode(wire, &frame) == RFM_FRAME_OK)
			ring->seen(ring->seen_opaque, &frame, now);
	}
}

/* From one node to the next one in this host. */
static bool hop_poll(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque, *next = ring->next;
	bool light = rfm_node_light_out(&ring->node);
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int count = 0, len;

	if (!next) {
		/* It was closed since the poller was kicked: what there is leaves by the port. */
		rfm_poller_deactivate(&ring->hop_poller);
		node_kick(ring);
		return false;
	}
	if (light != ring->light_told) {
		ring->light_told = light;
		rfm_node_set_light(&next->node, light, now);
	}
	while (count < HOP_BATCH && (len = rfm_node_pull(&ring->node, wire, now))) {
		if (next->seen)
			call_frame_hook(next, wire, now);
		rfm_node_receive(&next->node, wire, len, now);
		count += rfm_unit_frames(len);
	}
	if (count >= HOP_BATCH)
		return true;
	rfm_poller_deactivate(&ring->hop_poller);
	rfm_timer_set(ring->host->loop, &ring->hop_timer, rfm_node_next_pull(&ring->node));
	return count;
}

static void hop_time(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;

	(void)now;
	rfm_poller_activate(&ring->hop_poller);
}

/* What passes a fibre is shown to the capture, and what comes to the hook of the first node. */
static void fibre_seen(void *opaque, bool sent, const uint8_t *wire, unsigned int len,
		       uint64_t now)
{
	struct rfm_host *host = opaque;

	if (rfm_pcapng_is_open(&host->pcap))
		rfm_pcapng_packet(&host->pcap, sent ? host->pcap_out : host->pcap_in,
				  sent ? RFM_PCAPNG_OUT : RFM_PCAPNG_IN, now, wire, len, NULL);
	if (!sent && host->first->seen)
		call_frame_hook(host->first, wire, now);
}

void rfm_host_set_links(struct rfm_host *host)
{
	bool captures = rfm_pcapng_is_open(&host->pcap);

	if (host->rx)
		rfm_port_set_link(host->rx, &host->first->node,
				  captures || host->first->seen ? &host->tap : NULL);
	if (host->tx)
		rfm_port_set_link(host->tx, &host->last->node, captures ? &host->tap : NULL);
}

void rfm_host_log(struct rfm_host *host, const char *sentence)
{
	const struct rfmring_config *config = &host->first->config;

	if (!config->log)
		return;
	host->in_callback = true;
	config->log(config->opaque, sentence);
	host->in_callback = false;
}

static void port_log(void *opaque, const char *sentence)
{
	rfm_host_log(opaque, sentence);
}

static uint64_t port_next_pull(void *opaque)
{
	struct rfm_host *host = opaque;

	return rfm_node_next_pull(&host->last->node);
}

static void port_state(void *opaque)
{
	struct rfm_host *host = opaque;

	call_status(host->last, RFMRING_DOWNSTREAM);
}

static const struct rfm_port_ops rx_ops = {
	.log = port_log,
};

static const struct rfm_port_ops tx_ops = {
	.log = port_log,
	.next_pull = port_next_pull,
	.state = port_state,
};

/* --- capture ------------------------------------------------------------------------- */

static void pcap_time(void *opaque, uint64_t now)
{
	struct rfm_host *host = opaque;
	const char *trouble;

	rfm_pcapng_flush(&host->pcap);
	trouble = rfm_pcapng_trouble(&host->pcap);
	if (trouble)
		rfm_host_log(host, trouble);
	rfm_timer_set(host->loop, &host->pcap_timer, now + PCAP_FLUSH_NS);
}

static bool open_capture(struct rfm_host *host, const char *path, char *error)
{
	if (!path)
		return true;
	if (rfm_pcapng_create(&host->pcap, path, "librfmring", rfm_real_time() - rfm_now())) {
		snprintf(error, RFM_PORT_SENTENCE, "cannot write the capture %.200s: %s", path,
			 strerror(errno));
		return false;
	}
	host->pcap_in = rfm_pcapng_interface(&host->pcap, "rx", "from upstream");
	host->pcap_out = rfm_pcapng_interface(&host->pcap, "tx", "to downstream");
	rfm_timer_set(host->loop, &host->pcap_timer, rfm_now() + PCAP_FLUSH_NS);
	return true;
}

/* --- lifecycle ------------------------------------------------------------------------- */

/* It costs some ns each time, which is why others do without. */
void rfm_host_init_lock(pthread_mutex_t *lock, uint32_t priority)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, priority ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

struct rfm_host *rfm_host_new(uint32_t priority)
{
	struct rfm_host *host = calloc(1, sizeof(*host));

	if (!host)
		return NULL;
	host->loop = rfm_loop_new();
	if (!host->loop) {
		free(host);
		return NULL;
	}
	rfm_host_init_lock(&host->engine, priority);
	pthread_cond_init(&host->callers_served, NULL);
	pthread_cond_init(&host->callers_may_lock, NULL);
	host->tap = (struct rfm_link_tap){ .seen = fibre_seen, .opaque = host };
	host->pcap_timer = (struct rfm_timer){ .fire = pcap_time, .opaque = host };
	rfm_loop_on_sleep(host->loop, before_sleep, after_sleep, host);
	return host;
}

void rfm_host_free(struct rfm_host *host)
{
	/* The nodes are still there, and hear of it. */
	rfm_port_close(host->rx);
	rfm_port_close(host->tx);
	rfm_pcapng_end(&host->pcap);
	rfm_loop_free(host->loop);
	pthread_mutex_destroy(&host->engine);
	pthread_cond_destroy(&host->callers_served);
	pthread_cond_destroy(&host->callers_may_lock);
	free(host);
}

bool rfm_host_open_ports(struct rfm_host *host, const struct rfmring_config *config,
			 struct rfm_tls *tls, char *error)
{
	struct rfm_port_config port = {
		.name = "rx",
		.address = config->rx,
		.stream_only = config->flags & RFMRING_STREAM_ONLY,
		.slots = config->shm_slots,
		.socket_buffer = config->socket_buffer,
		.tls = tls,
	};

	host->rx = rfm_port_open(host->loop, &port, &rfm_node_link_ops, &rx_ops, host, error);
	if (!host->rx)
		return false;
	port.sending = true;
	port.name = "tx";
	port.address = config->tx;
	host->tx = rfm_port_open(host->loop, &port, &rfm_node_link_ops, &tx_ops, host, error);
	if (!host->tx || !open_capture(host, config->pcap, error))
		return false;
	rfm_host_set_links(host);
	return true;
}

/* Whoever compares times is told when they begin or cease to mean something elsewhere. */
static void look_at_clock(struct rfmring *ring)
{
	const char *trouble = ring->clock.trouble;
	char sentence[RFM_PORT_SENTENCE];

	rfm_clock_look(&ring->clock);
	rfm_node_set_clock(&ring->node, ring->clock.domain, ring->clock.offset_ns);
	if (!ring->clock.tai || (ring->clock_told && trouble == ring->clock.trouble))
		return;
	ring->clock_told = true;
	snprintf(sentence, sizeof(sentence), "clock=tai: %s: times of node 0x%02x can be compared %s",
		 ring->clock.trouble ? ring->clock.trouble : "the kernel's clock is synchronised",
		 ring->node.config.id, ring->clock.trouble ? "on this host only" : "between hosts");
	rfm_host_log(ring->host, sentence);
}

static void tick_time(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;

	look_at_clock(ring);
	if (ring->config.flags & RFMRING_AUTO_RESYNC && !ring->resync && !ring->leaving)
		rfm_auto_resync(&ring->auto_resync, &ring->remote, now);
	rfm_timer_set(ring->host->loop, &ring->tick_timer, rfm_node_tick(&ring->node, now));
}

static bool port_is_up(const struct rfm_host *host)
{
	return host->tx && rfm_port_info(host->tx).up;
}

static void user_time(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;

	if (!ring->config.timer)
		return;
	ring->host->in_callback = true;
	ring->config.timer(ring->config.opaque, now);
	ring->host->in_callback = false;
}

void rfm_host_attach(struct rfm_host *host, struct rfmring *ring)
{
	uint64_t now = rfm_now();

	ring->host = host;
	ring->tick_timer = (struct rfm_timer){ .fire = tick_time, .opaque = ring };
	ring->user_timer = (struct rfm_timer){ .fire = user_time, .opaque = ring };
	ring->hop_timer = (struct rfm_timer){ .fire = hop_time, .opaque = ring };
	ring->hop_poller = (struct rfm_poller){ .poll = hop_poll, .opaque = ring };
	rfm_poller_add(host->loop, &ring->hop_poller);
	rfm_host_remote_attach(ring);
	rfm_host_tap_attach(ring);
	rfm_timer_set(host->loop, &ring->tick_timer, now);
	ring->previous = host->last;
	host->last = ring;
	if (!ring->previous) {
		host->first = ring;
		return;
	}
	ring->previous->next = ring;
	rfm_host_set_links(host);
	ring->previous->light_told = false;
	rfm_node_set_downstream(&ring->node, port_is_up(host), now);
	rfm_node_set_downstream(&ring->previous->node, true, now);
	rfm_poller_kick(&ring->previous->hop_poller);
	/* A loop that sleeps does not know of the timer yet. */
	rfm_loop_wake(host->loop);
}

void rfm_host_detach(struct rfmring *ring)
{
	struct rfm_host *host = ring->host;
	struct rfmring *previous = ring->previous;

	rfm_timer_set(host->loop, &ring->tick_timer, RFM_NEVER);
	rfm_timer_set(host->loop, &ring->user_timer, RFM_NEVER);
	rfm_timer_set(host->loop, &ring->hop_timer, RFM_NEVER);
	rfm_poller_remove(&ring->hop_poller);
	rfm_host_remote_detach(ring);
	rfm_host_tap_detach(ring);
	if (!previous)
		return;
	previous->next = NULL;
	host->last = previous;
	rfm_host_set_links(host);
	rfm_timer_set(host->loop, &previous->hop_timer, RFM_NEVER);
	rfm_poller_deactivate(&previous->hop_poller);
	rfm_node_set_downstream(&previous->node, port_is_up(host), rfm_now());
	if (host->tx)
		rfm_port_kick(host->tx);
}
