// SPDX-License-Identifier: MIT
#include "tools/rmnode/counters.h"

#include <stddef.h>
#include <string.h>

#define ROW(kind, name, what) { #name, offsetof(struct rfmring_stats, name), kind, what }
#define COUNT(name, what) ROW(COUNTER_COUNT, name, what)
#define PEAK(name, what) ROW(COUNTER_PEAK, name, what)

const struct counter counters[] = {
	COUNT(stores, "stores and interrupts asked for"),
	COUNT(sent, "own frames numbered"),
	COUNT(home, "own frames that came home, stored by every node on the way"),
	COUNT(lost, "own frames that did not come home"),
	COUNT(dark, "own frames not sent: the node was dark"),
	COUNT(full, "own frames not sent: no room within the stall limit"),
	COUNT(received, "updates, interrupts and fences of others that were taken"),
	COUNT(forwarded, "frames of others passed on"),
	COUNT(unsendable, "frames of others not passed on: no downstream"),
	COUNT(overrun, "frames of others not passed on: no room"),
	COUNT(missed, "updates, interrupts and fences of others that never arrived here"),
	COUNT(late, "frames older than what had come, not stored"),
	COUNT(copies, "second copies of redundant transfers"),
	COUNT(beyond, "updates past the end of this memory"),
	COUNT(bad, "damaged frames dropped"),
	COUNT(hop_limit, "frames dropped because they went round for ever"),
	COUNT(rogue, "frames that this rogue master removed"),
	COUNT(mixed, "frames removed because their node is of the other transfer mode"),
	COUNT(held_lost, "updates dropped here while the node was paused"),
	PEAK(window_peak, "most own frames in flight"),
	PEAK(tx_peak, "most frames in the transmit FIFO"),
	PEAK(insert_peak, "most stores that waited"),
	COUNT(stalls, "stores that had to wait for room"),
	ROW(COUNTER_NS, longest_stall_ns, "longest of these waits"),
	COUNT(sent_bytes, "data bytes of own updates given to the fibre"),
	COUNT(received_bytes, "data bytes of updates that were taken"),
	COUNT(forwarded_bytes, "data bytes of updates passed on"),
	COUNT(interrupts_lost, "interrupts dropped because nobody waited for them"),
	COUNT(asked, "operations at one node that were begun here"),
	COUNT(done, "of these, done"),
	COUNT(failed, "of these, ended otherwise"),
	COUNT(served, "requests of others that were answered"),
	COUNT(refused, "packets of others that were no request or answer as it has to be"),
	COUNT(repeated, "requests that had come before, not done again"),
	COUNT(strange, "answers that nobody waited for, or that cannot be"),
	COUNT(messages, "messages of others that came whole"),
	COUNT(given_up, "messages of others that never did"),
	COUNT(ethernet_sent, "Ethernet frames that have left whole"),
	COUNT(ethernet_lost, "of these, not taken: no room, no such node, or lost on the ring"),
	COUNT(ethernet_dark, "Ethernet frames not sent: no signal or no neighbour"),
	COUNT(ethernet_unfit, "Ethernet frames not sent: shorter than 14 or longer than 9216 bytes"),
	COUNT(ethernet_received, "Ethernet frames of others that have come whole"),
	COUNT(ethernet_refused, "Ethernet frames of others that found no room"),
	COUNT(ethernet_broken, "Ethernet frames of others of which a part is missing"),
	COUNT(ethernet_dropped, "Ethernet frames of others that the TAP device did not take"),
};

_Static_assert(sizeof(counters) / sizeof(*counters) == COUNTERS, "a counter is missing");

uint64_t counter_value(const struct counter *counter, const struct rfmring_stats *stats)
{
	uint64_t value;

	memcpy(&value, (const char *)stats + counter->at, sizeof(value));
	return value;
}
