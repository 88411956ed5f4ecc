// SPDX-License-Identifier: MIT
/* librfmring: messages that have come for a port, until somebody takes them. */
#include <errno.h>
#include <stdlib.h>

#include "ring/host/internal.h"

#define DEPTH_MAX	1024u

/* With pending_lock. */
static struct rfm_mailbox *mailbox_of(const struct rfmring *ring, uint32_t port)
{
	struct rfm_mailbox *mailbox = ring->mailboxes;

	while (mailbox && mailbox->port != port)
		mailbox = mailbox->next;
	return mailbox;
}

static struct rfm_letter *take_first(struct rfm_mailbox *mailbox)
{
	struct rfm_letter *letter = mailbox->first;

	if (!letter)
		return NULL;
	mailbox->first = letter->next;
	if (!mailbox->first)
		mailbox->last = NULL;
	mailbox->count--;
	return letter;
}

void rfm_host_free_letter(struct rfm_letter *letter)
{
	if (letter)
		free(letter->data);
	free(letter);
}

/* With pending_lock. */
static void remove_mailbox(struct rfmring *ring, struct rfm_mailbox *mailbox)
{
	struct rfm_mailbox **at = &ring->mailboxes;

	while (*at != mailbox)
		at = &(*at)->next;
	*at = mailbox->next;
	while (mailbox->first)
		rfm_host_free_letter(take_first(mailbox));
	free(mailbox);
}

int rfmring_listen(struct rfmring *ring, uint32_t port, uint32_t depth)
{
	struct rfm_mailbox *mailbox;
	int error = 0;

	if (port >= RFMRING_PORTS || depth > DEPTH_MAX)
		return rfm_fail(EINVAL);
	pthread_mutex_lock(&ring->pending_lock);
	mailbox = mailbox_of(ring, port);
	if (!mailbox && depth) {
		mailbox = calloc(1, sizeof(*mailbox));
		if (mailbox) {
			*mailbox = (struct rfm_mailbox){ .next = ring->mailboxes, .port = port };
			ring->mailboxes = mailbox;
		}
	}
	if (!mailbox)
		error = depth ? ENOMEM : ENOENT;
	else if (depth)
		mailbox->depth = depth;
	else
		remove_mailbox(ring, mailbox);
	pthread_cond_broadcast(&ring->pending_cond);
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_host_remote_wake(ring);	/* who sends to it from here */
	return error ? rfm_fail(error) : 0;
}

int rfm_host_port_room(void *opaque, uint32_t port)
{
	struct rfmring *ring = opaque;
	const struct rfm_mailbox *mailbox;
	int room = -1;

	pthread_mutex_lock(&ring->pending_lock);
	mailbox = mailbox_of(ring, port);
	if (mailbox)
		room = mailbox->depth > mailbox->count ? mailbox->depth - mailbox->count : 0;
	pthread_mutex_unlock(&ring->pending_lock);
	return room;
}

/* Of one for whom nobody listens any more, or for which there is no memory, its sender is told. */
enum rfm_remote_result rfm_host_message(void *opaque, uint32_t port, uint8_t from, void *data,
					uint32_t length)
{
	struct rfm_letter *letter = malloc(sizeof(*letter));
	enum rfm_remote_result result = RFM_REMOTE_OK;
	struct rfmring *ring = opaque;
	struct rfm_mailbox *mailbox;
	void (*arrived)(void *opaque) = NULL;
	void *arrived_opaque = NULL;

	pthread_mutex_lock(&ring->pending_lock);
	mailbox = letter ? mailbox_of(ring, port) : NULL;
	if (mailbox) {
		*letter = (struct rfm_letter){ .from = from, .length = length, .data = data };
		if (mailbox->last)
			mailbox->last->next = letter;
		else
			mailbox->first = letter;
		mailbox->last = letter;
		mailbox->count++;
		arrived = mailbox->arrived;
		arrived_opaque = mailbox->opaque;
		pthread_cond_broadcast(&ring->pending_cond);
	}
	pthread_mutex_unlock(&ring->pending_lock);
	if (!mailbox) {
		result = letter ? RFM_REMOTE_CLOSED : RFM_REMOTE_WITHDRAWN;
		free(letter);
	}
	if (arrived)
		arrived(arrived_opaque);
	return result;
}

void rfmring_on_message(struct rfmring *ring, uint32_t port, void (*arrived)(void *opaque),
			void *opaque)
{
	struct rfm_mailbox *mailbox;

	pthread_mutex_lock(&ring->pending_lock);
	mailbox = mailbox_of(ring, port);
	if (mailbox) {
		mailbox->arrived = arrived;
		mailbox->opaque = opaque;
	}
	pthread_mutex_unlock(&ring->pending_lock);
}

/* With pending_lock. */
static struct rfm_letter *take_letter(struct rfmring *ring, uint32_t port)
{
	struct rfm_mailbox *mailbox = mailbox_of(ring, port);

	errno = mailbox ? 0 : ENOENT;
	return mailbox ? take_first(mailbox) : NULL;
}

struct rfm_letter *rfm_host_take_letter(struct rfmring *ring, uint32_t port)
{
	struct rfm_letter *letter;
	int error;

	pthread_mutex_lock(&ring->pending_lock);
	letter = take_letter(ring, port);
	error = errno;
	pthread_mutex_unlock(&ring->pending_lock);
	if (letter)
		rfm_host_remote_wake(ring);	/* somebody may wait for the room, here too */
	errno = error;
	return letter;
}

int rfmring_receive(struct rfmring *ring, uint32_t port, void *data, size_t size, size_t *length,
		    uint32_t *node, int timeout_ms)
{
	uint64_t until = rfm_deadline(timeout_ms);
	struct rfm_letter *letter;
	bool in_time = true;
	int error;

	if (port >= RFMRING_PORTS || timeout_ms < RFM_FOR_EVER_MS)
		return rfm_fail(EINVAL);
	if (rfm_host_any_locked())
		return rfm_fail(EDEADLK);
	pthread_mutex_lock(&ring->pending_lock);
	while (!(letter = take_letter(ring, port)) && !errno && timeout_ms && in_time &&
	       !atomic_exchange(&ring->woken, false))
		in_time = rfm_wait_pending(ring, until);
	error = errno;
	pthread_mutex_unlock(&ring->pending_lock);
	rfm_wait_over(ring);
	if (!letter)
		return error ? rfm_fail(error) : 0;
	if (size)
		memcpy(data, letter->data, letter->length < size ? letter->length : size);
	if (length)
		*length = letter->length;
	if (node)
		*node = letter->from;
	rfm_host_free_letter(letter);
	rfm_host_remote_wake(ring);
	return 1;
}

void rfm_host_messages_destroy(struct rfmring *ring)
{
	while (ring->mailboxes)
		remove_mailbox(ring, ring->mailboxes);
}
