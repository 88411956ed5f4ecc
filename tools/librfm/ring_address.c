// SPDX-License-Identifier: MIT
/* "ring:ADDRESS?key=value&...": the words that say which node of which ring. */
#define _GNU_SOURCE 1		/* stpcpy(), strsep() */
#include "ring_private.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum kind { NUMBER, WIDE, TEXT, FLAG, CLOCK };

/* What can follow the question mark: a member of struct ring_words, or a flag of its config. */
static const struct setting {
	const char *name;
	enum kind kind;
	size_t offset;		/* or the flag */
} settings[] = {
	{ "node", NUMBER, offsetof(struct ring_words, config.id) },
	{ "size", WIDE, offsetof(struct ring_words, config.memory_size) },
	{ "file", TEXT, offsetof(struct ring_words, config.memory_file) },
	{ "rx", TEXT, offsetof(struct ring_words, config.rx) },
	{ "tx", TEXT, offsetof(struct ring_words, config.tx) },
	{ "line", TEXT, offsetof(struct ring_words, config.line) },
	{ "pcap", TEXT, offsetof(struct ring_words, config.pcap) },
	{ "window", NUMBER, offsetof(struct ring_words, config.window) },
	{ "insert-slots", NUMBER, offsetof(struct ring_words, config.insert_slots) },
	{ "stall-limit-ms", NUMBER, offsetof(struct ring_words, config.stall_ms) },
	{ "shm-slots", NUMBER, offsetof(struct ring_words, config.shm_slots) },
	{ "socket-buffer", NUMBER, offsetof(struct ring_words, config.socket_buffer) },
	{ "priority", NUMBER, offsetof(struct ring_words, config.priority) },
	{ "cpus", TEXT, offsetof(struct ring_words, config.cpus) },
	{ "incarnation", WIDE, offsetof(struct ring_words, config.incarnation) },
	{ "wait-ms", NUMBER, offsetof(struct ring_words, wait_ms) },
	{ "redundant", FLAG, RFMRING_REDUNDANT },
	{ "rogue-master-0", FLAG, RFMRING_ROGUE_0 },
	{ "rogue-master-1", FLAG, RFMRING_ROGUE_1 },
	{ "unpacked", FLAG, RFMRING_UNPACKED },
	{ "authentic-late", FLAG, RFMRING_AUTHENTIC_LATE },
	{ "authentic-ids", FLAG, RFMRING_AUTHENTIC_IDS },
	{ "stream-only", FLAG, RFMRING_STREAM_ONLY },
	{ "auto-resync", FLAG, RFMRING_AUTO_RESYNC },
	{ "clock", CLOCK, RFMRING_CLOCK_TAI },
};
#define SETTINGS	(sizeof(settings) / sizeof(*settings))

static int refuse(const char *why, const char *what)
{
	open_failed(EINVAL, "ring:... %s '%.200s'", why, what);
	return -1;
}

/* "0x11", "128M", "010" is ten; K, M and G are powers of 1024. */
static int scan_number(const char *text, uint64_t limit, uint64_t *number)
{
	static const char units[] = "KMG";
	unsigned int shift = 0;
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	*number = strtoull(text, &end, !strncasecmp(text, "0x", 2) ? 16 : 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		end++;
	}
	if (errno || *end || *number > limit >> shift)
		return -1;
	*number <<= shift;
	return 0;
}

static int hex_digit(char digit)
{
	const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit | 0x20) : NULL;

	return at ? at - digits : -1;
}

/* %26 and the like, in place. */
static int decode(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		*to = *text;
		if (*text != '%')
			continue;
		if (hex_digit(text[1]) < 0 || hex_digit(text[2]) < 0)
			return -1;
		*to = (unsigned int)hex_digit(text[1]) << 4 | hex_digit(text[2]);
		text += 2;
	}
	*to = '\0';
	return 0;
}

static const struct setting *find_setting(const char *name)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (!strcmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

static int set(struct ring_words *to, const struct setting *setting, char *value)
{
	char *at = (char *)to + setting->offset;
	uint64_t number = 1;

	if (setting->kind == TEXT) {
		if (!value || !*value || decode(value))
			return refuse("has no good value for", setting->name);
		*(const char **)(void *)at = value;
		return 0;
	}
	if (setting->kind == CLOCK) {
		if (!value || (strcmp(value, "host") && strcmp(value, "tai")))
			return refuse("has no good value for", setting->name);
		to->config.flags |= strcmp(value, "tai") ? 0 : setting->offset;
		return 0;
	}
	if ((!value && setting->kind != FLAG) ||
	    (value && scan_number(value, setting->kind == WIDE ? UINT64_MAX :
				  setting->kind == FLAG ? 1 : UINT32_MAX, &number)))
		return refuse("has no good value for", setting->name);
	if (setting->kind == WIDE)
		*(uint64_t *)(void *)at = number;
	else if (setting->kind == NUMBER)
		*(uint32_t *)(void *)at = number;
	else if (number)
		to->config.flags |= setting->offset;
	return 0;
}

/* One key twice would leave open which of them counts. */
static int set_all(struct ring_words *to, char *query, uint32_t *seen)
{
	char *word, *value;

	while (query) {
		const struct setting *setting;

		word = strsep(&query, "&");
		value = strchr(word, '=');
		if (value)
			*value++ = '\0';
		setting = find_setting(word);
		if (!setting)
			return refuse("has no setting", word);
		if (*seen >> (setting - settings) & 1)
			return refuse("has twice", word);
		*seen |= 1u << (setting - settings);
		if (set(to, setting, value))
			return -1;
	}
	return 0;
}

/* The two fibres of a hub's port, as rmhub --dir names them. */
static int set_port(struct rfmring_config *config, const char *port, char *ends)
{
	if (strncmp(port, "unix:", strlen("unix:")))
		return refuse("begins with unix:PATH, or has rx= and tx=, not", port);
	if (config->rx || config->tx)
		return refuse("has rx= or tx= beside", port);
	config->rx = ends;
	ends = stpcpy(stpcpy(ends, port), ".out") + 1;
	config->tx = ends;
	stpcpy(stpcpy(ends, port), ".in");
	return 0;
}

char *ring_address_parse(const char *address, struct ring_words *to)
{
	size_t length = strlen(address);
	/* Words, then the names of the two ends. */
	char *words = malloc(3 * length + 2 * sizeof(".out") + 1), *query;
	uint32_t seen = 0;

	_Static_assert(SETTINGS <= 32, "a bit for each");
	if (!words)
		return open_failed(ENOMEM, "no memory");
	strcpy(words, address);
	query = strchr(words, '?');
	if (query)
		*query++ = '\0';
	*to = (struct ring_words){ .config = RFMRING_CONFIG_INIT };
	if (set_all(to, query, &seen) ||
	    (*words && (decode(words) || set_port(&to->config, words, words + length + 1))))
		goto fail;
	if ((seen & 3) != 3) {
		refuse("needs node= and size=:", address);
		goto fail;
	}
	return words;
fail:
	free(words);
	errno = EINVAL;
	return NULL;
}
