// SPDX-License-Identifier: MIT
/* librfmring: opening, moving and closing a ring. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/rfmring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/host/internal.h"
#include "ring/util/line-text.h"

#define PAGE		4096u
#define STALL_MAX_MS	10000u
#define ALL_FLAGS	0x1ffu
#define PRIORITY_MAX	99u
#define TURN_NS		1000000u	/* of rfmring_run(ring, 0) on a busy ring */
#define LINGER_STEP_NS	1000000u
#define TIMER_SLACK_NS	1000u	/* a paced line wants its time kept */

/* The configuration of version 1.0, in which there was nothing behind the last callback. */
#define CONFIG_SIZE_VER0	(offsetof(struct rfmring_config, timer) + sizeof(void (*)(void)))

/* --- what the caller wants ----------------------------------------------------------- */

struct open_error {
	char *text;
	size_t size;
};

/* Says why; errno becomes @error. Returns false. */
__attribute__((format(printf, 3, 4)))
static bool set_open_error(const struct open_error *open_error, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (open_error->text && open_error->size)
		vsnprintf(open_error->text, open_error->size, format, args);
	va_end(args);
	errno = error;
	return false;
}

/*
 * Take over what the caller's version of the struct has. What an older one lacks is 0.
 * One from the future is fine as long as it asks for nothing that we do not know.
 */
static bool take_config(struct rfmring_config *config, const struct rfmring_config *given,
			const struct open_error *open_error)
{
	const uint8_t *bytes = (const uint8_t *)given;

	if (!given || given->size < CONFIG_SIZE_VER0)
		return set_open_error(open_error, EINVAL, "the size in the configuration is not set");
	for (size_t i = sizeof(*config); i < given->size; i++)
		if (bytes[i])
			return set_open_error(open_error, EINVAL,
					      "the configuration has settings that this library "
					      "does not know");
	memset(config, 0, sizeof(*config));
	memcpy(config, given, given->size < sizeof(*config) ? given->size : sizeof(*config));
	config->size = sizeof(*config);
	return true;
}

/* A number, of digits alone, below RFM_CPUS_MAX; false: there is none. */
static bool take_cpu(const char **text, unsigned int *cpu)
{
	const char *begin = *text;

	*cpu = 0;
	while (**text >= '0' && **text <= '9' && *cpu < RFM_CPUS_MAX)
		*cpu = *cpu * 10 + (unsigned int)(*(*text)++ - '0');
	return *text > begin && *cpu < RFM_CPUS_MAX;
}

/* "80-95,3" */
static bool take_cpus(uint64_t *cpus, const char *list, const struct open_error *open_error)
{
	const char *text = list;
	unsigned int first, last;

	if (!list)
		return true;
	for (;; text++) {
		if (!take_cpu(&text, &first))
			break;
		last = first;
		if (*text == '-' && (text++, !take_cpu(&text, &last) || last < first))
			break;
		for (; first <= last; first++)
			cpus[first / 64] |= (uint64_t)1 << first % 64;
		if (!*text)
			return true;
		if (*text != ',')
			break;
	}
	return set_open_error(open_error, EINVAL, "'%.100s' is no list of processors such as 80-95,3",
			      list);
}

