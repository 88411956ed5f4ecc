// SPDX-License-Identifier: MIT
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stop.h"
#include "tools/common/clock.h"
#include "tools/common/units.h"

#define BAR		24	/* characters */
#define QUIET_NS	(NSEC_PER_SEC / 2)	/* what is over by then shows nothing */
#define REDRAW_NS	(NSEC_PER_SEC / 5)

/* "load [######      ]  50 %  32 MiB of 64 MiB  35.1 MiB/s  0.911 s left"; @total is not 0. */
void progress_line(char line[PROGRESS_LINE], const char *what, uint64_t done, uint64_t total,
		   uint64_t elapsed_ns)
{
	char bar[BAR + 1], so_far[UNIT_TEXT], all[UNIT_TEXT], rate[UNIT_TEXT], left[UNIT_TEXT];
	double part = (double)done / (double)total;
	double speed = elapsed_ns ? (double)done * 1e9 / (double)elapsed_ns : 0;

	memset(bar, ' ', BAR);
	bar[BAR] = '\0';
	memset(bar, '#', (size_t)(part * BAR));
	size_text(so_far, done);
	size_text(all, total);
	size_text(rate, (uint64_t)speed);
	if (speed > 0)
		time_text(left, (uint64_t)((double)(total - done) / speed * 1e9));
	else
		snprintf(left, sizeof(left), "?");
	snprintf(line, PROGRESS_LINE, "%s [%s] %3d %%  %s of %s  %s/s  %s left", what, bar,
		 (int)(part * 100), so_far, all, rate, left);
}

/*
 * Something of @total bytes that may take long begins. From now on a signal that asks for the
 * end does not end the program: whoever works looks at progress_stopped() between two steps.
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
