// SPDX-License-Identifier: MIT
/* A node in this process as a back end: it answers the driver's requests. */
#define _GNU_SOURCE 1		/* memfd_create() */
#include "ring_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BOARD_ID	0x65
#define FENCE_TRY_MS	200

static const struct rfm_backend ring_backend;

static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ring_node *nodes;

static struct ring_handle *to_handle(const struct rfm *rfm)
{
	return (struct ring_handle *)(uintptr_t)rfm;
}

static struct ring_node *node_of(const struct rfm *rfm)
{
	return to_handle(rfm)->node;
}

/* --- the node ----------------------------------------------------------------------- */

static void free_node(struct ring_node *node)
{
	if (node->last)
		munmap(node->last, GRANULES(node->memory_size) * sizeof(*node->last));
	if (node->memory_fd >= 0)
		close(node->memory_fd);
	pthread_cond_destroy(&node->status_told);
	pthread_mutex_destroy(&node->lock);
	free(node->address);
	free(node);
}

/*
 * Memory that others can be shown without their being able to write to it: a file, of
 * which each mapping is one for reading.
 */
static int open_memory(struct ring_node *node, struct rfmring_config *config, char path[32])
{
	if (config->memory_file)
		return 0;
	node->memory_fd = memfd_create("rfm", MFD_CLOEXEC);
	if (node->memory_fd < 0)
		return -1;
	snprintf(path, 32, "/proc/self/fd/%d", node->memory_fd);
	config->memory_file = path;
	return 0;
}

static int open_ring(struct ring_node *node, struct rfmring_config *config)
{
	const char *file = config->memory_file;
	char path[32], why[300] = "";
	struct rfmring_state state = { .size = sizeof(state) };
	struct rfmring *ring;

	if (open_memory(node, config, path)) {
		open_failed(errno, "no memory for a node: %s", rfm_error_text(errno));
		return -1;
	}
	config->opaque = node;
	config->interrupt = ring_interrupt;
	config->status = ring_status;
	config->lost = ring_lost;
	config->timer = ring_timer;
	ring = rfmring_open(config, why, sizeof(why));
	if (!ring) {
		open_failed(errno, "ring:%.80s: %.300s", node->address, why);
		return -1;
	}
	node->ring = ring;
	if (file)
		node->memory_fd = open(file, O_RDONLY | O_CLOEXEC);
	node->last = mmap(NULL, GRANULES(node->memory_size) * sizeof(*node->last),
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (node->last == MAP_FAILED)
		node->last = NULL;
	if (node->memory_fd < 0 || !node->last || rfmring_get_state(ring, &state) ||
	    rfmring_watch(ring, 0, node->memory_size - 1, ring_update, node) < 0 ||
	    rfmring_start(ring)) {
		open_failed(errno, "ring:%.80s cannot be started: %s", node->address,
			    rfm_error_text(errno));
		rfmring_close(ring);
		return -1;
	}
	node->clock_domain = state.clock_domain;
	return 0;
}

static struct ring_node *new_node(const char *address)
{
	struct ring_words to;
	char *words = ring_address_parse(address, &to);
	pthread_condattr_t monotonic;
	struct ring_node *node;

	if (!words)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (node)
		node->address = strdup(address);
	if (!node || !node->address) {
		free(node);
		free(words);
		return open_failed(ENOMEM, "no memory");
	}
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&node->lock, NULL);
	pthread_cond_init(&node->status_told, &monotonic);
	pthread_condattr_destroy(&monotonic);
	node->memory_fd = -1;
	node->id = to.config.id;
	node->flags = to.config.flags;
	node->memory_size = to.config.memory_size;
	node->wait_ms = to.wait_ms;
	if (open_ring(node, &to.config)) {
		int error = errno;

		free_node(node);
		node = NULL;
		errno = error;
	}
	free(words);
	return node;
}

/* With nodes_lock. All that say the same words are one node. */
static struct ring_node *find_node(const char *address)
{
	struct ring_node *node = nodes;

