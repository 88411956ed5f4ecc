// SPDX-License-Identifier: MIT
#include "tools/common/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/common/clock.h"

#define BAR 24	/* characters */

static const char *const binary[] = { "B", "KiB", "MiB", "GiB", "TiB" };

/* "4 KiB", "28.8 MiB": a decimal where the number is not whole. */
const char *unit_size(char *text, size_t size, uint64_t bytes)
{
	uint64_t one = 1, tenths;
	size_t unit = 0;

	while (unit + 1 < sizeof(binary) / sizeof(*binary) && bytes / one >= 1024) {
		one *= 1024;
		unit++;
	}
	tenths = bytes % one * 10 / one;
	if (bytes % one)
		snprintf(text, size, "%" PRIu64 ".%" PRIu64 " %s", bytes / one, tenths,
			 binary[unit]);
	else
		snprintf(text, size, "%" PRIu64 " %s", bytes / one, binary[unit]);
	return text;
}

/* "850 ns", "12.345 us", "1.500 s", "90 min": three decimals up to a minute. */
const char *unit_time(char *text, size_t size, uint64_t nanoseconds)
{
	static const struct {
		uint64_t below, unit;
		const char *name;
	} rows[] = {
		{ 1000000, 1000, "us" },
		{ NSEC_PER_SEC, 1000000, "ms" },
		{ 60 * NSEC_PER_SEC, NSEC_PER_SEC, "s" },
	};

	if (nanoseconds < 1000) {
		snprintf(text, size, "%" PRIu64 " ns", nanoseconds);
		return text;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (nanoseconds >= rows[i].below)
			continue;
		snprintf(text, size, "%" PRIu64 ".%03" PRIu64 " %s", nanoseconds / rows[i].unit,
			 nanoseconds % rows[i].unit / (rows[i].unit / 1000), rows[i].name);
		return text;
	}
	snprintf(text, size, "%" PRIu64 " min",
		 (uint64_t)(nanoseconds / (60 * NSEC_PER_SEC)));
	return text;
}

/* @count in a time, per second: "0", "0.25", "99.8", "1234", "12.3 k", "1.25 M". */
const char *unit_rate(char *text, size_t size, uint64_t count, uint64_t nanoseconds)
{
	double rate = nanoseconds ? (double)count * 1e9 / (double)nanoseconds : 0;

	if (!count)
		snprintf(text, size, "0");
	else if (rate < 10)
		snprintf(text, size, "%.2f", rate);
	else if (rate < 1000)
		snprintf(text, size, "%.1f", rate);
	else if (rate < 10000)
		snprintf(text, size, "%.0f", rate);
	else if (rate < 1e6)
		snprintf(text, size, "%.1f k", rate / 1e3);
	else
		snprintf(text, size, "%.2f M", rate / 1e6);
	return text;
}

/**
 * progress_line - how far something has come
 * @line: "load [######      ]  50 %  32 MiB of 64 MiB  35.1 MiB/s  0.911 s left"
 * @what: is going on
 * @done: bytes
 * @total: bytes, not 0
 * @elapsed_ns: since it began
 */
void progress_line(char line[PROGRESS_LINE], const char *what, uint64_t done, uint64_t total,
		   uint64_t elapsed_ns)
{
	char bar[BAR + 1], so_far[UNIT_WORD], all[UNIT_WORD], rate[UNIT_WORD], left[UNIT_WORD];
	double part = (double)done / (double)total;
	double speed = elapsed_ns ? (double)done * 1e9 / (double)elapsed_ns : 0;

	memset(bar, ' ', BAR);
	bar[BAR] = '\0';
	memset(bar, '#', (size_t)(part * BAR));
	unit_size(so_far, sizeof(so_far), done);
	unit_size(all, sizeof(all), total);
	unit_size(rate, sizeof(rate), (uint64_t)speed);
	if (speed > 0)
		unit_time(left, sizeof(left), (uint64_t)((double)(total - done) / speed * 1e9));
	else
		snprintf(left, sizeof(left), "?");
	snprintf(line, PROGRESS_LINE, "%s [%s] %3d %%  %s of %s  %s/s  %s left", what, bar,
		 (int)(part * 100), so_far, all, rate, left);
}
