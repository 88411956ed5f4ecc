// SPDX-License-Identifier: MIT
/* links: tests/unit/ends.c */
/*
 * Two nodes, each end of each fibre a real link, bytes in between. The node
 * under test is mostly node 2, and what its upstream neighbour says to it.
 */
#include "tests/unit/test.h"
#include "tests/unit/ends.h"

#include <string.h>

/* --- agreement ------------------------------------------------------------ */

static void two_neighbours_agree(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);

	(void)state;
	ends_connect(a, b);
	ends_connect(b, a);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_true(rfm_node_signal(&a->node));
	assert_true(rfm_node_signal(&b->node));
	memset(a->memory, 7, 8);
	rfm_node_store(&a->node, 0, a->memory, 8, 0);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_memory_equal(b->memory, a->memory, 256);
	assert_int_equal(a->status, RFM_NODE_OWN_DATA);
	end_free(a);
	end_free(b);
}

static void the_bytes_of_the_messages(void **state)
{
	struct rfm_node_config config = {
		.id = 3, .memory_size = 0x4000000, .incarnation = 0x0102030405060708,
		.clock_domain = 0x11223344,
	};
	struct end *end = end_new(3);
	uint8_t buf[RFM_LINK_BATCH], other[RFM_LINK_MESSAGE];

	(void)state;
	end->node.config = config;
	rfm_link_tx_opened(&end->tx, false, 0);
	assert_int_equal(rfm_link_tx_output(&end->tx, buf, 0), sizeof(hello));
	assert_memory_equal(buf, hello, sizeof(hello));
	assert_int_equal(rfm_link_tx_output(&end->tx, buf, 0), 0);	/* until welcome */
	assert_null(rfm_link_tx_received(&end->tx, welcome, sizeof(welcome), 0));
	assert_int_equal(rfm_link_tx_output(&end->tx, buf, 0), sizeof(light));
	assert_memory_equal(buf, light, sizeof(light));

	rfm_link_rx_opened(&end->rx, 0);
	assert_null(rfm_link_rx_received(&end->rx, hello, sizeof(hello), 0));
	assert_int_equal(end->rx.reply_length, sizeof(welcome));
	assert_memory_equal(end->rx.reply, welcome, sizeof(welcome));
	rfm_link_rx_closed(&end->rx, 0);

	changed(other, hello, 2, 2);
	rfm_link_rx_opened(&end->rx, 0);
	assert_non_null(rfm_link_rx_received(&end->rx, other, sizeof(other), 0));
	assert_int_equal(end->rx.reply_length, sizeof(refuse));
	assert_memory_equal(end->rx.reply, refuse, sizeof(refuse));
	end_free(end);
}

/* Before that, neither signal nor downstream; a connection alone is no light. */
static void nothing_before_the_welcome(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);

	(void)state;
	ends_connect(a, b);
	ends_connect(b, a);
	assert_false(rfm_node_signal(&a->node));
	rfm_node_store(&a->node, 0, "1234", 4, 0);
	assert_int_equal(rfm_node_read_stats(&a->node).dark, 1);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_int_equal(b->stores, 0);
	end_free(a);
	end_free(b);
}

/* A stream may be cut anywhere: every piece size, and every single cut. */
static void pieces_of_every_size(void **state)
{
	(void)state;
	for (unsigned int piece = 1; piece <= 130; piece++) {
		struct end *a = end_new(1), *b = end_new(2);

		ends_connect(a, b);
		ends_connect(b, a);
		ends_settle(a, b, piece);
		for (int i = 0; i < 64; i++) {
			memset(a->memory, i, i + 1);
			rfm_node_store(&a->node, 0, a->memory, i + 1, 0);
			rfm_node_store(&b->node, 200, &i, 4, 0);
		}
		ends_settle(a, b, piece);
		assert_memory_equal(b->memory, a->memory, 64);
		assert_int_equal(b->stores, 64);
		assert_int_equal(a->stores, 64);
		assert_int_equal(rfm_node_read_stats(&a->node).home, 64);
		end_free(a);
		end_free(b);
	}
}

