// SPDX-License-Identifier: MIT
/* Rings of processes: the measurements in their order, and the table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "machines.h"
#include "rmbench.h"

/* Limits from the project's goals. */
#define HOP_LIMIT	3.0	/* times the bare hand-off */
#define GROWTH_LIMIT	1.2	/* times the bare growth */
#define CAS_LIMIT	1.3	/* times a READ */
#define RESYNC_LIMIT	1.3	/* times a bulk write */
#define BESIDE_LIMIT	1.2	/* a store beside packets, times one beside bulk writes */
#define PACED_BAND	0.03	/* of the card's published rate */
#define SATURATED_MAX	16	/* nodes: more have no turn in time on a few processors */
#define TURNS		5	/* of the two that an operation at one node is compared with */
#define QUEUE_NS	44.0	/* a bare queue with a CRC, 64 bytes, on the first machine */

/* One line of the table. */
struct row {
	char what[48];			/* was measured */
	unsigned int nodes;		/* processes */
	unsigned int bytes;		/* of a store; 0: of no meaning */
	double value;			/* the figure, in @unit */
	const char *unit;
	double beside;			/* what it is compared with, 0: nothing */
	const char *beside_what;	/* where that comes from */
	/* The ratio of the two should be at least that; 0: no limit. */
	double low;
	double high;			/* at most that; 0: no limit */
};

static struct row rows[40];
static unsigned int row_count;

static const unsigned int sizes[] = { 2, 8, 64, 256 };

#define SIZES	(sizeof(sizes) / sizeof(sizes[0]))
#define AT_8	1
#define AT_256	3

static double share;		/* seconds of a measurement */
static bool with_json;

static char why[BENCH_SENTENCE];	/* a measurement has failed */

static double checked(double ns)
{
	if (ns >= 0)
		return ns;
	fprintf(stderr, "rmbench: %s\n", why);
	exit(1);
}

/* --- the table -------------------------------------------------------------- */

static bool is_met(const struct row *row)
{
	double ratio = row->value / row->beside;

	return (!row->low || ratio >= row->low) && (!row->high || ratio <= row->high);
}

static void print_row(const struct row *row)
{
	char target[64] = "", bytes[12] = "";

	if (row->bytes)
		snprintf(bytes, sizeof(bytes), "%u", row->bytes);
	printf("%-34s %5u %5s %10.2f %-7s", row->what, row->nodes, bytes, row->value, row->unit);
	if (row->beside) {
		if (row->low)
			snprintf(target, sizeof(target), "  %.2f to %.2f: %s", row->low, row->high,
				 is_met(row) ? "met" : "missed");
		else if (row->high)
			snprintf(target, sizeof(target), "  up to %.2f: %s", row->high,
				 is_met(row) ? "met" : "missed");
		printf(" %10.2f %-17s %6.2f%s", row->beside, row->beside_what,
		       row->value / row->beside, target);
	}
	putchar('\n');
	fflush(stdout);
}

static void add_row(struct row row)
{
	if (!with_json)
		print_row(&row);
	rows[row_count++] = row;
}

static json_t *limit(double value)
{
	return value ? json_real(value) : json_null();
}

