// SPDX-License-Identifier: MIT
/*
 * Mappings of a node in this process. A store there is nobody's call, so programs are shown a
 * copy of the memory, and what differs from what was last seen there is what they have stored:
 * it is looked for at every call and after SCAN_US. The order of stores between two looks is
 * lost; nothing else is: what other nodes store comes in its order, as soon as it has arrived.
 *
 * Three copies, of which only pages that somebody has touched take room: @memory, the node's;
 * @shown, the program's; @seen, the last state of @shown that was looked at. A byte of @shown
 * that is not as @seen was stored by the program, and so was one that @late marks, for which
 * the ring had no room then. A byte that both have stored at once has two writers, of which
 * the ring's rules promise nothing.
 */
#define _GNU_SOURCE 1		/* memfd_create(), mincore() */
#include "private.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define SCAN_US		1000u	/* RFM2G_SCAN_US in the environment is used instead */
#define SCAN_US_MAX	60000000u
#define UPDATES		16384	/* that may wait to be taken in */
#define BATCH		64
#define WORDS		(RFM2G_PAGE / 8)
#define PAGES_AT_ONCE	1024

/* @address: NULL: unmapped, but not everything that was stored there is on its way. */
struct mapping {
	struct mapping *next;
	char *address;
	uint64_t offset, length;
};

/**
 * struct view - what programs see of a node's memory
 * @fd: of @shown
 * @dropped: updates that found no room, as far as told
 * @stop: an eventfd that ends the thread
 * @late: 0xff for each byte that is stored here, and for which the ring had no room
 * @is_stuck: the ring had no room for what was found last
 * @is_late: something is in @late; the user has been told
 *
 * Everything is with @lock.
 */
struct view {
	struct rfm *rfm;
	uint64_t size;
	pthread_mutex_t lock;
	int fd, stop;
	uint64_t *shown, *seen, *late;
	const uint64_t *memory;
	struct rfm_events *updates;
	uint64_t dropped;
	struct mapping *mappings;
	bool is_stuck, is_late;
	pthread_t thread;
	unsigned int scan_us;
};

/* Bytes of @seen to be stored, one behind the other. */
struct run {
	uint64_t offset;
	size_t length;
};

/* --- from the ring to the program: all with view->lock ----------------------------- */

