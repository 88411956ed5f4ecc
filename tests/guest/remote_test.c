// SPDX-License-Identifier: GPL-2.0-only
/*
 * REMOTE, PORT, REGION, EXPORT: what they do, what they refuse, and how they end.
 *
 *	remote_test NEAR FAR
 *	remote_test -g NEAR FAR
 *
 * Two cards that are a ring of their own; see pair.h. With -g somebody outside takes NEAR
 * away once the program has printed "running": all that waits must end with ENODEV.
 */

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "async.h"
#include "pair.h"

#define PLACE	0x300000ull
#define PORT	4711u
#define BYTES	(1u << 20)

static int export(int fd, uint64_t offset, uint64_t length, uint32_t rights)
{
	struct rfm_export args = {
		.range = { offset, length }, .rights = rights,
	};

	return ioctl(fd, RFM_IOC_EXPORT, &args);
}

static int bytes(int fd, uint32_t op, uint32_t node, uint32_t key, uint64_t offset,
		 void *data, uint32_t length)
{
	struct rfm_operation args = {
		.op = op, .node = node, .key = key, .offset = offset,
		.data = (uintptr_t)data, .length = length,
	};

	return ioctl(fd, RFM_IOC_REMOTE, &args);
}

/* @old: set on success only */
static int word(int fd, uint32_t op, uint32_t node, uint32_t key, uint64_t offset, uint32_t width,
		uint64_t compare, uint64_t value, uint64_t *old)
{
	struct rfm_operation args = {
		.op = op, .node = node, .key = key, .width = width, .offset = offset,
		.compare = compare, .value = value,
	};
	int ret = ioctl(fd, RFM_IOC_REMOTE, &args);

	if (!ret)
		*old = args.old;
	return ret;
}

static int listen_at(int fd, uint32_t port, uint32_t depth, uint32_t length_max)
{
	struct rfm_port_listen args = {
		.port = port, .depth = depth, .length_max = length_max,
		.flags = RFM_PORT_NONBLOCK | RFM_PORT_CLOEXEC,
	};

	return ioctl(fd, RFM_IOC_PORT, &args);
}

/* One message, waited for; its length, or -1. */
static ssize_t receive(int port, void *data, size_t size, struct rfm_message_header *header)
{
	struct pollfd fd = { .fd = port, .events = POLLIN };
	static char buffer[sizeof(*header) + BYTES];
	ssize_t got;

	if (poll(&fd, 1, PATIENCE_MS) != 1)
		return -1;
	got = read(port, buffer, sizeof(*header) + size);
	if (got < (ssize_t)sizeof(*header))
		return -1;
	memcpy(header, buffer, sizeof(*header));
	memcpy(data, buffer + sizeof(*header), got - sizeof(*header));
	return got - sizeof(*header);
}

static void fill(uint8_t *data, size_t length, uint64_t seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		data[i] = random_next(&seed) >> 56;
}

static uint8_t data[BYTES], back[BYTES];

/* --- bytes ------------------------------------------------------------------------ */

static void of_all_sizes(void)
{
	static const uint32_t sizes[] = {
		1, 3, 8, 63, 64, 65, 1000, 2048, 4095, 4096, 4097, 65537, BYTES - 1, BYTES,
	};
	uint32_t far = pair.far_info.node;
	unsigned int i;

	REQUIRE(!export(pair.far, PLACE, BYTES + 4096, RFM_EXPORT_READ | RFM_EXPORT_WRITE));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t at = PLACE + i % 8;

		fill(data, sizes[i], i + 1);
		memset(back, 0xa5, sizeof(back));
		if (!CHECK(!bytes(pair.near, RFM_OP_WRITE, far, 0, at, data, sizes[i])) ||
		    !CHECK(!bytes(pair.near, RFM_OP_READ, far, 0, at, back, sizes[i])) ||
		    !CHECK(!memcmp(data, back, sizes[i])) ||
		    !CHECK(sizes[i] == BYTES || back[sizes[i]] == 0xa5))
			tap_note("%u bytes: %s", sizes[i], strerror(errno));
		REQUIRE(pread(pair.far, back, sizes[i], at) == (ssize_t)sizes[i]);
		CHECK(!memcmp(data, back, sizes[i]));
		/* At the node that has asked nothing has changed. */
		REQUIRE(pread(pair.near, back, sizes[i], at) == (ssize_t)sizes[i]);
		CHECK(sizes[i] < 8 || memcmp(data, back, sizes[i]));
	}
	REQUIRE(!export(pair.far, PLACE, BYTES + 4096, 0));
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, 0, PLACE, back, 8), EACCES);
}

