// SPDX-License-Identifier: MIT
/* The measure for everything else: what the kernel and the memory cost bare. */
#include "rmbench.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/frame.h"
#include "ring/shm.h"
#include "tools/common/clock.h"

#define LOOK_AT_CLOCK	16	/* rounds of a ring, batches of a queue */
#define QUEUE_BATCH	32	/* frames shown at once */

/* --- a hand-off ------------------------------------------------------------- */

struct handoff {
	int fds[BENCH_NODES];		/* that each waits for */
	int to[BENCH_NODES];		/* and that the one before wakes it by: the same of an eventfd */
	size_t bytes;			/* that go */
	unsigned int processes;
	double seconds;
};

static void wait_for(struct bench_shared *shared, int fd, size_t bytes)
{
	eventfd_t count;

	if (read(fd, &count, bytes) != (ssize_t)bytes)
		bench_fail(shared, "cannot wait for another process: %s", strerror(errno));
}

static void wake(struct bench_shared *shared, int fd, size_t bytes)
{
	eventfd_t one = 1;

	if (write(fd, &one, bytes) != (ssize_t)bytes)
		bench_fail(shared, "cannot wake another process: %s", strerror(errno));
}

static void handoff_member(struct bench_shared *shared, unsigned int index, void *opaque)
{
	const struct handoff *h = opaque;
	int mine = h->fds[index], next = h->to[(index + 1) % h->processes];

	bench_ready(shared, h->processes);
	if (index) {
		for (;;) {
			wait_for(shared, mine, h->bytes);
			wake(shared, next, h->bytes);
		}
	}
	for (int slice = 0; slice < BENCH_SLICES; slice++) {
		uint64_t start = now_ns(), rounds = 0, now;

		do {
			wake(shared, next, h->bytes);
			wait_for(shared, mine, h->bytes);
			rounds++;
			now = now_ns();
		} while (now - start < h->seconds * 1e9 / BENCH_SLICES);
		shared->units[slice] = rounds * h->processes;
		shared->ns[slice] = now - start;
	}
}

double bench_handoff(unsigned int processes, double seconds, char *sentence)
{
	struct handoff h = {
		.processes = processes, .seconds = seconds, .bytes = sizeof(eventfd_t),
	};
	struct bench_team team = { handoff_member, &h, processes };
	unsigned int made;
	double result;

	for (made = 0; made < processes; made++) {
		h.fds[made] = h.to[made] = eventfd(0, EFD_CLOEXEC);
		if (h.fds[made] < 0)
			break;
	}
	if (made == processes)
		result = bench_run(&team, sentence);
	else
		result = bench_why(sentence, "cannot make eventfd %u of %u: %s", made + 1,
				   processes, strerror(errno));
	while (made--)
		close(h.fds[made]);
	return result;
}

double bench_socket_handoff(double seconds, char *sentence)
{
	struct handoff h = { .processes = 2, .seconds = seconds, .bytes = 1 };
	struct bench_team team = { handoff_member, &h, 2 };
	double result;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, h.fds))
		return bench_why(sentence, "cannot make a pair of sockets: %s", strerror(errno));
	h.to[0] = h.fds[1];
	h.to[1] = h.fds[0];
	result = bench_run(&team, sentence);
	close(h.fds[0]);
	close(h.fds[1]);
	return result;
}

/* --- a queue ---------------------------------------------------------------- */

struct queue {
	struct rfm_shm ends[2];		/* the consumer's is number 0 */
	unsigned int bytes;
	double seconds;
};

static void produce(struct queue *q)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA, .source = 1, .incarnation = 1, .length = q->bytes,
	};
	struct rfm_shm *shm = &q->ends[1];

	for (;;) {
		for (int i = 0; i < QUEUE_BATCH; i++) {
			uint8_t *slot = rfm_shm_reserve(shm, 1);

			if (!slot)
				break;
			frame.seq++;
			rfm_frame_encode(&frame, slot);
			rfm_shm_commit(shm, 1, true);
		}
		rfm_shm_publish(shm);
		if (!rfm_shm_reserve(shm, 1))
			sched_yield();
	}
}

static void consume(struct bench_shared *shared, struct queue *q, int slice)
{
	uint64_t start = now_ns(), frames = 0, now;
	uint8_t slot[RFM_UNIT_MAX];
	struct rfm_frame frame;

	do {
		for (int i = 0; i < LOOK_AT_CLOCK * QUEUE_BATCH; i++) {
			if (rfm_shm_take(&q->ends[0], slot, NULL, NULL) <= 0) {
				sched_yield();
				break;
			}
			if (rfm_frame_decode(slot, &frame))
				bench_fail(shared, "a frame came damaged out of a bare queue");
			frames++;
		}
		rfm_shm_release(&q->ends[0]);
		now = now_ns();
	} while (now - start < q->seconds * 1e9 / BENCH_SLICES);
	shared->units[slice] = frames;
	shared->ns[slice] = now - start;
}

static void queue_member(struct bench_shared *shared, unsigned int index, void *opaque)
{
	bench_ready(shared, 2);
	if (index)
		produce(opaque);
	for (int slice = 0; slice < BENCH_SLICES; slice++)
		consume(shared, opaque, slice);
}

double bench_queue(unsigned int bytes, double seconds, char *sentence)
{
	struct queue q = { .bytes = bytes, .seconds = seconds };
	struct bench_team team = { queue_member, &q, 2 };
	int fds[RFM_SHM_FDS];
	const char *why;
	double result;

	rfm_shm_init(&q.ends[0]);
	if (rfm_shm_create(&q.ends[1], RFM_SHM_SLOTS))
		return bench_why(sentence, "cannot make a queue: %s", strerror(errno));
	for (int i = 0; i < RFM_SHM_FDS; i++)
		fds[i] = dup(q.ends[1].offer[i]);
	why = rfm_shm_attach(&q.ends[0], fds);
	result = why ? bench_why(sentence, "%s", why) : bench_run(&team, sentence);
	rfm_shm_close(&q.ends[0]);
	rfm_shm_close(&q.ends[1]);
	return result;
}
