// SPDX-License-Identifier: MIT
/* Many times of the same thing: what is kept of them, and how it is shown. */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_FROM	64		/* bytes: what moves so many has a speed */
#define IN_US_FROM	10000.0		/* ns: figures above this are easier to read in us */

void samples_add(struct bench_samples *samples, double ns, uint64_t operations)
{
	static uint64_t state = 0x5565;
	uint64_t place = samples->count;

	if (!samples->count || ns < samples->minimum)
		samples->minimum = ns;
	if (!samples->count || ns > samples->maximum)
		samples->maximum = ns;
	samples->count++;
	samples->done += operations;
	if (place >= SAMPLES_KEPT) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		place = (state >> 16) % samples->count;
	}
	if (!samples->kept)
		samples->kept = malloc(SAMPLES_KEPT * sizeof(samples->kept[0]));
	if (!samples->kept)
		abort();
	if (place < SAMPLES_KEPT)
		samples->kept[place] = ns;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static size_t kept(const struct bench_samples *samples)
{
	return samples->count < SAMPLES_KEPT ? samples->count : SAMPLES_KEPT;
}

double samples_quantile(struct bench_samples *samples, double percent)
{
	size_t count = kept(samples);

	if (!count)
		return 0;
	qsort(samples->kept, count, sizeof(samples->kept[0]), by_size);
	return samples->kept[(size_t)((count - 1) * percent / 100 + 0.5)];
}

static double median(const struct bench_samples *samples)
{
	return samples_quantile((struct bench_samples *)samples, 50);
}

/* MB/s; 0: it is no block. */
static double speed(const struct bench_samples *samples)
{
	return samples->bytes >= BLOCK_FROM ? samples->bytes * 1000 / median(samples) : 0;
}

void samples_header(void)
{
	printf("%-40s %8s %10s %10s %10s %10s %4s %7s  %s\n", "measurement", "bytes", "minimum",
	       "median", "99 %", "maximum", "", "MB/s", "beside");
}

void samples_print(struct bench_samples *samples)
{
	double middle = median(samples), scale = middle < IN_US_FROM ? 1 : 1000;
	char bytes[12] = "", rate[12] = "";

	if (samples->bytes)
		snprintf(bytes, sizeof(bytes), "%u", samples->bytes);
	if (speed(samples))
		snprintf(rate, sizeof(rate), "%.0f", speed(samples));
	printf("%-40s %8s %10.1f %10.1f %10.1f %10.1f %4s %7s", samples->what, bytes,
	       samples->minimum / scale, middle / scale, samples_quantile(samples, 99) / scale,
	       samples->maximum / scale, scale == 1 ? "ns" : "us", rate);
	if (samples->beside && samples->beside->count)
		printf("  %.2f times a %s", middle / median(samples->beside),
		       samples->beside->what);
	putchar('\n');
	fflush(stdout);
}

json_t *samples_json(struct bench_samples *samples)
{
	const struct bench_samples *beside = samples->beside;
	json_t *quantiles = json_array();
	double middle = median(samples);

	for (int i = 0; i < QUANTILES; i++)
		json_array_append_new(quantiles, json_real(samples_quantile(samples, i)));
	if (beside && !beside->count)
		beside = NULL;
	return json_pack("{ss ss si ss sf sf sf sf sI sI so? so? ss? so}", "name", samples->name,
			 "what", samples->what, "bytes", (int)samples->bytes, "unit", "ns",
			 "minimum", samples->minimum, "median", middle,
			 "p99", samples_quantile(samples, 99), "maximum", samples->maximum,
			 "samples", (json_int_t)samples->count,
			 "operations", (json_int_t)samples->done,
			 "speed", speed(samples) ? json_real(speed(samples)) : NULL,
			 "ratio", beside ? json_real(middle / median(beside)) : NULL,
			 "beside", beside ? beside->name : NULL, "quantiles", quantiles);
}

void samples_print_json(double seconds, json_t *rows)
{
	json_t *all = json_pack("{sf so}", "seconds", seconds, "rows", rows);

	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}
