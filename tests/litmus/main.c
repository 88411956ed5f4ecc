// SPDX-License-Identifier: MIT
/*
 *	litmus -n NODES -r RX -t TX [-c ROUNDS] [-a ROUNDS] [-s SEED] [-x] [TEST...]
 *
 * Runs the litmus tests (by default all that fit) on a ring of processes, and
 * prints TAP; the exit status is 0 if all is ok. In the addresses RX and TX
 * "{i}" stands for the number of the node and "{n}" for that of the next one.
 * -a: of the tests with packets and locks, which take a hundred times as long
 * (default: as -c). -x: no shared memory, streams only.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "litmus.h"

#define JOIN_SECONDS	30
#define STUCK_SECONDS	60		/* without a batch done */
#define PATIENCE	50		/* times the rounds, until the roles meet */
#define COMPLAINTS	12		/* that are printed */

struct options {
	int nodes;
	const char *rx, *tx;
	uint64_t rounds, addressed, seed;
	bool streams;
	const struct shape *chosen[16];
	int count;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

void meet(struct member *member)
{
	pthread_barrier_wait(&member->shared->barrier);
}

void complain(struct member *member, const char *format, ...)
{
	char text[240];
	va_list args;

	if (atomic_fetch_add(&member->shared->complaints, 1) >= COMPLAINTS)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	printf("# node %d: %s\n", member->rank, text);
	fflush(stdout);
}

/* --- a node ------------------------------------------------------------------ */

/* RX or TX of a node; to be freed. */
static char *address_of(const char *pattern, int node, int nodes)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (; *pattern; pattern++) {
		if (!strncmp(pattern, "{i}", 3) || !strncmp(pattern, "{n}", 3)) {
			fprintf(out, "%d", pattern[1] == 'i' ? node : (node + 1) % nodes);
			pattern += 2;
		} else {
			fputc(*pattern, out);
		}
	}
	fclose(out);
	return text;
}

static void say(void *opaque, const char *sentence)
{
	struct member *member = opaque;

	printf("# node %d: %s\n", member->rank, sentence);
	fflush(stdout);
}

static bool open_node(struct member *member, const struct options *options)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	char *rx = address_of(options->rx, member->rank, options->nodes);
	char *tx = address_of(options->tx, member->rank, options->nodes);
	char error[256] = "";

	config.id = member->rank;
	config.memory_size = MEMORY;
	config.rx = rx;
	config.tx = tx;
	config.flags = options->streams ? RFMRING_STREAM_ONLY : 0;
	config.stall_ms = 10000;	/* a store that is dropped would spoil the books */
	config.opaque = member;
	config.log = say;
	member->ring = rfmring_open(&config, error, sizeof(error));
	free(rx);
	free(tx);
	if (!member->ring || rfmring_start(member->ring)) {
		complain(member, "cannot be a node: %s", *error ? error : strerror(errno));
		return false;
	}
	for (uint32_t port = 0; port < PORTS; port++)
		if (rfmring_listen(member->ring, port, PORT_DEPTH))
			return false;
	return !rfmring_export(member->ring, 0, MEMORY, RFMRING_HOME);
}

