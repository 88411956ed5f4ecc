// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The request table: operations at one node that the guest asks for, messages
 * that it receives, and regions that others may reach.
 *
 *   BEGIN -> begun -> start() -> the ring, or a port -> ended -> tell()
 *           (lock)    (BQL)             (lock)          (lock)   (BQL)
 *                    ^    |
 *                   waiting      for memory, while others are started
 *                    (lock)
 *
 * Every slot that is not IDLE is in one of these places. What needs the BQL the
 * main context does; of what is short also a CPU: its doorbell starts one
 * request, and when it looks for ends it is told.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "hw/pci/pci.h"
#include "rfm5565.h"
#include "trace.h"

#define BOUNCED_MAX     (32 * MiB)  /* data of all that is asked for, but */
#define SMALL           4096        /* of this, which is 1 MiB in all slots */
#define TABLE_SIZE      (RFM_EXT_REQUESTS * sizeof(struct rfm_ext_request))
#define SLOTS_PER_RUN   32          /* before others have their turn */
#define BYTES_PER_RUN   (4 * MiB)

/* What start() says beside an enum rfm_ext_request_result */
#define UNDER_WAY       0x10000u
#define MUST_WAIT       0x10001u
#define FAULT           0x10002u

static unsigned slot_of(const Rfm5565Request *r)
{
    return r - r->card->remote.requests;
}

/* --- queues: under the lock ----------------------------------------------- */

/* Does the guest wait for its end, and will that come by itself? */
static bool is_pending(Rfm5565RequestState state)
{
    return state != RFM5565_REQUEST_IDLE && state != RFM5565_REQUEST_RECEIVING;
}

static void set_state(Rfm5565Request *r, Rfm5565RequestState state)
{
    r->card->remote.pending += is_pending(state) - is_pending(r->state);
    r->state = state;
}

void rfm5565_request_end(Rfm5565Request *r, uint32_t result)
{
    Rfm5565Remote *remote = &r->card->remote;

    set_state(r, RFM5565_REQUEST_ENDED);
    r->result = result;
    QTAILQ_INSERT_TAIL(&remote->ended, r, next);
    if (!remote->visited) {
        qemu_bh_schedule(remote->main_bh);
    }
}

/* Nobody gets to it any more. Its memory stays until it is told, or dropped. */
static void stop_request(Rfm5565Request *r)
{
    Rfm5565Remote *remote = &r->card->remote;

    switch (r->state) {
    case RFM5565_REQUEST_BEGUN:
        QTAILQ_REMOVE(&remote->begun, r, next);
        rfm5565_request_end(r, RFM_REQUEST_CANCELLED);
        break;
    case RFM5565_REQUEST_WAITING:
        QTAILQ_REMOVE(&remote->waiting, r, next);
        rfm5565_request_end(r, RFM_REQUEST_CANCELLED);
        break;
    case RFM5565_REQUEST_ASKED:
        if (r->resync) {
            rfm_resync_cancel(r->resync);
        } else {
            rfm_remote_cancel(&remote->engine, &r->ask);
        }
        break;
    case RFM5565_REQUEST_RECEIVING:
        rfm5565_port_forget(r);
        rfm5565_request_end(r, RFM_REQUEST_CANCELLED);
        break;
    default:
        break;
    }
}

/* It may be begun again. */
static void release_request(Rfm5565Request *r)
{
    Rfm5565Remote *remote = &r->card->remote;

    if (remote->resync == r) {
        remote->resync = NULL;
    }
    remote->bounced -= r->bounced;
    remote->received -= r->received;
    set_state(r, RFM5565_REQUEST_IDLE);
    g_free(r->resync);
    g_free(r->data);
    g_free(r->pages);
    *r = (Rfm5565Request) { .card = r->card };
}

static void clear_queues(Rfm5565State *s)
{
    QTAILQ_INIT(&s->remote.begun);
    QTAILQ_INIT(&s->remote.waiting);
    QTAILQ_INIT(&s->remote.ended);
    rfm5565_ports_clear(s);
}

/* Under both locks. All ends without a word. */
void rfm5565_requests_disable(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;

    for (unsigned i = 0; i < RFM_EXT_REQUESTS; i++) {
        stop_request(&remote->requests[i]);
    }
    clear_queues(s);
    for (unsigned i = 0; i < RFM_EXT_REQUESTS; i++) {
        release_request(&remote->requests[i]);
    }
    rfm5565_regions_clear(s);
    remote->status = 0;
}

