// SPDX-License-Identifier: MIT
/* Operations at one node: what is done for others, and what they are answered. */
#include "ring/remote-private.h"

#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

#define OLD_TICKETS		(1u << 24)	/* how old a packet that comes late can be */

/* --- words ---------------------------------------------------------------- */

static uint64_t get_word(const uint8_t *bytes, unsigned int width)
{
	return width == 4 ? get32(bytes) : get64(bytes);
}

static void put_word(uint8_t *bytes, unsigned int width, uint64_t value)
{
	if (width == 4)
		put32(bytes, value);
	else
		put64(bytes, value);
}

enum rfm_remote_result rfm_remote_check(struct rfm_remote *remote, uint8_t from, unsigned int op,
				    unsigned int width, uint32_t key, uint64_t offset,
				    uint32_t length)
{
	if (is_atomic(op) && ((width != 4 && width != 8) || offset % width || length != width))
		return RFM_REMOTE_RANGE;
	if (!length || length > RFM_REMOTE_MAX || offset + length < offset)
		return RFM_REMOTE_RANGE;
	return remote->ops->check(remote->opaque, from,
				  op == RFM_REMOTE_READ ? RFM_REMOTE_LOADS :
				  op == RFM_REMOTE_WRITE ? RFM_REMOTE_STORES : RFM_REMOTE_CHANGES,
				  key, offset, length);
}

uint64_t rfm_remote_change_word(struct rfm_remote *remote, unsigned int op, unsigned int width,
			    uint32_t key, uint64_t offset, uint64_t compare, uint64_t value)
{
	uint8_t bytes[8];
	uint64_t old;

	remote->ops->load(remote->opaque, key, offset, bytes, width);
	old = get_word(bytes, width);
	if (op == RFM_REMOTE_CAS && old != (width == 4 ? (uint32_t)compare : compare))
		return old;
	put_word(bytes, width, rfm_remote_new_word(op, width, old, compare, value));
	if (key)
		remote->ops->store(remote->opaque, key, offset, bytes, width);
	else
		remote->ops->update(remote->opaque, offset, bytes, width);
	return old;
}

/* --- requests of others ------------------------------------------------------------ */

static struct rfm_remote_answer *find_answer(struct rfm_remote *remote, uint8_t to,
					     unsigned int part,
					     uint32_t ticket)
{
	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++) {
		struct rfm_remote_answer *answer = &remote->answers[i];

		if (answer->used && answer->to == to && answer->part == part && answer->ticket == ticket)
			return answer;
	}
	return NULL;
}

/* For who asks the same again. */
static void remember(struct rfm_remote *remote, const struct rfm_remote_answer *answer)
{
	struct rfm_remote_past *past = remote->past[answer->to];

	if (past->incarnation != answer->incarnation ||
	    past->parts[answer->part].ticket != answer->ticket)
		return;
	past->parts[answer->part].result = answer->result;
	past->parts[answer->part].old = answer->old;
}

static void drop_answer(struct rfm_remote_answer *answer)
{
	free(answer->data);
	answer->data = NULL;
	answer->used = false;
}

/*
 * For an answer to this part. In place of one that is owed: who asks anew does not wait for
 * that any more. So one node never has more than RFM_REMOTE_PARTS places. One that the owner
 * works at stays: NULL, as if there were no room.
 */
static struct rfm_remote_answer *place_for(struct rfm_remote *remote,
					   const struct rfm_packet *packet)
{
	struct rfm_remote_answer *place = NULL;

	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++) {
		struct rfm_remote_answer *answer = &remote->answers[i];

		if (answer->used && answer->to == packet->node && answer->part == packet->stream)
			return answer->away ? NULL : answer;
		if (!answer->used && !place)
			place = answer;
	}
	return place;
}

