// SPDX-License-Identifier: MIT
#include "tools/common/units.h"

#include <inttypes.h>
#include <stdio.h>

#include <linux/rfm.h>

#include "tools/common/clock.h"

static const char *const binary[] = { "B", "KiB", "MiB", "GiB", "TiB" };

#define BINARY (sizeof(binary) / sizeof(*binary))

const char *size_text(char text[UNIT_TEXT], uint64_t bytes)
{
	uint64_t one = 1, tenths;
	size_t unit = 0;

	while (unit + 1 < BINARY && bytes / one >= 1024) {
		one *= 1024;
		unit++;
	}
	tenths = bytes % one * 10 / one;
	if (bytes % one)
		snprintf(text, UNIT_TEXT, "%" PRIu64 ".%" PRIu64 " %s", bytes / one, tenths,
			 binary[unit]);
	else
		snprintf(text, UNIT_TEXT, "%" PRIu64 " %s", bytes / one, binary[unit]);
	return text;
}

const char *time_text(char text[UNIT_TEXT], uint64_t nanoseconds)
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
		snprintf(text, UNIT_TEXT, "%" PRIu64 " ns", nanoseconds);
		return text;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (nanoseconds >= rows[i].below)
			continue;
		snprintf(text, UNIT_TEXT, "%" PRIu64 ".%03" PRIu64 " %s", nanoseconds / rows[i].unit,
			 nanoseconds % rows[i].unit / (rows[i].unit / 1000), rows[i].name);
		return text;
	}
	snprintf(text, UNIT_TEXT, "%" PRIu64 " min", (uint64_t)(nanoseconds / (60 * NSEC_PER_SEC)));
	return text;
}

const char *rate_text(char text[UNIT_TEXT], uint64_t count, uint64_t nanoseconds)
{
	double rate = nanoseconds ? (double)count * 1e9 / (double)nanoseconds : 0;

	if (!count)
		snprintf(text, UNIT_TEXT, "0");
	else if (rate < 10)
		snprintf(text, UNIT_TEXT, "%.2f", rate);
	else if (rate < 1000)
		snprintf(text, UNIT_TEXT, "%.1f", rate);
	else if (rate < 10000)
		snprintf(text, UNIT_TEXT, "%.0f", rate);
	else if (rate < 1e6)
		snprintf(text, UNIT_TEXT, "%.1f k", rate / 1e3);
	else
		snprintf(text, UNIT_TEXT, "%.2f M", rate / 1e6);
	return text;
}

static const char *exact(char text[UNIT_TEXT], uint64_t value, uint64_t step, const char *blank,
			 const char *const *units, size_t count)
{
	size_t unit = 0;

	for (; value && !(value % step) && unit + 1 < count; unit++)
		value /= step;
	snprintf(text, UNIT_TEXT, "%" PRIu64 "%s%s", value, blank, units[unit]);
	return text;
}

const char *size_exact(char text[UNIT_TEXT], uint64_t bytes)
{
	return exact(text, bytes, 1024, " ", binary, BINARY);
}

const char *time_exact(char text[UNIT_TEXT], uint64_t ns, const char *blank)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	return exact(text, ns, 1000, blank, units, sizeof(units) / sizeof(*units));
}

const char *node_text(char text[UNIT_TEXT], uint64_t node)
{
	if (node == RFM_NODE_ALL)
		return "-";
	snprintf(text, UNIT_TEXT, "0x%02" PRIx64 " (%" PRIu64 ")", node, node);
	return text;
}
