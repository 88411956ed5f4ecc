/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations at one node: docs/extension.md is the reference of the registers,
 * ring/remote.h of what happens on the ring.
 *
 *   rfm5565-remote.c    packets, what others may do here, when all that runs
 *   rfm5565-request.c   the request table: what the guest asks for
 *   rfm5565-port.c      ports, and messages that come there
 *   rfm5565-region.c    pages of the guest, and regions of them
 *
 * The ring's part runs in a turn of the engine, under the lock. It is one more
 * producer: see rfm5565_producer_lock(). The guest's memory is touched under
 * the BQL only, and without the lock: what is written was
 * read from it before, what was read is written to it afterwards. So once a
 * register has been written that ends something, no memory of it is touched.
 */
#ifndef HW_RFM_RFM5565_REMOTE_H
#define HW_RFM_RFM5565_REMOTE_H

#include "qemu/queue.h"
#include "hw/pci/pci_device.h"
#include "migration/vmstate.h"
#include "ring/remote.h"
#include "ring/resync.h"
#include "driver/hw/regs.h"

typedef struct Rfm5565State Rfm5565State;

typedef enum Rfm5565RequestState {
    RFM5565_REQUEST_IDLE,
    RFM5565_REQUEST_BEGUN,      /* by the guest: to be looked at */
    RFM5565_REQUEST_WAITING,    /* for memory */
    RFM5565_REQUEST_ASKED,      /* on the ring */
    RFM5565_REQUEST_RECEIVING,  /* at a port */
    RFM5565_REQUEST_ENDED,      /* the guest is to be told */
} Rfm5565RequestState;

/* A slot of the table. */
typedef struct Rfm5565Request {
    struct rfm_remote_request ask;  /* the first: done() gets its address */
    Rfm5565State *card;
    Rfm5565RequestState state;
    QTAILQ_ENTRY(Rfm5565Request) next;  /* in the queue of that state */
    uint32_t behind;            /* scan of the burst range that it awaits */
    uint32_t result;
    uint64_t old;               /* out, as the next one */
    uint8_t node;
    struct rfm_resync *resync;
    uint8_t *data;              /* what comes from the guest, or goes there */
    uint32_t received;          /* bytes of @data that are a message */
    /* (BQL) */
    bool is_read;               /* @wire is what the guest has asked for */
    struct rfm_ext_request wire;
    uint64_t *pages;            /* of the guest */
    uint32_t bounced;           /* bytes of @data that it has asked for */
} Rfm5565Request;

typedef QTAILQ_HEAD(, Rfm5565Request) Rfm5565RequestQueue;

/* A port at which the guest listens. */
typedef struct Rfm5565Mailbox {
    bool open;
    uint32_t port;
    Rfm5565RequestQueue receivers;
} Rfm5565Mailbox;

/* Pages of the guest that others may reach by a key. */
typedef struct Rfm5565Region {
    uint64_t *pages;            /* NULL: none */
    uint32_t key;
    uint32_t length;
    uint32_t flags;
} Rfm5565Region;

/* Those of the counters that are of all this */
#define RFM5565_REMOTE_COUNTER_FIRST RFM_COUNTER_PACKETS
#define RFM5565_REMOTE_COUNTERS (RFM_COUNTER_RESYNC_BYTES + 1 - \
                                 RFM5565_REMOTE_COUNTER_FIRST)

typedef struct Rfm5565Remote {
    struct rfm_remote engine;

    /* When it runs */
    QEMUBH *bh;                 /* in @ctx, as the next one */
    QEMUTimer *timer;
    QEMUBH *main_bh;            /* main context */
    bool visited;               /* by a CPU, which does all there is, */
    bool rung;                  /* and meanwhile there is more */
    bool wants_turn;            /* the main context must let it send first */
    bool wants_room;            /* on the ring */
    uint64_t woken_ns;          /* last */
    uint64_t next_ns;           /* when it has to run; UINT64_MAX: if woken */
    uint8_t writer;             /* who changes the memory now */

    /* Registers */
    uint64_t base;
    uint32_t control;
    uint32_t status;

    /* The table, from when it was enabled; changed under both locks */
    uint64_t table;
    Rfm5565Request *requests;
    Rfm5565RequestQueue begun;
    Rfm5565RequestQueue waiting;
    Rfm5565RequestQueue ended;
    Rfm5565Request *resync;     /* the one that is under way */
    struct rfm_auto_resync auto_resync;
    Rfm5565Mailbox mailboxes[RFM_EXT_PORTS];
    Rfm5565Region regions[RFM_EXT_REGIONS];
    unsigned pending;           /* whose end comes by itself, and is told */
    uint32_t bounced;           /* bytes, of all requests */
    uint32_t received;          /* of messages that have come, likewise */

    /* Counters */
    uint64_t requests_ended;
    uint64_t requests_failed;
    uint64_t resync_bytes;
    uint64_t counted_before[RFM5565_REMOTE_COUNTERS];   /* somewhere else */

    struct {                    /* (BQL) what a saved state says of */
        uint32_t busy[RFM_EXT_REQUESTS / 32];   /* slots under way, */
        uint32_t ports[RFM_EXT_PORTS];  /* ports, each plus 1, */
        uint64_t counted[RFM5565_REMOTE_COUNTERS];
    } saved;
} Rfm5565Remote;

