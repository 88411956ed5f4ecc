// SPDX-License-Identifier: MIT
/* rmctl: look at, try and drive a reflective-memory card. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cards.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/librfm/rfm/regions.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/rmctl.h"

/* The first COMMON may stand behind the verb too. */
#define COMMON 3

static const struct option common_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "regions", required_argument, NULL, 'R' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

/* All that verbs have: each of them those that its row names. */
static const struct option verb_options[] = {
	{ "absolute", no_argument, NULL, OPTION_ABSOLUTE },
	{ "changed", no_argument, NULL, OPTION_CHANGED },
	{ "count", required_argument, NULL, 'n' },
	{ "deadline", required_argument, NULL, OPTION_DEADLINE },
	{ "depth", required_argument, NULL, OPTION_DEPTH },
	{ "discard", no_argument, NULL, OPTION_DISCARD },
	{ "equal", required_argument, NULL, OPTION_EQUAL },
	{ "exec", required_argument, NULL, OPTION_EXEC },
	{ "file", required_argument, NULL, 'f' },
	{ "from", required_argument, NULL, OPTION_FROM },
	{ "interval", required_argument, NULL, 'i' },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "not-equal", required_argument, NULL, OPTION_NOT_EQUAL },
	{ "own", no_argument, NULL, OPTION_OWN },
	{ "prefix", required_argument, NULL, OPTION_PREFIX },
	{ "raw", no_argument, NULL, OPTION_RAW },
	{ "base", no_argument, NULL, OPTION_BASE },
	{ "as-is", no_argument, NULL, OPTION_AS_IS },
	{ "reset", no_argument, NULL, OPTION_RESET },
	{ "rx", no_argument, NULL, OPTION_RX },
	{ "silence", required_argument, NULL, OPTION_SILENCE },
	{ "timeout", required_argument, NULL, 't' },
	{ "to", required_argument, NULL, OPTION_TO },
	{ "tx", no_argument, NULL, OPTION_TX },
	{ "while", required_argument, NULL, OPTION_WHILE },
	{ "width", required_argument, NULL, 'w' },
	{ "yes", no_argument, NULL, 'y' },
};

#define VERB_OPTIONS (sizeof(verb_options) / sizeof(*verb_options))

/* Is it one of the words of the verb's row? */
static bool has_option(const struct verb *verb, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = verb->options; (at = strstr(at, name)); at += length)
		if ((at == verb->options || at[-1] == ' ') && strchr(" ", at[length]))
			return true;
	return false;
}

/*
 * Says why getopt_long() has returned @option. Of several letters in one word it is the one; @at:
 * optind before the word was looked at.
 */
static int bad_option(struct command *cmd, char **argv, int option, int at)
{
	if (option == ':')
		return misused(cmd, "option '%s' needs an argument", argv[optind - 1]);
	if (optopt >= '0' && optopt <= '9')
		return misused(cmd, "unknown option '-%c', and numbers cannot be negative", optopt);
	if (optopt > 0 && optopt < 128)
		return misused(cmd, "unknown option '-%c'", optopt);
	return misused(cmd, "unknown option '%s'", argv[optind > at ? optind - 1 : at]);
}

/* Takes -j and -R, which may stand before the verb and behind it. */
static bool take_common(struct command *cmd, int option)
{
	if (option == 'j')
		cmd->json = true;
	else if (option == 'R')
		cmd->regions_path = optarg;
	return option == 'j' || option == 'R';
}

/*
 * The next option of the running verb, whose name is the first of @argv; they may stand anywhere,
 * and -j and -R are noted in @cmd. Returns the option as getopt_long() does, -1 after the last, or
 * '?' when it has said what is wrong. Ends the program after --help.
 */
int next_option(struct command *cmd, int argc, char **argv)
{
	struct option longopts[VERB_OPTIONS + COMMON + 1] = { { 0 } };
	char shortopts[2 * VERB_OPTIONS + 6] = ":jhR:";
	size_t count = COMMON, length = strlen(shortopts);
	int option, at;

	memcpy(longopts, common_options, COMMON * sizeof(*longopts));
	for (size_t i = 0; i < VERB_OPTIONS; i++) {
		if (!has_option(cmd->verb, verb_options[i].name))
			continue;
		longopts[count++] = verb_options[i];
		if (verb_options[i].val >= OPTION_RESET)
			continue;
		shortopts[length++] = (char)verb_options[i].val;
		if (verb_options[i].has_arg)
			shortopts[length++] = ':';
	}
	opterr = 0;
	do {
		at = optind;
		option = getopt_long(argc, argv, shortopts, longopts, NULL);
	} while (take_common(cmd, option));
	if (option == 'h') {
		printf("usage: rmctl [-j] %s%s%s\n\n%s", cmd->verb->name,
		       *cmd->verb->synopsis ? " " : "", cmd->verb->synopsis, cmd->verb->help);
		exit(out_flush(cmd));
	}
	if (option != ':' && option != '?')
		return option;
	bad_option(cmd, argv, option, at);
	return '?';
}

