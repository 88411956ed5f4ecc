// SPDX-License-Identifier: MIT
/* The calls of librfm. links: tools/librfm ring/host */
/*
 * What they ask of the driver, and what they make of its answers; the driver is
 * this file. That both fit together is for tests/guest/librfm.
 */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>

#include "tools/librfm/private.h"

/* What the driver was asked last, and what it is to answer. */
static struct {
	unsigned long request;
	union {
		struct rfm_send send;
		struct rfm_send_set set;
		struct rfm_subscribe subscribe;
		struct rfm_fence_wait fence;
		struct rfm_verify verify;
		struct rfm_writer writer;
		struct rfm_watch watch;
		struct rfm_listen listen;
		struct rfm_info info;
		struct rfm_reg reg;
		struct rfm_event_counts counts;
	} asked;
	int result, error;
	uint32_t flags;		/* fence, subscribe: what it says back */
} driver;

static struct rfm *card;

/* Instead of the C library's. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	assert_true(!card || fd == rfm_fd(card));
	driver.request = request;
	assert_true(_IOC_SIZE(request) <= sizeof(driver.asked));
	memcpy(&driver.asked, argument, _IOC_SIZE(request));
	if (driver.error) {
		errno = driver.error;
		return -1;
	}
	if (request == RFM_IOC_INFO)
		*(struct rfm_info *)argument = (struct rfm_info){ .memory_size = 1 << 20 };
	if (request == RFM_IOC_VERIFY)
		((struct rfm_verify *)argument)->answer[255].crc = 0xcafe;
	if (request == RFM_IOC_FENCE)
		((struct rfm_fence_wait *)argument)->flags = driver.flags;
	if (request == RFM_IOC_SUBSCRIBE || request == RFM_IOC_UNSUBSCRIBE)
		((struct rfm_subscribe *)argument)->result = driver.flags;
	if (request == RFM_IOC_REG)
		((struct rfm_reg *)argument)->before = driver.flags;
	if (request == RFM_IOC_EVENT_COUNTS)
		for (uint64_t i = 0; i < 32; i++)
			((struct rfm_event_counts *)argument)->count[i] = i + 1;
	return driver.result;
}


static void answer(int result, int error, uint32_t flags)
{
	memset(&driver, 0xa5, sizeof(driver));
	driver.result = result;
	driver.error = error;
	driver.flags = flags;
}

/* @call failed, with @wanted in errno. */
#define assert_errno(call, wanted) do {		\
	errno = 0;				\
	assert_int_equal(call, -1);		\
	assert_int_equal(errno, wanted);	\
} while (0)

static void fences_tell_how_they_ended(void **state)
{
	static const struct {
		uint32_t flags;
		int error;
	} ends[] = {
		{ 0, 0 },
		{ RFM_FENCED_PAUSED, EBUSY },
		{ RFM_FENCED_EPOCH, EAGAIN },
		{ RFM_FENCED_PAUSED | RFM_FENCED_EPOCH, EBUSY },
		{ RFM_FENCED_LOST | RFM_FENCED_PAUSED, EIO },
		{ RFM_FENCED_LOST, EIO },
		{ RFM_FENCED_LOST | RFM_FENCED_EPOCH, EIO },
		{ RFM_FENCED_DARK, ENOLINK },
		{ RFM_FENCED_DARK | RFM_FENCED_LOST, ENOLINK },
	};
	struct rfm_fence_wait result;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		answer(0, 0, ends[i].flags);
		errno = 0;
		assert_int_equal(rfm_fence(card, 123, &result), ends[i].error ? -1 : 0);
		assert_int_equal(errno, ends[i].error);
		assert_int_equal(result.flags, ends[i].flags);
		assert_int_equal(driver.asked.fence.timeout_ms, 123);
		assert_int_equal(driver.asked.fence.flags, 0);
		assert_int_equal(rfm_fence(card, -1, NULL), ends[i].error ? -1 : 0);
		assert_int_equal(driver.asked.fence.timeout_ms, 60000);
	}
	answer(0, ETIMEDOUT, 0);
	memset(&result, 0xa5, sizeof(result));
	assert_errno(rfm_fence(card, 1, &result), ETIMEDOUT);
	assert_int_equal(result.flags, 0xa5a5a5a5);
}

