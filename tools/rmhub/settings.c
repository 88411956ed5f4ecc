// SPDX-License-Identifier: MIT
#include "settings.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faultjson.h"
#include "fields.h"
#include "ring/host/port.h"
#include "ring/node.h"
#include "ring/util/line-text.h"
#include "tools/common/parse.h"

#define NAME_MAX_LENGTH	32

static bool fail(char *error, const char *sentence)
{
	snprintf(error, FIELDS_SENTENCE, "%s", sentence);
	return false;
}

static void set(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	if (!*to)
		abort();
}

char *settings_control(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *path;
	int done;

	if (runtime && *runtime)
		done = asprintf(&path, "%s/rmhub.sock", runtime);
	else
		done = asprintf(&path, "/tmp/rmhub-%u.sock", (unsigned int)getuid());
	if (done < 0)
		abort();
	return path;
}

void settings_init(struct settings *settings)
{
	*settings = (struct settings){
		.count = SETTINGS_PORTS,
		.line = { .hop_ns = RFM_LINE_HOP_NS },
		.hub = { .bad_limit = HUB_BAD_LIMIT, .queue = RFM_NODE_TX_SLOTS },
	};
}

void settings_free(struct settings *settings)
{
	for (unsigned int i = 0; i < HUB_PORTS_MAX; i++) {
		free(settings->ports[i].name);
		free(settings->ports[i].in);
		free(settings->ports[i].out);
	}
	free(settings->dir);
	free(settings->control);
	free(settings->log);
	free(settings->capture);
	free(settings->faults);
	free(settings->scenario);
}

int settings_port_of(void *opaque, const char *name)
{
	struct settings *settings = opaque;
	uint64_t number;

	if (isdigit((unsigned char)*name))
		return parse_number(name, settings->count - 1, &number) == PARSE_OK ? (int)number :
										      -1;
	for (unsigned int i = 0; i < settings->count; i++)
		if (settings->ports[i].name && !strcmp(settings->ports[i].name, name))
			return i;
	return -1;
}

/* --- a port of the file --------------------------------------------------- */

static void take_name(struct fields *fields, struct settings *settings, unsigned int i)
{
	const char *name;
	size_t length;

	if (!fields_string(fields, "name", &name))
		return;
	length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
	if (name[length] || length > NAME_MAX_LENGTH || isdigit((unsigned char)*name))
		fields_fail(fields, "name", "must be up to %d letters, digits, '.', '_' and '-', "
			    "and not begin with a digit", NAME_MAX_LENGTH);
	else if (settings_port_of(settings, name) >= 0)
		fields_fail(fields, "name", "is that of another port");
	else
		set(&settings->ports[i].name, name);
}

static void take_address(struct fields *fields, const char *name, char **to)
{
	const char *address, *complaint;

	if (!fields_string(fields, name, &address))
		return;
	complaint = rfm_port_address_check(address);
	if (complaint)
		fields_fail(fields, name, "is no address: %s", complaint);
	else
		set(to, address);
}

static bool take_line(struct fields *fields, struct rfm_line_config *line)
{
	const char *text, *complaint;

	if (!fields_string(fields, "line", &text))
		return false;
	complaint = rfm_line_parse(line, text);
	return !complaint || fields_fail(fields, "line", "is wrong: %s", complaint);
}

static bool take_port(struct settings *settings, unsigned int i, json_t *object, char *error)
{
	struct settings_port *port = &settings->ports[i];
	struct fields fields;
	char what[24];

	snprintf(what, sizeof(what), "port %u", i);
	fields_begin(&fields, object, what);
	take_name(&fields, settings, i);
	take_address(&fields, "in", &port->in);
	take_address(&fields, "out", &port->out);
	port->has_line = take_line(&fields, &port->line);
	fields_bool(&fields, "bypassed", &port->bypassed);
	return fields_end(&fields) || fail(error, fields.error);
}

static bool take_ports(struct settings *settings, struct fields *fields, char *error)
{
	uint64_t number;
	json_t *ports;

	if (!fields_any(fields, "ports", &ports))
		return !fields->failed || fail(error, fields->error);
	if (!json_is_array(ports)) {
		if (fields_number(fields, "ports", 1, HUB_PORTS_MAX, &number))
			settings->count = number;
		return !fields->failed || fail(error, fields->error);
	}
	if (!json_array_size(ports) || json_array_size(ports) > HUB_PORTS_MAX) {
		fields_fail(fields, "ports", "must have 1 to %d elements", HUB_PORTS_MAX);
		return fail(error, fields->error);
	}
	settings->count = json_array_size(ports);
	for (unsigned int i = 0; i < settings->count; i++)
		if (!take_port(settings, i, json_array_get(ports, i), error))
			return false;
	return true;
}

/* --- the file ------------------------------------------------------------- */

