// SPDX-License-Identifier: MIT
/* links: tests/unit/ends.c tests/unit/queue.c */
/* Two ends of a link that move frames through shared memory, as cards and ports do. */
#include "tests/unit/test.h"
#include "tests/unit/ends.h"
#include "tests/unit/queue.h"

#define SLOTS (4 * RFM_TRAIN_FRAMES)

static struct rfm_link_tx tx;
static struct rfm_link_rx rx;
static struct rfm_shm out, in;
static unsigned int to_send, sent, came, close_at;
static bool up;

static struct rfm_link_self self(void *opaque)
{
	(void)opaque;
	return (struct rfm_link_self){ .id = 3, .incarnation = 1, .memory_size = 256 };
}

static void on_light(void *opaque, bool on, uint64_t now)
{
	(void)opaque;
	(void)on;
	(void)now;
}

static void on_frame(void *opaque, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct rfm_frame frame;

	(void)opaque;
	(void)len;
	if (++came == close_at) {
		rfm_link_rx_closed(&rx, now);
		rfm_shm_close(&in);
	}
	/* It stands there even if the link is gone. */
	assert_int_equal(rfm_frame_decode(wire, &frame), RFM_FRAME_OK);
	assert_int_equal(frame.seq, came);
}

static void on_bad(void *opaque)
{
	(void)opaque;
}

static void on_downstream(void *opaque, bool on, uint64_t now)
{
	(void)opaque;
	(void)now;
	up = on;
}

static bool light_out(void *opaque)
{
	(void)opaque;
	return true;
}

static unsigned int pull(void *opaque, uint8_t *wire, uint64_t now)
{
	(void)opaque;
	(void)now;
	if (sent == to_send)
		return 0;
	sent++;
	return data_frame(wire, sent, sent);
}

static const struct rfm_link_ops ops = {
	.self = self,
	.light = on_light,
	.frame = on_frame,
	.bad = on_bad,
	.downstream = on_downstream,
	.light_out = light_out,
	.pull = pull,
};

/* Both ends, and the light said. */
static void connect_ends(void)
{
	uint8_t buf[RFM_LINK_BATCH];
	unsigned int moved;

	to_send = sent = came = close_at = 0;
	make_pair(&out, &in, SLOTS);
	rfm_link_tx_init(&tx, &ops, NULL);
	rfm_link_rx_init(&rx, &ops, NULL);
	rfm_link_rx_opened(&rx, 0);
	rfm_link_rx_attached(&rx);
	rfm_link_tx_opened(&tx, true, 0);
	assert_int_equal(rfm_link_tx_fill(&tx, &out, 1, 0, &moved), RFM_LINK_MORE);
	assert_int_equal(moved, 0);
	assert_int_equal(rfm_link_tx_output(&tx, buf, 0), RFM_LINK_MESSAGE);
	assert_null(rfm_link_rx_received(&rx, buf, RFM_LINK_MESSAGE, 0));
	assert_null(rfm_link_tx_received(&tx, rx.reply, rx.reply_length, 0));
	assert_true(tx.shm && rx.shm && up);
	assert_int_equal(rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved), RFM_LINK_DRY);
	assert_int_equal(moved, 1);
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 1);
	assert_true(rx.lit);
}

static void disconnect_ends(void)
{
	rfm_link_rx_closed(&rx, 0);
	rfm_link_tx_closed(&tx, 0);
	assert_false(up);
	close_pair(&out, &in);
}

static void frames_are_moved_until_there_is_a_reason(void **state)
{
	unsigned int moved, total = 10;

	(void)state;
	connect_ends();
	to_send = 1000;
	assert_int_equal(rfm_link_tx_fill(&tx, &out, 10, 0, &moved), RFM_LINK_MORE);
	assert_int_equal(moved, 10);
	assert_null(rfm_link_rx_drain(&rx, &in, 4, 0, &moved));
	assert_int_equal(moved, 4);
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 6);
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 0);
	/* The longest train would still have had its place. */
	assert_int_equal(rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved), RFM_LINK_FULL);
	assert_in_range(moved, SLOTS / 2, SLOTS - RFM_TRAIN_FRAMES + 1);
	for (;;) {
		assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
		total += moved;
		if (rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved) == RFM_LINK_DRY && !moved)
			break;
	}
	assert_int_equal(total, 1000);
	assert_int_equal(came, 1000);
	assert_int_equal(tx.frames, 1000);
	assert_int_equal(rx.frames, 1000);
	disconnect_ends();
}

/* Its neighbour sees nothing before all is there: it would be woken up for a part of it. */
static unsigned int pull_and_look(void *opaque, uint8_t *wire, uint64_t now)
{
	unsigned int moved;

	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, now, &moved));
	assert_int_equal(moved, 0);
	return pull(opaque, wire, now);
}

