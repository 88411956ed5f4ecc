// SPDX-License-Identifier: MIT
/* The verbs of the command line: each asks a running member and prints what it answers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"

#define TIME_MAX	(4000000 * NSEC_PER_SEC)

/* --- asking ------------------------------------------------------------------------- */

int misused(const struct ask *ask, const char *why)
{
	complain("%s: %s; usage: rmnode -S SOCKET %s %s", ask->verb->name, why, ask->verb->name,
		 ask->verb->synopsis);
	return STATUS_MISUSED;
}

int print_json(json_t *object)
{
	if (json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) || puts("") < 0 ||
	    fflush(stdout))
		return complain("cannot write the answer");
	return 0;
}

bool connect_once(struct ask *ask)
{
	char error[CONTROL_SENTENCE];

	if (!ask->client)
		ask->client = control_connect(ask->socket, error);
	if (!ask->client)
		complain("%s", error);
	return ask->client;
}

void print_event(const struct ask *ask, json_t *event)
{
	if (ask->json || !ask->print)
		print_json(event);
	else
		ask->print(ask, event);
	fflush(stdout);
	json_decref(event);
}

/* The last answer, to be released; NULL after an error was said. */
json_t *await(struct ask *ask)
{
	char error[CONTROL_SENTENCE];
	enum control_answer answer;
	json_t *object;

	while ((answer = control_receive(ask->client, &object, error)) == CONTROL_EVENT)
		print_event(ask, object);
	ask->misused = answer == CONTROL_MISUSED;
	if (answer != CONTROL_RESULT)
		complain("%s", error);
	return object;
}

json_t *ask_for(struct ask *ask, const char *verb, json_t *args)
{
	char error[CONTROL_SENTENCE];

	if (!connect_once(ask)) {
		json_decref(args);
		return NULL;
	}
	if (control_send(ask->client, verb, args, error)) {
		complain("%s", error);
		return NULL;
	}
	return await(ask);
}

/* For verbs whose answer is of interest as JSON only. */
int ask_simply(struct ask *ask, json_t *args, const char *format, const char *name)
{
	json_t *result = ask_for(ask, ask->verb->name, args);
	int status = 0;

	if (!result)
		return 1;
	if (ask->json)
		status = print_json(result);
	else if (format)
		printf(format, (long long)json_integer_value(json_object_get(result, name)));
	json_decref(result);
	return status;
}

void tell_dark(const struct ask *ask, json_t *result)
{
	uint64_t dark = number_in(result, "dark");

	if (dark && !ask->json)
		printf("the node was dark: no other node has %" PRIu64 " of the stores\n", dark);
}

int complain_of_loss(json_t *result)
{
	uint64_t dropped = number_in(result, "dropped"), lost = number_in(result, "lost");

	if (dropped)
		return complain("%" PRIu64 " frames were dropped for want of room", dropped);
	return lost ? complain("%" PRIu64 " frames were lost", lost) : 0;
}

int ask_to_store(struct ask *ask, json_t *args)
{
	json_t *result = ask_for(ask, ask->verb->name, args);
	int status = 0;

	if (!result)
		return 1;
	tell_dark(ask, result);
	if (ask->json)
		status = print_json(result);
	status = complain_of_loss(result) || status;
	json_decref(result);
	return status;
}

