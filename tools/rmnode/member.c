// SPDX-License-Identifier: MIT
/* Verbs on the node itself: send, stats, members, fence, set, stop. */
#include <errno.h>
#include <string.h>

#include "counters.h"
#include "rmnode.h"

/* Node ids, if there are any; false after it has failed the request. */
static bool get_set(struct control_request *request, json_t *args, uint8_t *set, bool *any)
{
	json_t *nodes = json_object_get(args, "nodes"), *id;
	size_t i;

	*any = nodes;
	json_array_foreach(nodes, i, id) {
		json_int_t node = json_integer_value(id);

		if (!json_is_integer(id) || node < 0 || node >= RFMRING_NODES)
			break;
		set[node / 8] |= 1 << node % 8;
	}
	if (!nodes || (json_array_size(nodes) && i == json_array_size(nodes)))
		return true;
	return control_fail(request, "'nodes' must be a list of node ids from 0 to 255");
}

void verb_send(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	uint8_t set[RFMRING_NODES / 8] = { 0 };
	uint64_t dest = DEST_ALL, type, data = 0;
	bool to_set;

	if (!get_set(request, args, set, &to_set) ||
	    (!to_set && !control_get_number(request, args, "dest", true, 0, DEST_ALL, &dest)) ||
	    !control_get_number(request, args, "type", true, 0, 7, &type) ||
	    !control_get_number(request, args, "data", false, 0, UINT32_MAX, &data))
		return;
	type = type_of_wire(type);
	if (dest == DEST_ALL)
		dest = RFMRING_NODE_ALL;
	if (!(to_set ? rfmring_interrupt_set(node->ring, set, type, data) :
		       rfmring_interrupt(node->ring, dest, type, data)))
		control_done(request, NULL);
	else
		control_fail(request, errno == EINVAL ? "the types of interrupts are 0 to 3 and 7" :
			     "too many interrupts wait already; it was dropped and counted");
}

/* --- counters ----------------------------------------------------------------------- */

struct rfmring_stats member_stats(const struct rmnode *node)
{
	struct rfmring_stats stats = stats_of(node->ring);

	stats.interrupts_lost = node->interrupts_lost;
	return stats;
}

static json_t *counters_json(struct rmnode *node)
{
	struct rfmring_stats stats = member_stats(node);
	json_t *object = json_object();

	for (size_t i = 0; i < COUNTERS; i++)
		json_object_set_new(object, counters[i].name,
				    json_integer(counter_value(&counters[i], &stats)));
	return object;
}

static json_t *node_or_none(uint32_t id)
{
	return id == RFMRING_NODE_ALL ? json_null() : json_integer(id);
}

static json_t *state_json(struct rmnode *node)
{
	struct rfmring_state state = state_of(node->ring);

	return json_pack("{s:i, s:I, s:I, s:i, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:b, s:I,"
			 " s:b, s:b, s:o, s:o, s:o, s:I, s:I, s:s?, s:b}",
			 "id", (int)state.id, "incarnation", (json_int_t)state.incarnation,
			 "memory", (json_int_t)rfmring_memory_size(node->ring),
			 "epoch", (int)state.epoch, "signal", (int)state.signal,
			 "downstream", (int)state.downstream, "left", (int)state.left,
			 "paused", (int)state.paused, "open", (int)state.ring_open,
			 "loopback", !!(state.optics & RFMRING_LOOPBACK),
			 "transmit", !(state.optics & RFMRING_TX_DISABLE),
			 "dark-on-dark", !!(state.optics & RFMRING_DARK_ON_DARK),
			 "offset", (json_int_t)state.address_offset,
			 "rx_shm", (int)state.rx_shm, "tx_shm", (int)state.tx_shm,
			 "upstream", node_or_none(state.upstream),
			 "downstream_id", node_or_none(state.downstream_id),
			 "break_at", node_or_none(state.break_at),
			 "clock_domain", (json_int_t)state.clock_domain,
			 "clock_error_ns", (json_int_t)state.clock_error_ns,
			 "clock_trouble", state.clock_trouble,
			 "incomplete", (int)state.incomplete);
}

static json_t *port_json(const struct rfm_port_info *port)
{
	return json_pack("{s:b, s:b, s:b, s:I, s:I, s:I, s:I}",
			 "connected", (int)port->connected, "up", (int)port->up,
			 "shm", (int)port->shm, "frames", (json_int_t)port->frames,
			 "bytes", (json_int_t)port->bytes,
			 "connections", (json_int_t)port->connections,
			 "refused", (json_int_t)port->refused);
}

