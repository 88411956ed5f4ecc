// SPDX-License-Identifier: MIT
/* The shared-memory queue with peers that lie, or have gone. links: tests/unit/queue.c */
#define _GNU_SOURCE
#include "tests/unit/test.h"
#include "tests/unit/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where things stand in the memory, spelled here once more: docs/ring-protocol.md. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_SLOT_SIZE = 8,
	AT_SLOTS = 12,
	AT_BYTES = 16,
	AT_TAIL = 128,
	AT_HEAD = 256,
	AT_CONSUMER_SLEEPS = 384,
	AT_PRODUCER_WAITS = 512,
	SLOTS_AT = 4096,
	BEHIND = 4096,		/* bytes after the slots */
};

static void set32(int *fds, off_t at, uint32_t value)
{
	assert_int_equal(pwrite(fds[MEMORY], &value, sizeof(value), at), sizeof(value));
}

/* --- descriptors that are refused ----------------------------------------- */

/* How to spoil a good set of descriptors. */
struct spoil {
	const char *what, *sentence;
	void (*how)(int *fds);
};

static void replace(int *fds, int which, int fd)
{
	assert_true(fd >= 0);
	close(fds[which]);
	fds[which] = fd;
}

static int copy_of(int memory, off_t bytes, unsigned int seals)
{
	uint8_t page[SLOTS_AT];
	int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(pread(memory, page, sizeof(page), 0), sizeof(page));
	assert_int_equal(write(fd, page, sizeof(page)), sizeof(page));
	assert_int_equal(ftruncate(fd, bytes), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define GOOD_BYTES	(SLOTS_AT + 64 * RFM_SHM_SLOT + BEHIND)
#define GOOD_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void unsealed(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, 0)); }

static void may_shrink(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, F_SEAL_GROW | F_SEAL_SEAL));
}

static void may_be_sealed(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, F_SEAL_GROW | F_SEAL_SHRINK));
}

static void read_only(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES, GOOD_SEALS | F_SEAL_WRITE));
}

static void truncated(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES - 1, GOOD_SEALS));
}

static void too_long(int *fds)
{
	replace(fds, MEMORY, copy_of(fds[MEMORY], GOOD_BYTES + 4096, GOOD_SEALS));
}

static void tiny(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], 20, GOOD_SEALS)); }
static void empty(int *fds) { replace(fds, MEMORY, copy_of(fds[MEMORY], 0, GOOD_SEALS)); }

