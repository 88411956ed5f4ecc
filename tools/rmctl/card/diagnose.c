// SPDX-License-Identifier: MIT
/*
 * What the settings, the link and the counters of a card say about updates that do not arrive.
 * Only looks: nothing is sent, and nothing that others read is changed.
 */
#include "diagnose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "members.h"
#include "tools/common/clock.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

/* A frame is home long before that; the slowest rings here need a millisecond or two. */
#define HOME_NS 200000000L

static struct finding *add(struct findings *findings, const char *cause)
{
	struct finding *finding = &findings->list[findings->count];

	*finding = (struct finding){ .cause = cause, .rank = findings->count };
	if (findings->count < FINDINGS_MAX - 1)
		findings->count++;
	return finding;
}

/* Says what was found and what to do about it, where each %s is the card. */
__attribute__((format(printf, 4, 5)))
static void say(struct finding *it, const struct state *state, const char *remedy,
		const char *text, ...)
{
	va_list args;

	va_start(args, text);
	vsnprintf(it->text, sizeof(it->text), text, args);
	va_end(args);
	snprintf(it->remedy, sizeof(it->remedy), remedy, state->name, state->name, state->name);
}

/*
 * What a card has counted, since the counters were reset or, @absolute, since it was made; all 0
 * for a base card, which does not count. Returns 0 or an errno.
 */
int counters_get(const char *name, bool absolute, struct rfm_counters *counters)
{
	struct rfm *rfm = card_look(name);
	int error = !rfm || rfm_counters(rfm, counters) ? errno ?: EIO : 0;

	rfm_close(rfm);
	if (error)
		memset(counters, 0, sizeof(*counters));
	for (unsigned int i = 0; i < RFM_COUNTERS && !absolute; i++)
		counters->value[i] -= counters->reset[i];
	return error == EOPNOTSUPP ? 0 : error;
}

/* How long ago did it last change? 0: not known. */
static uint64_t ago(const struct rfm_counters *counters, enum rfm_counter counter)
{
	uint64_t changed_ns = counters->changed_ns[counter];

	return changed_ns ? counters->clock_ns - changed_ns : 0;
}

static bool is_on(const struct state *state, enum setting_id id)
{
	return setting_known(&state->settings, id) && state->settings.value[id];
}

/* Can frames leave and come, as far as this card is concerned? */
static bool takes_part(const struct state *state)
{
	return state->link && is_on(state, SETTING_TRANSMIT) && !is_on(state, SETTING_LOOPBACK);
}

/* --- how it is set ------------------------------------------------------------------- */

static void look_at_switches(const struct state *state, struct findings *findings)
{
	char offset[UNIT_TEXT];

	if (!is_on(state, SETTING_TRANSMIT))
		say(add(findings, "transmit-off"), state, "rmctl set %s transmit=on",
		    "the transmitter is off: nothing that is stored here reaches another node");
	if (is_on(state, SETTING_LOOPBACK))
		say(add(findings, "loopback"), state, "rmctl set %s loopback=off",
		    "loopback is on: the receiver sees the own transmitter only, so nothing of "
		    "other nodes arrives here");
	if (is_on(state, SETTING_OFFSET))
		say(add(findings, "offset"), state, "rmctl set %s offset=0",
		    "the offset is %s: what is stored here arrives that much higher at the "
		    "other nodes", size_exact(offset, state->settings.value[SETTING_OFFSET]));
	if (is_on(state, SETTING_BYTE_SWAP))
		say(add(findings, "byte-swap"), state, "rmctl set %s byte-swap=off",
		    "byte-swap is on: the bytes of each aligned 4 arrive reversed");
	else if (is_on(state, SETTING_DMA_BYTE_SWAP))
		say(add(findings, "byte-swap"), state, "rmctl set %s dma-byte-swap=off",
		    "dma-byte-swap is on: the bytes of each aligned 4 that are written, not "
		    "stored, arrive reversed");
	if (is_on(state, SETTING_PARITY) && state->lisr & RFM_LISR_WRITE_INHIBITED)
		say(add(findings, "parity"), state,
		    "store 4 bytes at a time, or rmctl set %s parity=off",
		    "parity is on, and a store narrower than 4 bytes was inhibited");
}

static void look_at_policy(const struct state *state, const struct rfm_counters *counters,
			   struct findings *findings)
{
	char received[UNIT_TEXT], sent[UNIT_TEXT];
	uint64_t policy = state->settings.value[SETTING_POLICY];

	if (setting_known(&state->settings, SETTING_POLICY) && policy != RFM_POLICY_ALL)
		say(add(findings, "not-subscribed"), state,
		    "rmctl subscriptions %s; then rmctl subscribe %s RANGE, or set %s policy=all",
		    "the base policy is %s: what nobody has subscribed to is neither received nor "
		    "sent (so far %s of others and %s of this node)",
		    policy == RFM_POLICY_NONE ? "none" : "a mask",
		    size_exact(received, counters->value[RFM_COUNTER_FILTERED_RX]),
		    size_exact(sent, counters->value[RFM_COUNTER_FILTERED_TX]));
}

