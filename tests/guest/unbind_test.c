// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card goes while it is in use.
 *
 *	unbind_test [-n ITERATIONS] [-s SEED] [DEVICE]
 *	unbind_test -x [DEVICE]
 *
 * Again and again: processes that map, store, load, read, write, poll, wait,
 * call and open start; at a random moment the driver is unbound (or, every
 * fourth time, the PCI device removed); each process must get ENODEV or
 * SIGBUS and end in time; then the card comes back and must work. At the end
 * the kernel must not have complained, and nothing must have leaked.
 *
 * With -x somebody outside takes the card away: the program starts the same
 * processes once, prints "running", and passes when all have ended well.
 */

/* Every step has a deadline of its own. */
#define TAP_CASE_SECONDS 7200

#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tap.h"
#include "card.h"
#include "async.h"
#include "kernel_log.h"

#define PAGE 4096ul
#define CHILD_SECONDS 60	/* from the removal to the end of a process */
#define EXTERNAL_SECONDS 120	/* how long -x waits for it */

static unsigned int iterations = 20;
static uint64_t seed = 1;
static char path[64];
static struct rfm_info info;

/* --- the processes; each returns NULL, or what went wrong -------------- */

static int card;
static volatile uint8_t *map;
static uint64_t state;	/* of the random numbers */

/* All that can be listened for on any card. */
#define EVENTS (RFM_EVENT_BIT(RFM_EVENT_UPDATE) - 1)

#define EXTENSION_CALLS 8u

/* One of the calls that need the extension block, each a good one. */
static int extension_call(unsigned int which)
{
	struct rfm_ring_map map = { .count = 0 };
	static struct rfm_counters counters;
	struct rfm_range range = { 0x1000, 64 };
	struct rfm_subscribe subscribe = {
		range, RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX | RFM_SUBSCRIBE_OWN,
		0, {},
	};
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1,
				   .silence_ns = 1000000000 };
	struct rfm_fence_wait fence = { .timeout_ms = 60000 };
	struct rfm_send_set set = { .type = RFM_EVENT_INT1 };
	struct rfm_writer writer = { .offset = 0 };
	int fd;

	switch (which) {
	case 0:
		return ioctl(card, RFM_IOC_SUBSCRIBE, &subscribe);
	case 1:
		return ioctl(card, RFM_IOC_UNSUBSCRIBE, &subscribe);
	case 2:
		fd = ioctl(card, RFM_IOC_WATCH, &watch);
		return fd < 0 ? fd : close(fd);
	case 3:
		return ioctl(card, RFM_IOC_FENCE, &fence);
	case 4:
		set.nodes[(info.node ^ 1) / 64] = 1ull << (info.node ^ 1) % 64;
		return ioctl(card, RFM_IOC_SEND_SET, &set);
	case 5:
		return ioctl(card, RFM_IOC_WRITER, &writer);
	case 6:
		return ioctl(card, RFM_IOC_COUNTERS, &counters);
	default:
		return ioctl(card, RFM_IOC_RING_MAP, &map);
	}
}

/* What a file whose card has gone answers to everything. */
static const char *all_calls_say_gone(void)
{
	struct rfm_ring_test test = { 10, 0, 0 };
	struct rfm_send send = { RFM_NODE_ALL, RFM_EVENT_INT1, 0, 0 };
	struct rfm_listen listen = { EVENTS, 0, 0, 0 };
	struct rfm_config config = { .mask = RFM_CONFIG_LED };
	struct rfm_reg reg = { .set = RFM_REGS_CONTROL, .width = 4 };
	struct rfm_event_counts counts;
	struct rfm_info now;
	uint64_t word = 0;
	unsigned int i;

	if (ioctl(card, RFM_IOC_INFO, &now) != -1 || errno != ENODEV)
		return "INFO after the end";
	if (ioctl(card, RFM_IOC_SEND, &send) != -1 || errno != ENODEV)
		return "SEND after the end";
	if (ioctl(card, RFM_IOC_LISTEN, &listen) != -1 || errno != ENODEV)
		return "LISTEN after the end";
	if (ioctl(card, RFM_IOC_RING_TEST, &test) != -1 || errno != ENODEV)
		return "RING_TEST after the end";
	if (ioctl(card, RFM_IOC_GET_CONFIG, &config) != -1 ||
	    errno != ENODEV)
		return "GET_CONFIG after the end";
	config = (struct rfm_config){ .mask = RFM_CONFIG_LED };
	if (ioctl(card, RFM_IOC_SET_CONFIG, &config) != -1 ||
	    errno != ENODEV)
		return "SET_CONFIG after the end";
	if (ioctl(card, RFM_IOC_REG, &reg) != -1 || errno != ENODEV)
		return "REG after the end";
	if (ioctl(card, RFM_IOC_EVENT_COUNTS, &counts) != -1 || errno != ENODEV)
		return "EVENT_COUNTS after the end";
	for (i = 0; i < EXTENSION_CALLS && info.features; i++)
		if (extension_call(i) != -1 || errno != ENODEV)
			return "a call of the extension after the end";
	if (pread(card, &word, 8, 0) != -1 || errno != ENODEV)
		return "pread after the end";
	if (pwrite(card, &word, 8, 0) != -1 || errno != ENODEV)
		return "pwrite after the end";
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, card, 0) != MAP_FAILED ||
	    errno != ENODEV)
		return "mmap after the end";
	return NULL;
}

