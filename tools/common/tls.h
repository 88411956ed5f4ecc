/* SPDX-License-Identifier: MIT */
/*
 * TLS for the TCP links of a program, with GnuTLS: version 1.3, and both sides
 * know each other. docs/tls.md is for people.
 */
#ifndef RFM_TOOLS_TLS_H
#define RFM_TOOLS_TLS_H

#include <stdbool.h>

#include "ring/host/tls.h"

#define TLS_SENTENCE	512

/** tls_needs() - does this address want credentials? Of who listens, or of who connects */
void tls_needs(const char *address, bool *server, bool *client);

/**
 * tls_load() - read credentials
 * @folder: as QEMU's: ca-cert.pem, and of those who listen server-cert.pem and
 *	server-key.pem, of those who connect client-cert.pem and client-key.pem,
 *	perhaps ca-crl.pem; or else keys.psk, whose first line is what a client says
 * @server, @client: which of them are needed
 * @error: TLS_SENTENCE bytes, set when NULL is returned
 */
struct rfm_tls *tls_load(const char *folder, bool server, bool client, char *error);

/** tls_free() - when no port has it any more; NULL is nothing */
void tls_free(struct rfm_tls *tls);

#endif
