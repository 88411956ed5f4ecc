/* SPDX-License-Identifier: MIT */
/* rfm2g-shell: the board, its settings and registers. */
#include "shell.h"

#include <stdio.h>
#include <strings.h>

static int config(char **words)
{
	RFM2GCONFIG c;

	(void)words;
	if (check(RFM2gGetConfig(board, &c)))
		return -1;
	printf("  node                %d\n", c.NodeId);
	printf("  board id            0x%02x, revision 0x%02x, build %d\n", c.BoardId,
	       c.BoardRevision, c.BuildId);
	printf("  unit                %d\n", c.Unit);
	printf("  device              %s\n", c.Device);
	printf("  driver              %s %s\n", c.Name, c.DriverVersion);
	printf("  memory              0x%x bytes\n", c.MemorySize);
	printf("  window              0x%x bytes at 0x%08x\n", c.PciConfig.rfm2gWindowSize,
	       c.PciConfig.rfm2gBase);
	printf("  control registers   0x%x bytes at 0x%08x\n", c.PciConfig.rfm2gCsWindowSize,
	       c.PciConfig.rfm2gCsBase);
	printf("  runtime registers   0x%x bytes at 0x%08x\n", c.PciConfig.rfm2gOrWindowSize,
	       c.PciConfig.rfm2gOrBase);
	printf("  PCI                 bus %d, devfn 0x%02x, revision %d, interrupt %d\n",
	       c.PciConfig.bus, c.PciConfig.devfn, c.PciConfig.revision,
	       c.PciConfig.interruptNumber);
	printf("  LCSR1               0x%08x\n", c.Lcsr1);
	return 0;
}

#define NUMBER(name, type, call, format)				\
static int name(char **words)						\
{									\
	type value;							\
									\
	(void)words;							\
	if (check(call(board, &value)))					\
		return -1;						\
	printf(format "\n", value);					\
	return 0;							\
}

NUMBER(node_id, RFM2G_NODE, RFM2gNodeID, "%d")
NUMBER(board_id, RFM2G_UINT8, RFM2gBoardID, "0x%02x")
NUMBER(size, RFM2G_UINT32, RFM2gSize, "0x%x")
NUMBER(first, RFM2G_UINT32, RFM2gFirst, "0x%x")
NUMBER(get_offset, RFM2G_MEM_OFFSETTYPE, RFM2gGetMemoryOffset, "%d")
NUMBER(get_debug, RFM2G_UINT32, RFM2gGetDebugFlags, "0x%08x")

#define TEXT(name, call)						\
static int name(char **words)						\
{									\
	char text[128];							\
									\
	(void)words;							\
	if (check(call(board, text)))					\
		return -1;						\
	printf("%s\n", text);						\
	return 0;							\
}

TEXT(device_name, RFM2gDeviceName)
TEXT(dll_version, RFM2gDllVersion)
TEXT(driver_version, RFM2gDriverVersion)

#define SHOW_SWITCH(name, call)						\
static int name(char **words)						\
{									\
	RFM2G_BOOL on;							\
									\
	(void)words;							\
	if (check(call(board, &on)))					\
		return -1;						\
	printf("%s\n", on ? "on" : "off");				\
	return 0;							\
}