/* What was stored before is there before it is read there; and the node may be this one. */
static void behind_what_was_stored(void)
{
	uint64_t value;
	unsigned int i;

	REQUIRE(!export(pair.far, PLACE, 64, RFM_EXPORT_READ));
	REQUIRE(!export(pair.near, PLACE, 64, RFM_EXPORT_READ));
	for (i = 0; i < 200 && !tap_failed; i++) {
		CHECK(word_put(pair.near, PLACE, ++pair.value));
		CHECK(!bytes(pair.near, RFM_OP_READ, pair.far_info.node, 0, PLACE, &value, 8));
		CHECK_EQ(value, pair.value);
		CHECK(!bytes(pair.near, RFM_OP_READ, pair.info.node, 0, PLACE, &value, 8));
		CHECK_EQ(value, pair.value);
	}
	export(pair.far, PLACE, 64, 0);
	export(pair.near, PLACE, 64, 0);
}

/* --- words ------------------------------------------------------------------------ */

static void words_are_changed_everywhere(void)
{
	uint32_t far = pair.far_info.node;
	uint64_t old = 0;

	REQUIRE(word_put(pair.far, PLACE, 0x1122334455667788ull));
	REQUIRE(fence(pair.far));
	CHECK_ERRNO(word(pair.near, RFM_OP_ADD, far, 0, PLACE, 8, 0, 1, &old), EACCES);
	REQUIRE(!export(pair.far, PLACE, 64, RFM_EXPORT_HOME));
	/* Home is not for plain reading and writing. */
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, 0, PLACE, back, 8), EACCES);

	CHECK(!word(pair.near, RFM_OP_CAS, far, 0, PLACE, 8, 0x1122334455667788ull, 7, &old));
	CHECK_EQ(old, 0x1122334455667788ull);
	/* It is here when the call returns, and not a moment later. */
	CHECK_EQ(word_get(pair.near, PLACE), 7);
	CHECK(!word(pair.near, RFM_OP_CAS, far, 0, PLACE, 8, 8, 9, &old));
	CHECK_EQ(old, 7);
	CHECK_EQ(word_get(pair.near, PLACE), 7);
	CHECK(!word(pair.near, RFM_OP_ADD, far, 0, PLACE, 4, 0, 0xffffffff, &old));
	CHECK_EQ(old, 7);
	CHECK_EQ(word_get(pair.near, PLACE), 6);
	CHECK_EQ(word_get(pair.far, PLACE), 6);
	/* Also at the home itself. */
	CHECK(!word(pair.far, RFM_OP_ADD, far, 0, PLACE, 8, 0, 1, &old));
	CHECK_EQ(old, 6);
	CHECK_ERRNO(word(pair.near, RFM_OP_ADD, far, 0, PLACE + 4, 8, 0, 1, &old), EINVAL);
	export(pair.far, PLACE, 64, 0);
}

enum { THREADS = 8, ADDS = 200 };

static void *add_often(void *arg)
{
	uint32_t far = pair.far_info.node;
	uint64_t old;
	unsigned int i;

	for (i = 0; i < ADDS; i++)
		if (word(*(int *)arg, RFM_OP_ADD, far, 0, PLACE, 8, 0, 1, &old))
			return "an ADD has failed";
	return NULL;
}

static void nothing_is_added_twice(void)
{
	pthread_t threads[THREADS];
	unsigned int i;
	void *failed;

	REQUIRE(!export(pair.far, PLACE, 64, RFM_EXPORT_HOME));
	REQUIRE(word_put(pair.far, PLACE, 0));
	REQUIRE(fence(pair.far));
	for (i = 0; i < THREADS; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, add_often,
					i % 2 ? &pair.near : &pair.far));
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		CHECK(!failed);
	}
	CHECK_EQ(word_get(pair.far, PLACE), THREADS * ADDS);
	export(pair.far, PLACE, 64, 0);
}

/* --- what is refused ----------------------------------------------------------------- */

