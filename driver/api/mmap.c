// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() on /dev/rfmN.
 *
 * Pages are inserted when they are touched, under SRCU, and never again once
 * the card has gone: rfm_card_drain() removes what is mapped, and every later
 * access ends in rfm_fault() and SIGBUS.
 */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "core/notify.h"
#include "api/api.h"

/* Where in the file the registers are. */
#define RFM_PAGE_RUNTIME	(RFM_MAP_RUNTIME >> PAGE_SHIFT)
#define RFM_PAGE_CONTROL	(RFM_MAP_CONTROL >> PAGE_SHIFT)

/* A fault maps the aligned 64 KiB around it: faults are dear in a guest. */
#define RFM_FAULT_AROUND	16ul

static vm_fault_t rfm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rfm_card *card = rfm_card_of(vma->vm_file);
	unsigned long pgoff = vma->vm_pgoff, pages = vma_pages(vma);
	unsigned long first, last, i;
	vm_fault_t ret;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return VM_FAULT_SIGBUS;

	ret = vmf_insert_pfn(vma, vmf->address,
			     PHYS_PFN(card->hw.memory_phys) + vmf->pgoff);

	/* The rest is a convenience: what cannot be had will fault later. */
	first = max(round_down(vmf->pgoff, RFM_FAULT_AROUND), pgoff);
	last = min(round_down(vmf->pgoff, RFM_FAULT_AROUND) + RFM_FAULT_AROUND,
		   pgoff + pages);
	for (i = first; i < last && ret == VM_FAULT_NOPAGE; i++)
		ret = vmf_insert_pfn(vma,
				     vma->vm_start + ((i - pgoff) << PAGE_SHIFT),
				     PHYS_PFN(card->hw.memory_phys) + i);

	rfm_card_exit(card, idx);
	return ret;
}

/* What one mmap() holds. */
struct rfm_mapping {
	refcount_t refs;		/* the pieces that are left of it, in all processes */
	struct rfm_card *card;		/* the pieces keep the file open, and it the card */
	struct rfm_hold hold;		/* the whole range, until the last piece is gone */
	struct rfm_holder holder;	/* for descriptor-get */
};

static bool rfm_mapping_range(struct rfm_holder *holder, u64 *cursor,
			      struct rfm_range *range, u32 *planes)
{
	struct rfm_mapping *mapping = container_of(holder, struct rfm_mapping,
						   holder);

	range->offset = (u64)mapping->hold.first * RFM_GRANULE;
	range->length = (u64)mapping->hold.end * RFM_GRANULE - range->offset;
	*planes = mapping->hold.planes;
	return !(*cursor)++;
}

static const struct rfm_holder_ops rfm_mapping_ops = {
	.kind = RFM_DESCRIPTOR_KIND_MAP,
	.range = rfm_mapping_range,
};

/* A piece is copied, by fork(), or cut in two, by munmap() of its middle. */
static void rfm_vm_open(struct vm_area_struct *vma)
{
	struct rfm_mapping *mapping = vma->vm_private_data;

	refcount_inc(&mapping->refs);
}

static void rfm_vm_close(struct vm_area_struct *vma)
{
	struct rfm_mapping *mapping = vma->vm_private_data;

	if (!refcount_dec_and_test(&mapping->refs))
		return;
	rfm_holder_del(mapping->card, &mapping->holder);
	rfm_subscription_drop(mapping->card, &mapping->hold);
	kfree(mapping);
}

static const struct vm_operations_struct rfm_vm_ops = {
	.open = rfm_vm_open,
	.close = rfm_vm_close,
	.fault = rfm_fault,
};

/*
 * Others may write there, and what is stored there goes to them, as far as
 * the file has the right to either.
 */
static int rfm_mapping_make(struct rfm_file *file, struct vm_area_struct *vma)
{
	unsigned long pages = file->card->hw.window_size >> PAGE_SHIFT;
	struct rfm_mapping *mapping;
	u32 planes = 0;
	int ret;

	if (vma->vm_pgoff > pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	if (!(READ_ONCE(file->holder.flags) & RFM_DESCRIPTOR_FLAG_NO_MAPS)) {
		planes = RFM_HOLD(RFM_PLANE_RX);
		if (file->mode & FMODE_WRITE)
			planes |= RFM_HOLD(RFM_PLANE_TX);
	}

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	ret = rfm_subscription_hold(file->card, &mapping->hold, true,
				    (u64)vma->vm_pgoff << PAGE_SHIFT,
				    vma->vm_end - vma->vm_start, planes);
	if (ret) {
		kfree(mapping);
		return ret;
	}
	refcount_set(&mapping->refs, 1);
	mapping->card = file->card;
	rfm_holder_add(file->card, &mapping->holder, &rfm_mapping_ops);
	vma->vm_private_data = mapping;
	return 0;
}

/* --- registers ------------------------------------------------------------ */

/* A page of registers; these hold nothing, and stay where they are. */
static vm_fault_t rfm_regs_fault(struct vm_fault *vmf)
{
	struct rfm_card *card = rfm_card_of(vmf->vma->vm_file);
	int idx, bar = vmf->pgoff == RFM_PAGE_RUNTIME ? RFM_BAR_RUNTIME :
							RFM_BAR_CONTROL;
	vm_fault_t ret;

	if (!rfm_card_enter(card, &idx))
		return VM_FAULT_SIGBUS;
	ret = vmf_insert_pfn(vmf->vma, vmf->address,
			     PHYS_PFN(pci_resource_start(card->hw.pdev, bar)));
	rfm_card_exit(card, idx);
	return ret;
}

static const struct vm_operations_struct rfm_regs_vm_ops = {
	.fault = rfm_regs_fault,
};

/* --- both ----------------------------------------------------------------- */

/*
 * Until its last page is unmapped, in this process or in one forked from it,
 * a mapping of the memory holds a subscription, and the window stays where it is.
 * The errors stand in rfm.4.
 */
int rfm_mmap(struct file *file, struct vm_area_struct *vma)
{
	bool regs = vma->vm_pgoff == RFM_PAGE_RUNTIME ||
		    vma->vm_pgoff == RFM_PAGE_CONTROL;
	struct rfm_file *owner = file->private_data;
	int ret;

	if (READ_ONCE(owner->card->hw.gone))
		return -ENODEV;

	/* VM_SHARED will not do: a file open for reading only lacks it. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (regs && vma_pages(vma) != 1)
		return -EINVAL;
	ret = regs ? rfm_may_ioctl(RFM_FUNCTION_REGISTERS, owner->mode) :
		     rfm_mapping_make(owner, vma);
	if (ret)
		return ret;

	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = regs ? &rfm_regs_vm_ops : &rfm_vm_ops;
	return 0;
}
