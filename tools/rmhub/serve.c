// SPDX-License-Identifier: MIT
/* The hub's side of the control socket. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "faultjson.h"
#include "fields.h"
#include "rmhub.h"

static void serve_status(struct control_request *request, json_t *args, void *opaque)
{
	control_done(request, report_status(opaque));
}

static void serve_counters(struct control_request *request, json_t *args, void *opaque)
{
	control_done(request, report_counters(opaque));
}

/* The port that a request is about; false after it has failed. */
static bool get_port(struct control_request *request, json_t *args, struct rmhub *rmhub,
		     unsigned int *port)
{
	const char *name;
	int number;

	if (!control_get_string(request, args, "port", true, &name))
		return false;
	number = settings_port_of(rmhub->settings, name);
	if (number < 0) {
		control_misused(request, "there is no port '%.40s'; ports are 0 to %u", name,
			     rmhub->settings->count - 1);
		return false;
	}
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

	/* What is told to have fired stands in the log. */
	journal_flush(&rmhub->fired);
	control_done(request, report_faults(rmhub));
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
	struct fault_spec *specs;
	int count = faultjson_parse_list(&specs, args, true, rmhub->settings, error);

	if (count < 0) {
		control_misused(request, "%s", error);
		return;
	}
	if (faults_play(&rmhub->hub.faults, specs, count, rfm_now()) < 0)
		control_fail(request, "there is no memory for the scenario");
	else
		control_done(request, json_pack("{s:i}", "faults", count));
	free(specs);
	rmhub->hub.wake = 0;
	rmhub_rearm(rmhub);
}

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