static void refusals(void)
{
	uint32_t far = pair.far_info.node;
	const struct rfm_operation bad[] = {
		{ .op = 0, .node = far, .data = 1, .length = 1 },
		{ .op = 5, .node = far, .data = 1, .length = 1 },
		{ .op = 16, .node = far },
		{ .op = RFM_OP_READ, .node = 256, .data = 1, .length = 1 },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = 0 },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = BYTES + 1 },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = 1, .width = 4 },
		{ .op = RFM_OP_WRITE, .node = far, .data = 1, .length = 1, .compare = 1 },
		{ .op = RFM_OP_WRITE, .node = far, .data = 1, .length = 1, .value = 1 },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = 1, .old = 1 },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = 1, .reserved = { 0, 1 } },
		{ .op = RFM_OP_READ, .node = far, .data = 1, .length = 1, .timeout_ms = 60001 },
		{ .op = RFM_OP_SEND, .node = far, .data = 1, .length = 1, .key = RFM_PORTS },
		{ .op = RFM_OP_SEND, .node = far, .data = 1, .length = 1, .offset = 8 },
		{ .op = RFM_OP_CAS, .node = far, .width = 2 },
		{ .op = RFM_OP_CAS, .node = far, .width = 4, .data = 1 },
		{ .op = RFM_OP_CAS, .node = far, .width = 4, .length = 1 },
		{ .op = RFM_OP_CAS, .node = far, .width = 4, .compare = 1ull << 32 },
		{ .op = RFM_OP_ADD, .node = far, .width = 4, .value = 1ull << 32 },
		{ .op = RFM_OP_ADD, .node = far, .width = 8, .compare = 1 },
	};
	struct rfm_operation args;
	int reader = open(pair.path, O_RDONLY), writer = open(pair.path, O_WRONLY);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i];
		if (!CHECK_REFUSED(pair.near, RFM_IOC_REMOTE, args, EINVAL))
			tap_note("operation %u", i);
	}
	check_bad_pointers(pair.near, RFM_IOC_REMOTE, "REMOTE");
	CHECK_ERRNO(bytes(pair.near, RFM_OP_WRITE, far, 0, PLACE, (void *)8, 8), EFAULT);
	CHECK_ERRNO(bytes(reader, RFM_OP_WRITE, far, 0, PLACE, data, 8), EBADF);
	CHECK_ERRNO(bytes(reader, RFM_OP_SEND, far, PORT, 0, data, 8), EBADF);
	CHECK_ERRNO(bytes(writer, RFM_OP_READ, far, 0, PLACE, back, 8), EBADF);
	close(reader);
	close(writer);

	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, 250, 0, PLACE, back, 8), EHOSTUNREACH);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, 0, PLACE, back, 8), EACCES);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, 12345, 0, back, 8), EACCES);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, 8), ECONNREFUSED);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, 0, 1ull << 40, back, 8), EINVAL);
}

static void other_calls_refuse(void)
{
	struct rfm_port_listen port = { .port = RFM_PORTS };
	struct rfm_memory_region region = { .address = (uintptr_t)data, .length = 64 };
	struct rfm_export export_args = { .range = { 0, 0 }, .rights = 1 };
	struct rfm_resync_wait resync = { .node = RFM_NODES };

	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, EINVAL);
	port = (struct rfm_port_listen){ .port = PORT, .depth = RFM_PORT_DEPTH_MAX + 1 };
	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, EINVAL);
	port = (struct rfm_port_listen){ .port = PORT, .length_max = BYTES + 1 };
	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, EINVAL);
	port = (struct rfm_port_listen){ .port = PORT, .header_size = 12 };
	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, EINVAL);
	port = (struct rfm_port_listen){ .port = PORT, .pad = 1 };
	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, EINVAL);
	/* No message is dropped, so there is a bound to what may wait. */
	port = (struct rfm_port_listen){ .port = PORT, .depth = 1024, .length_max = BYTES };
	CHECK_REFUSED(pair.near, RFM_IOC_PORT, port, ENOSPC);

	CHECK_REFUSED(pair.near, RFM_IOC_REGION, region, EINVAL);
	region.flags = RFM_MEMORY_READ;
	region.length = RFM_MEMORY_REGION_MAX + 1ull;
	CHECK_REFUSED(pair.near, RFM_IOC_REGION, region, EINVAL);
	region.length = 64;
	region.depth = 1;
	CHECK_REFUSED(pair.near, RFM_IOC_REGION, region, EINVAL);
	region.depth = 0;
	region.address = 8;
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_REGION, &region), EFAULT);

	CHECK_REFUSED(pair.near, RFM_IOC_EXPORT, export_args, EINVAL);
	export_args.range.length = 64;
	export_args.rights = 8;
	CHECK_REFUSED(pair.near, RFM_IOC_EXPORT, export_args, EINVAL);

	CHECK_REFUSED(pair.near, RFM_IOC_RESYNC, resync, EINVAL);
}

