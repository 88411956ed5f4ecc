/* SPDX-License-Identifier: MIT */
/* Faults as JSON: from scenario files, the configuration and the command line. */
#ifndef RMHUB_FAULTJSON_H
#define RMHUB_FAULTJSON_H

#include <jansson.h>
#include <stdbool.h>

#include "settings.h"

/**
 * faultjson_parse() - one fault
 * @what: what to call it in a sentence
 * @error: FIELDS_SENTENCE bytes
 */
bool faultjson_parse(struct fault_spec *spec, json_t *object, bool in_scenario, const char *what,
		     struct settings *settings, char *error);

/**
 * faultjson_parse_list() - an array of faults, or an object with the array "faults"
 *
 * False after @error says why. The specs are to be freed then, too.
 */
bool faultjson_parse_list(struct settings_faults *faults, json_t *list, bool in_scenario,
			  struct settings *settings, char *error);

/** faultjson_report() - a fault that is set, and what it has done */
json_t *faultjson_report(const struct fault *fault, const char *state);

/** faultjson_firing() - @start: the hub's, ns */
json_t *faultjson_firing(const struct hub_firing *firing, uint64_t start);

#endif
