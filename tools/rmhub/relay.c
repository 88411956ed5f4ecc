// SPDX-License-Identifier: MIT
#include "relay.h"

#include <stdlib.h>
#include <string.h>

#include "peek.h"
#include "ring/node.h"
#include "ring/permit.h"

#define OVERTAKEN_MAX	1024
#define SECOND		1000000000ull

static const struct {
	const char *name, *remark;
} drops[HUB_DROPS] = {
	[HUB_DROP_DEAD_PORT] = { "dark", "dropped: the port is bypassed" },
	[HUB_DROP_IN_FLIGHT] = { "in-flight", "dropped: the ring has changed" },
	[HUB_DROP_CUT] = { "cut", "dropped: the fibre is cut" },
	[HUB_DROP_ROGUE] = { "rogue", "dropped: its node has gone" },
	[HUB_DROP_DAMAGED] = { "damaged", "dropped: hop count damaged" },
	[HUB_DROP_HOP_LIMIT] = { "hop-limit", "dropped: has travelled too far" },
	[HUB_DROP_OVERFLOW] = { "overflow", "dropped: the queue is full" },
	[HUB_DROP_FAULT] = { "fault", "dropped by a fault" },
	[HUB_DROP_FORGED] = { "forged", "dropped: its source has not sent it" },
};

static const char *const fault_remarks[FAULT_KINDS] = {
	[FAULT_CORRUPT] = "corrupted by a fault",
	[FAULT_DELAY] = "delayed by a fault",
	[FAULT_DUPLICATE] = "duplicated by a fault",
	[FAULT_REORDER] = "held back by a fault, to be overtaken",
	[FAULT_FREEZE] = "a fault freezes the port",
};

const char *hub_drop_name(enum hub_drop reason)
{
	return drops[reason].name;
}

const char *hub_port_why(const struct hub_port *port)
{
	if (port->live)
		return "live";
	if (port->bypassed)
		return "bypassed";
	if (port->bad)
		return "bad";
	if (port->cut_in)
		return "cut";
	return port->light ? "no receiver" : "dark";
}

static void saw(struct hub *hub, unsigned int i, const uint8_t *wire, unsigned int len,
		const char *remark, uint64_t now)
{
	if (hub->ops->seen)
		hub->ops->seen(hub->opaque, i, HUB_IN, wire, len, remark, now);
}

static void wake_by(struct hub *hub, uint64_t when)
{
	if (when < hub->wake)
		hub->wake = when;
}

/* --- waiting for a fault's sake ------------------------------------------- */

static void list_drop(struct hub_port *port, struct hub_waiting_list *list, uint32_t *count)
{
	struct hub_waiting *waiting;

	while ((waiting = STAILQ_FIRST(list))) {
		STAILQ_REMOVE_HEAD(list, entry);
		port->stats.dropped[HUB_DROP_IN_FLIGHT] += rfm_unit_frames(waiting->len);
		free(waiting);
	}
	*count = 0;
}

/* Returns NULL, and has counted it, if there is no room or memory. */
static struct hub_waiting *list_add(struct hub *hub, struct hub_port *port,
				    struct hub_waiting_list *list, uint32_t *count,
				    const uint8_t *wire, unsigned int len, uint64_t due)
{
	const unsigned int frames = rfm_unit_frames(len);
	struct hub_waiting *waiting = NULL;

	if (*count + frames <= hub->config.queue)
		waiting = calloc(1, sizeof(*waiting) + len);
	if (!waiting) {
		port->stats.dropped[HUB_DROP_OVERFLOW] += frames;
		return NULL;
	}
	waiting->due = due;
	waiting->len = len;
	memcpy(waiting->wire, wire, len);
	STAILQ_INSERT_TAIL(list, waiting, entry);
	*count += frames;
	wake_by(hub, due);
	return waiting;
}

/* --- the ring ------------------------------------------------------------- */

static unsigned int step_live(const struct hub *hub, unsigned int from, unsigned int step)
{
	unsigned int i = from;

	do
		i = (i + step) % hub->count;
	while (!hub->ports[i].live && i != from);
	return i;
}