static void request_fault(Rfm5565State *s)
{
    trace_rfm5565_request_fault(s->node_id, s->remote.table);
    rfm5565_requests_disable(s);
    s->remote.status = RFM_EXT_REQUEST_FAULT;
    s->ext.causes |= BIT(RFM_VECTOR_DMA) | BIT(RFM_VECTOR_ERRORS);
    rfm5565_events_schedule(s);
}

/* --- registers: under both locks ------------------------------------------ */

static bool can_be_table(uint64_t address)
{
    return !(address % sizeof(struct rfm_ext_request)) &&
           address <= UINT64_MAX - TABLE_SIZE;
}

void rfm5565_requests_control(Rfm5565State *s, uint32_t value)
{
    Rfm5565Remote *remote = &s->remote;
    uint32_t on = value & RFM_EXT_REQUEST_ENABLE;

    if (on == remote->control) {
        return;
    }
    remote->control = on;
    if (!on) {
        rfm5565_requests_disable(s);
        return;
    }
    remote->table = remote->base;
    remote->status = RFM_EXT_REQUEST_RUNNING;
    if (!can_be_table(remote->base)) {
        rfm5565_guest_error(s, "no table of requests can be at 0x%" PRIx64,
                            remote->base);
        request_fault(s);
    }
}

static Rfm5565Request *running_slot(Rfm5565State *s, uint32_t slot,
                                    const char *what)
{
    if (slot >= RFM_EXT_REQUESTS ||
        s->remote.status != RFM_EXT_REQUEST_RUNNING) {
        rfm5565_guest_error(s, "%s of request %u", what, slot);
        return NULL;
    }
    return &s->remote.requests[slot];
}

void rfm5565_requests_begin(Rfm5565State *s, uint32_t slot)
{
    Rfm5565Request *r = running_slot(s, slot, "BEGIN");

    if (r && r->state == RFM5565_REQUEST_IDLE) {
        set_state(r, RFM5565_REQUEST_BEGUN);
        r->behind = rfm5565_burst_ask(s);
        QTAILQ_INSERT_TAIL(&s->remote.begun, r, next);
    }
}

/* A scan of the burst range has ended. */
void rfm5565_requests_go_on(Rfm5565State *s)
{
    if (!QTAILQ_EMPTY(&s->remote.begun)) {
        qemu_bh_schedule(s->remote.main_bh);
    }
}

void rfm5565_requests_cancel(Rfm5565State *s, uint32_t slot)
{
    Rfm5565Request *r = running_slot(s, slot, "CANCEL");

    if (r) {
        stop_request(r);
    }
}

/* --- how the ring ends them: under the lock ------------------------------- */

static const uint8_t results[RFM_REMOTE_RESULTS] = {
    [RFM_REMOTE_OK]         = RFM_REQUEST_OK,
    [RFM_REMOTE_DENIED]     = RFM_REQUEST_DENIED,
    [RFM_REMOTE_RANGE]      = RFM_REQUEST_RANGE,
    [RFM_REMOTE_NOT_HOME]   = RFM_REQUEST_NOT_HOME,
    [RFM_REMOTE_RESTARTED]  = RFM_REQUEST_UNKNOWN,
    [RFM_REMOTE_INVALID]    = RFM_REQUEST_INVALID,
    [RFM_REMOTE_INCOMPLETE] = RFM_REQUEST_INCOMPLETE,
    [RFM_REMOTE_CLOSED]     = RFM_REQUEST_CLOSED,
    [RFM_REMOTE_TOO_LONG]   = RFM_REQUEST_TOO_LONG,
    [RFM_REMOTE_WITHDRAWN]  = RFM_REQUEST_NO_ROOM,
    [RFM_REMOTE_NO_NODE]    = RFM_REQUEST_NO_NODE,
    [RFM_REMOTE_NO_ROOM]    = RFM_REQUEST_NO_ROOM,
    [RFM_REMOTE_UNKNOWN]    = RFM_REQUEST_UNKNOWN,
    [RFM_REMOTE_DARK]       = RFM_REQUEST_DARK,
    [RFM_REMOTE_CANCELLED]  = RFM_REQUEST_CANCELLED,
};

