// SPDX-License-Identifier: MIT
/* A name with two addresses, to be preloaded: two.test is ::1 first, and 127.0.0.1. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
		struct addrinfo **found)
{
	typeof(getaddrinfo) *next = dlsym(RTLD_NEXT, "getaddrinfo");
	int error;

	if (!host || strcmp(host, "two.test") || hints->ai_flags & AI_NUMERICHOST)
		return next(host, service, hints, found);
	error = next("::1", service, hints, found);
	return error ?: next("127.0.0.1", service, hints, &(*found)->ai_next);
}
