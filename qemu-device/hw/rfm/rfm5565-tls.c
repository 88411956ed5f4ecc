// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TLS between a chardev and its link, with QEMU's credentials: the chardev
 * carries what is encrypted. Here rather than in the chardev, which has no
 * deadline for a handshake, does not say why one has failed, and does not tell
 * whose certificate it was.
 *
 * All of it runs in the main context, without the card's lock. A write may end
 * in the chardev's event that it was closed: so a session in use goes only
 * afterwards.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "chardev/char-socket.h"
#include "crypto/tlscreds.h"
#include "crypto/tlssession.h"
#include "rfm5565.h"

#define DEADLINE_MS  5000   /* of a handshake */

/* The TCP socket behind it, or NULL */
static SocketChardev *tcp_socket(const Rfm5565Port *port)
{
    SocketChardev *socket = (SocketChardev *)
        object_dynamic_cast(OBJECT(port->chr.chr), TYPE_CHARDEV_SOCKET);

    return socket && socket->addr &&
           socket->addr->type == SOCKET_ADDRESS_TYPE_INET ? socket : NULL;
}

static QCryptoTLSCredsEndpoint endpoint_of(const SocketChardev *socket)
{
    return socket->is_listen ? QCRYPTO_TLS_CREDS_ENDPOINT_SERVER
                             : QCRYPTO_TLS_CREDS_ENDPOINT_CLIENT;
}

/* --- a session and its chardev -------------------------------------------- */

static void let_go(Rfm5565Tls *tls)
{
    if (!tls->busy) {
        g_clear_pointer(&tls->session, qcrypto_tls_session_free);
    }
}

/* While it is used */
static void session_hold(Rfm5565Tls *tls)
{
    tls->busy++;
}

static void session_put(Rfm5565Tls *tls)
{
    tls->busy--;
    if (tls->closed) {
        let_go(tls);
    }
}

void rfm5565_tls_close(Rfm5565Port *port)
{
    Rfm5565Tls *tls = &port->tls;

    tls->closed = true;
    tls->ready = false;
    if (tls->deadline) {
        timer_del(tls->deadline);
    }
    let_go(tls);
}

static ssize_t pull(char *buf, size_t len, void *opaque, Error **errp)
{
    Rfm5565Tls *tls = &((Rfm5565Port *)opaque)->tls;
    size_t n = MIN(len, tls->in_left);

    if (!n) {
        return QCRYPTO_TLS_SESSION_ERR_BLOCK;
    }
    memcpy(buf, tls->in, n);
    tls->in += n;
    tls->in_left -= n;
    return n;
}

static ssize_t push(const char *buf, size_t len, void *opaque, Error **errp)
{
    Rfm5565Port *port = opaque;
    int n = qemu_chr_fe_write(&port->chr, (const uint8_t *)buf, len);

    if (n > 0) {
        return n;
    }
    if (port->open) {
        return QCRYPTO_TLS_SESSION_ERR_BLOCK;
    }
    error_setg(errp, "the connection is gone");
    return -1;
}

/* --- the handshake -------------------------------------------------------- */

static void drop(Rfm5565State *s, Rfm5565Port *port, const char *why)
{
    g_autofree char *sentence =
        g_strdup_printf("the %s neighbour %s: %s",
                        port == &s->tx ? "downstream" : "upstream",
                        port->tls.ready ? "is shown out" : "is not let in",
                        why);

    rfm5565_tls_close(port);
    /* Later: it may be its event that we are in. GnuTLS has so many words. */
    rfm5565_lock(s);
    rfm5565_link_disconnect(s, port, g_intern_string(sentence));
    rfm5565_update_and_unlock(s);
}

static void turn_away(Rfm5565State *s, Rfm5565Port *port,
                      enum rfm_link_refusal refusal, const char *why)
{
    struct rfm_link_self self = rfm_node_link_ops.self(&s->node);
    uint8_t message[RFM_LINK_MESSAGE];

    /* Who does not take it does not learn it. */
    rfm_link_refuse(message, refusal, &self);
    qcrypto_tls_session_write(port->tls.session, (const char *)message,
                              sizeof(message), NULL);
    drop(s, port, why);
}

/* Who is it? False: nobody who may stay. */
static bool check_peer(Rfm5565State *s, Rfm5565Port *port)
{
    Rfm5565Tls *tls = &port->tls;
    const struct rfm_permit *permit = NULL;
    g_autofree char *name = NULL;
    const char *why;
    Error *err = NULL;

    if (qcrypto_tls_session_check_credentials(tls->session, &err) < 0) {
        turn_away(s, port, RFM_REFUSE_UNTRUSTED, error_get_pretty(err));
        error_free(err);
        return false;
    }
    if (object_dynamic_cast(OBJECT(tls->creds), "tls-creds-x509")) {
        name = qcrypto_tls_session_get_peer_name(tls->session);
        why = rfm_permit_parse(&tls->permit, name ?: "");
        if (why) {
            turn_away(s, port, RFM_REFUSE_PERMIT, why);
            return false;
        }
        permit = &tls->permit;
    }
    rfm5565_lock(s);
    s->link_tx.permit = port == &s->tx ? permit : s->link_tx.permit;
    s->link_rx.permit = port == &s->rx ? permit : s->link_rx.permit;
    rfm5565_update_and_unlock(s);
    return true;
}

