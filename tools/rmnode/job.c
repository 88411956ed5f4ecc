// SPDX-License-Identifier: MIT
/*
 * Jobs: stores that go on for a while, in the loop between everything else. A
 * job never waits; when there is no room for a store, it is told when there
 * is, or drops the store at the end of the stall limit.
 */
#include <errno.h>
#include <stdlib.h>

#include "rmnode.h"

#define STEPS_A_TURN	64

static bool job_poll(void *opaque, uint64_t now)
{
	struct job *job = opaque;
	unsigned int did = 0;
	enum step step = STEP_DID;

	while (did < STEPS_A_TURN && (step = job->step(job, now)) == STEP_DID)
		did++;
	switch (step) {
	case STEP_DID:
	case STEP_DONE:	/* it is no more */
		return true;
	case STEP_FULL:
		job->when = rfmring_backpressure_end(job->ring);
		break;
	case STEP_WAIT:
		break;
	}
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

	for (struct job *job = LIST_FIRST(&node->jobs); job; job = LIST_NEXT(job, entry))
		rfm_poller_activate(&job->poller);
}

void job_begin(struct rmnode *node, struct job *job, struct control_request *request)
{
	job->node = node;
	job->request = request;
	job->poller = (struct rfm_poller){ .poll = job_poll, .opaque = job };
	job->timer = (struct rfm_timer){ .fire = job_time, .opaque = job };
	LIST_INSERT_HEAD(&node->jobs, job, entry);
	rfm_poller_add(node->loop, &job->poller);
	rfm_poller_activate(&job->poller);
	rfmring_on_room(job->ring, there_is_room, node);
	control_on_gone(request, job_gone, job);
}

void job_end(struct job *job, const char *error)
{
	LIST_REMOVE(job, entry);
	rfm_poller_remove(&job->poller);
	rfm_timer_set(job->node->loop, &job->timer, RFM_NEVER);
	if (job->request && error)
		control_fail(job->request, "%s", error);
	else if (job->request)
		control_done(job->request, job->result(job));
	job->release(job);
}

void jobs_end(struct rmnode *node)
{
	while (!LIST_EMPTY(&node->jobs))
		job_end(LIST_FIRST(&node->jobs), "the node has been stopped");
}

void job_again(struct job *job)
{
	rfm_poller_activate(&job->poller);
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
	job->dark += job_dark_stores(job) != dark;
	job->stores++;
	return STEP_DID;
}
