// SPDX-License-Identifier: MIT
/* links: tests/unit/ends.c tests/unit/queue.c */
/* What two neighbours agree on beside their names, shared memory; and silence. */
#include "tests/unit/test.h"
#include "tests/unit/ends.h"
#include "tests/unit/queue.h"

#include <string.h>

/* --- what the greetings say ----------------------------------------------- */

static void greetings_say_who_is_there(void **state)
{
	struct rfm_node_config config = {
		.id = 3, .memory_size = 0x4000000, .incarnation = 0x0102030405060708,
		.clock_domain = 0x11223344, .redundant = true,
	};
	struct end *end = end_new(3);
	uint8_t buf[RFM_LINK_BATCH];

	(void)state;
	end->node.config = config;
	rfm_link_tx_opened(&end->tx, true, 0);
	assert_int_equal(rfm_link_tx_output(&end->tx, buf, 0), sizeof(hello_all));
	assert_memory_equal(buf, hello_all, sizeof(hello_all));
	assert_null(rfm_link_tx_received(&end->tx, welcome_hub, sizeof(welcome_hub), 0));
	assert_true(end->tx.peer.hub);
	assert_false(end->tx.peer.redundant);
	assert_true(end->tx.shm);
	end_free(end);

	end = end_new(2);
	rfm_link_rx_opened(&end->rx, 0);
	assert_null(rfm_link_rx_received(&end->rx, hello_all, sizeof(hello_all), 0));
	assert_int_equal(end->rx.peer.id, 3);
	assert_true(end->rx.peer.redundant);
	assert_false(end->rx.peer.hub);
	assert_true(end->rx.peer.incarnation == 0x0102030405060708);
	assert_true(end->rx.peer.memory_size == 0x4000000);
	assert_int_equal(end->rx.peer.clock_domain, 0x11223344);
	end_free(end);
}

/* --- who is shown what passes ------------------------------------------------ */

struct shown {
	unsigned int sent, came, bytes;
};

static void on_seen(void *opaque, bool sent, const uint8_t *wire, unsigned int len, uint64_t now)
{
	struct shown *shown = opaque;

	(void)now;
	*(sent ? &shown->sent : &shown->came) += rfm_unit_frames(len);
	shown->bytes += len;
	assert_int_equal(rfm_frame_length(wire), len);
}

/* Counted over all connections; link messages and what nobody takes are not. */
static void a_tap_sees_what_passes(void **state)
{
	struct shown out = { 0 }, in = { 0 };
	const struct rfm_link_tap out_tap = { .seen = on_seen, .opaque = &out };
	const struct rfm_link_tap in_tap = { .seen = on_seen, .opaque = &in };
	struct end *a = end_new(1), *b = end_new(2);

	(void)state;
	a->tx.tap = &out_tap;
	b->rx.tap = &in_tap;
	for (unsigned int times = 1; times <= 2; times++) {
		ends_connect(a, b);
		ends_connect(b, a);
		ends_settle(a, b, RFM_LINK_BATCH);
		rfm_node_store(&a->node, 0, "1234", 4, 0);
		ends_settle(a, b, RFM_LINK_BATCH);
		ends_disconnect(a, b);
		ends_disconnect(b, a);
		assert_int_equal(b->stores, times);
		assert_true(out.sent > out.came && out.bytes);
		assert_int_equal(out.came, 0);
		assert_int_equal(in.sent, 0);
		assert_int_equal(in.came, out.sent);
		assert_int_equal(in.bytes, out.bytes);
		assert_int_equal(a->tx.frames, out.sent);
		assert_int_equal(a->tx.bytes, out.bytes);
		assert_int_equal(b->rx.frames, in.came);
		assert_int_equal(b->rx.bytes, in.bytes);
	}
	end_free(a);
	end_free(b);
}

/* --- shared memory -------------------------------------------------------- */

