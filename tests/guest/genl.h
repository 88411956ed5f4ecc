/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Generic netlink by hand, for tests that send what no library would: messages
 * are built and taken apart here byte by byte.
 */
#ifndef GENL_H
#define GENL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#define GENL_MAX	(128 * 1024)	/* bytes of what is sent and received */
#define GENL_ATTRS	(NLMSG_HDRLEN + GENL_HDRLEN)	/* where attributes begin */

/* A message, or whatever else its bytes are. */
struct genl {
	size_t len;
	uint8_t bytes[GENL_MAX] __attribute__((aligned(8)));
};

static inline struct nlmsghdr *genl_head(struct genl *genl)
{
	return (struct nlmsghdr *)genl->bytes;
}

static inline struct genlmsghdr *genl_genl(struct genl *genl)
{
	return (struct genlmsghdr *)(genl->bytes + NLMSG_HDRLEN);
}

static inline void genl_begin(struct genl *genl, uint16_t type, uint16_t flags,
			      uint8_t cmd)
{
	genl->len = GENL_ATTRS;
	memset(genl->bytes, 0, genl->len);
	*genl_head(genl) = (struct nlmsghdr){ .nlmsg_len = genl->len,
		.nlmsg_type = type, .nlmsg_flags = flags };
	*genl_genl(genl) = (struct genlmsghdr){ .cmd = cmd, .version = 1 };
}

/* An attribute at the end; false if there is no room. Sets the length of the message. */
static inline bool genl_put(struct genl *genl, uint16_t type, const void *data,
			    size_t len)
{
	struct nlattr attr = { .nla_len = NLA_HDRLEN + len, .nla_type = type };
	size_t whole = NLA_ALIGN(NLA_HDRLEN + len);

	if (genl->len + whole > GENL_MAX || len > UINT16_MAX - NLA_HDRLEN)
		return false;
	memset(genl->bytes + genl->len, 0, whole);
	memcpy(genl->bytes + genl->len, &attr, sizeof(attr));
	if (len)
		memcpy(genl->bytes + genl->len + NLA_HDRLEN, data, len);
	genl->len += whole;
	genl_head(genl)->nlmsg_len = genl->len;
	return true;
}

static inline bool genl_put_u32(struct genl *genl, uint16_t type, uint32_t value)
{
	return genl_put(genl, type, &value, sizeof(value));
}

static inline bool genl_put_u64(struct genl *genl, uint16_t type, uint64_t value)
{
	return genl_put(genl, type, &value, sizeof(value));
}

static inline bool genl_put_u8(struct genl *genl, uint16_t type, uint8_t value)
{
	return genl_put(genl, type, &value, sizeof(value));
}

/* Returns where the nest begins, for genl_nest_end(). */
static inline size_t genl_nest(struct genl *genl, uint16_t type)
{
	size_t at = genl->len;

	genl_put(genl, type | NLA_F_NESTED, NULL, 0);
	return at;
}

static inline void genl_nest_end(struct genl *genl, size_t at)
{
	((struct nlattr *)(genl->bytes + at))->nla_len = genl->len - at;
}

/*
 * The attribute at *@at, which is moved behind it; NULL at the end, or if what
 * is there is none: then *@at is not @end.
 */
static inline const struct nlattr *genl_next(const uint8_t **at, const uint8_t *end)
{
	const struct nlattr *attr = (const void *)*at;
	size_t left = end - *at, whole;

	if (left < NLA_HDRLEN || attr->nla_len < NLA_HDRLEN || attr->nla_len > left)
		return NULL;
	whole = NLA_ALIGN(attr->nla_len);
	*at += whole < left ? whole : left;
	return attr;
}

static inline uint16_t genl_type(const struct nlattr *attr)
{
	return attr->nla_type & NLA_TYPE_MASK;
}

