// SPDX-License-Identifier: MIT
/* rmctl resync: get what this memory lacks. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "tools/common/clock.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/progress.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/remote/remote.h"

#define LOOK_NS	(NSEC_PER_SEC / 5)

/* A thread beside the one in the call: it draws, and sees to it that a signal ends the call. */
struct drawing {
	pthread_t caller;
	struct rfm *rfm;
	struct progress progress;
	uint64_t before;	/* RFM_COUNTER_RESYNC_BYTES when it began */
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over;
};

static uint64_t resynced(struct rfm *rfm)
{
	struct rfm_counters counters;

	return rfm_counters(rfm, &counters) ? 0 : counters.value[RFM_COUNTER_RESYNC_BYTES];
}

static void *draw(void *opaque)
{
	struct drawing *drawing = opaque;
	struct timespec until;
	uint64_t done;

	pthread_mutex_lock(&drawing->lock);
	while (!drawing->over) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / NSEC_PER_SEC;
		until.tv_nsec %= NSEC_PER_SEC;
		pthread_cond_timedwait(&drawing->ended, &drawing->lock, &until);
		if (drawing->over)
			break;
		/* The first may have come just before the call, which then knows nothing of it. */
		if (stop_asked())
			pthread_kill(drawing->caller, SIGINT);
		done = resynced(drawing->rfm) - drawing->before;
		if (done <= drawing->progress.total)
			progress_show(&drawing->progress, done);
	}
	pthread_mutex_unlock(&drawing->lock);
	return NULL;
}

/* Signals are this thread's: they end the call. Returns 0 or an errno. */
static int resync(struct command *cmd, const struct remote *remote, uint32_t donor,
		  struct rfm_resync_wait *wait)
{
	struct drawing drawing = {
		.caller = pthread_self(), .rfm = remote->card.rfm, .before = resynced(remote->card.rfm),
		.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER,
	};
	sigset_t all, old;
	pthread_t thread;
	int error;

	progress_begin(&drawing.progress, cmd, remote->card.info.memory_size);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, NULL, draw, &drawing);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error)
		return ENOMEM;
	error = rfm_resync(remote->card.rfm, donor, remote->timeout_ms, wait) ? errno : 0;
	pthread_mutex_lock(&drawing.lock);
	drawing.over = true;
	pthread_cond_signal(&drawing.ended);
	pthread_mutex_unlock(&drawing.lock);
	pthread_join(thread, NULL);
	progress_end(&drawing.progress);
	return error;
}

static int report(const struct command *cmd, const struct rfm_resync_wait *wait, bool doubtful)
{
	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:I, s:I, s:b}", "device", cmd->card, "bytes",
					       (json_int_t)wait->bytes, "donor",
					       (json_int_t)wait->donor, "doubtful", doubtful));
	if (!doubtful && wait->bytes)
		printf("%" PRIu64 " bytes are as at node %" PRIu32 "\n", (uint64_t)wait->bytes,
		       wait->donor);
	return out_flush(cmd);
}

int verb_resync(struct command *cmd, int argc, char **argv)
{
	struct rfm_resync_wait wait;
	struct remote remote;
	bool any;
	int status = remote_options(cmd, argc, argv, &remote), error;

	if (!status)
		status = check_operands(cmd, argc, argv, 1, 2);
	if (status)
		return status;
	any = argc - optind == 1;
	if (!any && remote.as_is)
		return misused(cmd, "a node gives nothing to a memory that is right as it is");
	if (!any)
		status = remote_node(cmd, argv[optind + 1], &remote);
	if (!status)
		status = remote_open(cmd, argv[optind], true, &remote.card);
	if (status)
		return status;
	if (!any && remote.node == remote.card.info.node)
		return misused(cmd, "node %" PRIu64 " is this one", remote.node);
	if (remote.as_is)
		remote.node = remote.card.info.node;
	else if (any)
		remote.node = RFM_NODE_ALL;
	error = resync(cmd, &remote, (uint32_t)remote.node, &wait);
	if (error == EHOSTUNREACH && any)
		return failed(cmd, "no other node is complete; if this memory is right as it is, say --as-is");
	if (error == EACCES && remote.as_is)
		return failed(cmd, "another node is complete: get it from there");
	if (error == ETIMEDOUT)
		return failed(cmd, "it has not ended in time: the memory is incomplete");
	if (error == EINTR)
		return failed(cmd, "interrupted: the memory is incomplete");
	if (error && error != EAGAIN)
		return remote_failed(cmd, error);
	status = report(cmd, &wait, error == EAGAIN);
	if (status || !error)
		return status;
	return refuse(cmd, STATUS_NO, "something was lost, or somebody came or went, meanwhile: "
		      "the memory is doubtful");
}
