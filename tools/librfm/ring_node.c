// SPDX-License-Identifier: MIT
/* Which nodes this process is, and the handles of each. */
#define _GNU_SOURCE 1		/* memfd_create(), syscall(), strerrordesc_np()... */
#include "ring_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t state_changed = PTHREAD_COND_INITIALIZER;
static struct ring_node *nodes;

/* --- fork() --------------------------------------------------------------------------- */

/* From the first process of the program to this one. */
static _Atomic unsigned int forks;

/*
 * A child has none of the threads that move nodes, and locks that nobody opens. It begins
 * with no nodes; the memory of those that it has inherited is given up.
 */
static void begin_child(void)
{
	atomic_fetch_add(&forks, 1);
	pthread_mutex_init(&nodes_lock, NULL);
	pthread_cond_init(&state_changed, NULL);
	nodes = NULL;
}

static void see_forks(void)
{
	pthread_atfork(NULL, NULL, begin_child);
}

int node_check(const struct ring_node *node)
{
	return node->forks == atomic_load_explicit(&forks, memory_order_relaxed) ? 0 :
	       fail_with(ECHILD);
}

/* --- making and freeing --------------------------------------------------------------- */

/* The thread that moves the ring may be urgent, and then so is who it waits for. */
static void init_lock(struct ring_node *node)
{
	pthread_mutexattr_t inherit;
	pthread_condattr_t monotonic;

	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&node->lock, &inherit);
	pthread_mutexattr_destroy(&inherit);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&node->status_told, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&node->settings, NULL);
}

static void free_node(struct ring_node *node)
{
	if (node->last)
		munmap(node->last, GRANULES(node->memory_size) * sizeof(*node->last));
	if (node->memory_fd >= 0)
		close(node->memory_fd);
	if (node->counting)
		syscall(SYS_io_destroy, node->counting);
	rfm_granules_destroy(&node->owned);
	pthread_cond_destroy(&node->status_told);
	pthread_mutex_destroy(&node->lock);
	pthread_mutex_destroy(&node->settings);
	free(node->address);
	free(node);
}

/* It is not on a ring yet. NULL with errno. */
static struct ring_node *new_node(const char *address, const struct ring_words *to)
{
	struct ring_node *node = calloc(1, sizeof(*node));

