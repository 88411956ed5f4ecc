// SPDX-License-Identifier: MIT
/* The running member: opened, moved, closed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "rmnode.h"
#include "tools/common/signals.h"
#include "tools/common/tls.h"

#define TIMER_SLACK_NS	1000u

static const struct control_verb verbs[] = {
	{ "add",		verb_add },
	{ "cas",		verb_cas },
	{ "checksum",		verb_checksum },
	{ "export",		verb_export },
	{ "fence",		verb_fence },
	{ "fill",		verb_fill },
	{ "get",		verb_get },
	{ "load",		verb_load },
	{ "members",		verb_members },
	{ "message",		verb_message },
	{ "monitor",		verb_monitor },
	{ "put",		verb_put },
	{ "read",		verb_read },
	{ "receive",		verb_receive },
	{ "record",		verb_record },
	{ "replay",		verb_replay },
	{ "resync",		verb_resync },
	{ "send",		verb_send },
	{ "set",		verb_set },
	{ "stats",		verb_stats },
	{ "stop",		verb_stop },
	{ "wait",		verb_wait },
	{ "wait-interrupt",	verb_wait_interrupt },
	{ "watch",		verb_watch },
	{ "write",		verb_write },
	{ NULL,			NULL },
};

static void on_signal(void *opaque, uint32_t events, uint64_t now)
{
	struct rmnode *node = opaque;

	node->stopping = true;
}

static void say_ready(struct rmnode *node)
{
	if (node->log == LOG_JSON) {
		tell_event(node, "ready", json_object());
		return;
	}
	puts("ready");
	fflush(stdout);
}

/* Rings of replays that are over. Closing waits for what they have sent. */
static void close_guests(struct rmnode *node)
{
	while (node->guest_count)
		rfmring_close(node->guests[--node->guest_count]);
}

static void end(struct rmnode *node)
{
	record_end(node);
	jobs_end(node);
	control_close(node->control);
	if (node->loop)
		rfm_loop_unwatch(node->loop, &node->signals);
	publish_end(node);
	close_guests(node);
	rfm_poller_remove(&node->trouble_poller);
	rfmring_close(node->ring);
	tls_free(node->tls);
	free(node);
}

static bool load_tls(struct rmnode *node, const struct member_options *options)
{
	bool server = false, client = false;
	char error[TLS_SENTENCE];

	tls_needs(options->config.rx, &server, &client);
	tls_needs(options->config.tx, &server, &client);
	if (!server && !client)
		return refuse("--tls is for links over TCP, and this node has none");
	node->tls = tls_load(options->tls, server, client, error);
	return node->tls || refuse("%s", error);
}

static int begin(struct rmnode *node, struct member_options *options)
{
	char error[CONTROL_SENTENCE];

	if (options->tls && !load_tls(node, options))
		return STATUS_MISUSED;
	if (options->published && !publish_load(node, options))
		return STATUS_MISUSED;
	node->ring = rfmring_open_tls(&options->config, node->tls, error, sizeof(error));
	if (!node->ring) {
		int status = errno == EINVAL ? STATUS_MISUSED : 1;

		complain("%s", error);
		return status;
	}
	node->loop = rfmring_loop(node->ring);
	events_begin(node);
	node->signals = (struct rfm_loop_fd){ .ready = on_signal, .opaque = node };
	if (watch_signals(node->loop, &node->signals))
		return complain("cannot watch signals: %s", strerror(errno));
	if (!publish_begin(node))
		return 1;
	if (!options->control)
		return 0;
	node->control = control_listen(node->loop, options->control, verbs, node, error);
	return node->control ? 0 : complain("%s", error);
}

int run_member(struct member_options *options)
{
	struct rmnode *node = calloc(1, sizeof(*node));
	int status;

	if (!node)
		return complain("no memory");
	TAILQ_INIT(&node->jobs);
	node->id = options->config.id;
	node->log = options->log;
	options->config.opaque = node;
	options->config.interrupt = on_interrupt;
	options->config.status = on_status;
	options->config.log = on_log;
	if (options->config.line && strcmp(options->config.line, "free"))
		prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	status = begin(node, options);
	if (!status)
		say_ready(node);
	while (!status && !node->stopping) {
		rfm_host_run_once(node->ring->host, RFM_NEVER);
		close_guests(node);
	}
	end(node);
	return status;
}
