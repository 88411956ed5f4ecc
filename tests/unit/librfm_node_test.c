// SPDX-License-Identifier: MIT
/* How nodes of librfm come and go. links: tools/librfm ring/host tests/unit/rings.c */
/*
 * And what a program does not see: who waits for whom, and what the engine finds in between.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE		/* gettid() */
#endif
#include "tests/unit/test.h"
#include "tests/unit/nodes.h"
#include "tests/unit/stalled.h"
#include "tests/asleep.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ring/host/internal.h"
#include "tools/librfm/ring_private.h"

/* Of a ring with near: a node that moves only when it is told to. */
static struct stalled other;

static void open_near(const char *more)
{
	struct rfmring_config config = config_of(1, 2);

	other.ring = open_with(&config);
	stalled_go(&other);
	name_node(0, more);
	near = rfm_open(words[0], O_RDWR);
	if (!near)
		fail_msg("%s", rfm_error());
	wait_whole(near);
}

static void close_other(void)
{
	stalled_stop(&other);
	assert_int_equal(rfmring_close(other.ring), 0);
}

static void set_transmitter(struct rfm *rfm, uint32_t on)
{
	const struct rfm_config config = { .mask = RFM_CONFIG_TRANSMIT, .on = on };

	assert_int_equal(rfm_set_config(rfm, &config), 0);
}

static uint64_t counter(struct rfm *rfm, unsigned int which)
{
	struct rfm_counters counters;

	assert_int_equal(rfm_counters(rfm, &counters), 0);
	return counters.value[which];
}

/* --- what is lost, and what comes home -------------------------------------------------- */

