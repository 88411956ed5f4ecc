// SPDX-License-Identifier: MIT
/* A card as a back end: every request is a call of the driver. */
#define _GNU_SOURCE 1		/* strerrordesc_np() */
#include "private.h"
#include "ring/memory.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The window of a card, mapped, from @offset of the memory on. */
struct window {
	volatile uint8_t *at;
	uint64_t offset, size;
};

/**
 * struct card - an open card
 * @narrow: its window is smaller than its memory, and may move
 * @threshold: fewer bytes go by @window; 0: none do
 * @window: once mapped, it is the same until the end; NULL: not mapped
 */
struct card {
	struct rfm rfm;
	int fd;
	int narrow;
	_Atomic size_t threshold;
	struct window *_Atomic window;
};

static const struct rfm_backend card_backend;

static void close_quietly(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

static struct card *to_card(const struct rfm *rfm)
{
	return (struct card *)(uintptr_t)rfm;
}

struct rfm *backend_card_open(const char *path, int flags)
{
	struct rfm_info info;
	struct card *card;
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return open_failed(errno, "cannot open %.200s: %s", path, strerrordesc_np(errno));
	/* What is no card says so here, not with the first thing asked of it. */
	card = ioctl(fd, RFM_IOC_INFO, &info) ? NULL : calloc(1, sizeof(*card));
	if (!card) {
		close_quietly(fd);
		return open_failed(errno, "%.200s: %s", path, rfm_error_text(errno));
	}
	card->rfm.backend = &card_backend;
	card->rfm.can = RFM_CAN_PUBLISH | RFM_CAN_FD | RFM_CAN_FORK | RFM_CAN_REGS |
			can_of(info.features);
	card->rfm.memory_size = info.memory_size;
	card->rfm.writable = flags == O_RDWR;
	card->fd = fd;
	card->narrow = info.window_size < info.memory_size;
	return &card->rfm;
}

static int card_call(struct rfm *rfm, unsigned long request, void *argument)
{
	return ioctl(to_card(rfm)->fd, request, argument);
}

static int card_fd(const struct rfm *rfm)
{
	return to_card(rfm)->fd;
}

static void *map_fd(int fd, int writable, uint64_t offset, size_t length)
{
	int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
	size_t lead = into_page(offset);
	char *map = mmap(NULL, length + lead, protection, MAP_SHARED, fd, offset - lead);

	return map == MAP_FAILED ? NULL : map + lead;
}

static void *card_map(struct rfm *rfm, uint64_t offset, size_t length)
{
	struct rfm_info before, info;
	void *map;

	if (rfm_info(rfm, &info))
		return NULL;
	/* The file shows the window, which does not move under a mapping, but before it. */
	for (;;) {
		before = info;
		if (offset < info.window_offset) {
			errno = EINVAL;
			return NULL;
		}
		map = map_fd(to_card(rfm)->fd, rfm->writable, offset - info.window_offset, length);
		if (!map)
			return NULL;
		if (!rfm_info(rfm, &info) && info.window_offset == before.window_offset)
			return map;
		rfm_unmap(map, length);
	}
}

/* --- transfers ------------------------------------------------------------------------ */

/*
 * A file of its own, whose mappings subscribe to nothing: the processor's stores and loads
 * are to be what the driver's would be, no more.
 */
static void *map_window(struct card *card, const struct rfm_info *info)
{
	struct rfm_subscribe none = { .flags = RFM_SUBSCRIBE_NO_MAPS };
	char path[32];
	void *map = NULL;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", card->fd);
	fd = open(path, (card->rfm.writable ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!ioctl(fd, RFM_IOC_SUBSCRIBE, &none) || errno == EOPNOTSUPP)
		map = map_fd(fd, card->rfm.writable, 0, info->window_size);
	close_quietly(fd);
	return map;
}

static void close_window(struct window *window)
{
	int error = errno;

	if (window && window->at)
		rfm_unmap((void *)window->at, window->size);
	free(window);
	errno = error;
}

static int open_window(struct card *card)
{
	struct window *window = calloc(1, sizeof(*window)), *none = NULL;
	struct rfm_info info;

	if (!window)
		return -1;
	if (!rfm_info(&card->rfm, &info)) {
		window->size = info.window_size;
		window->at = map_window(card, &info);
	}
	/* It does not move under a mapping, so what it shows is the same from now on. */
	if (!window->at || rfm_info(&card->rfm, &info)) {
		close_window(window);
		return -1;
	}
	window->offset = info.window_offset;
	/* Another thread may have been first. */
	if (!atomic_compare_exchange_strong(&card->window, &none, window))
		close_window(window);
	return 0;
}

static int card_set_threshold(struct rfm *rfm, size_t bytes)
{
	struct card *card = to_card(rfm);

	if (bytes && !atomic_load(&card->window) && open_window(card))
		return -1;
	atomic_store(&card->threshold, bytes);
	return 0;
}

/* Where these bytes are for the processor; NULL: they go through the driver. */
static volatile uint8_t *in_window(const struct card *card, uint64_t offset, size_t length)
{
	const struct window *window;

	if (length >= atomic_load_explicit(&card->threshold, memory_order_acquire))
		return NULL;
	window = atomic_load_explicit(&card->window, memory_order_relaxed);
	if (offset < window->offset ||
	    !range_is_inside(window->size, offset - window->offset, length))
		return NULL;
	return window->at + (offset - window->offset);
}

/* Where in the file a place of the memory is. */
static int position(struct rfm *rfm, uint64_t offset, uint64_t *at)
{
	struct rfm_info info = { 0 };

	if (to_card(rfm)->narrow && rfm_info(rfm, &info))
		return -1;
	if (offset < info.window_offset)
		return fail_with(EINVAL);
	*at = offset - info.window_offset;
	return 0;
}

/*
 * pread() or pwrite() as often as it takes; a signal ends one of them early, but not all: what
 * is half written would be of no use to anybody. @to: NULL to write
 */
static int transfer(struct rfm *rfm, uint64_t offset, void *to, const void *from, size_t length)
{
	int fd = to_card(rfm)->fd;
	uint64_t at;

	if (position(rfm, offset, &at))
		return -1;
	for (size_t done = 0; done < length;) {
		ssize_t some = to ? pread(fd, (char *)to + done, length - done, at + done) :
			       pwrite(fd, (const char *)from + done, length - done, at + done);

		if (some < 0 && errno == EINTR)
			continue;
		if (some < 0)
			return errno == ENOSPC || errno == EFBIG ? fail_with(EINVAL) : -1;
		if (!some)
			return fail_with(EINVAL);	/* behind the end */
		done += some;
	}
	return 0;
}

/*
 * Word by word: memcpy() may take any width, also one that the virtual machine monitor
 * cannot emulate.
 */
static int card_read(struct rfm *rfm, uint64_t offset, void *data, size_t length)
{
	const volatile uint8_t *from = in_window(to_card(rfm), offset, length);

	if (!from)
		return transfer(rfm, offset, data, NULL, length);
	rfm_memory_load(data, (const void *)from, length);
	return 0;
}

static int card_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length)
{
	volatile uint8_t *to = in_window(to_card(rfm), offset, length);

	if (!to)
		return transfer(rfm, offset, NULL, data, length);
	rfm_memory_store((void *)to, data, length);
	return 0;
}

/* A word at a multiple of its size is one access either way. */
static int card_load(struct rfm *rfm, uint64_t offset, void *word, size_t size)
{
	uint64_t value;

	if (card_read(rfm, offset, &value, size))
		return -1;
	memcpy(word, &value, size);
	return 0;
}

/* --- streams -------------------------------------------------------------------------- */

static int card_events_take(struct rfm_events *events, struct rfm_event *records, size_t count)
{
	ssize_t got = read(events->fd, records, count * sizeof(*records));

	return got < 0 ? -1 : (int)(got / sizeof(*records));
}

static int card_events_close(struct rfm_events *events)
{
	close_quietly(events->cancel_fd);
	close_quietly(events->fd);
	free(events);
	return 0;
}

static const struct rfm_events_ops card_events_ops = {
	.take = card_events_take,
	.close = card_events_close,
};

/*
 * The driver may know longer or shorter records than this library: it is told. And it is never
 * waited for in read(), which the kernel begins again after a handler with SA_RESTART.
 */
static void set_stream(unsigned long request, void *argument)
{
	struct rfm_memory_region *region = argument;
	struct rfm_listen *listen = argument;
	struct rfm_watch *watch = argument;

	if (request == RFM_IOC_LISTEN) {
		listen->record_size = sizeof(struct rfm_event);
		listen->flags |= RFM_LISTEN_NONBLOCK;
	} else if (request == RFM_IOC_WATCH) {
		watch->record_size = sizeof(struct rfm_event);
		watch->flags |= RFM_WATCH_NONBLOCK;
	} else {
		region->record_size = sizeof(struct rfm_event);
		region->flags |= RFM_MEMORY_NONBLOCK;
	}
}

/* Allocates first: a descriptor that nobody can hold would have to be undone. */
static struct rfm_events *card_stream(struct rfm *rfm, unsigned long request, void *argument)
{
	struct rfm_events *events = malloc(sizeof(*events));
	int fd, error;

	if (!events)
		return NULL;
	set_stream(request, argument);
	fd = card_call(rfm, request, argument);
	if (fd >= 0 && !events_init(events, &card_events_ops, fd))
		return events;
	error = errno;
	if (fd >= 0)
		close(fd);
	free(events);
	errno = error;
	return NULL;
}

static struct rfm_messages *card_listen_port(struct rfm *rfm, struct rfm_port_listen *listen)
{
	return card_port_listen(to_card(rfm)->fd, listen);
}

/* --- the end -------------------------------------------------------------------------- */

static int card_close(struct rfm *rfm)
{
	struct card *card = to_card(rfm);

	close_window(atomic_load(&card->window));
	close_quietly(card->fd);
	free(card);
	return 0;
}

static const struct rfm_backend card_backend = {
	.call = card_call,
	.stream = card_stream,
	.map = card_map,
	.read = card_read,
	.write = card_write,
	.load = card_load,
	.store = card_write,
	.set_threshold = card_set_threshold,
	.listen_port = card_listen_port,
	.fd = card_fd,
	.close = card_close,
};
