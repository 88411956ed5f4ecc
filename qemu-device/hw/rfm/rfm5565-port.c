// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ports at which the guest listens. A message is taken only if somebody waits
 * to receive it, so that none waits here. All of it is under the lock.
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "rfm5565.h"

/*
 * Bytes of messages that the guest has not been told of, beyond which no other
 * is let in. They are apart from those of its own requests: two nodes that send
 * to each other as much as they can would else both wait for the other.
 */
#define RECEIVED_MAX    (32 * MiB)

static Rfm5565Mailbox *open_mailbox(Rfm5565State *s, uint32_t port)
{
    for (unsigned i = 0; i < RFM_EXT_PORTS; i++) {
        Rfm5565Mailbox *mailbox = &s->remote.mailboxes[i];

        if (mailbox->open && mailbox->port == port) {
            return mailbox;
        }
    }
    return NULL;
}

int rfm5565_port_room(void *opaque, uint32_t port)
{
    const Rfm5565Mailbox *mailbox = open_mailbox(opaque, port);
    const Rfm5565State *s = opaque;
    const Rfm5565Request *r;
    int room = 0;

    if (!mailbox) {
        return -1;
    }
    if (s->remote.received > RECEIVED_MAX) {
        return 0;
    }
    QTAILQ_FOREACH(r, &mailbox->receivers, next) {
        room++;
    }
    return room;
}

enum rfm_remote_result rfm5565_message(void *opaque, uint32_t port,
                                       uint8_t from, void *data,
                                       uint32_t length)
{
    Rfm5565Mailbox *mailbox = open_mailbox(opaque, port);
    Rfm5565State *s = opaque;
    Rfm5565Request *r;

    if (!mailbox) {
        return RFM_REMOTE_CLOSED;
    }
    r = QTAILQ_FIRST(&mailbox->receivers);
    if (!r) {
        return RFM_REMOTE_WITHDRAWN;
    }
    if (length > le32_to_cpu(r->wire.length)) {
        return RFM_REMOTE_TOO_LONG;
    }
    QTAILQ_REMOVE(&mailbox->receivers, r, next);
    r->data = data;             /* g_free() is free() */
    r->old = r->received = length;
    s->remote.received += length;
    r->node = from;
    rfm5565_request_end(r, RFM_REQUEST_OK);
    return RFM_REMOTE_OK;
}

enum rfm_ext_request_result rfm5565_port_listen(Rfm5565State *s, uint32_t port)
{
    if (open_mailbox(s, port)) {
        return RFM_REQUEST_IN_USE;
    }
    for (unsigned i = 0; i < RFM_EXT_PORTS; i++) {
        Rfm5565Mailbox *mailbox = &s->remote.mailboxes[i];

        if (!mailbox->open) {
            mailbox->open = true;
            mailbox->port = port;
            return RFM_REQUEST_OK;
        }
    }
    return RFM_REQUEST_FULL;
}

enum rfm_ext_request_result rfm5565_port_unlisten(Rfm5565State *s,
                                                  uint32_t port)
{
    Rfm5565Mailbox *mailbox = open_mailbox(s, port);
    Rfm5565Request *r;

    if (!mailbox) {
        return RFM_REQUEST_CLOSED;
    }
    while ((r = QTAILQ_FIRST(&mailbox->receivers))) {
        QTAILQ_REMOVE(&mailbox->receivers, r, next);
        rfm5565_request_end(r, RFM_REQUEST_CLOSED);
    }
    mailbox->open = false;
    s->remote.engine.ops->wake(s);      /* who sends to it from here */
    return RFM_REQUEST_OK;
}

/* It waits there from now on. Returns false if nobody listens. */
bool rfm5565_port_receive(Rfm5565Request *r, uint32_t port)
{
    Rfm5565Mailbox *mailbox = open_mailbox(r->card, port);

    if (!mailbox) {
        return false;
    }
    QTAILQ_INSERT_TAIL(&mailbox->receivers, r, next);
    r->card->remote.engine.ops->wake(r->card);
    return true;
}

/* No more. */
void rfm5565_port_forget(Rfm5565Request *r)
{
    Rfm5565Mailbox *mailbox = open_mailbox(r->card, le32_to_cpu(r->wire.key));

    QTAILQ_REMOVE(&mailbox->receivers, r, next);
}

void rfm5565_ports_clear(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_PORTS; i++) {
        s->remote.mailboxes[i].open = false;
        QTAILQ_INIT(&s->remote.mailboxes[i].receivers);
    }
}

/* --- migration ------------------------------------------------------------ */

void rfm5565_ports_saving(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_PORTS; i++) {
        const Rfm5565Mailbox *mailbox = &s->remote.mailboxes[i];

        s->remote.saved.ports[i] = mailbox->open ? mailbox->port + 1 : 0;
    }
}

/* Returns false if they cannot be. */
bool rfm5565_ports_loaded(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_PORTS; i++) {
        uint32_t saved = s->remote.saved.ports[i];

        if (saved &&
            (s->remote.status != RFM_EXT_REQUEST_RUNNING ||
             saved - 1 > RFM5565_PORT_MAX ||
             rfm5565_port_listen(s, saved - 1) != RFM_REQUEST_OK)) {
            return false;
        }
    }
    return true;
}
