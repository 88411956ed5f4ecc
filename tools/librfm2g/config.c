// SPDX-License-Identifier: MIT
/* What a board is. */
#include "private.h"
#include "rfm2g_version.h"

#include <stdio.h>
#include <stdlib.h>

#define RUNTIME_SIZE	512
#define CONTROL_SIZE	64
#define PCIHREV		0x74

/* --- PCI --------------------------------------------------------------------------- */

static FILE *open_pci(const char *name, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.32s/%s", name, file);
	return fopen(path, "re");
}

/* 0: it is not told */
static unsigned int pci_number(const char *name, const char *file)
{
	FILE *from = open_pci(name, file);
	char text[32] = "";

	if (!from)
		return 0;
	if (!fgets(text, sizeof(text), from))
		text[0] = '\0';
	fclose(from);
	return strtoul(text, NULL, 0);
}

/* Where the regions begin: a line for each. */
static void pci_bases(const char *name, uint32_t base[4])
{
	FILE *from = open_pci(name, "resource");
	char line[128];

	for (int i = 0; from && i < 4 && fgets(line, sizeof(line), from); i++)
		base[i] = strtoull(line, NULL, 0);
	if (from)
		fclose(from);
}

static void fill_pci(RFM2GCONFIG *config, const struct rfm_info *info)
{
	RFM2GPCICONFIG *pci = &config->PciConfig;
	unsigned int bus = 0, device = 0, function = 0;
	uint32_t base[4] = { 0 };

	pci->rfm2gOrWindowSize = pci->rfm2gOrRegSize = RUNTIME_SIZE;
	pci->rfm2gCsWindowSize = pci->rfm2gCsRegSize = CONTROL_SIZE;
	pci->rfm2gWindowSize = info->window_size;
	if (sscanf(info->pci_name, "%*x:%x:%x.%x", &bus, &device, &function) != 3)
		return;
	pci_bases(info->pci_name, base);
	pci->rfm2gOrBase = base[0];
	pci->rfm2gCsBase = base[2];
	pci->rfm2gBase = base[3];
	pci->bus = bus;
	pci->devfn = device << 3 | function;
	pci->function = function;
	pci->interruptNumber = pci_number(info->pci_name, "irq");
	pci->revision = pci_number(info->pci_name, "revision");
	config->RevisionId = pci->revision;
}

/* --- all --------------------------------------------------------------------------- */

RFM2G_STATUS config_fill(struct handle *handle, RFM2GCONFIG *config)
{
	struct board *board = handle->board;
	struct rfm_info info;
	uint32_t revision;

	if (rfm_info(board->rfm, &info))
		return RFM2G_OS_ERROR;
	/* Its words and its number are those by which it was opened. */
	memmove(config->Device, handle->open.Config.Device, sizeof(config->Device));
	config->Unit = handle->open.Config.Unit;
	config->NodeId = info.node;
	config->BoardId = info.board_id;
	config->BoardRevision = info.board_revision;
	config->BuildId = info.build;
	config->MemorySize = info.memory_size;
	config->Lcsr1 = info.lcsr1;
	snprintf(config->Name, sizeof(config->Name), "%s", RFM2G_PRODUCT_STRING);
	snprintf(config->DriverVersion, sizeof(config->DriverVersion), "%s",
		 RFM2G_PRODUCT_VERSION);
	fill_pci(config, &info);
	/* Who may not read registers does not learn this one. */
	if (!rfm_reg_read(board->rfm, RFM_REGS_RUNTIME, PCIHREV, 1, &revision))
		config->PlxRevision = revision;
	return RFM2G_SUCCESS;
}

RFM2G_STATUS RFM2gGetConfig(RFM2GHANDLE rh, RFM2GCONFIG *Config)
{
	RFM2GCONFIG config = { 0 };
	struct handle *handle;
	RFM2G_STATUS status = handle_get(rh, &handle);

	if (status)
		return status;
	status = Config ? config_fill(handle, &config) : RFM2G_BAD_PARAMETER_2;
	if (!status)
		*Config = config;
	return handle_put(handle, status);
}

#define FROM_CONFIG(name, pointer, give)				\
RFM2G_STATUS RFM2g##name(RFM2GHANDLE rh, pointer to)			\
{									\
	struct handle *handle;						\
	RFM2G_STATUS status = handle_get(rh, &handle);			\
									\
	if (status)							\
		return status;						\
	if (!to)							\
		return handle_put(handle, RFM2G_BAD_PARAMETER_2);	\
	give;								\
	return handle_put(handle, RFM2G_SUCCESS);			\
}

FROM_CONFIG(NodeID, RFM2G_NODE *, *to = handle->open.Config.NodeId)
FROM_CONFIG(BoardID, RFM2G_UINT8 *, *to = handle->open.Config.BoardId)
FROM_CONFIG(Size, RFM2G_UINT32 *, *to = handle->open.Config.MemorySize)
FROM_CONFIG(First, RFM2G_UINT32 *, *to = 0)
FROM_CONFIG(DeviceName, char *, strcpy(to, handle->open.Config.Device))
FROM_CONFIG(DllVersion, char *, strcpy(to, RFM2G_PRODUCT_VERSION))
FROM_CONFIG(DriverVersion, char *, strcpy(to, RFM2G_PRODUCT_VERSION))