void verb_stats(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct rfm_port_info rx, tx;

	rfmring_ports(node->ring, &rx, &tx);
	control_done(request, json_pack("{s:o, s:o, s:o, s:o, s:o*}", "state", state_json(node),
					"counters", counters_json(node), "rx", port_json(&rx),
					"tx", port_json(&tx), "publish", publish_json(node)));
}

void verb_members(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	struct rfmring_member members[RFMRING_NODES];
	int count = rfmring_members(node->ring, members, RFMRING_NODES);
	json_t *list = json_array();

	for (int i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:I, s:I, s:b}",
			"id", (int)members[i].id, "hops", (int)members[i].hops,
			"incarnation", (json_int_t)members[i].incarnation,
			"received", (json_int_t)members[i].received,
			"missed", (json_int_t)members[i].missed,
			"incomplete", (int)members[i].incomplete));
	control_done(request, json_pack("{s:o}", "members", list));
}

/* --- fence ---------------------------------------------------------------------------- */

/* One under way; the ring knows of one at a time. */
struct fence {
	struct job job;
	struct rfm_fence_result result;
};

static json_t *fence_result(struct job *job)
{
	const struct rfm_fence_result *result = &((struct fence *)job)->result;

	return json_pack("{s:b, s:I, s:i, s:b, s:b}", "complete",
			 !result->lost && !result->paused && !result->epoch_changed,
			 "lost", (json_int_t)result->lost, "epoch", (int)result->epoch,
			 "paused", (int)result->paused,
			 "epoch_changed", (int)result->epoch_changed);
}

static void fence_release(struct job *job)
{
	job->node->fence = NULL;
}

static const struct job_kind fence_job = {
	.late = "the fence has not come home in time",
	.result = fence_result,
	.release = fence_release,
};

static void fence_came(void *opaque, const struct rfm_fence_result *result)
{
	struct fence *fence = ((struct rmnode *)opaque)->fence;

	if (!fence)
		return;
	fence->result = *result;
	job_over(&fence->job);
}

void verb_fence(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	uint64_t ms = 10000;
	struct fence *fence;

	if (!control_get_number(request, args, "timeout_ms", false, 0, UINT32_MAX, &ms) ||
	    (node->fence && !control_fail(request, "another fence is under way")))
		return;
	fence = job_new(node, request, sizeof(*fence), &fence_job);
	if (!fence)
		return;
	fence->job.when = rfm_now() + ms * 1000000;
	node->fence = fence;
	job_begin(&fence->job);
	if (rfmring_fence_begin(node->ring, fence_came, node))
		job_end(&fence->job, errno == ENOLINK ? "the node is dark: nothing can leave it" :
			"there is no room for it");
}

/* --- settings ---------------------------------------------------------------------------- */

/* @optic: a bit of the optics, which @transmit means the other way round. */
static const struct {
	const char *name;
	uint64_t max;
	uint32_t optic;
} settings[] = {
	{ "loopback",		1, RFMRING_LOOPBACK },
	{ "transmit",		1, RFMRING_TX_DISABLE },
	{ "dark-on-dark",	1, RFMRING_DARK_ON_DARK },
	{ "paused",		1, 0 },
	{ "offset",		UINT32_MAX, 0 },
};

static bool set(struct rmnode *node, const char *name, uint32_t optic, uint64_t value)
{
	uint32_t optics = state_of(node->ring).optics & ~optic;

	if (optic && value != (optic == RFMRING_TX_DISABLE))
		optics |= optic;
	if (optic)
		return !rfmring_set_optics(node->ring, optics);
	return !strcmp(name, "paused") ? !rfmring_set_paused(node->ring, value) :
					!rfmring_set_address_offset(node->ring, value);
}

void verb_set(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;
	const char *name;
	uint64_t value;

	if (!control_get_string(request, args, "name", true, &name))
		return;
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		if (strcmp(settings[i].name, name))
			continue;
		if (!control_get_number(request, args, "value", true, 0, settings[i].max, &value))
			return;
		if (set(node, name, settings[i].optic, value))
			control_done(request, NULL);
		else
			control_fail(request, "the offset must be 0, 64M, 128M or 192M");
		return;
	}
	control_fail(request, "there is no setting '%.100s'", name);
}

void verb_stop(struct control_request *request, json_t *args, void *opaque)
{
	struct rmnode *node = opaque;

	node->stopping = true;
	control_done(request, NULL);
}