/* Two ends that agree, or not: @offered upstream, @attached downstream. */
static void greet(struct end *from, struct end *to, bool offered, bool attached)
{
	uint8_t buf[RFM_LINK_BATCH];

	rfm_link_rx_opened(&to->rx, 0);
	rfm_link_tx_opened(&from->tx, offered, 0);
	if (attached)
		rfm_link_rx_attached(&to->rx);
	assert_int_equal(rfm_link_tx_output(&from->tx, buf, 0), RFM_LINK_MESSAGE);
	assert_null(rfm_link_rx_received(&to->rx, buf, RFM_LINK_MESSAGE, 0));
	assert_null(rfm_link_tx_received(&from->tx, to->rx.reply, to->rx.reply_length, 0));
}

/* The queue is empty before and after, so one serves both directions. */
static struct rfm_shm out, in;

static unsigned int fill_one(struct end *from)
{
	unsigned int sent;

	rfm_link_tx_fill(&from->tx, &out, 1, 0, &sent);
	return sent;
}

static bool carry_unit(struct end *from, struct end *to)
{
	unsigned int sent = fill_one(from), taken;

	assert_null(rfm_link_rx_drain(&to->rx, &in, RFM_SHM_SLOTS, 0, &taken));
	assert_int_equal(taken, sent);
	return sent;
}

/* Somebody upstream of @to writes @slot. */
static const char *say(struct end *to, const uint8_t *slot)
{
	unsigned int taken;

	memcpy(rfm_shm_reserve(&out, 1), slot, RFM_SHM_SLOT);
	rfm_shm_commit(&out, 1, true);
	rfm_shm_publish(&out);
	return rfm_link_rx_drain(&to->rx, &in, 1, 0, &taken);
}

static void frames_go_by_the_shared_memory(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);
	uint8_t buf[RFM_LINK_BATCH];

	(void)state;
	make_pair(&out, &in, RFM_SHM_SLOTS);
	greet(a, b, true, true);
	greet(b, a, true, true);
	assert_true(a->tx.shm && b->rx.shm && b->tx.shm && a->rx.shm);
	/* The light too; nothing more by the stream. */
	assert_false(rfm_node_signal(&b->node));
	while (carry_unit(a, b) || carry_unit(b, a))
		;
	assert_true(rfm_node_signal(&a->node) && rfm_node_signal(&b->node));
	for (int i = 0; i < 200; i++) {
		memset(a->memory, i, 1 + i % 64);
		rfm_node_store(&a->node, 0, a->memory, 1 + i % 64, 0);
		assert_int_equal(rfm_link_tx_output(&a->tx, buf, 0), 0);
		while (carry_unit(a, b) || carry_unit(b, a))
			;
	}
	assert_memory_equal(b->memory, a->memory, 256);
	assert_int_equal(b->stores, 200);
	assert_int_equal(rfm_node_read_stats(&a->node).home, 200);
	assert_string_equal(rfm_link_rx_received(&b->rx, light, sizeof(light), 0),
			    "the upstream neighbour speaks beside the shared memory");
	end_free(a);
	end_free(b);
	close_pair(&out, &in);
}

/* Not offered, or descriptors that did not come: the stream does as well. */
static void the_stream_where_there_is_no_shared_memory(void **state)
{
	(void)state;
	make_pair(&out, &in, RFM_SHM_SLOTS);
	for (int way = 0; way < 3; way++) {
		struct end *a = end_new(1), *b = end_new(2);

		greet(a, b, way & 1, way & 2);
		greet(b, a, way & 1, way & 2);
		assert_false(a->tx.shm || b->rx.shm || b->tx.shm || a->rx.shm);
		assert_int_equal(fill_one(a), 0);
		ends_settle(a, b, RFM_LINK_BATCH);
		rfm_node_store(&a->node, 0, "1234", 4, 0);
		ends_settle(a, b, RFM_LINK_BATCH);
		assert_memory_equal(b->memory, "1234", 4);
		end_free(a);
		end_free(b);
	}
	close_pair(&out, &in);
}