static void what_nobody_was_told_is_told(void **state)
{
	static struct rfm_verify verify;
	struct rfm *second, *third;

	(void)state;
	open_near("&wait-ms=60000");
	second = rfm_open(words[0], O_RDWR);
	assert_non_null(second);
	stalled_stop(&other);
	set_transmitter(near, 0);
	assert_int_equal(rfm_store64(near, 0x100, 1), 0);
	set_transmitter(near, RFM_CONFIG_TRANSMIT);
	assert_int_equal(rfm_fence(second, 20, NULL), -1);
	assert_int_equal(errno, ETIMEDOUT);
	stalled_go(&other);
	/* It fences until all is well. */
	third = rfm_open(words[0], O_RDWR);
	assert_non_null(third);
	assert_int_equal(rfm_fence(third, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_verify(second, 0x100, 8, PATIENCE_MS, &verify), 0);
	assert_true(verify.flags & RFM_FENCED_LOST && verify.lost >= 1);
	assert_int_equal(rfm_fence(second, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	rfm_close(third);
	rfm_close(second);
	assert_int_equal(rfm_close(near), 0);
	close_other();
}

static struct rfm_fence_wait fenced;

static void *fence_for_ever(void *error)
{
	*(int *)error = rfm_fence(near, -1, &fenced) ? errno : 0;
	return NULL;
}

/* As a card says it, which is asked when the fence has ended. */
static void a_fence_that_goes_dark(void **state)
{
	pthread_t thread;
	int error;

	(void)state;
	open_near("");
	stalled_stop(&other);
	assert_int_equal(pthread_create(&thread, NULL, fence_for_ever, &error), 0);
	while (!counter(near, RFM_COUNTER_WINDOW))
		usleep(1000);
	set_transmitter(near, 0);
	pthread_join(thread, NULL);
	assert_int_equal(error, ENOLINK);
	assert_true(fenced.flags & RFM_FENCED_LOST && fenced.flags & RFM_FENCED_DARK);
	set_transmitter(near, RFM_CONFIG_TRANSMIT);
	stalled_go(&other);
	wait_whole(near);
	assert_int_equal(rfm_close(near), 0);
	close_other();
}

struct trial {
	pthread_t thread;
	int timeout_ms, error;
};

static void *try_ring(void *opaque)
{
	struct trial *trial = opaque;

	trial->error = rfm_ring_test(near, trial->timeout_ms, NULL) ? errno : 0;
	return NULL;
}

/* The node goes dark while one is under way, which never comes home. */
static void a_ring_test_that_goes_dark(void **state)
{
	struct trial trials[2] = { { .timeout_ms = 3000 }, { .timeout_ms = PATIENCE_MS } };

	(void)state;
	open_near("");
	for (int i = 0; i < 2; i++) {
		struct trial *trial = &trials[i];

		stalled_stop(&other);
		trial->error = -1;
		assert_int_equal(pthread_create(&trial->thread, NULL, try_ring, trial), 0);
		while (!counter(near, RFM_COUNTER_WINDOW))
			usleep(1000);
		set_transmitter(near, 0);
		if (i) {	/* and comes back in time */
			set_transmitter(near, RFM_CONFIG_TRANSMIT);
			stalled_go(&other);
		}
		pthread_join(trial->thread, NULL);
		assert_int_equal(trial->error, i ? 0 : ETIMEDOUT);
		if (!i) {
			set_transmitter(near, RFM_CONFIG_TRANSMIT);
			stalled_go(&other);
		}
		wait_whole(near);
	}
	assert_int_equal(rfm_close(near), 0);
	close_other();
}

/* Others take a node whose clock was set back for its own past, until they have forgotten that. */
static void opening_waits_for_a_whole_ring(void **state)
{
	(void)state;
	open_near("&incarnation=0x7000000000000000");
	assert_int_equal(rfm_close(near), 0);
	name_node(0, "&incarnation=5&wait-ms=60000");
	near = rfm_open(words[0], O_RDWR);
	assert_non_null(near);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_close(near), 0);
	close_other();
}

/* --- coming and going ------------------------------------------------------------------- */

static _Atomic bool closed;

static void *close_near(void *unused)
{
	assert_int_equal(rfm_close(near), 0);
	atomic_store(&closed, true);
	return unused;
}

static void *open_again(void *result)
{
	*(struct rfm **)result = rfm_open(words[0], O_RDWR);
	return NULL;
}

/* One waits for its stores to come home; nobody else waits for it but who opens the same. */
static void one_that_leaves_holds_up_no_other(void **state)
{
	struct rfm *third, *again = NULL;
	struct rfm_events *events;
	struct ring_node *node;
	pthread_t threads[2];
	uint64_t value = 1;

	(void)state;
	open_near("&stall-limit-ms=10000");
	atomic_store(&closed, false);
	node = node_of(near);
	stalled_stop(&other);
	assert_int_equal(rfm_store64(near, 0x100, 42), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, close_near, NULL), 0);
	while (atomic_load(&node->state) != NODE_CLOSING)
		usleep(1000);
	assert_int_equal(pthread_create(&threads[1], NULL, open_again, &again), 0);
	third = rfm_open(alone(3), O_RDWR);
	assert_non_null(third);
	events = rfm_watch(third, 0, 8);
	assert_non_null(events);
	assert_int_equal(rfm_close(third), 0);
	assert_int_equal(rfm_events_close(events), 0);
	assert_false(atomic_load(&closed));
	stalled_go(&other);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert_non_null(again);
	assert_int_equal(rfm_load64(again, 0x100, &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(rfm_close(again), 0);
	close_other();
}

static struct rfm_events *to_close;
static _Atomic int callback_error;

static void close_in_callback(void *opaque, uint64_t now)
{
	(void)opaque;
	(void)now;
	atomic_store(&callback_error, rfm_events_close(to_close) ? errno : 0);
}

/* The error of a timer's callback of this ring. */
static int error_of_callback(struct rfmring *ring)
{
	atomic_store(&callback_error, -1);
	assert_int_equal(rfmring_set_timer(ring, 0), 0);
	while (atomic_load(&callback_error) < 0)
		usleep(1000);
	return atomic_load(&callback_error);
}

/* The node cannot leave there: the stream goes on, and can be closed elsewhere. */
static void closing_in_a_callback_does_nothing(void **state)
{
	struct rfmring_config config = config_of(1, 2);
	struct rfmring_member member;
	struct rfmring *ring;

	(void)state;
	config.timer = close_in_callback;
	ring = open_with(&config);
	assert_int_equal(rfmring_start(ring), 0);
	name_node(0, "");
	near = rfm_open(words[0], O_RDWR);
	assert_non_null(near);
	wait_whole(near);
	to_close = rfm_watch(near, 0x100, 8);
	assert_non_null(to_close);
	assert_int_equal(rfm_close(near), 0);
	assert_int_equal(error_of_callback(ring), EDEADLK);
	assert_int_equal(rfmring_store64(ring, 0x100, 7), 0);
	assert_int_equal(next(to_close).bytes[0], 7);
	assert_int_equal(rfm_events_close(to_close), 0);
	while (rfmring_members(ring, &member, 1))
		usleep(1000);
	assert_int_equal(rfmring_close(ring), 0);
}

static void watch_in_callback(void *opaque, uint64_t now)
{
	struct rfm_watch watch = { .silence_ns = RFM_WATCH_SILENCE_MIN };
	struct rfm_range range = { 0x100, 8 };

	(void)opaque;
	(void)now;
	watch.ranges = (uintptr_t)&range;
	watch.count = 1;
	to_close = rfm_watch_with(near, &watch);
	atomic_store(&callback_error, to_close ? 0 : errno);
}

/* The clock of a node that is busy cannot be set there: then there is no watch. */
static void a_watch_knows_of_its_silence(void **state)
{
	struct rfmring_config config = config_of(1, 2);
	struct rfmring *ring;
	struct ring_node *node;

	(void)state;
	config.timer = watch_in_callback;
	ring = open_with(&config);
	assert_int_equal(rfmring_start(ring), 0);
	near = rfm_open(alone(3), O_RDWR);
	assert_non_null(near);
	node = node_of(near);
	pthread_mutex_lock(&node->ring->host->engine);
	assert_int_equal(error_of_callback(ring), EDEADLK);
	assert_true(!node->watches && !node->ranges && !node->streams && !node->queued);
	pthread_mutex_unlock(&node->ring->host->engine);
	while (error_of_callback(ring))
		;
	assert_int_equal(next(to_close).type, RFM_EVENT_STALE);
	assert_int_equal(rfm_events_close(to_close), 0);
	assert_int_equal(rfm_close(near), 0);
	assert_int_equal(rfmring_close(ring), 0);
}

static void why_it_cannot_be_started_is_said(void **state)
{
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "%s&cpus=8191", alone(3));
	errno = 0;
	assert_null(rfm_open(text, O_RDWR));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(rfm_error(), strerrordesc_np(EINVAL)));
}

/* --- threads ---------------------------------------------------------------------------- */

static _Atomic pid_t storing;

static void *store_beside(void *value)
{
	atomic_store(&storing, gettid());
	assert_int_equal(rfm_store8(far, 0x101, *(int *)value), 0);
	return NULL;
}

/* A foreign byte is in the memory, and not told of yet, when this node stores the next one. */
static void a_match_is_not_lost_to_an_own_store(void **state)
{
	struct rfm_range range = { 0x100, 8 };
	struct rfm_watch watch = {
		.flags = RFM_WATCH_COMPARE, .compare = RFM_COMPARE_CHANGED, .compare_width = 8,
		.compare_offset = 0x100, .compare_mask = 0xff, .ranges = (uintptr_t)&range, .count = 1,
	};
	struct rfm_events *events;
	struct ring_node *node;
	struct rfm_event event;
	pthread_t thread;

	(void)state;
	open_pair();
	node = node_of(far);
	events = rfm_watch_with(far, &watch);
	assert_non_null(events);
	for (int i = 1; i <= 20; i++) {
		uint8_t byte = 0;

		atomic_store(&storing, 0);
		pthread_mutex_lock(&node->lock);
		assert_int_equal(pthread_create(&thread, NULL, store_beside, &i), 0);
		while (!is_asleep(atomic_load(&storing)))
			;
		assert_int_equal(rfm_store8(near, 0x100, i), 0);
		while (byte != i)
			assert_int_equal(rfm_load8(far, 0x100, &byte), 0);
		pthread_mutex_unlock(&node->lock);
		pthread_join(thread, NULL);
		event = next(events);
		assert_true(event.type == RFM_EVENT_MATCH && event.bytes[0] == i);
	}
	nothing_more(events);
	rfm_events_close(events);
	close_pair();
}

#define ROUNDS	3000

static void *switch_one(void *setting)
{
	uint32_t flag = *(uint32_t *)setting;
	struct rfm_config set = { .mask = flag }, now;

	for (int i = 0; i < ROUNDS; i++) {
		set.on ^= flag;
		if (rfm_set_config(near, &set) || rfm_get_config(near, &now) ||
		    (now.on ^ set.on) & flag)
			return setting;
	}
	return NULL;
}

/* Each thread sets its own, and finds it as it has left it. */
static void settings_do_not_undo_each_other(void **state)
{
	static uint32_t settings[] = { RFM_CONFIG_TRANSMIT, RFM_CONFIG_DARK_ON_DARK,
				       RFM_CONFIG_LOOPBACK };
	pthread_t threads[ARRAY_SIZE(settings)];
	void *undone;

	(void)state;
	near = rfm_open(alone(3), O_RDWR);
	assert_non_null(near);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, switch_one, &settings[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		pthread_join(threads[i], &undone);
		assert_null(undone);
	}
	assert_int_equal(rfm_close(near), 0);
}

/* With every frame that comes home the engine tells of it. */
static void own_data_waits_for_nobody(void **state)
{
	struct rfm_config config = { .mask = RFM_CONFIG_OWN_DATA };
	struct ring_node *node;

	(void)state;
	near = rfm_open(alone(3), O_RDWR);
	assert_non_null(near);
	node = node_of(near);
	alarm(60);
	pthread_mutex_lock(&node->lock);
	ring_status(node, RFMRING_OWN_DATA);
	pthread_mutex_unlock(&node->lock);
	alarm(0);
	assert_int_equal(rfm_get_config(near, &config), 0);
	assert_true(config.on & RFM_CONFIG_OWN_DATA);
	config = (struct rfm_config){ .mask = RFM_CONFIG_OWN_DATA };
	assert_int_equal(rfm_set_config(near, &config), 0);
	assert_int_equal(rfm_get_config(near, &config), 0);
	assert_false(config.on & RFM_CONFIG_OWN_DATA);
	assert_int_equal(rfm_close(near), 0);
}

/* --- what the kernel does not give ------------------------------------------------------- */

/* The kernel refuses a call to this thread, and those that it makes from now on. */
static void refuse_call(unsigned int call, int error)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(filter), filter };

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void *count_without(void *call)
{
	struct rfm_watch watch = { .flags = RFM_WATCH_EVENTFD, .eventfd = eventfd(0, 0) };
	const uint64_t full = UINT64_MAX - 1;
	struct rfm_range range = { 0x100, 8 };
	struct rfm_events *events;
	uint64_t count = 0;

	refuse_call(*(long *)call, *(long *)call == SYS_io_setup ? ENOSYS : EAGAIN);
	open_pair();
	watch.ranges = (uintptr_t)&range;
	watch.count = 1;
	events = rfm_watch_with(far, &watch);
	assert_non_null(events);
	for (unsigned int i = 1; i <= 2; i++) {
		put(near, 0x100, i);
		assert_int_equal(next(events).bytes[0], i);
	}
	assert_int_equal(read(watch.eventfd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(count, 2);
	/* And a full one holds up nothing. */
	assert_int_equal(write(watch.eventfd, &full, sizeof(full)), sizeof(full));
	put(near, 0x100, 3);
	assert_int_equal(next(events).bytes[0], 3);
	assert_int_equal(rfm_events_close(events), 0);
	close(watch.eventfd);
	close_pair();
	return NULL;
}

static void eventfds_count_without_asynchronous_io(void **state)
{
	static long calls[] = { SYS_io_setup, SYS_io_submit };
	pthread_t thread;

	(void)state;
	alarm(60);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		assert_int_equal(pthread_create(&thread, NULL, count_without, &calls[i]), 0);
		pthread_join(thread, NULL);
	}
	alarm(0);
}

static void *open_without_threads(void *unused)
{
	refuse_call(SYS_clone, EAGAIN);
	refuse_call(SYS_clone3, EAGAIN);
	assert_null(rfm_open(alone(3), O_RDWR));
	assert_int_equal(errno, EAGAIN);
	assert_non_null(strstr(rfm_error(), strerrordesc_np(EAGAIN)));
	return unused;
}

/* In the words of the system, whose error it is: those of the calls are about something else. */
static void no_thread_is_no_matter_of_the_ring(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, open_without_threads, NULL), 0);
	pthread_join(thread, NULL);
}