static void what_every_node_has(void **state)
{
	static struct rfm_verify result;

	(void)state;
	answer(0, 0, 0);
	assert_int_equal(rfm_verify(card, 0x1000, 64, 123, &result), 0);
	assert_int_equal(driver.request, RFM_IOC_VERIFY);
	assert_int_equal(driver.asked.verify.offset, 0x1000);
	assert_int_equal(driver.asked.verify.length, 64);
	assert_int_equal(driver.asked.verify.timeout_ms, 123);
	assert_int_equal(driver.asked.verify.reserved[0], 0);
	assert_int_equal(result.answer[255].crc, 0xcafe);
	answer(0, ETIMEDOUT, 0);
	memset(&result, 0xa5, sizeof(result));
	assert_errno(rfm_verify(card, 0, 1, 0, &result), ETIMEDOUT);
	assert_int_equal(result.flags, 0xa5a5a5a5);
}

static void interrupts_go_where_they_should(void **state)
{
	static const uint8_t nodes[] = { 0, 63, 64, 200, 255, 200 };

	(void)state;
	answer(0, 0, 0);
	assert_int_equal(rfm_send(card, 7, RFM_EVENT_INT2, 0x12345678), 0);
	assert_memory_equal(&driver.asked.send,
			    (&(struct rfm_send){ 7, RFM_EVENT_INT2, 0x12345678, 0 }),
			    sizeof(driver.asked.send));
	assert_int_equal(rfm_send_all(card, RFM_EVENT_INT4, 9), 0);
	assert_int_equal(driver.request, RFM_IOC_SEND);
	assert_int_equal(driver.asked.send.node, RFM_NODE_ALL);
	assert_int_equal(driver.asked.send.data, 9);
	assert_int_equal(rfm_send_set(card, nodes, ARRAY_SIZE(nodes), RFM_EVENT_INT1, 5), 0);
	assert_int_equal(driver.request, RFM_IOC_SEND_SET);
	assert_true(driver.asked.set.nodes[0] == (1ull | 1ull << 63));
	assert_true(driver.asked.set.nodes[1] == 1);
	assert_true(driver.asked.set.nodes[2] == 0);
	assert_true(driver.asked.set.nodes[3] == (1ull << 8 | 1ull << 63));
	assert_int_equal(driver.asked.set.type, RFM_EVENT_INT1);
	assert_int_equal(driver.asked.set.data, 5);
	assert_int_equal(driver.asked.set.reserved, 0);
	answer(0, EBADF, 0);
	assert_errno(rfm_send(card, 7, RFM_EVENT_INT2, 0), EBADF);
}

static void subscriptions_say_whether_they_matter(void **state)
{
	uint32_t result = 42;

	(void)state;
	answer(0, 0, RFM_SUBSCRIBE_NO_EFFECT);
	assert_int_equal(rfm_subscribe(card, 64, 128, RFM_SUBSCRIBE_RX, &result), 0);
	assert_int_equal(result, RFM_SUBSCRIBE_NO_EFFECT);
	assert_int_equal(driver.request, RFM_IOC_SUBSCRIBE);
	assert_true(driver.asked.subscribe.range.offset == 64);
	assert_true(driver.asked.subscribe.range.length == 128);
	assert_int_equal(driver.asked.subscribe.flags, RFM_SUBSCRIBE_RX);
	assert_int_equal(driver.asked.subscribe.result, 0);
	assert_int_equal(rfm_own(card, 64, 128), 0);
	assert_int_equal(driver.asked.subscribe.flags, RFM_SUBSCRIBE_OWN);
	assert_int_equal(rfm_unsubscribe(card, 64, 128, RFM_SUBSCRIBE_OWN), 0);
	assert_int_equal(driver.request, RFM_IOC_UNSUBSCRIBE);
	assert_int_equal(rfm_subscribe(card, 64, 128, RFM_SUBSCRIBE_RX, NULL), 0);
	answer(0, 0, 0);
	assert_int_equal(rfm_subscribe(card, 64, 128, RFM_SUBSCRIBE_RX, &result), 0);
	assert_int_equal(result, 0);
	answer(0, ENOSPC, RFM_SUBSCRIBE_NO_EFFECT);
	assert_errno(rfm_subscribe(card, 64, 128, RFM_SUBSCRIBE_RX, &result), ENOSPC);
	assert_int_equal(result, 0);
	assert_errno(rfm_unsubscribe(card, 64, 128, RFM_SUBSCRIBE_RX), ENOSPC);
	assert_errno(rfm_own(card, 64, 128), ENOSPC);
}

/* A stream whose other end is a pipe; it blocks, as one of the driver does, unless asked not to. */
static struct rfm_events *piped(int *end)
{
	struct rfm_events *events;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*end = ends[1];
	answer(ends[0], 0, 0);
	events = rfm_listen(card, RFM_EVENT_BIT(RFM_EVENT_INT1), RFM_LISTEN_DISCARD, 12);
	assert_non_null(events);
	assert_int_equal(rfm_events_fd(events), ends[0]);
	if (driver.asked.listen.flags & RFM_LISTEN_NONBLOCK)
		assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	return events;
}