static bool check_numbers(struct rfmring_config *config, const struct open_error *open_error)
{
	if (config->id >= RFMRING_NODES)
		return set_open_error(open_error, EINVAL, "the node id must be 0 to 255, not %u", config->id);
	if (config->flags & ~ALL_FLAGS)
		return set_open_error(open_error, EINVAL, "the configuration has a flag that this "
				      "library does not know");
	if (config->priority > PRIORITY_MAX)
		return set_open_error(open_error, EINVAL, "the priority must be 0 to %u, not %u",
				      PRIORITY_MAX, config->priority);
	if (!config->memory_size || config->memory_size > RFMRING_MEMORY_MAX ||
	    config->memory_size % PAGE)
		return set_open_error(open_error, EINVAL, "the memory must have a multiple of 4096 bytes, "
				      "up to 256 MiB, not %llu",
				      (unsigned long long)config->memory_size);
	if (config->window > RFM_NODE_WINDOW_MAX)
		return set_open_error(open_error, EINVAL, "the window must be 1 to %u frames, not %u",
				      RFM_NODE_WINDOW_MAX, config->window);
	if (config->insert_slots & (config->insert_slots - 1) ||
	    (config->insert_slots && config->insert_slots < RFM_INSERT_SLOTS_MIN) ||
	    config->insert_slots > RFM_INSERT_SLOTS)
		return set_open_error(open_error, EINVAL, "the stores that may wait must be a power of two "
				      "from %u to %u, not %u", RFM_INSERT_SLOTS_MIN, RFM_INSERT_SLOTS,
				      config->insert_slots);
	if (!config->stall_ms)
		config->stall_ms = RFMRING_STALL_MS;
	if (config->stall_ms > STALL_MAX_MS)
		return set_open_error(open_error, EINVAL, "a store may wait 1 to %u ms, not %u",
				      STALL_MAX_MS, config->stall_ms);
	return true;
}

static bool check_place(const struct rfmring_config *config, const struct open_error *open_error)
{
	if (config->behind && (config->rx || config->tx || config->pcap))
		return set_open_error(open_error, EINVAL,
				      "a node behind another has no fibre or capture of its own");
	if (config->behind && (config->behind->next || config->behind->host->started))
		return set_open_error(open_error, EINVAL, config->behind->next ?
				      "there is another node behind that one already" :
				      "a node can be put behind another only before that is started");
	if (!config->behind && (!config->rx || !config->tx))
		return set_open_error(open_error, EINVAL, "the %s end of the fibre has no address",
				      config->rx ? "sending" : "receiving");
	return true;
}

/* --- memory --------------------------------------------------------------------------- */

/* The lock on the file lasts as long as its descriptor is open: until the ring is closed. */
static bool open_file(struct rfmring *ring, const char *path, const struct open_error *open_error)
{
	uint64_t size = ring->memory_size;
	struct stat st;
	void *memory;

	ring->memory_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (ring->memory_fd < 0)
		return set_open_error(open_error, errno, "cannot open the memory file %.200s: %s", path,
				      strerror(errno));
	if (flock(ring->memory_fd, LOCK_EX | LOCK_NB))
		return set_open_error(open_error, EBUSY,
				      "the memory file %.200s is the memory of another node", path);
	if (fstat(ring->memory_fd, &st) ||
	    ((uint64_t)st.st_size != size && ftruncate(ring->memory_fd, size)))
		return set_open_error(open_error, errno, "cannot give the memory file %.200s its size: %s",
				      path, strerror(errno));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->memory_fd, 0);
	if (memory == MAP_FAILED)
		return set_open_error(open_error, errno, "cannot map the memory file %.200s: %s", path,
				      strerror(errno));
	ring->memory = memory;
	return true;
}

static bool make_memory(struct rfmring *ring, const struct open_error *open_error)
{
	uint64_t size = ring->config.memory_size;
	void *memory;

	ring->memory_size = size;
	if (ring->config.memory_file)
		return open_file(ring, ring->config.memory_file, open_error);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return set_open_error(open_error, errno, "no room for the memory: %s", strerror(errno));
	/* A page where it is needed, not 2 MiB. */
	madvise(memory, size, MADV_NOHUGEPAGE);
	ring->memory = memory;
	return true;
}

/* --- opening ---------------------------------------------------------------------------- */

