// SPDX-License-Identifier: MIT
/* Command line: read, write, fill, checksum, watch. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/common/hex.h"
#include "tools/common/parse.h"

#define CHUNK		(64u << 10)

static void print_dump(uint64_t offset, const char *digits)
{
	size_t length = strlen(digits) / 2;

	for (size_t row = 0; row < length; row += 16) {
		printf("%08" PRIx64 ":", offset + row);
		for (size_t i = row; i < row + 16 && i < length; i++)
			printf("%s%.2s", i % 4 ? "" : " ", digits + i * 2);
		putchar('\n');
	}
}

static void print_raw(const char *digits)
{
	uint8_t bytes[CHUNK];
	ssize_t length = hex_bytes(digits, bytes, sizeof(bytes));

	if (length > 0)
		fwrite(bytes, 1, length, stdout);
}

/* Little-endian, as the hardware's words are. */
static void print_word(const char *digits)
{
	fputs("0x", stdout);
	for (size_t at = strlen(digits); at >= 2; at -= 2)
		printf("%.2s", digits + at - 2);
	putchar('\n');
}

static int read_range(struct ask *ask, uint64_t first, uint64_t last, bool raw)
{
	bool word = last - first < 8 && !((last - first + 1) & (last - first)) && !raw;

	while (first <= last) {
		uint64_t end = last - first < CHUNK ? last : first + CHUNK - 1;
		json_t *result = ask_for(ask, "read", json_pack("{s:I, s:I}", "first",
								(json_int_t)first, "last",
								(json_int_t)end));
		const char *digits = json_string_value(json_object_get(result, "data"));

		if (!result)
			return 1;
		if (ask->json)
			print_json(result);
		else if (raw)
			print_raw(digits);
		else if (word)
			print_word(digits);
		else
			print_dump(first, digits);
		json_decref(result);
		first = end + 1;
	}
	return fflush(stdout) ? complain("cannot write the answer") : 0;
}

static bool word_width(const char *text, unsigned int *width)
{
	if (parse_width(text, width))
		return true;
	complain("the width '%s' is not 1, 2, 4 or 8", text);
	return false;
}

int verb_read_c(struct ask *ask, int argc, char **argv)
{
	unsigned int width = 4;
	uint64_t first, last;
	bool raw = false;

	for (int option; (option = getopt(argc, argv, "rw:")) != -1;) {
		if (option == 'r')
			raw = true;
		else if (option != 'w' || !word_width(optarg, &width))
			return STATUS_MISUSED;
	}
	if (argc - optind != 1)
		return misused(ask, "it needs a range");
	if (!word_range(argv[optind], &first, &last))
		return STATUS_MISUSED;
	if (!strpbrk(argv[optind], "-+"))
		last = first + width - 1;
	return read_range(ask, first, last, raw);
}

static char *digits_of(uint64_t value, unsigned int width, char *text)
{
	for (unsigned int i = 0; i < width; i++)
		sprintf(text + i * 2, "%02x", (unsigned int)(value >> 8 * i & 0xff));
	return text;
}

static void add(json_t *sum, json_t *part)
{
	static const char *const names[] = { "bytes", "stores", "dropped", "dark" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		set_number(sum, names[i], number_in(sum, names[i]) + number_in(part, names[i]));
}

static int report_file(struct ask *ask, json_t *sum)
{
	int status = 0;

	if (ask->json)
		status = print_json(sum);
	else
		printf("%" PRIu64 " bytes, %" PRIu64 " frames dropped\n",
		       number_in(sum, "bytes"), number_in(sum, "dropped"));
	tell_dark(ask, sum);
	return complain_of_loss(sum) || status;
}

static int write_file(struct ask *ask, uint64_t first, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	uint8_t *data = malloc(CHUNK);
	json_t *sum = json_object();
	size_t length;
	int status = 0;

	if (!file)
		status = complain("cannot read %s: %s", path, strerror(errno));
	else if (!data)
		status = complain("out of memory");
	while (file && data && !status && (length = fread(data, 1, CHUNK, file))) {
		json_int_t at = first + number_in(sum, "bytes");
		char *text = hex_text(data, length);
		json_t *result = ask_for(ask, "write", json_pack("{s:I, s:s*}", "first", at,
								 "data", text));

		status = !result;
		add(sum, result);
		json_decref(result);
		free(text);
	}
	free(data);
	if (file) {
		if (ferror(file))
			status = complain("cannot read the data: %s", strerror(errno));
		fclose(file);
	}
	if (!status)
		status = report_file(ask, sum);
	json_decref(sum);
	return status;
}

int verb_write_c(struct ask *ask, int argc, char **argv)
{
	uint64_t first, last, value;
	const char *path = NULL;
	unsigned int width = 4;
	char text[17];

	for (int option; (option = getopt(argc, argv, "w:f:")) != -1;) {
		if (option == 'f')
			path = optarg;
		else if (option != 'w' || !word_width(optarg, &width))
			return STATUS_MISUSED;
	}
	if (argc - optind != (path ? 1 : 2))
		return misused(ask, "it needs an address and a value");
	if (!word_range(argv[optind], &first, &last))
		return STATUS_MISUSED;
	if (path)
		return write_file(ask, first, path);
	if (!word_number("the value", argv[optind + 1], 0, width_max(width), &value))
		return STATUS_MISUSED;
	return ask_to_store(ask, json_pack("{s:I, s:s}", "first", (json_int_t)first, "data",
					   digits_of(value, width, text)));
}

int verb_fill_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object();
	unsigned int width = 4;
	uint64_t value;
	char text[17];

	for (int option; (option = getopt(argc, argv, "w:")) != -1;)
		if (option != 'w' || !word_width(optarg, &width))
			return STATUS_MISUSED;
	if (argc - optind != 2)
		return misused(ask, "it needs a range and a value");
	if (!add_range(args, argv[optind]) ||
	    !word_number("the value", argv[optind + 1], 0, width_max(width), &value))
		return STATUS_MISUSED;
	json_object_set_new(args, "data", json_string(digits_of(value, width, text)));
	return ask_to_store(ask, args);
}

int verb_checksum_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object();

	if (argc > 2)
		return misused(ask, "it takes one range");
	if (argc == 2 && !add_range(args, argv[1]))
		return STATUS_MISUSED;
	return ask_simply(ask, args, "0x%08llx\n", "crc32c");
}

static void print_update(const struct ask *ask, json_t *event)
{
	if (!json_object_get(event, "offset"))
		return;		/* it says that the watch has begun */
	printf("0x%08" PRIx64 " %s from %lld seq %" PRIu64 "\n", number_in(event, "offset"),
	       json_string_value(json_object_get(event, "data")),
	       (long long)json_integer_value(json_object_get(event, "source")),
	       number_in(event, "seq"));
}

int verb_watch_c(struct ask *ask, int argc, char **argv)
{
	json_t *args = json_object();
	uint64_t count;

	for (int option; (option = getopt(argc, argv, "n:")) != -1;) {
		if (option != 'n' || !word_number("the count", optarg, 1, INT64_MAX, &count))
			return STATUS_MISUSED;
		set_number(args, "count", count);
	}
	if (argc - optind > 1)
		return misused(ask, "it takes one range");
	if (argc > optind && !add_range(args, argv[optind]))
		return STATUS_MISUSED;
	ask->print = print_update;
	return ask_simply(ask, args, NULL, NULL);
}

