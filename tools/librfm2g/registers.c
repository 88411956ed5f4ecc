// SPDX-License-Identifier: MIT
/* Registers, which only who has CAP_SYS_RAWIO may touch, and debug flags. */
#include "private.h"

#include <stdarg.h>
#include <stdio.h>

#define RUNTIME_SIZE	512u
#define CONTROL_SIZE	0x40u

static uint32_t debug_flags = RFM2G_DBERROR;

void say_error(const char *format, ...)
{
	va_list args;

	if (!(__atomic_load_n(&debug_flags, __ATOMIC_RELAXED) & RFM2G_DBERROR))
		return;
	va_start(args, format);
	fputs("librfm2g: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* --- registers --------------------------------------------------------------------- */

static RFM2G_STATUS failed(void)
{
	switch (errno) {
	case EOPNOTSUPP:
		return RFM2G_NOT_SUPPORTED;
	case EINVAL:		/* it is no multiple of the width */
		return RFM2G_BAD_PARAMETER_3;
	default:
		return RFM2G_OS_ERROR;
	}
}

static bool is_registers(RFM2GREGSETTYPE set)
{
	return set == RFM2GCFGREGMEM || set == RFM2GCTRLREGMEM;
}

static enum rfm_reg_set set_of(RFM2GREGSETTYPE set)
{
	return set == RFM2GCFGREGMEM ? RFM_REGS_RUNTIME : RFM_REGS_CONTROL;
}

static RFM2G_STATUS check(struct handle *handle, RFM2GREGSETTYPE set, uint32_t offset,
			  uint32_t width)
{
	uint32_t size = set == RFM2GCFGREGMEM ? RUNTIME_SIZE :
			set == RFM2GCTRLREGMEM ? CONTROL_SIZE : handle->open.Config.MemorySize;

	if (!is_registers(set) && set != RFM2GMEM)
		return RFM2G_BAD_PARAMETER_2;
	if (width != 1 && width != 2 && width != 4)
		return RFM2G_BAD_PARAMETER_4;
	return offset > size - width ? RFM2G_BAD_PARAMETER_3 : RFM2G_SUCCESS;
}

/* Of a word of the memory, where the offset is the third parameter. */
static RFM2G_STATUS of_word(RFM2G_STATUS status)
{
	return status == RFM2G_OUT_OF_RANGE || status == RFM2G_UNALIGNED_OFFSET ?
	       RFM2G_BAD_PARAMETER_3 : status;
}

static RFM2G_STATUS read_register(struct handle *handle, RFM2GREGSETTYPE set, uint32_t offset,
				  uint32_t width, uint32_t *value)
{
	RFM2G_STATUS status;
	uint64_t word = 0;

	*value = 0;
	if (is_registers(set))
		return rfm_reg_read(handle->board->rfm, set_of(set), offset, width, value) ?
		       failed() : RFM2G_SUCCESS;
	status = of_word(word_read(handle, offset, &word, width));
	*value = word;
	return status;
}

static RFM2G_STATUS write_register(struct handle *handle, RFM2GREGSETTYPE set, uint32_t offset,
				   uint32_t width, uint32_t value)
{
	if (is_registers(set))
		return rfm_reg_write(handle->board->rfm, set_of(set), offset, width, value) ?
		       failed() : RFM2G_SUCCESS;
	return of_word(word_write(handle, offset, value, width));
}

RFM2G_STATUS RFM2gReadReg(RFM2GHANDLE rh, RFM2GREGSETTYPE regset, RFM2G_UINT32 Offset,
			  RFM2G_UINT32 Width, void *Value)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	uint32_t value;

	if (status)
		return status;
	status = check(handle, regset, Offset, Width);
	if (!status && !Value)
		status = RFM2G_BAD_PARAMETER_5;
	if (!status)
		status = read_register(handle, regset, Offset, Width, &value);
	if (!status)
		memcpy(Value, &value, Width);
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gWriteReg(RFM2GHANDLE rh, RFM2GREGSETTYPE regset, RFM2G_UINT32 Offset,
			   RFM2G_UINT32 Width, RFM2G_UINT32 Value)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	status = check(handle, regset, Offset, Width);
	if (!status)
		status = write_register(handle, regset, Offset, Width, Value);
	return handle_put(handle, status);
}

/* Of a register nothing is lost that somebody else changes meanwhile; of the memory it may. */
static RFM2G_STATUS change_bits(struct handle *handle, RFM2GREGSETTYPE set, uint32_t offset,
				uint32_t width, uint32_t mask, uint32_t value)
{
	RFM2G_STATUS status;
	uint32_t before;

	if (is_registers(set))
		return rfm_reg_update(handle->board->rfm, set_of(set), offset, width, mask, value,
				      NULL) ? failed() : RFM2G_SUCCESS;
	status = read_register(handle, set, offset, width, &before);
	return status ? status : write_register(handle, set, offset, width,
						(before & ~mask) | (value & mask));
}

static RFM2G_STATUS change(RFM2GHANDLE rh, RFM2GREGSETTYPE set, uint32_t offset, uint32_t width,
			   uint32_t mask, uint32_t value)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	status = check(handle, set, offset, width);
	if (width < 4)
		mask &= (1u << 8 * (width & 3)) - 1;
	if (!status)
		status = change_bits(handle, set, offset, width, mask, value);
	return handle_put(handle, status);
}

