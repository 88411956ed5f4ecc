/* SPDX-License-Identifier: MIT */
/* Many times of the same thing: what is kept of them, and how it is shown. */
#ifndef RMBENCH_SAMPLES_H
#define RMBENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define SAMPLES_KEPT	8192		/* of any number; any is as likely to be kept as any other */
#define QUANTILES	101		/* that JSON has: 0 %, 1 %, ... 100 % */

/* The times of one figure, in ns. */
struct bench_samples {
	const char *name;		/* to be asked for by */
	const char *what;		/* for people */
	unsigned int bytes;		/* that are moved each time; 0: of no meaning */
	const struct bench_samples *beside;	/* what it is compared with, NULL: nothing */
	uint64_t count;			/* of all times */
	uint64_t done;			/* operations that they stand for */
	double minimum, maximum;	/* of all */
	double *kept;			/* SAMPLES_KEPT of them, from the first on */
};

/** samples_add() - one more: what each of @operations took, in ns */
void samples_add(struct bench_samples *samples, double ns, uint64_t operations);

/** samples_quantile() - the time that so many of a hundred took at most; sorts what is kept */
double samples_quantile(struct bench_samples *samples, double percent);

/** samples_header() - the table's first line */
void samples_header(void);

/** samples_print() - its line of the table */
void samples_print(struct bench_samples *samples);

/** samples_json() - its row */
json_t *samples_json(struct bench_samples *samples);

/** samples_print_json() - the report, which it gives back */
void samples_print_json(double seconds, json_t *rows);

#endif
