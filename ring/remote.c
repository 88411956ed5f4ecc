// SPDX-License-Identifier: MIT
/* Operations at one node: what this node asks of others. */
#include "ring/remote-private.h"

#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

/*
 * Without a word the same is asked again: twice as long each time, and not before a packet is
 * round.
 */
#define AGAIN_FIRST_NS		2000000u
#define AGAIN_LAST_NS		200000000u
#define AGAIN_TURNS		8u
/* Before its deadline; so that the verdict of each packet tells whether something was done. */
#define NOTHING_NEW_NS		500000000u
#define PARTS_OF_ONE		(RFM_REMOTE_PARTS / 2)	/* others have their turn */

/* --- operations of this node ---------------------------------------------------- */

static uint32_t total(const struct rfm_remote_request *request)
{
	return is_atomic(request->op) ? request->width : request->length;
}

/* The next message to a port, at or behind @request; NULL: there is none. */
static struct rfm_remote_request *to_port(struct rfm_remote_request *request, uint8_t node,
					  uint32_t port)
{
	while (request && (request->op != RFM_REMOTE_SEND || request->node != node ||
			   request->key != port))
		request = request->next;
	return request;
}

/* Messages to a port go one after the other, so that they come in their order. */
static void unlink_request(struct rfm_remote *remote, struct rfm_remote_request *request)
{
	struct rfm_remote_request **at = &remote->first, *before = NULL, *behind;

	while (*at && *at != request) {
		before = *at;
		at = &before->next;
	}
	if (!*at)
		return;
	*at = request->next;
	if (remote->last == request)
		remote->last = before;
	if (request->op != RFM_REMOTE_SEND || request->follows)
		return;
	behind = to_port(request->next, request->node, request->key);
	if (behind)
		behind->follows = false;
}

static void end_request(struct rfm_remote *remote, struct rfm_remote_request *request,
			enum rfm_remote_result result)
{
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++)
		if (remote->parts[i].request == request)
			remote->parts[i].request = NULL;
	unlink_request(remote, request);
	request->result = result;
	if (result == RFM_REMOTE_OK)
		remote->stats.done++;
	else
		remote->stats.failed++;
	request->done(request);
}

/* Is the node at it, or may it be? */
static bool is_open(const struct rfm_remote *remote, const struct rfm_remote_request *request)
{
	bool open = false;

	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++)
		if (remote->parts[i].request == request)
			open |= remote->parts[i].taken || remote->parts[i].lost ||
				remote->parts[i].under_way;
	return open;
}

/* May the node have changed something for it? */
static bool is_maybe_done(const struct rfm_remote *remote, const struct rfm_remote_request *request)
{
	return !is_reading(request->op) && (request->finished || is_open(remote, request));
}

/* It cannot go on. What is known of it? */
static void fail_request(struct rfm_remote *remote, struct rfm_remote_request *request,
			 enum rfm_remote_result otherwise)
{
	end_request(remote, request, is_maybe_done(remote, request) ? RFM_REMOTE_UNKNOWN : otherwise);
}

/* The node has begun another life, which knows nothing of what was asked of the one before. */
static void begin_anew(struct rfm_remote *remote, struct rfm_remote_request *request,
		       uint64_t incarnation)
{
	if (is_maybe_done(remote, request)) {
		end_request(remote, request, RFM_REMOTE_UNKNOWN);
		return;
	}
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++)
		if (remote->parts[i].request == request)
			remote->parts[i].request = NULL;
	request->incarnation = incarnation;
	request->own_incarnation = remote->node->config.incarnation;
	request->message = ++remote->message;
	request->asked = request->finished = 0;
	remote->ops->wake(remote->opaque);
}

void rfm_remote_ask(struct rfm_remote *remote, struct rfm_remote_request *request, uint64_t now)
{
	request->next = NULL;
	request->deadline = now + RFM_REMOTE_PATIENCE_NS;
	request->asked = request->finished = 0;
	request->incarnation = remote->node->sources[request->node].current.incarnation;
	request->own_incarnation = remote->node->config.incarnation;
	request->old = 0;
	request->message = ++remote->message;
	request->follows = request->op == RFM_REMOTE_SEND &&
			   to_port(remote->first, request->node, request->key);
	request->number = ++remote->stats.asked;
	if (remote->last)
		remote->last->next = request;
	else
		remote->first = request;
	remote->last = request;
	remote->ops->wake(remote->opaque);
}

