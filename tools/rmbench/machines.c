// SPDX-License-Identifier: MIT
/* What the measurements between machines share: which figures, and the report. */
#include "machines.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rfm.h>

#include "tools/common/parse.h"

#define PORT_MAX	65534	/* the one behind it is used, too */

/* Does a list with commas have this name? */
static bool lists(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return true;
	}
	return false;
}

/* Is there a figure for each word of the list? */
static bool all_known(const char *list, const struct bench_samples *figures, unsigned int count)
{
	char *copy = strdup(list), *rest = copy, *name;
	bool known = true;

	while (copy && known && (name = strsep(&rest, ","))) {
		known = false;
		for (unsigned int i = 0; i < count; i++)
			known |= !strcmp(figures[i].name, name);
		if (!known)
			fprintf(stderr, "rmbench: there is no figure '%s' here\n", name);
	}
	free(copy);
	return known;
}

unsigned int bench_choose(const struct bench_options *options, struct bench_samples *figures,
			  unsigned int count, struct bench_samples **wanted)
{
	unsigned int chosen = 0;

	if (options->only && !all_known(options->only, figures, count))
		return 0;
	for (unsigned int i = 0; i < count; i++)
		if (!options->only || lists(options->only, figures[i].name))
			wanted[chosen++] = &figures[i];
	return chosen;
}

int bench_report(const struct bench_options *options, struct bench_samples **figures,
		 unsigned int count)
{
	json_t *rows = json_array();
	int status = 0;

	if (!options->json)
		samples_header();
	for (unsigned int i = 0; i < count; i++) {
		if (!figures[i]->count) {
			fprintf(stderr, "rmbench: without %s: the cards are on different clocks\n",
				figures[i]->name);
			status = options->only ? 1 : 0;
		} else if (options->json) {
			json_array_append_new(rows, samples_json(figures[i]));
		} else {
			samples_print(figures[i]);
		}
	}
	if (options->json)
		samples_print_json(options->seconds, rows);
	else
		json_decref(rows);
	return status;
}

/* --- the command line -------------------------------------------------------------------- */

static int refuse(const char *word, const char *what)
{
	fprintf(stderr, "rmbench: '%s' is no %s\n", word, what);
	return 2;
}

static int card(const struct bench_options *options, int count, char **words)
{
	uint64_t offset, node = 0;

	if (parse_number(words[1], UINT64_MAX, &offset) || offset % 4096)
		return refuse(words[1], "offset, a multiple of 4096");
	if (count == 3 && parse_number(words[2], RFM_NODES - 1, &node))
		return refuse(words[2], "node, 0 to 255");
	return bench_card(options, words[0], offset, count == 3 ? (int)node : -1);
}

static int parse_address(char **words, struct in_addr *address, uint64_t *port)
{
	if (!inet_aton(words[0], address))
		return refuse(words[0], "IPv4 address, nor a device, which begins with /");
	if (parse_number(words[1], PORT_MAX, port) || !*port)
		return refuse(words[1], "port, 1 to 65534");
	return 0;
}

static int net(const struct bench_options *options, int count, char **words)
{
	struct in_addr address;
	uint64_t port;

	return parse_address(words, &address, &port) ?: bench_net(options, address, port);
}

static int answer(const struct bench_options *options, int count, char **words)
{
	struct in_addr address;
	uint64_t offset, port;

	if (words[0][0] != '/')
		return parse_address(words, &address, &port) ?: bench_net_answer(address, port);
	if (parse_number(words[1], UINT64_MAX, &offset) || offset % 4096)
		return refuse(words[1], "offset, a multiple of 4096");
	return bench_card_answer(words[0], offset);
}

int bench_between(const struct bench_options *options, int count, char **words)
{
	static const struct {
		const char *name;
		int least, most;	/* words behind it */
		int (*run)(const struct bench_options *options, int count, char **words);
	} verbs[] = {
		{ "card", 2, 3, card }, { "net", 2, 2, net }, { "answer", 2, 2, answer },
	};

	for (size_t i = 0; count && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(words[0], verbs[i].name) && count - 1 >= verbs[i].least &&
		    count - 1 <= verbs[i].most)
			return verbs[i].run(options, count - 1, words + 1);
	return -1;
}