/* Exports are the file's: the union of all counts, and a close takes back. */
static void exports_end_with_their_file(void)
{
	struct rfm_info info;
	char path[64];
	int other;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", pair.far);
	other = open(path, O_RDWR);
	REQUIRE(other >= 0 && !card_info(other, &info));
	REQUIRE(!export(pair.far, PLACE, 64, RFM_EXPORT_READ));
	REQUIRE(!export(other, PLACE, 128, RFM_EXPORT_READ | RFM_EXPORT_WRITE));
	CHECK(!bytes(pair.near, RFM_OP_WRITE, info.node, 0, PLACE, data, 128));
	REQUIRE(!export(pair.far, PLACE, 64, 0));
	CHECK(!bytes(pair.near, RFM_OP_READ, info.node, 0, PLACE, back, 64));
	REQUIRE(!export(pair.far, PLACE, 64, RFM_EXPORT_READ));
	close(other);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_WRITE, info.node, 0, PLACE, data, 8), EACCES);
	CHECK(!bytes(pair.near, RFM_OP_READ, info.node, 0, PLACE, back, 64));
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, info.node, 0, PLACE + 64, back, 8), EACCES);
	export(pair.far, PLACE, 64, 0);
}

/* --- messages ------------------------------------------------------------------------ */

static void messages_come_whole_and_in_order(void)
{
	static const uint32_t sizes[] = { 1, 100, 4096, 4097, 100000, BYTES };
	uint32_t far = pair.far_info.node;
	int port = listen_at(pair.far, PORT, 8, BYTES);
	struct rfm_message_header header;
	unsigned int i;

	REQUIRE(port >= 0);
	CHECK_ERRNO(listen_at(pair.far, PORT, 0, 0), EADDRINUSE);
	CHECK_ERRNO(read(port, back, sizeof(back)), EAGAIN);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(data, sizes[i], i + 77);
		if (!CHECK(!bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, sizes[i])))
			tap_note("%u bytes: %s", sizes[i], strerror(errno));
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(data, sizes[i], i + 77);
		CHECK_EQ(receive(port, back, BYTES, &header), sizes[i]);
		CHECK_EQ(header.length, sizes[i]);
		CHECK_EQ(header.node, pair.info.node);
		CHECK_EQ(header.seq, i + 1);
		CHECK(!memcmp(data, back, sizes[i]));
	}
	close(port);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, 8), ECONNREFUSED);
}

static void a_short_buffer_loses_nothing(void)
{
	uint32_t far = pair.far_info.node;
	int port = listen_at(pair.far, PORT, 2, 1000);
	struct pollfd fd = { .fd = port, .events = POLLIN };
	struct rfm_message_header header;

	REQUIRE(port >= 0);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, 1001), EMSGSIZE);
	fill(data, 1000, 5);
	REQUIRE(!bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, 1000));
	REQUIRE(poll(&fd, 1, PATIENCE_MS) == 1);
	CHECK_ERRNO(read(port, back, sizeof(header) + 999), EMSGSIZE);
	CHECK_ERRNO(syscall(SYS_read, port, (void *)8, sizeof(header) + 1000), EFAULT);
	CHECK_EQ(receive(port, back, 1000, &header), 1000);
	CHECK(!memcmp(data, back, 1000));
	close(port);
}

/* A full queue keeps senders waiting; as soon as one is read the next comes. */
static void a_full_queue_drops_nothing(void)
{
	uint32_t far = pair.far_info.node;
	int port = listen_at(pair.far, PORT, 3, 64);
	struct rfm_message_header header;
	uint64_t i, got;

	REQUIRE(port >= 0);
	for (i = 0; i < 3; i++)
		REQUIRE(!bytes(pair.near, RFM_OP_SEND, far, PORT, 0, &i, 8));
	CHECK_ERRNO(bytes(pair.near, RFM_OP_SEND, far, PORT, 0, &i, 8), EBUSY);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(receive(port, &got, 8, &header), 8);
		CHECK_EQ(got, i);
	}
	CHECK(!bytes(pair.near, RFM_OP_SEND, far, PORT, 0, &i, 8));
	CHECK_EQ(receive(port, &got, 8, &header), 8);
	close(port);
}

/* --- regions -------------------------------------------------------------------------- */

