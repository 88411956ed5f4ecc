// SPDX-License-Identifier: MIT
/* librfmring: operations at one node. They are asked in any thread, and run in the loop. */
#include <errno.h>
#include <stdlib.h>

#include "ring/host/internal.h"
#include "ring/memory.h"

/* --- what others may do ------------------------------------------------------------- */

static const enum rfm_granules_plane planes[] = {
	[RFM_REMOTE_LOADS]	= RFM_GRANULES_READ,
	[RFM_REMOTE_STORES]	= RFM_GRANULES_WRITE,
	[RFM_REMOTE_CHANGES]	= RFM_GRANULES_HOME,
};

int rfmring_export(struct rfmring *ring, uint64_t offset, uint64_t length, uint32_t rights)
{
	const uint32_t first = offset / RFM_GRANULES_BYTES, count = length / RFM_GRANULES_BYTES;
	bool locked = rfm_host_is_locked(ring->host);

	if (offset % RFM_GRANULES_BYTES || length % RFM_GRANULES_BYTES || offset > ring->memory_size ||
	    length > ring->memory_size - offset ||
	    rights & ~(RFMRING_MAY_READ | RFMRING_MAY_WRITE | RFMRING_HOME))
		return rfm_fail(EINVAL);
	if (!locked && !rfm_host_lock(ring->host))
		return -1;
	rfm_granules_set(&ring->exports, RFM_GRANULES_READ, first, count, rights & RFMRING_MAY_READ);
	rfm_granules_set(&ring->exports, RFM_GRANULES_WRITE, first, count, rights & RFMRING_MAY_WRITE);
	rfm_granules_set(&ring->exports, RFM_GRANULES_HOME, first, count, rights & RFMRING_HOME);
	if (!locked)
		rfm_host_unlock(ring->host);
	return 0;
}

static enum rfm_remote_result may_do(void *opaque, uint8_t from,
					   enum rfm_remote_access access,
					   uint32_t key, uint64_t offset, uint32_t length)
{
	const struct rfmring *ring = opaque;
	bool on;

	(void)from;
	if (key)
		return RFM_REMOTE_DENIED;
	if (offset > ring->memory_size || length > ring->memory_size - offset)
		return RFM_REMOTE_RANGE;
	if (access == RFM_REMOTE_MERGES)
		return RFM_REMOTE_OK;
	if (rfm_granules_run(&ring->exports, planes[access], offset, length, &on) == length && on)
		return RFM_REMOTE_OK;
	return access == RFM_REMOTE_CHANGES ? RFM_REMOTE_NOT_HOME : RFM_REMOTE_DENIED;
}

static void load_own(void *opaque, uint32_t key, uint64_t offset, void *data, uint32_t length)
{
	const struct rfmring *ring = opaque;

	(void)key;
	rfm_memory_load(data, ring->memory + offset, length);
}

static void store_own(void *opaque, uint32_t key, uint64_t offset, const void *data,
			 uint32_t length)
{
	struct rfmring *ring = opaque;

	(void)key;
	rfm_memory_store(ring->memory + offset, data, length);
	rfm_remote_stored(&ring->remote, offset, length);
}

static void merge_own(void *opaque, uint64_t offset, const void *data, uint32_t length)
{
	struct rfmring *ring = opaque;

	rfm_memory_store(ring->memory + offset, data, length);
}

static bool may_store_word(void *opaque)
{
	struct rfmring *ring = opaque;

	return rfm_node_may_store(&ring->node);
}

static void store_word(void *opaque, uint64_t offset, const void *data, uint32_t length)
{
	struct rfmring *ring = opaque;

	rfm_memory_store(ring->memory + offset, data, length);
	rfm_remote_stored(&ring->remote, offset, length);
	rfm_node_store(&ring->node, offset, data, length, rfm_loop_now(ring->host->loop));
}

/* --- in the loop ---------------------------------------------------------------------- */

