// SPDX-License-Identifier: MIT
/*
 * Queries: what stands in the memory of every node, as a checksum. The question
 * is numbered and travels like an update, so each node answers for what it has
 * stored by then; the answers are notices, and only who asked looks at them.
 */
#include "ring/node-private.h"

#include <string.h>

#include "ring/crc32c.h"
#include "ring/wire.h"

/* The data of a QUERY, then those of an ANSWER. */
enum {
	AT_TICKET	= 0,
	AT_FROM		= 8,	/* network address */
	AT_COUNT	= 12,	/* bytes, 32 bits */

	AT_CRC		= 8,
	AT_BYTES	= 12,	/* 16 bits */
	AT_FLAGS	= 14,	/* 16 bits */
	AT_FIRST	= 16,
};

#define DIGEST_PIECE	1024	/* bytes of the memory that are looked at in one go */
#define QUERY_LENGTH	16
#define ANSWER_LENGTH	24
#define ANSWER_PAUSED	0x1u

/* --- asking --------------------------------------------------------------- */

/* Is there room for the question and the fence behind it? */
static bool may_ask(const struct rfm_node *node)
{
	return node->insert.size - rfm_insert_used(&node->insert) >= 2;
}

bool rfm_node_query(struct rfm_node *node, uint64_t ticket, uint32_t offset,
		    unsigned int len, uint64_t now)
{
	uint32_t address = offset + __atomic_load_n(&node->address_offset, __ATOMIC_RELAXED);
	struct rfm_insert_record command = {
		.time = now, .type = RFM_FRAME_QUERY, .length = QUERY_LENGTH,
	};

	/* One that is not asked is no loss: nothing is counted. */
	if (!may_ask(node))
		return false;
	put64(command.data + AT_TICKET, ticket);
	put32(command.data + AT_FROM, address % RFM_RING_SPACE);
	put32(command.data + AT_COUNT, len);
	return rfm_queue_command(node, &command) != RFM_INSERT_FULL;
}

void rfm_receive_answer(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *data)
{
	struct rfm_answer answer = {
		.ticket = get64(data + AT_TICKET),
		.crc = get32(data + AT_CRC),
		.bytes = get16(data + AT_BYTES),
		.paused = get16(data + AT_FLAGS) & ANSWER_PAUSED,
	};

	memcpy(answer.first, data + AT_FIRST, sizeof(answer.first));
	if (node->ops->answer)
		node->ops->answer(node->opaque, frame->source, &answer);
}

/* --- answering ------------------------------------------------------------ */

/* Adds those of @len bytes at @offset that lie within the memory; they do not wrap. */
static void digest_within(const struct rfm_node *node, uint32_t offset, unsigned int len,
			  struct rfm_answer *answer)
{
	uint64_t size = node->config.memory_size;
	uint8_t piece[DIGEST_PIECE];

	if (offset >= size)
		return;
	if (len > size - offset)
		len = size - offset;
	for (unsigned int some; len; len -= some, offset += some) {
		some = len < sizeof(piece) ? len : sizeof(piece);
		node->ops->load(node->opaque, offset, piece, some);
		for (unsigned int i = 0; i < some && answer->bytes + i < sizeof(answer->first); i++)
			answer->first[answer->bytes + i] = piece[i];
		answer->crc = rfm_crc32c(answer->crc, piece, some);
		answer->bytes += some;
	}
}

void rfm_node_digest(const struct rfm_node *node, uint32_t offset, unsigned int len,
		     struct rfm_answer *answer)
{
	unsigned int to_end = RFM_RING_SPACE - offset;
	unsigned int before = len < to_end ? len : to_end;

	answer->crc = 0;
	answer->bytes = 0;
	answer->paused = node->paused;
	memset(answer->first, 0, sizeof(answer->first));
	digest_within(node, offset, before, answer);
	digest_within(node, 0, len - before, answer);
}

/*
 * Before the digest, which costs more than the question did: a node whose answers
 * pile up does no work for whoever floods the ring with questions. A FIFO that keeps to the windows
 * of all nodes is at most half full.
 */
static bool may_answer(const struct rfm_node *node)
{
	return rfm_node_signal(node) && rfm_can_forward(node) &&
	       rfm_fifo_used(&node->transmit) <= RFM_NODE_TX_SLOTS / 2;
}

/* @data: of the query. One that asks for nothing, or for too much, gets no answer. */
void rfm_answer_query(struct rfm_node *node, const struct rfm_frame *frame,
		      const uint8_t *data, uint64_t now)
{
	uint32_t address = get32(data + AT_FROM), count = get32(data + AT_COUNT);
	struct rfm_frame reply = {
		.type = RFM_FRAME_ANSWER,
		.dest = frame->source,
		.length = ANSWER_LENGTH,
	};
	struct rfm_answer answer;

	if (!node->ops->load || address >= RFM_RING_SPACE || !count || count > RFM_QUERY_MAX ||
	    !may_answer(node))
		return;
	rfm_node_digest(node, (address - node->address_offset) % RFM_RING_SPACE, count, &answer);
	memcpy(reply.data + AT_TICKET, data + AT_TICKET, sizeof(uint64_t));
	put32(reply.data + AT_CRC, answer.crc);
	put16(reply.data + AT_BYTES, answer.bytes);
	put16(reply.data + AT_FLAGS, answer.paused ? ANSWER_PAUSED : 0);
	memcpy(reply.data + AT_FIRST, answer.first, sizeof(answer.first));
	rfm_send_notice(node, &reply, now);
}