/* Those bytes of word @at that @mask has become @value for all. */
static void show_word(struct view *view, uint64_t at, uint64_t value, uint64_t mask)
{
	uint64_t before = __atomic_load_n(&view->shown[at], __ATOMIC_RELAXED), after;

	/* The program may store to another byte of it at this moment. */
	do {
		after = (before & ~mask) | (value & mask);
	} while (!__atomic_compare_exchange_n(&view->shown[at], &before, after, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	view->seen[at] = (view->seen[at] & ~mask) | (value & mask);
	/* What was stored here before is not to follow it. */
	if (view->is_late)
		view->late[at] &= ~mask;
}

static void show_bytes(struct view *view, uint64_t offset, const uint8_t *bytes, size_t length)
{
	while (length) {
		size_t lead = offset % 8, some = length < 8 - lead ? length : 8 - lead;
		uint64_t value = 0, mask = 0;

		memcpy((uint8_t *)&value + lead, bytes, some);
		memset((uint8_t *)&mask + lead, 0xff, some);
		show_word(view, offset / 8, value, mask);
		offset += some;
		bytes += some;
		length -= some;
	}
}

/* 0xff for each byte in which they differ. */
static uint64_t different_bytes(uint64_t a, uint64_t b)
{
	uint64_t bits = a ^ b;

	bits |= bits >> 4 & 0x0f0f0f0f0f0f0f0full;
	bits |= bits >> 2 & 0x3f3f3f3f3f3f3f3full;
	bits |= bits >> 1 & 0x7f7f7f7f7f7f7f7full;
	return (bits & 0x0101010101010101ull) * 0xff;
}

/* These bytes as they stand in the node's memory now. */
static void show_memory(struct view *view, uint64_t from, uint64_t to)
{
	for (uint64_t at = from / 8; at * 8 < to; at++) {
		uint64_t value = __atomic_load_n(&view->memory[at], __ATOMIC_ACQUIRE);
		uint64_t mask = different_bytes(value, view->seen[at]);

		if (at * 8 < from)
			mask &= ~0ull << 8 * (from % 8);
		if (at * 8 + 8 > to)
			mask &= ~0ull >> 8 * (8 - to % 8);
		if (mask)
			show_word(view, at, value, mask);
	}
}

static bool is_mapped(const struct view *view, uint64_t offset)
{
	const struct mapping *map = view->mappings;

	while (map && offset - map->offset >= map->length)
		map = map->next;
	return map;
}

/*
 * All pages of @map that the node's memory has become what programs see. Of a new one, those
 * that are mapped already are left: what others have stored there comes in its order.
 */
static void show_mapping(struct view *view, const struct mapping *map, bool is_new)
{
	uint64_t page = map->offset / RFM2G_PAGE, end = page + map->length / RFM2G_PAGE;
	unsigned char there[PAGES_AT_ONCE];

	while (page < end) {
		uint64_t some = end - page < PAGES_AT_ONCE ? end - page : PAGES_AT_ONCE;

		/* If it does not tell, all may be there. */
		if (mincore((void *)(view->memory + page * WORDS), some * RFM2G_PAGE, there))
			memset(there, 1, some);
		for (uint64_t i = 0; i < some; i++) {
			uint64_t at = (page + i) * RFM2G_PAGE;

			if (there[i] & 1 && !(is_new && is_mapped(view, at)))
				show_memory(view, at, at + RFM2G_PAGE);
		}
		page += some;
	}
}

/* The part of an update that is mapped. */
static void show_update(struct view *view, const struct rfm_event *update)
{
	uint64_t begin = update->offset, end = begin + update->length;

	for (const struct mapping *map = view->mappings; map; map = map->next) {
		uint64_t from = begin > map->offset ? begin : map->offset;
		uint64_t to = end < map->offset + map->length ? end : map->offset + map->length;

		if (from < to)
			show_bytes(view, from, update->bytes + (from - begin), to - from);
	}
}

/* In the order in which they have come; if some are missing, all is looked at. */
static void take_updates(struct view *view)
{
	struct rfm_event update[BATCH];
	bool missing = false;
	int got;

	do {
		got = rfm_events_wait(view->updates, update, BATCH, 0);
		for (int i = 0; i < got; i++) {
			missing |= update[i].dropped != view->dropped;
			view->dropped = update[i].dropped;
			show_update(view, &update[i]);
		}
	} while (got == BATCH);
	for (const struct mapping *map = view->mappings; missing && map; map = map->next)
		show_mapping(view, map, false);
}

/* --- from the program to the ring: all with view->lock ----------------------------- */

static void send_run(struct view *view, struct run *run)
{
	const uint8_t *bytes = (const uint8_t *)view->seen + run->offset;

	if (run->length && rfm_write(view->rfm, run->offset, bytes, run->length)) {
		memset((uint8_t *)view->late + run->offset, 0xff, run->length);
		if (!view->is_late)
			say_error("stores to a mapping wait: %s", rfm_error_text(errno));
		view->is_stuck = view->is_late = true;
	}
	run->length = 0;
}

/*
 * The least aligned unit of a word that has all that differs in it: what was stored as one
 * is sent as one, and what is beside it may be another node's.
 */
static void send_word(struct view *view, struct run *run, uint64_t at, uint64_t value,
		      uint64_t mask)
{
	unsigned int first = __builtin_ctzll(mask) / 8, last = 7 - __builtin_clzll(mask) / 8;
	unsigned int size = 1;

	while (first / size != last / size)
		size *= 2;
	first -= first % size;
	if (run->length && run->offset + run->length != at * 8 + first)
		send_run(view, run);
	if (view->is_stuck)
		return;
	if (!run->length)
		run->offset = at * 8 + first;
	run->length += size;
	memcpy((uint8_t *)&view->seen[at] + first, (const uint8_t *)&value + first, size);
	if (view->is_late)
		memset((uint8_t *)&view->late[at] + first, 0, size);
}

static void send_page(struct view *view, uint64_t page)
{
	struct run run = { .length = 0 };

	if (!view->is_late &&
	    !memcmp(view->shown + page * WORDS, view->seen + page * WORDS, RFM2G_PAGE))
		return;
	for (uint64_t at = page * WORDS; at < (page + 1) * WORDS; at++) {
		uint64_t value = __atomic_load_n(&view->shown[at], __ATOMIC_ACQUIRE);
		uint64_t mask = different_bytes(value, view->seen[at]);

		if (view->is_stuck)
			return;
		if (view->is_late)
			mask |= view->late[at];
		if (mask)
			send_word(view, &run, at, value, mask);
	}
	send_run(view, &run);
}

/* What the program has stored between @at and @end: pages that nobody has touched are holes. */
static void send_range(struct view *view, off_t at, off_t end)
{
	while (at < end) {
		off_t hole;

		at = lseek(view->fd, at, SEEK_DATA);
		if (at < 0 || at >= end)
			return;
		hole = lseek(view->fd, at, SEEK_HOLE);
		if (hole < 0 || hole > end)
			hole = end;
		for (; at < hole && !view->is_stuck; at = (at / RFM2G_PAGE + 1) * RFM2G_PAGE)
			send_page(view, at / RFM2G_PAGE);
		if (view->is_stuck)
			return;
	}
}

static void sync_all(struct view *view)
{
	struct mapping **at = &view->mappings, *map;

	take_updates(view);
	view->is_stuck = false;
	for (map = view->mappings; map && !view->is_stuck; map = map->next)
		send_range(view, map->offset, map->offset + map->length);
	view->is_late = view->is_stuck;
	while (!view->is_stuck && (map = *at)) {
		if (map->address) {
			at = &map->next;
		} else {
			*at = map->next;
			free(map);
		}
	}
}

/* --- the thread -------------------------------------------------------------------- */

static void *run_view(void *of)
{
	struct view *view = of;
	struct pollfd fds[2] = {
		{ .fd = view->stop, .events = POLLIN },
		{ .fd = rfm_events_fd(view->updates), .events = POLLIN },
	};
	uint64_t next = 0, now;

	for (;;) {
		uint64_t left, begun = clock_now();
		struct timespec patience;

		left = next > begun ? next - begun : 0;
		patience = (struct timespec){ left / 1000000000, left % 1000000000 };
		if (ppoll(fds, 2, &patience, NULL) > 0 && fds[0].revents)
			return NULL;
		now = clock_now();
		pthread_mutex_lock(&view->lock);
		if (now < next) {
			take_updates(view);
		} else {
			sync_all(view);
			/* A large mapping takes a fifth of the processor at most. */
			begun = clock_now();
			next = begun + view->scan_us * 1000ull;
			if (next < begun + 4 * (begun - now))
				next = begun + 4 * (begun - now);
		}
		pthread_mutex_unlock(&view->lock);
	}
}

static int start_thread(struct view *view)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&view->thread, NULL, run_view, view);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error ? -1 : 0;
}