static void put(int end, uint64_t first, int count)
{
	for (int i = 0; i < count; i++) {
		struct rfm_event record = { .seq = first + i };

		assert_int_equal(write(end, &record, sizeof(record)), sizeof(record));
	}
}

static void streams_are_asked_for(void **state)
{
	struct rfm_range ranges[2] = { { 64, 8 }, { 256, 4 } };
	struct rfm_watch watch;
	struct rfm_events *events;
	int end;

	(void)state;
	events = piped(&end);
	assert_int_equal(driver.asked.listen.types, RFM_EVENT_BIT(RFM_EVENT_INT1));
	assert_int_equal(driver.asked.listen.flags,
			 RFM_LISTEN_DISCARD | RFM_LISTEN_CLOEXEC | RFM_LISTEN_NONBLOCK);
	assert_int_equal(driver.asked.listen.depth, 12);
	assert_int_equal(driver.asked.listen.record_size, sizeof(struct rfm_event));
	rfm_events_close(events);
	close(end);

	memset(&watch, 0xa5, sizeof(watch));
	rfm_watch_init(&watch, ranges, 2);
	answer(0, EINVAL, 0);
	assert_null(rfm_watch_with(card, &watch));
	assert_int_equal(errno, EINVAL);
	assert_memory_equal(&driver.asked.watch,
			    (&(struct rfm_watch){ .ranges = (uintptr_t)ranges, .count = 2,
						  .flags = RFM_WATCH_CLOEXEC | RFM_WATCH_NONBLOCK,
						  .record_size = sizeof(struct rfm_event) }),
			    sizeof(watch));
	/* How long a record is, is between library and driver. */
	watch.record_size = sizeof(struct rfm_event);
	driver.request = 0;
	assert_null(rfm_watch_with(card, &watch));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(driver.request, 0);
	answer(0, ENOSPC, 0);
	assert_null(rfm_watch(card, 64, 8));
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(driver.asked.watch.count, 1);
	assert_int_equal(driver.asked.watch.flags, RFM_WATCH_CLOEXEC | RFM_WATCH_NONBLOCK);
}

static void waiting_gives_what_there_is(void **state)
{
	struct rfm_event records[4];
	struct rfm_events *events;
	int end;

	(void)state;
	events = piped(&end);
	assert_int_equal(rfm_events_wait(events, records, 4, 0), 0);
	assert_int_equal(rfm_events_wait(events, records, 4, 10), 0);
	put(end, 1, 6);
	assert_int_equal(rfm_events_wait(events, records, 4, 0), 4);
	assert_int_equal(records[3].seq, 4);
	memset(records, 0xa5, sizeof(records));
	assert_int_equal(rfm_events_wait(events, records, 4, -1), 2);
	assert_int_equal(records[1].seq, 6);
	assert_int_equal(records[2].type, 0xa5a5a5a5);
	assert_errno(rfm_events_wait(events, records, 0, 0), EINVAL);
	put(end, 7, 1);
	assert_int_equal(rfm_events_wait(events, records, 4, 10000), 1);
	rfm_events_close(events);
	close(end);
}

static void *put_later(void *opaque)
{
	put(*(int *)opaque, 1, 1);
	return NULL;
}

static void on_alarm(int signo)
{
	(void)signo;
}

/* It sleeps until there is a record, or a signal, also where its handler restarts calls. */
static void waiting_sleeps(void **state)
{
	(void)state;
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };
		/* Again and again: the first may come before the wait has begun. */
		struct itimerval soon = { { 0, 30000 }, { 0, 30000 } }, never = { 0 };
		struct rfm_event record;
		struct rfm_events *events;
		pthread_t thread;
		int end;

		sigaction(SIGALRM, &action, NULL);
		events = piped(&end);
		for (int timeout = -1; timeout < 20000; timeout += 20000) {
			assert_int_equal(pthread_create(&thread, NULL, put_later, &end), 0);
			assert_int_equal(rfm_events_wait(events, &record, 1, timeout), 1);
			pthread_join(thread, NULL);
			setitimer(ITIMER_REAL, &soon, NULL);
			assert_errno(rfm_events_wait(events, &record, 1, timeout), EINTR);
			setitimer(ITIMER_REAL, &never, NULL);
		}
		rfm_events_close(events);
		close(end);
	}
}

static void what_is_no_range_is_not_asked_for(void **state)
{
	(void)state;
	errno = 0;
	assert_null(rfm_map(card, 0, 1ull << 50));
	assert_int_equal(errno, EINVAL);
}

