// SPDX-License-Identifier: MIT
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#include "stop.h"
#include "tools/common/clock.h"
#include "tools/common/units.h"

#define QUIET_NS	(NSEC_PER_SEC / 2)	/* what is over by then shows nothing */
#define REDRAW_NS	(NSEC_PER_SEC / 5)

/**
 * progress_begin - something that may take long begins
 * @progress: filled in
 * @cmd: the command
 * @total: bytes
 *
 * From now on a signal that asks for the end does not end the program: whoever works looks
 * at progress_stopped() between two steps.
 */
void progress_begin(struct progress *progress, const struct command *cmd, uint64_t total)
{
	*progress = (struct progress){
		.cmd = cmd, .total = total, .begun_ns = now_ns(), .visible = isatty(STDERR_FILENO),
	};
	stop_on_signals();
}

/* So many bytes are done: draws the line, if it is time to. */
void progress_show(struct progress *progress, uint64_t done)
{
	uint64_t now = now_ns();
	char line[PROGRESS_LINE];

	if (!progress->visible || now - progress->begun_ns < QUIET_NS ||
	    now - progress->shown_ns < REDRAW_NS)
		return;
	progress->shown_ns = now;
	progress_line(line, progress->cmd->verb->name, done, progress->total,
		      now - progress->begun_ns);
	fprintf(stderr, "\r%s: %s\033[K", progress->cmd->card, line);
}

/* Has the user ended it before its end, with so many bytes done? */
bool progress_stopped(const struct progress *progress, uint64_t done)
{
	return stop_asked() && done < progress->total;
}

/* The line goes; what follows has the terminal to itself. */
void progress_end(struct progress *progress)
{
	if (progress->shown_ns)
		fputs("\r\033[K", stderr);
	progress->shown_ns = 0;
}
