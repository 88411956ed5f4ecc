// SPDX-License-Identifier: MIT
#include "ring/frame.h"

#include "ring/crc32c.h"
#include "ring/frame-layout.h"

#define FRAME_MAGIC	0x4652u		/* "RF" on the wire */

/* Lengths of data a type may have. */
static const struct {
	uint8_t min, max;
} type_length[] = {
	[RFM_FRAME_DATA]	= { 1, RFM_FRAME_DATA_MAX },
	[RFM_FRAME_INTERRUPT]	= { 4, 4 },
	[RFM_FRAME_HEARTBEAT]	= { 0, 0 },
	[RFM_FRAME_DUPLICATE]	= { 8, 8 },
	[RFM_FRAME_BREAK]	= { 0, 0 },
	[RFM_FRAME_FENCE]	= { 8, 8 },
	[RFM_FRAME_MULTICAST]	= { 4 + RFM_NODE_SET, 4 + RFM_NODE_SET },
	[RFM_FRAME_TRAIN]	= { 1, RFM_FRAME_DATA_MAX },
	[RFM_FRAME_QUERY]	= { 16, 16 },
	[RFM_FRAME_ANSWER]	= { 24, 24 },
	[RFM_FRAME_PACKET]	= { 1, RFM_FRAME_DATA_MAX },
};

#define WIRE_TYPES (sizeof(type_length) / sizeof(type_length[0]))

_Static_assert(WIRE_TYPES == RFM_FRAME_TYPES, "every type has its lengths");

bool rfm_frame_is_train(const uint8_t *wire)
{
	return wire[AT_TYPE] == RFM_FRAME_TRAIN;
}

static bool is_packet(const uint8_t *wire)
{
	return wire[AT_TYPE] == RFM_FRAME_PACKET;
}

bool rfm_frame_only_comes_home(const uint8_t *wire, uint8_t id, uint64_t incarnation)
{
	if (wire[AT_SOURCE] != id || get64(wire + AT_INCARNATION) != incarnation)
		return false;
	switch (wire[AT_TYPE]) {
	case RFM_FRAME_DATA:
	case RFM_FRAME_TRAIN:
	case RFM_FRAME_INTERRUPT:
	case RFM_FRAME_MULTICAST:
		return true;
	case RFM_FRAME_PACKET:
		return (wire[AT_KIND] & RFM_KIND_CLASS) == RFM_PACKET_ETHERNET ||
		       frame_marks(wire) & RFM_MARK_TAKEN;
	default:
		return false;
	}
}

unsigned int rfm_frame_count(const uint8_t *wire)
{
	return rfm_frame_is_train(wire) ? wire[AT_DEST] : is_packet(wire) ? wire[AT_PIECES] : 1;
}

/* Bytes of data. */
static unsigned int data_length(const uint8_t *wire)
{
	return (rfm_frame_count(wire) - 1) * RFM_FRAME_DATA_MAX + wire[AT_LENGTH];
}

uint32_t rfm_frame_header_sum(const uint8_t *wire)
{
	return rfm_crc32c(0, wire, AT_HOPS);
}

static uint32_t origin_check(const uint8_t *wire, unsigned int length)
{
	uint32_t crc = rfm_crc32c(0, wire, AT_CHECK);

	return rfm_crc32c(crc, wire + AT_DATA, length);
}

/* Bytes 44 to 47. */
static uint32_t path_word(uint16_t hops, uint16_t marks)
{
	uint16_t low = hops | (marks & (RFM_MARK_SEEN | RFM_MARK_TAKEN)) << VERDICT_SHIFT;
	uint32_t path = low | (uint32_t)(uint8_t)marks << 16;

	return path | (uint32_t)path_check(path) << 24;
}

void rfm_frame_set_path(uint8_t *wire, uint16_t hops, uint16_t marks)
{
	put32(wire + AT_HOPS, path_word(hops, marks));
}

/* By whole words, as the sum is made by words of them: it had to wait for single bytes. */
static void put_header(const struct rfm_frame *frame, uint8_t type, uint8_t dest, uint8_t length,
		       uint32_t address, uint8_t *wire)
{
	uint8_t kind = frame->kind | frame->flags << 4;

	put64(wire, FRAME_MAGIC | RFM_FRAME_VERSION << 8 * AT_VERSION |
		    (uint32_t)type << 8 * AT_TYPE | (uint64_t)frame->source << 8 * AT_SOURCE |
		    (uint64_t)dest << 8 * AT_DEST | (uint64_t)kind << 8 * AT_KIND |
		    (uint64_t)length << 8 * AT_LENGTH);
	put64(wire + AT_ADDRESS, address | (uint64_t)frame->clock_domain << 32);
	put64(wire + AT_INCARNATION, frame->incarnation);
	put64(wire + AT_SEQ, frame->seq);
	put64(wire + AT_TIME, frame->time_ns);
}

/*
 * Header and @length bytes of data are there. @wire may be shared with a neighbour: what it
 * says is not believed.
 */
static unsigned int seal_frame(const struct rfm_frame *frame, uint8_t *wire, unsigned int length)
{
	put64(wire + AT_CHECK, origin_check(wire, length) |
			       (uint64_t)path_word(frame->hops, frame->marks) << 32);
	return RFM_FRAME_HEADER + length;
}

unsigned int rfm_frame_encode(const struct rfm_frame *frame, uint8_t *wire)
{
	put_header(frame, frame->type, frame->dest, frame->length, frame->address, wire);
	memcpy(wire + AT_DATA, frame->data, RFM_FRAME_DATA_MAX);
	return seal_frame(frame, wire, frame->length);
}

