// SPDX-License-Identifier: MIT
/* What a child of fork() has of its parent's nodes of librfm: nothing. */
#include "tests/unit/test.h"
#include "tests/unit/nodes.h"

#include <pthread.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* In a child, which says by its status which line it was. */
#define NOT_HERE(call) do {						\
	errno = 0;							\
	if ((call) != -1 || errno != ECHILD)				\
		_exit(__LINE__);					\
} while (0)
#define NONE_HERE(call)	NOT_HERE((call) ? 0 : -1)

static void be_a_child(struct rfm_events *events, const uint64_t *map)
{
	struct rfm_event event;
	struct rfm_info info;
	uint64_t value = 1;
	struct rfm *own;

	/* It ends one that hangs. */
	alarm(30);
	NOT_HERE(rfm_load64(far, 0x100, &value));
	NOT_HERE(rfm_read(far, 0x100, &value, 8));
	NOT_HERE(rfm_store64(far, 0x100, 1));
	NOT_HERE(rfm_fence(far, 1000, NULL));
	NOT_HERE(rfm_info(far, &info));
	NONE_HERE(rfm_map(far, 0, 8));
	NONE_HERE(rfm_watch(far, 0, 8));
	NOT_HERE(rfm_events_wait(events, &event, 1, PATIENCE_MS));
	NOT_HERE(rfm_events_wait_until(events, &event, 1, UINT64_MAX));
	NOT_HERE(rfm_events_cancel(events));
	NOT_HERE(rfm_events_close(events));
	NOT_HERE(rfm_close(far));
	if (*map != 42)
		_exit(__LINE__);
	/* Not the parent's: that name is taken. */
	own = rfm_open(words[1], O_RDWR);
	if (own && (rfm_load64(own, 0x100, &value) || value))
		_exit(__LINE__);
	if (own && rfm_close(own))
		_exit(__LINE__);
	own = rfm_open(alone(5), O_RDWR);
	if (!own || rfm_store64(own, 0, 1) || rfm_close(own))
		_exit(__LINE__);
	_exit(0);
}

static void *come_and_go(void *stop)
{
	char text[600];

	strcpy(text, alone(4));
	while (!atomic_load((_Atomic bool *)stop))
		rfm_close(rfm_open(text, O_RDWR));
	return NULL;
}

static void a_child_has_no_node_of_its_parent(void **state)
{
	struct rfm_events *events;
	_Atomic bool stop = false;
	const uint64_t *map;
	pthread_t thread;

	(void)state;
	open_pair();
	put(near, 0x100, 42);
	map = rfm_map(far, 0x100, 8);
	events = rfm_watch(far, 0x100, 8);
	assert_true(map && events);
	/* What it waits for when the process is copied is not there in the child. */
	assert_int_equal(pthread_create(&thread, NULL, come_and_go, &stop), 0);
	for (int i = 0; i < 10; i++) {
		int status = -1;
		pid_t child = fork();

		if (!child)
			be_a_child(events, map);
		assert_true(child > 0 && waitpid(child, &status, 0) == child);
		if (status)
			fail_msg("a child: status 0x%x, line %d modulo 256", status,
				 WEXITSTATUS(status));
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	/* And nothing of the parent's has changed. */
	put(near, 0x100, 43);
	assert_int_equal(next(events).bytes[0], 43);
	rfm_unmap((void *)map, 8);
	assert_int_equal(rfm_events_close(events), 0);
	close_pair();
}

static struct sockaddr_un address_of(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, name);
	return address;
}

/* The other end has gone, whatever it said before. */
static void ends(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char some[4096];

	do
		assert_int_equal(poll(&pollfd, 1, PATIENCE_MS), 1);
	while (read(fd, some, sizeof(some)) > 0);
	close(fd);
}

/* One that has only been forked off keeps neither its fibres nor its memory. */
static void a_node_leaves_also_when_a_child_lives(void **state)
{
	struct sockaddr_un up = address_of("a5"), down = address_of("b5");
	int upstream = socket(AF_UNIX, SOCK_STREAM, 0), listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int status, downstream;
	char text[700];
	pid_t child;

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&down, sizeof(down)), 0);
	assert_int_equal(listen(listener, 1), 0);
	snprintf(text, sizeof(text), "%s&file=%s/memory", alone(5), folder);
	near = rfm_open(text, O_RDWR);
	assert_non_null(near);
	assert_int_equal(connect(upstream, (struct sockaddr *)&up, sizeof(up)), 0);
	downstream = accept(listener, NULL, NULL);
	assert_true(downstream >= 0);
	child = fork();
	if (!child) {
		/* Nor does it outlive a test that hangs. */
		alarm(60);
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(rfm_close(near), 0);
	ends(downstream);
	ends(upstream);
	near = rfm_open(text, O_RDWR);
	assert_non_null(near);
	assert_int_equal(rfm_close(near), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(listener);
	unlink(down.sun_path);
	snprintf(text, sizeof(text), "%s/memory", folder);
	unlink(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(a_child_has_no_node_of_its_parent),
		ring_test(a_node_leaves_also_when_a_child_lives),
	};

	return cmocka_run_group_tests_name("librfm_fork", tests, NULL, NULL);
}