/* --- owners ----------------------------------------------------------------------------- */

#define GRANULES_OWNED	200u

/* Two handles take and give back at random; the node knows what either has. */
static void what_is_owned_is_what_any_handle_owns(void **state)
{
	bool model[2][GRANULES_OWNED] = { 0 };
	struct rfm *handles[2];
	struct ring_node *node;
	uint64_t random = 5565;

	(void)state;
	for (int i = 0; i < 2; i++) {
		handles[i] = rfm_open(alone(3), O_RDWR);
		assert_non_null(handles[i]);
	}
	node = node_of(handles[0]);
	for (unsigned int step = 0; step < 3000; step++) {
		unsigned int who = test_random(&random) % 2, take = test_random(&random) % 2;
		unsigned int first = test_random(&random) % GRANULES_OWNED, ranges = 0;
		unsigned int count = 1 + test_random(&random) % 20;

		if (count > GRANULES_OWNED - first)
			count = GRANULES_OWNED - first;
		if (take)
			assert_int_equal(rfm_own(handles[who], first * 64, count * 64), 0);
		else
			assert_int_equal(rfm_unsubscribe(handles[who], first * 64 + 1,
							 count * 64 - 2, RFM_SUBSCRIBE_OWN), 0);
		for (unsigned int i = first; i < first + count; i++)
			model[who][i] = take;
		for (unsigned int i = 0; i < GRANULES_OWNED; i++) {
			ranges += model[who][i] && (!i || !model[who][i - 1]);
			assert_int_equal(rfm_granules_get(&node->owned, RFM_GRANULES_OWNED, i),
					 model[0][i] || model[1][i]);
		}
		assert_int_equal(to_ring_handle(handles[who])->owned_count, ranges);
	}
	assert_int_equal(rfm_close(handles[0]), 0);
	for (unsigned int i = 0; i < GRANULES_OWNED; i++)
		assert_int_equal(rfm_granules_get(&node->owned, RFM_GRANULES_OWNED, i), model[1][i]);
	assert_int_equal(rfm_close(handles[1]), 0);
}

