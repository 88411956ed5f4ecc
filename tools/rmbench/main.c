// SPDX-License-Identifier: MIT
/* rmbench: the command line. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "machines.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"

#define SECONDS_DEFAULT	20.0
#define SECONDS_MIN	1
#define SECONDS_MAX	3600

static const char usage[] =
	"usage: rmbench [-j] [-s SECONDS] ring|growth|queue|pair|handoff|tls|remote\n"
	"       rmbench [-j] [-s SECONDS] [-o FIGURE,...] card DEVICE OFFSET [NODE]\n"
	"       rmbench [-j] [-s SECONDS] [-o FIGURE,...] net ADDRESS PORT\n"
	"       rmbench answer DEVICE OFFSET | ADDRESS PORT\n"
	"\n"
	"Measures what a ring of processes costs on this machine, or a card, or the way to\n"
	"another machine, beside bare figures.\n"
	"\n"
	"  ring                   rings of processes: all measurements\n"
	"  growth                 of these what grows with the ring: hops, and saturated nodes\n"
	"  queue                  the bare shared-memory queue only\n"
	"  pair                   of these and of two saturated nodes, 64 bytes only\n"
	"  handoff                two processes that wake each other, without a ring\n"
	"  tls                    links over TCP, without TLS and with it\n"
	"  remote                 operations at one node, of two\n"
	"  card                   loads, stores, blocks and fences; with NODE the way there:\n"
	"                         2 MiB at OFFSET are written to\n"
	"  net                    datagrams and TCP to ADDRESS\n"
	"  answer                 be the other end, on NODE or at ADDRESS, until it is killed\n"
	"  -j, --json             print JSON instead of a table\n"
	"  -s, --seconds SECONDS  time for all measurements together, 1 to 3600; default 20\n"
	"  -o, --only FIGURE,...  only these of card or net, by their names in the JSON\n"
	"  -h, --help             print this\n";

static double parse_seconds(const char *text)
{
	uint64_t ns;

	if (parse_duration(text, &ns) || ns < SECONDS_MIN * NSEC_PER_SEC ||
	    ns > SECONDS_MAX * NSEC_PER_SEC) {
		fputs("rmbench: the time must be 1 to 3600 seconds\n", stderr);
		exit(2);
	}
	return (double)ns / 1e9;
}

/* Sets where the words begin; returns the exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, struct bench_options *options)
{
	static const struct option known[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "seconds", required_argument, NULL, 's' },
		{ "only", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "js:o:h", known, NULL)) != -1) {
		switch (option) {
		case 'j':
			options->json = true;
			break;
		case 's':
			options->seconds = parse_seconds(optarg);
			break;
		case 'o':
			options->only = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct bench_options options = { .seconds = SECONDS_DEFAULT };
	int status = parse_options(argc, argv, &options);

	if (status < 0)
		status = bench_between(&options, argc - optind, argv + optind);
	if (status < 0 && bench_processes)
		status = bench_processes(&options, argc - optind, argv + optind);
	if (status < 0) {
		fputs(usage, stderr);
		status = 2;
	}
	return status;
}