/* Waits until the ring is closed and this node knows all others. */
static bool join(struct member *member, const struct options *options)
{
	struct rfmring_state state = { .size = sizeof(state) };
	uint64_t end = now_ns() + JOIN_SECONDS * 1000000000ull;
	int others = 0;

	while (now_ns() < end) {
		rfmring_get_state(member->ring, &state);
		others = rfmring_members(member->ring, NULL, 0);
		if (others == options->nodes - 1 && state.signal && !state.ring_open &&
		    state.rx_shm != options->streams && state.tx_shm != options->streams)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	complain(member, "not on the ring after %d s: signal %d, downstream %d, open %d, "
		 "shm %d %d, %d others", JOIN_SECONDS, state.signal, state.downstream,
		 state.ring_open, state.rx_shm, state.tx_shm, others);
	return false;
}

/* --- what came out ------------------------------------------------------------ */

/* The loads of one instance as an outcome: a digit each, the first one first. */
static void outcome_of(const struct shared *shared, const struct shape *shape, uint32_t instance,
		       char *outcome)
{
	for (int role = 0; role < roles_of(shape); role++) {
		const uint8_t *load = shared->loads[role][instance];

		for (const char *c = shape->code[role]; *c; c++)
			if (strchr("RJQF", *c))
				*outcome++ = '0' + *load++;
	}
	*outcome = 0;
}

static unsigned int index_of(const char *outcome)
{
	unsigned int index = 1;		/* tells "01" from "1" */

	for (; *outcome; outcome++)
		index = index * DIGITS + *outcome - '0';
	return index;
}

/* May it be seen? */
static bool is_allowed(const struct shape *shape, const char *outcome)
{
	const char *at = shape->only;

	if (shape->never && !strcmp(outcome, shape->never))
		return false;
	if (!at)
		return true;
	at = strstr(at, outcome);
	return at && (at == shape->only || at[-1] == ' ');
}

struct counts {
	uint64_t of[OUTCOMES * 2];
	char text[OUTCOMES * 2][LOADS_MAX + 1];
};

static void count_batch(struct member *member, const struct shape *shape, const struct plan *plan,
			struct counts *counts)
{
	uint32_t instances = instances_of(shape);

	for (uint32_t instance = 0; instance < instances; instance++) {
		char outcome[LOADS_MAX + 1];
		unsigned int index;

		outcome_of(member->shared, shape, instance, outcome);
		index = index_of(outcome);
		if (!counts->of[index]++)
			strcpy(counts->text[index], outcome);
		if (!is_allowed(shape, outcome))
			complain(member, "%s gave %s in round %" PRIu64 " of batch %u: %s",
				 shape->name, outcome, (uint64_t)instance, plan->number,
				 describe(plan, roles_of(shape)));
	}
	for (int role = 0; role < ROLES_MAX; role++)
		atomic_store(&member->shared->cursors[role].at, 0);
}

static void report(struct member *member, const struct options *options, int number,
		   const struct counts *counts, uint64_t ns)
{
	const struct shape *shape = options->chosen[number];
	bool seen = counts->of[index_of(shape->seen)];
	uint32_t complaints = atomic_exchange(&member->shared->complaints, 0);
	bool failed = !seen || complaints;		/* of what is forbidden, too */
	uint64_t total = 0;

	printf("#: %s:", shape->name);
	for (int i = 0; i < OUTCOMES * 2; i++) {
		if (counts->of[i])
			printf(" %s %" PRIu64, counts->text[i], counts->of[i]);
		total += counts->of[i];
	}
	printf("; %.1f s\n", ns / 1e9);
	if (!seen)
		printf("# %s was never seen\n", shape->seen);
	if (atomic_load(&member->shared->broken))
		printf("# a lock or a packet has gone astray: no more rounds\n");
	if (complaints)
		printf("# %u complaints\n", complaints);
	if (failed)
		atomic_store(&member->shared->failed, true);
	printf("%sok %d - %s on %d nodes, %" PRIu64 " rounds: %s%s%s%s\n",
	       failed ? "not " : "", number + 1, shape->name,
	       options->nodes, total, shape->never ? "never " : "",
	       shape->never ? shape->never : "", shape->never ? ", at times " : "at times ",
	       shape->seen);
	fflush(stdout);
}

/* --- a process ------------------------------------------------------------------ */

/* Are more rounds wanted? Some more than asked for, if the roles have not met yet. */
static bool is_enough(const struct member *member, const struct options *options,
		      const struct shape *shape, const struct counts *counts, uint64_t done)
{
	uint64_t rounds = is_addressed(shape) ? options->addressed : options->rounds;

	return atomic_load(&member->shared->broken) ||
	       (done >= rounds && (counts->of[index_of(shape->seen)] || done >= rounds * PATIENCE));
}

/* Returns the number of batches before the next test. */
static uint32_t run_test(struct member *member, const struct options *options, int number,
			 uint32_t batches)
{
	const struct shape *shape = options->chosen[number];
	struct counts *counts = calloc(1, sizeof(*counts));
	uint64_t start = now_ns(), done = 0;

	if (!counts)
		exit(1);
	for (;;) {
		struct plan plan = make_plan(shape, options->nodes, options->seed, batches + 1);

		if (!member->rank)
			member->shared->enough = is_enough(member, options, shape, counts, done);
		meet(member);
		if (member->shared->enough)
			break;
		run_batch(member, shape, &plan);
		batches++;
		done += instances_of(shape);
		if (member->rank)
			continue;
		count_batch(member, shape, &plan, counts);
		atomic_fetch_add(&member->shared->beat, 1);
	}
	if (!member->rank)
		report(member, options, number, counts, now_ns() - start);
	free(counts);
	meet(member);		/* nobody forgets "enough" before all have read it */
	return batches;
}

static void read_stats(struct member *member, struct rfmring_stats *stats)
{
	stats->size = sizeof(*stats);
	rfmring_get_stats(member->ring, stats);
}

/* What is under way comes home; at last the answers to what was asked twice, too. */
static void settle(struct member *member)
{
	struct rfmring_stats stats;

	for (int turn = 0; turn < 2; turn++) {
		uint64_t end = now_ns() + JOIN_SECONDS * 1000000000ull;

		do
			read_stats(member, &stats);
		while ((stats.insert || stats.sent != stats.home + stats.lost) && now_ns() < end &&
		       !nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL));
		meet(member);
	}
}

