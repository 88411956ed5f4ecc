// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: operations at one node, and resync. A node with a struct rfm_remote asks
 * and is asked; the others are played by the input, which is right in nearly every field. After
 * each step: every operation ends once, and in time; nothing outside of the memory, or against
 * its rights, is touched; a message that comes is whole.
 */
#include <stdlib.h>
#include <string.h>

#include "ring/memory.h"
#include "ring/remote.h"
#include "ring/resync.h"
#include "ring/wire.h"
#include "tests/fuzz/speech.h"

#define MS		1000000ull
#define OTHERS		3		/* nodes FUZZ_ID + 1 and so on */
#define ASKED		6		/* operations at once */
#define ECHOES		32
#define MEMORY		4096u
#define REGION		100u		/* bytes of memory 1 */
#define PORT		7u

struct asked {
	struct rfm_remote_request request;	/* the first: done() gets its address */
	bool open;
	uint64_t begun;
};

static struct world {
	struct rfm_node node;
	struct rfm_remote remote;
	uint8_t *memory, *region;
	uint64_t now, next;
	bool awake, dark, stuck;	/* no room for updates */
	int room;			/* of the port; negative: it is closed */
	struct asked asked[ASKED];
	bool resyncing;
	struct {
		uint64_t life, number;
		uint32_t tickets[RFM_REMOTE_PARTS + 2];
	} others[OTHERS];
	/* What was allowed last. */
	uint32_t checked_key, checked_length;
	uint64_t checked_at;
	uint8_t echo[ECHOES][RFM_UNIT_MAX];
	unsigned int echoes;
} world;

static struct rfm_resync resync;

static uint8_t pattern(uint64_t at)
{
	return at * 7 + 1;
}

/* --- the owner ---------------------------------------------------------------- */

static uint32_t size_of(uint32_t key)
{
	return key ? REGION : MEMORY;
}

static uint8_t *bytes_of(uint32_t key)
{
	return key ? world.region : world.memory;
}

/* The lower half may be read, the upper one written, the middle is changed here; region 1 all. */
static enum rfm_remote_result on_check(void *opaque, uint8_t from, enum rfm_remote_access access,
				       uint32_t key, uint64_t offset, uint32_t length)
{
	(void)opaque;
	(void)from;
	CHECK(length && length <= RFM_REMOTE_MAX);
	if (key > 1)
		return RFM_REMOTE_DENIED;
	if (offset > size_of(key) || length > size_of(key) - offset)
		return RFM_REMOTE_RANGE;
	if (!key && ((access == RFM_REMOTE_LOADS && offset + length > MEMORY / 2) ||
		     (access == RFM_REMOTE_STORES && offset < MEMORY / 2)))
		return RFM_REMOTE_DENIED;
	if (!key && access == RFM_REMOTE_CHANGES && (offset < MEMORY / 4 || offset >= MEMORY / 4 * 3))
		return RFM_REMOTE_NOT_HOME;
	world.checked_key = key;
	world.checked_at = offset;
	world.checked_length = length;
	return RFM_REMOTE_OK;
}

static void check_place(uint32_t key, uint64_t offset, uint32_t length)
{
	CHECK(key == world.checked_key && length);
	CHECK(offset >= world.checked_at &&
	      offset + length <= world.checked_at + world.checked_length);
}

static void on_load(void *opaque, uint32_t key, uint64_t offset, void *data, uint32_t length)
{
	(void)opaque;
	check_place(key, offset, length);
	rfm_memory_load(data, bytes_of(key) + offset, length);
}

static void on_store(void *opaque, uint32_t key, uint64_t offset, const void *data, uint32_t length)
{
	(void)opaque;
	/* A resync stores here what it has asked for, and needs nobody's leave. */
	if (!world.resyncing || key)
		check_place(key, offset, length);
	CHECK(length && offset + length <= size_of(key));
	rfm_memory_store(bytes_of(key) + offset, data, length);
}

static bool on_may_update(void *opaque)
{
	(void)opaque;
	return !world.stuck && rfm_node_may_store(&world.node);
}

static void on_update(void *opaque, uint64_t offset, const void *data, uint32_t length)
{
	(void)opaque;
	check_place(0, offset, length);
	CHECK((length == 4 || length == 8) && !(offset % length) && !world.stuck);
	rfm_memory_store(world.memory + offset, data, length);
	rfm_remote_stored(&world.remote, offset, length);
	CHECK(rfm_node_store(&world.node, offset, data, length, world.now));
}

