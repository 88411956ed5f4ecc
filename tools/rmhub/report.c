// SPDX-License-Identifier: MIT
/* What the hub says about itself, as JSON. */
#include <string.h>

#include "faultjson.h"
#include "rmhub.h"

static void put(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

static void put_bool(json_t *object, const char *name, bool value)
{
	json_object_set_new(object, name, json_boolean(value));
}

static void put_text(json_t *object, const char *name, const char *text)
{
	json_object_set_new(object, name, text ? json_string(text) : json_null());
}

static json_t *report_peer(const struct rfm_link_self *peer)
{
	json_t *object = json_object();

	put_bool(object, "hub", peer->hub);
	if (!peer->hub) {
		put(object, "node", peer->id);
		put(object, "memory", peer->memory_size);
		put_bool(object, "redundant", peer->redundant);
	}
	put(object, "incarnation", peer->incarnation);
	return object;
}

static json_t *report_end(const struct rfm_port *port, const char *address, bool light)
{
	struct rfm_port_info info = rfm_port_info(port);
	json_t *object = json_object();
	const char *link = NULL;

	if (info.connected)
		link = info.shm ? "shm" : !strncmp(address, "unix:", 5) ? "unix" : "tcp";
	put_text(object, "address", address);
	put_text(object, "link", link);
	put_bool(object, "up", info.up);
	put_bool(object, "light", light);
	json_object_set_new(object, "peer", info.up ? report_peer(&info.peer) : json_null());
	put(object, "connections", info.connections);
	put(object, "refused", info.refused);
	return object;
}

static const char *cut_name(const struct hub_port *port)
{
	if (port->cut_in)
		return port->cut_out ? "both" : "in";
	return port->cut_out ? "out" : NULL;
}

static json_t *port_begin(const struct rmhub *rmhub, unsigned int i)
{
	json_t *object = json_object();

	put(object, "port", i);
	put_text(object, "name", rmhub->settings->ports[i].name);
	return object;
}

static json_t *report_port(struct rmhub *rmhub, unsigned int i)
{
	const struct settings_port *settings = &rmhub->settings->ports[i];
	const struct rmhub_port *ends = &rmhub->ports[i];
	const struct hub_port *port = &rmhub->hub.ports[i];
	json_t *object = port_begin(rmhub, i);
	bool shines = !port->bypassed && !port->bad && !port->cut_out;

	put_text(object, "state", hub_port_why(port));
	put_bool(object, "live", port->live);
	put_bool(object, "bypassed", port->bypassed);
	put_bool(object, "bad", port->bad);
	put_text(object, "cut", cut_name(port));
	if (port->live) {
		put(object, "previous", port->previous);
		put(object, "next", port->next);
	}
	put(object, "waiting", rfm_fifo_used(&port->egress) + port->delayed_count +
	    port->overtaken_count);
	put_text(object, "line", port->config.line.paced ? "paced" : "free");
	json_object_set_new(object, "in", report_end(ends->in, settings->in, port->light));
	json_object_set_new(object, "out", report_end(ends->out, settings->out, shines));
	return object;
}

static json_t *report_capture(const struct rmhub *rmhub)
{
	json_t *object;

	if (!rmhub->settings->capture)
		return json_null();
	object = json_object();
	put_text(object, "file", rmhub->settings->capture);
	put(object, "packets", rmhub->capture.packets);
	put(object, "lost", rmhub->capture.lost);
	put_text(object, "error", rmhub->capture.error ? strerror(rmhub->capture.error) : NULL);
	return object;
}

json_t *report_status(struct rmhub *rmhub)
{
	const struct faults *faults = &rmhub->hub.faults;
	json_t *object = json_object(), *ports = json_array(), *scenario = json_object();

	for (unsigned int i = 0; i < rmhub->hub.count; i++)
		json_array_append_new(ports, report_port(rmhub, i));
	put(object, "live", rmhub->hub.live_count);
	put_bool(object, "glitchless", rmhub->hub.config.glitchless);
	put(object, "bad_limit", rmhub->hub.config.bad_limit);
	put(object, "queue", rmhub->hub.config.queue);
	json_object_set_new(object, "seconds", json_real((rfm_now() - rmhub->start) / 1e9));
	put(object, "faults", faults->standing_count);
	put(scenario, "faults", faults->scenario_count);
	put(scenario, "done", faults->step);
	json_object_set_new(object, "scenario", scenario);
	json_object_set_new(object, "capture", report_capture(rmhub));
	put(object, "log_lines_lost", rmhub->fired.lost);
	put(object, "monitor_events_lost", rmhub->monitor_lost);
	json_object_set_new(object, "ports", ports);
	return object;
}

static json_t *moved(uint64_t frames, uint64_t bytes)
{
	json_t *object = json_object();

	put(object, "frames", frames);
	put(object, "bytes", bytes);
	return object;
}

static json_t *report_stats(json_t *object, const struct hub_port_stats *stats)
{
	json_t *drops = json_object(), *faults = json_object();

	for (unsigned int reason = 0; reason < HUB_DROPS; reason++)
		put(drops, hub_drop_name(reason), stats->dropped[reason]);
	for (unsigned int kind = 0; kind < FAULT_KINDS; kind++)
		put(faults, fault_kind_name(kind), stats->faults[kind]);
	json_object_set_new(object, "in", moved(stats->in, stats->in_bytes));
	json_object_set_new(object, "out", moved(stats->out, stats->out_bytes));
	json_object_set_new(object, "dropped", drops);
	json_object_set_new(object, "faults", faults);
	put(object, "duplicates", stats->duplicates);
	put(object, "damaged", stats->damaged);
	put(object, "bad", stats->bad);
	put(object, "joined", stats->joined);
	put(object, "sync_losses", stats->sync_losses);
	return object;
}

static void add(struct hub_port_stats *sum, const struct hub_port_stats *stats)
{
	const uint64_t *from = (const uint64_t *)stats;
	uint64_t *to = (uint64_t *)sum;

	_Static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "counters and nothing else");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(uint64_t); i++)
		to[i] += from[i];
}

json_t *report_counters(struct rmhub *rmhub)
{
	json_t *object = json_object(), *ports = json_array();
	struct hub_port_stats sum = { 0 };

	for (unsigned int i = 0; i < rmhub->hub.count; i++) {
		const struct hub_port *port = &rmhub->hub.ports[i];
		json_t *entry = report_stats(port_begin(rmhub, i), &port->stats);

		put(entry, "queue_peak", port->egress.deepest);
		add(&sum, &port->stats);
		json_array_append_new(ports, entry);
	}
	json_object_set_new(object, "total", report_stats(json_object(), &sum));
	put(json_object_get(object, "total"), "waiting", hub_waits(&rmhub->hub));
	json_object_set_new(object, "ports", ports);
	return object;
}

json_t *report_faults(struct rmhub *rmhub)
{
	const struct faults *faults = &rmhub->hub.faults;
	json_t *object = json_object(), *standing = json_array(), *scenario = json_array();
	uint64_t now = rfm_now();

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
	json_object_set_new(object, "faults", standing);
	json_object_set_new(object, "scenario", scenario);
	return object;
}

json_t *report_event(struct rmhub *rmhub, unsigned int i)
{
	const struct hub_port *port = &rmhub->hub.ports[i];
	json_t *object = json_object();

	json_object_set_new(object, "time", json_real((rfm_now() - rmhub->start) / 1e9));
	put(object, "port", i);
	put_text(object, "state", hub_port_why(port));
	if (port->live)
		json_object_set_new(object, "peer", report_peer(&port->peer));
	return object;
}
