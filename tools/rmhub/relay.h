/* SPDX-License-Identifier: MIT */
/*
 * The hub: ports, each with the fibre from a card (in) and the fibre to it
 * (out). What comes in at a live port goes out at the next live one, in port
 * order; the others are bypassed. Pure like ring/: no sockets, no clock; its
 * owner calls it with the time (ns, any clock that never goes back) and is
 * answered through struct hub_ops.
 *
 *   in of port p -> checks -> rogues out -> faults -> egress FIFO of the next
 *   live port n, with the line behind it -> hub_pull() of n
 *
 * A port is dead without a card's light or a card that takes our frames, when it
 * is bypassed or the fibre from its card cut, and after too many damaged frames:
 * may_live().
 * settle() takes it out of the ring; what comes in there is dropped and counted.
 *
 * A train passes as one while nothing asks for single frames: no fault is
 * armed, no frame is held back, the line behind n is not paced, and the queue
 * has room for two of the longest.
 *
 * A change of the ring is a change of who comes before a live port. What is on
 * its way to that port is lost then and counted, and its light goes off and
 * on, so that the card behind it sees a sync loss (hub_config.glitchless: no).
 */
#ifndef RMHUB_RELAY_H
#define RMHUB_RELAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fault.h"
#include "rogue.h"
#include "ring/fifo.h"
#include "ring/link.h"

#define HUB_PORTS_MAX	256
#define HUB_QUEUE_MAX	1048576u
#define HUB_BAD_LIMIT	100		/* damaged frames a second */
#define HUB_CALM_NS	100000000ull	/* another hub is shown no more than one sync loss in it */
#define HUB_OVERTAKE_NS	1000000000ull	/* how long a frame waits to be overtaken */

enum hub_drop {
	HUB_DROP_DEAD_PORT,	/* came in at a dead port */
	HUB_DROP_IN_FLIGHT,	/* on its way when the ring changed */
	HUB_DROP_CUT,		/* went out into a cut fibre */
	HUB_DROP_ROGUE,		/* of a node that has gone */
	HUB_DROP_DAMAGED,	/* its hop count cannot be believed */
	HUB_DROP_HOP_LIMIT,	/* has travelled RFM_NODE_HOP_LIMIT links */
	HUB_DROP_OVERFLOW,	/* no room in the egress FIFO */
	HUB_DROP_FAULT,		/* on purpose */
	HUB_DROP_FORGED,	/* its source has not sent it */
	HUB_DROPS
};

enum hub_side { HUB_IN = 1, HUB_OUT = 2 };

/**
 * struct hub_port_config - what a port is
 * @line: the fibre to the card
 * @bypassed: from the beginning
 */
struct hub_port_config {
	struct rfm_line_config line;
	bool bypassed;
};

/**
 * struct hub_config - what the hub is
 * @glitchless: a change of the ring loses nothing that is not in the port
 *	which leaves, and no card sees its light go
 * @bad_limit: damaged frames a second that make a port bad; 0: none does, and
 *	only framing and hop count are looked at
 * @queue: frames that may wait for a port, a power of two
 */
struct hub_config {
	bool glitchless;
	uint32_t bad_limit;
	uint32_t queue;
};

/**
 * struct hub_firing - what a fault has done
 * @fault: its number
 * @bit: CORRUPT: of the frame, from its first byte
 * @let_go: a frame that REORDER held back has left before as many as it says,
 *	heartbeats not counted, had overtaken it: @overtaken_by, and @heartbeats
 */
struct hub_firing {
	unsigned int fault;
	enum fault_kind kind;
	unsigned int port;
	const struct rfm_frame *frame;
	unsigned int bit;
	bool let_go;
	unsigned int overtaken_by, heartbeats;
	uint64_t now;
};

/**
 * struct hub_ops - what a hub asks of its owner
 * @transmit: hub_pull() or hub_light_out() of that port have news
 * @changed: how a port is has changed; for people
 * @fired: a fault has, or what one held back has been let go; may be NULL
 * @forged: what came in at that port was made behind it, in another's name; may be NULL
 * @seen: a frame came in, or is going out, @side; @remark says what became of
 *	it if it is not passed on as it is, or is NULL; may be NULL
 *
 * None of them may call the hub back.
 */
struct hub_ops {
	void (*transmit)(void *opaque, unsigned int port);
	void (*changed)(void *opaque, unsigned int port);
	void (*fired)(void *opaque, const struct hub_firing *firing);
	void (*forged)(void *opaque, unsigned int port);
	void (*seen)(void *opaque, unsigned int port, enum hub_side side, const uint8_t *wire,
		     unsigned int len, const char *remark, uint64_t now);
};

/**
 * struct hub_port_stats - counters of a port, in frames
 * @in: came in, with @in_bytes
 * @out: went out, with @out_bytes
 * @dropped: by reason. IN_FLIGHT, CUT and OVERFLOW are counted where the frame
 *	would have gone out, or, if it waited for a fault's sake, where it came
 *	in; the others where it came in
 * @faults: what faults did, where the frame came in
 * @duplicates: made by faults, where the frame came in; without them in would
 *	not balance out
 * @damaged: came in damaged, or as something that is no frame; all but those
 *	of HUB_DROP_DAMAGED are passed on
 * @bad: times the port has become bad
 * @joined: times it has become live
 * @sync_losses: times the card behind it was shown one
 */
struct hub_port_stats {
	uint64_t in, in_bytes, out, out_bytes;
	uint64_t dropped[HUB_DROPS];
	uint64_t faults[FAULT_KINDS];
	uint64_t duplicates;
	uint64_t damaged, bad, joined, sync_losses;
};