void rfm_remote_cancel(struct rfm_remote *remote, struct rfm_remote_request *request)
{
	for (const struct rfm_remote_request *one = remote->first; one; one = one->next) {
		if (one == request) {
			end_request(remote, request, RFM_REMOTE_CANCELLED);
			return;
		}
	}
}

static bool send_here(struct rfm_remote *remote, struct rfm_remote_request *request)
{
	int room = remote->ops->port_room ? remote->ops->port_room(remote->opaque, request->key) : -1;
	enum rfm_remote_result result;
	void *data;

	if (room < 0) {
		end_request(remote, request, RFM_REMOTE_CLOSED);
		return true;
	}
	data = room ? malloc(request->length) : NULL;
	if (!data)
		return false;
	memcpy(data, request->data, request->length);
	result = remote->ops->message(remote->opaque, request->key, remote->node->config.id, data,
				      request->length);
	if (result != RFM_REMOTE_OK)
		free(data);
	end_request(remote, request, result);
	return true;
}

/* Of this node itself: no ring is needed. Returns false if it has to wait for room. */
static bool do_here(struct rfm_remote *remote, struct rfm_remote_request *request)
{
	enum rfm_remote_result result;

	if (request->op == RFM_REMOTE_SEND)
		return send_here(remote, request);
	result = request->op == RFM_REMOTE_MERGE ? RFM_REMOTE_INVALID :
		rfm_remote_check(remote, remote->node->config.id, request->op, request->width, request->key,
		      request->offset, total(request));

	if (result != RFM_REMOTE_OK) {
		end_request(remote, request, result);
		return true;
	}
	if (is_atomic(request->op)) {
		if (!request->key && !remote->ops->may_update(remote->opaque))
			return false;
		request->old = rfm_remote_change_word(remote, request->op, request->width, request->key,
					   request->offset, request->compare, request->value);
	} else if (request->op == RFM_REMOTE_READ) {
		remote->ops->load(remote->opaque, request->key, request->offset, request->data,
				  request->length);
	} else {
		remote->ops->store(remote->opaque, request->key, request->offset, request->data,
				   request->length);
	}
	end_request(remote, request, RFM_REMOTE_OK);
	return true;
}

/* --- parts ---------------------------------------------------------------------- */

static bool is_writing(unsigned int op)
{
	return op == RFM_REMOTE_WRITE || op == RFM_REMOTE_SEND;
}

static unsigned int request_header(unsigned int op)
{
	return is_atomic(op) ? ATOMIC_REQUEST : op == RFM_REMOTE_SEND ? SEND_HEADER : REQUEST_HEADER;
}

static unsigned int part_max(const struct rfm_remote *remote,
			     const struct rfm_remote_request *request)
{
	unsigned int max = rfm_node_packet_max(remote->node);

	return is_atomic(request->op) ? request->width :
	       max - (is_reading(request->op) ? ANSWER_HEADER : request_header(request->op));
}

static struct rfm_remote_part *free_part(struct rfm_remote *remote,
					 const struct rfm_remote_request *request)
{
	struct rfm_remote_part *unused = NULL;
	unsigned int own = 0;

	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++) {
		own += remote->parts[i].request == request;
		if (!remote->parts[i].request)
			unused = &remote->parts[i];
	}
	return own < PARTS_OF_ONE ? unused : NULL;
}

static void new_ticket(struct rfm_remote *remote, struct rfm_remote_part *part)
{
	if (!++remote->ticket)		/* 0: none yet */
		remote->ticket++;
	part->ticket = remote->ticket;
	part->again = 0;
	part->backoff = BACKOFF_FIRST_NS;
	part->patience = AGAIN_TURNS * remote->node->turn_ns;
	if (part->patience < AGAIN_FIRST_NS)
		part->patience = AGAIN_FIRST_NS;
	part->taken = part->lost = false;
	part->under_way = part->sent = 0;
}

static uint64_t place_there(const struct rfm_remote *remote,
			    const struct rfm_remote_request *request, uint32_t at)
{
	uint64_t offset = request->offset + at;

	return request->op == RFM_REMOTE_MERGE ?
	       (offset + remote->node->address_offset) % RFM_RING_SPACE : offset;
}