	while (node && strcmp(node->address, address))
		node = node->next;
	if (node)
		return node;
	node = new_node(address);
	if (node) {
		node->next = nodes;
		nodes = node;
	}
	return node;
}

void node_get(struct ring_node *node)
{
	pthread_mutex_lock(&nodes_lock);
	node->users++;
	pthread_mutex_unlock(&nodes_lock);
}

/* The last one leaves the ring; who opens the same meanwhile waits for that. */
int node_put(struct ring_node *node)
{
	struct ring_node **at = &nodes;
	int status = 0;

	pthread_mutex_lock(&nodes_lock);
	if (node->users > 1) {
		node->users--;
	} else {
		status = rfmring_close(node->ring);
		if (!status) {
			while (*at != node)
				at = &(*at)->next;
			*at = node->next;
			free_node(node);
		}
	}
	pthread_mutex_unlock(&nodes_lock);
	return status;
}

/* Something has happened on the ring since @seen, or it is @until_ns. */
static void wait_for_status(struct ring_node *node, uint64_t seen, uint64_t until_ns)
{
	const struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };

	pthread_mutex_lock(&node->lock);
	while (node->statuses == seen &&
	       !pthread_cond_timedwait(&node->status_told, &node->lock, &until))
		;
	pthread_mutex_unlock(&node->lock);
}

/* Until something comes home: then the ring is there. If it is not in time, that is no error. */
static void wait_for_ring(struct ring_node *node)
{
	uint64_t until = clock_ns() + node->wait_ms * 1000000ull, seen, now;

	while ((now = clock_ns()) < until) {
		pthread_mutex_lock(&node->lock);
		seen = node->statuses;
		pthread_mutex_unlock(&node->lock);
		/* One that was lost while the ring came up never comes home: the next one does. */
		if (!rfmring_fence(node->ring, NULL, FENCE_TRY_MS) ||
		    errno == EIO || errno == EBUSY || errno == EAGAIN || errno == EDEADLK)
			break;
		/* What is told of is not always in force already: it is tried again anyway. */
		if (errno != ETIMEDOUT)
			wait_for_status(node, seen, now + FENCE_TRY_MS * 1000000ull);
	}
}

struct rfm *backend_ring_open(const char *address, int flags)
{
	struct ring_handle *handle = calloc(1, sizeof(*handle));
	struct ring_node *node;

	if (!handle)
		return open_failed(ENOMEM, "no memory");
	pthread_mutex_lock(&nodes_lock);
	node = find_node(address);
	if (node)
		node->users++;
	pthread_mutex_unlock(&nodes_lock);
	if (!node) {
		int error = errno;

		free(handle);
		errno = error;
		return NULL;
	}
	handle->rfm.backend = &ring_backend;
	handle->rfm.can = can_of(RFM_EXT_FEATURES);
	handle->rfm.memory_size = node->memory_size;
	handle->rfm.writable = flags == O_RDWR;
	handle->node = node;
	pthread_mutex_lock(&node->lock);
	handle->next = node->handles;
	node->handles = handle;
	pthread_mutex_unlock(&node->lock);
	if (node->wait_ms)
		wait_for_ring(node);
	return &handle->rfm;
}

static int ring_close(struct rfm *rfm)
{
	struct ring_handle *handle = to_handle(rfm), **at;
	struct ring_node *node = handle->node;

	pthread_mutex_lock(&node->lock);
	for (at = &node->handles; *at != handle; at = &(*at)->next)
		;
	*at = handle->next;
	pthread_mutex_unlock(&node->lock);
	if (node_put(node)) {
		pthread_mutex_lock(&node->lock);
		handle->next = node->handles;
		node->handles = handle;
		pthread_mutex_unlock(&node->lock);
		return -1;
	}
	free(handle->owned);
	free(handle);
	return 0;
}

/* --- the memory --------------------------------------------------------------------- */