/* Stores and loads all over the mapping until a signal ends it. */
static void store_for_ever(void)
{
	/* Mapped for certain, so that later only their removal can end them. */
	map[0] = 1;
	map[77 * PAGE] = 1;
	for (;;) {
		uint64_t r = random_next(&state);
		volatile uint64_t *at = (volatile uint64_t *)
			(map + (r >> 8) % (info.window_size / 8) * 8);

		if (r & 1)
			*at = r;
		else
			(void)*at;
	}
}

/* Pages that were touched before go a moment after the first SIGBUS. */
static bool soon_sigbus(volatile uint8_t *page)
{
	unsigned int tries;

	for (tries = 0; tries < 20000; tries++, sleep_ms(1))
		if (load_fault(page) == SIGBUS)
			return store_fault(page) == SIGBUS;
	return false;
}

static const char *storer(void)
{
	if (FAULT_OF(store_for_ever()) != SIGBUS)
		return "the mapping ended with another signal";
	if (!soon_sigbus(map) || !soon_sigbus(map + 77 * PAGE))
		return "an access after SIGBUS went through";
	return all_calls_say_gone();
}

static int touch(volatile uint8_t *pages)
{
	return FAULT_OF({
		pages[0] = 1;
		pages[31 * PAGE] = 1;
		(void)pages[15 * PAGE];
	});
}

/* Maps, faults and unmaps without pause. */
static const char *toucher(void)
{
	for (;;) {
		uint64_t first = random_next(&state) %
				 (info.window_size / PAGE - 32);
		void *some = mmap(NULL, 32 * PAGE, PROT_READ | PROT_WRITE,
				  MAP_SHARED, card, first * PAGE);
		int signo;

		if (some == MAP_FAILED)
			return errno == ENODEV ? all_calls_say_gone() :
						 "mmap failed otherwise";
		signo = touch(some);
		munmap(some, 32 * PAGE);
		if (signo)
			return signo == SIGBUS ? all_calls_say_gone() :
						 "another signal";
	}
}

static const char *copier(void)
{
	static uint8_t buf[65536];

	for (;;) {
		uint64_t r = random_next(&state);
		size_t len = 1 + (r >> 1) % sizeof(buf);
		off_t at = (r >> 20) % (info.window_size - sizeof(buf));
		ssize_t done = r & 1 ? pwrite(card, buf, len, at) :
				       pread(card, buf, len, at);

		if (done < 0)
			return errno == ENODEV ? all_calls_say_gone() :
						 "transfer failed otherwise";
		if (!done)
			return "transfer of nothing";
	}
}

#define MOVED (1ul << 20)	/* by each transfer of a mover */

static uint8_t *mover_buffer(void)
{
	uint8_t *buf = aligned_alloc(PAGE, 2 * MOVED);

	if (buf)
		memset(buf, 0x5a, 2 * MOVED);
	return buf;
}

/* Long transfers, which the DMA engine makes. */
static const char *mover(void)
{
	uint8_t *buf = mover_buffer();

	while (buf) {
		uint64_t r = random_next(&state);
		off_t at = (r >> 20) % (info.window_size - MOVED) & ~7ul;
		ssize_t done = r & 1 ? pwrite(card, buf + 8, MOVED, at) :
				       pread(card, buf + 8, MOVED, at);

		if (done < 0)
			return errno == ENODEV ? all_calls_say_gone() :
						 "transfer failed otherwise";
	}
	return "no memory";
}