static void ages(void **state)
{
	struct rfm_event event = { .type = RFM_EVENT_UPDATE, .origin_ns = 1000, .arrival_ns = 1500 };

	(void)state;
	assert_int_equal(rfm_age_ns(&event), 500);
	event.arrival_ns = 999;
	assert_int_equal(rfm_age_ns(&event), 0);
	for (event.type = 0; event.type < RFM_EVENT_TYPES + 40; event.type++) {
		bool update = event.type == RFM_EVENT_UPDATE || event.type == RFM_EVENT_MATCH ||
			      event.type == RFM_EVENT_FRESH || event.type == RFM_EVENT_CONFLICT;

		event.flags = 0;
		if (update)
			assert_int_equal(rfm_age_ns(&event), 0);
		else
			assert_errno(rfm_age_ns(&event), EINVAL);
		event.flags = RFM_EVENT_AGE_UNKNOWN;
		assert_errno(rfm_age_ns(&event), update ? EXDEV : EINVAL);
	}
}

static void asking_changes_nothing_on_error(void **state)
{
	struct rfm_writer writer;

	(void)state;
	memset(&writer, 0xa5, sizeof(writer));
	answer(0, EINVAL, 0);
	assert_errno(rfm_writer(card, 4096, &writer), EINVAL);
	assert_true(driver.asked.writer.offset == 4096);
	assert_int_equal(driver.asked.writer.node, 0);
	assert_int_equal(writer.node, 0xa5a5a5a5);
}

static void check_reg(uint32_t set, uint32_t offset, uint32_t width, uint32_t mask, uint32_t value)
{
	const struct rfm_reg wanted = { set, offset, width, mask, value, 0, 0 };

	assert_int_equal(driver.request, RFM_IOC_REG);
	assert_memory_equal(&driver.asked.reg, &wanted, sizeof(wanted));
}

static void registers_are_asked_for(void **state)
{
	uint32_t value = 42;
	size_t size = 42;

	(void)state;
	assert_true(rfm_can(card) & RFM_CAN_REGS);
	answer(0, 0, 0x12345678);
	assert_int_equal(rfm_reg_read(card, RFM_REGS_CONTROL, 8, 4, &value), 0);
	assert_int_equal(value, 0x12345678);
	check_reg(1, 8, 4, 0, 0);
	assert_int_equal(rfm_reg_write(card, RFM_REGS_RUNTIME, 0x6c, 4, 0xfedcba98), 0);
	check_reg(0, 0x6c, 4, 0xffffffff, 0xfedcba98);
	assert_int_equal(rfm_reg_write(card, RFM_REGS_CONTROL, 0x1c, 2, 0x107), 0);
	check_reg(1, 0x1c, 2, 0xffff, 0x107);
	assert_int_equal(rfm_reg_write(card, RFM_REGS_CONTROL, 0x1c, 1, 7), 0);
	check_reg(1, 0x1c, 1, 0xff, 7);
	assert_int_equal(rfm_reg_update(card, RFM_REGS_CONTROL, 8, 4, 0x30, 0x10, &value), 0);
	check_reg(1, 8, 4, 0x30, 0x10);
	assert_int_equal(rfm_reg_update(card, RFM_REGS_CONTROL, 8, 4, 0x30, 0x10, NULL), 0);
	answer(0, EPERM, 0);
	value = 42;
	assert_errno(rfm_reg_read(card, RFM_REGS_CONTROL, 8, 4, &value), EPERM);
	assert_int_equal(value, 42);
	assert_errno(rfm_reg_write(card, RFM_REGS_CONTROL, 8, 4, 0), EPERM);
	errno = 0;
	assert_null(rfm_map_regs(card, (enum rfm_reg_set)2, &size));
	assert_int_equal(errno, EINVAL);
	/* What /dev/null says to that. */
	answer(0, 0, 0);
	assert_null(rfm_map_regs(card, RFM_REGS_CONTROL, &size));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(size, 42);
}

