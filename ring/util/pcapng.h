/* SPDX-License-Identifier: MIT */
/*
 * Capture files: pcapng, of the link type DLT_USER0, in which a packet is one
 * frame or link message of the ring as it stood on the wire.
 * docs/capture.md describes them; tools/wireshark/rfm.lua reads them.
 *
 * The writer never holds up its owner: it collects packets in a buffer, which
 * a thread of its own writes to the file. What a slow disk, or a slow reader of
 * a pipe, leaves no room for is counted lost, and the file says so; after a
 * write error the capture is over, and every later packet is counted lost.
 */
#ifndef RFM_RING_PCAPNG_H
#define RFM_RING_PCAPNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RFM_PCAPNG_LINKTYPE	147	/* LINKTYPE_USER0 */
#define RFM_PCAPNG_BUFFER	65536	/* bytes the writer collects before it hands them on */
#define RFM_PCAPNG_FILE_BUFFER	(4 << 20)	/* and twice so many while a file is slow */
#define RFM_PCAPNG_INTERFACES	256	/* in one file, at most */
#define RFM_PCAPNG_TEXT		255	/* bytes of a name or comment; longer is cut */
#define RFM_PCAPNG_PACKET	3072	/* bytes of a packet, at most */

enum rfm_pcapng_direction {
	RFM_PCAPNG_NEITHER	= 0,
	RFM_PCAPNG_IN		= 1,	/* came from the link */
	RFM_PCAPNG_OUT		= 2,	/* was given to it */
};

/**
 * struct rfm_pcapng - a capture that is being written
 * @packets: written, or on their way
 * @lost: not written, for want of room or after an error
 * @error: errno of the write that ended the capture; 0: it goes on
 *
 * Its owner uses it from one context at a time. The counters may be read, the
 * rest is private.
 */
struct rfm_pcapng {
	uint64_t packets, lost;
	int error;

	ssize_t (*write)(void *opaque, const void *data, size_t len);
	void *opaque;
	struct rfm_pcapng_file *file;	/* NULL: what @write takes */
	bool error_reported;
	int64_t epoch;
	uint64_t latest;	/* time in the file of the last packet */
	struct rfm_pcapng_part {
		uint8_t *data;		/* begins with a block */
		uint32_t fill, sent;	/* bytes in it; of these, in the file already */
	} part;			/* that is being filled */
	uint32_t size;		/* of its data */
	uint32_t interfaces;
	struct rfm_pcapng_count {
		uint64_t seen, lost, unreported;
	} *counts;
};

/**
 * rfm_pcapng_create() - begin a capture in a file
 * @path: made, or emptied; may be a FIFO that has a reader. When that goes,
 *	the capture ends with an error; no SIGPIPE is raised
 * @application: who writes it, e.g. "rmhub"
 * @epoch: ns to add to the times of packets to get ns since 1970: what
 *	CLOCK_REALTIME is ahead of the owner's clock
 *
 * Returns 0, or -1 with errno of open() or ENOMEM.
 */
int rfm_pcapng_create(struct rfm_pcapng *capture, const char *path,
		      const char *application, int64_t epoch);

/**
 * rfm_pcapng_begin() - begin a capture that goes elsewhere
 * @write: takes up to @len bytes, returns how many it took, or -1 with errno;
 *	EAGAIN or EINTR: later. Must not block
 *
 * Returns 0, or -1 with errno ENOMEM.
 */
int rfm_pcapng_begin(struct rfm_pcapng *capture,
		     ssize_t (*write)(void *opaque, const void *data, size_t len), void *opaque,
		     const char *application, int64_t epoch);

/**
 * rfm_pcapng_interface() - name a place where packets are seen
 * @name: e.g. "rx", "port3"
 * @description: a sentence for people, or NULL
 *
 * Before the first packet of it; may also be called later than packets of
 * others. Returns its number, from 0, or -1 with errno: ENOSPC if there are
 * RFM_PCAPNG_INTERFACES already or the buffer has no room for it, or what has
 * ended the capture. Packets of interface -1 are counted lost.
 */
int rfm_pcapng_interface(struct rfm_pcapng *capture, const char *name, const char *description);

/**
 * rfm_pcapng_packet() - add a packet
 * @interface: what rfm_pcapng_interface() returned
 * @time: when it was seen, ns on the owner's clock
 * @wire: the frame, train, packet or link message
 * @len: 1..RFM_PCAPNG_PACKET
 * @comment: what is to be said about it, e.g. a fault that struck it, or NULL
 *
 * A train becomes a packet for each of its frames, unless it is damaged.
 */
void rfm_pcapng_packet(struct rfm_pcapng *capture, int interface,
		       enum rfm_pcapng_direction direction, uint64_t time,
		       const void *wire, unsigned int len, const char *comment);

/**
 * rfm_pcapng_flush() - hand on what was collected
 *
 * Does not wait until it is in the file.
 * To be called now and then (a few times a second), so that who reads the file
 * meanwhile sees what has come; and before the process is left.
 */
void rfm_pcapng_flush(struct rfm_pcapng *capture);

/** rfm_pcapng_has_more() - was the file too busy to take all at the last flush? */
static inline bool rfm_pcapng_has_more(const struct rfm_pcapng *capture)
{
	return capture->part.fill;
}

/**
 * rfm_pcapng_trouble() - has the capture ended with an error?
 *
 * Returns one sentence, once; NULL otherwise. To be asked after a flush: a later
 * one tells of what an earlier one has handed on.
 */
const char *rfm_pcapng_trouble(struct rfm_pcapng *capture);

/**
 * rfm_pcapng_end() - write the counts of each interface, close, free
 *
 * Waits until the disk has taken what is left, but not for the reader of a pipe.
 * Harmless on a zeroed capture and after itself. The counters and
 * rfm_pcapng_trouble() still answer; a packet in the buffer that the file does
 * not take any more counts as lost.
 */
void rfm_pcapng_end(struct rfm_pcapng *capture);

/** rfm_pcapng_is_open() - between create() or begin() and end()? False for a zeroed one */
static inline bool rfm_pcapng_is_open(const struct rfm_pcapng *capture)
{
	return capture->part.data;
}

#endif
