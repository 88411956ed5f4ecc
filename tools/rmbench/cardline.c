// SPDX-License-Identifier: MIT
/*
 * The card's ways to another node.
 *
 * Behind the blocks there are two granules: the question, and the answer. Who answers sleeps at a
 * watch on the question. An asker first stores whom it asks and which way it is going to use, with
 * SWITCH; that node opens what it needs for that, and gives the word back. Other nodes have the
 * words, too: who answers there sleeps on.
 */
#include "cardline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/rfm.h>

#include "tools/common/clock.h"

#define SWITCH		(1ull << 63)
#define NODE_SHIFT	40			/* whom the word is for */
#define WAY_SHIFT	32
#define SIGNAL		RFM_EVENT_INT4		/* the kind that programs use least */
#define OVER		0xffffffffu		/* the number that ends interrupts */
#define SWITCH_NS	(10 * NSEC_PER_SEC)	/* a busy machine opens a watch within that */

enum { QUESTION, ANSWER };

static uint64_t at(unsigned int which)
{
	return (BENCH_AREA / 2) + which * RFM_GRANULE;
}

static volatile uint64_t *word(const struct bench_place *place, unsigned int which)
{
	return (volatile uint64_t *)(place->memory + at(which));
}

int place_open(struct bench_place *place, const char *device, uint64_t offset)
{
	struct rfm_info info = { 0 };

	place->offset = offset;
	place->fd = open(device, O_RDWR | O_CLOEXEC);
	if (place->fd < 0 || ioctl(place->fd, RFM_IOC_INFO, &info)) {
		fprintf(stderr, "rmbench: %s: %s\n", device,
			errno == ENOTTY ? "is no card" : strerror(errno));
		return -1;
	}
	if (offset % 4096 || info.window_size < BENCH_AREA ||
	    offset > info.window_size - BENCH_AREA) {
		fprintf(stderr, "rmbench: the offset must be a multiple of 4096, with 2 MiB of the "
			"card's %" PRIu64 " MiB behind it\n", (uint64_t)info.window_size >> 20);
		return -1;
	}
	place->node = info.node;
	place->memory = mmap(NULL, BENCH_AREA, PROT_READ | PROT_WRITE, MAP_SHARED, place->fd,
			     offset);
	if (place->memory != MAP_FAILED)
		return 0;
	fprintf(stderr, "rmbench: %s: cannot be mapped: %s\n", device, strerror(errno));
	return -1;
}

/* --- ways -------------------------------------------------------------------------------- */

static void take_step(const struct bench_line *line, const struct rfm_event *event)
{
	/* A card looks at its clock once for all that has come: what came last may seem too early. */
	int64_t transit = event->arrival_ns - event->origin_ns;

	if (line->step == CARD_WAKE)
		samples_add(line->steps, now_ns() - event->time_ns, 1);
	else if (!(event->flags & RFM_EVENT_AGE_UNKNOWN))
		samples_add(line->steps, transit > 0 ? transit : 0, 1);
}

static int watch_get(struct bench_line *line, uint32_t *number)
{
	struct rfm_event event;

	if (read(line->in, &event, sizeof(event)) != sizeof(event))
		return -1;
	if (line->steps)
		take_step(line, &event);
	memcpy(&line->last, event.bytes, sizeof(line->last));
	*number = line->last;
	return 0;
}

static int interrupt_put(struct bench_line *line, uint32_t number)
{
	struct rfm_send send = { .node = line->node, .type = SIGNAL, .data = number };

	return ioctl(line->out, RFM_IOC_SEND, &send);
}

static int interrupt_get(struct bench_line *line, uint32_t *number)
{
	struct rfm_event event;

	if (read(line->in, &event, sizeof(event)) != sizeof(event))
		return -1;
	line->node = event.node;
	*number = event.data;
	return 0;
}

static int open_watch(const struct bench_place *place, unsigned int which)
{
	struct rfm_range range = { place->offset + at(which), sizeof(uint64_t) };
	struct rfm_watch watch = {
		.ranges = (uintptr_t)&range, .count = 1, .flags = RFM_WATCH_CLOEXEC,
		.record_size = sizeof(struct rfm_event),
	};

	return ioctl(place->fd, RFM_IOC_WATCH, &watch);
}

static int open_listener(const struct bench_place *place)
{
	struct rfm_listen listen = {
		.types = RFM_EVENT_BIT(SIGNAL), .flags = RFM_LISTEN_CLOEXEC | RFM_LISTEN_DISCARD,
		.record_size = sizeof(struct rfm_event),
	};

	return ioctl(place->fd, RFM_IOC_LISTEN, &listen);
}

