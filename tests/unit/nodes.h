/* SPDX-License-Identifier: MIT */
/* Two nodes of librfm in this process, on a ring of their own. */
#ifndef RFM_TESTS_UNIT_NODES_H
#define RFM_TESTS_UNIT_NODES_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/rings.h"
#include "tools/librfm/rfm/rfm.h"

static struct rfm *near, *far;
static char words[2][600];

static inline void name_node(int i, const char *more)
{
	snprintf(words[i], sizeof(words[i]),
		 "ring:?rx=unix:%s/%d,server&tx=unix:%s/%d&node=%d&size=1M%s", folder, i, folder,
		 1 - i, i + 1, more);
}

/* A node whose fibres lead nowhere. */
static inline const char *alone(int id)
{
	static char text[600];

	snprintf(text, sizeof(text), "ring:?rx=unix:%s/a%d,server&tx=unix:%s/b%d&node=%d&size=1M",
		 folder, id, folder, id, id);
	return text;
}

/* As far as @rfm can see, all that it stores is everywhere. */
static inline void wait_whole(struct rfm *rfm)
{
	uint64_t begun = now_ns();

	while (rfm_fence(rfm, 100, NULL))
		if (now_ns() - begun > PATIENCE_MS * 1000000ull)
			fail_msg("no ring: %s", strerror(errno));
}

static inline void open_pair_with(const char *near_more, const char *far_more)
{
	name_node(0, near_more);
	name_node(1, far_more);
	near = rfm_open(words[0], O_RDWR);
	far = rfm_open(words[1], O_RDWR);
	assert_true(near && far);
	wait_whole(near);
	wait_whole(far);
}

static inline void open_pair(void)
{
	open_pair_with("", "");
}

static inline void close_pair(void)
{
	assert_int_equal(rfm_close(near), 0);
	assert_int_equal(rfm_close(far), 0);
}

/* @value is stored, in a frame of its own, and everywhere. */
static inline void put(struct rfm *rfm, uint64_t offset, uint64_t value)
{
	assert_int_equal(rfm_store64(rfm, offset, value), 0);
	assert_int_equal(rfm_fence(rfm, PATIENCE_MS, NULL), 0);
}

static inline struct rfm_event next(struct rfm_events *events)
{
	struct rfm_event event;

	memset(&event, 0xa5, sizeof(event));
	assert_int_equal(rfm_events_wait(events, &event, 1, PATIENCE_MS), 1);
	return event;
}

static inline void nothing_more(struct rfm_events *events)
{
	struct rfm_event event;

	assert_int_equal(rfm_events_wait(events, &event, 1, 0), 0);
}

#endif
