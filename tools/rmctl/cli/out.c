// SPDX-License-Identifier: MIT
/* Everything rmctl prints goes through here: messages, JSON, human units. */
#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int refuse(const struct command *cmd, int status, const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("rmctl: ", stderr);
	if (cmd->card && *cmd->card)
		fprintf(stderr, "%s: ", cmd->card);
	if (cmd->verb)
		fprintf(stderr, "%s: ", cmd->verb->name);
	if (cmd->file)
		fprintf(stderr, "%s:%u: ", cmd->file, cmd->line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (status == STATUS_MISUSED)
		fprintf(stderr, " (see 'rmctl %s%s--help')", cmd->verb ? cmd->verb->name : "",
			cmd->verb ? " " : "");
	fputc('\n', stderr);
	return status;
}

/* What was printed has reached standard output: a full disk must not look like success. */
int out_flush(const struct command *cmd)
{
	if (!fflush(stdout) && !ferror(stdout))
		return STATUS_OK;
	failed(cmd, "cannot write to standard output: %s", strerror(errno));
	clearerr(stdout);
	return STATUS_FAILED;
}

/* Prints @object on a line of its own, at once, and releases it. */
int out_json(const struct command *cmd, json_t *object)
{
	char *json = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (!json)
		return failed(cmd, "out of memory while writing JSON");
	json_put(json, stdout);
	free(json);
	putchar('\n');
	return out_flush(cmd);
}

/* Adds a member to @object, or ends the program: half an object must not look like all of it. */
void json_add(const struct command *cmd, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		exit(failed(cmd, "out of memory while writing JSON"));
}

/* @memory; the program ends without any. */
void *needed(const struct command *cmd, void *memory)
{
	if (memory)
		return memory;
	exit(failed(cmd, "out of memory"));
}

/* @list with room, all zero, for one more behind its @count elements of @size bytes. */
void *grown(const struct command *cmd, void *list, size_t count, size_t size)
{
	char *longer = needed(cmd, reallocarray(list, count + 1, size));

	memset(longer + count * size, 0, size);
	return longer;
}

/* A number, or null if @condition says that it is not known or does not apply. */
json_t *json_known(bool condition, uint64_t value)
{
	return condition ? json_integer((json_int_t)value) : json_null();
}

/*
 * Contents of memory are strings in JSON: a 64-bit value does not survive the
 * floating point of most JSON readers.
 */
json_t *json_hex(uint64_t value, unsigned int width)
{
	return json_sprintf("0x%0*" PRIx64, (int)width * 2, value);
}

/* The names of the bits that are set: names[n] is that of bit n. */
json_t *bits_json(uint64_t bits, const char *const *names, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		if (bits >> i & 1)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

/* The same for people, @first before the first of them. */
void bits_print(uint64_t bits, const char *const *names, size_t count, const char *first,
		const char *between)
{
	for (size_t i = 0; i < count; i++) {
		if (!(bits >> i & 1))
			continue;
		printf("%s%s", first, names[i]);
		first = between;
	}
}