static bool remote_poll(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;
	uint64_t next;

	rfm_poller_deactivate(&ring->remote_poller);
	rfm_host_tell_ended(ring);
	/* A callback may store, which takes this mutex. */
	ring->holds_status = true;
	pthread_mutex_lock(&ring->producer);
	next = rfm_remote_run(&ring->remote, now);
	pthread_mutex_unlock(&ring->producer);
	ring->holds_status = false;
	rfm_host_tell_status(ring);
	rfm_timer_set(ring->host->loop, &ring->remote_timer, next);
	return true;
}

static void remote_time(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;

	(void)now;
	rfm_poller_activate(&ring->remote_poller);
}

void rfm_host_remote_wake(struct rfmring *ring)
{
	if (ring->remote_there)
		rfm_poller_kick(&ring->remote_poller);
}

static void wake_poller(void *opaque)
{
	rfm_host_remote_wake(opaque);
}

void rfm_host_packet_end(void *opaque, uint64_t cookie, enum rfm_packet_fate fate)
{
	struct rfmring *ring = opaque;

	if (cookie & RFM_ETHER_COOKIE)
		rfm_ether_packet_end(&ring->tap->ether, cookie, fate);
	else
		rfm_remote_packet_end(&ring->remote, cookie, fate);
}

void rfm_host_packet_room(void *opaque)
{
	struct rfmring *ring = opaque;

	rfm_host_remote_wake(ring);
	if (ring->tap)
		rfm_ether_packet_room(&ring->tap->ether);
}

static bool is_for_tap(const struct rfmring *ring, const struct rfm_packet *packet)
{
	return packet->class == RFM_PACKET_ETHERNET && ring->tap;
}

bool rfm_host_take(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	struct rfmring *ring = opaque;

	if (is_for_tap(ring, packet))
		return rfm_ether_take(&ring->tap->ether, packet);
	return rfm_remote_take(&ring->remote, packet, data);
}

void rfm_host_packet(void *opaque, const struct rfm_packet *packet, const uint8_t *data)
{
	struct rfmring *ring = opaque;

	if (is_for_tap(ring, packet))
		rfm_ether_packet(&ring->tap->ether, packet, data);
	else
		rfm_remote_packet(&ring->remote, packet, data);
}

static const struct rfm_remote_ops ops = {
	.check = may_do,
	.load = load_own,
	.store = store_own,
	.may_update = may_store_word,
	.update = store_word,
	.merge = merge_own,
	.wake = wake_poller,
	.port_room = rfm_host_port_room,
	.message = rfm_host_message,
};

bool rfm_host_remote_init(struct rfmring *ring)
{
	rfm_remote_init(&ring->remote, &ring->node, &ops, ring);
	return !rfm_granules_init(&ring->exports, ring->memory_size);
}

void rfm_host_remote_attach(struct rfmring *ring)
{
	ring->remote_poller = (struct rfm_poller){ .poll = remote_poll, .opaque = ring };
	ring->remote_timer = (struct rfm_timer){ .fire = remote_time, .opaque = ring };
	rfm_poller_add(ring->host->loop, &ring->remote_poller);
	ring->remote_there = true;
}

void rfm_host_remote_detach(struct rfmring *ring)
{
	ring->remote_there = false;
	rfm_timer_set(ring->host->loop, &ring->remote_timer, RFM_NEVER);
	rfm_poller_remove(&ring->remote_poller);
}

void rfm_host_remote_leave(struct rfmring *ring)
{
	ring->leaving = true;
	rfmring_resync_cancel(ring);
	while (ring->remote.first)
		rfm_remote_cancel(&ring->remote, ring->remote.first);
	rfm_host_tell_ended(ring);
}

void rfm_host_remote_destroy(struct rfmring *ring)
{
	rfm_remote_destroy(&ring->remote);
	rfm_host_messages_destroy(ring);
	rfm_granules_destroy(&ring->exports);
}

/* --- callers ---------------------------------------------------------------------------- */

struct call {
	struct rfm_remote_request request;	/* the first: done() gets its address */
	struct rfmring *ring;
	bool ended;		/* with pending_lock */
};

