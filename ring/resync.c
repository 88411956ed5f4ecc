// SPDX-License-Identifier: MIT
#include "ring/resync.h"

#include <stdlib.h>

#define AUTO_AGAIN_NS	100000000u

#define WORD		4u

/* The complete node but @tried whose frames come over the fewest links; -1: there is none. */
static int nearest(const struct rfm_node *node, const uint8_t *tried)
{
	int found = -1;

	for (int id = 0; id < RFM_RING_NODES; id++) {
		const struct rfm_source *source = &node->sources[id];

		if (id == node->config.id || tried[id / 8] & 1u << id % 8)
			continue;
		if (source->present && source->met == source->current.incarnation &&
		    !source->incomplete && !source->paused &&
		    (found < 0 || source->hops < node->sources[found].hops))
			found = id;
	}
	return found;
}

static void note_books(struct rfm_resync *resync)
{
	const struct rfm_node *node = resync->remote->node;

	resync->missed = node->stats.missed;
	resync->held_lost = node->stats.held_lost;
	resync->epoch = node->epoch;
}

static bool books_have_changed(const struct rfm_resync *resync)
{
	const struct rfm_node *node = resync->remote->node;

	return resync->missed != node->stats.missed || resync->held_lost != node->stats.held_lost ||
	       resync->epoch != node->epoch || node->sources[resync->donor].incomplete;
}

static void cancel_lanes(struct rfm_resync *resync)
{
	for (unsigned int i = 0; i < RFM_RESYNC_LANES; i++) {
		struct rfm_resync_lane *lane = &resync->lanes[i];

		if (!lane->busy)
			continue;
		lane->busy = false;
		rfm_remote_cancel(resync->remote, &lane->request);
	}
}

static void end(struct rfm_resync *resync, enum rfm_remote_result result)
{
	struct rfm_node *node = resync->remote->node;

	resync->result = result;
	resync->doubtful = resync->unsure || books_have_changed(resync);
	cancel_lanes(resync);
	if (result == RFM_REMOTE_OK && !resync->doubtful && !resync->first &&
	    resync->last == node->config.memory_size - 1)
		rfm_node_set_complete(node, resync->remote->now);
	resync->done(resync);
}

static void begin_with(struct rfm_resync *resync, int donor, uint64_t now);
static void ask(struct rfm_resync *resync, struct rfm_resync_lane *lane, uint64_t now);
static void ask_next_node(struct rfm_resync *resync);

/* It cannot give. Another one may. */
static void give_up_donor(struct rfm_resync *resync, enum rfm_remote_result result)
{
	int donor = -1;

	resync->tried[resync->donor / 8] |= 1u << resync->donor % 8;
	if (resync->choose && (result == RFM_REMOTE_RANGE || result == RFM_REMOTE_DENIED ||
			       result == RFM_REMOTE_INCOMPLETE || result == RFM_REMOTE_NO_NODE))
		donor = nearest(resync->remote->node, resync->tried);
	if (donor < 0) {
		end(resync, result);
		return;
	}
	cancel_lanes(resync);
	begin_with(resync, donor, resync->remote->now);
}

static void on_merged(struct rfm_remote_request *request)
{
	struct rfm_resync_lane *lane = (struct rfm_resync_lane *)(void *)request;
	struct rfm_resync *resync = lane->resync;

	if (!lane->busy)
		return;		/* it has ended */
	lane->busy = false;
	if (request->result != RFM_REMOTE_OK) {
		give_up_donor(resync, request->result);
	} else if (resync->asking_all) {
		end(resync, RFM_REMOTE_OK);
	} else {
		resync->finished += request->length;
		if (resync->finished == resync->last - resync->first + 1)
			ask_next_node(resync);
		else
			ask(resync, lane, resync->remote->now);
	}
}

/* --- at the end ----------------------------------------------------------------------- */

static void on_word(struct rfm_remote_request *request)
{
	struct rfm_resync_lane *lane = (struct rfm_resync_lane *)(void *)request;
	struct rfm_resync *resync = lane->resync;

	if (!lane->busy)
		return;
	lane->busy = false;
	/* Any answer of it will do, and that it may not be read is one. */
	if (request->result >= RFM_REMOTE_NO_NODE)
		resync->unsure = true;
	ask_next_node(resync);
}

