// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls of /dev/rfmN, right ones and damaged ones, by threads that share
 * descriptors, queues and mappings and take them from each other, and by
 * processes that are killed in the middle of a call.
 *
 * What must hold: a call fails with an error that its documentation names, and
 * does not touch what lies behind its argument; every call is seen to succeed
 * and to fail; afterwards the cards work as before, and the kernel has not
 * complained. The random numbers of a thread come from the seed, but how the
 * threads meet does not.
 */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

static unsigned int patience;
#define TAP_CASE_SECONDS	patience

#include "async.h"
#include "dice.h"
#include "kernel_log.h"
#include "tap.h"

#define CARDS		8
#define THREADS		4
#define FILES		16
#define QUEUES		32	/* descriptors of listeners and watches */
#define PLACES		16	/* for mappings, each of PLACE_SIZE bytes */
#define PLACE_SIZE	(1u << 20)
#define PAGE		4096u
#define WAIT_MS		5	/* the longest that a call is asked to wait */
#define COMPLAINTS	20	/* then it is enough */
#define REG_NTD		0x18
#define ENOUGH_CALLS	4000	/* so that chance leaves none out */

static struct {
	uint64_t seed;
	unsigned int seconds;
	uint64_t end;			/* now_ns() */
	const char *path[CARDS];
	struct rfm_config before[CARDS];
	bool closed[CARDS];		/* the ring, before */
	unsigned int cards;
} plan = { .seed = 1, .seconds = 4 };

/* Those of files are always a card's: a number that became a queue's could be waited for. */
static int files[FILES];
static _Atomic int queues[QUEUES];
static uint8_t *places;
static atomic_uint *complaints;		/* of this process and of those that it kills */
static bool has_threads = true;

/* Of each thread. */
static __thread unsigned int thread_number;
static __thread uint8_t *argument_end;	/* of an argument; the page behind it is none */
static __thread sigjmp_buf fault_back;
static __thread volatile bool fault_expected;

static struct rfm_range near_range(void)
{
	return (struct rfm_range){ below(1 << 16), 1 + below(PAGE) };
}

/* --- arguments ------------------------------------------------------------- */

static void make_send(void *at)
{
	*(struct rfm_send *)at = (struct rfm_send){
		.node = below(4) ? RFM_NODE_ALL : below(256),
		.type = below(5), .data = any() };
}

static void make_listen(void *at)
{
	*(struct rfm_listen *)at = (struct rfm_listen){
		.types = below(4) ? RFM_EVENT_BIT(below(13)) :
				    any() & RFM_EVENT_ALL & ~RFM_EVENT_WATCHED,
		.flags = RFM_LISTEN_NONBLOCK | (below(8) ? 0 : below(RFM_LISTEN_FLAGS + 1)),
		.depth = below(600),
		.record_size = below(2) * (RFM_EVENT_SIZE_VER0 + 8 * below(20)) };
}

static void make_ring_test(void *at)
{
	((struct rfm_ring_test *)at)->timeout_ms = 1 + below(WAIT_MS);
}

static void make_subscribe(void *at)
{
	*(struct rfm_subscribe *)at = (struct rfm_subscribe){
		.range = near_range(), .flags = 1 + below(RFM_SUBSCRIBE_NO_MAPS - 1) };
}

static void make_watch(void *at)
{
	static __thread struct rfm_range ranges[RFM_WATCH_RANGES_MAX];
	struct rfm_watch *args = at;
	unsigned int i;

	*args = (struct rfm_watch){
		.ranges = (uintptr_t)ranges, .count = below(8) ? 1 : 1 + below(ARRAY_SIZE(ranges)),
		.flags = RFM_WATCH_NONBLOCK | (below(2) ? RFM_WATCH_COALESCE : 0),
		.depth = below(600), .deadline_ns = below(2) * any(),
		.record_size = below(2) * (RFM_EVENT_SIZE_VER0 + 8 * below(20)) };
	for (i = 0; i < args->count; i++)
		ranges[i] = below(64) ? near_range() :
			    (struct rfm_range){ odd_number(), odd_number() };
	if (!below(4))
		args->silence_ns = RFM_WATCH_SILENCE_MIN * (1 + below(50));
	if (!below(4)) {
		args->flags |= RFM_WATCH_COMPARE;
		args->compare = 1 + below(3);
		args->compare_width = 1 << below(4);
		args->compare_offset = (ranges[0].offset + 7) & ~7ull;
		args->compare_mask = 1 + below(255);
		args->compare_value = any() & args->compare_mask;
	}
	if (!below(8)) {
		args->flags |= RFM_WATCH_EVENTFD;
		args->eventfd = below(4) ? queues[below(QUEUES)] : (int)below(64);
	}
}

