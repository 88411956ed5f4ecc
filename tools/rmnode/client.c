// SPDX-License-Identifier: MIT
/* The verbs of the command line: each asks a running member and prints what it answers. */
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void print_event(const struct ask *ask, json_t *event)
{
	if (ask->json || !ask->verb->event)
		print_json(event);
	else
		ask->verb->event(event);
	fflush(stdout);
	json_decref(event);
}

bool send_request(struct ask *ask, const char *verb, json_t *args)
{
	char error[CONTROL_SENTENCE];

	if (ask->fd < 0)
		ask->fd = control_connect(ask->socket, error);
	if (ask->fd < 0)
		json_decref(args);
	else if (control_send(ask->fd, verb, args, error))
		return true;
	return refuse("%s", error);
}

enum control_answer receive(struct ask *ask, json_t **object)
{
	char error[CONTROL_SENTENCE];
	enum control_answer answer = control_receive(ask->fd, object, error);

	ask->misused = answer == CONTROL_MISUSED;
	if (!*object)
		complain("%s", error);
	return answer;
}

bool send_more(struct ask *ask)
{
	char error[CONTROL_SENTENCE];

	return control_send_more(ask->fd, json_object(), error) || refuse("%s", error);
}

json_t *await(struct ask *ask)
{
	json_t *object;

	while (receive(ask, &object) == CONTROL_EVENT)
		print_event(ask, object);
	return object;
}

json_t *ask_for(struct ask *ask, const char *verb, json_t *args)
{
	return send_request(ask, verb, args) ? await(ask) : NULL;
}

int finish(struct ask *ask, json_t *result)
{
	uint64_t dark = number_in(result, "dark");
	int status = 0;

	if (!result)
		return 1;
	if (ask->json)
		status = print_json(result);
	else if (ask->verb->print)
		ask->verb->print(result);
	if (dark && !ask->json)
		printf("the node was dark: no other node has %" PRIu64 " of the stores\n", dark);
	if (ask->verb->judge)
		status = ask->verb->judge(result) || status;
	json_decref(result);
	return status;
}

/* What of @result was dropped or lost; returns an exit status. */
static int complain_of_loss(json_t *result)
{
	uint64_t dropped = number_in(result, "dropped"), lost = number_in(result, "lost");

	if (dropped)
		return complain("%" PRIu64 " frames were dropped for want of room", dropped);
	return lost ? complain("%" PRIu64 " frames were lost", lost) : 0;
}

