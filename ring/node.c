// SPDX-License-Identifier: MIT
#include "ring/node.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ring/wire.h"

#define NIC_GLOBAL	0x8
#define NIC_TYPE	0x7
#define NIC_EVALUATED	0x8f	/* types 0 to 3 and 7; the others are reserved */

/* --- queues --------------------------------------------------------------- */

/* Fresh pages straight from the kernel: what is never used costs nothing. */
static int queue_init(struct rfm_queue *q, uint32_t size)
{
	void *slots = mmap(NULL, size * sizeof(struct rfm_slot), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (slots == MAP_FAILED)
		return -1;
	*q = (struct rfm_queue){ .slots = slots, .size = size };
	return 0;
}

static void queue_destroy(struct rfm_queue *q)
{
	if (q->slots)
		munmap(q->slots, q->size * sizeof(struct rfm_slot));
	q->slots = NULL;
}

static uint32_t queue_used(const struct rfm_queue *q)
{
	return q->tail - q->head;
}

static struct rfm_slot *queue_at(const struct rfm_queue *q, uint32_t index)
{
	return &q->slots[index & (q->size - 1)];
}

static struct rfm_slot *queue_put(struct rfm_queue *q)
{
	/* An empty queue starts over, so that an idle node keeps few pages. */
	if (q->head == q->tail)
		q->head = q->tail = 0;
	return queue_at(q, q->tail++);
}

static struct rfm_slot *queue_take(struct rfm_queue *q)
{
	return queue_at(q, q->head++);
}

/* --- what the node may do ------------------------------------------------- */

bool rfm_node_signal(const struct rfm_node *node)
{
	return !node->left && (node->light_in || node->loopback);
}

bool rfm_node_light_out(const struct rfm_node *node)
{
	return !node->tx_disable && !node->loopback &&
	       (node->light_in || !node->dark_on_dark);
}

/* Can frames of others be passed on? */
static bool can_forward(const struct rfm_node *node)
{
	return node->downstream && rfm_node_light_out(node);
}

/* Can own frames leave? A card without signal sends nothing. */
static bool can_originate(const struct rfm_node *node)
{
	return rfm_node_signal(node) && (node->loopback || can_forward(node));
}

static uint64_t in_flight(const struct rfm_node *node)
{
	return node->sent_seq - node->home_seq;
}

static bool has_credit(const struct rfm_node *node)
{
	/* Others that think the ring open may have filled it beyond their windows. */
	if (queue_used(&node->transmit) >= RFM_NODE_TX_SLOTS)
		return false;
	if (node->ring_open)
		return node->own_queued < RFM_NODE_OPEN_LIMIT;
	return in_flight(node) < RFM_NODE_WINDOW;
}

bool rfm_node_tx_empty(const struct rfm_node *node)
{
	return !queue_used(&node->transmit) && !queue_used(&node->insert);
}

bool rfm_node_tx_almost_full(const struct rfm_node *node)
{
	return queue_used(&node->insert) >= RFM_NODE_INSERT_SLOTS / 4 * 3;
}

/* --- sending -------------------------------------------------------------- */

static struct rfm_slot *transmit_put(struct rfm_node *node)
{
	if (!queue_used(&node->transmit))
		node->ops->transmit(node->opaque);
	return queue_put(&node->transmit);
}

/*
 * An own frame, or an own heartbeat behind it, is back: everything up to @seq
 * that is not home by now never will be, because frames keep their order.
 */
static void home_up_to(struct rfm_node *node, uint64_t seq, bool came, uint64_t now)
{
	node->ring_open = false;
	node->home_time = now;
	if (seq <= node->home_seq)
		return;
	node->stats.lost += seq - node->home_seq - came;
	node->stats.home += came;
	node->home_seq = seq;
}

/*
 * An own frame leaves the insertion stage, in the order of the numbers.
 * Returns its place in the transmit FIFO, or NULL if it needs none because
 * loopback has already brought it home.
 */
static struct rfm_slot *launch(struct rfm_node *node, uint64_t seq, uint64_t now)
{
	if (!in_flight(node))
		node->home_time = now;	/* the wait for it begins */
	node->sent_seq = seq;
	if (node->loopback) {
		home_up_to(node, seq, true, now);
		node->ops->status(node->opaque, RFM_NODE_OWN_DATA);
		return NULL;
	}
	node->own_queued++;
	return transmit_put(node);
}

static void launch_waiting(struct rfm_node *node, uint64_t now)
{
	while (queue_used(&node->insert) && has_credit(node)) {
		const struct rfm_slot *waiting = queue_take(&node->insert);
		struct rfm_slot *slot = launch(node, waiting->seq, now);

		if (slot)
			*slot = *waiting;
	}
	if (node->room_wanted && queue_used(&node->insert) < RFM_NODE_INSERT_SLOTS / 2) {
		node->room_wanted = false;
		node->ops->room(node->opaque);
	}
}

/*
 * No own frame can leave: those that wait for credit are given up. They keep
 * their numbers, so that every receiver sees the gap, and so do we when
 * something comes home.
 */
static void give_up_own(struct rfm_node *node, uint64_t now)
{
	node->stats.dark += queue_used(&node->insert);
	node->insert.head = node->insert.tail;
	node->sent_seq = node->seq;
	node->ring_open = true;
	launch_waiting(node, now);	/* whoever waits for room need not */
}

/* Nothing can leave at all. */
static void give_up_waiting(struct rfm_node *node, uint64_t now)
{
	while (queue_used(&node->transmit)) {
		uint8_t kind = queue_take(&node->transmit)->kind;

		node->stats.dark += kind == RFM_SLOT_OWN;
		node->stats.unsendable += kind == RFM_SLOT_TRANSIT;
	}
	node->own_queued = 0;
	give_up_own(node, now);
}

bool rfm_node_may_store(struct rfm_node *node)
{
	if (!can_originate(node) || queue_used(&node->insert) < RFM_NODE_INSERT_SLOTS)
		return true;
	node->room_wanted = true;
	return false;
}

/* Everything a frame says about its originator. */
static void sign(const struct rfm_node *node, struct rfm_frame *frame, uint64_t now)
{
	frame->source = node->config.id;
	frame->incarnation = node->config.incarnation;
	frame->clock_domain = node->config.clock_domain;
	frame->seq = node->seq;
	frame->time_ns = now;
	frame->hops = 1;
}

static void fill_slot(struct rfm_slot *slot, enum rfm_slot_kind kind,
		      const struct rfm_frame *frame)
{
	slot->kind = kind;
	slot->seq = frame->seq;
	slot->length = rfm_frame_encode(frame, slot->wire);
}

/* Number a frame and send it, at most @limit waiting before it. */
static void originate(struct rfm_node *node, struct rfm_frame *frame, uint32_t limit,
		      uint64_t now)
{
	struct rfm_slot *slot;

	node->seq++;
	node->stats.sent++;
	if (!can_originate(node)) {
		node->stats.dark++;
		node->sent_seq = node->seq;
		return;
	}

	sign(node, frame, now);
	if (!queue_used(&node->insert) && has_credit(node)) {
		slot = launch(node, node->seq, now);
		if (slot)
			fill_slot(slot, RFM_SLOT_OWN, frame);
	} else if (queue_used(&node->insert) < limit) {
		fill_slot(queue_put(&node->insert), RFM_SLOT_OWN, frame);
	} else {
		node->stats.full++;
		node->ops->status(node->opaque, RFM_NODE_TX_FULL);
	}
}

void rfm_node_store(struct rfm_node *node, uint32_t offset, const void *data,
		    unsigned int len, uint64_t now)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_DATA,
		.address = (offset + node->address_offset) % RFM_RING_SPACE,
	};
	unsigned int to_end = RFM_RING_SPACE - frame.address;

	frame.length = len < to_end ? len : to_end;
	memcpy(frame.data, data, frame.length);
	originate(node, &frame, RFM_NODE_INSERT_SLOTS, now);
	if (frame.length < len)		/* the address offset wraps inside it */
		rfm_node_store(node, offset + frame.length,
			       (const uint8_t *)data + frame.length, len - frame.length, now);
}

