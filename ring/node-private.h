/* SPDX-License-Identifier: MIT */
/* What the parts of the node share: incarnation and time, sending, receiving. Private to ring/. */
#ifndef RFM_RING_NODE_PRIVATE_H
#define RFM_RING_NODE_PRIVATE_H

#include "ring/node.h"

#define NIC_GLOBAL	0x8
#define NIC_TYPE	0x7

/* Tags of what is in the transmit FIFO, and of what a paused node holds back. */
enum {
	TAG_TRANSIT,	/* passed on for another node */
	TAG_OWN,	/* numbered: an update, interrupt, fence, query or packet of this node */
	TAG_COPY,	/* second copy of an own frame */
	TAG_NOTICE,	/* heartbeat, duplicate id, break, answer */
	TAG_COUNTED,	/* held back: among those received */
};

/* ns from @then to @now, at least 1: 0 means unknown, and @now may be an old look at the clock. */
static inline uint64_t rfm_elapsed_ns(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 1;
}

/* The window as it is where no round takes long: what is shared out by it does not grow. */
static inline uint32_t rfm_usual_window(const struct rfm_node *node)
{
	return node->config.window < RFM_NODE_WINDOW ? node->config.window : RFM_NODE_WINDOW;
}

/* Own frames between their number and their return. */
static inline uint64_t rfm_in_flight(const struct rfm_node *node)
{
	return node->seq - node->home_seq;
}

/* send.c */
void rfm_new_epoch(struct rfm_node *node);
/* Somebody has come or gone. */
void rfm_members_changed(struct rfm_node *node);
/* An own heartbeat has come home, which took so long once round. */
void rfm_heartbeat_home(struct rfm_node *node, uint64_t turn_ns, uint64_t now);
bool rfm_can_forward(const struct rfm_node *node);
bool rfm_can_originate(const struct rfm_node *node);
/* Has what waits first credit for all of it? If nothing waits: is there credit? */
bool rfm_next_may_leave(struct rfm_node *node);
void rfm_retire_up_to(struct rfm_node *node, uint64_t seq, unsigned int came, bool paused,
		      uint64_t now);
/* Wakes a producer that waits, if there is room; whenever there is nothing left to send. */
void rfm_notify_room(struct rfm_node *node);
struct rfm_fifo_slot *rfm_transmit_put(struct rfm_node *node, uint8_t tag, unsigned int frames,
				  uint64_t ready);
void rfm_send_notice(struct rfm_node *node, struct rfm_frame *frame, uint64_t now);
void rfm_send_heartbeat(struct rfm_node *node, uint64_t now);
void rfm_send_duplicate(struct rfm_node *node, uint64_t incarnation, uint64_t now);
void rfm_send_break(struct rfm_node *node, uint64_t now);
/* What never waits; all but @dropped is filled in. */
enum rfm_insert_result rfm_queue_command(struct rfm_node *node, struct rfm_insert_record *command);
void rfm_cancel_own(struct rfm_node *node);
void rfm_cancel_transmit(struct rfm_node *node);

/* query.c */
void rfm_answer_query(struct rfm_node *node, const struct rfm_frame *frame,
		      const uint8_t *data, uint64_t now);
void rfm_receive_answer(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *data);

/* packet.c; @data: all bytes of the packet */
void rfm_packet_numbered(struct rfm_node *node, uint64_t now);
void rfm_packet_dropped(struct rfm_node *node);
void rfm_packet_home(struct rfm_node *node, const struct rfm_frame *frame);
/* Own packets up to number @seq that have not ended. */
void rfm_packets_end(struct rfm_node *node, uint64_t seq, enum rfm_packet_fate fate);
/* Those of which nothing is known for too long. Returns when to call again. */
uint64_t rfm_packets_expire(struct rfm_node *node, uint64_t now);
/* rfm_node_may_packet() sets its word, then looks: before the last look a full fence is needed. */
void rfm_packets_notify_room(struct rfm_node *node);
bool rfm_packet_is_for_us(const struct rfm_node *node, const struct rfm_frame *frame);
/* Returns the marks that its destination leaves. */
uint16_t rfm_packet_judge(struct rfm_node *node, const struct rfm_frame *frame,
			  const uint8_t *data);
void rfm_packet_deliver(struct rfm_node *node, const struct rfm_frame *frame, const uint8_t *data);

/* receive.c */
void rfm_discount_held(const struct rfm_node *node, struct rfm_node_past *past);
void rfm_cancel_held(struct rfm_node *node);

#endif