/* --- what is known ---------------------------------------------------------------------- */

static void what_was_counted_of_one_that_has_gone_is_known(void **state)
{
	static struct rfm_member members[RFM_NODES];
	struct rfm_ring_map map;

	(void)state;
	open_pair();
	put(far, 0x100, 1);
	assert_int_equal(rfm_ring_map(near, members, RFM_NODES, &map), 0);
	assert_true(map.present == 2 && members[2].present && members[2].received >= 1);
	assert_int_equal(rfm_close(far), 0);
	do {
		memset(members, 0xa5, sizeof(members));
		assert_int_equal(rfm_ring_map(near, members, RFM_NODES, &map), 0);
	} while (map.present != 1);
	assert_true(!members[2].present && members[2].received >= 1 && members[2].heard_ns);
	assert_true(!members[2].hops && !members[2].transit_ns);
	assert_true(!members[3].present && !members[3].heard_ns);
	assert_int_equal(rfm_close(near), 0);
}

static uint32_t latches(void)
{
	struct rfm_info info;

	assert_int_equal(rfm_info(near, &info), 0);
	assert_true(info.lisr & RFM_LISR_BAD_DATA && info.lisr & RFM_LISR_SYNC_LOSS);
	return info.lcsr1 & (RFM_LCSR1_BAD_DATA | RFM_LCSR1_SYNC_LOSS);
}