void rfm_node_interrupt(struct rfm_node *node, uint8_t dest, uint8_t kind,
			uint32_t data, uint64_t now)
{
	struct rfm_frame frame = {
		.type = RFM_FRAME_INTERRUPT,
		.length = sizeof(data),
		.dest = dest,
		.kind = kind & (NIC_GLOBAL | NIC_TYPE),
	};

	put32(frame.data, data);
	originate(node, &frame, RFM_NODE_INSERT_SLOTS + RFM_NODE_INSERT_RESERVE, now);
}

static void send_notice(struct rfm_node *node, struct rfm_frame *frame, uint64_t now)
{
	if (node->loopback || !can_originate(node) ||
	    queue_used(&node->transmit) >= RFM_NODE_TX_SLOTS)
		return;
	sign(node, frame, now);
	/*
	 * Own frames still waiting for credit come after this one; numbers that
	 * were given and dropped before them do not.
	 */
	if (queue_used(&node->insert))
		frame->seq = queue_at(&node->insert, node->insert.head)->seq - 1;
	if (!in_flight(node))
		node->home_time = now;
	node->sent_seq = frame->seq;
	fill_slot(transmit_put(node), RFM_SLOT_NOTICE, frame);
}

static void send_heartbeat(struct rfm_node *node, uint64_t now)
{
	struct rfm_frame frame = { .type = RFM_FRAME_HEARTBEAT };

	send_notice(node, &frame, now);
}

