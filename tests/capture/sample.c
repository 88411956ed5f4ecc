// SPDX-License-Identifier: MIT
/*
 * Writes a capture of every kind of thing that a link can carry, sound and
 * damaged, through the writer that rmhub and the card use. tests/system/capture.py
 * knows the packets by their order.
 *
 *   sample FILE
 */
#include <stdio.h>

#include "ring/crc32c.h"
#include "ring/frame.h"
#include "ring/link.h"
#include "ring/util/pcapng.h"
#include "ring/wire.h"

#define EPOCH	1700000000000000000	/* of the file's first packet, ns since 1970 */

static struct rfm_pcapng capture;
static int rx, tx;
static uint64_t now;

static void packet(const void *wire, unsigned int len, const char *comment)
{
	rfm_pcapng_packet(&capture, rx, RFM_PCAPNG_IN, now++, wire, len, comment);
}

/* --- the handshake, as link.c does it ------------------------------------- */

static struct rfm_link_self self(void *opaque)
{
	(void)opaque;
	return (struct rfm_link_self){
		.id = 3, .redundant = true, .incarnation = 0x0102030405060708,
		.memory_size = 64 << 20, .clock_domain = 0x11223344,
	};
}

static struct rfm_link_self hub(void *opaque)
{
	(void)opaque;
	return (struct rfm_link_self){ .hub = true, .incarnation = 1 };
}

static bool light_out(void *opaque)
{
	(void)opaque;
	return true;
}

static void down(void *opaque, bool up, uint64_t when)
{
	(void)opaque;
	(void)up;
	(void)when;
}

static unsigned int pull(void *opaque, uint8_t *wire, uint64_t when)
{
	(void)opaque;
	(void)wire;
	(void)when;
	return 0;
}

static void handshake(void)
{
	static const struct rfm_link_ops up_ops = {
		.self = self, .light_out = light_out, .downstream = down, .pull = pull,
	};
	static const struct rfm_link_ops down_ops = { .self = hub };
	uint8_t wire[RFM_LINK_BATCH];
	struct rfm_link_tx up;
	struct rfm_link_rx low;
	unsigned int len;

	rfm_link_tx_init(&up, &up_ops, NULL);
	rfm_link_rx_init(&low, &down_ops, NULL);
	rfm_link_tx_opened(&up, true, now);
	rfm_link_rx_opened(&low, now);
	len = rfm_link_tx_output(&up, wire, now);
	packet(wire, len, NULL);
	rfm_link_rx_received(&low, wire, len, now);
	rfm_pcapng_packet(&capture, tx, RFM_PCAPNG_OUT, now++, low.reply, low.reply_length, NULL);
	rfm_link_tx_received(&up, low.reply, low.reply_length, now);
	len = rfm_link_tx_output(&up, wire, now);
	packet(wire, len, NULL);

	/* Another version, with its check right: the answer is REFUSE. */
	rfm_link_rx_opened(&low, now);
	rfm_link_tx_opened(&up, false, now);
	len = rfm_link_tx_output(&up, wire, now);
	wire[2] = 1;
	put32(wire + 36, rfm_crc32c(0, wire, 36));
	rfm_link_rx_received(&low, wire, len, now);
	rfm_pcapng_packet(&capture, tx, RFM_PCAPNG_OUT, now++, low.reply, low.reply_length, NULL);
}

/* --- frames --------------------------------------------------------------- */

static const struct rfm_frame frames[] = {
	{ .type = RFM_FRAME_DATA, .address = 0xaabbcc, .length = 4,
	  .data = { 0xde, 0xad, 0xbe, 0xef } },
	{ .type = RFM_FRAME_INTERRUPT, .dest = 7, .kind = 2, .length = 4, .hops = 257,
	  .data = { 0x02, 0x01, 0xfe, 0xca } },
	{ .type = RFM_FRAME_INTERRUPT, .kind = 0xf, .length = 4, .data = { 1 } },
	{ .type = RFM_FRAME_HEARTBEAT },
	{ .type = RFM_FRAME_DUPLICATE, .length = 8, .data = { 9, 7, 6, 5, 4, 3, 2, 1 } },
	{ .type = RFM_FRAME_BREAK },
	{ .type = RFM_FRAME_FENCE, .length = 8, .data = { 42 } },
	{ .type = RFM_FRAME_MULTICAST, .kind = 3, .length = 36,
	  .data = { 0x02, 0x01, 0xfe, 0xca, 0x81, 0x02, [35] = 0x80 } },
	{ .type = RFM_FRAME_QUERY, .length = 16,
	  .data = { 42, [8] = 0x00, 0xc0, 0xab, 0x00, 0x00, 0x10 } },
	{ .type = RFM_FRAME_ANSWER, .dest = 7, .length = 24,
	  .data = { 42, [8] = 0x32, 0xfe, 0x71, 0x9c, 0x00, 0x10, 1, 0, 0xde, 0xad } },
	{ .type = RFM_FRAME_DATA, .address = 0xfffffc0, .length = 64,
	  .flags = RFM_FLAG_REDUNDANT | RFM_FLAG_SECOND,
	  .marks = RFM_MARK_ROGUE_1 | RFM_MARK_PAUSED | RFM_MARK_UNSTORED },
};

