// SPDX-License-Identifier: GPL-2.0-only
/*
 * Subscriptions: who holds what, and that exactly it is on.
 *
 *	subscribe_test NEAR FAR
 *
 * Two cards that are a ring of their own; see pair.h. With base policy none
 * the planes show what is held. With base policy all they are always on, and
 * the same steps must leave them so.
 */

#define TAP_CASE_SECONDS	240	/* thousands of ranges, on a debug kernel */

#include <sched.h>
#include <sys/socket.h>

#include "subscribe.h"

/* --- arguments ------------------------------------------------------------ */

static void refusals(void)
{
	const uint64_t size = pair.info.memory_size;
	const struct {
		struct rfm_subscribe args;
		const char *why;
	} bad[] = {
		{ { { 0, 64 }, 0, 0, {} }, "no flag" },
		{ { { 0, 64 }, 0x10, 0, {} }, "unknown flag" },
		{ { { 0, 64 }, RX | 0x80000000, 0, {} }, "unknown flag" },
		{ { { 0, 0 }, RX, 0, {} }, "length 0" },
		{ { { size - 1, 0 }, RX, 0, {} }, "length 0 at the end" },
		{ { { 0, size + 1 }, RX, 0, {} }, "too long" },
		{ { { 1, size }, TX, 0, {} }, "past the end" },
		{ { { size, 1 }, OWN, 0, {} }, "behind the end" },
		{ { { ~0ull, 1 }, RX, 0, {} }, "at the end of all" },
		{ { { ~0ull, 2 }, RX, 0, {} }, "overflow" },
		{ { { 64, ~0ull - 63 }, RX, 0, {} }, "overflow to 0" },
		{ { { 0, ~0ull }, RX, 0, {} }, "much too long" },
		{ { { 0, 64 }, NO_MAPS, 0, {} }, "NO_MAPS with a length" },
		{ { { 64, 0 }, NO_MAPS, 0, {} }, "NO_MAPS with an offset" },
		{ { { 0, 0 }, RX | NO_MAPS, 0, {} }, "RX without a length" },
	};
	struct rfm_subscribe args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_SUBSCRIBE, args, EINVAL))
			tap_note("SUBSCRIBE: %s", bad[i].why);
		args = bad[i].args;
		if (!CHECK_REFUSED(pair.near, RFM_IOC_UNSUBSCRIBE, args, EINVAL))
			tap_note("UNSUBSCRIBE: %s", bad[i].why);
	}
	args = (struct rfm_subscribe){ { 0, 0 }, NO_MAPS, 0, {} };
	CHECK_REFUSED(pair.near, RFM_IOC_UNSUBSCRIBE, args, EINVAL);
	args = (struct rfm_subscribe){ { 0, 64 }, RX | NO_MAPS, 0, {} };
	CHECK_REFUSED(pair.near, RFM_IOC_UNSUBSCRIBE, args, EINVAL);
	check_bad_pointers(pair.near, RFM_IOC_SUBSCRIBE, "SUBSCRIBE");
	check_bad_pointers(pair.near, RFM_IOC_UNSUBSCRIBE, "UNSUBSCRIBE");
	CHECK_HELD(0, 0, 0);
}

static void rights(void)
{
	struct rfm_subscribe args = { { HERE, 64 }, RX, 0, {} };
	int reader = fresh(O_RDONLY), writer = fresh(O_WRONLY);
	static const uint32_t writes[] = { TX, OWN, RX | TX, RX | OWN };
	unsigned int i;

	REQUIRE(reader >= 0 && writer >= 0);
	CHECK_REFUSED(writer, RFM_IOC_SUBSCRIBE, args, EBADF);
	args.flags = RX | TX;
	CHECK_REFUSED(writer, RFM_IOC_SUBSCRIBE, args, EBADF);
	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		args.flags = writes[i];
		CHECK_REFUSED(reader, RFM_IOC_SUBSCRIBE, args, EBADF);
	}
	CHECK_HELD(HERE, 0, 0);
	CHECK_EQ(take(reader, HERE, 0, 1, RX), 0);
	CHECK_EQ(take(writer, HERE, 1, 2, TX | OWN), 0);
	CHECK_EQ(take(writer, HERE, 0, 0, NO_MAPS), -1);
	CHECK_EQ(subscribe(reader, 0, 0, NO_MAPS), 0);
	CHECK_HELD(HERE, bits(0, 1), bits(1, 2));
	close(reader);
	close(writer);
	CHECK_HELD(HERE, 0, 0);
}

