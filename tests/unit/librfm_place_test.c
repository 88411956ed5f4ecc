// SPDX-License-Identifier: MIT
/* Places of a file of regions, in a node. links: tools/librfm ring/host tests/unit/rings.c */
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tools/librfm/rfm/regions.h"
#include "tools/librfm/rfm/rfm.h"

static const char text[] =
	"rfm-regions: 1\n"
	"regions:\n"
	"  temperature: {offset: 0x10, type: int16, scale: 0.01, bias: -40}\n"
	"  count: {offset: 0x18, type: uint64, byte-order: big}\n"
	"  state: {offset: 0x20, type: uint8, values: {idle: 0, run: 3}}\n"
	"  torque: {offset: 0x24, type: float}\n"
	"  name: {offset: 0x30, type: char, count: 8}\n"
	"  story: {offset: 0x1000, type: char, count: 4097}\n"
	"  crooked: {offset: 0x41, type: uint32}\n"
	"  beyond: {offset: 0x100000, type: uint32}\n"
	"  array: {offset: 0x50, type: uint32, count: 2}\n";

static struct rfm_regions *regions;
static struct rfm *node;

static struct rfm_place named(const char *name)
{
	struct rfm_place place;

	assert_int_equal(rfm_regions_find(regions, name, &place, NULL, NULL), 0);
	return place;
}

#define REFUSED(call, error) do { \
	errno = 0; \
	assert_int_equal(call, -1); \
	assert_int_equal(errno, error); \
} while (0)

static void places_are_loaded_and_stored(void **state)
{
	struct rfm_place place;
	char words[300], back[64];
	struct rfm *reader;
	int64_t integer;
	uint64_t word;
	uint16_t half;
	double real;

	(void)state;
	regions = rfm_regions_parse("test", text, strlen(text), NULL, NULL);
	assert_non_null(regions);
	snprintf(words, sizeof(words),
		 "ring:?rx=unix:%s/0,server&tx=unix:%s/1&node=1&size=1M", folder, folder);
	node = rfm_open(words, O_RDWR);
	assert_non_null(node);

	place = named("temperature");
	assert_int_equal(rfm_place_store_real(node, &place, 12.504), 0);
	assert_int_equal(rfm_load16(node, 0x10, &half), 0);
	assert_int_equal(half, 5250);
	assert_int_equal(rfm_place_load(node, &place, back, sizeof(back)), 4);
	assert_string_equal(back, "12.5");
	assert_int_equal(rfm_place_load_real(node, &place, &real), 0);
	assert_true(real == 5250 * 0.01 - 40);
	assert_int_equal(rfm_place_load_integer(node, &place, &integer), 0);
	assert_int_equal(integer, 5250);
	REFUSED(rfm_place_store(node, &place, "hot"), EINVAL);
	REFUSED(rfm_place_store_real(node, &place, 1e9), ERANGE);
	assert_int_equal(rfm_load16(node, 0x10, &half), 0);
	assert_int_equal(half, 5250);

	place = named("count");
	assert_int_equal(rfm_place_store_integer(node, &place, 0x0123456789abcdef), 0);
	assert_int_equal(rfm_load64(node, 0x18, &word), 0);
	assert_int_equal(word, 0xefcdab8967452301);
	assert_int_equal(rfm_place_load_integer(node, &place, &integer), 0);
	assert_int_equal(integer, 0x0123456789abcdef);

	place = named("state");
	assert_int_equal(rfm_place_store(node, &place, "run"), 0);
	assert_int_equal(rfm_place_load_integer(node, &place, &integer), 0);
	assert_int_equal(integer, 3);
	place = named("torque");
	assert_int_equal(rfm_place_store(node, &place, "-0.5"), 0);
	assert_int_equal(rfm_place_load_real(node, &place, &real), 0);
	assert_true(real == -0.5);
	REFUSED(rfm_place_load_integer(node, &place, &integer), EINVAL);
	place.reserved[7] = 1;
	REFUSED(rfm_place_load_real(node, &place, &real), EINVAL);
	REFUSED(rfm_place_store(node, &place, "1"), EINVAL);

	place = named("name");
	assert_int_equal(rfm_place_store(node, &place, "pump"), 0);
	assert_int_equal(rfm_place_load(node, &place, back, sizeof(back)), 6);
	assert_string_equal(back, "\"pump\"");
	REFUSED(rfm_place_load_real(node, &place, &real), EINVAL);
	REFUSED(rfm_place_store_integer(node, &place, 1), EINVAL);
	place = named("story");
	REFUSED(rfm_place_load(node, &place, back, sizeof(back)), EMSGSIZE);
	REFUSED(rfm_place_store(node, &place, "x"), EMSGSIZE);
	place = named("crooked");
	REFUSED(rfm_place_load(node, &place, back, sizeof(back)), EINVAL);
	REFUSED(rfm_place_store_integer(node, &place, 1), EINVAL);
	place = named("beyond");
	REFUSED(rfm_place_load_real(node, &place, &real), EINVAL);
	place = named("array");
	REFUSED(rfm_place_load(node, &place, back, sizeof(back)), EINVAL);
	REFUSED(rfm_place_store_real(node, &place, 1), EINVAL);

	reader = rfm_open(words, O_RDONLY);
	assert_non_null(reader);
	place = named("state");
	REFUSED(rfm_place_store(reader, &place, "idle"), EBADF);
	assert_int_equal(rfm_place_load(reader, &place, back, sizeof(back)), 3);
	assert_int_equal(rfm_close(reader), 0);
	assert_int_equal(rfm_close(node), 0);
	rfm_regions_free(regions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(places_are_loaded_and_stored),
	};

	return cmocka_run_group_tests_name("librfm_place", tests, NULL, NULL);
}
