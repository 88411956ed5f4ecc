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
		set_number(args, "dest", DEST_ALL);
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

int run_send(struct ask *ask, int count, char **words)
{
	uint64_t type, data = 0;

	if (!add_targets(ask->args, words[0]) || !word_number("the type", words[1], 0, 7, &type) ||
	    (count == 3 && !word_number("the data", words[2], 0, UINT32_MAX, &data)))
		return STATUS_MISUSED;
	if (type > 3 && type != 7)
		return misused(ask, "the types of interrupts are 0 to 3 and 7");
	set_number(ask->args, "type", type);
	set_number(ask->args, "data", data);
	return run_plain(ask, count, words);
}

void print_interrupt(json_t *event)
{
	printf("type %" PRIu64 " from %" PRIu64 " data 0x%08" PRIx64 "\n",
	       number_in(event, "type"), number_in(event, "from"), number_in(event, "data"));
}

/* A member that is just being started does not listen yet: wait for that too. */
int run_wait(struct ask *ask, int count, char **words)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	uint64_t limit_ms = number_in(ask->args, "timeout_ms");
	char error[CONTROL_SENTENCE];

	for (uint64_t ms = 0; ms < (limit_ms ? limit_ms : 10000); ms += 10) {
		ask->fd = control_connect(ask->socket, error);
		if (ask->fd >= 0)
			break;
		nanosleep(&pause, NULL);
	}
	return run_plain(ask, count, words);
}

int judge_fence(json_t *result)
{
	if (number_in(result, "lost"))
		return complain("%" PRIu64 " frame(s) did not reach every node",
				number_in(result, "lost"));
	if (json_is_true(json_object_get(result, "paused")))
		return complain("a node stands still, and has yet to store them");
	if (json_is_true(json_object_get(result, "epoch_changed")))
		return complain("nodes came or went meanwhile");
	return 0;
}

void print_stats(json_t *result)
{
	const char *section, *name;
	json_t *part, *value;

	json_object_foreach(result, section, part) {
		printf("%s\n", section);
		json_object_foreach(part, name, value) {
			char *text = json_dumps(value, JSON_ENCODE_ANY);

			printf("  %-18s %s\n", name, text ? text : "");
			free(text);
		}
	}
}

void print_members(json_t *result)
{
	json_t *member;
	size_t i;

	json_array_foreach(json_object_get(result, "members"), i, member)
		printf("node %3" PRIu64 "  %3" PRIu64 " hops  received %" PRIu64 "  missed %" PRIu64
		       "%s\n", number_in(member, "id"), number_in(member, "hops"),
		       number_in(member, "received"), number_in(member, "missed"),
		       json_is_true(json_object_get(member, "incomplete")) ? "  incomplete" : "");
}

static int set(struct ask *ask, const char *name, uint64_t value)
{
	json_t *result = ask_for(ask, "set", json_pack("{s:s, s:I}", "name", name, "value",
						       (json_int_t)value));

	json_decref(result);
	return !result;
}

int run_set(struct ask *ask, int count, char **words)
{
	uint64_t value;
	bool on;

	if (!strcmp(words[0], "offset")) {
		if (parse_number(words[1], 192 << 20, &value) == PARSE_OK && !(value % (64 << 20)))
			return set(ask, words[0], value);
		complain("the offset must be 0, 64M, 128M or 192M, not '%s'", words[1]);
		return STATUS_MISUSED;
	}
	if (strcmp(words[0], "loopback") && strcmp(words[0], "transmit") &&
	    strcmp(words[0], "dark-on-dark"))
		return misused(ask, "there is no such setting");
	return word_switch(words[0], words[1], &on) ? set(ask, words[0], on) : STATUS_MISUSED;
}

int run_pause(struct ask *ask, int count, char **words)
{
	return set(ask, "paused", !strcmp(ask->verb->name, "pause"));
}