int rfm_host_remote_error(enum rfm_remote_result result)
{
	switch (result) {
	case RFM_REMOTE_OK:
		return 0;
	case RFM_REMOTE_DENIED:
	case RFM_REMOTE_NOT_HOME:
		return EACCES;
	case RFM_REMOTE_NO_NODE:
		return EHOSTUNREACH;
	case RFM_REMOTE_INCOMPLETE:
		return ENODATA;
	case RFM_REMOTE_CLOSED:
		return ECONNREFUSED;
	case RFM_REMOTE_NO_ROOM:
	case RFM_REMOTE_WITHDRAWN:
		return EBUSY;
	case RFM_REMOTE_TOO_LONG:
		return EMSGSIZE;
	case RFM_REMOTE_DARK:
		return ENOLINK;
	case RFM_REMOTE_CANCELLED:
		return ETIMEDOUT;
	case RFM_REMOTE_UNKNOWN:
		return EREMOTEIO;
	default:
		return EINVAL;
	}
}

void rfmring_ask(struct rfmring *ring, struct rfm_remote_request *request)
{
	rfm_remote_ask(&ring->remote, request, rfm_now());
}

void rfmring_cancel(struct rfmring *ring, struct rfm_remote_request *request)
{
	rfm_remote_cancel(&ring->remote, request);
}

static void on_call_done(struct rfm_remote_request *request)
{
	struct call *call = (struct call *)(void *)request;
	struct rfmring *ring = call->ring;

	pthread_mutex_lock(&ring->pending_lock);
	call->ended = true;
	pthread_cond_broadcast(&ring->pending_cond);
	pthread_mutex_unlock(&ring->pending_lock);
}

static int do_call(struct rfmring *ring, struct call *call, uint32_t node, uint64_t offset,
		   int timeout_ms)
{
	uint64_t until = rfm_deadline(timeout_ms);
	bool in_time = true;
	int error;

	if (node >= RFMRING_NODES || timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	call->ring = ring;
	call->request.node = node;
	call->request.offset = offset;
	call->request.done = on_call_done;
	rfm_host_lock(ring->host);
	rfmring_ask(ring, &call->request);
	rfm_host_unlock(ring->host);
	pthread_mutex_lock(&ring->pending_lock);
	while (!call->ended && in_time)
		in_time = rfm_wait_pending(ring, until);
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_wait_over(ring);
	if (!in_time) {
		rfm_host_lock(ring->host);
		rfmring_cancel(ring, &call->request);
		rfm_host_unlock(ring->host);
	}
	error = rfm_host_remote_error(call->request.result);
	return error ? rfm_fail(error) : 0;
}

static int do_bytes(struct rfmring *ring, enum rfm_remote_op op, uint32_t node, uint64_t offset,
		    void *data, size_t length, int timeout_ms)
{
	struct call call = { .request = { .op = op, .data = data, .length = length } };

	if (!length || length > RFM_REMOTE_MAX)
		return rfm_fail(EINVAL);
	return do_call(ring, &call, node, offset, timeout_ms);
}

int rfmring_get(struct rfmring *ring, uint32_t node, uint64_t offset, void *data, size_t length,
		int timeout_ms)
{
	return do_bytes(ring, RFM_REMOTE_READ, node, offset, data, length, timeout_ms);
}

int rfmring_put(struct rfmring *ring, uint32_t node, uint64_t offset, const void *data,
		size_t length, int timeout_ms)
{
	return do_bytes(ring, RFM_REMOTE_WRITE, node, offset, (void *)(uintptr_t)data, length,
			timeout_ms);
}

int rfmring_message(struct rfmring *ring, uint32_t node, uint32_t port, const void *data,
		    size_t length, int timeout_ms)
{
	struct call call = { .request = {
		.op = RFM_REMOTE_SEND, .key = port, .data = (void *)(uintptr_t)data, .length = length,
	} };

	if (port >= RFMRING_PORTS || !length || length > RFMRING_MESSAGE_MAX)
		return rfm_fail(EINVAL);
	return do_call(ring, &call, node, 0, timeout_ms);
}

#define WORD(bits)									\
int rfmring_cas##bits(struct rfmring *ring, uint32_t node, uint64_t offset,		\
		      uint##bits##_t compare, uint##bits##_t value, uint##bits##_t *old,	\
		      int timeout_ms)							\
{											\
	struct call call = { .request = {						\
		.op = RFM_REMOTE_CAS, .width = (bits) / 8, .compare = compare, .value = value,	\
	} };										\
	int status = do_call(ring, &call, node, offset, timeout_ms);			\
											\
	if (!status)									\
		*old = call.request.old;						\
	return status;									\
}											\
											\