static void shared_memory_that_was_not_offered(void **state)
{
	uint8_t message[RFM_LINK_MESSAGE];

	(void)state;
	changed(message, welcome, 5, 0x4);
	answered(message, "the downstream neighbour takes shared memory that was not offered");
}

/* A slot is trusted no more than a stream. */
static void what_is_wrong_in_a_slot(void **state)
{
	uint8_t slot[RFM_UNIT_MAX];
	struct end *a, *b;

	(void)state;
	make_pair(&out, &in, RFM_SHM_SLOTS);
	for (int wrong = 0; wrong < 4; wrong++) {
		const char *error;

		a = end_new(1);
		b = end_new(2);
		greet(a, b, true, true);
		if (wrong != 3)
			assert_true(carry_unit(a, b));		/* light */
		memset(slot, 0, sizeof(slot));
		data_frame(slot, 1, 7);
		switch (wrong) {
		case 0:
			memset(slot, 0x99, sizeof(slot));
			break;
		case 1:
			slot[7] = 65;			/* longer than a slot */
			break;
		case 2:
			memcpy(slot, light, sizeof(light));
			slot[10] ^= 1;
			break;
		}
		error = say(b, slot);
		assert_non_null(error);
		assert_int_equal(b->stores, 0);
		assert_int_equal(b->status, wrong == 3 ? 0 : RFM_NODE_BAD_DATA);
		end_free(a);
		end_free(b);
	}
	/* A damaged frame is one damaged frame, as on the stream. */
	a = end_new(1);
	b = end_new(2);
	greet(a, b, true, true);
	carry_unit(a, b);
	data_frame(slot, 1, 7);
	slot[RFM_FRAME_HEADER] ^= 1;
	assert_null(say(b, slot));
	assert_int_equal(b->status, RFM_NODE_BAD_DATA);
	data_frame(slot, 2, 8);
	assert_null(say(b, slot));
	assert_int_equal(b->stores, 1);
	end_free(a);
	end_free(b);
	close_pair(&out, &in);
}

/* --- silence -------------------------------------------------------------- */

/*
 * Ticks of the receiving end up to @until, when it asks for them: the first one
 * is due at @due, later if nobody had time before @from. Returns when the signal
 * was lost, 0: it was not.
 */
static uint64_t watch(struct end *end, uint64_t *due, uint64_t from, uint64_t until)
{
	uint64_t now;

	for (now = *due > from ? *due : from; now <= until; now = *due) {
		bool signal = rfm_node_signal(&end->node);

		assert_null(rfm_link_rx_tick(&end->rx, now, due));
		assert_true(*due > now);
		if (signal && !rfm_node_signal(&end->node))
			return now;
	}
	return 0;
}

static void a_silent_neighbour_is_a_broken_fibre(void **state)
{
	struct end *end = end_lit();
	uint64_t due = 0;

	(void)state;
	assert_int_equal(watch(end, &due, 0, 9000 * MS), 2000 * MS);
	assert_int_equal(end->status, RFM_NODE_SYNC_LOSS);
	/* Nothing is said twice, and a word is enough to be back. */
	end->status = 0;
	assert_int_equal(watch(end, &due, 0, 9000 * MS), 0);
	assert_null(rfm_link_rx_received(&end->rx, light, sizeof(light), 9100 * MS));
	assert_true(rfm_node_signal(&end->node));
	assert_int_equal(watch(end, &due, 0, 11099 * MS), 0);
	assert_int_equal(end->status & RFM_NODE_SYNC_LOSS, 0);
	/* It is watched as before: the second silence is found like the first. */
	assert_int_equal(watch(end, &due, 0, 19000 * MS), 11500 * MS);
	assert_int_equal(end->status, RFM_NODE_SYNC_LOSS);
	end->status = 0;
	/* It may be gone without a word, and is given up. */
	assert_int_equal(watch(end, &due, 0, 19099 * MS), 0);
	assert_string_equal(rfm_link_rx_tick(&end->rx, 19100 * MS, &due),
			    "the upstream neighbour says nothing any more");
	rfm_link_rx_closed(&end->rx, 19100 * MS);
	assert_int_equal(end->status, 0);		/* lost already */
	end_free(end);
}

