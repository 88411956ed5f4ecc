// SPDX-License-Identifier: MIT
/* Handles, and the boards behind them. */
#define _GNU_SOURCE 1		/* secure_getenv() */
#include "private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES		"/dev/"
#define STRUCT_ID	0x52464d32u	/* "RFM2" */
#define NO_UNIT		(-1)

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle *handles;
static struct board *boards;

/* --- which board ------------------------------------------------------------------- */

/* The number behind @prefix in @name, and nothing else; NO_UNIT: there is none. */
static int unit_of(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	const char *digits = name + length;

	if (strncmp(name, prefix, length) || !*digits || strlen(digits) > 4 ||
	    digits[strspn(digits, "0123456789")])
		return NO_UNIT;
	return strtol(digits, NULL, 10);
}

/* What the environment has in place of board @unit; NULL: nothing. */
static const char *instead_of(int unit)
{
	char name[32];
	const char *value;

	snprintf(name, sizeof(name), "RFM_CARD_%d", unit);
	value = secure_getenv(name);
	if (!value && !unit)
		value = secure_getenv("RFM_CARD");
	return value && *value ? value : NULL;
}

/*
 * What @path, "/dev/rfm2g0", is for rfm_open(), in @name: a link of that name, or else the
 * card of that number among those that there are. -1: there is none.
 */
static int resolve(const char *path, char *name, size_t size, int *unit)
{
	const char *last = strncmp(path, DEVICES, strlen(DEVICES)) ? path : path + strlen(DEVICES);
	uint32_t cards[64];
	const char *instead;
	int found;

	*unit = unit_of(last, "rfm2g");
	if (*unit == NO_UNIT) {
		*unit = unit_of(last, "rfm");
		if (*unit == NO_UNIT)
			*unit = 0;
		return snprintf(name, size, "%s", path) < (int)size ? 0 : -1;
	}
	instead = instead_of(*unit);
	if (instead)
		return snprintf(name, size, "%s", instead) < (int)size ? 0 : -1;
	snprintf(name, size, DEVICES "%s", last);
	if (!access(name, F_OK))
		return 0;
	found = rfm_cards(cards, sizeof(cards) / sizeof(*cards));
	if (*unit >= found || *unit >= (int)(sizeof(cards) / sizeof(*cards)))
		return -1;
	snprintf(name, size, DEVICES "rfm%u", cards[*unit]);
	return 0;
}

static RFM2G_STATUS why_not_open(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return RFM2G_NO_RFM2G_BOARD;
	case ENOMEM:
		return RFM2G_LOW_MEMORY;
	case ENOTTY:
		return RFM2G_OS_ERROR;
	default:
		say_error("%s", rfm_error());
		return RFM2G_NOT_OPEN;
	}
}

/* --- boards: all with registry_lock ------------------------------------------------ */

static dev_t device_of(struct rfm *rfm)
{
	struct stat stat;

	return rfm_can(rfm) & RFM_CAN_FD && !fstat(rfm_fd(rfm), &stat) ? stat.st_rdev : 0;
}

/* A 5565 receives and sends everything; where the base of a card does not, this does. */
static int take_part(struct rfm *rfm, const struct rfm_info *info)
{
	if (!(rfm_can(rfm) & RFM_CAN_SUBSCRIBE) || info->base_policy == RFM_BASE_ALL)
		return 0;
	return rfm_subscribe(rfm, 0, info->memory_size, RFM_SUBSCRIBE_RX | RFM_SUBSCRIBE_TX, NULL);
}

static void free_board(struct board *board)
{
	view_close(board->view);
	events_stop(board);
	rfm_close(board->rfm);
	pthread_cond_destroy(&board->wait_ended);
	pthread_mutex_destroy(&board->lock);
	free(board);
}

static struct board *new_board(const char *name, struct rfm *rfm, RFM2G_STATUS *status)
{
	struct board *board = calloc(1, sizeof(*board));
	struct rfm_info info;

