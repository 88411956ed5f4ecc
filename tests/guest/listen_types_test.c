// SPDX-License-Identifier: GPL-2.0-only
/*
 * LISTEN: which types, by whom, and what the extension block adds: network
 * interrupts by its event ring, light and conflicts. Wants two cards on one
 * ring, both in this machine.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include "listen.h"

/*
 * What has waited comes before what comes while it is fetched, whichever way
 * either takes.
 */
static void backlog_comes_first(void)
{
	enum { WAITING = 100, MORE = 400 };
	struct rfm_event event;
	int fd, status, sockets[2];
	unsigned int i;
	pid_t pid;
	char byte;

	if (!hearer_info.features) {
		tap_skip("a 5565 drops what comes faster than it is fetched");
		return;
	}
	discard_all();
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		for (i = 0; i < WAITING + MORE; i++) {
			if (i == WAITING && write(sockets[1], "r", 1) != 1)
				_exit(2);
			/* No more than can wait, however late we listen. */
			if (i == RFM_FIFO_DEPTH &&
			    read(sockets[1], &byte, 1) != 1)
				_exit(3);
			if (send_event(RFM_EVENT_INT1, i))
				_exit(1);
		}
		_exit(0);
	}
	REQUIRE(read(sockets[0], &byte, 1) == 1);
	fd = listen_for(INT1, RFM_LISTEN_NONBLOCK, 1024);
	REQUIRE(fd >= 0 && write(sockets[0], "g", 1) == 1);
	for (i = 0; i < WAITING + MORE; i++) {
		REQUIRE(next_event(fd, &event));
		REQUIRE(event.data == i && event.seq == i + 1);
	}
	waitpid(pid, &status, 0);
	CHECK_EQ(status, 0);
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
}

static void one_alone(void)
{
	struct rfm_event event;
	int alone = listen_for(INT1 | RESET, RFM_LISTEN_NONBLOCK |
			       RFM_LISTEN_DISCARD | RFM_LISTEN_EXCLUSIVE, 0);
	int other;

	REQUIRE(alone >= 0);
	CHECK_ERRNO(listen_fresh(INT1), EBUSY);
	CHECK_ERRNO(listen_fresh(INT2 | RESET), EBUSY);
	CHECK_ERRNO(listen_for(INT1, RFM_LISTEN_EXCLUSIVE, 0), EBUSY);
	/* Other types are anybody's. */
	other = listen_fresh(INT2);
	REQUIRE(other >= 0);
	CHECK_ERRNO(listen_for(INT2, RFM_LISTEN_EXCLUSIVE, 0), EBUSY);
	CHECK_EQ(send_event(RFM_EVENT_INT1, 5), 0);
	REQUIRE(next_event(alone, &event));
	CHECK_EQ(event.data, 5);
	close(alone);

	/* What was refused has left nothing behind. */
	alone = listen_for(INT1, RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD |
			   RFM_LISTEN_EXCLUSIVE, 0);
	CHECK(alone >= 0);
	close(alone);
	close(other);
	other = listen_for(INT2, RFM_LISTEN_EXCLUSIVE, 0);
	CHECK(other >= 0);
	close(other);
}

static void types_that_no_listener_hears(void)
{
	unsigned int type;

	CHECK_ERRNO(listen_fresh(0), EINVAL);
	CHECK_ERRNO(listen_fresh(RFM_EVENT_ALL), EINVAL);
	CHECK_ERRNO(listen_fresh(INT1 | RFM_EVENT_BIT(RFM_EVENT_TYPES)), EINVAL);
	for (type = RFM_EVENT_UPDATE; type <= RFM_EVENT_FRESH; type++)
		CHECK_ERRNO(listen_fresh(INT1 | RFM_EVENT_BIT(type)), EINVAL);
	CHECK_ERRNO(listen_fresh(INT1 | RFM_EVENT_BIT(RFM_EVENT_DROPPED)), EINVAL);
	for (type = RFM_EVENT_CONFLICT; type < RFM_EVENT_DROPPED; type++) {
		int fd = listen_fresh(INT1 | RFM_EVENT_BIT(type));

		if (hearer_info.features)
			CHECK(fd >= 0);
		else
			CHECK(fd < 0 && errno == EOPNOTSUPP);
		close(fd);
	}
}