RFM2G_STATUS RFM2gSetReg(RFM2GHANDLE rh, RFM2GREGSETTYPE regset, RFM2G_UINT32 Offset,
			 RFM2G_UINT32 Width, RFM2G_UINT32 Mask)
{
	return change(rh, regset, Offset, Width, Mask, Mask);
}

RFM2G_STATUS RFM2gClearReg(RFM2GHANDLE rh, RFM2GREGSETTYPE regset, RFM2G_UINT32 Offset,
			   RFM2G_UINT32 Width, RFM2G_UINT32 Mask)
{
	return change(rh, regset, Offset, Width, Mask, 0);
}

/* --- mappings of registers --------------------------------------------------------- */

RFM2G_STATUS RFM2gMapDeviceMemory(RFM2GHANDLE rh, RFM2GREGSETTYPE regset,
				  volatile void **DeviceMemoryPtr)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	size_t size;
	void *map;

	if (status)
		return status;
	if (!is_registers(regset))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!DeviceMemoryPtr)
		return handle_put(handle, RFM2G_BAD_PARAMETER_3);
	map = rfm_map_regs(handle->board->rfm, set_of(regset), &size);
	if (!map)
		return handle_put(handle, errno == EOPNOTSUPP ? RFM2G_NOT_SUPPORTED :
				  RFM2G_MEM_NOT_MAPPED);
	*DeviceMemoryPtr = map;
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gUnMapDeviceMemory(RFM2GHANDLE rh, RFM2GREGSETTYPE regset,
				    volatile void **DeviceMemoryPtr)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);
	size_t size = regset == RFM2GCFGREGMEM ? RUNTIME_SIZE : CONTROL_SIZE;

	if (status)
		return status;
	if (!is_registers(regset))
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	if (!DeviceMemoryPtr || !*DeviceMemoryPtr)
		return handle_put(handle, RFM2G_BAD_PARAMETER_3);
	if (rfm_unmap((void *)*DeviceMemoryPtr, size))
		return handle_put(handle, RFM2G_OS_ERROR);
	*DeviceMemoryPtr = NULL;
	return handle_put(handle, RFM2G_SUCCESS);
}

/* --- debug flags ------------------------------------------------------------------- */

RFM2G_STATUS RFM2gGetDebugFlags(RFM2GHANDLE rh, RFM2G_UINT32 *Flags)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	if (!Flags)
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);
	*Flags = __atomic_load_n(&debug_flags, __ATOMIC_RELAXED);
	return handle_put(handle, RFM2G_SUCCESS);
}

RFM2G_STATUS RFM2gSetDebugFlags(RFM2GHANDLE rh, RFM2G_UINT32 Flags)
{
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	__atomic_store_n(&debug_flags, Flags, __ATOMIC_RELAXED);
	return handle_put(handle, RFM2G_SUCCESS);
}