static void make_fence(void *at)
{
	((struct rfm_fence_wait *)at)->timeout_ms = 1 + below(WAIT_MS);
}

static void make_send_set(void *at)
{
	*(struct rfm_send_set *)at = (struct rfm_send_set){
		.nodes = { 1ull << below(64) }, .type = below(5), .data = any() };
}

static void make_config(void *at)
{
	*(struct rfm_config *)at = (struct rfm_config){
		.mask = 1u << below(10), .on = any() & RFM_CONFIG_ALL & ~RFM_CONFIG_OWN_DATA,
		.window_offset = below(4) * (8ull << 20), .address_offset = below(4) << 26 };
}

static void make_writer(void *at)
{
	((struct rfm_writer *)at)->offset = below(1 << 16);
}

static void make_ring_map(void *at)
{
	*(struct rfm_ring_map *)at = (struct rfm_ring_map){
		.members = (uintptr_t)places + below((PLACES - 1) * PLACE_SIZE),
		.count = below(RFM_NODES + 1) };
}

static void make_verify(void *at)
{
	*(struct rfm_verify *)at = (struct rfm_verify){
		.offset = below(1 << 16), .length = 1 + below(RFM_VERIFY_MAX),
		.timeout_ms = 1 + below(WAIT_MS) };
}

/* Of several nodes there is none; a READ writes into our places. */
static void make_remote(void *at)
{
	struct rfm_operation *args = at;
	const bool word = below(2);

	*args = (struct rfm_operation){
		.op = word ? RFM_OP_CAS + below(2) : below(2) ? RFM_OP_READ + below(2) : RFM_OP_SEND,
		.node = below(4), .timeout_ms = 1 + below(WAIT_MS), .key = below(4) ? 0 : any() };
	if (word) {
		args->width = 4 + 4 * below(2);
		args->offset = below(PAGE / 8) * 8;
		args->compare = below(2);
		args->value = below(2);
		return;
	}
	args->data = (uintptr_t)places + below((PLACES - 1) * PLACE_SIZE);
	args->length = 1 + below(PAGE);
	if (args->op == RFM_OP_SEND)
		args->key = below(8);
	else
		args->offset = below(PAGE);
}

static void make_resync(void *at)
{
	*(struct rfm_resync_wait *)at = (struct rfm_resync_wait){
		.node = below(2) ? RFM_NODE_ALL : below(4), .timeout_ms = 1 + below(WAIT_MS) };
}

static void make_port(void *at)
{
	*(struct rfm_port_listen *)at = (struct rfm_port_listen){
		.port = below(8), .flags = RFM_PORT_NONBLOCK, .depth = below(20),
		.length_max = below(2) * (1 + below(PAGE)),
		.header_size = below(2) * (RFM_MESSAGE_SIZE_VER0 + 8 * below(4)) };
}

static void make_region(void *at)
{
	*(struct rfm_memory_region *)at = (struct rfm_memory_region){
		.address = (uintptr_t)places + below((PLACES - 1) * PLACE_SIZE),
		.length = 1 + below(4 * PAGE),
		.flags = (1 + below(RFM_MEMORY_RIGHTS)) | RFM_MEMORY_NONBLOCK };
	if (below(2)) {
		((struct rfm_memory_region *)at)->flags |= RFM_MEMORY_WATCH;
		((struct rfm_memory_region *)at)->depth = below(600);
	}
}

static void make_export(void *at)
{
	*(struct rfm_export *)at = (struct rfm_export){
		.range = below(2) ? near_range() : (struct rfm_range){ 0, 2 * PAGE },
		.rights = below(RFM_EXPORT_RIGHTS + 1) };
}