unsigned int rfm_node_pull(struct rfm_node *node, uint8_t *buf, unsigned int size,
			   uint64_t now)
{
	unsigned int done = 0;

	while (queue_used(&node->transmit) && size - done >= RFM_FRAME_MAX) {
		const struct rfm_slot *slot = queue_take(&node->transmit);

		memcpy(buf + done, slot->wire, slot->length);
		done += slot->length;
		node->own_queued -= slot->kind == RFM_SLOT_OWN;
	}
	launch_waiting(node, now);	/* of an open ring or a full FIFO */
	return done;
}

/* --- receiving ------------------------------------------------------------ */

static bool is_update(const struct rfm_frame *frame)
{
	return frame->type == RFM_FRAME_DATA || frame->type == RFM_FRAME_INTERRUPT;
}

void rfm_node_receive_bad(struct rfm_node *node)
{
	if (node->left)
		return;
	node->stats.bad++;
	node->ops->status(node->opaque, RFM_NODE_BAD_DATA);
}

static void receive_own(struct rfm_node *node, const struct rfm_frame *frame, uint64_t now)
{
	bool update = is_update(frame);

	if (frame->seq > node->sent_seq) {
		rfm_node_receive_bad(node);	/* we never sent that */
		return;
	}
	if (update && frame->seq <= node->home_seq)
		node->stats.late++;
	home_up_to(node, frame->seq, update, now);
	if (update)
		node->ops->status(node->opaque, RFM_NODE_OWN_DATA);
	launch_waiting(node, now);
}

/*
 * Another node has my id. The one that came later leaves; it learns of it by
 * a notice that names it, because only the earlier one can be sure that a
 * frame is not left over from a former life of its own.
 */
static void receive_namesake(struct rfm_node *node, const struct rfm_frame *frame,
			     uint64_t now)
{
	struct rfm_frame notice = { .type = RFM_FRAME_DUPLICATE, .length = 8 };

	if (frame->type == RFM_FRAME_DUPLICATE &&
	    get64(frame->data) == node->config.incarnation) {
		if (node->left)
			return;
		if (rfm_node_signal(node))
			node->ops->status(node->opaque, RFM_NODE_SYNC_LOSS);
		node->left = true;
		give_up_own(node, now);
		node->ops->status(node->opaque, RFM_NODE_DUPLICATE_ID);
		return;
	}
	if (frame->incarnation > node->config.incarnation && !node->left &&
	    now - node->complaint_time >= RFM_NODE_HEARTBEAT_NS) {
		node->complaint_time = now;
		put64(notice.data, frame->incarnation);
		send_notice(node, &notice, now);
	}
}

/* Is this frame of the life of its source that counts? Makes it so if it should be. */
static bool of_current_life(struct rfm_source *source, const struct rfm_frame *frame,
			    uint64_t now)
{
	const struct rfm_life current = source->current;
	bool silent = now - source->heard >= RFM_NODE_SILENCE_NS;

	if (frame->type == RFM_FRAME_DUPLICATE)
		source->denied = get64(frame->data);
	if (frame->incarnation == current.incarnation)
		return true;
	if (frame->incarnation == source->denied)
		return false;

	/* What it sent before we met is not ours to miss. */
	if (frame->incarnation != source->other.incarnation)
		source->other = (struct rfm_life){ frame->incarnation,
						   frame->seq - is_update(frame) };
	/*
	 * A later life counts as soon as it sends something: until then it may be
	 * a second node of that id, which is about to be told to leave. An earlier
	 * life is what is left of it on the ring, unless it speaks up.
	 */
	if (current.incarnation && !silent && frame->type != RFM_FRAME_DUPLICATE &&
	    (frame->incarnation < current.incarnation || !frame->seq))
		return false;
	source->current = source->other;
	source->other = current;
	return true;
}