static void a_cut_at_every_byte(void **state)
{
	uint8_t stream[RFM_LINK_MESSAGE * 2 + RFM_FRAME_MAX * 2];
	unsigned int len = 0;

	(void)state;
	memcpy(stream, hello, RFM_LINK_MESSAGE);
	memcpy(stream + RFM_LINK_MESSAGE, light, RFM_LINK_MESSAGE);
	len = 2 * RFM_LINK_MESSAGE;
	len += data_frame(stream + len, 1, 0x11);
	len += data_frame(stream + len, 2, 0x22);
	for (unsigned int cut = 0; cut <= len; cut++) {
		struct end *end = end_new(2);
		uint8_t part[sizeof(stream)];

		rfm_link_rx_opened(&end->rx, 0);
		memcpy(part, stream, cut);
		assert_null(rfm_link_rx_received(&end->rx, part, cut, 0));
		memset(part, 0xee, sizeof(part));	/* it may not look back */
		assert_null(rfm_link_rx_received(&end->rx, stream + cut, len - cut, 0));
		assert_int_equal(end->stores, 2);
		assert_int_equal(end->memory[0], 0x22);
		assert_int_equal(rfm_node_read_stats(&end->node).bad, 0);
		end_free(end);
	}
}

/* --- strangers ------------------------------------------------------------ */

static void refused(const uint8_t *bytes, unsigned int len, const char *why)
{
	for (unsigned int piece = 1; piece <= len; piece += len - 1) {
		struct end *end = end_new(2);
		const char *error = NULL;

		rfm_link_rx_opened(&end->rx, 0);
		for (unsigned int at = 0; at < len && !error; at += piece)
			error = rfm_link_rx_received(&end->rx, bytes + at, piece, 0);
		assert_non_null(error);
		assert_string_equal(error, why);
		rfm_link_rx_closed(&end->rx, 0);
		assert_int_equal(end->status, 0);
		assert_int_equal(end->stores, 0);
		end_free(end);
	}
}

static void strangers_are_turned_away(void **state)
{
	uint8_t message[RFM_LINK_MESSAGE], wire[RFM_FRAME_MAX];

	(void)state;
	refused((const uint8_t *)"GET / HTTP/1.0\r\n", 16,
		"whoever connected does not speak the ring protocol");
	refused((const uint8_t *)"\x16\x03\x01", 3,
		"whoever connected speaks TLS, and this link has none");
	refused((const uint8_t *)"\0\0", 2,
		"whoever connected does not speak the ring protocol");
	refused(wire, data_frame(wire, 1, 1),
		"whoever connected does not speak the ring protocol");
	for (unsigned int bit = 16; bit < RFM_LINK_MESSAGE * 8; bit++) {
		memcpy(message, hello, sizeof(message));
		message[bit / 8] ^= 1 << bit % 8;
		refused(message, sizeof(message), "the upstream neighbour sent a damaged message");
	}
	changed(message, hello, 2, 2);
	refused(message, sizeof(message),
		"the upstream neighbour speaks another version of the ring protocol");
	refused(light, sizeof(light), "the upstream neighbour speaks out of turn");
	refused(welcome, sizeof(welcome), "the upstream neighbour speaks out of turn");
	changed(message, hello, 3, 9);
	refused(message, sizeof(message), "the upstream neighbour speaks out of turn");
}

static void wrong_answers(void **state)
{
	uint8_t message[RFM_LINK_MESSAGE];

	(void)state;
	answered(refuse, "the downstream neighbour speaks another version of the ring protocol");
	changed(message, refuse, 5, 77);
	answered(message, "the downstream neighbour refuses this node");
	changed(message, welcome, 2, 2);
	answered(message, "the downstream neighbour speaks another version of the ring protocol");
	answered(light, "the downstream neighbour answers out of turn");
	memset(message, 'x', sizeof(message));
	answered(message, "the downstream neighbour does not speak the ring protocol");
}

static void a_second_welcome_is_out_of_turn(void **state)
{
	struct end *end = end_new(1);
	uint8_t buf[RFM_LINK_BATCH];

	(void)state;
	rfm_link_tx_opened(&end->tx, false, 0);
	rfm_link_tx_output(&end->tx, buf, 0);
	assert_null(rfm_link_tx_received(&end->tx, welcome, sizeof(welcome), 0));
	assert_non_null(rfm_link_tx_received(&end->tx, welcome, sizeof(welcome), 0));
	end_free(end);
}