static void *ring_map(struct rfm *rfm, uint64_t offset, size_t length)
{
	struct ring_node *node = node_of(rfm);
	size_t lead = into_page(offset);
	char *map;

	if (!range_is_inside(node->memory_size, offset, length)) {
		errno = EINVAL;
		return NULL;
	}
	map = mmap(NULL, length + lead, PROT_READ, MAP_SHARED, node->memory_fd, offset - lead);
	return map == MAP_FAILED ? NULL : map + lead;
}

static int ring_read(struct rfm *rfm, uint64_t offset, void *data, size_t length)
{
	return rfmring_read(node_of(rfm)->ring, offset, data, length);
}

static int ring_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length)
{
	struct ring_node *node = node_of(rfm);
	int status = rfmring_write(node->ring, offset, data, length);

	if (!status || errno == ENOBUFS)
		ring_stored(node, offset, length);
	return status;
}

static int ring_load(struct rfm *rfm, uint64_t offset, void *word, size_t size)
{
	struct rfmring *ring = node_of(rfm)->ring;

	switch (size) {
	case 8:
		return rfmring_load64(ring, offset, word);
	case 4:
		return rfmring_load32(ring, offset, word);
	case 2:
		return rfmring_load16(ring, offset, word);
	default:
		return rfmring_load8(ring, offset, word);
	}
}

static int ring_set_threshold(struct rfm *rfm, size_t bytes)
{
	(void)rfm;
	(void)bytes;
	return 0;
}

static int ring_fd(const struct rfm *rfm)
{
	(void)rfm;
	return fail_with(EOPNOTSUPP);
}

/* --- requests: what it is, and is set to -------------------------------------------- */

static int get_state(struct rfm *rfm, struct rfmring_state *state)
{
	memset(state, 0, sizeof(*state));
	state->size = sizeof(*state);
	return rfmring_get_state(node_of(rfm)->ring, state);
}

static uint32_t lcsr1_of(const struct ring_node *node, const struct rfmring_state *state)
{
	uint32_t size = node->memory_size >> 27;	/* 64, 128, 256 MiB: 0, 1, 2 */

	return (state->optics & RFMRING_TX_DISABLE ? RFM_LCSR1_TX_DISABLE : 0) |
	       (state->optics & RFMRING_DARK_ON_DARK ? RFM_LCSR1_DARK_ON_DARK : 0) |
	       (state->optics & RFMRING_LOOPBACK ? RFM_LCSR1_LOOPBACK : 0) |
	       (node->flags & RFMRING_REDUNDANT ? RFM_LCSR1_REDUNDANT : 0) |
	       (node->flags & RFMRING_ROGUE_0 ? RFM_LCSR1_ROGUE_MASTER0 : 0) |
	       (node->flags & RFMRING_ROGUE_1 ? RFM_LCSR1_ROGUE_MASTER1 : 0) |
	       size << RFM_LCSR1_MEMSIZE_SHIFT |
	       (state->address_offset >> 26) << RFM_LCSR1_OFFSET_SHIFT |
	       (node->lisr & RFM_LISR_RX_FULL ? RFM_LCSR1_RX_FULL : 0) |
	       (node->lisr & RFM_LISR_RX_ALMOST_FULL ? RFM_LCSR1_RX_ALMOST_FULL : 0) |
	       (node->lisr & RFM_LISR_SYNC_LOSS ? RFM_LCSR1_SYNC_LOSS : 0) |
	       (node->lisr & RFM_LISR_BAD_DATA ? RFM_LCSR1_BAD_DATA : 0) |
	       (state->signal ? RFM_LCSR1_SIGNAL : 0) |
	       (node->own_data ? RFM_LCSR1_OWN_DATA : 0);
}