static int be_node(struct shared *shared, const struct options *options, int rank)
{
	struct member *member = calloc(1, sizeof(*member));
	uint32_t batches = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!member)
		return 1;
	member->rank = rank;
	member->shared = shared;
	member->random = options->seed + rank;
	if (!open_node(member, options) || !join(member, options))
		return 1;
	meet(member);
	read_stats(member, &shared->before[rank]);
	for (int i = 0; i < options->count; i++)
		batches = run_test(member, options, i, batches);
	settle(member);
	read_stats(member, &shared->after[rank]);
	meet(member);		/* nobody leaves before all have read */
	rfmring_close(member->ring);
	free(member);
	return 0;
}

/* --- the books ------------------------------------------------------------------ */

/* What a counter has grown by since all were on the ring. */
#define GROWN(shared, node, name) ((shared)->after[node].name - (shared)->before[node].name)

static bool is_none(int node, const char *what, uint64_t count)
{
	if (count)
		printf("# node %d: %" PRIu64 " %s\n", node, count, what);
	return !count;
}

static bool nothing_lost(const struct shared *s, int i)
{
	bool good = is_none(i, "not home", GROWN(s, i, sent) - GROWN(s, i, home));

	good &= is_none(i, "lost", GROWN(s, i, lost));
	good &= is_none(i, "dark", GROWN(s, i, dark));
	good &= is_none(i, "without room", GROWN(s, i, full) + GROWN(s, i, overrun));
	good &= is_none(i, "not passed on", GROWN(s, i, unsendable) + GROWN(s, i, hop_limit));
	good &= is_none(i, "missed", GROWN(s, i, missed));
	good &= is_none(i, "late", GROWN(s, i, late));
	good &= is_none(i, "bad", GROWN(s, i, bad));
	good &= is_none(i, "interrupts lost", GROWN(s, i, interrupts_lost));
	return good;
}

/* Nothing was lost: then each node has taken what the others have sent. */
static bool check_books(const struct shared *shared, int nodes)
{
	uint64_t sent = 0, peak = 0;
	bool good = true;

	for (int i = 0; i < nodes; i++)
		sent += GROWN(shared, i, sent);
	for (int i = 0; i < nodes; i++) {
		uint64_t others = sent - GROWN(shared, i, sent);

		good &= nothing_lost(shared, i);
		if (GROWN(shared, i, received) != others) {
			printf("# node %d: received %" PRIu64 " of %" PRIu64 "\n", i,
			       GROWN(shared, i, received), others);
			good = false;
		}
		if (shared->after[i].tx_peak > peak)
			peak = shared->after[i].tx_peak;
	}
	printf("#: %" PRIu64 " frames, transmit FIFO at most %" PRIu64 " deep\n", sent, peak);
	return good && sent;
}

