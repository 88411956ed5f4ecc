/* SPDX-License-Identifier: MIT */
/* rmnode: a full member of the ring without a virtual machine. */
#ifndef RMNODE_H
#define RMNODE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "tools/common/control.h"
#include "tools/common/hex.h"
#include "tools/common/ring.h"

#define INTERRUPTS_KEPT	1024	/* for wait-interrupt */

#define PUBLISH_MAX	8	/* places to which values are published */

#define DEST_ALL	RFMRING_NODES	/* in requests: every other node */

/* Requests have the numbers of interrupts that are on the wire. */
static inline uint32_t type_of_wire(uint64_t type)
{
	return type == 7 ? 4 : type < 4 ? (uint32_t)type : UINT32_MAX;
}

static inline int wire_type(uint32_t type)
{
	return type == 4 ? 7 : (int)type;
}

enum log_style { LOG_TEXT, LOG_JSON, LOG_NONE };

struct fence;
struct publisher;
struct recording;

TAILQ_HEAD(job_list, job);

/**
 * struct rmnode - the running member
 * @trouble: RFMRING_* that have happened since they were told
 * @jobs: what goes on, in the order in which it was asked for
 * @monitors: how many of these want every event
 * @tls: of the links; NULL: none
 * @publisher: NULL: nothing is published
 * @guests: rings of replays that are over, to be closed outside the loop's round
 */
struct rmnode {
	struct rfmring *ring;
	struct rfm_loop *loop;
	struct control *control;
	struct rfm_tls *tls;
	unsigned int id;
	enum log_style log;
	uint64_t log_missed;
	bool stopping;

	uint32_t trouble;
	struct rfm_poller trouble_poller;
	struct rfm_loop_fd signals;

	struct job_list jobs;
	unsigned int monitors;
	struct recording *recording;
	struct publisher *publisher;
	struct fence *fence;
	struct rfmring *guests[RFMRING_NODES];
	unsigned int guest_count;

	struct rfmring_interrupt interrupts[INTERRUPTS_KEPT];
	unsigned int interrupts_head, interrupts_count;
	uint64_t interrupts_lost;
};

/* --- daemon.c ------------------------------------------------------------------- */

/** struct member_options - the command line of a member, apart from what librfmring wants */
struct member_options {
	struct rfmring_config config;
	const char *control;
	const char *tls;
	const char *regions;
	const char *publish[PUBLISH_MAX];
	unsigned int published;
	enum log_style log;
};

#define STATUS_MISUSED	2	/* a bad command line; 1 is a failure */

/** run_member() - until SIGTERM, SIGINT or the verb stop; returns the exit status */
int run_member(struct member_options *options);

/* --- events.c ------------------------------------------------------------------- */

void events_begin(struct rmnode *node);

/** tell_event() - to the log and to all monitors; @event is taken over */
void tell_event(struct rmnode *node, const char *name, json_t *event);

void on_interrupt(void *opaque, const struct rfmring_interrupt *interrupt);
void on_status(void *opaque, uint32_t what);
void on_log(void *opaque, const char *sentence);

control_run verb_monitor, verb_wait_interrupt, verb_wait;

/* --- access.c: the memory --------------------------------------------------------- */

/** get_range() - "first" and "last" of @args, by default the whole memory of @ring */
bool get_range(struct control_request *request, json_t *args, const struct rfmring *ring,
	       uint32_t *first, uint32_t *last);

control_run verb_read, verb_write, verb_fill, verb_watch, verb_checksum;

/* --- member.c: the node ------------------------------------------------------------ */

/** member_stats() - those of the ring, and what was dropped here */
struct rfmring_stats member_stats(const struct rmnode *node);

control_run verb_send, verb_stats, verb_members, verb_fence, verb_set, verb_stop;

/** get_data() - bytes of @args, to be freed; NULL after it has failed the request */
uint8_t *get_data(struct control_request *request, json_t *args, const char *name, size_t *length);

/* --- remote.c: the memory of one other node ----------------------------------------- */

control_run verb_get, verb_put, verb_cas, verb_add, verb_export, verb_resync,
	    verb_message, verb_receive;

/* --- job.c: what goes on for a while ------------------------------------------------ */

enum step {
	STEP_DID,	/* something; go on */
	STEP_WAIT,	/* nothing before job.when */
	STEP_FULL,	/* there is no room for a store */
	STEP_DONE,	/* job_end() was called */
};

