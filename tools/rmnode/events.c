// SPDX-License-Identifier: MIT
/*
 * What happens: interrupts, loss of signal, breaks, bad data, membership... to
 * the log and to whoever monitors. Callbacks of the ring only note it down;
 * it is told once a round, so that a flood of one kind is one event.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rmnode.h"

/** struct monitor - @missed: events that it has had no room for, since the last that it had */
struct monitor {
	struct job job;
	uint64_t missed;
};

static void monitor_release(struct job *job)
{
	job->node->monitors--;
}

static const struct job_kind monitor_job = { .release = monitor_release };

/**
 * struct waiting - a request that waits for something
 * @wanted: so many interrupts still, or other members
 */
struct waiting {
	struct job job;
	uint64_t wanted;
};

/* --- the log ------------------------------------------------------------------------ */

/*
 * May a line be written to the log? A reader that does not keep up must not hold up the
 * ring: the line is counted then, for the next one to tell.
 */
static bool has_room(struct rmnode *node, int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	bool room = poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLOUT;

	node->log_missed += !room;
	return room;
}

static void log_json(struct rmnode *node, json_t *event)
{
	char *text;
	size_t len;

	if (!has_room(node, STDOUT_FILENO))
		return;
	if (node->log_missed)
		json_object_set_new(event, "missed", json_integer(node->log_missed));
	node->log_missed = 0;
	text = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
	if (!text)
		return;
	len = strlen(text);
	text[len] = '\n';
	(void)!write(STDOUT_FILENO, text, len + 1);
	free(text);
}

static void log_text(struct rmnode *node, const char *name, const char *details)
{
	char missed[64] = "";

	if (!has_room(node, STDERR_FILENO))
		return;
	if (node->log_missed)
		snprintf(missed, sizeof(missed), " (%" PRIu64 " lines before it are missing)",
			 node->log_missed);
	node->log_missed = 0;
	fprintf(stderr, "rmnode %u: %s%s%s%s\n", node->id, name, *details ? " " : "", details,
		missed);
}

/* The line, and how many before it the monitor has missed. */
static void tell_monitor(struct monitor *monitor, json_t *line)
{
	json_t *copy = json_copy(line);

	if (monitor->missed)
		json_object_set_new(copy, "missed", json_integer(monitor->missed));
	if (control_event(monitor->job.request, copy))
		monitor->missed = 0;
	else
		monitor->missed++;
}

void tell_event(struct rmnode *node, const char *name, json_t *event)
{
	json_t *line = json_pack("{s:s, s:I, s:i}", "event", name, "time_ns",
				 (json_int_t)rfm_real_time(), "node", (int)node->id);

	if (node->log == LOG_TEXT) {
		char *text = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);

		log_text(node, name, text ? text : "");
		free(text);
	}
	json_object_update_new(line, event);
	for (struct job *job = TAILQ_FIRST(&node->jobs); job; job = TAILQ_NEXT(job, entry))
		if (job->kind == &monitor_job)
			tell_monitor((struct monitor *)job, line);
	if (node->log == LOG_JSON)
		log_json(node, line);
	json_decref(line);
}

/* --- waiting ------------------------------------------------------------------------- */

static json_t *interrupts_result(struct job *job)
{
	return json_pack("{s:I, s:I}", "waiting", (json_int_t)job->node->interrupts_count,
			 "lost", (json_int_t)job->node->interrupts_lost);
}

static const struct job_kind interrupts_job = {
	.late = "no interrupt has come in time", .result = interrupts_result
};

static const struct job_kind members_job = { .late = "the ring was not there in time" };

static json_t *interrupt_json(const struct rfmring_interrupt *interrupt)
{
	return json_pack("{s:i, s:i, s:I}", "type", wire_type(interrupt->type),
			 "from", (int)interrupt->node, "data", (json_int_t)interrupt->data);
}

/* The oldest interrupts. Returns whether it has had all that it wants. */
static bool give_interrupts(struct rmnode *node, struct waiting *waiting)
{
	while (waiting->wanted && node->interrupts_count) {
		const struct rfmring_interrupt *oldest = &node->interrupts[node->interrupts_head];

		if (!control_event(waiting->job.request, interrupt_json(oldest)))
			break;	/* take_more() goes on */
		node->interrupts_head = (node->interrupts_head + 1) % INTERRUPTS_KEPT;
		node->interrupts_count--;
		waiting->wanted--;
	}
	return !waiting->wanted;
}

static bool ring_is_there(struct rmnode *node, struct waiting *waiting)
{
	struct rfmring_state state = state_of(node->ring);

	return state.signal && state.downstream &&
	       (uint64_t)rfmring_members(node->ring, NULL, 0) >= waiting->wanted;
}

/* Those who wait, in the order in which they asked. */
static void serve_waiting(struct rmnode *node)
{
	struct job *job, *next;

	for (job = TAILQ_FIRST(&node->jobs); job; job = next) {
		struct waiting *waiting = (struct waiting *)job;

		next = TAILQ_NEXT(job, entry);
		if ((job->kind == &members_job && ring_is_there(node, waiting)) ||
		    (job->kind == &interrupts_job && give_interrupts(node, waiting)))
			job_end(job, NULL);
	}
}

/* Who waits has read what had come so far. */
static void take_more(void *context)
{
	struct job *job = context;

	serve_waiting(job->node);
}

