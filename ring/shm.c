// SPDX-License-Identifier: MIT
/*
 * The order of things, for whoever changes something here:
 *
 * - A slot is filled before the tail says so (release), and copied out after
 *   the tail was read (acquire). A slot is copied out before the head says so
 *   (release), and filled again after the head was read (acquire).
 * - Who goes to sleep says so, then looks once more; who has news shows them,
 *   then looks whether the other sleeps. Between the two stands a full fence
 *   on both sides, so at least one of them sees what the other did, and no
 *   wake-up is lost. Who wakes takes the word "asleep" back before the
 *   eventfd is written, so one sleep costs one system call.
 * - The two eventfds are one open file each, shared with the other process,
 *   which can change its flags at any time; QEMU's chardev does when it takes
 *   descriptors in. So O_NONBLOCK is never taken for granted.
 * - A slot's cache lines live in the other side's cache when its turn comes,
 *   and fetching them takes longer than all the rest. So each side asks for
 *   those of a slot that comes soon: the producer to write to, the consumer
 *   once they have been written.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHM_MAGIC	0x516d6672u	/* "rfmQ" in a dump */
#define SHM_VERSION	1
#define SHM_SLOTS_AT	4096		/* the slots begin after a page */
#define SHM_FIRST	64		/* bytes in which most frames fit, a cache line */
#define SHM_LINE	64		/* bytes of a cache line */
#define WRITE_AHEAD	8		/* slots; measured, as is READ_AHEAD */
#define READ_AHEAD	2
#define SHM_SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

enum { FD_MEMORY, FD_DATA, FD_ROOM };

/* All in the host's byte order: it never leaves the host. */
struct shm_header {
	uint32_t magic, version;
	uint32_t slot_size, slots;
	uint64_t bytes;			/* of the whole */
};

/* Two cache lines apart: the second is fetched with the first. */
struct rfm_shm_map {
	struct shm_header header;
	_Alignas(128) _Atomic uint32_t tail;		/* producer's index */
	_Alignas(128) _Atomic uint32_t head;		/* consumer's index */
	_Alignas(128) _Atomic uint32_t consumer_sleeps;
	_Alignas(128) _Atomic uint32_t producer_waits;
};

_Static_assert(sizeof(struct rfm_shm_map) <= SHM_SLOTS_AT, "the slots begin after it");
_Static_assert(RFM_SHM_SLOT >= RFM_FRAME_MAX, "a frame fits in a slot");

static bool slots_are_valid(uint32_t slots)
{
	return slots >= 2 && slots <= RFM_SHM_SLOTS_MAX && !(slots & (slots - 1));
}

static struct shm_header header_of(uint32_t slots)
{
	return (struct shm_header){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.slot_size = RFM_SHM_SLOT,
		.slots = slots,
		.bytes = SHM_SLOTS_AT + (uint64_t)slots * RFM_SHM_SLOT,
	};
}

void rfm_shm_init(struct rfm_shm *shm)
{
	*shm = (struct rfm_shm){ .fds = { -1, -1, -1 } };
}

void rfm_shm_close(struct rfm_shm *shm)
{
	if (shm->map)
		munmap(shm->map, header_of(shm->size).bytes);
	for (int i = 0; i < RFM_SHM_FDS; i++)
		if (shm->fds[i] >= 0)
			close(shm->fds[i]);
	rfm_shm_init(shm);
}

static bool map_memory(struct rfm_shm *shm, uint32_t slots)
{
	void *memory = mmap(NULL, header_of(slots).bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    shm->fds[FD_MEMORY], 0);

	if (memory == MAP_FAILED)
		return false;
	shm->map = memory;
	shm->slots = (uint8_t *)memory + SHM_SLOTS_AT;
	shm->size = slots;
	return true;
}

static bool make_memory(struct rfm_shm *shm, uint32_t slots)
{
	struct shm_header header = header_of(slots);
	int fd = memfd_create("rfm-queue", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	shm->fds[FD_MEMORY] = fd;
	if (fd < 0 || ftruncate(fd, header.bytes) || fcntl(fd, F_ADD_SEALS, SHM_SEALS) ||
	    !map_memory(shm, slots))
		return false;
	shm->map->header = header;
	return true;
}

int rfm_shm_create(struct rfm_shm *shm, uint32_t slots)
{
	rfm_shm_init(shm);
	if (!slots_are_valid(slots)) {
		errno = EINVAL;
		return -1;
	}
	if (make_memory(shm, slots)) {
		shm->fds[FD_DATA] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		shm->fds[FD_ROOM] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (shm->fds[FD_DATA] >= 0 && shm->fds[FD_ROOM] >= 0)
			return 0;
	}

	int error = errno;

	rfm_shm_close(shm);
	errno = error;
	return -1;
}

/* --- eventfds: nothing here may wait -------------------------------------- */

static bool set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK || !fcntl(fd, F_SETFL, flags | O_NONBLOCK));
}