static void a_file(int *fds)
{
	replace(fds, MEMORY, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

static void a_pipe(int *fds)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	replace(fds, MEMORY, ends[0]);
	close(ends[1]);
}

static void other_magic(int *fds) { set32(fds, AT_MAGIC, 0); }
static void other_version(int *fds) { set32(fds, AT_VERSION, 1); }
static void other_slot_size(int *fds) { set32(fds, AT_SLOT_SIZE, 64); }
static void zero_slots(int *fds) { set32(fds, AT_SLOTS, 0); }
static void odd_slots(int *fds) { set32(fds, AT_SLOTS, 63); }
static void huge_slots(int *fds) { set32(fds, AT_SLOTS, 1u << 31); }
static void more_slots(int *fds) { set32(fds, AT_SLOTS, 128); }
static void other_bytes(int *fds) { set32(fds, AT_BYTES, 4096); }

/* All that the header says fits together, only the file does not. */
static void grown_header(int *fds)
{
	set32(fds, AT_SLOTS, 128);
	set32(fds, AT_BYTES, SLOTS_AT + 128 * RFM_SHM_SLOT + BEHIND);
}

static void not_there(int *fds) { close(fds[MEMORY]); fds[MEMORY] = -1; }
static void no_data_fd(int *fds) { close(fds[DATA]); fds[DATA] = -1; }
static void swapped(int *fds) { int t = fds[MEMORY]; fds[MEMORY] = fds[ROOM]; fds[ROOM] = t; }
static void data_file(int *fds) { replace(fds, DATA, open("/dev/null", O_RDWR | O_CLOEXEC)); }
static void room_memfd(int *fds) { replace(fds, ROOM, memfd_create("x", MFD_CLOEXEC)); }
static void stream_socket(int *fds) { replace(fds, DATA, socket(AF_UNIX, SOCK_STREAM, 0)); }
static void udp_socket(int *fds) { replace(fds, ROOM, socket(AF_INET, SOCK_DGRAM, 0)); }

static const struct spoil spoils[] = {
	{ "no seals", "the shared memory is not sealed against a change of its size", unsealed },
	{ "may shrink", "the shared memory is not sealed against a change of its size", may_shrink },
	{ "no final seal", "the shared memory is not sealed against a change of its size",
	  may_be_sealed },
	{ "cannot be written", "the shared memory cannot be mapped", read_only },
	{ "a byte short", "the shared memory is not of the size that its queue needs", truncated },
	{ "a page long", "the shared memory is not of the size that its queue needs", too_long },
	{ "20 bytes", "the shared memory is too short for a queue", tiny },
	{ "empty", "the shared memory is too short for a queue", empty },
	{ "a file", "the shared memory is not a memfd", a_file },
	{ "a pipe", "the shared memory is not a memfd", a_pipe },
	{ "magic", "the shared memory holds no queue", other_magic },
	{ "version", "the shared memory holds a queue of another version", other_version },
	{ "slot size", "the queue in the shared memory has slots of another size",
	  other_slot_size },
	{ "no slots", "the queue in the shared memory has an impossible number of slots",
	  zero_slots },
	{ "63 slots", "the queue in the shared memory has an impossible number of slots",
	  odd_slots },
	{ "2^31 slots", "the queue in the shared memory has an impossible number of slots",
	  huge_slots },
	{ "more slots", "the queue in the shared memory has slots of another size", more_slots },
	{ "size field", "the queue in the shared memory has slots of another size", other_bytes },
	{ "grown header", "the shared memory is not of the size that its queue needs",
	  grown_header },
	{ "no memory", "the shared memory is not a memfd", not_there },
	{ "no socket", "a wake-up descriptor of the shared memory is not a datagram socket",
	  no_data_fd },
	{ "memory and socket swapped",
	  "a wake-up descriptor of the shared memory is not a datagram socket", swapped },
	{ "/dev/null for data",
	  "a wake-up descriptor of the shared memory is not a datagram socket", data_file },
	{ "memfd for room", "a wake-up descriptor of the shared memory is not a datagram socket",
	  room_memfd },
	{ "a stream for data",
	  "a wake-up descriptor of the shared memory is not a datagram socket", stream_socket },
	{ "UDP for room", "a wake-up descriptor of the shared memory is not a datagram socket",
	  udp_socket },
};

static void refused(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(spoils); i++) {
		struct rfm_shm tx, rx;
		int fds[RFM_SHM_FDS];
		const char *said;

		assert_int_equal(rfm_shm_create(&tx, 64), 0);
		duplicate(tx.offer, fds);
		spoils[i].how(fds);
		said = rfm_shm_attach(&rx, fds);
		if (!said || strcmp(said, spoils[i].sentence))
			fail_msg("%s: %s", spoils[i].what, said ? said : "accepted");
		assert_false(rfm_shm_is_open(&rx));
		for (int fd = 0; fd < RFM_SHM_FDS; fd++)
			assert_int_equal(fcntl(fds[fd], F_GETFD), -1);	/* closed */
		rfm_shm_close(&tx);
	}
}

/* --- peers that change their mind ----------------------------------------- */