static int on_port_room(void *opaque, uint32_t port)
{
	(void)opaque;
	return port == PORT ? world.room : -1;
}

/* Every byte of it has been sent, at its place. */
static enum rfm_remote_result on_message(void *opaque, uint32_t port, uint8_t from, void *data,
					 uint32_t length)
{
	const uint8_t *bytes = data;

	(void)opaque;
	(void)from;
	CHECK(port == PORT && length && length <= RFM_REMOTE_MAX);
	for (uint32_t at = 0; at < length; at++)
		CHECK(bytes[at] == pattern(at));
	if (world.room > 0)
		world.room--;
	free(data);
	return RFM_REMOTE_OK;
}

static void on_wake(void *opaque)
{
	(void)opaque;
	world.awake = true;
}

static const struct rfm_remote_ops remote_ops = {
	.check = on_check, .load = on_load, .store = on_store, .may_update = on_may_update,
	.update = on_update, .port_room = on_port_room, .message = on_message, .wake = on_wake,
};

static void on_apply(void *opaque, uint32_t offset, const void *data, unsigned int len,
		     const struct rfm_origin *origin)
{
	(void)opaque;
	(void)origin;
	CHECK(offset + (uint64_t)len <= MEMORY);
	rfm_memory_store(world.memory + offset, data, len);
	rfm_remote_stored(&world.remote, offset, len);
}

static void on_interrupt(void *opaque, uint8_t type, uint8_t from, uint32_t data)
{
	(void)opaque;
	(void)type;
	(void)from;
	(void)data;
}

static void on_status(void *opaque, unsigned int what)
{
	(void)opaque;
	(void)what;
}

static void on_kick(void *opaque)
{
	(void)opaque;
}

static void on_packet_end(void *opaque, uint64_t cookie, enum rfm_packet_fate fate)
{
	(void)opaque;
	rfm_remote_packet_end(&world.remote, cookie, fate);
}

static bool on_take(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	(void)opaque;
	return rfm_remote_take(&world.remote, packet, data);
}

static void on_packet(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	(void)opaque;
	rfm_remote_packet(&world.remote, packet, data);
}

static const struct rfm_node_ops node_ops = {
	.apply = on_apply, .interrupt = on_interrupt, .status = on_status, .kick = on_kick,
	.room = on_wake, .packet_end = on_packet_end, .packet_room = on_wake, .take = on_take,
	.packet = on_packet,
};

/* --- what must be so after every step -------------------------------------------- */

static void check_parts(const struct rfm_remote *remote)
{
	for (unsigned int i = 0; i < RFM_REMOTE_PARTS; i++) {
		const struct rfm_remote_part *part = &remote->parts[i];
		const struct rfm_remote_request *one = remote->first;

		if (!part->request)
			continue;
		while (one && one != part->request)
			one = one->next;
		CHECK(one && part->length);
		CHECK(part->request->op == RFM_REMOTE_CAS || part->request->op == RFM_REMOTE_ADD ||
		      part->at + part->length <= part->request->length);
		CHECK(!part->got || part->request->op == RFM_REMOTE_MERGE);
	}
}

/* No part of a node is owed two answers. */
static void check_answers(const struct rfm_remote *remote)
{
	const struct rfm_remote_answer *end = remote->answers + RFM_REMOTE_ANSWERS;

	for (const struct rfm_remote_answer *one = remote->answers; one < end; one++) {
		if (!one->used)
			continue;
		CHECK(one->to != FUZZ_ID && one->part < RFM_REMOTE_PARTS);
		for (const struct rfm_remote_answer *other = one + 1; other < end; other++)
			CHECK(!other->used || other->to != one->to || other->part != one->part);
	}
}

static void check_remote(void)
{
	const struct rfm_remote *remote = &world.remote;
	unsigned int open = 0, listed = 0;

	check_parts(remote);
	check_answers(remote);
	for (unsigned int i = 0; i < ASKED; i++)
		open += world.asked[i].open;
	for (unsigned int i = 0; world.resyncing && i < RFM_RESYNC_LANES; i++)
		open += resync.lanes[i].busy;
	for (const struct rfm_remote_request *one = remote->first; one; one = one->next) {
		listed++;
		CHECK(one->next || one == remote->last);
	}
	CHECK(listed == open && !remote->first == !remote->last);
	CHECK(remote->stats.asked == remote->stats.done + remote->stats.failed + open);
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++)
		CHECK(!remote->messages[i].data ||
		      remote->messages[i].got < remote->messages[i].length);
}

