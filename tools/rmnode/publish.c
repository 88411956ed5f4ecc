// SPDX-License-Identifier: MIT
/* --publish: the regions, what is stored into them, and who is told. */
#include "publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LAST_NS	5000000000ull	/* for the last values, at most */

static const struct outlet_kind *const kinds[] = { &openmetrics_outlet, &mqtt_outlet };

static void complain_of(void *context, const struct rfm_regions_complaint *complaint)
{
	unsigned int *told = context;

	++*told;
	complain("%s:%u: %s", complaint->path, complaint->line, complaint->sentence);
}

static bool load_regions(struct publisher *publisher, const struct member_options *options)
{
	char error[VALUES_SENTENCE];
	unsigned int told = 0;

	publisher->regions = rfm_regions_load(options->regions, complain_of, &told);
	if (!publisher->regions)
		return told ? false : refuse("cannot read the regions %s: %s", options->regions ?:
					     getenv("RFM_REGIONS") ?: RFM_REGIONS_DEFAULT, strerror(errno));
	publisher->values = values_new(publisher->regions, options->config.memory_size, error);
	return publisher->values || refuse("%s", error);
}

static bool open_outlet(struct publisher *publisher, const char *word)
{
	char error[CONTROL_SENTENCE];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t length = strlen(kinds[i]->prefix);
		struct outlet *outlet;

		if (strncmp(word, kinds[i]->prefix, length))
			continue;
		outlet = kinds[i]->open(word + length, error);
		if (!outlet)
			return refuse("%s", error);
		outlet->kind = kinds[i];
		outlet->publisher = publisher;
		outlet->word = word;
		publisher->outlet[publisher->count++] = outlet;
		return true;
	}
	return refuse("what is published goes to openmetrics: or mqtt:, not to '%s'", word);
}

/* There is no log yet. */
static void say(void *opaque, const char *sentence)
{
	complain("%s", sentence);
}

static bool make_metrics(struct publisher *publisher)
{
	char error[VALUES_SENTENCE];

	for (unsigned int i = 0; i < publisher->count; i++)
		if (publisher->outlet[i]->kind == &openmetrics_outlet && !publisher->metrics) {
			publisher->metrics = metrics_new(publisher->values, say, NULL, error);
			if (!publisher->metrics)
				return refuse("%s", error);
		}
	return true;
}

static bool check_outlets(const struct publisher *publisher)
{
	char error[CONTROL_SENTENCE];

	for (unsigned int i = 0; i < publisher->count; i++) {
		const struct outlet *outlet = publisher->outlet[i];

		if (outlet->kind->check && !outlet->kind->check(outlet, error))
			return refuse("%s", error);
	}
	return true;
}

bool publish_load(struct rmnode *node, const struct member_options *options)
{
	struct publisher *publisher = calloc(1, sizeof(*publisher));

	if (!publisher)
		return refuse("no memory");
	node->publisher = publisher;
	publisher->node = node;
	publisher->watch = -1;
	for (unsigned int i = 0; i < options->published; i++)
		if (!open_outlet(publisher, options->publish[i]))
			return false;
	return load_regions(publisher, options) && check_outlets(publisher) &&
	       make_metrics(publisher);
}

static void tell_outlets(void *opaque, unsigned int number)
{
	struct publisher *publisher = opaque;

	for (unsigned int i = 0; i < publisher->count; i++)
		if (publisher->outlet[i]->kind->stored)
			publisher->outlet[i]->kind->stored(publisher->outlet[i], number);
}

static void on_update(void *opaque, const struct rfmring_update *update)
{
	struct publisher *publisher = opaque;

	values_stored(publisher->values, update->offset, update->length, update->node,
		      update->monotonic_ns, tell_outlets, publisher);
}

void publish_stored(struct rmnode *node, uint64_t offset, uint64_t length, uint64_t now)
{
	struct publisher *publisher = node->publisher;

	if (publisher)
		values_stored(publisher->values, offset, length, node->id, now, tell_outlets, publisher);
}

bool publish_begin(struct rmnode *node)
{
	struct publisher *publisher = node->publisher;
	char error[CONTROL_SENTENCE];

	if (!publisher)
		return true;
	publisher->values->memory = rfmring_memory(node->ring);
	publisher->watch = rfmring_watch(node->ring, 0, rfmring_memory_size(node->ring), on_update,
					 publisher);
	if (publisher->watch < 0)
		return refuse("no memory");
	for (unsigned int i = 0; i < publisher->count; i++)
		if (!publisher->outlet[i]->kind->begin(publisher->outlet[i], error))
			return refuse("%s", error);
	return true;
}

static bool is_busy(const struct publisher *publisher)
{
	bool busy = false;

	for (unsigned int i = 0; i < publisher->count; i++)
		if (publisher->outlet[i]->kind->busy)
			busy |= publisher->outlet[i]->kind->busy(publisher->outlet[i]);
	return busy;
}

void publish_end(struct rmnode *node)
{
	struct publisher *publisher = node->publisher;
	uint64_t end = rfm_now() + LAST_NS;

	if (!publisher)
		return;
	if (publisher->watch >= 0)
		rfmring_unwatch(node->ring, publisher->watch);
	while (is_busy(publisher) && rfm_now() < end)
		rfm_host_run_once(node->ring->host, end);
	for (unsigned int i = 0; i < publisher->count; i++)
		publisher->outlet[i]->kind->close(publisher->outlet[i]);
	metrics_free(publisher->metrics);
	values_free(publisher->values);
	rfm_regions_free(publisher->regions);
	free(publisher);
	node->publisher = NULL;
}

json_t *publish_json(const struct rmnode *node)
{
	const struct publisher *publisher = node->publisher;
	json_t *object;

	if (!publisher)
		return NULL;
	object = json_object();
	for (unsigned int i = 0; i < publisher->count; i++)
		json_object_set_new(object, publisher->outlet[i]->word,
				    publisher->outlet[i]->kind->json(publisher->outlet[i]));
	return object;
}