/*
 * Follow the numbers of another node. Returns whether the frame is newer than
 * all that came from there before.
 */
static bool follow(struct rfm_node *node, const struct rfm_frame *frame, uint64_t now)
{
	struct rfm_source *source = &node->sources[frame->source];
	bool update = is_update(frame);

	if (!of_current_life(source, frame, now)) {
		node->stats.late += update;
		return false;
	}
	source->heard = now;
	if (frame->seq <= source->current.seq) {
		node->stats.late += update;
		return false;
	}
	node->stats.missed += frame->seq - source->current.seq - update;
	source->current.seq = frame->seq;
	return true;
}

/* Store what lies within the memory. Returns how much that was. */
static unsigned int store_within(struct rfm_node *node, uint32_t offset, const uint8_t *data,
				 unsigned int len)
{
	uint64_t size = node->config.memory_size;

	if (offset >= size || !len)
		return 0;
	if (len > size - offset)
		len = size - offset;
	node->ops->store(node->opaque, offset, data, len);
	return len;
}

static void apply_data(struct rfm_node *node, const struct rfm_frame *frame)
{
	uint32_t offset = (frame->address - node->address_offset) % RFM_RING_SPACE;
	unsigned int to_end = RFM_RING_SPACE - offset;
	unsigned int len = frame->length < to_end ? frame->length : to_end;
	unsigned int stored = store_within(node, offset, frame->data, len);

	/* Our address offset may wrap inside it. */
	stored += store_within(node, 0, frame->data + len, frame->length - len);
	if (stored < frame->length)
		node->stats.beyond++;
}

static void apply_interrupt(struct rfm_node *node, const struct rfm_frame *frame)
{
	uint8_t type = frame->kind & NIC_TYPE;

	if (!(NIC_EVALUATED >> type & 1))
		return;
	if (frame->kind & NIC_GLOBAL || frame->dest == node->config.id)
		node->ops->interrupt(node->opaque, type, frame->source, get32(frame->data));
}

/* Take part in an update of another node; see the order in node.h. */
static void apply(struct rfm_node *node, const struct rfm_frame *frame, uint64_t now)
{
	if (!follow(node, frame, now) || !is_update(frame))
		return;
	node->stats.received++;
	if (frame->type == RFM_FRAME_DATA)
		apply_data(node, frame);
	else
		apply_interrupt(node, frame);
}

static void forward(struct rfm_node *node, const uint8_t *wire, unsigned int len,
		    const struct rfm_frame *frame)
{
	struct rfm_slot *slot;

	if (frame->hops >= RFM_NODE_HOP_LIMIT) {
		node->stats.hop_limit++;
		return;
	}
	if (!can_forward(node)) {
		node->stats.unsendable++;
		return;
	}
	if (queue_used(&node->transmit) >= RFM_NODE_TX_SLOTS) {
		node->stats.overrun++;
		node->ops->status(node->opaque, RFM_NODE_TX_FULL);
		return;
	}
	slot = transmit_put(node);
	slot->kind = RFM_SLOT_TRANSIT;
	slot->length = len;
	memcpy(slot->wire, wire, len);
	rfm_frame_set_hops(slot->wire, frame->hops + 1);
	node->stats.forwarded++;
}

void rfm_node_receive(struct rfm_node *node, const uint8_t *wire, unsigned int len,
		      uint64_t now)
{
	struct rfm_frame frame;

	if (node->loopback)
		return;		/* the receiver is switched to our own transmitter */
	if (rfm_frame_decode(wire, &frame) != RFM_FRAME_OK) {
		rfm_node_receive_bad(node);
		return;
	}
	if (frame.source == node->config.id) {
		if (frame.incarnation == node->config.incarnation) {
			receive_own(node, &frame, now);
			return;
		}
		if (frame.incarnation == node->former)
			return;
		receive_namesake(node, &frame, now);
	}
	forward(node, wire, len, &frame);
	/* What is left of an earlier life of ours must not undo what came since. */
	if (!node->left && (frame.source != node->config.id ||
			    frame.incarnation > node->config.incarnation))
		apply(node, &frame, now);
}