/* One that stands still sends nothing but heartbeats: these tell what it had sent before. */
static void ask_next_node(struct rfm_resync *resync)
{
	const struct rfm_node *node = resync->remote->node;
	struct rfm_resync_lane *lane = &resync->lanes[0];

	resync->asking_all = true;
	while (resync->asked < RFM_RING_NODES &&
	       (resync->asked == node->config.id || resync->asked == resync->donor ||
		!node->sources[resync->asked].present || node->sources[resync->asked].paused))
		resync->asked++;
	lane->request = (struct rfm_remote_request){
		.op = RFM_REMOTE_READ, .node = resync->asked, .length = WORD, .data = lane->data,
		.done = on_word,
	};
	if (resync->asked == RFM_RING_NODES)
		lane->request = (struct rfm_remote_request){
			.op = RFM_REMOTE_MERGE, .node = resync->donor, .offset = resync->first,
			.length = resync->last - resync->first < WORD ? 1 : WORD, .data = lane->data,
			.done = on_merged,
		};
	else
		resync->asked++;
	lane->resync = resync;
	lane->busy = true;
	rfm_remote_ask(resync->remote, &lane->request, resync->remote->now);
}

/* --- the bytes ------------------------------------------------------------------------ */

static void ask(struct rfm_resync *resync, struct rfm_resync_lane *lane, uint64_t now)
{
	uint64_t left = resync->last + 1 - resync->next;

	if (!left)
		return;
	lane->request = (struct rfm_remote_request){
		.op = RFM_REMOTE_MERGE, .node = resync->donor, .offset = resync->next,
		.length = left < RFM_RESYNC_LENGTH ? left : RFM_RESYNC_LENGTH, .data = lane->data,
		.done = on_merged,
	};
	lane->resync = resync;
	lane->busy = true;
	resync->next += lane->request.length;
	rfm_remote_ask(resync->remote, &lane->request, now);
}

static void begin_with(struct rfm_resync *resync, int donor, uint64_t now)
{
	resync->donor = donor;
	resync->next = resync->first;
	resync->finished = 0;
	resync->asking_all = resync->unsure = false;
	resync->asked = 0;
	note_books(resync);
	for (unsigned int i = 0; i < RFM_RESYNC_LANES; i++)
		ask(resync, &resync->lanes[i], now);
}

void rfm_resync_begin(struct rfm_resync *resync, struct rfm_remote *remote, int donor, uint64_t now)
{
	resync->remote = remote;
	remote->now = now;
	resync->choose = donor == RFM_RESYNC_NEAREST;
	if (resync->choose)
		donor = nearest(remote->node, resync->tried);
	if (donor < 0) {
		resync->result = RFM_REMOTE_NO_NODE;
		resync->done(resync);
	} else if (donor == remote->node->config.id) {
		resync->donor = donor;
		note_books(resync);
		end(resync, remote->node->incomplete && nearest(remote->node, resync->tried) >= 0 ?
			    RFM_REMOTE_DENIED : RFM_REMOTE_OK);
	} else {
		begin_with(resync, donor, now);
	}
}

void rfm_resync_cancel(struct rfm_resync *resync)
{
	for (unsigned int i = 0; i < RFM_RESYNC_LANES; i++) {
		if (resync->lanes[i].busy) {
			end(resync, RFM_REMOTE_CANCELLED);
			return;
		}
	}
}

/* --- by itself ---------------------------------------------------------------------- */

struct automatic {
	struct rfm_resync resync;	/* the first: done() gets its address */
	struct rfm_auto_resync *owner;
};

static void automatic_ended(struct rfm_resync *resync)
{
	struct automatic *one = (struct automatic *)(void *)resync;

	one->owner->resync = NULL;
	one->owner->finished += resync->finished;
	one->owner->again = resync->remote->now + AUTO_AGAIN_NS;
	free(one);
}

void rfm_auto_resync(struct rfm_auto_resync *automatic, struct rfm_remote *remote, uint64_t now)
{
	static const uint8_t none[RFM_RING_NODES / 8];
	struct automatic *one;

	if (automatic->resync || !remote->node->incomplete || now < automatic->again ||
	    nearest(remote->node, none) < 0)
		return;
	one = calloc(1, sizeof(*one));
	if (!one)
		return;		/* perhaps next time */
	one->owner = automatic;
	one->resync.done = automatic_ended;
	one->resync.last = remote->node->config.memory_size - 1;
	automatic->resync = &one->resync;
	rfm_resync_begin(&one->resync, remote, RFM_RESYNC_NEAREST, now);
}
