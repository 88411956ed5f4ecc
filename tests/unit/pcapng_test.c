// SPDX-License-Identifier: MIT
/* Capture files: what is written is read back; what is hostile is refused in one sentence. */
/* links: tools/rmnode/pcapng_reader.c */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <unistd.h>

#include "ring/frame.h"
#include "ring/util/pcapng.h"
#include "ring/wire.h"
#include "tools/rmnode/pcapng_reader.h"

/* A file in memory that takes what it is told to. */
struct sink {
	uint8_t data[1 << 20];
	size_t len;
	size_t takes;		/* bytes of the next calls together; then EAGAIN */
	int error;		/* instead */
	unsigned int calls;
};

static struct sink sink;

static ssize_t sink_write(void *opaque, const void *data, size_t len)
{
	struct sink *to = opaque;

	to->calls++;
	if (to->error || !to->takes) {
		errno = to->error ? to->error : EAGAIN;
		return -1;
	}
	if (len > to->takes)
		len = to->takes;
	assert_true(to->len + len <= sizeof(to->data));
	memcpy(to->data + to->len, data, len);
	to->len += len;
	to->takes -= len;
	return len;
}

static void begin(struct rfm_pcapng *capture, size_t takes, int64_t epoch)
{
	sink.len = 0;
	sink.calls = 0;
	sink.error = 0;
	sink.takes = takes;
	assert_int_equal(rfm_pcapng_begin(capture, sink_write, &sink, "test", epoch), 0);
}

static void read_begin(struct pcapng_reader *reader, const void *data, size_t len)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	rewind(file);
	assert_int_equal(pcapng_read_begin(reader, file), 0);
}

static void read_end(struct pcapng_reader *reader)
{
	fclose(reader->file);
	pcapng_read_end(reader);
}

static unsigned int fill_wire(uint8_t *wire, unsigned int number)
{
	unsigned int len = number % (RFM_PCAPNG_PACKET + 1);

	for (unsigned int i = 0; i < len; i++)
		wire[i] = number * 7 + i;
	return len;
}

/* Two interfaces, @packets packets in turn. */
static void write_packets(struct rfm_pcapng *capture, unsigned int packets)
{
	uint8_t wire[RFM_PCAPNG_PACKET];

	assert_int_equal(rfm_pcapng_interface(capture, "rx", "from upstream"), 0);
	assert_int_equal(rfm_pcapng_interface(capture, "tx", NULL), 1);
	for (unsigned int i = 0; i < packets; i++)
		rfm_pcapng_packet(capture, i & 1, i & 1 ? RFM_PCAPNG_OUT : RFM_PCAPNG_IN,
				  1000 + i, wire, fill_wire(wire, i), i % 3 ? NULL : "third");
}

static void what_is_written_is_read(void **state)
{
	struct pcapng_reader reader;
	struct pcapng_record record;
	struct rfm_pcapng capture;
	uint8_t wire[RFM_PCAPNG_PACKET];

	(void)state;
	begin(&capture, SIZE_MAX, 1700000000000000000);
	write_packets(&capture, 500);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.packets, 500);
	assert_int_equal(capture.lost, 0);
	assert_null(rfm_pcapng_trouble(&capture));

	read_begin(&reader, sink.data, sink.len);
	for (unsigned int i = 0; i < 500; i++) {
		unsigned int len = fill_wire(wire, i);

		assert_int_equal(pcapng_read_next(&reader, &record), 1);
		assert_int_equal(record.interface, i & 1);
		assert_string_equal(record.interface_name, i & 1 ? "tx" : "rx");
		assert_int_equal(record.direction, i & 1 ? RFM_PCAPNG_OUT : RFM_PCAPNG_IN);
		assert_int_equal(record.time, 1700000000000001000 + i);
		assert_int_equal(record.len, len);
		assert_memory_equal(record.wire, wire, len);
	}
	assert_int_equal(pcapng_read_next(&reader, &record), 0);
	assert_int_equal(pcapng_read_next(&reader, &record), 0);
	assert_string_equal(reader.error, "");
	assert_int_equal(reader.skipped, 0);
	read_end(&reader);
}