enum { MOVERS = 32, PART = MOVED / MOVERS };

static void ring_ask(struct uring *uring, uint8_t *buf, unsigned int tag)
{
	uring_add(uring, random_next(&state) & 1 ? IORING_OP_READ :
		  IORING_OP_WRITE, card, buf + tag * PART,
		  tag % 5 ? PART : 100, tag * PAGE, tag);
}

/* Many of them at a time; all that has been asked for gets an answer. */
static const char *ring_mover(void)
{
	uint8_t *buf = mover_buffer();
	unsigned int in_flight;
	struct io_uring_cqe cqe;
	struct uring uring;
	bool gone = false;

	if (!buf || !uring_open(&uring, MOVERS))
		return "no io_uring";
	for (in_flight = 0; in_flight < MOVERS; in_flight++)
		ring_ask(&uring, buf, in_flight);
	while (in_flight) {
		if (uring_enter(&uring, 1))
			return "io_uring_enter failed";
		while (uring_next(&uring, &cqe)) {
			if (cqe.res <= 0 && cqe.res != -ENODEV) {
				errno = -cqe.res;
				return "a request failed otherwise";
			}
			gone |= cqe.res < 0;
			if (gone)
				in_flight--;
			else
				ring_ask(&uring, buf, cqe.user_data);
		}
	}
	return all_calls_say_gone();
}

/* The same by io_submit(), which tells of some failures at once. */
static const char *aio_mover(void)
{
	struct iocb iocbs[MOVERS];
	uint8_t *buf = mover_buffer();
	unsigned int i, in_flight = 0;
	aio_context_t context;
	struct io_event event;
	bool gone = false;

	if (!buf || aio_setup(MOVERS, &context))
		return "no io_submit";
	for (i = 0; i < MOVERS; i++, in_flight++) {
		aio_fill(&iocbs[i], i & 1 ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE,
			 card, buf + i * PART, PART, i * PAGE, i);
		if (aio_submit(context, &iocbs[i]) != 1)
			break;
	}
	while (in_flight) {
		if (aio_wait(context, &event) != 1)
			return "io_getevents failed";
		in_flight--;
		if (event.res == -ENODEV) {
			gone = true;
		} else if (event.res <= 0) {
			errno = -event.res;
			return "a request failed otherwise";
		}
		if (!gone && aio_submit(context, &iocbs[event.data]) == 1)
			in_flight++;
	}
	return all_calls_say_gone();
}

static int new_listener(uint32_t types, uint32_t flags)
{
	struct rfm_listen args = { types, flags, 0, 0 };

	return ioctl(card, RFM_IOC_LISTEN, &args);
}

static const char *poller(void)
{
	int fd = new_listener(EVENTS, RFM_LISTEN_NONBLOCK);
	struct pollfd pollfd = { fd, POLLIN, 0 };
	struct rfm_event events[4];

	while (fd >= 0) {
		if (poll(&pollfd, 1, -1) != 1)
			return "poll failed";
		while (read(fd, events, sizeof(events)) > 0)
			;
		if (errno == ENODEV) {
			poll(&pollfd, 1, 0);
			return pollfd.revents == (POLLHUP | POLLERR) ? NULL :
				"poll after the end";
		}
		if (errno != EAGAIN)
			return "read failed otherwise";
	}
	return errno == ENODEV ? NULL : "LISTEN failed otherwise";
}

static const char *waiter(void)
{
	int fd = new_listener(RFM_EVENT_BIT(RFM_EVENT_INT1), 0);
	struct rfm_event event;

	if (fd < 0)
		return errno == ENODEV ? NULL : "LISTEN failed otherwise";
	while (read(fd, &event, sizeof(event)) > 0)
		;
	return errno == ENODEV ? NULL : "read ended otherwise";
}

/* Sleeps in read() of a watch that has a timer. */
static const char *watcher(void)
{
	struct rfm_range range = { 0, info.memory_size };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1,
				   .silence_ns = RFM_WATCH_SILENCE_MIN };
	struct rfm_event event;
	int fd;

	if (!info.features)
		return waiter();
	fd = ioctl(card, RFM_IOC_WATCH, &watch);
	if (fd < 0)
		return errno == ENODEV ? NULL : "WATCH failed otherwise";
	while (read(fd, &event, sizeof(event)) > 0)
		;
	return errno == ENODEV ? NULL : "read of a watch ended otherwise";
}

