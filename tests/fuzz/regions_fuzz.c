// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: files of regions. Whatever the file, it is loaded or complained about;
 * what is loaded can be checked, walked through, looked up, and its values printed and read.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/librfm/regions_private.h"

#define VISITS	2000	/* of values, of an input: an array may have 268435456 */
#define FINDS	20	/* of them, those that are looked for by their offset */
#define TEXT	128u	/* longest text that is printed */

/**
 * struct visit - a walk through values
 * @regions: the file
 * @left: so many more are visited
 * @finds: so many more are looked for by their offset
 * @name: of the one that is looked for; NULL: it has been found
 * @bytes: what the memory has, again and again
 */
struct visit {
	const struct rfm_regions *regions;
	unsigned int left, finds;
	const char *name;
	unsigned char bytes[TEXT];
};

static void note(void *context, const struct rfm_regions_complaint *complaint)
{
	unsigned int *count = context;

	CHECK(complaint->sentence && *complaint->sentence);
	CHECK(strlen(complaint->sentence) < SENTENCE_MAX);
	CHECK(!strchr(complaint->sentence, '\n'));
	CHECK(complaint->fault <= RFM_REGIONS_OWNERS);
	++*count;
}

/* What is printed reads back, and prints the same again; but a bool is 0 or 1 to be read. */
static void round_trip(const struct rfm_place *value, const unsigned char *bytes)
{
	char text[TEXT * 4 + RFM_REGION_TEXT_MAX], again[sizeof(text)], little[3];
	unsigned char back[TEXT];
	int length = rfm_value_print(value, bytes, text, sizeof(text));

	CHECK(length > 0 && (size_t)length < sizeof(text) && strlen(text) == (size_t)length);
	CHECK(rfm_value_print(value, bytes, little, sizeof(little)) == length);
	if (value->type == RFM_REGION_BOOL && *bytes > 1)
		return;
	CHECK(!rfm_value_scan(value, text, back));
	CHECK(rfm_value_print(value, back, again, sizeof(again)) == length);
	CHECK(!strcmp(text, again));
}

/* Something at an offset, perhaps that which is looked for. */
static int visit_at(void *context, const char *name, const struct rfm_place *value)
{
	struct visit *visit = context;

	CHECK(strlen(name) < RFM_REGION_PATH_MAX);
	CHECK(value->length);
	if (visit->name && !strcmp(visit->name, name))
		visit->name = NULL;
	return !--visit->left;
}

/* Its last byte is enough to find a value. */
static void find_at(const struct visit *visit, const char *name, const struct rfm_place *value)
{
	struct visit look = { .left = VISITS, .name = name };

	rfm_regions_at(visit->regions, value->offset + value->length - 1, 1, visit_at, &look);
	CHECK(!look.name || !look.left);
}

/* A value is where its name says. */
static int visit_value(void *context, const char *name, const struct rfm_place *value)
{
	struct visit *visit = context;
	struct rfm_place found;

	CHECK(strlen(name) < RFM_REGION_PATH_MAX);
	CHECK(value->type > RFM_REGION_STRUCT && value->type < RFM_REGION_TYPES);
	CHECK(value->length && value->offset < REGIONS_SPACE);
	CHECK(!rfm_regions_find(visit->regions, name, &found, NULL, NULL));
	CHECK(found.offset == value->offset && found.length == value->length);
	CHECK(found.type == value->type && found.order == value->order);
	if (value->length <= TEXT)
		round_trip(value, visit->bytes);
	if (visit->finds) {
		visit->finds--;
		find_at(visit, name, value);
	}
	return !--visit->left;
}

/* @sound: no structure is smaller than what is in it. */
static void walk(const struct rfm_regions *regions, bool sound, const uint8_t *data, size_t size)
{
	struct visit visit = { .regions = regions, .left = VISITS, .finds = sound ? FINDS : 0 };
	struct rfm_place place;

	for (size_t i = 0; i < TEXT; i++)
		visit.bytes[i] = size ? data[i % size] : 0;
	for (const struct rfm_region *region = regions->regions; region && visit.left;
	     region = region->next) {
		CHECK(!rfm_regions_find(regions, region->name, &place, NULL, NULL));
		CHECK(place.offset == region->offset);
		CHECK(rfm_regions_each(region->name, &place, visit_value, &visit) >= 0 || !sound);
	}
	visit.left = VISITS;
	rfm_regions_at(regions, 0, UINT64_MAX, visit_at, &visit);
}

/* The words of the input as names; nothing may come of it but an answer. */
static void look_up(const struct rfm_regions *regions, const uint8_t *data, size_t size)
{
	unsigned int complaints = 0;
	struct rfm_place place;
	char name[100];

	for (size_t at = 0; at < size; at += sizeof(name) / 2) {
		size_t length = size - at < sizeof(name) - 1 ? size - at : sizeof(name) - 1;

		memcpy(name, data + at, length);
		name[length] = '\0';
		if (!rfm_regions_find(regions, name, &place, note, &complaints))
			CHECK(place.length && place.region);
	}
}

/* The layout is checked only in files. Returns whether there is nothing wrong with it. */
static bool check_layout(const uint8_t *data, size_t size, bool loaded)
{
	static int fd = -1;
	unsigned int complaints = 0;
	char path[40];
	int wrong;

	if (fd < 0)
		fd = memfd_create("regions", 0);
	CHECK(fd >= 0 && !ftruncate(fd, 0));
	CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	wrong = rfm_regions_check(path, 0, note, &complaints);
	CHECK(wrong >= 0 && (unsigned int)wrong == complaints);
	CHECK(loaded || complaints);
	return !complaints;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int complaints = 0;
	struct rfm_regions *regions;
	bool sound;

	regions = rfm_regions_parse("file", (const char *)data, size, note, &complaints);
	CHECK(!regions == !!complaints);
	sound = check_layout(data, size, regions);
	if (!regions)
		return 0;
	CHECK(!strcmp(regions->path, "file"));
	walk(regions, sound, data, size);
	look_up(regions, data, size);
	rfm_regions_free(regions);
	return 0;
}