#define SWITCH(name, call)						\
SHOW_SWITCH(get_##name, RFM2gGet##call)					\
static int set_##name(char **words)					\
{									\
	RFM2G_BOOL on;							\
									\
	return get_switch(words[0], &on) ? -1 : check(RFM2gSet##call(board, on)); \
}

SWITCH(led, Led)
SWITCH(dark, DarkOnDark)
SWITCH(transmit, Transmit)
SWITCH(loopback, Loopback)
SWITCH(parity, ParityEnable)
SWITCH(pio_swap, PIOByteSwap)
SWITCH(dma_swap, DMAByteSwap)
SHOW_SWITCH(clear_own_data, RFM2gClearOwnData)

static int check_ring(char **words)
{
	(void)words;
	if (check(RFM2gCheckRingCont(board)))
		return -1;
	printf("the ring is closed\n");
	return 0;
}

static int set_offset(char **words)
{
	RFM2G_UINT32 offset;

	return get_number32(words[0], &offset) ? -1 :
	       check(RFM2gSetMemoryOffset(board, (RFM2G_MEM_OFFSETTYPE)offset));
}

/* Of bit 0, and so on. */
static const char *const debug_names[] = {
	"error", "init", "intr", "ioctl", "mmap", "open", "close", "read", "write", "peek", "poke",
	"strat", "timer", "trace", "mutex", "not_intr", "slow", "minphys", "dma"
};
#define DEBUG_NAMES	(sizeof(debug_names) / sizeof(debug_names[0]))

/* 0: there is none of that name */
static RFM2G_UINT32 debug_flag(const char *name)
{
	size_t i;

	for (i = 0; i < DEBUG_NAMES; i++)
		if (!strcasecmp(name, debug_names[i]))
			return 1u << i;
	return strcasecmp(name, "allflags") ? 0 : 0xffffffff;
}

/* All, by a number; or sets one by its name, or clears it by -name. */
static int set_debug(char **words)
{
	int clears = words[0][0] == '-';
	RFM2G_UINT32 flags, flag;

	if (words[0][0] >= '0' && words[0][0] <= '9')
		return get_number32(words[0], &flags) ? -1 :
		       check(RFM2gSetDebugFlags(board, flags));
	flag = debug_flag(words[0] + clears);
	if (!flag) {
		fprintf(stderr, "there is no debug flag '%s'\n", words[0] + clears);
		return -1;
	}
	if (check(RFM2gGetDebugFlags(board, &flags)))
		return -1;
	return check(RFM2gSetDebugFlags(board, clears ? flags & ~flag : flags | flag));
}

static int error_message(char **words)
{
	RFM2G_UINT32 status;

	if (get_number32(words[0], &status))
		return -1;
	printf("%s\n", RFM2gErrorMsg((RFM2G_STATUS)status));
	return 0;
}

/* --- registers --------------------------------------------------------------------- */

static const struct {
	const char *name, *number;
	RFM2GREGSETTYPE set;
} sets[] = {
	{ "bar0", "0", RFM2GCFGREGMEM },
	{ "bar2", "2", RFM2GCTRLREGMEM },
	{ "mem", "3", RFM2GMEM }
};
#define SETS	(sizeof(sets) / sizeof(sets[0]))

static int get_set(const char *word, RFM2GREGSETTYPE *set)
{
	size_t i;

	for (i = 0; i < SETS; i++)
		if (!strcasecmp(word, sets[i].name) || !strcasecmp(word, sets[i].number)) {
			*set = sets[i].set;
			return 0;
		}
	fprintf(stderr, "registers are in bar0 or bar2, or of mem: 0, 2 or 3\n");
	return -1;
}

static int get_register(char **words, RFM2GREGSETTYPE *set, RFM2G_UINT32 *offset,
			RFM2G_UINT32 *width)
{
	return get_set(words[0], set) || get_number32(words[1], offset) ||
	       get_number32(words[2], width);
}

static int read_register(char **words)
{
	RFM2G_UINT32 offset, width, value = 0;
	RFM2GREGSETTYPE set;

	if (get_register(words, &set, &offset, &width) ||
	    check(RFM2gReadReg(board, set, offset, width, &value)))
		return -1;
	printf("0x%0*x\n", (int)width * 2, value);
	return 0;
}

/* displayreg regset offset width length: @length of them */
static int display_registers(char **words)
{
	RFM2G_UINT32 offset, width, value = 0, count;
	RFM2GREGSETTYPE set;

	if (get_register(words, &set, &offset, &width) || get_number32(words[3], &count))
		return -1;
	for (; count && !is_interrupted; count--, offset += width) {
		if (check(RFM2gReadReg(board, set, offset, width, &value)))
			return -1;
		printf("0x%08x: 0x%0*x\n", offset, (int)width * 2, value);
	}
	return 0;
}

#define STORE(name, call)						\
static int name(char **words)						\
{									\
	RFM2G_UINT32 offset, width, value;				\
	RFM2GREGSETTYPE set;						\
									\
	if (get_register(words, &set, &offset, &width) || get_number32(words[3], &value)) \
		return -1;						\
	return check(call(board, set, offset, width, value));		\
}

STORE(write_register, RFM2gWriteReg)
STORE(set_register, RFM2gSetReg)
STORE(clear_register, RFM2gClearReg)

const struct command board_commands[] = {
	{ "config", "", "what the board is", 0, 0, config },
	{ "nodeid", "", "", 0, 0, node_id },
	{ "boardid", "", "", 0, 0, board_id },
	{ "size", "", "bytes of memory", 0, 0, size },
	{ "first", "", "the first offset", 0, 0, first },
	{ "devname", "", "the board that is open", 0, 0, device_name },
	{ "dllversion", "", "", 0, 0, dll_version },
	{ "driverversion", "", "", 0, 0, driver_version },
	{ "checkring", "", "does a packet come back?", 0, 0, check_ring },
	{ "clearowndata", "", "clears it, and tells how it was", 0, 0, clear_own_data },
	{ "getled", "", "the red one", 0, 0, get_led },
	{ "setled", "on|off", "", 1, 1, set_led },
	{ "getdarkondark", "", "", 0, 0, get_dark },
	{ "setdarkondark", "on|off", "", 1, 1, set_dark },
	{ "gettransmit", "", "the transmitter", 0, 0, get_transmit },
	{ "settransmit", "on|off", "", 1, 1, set_transmit },
	{ "getloopback", "", "", 0, 0, get_loopback },
	{ "setloopback", "on|off", "", 1, 1, set_loopback },
	{ "getparityenable", "", "", 0, 0, get_parity },
	{ "setparityenable", "on|off", "", 1, 1, set_parity },
	{ "getpiobyteswap", "", "", 0, 0, get_pio_swap },
	{ "setpiobyteswap", "on|off", "", 1, 1, set_pio_swap },
	{ "getdmabyteswap", "", "", 0, 0, get_dma_swap },
	{ "setdmabyteswap", "on|off", "", 1, 1, set_dma_swap },
	{ "getmemoryoffset", "", "of addresses on the ring, in 64 MiB", 0, 0, get_offset },
	{ "setmemoryoffset", "0..3", "", 1, 1, set_offset },
	{ "readreg", "regset offset width", "a register: of bar0, bar2 or mem", 3, 3,
	  read_register },
	{ "displayreg", "regset offset width length", "so many", 4, 4, display_registers },
	{ "writereg", "regset offset width value", "", 4, 4, write_register },
	{ "setreg", "regset offset width mask", "sets bits", 4, 4, set_register },
	{ "clearreg", "regset offset width mask", "clears bits", 4, 4, clear_register },
	{ "getdebug", "", "debug flags", 0, 0, get_debug },
	{ "setdebug", "flags|flag|-flag", "all of them, or one by its name", 1, 1, set_debug },
	{ "errormsg", "number", "what a status means", 1, 1, error_message },
	{ NULL, NULL, NULL, 0, 0, NULL }
};
