/* SPDX-License-Identifier: MIT */
/* For tests that have to act when another waits: who sleeps, as /proc tells. */
#ifndef RFM_TESTS_ASLEEP_H
#define RFM_TESTS_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* @thread: of any process; its first has the process's number. One that is not there does not. */
static inline bool is_asleep(pid_t thread)
{
	char name[64], state = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", thread);
	file = fopen(name, "r");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 'S';
}

#endif
