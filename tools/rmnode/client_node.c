// SPDX-License-Identifier: MIT
/* Command line: what concerns the node itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "tools/common/parse.h"

/* NODE[,NODE]... or all */
static bool add_targets(json_t *args, char *text)
{
	json_t *nodes = json_array();
	uint64_t node;

	if (!strcmp(text, "all")) {
		json_decref(nodes);
		set_number(args, "dest", RFMRING_ALL);
		return true;
	}
	json_object_set_new(args, "nodes", nodes);
	for (char *word; (word = strsep(&text, ","));) {
		if (!word_number("the node", word, 0, RFMRING_NODES - 1, &node))
			return false;
		json_array_append_new(nodes, json_integer(node));
	}
	/* One alone is what a 5565 has a frame for. */
	if (json_array_size(nodes) == 1) {
		json_object_del(args, "nodes");
		set_number(args, "dest", node);
	}
	return true;
}

int verb_send_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object();
	uint64_t type, data = 0;

	if (argc < 3 || argc > 4)
		return misused(ask, "it needs a node and a type");
	if (!add_targets(args, argv[1]) || !word_number("the type", argv[2], 0, 7, &type) ||
	    (argc == 4 && !word_number("the data", argv[3], 0, UINT32_MAX, &data)))
		return STATUS_MISUSED;
	if (type > 3 && type != 7)
		return misused(ask, "the types of interrupts are 0 to 3 and 7");
	set_number(args, "type", type);
	set_number(args, "data", data);
	return ask_simply(ask, args, NULL, NULL);
}

static void print_interrupt(const struct ask *ask, json_t *event)
{
	printf("type %" PRIu64 " from %" PRIu64 " data 0x%08" PRIx64 "\n",
	       number_in(event, "type"), number_in(event, "from"), number_in(event, "data"));
}

/* -n COUNT and -t SECONDS, for the verbs that have them. */
static json_t *count_and_time(struct ask *ask, int argc, char **argv, const char *count_name)
{
	json_t *args = json_object();
	uint64_t value;

	for (int option; (option = getopt(argc, argv, ask->verb->options)) != -1;) {
		if (option == 'n' && word_number("the count", optarg, 0, INT64_MAX, &value))
			set_number(args, count_name, value);
		else if (option == 't' && word_seconds("the time", optarg, &value))
			set_number(args, "timeout_ms", value);
		else
			return NULL;
	}
	if (argc == optind)
		return args;
	misused(ask, "it takes no argument");
	return NULL;
}

int verb_wait_interrupt_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = count_and_time(ask, argc, argv, "count");

	ask->print = print_interrupt;
	return args ? ask_simply(ask, args, NULL, NULL) : STATUS_MISUSED;
}

/* A member that is just being started does not listen yet: wait for that too. */
static void await_member(struct ask *ask, uint64_t limit_ms)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	char error[CONTROL_SENTENCE];

	for (uint64_t ms = 0; ms < (limit_ms ? limit_ms : 10000); ms += 10) {
		ask->client = control_connect(ask->socket, error);
		if (ask->client)
			return;
		nanosleep(&pause, NULL);
	}
}

int verb_wait_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = count_and_time(ask, argc, argv, "members");

	if (args)
		await_member(ask, number_in(args, "timeout_ms"));
	return args ? ask_simply(ask, args, NULL, NULL) : STATUS_MISUSED;
}

int verb_fence_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = count_and_time(ask, argc, argv, "");
	json_t *result = args ? ask_for(ask, "fence", args) : NULL;
	int status = 0;

	if (!args)
		return STATUS_MISUSED;
	if (!result)
		return 1;
	if (ask->json)
		status = print_json(result);
	if (number_in(result, "lost"))
		status = complain("%" PRIu64 " frame(s) did not reach every node",
				  number_in(result, "lost"));
	else if (is_set(result, "paused"))
		status = complain("a node stands still, and has yet to store them");
	else if (is_set(result, "epoch_changed"))
		status = complain("nodes came or went meanwhile");
	json_decref(result);
	return status;
}

static void print_object(json_t *object)
{
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value) {
		char *text = json_dumps(value, JSON_ENCODE_ANY);

		printf("  %-18s %s\n", name, text ? text : "");
		free(text);
	}
}

int verb_stats_c(struct ask *ask, int argc, char **argv)
{
	const char *section;
	json_t *result, *part;

	if (argc > 1)
		return misused(ask, "it takes no argument");
	result = ask_for(ask, "stats", NULL);
	if (!result)
		return 1;
	if (ask->json) {
		print_json(result);
	} else {
		json_object_foreach(result, section, part) {
			printf("%s\n", section);
			print_object(part);
		}
	}
	json_decref(result);
	return 0;
}

int verb_members_c(struct ask *ask, int argc, char **argv)
{
	json_t *result, *member;
	size_t i;

	if (argc > 1)
		return misused(ask, "it takes no argument");
	result = ask_for(ask, "members", NULL);
	if (!result)
		return 1;
	if (ask->json) {
		print_json(result);
	} else {
		json_array_foreach(json_object_get(result, "members"), i, member)
			printf("node %3" PRIu64 "  %3" PRIu64 " hops  received %" PRIu64
			       "  missed %" PRIu64 "\n", number_in(member, "id"),
			       number_in(member, "hops"), number_in(member, "received"),
			       number_in(member, "missed"));
	}
	json_decref(result);
	return 0;
}

static int set(struct ask *ask, const char *name, uint64_t value)
{
	json_t *result = ask_for(ask, "set", json_pack("{s:s, s:I}", "name", name, "value",
						       (json_int_t)value));

	json_decref(result);
	return !result;
}

int verb_set_c(struct ask *ask, int argc, char **argv)
{
	uint64_t value;
	bool on;

	if (argc != 3)
		return misused(ask, "it needs a setting and its value");
	if (!strcmp(argv[1], "offset")) {
		if (parse_number(argv[2], 192 << 20, &value) == PARSE_OK && !(value % (64 << 20)))
			return set(ask, argv[1], value);
		complain("the offset must be 0, 64M, 128M or 192M, not '%s'", argv[2]);
		return STATUS_MISUSED;
	}
	if (strcmp(argv[1], "loopback") && strcmp(argv[1], "transmit") &&
	    strcmp(argv[1], "dark-on-dark"))
		return misused(ask, "there is no such setting");
	return word_switch(argv[1], argv[2], &on) ? set(ask, argv[1], on) : STATUS_MISUSED;
}

int verb_pause_c(struct ask *ask, int argc, char **argv)
{
	return argc > 1 ? misused(ask, "it takes no argument") :
			  set(ask, "paused", !strcmp(ask->verb->name, "pause"));
}

int verb_stop_c(struct ask *ask, int argc, char **argv)
{
	return argc > 1 ? misused(ask, "it takes no argument") : ask_simply(ask, NULL, NULL, NULL);
}

int verb_monitor_c(struct ask *ask, int argc, char **argv)
{
	return argc > 1 ? misused(ask, "it takes no argument") : ask_simply(ask, NULL, NULL, NULL);
}

