// SPDX-License-Identifier: MIT
/*
 * The hub as a process: sockets, clock, signals, logs. What a frame has to
 * suffer is in relay.c.
 */
#include "rmhub.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faultjson.h"
#include "tools/common/signals.h"
#include "tools/common/tls.h"

#define CHORES_NS	100000000ull	/* logs and capture are written that often */
#define DRAIN_NS	250000000ull	/* what is inside has that long to go out */
#define DRAIN_STEP_NS	1000000ull
#define LAST_ROUNDS	5		/* of DRAIN_STEP_NS, for what the sockets hold */

__attribute__((format(printf, 2, 3)))
static void say(struct rmhub *rmhub, const char *format, ...)
{
	char line[JOURNAL_LINE];
	va_list args;
	int at = snprintf(line, sizeof(line), "rmhub: ");

	va_start(args, format);
	vsnprintf(line + at, sizeof(line) - at, format, args);
	va_end(args);
	journal_line(&rmhub->said, line);
	journal_flush(&rmhub->said);
}

void rmhub_rearm(struct rmhub *rmhub)
{
	if (rmhub->hub.wake >= rmhub->tick_at)
		return;
	rmhub->tick_at = rmhub->hub.wake;
	rfm_timer_set(rmhub->loop, &rmhub->timer, rmhub->tick_at);
}

static void tell_monitors(struct rmhub *rmhub, json_t *object)
{
	for (unsigned int i = 0; i < MONITORS_MAX; i++)
		if (rmhub->monitors[i] && !control_event(rmhub->monitors[i], json_incref(object)))
			rmhub->monitor_lost++;
}

/* --- what the hub asks ---------------------------------------------------- */

static void on_transmit(void *opaque, unsigned int port)
{
	struct rmhub *rmhub = opaque;

	if (rmhub->ports[port].out)
		rfm_port_kick(rmhub->ports[port].out);
}

static void on_changed(void *opaque, unsigned int number)
{
	struct rmhub *rmhub = opaque;
	struct rmhub_port *port = &rmhub->ports[number];
	const struct hub_port *hub_port = &rmhub->hub.ports[number];
	const char *state = hub_port_why(hub_port);
	const char *name = rmhub->settings->ports[number].name;
	char peer[16] = "";
	json_t *event;

	if (state == port->state)
		return;
	port->state = state;
	if (hub_port->live && hub_port->peer.hub)
		strcpy(peer, ", a hub");
	else if (hub_port->live)
		snprintf(peer, sizeof(peer), ", node %u", hub_port->peer.id);
	say(rmhub, "port %u%s%s: %s%s", number, name ? " " : "", name ? name : "", state, peer);
	event = report_event(rmhub, number);
	tell_monitors(rmhub, event);
	json_decref(event);
}

static void on_fired(void *opaque, const struct hub_firing *firing)
{
	struct rmhub *rmhub = opaque;
	json_t *object = faultjson_firing(firing, rmhub->start);
	char *line = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));

	if (line)
		journal_line(&rmhub->fired, line);
	free(line);
	tell_monitors(rmhub, object);
	json_decref(object);
	if (rmhub->fired.fill > JOURNAL_ROOM / 2)
		journal_flush(&rmhub->fired);
}

static void on_forged(void *opaque, unsigned int port)
{
	struct rmhub *rmhub = opaque;

	rfm_port_show_out(rmhub->ports[port].in,
			  "the upstream neighbour speaks for a node that its certificate does not allow");
}

static void on_seen(void *opaque, unsigned int port, enum hub_side side, const uint8_t *wire,
		    unsigned int len, const char *remark, uint64_t now)
{
	struct rmhub *rmhub = opaque;

	rfm_pcapng_packet(&rmhub->capture, rmhub->ports[port].interface,
			  side == HUB_IN ? RFM_PCAPNG_IN : RFM_PCAPNG_OUT, now, wire, len, remark);
}

/* --- what the links ask --------------------------------------------------- */

