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

void print_raw(const char *digits)
{
	size_t room = strlen(digits) / 2 + 1;
	uint8_t *bytes = malloc(room);
	ssize_t length = bytes ? hex_bytes(digits, bytes, room) : 0;

	if (length > 0)
		fwrite(bytes, 1, length, stdout);
	free(bytes);
}

/* Little-endian, as the hardware's words are. */
void print_word(const char *digits)
{
	fputs("0x", stdout);
	for (size_t at = strlen(digits); at >= 2; at -= 2)
		printf("%.2s", digits + at - 2);
	putchar('\n');
}

int read_range(struct ask *ask, const char *verb, uint64_t first, uint64_t last)
{
	bool word = last - first < 8 && !((last - first + 1) & (last - first)) && !ask->raw;

	while (first <= last) {
		uint64_t end = last - first < CHUNK ? last : first + CHUNK - 1;
		json_t *args = json_copy(ask->args), *result;
		const char *digits;

		set_number(args, "first", first);
		set_number(args, "last", end);
		result = ask_for(ask, verb, args);
		digits = text_in(result, "data");

		if (!result)
			return 1;
		if (ask->json)
			print_json(result);
		else if (ask->raw)
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

int run_read(struct ask *ask, int count, char **words)
{
	uint64_t first, last;

	if (!word_range(words[0], &first, &last))
		return STATUS_MISUSED;
	if (!strpbrk(words[0], "-+"))
		last = first + ask->width - 1;
	return read_range(ask, "read", first, last);
}

static void add(json_t *sum, json_t *part)
{
	static const char *const names[] = { "bytes", "stores", "dropped", "dark" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		set_number(sum, names[i], number_in(sum, names[i]) + number_in(part, names[i]));
}

int write_file(struct ask *ask, const char *verb, uint64_t first)
{
	FILE *file = strcmp(ask->file, "-") ? fopen(ask->file, "re") : stdin;
	uint8_t data[CHUNK];
	int status = 0;
	size_t length;
	json_t *sum;

	if (!file)
		return complain("cannot read %s: %s", ask->file, strerror(errno));
	sum = json_object();
	while (!status && (length = fread(data, 1, sizeof(data), file))) {
		json_t *args = json_copy(ask->args), *result;
		char *text = hex_text(data, length);

		set_number(args, "first", first + number_in(sum, "bytes"));
		json_object_set_new(args, "data", json_string(text));
		free(text);
		result = ask_for(ask, verb, args);
		status = !result;
		add(sum, result);
		json_decref(result);
	}
	if (ferror(file))
		status = complain("cannot read the data: %s", strerror(errno));
	fclose(file);
	if (status) {
		json_decref(sum);
		return status;
	}
	if (!ask->json)
		printf("%" PRIu64 " bytes, %" PRIu64 " frames dropped\n", number_in(sum, "bytes"),
		       number_in(sum, "dropped"));
	return finish(ask, sum);
}

bool add_value(struct ask *ask, const char *name, const char *word)
{
	char text[17];
	uint64_t value;

	if (!word_number("the value", word, 0, width_max(ask->width), &value))
		return false;
	for (unsigned int i = 0; i < ask->width; i++)
		sprintf(text + i * 2, "%02x", (unsigned int)(value >> 8 * i & 0xff));
	json_object_set_new(ask->args, name, json_string(text));
	return true;
}

int run_write(struct ask *ask, int count, char **words)
{
	uint64_t first, last;

	if (count != (ask->file ? 1 : 2))
		return misused(ask, ask->verb->words);
	if (!word_range(words[0], &first, &last))
		return STATUS_MISUSED;
	if (ask->file)
		return write_file(ask, "write", first);
	set_number(ask->args, "first", first);
	return add_value(ask, "data", words[1]) ? run_plain(ask, count, words) : STATUS_MISUSED;
}

int run_fill(struct ask *ask, int count, char **words)
{
	return add_value(ask, "data", words[1]) ? run_range(ask, count, words) : STATUS_MISUSED;
}

void print_checksum(json_t *result)
{
	printf("0x%08" PRIx64 "\n", number_in(result, "crc32c"));
}

void print_update(json_t *event)
{
	if (!json_object_get(event, "source"))
		return;		/* it says that the watch has begun */
	printf("0x%08" PRIx64 " %s from %" PRId64 " seq %" PRIu64, number_in(event, "offset"),
	       text_in(event, "data"), (int64_t)number_in(event, "source"),
	       number_in(event, "seq"));
	if (json_object_get(event, "updates"))
		printf(" updates %" PRIu64, number_in(event, "updates"));
	putchar('\n');
}
