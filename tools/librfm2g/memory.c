// SPDX-License-Identifier: MIT
/*
 * The memory: transfers, words, mappings.
 *
 * Transfers go through the driver, which leaves long ones to the card's DMA engine; what is
 * to be programmed I/O is given to it in pieces that are too short for that. What it reads
 * and writes has the bytes of each aligned 4 reversed if the swap for DMA is on, whichever
 * way they take; where programs are to see another order, they are reversed here.
 */
#include "private.h"

#include <sys/mman.h>

#define LAS1BA		0xf4	/* where the window begins */
#define LAS1BA_ENABLE	1u
#define PIECE		1024u		/* the driver's thresholds are not lower, unless set so */

/* --- where ------------------------------------------------------------------------- */

RFM2G_STATUS window_of(struct board *board, uint64_t *offset, uint64_t *size)
{
	struct rfm_info info;

	*offset = 0;
	*size = board->memory_size;
	if (!board->is_narrow)
		return RFM2G_SUCCESS;
	if (rfm_info(board->rfm, &info))
		return RFM2G_OS_ERROR;
	*offset = info.window_offset;
	*size = info.window_size;
	return RFM2G_SUCCESS;
}

/*
 * Where in the memory @offset of this API is: DMA sees all of it from the window on,
 * programmed I/O the window.
 */
static RFM2G_STATUS place_of(struct board *board, uint32_t offset, uint64_t length, bool dma,
			     uint64_t *at)
{
	uint64_t begin, size;
	RFM2G_STATUS status;

	if (offset > board->memory_size || length > board->memory_size - offset)
		return RFM2G_OUT_OF_RANGE;
	status = window_of(board, &begin, &size);
	if (status)
		return status;
	if (dma)
		size = board->memory_size - begin;
	if (offset > size || length > size - offset)
		return RFM2G_OUT_OF_RANGE;
	*at = begin + offset;
	return RFM2G_SUCCESS;
}

/* --- transfers --------------------------------------------------------------------- */

static void reverse(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i += 4) {
		uint32_t word;

		memcpy(&word, bytes + i, 4);
		word = __builtin_bswap32(word);
		memcpy(bytes + i, &word, 4);
	}
}

/* Byte n is byte n ^ 3 of the memory: reads whole words. @length: at most PIECE */
static int read_reversed(struct rfm *rfm, uint64_t at, uint8_t *to, size_t length)
{
	uint8_t words[PIECE + 8];
	size_t lead = at & 3, whole = (lead + length + 3) & ~(size_t)3;

	if (rfm_read(rfm, at - lead, words, whole))
		return -1;
	reverse(words, whole);
	memcpy(to, words + lead, length);
	return 0;
}

/* What the ring has no room for is stored here, and so is all that comes after it. */
static void store(struct rfm *rfm, uint64_t at, const uint8_t *from, size_t length, int *error)
{
	if (rfm_write(rfm, at, from, length))
		*error = errno;
}

/* Bytes of a word that is not written as a whole go one by one. */
static void write_reversed(struct rfm *rfm, uint64_t at, const uint8_t *from, size_t length,
			   int *error)
{
	uint8_t words[PIECE];
	size_t whole;

	for (; length && at & 3; at++, from++, length--)
		store(rfm, at ^ 3, from, 1, error);
	whole = length & ~(size_t)3;
	memcpy(words, from, whole);
	reverse(words, whole);
	if (whole)
		store(rfm, at, words, whole, error);
	for (size_t i = whole; i < length; i++)
		store(rfm, (at + i) ^ 3, from + i, 1, error);
}

/* @to or @from is NULL. Sets @error to errno if it fails. */
static void move(struct rfm *rfm, uint64_t at, uint8_t *to, const uint8_t *from, size_t length,
		 bool reversed, int *error)
{
	if (from && reversed)
		write_reversed(rfm, at, from, length, error);
	else if (from)
		store(rfm, at, from, length, error);
	else if (reversed ? read_reversed(rfm, at, to, length) : rfm_read(rfm, at, to, length))
		*error = errno;
}

/* The order of bytes that @rfm has is not the one that is wanted. */
static bool is_reversed(const struct board *board, bool swap)
{
	return swap != (board->is_card && board->swap[SWAP_DMA]);
}