/* The next record is these bytes. */
static void assert_next(struct pcapng_reader *reader, const uint8_t *wire, unsigned int len)
{
	struct pcapng_record record;

	assert_int_equal(pcapng_read_next(reader, &record), 1);
	assert_int_equal(record.len, len);
	assert_memory_equal(record.wire, wire, len);
	assert_int_equal(record.time, 5);
}

/* A train is its frames, unless it is damaged; a packet of as many bytes is never but one. */
static void trains_and_packets(void **state)
{
	struct rfm_frame frame = {
		.source = 3, .hops = 1, .count = 3, .length = 2 * RFM_FRAME_DATA_MAX + 9,
		.incarnation = 1, .seq = 1,
	};
	uint8_t wires[4][RFM_UNIT_MAX] = { 0 }, one[RFM_FRAME_MAX];
	struct pcapng_reader reader;
	struct pcapng_record record;
	struct rfm_pcapng capture;
	unsigned int len = 0;

	(void)state;
	begin(&capture, SIZE_MAX, 0);
	assert_int_equal(rfm_pcapng_interface(&capture, "rx", NULL), 0);
	for (int i = 0; i < 4; i++) {
		for (unsigned int at = 0; at < frame.length; at++)
			wires[i][RFM_FRAME_HEADER + at] = i + at * 3;
		frame.type = i & 1 ? RFM_FRAME_DATA : RFM_FRAME_PACKET;
		len = i & 1 ? rfm_train_encode(&frame, wires[i]) :
			      rfm_packet_encode(&frame, wires[i]);
		wires[i][len - 1] ^= i > 1;
		rfm_pcapng_packet(&capture, 0, RFM_PCAPNG_IN, 5, wires[i], len, NULL);
	}
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.packets, 1 + 3 + 1 + 1);

	read_begin(&reader, sink.data, sink.len);
	assert_next(&reader, wires[0], len);
	for (unsigned int i = 0; i < 3; i++)
		assert_next(&reader, one, rfm_train_frame(wires[1], i, one));
	assert_next(&reader, wires[2], len);
	assert_next(&reader, wires[3], len);
	assert_int_equal(pcapng_read_next(&reader, &record), 0);
	read_end(&reader);
}

/* The packets of a file, and 0 or -1 as its end was. */
static unsigned int count_packets(const void *data, size_t len, int *end, char *error)
{
	struct pcapng_reader reader;
	struct pcapng_record record;
	unsigned int packets = 0;

	read_begin(&reader, data, len);
	while ((*end = pcapng_read_next(&reader, &record)) == 1)
		packets++;
	assert_int_equal(pcapng_read_next(&reader, &record), *end);
	if (error)
		strcpy(error, reader.error);
	read_end(&reader);
	return packets;
}

/* A slow reader: nothing is written twice or torn, what is lost is counted and told. */
static void slow_reader_loses_whole_packets(void **state)
{
	struct rfm_pcapng capture;
	uint64_t random = 3;
	uint8_t wire[112] = { 0 };
	unsigned int before;
	int end;

	(void)state;
	begin(&capture, SIZE_MAX, 0);
	write_packets(&capture, 0);
	for (unsigned int i = 0; i < 5000; i++) {
		if (i % 10 == 0) {
			sink.takes = test_random(&random) % 700;
			rfm_pcapng_flush(&capture);
		}
		rfm_pcapng_packet(&capture, 0, RFM_PCAPNG_IN, i, wire, sizeof(wire), NULL);
	}
	assert_true(capture.lost > 100);
	assert_int_equal(capture.packets + capture.lost, 5000);
	before = capture.lost;
	sink.takes = SIZE_MAX;
	rfm_pcapng_packet(&capture, 0, RFM_PCAPNG_IN, 1, wire, sizeof(wire), NULL);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.lost, before);
	assert_int_equal(capture.packets + capture.lost, 5001);
	assert_null(rfm_pcapng_trouble(&capture));
	assert_int_equal(count_packets(sink.data, sink.len, &end, NULL), capture.packets);
	assert_int_equal(end, 0);
}

