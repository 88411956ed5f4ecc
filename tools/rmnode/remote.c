// SPDX-License-Identifier: MIT
/* Verbs on the memory of one node: get, put, cas, add; and what others may do here: export. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/host/internal.h"
#include "ring/wire.h"
#include "rmnode.h"
#include "tools/common/rights.h"

/**
 * struct remote - a job that waits for the end of its operation
 * @left: ADD: so many times more
 * @many: it was asked for more than once: the result says how often it was done
 * @done: so often
 * @unknown: and it may have been done so often besides
 */
struct remote {
	struct job job;
	struct rfm_remote_request request;
	bool ended, many;
	uint64_t left, done, unknown;
};

static const char *sentence_of(enum rfm_remote_result result)
{
	switch (result) {
	case RFM_REMOTE_OK:
		return NULL;
	case RFM_REMOTE_DENIED:
		return "the node does not allow it there";
	case RFM_REMOTE_RANGE:
		return "not all of it is in the memory of that node, or the word is not aligned";
	case RFM_REMOTE_NOT_HOME:
		return "the node is not the home of that word";
	case RFM_REMOTE_NO_NODE:
		return "there is no such node on the ring";
	case RFM_REMOTE_INCOMPLETE:
		return "that node is incomplete itself";
	case RFM_REMOTE_CLOSED:
		return "nobody listens at that port";
	case RFM_REMOTE_TOO_LONG:
		return "it is longer than what is ready to receive it there";
	case RFM_REMOTE_WITHDRAWN:
		return "the node had no room for it, or nothing ready to receive it: nothing was done";
	case RFM_REMOTE_NO_ROOM:
		return "the node stands still, or has no room: nothing was done";
	case RFM_REMOTE_DARK:
		return "the node is dark: nothing can leave it";
	case RFM_REMOTE_UNKNOWN:
		return "no answer has come: it may have been done";
	default:
		return "it has not ended in time: it may have been done";
	}
}

static json_t *hex_json(const uint8_t *bytes, size_t length)
{
	char *text = hex_text(bytes, length);
	json_t *json = json_string(text);

	free(text);
	return json;
}

static json_t *remote_result(struct job *job)
{
	const struct remote *remote = (const struct remote *)job;
	const struct rfm_remote_request *request = &remote->request;
	uint8_t old[8];

	if (request->op == RFM_REMOTE_READ)
		return json_pack("{s:I, s:o}", "offset", (json_int_t)request->offset,
				 "data", hex_json(request->data, request->length));
	if (request->op == RFM_REMOTE_WRITE || request->op == RFM_REMOTE_SEND)
		return json_pack("{s:I}", "bytes", (json_int_t)request->length);
	if (remote->many)
		return json_pack("{s:I, s:I}", "done", (json_int_t)remote->done,
				 "unknown", (json_int_t)remote->unknown);
	put64(old, request->old);
	return json_pack("{s:o, s:b}", "old", hex_json(old, request->width), "changed",
			 request->op == RFM_REMOTE_ADD || request->old == request->compare);
}

/* Is it no reason to end? */
static bool is_counted(enum rfm_remote_result result)
{
	return result == RFM_REMOTE_OK || result == RFM_REMOTE_UNKNOWN;
}

static void count_one(struct remote *remote)
{
	remote->done += remote->request.result == RFM_REMOTE_OK;
	remote->unknown += remote->request.result == RFM_REMOTE_UNKNOWN ||
			   remote->request.result == RFM_REMOTE_CANCELLED;
}

static void end_many(struct remote *remote)
{
	char sentence[200];

	if (is_counted(remote->request.result)) {
		job_end(&remote->job, NULL);
		return;
	}
	snprintf(sentence, sizeof(sentence), "%" PRIu64 " times, unknown %" PRIu64 "; then: %s",
		 remote->done, remote->unknown, sentence_of(remote->request.result));
	job_end(&remote->job, sentence);
}

static enum step remote_step(struct job *job, uint64_t now)
{
	struct remote *remote = (struct remote *)job;

	if (!remote->ended && now >= job->when)
		rfmring_cancel(job->ring, &remote->request);
	if (!remote->ended)
		return STEP_WAIT;
	if (!remote->many) {
		job_end(job, sentence_of(remote->request.result));
		return STEP_DONE;
	}
	count_one(remote);
	if (remote->left && is_counted(remote->request.result)) {
		remote->left--;
		remote->ended = false;
		rfmring_ask(job->ring, &remote->request);
		return STEP_WAIT;
	}
	end_many(remote);
	return STEP_DONE;
}

