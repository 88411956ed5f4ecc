// SPDX-License-Identifier: MIT
/* Operations at one node, messages, and what other nodes may do here. */
#define _GNU_SOURCE 1		/* ppoll() */
#include "private.h"

#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* As the calls have it: 0 is for ever there, and no wait here. */
static uint32_t to_milliseconds(int timeout_ms)
{
	if (timeout_ms < 0)
		return 0;
	if (!timeout_ms)
		return 1;
	return timeout_ms < RFM_OP_MS_MAX ? timeout_ms : RFM_OP_MS_MAX;
}

static int operate(struct rfm *rfm, struct rfm_operation *operation, int timeout_ms)
{
	if (timeout_ms < -1)
		return fail_with(EINVAL);
	operation->timeout_ms = to_milliseconds(timeout_ms);
	return rfm->backend->call(rfm, RFM_IOC_REMOTE, operation);
}

int rfm_operate_sized(struct rfm *rfm, struct rfm_operation *operation, size_t size)
{
	struct rfm_operation all;

	if (take_struct(&all, sizeof(all), operation, size) ||
	    rfm->backend->call(rfm, RFM_IOC_REMOTE, &all))
		return -1;
	give_struct(operation, size, &all, sizeof(all));
	return 0;
}

static int move_bytes(struct rfm *rfm, uint32_t op, uint32_t node, uint32_t key, uint64_t offset,
		      const void *data, size_t length, int timeout_ms)
{
	struct rfm_operation operation = {
		.op = op, .node = node, .key = key, .offset = offset, .data = (uintptr_t)data,
		.length = length,
	};

	if (length > RFM_OP_MAX)
		return fail_with(EINVAL);
	return operate(rfm, &operation, timeout_ms);
}

int rfm_get(struct rfm *rfm, uint32_t node, uint64_t offset, void *data, size_t length,
	    int timeout_ms)
{
	return move_bytes(rfm, RFM_OP_READ, node, 0, offset, data, length, timeout_ms);
}

int rfm_put(struct rfm *rfm, uint32_t node, uint64_t offset, const void *data, size_t length,
	    int timeout_ms)
{
	return move_bytes(rfm, RFM_OP_WRITE, node, 0, offset, data, length, timeout_ms);
}

int rfm_message(struct rfm *rfm, uint32_t node, uint32_t port, const void *data, size_t length,
		int timeout_ms)
{
	return move_bytes(rfm, RFM_OP_SEND, node, port, 0, data, length, timeout_ms);
}

#define WORD(bits)									\
int rfm_cas##bits(struct rfm *rfm, uint32_t node, uint64_t offset, uint##bits##_t compare,	\
		  uint##bits##_t value, uint##bits##_t *old, int timeout_ms)		\
{											\
	struct rfm_operation operation = {						\
		.op = RFM_OP_CAS, .node = node, .width = (bits) / 8, .offset = offset,	\
		.compare = compare, .value = value,					\
	};										\
											\
	if (operate(rfm, &operation, timeout_ms))					\
		return -1;								\
	if (old)									\
		*old = operation.old;							\
	return 0;									\
}											\
											\
int rfm_add##bits(struct rfm *rfm, uint32_t node, uint64_t offset, uint##bits##_t value,	\
		  uint##bits##_t *old, int timeout_ms)					\
{											\
	struct rfm_operation operation = {						\
		.op = RFM_OP_ADD, .node = node, .width = (bits) / 8, .offset = offset,	\
		.value = value,								\
	};										\
											\
	if (operate(rfm, &operation, timeout_ms))					\
		return -1;								\
	if (old)									\
		*old = operation.old;							\
	return 0;									\
}

WORD(32)
WORD(64)

int rfm_export(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t rights)
{
	struct rfm_export export = {
		.range = { .offset = offset, .length = length }, .rights = rights,
	};

	return rfm->backend->call(rfm, RFM_IOC_EXPORT, &export);
}

struct rfm_events *rfm_region_open(struct rfm *rfm, void *address, size_t length, uint32_t flags,
				   uint32_t *key)
{
	struct rfm_memory_region region = {
		.address = (uintptr_t)address, .length = length,
		.flags = flags | RFM_MEMORY_CLOEXEC,
	};
	struct rfm_events *events = rfm->backend->stream(rfm, RFM_IOC_REGION, &region);

	if (events)
		*key = region.key;
	return events;
}

int rfm_resync_sized(struct rfm *rfm, uint32_t donor, int timeout_ms,
		     struct rfm_resync_wait *result, size_t size)
{
	struct rfm_resync_wait wait = {
		.node = donor, .timeout_ms = timeout_ms < 0 ? 0 : timeout_ms ? timeout_ms : 1,
	};