/* A write that would wait says EAGAIN: then the counter is full, which wakes as well. */
static void eventfd_wake(int fd)
{
	uint64_t one = 1;

	if (set_nonblocking(fd))
		(void)!write(fd, &one, sizeof(one));
}

/* What the counter was; 0 if it was 0 or cannot be read. */
static uint64_t eventfd_drain(int fd)
{
	uint64_t count = 0;
	struct iovec iov = { .iov_base = &count, .iov_len = sizeof(count) };

	/* RWF_NOWAIT does not care about the flags of the file. */
	if (preadv2(fd, &iov, 1, -1, RWF_NOWAIT) == sizeof(count))
		return count;
	if (errno != EOPNOTSUPP || !set_nonblocking(fd) ||
	    read(fd, &count, sizeof(count)) != sizeof(count))
		return 0;
	return count;
}

static bool is_eventfd(int fd)
{
	static const char wanted[] = "anon_inode:[eventfd]";
	char path[32], link[sizeof(wanted) + 1];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, link, sizeof(link)) == sizeof(wanted) - 1 &&
	       !memcmp(link, wanted, sizeof(wanted) - 1);
}

/*
 * Is one read enough to drain it? One made with EFD_SEMAPHORE counts down by
 * 1: filled once, it would keep its reader busy for ever.
 */
static bool drains_at_once(int fd)
{
	uint64_t two = 2;

	return write(fd, &two, sizeof(two)) == sizeof(two) && eventfd_drain(fd) >= 2;
}

/* --- attaching ------------------------------------------------------------ */

static const char *check_memory(int fd, uint32_t *slots)
{
	struct shm_header header, wanted;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0)
		return "the shared memory is not a memfd";
	if ((seals & SHM_SEALS) != SHM_SEALS)
		return "the shared memory is not sealed against a change of its size";
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return "the shared memory is too short for a queue";
	if (header.magic != SHM_MAGIC)
		return "the shared memory holds no queue";
	if (header.version != SHM_VERSION)
		return "the shared memory holds a queue of another version";
	if (!slots_are_valid(header.slots))
		return "the queue in the shared memory has an impossible number of slots";
	wanted = header_of(header.slots);
	if (memcmp(&header, &wanted, sizeof(header)))
		return "the queue in the shared memory has slots of another size";
	if (fstat(fd, &st) || (uint64_t)st.st_size != wanted.bytes)
		return "the shared memory is not of the size that its queue needs";
	*slots = header.slots;
	return NULL;
}

static const char *attach(struct rfm_shm *shm)
{
	const char *error;
	uint32_t slots;

	for (int i = FD_DATA; i <= FD_ROOM; i++)
		if (!is_eventfd(shm->fds[i]) || !set_nonblocking(shm->fds[i]))
			return "a wake-up descriptor of the shared memory is not an eventfd";
	if (!drains_at_once(shm->fds[FD_DATA]))
		return "the eventfd of the shared memory's consumer does not work as it should";
	error = check_memory(shm->fds[FD_MEMORY], &slots);
	if (error)
		return error;
	if (!map_memory(shm, slots))
		return "the shared memory cannot be mapped";
	return NULL;
}

const char *rfm_shm_attach(struct rfm_shm *shm, const int *fds)
{
	const char *error;

	rfm_shm_init(shm);
	memcpy(shm->fds, fds, sizeof(shm->fds));
	error = attach(shm);
	if (error)
		rfm_shm_close(shm);
	return error;
}

/* --- both sides ----------------------------------------------------------- */