/* What another node has said may be anything. */
static uint32_t result_of(const Rfm5565State *s, enum rfm_remote_result result)
{
    bool dark = atomic_load_explicit(&s->node.insert.offline,
                                     memory_order_relaxed);

    if (result == RFM_REMOTE_NO_NODE && dark) {
        return RFM_REQUEST_DARK;    /* the others have gone with the light */
    }
    if (result >= RFM_REMOTE_RESULTS ||
        (result != RFM_REMOTE_OK && !results[result])) {
        return RFM_REQUEST_UNKNOWN;
    }
    return results[result];
}

static void on_request_done(struct rfm_remote_request *ask)
{
    Rfm5565Request *r = container_of(ask, Rfm5565Request, ask);

    r->old = ask->old;
    rfm5565_request_end(r, result_of(r->card, ask->result));
}

static bool is_anybody_there(const Rfm5565State *s)
{
    for (unsigned id = 0; id < RFM_RING_NODES; id++) {
        if (id != s->node_id && s->node.sources[id].present) {
            return true;
        }
    }
    return false;
}

static void resync_ended(struct rfm_resync *resync)
{
    Rfm5565State *s = container_of(resync->remote, Rfm5565State, remote.engine);
    Rfm5565Request *r = s->remote.resync;
    uint32_t result = result_of(s, resync->result);

    if (result == RFM_REQUEST_OK && resync->doubtful) {
        result = RFM_REQUEST_DOUBTFUL;
    }
    if (result == RFM_REQUEST_NO_NODE && r->wire.flags && is_anybody_there(s)) {
        result = RFM_REQUEST_INCOMPLETE;
    }
    s->remote.resync_bytes += resync->finished;
    s->remote.resync = NULL;
    r->old = resync->finished;
    r->node = resync->donor;
    rfm5565_request_end(r, result);
}

/* --- starting: under the BQL ---------------------------------------------- */

static bool is_of_bytes(const Rfm5565Request *r)
{
    uint32_t length = le32_to_cpu(r->wire.length);

    return length && length <= RFM_EXT_REQUEST_MAX;
}

static uint32_t read_pages(Rfm5565Request *r)
{
    enum rfm_ext_request_result result;
    bool faulty;

    result = rfm5565_pages_read(r->card, le64_to_cpu(r->wire.pages),
                                le32_to_cpu(r->wire.length), &r->pages,
                                &faulty);
    return faulty ? FAULT : result;
}

/* A guest gets so much of the host's memory, and no more. */
static bool has_bounce(const Rfm5565Request *r)
{
    uint32_t length = le32_to_cpu(r->wire.length);

    return length <= SMALL || r->card->remote.bounced + length <= BOUNCED_MAX;
}

/*
 * Room for the data, for which all that need much queue up; so do messages, as
 * they stay in their order.
 */
static uint32_t get_bounce(Rfm5565Request *r)
{
    Rfm5565Remote *remote = &r->card->remote;
    uint32_t length = le32_to_cpu(r->wire.length);
    bool is_next = r->state == RFM5565_REQUEST_WAITING ||
                   QTAILQ_EMPTY(&remote->waiting);

    if (is_next ? !has_bounce(r)
                : length > SMALL || r->wire.op == RFM_REQUEST_SEND) {
        return MUST_WAIT;
    }
    r->bounced = length;
    r->data = g_malloc(r->bounced);
    remote->bounced += r->bounced;
    return RFM_REQUEST_OK;
}

static uint32_t ask_ring(Rfm5565Request *r)
{
    const struct rfm_ext_request *wire = &r->wire;
    Rfm5565State *s = r->card;

    r->ask = (struct rfm_remote_request) {
        .op = (enum rfm_remote_op)wire->op,
        .node = wire->node,
        .width = wire->width,
        .key = le32_to_cpu(wire->key),
        .offset = le64_to_cpu(wire->offset),
        .length = le32_to_cpu(wire->length),
        .data = r->data,
        .compare = le64_to_cpu(wire->compare),
        .value = le64_to_cpu(wire->value),
        .done = on_request_done,
    };
    if (r->ask.op != RFM_REMOTE_SEND && r->ask.key &&
        r->ask.node == s->node_id) {
        return result_of(s, rfm5565_region_do(s, s->node_id, &r->ask, &r->old));
    }
    rfm5565_lock(s);
    set_state(r, RFM5565_REQUEST_ASKED);
    rfm_remote_ask(&s->remote.engine, &r->ask, rfm5565_now());
    rfm5565_update_and_unlock(s);
    return UNDER_WAY;
}

