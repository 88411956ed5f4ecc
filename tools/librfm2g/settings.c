// SPDX-License-Identifier: MIT
/* Settings of a board: bits of a card, or of a node, which keeps here what it has not. */
#include "private.h"

#define OFFSET_STEP	(64u << 20)
#define RING_MS		500

static RFM2G_STATUS set_config(struct board *board, uint32_t bit, bool on)
{
	struct rfm_config config = { .mask = bit, .on = on ? bit : 0 };

	if (!rfm_set_config(board->rfm, &config))
		return RFM2G_SUCCESS;
	return errno == EOPNOTSUPP ? RFM2G_NOT_SUPPORTED : RFM2G_OS_ERROR;
}

/* The settings, for a call that answers at @to. If all is well the caller puts the handle. */
static RFM2G_STATUS get_config(RFM2GHANDLE rh, const void *to, struct handle **handle,
			       struct rfm_config *config)
{
	RFM2G_STATUS status = handle_get(rh, handle);

	if (status)
		return status;
	if (!to)
		status = RFM2G_BAD_PARAMETER_2;
	else if (rfm_get_config((*handle)->board->rfm, config))
		status = RFM2G_OS_ERROR;
	if (status)
		handle_put(*handle, status);
	return status;
}

static RFM2G_STATUS get_switch(RFM2GHANDLE rh, RFM2G_BOOL *on, uint32_t bit)
{
	struct rfm_config config;
	struct handle *handle;
	RFM2G_STATUS status = get_config(rh, on, &handle, &config);

	if (status)
		return status;
	*on = !!(config.on & bit);
	return handle_put(handle, RFM2G_SUCCESS);
}

static RFM2G_STATUS set_switch(RFM2GHANDLE rh, bool on, uint32_t bit)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	return handle_put(handle, set_config(handle->board, bit, on));
}

#define SWITCH(name, bit)						\
RFM2G_STATUS RFM2gGet##name(RFM2GHANDLE rh, RFM2G_BOOL *state)		\
{									\
	return get_switch(rh, state, bit);				\
}									\
RFM2G_STATUS RFM2gSet##name(RFM2GHANDLE rh, RFM2G_BOOL state)		\
{									\
	return set_switch(rh, state, bit);				\
}

SWITCH(DarkOnDark, RFM_CONFIG_DARK_ON_DARK)
SWITCH(Transmit, RFM_CONFIG_TRANSMIT)
SWITCH(Loopback, RFM_CONFIG_LOOPBACK)

/* A node has no parity to be switched on; that it is off is no error. */
RFM2G_STATUS RFM2gGetParityEnable(RFM2GHANDLE rh, RFM2G_BOOL *state)
{
	return get_switch(rh, state, RFM_CONFIG_PARITY);
}