/* A byte for every wake-up that fits, as a peer sends them that wakes without end. */
static void flood(int fd)
{
	while (send(fd, "", 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(errno, EAGAIN);
}

/*
 * The other side holds all ends, lets calls wait (as QEMU's chardev does with
 * descriptors that it takes in), and has sent as many wake-ups as there is
 * room for. Were anything here to wait, it would be for ever, and the alarm
 * ends the test.
 */
static void wake_ups_never_block(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	alarm(20);
	make_pair(&tx, &rx, 8);
	flood(tx.fds[DATA]);
	flood(rx.fds[ROOM]);
	for (int i = DATA; i <= ROOM; i++) {
		fcntl(tx.fds[i], F_SETFL, 0);
		fcntl(rx.fds[i], F_SETFL, 0);
	}
	assert_true(rfm_shm_wait_data(&rx, 1));
	while (put(&tx, 0))
		;
	assert_true(rfm_shm_wait_room(&tx, 1));		/* wakes the consumer */
	for (int i = 0; i < 8; i++)
		assert_takes(&rx, 0);
	rfm_shm_release(&rx);				/* wakes the producer */
	assert_true(readable(rx.fds[DATA], 0));
	assert_true(readable(tx.fds[ROOM], 0));
	while (readable(rx.fds[DATA], 0))
		rfm_shm_clear_wakeup(&rx, false);
	while (readable(tx.fds[ROOM], 0))
		rfm_shm_clear_wakeup(&tx, true);
	rfm_shm_clear_wakeup(&rx, false);		/* there is none */
	rfm_shm_clear_wakeup(&tx, true);
	alarm(0);
	close_pair(&tx, &rx);
}

/* However many wake-ups come, each costs one call. */
static void one_wake_up_a_time(void **state)
{
	struct rfm_shm tx, rx;
	unsigned int before;

	(void)state;
	make_pair(&tx, &rx, 8);
	flood(tx.fds[DATA]);
	before = wake_ups(rx.fds[DATA]);
	flood(tx.fds[DATA]);
	rfm_shm_clear_wakeup(&rx, false);
	assert_int_equal(wake_ups(rx.fds[DATA]), before - 1);
	close_pair(&tx, &rx);
}

/* Who has gone does not wake the other for ever. */
static void no_wake_up_of_the_dead(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_true(rfm_shm_wait_data(&rx, 1));
	rfm_shm_close(&tx);
	assert_false(readable(rx.fds[DATA], 0));
	rfm_shm_clear_wakeup(&rx, false);
	rfm_shm_close(&rx);

	make_pair(&tx, &rx, 8);
	rfm_shm_close(&rx);
	assert_false(readable(tx.fds[ROOM], 0));
	rfm_shm_close(&tx);
}

static void impossible_tail(void **state)
{
	/* Taken: 5; seen: 5. Of 8 slots 3 are not given back. */
	static const uint32_t tails[] = { 4, 0, 14, 1000, 1u << 31, UINT32_MAX };
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(tails); i++) {
		struct rfm_shm tx, rx;

		make_pair(&tx, &rx, 8);
		for (int n = 0; n < 5; n++)
			put(&tx, n);
		rfm_shm_publish(&tx);
		for (int n = 0; n < 5; n++)
			assert_takes(&rx, n);
		rfm_shm_release(&rx);
		set32(rx.fds, AT_TAIL, tails[i]);
		assert_true(rfm_shm_pending(&rx));
		assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), -1);
		set32(rx.fds, AT_TAIL, 6);		/* once is enough */
		assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), -1);
		assert_true(rfm_shm_pending(&rx));
		assert_false(rfm_shm_wait_data(&rx, 1));
		rfm_shm_release(&rx);
		close_pair(&tx, &rx);
	}
}

/* A tail that would be right had the slots been given back, which they are not. */
static void tail_over_kept_slots(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];

	(void)state;
	make_pair(&tx, &rx, 8);
	for (int n = 0; n < 5; n++)
		put(&tx, n);
	rfm_shm_publish(&tx);
	for (int n = 0; n < 5; n++)
		assert_takes(&rx, n);
	set32(rx.fds, AT_TAIL, 9);
	assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), -1);
	close_pair(&tx, &rx);
}

