// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"

#include <string.h>

#include "ring/frame.h"

#define ORIGIN							\
	.source = 3, .clock_domain = 0x11223344,		\
	.incarnation = 0x0102030405060708, .time_ns = 0x2122232425262728

/*
 * The examples of docs/ring-protocol.md, byte for byte. They were computed by
 * another program, so a change of layout or check shows here.
 */
static const struct example {
	struct rfm_frame frame;
	unsigned int length;
	uint8_t wire[RFM_FRAME_MAX];
} examples[] = {
	{
		.frame = {
			ORIGIN, .type = RFM_FRAME_DATA, .address = 0x00aabbcc, .seq = 0x191a,
			.hops = 1, .length = 4, .data = { 0xde, 0xad, 0xbe, 0xef },
		},
		.length = 52,
		.wire = {
			0x52, 0x46, 0x06, 0x01, 0x03, 0x00, 0x00, 0x04,
			0xcc, 0xbb, 0xaa, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1a, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x4c, 0xaa, 0x1e, 0x23, 0x01, 0x00, 0x00, 0xfc,
			0xde, 0xad, 0xbe, 0xef,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_DATA, .address = 0x00aabbcc, .seq = 0x191a,
			.flags = RFM_FLAG_REDUNDANT | RFM_FLAG_SECOND,
			.marks = RFM_MARK_ROGUE_0 | RFM_MARK_PAUSED,
			.hops = 3, .length = 4, .data = { 0xde, 0xad, 0xbe, 0xef },
		},
		.length = 52,
		.wire = {
			0x52, 0x46, 0x06, 0x01, 0x03, 0x00, 0x30, 0x04,
			0xcc, 0xbb, 0xaa, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1a, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x00, 0xc0, 0xc2, 0x52, 0x03, 0x00, 0x05, 0xbf,
			0xde, 0xad, 0xbe, 0xef,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_INTERRUPT, .dest = 7, .kind = 2, .seq = 0x191b,
			.hops = 258, .length = 4, .data = { 0x02, 0x01, 0xfe, 0xca },
		},
		.length = 52,
		.wire = {
			0x52, 0x46, 0x06, 0x02, 0x03, 0x07, 0x02, 0x04,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1b, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x93, 0xa8, 0xa6, 0xa7, 0x02, 0x01, 0x00, 0xf2,
			0x02, 0x01, 0xfe, 0xca,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_INTERRUPT, .dest = 7, .kind = 0xa, .seq = 0x191b,
			.flags = RFM_FLAG_REDUNDANT, .marks = RFM_MARK_ROGUE_1,
			.hops = 258, .length = 4, .data = { 0x02, 0x01, 0xfe, 0xca },
		},
		.length = 52,
		.wire = {
			0x52, 0x46, 0x06, 0x02, 0x03, 0x07, 0x1a, 0x04,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1b, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0xb5, 0x9d, 0x48, 0x9f, 0x02, 0x01, 0x02, 0xdc,
			0x02, 0x01, 0xfe, 0xca,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_HEARTBEAT, .seq = 0x191b, .hops = 1,
		},
		.length = 48,
		.wire = {
			0x52, 0x46, 0x06, 0x03, 0x03, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1b, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x4b, 0xa6, 0xd4, 0x23, 0x01, 0x00, 0x00, 0xfc,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_DUPLICATE, .seq = 0x191b, .hops = 1,
			.length = 8,
			.data = { 0x09, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01 },
		},
		.length = 56,
		.wire = {
			0x52, 0x46, 0x06, 0x04, 0x03, 0x00, 0x00, 0x08,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1b, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x36, 0xc3, 0x09, 0xb3, 0x01, 0x00, 0x00, 0xfc,
			0x09, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_BREAK, .seq = 0x191b, .hops = 1,
		},
		.length = 48,
		.wire = {
			0x52, 0x46, 0x06, 0x05, 0x03, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1b, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x65, 0x6e, 0x53, 0x2b, 0x01, 0x00, 0x00, 0xfc,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_FENCE, .seq = 0x191c, .hops = 1,
			.length = 8,
			.data = { 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41 },
		},
		.length = 56,
		.wire = {
			0x52, 0x46, 0x06, 0x06, 0x03, 0x00, 0x00, 0x08,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1c, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x41, 0xd8, 0x83, 0x85, 0x01, 0x00, 0x00, 0xfc,
			0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_MULTICAST, .kind = 7, .seq = 0x191d, .hops = 1,
			.length = 36,
			.data = { 0x02, 0x01, 0xfe, 0xca, 0x81, 0x02, [35] = 0x80 },
		},
		.length = 84,
		.wire = {
			0x52, 0x46, 0x06, 0x07, 0x03, 0x00, 0x07, 0x24,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x1d, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0xfa, 0x72, 0xc7, 0xad, 0x01, 0x00, 0x00, 0xfc,
			0x02, 0x01, 0xfe, 0xca, 0x81, 0x02, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x00, 0x00, 0x00, 0x80,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_QUERY, .seq = 0x1920, .hops = 1, .length = 16,
			.data = { 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
				  0x00, 0xc0, 0xab, 0x00, 0x00, 0x10, 0x00, 0x00 },
		},
		.length = 64,
		.wire = {
			0x52, 0x46, 0x06, 0x09, 0x03, 0x00, 0x00, 0x10,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x20, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x7b, 0xdb, 0x99, 0x09, 0x01, 0x00, 0x00, 0xfc,
			0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
			0x00, 0xc0, 0xab, 0x00, 0x00, 0x10, 0x00, 0x00,
		},
	}, {
		.frame = {
			ORIGIN, .type = RFM_FRAME_ANSWER, .dest = 7, .seq = 0x1920, .hops = 1,
			.length = 24,
			.data = { 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
				  0x32, 0xfe, 0x71, 0x9c, 0x00, 0x10, 0x01, 0x00,
				  0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07 },
		},
		.length = 72,
		.wire = {
			0x52, 0x46, 0x06, 0x0a, 0x03, 0x07, 0x00, 0x18,
			0x00, 0x00, 0x00, 0x00, 0x44, 0x33, 0x22, 0x11,
			0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
			0x20, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
			0x48, 0xc6, 0xb2, 0xdb, 0x01, 0x00, 0x00, 0xfc,
			0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
			0x32, 0xfe, 0x71, 0x9c, 0x00, 0x10, 0x01, 0x00,
			0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
		},
	},
};

