// SPDX-License-Identifier: GPL-2.0-only
/*
 * librfm: librfm_events_test NEAR FAR, see librfm_pair.h. What a fence tells to whom, and in
 * detail what queues, eventfds, comparisons, silences, owners and listeners do, on a card and
 * in process.
 */
#include "tests/guest/librfm_events/private.h"

bool begin_marks(void)
{
	marks = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT3), RFM_LISTEN_DISCARD, 0);
	return CHECK(marks);
}

void all_told(void)
{
	static uint32_t mark;
	struct rfm_event record;

	CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT3, ++mark), 0);
	while (next(marks, &record) && record.data != mark)
		;
}

/* Word @at is stored in a frame of its own. */
void put_alone(struct rfm *card, const struct pair *pair, unsigned int at, uint64_t value)
{
	put(card, pair, at, value);
	CHECK_EQ(rfm_fence(card, PATIENCE_MS, NULL), 0);
}

bool no_more(struct rfm_events *events)
{
	struct rfm_event record;

	return CHECK_EQ(rfm_events_wait(events, &record, 1, 0), 0);
}

struct rfm_events *watch_with(struct rfm_watch *watch, const struct rfm_range *ranges)
{
	struct rfm_events *events;

	watch->ranges = (uintptr_t)ranges;
	if (!watch->count)
		watch->count = 1;
	events = rfm_watch_with(far_card, watch);
	CHECK(events);
	return events;
}

/* --- fences ------------------------------------------------------------------------- */

void set_transmitter(uint32_t on)
{
	const struct rfm_config config = { .mask = RFM_CONFIG_TRANSMIT, .on = on };

	CHECK_EQ(rfm_set_config(near_card, &config), 0);
}

/* A store that reaches nobody; the ring is there again. */
static void lose_a_store(const struct pair *pair)
{
	set_transmitter(0);
	put(near_card, pair, 0, 1);
	set_transmitter(RFM_CONFIG_TRANSMIT);
	CHECK_EQ(rfm_ring_test(near_card, PATIENCE_MS, NULL), 0);
}

/* It may be told twice of what was under way when the transmitter went off. */
void fences_are_good_again(struct rfm *card)
{
	uint64_t begun = now_ns();

	while (rfm_fence(card, PATIENCE_MS, NULL) && now_ns() - begun < PATIENCE_NS)
		;
	CHECK_EQ(rfm_fence(card, PATIENCE_MS, NULL), 0);
}

/* Neither a ring test nor somebody else's fence takes it away. */
static void every_handle_is_told_of_a_loss(void)
{
	struct rfm *others[2] = { rfm_open(near_path, O_RDWR), rfm_open(near_path, O_RDWR) };
	struct rfm_fence_wait result;
	struct pair pair;

	REQUIRE(others[0] && others[1]);
	if (!map_pair(&pair, 1, 8))
		return;
	lose_a_store(&pair);
	for (int i = 0; i < 2; i++) {
		memset(&result, 0xa5, sizeof(result));
		CHECK_ERRNO(rfm_fence(others[i], PATIENCE_MS, &result), EIO);
		CHECK(result.flags & RFM_FENCED_LOST && result.lost >= 1 && result.lost < 1000);
	}
	CHECK_EQ(rfm_ring_test(near_card, PATIENCE_MS, NULL), 0);
	CHECK_ERRNO(rfm_fence(near_card, PATIENCE_MS, NULL), EIO);
	fences_are_good_again(near_card);
	fences_are_good_again(others[0]);
	/* What was lost before it is none of its affairs. */
	CHECK_EQ(rfm_close(others[0]), 0);
	others[0] = rfm_open(near_path, O_RDWR);
	REQUIRE(others[0]);
	CHECK_EQ(rfm_fence(others[0], PATIENCE_MS, NULL), 0);
	rfm_close(others[0]);
	rfm_close(others[1]);
	unmap_pair(&pair, 8);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(every_handle_is_told_of_a_loss),
		TAP_CASE(a_full_queue_drops_and_says_so),
		TAP_CASE(what_is_unread_takes_in_what_comes),
		TAP_CASE(records_stay_in_order),
		TAP_CASE(what_is_kept_takes_in_what_comes),
		TAP_CASE(descriptors_tell),
		TAP_CASE(a_full_eventfd_holds_up_nothing),
		TAP_CASE(who_fills_an_eventfd_holds_up_nothing),
		TAP_CASE(comparisons),
		TAP_CASE(silences),
		TAP_CASE(owning_is_by_granule),
		TAP_CASE(as_many_ranges_as_may_be_owned),
		TAP_CASE(interrupts_wait_for_a_listener),
		TAP_CASE(events_are_counted_once),
		TAP_CASE(the_ring_is_told_of),
		TAP_CASE(the_last_writer_is_known),
		TAP_CASE(structures_may_be_of_any_size),
		TAP_CASE(as_much_as_may_be_queued),
		TAP_CASE(as_many_ranges_as_may_be_watched),
		TAP_CASE(descriptors_run_out),
	};

	if (!open_cards(argc, argv))
		return TAP_FAIL;
	return TAP_RUN(cases);
}
