// SPDX-License-Identifier: MIT
/* A file of regions is loaded and checked; complaints are gathered, and told in order. */
#define _GNU_SOURCE 1		/* secure_getenv() */
#include "regions_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPLAINTS_MAX	1000	/* told; of what is wrong behind these only that there is more */

/* --- memory --------------------------------------------------------------------- */

struct chunk {
	struct chunk *next;
	max_align_t memory[];
};

/* All zero; NULL, which is noted, if there is none. */
void *job_get(struct job *job, struct arena *arena, size_t size)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk) + size);

	if (!chunk) {
		job->no_memory = true;
		return NULL;
	}
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk->memory;
}

char *job_copy(struct job *job, struct arena *arena, const char *text)
{
	char *copy = job_get(job, arena, strlen(text) + 1);

	return copy ? strcpy(copy, text) : NULL;
}

static void arena_free(struct arena *arena)
{
	while (arena->chunks) {
		struct chunk *chunk = arena->chunks;

		arena->chunks = chunk->next;
		free(chunk);
	}
}

/* --- complaints ------------------------------------------------------------------- */

/*
 * What a file has in it must not drive the terminal that shows it. What is not ASCII
 * may have been cut in the middle of a character.
 */
static void sentence_print(char *sentence, size_t size, const char *format, va_list args)
{
	vsnprintf(sentence, size, format, args);
	for (char *at = sentence; *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at >= 0x7f)
			*at = '?';
}

int refused(const struct rfm_regions *regions, rfm_regions_report *report, void *context, int error,
	    uint32_t line, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	va_list args;

	if (report) {
		va_start(args, format);
		sentence_print(sentence, sizeof(sentence), format, args);
		va_end(args);
		report(context, &(struct rfm_regions_complaint){
			.path = regions->path, .sentence = sentence, .line = line,
			.fault = RFM_REGIONS_FORM });
	}
	return fail_with(error);
}

