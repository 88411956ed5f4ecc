// SPDX-License-Identifier: MIT
#include "ring/link.h"

#include <stddef.h>
#include <string.h>

#include "ring/crc32c.h"
#include "ring/permit.h"
#include "ring/shm.h"
#include "ring/wire.h"

#define LINK_MAGIC	0x4c52u		/* "RL" on the wire */

enum message_kind {
	HELLO	= 1,	/* upstream to downstream: who I am */
	WELCOME	= 2,	/* downstream to upstream: go on */
	REFUSE	= 3,	/* either to the other: no, because */
	LIGHT	= 4,	/* upstream to downstream: my laser is on or off */
};

/* Value of HELLO and WELCOME. */
#define IS_HUB		0x1
#define IS_REDUNDANT	0x2
#define HAS_SHM		0x4	/* HELLO: descriptors come with it; WELCOME: taken */

enum {
	AT_MAGIC	= 0,
	AT_VERSION	= 2,
	AT_KIND		= 3,
	AT_NODE		= 4,
	AT_VALUE	= 5,	/* LIGHT: 1 on, 0 off; REFUSE: the reason; else as above */
	AT_INCARNATION	= 8,
	AT_MEMORY_SIZE	= 16,
	AT_CLOCK_DOMAIN	= 24,
	AT_CHECK	= 36,
};

static void put_message(uint8_t *wire, enum message_kind kind, uint8_t value,
			const struct rfm_link_self *self)
{
	memset(wire, 0, RFM_LINK_MESSAGE);
	put16(wire + AT_MAGIC, LINK_MAGIC);
	wire[AT_VERSION] = RFM_FRAME_VERSION;
	wire[AT_KIND] = kind;
	wire[AT_NODE] = self->id;
	wire[AT_VALUE] = value;
	put64(wire + AT_INCARNATION, self->incarnation);
	put64(wire + AT_MEMORY_SIZE, self->memory_size);
	put32(wire + AT_CLOCK_DOMAIN, self->clock_domain);
	put32(wire + AT_CHECK, rfm_crc32c(0, wire, AT_CHECK));
}

/* HELLO or WELCOME. */
static void put_greeting(uint8_t *wire, enum message_kind kind, bool shm,
			 const struct rfm_link_self *self)
{
	put_message(wire, kind, (self->hub ? IS_HUB : 0) |
		    (self->redundant ? IS_REDUNDANT : 0) | (shm ? HAS_SHM : 0), self);
}

void rfm_link_refuse(uint8_t *wire, enum rfm_link_refusal why, const struct rfm_link_self *self)
{
	put_message(wire, REFUSE, why, self);
}

/* What a REFUSE says to the end that gets it. */
#define REFUSALS(side) {									\
	[RFM_REFUSE_NONE] = "the " side " neighbour refuses this node",				\
	[RFM_REFUSE_VERSION] = "the " side " neighbour speaks another version of the ring "	\
			       "protocol",							\
	[RFM_REFUSE_UNKNOWN] = "the " side " neighbour refuses this node, which has shown no "	\
			       "certificate",							\
	[RFM_REFUSE_EXPIRED] = "the " side " neighbour refuses this node's certificate, which "	\
			       "has expired or is not valid yet",				\
	[RFM_REFUSE_UNTRUSTED] = "the " side " neighbour refuses this node, whose certificate it "\
				 "does not trust: one of another ring, one that has expired, or " \
				 "none",								\
	[RFM_REFUSE_PERMIT] = "the " side " neighbour refuses this node, whose certificate "	\
			      "does not allow its node id (or a hub)",				\
}

#define REFUSAL_COUNT	(RFM_REFUSE_PERMIT + 1)

static const char *const tx_refused[] = REFUSALS("downstream");
static const char *const rx_refused[] = REFUSALS("upstream");

static const char *refusal(const char *const *sentences, uint8_t why)
{
	return sentences[why < REFUSAL_COUNT ? why : RFM_REFUSE_NONE];
}

