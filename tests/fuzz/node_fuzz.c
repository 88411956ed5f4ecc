// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a whole node. Its engine, both ends of its links and both
 * shared-memory queues are driven with the steps of fuzz.h; its owner obeys
 * the contracts of ring/node.h and link.h, its neighbours obey nothing. After
 * each step the node must still be in order; see check_node() in node_owner.c.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/node_owner.h"
#include "tests/fuzz/queue.h"
#include "tests/fuzz/speech.h"

#define MS		1000000ull

/* --- sending -------------------------------------------------------------- */

/* An own packet is one that was given, in order, and has all its bytes. */
static void check_own_packet(const struct rfm_frame *frame, const uint8_t *data)
{
	const struct given *given = &world.given[frame->stream % RFM_NODE_PACKETS];
	const struct rfm_packet *packet = &given->packet;
	bool second = frame->flags & RFM_FLAG_SECOND;

	CHECK(frame->stream < world.packets && !given->dark);
	CHECK(second ? frame->stream + 1u == world.packets_sent :
		       frame->stream >= world.packets_sent);
	world.packets_sent = frame->stream + 1u;
	CHECK(frame->dest == packet->node && frame->length == packet->length);
	CHECK(frame->kind == (packet->class | (packet->to_all ? RFM_KIND_ALL : 0)));
	CHECK(!(frame->flags & RFM_FLAG_FIRST) == !packet->first);
	CHECK(!(frame->flags & RFM_FLAG_LAST) == !packet->last);
	CHECK(!(frame->flags & RFM_FLAG_REDUNDANT) == !world.node.config.redundant);
	CHECK(!frame->marks);
	for (unsigned int at = 0; at < frame->length; at++)
		CHECK(data[at] == (uint8_t)(given->first_byte + at));
}

/* What a node sends is in order, and can be read; of a link its tap. */
static void check_sent(const uint8_t *wire, unsigned int len)
{
	const struct rfm_node *node = &world.node;
	struct rfm_frame frame;

	CHECK(!world.may_sleep);
	CHECK(rfm_frame_length(wire) == (int)len);
	CHECK(rfm_frame_decode_header(wire, &frame) == RFM_FRAME_OK);
	CHECK(frame.count == rfm_unit_frames(len));
	/* On such a line a train becomes its frames; a packet of another passes whole. */
	CHECK(frame.count == 1 || !node->config.line.paced || frame.type == RFM_FRAME_PACKET);
	CHECK(frame.hops && frame.hops <= RFM_NODE_HOP_LIMIT);
	if (frame.source != node->config.id || frame.incarnation != node->config.incarnation ||
	    frame.hops != 1)
		return;
	CHECK(rfm_frame_last(&frame) <= node->seq);
	CHECK(frame.type == RFM_FRAME_PACKET ? frame.length <= rfm_node_packet_max(node) :
					       frame.count <= node->config.train);
	CHECK(frame.seq >= world.last_seq);
	if (rfm_frame_is_numbered(&frame)) {
		CHECK(frame.seq > world.last_seq ||
		      (node->config.redundant && frame.flags & RFM_FLAG_SECOND));
		world.last_seq = rfm_frame_last(&frame);
	}
	if (frame.type == RFM_FRAME_PACKET)
		check_own_packet(&frame, wire + RFM_FRAME_HEADER);
	memcpy(world.echo[world.echoes++ % ECHOES], wire, len);
}

static void on_sent(void *opaque, bool sent, const uint8_t *wire, unsigned int len, uint64_t now)
{
	(void)opaque;
	CHECK(sent && now == world.now);
	check_sent(wire, len);
}

static const struct rfm_link_tap tap = { .seen = on_sent };

/* Frames and link messages, one after the other. */
static void check_batch(const uint8_t *wire, unsigned int len)
{
	for (unsigned int unit; len; wire += unit, len -= unit) {
		if (wire[0] == 'R' && wire[1] == 'L') {
			unit = RFM_LINK_MESSAGE;
			CHECK(unit <= len);
			continue;
		}
		CHECK(rfm_frame_length(wire) > 0);
		unit = rfm_frame_length(wire);
		CHECK(unit <= len);
	}
}

/* What does not come now comes at the time that is told. */
static void check_line(void)
{
	uint64_t next = rfm_node_next_pull(&world.node);

	if (!rfm_fifo_used(&world.node.transmit))
		CHECK(next == UINT64_MAX);
	else
		CHECK(world.node.config.line.paced && next > world.now && next != UINT64_MAX);
}

