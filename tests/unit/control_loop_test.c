// SPDX-License-Identifier: MIT
/* The controller among the examples of librfm, and a tank that is no node. */
#include "tests/unit/test.h"

#include "tools/librfm/examples/control.h"

#define PERIOD_S	0.01
#define SECONDS(s)	((unsigned int)((s) / PERIOD_S))
#define ANSWER_MAX	(CONTROL_GAIN / CONTROL_RESET_S * 2 * CONTROL_STEPS_MAX * PERIOD_S)

struct tank {
	struct control control;
	double level, highest, valve;
	uint64_t step;
	double leak;		/* more than its outlet, m/s */
};

static struct tank tank_of(double level, double setpoint)
{
	return (struct tank){
		.control = { .setpoint = setpoint, .period = PERIOD_S },
		.level = level,
	};
}

/* The integral part can open or shut the valve, and no more. */
static void bounded(const struct control *control)
{
	assert_true(control->integral >= -ANSWER_MAX);
	assert_true(control->integral <= 1 + ANSWER_MAX);
}

static void run(struct tank *tank, unsigned int steps, bool followed)
{
	tank->highest = tank->level;
	while (steps--) {
		tank->valve = control_valve(&tank->control, tank->level, ++tank->step, followed);
		bounded(&tank->control);
		tank->level += (tank->valve - 0.5 * tank->level - tank->leak) * PERIOD_S;
		if (tank->level < 0)
			tank->level = 0;
		if (tank->level > tank->highest)
			tank->highest = tank->level;
	}
}

static void settled(const struct tank *tank)
{
	assert_true(tank->level > 0.99 * tank->control.setpoint);
	assert_true(tank->level < 1.01 * tank->control.setpoint);
	assert_true(tank->highest < 1.1 * tank->control.setpoint);
}

static void holds_the_level(void **state)
{
	struct tank tank = tank_of(0.2, 1);

	(void)state;
	run(&tank, SECONDS(10), true);
	settled(&tank);
	tank.leak = 0.2;
	run(&tank, SECONDS(10), true);
	settled(&tank);
	tank.leak = 0;
	run(&tank, SECONDS(10), true);
	settled(&tank);
}

/* Ten minutes at the end of the valve, which cannot do what is asked for. */
static void an_end_does_not_wind_it_up(void **state)
{
	struct tank tank = tank_of(0.2, 1);

	(void)state;
	tank.leak = 0.8;
	run(&tank, SECONDS(600), true);
	assert_true(tank.valve == 1 && tank.level < 0.5);
	tank.leak = 0;
	run(&tank, SECONDS(10), true);
	settled(&tank);

	tank.leak = -0.8;
	run(&tank, SECONDS(600), true);
	assert_true(tank.valve == 0 && tank.level > 1.5);
	tank.leak = 0;
	run(&tank, SECONDS(10), true);
	assert_true(tank.level > 0.99 && tank.level < 1.01);
}

/* A plant that is in its safe state runs empty, whatever it is told. */
static void nobody_follows(void **state)
{
	struct tank tank = tank_of(0.2, 1);

	(void)state;
	run(&tank, SECONDS(10), true);
	tank.leak = 2;
	run(&tank, SECONDS(600), false);
	assert_true(tank.level == 0 && tank.control.integral == 0);
	tank.leak = 0;
	run(&tank, SECONDS(10), true);
	settled(&tank);
}

/* What happened while the plant could not be heard is not made up for. */
static void gaps_count_little(void **state)
{
	static const uint64_t steps[] = { 100000, 1, UINT64_MAX, 0 };
	struct tank tank = tank_of(0.9, 1);

	(void)state;
	tank.step = 1000000;
	run(&tank, 1, true);
	assert_true(tank.control.integral == 0);
	run(&tank, SECONDS(10), true);
	for (unsigned int i = 0; i < ARRAY_SIZE(steps); i++) {
		double before = tank.control.integral;

		tank.step = steps[i];
		tank.level = 0.8;
		run(&tank, 1, true);
		assert_true(tank.control.integral - before < ANSWER_MAX / 2);
		run(&tank, SECONDS(10), true);
		settled(&tank);
	}
}

/* Whatever it is told: an answer between shut and open, and an integral part that is bounded. */
static void any_states(void **state)
{
	struct tank tank = tank_of(0, 1);
	uint64_t seed = 20261121;

	(void)state;
	for (unsigned int i = 0; i < 1000000; i++) {
		uint32_t chance = test_random(&seed);
		double level = test_random(&seed) % 2001 / 1000.0;
		double valve;

		tank.step += chance % 7 ? chance % 3 : test_random(&seed);
		tank.control.setpoint = chance % 101 ? tank.control.setpoint : chance % 21 / 10.0;
		valve = control_valve(&tank.control, level, tank.step, chance % 1000 != 0);
		assert_true(valve >= 0 && valve <= 1);
		bounded(&tank.control);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_the_level),
		cmocka_unit_test(an_end_does_not_wind_it_up),
		cmocka_unit_test(nobody_follows),
		cmocka_unit_test(gaps_count_little),
		cmocka_unit_test(any_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