/* The sum of the drop counts that packets carry is what was lost between them. */
static void packets_tell_of_losses_before_them(void **state)
{
	struct rfm_pcapng capture;
	uint8_t wire[112] = { 0 };
	uint64_t told = 0, lost;

	(void)state;
	begin(&capture, 0, 0);
	write_packets(&capture, 0);
	for (unsigned int i = 0; i < 1000; i++)
		rfm_pcapng_packet(&capture, 1, RFM_PCAPNG_OUT, i, wire, sizeof(wire), NULL);
	lost = capture.lost;
	assert_true(lost > 0);
	sink.takes = SIZE_MAX;
	rfm_pcapng_packet(&capture, 1, RFM_PCAPNG_OUT, 0, wire, sizeof(wire), NULL);
	rfm_pcapng_packet(&capture, 1, RFM_PCAPNG_OUT, 0, wire, sizeof(wire), NULL);
	rfm_pcapng_end(&capture);
	/* epb_dropcount: option 4 of 8 bytes, behind the flags of a packet of 112 bytes */
	for (size_t at = 0; at < sink.len; at += get32(sink.data + at + 4)) {
		const uint8_t *options = sink.data + at + 28 + 112;

		if (get32(sink.data + at) == 6 && get32(options + 8) == (4 | 8u << 16))
			told += get64(options + 12);
	}
	assert_int_equal(told, lost);
}

static void write_error_ends_the_capture_once(void **state)
{
	struct rfm_pcapng capture;
	uint8_t wire[112] = { 0 };
	unsigned int calls;

	(void)state;
	begin(&capture, SIZE_MAX, 0);
	write_packets(&capture, 2);
	rfm_pcapng_flush(&capture);
	assert_null(rfm_pcapng_trouble(&capture));
	sink.error = ENOSPC;
	rfm_pcapng_packet(&capture, 0, RFM_PCAPNG_IN, 1, wire, sizeof(wire), NULL);
	rfm_pcapng_flush(&capture);
	assert_int_equal(capture.error, ENOSPC);
	calls = sink.calls;
	rfm_pcapng_packet(&capture, 0, RFM_PCAPNG_IN, 1, wire, sizeof(wire), NULL);
	assert_int_equal(rfm_pcapng_interface(&capture, "late", NULL), -1);
	assert_int_equal(errno, ENOSPC);
	rfm_pcapng_packet(&capture, -1, RFM_PCAPNG_IN, 1, wire, sizeof(wire), NULL);
	rfm_pcapng_flush(&capture);
	assert_int_equal(sink.calls, calls);
	assert_int_equal(capture.packets, 2);
	assert_int_equal(capture.lost, 3);
	assert_non_null(strstr(rfm_pcapng_trouble(&capture), "no room"));
	assert_null(rfm_pcapng_trouble(&capture));
	rfm_pcapng_end(&capture);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.lost, 3);
}

static void long_texts_are_cut(void **state)
{
	struct pcapng_reader reader;
	struct pcapng_record record;
	struct rfm_pcapng capture;
	char text[3000];
	uint8_t wire[RFM_PCAPNG_PACKET + 1] = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	begin(&capture, SIZE_MAX, 0);
	for (int i = 0; i < RFM_PCAPNG_INTERFACES; i++)
		assert_int_equal(rfm_pcapng_interface(&capture, text, text), i);
	assert_int_equal(rfm_pcapng_interface(&capture, "a", NULL), -1);
	assert_int_equal(errno, ENOSPC);
	rfm_pcapng_packet(&capture, 255, RFM_PCAPNG_IN, 1, wire, RFM_PCAPNG_PACKET, text);
	rfm_pcapng_packet(&capture, 255, RFM_PCAPNG_IN, 1, wire, RFM_PCAPNG_PACKET + 1, text);
	rfm_pcapng_packet(&capture, 256, RFM_PCAPNG_IN, 1, wire, 1, text);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.lost, 2);

	read_begin(&reader, sink.data, sink.len);
	assert_int_equal(pcapng_read_next(&reader, &record), 1);
	assert_int_equal(record.interface, 255);
	assert_int_equal(strlen(record.interface_name), RFM_PCAPNG_TEXT);
	assert_int_equal(record.len, RFM_PCAPNG_PACKET);
	assert_int_equal(pcapng_read_next(&reader, &record), 0);
	read_end(&reader);
}