/**
 * struct job_kind - what a client can ask for that goes on
 * @step: one store, or whatever it does; NULL: it waits, until job_over() or its time
 * @late: then; what to say when its time has come
 * @result: what to answer at the end; NULL: nothing
 * @release: free what belongs to it; may be NULL
 */
struct job_kind {
	enum step (*step)(struct job *job, uint64_t now);
	const char *late;
	json_t *(*result)(struct job *job);
	void (*release)(struct job *job);
};

/**
 * struct job - the beginning of each
 * @ring: where its stores go: the node's, unless it is another's
 * @when: STEP_WAIT: until then; without @step its time
 * @over: without @step: it has come
 * @stores: made
 * @dropped: of these, on the ring, for want of room
 * @dark: of these, made while the node was dark: they stay in its own memory
 */
struct job {
	const struct job_kind *kind;
	struct rmnode *node;
	TAILQ_ENTRY(job) entry;
	struct control_request *request;
	struct rfmring *ring;
	struct rfm_poller poller;
	struct rfm_timer timer;
	uint64_t when;
	bool over;
	uint64_t stores, dropped, dark;
};

/** job_new() - of @size bytes, zero behind the job; NULL after it has failed the request */
void *job_new(struct rmnode *node, struct control_request *request, size_t size,
	      const struct job_kind *kind);

/** job_begin() - take its steps from now on; before this it may just be freed */
void job_begin(struct job *job);

/** job_end() - answer, release and free; @error: a sentence, or NULL when all was done */
void job_end(struct job *job, const char *error);

/** job_store() - a store of @job; STEP_DID or STEP_FULL */
enum step job_store(struct job *job, uint32_t offset, const void *data, unsigned int length,
		    uint64_t now);

/** job_dark_stores() - how many stores and interrupts have found the node dark so far */
uint64_t job_dark_stores(const struct job *job);

/** job_over() - what @job waits for has come; it ends in a step of its own */
void job_over(struct job *job);

/** jobs_end() - all but those that wait, because the program ends */
void jobs_end(struct rmnode *node);

control_run verb_load;

/* --- record.c, replay.c -------------------------------------------------------------- */

/** struct sightings - the last number seen of each source, to take each frame once */
struct sightings {
	uint64_t incarnation[RFMRING_NODES];
	uint64_t seq[RFMRING_NODES];
};

/** first_sight() - is it new? */
bool first_sight(struct sightings *sightings, const struct rfm_frame *frame);

/** struct ranges - bytes that are of interest; none: all */
struct ranges {
	unsigned int count;
	struct range { uint32_t first, last; } range[64];
};

/** get_ranges() - "ranges" of @args: [[first, last], ...] */
bool get_ranges(struct control_request *request, json_t *args, struct ranges *ranges);
bool in_ranges(const struct ranges *ranges, uint32_t address, unsigned int length);

control_run verb_record, verb_replay;
void record_end(struct rmnode *node);

/* --- publish.c ------------------------------------------------------------------------ */

/** publish_load() - the regions and where they go to; false after a sentence was printed */
bool publish_load(struct rmnode *node, const struct member_options *options);

/** publish_begin() - when the ring is there; false after a sentence was printed */
bool publish_begin(struct rmnode *node);

/** publish_stored() - bytes that the member has stored itself */
void publish_stored(struct rmnode *node, uint64_t offset, uint64_t length, uint64_t now);

/** publish_end() - the last values are sent, and meanwhile the ring goes on */
void publish_end(struct rmnode *node);

/** publish_json() - what has become of it, of `stats`; NULL: nothing is published */
json_t *publish_json(const struct rmnode *node);

/* --- client.c ------------------------------------------------------------------------- */

/** run_verb() - a verb of the command line; returns the exit status */
int run_verb(const char *socket, bool json, int argc, char **argv);
void print_verbs(void);

/* --- words.c --------------------------------------------------------------------------- */

/** word_number() - false after a sentence was printed */
bool word_number(const char *what, const char *text, uint64_t min, uint64_t max, uint64_t *value);

/** word_range() - FIRST-LAST, FIRST+LENGTH, or one address */
bool word_range(const char *text, uint64_t *first, uint64_t *last);

/** word_switch() - on or off */
bool word_switch(const char *what, const char *text, bool *value);

/** complain() - "rmnode: SENTENCE" on standard error; returns 1 */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** refuse() - the same of a word; returns false */
#define refuse(...)	({ complain(__VA_ARGS__); false; })

#endif
