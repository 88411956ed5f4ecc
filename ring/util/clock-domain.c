// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/util/clock-domain.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "ring/crc32c.h"

#define LOOKS	3	/* the one counts that was disturbed least */

static uint64_t look_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Whose monotonic clock is ours? */
static uint32_t host_domain(void)
{
	char boot_id[64];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, boot_id, sizeof(boot_id));
	struct timespec t;

	if (fd >= 0)
		close(fd);
	if (len > 0)
		return rfm_crc32c(0, boot_id, len);
	/* Unknown: a domain of our own. */
	clock_gettime(CLOCK_REALTIME, &t);
	return rfm_crc32c(getpid(), &t, sizeof(t));
}

const char *rfm_tai_trouble(int state, const struct timex *timex)
{
	if (state < 0)
		return "the kernel does not tell (adjtimex) whether its clock is synchronised";
	if (state == TIME_ERROR || timex->status & STA_UNSYNC)
		return "the kernel's clock is not synchronised (STA_UNSYNC)";
	if (!timex->tai)
		return "the kernel does not know by how much TAI is ahead of UTC";
	return NULL;
}

/* What to add to CLOCK_MONOTONIC; @error: by how much that may be wrong. */
static uint64_t tai_offset(uint64_t *error)
{
	uint64_t offset = 0;

	*error = UINT64_MAX;
	for (int i = 0; i < LOOKS; i++) {
		uint64_t before = look_ns(CLOCK_MONOTONIC);
		uint64_t tai = look_ns(CLOCK_TAI);
		uint64_t took = look_ns(CLOCK_MONOTONIC) - before;

		if (took < *error) {
			*error = took;
			offset = tai - before - took / 2;
		}
	}
	return offset;
}

bool rfm_clock_look(struct rfm_clock *clock)
{
	const uint32_t domain = clock->domain;
	struct timex timex = { .modes = 0 };
	uint64_t error, offset, by;

	if (!clock->tai)
		return false;
	clock->trouble = rfm_tai_trouble(adjtimex(&timex), &timex);
	clock->error_ns = timex.maxerror * 1000ull;
	/* It may be CLOCK_TAI or not: it is the same one all over this host. */
	clock->domain = clock->trouble ? ~clock->host : RFM_CLOCK_DOMAIN_TAI;
	offset = tai_offset(&error);
	by = offset > clock->offset_ns ? offset - clock->offset_ns : clock->offset_ns - offset;
	if (by > error)
		clock->offset_ns = offset;
	return clock->domain != domain || by > error + RFM_CLOCK_STEP_NS;
}

void rfm_clock_init(struct rfm_clock *clock, bool tai)
{
	const uint32_t host = host_domain();

	*clock = (struct rfm_clock){ .tai = tai, .domain = host, .host = host };
	rfm_clock_look(clock);
}