static struct rfm_link_self on_self(void *opaque)
{
	struct rmhub_port *port = opaque;

	return port->rmhub->self;
}

static void on_light(void *opaque, bool on, uint64_t now)
{
	struct rmhub_port *port = opaque;
	struct rfm_port_info info = { 0 };

	if (on) {
		info = rfm_port_info(port->in);
		hub_set_permit(&port->rmhub->hub, port->number, info.permit);
	}
	hub_set_light(&port->rmhub->hub, port->number, on, &info.peer, now);
	rmhub_rearm(port->rmhub);
}

static void on_frame(void *opaque, uint8_t *wire, unsigned int len, uint64_t now)
{
	struct rmhub_port *port = opaque;
	struct rmhub *rmhub = port->rmhub;

	/* Coming to an end: the rings of others must not keep us from it. */
	if (rmhub->stopping)
		hub_refuse(&rmhub->hub, port->number, len);
	else
		hub_receive(&rmhub->hub, port->number, wire, len, now);
	rmhub_rearm(rmhub);
}

static void on_bad(void *opaque)
{
	struct rmhub_port *port = opaque;

	hub_receive_bad(&port->rmhub->hub, port->number, rfm_loop_now(port->rmhub->loop));
}

static void on_downstream(void *opaque, bool up, uint64_t now)
{
	struct rmhub_port *port = opaque;

	hub_set_up(&port->rmhub->hub, port->number, up, now);
	rmhub_rearm(port->rmhub);
}

static bool on_light_out(void *opaque)
{
	struct rmhub_port *port = opaque;

	return hub_light_out(&port->rmhub->hub, port->number);
}

static unsigned int on_pull(void *opaque, uint8_t *wire, uint64_t now)
{
	struct rmhub_port *port = opaque;

	return hub_pull(&port->rmhub->hub, port->number, wire, now);
}

static const struct rfm_link_ops link_ops = {
	.self = on_self,
	.light = on_light,
	.frame = on_frame,
	.bad = on_bad,
	.downstream = on_downstream,
	.light_out = on_light_out,
	.pull = on_pull,
};

static void on_log(void *opaque, const char *sentence)
{
	struct rmhub_port *port = opaque;

	say(port->rmhub, "port %u: %s", port->number, sentence);
}

static uint64_t on_next_pull(void *opaque)
{
	struct rmhub_port *port = opaque;

	return hub_next_pull(&port->rmhub->hub, port->number);
}

static const struct rfm_port_ops port_ops = { .log = on_log, .next_pull = on_next_pull };

/* --- time and signals ----------------------------------------------------- */

static void on_timer(void *opaque, uint64_t now)
{
	struct rmhub *rmhub = opaque;

	rmhub->tick_at = hub_tick(&rmhub->hub, now);
	rfm_timer_set(rmhub->loop, &rmhub->timer, rmhub->tick_at);
}

static void on_chores(void *opaque, uint64_t now)
{
	struct rmhub *rmhub = opaque;

	journal_flush(&rmhub->said);
	journal_flush(&rmhub->fired);
	if (rfm_pcapng_is_open(&rmhub->capture)) {
		const char *trouble;

		rfm_pcapng_flush(&rmhub->capture);
		trouble = rfm_pcapng_trouble(&rmhub->capture);
		if (trouble)
			say(rmhub, "%s: %s", rmhub->settings->capture, trouble);
	}
	rfm_timer_set(rmhub->loop, &rmhub->chores, now + CHORES_NS);
}

static void on_signal(void *opaque, uint32_t events, uint64_t now)
{
	rfm_loop_stop(opaque);
}

/* Let out what is inside, for as long as somebody takes it. */
static void drain(struct rmhub *rmhub)
{
	uint64_t end = rfm_now() + DRAIN_NS;
	unsigned int rounds = 0;

	while (rounds < LAST_ROUNDS && rfm_now() < end) {
		rfm_loop_once(rmhub->loop, rfm_now() + DRAIN_STEP_NS);
		if (!hub_waits(&rmhub->hub))
			rounds++;
	}
}