static void pull_direct(unsigned int count)
{
	uint8_t wire[RFM_UNIT_MAX];

	while (count--) {
		unsigned int len = rfm_node_pull(&world.node, wire, world.now);

		if (!len) {
			check_line();
			world.awake = false;
			return;
		}
		check_sent(wire, len);
	}
}

static void close_tx(void)
{
	if (!world.tx.open)
		return;
	rfm_link_tx_closed(&world.tx, world.now);
	CHECK(!world.tx.open && !world.tx.welcome && !world.node.downstream);
}

static void pull_shm(unsigned int count)
{
	unsigned int sent;
	enum rfm_link_fill left = rfm_link_tx_fill(&world.tx, &down, count, world.now, &sent);

	CHECK(left != RFM_LINK_MORE || sent >= count);
	CHECK((left == RFM_LINK_BROKEN) == down.broken);
	if (left == RFM_LINK_FULL && rfm_shm_wait_room(&down, RFM_TRAIN_FRAMES))
		rfm_shm_clear_wakeup(&down, true);
	if (left == RFM_LINK_DRY)
		world.awake = false;
	if (left == RFM_LINK_BROKEN)
		close_tx();
}

/*
 * A sender that nobody has woken since the last pull that gave less may sleep:
 * there must be no frame, unless the line model held it back.
 */
static void pull(unsigned int count)
{
	static uint8_t batch[RFM_LINK_BATCH];
	unsigned int len;

	world.may_sleep = !world.awake && !world.node.config.line.paced;
	if (!world.tx.open || !world.tx.welcome)
		pull_direct(count);
	if (!world.tx.open)
		return;
	if (world.tx.shm) {
		pull_shm(count);
		return;
	}
	len = rfm_link_tx_output(&world.tx, batch, world.now);
	CHECK(len <= RFM_LINK_BATCH);
	check_batch(batch, len);
	if (world.tx.welcome && RFM_LINK_BATCH - len >= RFM_UNIT_MAX)
		world.awake = false;
}

/* --- what neighbours say -------------------------------------------------- */

static void close_rx(void)
{
	if (!world.rx.open)
		return;
	rfm_link_rx_closed(&world.rx, world.now);
	CHECK(!world.rx.open && !world.rx.lit && !world.node.light_in);
}

static void rx_bytes(const uint8_t *data, unsigned int len, unsigned int cut)
{
	const char *error;
	uint8_t *exact;

	if (!world.rx.open || !len)
		return;
	/* In two pieces, each as long as it says and no longer. */
	cut %= len;
	for (unsigned int done = 0, piece = cut ? cut : len; done < len; piece = len - done) {
		exact = malloc(piece);
		CHECK(exact);
		memcpy(exact, data + done, piece);
		error = rfm_link_rx_received(&world.rx, exact, piece, world.now);
		free(exact);
		done += piece;
		if (error) {
			close_rx();
			return;
		}
	}
}

static void tx_bytes(const uint8_t *data, unsigned int len)
{
	if (world.tx.open && rfm_link_tx_received(&world.tx, data, len, world.now))
		close_tx();
}

static void open_rx(void)
{
	if (world.rx.open)
		return;
	rfm_link_rx_opened(&world.rx, world.now);
	if (world.use_shm)
		rfm_link_rx_attached(&world.rx);
}

static void open_tx(void)
{
	if (!world.tx.open)
		rfm_link_tx_opened(&world.tx, world.use_shm, world.now);
}

/* --- shared memory -------------------------------------------------------- */

static void renew_shm(void)
{
	if (!rfm_shm_is_open(&up)) {
		queue_pair(&up_peer, &up);
		queue_pair(&down, &down_peer);
	}
	queue_renew(&up_peer);
	queue_renew(&up);
	queue_renew(&down);
	queue_renew(&down_peer);
}

static void shm_rx_put(const uint8_t *wire, unsigned int len)
{
	uint8_t *slot = rfm_shm_reserve(&up_peer, rfm_unit_frames(len));

	if (!slot)
		return;
	memcpy(slot, wire, len);
	rfm_shm_commit(&up_peer, rfm_unit_frames(len), true);
	rfm_shm_publish(&up_peer);
}

