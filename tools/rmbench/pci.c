// SPDX-License-Identifier: MIT
/* Devices that have no driver, but memory to map. */
#include "pci.h"

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static bool reads(const char *folder, const char *name, unsigned int wanted)
{
	char path[512];
	unsigned int value;
	FILE *file;
	bool same;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	same = fscanf(file, "%x", &value) == 1 && value == wanted;
	fclose(file);
	return same;
}

static bool has_driver(const char *folder)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/driver", folder);
	return !access(path, F_OK);
}

/* Its memory answers from then on. */
static bool enable(const char *folder)
{
	char path[512];
	bool done;
	int fd;

	/* Each time that it is told so it counts one more user. */
	if (!reads(folder, "enable", 0))
		return true;
	snprintf(path, sizeof(path), "%s/enable", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, "1", 1) == 1;
	close(fd);
	return done;
}

static void *map(const char *folder, const char *resource, size_t size)
{
	char path[512];
	void *at;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, resource);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

void *pci_map(unsigned int vendor, unsigned int device, const char *resource, size_t size)
{
	void *found = NULL;
	glob_t devices;

	if (glob("/sys/bus/pci/devices/*", 0, NULL, &devices))
		return NULL;
	for (size_t i = 0; i < devices.gl_pathc && !found; i++) {
		const char *folder = devices.gl_pathv[i];

		if (reads(folder, "vendor", vendor) && reads(folder, "device", device) &&
		    !has_driver(folder) && enable(folder))
			found = map(folder, resource, size);
	}
	globfree(&devices);
	return found;
}
