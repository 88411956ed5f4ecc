// SPDX-License-Identifier: MIT
#include "ring/util/pcapng.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/frame.h"
#include "ring/util/pcapng-format.h"
#include "ring/wire.h"

/* A file is written by a thread of its own, as the disk may take its time. */
struct rfm_pcapng_file {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fd;
	/* Under the lock: */
	bool work;	/* the thread has @part, else the owner has */
	bool end;
	int error;
	struct rfm_pcapng_part part;
};

/* Bytes that a block takes at most, with all its options. */
#define TEXT_MAX	(4 + RFM_PCAPNG_TEXT + 1)
#define PACKET_MAX	(BLOCK_FRAME + 20 + RFM_PCAPNG_PACKET + 8 + 12 + TEXT_MAX + 4)
#define INTERFACE_MAX	(BLOCK_FRAME + 8 + 2 * TEXT_MAX + 8 + 4)
#define STATISTICS_MAX	(BLOCK_FRAME + 12 + 12 + 12 + 4)

/* --- writing -------------------------------------------------------------- */

static uint32_t room(const struct rfm_pcapng *capture)
{
	return capture->size - capture->part.fill;
}

static void put_bytes(struct rfm_pcapng *capture, const void *data, uint32_t len)
{
	memcpy(capture->part.data + capture->part.fill, data, len);
	memset(capture->part.data + capture->part.fill + len, 0, padded(len) - len);
	capture->part.fill += padded(len);
}

static void add32(struct rfm_pcapng *capture, uint32_t value)
{
	put32(capture->part.data + capture->part.fill, value);
	capture->part.fill += 4;
}

static void add64(struct rfm_pcapng *capture, uint64_t value)
{
	put64(capture->part.data + capture->part.fill, value);
	capture->part.fill += 8;
}

static void add_option(struct rfm_pcapng *capture, enum option code, const void *data,
		       uint32_t len)
{
	add32(capture, (uint32_t)code | len << 16);
	put_bytes(capture, data, len);
}

static void add_text(struct rfm_pcapng *capture, enum option code, const char *text)
{
	if (text)
		add_option(capture, code, text, strnlen(text, RFM_PCAPNG_TEXT));
}

static void add_counter(struct rfm_pcapng *capture, enum option code, uint64_t count)
{
	uint8_t value[8];

	put64(value, count);
	add_option(capture, code, value, sizeof(value));
}

/* A block begins; its length is not known yet. Returns where. */
static uint32_t begin_block(struct rfm_pcapng *capture, enum block type)
{
	uint32_t start = capture->part.fill;

	add32(capture, type);
	add32(capture, 0);
	return start;
}

static void end_block(struct rfm_pcapng *capture, uint32_t start, bool options)
{
	uint32_t len;

	if (options)
		add32(capture, OPT_END);
	len = capture->part.fill + 4 - start;
	add32(capture, len);
	put32(capture->part.data + start + 4, len);
}

static void add_section(struct rfm_pcapng *capture, const char *application)
{
	uint32_t start = begin_block(capture, BLOCK_SECTION);

	add32(capture, BYTE_ORDER_MAGIC);
	add32(capture, VERSION_MAJOR);		/* minor: 0 */
	add64(capture, UINT64_MAX);		/* length of the section: not told */
	add_text(capture, OPT_APPLICATION, application);
	end_block(capture, start, true);
}

static int begin(struct rfm_pcapng *capture, const char *application, int64_t epoch)
{
	capture->epoch = epoch;
	capture->part.data = malloc(capture->size);
	capture->counts = calloc(RFM_PCAPNG_INTERFACES, sizeof(*capture->counts));
	if (!capture->part.data || !capture->counts) {
		free(capture->part.data);
		free(capture->counts);
		capture->part.data = NULL;
		capture->counts = NULL;
		errno = ENOMEM;
		return -1;
	}
	add_section(capture, application);
	return 0;
}

