// SPDX-License-Identifier: MIT
/*
 * jitter [--card CARD] [--period-us N] [--cycles N] [--regions FILE] [--in NAME]...
 *        [--out NAME]... [--csv]: how punctual is a loop here?
 *
 * Each cycle gets all inputs, and puts the number of the cycle into all outputs. At the end it
 * prints how late cycles began, as a histogram, and how many were missed; with --csv as
 * lines that gnuplot takes:
 *
 *	jitter --csv | gnuplot jitter.gnuplot > jitter.svg
 *
 * Exit status: 0, also if cycles were missed, which is said; 1 an error; 2 bad usage.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <rfm/cycle.h>
#include <rfm/io.h>
#include <rfm/rfm.h>

#include "words.h"

#define NAMES_MAX	64
#define BINS		32	/* bin i: less than 2^i us, and not less than half of that */
#define BAR		50	/* columns of the longest */

struct list {
	const char *names[NAMES_MAX];
	size_t count;
	struct rfm_io *io;
	double *reals;
};

static struct list inputs, outputs;
static const char *card;
static struct rfm_cycle cycle = { .period_ns = 1000000 };
static uint64_t cycles = 10000;
static bool csv;
static uint64_t bins[BINS];

static uint64_t number(const char *text, uint64_t max)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !value || value > max)
		errx(2, "'%s' is not a number from 1 to %llu", text, (unsigned long long)max);
	return value;
}

static void add(struct list *list, const char *name)
{
	if (list->count == NAMES_MAX)
		errx(2, "'%s' is one name too many", name);
	list->names[list->count++] = name;
}

static void read_options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "period-us", required_argument, NULL, 'p' },
		{ "cycles", required_argument, NULL, 'n' },
		{ "regions", required_argument, NULL, 'r' },
		{ "in", required_argument, NULL, 'i' },
		{ "out", required_argument, NULL, 'o' },
		{ "csv", no_argument, NULL, 's' },
		{ }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (option) {
		case 'c':
			card = optarg;
			break;
		case 'p':
			cycle.period_ns = number(optarg, 60000000) * 1000;
			break;
		case 'n':
			cycles = number(optarg, 1ull << 40);
			break;
		case 'r':
			setenv("RFM_REGIONS", optarg, 1);
			break;
		case 'i':
			add(&inputs, optarg);
			break;
		case 'o':
			add(&outputs, optarg);
			break;
		case 's':
			csv = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind < argc)
		errx(2, "'%s' is one word too many", argv[optind]);
}

static void complain(void *context, const struct rfm_regions_complaint *complaint)
{
	(void)context;
	errx(1, "%s:%u: %s", complaint->path, complaint->line, complaint->sentence);
}

static void open_list(struct list *list, struct rfm *rfm)
{
	if (!list->count)
		return;
	list->io = rfm_io_open(rfm, NULL, list->names, list->count, complain, NULL);
	if (list->io)
		list->reals = calloc(rfm_io_count(list->io), sizeof(*list->reals));
	if (!list->reals)
		err(1, "cannot use %s", list->names[0]);
}

static void one_cycle(void)
{
	if (inputs.io && rfm_io_get(inputs.io, inputs.reals))
		err(1, "cannot get %s", rfm_io_name(inputs.io, rfm_io_failed(inputs.io)));
	if (!outputs.io)
		return;
	for (size_t i = 0; i < rfm_io_count(outputs.io); i++)
		outputs.reals[i] = cycle.number;
	if (rfm_io_put(outputs.io, outputs.reals, 0) < 0)
		err(1, "cannot put %s", rfm_io_name(outputs.io, rfm_io_failed(outputs.io)));
}

static void count_lateness(void)
{
	unsigned int bin = 0;

	for (uint64_t us = cycle.late_ns / 1000; us && bin < BINS - 1; us /= 2)
		bin++;
	bins[bin]++;
}

static void print(uint64_t count, uint64_t latest_ns)
{
	uint64_t longest = 1;
	unsigned int last = 0;

	for (unsigned int i = 0; i < BINS; i++) {
		if (bins[i])
			last = i;
		if (bins[i] > longest)
			longest = bins[i];
	}
	printf(csv ? "less than us,cycles\n" : "late by less than     cycles\n");
	for (unsigned int i = 0; i <= last; i++) {
		if (csv)
			printf("%llu,%llu\n", 1ull << i, (unsigned long long)bins[i]);
		else
			printf("%14llu us %10llu%*s%.*s\n", 1ull << i, (unsigned long long)bins[i],
			       bins[i] ? 2 : 0, "",
			       (int)((bins[i] * BAR + longest - 1) / longest),
			       "##################################################");
	}
	fprintf(csv ? stderr : stdout, "%llu cycles, %llu missed, latest by %.1f us\n",
		(unsigned long long)count, (unsigned long long)cycle.missed, latest_ns / 1e3);
}

int main(int argc, char **argv)
{
	uint64_t count = 0, latest_ns = 0;
	struct rfm *rfm;

	read_options(argc, argv);
	words_catch_signals();
	rfm = rfm_open(card, outputs.count ? O_RDWR : O_RDONLY);
	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());
	open_list(&inputs, rfm);
	open_list(&outputs, rfm);
	while (!words_stop && count < cycles) {
		if (rfm_cycle_wait(&cycle, NULL)) {
			if (errno != EINTR)
				err(1, "cannot wait");
			continue;
		}
		one_cycle();
		count_lateness();
		if (cycle.late_ns > latest_ns)
			latest_ns = cycle.late_ns;
		count++;
	}
	print(count, latest_ns);
	rfm_io_close(inputs.io);
	rfm_io_close(outputs.io);
	free(inputs.reals);
	free(outputs.reals);
	rfm_close(rfm);
	return 0;
}
