// SPDX-License-Identifier: MIT
/* The ring itself, through librfmring: each node a process. */
#include "rmbench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/frame.h"
#include "tools/common/clock.h"
#include "tools/common/ring.h"
#include "tools/common/tls.h"

#define MEMORY_SIZE	65536u
#define CLOSE_LIMIT_NS	20000000000ull	/* until all are connected */
#define DRAIN_LIMIT_NS	5000000000ull	/* until all is home */
#define AHEAD		512u		/* stores not yet home: twice the window */
#define BURST		64u

struct run {
	const struct bench_ring *what;
	double seconds;
	char dir[64];
	unsigned int tcp_port[BENCH_NODES];	/* where each node listens */
};

struct token {
	struct rfmring *ring;
	uint64_t stores;
	uint64_t home;		/* of lone ones */
	uint32_t offset;
	bool lone;
};

static void on_status(void *opaque, uint32_t what)
{
	struct token *token = opaque;

	if (!(what & RFMRING_OWN_DATA) || !token->lone)
		return;
	token->home++;
	token->offset = (token->offset + 4) % MEMORY_SIZE;
	rfmring_store32(token->ring, token->offset, (uint32_t)token->home);
}

static void addresses(const struct run *run, unsigned int index, char *rx, char *tx, size_t size)
{
	unsigned int next = (index + 1) % run->what->nodes;

	if (run->what->link == BENCH_SHM) {
		snprintf(rx, size, "unix:%s/%u,server", run->dir, index);
		snprintf(tx, size, "unix:%s/%u", run->dir, next);
	} else {
		snprintf(rx, size, "tcp:127.0.0.1:%u,server", run->tcp_port[index]);
		snprintf(tx, size, "tcp:127.0.0.1:%u", run->tcp_port[next]);
	}
}

static struct rfmring *open_node(struct bench_shared *shared, const struct run *run,
				 unsigned int index, struct token *token)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	char rx[96], tx[96], error[TLS_SENTENCE];
	struct rfm_tls *tls = NULL;
	struct rfmring *ring;

	addresses(run, index, rx, tx, sizeof(rx));
	if (run->what->link == BENCH_TLS && !(tls = tls_load(run->dir, true, true, error)))
		bench_fail(shared, "%.200s", error);
	config.id = index;
	config.flags = RFMRING_UNPACKED | (run->what->redundant ? RFMRING_REDUNDANT : 0);
	config.memory_size = MEMORY_SIZE;
	config.rx = rx;
	config.tx = tx;
	config.line = run->what->line;
	config.opaque = token;
	if (token->lone && !index)
		config.status = on_status;
	ring = rfmring_open_tls(&config, tls, error, sizeof(error));
	if (!ring)
		bench_fail(shared, "node %u: %.200s", index, error);
	return ring;
}

/* Until both neighbours are there, and, of node 0, its heartbeat came home. */
static void wait_until_closed(struct bench_shared *shared, const struct run *run,
			      struct rfmring *ring, unsigned int index)
{
	uint64_t limit = now_ns() + CLOSE_LIMIT_NS;
	struct rfmring_state state = state_of(ring);

	while (!state.signal || !state.downstream || (!index && state.ring_open)) {
		if (now_ns() > limit)
			bench_fail(shared, "the ring did not close");
		rfmring_run(ring, 10);
		state = state_of(ring);
	}
	if (run->what->link == BENCH_SHM && (!state.rx_shm || !state.tx_shm))
		bench_fail(shared, "the nodes do not use shared memory");
}

/* One after the other: the callback stores again. */
static void lone_slice(struct bench_shared *shared, const struct run *run, struct token *token,
		       int slice)
{
	uint64_t start = now_ns(), before = token->home;

	rfmring_run(token->ring, (int)(run->seconds * 1000 / BENCH_SLICES) + 1);
	shared->units[slice] = token->home - before;
	shared->ns[slice] = now_ns() - start;
}

/* As rmnode makes its load: as many as there is room for, with one look at the clock. */
static void store_burst(struct bench_shared *shared, const struct run *run, struct token *token,
			uint64_t home)
{
	_Alignas(8) uint8_t data[RFM_FRAME_DATA_MAX] = { 0 };
	uint64_t now = now_ns();

	for (unsigned int i = 0; i < BURST && token->stores - home < AHEAD; i++) {
		memcpy(data, &token->stores, sizeof(token->stores));
		if (rfmring_store_now(token->ring, token->offset, data, run->what->bytes, now)) {
			if (errno == EAGAIN)
				return;
			bench_fail(shared, "a store was lost: %s", strerror(errno));
		}
		token->stores++;
		token->offset = (token->offset + run->what->bytes) % MEMORY_SIZE;
	}
}

/* Store, and let things move; returns how many have come home so far. */
static uint64_t full_round(struct bench_shared *shared, const struct run *run, struct token *token)
{
	uint64_t home = stats_of(token->ring).home;

	store_burst(shared, run, token, home);
	rfmring_run(token->ring, 0);
	return home;
}