static int ring_info(struct rfm *rfm, void *argument)
{
	struct ring_node *node = node_of(rfm);
	struct rfm_info *info = argument;
	struct rfmring_state state;

	if (get_state(rfm, &state))
		return -1;
	pthread_mutex_lock(&node->lock);
	*info = (struct rfm_info){
		.memory_size = node->memory_size,
		.window_size = node->memory_size,
		.node = node->id,
		.board_id = BOARD_ID,
		.lcsr1 = lcsr1_of(node, &state),
		.lisr = node->lisr,
		.features = RFM_EXT_FEATURES,
		.irqs = node->interrupts,
		.sync_losses = node->sync_losses,
		.base_policy = RFM_BASE_ALL,
		.clock_domain = node->clock_domain,
		.watches = node->watches,
	};
	pthread_mutex_unlock(&node->lock);
	return 0;
}

#define RING_CONFIG	(RFM_CONFIG_TRANSMIT | RFM_CONFIG_LOOPBACK | RFM_CONFIG_DARK_ON_DARK | \
			 RFM_CONFIG_OWN_DATA | RFM_CONFIG_OFFSET)

/* Settings that are optics; the transmitter is on where its bit there is not. */
static const struct {
	uint32_t config, optics;
	bool inverted;
} optics_table[] = {
	{ RFM_CONFIG_TRANSMIT, RFMRING_TX_DISABLE, true },
	{ RFM_CONFIG_LOOPBACK, RFMRING_LOOPBACK, false },
	{ RFM_CONFIG_DARK_ON_DARK, RFMRING_DARK_ON_DARK, false },
};
#define OPTICS	(sizeof(optics_table) / sizeof(*optics_table))

static int ring_get_config(struct rfm *rfm, void *argument)
{
	struct rfm_config *config = argument;
	struct rfmring_state state;

	if (get_state(rfm, &state))
		return -1;
	*config = (struct rfm_config){
		.mask = RING_CONFIG,
		.on = node_of(rfm)->own_data ? RFM_CONFIG_OWN_DATA : 0,
		.address_offset = state.address_offset,
	};
	for (size_t i = 0; i < OPTICS; i++)
		if (!(state.optics & optics_table[i].optics) == optics_table[i].inverted)
			config->on |= optics_table[i].config;
	return 0;
}

static int config_is_good(const struct rfm_config *config)
{
	const uint32_t step = 64u << 20;

	if (config->mask & ~RFM_CONFIG_ALL || config->on & ~config->mask || config->pad ||
	    config->reserved[0] || config->reserved[1] || config->on & RFM_CONFIG_OWN_DATA)
		return fail_with(EINVAL);
	if (config->mask & RFM_CONFIG_OFFSET &&
	    (config->address_offset % step || config->address_offset > 3 * step))
		return fail_with(EINVAL);
	return config->mask & ~RING_CONFIG ? fail_with(EOPNOTSUPP) : 0;
}

static int ring_set_config(struct rfm *rfm, void *argument)
{
	const struct rfm_config *config = argument;
	struct ring_node *node = node_of(rfm);
	struct rfmring_state state;
	uint32_t optics;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (config_is_good(config) || get_state(rfm, &state))
		return -1;
	optics = state.optics;
	for (size_t i = 0; i < OPTICS; i++) {
		if (!(config->mask & optics_table[i].config))
			continue;
		if (!(config->on & optics_table[i].config) == optics_table[i].inverted)
			optics |= optics_table[i].optics;
		else
			optics &= ~optics_table[i].optics;
	}
	if (optics != state.optics && rfmring_set_optics(node->ring, optics))
		return -1;
	if (config->mask & RFM_CONFIG_OFFSET &&
	    rfmring_set_address_offset(node->ring, config->address_offset))
		return -1;
	if (config->mask & RFM_CONFIG_OWN_DATA) {
		pthread_mutex_lock(&node->lock);
		node->own_data = false;
		pthread_mutex_unlock(&node->lock);
	}
	return 0;
}

/* --- subscriptions: everything is received and sent anyway -------------------------- */

