/* SPDX-License-Identifier: MIT */
/*
 * What the files of librfm2g share.
 *
 *	handle.c	handles and the boards behind them: open, close, fork
 *	config.c	what a board is
 *	memory.c	reads, writes, peeks, pokes, mappings
 *	view.c		mappings of a node in this process, whose stores must be found
 *	events.c	events: a channel for each, and who waits there
 *	callback.c	threads that wait, and call
 *	settings.c	settings of a board
 *	registers.c	registers, debug flags
 *	message.c	sentences for errors
 *
 * A board is a card or a node, once in a process however many handles there are. Its events
 * are told to each process that has it open.
 *
 * Locks: registry_lock (which handles and boards there are), then board->lock (its channels),
 * or view->lock (its mappings), of which nobody takes one while holding the other.
 */
#ifndef RFM2G_PRIVATE_H
#define RFM2G_PRIVATE_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <rfm/rfm.h>

#include "rfm2g_api.h"

#define RFM2G_EVENTS	RFM2GEVENT_LAST
#define RFM2G_PAGE	4096u
#define NEVER		UINT64_MAX

struct view;

/**
 * struct channel - an event of a board
 * @stream: librfm's events of its type; NULL: none yet
 * @kick: an eventfd that wakes who waits; -1: nobody has waited yet
 * @enabled: events are taken out of the stream
 * @waiter: whose call waits; NULL: nobody's
 * @cancelled: it is to end
 * @callback: whose thread serves it; NULL: none
 * @turn: counts callbacks; a thread of an earlier one ends
 * @pending: an event is in the queue, which holds one: @node, @data
 * @overflowed: another one found it full
 * @forgotten: events that the driver has counted and this program does not any more
 * @seq: of the stream's record taken last
 * @timeout: of the wait made last
 */
struct channel {
	struct rfm_events *stream;
	int kick;
	bool enabled;
	struct handle *waiter;
	bool cancelled;
	struct handle *callback;
	unsigned int turn;
	bool pending;
	RFM2G_NODE node;
	uint32_t data;
	bool overflowed;
	uint8_t peak;
	uint64_t forgotten;
	uint64_t seq;
	uint32_t timeout;
};

/**
 * struct board - a card, or a node in this process
 * @name: what rfm_open() was given
 * @device: of a card
 * @users: handles, with registry_lock
 * @memory_size: bytes
 * @is_card: otherwise it is a node in this process
 * @is_narrow: the card's window is smaller than its memory, and may move
 * @wait_ended: somebody has stopped waiting, or the function of a callback has returned
 * @swap: of programmed I/O and DMA, as set last by this process: [SWAP_PIO], [SWAP_DMA]
 * @led: of a node, which has none
 * @view: of a node: its mappings; NULL: none yet
 * @lock_fd: of a card: an open file of this process alone, whose bytes who waits locks
 */
enum { SWAP_PIO, SWAP_DMA };

struct board {
	struct board *next;
	char name[512];
	dev_t device;
	unsigned int users;
	struct rfm *rfm;
	uint64_t memory_size;
	bool is_card;
	bool is_narrow;
	bool swap[2];
	bool led;
	struct view *view;
	int lock_fd;

	pthread_mutex_t lock;
	pthread_cond_t wait_ended;
	struct channel channel[RFM2G_EVENTS];
};

/**
 * struct handle - what RFM2gOpen() returns points to its first member
 * @refs: calls and threads that use it, and one while it is open; with registry_lock
 * @is_closed: nobody begins to wait or to call any more; with board->lock
 * @running: functions of its callbacks that run, by event; with board->lock
 * @dma_buffer: what RFM2gUserMemory() has made for RFM2G_DMA_MMAP_OFFSET; NULL: nothing
 */
struct handle {
	struct rfm2ghandle_s open;
	struct handle *next;
	struct board *board;
	unsigned int refs;
	bool is_closed;
	unsigned int running[RFM2G_EVENTS];
	uint32_t dma_threshold;
	char *dma_buffer;
	size_t dma_length;
};

/* --- handle.c */

/**
 * handle_get() - what is behind @rh, to be given back; what was stored in mappings is on its way
 *
 * Returns RFM2G_SUCCESS, RFM2G_NULL_DESCRIPTOR or RFM2G_BAD_PARAMETER_1.
 */
RFM2G_STATUS handle_get(RFM2GHANDLE rh, struct handle **handle);

