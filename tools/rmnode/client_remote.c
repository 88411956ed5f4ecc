// SPDX-License-Identifier: MIT
/* Command line: get, put, cas, add, export. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "tools/common/hex.h"

#define TEXT_MAX	(500u << 10)	/* bytes, which a request has as digits */

static bool add_node(struct ask *ask, const char *word)
{
	uint64_t node;

	if (!word_number("the node", word, 0, RFMRING_NODES - 1, &node))
		return false;
	set_number(ask->args, "node", node);
	return true;
}

/* The first two words. */
static bool add_place(struct ask *ask, char **words, uint64_t *first, uint64_t *last)
{
	return add_node(ask, words[0]) && word_range(words[1], first, last);
}

int run_get(struct ask *ask, int count, char **words)
{
	uint64_t first, last;

	if (!add_place(ask, words, &first, &last))
		return STATUS_MISUSED;
	if (!strpbrk(words[1], "-+"))
		last = first + ask->width - 1;
	return read_range(ask, "get", first, last);
}

int run_put(struct ask *ask, int count, char **words)
{
	uint64_t first, last;

	if (count != (ask->file ? 2 : 3))
		return misused(ask, ask->verb->words);
	if (!add_place(ask, words, &first, &last))
		return STATUS_MISUSED;
	if (ask->file)
		return write_file(ask, "put", first);
	set_number(ask->args, "first", first);
	return add_value(ask, "data", words[2]) ? run_plain(ask, count, words) : STATUS_MISUSED;
}

static bool add_word(struct ask *ask, char **words)
{
	uint64_t first, last;

	if (ask->width != 4 && ask->width != 8)
		return refuse("a word has 4 or 8 bytes here, not %u", ask->width);
	if (!add_place(ask, words, &first, &last))
		return false;
	set_number(ask->args, "first", first);
	return true;
}

int run_cas(struct ask *ask, int count, char **words)
{
	if (!add_word(ask, words) || !add_value(ask, "expected", words[2]) ||
	    !add_value(ask, "data", words[3]))
		return STATUS_MISUSED;
	return run_plain(ask, count, words);
}

int run_add(struct ask *ask, int count, char **words)
{
	if (!add_word(ask, words) || !add_value(ask, "data", words[2]))
		return STATUS_MISUSED;
	return run_plain(ask, count, words);
}

int run_export(struct ask *ask, int count, char **words)
{
	if (!add_range(ask->args, words[0]))
		return STATUS_MISUSED;
	json_object_set_new(ask->args, "rights", json_string(words[1]));
	return run_plain(ask, count, words);
}

void print_old(json_t *result)
{
	if (json_object_get(result, "done"))
		printf("%" PRIu64 " times, unknown %" PRIu64 "\n", number_in(result, "done"),
		       number_in(result, "unknown"));
	else
		print_word(text_in(result, "old"));
}

int judge_cas(json_t *result)
{
	return json_is_true(json_object_get(result, "changed")) ? 0 :
	       complain("the word was another: nothing has been changed");
}

int run_resync(struct ask *ask, int count, char **words)
{
	if (count && json_object_get(ask->args, "as_is")) {
		complain("a node gives nothing to a memory that is right as it is");
		return STATUS_MISUSED;
	}
	if (count && !add_node(ask, words[0]))
		return STATUS_MISUSED;
	return run_plain(ask, count, words);
}

void print_resync(json_t *result)
{
	if (!number_in(result, "bytes"))
		return;
	printf("%" PRIu64 " bytes are as at node %" PRIu64 "\n", number_in(result, "bytes"),
	       number_in(result, "donor"));
}

/* --- messages ------------------------------------------------------------------------ */

static bool add_port(struct ask *ask, const char *word)
{
	uint64_t port;

	if (!word_number("the port", word, 0, RFMRING_PORTS - 1, &port))
		return false;
	set_number(ask->args, "port", port);
	return true;
}

/* All of the file, to be freed; NULL after a sentence was printed. */
static uint8_t *read_file(const char *path, size_t *length)
{
	const bool named = strcmp(path, "-");
	FILE *file = named ? fopen(path, "re") : stdin;
	uint8_t *data = malloc(TEXT_MAX + 1);
	bool good;

	*length = file && data ? fread(data, 1, TEXT_MAX + 1, file) : 0;
	good = file && data && !ferror(file);
	if (!good)
		complain("cannot read %s: %s", path, strerror(errno));
	else if (!*length || *length > TEXT_MAX)
		good = refuse("a message has 1 to %u bytes here", TEXT_MAX);
	if (file && named)
		fclose(file);
	if (good)
		return data;
	free(data);
	return NULL;
}

int run_message(struct ask *ask, int count, char **words)
{
	uint8_t *data = NULL;
	size_t length;
	char *text;

	if (count != (ask->file ? 2 : 3))
		return misused(ask, ask->verb->words);
	if (!add_node(ask, words[0]) || !add_port(ask, words[1]))
		return STATUS_MISUSED;
	if (ask->file) {
		data = read_file(ask->file, &length);
		if (!data)
			return 1;
		text = hex_text(data, length);
	} else {
		text = hex_text((const uint8_t *)words[2], strlen(words[2]));
	}
	json_object_set_new(ask->args, "data", json_string(text));
	free(text);
	free(data);
	return run_plain(ask, count, words);
}

int run_receive(struct ask *ask, int count, char **words)
{
	json_t *object = NULL;

	if (!add_port(ask, words[0]))
		return STATUS_MISUSED;
	if (!send_request(ask, "receive", ask->args))
		return 1;
	while (receive(ask, &object) == CONTROL_EVENT) {
		const char *digits = text_in(object, "data");

		if (ask->json) {
			print_json(object);
		} else if (digits) {
			if (!ask->raw)
				printf("%" PRIu64 ": ", number_in(object, "from"));
			print_raw(digits);
			if (!ask->raw)
				putchar('\n');
			fflush(stdout);
		}
		json_decref(object);
	}
	return object ? finish(ask, object) : 1;
}