static bool make_node(struct rfmring *ring, const struct open_error *open_error)
{
	const struct rfmring_config *config = &ring->config;
	struct rfm_node_config node;
	const char *why;

	rfm_clock_init(&ring->clock, config->flags & RFMRING_CLOCK_TAI);
	node = (struct rfm_node_config){
		.id = config->id,
		.memory_size = config->memory_size,
		.incarnation = config->incarnation ? config->incarnation : rfm_real_time(),
		.clock_domain = ring->clock.domain,
		.window = config->window,
		.insert_slots = config->insert_slots,
		.redundant = config->flags & RFMRING_REDUNDANT,
		.rogue_master = (config->flags & RFMRING_ROGUE_0 ? 1 : 0) |
				(config->flags & RFMRING_ROGUE_1 ? 2 : 0),
		.unpacked = config->flags & RFMRING_UNPACKED,
		.authentic_late = config->flags & RFMRING_AUTHENTIC_LATE,
		.authentic_ids = config->flags & RFMRING_AUTHENTIC_IDS,
	};
	why = rfm_line_parse(&node.line, config->line ? config->line : "free");
	if (why)
		return set_open_error(open_error, EINVAL, "'%.100s' is no line: %s", config->line, why);
	if (rfm_node_init(&ring->node, &node, &rfm_host_node_ops, ring, rfm_now()))
		return set_open_error(open_error, errno, "no room for the node: %s", strerror(errno));
	rfm_node_set_clock(&ring->node, ring->clock.domain, ring->clock.offset_ns);
	if (!rfm_host_remote_init(ring))
		return set_open_error(open_error, errno, "no room for exports: %s", strerror(errno));
	return true;
}

static bool make_locks(struct rfmring *ring, const struct open_error *open_error)
{
	const struct rfmring *first = ring->config.behind ? ring->config.behind : ring;
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	rfm_host_init_lock(&ring->producer, first->config.priority);
	pthread_cond_init(&ring->room, &monotonic);
	rfm_host_init_lock(&ring->pending_lock, first->config.priority);
	pthread_cond_init(&ring->pending_cond, &monotonic);
	pthread_condattr_destroy(&monotonic);
	ring->interrupts = calloc(RFMRING_INTERRUPTS, sizeof(*ring->interrupts));
	return ring->interrupts || set_open_error(open_error, ENOMEM, "no memory");
}

static void free_ring(struct rfmring *ring)
{
	rfm_host_tap_destroy(ring);
	rfm_host_remote_destroy(ring);
	rfm_node_destroy(&ring->node);
	if (ring->memory)
		munmap(ring->memory, ring->memory_size);
	if (ring->memory_fd >= 0) {
		/* A child of fork() may have the descriptor too, and the lock would be its own. */
		flock(ring->memory_fd, LOCK_UN);
		close(ring->memory_fd);
	}
	free(ring->interrupts);
	free(ring->watches);
	pthread_mutex_destroy(&ring->producer);
	pthread_cond_destroy(&ring->room);
	pthread_mutex_destroy(&ring->pending_lock);
	pthread_cond_destroy(&ring->pending_cond);
	free(ring);
}

static bool open_tap(struct rfmring *ring, const struct open_error *open_error)
{
	char error[RFM_PORT_SENTENCE];

	if (!ring->config.tap || rfm_host_tap_open(ring, ring->config.tap, error))
		return true;
	return set_open_error(open_error, errno, "%s", error);
}

/* Put it on fibres of its own, or behind another node. */
static bool join(struct rfmring *ring, struct rfm_tls *tls, const struct open_error *open_error)
{
	char error[RFM_PORT_SENTENCE];
	struct rfm_host *host;
	int why;

	if (ring->config.behind) {
		rfm_host_attach(ring->config.behind->host, ring);
		return true;
	}
	host = rfm_host_new(ring->config.priority);
	if (!host)
		return set_open_error(open_error, errno, "cannot make an event loop: %s", strerror(errno));
	rfm_host_attach(host, ring);
	if (rfm_host_open_ports(host, &ring->config, tls, error))
		return true;
	why = errno;
	rfm_host_detach(ring);
	rfm_host_free(host);
	return set_open_error(open_error, why, "%s", error);
}

static bool open_ring(struct rfmring *ring, const struct rfmring_config *given,
		      struct rfm_tls *tls, const struct open_error *open_error)
{
	bool opened = take_config(&ring->config, given, open_error) &&
		      make_locks(ring, open_error) &&
		      check_numbers(&ring->config, open_error) &&
		      take_cpus(ring->cpus, ring->config.cpus, open_error) &&
		      check_place(&ring->config, open_error) &&
		      make_memory(ring, open_error) && make_node(ring, open_error) &&
		      open_tap(ring, open_error) && join(ring, tls, open_error);