static void assert_same_frame(const struct rfm_frame *a, const struct rfm_frame *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->source, b->source);
	assert_int_equal(a->dest, b->dest);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->marks, b->marks);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->hops, b->hops);
	assert_int_equal(a->address, b->address);
	assert_int_equal(a->clock_domain, b->clock_domain);
	assert_true(a->incarnation == b->incarnation);
	assert_true(a->seq == b->seq);
	assert_true(a->time_ns == b->time_ns);
	assert_memory_equal(a->data, b->data, a->length);
}

static void bytes_of_the_protocol(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		uint8_t wire[RFM_FRAME_MAX];
		struct rfm_frame frame;

		assert_int_equal(rfm_frame_encode(&examples[i].frame, wire), examples[i].length);
		assert_memory_equal(wire, examples[i].wire, examples[i].length);
		assert_int_equal(rfm_frame_length(examples[i].wire), examples[i].length);
		assert_int_equal(rfm_frame_decode(examples[i].wire, &frame), RFM_FRAME_OK);
		assert_same_frame(&frame, &examples[i].frame);
		/* The same without the data, which stay as they were. */
		memset(&frame, 0xee, sizeof(frame));
		assert_int_equal(rfm_frame_decode_header(examples[i].wire, &frame), RFM_FRAME_OK);
		for (int n = 0; n < RFM_FRAME_DATA_MAX; n++)
			assert_int_equal(frame.data[n], 0xee);
		memcpy(frame.data, examples[i].frame.data, frame.length);
		assert_same_frame(&frame, &examples[i].frame);
	}
}

