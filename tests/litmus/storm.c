// SPDX-License-Identifier: MIT
/*
 *	storm -i ID -r RX -t TX [-l LIFE] [-n WORDS] [-w WINDOW] [-b BYTES] [-S MS] [-2] [-x]
 *
 * A node that stores as fast as it can, and checks what it hears from the
 * others. Node n owns WORDS words of 8 bytes from n * AREA on; it stores
 * LIFE << 40 | count into one after the other, and again from the first. So a
 * word never goes back, not even when its node dies and comes back with a
 * greater LIFE, which -l makes its incarnation too, and each update that does
 * is a fault.
 *
 * -n words, -w window, -b bytes of the sockets' buffers, -S stall limit, -2 redundant
 * transfers, -x streams only. Commands on standard input, answers on standard
 * output, one JSON object a line:
 *
 *	go		store from now on
 *	halt		no more; answers when the last store is done
 *	fence		{"fence": "" or what was wrong with it}
 *	show		counters, state, what was checked; see show()
 *	clear		forget the longest silence, and how late a thread was
 *
 * It leaves at the end of its input.
 */
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "ring/crc32c.h"
#include "ring/host/rfmring.h"

#define AREA		4096u
#define WORDS_MAX	(AREA / 8)
#define MEMORY		(RFMRING_NODES * AREA)
#define LIFE_SHIFT	40
#define FENCE_MS	10000
#define SAMPLE_NS	5000000

static struct rfmring *ring;
static unsigned int id;
static uint64_t life = 1;
static unsigned int words = WORDS_MAX;

static _Atomic bool storing, stored_all = true;
static _Atomic uint64_t stored, refused;
static _Atomic uint64_t backwards, torn, checked;
static _Atomic uint64_t silence_ns, silence_since, late_ns;
static pthread_mutex_t silence_lock = PTHREAD_MUTEX_INITIALIZER;	/* to change these */
static _Atomic uint64_t breaks, sync_losses;
static uint64_t newest[RFMRING_NODES * WORDS_MAX];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void say(void *opaque, const char *sentence)
{
	(void)opaque;
	fprintf(stderr, "# node %u: %s\n", id, sentence);
}

static void happened(void *opaque, uint32_t what)
{
	(void)opaque;
	atomic_fetch_add(&breaks, !!(what & RFMRING_BREAK));
	atomic_fetch_add(&sync_losses, !!(what & RFMRING_SYNC_LOSS));
}

/* --- stores ------------------------------------------------------------------- */

/* A dark node stores as fast as it likes, to no avail: leave the CPU to others. */
static void spare_cpu(void)
{
	struct rfmring_state state = { .size = sizeof(state) };

	if (!rfmring_get_state(ring, &state) && !(state.signal && state.downstream))
		nap(1000000);
}

static void *store_on(void *unused)
{
	uint64_t count = 0;

	(void)unused;
	for (;;) {
		uint32_t offset = id * AREA + count % words * 8;

		if (!atomic_load(&storing)) {
			atomic_store(&stored_all, true);
			nap(1000000);
			continue;
		}
		atomic_store(&stored_all, false);
		if (rfmring_store64(ring, offset, life << LIFE_SHIFT | ++count))
			atomic_fetch_add(&refused, 1);
		atomic_fetch_add(&stored, 1);
		if (count % 256 == 0)
			spare_cpu();
	}
	return NULL;
}

/* --- checks -------------------------------------------------------------------- */

/* Called by the ring's thread, behind every update. */
static void updated(void *opaque, const struct rfmring_update *update)
{
	(void)opaque;
	if (update->offset % 8 || update->length % 8)
		atomic_fetch_add(&torn, 1);
	for (uint32_t at = 0; at + 8 <= update->length; at += 8) {
		uint64_t *last = &newest[(update->offset + at) / 8], value, now = 0;

		memcpy(&value, (const uint8_t *)update->data + at, sizeof(value));
		rfmring_load64(ring, update->offset + at, &now);
		if (value < *last || now < *last)
			atomic_fetch_add(&backwards, 1);
		*last = value;
		atomic_fetch_add(&checked, 1);
	}
}

static void listen_once(uint64_t due)
{
	struct rfmring_stats stats = { .size = sizeof(stats) };
	uint64_t now = now_ns();
	static uint64_t home;

	if (now - due > atomic_load(&late_ns))
		atomic_store(&late_ns, now - due);
	if (rfmring_get_stats(ring, &stats))
		return;
	if (stats.home != home || atomic_load(&stored_all))
		atomic_store(&silence_since, now);
	home = stats.home;
	if (now - atomic_load(&silence_since) > atomic_load(&silence_ns))
		atomic_store(&silence_ns, now - atomic_load(&silence_since));
}

/* How long does nothing of our own come home, and how late may a thread here wake up? */
static void *listen_to_silence(void *unused)
{
	(void)unused;
	for (;;) {
		uint64_t due = now_ns() + SAMPLE_NS;

		nap(SAMPLE_NS);
		pthread_mutex_lock(&silence_lock);
		listen_once(due);
		pthread_mutex_unlock(&silence_lock);
	}
	return NULL;
}

static json_t *members(void)
{
	struct rfmring_member list[RFMRING_NODES];
	int count = rfmring_members(ring, list, RFMRING_NODES);
	json_t *object = json_object();
	char name[12];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%u", list[i].id);
		json_object_set_new(object, name,
				    json_pack("{s:I, s:I}", "received", (json_int_t)list[i].received,
					      "missed", (json_int_t)list[i].missed));
	}
	return object;
}

