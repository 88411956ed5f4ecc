// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"
#include "tests/unit/bench.h"

#include <stdlib.h>

static void on_transmit(void *opaque, unsigned int port)
{
	struct bench *bench = opaque;

	bench->transmits[port]++;
}

static void on_changed(void *opaque, unsigned int port)
{
	struct bench *bench = opaque;

	bench->changes[port]++;
}

static void on_fired(void *opaque, const struct hub_firing *firing)
{
	struct bench *bench = opaque;

	if (!firing->let_go)
		return;
	bench->let_go = *firing;
	bench->let_go_seq = firing->frame->seq;
}

static void on_seen(void *opaque, unsigned int port, enum hub_side side, const uint8_t *wire,
		    unsigned int len, const char *remark, uint64_t now)
{
	struct bench *bench = opaque;

	(void)remark;
	assert_true(port < PORTS);
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(now, bench->now);
	bench->seen_in += side == HUB_IN;
	bench->seen_out += side == HUB_OUT;
}

const struct hub_ops bench_ops = {
	.transmit = on_transmit,
	.changed = on_changed,
	.fired = on_fired,
	.seen = on_seen,
};

struct rfm_link_self card(unsigned int port, uint64_t incarnation)
{
	return (struct rfm_link_self){ .id = 10 + port, .incarnation = incarnation };
}

uint64_t incarnation_of(unsigned int port)
{
	return 1000 + port;
}

void light(struct bench *bench, unsigned int port)
{
	struct rfm_link_self peer = card(port, incarnation_of(port));

	hub_set_up(&bench->hub, port, true, bench->now);
	hub_set_light(&bench->hub, port, true, &peer, bench->now);
}

void dark(struct bench *bench, unsigned int port)
{
	hub_set_light(&bench->hub, port, false, NULL, bench->now);
}

struct bench *bench_new(const struct hub_config *config, unsigned int lit)
{
	static const struct hub_config plain = { .bad_limit = HUB_BAD_LIMIT, .queue = 64 };
	struct hub_port_config ports[PORTS] = { 0 };
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->now = 1000 * MS;
	assert_int_equal(hub_init(&bench->hub, config ? config : &plain, ports, PORTS, &bench_ops,
				  bench, bench->now), 0);
	for (unsigned int i = 0; i < lit; i++)
		light(bench, i);
	for (unsigned int i = 0; i < PORTS; i++)
		while (!hub_light_out(&bench->hub, i))
			;
	return bench;
}

struct rfm_frame update(struct bench *bench, unsigned int port)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_DATA,
		.source = 10 + port,
		.length = 4,
		.address = 0x100,
		.incarnation = incarnation_of(port),
		.seq = ++bench->seq[port],
		.time_ns = bench->now,
		.hops = 1,
	};
}

struct rfm_frame heartbeat(const struct bench *bench, unsigned int port)
{
	return (struct rfm_frame){
		.type = RFM_FRAME_HEARTBEAT,
		.source = 10 + port,
		.hops = 1,
		.incarnation = incarnation_of(port),
		.seq = bench->seq[port],
	};
}

void inject(struct bench *bench, unsigned int port, const struct rfm_frame *frame)
{
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = rfm_frame_encode(frame, wire);

	hub_receive(&bench->hub, port, wire, len, bench->now);
}

void send_updates(struct bench *bench, unsigned int port, unsigned int count)
{
	while (count--) {
		struct rfm_frame frame = update(bench, port);

		inject(bench, port, &frame);
	}
}

bool pull(struct bench *bench, unsigned int port, struct rfm_frame *frame)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int len = hub_pull(&bench->hub, port, wire, bench->now);

	if (!len)
		return false;
	assert_int_equal(rfm_frame_length(wire), len);
	assert_int_equal(rfm_frame_decode(wire, frame), RFM_FRAME_OK);
	return true;
}

unsigned int pull_all(struct bench *bench, unsigned int port)
{
	struct rfm_frame frame;
	unsigned int count = 0;

	while (pull(bench, port, &frame))
		count++;
	return count;
}

void check_balance(const struct hub *hub)
{
	uint64_t in = 0, out = 0;

	for (unsigned int i = 0; i < hub->count; i++) {
		const struct hub_port_stats *stats = &hub->ports[i].stats;

		in += stats->in + stats->duplicates;
		out += stats->out;
		for (unsigned int reason = 0; reason < HUB_DROPS; reason++)
			out += stats->dropped[reason];
	}
	assert_int_equal(in, out + hub_waits(hub));
}

void bench_free(struct bench *bench)
{
	check_balance(&bench->hub);
	hub_destroy(&bench->hub);
	free(bench);
}

uint64_t dropped(const struct bench *bench, unsigned int port, enum hub_drop reason)
{
	return bench->hub.ports[port].stats.dropped[reason];
}

bool shows_sync_loss(struct bench *bench, unsigned int port)
{
	if (hub_light_out(&bench->hub, port))
		return false;
	assert_true(hub_light_out(&bench->hub, port));
	return true;
}

struct fault *set_fault(struct bench *bench, enum fault_kind kind, uint64_t nth, uint64_t count)
{
	struct fault_spec spec;
	struct fault *fault;

	fault_spec_init(&spec, kind);
	spec.nth = nth;
	spec.count = count;
	if (kind == FAULT_DELAY || kind == FAULT_FREEZE)
		spec.time = 5 * MS;
	assert_null(fault_spec_check(&spec, false));
	fault = faults_add(&bench->hub.faults, &spec, bench->now);
	assert_non_null(fault);
	return fault;
}