/* The same for a train: 64 bytes and 4. */
static const uint8_t train[] = {
	0x52, 0x46, 0x06, 0x08, 0x03, 0x02, 0x00, 0x04,
	0xc0, 0xbb, 0xaa, 0x00, 0x44, 0x33, 0x22, 0x11,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x1e, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0xbc, 0x35, 0x1d, 0xa7, 0x01, 0x00, 0x00, 0xfc,
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
	0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
	0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
	0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
	0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
	0xde, 0xad, 0xbe, 0xef,
};

static void bytes_of_a_train(void **state)
{
	struct rfm_frame frame = {
		ORIGIN, .type = RFM_FRAME_DATA, .address = 0x00aabbc0, .seq = 0x191e,
		.hops = 1, .count = 2, .length = 68,
	};
	uint8_t wire[RFM_UNIT_MAX], one[RFM_FRAME_MAX];
	struct rfm_frame back;

	(void)state;
	memcpy(wire + RFM_FRAME_HEADER, train + RFM_FRAME_HEADER, 68);
	assert_int_equal(rfm_train_encode(&frame, wire), sizeof(train));
	assert_memory_equal(wire, train, sizeof(train));
	assert_int_equal(rfm_frame_length(train), sizeof(train));
	assert_int_equal(rfm_frame_count(train), 2);
	assert_int_equal(rfm_unit_frames(sizeof(train)), 2);
	assert_int_equal(rfm_frame_decode_header(train, &back), RFM_FRAME_OK);
	assert_int_equal(back.type, RFM_FRAME_DATA);
	assert_int_equal(back.count, 2);
	assert_int_equal(back.length, 68);
	assert_int_equal(back.seq, 0x191e);
	assert_int_equal(rfm_frame_last(&back), 0x191f);
	assert_int_equal(rfm_frame_decode(train, &back), RFM_FRAME_FOREIGN);

	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(rfm_train_frame(train, i, one), RFM_FRAME_HEADER + (i ? 4 : 64));
		assert_int_equal(rfm_frame_decode(one, &back), RFM_FRAME_OK);
		assert_int_equal(back.count, 1);
		assert_int_equal(back.seq, 0x191e + i);
		assert_int_equal(back.address, 0xaabbc0 + 64 * i);
		assert_int_equal(back.length, i ? 4 : 64);
		assert_memory_equal(back.data, train + RFM_FRAME_HEADER + 64 * i, back.length);
	}
}

static void impossible_trains(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} wrong[] = { { 5, 0 }, { 5, 1 }, { 5, RFM_TRAIN_FRAMES + 1 }, { 5, 255 }, { 7, 0 }, { 7, 65 } };
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame frame = {
		ORIGIN, .type = RFM_FRAME_DATA, .seq = INT64_MAX, .hops = 1, .count = 2, .length = 68,
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(wire, train, sizeof(train));
		wire[wrong[i].at] = wrong[i].value;
		assert_int_equal(rfm_frame_length(wire), RFM_FRAME_FOREIGN);
	}
	/* Numbers that nobody can give, and an end past that of the ring's memory. */
	rfm_train_encode(&frame, wire);
	assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
	frame.seq = 1;
	frame.address = RFM_RING_SPACE - 64;
	rfm_train_encode(&frame, wire);
	assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
}

/* 70 bytes from node 3 to node 7, and the same when it has been taken there. */
static const uint8_t packet[] = {
	0x52, 0x46, 0x06, 0x0b, 0x03, 0x07, 0xc1, 0x06,
	0x34, 0x12, 0x02, 0x00, 0x44, 0x33, 0x22, 0x11,
	0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
	0x22, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21,
	0xcf, 0x99, 0x5d, 0xbb, 0x01, 0x00, 0x00, 0xfc,
	0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
	0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f,
	0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
	0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
	0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
	0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
	0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
	0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
	0x40, 0x41, 0x42, 0x43, 0x44, 0x45,
};

static const uint8_t taken_path[] = { 0x03, 0xc0, 0x00, 0xb6 };

