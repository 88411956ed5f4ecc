/* SPDX-License-Identifier: MIT */
/* How a program that lives in a loop is told to end. */
#ifndef RFM_TOOLS_SIGNALS_H
#define RFM_TOOLS_SIGNALS_H

#include "ring/host/loop.h"

/**
 * watch_signals() - SIGTERM and SIGINT are events of the loop now, and SIGPIPE is nothing
 * @watch: its ready() is called as long as it is watched; the descriptor stays open
 *
 * Returns 0, or -1 with errno.
 */
int watch_signals(struct rfm_loop *loop, struct rfm_loop_fd *watch);

#endif
