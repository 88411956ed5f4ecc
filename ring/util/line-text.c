// SPDX-License-Identifier: MIT
#include "ring/util/line-text.h"

#include <stddef.h>
#include <string.h>

#define RATE_DECIMALS	6
#define RATE_UNIT	1000ull		/* baud in 10^-6 Gbaud */
#define RATE_MIN	1000ull		/* 0.001 Gbaud */
#define RATE_MAX	100000000ull	/* 100 Gbaud */
#define HOP_NS_MAX	1000000u
#define FIBRE_M_MAX	100000u

/*
 * A decimal number with up to @decimals digits behind the point, in units of
 * the last of them. Ends at a comma or at the end of the text.
 */
static bool take_number(const char **text, unsigned int decimals, uint64_t max, uint64_t *value)
{
	const char *p = *text;
	unsigned int behind = 0;
	bool point = false, digit = false;
	uint64_t n = 0;

	for (; *p && *p != ','; p++) {
		if (*p == '.' && digit && !point && decimals) {
			point = true;
			continue;
		}
		if (*p < '0' || *p > '9' || (point && behind == decimals))
			return false;
		n = n * 10 + (unsigned int)(*p - '0');
		behind += point;
		digit = true;
		if (n > max)
			return false;
	}
	if (!digit || (point && !behind))
		return false;
	for (; behind < decimals; behind++) {
		n *= 10;
		if (n > max)
			return false;
	}
	*text = p;
	*value = n;
	return true;
}

static const char *take_rate(struct rfm_line_config *config, const char **text)
{
	uint64_t n;

	if (!take_number(text, RATE_DECIMALS, RATE_MAX, &n) || n < RATE_MIN)
		return "a line's rate is 0.001 to 100 Gbaud, with up to 6 decimals";
	config->baud = n * RATE_UNIT;
	return NULL;
}

static const char *take_hop(struct rfm_line_config *config, const char **text)
{
	uint64_t n;

	if (!take_number(text, 0, HOP_NS_MAX, &n))
		return "a line's hop is 0 to 1000000 ns";
	config->hop_ns = n;
	return NULL;
}

static const char *take_fibre(struct rfm_line_config *config, const char **text)
{
	uint64_t n;

	if (!take_number(text, 0, FIBRE_M_MAX, &n))
		return "a line's fibre is 0 to 100000 m";
	config->fibre_m = n;
	return NULL;
}

static const struct {
	const char *name;
	const char *(*take)(struct rfm_line_config *config, const char **text);
} settings[] = {
	{ "rate=", take_rate },
	{ "hop=", take_hop },
	{ "fibre=", take_fibre },
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* @text is behind a comma. */
static const char *take_setting(struct rfm_line_config *config, const char **text,
				unsigned int *seen)
{
	for (size_t i = 0; i < SETTINGS; i++) {
		size_t len = strlen(settings[i].name);

		if (strncmp(*text, settings[i].name, len))
			continue;
		if (*seen & 1u << i)
			return "a line's settings name one of rate, hop and fibre twice";
		*seen |= 1u << i;
		*text += len;
		return settings[i].take(config, text);
	}
	return "a paced line has the settings rate=GBAUD, hop=NS and fibre=M";
}

const char *rfm_line_parse(struct rfm_line_config *config, const char *text)
{
	struct rfm_line_config parsed = {
		.baud = RFM_LINE_BAUD,
		.hop_ns = RFM_LINE_HOP_NS,
	};
	unsigned int seen = 0;

	if (!strcmp(text, "free")) {
		*config = parsed;
		return NULL;
	}
	if (strncmp(text, "paced", 5) || (text[5] && text[5] != ','))
		return "a line is 'free', or 'paced' with its settings behind a comma";
	parsed.paced = true;
	text += 5;
	while (*text) {
		const char *error;

		text++;
		error = take_setting(&parsed, &text, &seen);
		if (error)
			return error;
	}
	*config = parsed;
	return NULL;
}
