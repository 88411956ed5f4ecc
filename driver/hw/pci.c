// SPDX-License-Identifier: GPL-2.0-only
/* What the PCI device shows: BARs, the extension block, which card it is. */

#include <linux/kvm_para.h>
#include <linux/sizes.h>

#include "hw/hw.h"

#define RFM_BARS	(BIT(RFM_BAR_RUNTIME) | BIT(RFM_BAR_CONTROL) | \
			 BIT(RFM_BAR_MEMORY))

/* At least so many bytes of it. What is wrong has been said. */
static void __iomem *rfm_map_bar(struct rfm_hw *hw, int bar,
				 resource_size_t least)
{
	struct pci_dev *pdev = hw->pdev;

	if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM &&
	    pci_resource_len(pdev, bar) >= least)
		return devm_ioremap_resource(&pdev->dev, &pdev->resource[bar]);
	return IOMEM_ERR_PTR(dev_err_probe(&pdev->dev, -ENODEV,
					   "BAR%d is %pR: not that of a 5565\n",
					   bar, &pdev->resource[bar]));
}

static int rfm_map_bars(struct rfm_hw *hw)
{
	hw->runtime = rfm_map_bar(hw, RFM_BAR_RUNTIME, SZ_256);
	hw->control = rfm_map_bar(hw, RFM_BAR_CONTROL, RFM_BAR_CONTROL_SIZE);
	hw->memory = rfm_map_bar(hw, RFM_BAR_MEMORY, SZ_2M);
	hw->memory_phys = pci_resource_start(hw->pdev, RFM_BAR_MEMORY);
	return PTR_ERR_OR_ZERO(hw->runtime) ?: PTR_ERR_OR_ZERO(hw->control) ?:
	       PTR_ERR_OR_ZERO(hw->memory);
}

/*
 * File offsets are offsets in the card's memory, so a window narrower than
 * that has to start at 0, wherever somebody before us left it.
 */
static int rfm_reset_window(struct rfm_hw *hw)
{
	u32 base;

	if (hw->board_revision < RFM_BRV_SLIDING_WINDOW)
		return 0;

	writel(RFM_LAS1BA_ENABLE, hw->runtime + RFM_LAS1BA);
	base = readl(hw->runtime + RFM_LAS1BA) & RFM_LAS1BA_REMAP_M;
	if (base)
		return dev_err_probe(&hw->pdev->dev, -EIO,
				     "the window stays at %#x\n", base);
	return 0;
}

/* Boards with a PLX bridge have more in these four bytes. */
static void rfm_swap_nothing(struct rfm_hw *hw)
{
	writel(readl(hw->runtime + RFM_BIGEND) & ~RFM_BIGEND_SWAPS,
	       hw->runtime + RFM_BIGEND);
}

/* Is this a 5565, and which? */
static int rfm_identify(struct rfm_hw *hw)
{
	struct device *dev = &hw->pdev->dev;
	unsigned int code;
	u32 lcsr1;
	u8 id;

	lcsr1 = readl(hw->control + RFM_LCSR1);
	if (lcsr1 == RFM_ALL_ONES)
		return dev_err_probe(dev, -ENODEV, "the card does not answer\n");

	id = readb(hw->control + RFM_BID);
	if (id != RFM_BID_5565)
		return dev_err_probe(dev, -ENODEV,
				     "board id %#04x instead of %#04x\n",
				     id, RFM_BID_5565);

	code = (lcsr1 & RFM_LCSR1_MEMSIZE_M) >> RFM_LCSR1_MEMSIZE_SHIFT;
	if (code > 2)
		return dev_err_probe(dev, -ENODEV,
				     "reserved memory size code %u\n", code);

	hw->memory_size = (u64)SZ_64M << code;
	hw->window_size = min_t(u64, hw->memory_size,
				pci_resource_len(hw->pdev, RFM_BAR_MEMORY));
	hw->board_revision = readb(hw->control + RFM_BRV);
	hw->build = readw(hw->control + RFM_BRB);
	hw->node = readb(hw->control + RFM_NID);
	/* Our programs do not expect bytes to be swapped. */
	rfm_swap_nothing(hw);
	return rfm_reset_window(hw);
}

/* The red LED means "no driver": it is lit from power-up on. */
void rfm_led_set(struct rfm_hw *hw, bool lit)
{
	u32 lcsr1;

	spin_lock(&hw->lock);
	lcsr1 = readl(hw->control + RFM_LCSR1);
	/* What a card that is not there answers would darken one that comes back. */
	if (lcsr1 != RFM_ALL_ONES)
		writel((lcsr1 & ~RFM_LCSR1_LED) | (lit ? RFM_LCSR1_LED : 0),
		       hw->control + RFM_LCSR1);
	spin_unlock(&hw->lock);
}

/*
 * Find the extension block. Only its capability tells of it: on a real card
 * something else may show in that BAR. A block of another major version is
 * left alone.
 */
static int rfm_find_ext_cap(struct pci_dev *pdev)
{
	int pos = pci_find_capability(pdev, PCI_CAP_ID_VNDR);
	u32 magic, version;
	u8 length;

	for (; pos; pos = pci_find_next_capability(pdev, pos,
						   PCI_CAP_ID_VNDR)) {
		pci_read_config_byte(pdev, pos + PCI_CAP_FLAGS, &length);
		pci_read_config_dword(pdev, pos + RFM_EXT_CAP_MAGIC, &magic);
		if (length < RFM_EXT_CAP_LENGTH || magic != RFM_EXT_MAGIC)
			continue;
		pci_read_config_dword(pdev, pos + RFM_EXT_CAP_VERSION,
				      &version);
		if (version >> 16 == RFM_EXT_VERSION >> 16)
			return pos;
		dev_warn(&pdev->dev,
			 "extension block of version %#x not used\n", version);
	}
	return 0;
}

