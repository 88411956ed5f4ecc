/* SPDX-License-Identifier: MIT */
/*
 * rmbench: what a ring of processes costs on this machine, each figure beside a
 * bare one of the same run. docs/man/rmbench.1 is the manual.
 */
#ifndef RMBENCH_H
#define RMBENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_NODES	256	/* processes of one measurement, at most */
#define BENCH_SLICES	5	/* a measurement is the median of so many */
#define BENCH_SENTENCE	256
/* Says in so many bytes why a measurement has failed; negative. */
#define bench_why(sentence, ...)	(snprintf(sentence, BENCH_SENTENCE, __VA_ARGS__), -1)

/* What the processes of one measurement share. */
struct bench_shared {
	_Atomic unsigned int ready;	/* processes that are set up */
	_Atomic unsigned int drained;	/* processes that have nothing under way any more */
	_Atomic uint64_t others;	/* units that others than number 0 have counted so far */
	_Atomic bool stop;		/* end soon */
	_Atomic bool failed;		/* one of them could not go on; @sentence says why */
	char sentence[BENCH_SENTENCE];
	uint64_t units[BENCH_SLICES];	/* what was counted in each slice */
	uint64_t ns[BENCH_SLICES];	/* how long each slice took */
};

/* Processes that measure something together. */
struct bench_team {
	/*
	 * The work of number @index. Number 0 writes the slices and returns, which ends the
	 * measurement; the others may go on for ever.
	 */
	void (*member)(struct bench_shared *shared, unsigned int index, void *opaque);
	void *opaque;		/* for it */
	unsigned int count;	/* of processes */
};

/**
 * bench_run() - let a team work
 * @sentence: BENCH_SENTENCE bytes: why it failed
 *
 * Returns ns a unit, the median of the slices; negative on failure, also after
 * a signal, which is caught from now on. No process is left.
 */
double bench_run(const struct bench_team *team, char *sentence);

/** bench_fail() - in a member: give up the whole measurement */
__attribute__((noreturn, format(printf, 2, 3)))
void bench_fail(struct bench_shared *shared, const char *format, ...);

/** bench_ready() - in a member: set up; wait until @count are */
void bench_ready(struct bench_shared *shared, unsigned int count);

/**
 * bench_median() - of @count values, which it puts in order
 *
 * Others may have the CPU for a while: one bad value does not move it.
 */
double bench_median(double *values, size_t count);

/** bench_handoff() - one eventfd after the other, round @processes; ns a hop */
double bench_handoff(unsigned int processes, double seconds, char *sentence);

/** bench_socket_handoff() - the same of two processes, by a byte in a unix socket */
double bench_socket_handoff(double seconds, char *sentence);

/** bench_queue() - frames of @bytes from one process to another, shared memory; ns a frame */
double bench_queue(unsigned int bytes, double seconds, char *sentence);

enum bench_link { BENCH_SHM, BENCH_TCP, BENCH_TLS };

/* A ring of nodes, each a process. */
struct bench_ring {
	unsigned int nodes;	/* how many */
	unsigned int bytes;	/* of a store */
	const char *line;	/* "free" or "paced" */
	bool redundant;		/* transfer mode */
	enum bench_link link;	/* of all neighbours */
	/*
	 * Node 0 makes one store after the other, each when the one before is home; else all nodes
	 * make as many as the ring takes.
	 */
	bool lone;
};

/**
 * bench_ring() - measure one
 *
 * Returns ns for each store that came home: with @lone that is once round the
 * ring, else what the ring needs for one.
 */
double bench_ring(const struct bench_ring *ring, double seconds, char *sentence);

enum bench_operation {
	BENCH_READ,			/* 8 bytes of the other node */
	BENCH_CAS,			/* a word there */
	BENCH_RESYNC,			/* 64 MiB, as they are there; a unit is a MiB, as with the next */
	BENCH_BULK,			/* 64 MiB, written here and stored there */
	/* What one store in a hundred takes longer than, while blocks go there */
	BENCH_STORE_BESIDE_PACKETS,
	BENCH_STORE_BESIDE_BULK,	/* the same, while blocks are written */
};

/** bench_remote() - a ring of two processes; ns a unit */
double bench_remote(enum bench_operation what, double seconds, char *sentence);

#endif