static void enqueue_one(struct hub *hub, unsigned int to, const uint8_t *wire, unsigned int len,
			uint64_t ready)
{
	struct hub_port *port = &hub->ports[to];
	const unsigned int frames = rfm_unit_frames(len);
	struct rfm_fifo_slot *slot;

	if (port->cut_out || rfm_fifo_used(&port->egress) + frames > port->egress.size) {
		port->stats.dropped[port->cut_out ? HUB_DROP_CUT : HUB_DROP_OVERFLOW] += frames;
		return;
	}
	if (ready < port->last_ready)
		ready = port->last_ready;
	port->last_ready = ready;
	slot = rfm_fifo_put(&port->egress, frames);
	slot->ready = ready;
	slot->tag = 0;
	slot->length = len;
	memcpy(slot->wire, wire, len);
	if (rfm_fifo_used(&port->egress) == frames)
		hub->ops->transmit(hub->opaque, to);
}

/* On a paced line each frame has its time; a damaged train must stay one. */
static void enqueue(struct hub *hub, unsigned int to, const uint8_t *wire, unsigned int len,
		    uint64_t ready)
{
	uint8_t frame[RFM_FRAME_MAX];
	struct rfm_frame train;

	if (!rfm_frame_is_train(wire) || !hub->ports[to].config.line.paced ||
	    rfm_frame_decode_header(wire, &train) != RFM_FRAME_OK) {
		enqueue_one(hub, to, wire, len, ready);
		return;
	}
	for (unsigned int k = 0; k < train.count; k++)
		enqueue_one(hub, to, frame, rfm_train_frame(wire, k, frame), ready);
}

static void drain(struct hub_port *port, enum hub_drop reason)
{
	const struct rfm_fifo_slot *slot;

	while ((slot = rfm_fifo_drop(&port->egress)))
		port->stats.dropped[reason] += slot->frames;
}

static bool is_node(const struct hub_port *port)
{
	return port->peer.incarnation && !port->peer.hub;
}

static void leave(struct hub *hub, unsigned int i)
{
	struct hub_port *port = &hub->ports[i];
	const struct rfm_fifo_slot *slot;

	if (is_node(port))
		rogues_left(&hub->rogues, port->peer.id, &port->life);
	if (hub->config.glitchless && hub->live_count) {
		unsigned int next = step_live(hub, i, 1);

		while ((slot = rfm_fifo_drop(&port->egress)))
			enqueue(hub, next, slot->wire, slot->length, slot->ready);
	}
	drain(port, HUB_DROP_IN_FLIGHT);
	list_drop(port, &port->delayed, &port->delayed_count);
	list_drop(port, &port->overtaken, &port->overtaken_count);
	port->frozen_until = port->last_due = 0;
}

static void join(struct hub *hub, unsigned int i)
{
	struct hub_port *port = &hub->ports[i];

	port->stats.joined++;
	if (is_node(port))
		rogues_back(&hub->rogues, port->peer.id, port->peer.incarnation);
}

/* Another port comes before this one now. */
static void disturb(struct hub *hub, unsigned int i, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	if (hub->config.glitchless)
		return;
	drain(port, HUB_DROP_IN_FLIGHT);
	/* Hubs that are connected in a circle would tell each other without end. */
	if (port->peer.hub && port->stats.sync_losses && now - port->blinked_at < HUB_CALM_NS)
		return;
	port->blinked_at = now;
	port->blink = true;
	port->stats.sync_losses++;
	hub->ops->transmit(hub->opaque, i);
}

static void set_ring(struct hub *hub)
{
	hub->live_count = 0;
	for (unsigned int i = 0; i < hub->count; i++) {
		struct hub_port *port = &hub->ports[i];

		port->live = port->light && port->up && !port->bypassed && !port->bad &&
			     !port->cut_in;
		hub->live_count += port->live;
	}
}

/* Something about port @i has changed: is the ring another one? */
static void settle(struct hub *hub, unsigned int i, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	bool was_live = port->live;

	set_ring(hub);
	hub->ops->transmit(hub->opaque, i);
	if (port->live != was_live) {
		if (was_live)
			leave(hub, i);
		else
			join(hub, i);
		if (hub->live_count) {
			unsigned int next = step_live(hub, i, 1);
			unsigned int previous = step_live(hub, i, hub->count - 1);

			if (next != i)
				disturb(hub, next, now);
			hub->ports[previous].next = port->live ? i : next;
			hub->ports[next].previous = port->live ? i : previous;
			port->next = next;
			port->previous = previous;
		}
	}
	hub->ops->changed(hub->opaque, i);
}

void hub_set_light(struct hub *hub, unsigned int i, bool on, const struct rfm_link_self *peer,
		   uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	if (on && (peer->incarnation != port->peer.incarnation || peer->id != port->peer.id))
		port->life = (struct rogue_life){ .incarnation = peer->incarnation };
	if (on)
		port->peer = *peer;
	if (on && port->bad && now - port->bad_since >= SECOND)
		port->bad = false;
	port->light = on;
	settle(hub, i, now);
}