/* --- asking -------------------------------------------------------------------------- */

static void on_done(struct rfm_remote_request *request)
{
	struct asked *asked = (struct asked *)(void *)request;

	CHECK(asked->open && request->result < RFM_REMOTE_RESULTS);
	CHECK(request->result != RFM_REMOTE_RESTARTED);		/* the asker's own affair */
	asked->open = false;
	free(request->data);
}

/* Near what is there, and near the ends of all that can be said. */
static uint64_t a_place(struct input *in)
{
	unsigned int choice = fuzz_word(in);

	switch (choice >> 13) {
	case 0:
		return UINT64_MAX - (choice & 0xff);
	case 1:
		return RFM_RING_SPACE - (choice & 0xff);
	case 2:
		return MEMORY - (choice & 0xff);
	case 3:
		return (uint64_t)1 << (choice & 63);
	default:
		return (choice & 0x1fff) % MEMORY & (choice & 0x8000 ? ~7u : ~0u);
	}
}

static void step_begin(struct input *in)
{
	struct asked *asked = &world.asked[fuzz_byte(in) % ASKED];
	unsigned int op = fuzz_byte(in), how = fuzz_byte(in);
	uint64_t place = a_place(in);
	uint32_t length = fuzz_word(in) % (3 * RFM_PACKET_DATA);

	if (asked->open)
		return;
	op = 1 + op % RFM_REMOTE_SEND;
	if (op == RFM_REMOTE_MERGE)	/* it is asked by a resync, of what is there */
		op = RFM_REMOTE_READ;
	*asked = (struct asked){
		.request = {
			.op = op, .node = FUZZ_ID + how % (OTHERS + 2), .width = how & 0x80 ? 4 : 8,
			.offset = op == RFM_REMOTE_SEND ? 0 : place, .length = length,
			.key = fuzz_byte(in) % 3, .data = malloc(length), .compare = how & 1,
			.value = place, .done = on_done,
		},
		.open = true, .begun = world.now,
	};
	if (op == RFM_REMOTE_SEND && asked->request.key)
		asked->request.key = PORT;
	for (uint32_t at = 0; at < length; at++)
		((uint8_t *)asked->request.data)[at] = pattern(at);
	rfm_remote_ask(&world.remote, &asked->request, world.now);
}

static void step_cancel(struct input *in)
{
	struct asked *asked = &world.asked[fuzz_byte(in) % ASKED];

	if (asked->open)
		rfm_remote_cancel(&world.remote, &asked->request);
	CHECK(!asked->open);
}

static void on_resync_done(struct rfm_resync *ended)
{
	CHECK(world.resyncing && ended == &resync);
	CHECK(ended->finished <= MEMORY);
	CHECK(ended->result != RFM_REMOTE_OK || ended->finished == MEMORY);
	world.resyncing = false;
}

static void step_resync(struct input *in)
{
	unsigned int donor = fuzz_byte(in) % (OTHERS + 2);

	if (world.resyncing)
		return;
	resync = (struct rfm_resync){ .done = on_resync_done, .last = MEMORY - 1 };
	world.resyncing = true;
	rfm_resync_begin(&resync, &world.remote,
			 donor ? FUZZ_ID + (int)donor : RFM_RESYNC_NEAREST, world.now);
}

static void run(void)
{
	world.awake = false;
	world.next = rfm_remote_run(&world.remote, world.now);
	/* What has had its time has ended. */
	for (const struct rfm_remote_request *one = world.remote.first; one; one = one->next)
		CHECK(one->deadline > world.now);
	for (unsigned int i = 0; i < ASKED; i++)
		CHECK(!world.asked[i].open ||
		      world.now - world.asked[i].begun < RFM_REMOTE_PATIENCE_NS);
	CHECK(world.awake || !world.remote.first || world.next != UINT64_MAX);
	rfm_node_send_queued(&world.node, world.now);
}

/* --- what others say ------------------------------------------------------------------ */

static unsigned int other_of(struct input *in)
{
	return fuzz_byte(in) % OTHERS;
}