	/* Not ours to keep. */
	ring->config.rx = ring->config.tx = ring->config.line = NULL;
	ring->config.memory_file = ring->config.pcap = ring->config.cpus = NULL;
	ring->config.tap = NULL;
	return opened;
}

struct rfmring *rfmring_open(const struct rfmring_config *config, char *error, size_t error_size)
{
	return rfmring_open_tls(config, NULL, error, error_size);
}

struct rfmring *rfmring_open_tls(const struct rfmring_config *config, struct rfm_tls *tls,
				 char *error, size_t error_size)
{
	const struct open_error open_error = { .text = error, .size = error_size };
	struct rfmring *ring = calloc(1, sizeof(*ring));

	if (!ring) {
		set_open_error(&open_error, ENOMEM, "no memory");
		return NULL;
	}
	ring->memory_fd = -1;
	if (!open_ring(ring, config, tls, &open_error)) {
		int why = errno;

		free_ring(ring);
		errno = why;
		return NULL;
	}
	return ring;
}

/* --- moving ------------------------------------------------------------------------------ */

static bool is_paced(const struct rfm_host *host)
{
	for (const struct rfmring *ring = host->first; ring; ring = ring->next)
		if (ring->node.config.line.paced)
			return true;
	return false;
}

static void *move(void *opaque)
{
	struct rfm_host *host = opaque;

	if (is_paced(host))
		prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
	rfm_host_engine_lock(host);
	while (!atomic_load(&host->stopping)) {
		rfm_loop_once(host->loop, RFM_NEVER);
		rfm_host_yield(host);
	}
	rfm_host_engine_unlock(host);
	return NULL;
}

/* Where and how urgent it is to run is settled before it runs. Returns an errno. */
static int start_mover(struct rfmring *ring)
{
	const struct sched_param param = { .sched_priority = (int)ring->config.priority };
	cpu_set_t cpus[RFM_CPUS_MAX / CPU_SETSIZE];
	struct rfm_host *host = ring->host;
	pthread_attr_t attr;
	int error = 0;

	CPU_ZERO_S(sizeof(cpus), cpus);
	for (unsigned int cpu = 0; cpu < RFM_CPUS_MAX; cpu++)
		if (ring->cpus[cpu / 64] >> cpu % 64 & 1)
			CPU_SET_S(cpu, sizeof(cpus), cpus);
	pthread_attr_init(&attr);
	if (CPU_COUNT_S(sizeof(cpus), cpus))
		error = pthread_attr_setaffinity_np(&attr, sizeof(cpus), cpus);
	if (ring->config.priority && !error) {
		pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
		pthread_attr_setschedparam(&attr, &param);
	}
	if (!error)
		error = pthread_create(&host->thread, &attr, move, host);
	pthread_attr_destroy(&attr);
	return error;
}

int rfmring_start(struct rfmring *ring)
{
	struct rfm_host *host = ring->host;
	sigset_t all, before;
	int error;

	if (rfm_host_is_locked(host))
		return rfm_fail(EDEADLK);
	if (host->started)
		return rfm_fail(EALREADY);
	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	host->started = true;
	error = start_mover(ring);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	host->started = !error;
	return error ? rfm_fail(error) : 0;
}

static void stop(struct rfm_host *host)
{
	if (!host->started)
		return;
	atomic_store(&host->stopping, true);
	rfm_loop_wake(host->loop);
	pthread_join(host->thread, NULL);
	atomic_store(&host->stopping, false);
	host->started = false;
}