static void shm_rx_take(unsigned int count)
{
	bool pending;
	unsigned int taken;
	const char *why;

	if (!count || !world.rx.open || !world.rx.shm)
		return;
	pending = rfm_shm_pending(&up);
	why = rfm_link_rx_drain(&world.rx, &up, count, world.now, &taken);
	CHECK(pending == (taken || why));
	if (why) {
		close_rx();
	} else if (taken < count) {
		CHECK(!rfm_shm_pending(&up));
		if (rfm_shm_wait_data(&up, 1))
			rfm_shm_clear_wakeup(&up, false);
	}
}

static void shm_tx_take(unsigned int count)
{
	uint8_t slot[RFM_UNIT_MAX];

	while (count-- && rfm_shm_take(&down_peer, slot, NULL, NULL) > 0)
		;
	rfm_shm_release(&down_peer);
}

/* --- steps ---------------------------------------------------------------- */

static void step_store(struct input *in)
{
	uint8_t data[RFM_FRAME_DATA_MAX] = { 0 };
	unsigned int len = 1 + fuzz_byte(in) % RFM_FRAME_DATA_MAX;
	uint64_t size = world.node.config.memory_size;
	uint32_t offset = fuzz_word(in);

	if (len > size)
		len = size;
	if (offset > size - len)
		offset = size - len;
	rfm_node_store(&world.node, offset, data, len, world.now);
}

/* What the DMA engine stores: a train, if there is credit. */
static void step_run(struct input *in)
{
	static const uint8_t data[RFM_FRAME_DATA_MAX];
	unsigned int count = fuzz_byte(in), rest = fuzz_byte(in) % RFM_FRAME_DATA_MAX;
	const uint64_t room = world.node.config.memory_size / RFM_FRAME_DATA_MAX;

	if (room < 2)
		return;
	count %= room;
	for (unsigned int i = 0; i < count; i++)
		rfm_node_store(&world.node, i * RFM_FRAME_DATA_MAX, data, sizeof(data), world.now);
	if (rest)
		rfm_node_store(&world.node, count * RFM_FRAME_DATA_MAX, data, rest, world.now);
}

static void step_stores(struct input *in)
{
	static const uint8_t data[4];
	unsigned int count = fuzz_byte(in);

	if (world.node.config.memory_size < 1024)
		return;
	for (unsigned int i = 0; i < count; i++)
		rfm_node_store(&world.node, i * 4, data, 4, world.now);
}

static void step_fence(struct input *in)
{
	(void)in;
	if (world.ticket)
		return;
	world.ticket = ++world.tickets;
	if (!rfm_node_fence(&world.node, world.ticket, world.now)) {
		CHECK(world.ticket);
		world.ticket = 0;
	}
}

static void step_query(struct input *in)
{
	uint32_t offset = fuzz_word(in) * (RFM_RING_SPACE >> 16);

	rfm_node_query(&world.node, fuzz_byte(in), offset, 1 + fuzz_word(in) % RFM_QUERY_MAX,
		       world.now);
}

/* Even a yes may leave a wish behind, as a refusal does: it is answered once. */
static void note_packet_wish(bool yes)
{
	world.packet_asked = world.node.packets.producer_needs;
	CHECK(yes || world.packet_asked);
}

static void step_packet(struct input *in)
{
	const struct rfm_node *node = &world.node;
	uint8_t data[RFM_PACKET_DATA + 1];
	unsigned int to = fuzz_byte(in), how = fuzz_byte(in);
	unsigned int length = fuzz_word(in) % (sizeof(data) + 1);
	const struct given given = {
		.packet = {
			.node = to, .class = how & RFM_KIND_CLASS, .to_all = how & 4,
			.first = how & 8, .last = how & 16,
			.stream = world.packets, .length = length,
		},
		.first_byte = fuzz_byte(in),
	};
	bool fits = length && length <= rfm_node_packet_max(node);
	uint64_t stores = rfm_node_read_stats(node).stores;
	enum rfm_insert_result result;

	for (unsigned int at = 0; at < sizeof(data); at++)
		data[at] = given.first_byte + at;
	result = rfm_node_packet(&world.node, &given.packet, data, world.packets, world.now);
	CHECK((result == RFM_INSERT_OFFLINE) == node->insert.offline);
	CHECK(fits || result != RFM_INSERT_OK);
	note_packet_wish(result != RFM_INSERT_FULL || !fits);
	if (result == RFM_INSERT_OK)
		world.given[world.packets++ % RFM_NODE_PACKETS] = given;
	else
		CHECK(rfm_node_read_stats(node).stores == stores);
}

static void step_ask_packet(struct input *in)
{
	unsigned int length = 1 + fuzz_word(in) % rfm_node_packet_max(&world.node);

	note_packet_wish(rfm_node_may_packet(&world.node, length));
}

