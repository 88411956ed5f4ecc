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

bool connect_once(struct ask *ask)
{
	char error[CONTROL_SENTENCE];

	if (ask->fd < 0)
		ask->fd = control_connect(ask->socket, error);
	if (ask->fd < 0)
		complain("%s", error);
	return ask->fd >= 0;
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

	if (!connect_once(ask)) {
		json_decref(args);
		return false;
	}
	if (!control_send(ask->fd, verb, args, error))
		return true;
	complain("%s", error);
	return false;
}

json_t *await(struct ask *ask)
{
	char error[CONTROL_SENTENCE];
	enum control_answer answer;
	json_t *object;

	while ((answer = control_receive(ask->fd, &object, error)) == CONTROL_EVENT)
		print_event(ask, object);
	ask->misused = answer == CONTROL_MISUSED;
	if (answer != CONTROL_RESULT)
		complain("%s", error);
	return object;
}

json_t *ask_for(struct ask *ask, const char *verb, json_t *args)
{
	return send_request(ask, verb, args) ? await(ask) : NULL;
}

int finish(struct ask *ask, json_t *result)
{
	int status = 0;

	if (!result)
		return 1;
	if (ask->json)
		status = print_json(result);
	else if (ask->verb->print)
		ask->verb->print(result);
	if (ask->verb->judge)
		status = ask->verb->judge(result) || status;
	json_decref(result);
	return status;
}

void print_dark(json_t *result)
{
	uint64_t dark = number_in(result, "dark");

	if (dark)
		printf("the node was dark: no other node has %" PRIu64 " of the stores\n", dark);
}

int complain_of_loss(json_t *result)
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
	complain("the time '%s' is no time from 1ms to 4000000s, such as 0.5 or 20ms", text);
	return false;
}

/* In thousandths; 0: max. */
static bool word_speed(const char *text, uint64_t *speed)
{
	char *end;
	double number = strtod(text, &end);

	*speed = 0;
	if (!strcmp(text, "max"))
		return true;
	if (end == text || *end || !(number >= 0.001) || number > 1000000) {
		complain("the speed '%s' is neither max nor a number from 0.001 to 1000000", text);
		return false;
	}
	*speed = number * 1000;
	return true;
}