int rfmring_run(struct rfmring *ring, int timeout_ms)
{
	struct rfm_host *host = ring->host;
	uint64_t patience = timeout_ms ? timeout_ms * 1000000ull : TURN_NS;
	uint64_t until = timeout_ms < 0 ? RFM_NEVER : rfm_now() + patience;

	if (timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	if (host->started)
		return rfm_fail(EBUSY);
	for (;;) {
		bool worked = rfm_host_run_once(host, timeout_ms ? until : 0);
		bool woken = atomic_exchange(&ring->woken, false);

		if (!timeout_ms && !worked)
			return 0;
		if (woken || (until != RFM_NEVER && rfm_now() >= until))
			break;
	}
	/* On a busy ring there is more to do, and nobody who says so. */
	rfm_loop_again(host->loop);
	return 0;
}

void rfmring_wake(struct rfmring *ring)
{
	atomic_store(&ring->woken, true);
	rfm_loop_wake(ring->host->loop);
	if (ring->host->started) {
		pthread_mutex_lock(&ring->pending_lock);
		pthread_cond_broadcast(&ring->pending_cond);
		pthread_mutex_unlock(&ring->pending_lock);
	}
}

int rfmring_fd(struct rfmring *ring)
{
	int fd;

	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	if (ring->host->started)
		return rfm_fail(EBUSY);
	rfm_host_lock(ring->host);
	fd = rfm_loop_fd(ring->host->loop);
	rfm_host_unlock(ring->host);
	return fd;
}

struct rfm_loop *rfmring_loop(struct rfmring *ring)
{
	return ring->host->loop;
}

/* --- closing ------------------------------------------------------------------------------ */

/* Is anything of this node still to leave, or to come home? */
static bool has_settled(const struct rfm_node *node)
{
	if (!rfm_node_tx_empty(node))
		return false;
	if (node->seq == node->home_seq || !rfm_node_signal(node) || !node->downstream)
		return true;
	/* Until the first frame is home, the ring is thought to be open. */
	return node->ring_open && rfm_now() - node->home_time >= rfm_node_expiry(node);
}

static bool is_settled(struct rfmring *ring)
{
	bool settled;

	rfm_host_lock(ring->host);
	settled = has_settled(&ring->node);
	rfm_host_unlock(ring->host);
	return settled;
}

/* Let the ring move: by its thread, or in this one. */
static void let_move(struct rfmring *ring)
{
	uint64_t until = rfm_now() + LINGER_STEP_NS;

	if (!ring->host->started) {
		rfm_host_run_once(ring->host, until);
		return;
	}
	/* The end of the fence comes by pending_cond. */
	pthread_mutex_lock(&ring->pending_lock);
	rfm_wait_until(&ring->pending_cond, &ring->pending_lock, until);
	pthread_mutex_unlock(&ring->pending_lock);
}

/*
 * Stores that were made before leaving are to arrive. Of a node in the middle
 * of others nothing may stay on the ring, as nobody would take it off: no more
 * heartbeats, and a fence behind the last one.
 */
static void linger(struct rfmring *ring)
{
	uint64_t until = rfm_now() + ring->config.stall_ms * 1000000ull;

	rfm_host_lock(ring->host);
	rfm_host_remote_leave(ring);
	rfm_host_tap_leave(ring);
	ring->config.status = NULL;
	ring->config.interrupt = NULL;
	ring->config.lost = NULL;
	ring->config.timer = NULL;
	ring->watch_count = 0;
	ring->seen = NULL;
	if (ring->previous)
		rfm_timer_set(ring->host->loop, &ring->tick_timer, RFM_NEVER);
	rfm_host_unlock(ring->host);
	if (ring->previous)
		rfmring_fence_begin(ring, NULL, NULL);
	while (!is_settled(ring) && rfm_now() < until)
		let_move(ring);
	rfm_wait_over(ring);	/* others may be left in this place */
}

int rfmring_close(struct rfmring *ring)
{
	struct rfm_host *host;
	bool alone;

	if (!ring)
		return 0;
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	if (ring->next)
		return rfm_fail(EBUSY);
	host = ring->host;
	alone = !ring->previous;
	linger(ring);
	/* Others go on meanwhile, moved by whoever moves them. */
	if (alone)
		stop(host);
	rfm_host_lock(host);
	rfm_host_detach(ring);
	rfm_host_unlock(host);
	if (alone)
		rfm_host_free(host);
	free_ring(ring);
	return 0;
}