/* --- optics and time ------------------------------------------------------ */

/* Something about the optics has changed from what the arguments were. */
static void optics_changed(struct rfm_node *node, bool signal, bool ready, bool light_out,
			   uint64_t now)
{
	if (signal && !rfm_node_signal(node))
		node->ops->status(node->opaque, RFM_NODE_SYNC_LOSS);
	if ((ready && !can_originate(node)) || (light_out && !rfm_node_light_out(node)))
		give_up_waiting(node, now);
	if (!ready && can_originate(node))
		send_heartbeat(node, now);
	if (light_out != rfm_node_light_out(node))
		node->ops->transmit(node->opaque);	/* the neighbour must be told */
}

void rfm_node_set_light(struct rfm_node *node, bool light, uint64_t now)
{
	bool signal = rfm_node_signal(node);
	bool ready = can_originate(node);
	bool light_out = rfm_node_light_out(node);

	node->light_in = light;
	optics_changed(node, signal, ready, light_out, now);
}

void rfm_node_set_downstream(struct rfm_node *node, bool up, uint64_t now)
{
	bool ready = can_originate(node);

	if (!up)
		give_up_waiting(node, now);
	node->downstream = up;
	optics_changed(node, false, ready && up, rfm_node_light_out(node), now);
}

void rfm_node_set_optics(struct rfm_node *node, bool tx_disable, bool loopback,
			 bool dark_on_dark, uint64_t now)
{
	bool signal = rfm_node_signal(node);
	bool ready = can_originate(node);
	bool light_out = rfm_node_light_out(node);

	if (loopback != node->loopback) {
		give_up_waiting(node, now);
		ready = false;
	}
	node->tx_disable = tx_disable;
	node->loopback = loopback;
	node->dark_on_dark = dark_on_dark;
	optics_changed(node, signal, ready, light_out, now);
}

void rfm_node_set_address_offset(struct rfm_node *node, uint32_t offset)
{
	node->address_offset = offset;
}

uint64_t rfm_node_tick(struct rfm_node *node, uint64_t now)
{
	uint64_t next = now + RFM_NODE_EXPIRY_NS / 2;
	uint64_t heartbeat;

	if (!node->ring_open && in_flight(node) &&
	    now - node->home_time >= RFM_NODE_EXPIRY_NS) {
		node->ring_open = true;
		launch_waiting(node, now);
	}
	if (now - node->heartbeat_time >= RFM_NODE_HEARTBEAT_NS) {
		node->heartbeat_time = now;
		send_heartbeat(node, now);
	}
	heartbeat = node->heartbeat_time + RFM_NODE_HEARTBEAT_NS;
	return heartbeat < next ? heartbeat : next;
}

/* --- life ----------------------------------------------------------------- */

int rfm_node_init(struct rfm_node *node, const struct rfm_node_config *config,
		  const struct rfm_node_ops *ops, void *opaque, uint64_t now)
{
	*node = (struct rfm_node){
		.config = *config,
		.ops = ops,
		.opaque = opaque,
		.ring_open = true,
		.home_time = now,
		.heartbeat_time = now,
		.complaint_time = now - RFM_NODE_HEARTBEAT_NS,
	};
	if (queue_init(&node->insert, RFM_NODE_INSERT_SLOTS * 2) ||
	    queue_init(&node->transmit, RFM_NODE_TX_SLOTS)) {
		rfm_node_destroy(node);
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

void rfm_node_destroy(struct rfm_node *node)
{
	queue_destroy(&node->insert);
	queue_destroy(&node->transmit);
}

void rfm_node_rejoin(struct rfm_node *node, uint64_t incarnation, uint64_t now)
{
	give_up_waiting(node, now);
	node->stats.lost += node->seq - node->home_seq;
	node->former = node->config.incarnation;
	node->config.incarnation = incarnation;
	node->seq = node->sent_seq = node->home_seq = 0;
	node->left = false;
	send_heartbeat(node, now);
}