static void step_ask_room(struct input *in)
{
	bool room = rfm_node_may_store(&world.node);

	(void)in;
	/* Even a yes may leave a wish behind, which is answered once more. */
	world.room_asked = world.node.insert.producer_waits;
	world.room_told = false;
	CHECK(room || world.room_asked);
}

/* Nobody waits for an own packet for longer than that. */
static void check_expiry(const struct rfm_node *node)
{
	const struct rfm_packets *packets = &node->packets;

	for (uint32_t i = packets->ended; i != packets->numbered; i++)
		CHECK(world.now - packets->open[i % RFM_NODE_PACKETS].time < rfm_node_expiry(node));
}

static void step_tick(struct input *in)
{
	uint64_t next;

	(void)in;
	CHECK(rfm_node_tick(&world.node, world.now) > world.now);
	check_expiry(&world.node);
	if (rfm_link_tx_tick(&world.tx, world.now, &next))
		close_tx();
	else
		CHECK(next > world.now);
	if (rfm_link_rx_tick(&world.rx, world.now, &next))
		close_rx();
	else
		CHECK(next > world.now);
}

static void step_wait(struct input *in)
{
	unsigned int count = fuzz_byte(in) % 16;

	while (count--) {
		world.now += 400 * MS;
		step_tick(in);
	}
}

/* Descriptors of a queue whose header is not what it should be. */
static void step_shm_attach(struct input *in)
{
	uint8_t *header = (uint8_t *)up_peer.map, kept[QUEUE_HEADER];
	unsigned int where = fuzz_byte(in) % QUEUE_HEADER;
	uint8_t what = fuzz_byte(in);
	struct rfm_shm other;

	if (!world.use_shm || world.attached)
		return;
	world.attached = true;		/* once: it takes its time */
	memcpy(kept, header, sizeof(kept));
	header[where] ^= what;
	CHECK((queue_attach(&up_peer, &other) == NULL) == !what);
	CHECK(rfm_shm_is_open(&other) == !what);
	rfm_shm_close(&other);
	memcpy(header, kept, sizeof(kept));
}

static void step_rx_bytes(struct input *in)
{
	uint8_t data[256];
	unsigned int len = fuzz_bytes(in, data, fuzz_byte(in));

	rx_bytes(data, len, fuzz_byte(in));
}

static void step_message(struct input *in, uint8_t *wire)
{
	uint8_t kind = fuzz_byte(in), value = fuzz_byte(in);

	fuzz_message(wire, kind, value, fuzz_byte(in));
}

static void step_rx_message(struct input *in)
{
	uint8_t wire[RFM_LINK_MESSAGE];

	step_message(in, wire);
	rx_bytes(wire, sizeof(wire), fuzz_byte(in));
}

static void step_rx_frame(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = fuzz_frame(in, &world.node, wire);

	rx_bytes(wire, len, fuzz_byte(in));
}

/* An own frame comes home, however it was marked on the way. */
static void step_rx_echo(struct input *in)
{
	unsigned int which = fuzz_byte(in), len, marks;
	uint8_t wire[RFM_UNIT_MAX];

	if (!world.echoes)
		return;
	which = world.echoes - 1 - which % (world.echoes < ECHOES ? world.echoes : ECHOES);
	memcpy(wire, world.echo[which % ECHOES], sizeof(wire));
	len = rfm_frame_length(wire);
	marks = fuzz_byte(in);
	rfm_frame_set_path(wire, 2, (marks | marks << 4) & RFM_MARKS);
	if (world.rx.shm)
		shm_rx_put(wire, len);
	else
		rx_bytes(wire, len, 0);
}

static void step_tx_bytes(struct input *in)
{
	uint8_t data[256];

	tx_bytes(data, fuzz_bytes(in, data, fuzz_byte(in)));
}

static void step_tx_message(struct input *in)
{
	uint8_t wire[RFM_LINK_MESSAGE];

	step_message(in, wire);
	tx_bytes(wire, sizeof(wire));
}

static void step_optics(struct input *in)
{
	unsigned int bits = fuzz_byte(in);

	rfm_node_set_optics(&world.node, bits & 1, bits & 2, bits & 4, world.now);
}

static void step_offset(struct input *in)
{
	static const uint32_t offsets[] = { 0, 0x4000000, 0x8000000, 0xc000000, 1, 0xffffff0 };

	rfm_node_set_address_offset(&world.node, offsets[fuzz_byte(in) % 6]);
}