static inline size_t genl_len(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

static inline const uint8_t *genl_data(const struct nlattr *attr)
{
	return (const uint8_t *)attr + NLA_HDRLEN;
}

/* The last of that type, as the kernel has it; NULL if there is none. */
static inline const struct nlattr *genl_find(const uint8_t *at, const uint8_t *end,
					     uint16_t type)
{
	const struct nlattr *attr, *found = NULL;

	while ((attr = genl_next(&at, end)))
		if (genl_type(attr) == type)
			found = attr;
	return found;
}

/* Its value as a number; 0 without. */
static inline uint64_t genl_number(const struct nlattr *attr)
{
	uint64_t value = 0;

	if (attr && genl_len(attr) <= sizeof(value))
		memcpy(&value, genl_data(attr), genl_len(attr));
	return value;
}

static inline uint64_t genl_find_number(const struct nlmsghdr *head, uint16_t type)
{
	const uint8_t *begin = (const uint8_t *)head;

	return genl_number(genl_find(begin + GENL_ATTRS, begin + head->nlmsg_len, type));
}

/* A socket that is told what is wrong with a message; -1 if it cannot be had. */
static inline int genl_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	struct sockaddr_nl address = { .nl_family = AF_NETLINK };
	int on = 1;

	if (fd >= 0 && (bind(fd, (void *)&address, sizeof(address)) ||
			setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static inline bool genl_send(int fd, const struct genl *genl)
{
	return send(fd, genl->bytes, genl->len, 0) == (ssize_t)genl->len;
}

/* One datagram, at most @room bytes of it; its length, or -1 with errno. */
static inline ssize_t genl_recv(int fd, struct genl *genl, size_t room, int flags)
{
	ssize_t len = recv(fd, genl->bytes, room, flags);

	genl->len = len > 0 ? len : 0;
	return len;
}

/* The message at *@at of a datagram, which is moved behind it; NULL at the end. */
static inline const struct nlmsghdr *genl_message(const struct genl *genl, size_t *at)
{
	const struct nlmsghdr *head = (const void *)(genl->bytes + *at);

	if (genl->len - *at < NLMSG_HDRLEN || head->nlmsg_len < NLMSG_HDRLEN ||
	    head->nlmsg_len > genl->len - *at)
		return NULL;
	*at += NLMSG_ALIGN(head->nlmsg_len) < genl->len - *at ?
	       NLMSG_ALIGN(head->nlmsg_len) : genl->len - *at;
	return head;
}

/* What the acknowledgement @head says beside its number; NULL if it has no words. */
static inline const char *genl_sentence(const struct nlmsghdr *head)
{
	const struct nlmsgerr *error = (const void *)((const uint8_t *)head + NLMSG_HDRLEN);
	const uint8_t *at = (const uint8_t *)error, *end = (const uint8_t *)head + head->nlmsg_len;
	const struct nlattr *attr;

	if (!(head->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (head->nlmsg_type == NLMSG_DONE)
		at += sizeof(int);
	else if (head->nlmsg_flags & NLM_F_CAPPED)
		at += sizeof(*error);
	else
		at += sizeof(*error) + NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN;
	attr = at < end ? genl_find(at, end, NLMSGERR_ATTR_MSG) : NULL;
	if (!attr || !genl_len(attr) || genl_data(attr)[genl_len(attr) - 1])
		return NULL;
	return (const char *)genl_data(attr);
}

/* The family's number and that of its group @group; false if there is no such family. */
static inline bool genl_family(int fd, const char *name, const char *group,
			       uint16_t *family, uint32_t *number)
{
	static struct genl genl;
	const struct nlattr *groups, *one, *title;
	const struct nlmsghdr *head;
	const uint8_t *at, *end;
	size_t from = 0;

	genl_begin(&genl, GENL_ID_CTRL, NLM_F_REQUEST, CTRL_CMD_GETFAMILY);
	genl_put(&genl, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	if (!genl_send(fd, &genl) || genl_recv(fd, &genl, GENL_MAX, 0) < 0)
		return false;
	head = genl_message(&genl, &from);
	if (!head || head->nlmsg_type != GENL_ID_CTRL)
		return false;
	*family = genl_find_number(head, CTRL_ATTR_FAMILY_ID);
	*number = 0;
	end = (const uint8_t *)head + head->nlmsg_len;
	groups = genl_find((const uint8_t *)head + GENL_ATTRS, end, CTRL_ATTR_MCAST_GROUPS);
	if (!groups)
		return *family;
	for (at = genl_data(groups), end = at + genl_len(groups); (one = genl_next(&at, end));) {
		const uint8_t *inner = genl_data(one), *inner_end = inner + genl_len(one);

		title = genl_find(inner, inner_end, CTRL_ATTR_MCAST_GRP_NAME);
		if (title && !strcmp((const char *)genl_data(title), group))
			*number = genl_number(genl_find(inner, inner_end, CTRL_ATTR_MCAST_GRP_ID));
	}
	return *family;
}

#endif /* GENL_H */
