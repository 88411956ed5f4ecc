// SPDX-License-Identifier: MIT
/*
 * plant [--card PATH] [--seconds N] [--json] [--silence-ms MS] [--margin-ms MS]: a water tank.
 *
 * Every 10 ms: takes the controller's output, computes the level, publishes its state.
 *
 * Safe state: the valve is shut, so the tank runs empty, whatever the last output said.
 * The plant begins in it, goes there when the output is stale, and leaves it only for an
 * output that was computed from a state of this stay: never for one that had been on
 * its way. It must be reached --silence-ms and --margin-ms after the last output; a
 * plant that has none when half of the margin is over, and was not told that it is stale,
 * goes there on its own.
 *
 * Exit status: 0 ended by time or signal; 3 the safe state was once reached too late; 1 an
 * error; 2 bad usage. A line for each change, with --json an object each:
 *
 *	{"event": "waiting" | "running" | "safe" | "recovered" | "conflict" | "end",
 *	 "time_ns": ..., "step": ..., what more there is to say}
 */
#include <math.h>
#include <stdarg.h>

#include <rfm/cycle.h>

#include "layout.h"

#define AREA		0.02		/* of the tank, m^2 */
#define INFLOW		0.02		/* with the valve open, m^3/s */
#define OUTLET		0.01		/* outflow at 1 m, m^3/s; grows with the root of the level */
#define TOP		2.0		/* what is more runs over, m */

/* In one period; what is left of a storm is taken in the next. */
#define BATCH		16
#define BATCHES_MAX	(RFM_LISTEN_DEPTH_DEFAULT / BATCH)

struct plant {
	struct loop_options options;
	struct rfm *rfm;
	struct loop_layout layout;
	const void *state_at;
	const void *output_at;
	struct rfm_events *watch, *conflicts;
	struct loop_state state;
	bool stale;			/* the card says so */
	uint64_t arrival_ns;		/* when the last output came, on the card's clock */
	uint64_t sequence, heard_ns;	/* of the last that could be read, and when */
	uint64_t safe_step, safe_ns;	/* since when it has been safe */
	uint64_t limit_ns, longest_ns;	/* from the last output to the safe state */
	uint64_t patience_ns;		/* until it goes there on its own */
	uint64_t unreadable;
	uint64_t by_node[RFM_NODES + 1];	/* conflicts; the last: of an unknown node */
	uint64_t conflict_count, conflict_dropped, conflict_told, told_ns;
	struct rfm_event conflict;	/* the last */
};

/* --- what is said --------------------------------------------------------------- */

/* One line; the rest of it follows as pairs of a name and a number, until NULL. */
static void say(const struct plant *plant, const char *event, ...)
{
	const char *name;
	va_list pairs;

	printf(plant->options.json ? "{\"event\": \"%s\", \"time_ns\": %llu, \"step\": %llu"
				   : "%s at %llu ns, step %llu",
	       event, (unsigned long long)loop_now(), (unsigned long long)plant->state.step);
	va_start(pairs, event);
	while ((name = va_arg(pairs, const char *)))
		printf(plant->options.json ? ", \"%s\": %llu" : ", %s %llu", name,
		       (unsigned long long)va_arg(pairs, uint64_t));
	va_end(pairs);
	puts(plant->options.json ? "}" : "");
	fflush(stdout);
}

static void say_conflict(struct plant *plant, uint64_t now)
{
	uint32_t node = plant->conflict.node;

	say(plant, "conflict", "node", (uint64_t)node, "offset", (uint64_t)plant->conflict.offset,
	    "length", (uint64_t)plant->conflict.length,
	    "count", plant->by_node[node < RFM_NODES ? node : RFM_NODES],
	    "total", plant->conflict_count, "dropped", plant->conflict_dropped, NULL);
	plant->conflict_told = plant->conflict_count;
	plant->told_ns = now;
}

/* --- what is heard -------------------------------------------------------------- */

