// SPDX-License-Identifier: MIT
#include "ring/link.h"

#include <string.h>

#include "ring/crc32c.h"
#include "ring/wire.h"

#define LINK_MAGIC	0x4c52u		/* "RL" on the wire */

enum message_kind {
	HELLO	= 1,	/* upstream to downstream: who I am */
	WELCOME	= 2,	/* downstream to upstream: go on */
	REFUSE	= 3,	/* downstream to upstream: no, because */
	LIGHT	= 4,	/* upstream to downstream: my laser is on or off */
};

enum refuse_reason {
	REFUSE_VERSION	= 1,
};

enum {
	AT_MAGIC	= 0,
	AT_VERSION	= 2,
	AT_KIND		= 3,
	AT_NODE		= 4,
	AT_VALUE	= 5,	/* LIGHT: 1 on, 0 off; REFUSE: the reason */
	AT_INCARNATION	= 8,
	AT_MEMORY_SIZE	= 16,
	AT_CLOCK_DOMAIN	= 24,
	AT_CHECK	= 36,
};

static void put_message(uint8_t *wire, enum message_kind kind, uint8_t value,
			const struct rfm_node_config *self)
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

static bool is_message(const uint8_t *wire)
{
	return get16(wire + AT_MAGIC) == LINK_MAGIC;
}

static bool check_message(const uint8_t *wire)
{
	return is_message(wire) && get32(wire + AT_CHECK) == rfm_crc32c(0, wire, AT_CHECK);
}

static bool late(bool open, bool settled, uint64_t opened_at, uint64_t now)
{
	return open && !settled && now - opened_at >= RFM_LINK_DEADLINE_NS;
}

/* --- the sending end ------------------------------------------------------ */

void rfm_link_tx_init(struct rfm_link_tx *link, struct rfm_node *node)
{
	*link = (struct rfm_link_tx){ .node = node };
}

void rfm_link_tx_opened(struct rfm_link_tx *link, uint64_t now)
{
	rfm_link_tx_init(link, link->node);
	link->open = true;
	link->hello_pending = true;
	link->opened_at = now;
}

void rfm_link_tx_closed(struct rfm_link_tx *link, uint64_t now)
{
	bool was_up = link->welcome;

	rfm_link_tx_init(link, link->node);
	if (was_up)
		rfm_node_set_downstream(link->node, false, now);
}

static const char *take_reply(struct rfm_link_tx *link, uint64_t now)
{
	if (!check_message(link->reply))
		return "the downstream neighbour does not speak the ring protocol";
	if (link->reply[AT_KIND] == REFUSE)
		return link->reply[AT_VALUE] == REFUSE_VERSION ?
			"the downstream neighbour speaks another version of the ring protocol" :
			"the downstream neighbour refuses this node";
	if (link->reply[AT_VERSION] != RFM_FRAME_VERSION)
		return "the downstream neighbour speaks another version of the ring protocol";
	if (link->reply[AT_KIND] != WELCOME || link->welcome)
		return "the downstream neighbour answers out of turn";
	link->welcome = true;
	rfm_node_set_downstream(link->node, true, now);
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
		error = take_reply(link, now);
		if (error)
			return error;
	}
	return NULL;
}

unsigned int rfm_link_tx_output(struct rfm_link_tx *link, uint8_t *buf, uint64_t now)
{
	const struct rfm_node_config *self = &link->node->config;
	bool light = rfm_node_light_out(link->node);
	unsigned int done = 0;

	if (link->hello_pending) {
		link->hello_pending = false;
		put_message(buf, HELLO, 0, self);
		return RFM_LINK_MESSAGE;
	}
	if (!link->welcome)
		return 0;
	if (!link->light_told || light != link->light) {
		link->light_told = true;
		link->light = light;
		put_message(buf, LIGHT, light, self);
		done = RFM_LINK_MESSAGE;
	}
	return done + rfm_node_pull(link->node, buf + done, RFM_LINK_BATCH - done, now);
}

bool rfm_link_tx_late(const struct rfm_link_tx *link, uint64_t now)
{
	return late(link->open, link->welcome, link->opened_at, now);
}

/* --- the receiving end ---------------------------------------------------- */

void rfm_link_rx_init(struct rfm_link_rx *link, struct rfm_node *node)
{
	*link = (struct rfm_link_rx){ .node = node };
}