/* The answer says whether it made a difference. */
static void result_tells_of_the_base_policy(void)
{
	static const struct {
		uint32_t flags;
		bool on_anyway;
	} calls[] = {
		{ RX, true }, { TX, true }, { RX | TX, true },
		{ OWN, false }, { RX | OWN, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		struct rfm_subscribe args = { { HERE, 64 }, calls[i].flags,
					      0, {} };
		uint32_t expected = base_all && calls[i].on_anyway ?
				    RFM_SUBSCRIBE_NO_EFFECT : 0;

		CHECK_EQ(ioctl(pair.near, RFM_IOC_SUBSCRIBE, &args), 0);
		CHECK_EQ(args.result, expected);
		args.result = 0;
		CHECK_EQ(ioctl(pair.near, RFM_IOC_UNSUBSCRIBE, &args), 0);
		CHECK_EQ(args.result, expected);
	}
	CHECK_HELD(HERE, 0, 0);
}

/* --- ranges ----------------------------------------------------------------- */

static void ranges_are_rounded_outwards(void)
{
	static const struct {
		uint64_t offset, length;
		unsigned int first, end;
	} ranges[] = {
		{ 0, 1, 0, 1 }, { 63, 1, 0, 1 }, { 64, 1, 1, 2 },
		{ 63, 2, 0, 2 }, { 191, 66, 2, 5 }, { 64, 64, 1, 2 },
		{ 1, 63, 0, 1 }, { 1, 64, 0, 2 }, { 0, AREA_SIZE, 0, 64 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		uint64_t held = bits(ranges[i].first, ranges[i].end);
		uint64_t at = HERE + ranges[i].offset;

		CHECK_EQ(subscribe(pair.near, at, ranges[i].length, RX), 0);
		CHECK_HELD(HERE, held, 0);
		CHECK_EQ(subscribe(pair.near, at, ranges[i].length, TX), 0);
		CHECK_HELD(HERE, held, held);
		CHECK_EQ(unsubscribe(pair.near, at, ranges[i].length, RX), 0);
		CHECK_HELD(HERE, 0, held);
		CHECK_EQ(unsubscribe(pair.near, at, ranges[i].length, TX), 0);
		CHECK_HELD(HERE, 0, 0);
	}
}

static void first_and_last_granule(void)
{
	const uint64_t last = pair.info.window_size - AREA_SIZE;

	CHECK_EQ(subscribe(pair.near, 0, 1, RX | TX), 0);
	CHECK_EQ(subscribe(pair.near, pair.info.window_size - 1, 1, RX | TX), 0);
	CHECK_HELD(0, bits(0, 1), bits(0, 1));
	CHECK_HELD(last, bits(63, 64), bits(63, 64));
	CHECK_EQ(subscribe(pair.near, 0, pair.info.memory_size, RX | TX), 0);
	CHECK_HELD(0, ~0ull, ~0ull);
	CHECK_HELD(last, ~0ull, ~0ull);
	CHECK_EQ(unsubscribe(pair.near, 0, pair.info.memory_size, RX | TX), 0);
	CHECK_HELD(0, 0, 0);
	CHECK_HELD(last, 0, 0);
}

static void old_bytes_stay(void)
{
	const uint64_t at = HERE + 5 * RFM_GRANULE;

	if (base_all)
		return tap_skip("everything is received");
	CHECK(word_put(pair.near, at, 0x1111));
	CHECK(word_put(pair.far, at, 0x2222));
	CHECK(fence(pair.far));
	CHECK_EQ(word_get(pair.near, at), 0x1111);
	CHECK_EQ(subscribe(pair.near, at, 8, RX), 0);
	CHECK_EQ(word_get(pair.near, at), 0x1111);
	CHECK(word_put(pair.far, at, 0x3333));
	CHECK(fence(pair.far));
	CHECK_EQ(word_get(pair.near, at), 0x3333);
	CHECK_EQ(unsubscribe(pair.near, at, 8, RX), 0);
	CHECK_EQ(word_get(pair.near, at), 0x3333);
}

/* An update that crosses the edge of what is received is cut there. */
static void an_update_is_cut_at_the_edge(void)
{
	uint8_t out[2 * RFM_GRANULE], in[2 * RFM_GRANULE];
	unsigned int i;

	if (base_all)
		return tap_skip("everything is received");
	memset(in, 0, sizeof(in));
	CHECK_EQ(pwrite(pair.near, in, sizeof(in), HERE), sizeof(in));
	CHECK_EQ(take(pair.near, HERE, 0, 1, RX), 0);
	for (i = 0; i < sizeof(out); i++)
		out[i] = i + 1;
	/* Odd, so that what is stored lies across the edge. */
	CHECK_EQ(pwrite(pair.far, out + 3, sizeof(out) - 3, HERE + 3),
		 sizeof(out) - 3);
	CHECK(fence(pair.far));
	CHECK_EQ(pread(pair.near, in, sizeof(in), HERE), sizeof(in));
	CHECK(!memcmp(in + 3, out + 3, RFM_GRANULE - 3));
	for (i = RFM_GRANULE; i < sizeof(in); i++)
		CHECK_EQ(in[i], 0);
	CHECK_EQ(give(pair.near, HERE, 0, 1, RX), 0);
}

/* Any order of any ranges by several files, against a model. */
static void random_changes_by_three_files(void)
{
	static const uint32_t flags[] = { RX, TX, RX | TX };
	uint64_t rx[3] = {}, tx[3] = {}, seed = now_ns();
	int files[3];
	unsigned int i;

	tap_note("seed %llu", (unsigned long long)seed);
	for (i = 0; i < 3; i++)
		REQUIRE((files[i] = fresh(O_RDWR)) >= 0);
	for (i = 0; i < 300 && !tap_failed; i++) {
		uint64_t r = random_next(&seed);
		unsigned int who = r % 3, first = (r >> 8) % 64;
		unsigned int end = first + 1 + (r >> 16) % (64 - first);
		uint32_t what = flags[(r >> 24) % 3];
		bool add = r >> 63;
		uint64_t range = bits(first, end);

		CHECK_EQ((add ? take : give)(files[who], HERE, first, end,
					     what), 0);
		if (what & RX)
			rx[who] = add ? rx[who] | range : rx[who] & ~range;
		if (what & TX)
			tx[who] = add ? tx[who] | range : tx[who] & ~range;
		CHECK_HELD(HERE, rx[0] | rx[1] | rx[2], tx[0] | tx[1] | tx[2]);
		if (tap_failed)
			tap_note("step %u: file %u %s %u..%u flags %u", i, who,
				 add ? "takes" : "gives", first, end - 1, what);
	}
	for (i = 0; i < 3; i++) {
		close(files[i]);
		rx[i] = tx[i] = 0;
		CHECK_HELD(HERE, rx[0] | rx[1] | rx[2], tx[0] | tx[1] | tx[2]);
	}
}

/* --- limits ------------------------------------------------------------------ */

/* Range @n of many that do not touch. */
static uint64_t apart(unsigned int n)
{
	return HERE + 2 * n * RFM_GRANULE;
}

static void too_many_ranges(void)
{
	struct rfm_subscribe args = { .flags = RX };
	int file = fresh(O_RDWR);
	unsigned int i;

	REQUIRE(file >= 0);
	for (i = 0; i < RFM_SUBSCRIBE_MAX; i++)
		if (!CHECK_EQ(subscribe(file, apart(i), 1, RX | TX), 0))
			break;
	args.range = (struct rfm_range){ apart(i + 1), 64 };
	CHECK_REFUSED(file, RFM_IOC_SUBSCRIBE, args, ENOSPC);
	args.flags = RX | OWN;
	CHECK_REFUSED(file, RFM_IOC_SUBSCRIBE, args, ENOSPC);
	CHECK_HELD(HERE, 0x5555555555555555, 0x5555555555555555);
	CHECK_HELD(apart(i + 1), 0, 0);

	/* What touches one makes no new one; what joins two makes one less. */
	CHECK_EQ(subscribe(file, apart(0) + RFM_GRANULE, 1, RX), 0);
	CHECK_EQ(subscribe(file, apart(i + 1), 1, RX), 0);
	/* Taking from the middle makes one more: no room. */
	args = (struct rfm_subscribe){ .flags = RX };
	args.range = (struct rfm_range){ apart(0) + RFM_GRANULE, 64 };
	CHECK_REFUSED(file, RFM_IOC_UNSUBSCRIBE, args, ENOSPC);
	CHECK_EQ(received(HERE), shown(0x5555555555555557));
	close(file);
	CHECK_HELD(HERE, 0, 0);
	CHECK_HELD(apart(i + 1), 0, 0);
}

/* The shortest of many, so that what else the machine does is not in it. */
static uint64_t time_to_map(void)
{
	uint64_t best = UINT64_MAX, begin;
	unsigned int i;
	void *map;

	for (i = 0; i < 50; i++) {
		begin = now_ns();
		map = card_map(pair.near, pair.info.window_size);
		if (!map || munmap(map, pair.info.window_size))
			return 0;
		if (now_ns() - begin < best)
			best = now_ns() - begin;
	}
	return best;
}

/*
 * A card has room for so many ranges of all its users, who are told when it is
 * used up; and as long as there is some, one that comes pays for itself alone.
 */
static void too_many_of_all(void)
{
	struct rfm_subscribe args = { .flags = RX };
	struct rfm_range range = { HERE, 64 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1 };
	int files[RFM_HOLDS_MAX / RFM_SUBSCRIBE_MAX + 1];
	unsigned int count = 0, i;
	uint64_t empty = time_to_map(), full;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		files[i] = fresh(O_RDWR);
		REQUIRE(files[i] >= 0);
	}
	do
		args.range = (struct rfm_range){ apart(count / ARRAY_SIZE(files)), 64 };
	while (count < ARRAY_SIZE(files) * RFM_SUBSCRIBE_MAX &&
	       !subscribe(files[count % ARRAY_SIZE(files)], args.range.offset, 64, RX) &&
	       ++count);
	CHECK(count <= RFM_HOLDS_MAX && count > RFM_HOLDS_MAX - 16);
	CHECK_REFUSED(files[count % ARRAY_SIZE(files)], RFM_IOC_SUBSCRIBE, args, EUSERS);
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_WATCH, &watch), EUSERS);
	errno = 0;
	CHECK(!card_map(pair.near, pair.info.window_size) && errno == EUSERS);

	/* One range that becomes another needs no room. */
	CHECK_EQ(subscribe(files[0], HERE + RFM_GRANULE, 64, RX), 0);
	CHECK_EQ(subscribe(files[count % ARRAY_SIZE(files)], args.range.offset, 64, RX), 0);
	args.range.offset = apart(RFM_SUBSCRIBE_MAX);
	CHECK_REFUSED(files[1], RFM_IOC_SUBSCRIBE, args, EUSERS);
	CHECK_EQ(unsubscribe(files[0], HERE + RFM_GRANULE, 2 * RFM_GRANULE, RX), 0);
	CHECK_REFUSED(files[1], RFM_IOC_SUBSCRIBE, args, EUSERS);

	/* With room for one, and without gaps that have to be switched. */
	CHECK_EQ(unsubscribe(files[0], HERE, 64, RX), 0);
	full = time_to_map();
	tap_note("%u ranges; a mapping takes %llu us, without them %llu us", count,
		 (unsigned long long)full / 1000, (unsigned long long)empty / 1000);
	CHECK(full);
	if (base_all)
		CHECK(full < 20 * empty);
	for (i = 0; i < ARRAY_SIZE(files); i++)
		close(files[i]);
	CHECK_HELD(HERE, 0, 0);
}