/* --- how the link is ----------------------------------------------------------------- */

static void look_at_link(const struct state *state, struct findings *findings)
{
	uint64_t ago_ns = state->sync_loss_ns ? now_ns() - state->sync_loss_ns : 0;
	struct finding *it;

	if (!state->link) {
		it = add(findings, "no-signal");
		it->ago_ns = ago_ns;
		say(it, state,
		    "look at the fibre or the hub's port that leads here, and at the node before "
		    "this one",
		    "the receiver sees no light: the ring is open just before this node%s",
		    is_on(state, SETTING_DARK_ON_DARK) ?
		    ", and with dark-on-dark this node sends none either" : "");
	} else if (state->lcsr1 & RFM_LCSR1_SYNC_LOSS || state->driver.sync_losses) {
		it = add(findings, "sync-lost");
		it->past = true;
		it->ago_ns = ago_ns;
		say(it, state, "rmctl monitor %s tells when it happens again",
		    "the receiver lost its signal (%" PRIu64 " time(s), as far as interrupts told), "
		    "and has it again: what was sent meanwhile did not arrive", state->driver.sync_losses);
	}
	if (!state->features && takes_part(state) && !is_on(state, SETTING_OWN_DATA))
		say(add(findings, "no-own-data"), state, "rmctl test %s sends one",
		    "no packet of this node has come home since own-data was cleared");
}

/* --- what it has counted --------------------------------------------------------------- */

static const struct {
	enum rfm_counter counter;
	const char *cause, *text, *remedy;
} counted[] = {
	{ RFM_COUNTER_DARK, "dark",
	  "own frame(s) were not sent: there was no light, no neighbour, or the transmitter was off",
	  "store again what others must have" },
	{ RFM_COUNTER_FULL, "full", "own frame(s) found no room in time and were not sent",
	  "store more slowly, or fence now and then" },
	{ RFM_COUNTER_LOST, "lost", "own frame(s) were lost on the ring",
	  "rmctl map at each node says who missed them" },
	{ RFM_COUNTER_MISSED, "missed", "frame(s) of other nodes never arrived here",
	  "rmctl map says whose" },
	{ RFM_COUNTER_BAD, "bad", "damaged frame(s) were dropped here", "look at the fibre" },
	{ RFM_COUNTER_BEYOND, "beyond", "update(s) lay past the end of this card's memory",
	  "give all cards of a ring the same memory and offset" },
	{ RFM_COUNTER_ROGUE, "rogue", "frame(s) were removed as rogue packets",
	  "let only one node be rogue master 0, and one rogue master 1" },
	{ RFM_COUNTER_MIXED, "mixed", "frame(s) came that belong to another ring",
	  "look at where the fibres lead" },
	{ RFM_COUNTER_HELD_LOST, "held-lost",
	  "frame(s) were dropped because this machine stood still for too long",
	  "store again what this node must have" },
	{ RFM_COUNTER_OVERRUN, "overrun", "frame(s) of others found no room to be passed on",
	  "rmctl map at each node says who missed them" },
	{ RFM_COUNTER_LATE, "late",
	  "frame(s) came behind newer ones of their node, and were not stored",
	  "none is missing if they were doubled on the way; else store again what is" },
};

static void look_at_counters(const struct state *state, const struct rfm_counters *counters,
			     struct findings *findings)
{
	for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
		uint64_t value = counters->value[counted[i].counter];
		struct finding *it;

		if (!value)
			continue;
		it = add(findings, counted[i].cause);
		it->past = true;
		it->ago_ns = ago(counters, counted[i].counter);
		say(it, state, counted[i].remedy, "%" PRIu64 " %s", value, counted[i].text);
	}
}

/* Nothing comes home, or own frames are under way and a while later none is. Returns an errno. */
static int look_at_frames(const struct state *state, const struct ring *ring,
			  const struct rfm_counters *counters, struct findings *findings)
{
	const struct timespec while_ns = { .tv_nsec = HOME_NS };
	struct rfm_counters later = *counters;
	struct finding *it;
	int error = 0;

	if (!takes_part(state) || (ring->turn_ns && !counters->value[RFM_COUNTER_WINDOW]))
		return 0;
	if (ring->turn_ns) {
		nanosleep(&while_ns, NULL);
		error = counters_get(state->name, false, &later);
		if (error || !later.value[RFM_COUNTER_WINDOW] ||
		    later.value[RFM_COUNTER_HOME] != counters->value[RFM_COUNTER_HOME])
			return error;
	}
	it = add(findings, "ring-open");
	it->ago_ns = ago(&later, RFM_COUNTER_TURN_NS);
	say(it, state,
	    "rmctl map %s shows where; then follow it node by node, with rmctl show there",
	    "the ring is open behind this node: nothing of it comes home, %" PRIu64
	    " own frame(s) are on their way", (uint64_t)later.value[RFM_COUNTER_WINDOW]);
	return 0;
}

