// SPDX-License-Identifier: MIT
/*
 * display [--card PATH] [--seconds N] [--json] [--silence-ms MS]: draws the tank of plant.c.
 *
 * It subscribes to the state and to nothing else: on a card with base policy none its
 * memory keeps whatever else was there. A value that is not known to be new is never
 * drawn as if it were: *stale*.
 *
 * Exit status: 0 it showed something new; 3 it never did; 1 an error; 2 bad usage. With
 * --json nothing is drawn; an object a line for each change instead:
 *
 *	{"event": "waiting" | "fresh" | "stale" | "end", "time_ns": ..., "silent_for_ns": ...,
 *	 "level": ..., "valve": ..., "mode": "running"}
 */
#include <unistd.h>

#include "layout.h"

#define BAR		40	/* characters, for 2 m */
#define DRAW_NS		(100 * MS)

static const char *const modes[] = {
	[LOOP_WAITING] = "waiting",
	[LOOP_RUNNING] = "running",
	[LOOP_SAFE] = "safe",
	[LOOP_STOPPED] = "stopped",
};

struct display {
	struct loop_options options;
	struct rfm_place place;
	const void *state_at;
	struct rfm_events *watch;
	struct loop_state state;	/* the last that could be read */
	bool stale, shown;
	uint64_t arrival_ns;		/* of what is shown, on the card's clock */
	uint64_t shown_ns, drawn_ns;	/* on this machine's */
	uint64_t said_mode;
};

static const char *mode_name(const struct display *display)
{
	return display->state.mode <= LOOP_STOPPED ? modes[display->state.mode] : "?";
}

static void say(struct display *display, const char *event, uint64_t silent_for)
{
	display->said_mode = display->state.mode;
	if (!display->options.json)
		return;
	printf("{\"event\": \"%s\", \"time_ns\": %llu, \"silent_for_ns\": %llu, \"level\": %.4f, "
	       "\"valve\": %.4f, \"mode\": \"%s\"}\n",
	       event, (unsigned long long)loop_now(), (unsigned long long)silent_for,
	       display->state.level, display->state.valve, mode_name(display));
	fflush(stdout);
}

/*   [#################|##                    ] 1.02 m  valve  51 %  running   */
static void draw(struct display *display, uint64_t now)
{
	const struct loop_state *state = &display->state;
	char bar[BAR + 1] = "";
	char age[40] = "";
	int i, mark = state->setpoint / 2 * BAR;

	for (i = 0; i < BAR; i++)
		bar[i] = i == mark ? '|' : i < state->level / 2 * BAR ? '#' : ' ';
	if (display->stale && display->shown)
		snprintf(age, sizeof(age), "  *stale* for %.1f s", (now - display->shown_ns) / 1e9);
	else if (display->stale)
		snprintf(age, sizeof(age), "  *stale*");
	/* One line, again and again; where it goes to a file, a line each. */
	printf(isatty(STDOUT_FILENO) ? "\r[%s] %.2f m  valve %3.0f %%  %s%s\033[K" :
	       "[%s] %.2f m  valve %3.0f %%  %s%s\n", bar, state->level, state->valve * 100,
	       mode_name(display), age);
	fflush(stdout);
	display->drawn_ns = now;
}

static void show(struct display *display, const struct rfm_event *event)
{
	uint64_t silent_for = display->shown ? event->arrival_ns - display->arrival_ns : 0;
	struct loop_state state;

	/* Damaged, or the next is coming: the last one stays, for a while. */
	if (rfm_record_read(display->state_at, &state, sizeof(state), NULL))
		return;
	display->state = state;
	display->arrival_ns = event->arrival_ns;
	display->shown_ns = event->time_ns;
	if (display->stale || state.mode != display->said_mode)
		say(display, "fresh", silent_for);
	display->stale = false;
	display->shown = true;
}

static void go_stale(struct display *display, uint64_t silent_for)
{
	if (!display->stale)
		say(display, "stale", silent_for);
	display->stale = true;
}

static void open_display(struct display *display, struct rfm *rfm)
{
	const struct rfm_place *place = &display->place;
	struct loop_state before;

	/* A mapping would subscribe to its whole pages; the state is 64 bytes. */
	if (rfm_subscribe(rfm, 0, 0, RFM_SUBSCRIBE_NO_MAPS, NULL) ||
	    rfm_subscribe(rfm, place->offset, place->length, RFM_SUBSCRIBE_RX, NULL))
		err(1, "cannot subscribe to the state");
	display->state_at = rfm_map(rfm, place->offset, place->length);
	if (!display->state_at)
		err(1, "cannot map the memory");
	display->watch = loop_watch(rfm, &display->options, place->offset,
				    sizeof(struct loop_state));
	/* What the memory has may be of yesterday. */
	display->stale = true;
	if (!rfm_record_read(display->state_at, &before, sizeof(before), NULL))
		display->state = before;
	say(display, "waiting", 0);
}

int main(int argc, char **argv)
{
	struct display display = { .options = LOOP_DEFAULTS };
	struct rfm_event records[16];
	uint64_t start, now;
	struct rfm *rfm;

	loop_begin(argc, argv, &display.options);
	display.place = layout_find().state;
	rfm = loop_open(&display.options, O_RDONLY);
	open_display(&display, rfm);

	start = loop_now();
	while (!loop_over(&display.options, start)) {
		int n = rfm_events_wait(display.watch, records, 16, DRAW_NS / MS);

		if (n < 0 && errno != EINTR)
			err(1, "cannot wait for the plant");
		for (int i = 0; i < n; i++) {
			if (records[i].type == RFM_EVENT_STALE)
				go_stale(&display, records[i].age_ns);
			else if (records[i].type == RFM_EVENT_UPDATE)
				show(&display, &records[i]);
		}
		now = loop_now();
		/* States come, so the card is content, but none that can be read. */
		if (now - display.shown_ns > 2e6 * display.options.silence_ms)
			go_stale(&display, now - display.shown_ns);
		if (!display.options.json && now - display.drawn_ns >= DRAW_NS)
			draw(&display, now);
	}
	say(&display, "end", 0);
	if (!display.options.json)
		puts("");
	rfm_events_close(display.watch);
	rfm_unmap((void *)display.state_at, display.place.length);
	rfm_close(rfm);
	return display.shown ? 0 : 3;
}
