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

/* Bytes that wait for a slow reader; a storm beyond that is an overrun, which is reported. */
#define RECEIVE_BUFFER (1 << 20)
/* The longest answer: some ranges of a descriptor. */
#define MESSAGE_BUFFER (1 << 16)
/*
 * The longest request: three base masks of RFM_SUBSCRIBE_MAX ranges each, of which one takes 44
 * bytes. An attribute is at most 64 KiB long, but each range is one of its own.
 */
#define REQUEST_BUFFER (1 << 20)

/**
 * struct answer - how far the answer to a request has come
 * @nl: where the reason goes
 * @take: takes its messages, or NULL
 * @context: for @take
 * @error: errno of a refusal
 * @ended: nothing more comes
 * @torn: a dump that something changed meanwhile
 */
struct answer {
	struct netlink *nl;
	netlink_take take;
	void *context;
	int error;
	bool ended, torn;
};

/* What an error number says where the driver had no sentence of its own. */
static const char *plain_reason(int error)
{
	return error == EPERM ? "that takes more rights than you have" : card_reason(error);
}

/* Takes the driver's sentence from the attributes behind an error, if there is one. */
static void take_reason(struct netlink *nl, int error, void *attributes, int length)
{
	const struct nlattr *sentence = NULL;

	if (length > 0)
		sentence = nla_find(attributes, length, NLMSGERR_ATTR_MSG);
	if (sentence)
		snprintf(nl->reason, sizeof(nl->reason), "%.*s", nla_len(sentence),
			 (const char *)nla_data(sentence));
	else
		snprintf(nl->reason, sizeof(nl->reason), "%s", plain_reason(error));
}

static int on_valid(struct nl_msg *message, void *context)
{
	struct answer *answer = context;

	if (answer->take)
		answer->take(nlmsg_hdr(message), answer->context);
	return NL_OK;
}

static int on_ack(struct nl_msg *message, void *context)
{
	((struct answer *)context)->ended = true;
	return NL_STOP;
}

/* The end of a dump, which carries its error. */
static int on_finish(struct nl_msg *message, void *context)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct answer *answer = context;
	int code = 0;

	if (nlmsg_datalen(header) >= (int)sizeof(code))
		memcpy(&code, nlmsg_data(header), sizeof(code));
	if (code < 0) {
		answer->error = -code;
		take_reason(answer->nl, -code, (char *)nlmsg_data(header) + NLMSG_ALIGN(sizeof(code)),
			    nlmsg_datalen(header) - (int)NLMSG_ALIGN(sizeof(code)));
	}
	answer->ended = true;
	return NL_STOP;
}

static int on_torn(struct nl_msg *message, void *context)
{
	((struct answer *)context)->torn = true;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *context)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)error - 1;
	struct answer *answer = context;
	size_t skipped = sizeof(*error);

	/* The refused request stands before the attributes, unless it was left out. */
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skipped += error->msg.nlmsg_len - sizeof(error->msg);
	skipped = NLMSG_ALIGN(skipped);
	answer->error = -error->error;
	take_reason(answer->nl, answer->error, (char *)error + skipped,
		    header->nlmsg_flags & NLM_F_ACK_TLVS ?
			    nlmsg_datalen(header) - (int)skipped : 0);
	answer->ended = true;
	return NL_STOP;
}

/**
 * netlink_open - speak to the driver
 * @cmd: the command, for messages
 * @nl: filled in; close it with netlink_close()
 *
 * Returns an exit status; what is wrong has been said.
 */