static void events_are_counted(void **state)
{
	uint64_t counts[40];

	(void)state;
	answer(0, 0, 0);
	memset(counts, 0xa5, sizeof(counts));
	assert_int_equal(rfm_event_counts(card, counts, 3), 0);
	assert_int_equal(driver.request, RFM_IOC_EVENT_COUNTS);
	assert_true(counts[0] == 1 && counts[2] == 3 && counts[3] == 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(rfm_event_counts(card, counts, ARRAY_SIZE(counts)), 0);
	assert_true(counts[31] == 32 && counts[32] == 0 && counts[39] == 0);
	answer(0, EBADF, 0);
	counts[0] = 42;
	assert_errno(rfm_event_counts(card, counts, 1), EBADF);
	assert_true(counts[0] == 42);
}

/* What pread() and pwrite() do: a signal after every so many bytes. */
static struct {
	bool interrupts;
	size_t at_once;
	unsigned int calls;
} transfers;

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
	(void)fd, (void)offset;
	if (transfers.calls++ % 2 == 0 && transfers.interrupts) {
		errno = EINTR;
		return -1;
	}
	size = size < transfers.at_once ? size : transfers.at_once;
	memset(data, 7, size);
	return size;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	char some[64];

	(void)data;
	return pread(fd, some, size < sizeof(some) ? size : sizeof(some), offset);
}

static void signals_end_no_transfer(void **state)
{
	uint8_t data[100] = { 0 };

	(void)state;
	answer(0, 0, 0);
	transfers.interrupts = true;
	transfers.at_once = 40;
	assert_int_equal(rfm_read(card, 0, data, sizeof(data)), 0);
	assert_int_equal(data[0] + data[99], 14);
	assert_int_equal(transfers.calls, 6);
	assert_int_equal(rfm_write(card, 0, data, sizeof(data)), 0);
	assert_int_equal(transfers.calls, 12);
	transfers.interrupts = false;
	transfers.at_once = 0;
	assert_int_equal(rfm_read(card, 0, data, sizeof(data)), -1);
	assert_int_equal(errno, EINVAL);
}

/* A name in the environment is what it is to rfm_open(): no file of the working directory. */
static void variables_name_cards(void **state)
{
	static const struct {
		const char *variable, *value, *card, *says;
	} cases[] = {
		{ "RFM_CARD", "rfm4711", NULL, "/dev/rfm4711:" },
		{ "RFM_CARD_4710", "rfm4711", "rfm4710", "/dev/rfm4711:" },
		{ "RFM_CARD_4710", "rfm4711", "/dev/rfm4710", "/dev/rfm4711:" },
		{ "RFM_CARD_4710", "/dev/rfm4711", "rfm4710", "/dev/rfm4711:" },
		{ "RFM_CARD_4710", "rfm4710", "rfm4710", "/dev/rfm4710:" },
		{ "RFM_CARD_4710", "", "rfm4710", "/dev/rfm4710:" },
	};
	char folder[] = "/tmp/librfm-calls-XXXXXX";
	int fd;

	(void)state;
	answer(0, 0, 0);
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	for (int i = 4710; i < 4712; i++) {
		char name[8];

		snprintf(name, sizeof(name), "rfm%d", i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		assert_true(fd >= 0);
		close(fd);
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		setenv(cases[i].variable, cases[i].value, 1);
		assert_null(rfm_open(cases[i].card, O_RDWR));
		assert_int_equal(errno, ENOENT);
		if (!strstr(rfm_error(), cases[i].says))
			fail_msg("%s=%s: %s", cases[i].variable, cases[i].value, rfm_error());
		unsetenv(cases[i].variable);
	}
	/* Only what is put in place of it, not in place of that. */
	setenv("RFM_CARD_4710", "rfm4711", 1);
	setenv("RFM_CARD_4711", "rfm4710", 1);
	assert_null(rfm_open("rfm4710", O_RDWR));
	assert_non_null(strstr(rfm_error(), "/dev/rfm4711:"));
	unsetenv("RFM_CARD_4710");
	unsetenv("RFM_CARD_4711");
	unlink("rfm4710");
	unlink("rfm4711");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(rfm_version(), RFM_VERSION);
}

static int open_card(void **state)
{
	(void)state;
	answer(0, 0, 0);
	card = rfm_open("/dev/null", O_RDWR);
	return !card;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fences_tell_how_they_ended),
		cmocka_unit_test(what_every_node_has),
		cmocka_unit_test(interrupts_go_where_they_should),
		cmocka_unit_test(subscriptions_say_whether_they_matter),
		cmocka_unit_test(streams_are_asked_for),
		cmocka_unit_test(waiting_gives_what_there_is),
		cmocka_unit_test(waiting_sleeps),
		cmocka_unit_test(what_is_no_range_is_not_asked_for),
		cmocka_unit_test(ages),
		cmocka_unit_test(asking_changes_nothing_on_error),
		cmocka_unit_test(registers_are_asked_for),
		cmocka_unit_test(events_are_counted),
		cmocka_unit_test(signals_end_no_transfer),
		cmocka_unit_test(variables_name_cards),
	};

	return cmocka_run_group_tests_name("librfm_calls", tests, open_card, NULL);
}