/* Takes granules out of what the handle owns; what is cut in two needs room for one more. */
static void disown(struct ring_handle *handle, uint64_t first, uint64_t end)
{
	for (unsigned int i = handle->owned_count; i-- > 0;) {
		struct owned *owned = &handle->owned[i];

		if (owned->end <= first || owned->first >= end)
			continue;
		if (owned->first < first && owned->end > end) {
			handle->owned[handle->owned_count++] =
				(struct owned){ end, owned->end };
			owned->end = first;
		} else if (owned->first < first) {
			owned->end = first;
		} else if (owned->end > end) {
			owned->first = end;
		} else {
			*owned = handle->owned[--handle->owned_count];
		}
	}
}

static int change_owned(struct ring_handle *handle, const struct rfm_range *range, bool add)
{
	uint64_t first = range->offset / RFM_GRANULE;
	uint64_t end = GRANULES(range->offset + range->length);
	struct ring_node *node = handle->node;
	int status = 0;

	pthread_mutex_lock(&node->lock);
	if (!handle->owned)
		handle->owned = calloc(RFM_SUBSCRIBE_MAX + 2, sizeof(*handle->owned));
	if (!handle->owned) {
		status = fail_with(ENOMEM);
	} else if (handle->owned_count >= RFM_SUBSCRIBE_MAX) {
		status = fail_with(ENOSPC);
	} else {
		disown(handle, first, end);
		if (add)
			handle->owned[handle->owned_count++] = (struct owned){ first, end };
	}
	pthread_mutex_unlock(&node->lock);
	return status;
}

static int change_subscription(struct rfm *rfm, struct rfm_subscribe *subscribe, bool add)
{
	const struct rfm_range *range = &subscribe->range;

	if (!subscribe->flags || subscribe->flags & ~RFM_SUBSCRIBE_FLAGS)
		return fail_with(EINVAL);
	subscribe->result = 0;
	if (subscribe->flags == RFM_SUBSCRIBE_NO_MAPS)
		return range->offset || range->length ? fail_with(EINVAL) : 0;
	if (!range->length || !range_is_inside(rfm->memory_size, range->offset, range->length))
		return fail_with(EINVAL);
	if (!rfm->writable && subscribe->flags & (RFM_SUBSCRIBE_TX | RFM_SUBSCRIBE_OWN))
		return fail_with(EBADF);
	if (subscribe->flags & RFM_SUBSCRIBE_OWN && change_owned(to_handle(rfm), range, add))
		return -1;
	if (subscribe->flags & (RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX))
		subscribe->result = RFM_SUBSCRIBE_NO_EFFECT;
	return 0;
}

static int ring_subscribe(struct rfm *rfm, void *argument)
{
	return change_subscription(rfm, argument, true);
}

static int ring_unsubscribe(struct rfm *rfm, void *argument)
{
	struct rfm_subscribe *subscribe = argument;

	if (subscribe->flags & RFM_SUBSCRIBE_NO_MAPS)
		return fail_with(EINVAL);
	return change_subscription(rfm, subscribe, false);
}

/* --- interrupts and fences ---------------------------------------------------------- */

/* The ring's number of an event that can be sent; -1: it cannot. */
static int wire_type(uint32_t type)
{
	static const int types[SENT_TYPES] = {
		[RFM_EVENT_RESET] = 0, [RFM_EVENT_INT1] = 1, [RFM_EVENT_INT2] = 2,
		[RFM_EVENT_INT3] = 3, [RFM_EVENT_INT4] = 7,
	};

	return type < SENT_TYPES ? types[type] : -1;
}

static int ring_send(struct rfm *rfm, void *argument)
{
	const struct rfm_send *send = argument;
	struct ring_node *node = node_of(rfm);
	int type = wire_type(send->type);

	if (!rfm->writable)
		return fail_with(EBADF);
	if (type < 0 || send->reserved || send->node == node->id ||
	    (send->node >= RFM_NODES && send->node != RFM_NODE_ALL))
		return fail_with(EINVAL);
	return rfmring_interrupt(node->ring, send->node == RFM_NODE_ALL ? RFMRING_ALL : send->node,
				 type, send->type == RFM_EVENT_RESET ? 0 : send->data);
}

