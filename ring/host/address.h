/* SPDX-License-Identifier: MIT */
/* The addresses of ring/host/port.h, and the sockets that belong to them. */
#ifndef RFM_HOST_ADDRESS_H
#define RFM_HOST_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#define RFM_ADDRESS_MAX		256

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
 * @error: set to one sentence when -1 is returned
 *
 * The socket file of a process that has gone is replaced.
 */
int rfm_address_listen(const struct rfm_address *address, uint32_t buffer, char *error,
		       unsigned int size);

/**
 * rfm_address_connect() - begin to connect, non-blocking
 * @under_way: the socket becomes writable when it is done, well or not
 *
 * -1 with errno, or with EHOSTUNREACH if the host's name is not known.
 */
int rfm_address_connect(const struct rfm_address *address, uint32_t buffer, bool *under_way);

/** rfm_address_accept() - take the next connection; -1 with errno */
int rfm_address_accept(const struct rfm_address *address, int listener);

/** rfm_address_remove() - the socket file of a listener that ends */
void rfm_address_remove(const struct rfm_address *address);

#endif
