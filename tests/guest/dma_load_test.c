// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once:
 *
 *	dma_load_test [-t SECONDS] [-s SEED] NEAR FAR
 *
 * Four processes keep 64 requests each in flight on NEAR, to slots of their own
 * and to an area that all write, of all lengths. In between they store and send
 * interrupts. NEAR and FAR are cards of one ring, in this machine.
 *
 * A slot holds one version at a time: each of its words names process and
 * version. Requests in flight together have no order, so a slot is not written
 * while it is read or written; a read must find the version that was written
 * last. An interrupt names a version whose write has ended: when it comes
 * to FAR, the slot there holds that or a later one. Stores are a count, which
 * only rises there. At the end both memories are the same.
 */

#define TAP_CASE_SECONDS 600

#include <poll.h>
#include <sys/wait.h>

#include "async.h"
#include "dma.h"
#include "kernel_log.h"

#define MIB (1ul << 20)
enum { PROCESSES = 4, IN_FLIGHT = 64, SLOTS = 12 };

#define LONGEST (160ul * 1024)
#define AREA (4 * MIB)		/* of each process */
#define SHARED (PROCESSES * AREA)	/* where that of all begins */
#define COUNTS (SHARED + 4 * MIB)	/* a count of each process */

static const char *near_path, *far_path;
static unsigned int seconds = 8;
static uint64_t seed = 1;

/* The first is the one that interrupts tell of. */
static const struct {
	size_t skew, len;
} shapes[SLOTS] = {
	{ 0, 65536 }, { 0, 8 }, { 8, 64 }, { 0, 4096 }, { 16, 4104 },
	{ 4000, 9000 }, { 0, 32768 }, { 64, LONGEST }, { 8, 100000 },
	{ 24, 2048 }, { 0, 131072 }, { 1048, 50008 },
};

static size_t slot_at(unsigned int process, unsigned int slot)
{
	return process * AREA + slot * (LONGEST + 8192) + shapes[slot].skew;
}

/* --- the processes ------------------------------------------------------- */

struct request {
	uint64_t *buf;
	bool store, shared;
	unsigned int slot;
	uint32_t version;
};

static unsigned int me;		/* which process */
static int card;
static volatile uint64_t *count;
static struct uring uring;
static struct request requests[IN_FLIGHT];
static uint32_t versions[SLOTS];	/* what was last asked to be written */
static unsigned int readers[SLOTS], writers[SLOTS];
static uint64_t state;
static uint64_t interrupts;

/* Before the first it is zeros. */
static uint64_t word_of(uint32_t version)
{
	return version ? (me + 1ull) << 32 | version : 0;
}

static bool slot_is_in_use(const struct request *request)
{
	return writers[request->slot] ||
	       (request->store && readers[request->slot]);
}

static bool ask(unsigned int index)
{
	struct request *request = &requests[index];
	uint64_t r = random_next(&state), at;
	size_t len, i;

	request->shared = (r & 7) == 0;
	request->store = r >> 3 & 1;
	request->slot = (r >> 8) % SLOTS;
	/* However slow the machine: one that is told of is there. */
	if (!versions[0]) {
		request->shared = false;
		request->store = true;
		request->slot = 0;
	}
	/* Who finds no slot that is not in use goes to the area of all. */
	for (i = 0; i < SLOTS && slot_is_in_use(request); i++)
		request->slot = (request->slot + 1) % SLOTS;
	request->shared |= i == SLOTS;
	if (!request->shared)
		(request->store ? writers : readers)[request->slot]++;
	len = shapes[request->slot].len;
	at = slot_at(me, request->slot);
	if (request->shared) {
		at = SHARED + (r >> 20) % (2 * MIB);
	} else if (request->store) {
		request->version = ++versions[request->slot];
		for (i = 0; i < len / 8; i++)
			request->buf[i] = word_of(request->version);
	} else {
		request->version = versions[request->slot];
		memset(request->buf, 0xff, len);
	}
	return uring_add(&uring, request->store ? IORING_OP_WRITE :
			 IORING_OP_READ, card, request->buf, len, at, index);
}

