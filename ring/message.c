// SPDX-License-Identifier: MIT
/*
 * Messages that come to this node: each is put together from the parts of a SEND, and handed
 * over whole, or not at all.
 */
#include "ring/remote-private.h"

#include <stdlib.h>
#include <string.h>

#include "ring/wire.h"

#define MESSAGES_OF_ONE	(RFM_REMOTE_MESSAGES / 2)	/* others find a place */

/* Which bytes of a message have come, a bit each: behind its data. */
#define BITS(length)	(((length) + 7) / 8)

static struct rfm_remote_message *find_message(struct rfm_remote *remote,
					       const struct rfm_packet *packet,
					       uint32_t number)
{
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++) {
		struct rfm_remote_message *message = &remote->messages[i];

		if (message->data && message->from == packet->node && message->number == number &&
		    message->incarnation == packet->incarnation)
			return message;
	}
	return NULL;
}

static void give_up_message(struct rfm_remote *remote, struct rfm_remote_message *message)
{
	free(message->data);
	message->data = NULL;
	remote->stats.given_up++;
}

/*
 * A node sends one after the other to a port: one before this that is not whole has been given
 * up.
 */
static void give_up_before(struct rfm_remote *remote, const struct rfm_packet *packet,
			   uint32_t port)
{
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++) {
		struct rfm_remote_message *message = &remote->messages[i];

		if (message->data && message->from == packet->node &&
		    (message->incarnation != packet->incarnation || message->port == port))
			give_up_message(remote, message);
	}
}

static int room_at(struct rfm_remote *remote, uint32_t port)
{
	int left = remote->ops->port_room ? remote->ops->port_room(remote->opaque, port) : -1;

	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++)
		if (left > 0 && remote->messages[i].data && remote->messages[i].port == port)
			left--;
	return left;
}

static bool begin_message(struct rfm_remote_message *message, const struct rfm_packet *packet,
			  const uint8_t *data)
{
	uint32_t length = get32(data + AT_TOTAL);

	*message = (struct rfm_remote_message){
		.data = malloc(length + BITS(length)), .from = packet->node,
		.incarnation = packet->incarnation, .number = get32(data + AT_MESSAGE),
		.port = get32(data + AT_KEY), .length = length, .until = LATER,
	};
	if (message->data)
		memset(message->data + length, 0, BITS(length));
	return message->data;
}

/* Returns false if one of these bytes was there already. */
static bool note_bytes(struct rfm_remote_message *message, uint32_t at, uint32_t length)
{
	uint8_t *there = message->data + message->length, bits;

	for (uint32_t end = at + length, step; at < end; at += step) {
		step = at % 8 || end - at < 8 ? 1 : 8;
		bits = step == 8 ? 0xff : 1u << at % 8;
		if (there[at / 8] & bits)
			return false;
		there[at / 8] |= bits;
	}
	message->got += length;
	return true;
}

/* Takes a place for a message that begins. A port at which nobody listens has room: to say so. */
bool rfm_message_take(struct rfm_remote *remote, const struct rfm_packet *packet,
		      const uint8_t *data)
{
	uint32_t number = get32(data + AT_MESSAGE), port = get32(data + AT_KEY);
	struct rfm_remote_message *message = NULL;
	unsigned int own = 0;
	int left;

	if (find_message(remote, packet, number))
		return true;
	give_up_before(remote, packet, port);
	left = room_at(remote, port);
	if (left <= 0)
		return left;
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++) {
		if (!remote->messages[i].data)
			message = &remote->messages[i];
		else
			own += remote->messages[i].from == packet->node;
	}
	if (!message || own >= MESSAGES_OF_ONE)
		return false;
	return begin_message(message, packet, data);
}

/* It has been taken, and has not been here before. */
enum rfm_remote_result rfm_message_part(struct rfm_remote *remote, const struct rfm_packet *packet,
					const uint8_t *data)
{
	struct rfm_remote_message *message = find_message(remote, packet, get32(data + AT_MESSAGE));
	uint32_t length = get32(data + AT_COUNT);
	uint64_t at = get64(data + AT_OFFSET);
	enum rfm_remote_result result;

	if (!message)
		return room_at(remote, get32(data + AT_KEY)) < 0 ? RFM_REMOTE_CLOSED :
								   RFM_REMOTE_WITHDRAWN;
	if (message->length != get32(data + AT_TOTAL) || message->port != get32(data + AT_KEY))
		return RFM_REMOTE_INVALID;
	/* Whole is what has each byte once: what lies over another would leave a hole. */
	if (!note_bytes(message, at, length)) {
		give_up_message(remote, message);
		return RFM_REMOTE_INVALID;
	}
	memcpy(message->data + at, data + SEND_HEADER, length);
	message->until = LATER;
	if (message->got < message->length)
		return RFM_REMOTE_OK;
	result = remote->ops->message(remote->opaque, message->port, message->from, message->data,
				      message->length);
	if (result != RFM_REMOTE_OK) {
		give_up_message(remote, message);
		return result;
	}
	message->data = NULL;
	remote->stats.messages++;
	return RFM_REMOTE_OK;
}

static bool is_sender_there(const struct rfm_remote *remote,
			    const struct rfm_remote_message *message)
{
	const struct rfm_source *source = &remote->node->sources[message->from];

	return source->present && source->current.incarnation == message->incarnation;
}

void rfm_message_run(struct rfm_remote *remote, uint64_t now, uint64_t *next)
{
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++) {
		struct rfm_remote_message *message = &remote->messages[i];

		if (!message->data)
			continue;
		if (message->until == LATER)
			message->until = now + RFM_REMOTE_PATIENCE_NS;
		if (now >= message->until || !is_sender_there(remote, message))
			give_up_message(remote, message);
		else if (message->until < *next)
			*next = message->until;
	}
}

void rfm_message_destroy(struct rfm_remote *remote)
{
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++)
		free(remote->messages[i].data);
}
