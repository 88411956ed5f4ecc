// SPDX-License-Identifier: MIT
#include "until.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "stop.h"
#include "tools/common/clock.h"

/* Takes -n and -t; other options are unknown. Returns an exit status. */
int until_option(struct command *cmd, struct until *until, int option)
{
	int status;

	switch (option) {
	case 'n':
		status = get_number(cmd, "count", optarg, UINT64_MAX, &until->left);
		if (!status && !until->left)
			status = misused(cmd, "count must be at least 1");
		until->limited = true;
		return status;
	case 't':
		until->time = optarg;
		return get_duration(cmd, "time", optarg, &until->deadline_ns);
	default:
		return STATUS_MISUSED;
	}
}

/* From now on -t runs. */
void until_begin(struct until *until)
{
	until->deadline_ns = until->time ? until->deadline_ns + now_ns() : STOP_NEVER;
}

/* So many have come. */
void until_count(struct until *until, uint64_t count)
{
	if (until->limited)
		until->left -= until->left < count ? until->left : count;
}

/* Has it had as many as were wanted? */
bool until_done(const struct until *until)
{
	return until->limited && !until->left;
}

/*
 * The exit status of what has come to its end. What ends before its count of @what is cut
 * short, by the time or by a signal, which is said; without a count there is nothing that it
 * could fall short of.
 */
int until_end(const struct command *cmd, const struct until *until, const char *what)
{
	const char *unit = "";

	if (!until->limited || !until->left)
		return STATUS_OK;
	if (stop_asked())
		return refuse(cmd, STATUS_NO, "interrupted: %" PRIu64 " %s(s) still missing",
			      until->left, what);
	if (isdigit((unsigned char)until->time[strlen(until->time) - 1]))
		unit = " s";
	return refuse(cmd, STATUS_NO, "%" PRIu64 " %s(s) still missing after %s%s", until->left,
		      what, until->time, unit);
}
