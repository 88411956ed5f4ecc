/* SPDX-License-Identifier: MIT */
/*
 * A ring of nodes in one process: memory pipes instead of fibres, a clock that
 * the test turns by hand, and a record of all that each node's owner was told.
 * Peer i sends to peer i + 1, the last one to the first.
 */
#ifndef RFM_TESTS_UNIT_RIG_H
#define RFM_TESTS_UNIT_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/ether.h"
#include "ring/node.h"
#include "ring/remote.h"

#define RIG_PEERS_MAX	8
#define RIG_MEMORY	4096
#define MS		1000000ull

struct rig_stored {
	struct rfm_origin origin;
	uint32_t offset;
	uint8_t len;
	uint8_t data[RFM_FRAME_DATA_MAX];
};

/* What ops->missed() said. */
struct rig_missed {
	uint8_t source;
	uint64_t count, seq;
	uint64_t after;		/* updates stored before it */
};

struct rig_interrupt {
	uint8_t type, from;
	uint32_t data;
	uint64_t after;		/* updates stored before it */
};

/* A packet that came. */
struct rig_packet {
	struct rfm_packet packet;
	uint8_t data[RFM_PACKET_DATA];
	uint64_t after;		/* updates stored before it */
};

#define RIG_PACKETS	64	/* that came, or ended, at most */

/* A fibre: frames, one after the other, that left one node and have not arrived. */
struct rig_pipe {
	uint8_t *frames;	/* RFM_UNIT_MAX bytes each */
	uint32_t size, head, tail;
};

struct rig_peer {
	struct rfm_node node;
	_Alignas(8) uint8_t memory[RIG_MEMORY];
	struct rig_stored *stored;
	uint64_t stored_count, stored_size;
	struct rig_interrupt interrupts[4096];
	uint64_t interrupt_count;
	struct rig_missed missed;	/* the last */
	uint64_t missed_count;
	unsigned int status;	/* RFM_NODE_* since the test last looked, without the next */
	uint64_t bad_count, almost_count, epoch_count, signal_count;
	uint64_t transmit_count, room_count;
	bool awake;		/* the owner has reason to pull */
	struct rfm_fence_result fence;	/* the last that ended */
	uint64_t fence_count;
	struct rfm_answer answers[RFM_RING_NODES];	/* the last of each node */
	unsigned int answered[RFM_RING_NODES];		/* how many there were */
	uint64_t answer_count;
	struct rfm_remote *remote;	/* packets are its, if there is one */
	bool remote_awake;
	uint64_t remote_next;
	int port_room;		/* messages that port 7 takes still; those from 100 on are open as well */
	struct {
		uint8_t from;
		uint32_t length;
		uint8_t *data;
	} messages[RIG_PACKETS];	/* those that came */
	unsigned int message_count;
	const uint64_t *clock;
	struct rfm_ether *ether;	/* the test's; gets what is of its class, if there is one */
	bool full;		/* has no room for packets */
	bool stuck;		/* nor for what operations of others change */
	struct rig_packet *packets;	/* those that came, RIG_PACKETS of them */
	uint64_t packet_count;
	struct {
		uint64_t cookie;
		enum rfm_packet_fate fate;
	} ends[RIG_PACKETS];	/* the last of those that were sent */
	uint64_t end_count, packet_room_count;
	struct rig_pipe out;
	bool cut;		/* what is sent disappears */
};

struct rig {
	int count;
	uint64_t now;
	bool lazy;		/* stores wait for the next pull, even with credit */
	struct rig_peer *peers;
};

/* Peers with ids first_id, first_id + 1, ...; lit, joined, first heartbeats home. */
struct rig *rig_new(int count, int first_id);
/* The same, each like @like but for its id and incarnation. */
struct rig *rig_new_like(int count, int first_id, const struct rfm_node_config *like);
void rig_free(struct rig *rig);
int rig_next(const struct rig *rig, int peer);
int rig_previous(const struct rig *rig, int peer);

/* A node of the usual kind, without packing. */
struct rfm_node_config rig_config(uint8_t id, uint64_t incarnation);
/* Begin a peer's life (again); dark until rig_connect(). */
void rig_start(struct rig *rig, int peer, uint8_t id, uint64_t memory_size,
	       uint64_t incarnation);
/* The same with any configuration. */
void rig_start_as(struct rig *rig, int peer, const struct rfm_node_config *config);
void rig_connect(struct rig *rig, int from);
void rig_disconnect(struct rig *rig, int from);
/* Both fibres of a peer, and whatever follows from that. */
void rig_join(struct rig *rig, int peer);

/*
 * Each peer that had none has a struct rfm_remote then: it exports all of its memory, and is
 * home of all.
 */
void rig_remote(struct rig *rig);
/* If it has reason to; rig_settle() does it too. Returns whether it had. */
bool rig_run_remote(struct rig *rig, int peer);

/* The ways in which a ring may be run; rules that hold must hold in each. */
struct rig_mode {
	const char *name;
	struct rfm_node_config like;
	bool lazy;
};

#define RIG_MODES	5
extern const struct rig_mode rig_modes[RIG_MODES];
struct rig *rig_new_mode(int count, int first_id, const struct rig_mode *mode);

/* One step of a fibre, whoever was woken. Return whether anything moved. */
bool rig_pull(struct rig *rig, int peer, unsigned int frames);
bool rig_deliver(struct rig *rig, int from);
/* Until nothing moves; pulls only from those that were woken, or whose line is due. */
void rig_settle(struct rig *rig);
/* Lets time pass in small steps, settling at each. */
void rig_advance(struct rig *rig, uint64_t ns);

unsigned int rig_in_flight(const struct rig *rig, int from);
/* Takes the next frame, or train without its data, off the fibre behind @from; false: none. */
bool rig_drop(struct rig *rig, int from, struct rfm_frame *frame);
/* Damages the next frame on the fibre behind @from. */
void rig_damage(struct rig *rig, int from);
/* Puts one there, as the neighbour would receive it. */
void rig_inject(struct rig *rig, int from, const struct rfm_frame *frame);

void rig_store(struct rig *rig, int peer, uint32_t offset, const void *data, unsigned int len);
void rig_store32(struct rig *rig, int peer, uint32_t offset, uint32_t value);
uint32_t rig_load32(const struct rig *rig, int peer, uint32_t offset);
void rig_interrupt(struct rig *rig, int peer, uint8_t dest, uint8_t kind, uint32_t data);
void rig_interrupt_set(struct rig *rig, int peer, const uint8_t *set, uint8_t kind,
		       uint32_t data);
bool rig_fence(struct rig *rig, int peer, uint64_t ticket);
bool rig_query(struct rig *rig, int peer, uint64_t ticket, uint32_t offset, unsigned int len);
/* @length bytes, the first of which is @fill, to node @to; their cookie is @fill too. */
enum rfm_insert_result rig_packet(struct rig *rig, int peer, uint8_t to, unsigned int length,
				  uint8_t fill);
struct rfm_node_stats rig_stats(const struct rig *rig, int peer);
/* The books of a source, once its last frames or a heartbeat came home. */
void rig_assert_books_closed(const struct rig *rig, int peer);
/* What was told since the last call. */
unsigned int rig_status(struct rig *rig, int peer);

#endif
