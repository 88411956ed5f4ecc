// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"
#include "tests/unit/ends.h"

#include <stdlib.h>
#include <string.h>

#include "ring/crc32c.h"
#include "ring/memory.h"
#include "ring/wire.h"

/* The examples of docs/ring-protocol.md, from node 3. */
const uint8_t hello[RFM_LINK_MESSAGE] = {
	0x52, 0x4c, 0x06, 0x01, 0x03, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x48, 0x13, 0x89, 0x0b,
};
const uint8_t welcome[RFM_LINK_MESSAGE] = {
	0x52, 0x4c, 0x06, 0x02, 0x03, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x39, 0x6e, 0xc2, 0xe5,
};
const uint8_t refuse[RFM_LINK_MESSAGE] = {
	0x52, 0x4c, 0x06, 0x03, 0x03, 0x01, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x9b, 0x25, 0x5c, 0xc7,
};
const uint8_t light[RFM_LINK_MESSAGE] = {
	0x52, 0x4c, 0x06, 0x04, 0x03, 0x01, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xa7, 0x82, 0x1f, 0x44,
};
const uint8_t hello_all[RFM_LINK_MESSAGE] = {	/* redundant, offers shared memory */
	0x52, 0x4c, 0x06, 0x01, 0x03, 0x06, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x97, 0x26, 0xb6, 0x1d,
};
const uint8_t welcome_hub[RFM_LINK_MESSAGE] = {	/* a hub, takes it */
	0x52, 0x4c, 0x06, 0x02, 0x03, 0x05, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x71, 0xfa, 0x14, 0x7a,
};
const uint8_t light_off[RFM_LINK_MESSAGE] = {
	0x52, 0x4c, 0x06, 0x04, 0x03, 0x00, 0x00, 0x00,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00,
	0x44, 0x33, 0x22, 0x11, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x2a, 0xe2, 0xb8, 0x3c,
};

static void on_store(void *opaque, uint32_t offset, const void *data, unsigned int len,
		     const struct rfm_origin *origin)
{
	struct end *end = opaque;

	(void)origin;
	end->stores++;
	rfm_memory_store(end->memory + offset, data, len);
}

static void on_interrupt(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	(void)opaque, (void)type, (void)from, (void)data;
}

static void on_status(void *opaque, unsigned int what)
{
	struct end *end = opaque;

	end->status |= what & ~(RFM_NODE_EPOCH | RFM_NODE_SIGNAL_BACK);
}

static void nothing(void *opaque)
{
	(void)opaque;
}

static const struct rfm_node_ops ops = {
	.apply = on_store,
	.interrupt = on_interrupt,
	.status = on_status,
	.kick = nothing,
	.room = nothing,
};

struct end *end_new(uint8_t id)
{
	struct rfm_node_config config = {
		.id = id, .memory_size = 256, .incarnation = 100 + id, .clock_domain = 1,
	};
	struct end *end = calloc(1, sizeof(*end));

	assert_non_null(end);
	assert_int_equal(rfm_node_init(&end->node, &config, &ops, end, 0), 0);
	rfm_link_tx_init(&end->tx, &rfm_node_link_ops, &end->node);
	rfm_link_rx_init(&end->rx, &rfm_node_link_ops, &end->node);
	return end;
}

void end_free(struct end *end)
{
	rfm_node_destroy(&end->node);
	free(end);
}

/* Carry what @from has to say to @to in pieces of @piece bytes, and the answers back. */
static bool carry(struct end *from, struct end *to, unsigned int piece)
{
	uint8_t buf[RFM_LINK_BATCH];
	unsigned int len = rfm_link_tx_output(&from->tx, buf, 0);

	for (unsigned int at = 0; at < len; at += piece) {
		unsigned int n = len - at < piece ? len - at : piece;

		assert_null(rfm_link_rx_received(&to->rx, buf + at, n, 0));
		if (to->rx.reply_length)
			assert_null(rfm_link_tx_received(&from->tx, to->rx.reply,
							 to->rx.reply_length, 0));
	}
	return len;
}

void ends_settle(struct end *a, struct end *b, unsigned int piece)
{
	bool moved = true;

	while (moved) {
		moved = carry(a, b, piece);
		moved |= carry(b, a, piece);
	}
}

void ends_connect(struct end *from, struct end *to)
{
	rfm_link_rx_opened(&to->rx, 0);
	rfm_link_tx_opened(&from->tx, false, 0);
}

void ends_disconnect(struct end *from, struct end *to)
{
	rfm_link_rx_closed(&to->rx, 0);
	rfm_link_tx_closed(&from->tx, 0);
}

/* An end whose upstream has said hello and switched its laser on. */
struct end *end_lit(void)
{
	struct end *end = end_new(2);

	rfm_link_rx_opened(&end->rx, 0);
	assert_null(rfm_link_rx_received(&end->rx, hello, sizeof(hello), 0));
	assert_null(rfm_link_rx_received(&end->rx, light, sizeof(light), 0));
	assert_true(rfm_node_signal(&end->node));
	return end;
}

/* A message with one byte changed and the check made right again. */
void changed(uint8_t *message, const uint8_t *from, unsigned int at, uint8_t value)
{
	memcpy(message, from, RFM_LINK_MESSAGE);
	message[at] = value;
	put32(message + 36, rfm_crc32c(0, message, 36));
}

unsigned int data_frame(uint8_t *wire, uint64_t seq, uint8_t value)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 3, .incarnation = 9, .seq = seq,
		.length = 4, .hops = 1, .data = { value, value, value, value },
	};

	return rfm_frame_encode(&frame, wire);
}

void answered(const uint8_t *reply, const char *why)
{
	struct end *end = end_new(1);
	uint8_t buf[RFM_LINK_BATCH];
	const char *error;

	rfm_link_tx_opened(&end->tx, false, 0);
	rfm_link_tx_output(&end->tx, buf, 0);
	error = rfm_link_tx_received(&end->tx, reply, RFM_LINK_MESSAGE, 0);
	assert_non_null(error);
	assert_string_equal(error, why);
	assert_false(end->node.downstream);
	rfm_link_tx_closed(&end->tx, 0);
	end_free(end);
}