/* --- files and processes ------------------------------------------------------- */

static void a_close_takes_its_share_only(void)
{
	int a = fresh(O_RDWR), b = fresh(O_RDWR);

	REQUIRE(a >= 0 && b >= 0);
	CHECK_EQ(take(a, HERE, 0, 20, RX | TX), 0);
	CHECK_EQ(take(b, HERE, 10, 30, RX), 0);
	CHECK_EQ(take(b, HERE, 15, 16, TX), 0);
	CHECK_HELD(HERE, bits(0, 30), bits(0, 20));
	close(a);
	CHECK_HELD(HERE, bits(10, 30), bits(15, 16));
	close(b);
	CHECK_HELD(HERE, 0, 0);
}

static void descriptors_of_one_file_share(void)
{
	int a = fresh(O_RDWR), b;

	REQUIRE(a >= 0);
	b = dup(a);
	CHECK_EQ(take(a, HERE, 0, 4, RX), 0);
	CHECK_EQ(take(b, HERE, 4, 8, RX), 0);
	close(a);
	CHECK_HELD(HERE, bits(0, 8), 0);
	CHECK_EQ(give(b, HERE, 2, 6, RX), 0);
	CHECK_HELD(HERE, bits(0, 2) | bits(6, 8), 0);
	close(b);
	CHECK_HELD(HERE, 0, 0);
}

