// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: the hub between its links, tools/rmhub/relay.c with its
 * faults and rogues. Cards of few ids appear, go and send frames that are right
 * in nearly every field; the operator bypasses, cuts, restores and sets
 * faults. After each step every frame must be accounted for, and the ring must
 * be one.
 */
#include <string.h>

#include "tests/fuzz/speech.h"
#include "tools/rmhub/relay.h"

#define PORTS	4
#define QUEUE	16
#define LIVES	8

static struct world {
	struct hub hub;
	struct rfm_node cards;		/* only to make the numbers of frames from */
	uint64_t now;
	bool paced;
	bool awake[PORTS];
	uint64_t came_in, went_out;
} world;

static void on_transmit(void *opaque, unsigned int port)
{
	(void)opaque;
	CHECK(port < PORTS);
	world.awake[port] = true;
}

static void on_changed(void *opaque, unsigned int port)
{
	(void)opaque;
	CHECK(port < PORTS && *hub_port_why(&world.hub.ports[port]));
}

static void on_fired(void *opaque, const struct hub_firing *firing)
{
	const struct fault *fault = faults_find(&world.hub.faults, firing->fault);

	(void)opaque;
	CHECK(firing->port < PORTS && (!fault || fault->fired <= fault->matched));
	CHECK(firing->bit < RFM_UNIT_MAX * 8);
}

static void on_seen(void *opaque, unsigned int port, enum hub_side side, const uint8_t *wire,
		    unsigned int len, const char *remark, uint64_t now)
{
	(void)opaque;
	(void)remark;
	CHECK(port < PORTS && rfm_frame_length(wire) == (int)len && now == world.now);
	world.came_in += side == HUB_IN ? rfm_unit_frames(len) : 0;
	world.went_out += side == HUB_OUT ? rfm_unit_frames(len) : 0;
}

static const struct hub_ops ops = {
	.transmit = on_transmit,
	.changed = on_changed,
	.fired = on_fired,
	.seen = on_seen,
};

/* --- what must be so after every step ------------------------------------- */

static void check_ring(const struct hub *hub)
{
	unsigned int live = 0, first = PORTS, at;

	for (unsigned int i = 0; i < PORTS; i++) {
		const struct hub_port *port = &hub->ports[i];

		if (!port->live)
			continue;
		live++;
		first = first < PORTS ? first : i;
		CHECK(port->light && port->up && !port->bypassed && !port->bad && !port->cut_in);
		CHECK(port->next < PORTS && hub->ports[port->next].live);
		CHECK(hub->ports[port->next].previous == i);
	}
	CHECK(live == hub->live_count);
	if (!live)
		return;
	/* Once round, and each live port was on the way. */
	at = first;
	for (unsigned int i = 0; i < live; i++) {
		at = hub->ports[at].next;
		CHECK(at != first || i == live - 1);
	}
	CHECK(at == first);
}

static void check_books(const struct hub *hub)
{
	uint64_t in = 0, copies = 0, out = 0, dropped = 0;

	for (unsigned int i = 0; i < PORTS; i++) {
		const struct hub_port *port = &hub->ports[i];

		CHECK(rfm_fifo_used(&port->egress) <= QUEUE);
		CHECK(port->live || !(rfm_fifo_used(&port->egress) + port->delayed_count +
				      port->overtaken_count));
		CHECK(port->delayed_count <= QUEUE && port->overtaken_count <= QUEUE);
		in += port->stats.in;
		copies += port->stats.duplicates;
		out += port->stats.out;
		for (unsigned int reason = 0; reason < HUB_DROPS; reason++)
			dropped += port->stats.dropped[reason];
	}
	CHECK(in + copies == out + dropped + hub_waits(hub));
	CHECK(in == world.came_in && out == world.went_out);
}

/* --- steps ---------------------------------------------------------------- */

static void step_light(struct input *in, unsigned int port)
{
	unsigned int choice = fuzz_byte(in), life = fuzz_byte(in) % LIVES;
	struct rfm_link_self peer = {
		.id = FUZZ_ID - 2 + (choice & 7),
		.hub = choice & 0x20,
		.incarnation = life ? FUZZ_LIFE + life : 0,
	};

	hub_set_light(&world.hub, port, choice & 0x10, &peer, world.now);
}

static void step_frame(struct input *in, unsigned int port)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = fuzz_frame(in, &world.cards, wire);
	struct rfm_frame frame;

	if (rfm_frame_length(wire) != (int)len)
		return;			/* the link lets nothing through that has no length */
	if (rfm_frame_decode_header(wire, &frame) == RFM_FRAME_OK)
		world.cards.sources[frame.source].current =
			(struct rfm_incarnation){ .incarnation = frame.incarnation,
						  .seq = rfm_frame_last(&frame) };
	hub_receive(&world.hub, port, wire, len, world.now);
}