void regions_complain(struct job *job, uint32_t line, uint32_t fault, const char *format, ...)
{
	char sentence[SENTENCE_MAX];
	struct rfm_regions_complaint *more;
	char *copy;
	va_list args;

	if (job->count > COMPLAINTS_MAX)
		return;
	va_start(args, format);
	sentence_print(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (job->count == COMPLAINTS_MAX) {
		strcpy(sentence, "there is more that is wrong");
		line = UINT32_MAX;
	}
	if (job->count == job->room) {
		more = realloc(job->complaints, (job->room * 2 + 16) * sizeof(*more));
		if (!more) {
			job->no_memory = true;
			return;
		}
		job->complaints = more;
		job->room = job->room * 2 + 16;
	}
	copy = job_copy(job, &job->scratch, sentence);
	if (!copy)
		return;
	job->complaints[job->count++] = (struct rfm_regions_complaint){
		.path = job->regions->pub.path, .sentence = copy, .line = line, .fault = fault,
	};
}

static int by_line(const void *one, const void *other)
{
	const struct rfm_regions_complaint *a = one, *b = other;

	return a->line < b->line ? -1 : a->line > b->line;
}

/* --- reading ------------------------------------------------------------------------ */

static const char *default_path(const char *path)
{
	if (!path)
		path = secure_getenv("RFM_REGIONS");
	return path && *path ? path : RFM_REGIONS_DEFAULT;
}

/* Returns the text, to be freed, or NULL with errno. */
static char *read_file(const char *path, size_t *length)
{
	int error = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char *text = NULL, *bigger;
	size_t size = 0;
	ssize_t got = 1;

	if (fd < 0)
		return NULL;
	for (*length = 0; got && !error; *length += got > 0 ? (size_t)got : 0) {
		if (*length == size) {
			size = size ? 2 * size : 65536;
			bigger = realloc(text, size);
			if (!bigger) {
				error = ENOMEM;
				break;
			}
			text = bigger;
		}
		got = read(fd, text + *length, size - *length);
		if (got < 0 && errno != EINTR)
			error = errno;
		else if (*length > RFM_REGIONS_FILE_MAX)
			error = EFBIG;
	}
	close(fd);
	if (!error)
		return text;
	free(text);
	errno = error;
	return NULL;
}

/* Tells what there is to tell. Returns how much, or -1 with errno. */
static int job_end(struct job *job, rfm_regions_report *report, void *context)
{
	int count = (int)job->count;

	/* glibc's qsort() keeps the order of equals as long as there is memory. */
	if (count && !job->no_memory)
		qsort(job->complaints, job->count, sizeof(*job->complaints), by_line);
	for (int i = 0; i < count && report && !job->no_memory; i++) {
		if (job->complaints[i].line == UINT32_MAX)
			job->complaints[i].line = 0;
		report(context, &job->complaints[i]);
	}
	free(job->complaints);
	arena_free(&job->scratch);
	return job->no_memory ? fail_with(ENOMEM) : count;
}

/*
 * Makes @regions of a text, as far as it is good. @memory_size: check the layout too, in so much
 * memory; 0: as the text says. Returns how much is wrong, or -1 with errno.
 */
static int judge(struct rfm_regions **regions, const char *path, const char *text, size_t length,
		 const uint64_t *memory_size, rfm_regions_report *report, void *context)
{
	struct regions *made = calloc(1, sizeof(*made));
	struct job job = { .regions = made };
	const struct item *file;

	*regions = NULL;
	if (!made)
		return fail_with(ENOMEM);
	*regions = &made->pub;
	made->pub.path = job_copy(&job, &made->arena, path);
	made->pub.description = "";
	file = job.no_memory ? NULL : yaml_read(&job, text, length);
	if (file) {
		decode(&job, file);
		layout_sizes(&job);
	}
	if (memory_size)
		layout_check(&job, *memory_size ? *memory_size : (*regions)->memory_size);
	return job_end(&job, report, context);
}

/* The same of a file. */
static int judge_file(struct rfm_regions **regions, const char *path, const uint64_t *memory_size,
		      rfm_regions_report *report, void *context)
{
	int wrong, error;
	size_t length;
	char *text;

	*regions = NULL;
	path = default_path(path);
	text = read_file(path, &length);
	if (!text)
		return -1;
	wrong = judge(regions, path, text, length, memory_size, report, context);
	error = errno;
	free(text);
	errno = error;
	return wrong;
}

/* @regions, unless something is @wrong with them. */
static struct rfm_regions *only_good(struct rfm_regions *regions, int wrong)
{
	int error = wrong < 0 ? errno : EINVAL;

	if (!wrong)
		return regions;
	rfm_regions_free(regions);
	errno = error;
	return NULL;
}

struct rfm_regions *rfm_regions_parse(const char *path, const char *text, size_t length,
				      rfm_regions_report *report, void *context)
{
	struct rfm_regions *regions;
	int wrong;

	if (length > RFM_REGIONS_FILE_MAX) {
		errno = EFBIG;
		return NULL;
	}
	wrong = judge(&regions, path, text, length, NULL, report, context);
	return only_good(regions, wrong);
}

struct rfm_regions *rfm_regions_load(const char *path, rfm_regions_report *report, void *context)
{
	struct rfm_regions *regions;
	int wrong = judge_file(&regions, path, NULL, report, context);

	return only_good(regions, wrong);
}

int rfm_regions_check(const char *path, uint64_t memory_size, rfm_regions_report *report,
		      void *context)
{
	struct rfm_regions *regions;
	int wrong = judge_file(&regions, path, &memory_size, report, context);
	int error = errno;

	rfm_regions_free(regions);
	errno = error;
	return wrong;
}

void rfm_regions_free(struct rfm_regions *regions)
{
	struct regions *all = (struct regions *)regions;

	if (!all)
		return;
	arena_free(&all->arena);
	free(all);
}