static const char *check(const struct request *request, int result)
{
	size_t len = shapes[request->slot].len, i;

	if (!request->shared)
		(request->store ? writers : readers)[request->slot]--;
	if (result != (int)len) {
		tap_note("process %u slot %u: %d instead of %zu bytes", me,
			 request->slot, result, len);
		return "a short transfer";
	}
	if (request->shared || request->store)
		return NULL;
	for (i = 0; i < len / 8; i++) {
		if (request->buf[i] == word_of(request->version))
			continue;
		tap_note("process %u slot %u word %zu: %#llx, not %#llx", me,
			 request->slot, i, (unsigned long long)request->buf[i],
			 (unsigned long long)word_of(request->version));
		return "a read found another version";
	}
	return NULL;
}

static const char *tell(const struct request *request)
{
	struct rfm_send send = {
		.node = RFM_NODE_ALL, .type = RFM_EVENT_INT1,
		.data = me << 28 | (request->version & 0xfffffff),
	};

	++*count;
	if (request->shared || !request->store || request->slot)
		return NULL;
	interrupts++;
	return ioctl(card, RFM_IOC_SEND, &send) ? "SEND failed" : NULL;
}

static const char *load(void)
{
	uint64_t end = now_ns() + seconds * 1000000000ull, ended = 0;
	unsigned int in_flight = 0;
	struct io_uring_cqe cqe;
	const char *wrong;

	while (in_flight < IN_FLIGHT)
		if (!ask(in_flight++))
			return "no room in the ring";
	while (in_flight) {
		if (uring_enter(&uring, 1))
			return "io_uring_enter failed";
		while (uring_next(&uring, &cqe)) {
			wrong = check(&requests[cqe.user_data], cqe.res) ?:
				tell(&requests[cqe.user_data]);
			if (wrong)
				return wrong;
			ended++;
			if (now_ns() < end)
				ask(cqe.user_data);
			else
				in_flight--;
		}
	}
	tap_note("process %u: %llu requests, %llu interrupts", me,
		 (unsigned long long)ended, (unsigned long long)interrupts);
	return NULL;
}

/* Exit status 0, and the versions down the pipe. */
static void process(int out)
{
	const char *wrong = "cannot begin";
	struct rfm_info info;
	uint8_t *map = NULL;
	unsigned int i;

	signal(SIGALRM, SIG_DFL);
	state = seed * 4 + me + 1;
	card = open(near_path, O_RDWR);
	if (card >= 0 && !card_info(card, &info))
		map = card_map(card, info.window_size);
	for (i = 0; i < IN_FLIGHT; i++)
		requests[i].buf = aligned_alloc(PAGE, LONGEST);
	if (map && uring_open(&uring, IN_FLIGHT)) {
		count = (volatile uint64_t *)(map + COUNTS + me * 64);
		wrong = load();
	}
	if (wrong)
		tap_note("process %u: %s (%s)", me, wrong, strerror(errno));
	if (write(out, versions, sizeof(versions)) != sizeof(versions))
		_exit(1);
	_exit(wrong != NULL);
}

/* --- the other end ------------------------------------------------------- */

static uint64_t heard;

/* Everything in the slot is that version or a later one. */
static bool slot_has(const uint8_t *far, uint32_t data)
{
	unsigned int from = data >> 28;
	const volatile uint64_t *words = (const void *)(far + slot_at(from, 0));
	uint32_t version = data & 0xfffffff;
	size_t i;

	for (i = 0; i < shapes[0].len / 8; i += 8) {
		uint64_t word = words[i];

		if (word >> 32 == from + 1 && (uint32_t)word >= version)
			continue;
		tap_note("interrupt of version %u of process %u: word %zu is %#llx",
			 version, from, i, (unsigned long long)word);
		return false;
	}
	return true;
}

static void hear(int listener, const uint8_t *far, uint64_t *counts)
{
	struct pollfd pollfd = { listener, POLLIN, 0 };
	struct rfm_event events[16];
	ssize_t len, i;

	if (poll(&pollfd, 1, 100) != 1)
		return;
	len = read(listener, events, sizeof(events));
	for (i = 0; i < len / (ssize_t)sizeof(*events); i++) {
		CHECK_EQ(events[i].dropped, 0);
		CHECK(slot_has(far, events[i].data));
		heard++;
	}
	for (i = 0; i < PROCESSES; i++) {
		uint64_t now = *(volatile uint64_t *)(far + COUNTS + i * 64);

		CHECK(now >= counts[i]);
		counts[i] = now;
	}
}