static void wait_for(struct rmnode *node, struct control_request *request, json_t *args,
		     uint64_t wanted, const struct job_kind *kind)
{
	struct waiting *waiting;
	uint64_t ms = UINT64_MAX;

	if (!control_get_number(request, args, "timeout_ms", false, 0, UINT32_MAX, &ms))
		return;
	waiting = job_new(node, request, sizeof(*waiting), kind);
	if (!waiting)
		return;
	waiting->wanted = wanted;
	if (ms != UINT64_MAX)
		waiting->job.when = rfm_now() + ms * 1000000;
	job_begin(&waiting->job);
	control_on_room(request, take_more, waiting);
	serve_waiting(node);
}

void verb_wait_interrupt(struct control_request *request, json_t *args, void *opaque)
{
	uint64_t count = 1;

	if (control_get_number(request, args, "count", false, 1, INT64_MAX, &count))
		wait_for(opaque, request, args, count, &interrupts_job);
}

void verb_wait(struct control_request *request, json_t *args, void *opaque)
{
	uint64_t members = 0;

	if (control_get_number(request, args, "members", false, 0, RFMRING_NODES, &members))
		wait_for(opaque, request, args, members, &members_job);
}

/* --- monitors -------------------------------------------------------------------------- */

void verb_monitor(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct monitor *monitor = job_new(node, request, sizeof(*monitor), &monitor_job);

	if (!monitor)
		return;
	node->monitors++;
	job_begin(&monitor->job);
	control_event(request, json_pack("{s:s, s:I, s:i}", "event", "monitor", "time_ns",
					 (json_int_t)rfm_real_time(), "node", (int)node->id));
}

/* --- from the ring ----------------------------------------------------------------------- */

void on_interrupt(void *opaque, const struct rfmring_interrupt *interrupt)
{
	struct rmnode *node = opaque;

	if (node->interrupts_count == INTERRUPTS_KEPT) {
		node->interrupts_lost++;
	} else {
		unsigned int at = node->interrupts_head + node->interrupts_count++;

		node->interrupts[at % INTERRUPTS_KEPT] = *interrupt;
	}
	if (!TAILQ_EMPTY(&node->jobs))
		rfm_poller_activate(&node->trouble_poller);
	if (node->log != LOG_TEXT || node->monitors)
		tell_event(node, "interrupt", interrupt_json(interrupt));
}

void on_status(void *opaque, uint32_t what)
{
	struct rmnode *node = opaque;

	what &= ~(uint32_t)RFMRING_OWN_DATA;
	if (!what)
		return;
	node->trouble |= what;
	if (node->trouble_poller.loop)
		rfm_poller_kick(&node->trouble_poller);
}

void on_log(void *opaque, const char *sentence)
{
	struct rmnode *node = opaque;

	if (node->log == LOG_TEXT)
		log_text(node, sentence, "");
	else if (node->loop)
		tell_event(node, "link", json_pack("{s:s}", "message", sentence));
}

static json_t *members_json(struct rmnode *node)
{
	struct rfmring_member members[RFMRING_NODES];
	int count = rfmring_members(node->ring, members, RFMRING_NODES);
	json_t *ids = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(ids, json_integer(members[i].id));
	return json_pack("{s:o}", "members", ids);
}

static json_t *break_json(struct rmnode *node)
{
	return json_pack("{s:i}", "at", (int)state_of(node->ring).break_at);
}

static json_t *downstream_json(struct rmnode *node)
{
	return json_pack("{s:b}", "up", (int)state_of(node->ring).downstream);
}

static json_t *incomplete_json(struct rmnode *node)
{
	return json_pack("{s:b}", "incomplete", (int)state_of(node->ring).incomplete);
}

static json_t *bad_json(struct rmnode *node)
{
	return json_pack("{s:I}", "bad", (json_int_t)stats_of(node->ring).bad);
}

static const struct {
	uint32_t what;
	const char *name;
	json_t *(*details)(struct rmnode *node);
} troubles[] = {
	{ RFMRING_SYNC_LOSS,	"sync-loss",	NULL },
	{ RFMRING_SIGNAL,	"signal",	NULL },
	{ RFMRING_DOWNSTREAM,	"downstream",	downstream_json },
	{ RFMRING_BREAK,	"break",	break_json },
	{ RFMRING_BAD_DATA,	"bad-data",	bad_json },
	{ RFMRING_TX_FULL,	"tx-full",	NULL },
	{ RFMRING_RX_FULL,	"rx-full",	NULL },
	{ RFMRING_RX_ALMOST_FULL, "rx-almost-full", NULL },
	{ RFMRING_ROGUE,	"rogue",	NULL },
	{ RFMRING_DUPLICATE_ID,	"duplicate-id",	NULL },
	{ RFMRING_EPOCH,	"membership",	members_json },
	{ RFMRING_INCOMPLETE,	"incomplete",	incomplete_json },
};

static bool tell_trouble(void *opaque, uint64_t now)
{
	struct rmnode *node = opaque;
	uint32_t what = node->trouble;

	node->trouble = 0;
	rfm_poller_deactivate(&node->trouble_poller);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(*troubles); i++)
		if (what & troubles[i].what)
			tell_event(node, troubles[i].name, troubles[i].details ?
				   troubles[i].details(node) : json_object());
	serve_waiting(node);
	return true;
}

void events_begin(struct rmnode *node)
{
	node->trouble_poller = (struct rfm_poller){ .poll = tell_trouble, .opaque = node };
	rfm_poller_add(node->loop, &node->trouble_poller);
	if (node->trouble)
		rfm_poller_activate(&node->trouble_poller);
}