static void bytes_of_a_packet(void **state)
{
	struct rfm_frame frame = {
		ORIGIN, .type = RFM_FRAME_PACKET, .dest = 7, .kind = RFM_PACKET_REQUEST,
		.flags = RFM_FLAG_FIRST | RFM_FLAG_LAST, .stream = 0x1234, .seq = 0x1922,
		.hops = 1, .count = 2, .length = 70,
	};
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame back;

	(void)state;
	memcpy(wire + RFM_FRAME_HEADER, packet + RFM_FRAME_HEADER, 70);
	assert_int_equal(rfm_packet_encode(&frame, wire), sizeof(packet));
	assert_memory_equal(wire, packet, sizeof(packet));
	assert_int_equal(rfm_frame_length(packet), sizeof(packet));
	assert_int_equal(rfm_frame_count(packet), 2);
	assert_false(rfm_frame_is_train(packet));
	assert_int_equal(rfm_frame_decode(packet, &back), RFM_FRAME_OK);
	assert_int_equal(back.type, RFM_FRAME_PACKET);
	assert_int_equal(back.dest, 7);
	assert_int_equal(back.kind, RFM_PACKET_REQUEST);
	assert_int_equal(back.flags, RFM_FLAG_FIRST | RFM_FLAG_LAST);
	assert_int_equal(back.stream, 0x1234);
	assert_int_equal(back.address, 0);
	assert_int_equal(back.count, 2);
	assert_int_equal(back.length, 70);
	assert_int_equal(back.marks, 0);
	assert_int_equal(rfm_frame_last(&back), 0x1923);
	assert_memory_equal(back.data, packet + RFM_FRAME_HEADER, RFM_FRAME_DATA_MAX);

	rfm_frame_set_path(wire, 3, RFM_MARK_SEEN | RFM_MARK_TAKEN);
	assert_memory_equal(wire + 44, taken_path, sizeof(taken_path));
	assert_int_equal(rfm_frame_decode(wire, &back), RFM_FRAME_OK);
	assert_int_equal(back.hops, 3);
	assert_int_equal(back.marks, RFM_MARK_SEEN | RFM_MARK_TAKEN);
}

static void impossible_packets(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} wrong[] = { { 10, 0 }, { 10, RFM_PACKET_PIECES + 1 }, { 10, 255 }, { 7, 0 }, { 7, 65 } };
	struct rfm_frame frame = {
		ORIGIN, .type = RFM_FRAME_PACKET, .seq = INT64_MAX, .hops = 1, .count = 2, .length = 70,
	};
	uint8_t wire[RFM_UNIT_MAX];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++) {
		memcpy(wire, packet, sizeof(packet));
		wire[wrong[i].at] = wrong[i].value;
		assert_int_equal(rfm_frame_length(wire), RFM_FRAME_FOREIGN);
	}
	/* Its last piece has a number that nobody can give. */
	rfm_packet_encode(&frame, wire);
	assert_int_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_DAMAGED);
}

static void data_of_every_length(void **state)
{
	struct rfm_frame frame = { ORIGIN, .type = RFM_FRAME_DATA, .seq = 1, .hops = 1 };
	uint8_t wire[RFM_FRAME_MAX], copy[RFM_FRAME_MAX];
	struct rfm_frame back;

	(void)state;
	for (int i = 0; i < RFM_FRAME_DATA_MAX; i++)
		frame.data[i] = 200 - i;
	for (frame.length = 1; frame.length <= RFM_FRAME_DATA_MAX; frame.length++) {
		frame.address = RFM_RING_SPACE - frame.length;	/* ends with the space */
		assert_int_equal(rfm_frame_encode(&frame, wire), RFM_FRAME_HEADER + frame.length);
		assert_int_equal(rfm_frame_decode(wire, &back), RFM_FRAME_OK);
		assert_same_frame(&back, &frame);
		memset(copy, 0, sizeof(copy));
		rfm_frame_copy(copy, wire, RFM_FRAME_HEADER + frame.length);
		assert_memory_equal(copy, wire, RFM_FRAME_HEADER + frame.length);
	}
}