RFM2G_STATUS RFM2gSetParityEnable(RFM2GHANDLE rh, RFM2G_BOOL state)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (handle->board->is_card || state)
		status = set_config(handle->board, RFM_CONFIG_PARITY, state);
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gGetLed(RFM2GHANDLE rh, RFM2G_BOOL *Led)
{
	struct rfm_config config;
	struct handle *handle;
	RFM2G_STATUS status = get_config(rh, Led, &handle, &config);

	if (status)
		return status;
	*Led = handle->board->is_card ? !!(config.on & RFM_CONFIG_LED) : handle->board->led;
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gSetLed(RFM2GHANDLE rh, RFM2G_BOOL Led)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (handle->board->is_card)
		status = set_config(handle->board, RFM_CONFIG_LED, Led);
	else
		handle->board->led = Led;
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gClearOwnData(RFM2GHANDLE rh, RFM2G_BOOL *state)
{
	struct rfm_config config;
	struct handle *handle;
	RFM2G_STATUS status = get_config(rh, state, &handle, &config);

	if (status)
		return status;
	status = set_config(handle->board, RFM_CONFIG_OWN_DATA, false);
	if (!status)
		*state = !!(config.on & RFM_CONFIG_OWN_DATA);
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gGetMemoryOffset(RFM2GHANDLE rh, RFM2G_MEM_OFFSETTYPE *offset)
{
	struct rfm_config config;
	struct handle *handle;
	RFM2G_STATUS status = get_config(rh, offset, &handle, &config);

	if (status)
		return status;
	*offset = (RFM2G_MEM_OFFSETTYPE)(config.address_offset / OFFSET_STEP);
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gSetMemoryOffset(RFM2GHANDLE rh, RFM2G_MEM_OFFSETTYPE offset)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	struct rfm_config config = { .mask = RFM_CONFIG_OFFSET };

	if (status)
		return status;
	if ((unsigned int)offset > RFM2G_MEM_OFFSET3)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	config.address_offset = offset * OFFSET_STEP;
	if (rfm_set_config(handle->board->rfm, &config))
		status = RFM2G_OS_ERROR;
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gCheckRingCont(RFM2GHANDLE rh)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	uint64_t now = clock_now(), until = now + RING_MS * 1000000ull;
	int failed;

	if (status)
		return status;
	/* A signal does not begin it anew. */
	do {
		failed = rfm_ring_test(handle->board->rfm, (until - now + 999999) / 1000000, NULL);
		now = clock_now();
	} while (failed && errno == EINTR && now < until);
	if (failed && errno == EINTR)
		errno = ETIMEDOUT;
	if (failed)
		status = errno == ETIMEDOUT ? RFM2G_LINK_TEST_FAIL : RFM2G_OS_ERROR;
	return handle_put(handle, status);
}

/* --- the order of bytes ------------------------------------------------------------ */

static const uint32_t swap_bits[] = {
	[SWAP_PIO] = RFM_CONFIG_BYTE_SWAP, [SWAP_DMA] = RFM_CONFIG_DMA_BYTE_SWAP,
};

void settings_read(struct board *board)
{
	struct rfm_config config;

	if (!board->is_card || rfm_get_config(board->rfm, &config))
		return;
	for (int which = SWAP_PIO; which <= SWAP_DMA; which++)
		board->swap[which] = config.on & swap_bits[which];
}

static RFM2G_STATUS get_swap(RFM2GHANDLE rh, RFM2G_BOOL *on, int which)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!on)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	/* Somebody else may have set it. */
	settings_read(handle->board);
	*on = handle->board->swap[which];
	return handle_put(handle, RFM2G_SUCCESS);
}

/* A node reverses nothing: memory.c does. A card is told of both, as one alone means both. */
static RFM2G_STATUS set_swap(RFM2GHANDLE rh, bool on, int which)
{
	struct rfm_config config = { .mask = swap_bits[SWAP_PIO] | swap_bits[SWAP_DMA] };
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	struct board *board;

	if (status)
		return status;
	board = handle->board;
	settings_read(board);
	if (on)
		config.on = swap_bits[which];
	if (board->swap[!which])
		config.on |= swap_bits[!which];
	if (board->is_card && rfm_set_config(board->rfm, &config))
		return handle_put(handle, RFM2G_OS_ERROR);
	board->swap[which] = on;
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gGetDMAByteSwap(RFM2GHANDLE rh, RFM2G_BOOL *byteSwap)
{
	return get_swap(rh, byteSwap, SWAP_DMA);
}

RFM2G_STATUS RFM2gSetDMAByteSwap(RFM2GHANDLE rh, RFM2G_BOOL byteSwap)
{
	return set_swap(rh, byteSwap, SWAP_DMA);
}

RFM2G_STATUS RFM2gGetPIOByteSwap(RFM2GHANDLE rh, RFM2G_BOOL *byteSwap)
{
	return get_swap(rh, byteSwap, SWAP_PIO);
}

RFM2G_STATUS RFM2gSetPIOByteSwap(RFM2GHANDLE rh, RFM2G_BOOL byteSwap)
{
	return set_swap(rh, byteSwap, SWAP_PIO);
}
