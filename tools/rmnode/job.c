// SPDX-License-Identifier: MIT
/*
 * Jobs: what goes on for a while, in the loop between everything else. A job never
 * waits; when there is no room for a store, it is told when there is, or drops the
 * store at the end of the stall limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "rmnode.h"

#define STEPS_A_TURN	64

static enum step wait_step(struct job *job, uint64_t now)
{
	if (!job->over && now < job->when)
		return STEP_WAIT;
	job_end(job, job->over ? NULL : job->kind->late);
	return STEP_DONE;
}

static bool job_poll(void *opaque, uint64_t now)
{
	struct job *job = opaque;
	enum step (*next)(struct job *job, uint64_t now) = job->kind->step ?: wait_step;
	unsigned int did = 0;
	enum step step = STEP_DID;

	while (did < STEPS_A_TURN && (step = next(job, now)) == STEP_DID)
		did++;
	if (step == STEP_DID || step == STEP_DONE)	/* done: it is no more */
		return true;
	if (step == STEP_FULL)
		job->when = rfmring_backpressure_end(job->ring);
	rfm_poller_deactivate(&job->poller);
	rfm_timer_set(job->node->loop, &job->timer, job->when);
	return did;
}

static void job_time(void *opaque, uint64_t now)
{
	struct job *job = opaque;

	rfm_poller_activate(&job->poller);
}

static void job_gone(void *context)
{
	struct job *job = context;

	job->request = NULL;
	job_end(job, NULL);
}

static void there_is_room(void *opaque)
{
	struct rmnode *node = opaque;

	for (struct job *job = TAILQ_FIRST(&node->jobs); job; job = TAILQ_NEXT(job, entry))
		if (job->kind->step)
			rfm_poller_activate(&job->poller);
}

void *job_new(struct rmnode *node, struct control_request *request, size_t size,
	      const struct job_kind *kind)
{
	struct job *job = control_alloc(request, size);

	if (!job)
		return NULL;
	job->kind = kind;
	job->node = node;
	job->request = request;
	job->ring = node->ring;
	job->when = RFM_NEVER;
	job->poller = (struct rfm_poller){ .poll = job_poll, .opaque = job };
	job->timer = (struct rfm_timer){ .fire = job_time, .opaque = job };
	return job;
}

void job_begin(struct job *job)
{
	TAILQ_INSERT_TAIL(&job->node->jobs, job, entry);
	rfm_poller_add(job->node->loop, &job->poller);
	rfm_poller_activate(&job->poller);
	rfmring_on_room(job->ring, there_is_room, job->node);
	control_on_gone(job->request, job_gone, job);
}

void job_end(struct job *job, const char *error)
{
	TAILQ_REMOVE(&job->node->jobs, job, entry);
	rfm_poller_remove(&job->poller);
	rfm_timer_set(job->node->loop, &job->timer, RFM_NEVER);
	if (job->request && error)
		control_fail(job->request, "%s", error);
	else if (job->request)
		control_done(job->request, job->kind->result ? job->kind->result(job) : NULL);
	if (job->kind->release)
		job->kind->release(job);
	free(job);
}

void job_over(struct job *job)
{
	job->over = true;
	rfm_poller_activate(&job->poller);
}

void jobs_end(struct rmnode *node)
{
	struct job *job, *next;

	for (job = TAILQ_FIRST(&node->jobs); job; job = next) {
		next = TAILQ_NEXT(job, entry);
		if (job->kind->step)
			job_end(job, "the node has been stopped");
	}
}

uint64_t job_dark_stores(const struct job *job)
{
	return atomic_load_explicit(&job->ring->node.insert.dark, memory_order_relaxed);
}

enum step job_store(struct job *job, uint32_t offset, const void *data, unsigned int length,
		    uint64_t now)
{
	uint64_t dark = job_dark_stores(job);

	if (rfmring_store_now(job->ring, offset, data, length, now)) {
		if (errno == EAGAIN)
			return STEP_FULL;
		job->dropped++;
	}
	if (job->ring == job->node->ring)
		publish_stored(job->node, offset, length, now);
	job->dark += job_dark_stores(job) != dark;
	job->stores++;
	return STEP_DID;
}