int rfm_pcapng_begin(struct rfm_pcapng *capture,
		     ssize_t (*write)(void *opaque, const void *data, size_t len), void *opaque,
		     const char *application, int64_t epoch)
{
	*capture = (struct rfm_pcapng){
		.write = write, .opaque = opaque, .size = RFM_PCAPNG_BUFFER
	};
	return begin(capture, application, epoch);
}

static uint32_t block_length(const uint8_t *block)
{
	return get32(block + 4);
}

/* What of this part is not in the file, or not whole, will never be. */
static void count_lost(struct rfm_pcapng *capture, struct rfm_pcapng_part *part)
{
	uint32_t next;

	for (uint32_t at = 0; at < part->fill; at = next) {
		next = at + block_length(part->data + at);
		if (next <= part->sent || get32(part->data + at) != BLOCK_PACKET)
			continue;
		capture->packets--;
		capture->lost++;
	}
	part->fill = part->sent = 0;
}

static void fail_with(struct rfm_pcapng *capture, int error)
{
	capture->error = error;
	if (capture->file)
		count_lost(capture, &capture->file->part);
	count_lost(capture, &capture->part);
}

/* The part begins with a block: one that is in the file in part stays whole. */
static void drop_sent(struct rfm_pcapng_part *part)
{
	uint32_t whole = 0;

	while (whole < part->sent) {
		uint32_t len = block_length(part->data + whole);

		if (len > part->sent - whole)
			break;
		whole += len;
	}
	part->fill -= whole;
	part->sent -= whole;
	memmove(part->data, part->data + whole, part->fill);
}

/* As much as is taken now. Returns 0, or the errno that ends the capture. */
static int write_part(struct rfm_pcapng_part *part,
		      ssize_t (*write)(void *opaque, const void *data, size_t len), void *opaque)
{
	while (part->sent < part->fill) {
		ssize_t n = write(opaque, part->data + part->sent, part->fill - part->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return errno;
		if (n <= 0)
			break;
		part->sent += n;
	}
	return 0;
}

/* --- the file and its thread ------------------------------------------------ */

static ssize_t write_to_file(void *opaque, const void *data, size_t len)
{
	const struct rfm_pcapng_file *file = opaque;

	return write(file->fd, data, len);
}

static void *file_thread(void *opaque)
{
	struct rfm_pcapng_file *file = opaque;
	int error;

	pthread_mutex_lock(&file->lock);
	for (;;) {
		while (!file->work && !file->end)
			pthread_cond_wait(&file->changed, &file->lock);
		if (!file->work)
			break;
		pthread_mutex_unlock(&file->lock);
		error = write_part(&file->part, write_to_file, file);
		pthread_mutex_lock(&file->lock);
		file->error = error;
		file->work = false;
		pthread_cond_signal(&file->changed);
	}
	pthread_mutex_unlock(&file->lock);
	return NULL;
}

/* If the thread is idle, it gets what was collected, or tries again what it has. */
static void submit_part(struct rfm_pcapng *capture)
{
	struct rfm_pcapng_file *file = capture->file;

	pthread_mutex_lock(&file->lock);
	if (!file->work && file->error) {
		fail_with(capture, file->error);
	} else if (!file->work) {
		if (file->part.sent == file->part.fill) {
			struct rfm_pcapng_part written = file->part;

			file->part = capture->part;
			capture->part = (struct rfm_pcapng_part){ .data = written.data };
		}
		file->work = file->part.sent < file->part.fill;
		pthread_cond_signal(&file->changed);
	}
	pthread_mutex_unlock(&file->lock);
}

static void wait_for_file(struct rfm_pcapng_file *file)
{
	pthread_mutex_lock(&file->lock);
	while (file->work)
		pthread_cond_wait(&file->changed, &file->lock);
	pthread_mutex_unlock(&file->lock);
}

/* All signals are for the program's own threads, and none is told of a pipe without reader. */
static int start_file_thread(struct rfm_pcapng_file *file)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&file->thread, NULL, file_thread, file);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static struct rfm_pcapng_file *open_capture_file(int fd)
{
	struct rfm_pcapng_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->fd = fd;
	pthread_mutex_init(&file->lock, NULL);
	pthread_cond_init(&file->changed, NULL);
	file->part.data = malloc(RFM_PCAPNG_FILE_BUFFER);
	if (file->part.data && !start_file_thread(file))
		return file;
	free(file->part.data);
	free(file);
	return NULL;
}

