// SPDX-License-Identifier: MIT
#include "pcapng_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ring/util/pcapng-format.h"
#include "ring/util/pcapng.h"
#include "ring/wire.h"

#define BLOCK_KEPT	4096	/* bytes of a block that we look at */
#define BLOCK_LIMIT	0x10000000u

/* What an interface of a file says about its packets. */
struct pcapng_interface {
	char name[RFM_PCAPNG_TEXT + 1];
	uint8_t resolution;
	int64_t offset;		/* s */
};

int pcapng_read_begin(struct pcapng_reader *reader, FILE *file)
{
	*reader = (struct pcapng_reader){ .file = file };
	reader->block = malloc(BLOCK_KEPT);
	reader->known = calloc(RFM_PCAPNG_INTERFACES, sizeof(*reader->known));
	if (reader->block && reader->known)
		return 0;
	pcapng_read_end(reader);
	errno = ENOMEM;
	return -1;
}

void pcapng_read_end(struct pcapng_reader *reader)
{
	free(reader->block);
	free(reader->known);
	reader->block = NULL;
	reader->known = NULL;
	reader->failed = true;
}

__attribute__((format(printf, 2, 3)))
static int fail(struct pcapng_reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reader->error, sizeof(reader->error), format, args);
	va_end(args);
	reader->failed = true;
	return -1;
}

static int damaged(struct pcapng_reader *reader, const char *what, uint32_t len)
{
	return fail(reader, "the capture is damaged: %s of %" PRIu32 " bytes at byte %" PRIu64,
		    what, len, reader->at);
}

static int cut_off(struct pcapng_reader *reader)
{
	if (ferror(reader->file))
		return fail(reader, "the capture cannot be read on at byte %" PRIu64, reader->at);
	return fail(reader, "the capture is cut off: a block that begins at byte %" PRIu64
		    " is not whole", reader->at);
}

static uint16_t load16(const struct pcapng_reader *reader, const uint8_t *p)
{
	return reader->swapped ? __builtin_bswap16(get16(p)) : get16(p);
}

static uint32_t load32(const struct pcapng_reader *reader, const uint8_t *p)
{
	return reader->swapped ? __builtin_bswap32(get32(p)) : get32(p);
}

static uint64_t load64(const struct pcapng_reader *reader, const uint8_t *p)
{
	return reader->swapped ? __builtin_bswap64(get64(p)) : get64(p);
}

/* A section begins: its byte order holds for its own length already. */
static int learn_byte_order(struct pcapng_reader *reader)
{
	if (fread(reader->block + 8, 1, 4, reader->file) != 4)
		return cut_off(reader);
	reader->swapped = get32(reader->block + 8) != BYTE_ORDER_MAGIC;
	if (load32(reader, reader->block + 8) == BYTE_ORDER_MAGIC)
		return 0;
	return fail(reader, "not a pcapng capture: no byte order at byte %" PRIu64, reader->at);
}

/*
 * Read the next block into reader->block, as much of it as we look at.
 * Returns its length, 0 at the end of the file, or -1.
 */
static int64_t read_block(struct pcapng_reader *reader)
{
	uint8_t trailer[4];
	uint32_t have = 8, kept, len;
	size_t n = fread(reader->block, 1, 8, reader->file);

	if (!n && feof(reader->file) && reader->in_section)
		return 0;
	if (!reader->in_section && (n < 4 || get32(reader->block) != BLOCK_SECTION))
		return fail(reader, "not a pcapng capture: it does not begin like one");
	if (n < 8)
		return cut_off(reader);
	if (get32(reader->block) == BLOCK_SECTION) {	/* reads the same both ways */
		if (learn_byte_order(reader))
			return -1;
		have = 12;
	}
	len = load32(reader, reader->block + 4);
	if (len < BLOCK_FRAME || len % 4 || len > BLOCK_LIMIT || len < have + 4)
		return damaged(reader, "a block", len);
	kept = len - 4 < BLOCK_KEPT ? len - 4 : BLOCK_KEPT;
	if (fread(reader->block + have, 1, kept - have, reader->file) != kept - have)
		return cut_off(reader);
	for (uint32_t left = len - 4 - kept; left; left--) {
		if (getc(reader->file) == EOF)
			return cut_off(reader);
	}
	if (fread(trailer, 1, 4, reader->file) != 4)
		return cut_off(reader);
	if (load32(reader, trailer) != len)
		return fail(reader, "the capture is damaged: a block at byte %" PRIu64
			    " has two lengths", reader->at);
	return len;
}

/*
 * Find an option among the @len bytes at @p. Returns its value and length, or
 * NULL; options that do not end where they should have no meaning either.
 */
static const uint8_t *find_option(const struct pcapng_reader *reader, enum option code,
				  const uint8_t *p, uint32_t len, uint16_t *size)
{
	while (len >= 4) {
		uint16_t this = load16(reader, p);

		*size = load16(reader, p + 2);
		if (this == OPT_END || padded(*size) > len - 4)
			return NULL;
		if (this == code)
			return p + 4;
		p += 4 + padded(*size);
		len -= 4 + padded(*size);
	}
	return NULL;
}