static int transmit(int fd, bool on)
{
	struct rfm_config args = {
		.mask = RFM_CONFIG_TRANSMIT,
		.on = on ? RFM_CONFIG_TRANSMIT : 0,
	};

	return ioctl(fd, RFM_IOC_SET_CONFIG, &args);
}

/* The talker goes dark and comes back: who is told what, in which order. */
static void light_goes_and_returns(void)
{
	struct rfm_listen args = { RFM_EVENT_BIT(RFM_EVENT_BREAK),
				   RFM_LISTEN_NONBLOCK, 0, 0 };
	int fd, self;
	struct rfm_event event;

	if (!hearer_info.features) {
		tap_skip("no extension block");
		return;
	}
	fd = listen_fresh(RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS) |
			  RFM_EVENT_BIT(RFM_EVENT_SIGNAL));
	self = ioctl(talker, RFM_IOC_LISTEN, &args);
	REQUIRE(fd >= 0 && self >= 0);
	CHECK_EQ(transmit(talker, false), 0);
	CHECK(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_SYNC_LOSS);
	CHECK(next_event(self, &event));
	CHECK_EQ(event.type, RFM_EVENT_BREAK);
	CHECK_EQ(event.node, hearer_info.node);
	CHECK_EQ(transmit(talker, true), 0);
	CHECK(next_event(fd, &event));
	CHECK_EQ(event.type, RFM_EVENT_SIGNAL);
	CHECK_EQ(event.node, RFM_NODE_ALL);
	close(self);
	close(fd);
	settle();
}

/* The talker stores where the hearer is the owner. */
static void conflicts(void)
{
	struct rfm_subscribe own = { .range = { 1 << 20, 64 },
				     .flags = RFM_SUBSCRIBE_OWN };
	struct rfm_subscribe send = { .range = { 1 << 20, 4096 },
				      .flags = RFM_SUBSCRIBE_TX };
	struct rfm_event event;
	uint64_t value = 0x123456789;
	int fd, file;

	if (!hearer_info.features) {
		tap_skip("no extension block");
		return;
	}
	fd = listen_fresh(RFM_EVENT_BIT(RFM_EVENT_CONFLICT));
	file = open(hearer_path, O_RDWR);
	REQUIRE(fd >= 0 && file >= 0);
	REQUIRE(ioctl(talker, RFM_IOC_SUBSCRIBE, &send) == 0);
	REQUIRE(ioctl(file, RFM_IOC_SUBSCRIBE, &own) == 0);
	CHECK_EQ(pwrite(talker, &value, 8, (1 << 20) + 64), 8);
	CHECK_EQ(pwrite(talker, &value, 8, (1 << 20) + 56), 8);
	REQUIRE(next_event(fd, &event));
	CHECK_EQ(event.node, talker_info.node);
	CHECK_EQ(event.offset, (1 << 20) + 56);
	CHECK_EQ(event.length, 8);
	CHECK(!memcmp(event.bytes, &value, 8));
	CHECK_EQ(event.seq, 1);
	close(file);
	CHECK_EQ(pwrite(talker, &value, 8, 1 << 20), 8);
	settle();
	CHECK(silent(fd));
	close(fd);
	send.result = 0;
	CHECK_EQ(ioctl(talker, RFM_IOC_UNSUBSCRIBE, &send), 0);
}

/* --- how many there were ----------------------------------------------------- */

static struct rfm_event_counts counts_now(void)
{
	struct rfm_event_counts counts;
	unsigned int i;

