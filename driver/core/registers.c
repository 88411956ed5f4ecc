// SPDX-License-Identifier: GPL-2.0-only
/* RFM_IOC_REG: registers of the 5565 for programs that know better; see api/rights.c. */

#include <linux/bits.h>
#include <linux/log2.h>

#include "core/card.h"

static u32 rfm_reg_read(const void __iomem *reg, u32 width)
{
	return width == 1 ? readb(reg) : width == 2 ? readw(reg) : readl(reg);
}

static void rfm_reg_write(void __iomem *reg, u32 width, u32 value)
{
	if (width == 1)
		writeb(value, reg);
	else if (width == 2)
		writew(value, reg);
	else
		writel(value, reg);
}

/* Whom the register is for otherwise is kept out by both locks. */
static int rfm_reg_access(struct rfm_hw *hw, void __iomem *reg, u32 all,
			  struct rfm_reg *args)
{
	lockdep_assert_held(&hw->lock);
	lockdep_assert_held(&hw->irq.lock);

	if (hw->gone)
		return -ENODEV;
	/* To be read only, or only written, can make a difference. */
	if (args->mask != all)
		args->before = rfm_reg_read(reg, args->width);
	if (args->mask)
		rfm_reg_write(reg, args->width,
			      (args->before & ~args->mask) | args->value);
	if (!args->mask || args->set != RFM_REGS_RUNTIME)
		return 0;
	/* What the driver remembers of them. */
	WRITE_ONCE(hw->swaps_differ,
		   rfm_swaps_differ(readl(hw->runtime + RFM_BIGEND)));
	if (hw->board_revision >= RFM_BRV_SLIDING_WINDOW)
		WRITE_ONCE(hw->window_offset, readl(hw->runtime + RFM_LAS1BA) &
					      (hw->memory_size - hw->window_size));
	return 0;
}

/*
 * RFM_IOC_REG. Return: 0; -EINVAL for what is no register, no width, or a value
 * outside the mask, and -ENODEV; then nothing was done.
 */
int rfm_reg(struct rfm_file *file, void *arg)
{
	struct rfm_hw *hw = &file->card->hw;
	struct rfm_reg *args = arg;
	bool runtime = args->set == RFM_REGS_RUNTIME;
	int idx, heard, ret = -EINVAL;
	u64 size;
	u32 all;

	if (args->set > RFM_REGS_CONTROL || !is_power_of_2(args->width) ||
	    args->width > 4 || args->offset % args->width)
		return -EINVAL;
	all = GENMASK(8 * args->width - 1, 0);
	if (args->mask & ~all || args->value & ~args->mask)
		return -EINVAL;

	if (!rfm_regs_enter(file->card, &idx))
		return -ENODEV;
	size = min_t(u64, pci_resource_len(hw->pdev, runtime ? RFM_BAR_RUNTIME :
						     RFM_BAR_CONTROL),
		     runtime ? RFM_BAR_RUNTIME_SIZE : RFM_BAR_CONTROL_SIZE);
	if (args->offset < size) {
		spin_lock_irq(&hw->irq.lock);
		ret = rfm_reg_access(hw, (runtime ? hw->runtime : hw->control) +
					 args->offset, all, args);
		spin_unlock_irq(&hw->irq.lock);
	}
	heard = rfm_regs_leave(file->card, idx);
	return ret ?: heard;
}
