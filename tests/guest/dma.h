/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of DMA share: thresholds and figures, pins, patterns. */
#ifndef DMA_H
#define DMA_H

#include <linux/rfm_netlink.h>

#include "tap.h"
#include "card.h"
#include "genl.h"

#define PAGE 4096ul
#define PINNED_MAX (32ll << 20)	/* so much, and the last slice, of a card */

static char dma_card[32];	/* "rfm0" */

/* Which card the figures are of. */
__attribute__((unused))
static void dma_card_is(const char *path)
{
	snprintf(dma_card, sizeof(dma_card), "%.31s", strrchr(path, '/') + 1);
}

static long long number_in(const char *name)
{
	long long value = -1;
	FILE *file = fopen(name, "r");

	if (!file || fscanf(file, "%lld", &value) != 1)
		value = -1;
	if (file)
		fclose(file);
	return value;
}

/*
 * Asks netlink for the card, or changes an attribute of it. Returns whether that was
 * done; @answer then has what came back.
 */
static bool dma_talk(uint8_t cmd, uint16_t attr, uint32_t value, struct genl *answer)
{
	int fd = genl_open(), error = EIO;
	const struct nlmsghdr *head;
	uint16_t family;
	uint32_t group;
	size_t at = 0;

	if (fd >= 0 && genl_family(fd, RFM_FAMILY_NAME, RFM_MCGRP_MONITOR, &family, &group)) {
		genl_begin(answer, family, NLM_F_REQUEST | (attr ? NLM_F_ACK : 0), cmd);
		genl_put(answer, RFM_A_CARD_NAME, dma_card, strlen(dma_card) + 1);
		if (attr)
			genl_put_u32(answer, attr, value);
		if (genl_send(fd, answer) && genl_recv(fd, answer, GENL_MAX, 0) > 0 &&
		    (head = genl_message(answer, &at)))
			error = head->nlmsg_type == NLMSG_ERROR ? *(const int *)(head + 1) : 0;
	}
	close(fd);
	return !error;
}

/* One of what card-get says of the card, or of what is in its nest @nest; -1: there is none. */
static long long dma_number(uint16_t nest, uint16_t attr)
{
	struct genl *answer = malloc(sizeof(*answer));
	const struct nlattr *found = NULL;
	const uint8_t *at, *end;
	long long number = -1;

	if (answer && dma_talk(RFM_CMD_CARD_GET, 0, 0, answer)) {
		at = answer->bytes + GENL_ATTRS;
		end = answer->bytes + answer->len;
		found = genl_find(at, end, nest ? nest : attr);
		if (found && nest)
			found = genl_find(genl_data(found), genl_data(found) + genl_len(found),
					  attr);
		if (found)
			number = genl_number(found);
	}
	free(answer);
	return number;
}

/* What the driver counts of the card's transfers, or has under way; -1 if it cannot be read. */
__attribute__((unused))
static long long dma_figure(const char *name)
{
	char path[128];

	if (!strcmp(name, "operations"))
		return dma_number(RFM_A_CARD_DRIVER, RFM_A_DRIVER_DMA_OPERATIONS);
	if (!strcmp(name, "bytes"))
		return dma_number(RFM_A_CARD_DRIVER, RFM_A_DRIVER_DMA_BYTES);
	if (!strcmp(name, "errors"))
		return dma_number(RFM_A_CARD_DRIVER, RFM_A_DRIVER_DMA_ERRORS);
	snprintf(path, sizeof(path), "/sys/class/rfm/%s/dma/%s", dma_card, name);
	return number_in(path);
}

__attribute__((unused))
static long long dma_slice(void)
{
	return number_in("/sys/module/rfm/parameters/dma_slice");
}

/* @attr: RFM_A_CARD_DMA_READ_THRESHOLD or WRITE_THRESHOLD. */
__attribute__((unused))
static bool dma_set(uint16_t attr, uint32_t value)
{
	struct genl *answer = malloc(sizeof(*answer));
	bool good = answer && dma_talk(RFM_CMD_CARD_SET, attr, value, answer);

	free(answer);
	return good;
}