/* Go on with it as far as can be. */
static void shake_hands(Rfm5565State *s, Rfm5565Port *port)
{
    Rfm5565Tls *tls = &port->tls;
    Error *err = NULL;

    switch (qcrypto_tls_session_handshake(tls->session, &err)) {
    case QCRYPTO_TLS_HANDSHAKE_RECVING:
        return;
    case QCRYPTO_TLS_HANDSHAKE_SENDING:
        drop(s, port, "it does not take what the TLS handshake says");
        return;
    case QCRYPTO_TLS_HANDSHAKE_COMPLETE:
        if (!tls->closed && check_peer(s, port)) {
            timer_del(tls->deadline);
            tls->ready = true;
            rfm5565_link_secured(s, port);
        }
        return;
    default:
        drop(s, port, error_get_pretty(err));
        error_free(err);
    }
}

static void too_late(void *opaque)
{
    Rfm5565Port *port = opaque;

    drop(port->tls.card, port, "its TLS handshake takes too long");
}

void rfm5565_tls_open(Rfm5565State *s, Rfm5565Port *port)
{
    Rfm5565Tls *tls = &port->tls;
    SocketChardev *socket = tcp_socket(port);
    Error *err = NULL;

    tls->card = s;
    tls->closed = tls->ready = false;
    if (socket) {
        tls->session = qcrypto_tls_session_new(tls->creds,
                                               socket->is_listen ? NULL :
                                               socket->addr->u.inet.host,
                                               NULL, endpoint_of(socket), &err);
    } else {
        error_setg(&err, "TLS is for TCP sockets");
    }
    if (!tls->session) {
        drop(s, port, error_get_pretty(err));
        error_free(err);
        return;
    }
    if (!tls->deadline) {
        tls->deadline = timer_new_ms(QEMU_CLOCK_REALTIME, too_late, port);
    }
    timer_mod(tls->deadline,
              qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + DEADLINE_MS);
    qcrypto_tls_session_set_callbacks(tls->session, push, pull, port);
    session_hold(tls);
    shake_hands(s, port);
    session_put(tls);
}

/* --- what is said --------------------------------------------------------- */

void rfm5565_tls_received(Rfm5565State *s, Rfm5565Port *port,
                          const uint8_t *buf, int size)
{
    Rfm5565Tls *tls = &port->tls;
    uint8_t plain[RFM_LINK_BATCH];

    tls->in = buf;
    tls->in_left = size;
    session_hold(tls);
    if (!tls->closed && !tls->ready) {
        shake_hands(s, port);
    }
    while (!tls->closed && tls->ready) {
        Error *err = NULL;
        ssize_t n = qcrypto_tls_session_read(tls->session, (char *)plain,
                                             sizeof(plain), true, &err);

        if (n == QCRYPTO_TLS_SESSION_ERR_BLOCK) {
            break;
        }
        if (n > 0) {
            port->received(s, plain, n);
        } else if (n == 0) {
            rfm5565_tls_close(port);    /* and the chardev sees the end */
        } else {
            drop(s, port, error_get_pretty(err));
            error_free(err);
        }
    }
    session_put(tls);
    tls->in_left = 0;
}

/* As qemu_chr_fe_write(); with the same bytes again when it took none. */
int rfm5565_tls_write(Rfm5565Port *port, const uint8_t *buf, int len)
{
    Rfm5565Tls *tls = &port->tls;
    Error *err = NULL;
    ssize_t n;

    if (tls->closed || !tls->ready) {
        return -1;
    }
    session_hold(tls);
    n = qcrypto_tls_session_write(tls->session, (const char *)buf, len, &err);
    if (n == -1 && !tls->closed) {
        drop(tls->card, port, error_get_pretty(err));
    }
    error_free(err);
    session_put(tls);
    return n;
}

/* --- what is set ---------------------------------------------------------- */

static bool check_port(const Rfm5565Port *port, const char *which,
                       Error **errp)
{
    SocketChardev *socket = tcp_socket(port);
    QCryptoTLSCreds *creds = port->tls.creds;

    if (!creds) {
        return true;
    }
    if (!socket) {
        error_setg(errp, "rfm5565: %s-tls is for a TCP socket, and %s is none",
                   which, which);
        return false;
    }
    if (socket->tls_creds) {
        error_setg(errp, "rfm5565: %s-tls and the tls-creds of its chardev do "
                   "the same: use %s-tls", which, which);
        return false;
    }
    if (object_dynamic_cast(OBJECT(creds), "tls-creds-anon") ||
        !object_property_get_bool(OBJECT(creds), "verify-peer", &error_abort)) {
        error_setg(errp, "rfm5565: %s-tls needs credentials by which both ends "
                   "are known: tls-creds-x509 with verify-peer=on, or "
                   "tls-creds-psk", which);
        return false;
    }
    if (!qcrypto_tls_creds_check_endpoint(creds, endpoint_of(socket), errp)) {
        error_prepend(errp, "rfm5565: %s-tls: ", which);
        return false;
    }
    return true;
}

bool rfm5565_tls_check(Rfm5565State *s, Error **errp)
{
    return check_port(&s->rx, "rx", errp) && check_port(&s->tx, "tx", errp);
}

void rfm5565_tls_exit(Rfm5565Port *port)
{
    rfm5565_tls_close(port);
    g_clear_pointer(&port->tls.deadline, timer_free);
}

/* --- without it ----------------------------------------------------------- */

bool rfm5565_tls_is_missed(const Rfm5565Port *port)
{
    SocketChardev *socket = tcp_socket(port);
    const char *host = socket ? socket->addr->u.inet.host : NULL;

    return socket && socket->is_listen && !port->tls.creds &&
           !socket->tls_creds && host && !g_str_has_prefix(host, "127.") &&
           !g_str_equal(host, "::1") && !g_str_equal(host, "localhost");
}