/* --- files that are not as they should be --------------------------------- */

static size_t sample(void)
{
	struct rfm_pcapng capture;

	begin(&capture, SIZE_MAX, 0);
	write_packets(&capture, 40);
	rfm_pcapng_end(&capture);
	return sink.len;
}

static bool is_a_sentence(const char *text)
{
	return strlen(text) > 20 && !strchr(text, '\n') && strlen(text) < 159;
}

/* Cut anywhere: the packets before are read, then one sentence; at a block's end none. */
static void cut_files_say_so(void **state)
{
	size_t len = sample(), next = 0;
	unsigned int packets = 0;
	char error[160];
	int end;

	(void)state;
	for (size_t cut = 0; cut < len; cut++) {
		bool whole = cut && cut == next;

		if (whole || !cut) {
			packets += cut && get32(sink.data + cut - get32(sink.data + cut - 4)) == 6;
			next = cut + get32(sink.data + cut + 4);
		}
		assert_int_equal(count_packets(sink.data, cut, &end, error), packets);
		assert_int_equal(end, whole ? 0 : -1);
		assert_int_equal(is_a_sentence(error), !whole);
		if (cut >= 8 && !whole)
			assert_non_null(strstr(error, "cut off"));
	}
}

static void swap(uint8_t *p, unsigned int len)
{
	for (unsigned int i = 0; i < len / 2; i++) {
		uint8_t byte = p[i];

		p[i] = p[len - 1 - i];
		p[len - 1 - i] = byte;
	}
}

/* A file by hand in the other byte order, in microseconds, as another program may write it. */
static void the_other_byte_order(void **state)
{
	uint32_t words[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		1, 20, 147, 0, 20,
		6, 48, 0, 2, 5, 5, 5, 0, 0, 0x00020004, 1, 48,
		0x0bad, 16, 1, 16,
	};
	struct pcapng_reader reader;
	struct pcapng_record record;
	uint8_t file[sizeof(words)];

	(void)state;
	memcpy(file, words, sizeof(file));
	for (size_t i = 0; i < sizeof(file); i += 4)
		swap(file + i, 4);
	/* pairs of 16-bit fields: version, link type */
	memcpy(file + 12, "\0\1\0\0", 4);
	memcpy(file + 36, "\0\223\0\0", 4);
	memcpy(file + 76, "hello\0\0\0", 8);
	memcpy(file + 84, "\0\2\0\4", 4);

	read_begin(&reader, file, sizeof(file));
	assert_int_equal(pcapng_read_next(&reader, &record), 1);
	assert_int_equal(record.time, ((2ull << 32) + 5) * 1000);
	assert_int_equal(record.len, 5);
	assert_memory_equal(record.wire, "hello", 5);
	assert_int_equal(record.direction, RFM_PCAPNG_IN);
	assert_int_equal(pcapng_read_next(&reader, &record), 0);
	assert_int_equal(reader.skipped, 1);
	read_end(&reader);
}