static bool fence(int fd)
{
	struct rfm_fence_wait args = { .timeout_ms = 20000 };

	return !ioctl(fd, RFM_IOC_FENCE, &args) && !args.lost;
}

static void compare(const uint8_t *near, const uint8_t *far, size_t size,
		    uint32_t (*last)[SLOTS])
{
	unsigned int slot;
	size_t same = first_difference(near, far, size), i;

	if (!CHECK_EQ(same, size))
		tap_note("the memories differ from %#zx on", same);
	for (me = 0; me < PROCESSES; me++) {
		for (slot = 0; slot < SLOTS; slot++) {
			const uint64_t *words = (const void *)
						(far + slot_at(me, slot));

			for (i = 0; i < shapes[slot].len / 8; i++)
				if (words[i] != word_of(last[me][slot]))
					break;
			CHECK_EQ(i, shapes[slot].len / 8);
		}
	}
}

static void all_at_once(void)
{
	struct rfm_listen listen = { RFM_EVENT_BIT(RFM_EVENT_INT1),
				     RFM_LISTEN_NONBLOCK | RFM_LISTEN_DISCARD,
				     65536, 0 };
	static uint32_t last[PROCESSES][SLOTS];
	int near_fd = open(near_path, O_RDWR), far_fd = open(far_path, O_RDWR);
	uint64_t counts[PROCESSES] = { 0 }, before, end;
	long long errors = dma_figure("errors");
	int pipes[PROCESSES][2], status, listener;
	unsigned int left = PROCESSES, i;
	pid_t pids[PROCESSES], pid;
	uint8_t *near, *far, *zeros;
	struct rfm_info info;

	REQUIRE(near_fd >= 0 && far_fd >= 0 && !card_info(near_fd, &info));
	near = card_map(near_fd, info.window_size);
	far = card_map(far_fd, info.window_size);
	zeros = calloc(1, info.window_size);
	listener = ioctl(far_fd, RFM_IOC_LISTEN, &listen);
	REQUIRE(near && far && zeros && listener >= 0);
	CHECK_EQ(pwrite(near_fd, zeros, info.window_size, 0), info.window_size);
	free(zeros);
	REQUIRE(fence(near_fd));

	for (i = 0; i < PROCESSES; i++) {
		REQUIRE(pipe(pipes[i]) == 0);
		pids[i] = fork();
		REQUIRE(pids[i] >= 0);
		me = i;
		if (!pids[i])
			process(pipes[i][1]);
	}
	while (left) {
		hear(listener, far, counts);
		while (left && (pid = waitpid(-1, &status, WNOHANG)) > 0) {
			CHECK_EQ(status, 0);
			left--;
		}
	}
	for (i = 0; i < PROCESSES; i++)
		CHECK_EQ(read(pipes[i][0], last[i], sizeof(last[i])),
			 sizeof(last[i]));
	CHECK(fence(near_fd));
	end = now_ns() + 60000000000ull;
	do {
		before = heard;
		hear(listener, far, counts);
	} while (!tap_failed && (heard != before || (!heard && now_ns() < end)));
	tap_note("%llu interrupts heard", (unsigned long long)heard);
	CHECK(heard > 0);
	compare(near, far, info.window_size, last);
	CHECK(dma_is_idle());
	CHECK_EQ(dma_figure("errors"), errors);
}

static int kernel_log;

static void the_kernel_is_content(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(all_at_once),
		TAP_CASE(the_kernel_is_content),
	};
	int option;

	while ((option = getopt(argc, argv, "t:s:")) != -1) {
		if (option == 't') {
			seconds = strtoul(optarg, NULL, 0);
		} else if (option == 's') {
			seed = strtoull(optarg, NULL, 0);
		} else {
			fprintf(stderr, "usage: %s [-t SECONDS] [-s SEED] NEAR FAR\n",
				argv[0]);
			return TAP_FAIL;
		}
	}
	near_path = card_path(argc - optind + 1, argv + optind - 1, 0);
	far_path = card_path(argc - optind + 1, argv + optind - 1, 1);
	if (!near_path || !far_path)
		tap_skip_all("needs two cards");
	dma_card_is(near_path);
	kernel_log = kernel_log_open();
	tap_note("seed %llu", (unsigned long long)seed);
	return TAP_RUN(cases);
}
