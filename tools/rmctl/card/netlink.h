/* SPDX-License-Identifier: MIT */
/* The driver's generic netlink family. */
#ifndef RMCTL_NETLINK_H
#define RMCTL_NETLINK_H

#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "tools/rmctl/cli/rmctl.h"

/*
 * The longest request: three base masks of RFM_SUBSCRIBE_MAX ranges each, of which one takes 44
 * bytes. An attribute is at most 64 KiB long, but each range is one of its own.
 */
#define NETLINK_REQUEST (1 << 20)

/* Takes one message of an answer. */
typedef void (*netlink_take)(struct nlmsghdr *message, void *context);

/**
 * struct netlink - a connection to the driver; stays where netlink_open() has seen it
 * @socket: libnl's
 * @family: what the kernel calls the family today
 * @reason: why the last request failed: the driver's own sentence, if it had one
 * @take: takes the messages of the answer that is coming, or NULL
 * @context: for @take
 * @error: errno of a refusal
 * @ended: nothing more comes
 * @torn: a dump that something changed meanwhile
 */
struct netlink {
	struct nl_sock *socket;
	int family;
	char reason[256];
	netlink_take take;
	void *context;
	int error;
	bool ended, torn;
};

int netlink_open(struct command *cmd, struct netlink *nl);
void netlink_close(struct netlink *nl);
int netlink_talk(struct netlink *nl, struct nl_msg *request, netlink_take take, void *context);
int netlink_join(struct command *cmd, struct netlink *nl, const char *group);
int netlink_receive(struct netlink *nl, netlink_take take, void *context);

#endif /* RMCTL_NETLINK_H */
