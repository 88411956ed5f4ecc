/* SPDX-License-Identifier: MIT */
/* A hub in one process, with cards of ids 10, 11, ... on its ports, and what it told us. */
#ifndef RFM_TESTS_UNIT_BENCH_H
#define RFM_TESTS_UNIT_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/rmhub/relay.h"

#define MS	1000000ull
#define PORTS	5

struct bench {
	struct hub hub;
	uint64_t now;
	uint64_t transmits[PORTS], changes[PORTS];
	uint64_t seen_in, seen_out;
	struct hub_firing let_go;	/* the last that was */
	uint64_t let_go_seq;		/* 0: none yet */
	uint64_t seq[PORTS];
};

extern const struct hub_ops bench_ops;

/* The first @lit ports are live. @config: NULL for a plain one. */
struct bench *bench_new(const struct hub_config *config, unsigned int lit);
void bench_free(struct bench *bench);
/* Nothing is lost without being counted. */
void check_balance(const struct hub *hub);

struct rfm_link_self card(unsigned int port, uint64_t incarnation);
uint64_t incarnation_of(unsigned int port);
void light(struct bench *bench, unsigned int port);
void dark(struct bench *bench, unsigned int port);

/* The next update of a port's card, its heartbeat after the last one, and how it comes in. */
struct rfm_frame update(struct bench *bench, unsigned int port);
struct rfm_frame heartbeat(const struct bench *bench, unsigned int port);
void inject(struct bench *bench, unsigned int port, const struct rfm_frame *frame);
void send_updates(struct bench *bench, unsigned int port, unsigned int count);
bool pull(struct bench *bench, unsigned int port, struct rfm_frame *frame);
unsigned int pull_all(struct bench *bench, unsigned int port);

uint64_t dropped(const struct bench *bench, unsigned int port, enum hub_drop reason);
/* What the link would say about our light: off, and on again at the next look? */
bool shows_sync_loss(struct bench *bench, unsigned int port);

/* A fault on every port; one that delays or freezes does so for 5 ms. */
struct fault *set_fault(struct bench *bench, enum fault_kind kind, uint64_t nth, uint64_t count);

#endif
