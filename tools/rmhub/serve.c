// SPDX-License-Identifier: MIT
/* The hub's side of the control socket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faultjson.h"
#include "fields.h"
#include "rmhub.h"

/* --- what it says about itself -------------------------------------------- */

static json_t *report_peer(const struct rfm_link_self *peer)
{
	if (peer->hub)
		return json_pack("{s:b, s:I}", "hub", 1, "incarnation",
				 (json_int_t)peer->incarnation);
	return json_pack("{s:b, s:i, s:I, s:b, s:I}", "hub", 0, "node", (int)peer->id, "memory",
			 (json_int_t)peer->memory_size, "redundant", (int)peer->redundant,
			 "incarnation", (json_int_t)peer->incarnation);
}

static json_t *report_end(const struct rfm_port *port, const char *address, bool light)
{
	struct rfm_port_info info = rfm_port_info(port);
	const char *link = NULL;

	if (info.connected)
		link = info.shm ? "shm" : !strncmp(address, "unix:", 5) ? "unix" : "tcp";
	return json_pack("{s:s, s:s?, s:b, s:b, s:o?, s:I, s:I}", "address", address, "link", link,
			 "up", (int)info.up, "light", (int)light,
			 "peer", info.up ? report_peer(&info.peer) : NULL,
			 "connections", (json_int_t)info.connections,
			 "refused", (json_int_t)info.refused);
}

static const char *cut_name(const struct hub_port *port)
{
	if (port->cut_in)
		return port->cut_out ? "both" : "in";
	return port->cut_out ? "out" : NULL;
}

static json_t *report_port(struct rmhub *rmhub, unsigned int i)
{
	const struct settings_port *settings = &rmhub->settings->ports[i];
	const struct rmhub_port *ends = &rmhub->ports[i];
	const struct hub_port *port = &rmhub->hub.ports[i];

	return json_pack("{s:i, s:s?, s:s, s:b, s:b, s:b, s:s?, s:o*, s:o*, s:I, s:s, s:o, s:o}",
			 "port", (int)i, "name", settings->name, "state", hub_port_why(port),
			 "live", (int)port->live, "bypassed", (int)port->bypassed,
			 "bad", (int)port->bad, "cut", cut_name(port),
			 "previous", port->live ? json_integer(port->previous) : NULL,
			 "next", port->live ? json_integer(port->next) : NULL,
			 "waiting", (json_int_t)rfm_fifo_used(&port->egress) +
				    port->delayed_count + port->overtaken_count,
			 "line", port->config.line.paced ? "paced" : "free",
			 "in", report_end(ends->in, settings->in, port->light),
			 "out", report_end(ends->out, settings->out, hub_port_shines(port)));
}

static json_t *report_capture(const struct rmhub *rmhub)
{
	const struct rfm_pcapng *capture = &rmhub->capture;

	if (!rmhub->settings->capture)
		return NULL;
	return json_pack("{s:s, s:I, s:I, s:s?}", "file", rmhub->settings->capture,
			 "packets", (json_int_t)capture->packets, "lost", (json_int_t)capture->lost,
			 "error", capture->error ? strerror(capture->error) : NULL);
}

static double seconds(const struct rmhub *rmhub)
{
	return (rfm_now() - rmhub->start) / 1e9;
}

static void serve_status(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	const struct hub *hub = &rmhub->hub;
	json_t *ports = json_array();

	for (unsigned int i = 0; i < hub->count; i++)
		json_array_append_new(ports, report_port(rmhub, i));
	control_done(request, json_pack(
		"{s:i, s:b, s:I, s:I, s:f, s:i, s:{s:i, s:i}, s:o?, s:I, s:I, s:o}",
		"live", (int)hub->live_count, "glitchless", (int)hub->config.glitchless,
		"bad_limit", (json_int_t)hub->config.bad_limit,
		"queue", (json_int_t)hub->config.queue, "seconds", seconds(rmhub),
		"faults", (int)hub->faults.standing_count,
		"scenario", "faults", (int)hub->faults.scenario_count,
			    "done", (int)hub->faults.step,
		"capture", report_capture(rmhub),
		"log_lines_lost", (json_int_t)rmhub->fired.lost,
		"monitor_events_lost", (json_int_t)rmhub->monitor_lost, "ports", ports));
}