static void a_region_of_a_process(void)
{
	uint32_t far = pair.far_info.node;
	/* Begins within a page. */
	struct rfm_memory_region args = {
		.address = (uintptr_t)back + 100, .length = 300000,
		.flags = RFM_MEMORY_RIGHTS | RFM_MEMORY_WATCH | RFM_MEMORY_NONBLOCK,
	};
	struct rfm_event event;
	int region = ioctl(pair.far, RFM_IOC_REGION, &args);
	struct pollfd fd = { .fd = region, .events = POLLIN };
	uint64_t old;

	REQUIRE(region >= 0);
	CHECK(args.key);
	fill(data, 300000, 9);
	CHECK(!bytes(pair.near, RFM_OP_WRITE, far, args.key, 0, data, 300000));
	CHECK(!memcmp(back + 100, data, 300000));
	REQUIRE(poll(&fd, 1, PATIENCE_MS) == 1);
	CHECK_EQ(read(region, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.type, RFM_EVENT_WRITTEN);
	CHECK_EQ(event.node, pair.info.node);
	CHECK_EQ(event.data, args.key);

	memset(back + 100, 3, 300000);
	CHECK(!bytes(pair.near, RFM_OP_READ, far, args.key, 5, data, 299995));
	CHECK(!memcmp(back + 105, data, 299995));
	/* An offset is one in the region, wherever that begins. */
	CHECK_ERRNO(word(pair.near, RFM_OP_ADD, far, args.key, 4, 8, 0, 1, &old), EINVAL);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, args.key, 299999, data, 2), EINVAL);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, far, args.key + 1, 0, data, 2), EACCES);
	close(region);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_WRITE, far, args.key, 0, data, 8), EACCES);
}

static void a_region_for_reading_only(void)
{
	uint32_t far = pair.far_info.node;
	struct rfm_memory_region args = {
		.address = (uintptr_t)back, .length = 64, .flags = RFM_MEMORY_READ,
	};
	int region = ioctl(pair.far, RFM_IOC_REGION, &args);
	uint64_t old;

	REQUIRE(region >= 0);
	CHECK(!bytes(pair.near, RFM_OP_READ, far, args.key, 0, data, 64));
	CHECK_ERRNO(bytes(pair.near, RFM_OP_WRITE, far, args.key, 0, data, 64), EACCES);
	CHECK(word(pair.near, RFM_OP_ADD, far, args.key, 0, 8, 0, 1, &old) && errno == EACCES);
	close(region);
}

/* What the process writes to it later is what others read, whatever it was before. */
static void filled_afterwards(uint8_t *memory, size_t length)
{
	struct rfm_memory_region args = {
		.address = (uintptr_t)memory, .length = length, .flags = RFM_MEMORY_READ,
	};
	int region = ioctl(pair.far, RFM_IOC_REGION, &args);

	if (!CHECK(region >= 0))
		return;
	fill(memory, length, 21);
	memset(data, 0, length);
	CHECK(!bytes(pair.near, RFM_OP_READ, pair.far_info.node, args.key, 0, data, length));
	CHECK(!memcmp(data, memory, length));
	close(region);
}

static void a_region_that_is_filled_afterwards(void)
{
	const size_t length = 5 * 4096;
	int file = memfd_create("pages", MFD_CLOEXEC);
	unsigned int seen = 0, i;
	uint8_t *memory[3] = {
		/* Nothing is there yet; only read so far, so zeros; and of a file. */
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		NULL
	};

	REQUIRE(file >= 0 && !ftruncate(file, length));
	memory[2] = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	close(file);
	for (i = 0; i < 3; i++)
		REQUIRE(memory[i] != MAP_FAILED);
	for (i = 0; i < length; i += 4096)
		seen += ((volatile uint8_t *)memory[1])[i] + ((volatile uint8_t *)memory[2])[i];
	CHECK_EQ(seen, 0);
	for (i = 0; i < 3; i++) {
		filled_afterwards(memory[i], length);
		munmap(memory[i], length);
	}
}

/* Who cannot be told the key has no descriptor either. */
static void a_region_that_cannot_be_told(void)
{
	struct rfm_memory_region *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int before = dup(pair.far), after;

	REQUIRE(args != MAP_FAILED && before >= 0);
	close(before);
	args->address = (uintptr_t)back;
	args->length = 4096;
	args->flags = RFM_MEMORY_READ;
	REQUIRE(!mprotect(args, 4096, PROT_READ));
	CHECK_ERRNO(ioctl(pair.far, RFM_IOC_REGION, args), EFAULT);
	after = dup(pair.far);
	CHECK_EQ(after, before);
	close(after);
	munmap(args, 4096);
}

