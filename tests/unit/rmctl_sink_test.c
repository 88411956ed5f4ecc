// SPDX-License-Identifier: MIT
/* links: tools/rmctl/memory/files.c tools/rmctl/cli/out.c */
/* links: tools/rmctl/cli/text.c tools/rmctl/cli/stop.c */
/* rmctl save: a file is there as a whole, or as it was. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* asprintf(3) */
#endif
#include "tests/unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/rmctl/memory/files.h"

static const struct verb verb = { .name = "save" };
static const struct command cmd = { .verb = &verb };
static char folder[] = "/tmp/rfm-sink-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int leave(void **state)
{
	(void)state;
	return chdir("/") || rmdir(folder);
}

static void make(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(name, mode);
}

static void has(const char *name, const char *text)
{
	char read[100] = "";
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	assert_int_equal(fread(read, 1, sizeof(read) - 1, file), strlen(text));
	fclose(file);
	assert_string_equal(read, text);
}

/* So many files are in the folder: nothing is left beside them. */
static void has_files(int expected)
{
	DIR *listing = opendir(".");
	int files = 0;

	assert_non_null(listing);
	for (const struct dirent *entry; (entry = readdir(listing));)
		files += *entry->d_name != '.';
	closedir(listing);
	assert_int_equal(files, expected);
}

static void begin(struct sink *sink, const char *name)
{
	assert_int_equal(sink_open(&cmd, sink, name), STATUS_OK);
	assert_int_equal(sink_write(&cmd, sink, "new", 3), STATUS_OK);
	assert_int_equal(sink->written, 3);
}

static void a_file_is_replaced_at_the_end(void **state)
{
	struct sink sink;
	struct stat st;

	(void)state;
	make("old", "good", 0640);
	assert_int_equal(symlink("old", "link"), 0);
	begin(&sink, "link");
	has("old", "good");
	assert_int_equal(sink_close(&cmd, &sink, STATUS_OK), STATUS_OK);
	has("old", "new");
	assert_int_equal(stat("old", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	has_files(2);
	unlink("link");
	unlink("old");
}

static void a_new_file_has_the_mode_of_others(void **state)
{
	mode_t before = umask(027);
	struct sink sink;
	struct stat st;

	(void)state;
	begin(&sink, "fresh");
	assert_int_equal(access("fresh", F_OK), -1);
	assert_int_equal(sink_close(&cmd, &sink, STATUS_OK), STATUS_OK);
	umask(before);
	has("fresh", "new");
	assert_int_equal(stat("fresh", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	unlink("fresh");
	has_files(0);
}

static void what_fails_changes_nothing(void **state)
{
	struct sink sink;

	(void)state;
	make("old", "good", 0600);
	begin(&sink, "old");
	assert_int_equal(sink_close(&cmd, &sink, STATUS_FAILED), STATUS_FAILED);
	has("old", "good");
	has_files(1);
	begin(&sink, "fresh");
	assert_int_equal(sink_close(&cmd, &sink, STATUS_FAILED), STATUS_FAILED);
	has_files(1);
	/* It cannot take its place. */
	begin(&sink, "fresh");
	assert_int_equal(mkdir("fresh", 0700), 0);
	assert_int_equal(sink_close(&cmd, &sink, STATUS_OK), STATUS_FAILED);
	has_files(2);
	rmdir("fresh");
	unlink("old");
	assert_int_equal(sink_open(&cmd, &sink, "nowhere/fresh"), STATUS_FAILED);
	assert_int_equal(sink_open(&cmd, &sink, "."), STATUS_FAILED);
	has_files(0);
}

static void what_is_no_regular_file_is_written(void **state)
{
	struct sink sink;
	struct stat st;

	(void)state;
	begin(&sink, "/dev/null");
	assert_null(sink.temporary);
	assert_int_equal(sink_close(&cmd, &sink, STATUS_FAILED), STATUS_FAILED);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	/* Where a link leads to nothing, nothing good can be lost. */
	assert_int_equal(symlink("target", "link"), 0);
	begin(&sink, "link");
	assert_int_equal(sink_close(&cmd, &sink, STATUS_OK), STATUS_OK);
	has("target", "new");
	unlink("target");
	unlink("link");
	has_files(0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_replaced_at_the_end),
		cmocka_unit_test(a_new_file_has_the_mode_of_others),
		cmocka_unit_test(what_fails_changes_nothing),
		cmocka_unit_test(what_is_no_regular_file_is_written),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