static enum rfm_remote_result check_answer(struct rfm_remote *remote,
					   const struct rfm_remote_answer *answer)
{
	const struct rfm_node *node = remote->node;
	uint64_t offset = (answer->offset - node->address_offset) % RFM_RING_SPACE;

	if (answer->op == RFM_REMOTE_MERGE) {
		if (answer->key)		/* what all have is no region of this node */
			return RFM_REMOTE_DENIED;
		if (!answer->length || answer->length > RFM_REMOTE_MAX ||
		    answer->offset >= RFM_RING_SPACE || offset + answer->length > node->config.memory_size)
			return RFM_REMOTE_RANGE;
		if (node->incomplete)
			return RFM_REMOTE_INCOMPLETE;
		return remote->ops->check(remote->opaque, answer->to, RFM_REMOTE_MERGES, 0, offset,
					  answer->length);
	}
	if (answer->op != RFM_REMOTE_READ && answer->op != RFM_REMOTE_WRITE && !is_atomic(answer->op))
		return RFM_REMOTE_INVALID;
	return rfm_remote_check(remote, answer->to, answer->op, answer->width, answer->key, answer->offset,
		     answer->length);
}

static bool is_part_of_message(const struct rfm_packet *packet, const uint8_t *data)
{
	uint64_t at = get64(data + AT_OFFSET);
	uint32_t length = get32(data + AT_COUNT), total = get32(data + AT_TOTAL);

	return packet->length > SEND_HEADER && packet->length == SEND_HEADER + length &&
	       total <= RFM_REMOTE_MAX && at < total && length <= total - at;
}

/* Has this part of that node been here? Of one that was there before there is nothing new in it. */
static bool is_repeated(const struct rfm_remote_past *past, const struct rfm_packet *packet,
			const uint8_t *data)
{
	uint32_t last = past->parts[packet->stream].ticket;

	/* A part may rest until the tickets have been round. */
	return past->incarnation == packet->incarnation && last &&
	       last - get32(data + AT_TICKET) < OLD_TICKETS;
}

static bool is_request(const struct rfm_packet *packet, const uint8_t *data)
{
	unsigned int op;

	if (packet->length < REQUEST_HEADER || !get32(data + AT_TICKET))
		return false;
	op = data[AT_OP];
	return is_atomic(op) ? packet->length == ATOMIC_REQUEST :
	       op == RFM_REMOTE_WRITE ? packet->length == REQUEST_HEADER + get32(data + AT_COUNT) :
	       op == RFM_REMOTE_SEND ? is_part_of_message(packet, data) :
	       packet->length == REQUEST_HEADER;
}

bool rfm_serve_take(struct rfm_remote *remote, const struct rfm_packet *packet, const uint8_t *data)
{
	struct rfm_remote_past **past = &remote->past[packet->node];

	if (!is_request(packet, data)) {
		remote->stats.refused++;
		return false;
	}
	if (!*past)
		*past = calloc(1, sizeof(**past));
	if (!*past || !place_for(remote, packet))
		return false;
	return data[AT_OP] != RFM_REMOTE_SEND || is_repeated(*past, packet, data) ||
	       get64(data + AT_INCARNATION) != remote->node->config.incarnation ||
	       rfm_message_take(remote, packet, data);
}

/* --- what the owner does ------------------------------------------------------------- */

static bool is_for_owner(const struct rfm_remote *remote, const struct rfm_remote_answer *answer)
{
	return answer->key && remote->ops->away && answer->op != RFM_REMOTE_SEND;
}

static void give_away(struct rfm_remote *remote, struct rfm_remote_answer *answer,
		      const uint8_t *bytes)
{
	uint32_t max = rfm_node_packet_max(remote->node) - ANSWER_HEADER;

	if (answer->op == RFM_REMOTE_READ && answer->length > max)
		answer->length = max;		/* who asked asks for the rest */
	if (!is_atomic(answer->op)) {
		answer->data = malloc(answer->length);
		if (!answer->data) {
			rfm_remote_back(remote, answer, RFM_REMOTE_DENIED, 0);
			return;
		}
	}
	if (answer->op == RFM_REMOTE_WRITE)
		memcpy(answer->data, bytes, answer->length);
	if (!++remote->given_away)
		remote->given_away++;
	answer->away = remote->given_away;
	remote->ops->away(remote->opaque);
}