static struct rfm_link_self get_greeting(const uint8_t *wire)
{
	return (struct rfm_link_self){
		.id = wire[AT_NODE],
		.hub = wire[AT_VALUE] & IS_HUB,
		.redundant = wire[AT_VALUE] & IS_REDUNDANT,
		.incarnation = get64(wire + AT_INCARNATION),
		.memory_size = get64(wire + AT_MEMORY_SIZE),
		.clock_domain = get32(wire + AT_CLOCK_DOMAIN),
	};
}

static bool is_message(const uint8_t *wire)
{
	return get16(wire + AT_MAGIC) == LINK_MAGIC;
}

static bool check_message(const uint8_t *wire)
{
	return is_message(wire) && get32(wire + AT_CHECK) == rfm_crc32c(0, wire, AT_CHECK);
}

/* --- the sending end ------------------------------------------------------ */

/* What stands before @open outlives a connection. */
static void reset_tx(struct rfm_link_tx *link)
{
	memset(&link->open, 0, sizeof(*link) - offsetof(struct rfm_link_tx, open));
}

void rfm_link_tx_init(struct rfm_link_tx *link, const struct rfm_link_ops *ops, void *opaque)
{
	*link = (struct rfm_link_tx){ .ops = ops, .opaque = opaque };
}

void rfm_link_tx_opened(struct rfm_link_tx *link, bool shm_offered, uint64_t now)
{
	reset_tx(link);
	link->open = true;
	link->hello_pending = true;
	link->shm_offered = shm_offered;
	link->opened_at = now;
}

void rfm_link_tx_closed(struct rfm_link_tx *link, uint64_t now)
{
	bool was_up = link->welcome;

	reset_tx(link);
	if (was_up)
		link->ops->downstream(link->opaque, false, now);
}

static const char *receive_reply(struct rfm_link_tx *link, uint64_t now)
{
	bool shm = link->reply[AT_VALUE] & HAS_SHM;

	if (!check_message(link->reply))
		return "the downstream neighbour does not speak the ring protocol";
	if (link->reply[AT_KIND] == REFUSE)
		return refusal(tx_refused, link->reply[AT_VALUE]);
	if (link->reply[AT_VERSION] != RFM_FRAME_VERSION)
		return "the downstream neighbour speaks another version of the ring protocol";
	if (link->reply[AT_KIND] != WELCOME || link->welcome || link->hello_pending)
		return "the downstream neighbour answers out of turn";
	if (shm && !link->shm_offered)
		return "the downstream neighbour takes shared memory that was not offered";
	link->peer = get_greeting(link->reply);
	if (link->permit && !rfm_permit_self(link->permit, &link->peer)) {
		link->refusal = RFM_REFUSE_PERMIT;
		return "the certificate of the downstream neighbour does not allow the node id that "
		       "it gives (or a hub)";
	}
	link->welcome = true;
	link->shm = shm;
	link->ops->downstream(link->opaque, true, now);
	return NULL;
}

const char *rfm_link_tx_received(struct rfm_link_tx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now)
{
	while (len--) {
		const char *error;

		link->reply[link->fill++] = *buf++;
		if (link->fill < RFM_LINK_MESSAGE)
			continue;
		link->fill = 0;
		error = receive_reply(link, now);
		if (error)
			return error;
	}
	return NULL;
}

static unsigned int next_frame(struct rfm_link_tx *link, uint8_t *wire, uint64_t now)
{
	unsigned int len = link->ops->pull(link->opaque, wire, now);

	if (!len)
		return 0;
	link->frames += rfm_unit_frames(len);
	link->bytes += len;
	if (link->tap)
		link->tap->seen(link->tap->opaque, true, wire, len, now);
	return len;
}

/* What comes next after the handshake: our light if it is news, else a frame. */
static unsigned int next_packet(struct rfm_link_tx *link, uint8_t *wire, uint64_t now)
{
	bool light = link->ops->light_out(link->opaque);
	struct rfm_link_self self;

	if (link->light_sent && light == link->light)
		return next_frame(link, wire, now);
	link->light_sent = true;
	link->light = light;
	self = link->ops->self(link->opaque);
	put_message(wire, LIGHT, light, &self);
	return RFM_LINK_MESSAGE;
}