/* Whose light is off may be silent; and what was off stays off when it speaks again. */
static void silence_in_the_dark(void **state)
{
	struct end *end = end_lit();
	uint64_t next;

	(void)state;
	assert_null(rfm_link_rx_received(&end->rx, light_off, sizeof(light_off), 0));
	assert_int_equal(end->status, RFM_NODE_SYNC_LOSS);
	end->status = 0;
	for (uint64_t now = 0; now < 5000 * MS; now += 100 * MS)
		assert_null(rfm_link_rx_tick(&end->rx, now, &next));
	assert_null(rfm_link_rx_received(&end->rx, light_off, sizeof(light_off), 5000 * MS));
	assert_false(rfm_node_signal(&end->node));
	assert_int_equal(end->status, 0);
	assert_null(rfm_link_rx_received(&end->rx, light, sizeof(light), 5100 * MS));
	assert_true(rfm_node_signal(&end->node));
	end_free(end);
}

/* A receiver that was itself stopped cannot tell who was silent: it begins to listen anew. */
static void who_was_stopped_does_not_accuse(void **state)
{
	struct end *end = end_lit();
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = data_frame(wire, 1, 1);
	uint64_t due = 0;

	(void)state;
	assert_int_equal(watch(end, &due, 0, 500 * MS), 0);
	assert_int_equal(watch(end, &due, 60000 * MS, 61900 * MS), 0);
	assert_int_equal(end->status, 0);
	assert_null(rfm_link_rx_received(&end->rx, wire, len, 61900 * MS));
	assert_int_equal(end->stores, 1);
	assert_int_equal(watch(end, &due, 0, 63899 * MS), 0);
	assert_int_equal(watch(end, &due, 0, 70000 * MS), 64000 * MS);
	end_free(end);
}

/* How often whoever stands behind an end was told of the light. */
struct told {
	unsigned int on, off;
};

static struct rfm_link_self told_self(void *opaque)
{
	(void)opaque;
	return (struct rfm_link_self){ .hub = true };
}

static void told_light(void *opaque, bool on, uint64_t now)
{
	struct told *told = opaque;

	(void)now;
	if (on)
		told->on++;
	else
		told->off++;
}

static const struct rfm_link_ops told_ops = { .self = told_self, .light = told_light };

/* Each change of the light is told once, however it came about. */
static void a_change_of_light_is_told_once(void **state)
{
	struct told told = { 0 };
	struct rfm_link_rx rx;
	uint64_t next;

	(void)state;
	rfm_link_rx_init(&rx, &told_ops, &told);
	rfm_link_rx_opened(&rx, 0);
	assert_null(rfm_link_rx_received(&rx, hello, sizeof(hello), 0));
	assert_true(rx.reply[5] & 1);			/* a hub, it says */
	for (int i = 0; i < 3; i++)
		assert_null(rfm_link_rx_received(&rx, light, sizeof(light), 0));
	assert_int_equal(told.on, 1);
	for (uint64_t now = 0; now < 5000 * MS; now += 100 * MS)
		assert_null(rfm_link_rx_tick(&rx, now, &next));
	assert_int_equal(told.off, 1);
	rfm_link_rx_closed(&rx, 5000 * MS);
	assert_int_equal(told.off, 1);
	/* Opened anew and closed while lit; then while dark. */
	for (int dark = 0; dark < 2; dark++) {
		rfm_link_rx_opened(&rx, 6000 * MS);
		assert_null(rfm_link_rx_received(&rx, hello, sizeof(hello), 6000 * MS));
		assert_null(rfm_link_rx_received(&rx, light, sizeof(light), 6000 * MS));
		if (dark)
			assert_null(rfm_link_rx_received(&rx, light_off, sizeof(light_off),
							 6000 * MS));
		rfm_link_rx_closed(&rx, 6000 * MS);
		assert_int_equal(told.on, 2 + dark);
		assert_int_equal(told.off, 2 + dark);
	}
}

