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

#include "compat.h"
#include "rfm_drv.h"

/* A fault maps the aligned 64 KiB around it: faults are dear in a guest. */
#define RFM_FAULT_AROUND	16ul

static vm_fault_t rfm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct rfm_card *card = vma->vm_file->private_data;
	unsigned long pgoff = vma->vm_pgoff, pages = vma_pages(vma);
	unsigned long first, last, i;
	vm_fault_t ret;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return VM_FAULT_SIGBUS;

	ret = vmf_insert_pfn(vma, vmf->address,
			     PHYS_PFN(card->memory_phys) + vmf->pgoff);

	/* The rest is a convenience: what cannot be had will fault later. */
	first = max(round_down(vmf->pgoff, RFM_FAULT_AROUND), pgoff);
	last = min(round_down(vmf->pgoff, RFM_FAULT_AROUND) + RFM_FAULT_AROUND,
		   pgoff + pages);
	for (i = first; i < last && ret == VM_FAULT_NOPAGE; i++)
		ret = vmf_insert_pfn(vma,
				     vma->vm_start + ((i - pgoff) << PAGE_SHIFT),
				     PHYS_PFN(card->memory_phys) + i);

	rfm_card_exit(card, idx);
	return ret;
}

static const struct vm_operations_struct rfm_vm_ops = {
	.fault = rfm_fault,
};

/**
 * rfm_mmap - map the card's memory into a process
 * @file: the open file
 * @vma: the mapping; its offset is the offset in the card's memory
 *
 * Return: 0; -EINVAL for a private mapping or one that goes past the window,
 * -EACCES for an executable one, -ENODEV if the card has gone.
 */
int rfm_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct rfm_card *card = file->private_data;
	unsigned long pages = card->window_size >> PAGE_SHIFT;

	if (READ_ONCE(card->gone))
		return -ENODEV;

	/* VM_SHARED will not do: a file open for reading only lacks it. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	if (vma->vm_pgoff > pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;

	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP,
		     VM_MAYEXEC);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	vma->vm_ops = &rfm_vm_ops;
	return 0;
}