/*
 * Checks how many operands there are; optind is the first, and names the card
 * in the messages to come. Returns an exit status.
 */
int check_operands(struct command *cmd, int argc, char **argv, int min, int max)
{
	int count = argc - optind;

	if (count < min)
		return misused(cmd, "too few arguments, it needs: %s", cmd->verb->synopsis);
	if (count > max)
		return misused(cmd, "too many arguments, it takes: %s",
			       *cmd->verb->synopsis ? cmd->verb->synopsis : "none");
	if (min)
		cmd->card = argv[optind];
	return STATUS_OK;
}

/*
 * Reads a number of at most @max; @what it is, for the message. @value is set on success only.
 * Returns an exit status; what is wrong has been said.
 */
int get_number(struct command *cmd, const char *what, const char *text, uint64_t max,
	       uint64_t *value)
{
	switch (parse_number(text, max, value)) {
	case PARSE_OK:
		return STATUS_OK;
	case PARSE_EMPTY:
		return misused(cmd, "the %s is empty", what);
	case PARSE_NEGATIVE:
		return misused(cmd, "%s '%s' is negative", what, text);
	case PARSE_TOO_LARGE:
		return misused(cmd, "%s '%s' is too large, at most 0x%llx fits", what, text,
			       (unsigned long long)max);
	default:
		return misused(cmd, "%s '%s' is not a number", what, text);
	}
}

/* Reads a time such as 0.5 or 20ms. Returns an exit status. */
int get_duration(struct command *cmd, const char *what, const char *text, uint64_t *nanoseconds)
{
	if (parse_duration(text, nanoseconds))
		return misused(cmd, "%s '%s' is no time such as 0.5, 20ms or 100us", what, text);
	return STATUS_OK;
}

/* Reads the only option, -t TIME, or leaves @milliseconds. Returns an exit status. */
int get_timeout(struct command *cmd, int argc, char **argv, uint32_t max_ms, uint32_t *milliseconds)
{
	uint64_t time;

	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 't')
			return STATUS_MISUSED;
		if (get_duration(cmd, "time", optarg, &time))
			return STATUS_MISUSED;
		time = (time + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC;
		if (!time || time > max_ms)
			return misused(cmd, "the time must be above 0 and at most %u s",
				       max_ms / 1000);
		*milliseconds = (uint32_t)time;
	}
	return STATUS_OK;
}

static const struct verb *find_verb(const char *name)
{
	const struct verb *verb = verbs;

	while (verb->name && strcmp(name, verb->name))
		verb++;
	return verb->name ? verb : NULL;
}

/* Reads the options before the verb; optind is the verb then. Returns an exit status. */
static int global_options(struct command *cmd, int argc, char **argv)
{
	int option, at;

	opterr = 0;
	do {
		at = optind;
		option = getopt_long(argc, argv, "+:jhR:V", common_options, NULL);
	} while (take_common(cmd, option));
	switch (option) {
	case -1:
		return optind < argc ? STATUS_OK : misused(cmd, "say what to do");
	case 'h':
		fputs(verbs_help, stdout);
		exit(out_flush(cmd));
	case 'V':
		puts("rmctl " PROGRAM_VERSION);
		exit(out_flush(cmd));
	default:
		return bad_option(cmd, argv, option, at);
	}
}

int main(int argc, char **argv)
{
	struct command cmd = { .verb = NULL };
	int first, status;

	cards_are_themselves();
	status = global_options(&cmd, argc, argv);
	if (status)
		return status;
	first = optind;
	cmd.verb = find_verb(argv[first]);
	if (!cmd.verb)
		return misused(&cmd, "there is no verb '%s'", argv[first]);
	/* Options are read before operands, and their messages name the card too. */
	if (*cmd.verb->synopsis && first + 1 < argc && *argv[first + 1] != '-')
		cmd.card = argv[first + 1];
	/* 0 restarts getopt, permutation included; its argv[0] is the verb. */
	optind = 0;
	status = cmd.verb->run(&cmd, argc - first, argv + first);
	rfm_regions_free(cmd.regions);
	return out_flush(&cmd) ? STATUS_FAILED : status;
}