void hub_set_permit(struct hub *hub, unsigned int i, const struct rfm_permit *permit)
{
	hub->ports[i].permit = permit;
}

void hub_set_up(struct hub *hub, unsigned int i, bool up, uint64_t now)
{
	hub->ports[i].up = up;
	hub->ports[i].blink = false;	/* who has just come has not seen our light yet */
	settle(hub, i, now);
}

void hub_bypass(struct hub *hub, unsigned int i, bool on, uint64_t now)
{
	hub->ports[i].bypassed = on;
	settle(hub, i, now);
}

void hub_cut(struct hub *hub, unsigned int i, unsigned int sides, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	port->cut_in |= !!(sides & HUB_IN);
	port->cut_out |= !!(sides & HUB_OUT);
	if (port->cut_out)
		drain(port, HUB_DROP_CUT);
	settle(hub, i, now);
}

void hub_restore(struct hub *hub, unsigned int i, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	port->cut_in = port->cut_out = port->bad = false;
	port->bad_count = 0;
	settle(hub, i, now);
}

/* --- frames --------------------------------------------------------------- */

void hub_receive_bad(struct hub *hub, unsigned int i, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	port->stats.damaged++;
	if (!hub->config.bad_limit || port->bad)
		return;
	if (now - port->bad_since >= SECOND) {
		port->bad_since = now;
		port->bad_count = 0;
	}
	if (++port->bad_count < hub->config.bad_limit)
		return;
	port->bad = true;
	port->bad_since = now;
	port->bad_count = 0;
	port->stats.bad++;
	settle(hub, i, now);
}

static void send_on(struct hub *hub, unsigned int i, const uint8_t *wire, unsigned int len,
		    uint64_t now)
{
	unsigned int next = hub->ports[i].next;
	const struct rfm_line_config *line = &hub->ports[next].config.line;

	enqueue(hub, next, wire, len, line->paced ? now + line->hop_ns : now);
}

/* It bears the number of the last frame of its source. */
static bool is_unnumbered(const uint8_t *wire)
{
	return peek_type(wire) == RFM_FRAME_HEARTBEAT || peek_type(wire) == RFM_FRAME_BREAK;
}

static bool overtakes(const uint8_t *wire, const uint8_t *other)
{
	return peek_source(wire) == peek_source(other) &&
	       peek_incarnation(wire) == peek_incarnation(other) &&
	       (peek_seq(wire) > peek_seq(other) ||
		(peek_seq(wire) == peek_seq(other) && is_unnumbered(wire)));
}

/* A frame of REORDER leaves early, after waiting so: whoever keeps books learns it. */
static void tell_let_go(struct hub *hub, unsigned int i, const uint8_t *wire,
			const struct hub_waiting *waited, uint64_t now)
{
	struct rfm_frame frame;
	struct hub_firing firing = {
		.fault = waited->fault, .kind = FAULT_REORDER, .port = i, .frame = &frame,
		.let_go = true, .overtaken_by = waited->overtaken_by,
		.heartbeats = waited->heartbeats, .now = now,
	};

	if (hub->ops->fired && rfm_frame_decode(wire, &frame) == RFM_FRAME_OK)
		hub->ops->fired(hub->opaque, &firing);
}

/* A frame that was held back leaves. */
static void release(struct hub *hub, unsigned int i, struct hub_waiting *waiting, uint64_t now)
{
	if (waiting->overtaken_by < waiting->depth)
		tell_let_go(hub, i, waiting->wire, waiting, now);
	send_on(hub, i, waiting->wire, waiting->len, now);
}

/* A frame has gone: who has been overtaken often enough goes now. */
static void let_overtaken_go(struct hub *hub, unsigned int i, const uint8_t *wire, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	struct hub_waiting_list still = STAILQ_HEAD_INITIALIZER(still);
	struct hub_waiting *waiting;

	while ((waiting = STAILQ_FIRST(&port->overtaken))) {
		STAILQ_REMOVE_HEAD(&port->overtaken, entry);
		if (overtakes(wire, waiting->wire)) {
			waiting->overtakers--;
			if (is_unnumbered(wire))
				waiting->heartbeats++;
			else
				waiting->overtaken_by++;
		}
		if (waiting->overtakers) {
			STAILQ_INSERT_TAIL(&still, waiting, entry);
			continue;
		}
		port->overtaken_count -= rfm_unit_frames(waiting->len);
		release(hub, i, waiting, now);
		free(waiting);
	}
	STAILQ_CONCAT(&port->overtaken, &still);
}