static void what_is_moved_at_once_is_shown_at_once(void **state)
{
	struct rfm_link_ops watched = ops;
	unsigned int moved;

	(void)state;
	connect_ends();
	to_send = 30;
	watched.pull = pull_and_look;
	tx.ops = &watched;
	assert_int_equal(rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved), RFM_LINK_DRY);
	assert_int_equal(moved, 30);
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 30);
	disconnect_ends();
}

static void who_closes_in_a_call_gets_nothing_more(void **state)
{
	unsigned int moved;

	(void)state;
	connect_ends();
	to_send = 20;
	rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved);
	close_at = 7;
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 7);
	assert_int_equal(came, 7);
	assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
	assert_int_equal(moved, 0);
	assert_int_equal(rx.frames, 7);
	rfm_link_tx_closed(&tx, 0);
	rfm_shm_close(&out);
}

static void what_a_neighbour_has_spoilt_is_left(void **state)
{
	unsigned int moved;

	(void)state;
	connect_ends();
	to_send = 5;
	out.own_index += 2 * SLOTS;
	rfm_shm_publish(&out);
	assert_string_equal(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved),
			    "the upstream neighbour has spoilt the shared memory");
	assert_int_equal(moved, 0);
	disconnect_ends();

	connect_ends();
	to_send = 1000;
	in.own_index += 2 * SLOTS;
	rfm_shm_release(&in);
	assert_int_equal(rfm_link_tx_fill(&tx, &out, 1000, 0, &moved), RFM_LINK_BROKEN);
	disconnect_ends();
}

static void what_nobody_takes_is_pulled_in_vain(void **state)
{
	(void)state;
	to_send = 10;
	sent = 0;
	rfm_link_tx_init(&tx, &ops, NULL);
	assert_int_equal(rfm_link_tx_discard(&tx, 6, 0), 6);
	assert_int_equal(rfm_link_tx_discard(&tx, 6, 0), 4);
	assert_int_equal(rfm_link_tx_discard(&tx, 6, 0), 0);
	assert_int_equal(tx.frames, 0);
}

static unsigned int trains_left, seen_bytes;
static bool known, data_came;

static unsigned int pull_train(void *opaque, uint8_t *wire, uint64_t now)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 3, .incarnation = 1, .seq = 1, .hops = 1,
		.count = 3, .length = 3 * RFM_FRAME_DATA_MAX,
	};

	(void)opaque;
	(void)now;
	if (!trains_left)
		return 0;
	trains_left--;
	memset(wire + RFM_FRAME_HEADER, 0x5a, frame.length);
	return rfm_train_encode(&frame, wire);
}

static bool knows(void *opaque, const uint8_t *wire)
{
	(void)opaque;
	assert_true(rfm_frame_is_train(wire));
	return known;
}

static void on_train(void *opaque, uint8_t *wire, unsigned int len, uint64_t now)
{
	(void)opaque;
	(void)now;
	assert_int_equal(len, RFM_FRAME_HEADER + 3 * RFM_FRAME_DATA_MAX);
	assert_true(rfm_frame_is_train(wire));
	came++;
	data_came = wire[len - 1] == 0x5a;
	memset(wire, 0, len);
}

static void on_seen(void *opaque, bool is_sent, const uint8_t *wire, unsigned int len,
		    uint64_t now)
{
	(void)opaque;
	(void)is_sent;
	(void)now;
	while (seen_bytes < len && (seen_bytes < RFM_FRAME_HEADER || wire[seen_bytes] == 0x5a))
		seen_bytes++;
}

/* A train that comes home is not copied, unless somebody looks at what passes. */
static void of_a_known_train_the_header_is_enough(void **state)
{
	struct rfm_link_ops train_ops = ops;
	const struct rfm_link_tap tap = { .seen = on_seen };
	unsigned int moved;

	(void)state;
	train_ops.pull = pull_train;
	train_ops.knows = knows;
	train_ops.frame = on_train;
	connect_ends();
	tx.ops = rx.ops = &train_ops;
	for (int round = 0; round < 3; round++) {
		known = round;
		rx.tap = round == 2 ? &tap : NULL;
		trains_left = 1;
		rfm_link_tx_fill(&tx, &out, SLOTS, 0, &moved);
		assert_null(rfm_link_rx_drain(&rx, &in, SLOTS, 0, &moved));
		assert_int_equal(moved, 3);
		assert_int_equal(came, round + 1);
		assert_int_equal(data_came, round != 1);
	}
	assert_int_equal(seen_bytes, RFM_FRAME_HEADER + 3 * RFM_FRAME_DATA_MAX);
	disconnect_ends();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_moved_until_there_is_a_reason),
		cmocka_unit_test(what_is_moved_at_once_is_shown_at_once),
		cmocka_unit_test(who_closes_in_a_call_gets_nothing_more),
		cmocka_unit_test(what_a_neighbour_has_spoilt_is_left),
		cmocka_unit_test(what_nobody_takes_is_pulled_in_vain),
		cmocka_unit_test(of_a_known_train_the_header_is_enough),
	};

	return cmocka_run_group_tests_name("link_queue", tests, NULL, NULL);
}