static void report_stats(json_t *object, const struct hub_port_stats *stats)
{
	json_t *drops = json_object(), *faults = json_object();

	for (unsigned int reason = 0; reason < HUB_DROPS; reason++)
		json_object_set_new(drops, hub_drop_name(reason),
				    json_integer(stats->dropped[reason]));
	for (unsigned int kind = 0; kind < FAULT_KINDS; kind++)
		json_object_set_new(faults, fault_kind_name(kind),
				    json_integer(stats->faults[kind]));
	json_object_update_new(object, json_pack(
		"{s:{s:I, s:I}, s:{s:I, s:I}, s:o, s:o, s:I, s:I, s:I, s:I, s:I}",
		"in", "frames", (json_int_t)stats->in, "bytes", (json_int_t)stats->in_bytes,
		"out", "frames", (json_int_t)stats->out, "bytes", (json_int_t)stats->out_bytes,
		"dropped", drops, "faults", faults,
		"duplicates", (json_int_t)stats->duplicates,
		"damaged", (json_int_t)stats->damaged, "bad", (json_int_t)stats->bad,
		"joined", (json_int_t)stats->joined,
		"sync_losses", (json_int_t)stats->sync_losses));
}

static void add(struct hub_port_stats *sum, const struct hub_port_stats *stats)
{
	const uint64_t *from = (const uint64_t *)stats;
	uint64_t *to = (uint64_t *)sum;

	_Static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "counters and nothing else");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

static void serve_counters(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	json_t *ports = json_array(), *total = json_object();
	struct hub_port_stats sum = { 0 };

	for (unsigned int i = 0; i < rmhub->hub.count; i++) {
		const struct hub_port *port = &rmhub->hub.ports[i];
		json_t *entry = json_pack("{s:i, s:s?}", "port", (int)i,
					  "name", rmhub->settings->ports[i].name);

		report_stats(entry, &port->stats);
		json_object_set_new(entry, "queue_peak", json_integer(port->egress.deepest));
		add(&sum, &port->stats);
		json_array_append_new(ports, entry);
	}
	report_stats(total, &sum);
	json_object_set_new(total, "waiting", json_integer(hub_waits(&rmhub->hub)));
	control_done(request, json_pack("{s:o, s:o}", "total", total, "ports", ports));
}

json_t *report_event(struct rmhub *rmhub, unsigned int i)
{
	const struct hub_port *port = &rmhub->hub.ports[i];

	return json_pack("{s:f, s:i, s:s, s:o*}", "time", seconds(rmhub), "port", (int)i,
			 "state", hub_port_why(port),
			 "peer", port->live ? report_peer(&port->peer) : NULL);
}

/* --- a port --------------------------------------------------------------- */

/* The port that a request is about; false after it has failed. */
static bool get_port(struct control_request *request, json_t *args, struct rmhub *rmhub,
		     unsigned int *port)
{
	const char *name;
	int number;

	if (!control_get_string(request, args, "port", true, &name))
		return false;
	number = settings_port_of(rmhub->settings, name);
	if (number < 0)
		return control_misused(request, "there is no port '%.40s'; ports are 0 to %u", name,
				       rmhub->settings->count - 1);
	*port = number;
	return true;
}

static void serve_bypass(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	unsigned int port;
	bool on;

	if (!get_port(request, args, rmhub, &port) ||
	    !control_get_bool(request, args, "on", true, &on))
		return;
	hub_bypass(&rmhub->hub, port, on, rfm_now());
	rmhub_rearm(rmhub);
	control_done(request, NULL);
}

static void serve_cut(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	unsigned int port, sides;
	const char *side;

	if (!get_port(request, args, rmhub, &port) ||
	    !control_get_string(request, args, "side", true, &side))
		return;
	sides = !strcmp(side, "in") ? HUB_IN : !strcmp(side, "out") ? HUB_OUT :
		!strcmp(side, "both") ? HUB_IN | HUB_OUT : 0;
	if (!sides) {
		control_misused(request, "a fibre is in, out or both, not '%.40s'", side);
		return;
	}
	hub_cut(&rmhub->hub, port, sides, rfm_now());
	control_done(request, NULL);
}