static void every_flipped_bit_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		for (unsigned int bit = 0; bit < examples[i].length * 8; bit++) {
			uint8_t wire[RFM_UNIT_MAX] = { 0 };	/* it may become a train */
			struct rfm_frame frame;

			memcpy(wire, examples[i].wire, sizeof(examples[i].wire));
			wire[bit / 8] ^= 1 << bit % 8;
			assert_int_not_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_OK);
			assert_int_not_equal(rfm_frame_decode_header(wire, &frame), RFM_FRAME_OK);
		}
	}
}

/* What would lose the framing of the stream must be told from mere damage. */
static void not_a_frame(void **state)
{
	static const struct {
		uint8_t at, value;
	} foreign[] = {
		{ 0, 'r' }, { 1, 'L' },			/* magic */
		{ 2, 0 }, { 2, 3 }, { 2, 5 }, { 2, 255 },	/* version */
		{ 3, 0 }, { 3, 12 }, { 3, 255 },		/* type */
		{ 3, RFM_FRAME_TRAIN },			/* of no frames */
		{ 7, 0 }, { 7, 65 }, { 7, 255 },	/* length of data */
	};
	static const uint8_t wrong_length[][2] = {
		{ RFM_FRAME_INTERRUPT, 0 }, { RFM_FRAME_INTERRUPT, 3 },
		{ RFM_FRAME_INTERRUPT, 5 }, { RFM_FRAME_HEARTBEAT, 1 },
		{ RFM_FRAME_DUPLICATE, 0 }, { RFM_FRAME_DUPLICATE, 7 },
		{ RFM_FRAME_DUPLICATE, 9 }, { RFM_FRAME_BREAK, 1 },
		{ RFM_FRAME_FENCE, 0 }, { RFM_FRAME_FENCE, 7 },
		{ RFM_FRAME_FENCE, 9 }, { RFM_FRAME_MULTICAST, 0 },
		{ RFM_FRAME_MULTICAST, 4 }, { RFM_FRAME_MULTICAST, 32 },
		{ RFM_FRAME_MULTICAST, 35 }, { RFM_FRAME_MULTICAST, 37 },
		{ RFM_FRAME_MULTICAST, 64 }, { RFM_FRAME_QUERY, 0 },
		{ RFM_FRAME_QUERY, 15 }, { RFM_FRAME_QUERY, 17 },
		{ RFM_FRAME_ANSWER, 0 }, { RFM_FRAME_ANSWER, 23 },
		{ RFM_FRAME_ANSWER, 25 },
	};
	uint8_t wire[RFM_FRAME_MAX];
	struct rfm_frame frame;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		memcpy(wire, examples[0].wire, sizeof(wire));
		wire[foreign[i].at] = foreign[i].value;
		assert_int_equal(rfm_frame_length(wire), RFM_FRAME_FOREIGN);
		assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_FOREIGN);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong_length); i++) {
		memcpy(wire, examples[0].wire, sizeof(wire));
		wire[3] = wrong_length[i][0];
		wire[7] = wrong_length[i][1];
		assert_int_equal(rfm_frame_length(wire), RFM_FRAME_FOREIGN);
	}
}

/* A correct check does not make an address right. */
static void address_outside_the_ring(void **state)
{
	static const struct {
		uint32_t address;
		uint8_t length;
	} outside[] = {
		{ 0x10000000, 1 }, { 0x0fffffff, 2 }, { 0x0fffffc1, 64 },
		{ 0xffffffff, 1 }, { 0xfffffffc, 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		struct rfm_frame frame = {
			ORIGIN, .type = RFM_FRAME_DATA, .seq = 1, .hops = 1,
			.address = outside[i].address, .length = outside[i].length,
		};
		uint8_t wire[RFM_FRAME_MAX];

		rfm_frame_encode(&frame, wire);
		assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_DAMAGED);
	}
}