static void foreign_files_are_refused(void **state)
{
	static const uint32_t ethernet[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		1, 20, 1, 0, 20,
	};
	static const uint32_t version_2[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000002, 0xffffffff, 0xffffffff, 28,
	};
	static const uint32_t no_interface[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		6, 32, 0, 0, 0, 0, 0, 32,
	};
	static const uint32_t huge_block[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		1, 0xfffffffc, 147, 0, 20,
	};
	static const uint32_t huge_packet[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		1, 20, 147, 0, 20,
		6, 36, 0, 0, 0, 0xffffffff, 0xffffffff, 0, 36,
	};
	static const uint32_t longer_than_its_block[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 28,
		1, 20, 147, 0, 20,
		6, 36, 0, 0, 0, 5, 5, 0, 36,
	};
	static const uint32_t two_lengths[] = {
		0x0a0d0d0a, 28, 0x1a2b3c4d, 0x00000001, 0xffffffff, 0xffffffff, 32,
	};
	static const uint32_t classic[] = { 0xa1b2c3d4, 0x00040002, 0, 0, 65535, 147 };
	static const struct {
		const void *data;
		size_t len;
		const char *word;
	} rows[] = {
		{ "", 0, "not a pcapng" },
		{ "Hello, this is a text", 21, "not a pcapng" },
		{ classic, sizeof(classic), "not a pcapng" },
		{ "\x0a\x0d\x0d\x0a\x1c\0\0\0abcdefghijklmnopqrst", 28, "byte order" },
		{ ethernet, sizeof(ethernet), "link type 1," },
		{ version_2, sizeof(version_2), "version 2" },
		{ no_interface, sizeof(no_interface), "does not have" },
		{ huge_block, sizeof(huge_block), "damaged" },
		{ huge_packet, sizeof(huge_packet), "longer than can be" },
		{ longer_than_its_block, sizeof(longer_than_its_block), "a packet of 5 bytes" },
		{ two_lengths, sizeof(two_lengths), "two lengths" },
	};
	char error[160];
	int end;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(count_packets(rows[i].data, rows[i].len, &end, error), 0);
		assert_int_equal(end, -1);
		if (!is_a_sentence(error) || !strstr(error, rows[i].word))
			fail_msg("%s: '%s'", rows[i].word, error);
	}
}

/* Any bytes: an end in finite time, and one sentence or none. */
static void damaged_files_do_no_harm(void **state)
{
	static uint8_t file[1 << 16];
	size_t len = sample();
	uint64_t random = 11;
	char error[160];
	int end;

	(void)state;
	assert_true(len <= sizeof(file));
	for (unsigned int round = 0; round < 3000; round++) {
		memcpy(file, sink.data, len);
		for (unsigned int i = test_random(&random) % 8 + 1; i; i--) {
			size_t at = test_random(&random) % (round % 2 ? len : 400);

			file[at] = round % 3 ? test_random(&random) : file[at] ^ 0x80;
		}
		assert_true(count_packets(file, len, &end, error) <= 40);
		assert_int_equal(end == -1, is_a_sentence(error));
	}
}

/* --- real files ----------------------------------------------------------- */

#define MANY 100000	/* packets, more than any buffer holds */

/* Who holds it makes the disk stand still. */
static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

ssize_t write(int fd, const void *data, size_t len)
{
	ssize_t n;

	pthread_mutex_lock(&disk);
	n = syscall(SYS_write, fd, data, len);
	pthread_mutex_unlock(&disk);
	return n;
}

static char folder[32], path[64];

/* @path leads to it; it is not there yet. */
static void name_a_file(const char *name)
{
	snprintf(folder, sizeof(folder), "/tmp/pcapng_test.XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%s", folder, name);
}

static void remove_file(void)
{
	unlink(path);
	rmdir(folder);
}

/* The capture @path, begun. */
static void create(struct rfm_pcapng *capture)
{
	assert_int_equal(rfm_pcapng_create(capture, path, "test", 0), 0);
	write_packets(capture, 0);
}

/* So many as large as a frame can be; with @flush more often than it must be. */
static void write_many(struct rfm_pcapng *capture, unsigned int count, bool flush)
{
	uint8_t wire[112] = { 0 };

	for (unsigned int i = 0; i < count; i++) {
		rfm_pcapng_packet(capture, 0, RFM_PCAPNG_IN, i, wire, sizeof(wire), NULL);
		if (flush && i % 100 == 0)
			rfm_pcapng_flush(capture);
	}
}

