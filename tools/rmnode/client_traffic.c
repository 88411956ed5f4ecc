// SPDX-License-Identifier: MIT
/* Command line: load, record, replay. */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"

#define RANGES_MAX	64

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

const struct option load_options[] = {
	{ "count",	required_argument, NULL, 'n' },
	{ "seconds",	required_argument, NULL, 't' },
	{ "size",	required_argument, NULL, 's' },
	{ "stride",	required_argument, NULL, 'd' },
	{ "rate",	required_argument, NULL, 'r' },
	{ "own",	required_argument, NULL, 'o' },
	{ "seed",	required_argument, NULL, 'S' },
	{ "value",	required_argument, NULL, 'v' },
	{ "random",	no_argument,	   NULL, 'R' },
	{ NULL, 0, NULL, 0 },
};

static const struct {
	int option;
	const char *what, *name;
	uint64_t least, most;
} load_numbers[] = {
	{ 'n', "the count",	"count",	1, INT64_MAX },
	{ 's', "the size",	"size",		1, 64 },
	{ 'd', "the stride",	"stride",	1, 1 << 20 },
	{ 'r', "the rate",	"rate",		1, 1000000000 },
	{ 'o', "the number of parts", "parts",	1, RFMRING_NODES },
	{ 'S', "the seed",	"seed",		1, INT64_MAX },
	{ 'v', "the first value", "value",	0, INT64_MAX },
};

static bool load_option(json_t *args, int option)
{
	uint64_t value;

	if (option == 'R')
		return !json_object_set_new(args, "random", json_true());
	if (option == 't') {
		if (!word_seconds("the time", optarg, &value))
			return false;
		set_number(args, "milliseconds", value);
		return true;
	}
	for (size_t i = 0; i < sizeof(load_numbers) / sizeof(*load_numbers); i++) {
		if (load_numbers[i].option != option)
			continue;
		if (!word_number(load_numbers[i].what, optarg, load_numbers[i].least,
				 load_numbers[i].most, &value))
			return false;
		set_number(args, load_numbers[i].name, value);
		return true;
	}
	return false;
}

int verb_load_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object(), *result;
	double seconds;

	for (int option; (option = getopt_long(argc, argv, ask->verb->options, load_options,
					       NULL)) != -1;)
		if (!load_option(args, option))
			return STATUS_MISUSED;
	if (argc - optind > 1)
		return misused(ask, "it takes one range");
	if (argc > optind && !add_range(args, argv[optind]))
		return STATUS_MISUSED;
	result = ask_for(ask, "load", args);
	if (!result)
		return 1;
	seconds = number_in(result, "nanoseconds") / 1e9;
	if (ask->json)
		print_json(result);
	else
		printf("%" PRIu64 " stores, %" PRIu64 " dropped, %" PRIu64 " bytes in %.3f s, "
		       "%.3f MB/s\n", number_in(result, "stores"), number_in(result, "dropped"),
		       number_in(result, "bytes"), seconds,
		       number_in(result, "bytes") / seconds / 1e6);
	tell_dark(ask, result);
	json_decref(result);
	return 0;
}

/* The member may run in another folder. */
static bool add_path(json_t *args, const char *path)
{
	char *folder = *path == '/' ? NULL : getcwd(NULL, 0);
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
	free(folder);
	if (!json_object_set_new(args, "file", json_string(whole)))
		return true;
	complain("the file name is not UTF-8");
	return false;
}

static bool add_ranges(json_t *args, char **words, int count)
{
	json_t *ranges = json_array();

	for (int i = 0; i < count; i++) {
		uint64_t first, last;

		if (!word_range(words[i], &first, &last))
			return false;
		json_array_append_new(ranges, json_pack("[I, I]", (json_int_t)first,
							(json_int_t)last));
	}
	json_object_set_new(args, "ranges", ranges);
	return true;
}

static void print_begun(const struct ask *ask, json_t *event)
{
}

/* From here on signals come inside of ppoll() only, so that none is overlooked before it. */
static void hold_signals(sigset_t *before)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, before);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Until a signal, or until the member ends it. */
static json_t *await_end(struct ask *ask)
{
	struct pollfd poll_fd = { .fd = control_fd(ask->client), .events = POLLIN };
	char error[CONTROL_SENTENCE];
	sigset_t before;
	json_t *object;

	/* Begun when the first event is there; a signal before that ends the program. */
	if (control_receive(ask->client, &object, error) != CONTROL_EVENT) {
		if (!object)
			complain("%s", error);
		return object;
	}
	hold_signals(&before);
	print_event(ask, object);
	while (!interrupted && !control_pending(ask->client) &&
	       ppoll(&poll_fd, 1, NULL, &before) < 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (interrupted && control_send_more(ask->client, json_object(), error)) {
		complain("%s", error);
		return NULL;
	}
	return await(ask);
}

int verb_record_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object(), *result = NULL;
	char error[CONTROL_SENTENCE];
	uint64_t value;
	int status;

	for (int option; (option = getopt(argc, argv, "n:t:")) != -1;) {
		if (option == 'n' && word_number("the count", optarg, 1, INT64_MAX, &value))
			set_number(args, "count", value);
		else if (option == 't' && word_seconds("the time", optarg, &value))
			set_number(args, "milliseconds", value);
		else
			return STATUS_MISUSED;
	}
	if (argc - optind < 1 || argc - optind > RANGES_MAX)
		return misused(ask, "it needs a file");
	if (!add_path(args, argv[optind]) ||
	    !add_ranges(args, argv + optind + 1, argc - optind - 1))
		return STATUS_MISUSED;
	if (!connect_once(ask))
		return 1;
	ask->print = print_begun;
	if (control_send(ask->client, "record", args, error))
		return complain("%s", error);
	result = await_end(ask);
	if (!result)
		return 1;
	if (ask->json)
		print_json(result);
	else
		printf("%" PRIu64 " frames recorded, %" PRIu64 " lost\n",
		       number_in(result, "frames"), number_in(result, "lost"));
	status = complain_of_loss(result);
	json_decref(result);
	return status;
}