/* Never waits: this is a loop with a period. */
static void hear_controller(struct plant *plant)
{
	struct rfm_event records[BATCH];
	int n = 1;

	for (int left = BATCHES_MAX; left && n > 0; left--) {
		n = rfm_events_wait(plant->watch, records, BATCH, 0);
		for (int i = 0; i < n; i++) {
			if (records[i].type == RFM_EVENT_UPDATE) {
				plant->stale = false;
				plant->arrival_ns = records[i].arrival_ns;
			} else if (records[i].type == RFM_EVENT_STALE) {
				plant->stale = true;
			}
		}
	}
	if (n < 0 && errno != EINTR)
		err(1, "cannot hear the controller");
}

/* A listener hears of all that is owned on this machine, also by other programs. */
static bool in_state(const struct plant *plant, const struct rfm_event *event)
{
	const struct rfm_place *place = &plant->layout.state;

	return event->offset < place->offset + place->length &&
	       event->offset + event->length > place->offset;
}

/* Returns whether its writer is a new one. */
static bool count_conflict(struct plant *plant, const struct rfm_event *event)
{
	uint64_t *count = &plant->by_node[event->node < RFM_NODES ? event->node : RFM_NODES];

	*count += event->count;
	plant->conflict_count += event->count;
	plant->conflict = *event;
	return *count == event->count;
}

/* Somebody writes into the plant's area: who, where, how often. At most a line a second. */
static void hear_conflicts(struct plant *plant)
{
	struct rfm_event records[BATCH];
	uint64_t now = loop_now();
	bool first = false;
	int n = 1;

	for (int left = BATCHES_MAX; left && n > 0; left--) {
		n = rfm_events_wait(plant->conflicts, records, BATCH, 0);
		for (int i = 0; i < n; i++) {
			plant->conflict_dropped = records[i].dropped;
			if (in_state(plant, &records[i]))
				first |= count_conflict(plant, &records[i]);
		}
	}
	if (n < 0 && errno != EINTR)
		err(1, "cannot hear of conflicts");
	if (first || (plant->conflict_count > plant->conflict_told &&
		      now - plant->told_ns > 1000 * MS))
		say_conflict(plant, now);
}

/* --- the loop ------------------------------------------------------------------- */

/*
 * How long ago did the last output come? On the card's clock: a machine that was held up
 * may have taken it, and noticed the silence after it, at the same moment.
 */
static uint64_t silent_for(const struct plant *plant)
{
	struct rfm_counters counters;

	if (!plant->stale)	/* outputs come, but none that can be read */
		return loop_now() - plant->heard_ns;
	if (rfm_counters(plant->rfm, &counters))
		err(1, "cannot ask the card for the time");
	return counters.clock_ns - plant->arrival_ns;
}

static void go_safe(struct plant *plant)
{
	uint64_t reaction;

	plant->state.mode = LOOP_SAFE;
	plant->state.valve = 0;
	reaction = silent_for(plant);
	plant->safe_step = plant->state.step;
	plant->safe_ns = loop_now();
	if (reaction > plant->longest_ns)
		plant->longest_ns = reaction;
	say(plant, "safe", "reaction_ns", reaction, "limit_ns", plant->limit_ns, NULL);
}

static void follow(struct plant *plant, const struct loop_output *output)
{
	uint64_t before = plant->state.mode;

	plant->state.mode = LOOP_RUNNING;
	plant->state.valve = fmin(fmax(output->valve, 0), 1);
	plant->state.setpoint = output->setpoint;
	if (before == LOOP_WAITING)
		say(plant, "running", NULL);
	else if (before == LOOP_SAFE)
		say(plant, "recovered", "safe_for_ns", loop_now() - plant->safe_ns, NULL);
}

static void take_output(struct plant *plant)
{
	struct loop_output output;
	uint64_t sequence;
	bool readable = !rfm_record_read(plant->output_at, &output, sizeof(output), &sequence);

	/* If it is being written, or damaged, the next period will do: the last one stays. */
	if (!readable && errno == EAGAIN)
		plant->unreadable++;
	if (readable && sequence != plant->sequence) {
		plant->sequence = sequence;
		plant->heard_ns = loop_now();
	}
	if (plant->stale || loop_now() - plant->heard_ns > plant->patience_ns) {
		if (plant->state.mode == LOOP_RUNNING)
			go_safe(plant);
		return;
	}
	if (readable && (plant->state.mode == LOOP_RUNNING ||
			 (output.answers > plant->safe_step &&
			  output.answers <= plant->state.step)))
		follow(plant, &output);
}