/* Sleeps on the eventfd of a watch, of a value that nobody ever stores as a whole. */
static const char *eventfd_sleeper(void)
{
	struct rfm_range range = { 0, 8 };
	struct rfm_watch watch = { .ranges = (uintptr_t)&range, .count = 1,
				   .flags = RFM_WATCH_EVENTFD | RFM_WATCH_COMPARE,
				   .compare = RFM_COMPARE_EQUAL, .compare_width = 8,
				   .compare_mask = ~0ull, .compare_value = 0x7e57 };
	struct rfm_event event;
	eventfd_t value;
	int fd;

	if (!info.features)
		return waiter();
	watch.eventfd = eventfd(0, 0);
	fd = ioctl(card, RFM_IOC_WATCH, &watch);
	if (fd < 0)
		return errno == ENODEV ? NULL : "WATCH failed otherwise";
	while (!eventfd_read(watch.eventfd, &value))
		if (read(fd, &event, sizeof(event)) < 0)
			return errno == ENODEV ? NULL : "read of a watch ended otherwise";
	return "read of an eventfd failed";
}

static const char *caller(void)
{
	for (;;) {
		struct rfm_ring_test test = { 50, 0, 0 };
		struct rfm_send send = { RFM_NODE_ALL, RFM_EVENT_INT1, 0, 0 };
		struct rfm_info now;
		int ret, fd;

		switch (random_next(&state) >> 62) {
		case 0:
			ret = ioctl(card, RFM_IOC_INFO, &now);
			break;
		case 1:
			ret = ioctl(card, RFM_IOC_SEND, &send);
			break;
		case 2:
			fd = new_listener(EVENTS, RFM_LISTEN_DISCARD);
			ret = fd < 0 ? fd : close(fd);
			break;
		default:
			ret = ioctl(card, RFM_IOC_RING_TEST, &test);
			/* The ring may be open; that is not our affair. */
			if (ret && errno == ETIMEDOUT)
				ret = 0;
		}
		if (ret)
			return errno == ENODEV ? all_calls_say_gone() :
						 "a call failed otherwise";
	}
}

/* The same for the extension block; on a base card, as caller. */
static const char *extender(void)
{
	while (info.features) {
		unsigned int which = random_next(&state) % EXTENSION_CALLS;

		if (extension_call(which))
			return errno == ENODEV ? all_calls_say_gone() :
						 "a call failed otherwise";
	}
	return caller();
}

static const char *opener(void)
{
	struct rfm_info now;

	for (;;) {
		int fd = open(path, O_RDWR), ret;

		if (fd < 0)
			return errno == ENODEV || errno == ENXIO ||
			       errno == ENOENT ? NULL : "open failed otherwise";
		ret = ioctl(fd, RFM_IOC_INFO, &now);
		if (ret && errno != ENODEV)
			return "INFO failed otherwise";
		close(fd);
		if (ret)
			return NULL;
		/* It may be the one that has come in the place of the first. */
		if (ioctl(card, RFM_IOC_INFO, &now))
			return errno == ENODEV ? NULL : "INFO failed otherwise";
	}
}

static const struct {
	const char *name;
	const char *(*run)(void);
} kinds[] = {
	{ "storer", storer },
	{ "storer 2", storer },
	{ "toucher", toucher },
	{ "copier", copier },
	{ "mover", mover },
	{ "mover by io_uring", ring_mover },
	{ "mover by io_submit", aio_mover },
	{ "poller", poller },
	{ "waiter", waiter },
	{ "watcher", watcher },
	{ "sleeper on an eventfd", eventfd_sleeper },
	{ "caller", caller },
	{ "extender", extender },
	{ "extender 2", extender },
	{ "opener", opener },
};

#define CHILDREN ARRAY_SIZE(kinds)

/* --- the parent -------------------------------------------------------- */