static void full_slice(struct bench_shared *shared, const struct run *run, struct token *token,
		       int slice)
{
	uint64_t start = now_ns(), before = stats_of(token->ring).home, now, home;
	uint64_t others = atomic_load(&shared->others);

	do {
		home = full_round(shared, run, token);
		now = now_ns();
	} while (now - start < run->seconds * 1e9 / BENCH_SLICES);
	shared->units[slice] = home - before + atomic_load(&shared->others) - others;
	shared->ns[slice] = now - start;
}

/* What the other nodes of a pair do until node 0 says stop. */
static void follow(struct bench_shared *shared, const struct run *run, struct token *token)
{
	uint64_t told = 0;

	while (!atomic_load(&shared->stop)) {
		uint64_t home = full_round(shared, run, token);

		atomic_fetch_add(&shared->others, home - told);
		told = home;
	}
}

/* What is still under way must come home, or the figures are worth nothing. */
static void drain(struct bench_shared *shared, const struct run *run, struct token *token)
{
	uint64_t limit = now_ns() + DRAIN_LIMIT_NS;
	struct rfmring_stats stats = stats_of(token->ring);

	while ((stats.insert || stats.home + stats.lost < stats.sent) && now_ns() < limit) {
		rfmring_run(token->ring, 1);
		stats = stats_of(token->ring);
	}
	if (stats.home != stats.stores)
		bench_fail(shared, "of %llu stores only %llu came home",
			   (unsigned long long)stats.stores, (unsigned long long)stats.home);
	atomic_fetch_add(&shared->drained, 1);
	while (atomic_load(&shared->drained) < (run->what->lone ? 1 : run->what->nodes))
		rfmring_run(token->ring, 1);
}

static void lead(struct bench_shared *shared, const struct run *run, struct token *token)
{
	if (run->what->lone)
		rfmring_store32(token->ring, 0, 0);
	for (int slice = 0; slice < BENCH_SLICES; slice++)
		if (run->what->lone)
			lone_slice(shared, run, token, slice);
		else
			full_slice(shared, run, token, slice);
	token->lone = false;
	atomic_store(&shared->stop, true);
	drain(shared, run, token);
}

static void ring_member(struct bench_shared *shared, unsigned int index, void *opaque)
{
	const struct run *run = opaque;
	struct token token = { .lone = run->what->lone };

	token.ring = open_node(shared, run, index, &token);
	wait_until_closed(shared, run, token.ring, index);
	atomic_fetch_add(&shared->ready, 1);
	while (index && run->what->lone)
		rfmring_run(token.ring, -1);
	while (atomic_load(&shared->ready) < run->what->nodes)
		rfmring_run(token.ring, 1);
	if (!index) {
		lead(shared, run, &token);
		return;
	}
	follow(shared, run, &token);
	drain(shared, run, &token);
	rfmring_run(token.ring, -1);
}

/* Ports that nobody has now; false: there are none. */
static bool find_ports(struct run *run)
{
	int fds[BENCH_NODES];
	unsigned int count = 0;

	for (; count < run->what->nodes; count++) {
		struct sockaddr_in name = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
		socklen_t len = sizeof(name);

		fds[count] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fds[count] < 0)
			break;
		if (bind(fds[count], (struct sockaddr *)&name, len) ||
		    getsockname(fds[count], (struct sockaddr *)&name, &len))
			name.sin_port = 0;
		run->tcp_port[count] = ntohs(name.sin_port);
	}
	for (unsigned int i = 0; i < count; i++)
		close(fds[i]);
	return count == run->what->nodes;
}

/* What all nodes know, for this run only. */
static bool make_key(const struct run *run)
{
	uint8_t key[32];
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/keys.psk", run->dir);
	file = fopen(path, "wxe");
	if (!file || getrandom(key, sizeof(key), 0) != sizeof(key))
		return false;
	fputs("rmbench:", file);
	for (size_t i = 0; i < sizeof(key); i++)
		fprintf(file, "%02x", key[i]);
	putc('\n', file);
	return !fclose(file);
}

static void remove_sockets(const struct run *run)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/keys.psk", run->dir);
	unlink(path);

	for (unsigned int i = 0; i < run->what->nodes; i++) {
		snprintf(path, sizeof(path), "%s/%u", run->dir, i);
		unlink(path);
	}
	rmdir(run->dir);
}

double bench_ring(const struct bench_ring *ring, double seconds, char *sentence)
{
	struct run run = { .what = ring, .seconds = seconds, .dir = "/tmp/rmbench-XXXXXX" };
	struct bench_team team = { ring_member, &run, ring->nodes };
	double result;

	if (!mkdtemp(run.dir))
		return bench_why(sentence, "cannot make a directory for sockets in /tmp: %s",
				 strerror(errno));
	if ((ring->link != BENCH_SHM && !find_ports(&run)) ||
	    (ring->link == BENCH_TLS && !make_key(&run)))
		result = bench_why(sentence, "cannot make links over TCP: %s", strerror(errno));
	else
		result = bench_run(&team, sentence);
	remove_sockets(&run);
	return result;
}