static void receive(const struct rfm_frame *frame, unsigned int other, uint8_t *wire)
{
	struct rfm_frame whole = *frame;
	unsigned int len;

	whole.source = FUZZ_ID + 1 + other;
	whole.incarnation = world.others[other].life;
	whole.hops = 1;
	whole.count = whole.type == RFM_FRAME_PACKET ?
		      (whole.length + RFM_FRAME_DATA_MAX - 1) / RFM_FRAME_DATA_MAX : 1;
	whole.seq = world.others[other].number + (whole.type != RFM_FRAME_HEARTBEAT);
	world.others[other].number = whole.seq + whole.count - 1;
	len = whole.type == RFM_FRAME_PACKET ? rfm_packet_encode(&whole, wire) :
					       rfm_frame_encode(&whole, wire);
	rfm_node_receive(&world.node, wire, len, world.now);
}

static void receive_packet(unsigned int other, unsigned int class, unsigned int stream,
			   unsigned int length, uint8_t *wire)
{
	const struct rfm_frame frame = {
		.type = RFM_FRAME_PACKET, .dest = FUZZ_ID, .kind = class,
		.flags = RFM_FLAG_FIRST | RFM_FLAG_LAST, .stream = stream, .length = length,
	};

	receive(&frame, other, wire);
}

static void step_hear(struct input *in)
{
	unsigned int other = other_of(in), kind = fuzz_byte(in), life = fuzz_byte(in);
	const struct rfm_frame frame = { .type = RFM_FRAME_HEARTBEAT, .kind = kind & 7 };
	uint8_t wire[RFM_UNIT_MAX];

	if (life & 1) {
		world.others[other].life += life >> 1 & 3;
		world.others[other].number = 0;
	}
	receive(&frame, other, wire);
}

static void step_update(struct input *in)
{
	struct rfm_frame frame = { .type = RFM_FRAME_DATA };
	unsigned int other = other_of(in);
	uint8_t wire[RFM_UNIT_MAX];

	frame.address = fuzz_word(in) % (2 * MEMORY);
	frame.length = 1 + fuzz_byte(in) % RFM_FRAME_DATA_MAX;
	receive(&frame, other, wire);
}

static uint32_t a_ticket(uint32_t last, unsigned int choice)
{
	const uint32_t tickets[] = { last + 1, last + 1, last, last - 1, last + 100, 0, UINT32_MAX,
				     last + (1u << 31) };

	return tickets[choice % 8];
}

static void step_request(struct input *in)
{
	unsigned int other = other_of(in), op = fuzz_byte(in), part = fuzz_byte(in), choice, length;
	uint32_t *ticket = &world.others[other].tickets[part % (RFM_REMOTE_PARTS + 2)];
	uint8_t wire[RFM_UNIT_MAX] = { 0 }, *data = wire + RFM_FRAME_HEADER;
	bool sends = op % 8 == RFM_REMOTE_SEND, atomic = op % 8 == RFM_REMOTE_CAS ||
							   op % 8 == RFM_REMOTE_ADD;
	uint64_t place;
	uint32_t total;

	data[0] = op % 8;
	data[1] = !atomic ? 0 : op & 0x80 ? 8 : op & 0x40 ? 4 : op >> 4;
	choice = fuzz_byte(in);
	*ticket = a_ticket(*ticket, choice);
	put32(data + 4, *ticket);
	choice = fuzz_byte(in);
	put64(data + 8, world.node.config.incarnation + (choice == 1) - (choice == 2));
	place = a_place(in);
	put64(data + 16, place);
	choice = fuzz_byte(in);
	put32(data + 24, sends && choice ? PORT + (choice == 9) : choice % 3);
	length = fuzz_word(in) % (RFM_PACKET_DATA - 48);
	put32(data + 28, atomic ? data[1] : length & 0x400 ? length << 10 : length);
	if (sends) {
		put32(data + 32, fuzz_byte(in) % 4);
		total = fuzz_word(in);
		put32(data + 36, total & 0x8000 ? total << 8 : total);
		for (unsigned int at = 0; at < length; at++)
			data[40 + at] = pattern(place + at);
	} else if (atomic) {
		put64(data + 40, fuzz_byte(in));
	}
	length = sends ? 40 + length : op % 8 == RFM_REMOTE_WRITE ? 32 + length : atomic ? 48 : 32;
	receive_packet(other, RFM_PACKET_REQUEST, part % (RFM_REMOTE_PARTS + 2), length, wire);
}

static void put_answer(uint8_t *data, unsigned int op, unsigned int result, uint32_t ticket)
{
	data[0] = result;
	data[1] = op;
	put32(data + 4, ticket);
	put64(data + 8, ticket);
}