/* Returns 0, or the errno of the last writes. */
static int close_capture_file(struct rfm_pcapng_file *file)
{
	int error = 0;

	pthread_mutex_lock(&file->lock);
	file->end = true;
	pthread_cond_signal(&file->changed);
	pthread_mutex_unlock(&file->lock);
	pthread_join(file->thread, NULL);
	if (close(file->fd))
		error = errno;
	pthread_cond_destroy(&file->changed);
	pthread_mutex_destroy(&file->lock);
	free(file->part.data);
	free(file);
	return error;
}

int rfm_pcapng_create(struct rfm_pcapng *capture, const char *path,
		      const char *application, int64_t epoch)
{
	/* O_NONBLOCK: the end of a capture must not wait for the reader of a FIFO. */
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		      0644);

	*capture = (struct rfm_pcapng){ .size = RFM_PCAPNG_FILE_BUFFER };
	if (fd < 0)
		return -1;
	capture->file = open_capture_file(fd);
	if (!capture->file) {
		close(fd);
		errno = ENOMEM;
		return -1;
	}
	if (begin(capture, application, epoch)) {
		close_capture_file(capture->file);
		capture->file = NULL;
		errno = ENOMEM;
		return -1;
	}
	return 0;
}

/* --- packets ---------------------------------------------------------------- */

void rfm_pcapng_flush(struct rfm_pcapng *capture)
{
	int error;

	if (!capture->part.data || capture->error)
		return;
	if (capture->file) {
		submit_part(capture);
		return;
	}
	error = write_part(&capture->part, capture->write, capture->opaque);
	if (error)
		fail_with(capture, error);
	else
		drop_sent(&capture->part);
}

/* Is there room for @len bytes, if need be after a flush? */
static bool make_room(struct rfm_pcapng *capture, uint32_t len)
{
	if (room(capture) < len)
		rfm_pcapng_flush(capture);
	return !capture->error && room(capture) >= len;
}

int rfm_pcapng_interface(struct rfm_pcapng *capture, const char *name, const char *description)
{
	uint8_t resolution = NANOSECONDS;
	uint32_t start;

	if (capture->interfaces == RFM_PCAPNG_INTERFACES || !make_room(capture, INTERFACE_MAX)) {
		errno = capture->error ? capture->error : ENOSPC;
		return -1;
	}
	start = begin_block(capture, BLOCK_INTERFACE);
	add32(capture, RFM_PCAPNG_LINKTYPE);
	add32(capture, 0);			/* no limit to a packet's length */
	add_text(capture, OPT_NAME, name);
	add_text(capture, OPT_DESCRIPTION, description);
	add_option(capture, OPT_RESOLUTION, &resolution, sizeof(resolution));
	end_block(capture, start, true);
	return capture->interfaces++;
}

static void add_packet(struct rfm_pcapng *capture, uint32_t interface,
		       enum rfm_pcapng_direction direction, const void *wire, unsigned int len,
		       const char *comment)
{
	struct rfm_pcapng_count *count = &capture->counts[interface];
	uint32_t start = begin_block(capture, BLOCK_PACKET);
	uint8_t flags[4];

	add32(capture, interface);
	add32(capture, capture->latest >> 32);
	add32(capture, capture->latest);
	add32(capture, len);			/* captured */
	add32(capture, len);			/* on the wire */
	put_bytes(capture, wire, len);
	put32(flags, direction);
	add_option(capture, OPT_FLAGS, flags, sizeof(flags));
	if (count->unreported)
		add_counter(capture, OPT_DROPPED, count->unreported);
	count->unreported = 0;
	add_text(capture, OPT_COMMENT, comment);
	end_block(capture, start, true);
}