/* Returns false if there is no room: for nobody now. */
static bool send_part(struct rfm_remote *remote, struct rfm_remote_part *part, uint64_t now)
{
	const struct rfm_remote_request *request = part->request;
	unsigned int number = part - remote->parts;
	struct rfm_packet packet = {
		.node = request->node, .class = RFM_PACKET_REQUEST, .first = true, .last = true,
		.stream = number, .length = request_header(request->op),
	};
	uint8_t data[RFM_PACKET_DATA];

	if (is_writing(request->op))
		packet.length += part->length;
	if (!rfm_node_may_packet(remote->node, packet.length))
		return false;
	memset(data, 0, ATOMIC_REQUEST);
	data[AT_OP] = request->op;
	data[AT_WIDTH] = request->width;
	put32(data + AT_TICKET, part->ticket);
	put64(data + AT_INCARNATION, request->incarnation);
	put64(data + AT_OFFSET, place_there(remote, request, part->at));
	put32(data + AT_KEY, request->key);
	put32(data + AT_COUNT, part->length);
	if (is_atomic(request->op)) {
		put64(data + AT_COMPARE, request->compare);
		put64(data + AT_VALUE, request->value);
	} else if (request->op == RFM_REMOTE_SEND) {
		put32(data + AT_MESSAGE, request->message);
		put32(data + AT_TOTAL, request->length);
	}
	if (is_writing(request->op))
		memcpy(data + request_header(request->op),
		       (const uint8_t *)request->data + part->at, part->length);
	switch (rfm_node_packet(remote->node, &packet, data, (uint64_t)part->ticket << 8 | number, now)) {
	case RFM_INSERT_OK:
		part->under_way++;
		part->sent++;
		part->again = now + part->patience;
		if (part->patience < AGAIN_LAST_NS)
			part->patience *= 2;
		return true;
	case RFM_INSERT_OFFLINE:
		fail_request(remote, part->request, RFM_REMOTE_DARK);
		return true;
	default:
		return false;
	}
}

static void end_part(struct rfm_remote *remote, struct rfm_remote_part *part,
		     enum rfm_packet_fate fate)
{
	part->under_way--;
	switch (fate) {
	case RFM_PACKET_TAKEN:
		part->taken = true;
		return;
	case RFM_PACKET_NO_NODE:
		fail_request(remote, part->request, RFM_REMOTE_NO_NODE);
		return;
	case RFM_PACKET_DARK:
		fail_request(remote, part->request, RFM_REMOTE_DARK);
		return;
	case RFM_PACKET_LOST:
		part->lost = true;
		part->again = 0;
		break;
	default:
		part->sent--;
		part->again = LATER;
		break;
	}
	remote->ops->wake(remote->opaque);
}

/* So many more of its bytes are done. */
static void part_answered(struct rfm_remote *remote, struct rfm_remote_part *part, uint32_t done)
{
	struct rfm_remote_request *request = part->request;

	request->finished += done;
	part->at += done;
	part->length -= done;
	if (part->length) {		/* its packets are smaller than ours */
		new_ticket(remote, part);
		return;
	}
	part->request = NULL;
	if (request->finished == total(request))
		end_request(remote, request, RFM_REMOTE_OK);
}

static void receive_answer(struct rfm_remote *remote, const struct rfm_packet *packet,
			   const uint8_t *data)
{
	struct rfm_remote_part *part = &remote->parts[packet->stream];
	struct rfm_remote_request *request = part->request;
	uint32_t got = packet->length - ANSWER_HEADER;

	if (!request || part->ticket != get32(data + AT_TICKET) || request->node != packet->node ||
	    data[AT_OP + 1] != request->op || data[AT_RESULT] > RFM_REMOTE_WITHDRAWN) {
		remote->stats.strange++;
		return;
	}
	if (data[AT_RESULT] == RFM_REMOTE_RESTARTED) {
		/* This packet has done nothing; one before it may have, in the former life. */
		part->taken = part->sent > 1;
		part->lost = false;
		part->under_way = 0;
		begin_anew(remote, request, packet->incarnation);
		return;
	}
	if (data[AT_RESULT] == RFM_REMOTE_WITHDRAWN && !is_writing(request->op) &&
	    remote->now + 2 * ANSWER_PATIENCE_NS < request->deadline) {
		/* Nothing was done, for want of room on the ring: there is time to ask anew. */
		new_ticket(remote, part);
		remote->ops->wake(remote->opaque);
		return;
	}
	if (data[AT_RESULT] != RFM_REMOTE_OK) {
		end_request(remote, request, data[AT_RESULT]);
		return;
	}
	if (is_reading(request->op) && (!got || got > part->length || part->got)) {
		remote->stats.strange++;
		return;
	}
	part->taken = part->lost = false;
	part->under_way = 0;
	if (is_reading(request->op))
		memcpy((uint8_t *)request->data + part->at, data + ANSWER_HEADER, got);
	else
		request->old = get64(data + AT_OLD);
	remote->ops->wake(remote->opaque);
	if (request->op == RFM_REMOTE_MERGE)
		part->got = got;
	else
		part_answered(remote, part, is_reading(request->op) ? got : part->length);
}

