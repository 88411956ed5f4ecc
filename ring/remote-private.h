/* SPDX-License-Identifier: MIT */
/* What asking (remote.c) and answering (remote-serve.c) share. Private to ring/. */
#ifndef RFM_RING_REMOTE_PRIVATE_H
#define RFM_RING_REMOTE_PRIVATE_H

#include "ring/remote.h"

#define BACKOFF_FIRST_NS	20000u
#define LATER			UINT64_MAX	/* a time that rfm_remote_run() has yet to set */
#define ANSWER_PATIENCE_NS	1000000000ull	/* that a node goes on offering an answer */

/* The data of a REQUEST, then those of an ANSWER. */
enum {
	AT_OP		= 0,
	AT_WIDTH	= 1,
	AT_TICKET	= 4,
	AT_INCARNATION	= 8,
	AT_OFFSET	= 16,
	AT_KEY		= 24,
	AT_COUNT	= 28,
	REQUEST_HEADER	= 32,
	AT_COMPARE	= 32,
	AT_VALUE	= 40,
	ATOMIC_REQUEST	= 48,
	AT_MESSAGE	= 32,	/* SEND: then its length, and the bytes */
	AT_TOTAL	= 36,
	SEND_HEADER	= 40,

	AT_RESULT	= 0,
	AT_OLD		= 8,
	ANSWER_HEADER	= 16,
};

/* Whose end a cookie tells: the ticket of a part, or an answer; and its place. */
#define COOKIE_ANSWER	(1ull << 63)

static inline bool is_atomic(unsigned int op)
{
	return op == RFM_REMOTE_CAS || op == RFM_REMOTE_ADD;
}

static inline bool is_reading(unsigned int op)
{
	return op == RFM_REMOTE_READ || op == RFM_REMOTE_MERGE;
}

/* May it be tried now? If not, @next is not later than when it may. */
static inline bool is_due(uint64_t *again, uint32_t *backoff, uint64_t now, uint64_t *next)
{
	if (*again == LATER) {
		*again = now + *backoff;
		*backoff = *backoff < RFM_REMOTE_BACKOFF_NS / 2 ? *backoff * 2 : RFM_REMOTE_BACKOFF_NS;
	}
	if (*again <= now)
		return true;
	if (*again < *next)
		*next = *again;
	return false;
}

/* --- remote-serve.c --------------------------------------------------------- */

/* May @from do that, and is it a word if it has to be? */
enum rfm_remote_result rfm_remote_check(struct rfm_remote *remote, uint8_t from, unsigned int op,
					unsigned int width, uint32_t key, uint64_t offset,
					uint32_t length);

/*
 * The word has been checked, and if it is everybody's there is room on the ring. Returns it as
 * it was.
 */
uint64_t rfm_remote_change_word(struct rfm_remote *remote, unsigned int op, unsigned int width,
				uint32_t key, uint64_t offset, uint64_t compare, uint64_t value);

bool rfm_serve_take(struct rfm_remote *remote, const struct rfm_packet *packet,
		    const uint8_t *data);
void rfm_serve_packet(struct rfm_remote *remote, const struct rfm_packet *packet,
		      const uint8_t *data);
void rfm_serve_packet_end(struct rfm_remote *remote, uint64_t cookie, enum rfm_packet_fate fate);

/* --- message.c: what comes in parts ------------------------------------------- */

bool rfm_message_take(struct rfm_remote *remote, const struct rfm_packet *packet,
		      const uint8_t *data);
enum rfm_remote_result rfm_message_part(struct rfm_remote *remote, const struct rfm_packet *packet,
					const uint8_t *data);
/* What its sender has given up. */
void rfm_message_run(struct rfm_remote *remote, uint64_t now, uint64_t *next);
void rfm_message_destroy(struct rfm_remote *remote);

/* Returns false if there is no room: for nobody now. @next: is made earlier if need be. */
bool rfm_serve_run(struct rfm_remote *remote, uint64_t now, uint64_t *next);

#endif