static uint32_t start_data(Rfm5565Request *r)
{
    uint32_t result;

    if (!is_of_bytes(r)) {
        return RFM_REQUEST_INVALID;
    }
    result = get_bounce(r);
    if (result == RFM_REQUEST_OK) {
        result = read_pages(r);
    }
    if (result != RFM_REQUEST_OK) {
        return result;
    }
    if (r->wire.op != RFM_REQUEST_READ &&
        !rfm5565_pages_rw(r->card, r->pages, 0, r->data, r->bounced,
                          DMA_DIRECTION_TO_DEVICE)) {
        return FAULT;
    }
    return ask_ring(r);
}

static uint32_t start_send(Rfm5565Request *r)
{
    return le32_to_cpu(r->wire.key) > RFM5565_PORT_MAX ? RFM_REQUEST_INVALID
                                               : start_data(r);
}

static uint32_t start_word(Rfm5565Request *r)
{
    return r->wire.width == 4 || r->wire.width == 8 ? ask_ring(r)
                                                    : RFM_REQUEST_INVALID;
}

static uint32_t start_merge(Rfm5565Request *r)
{
    uint64_t offset = le64_to_cpu(r->wire.offset), size = r->card->memory_size;
    uint32_t result;

    if (!is_of_bytes(r) || r->wire.key || r->wire.node == r->card->node_id ||
        offset > size || le32_to_cpu(r->wire.length) > size - offset) {
        return RFM_REQUEST_INVALID;
    }
    result = get_bounce(r);
    return result == RFM_REQUEST_OK ? ask_ring(r) : result;
}

static uint32_t start_resync(Rfm5565Request *r)
{
    Rfm5565State *s = r->card;
    bool nearest = r->wire.flags;

    if (r->wire.flags > 1) {
        return RFM_REQUEST_INVALID;
    }
    if (s->remote.resync || s->remote.auto_resync.resync) {
        return RFM_REQUEST_IN_USE;
    }
    r->resync = g_new0(struct rfm_resync, 1);
    r->resync->done = resync_ended;
    r->resync->donor = r->wire.node;
    r->resync->last = s->memory_size - 1;
    rfm5565_lock(s);
    set_state(r, RFM5565_REQUEST_ASKED);
    s->remote.resync = r;
    rfm_resync_begin(r->resync, &s->remote.engine,
                     nearest ? RFM_RESYNC_NEAREST : r->wire.node,
                     rfm5565_now());
    rfm5565_update_and_unlock(s);
    return UNDER_WAY;
}

static uint32_t receive_at(Rfm5565Request *r, uint32_t port)
{
    if (!rfm5565_port_receive(r, port)) {
        return RFM_REQUEST_CLOSED;
    }
    set_state(r, RFM5565_REQUEST_RECEIVING);
    return UNDER_WAY;
}

static uint32_t start_port(Rfm5565Request *r)
{
    uint32_t port = le32_to_cpu(r->wire.key);
    Rfm5565State *s = r->card;
    uint32_t result;

    if (port > RFM5565_PORT_MAX) {
        return RFM_REQUEST_INVALID;
    }
    if (r->wire.op == RFM_REQUEST_RECEIVE) {
        result = is_of_bytes(r) ? read_pages(r) : RFM_REQUEST_INVALID;
        if (result != RFM_REQUEST_OK) {
            return result;
        }
    }
    rfm5565_lock(s);
    result = r->wire.op == RFM_REQUEST_LISTEN ? rfm5565_port_listen(s, port)
           : r->wire.op == RFM_REQUEST_UNLISTEN ? rfm5565_port_unlisten(s, port)
                                                : receive_at(r, port);
    rfm5565_update_and_unlock(s);
    return result;
}

