// SPDX-License-Identifier: MIT
/* Opening and closing: which card, or which node. */
#define _GNU_SOURCE 1		/* versionsort(), secure_getenv() */
#include "private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEVICES		"/dev/"
#define RING		"ring:"

static _Thread_local char sentence[400];

void *open_failed(int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	errno = error;
	return NULL;
}

const char *rfm_error(void)
{
	return sentence;
}

uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* --- which card ------------------------------------------------------------------ */

/* The number of "rfm0", "rfm1", ...; NULL if it is no such name. */
static const char *number_of(const char *name)
{
	const char *digits = name + 3;

	return !strncmp(name, "rfm", 3) && *digits && !digits[strspn(digits, "0123456789")] ?
	       digits : NULL;
}

static int is_card(const struct dirent *entry)
{
	return number_of(entry->d_name) != NULL;
}

int rfm_cards(uint32_t *numbers, size_t count)
{
	struct dirent **cards;
	int found = scandir(DEVICES, &cards, is_card, versionsort);

	if (found < 0)
		return -1;
	for (int i = 0; i < found; i++) {
		if ((size_t)i < count)
			numbers[i] = strtoul(cards[i]->d_name + strlen("rfm"), NULL, 10);
		free(cards[i]);
	}
	free(cards);
	return found;
}

/* What the environment has in place of a card; NULL: nothing. */
static const char *instead_of(const char *number)
{
	char name[sizeof("RFM_CARD_") + NAME_MAX] = "RFM_CARD";
	const char *value;

	if (number)
		snprintf(name, sizeof(name), "RFM_CARD_%s", number);
	value = secure_getenv(name);
	return value && *value ? value : NULL;
}

/*
 * What @card means: "ring:..." or a path, which may be made in @path. NULL with errno: there
 * is no card.
 */
static const char *resolve(const char *card, char *path, size_t size)
{
	const char *name, *number, *instead = NULL;
	uint32_t first;

	if (!card)
		card = instead_of(NULL);
	if (!card) {
		if (rfm_cards(&first, 1) < 1)
			return open_failed(ENOENT, "there is no card in " DEVICES);
		snprintf(path, size, DEVICES "rfm%u", first);
		card = path;
	}
	name = strncmp(card, DEVICES, strlen(DEVICES)) ? card : card + strlen(DEVICES);
	number = number_of(name);
	if (number)
		instead = instead_of(number);
	/* What is put in its place is a card in the same words, and no other in place of that. */
	if (instead)
		card = name = instead;
	if (name != card || !number_of(name))
		return card;
	snprintf(path, size, DEVICES "%.200s", name);
	return path;
}

struct rfm *rfm_open(const char *card, int flags)
{
	char path[sizeof(DEVICES) + NAME_MAX];

	sentence[0] = '\0';
	if (flags != O_RDONLY && flags != O_RDWR)
		return open_failed(EINVAL, "a card is opened with O_RDONLY or O_RDWR alone");
	card = resolve(card, path, sizeof(path));
	if (!card)
		return NULL;
	return strncmp(card, RING, strlen(RING)) ? backend_card_open(card, flags) :
	       backend_ring_open(card + strlen(RING), flags);
}

int rfm_close(struct rfm *rfm)
{
	return rfm ? rfm->backend->close(rfm) : 0;
}

uint32_t rfm_version(void)
{
	return RFM_VERSION;
}

/* --- what it can ------------------------------------------------------------------- */

uint64_t can_of(uint64_t features)
{
	static const struct {
		uint64_t feature, can;
	} table[] = {
		{ RFM_EXT_FEATURE_SUBSCRIBE, RFM_CAN_SUBSCRIBE },
		{ RFM_EXT_FEATURE_WATCH, RFM_CAN_WATCH },
		{ RFM_EXT_FEATURE_WRITER, RFM_CAN_WRITER | RFM_CAN_OWN },
		{ RFM_EXT_FEATURE_MULTICAST, RFM_CAN_SEND_SET },
		{ RFM_EXT_FEATURE_FENCE, RFM_CAN_FENCE },
		{ RFM_EXT_FEATURE_SNAPSHOT, RFM_CAN_COUNTERS },
		{ RFM_EXT_FEATURE_QUERY, RFM_CAN_VERIFY },
		{ RFM_EXT_FEATURE_REMOTE, RFM_CAN_REMOTE | RFM_CAN_REGION },
	};
	uint64_t can = 0;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (features & table[i].feature)
			can |= table[i].can;
	return can;
}

uint64_t rfm_can(const struct rfm *rfm)
{
	return rfm->can;
}

int rfm_fd(const struct rfm *rfm)
{
	return rfm->backend->fd(rfm);
}