/* An idle sender says LIGHT in time, a busy one has no need to. */
static void an_idle_line_says_light(void **state)
{
	struct end *end = end_new(3);
	uint8_t buf[RFM_LINK_BATCH];
	uint64_t next;

	(void)state;
	rfm_node_set_light(&end->node, true, 0);
	rfm_link_tx_opened(&end->tx, false, 0);
	rfm_link_tx_output(&end->tx, buf, 0);
	assert_null(rfm_link_tx_received(&end->tx, welcome, sizeof(welcome), 0));
	while (rfm_link_tx_output(&end->tx, buf, 1000 * MS))
		;
	for (uint64_t now = 1000 * MS; now < 3000 * MS; now = next) {
		assert_null(rfm_link_tx_tick(&end->tx, now, &next));
		assert_true(next > now && next <= now + 250 * MS);
		if (now > 1000 * MS) {
			assert_int_equal(rfm_link_tx_output(&end->tx, buf, now), RFM_LINK_MESSAGE);
			assert_int_equal(buf[3], 4);
			assert_int_equal(buf[5], 1);
		}
		assert_int_equal(rfm_link_tx_output(&end->tx, buf, now), 0);
		assert_null(rfm_link_tx_tick(&end->tx, next - 1, &next));
		assert_int_equal(rfm_link_tx_output(&end->tx, buf, next - 1), 0);
	}
	assert_null(rfm_link_tx_tick(&end->tx, 3000 * MS, &next));
	rfm_link_tx_output(&end->tx, buf, 3000 * MS);
	for (uint64_t now = 3100 * MS; now < 5000 * MS; now += 100 * MS) {
		rfm_node_store(&end->node, 0, "1234", 4, now);
		assert_null(rfm_link_tx_tick(&end->tx, now, &next));
		assert_int_equal(rfm_link_tx_output(&end->tx, buf, now), RFM_FRAME_HEADER + 4);
	}
	end_free(end);
}

/* Both together: a ring on which nothing happens stays lit, until one end stops. */
static void an_idle_ring_stays_lit(void **state)
{
	struct end *a = end_new(1), *b = end_new(2);
	uint64_t next, now;

	(void)state;
	ends_connect(a, b);
	ends_connect(b, a);
	ends_settle(a, b, RFM_LINK_BATCH);
	for (now = 0; now < 20000 * MS && rfm_node_signal(&b->node); now += 100 * MS) {
		uint8_t buf[RFM_LINK_BATCH];
		unsigned int len;

		assert_null(rfm_link_tx_tick(&a->tx, now, &next));
		if (now < 10000 * MS) {
			len = rfm_link_tx_output(&a->tx, buf, now);
			assert_null(rfm_link_rx_received(&b->rx, buf, len, now));
		}
		assert_null(rfm_link_rx_tick(&b->rx, now, &next));
	}
	assert_true(now > 11500 * MS && now < 12500 * MS);
	end_free(a);
	end_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greetings_say_who_is_there),
		cmocka_unit_test(a_tap_sees_what_passes),
		cmocka_unit_test(frames_go_by_the_shared_memory),
		cmocka_unit_test(the_stream_where_there_is_no_shared_memory),
		cmocka_unit_test(shared_memory_that_was_not_offered),
		cmocka_unit_test(what_is_wrong_in_a_slot),
		cmocka_unit_test(a_silent_neighbour_is_a_broken_fibre),
		cmocka_unit_test(silence_in_the_dark),
		cmocka_unit_test(who_was_stopped_does_not_accuse),
		cmocka_unit_test(a_change_of_light_is_told_once),
		cmocka_unit_test(an_idle_line_says_light),
		cmocka_unit_test(an_idle_ring_stays_lit),
	};

	return cmocka_run_group_tests_name("link_modes", tests, NULL, NULL);
}