/* --- life -------------------------------------------------------------------------- */

static unsigned int scan_time(void)
{
	const char *text = getenv("RFM2G_SCAN_US");
	char *end;
	unsigned long us;

	if (!text || !*text)
		return SCAN_US;
	us = strtoul(text, &end, 10);
	if (!*end && us && us <= SCAN_US_MAX)
		return us;
	say_error("RFM2G_SCAN_US is 1 to %u", SCAN_US_MAX);
	return SCAN_US;
}

static void say_once(const struct view *view)
{
	static bool said;

	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		fprintf(stderr, "librfm2g: a node in this process finds stores to a mapping every "
			"%u us and at each call; their order in between is not kept\n",
			view->scan_us);
}

static void *map_copy(uint64_t size, int flags, int fd)
{
	void *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, fd, 0);

	return copy == MAP_FAILED ? NULL : copy;
}

static void free_view(struct view *view)
{
	int error = errno;

	rfm_events_close(view->updates);
	if (view->memory)
		rfm_unmap((void *)view->memory, view->size);
	if (view->shown)
		munmap(view->shown, view->size);
	if (view->seen)
		munmap(view->seen, view->size);
	if (view->late)
		munmap(view->late, view->size);
	if (view->fd >= 0)
		close(view->fd);
	if (view->stop >= 0)
		close(view->stop);
	pthread_mutex_destroy(&view->lock);
	free(view);
	errno = error;
}

static struct view *new_view(struct board *board)
{
	struct view *view = calloc(1, sizeof(*view));
	struct rfm_range all = { .length = board->memory_size };
	struct rfm_watch watch;