	if (!board) {
		*status = RFM2G_LOW_MEMORY;
		return NULL;
	}
	pthread_mutex_init(&board->lock, NULL);
	pthread_cond_init(&board->wait_ended, NULL);
	snprintf(board->name, sizeof(board->name), "%s", name);
	board->rfm = rfm;
	board->device = device_of(rfm);
	board->is_card = rfm_can(rfm) & RFM_CAN_FD;
	board->lock_fd = -1;
	for (int i = 0; i < RFM2G_EVENTS; i++)
		board->channel[i].kick = -1;
	*status = RFM2G_OS_ERROR;
	if (rfm_info(rfm, &info) || take_part(rfm, &info))
		goto fail;
	board->memory_size = info.memory_size;
	board->is_narrow = info.window_size < info.memory_size;
	settings_read(board);
	*status = events_start(board);
	if (*status)
		goto fail;
	board->next = boards;
	boards = board;
	return board;
fail:
	board->rfm = NULL;
	free_board(board);
	return NULL;
}

bool board_is_gone(const struct board *board)
{
	struct rfm_info info;

	return rfm_info(board->rfm, &info) && errno == ENODEV;
}

/* A card that has gone leaves its number to the next one. */
static struct board *find_board(const char *name, dev_t device)
{
	struct board *board = boards;

	while (board && ((device ? board->device != device : strcmp(board->name, name) != 0) ||
			 board_is_gone(board)))
		board = board->next;
	return board;
}

/* @rfm is the board's from now on, unless another handle of it is there already. */
static struct board *get_board(const char *name, struct rfm *rfm, RFM2G_STATUS *status)
{
	struct board *board = find_board(name, device_of(rfm));

	if (!board)
		board = new_board(name, rfm, status);
	if (board)
		board->users++;
	return board;
}

/* Returns the board if that was the last handle of it, to be freed without the lock. */
static struct board *put_board(struct board *board)
{
	struct board **at = &boards;

	if (--board->users)
		return NULL;
	while (*at != board)
		at = &(*at)->next;
	*at = board->next;
	return board;
}

/* --- handles ----------------------------------------------------------------------- */

RFM2G_STATUS handle_find(RFM2GHANDLE rh, struct handle **found)
{
	struct handle *handle;

	if (!rh)
		return RFM2G_NULL_DESCRIPTOR;
	pthread_mutex_lock(&registry_lock);
	for (handle = handles; handle && &handle->open != rh; handle = handle->next)
		;
	if (handle)
		handle->refs++;
	pthread_mutex_unlock(&registry_lock);
	if (!handle)
		return RFM2G_BAD_PARAMETER_1;
	*found = handle;
	return RFM2G_SUCCESS;
}

RFM2G_STATUS handle_get(RFM2GHANDLE rh, struct handle **found)
{
	RFM2G_STATUS status = handle_find(rh, found);

	if (!status)
		view_sync((*found)->board);
	return status;
}

void handle_hold(struct handle *handle)
{
	pthread_mutex_lock(&registry_lock);
	handle->refs++;
	pthread_mutex_unlock(&registry_lock);
}

static RFM2G_STATUS put_refs(struct handle *handle, unsigned int refs, RFM2G_STATUS status)
{
	struct board *last = NULL;
	bool unused;

	pthread_mutex_lock(&registry_lock);
	handle->refs -= refs;
	unused = !handle->refs;
	if (unused)
		last = put_board(handle->board);
	pthread_mutex_unlock(&registry_lock);
	if (last)
		free_board(last);
	if (unused)
		free(handle);
	return status;
}

RFM2G_STATUS handle_put(struct handle *handle, RFM2G_STATUS status)
{
	return put_refs(handle, 1, status);
}