static void a_file_by_name(void **state)
{
	struct rfm_pcapng capture;
	struct stat info;
	uint8_t data[1024];
	FILE *file;
	int end;

	(void)state;
	name_a_file("x/y");
	assert_int_equal(rfm_pcapng_create(&capture, path, "test", 0), -1);
	assert_int_equal(errno, ENOENT);
	rfm_pcapng_end(&capture);

	snprintf(path, sizeof(path), "%s/capture", folder);
	assert_int_equal(rfm_pcapng_create(&capture, path, "test", 0), 0);
	write_packets(&capture, 3);
	rfm_pcapng_flush(&capture);
	do
		assert_int_equal(stat(path, &info), 0);
	while (info.st_size <= 100);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.error, 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(count_packets(data, fread(data, 1, sizeof(data), file), &end, NULL), 3);
	assert_int_equal(end, 0);
	fclose(file);
	remove_file();
}

/* Nobody reads: the pipe fills, the writer does not wait. */
static void a_pipe_that_nobody_reads(void **state)
{
	struct rfm_pcapng capture;
	int reader;

	(void)state;
	name_a_file("fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(rfm_pcapng_create(&capture, path, "test", 0), -1);
	assert_int_equal(errno, ENXIO);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	create(&capture);
	write_many(&capture, MANY, false);
	assert_true(capture.lost > MANY / 2);
	assert_null(rfm_pcapng_trouble(&capture));
	close(reader);		/* and SIGPIPE would end the program */
	do
		rfm_pcapng_flush(&capture);
	while (!capture.error);
	assert_non_null(strstr(rfm_pcapng_trouble(&capture), "nobody reads"));
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.packets + capture.lost, MANY);
	remove_file();
}

/* Its end does not wait for a reader that stays away. */
static void a_pipe_that_is_left_full(void **state)
{
	struct rfm_pcapng capture;
	int reader;

	(void)state;
	name_a_file("fifo");
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK);
	create(&capture);
	write_many(&capture, 1000, false);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.packets + capture.lost, 1000);
	assert_in_range(capture.packets, 1, 999);
	close(reader);
	remove_file();
}

/*
 * The disk takes nothing for as long as it likes: nobody waits for it. What it
 * gets when it moves again is whole, and tells of what there was no room for.
 */
static void a_disk_that_stands_still(void **state)
{
	static uint8_t data[3 * RFM_PCAPNG_FILE_BUFFER];
	struct rfm_pcapng capture;
	FILE *file;
	int end;

	(void)state;
	name_a_file("capture");
	create(&capture);
	pthread_mutex_lock(&disk);
	alarm(60);		/* who waits for the disk waits for ever */
	write_many(&capture, MANY, true);
	alarm(0);
	assert_true(capture.lost > 0 && capture.packets > 0);
	pthread_mutex_unlock(&disk);
	rfm_pcapng_end(&capture);
	assert_int_equal(capture.error, 0);
	assert_int_equal(capture.packets + capture.lost, MANY);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(count_packets(data, fread(data, 1, sizeof(data), file), &end, NULL),
			 capture.packets);
	assert_int_equal(end, 0);
	fclose(file);
	remove_file();
}

static void a_capture_that_never_began(void **state)
{
	struct rfm_pcapng capture = { 0 };

	(void)state;
	assert_false(rfm_pcapng_is_open(&capture));
	rfm_pcapng_flush(&capture);
	assert_null(rfm_pcapng_trouble(&capture));
	rfm_pcapng_end(&capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(trains_and_packets),
		cmocka_unit_test(slow_reader_loses_whole_packets),
		cmocka_unit_test(packets_tell_of_losses_before_them),
		cmocka_unit_test(write_error_ends_the_capture_once),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(cut_files_say_so),
		cmocka_unit_test(the_other_byte_order),
		cmocka_unit_test(foreign_files_are_refused),
		cmocka_unit_test(damaged_files_do_no_harm),
		cmocka_unit_test(a_file_by_name),
		cmocka_unit_test(a_pipe_that_nobody_reads),
		cmocka_unit_test(a_pipe_that_is_left_full),
		cmocka_unit_test(a_disk_that_stands_still),
		cmocka_unit_test(a_capture_that_never_began),
	};

	return cmocka_run_group_tests_name("pcapng", tests, NULL, NULL);
}