static uint32_t start_region(Rfm5565Request *r)
{
    const uint8_t known = RFM_REGION_READ | RFM_REGION_WRITE |
                          RFM_REGION_CHANGE | RFM_REGION_WATCH;
    Rfm5565Region region = {
        .key = le32_to_cpu(r->wire.key),
        .length = le32_to_cpu(r->wire.length),
        .flags = r->wire.flags,
    };
    Rfm5565State *s = r->card;
    uint32_t result;

    if (!region.key || region.length > RFM_EXT_REGION_MAX ||
        region.flags & ~known) {
        return RFM_REQUEST_INVALID;
    }
    result = read_pages(r);
    if (result != RFM_REQUEST_OK) {
        return result;
    }
    region.pages = r->pages;
    rfm5565_lock(s);
    result = rfm5565_region_add(s, &region);
    rfm5565_update_and_unlock(s);
    if (result == RFM_REQUEST_OK) {
        r->pages = NULL;
    }
    return result;
}

static uint32_t start_revoke(Rfm5565Request *r)
{
    Rfm5565State *s = r->card;
    uint32_t result;

    rfm5565_lock(s);
    result = rfm5565_region_revoke(s, le32_to_cpu(r->wire.key));
    rfm5565_update_and_unlock(s);
    return result;
}

static const struct {
    uint32_t (*start)(Rfm5565Request *r);
    bool has_width, has_flags;
    bool counts;                /* it is an operation at another node */
    bool tells_old, tells_node;
} ops[] = {
    [RFM_REQUEST_READ]     = { start_data, .counts = true },
    [RFM_REQUEST_WRITE]    = { start_data, .counts = true },
    [RFM_REQUEST_CAS]      = { start_word, .has_width = true, .counts = true,
                               .tells_old = true },
    [RFM_REQUEST_ADD]      = { start_word, .has_width = true, .counts = true,
                               .tells_old = true },
    [RFM_REQUEST_MERGE]    = { start_merge, .counts = true },
    [RFM_REQUEST_SEND]     = { start_send, .counts = true },
    [RFM_REQUEST_RESYNC]   = { start_resync, .has_flags = true, .counts = true,
                               .tells_old = true, .tells_node = true },
    [RFM_REQUEST_LISTEN]   = { start_port },
    [RFM_REQUEST_UNLISTEN] = { start_port },
    [RFM_REQUEST_RECEIVE]  = { start_port, .tells_old = true,
                               .tells_node = true },
    [RFM_REQUEST_REGION]   = { start_region, .has_flags = true },
    [RFM_REQUEST_REVOKE]   = { start_revoke },
};

static uint64_t address_of(const Rfm5565Request *r)
{
    return r->card->remote.table + slot_of(r) * sizeof(r->wire);
}

/* The slot is read once. */
static bool read_slot(Rfm5565Request *r)
{
    const struct rfm_ext_request *wire = &r->wire;

    if (!r->is_read) {
        if (!rfm5565_guest_rw(r->card, address_of(r), &r->wire, sizeof(r->wire),
                              DMA_DIRECTION_TO_DEVICE)) {
            return false;
        }
        r->is_read = true;
        r->node = wire->node;
        trace_rfm5565_request(r->card->node_id, slot_of(r), wire->op,
                              wire->node, le32_to_cpu(wire->key),
                              le64_to_cpu(wire->offset),
                              le32_to_cpu(wire->length));
    }
    return true;
}

static uint32_t start(Rfm5565Request *r)
{
    const struct rfm_ext_request *wire = &r->wire;

    if (wire->op >= ARRAY_SIZE(ops) || !ops[wire->op].start || wire->reserved ||
        (wire->width && !ops[wire->op].has_width) ||
        (wire->flags && !ops[wire->op].has_flags)) {
        return RFM_REQUEST_INVALID;
    }
    return ops[wire->op].start(r);
}

static void lock_and_fault(Rfm5565State *s)
{
    rfm5565_guest_error(s, "a request, or what it names, is not in the memory");
    rfm5565_lock(s);
    request_fault(s);
    rfm5565_update_and_unlock(s);
}

/* First who has waited for memory that is there now. Under the lock. */
static Rfm5565Request *take_next(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;
    Rfm5565RequestQueue *queue = &remote->waiting;
    Rfm5565Request *r = QTAILQ_FIRST(queue);

    if (!r || !has_bounce(r)) {
        queue = &remote->begun;
        r = QTAILQ_FIRST(queue);
        /* What was stored before it goes before it. */
        if (r && !rfm5565_burst_is_past(s, r->behind)) {
            r = NULL;
        }
    }
    if (r) {
        QTAILQ_REMOVE(queue, r, next);
    }
    return r;
}

/*
 * Returns false if there is none that can be started now, or only one that is
 * not @brief, as it has more data.
 */
