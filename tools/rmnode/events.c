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
	LIST_ENTRY(monitor) entry;
	struct control_request *request;
	uint64_t missed;
};

/**
 * struct waiting - a request that waits for something
 * @interrupts: how many interrupts it still wants
 * @members: for how many other nodes it waits; with @interrupts 0
 */
struct waiting {
	struct rmnode *node;
	TAILQ_ENTRY(waiting) entry;
	struct control_request *request;
	struct rfm_timer timer;
	uint64_t interrupts, members;
	bool for_members;
};

/* --- the log ------------------------------------------------------------------------ */

/* A reader that does not keep up must not hold up the ring. */
static bool is_writable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & POLLOUT;
}

/* May a line be written to the log? If not it is counted, for the next one to tell. */
static bool has_room(struct rmnode *node, int fd)
{
	bool room = is_writable(fd);

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

static void log_event(struct rmnode *node, const char *name, json_t *event)
{
	char *text = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);

	if (text)
		log_text(node, name, text);
	free(text);
}

/* The line, and how many before it the monitor has missed. */
static void tell_monitor(struct monitor *monitor, json_t *line)
{
	json_t *copy = json_copy(line);

	if (monitor->missed)
		json_object_set_new(copy, "missed", json_integer(monitor->missed));
	if (control_event(monitor->request, copy))
		monitor->missed = 0;
	else
		monitor->missed++;
}

void tell_event(struct rmnode *node, const char *name, json_t *event)
{
	json_t *line = json_pack("{s:s, s:I, s:i}", "event", name, "time_ns",
				 (json_int_t)rfm_real_time(), "node", (int)node->id);
	struct monitor *monitor = LIST_FIRST(&node->monitors);

	if (node->log == LOG_TEXT)
		log_event(node, name, event);
	json_object_update(line, event);
	json_decref(event);
	for (; monitor; monitor = LIST_NEXT(monitor, entry))
		tell_monitor(monitor, line);
	if (node->log == LOG_JSON)
		log_json(node, line);
	json_decref(line);
}

/* --- waiting ------------------------------------------------------------------------- */

static void waiting_gone(void *context)
{
	struct waiting *waiting = context;

	TAILQ_REMOVE(&waiting->node->waiting, waiting, entry);
	rfm_timer_set(waiting->node->loop, &waiting->timer, RFM_NEVER);
	free(waiting);
}

static void waiting_late(void *opaque, uint64_t now)
{
	struct waiting *waiting = opaque;

	control_fail(waiting->request, waiting->for_members ? "the ring was not there in time" :
		     "no interrupt has come in time");
	waiting_gone(waiting);
}

static json_t *interrupt_json(const struct rfmring_interrupt *interrupt)
{
	return json_pack("{s:i, s:i, s:I}", "type", interrupt->type, "from", interrupt->from,
			 "data", (json_int_t)interrupt->data);
}

/* The oldest interrupts. Returns whether it has had all that it wants. */
static bool give_interrupts(struct rmnode *node, struct waiting *waiting)
{
	while (waiting->interrupts && node->interrupts_count) {
		const struct rfmring_interrupt *oldest = &node->interrupts[node->interrupts_head];

		if (!control_event(waiting->request, interrupt_json(oldest)))
			break;	/* take_more() goes on */
		node->interrupts_head = (node->interrupts_head + 1) % INTERRUPTS_KEPT;
		node->interrupts_count--;
		waiting->interrupts--;
	}
	if (waiting->interrupts)
		return false;
	control_done(waiting->request, json_pack("{s:I, s:I}", "waiting",
						 (json_int_t)node->interrupts_count, "lost",
						 (json_int_t)node->interrupts_lost));
	return true;
}

static bool ring_is_there(struct rmnode *node, struct waiting *waiting)
{
	struct rfmring_state state = state_of(node->ring);

	if (!state.signal || !state.downstream ||
	    (uint64_t)rfmring_members(node->ring, NULL, 0) < waiting->members)
		return false;
	control_done(waiting->request, NULL);
	return true;
}

/* Those who wait, in the order in which they asked. */
static void serve_waiting(struct rmnode *node)
{
	struct waiting *waiting = TAILQ_FIRST(&node->waiting), *next;

	for (; waiting; waiting = next) {
		next = TAILQ_NEXT(waiting, entry);
		if (waiting->for_members ? ring_is_there(node, waiting) :
					   give_interrupts(node, waiting))
			waiting_gone(waiting);
	}
}

/* Who waits has read what had come so far. */
static void take_more(void *context)
{
	struct waiting *waiting = context;

	serve_waiting(waiting->node);
}

static void wait_for(struct control_request *request, json_t *args, struct rmnode *node,
		     const struct waiting *wanted)
{
	struct waiting *waiting;
	uint64_t ms = 0;

	if (!control_get_number(request, args, "timeout_ms", false, 0, UINT32_MAX, &ms))
		return;
	waiting = control_alloc(request, sizeof(*waiting));
	if (!waiting)
		return;
	*waiting = *wanted;
	waiting->node = node;
	waiting->request = request;
	waiting->timer = (struct rfm_timer){ .fire = waiting_late, .opaque = waiting };
	if (json_object_get(args, "timeout_ms"))
		rfm_timer_set(node->loop, &waiting->timer, rfm_now() + ms * 1000000);
	control_on_gone(request, waiting_gone, waiting);
	control_on_room(request, take_more, waiting);
	TAILQ_INSERT_TAIL(&node->waiting, waiting, entry);
	serve_waiting(node);
}

void verb_wait_interrupt(struct control_request *request, json_t *args, void *opaque)
{
	struct waiting wanted = { .interrupts = 1 };

	if (control_get_number(request, args, "count", false, 1, INT64_MAX, &wanted.interrupts))
		wait_for(request, args, opaque, &wanted);
}

void verb_wait(struct control_request *request, json_t *args, void *opaque)
{
	struct waiting wanted = { .for_members = true };

	if (control_get_number(request, args, "members", false, 0, RFMRING_NODES, &wanted.members))
		wait_for(request, args, opaque, &wanted);
}

/* --- monitors -------------------------------------------------------------------------- */

static void monitor_gone(void *context)
{
	struct monitor *monitor = context;

	LIST_REMOVE(monitor, entry);
	free(monitor);
}

void verb_monitor(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct monitor *monitor = control_alloc(request, sizeof(*monitor));

	if (!monitor)
		return;
	monitor->request = request;
	LIST_INSERT_HEAD(&node->monitors, monitor, entry);
	control_on_gone(request, monitor_gone, monitor);
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
	if (!TAILQ_EMPTY(&node->waiting))
		rfm_poller_activate(&node->trouble_poller);
	if (node->log != LOG_TEXT || !LIST_EMPTY(&node->monitors))
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
	return json_pack("{s:i}", "at", state_of(node->ring).break_at);
}

static json_t *downstream_json(struct rmnode *node)
{
	return json_pack("{s:b}", "up", (int)state_of(node->ring).downstream);
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

void events_end(struct rmnode *node)
{
	rfm_poller_remove(&node->trouble_poller);
}