/* Perhaps as one that goes back to its own books. */
static void step_rejoin(struct input *in)
{
	static struct rfm_node_past past;

	if (fuzz_byte(in) & 1) {
		rfm_node_save(&world.node, &past);
		CHECK(rfm_node_past_is_sound(&past));
		rfm_node_load(&world.node, &past);
	}
	rfm_node_rejoin(&world.node, world.node.config.incarnation + 10, world.now);
	world.last_seq = 0;
	CHECK(!world.ticket && !rfm_fifo_used(&world.node.held));
}

static void step_shm_rx_frame(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = fuzz_frame(in, &world.node, wire);

	if (world.use_shm)
		shm_rx_put(wire, len);
}

static void step_shm_rx_message(struct input *in)
{
	uint8_t wire[RFM_LINK_MESSAGE];

	step_message(in, wire);
	if (world.use_shm)
		shm_rx_put(wire, sizeof(wire));
}

static void step_direct(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = fuzz_frame(in, &world.node, wire);

	/* The link lets nothing through that has no length. */
	if (rfm_frame_length(wire) == (int)len)
		rfm_node_receive(&world.node, wire, len, world.now);
}

/* More than a ring can hold: how far do the queues go? */
static void step_flood(struct input *in)
{
	struct rfm_frame frame = { .type = RFM_FRAME_DATA, .length = 4, .hops = 1 };
	unsigned int count = fuzz_byte(in);
	uint8_t wire[RFM_UNIT_MAX];

	if (count == 255 && !world.flooded) {
		world.flooded = true;		/* once: it takes its time */
		count = RFM_NODE_HELD_SLOTS + 100;
	} else {
		count %= 32;
	}
	if (world.node.config.redundant)
		frame.flags = RFM_FLAG_REDUNDANT;
	for (unsigned int i = 0; i < count; i++) {
		frame.source = FUZZ_ID + 1 + i % 5;
		frame.incarnation = FUZZ_LIFE + 1;
		frame.seq = world.node.sources[frame.source].current.seq + 1;
		rfm_node_receive(&world.node, wire, rfm_frame_encode(&frame, wire), world.now);
	}
}

static void step_join(struct input *in)
{
	uint8_t shm = world.use_shm ? FUZZ_HAS_SHM : 0;
	uint8_t wire[RFM_LINK_MESSAGE];

	(void)in;
	open_tx();
	pull(1);
	fuzz_message(wire, WELCOME, shm, 0);
	tx_bytes(wire, sizeof(wire));
	open_rx();
	fuzz_message(wire, HELLO, shm, 0);
	rx_bytes(wire, sizeof(wire), 0);
	fuzz_message(wire, LIGHT, 1, 0);
	if (world.rx.shm) {
		shm_rx_put(wire, sizeof(wire));
		shm_rx_take(QUEUE_SLOTS);
	} else {
		rx_bytes(wire, sizeof(wire), 0);
	}
}

static void step_interrupt_set(struct input *in)
{
	uint8_t set[RFM_NODE_SET] = { 0 };
	uint8_t at = fuzz_byte(in) % RFM_NODE_SET;

	set[at] = fuzz_byte(in);
	rfm_node_interrupt_set(&world.node, set, fuzz_byte(in), 7, world.now);
}