static void step_pull(struct input *in, unsigned int port)
{
	unsigned int count = fuzz_byte(in) % 32;
	bool may_sleep = !world.awake[port] && !world.paced;
	uint8_t wire[RFM_UNIT_MAX];

	hub_light_out(&world.hub, port);
	while (count--) {
		unsigned int len = hub_pull(&world.hub, port, wire, world.now);

		if (!len) {
			world.awake[port] = false;
			CHECK(hub_next_pull(&world.hub, port) > world.now);
			return;
		}
		CHECK(!may_sleep && rfm_frame_length(wire) == (int)len);
	}
}

static struct fault_spec read_fault(struct input *in)
{
	struct fault_spec spec;
	unsigned int choice = fuzz_byte(in);

	fault_spec_init(&spec, choice % FAULT_KINDS);
	if (spec.kind == FAULT_DELAY || spec.kind == FAULT_FREEZE)
		spec.time = 1 + (1ull << fuzz_byte(in) % 40);
	if (spec.kind == FAULT_REORDER)
		spec.depth = 1 + fuzz_byte(in) % 4;
	if (choice & 0x80)
		spec.port = fuzz_byte(in) % PORTS;
	choice = fuzz_byte(in);
	spec.probability = choice & 1 ? 0.5 : 1;
	spec.source = choice & 2 ? FUZZ_ID : -1;
	spec.types = choice & 4 ? RFM_FRAME_ALL_TYPES : spec.types;
	spec.copy = (choice >> 3) % 3;
	spec.addressed = choice & 0x20;
	spec.last = RFM_RING_SPACE - 1;
	spec.interrupt = choice & 0x40 ? 2 : -1;
	spec.value_length = choice & 0x80 ? 1 + fuzz_byte(in) % RFM_FRAME_DATA_MAX : 0;
	spec.valued_at = choice & 0x80 && fuzz_byte(in) & 1;
	choice = fuzz_byte(in);
	spec.seed = choice;
	spec.nth = 1 + choice % 3;
	spec.count = choice >> 2 & 3;
	spec.lasting = choice & 0x10 ? 1ull << (choice >> 5) * 5 : 0;
	return spec;
}

static void step_fault(struct input *in)
{
	struct fault_spec specs[2] = { read_fault(in), read_fault(in) };
	bool scenario = fuzz_byte(in) & 1;

	for (unsigned int i = 0; i < 2; i++)
		if (fault_spec_check(&specs[i], scenario))
			return;
	if (scenario)
		CHECK(!faults_play(&world.hub.faults, specs, 2, world.now));
	else if (world.hub.faults.standing_count < 8)
		CHECK(faults_add(&world.hub.faults, &specs[0], world.now));
}

static void step_time(struct input *in)
{
	world.now += 1ull << fuzz_byte(in) % 40;
	CHECK(hub_tick(&world.hub, world.now) > world.now);
}

static void step(struct input *in)
{
	unsigned int what = fuzz_byte(in), port = what >> 4 & 3;

	switch (what & 0xf) {
	case 0: step_light(in, port); break;
	case 1: hub_set_up(&world.hub, port, fuzz_byte(in) & 1, world.now); break;
	case 2: hub_bypass(&world.hub, port, fuzz_byte(in) & 1, world.now); break;
	case 3: hub_cut(&world.hub, port, fuzz_byte(in) & 3, world.now); break;
	case 4: hub_restore(&world.hub, port, world.now); break;
	case 5: hub_receive_bad(&world.hub, port, world.now); break;
	case 6: step_fault(in); break;
	case 7: faults_clear(&world.hub.faults, fuzz_byte(in) % 8); break;
	case 8: step_time(in); break;
	case 9:
	case 10: step_pull(in, port); break;
	default: step_frame(in, port); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct hub_port_config ports[PORTS] = { 0 };
	struct hub_config config = { .queue = QUEUE };
	unsigned int bits = fuzz_byte(&in);

	memset(&world, 0, sizeof(world));
	world.now = 1000000000000ull;
	world.cards.config.incarnation = FUZZ_LIFE;
	world.paced = bits & 1;
	config.glitchless = bits & 2;
	config.bad_limit = bits & 4 ? 3 : 0;
	for (unsigned int i = 0; i < PORTS; i++) {
		world.awake[i] = true;
		ports[i].line.paced = world.paced;
		ports[i].line.hop_ns = RFM_LINE_HOP_NS;
	}
	CHECK(!hub_init(&world.hub, &config, ports, PORTS, &ops, NULL, world.now));
	for (unsigned int i = 0; i < PORTS && bits & 8; i++) {
		const struct rfm_link_self peer = { .id = FUZZ_ID - 1 + i,
						    .incarnation = FUZZ_LIFE + 1 };

		hub_set_up(&world.hub, i, true, world.now);
		hub_set_light(&world.hub, i, true, &peer, world.now);
	}
	while (in.at < in.end) {
		step(&in);
		check_ring(&world.hub);
		check_books(&world.hub);
	}
	hub_destroy(&world.hub);
	return 0;
}
