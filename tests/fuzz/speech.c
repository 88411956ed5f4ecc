// SPDX-License-Identifier: MIT
/* What the node fuzzer says to a node, made of the bytes of its input. */
#include <string.h>

#include "ring/crc32c.h"
#include "ring/wire.h"
#include "tests/fuzz/speech.h"

/* --- input ---------------------------------------------------------------- */

uint8_t fuzz_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

unsigned int fuzz_word(struct input *in)
{
	unsigned int low = fuzz_byte(in);

	return low | fuzz_byte(in) << 8;
}

unsigned int fuzz_bytes(struct input *in, uint8_t *to, unsigned int len)
{
	unsigned int have = in->end - in->at;

	if (len > have)
		len = have;
	memcpy(to, in->at, len);
	in->at += len;
	return len;
}

/* --- messages and frames -------------------------------------------------- */

void fuzz_message(uint8_t *wire, uint8_t kind, uint8_t value, uint8_t damage)
{
	static const uint8_t head[] = { 'R', 'L', RFM_FRAME_VERSION };

	memset(wire, 0, RFM_LINK_MESSAGE);
	memcpy(wire, head, sizeof(head));
	wire[2] += (damage & 0xf) == 0xf;
	wire[3] = kind;
	wire[4] = FUZZ_ID + 1;
	wire[5] = value;
	put64(wire + 8, FUZZ_LIFE + 7);
	put64(wire + 16, 4096);
	put32(wire + 36, rfm_crc32c(0, wire, 36));
	if (damage & 0x80)
		wire[damage & 0x1f] ^= 1u << (damage >> 5 & 3);
}

static uint64_t a_life(const struct rfm_node *node, const struct rfm_source *source,
		       unsigned int choice)
{
	const uint64_t lives[] = {
		FUZZ_LIFE + 1, FUZZ_LIFE + 2, FUZZ_LIFE - 1, node->config.incarnation,
		node->previous_incarnation, source->current.incarnation, source->other.incarnation, 0,
		source->current.incarnation + 1, source->current.incarnation - 1, UINT64_MAX,
		source->refused_incarnation,
	};

	return lives[choice % (sizeof(lives) / sizeof(lives[0]))];
}

static uint64_t a_number(const struct rfm_node *node, const struct rfm_source *source,
			 unsigned int choice)
{
	const uint64_t numbers[] = {
		source->current.seq + 1, source->current.seq + 2, source->current.seq,
		source->current.seq - 1, source->other.seq + 1, source->current.seq + 1000,
		0, 1, node->seq, node->seq + 1, node->home_seq,
		node->home_seq + 1, UINT64_MAX, 1ull << 63, 5, node->fence_seq,
	};

	return numbers[choice % 16];
}

/* @frame is what its frames have in common. */
static unsigned int put_train(struct input *in, struct rfm_frame *frame, uint8_t *wire)
{
	frame->type = RFM_FRAME_DATA;
	frame->count = 2 + fuzz_byte(in) % (RFM_TRAIN_FRAMES - 1);
	frame->length = (frame->count - 1) * RFM_FRAME_DATA_MAX + 1 +
			fuzz_byte(in) % RFM_FRAME_DATA_MAX;
	memset(wire + RFM_FRAME_HEADER, 0x5a, frame->length);
	memcpy(wire + RFM_FRAME_HEADER, frame->data, 4);
	return rfm_train_encode(frame, wire);
}

/* Its data begin as those of @frame, which its owner may go by. */
static unsigned int put_packet(struct input *in, struct rfm_frame *frame, uint8_t *wire)
{
	unsigned int choice = fuzz_byte(in);

	frame->count = 1 + choice % RFM_PACKET_PIECES;
	frame->length = (frame->count - 1) * RFM_FRAME_DATA_MAX + 1 +
			fuzz_byte(in) % RFM_FRAME_DATA_MAX;
	frame->stream = frame->address;
	frame->address = 0;
	frame->flags |= choice >> 6 << 2;
	frame->marks |= choice & 0x20 ? RFM_MARK_SEEN | RFM_MARK_TAKEN : 0;
	memset(wire + RFM_FRAME_HEADER, 0x5a, frame->length);
	memcpy(wire + RFM_FRAME_HEADER, frame->data, 4);
	return rfm_packet_encode(frame, wire);
}

/* A frame that somebody may have meant: nearly valid in nearly every field. */
unsigned int fuzz_frame(struct input *in, const struct rfm_node *node, uint8_t *wire)
{
	static const uint8_t lengths[RFM_FRAME_TYPES] = { 1, 4, 4, 0, 8, 0, 8, 36, 1, 16, 24, 4 };
	struct rfm_frame frame = { .type = fuzz_byte(in) % RFM_FRAME_TYPES };
	unsigned int choice = fuzz_byte(in), damage, len;
	const struct rfm_source *source;

	frame.source = choice & 0x80 ? choice : FUZZ_ID - 2 + choice % 6;
	source = &node->sources[frame.source];
	choice = fuzz_byte(in);
	frame.incarnation = a_life(node, source, choice & 0xf);
	frame.seq = a_number(node, source, choice >> 4);
	choice = fuzz_byte(in);
	frame.flags = choice & 3;
	frame.marks = choice >> 2 & 7;
	frame.dest = choice & 0x20 ? FUZZ_ID : choice;
	frame.kind = choice >> 4;
	choice = fuzz_byte(in);
	frame.hops = choice & 0x80 ? RFM_NODE_HOP_LIMIT - 2 + choice % 4 :
		     choice & 0x40 ? UINT16_MAX - choice % 4 : choice;
	frame.length = frame.type == RFM_FRAME_DATA ? 1 + fuzz_byte(in) % RFM_FRAME_DATA_MAX :
		       lengths[frame.type];
	choice = fuzz_word(in);
	frame.address = choice & 0x8000 ? RFM_RING_SPACE - (choice & 0xff) : choice & 0x7fff;
	if (frame.type == RFM_FRAME_DUPLICATE)
		put64(frame.data, a_life(node, source, fuzz_byte(in)));
	else
		fuzz_bytes(in, frame.data, frame.length < 4 ? frame.length : 4);
	if (frame.type == RFM_FRAME_QUERY) {
		put32(frame.data + 8, choice & 0x8000 ? RFM_RING_SPACE - (choice & 0xff) : choice);
		put32(frame.data + 12, fuzz_word(in) % (RFM_QUERY_MAX + 2));
	}
	if (frame.type == RFM_FRAME_MULTICAST)
		frame.data[4 + FUZZ_ID / 8] = fuzz_byte(in);
	len = frame.type == RFM_FRAME_TRAIN ? put_train(in, &frame, wire) :
	      frame.type == RFM_FRAME_PACKET ? put_packet(in, &frame, wire) :
					       rfm_frame_encode(&frame, wire);
	damage = fuzz_byte(in);
	if (damage & 0x80)
		wire[fuzz_word(in) % len] ^= damage;
	return len;
}