static void step_answer(struct input *in)
{
	unsigned int other = other_of(in), part = fuzz_byte(in) % (RFM_REMOTE_PARTS + 2), choice;
	const struct rfm_remote_part *asked = &world.remote.parts[part % RFM_REMOTE_PARTS];
	uint8_t wire[RFM_UNIT_MAX] = { 0 };
	uint32_t ticket;

	choice = fuzz_byte(in);
	ticket = choice & 0x80 ? a_ticket(asked->ticket, choice) : asked->ticket;
	choice = fuzz_byte(in);
	put_answer(wire + RFM_FRAME_HEADER, choice || !asked->request ? choice % 8 : asked->request->op,
		   fuzz_byte(in), ticket);
	receive_packet(other, RFM_PACKET_ANSWER, part, 16 + fuzz_word(in) % (RFM_PACKET_DATA - 15), wire);
}

static void step_noise(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX] = { 0 };
	unsigned int other = other_of(in), how = fuzz_byte(in);
	struct rfm_frame frame = {
		.type = RFM_FRAME_PACKET, .dest = FUZZ_ID, .kind = how & 0xb, .flags = how >> 4 & 0xc,
		.stream = fuzz_byte(in),
	};

	frame.length = 1 + fuzz_byte(in);
	fuzz_bytes(in, wire + RFM_FRAME_HEADER, frame.length);
	receive(&frame, other, wire);
}

/* --- own frames --------------------------------------------------------------------------- */

static void pull(unsigned int count)
{
	uint8_t wire[RFM_UNIT_MAX];
	struct rfm_frame frame;

	for (unsigned int len; count && (len = rfm_node_pull(&world.node, wire, world.now)); count--) {
		CHECK(rfm_frame_decode_header(wire, &frame) == RFM_FRAME_OK);
		if (frame.source == FUZZ_ID)
			memcpy(world.echo[world.echoes++ % ECHOES], wire, len);
	}
}

static bool an_echo(struct input *in, uint8_t *wire)
{
	unsigned int which = fuzz_byte(in);

	if (!world.echoes)
		return false;
	which = world.echoes - 1 - which % (world.echoes < ECHOES ? world.echoes : ECHOES);
	memcpy(wire, world.echo[which % ECHOES], RFM_UNIT_MAX);
	return true;
}

static void step_echo(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int marks;

	if (!an_echo(in, wire))
		return;
	marks = fuzz_byte(in);
	rfm_frame_set_path(wire, 2, (marks | marks << 4) & RFM_MARKS);
	rfm_node_receive(&world.node, wire, rfm_frame_length(wire), world.now);
}

/* The node that was asked takes it, and answers as it should, or with less. */
static void step_serve(struct input *in)
{
	uint8_t wire[RFM_UNIT_MAX], reply[RFM_UNIT_MAX] = { 0 };
	const uint8_t *data = wire + RFM_FRAME_HEADER;
	unsigned int result, length = 0, other;
	struct rfm_frame frame;

	if (!an_echo(in, wire) || rfm_frame_decode_header(wire, &frame) != RFM_FRAME_OK ||
	    frame.type != RFM_FRAME_PACKET || frame.kind != RFM_PACKET_REQUEST)
		return;
	other = frame.dest - FUZZ_ID - 1u;
	rfm_frame_set_path(wire, 2, RFM_MARK_SEEN | RFM_MARK_TAKEN);
	rfm_node_receive(&world.node, wire, rfm_frame_length(wire), world.now);
	result = fuzz_byte(in) % 16;
	result = result < 8 ? result : 0;
	if (!result && (data[0] == RFM_REMOTE_READ || data[0] == RFM_REMOTE_MERGE)) {
		length = get32(data + 28);
		if (length > RFM_PACKET_DATA - 16)
			length = RFM_PACKET_DATA - 16;
		length -= fuzz_byte(in) % length;
	}
	if (other >= OTHERS)
		return;
	put_answer(reply + RFM_FRAME_HEADER, data[0], result, get32(data + 4));
	receive_packet(other, RFM_PACKET_ANSWER, frame.stream, 16 + length, reply);
}

/* --- steps ---------------------------------------------------------------------------------- */

static void step_store(struct input *in)
{
	uint8_t data[RFM_FRAME_DATA_MAX] = { 0xee };
	uint32_t offset = fuzz_word(in) % (MEMORY - RFM_FRAME_DATA_MAX);
	unsigned int length = 1 + fuzz_byte(in) % RFM_FRAME_DATA_MAX;

	if (!rfm_node_may_store(&world.node))
		return;
	rfm_memory_store(world.memory + offset, data, length);
	rfm_remote_stored(&world.remote, offset, length);
	rfm_node_store(&world.node, offset, data, length, world.now);
}