static void print_json(double seconds)
{
	json_t *list = json_array(), *all;

	for (const struct row *row = rows; row < rows + row_count; row++)
		json_array_append_new(list, json_pack(
			"{ss si si sf ss so ss? so so so so}", "what", row->what,
			"nodes", (int)row->nodes, "bytes", (int)row->bytes, "value", row->value,
			"unit", row->unit, "beside", limit(row->beside),
			"beside_what", row->beside ? row->beside_what : NULL,
			"ratio", limit(row->beside ? row->value / row->beside : 0),
			"ratio_min", limit(row->low), "ratio_max", limit(row->high),
			"met", row->high ? json_boolean(is_met(row)) : json_null()));
	all = json_pack("{sf so}", "seconds", seconds, "rows", list);
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

/* --- the measurements ------------------------------------------------------- */

/* The bare hand-off before and after the ring's, so that both see the same machine. */
static void measure_hops(unsigned int nodes, double *bare, double *hop)
{
	const struct bench_ring ring = { .nodes = nodes, .bytes = 4, .line = "free", .lone = true };

	*bare = checked(bench_handoff(nodes, share, why));
	*hop = checked(bench_ring(&ring, share, why)) / nodes;
	*bare = (*bare + checked(bench_handoff(nodes, share, why))) / 2;
	add_row((struct row){
		.what = "a bare eventfd hand-off", .nodes = nodes, .value = *bare / 1000,
		.unit = "us/hop",
	});
	add_row((struct row){
		.what = "a hop of a lone store", .nodes = nodes, .bytes = 4, .value = *hop / 1000,
		.unit = "us/hop", .beside = *bare / 1000, .beside_what = "bare hand-off",
		.high = HOP_LIMIT,
	});
}

static void measure_all_hops(void)
{
	double bare[SIZES], hop[SIZES];

	for (unsigned int i = 0; i < SIZES; i++)
		measure_hops(sizes[i], &bare[i], &hop[i]);
	add_row((struct row){
		.what = "growth of a hop from 8 to 256", .nodes = sizes[AT_256],
		.value = hop[AT_256] / hop[AT_8], .unit = "times",
		.beside = bare[AT_256] / bare[AT_8], .beside_what = "bare growth",
		.high = GROWTH_LIMIT,
	});
}

static double measure_queue(unsigned int bytes)
{
	double ns = checked(bench_queue(bytes, share, why));

	add_row((struct row){
		.what = "a bare shared-memory queue", .nodes = 2, .bytes = bytes, .value = ns,
		.unit = "ns", .beside = bytes == 64 ? QUEUE_NS : 0,
		.beside_what = "first machine",
	});
	return ns;
}

static double saturated(unsigned int nodes, unsigned int bytes)
{
	const struct bench_ring ring = { .nodes = nodes, .bytes = bytes, .line = "free" };

	return checked(bench_ring(&ring, share, why));
}

static void measure_saturated(unsigned int bytes, double queue)
{
	add_row((struct row){
		.what = "two nodes, saturated, round", .nodes = 2, .bytes = bytes,
		.value = saturated(2, bytes), .unit = "ns",
		.beside = queue, .beside_what = "bare queue",
	});
}

/* What one more member costs: a lone store, and an update of many. */
static void measure_growth(void)
{
	measure_all_hops();
	for (unsigned int nodes = 2; nodes <= SATURATED_MAX; nodes *= 2)
		add_row((struct row){
			.what = "all nodes, saturated, round", .nodes = nodes, .bytes = 64,
			.value = saturated(nodes, 64), .unit = "ns",
		});
}

static void measure_paced(unsigned int bytes, bool redundant, double published)
{
	const struct bench_ring ring = {
		.nodes = 2, .bytes = bytes, .line = "paced", .redundant = redundant,
	};
	struct row row = {
		.nodes = 2, .bytes = bytes, .unit = "MB/s",
		.beside = redundant ? published / 2 : published,
		.beside_what = redundant ? "half of the card" : "the card",
		.low = 1 - PACED_BAND, .high = 1 + PACED_BAND,
	};

	row.value = bytes * 1000 / checked(bench_ring(&ring, share, why));
	snprintf(row.what, sizeof(row.what), "two nodes, paced%s", redundant ? ", redundant" : "");
	add_row(row);
}

static void measure_queues(void)
{
	measure_queue(4);
	measure_queue(64);
}

static void measure_pair(void)
{
	measure_saturated(64, measure_queue(64));
}

static void measure_handoffs(void)
{
	add_row((struct row){
		.what = "a bare eventfd hand-off", .nodes = 2, .unit = "us/hop",
		.value = checked(bench_handoff(2, share, why)) / 1000,
	});
	add_row((struct row){
		.what = "a bare unix socket hand-off", .nodes = 2, .unit = "us/hop",
		.value = checked(bench_socket_handoff(share, why)) / 1000,
	});
}

/* The same over TCP, as it is and with TLS. */
static void measure_link(const char *what, bool lone)
{
	struct bench_ring ring = {
		.nodes = 2, .bytes = lone ? 4 : 64, .line = "free", .lone = lone,
	};
	const char *unit = lone ? "us/hop" : "ns";
	double scale = lone ? 1000.0 * ring.nodes : 1, plain, tls;
	struct row row = { .nodes = 2, .bytes = ring.bytes, .unit = unit };

	ring.link = BENCH_TCP;
	plain = checked(bench_ring(&ring, share, why)) / scale;
	ring.link = BENCH_TLS;
	tls = checked(bench_ring(&ring, share, why)) / scale;
	ring.link = BENCH_TCP;
	plain = (plain + checked(bench_ring(&ring, share, why)) / scale) / 2;
	row.value = plain;
	snprintf(row.what, sizeof(row.what), "%s, TCP", what);
	add_row(row);
	snprintf(row.what, sizeof(row.what), "%s, TLS", what);
	row.value = tls;
	row.beside = plain;
	row.beside_what = "TCP";
	add_row(row);
}

static void measure_tls(void)
{
	measure_link("a hop of a lone store", true);
	measure_link("two nodes, saturated, round", false);
}

/* In turns with what it is measured by, so that both see the same machine. */
static void measure_remote(struct row row, enum bench_operation what, const char *measure_name,
			   enum bench_operation measure)
{
	double values[TURNS], besides[TURNS];

	for (int i = 0; i < TURNS; i++) {
		besides[i] = checked(bench_remote(measure, share / TURNS, why));
		values[i] = checked(bench_remote(what, share / TURNS, why));
	}
	row.nodes = 2;
	row.value = bench_median(values, TURNS) / 1000;
	row.beside = bench_median(besides, TURNS) / 1000;
	row.beside_what = measure_name;
	add_row(row);
}

static void measure_operations(void)
{
	measure_remote((struct row){
		.what = "a word changed at its home", .bytes = 8, .unit = "us", .high = CAS_LIMIT,
	}, BENCH_CAS, "reading 8 bytes", BENCH_READ);
	measure_remote((struct row){
		.what = "resync of 64 MiB", .unit = "us/MiB", .high = RESYNC_LIMIT,
	}, BENCH_RESYNC, "a bulk write", BENCH_BULK);
	measure_remote((struct row){
		.what = "p99 of a store beside packets", .bytes = 4, .unit = "us", .high = BESIDE_LIMIT,
	}, BENCH_STORE_BESIDE_PACKETS, "beside bulk writes", BENCH_STORE_BESIDE_BULK);
}

static void measure_everything(void)
{
	double queue4, queue64;

	measure_all_hops();
	queue4 = measure_queue(4);
	queue64 = measure_queue(64);
	measure_saturated(4, queue4);
	measure_saturated(64, queue64);
	measure_paced(4, false, 43);
	measure_paced(64, false, 170);
	measure_paced(4, true, 43);
	measure_paced(64, true, 170);
}

/* --- the command ------------------------------------------------------------ */

/* What can be asked for. */
struct verb {
	const char *name;
	void (*measure)(void);
	unsigned int shares;	/* the measurements that share the time */
};

static const struct verb verbs[] = {
	/* each hop size thrice, queues, and pairs of nodes */
	{ "ring", measure_everything, 3 * SIZES + 2 + 2 + 4 },
	{ "growth", measure_growth, 3 * SIZES + 4 },
	{ "queue", measure_queues, 2 },
	{ "pair", measure_pair, 2 },
	{ "handoff", measure_handoffs, 2 },
	{ "tls", measure_tls, 6 },
	{ "remote", measure_operations, 6 },
};

static const struct verb *find_verb(int count, char **words)
{
	for (size_t i = 0; count == 1 && i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (!strcmp(words[0], verbs[i].name))
			return &verbs[i];
	return NULL;
}

int bench_processes(const struct bench_options *options, int count, char **words)
{
	const struct verb *verb = find_verb(count, words);

	if (!verb || options->only)
		return -1;
	share = options->seconds / verb->shares;
	with_json = options->json;
	if (!with_json)
		printf("%-34s %5s %5s %10s %-7s %10s %-17s %6s  %s\n", "measurement", "nodes",
		       "bytes", "measured", "", "beside", "", "ratio", "target");
	verb->measure();
	if (with_json)
		print_json(options->seconds);
	return 0;
}