/* Of each node that was ever heard: which life its newest word is from. */
static json_t *lives(void)
{
	json_t *object = json_object();
	char name[12];

	for (unsigned int node = 0; node < RFMRING_NODES; node++) {
		uint64_t max = 0, value;

		for (unsigned int word = node * WORDS_MAX; word < (node + 1) * WORDS_MAX;
		     word++)
			if (!rfmring_load64(ring, word * 8, &value) && value > max)
				max = value;
		if (!max)
			continue;
		snprintf(name, sizeof(name), "%u", node);
		json_object_set_new(object, name, json_integer(max >> LIFE_SHIFT));
	}
	return object;
}

static json_t *counters(void)
{
	struct rfmring_stats s = { .size = sizeof(s) };
	json_t *object = json_object();

	rfmring_get_stats(ring, &s);
#define COUNTER(name) json_object_set_new(object, #name, json_integer(s.name))
	COUNTER(stores), COUNTER(sent), COUNTER(home), COUNTER(lost), COUNTER(dark);
	COUNTER(full), COUNTER(received), COUNTER(forwarded), COUNTER(unsendable);
	COUNTER(overrun), COUNTER(missed), COUNTER(late), COUNTER(copies), COUNTER(bad);
	COUNTER(hop_limit), COUNTER(window_peak), COUNTER(tx_peak), COUNTER(insert_peak);
	COUNTER(stalls), COUNTER(longest_stall_ns);
#undef COUNTER
	return object;
}

static json_t *state(void)
{
	struct rfmring_state s = { .size = sizeof(s) };

	rfmring_get_state(ring, &s);
	return json_pack("{s:b, s:b, s:b, s:b, s:b, s:b, s:i, s:I}", "signal", s.signal,
			 "downstream", s.downstream, "open", s.ring_open, "rx_shm", s.rx_shm,
			 "tx_shm", s.tx_shm, "left", s.left, "break_at", s.break_at, "epoch",
			 (json_int_t)s.epoch);
}

static json_t *show(void)
{
	static uint8_t memory[MEMORY];

	rfmring_read(ring, 0, memory, sizeof(memory));
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:I}",
			 "stats", counters(), "state", state(), "members", members(),
			 "lives", lives(),
			 "breaks", (json_int_t)atomic_load(&breaks),
			 "sync_losses", (json_int_t)atomic_load(&sync_losses),
			 "stored", (json_int_t)atomic_load(&stored),
			 "refused", (json_int_t)atomic_load(&refused),
			 "backwards", (json_int_t)atomic_load(&backwards),
			 "torn", (json_int_t)atomic_load(&torn),
			 "checked", (json_int_t)atomic_load(&checked),
			 "silence", atomic_load(&silence_ns) / 1e9,
			 "late", atomic_load(&late_ns) / 1e9,
			 "sum", (json_int_t)rfm_crc32c(0, memory, sizeof(memory)));
}

/* --- commands -------------------------------------------------------------------- */

static json_t *fence(void)
{
	return json_pack("{s:s}", "fence",
			 rfmring_fence(ring, NULL, FENCE_MS) ? strerror(errno) : "");
}

static void forget(void)
{
	pthread_mutex_lock(&silence_lock);
	atomic_store(&silence_since, now_ns());
	atomic_store(&silence_ns, 0);
	atomic_store(&late_ns, 0);
	pthread_mutex_unlock(&silence_lock);
}

static json_t *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		forget();
		atomic_store(&storing, true);
	} else if (!strcmp(command, "halt")) {
		atomic_store(&storing, false);
		while (!atomic_load(&stored_all))
			nap(1000000);
	} else if (!strcmp(command, "clear")) {
		forget();
	} else if (!strcmp(command, "fence")) {
		return fence();
	} else if (!strcmp(command, "show")) {
		return show();
	} else {
		return json_pack("{s:s}", "error", command);
	}
	return json_object();
}

static void obey_input(void)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		json_t *answer;

		line[strcspn(line, "\n")] = 0;
		answer = obey(line);
		json_dumpf(answer, stdout, JSON_COMPACT);
		json_decref(answer);
		putchar('\n');
		fflush(stdout);
	}
}

static void parse(int argc, char **argv, struct rfmring_config *config)
{
	int option;

	while ((option = getopt(argc, argv, "i:r:t:l:n:w:b:S:2x")) != -1) {
		switch (option) {
		case 'i':
			config->id = id = atoi(optarg);
			break;
		case 'r':
			config->rx = optarg;
			break;
		case 't':
			config->tx = optarg;
			break;
		case 'l':
			config->incarnation = life = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			words = atoi(optarg);
			break;
		case 'w':
			config->window = atoi(optarg);
			break;
		case 'b':
			config->socket_buffer = atoi(optarg);
			break;
		case 'S':
			config->stall_ms = atoi(optarg);
			break;
		case '2':
			config->flags |= RFMRING_REDUNDANT;
			break;
		case 'x':
			config->flags |= RFMRING_STREAM_ONLY;
			break;
		default:
			exit(2);
		}
	}
	if (!words || words > WORDS_MAX || id >= RFMRING_NODES)
		exit(2);
}

int main(int argc, char **argv)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;
	char error[256] = "";
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	config.memory_size = MEMORY;
	config.log = say;
	config.status = happened;
	parse(argc, argv, &config);
	ring = rfmring_open(&config, error, sizeof(error));
	if (!ring || rfmring_watch(ring, 0, MEMORY, updated, NULL) < 0 ||
	    rfmring_start(ring)) {
		fprintf(stderr, "storm: %s\n", *error ? error : strerror(errno));
		return 1;
	}
	if (pthread_create(&thread, NULL, store_on, NULL) ||
	    pthread_create(&thread, NULL, listen_to_silence, NULL)) {
		fprintf(stderr, "storm: no thread\n");
		return 1;
	}
	obey_input();
	_exit(0);	/* the threads still use the ring; a crash is what others must bear */
}