void rfm_link_rx_opened(struct rfm_link_rx *link, uint64_t now)
{
	rfm_link_rx_init(link, link->node);
	link->open = true;
	link->opened_at = now;
}

void rfm_link_rx_closed(struct rfm_link_rx *link, uint64_t now)
{
	if (link->agreed) {
		if (link->fill)
			rfm_node_receive_bad(link->node);
		rfm_node_set_light(link->node, false, now);
	}
	rfm_link_rx_init(link, link->node);
}

static void reply(struct rfm_link_rx *link, enum message_kind kind, uint8_t value)
{
	put_message(link->reply, kind, value, &link->node->config);
	link->reply_length = RFM_LINK_MESSAGE;
}

static const char *take_message(struct rfm_link_rx *link, const uint8_t *wire, uint64_t now)
{
	if (!check_message(wire)) {
		if (link->agreed)
			rfm_node_receive_bad(link->node);
		return "the upstream neighbour sent a damaged message";
	}
	if (wire[AT_VERSION] != RFM_FRAME_VERSION) {
		reply(link, REFUSE, REFUSE_VERSION);
		return "the upstream neighbour speaks another version of the ring protocol";
	}
	if (wire[AT_KIND] == HELLO && !link->agreed) {
		link->agreed = true;
		reply(link, WELCOME, 0);
		return NULL;
	}
	if (wire[AT_KIND] == LIGHT && link->agreed) {
		rfm_node_set_light(link->node, wire[AT_VALUE], now);
		return NULL;
	}
	return "the upstream neighbour speaks out of turn";
}

/*
 * How long is what begins at @wire? 0: cannot be told yet from @len bytes;
 * negative: it is nothing of ours.
 */
static int unit_length(const struct rfm_link_rx *link, const uint8_t *wire, unsigned int len)
{
	if (len < 2)
		return 0;
	if (is_message(wire))
		return RFM_LINK_MESSAGE;
	if (!link->agreed)
		return -1;
	return len < RFM_FRAME_HEADER ? 0 : rfm_frame_length(wire);
}

static const char *take_unit(struct rfm_link_rx *link, const uint8_t *wire, unsigned int len,
			     uint64_t now)
{
	if (is_message(wire))
		return take_message(link, wire, now);
	if (!link->node->light_in)
		return "the upstream neighbour sends frames with its light off";
	rfm_node_receive(link->node, wire, len, now);
	return NULL;
}

static const char *lost_framing(struct rfm_link_rx *link)
{
	if (!link->agreed)
		return "whoever connected does not speak the ring protocol";
	link->fill = 0;
	rfm_node_receive_bad(link->node);
	return "the upstream neighbour sent something that is no frame";
}

/* Add to the message that came in part until it is whole or the bytes end. */
static unsigned int complete_part(struct rfm_link_rx *link, const uint8_t *buf,
				  unsigned int len, int *unit)
{
	unsigned int taken = 0;

	while (taken < len) {
		*unit = unit_length(link, link->part, link->fill);
		if (*unit < 0 || (*unit && link->fill == (unsigned int)*unit))
			return taken;
		link->part[link->fill++] = buf[taken++];
	}
	*unit = unit_length(link, link->part, link->fill);
	return taken;
}

const char *rfm_link_rx_received(struct rfm_link_rx *link, const uint8_t *buf,
				 unsigned int len, uint64_t now)
{
	link->reply_length = 0;
	while (len) {
		const uint8_t *wire = buf;
		const char *error;
		unsigned int taken;
		int unit;

		if (link->fill) {
			taken = complete_part(link, buf, len, &unit);
			wire = link->part;
			if (unit >= 0 && (!unit || link->fill < (unsigned int)unit))
				return NULL;
			link->fill = unit < 0 ? link->fill : 0;
		} else {
			unit = unit_length(link, buf, len);
			if (unit >= 0 && (!unit || len < (unsigned int)unit)) {
				memcpy(link->part, buf, len);
				link->fill = len;
				return NULL;
			}
			taken = unit;
		}
		if (unit < 0)
			return lost_framing(link);
		error = take_unit(link, wire, unit, now);
		if (error)
			return error;
		buf += taken;
		len -= taken;
	}
	return NULL;
}

bool rfm_link_rx_late(const struct rfm_link_rx *link, uint64_t now)
{
	return late(link->open, link->agreed, link->opened_at, now);
}