/* One that is @way, and learns of what comes at @which. */
static int open_line(struct bench_line *line, const struct bench_place *place, enum card_way way,
		     unsigned int which)
{
	*line = (struct bench_line){
		.put = way == CARD_INTERRUPT ? interrupt_put : line_poll_put,
		.get = way == CARD_INTERRUPT ? interrupt_get :
		       way == CARD_POLL ? line_poll_get : watch_get,
		.in = -1, .out = place->fd,
		.polled = word(place, which), .stored = word(place, !which),
		.last = *word(place, which),
	};
	if (way == CARD_POLL)
		return 0;
	line->in = way == CARD_INTERRUPT ? open_listener(place) : open_watch(place, which);
	return line->in < 0 ? -1 : 0;
}

static void close_line(struct bench_line *line)
{
	if (line->in >= 0)
		close(line->in);
}

/* --- who asks ---------------------------------------------------------------------------- */

/* The other is ready for this way. */
static int tell_way(const struct bench_place *place, unsigned int node, enum card_way way)
{
	uint64_t begin = now_ns();
	uint64_t told = SWITCH | (uint64_t)node << NODE_SHIFT | (uint64_t)way << WAY_SHIFT |
			(begin >> 10 & 0xffffffff);

	*word(place, QUESTION) = told;
	while (*word(place, ANSWER) != told) {
		if (now_ns() - begin > SWITCH_NS) {
			errno = ETIMEDOUT;
			return -1;
		}
		usleep(100);
	}
	return 0;
}

int card_ask(const struct bench_place *place, unsigned int node, enum card_way way,
	     enum card_step step, uint64_t for_ns, struct bench_samples *samples)
{
	struct bench_samples whole = { 0 };
	struct bench_line line;
	int result;

	if (tell_way(place, node, way))
		return -1;
	if (open_line(&line, place, way, ANSWER))
		return -1;
	line.node = node;
	line.step = step;
	line.steps = step == CARD_WHOLE ? NULL : samples;
	result = line_ask(&line, for_ns, step == CARD_WHOLE ? samples : &whole);
	free(whole.kept);
	if (way == CARD_INTERRUPT && !result)
		result = line.put(&line, OVER);
	close_line(&line);
	return result || tell_way(place, node, CARD_IDLE) ? -1 : 0;
}

/* --- who answers ------------------------------------------------------------------------- */

static bool for_us(const struct bench_place *place, uint64_t word)
{
	return word & SWITCH && (word >> NODE_SHIFT & 0xff) == place->node;
}

/*
 * Until another way is told, or the asker is silent, or asks another node; @told: by which word,
 * 0 if we were not told.
 */
static int serve(const struct bench_place *place, struct bench_line *line, enum card_way way,
		 uint64_t *told)
{
	unsigned int silent = 0;
	uint32_t number;

	*told = 0;
	while (way == CARD_IDLE || silent < LINE_TICKS) {
		if (line->get(line, &number)) {
			if (errno != EINTR)
				return -1;
			silent++;
			continue;
		}
		silent = 0;
		/* Numbers are for a node that has been told a way. */
		if (way == CARD_IDLE && !for_us(place, line->last))
			continue;
		if (way == CARD_INTERRUPT && number == OVER)
			return 0;
		if (way != CARD_INTERRUPT && line->last & SWITCH) {
			*told = for_us(place, line->last) ? line->last : 0;
			return 0;
		}
		if (line->put(line, number))
			return -1;
	}
	return 0;
}

int card_answer(const struct bench_place *place)
{
	uint64_t told = 0, known = *word(place, QUESTION), now;
	enum card_way way = CARD_IDLE;
	bool ready = false;
	struct bench_line line;

	line_start_ticking();
	for (;;) {
		if (open_line(&line, place, way, QUESTION))
			return -1;
		if (!ready) {
			puts("ready");
			fflush(stdout);
			ready = true;
		}
		if (told)
			*word(place, ANSWER) = known = told;
		/* What was told while nobody watched, behind interrupts. */
		now = *word(place, QUESTION);
		if (way == CARD_IDLE && for_us(place, now) && now != known)
			told = now;
		else if (serve(place, &line, way, &told))
			return -1;
		close_line(&line);
		way = told >> WAY_SHIFT & 0xff;
	}
}