/* A latch is there until somebody is told: its first listener; a lost signal always is. */
static void latches_are_as_on_a_card(void **state)
{
	const uint32_t type = RFM_EVENT_BIT(RFM_EVENT_BAD_DATA);
	struct rfm_events *events;
	struct rfm_event event;
	struct ring_node *node;

	(void)state;
	near = rfm_open(alone(3), O_RDWR);
	assert_non_null(near);
	node = node_of(near);
	ring_status(node, RFMRING_BAD_DATA | RFMRING_SYNC_LOSS);
	ring_status(node, RFMRING_BAD_DATA);
	assert_int_equal(latches(), RFM_LCSR1_BAD_DATA);
	events = rfm_listen(near, type, 0, 0);
	assert_non_null(events);
	event = next(events);
	assert_true(event.type == RFM_EVENT_BAD_DATA && event.node == RFM_NODE_ALL && event.seq == 1);
	nothing_more(events);
	ring_status(node, RFMRING_BAD_DATA);
	assert_int_equal(next(events).seq, 2);
	assert_int_equal(latches(), 0);
	rfm_events_close(events);
	ring_status(node, RFMRING_BAD_DATA);
	events = rfm_listen(near, type, RFM_LISTEN_DISCARD, 0);
	assert_non_null(events);
	nothing_more(events);
	assert_int_equal(latches(), 0);
	rfm_events_close(events);
	assert_int_equal(rfm_close(near), 0);
}