static pid_t start_child(unsigned int kind, int ready)
{
	pid_t pid = fork();
	const char *wrong;

	if (pid)
		return pid;

	signal(SIGALRM, SIG_DFL);
	card = open(path, O_RDWR);
	map = card < 0 ? NULL : card_map(card, info.window_size);
	if (!map || write(ready, "r", 1) != 1) {
		tap_note("%s: cannot start: %s", kinds[kind].name,
			 strerror(errno));
		_exit(2);
	}
	errno = 0;
	state = seed * 1000 + kind + 1;
	wrong = kinds[kind].run();
	if (wrong)
		tap_note("%s: %s (%s)", kinds[kind].name, wrong,
			 strerror(errno));
	_exit(wrong != NULL);
}

/* Starts all and waits until they run. */
static bool start_children(pid_t *pids)
{
	unsigned int i, ready = 0;
	int pipes[2];
	char bytes[CHILDREN];

	if (pipe(pipes))
		return false;
	for (i = 0; i < CHILDREN; i++)
		pids[i] = start_child(i, pipes[1]);
	close(pipes[1]);
	while (ready < CHILDREN) {
		ssize_t len = read(pipes[0], bytes, sizeof(bytes));

		if (len <= 0)
			break;
		ready += len;
	}
	close(pipes[0]);
	return ready == CHILDREN;
}

/* Waits for all; says which did not end well, or not in time. */
static void end_children(pid_t *pids, unsigned int seconds)
{
	uint64_t deadline = now_ns() + seconds * 1000000000ull;
	unsigned int i;

	for (i = 0; i < CHILDREN; i++) {
		int status;
		pid_t pid;

		while (!(pid = waitpid(pids[i], &status, WNOHANG)) &&
		       now_ns() < deadline)
			sleep_ms(1);
		if (!pid) {
			CHECK(!"hangs");
			tap_note("%s did not end", kinds[i].name);
			kill(pids[i], SIGKILL);
			waitpid(pids[i], &status, 0);
		} else if (!CHECK_EQ(status, 0)) {
			tap_note("%s ended with status %#x", kinds[i].name,
				 status);
		}
	}
}

static bool write_sysfs(const char *text, const char *format, ...)
{
	char name[256];
	va_list args;
	bool good;
	int fd;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	fd = open(name, O_WRONLY);
	good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (!good)
		tap_note("%s > %s: %s", text, name, strerror(errno));
	close(fd);
	return good;
}

/* The device node of our PCI device, which may have another number now. */
static bool find_node(void)
{
	char name[128];
	struct dirent *entry;
	struct stat stat_buf;
	unsigned int tries;
	DIR *dir;

	snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s/rfm",
		 info.pci_name);
	for (tries = 0; tries < 6000; tries++, sleep_ms(10)) {
		dir = opendir(name);
		if (!dir)
			continue;
		while ((entry = readdir(dir)) && entry->d_name[0] == '.')
			;
		if (entry)
			snprintf(path, sizeof(path), "/dev/%.50s",
				 entry->d_name);
		closedir(dir);
		if (entry && !stat(path, &stat_buf))
			return true;
	}
	tap_note("no device node for %s", info.pci_name);
	return false;
}

/* After its return the card works as before. */
static void card_is_back(void)
{
	uint64_t word = random_next(&seed), seen = 0;
	int fd = open(path, O_RDWR), listener;
	volatile uint64_t *fresh;

	REQUIRE(fd >= 0);
	REQUIRE(card_info(fd, &info) == 0);
	fresh = card_map(fd, info.window_size);
	REQUIRE(fresh);
	fresh[3] = word;
	CHECK_EQ(pread(fd, &seen, 8, 24), 8);
	CHECK_EQ(seen, word);
	munmap((void *)fresh, info.window_size);
	card = fd;
	listener = new_listener(EVENTS, 0);
	CHECK(listener >= 0);
	close(listener);
	close(fd);
}

static long module_users(void)
{
	FILE *file = fopen("/sys/module/rfm/refcnt", "r");
	long users = -1;

	if (file && fscanf(file, "%ld", &users) != 1)
		users = -1;
	if (file)
		fclose(file);
	return users;
}

/* What its caches keep back for later is not lost. */
static void empty_caches(void)
{
	glob_t files;
	size_t i;
	int fd;

	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &files))
		return;
	for (i = 0; i < files.gl_pathc; i++) {
		fd = open(files.gl_pathv[i], O_WRONLY);
		/* Some are gone by now. */
		if (fd < 0 || write(fd, "1", 1) != 1)
			errno = 0;
		close(fd);
	}
	globfree(&files);
}

