// SPDX-License-Identifier: MIT
/*
 * Requests to the driver's generic netlink family, their answers, and the sentence in which it
 * says why it refuses one (the kernel calls that extended acknowledgement).
 */
#include "netlink.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <netlink/errno.h>
#include <netlink/genl/ctrl.h>
#include <netlink/netlink.h>

#include <linux/rfm_netlink.h>

#include "open.h"
#include "tools/rmctl/cli/out.h"

/* Bytes that wait for a slow reader; a storm beyond that is an overrun, which is reported. */
#define RECEIVE_BUFFER (1 << 20)
/* The longest answer: some ranges of a descriptor. */
#define MESSAGE_BUFFER (1 << 16)

/*
 * The end of an answer: @code is 0 or below, and the driver's sentence, if it has one, is among
 * the @length bytes of attributes behind that.
 */
static int end(struct netlink *nl, int code, void *attributes, int length)
{
	const struct nlattr *sentence = NULL;

	nl->ended = true;
	nl->error = -code;
	if (code && length > 0)
		sentence = nla_find(attributes, length, NLMSGERR_ATTR_MSG);
	if (sentence)
		snprintf(nl->reason, sizeof(nl->reason), "%.*s", nla_len(sentence),
			 (const char *)nla_data(sentence));
	else if (code)
		snprintf(nl->reason, sizeof(nl->reason), "%s", code == -EPERM ?
			 "that takes more rights than you have" : card_reason(-code));
	return NL_STOP;
}

static int on_valid(struct nl_msg *message, void *context)
{
	struct netlink *nl = context;

	if (nl->take)
		nl->take(nlmsg_hdr(message), nl->context);
	return NL_OK;
}

static int on_ack(struct nl_msg *message, void *context)
{
	return end(context, 0, NULL, 0);
}

/* The end of a dump, which carries its error. */
static int on_finish(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	int code = 0, skipped = NLMSG_ALIGN(sizeof(code));

	if (nlmsg_datalen(header) >= (int)sizeof(code))
		memcpy(&code, nlmsg_data(header), sizeof(code));
	return end(context, code < 0 ? code : 0, (char *)nlmsg_data(header) + skipped,
		   nlmsg_datalen(header) - skipped);
}

static int on_torn(struct nl_msg *message, void *context)
{
	((struct netlink *)context)->torn = true;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *context)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)error - 1;
	size_t skipped = sizeof(*error);

	/* The refused request stands before the attributes, unless it was left out. */
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skipped += error->msg.nlmsg_len - sizeof(error->msg);
	skipped = NLMSG_ALIGN(skipped);
	return end(context, error->error, (char *)error + skipped,
		   header->nlmsg_flags & NLM_F_ACK_TLVS ?
			   nlmsg_datalen(header) - (int)skipped : 0);
}

void netlink_close(struct netlink *nl)
{
	nl_socket_free(nl->socket);
	nl->socket = NULL;
}

/* Speaks to the driver. Returns an exit status; what is wrong has been said. */
int netlink_open(struct command *cmd, struct netlink *nl)
{
	int on = 1, request = NETLINK_REQUEST, status, fd;
	struct nl_sock *socket = needed(cmd, nl_socket_alloc());

	status = genl_connect(socket);
	if (status) {
		nl_socket_free(socket);
		return failed(cmd, "cannot open a netlink socket: %s", nl_geterror(status));
	}
	fd = nl_socket_get_fd(socket);
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	/* A refusal does not bring back the request, which may be longer than any answer. */
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	nl_socket_set_buffer_size(socket, RECEIVE_BUFFER, NETLINK_REQUEST);
	/* Beyond the system's limit for everybody; who may set masks may do that. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &request, sizeof(request));
	nl_socket_set_msg_buf_size(socket, MESSAGE_BUFFER);
	*nl = (struct netlink){
		.socket = socket, .family = genl_ctrl_resolve(socket, RFM_FAMILY_NAME),
	};
	nl_socket_modify_err_cb(socket, NL_CB_CUSTOM, on_error, nl);
	nl_socket_modify_cb(socket, NL_CB_VALID, NL_CB_CUSTOM, on_valid, nl);
	nl_socket_modify_cb(socket, NL_CB_ACK, NL_CB_CUSTOM, on_ack, nl);
	nl_socket_modify_cb(socket, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, nl);
	nl_socket_modify_cb(socket, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_torn, nl);
	if (nl->family >= 0)
		return STATUS_OK;
	netlink_close(nl);
	return failed(cmd, "the kernel does not know the netlink family " RFM_FAMILY_NAME
		      "; is module rfm loaded?");
}

/* Says in @nl what the connection itself met. Returns an errno. */
static int broken(struct netlink *nl, int code)
{
	snprintf(nl->reason, sizeof(nl->reason), "%s", nl_geterror(code));
	return EIO;
}

/**
 * netlink_talk - send a request, and take the answer to its end
 * @nl: the connection; its @reason says why this failed
 * @request: the request; NULL: there was no memory for it
 * @take: called for each message of the answer, or NULL
 * @context: for @take
 *
 * Returns 0; EAGAIN: something changed during a dump, so that what came does not fit together;
 * or the errno with which the driver refuses.
 */
int netlink_talk(struct netlink *nl, struct nl_msg *request, netlink_take take, void *context)
{
	int code = -NLE_NOMEM;

	nl->take = take;
	nl->context = context;
	nl->error = 0;
	nl->ended = nl->torn = false;
	errno = 0;
	if (request)
		code = nl_send_auto(nl->socket, request);
	if (code < 0 && errno == EMSGSIZE) {
		snprintf(nl->reason, sizeof(nl->reason), "a request that long needs CAP_NET_ADMIN");
		return EMSGSIZE;
	}
	while (code >= 0 && !nl->ended)
		code = nl_recvmsgs_default(nl->socket);
	/* A refusal makes nl_recvmsgs_default() fail as well, but is an answer. */
	if (!nl->ended)
		return broken(nl, code);
	if (nl->error || !nl->torn)
		return nl->error;
	snprintf(nl->reason, sizeof(nl->reason), "it changes faster than it can be read");
	return EAGAIN;
}

/*
 * Hears what a multicast group says from now on; no requests any more. Returns an exit status;
 * what is wrong has been said.
 */
int netlink_join(struct command *cmd, struct netlink *nl, const char *group)
{
	int number = genl_ctrl_resolve_grp(nl->socket, RFM_FAMILY_NAME, group);
	int code = number < 0 ? number : nl_socket_add_membership(nl->socket, number);

	if (code == -NLE_PERM)
		return failed(cmd, "hearing of all cards needs CAP_NET_ADMIN");
	if (code)
		return failed(cmd, "cannot hear the group %s: %s", group, nl_geterror(code));
	/* What nobody asked for has no number of a request. */
	nl_socket_disable_seq_check(nl->socket);
	nl_socket_set_nonblocking(nl->socket);
	return STATUS_OK;
}

/*
 * Takes what the group has said. Returns 0, EAGAIN when there is nothing, ENOBUFS when messages
 * were lost because they were not read fast enough, or another errno.
 */
int netlink_receive(struct netlink *nl, netlink_take take, void *context)
{
	int code;

	nl->take = take;
	nl->context = context;
	code = nl_recvmsgs_default(nl->socket);
	if (code == -NLE_AGAIN)
		return EAGAIN;
	if (code == -NLE_NOMEM)
		return ENOBUFS;
	return code ? broken(nl, code) : 0;
}
