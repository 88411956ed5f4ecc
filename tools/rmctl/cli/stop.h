/* SPDX-License-Identifier: MIT */
/* The end that the user asks for: SIGINT, SIGTERM and SIGHUP. */
#ifndef RMCTL_STOP_H
#define RMCTL_STOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

void stop_on_signals(void);
bool stop_asked(void);
int stop_signal(bool *by_terminal);
void stop_hold_signals(void);
int stop_poll(struct pollfd *fds, nfds_t count, uint64_t deadline_ns);
void stop_forget(void);

#define STOP_NEVER UINT64_MAX

#endif /* RMCTL_STOP_H */