static bool uses_dma(const struct handle *handle, const void *buffer, uint32_t length)
{
	uintptr_t at = (uintptr_t)buffer, begin = (uintptr_t)handle->dma_buffer;

	return begin && length >= handle->dma_threshold && at >= begin &&
	       at - begin <= handle->dma_length && length <= handle->dma_length - (at - begin);
}

/* errno of librfm as a status; what does not get onto the ring is not kept quiet. */
static RFM2G_STATUS why(int error)
{
	return !error ? RFM2G_SUCCESS : error == ENOBUFS ? RFM2G_WRITE_ERROR : RFM2G_OS_ERROR;
}

static RFM2G_STATUS transfer(struct handle *handle, uint32_t offset, uint8_t *to,
			     const uint8_t *from, uint32_t length)
{
	struct board *board = handle->board;
	bool dma = uses_dma(handle, to ? to : from, length);
	bool reversed = is_reversed(board, board->swap[dma ? SWAP_DMA : SWAP_PIO]);
	size_t piece = dma && !reversed ? length : PIECE;
	RFM2G_STATUS status;
	int error = 0;
	uint64_t at;

	status = place_of(board, offset, length, dma, &at);
	if (status)
		return status;
	if (to)
		view_send(board, at, length);
	for (size_t done = 0; done < length && (!error || error == ENOBUFS); done += piece) {
		size_t some = length - done < piece ? length - done : piece;

		move(board->rfm, at + done, to ? to + done : NULL, from ? from + done : NULL,
		     some, reversed, &error);
	}
	if (from)
		view_stored(board, at, length);
	return why(error);
}

RFM2G_STATUS RFM2gRead(RFM2GHANDLE rh, RFM2G_UINT32 Offset, void *Buffer, RFM2G_UINT32 Length)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_find(rh, &handle);

	if (status)
		return status;
	return handle_put(handle, Buffer ? transfer(handle, Offset, Buffer, NULL, Length) :
			  RFM2G_BAD_PARAMETER_3);
}

RFM2G_STATUS RFM2gWrite(RFM2GHANDLE rh, RFM2G_UINT32 Offset, void *Buffer, RFM2G_UINT32 Length)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	return handle_put(handle, Buffer ? transfer(handle, Offset, NULL, Buffer, Length) :
			  RFM2G_BAD_PARAMETER_3);
}

/* --- words: never swapped, whatever is set ----------------------------------------- */

/* Where a word of @width is, on a memory whose bytes come reversed. */
static uint64_t reversed_place(uint64_t at, unsigned int width)
{
	return width < 4 ? at ^ (4 - width) : at;
}

RFM2G_STATUS word_read(struct handle *handle, uint32_t offset, uint64_t *value,
		       unsigned int width)
{
	bool reversed = is_reversed(handle->board, false);
	uint64_t at;
	RFM2G_STATUS status = place_of(handle->board, offset, width, false, &at);

	if (!status && offset % width)
		status = RFM2G_UNALIGNED_OFFSET;
	if (status)
		return status;
	*value = 0;
	view_send(handle->board, at, width);
	if (rfm_read(handle->board->rfm, reversed ? reversed_place(at, width) : at, value, width))
		return RFM2G_OS_ERROR;
	if (reversed && width == 2)
		*value = __builtin_bswap16(*value);
	else if (reversed && width >= 4)
		reverse((uint8_t *)value, width);
	return RFM2G_SUCCESS;
}

RFM2G_STATUS word_write(struct handle *handle, uint32_t offset, uint64_t value,
			unsigned int width)
{
	bool reversed = is_reversed(handle->board, false);
	uint64_t at;
	RFM2G_STATUS status = place_of(handle->board, offset, width, false, &at);

	if (!status && offset % width)
		status = RFM2G_UNALIGNED_OFFSET;
	if (status)
		return status;
	if (reversed && width == 2)
		value = __builtin_bswap16(value);
	else if (reversed && width >= 4)
		reverse((uint8_t *)&value, width);
	if (reversed)
		at = reversed_place(at, width);
	if (rfm_write(handle->board->rfm, at, &value, width))
		status = why(errno);
	view_stored(handle->board, at, width);
	return status;
}

static RFM2G_STATUS peek(RFM2GHANDLE rh, uint32_t offset, uint64_t *value, unsigned int width)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_find(rh, &handle);

	if (status)
		return status;
	return handle_put(handle, value ? word_read(handle, offset, value, width) :
			  RFM2G_BAD_PARAMETER_3);
}

