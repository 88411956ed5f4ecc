// SPDX-License-Identifier: MIT
/* The verb receive: messages to a port, for as long as somebody wants them. */
#include <errno.h>
#include <stdlib.h>

#include "ring/host/internal.h"
#include "rmnode.h"

#define DEPTH	64u		/* messages that wait for the client */

/* @held: one for which the client had no room */
struct receiver {
	struct job job;
	uint32_t port;
	uint64_t wanted;
	struct rfm_letter *held;
};

static bool tell(struct receiver *receiver, const struct rfm_letter *letter)
{
	char *text = hex_text(letter->data, letter->length);
	bool told = control_event(receiver->job.request, json_pack("{s:i, s:s*}", "from",
								   (int)letter->from, "data", text));

	free(text);
	return told;
}

/* No more are let in than are wanted: their senders would be told that they are done. */
static bool listen_on(struct receiver *receiver)
{
	uint64_t wanted = receiver->wanted - !!receiver->held;

	return !rfmring_listen(receiver->job.ring, receiver->port, wanted < DEPTH ? wanted : DEPTH);
}

static void take_one(struct receiver *receiver)
{
	receiver->held = rfm_host_take_letter(receiver->job.ring, receiver->port);
	if (receiver->held)
		listen_on(receiver);	/* it is there, so this needs no memory */
}

static enum step receive_step(struct job *job, uint64_t now)
{
	struct receiver *receiver = (struct receiver *)job;

	if (!receiver->wanted) {
		job_end(job, NULL);
		return STEP_DONE;
	}
	if (!receiver->held)
		take_one(receiver);
	if (receiver->held && tell(receiver, receiver->held)) {
		rfm_host_free_letter(receiver->held);
		receiver->held = NULL;
		receiver->wanted--;
		return STEP_DID;
	}
	if (!receiver->held && now >= job->when) {
		job_end(job, "no message has come in time");
		return STEP_DONE;
	}
	return STEP_WAIT;
}

static void receive_release(struct job *job)
{
	struct receiver *receiver = (struct receiver *)job;

	rfmring_listen(job->ring, receiver->port, 0);	/* if it is still open */
	rfm_host_free_letter(receiver->held);
}

static const struct job_kind receive_job = { .step = receive_step, .release = receive_release };

static void arrived(void *opaque)
{
	struct receiver *receiver = opaque;

	rfm_poller_activate(&receiver->job.poller);
}

void verb_receive(struct control_request *request, json_t *args, void *opaque)
{
	uint64_t port, count = 1, ms = UINT64_MAX;
	struct rmnode *node = opaque;
	struct receiver *receiver;

	if (!control_get_number(request, args, "port", true, 0, RFMRING_PORTS - 1, &port) ||
	    !control_get_number(request, args, "count", false, 1, INT64_MAX, &count) ||
	    !control_get_number(request, args, "timeout_ms", false, 0, UINT32_MAX, &ms))
		return;
	if (rfm_host_port_room(node->ring, port) >= 0) {
		control_fail(request, "somebody listens at port %u already", (unsigned int)port);
		return;
	}
	receiver = job_new(node, request, sizeof(*receiver), &receive_job);
	if (!receiver)
		return;
	receiver->port = port;
	receiver->wanted = count;
	if (ms != UINT64_MAX)
		receiver->job.when = rfm_now() + ms * 1000000;
	if (!listen_on(receiver)) {
		control_fail(request, "no memory");
		free(receiver);
		return;
	}
	rfmring_on_message(node->ring, port, arrived, receiver);
	job_begin(&receiver->job);
	control_on_room(request, arrived, receiver);
	control_event(request, json_pack("{s:I}", "listening", (json_int_t)port));
}