int netlink_open(struct command *cmd, struct netlink *nl)
{
	int on = 1, request = REQUEST_BUFFER, status;

	nl->reason[0] = '\0';
	nl->socket = nl_socket_alloc();
	if (!nl->socket)
		return failed(cmd, "out of memory");
	status = genl_connect(nl->socket);
	if (status) {
		failed(cmd, "cannot open a netlink socket: %s", nl_geterror(status));
		goto out;
	}
	setsockopt(nl_socket_get_fd(nl->socket), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	/* A refusal does not bring back the request, which may be longer than any answer. */
	setsockopt(nl_socket_get_fd(nl->socket), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	nl_socket_set_buffer_size(nl->socket, RECEIVE_BUFFER, REQUEST_BUFFER);
	/* Beyond the system's limit for everybody; who may set masks may do that. */
	setsockopt(nl_socket_get_fd(nl->socket), SOL_SOCKET, SO_SNDBUFFORCE, &request,
		   sizeof(request));
	nl_socket_set_msg_buf_size(nl->socket, MESSAGE_BUFFER);
	nl->family = genl_ctrl_resolve(nl->socket, RFM_FAMILY_NAME);
	if (nl->family >= 0)
		return STATUS_OK;
	failed(cmd, "the kernel does not know the netlink family " RFM_FAMILY_NAME
	       "; is module rfm loaded?");
out:
	nl_socket_free(nl->socket);
	return STATUS_FAILED;
}

void netlink_close(struct netlink *nl)
{
	nl_socket_free(nl->socket);
}

/**
 * netlink_request - begin a request
 * @nl: the connection
 * @command: RFM_CMD_*
 * @flags: NLM_F_DUMP or 0
 *
 * Returns a message to which attributes can be added, or NULL. Attributes that find no room
 * are noticed by netlink_talk(), when the driver misses them.
 */
struct nl_msg *netlink_request(const struct netlink *nl, uint8_t command, int flags)
{
	struct nl_msg *request = nlmsg_alloc_size(REQUEST_BUFFER);

	if (request && !genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, nl->family, 0, flags,
				    command, RFM_FAMILY_VERSION)) {
		nlmsg_free(request);
		request = NULL;
	}
	return request;
}

static struct nl_cb *callbacks(struct answer *answer)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (cb) {
		nl_cb_err(cb, NL_CB_CUSTOM, on_error, answer);
		nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, answer);
		nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, answer);
		nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, answer);
		nl_cb_set(cb, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_torn, answer);
	}
	return cb;
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
 * @request: the request, which is released; NULL: there was no memory for it
 * @take: called for each message of the answer, or NULL
 * @context: for @take
 *
 * Returns 0; EAGAIN: something changed during a dump, so that what came does not fit together;
 * or the errno with which the driver refuses.
 */
int netlink_talk(struct netlink *nl, struct nl_msg *request, netlink_take take, void *context)
{
	struct answer answer = { .nl = nl, .take = take, .context = context };
	struct nl_cb *cb = callbacks(&answer);
	int code = -NLE_NOMEM;
	bool too_long;

	errno = 0;
	if (request && cb)
		code = nl_send_auto(nl->socket, request);
	too_long = code < 0 && errno == EMSGSIZE;
	while (code >= 0 && !answer.ended)
		code = nl_recvmsgs(nl->socket, cb);
	nl_cb_put(cb);
	nlmsg_free(request);
	if (too_long) {
		snprintf(nl->reason, sizeof(nl->reason), "a request that long needs CAP_NET_ADMIN");
		return EMSGSIZE;
	}
	/* A refusal makes nl_recvmsgs() fail as well, but is an answer. */
	if (!answer.ended)
		return broken(nl, code);
	if (!answer.error && answer.torn)
		snprintf(nl->reason, sizeof(nl->reason), "it changes faster than it can be read");
	return answer.error ? answer.error : answer.torn ? EAGAIN : 0;
}

/**
 * netlink_join - hear what a multicast group says
 * @cmd: the command, for messages
 * @nl: the connection, of no use for requests afterwards
 * @group: its name
 *
 * Returns an exit status; what is wrong has been said.
 */
int netlink_join(struct command *cmd, struct netlink *nl, const char *group)
{
	int number = genl_ctrl_resolve_grp(nl->socket, RFM_FAMILY_NAME, group);
	int code = number < 0 ? number : nl_socket_add_membership(nl->socket, number);

	if (code == -NLE_PERM)
		return failed(cmd, "hearing of all cards needs CAP_NET_ADMIN");
	if (code)
		return failed(cmd, "cannot hear the group %s: %s", group, nl_geterror(code));
	nl_socket_set_nonblocking(nl->socket);
	return STATUS_OK;
}

int netlink_fd(const struct netlink *nl)
{
	return nl_socket_get_fd(nl->socket);
}

/* What nobody asked for has no number of a request. */
static int any_sequence(struct nl_msg *message, void *context)
{
	return NL_OK;
}

/**
 * netlink_receive - take what a group has said
 * @nl: after netlink_join()
 * @take: called for each message
 * @context: for @take
 *
 * Returns 0, EAGAIN when there is nothing, ENOBUFS when messages were lost because they were
 * not read fast enough, or another errno.
 */
int netlink_receive(struct netlink *nl, netlink_take take, void *context)
{
	struct answer answer = { .nl = nl, .take = take, .context = context };
	struct nl_cb *cb = callbacks(&answer);
	int code;

	if (!cb)
		return ENOMEM;
	nl_cb_set(cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, any_sequence, NULL);
	code = nl_recvmsgs(nl->socket, cb);
	nl_cb_put(cb);
	switch (-code) {
	case 0:
		return 0;
	case NLE_AGAIN:
		return EAGAIN;
	case NLE_NOMEM:
		return ENOBUFS;
	default:
		return broken(nl, code);
	}
}
