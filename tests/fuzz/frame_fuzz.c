// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: the frame decoder. The first byte says whether the checks
 * are put right, so that what lies behind them is reached too.
 */
#include <stdlib.h>
#include <string.h>

#include "ring/crc32c.h"
#include "ring/frame.h"
#include "ring/wire.h"
#include "tests/fuzz/fuzz.h"

/* Where the checks stand, from docs/ring-protocol.md. */
#define AT_TYPE		3
#define AT_COUNT	5	/* of a train */
#define AT_LENGTH	7
#define AT_PIECES	10	/* of a packet */
#define AT_SPARE	11	/* of a packet */
#define AT_CHECK	40
#define AT_HOPS		44
#define AT_HOP_CHECK	47

#define HOPS		0x3fff

static void put_checks_right(uint8_t *wire)
{
	uint32_t check = rfm_crc32c(0, wire, AT_CHECK);
	int length = rfm_frame_length(wire) - RFM_FRAME_HEADER;

	put32(wire + AT_CHECK, rfm_crc32c(check, wire + RFM_FRAME_HEADER, length));
	wire[AT_HOP_CHECK] = ~(3 * wire[AT_HOPS] + 7 * wire[AT_HOPS + 1] + 11 * wire[AT_HOPS + 2]);
}

static void check_valid(const struct rfm_frame *frame, int length)
{
	CHECK(RFM_FRAME_ALL_TYPES >> frame->type & 1);
	CHECK(frame->count && frame->count <= RFM_TRAIN_FRAMES);
	CHECK(frame->count == 1 || frame->type == RFM_FRAME_DATA ||
	      frame->type == RFM_FRAME_PACKET);
	CHECK(frame->length <= frame->count * RFM_FRAME_DATA_MAX);
	CHECK(frame->count == 1 || frame->length > (frame->count - 1) * RFM_FRAME_DATA_MAX);
	CHECK(rfm_frame_last(frame) >= frame->seq);
	CHECK(length == (int)(RFM_FRAME_HEADER + frame->length));
	CHECK(frame->kind <= 0xf && frame->flags <= 0xf && frame->hops <= HOPS);
	CHECK(!frame->stream || frame->type == RFM_FRAME_PACKET);
	CHECK(frame->length || frame->type != RFM_FRAME_PACKET);
	if (frame->type == RFM_FRAME_DATA) {
		CHECK(frame->length);
		CHECK(frame->address < RFM_RING_SPACE);
		CHECK(frame->length <= RFM_RING_SPACE - frame->address);
	}
}

/* Decoding loses nothing, and a changed path is still a valid frame. */
static void check_round_trip(const uint8_t *wire, const struct rfm_frame *frame, int length)
{
	const uint16_t hops = (frame->hops + 1) & HOPS;
	uint8_t again[RFM_UNIT_MAX];
	struct rfm_frame changed;

	memcpy(again + RFM_FRAME_HEADER, wire + RFM_FRAME_HEADER, frame->length);
	if (frame->type == RFM_FRAME_PACKET)
		CHECK(rfm_packet_encode(frame, again) == (unsigned int)length);
	else
		CHECK(rfm_frame_encode(frame, again) == (unsigned int)length);
	/* What is spare in a packet's place of the address is sent as 0. */
	CHECK(!memcmp(again, wire, length) || (frame->type == RFM_FRAME_PACKET && wire[AT_SPARE]));
	rfm_frame_set_path(again, hops, frame->marks ^ RFM_MARKS);
	CHECK(rfm_frame_decode(again, &changed) == RFM_FRAME_OK);
	CHECK(changed.hops == hops);
	CHECK(changed.marks == (frame->marks ^ RFM_MARKS));
	CHECK(changed.seq == frame->seq && changed.incarnation == frame->incarnation);
	CHECK(changed.length == frame->length && changed.stream == frame->stream);
	CHECK(!memcmp(changed.data, frame->data, length < RFM_FRAME_MAX ? frame->length :
									  RFM_FRAME_DATA_MAX));
}

/* Each frame of a train is a good one, and together they are the train. */
static void check_train(const uint8_t *wire, const struct rfm_frame *train)
{
	unsigned int at = 0;

	for (unsigned int i = 0; i < train->count; i++) {
		uint8_t one[RFM_FRAME_MAX];
		struct rfm_frame frame;

		CHECK(rfm_train_frame(wire, i, one) == (unsigned int)rfm_frame_length(one));
		CHECK(rfm_frame_decode(one, &frame) == RFM_FRAME_OK);
		CHECK(frame.seq == train->seq + i && frame.address == train->address + at);
		CHECK(frame.hops == train->hops && frame.marks == train->marks);
		CHECK(!memcmp(frame.data, wire + RFM_FRAME_HEADER + at, frame.length));
		at += frame.length;
	}
	CHECK(at == train->length);
}

/* Another length is another frame: only as good as the check. */
static bool says_length(const uint8_t *wire, unsigned int at)
{
	return at == AT_LENGTH || at == AT_TYPE ||
	       at == (wire[AT_TYPE] == RFM_FRAME_PACKET ? AT_PIECES : AT_COUNT);
}

/* One bit in the air: never taken for a good frame. */
static void check_damage(const uint8_t *wire, int length, unsigned int bit)
{
	uint8_t damaged[RFM_UNIT_MAX] = { 0 };
	struct rfm_frame frame;

	memcpy(damaged, wire, length);
	bit %= length * 8;
	if (says_length(wire, bit / 8))
		return;
	damaged[bit / 8] ^= 1u << bit % 8;
	CHECK(rfm_frame_decode_header(damaged, &frame) != RFM_FRAME_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *wire;
	struct rfm_frame frame = { 0 };
	int length, error;

	if (size < 3 + RFM_FRAME_HEADER || size > 3 + RFM_UNIT_MAX)
		return -1;
	/* As many bytes as rfm_frame_length() asks for and no more: ASan watches. */
	length = rfm_frame_length(data + 3);
	CHECK(length == RFM_FRAME_FOREIGN ||
	      (length >= RFM_FRAME_HEADER && length <= RFM_UNIT_MAX));
	wire = calloc(1, length > 0 ? length : RFM_FRAME_HEADER);
	CHECK(wire);
	if (length > 0 && size - 3 < (size_t)length)
		memcpy(wire, data + 3, size - 3);
	else
		memcpy(wire, data + 3, length > 0 ? length : RFM_FRAME_HEADER);
	if (length > 0 && data[0] & 1)
		put_checks_right(wire);

	error = rfm_frame_decode_header(wire, &frame);
	CHECK(length > 0 || error == RFM_FRAME_FOREIGN);
	CHECK(length < 0 || error != RFM_FRAME_FOREIGN);
	if (error == RFM_FRAME_OK) {
		check_valid(&frame, length);
		if (rfm_frame_is_train(wire))
			check_train(wire, &frame);
		else if (rfm_frame_decode(wire, &frame) == RFM_FRAME_OK)
			check_round_trip(wire, &frame, length);
		check_damage(wire, length, data[1] | data[2] << 8);
	}
	free(wire);
	return 0;
}
