// SPDX-License-Identifier: MIT
/* Requests to a node in this process: operations at one node. Ports. */
#include "ring_private.h"

#include <limits.h>
#include <stdlib.h>

static int to_timeout(uint32_t timeout_ms)
{
	return !timeout_ms ? -1 : timeout_ms > INT_MAX ? INT_MAX : (int)timeout_ms;
}

/* --- operations ----------------------------------------------------------------------- */

static int do_word(struct rfmring *ring, struct rfm_operation *operation, int timeout)
{
	uint32_t node = operation->node, old32;
	uint64_t offset = operation->offset, old = 0;
	bool cas = operation->op == RFM_OP_CAS;
	int status;

	if (operation->data || operation->length || (!cas && operation->compare))
		return fail_with(EINVAL);
	if (operation->width == 8) {
		status = cas ? rfmring_cas64(ring, node, offset, operation->compare,
					     operation->value, &old, timeout) :
			       rfmring_add64(ring, node, offset, operation->value, &old, timeout);
		operation->old = old;
		return status;
	}
	if (operation->width != 4 || operation->value > UINT32_MAX ||
	    operation->compare > UINT32_MAX)
		return fail_with(EINVAL);
	status = cas ? rfmring_cas32(ring, node, offset, operation->compare, operation->value,
				     &old32, timeout) :
		       rfmring_add32(ring, node, offset, operation->value, &old32, timeout);
	if (!status)
		operation->old = old32;
	return status;
}

int ring_remote(struct rfm *rfm, void *argument)
{
	struct rfm_operation *operation = argument;
	struct rfmring *ring = node_of(rfm)->ring;
	void *data = (void *)(uintptr_t)operation->data;
	int timeout = to_timeout(operation->timeout_ms);
	bool bytes = operation->op != RFM_OP_CAS && operation->op != RFM_OP_ADD;

	if (operation->timeout_ms > RFM_OP_MS_MAX || operation->old ||
	    check_reserved(operation->reserved))
		return fail_with(EINVAL);
	if (operation->op != RFM_OP_READ && !rfm->writable)
		return fail_with(EBADF);
	if (bytes && (operation->width || operation->compare || operation->value))
		return fail_with(EINVAL);
	if (operation->key && operation->op != RFM_OP_SEND)
		return fail_with(EOPNOTSUPP);	/* librfmring has no regions */
	switch (operation->op) {
	case RFM_OP_READ:
		return rfmring_get(ring, operation->node, operation->offset, data,
				   operation->length, timeout);
	case RFM_OP_WRITE:
		return rfmring_put(ring, operation->node, operation->offset, data,
				   operation->length, timeout);
	case RFM_OP_SEND:
		if (operation->offset)
			return fail_with(EINVAL);
		return rfmring_message(ring, operation->node, operation->key, data,
				       operation->length, timeout);
	case RFM_OP_CAS:
	case RFM_OP_ADD:
		return do_word(ring, operation, timeout);
	default:
		return fail_with(EINVAL);
	}
}

int ring_resync(struct rfm *rfm, void *argument)
{
	struct rfm_resync_wait *wait = argument;
	struct rfmring_resync resync = { 0 };
	int status;

	_Static_assert(RFM_NODE_ALL == RFMRING_NODE_ALL, "the same number");
	if (!rfm->writable)
		return fail_with(EBADF);
	status = rfmring_resync(node_of(rfm)->ring, wait->node, &resync,
				to_timeout(wait->timeout_ms));
	if (status && errno != EAGAIN)
		return -1;
	wait->flags = resync.doubtful ? RFM_RESYNCED_DOUBTFUL : 0;
	wait->bytes = resync.finished;
	wait->donor = resync.donor;
	return 0;
}

