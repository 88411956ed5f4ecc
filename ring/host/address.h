/* SPDX-License-Identifier: MIT */
/* The addresses of ring/host/port.h, and the sockets that belong to them. */
#ifndef RFM_HOST_ADDRESS_H
#define RFM_HOST_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define RFM_ADDRESS_MAX		256
#define RFM_ROUTE_LOOKUP_NS	5000000000ull

struct rfm_route;

/**
 * struct rfm_address - one that was understood
 * @text: as it was given
 * @path: of a unix socket; empty: TCP
 */
struct rfm_address {
	bool server;
	char text[RFM_ADDRESS_MAX];
	char path[RFM_ADDRESS_MAX];
	char host[RFM_ADDRESS_MAX];
	char service[8];
};

/** rfm_address_parse() - NULL, or one sentence that says what is wrong */
const char *rfm_address_parse(struct rfm_address *address, const char *text);

/**
 * rfm_address_listen() - a socket that listens, non-blocking
 * @buffer: bytes of the buffers of its connections, 0: the system's choice
 * @open: a TCP address without a host is all of this host's; else the loopback's
 * @error: set to one sentence when -1 is returned
 *
 * The socket file of a process that has gone is replaced.
 */
int rfm_address_listen(const struct rfm_address *address, uint32_t buffer, bool open, char *error,
		       unsigned int size);

/** rfm_address_exposed() - can others than this host reach that listener? */
bool rfm_address_exposed(int listener);

/**
 * rfm_route_new() - find out where an address to connect to leads
 * @address: kept
 * @now: ns
 *
 * A host's name is looked up in a thread of its own: that may take long. NULL:
 * no memory.
 */
struct rfm_route *rfm_route_new(const struct rfm_address *address, uint64_t now);
void rfm_route_free(struct rfm_route *route);

/**
 * rfm_route_connect() - begin to connect, non-blocking
 * @buffer: bytes of the socket's buffers, 0: the system's choice
 * @under_way: the socket becomes writable when it is done, well or not
 *
 * A name may lead to several places: each call tries the next one. When all
 * have been tried and the last look-up is RFM_ROUTE_LOOKUP_NS old, it is looked up
 * again. -1 with errno; EAGAIN: the name is still being looked up.
 */
int rfm_route_connect(struct rfm_route *route, uint32_t buffer, uint64_t now, bool *under_way);

/**
 * rfm_route_number() - the same for a library that connects by itself
 * @host: where to, as a number; @size bytes
 *
 * Returns false if the name is still being looked up, or leads nowhere.
 */
bool rfm_route_number(struct rfm_route *route, uint64_t now, char *host, unsigned int size);

/** rfm_route_more() - has the name a place that was not tried yet this time round? */
bool rfm_route_more(const struct rfm_route *route);

/** rfm_route_trouble() - why the host's name is not known; NULL: it is, or not looked up yet */
const char *rfm_route_trouble(const struct rfm_route *route);

/** rfm_address_accept() - take the next connection; -1 with errno */
int rfm_address_accept(const struct rfm_address *address, int listener);

/** rfm_address_remove() - the socket file of a listener that ends */
void rfm_address_remove(const struct rfm_address *address);

#endif
