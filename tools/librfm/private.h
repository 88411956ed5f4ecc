/* SPDX-License-Identifier: MIT */
/*
 * What the files of librfm share. A handle has a back end:
 *
 *	card.c		a card: every request is a call of the driver
 *	ring*.c		a node in this process (librfmring), which answers the same requests:
 *			ring_private.h
 *
 * In front of them: open.c, calls.c, words.c, record.c, events.c, cycle.c, names.c.
 */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "fail.h"
#include "ring/util/structs.h"
#include "rfm/rfm.h"

/**
 * struct rfm_backend - what is behind a handle
 * @call: a request RFM_IOC_* of linux/rfm.h, with its structure, returns and errors as there
 * @stream: RFM_IOC_LISTEN, _WATCH or _REGION, whose record_size is the back end's affair;
 *	NULL with errno
 * @map: as rfm_map()
 * @read: @offset and @length may be anything; words of up to 8 bytes are not torn
 * @write: likewise
 * @store: up to 8 bytes at a multiple of their number, in one
 * @load: likewise
 * @set_threshold: as rfm_set_threshold()
 * @listen_port: RFM_IOC_PORT, whose flags and header_size are the back end's affair; NULL with
 *	errno
 * @fd: as rfm_fd()
 * @close: frees the handle unless it fails
 */
struct rfm_backend {
	int (*call)(struct rfm *rfm, unsigned long request, void *argument);
	struct rfm_events *(*stream)(struct rfm *rfm, unsigned long request, void *argument);
	void *(*map)(struct rfm *rfm, uint64_t offset, size_t length);
	int (*read)(struct rfm *rfm, uint64_t offset, void *data, size_t length);
	int (*write)(struct rfm *rfm, uint64_t offset, const void *data, size_t length);
	int (*load)(struct rfm *rfm, uint64_t offset, void *word, size_t size);
	int (*store)(struct rfm *rfm, uint64_t offset, const void *word, size_t size);
	int (*set_threshold)(struct rfm *rfm, size_t bytes);
	struct rfm_messages *(*listen_port)(struct rfm *rfm, struct rfm_port_listen *listen);
	int (*fd)(const struct rfm *rfm);
	int (*close)(struct rfm *rfm);
};

/* What every handle begins with. */
struct rfm {
	const struct rfm_backend *backend;
	uint64_t can;
	uint64_t memory_size;
	int writable;	/* it was opened for writing */
};

/**
 * struct rfm_events_ops - what is behind a stream
 * @check: -1 with errno if it cannot be used; NULL: it always can
 * @take: the oldest records, up to @count; -1 with errno EAGAIN: there are none
 * @close: frees the stream and its descriptors unless it fails
 */
struct rfm_events_ops {
	int (*check)(const struct rfm_events *events);
	int (*take)(struct rfm_events *events, struct rfm_event *records, size_t count);
	int (*close)(struct rfm_events *events);
};

/* What every stream begins with. */
struct rfm_events {
	const struct rfm_events_ops *ops;
	int fd;			/* readable when there is a record */
	int cancel_fd;
};

/**
 * struct rfm_messages_ops - what is behind a port
 * @receive: as rfm_receive()
 * @fd: as rfm_messages_fd()
 * @close: frees the port
 */
struct rfm_messages_ops {
	int (*receive)(struct rfm_messages *port, void *data, size_t size, size_t *length,
		       uint32_t *node, int timeout_ms);
	int (*fd)(const struct rfm_messages *port);
	void (*close)(struct rfm_messages *port);
};

/* What every port begins with. */
struct rfm_messages {
	const struct rfm_messages_ops *ops;
};

/** card_port_listen() - of the card that @fd is of */
struct rfm_messages *card_port_listen(int fd, struct rfm_port_listen *listen);

/** events_init() - @events is a stream; -1 with errno */
int events_init(struct rfm_events *events, const struct rfm_events_ops *ops, int fd);

/* What a plain card can, and what features of the extension block add. */
uint64_t can_of(uint64_t features);

struct rfm *backend_card_open(const char *path, int flags);
struct rfm *backend_ring_open(const char *address, int flags);

/**
 * take_struct() - the other way than give_struct()
 *
 * -1 with EINVAL if more is asked for than is known here.
 */
int take_struct(void *to, size_t have, const void *from, size_t size);

/** open_failed() - rfm_error() says this; NULL, with @error in errno */
__attribute__((format(printf, 2, 3)))
void *open_failed(int error, const char *format, ...);

/* How far @address is into its page. */
size_t into_page(uint64_t address);

/** range_is_inside() - are all of these bytes in a memory of @size? */
static inline int range_is_inside(uint64_t size, uint64_t offset, uint64_t length)
{
	return offset <= size && length <= size - offset;
}

uint64_t clock_ns(void);

#endif