struct rfm_remote_answer *rfm_remote_away(struct rfm_remote *remote)
{
	struct rfm_remote_answer *oldest = NULL;

	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++) {
		struct rfm_remote_answer *answer = &remote->answers[i];

		if (answer->used && answer->away &&
		    (!oldest || (int32_t)(answer->away - oldest->away) < 0))
			oldest = answer;
	}
	return oldest;
}

void rfm_remote_back(struct rfm_remote *remote, struct rfm_remote_answer *answer,
		     enum rfm_remote_result result, uint64_t old)
{
	answer->away = 0;
	answer->ready = true;
	answer->result = result;
	answer->old = old;
	remember(remote, answer);
	remote->ops->wake(remote->opaque);
}

void rfm_serve_packet(struct rfm_remote *remote, const struct rfm_packet *packet,
			    const uint8_t *data)
{
	struct rfm_remote_past *past = remote->past[packet->node];
	struct rfm_remote_answer *answer;
	uint32_t ticket = get32(data + AT_TICKET), last;

	if (past->incarnation != packet->incarnation)
		*past = (struct rfm_remote_past){ .incarnation = packet->incarnation };
	last = past->parts[packet->stream].ticket;
	if (is_repeated(past, packet, data)) {
		remote->stats.repeated++;
		answer = find_answer(remote, packet->node, packet->stream, ticket);
		if (answer && answer->sent) {		/* it seems to be lost */
			answer->sent = false;
			answer->again = 0;
			remote->ops->wake(remote->opaque);
		}
		if (ticket != last || answer)
			return;
	}
	answer = place_for(remote, packet);
	free(answer->data);
	*answer = (struct rfm_remote_answer){
		.used = true, .to = packet->node, .incarnation = packet->incarnation,
		.part = packet->stream, .ticket = ticket,
		.op = data[AT_OP], .width = data[AT_WIDTH], .key = get32(data + AT_KEY),
		.offset = get64(data + AT_OFFSET), .length = get32(data + AT_COUNT),
		.deadline = LATER, .backoff = BACKOFF_FIRST_NS,
	};
	if (is_atomic(answer->op)) {
		answer->compare = get64(data + AT_COMPARE);
		answer->value = get64(data + AT_VALUE);
	}
	remote->ops->wake(remote->opaque);
	if (ticket == last && !is_reading(answer->op)) {
		answer->ready = true;
		answer->result = past->parts[packet->stream].result;
		answer->old = past->parts[packet->stream].old;
		return;
	}
	past->parts[packet->stream].ticket = ticket;
	past->parts[packet->stream].result = RFM_REMOTE_OK;
	if (get64(data + AT_INCARNATION) != remote->node->config.incarnation)
		answer->result = RFM_REMOTE_RESTARTED;
	else if (answer->op == RFM_REMOTE_SEND)
		answer->result = rfm_message_part(remote, packet, data);
	else
		answer->result = check_answer(remote, answer);
	answer->ready = answer->result != RFM_REMOTE_OK || answer->op == RFM_REMOTE_WRITE ||
			answer->op == RFM_REMOTE_SEND;
	past->parts[packet->stream].result = answer->result;
	if (answer->result != RFM_REMOTE_OK)
		return;
	if (is_for_owner(remote, answer))
		give_away(remote, answer, data + REQUEST_HEADER);
	else if (answer->op == RFM_REMOTE_WRITE)
		remote->ops->store(remote->opaque, answer->key, answer->offset,
				   data + REQUEST_HEADER, answer->length);
}

/* Returns false if there is no room on the ring for what it does. */
static bool make_ready(struct rfm_remote *remote, struct rfm_remote_answer *answer)
{
	if (answer->ready || is_reading(answer->op))
		return true;
	if (!answer->key && !remote->ops->may_update(remote->opaque))
		return false;
	/* What was checked when it came may not be allowed any more. */
	answer->result = check_answer(remote, answer);
	if (answer->result == RFM_REMOTE_OK)
		answer->old = rfm_remote_change_word(remote, answer->op, answer->width, answer->key,
					  answer->offset, answer->compare, answer->value);
	answer->ready = true;
	remember(remote, answer);
	return true;
}