static int take_section(struct pcapng_reader *reader, uint32_t len)
{
	if (len < 16)
		return damaged(reader, "a section head", len);
	if (load16(reader, reader->block + 12) != VERSION_MAJOR)
		return fail(reader, "the capture is of version %u of pcapng, not %u",
			    load16(reader, reader->block + 12), VERSION_MAJOR);
	reader->in_section = true;
	reader->interfaces = 0;
	return 0;
}

static int take_interface(struct pcapng_reader *reader, uint32_t len)
{
	const uint8_t *options = reader->block + 16, *value;
	struct pcapng_interface *known;
	uint16_t size;

	if (len < 8)
		return damaged(reader, "an interface", len);
	if (load16(reader, reader->block + 8) != RFM_PCAPNG_LINKTYPE)
		return fail(reader, "the capture has packets of link type %u, not of a ring (%u)",
			    load16(reader, reader->block + 8), RFM_PCAPNG_LINKTYPE);
	if (reader->interfaces == RFM_PCAPNG_INTERFACES)
		return fail(reader, "the capture has more than %u interfaces",
			    RFM_PCAPNG_INTERFACES);

	known = &reader->known[reader->interfaces++];
	*known = (struct pcapng_interface){ .resolution = 6 };
	value = find_option(reader, OPT_NAME, options, len - 8, &size);
	if (value)
		memcpy(known->name, value, size < RFM_PCAPNG_TEXT ? size : RFM_PCAPNG_TEXT);
	value = find_option(reader, OPT_RESOLUTION, options, len - 8, &size);
	if (value && size == 1)
		known->resolution = *value;
	value = find_option(reader, OPT_OFFSET, options, len - 8, &size);
	if (value && size == 8)
		known->offset = (int64_t)load64(reader, value);
	return 0;
}

/* Ticks of an interface to ns: a power of ten, or with the high bit of two. */
static uint64_t to_ns(const struct pcapng_interface *known, uint64_t ticks)
{
	unsigned int power = known->resolution & 0x7f;
	uint64_t ns = ticks;

	if (known->resolution & 0x80) {
		ns = power < 64 ? (uint64_t)(((__uint128_t)ticks * 1000000000u) >> power) : 0;
	} else {
		for (; power < NANOSECONDS; power++)
			ns *= 10;
		for (; power > NANOSECONDS && ns; power--)
			ns /= 10;
	}
	return ns + (uint64_t)known->offset * 1000000000u;
}

static int take_packet(struct pcapng_reader *reader, uint32_t len, struct pcapng_record *record)
{
	const uint8_t *body = reader->block + 8, *flags;
	const struct pcapng_interface *known;
	uint32_t wire_len, options_at;
	uint16_t size;

	if (len < 20)
		return damaged(reader, "a packet block", len);
	wire_len = load32(reader, body + 12);
	if (wire_len > RFM_PCAPNG_PACKET || padded(wire_len) > len - 20)
		return fail(reader, "the capture is damaged: a packet of %" PRIu32
			    " bytes at byte %" PRIu64 " is longer than can be",
			    wire_len, reader->at);
	record->interface = load32(reader, body);
	if (record->interface >= reader->interfaces)
		return fail(reader, "the capture is damaged: a packet at byte %" PRIu64
			    " of an interface that it does not have", reader->at);
	known = &reader->known[record->interface];
	record->interface_name = known->name;
	record->time = to_ns(known, (uint64_t)load32(reader, body + 4) << 32 |
			     load32(reader, body + 8));
	record->wire = body + 20;
	record->len = wire_len;
	options_at = 20 + padded(wire_len);
	flags = find_option(reader, OPT_FLAGS, body + options_at, len - options_at, &size);
	record->direction = flags && size == 4 ? load32(reader, flags) & 3 : RFM_PCAPNG_NEITHER;
	return 1;
}

/* Returns 1 for a packet, 0 for anything else that is in order. */
static int take_block(struct pcapng_reader *reader, uint32_t len, struct pcapng_record *record)
{
	switch (load32(reader, reader->block)) {
	case BLOCK_SECTION:
		return take_section(reader, len);
	case BLOCK_INTERFACE:
		return take_interface(reader, len);
	case BLOCK_PACKET:
		return take_packet(reader, len, record);
	case BLOCK_STATISTICS:
		break;
	default:
		reader->skipped++;
	}
	return 0;
}

int pcapng_read_next(struct pcapng_reader *reader, struct pcapng_record *record)
{
	int found = 0;

	while (!reader->failed && !found) {
		int64_t len = read_block(reader);

		if (!len) {
			reader->failed = true;
			return 0;
		}
		/* Of the block's body, what was kept. */
		if (len > 0)
			found = take_block(reader, (len < BLOCK_KEPT ? len : BLOCK_KEPT) -
					   BLOCK_FRAME, record);
		reader->at += len;
	}
	return reader->error[0] ? -1 : found;
}
