// SPDX-License-Identifier: MIT
/* Requests to a node in this process: what it is, how it is set, and what it knows. */
#include "ring_private.h"

/* --- what it is --------------------------------------------------------------------- */

int ring_state(struct ring_node *node, struct rfmring_state *state)
{
	memset(state, 0, sizeof(*state));
	state->size = sizeof(*state);
	return rfmring_get_state(node->ring, state);
}

uint64_t ring_clock_ns(const struct ring_node *node)
{
	struct timespec now;

	clock_gettime(node->flags & RFMRING_CLOCK_TAI ? CLOCK_TAI : CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* Events that LCSR1 tells of until they are told of otherwise. */
static const struct {
	uint32_t type, lcsr1;
} latch_table[] = {
	{ RFM_EVENT_BAD_DATA, RFM_LCSR1_BAD_DATA },
	{ RFM_EVENT_RX_FULL, RFM_LCSR1_RX_FULL },
	{ RFM_EVENT_RX_ALMOST_FULL, RFM_LCSR1_RX_ALMOST_FULL },
};

static uint32_t lcsr1_of(const struct ring_node *node, const struct rfmring_state *state)
{
	uint32_t size = node->memory_size >> 27;	/* 64, 128, 256 MiB: 0, 1, 2 */
	uint32_t latches = 0;

	for (size_t i = 0; i < sizeof(latch_table) / sizeof(*latch_table); i++)
		if (node->latched & RFM_EVENT_BIT(latch_table[i].type))
			latches |= latch_table[i].lcsr1;
	return latches |
	       (state->optics & RFMRING_TX_DISABLE ? RFM_LCSR1_TX_DISABLE : 0) |
	       (state->optics & RFMRING_DARK_ON_DARK ? RFM_LCSR1_DARK_ON_DARK : 0) |
	       (state->optics & RFMRING_LOOPBACK ? RFM_LCSR1_LOOPBACK : 0) |
	       (node->flags & RFMRING_REDUNDANT ? RFM_LCSR1_REDUNDANT : 0) |
	       (node->flags & RFMRING_ROGUE_0 ? RFM_LCSR1_ROGUE_MASTER0 : 0) |
	       (node->flags & RFMRING_ROGUE_1 ? RFM_LCSR1_ROGUE_MASTER1 : 0) |
	       size << RFM_LCSR1_MEMSIZE_SHIFT |
	       (state->address_offset >> 26) << RFM_LCSR1_OFFSET_SHIFT |
	       (state->signal ? RFM_LCSR1_SIGNAL : 0) |
	       (node->own_data ? RFM_LCSR1_OWN_DATA : 0);
}

int ring_info(struct rfm *rfm, void *argument)
{
	struct ring_node *node = node_of(rfm);
	struct rfm_info *info = argument;
	struct rfmring_state state;

	if (ring_state(node, &state))
		return -1;
	pthread_mutex_lock(&node->lock);
	*info = (struct rfm_info){
		.memory_size = node->memory_size,
		.window_size = node->memory_size,
		.node = node->id,
		.board_id = RFM_BID_5565,
		.lcsr1 = lcsr1_of(node, &state),
		.lisr = node->seen,
		.features = RFM_EXT_FEATURES,
		.irqs = node->interrupts,
		.sync_losses = node->sync_losses,
		.base_policy = RFM_BASE_ALL,
		.clock_domain = state.clock_domain,
		.watches = node->watches,
	};
	pthread_mutex_unlock(&node->lock);
	return 0;
}

/* --- settings ----------------------------------------------------------------------- */

#define RING_CONFIG	(RFM_CONFIG_TRANSMIT | RFM_CONFIG_LOOPBACK | RFM_CONFIG_DARK_ON_DARK | \
			 RFM_CONFIG_OWN_DATA | RFM_CONFIG_OFFSET)

/* Settings that are optics; the transmitter is on where its bit there is not. */
static const struct {
	uint32_t config, optics;
	bool inverted;
} optics_table[] = {
	{ RFM_CONFIG_TRANSMIT, RFMRING_TX_DISABLE, true },
	{ RFM_CONFIG_LOOPBACK, RFMRING_LOOPBACK, false },
	{ RFM_CONFIG_DARK_ON_DARK, RFMRING_DARK_ON_DARK, false },
};
#define OPTICS	(sizeof(optics_table) / sizeof(*optics_table))

int ring_get_config(struct rfm *rfm, void *argument)
{
	struct ring_node *node = node_of(rfm);
	struct rfm_config *config = argument;
	struct rfmring_state state;
	int status;

	pthread_mutex_lock(&node->settings);
	status = ring_state(node, &state);
	pthread_mutex_unlock(&node->settings);
	if (status)
		return -1;
	*config = (struct rfm_config){
		.mask = RING_CONFIG,
		.on = atomic_load(&node->own_data) ? RFM_CONFIG_OWN_DATA : 0,
		.address_offset = state.address_offset,
	};
	for (size_t i = 0; i < OPTICS; i++)
		if (!(state.optics & optics_table[i].optics) == optics_table[i].inverted)
			config->on |= optics_table[i].config;
	return 0;
}

/* If not, errno says so. */
static bool config_is_good(const struct rfm_config *config)
{
	const uint32_t step = 64u << 20;
	uint32_t offset = config->mask & RFM_CONFIG_OFFSET ? config->address_offset : 0;

	errno = EINVAL;
	if (config->mask & ~RFM_CONFIG_ALL || config->on & ~config->mask || config->pad ||
	    config->reserved[0] || config->reserved[1] || config->on & RFM_CONFIG_OWN_DATA ||
	    offset % step || offset > 3 * step)
		return false;
	errno = EOPNOTSUPP;
	return !(config->mask & ~RING_CONFIG);
}

/* With node->settings: nobody else changes what this begins with. */
static int change_optics(struct ring_node *node, const struct rfm_config *config)
{
	struct rfmring_state state;
	uint32_t optics;

	if (ring_state(node, &state))
		return -1;
	optics = state.optics;
	for (size_t i = 0; i < OPTICS; i++) {
		if (!(config->mask & optics_table[i].config))
			continue;
		if (!(config->on & optics_table[i].config) == optics_table[i].inverted)
			optics |= optics_table[i].optics;
		else
			optics &= ~optics_table[i].optics;
	}
	return optics == state.optics ? 0 : rfmring_set_optics(node->ring, optics);
}

int ring_set_config(struct rfm *rfm, void *argument)
{
	const struct rfm_config *config = argument;
	struct ring_node *node = node_of(rfm);
	int status;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (!config_is_good(config))
		return -1;
	pthread_mutex_lock(&node->settings);
	status = change_optics(node, config);
	if (!status && config->mask & RFM_CONFIG_OFFSET)
		status = rfmring_set_address_offset(node->ring, config->address_offset);
	if (!status && config->mask & RFM_CONFIG_OWN_DATA)
		atomic_store(&node->own_data, false);
	pthread_mutex_unlock(&node->settings);
	return status;
}

/* --- what it knows ------------------------------------------------------------------ */

int ring_writer(struct rfm *rfm, void *argument)
{
	struct rfm_writer *writer = argument;
	struct ring_node *node = node_of(rfm);
	struct rfmring_state state;
	struct last_write last;

	if (ring_state(node, &state))
		return -1;
	if (writer->offset >= rfm->memory_size)
		return fail_with(EINVAL);
	pthread_mutex_lock(&node->lock);
	last = node->last[writer->offset / RFM_GRANULE];
	pthread_mutex_unlock(&node->lock);
	writer->node = last.written ? last.node : RFM_NODE_ALL;
	writer->frame = last.frame;
	writer->time_ns = last.time_ns;
	if (last.frame && last.clock_domain != state.clock_domain)
		writer->flags = RFM_EVENT_AGE_UNKNOWN;
	return 0;
}

int ring_counters(struct rfm *rfm, void *argument)
{
	struct rfm_counters *counters = argument;
	struct ring_node *node = node_of(rfm);
	struct rfmring_stats stats = { .size = sizeof(stats) };
	struct rfmring_state state;
	__u64 *value = counters->value;

	if (rfmring_get_stats(node->ring, &stats) || ring_state(node, &state))
		return -1;
	memset(counters, 0, sizeof(*counters));
	counters->count = RFM_COUNTERS;
	counters->clock_ns = ring_clock_ns(node);
	/* Up to there they are the same counters in the same order. */
	_Static_assert(offsetof(struct rfmring_stats, held_lost) -
		       offsetof(struct rfmring_stats, stores) ==
		       RFM_COUNTER_HELD_LOST * sizeof(uint64_t), "the same counters");
	memcpy(value, &stats.stores, (RFM_COUNTER_HELD_LOST + 1) * sizeof(*value));
	value[RFM_COUNTER_SENT_BYTES] = stats.sent_bytes;
	value[RFM_COUNTER_RECEIVED_BYTES] = stats.received_bytes;
	value[RFM_COUNTER_FORWARDED_BYTES] = stats.forwarded_bytes;
	value[RFM_COUNTER_WINDOW] = stats.window;
	value[RFM_COUNTER_WINDOW_PEAK] = stats.window_peak;
	value[RFM_COUNTER_TX] = stats.tx;
	value[RFM_COUNTER_TX_PEAK] = stats.tx_peak;
	value[RFM_COUNTER_INSERT] = stats.insert;
	value[RFM_COUNTER_INSERT_PEAK] = stats.insert_peak;
	value[RFM_COUNTER_STALL_US] = stats.longest_stall_ns / 1000;
	value[RFM_COUNTER_EPOCH] = state.epoch;
	value[RFM_COUNTER_TURN_NS] = state.turn_ns;
	pthread_mutex_lock(&node->lock);
	value[RFM_COUNTER_INTERRUPTS_DROPPED] = node->interrupts_dropped;
	value[RFM_COUNTER_EVENTS] = node->events;
	value[RFM_COUNTER_CONFLICTS] = node->conflicts;
	value[RFM_COUNTER_BREAKS] = node->breaks;
	pthread_mutex_unlock(&node->lock);
	return 0;
}

/* What was counted of one that has gone is still known. @offset: of the node's clock. */
static struct rfm_member member_of(uint32_t clock_domain, uint64_t offset,
				   const struct rfmring_member *other)
{
	struct rfm_member member = {
		.received = other->received,
		.missed = other->missed,
		.heard_ns = other->heard_ns + offset,
		.broke_ns = other->broke_ns ? other->broke_ns + offset : 0,
	};

	if (!other->present)
		return member;
	member.present = 1;
	member.hops = other->hops;
	member.hubs = other->hubs;
	member.transit_ns = other->transit_ns;
	member.flags = (other->clock_domain != clock_domain ? RFM_EVENT_AGE_UNKNOWN : 0) |
		       (other->paused ? RFM_MEMBER_PAUSED : 0) |
		       (other->incomplete ? RFM_MEMBER_INCOMPLETE : 0) |
		       (other->ahead_ns ? RFM_MEMBER_AHEAD : 0);
	return member;
}

int ring_ring_map(struct rfm *rfm, void *argument)
{
	struct rfm_ring_map *map = argument;
	struct rfm_member *members = (struct rfm_member *)(uintptr_t)map->members;
	struct rfmring_member others[RFMRING_NODES];
	struct ring_node *node = node_of(rfm);
	struct rfmring_state state;
	uint64_t offset;
	int count;

	if (map->count > RFM_NODES)
		return fail_with(EINVAL);
	count = rfmring_known(node->ring, others, RFMRING_NODES);
	if (count < 0 || ring_state(node, &state))
		return -1;
	memset(members, 0, map->count * sizeof(*members));
	map->present = !state.left;
	map->clock_ns = ring_clock_ns(node);
	offset = map->clock_ns - clock_ns();
	for (int i = 0; i < count; i++) {
		map->present += others[i].present;
		if (others[i].id < map->count)
			members[others[i].id] = member_of(state.clock_domain, offset,
							    &others[i]);
	}
	if (node->id < map->count)
		members[node->id] = (struct rfm_member){
			.present = !state.left,
			.flags = state.incomplete ? RFM_MEMBER_INCOMPLETE : 0,
		};
	map->turn_ns = state.turn_ns;
	map->epoch = state.epoch;
	return 0;
}

int ring_event_counts(struct rfm *rfm, void *argument)
{
	struct rfm_event_counts *counts = argument;
	struct ring_node *node = node_of(rfm);

	memset(counts, 0, sizeof(*counts));
	pthread_mutex_lock(&node->lock);
	memcpy(counts->count, node->taken, sizeof(node->taken));
	pthread_mutex_unlock(&node->lock);
	return 0;
}

/* --- registers: those that say what the node says ----------------------------------- */

/* As words of the control registers; false: the node has none there. */
static bool control_word(const struct rfm_info *info, uint32_t offset, uint32_t *word)
{
	switch (offset) {
	case 0x00:
		*word = info->board_id << 8;
		return true;
	case 0x04:
		*word = info->node;
		return true;
	case 0x08:
		*word = info->lcsr1;
		return true;
	case 0x10:
		*word = info->lisr;
		return true;
	default:
		return false;
	}
}

int ring_reg(struct rfm *rfm, void *argument)
{
	struct rfm_reg *reg = argument;
	const uint32_t width = reg->width, end = reg->set == RFM_REGS_RUNTIME ? 0x200 : 0x40;
	struct rfm_info info;
	uint64_t all;
	uint32_t word;

	if (!rfm->writable)
		return fail_with(EBADF);
	if (reg->set > RFM_REGS_CONTROL || (width != 1 && width != 2 && width != 4) ||
	    reg->offset % width || reg->offset >= end)
		return fail_with(EINVAL);
	all = (1ull << 8 * width) - 1;
	if (reg->mask & ~all || reg->value & ~reg->mask)
		return fail_with(EINVAL);
	if (reg->mask || reg->set == RFM_REGS_RUNTIME)
		return fail_with(EOPNOTSUPP);
	if (ring_info(rfm, &info))
		return -1;
	if (!control_word(&info, reg->offset & ~3u, &word))
		return fail_with(EOPNOTSUPP);
	reg->before = word >> reg->offset % 4 * 8 & all;
	return 0;
}