/* Pass a frame on, behind those that are delayed. */
static void pass(struct hub *hub, unsigned int i, const uint8_t *wire, unsigned int len,
		 uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	if (port->delayed_count) {
		list_add(hub, port, &port->delayed, &port->delayed_count, wire, len,
			 port->last_due);
		return;
	}
	send_on(hub, i, wire, len, now);
	if (port->overtaken_count)
		let_overtaken_go(hub, i, wire, now);
}

static void hold_to_be_overtaken(struct hub *hub, unsigned int i, struct fault *fault,
				 const uint8_t *wire, unsigned int len, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	struct hub_waiting *waiting;

	if (port->overtaken_count >= OVERTAKEN_MAX) {
		fault->in_vain++;
		tell_let_go(hub, i, wire, &(struct hub_waiting){ .fault = fault->id }, now);
		pass(hub, i, wire, len, now);
		return;
	}
	waiting = list_add(hub, port, &port->overtaken, &port->overtaken_count, wire, len,
			   now + HUB_OVERTAKE_NS);
	if (waiting) {
		waiting->fault = fault->id;
		waiting->depth = waiting->overtakers = fault->spec.depth;
	}
}

static void delay(struct hub *hub, unsigned int i, const uint8_t *wire, unsigned int len,
		  uint64_t until)
{
	struct hub_port *port = &hub->ports[i];

	if (until > port->last_due)
		port->last_due = until;
	list_add(hub, port, &port->delayed, &port->delayed_count, wire, len, port->last_due);
}

/* The hub is a link of its own, and says that it is no node. */
static void count_hop(uint8_t *wire)
{
	uint16_t marks = frame_marks(wire);
	uint8_t hubs = marks + (1 << RFM_MARK_HUBS_SHIFT);	/* modulo 16; nothing is carried over */

	rfm_frame_set_path(wire, peek_hops(wire) + 1, (marks & 0xff00) | hubs);
}

static void strike(struct hub *hub, unsigned int i, struct fault *fault,
		   const struct rfm_frame *frame, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	enum fault_kind kind = fault->spec.kind;
	struct hub_firing firing = {
		.fault = fault->id, .kind = kind, .port = i, .frame = frame, .now = now,
	};
	const char *remark = kind == FAULT_DROP ? drops[HUB_DROP_FAULT].remark :
						  fault_remarks[kind];

	port->stats.faults[kind]++;
	saw(hub, i, wire, len, remark, now);
	count_hop(wire);
	if (kind == FAULT_CORRUPT)
		firing.bit = fault_flip(fault, wire, len);
	if (hub->ops->fired)
		hub->ops->fired(hub->opaque, &firing);
	switch (kind) {
	case FAULT_DROP:
		port->stats.dropped[HUB_DROP_FAULT] += rfm_unit_frames(len);
		break;
	case FAULT_CORRUPT:
		/* It arrives nowhere, so it overtakes nobody. */
		if (port->delayed_count)
			pass(hub, i, wire, len, now);
		else
			send_on(hub, i, wire, len, now);
		break;
	case FAULT_DUPLICATE:
		port->stats.duplicates += rfm_unit_frames(len);
		pass(hub, i, wire, len, now);
		pass(hub, i, wire, len, now);
		break;
	case FAULT_REORDER:
		hold_to_be_overtaken(hub, i, fault, wire, len, now);
		break;
	case FAULT_FREEZE:
		port->frozen_until = now + fault->spec.time;
		/* fall through */
	case FAULT_DELAY:
		delay(hub, i, wire, len, now + fault->spec.time);
		break;
	default:
		break;
	}
	wake_by(hub, faults_tick(&hub->faults, now));
}

/*
 * Was it made behind this port in the name of another? Where the certificate does
 * not allow its source it can only have come from us, so not before it came to us.
 */
static bool is_forged(struct hub *hub, const struct hub_port *port, const uint8_t *wire)
{
	struct rogue_life *passed = &hub->passed[peek_source(wire)];
	uint64_t incarnation = peek_incarnation(wire);

	if (port->permit && !port->peer.hub && !rfm_permit_node(port->permit, peek_source(wire)))
		return incarnation > passed->incarnation ||
		       (incarnation == passed->incarnation &&
			(peek_last(wire) > passed->seq || peek_time(wire) > passed->time));
	if (incarnation > passed->incarnation)
		*passed = (struct rogue_life){ .incarnation = incarnation };
	if (incarnation == passed->incarnation)
		rogue_life_seen(passed, wire);
	return false;
}

