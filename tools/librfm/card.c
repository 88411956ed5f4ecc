// SPDX-License-Identifier: MIT
/* A card as a back end: every request is a call of the driver. */
#include "private.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/**
 * struct card - an open card
 * @narrow: its window is smaller than its memory, and may move
 * @threshold: fewer bytes go by @window; 0: none do
 * @window: the whole of it, from @window_offset of the memory on; NULL: not mapped
 */
struct card {
	struct rfm rfm;
	int fd;
	int narrow;
	size_t threshold;
	volatile uint8_t *window;
	uint64_t window_offset, window_size;
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
		return open_failed(errno, "cannot open %.200s: %s", path, rfm_error_text(errno));
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

static int card_set_threshold(struct rfm *rfm, size_t bytes)
{
	struct card *card = to_card(rfm);
	struct rfm_info info;

	if (bytes && !card->window) {
		if (rfm_info(rfm, &info))
			return -1;
		card->window = map_window(card, &info);
		if (!card->window)
			return -1;
		/* It does not move under a mapping, so this holds from now on. */
		if (rfm_info(rfm, &info))
			return -1;
		card->window_offset = info.window_offset;
		card->window_size = info.window_size;
	}
	card->threshold = bytes;
	return 0;
}

/* Where these bytes are for the processor; NULL: they go through the driver. */
static volatile uint8_t *in_window(const struct card *card, uint64_t offset, size_t length)
{
	if (length >= card->threshold || offset < card->window_offset ||
	    !range_is_inside(card->window_size, offset - card->window_offset, length))
		return NULL;
	return card->window + (offset - card->window_offset);
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

/* How many bytes the next access takes: one word, aligned as it stands there. */
static size_t word_at(const volatile uint8_t *at, size_t left)
{
	size_t size = 8;

	while ((uintptr_t)at % size || size > left)
		size /= 2;
	return size;
}

/*
 * Not memcpy(), which may take any width, also one that the virtual machine monitor
 * cannot emulate.
 */
static void load_word(void *to, const volatile uint8_t *from, size_t size)
{
	uint64_t word;

	switch (size) {
	case 8:
		word = __atomic_load_n((const volatile uint64_t *)from, __ATOMIC_ACQUIRE);
		break;
	case 4:
		word = __atomic_load_n((const volatile uint32_t *)from, __ATOMIC_ACQUIRE);
		break;
	case 2:
		word = __atomic_load_n((const volatile uint16_t *)from, __ATOMIC_ACQUIRE);
		break;
	default:
		word = __atomic_load_n(from, __ATOMIC_ACQUIRE);
	}
	word = htole64(word);
	memcpy(to, &word, size);
}

static void store_word(volatile uint8_t *to, const void *from, size_t size)
{
	uint64_t word = 0;

	memcpy(&word, from, size);
	word = le64toh(word);
	switch (size) {
	case 8:
		__atomic_store_n((volatile uint64_t *)to, word, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((volatile uint32_t *)to, word, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((volatile uint16_t *)to, word, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n(to, word, __ATOMIC_RELEASE);
	}
}

/* pread() or pwrite() as often as it takes. @to: NULL to read */
static int transfer(struct rfm *rfm, uint64_t offset, void *to, const void *from, size_t length)
{
	int fd = to_card(rfm)->fd;
	uint64_t at;

	if (position(rfm, offset, &at))
		return -1;
	for (size_t done = 0; done < length;) {
		ssize_t some = to ? pread(fd, (char *)to + done, length - done, at + done) :
			       pwrite(fd, (const char *)from + done, length - done, at + done);

		if (some < 0)
			return errno == ENOSPC || errno == EFBIG ? fail_with(EINVAL) : -1;
		if (!some)
			return fail_with(EINVAL);	/* behind the end */
		done += some;
	}
	return 0;
}

static int card_read(struct rfm *rfm, uint64_t offset, void *data, size_t length)
{
	const volatile uint8_t *from = in_window(to_card(rfm), offset, length);
	uint8_t *to = data;

	if (!from)
		return transfer(rfm, offset, data, NULL, length);
	for (size_t size; length; length -= size, from += size, to += size) {
		size = word_at(from, length);
		load_word(to, from, size);
	}
	return 0;
}

static int card_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length)
{
	volatile uint8_t *to = in_window(to_card(rfm), offset, length);
	const uint8_t *from = data;

	if (!to)
		return transfer(rfm, offset, NULL, data, length);
	for (size_t size; length; length -= size, from += size, to += size) {
		size = word_at(to, length);
		store_word(to, from, size);
	}
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

static void card_events_close(struct rfm_events *events)
{
	close(events->fd);
	free(events);
}

static const struct rfm_events_ops card_events_ops = {
	.take = card_events_take,
	.close = card_events_close,
};

/* Allocates first: a descriptor that nobody can hold would have to be undone. */
static struct rfm_events *card_stream(struct rfm *rfm, unsigned long request, void *argument)
{
	struct rfm_events *events = malloc(sizeof(*events));
	int fd, error;

	if (!events)
		return NULL;
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

/* --- the end -------------------------------------------------------------------------- */

static int card_close(struct rfm *rfm)
{
	struct card *card = to_card(rfm);

	if (card->window)
		rfm_unmap((void *)card->window, card->window_size);
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
	.fd = card_fd,
	.close = card_close,
};
