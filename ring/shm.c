// SPDX-License-Identifier: MIT
/*
 * What every change here must keep:
 *
 * - A slot is filled before the tail says so (release), and copied out after
 *   the tail was read (acquire). A slot is copied out before the head says so
 *   (release), and filled again after the head was read (acquire).
 * - Who goes to sleep says so, then looks once more; who has news shows them,
 *   then looks whether the other sleeps. Between the two stands a full fence
 *   on both sides, so at least one of them sees what the other did, and no
 *   wake-up is lost. Who wakes takes the word "asleep" back before the
 *   datagram is sent, so one sleep costs one system call.
 * - A consumer that sleeps says how many frames that are not urgent are worth
 *   waking it. The producer counts those that it has shown to one that sleeps;
 *   it forgets them when it sees it awake: then it takes them before it says
 *   again that it sleeps. One that has taken some without saying that it is
 *   awake may get a wake-up too many, never one too few.
 * - A descriptor that was handed over is one open file for both processes, and
 *   the other one can change its flags at any time: QEMU's chardev clears
 *   O_NONBLOCK when it takes descriptors in. With an eventfd there is no way
 *   round that, but each call on a socket can say for itself that it does not
 *   wait. A datagram socket does not end when the other end does, so its
 *   reader is not woken over and over; the stream beside it tells of that.
 * - A wake-up that finds the socket full is not needed: the one that filled it
 *   has still to be told of, or been told of, and then one is taken before its
 *   reader says again that it sleeps, and looks. So a reader that is told of
 *   edges takes one for each; some may lie there for ever.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_MAGIC	0x516d6672u	/* "rfmQ" in a dump */
#define SHM_VERSION	3
#define SHM_SLOTS_AT	4096		/* the slots begin after a page */
#define SHM_BEHIND	4096		/* bytes behind the last, for a train that begins there */
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
_Static_assert(SHM_BEHIND >= RFM_UNIT_MAX, "a train may begin in any slot");

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
		.bytes = SHM_SLOTS_AT + (uint64_t)slots * RFM_SHM_SLOT + SHM_BEHIND,
	};
}

void rfm_shm_init(struct rfm_shm *shm)
{
	*shm = (struct rfm_shm){ .fds = { -1, -1, -1 }, .offer = { -1, -1, -1 } };
}

void rfm_shm_close(struct rfm_shm *shm)
{
	if (shm->map)
		munmap(shm->map, header_of(shm->size).bytes);
	for (int i = 0; i < RFM_SHM_FDS; i++) {
		if (shm->fds[i] >= 0)
			close(shm->fds[i]);
		if (shm->offer[i] >= 0 && shm->offer[i] != shm->fds[i])
			close(shm->offer[i]);
	}
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

static bool create_memory(struct rfm_shm *shm, uint32_t slots)
{
	struct shm_header header = header_of(slots);
	int fd = memfd_create("rfm-queue", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	shm->fds[FD_MEMORY] = shm->offer[FD_MEMORY] = fd;
	if (fd < 0 || ftruncate(fd, header.bytes) || fcntl(fd, F_ADD_SEALS, SHM_SEALS) ||
	    !map_memory(shm, slots))
		return false;
	shm->map->header = header;
	return true;
}

static bool make_wake(struct rfm_shm *shm, int which)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends))
		return false;
	shm->fds[which] = ends[0];
	shm->offer[which] = ends[1];
	return true;
}

int rfm_shm_create(struct rfm_shm *shm, uint32_t slots)
{
	rfm_shm_init(shm);
	if (!slots_are_valid(slots)) {
		errno = EINVAL;
		return -1;
	}
	if (create_memory(shm, slots) && make_wake(shm, FD_DATA) && make_wake(shm, FD_ROOM))
		return 0;

	int error = errno;

	rfm_shm_close(shm);
	errno = error;
	return -1;
}

/* --- wake-ups: nothing here may wait -------------------------------------- */