/* What a frame that cannot go on dies of; HUB_DROPS: nothing. */
static enum hub_drop verdict(struct hub *hub, unsigned int i, const uint8_t *wire)
{
	struct hub_port *port = &hub->ports[i];

	if (!port->live)
		return HUB_DROP_DEAD_PORT;
	if (!peek_path_good(wire))
		return HUB_DROP_DAMAGED;
	if (peek_hops(wire) >= RFM_NODE_HOP_LIMIT)
		return HUB_DROP_HOP_LIMIT;
	if (is_forged(hub, port, wire)) {
		if (hub->ops->forged)
			hub->ops->forged(hub->opaque, i);
		return HUB_DROP_FORGED;
	}
	if (is_node(port) && peek_source(wire) == port->peer.id &&
	    peek_incarnation(wire) == port->life.incarnation)
		rogue_life_seen(&port->life, wire);
	return rogues_has(&hub->rogues, wire) ? HUB_DROP_ROGUE : HUB_DROPS;
}

static void receive(struct hub *hub, unsigned int i, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	const unsigned int frames = rfm_unit_frames(len);
	enum hub_drop reason = verdict(hub, i, wire);
	struct fault *fault = NULL;
	struct rfm_frame frame;
	bool whole = false;

	port->stats.in += frames;
	if (reason == HUB_DROPS && (hub->config.bad_limit || faults_armed(&hub->faults))) {
		whole = rfm_frame_decode_header(wire, &frame) == RFM_FRAME_OK;
		if (!whole)
			hub_receive_bad(hub, i, now);
		/* It may have been the one damaged frame too many. */
		if (!port->live)
			reason = HUB_DROP_DEAD_PORT;
	}
	if (reason != HUB_DROPS) {
		port->stats.dropped[reason] += frames;
		saw(hub, i, wire, len, drops[reason].remark, now);
		if (reason == HUB_DROP_DAMAGED)
			hub_receive_bad(hub, i, now);
		return;
	}
	if (whole && faults_armed(&hub->faults) && rfm_frame_decode(wire, &frame) == RFM_FRAME_OK)
		fault = faults_meet(&hub->faults, i, &frame, now);
	if (fault) {
		strike(hub, i, fault, &frame, wire, len, now);
		return;
	}
	saw(hub, i, wire, len, NULL, now);
	count_hop(wire);
	pass(hub, i, wire, len, now);
}

/* May a train pass as one? */
static bool is_plain(const struct hub *hub, unsigned int i)
{
	const struct hub_port *port = &hub->ports[i];

	return !faults_armed(&hub->faults) && !port->delayed_count && !port->overtaken_count &&
	       hub->config.queue >= 2 * RFM_TRAIN_FRAMES;
}

void hub_receive(struct hub *hub, unsigned int i, uint8_t *wire, unsigned int len, uint64_t now)
{
	uint8_t frame[RFM_FRAME_MAX];
	struct rfm_frame train;

	hub->ports[i].stats.in_bytes += len;
	/* One that is damaged stays as it is: its frames would be taken for whole. */
	if (!rfm_frame_is_train(wire) || is_plain(hub, i) ||
	    rfm_frame_decode_header(wire, &train) != RFM_FRAME_OK) {
		receive(hub, i, wire, len, now);
		return;
	}
	for (unsigned int k = 0; k < train.count; k++)
		receive(hub, i, frame, rfm_train_frame(wire, k, frame), now);
}

void hub_refuse(struct hub *hub, unsigned int i, unsigned int len)
{
	struct hub_port_stats *stats = &hub->ports[i].stats;

	stats->in += rfm_unit_frames(len);
	stats->in_bytes += len;
	stats->dropped[HUB_DROP_DEAD_PORT] += rfm_unit_frames(len);
}

bool hub_port_shines(const struct hub_port *port)
{
	return !port->bypassed && !port->bad && !port->cut_out;
}

bool hub_light_out(struct hub *hub, unsigned int i)
{
	struct hub_port *port = &hub->ports[i];

	if (!hub_port_shines(port))
		return false;
	if (!port->blink)
		return true;
	port->blink = false;
	hub->ops->transmit(hub->opaque, i);
	return false;
}