static void serve_restore(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	unsigned int port;

	if (!get_port(request, args, rmhub, &port))
		return;
	hub_restore(&rmhub->hub, port, rfm_now());
	control_done(request, NULL);
}

/* --- faults --------------------------------------------------------------- */

static void serve_fault_add(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	char error[FIELDS_SENTENCE];
	struct fault_spec spec;
	struct fault *fault;

	if (!faultjson_parse(&spec, args, false, "fault", rmhub->settings, error)) {
		control_misused(request, "%s", error);
		return;
	}
	fault = faults_add(&rmhub->hub.faults, &spec, rfm_now());
	if (fault)
		control_done(request, json_pack("{s:i}", "fault", fault->id));
	else if (errno == ENOSPC)
		control_fail(request, "there are %d faults already; clear some first", FAULTS_MAX);
	else
		control_fail(request, "there is no memory for a fault");
}

static void serve_fault_list(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	const struct faults *faults = &rmhub->hub.faults;
	json_t *standing = json_array(), *scenario = json_array();
	uint64_t now = rfm_now();

	/* What is told to have fired stands in the log. */
	journal_flush(&rmhub->fired);
	for (unsigned int i = 0; i < faults->standing_count; i++) {
		const struct fault *fault = faults->standing[i];

		json_array_append_new(standing,
				      faultjson_report(fault, fault_finished(fault, now) ?
						       "done" : "armed"));
	}
	for (unsigned int i = 0; i < faults->scenario_count; i++)
		json_array_append_new(scenario,
				      faultjson_report(faults->scenario[i],
						       i < faults->step ? "done" :
						       i == faults->step ? "armed" : "waiting"));
	control_done(request, json_pack("{s:o, s:o}", "faults", standing, "scenario", scenario));
}

static void serve_fault_clear(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	uint64_t id = 0;

	if (!control_get_number(request, args, "fault", false, 1, UINT32_MAX, &id))
		return;
	if (faults_clear(&rmhub->hub.faults, id))
		control_done(request, NULL);
	else
		control_fail(request, "there is no fault %u that could be cleared by itself",
			     (unsigned int)id);
}

static void serve_scenario(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;
	char error[FIELDS_SENTENCE];
	struct settings_faults list;

	if (!faultjson_parse_list(&list, args, true, rmhub->settings, error))
		control_misused(request, "%s", error);
	else if (faults_play(&rmhub->hub.faults, list.specs, list.count, rfm_now()) < 0)
		control_fail(request, "there is no memory for the scenario");
	else
		control_done(request, json_pack("{s:i}", "faults", (int)list.count));
	free(list.specs);
	rmhub->hub.wake = 0;
	rmhub_rearm(rmhub);
}

/* --- the hub -------------------------------------------------------------- */

static void serve_stop(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;

	control_done(request, NULL);
	rfm_loop_stop(rmhub->loop);
}

/* A monitor's place among the others, which is what its end is told with. */
static void monitor_gone(void *context)
{
	struct control_request **place = context;

	*place = NULL;
}

static void serve_monitor(struct control_request *request, json_t *args, void *opaque)
{
	struct rmhub *rmhub = opaque;

	for (unsigned int i = 0; i < MONITORS_MAX; i++) {
		if (rmhub->monitors[i])
			continue;
		rmhub->monitors[i] = request;
		control_on_gone(request, monitor_gone, &rmhub->monitors[i]);
		for (unsigned int port = 0; port < rmhub->hub.count; port++)
			control_event(request, report_event(rmhub, port));
		return;
	}
	control_fail(request, "%d monitors are looking already", MONITORS_MAX);
}

const struct control_verb serve_verbs[] = {
	{ "status", serve_status },
	{ "counters", serve_counters },
	{ "bypass", serve_bypass },
	{ "cut", serve_cut },
	{ "restore", serve_restore },
	{ "fault-add", serve_fault_add },
	{ "fault-list", serve_fault_list },
	{ "fault-clear", serve_fault_clear },
	{ "scenario", serve_scenario },
	{ "monitor", serve_monitor },
	{ "stop", serve_stop },
	{ NULL, NULL },
};