	if (timeout_ms < -1)
		return fail_with(EINVAL);
	if (rfm->backend->call(rfm, RFM_IOC_RESYNC, &wait))
		return -1;
	if (result)
		give_struct(result, size, &wait, sizeof(wait));
	return wait.flags & RFM_RESYNCED_DOUBTFUL ? fail_with(EAGAIN) : 0;
}

/* --- ports ---------------------------------------------------------------------------- */

struct rfm_messages *rfm_listen_port(struct rfm *rfm, uint32_t port, uint32_t depth,
				 uint32_t length_max)
{
	struct rfm_port_listen listen = { .port = port, .depth = depth, .length_max = length_max };

	return rfm->backend->listen_port(rfm, &listen);
}

int rfm_receive(struct rfm_messages *port, void *data, size_t size, size_t *length, uint32_t *node,
		int timeout_ms)
{
	if (timeout_ms < -1)
		return fail_with(EINVAL);
	return port->ops->receive(port, data, size, length, node, timeout_ms);
}

int rfm_messages_fd(const struct rfm_messages *port)
{
	return port->ops->fd(port);
}

void rfm_messages_close(struct rfm_messages *port)
{
	int error = errno;

	if (port)
		port->ops->close(port);
	errno = error;
}

/**
 * struct card_port - a port of a card
 * @held: the message that the caller had no room for, @header.length bytes; NULL: none
 * @room: bytes of the longest that can come
 */
struct card_port {
	struct rfm_messages port;
	int fd;
	size_t room;
	struct rfm_message_header header;
	void *held;
};

static struct card_port *to_card_port(const struct rfm_messages *port)
{
	return (struct card_port *)(uintptr_t)port;
}

/* Straight to the caller, or, if that has no room for the longest, by way of @held. */
static int read_message(struct card_port *port, void *data, size_t size)
{
	bool direct = size >= port->room;
	struct iovec to[2] = { { &port->header, sizeof(port->header) }, { data, port->room } };

	if (!direct) {
		to[1].iov_base = port->held = malloc(port->room);
		if (!port->held)
			return fail_with(ENOMEM);
	}
	if (readv(port->fd, to, 2) >= 0)
		return 0;
	free(port->held);
	port->held = NULL;
	return -1;
}

/* 1: there may be one now; 0: @until_ns has come; -1 */
static int wait_for_message(const struct card_port *port, uint64_t until_ns)
{
	struct pollfd fd = { .fd = port->fd, .events = POLLIN };
	uint64_t now = clock_ns(), left = now < until_ns ? until_ns - now : 0;
	struct timespec patience = { left / 1000000000, left % 1000000000 };

	return ppoll(&fd, 1, until_ns == UINT64_MAX ? NULL : &patience, NULL);
}

static int card_receive(struct rfm_messages *any, void *data, size_t size, size_t *length,
			uint32_t *node, int timeout_ms)
{
	uint64_t until = timeout_ms < 0 ? UINT64_MAX : clock_ns() + timeout_ms * 1000000ull;
	struct card_port *port = to_card_port(any);
	int ready;

	while (!port->held && read_message(port, data, size)) {
		if (errno != EAGAIN)
			return -1;
		ready = wait_for_message(port, until);
		if (ready <= 0)
			return ready;
	}
	if (length)
		*length = port->header.length;
	if (node)
		*node = port->header.node;
	if (!port->held)
		return 1;
	if (port->header.length > size)
		return fail_with(EMSGSIZE);
	memcpy(data, port->held, port->header.length);
	free(port->held);
	port->held = NULL;
	return 1;
}

static int card_port_fd(const struct rfm_messages *port)
{
	return to_card_port(port)->fd;
}

static void card_port_close(struct rfm_messages *any)
{
	struct card_port *port = to_card_port(any);

	close(port->fd);
	free(port->held);
	free(port);
}

static const struct rfm_messages_ops card_port_ops = {
	.receive = card_receive, .fd = card_port_fd, .close = card_port_close,
};

struct rfm_messages *card_port_listen(int fd, struct rfm_port_listen *listen)
{
	struct card_port *port = calloc(1, sizeof(*port));
	int error;

	if (!port)
		return NULL;
	port->port.ops = &card_port_ops;
	port->room = listen->length_max ? listen->length_max : RFM_PORT_LENGTH_DEFAULT;
	listen->flags = RFM_PORT_NONBLOCK | RFM_PORT_CLOEXEC;
	listen->header_size = sizeof(port->header);
	port->fd = ioctl(fd, RFM_IOC_PORT, listen);
	if (port->fd >= 0)
		return &port->port;
	error = errno;
	free(port);
	errno = error;
	return NULL;
}