static void wake_if(_Atomic uint32_t *asleep, int fd)
{
	/* Pairs with the fence in fall_asleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(asleep, memory_order_relaxed))
		return;
	atomic_store_explicit(asleep, 0, memory_order_relaxed);
	eventfd_wake(fd);
}

static void fall_asleep(_Atomic uint32_t *asleep)
{
	atomic_store_explicit(asleep, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Look at the other side's index again. It can only have gone on, by at most
 * @most; anything else is not true, and the queue is not touched any more.
 */
static void see_other(struct rfm_shm *shm, const _Atomic uint32_t *index, uint32_t most)
{
	uint32_t now = atomic_load_explicit(index, memory_order_acquire);

	if (now - shm->other > most)
		shm->broken = true;
	else
		shm->other = now;
}

void rfm_shm_awake(struct rfm_shm *shm, bool producer)
{
	struct rfm_shm_map *map = shm->map;

	atomic_store_explicit(producer ? &map->producer_waits : &map->consumer_sleeps, 0,
			      memory_order_relaxed);
	eventfd_drain(shm->fds[producer ? FD_ROOM : FD_DATA]);
}

static uint8_t *slot_at(const struct rfm_shm *shm, uint32_t index)
{
	return shm->slots + (size_t)(index & (shm->size - 1)) * RFM_SHM_SLOT;
}

/* Ask for a slot's lines, to own them: a plain prefetch would only share them. */
static void fetch_to_write(const uint8_t *slot)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m" (slot[0]));
	__asm__ volatile("prefetchw %0" : : "m" (slot[SHM_LINE]));
#else
	__builtin_prefetch(slot, 1);
	__builtin_prefetch(slot + SHM_LINE, 1);
#endif
}

static void fetch_to_read(const uint8_t *slot)
{
	__builtin_prefetch(slot);
	__builtin_prefetch(slot + SHM_LINE);
}

/* --- producer: @own is the tail, @other the head -------------------------- */

static bool has_room(struct rfm_shm *shm)
{
	if (shm->own - shm->other == shm->size)
		see_other(shm, &shm->map->head, shm->shown - shm->other);
	return !shm->broken && shm->own - shm->other != shm->size;
}

uint8_t *rfm_shm_reserve(struct rfm_shm *shm)
{
	if (!has_room(shm))
		return NULL;
	fetch_to_write(slot_at(shm, shm->own + WRITE_AHEAD));
	return slot_at(shm, shm->own);
}

void rfm_shm_commit(struct rfm_shm *shm)
{
	shm->own++;
}

void rfm_shm_publish(struct rfm_shm *shm)
{
	if (shm->shown == shm->own)
		return;
	shm->shown = shm->own;
	atomic_store_explicit(&shm->map->tail, shm->own, memory_order_release);
	wake_if(&shm->map->consumer_sleeps, shm->fds[FD_DATA]);
}

bool rfm_shm_wait_room(struct rfm_shm *shm)
{
	rfm_shm_publish(shm);
	fall_asleep(&shm->map->producer_waits);
	if (!has_room(shm) && !shm->broken)
		return true;
	atomic_store_explicit(&shm->map->producer_waits, 0, memory_order_relaxed);
	return false;
}

/* --- consumer: @own is the head, @other the tail -------------------------- */

static bool has_data(struct rfm_shm *shm)
{
	if (shm->own == shm->other)
		see_other(shm, &shm->map->tail, shm->size - (shm->own - shm->shown));
	return !shm->broken && shm->own != shm->other;
}

int rfm_shm_take(struct rfm_shm *shm, uint8_t *slot)
{
	const uint8_t *from;

	if (!has_data(shm))
		return shm->broken ? -1 : 0;
	if (shm->other - shm->own > READ_AHEAD)
		fetch_to_read(slot_at(shm, shm->own + READ_AHEAD));
	from = slot_at(shm, shm->own++);
	memcpy(slot, from, SHM_FIRST);
	if (rfm_frame_length(slot) > SHM_FIRST)
		memcpy(slot + SHM_FIRST, from + SHM_FIRST, RFM_FRAME_MAX - SHM_FIRST);
	return 1;
}

void rfm_shm_release(struct rfm_shm *shm)
{
	if (shm->own == shm->shown || shm->own - shm->shown < shm->size / 8)
		return;
	shm->shown = shm->own;
	atomic_store_explicit(&shm->map->head, shm->own, memory_order_release);
	/*
	 * Not for every slot, or the two would take turns. As long as more
	 * than half is full, there is something to take, and we come again.
	 */
	if (shm->other - shm->own <= shm->size / 2)
		wake_if(&shm->map->producer_waits, shm->fds[FD_ROOM]);
}

bool rfm_shm_pending(const struct rfm_shm *shm)
{
	return shm->broken || shm->own != shm->other ||
	       atomic_load_explicit(&shm->map->tail, memory_order_relaxed) != shm->own;
}

bool rfm_shm_wait_data(struct rfm_shm *shm)
{
	fall_asleep(&shm->map->consumer_sleeps);
	if (!has_data(shm) && !shm->broken)
		return true;
	atomic_store_explicit(&shm->map->consumer_sleeps, 0, memory_order_relaxed);
	return false;
}