static void a_child_shares_the_file(void)
{
	int a = fresh(O_RDWR), ready;
	char byte;
	pid_t pid;

	REQUIRE(a >= 0);
	CHECK_EQ(take(a, HERE, 3, 9, RX | TX), 0);
	pid = start_holder(&ready);
	REQUIRE(pid > 0 && read(ready, &byte, 1) == 1);
	close(ready);
	close(a);
	CHECK_HELD(HERE, bits(3, 9), bits(3, 9));
	end_holder(pid);
	CHECK_HELD(HERE, 0, 0);
}

/* Sends @fd over @socket; true if that went well. */
static bool send_fd(int socket, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {}, byte = 'f';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message, 0) == 1;
}

static int receive_fd(int socket)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	return fd;
}

static void a_passed_descriptor_is_the_same_file(void)
{
	int a = fresh(O_RDWR), sockets[2], b;

	REQUIRE(a >= 0);
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	CHECK_EQ(take(a, HERE, 0, 5, RX | TX), 0);
	REQUIRE(send_fd(sockets[0], a));
	close(a);
	/* Nobody has it now, it is under way. */
	CHECK_HELD(HERE, bits(0, 5), bits(0, 5));
	b = receive_fd(sockets[1]);
	REQUIRE(b >= 0);
	CHECK_EQ(give(b, HERE, 0, 1, RX | TX), 0);
	CHECK_HELD(HERE, bits(1, 5), bits(1, 5));

	/* One that is never received goes with the socket. */
	REQUIRE(send_fd(sockets[0], b));
	close(b);
	CHECK_HELD(HERE, bits(1, 5), bits(1, 5));
	close(sockets[1]);
	close(sockets[0]);
	CHECK_HELD(HERE, 0, 0);
}

