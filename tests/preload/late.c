// SPDX-License-Identifier: MIT
/*
 * A host that is busy elsewhere, to be preloaded: a thread of the name IO...,
 * which QEMU gives its iothreads, gets each lock some milliseconds late.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LATE_US 20000

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	static int (*trylock)(pthread_mutex_t *mutex);
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (!memcmp(name, "IO", 2))
		usleep(LATE_US);
	if (!trylock)
		trylock = dlsym(RTLD_NEXT, "pthread_mutex_trylock");
	return trylock(mutex);
}