unsigned int rfm_link_tx_output(struct rfm_link_tx *link, uint8_t *buf, uint64_t now)
{
	unsigned int done = 0;

	if (link->hello_pending) {
		struct rfm_link_self self = link->ops->self(link->opaque);

		link->hello_pending = false;
		put_greeting(buf, HELLO, link->shm_offered, &self);
		return RFM_LINK_MESSAGE;
	}
	if (!link->welcome || link->shm)
		return 0;
	while (RFM_LINK_BATCH - done >= RFM_UNIT_MAX) {
		unsigned int len = next_packet(link, buf + done, now);

		if (!len)
			break;
		done += len;
	}
	if (done)
		link->last_sent_ns = now;
	return done;
}

static bool is_urgent(const struct rfm_link_tx *link, const uint8_t *wire)
{
	return is_message(wire) || link->peer.hub ||
	       !rfm_frame_only_comes_home(wire, link->peer.id, link->peer.incarnation);
}

enum rfm_link_fill rfm_link_tx_fill(struct rfm_link_tx *link, struct rfm_shm *shm,
				    unsigned int limit, uint64_t now, unsigned int *sent)
{
	enum rfm_link_fill left = RFM_LINK_MORE;

	*sent = 0;
	while (link->shm && *sent < limit) {
		uint8_t *slot = rfm_shm_reserve(shm, RFM_TRAIN_FRAMES);
		unsigned int len = slot ? next_packet(link, slot, now) : 0;

		if (!len) {
			left = slot ? RFM_LINK_DRY : RFM_LINK_FULL;
			break;
		}
		link->last_sent_ns = now;
		rfm_shm_commit(shm, rfm_unit_frames(len), is_urgent(link, slot));
		*sent += rfm_unit_frames(len);
	}
	rfm_shm_publish(shm);
	return shm->broken ? RFM_LINK_BROKEN : left;
}

unsigned int rfm_link_tx_discard(struct rfm_link_tx *link, unsigned int limit, uint64_t now)
{
	uint8_t wire[RFM_UNIT_MAX];
	unsigned int count = 0, len;

	while (count < limit && (len = link->ops->pull(link->opaque, wire, now)))
		count += rfm_unit_frames(len);
	return count;
}

const char *rfm_link_tx_tick(struct rfm_link_tx *link, uint64_t now, uint64_t *next)
{
	*next = UINT64_MAX;
	if (!link->open)
		return NULL;
	if (!link->welcome) {
		*next = link->opened_at + RFM_LINK_DEADLINE_NS;
		return now < *next ? NULL : "the downstream neighbour does not answer";
	}
	if (now >= link->last_sent_ns + RFM_LINK_IDLE_NS) {
		link->light_sent = false;
		*next = now + RFM_LINK_IDLE_NS;
	} else {
		*next = link->last_sent_ns + RFM_LINK_IDLE_NS;
	}
	return NULL;
}

/* --- the receiving end ---------------------------------------------------- */

/* The same; what stands in @packet may still be in use, by who has closed the link in a call. */
static void reset_rx(struct rfm_link_rx *link)
{
	memset(&link->open, 0, offsetof(struct rfm_link_rx, part) -
	       offsetof(struct rfm_link_rx, open));
}

void rfm_link_rx_init(struct rfm_link_rx *link, const struct rfm_link_ops *ops, void *opaque)
{
	*link = (struct rfm_link_rx){ .ops = ops, .opaque = opaque };
}

void rfm_link_rx_opened(struct rfm_link_rx *link, uint64_t now)
{
	reset_rx(link);
	link->open = true;
	link->opened_at = now;
}

void rfm_link_rx_attached(struct rfm_link_rx *link)
{
	link->shm_attached = true;
}

void rfm_link_rx_closed(struct rfm_link_rx *link, uint64_t now)
{
	if (link->agreed) {
		if (link->fill)
			link->ops->bad(link->opaque);
		if (link->lit && !link->silent)
			link->ops->light(link->opaque, false, now);
	}
	reset_rx(link);
}

static void set_lit(struct rfm_link_rx *link, bool lit, uint64_t now)
{
	if (lit == link->lit)
		return;
	link->lit = lit;
	link->ops->light(link->opaque, lit, now);
}