/* Reads any register, and writes the data of an interrupt that is not sent by that. */
static void make_reg(void *at)
{
	struct rfm_reg *args = at;

	*args = (struct rfm_reg){ .set = below(2), .width = 1u << below(3) };
	args->offset = below(args->set ? 0x40 : 0x200) & -args->width;
	if (!below(4)) {
		args->set = RFM_REGS_CONTROL;
		args->offset = REG_NTD;
		args->mask = any() & (args->width == 4 ? UINT32_MAX : (1u << 8 * args->width) - 1);
		args->value = any() & args->mask;
	}
}

/* What a call of its documentation may fail with, beside what any may. */
#define ANY_ERROR	EFAULT, EINVAL, EBADF, EOPNOTSUPP
#define CALL(call, argument, how, ...) {						\
		.name = #call, .request = RFM_IOC_##call, .size = sizeof(struct argument),	\
		.make = how, .errors = { ANY_ERROR, ##__VA_ARGS__ } }

/* How an operation at one node ends. */
#define ENDS	EHOSTUNREACH, EACCES, EBUSY, ENOLINK, EREMOTEIO, ETIMEDOUT, EINTR, EIO, ENOMEM

static struct call {
	const char *name;
	unsigned long request;
	size_t size;
	void (*make)(void *at);		/* a right one, where all bytes were 0 */
	int errors[20];
	atomic_ulong good, bad;
} calls[] = {
	CALL(INFO, rfm_info, NULL),
	CALL(SEND, rfm_send, make_send),
	CALL(LISTEN, rfm_listen, make_listen, EBUSY, ENOSPC, EIO, EMFILE),
	CALL(RING_TEST, rfm_ring_test, make_ring_test, ETIMEDOUT, EINTR),
	CALL(SUBSCRIBE, rfm_subscribe, make_subscribe, ENOSPC, EUSERS, EIO),
	CALL(UNSUBSCRIBE, rfm_subscribe, make_subscribe, ENOSPC, EUSERS, EIO),
	CALL(WATCH, rfm_watch, make_watch, ENOSPC, EUSERS, EIO, EMFILE),
	CALL(FENCE, rfm_fence_wait, make_fence, ETIMEDOUT, EINTR),
	CALL(SEND_SET, rfm_send_set, make_send_set),
	CALL(GET_CONFIG, rfm_config, NULL),
	CALL(SET_CONFIG, rfm_config, make_config, EBUSY, EIO, EINTR),
	CALL(WRITER, rfm_writer, make_writer),
	CALL(COUNTERS, rfm_counters, NULL),
	CALL(RING_MAP, rfm_ring_map, make_ring_map),
	CALL(VERIFY, rfm_verify, make_verify, ETIMEDOUT, EINTR, ENOBUFS),
	CALL(REG, rfm_reg, make_reg),
	CALL(EVENT_COUNTS, rfm_event_counts, NULL),
	CALL(REMOTE, rfm_operation, make_remote, ENDS, EMSGSIZE, ECONNREFUSED),
	CALL(RESYNC, rfm_resync_wait, make_resync, ENDS, ENODATA, EALREADY),
	CALL(PORT, rfm_port_listen, make_port, EADDRINUSE, ENOSPC, EREMOTEIO, EIO, EMFILE),
	CALL(REGION, rfm_memory_region, make_region, ENOBUFS, ENOSPC, EIO, ENOMEM, EREMOTEIO, EMFILE),
	CALL(EXPORT, rfm_export, make_export, ENOSPC, EUSERS, EIO),
};

#define complain(...) do {	\
	tap_note(__VA_ARGS__);	\
	++*complaints;		\
} while (0)

static bool known_error(const int *errors, unsigned int count, int error)
{
	while (count--)
		if (errors[count] == error)
			return true;
	return false;
}