unsigned int hub_pull(struct hub *hub, unsigned int i, uint8_t *wire, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];
	const struct rfm_fifo_slot *slot;

	if (!port->live || !hub_port_shines(port) || port->blink || now < port->frozen_until)
		return 0;
	slot = rfm_fifo_take(&port->egress, now);
	if (!slot)
		return 0;
	memcpy(wire, slot->wire, slot->length);
	port->stats.out += slot->frames;
	port->stats.out_bytes += slot->length;
	if (hub->ops->seen)
		hub->ops->seen(hub->opaque, i, HUB_OUT, slot->wire, slot->length, NULL, now);
	return slot->length;
}

uint64_t hub_next_pull(struct hub *hub, unsigned int i)
{
	struct hub_port *port = &hub->ports[i];
	uint64_t next;

	if (!port->live || !hub_port_shines(port) || port->blink)
		return UINT64_MAX;
	next = rfm_fifo_next(&port->egress);
	return next > port->frozen_until ? next : port->frozen_until;
}

/* --- time ----------------------------------------------------------------- */

/* Frames leave @list of port @i, whose time has come. */
static void tick_list(struct hub *hub, unsigned int i, struct hub_waiting_list *list,
		      uint32_t *count, uint64_t now)
{
	struct hub_waiting *waiting;

	while ((waiting = STAILQ_FIRST(list)) && waiting->due <= now) {
		struct fault *fault = waiting->depth && waiting->overtakers == waiting->depth ?
			faults_find(&hub->faults, waiting->fault) : NULL;

		if (fault)
			fault->in_vain++;
		STAILQ_REMOVE_HEAD(list, entry);
		*count -= rfm_unit_frames(waiting->len);
		release(hub, i, waiting, now);
		if (list == &hub->ports[i].delayed)
			let_overtaken_go(hub, i, waiting->wire, now);
		free(waiting);
	}
	if (waiting)
		wake_by(hub, waiting->due);
}

static void tick_frozen(struct hub *hub, unsigned int i, uint64_t now)
{
	struct hub_port *port = &hub->ports[i];

	if (port->frozen_until > now) {
		wake_by(hub, port->frozen_until);
	} else if (port->frozen_until) {
		port->frozen_until = 0;
		hub->ops->transmit(hub->opaque, i);
	}
}

uint64_t hub_tick(struct hub *hub, uint64_t now)
{
	hub->wake = faults_tick(&hub->faults, now);
	for (unsigned int i = 0; i < hub->count; i++) {
		struct hub_port *port = &hub->ports[i];

		tick_list(hub, i, &port->delayed, &port->delayed_count, now);
		tick_frozen(hub, i, now);
		tick_list(hub, i, &port->overtaken, &port->overtaken_count, now);
	}
	return hub->wake;
}

uint64_t hub_waits(const struct hub *hub)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < hub->count; i++)
		sum += rfm_fifo_used(&hub->ports[i].egress) + hub->ports[i].delayed_count +
		       hub->ports[i].overtaken_count;
	return sum;
}

/* --- life ----------------------------------------------------------------- */

int hub_init(struct hub *hub, const struct hub_config *config,
	     const struct hub_port_config *ports, unsigned int count,
	     const struct hub_ops *ops, void *opaque, uint64_t now)
{
	*hub = (struct hub){
		.config = *config, .ops = ops, .opaque = opaque, .wake = UINT64_MAX,
	};
	hub->ports = calloc(count, sizeof(*hub->ports));
	if (!hub->ports)
		return -1;
	for (; hub->count < count; hub->count++) {
		struct hub_port *port = &hub->ports[hub->count];

		port->config = ports[hub->count];
		port->bypassed = port->config.bypassed;
		port->bad_since = now;
		port->next = port->previous = hub->count;
		STAILQ_INIT(&port->delayed);
		STAILQ_INIT(&port->overtaken);
		if (rfm_fifo_init(&port->egress, config->queue, &port->config.line, now) < 0) {
			hub_destroy(hub);
			return -1;
		}
	}
	return 0;
}

void hub_destroy(struct hub *hub)
{
	for (unsigned int i = 0; i < hub->count; i++) {
		struct hub_port *port = &hub->ports[i];

		list_drop(port, &port->delayed, &port->delayed_count);
		list_drop(port, &port->overtaken, &port->overtaken_count);
		rfm_fifo_destroy(&port->egress);
	}
	free(hub->ports);
	faults_destroy(&hub->faults);
	*hub = (struct hub){ 0 };
}
