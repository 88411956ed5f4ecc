// SPDX-License-Identifier: MIT
/* librfmring: what a program says to the ring: stores, interrupts, fences. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <string.h>
#include <time.h>

#include "ring/host/internal.h"
#include "ring/memory.h"

#define NIC_GLOBAL	0x8
#define PIECES		64	/* that are stored before the lock is let go */

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000u, .tv_nsec = ns % 1000000000u };
}

uint64_t rfm_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? RFM_NEVER : rfm_now() + timeout_ms * 1000000ull;
}

bool rfm_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until)
{
	struct timespec when = to_timespec(until);

	if (until == RFM_NEVER)
		return !pthread_cond_wait(cond, mutex);
	return !pthread_cond_timedwait(cond, mutex, &when);
}

/* --- loads ----------------------------------------------------------------------- */

const void *rfmring_memory(const struct rfmring *ring)
{
	return ring->memory;
}

uint64_t rfmring_memory_size(const struct rfmring *ring)
{
	return ring->memory_size;
}

static bool is_inside(const struct rfmring *ring, uint64_t offset, size_t length)
{
	return offset <= ring->memory_size && length <= ring->memory_size - offset;
}

#define LOAD(bits)								\
int rfmring_load##bits(const struct rfmring *ring, uint64_t offset, uint##bits##_t *value) \
{										\
	const size_t size = sizeof(*value);					\
										\
	if (offset % size || !is_inside(ring, offset, size))			\
		return rfm_fail(EINVAL);					\
	*value = __atomic_load_n((const uint##bits##_t *)(const void *)		\
				 (ring->memory + offset), __ATOMIC_ACQUIRE);	\
	return 0;								\
}

LOAD(8)
LOAD(16)
LOAD(32)
LOAD(64)

int rfmring_read(const struct rfmring *ring, uint64_t offset, void *data, size_t length)
{
	if (!is_inside(ring, offset, length))
		return rfm_fail(EINVAL);
	rfm_memory_load(data, ring->memory + offset, length);
	return 0;
}

/* --- stores ----------------------------------------------------------------------- */

/*
 * Without a thread of its own the ring is moved by whoever waits. The
 * producer's lock is let go, because the engine takes it to say that there is
 * room.
 */
static void move_until_room(struct rfmring *ring, uint64_t until)
{
	pthread_mutex_unlock(&ring->producer);
	while (!rfm_node_may_store(&ring->node) && rfm_now() < until)
		rfm_host_run_once(ring->host, until);
	rfm_wait_over(ring);
	pthread_mutex_lock(&ring->producer);
}

static void backpressure_wait(struct rfmring *ring)
{
	uint64_t start = rfm_now();
	uint64_t until = start + ring->config.stall_ms * 1000000ull;
	uint64_t waited;

	if (!ring->host->started)
		move_until_room(ring, until);
	else
		while (!rfm_node_may_store(&ring->node) && !ring->backpressure_expired &&
		       rfm_wait_until(&ring->room, &ring->producer, until))
			;
	waited = rfm_now() - start;
	ring->stalls++;
	if (waited > ring->longest_stall)
		ring->longest_stall = waited;
	/* The next one need not wait in vain too; room_now() takes it back. */
	if (!rfm_node_may_store(&ring->node))
		ring->backpressure_expired = true;
}

/* With the producer's lock. Up to 64 bytes. */
static int store_piece(struct rfmring *ring, uint32_t offset, const void *data, unsigned int len)
{
	if (!rfm_node_may_store(&ring->node)) {
		if (rfm_host_any_locked())
			return rfm_fail(EAGAIN);
		if (!ring->backpressure_expired)
			backpressure_wait(ring);
	}
	rfm_memory_store(ring->memory + offset, data, len);
	rfm_remote_stored(&ring->remote, offset, len);
	if (rfm_node_store(&ring->node, offset, data, len, rfm_now()))
		return 0;
	return rfm_fail(ENOBUFS);
}

int rfmring_store_now(struct rfmring *ring, uint32_t offset, const void *data,
		      unsigned int length, uint64_t now)
{
	if (!ring->backpressure_expired && !rfm_node_may_store(&ring->node)) {
		if (!ring->backpressure_since) {
			ring->backpressure_since = now;
			ring->stalls++;
		}
		if (now < rfmring_backpressure_end(ring))
			return rfm_fail(EAGAIN);
		ring->backpressure_expired = true;
	}
	if (ring->backpressure_since) {
		if (now - ring->backpressure_since > ring->longest_stall)
			ring->longest_stall = now - ring->backpressure_since;
		ring->backpressure_since = 0;
	}
	rfm_memory_store(ring->memory + offset, data, length);
	rfm_remote_stored(&ring->remote, offset, length);
	return rfm_node_store(&ring->node, offset, data, length, now) ? 0 : rfm_fail(ENOBUFS);
}

uint64_t rfmring_backpressure_end(const struct rfmring *ring)
{
	return ring->backpressure_since ? ring->backpressure_since + ring->config.stall_ms * 1000000ull :
				   RFM_NEVER;
}

void rfmring_on_room(struct rfmring *ring, void (*room)(void *opaque), void *opaque)
{
	ring->on_room = room;
	ring->on_room_opaque = opaque;
}

static int store(struct rfmring *ring, uint64_t offset, const void *data, unsigned int len)
{
	int status;

	if (offset % len || !is_inside(ring, offset, len))
		return rfm_fail(EINVAL);
	pthread_mutex_lock(&ring->producer);
	status = store_piece(ring, offset, data, len);
	pthread_mutex_unlock(&ring->producer);
	return status;
}

int rfmring_store8(struct rfmring *ring, uint64_t offset, uint8_t value)
{
	return store(ring, offset, &value, sizeof(value));
}

int rfmring_store16(struct rfmring *ring, uint64_t offset, uint16_t value)
{
	return store(ring, offset, &value, sizeof(value));
}

int rfmring_store32(struct rfmring *ring, uint64_t offset, uint32_t value)
{
	return store(ring, offset, &value, sizeof(value));
}

int rfmring_store64(struct rfmring *ring, uint64_t offset, uint64_t value)
{
	return store(ring, offset, &value, sizeof(value));
}

int rfmring_write(struct rfmring *ring, uint64_t offset, const void *data, size_t length)
{
	bool at_once = rfm_host_any_locked();	/* all or nothing */
	const uint8_t *from = data;
	unsigned int pieces = 0;
	int error = 0;

	if (!is_inside(ring, offset, length) || (at_once && length > RFM_FRAME_DATA_MAX))
		return rfm_fail(EINVAL);
	pthread_mutex_lock(&ring->producer);
	while (length && error != EAGAIN) {
		/* Frames end where a multiple of 64 does, so that no word is cut. */
		size_t piece = RFM_FRAME_DATA_MAX - offset % RFM_FRAME_DATA_MAX;

		if (at_once || piece > length)
			piece = length;
		if (store_piece(ring, offset, from, piece))
			error = errno;
		offset += piece;
		from += piece;
		length -= piece;
		/* The thread that moves the ring may wait for it. */
		if (!(++pieces % PIECES)) {
			pthread_mutex_unlock(&ring->producer);
			pthread_mutex_lock(&ring->producer);
		}
	}
	pthread_mutex_unlock(&ring->producer);
	return error ? rfm_fail(error) : 0;
}

bool rfmring_may_store(struct rfmring *ring)
{
	bool may;

	pthread_mutex_lock(&ring->producer);
	may = rfm_node_may_store(&ring->node);
	pthread_mutex_unlock(&ring->producer);
	return may;
}

/* --- interrupts --------------------------------------------------------------------- */

int rfmring_interrupt(struct rfmring *ring, uint32_t node, uint32_t type, uint32_t data)
{
	const bool all = node == RFMRING_NODE_ALL;
	bool sent;

	if ((node >= RFMRING_NODES && !all) || type > RFM_TYPE_LAST)
		return rfm_fail(EINVAL);
	pthread_mutex_lock(&ring->producer);
	sent = rfm_node_interrupt(&ring->node, all ? 0 : node,
				  rfm_wire_type(type) | (all ? NIC_GLOBAL : 0), data, rfm_now());
	pthread_mutex_unlock(&ring->producer);
	return sent ? 0 : rfm_fail(ENOBUFS);
}

int rfmring_interrupt_set(struct rfmring *ring, const uint8_t *set, uint32_t type,
			  uint32_t data)
{
	static const uint8_t nobody[RFM_NODE_SET];
	bool sent;

	_Static_assert(RFM_NODE_SET == RFMRING_NODES / 8, "the size of a set");
	if (type > RFM_TYPE_LAST || !memcmp(set, nobody, sizeof(nobody)))
		return rfm_fail(EINVAL);
	pthread_mutex_lock(&ring->producer);
	sent = rfm_node_interrupt_set(&ring->node, set, rfm_wire_type(type), data, rfm_now());
	pthread_mutex_unlock(&ring->producer);
	return sent ? 0 : rfm_fail(ENOBUFS);
}

bool rfm_wait_pending(struct rfmring *ring, uint64_t until)
{
	if (ring->host->started)
		return rfm_wait_until(&ring->pending_cond, &ring->pending_lock, until);
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_host_run_once(ring->host, until);
	pthread_mutex_lock(&ring->pending_lock);
	return rfm_now() < until;
}

void rfm_wait_over(struct rfmring *ring)
{
	if (!ring->host->started)
		rfm_loop_again(ring->host->loop);
}

int rfmring_wait_interrupt(struct rfmring *ring, struct rfmring_interrupt *interrupt,
			   int timeout_ms)
{
	uint64_t until = rfm_deadline(timeout_ms);
	bool in_time = true;
	int got = 0;

	if (timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	pthread_mutex_lock(&ring->pending_lock);
	while (!ring->interrupts_count && in_time && !atomic_exchange(&ring->woken, false))
		in_time = rfm_wait_pending(ring, until);
	if (ring->interrupts_count) {
		*interrupt = ring->interrupts[ring->interrupts_head];
		ring->interrupts_head = (ring->interrupts_head + 1) % RFMRING_INTERRUPTS;
		ring->interrupts_count--;
		got = 1;
	}
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_wait_over(ring);
	return got;
}

/* --- fences --------------------------------------------------------------------------- */

struct question {
	uint32_t offset, length;
	struct rfmring_answer *answers;
};

/* @question: before it, so that nobody else's stores come in between; NULL: none */
static int begin_fence(struct rfmring *ring, uint64_t ticket, const struct question *question)
{
	uint64_t now = rfm_now();
	int error = 0;

	pthread_mutex_lock(&ring->producer);
	if (question &&
	    !rfm_node_query(&ring->node, ticket, question->offset, question->length, now))
		error = ENOBUFS;
	else if (!rfm_node_fence(&ring->node, ticket, now))
		error = atomic_load(&ring->node.insert.offline) ? ENOLINK : ENOBUFS;
	pthread_mutex_unlock(&ring->producer);
	return error ? rfm_fail(error) : 0;
}

/* With pending_lock, and no other fence under way. 0 when it has ended, whatever it says. */
static int await_fence(struct rfmring *ring, uint64_t until, const struct question *question)
{
	uint64_t ticket = ++ring->fence_ticket;
	bool in_time = true;
	int status;

	ring->fence_done = NULL;
	ring->query_ticket = ticket;
	ring->answers = question ? question->answers : NULL;
	pthread_mutex_unlock(&ring->pending_lock);
	status = begin_fence(ring, ticket, question);
	pthread_mutex_lock(&ring->pending_lock);
	if (!status) {
		ring->query_open |= question != NULL;
		while (ring->fence.ticket != ticket && in_time)
			in_time = rfm_wait_pending(ring, until);
	}
	ring->answers = NULL;
	if (status)
		return status;
	if (ring->fence.ticket != ticket)
		return rfm_fail(ETIMEDOUT);
	ring->query_open = false;
	return 0;
}

/*
 * With pending_lock. What the last fence says, and what those have found lost whose end
 * nobody has waited for.
 */
static int tell_fence(struct rfmring *ring, struct rfmring_fence *result)
{
	const struct rfm_fence_result *fence = &ring->fence;
	uint64_t lost = ring->fence_lost - ring->fence_told;

	ring->fence_told = ring->fence_lost;
	if (result)
		*result = (struct rfmring_fence){
			.lost = lost,
			.epoch = fence->epoch,
			.paused = fence->paused,
			.epoch_changed = fence->epoch_changed,
			.home = fence->home,
			.lost_in_all = ring->fence_lost,
		};
	if (lost)
		return rfm_fail(EIO);
	if (fence->paused)
		return rfm_fail(EBUSY);
	return fence->epoch_changed ? rfm_fail(EAGAIN) : 0;
}

static int fence_in_turn(struct rfmring *ring, struct rfmring_fence *result, int timeout_ms,
			 const struct question *question)
{
	uint64_t until = rfm_deadline(timeout_ms);
	int status, error;

	if (timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	pthread_mutex_lock(&ring->pending_lock);
	while (ring->fence_busy)
		if (!rfm_wait_pending(ring, until)) {
			pthread_mutex_unlock(&ring->pending_lock);
			rfm_wait_over(ring);
			return rfm_fail(ETIMEDOUT);
		}
	ring->fence_busy = true;
	/* A question is asked when the fence behind the one before has ended. */
	if (question && ring->query_open)
		await_fence(ring, until, NULL);
	status = await_fence(ring, until, question);
	if (!status)
		status = tell_fence(ring, result);
	error = errno;
	ring->fence_busy = false;
	pthread_cond_broadcast(&ring->pending_cond);
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_wait_over(ring);
	errno = error;
	return status;
}

int rfmring_fence(struct rfmring *ring, struct rfmring_fence *result, int timeout_ms)
{
	return fence_in_turn(ring, result, timeout_ms, NULL);
}

int rfmring_query(struct rfmring *ring, uint64_t offset, uint32_t length,
		  struct rfmring_answer *answers, struct rfmring_fence *result, int timeout_ms)
{
	const struct question question = { .offset = offset, .length = length, .answers = answers };
	struct rfm_answer own;
	int status, error;

	if (!length || length > RFMRING_QUERY_MAX || !is_inside(ring, offset, length))
		return rfm_fail(EINVAL);
	memset(answers, 0, RFMRING_NODES * sizeof(*answers));
	status = fence_in_turn(ring, result, timeout_ms, &question);
	error = errno;
	if (!rfm_host_any_locked()) {
		rfm_host_lock(ring->host);
		rfm_node_digest(&ring->node, offset, length, &own);
		rfm_host_unlock(ring->host);
		rfm_host_put_answer(&answers[ring->node.config.id], &own);
	}
	errno = error;
	return status;
}

int rfmring_fence_begin(struct rfmring *ring, rfm_fence_done *done, void *opaque)
{
	uint64_t ticket;

	pthread_mutex_lock(&ring->pending_lock);
	ticket = ++ring->fence_ticket;
	ring->fence_done = done;
	ring->fence_opaque = opaque;
	pthread_mutex_unlock(&ring->pending_lock);
	return begin_fence(ring, ticket, NULL);
}