/* A word of it becomes another, or a bit. A time stays short, or is 0: half a second, or one. */
static void damage(uint8_t *at, const struct call *call)
{
	struct rfm_ring_map *map = (struct rfm_ring_map *)at;
	size_t size = below(2) ? 4 : 8;
	uint64_t word = odd_number();

	if (below(4))
		memcpy(at + below(call->size / size) * size, &word, size);
	else
		at[below(call->size)] ^= 1 << below(8);
	if (call->make == make_ring_test || call->make == make_fence)
		*(uint32_t *)at %= WAIT_MS;
	if (call->make == make_verify)
		((struct rfm_verify *)at)->timeout_ms %= WAIT_MS;
	/* The registers reach all memory of this machine: nothing else is written to. */
	if (call->make == make_reg && (((struct rfm_reg *)at)->set != RFM_REGS_CONTROL ||
				       (((struct rfm_reg *)at)->offset & ~3u) != REG_NTD))
		((struct rfm_reg *)at)->mask = 0;
	/* The kernel writes behind this pointer: it may not become one to a stack of ours. */
	if (call->make == make_ring_map &&
	    map->members - (uintptr_t)places >= (PLACES - 1) * PLACE_SIZE)
		map->members |= 1ull << 63;
	if (call->make == make_remote) {
		struct rfm_operation *operation = (void *)at;

		operation->timeout_ms = 1 + operation->timeout_ms % WAIT_MS;
		if (operation->length > PAGE ||
		    operation->data - (uintptr_t)places >= (PLACES - 1) * PLACE_SIZE)
			operation->data |= 1ull << 63;
	}
	if (call->make == make_resync)
		((struct rfm_resync_wait *)at)->timeout_ms = 1 + below(WAIT_MS);
	if (call->make == make_port)
		((struct rfm_port_listen *)at)->flags |= RFM_PORT_NONBLOCK;
	if (call->make == make_region)
		((struct rfm_memory_region *)at)->flags |= RFM_MEMORY_NONBLOCK;
	if (call->make == make_listen)
		((struct rfm_listen *)at)->flags |= RFM_LISTEN_NONBLOCK;
	if (call->make == make_watch)
		((struct rfm_watch *)at)->flags |= RFM_WATCH_NONBLOCK;
	if (call->make == make_config && below(2))
		((struct rfm_config *)at)->mask &= RFM_CONFIG_ALL;
}

/* A new descriptor takes the place of another queue. */
static void keep(_Atomic int *place, int fd)
{
	int old = atomic_exchange(place, fd);

	if (old >= 0)
		close(old);
}

static void one_call(void)
{
	struct call *call = &calls[below(ARRAY_SIZE(calls))];
	uint8_t *at = argument_end - call->size;
	bool outside = !below(16);
	int ret;

	memset(at, 0, call->size);
	if (call->make)
		call->make(at);
	if (!below(3))
		damage(at, call);
	if (outside)		/* its end is in no memory */
		at += 1 + below(call->size - 1);
	ret = ioctl(files[below(FILES)], call->request, below(16) ? at : (void *)odd_number());
	if (ret >= 0)
		call->good++;
	else
		call->bad++;
	if (ret >= 0 && outside)
		complain("%s: took an argument that is not all in memory", call->name);
	if (ret < 0 && !known_error(call->errors, ARRAY_SIZE(call->errors), errno))
		complain("%s: %s", call->name, strerror(errno));
	if (ret >= 0 && (call->make == make_listen || call->make == make_watch ||
			 call->make == make_port || call->make == make_region))
		keep(&queues[below(QUEUES)], ret);
}

/* Of another number or direction, whatever the size: nothing of ours. */
static void no_call(void)
{
	unsigned long request = _IOC(below(4), RFM_IOC_MAGIC, below(256), below(1 << 13));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		if (!((calls[i].request ^ request) & ~(unsigned long)IOCSIZE_MASK))
			return;
	if (ioctl(files[below(FILES)], request, argument_end - 8) != -1 || errno != ENOTTY)
		complain("ioctl %#lx: %s", request, strerror(errno));
}

/* --- files and queues ------------------------------------------------------ */

static void any_open(void)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	int fd = open(plan.path[below(plan.cards)], modes[below(4)] | O_CLOEXEC);

	if (fd < 0 || dup3(fd, files[below(FILES)], O_CLOEXEC) < 0)
		complain("open: %s", strerror(errno));
	close(fd);
}

