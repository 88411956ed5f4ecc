/* SPDX-License-Identifier: MIT */
/* rfm2g-shell: events. */
#include "shell.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const names[RFM2GEVENT_LAST] = {
	"reset", "intr1", "intr2", "intr3", "intr4", "bad_data", "rxfifo_full", "rogue_pkt",
	"rxfifo_afull", "sync_loss", "mem_write_inhibited", "local_mem_parity_err"
};

/* @all: "all" is one too */
static int get_event(const char *word, int all, RFM2GEVENTTYPE *event)
{
	RFM2G_UINT64 number;
	int i;

	for (i = 0; i < RFM2GEVENT_LAST; i++)
		if (!strcasecmp(word, names[i])) {
			*event = (RFM2GEVENTTYPE)i;
			return 0;
		}
	if (all && !strcasecmp(word, "all")) {
		*event = RFM2GEVENT_LAST;
		return 0;
	}
	if (word[0] < '0' || word[0] > '9') {
		fprintf(stderr, "there is no event '%s': try event\n", word);
		return -1;
	}
	if (get_number(word, RFM2GEVENT_LAST - 1, &number))
		return -1;
	*event = (RFM2GEVENTTYPE)number;
	return 0;
}

static int list(char **words)
{
	int i;

	(void)words;
	for (i = 0; i < RFM2GEVENT_LAST; i++)
		printf("  %2d  %s\n", i, names[i]);
	return 0;
}

#define ON_EVENT(name, call, all)					\
static int name(char **words)						\
{									\
	RFM2GEVENTTYPE event;						\
									\
	return get_event(words[0], all, &event) ? -1 : check(call(board, event)); \
}

ON_EVENT(enable, RFM2gEnableEvent, 0)
ON_EVENT(disable, RFM2gDisableEvent, 0)
ON_EVENT(clear, RFM2gClearEvent, 1)
ON_EVENT(cancel, RFM2gCancelWaitForEvent, 0)
ON_EVENT(clear_count, RFM2gClearEventCount, 1)
ON_EVENT(clear_stats, RFM2gClearEventStats, 1)
ON_EVENT(flush, RFM2gFlushEventQueue, 1)
ON_EVENT(disable_callback, RFM2gDisableEventCallback, 0)

static int get_node(const char *word, RFM2G_NODE *node)
{
	RFM2G_UINT64 number;

	if (!strcasecmp(word, "all")) {
		*node = RFM2G_NODE_ALL;
		return 0;
	}
	if (get_number(word, RFM2G_NODE_ALL, &number))
		return -1;
	*node = (RFM2G_NODE)number;
	return 0;
}

/* send event tonode [data] */
static int send(char **words)
{
	RFM2GEVENTTYPE event;
	RFM2G_UINT32 data = 0;
	RFM2G_NODE node;

	if (get_event(words[0], 0, &event) || get_node(words[1], &node) ||
	    (words[2] && get_number32(words[2], &data)))
		return -1;
	return check(RFM2gSendEvent(board, node, event, data));
}

static void tell(const RFM2GEVENTINFO *info)
{
	if (info->NodeId == RFM2G_NODE_UNKNOWN)
		printf("%s\n", names[info->Event]);
	else
		printf("%s from node %d, data 0x%08x\n", names[info->Event], info->NodeId,
		       info->ExtendedInfo);
	fflush(stdout);
}

/* wait event timeout: in ms */
static int wait_event(char **words)
{
	RFM2GEVENTINFO info;

	memset(&info, 0, sizeof(info));
	if (get_event(words[0], 0, &info.Event) || get_number32(words[1], &info.Timeout) ||
	    check(RFM2gWaitForEvent(board, &info)))
		return -1;
	tell(&info);
	return 0;
}

static void callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info)
{
	(void)handle;
	tell(info);
}

static int enable_callback(char **words)
{
	RFM2GEVENTTYPE event;

	return get_event(words[0], 0, &event) ? -1 :
	       check(RFM2gEnableEventCallback(board, event, callback));
}

static int count(char **words)
{
	RFM2G_UINT32 number;
	RFM2GEVENTTYPE event;
	int i;

	if (words[0]) {
		if (get_event(words[0], 0, &event) ||
		    check(RFM2gGetEventCount(board, event, &number)))
			return -1;
		printf("%u\n", number);
		return 0;
	}
	for (i = 0; i < RFM2GEVENT_LAST; i++) {
		if (check(RFM2gGetEventCount(board, (RFM2GEVENTTYPE)i, &number)))
			return -1;
		printf("  %-22s %u\n", names[i], number);
	}
	return 0;
}

static int stats(char **words)
{
	RFM2GEVENTTYPE event;
	RFM2GQINFO queue;

	memset(&queue, 0, sizeof(queue));
	if (get_event(words[0], 0, &event))
		return -1;
	queue.Event = (RFM2G_UINT8)event;
	if (check(RFM2gGetEventStats(board, &queue)))
		return -1;
	printf("%u events, %u of %u queued, peak %d%s\n", queue.EventCount, queue.EventsQueued,
	       queue.QueueSize, queue.QueuePeak, queue.Overflowed ? ", overflowed" : "");
	return 0;
}

const struct command event_commands[] = {
	{ "event", "", "the events and their numbers", 0, 0, list },
	{ "enable", "event", "", 1, 1, enable },
	{ "enableevent", "event", "the same", 1, 1, enable },
	{ "disable", "event", "", 1, 1, disable },
	{ "disableevent", "event", "the same", 1, 1, disable },
	{ "send", "event tonode [data]", "to a node, or all", 2, 3, send },
	{ "wait", "event timeout", "for the next one, so many ms", 2, 2, wait_event },
	{ "clear", "event", "throws away what waits; or all", 1, 1, clear },
	{ "clearevent", "event", "the same", 1, 1, clear },
	{ "flush", "event", "throws away the driver's queue", 1, 1, flush },
	{ "cancelwait", "event", "ends the wait of a callback", 1, 1, cancel },
	{ "enablecallback", "event", "prints each when it comes", 1, 1, enable_callback },
	{ "disablecallback", "event", "", 1, 1, disable_callback },
	{ "geteventcount", "[event]", "how many there were", 0, 1, count },
	{ "cleareventcount", "event", "or all", 1, 1, clear_count },
	{ "geteventstats", "event", "the driver's queue", 1, 1, stats },
	{ "cleareventstats", "event", "or all", 1, 1, clear_stats },
	{ NULL, NULL, NULL, 0, 0, NULL }
};