/* --- fork: a child has no threads but one, and no nodes ---------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&registry_lock);
	for (struct board *board = boards; board; board = board->next) {
		pthread_mutex_lock(&board->lock);
		view_lock(board->view);
	}
}

static void after_fork_in_parent(void)
{
	for (struct board *board = boards; board; board = board->next) {
		view_unlock(board->view);
		pthread_mutex_unlock(&board->lock);
	}
	pthread_mutex_unlock(&registry_lock);
}

/* What was made of threads that are not here is left: nobody counts it down any more. */
static void after_fork_in_child(void)
{
	struct handle **at = &handles;

	while (*at) {
		struct handle *handle = *at;

		memset(handle->running, 0, sizeof(handle->running));
		if (handle->board->is_card)
			at = &handle->next;
		else
			*at = handle->next;
	}
	for (struct board **board = &boards; *board;) {
		view_unlock((*board)->view);
		if ((*board)->is_card) {
			events_after_fork(*board);
			pthread_mutex_unlock(&(*board)->lock);
			board = &(*board)->next;
		} else {
			pthread_mutex_unlock(&(*board)->lock);
			*board = (*board)->next;
		}
	}
	pthread_mutex_unlock(&registry_lock);
}

static void know_of_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* --- the calls --------------------------------------------------------------------- */

static RFM2G_STATUS open_handle(const char *path, struct handle *handle)
{
	RFM2G_STATUS status = RFM2G_SUCCESS;
	char name[sizeof(handle->board->name)];
	struct board *board;
	struct rfm *rfm;
	int unit;

	if (resolve(path, name, sizeof(name), &unit))
		return RFM2G_NO_RFM2G_BOARD;
	/* It may wait for the ring: others need not. */
	rfm = rfm_open(name, O_RDWR);
	if (!rfm)
		return why_not_open(errno);
	handle->open.struct_id = STRUCT_ID;
	handle->refs = 1;
	handle->dma_threshold = 0xffffffff;
	handle->open.Config.Unit = unit;
	snprintf(handle->open.Config.Device, sizeof(handle->open.Config.Device), "%s", path);
	pthread_mutex_lock(&registry_lock);
	board = get_board(name, rfm, &status);
	handle->board = board;
	if (board) {
		handle->open.fd = board->is_card ? rfm_fd(board->rfm) : -1;
		handle->next = handles;
		handles = handle;
	}
	pthread_mutex_unlock(&registry_lock);
	if (!board || board->rfm != rfm)
		rfm_close(rfm);
	return status;
}

/* No call finds it any more; those under way end. False: another thread was quicker. */
static bool end_handle(struct handle *handle)
{
	struct handle **at;
	bool found;

	pthread_mutex_lock(&registry_lock);
	for (at = &handles; *at && *at != handle; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = handle->next;
	pthread_mutex_unlock(&registry_lock);
	if (found)
		events_let_go(handle);
	return found;
}

RFM2G_STATUS RFM2gOpen(char *DevicePath, RFM2GHANDLE *rh)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct handle *handle;
	RFM2G_STATUS status;

	if (!DevicePath)
		return RFM2G_BAD_PARAMETER_1;
	if (!rh)
		return RFM2G_BAD_PARAMETER_2;
	pthread_once(&once, know_of_forks);
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return RFM2G_LOW_MEMORY;
	status = open_handle(DevicePath, handle);
	if (status) {
		free(handle);
		return status;
	}
	status = config_fill(handle, &handle->open.Config);
	if (status) {
		end_handle(handle);
		return handle_put(handle, status);
	}
	*rh = &handle->open;
	return RFM2G_SUCCESS;
}

RFM2G_STATUS RFM2gClose(RFM2GHANDLE *rh)
{
	struct handle *handle;
	RFM2G_STATUS status;
	unsigned int refs = 1;

	if (!rh)
		return RFM2G_BAD_PARAMETER_1;
	status = handle_get(*rh, &handle);
	if (status)
		return status;
	if (end_handle(handle))
		refs++;		/* that of the list */
	*rh = NULL;
	return put_refs(handle, refs, RFM2G_SUCCESS);
}
