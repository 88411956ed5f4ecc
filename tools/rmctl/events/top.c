// SPDX-License-Identifier: MIT
/* rmctl top: which ranges are written, how often, by whom, and how old it is when it comes. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rates.h"
#include "stream.h"
#include "tools/common/clock.h"
#include "tools/common/parse.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"

#define INTERVAL_MIN	(NSEC_PER_SEC / 10)
#define INTERVAL_MAX	(3600 * NSEC_PER_SEC)
/* With a value of three characters it is as wide as a terminal of 80. */
#define ROW		"%-20s %8s %10s %10s %10s %10s  "
#define VALUE_MAX	64u	/* bytes: what is larger has no value of its own here */

/**
 * struct row - a range that is watched
 * @stream: its watch; first
 * @target: the range; @target.word is its name
 * @rates: what has come
 */
struct row {
	struct stream stream;
	struct target target;
	struct rates rates;
};

/**
 * struct top - all of them
 * @rows: @count of them
 * @all: no range was named: these are the regions of the file
 * @left_out: regions behind these, for which there is no room
 * @fds: of them, for poll()
 * @interval_ns: of a round
 * @until: how many rounds are wanted
 * @round: this one, from 1
 * @begun_ns: when all were watched
 * @round_ns: when this round began
 * @terminal: draw, do not print
 */
struct top {
	struct command *cmd;
	struct card card;
	struct row *rows;
	size_t count, left_out;
	struct pollfd *fds;
	struct until until;
	uint64_t interval_ns, round, begun_ns, round_ns;
	bool all, terminal;
};

/* --- the command line ---------------------------------------------------------------- */

static int get_options(struct top *top, int argc, char **argv)
{
	struct command *cmd = top->cmd;
	int status = STATUS_OK;

	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;) {
		if (option != 'i')
			status = until_option(cmd, &top->until, option);
		else if (parse_duration(optarg, &top->interval_ns) ||
			 top->interval_ns < INTERVAL_MIN || top->interval_ns > INTERVAL_MAX)
			status = misused(cmd, "interval '%s' is no time from 0.1 s to an hour",
					 optarg);
	}
	return status;
}

static int add_row(struct top *top, const char *word)
{
	top->rows = grown(top->cmd, top->rows, top->count, sizeof(*top->rows));
	top->rows[top->count].stream.fd = -1;
	return get_target(top->cmd, word, &top->rows[top->count++].target);
}

/* Those that were named, or all regions of the file. Returns an exit status. */
static int get_rows(struct top *top, char **words, int count)
{
	int status = STATUS_OK;

	for (int i = 0; i < count && !status; i++)
		status = add_row(top, words[i]);
	if (count || status)
		return status;
	top->all = true;
	status = regions_need(top->cmd);
	if (status)
		return status;
	for (const struct rfm_region *region = top->cmd->regions->regions; region && !status;
	     region = region->next)
		status = add_row(top, region->name);
	if (!status && !top->count)
		status = failed(top->cmd, "there are no regions in %s", regions_path(top->cmd));
	return status;
}

/* --- watching -------------------------------------------------------------------------- */

static int watch_row(struct top *top, struct row *row, bool optional)
{
	struct stream *stream = &row->stream;
	int status;

	stream_init(stream, 0);
	stream->optional = optional;
	stream->watch.flags |= RFM_WATCH_COALESCE;
	status = stream_add(top->cmd, stream, &row->target);
	return status ? status : stream_open(top->cmd, stream, &top->card);
}

/* Each has a descriptor of its own. */
static void want_descriptors(size_t count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + 16)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Those from @count on have no room: of a file, unlike of ranges that were named, the first do. */
static void leave_out(struct top *top, size_t count)
{
	top->left_out = top->count - count;
	top->count = count;
	warn_user(top->cmd, "only the first %zu of %zu regions are shown: the card has no room for "
		  "more watches, or this program none for more open files (ulimit -n)", count,
		  count + top->left_out);
}

static int watch_all(struct top *top)
{
	int status = STATUS_OK;

	want_descriptors(top->count);
	top->fds = needed(top->cmd, calloc(top->count, sizeof(*top->fds)));
	for (size_t i = 0; i < top->count && !status; i++) {
		status = watch_row(top, &top->rows[i], top->all && i);
		if (!status && top->rows[i].stream.fd < 0)
			leave_out(top, i);
		top->fds[i] = (struct pollfd){ .fd = top->rows[i].stream.fd, .events = POLLIN };
	}
	return status;
}