static bool start_next(Rfm5565State *s, bool brief)
{
    Rfm5565Request *r;
    uint32_t result;

    rfm5565_lock(s);
    r = take_next(s);
    rfm5565_update_and_unlock(s);
    if (!r) {
        return false;
    }
    if (!read_slot(r)) {
        result = FAULT;
    } else if (brief && le32_to_cpu(r->wire.length) > SMALL) {
        WITH_QEMU_LOCK_GUARD(&s->lock) {
            QTAILQ_INSERT_HEAD(&s->remote.begun, r, next);
        }
        return false;
    } else {
        result = start(r);
    }
    if (result == FAULT) {
        WITH_QEMU_LOCK_GUARD(&s->lock) {
            set_state(r, RFM5565_REQUEST_IDLE);     /* it is in no queue */
        }
        lock_and_fault(s);
        return false;
    }
    if (result == UNDER_WAY) {
        return true;
    }
    rfm5565_lock(s);
    if (result == MUST_WAIT) {
        set_state(r, RFM5565_REQUEST_WAITING);
        QTAILQ_INSERT_TAIL(&s->remote.waiting, r, next);
    } else {
        if (result == RFM_REQUEST_INVALID) {
            rfm5565_guest_error(s, "request %u, operation %u, cannot be",
                                slot_of(r), r->wire.op);
        }
        rfm5565_request_end(r, result);
    }
    rfm5565_update_and_unlock(s);
    return true;
}

/* --- telling: under the BQL ----------------------------------------------- */

static bool write_slot(Rfm5565Request *r, size_t at, void *data, size_t len)
{
    return rfm5565_guest_rw(r->card, address_of(r) + at, data, len,
                            DMA_DIRECTION_FROM_DEVICE);
}

/* What was read, or has come. */
static bool write_data(Rfm5565Request *r)
{
    uint32_t length = r->wire.op == RFM_REQUEST_READ ? r->bounced
                    : r->wire.op == RFM_REQUEST_RECEIVE ? r->old : 0;

    return !length || r->result != RFM_REQUEST_OK ||
           rfm5565_pages_rw(r->card, r->pages, 0, r->data, length,
                            DMA_DIRECTION_FROM_DEVICE);
}

/* Of one that was not read, or begun elsewhere, nothing more is known. */
static bool tell(Rfm5565Request *r)
{
    struct rfm_ext_request wire = {
        .node = r->node, .old = cpu_to_le64(r->old),
        .status = cpu_to_le32(RFM_REQUEST_DONE | r->result),
    };
    bool known = r->is_read && r->wire.op < ARRAY_SIZE(ops);

    if (!write_data(r)) {
        return false;
    }
    if (known && ops[r->wire.op].tells_node &&
        !write_slot(r, offsetof(typeof(wire), node), &wire.node,
                    sizeof(wire.node))) {
        return false;
    }
    if (known && ops[r->wire.op].tells_old &&
        !write_slot(r, offsetof(typeof(wire), old), &wire.old,
                    sizeof(wire.old))) {
        return false;
    }
    smp_wmb();      /* before the status */
    return write_slot(r, offsetof(typeof(wire), status), &wire.status,
                      sizeof(wire.status));
}

/* Under the lock. */
static void count_request(Rfm5565State *s, const Rfm5565Request *r)
{
    if (r->is_read && r->wire.op < ARRAY_SIZE(ops) && ops[r->wire.op].counts) {
        s->remote.requests_ended++;
        s->remote.requests_failed += r->result != RFM_REQUEST_OK;
    }
}

/*
 * Returns false if there is none, or none that can be told. Who @looks needs
 * no interrupt, if it is the end of the only one that it can look for.
 */
static bool tell_next(Rfm5565State *s, bool looks, uint32_t *bytes)
{
    Rfm5565Request *r;

    rfm5565_lock(s);
    r = QTAILQ_FIRST(&s->remote.ended);
    rfm5565_update_and_unlock(s);
    if (!r) {
        return false;
    }
    *bytes += r->bounced + r->received;
    if (!tell(r)) {
        lock_and_fault(s);
        return false;
    }
    trace_rfm5565_request_end(s->node_id, slot_of(r), r->result);
    rfm5565_lock(s);
    QTAILQ_REMOVE(&s->remote.ended, r, next);
    looks &= s->remote.pending == 1;
    count_request(s, r);
    if (r->received) {
        s->remote.engine.ops->wake(s);  /* who sends to a port from here */
    }
    release_request(r);
    if (!looks) {
        s->ext.causes |= BIT(RFM_VECTOR_DMA);
        rfm5565_events_schedule(s);
    }
    rfm5565_update_and_unlock(s);
    return true;
}

