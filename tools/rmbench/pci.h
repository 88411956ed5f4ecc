/* SPDX-License-Identifier: MIT */
/* Devices that have no driver, but memory to map. */
#ifndef RMBENCH_PCI_H
#define RMBENCH_PCI_H

#include <stddef.h>

/**
 * pci_map() - the memory of the first such device
 * @resource: its file, "resource0"
 *
 * Returns NULL if there is none, or it may not be mapped.
 */
void *pci_map(unsigned int vendor, unsigned int device, const char *resource, size_t size);

#endif