/* --- merging: what the own memory does not have --------------------------------------- */

void rfm_remote_touch(struct rfm_remote *remote, uint32_t offset, uint32_t length)
{
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++) {
		struct rfm_remote_touched *touched = &remote->touched[i];
		uint32_t from = offset > touched->first ? offset - touched->first : 0;
		uint64_t end = (uint64_t)offset + length - touched->first;

		if (!touched->length || offset + (uint64_t)length <= touched->first)
			continue;
		for (uint32_t at = from; at < end && at < touched->length; at++)
			atomic_fetch_or_explicit(&touched->bits[at / 8], 1u << at % 8,
						 memory_order_relaxed);
	}
}

static bool is_touched(const struct rfm_remote_touched *touched, uint32_t at)
{
	return atomic_load_explicit(&touched->bits[at / 8], memory_order_relaxed) >> at % 8 & 1;
}

static void begin_merge(struct rfm_remote *remote, const struct rfm_remote_part *part)
{
	struct rfm_remote_touched *touched = &remote->touched[part - remote->parts];

	memset((void *)touched->bits, 0, sizeof(touched->bits));
	touched->first = part->request->offset + part->at;
	touched->length = part->length;
}

static void merge(struct rfm_remote *remote, uint64_t offset, const uint8_t *data, uint32_t length)
{
	if (remote->ops->merge)
		remote->ops->merge(remote->opaque, offset, data, length);
	else
		remote->ops->store(remote->opaque, 0, offset, data, length);
}

/* Before any new part is there. What was given up or has come needs no watching. */
static void run_merges(struct rfm_remote *remote)
{
	remote->merging = 0;
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++) {
		struct rfm_remote_touched *touched = &remote->touched[i];
		struct rfm_remote_part *part = &remote->parts[i];
		const struct rfm_remote_request *request = part->request;
		uint32_t got = part->got, base, end;

		if (!request || request->op != RFM_REMOTE_MERGE) {
			touched->length = 0;
			continue;
		}
		part->got = 0;
		base = request->offset + part->at - touched->first;
		for (uint32_t at = 0; at < got; at = end) {
			bool skip = is_touched(touched, base + at);

			for (end = at + 1; end < got && is_touched(touched, base + end) == skip;)
				end++;
			if (!skip)
				merge(remote, request->offset + part->at + at,
				      (const uint8_t *)request->data + part->at + at, end - at);
		}
		if (got)
			part_answered(remote, part, got);
		if (part->request)
			remote->merging++;
		else
			touched->length = 0;
	}
}

/* --- packets ----------------------------------------------------------------------- */

bool rfm_remote_take(struct rfm_remote *remote, const struct rfm_packet *packet,
		     const uint8_t *data)
{
	if (packet->first && packet->last && !packet->to_all && packet->stream < RFM_REMOTE_PARTS) {
		if (packet->class == RFM_PACKET_ANSWER && packet->length >= ANSWER_HEADER)
			return true;
		if (packet->class == RFM_PACKET_REQUEST)
			return rfm_serve_take(remote, packet, data);
	}
	remote->stats.refused++;
	return false;
}

void rfm_remote_packet(struct rfm_remote *remote, const struct rfm_packet *packet,
		       const uint8_t *data)
{
	if (packet->class == RFM_PACKET_ANSWER)
		receive_answer(remote, packet, data);
	else
		rfm_serve_packet(remote, packet, data);
}

void rfm_remote_packet_end(struct rfm_remote *remote, uint64_t cookie, enum rfm_packet_fate fate)
{
	struct rfm_remote_part *part = &remote->parts[(cookie & 0xff) % RFM_REMOTE_PARTS];

	if (cookie & COOKIE_ANSWER)
		rfm_serve_packet_end(remote, cookie, fate);
	else if (part->request && part->ticket == (uint32_t)(cookie >> 8))
		end_part(remote, part, fate);
}

/* --- what may go on --------------------------------------------------------------- */

static bool is_late(const struct rfm_remote_request *request, uint64_t now)
{
	return now + NOTHING_NEW_NS >= request->deadline;
}

static bool may_go_on(const struct rfm_remote_part *part, uint64_t now)
{
	return part->request && (part->taken || part->lost || !is_late(part->request, now));
}

