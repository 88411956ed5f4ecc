/* SPDX-License-Identifier: MIT */
/*
 * A control loop over three nodes: what its programs share.
 *
 *	plant.c		a water tank with a valve; owns the state
 *	controller.c	holds its level, by control.h; owns the output
 *	display.c	shows it; owns nothing
 *	wrongwriter.c	has a place of its own, and a bug
 *
 * Rule of the shared area: each byte has one writer. What has different writers lies
 * in different granules of 64 bytes, so that each can be owned and subscribed alone. Where
 * that is, the file loop.yaml says; layout.h reads it.
 */
#ifndef LOOP_H
#define LOOP_H

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rfm/rfm.h>

#define MS		1000000ull		/* in ns */

/* The plant computes and publishes so often. */
#define LOOP_PERIOD_NS	(10 * MS)
/* No output for so long: it is stale. Ten outputs are missing then. */
#define LOOP_SILENCE_NS	(100 * MS)
/*
 * And so long after that the plant must be safe: one period until the plant looks,
 * the rest for a machine that has other things to do.
 */
#define LOOP_MARGIN_NS	(50 * MS)

enum loop_mode {
	LOOP_WAITING,		/* safe: there has been no controller yet */
	LOOP_RUNNING,
	LOOP_SAFE,		/* safe: the output is stale */
	LOOP_STOPPED,		/* safe: the plant has ended */
};

/* What the plant says, a record: all of one step, or nothing. */
struct loop_state {
	double level;		/* m */
	double valve;		/* 0 shut .. 1 open, as it is */
	double setpoint;	/* m, as the controller gave it */
	uint64_t step;		/* counts periods */
	uint64_t mode;		/* enum loop_mode */
};

/* What the controller says, a record. */
struct loop_output {
	double valve;		/* as it should be */
	double setpoint;	/* m */
	uint64_t answers;	/* the step from whose state it was computed */
};

struct loop_options {
	const char *card;	/* NULL: the first */
	double seconds;		/* 0: until a signal */
	double silence_ms, margin_ms;
	double setpoint;
	unsigned long count;
	bool json;
};

#define LOOP_DEFAULTS	{ .silence_ms = LOOP_SILENCE_NS / 1e6, .margin_ms = LOOP_MARGIN_NS / 1e6, \
			  .setpoint = 1.0, .count = 100 }

static volatile sig_atomic_t loop_stop;

static inline void loop_on_signal(int signo)
{
	(void)signo;
	loop_stop = 1;
}

static inline double loop_number(const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= min && value <= max))
		errx(2, "'%s' is not a number from %g to %g", text, min, max);
	return value;
}

/* Reads the command line, and lets SIGINT and SIGTERM end the loop. Bad usage: exit 2. */
static inline void loop_begin(int argc, char **argv, struct loop_options *options)
{
	static const struct option names[] = {
		{ "card", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 's' },
		{ "silence-ms", required_argument, NULL, 'q' },
		{ "margin-ms", required_argument, NULL, 'm' },
		{ "setpoint", required_argument, NULL, 'p' },
		{ "count", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, 'j' },
		{ }
	};
	struct sigaction action = { .sa_handler = loop_on_signal };
	int option;

	while ((option = getopt_long(argc, argv, "c:s:q:m:p:n:j", names, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->card = optarg;
			break;
		case 's':
			options->seconds = loop_number(optarg, 0, 1e6);
			break;
		case 'q':
			options->silence_ms = loop_number(optarg, 1, 3600000);
			break;
		case 'm':
			options->margin_ms = loop_number(optarg, 1, 3600000);
			break;
		case 'p':
			options->setpoint = loop_number(optarg, 0, 2);
			break;
		case 'n':
			options->count = loop_number(optarg, 1, 1e9);
			break;
		case 'j':
			options->json = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind < argc)
		errx(2, "'%s' is one word too many", argv[optind]);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static inline struct rfm *loop_open(const struct loop_options *options, int flags)
{
	struct rfm *rfm = rfm_open(options->card, flags);

	if (!rfm)
		errx(1, "cannot open the card: %s", rfm_error());
	return rfm;
}

/* CLOCK_MONOTONIC, the clock of rfm_event.time_ns. */
static inline uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Is the time of --seconds over, or did a signal come? */
static inline bool loop_over(const struct loop_options *options, uint64_t start)
{
	return loop_stop || (options->seconds && loop_now() - start >= options->seconds * 1e9);
}

/*
 * Watches a record: UPDATE for each write, when the whole record is there, and STALE when
 * no write has come for the time of --silence-ms. Only UPDATE says that the writer lives;
 * to take any other record for one would keep a dead writer alive.
 */
static inline struct rfm_events *loop_watch(struct rfm *rfm, const struct loop_options *options,
					    uint64_t place, size_t size)
{
	struct rfm_range range = { .offset = place + RFM_RECORD_END(size), .length = 8 };
	struct rfm_events *events;
	struct rfm_watch watch;

	rfm_watch_init(&watch, &range, 1);
	watch.silence_ns = options->silence_ms * 1e6;
	events = rfm_watch_with(rfm, &watch);
	if (!events)
		err(1, "cannot watch");
	return events;
}

#endif
