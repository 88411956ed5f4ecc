// SPDX-License-Identifier: MIT
/*
 * controller [--card PATH] [--seconds N] [--json] [--silence-ms MS] [--setpoint M]: holds
 * the level of plant.c.
 *
 * It has no clock of its own: it sleeps until the plant has published a state, computes an
 * output from it, publishes that, and sleeps again. So no state means no output, and a
 * plant that cannot be heard hears nothing either, whichever way the ring is broken.
 *
 * Exit status: 0 ended by time or signal; 3 it never had a state; 1 an error; 2 bad
 * usage. A line for each change, with --json an object each:
 *
 *	{"event": "waiting" | "running" | "stale" | "recovered" | "end", "time_ns": ..., ...}
 */
#include "control.h"
#include "layout.h"

struct controller {
	struct loop_options options;
	struct loop_layout layout;
	struct rfm *rfm;
	const void *state_at;
	struct rfm_events *watch;
	struct control control;
	bool stale;
	uint64_t answers, unreadable;
	int64_t oldest_ns;		/* greatest age of a state on arrival; -1: not known */
};

static void say(const struct controller *controller, const char *event, const char *name,
		unsigned long long value)
{
	printf(controller->options.json ?
	       "{\"event\": \"%s\", \"time_ns\": %llu, \"step\": %llu, \"%s\": %llu}\n" :
	       "%s at %llu ns, step %llu, %s %llu\n",
	       event, (unsigned long long)loop_now(), (unsigned long long)controller->control.step,
	       name, value);
	fflush(stdout);
}

static void answer(struct controller *controller)
{
	struct loop_output output = { .setpoint = controller->options.setpoint };
	struct loop_state state;

	if (rfm_record_read(controller->state_at, &state, sizeof(state), NULL)) {
		controller->unreadable++;	/* damaged, or the next is coming: wait for it */
		return;
	}
	if (state.step == controller->control.step || state.mode == LOOP_STOPPED)
		return;
	output.valve = control_valve(&controller->control, state.level, state.step,
				     state.mode == LOOP_RUNNING);
	output.answers = state.step;
	if (rfm_record_store(controller->rfm, controller->layout.output.offset, &output,
			     sizeof(output)))
		warn("the answer to step %llu was not sent", (unsigned long long)state.step);
	if (!controller->answers++)
		say(controller, "running", "answers", controller->answers);
}

static void handle(struct controller *controller, const struct rfm_event *event)
{
	int64_t age = rfm_age_ns(event);

	if (event->type == RFM_EVENT_STALE && controller->answers) {
		controller->stale = true;
		controller->control.integral = 0;
		say(controller, "stale", "silent_for_ns", event->age_ns);
	} else if (event->type == RFM_EVENT_UPDATE && controller->stale) {
		controller->stale = false;
		say(controller, "recovered", "answers", controller->answers);
	}
	if (age > controller->oldest_ns)
		controller->oldest_ns = age;
}

static void open_controller(struct controller *controller, struct rfm *rfm)
{
	const struct loop_layout *layout = &controller->layout;

	controller->rfm = rfm;
	controller->state_at = rfm_map(rfm, layout->state.offset, layout->state.length);
	if (!controller->state_at)
		err(1, "cannot map the memory");
	if (rfm_subscribe(rfm, layout->state.offset, layout->state.length, RFM_SUBSCRIBE_RX, NULL))
		err(1, "cannot subscribe to the state");
	if (rfm_own(rfm, layout->output.offset, layout->output.length))
		err(1, "cannot own the output");
	controller->watch = loop_watch(rfm, &controller->options, layout->state.offset,
				       sizeof(struct loop_state));
	say(controller, "waiting", "answers", 0);
}

int main(int argc, char **argv)
{
	struct controller controller = { .options = LOOP_DEFAULTS, .oldest_ns = -1 };
	struct rfm_event records[16];
	struct rfm *rfm;
	uint64_t start;

	loop_begin(argc, argv, &controller.options);
	controller.control.setpoint = controller.options.setpoint;
	controller.control.period = LOOP_PERIOD_NS / 1e9;
	controller.layout = layout_find();
	rfm = loop_open(&controller.options, O_RDWR);
	open_controller(&controller, rfm);

	start = loop_now();
	while (!loop_over(&controller.options, start)) {
		/* Not for ever: a signal just before the call must not be missed. */
		int n = rfm_events_wait(controller.watch, records, 16, 100);

		if (n < 0 && errno != EINTR)
			err(1, "cannot wait for the plant");
		for (int i = 0; i < n; i++)
			handle(&controller, &records[i]);
		if (n > 0)
			answer(&controller);	/* to the newest state, however many there were */
	}
	say(&controller, "end", "answers", controller.answers);
	if (controller.oldest_ns >= 0)
		fprintf(stderr, "the oldest state was %.3f ms old when it came\n",
			controller.oldest_ns / 1e6);
	if (controller.unreadable)
		fprintf(stderr, "%llu states could not be read\n",
			(unsigned long long)controller.unreadable);
	rfm_events_close(controller.watch);
	rfm_unmap((void *)controller.state_at, controller.layout.state.length);
	rfm_close(rfm);
	return controller.answers ? 0 : 3;
}