static int rfm_map_ext(struct rfm_hw *hw)
{
	struct pci_dev *pdev = hw->pdev;
	int pos = rfm_find_ext_cap(pdev);
	u32 offset, features;
	void __iomem *base;
	u8 bar;

	if (!pos)
		return 0;
	pci_read_config_byte(pdev, pos + RFM_EXT_CAP_BAR, &bar);
	pci_read_config_dword(pdev, pos + RFM_EXT_CAP_OFFSET, &offset);
	pci_read_config_dword(pdev, pos + RFM_EXT_CAP_FEATURES, &features);
	if (bar >= PCI_STD_NUM_BARS || RFM_BARS & BIT(bar) ||
	    !(pci_resource_flags(pdev, bar) & IORESOURCE_MEM) ||
	    pci_resource_len(pdev, bar) < RFM_EXT_BAR_SIZE ||
	    pci_resource_len(pdev, bar) - RFM_EXT_BAR_SIZE < offset) {
		dev_warn(&pdev->dev,
			 "the extension block is said to be at %#x in BAR%u: not used\n",
			 offset, bar);
		return 0;
	}

	base = rfm_map_bar(hw, bar, RFM_EXT_BAR_SIZE);
	if (IS_ERR(base))
		return PTR_ERR(base);
	hw->ext = base + offset;
	hw->features = features & RFM_EXT_FEATURES;
	return 0;
}

/*
 * Stores to an emulated card leave the guest. Of AVX's KVM makes none in its place:
 * the program gets SIGILL, and memcpy() may be such a program's.
 */
static void rfm_warn_of_avx(struct rfm_hw *hw)
{
#ifdef CONFIG_X86
	/*
	 * Only the extension block tells an emulated card from a real one;
	 * and a CPU without XSAVE may have AVX, but no program can use it.
	 */
	if (hw->ext && kvm_para_available() &&
	    boot_cpu_has(X86_FEATURE_AVX) && boot_cpu_has(X86_FEATURE_XSAVE))
		dev_warn_once(&hw->pdev->dev,
			      "AVX under KVM: such a store to this memory ends in SIGILL; hide AVX from the guest\n");
#endif
}

/*
 * Maps what there is of the card and looks what it is. Byte swaps and window
 * are as programs of ours expect them. What is wrong has been said.
 */
int rfm_hw_find(struct rfm_hw *hw)
{
	int ret = rfm_map_bars(hw) ?: rfm_map_ext(hw) ?: rfm_identify(hw);

	if (!ret)
		rfm_warn_of_avx(hw);
	return ret;
}

/*
 * The registers of the extension block that a driver writes, but for commands.
 * A slot that is off keeps what it was set to, which means nothing then.
 */
static const struct {
	u16 first, last;
} rfm_ext_settings[] = {
	{ RFM_EXT_INT_ENABLE, RFM_EXT_MODERATION_TIME },
	{ RFM_EXT_EVENT_BASE, RFM_EXT_EVENT_CONSUMER },
	{ RFM_EXT_RANGE_OFFSET, RFM_EXT_RANGE_LENGTH },
	{ RFM_EXT_SLOT_INDEX, RFM_EXT_SLOT_INDEX },
	{ RFM_EXT_WRITER_OFFSET, RFM_EXT_WRITER_OFFSET },
	{ RFM_EXT_MULTICAST_SET(0), RFM_EXT_MULTICAST_DATA },
	{ RFM_EXT_QUERY_OFFSET, RFM_EXT_QUERY_LENGTH },
	{ RFM_EXT_REQUEST_BASE, RFM_EXT_REQUEST_CONTROL },
};

/*
 * The card as it is after a reset, for whoever drives it next, who may know
 * nothing but the 5565: interrupts are off, the engine rests, nobody has a
 * mapping. What the node is to its ring stays: memory, FIFOs and latches, and
 * of LCSR1 all but the LED, so that a node that was made dark does not light up
 * by itself. Harmless when the card is no longer there.
 */
void rfm_hw_leave(struct rfm_hw *hw)
{
	unsigned int i, offset;

	rfm_led_set(hw, true);
	writel(0, hw->control + RFM_NTD);
	writeb(0, hw->control + RFM_NTN);
	rfm_swap_nothing(hw);
	if (hw->board_revision >= RFM_BRV_SLIDING_WINDOW)
		writel(RFM_LAS1BA_ENABLE, hw->runtime + RFM_LAS1BA);
	/* An engine that could not be stopped may still need them. */
	if (readb(hw->runtime + RFM_DMACSR0) & RFM_DMACSR0_DONE) {
		writel(RFM_DMAMODE0_RESET, hw->runtime + RFM_DMAMODE0);
		writel(0, hw->runtime + RFM_DMAPADR0);
		writel(0, hw->runtime + RFM_DMADAC0);
		writel(0, hw->runtime + RFM_DMALADR0);
		writel(0, hw->runtime + RFM_DMASIZ0);
		writel(RFM_DMADPR0_RESET, hw->runtime + RFM_DMADPR0);
		writeb(RFM_DMACSR0_CLEAR_INT, hw->runtime + RFM_DMACSR0);
	}
	if (!hw->ext)
		return;
	for (i = 0; i < ARRAY_SIZE(rfm_ext_settings); i++)
		for (offset = rfm_ext_settings[i].first;
		     offset <= rfm_ext_settings[i].last; offset += 4)
			writel(0, hw->ext + offset);
	writel(RFM_ALL_ONES, hw->ext + RFM_EXT_INT_STATUS);
}
