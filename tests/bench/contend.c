// SPDX-License-Identifier: MIT
/*
 * What a card is measured beside, in a guest: another shared memory, and its doorbell.
 *
 *	contend answer ivshmem		on one machine, until it is killed
 *	contend ask ivshmem SECONDS	on the other; prints rmbench's JSON
 *	contend answer doorbell PCI	the device, "0000:00:05.0", is bound to vfio-pci
 *	contend ask doorbell SECONDS PCI
 *
 * With `ivshmem` both look at the memory all the time. With `doorbell` the number is in the memory,
 * and whoever waits for it sleeps in read() on the eventfd of the device's interrupt.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/vfio.h>

#include "tools/rmbench/line.h"
#include "tools/rmbench/pci.h"

#define SHARED		(2u << 20)	/* bytes; rmbench writes to the first half */
#define WORD_AT(n)	((SHARED / 2) + (n) * 64)
#define IV_POSITION	8		/* registers: which peer we are */
#define DOORBELL	12		/* and what wakes one: its number, and the vector's */

static struct bench_samples polling = {
	.name = "ivshmem-poll", .what = "store into ivshmem until it is seen", .bytes = 8,
};

static struct bench_samples doorbell = {
	.name = "doorbell", .what = "ivshmem's doorbell until a sleeper runs", .bytes = 8,
};

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "contend: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void use_words(struct bench_line *line, char *memory, bool asking)
{
	line->polled = (volatile uint64_t *)(memory + WORD_AT(asking));
	line->stored = (volatile uint64_t *)(memory + WORD_AT(!asking));
	line->last = *line->polled;
}

static void open_polling(struct bench_line *line, bool asking)
{
	char *memory = pci_map(0x1af4, 0x1110, "resource2_wc", SHARED);

	check(!memory, "ivshmem");
	line->put = line_poll_put;
	line->get = line_poll_get;
	use_words(line, memory, asking);
}

/* --- the doorbell, by vfio ---------------------------------------------------------------- */

static volatile char *registers;	/* NULL: by pwrite() only */
static uint64_t registers_at;

static int doorbell_put(struct bench_line *line, uint32_t number)
{
	uint32_t ring = line->node << 16;

	*line->stored = number;
	if (registers) {
		*(volatile uint32_t *)(registers + DOORBELL) = ring;
		return 0;
	}
	return pwrite(line->out, &ring, sizeof(ring), registers_at + DOORBELL) == sizeof(ring) ?
	       0 : -1;
}

static int doorbell_get(struct bench_line *line, uint32_t *number)
{
	eventfd_t count;

	if (read(line->in, &count, sizeof(count)) != sizeof(count))
		return -1;
	*number = *line->polled;
	return 0;
}

static int open_group(const char *pci)
{
	char path[256], target[256] = "";

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", pci);
	check(readlink(path, target, sizeof(target) - 1) < 0, path);
	snprintf(path, sizeof(path), "/dev/vfio/%s", basename(target));
	return open(path, O_RDWR);
}

static int open_device(const char *pci)
{
	int container = open("/dev/vfio/vfio", O_RDWR), group = open_group(pci), device;

	check(container < 0, "/dev/vfio/vfio");
	check(group < 0, "the device's group");
	check(ioctl(group, VFIO_GROUP_SET_CONTAINER, &container), "the group");
	check(ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU), "the IOMMU");
	device = ioctl(group, VFIO_GROUP_GET_DEVICE_FD, pci);
	check(device < 0, pci);
	return device;
}

static struct vfio_region_info region(int device, unsigned int index)
{
	struct vfio_region_info info = { .argsz = sizeof(info), .index = index };

	check(ioctl(device, VFIO_DEVICE_GET_REGION_INFO, &info), "a BAR");
	return info;
}

/* A store to a register is the shortest way; a BAR of less than a page may not be mapped. */
static void open_registers(int device)
{
	struct vfio_region_info bar = region(device, VFIO_PCI_BAR0_REGION_INDEX);
	void *at;

	registers_at = bar.offset;
	if (bar.flags & VFIO_REGION_INFO_FLAG_MMAP) {
		at = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, device, bar.offset);
		check(at == MAP_FAILED, "its registers' memory");
		registers = at;
	}
}

static int open_interrupt(int device)
{
	char room[sizeof(struct vfio_irq_set) + sizeof(int)] = { 0 };
	struct vfio_irq_set *set = (struct vfio_irq_set *)room;
	int fd = eventfd(0, EFD_CLOEXEC);

	check(fd < 0, "an eventfd");
	set->argsz = sizeof(room);
	set->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
	set->index = VFIO_PCI_MSIX_IRQ_INDEX;
	set->count = 1;
	memcpy(set->data, &fd, sizeof(fd));
	check(ioctl(device, VFIO_DEVICE_SET_IRQS, set), "the interrupt");
	return fd;
}

static void open_doorbell(struct bench_line *line, bool asking, const char *pci)
{
	int device = open_device(pci);
	struct vfio_region_info shared = region(device, VFIO_PCI_BAR2_REGION_INDEX);
	uint16_t command = 7;		/* port, memory, and the right to interrupt */
	uint32_t own;
	char *memory;

	check(pwrite(device, &command, sizeof(command),
		     region(device, VFIO_PCI_CONFIG_REGION_INDEX).offset + 4) < 0, "the device");
	memory = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED, device, shared.offset);
	check(memory == MAP_FAILED, "its memory");
	open_registers(device);
	check(pread(device, &own, sizeof(own), registers_at + IV_POSITION) != sizeof(own),
	      "its registers");
	line->put = doorbell_put;
	line->get = doorbell_get;
	line->in = open_interrupt(device);
	line->out = device;
	line->node = own ^ 1;		/* of two */
	use_words(line, memory, asking);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	bool asking = argc > 3 && !strcmp(argv[1], "ask"), rings = !strcmp(how, "doorbell");
	struct bench_samples *half = rings ? &doorbell : &polling;
	struct bench_line line = { 0 };
	double seconds = asking ? atof(argv[3]) : 0;

	if (argc != 3 + asking + rings || (!rings && strcmp(how, "ivshmem")) ||
	    (!asking && strcmp(argv[1], "answer"))) {
		fprintf(stderr, "usage: contend answer|ask ivshmem|doorbell [SECONDS] [PCI]\n");
		return 2;
	}
	if (rings)
		open_doorbell(&line, asking, argv[argc - 1]);
	else
		open_polling(&line, asking);
	line_start_ticking();
	if (!asking) {
		printf("ready\n");
		fflush(stdout);
		check(line_answer(&line), how);
	}
	check(line_ask(&line, seconds * 1e9, half), how);
	samples_print_json(seconds, json_pack("[o]", samples_json(half)));
	return 0;
}