static int ring_send_set(struct rfm *rfm, void *argument)
{
	const struct rfm_send_set *send = argument;
	struct ring_node *node = node_of(rfm);
	uint8_t set[RFMRING_NODES / 8];
	int type = wire_type(send->type);

	if (!rfm->writable)
		return fail_with(EBADF);
	if (type < 0 || send->reserved || send->nodes[node->id / 64] >> node->id % 64 & 1)
		return fail_with(EINVAL);
	for (unsigned int i = 0; i < sizeof(set); i++)
		set[i] = send->nodes[i / 8] >> i % 8 * 8;
	return rfmring_interrupt_set(node->ring, set, type,
				     send->type == RFM_EVENT_RESET ? 0 : send->data);
}

/*
 * How a fence ended, as the driver says it. @status: what rfmring_fence() has returned, with
 * its errno. Those with which it has no result are errors here too.
 */
static int fence_flags(int status, const struct rfmring_fence *fence, uint32_t *flags)
{
	*flags = (fence->lost ? RFM_FENCED_LOST : 0) | (fence->paused ? RFM_FENCED_PAUSED : 0) |
		 (fence->epoch_changed ? RFM_FENCED_EPOCH : 0);
	if (status && errno == ENOLINK)
		*flags = RFM_FENCED_DARK;
	return status && !*flags ? -1 : 0;
}

static int ring_fence(struct rfm *rfm, void *argument)
{
	struct rfm_fence_wait *wait = argument;
	struct rfmring_fence fence = { 0 };
	uint64_t begun = clock_ns();
	uint32_t flags;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (fence_flags(rfmring_fence(node_of(rfm)->ring, &fence, wait->timeout_ms), &fence, &flags))
		return -1;
	wait->flags = flags;
	wait->lost = fence.lost;
	wait->epoch = fence.epoch;
	wait->wait_ns = clock_ns() - begun;
	return 0;
}

/* A fence is a packet that no node reacts to, and so does as the probe. */
static int ring_ring_test(struct rfm *rfm, void *argument)
{
	struct rfm_ring_test *test = argument;
	struct rfmring_fence fence = { 0 };
	uint64_t begun = clock_ns();
	uint32_t flags;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (fence_flags(rfmring_fence(node_of(rfm)->ring, &fence, test->timeout_ms), &fence, &flags))
		return -1;
	if (flags & RFM_FENCED_DARK)
		return fail_with(ETIMEDOUT);
	test->round_trip_ns = clock_ns() - begun;
	return 0;
}

static int ring_verify(struct rfm *rfm, void *argument)
{
	struct rfmring_answer answers[RFMRING_NODES];
	struct rfm_verify *verify = argument;
	struct ring_node *node = node_of(rfm);
	struct rfmring_fence fence = { 0 };
	uint32_t flags;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (!verify->length || verify->length > RFM_VERIFY_MAX ||
	    !range_is_inside(rfm->memory_size, verify->offset, verify->length))
		return fail_with(EINVAL);
	if (fence_flags(rfmring_query(node->ring, verify->offset, verify->length, answers, &fence,
				      verify->timeout_ms), &fence, &flags))
		return -1;
	verify->flags = flags;
	verify->node = node->id;
	verify->lost = fence.lost;
	verify->epoch = fence.epoch;
	for (unsigned int i = 0; i < RFMRING_NODES; i++) {
		struct rfm_node_answer *answer = &verify->answer[i];

		if (!answers[i].given)
			continue;
		answer->flags = RFM_ANSWER_GIVEN | (answers[i].paused ? RFM_ANSWER_BEHIND : 0);
		answer->length = answers[i].length;
		answer->crc = answers[i].crc;
		memcpy(answer->first, answers[i].first, sizeof(answer->first));
	}
	return 0;
}

/* --- finding out -------------------------------------------------------------------- */

