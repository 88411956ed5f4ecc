/* SPDX-License-Identifier: MIT */
/* What the files of rfm2g_test share: two boards and what goes between them, and the cases. */
#ifndef RFM2G_TEST_PRIVATE_H
#define RFM2G_TEST_PRIVATE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1		/* pthread_tryjoin_np() */
#endif
#include <pthread.h>

#include <rfm2g_api.h>

#include "tests/guest/dma.h"

#define IS(call, status)	CHECK_EQ(call, RFM2G_##status)
#define PLACE	0x20000u		/* of the words here; each case has a page of its own */

__weak char *near_path, *far_path, *narrow_path, *spare_near, *spare_far;
__weak RFM2GHANDLE near, far, stale;
__weak RFM2G_UINT32 size;
__weak RFM2G_NODE near_node, far_node;
__weak bool on_card;

/* main.c */
bool settle(void);
RFM2GEVENTINFO waits_for(RFM2GEVENTTYPE event, RFM2G_UINT32 timeout);
void comes(RFM2GEVENTTYPE event, RFM2G_UINT32 data);
void nothing_comes(RFM2GEVENTTYPE event);
void sends(RFM2GEVENTTYPE event, RFM2G_UINT32 data);
bool counted(RFM2GEVENTTYPE event, RFM2G_UINT32 wanted);
void quiet(RFM2GEVENTTYPE event);
void no_callback(RFM2GHANDLE handle, RFM2GEVENTINFO *info);

/* events.c */
struct waiter {
	pthread_t thread;
	RFM2GHANDLE handle;
	RFM2GEVENTINFO info;
	RFM2G_STATUS status;
};

void start_waiting(struct waiter *waiter, RFM2GHANDLE handle, RFM2GEVENTTYPE event);
RFM2G_STATUS of_child(pid_t child);
RFM2G_STATUS tried_elsewhere(RFM2GEVENTTYPE event);
void caught(int signo);

/* ring.c */
bool ring_is_up(void);

/* What this program is, and what it is in other processes. */
int rfm2g_test_main(int argc, char **argv);
int waits_for_one(char *path);
int tries(char *path, const char *event);
int exits_in_callback(void);
int sees_it_go(char *path, bool back);

/* The cases, file by file. */
void opening(void), a_handle_is_null(void), a_handle_is_stale(void), a_pointer_is_null(void),
	an_event_is_none(void), what_it_is(void), every_status_has_a_sentence(void);
void words(void), what_is_no_place(void), transfers(void), transfers_by_dma(void),
	byte_swaps(void), mappings(void), mappings_that_are_none(void), windows(void),
	windows_that_slide(void);
void events_that_wait(void), events_come(void), events_that_cannot_be_sent(void),
	events_queue(void), events_are_thrown_away(void), events_are_disabled(void),
	one_waits(void), one_waits_of_all_processes(void), one_waits_of_parent_and_child(void),
	waits_are_cancelled(void), waits_end_in_time(void), a_signal_ends_a_wait(void);
void callbacks(void), callbacks_keep_their_event(void), callbacks_that_end(void),
	callbacks_whose_thread_ends(void), callbacks_have_returned(void),
	closing_ends_waits_of_callbacks(void), callbacks_that_end_each_other(void);
void a_lost_signal(void), a_ring_check_under_signals(void), settings(void), registers(void),
	registers_of_the_card(void), what_takes_a_capability(void);
void threads_at_once(void), a_fork(void), a_fork_without_files(void),
	an_exit_in_a_callback(void);

#endif
