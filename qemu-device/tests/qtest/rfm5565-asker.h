/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bench for operations at one node. The numbers are copied from
 * docs/extension.md and not from the header that device and driver share, so
 * that a wrong number there shows here.
 */
#ifndef RFM5565_ASKER_H
#define RFM5565_ASKER_H

#include "rfm5565-block.h"

/* Operations */
enum {
    O_READ = 1, O_WRITE, O_CAS, O_ADD, O_MERGE, O_SEND,
    O_RESYNC = 16, O_LISTEN, O_UNLISTEN, O_RECEIVE, O_REGION, O_REVOKE,
};

/* How they end */
enum {
    E_OK = 0, E_DENIED, E_RANGE, E_NOT_HOME, E_INVALID = 5, E_INCOMPLETE,
    E_CLOSED,
    E_NO_NODE = 16, E_NO_ROOM, E_UNKNOWN, E_DARK, E_CANCELLED, E_IN_USE, E_FULL,
    E_DOUBTFUL, E_TOO_LONG,
};

/* What a region allows */
enum { MAY_BE_READ = 1, MAY_BE_WRITTEN = 2, MAY_BE_CHANGED = 4, WATCHED = 8 };

#define REQUESTS        256
#define REQUEST_SIZE    64
#define REQUEST_MAX     (1u << 20)
#define PORTS           64
#define REGIONS         64
#define NODE_PRESENT    0x80000000u
#define NODE_INCOMPLETE 0x10000000u

/* In the machine's memory: the table of a card, and places for data. */
#define TABLE_OF(card)  (0x300000u + 0x10000u * ((card)->slot % 2))
#define LIST_AT(card, n) (0x400000u + 0x100000u * ((card)->slot % 2) + \
                          0x1000u * (n))
#define DATA_AT         0x1000000u
#define NO_MEMORY_AT    0x20000000u

typedef struct Request {
    uint8_t op, node, width, flags;
    uint32_t key;
    uint64_t offset;
    uint64_t data;          /* first byte of it; 0: no list of pages */
    uint32_t length;
    uint64_t compare, value, reserved;
    uint64_t list;          /* where it is said to be, if not at LIST_AT() */
} Request;

/* A ring of two cards that are complete, with their tables on. */
Lab *asker_ring(const char *options0, const char *options1);
void table_start(Card *card);

/*
 * Data from @at on: pages of the machine's memory that are not adjacent, as the
 * lists say that request_begin() makes.
 */
void data_put(Vm *vm, uint64_t at, const void *data, size_t len);
void data_get(Vm *vm, uint64_t at, void *data, size_t len);
void data_expect(Vm *vm, uint64_t at, const void *data, size_t len);

/* Fill in a slot and its list, without and with ringing. */
void request_put(Card *card, unsigned slot, const Request *request);
void request_begin(Card *card, unsigned slot, const Request *request);
uint32_t request_status(Card *card, unsigned slot);
/* Wait until it has ended, return how. */
uint32_t request_end(Card *card, unsigned slot);
/* From its beginning, in slot 0 */
uint32_t request_run(Card *card, const Request *request);
uint64_t request_old(Card *card, unsigned slot);
uint8_t request_node(Card *card, unsigned slot);

/* What a new snapshot says of a node. */
uint32_t node_state(Card *card, uint8_t node);

#endif