static uint64_t taken(uint32_t type)
{
	uint64_t counts[RFM_EVENT_TYPES];

	assert_int_equal(rfm_event_counts(near, counts, RFM_EVENT_TYPES), 0);
	return counts[type];
}

/* As a driver counts: errors always, a FIFO that is almost full when somebody is told. */
static void errors_are_counted(void **state)
{
	const uint32_t types = RFM_EVENT_BIT(RFM_EVENT_RX_FULL) |
			       RFM_EVENT_BIT(RFM_EVENT_RX_ALMOST_FULL);
	struct rfm_events *events;
	struct ring_node *node;

	(void)state;
	near = rfm_open(alone(3), O_RDWR);
	assert_non_null(near);
	node = node_of(near);
	ring_status(node, RFMRING_RX_FULL | RFMRING_RX_ALMOST_FULL);
	ring_status(node, RFMRING_RX_FULL | RFMRING_RX_ALMOST_FULL);
	assert_int_equal(taken(RFM_EVENT_RX_FULL), 2);
	assert_int_equal(taken(RFM_EVENT_RX_ALMOST_FULL), 0);
	events = rfm_listen(near, types, RFM_LISTEN_DISCARD, 0);
	assert_non_null(events);
	rfm_events_close(events);
	assert_int_equal(taken(RFM_EVENT_RX_ALMOST_FULL), 0);
	ring_status(node, RFMRING_RX_FULL | RFMRING_RX_ALMOST_FULL);
	events = rfm_listen(near, types, 0, 0);
	assert_non_null(events);
	assert_int_equal(next(events).type, RFM_EVENT_RX_FULL);
	assert_int_equal(next(events).type, RFM_EVENT_RX_ALMOST_FULL);
	nothing_more(events);
	assert_int_equal(taken(RFM_EVENT_RX_FULL), 3);
	assert_int_equal(taken(RFM_EVENT_RX_ALMOST_FULL), 1);
	ring_status(node, RFMRING_RX_FULL | RFMRING_RX_ALMOST_FULL);
	assert_int_equal(taken(RFM_EVENT_RX_FULL), 4);
	assert_int_equal(taken(RFM_EVENT_RX_ALMOST_FULL), 2);
	rfm_events_close(events);
	assert_int_equal(rfm_close(near), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(what_nobody_was_told_is_told),
		ring_test(a_fence_that_goes_dark),
		ring_test(a_ring_test_that_goes_dark),
		ring_test(opening_waits_for_a_whole_ring),
		ring_test(one_that_leaves_holds_up_no_other),
		ring_test(closing_in_a_callback_does_nothing),
		ring_test(a_watch_knows_of_its_silence),
		ring_test(why_it_cannot_be_started_is_said),
		ring_test(a_match_is_not_lost_to_an_own_store),
		ring_test(settings_do_not_undo_each_other),
		ring_test(own_data_waits_for_nobody),
		ring_test(eventfds_count_without_asynchronous_io),
		ring_test(no_thread_is_no_matter_of_the_ring),
		ring_test(what_is_owned_is_what_any_handle_owns),
		ring_test(what_was_counted_of_one_that_has_gone_is_known),
		ring_test(latches_are_as_on_a_card),
		ring_test(errors_are_counted),
	};

	return cmocka_run_group_tests_name("librfm_node", tests, NULL, NULL);
}