static int ring_writer(struct rfm *rfm, void *argument)
{
	struct rfm_writer *writer = argument;
	struct ring_node *node = node_of(rfm);
	struct last_write last;

	if (writer->offset >= rfm->memory_size)
		return fail_with(EINVAL);
	pthread_mutex_lock(&node->lock);
	last = node->last[writer->offset / RFM_GRANULE];
	pthread_mutex_unlock(&node->lock);
	writer->node = last.written ? last.node : RFM_NODE_ALL;
	writer->frame = last.frame;
	writer->time_ns = last.time_ns;
	if (last.written && last.clock_domain != node->clock_domain)
		writer->flags = RFM_EVENT_AGE_UNKNOWN;
	return 0;
}

static int ring_counters(struct rfm *rfm, void *argument)
{
	struct rfm_counters *counters = argument;
	struct ring_node *node = node_of(rfm);
	struct rfmring_stats stats = { .size = sizeof(stats) };
	struct rfmring_state state;
	__u64 *value = counters->value;

	if (rfmring_get_stats(node->ring, &stats) || get_state(rfm, &state))
		return -1;
	memset(counters, 0, sizeof(*counters));
	counters->count = RFM_COUNTERS;
	counters->clock_ns = clock_ns();
	/* Up to there they are the same counters in the same order. */
	_Static_assert(offsetof(struct rfmring_stats, held_lost) -
		       offsetof(struct rfmring_stats, stores) ==
		       RFM_COUNTER_HELD_LOST * sizeof(uint64_t), "the same counters");
	memcpy(value, &stats.stores, (RFM_COUNTER_HELD_LOST + 1) * sizeof(*value));
	value[RFM_COUNTER_SENT_BYTES] = stats.sent_bytes;
	value[RFM_COUNTER_RECEIVED_BYTES] = stats.received_bytes;
	value[RFM_COUNTER_FORWARDED_BYTES] = stats.forwarded_bytes;
	value[RFM_COUNTER_WINDOW] = stats.window;
	value[RFM_COUNTER_WINDOW_PEAK] = stats.window_peak;
	value[RFM_COUNTER_TX] = stats.tx;
	value[RFM_COUNTER_TX_PEAK] = stats.tx_peak;
	value[RFM_COUNTER_INSERT] = stats.insert;
	value[RFM_COUNTER_INSERT_PEAK] = stats.insert_peak;
	value[RFM_COUNTER_STALL_US] = stats.longest_stall_ns / 1000;
	value[RFM_COUNTER_EPOCH] = state.epoch;
	value[RFM_COUNTER_TURN_NS] = state.turn_ns;
	pthread_mutex_lock(&node->lock);
	value[RFM_COUNTER_INTERRUPTS_DROPPED] = node->interrupts_dropped;
	value[RFM_COUNTER_EVENTS] = node->events;
	value[RFM_COUNTER_CONFLICTS] = node->conflicts;
	value[RFM_COUNTER_BREAKS] = node->breaks;
	pthread_mutex_unlock(&node->lock);
	return 0;
}

static int ring_ring_map(struct rfm *rfm, void *argument)
{
	struct rfm_ring_map *map = argument;
	struct rfm_member *members = (struct rfm_member *)(uintptr_t)map->members;
	struct rfmring_member others[RFMRING_NODES];
	struct ring_node *node = node_of(rfm);
	struct rfmring_state state;
	int count;

	if (map->count > RFM_NODES)
		return fail_with(EINVAL);
	count = rfmring_members(node->ring, others, RFMRING_NODES);
	if (count < 0 || get_state(rfm, &state))
		return -1;
	memset(members, 0, map->count * sizeof(*members));
	for (int i = 0; i < count; i++) {
		const struct rfmring_member *other = &others[i];

		if (other->id >= map->count)
			continue;
		members[other->id] = (struct rfm_member){
			.present = 1,
			.hops = other->hops,
			.hubs = other->hubs,
			.flags = (other->clock_domain != node->clock_domain ?
				  RFM_EVENT_AGE_UNKNOWN : 0) |
				 (other->paused ? RFM_MEMBER_PAUSED : 0),
			.transit_ns = other->transit_ns,
			.received = other->received,
			.missed = other->missed,
			.heard_ns = other->heard_ns,
			.broke_ns = other->broke_ns,
		};
	}
	if (node->id < map->count)
		members[node->id].present = !state.left;
	map->present = count + !state.left;
	map->turn_ns = state.turn_ns;
	map->epoch = state.epoch;
	map->clock_ns = clock_ns();
	return 0;
}