static void remote_release(struct job *job)
{
	struct remote *remote = (struct remote *)job;

	bool ended = remote->ended;

	remote->ended = true;		/* on_done() has nobody to wake any more */
	if (!ended)
		rfmring_cancel(job->ring, &remote->request);
	free(remote->request.data);
}

static const struct job_kind remote_job = {
	.step = remote_step, .result = remote_result, .release = remote_release,
};

static void on_done(struct rfm_remote_request *request)
{
	struct remote *remote = (struct remote *)(void *)((char *)request -
							  offsetof(struct remote, request));

	if (remote->ended)
		return;
	remote->ended = true;
	rfm_poller_activate(&remote->job.poller);
}

/* Where: it may be beyond this node's memory, as that of the other may be larger. */
static void begin(struct rmnode *node, struct control_request *control, json_t *args,
		  const struct rfm_remote_request *request, uint64_t count)
{
	/* Of a series each ends by itself. */
	uint64_t id, first = 0, ms = count > 1 ? UINT32_MAX : RFM_REMOTE_PATIENCE_NS / 1000000;
	struct remote *remote;

	if (!control_get_number(control, args, "node", true, 0, RFMRING_NODES - 1, &id) ||
	    !control_get_number(control, args, "first", request->op != RFM_REMOTE_SEND, 0,
				RFM_RING_SPACE - 1, &first) ||
	    !control_get_number(control, args, "timeout_ms", false, 0, UINT32_MAX, &ms) ||
	    !(remote = job_new(node, control, sizeof(*remote), &remote_job))) {
		free(request->data);
		return;
	}
	remote->request = *request;
	remote->left = count - 1;
	remote->many = count > 1;
	remote->request.node = id;
	remote->request.offset = first;
	remote->request.done = on_done;
	remote->job.when = rfm_now() + ms * 1000000;
	job_begin(&remote->job);
	rfmring_ask(node->ring, &remote->request);
}

void verb_get(struct control_request *request, json_t *args, void *opaque)
{
	struct rfm_remote_request asked = { .op = RFM_REMOTE_READ };
	uint64_t first, last;

	if (!control_get_number(request, args, "first", true, 0, RFM_RING_SPACE - 1, &first) ||
	    !control_get_number(request, args, "last", true, first, RFM_RING_SPACE - 1, &last))
		return;
	if (last - first >= RFM_REMOTE_MAX) {
		control_fail(request, "a request may read %u bytes at most", RFM_REMOTE_MAX);
		return;
	}
	asked.length = last - first + 1;
	asked.data = control_alloc(request, asked.length);
	if (asked.data)
		begin(opaque, request, args, &asked, 1);
}

void verb_put(struct control_request *request, json_t *args, void *opaque)
{
	struct rfm_remote_request asked = { .op = RFM_REMOTE_WRITE };
	size_t length;

	asked.data = get_data(request, args, "data", &length);
	if (!asked.data)
		return;
	asked.length = length;
	begin(opaque, request, args, &asked, 1);
}

void verb_message(struct control_request *request, json_t *args, void *opaque)
{
	struct rfm_remote_request asked = { .op = RFM_REMOTE_SEND };
	uint64_t port;
	size_t length;

	if (!control_get_number(request, args, "port", true, 0, RFMRING_PORTS - 1, &port))
		return;
	asked.data = get_data(request, args, "data", &length);
	if (!asked.data)
		return;
	asked.key = port;
	asked.length = length;
	begin(opaque, request, args, &asked, 1);
}

/* A word; returns its bytes, 0 after it has failed the request. */
static unsigned int get_word(struct control_request *request, json_t *args, const char *name,
			     uint64_t *value)
{
	uint8_t bytes[8] = { 0 }, *data;
	size_t length;

	data = get_data(request, args, name, &length);
	if (!data)
		return 0;
	if (length == 4 || length == 8) {
		memcpy(bytes, data, length);
	} else {
		control_fail(request, "'%s' must have 4 or 8 bytes", name);
		length = 0;
	}
	*value = get64(bytes);
	free(data);
	return length;
}

void verb_add(struct control_request *request, json_t *args, void *opaque)
{
	struct rfm_remote_request asked = { .op = RFM_REMOTE_ADD };
	uint64_t count = 1;

	if (!control_get_number(request, args, "count", false, 1, INT64_MAX, &count))
		return;
	asked.width = get_word(request, args, "data", &asked.value);
	if (asked.width)
		begin(opaque, request, args, &asked, count);
}

void verb_cas(struct control_request *request, json_t *args, void *opaque)
{
	struct rfm_remote_request asked = { .op = RFM_REMOTE_CAS };
	unsigned int width;

	asked.width = get_word(request, args, "data", &asked.value);
	if (!asked.width)
		return;
	width = get_word(request, args, "expected", &asked.compare);
	if (width && width != asked.width)
		control_fail(request, "'expected' and 'data' are of different widths");
	else if (width)
		begin(opaque, request, args, &asked, 1);
}

