/* SPDX-License-Identifier: MIT */
/* Operations at one node, for tests: asked, and the ring runs until they have ended. */
#ifndef REMOTE_ASK_H
#define REMOTE_ASK_H

#include "tests/unit/test.h"
#include "tests/unit/rig.h"

static unsigned int ended;

static void on_done(struct rfm_remote_request *request)
{
	ended++;
}

__attribute__((unused))
static struct rfm_remote_request begin(struct rfm_remote_request request)
{
	request.done = on_done;
	return request;
}

/* Ask, and let the ring run until it has ended. */
static enum rfm_remote_result ask(struct rig *rig, int peer, struct rfm_remote_request *request)
{
	unsigned int before = ended;

	request->done = on_done;
	rfm_remote_ask(rig->peers[peer].remote, request, rig->now);
	rig_settle(rig);
	for (int i = 0; ended == before && i < 2000; i++)
		rig_advance(rig, 10 * MS);
	assert_int_equal(ended, before + 1);
	return request->result;
}

__attribute__((unused))
static void fill(struct rig *rig, int peer, uint64_t seed)
{
	for (int i = 0; i < RIG_MEMORY; i++)
		rig->peers[peer].memory[i] = test_random(&seed);
}

#endif
