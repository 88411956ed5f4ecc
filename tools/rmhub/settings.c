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
	free(settings->tls);
	free(settings->faults.specs);
	free(settings->scenario.specs);
}

int settings_port_of(const struct settings *settings, const char *name)
{
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

static bool take_name(struct fields *fields, const struct field *field, json_t *value)
{
	const char *name = json_string_value(value);
	size_t length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			       "0123456789._-");

	if (name[length] || length > NAME_MAX_LENGTH || isdigit((unsigned char)*name))
		return fields_fail(fields, field->name, "must be up to %d letters, digits, '.', "
				   "'_' and '-', and not begin with a digit", NAME_MAX_LENGTH);
	return settings_port_of(fields->settings, name) < 0 ||
	       fields_fail(fields, field->name, "is that of another port");
}

static bool take_address(struct fields *fields, const struct field *field, json_t *value)
{
	const char *complaint = rfm_port_address_check(json_string_value(value));

	return !complaint || fields_fail(fields, field->name, "is no address: %s", complaint);
}

static bool take_line(struct fields *fields, const struct field *field, json_t *value)
{
	void *line = (char *)fields->to + field->at;
	const char *complaint = rfm_line_parse(line, json_string_value(value));

	return !complaint || fields_fail(fields, field->name, "is wrong: %s", complaint);
}

#define PORT_AT(member)	FIELD_AT(struct settings_port, member)

static const struct field port_rows[] = {
	{ "name", FIELD_TEXT, PORT_AT(name), .take = take_name },
	{ "in", FIELD_TEXT, PORT_AT(in), .take = take_address },
	{ "out", FIELD_TEXT, PORT_AT(out), .take = take_address },
	{ "line", FIELD_TEXT, .at = offsetof(struct settings_port, config.line), .take = take_line },
	{ "bypassed", FIELD_FLAG, PORT_AT(config.bypassed) },
	{ NULL },
};

/* --- the file ------------------------------------------------------------- */

static bool take_ports(struct fields *fields, const struct field *field, json_t *ports)
{
	struct settings *settings = fields->settings;
	uint64_t number = json_array_size(ports);

	if (!json_is_array(ports) &&
	    !fields_number(fields, field->name, ports, 1, HUB_PORTS_MAX, &number))
		return false;
	if (!number || number > HUB_PORTS_MAX)
		return fields_fail(fields, field->name, "must have 1 to %d elements", HUB_PORTS_MAX);
	settings->count = number;
	for (unsigned int i = 0; i < json_array_size(ports); i++) {
		json_t *object = json_array_get(ports, i);
		struct settings_port *port = &settings->ports[i];
		char what[24];
		struct fields of_port = { what, port, settings, fields->error };

		snprintf(what, sizeof(what), "port %u", i);
		port->has_line = json_object_get(object, "line");
		if (!fields_take(&of_port, port_rows, object))
			return false;
	}
	return true;
}

static bool take_queue(struct fields *fields, const struct field *field, json_t *value)
{
	uint32_t queue = fields->settings->hub.queue;

	return !(queue & (queue - 1)) || fields_fail(fields, field->name, "must be a power of two");
}

static bool take_faults(struct fields *fields, const struct field *field, json_t *value)
{
	struct settings_faults *list = (void *)((char *)fields->to + field->at);

	free(list->specs);
	return faultjson_parse_list(list, value, !strcmp(field->name, "scenario"),
				    fields->settings, fields->error);
}

#define AT(member)	FIELD_AT(struct settings, member)

static const struct field rows[] = {
	{ "glitchless", FIELD_FLAG, AT(hub.glitchless) },
	{ "stream-only", FIELD_FLAG, AT(stream_only) },
	{ "bad-limit", FIELD_NUMBER, AT(hub.bad_limit), 0, UINT32_MAX },
	{ "queue", FIELD_NUMBER, AT(hub.queue), 1, HUB_QUEUE_MAX, take_queue },
	{ "line", FIELD_TEXT, .at = offsetof(struct settings, line), .take = take_line },
	{ "dir", FIELD_TEXT, AT(dir) },
	{ "socket", FIELD_TEXT, AT(control) },
	{ "log", FIELD_TEXT, AT(log) },
	{ "pcap", FIELD_TEXT, AT(capture) },
	{ "tls", FIELD_TEXT, AT(tls) },
	{ "ports", FIELD_ANY, .take = take_ports },
	{ "faults", FIELD_ANY, AT(faults), .take = take_faults },
	{ "scenario", FIELD_ANY, AT(scenario), .take = take_faults },
	{ NULL },
};

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

bool settings_option(struct settings *settings, const char *name, const char *value, char *error)
{
	bool is_config = !strcmp(name, "config");
	struct fields fields = { value, settings, settings, error };
	char what[32];
	json_t *object;
	bool good;

	snprintf(what, sizeof(what), "option --%s", name);
	if (is_config || !strcmp(name, "scenario")) {
		object = load(value, error);
	} else {
		fields.what = what;
		object = value ? json_string(value) : json_true();
		if (!object)
			snprintf(error, FIELDS_SENTENCE, "%s is no UTF-8", what);
	}
	/* But for the file itself an option is a line of it. */
	if (object && !is_config)
		object = json_pack("{s:o}", name, object);
	good = object && fields_take(&fields, rows, object);
	json_decref(object);
	return good;
}

static bool default_address(struct settings *settings, unsigned int i, const char *end, char **to,
			    char *error)
{
	const char *complaint;

	if (*to)
		return true;
	if (!settings->dir)
		return fields_why(error, "port %u has no address for its %s, and there is no --dir "
				  "for its socket", i, end);
	if (asprintf(to, "unix:%s/port%u.%s,server", settings->dir, i, end) < 0)
		abort();
	complaint = rfm_port_address_check(*to);
	return !complaint || fields_why(error, "port %u: %s", i, complaint);
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
			port->config.line = settings->line;
	}
	return true;
}