static RFM2G_STATUS poke(RFM2GHANDLE rh, uint32_t offset, uint64_t value, unsigned int width)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	return status ? status : handle_put(handle, word_write(handle, offset, value, width));
}

#define WORD(bits)									\
RFM2G_STATUS RFM2gPeek##bits(RFM2GHANDLE rh, RFM2G_UINT32 Offset, RFM2G_UINT##bits *Value) \
{											\
	uint64_t value = 0;								\
	RFM2G_STATUS status = peek(rh, Offset, Value ? &value : NULL, (bits) / 8);	\
											\
	if (Value && !status)								\
		*Value = value;								\
	return status;									\
}											\
RFM2G_STATUS RFM2gPoke##bits(RFM2GHANDLE rh, RFM2G_UINT32 Offset, RFM2G_UINT##bits Value) \
{											\
	return poke(rh, Offset, Value, (bits) / 8);					\
}

WORD(8)
WORD(16)
WORD(32)
WORD(64)

/* --- what DMA is used for ---------------------------------------------------------- */

RFM2G_STATUS RFM2gGetDMAThreshold(RFM2GHANDLE rh, RFM2G_UINT32 *Threshold)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!Threshold)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	*Threshold = handle->dma_threshold;
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gSetDMAThreshold(RFM2GHANDLE rh, RFM2G_UINT32 Threshold)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	handle->dma_threshold = Threshold;
	return handle_put(handle, RFM2G_SUCCESS);
}

/* --- mappings ---------------------------------------------------------------------- */

/* Ordinary memory, which takes the place of the vendor's buffer in reserved memory. */
static RFM2G_STATUS map_dma_buffer(struct handle *handle, void **map, uint64_t length)
{
	*map = mmap(NULL, length, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (*map == MAP_FAILED)
		return RFM2G_MEM_NOT_MAPPED;
	handle->dma_buffer = *map;
	handle->dma_length = length;
	return RFM2G_SUCCESS;
}

static RFM2G_STATUS map_registers(struct handle *handle, void **map, enum rfm_reg_set set)
{
	size_t size;

	*map = rfm_map_regs(handle->board->rfm, set, &size);
	if (*map)
		return RFM2G_SUCCESS;
	return errno == EOPNOTSUPP ? RFM2G_NOT_SUPPORTED : RFM2G_MEM_NOT_MAPPED;
}

static RFM2G_STATUS map_memory(struct handle *handle, void **map, uint64_t offset, uint64_t length)
{
	struct board *board = handle->board;
	RFM2G_STATUS status;
	uint64_t at;

	if (offset > board->memory_size || length > board->memory_size - offset)
		return RFM2G_OUT_OF_RANGE;
	if (offset % RFM2G_PAGE)
		return RFM2G_MEM_NOT_MAPPED;
	status = place_of(board, offset, length, false, &at);
	if (status)
		return status;
	*map = board->is_card ? rfm_map(board->rfm, at, length) : view_map(board, at, length);
	return *map ? RFM2G_SUCCESS : RFM2G_MEM_NOT_MAPPED;
}

static RFM2G_STATUS map_any(struct handle *handle, void **map, uint64_t offset, uint64_t length)
{
	if (offset & RFM2G_DMA_MMAP_OFFSET)
		return map_dma_buffer(handle, map, length);
	if (offset == RFM2G_BAR0_MMAP_OFFSET)
		return map_registers(handle, map, RFM_REGS_RUNTIME);
	if (offset == RFM2G_BAR2_MMAP_OFFSET)
		return map_registers(handle, map, RFM_REGS_CONTROL);
	if (offset & (RFM2G_BAR0_MMAP_OFFSET | RFM2G_BAR2_MMAP_OFFSET))
		return RFM2G_BAD_PARAMETER_3;
	return map_memory(handle, map, offset, length);
}

static RFM2G_STATUS map(RFM2GHANDLE rh, volatile void **to, uint64_t offset, uint64_t length)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	void *map = NULL;

	if (status)
		return status;
	if (!to)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!length)
		return handle_put(handle, RFM2G_BAD_PARAMETER_4);
	status = map_any(handle, &map, offset, length);
	if (!status)
		*to = map;
	return handle_put(handle, status);
}