int rfmring_add##bits(struct rfmring *ring, uint32_t node, uint64_t offset,		\
		      uint##bits##_t value, uint##bits##_t *old, int timeout_ms)		\
{											\
	struct call call = { .request = {						\
		.op = RFM_REMOTE_ADD, .width = (bits) / 8, .value = value,		\
	} };										\
	int status = do_call(ring, &call, node, offset, timeout_ms);			\
											\
	if (!status)									\
		*old = call.request.old;						\
	return status;									\
}

WORD(32)
WORD(64)

/* --- resync -------------------------------------------------------------------------------- */

struct resync {
	struct rfm_resync resync;	/* the first: done() gets its address */
	struct rfmring *ring;
	void (*done)(void *opaque, const struct rfm_resync *resync);
	void *opaque;
};

static void on_resync_done(struct rfm_resync *resync)
{
	struct resync *one = (struct resync *)(void *)resync;

	one->ring->resync = NULL;
	one->done(one->opaque, resync);
	free(one);
}

int rfmring_resync_begin(struct rfmring *ring, uint32_t donor,
			 void (*done)(void *opaque, const struct rfm_resync *resync), void *opaque)
{
	struct resync *one;

	if (ring->resync || ring->auto_resync.resync)
		return rfm_fail(EALREADY);
	one = calloc(1, sizeof(*one));
	if (!one)
		return -1;
	*one = (struct resync){ .ring = ring, .done = done, .opaque = opaque };
	one->resync.done = on_resync_done;
	one->resync.last = ring->memory_size - 1;
	ring->resync = &one->resync;
	rfm_resync_begin(&one->resync, &ring->remote,
			 donor == RFMRING_NODE_ALL ? RFM_RESYNC_NEAREST : (int)donor, rfm_now());
	return 0;
}

void rfmring_resync_cancel(struct rfmring *ring)
{
	if (ring->resync)
		rfm_resync_cancel(ring->resync);
}

struct resync_call {
	struct rfmring *ring;
	struct rfmring_resync told;
	enum rfm_remote_result result;
	bool ended;		/* with pending_lock */
};

static void on_resync_end(void *opaque, const struct rfm_resync *resync)
{
	struct resync_call *call = opaque;
	struct rfmring *ring = call->ring;

	pthread_mutex_lock(&ring->pending_lock);
	call->result = resync->result;
	call->told = (struct rfmring_resync){
		.finished = resync->finished, .donor = resync->donor, .doubtful = resync->doubtful,
	};
	if (!resync->finished && resync->result == RFM_REMOTE_NO_NODE)
		call->told.donor = RFMRING_NODE_ALL;
	call->ended = true;
	pthread_cond_broadcast(&ring->pending_cond);
	pthread_mutex_unlock(&ring->pending_lock);
}

int rfmring_resync(struct rfmring *ring, uint32_t donor, struct rfmring_resync *resync,
		   int timeout_ms)
{
	struct resync_call call = { .ring = ring };
	uint64_t until = rfm_deadline(timeout_ms);
	bool in_time = true;
	int error;

	if ((donor >= RFMRING_NODES && donor != RFMRING_NODE_ALL) || timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	rfm_host_lock(ring->host);
	error = rfmring_resync_begin(ring, donor, on_resync_end, &call) ? errno : 0;
	rfm_host_unlock(ring->host);
	if (error)
		return rfm_fail(error);
	pthread_mutex_lock(&ring->pending_lock);
	while (!call.ended && in_time)
		in_time = rfm_wait_pending(ring, until);
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_wait_over(ring);
	if (!in_time) {
		rfm_host_lock(ring->host);
		if (!call.ended)
			rfmring_resync_cancel(ring);
		rfm_host_unlock(ring->host);
	}
	if (resync)
		*resync = call.told;
	error = rfm_host_remote_error(call.result);
	if (!error && call.told.doubtful)
		error = EAGAIN;
	return error ? rfm_fail(error) : 0;
}