static void a_region_counts_as_locked_memory(void)
{
	struct rfm_memory_region args = {
		.address = (uintptr_t)back, .length = BYTES, .flags = RFM_MEMORY_READ,
	};
	const struct rlimit little = { 65536, 65536 };
	pid_t child = fork();
	int status;

	if (!child) {
		/* Who is privileged is not limited. */
		if (setrlimit(RLIMIT_MEMLOCK, &little) || setuid(65534))
			_exit(2);
		_exit(ioctl(pair.far, RFM_IOC_REGION, &args) != -1 || errno != ENOBUFS);
	}
	REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* The process ends: the other node is told, and nobody writes to its memory. */
static void a_region_ends_with_its_process(void)
{
	uint32_t far = pair.far_info.node, key;
	int told[2], status;
	pid_t child;

	REQUIRE(!pipe(told));
	child = fork();
	if (!child) {
		struct rfm_memory_region args = {
			.address = (uintptr_t)back, .length = 4096,
			.flags = RFM_MEMORY_WRITE,
		};

		if (ioctl(pair.far, RFM_IOC_REGION, &args) < 0 ||
		    write(told[1], &args.key, 4) != 4)
			_exit(1);
		pause();
	}
	REQUIRE(read(told[0], &key, 4) == 4);
	CHECK(!bytes(pair.near, RFM_OP_WRITE, far, key, 0, data, 4096));
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_WRITE, far, key, 0, data, 8), EACCES);
	close(told[0]);
	close(told[1]);
}

/* --- how they end otherwise ------------------------------------------------------------ */

static void on_alarm(__attribute__((unused)) int signo)
{
}

struct receiver {
	pthread_t sender;
	int port;
};

static void *receive_after_signals(void *arg)
{
	const struct receiver *receiver = arg;
	struct rfm_message_header header;
	uint64_t got;
	int i;

	for (i = 0; i < 10; i++) {		/* the first ones may come before the call */
		pthread_kill(receiver->sender, SIGALRM);
		sleep_ms(50);
	}
	CHECK_EQ(receive(receiver->port, &got, 8, &header), 8);
	return NULL;
}

/* A message to a full queue waits for seconds: time enough for signals, and a timeout. */
static void signals_and_timeouts(void)
{
	const struct sigaction handler = { .sa_handler = on_alarm };
	struct sigaction before;
	struct rfm_operation args = {
		.op = RFM_OP_SEND, .node = pair.far_info.node, .key = PORT,
		.data = (uintptr_t)data, .length = 8, .timeout_ms = 200,
	};
	int port = listen_at(pair.far, PORT, 1, 64);
	struct receiver receiver = { pthread_self(), port };
	struct rfm_message_header header;
	pthread_t thread;
	uint64_t begun;

	REQUIRE(port >= 0);
	REQUIRE(!ioctl(pair.near, RFM_IOC_REMOTE, &args));
	begun = now_ns();
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_REMOTE, &args), ETIMEDOUT);
	/* Not much too early: a host that stands still hands over ticks in a bunch. */
	CHECK(now_ns() - begun >= 100000000ull);

	/* Signals do not end it: then nobody would know whether it was sent. */
	sigaction(SIGALRM, &handler, &before);
	REQUIRE(!pthread_create(&thread, NULL, receive_after_signals, &receiver));
	args.timeout_ms = 0;
	CHECK_EQ(ioctl(pair.near, RFM_IOC_REMOTE, &args) ? errno : 0, 0);
	pthread_join(thread, NULL);
	sigaction(SIGALRM, &before, NULL);
	CHECK_EQ(receive(port, back, 8, &header), 8);
	CHECK_EQ(read(port, back, sizeof(back)), -1);	/* once, and not more */
	close(port);
}

/* --- by io_uring --------------------------------------------------------------------------- */

static bool uring_command(struct uring *uring, int fd, struct rfm_operation *args, uint64_t tag)
{
	struct io_uring_sqe *sqe = uring_sqe(uring);

	if (!sqe)
		return false;
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = RFM_IOC_REMOTE;
	sqe->addr3 = (uintptr_t)args;	/* the first word of the command */
	sqe->user_data = tag;
	return true;
}

/* Its end, waited for: the result of the call. */
static int uring_operate(struct uring *uring, int fd, struct rfm_operation *args)
{
	struct io_uring_cqe cqe;

	if (!uring_command(uring, fd, args, 1) || uring_enter(uring, 1) ||
	    !uring_wait(uring, &cqe))
		return -EBADE;
	return cqe.res;
}

/* Kernels have such commands since 5.19. */
static bool uring_ready(struct uring *uring)
{
	unsigned int major, minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 ||
	    major < 5 || (major == 5 && minor < 19)) {
		tap_skip("this kernel has no commands of io_uring");
		return false;
	}
	if (!uring_open(uring, 64)) {
		tap_skip("io_uring: %s", strerror(errno));
		return false;
	}
	return true;
}

