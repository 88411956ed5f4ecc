// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a process that another node writes to while the process sleeps.
 *
 *	region serve DEVICE		prints the key, sleeps, prints what came
 *	region write DEVICE NODE KEY TEXT
 */

#include <err.h>
#include <inttypes.h>

#include "card.h"

static char memory[3 * 4096];

static void serve(int fd)
{
	struct rfm_memory_region args = {
		.address = (uintptr_t)memory + 4000, .length = 4096,
		.flags = RFM_MEMORY_WRITE | RFM_MEMORY_WATCH,
	};
	struct rfm_event event;
	int region = ioctl(fd, RFM_IOC_REGION, &args);

	if (region < 0)
		err(1, "REGION");
	printf("%u\n", args.key);
	fflush(stdout);
	if (read(region, &event, sizeof(event)) != sizeof(event))
		err(1, "read");
	printf("node %u has written %u bytes at %" PRIu64 ": %s\n", event.node, event.length,
	       (uint64_t)event.offset, memory + 4000 + event.offset);
}

static void store(int fd, char **words)
{
	struct rfm_operation args = {
		.op = RFM_OP_WRITE, .node = atoi(words[0]), .key = strtoul(words[1], NULL, 0),
		.offset = 90, .data = (uintptr_t)words[2], .length = strlen(words[2]),
	};

	if (ioctl(fd, RFM_IOC_REMOTE, &args))
		err(1, "REMOTE");
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[2], O_RDWR) : -1;

	if (fd < 0)
		err(2, "no device");
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(fd);
	else if (argc == 6 && !strcmp(argv[1], "write"))
		store(fd, argv + 3);
	else
		errx(2, "serve DEVICE, or write DEVICE NODE KEY TEXT");
	return 0;
}