int ring_export(struct rfm *rfm, void *argument)
{
	const struct rfm_export *export = argument;
	uint64_t first = export->range.offset / RFM_GRANULE * RFM_GRANULE, end;

	_Static_assert((int)RFM_EXPORT_READ == RFMRING_MAY_READ &&
		       (int)RFM_EXPORT_WRITE == RFMRING_MAY_WRITE &&
		       (int)RFM_EXPORT_HOME == RFMRING_HOME, "the same numbers");
	if (!rfm->writable)
		return fail_with(EBADF);
	if (!export->range.length || export->rights & ~RFM_EXPORT_RIGHTS ||
	    !range_is_inside(rfm->memory_size, export->range.offset, export->range.length))
		return fail_with(EINVAL);
	end = GRANULES(export->range.offset + export->range.length) * RFM_GRANULE;
	return rfmring_export(node_of(rfm)->ring, first, end - first, export->rights);
}

/* --- ports ---------------------------------------------------------------------------- */

/**
 * struct ring_port - a port of a node, which it keeps there
 * @held: a message that the caller had no room for: @length bytes of @from; with @room for any
 */
struct ring_port {
	struct rfm_messages port;
	struct ring_port *next;		/* with node->lock */
	struct ring_node *node;
	uint32_t number;
	void *room;
	bool held;
	size_t length;
	uint32_t from;
};

static struct ring_port *to_ring_port(const struct rfm_messages *port)
{
	return (struct ring_port *)(uintptr_t)port;
}

static int ring_receive(struct rfm_messages *any, void *data, size_t size, size_t *length,
			uint32_t *node, int timeout_ms)
{
	struct ring_port *port = to_ring_port(any);
	int status;

	if (node_check(port->node))
		return -1;
	if (!port->held) {
		status = rfmring_receive(port->node->ring, port->number, port->room,
					 RFMRING_MESSAGE_MAX, &port->length, &port->from,
					 timeout_ms);
		if (status <= 0)
			return status;
		port->held = true;
	}
	if (length)
		*length = port->length;
	if (node)
		*node = port->from;
	if (port->length > size)
		return fail_with(EMSGSIZE);
	memcpy(data, port->room, port->length);
	port->held = false;
	return 1;
}

static int ring_port_fd(const struct rfm_messages *port)
{
	(void)port;
	return fail_with(EOPNOTSUPP);
}

static void forget_port(struct ring_node *node, void *user)
{
	struct ring_port **at = &node->ports;

	while (*at != user)
		at = &(*at)->next;
	*at = (*at)->next;
}

static void ring_port_close(struct rfm_messages *any)
{
	struct ring_port *port = to_ring_port(any);

	if (!node_check(port->node)) {
		rfmring_listen(port->node->ring, port->number, 0);
		node_put(port->node, forget_port, port);
	}
	free(port->room);
	free(port);
}

static const struct rfm_messages_ops ring_port_ops = {
	.receive = ring_receive, .fd = ring_port_fd, .close = ring_port_close,
};

/* rfmring_listen() would only change the depth of one that is there. */
static int enlist(struct ring_node *node, struct ring_port *port)
{
	const struct ring_port *other;

	pthread_mutex_lock(&node->lock);
	other = node->ports;
	while (other && other->number != port->number)
		other = other->next;
	if (!other) {
		port->next = node->ports;
		node->ports = port;
	}
	pthread_mutex_unlock(&node->lock);
	return other ? fail_with(EADDRINUSE) : 0;
}

struct rfm_messages *ring_listen_port(struct rfm *rfm, struct rfm_port_listen *listen)
{
	struct ring_node *node = node_of(rfm);
	struct ring_port *port;
	int error;

	if (node_check(node))
		return NULL;
	if (listen->port >= RFM_PORTS || listen->depth > RFM_PORT_DEPTH_MAX ||
	    listen->length_max > RFM_OP_MAX) {
		errno = EINVAL;
		return NULL;
	}
	port = calloc(1, sizeof(*port));
	if (!port)
		return NULL;
	*port = (struct ring_port){
		.port.ops = &ring_port_ops, .node = node, .number = listen->port,
		.room = malloc(RFMRING_MESSAGE_MAX),
	};
	if (port->room && !enlist(node, port)) {
		node_get(node);
		if (!rfmring_listen(node->ring, listen->port, listen->depth ?
				    listen->depth : RFM_PORT_DEPTH_DEFAULT))
			return &port->port;
		error = errno;
		node_put(node, forget_port, port);
		errno = error;
	}
	error = errno;
	free(port->room);
	free(port);
	errno = error;
	return NULL;
}