static void commands_of_io_uring(void)
{
	uint32_t far = pair.far_info.node;
	struct rfm_operation get = {
		.op = RFM_OP_READ, .node = far, .offset = PLACE,
		.data = (uintptr_t)back, .length = 4097,
	}, add = {
		.op = RFM_OP_ADD, .node = far, .offset = PLACE + 8192, .width = 8, .value = 3,
	}, bad = get;
	struct rfm_operation many[32];
	struct io_uring_cqe cqe;
	uint64_t sum = 0;
	struct uring uring;
	unsigned int i;

	if (!uring_ready(&uring))
		return;
	REQUIRE(!export(pair.far, PLACE, 8192, RFM_EXPORT_READ | RFM_EXPORT_WRITE));
	REQUIRE(!export(pair.far, PLACE + 8192, 64, RFM_EXPORT_HOME));
	REQUIRE(word_put(pair.far, PLACE + 8192, 10));
	fill(data, 4097, 31);
	REQUIRE(!bytes(pair.near, RFM_OP_WRITE, far, 0, PLACE, data, 4097));
	memset(back, 0, 4097);
	CHECK_EQ(uring_operate(&uring, pair.near, &get), 0);
	CHECK(!memcmp(data, back, 4097));
	CHECK_EQ(uring_operate(&uring, pair.near, &add), 0);
	CHECK_EQ(add.old, 10);
	CHECK_EQ(word_get(pair.near, PLACE + 8192), 13);

	bad.timeout_ms = 1000;
	CHECK_EQ(uring_operate(&uring, pair.near, &bad), -EINVAL);
	bad.timeout_ms = 0;
	bad.reserved[1] = 1;
	CHECK_EQ(uring_operate(&uring, pair.near, &bad), -EINVAL);
	bad.reserved[1] = 0;
	bad.offset = PLACE + (1 << 20);
	CHECK_EQ(uring_operate(&uring, pair.near, &bad), -EACCES);
	bad.offset = PLACE;
	bad.data = 8;
	CHECK_EQ(uring_operate(&uring, pair.near, &bad), -EFAULT);
	CHECK_EQ(uring_operate(&uring, pair.near, (void *)8), -EFAULT);

	/* All at once: each sees another sum. */
	add.value = 1;
	add.old = 0;
	for (i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = add;
		REQUIRE(uring_command(&uring, pair.near, &many[i], i));
	}
	REQUIRE(!uring_enter(&uring, 1));
	for (i = 0; i < ARRAY_SIZE(many); i++) {
		REQUIRE(uring_wait(&uring, &cqe));
		CHECK_EQ(cqe.res, 0);
		sum += many[cqe.user_data].old;
	}
	CHECK_EQ(sum, 13 * ARRAY_SIZE(many) + ARRAY_SIZE(many) * (ARRAY_SIZE(many) - 1) / 2);
	CHECK_EQ(word_get(pair.near, PLACE + 8192), 13 + ARRAY_SIZE(many));
	export(pair.far, PLACE, 8192 + 64, 0);
	uring_close(&uring);
}

