// SPDX-License-Identifier: MIT
/* rmctl: look at, try and drive a reflective-memory card. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
#include "parse.h"
#include "rmctl.h"
#include "tools/librfm/rfm/regions.h"

#define NSEC_PER_MSEC 1000000u

static const struct option timeout_option[] = {
	{ "timeout", required_argument, NULL, 't' },
	{ 0 },
};

static const struct verb verbs[] = {
	{ "list", "", "the cards of this machine",
	  "Prints each card's device, PCI address, node id and memory size, whether its\n"
	  "receiver sees light (signal), and whether it is in step with it (sync).\n",
	  "", NULL, verb_list },
	{ "show", "DEV", "everything about one card: board, memory, link, what has happened",
	  "Prints what the card and its driver say about themselves: the board, the memory\n"
	  "and the part of it that can be mapped, the bits of LCSR1 by name, what the driver\n"
	  "has seen in LISR since it was bound, interrupts and sync losses.\n",
	  "", NULL, verb_show },
	{ "peek", "DEV OFFSET [COUNT] [-w WIDTH] | DEV NAME", "load values from the memory",
	  "Loads COUNT values (default 1) from OFFSET on and prints them, one a line. Each is\n"
	  "one load of WIDTH bytes; OFFSET must be a multiple of WIDTH. Loads cost no traffic.\n"
	  "Of a NAME such as pump or pump.pressure prints all values, in its types and units.\n"
	  "\n"
	  "  -w, --width=WIDTH  1, 2, 4 (default) or 8 bytes\n",
	  "w:", width_option, verb_peek },
	{ "poke", "DEV OFFSET VALUE... [-w WIDTH] | DEV NAME VALUE...",
	  "store values into the memory of every node",
	  "Stores each VALUE in turn, from OFFSET on. Each is one store of WIDTH bytes, and\n"
	  "goes to every node of the ring in this order; OFFSET must be a multiple of WIDTH.\n"
	  "A NAME takes as many as it has, in its types: 12.5, true, 'a text'.\n"
	  "Nothing is stored unless all values are good.\n"
	  "\n"
	  "  -w, --width=WIDTH  1, 2, 4 (default) or 8 bytes\n",
	  "w:", width_option, verb_poke },
	{ "dump", "DEV OFFSET LENGTH [--raw] | DEV RANGE [--raw]",
	  "a range of the memory as a hex dump",
	  "Prints LENGTH bytes from OFFSET on as 'hexdump -C' does; rows that repeat the one\n"
	  "before are a single '*'. RANGE is 0x1000-0x1fff, 0x1000+4K, or a NAME, whose values\n"
	  "are shown beside their bytes.\n"
	  "\n"
	  "      --raw          write the bytes themselves to standard output\n",
	  "", dump_options, verb_dump },
	{ "send", "DEV NODE|all TYPE [DATA]", "send a network interrupt to one node or all others",
	  "TYPE is 1 to 4 (or int1 to int4), or reset, which carries no DATA. DATA is 32 bits,\n"
	  "0 if not given. The interrupt travels behind every store made before it. Success\n"
	  "means that it is queued, not that anybody has received it.\n",
	  "", NULL, verb_send },
	{ "listen", "DEV [TYPE...] [-n COUNT] [-t SECONDS] [--discard]",
	  "print events as they come: interrupts, sync loss, ...",
	  "Prints 'time type from data' for each event of these types, until interrupted:\n"
	  "  reset int1 int2 int3 int4 sync-loss bad-data tx-full rx-full rx-almost-full rogue\n"
	  "  write-inhibited parity all (default: all)\n"
	  "and, on a card with the extension block, conflict signal break membership loss.\n"
	  "Says 'listening on DEV ...' on standard error once nothing can be missed any more.\n"
	  "Interrupts that came while nobody listened for their type are printed first.\n"
	  "\n"
	  "  -n, --count=COUNT  end after COUNT events\n"
	  "  -t, --timeout=SECONDS\n"
	  "                     end after this time; status 1 if -n has not been reached\n"
	  "      --discard      throw away the interrupts that waited in the card\n"
	  "      --depth=N      events that wait in the driver while this program is busy,\n"
	  "                     1 to 65536 (default 256)\n",
	  "n:t:", listen_options, verb_listen },
	{ "test", "DEV [-t SECONDS]", "is the ring closed? sends a packet and waits for it",
	  "Sends a packet that no node reacts to, and prints how long it took to come back.\n"
	  "Status 1 if it did not.\n"
	  "\n"
	  "  -t, --timeout=SECONDS\n"
	  "                     how long to wait, at most 10 (default 0.5)\n",
	  "t:", timeout_option, verb_test },
	{ "fence", "DEV [-t SECONDS]", "has everything stored so far arrived at every node?",
	  "Waits until everything that this machine has stored is in the memory of every node,\n"
	  "and prints how long that took. Status 1 if it is not, and why.\n"
	  "\n"
	  "  -t, --timeout=SECONDS\n"
	  "                     how long to wait, at most 60 (default 1)\n",
	  "t:", timeout_option, verb_fence },
	{ "map", "DEV", "who is on the ring, how far away, how long its frames take",
	  "Prints a row for each node, in the order in which their frames come here: links from\n"
	  "there to here, the time its last frame took, frames taken from it, and frames of it\n"
	  "that never arrived.\n",
	  "", NULL, verb_map },
	{ "counters", "DEV", "what the card has counted, all of one instant",
	  "Prints a line 'name value' for each counter; rmctl(1) says what they count.\n",
	  "", NULL, verb_counters },
	{ "writer", "DEV OFFSET|NAME", "who wrote there last?",
	  "Prints the node that was the last to write into the 64 bytes around OFFSET, the number\n"
	  "of its frame, and how long ago; of a NAME, for each 64 bytes that it lies in.\n",
	  "", NULL, verb_writer },
	{ "switches", "DEV [NAME=VALUE...]", "see or set LED, transmitter, loopback, window, ...",
	  "Without NAME=VALUE prints all switches, else sets these, all or none:\n"
	  "  led transmit loopback dark-on-dark parity byte-swap   on or off\n"
	  "  own-data                                              off\n"
	  "  window          where the window begins, a multiple of its size\n"
	  "  offset          added to the address of own updates: 0, 64M, 128M or 192M\n",
	  "", NULL, verb_switches },
	{ "regions", "check|export|import [FILE] [--to|--from FORMAT]",
	  "check or convert the file that says what names mean",
	  "  check [FILE] [--memory SIZE]       all that is wrong with it; status 1 if anything is\n"
	  "  export [FILE] --to csv|json|header to standard output\n"
	  "  import FILE --from csv|json        as a file of regions to standard output\n"
	  "FILE is what -R names if it is not given; rfm-regions(5) describes it.\n"
	  "\n"
	  "      --memory=SIZE  bytes of the memory, in place of what the file says\n"
	  "      --prefix=NAME  what the names in the header begin with (default: FILE's name)\n",
	  "", regions_options, verb_regions },
};

#define VERBS (sizeof(verbs) / sizeof(*verbs))

/* The first COMMON may stand behind the verb too. */
#define COMMON 3