/* 0 stands for no life at all: nobody can have it. */
static void no_life(void **state)
{
	struct rfm_frame frame = { .type = RFM_FRAME_HEARTBEAT, .source = 3, .hops = 1 };
	uint8_t wire[RFM_FRAME_MAX];

	(void)state;
	rfm_frame_encode(&frame, wire);
	assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_DAMAGED);
	frame.incarnation = 1;
	rfm_frame_encode(&frame, wire);
	assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_OK);
}

/* Nodes on the way rewrite the hop count and the marks, nothing that the CRC covers. */
static void the_path_changes_on_the_way(void **state)
{
	uint8_t wire[RFM_FRAME_MAX];
	struct rfm_frame frame;

	(void)state;
	memcpy(wire, examples[0].wire, sizeof(wire));
	for (uint32_t hops = 0; hops <= 0x3fff; hops++) {
		const uint16_t marks = hops * 5 & RFM_MARKS;

		rfm_frame_set_path(wire, hops, marks);
		assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_OK);
		assert_int_equal(frame.hops, hops);
		assert_int_equal(frame.marks, marks);
	}
	assert_memory_equal(wire, examples[0].wire, 44);
	assert_memory_equal(wire + 48, examples[0].wire + 48, 4);
}

static bool only_comes_home(uint8_t type, uint8_t kind, uint16_t marks)
{
	struct rfm_frame frame = {
		.type = type, .kind = kind, .source = 7, .incarnation = 9, .seq = 1, .hops = 1,
		.length = 4, .count = 1, .marks = marks,
	};
	uint8_t wire[RFM_UNIT_MAX] = { 0 };

	if (type == RFM_FRAME_PACKET)
		rfm_packet_encode(&frame, wire);
	else
		rfm_frame_encode(&frame, wire);
	/* Of others it never is. */
	assert_false(rfm_frame_only_comes_home(wire, 6, 9));
	assert_false(rfm_frame_only_comes_home(wire, 7, 8));
	return rfm_frame_only_comes_home(wire, 7, 9);
}

static void who_waits_for_what_comes_home(void **state)
{
	struct rfm_frame train = { .type = RFM_FRAME_DATA, .source = 7, .incarnation = 9, .seq = 1,
				   .count = 2, .length = 128 };
	uint8_t wire[RFM_UNIT_MAX] = { 0 };

	(void)state;
	rfm_train_encode(&train, wire);
	assert_true(rfm_frame_only_comes_home(wire, 7, 9));
	assert_true(only_comes_home(RFM_FRAME_DATA, 0, 0));
	assert_true(only_comes_home(RFM_FRAME_INTERRUPT, 1, 0));
	assert_true(only_comes_home(RFM_FRAME_MULTICAST, 1, 0));
	assert_true(only_comes_home(RFM_FRAME_PACKET, RFM_PACKET_ETHERNET, RFM_MARK_SEEN));
	assert_true(only_comes_home(RFM_FRAME_PACKET, RFM_PACKET_REQUEST,
				    RFM_MARK_SEEN | RFM_MARK_TAKEN));
	assert_false(only_comes_home(RFM_FRAME_PACKET, RFM_PACKET_REQUEST, RFM_MARK_SEEN));
	assert_false(only_comes_home(RFM_FRAME_PACKET, RFM_PACKET_MESSAGE, 0));
	assert_false(only_comes_home(RFM_FRAME_FENCE, 0, 0));
	assert_false(only_comes_home(RFM_FRAME_HEARTBEAT, 0, 0));
	assert_false(only_comes_home(RFM_FRAME_QUERY, 0, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_the_protocol),
		cmocka_unit_test(bytes_of_a_train),
		cmocka_unit_test(impossible_trains),
		cmocka_unit_test(bytes_of_a_packet),
		cmocka_unit_test(impossible_packets),
		cmocka_unit_test(data_of_every_length),
		cmocka_unit_test(every_flipped_bit_is_refused),
		cmocka_unit_test(not_a_frame),
		cmocka_unit_test(address_outside_the_ring),
		cmocka_unit_test(no_life),
		cmocka_unit_test(the_path_changes_on_the_way),
		cmocka_unit_test(who_waits_for_what_comes_home),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