/* Of several frames or pieces, whose data are there, the header tells the length of the last. */
static unsigned int encode_several(const struct rfm_frame *frame, uint8_t type, uint8_t dest,
				   uint32_t address, uint8_t *wire)
{
	put_header(frame, type, dest, frame->length - (frame->count - 1) * RFM_FRAME_DATA_MAX,
		   address, wire);
	return seal_frame(frame, wire, frame->length);
}

unsigned int rfm_train_encode(const struct rfm_frame *frame, uint8_t *wire)
{
	return encode_several(frame, RFM_FRAME_TRAIN, frame->count, frame->address, wire);
}

unsigned int rfm_packet_encode(const struct rfm_frame *frame, uint8_t *wire)
{
	return encode_several(frame, frame->type, frame->dest,
			      frame->stream | (uint32_t)frame->count << 16, wire);
}

unsigned int rfm_train_frame(const uint8_t *train, unsigned int index, uint8_t *wire)
{
	unsigned int at = index * RFM_FRAME_DATA_MAX;
	bool last = index + 1 == rfm_frame_count(train);
	unsigned int length = last ? train[AT_LENGTH] : RFM_FRAME_DATA_MAX;

	memcpy(wire, train, RFM_FRAME_HEADER);
	memcpy(wire + AT_DATA, train + AT_DATA + at, length);
	wire[AT_TYPE] = RFM_FRAME_DATA;
	wire[AT_DEST] = 0;
	wire[AT_LENGTH] = length;
	put32(wire + AT_ADDRESS, get32(train + AT_ADDRESS) + at);
	put64(wire + AT_SEQ, get64(train + AT_SEQ) + index);
	put32(wire + AT_CHECK, origin_check(wire, length));
	return RFM_FRAME_HEADER + length;
}

int rfm_frame_length(const uint8_t *wire)
{
	uint8_t type = wire[AT_TYPE];
	uint8_t length = wire[AT_LENGTH];

	if (get16(wire + AT_MAGIC) != FRAME_MAGIC ||
	    wire[AT_VERSION] != RFM_FRAME_VERSION ||
	    type >= WIRE_TYPES || !type ||
	    length < type_length[type].min || length > type_length[type].max)
		return RFM_FRAME_FOREIGN;
	if (rfm_frame_is_train(wire) && (wire[AT_DEST] < 2 || wire[AT_DEST] > RFM_TRAIN_FRAMES))
		return RFM_FRAME_FOREIGN;
	if (is_packet(wire) && (!wire[AT_PIECES] || wire[AT_PIECES] > RFM_PACKET_PIECES))
		return RFM_FRAME_FOREIGN;
	return RFM_FRAME_HEADER + data_length(wire);
}

int rfm_frame_read_header(const uint8_t *wire, struct rfm_frame *frame)
{
	if (wire[AT_HOP_CHECK] != hop_check(wire))
		return RFM_FRAME_DAMAGED;

	frame->type = rfm_frame_is_train(wire) ? RFM_FRAME_DATA : wire[AT_TYPE];
	frame->source = wire[AT_SOURCE];
	frame->dest = rfm_frame_is_train(wire) ? 0 : wire[AT_DEST];
	frame->kind = wire[AT_KIND] & 0xf;
	frame->flags = wire[AT_KIND] >> 4;
	frame->marks = frame_marks(wire);
	frame->count = rfm_frame_count(wire);
	frame->length = data_length(wire);
	frame->hops = frame_hops(wire);
	frame->address = is_packet(wire) ? 0 : get32(wire + AT_ADDRESS);
	frame->stream = is_packet(wire) ? get16(wire + AT_STREAM) : 0;
	frame->clock_domain = get32(wire + AT_CLOCK_DOMAIN);
	frame->incarnation = get64(wire + AT_INCARNATION);
	frame->seq = get64(wire + AT_SEQ);
	frame->time_ns = get64(wire + AT_TIME);

	if (!frame->incarnation)
		return RFM_FRAME_DAMAGED;	/* no node has it: it stands for none */
	/* No source gets that far: all that came after such a number would be late. */
	if ((frame->seq | rfm_frame_last(frame)) > RFM_FRAME_SEQ_MAX)
		return RFM_FRAME_DAMAGED;
	if (frame->type == RFM_FRAME_DATA &&
	    (frame->address >= RFM_RING_SPACE ||
	     frame->length > RFM_RING_SPACE - frame->address))
		return RFM_FRAME_DAMAGED;
	return RFM_FRAME_OK;
}

int rfm_frame_decode_header(const uint8_t *wire, struct rfm_frame *frame)
{
	if (rfm_frame_length(wire) < 0)
		return RFM_FRAME_FOREIGN;
	if (get32(wire + AT_CHECK) != origin_check(wire, data_length(wire)))
		return RFM_FRAME_DAMAGED;
	return rfm_frame_read_header(wire, frame);
}

int rfm_frame_decode(const uint8_t *wire, struct rfm_frame *frame)
{
	int error = rfm_frame_is_train(wire) ? RFM_FRAME_FOREIGN : rfm_frame_decode_header(wire, frame);

	if (error == RFM_FRAME_OK)
		memcpy(frame->data, wire + AT_DATA, frame->length < sizeof(frame->data) ?
		       frame->length : sizeof(frame->data));
	return error;
}
