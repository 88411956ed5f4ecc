/* SPDX-License-Identifier: MIT */
/* The cases of librfm_test, file by file. */
#ifndef LIBRFM_TEST_PRIVATE_H
#define LIBRFM_TEST_PRIVATE_H

#include "tests/guest/librfm_pair.h"

__weak const char *narrow_path;

void opening(void), cards_are_listed(void), what_is_no_place(void), settings(void),
	everything_has_a_name(void), waits_end_when_they_should(void), mapping(void),
	mapping_through_a_window(void), read_only(void), interrupts(void),
	signals_end_a_wait(void), words_and_copies(void),
	words_and_copies_by_the_processor(void);
void a_publication_is_one_store(void), a_store_is_one_store(void), what_every_node_has(void),
	fences(void), updates_are_told(void), watches_with_conditions(void),
	closing_in_any_order(void), sets_of_nodes(void), owners_learn_of_conflicts(void),
	subscriptions(void), who_is_there(void), a_record_wakes_once(void),
	a_record_is_whole_or_not_there(void);

#endif