static void one_packet(struct rfm_pcapng *capture, int interface,
		       enum rfm_pcapng_direction direction, uint64_t time,
		       const void *wire, unsigned int len, const char *comment)
{
	struct rfm_pcapng_count *count;

	if (!capture->part.data || interface < 0 || (uint32_t)interface >= capture->interfaces ||
	    len > RFM_PCAPNG_PACKET) {
		capture->lost++;
		return;
	}
	count = &capture->counts[interface];
	count->seen++;
	if (!make_room(capture, PACKET_MAX)) {
		count->lost++;
		count->unreported++;
		capture->lost++;
		return;
	}
	capture->latest = time + (uint64_t)capture->epoch;
	add_packet(capture, interface, direction, wire, len, comment);
	capture->packets++;
	if (capture->file && capture->part.fill >= RFM_PCAPNG_BUFFER)
		rfm_pcapng_flush(capture);
}

/*
 * A train as its frames; false of what is none, or is damaged. It may stand in memory that a
 * neighbour writes to: what is checked must be what is used.
 */
static __attribute__((noinline)) bool
frames_of_train(struct rfm_pcapng *capture, int interface, enum rfm_pcapng_direction direction,
		uint64_t time, const void *wire, unsigned int len, const char *comment)
{
	uint8_t unit[RFM_UNIT_MAX], one[RFM_FRAME_MAX];
	struct rfm_frame train;

	memcpy(unit, wire, len);
	if (!rfm_frame_is_train(unit) || rfm_frame_length(unit) != (int)len ||
	    rfm_frame_decode_header(unit, &train) != RFM_FRAME_OK)
		return false;
	for (unsigned int i = 0; i < train.count; i++)
		one_packet(capture, interface, direction, time, one,
			   rfm_train_frame(unit, i, one), comment);
	return true;
}

void rfm_pcapng_packet(struct rfm_pcapng *capture, int interface,
		       enum rfm_pcapng_direction direction, uint64_t time,
		       const void *wire, unsigned int len, const char *comment)
{
	if (len <= RFM_FRAME_MAX || len > RFM_UNIT_MAX ||
	    !frames_of_train(capture, interface, direction, time, wire, len, comment))
		one_packet(capture, interface, direction, time, wire, len, comment);
}

const char *rfm_pcapng_trouble(struct rfm_pcapng *capture)
{
	if (!capture->error || capture->error_reported)
		return NULL;
	capture->error_reported = true;
	switch (capture->error) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "the capture ends here: no room for the file";
	case EPIPE:
		return "the capture ends here: nobody reads it any more";
	default:
		return "the capture ends here: its file cannot be written";
	}
}

static void add_statistics(struct rfm_pcapng *capture, uint32_t interface)
{
	uint32_t start = begin_block(capture, BLOCK_STATISTICS);

	add32(capture, interface);
	add32(capture, capture->latest >> 32);
	add32(capture, capture->latest);
	add_counter(capture, OPT_RECEIVED, capture->counts[interface].seen);
	add_counter(capture, OPT_IF_DROPPED, capture->counts[interface].lost);
	end_block(capture, start, true);
}

/* What was collected goes out, unless a FIFO's reader does not take it now. */
static void hand_on_all(struct rfm_pcapng *capture)
{
	for (unsigned int parts = 0; parts < 2; parts++) {
		rfm_pcapng_flush(capture);
		if (capture->file)
			wait_for_file(capture->file);
	}
}

void rfm_pcapng_end(struct rfm_pcapng *capture)
{
	int error;

	if (!capture->part.data)
		return;
	if (capture->file)
		wait_for_file(capture->file);
	for (uint32_t i = 0; i < capture->interfaces; i++) {
		if (make_room(capture, STATISTICS_MAX))
			add_statistics(capture, i);
	}
	hand_on_all(capture);
	if (capture->file) {
		if (!capture->error && capture->file->error)
			capture->error = capture->file->error;
		count_lost(capture, &capture->file->part);
		error = close_capture_file(capture->file);
		if (!capture->error)
			capture->error = error;
		capture->file = NULL;
	}
	count_lost(capture, &capture->part);
	free(capture->part.data);
	free(capture->counts);
	capture->part.data = NULL;
	capture->counts = NULL;
}
