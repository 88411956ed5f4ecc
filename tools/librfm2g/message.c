// SPDX-License-Identifier: MIT
/* A sentence for each status. */
#include "private.h"

static char *const messages[] = {
	[RFM2G_SUCCESS] = "No error",
	[RFM2G_NOT_IMPLEMENTED] = "Not implemented",
	[RFM2G_DRIVER_ERROR] = "The driver has refused a call about events",
	[RFM2G_TIMED_OUT] = "Nothing came in the time given",
	[RFM2G_LOW_MEMORY] = "Not enough memory",
	[RFM2G_MEM_NOT_MAPPED] = "The memory cannot be mapped",
	[RFM2G_OS_ERROR] = "A system call has failed",
	[RFM2G_EVENT_IN_USE] = "Somebody waits for this event already",
	[RFM2G_NOT_SUPPORTED] = "This board does not have that",
	[RFM2G_NOT_OPEN] = "The board cannot be opened",
	[RFM2G_NO_RFM2G_BOARD] = "There is no such board",
	[RFM2G_BAD_PARAMETER_1] = "Parameter 1 is not good",
	[RFM2G_BAD_PARAMETER_2] = "Parameter 2 is not good",
	[RFM2G_BAD_PARAMETER_3] = "Parameter 3 is not good",
	[RFM2G_BAD_PARAMETER_4] = "Parameter 4 is not good",
	[RFM2G_BAD_PARAMETER_5] = "Parameter 5 is not good",
	[RFM2G_BAD_PARAMETER_6] = "Parameter 6 is not good",
	[RFM2G_BAD_PARAMETER_7] = "Parameter 7 is not good",
	[RFM2G_BAD_PARAMETER_8] = "Parameter 8 is not good",
	[RFM2G_BAD_PARAMETER_9] = "Parameter 9 is not good",
	[RFM2G_OUT_OF_RANGE] = "Outside the board's memory",
	[RFM2G_MAP_NOT_ALLOWED] = "Mapping is not allowed",
	[RFM2G_LINK_TEST_FAIL] = "Nothing came back: the ring is open",
	[RFM2G_MEM_READ_ONLY] = "The memory can only be read",
	[RFM2G_UNALIGNED_OFFSET] = "The offset is no multiple of the width",
	[RFM2G_UNALIGNED_ADDRESS] = "The address is no multiple of the width",
	[RFM2G_LSEEK_ERROR] = "Seeking has failed",
	[RFM2G_READ_ERROR] = "Reading has failed",
	[RFM2G_WRITE_ERROR] = "Writing has failed: not all of it is on the ring",
	[RFM2G_HANDLE_NOT_NULL] = "The handle is in use",
	[RFM2G_MODULE_NOT_LOADED] = "The driver is not loaded",
	[RFM2G_NOT_ENABLED] = "It is not enabled",
	[RFM2G_ALREADY_ENABLED] = "It is enabled already",
	[RFM2G_EVENT_NOT_IN_USE] = "Nobody waits for this event",
	[RFM2G_BAD_RFM2G_BOARD_ID] = "The board is of another kind",
	[RFM2G_NULL_DESCRIPTOR] = "The handle is NULL",
	[RFM2G_WAIT_EVENT_CANCELED] = "The wait was cancelled",
	[RFM2G_DMA_FAILED] = "The DMA transfer has failed",
	[RFM2G_NOT_INITIALIZED] = "Not initialized",
	[RFM2G_UNALIGNED_LENGTH] = "The length is no multiple of the width",
	[RFM2G_SIGNALED] = "A signal came while waiting",
	[RFM2G_NODE_ID_SELF] = "A node sends no event to itself",
	[RFM2G_MAX_ERROR_CODE] = "Unknown error",
};

char *RFM2gErrorMsg(RFM2G_STATUS ErrorCode)
{
	unsigned int code = ErrorCode;

	return messages[code < RFM2G_MAX_ERROR_CODE ? code : RFM2G_MAX_ERROR_CODE];
}
