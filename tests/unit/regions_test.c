// SPDX-License-Identifier: MIT
/* links: tools/librfm/regions.c tools/librfm/regions_yaml.c tools/librfm/regions_decode.c */
/* links: tools/librfm/regions_layout.c tools/librfm/regions_find.c tools/librfm/regions_value.c */
/* Files of regions: what is in them, names. */
#include "tests/unit/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const char rig[] =
	"# The rig\n"
	"rfm-regions: 1\n"
	"description: >\n"
	"  Test rig,\n"
	"  ring A\n"
	"memory: 64M\n"
	"byte-order: big\n"
	"types:\n"
	"  axis:\n"
	"    byte-order: little\n"
	"    description: one servo\n"
	"    fields:\n"
	"      position: {offset: 0x0, type: double, unit: rad, description: measured}\n"
	"      limit: {offset: 8, type: float, count: 2, unit: rad, owner: 9, period: 1 s}\n"
	"      on: {offset: 0x10, type: bool}\n"
	"regions:\n"
	"  pump:\n"
	"    offset: 8K\n"
	"    owner: 3\n"
	"    period: 10 ms\n"
	"    description: Main pump\n"
	"    fields:\n"
	"      pressure: {offset: 0x40, type: float, unit: bar}\n"
	"      name: {offset: 8, type: char, count: 16}\n"
	"      motor:\n"
	"        offset: 0x18\n"
	"        count: 2\n"
	"        size: 16\n"
	"        fields:\n"
	"          current: {offset: 4, type: int32, byte-order: little}\n"
	"  axes: {offset: 0x3000, type: axis, count: 3, period: 0.25 ms}\n"
	"  other: {offset: 0x4000, type: axis, byte-order: big}\n"
	"  epoch: {offset: 0x5000, type: uint64, owner: 0}\n";

static int load_rig(void **state)
{
	*state = good(rig);
	return 0;
}

static int free_rig(void **state)
{
	rfm_regions_free(*state);
	return 0;
}

static void a_file_is_what_it_says(void **state)
{
	const struct rfm_regions *regions = *state;
	const struct rfm_region *pump = regions->regions, *axis = regions->types;
	const struct rfm_region *motor = pump->fields->next->next;

	assert_string_equal(regions->path, "test");
	assert_string_equal(regions->description, "Test rig, ring A");
	assert_int_equal(regions->memory_size, 64 << 20);
	assert_int_equal(regions->order, RFM_REGION_BIG);

	assert_string_equal(axis->name, "axis");
	assert_null(axis->next);
	assert_int_equal(axis->order, RFM_REGION_LITTLE);
	assert_int_equal(axis->size, 0x18);
	assert_int_equal(axis->align, 8);
	assert_string_equal(axis->fields->unit, "rad");
	assert_string_equal(axis->fields->description, "measured");

	assert_string_equal(pump->name, "pump");
	assert_int_equal(pump->offset, 8192);
	assert_int_equal(pump->size, 0x44);
	assert_int_equal(pump->stated_size, 0);
	assert_int_equal(pump->align, 4);
	assert_int_equal(pump->owner, 3);
	assert_int_equal(pump->period_ns, 10000000);
	assert_int_equal(pump->line, 17);
	assert_string_equal(pump->description, "Main pump");
	assert_string_equal(pump->unit, "");
	assert_null(pump->type_name);
	assert_int_equal(pump->type, RFM_REGION_STRUCT);
	assert_int_equal(motor->size, 16);
	assert_int_equal(motor->stated_size, 16);
	assert_int_equal(motor->count, 2);
	assert_int_equal(motor->owner, RFM_REGION_NOBODY);

	assert_string_equal(pump->next->type_name, "axis");
	assert_ptr_equal(pump->next->fields, axis->fields);
	assert_int_equal(pump->next->size, 0x18);
	assert_int_equal(pump->next->period_ns, 250000);
	assert_null(pump->next->next->next->next);
}