/* --- life ----------------------------------------------------------------- */

static bool complain(const char *sentence)
{
	fprintf(stderr, "rmhub: %s\n", sentence);
	return false;
}

static bool complain_of(const char *what)
{
	fprintf(stderr, "rmhub: %s: %s\n", what, strerror(errno));
	return false;
}

static bool open_port(struct rmhub *rmhub, unsigned int i)
{
	struct rmhub_port *port = &rmhub->ports[i];
	const struct settings_port *settings = &rmhub->settings->ports[i];
	struct rfm_port_config config = {
		.address = settings->in,
		.name = "in",
		.stream_only = rmhub->settings->stream_only,
		.tls = rmhub->tls,
	};
	char error[RFM_PORT_SENTENCE];

	port->in = rfm_port_open(rmhub->loop, &config, &link_ops, &port_ops, port, error);
	if (port->in) {
		config.sending = true;
		config.address = settings->out;
		config.name = "out";
		port->out = rfm_port_open(rmhub->loop, &config, &link_ops, &port_ops, port, error);
	}
	if (!port->out)
		fprintf(stderr, "rmhub: port %u: %s\n", i, error);
	return port->out;
}

static void close_ports(struct rmhub *rmhub)
{
	for (unsigned int i = 0; i < rmhub->settings->count; i++) {
		struct rfm_port *in = rmhub->ports[i].in, *out = rmhub->ports[i].out;

		/* Closing tells the hub, which must not wake what is being closed. */
		rmhub->ports[i].in = rmhub->ports[i].out = NULL;
		rfm_port_close(in);
		rfm_port_close(out);
	}
}

static bool load_tls(struct rmhub *rmhub)
{
	const struct settings *settings = rmhub->settings;
	bool server = false, client = false;
	char error[TLS_SENTENCE];

	if (!settings->tls)
		return true;
	for (unsigned int i = 0; i < settings->count; i++) {
		tls_needs(settings->ports[i].in, &server, &client);
		tls_needs(settings->ports[i].out, &server, &client);
	}
	if (!server && !client)
		return complain("--tls is for ports on TCP, and there is none");
	rmhub->tls = tls_load(settings->tls, server, client, error);
	return rmhub->tls || complain(error);
}

static bool start_capture(struct rmhub *rmhub)
{
	if (!rmhub->settings->capture)
		return true;
	if (rfm_pcapng_create(&rmhub->capture, rmhub->settings->capture, "rmhub",
			      rfm_real_time() - rfm_now()) < 0)
		return complain_of(rmhub->settings->capture);
	for (unsigned int i = 0; i < rmhub->settings->count; i++) {
		const char *name = rmhub->settings->ports[i].name;
		char number[16];

		snprintf(number, sizeof(number), "port%u", i);
		rmhub->ports[i].interface = rfm_pcapng_interface(&rmhub->capture, number, name);
		if (rmhub->ports[i].interface < 0)
			return complain_of(rmhub->settings->capture);
	}
	return true;
}

static bool start_hub(struct rmhub *rmhub)
{
	const struct settings *settings = rmhub->settings;
	struct hub_port_config configs[HUB_PORTS_MAX] = { 0 };

	for (unsigned int i = 0; i < settings->count; i++) {
		configs[i] = settings->ports[i].config;
		rmhub->ports[i].rmhub = rmhub;
		rmhub->ports[i].number = i;
	}
	rmhub->ops = (struct hub_ops){
		.transmit = on_transmit,
		.changed = on_changed,
		.fired = on_fired,
		.forged = on_forged,
		.seen = settings->capture ? on_seen : NULL,
	};
	if (hub_init(&rmhub->hub, &settings->hub, configs, settings->count, &rmhub->ops, rmhub,
		     rfm_now()) < 0)
		return complain("no memory for the ports");
	for (unsigned int i = 0; i < settings->count; i++)
		rmhub->ports[i].state = hub_port_why(&rmhub->hub.ports[i]);
	for (unsigned int i = 0; i < settings->faults.count; i++)
		if (!faults_add(&rmhub->hub.faults, &settings->faults.specs[i], rfm_now()))
			return complain("no memory for the faults");
	if (faults_play(&rmhub->hub.faults, settings->scenario.specs, settings->scenario.count,
			rfm_now()) < 0)
		return complain("no memory for the scenario");
	return true;
}