static void impossible_head(void **state)
{
	/* Shown: 12, given back: 4. */
	static const uint32_t heads[] = { 3, 13, 0, 1u << 31, UINT32_MAX };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(heads); i++) {
		struct rfm_shm tx, rx;
		uint64_t in = 0;

		make_pair(&tx, &rx, 8);
		while (put(&tx, in))
			in++;
		rfm_shm_publish(&tx);
		for (int n = 0; n < 4; n++)
			assert_takes(&rx, n);
		rfm_shm_release(&rx);
		while (put(&tx, in))
			in++;
		assert_int_equal(in, 12);
		rfm_shm_publish(&tx);
		set32(tx.fds, AT_HEAD, heads[i]);
		assert_null(rfm_shm_reserve(&tx, 1));
		assert_true(tx.broken);
		assert_false(rfm_shm_wait_room(&tx, 1));
		set32(tx.fds, AT_HEAD, 12);
		assert_null(rfm_shm_reserve(&tx, 1));
		close_pair(&tx, &rx);
	}
}

/* Nor can the consumer have taken what was not shown. */
static void head_before_publish(void **state)
{
	struct rfm_shm tx, rx;

	(void)state;
	make_pair(&tx, &rx, 8);
	put(&tx, 0);
	rfm_shm_publish(&tx);
	for (int n = 1; n < 8; n++)
		assert_true(put(&tx, n));
	set32(tx.fds, AT_HEAD, 2);
	assert_null(rfm_shm_reserve(&tx, 1));
	assert_true(tx.broken);
	close_pair(&tx, &rx);
}

/* Garbage in the shared pages, all the time: neither side leaves its slots, or hangs. */
static void garbage_everywhere(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		struct rfm_shm tx, rx;
		uint8_t slot[RFM_UNIT_MAX], page[2 * SLOTS_AT];

		make_pair(&tx, &rx, 32);
		for (int step = 0; step < 20; step++) {
			uint32_t at = test_random(&seed) % (sizeof(page) / 4) * 4;

			set32(tx.fds, at < 2048 ? at % 640 : at, test_random(&seed) >>
			      test_random(&seed) % 32);
			for (int n = test_random(&seed) % 40; n && put(&tx, n); n--)
				;
			rfm_shm_publish(&tx);
			for (int n = test_random(&seed) % 40; n && rfm_shm_take(&rx, slot, NULL, NULL) > 0; n--)
				;
			rfm_shm_release(&rx);
			rfm_shm_wait_room(&tx, 1);
			rfm_shm_wait_data(&rx, 1);
		}
		close_pair(&tx, &rx);
	}
}

/* The death of the other side is told by the socket; here it only must not hurt. */
static void peer_has_gone(void **state)
{
	struct rfm_shm tx, rx;
	uint8_t slot[RFM_UNIT_MAX];
	uint64_t in = 0;

	(void)state;
	make_pair(&tx, &rx, 8);
	assert_true(rfm_shm_wait_data(&rx, 1));
	rfm_shm_close(&rx);
	while (put(&tx, in))
		in++;
	rfm_shm_publish(&tx);
	assert_int_equal(in, 8);
	assert_true(rfm_shm_wait_room(&tx, 1));
	rfm_shm_close(&tx);

	make_pair(&tx, &rx, 8);
	put(&tx, 0);
	rfm_shm_publish(&tx);
	rfm_shm_close(&tx);
	assert_takes(&rx, 0);
	assert_int_equal(rfm_shm_take(&rx, slot, NULL, NULL), 0);
	assert_true(rfm_shm_wait_data(&rx, 1));
	rfm_shm_close(&rx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(wake_ups_never_block),
		cmocka_unit_test(one_wake_up_a_time),
		cmocka_unit_test(no_wake_up_of_the_dead),
		cmocka_unit_test(impossible_tail),
		cmocka_unit_test(tail_over_kept_slots),
		cmocka_unit_test(impossible_head),
		cmocka_unit_test(head_before_publish),
		cmocka_unit_test(garbage_everywhere),
		cmocka_unit_test(peer_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