/* A process that opens the card itself, takes a range, and is killed. */
static pid_t start_taker(unsigned int first, unsigned int end, uint32_t flags)
{
	int pipes[2];
	char byte;
	pid_t pid;

	if (pipe(pipes))
		return -1;
	pid = fork();
	if (!pid) {
		int fd = fresh(O_RDWR);

		signal(SIGALRM, SIG_DFL);
		if (fd >= 0 && !take(fd, HERE, first, end, flags) &&
		    write(pipes[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(pipes[1]);
	if (read(pipes[0], &byte, 1) != 1)
		pid = -1;
	close(pipes[0]);
	return pid;
}

static void a_killed_process_loses_its_share_only(void)
{
	pid_t a = start_taker(10, 40, RX | TX), b = start_taker(30, 50, RX),
	      c = start_taker(35, 37, TX);

	REQUIRE(a > 0 && b > 0 && c > 0);
	CHECK_HELD(HERE, bits(10, 50), bits(10, 40));
	end_holder(a);
	CHECK_HELD(HERE, bits(30, 50), bits(35, 37));
	end_holder(c);
	CHECK_HELD(HERE, bits(30, 50), 0);
	end_holder(b);
	CHECK_HELD(HERE, 0, 0);
}

/* --- owners ------------------------------------------------------------------------ */

/* The CONFLICT events that wait, as a map of granules; @count says how many. */
static uint64_t conflicts(int listener, unsigned int *count)
{
	struct rfm_event event;
	uint64_t map = 0;

	for (*count = 0; read(listener, &event, sizeof(event)) > 0; ++*count) {
		CHECK_EQ(event.type, RFM_EVENT_CONFLICT);
		CHECK_EQ(event.node, pair.far_info.node);
		CHECK(event.offset >= HERE && event.offset < THERE);
		map |= 1ull << (event.offset - HERE) / RFM_GRANULE % 64;
	}
	CHECK_EQ(errno, EAGAIN);
	return map;
}

static uint64_t counted(enum rfm_counter which)
{
	struct rfm_counters counters = {};

	CHECK_EQ(ioctl(pair.near, RFM_IOC_COUNTERS, &counters), 0);
	return counters.value[which];
}

/*
 * Far's stores to owned granules are conflicts, others are not. They are
 * events in order, so that one on the last granule says that all are there.
 */
static void owners_hear_of_conflicts(void)
{
	struct rfm_listen args = { RFM_EVENT_BIT(RFM_EVENT_CONFLICT),
				   RFM_LISTEN_NONBLOCK, 0, 0 };
	int a = fresh(O_RDWR), b = fresh(O_RDWR), listener;
	uint64_t before, seen = 0, end;
	unsigned int count, sum = 0;

	REQUIRE(a >= 0 && b >= 0);
	listener = ioctl(a, RFM_IOC_LISTEN, &args);
	REQUIRE(listener >= 0);
	CHECK_EQ(subscribe(b, HERE, AREA_SIZE, RX), 0);
	CHECK_EQ(take(a, HERE, 10, 20, OWN), 0);
	CHECK_EQ(take(b, HERE, 15, 30, OWN), 0);
	CHECK_EQ(take(b, HERE, 63, 64, OWN), 0);
	before = counted(RFM_COUNTER_CONFLICTS);
	received(HERE);
	for (end = now_ns() + 60000000000ull; now_ns() < end && !(seen >> 63);) {
		seen |= conflicts(listener, &count);
		sum += count;
	}
	CHECK_EQ(seen, bits(10, 30) | bits(63, 64));
	CHECK_EQ(sum, 21);
	CHECK_EQ(counted(RFM_COUNTER_CONFLICTS) - before, 21);

	/* Near's own stores are none, and a's share goes with a. */
	sent(HERE);
	close(a);
	received(HERE);
	for (end = now_ns() + 60000000000ull, seen = 0; now_ns() < end && !(seen >> 63);)
		seen |= conflicts(listener, &count);
	CHECK_EQ(seen, bits(15, 30) | bits(63, 64));
	close(b);
	received(HERE);
	CHECK_EQ(counted(RFM_COUNTER_CONFLICTS) - before, 21 + 16);
	close(listener);
}

/* --- traffic ------------------------------------------------------------------------- */

/*
 * While near's masks change without pause next to them and between them, far
 * stores into two granules that stay subscribed: every store arrives.
 */
static void changes_hurt_no_neighbour(void)
{
	enum { ROUNDS = 300 };
	uint64_t word = 0, first = 0, filtered;
	unsigned int i, changes;
	int stop[2], status;
	pid_t pid;
	char byte;

	REQUIRE(!pipe(stop));
	CHECK(word_put(pair.near, HERE + 8 * RFM_GRANULE, 0));
	CHECK(word_put(pair.near, HERE + 12 * RFM_GRANULE, 0));
	CHECK(fence(pair.near));
	CHECK_EQ(take(pair.near, HERE, 8, 9, RX), 0);
	CHECK_EQ(take(pair.near, HERE, 12, 13, RX), 0);
	filtered = counted(RFM_COUNTER_FILTERED_RX);
	pid = fork();
	if (!pid) {
		close(stop[1]);
		fcntl(stop[0], F_SETFL, O_NONBLOCK);
		signal(SIGALRM, SIG_DFL);
		do {
			word_put(pair.far, HERE + 8 * RFM_GRANULE, ++word);
			word_put(pair.far, HERE + 12 * RFM_GRANULE, word);
		} while (read(stop[0], &byte, 1));
		_exit(!fence(pair.far));
	}
	close(stop[0]);
	while (!word_get(pair.near, HERE + 12 * RFM_GRANULE))
		sched_yield();
	/* As many stores as changes, at least: they go on side by side. */
	for (i = 0; i < ROUNDS || first < ROUNDS; i++) {
		uint64_t second;

		CHECK_EQ(take(pair.near, HERE, 0, 20, RX), 0);
		CHECK_EQ(give(pair.near, HERE, 0, 8, RX), 0);
		CHECK_EQ(give(pair.near, HERE, 9, 12, RX), 0);
		CHECK_EQ(give(pair.near, HERE, 13, 20, RX), 0);
		/* In order: what is in the second has been in the first. */
		second = word_get(pair.near, HERE + 12 * RFM_GRANULE);
		first = word_get(pair.near, HERE + 8 * RFM_GRANULE);
		if (!CHECK(first >= second))
			break;
	}
	changes = 4 * i;
	close(stop[1]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(counted(RFM_COUNTER_FILTERED_RX), filtered);
	word = word_get(pair.far, HERE + 8 * RFM_GRANULE);
	tap_note("%llu stores under %u changes", (unsigned long long)word,
		 changes);
	CHECK_EQ(word_get(pair.near, HERE + 8 * RFM_GRANULE), word);
	CHECK_EQ(word_get(pair.near, HERE + 12 * RFM_GRANULE), word);
	CHECK_EQ(give(pair.near, HERE, 0, 64, RX), 0);
	CHECK_HELD(HERE, 0, 0);
}

/* --- the end -------------------------------------------------------------------------- */

static bool write_sysfs(const char *file, const char *text)
{
	char name[128];
	bool good;
	int fd;

	snprintf(name, sizeof(name), "/sys/bus/pci/drivers/rfm/%s", file);
	fd = open(name, O_WRONLY);
	good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

/*
 * Without a driver near is a plain 5565 that receives everything, whatever
 * was held, and what is open still then does no harm later.
 */
static void unbinding_resets_the_planes(void)
{
	const uint64_t at = HERE + 7 * RFM_GRANULE;
	uint64_t value = ++pair.value;
	int old = pair.near;
	void *map = map_pages(old, RW, THERE, 1);

	REQUIRE(map);
	CHECK_EQ(take(old, HERE, 0, 4, RX | TX | OWN), 0);
	REQUIRE(write_sysfs("unbind", pair.info.pci_name));
	CHECK(word_put(pair.far, at, value));
	CHECK(fence(pair.far));
	CHECK_ERRNO(take(old, HERE, 0, 4, RX), ENODEV);
	CHECK_ERRNO(give(old, HERE, 0, 4, RX), ENODEV);
	REQUIRE(write_sysfs("bind", pair.info.pci_name));
	while ((pair.near = fresh(O_RDWR)) < 0)
		sched_yield();
	CHECK_EQ(word_get(pair.near, at), value);
	CHECK_HELD(HERE, 0, 0);
	CHECK_EQ(take(pair.near, HERE, 2, 6, RX), 0);
	munmap(map, PAGE);
	close(old);
	CHECK_HELD(HERE, bits(2, 6), 0);
	CHECK_EQ(give(pair.near, HERE, 2, 6, RX), 0);
}

static void parameter_says_so(void)
{
	const char *expected = base_all ? "all\n" : "none\n";
	char text[16] = {};
	int fd = open("/sys/module/rfm/parameters/base_policy", O_RDONLY);

	REQUIRE(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	CHECK(!strcmp(text, expected));
	CHECK_ERRNO(open("/sys/module/rfm/parameters/base_policy", O_WRONLY),
		    EACCES);
	tap_note("base policy %s", base_all ? "all" : "none");
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(parameter_says_so),
		TAP_CASE(refusals),
		TAP_CASE(rights),
		TAP_CASE(result_tells_of_the_base_policy),
		TAP_CASE(ranges_are_rounded_outwards),
		TAP_CASE(first_and_last_granule),
		TAP_CASE(old_bytes_stay),
		TAP_CASE(an_update_is_cut_at_the_edge),
		TAP_CASE(random_changes_by_three_files),
		TAP_CASE(too_many_ranges),
		TAP_CASE(too_many_of_all),
		TAP_CASE(a_close_takes_its_share_only),
		TAP_CASE(descriptors_of_one_file_share),
		TAP_CASE(a_child_shares_the_file),
		TAP_CASE(a_passed_descriptor_is_the_same_file),
		TAP_CASE(a_killed_process_loses_its_share_only),
		TAP_CASE(owners_hear_of_conflicts),
		TAP_CASE(changes_hurt_no_neighbour),
		TAP_CASE(unbinding_resets_the_planes),
	};

	subscribe_open(argc, argv);
	return TAP_RUN(cases);
}