/** struct hub_waiting - a frame that a fault holds back, or a damaged train */
struct hub_waiting {
	STAILQ_ENTRY(hub_waiting) entry;
	uint64_t due;		/* leaves then at the latest */
	unsigned int fault;	/* its number */
	unsigned int depth;		/* REORDER: so many are to pass it; else 0 */
	unsigned int overtakers;	/* this many have yet to */
	unsigned int overtaken_by, heartbeats;	/* these have */
	unsigned int len;
	uint8_t wire[];
};

STAILQ_HEAD(hub_waiting_list, hub_waiting);

/**
 * struct hub_port - a port
 * @light: the card's light comes in
 * @up: the card's receiver takes what we send
 * @bypassed: by hand
 * @bad: by itself, for damage
 * @cut_in, @cut_out: by hand: the fibre from the card, and to it
 * @live: part of the ring
 * @previous, @next: its neighbours there, itself if it is alone
 * @peer: who shines, known while @light and after; @peer.incarnation 0: nobody yet
 * @life: what came of @peer
 * @permit: whom the certificate of @peer allows, as @light came; NULL: anybody
 * @blink: its light is to be seen off before it is on again; since @blinked_at
 * @delayed: behind a DELAY or FREEZE, in order; counted in frames, as is the next
 * @frozen_until: till then nothing goes out; what comes in is in @delayed
 * @overtaken: behind a REORDER
 */
struct hub_port {
	struct hub_port_config config;
	bool light, up, bypassed, bad, cut_in, cut_out;
	bool live;
	unsigned int previous, next;
	struct rfm_link_self peer;
	struct rogue_life life;
	const struct rfm_permit *permit;
	bool blink;
	uint64_t blinked_at;
	struct rfm_fifo egress;
	uint64_t last_ready;
	struct hub_waiting_list delayed, overtaken;
	uint32_t delayed_count, overtaken_count;
	uint64_t last_due, frozen_until;
	uint64_t bad_since;
	uint32_t bad_count;
	struct hub_port_stats stats;
};

/**
 * struct hub - all of it
 * @wake: hub_tick() is wanted then, ns; may become earlier in any call
 * @passed: of each node, what came in where it may come in first
 */
struct hub {
	struct hub_config config;
	const struct hub_ops *ops;
	void *opaque;
	uint64_t wake;
	struct hub_port *ports;
	unsigned int count, live_count;
	struct faults faults;
	struct rogues rogues;
	struct rogue_life passed[RFM_RING_NODES];
};

/**
 * hub_init() - a hub without light
 * @ports: @count of them, 1..HUB_PORTS_MAX
 *
 * Returns 0, or -1 with errno ENOMEM. Undo with hub_destroy().
 */
int hub_init(struct hub *hub, const struct hub_config *config,
	     const struct hub_port_config *ports, unsigned int count,
	     const struct hub_ops *ops, void *opaque, uint64_t now);
void hub_destroy(struct hub *hub);

/** hub_set_light() - the card's light comes in, or does not; @peer: with light, whose it is */
void hub_set_light(struct hub *hub, unsigned int port, bool on,
		   const struct rfm_link_self *peer, uint64_t now);

/** hub_set_permit() - whom the certificate of who connects there allows; kept. NULL: anybody */
void hub_set_permit(struct hub *hub, unsigned int port, const struct rfm_permit *permit);

/** hub_set_up() - the card's receiver is there, or is not */
void hub_set_up(struct hub *hub, unsigned int port, bool up, uint64_t now);

/** hub_bypass() - take a port out of the ring by hand, or no more */
void hub_bypass(struct hub *hub, unsigned int port, bool on, uint64_t now);

/**
 * hub_cut() - cut fibres of a port
 * @sides: mask of enum hub_side
 *
 * IN: no light comes, the port is bypassed. OUT: the card sees no light, but
 * the hub cannot know: what it sends there is lost, and the ring is open.
 */
void hub_cut(struct hub *hub, unsigned int port, unsigned int sides, uint64_t now);

/** hub_restore() - mend the fibres of a port; one that was bad gets another chance */
void hub_restore(struct hub *hub, unsigned int port, uint64_t now);

/** hub_receive() - a frame or train from the card; @wire is changed */
void hub_receive(struct hub *hub, unsigned int port, uint8_t *wire, unsigned int len, uint64_t now);

/** hub_refuse() - a frame or train from the card that is not wanted any more; counted as DARK */
void hub_refuse(struct hub *hub, unsigned int port, unsigned int len);

/** hub_receive_bad() - the card sent something that is no frame, or is damaged */
void hub_receive_bad(struct hub *hub, unsigned int port, uint64_t now);

/**
 * hub_light_out() - does our laser towards the card shine?
 *
 * To be asked by the link when it is about to say so: an answer that is to be
 * seen once only counts as seen.
 */
bool hub_light_out(struct hub *hub, unsigned int port);

/** hub_pull() - the next frame for the card, as rfm_node_pull() */
unsigned int hub_pull(struct hub *hub, unsigned int port, uint8_t *wire, uint64_t now);

/** hub_next_pull() - when will hub_pull() have something? As rfm_node_next_pull() */
uint64_t hub_next_pull(struct hub *hub, unsigned int port);

/** hub_tick() - let time pass; returns when to call again (@wake), ns */
uint64_t hub_tick(struct hub *hub, uint64_t now);

/** hub_waits() - frames that are inside the hub now */
uint64_t hub_waits(const struct hub *hub);

/** hub_drop_name() - "in-flight", "rogue", ... */
const char *hub_drop_name(enum hub_drop reason);

/** hub_port_shines() - may its laser towards the card shine? */
bool hub_port_shines(const struct hub_port *port);

/** hub_port_why() - why a port is not live, in words; "live" if it is */
const char *hub_port_why(const struct hub_port *port);

#endif
