// SPDX-License-Identifier: MIT
/*
 * A host that is short of memory, to be preloaded: whoever asks for much of it, or gives it
 * back, waits until the FIFO that the environment names as GATE has been opened and closed.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define MUCH (32 << 20)

void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *memory);

static void wait_at_gate(size_t size)
{
	const char *gate = getenv("GATE");
	int fd;
	char c;

	if (size < MUCH || !gate)
		return;
	fd = open(gate, O_RDONLY);
	while (fd >= 0 && read(fd, &c, 1) > 0)
		;
	close(fd);
}

void *calloc(size_t count, size_t size)
{
	wait_at_gate(count * size);
	return __libc_calloc(count, size);
}

void free(void *memory)
{
	if (memory)
		wait_at_gate(malloc_usable_size(memory));
	__libc_free(memory);
}