/* Who has told that it had lost its signal, the last of them. */
static void look_at_breaks(const struct state *state, const struct ring *ring,
			   const struct rfm_counters *counters, struct findings *findings)
{
	const char *remedy = "rmctl map %s says which nodes have; rmctl show there";
	const struct ring_member *last = NULL;
	char node[UNIT_TEXT] = "unknown";
	struct finding *it;

	if (!counters->value[RFM_COUNTER_BREAKS])
		return;
	for (uint32_t i = 0; i < ring->known; i++)
		if (ring->member[i].broke && (!last || ring->member[i].broke_ns < last->broke_ns))
			last = &ring->member[i];
	it = add(findings, "breaks");
	it->past = !last || !ring_is_dark(last);
	it->ago_ns = ago(counters, RFM_COUNTER_BREAKS);
	if (last)
		node_text(node, last->node);
	if (it->past)
		say(it, state, remedy, "%" PRIu64 " time(s) another node has lost its signal, the "
		    "last one node %s: the ring was open there",
		    (uint64_t)counters->value[RFM_COUNTER_BREAKS], node);
	else
		say(it, state, remedy,
		    "node %s has lost its signal: the ring is open just before it", node);
}

/* Who stands still, or has gone since the counters were reset. */
static void look_at_members(const struct state *state, const struct ring *ring,
			    const struct rfm_counters *counters, struct findings *findings)
{
	const uint64_t since_ns = counters->reset_ns ? counters->clock_ns - counters->reset_ns :
						       UINT64_MAX;
	char absent[RING_NOTE];

	if (*ring_absent(absent, ring, since_ns))
		say(add(findings, "absent"), state,
		    "look at it: is it up, is its transmitter on, does it see light?", "%s",
		    absent);
	else if (takes_part(state) && ring->count == 1)
		say(add(findings, "alone"), state,
		    "look at the other nodes: are they up, and is their transmitter on?",
		    "no other node has been heard for two seconds");
}

/* What is so now stays as it was found; behind it what has happened, the latest first. */
static int by_time(const void *a, const void *b)
{
	const struct finding *first = a, *second = b;

	if (first->past != second->past)
		return first->past ? 1 : -1;
	if (!first->past || first->ago_ns == second->ago_ns)
		return first->rank < second->rank ? -1 : 1;
	/* Who has no time comes last. */
	return first->ago_ns - 1 < second->ago_ns - 1 ? -1 : 1;
}

/**
 * diagnose - find what keeps updates from arriving, or has done so
 * @state: of the card, just asked for
 * @findings: filled in: first what is so now, then what has happened, the latest first
 *
 * Takes half a second if nothing comes home. Returns 0 or an errno.
 */
int diagnose(const struct state *state, struct findings *findings)
{
	struct rfm_counters counters;
	struct ring ring = { .left = false };
	int error = counters_get(state->name, false, &counters);
	char node[UNIT_TEXT];

	findings->count = 0;
	findings->incomplete = false;
	if (!error && counters.clock_ns)
		error = ring_get(state->name, takes_part(state), &ring);
	if (error)
		return error;
	findings->incomplete = ring.count && !ring.member[0].hops && ring.member[0].incomplete;
	if (ring.left)
		say(add(findings, "id-in-use"), state,
		    "give one of the two nodes another id, and start it again",
		    "this node has left the ring, as its id %s is in use: it only passes frames on",
		    node_text(node, state->node));
	look_at_switches(state, findings);
	look_at_policy(state, &counters, findings);
	if (!ring.left)
		look_at_link(state, findings);
	if (counters.clock_ns) {
		error = look_at_frames(state, &ring, &counters, findings);
		look_at_breaks(state, &ring, &counters, findings);
		if (!ring.left)
			look_at_members(state, &ring, &counters, findings);
		look_at_counters(state, &counters, findings);
	}
	qsort(findings->list, findings->count, sizeof(*findings->list), by_time);
	return error;
}

json_t *findings_json(const struct findings *findings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *it = &findings->list[i];

		json_array_append_new(list, json_pack(
			"{s:s, s:b, s:o, s:s, s:s}", "cause", it->cause, "now", !it->past,
			"ago_ns", json_known(it->ago_ns, it->ago_ns), "text", it->text,
			"remedy", it->remedy));
	}
	return list;
}

void findings_print(const struct command *cmd, const struct findings *findings)
{
	const struct finding *last = NULL;
	char ago_text[UNIT_TEXT];

	if (!findings->count || findings->list[0].past)
		printf("nothing here keeps updates from arriving; 'rmctl test %s' asks the ring\n",
		       cmd->card);
	for (size_t i = 0; i < findings->count; last = &findings->list[i++]) {
		const struct finding *it = &findings->list[i];

		if (!last || last->past != it->past)
			puts(it->past ? "what has happened:" : "what keeps updates from arriving:");
		printf("  - %s", it->text);
		if (it->ago_ns)
			printf(it->past ? ", the last %s ago" : ", since %s ago",
			       time_text(ago_text, it->ago_ns));
		printf("\n      %s\n", it->remedy);
	}
}