static uint64_t whole_pages(uint64_t bytes)
{
	return (bytes + RFM2G_PAGE - 1) & ~(uint64_t)(RFM2G_PAGE - 1);
}

RFM2G_STATUS RFM2gUserMemory(RFM2GHANDLE rh, volatile void **UserMemoryPtr, RFM2G_UINT64 Offset,
			     RFM2G_UINT32 Pages)
{
	return map(rh, UserMemoryPtr, Offset, (uint64_t)Pages * RFM2G_PAGE);
}

RFM2G_STATUS RFM2gUserMemoryBytes(RFM2GHANDLE rh, volatile void **UserMemoryPtr,
				  RFM2G_UINT64 Offset, RFM2G_UINT32 Bytes)
{
	return map(rh, UserMemoryPtr, Offset, whole_pages(Bytes));
}

static RFM2G_STATUS unmap(RFM2GHANDLE rh, volatile void **from, uint64_t length)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!from || !*from)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!length)
		return handle_put(handle, RFM2G_BAD_PARAMETER_3);
	if (*from == handle->dma_buffer) {
		handle->dma_buffer = NULL;
		handle->dma_length = 0;
	}
	if (!view_unmap(handle->board, (void *)*from, length) && rfm_unmap((void *)*from, length))
		return handle_put(handle, RFM2G_OS_ERROR);
	*from = NULL;
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gUnMapUserMemory(RFM2GHANDLE rh, volatile void **UserMemoryPtr,
				  RFM2G_UINT32 Pages)
{
	return unmap(rh, UserMemoryPtr, (uint64_t)Pages * RFM2G_PAGE);
}

RFM2G_STATUS RFM2gUnMapUserMemoryBytes(RFM2GHANDLE rh, volatile void **UserMemoryPtr,
				       RFM2G_UINT32 Bytes)
{
	return unmap(rh, UserMemoryPtr, whole_pages(Bytes));
}

/* --- the window -------------------------------------------------------------------- */

/* A node's is all of its memory; a card older than sliding windows says that it has none. */
static RFM2G_STATUS has_window(struct board *board)
{
	struct rfm_config config;

	if (!board->is_card)
		return RFM2G_SUCCESS;
	if (rfm_get_config(board->rfm, &config))
		return RFM2G_OS_ERROR;
	return config.mask & RFM_CONFIG_WINDOW ? RFM2G_SUCCESS : RFM2G_NOT_SUPPORTED;
}

RFM2G_STATUS RFM2gGetSlidingWindow(RFM2GHANDLE rh, RFM2G_UINT32 *offset, RFM2G_UINT32 *size)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	uint64_t begin, length;

	if (status)
		return status;
	if (!offset)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!size)
		return handle_put(handle, RFM2G_BAD_PARAMETER_3);
	status = has_window(handle->board);
	if (!status)
		status = window_of(handle->board, &begin, &length);
	if (status)
		return handle_put(handle, status);
	*offset = begin;
	*size = length;
	return handle_put(handle, RFM2G_SUCCESS);
}

/*
 * As a setting it does not move under a mapping. Theirs does; so does its register, which the
 * driver keeps up with, if this program may write there.
 */
static RFM2G_STATUS move_window(struct board *board, uint32_t offset)
{
	const struct rfm_config config = { .mask = RFM_CONFIG_WINDOW, .window_offset = offset };

	if (!rfm_set_config(board->rfm, &config))
		return RFM2G_SUCCESS;
	if (errno == EBUSY && !rfm_reg_write(board->rfm, RFM_REGS_RUNTIME, LAS1BA, 4,
					     offset | LAS1BA_ENABLE))
		return RFM2G_SUCCESS;
	return RFM2G_OS_ERROR;
}

RFM2G_STATUS RFM2gSetSlidingWindow(RFM2GHANDLE rh, RFM2G_UINT32 offset)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	uint64_t begin, size;

	if (status)
		return status;
	status = has_window(handle->board);
	if (!status)
		status = window_of(handle->board, &begin, &size);
	if (!status && offset % size)
		status = RFM2G_BAD_PARAMETER_2;
	if (!status && offset >= handle->board->memory_size)
		status = RFM2G_OUT_OF_RANGE;
	if (!status && offset != begin)
		status = move_window(handle->board, offset);
	return handle_put(handle, status);
}