/* Ends our own children. */
static void end_all(const pid_t *children, int count)
{
	for (int i = 0; i < count; i++)
		if (children[i] > 0)
			kill(children[i], SIGKILL);
}

/* Waits for all; false if one failed or nothing moves any more. */
static bool await_all(struct shared *shared, pid_t *children, int count)
{
	uint64_t beat = 0, since = now_ns();
	bool good = true;
	sigset_t child;
	int left = count;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid > 0) {
			for (int i = 0; i < count; i++)
				if (children[i] == pid)
					children[i] = 0;
			left--;
			if (status && good) {
				printf("# a node ended with status %#x\n", status);
				good = false;
				end_all(children, count);
			}
			continue;
		}
		if (beat != atomic_load(&shared->beat)) {
			beat = atomic_load(&shared->beat);
			since = now_ns();
		} else if (now_ns() - since > STUCK_SECONDS * 1000000000ull && good) {
			printf("# nothing moves any more, in batch %" PRIu64 "\n", beat + 1);
			good = false;
			end_all(children, count);
		}
		sigtimedwait(&child, NULL, &(struct timespec){ .tv_sec = 1 });
	}
	return good;
}

static struct shared *make_shared(int nodes)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t shared_by_all;

	if (shared == MAP_FAILED) {
		perror("litmus");
		exit(1);
	}
	pthread_barrierattr_init(&shared_by_all);
	pthread_barrierattr_setpshared(&shared_by_all, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &shared_by_all, nodes);
	return shared;
}

static int usage(const char *complaint)
{
	fprintf(stderr, "litmus: %s\nusage: litmus -n NODES -r RX -t TX [-c ROUNDS] [-s SEED] "
		"[-a ROUNDS] [-x] [TEST...]\n", complaint);
	exit(2);
}

static void choose(struct options *options, char **names, int count)
{
	for (int i = 0; i < count; i++)
		if (!find_shape(names[i]))
			usage("no such test");
		else if (roles_of(find_shape(names[i])) > options->nodes)
			usage("too few nodes for that test");
	for (const struct shape *shape = shapes; shape->name; shape++) {
		bool named = !count;

		for (int i = 0; i < count; i++)
			named |= !strcmp(names[i], shape->name);
		if (named && roles_of(shape) <= options->nodes)
			options->chosen[options->count++] = shape;
	}
}

static struct options parse(int argc, char **argv)
{
	struct options options = { .rounds = 20000, .seed = 1 };
	int option;

	while ((option = getopt(argc, argv, "n:r:t:c:a:s:x")) != -1) {
		switch (option) {
		case 'n':
			options.nodes = atoi(optarg);
			break;
		case 'r':
			options.rx = optarg;
			break;
		case 't':
			options.tx = optarg;
			break;
		case 'c':
			options.rounds = strtoull(optarg, NULL, 0);
			break;
		case 'a':
			options.addressed = strtoull(optarg, NULL, 0);
			break;
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			options.streams = true;
			break;
		default:
			usage("unknown option");
		}
	}
	if (options.nodes < 2 || options.nodes > NODES_MAX)
		usage("2 to 8 nodes");
	if (!options.rx || !options.tx || !options.rounds)
		usage("-r, -t and some rounds are needed");
	if (!options.addressed)
		options.addressed = options.rounds;
	choose(&options, argv + optind, argc - optind);
	return options;
}

int main(int argc, char **argv)
{
	struct options options = parse(argc, argv);
	struct shared *shared = make_shared(options.nodes);
	pid_t children[NODES_MAX];
	sigset_t child;
	bool good;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	printf("1..%d\n# seed %" PRIu64 "\n", options.count + 1, options.seed);
	fflush(stdout);
	for (int i = 0; i < options.nodes; i++) {
		children[i] = fork();
		if (!children[i])
			exit(be_node(shared, &options, i));
	}
	good = await_all(shared, children, options.nodes);
	good = good && check_books(shared, options.nodes);
	printf("%sok %d - the books balance: nothing lost, nothing late\n", good ? "" : "not ",
	       options.count + 1);
	return !good || atomic_load(&shared->failed);
}