/* From how many bytes on reads and writes are made by DMA. */
__attribute__((unused))
static bool dma_threshold(uint32_t bytes)
{
	return dma_set(RFM_A_CARD_DMA_READ_THRESHOLD, bytes) &&
	       dma_set(RFM_A_CARD_DMA_WRITE_THRESHOLD, bytes);
}

static long long dma_was[2];	/* the thresholds for reads and writes, before the tests */

/*
 * Opens the card, whose figures are meant from here on, and makes transfers by
 * DMA from @threshold bytes on, unless that is 0. Returns the file; ends the
 * program if it cannot.
 */
__attribute__((unused))
static int dma_begin(const char *path, struct rfm_info *info, long long threshold)
{
	int fd = open(path, O_RDWR);

	if (fd < 0 || card_info(fd, info)) {
		tap_note("%s: %s", path, strerror(errno));
		exit(TAP_FAIL);
	}
	dma_card_is(path);
	dma_was[0] = dma_number(0, RFM_A_CARD_DMA_READ_THRESHOLD);
	dma_was[1] = dma_number(0, RFM_A_CARD_DMA_WRITE_THRESHOLD);
	if (dma_was[0] < 0 || dma_was[1] < 0 || (threshold && !dma_threshold(threshold))) {
		tap_note("the thresholds of DMA: %s", strerror(errno));
		exit(TAP_FAIL);
	}
	return fd;
}

/* Sets the thresholds back. Returns how the program ends: @ret, or a failure. */
__attribute__((unused))
static int dma_end(int ret)
{
	if (!dma_set(RFM_A_CARD_DMA_READ_THRESHOLD, dma_was[0]) ||
	    !dma_set(RFM_A_CARD_DMA_WRITE_THRESHOLD, dma_was[1]))
		return TAP_FAIL;
	return ret;
}

/* No read or write left, nothing pinned for one, within some seconds. */
__attribute__((unused))
static bool dma_is_idle(void)
{
	unsigned int tries;

	for (tries = 0; tries < 10000; tries++, sleep_ms(1))
		if (!dma_figure("requests") && !dma_figure("pinned"))
			return true;
	tap_note("%lld requests, %lld bytes pinned", dma_figure("requests"),
		 dma_figure("pinned"));
	return false;
}

/* Pages of users that drivers have pinned, and given back, since the boot. */
struct pins {
	long long acquired, released;
};

/* What each processor has counted for itself is added up before. */
__attribute__((unused))
static bool pins_read(struct pins *pins)
{
	FILE *file = fopen("/proc/sys/vm/stat_refresh", "w");
	char name[64];
	long long value;
	bool good;

	good = file && fputs("1", file) >= 0;
	if (file)
		good = !fclose(file) && good;
	*pins = (struct pins){ -1, -1 };
	file = fopen("/proc/vmstat", "r");
	while (file && fscanf(file, "%63s %lld", name, &value) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired"))
			pins->acquired = value;
		if (!strcmp(name, "nr_foll_pin_released"))
			pins->released = value;
	}
	if (file)
		fclose(file);
	return good && pins->acquired >= 0 && pins->released >= 0;
}

/* Every 8 bytes tell where they are and who wrote them. */
__attribute__((unused))
static void pattern_fill(void *buf, size_t len, uint64_t who)
{
	uint64_t word = 0, seed = who * 0x9e3779b97f4a7c15ull + 1;
	uint8_t *bytes = buf;
	size_t i;

	for (i = 0; i < len; i++) {
		if (!(i & 7))
			word = random_next(&seed);
		bytes[i] = word >> (i & 7) * 8;
	}
}

/* Where the first byte differs, or len. */
__attribute__((unused))
static size_t first_difference(const void *left, const void *right, size_t len)
{
	const uint8_t *a = left, *b = right;
	size_t i;

	if (!memcmp(a, b, len))
		return len;
	for (i = 0; i < len && a[i] == b[i]; i++)
		;
	return i;
}

/* All of them the same byte? Returns where the first other one is, or len. */
__attribute__((unused))
static size_t first_other(const void *buf, uint8_t byte, size_t len)
{
	const uint8_t *bytes = buf;
	size_t i;

	if (len && bytes[0] == byte && !memcmp(bytes, bytes + 1, len - 1))
		return len;
	for (i = 0; i < len && bytes[i] == byte; i++)
		;
	return i;
}

#endif /* DMA_H */
