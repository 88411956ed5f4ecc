/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of librfm_events_test share, and the cases, file by file. */
#ifndef LIBRFM_EVENTS_TEST_PRIVATE_H
#define LIBRFM_EVENTS_TEST_PRIVATE_H

#include "tests/guest/librfm_pair.h"

/* What comes in their place among updates: when one has been heard, all before it has been told. */
__weak struct rfm_events *marks;

bool begin_marks(void);
void all_told(void);
void put_alone(struct rfm *card, const struct pair *pair, unsigned int at, uint64_t value);
bool no_more(struct rfm_events *events);
struct rfm_events *watch_with(struct rfm_watch *watch, const struct rfm_range *ranges);
void set_transmitter(uint32_t on);
void fences_are_good_again(struct rfm *card);

void a_full_queue_drops_and_says_so(void), what_is_unread_takes_in_what_comes(void),
	records_stay_in_order(void), what_is_kept_takes_in_what_comes(void),
	descriptors_tell(void), a_full_eventfd_holds_up_nothing(void),
	who_fills_an_eventfd_holds_up_nothing(void), comparisons(void), silences(void);
void owning_is_by_granule(void), as_many_ranges_as_may_be_owned(void),
	interrupts_wait_for_a_listener(void), events_are_counted_once(void),
	the_ring_is_told_of(void), the_last_writer_is_known(void),
	structures_may_be_of_any_size(void), as_much_as_may_be_queued(void),
	as_many_ranges_as_may_be_watched(void), descriptors_run_out(void);

#endif