/* Something came: a line that was silent is lit again, if it was before. */
static void note_activity(struct rfm_link_rx *link, uint64_t now)
{
	link->last_received_ns = now;
	if (!link->silent)
		return;
	link->silent = false;
	if (link->lit)
		link->ops->light(link->opaque, true, now);
}

static const char *answer_refuse(struct rfm_link_rx *link, enum rfm_link_refusal why,
				 const char *sentence)
{
	struct rfm_link_self self = link->ops->self(link->opaque);

	rfm_link_refuse(link->reply, why, &self);
	link->reply_length = RFM_LINK_MESSAGE;
	return sentence;
}

static const char *receive_hello(struct rfm_link_rx *link, const uint8_t *wire, uint64_t now)
{
	struct rfm_link_self self = link->ops->self(link->opaque);

	link->peer = get_greeting(wire);
	if (link->permit && !rfm_permit_self(link->permit, &link->peer))
		return answer_refuse(link, RFM_REFUSE_PERMIT,
				     "the certificate of the upstream neighbour does not allow the "
				     "node id that it gives (or a hub)");
	link->agreed = true;
	link->opened_at = link->last_received_ns = link->ticked_at = now;
	link->shm = link->shm_attached && wire[AT_VALUE] & HAS_SHM;
	put_greeting(link->reply, WELCOME, link->shm, &self);
	link->reply_length = RFM_LINK_MESSAGE;
	return NULL;
}

static const char *receive_message(struct rfm_link_rx *link, const uint8_t *wire, uint64_t now)
{
	if (!check_message(wire)) {
		if (link->agreed)
			link->ops->bad(link->opaque);
		return "the upstream neighbour sent a damaged message";
	}
	if (wire[AT_VERSION] != RFM_FRAME_VERSION)
		return answer_refuse(link, RFM_REFUSE_VERSION,
				     "the upstream neighbour speaks another version of the ring "
				     "protocol");
	if (wire[AT_KIND] == REFUSE)
		return refusal(rx_refused, wire[AT_VALUE]);
	if (wire[AT_KIND] == HELLO && !link->agreed)
		return receive_hello(link, wire, now);
	if (wire[AT_KIND] == LIGHT && link->agreed) {
		link->light_received = true;
		set_lit(link, wire[AT_VALUE], now);
		return NULL;
	}
	return "the upstream neighbour speaks out of turn";
}

/*
 * How long is what begins at @wire? 0: cannot be known yet from @len bytes;
 * negative: it is nothing of ours.
 */
static int packet_length(const struct rfm_link_rx *link, const uint8_t *wire, unsigned int len)
{
	if (len < 2)
		return 0;
	if (is_message(wire))
		return RFM_LINK_MESSAGE;
	if (!link->agreed)
		return -1;
	return len < RFM_FRAME_HEADER ? 0 : rfm_frame_length(wire);
}

static const char *receive_frame(struct rfm_link_rx *link, uint8_t *wire, unsigned int len,
				 uint64_t now)
{
	if (!link->lit)
		return "the upstream neighbour sends frames with its light off";
	if (link->permit && !rfm_permit_frame(link->permit, wire))
		return "the upstream neighbour speaks for a node that its certificate does not allow";
	link->frames += rfm_unit_frames(len);
	link->bytes += len;
	if (link->tap)
		link->tap->seen(link->tap->opaque, false, wire, len, now);
	link->ops->frame(link->opaque, wire, len, now);
	return link->show_out;
}

static const char *lost_framing(struct rfm_link_rx *link, const uint8_t *wire)
{
	/* Of TLS the record of a handshake. */
	if (!link->agreed && wire[0] == 0x16 && wire[1] == 0x03)
		return "whoever connected speaks TLS, and this link has none";
	if (!link->agreed)
		return "whoever connected does not speak the ring protocol";
	link->fill = 0;
	link->ops->bad(link->opaque);
	return "the upstream neighbour sent something that is no frame";
}

