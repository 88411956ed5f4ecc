// SPDX-License-Identifier: MIT
/* Values of regions in the memory of a handle, many at once, each cycle. */
#include "regions_private.h"

#include <stdlib.h>
#include <string.h>

#include "rfm/io.h"

struct value {
	struct rfm_place place;
	char *name;
	uint64_t word;		/* what is put: its bytes */
	uint64_t sent;		/* what was put there last */
	bool is_sent;
};

struct rfm_io {
	struct rfm *rfm;
	struct rfm_regions *own;	/* the file that was read here; NULL: it is the user's */
	struct value *values;
	size_t count;
	size_t room;
	size_t failed;		/* which one, the last time */
};

/* --- which values ---------------------------------------------------------------------- */

/* What is needed while they are found. */
struct search {
	struct rfm_io *io;
	const struct rfm_regions *regions;
	rfm_regions_report *report;
	void *context;
};

static struct value *new_value(struct rfm_io *io)
{
	if (io->count == io->room) {
		size_t room = io->room ? 2 * io->room : 64;
		struct value *more = reallocarray(io->values, room, sizeof(*more));

		if (!more)
			return NULL;
		io->values = more;
		io->room = room;
	}
	return &io->values[io->count];
}

/* Whether it can be loaded at all is found out now, not in a cycle. */
static int add(void *context, const char *name, const struct rfm_place *place)
{
	struct search *search = context;
	struct value *value = new_value(search->io);
	double real;

	if (!value)
		return -1;
	*value = (struct value){ .place = *place, .name = strdup(name) };
	if (!value->name)
		return -1;
	search->io->count++;
	if (!rfm_place_load_real(search->io->rfm, place, &real))
		return 0;
	if (errno != EINVAL)
		return -1;
	return refused(search->regions, search->report, search->context, EINVAL, place->region->line,
		       "%s is no number that this memory has, whole and in one word", name);
}

static int add_named(struct search *search, const char *name)
{
	struct rfm_place place;

	if (rfm_regions_find(search->regions, name, &place, search->report, search->context))
		return -1;
	return rfm_regions_each(name, &place, add, search);
}

struct rfm_io *rfm_io_open(struct rfm *rfm, const struct rfm_regions *regions,
			   const char *const *names, size_t count, rfm_regions_report *report,
			   void *context)
{
	struct rfm_io *io = calloc(1, sizeof(*io));
	struct search search = { .io = io, .regions = regions, .report = report, .context = context };
	int error;

	if (!io)
		return NULL;
	io->rfm = rfm;
	if (!regions)
		search.regions = io->own = rfm_regions_load(NULL, report, context);
	error = search.regions ? 0 : -1;
	for (size_t i = 0; i < count && !error; i++)
		error = add_named(&search, names[i]);
	if (!error)
		return io;
	error = errno;
	rfm_io_close(io);
	errno = error;
	return NULL;
}

void rfm_io_close(struct rfm_io *io)
{
	if (!io)
		return;
	for (size_t i = 0; i < io->count; i++)
		free(io->values[i].name);
	free(io->values);
	rfm_regions_free(io->own);
	free(io);
}

size_t rfm_io_count(const struct rfm_io *io)
{
	return io->count;
}

const char *rfm_io_name(const struct rfm_io *io, size_t index)
{
	return index < io->count ? io->values[index].name : NULL;
}

const struct rfm_place *rfm_io_place(const struct rfm_io *io, size_t index)
{
	return index < io->count ? &io->values[index].place : NULL;
}

size_t rfm_io_failed(const struct rfm_io *io)
{
	return io->failed;
}

/* --- each cycle ------------------------------------------------------------------------ */

static int failed_at(struct rfm_io *io, size_t index)
{
	io->failed = index;
	return -1;
}

int rfm_io_get(struct rfm_io *io, double *reals)
{
	for (size_t i = 0; i < io->count; i++)
		if (rfm_place_load_real(io->rfm, &io->values[i].place, &reals[i]))
			return failed_at(io, i);
	return 0;
}

int rfm_io_put(struct rfm_io *io, const double *reals, uint32_t flags)
{
	int stored = 0;

	if (flags & ~RFM_IO_CHANGED)
		return fail_with(EINVAL);
	for (size_t i = 0; i < io->count; i++)
		if (rfm_value_set_real(&io->values[i].place, reals[i], &io->values[i].word))
			return failed_at(io, i);
	for (size_t i = 0; i < io->count; i++) {
		struct value *value = &io->values[i];

		if ((flags & RFM_IO_CHANGED) && value->is_sent && value->word == value->sent)
			continue;
		value->is_sent = !place_store(io->rfm, &value->place, &value->word);
		if (!value->is_sent)
			return failed_at(io, i);
		value->sent = value->word;
		stored++;
	}
	return stored;
}
