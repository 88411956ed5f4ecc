/* SPDX-License-Identifier: MIT */
/* What a hub is told to be: from the command line and from a file. */
#ifndef RMHUB_SETTINGS_H
#define RMHUB_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>

#include "relay.h"

#define SETTINGS_PORTS	8	/* as the field's hub */

/**
 * struct settings_port - a port
 * @name: beside its number
 * @in, @out: addresses (ring/host/port.h); filled in by settings_finish()
 */
struct settings_port {
	char *name, *in, *out;
	bool has_line;
	struct hub_port_config config;
};

/**
 * struct settings - everything; strings are owned
 * @dir: ports without addresses listen there: portN.in, portN.out
 * @control: path of the control socket
 * @log: file for what faults do, NULL: standard output
 * @capture: pcapng file
 * @tls: folder of credentials for TCP links
 */
struct settings {
	unsigned int count;
	struct settings_port ports[HUB_PORTS_MAX];
	struct rfm_line_config line;
	struct hub_config hub;
	bool stream_only;
	char *dir, *control, *log, *capture, *tls;
	struct settings_faults {
		struct fault_spec *specs;
		unsigned int count;
	} faults, scenario;
};

void settings_init(struct settings *settings);
void settings_free(struct settings *settings);

/** settings_control() - where the control socket is if nobody says; to be freed */
char *settings_control(void);

/**
 * settings_option() - an option of `rmhub run`
 * @name: long name, without dashes
 * @value: NULL for one that takes none
 * @error: FIELDS_SENTENCE bytes
 */
bool settings_option(struct settings *settings, const char *name, const char *value, char *error);

/** settings_finish() - fill in what follows from the rest, and see whether it fits together */
bool settings_finish(struct settings *settings, char *error);

/** settings_port_of() - number of the port with that number or name, -1 */
int settings_port_of(const struct settings *settings, const char *name);

#endif
