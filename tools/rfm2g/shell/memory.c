/* SPDX-License-Identifier: MIT */
/* rfm2g-shell: the memory. */
#include "shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	4096u

/* --- words ------------------------------------------------------------------------- */

#define WORD(bits, format)							\
static int peek##bits(char **words)						\
{										\
	RFM2G_UINT##bits value = 0;						\
	RFM2G_UINT32 offset;							\
										\
	if (get_number32(words[0], &offset) ||					\
	    check(RFM2gPeek##bits(board, offset, &value)))			\
		return -1;							\
	printf("0x%08x: 0x" format "\n", offset, value);			\
	return 0;								\
}										\
static int poke##bits(char **words)						\
{										\
	RFM2G_UINT64 value;							\
	RFM2G_UINT32 offset;							\
										\
	if (get_number(words[0], (RFM2G_UINT64)-1 >> (64 - (bits)), &value) ||	\
	    get_number32(words[1], &offset))					\
		return -1;							\
	return check(RFM2gPoke##bits(board, offset, (RFM2G_UINT##bits)value));	\
}

WORD(8, "%02x")
WORD(16, "%04x")
WORD(32, "%08x")
WORD(64, "%016llx")

/* --- many -------------------------------------------------------------------------- */

static int get_width(const char *word, RFM2G_UINT32 *width)
{
	if (get_number32(word, width))
		return -1;
	if (*width == 1 || *width == 2 || *width == 4 || *width == 8)
		return 0;
	fprintf(stderr, "a width is 1, 2, 4 or 8 bytes\n");
	return -1;
}

static RFM2G_UINT64 value_at(const RFM2G_UINT8 *from, RFM2G_UINT32 width)
{
	RFM2G_UINT64 value = 0;

	memcpy(&value, from, width);
	return value;
}

static void show_text(const RFM2G_UINT8 *from, RFM2G_UINT32 length)
{
	RFM2G_UINT32 i;

	printf("  ");
	for (i = 0; i < length; i++)
		putchar(from[i] >= ' ' && from[i] <= '~' ? from[i] : '.');
}

/* 16 bytes a line. @count: words of @width */
static void show_lines(RFM2G_UINT32 offset, const RFM2G_UINT8 *from, RFM2G_UINT32 width,
		       RFM2G_UINT32 length)
{
	RFM2G_UINT32 at, i, some;

	for (at = 0; at < length; at += 16) {
		some = length - at < 16 ? length - at : 16;
		printf("0x%08x:", offset + at);
		for (i = 0; i < 16; i += width)
			if (i < some)
				printf(" %0*llx", (int)width * 2, value_at(from + at + i, width));
			else
				printf(" %*s", (int)width * 2, "");
		show_text(from + at, some);
		putchar('\n');
	}
}

/* dump offset width length [display]: @length words */
static int dump(char **words)
{
	RFM2G_UINT32 offset, width, count, some;
	RFM2G_BOOL display = RFM2G_ON;
	RFM2G_UINT8 bytes[PIECE];
	RFM2G_UINT64 left;

	if (get_number32(words[0], &offset) || get_width(words[1], &width) ||
	    get_number32(words[2], &count) || (words[3] && get_switch(words[3], &display)))
		return -1;
	left = (RFM2G_UINT64)count * width;
	for (; left && !is_interrupted; left -= some, offset += some) {
		some = left < sizeof(bytes) ? (RFM2G_UINT32)left : sizeof(bytes);
		if (check(RFM2gRead(board, offset, bytes, some)))
			return -1;
		if (display)
			show_lines(offset, bytes, width, some);
	}
	return 0;
}

static int store(RFM2G_UINT64 value, RFM2G_UINT32 offset, RFM2G_UINT32 width, RFM2G_UINT32 count,
		 RFM2G_UINT64 step)
{
	RFM2G_UINT8 bytes[PIECE];
	RFM2G_UINT32 some, i;

	for (; count; count -= some, offset += some * width) {
		some = count < PIECE / width ? count : PIECE / width;
		for (i = 0; i < some; i++, value += step)
			memcpy(bytes + i * width, &value, width);
		if (check(RFM2gWrite(board, offset, bytes, some * width)))
			return -1;
	}
	return 0;
}

/* write value offset width length, fill value offset width length [step] */
static int fill(char **words)
{
	RFM2G_UINT64 value, step = 0;
	RFM2G_UINT32 offset, width, count;

	if (get_number32(words[1], &offset) || get_width(words[2], &width) ||
	    get_number32(words[3], &count) ||
	    get_number(words[0], (RFM2G_UINT64)-1 >> (64 - 8 * width), &value) ||
	    (words[4] && get_number(words[4], (RFM2G_UINT64)-1, &step)))
		return -1;
	return store(value, offset, width, count, step);
}

static int set(char **words)
{
	RFM2G_UINT32 offset, length;
	RFM2G_UINT64 value;

	if (get_number(words[0], 0xff, &value) || get_number32(words[1], &offset) ||
	    get_number32(words[2], &length))
		return -1;
	return store(value, offset, 1, length, 0);
}

/* --- a mapping --------------------------------------------------------------------- */

/**
 * struct mapper - how a mapping is counted, in pages or bytes
 * @end: the command that ends one
 */
struct mapper {
	const char *end;
	RFM2G_STATUS (*map)(RFM2GHANDLE rh, volatile void **at, RFM2G_UINT64 offset,
			    RFM2G_UINT32 count);
	RFM2G_STATUS (*unmap)(RFM2GHANDLE rh, volatile void **at, RFM2G_UINT32 count);
};

static const struct mapper pages = { "unmapuser", RFM2gUserMemory, RFM2gUnMapUserMemory };
static const struct mapper bytes = {
	"unmapuserbytes", RFM2gUserMemoryBytes, RFM2gUnMapUserMemoryBytes
};

/* The one that there is, unless @by is NULL. */
static struct {
	const struct mapper *by;
	volatile void *at;
	RFM2G_UINT32 count;
} mapping;

static int map(char **words, const struct mapper *by)
{
	RFM2G_UINT64 offset;
	RFM2G_UINT32 count;

	if (get_number(words[0], (RFM2G_UINT64)-1, &offset) || get_number32(words[1], &count))
		return -1;
	if (mapping.by) {
		fprintf(stderr, "there is a mapping already: %s ends it\n", mapping.by->end);
		return -1;
	}
	if (check(by->map(board, &mapping.at, offset, count)))
		return -1;
	mapping.by = by;
	mapping.count = count;
	printf("mapped at %p\n", (void *)mapping.at);
	return 0;
}

static int unmap(const struct mapper *by)
{
	if (mapping.by != by) {
		fprintf(stderr, "there is no mapping that %s ends\n", by->end);
		return -1;
	}
	if (check(by->unmap(board, &mapping.at, mapping.count)))
		return -1;
	mapping.by = NULL;
	return 0;
}

#define MAPPER(by)							\
static int map_##by(char **words)					\
{									\
	return map(words, &(by));					\
}									\
static int unmap_##by(char **words)					\
{									\
	(void)words;							\
	return unmap(&(by));						\
}

MAPPER(pages)
MAPPER(bytes)

/* --- settings that are about transfers --------------------------------------------- */

static int get_threshold(char **words)
{
	RFM2G_UINT32 threshold;

	(void)words;
	if (check(RFM2gGetDMAThreshold(board, &threshold)))
		return -1;
	printf("0x%x\n", threshold);
	return 0;
}

static int set_threshold(char **words)
{
	RFM2G_UINT32 threshold;

	return get_number32(words[0], &threshold) ? -1 :
	       check(RFM2gSetDMAThreshold(board, threshold));
}

static int get_window(char **words)
{
	RFM2G_UINT32 offset, size;

	(void)words;
	if (check(RFM2gGetSlidingWindow(board, &offset, &size)))
		return -1;
	printf("0x%x bytes from 0x%x\n", size, offset);
	return 0;
}

static int set_window(char **words)
{
	RFM2G_UINT32 offset;

	return get_number32(words[0], &offset) ? -1 : check(RFM2gSetSlidingWindow(board, offset));
}

const struct command memory_commands[] = {
	{ "peek8", "offset", "a word of the memory", 1, 1, peek8 },
	{ "peek16", "offset", "", 1, 1, peek16 },
	{ "peek32", "offset", "", 1, 1, peek32 },
	{ "peek64", "offset", "", 1, 1, peek64 },
	{ "poke8", "value offset", "stores one", 2, 2, poke8 },
	{ "poke16", "value offset", "", 2, 2, poke16 },
	{ "poke32", "value offset", "", 2, 2, poke32 },
	{ "poke64", "value offset", "", 2, 2, poke64 },
	{ "dump", "offset width length", "so many words of 1, 2, 4 or 8 bytes", 3, 3, dump },
	{ "read", "offset width length [display]", "the same; shown unless display is 0", 3, 4, dump },
	{ "write", "value offset width length", "stores a value in so many words", 4, 4, fill },
	{ "fill", "value offset width length [step]", "each greater by step", 4, 5, fill },
	{ "memset", "value offset length", "stores a byte so many times", 3, 3, set },
	{ "mapuser", "offset pages", "maps it, to try that", 2, 2, map_pages },
	{ "mapuserbytes", "offset bytes", "", 2, 2, map_bytes },
	{ "unmapuser", "", "", 0, 0, unmap_pages },
	{ "unmapuserbytes", "", "", 0, 0, unmap_bytes },
	{ "getthreshold", "", "from how many bytes on DMA is used", 0, 0, get_threshold },
	{ "setthreshold", "bytes", "", 1, 1, set_threshold },
	{ "getslidingwindow", "", "the part of the memory that is seen", 0, 0, get_window },
	{ "setslidingwindow", "offset", "", 1, 1, set_window },
	{ NULL, NULL, NULL, 0, 0, NULL }
};