static void sign(struct rfm_frame *frame)
{
	frame->source = 3;
	frame->clock_domain = 0x11223344;
	frame->incarnation = 0x0102030405060708;
	frame->seq = 0x191a;
	frame->time_ns = 0x2122232425262728;
}

static unsigned int encode(const struct rfm_frame *frame, uint8_t *wire)
{
	struct rfm_frame whole = *frame;

	sign(&whole);
	whole.hops += 1;
	return rfm_frame_encode(&whole, wire);
}

/* A train is written as its frames, a damaged one as it is. */
static void trains(void)
{
	struct rfm_frame train = {
		.type = RFM_FRAME_DATA, .source = 3, .address = 0x2000, .hops = 1, .count = 2,
		.length = RFM_FRAME_DATA_MAX + 4, .clock_domain = 0x11223344,
		.incarnation = 0x0102030405060708, .seq = 0x1920,
	};
	uint8_t wire[RFM_UNIT_MAX] = { 0 };
	unsigned int len = rfm_train_encode(&train, wire);

	packet(wire, len, NULL);
	wire[len - 1] ^= 1;
	packet(wire, len, NULL);
}

/* Packets, each written as one; the last two are damaged, in their data and their length. */
static void packets(void)
{
	static const struct rfm_frame each[] = {
		{ .kind = RFM_PACKET_REQUEST, .dest = 7, .stream = 0x1234, .count = 2, .length = 70,
		  .flags = RFM_FLAG_FIRST | RFM_FLAG_LAST, .hops = 3,
		  .marks = RFM_MARK_SEEN | RFM_MARK_TAKEN },
		{ .kind = RFM_PACKET_MESSAGE, .dest = 7, .count = 1, .length = 1,
		  .flags = RFM_FLAG_FIRST | RFM_FLAG_REDUNDANT | RFM_FLAG_SECOND, .hops = 1023,
		  .marks = RFM_MARK_SEEN | RFM_MARK_PAUSED },
		{ .kind = RFM_PACKET_ETHERNET | RFM_KIND_ALL, .stream = 0xffff,
		  .count = RFM_PACKET_PIECES, .length = RFM_PACKET_DATA, .flags = RFM_FLAG_LAST,
		  .hops = 1 },
		{ .kind = RFM_PACKET_ANSWER, .dest = 9, .count = 1, .length = 64, .hops = 2 },
	};
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = 0;

	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		struct rfm_frame whole = each[i];

		whole.type = RFM_FRAME_PACKET;
		sign(&whole);
		for (unsigned int at = 0; at < whole.length; at++)
			wire[RFM_FRAME_HEADER + at] = at;
		len = rfm_packet_encode(&whole, wire);
		packet(wire, len, NULL);
	}
	wire[len - 1] ^= 1;
	packet(wire, len, NULL);
	wire[10] = RFM_PACKET_PIECES + 1;
	packet(wire, len, NULL);
}

/* A sound frame with one byte changed. */
static void damaged(unsigned int at, uint8_t value, const char *comment)
{
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = encode(&frames[0], wire);

	wire[at] = value;
	packet(wire, len, comment);
}

static void all_frames(void)
{
	uint8_t wire[RFM_FRAME_MAX + 4] = { 0 };
	unsigned int len;

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		len = encode(&frames[i], wire);
		packet(wire, len, NULL);
	}
	damaged(48, 0xdf, "fault 1: corrupt");
	damaged(44, 2, NULL);
	damaged(3, RFM_FRAME_TYPES, NULL);
	damaged(7, 65, NULL);
	damaged(2, 1, NULL);
	damaged(0, 'X', NULL);
	len = encode(&frames[0], wire);
	packet(wire, len - 1, NULL);
	packet(wire, 47, NULL);
	packet(wire, 1, NULL);
	packet(wire, len + 4, NULL);
	trains();
	packets();
}

int main(int argc, char **argv)
{
	if (argc != 2 || rfm_pcapng_create(&capture, argv[1], "sample", EPOCH)) {
		perror(argc == 2 ? argv[1] : "usage: sample FILE");
		return 1;
	}
	rx = rfm_pcapng_interface(&capture, "rx", "what comes from upstream");
	tx = rfm_pcapng_interface(&capture, "tx", NULL);
	handshake();
	all_frames();
	rfm_pcapng_end(&capture);
	if (capture.error || capture.lost) {
		fprintf(stderr, "sample: %s\n", rfm_pcapng_trouble(&capture));
		return 1;
	}
	return 0;
}