static void step(struct input *in)
{
	uint8_t dest;

	switch (fuzz_byte(in) % STEPS) {
	case STEP_STORE: step_store(in); break;
	case STEP_STORES: step_stores(in); break;
	case STEP_RUN: step_run(in); break;
	case STEP_INTERRUPT:
		dest = fuzz_byte(in);
		rfm_node_interrupt(&world.node, dest, fuzz_byte(in), 7, world.now);
		break;
	case STEP_FENCE: step_fence(in); break;
	case STEP_QUERY: step_query(in); break;
	case STEP_PACKET: step_packet(in); break;
	case STEP_ASK_PACKET: step_ask_packet(in); break;
	case STEP_ASK_ROOM: step_ask_room(in); break;
	case STEP_PULL: pull(fuzz_byte(in)); break;
	case STEP_TICK: step_tick(in); break;
	case STEP_TIME: world.now += 1ull << fuzz_byte(in) % 48; break;
	case STEP_WAIT: step_wait(in); break;
	case STEP_RX_OPEN: open_rx(); break;
	case STEP_RX_CLOSE: close_rx(); break;
	case STEP_RX_BYTES: step_rx_bytes(in); break;
	case STEP_RX_MESSAGE: step_rx_message(in); break;
	case STEP_RX_FRAME: step_rx_frame(in); break;
	case STEP_RX_ECHO: step_rx_echo(in); break;
	case STEP_TX_OPEN: open_tx(); break;
	case STEP_TX_CLOSE: close_tx(); break;
	case STEP_TX_BYTES: step_tx_bytes(in); break;
	case STEP_TX_MESSAGE: step_tx_message(in); break;
	case STEP_OPTICS: step_optics(in); break;
	case STEP_OFFSET: step_offset(in); break;
	case STEP_PAUSED: rfm_node_set_paused(&world.node, fuzz_byte(in) & 1); break;
	case STEP_REJOIN: step_rejoin(in); break;
	case STEP_SHM_ATTACH: step_shm_attach(in); break;
	case STEP_SHM_RX_WRITE: if (world.use_shm) queue_scribble(in, &up_peer); break;
	case STEP_SHM_RX_FRAME: step_shm_rx_frame(in); break;
	case STEP_SHM_RX_MESSAGE: step_shm_rx_message(in); break;
	case STEP_SHM_RX_TAKE: if (world.use_shm) shm_rx_take(fuzz_byte(in)); break;
	case STEP_SHM_TX_WRITE: if (world.use_shm) queue_scribble(in, &down_peer); break;
	case STEP_SHM_TX_TAKE: if (world.use_shm) shm_tx_take(fuzz_byte(in)); break;
	case STEP_DIRECT: step_direct(in); break;
	case STEP_BAD: rfm_node_receive_bad(&world.node); break;
	case STEP_FLOOD: step_flood(in); break;
	case STEP_JOIN: step_join(in); break;
	case STEP_INTERRUPT_SET: step_interrupt_set(in); break;
	}
}

/* --- a run ---------------------------------------------------------------- */

static void begin(struct input *in)
{
	static const uint64_t sizes[] = { 1, 100, 4096, 65536 };
	static const uint32_t windows[] = { 1, 3, 0, RFM_NODE_WINDOW };
	unsigned int bits = fuzz_byte(in), more = fuzz_byte(in);
	struct rfm_node_config config = {
		.id = FUZZ_ID,
		.memory_size = sizes[more & 3],
		.incarnation = FUZZ_LIFE,
		.insert_slots = RFM_INSERT_SLOTS_MIN << (more >> 2 & 3),
		.window = windows[more >> 4 & 3],
		.redundant = bits & FUZZ_REDUNDANT,
		.rogue_master = bits >> 1 & 3,
		.unpacked = bits & FUZZ_UNPACKED,
		.authentic_late = bits & FUZZ_LATE,
		.authentic_ids = bits & FUZZ_IDS,
		.line = {
			.paced = bits & FUZZ_PACED,
			.baud = more >> 6 & 1 ? 1000000 : 0,
			.hop_ns = more >> 7 ? 1000000 : RFM_LINE_HOP_NS,
		},
	};

	memset(&world, 0, sizeof(world));
	world.now = 3600000 * MS;
	world.awake = true;
	world.use_shm = bits & FUZZ_SHM;
	/* As long as it is said to be: ASan watches. */
	world.memory = malloc(config.memory_size);
	CHECK(world.memory);
	CHECK(!rfm_node_init(&world.node, &config, &owner_ops, NULL, world.now));
	rfm_link_rx_init(&world.rx, &rfm_node_link_ops, &world.node);
	rfm_link_tx_init(&world.tx, &rfm_node_link_ops, &world.node);
	world.tx.tap = &tap;
	if (world.use_shm)
		renew_shm();
}

/* The neighbours go; then nothing may be left that waits. */
static void end(void)
{
	close_rx();
	close_tx();
	rfm_node_set_optics(&world.node, false, false, false, world.now);
	rfm_node_set_paused(&world.node, false);
	check_node();
	pull(1);
	check_node();
	check_sources(&world.node);
	CHECK(rfm_node_tx_empty(&world.node));
	CHECK(!world.ticket);
	CHECK(!world.room_asked || world.room_told);
	CHECK(rfm_node_may_store(&world.node));
	CHECK(world.packets_ended == world.packets && !world.packet_asked);
	CHECK(rfm_node_may_packet(&world.node, RFM_PACKET_DATA));
	rfm_node_destroy(&world.node);
	free(world.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	begin(&in);
	check_node();
	while (in.at < in.end) {
		step(&in);
		check_node();
	}
	end();
	return 0;
}