static void any_queue(void)
{
	_Atomic int *place = &queues[below(QUEUES)];
	struct pollfd poll_fd = { *place, POLLIN, 0 };
	struct rfm_event events[8];

	switch (below(8)) {
	case 0:
		keep(place, -1);
		return;
	case 1:
		keep(place, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		return;
	default:
		poll(&poll_fd, 1, 0);
		if (poll_fd.revents & POLLIN &&
		    read(poll_fd.fd, events, below(8) ? sizeof(events) : below(300)) < 0 &&
		    errno != EAGAIN && errno != EINVAL && errno != EBADF && errno != EIO &&
		    errno != EMSGSIZE)
			complain("read of a queue: %s", strerror(errno));
	}
}

/* --- mappings -------------------------------------------------------------- */

static void fault(int signo)
{
	if (!fault_expected) {
		signal(signo, SIG_DFL);
		return;
	}
	siglongjmp(fault_back, 1);
}

/* Stores, loads; or neither, where another thread has just unmapped it. */
static void touch(volatile uint8_t *at)
{
	if (!sigsetjmp(fault_back, 1)) {
		fault_expected = true;
		if (below(2))
			*at;
		else
			*at = any();
	}
	fault_expected = false;
}

/*
 * A mapping that is refused leaves a hole in its place; nobody may get that
 * from the kernel for something else before it is filled. A process that is
 * born while this is held waits until it is killed.
 */
static pthread_mutex_t no_holes = PTHREAD_MUTEX_INITIALIZER;

static void any_mmap(uint8_t *place, size_t length)
{
	static const int errors[] = { EINVAL, EACCES, EPERM, EBADF, EUSERS, ENXIO, EOVERFLOW,
				      EOPNOTSUPP, ENODEV };
	uint64_t offset = below(8) ? below(512) * PAGE : odd_number() & ~(PAGE - 1ull);
	void *got;

	/* Whatever is stored there: not into registers. */
	if (offset == RFM_MAP_RUNTIME || offset == RFM_MAP_CONTROL)
		return;
	pthread_mutex_lock(&no_holes);
	got = mmap(place, length, below(8) ? PROT_READ | below(2) * PROT_WRITE : below(8),
		   (below(8) ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED, files[below(FILES)],
		   offset);
	if (got == MAP_FAILED && !known_error(errors, ARRAY_SIZE(errors), errno))
		complain("mmap: %s", strerror(errno));
	if (got == MAP_FAILED || !below(4))
		mmap(place, length, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	pthread_mutex_unlock(&no_holes);
}

static void any_mapping(void)
{
	uint8_t *place = places + below(PLACES) * PLACE_SIZE;
	size_t length = (1 + below(PLACE_SIZE / PAGE)) * PAGE;

	switch (below(8)) {
	case 0: case 1: case 2:
		any_mmap(place, length);
		break;
	case 3:
		mprotect(place, length, below(8));
		break;
	case 4:		/* this leaves a hole, too */
		if (has_threads)
			break;
		mremap(place, length, (1 + below(PLACE_SIZE / PAGE)) * PAGE,
		       below(2) ? MREMAP_MAYMOVE | MREMAP_FIXED : 0,
		       places + below(PLACES) * PLACE_SIZE);
		break;
	case 5:
		madvise(place, length, below(26));
		break;
	default:
		touch(place + below(length));
	}
}

/* --- transfers ------------------------------------------------------------- */

/* A place for bytes: of a card, of this process, or of nobody. */
static struct iovec any_buffer(void)
{
	size_t from = below(PLACE_SIZE), length = below(1u << (6 + below(15)));

	if (below(2))
		from &= ~7ul, length &= ~7ul;
	return (struct iovec){ places + below(PLACES - 1) * PLACE_SIZE + from, length };
}

/*
 * Two reads under way never write the same bytes: as with O_DIRECT on a disk
 * that is the program's mistake, and a kernel that checks DMA complains. Each
 * thread reads into places of its own; a request is one of READS at a time.
 */
#define READS		8
#define READ_SIZE	(PLACES * PLACE_SIZE / THREADS / READS)

static struct iovec read_buffer(unsigned int request)
{
	uint8_t *at = places + (thread_number * READS + request) * READ_SIZE;
	struct iovec buffer = any_buffer();
	size_t from = (uintptr_t)buffer.iov_base % (READ_SIZE / 2);

	return (struct iovec){ at + from, buffer.iov_len % (READ_SIZE / 2) };
}

static off_t any_place(void)
{
	return below(16) ? below(1 << 21) & (below(2) ? ~7 : ~0) : odd_number();
}

static void any_transfer(void)
{
	static const int errors[] = { EFAULT, EINVAL, EBADF, EAGAIN, EINTR, ENOSPC, EOPNOTSUPP,
				      ENOBUFS };
	struct iovec from[] = { any_buffer(), any_buffer(), any_buffer() };
	struct iovec to[] = { read_buffer(0), read_buffer(1), read_buffer(2) };
	int fd = files[below(FILES)], flags = below(4) ? 0 : RWF_NOWAIT;
	unsigned int count = 1 + below(3);
	ssize_t ret;

	if (below(2))
		ret = preadv2(fd, to, count, any_place(), flags);
	else
		ret = pwritev2(fd, from, count, any_place(), flags);
	if (ret < 0 && !known_error(errors, ARRAY_SIZE(errors), errno))
		complain("a transfer: %s", strerror(errno));
	if (!below(16))
		lseek(fd, odd_number(), below(5));
}

/* A few at once; what they did to the buffers nobody asks. */
static void any_requests(void)
{
	struct io_uring_cqe completion;
	struct uring uring;
	unsigned int count = 1 + below(READS), i;
	bool open, reads = false;

	pthread_mutex_lock(&no_holes);
	open = uring_open(&uring, 8);
	pthread_mutex_unlock(&no_holes);
	if (!open)
		return;
	for (i = 0; i < count; i++) {
		bool read = below(2);
		struct iovec buffer = read ? read_buffer(i) : any_buffer();

		reads |= read;
		uring_add(&uring, read ? IORING_OP_READ : IORING_OP_WRITE,
			  files[below(FILES)], buffer.iov_base, buffer.iov_len, any_place(), i);
		if (!below(4))
			uring_link(&uring);
	}
	if (uring_enter(&uring, 0) == 0) {
		/* Some die while their memory is read into; some leave writes behind. */
		if (reads && !has_threads && !below(4))
			raise(SIGKILL);
		if (reads || below(4))
			for (i = 0; i < count && uring_wait(&uring, &completion); i++)
				;
	}
	uring_close(&uring);
}

/* --- who does it ----------------------------------------------------------- */

static void one_step(void)
{
	switch (below(16)) {
	case 0: any_open(); break;
	case 1: any_requests(); break;
	case 2: no_call(); break;
	case 3: case 4: any_queue(); break;
	case 5: case 6: case 7: any_mapping(); break;
	case 8: case 9: any_transfer(); break;
	default: one_call(); break;
	}
}

/* Lives for some milliseconds, and dies in whatever it does then. */
static void short_life(void)
{
	struct itimerval time = { .it_value.tv_usec = 1 + below(20000) };
	uint64_t its_dice = any();
	pid_t child = fork();

	if (!child) {
		dice = its_dice;
		has_threads = false;
		signal(SIGALRM, SIG_DFL);
		setitimer(ITIMER_REAL, &time, NULL);
		for (;;)
			one_step();
	}
	if (child < 0 || waitpid(child, NULL, 0) != child)
		complain("fork: %s", strerror(errno));
}

static void *at_work(void *argument)
{
	uint8_t *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + 3 * PAGE, PAGE, PROT_NONE)) {
		complain("mmap: %s", strerror(errno));
		return NULL;
	}
	thread_number = (uintptr_t)argument;
	argument_end = pages + 3 * PAGE;
	dice = (plan.seed * THREADS + thread_number + 1) * 0x9e3779b97f4a7c15ull;
	while (now_ns() < plan.end && *complaints < COMPLAINTS) {
		if (thread_number)
			one_step();
		else
			short_life();
	}
	return NULL;
}

/* --- cases ----------------------------------------------------------------- */

static int kernel_log = -1;

static bool ring_is_closed(int card)
{
	struct rfm_ring_test test = { .timeout_ms = 10000 };	/* as long as can be: the host may be busy */

	return ioctl(card, RFM_IOC_RING_TEST, &test) == 0;
}

static void errors_are_those_documented(void)
{
	pthread_t thread[THREADS];
	unsigned int i;

	places = mmap(NULL, PLACES * PLACE_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	complaints = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(places != MAP_FAILED && complaints != MAP_FAILED);
	signal(SIGSEGV, fault);
	signal(SIGBUS, fault);
	dice = plan.seed;
	for (i = 0; i < QUEUES; i++)
		queues[i] = -1;
	for (i = 0; i < FILES; i++)
		REQUIRE((files[i] = open(plan.path[i % plan.cards], O_RDWR | O_CLOEXEC)) >= 0);
	plan.end = now_ns() + plan.seconds * 1000000000ull;
	for (i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&thread[i], NULL, at_work, (void *)(uintptr_t)i));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ(*complaints, 0);
	for (i = 0; i < FILES; i++)
		close(files[i]);
	for (i = 0; i < QUEUES; i++)
		keep(&queues[i], -1);
	munmap(places, PLACES * PLACE_SIZE);
}

static void nothing_was_left_out(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		tap_note("%s: %lu taken, %lu refused", calls[i].name, calls[i].good, calls[i].bad);
		sum += calls[i].good + calls[i].bad;
	}
	if (sum < ENOUGH_CALLS) {
		tap_skip("too few calls");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		CHECK(calls[i].good > 0 && calls[i].bad > 0);
}

static void cards_work_as_before(void)
{
	struct rfm_info info;
	int card[CARDS];
	unsigned int i;

	for (i = 0; i < plan.cards; i++) {
		struct rfm_config config = plan.before[i];
		int ret;

		card[i] = open(plan.path[i], O_RDWR | O_CLOEXEC);
		REQUIRE(card[i] >= 0);
		config.on &= ~RFM_CONFIG_OWN_DATA;
		/* Requests that nobody waited for may still be moved. */
		while ((ret = ioctl(card[i], RFM_IOC_SET_CONFIG, &config)) &&
		       errno == EBUSY && now_ns() < plan.end + PATIENCE_NS)
			sleep_ms(10);
		CHECK_EQ(ret, 0);
	}
	for (i = 0; i < plan.cards; i++) {
		/* The light of a card that was off comes back some time after the call. */
		while (plan.closed[i] && !ring_is_closed(card[i]) && now_ns() < plan.end + PATIENCE_NS)
			sleep_ms(10);
		CHECK_EQ(ring_is_closed(card[i]), plan.closed[i]);
		CHECK_EQ(ioctl(card[i], RFM_IOC_INFO, &info), 0);
		CHECK_EQ(info.watches, 0);
		close(card[i]);
	}
}

static void kernel_is_quiet(void)
{
	CHECK_EQ(kernel_log_complaints(kernel_log), 0);
}

static const struct tap_case cases[] = {
	TAP_CASE(errors_are_those_documented),
	TAP_CASE(nothing_was_left_out),
	TAP_CASE(cards_work_as_before),
	TAP_CASE(kernel_is_quiet),
};

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "s:t:")) != -1)
		switch (option) {
		case 's': plan.seed = strtoull(optarg, NULL, 0); break;
		case 't': plan.seconds = strtoul(optarg, NULL, 0); break;
		default:
			fprintf(stderr, "usage: %s [-s SEED] [-t SECONDS] DEVICE...\n", argv[0]);
			return TAP_FAIL;
		}
	patience = plan.seconds + 240;
	kernel_log = kernel_log_open();
	for (; plan.cards < CARDS && optind < argc; plan.cards++, optind++) {
		unsigned int i = plan.cards;
		int card = open(argv[optind], O_RDWR | O_CLOEXEC);

		plan.path[i] = argv[optind];
		if (card < 0 || ioctl(card, RFM_IOC_GET_CONFIG, &plan.before[i])) {
			fprintf(stderr, "%s: %s\n", argv[optind], strerror(errno));
			return TAP_FAIL;
		}
		plan.closed[i] = ring_is_closed(card);
		close(card);
	}
	if (!plan.cards)
		tap_skip_all("no card");
	tap_note("seed %llu", (unsigned long long)plan.seed);
	return TAP_RUN(cases);
}