static int ring_event_counts(struct rfm *rfm, void *argument)
{
	struct rfm_event_counts *counts = argument;
	struct ring_node *node = node_of(rfm);

	memset(counts, 0, sizeof(*counts));
	pthread_mutex_lock(&node->lock);
	memcpy(counts->count, node->taken, sizeof(node->taken));
	pthread_mutex_unlock(&node->lock);
	return 0;
}

/* --- registers: those that say what the node says ----------------------------------- */

/* As words of the control registers; false: the node has none there. */
static bool control_word(const struct rfm_info *info, uint32_t offset, uint32_t *word)
{
	switch (offset) {
	case 0x00:
		*word = info->board_id << 8;
		return true;
	case 0x04:
		*word = info->node;
		return true;
	case 0x08:
		*word = info->lcsr1;
		return true;
	case 0x10:
		*word = info->lisr;
		return true;
	default:
		return false;
	}
}

static int ring_reg(struct rfm *rfm, void *argument)
{
	struct rfm_reg *reg = argument;
	const uint32_t width = reg->width, end = reg->set == RFM_REGS_RUNTIME ? 0x200 : 0x40;
	struct rfm_info info;
	uint64_t all;
	uint32_t word;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (reg->set > RFM_REGS_CONTROL || (width != 1 && width != 2 && width != 4) ||
	    reg->offset % width || reg->offset >= end)
		return fail_with(EINVAL);
	all = (1ull << 8 * width) - 1;
	if (reg->mask & ~all || reg->value & ~reg->mask)
		return fail_with(EINVAL);
	if (reg->mask || reg->set == RFM_REGS_RUNTIME)
		return fail_with(EOPNOTSUPP);
	if (ring_info(rfm, &info))
		return -1;
	if (!control_word(&info, reg->offset & ~3u, &word))
		return fail_with(EOPNOTSUPP);
	reg->before = word >> reg->offset % 4 * 8 & all;
	return 0;
}

/* --- the table ---------------------------------------------------------------------- */

static int ring_call(struct rfm *rfm, unsigned long request, void *argument)
{
	static const struct {
		unsigned long request;
		int (*answer)(struct rfm *rfm, void *argument);
	} table[] = {
		{ RFM_IOC_INFO, ring_info },
		{ RFM_IOC_SEND, ring_send },
		{ RFM_IOC_RING_TEST, ring_ring_test },
		{ RFM_IOC_SUBSCRIBE, ring_subscribe },
		{ RFM_IOC_UNSUBSCRIBE, ring_unsubscribe },
		{ RFM_IOC_FENCE, ring_fence },
		{ RFM_IOC_SEND_SET, ring_send_set },
		{ RFM_IOC_GET_CONFIG, ring_get_config },
		{ RFM_IOC_SET_CONFIG, ring_set_config },
		{ RFM_IOC_WRITER, ring_writer },
		{ RFM_IOC_COUNTERS, ring_counters },
		{ RFM_IOC_RING_MAP, ring_ring_map },
		{ RFM_IOC_VERIFY, ring_verify },
		{ RFM_IOC_REG, ring_reg },
		{ RFM_IOC_EVENT_COUNTS, ring_event_counts },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].request == request)
			return table[i].answer(rfm, argument);
	return fail_with(ENOTTY);
}

static const struct rfm_backend ring_backend = {
	.call = ring_call,
	.stream = ring_stream,
	.map = ring_map,
	.read = ring_read,
	.write = ring_write,
	.load = ring_load,
	.store = ring_write,
	.set_threshold = ring_set_threshold,
	.fd = ring_fd,
	.close = ring_close,
};