	if (node)
		node->address = strdup(address);
	if (!node || !node->address) {
		free(node);
		return open_failed(ENOMEM, "no memory");
	}
	init_lock(node);
	node->forks = atomic_load(&forks);
	node->memory_fd = -1;
	node->id = to->config.id;
	node->flags = to->config.flags;
	node->memory_size = to->config.memory_size;
	node->wait_ms = to->wait_ms;
	return node;
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

/* What goes with the memory, whose size is known to be good now. */
static int make_tables(struct ring_node *node)
{
	void *last = mmap(NULL, GRANULES(node->memory_size) * sizeof(*node->last),
			  PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (last == MAP_FAILED)
		return -1;
	node->last = last;
	return rfm_granules_init(&node->owned, node->memory_size);
}

/* @file: its memory, if it is not one of our own */
static int start_ring(struct ring_node *node, const char *file)
{
	if (file)
		node->memory_fd = open(file, O_RDONLY | O_CLOEXEC);
	if (node->memory_fd < 0 || make_tables(node) ||
	    rfmring_watch(node->ring, 0, node->memory_size, ring_update, node) < 0)
		return -1;
	return rfmring_start(node->ring);
}

/* It would be tried again and again, and nobody told: as if nobody were there. */
static bool is_closed(const struct ring_node *node, const char *end)
{
	if (strncmp(end, "unix:", strlen("unix:")) ||
	    !euidaccess(end + strlen("unix:"), W_OK) || errno != EACCES)
		return false;
	open_failed(EACCES, "ring:%.80s: no permission to connect to %.200s", node->address, end);
	return true;
}

static int open_ring(struct ring_node *node, struct rfmring_config *config)
{
	const char *file = config->memory_file;
	char path[32], why[300] = "";
	int error;

	if ((config->rx && is_closed(node, config->rx)) ||
	    (config->tx && is_closed(node, config->tx)))
		return -1;
	if (open_memory(node, config, path)) {
		open_failed(errno, "no memory for a node: %s", strerrordesc_np(errno));
		return -1;
	}
	config->opaque = node;
	config->interrupt = ring_interrupt;
	config->status = ring_status;
	config->log = ring_log;
	config->lost = ring_lost;
	config->timer = ring_timer;
	node->ring = rfmring_open(config, why, sizeof(why));
	if (!node->ring) {
		open_failed(errno, "ring:%.80s: %.300s", node->address, why);
		return -1;
	}
	if (!start_ring(node, file))
		return 0;
	error = errno;
	rfmring_close(node->ring);
	open_failed(error, "ring:%.80s cannot be started: %s", node->address,
		    strerrordesc_np(error));
	return -1;
}

/* --- which there are: all with nodes_lock --------------------------------------------- */

static struct ring_node **find_node(const char *address)
{
	struct ring_node **at = &nodes;

	while (*at && strcmp((*at)->address, address))
		at = &(*at)->next;
	return at;
}

static void remove_node(struct ring_node *node)
{
	*find_node(node->address) = node->next;
	free_node(node);
}

/* It lets the lock go while the node is opened. NULL with errno. */
static struct ring_node *add_node(const char *address)
{
	struct ring_words to;
	char *words = ring_address_parse(address, &to);
	struct ring_node *node;
	int status, error;

	if (!words)
		return NULL;
	node = new_node(address, &to);
	if (node) {
		node->next = nodes;
		nodes = node;
		pthread_mutex_unlock(&nodes_lock);
		status = open_ring(node, &to.config);
		error = errno;
		pthread_mutex_lock(&nodes_lock);
		node->state = NODE_OPEN;
		if (status) {
			remove_node(node);
			node = NULL;
		}
		pthread_cond_broadcast(&state_changed);
		errno = error;
	}
	free(words);
	return node;
}

/* All that say the same words are one node; while it comes or goes they wait. */
static struct ring_node *get_node(const char *address)
{
	struct ring_node *node;

	pthread_mutex_lock(&nodes_lock);
	while ((node = *find_node(address)) && node->state != NODE_OPEN)
		pthread_cond_wait(&state_changed, &nodes_lock);
	if (!node)
		node = add_node(address);
	if (node)
		node->users++;
	pthread_mutex_unlock(&nodes_lock);
	return node;
}

void node_get(struct ring_node *node)
{
	pthread_mutex_lock(&nodes_lock);
	node->users++;
	pthread_mutex_unlock(&nodes_lock);
}

int node_put(struct ring_node *node, void (*forget)(struct ring_node *node, void *user),
	     void *user)
{
	int status = 0;

	pthread_mutex_lock(&nodes_lock);
	if (node->users > 1) {
		pthread_mutex_lock(&node->lock);
		forget(node, user);
		pthread_mutex_unlock(&node->lock);
		node->users--;
	} else {
		node->state = NODE_CLOSING;
		pthread_mutex_unlock(&nodes_lock);
		status = rfmring_close(node->ring);
		pthread_mutex_lock(&nodes_lock);
		node->state = NODE_OPEN;
		if (!status)
			remove_node(node);
		pthread_cond_broadcast(&state_changed);
	}
	pthread_mutex_unlock(&nodes_lock);
	return status;
}

/* --- handles -------------------------------------------------------------------------- */

struct rfm *backend_ring_open(const char *address, int flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ring_handle *handle = calloc(1, sizeof(*handle));
	struct ring_node *node;

	if (!handle)
		return open_failed(ENOMEM, "no memory");
	pthread_once(&once, see_forks);
	node = get_node(address);
	if (!node) {
		int error = errno;

		free(handle);
		errno = error;
		return NULL;
	}
	handle->rfm.backend = &ring_backend;
	handle->rfm.can = can_of(RFM_EXT_FEATURES) & ~(uint64_t)RFM_CAN_REGION;
	handle->rfm.memory_size = node->memory_size;
	handle->rfm.writable = flags == O_RDWR;
	handle->node = node;
	if (node->wait_ms)
		wait_for_ring(node);
	pthread_mutex_lock(&node->lock);
	handle->next = node->handles;
	node->handles = handle;
	/* What was lost before is none of its affairs. */
	handle->fence_lost = node->fence_lost;
	pthread_mutex_unlock(&node->lock);
	return &handle->rfm;
}

static void forget_handle(struct ring_node *node, void *user)
{
	struct ring_handle *handle = user, **at = &node->handles;

	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	forget_owned(handle);
}

int ring_close(struct rfm *rfm)
{
	struct ring_handle *handle = to_ring_handle(rfm);

	if (node_check(handle->node) || node_put(handle->node, forget_handle, handle))
		return -1;
	free(handle->owned);
	free(handle);
	return 0;
}