/* A port takes up to ten descriptors. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool start(struct rmhub *rmhub)
{
	struct settings *settings = rmhub->settings;
	char error[CONTROL_SENTENCE];

	if (journal_open(&rmhub->said, NULL, STDERR_FILENO) < 0)
		return complain_of("standard error");
	if (journal_open(&rmhub->fired, settings->log, STDOUT_FILENO) < 0)
		return complain_of(settings->log ? settings->log : "standard output");
	if (settings->dir && mkdir(settings->dir, 0777) < 0 && errno != EEXIST)
		return complain_of(settings->dir);
	rmhub->loop = rfm_loop_new();
	rmhub->ports = calloc(settings->count, sizeof(*rmhub->ports));
	if (!rmhub->loop || !rmhub->ports)
		return complain_of("starting");
	/* The control socket first: two hubs on one folder do not get further. */
	rmhub->control = control_listen(rmhub->loop, settings->control, serve_verbs, rmhub, error);
	if (!rmhub->control)
		return complain(error);
	rmhub->signals = (struct rfm_loop_fd){ .ready = on_signal, .opaque = rmhub->loop };
	if (watch_signals(rmhub->loop, &rmhub->signals) < 0)
		return complain_of("signals");
	if (!load_tls(rmhub) || !start_capture(rmhub) || !start_hub(rmhub))
		return false;
	for (unsigned int i = 0; i < settings->count; i++)
		if (!open_port(rmhub, i))
			return false;
	rmhub->timer = (struct rfm_timer){ .fire = on_timer, .opaque = rmhub };
	rmhub->chores = (struct rfm_timer){ .fire = on_chores, .opaque = rmhub };
	on_timer(rmhub, rfm_now());
	on_chores(rmhub, rfm_now());
	return true;
}

static void finish(struct rmhub *rmhub)
{
	uint64_t lost;

	if (rmhub->ports)
		close_ports(rmhub);
	control_close(rmhub->control);
	if (rmhub->loop) {
		rfm_timer_set(rmhub->loop, &rmhub->timer, RFM_NEVER);
		rfm_timer_set(rmhub->loop, &rmhub->chores, RFM_NEVER);
		rfm_loop_free(rmhub->loop);
	}
	tls_free(rmhub->tls);
	hub_destroy(&rmhub->hub);
	rfm_pcapng_end(&rmhub->capture);
	if (rfm_pcapng_trouble(&rmhub->capture))
		complain("the end of the capture could not be written");
	free(rmhub->ports);
	lost = journal_close(&rmhub->fired);
	if (lost && rmhub->said.room)
		say(rmhub, "%" PRIu64 " lines of the log of faults were lost", lost);
	if (rmhub->said.lost)
		say(rmhub, "%" PRIu64 " lines of this were lost", rmhub->said.lost);
	journal_close(&rmhub->said);
}

int rmhub_run(struct settings *settings)
{
	struct rmhub rmhub = {
		.settings = settings,
		.self = { .hub = true, .incarnation = rfm_real_time() },
		.tick_at = RFM_NEVER,
		.start = rfm_now(),
	};
	bool started;

	allow_descriptors();
	started = start(&rmhub);
	if (started) {
		say(&rmhub, "%u ports, control socket %s", settings->count, settings->control);
		rfm_loop_run(rmhub.loop);
		rfm_loop_unwatch(rmhub.loop, &rmhub.signals);
		rmhub.stopping = true;
		drain(&rmhub);
	}
	finish(&rmhub);
	return started ? EXIT_SUCCESS : EXIT_FAILURE;
}
