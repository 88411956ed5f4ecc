// SPDX-License-Identifier: MIT
/* Opening, mapping, subscribing, and asking the card. */
#define _GNU_SOURCE 1		/* versionsort() */
#include "private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Is it rfm0, rfm1, ...? */
static int is_card(const struct dirent *entry)
{
	const char *digits = entry->d_name + 3;

	return !strncmp(entry->d_name, "rfm", 3) && *digits &&
	       !digits[strspn(digits, "0123456789")];
}

/* Finds the card with the lowest number, -1 with errno if there is none. */
static int first_card(char *path, size_t size)
{
	struct dirent **cards;
	int count = scandir("/dev", &cards, is_card, versionsort);

	if (count < 0)
		return -1;
	if (count)
		snprintf(path, size, "/dev/%s", cards[0]->d_name);
	for (int i = 0; i < count; i++)
		free(cards[i]);
	free(cards);
	return count ? 0 : fail_with(ENOENT);
}

static void close_quietly(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

struct rfm *rfm_open(const char *path, int flags)
{
	struct rfm_info info;
	struct rfm *rfm;
	char first[sizeof("/dev/") + NAME_MAX];
	int fd;

	if (flags != O_RDONLY && flags != O_RDWR) {
		errno = EINVAL;
		return NULL;
	}
	if (!path) {
		if (first_card(first, sizeof(first)))
			return NULL;
		path = first;
	}
	fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return NULL;
	/* What is no card says so here, not with the first thing asked of it. */
	rfm = ioctl(fd, RFM_IOC_INFO, &info) ? NULL : malloc(sizeof(*rfm));
	if (!rfm) {
		close_quietly(fd);
		return NULL;
	}
	rfm->fd = fd;
	rfm->writable = flags == O_RDWR;
	return rfm;
}

void rfm_close(struct rfm *rfm)
{
	if (!rfm)
		return;
	close_quietly(rfm->fd);
	free(rfm);
}

int rfm_fd(const struct rfm *rfm)
{
	return rfm->fd;
}

int rfm_info(struct rfm *rfm, struct rfm_info *info)
{
	return ioctl(rfm->fd, RFM_IOC_INFO, info);
}

/* How far @address is into its page. */
static size_t into_page(uint64_t address)
{
	return address & (sysconf(_SC_PAGESIZE) - 1);
}

void *rfm_map(struct rfm *rfm, uint64_t offset, size_t length)
{
	int protection = rfm->writable ? PROT_READ | PROT_WRITE : PROT_READ;
	size_t lead = into_page(offset);
	struct rfm_info before, info;
	char *map;

	if (!length || length > SIZE_MAX - lead || offset > INT64_MAX) {
		errno = EINVAL;
		return NULL;
	}
	if (rfm_info(rfm, &info))
		return NULL;
	/* The file shows the window, which does not move under a mapping, but before it. */
	for (;;) {
		before = info;
		if (offset < info.window_offset) {
			errno = EINVAL;
			return NULL;
		}
		map = mmap(NULL, length + lead, protection, MAP_SHARED, rfm->fd,
			   offset - lead - info.window_offset);
		if (map == MAP_FAILED)
			return NULL;
		if (!rfm_info(rfm, &info) && info.window_offset == before.window_offset)
			return map + lead;
		munmap(map, length + lead);
	}
}

int rfm_unmap(void *address, size_t length)
{
	size_t lead = into_page((uintptr_t)address);

	if (!length || length > SIZE_MAX - lead)
		return fail_with(EINVAL);
	return munmap((char *)address - lead, length + lead);
}

static int subscription(struct rfm *rfm, unsigned long request, uint64_t offset, uint64_t length,
			uint32_t flags, uint32_t *result)
{
	struct rfm_subscribe subscribe = {
		.range = { .offset = offset, .length = length },
		.flags = flags,
	};

	if (ioctl(rfm->fd, request, &subscribe))
		return -1;
	if (result)
		*result = subscribe.result;
	return 0;
}

int rfm_subscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags,
		  uint32_t *result)
{
	return subscription(rfm, RFM_IOC_SUBSCRIBE, offset, length, flags, result);
}

int rfm_unsubscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags)
{
	return subscription(rfm, RFM_IOC_UNSUBSCRIBE, offset, length, flags, NULL);
}

int rfm_own(struct rfm *rfm, uint64_t offset, uint64_t length)
{
	return rfm_subscribe(rfm, offset, length, RFM_SUBSCRIBE_OWN, NULL);
}

int rfm_writer(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer)
{
	struct rfm_writer asked = { .offset = offset };

	if (ioctl(rfm->fd, RFM_IOC_WRITER, &asked))
		return -1;
	*writer = asked;
	return 0;
}

int rfm_counters(struct rfm *rfm, struct rfm_counters *counters)
{
	return ioctl(rfm->fd, RFM_IOC_COUNTERS, counters);
}

int rfm_ring_map(struct rfm *rfm, struct rfm_member *members, uint32_t count,
		 struct rfm_ring_map *map)
{
	struct rfm_ring_map asked = { .members = (uintptr_t)members, .count = count };

	if (ioctl(rfm->fd, RFM_IOC_RING_MAP, &asked))
		return -1;
	if (map)
		*map = asked;
	return 0;
}