/* If it takes no more, there is one that has not been answered yet: see above. */
static void wake(int fd)
{
	(void)!send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* One a time: a peer that sends them without end only wakes us without end. */
static void take_wake_up(int fd)
{
	char byte;

	(void)!recv(fd, &byte, sizeof(byte), MSG_DONTWAIT);
}

static bool has_option(int fd, int option, int wanted)
{
	socklen_t len = sizeof(int);
	int value;

	return !getsockopt(fd, SOL_SOCKET, option, &value, &len) && value == wanted;
}

static bool is_wake(int fd)
{
	return has_option(fd, SO_DOMAIN, AF_UNIX) && has_option(fd, SO_TYPE, SOCK_DGRAM);
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
		if (!is_wake(shm->fds[i]))
			return "a wake-up descriptor of the shared memory is not a datagram socket";
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

/* What the other side said when it went to sleep, 0: it is awake. */
static uint32_t look_whether_asleep(_Atomic uint32_t *asleep)
{
	/* Pairs with the fence in announce_sleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(asleep, memory_order_relaxed);
}

static void wake_sleeper(_Atomic uint32_t *asleep, int fd)
{
	atomic_store_explicit(asleep, 0, memory_order_relaxed);
	wake(fd);
}

static void announce_sleep(_Atomic uint32_t *asleep, uint32_t frames)
{
	atomic_store_explicit(asleep, frames, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

/*
 * Look at the other side's index again. It can only have gone on, by at most
 * @max; anything else is not true, and the queue is not touched any more.
 */
static void read_peer_index(struct rfm_shm *shm, const _Atomic uint32_t *index, uint32_t max)
{
	uint32_t now = atomic_load_explicit(index, memory_order_acquire);

	if (now - shm->peer_index > max)
		shm->broken = true;
	else
		shm->peer_index = now;
}

void rfm_shm_clear_wakeup(struct rfm_shm *shm, bool producer)
{
	struct rfm_shm_map *map = shm->map;

	atomic_store_explicit(producer ? &map->producer_waits : &map->consumer_sleeps, 0,
			      memory_order_relaxed);
	take_wake_up(shm->fds[producer ? FD_ROOM : FD_DATA]);
}

static uint8_t *slot_at(const struct rfm_shm *shm, uint32_t index)
{
	return shm->slots + (size_t)(index & (shm->size - 1)) * RFM_SHM_SLOT;
}

/* Ask for a slot's lines, to own them: a plain prefetch would only share them. */
static void prefetch_slot(const uint8_t *slot)
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

/* --- producer: @own_index is the tail, @peer_index the head -------------------------- */

static bool slots_have_room(struct rfm_shm *shm, unsigned int slots)
{
	if (shm->own_index - shm->peer_index + slots > shm->size)
		read_peer_index(shm, &shm->map->head, shm->published - shm->peer_index);
	return !shm->broken && shm->own_index - shm->peer_index + slots <= shm->size;
}

uint8_t *rfm_shm_reserve(struct rfm_shm *shm, unsigned int slots)
{
	if (!slots_have_room(shm, slots))
		return NULL;
	prefetch_slot(slot_at(shm, shm->own_index + WRITE_AHEAD));
	return slot_at(shm, shm->own_index);
}

void rfm_shm_commit(struct rfm_shm *shm, unsigned int slots, bool urgent)
{
	shm->own_index += slots;
	shm->urgent |= urgent;
}

void rfm_shm_publish(struct rfm_shm *shm)
{
	uint32_t shown = shm->own_index - shm->published, asleep;
	bool urgent = shm->urgent;

	if (!shown)
		return;
	shm->published = shm->own_index;
	shm->urgent = false;
	atomic_store_explicit(&shm->map->tail, shm->own_index, memory_order_release);
	asleep = look_whether_asleep(&shm->map->consumer_sleeps);
	shm->unwoken = asleep ? shm->unwoken + shown : 0;
	if (asleep && (urgent || shm->unwoken >= asleep)) {
		shm->unwoken = 0;
		wake_sleeper(&shm->map->consumer_sleeps, shm->fds[FD_DATA]);
	}
}

void rfm_shm_wake(struct rfm_shm *shm)
{
	if (!rfm_shm_owes_wake(shm))
		return;
	shm->unwoken = 0;
	if (look_whether_asleep(&shm->map->consumer_sleeps))
		wake_sleeper(&shm->map->consumer_sleeps, shm->fds[FD_DATA]);
}

bool rfm_shm_wait_room(struct rfm_shm *shm, unsigned int slots)
{
	rfm_shm_publish(shm);
	rfm_shm_wake(shm);
	announce_sleep(&shm->map->producer_waits, 1);
	if (!slots_have_room(shm, slots) && !shm->broken)
		return true;
	atomic_store_explicit(&shm->map->producer_waits, 0, memory_order_relaxed);
	return false;
}

/* --- consumer: @own_index is the head, @peer_index the tail -------------------------- */

static bool has_data(struct rfm_shm *shm)
{
	if (shm->own_index == shm->peer_index)
		read_peer_index(shm, &shm->map->tail, shm->size - (shm->own_index - shm->published));
	return !shm->broken && shm->own_index != shm->peer_index;
}

/*
 * What the first line in @slot says of the rest is that of the copy: it is not
 * looked up again. A train is shown as a whole, or not at all.
 */
static int take_rest(struct rfm_shm *shm, uint8_t *slot, const uint8_t *from,
		     bool (*knows)(void *opaque, const uint8_t *wire), void *opaque)
{
	int len = rfm_frame_length(slot);
	unsigned int slots;

	if (len <= SHM_FIRST)
		return 1;
	slots = rfm_frame_count(slot);
	if (slots > shm->peer_index - shm->own_index && slots > 1) {
		shm->broken = true;
		return -1;
	}
	if (slots == 1 || !knows || !knows(opaque, slot))
		memcpy(slot + SHM_FIRST, from + SHM_FIRST, len - SHM_FIRST);
	return slots;
}

int rfm_shm_take(struct rfm_shm *shm, uint8_t *slot,
		 bool (*knows)(void *opaque, const uint8_t *wire), void *opaque)
{
	const uint8_t *from;
	int slots;

	if (!has_data(shm))
		return shm->broken ? -1 : 0;
	if (shm->peer_index - shm->own_index > READ_AHEAD)
		fetch_to_read(slot_at(shm, shm->own_index + READ_AHEAD));
	from = slot_at(shm, shm->own_index);
	memcpy(slot, from, SHM_FIRST);
	slots = take_rest(shm, slot, from, knows, opaque);
	if (slots > 0)
		shm->own_index += slots;
	return slots;
}

void rfm_shm_release(struct rfm_shm *shm)
{
	if (shm->own_index == shm->published || shm->own_index - shm->published < shm->size / 8)
		return;
	shm->published = shm->own_index;
	atomic_store_explicit(&shm->map->head, shm->own_index, memory_order_release);
	/*
	 * Not for every slot, or the two would take turns. As long as more
	 * than half is full, there is something to take, and we come again.
	 */
	if (shm->peer_index - shm->own_index <= shm->size / 2 &&
	    look_whether_asleep(&shm->map->producer_waits))
		wake_sleeper(&shm->map->producer_waits, shm->fds[FD_ROOM]);
}

bool rfm_shm_pending(const struct rfm_shm *shm)
{
	return shm->broken || shm->own_index != shm->peer_index ||
	       atomic_load_explicit(&shm->map->tail, memory_order_relaxed) != shm->own_index;
}

bool rfm_shm_wait_data(struct rfm_shm *shm, uint32_t frames)
{
	shm->wake_frames = frames;
	announce_sleep(&shm->map->consumer_sleeps, frames);
	if (!has_data(shm) && !shm->broken)
		return true;
	atomic_store_explicit(&shm->map->consumer_sleeps, 0, memory_order_relaxed);
	return false;
}