void set_number(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

uint64_t number_in(json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

const char *text_in(json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

/* --- words --------------------------------------------------------------------------- */

static bool word_time(const char *text, uint64_t *ms)
{
	uint64_t ns;

	if (parse_duration(text, &ns) == PARSE_OK && ns >= NSEC_PER_MSEC && ns <= TIME_MAX) {
		*ms = ns / NSEC_PER_MSEC;
		return true;
	}
	return refuse("the time '%s' is no time from 1ms to 4000000s, such as 0.5 or 20ms", text);
}

/* In thousandths; 0: max. */
static bool word_speed(const char *text, uint64_t *speed)
{
	char *end;
	double number = strtod(text, &end);

	*speed = 0;
	if (!strcmp(text, "max"))
		return true;
	if (end == text || *end || !(number >= 0.001) || number > 1000000)
		return refuse("the speed '%s' is neither max nor a number from 0.001 to 1000000",
			      text);
	*speed = number * 1000;
	return true;
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

bool add_to_ranges(json_t *args, const char *text)
{
	uint64_t first, last;

	if (!word_range(text, &first, &last))
		return false;
	if (!json_object_get(args, "ranges"))
		json_object_set_new(args, "ranges", json_array());
	json_array_append_new(json_object_get(args, "ranges"),
			      json_pack("[I, I]", (json_int_t)first, (json_int_t)last));
	return true;
}

/* --- options -------------------------------------------------------------------------- */

static bool take_choice(struct ask *ask, const struct choice *choice)
{
	uint64_t value;

	switch (choice->kind) {
	case CHOICE_NUMBER:
		if (!word_number(choice->what, optarg, choice->min, choice->max, &value))
			return false;
		break;
	case CHOICE_TIME:
		if (!word_time(optarg, &value))
			return false;
		break;
	case CHOICE_SPEED:
		if (!word_speed(optarg, &value))
			return false;
		break;
	case CHOICE_FLAG:
		return !json_object_set_new(ask->args, choice->arg, json_true());
	case CHOICE_RANGE:
		return add_to_ranges(ask->args, optarg);
	case CHOICE_WIDTH:
		if (parse_width(optarg, &ask->width))
			return true;
		return refuse("the width '%s' is not 1, 2, 4 or 8", optarg);
	case CHOICE_RAW:
		ask->raw = true;
		return true;
	case CHOICE_PATH:
		ask->file = optarg;
		return true;
	}
	set_number(ask->args, choice->arg, value);
	return true;
}

/* Of a verb without options all words are arguments. False after a sentence was printed. */
static bool take_options(struct ask *ask, int argc, char **argv)
{
	const struct choice *choices = ask->verb->choices, *choice;
	struct option names[CHOICES_MAX + 1] = { 0 }, *name = names;
	char letters[2 * CHOICES_MAX + 1], *letter = letters;

	optind = 1;
	if (!choices->letter)
		return true;
	for (choice = choices; choice->letter; choice++) {
		bool bare = choice->kind == CHOICE_FLAG || choice->kind == CHOICE_RAW;

		letter += sprintf(letter, "%c%s", choice->letter, bare ? "" : ":");
		if (choice->name)
			*name++ = (struct option){ choice->name, !bare, NULL, choice->letter };
	}
	optind = 0;
	for (int found; (found = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
		for (choice = choices; choice->letter && choice->letter != found;)
			choice++;
		if (!choice->letter || !take_choice(ask, choice))
			return false;
	}
	return true;
}

/* --- the table ----------------------------------------------------------------------------- */

int run_plain(struct ask *ask, int count, char **words)
{
	return finish(ask, ask_for(ask, ask->verb->name, ask->args));
}

int run_range(struct ask *ask, int count, char **words)
{
	if (count && !add_range(ask->args, words[0]))
		return STATUS_MISUSED;
	return run_plain(ask, count, words);
}

#define NO_WORDS	0, 0, "it takes no argument"
#define ONE_RANGE	0, 1, "it takes one range"

#define COUNT(arg, min)	{ 'n', NULL, CHOICE_NUMBER, arg, "the count", min, INT64_MAX }
#define TIMEOUT		{ 't', .kind = CHOICE_TIME, .arg = "timeout_ms" }

static const struct client_verb verbs[] = {
	{ "read", "[-r] [-w WIDTH] RANGE",
	  "Print bytes of the memory. One address: a word of WIDTH bytes (4).\n"
	  "  -r  the bytes themselves instead of digits\n", 1, 1, "it needs a range",
	  .run = run_read, .choices = { { 'r', .kind = CHOICE_RAW }, { 'w', .kind = CHOICE_WIDTH } } },
	{ "write", "[-w WIDTH] ADDRESS VALUE | -f FILE ADDRESS",
	  "Store a word of WIDTH bytes (4), or what is in a file (- standard input).\n",
	  1, 2, "it needs an address and a value", .run = run_write,
	  .judge = complain_of_loss,
	  .choices = { { 'w', .kind = CHOICE_WIDTH }, { 'f', .kind = CHOICE_PATH } } },
	{ "fill", "[-w WIDTH] RANGE VALUE", "Store the same word all over a range.\n",
	  2, 2, "it needs a range and a value", .run = run_fill,
	  .judge = complain_of_loss, .choices = { { 'w', .kind = CHOICE_WIDTH } } },
	{ "checksum", "[RANGE]", "Print the CRC-32C of the memory.\n", ONE_RANGE, .run = run_range,
	  .print = print_checksum },
	{ "watch", "[-n COUNT] [-e TIME] [RANGE]", "Print updates by other nodes as they come.\n"
	  "  -e  no oftener than this: how many came, the last one's node, and the range\n",
	  ONE_RANGE, .run = run_range, .event = print_update,
	  .choices = { COUNT("count", 1),
		       { 'e', "every", .kind = CHOICE_TIME, .arg = "every_ms" } } },
	{ "get", "[-r] [-w WIDTH] [-t SECONDS] NODE RANGE",
	  "Print bytes of the memory of one node, which must allow it (export).\n"
	  "  -r  the bytes themselves instead of digits\n", 2, 2, "it needs a node and a range",
	  .run = run_get,
	  .choices = { { 'r', .kind = CHOICE_RAW }, { 'w', .kind = CHOICE_WIDTH }, TIMEOUT } },
	{ "put", "[-w WIDTH] [-t SECONDS] NODE ADDRESS VALUE | -f FILE NODE ADDRESS",
	  "Write a word of WIDTH bytes (4), or what is in a file, at one node only.\n",
	  2, 3, "it needs a node, an address and a value", .run = run_put,
	  .choices = { { 'w', .kind = CHOICE_WIDTH }, { 'f', .kind = CHOICE_PATH }, TIMEOUT } },
	{ "cas", "[-w 4|8] [-t SECONDS] NODE ADDRESS EXPECTED VALUE",
	  "Change a word at its home, if it is EXPECTED. Prints what it was; fails if it was\n"
	  "something else.\n", 4, 4, "it needs a node, an address and two values", .run = run_cas,
	  .print = print_old, .judge = judge_cas,
	  .choices = { { 'w', .kind = CHOICE_WIDTH }, TIMEOUT } },
	{ "add", "[-w 4|8] [-n COUNT] [-t SECONDS] NODE ADDRESS VALUE",
	  "Add to a word at its home. Prints what it was; with a count, how often it was done.\n",
	  3, 3,
	  "it needs a node, an address and a value", .run = run_add, .print = print_old,
	  .choices = { { 'w', .kind = CHOICE_WIDTH }, COUNT("count", 1), TIMEOUT } },
	{ "export", "RANGE read|write|home|none[,...]",
	  "Allow other nodes to get and put bytes of this memory, or make this node the home\n"
	  "of its words, for cas and add. The range is of whole granules of 64 bytes.\n", 2, 2,
	  "it needs a range and rights", .run = run_export },
	{ "message", "[-t SECONDS] NODE PORT TEXT | -f FILE NODE PORT",
	  "Send a text, or what is in a file (500 KiB at most; - standard input), to a port.\n", 2, 3,
	  "it needs a node, a port and a text", .run = run_message,
	  .choices = { { 'f', .kind = CHOICE_PATH }, TIMEOUT } },
	{ "receive", "[-r] [-n COUNT] [-t SECONDS] PORT",
	  "Print messages that come for a port (1). Nobody can send any before.\n"
	  "  -r  the bytes themselves and nothing else\n", 1, 1, "it needs a port", .run = run_receive,
	  .choices = { { 'r', .kind = CHOICE_RAW }, COUNT("count", 1), TIMEOUT } },
	{ "resync", "[-t SECONDS] [NODE] | --as-is",
	  "Get from a complete node, by default the nearest, what this memory lacks. Others may\n"
	  "go on storing. Fails if some of it may still be old.\n"
	  "  -a, --as-is  get nothing: this memory is right as it is\n", 0, 1, "it takes one node",
	  .run = run_resync, .print = print_resync,
	  .choices = { { 'a', "as-is", CHOICE_FLAG, .arg = "as_is" }, TIMEOUT } },
	{ "send", "NODE[,NODE]...|all TYPE [DATA]",
	  "Send a network interrupt; types 0 to 3, and 7.\n"
	  "To several nodes it is one frame.\n", 2, 3, "it needs a node and a type",
	  .run = run_send },
	{ "wait-interrupt", "[-n COUNT] [-t SECONDS]",
	  "Print the oldest interrupts that have come, and wait for them.\n",
	  NO_WORDS, .run = run_plain, .event = print_interrupt,
	  .choices = { COUNT("count", 0), TIMEOUT } },
	{ "fence", "[-t SECONDS]",
	  "Wait until all stores so far are in every node's memory. Fails if they are not.\n",
	  NO_WORDS, .run = run_plain, .judge = judge_fence, .choices = { TIMEOUT } },
	{ "wait", "[-n MEMBERS] [-t SECONDS]",
	  "Wait until the node is on the ring, with at least so many other members.\n",
	  NO_WORDS, .run = run_wait, .choices = { COUNT("members", 0), TIMEOUT } },
	{ "stats", "", "Print state and counters.\n", NO_WORDS, .run = run_plain,
	  .print = print_stats },
	{ "members", "", "Print who else is on the ring.\n", NO_WORDS, .run = run_plain,
	  .print = print_members },
	{ "set", "loopback|transmit|dark-on-dark on|off | offset 0|64M|128M|192M",
	  "Change a setting.\n", 2, 2, "it needs a setting and its value", .run = run_set },
	{ "pause", "", "Hold back what is for this memory; frames are passed on.\n", NO_WORDS,
	  .run = run_pause },
	{ "resume", "", "Go on after pause.\n", NO_WORDS, .run = run_pause },
	{ "monitor", "", "Print what happens, one JSON object a line.\n", NO_WORDS,
	  .run = run_plain },
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
	  "  --value N     what to store first; it counts up (1)\n", ONE_RANGE, .run = run_range,
	  .print = print_load, .choices = {
		{ 'n', "count", CHOICE_NUMBER, "count", "the count", 1, INT64_MAX },
		{ 't', "seconds", CHOICE_TIME, .arg = "milliseconds" },
		{ 's', "size", CHOICE_NUMBER, "size", "the size", 1, 64 },
		{ 'd', "stride", CHOICE_NUMBER, "stride", "the stride", 1, 1 << 20 },
		{ 'r', "rate", CHOICE_NUMBER, "rate", "the rate", 1, 1000000000 },
		{ 'o', "own", CHOICE_NUMBER, "parts", "the number of parts", 1, RFMRING_NODES },
		{ 'S', "seed", CHOICE_NUMBER, "seed", "the seed", 1, INT64_MAX },
		{ 'v', "value", CHOICE_NUMBER, "value", "the first value", 0, INT64_MAX },
		{ 'R', "random", CHOICE_FLAG, .arg = "random" },
	  } },
	{ "record", "[-n FRAMES] [-t SECONDS] FILE [RANGE]...",
	  "Write updates of the ranges (all), and interrupts, to a pcapng file, until the\n"
	  "count, the time, or SIGINT.\n", 1, INT_MAX, "it needs a file", .run = run_record,
	  .event = print_nothing, .print = print_record, .judge = complain_of_loss,
	  .choices = { COUNT("count", 1), { 't', .kind = CHOICE_TIME, .arg = "milliseconds" } } },
	{ "replay", "[OPTION]... FILE",
	  "Store again what was recorded, in the same order with the same spacing.\n"
	  "  --speed N|max   so much faster\n"
	  "  --step          one frame for each line of standard input\n"
	  "  --as-node ID    as another node, which joins the ring for it\n"
	  "  --range RANGE   only updates there; may be given several times\n",
	  1, 1, "it needs a file", .run = run_replay, .event = print_step, .print = print_replay,
	  .judge = complain_of_loss, .choices = {
		{ 's', "speed", CHOICE_SPEED, .arg = "speed" },
		{ 'a', "as-node", CHOICE_NUMBER, "as", "the node", 0, 255 },
		{ 'r', "range", .kind = CHOICE_RANGE },
		{ 'p', "step", CHOICE_FLAG, .arg = "step" },
	  } },
	{ "stop", "", "End the member.\n", NO_WORDS, .run = run_plain },
};

void print_verbs(void)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		printf("  %s %s\n", verbs[i].name, verbs[i].synopsis);
}

int run_verb(const char *socket, bool json, int argc, char **argv)
{
	struct ask ask = { .socket = socket, .json = json, .fd = -1, .width = 4 };
	int status = STATUS_MISUSED, count;

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
	ask.args = json_object();
	if (take_options(&ask, argc, argv)) {
		count = argc - optind;
		status = count < ask.verb->min || count > ask.verb->max ?
			 misused(&ask, ask.verb->words) :
			 ask.verb->run(&ask, count, argv + optind);
	}
	if (ask.fd >= 0)
		close(ask.fd);
	return ask.misused ? STATUS_MISUSED : status;
}