/* kB of memory that only the kernel can have lost. */
static long kernel_memory(void)
{
	char name[64];
	long kb, sum = 0;
	FILE *file;

	empty_caches();
	file = fopen("/proc/meminfo", "r");
	while (file && fscanf(file, "%63s %ld%*[^\n]", name, &kb) == 2)
		if (!strcmp(name, "SUnreclaim:") || !strcmp(name, "Percpu:") ||
		    !strcmp(name, "VmallocUsed:") ||
		    !strcmp(name, "PageTables:"))
			sum += kb;
	if (file)
		fclose(file);
	return sum;
}

static void one_iteration(unsigned int number)
{
	pid_t pids[CHILDREN];

	REQUIRE(start_children(pids));
	sleep_ms((random_next(&seed) >> 32) % 40);

	if (number % 4 == 3) {
		REQUIRE(write_sysfs("1", "/sys/bus/pci/devices/%s/remove",
				    info.pci_name));
		end_children(pids, CHILD_SECONDS);
		REQUIRE(write_sysfs("1", "/sys/bus/pci/rescan"));
	} else {
		REQUIRE(write_sysfs(info.pci_name,
				    "/sys/bus/pci/drivers/rfm/unbind"));
		end_children(pids, CHILD_SECONDS);
		REQUIRE(write_sysfs(info.pci_name,
				    "/sys/bus/pci/drivers/rfm/bind"));
	}
	REQUIRE(find_node());
	card_is_back();
}

static int kernel_log;

static void gone_while_in_use(void)
{
	long settled = 0, now = 0;
	unsigned int i, tries;

	for (i = 0; i < iterations && !tap_failed; i++) {
		one_iteration(i);
		if (i == iterations / 4)
			settled = kernel_memory();
		if (i % 10 == 9)
			tap_note("%u of %u", i + 1, iterations);
	}
	if (tap_failed) {
		tap_note("iteration %u, seed %llu", i,
			 (unsigned long long)seed);
		return;
	}

	/*
	 * Noise is some 60 kB; a page lost in each of 150 rounds would be 600. A
	 * kernel that looks for leaks itself keeps freed memory back for a while,
	 * and any frees some a moment later.
	 */
	for (tries = 0; tries < 40; tries++) {
		sleep_ms(500);
		now = kernel_memory();
		if (now - settled < 512)
			break;
	}
	CHECK(now - settled < 512 || !access("/sys/kernel/debug/kmemleak", F_OK));
	tap_note("kernel memory grew by %ld kB in %u iterations",
		 now - settled, iterations - iterations / 4);
}

static void removed_from_outside(void)
{
	pid_t pids[CHILDREN];

	REQUIRE(start_children(pids));
	printf("running\n");
	fflush(stdout);
	end_children(pids, EXTERNAL_SECONDS);
}

static void module_is_unused(void)
{
	unsigned int tries;

	/* The last reference to a file is dropped a moment after its end. */
	for (tries = 0; tries < 6000 && module_users() > 0; tries++)
		sleep_ms(10);
	CHECK_EQ(module_users(), 0);
}

static void kernel_did_not_complain(void)
{
	REQUIRE(kernel_log >= 0);
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

int main(int argc, char **argv)
{
	static const struct tap_case own[] = {
		TAP_CASE(gone_while_in_use),
		TAP_CASE(module_is_unused),
		TAP_CASE(kernel_did_not_complain),
	};
	static const struct tap_case external[] = {
		TAP_CASE(removed_from_outside),
		TAP_CASE(module_is_unused),
		TAP_CASE(kernel_did_not_complain),
	};
	bool outside = false;
	const char *node;
	int option, fd;

	while ((option = getopt(argc, argv, "n:s:x")) != -1) {
		switch (option) {
		case 'n':
			iterations = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			outside = true;
			break;
		default:
			fprintf(stderr, "usage: %s [-n ITERATIONS] [-s SEED] [-x] [DEVICE]\n",
				argv[0]);
			return 2;
		}
	}

	node = card_path(argc - optind + 1, argv + optind - 1, 0);
	if (!node)
		tap_skip_all("no card");
	snprintf(path, sizeof(path), "%s", node);
	fd = open(path, O_RDWR);
	if (fd < 0 || card_info(fd, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	close(fd);
	kernel_log = kernel_log_open();
	return outside ? TAP_RUN(external) : TAP_RUN(own);
}
