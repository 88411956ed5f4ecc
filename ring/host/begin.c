// SPDX-License-Identifier: MIT
/* librfmring: operations at one node that are begun, and tell when they have ended. */
#include <errno.h>
#include <stdlib.h>

#include "ring/host/internal.h"

struct rfm_begun {
	struct rfm_remote_request request;	/* the first: done() gets its address */
	struct rfmring *ring;
	void (*done)(void *opaque, int error, uint64_t old);
	void *opaque;
	struct rfm_begun *next;			/* that has ended, and has not been told */
};

/* With the engine's lock, and perhaps the producer's, which the user's callback takes: not here. */
static void on_begun_done(struct rfm_remote_request *request)
{
	struct rfm_begun *begun = (struct rfm_begun *)(void *)request;
	struct rfmring *ring = begun->ring;

	begun->next = NULL;
	if (ring->ended_last)
		ring->ended_last->next = begun;
	else
		ring->ended_first = begun;
	ring->ended_last = begun;
	rfm_host_remote_wake(ring);
}

void rfm_host_tell_ended(struct rfmring *ring)
{
	struct rfm_begun *begun;

	while ((begun = ring->ended_first)) {
		enum rfm_remote_result result = begun->request.result;

		ring->ended_first = begun->next;
		if (!ring->ended_first)
			ring->ended_last = NULL;
		ring->host->in_callback = true;
		begun->done(begun->opaque, result == RFM_REMOTE_CANCELLED ? ECANCELED :
			    rfm_host_remote_error(result), begun->request.old);
		ring->host->in_callback = false;
		free(begun);
	}
}

/* What may have been added to the structure since the program was compiled is 0. */
static bool get_operation(struct rfmring_operation *to, const struct rfmring_operation *from)
{
	if (!from->size)
		return false;
	*to = (struct rfmring_operation){ 0 };
	memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
	return true;
}

static bool is_sound(const struct rfmring_operation *operation)
{
	if (operation->node >= RFMRING_NODES || !operation->done)
		return false;
	switch (operation->op) {
	case RFMRING_GET:
	case RFMRING_PUT:
		return operation->length && operation->length <= RFM_REMOTE_MAX;
	case RFMRING_MESSAGE:
		return operation->length && operation->length <= RFMRING_MESSAGE_MAX &&
		       operation->port < RFMRING_PORTS;
	case RFMRING_CAS:
	case RFMRING_ADD:
		return operation->length == 4 || operation->length == 8;
	default:
		return false;
	}
}

int rfmring_begin(struct rfmring *ring, const struct rfmring_operation *asked)
{
	static const enum rfm_remote_op ops[] = {
		[RFMRING_GET] = RFM_REMOTE_READ, [RFMRING_PUT] = RFM_REMOTE_WRITE,
		[RFMRING_CAS] = RFM_REMOTE_CAS, [RFMRING_ADD] = RFM_REMOTE_ADD,
		[RFMRING_MESSAGE] = RFM_REMOTE_SEND,
	};
	bool locked = rfm_host_is_locked(ring->host), leaving;
	struct rfmring_operation operation;
	struct rfm_begun *begun;
	bool is_message, is_word;

	if (!get_operation(&operation, asked) || !is_sound(&operation))
		return rfm_fail(EINVAL);
	begun = malloc(sizeof(*begun));
	if (!begun)
		return -1;
	is_message = operation.op == RFMRING_MESSAGE;
	is_word = operation.op == RFMRING_CAS || operation.op == RFMRING_ADD;
	*begun = (struct rfm_begun){
		.request = {
			.op = ops[operation.op], .node = operation.node,
			.offset = is_message ? 0 : operation.offset,
			.length = operation.length, .width = is_word ? operation.length : 0,
			.data = operation.data, .compare = operation.compare, .value = operation.value,
			.done = on_begun_done, .key = is_message ? operation.port : 0,
		},
		.ring = ring, .done = operation.done, .opaque = operation.opaque,
	};
	if (!locked && !rfm_host_lock(ring->host)) {
		free(begun);
		return -1;
	}
	leaving = ring->leaving;
	if (!leaving)
		rfmring_ask(ring, &begun->request);
	if (!locked)
		rfm_host_unlock(ring->host);
	if (!leaving)
		return 0;
	free(begun);
	return rfm_fail(ECANCELED);
}