/* --- what others may do here --------------------------------------------------------- */

static bool get_rights(struct control_request *request, const char *text, uint32_t *rights)
{
	const char *bad;
	int length;

	_Static_assert((int)RFMRING_MAY_READ == RIGHT_READ &&
		       (int)RFMRING_MAY_WRITE == RIGHT_WRITE && (int)RFMRING_HOME == RIGHT_HOME,
		       "as parse_rights() has them");
	if (parse_rights(text, rights, &bad))
		return true;
	length = strcspn(bad, ",");
	control_fail(request, "the right '%.*s' is not read, write, home or none",
		     length < 20 ? length : 20, bad);
	return false;
}

void verb_export(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	uint32_t first, last, rights;
	const char *text;

	if (!get_range(request, args, node->ring, &first, &last) ||
	    !control_get_string(request, args, "rights", true, &text) ||
	    !get_rights(request, text, &rights))
		return;
	if (rfmring_export(node->ring, first, (uint64_t)last - first + 1, rights))
		control_fail(request, "the range must be of whole granules of 64 bytes");
	else
		control_done(request, NULL);
}

/* --- resync -------------------------------------------------------------------------- */

struct resync {
	struct job job;
	enum rfm_remote_result result;
	uint64_t finished;
	unsigned int donor;
	bool doubtful, ended, any, as_is;
};

static json_t *resync_result(struct job *job)
{
	const struct resync *resync = (const struct resync *)job;

	return json_pack("{s:I, s:i}", "bytes", (json_int_t)resync->finished, "donor",
			 (int)resync->donor);
}

static enum step resync_step(struct job *job, uint64_t now)
{
	struct resync *resync = (struct resync *)job;

	if (!resync->ended && now >= job->when)
		rfmring_resync_cancel(job->ring);
	if (!resync->ended)
		return STEP_WAIT;
	if (resync->result == RFM_REMOTE_CANCELLED)
		job_end(job, "it has not ended in time: the memory is incomplete");
	else if (resync->result == RFM_REMOTE_NO_NODE && resync->any)
		job_end(job, "no other node is complete; if this memory is right as it is, say --as-is");
	else if (resync->result == RFM_REMOTE_DENIED && resync->as_is)
		job_end(job, "another node is complete: get it from there");
	else if (resync->result == RFM_REMOTE_OK && resync->doubtful)
		job_end(job, "something was lost, or somebody came or went, meanwhile: the memory is doubtful");
	else
		job_end(job, sentence_of(resync->result));
	return STEP_DONE;
}

static void resync_release(struct job *job)
{
	struct resync *resync = (struct resync *)job;
	bool ended = resync->ended;

	resync->ended = true;
	if (!ended)
		rfmring_resync_cancel(job->ring);
}

static const struct job_kind resync_job = {
	.step = resync_step, .result = resync_result, .release = resync_release,
};

static void on_resync_done(void *opaque, const struct rfm_resync *done)
{
	struct resync *resync = opaque;

	if (resync->ended)
		return;
	resync->ended = true;
	resync->result = done->result;
	resync->finished = done->finished;
	resync->donor = done->donor;
	resync->doubtful = done->doubtful;
	rfm_poller_activate(&resync->job.poller);
}

void verb_resync(struct control_request *request, json_t *args, void *opaque)
{
	uint64_t donor = RFMRING_NODE_ALL, ms = UINT32_MAX;
	struct rmnode *node = opaque;
	struct resync *resync;
	bool as_is = false;

	if (!control_get_number(request, args, "node", false, 0, RFMRING_NODES - 1, &donor) ||
	    !control_get_number(request, args, "timeout_ms", false, 0, UINT32_MAX, &ms) ||
	    !control_get_bool(request, args, "as_is", false, &as_is))
		return;
	if (donor == node->id) {
		control_fail(request, "node %u is this one", node->id);
		return;
	}
	if (as_is && donor != RFMRING_NODE_ALL) {
		control_fail(request, "a node gives nothing to a memory that is right as it is");
		return;
	}
	if (as_is)
		donor = node->id;
	resync = job_new(node, request, sizeof(*resync), &resync_job);
	if (!resync)
		return;
	resync->any = donor == RFMRING_NODE_ALL;
	resync->as_is = as_is;
	resync->job.when = rfm_now() + ms * 1000000;
	job_begin(&resync->job);
	if (rfmring_resync_begin(node->ring, donor, on_resync_done, resync)) {
		resync->ended = true;
		job_end(&resync->job, errno == EALREADY ? "another one is under way" : "no memory");
	}
}