static int add_event(const struct command *cmd, struct stream *stream,
		     const struct rfm_event *event)
{
	rates_add(&((struct row *)stream)->rates, event);
	return STATUS_OK;
}

/* Until the end of the round, or of all. Returns an exit status. */
static int wait_round(struct top *top)
{
	uint64_t end = top->round_ns + top->interval_ns;
	int status = STATUS_OK, ready;

	while (!status && !stop_asked() && now_ns() < end) {
		ready = stop_poll(top->fds, top->count, end);
		for (size_t i = 0; i < top->count && ready > 0 && !status; i++)
			if (top->fds[i].revents)
				status = stream_take(top->cmd, &top->rows[i].stream, add_event);
	}
	return status;
}

/* --- what is shown ------------------------------------------------------------------------ */

/* What stands there now, if it is one value. */
static bool value_of(const struct top *top, const struct row *row, struct first *first)
{
	const struct target *target = &row->target;
	bool one = target->named ?
		target->place.type == RFM_REGION_CHAR ||
		(target->place.type && target->place.count == 1) :
		target->length <= 8 && !(target->length & (target->length - 1));
	unsigned char bytes[VALUE_MAX];
	struct span span = { .offset = target->offset, .length = target->length,
			     .known = target->length, .bytes = bytes };

	if (!one || target->length > VALUE_MAX ||
	    pread(rfm_fd(top->card.rfm), bytes, target->length,
		  card_position(&top->card, target->offset)) != (ssize_t)target->length)
		return false;
	first->unit = "";
	if (target->named) {
		rfm_value_print(&target->place, bytes, first->value, sizeof(first->value));
		first->unit = target->place.unit;
	} else {
		span_raw(&span, first->value, sizeof(first->value));
	}
	return true;
}

static bool is_stale(const struct top *top, const struct row *row, uint64_t now)
{
	return rates_stale(&row->rates, now, top->begun_ns, row->target.place.period_ns);
}

static void print_row(const struct top *top, const struct row *row, uint64_t now, uint64_t elapsed)
{
	char rate[UNIT_TEXT], age[UNIT_TEXT] = "never", mean[UNIT_TEXT] = "-";
	char max[UNIT_TEXT] = "-", node[UNIT_TEXT] = "-";
	const struct rates *rates = &row->rates;
	struct first first = { .unit = "" };
	uint64_t time;

	if (rates_age(rates, now, &time)) {
		time_text(age, time);
		node_text(node, rates->node);
	}
	if (rates_latency(rates, &time)) {
		time_text(mean, time);
		time_text(max, rates->latency_max_ns);
	}
	value_of(top, row, &first);
	printf(ROW "%s%s%s%s", row->target.word,
	       rate_text(rate, rates->updates, elapsed), age, mean, max, node,
	       is_stale(top, row, now) ? "STALE  " : "", first.value, *first.unit ? " " : "",
	       first.unit);
	if (rates->lost)
		printf("  LOST %" PRIu64, rates->lost);
	puts(top->terminal ? "\033[K" : "");
}

/* Rows that fit on the terminal, beside the two lines above and one below. */
static size_t room(const struct top *top)
{
	struct winsize size;

	if (!top->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 5)
		return top->count;
	return size.ws_row - 4u;
}

static int print_text(const struct top *top, uint64_t now, uint64_t elapsed)
{
	const char *end = top->terminal ? "\033[K\n" : "\n";
	size_t rows = room(top);

	/* What is wider than the terminal is cut off there, so that each row stays one. */
	if (top->terminal)
		printf("\033[?7l\033[Hrmctl top %s: %zu range(s), every %.3g s, Ctrl-C ends it%s",
		       top->cmd->card, top->count, (double)top->interval_ns / 1e9, end);
	if (top->terminal || top->round == 1)
		printf(ROW "%s%s", "RANGE", "RATE/s", "AGE",
		       "LATENCY", "AT MOST", "NODE", "VALUE", end);
	for (size_t i = 0; i < top->count && i < rows; i++)
		print_row(top, &top->rows[i], now, elapsed);
	if (rows > top->count)
		rows = top->count;
	if (rows < top->count || (top->terminal && top->left_out))
		printf("and %zu more%s", top->count - rows + top->left_out, end);
	if (top->terminal)
		fputs("\033[J\033[?7h", stdout);
	return out_flush(top->cmd);
}

