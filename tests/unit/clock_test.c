// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"

#include <string.h>
#include <time.h>

#include "ring/util/clock-domain.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Which hosts keep CLOCK_TAI, by what the kernel says of its clock */
static void a_host_keeps_tai_or_says_why_not(void **state)
{
	static const struct {
		int state, status, tai;
		const char *says;
	} hosts[] = {
		{ TIME_OK, STA_PLL, 37, NULL },
		{ TIME_OK, 0, 37, NULL },
		{ TIME_INS, STA_PLL, 37, NULL },		/* a leap second is none of TAI */
		{ TIME_OOP, STA_PLL, 37, NULL },
		{ TIME_OK, STA_PLL, 0, "ahead of UTC" },
		{ TIME_ERROR, STA_UNSYNC, 37, "STA_UNSYNC" },
		{ TIME_ERROR, STA_UNSYNC, 0, "STA_UNSYNC" },
		{ TIME_OK, STA_UNSYNC, 37, "STA_UNSYNC" },
		{ -1, 0, 0, "adjtimex" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		struct timex timex = { .status = hosts[i].status, .tai = hosts[i].tai };
		const char *trouble = rfm_tai_trouble(hosts[i].state, &timex);

		if (!hosts[i].says)
			assert_null(trouble);
		else
			assert_non_null(strstr(trouble, hosts[i].says));
	}
}

static void the_host_s_own_clock_is_monotonic(void **state)
{
	struct rfm_clock one, other;

	(void)state;
	rfm_clock_init(&one, false);
	rfm_clock_init(&other, false);
	assert_int_equal(one.domain, other.domain);
	assert_int_not_equal(one.domain, RFM_CLOCK_DOMAIN_TAI);
	assert_int_equal(one.offset_ns, 0);
	assert_null(one.trouble);
	assert_false(rfm_clock_look(&one));
}

/* Whatever the host of this test keeps, all of its programs have one clock. */
static void tai_is_the_kernel_s(void **state)
{
	struct rfm_clock host, tai;
	struct timex timex = { .modes = 0 };
	uint64_t from, to, mono, error = 0;
	const char *trouble;

	(void)state;
	rfm_clock_init(&host, false);
	do {
		trouble = rfm_tai_trouble(adjtimex(&timex), &timex);
		rfm_clock_init(&tai, true);
		adjtimex(&timex);
	} while (tai.trouble != rfm_tai_trouble(adjtimex(&timex), &timex) || tai.trouble != trouble);
	assert_int_equal(tai.domain, trouble ? ~host.domain : RFM_CLOCK_DOMAIN_TAI);
	assert_int_not_equal(tai.domain, host.domain);
	/* As exact as the test itself is left alone, at its best. */
	for (int i = 0; i < 1000 && (!i || error > 20000); i++) {
		rfm_clock_look(&tai);
		from = clock_ns(CLOCK_TAI);
		mono = clock_ns(CLOCK_MONOTONIC);
		to = clock_ns(CLOCK_TAI);
		error = mono + tai.offset_ns < from ? from - (mono + tai.offset_ns) :
			mono + tai.offset_ns > to ? mono + tai.offset_ns - to : 0;
	}
	assert_true(error <= 20000);
	/* One that was wrong by so much is set, and that is told; then it is right. */
	tai.offset_ns -= 60000000000ull;
	assert_true(rfm_clock_look(&tai));
	assert_in_range(clock_ns(CLOCK_MONOTONIC) + tai.offset_ns, from, from + 30000000000ull);
	tai.domain++;
	assert_true(rfm_clock_look(&tai));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_keeps_tai_or_says_why_not),
		cmocka_unit_test(the_host_s_own_clock_is_monotonic),
		cmocka_unit_test(tai_is_the_kernel_s),
	};

	return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
