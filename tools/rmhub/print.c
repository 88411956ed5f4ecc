// SPDX-License-Identifier: MIT
/* What the hub says about itself, for people. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rmhub.h"
#include "tools/common/units.h"

static const char *text(const json_t *object, const char *name, const char *otherwise)
{
	const char *value = json_string_value(json_object_get(object, name));

	return value ? value : otherwise;
}

static uint64_t number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static bool flag(const json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

static void print_peer(const json_t *end)
{
	const json_t *peer = json_object_get(end, "peer");
	char node[UNIT_TEXT];

	printf("  %-11s", !json_is_object(peer) ? "-" : flag(peer, "hub") ? "hub" :
	       node_text(node, number(peer, "node")));
}

static void print_neighbour(const json_t *port, const char *name)
{
	if (flag(port, "live"))
		printf("  %4" PRIu64, number(port, name));
	else
		printf("  %4s", "-");
}

static void print_port(const json_t *port)
{
	const json_t *in = json_object_get(port, "in"), *out = json_object_get(port, "out");
	const char *cut = text(port, "cut", NULL);

	printf("%4" PRIu64 "  %-10s  %-11s", number(port, "port"), text(port, "name", "-"),
	       text(port, "state", "?"));
	print_peer(in);
	print_neighbour(port, "previous");
	print_neighbour(port, "next");
	printf("  %-4s  %-4s  %7" PRIu64 "%s%s\n", text(in, "link", "-"), text(out, "link", "-"),
	       number(port, "waiting"), cut ? "  cut: " : "", cut ? cut : "");
}

void print_status(json_t *status)
{
	const json_t *scenario = json_object_get(status, "scenario");
	const json_t *capture = json_object_get(status, "capture");
	const json_t *ports = json_object_get(status, "ports");
	const json_t *port;
	size_t i;

	printf("port  name        state        node         prev  next  in    out   waiting\n");
	json_array_foreach(ports, i, port)
		print_port(port);
	printf("%" PRIu64 " of %zu ports live%s, %" PRIu64 " faults, scenario %" PRIu64
	       " of %" PRIu64 " done\n", number(status, "live"), json_array_size(ports),
	       flag(status, "glitchless") ? ", glitchless" : "", number(status, "faults"),
	       number(scenario, "done"), number(scenario, "faults"));
	if (json_is_object(capture))
		printf("capture %s: %" PRIu64 " packets, %" PRIu64 " lost%s%s\n",
		       text(capture, "file", "?"), number(capture, "packets"),
		       number(capture, "lost"), text(capture, "error", NULL) ? ", ended: " : "",
		       text(capture, "error", ""));
	if (number(status, "log_lines_lost"))
		printf("log: %" PRIu64 " lines lost\n", number(status, "log_lines_lost"));
}

static void print_nonzero(const char *what, json_t *counters)
{
	const char *name;
	json_t *value;

	json_object_foreach(counters, name, value)
		if (json_integer_value(value))
			printf("  %s %s %lld\n", what, name, (long long)json_integer_value(value));
}

static void print_stats(const json_t *stats)
{
	static const char *const others[] = {
		"duplicates", "damaged", "bad", "joined", "sync_losses", "queue_peak", "waiting",
	};
	const json_t *in = json_object_get(stats, "in"), *out = json_object_get(stats, "out");

	printf("  in %" PRIu64 " frames, %" PRIu64 " bytes\n", number(in, "frames"),
	       number(in, "bytes"));
	printf("  out %" PRIu64 " frames, %" PRIu64 " bytes\n", number(out, "frames"),
	       number(out, "bytes"));
	print_nonzero("dropped", json_object_get(stats, "dropped"));
	print_nonzero("fault", json_object_get(stats, "faults"));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (number(stats, others[i]))
			printf("  %s %" PRIu64 "\n", others[i], number(stats, others[i]));
}

void print_counters(json_t *counters)
{
	const json_t *port;
	size_t i;

	json_array_foreach(json_object_get(counters, "ports"), i, port) {
		const char *name = text(port, "name", "");

		printf("port %zu%s%s\n", i, *name ? " " : "", name);
		print_stats(port);
	}
	printf("all ports\n");
	print_stats(json_object_get(counters, "total"));
}

static void print_fault(json_t *fault, const char *of)
{
	static const char *const known[] = {
		"fault", "kind", "state", "matched", "fired", "in_vain", "fired_by_source",
	};
	const char *name;
	json_t *value;

	printf("%s%" PRIu64 ": %s", of, number(fault, "fault"), text(fault, "kind", "?"));
	json_object_foreach(fault, name, value) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(*known) && strcmp(name, known[i]))
			i++;
		if (i < sizeof(known) / sizeof(*known))
			continue;
		printf(" %s=", name);
		if (json_is_string(value))
			printf("%s", json_string_value(value));
		else
			json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	}
	printf(": %s, matched %" PRIu64 ", fired %" PRIu64, text(fault, "state", "?"),
	       number(fault, "matched"), number(fault, "fired"));
	if (number(fault, "in_vain"))
		printf(", %" PRIu64 " in vain", number(fault, "in_vain"));
	printf("\n");
}

void print_faults(json_t *faults)
{
	json_t *fault;
	size_t i;

	json_array_foreach(json_object_get(faults, "faults"), i, fault)
		print_fault(fault, "fault ");
	json_array_foreach(json_object_get(faults, "scenario"), i, fault)
		print_fault(fault, "scenario, fault ");
}