static bool is_power_of_two(uint64_t number)
{
	return number && !(number & (number - 1));
}

static void take_hub(struct settings *settings, struct fields *fields)
{
	uint64_t number;

	fields_bool(fields, "glitchless", &settings->hub.glitchless);
	fields_bool(fields, "stream-only", &settings->stream_only);
	if (fields_number(fields, "bad-limit", 0, UINT32_MAX, &number))
		settings->hub.bad_limit = number;
	if (fields_number(fields, "queue", 1, HUB_QUEUE_MAX, &number)) {
		settings->hub.queue = number;
		if (!is_power_of_two(number))
			fields_fail(fields, "queue", "must be a power of two");
	}
	take_line(fields, &settings->line);
}

static void take_paths(struct settings *settings, struct fields *fields)
{
	const char *text;

	if (fields_string(fields, "dir", &text))
		set(&settings->dir, text);
	if (fields_string(fields, "socket", &text))
		set(&settings->control, text);
	if (fields_string(fields, "log", &text))
		set(&settings->log, text);
	if (fields_string(fields, "pcap", &text))
		set(&settings->capture, text);
}

static bool take_faults(struct settings *settings, json_t *list, bool scenario, char *error)
{
	struct fault_spec *specs;
	int count = faultjson_parse_list(&specs, list, scenario, settings_port_of, settings, error);

	if (count < 0)
		return false;
	if (scenario) {
		free(settings->scenario);
		settings->scenario = specs;
		settings->scenario_count = count;
	} else {
		free(settings->faults);
		settings->faults = specs;
		settings->fault_count = count;
	}
	return true;
}

static bool take_file(struct settings *settings, json_t *root, const char *path, char *error)
{
	json_t *faults = NULL, *scenario = NULL;
	struct fields fields;

	fields_begin(&fields, root, path);
	take_hub(settings, &fields);
	take_paths(settings, &fields);
	if (!take_ports(settings, &fields, error))
		return false;
	fields_any(&fields, "faults", &faults);
	fields_any(&fields, "scenario", &scenario);
	if (!fields_end(&fields))
		return fail(error, fields.error);
	return (!faults || take_faults(settings, faults, false, error)) &&
	       (!scenario || take_faults(settings, scenario, true, error));
}

static json_t *load(const char *path, char *error)
{
	json_error_t where;
	json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &where);

	if (!root && where.line > 0)
		snprintf(error, FIELDS_SENTENCE, "%s is no JSON: line %d: %s", path, where.line,
			 where.text);
	else if (!root)
		snprintf(error, FIELDS_SENTENCE, "%s", where.text);
	return root;
}

static bool read_file(struct settings *settings, const char *path, bool scenario, char *error)
{
	json_t *root = load(path, error);
	bool good = root && (scenario ? take_faults(settings, root, true, error) :
					take_file(settings, root, path, error));

	json_decref(root);
	return good;
}

/* --- the command line ----------------------------------------------------- */

bool settings_option(struct settings *settings, const char *name, const char *value, char *error)
{
	bool scenario = !strcmp(name, "scenario"), good;
	json_t *object;
	char what[32];

	if (scenario || !strcmp(name, "config"))
		return read_file(settings, value, scenario, error);
	/* Any other is a line of the file. */
	snprintf(what, sizeof(what), "option --%s", name);
	object = json_pack("{s:o}", name, value ? json_string(value) : json_true());
	if (!object) {
		snprintf(error, FIELDS_SENTENCE, "%s is no UTF-8", what);
		return false;
	}
	good = take_file(settings, object, what, error);
	json_decref(object);
	return good;
}

static bool default_address(struct settings *settings, unsigned int i, const char *end, char **to,
			    char *error)
{
	if (*to)
		return true;
	if (!settings->dir) {
		snprintf(error, FIELDS_SENTENCE, "port %u has no address for its %s, and there is "
			 "no --dir for its socket", i, end);
		return false;
	}
	if (asprintf(to, "unix:%s/port%u.%s,server", settings->dir, i, end) < 0)
		abort();
	if (rfm_port_address_check(*to)) {
		snprintf(error, FIELDS_SENTENCE, "port %u: %s", i, rfm_port_address_check(*to));
		return false;
	}
	return true;
}

bool settings_finish(struct settings *settings, char *error)
{
	if (!settings->control) {
		if (!settings->dir)
			settings->control = settings_control();
		else if (asprintf(&settings->control, "%s/control", settings->dir) < 0)
			abort();
	}
	for (unsigned int i = 0; i < settings->count; i++) {
		struct settings_port *port = &settings->ports[i];

		if (!default_address(settings, i, "in", &port->in, error) ||
		    !default_address(settings, i, "out", &port->out, error))
			return false;
		if (!port->has_line)
			port->line = settings->line;
	}
	return true;
}