static const struct option common_options[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "regions", required_argument, NULL, 'R' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static void print_help(void)
{
	puts("usage: rmctl [-j] VERB ARGUMENT...\n"
	     "\n"
	     "Looks at, tries and drives a reflective-memory card (5565).\n");
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].brief);
	puts("\n"
	     "  -j, --json     print JSON: one object (list: an array), or one a line (listen)\n"
	     "  -R, --regions=FILE  says what names mean; default: what $RFM_REGIONS names\n"
	     "  -h, --help     this help; 'rmctl VERB --help' says more; -V, --version: the version\n"
	     "DEV is rfm0, /dev/rfm0 or a PCI address. Numbers: 42, 0x2a, 4K (1024), 1M (1048576).\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage. Manual pages: rmctl(1), rfm(4).");
}

static void print_verb_help(const struct verb *verb)
{
	printf("usage: rmctl [-j] %s%s%s\n\n%s", verb->name, *verb->synopsis ? " " : "",
	       verb->synopsis, verb->help);
}

/**
 * next_option - next option of the running verb
 * @cmd: the command; -j and -R are noted in it
 * @argc: of the verb, its name first
 * @argv: see there
 *
 * Options may stand anywhere. Returns the option as getopt_long() does, -1
 * after the last, or '?' when it has said what is wrong. Ends the program
 * after --help.
 */