/** handle_find() - the same for a call that only reads: nothing is on its way yet */
RFM2G_STATUS handle_find(RFM2GHANDLE rh, struct handle **handle);

/** handle_hold() - once more */
void handle_hold(struct handle *handle);

/** handle_put() - returns @status */
RFM2G_STATUS handle_put(struct handle *handle, RFM2G_STATUS status);

/** board_is_gone() - of a card: it has been unplugged or unbound */
bool board_is_gone(const struct board *board);

/* --- config.c */

/** config_fill() - of a board just opened; RFM2G_OS_ERROR: it does not say */
RFM2G_STATUS config_fill(struct handle *handle, RFM2GCONFIG *config);

/* --- view.c */

/** view_map() - @length bytes at @offset, whole pages of the memory; NULL with errno */
void *view_map(struct board *board, uint64_t offset, size_t length);

/** view_unmap() - false: it is not a mapping of a view, and nothing was done */
bool view_unmap(struct board *board, void *address, size_t length);

/**
 * view_sync() - stores in mappings go to the ring, what others have stored is in them
 *
 * Returns false if the ring has no room for all of them: the rest follows.
 */
bool view_sync(struct board *board);

/** view_send() - of stores in mappings those to these bytes of the memory */
void view_send(struct board *board, uint64_t offset, uint64_t length);

/** view_take() - what others have stored is in mappings */
void view_take(struct board *board);

/** view_stored() - a call has stored bytes of the memory: they are in mappings too */
void view_stored(struct board *board, uint64_t offset, uint64_t length);

void view_close(struct view *view);
void view_lock(struct view *view);
void view_unlock(struct view *view);

/* --- events.c */

/** events_start() - a board is open: errors are heard from now on */
RFM2G_STATUS events_start(struct board *board);
void events_stop(struct board *board);

/** events_let_go() - a handle closes: its waits and callbacks end */
void events_let_go(struct handle *handle);

/** events_after_fork() - in the child: nobody waits, and its streams are its own */
void events_after_fork(struct board *board);

/**
 * event_wait() - the next event of @info->Event
 * @turn: of the callback that waits, whose function counts as running if there is one;
 *	0: it is a call
 */
RFM2G_STATUS event_wait(struct handle *handle, RFM2GEVENTINFO *info, unsigned int turn);

/* These with board->lock. */

/**
 * event_take() - for who is to wait, or to call, and nobody else; with board->lock
 *
 * Returns RFM2G_SUCCESS, RFM2G_EVENT_IN_USE, or RFM2G_WAIT_EVENT_CANCELED: @handle is closed.
 */
RFM2G_STATUS event_take(struct handle *handle, struct channel *channel);

/** event_release() - if there is neither waiter nor callback any more */
void event_release(struct board *board, struct channel *channel);

/** event_cancel() - returns when who waits there does not any more */
RFM2G_STATUS event_cancel(struct board *board, struct channel *channel);

static inline bool event_is_good(RFM2GEVENTTYPE event)
{
	return (unsigned int)event < RFM2G_EVENTS;
}

/* --- callback.c */

/**
 * callback_end() - with board->lock: a callback of @handle, if there is one, is called no more
 * @cancels: who waits there does not any more either
 */
void callback_end(struct handle *handle, RFM2GEVENTTYPE event, bool cancels);

/** callback_wait() - with board->lock, which it lets go: until the function has returned */
void callback_wait(struct handle *handle, RFM2GEVENTTYPE event);

/* --- registers.c */

/** say_error() - a sentence on standard error, if RFM2G_DBERROR is among the debug flags */
__attribute__((format(printf, 1, 2)))
void say_error(const char *format, ...);

/* --- memory.c, settings.c */

/** window_of() - where offsets of this API begin in the memory, and how far they go */
RFM2G_STATUS window_of(struct board *board, uint64_t *offset, uint64_t *size);

/** word_read() - what RFM2gPeek8() to 64() do: a word is one whatever swaps are set */
RFM2G_STATUS word_read(struct handle *handle, uint32_t offset, uint64_t *value,
		       unsigned int width);

/** word_write() - what RFM2gPoke8() to 64() do */
RFM2G_STATUS word_write(struct handle *handle, uint32_t offset, uint64_t value,
			unsigned int width);

/** settings_read() - the swaps as they are */
void settings_read(struct board *board);

static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#endif