/*
 * The machine has just stopped: what was acknowledged to another node must not
 * be told where it goes on as if it had never come.
 */
void rfm5565_requests_stopped(Rfm5565State *s)
{
    uint32_t bytes = 0;

    while (tell_next(s, false, &bytes)) {
        /* There is no other turn. */
    }
}

/* Returns how many; if there may be @more. */
static unsigned tell_some(Rfm5565State *s, bool looks, bool *more)
{
    uint32_t bytes = 0;
    unsigned told = 0;

    *more = true;
    while (told < SLOTS_PER_RUN && bytes < BYTES_PER_RUN &&
           (*more = tell_next(s, looks, &bytes))) {
        told++;
    }
    return told;
}

/*
 * For a CPU that looks for ends. Where others wait for their memory the main
 * context goes on with them.
 */
void rfm5565_requests_look(Rfm5565State *s)
{
    bool more;

    if (tell_some(s, true, &more) && !QTAILQ_EMPTY(&s->remote.waiting)) {
        qemu_bh_schedule(s->remote.main_bh);
    }
}

/* The one that was begun first, if it is short, and none waits before it. */
void rfm5565_requests_start(Rfm5565State *s)
{
    if (QTAILQ_EMPTY(&s->remote.waiting)) {
        start_next(s, true);
    }
}

/* Returns whether there may be more. */
bool rfm5565_requests_run(Rfm5565State *s)
{
    unsigned started = 0;
    uint32_t before;
    bool more;

    tell_some(s, false, &more);
    before = s->remote.bounced;
    while (started < SLOTS_PER_RUN &&
           s->remote.bounced < before + BYTES_PER_RUN &&
           start_next(s, false)) {
        started++;
    }
    return more || started;
}

/* --- lifecycle ------------------------------------------------------------ */

void rfm5565_requests_init(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;

    QEMU_BUILD_BUG_ON(sizeof(struct rfm_ext_request) != 64);
    remote->requests = g_new0(Rfm5565Request, RFM_EXT_REQUESTS);
    for (unsigned i = 0; i < RFM_EXT_REQUESTS; i++) {
        remote->requests[i].card = s;
    }
    clear_queues(s);
}

void rfm5565_requests_exit(Rfm5565State *s)
{
    rfm5565_lock(s);
    rfm5565_requests_disable(s);
    qemu_mutex_unlock(&s->lock);    /* there are no interrupts any more */
    g_clear_pointer(&s->remote.requests, g_free);
}

/* --- migration: under the lock -------------------------------------------- */

/*
 * Requests do not move: those under way end with RFM_REQUEST_CANCELLED where
 * the machine goes on. Ports and regions do.
 */
void rfm5565_requests_saving(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;

    memset(remote->saved.busy, 0, sizeof(remote->saved.busy));
    for (unsigned i = 0; i < RFM_EXT_REQUESTS; i++) {
        if (remote->requests[i].state != RFM5565_REQUEST_IDLE) {
            remote->saved.busy[i / 32] |= 1u << i % 32;
        }
    }
    rfm5565_ports_saving(s);
}

/* Returns false if that cannot be. */
bool rfm5565_requests_loaded(Rfm5565State *s)
{
    Rfm5565Remote *remote = &s->remote;
    bool running = remote->status == RFM_EXT_REQUEST_RUNNING;
    bool sound = running ? can_be_table(remote->table)
               : !remote->status || remote->status == RFM_EXT_REQUEST_FAULT;

    sound &= remote->control == (remote->status ? RFM_EXT_REQUEST_ENABLE : 0);
    sound &= running || !rfm5565_regions_are_any(s);
    for (unsigned i = 0; i < RFM_EXT_REQUESTS; i++) {
        if (remote->saved.busy[i / 32] & 1u << i % 32) {
            sound &= running;
            rfm5565_request_end(&remote->requests[i], RFM_REQUEST_CANCELLED);
        }
    }
    return sound && rfm5565_ports_loaded(s);
}