static bool word_width(const char *text, unsigned int *width)
{
	if (parse_width(text, width))
		return true;
	complain("the width '%s' is not 1, 2, 4 or 8", text);
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

enum kind { NUMBER, TIME, SPEED, FLAG, RANGE, WIDTH, RAW, PATH };

/**
 * struct choice - an option of a verb
 * @name: its long name, or NULL
 * @arg: the argument of the request that it becomes
 * @what: NUMBER: for the sentence; from @min to @max
 */
static const struct choice {
	const char *verb;
	int letter;
	const char *name;
	enum kind kind;
	const char *arg, *what;
	uint64_t min, max;
} choices[] = {
	{ "read", 'r', .kind = RAW },
	{ "read", 'w', .kind = WIDTH },
	{ "write", 'w', .kind = WIDTH },
	{ "write", 'f', .kind = PATH },
	{ "fill", 'w', .kind = WIDTH },
	{ "watch", 'n', NULL, NUMBER, "count", "the count", 1, INT64_MAX },
	{ "wait-interrupt", 'n', NULL, NUMBER, "count", "the count", 0, INT64_MAX },
	{ "wait-interrupt", 't', .kind = TIME, .arg = "timeout_ms" },
	{ "fence", 't', .kind = TIME, .arg = "timeout_ms" },
	{ "wait", 'n', NULL, NUMBER, "members", "the count", 0, INT64_MAX },
	{ "wait", 't', .kind = TIME, .arg = "timeout_ms" },
	{ "load", 'n', "count", NUMBER, "count", "the count", 1, INT64_MAX },
	{ "load", 't', "seconds", .kind = TIME, .arg = "milliseconds" },
	{ "load", 's', "size", NUMBER, "size", "the size", 1, 64 },
	{ "load", 'd', "stride", NUMBER, "stride", "the stride", 1, 1 << 20 },
	{ "load", 'r', "rate", NUMBER, "rate", "the rate", 1, 1000000000 },
	{ "load", 'o', "own", NUMBER, "parts", "the number of parts", 1, RFMRING_NODES },
	{ "load", 'S', "seed", NUMBER, "seed", "the seed", 1, INT64_MAX },
	{ "load", 'v', "value", NUMBER, "value", "the first value", 0, INT64_MAX },
	{ "load", 'R', "random", .kind = FLAG, .arg = "random" },
	{ "record", 'n', NULL, NUMBER, "count", "the count", 1, INT64_MAX },
	{ "record", 't', .kind = TIME, .arg = "milliseconds" },
	{ "replay", 's', "speed", .kind = SPEED, .arg = "speed" },
	{ "replay", 'a', "as-node", NUMBER, "as", "the node", 0, 255 },
	{ "replay", 'r', "range", .kind = RANGE },
	{ "replay", 'p', "step", .kind = FLAG, .arg = "step" },
};

#define CHOICES	(sizeof(choices) / sizeof(*choices))

static bool take_choice(struct ask *ask, const struct choice *choice)
{
	uint64_t value;

	switch (choice->kind) {
	case NUMBER:
		if (!word_number(choice->what, optarg, choice->min, choice->max, &value))
			return false;
		break;
	case TIME:
		if (!word_time(optarg, &value))
			return false;
		break;
	case SPEED:
		if (!word_speed(optarg, &value))
			return false;
		break;
	case FLAG:
		return !json_object_set_new(ask->args, choice->arg, json_true());
	case RANGE:
		return add_to_ranges(ask->args, optarg);
	case WIDTH:
		return word_width(optarg, &ask->width);
	case RAW:
		ask->raw = true;
		return true;
	case PATH:
		ask->file = optarg;
		return true;
	}
	set_number(ask->args, choice->arg, value);
	return true;
}

static bool is_of(const struct choice *choice, const struct ask *ask)
{
	return !strcmp(choice->verb, ask->verb->name);
}

/* Of a verb without options all words are arguments. False after a sentence was printed. */
static bool take_options(struct ask *ask, int argc, char **argv)
{
	struct option names[CHOICES + 1] = { 0 }, *name = names;
	char letters[2 * CHOICES + 1], *letter = letters;

	for (size_t i = 0; i < CHOICES; i++) {
		bool bare = choices[i].kind == FLAG || choices[i].kind == RAW;

		if (!is_of(&choices[i], ask))
			continue;
		letter += sprintf(letter, "%c%s", choices[i].letter, bare ? "" : ":");
		if (choices[i].name)
			*name++ = (struct option){ choices[i].name, !bare, NULL,
						   choices[i].letter };
	}
	optind = 1;
	if (letter == letters)
		return true;
	optind = 0;
	for (int found; (found = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
		size_t i = 0;

		while (i < CHOICES && (choices[i].letter != found || !is_of(&choices[i], ask)))
			i++;
		if (i == CHOICES || !take_choice(ask, &choices[i]))
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

static const struct client_verb verbs[] = {
	{ "read", "[-r] [-w WIDTH] RANGE",
	  "Print bytes of the memory. One address: a word of WIDTH bytes (4).\n"
	  "  -r  the bytes themselves instead of digits\n", 1, 1, "it needs a range",
	  .run = run_read },
	{ "write", "[-w WIDTH] ADDRESS VALUE | -f FILE ADDRESS",
	  "Store a word of WIDTH bytes (4), or what is in a file (- standard input).\n",
	  1, 2, "it needs an address and a value", .run = run_write,
	  .print = print_dark, .judge = complain_of_loss },
	{ "fill", "[-w WIDTH] RANGE VALUE", "Store the same word all over a range.\n",
	  2, 2, "it needs a range and a value", .run = run_fill,
	  .print = print_dark, .judge = complain_of_loss },
	{ "checksum", "[RANGE]", "Print the CRC-32C of the memory.\n", ONE_RANGE, .run = run_range,
	  .print = print_checksum },
	{ "watch", "[-n COUNT] [RANGE]", "Print updates by other nodes as they come.\n",
	  ONE_RANGE, .run = run_range, .event = print_update },
	{ "send", "NODE[,NODE]...|all TYPE [DATA]",
	  "Send a network interrupt; types 0 to 3, and 7.\n"
	  "To several nodes it is one frame.\n", 2, 3, "it needs a node and a type",
	  .run = run_send },
	{ "wait-interrupt", "[-n COUNT] [-t SECONDS]",
	  "Print the oldest interrupts that have come, and wait for them.\n",
	  NO_WORDS, .run = run_plain, .event = print_interrupt },
	{ "fence", "[-t SECONDS]",
	  "Wait until all stores so far are in every node's memory. Fails if they are not.\n",
	  NO_WORDS, .run = run_plain, .judge = judge_fence },
	{ "wait", "[-n MEMBERS] [-t SECONDS]",
	  "Wait until the node is on the ring, with at least so many other members.\n",
	  NO_WORDS, .run = run_wait },
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
	  .print = print_load },
	{ "record", "[-n FRAMES] [-t SECONDS] FILE [RANGE]...",
	  "Write updates of the ranges (all), and interrupts, to a pcapng file, until the\n"
	  "count, the time, or SIGINT.\n", 1, INT_MAX, "it needs a file", .run = run_record,
	  .event = print_nothing, .print = print_record, .judge = complain_of_loss },
	{ "replay", "[OPTION]... FILE",
	  "Store again what was recorded, in the same order with the same spacing.\n"
	  "  --speed N|max   so much faster\n"
	  "  --step          one frame for each line of standard input\n"
	  "  --as-node ID    as another node, which joins the ring for it\n"
	  "  --range RANGE   only updates there; may be given several times\n",
	  1, 1, "it needs a file", .run = run_replay, .event = print_step, .print = print_replay,
	  .judge = complain_of_loss },
	{ "stop", "", "End the member.\n", NO_WORDS, .run = run_plain },
};

void print_verbs(void)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		printf("  %s %s\n", verbs[i].name, verbs[i].synopsis);
}

static int run(struct ask *ask, int argc, char **argv)
{
	const struct client_verb *verb = ask->verb;
	int count;

	if (!take_options(ask, argc, argv))
		return STATUS_MISUSED;
	count = argc - optind;
	return count < verb->min || count > verb->max ? misused(ask, verb->words) :
							   verb->run(ask, count, argv + optind);
}

int run_verb(const char *socket, bool json, int argc, char **argv)
{
	struct ask ask = { .socket = socket, .json = json, .fd = -1, .width = 4 };
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
	ask.args = json_object();
	status = run(&ask, argc, argv);
	if (ask.fd >= 0)
		close(ask.fd);
	return ask.misused ? STATUS_MISUSED : status;
}