/* Asked since @last was, by a done(): left for the next run, so that this one ends. */
static bool is_newer(const struct rfm_remote_request *request, uint64_t last)
{
	return request->number > last;
}

static void run_deadlines(struct rfm_remote *remote, uint64_t now, uint64_t *next)
{
	struct rfm_remote_request *request = remote->first;
	const uint64_t last = remote->stats.asked;

	while (request) {
		const struct rfm_source *source = &remote->node->sources[request->node];
		bool here = request->node == remote->node->config.id;

		if (is_newer(request, last)) {
			request = request->next;
			continue;
		}
		if (!here && atomic_load_explicit(&remote->node->insert.offline, memory_order_relaxed)) {
			fail_request(remote, request, RFM_REMOTE_DARK);
		} else if (!here && (!source->present || !source->current.incarnation)) {
			fail_request(remote, request, RFM_REMOTE_NO_NODE);
		} else if (!here && (request->own_incarnation != remote->node->config.incarnation ||
				     source->current.incarnation > request->incarnation)) {
			/* The other one takes what is sent now for something new, or is another. */
			begin_anew(remote, request, source->current.incarnation);
		} else if (now >= request->deadline ||
			   (is_late(request, now) && !is_open(remote, request))) {
			fail_request(remote, request, RFM_REMOTE_NO_ROOM);
		} else {
			uint64_t then = request->deadline - (is_late(request, now) ? 0 : NOTHING_NEW_NS);

			if (then < *next)
				*next = then;
			request = request->next;
			continue;
		}
		request = remote->first;	/* done() may have changed the list */
	}
}

static bool run_parts(struct rfm_remote *remote, uint64_t now, uint64_t *next)
{
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++) {
		struct rfm_remote_part *part = &remote->parts[i];

		if (may_go_on(part, now) && is_due(&part->again, &part->backoff, now, next) &&
		    !send_part(remote, part, now))
			return false;
	}
	return true;
}

static bool run_requests(struct rfm_remote *remote, uint64_t now)
{
	struct rfm_remote_request *request = remote->first, *after;
	const uint64_t last = remote->stats.asked;
	struct rfm_remote_part *part;

	for (; request; request = after) {
		after = request->next;
		if (request->follows || is_late(request, now) || is_newer(request, last))
			continue;
		if (!total(request) || total(request) > RFM_REMOTE_MAX) {
			end_request(remote, request, RFM_REMOTE_RANGE);
			after = remote->first;
			continue;
		}
		if (request->node == remote->node->config.id) {
			if (do_here(remote, request))
				after = remote->first;
			continue;
		}
		while (request->asked < total(request) && (part = free_part(remote, request))) {
			uint32_t left = total(request) - request->asked, max = part_max(remote, request);

			part->request = request;
			part->at = request->asked;
			part->length = left < max ? left : max;
			part->got = 0;
			new_ticket(remote, part);
			if (request->op == RFM_REMOTE_MERGE) {
				begin_merge(remote, part);
				remote->merging++;
			}
			request->asked += part->length;
			if (!send_part(remote, part, now))
				return false;
			if (part->request != request) {
				after = remote->first;	/* it has ended: dark */
				break;
			}
		}
	}
	return true;
}

uint64_t rfm_remote_run(struct rfm_remote *remote, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	remote->now = now;
	run_deadlines(remote, now, &next);
	run_merges(remote);
	rfm_message_run(remote, now, &next);
	/* What others wait for first. */
	if (rfm_serve_run(remote, now, &next) && run_parts(remote, now, &next))
		run_requests(remote, now);
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++)
		/* What is due has found no room: packet_room() will tell. */
		if (may_go_on(&remote->parts[i], now) && remote->parts[i].again > now &&
		    remote->parts[i].again < next)
			next = remote->parts[i].again;
	return next;
}

void rfm_remote_init(struct rfm_remote *remote, struct rfm_node *node,
		     const struct rfm_remote_ops *ops, void *opaque)
{
	*remote = (struct rfm_remote){ .node = node, .ops = ops, .opaque = opaque };
}

void rfm_remote_destroy(struct rfm_remote *remote)
{
	while (remote->first)
		end_request(remote, remote->first, RFM_REMOTE_CANCELLED);
	rfm_message_destroy(remote);
	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++)
		free(remote->answers[i].data);
	for (unsigned int i = 0; i < RFM_RING_NODES; i++)
		free(remote->past[i]);
}