/* Whoever connects and says nothing, or not all, is put out after a time. */
static void silence_has_a_deadline(void **state)
{
	struct end *end = end_new(2);
	uint8_t buf[RFM_LINK_BATCH];
	uint64_t next;

	(void)state;
	assert_null(rfm_link_rx_tick(&end->rx, 1000000 * MS, &next));	/* nobody is there */
	assert_true(next == UINT64_MAX);
	assert_null(rfm_link_tx_tick(&end->tx, 1000000 * MS, &next));
	assert_true(next == UINT64_MAX);
	rfm_link_rx_opened(&end->rx, 500 * MS);
	rfm_link_tx_opened(&end->tx, false, 500 * MS);
	rfm_link_tx_output(&end->tx, buf, 500 * MS);
	assert_null(rfm_link_rx_received(&end->rx, hello, 39, 600 * MS));
	assert_null(rfm_link_rx_tick(&end->rx, 2499 * MS, &next));
	assert_int_equal(next, 2500 * MS);
	assert_null(rfm_link_tx_tick(&end->tx, 2499 * MS, &next));
	assert_int_equal(next, 2500 * MS);
	assert_string_equal(rfm_link_rx_tick(&end->rx, 2500 * MS, &next),
			    "whoever connected says nothing");
	assert_string_equal(rfm_link_tx_tick(&end->tx, 2500 * MS, &next),
			    "the downstream neighbour does not answer");
	/* An answer at the last moment is one; then the light is waited for as long. */
	assert_null(rfm_link_rx_received(&end->rx, hello + 39, 1, 2500 * MS));
	assert_null(rfm_link_tx_received(&end->tx, welcome, sizeof(welcome), 2500 * MS));
	assert_null(rfm_link_tx_tick(&end->tx, 2501 * MS, &next));
	assert_null(rfm_link_rx_tick(&end->rx, 4499 * MS, &next));
	assert_int_equal(next, 4500 * MS);
	assert_string_equal(rfm_link_rx_tick(&end->rx, 4500 * MS, &next),
			    "whoever connected greets and says nothing more");
	assert_null(rfm_link_rx_received(&end->rx, light, sizeof(light), 4500 * MS));
	assert_null(rfm_link_rx_tick(&end->rx, 4501 * MS, &next));
	end_free(end);
}

/* --- afterwards ----------------------------------------------------------- */

static void garbage_between_frames(void **state)
{
	for (int piece = 1; piece <= 64; piece += 63) {
		struct end *end = end_lit();
		uint8_t bytes[64];
		const char *error = NULL;

		(void)state;
		memset(bytes, 0x99, sizeof(bytes));
		for (int at = 0; at < 64 && !error; at += piece)
			error = rfm_link_rx_received(&end->rx, bytes + at, piece, 0);
		assert_non_null(error);
		assert_string_equal(error,
				    "the upstream neighbour sent something that is no frame");
		assert_int_equal(end->status, RFM_NODE_BAD_DATA);
		rfm_link_rx_closed(&end->rx, 0);
		assert_int_equal(rfm_node_read_stats(&end->node).bad, 1);
		assert_int_equal(end->status, RFM_NODE_BAD_DATA | RFM_NODE_SYNC_LOSS);
		end_free(end);
	}
}

/* Damage within a frame costs that frame, not the link. */
static void a_damaged_frame_between_good_ones(void **state)
{
	struct end *end = end_lit();
	uint8_t stream[3 * RFM_FRAME_MAX];
	unsigned int len = data_frame(stream, 1, 1);

	(void)state;
	len += data_frame(stream + len, 2, 2);
	stream[len - 1] ^= 0x10;
	len += data_frame(stream + len, 3, 3);
	assert_null(rfm_link_rx_received(&end->rx, stream, len, 0));
	assert_int_equal(end->stores, 2);
	assert_int_equal(end->memory[0], 3);
	assert_int_equal(rfm_node_read_stats(&end->node).bad, 1);
	assert_int_equal(rfm_node_read_stats(&end->node).missed, 1);
	end_free(end);
}

static void a_message_out_of_turn_ends_the_link(void **state)
{
	uint8_t message[RFM_LINK_MESSAGE];
	struct end *end = end_lit();

	(void)state;
	assert_non_null(rfm_link_rx_received(&end->rx, hello, sizeof(hello), 0));
	end_free(end);
	end = end_lit();
	memcpy(message, light, sizeof(message));
	message[5] = 0;				/* a dark light with the check of a bright one */
	assert_non_null(rfm_link_rx_received(&end->rx, message, sizeof(message), 0));
	assert_int_equal(end->status, RFM_NODE_BAD_DATA);
	assert_true(rfm_node_signal(&end->node));
	end_free(end);
}

static void frames_in_the_dark_end_the_link(void **state)
{
	struct end *end = end_lit();
	uint8_t message[RFM_LINK_MESSAGE], wire[RFM_FRAME_MAX];
	unsigned int len = data_frame(wire, 1, 1);

	(void)state;
	changed(message, light, 5, 0);
	assert_null(rfm_link_rx_received(&end->rx, message, sizeof(message), 0));
	assert_int_equal(end->status, RFM_NODE_SYNC_LOSS);
	assert_non_null(rfm_link_rx_received(&end->rx, wire, len, 0));
	assert_int_equal(end->stores, 0);
	end_free(end);
}