	if (!view)
		return NULL;
	view->rfm = board->rfm;
	view->size = board->memory_size;
	view->scan_us = scan_time();
	pthread_mutex_init(&view->lock, NULL);
	view->stop = eventfd(0, EFD_CLOEXEC);
	view->fd = memfd_create("rfm2g", MFD_CLOEXEC);
	rfm_watch_init(&watch, &all, 1);
	watch.depth = UPDATES;
	view->updates = rfm_watch_with(board->rfm, &watch);
	view->memory = rfm_map(board->rfm, 0, view->size);
	view->seen = map_copy(view->size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	view->late = map_copy(view->size, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (view->fd >= 0 && !ftruncate(view->fd, view->size))
		view->shown = map_copy(view->size, MAP_SHARED, view->fd);
	if (view->stop < 0 || !view->updates || !view->memory || !view->seen || !view->late ||
	    !view->shown || start_thread(view)) {
		free_view(view);
		return NULL;
	}
	say_once(view);
	return view;
}

void view_close(struct view *view)
{
	const uint64_t one = 1;
	struct mapping *map;

	if (!view)
		return;
	if (write(view->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(view->thread, NULL);
	sync_all(view);
	/* What the program still sees stays as it is. */
	while ((map = view->mappings)) {
		view->mappings = map->next;
		free(map);
	}
	free_view(view);
}

static struct view *view_of(struct board *board)
{
	return __atomic_load_n(&board->view, __ATOMIC_ACQUIRE);
}

void view_lock(struct view *view)
{
	if (view)
		pthread_mutex_lock(&view->lock);
}

void view_unlock(struct view *view)
{
	if (view)
		pthread_mutex_unlock(&view->lock);
}

/* --- for the calls ----------------------------------------------------------------- */

bool view_sync(struct board *board)
{
	struct view *view = view_of(board);
	bool done;

	if (!view)
		return true;
	view_lock(view);
	sync_all(view);
	done = !view->is_stuck;
	view_unlock(view);
	return done;
}

void view_send(struct board *board, uint64_t offset, uint64_t length)
{
	struct view *view = view_of(board);

	if (!view)
		return;
	view_lock(view);
	view->is_stuck = false;
	send_range(view, offset, offset + length);
	view_unlock(view);
}

void view_take(struct board *board)
{
	struct view *view = view_of(board);

	if (!view)
		return;
	view_lock(view);
	take_updates(view);
	view_unlock(view);
}

void view_stored(struct board *board, uint64_t offset, uint64_t length)
{
	struct view *view = view_of(board);

	if (!view || !length)
		return;
	view_lock(view);
	for (const struct mapping *map = view->mappings; map; map = map->next) {
		uint64_t end = offset + length, map_end = map->offset + map->length;
		uint64_t from = offset > map->offset ? offset : map->offset;
		uint64_t to = end < map_end ? end : map_end;

		if (from < to)
			show_memory(view, from, to);
	}
	view_unlock(view);
}

void *view_map(struct board *board, uint64_t offset, size_t length)
{
	struct mapping *map = malloc(sizeof(*map));
	struct view *view;

	if (!map)
		return NULL;
	pthread_mutex_lock(&board->lock);
	if (!board->view)
		__atomic_store_n(&board->view, new_view(board), __ATOMIC_RELEASE);
	view = board->view;
	pthread_mutex_unlock(&board->lock);
	*map = (struct mapping){ .offset = offset, .length = length, .address = MAP_FAILED };
	if (view)
		map->address = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, view->fd,
				    offset);
	if (map->address == MAP_FAILED) {
		free(map);
		return NULL;
	}
	view_lock(view);
	take_updates(view);
	show_mapping(view, map, true);
	map->next = view->mappings;
	view->mappings = map;
	/* They may be older than what is shown: nobody sees that yet. */
	take_updates(view);
	view_unlock(view);
	return map->address;
}

bool view_unmap(struct board *board, void *address, size_t length)
{
	struct view *view = view_of(board);
	struct mapping *map;
	bool found;

	if (!view)
		return false;
	view_lock(view);
	for (map = view->mappings; map && map->address != address; map = map->next)
		;
	found = map && map->length == length;
	if (found) {
		munmap(address, length);
		map->address = NULL;
		sync_all(view);
	}
	view_unlock(view);
	return found;
}