int next_option(struct command *cmd, int argc, char **argv)
{
	struct option longopts[VERB_OPTIONS_MAX + COMMON] = { { 0 } };
	char shortopts[VERB_OPTIONS_MAX * 2 + 6];
	int option, at;

	memcpy(longopts, common_options, COMMON * sizeof(*longopts));
	for (size_t i = 0; cmd->verb->longopts && cmd->verb->longopts[i].name; i++)
		longopts[i + COMMON] = cmd->verb->longopts[i];
	snprintf(shortopts, sizeof(shortopts), ":jhR:%s", cmd->verb->shortopts);
	opterr = 0;
	for (;;) {
		at = optind;
		option = getopt_long(argc, argv, shortopts, longopts, NULL);
		switch (option) {
		case 'j':
			cmd->json = true;
			break;
		case 'h':
			print_verb_help(cmd->verb);
			exit(out_flush(cmd));
		case 'R':
			cmd->regions_path = optarg;
			break;
		case ':':
			misused(cmd, "option '%s' needs an argument", argv[optind - 1]);
			return '?';
		case '?':
			if (optopt >= '0' && optopt <= '9')
				misused(cmd, "unknown option '-%c', and numbers cannot be negative",
					optopt);
			else if (optopt && optopt < 128)
				misused(cmd, "unknown option '-%c'", optopt);
			else
				misused(cmd, "unknown option '%s'",
					argv[optind > at ? optind - 1 : at]);
			return '?';
		default:
			return option;
		}
	}
}

/*
 * Checks how many operands there are; optind is the first, and names the card
 * in the messages to come. Returns an exit status.
 */
int check_operands(struct command *cmd, int argc, char **argv, int least, int most)
{
	int count = argc - optind;

	if (count < least)
		return misused(cmd, "too few arguments, it needs: %s", cmd->verb->synopsis);
	if (count > most)
		return misused(cmd, "too many arguments, it takes: %s",
			       *cmd->verb->synopsis ? cmd->verb->synopsis : "none");
	if (least)
		cmd->card = argv[optind];
	return STATUS_OK;
}

/**
 * get_number - read a number from the command line
 * @cmd: the command, for the message
 * @what: what the number is, for the message
 * @text: the word
 * @max: largest value accepted
 * @value: set on success only
 *
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

/* Reads the only option, -t SECONDS, or leaves @milliseconds. Returns an exit status. */
int get_timeout(struct command *cmd, int argc, char **argv, uint32_t max_ms,
		uint32_t *milliseconds)
{
	uint64_t time;

	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 't')
			return STATUS_MISUSED;
		if (parse_seconds(optarg, &time))
			return misused(cmd, "'%s' is not a number of seconds", optarg);
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
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(name, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* Reads the options before the verb; optind is the verb then. Returns an exit status. */
static int global_options(struct command *cmd, int argc, char **argv)
{
	opterr = 0;
	for (int option; (option = getopt_long(argc, argv, "+:jhR:V", common_options, NULL)) != -1;) {
		switch (option) {
		case 'j':
			cmd->json = true;
			break;
		case 'h':
			print_help();
			exit(out_flush(cmd));
		case 'V':
			puts("rmctl " RMCTL_VERSION);
			exit(out_flush(cmd));
		case 'R':
			cmd->regions_path = optarg;
			break;
		case ':':
			return misused(cmd, "option '%s' needs an argument", argv[optind - 1]);
		default:
			return misused(cmd, "unknown option '%s'", argv[optind - 1]);
		}
	}
	return optind < argc ? STATUS_OK : misused(cmd, "say what to do");
}

int main(int argc, char **argv)
{
	struct command cmd = { .verb = NULL };
	int first, status;

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
