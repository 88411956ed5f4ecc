/* SPDX-License-Identifier: MIT */
/*
 * What a port asks of TLS. The ring itself needs no cryptography, and a program
 * with librfmring none of its libraries: who wants TLS brings it along, as rmnode
 * and rmhub do (tools/common/tls.h, with GnuTLS).
 */
#ifndef RFM_HOST_TLS_H
#define RFM_HOST_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/link.h"
#include "ring/permit.h"

#define RFM_TLS_SENTENCE	256

struct rfm_tls_session;

/**
 * struct rfm_tls_peer - what is known of the other side
 * @refusal: why it may not stay; RFM_REFUSE_NONE: it may
 * @why: in words, if it may not or the handshake failed
 * @named: its certificate names whom it may be, @permit; else, with a key that
 *	all share, it may be anybody
 */
struct rfm_tls_peer {
	enum rfm_link_refusal refusal;
	char why[RFM_TLS_SENTENCE];
	bool named;
	struct rfm_permit permit;
};

/**
 * struct rfm_tls - credentials, and how to use them
 * @open: a session on a connected socket, which stays the caller's. @server: of who
 *	listened; else @host is the host that was asked for. NULL: no memory
 * @handshake: go on with it. Returns 0 when it is over, and @peer is filled in; EPOLLIN or
 *	EPOLLOUT, what to wait for; -1 with @peer->why when it has failed
 * @receive: as recv(), with room for RFM_LINK_BATCH bytes: nothing stays behind
 *	that the socket does not show. EPROTO: TLS itself went wrong, as @trouble says
 * @send: as send(); after EAGAIN to be called with the same bytes again
 * @trouble: what TLS itself found wrong with the connection; NULL: nothing, however it ended
 * @close: NULL is nothing
 *
 * None of them waits.
 */
struct rfm_tls {
	struct rfm_tls_session *(*open)(struct rfm_tls *tls, int fd, bool server,
					const char *host);
	int (*handshake)(struct rfm_tls_session *session, struct rfm_tls_peer *peer);
	ssize_t (*receive)(struct rfm_tls_session *session, void *buf, size_t size);
	ssize_t (*send)(struct rfm_tls_session *session, const void *buf, size_t size);
	const char *(*trouble)(const struct rfm_tls_session *session);
	void (*close)(struct rfm_tls_session *session);
};

#endif
