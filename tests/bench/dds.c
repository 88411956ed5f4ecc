// SPDX-License-Identifier: MIT
/*
 * A sample of a DDS, Eclipse Cyclone, until a reader that sleeps on the other machine has it.
 *
 *	dds answer		on one machine, until it is killed
 *	dds ask SECONDS		on the other; prints rmbench's JSON
 *
 * Reliable, of the last value only; the reader sleeps in a wait set. Which network it is on is said
 * by CYCLONEDDS_URI.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dds/dds.h>

#include "number.h"
#include "tools/rmbench/line.h"

#define MATCH_S		20	/* that two take to find each other, on a busy machine */

static struct bench_samples samples = {
	.name = "dds", .what = "DDS sample until a sleeping reader has it", .bytes = 4,
};

static dds_entity_t writer, reader, wait_set;

static dds_entity_t check(dds_return_t result, const char *what)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "dds: %s: %s\n", what, dds_strretcode(result));
	exit(1);
}

static int put(struct bench_line *line, uint32_t number)
{
	Number sample = { number };

	(void)line;
	check(dds_write(writer, &sample), "write");
	return 0;
}

static int get(struct bench_line *line, uint32_t *number)
{
	void *taken[1] = { NULL };
	dds_sample_info_t info;
	Number sample;

	(void)line;
	taken[0] = &sample;
	for (;;) {
		if (check(dds_take(reader, taken, &info, 1, 1), "take") > 0 && info.valid_data)
			break;
		if (!check(dds_waitset_wait(wait_set, NULL, 0, DDS_SECS(LINE_TICK_S)), "wait")) {
			errno = EINTR;
			return -1;
		}
	}
	*number = sample.value;
	return 0;
}

/* There is somebody at the other end of it. */
static void await_match(dds_entity_t entity, uint32_t status)
{
	dds_entity_t set = check(dds_create_waitset(DDS_CYCLONEDDS_HANDLE), "wait set");

	check(dds_set_status_mask(entity, status), "status");
	check(dds_waitset_attach(set, entity, 0), "attach");
	if (!check(dds_waitset_wait(set, NULL, 0, DDS_SECS(MATCH_S)), "wait")) {
		fprintf(stderr, "dds: nobody is there\n");
		exit(1);
	}
	check(dds_waitset_detach(set, entity), "detach");
}

static void open_both(bool asking)
{
	dds_entity_t participant = check(dds_create_participant(DDS_DOMAIN_DEFAULT, NULL, NULL),
					 "participant");
	dds_entity_t question = check(dds_create_topic(participant, &Number_desc, "question", NULL,
						       NULL), "topic");
	dds_entity_t answer = check(dds_create_topic(participant, &Number_desc, "answer", NULL,
						     NULL), "topic");
	dds_qos_t *qos = dds_create_qos();

	dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
	/* Who learns late of a writer gets what it has written last. */
	dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
	dds_qset_history(qos, DDS_HISTORY_KEEP_LAST, 1);
	writer = check(dds_create_writer(participant, asking ? question : answer, qos, NULL),
		       "writer");
	reader = check(dds_create_reader(participant, asking ? answer : question, qos, NULL),
		       "reader");
	dds_delete_qos(qos);
	if (asking) {
		await_match(writer, DDS_PUBLICATION_MATCHED_STATUS);
		await_match(reader, DDS_SUBSCRIPTION_MATCHED_STATUS);
	}
	check(dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS), "status");
	wait_set = check(dds_create_waitset(participant), "wait set");
	check(dds_waitset_attach(wait_set, reader, 0), "attach");
}

int main(int argc, char **argv)
{
	bool asking = argc == 3 && !strcmp(argv[1], "ask");
	struct bench_line line = { .put = put, .get = get };
	double seconds = asking ? atof(argv[2]) : 0;

	if (!asking && (argc != 2 || strcmp(argv[1], "answer"))) {
		fprintf(stderr, "usage: dds answer | ask SECONDS\n");
		return 2;
	}
	open_both(asking);
	if (!asking) {
		printf("ready\n");
		fflush(stdout);
		line_answer(&line);
	}
	if (line_ask(&line, seconds * 1e9, &samples)) {
		fprintf(stderr, "dds: %s\n", strerror(errno));
		return 1;
	}
	samples_print_json(seconds, json_pack("[o]", samples_json(&samples)));
	return 0;
}