/* What it has asked for ends without it, and hurts nobody. */
static void a_submitter_that_is_killed(void)
{
	int port = listen_at(pair.far, PORT, 1, 64), told[2], status;
	struct rfm_operation args = {
		.op = RFM_OP_SEND, .node = pair.far_info.node, .key = PORT,
		.data = (uintptr_t)data, .length = 8,
	};
	struct rfm_message_header header;
	struct uring uring;
	uint64_t got;
	pid_t child;
	char c = 0;

	REQUIRE(port >= 0 && !pipe(told));
	if (!uring_ready(&uring)) {
		close(port);
		return;
	}
	uring_close(&uring);
	REQUIRE(!ioctl(pair.near, RFM_IOC_REMOTE, &args));	/* full */
	child = fork();
	if (!child) {
		if (!uring_open(&uring, 8) ||
		    !uring_command(&uring, pair.near, &args, 0) || uring_enter(&uring, 0) ||
		    write(told[1], &c, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	REQUIRE(read(told[0], &c, 1) == 1);	/* the kernel has taken it */
	kill(child, SIGKILL);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(receive(port, &got, 8, &header), 8);
	close(port);
	close(told[0]);
	close(told[1]);
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_REMOTE, &args), ECONNREFUSED);
}

/* --- resync -------------------------------------------------------------------------------- */

/* What the tests before have lost may be one node's, or both nodes': one gets it from the other. */
static int resync_when_others_know(int fd, struct rfm_resync_wait *args)
{
	uint64_t end = now_ns() + PATIENCE_NS;
	int ret;

	do
		ret = ioctl(fd, RFM_IOC_RESYNC, args);
	while (ret && errno == EHOSTUNREACH && now_ns() < end);
	return ret;
}

static void a_node_gets_all_of_one_that_is_right_as_it_is(void)
{
	struct rfm_resync_wait args = { .node = pair.far_info.node };

	if (ioctl(pair.far, RFM_IOC_RESYNC, &args)) {
		CHECK_EQ(errno, EACCES);	/* the near one is complete */
		args = (struct rfm_resync_wait){ .node = pair.info.node };
		REQUIRE(!ioctl(pair.far, RFM_IOC_RESYNC, &args));
	} else {
		CHECK_EQ(args.flags, 0);
		CHECK_EQ(args.bytes, 0);
		CHECK_EQ(args.donor, pair.far_info.node);
	}
	args = (struct rfm_resync_wait){ .node = RFM_NODE_ALL };
	REQUIRE(!resync_when_others_know(pair.near, &args));
	CHECK_EQ(args.flags, 0);
	CHECK_EQ(args.bytes, pair.info.memory_size);
	CHECK_EQ(args.donor, pair.far_info.node);
}

/* --- the card goes ----------------------------------------------------------------------- */

static void *send_until_gone(__attribute__((unused)) void *arg)
{
	uint32_t far = pair.far_info.node;

	while (!bytes(pair.near, RFM_OP_SEND, far, PORT, 0, data, 8) || errno == EBUSY)
		;
	return (void *)(intptr_t)errno;
}

static void *receive_until_gone(void *arg)
{
	static char buffer[4096];
	int port = *(int *)arg;
	struct pollfd fd = { .fd = port, .events = POLLIN };

	while (poll(&fd, 1, PATIENCE_MS) == 1)
		if (read(port, buffer, sizeof(buffer)) < 0 && errno != EAGAIN)
			return (void *)(intptr_t)errno;
	return NULL;
}

/* Somebody waits in each way; @back is a region of near, which must not be written to later. */
static int until_gone(void)
{
	struct rfm_memory_region args = {
		.address = (uintptr_t)back, .length = sizeof(back),
		.flags = RFM_MEMORY_WRITE | RFM_MEMORY_WATCH,
	};
	int full = listen_at(pair.far, PORT, 1, 64), port = listen_at(pair.near, PORT + 1, 0, 0);
	int region = ioctl(pair.near, RFM_IOC_REGION, &args);
	pthread_t sender, receiver;
	struct rfm_event event;
	void *why;

	if (full < 0 || port < 0 || region < 0 ||
	    pthread_create(&sender, NULL, send_until_gone, NULL) ||
	    pthread_create(&receiver, NULL, receive_until_gone, &port))
		return TAP_FAIL;
	printf("running\n");
	fflush(stdout);
	CHECK_ERRNO(read(region, &event, sizeof(event)), ENODEV);
	pthread_join(sender, &why);
	CHECK_EQ((intptr_t)why, ENODEV);
	pthread_join(receiver, &why);
	CHECK_EQ((intptr_t)why, ENODEV);
	CHECK_ERRNO(bytes(pair.near, RFM_OP_READ, pair.far_info.node, 0, 0, data, 8), ENODEV);
	close(region);
	close(port);
	return tap_failed ? TAP_FAIL : TAP_PASS;
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(refusals),
		TAP_CASE(other_calls_refuse),
		TAP_CASE(of_all_sizes),
		TAP_CASE(behind_what_was_stored),
		TAP_CASE(words_are_changed_everywhere),
		TAP_CASE(nothing_is_added_twice),
		TAP_CASE(exports_end_with_their_file),
		TAP_CASE(messages_come_whole_and_in_order),
		TAP_CASE(a_short_buffer_loses_nothing),
		TAP_CASE(a_full_queue_drops_nothing),
		TAP_CASE(a_region_of_a_process),
		TAP_CASE(a_region_for_reading_only),
		TAP_CASE(a_region_that_is_filled_afterwards),
		TAP_CASE(a_region_that_cannot_be_told),
		TAP_CASE(a_region_counts_as_locked_memory),
		TAP_CASE(a_region_ends_with_its_process),
		TAP_CASE(signals_and_timeouts),
		TAP_CASE(commands_of_io_uring),
		TAP_CASE(a_submitter_that_is_killed),
		TAP_CASE(a_node_gets_all_of_one_that_is_right_as_it_is),
	};
	bool gone = argc > 1 && !strcmp(argv[1], "-g");

	pair_open_whole(argc - gone, argv + gone);
	if (!(pair.info.features & pair.far_info.features & RFM_EXT_FEATURE_REMOTE))
		tap_skip_all("no operations at other nodes");
	if (gone)
		return until_gone();
	return tap_run(cases, ARRAY_SIZE(cases));
}