	memset(&counts, 0xa5, sizeof(counts));
	CHECK_EQ(ioctl(hearer, RFM_IOC_EVENT_COUNTS, &counts), 0);
	/* The memory may be incomplete since the light went. */
	for (i = RFM_EVENT_DROPPED; i < ARRAY_SIZE(counts.count); i++)
		CHECK(i == RFM_EVENT_INCOMPLETE || !counts.count[i]);
	for (i = RFM_EVENT_UPDATE; i <= RFM_EVENT_FRESH; i++)
		CHECK_EQ(counts.count[i], 0);
	return counts;
}

static uint64_t count_of(unsigned int type)
{
	return counts_now().count[type];
}

/* Once, however many hear it, and not before the first does. */
static void interrupts_are_counted(void)
{
	struct rfm_event event;
	uint64_t before[2];
	unsigned int i;
	int fd, other, second;

	discard_all();
	before[0] = count_of(RFM_EVENT_INT1);
	before[1] = count_of(RFM_EVENT_INT2);
	for (i = 0; i < 3; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, i), 0);
	settle();
	CHECK_EQ(count_of(RFM_EVENT_INT1), before[0]);
	fd = listen_for(INT1, RFM_LISTEN_NONBLOCK, 0);
	other = listen_for(INT1 | INT2, RFM_LISTEN_NONBLOCK, 1);
	second = listen_for(INT2, RFM_LISTEN_NONBLOCK, 0);
	REQUIRE(fd >= 0 && other >= 0 && second >= 0);
	for (i = 3; i < 5; i++)
		CHECK_EQ(send_event(RFM_EVENT_INT1, i), 0);
	CHECK_EQ(send_event(RFM_EVENT_INT2, 0), 0);
	for (i = 0; i < 5; i++) {
		REQUIRE(next_event(fd, &event));
		CHECK_EQ(event.data, i);
	}
	CHECK(next_event(second, &event));
	CHECK_EQ(count_of(RFM_EVENT_INT1), before[0] + 5);
	CHECK_EQ(count_of(RFM_EVENT_INT2), before[1] + 1);
	close(second);
	close(other);
	close(fd);
}

/* Though nobody listens. */
static void errors_are_counted(void)
{
	uint64_t before = count_of(RFM_EVENT_SYNC_LOSS), deadline = now_ns() + PATIENCE_NS;

	CHECK_EQ(transmit(talker, false), 0);
	while (count_of(RFM_EVENT_SYNC_LOSS) == before && now_ns() < deadline)
		sleep_ms(1);
	CHECK(count_of(RFM_EVENT_SYNC_LOSS) > before);
	CHECK_EQ(transmit(talker, true), 0);
	settle();
}

static void counts_are_for_readers(void)
{
	static void *const pointers[] = { NULL, (void *)8, (void *)-4096l };
	int writer = open(hearer_path, O_WRONLY), reader = open(hearer_path, O_RDONLY);
	struct rfm_event_counts counts;
	unsigned int i;

	REQUIRE(writer >= 0 && reader >= 0);
	CHECK_ERRNO(ioctl(writer, RFM_IOC_EVENT_COUNTS, &counts), EBADF);
	CHECK_EQ(ioctl(reader, RFM_IOC_EVENT_COUNTS, &counts), 0);
	for (i = 0; i < ARRAY_SIZE(pointers); i++)
		CHECK_ERRNO(ioctl(reader, RFM_IOC_EVENT_COUNTS, pointers[i]), EFAULT);
	close(writer);
	close(reader);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(backlog_comes_first),
		TAP_CASE(one_alone),
		TAP_CASE(types_that_no_listener_hears),
		TAP_CASE(light_goes_and_returns),
		TAP_CASE(conflicts),
		TAP_CASE(interrupts_are_counted),
		TAP_CASE(errors_are_counted),
		TAP_CASE(counts_are_for_readers),
	};

	listen_open(argc, argv);
	return TAP_RUN(cases);
}
