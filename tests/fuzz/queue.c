// SPDX-License-Identifier: MIT
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/queue.h"

#define PAGE	4096		/* before the slots */

const char *queue_attach(const struct rfm_shm *producer, struct rfm_shm *consumer)
{
	int fds[RFM_SHM_FDS];

	for (int i = 0; i < RFM_SHM_FDS; i++) {
		fds[i] = dup(producer->offer[i]);
		CHECK(fds[i] >= 0);
	}
	return rfm_shm_attach(consumer, fds);
}

void queue_pair(struct rfm_shm *producer, struct rfm_shm *consumer)
{
	CHECK(!rfm_shm_create(producer, QUEUE_SLOTS));
	CHECK(!queue_attach(producer, consumer));
}

void queue_renew(struct rfm_shm *shm)
{
	memset((uint8_t *)shm->map + QUEUE_HEADER, 0, PAGE - QUEUE_HEADER);
	shm->own_index = shm->published = shm->peer_index = 0;
	shm->broken = false;
}

void queue_scribble(struct input *in, struct rfm_shm *peer)
{
	uint8_t *base = (uint8_t *)peer->map;
	unsigned int where = fuzz_word(in), len = fuzz_byte(in) % 64;
	unsigned int space = PAGE + QUEUE_SLOTS * RFM_SHM_SLOT + PAGE;

	/* Mostly where the indices are. */
	where = where & 0x8000 ? where % space : where % 640;
	if (where < QUEUE_HEADER)
		where = QUEUE_HEADER;
	if (len > space - where)
		len = space - where;
	fuzz_bytes(in, base + where, len);
}