static void compute(struct loop_state *state)
{
	double change = INFLOW * state->valve - OUTLET * sqrt(state->level);

	state->level += change / AREA * (LOOP_PERIOD_NS / 1e9);
	state->level = fmin(fmax(state->level, 0), TOP);
	state->step++;
}

static void publish(struct plant *plant)
{
	if (rfm_record_store(plant->rfm, plant->layout.state.offset, &plant->state,
			     sizeof(plant->state)))
		warn("step %llu was not sent", (unsigned long long)plant->state.step);
}

static void open_plant(struct plant *plant)
{
	const struct loop_layout *layout = &plant->layout;
	struct rfm *rfm = plant->rfm;
	struct loop_state before;

	plant->state_at = rfm_map(rfm, layout->state.offset, layout->state.length);
	plant->output_at = rfm_map(rfm, layout->output.offset, layout->output.length);
	if (!plant->state_at || !plant->output_at)
		err(1, "cannot map the memory");
	if (rfm_subscribe(rfm, layout->output.offset, layout->output.length,
			  RFM_SUBSCRIBE_RX, NULL))
		err(1, "cannot subscribe to the output");
	if (rfm_own(rfm, layout->state.offset, layout->state.length))
		err(1, "cannot own the state");
	plant->conflicts = rfm_listen(rfm, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0, 0);
	if (!plant->conflicts)
		err(1, "cannot listen for conflicts");
	plant->watch = loop_watch(rfm, &plant->options, layout->output.offset,
				  sizeof(struct loop_output));
	plant->limit_ns = (plant->options.silence_ms + plant->options.margin_ms) * 1e6;
	plant->patience_ns = (plant->options.silence_ms + plant->options.margin_ms / 2) * 1e6;
	/* Steps go on where an earlier plant ended: nothing meant for it is taken for new. */
	if (!rfm_record_read(plant->state_at, &before, sizeof(before), NULL))
		plant->state.step = plant->safe_step = before.step;
	say(plant, "waiting", NULL);
}

int main(int argc, char **argv)
{
	static struct plant plant = { .options = LOOP_DEFAULTS, .state.level = 0.2 };
	struct rfm_cycle cycle = { .period_ns = LOOP_PERIOD_NS };
	uint64_t start;

	loop_begin(argc, argv, &plant.options);
	plant.layout = layout_find();
	plant.rfm = loop_open(&plant.options, O_RDWR);
	open_plant(&plant);

	start = loop_now();
	while (!loop_over(&plant.options, start)) {
		if (rfm_cycle_wait(&cycle, NULL))
			continue;	/* a signal */
		hear_controller(&plant);
		take_output(&plant);
		compute(&plant.state);
		publish(&plant);
		hear_conflicts(&plant);
	}
	hear_conflicts(&plant);
	/* Whoever ends leaves a safe plant behind. */
	plant.state.mode = LOOP_STOPPED;
	plant.state.valve = 0;
	publish(&plant);
	if (plant.conflict_count > plant.conflict_told)
		say_conflict(&plant, loop_now());
	say(&plant, "end", "missed_periods", cycle.missed, "unreadable", plant.unreadable,
	    "longest_reaction_ns", plant.longest_ns, "limit_ns", plant.limit_ns,
	    "conflicts", plant.conflict_count, NULL);
	rfm_events_close(plant.watch);
	rfm_events_close(plant.conflicts);
	rfm_unmap((void *)plant.state_at, plant.layout.state.length);
	rfm_unmap((void *)plant.output_at, plant.layout.output.length);
	rfm_close(plant.rfm);
	return plant.longest_ns > plant.limit_ns ? 3 : 0;
}