/* The neighbour dies in the middle of a frame. */
static void a_frame_cut_short(void **state)
{
	struct end *end = end_lit();
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = data_frame(wire, 1, 1);

	(void)state;
	assert_null(rfm_link_rx_received(&end->rx, wire, len - 1, 0));
	assert_int_equal(end->status, 0);
	rfm_link_rx_closed(&end->rx, 0);
	assert_int_equal(end->status, RFM_NODE_BAD_DATA | RFM_NODE_SYNC_LOSS);
	assert_int_equal(end->stores, 0);
	/* The next one to connect begins afresh. */
	rfm_link_rx_opened(&end->rx, 0);
	assert_null(rfm_link_rx_received(&end->rx, hello, sizeof(hello), 0));
	assert_null(rfm_link_rx_received(&end->rx, light, sizeof(light), 0));
	assert_null(rfm_link_rx_received(&end->rx, wire, len, 0));
	assert_int_equal(end->stores, 1);
	end_free(end);
}

static void the_laser_is_told(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);

	(void)state;
	ends_connect(a, b);
	ends_connect(b, a);
	ends_settle(a, b, RFM_LINK_BATCH);
	rfm_node_set_optics(&a->node, true, false, false, 0);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_int_equal(b->status, RFM_NODE_SYNC_LOSS);
	assert_false(rfm_node_signal(&b->node));
	assert_true(rfm_node_signal(&a->node));
	rfm_node_set_optics(&a->node, false, false, false, 0);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_true(rfm_node_signal(&b->node));
	rfm_node_store(&b->node, 0, "1234", 4, 0);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_memory_equal(a->memory, "1234", 4);
	end_free(a);
	end_free(b);
}

static void a_link_comes_back(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);

	(void)state;
	ends_connect(a, b);
	ends_connect(b, a);
	ends_settle(a, b, RFM_LINK_BATCH);
	rfm_node_store(&a->node, 0, "old!", 4, 0);
	ends_disconnect(a, b);
	assert_int_equal(b->status, RFM_NODE_SYNC_LOSS);
	assert_int_equal(a->status, 0);
	rfm_node_store(&a->node, 4, "dark", 4, 0);
	ends_connect(a, b);
	ends_settle(a, b, RFM_LINK_BATCH);
	rfm_node_store(&a->node, 8, "new!", 4, 0);
	ends_settle(a, b, RFM_LINK_BATCH);
	assert_memory_equal(b->memory, "\0\0\0\0\0\0\0\0new!", 12);
	assert_int_equal(rfm_node_read_stats(&a->node).lost, 2);
	assert_int_equal(rfm_node_read_stats(&b->node).missed, 2);
	end_free(a);
	end_free(b);
}

/* Random bytes, and good streams with random damage: nothing gets in unchecked. */
static void noise(void **state)
{
	uint64_t seed = 99;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct end *end = end_lit();
		uint8_t stream[4 * RFM_FRAME_MAX];
		unsigned int len = 0;
		const char *error;

		for (int i = 1; i <= 4; i++)
			len += data_frame(stream + len, i, 0x5a);
		for (int n = test_random(&seed) % 8; n >= 0; n--)
			stream[test_random(&seed) % len] = test_random(&seed);
		for (unsigned int at = 0, n; at < len; at += n) {
			n = 1 + test_random(&seed) % (len - at);
			error = rfm_link_rx_received(&end->rx, stream + at, n, 0);
			if (error)
				break;
		}
		for (int i = 0; i < 256; i++)
			assert_true(end->memory[i] == (i < 4 && end->stores ? 0x5a : 0));
		end_free(end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_neighbours_agree),
		cmocka_unit_test(the_bytes_of_the_messages),
		cmocka_unit_test(nothing_before_the_welcome),
		cmocka_unit_test(pieces_of_every_size),
		cmocka_unit_test(a_cut_at_every_byte),
		cmocka_unit_test(strangers_are_turned_away),
		cmocka_unit_test(wrong_answers),
		cmocka_unit_test(a_second_welcome_is_out_of_turn),
		cmocka_unit_test(silence_has_a_deadline),
		cmocka_unit_test(garbage_between_frames),
		cmocka_unit_test(a_damaged_frame_between_good_ones),
		cmocka_unit_test(a_message_out_of_turn_ends_the_link),
		cmocka_unit_test(frames_in_the_dark_end_the_link),
		cmocka_unit_test(a_frame_cut_short),
		cmocka_unit_test(the_laser_is_told),
		cmocka_unit_test(a_link_comes_back),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