void set_number(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

uint64_t number_in(json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

bool is_set(json_t *object, const char *name)
{
	return json_is_true(json_object_get(object, name));
}

bool word_seconds(const char *what, const char *text, uint64_t *ms)
{
	uint64_t ns;

	if (parse_duration(text, &ns) == PARSE_OK && ns >= NSEC_PER_MSEC && ns <= TIME_MAX) {
		*ms = ns / NSEC_PER_MSEC;
		return true;
	}
	complain("%s '%s' is no time from 1ms to 4000000s, such as 0.5 or 20ms", what, text);
	return false;
}

bool add_range(json_t *args, const char *text)
{
	uint64_t first, last;

	if (!word_range(text, &first, &last))
		return false;
	set_number(args, "first", first);
	set_number(args, "last", last);
	return true;
}

/* --- the table ----------------------------------------------------------------------------- */

static const struct client_verb verbs[] = {
	{ "read", "[-r] [-w WIDTH] RANGE",
	  "Print bytes of the memory. One address: a word of WIDTH bytes (4).\n"
	  "  -r  the bytes themselves instead of digits\n", "rw:", NULL, verb_read_c },
	{ "write", "[-w WIDTH] ADDRESS VALUE | -f FILE ADDRESS",
	  "Store a word of WIDTH bytes (4), or what is in a file (- standard input).\n",
	  "w:f:", NULL, verb_write_c },
	{ "fill", "[-w WIDTH] RANGE VALUE", "Store the same word all over a range.\n",
	  "w:", NULL, verb_fill_c },
	{ "checksum", "[RANGE]", "Print the CRC-32C of the memory.\n", "", NULL,
	  verb_checksum_c },
	{ "watch", "[-n COUNT] [RANGE]", "Print updates by other nodes as they come.\n", "n:",
	  NULL, verb_watch_c },
	{ "send", "NODE[,NODE]...|all TYPE [DATA]", "Send a network interrupt; types 0 to 3, and 7.\n"
	  "To several nodes it is one frame.\n", "",
	  NULL, verb_send_c },
	{ "wait-interrupt", "[-n COUNT] [-t SECONDS]",
	  "Print the oldest interrupts that have come, and wait for them.\n", "n:t:", NULL,
	  verb_wait_interrupt_c },
	{ "fence", "[-t SECONDS]",
	  "Wait until all stores so far are in every node's memory. Fails if they are not.\n",
	  "t:", NULL, verb_fence_c },
	{ "wait", "[-n MEMBERS] [-t SECONDS]",
	  "Wait until the node is on the ring, with at least so many other members.\n",
	  "n:t:", NULL, verb_wait_c },
	{ "stats", "", "Print state and counters.\n", "", NULL, verb_stats_c },
	{ "members", "", "Print who else is on the ring.\n", "", NULL, verb_members_c },
	{ "set", "loopback|transmit|dark-on-dark on|off | offset 0|64M|128M|192M",
	  "Change a setting.\n", "", NULL, verb_set_c },
	{ "pause", "", "Hold back what is for this memory; frames are passed on.\n", "", NULL,
	  verb_pause_c },
	{ "resume", "", "Go on after pause.\n", "", NULL, verb_pause_c },
	{ "monitor", "", "Print what happens, one JSON object a line.\n", "", NULL,
	  verb_monitor_c },
	{ "load", "[OPTION]... [RANGE]",
	  "Store all over a range, and print how many stores were made. They may still be\n"
	  "on their way then: fence waits until they are through.\n"
	  "  --count N     so many stores\n"
	  "  --seconds S   or for so long\n"
	  "  --size BYTES  of a store, 1 to 64 (4)\n"
	  "  --stride N    bytes from one store to the next (the size)\n"
	  "  --rate N      stores a second (as many as the ring takes)\n"
	  "  --own PARTS   only this node's part of PARTS equal ones\n"
	  "  --random      at random places\n"
	  "  --seed N      for these (1)\n"
	  "  --value N     what to store first; it counts up (1)\n", "n:t:s:d:r:o:S:v:R",
	  load_options, verb_load_c },
	{ "record", "[-n FRAMES] [-t SECONDS] FILE [RANGE]...",
	  "Write updates of the ranges (all), and interrupts, to a pcapng file, until the\n"
	  "count, the time, or SIGINT.\n", "n:t:", NULL, verb_record_c },
	{ "replay", "[OPTION]... FILE",
	  "Store again what was recorded, in the same order with the same spacing.\n"
	  "  --speed N|max   so much faster\n"
	  "  --step          one frame for each line of standard input\n"
	  "  --as-node ID    as another node, which joins the ring for it\n"
	  "  --range RANGE   only updates there; may be given several times\n", "s:a:r:p",
	  replay_options, verb_replay_c },
	{ "stop", "", "End the member.\n", "", NULL, verb_stop_c },
};

void print_verbs(void)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		printf("  %s %s\n", verbs[i].name, verbs[i].synopsis);
}

int run_verb(const char *socket, bool json, int argc, char **argv)
{
	struct ask ask = { .socket = socket, .json = json };
	int status;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, argv[0]))
			ask.verb = &verbs[i];
	if (!ask.verb) {
		complain("there is no verb '%s'; rmnode --help lists them", argv[0]);
		return STATUS_MISUSED;
	}
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		printf("usage: rmnode -S SOCKET [-j] %s %s\n\n%s", ask.verb->name,
		       ask.verb->synopsis, ask.verb->help);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "-j")) {
		ask.json = true;
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	optind = 0;
	status = ask.verb->run(&ask, argc, argv);
	control_disconnect(ask.client);
	return ask.misused ? STATUS_MISUSED : status;
}