/* There was no room for long: what has not been done will not be. Who asked may ask anew. */
static void withdraw(struct rfm_remote *remote, struct rfm_remote_answer *answer)
{
	if (answer->ready)
		return;
	answer->result = RFM_REMOTE_WITHDRAWN;
	remember(remote, answer);
}

/* Returns false if there is no room: for nobody now. */
static bool send_answer(struct rfm_remote *remote, struct rfm_remote_answer *answer, uint64_t now)
{
	unsigned int number = answer - remote->answers, max = rfm_node_packet_max(remote->node);
	bool reads = is_reading(answer->op) && !answer->ready;
	struct rfm_packet packet = {
		.node = answer->to, .class = RFM_PACKET_ANSWER, .first = true, .last = true,
		.stream = answer->part, .length = ANSWER_HEADER,
	};
	bool has_read = is_reading(answer->op) && answer->data && answer->result == RFM_REMOTE_OK;
	uint8_t data[RFM_PACKET_DATA];

	if (reads || has_read)
		packet.length += answer->length < max - ANSWER_HEADER ? answer->length :
									max - ANSWER_HEADER;
	if (!rfm_node_may_packet(remote->node, packet.length))
		return false;
	if (reads) {
		uint64_t offset = answer->offset;

		answer->result = check_answer(remote, answer);
		if (answer->op == RFM_REMOTE_MERGE)
			offset = (offset - remote->node->address_offset) % RFM_RING_SPACE;
		if (answer->result == RFM_REMOTE_OK)
			remote->ops->load(remote->opaque, answer->key, offset, data + ANSWER_HEADER,
					  packet.length - ANSWER_HEADER);
		else
			packet.length = ANSWER_HEADER;
	}
	if (has_read)
		memcpy(data + ANSWER_HEADER, answer->data, packet.length - ANSWER_HEADER);
	memset(data, 0, ANSWER_HEADER);
	data[AT_RESULT] = answer->result;
	data[AT_OP + 1] = answer->op;
	put32(data + AT_TICKET, answer->ticket);
	put64(data + AT_OLD, answer->old);
	switch (rfm_node_packet(remote->node, &packet, data, COOKIE_ANSWER | number |
				(uint64_t)++remote->answer_cookie << 8, now)) {
	case RFM_INSERT_OK:
		answer->sent = true;
		answer->cookie = remote->answer_cookie;
		remote->stats.served++;
		return true;
	case RFM_INSERT_OFFLINE:
		drop_answer(answer);
		return true;
	default:
		return false;
	}
}

void rfm_serve_packet_end(struct rfm_remote *remote, uint64_t cookie, enum rfm_packet_fate fate)
{
	struct rfm_remote_answer *answer = &remote->answers[(cookie & 0xff) % RFM_REMOTE_ANSWERS];

	if (!answer->used || !answer->sent || answer->cookie != (uint32_t)(cookie >> 8))
		return;
	answer->sent = false;
	if (fate == RFM_PACKET_NO_ROOM || fate == RFM_PACKET_LOST)
		answer->again = fate == RFM_PACKET_LOST ? 0 : LATER;
	else
		drop_answer(answer);
	remote->ops->wake(remote->opaque);
}

bool rfm_serve_run(struct rfm_remote *remote, uint64_t now, uint64_t *next)
{
	const unsigned int first = remote->answer_next;
	bool room = true;

	if (remote->node->paused)	/* its memory is behind what it holds back */
		return true;
	for (unsigned int i = 0; i < RFM_REMOTE_ANSWERS; i++) {
		struct rfm_remote_answer *answer =
			&remote->answers[(first + i) % RFM_REMOTE_ANSWERS];

		if (!answer->used || answer->sent || answer->away)
			continue;
		if (answer->deadline == LATER)
			answer->deadline = now + ANSWER_PATIENCE_NS;
		if (room && is_due(&answer->again, &answer->backoff, now, next) &&
		    make_ready(remote, answer)) {
			if (send_answer(remote, answer, now))
				continue;
			remote->answer_next = answer - remote->answers;
			room = false;
		}
		if (now >= answer->deadline) {
			withdraw(remote, answer);
			drop_answer(answer);
		} else if (answer->deadline < *next) {
			*next = answer->deadline;
		}
	}
	return room;
}