/* rfm5565-remote.c */
void rfm5565_remote_init(Rfm5565State *s);
void rfm5565_remote_abort(Rfm5565State *s);
void rfm5565_remote_stop(Rfm5565State *s);
void rfm5565_remote_exit(Rfm5565State *s);
void rfm5565_remote_loading(Rfm5565State *s);
void rfm5565_remote_stopped(Rfm5565State *s);
void rfm5565_remote_go_on(Rfm5565State *s);
void rfm5565_remote_tick(Rfm5565State *s, uint64_t now);
void rfm5565_remote_begun(Rfm5565State *s);
void rfm5565_remote_look(Rfm5565State *s);
void rfm5565_remote_check_room(Rfm5565State *s);
void rfm5565_remote_packet_end(Rfm5565State *s, uint64_t cookie,
                               enum rfm_packet_fate fate);
void rfm5565_remote_packet_room(Rfm5565State *s);
bool rfm5565_remote_take(Rfm5565State *s, const struct rfm_packet *packet,
                         const uint8_t *data);
void rfm5565_remote_packet(Rfm5565State *s, const struct rfm_packet *packet,
                           const uint8_t *data);
void rfm5565_remote_count(const Rfm5565State *s, uint64_t *counter);

/* rfm5565-request.c */
void rfm5565_requests_init(Rfm5565State *s);
void rfm5565_requests_exit(Rfm5565State *s);
void rfm5565_requests_control(Rfm5565State *s, uint32_t value);
void rfm5565_requests_begin(Rfm5565State *s, uint32_t slot);
void rfm5565_requests_go_on(Rfm5565State *s);
void rfm5565_requests_cancel(Rfm5565State *s, uint32_t slot);
void rfm5565_requests_disable(Rfm5565State *s);
void rfm5565_requests_look(Rfm5565State *s);
void rfm5565_requests_start(Rfm5565State *s);
bool rfm5565_requests_run(Rfm5565State *s);
void rfm5565_requests_stopped(Rfm5565State *s);
void rfm5565_requests_saving(Rfm5565State *s);
bool rfm5565_requests_loaded(Rfm5565State *s);
void rfm5565_request_end(Rfm5565Request *r, uint32_t result);

/* rfm5565-port.c */
#define RFM5565_PORT_MAX UINT16_MAX
enum rfm_ext_request_result rfm5565_port_listen(Rfm5565State *s, uint32_t port);
enum rfm_ext_request_result rfm5565_port_unlisten(Rfm5565State *s,
                                                  uint32_t port);
bool rfm5565_port_receive(Rfm5565Request *r, uint32_t port);
void rfm5565_port_forget(Rfm5565Request *r);
void rfm5565_ports_clear(Rfm5565State *s);
void rfm5565_ports_saving(Rfm5565State *s);
bool rfm5565_ports_loaded(Rfm5565State *s);
int rfm5565_port_room(void *opaque, uint32_t port);
enum rfm_remote_result rfm5565_message(void *opaque, uint32_t port,
                                       uint8_t from, void *data,
                                       uint32_t length);

/* rfm5565-region.c */
bool rfm5565_guest_rw(Rfm5565State *s, uint64_t address, void *data,
                      uint64_t len, DMADirection direction);
enum rfm_ext_request_result rfm5565_pages_read(Rfm5565State *s, uint64_t list,
                                               uint32_t length,
                                               uint64_t **pages, bool *fault);
bool rfm5565_pages_rw(Rfm5565State *s, const uint64_t *pages, uint32_t offset,
                      void *data, uint32_t len, DMADirection direction);
enum rfm_ext_request_result rfm5565_region_add(Rfm5565State *s,
                                               const Rfm5565Region *region);
enum rfm_ext_request_result rfm5565_region_revoke(Rfm5565State *s,
                                                  uint32_t key);
void rfm5565_regions_clear(Rfm5565State *s);
bool rfm5565_regions_are_any(const Rfm5565State *s);
enum rfm_remote_result rfm5565_region_check(const Rfm5565State *s,
                                            enum rfm_remote_access access,
                                            uint32_t key, uint64_t offset,
                                            uint32_t length);
enum rfm_remote_result rfm5565_region_do(Rfm5565State *s, uint8_t from,
                                         const struct rfm_remote_request *ask,
                                         uint64_t *old);
bool rfm5565_regions_serve(Rfm5565State *s);
extern const VMStateInfo rfm5565_info_regions;

#endif