static void names_are_found(void **state)
{
	static const struct {
		const char *name, *unit;
		struct rfm_place place;
	} rows[] = {
		{ "pump", "", { .offset = 0x2000, .length = 0x44, .count = 1, .owner = 3,
				.period_ns = 10000000, .order = RFM_REGION_BIG } },
		{ "pump.pressure", "bar", { .offset = 0x2040, .length = 4, .count = 1, .owner = 3,
					    .period_ns = 10000000, .type = RFM_REGION_FLOAT,
					    .order = RFM_REGION_BIG } },
		{ "pump.name", "", { .offset = 0x2008, .length = 16, .count = 16, .owner = 3,
				     .period_ns = 10000000, .type = RFM_REGION_CHAR,
				     .order = RFM_REGION_BIG } },
		{ "pump.name[15]", "", { .offset = 0x2017, .length = 1, .count = 1, .owner = 3,
					 .period_ns = 10000000, .type = RFM_REGION_CHAR,
					 .order = RFM_REGION_BIG } },
		{ "pump[0].motor", "", { .offset = 0x2018, .length = 32, .count = 2, .owner = 3,
					 .period_ns = 10000000, .order = RFM_REGION_BIG } },
		{ "pump.motor[0x1].current", "", { .offset = 0x202c, .length = 4, .count = 1,
						   .owner = 3, .period_ns = 10000000,
						   .type = RFM_REGION_INT32,
						   .order = RFM_REGION_LITTLE } },
		{ "axes", "", { .offset = 0x3000, .length = 0x48, .count = 3,
				.owner = RFM_REGION_NOBODY, .period_ns = 250000,
				.order = RFM_REGION_LITTLE } },
		{ "axes[2].limit[1]", "rad", { .offset = 0x303c, .length = 4, .count = 1,
					       .owner = 9, .period_ns = 1000000000,
					       .type = RFM_REGION_FLOAT,
					       .order = RFM_REGION_LITTLE } },
		{ "other.on", "", { .offset = 0x4010, .length = 1, .count = 1,
				    .owner = RFM_REGION_NOBODY, .type = RFM_REGION_BOOL,
				    .order = RFM_REGION_BIG } },
		{ "epoch", "", { .offset = 0x5000, .length = 8, .count = 1, .owner = 0,
				 .type = RFM_REGION_UINT64,
				 .order = RFM_REGION_BIG } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct rfm_place *want = &rows[i].place;
		struct rfm_place place;

		if (rfm_regions_find(*state, rows[i].name, &place, NULL, NULL))
			fail_msg("%s is not found", rows[i].name);
		if (place.offset != want->offset || place.length != want->length ||
		    place.count != want->count || place.owner != want->owner ||
		    place.period_ns != want->period_ns || place.type != want->type ||
		    place.order != want->order || strcmp(place.unit, rows[i].unit))
			fail_msg("%s is %u at 0x%llx + 0x%llx of node %d each %llu ns, type %d, order %d, unit %s",
				 rows[i].name, place.count, (unsigned long long)place.offset,
				 (unsigned long long)place.length, place.owner,
				 (unsigned long long)place.period_ns, place.type, place.order,
				 place.unit);
	}
}

static void wrong_names_are_refused(void **state)
{
	static const char no_name[] =
		"' is not the name of a region, such as pump.pressure or loop.setpoint[3]\n";
	static const struct {
		const char *name;
		int error;
		const char *told;
	} rows[] = {
		{ "pum", ENOENT, "0: there is no region 'pum'\n" },
		{ "pumps", ENOENT, "0: there is no region 'pumps'\n" },
		{ "Pump", ENOENT, "0: there is no region 'Pump'\n" },
		{ "axis", ENOENT, "0: there is no region 'axis'\n" },
		{ "pump.presure", ENOENT, "17: there is no 'presure' in 'pump'\n" },
		{ "pump.motor[1].x", ENOENT, "25: there is no 'x' in 'pump.motor[1]'\n" },
		{ "epoch.x", ENOENT, "33: 'epoch' has no fields: it is of type uint64\n" },
		{ "axes.on", EINVAL, "31: 'axes' is an array: say which, [0] to [2]\n" },
		{ "axes[3]", ERANGE, "31: 'axes[3]' is beyond 'axes', which has 3\n" },
		{ "epoch[1]", ERANGE, "33: 'epoch[1]' is beyond 'epoch', which has 1\n" },
		{ "axes[4294967296]", ERANGE,
		  "31: 'axes[4294967296]' is beyond 'axes', which has 3\n" },
		{ "axes[99999999999999999999999]", ERANGE,
		  "31: 'axes[99999999999999999999999]' is beyond 'axes', which has 3\n" },
		{ "axes[-1]", EINVAL, "0: 'axes[-1]' has no index such as [3]\n" },
		{ "axes[+1]", EINVAL, "0: 'axes[+1]' has no index such as [3]\n" },
		{ "axes[]", EINVAL, "0: 'axes[]' has no index such as [3]\n" },
		{ "axes[1", EINVAL, "0: 'axes[1' has no index such as [3]\n" },
		{ "axes[1]x", EINVAL, "0: 'axes[1]x' has no index such as [3]\n" },
		{ "axes[1][0]", EINVAL, "0: 'axes[1][0]' has no index such as [3]\n" },
		{ "axes[one]", EINVAL, "0: 'axes[one]' has no index such as [3]\n" },
		{ "axes[000000000000000000000000000000001]", EINVAL,
		  "0: 'axes[000000000000000000000000000000001]' has no index such as [3]\n" },
		{ "", EINVAL, NULL }, { ".", EINVAL, NULL }, { "pump.", EINVAL, NULL },
		{ "pump..motor", EINVAL, NULL }, { "[0]", EINVAL, NULL }, { "a b", EINVAL, NULL },
		{ "0x2040", EINVAL, NULL }, { "pump\x1b", EINVAL, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rfm_place place, untouched;
		struct told told = { .count = 0 };

		memset(&place, 0xa5, sizeof(place));
		untouched = place;
		errno = 0;
		assert_int_equal(rfm_regions_find(*state, rows[i].name, &place, tell, &told), -1);
		if (errno != rows[i].error || told.count != 1 ||
		    (rows[i].told ? strcmp(told.text, rows[i].told) : !strstr(told.text, no_name)))
			fail_msg("'%s': %d, %s", rows[i].name, errno, told.text);
		assert_null(strchr(told.text, 0x1b));
		assert_memory_equal(&place, &untouched, sizeof(place));
	}
}

/* What rfm_regions_each() goes through, a line each. */
static int list_value(void *context, const char *name, const struct rfm_place *value)
{
	struct told *told = context;

	told->length += (size_t)sprintf(told->text + told->length, "%s 0x%llx %llu\n", name,
					(unsigned long long)value->offset,
					(unsigned long long)value->length);
	return --told->count ? 0 : 42;
}

static void all_values_are_visited(void **state)
{
	struct told told = { .count = 1000 };
	char name[RFM_REGION_PATH_MAX + 1];
	struct rfm_place place;

	assert_int_equal(rfm_regions_find(*state, "pump", &place, NULL, NULL), 0);
	assert_int_equal(rfm_regions_each("pump", &place, list_value, &told), 0);
	assert_int_equal(rfm_regions_find(*state, "axes[1]", &place, NULL, NULL), 0);
	assert_int_equal(rfm_regions_each("axes[1]", &place, list_value, &told), 0);
	assert_string_equal(told.text,
			    "pump.pressure 0x2040 4\n"
			    "pump.name 0x2008 16\n"
			    "pump.motor[0].current 0x201c 4\n"
			    "pump.motor[1].current 0x202c 4\n"
			    "axes[1].position 0x3018 8\n"
			    "axes[1].limit[0] 0x3020 4\n"
			    "axes[1].limit[1] 0x3024 4\n"
			    "axes[1].on 0x3028 1\n");

	/* It ends when it is told to, with what it is told. */
	told.length = 0;
	told.count = 2;
	assert_int_equal(rfm_regions_each("a", &place, list_value, &told), 42);
	assert_string_equal(told.text, "a.position 0x3018 8\na.limit[0] 0x3020 4\n");

	memset(name, 'a', sizeof(name));
	name[RFM_REGION_PATH_MAX - 3] = '\0';
	assert_int_equal(rfm_regions_each(name, &place, list_value, &told), -1);
	assert_int_equal(errno, ENAMETOOLONG);
	name[RFM_REGION_PATH_MAX - 3] = 'a';
	name[RFM_REGION_PATH_MAX] = '\0';
	errno = 0;
	assert_int_equal(rfm_regions_each(name, &place, list_value, &told), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

static void bytes_have_names(void **state)
{
	static const struct {
		uint64_t offset, length;
		const char *names;
	} rows[] = {
		{ 0, 0x2000, "" },
		{ 0x2040, 1, "pump.pressure 0x2040 4\n" },
		{ 0x2043, 1, "pump.pressure 0x2040 4\n" },
		{ 0x2044, 100, "" },
		{ 0x2017, 6, "pump.name 0x2008 16\npump.motor[0].current 0x201c 4\n" },
		{ 0x2020, 12, "" },
		{ 0x202f, 0x20, "pump.pressure 0x2040 4\npump.motor[1].current 0x202c 4\n" },
		{ 0x301f, 2, "axes[1].position 0x3018 8\naxes[1].limit[0] 0x3020 4\n" },
		{ 0x3024, 8, "axes[1].limit[1] 0x3024 4\naxes[1].on 0x3028 1\n" },
		{ 0x3040, 0x2000, "axes[2].on 0x3040 1\nother.position 0x4000 8\n"
		  "other.limit[0] 0x4008 4\nother.limit[1] 0x400c 4\nother.on 0x4010 1\n"
		  "epoch 0x5000 8\n" },
		{ 0x5007, UINT64_MAX, "epoch 0x5000 8\n" },
		{ 0x5008, UINT64_MAX, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct told told = { .count = 1000 };

		assert_int_equal(rfm_regions_at(*state, rows[i].offset, rows[i].length, list_value,
						&told), 0);
		if (strcmp(told.text, rows[i].names))
			fail_msg("0x%llx: %s", (unsigned long long)rows[i].offset, told.text);
	}
	assert_int_equal(rfm_regions_at(*state, 0, 0x4000, list_value,
					&(struct told){ .count = 2 }), 42);
}

/* Sizes that are too small for what is in them. */
static void no_value_is_beyond_the_place(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *told;
	} rows[] = {
		{ "size: 4, fields: {x: {offset: 0, type: int32}, y: {offset: 4, type: int8}}", -1,
		  "a.x 0x40 4\n" },
		{ "size: 4, fields: {x: {offset: 0, type: int64}}", -1, "" },
		{ "size: 8, fields: {x: {offset: 0, type: char, count: 9}}", -1, "" },
		{ "size: 8, fields: {x: {offset: 0, type: char, count: 8}}", 0, "a.x 0x40 8\n" },
		{ "size: 1, fields: {x: {offset: 4294967295, type: int8}}", -1, "" },
		/* Beyond its element, but not beyond the array. */
		{ "count: 2, size: 1, fields: {x: {offset: 0, type: int16}}", -1,
		  "a[0].x 0x40 2\n" },
		{ "size: 1, fields: {x: {offset: 0, count: 268435456, size: 1, "
		  "fields: {y: {offset: 0, count: 268435456, size: 1, "
		  "fields: {z: {offset: 0, type: uint8, count: 268435456}}}}}}", -1,
		  "a.x[0].y[0].z[0] 0x40 1\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct told told = { .count = 20 };
		struct rfm_regions *regions;
		struct rfm_place place;
		char text[512];
		int result;

		snprintf(text, sizeof(text), "rfm-regions: 1\nregions:\n  a: {offset: 64, %s}\n",
			 rows[i].text);
		regions = good(text);
		assert_int_equal(rfm_regions_find(regions, "a", &place, NULL, NULL), 0);
		errno = 0;
		result = rfm_regions_each("a", &place, list_value, &told);
		if (result != rows[i].result || errno != (result ? ERANGE : 0) ||
		    strcmp(told.text, rows[i].told))
			fail_msg("%s: %d, %d, %s", rows[i].text, result, errno, told.text);
		told.length = 0;
		told.text[0] = '\0';
		result = rfm_regions_at(regions, 64, 1, list_value, &told);
		if (result || (rows[i].told[0] != '\0') != (told.text[0] != '\0'))
			fail_msg("%s: %d, at its beginning: %s", rows[i].text, result, told.text);
		rfm_regions_free(regions);
	}
}

/* The deepest name there may be, with the longest names and indices. */
static void the_longest_name_has_room(void **state)
{
	char text[8192], long_name[RFM_REGION_NAME_MAX];
	struct rfm_regions *regions;
	struct rfm_place place;
	struct told told = { .count = 1 };
	size_t length;

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	length = (size_t)sprintf(text, "rfm-regions: 1\nregions: {");
	for (int i = 0; i < RFM_REGION_LEVELS; i++)
		length += (size_t)sprintf(text + length, "%s: {offset: 0, count: 2, fields: {",
					  long_name);
	length += (size_t)sprintf(text + length, "%s: {offset: 0, type: int8, count: 1048576}",
				  long_name);
	for (int i = 0; i < RFM_REGION_LEVELS; i++)
		length += (size_t)sprintf(text + length, "}}");
	strcpy(text + length, "}\n");
	regions = good(text);
	assert_int_equal(rfm_regions_find(regions, long_name, &place, NULL, NULL), 0);
	assert_int_equal(place.length, 1048576ull << RFM_REGION_LEVELS);
	assert_int_equal(rfm_regions_each(long_name, &place, list_value, &told), 42);
	assert_true(strlen(told.text) < RFM_REGION_PATH_MAX);
	rfm_regions_free(regions);
}

/* Puts @text into a new file and returns its name. */
static const char *new_file(const char *text)
{
	static char path[] = "/tmp/regions-test-XXXXXX";
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void files_are_loaded(void **state)
{
	const char *path = new_file(rig);
	struct rfm_regions *regions = rfm_regions_load(path, NULL, NULL);

	(void)state;
	assert_non_null(regions);
	assert_string_equal(regions->path, path);
	rfm_regions_free(regions);
	assert_int_equal(setenv("RFM_REGIONS", path, 1), 0);
	regions = rfm_regions_load(NULL, NULL, NULL);
	assert_non_null(regions);
	rfm_regions_free(regions);
	assert_int_equal(rfm_regions_check(NULL, 0, NULL, NULL), 0);
	assert_int_equal(rfm_regions_check(path, 0x5008, NULL, NULL), 0);
	assert_int_equal(rfm_regions_check(path, 0x5007, NULL, NULL), 1);
	unlink(path);
	assert_null(rfm_regions_load(NULL, NULL, NULL));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(rfm_regions_check(path, 0, NULL, NULL), -1);
	assert_int_equal(errno, ENOENT);
	unsetenv("RFM_REGIONS");
	assert_null(rfm_regions_load("/", NULL, NULL));
	assert_int_equal(errno, EISDIR);
	/* A file without an end. */
	assert_null(rfm_regions_load("/dev/zero", NULL, NULL));
	assert_int_equal(errno, EFBIG);
	assert_null(rfm_regions_parse("test", "", (size_t)RFM_REGIONS_FILE_MAX + 1, NULL, NULL));
	assert_int_equal(errno, EFBIG);
	rfm_regions_free(NULL);
}

static void types_have_names(void **state)
{
	(void)state;
	assert_string_equal(rfm_region_type_name(RFM_REGION_STRUCT), "struct");
	assert_string_equal(rfm_region_type_name(RFM_REGION_UINT16), "uint16");
	assert_string_equal(rfm_region_type_name(RFM_REGION_CHAR), "char");
	assert_null(rfm_region_type_name(RFM_REGION_TYPES));
	assert_null(rfm_region_type_name(UINT32_MAX));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_what_it_says, load_rig, free_rig),
		cmocka_unit_test_setup_teardown(names_are_found, load_rig, free_rig),
		cmocka_unit_test_setup_teardown(wrong_names_are_refused, load_rig, free_rig),
		cmocka_unit_test_setup_teardown(all_values_are_visited, load_rig, free_rig),
		cmocka_unit_test_setup_teardown(bytes_have_names, load_rig, free_rig),
		cmocka_unit_test(no_value_is_beyond_the_place),
		cmocka_unit_test(the_longest_name_has_room),
		cmocka_unit_test(files_are_loaded),
		cmocka_unit_test(types_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