static json_t *row_json(const struct top *top, const struct row *row, uint64_t now,
			uint64_t elapsed)
{
	const struct rates *rates = &row->rates;
	const struct target *target = &row->target;
	struct first first;
	uint64_t mean = 0, age = 0;
	bool aged = rates_age(rates, now, &age), timed = rates_latency(rates, &mean);
	bool valued = value_of(top, row, &first);

	return json_pack("{s:s, s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, "
			 "s:I}",
		"name", target->word, "offset", (json_int_t)target->offset,
		"length", (json_int_t)target->length, "updates", (json_int_t)rates->updates,
		"rate_hz", (double)rates->updates * 1e9 / (double)elapsed,
		"total_updates", (json_int_t)rates->total,
		"age_ns", json_known(aged, age), "latency_min_ns", json_known(timed, rates->latency_min_ns),
		"latency_mean_ns", json_known(timed, mean),
		"latency_max_ns", json_known(timed, rates->latency_max_ns),
		"node", json_known(aged && rates->node != RFM_NODE_ALL, rates->node),
		"value", !valued ? json_null() :
			 target->named ? value_json(target->place.type, first.value) :
					 json_string(first.value),
		"unit", valued ? json_string(first.unit) : json_null(),
		"stale", is_stale(top, row, now),
		"lost", (json_int_t)rates->lost);
}

static int print_json(const struct top *top, uint64_t now, uint64_t elapsed)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < top->count; i++)
		json_array_append_new(rows, row_json(top, &top->rows[i], now, elapsed));
	return out_json(top->cmd, json_pack("{s:s, s:I, s:I, s:I, s:o, s:I}", "device",
					    top->cmd->card, "time_ns", (json_int_t)now, "round",
					    (json_int_t)top->round, "interval_ns",
					    (json_int_t)elapsed, "ranges", rows, "left_out",
					    (json_int_t)top->left_out));
}

/* Of whom nothing comes it may be this machine that writes: the card knows when it did last. */
static void ask_for_own(struct top *top, struct row *row, uint64_t now)
{
	const uint64_t end = row->target.offset + row->target.length;
	struct rfm_counters counters;
	uint64_t next;

	if (rfm_counters(top->card.rfm, &counters))
		return;
	for (uint64_t offset = row->target.offset; offset < end && is_stale(top, row, now);
	     offset = next) {
		struct rfm_writer writer;

		next = (offset / RFM_GRANULE + 1) * RFM_GRANULE;
		if (stop_asked() || rfm_writer(top->card.rfm, offset, &writer))
			return;
		if (writer.node == top->card.info.node && !(writer.flags & RFM_EVENT_AGE_UNKNOWN))
			rates_own(&row->rates, now - (counters.clock_ns - writer.time_ns),
				  writer.node);
	}
}

static int print_round(struct top *top)
{
	uint64_t now = now_ns(), elapsed = now - top->round_ns;

	for (size_t i = 0; i < top->count; i++)
		if (is_stale(top, &top->rows[i], now))
			ask_for_own(top, &top->rows[i], now);
	return top->cmd->json ? print_json(top, now, elapsed) : print_text(top, now, elapsed);
}

/* --- round by round -------------------------------------------------------------------------- */

static int show_rounds(struct top *top)
{
	int status = STATUS_OK;

	if (top->terminal)
		fputs("\033[2J", stdout);
	top->begun_ns = now_ns();
	fprintf(stderr, "%s", top->terminal ? "" : "watching ...\n");
	for (top->round = 1; !status && !until_done(&top->until); top->round++) {
		top->round_ns = now_ns();
		status = wait_round(top);
		if (status || stop_asked())
			break;
		status = print_round(top);
		until_count(&top->until, 1);
		for (size_t i = 0; i < top->count; i++)
			rates_next_round(&top->rows[i].rates);
	}
	return status ? status : until_end(top->cmd, &top->until, "round");
}

int verb_top(struct command *cmd, int argc, char **argv)
{
	struct top top = { .cmd = cmd, .interval_ns = NSEC_PER_SEC };
	int status;

	status = get_options(&top, argc, argv);
	if (!status)
		status = check_operands(cmd, argc, argv, 1, argc);
	if (status)
		return status;
	top.terminal = !cmd->json && isatty(STDOUT_FILENO);
	status = get_rows(&top, argv + optind + 1, argc - optind - 1);
	if (!status)
		status = card_open(cmd, &top.card, argv[optind], false);
	if (!status) {
		stop_hold_signals();
		status = watch_all(&top);
		if (!status)
			status = show_rounds(&top);
	}
	free(top.rows);
	free(top.fds);
	return status;
}