static void step_state(struct input *in)
{
	unsigned int bits = fuzz_byte(in);

	rfm_node_set_paused(&world.node, bits & 1);
	if (bits & 2)
		rfm_node_set_incomplete(&world.node);
	else
		rfm_node_set_complete(&world.node, world.now);
	rfm_node_set_light(&world.node, !(bits & 4), world.now);
	world.stuck = bits & 8;
	rfm_node_set_address_offset(&world.node, bits & 0x10 ? RFM_RING_SPACE / 4 : 0);
	if (bits & 0x20)
		rfm_node_rejoin(&world.node, world.node.config.incarnation + 10, world.now);
}

static void step(struct input *in)
{
	switch (fuzz_byte(in) % ASK_STEPS) {
	case ASK_BEGIN: step_begin(in); break;
	case ASK_CANCEL: step_cancel(in); break;
	case ASK_RESYNC: step_resync(in); break;
	case ASK_RESYNC_CANCEL:
		if (world.resyncing)
			rfm_resync_cancel(&resync);
		CHECK(!world.resyncing);
		break;
	case ASK_RUN: run(); break;
	case ASK_TIME:
		world.now += 1ull << fuzz_byte(in) % 34;
		rfm_node_tick(&world.node, world.now);
		run();
		break;
	case ASK_PULL: pull(fuzz_byte(in)); break;
	case ASK_ECHO: step_echo(in); break;
	case ASK_SERVE: step_serve(in); break;
	case ASK_HEAR: step_hear(in); break;
	case ASK_UPDATE: step_update(in); break;
	case ASK_REQUEST: step_request(in); break;
	case ASK_ANSWER: step_answer(in); break;
	case ASK_NOISE: step_noise(in); break;
	case ASK_STORE: step_store(in); break;
	case ASK_PORT: world.room = fuzz_byte(in) % 8 - 1; break;
	case ASK_STATE: step_state(in); break;
	}
}

/* --- a run ------------------------------------------------------------------------------------ */

static void begin(struct input *in)
{
	unsigned int bits = fuzz_byte(in);
	struct rfm_node_config config = {
		.id = FUZZ_ID, .memory_size = MEMORY, .incarnation = FUZZ_LIFE,
		.redundant = bits & FUZZ_REDUNDANT, .unpacked = bits & FUZZ_UNPACKED,
		.insert_slots = RFM_INSERT_SLOTS_MIN << (bits >> 1 & 3),
	};

	memset(&world, 0, sizeof(world));
	world.now = 3600000 * MS;
	world.memory = calloc(1, MEMORY);
	world.region = calloc(1, REGION);
	CHECK(world.memory && world.region);
	CHECK(!rfm_node_init(&world.node, &config, &node_ops, NULL, world.now));
	rfm_remote_init(&world.remote, &world.node, &remote_ops, NULL);
	rfm_node_set_downstream(&world.node, true, world.now);
	rfm_node_set_light(&world.node, true, world.now);
	for (unsigned int i = 0; i < OTHERS; i++)
		world.others[i].life = FUZZ_LIFE + 1;
}

/* Nobody says anything any more: all ends, in its time. */
static void end(void)
{
	world.stuck = false;
	/* A resync asks one after the other, and nobody here finds that they have gone. */
	for (unsigned int i = 0; i < 20 * (OTHERS + 4); i++) {
		world.now += RFM_REMOTE_PATIENCE_NS / 20;
		run();
		/* What ended may have been asked again: that is a run's of its own. */
		for (unsigned int again = 0; world.awake && again < RFM_RING_NODES; again++)
			run();
		pull(1000);
		check_remote();
	}
	for (unsigned int i = 0; i < ASKED; i++)
		CHECK(!world.asked[i].open);
	CHECK(!world.resyncing);
	for (unsigned int i = 0; i < RFM_REMOTE_MESSAGES; i++)
		CHECK(!world.remote.messages[i].data);
	rfm_remote_destroy(&world.remote);
	rfm_node_destroy(&world.node);
	free(world.memory);
	free(world.region);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	begin(&in);
	while (in.at < in.end) {
		step(&in);
		check_remote();
	}
	end();
	return 0;
}