/* Add to the message that came in part until it is whole or the bytes end. */
static unsigned int complete_part(struct rfm_link_rx *link, const uint8_t *buf,
				  unsigned int len, int *packet)
{
	unsigned int taken = 0, more;

	while (taken < len) {
		*packet = packet_length(link, link->part, link->fill);
		if (*packet < 0 || (*packet && link->fill == (unsigned int)*packet))
			return taken;
		/* One by one until the length is known. */
		more = *packet ? (unsigned int)*packet - link->fill : 1;
		if (more > len - taken)
			more = len - taken;
		memcpy(link->part + link->fill, buf + taken, more);
		link->fill += more;
		taken += more;
	}
	*packet = packet_length(link, link->part, link->fill);
	return taken;
}

/* A whole packet from the stream; frames are copied, so that they may be changed. */
static const char *receive_packet(struct rfm_link_rx *link, const uint8_t *wire, unsigned int len,
				  uint64_t now)
{
	if (link->shm)
		return "the upstream neighbour speaks beside the shared memory";
	if (is_message(wire))
		return receive_message(link, wire, now);
	memcpy(link->packet, wire, len);
	return receive_frame(link, link->packet, len, now);
}

const char *rfm_link_rx_received(struct rfm_link_rx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now)
{
	link->reply_length = 0;
	if (link->agreed)
		note_activity(link, now);
	while (len) {
		const uint8_t *wire = buf;
		const char *error;
		unsigned int taken;
		int packet;

		if (link->fill) {
			taken = complete_part(link, buf, len, &packet);
			wire = link->part;
			if (packet >= 0 && (!packet || link->fill < (unsigned int)packet))
				return NULL;
			link->fill = packet < 0 ? link->fill : 0;
		} else {
			packet = packet_length(link, buf, len);
			if (packet >= 0 && (!packet || len < (unsigned int)packet)) {
				memcpy(link->part, buf, len);
				link->fill = len;
				return NULL;
			}
			taken = packet;
		}
		if (packet < 0)
			return lost_framing(link, wire);
		error = receive_packet(link, wire, packet, now);
		if (error)
			return error;
		buf += taken;
		len -= taken;
	}
	return NULL;
}

/* What has been copied out of the shared memory. */
static const char *receive_slot(struct rfm_link_rx *link, uint64_t now)
{
	int len;

	note_activity(link, now);
	if (is_message(link->packet))
		return receive_message(link, link->packet, now);
	len = rfm_frame_length(link->packet);
	return len < 0 ? lost_framing(link, link->packet) : receive_frame(link, link->packet, len, now);
}

const char *rfm_link_rx_drain(struct rfm_link_rx *link, struct rfm_shm *shm, unsigned int limit,
			      uint64_t now, unsigned int *taken)
{
	const char *error = NULL;

	*taken = 0;
	while (link->shm && *taken < limit && !error) {
		/* A tap is shown all of it. */
		int got = rfm_shm_take(shm, link->packet, link->tap ? NULL : link->ops->knows,
				       link->opaque);

		if (!got)
			break;
		if (got < 0)
			return "the upstream neighbour has spoilt the shared memory";
		*taken += got;
		error = receive_slot(link, now);
	}
	rfm_shm_release(shm);
	return error;
}

const char *rfm_link_rx_tick(struct rfm_link_rx *link, uint64_t now, uint64_t *next)
{
	*next = UINT64_MAX;
	if (!link->open)
		return NULL;
	if (!link->light_received) {
		*next = link->opened_at + RFM_LINK_DEADLINE_NS;
		if (now < *next)
			return NULL;
		return link->agreed ? "whoever connected greets and says nothing more" :
				      "whoever connected says nothing";
	}
	/* Who was stopped himself cannot say that the other one was silent. */
	if (now - link->ticked_at > RFM_LINK_SILENCE_NS / 2)
		link->last_received_ns = now;
	link->ticked_at = now;
	/* Also while it is silent: what comes then sets no timer. */
	*next = now + RFM_LINK_SILENCE_NS / 4;
	/* Its host may have crashed, and another neighbour may wait to connect. */
	if (now >= link->last_received_ns + RFM_LINK_GONE_NS)
		return "the upstream neighbour says nothing any more";
	if (link->silent || now < link->last_received_ns + RFM_LINK_SILENCE_NS)
		return NULL;
	link->silent = true;
	if (link->lit)
		link->ops->light(link->opaque, false, now);
	return NULL;
}
