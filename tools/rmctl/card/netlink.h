/* SPDX-License-Identifier: MIT */
/* The driver's generic netlink family. */
#ifndef RMCTL_NETLINK_H
#define RMCTL_NETLINK_H

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "tools/rmctl/cli/rmctl.h"

struct nl_sock;

#define NETLINK_REASON 256	/* room for a sentence */

/**
 * struct netlink - a connection to the driver
 * @socket: libnl's
 * @family: what the kernel calls the family today
 * @reason: why the last request failed: the driver's own sentence, if it had one
 */
struct netlink {
	struct nl_sock *socket;
	int family;
	char reason[NETLINK_REASON];
};

/* Takes one message of an answer. */
typedef void (*netlink_take)(struct nlmsghdr *message, void *context);

int netlink_open(struct command *cmd, struct netlink *nl);
void netlink_close(struct netlink *nl);
struct nl_msg *netlink_request(const struct netlink *nl, uint8_t command, int flags);
int netlink_talk(struct netlink *nl, struct nl_msg *request, netlink_take take, void *context);
int netlink_join(struct command *cmd, struct netlink *nl, const char *group);
int netlink_fd(const struct netlink *nl);
int netlink_receive(struct netlink *nl, netlink_take take, void *context);

#endif /* RMCTL_NETLINK_H */
