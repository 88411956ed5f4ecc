/* SPDX-License-Identifier: MIT */
/*
 * A PI controller for a valve, which does not wind up: its integral part rests while the
 * valve is at an end, is forgotten while the plant does not follow, and of a gap between
 * two states only a little counts.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#define CONTROL_GAIN		2.0	/* valve per m */
#define CONTROL_RESET_S		0.8	/* of the integral part */
#define CONTROL_STEPS_MAX	3	/* that one answer accounts for */

struct control {
	double setpoint;	/* m */
	double period;		/* of a step, s */
	double integral;	/* part of the valve */
	uint64_t step;		/* of the last state */
	bool begun;		/* there has been one */
};

/*
 * Only what this controller has seen counts: no step before its first state, and few of a
 * gap, or of a plant that has begun to count anew.
 */
static inline uint64_t control_steps(const struct control *control, uint64_t step)
{
	uint64_t steps = step - control->step;

	if (!control->begun)
		return 0;
	return steps < CONTROL_STEPS_MAX ? steps : CONTROL_STEPS_MAX;
}

/* The answer to a state, 0 shut to 1 open. @followed: the plant does what it is told. */
static inline double control_valve(struct control *control, double level, uint64_t step,
				   bool followed)
{
	double error = control->setpoint - level;
	double seconds = control_steps(control, step) * control->period;
	double valve = CONTROL_GAIN * error + control->integral;

	control->step = step;
	control->begun = true;
	if (!followed)
		control->integral = 0;
	else if ((valve < 1 || error < 0) && (valve > 0 || error > 0))
		control->integral += CONTROL_GAIN / CONTROL_RESET_S * error * seconds;
	return valve < 0 ? 0 : valve > 1 ? 1 : valve;
}

#endif
