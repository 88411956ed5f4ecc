/* SPDX-License-Identifier: MIT */
/* rmhub: the running hub, and the verbs that talk to it. */
#ifndef RMHUB_RMHUB_H
#define RMHUB_RMHUB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "relay.h"
#include "ring/host/loop.h"
#include "ring/host/port.h"
#include "ring/util/pcapng.h"
#include "settings.h"
#include "tools/common/control.h"
#include "tools/common/log.h"

#define MONITORS_MAX	16

struct rmhub;

/**
 * struct rmhub_port - what a port of the hub is in this process
 * @in, @out: the two fibres
 * @state: what was last said about it
 * @interface: of the capture
 */
struct rmhub_port {
	struct rmhub *rmhub;
	unsigned int number;
	struct rfm_port *in, *out;
	const char *state;
	int interface;
};

/**
 * struct rmhub - the running hub
 * @said: for people, on standard error
 * @fired: what faults did, JSON lines
 * @monitors: requests that are told what happens
 * @tick_at: for which time @timer is set
 * @stopping: it is coming to an end: what is inside goes out first
 */
struct rmhub {
	struct settings *settings;
	struct rfm_loop *loop;
	struct rfm_tls *tls;
	struct hub hub;
	struct hub_ops ops;
	struct rmhub_port *ports;
	struct rfm_link_self self;
	struct control *control;
	struct control_request *monitors[MONITORS_MAX];
	uint64_t monitor_lost;
	struct journal said, fired;
	struct rfm_pcapng capture;
	struct rfm_timer timer, chores;
	struct rfm_loop_fd signals;
	uint64_t tick_at, start;
	bool stopping;
};

/** rmhub_run() - be a hub until told to stop; the exit status */
int rmhub_run(struct settings *settings);

/** rmhub_rearm() - after a call of the hub: has it become necessary to tick it earlier? */
void rmhub_rearm(struct rmhub *rmhub);

/** report_event() - a change of a port, as `rmhub monitor` prints it */
json_t *report_event(struct rmhub *rmhub, unsigned int port);

/** serve_verbs - what the control socket understands; the opaque is the struct rmhub */
extern const struct control_verb serve_verbs[];

/* Each prints what an answer says, for people. */
void print_status(json_t *status);
void print_counters(json_t *counters);
void print_faults(json_t *faults);

#endif