const struct option replay_options[] = {
	{ "speed",	required_argument, NULL, 's' },
	{ "as-node",	required_argument, NULL, 'a' },
	{ "range",	required_argument, NULL, 'r' },
	{ "step",	no_argument,	   NULL, 'p' },
	{ NULL, 0, NULL, 0 },
};

static void print_step(const struct ask *ask, json_t *event)
{
	printf("%.9f %s from %" PRIu64 " at 0x%08" PRIx64 " %s\n",
	       number_in(event, "after_ns") / 1e9,
	       json_string_value(json_object_get(event, "type")), number_in(event, "source"),
	       number_in(event, "offset"), json_string_value(json_object_get(event, "data")));
}

static bool word_speed(const char *text, uint64_t *thousandths)
{
	char *end;
	double speed = strtod(text, &end);

	*thousandths = 0;
	if (!strcmp(text, "max"))
		return true;
	if (end == text || *end || !(speed >= 0.001) || speed > 1000000) {
		complain("the speed '%s' is neither max nor a number from 0.001 to 1000000", text);
		return false;
	}
	*thousandths = speed * 1000;
	return true;
}

/* Pass one key of the user's on. False at the end of his input. */
static bool pass_key(struct ask *ask, unsigned int *steps)
{
	char error[CONTROL_SENTENCE], key;

	if (read(STDIN_FILENO, &key, 1) != 1)
		return false;
	if (key != '\n')
		return true;
	++*steps;
	if (!control_send_more(ask->client, json_object(), error))
		return true;
	complain("%s", error);
	return false;
}

/* A line of the user's is a step; the end of his input, when all are done, is the end. */
static json_t *await_steps(struct ask *ask)
{
	struct pollfd fds[] = {
		{ .fd = control_fd(ask->client), .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};
	char error[CONTROL_SENTENCE];
	unsigned int steps = 0, done = 0;
	json_t *object;

	while (fds[1].fd >= 0 || done < steps) {
		bool pending = control_pending(ask->client);

		if (!pending && poll(fds, 2, -1) < 0)
			continue;
		if (pending || fds[0].revents) {
			enum control_answer answer = control_receive(ask->client, &object, error);

			if (answer == CONTROL_ERROR)
				complain("%s", error);
			if (answer != CONTROL_EVENT)
				return object;
			print_event(ask, object);
			done++;
		} else if (fds[1].revents && !pass_key(ask, &steps)) {
			fds[1].fd = -1;
		}
	}
	return json_object();
}

static int print_replay(struct ask *ask, json_t *result)
{
	int status;

	if (!result)
		return 1;
	if (ask->json)
		print_json(result);
	else if (json_object_size(result))
		printf("%" PRIu64 " frames replayed in %.3f s, %" PRIu64 " of them interrupts; %"
		       PRIu64 " skipped, %" PRIu64 " dropped\n", number_in(result, "frames"),
		       number_in(result, "nanoseconds") / 1e9, number_in(result, "interrupts"),
		       number_in(result, "skipped"), number_in(result, "dropped"));
	tell_dark(ask, result);
	status = complain_of_loss(result);
	json_decref(result);
	return status;
}

int verb_replay_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object();
	char *ranges[RANGES_MAX], error[CONTROL_SENTENCE];
	bool stepwise = false;
	int range_count = 0;
	uint64_t value;

	for (int option; (option = getopt_long(argc, argv, ask->verb->options, replay_options,
					       NULL)) != -1;) {
		if (option == 's' && word_speed(optarg, &value))
			set_number(args, "speed", value);
		else if (option == 'a' && word_number("the node", optarg, 0, 255, &value))
			set_number(args, "as", value);
		else if (option == 'r' && range_count < RANGES_MAX)
			ranges[range_count++] = optarg;
		else if (option == 'p')
			stepwise = !json_object_set_new(args, "step", json_true());
		else
			return STATUS_MISUSED;
	}
	if (argc - optind != 1)
		return misused(ask, "it needs a file");
	if (!add_path(args, argv[optind]) || !add_ranges(args, ranges, range_count))
		return STATUS_MISUSED;
	if (!connect_once(ask))
		return 1;
	ask->print = print_step;
	if (control_send(ask->client, "replay", args, error))
		return complain("%s", error);
	return print_replay(ask, stepwise ? await_steps(ask) : await(ask));
}

