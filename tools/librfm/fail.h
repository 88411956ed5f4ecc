/* SPDX-License-Identifier: MIT */
#ifndef RFM_FAIL_H
#define RFM_FAIL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* How a call fails. */
static inline int fail_with(int error)
{
	errno = error;
	return -1;
}

static inline int check_zero(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const char *)bytes)[i])
			return fail_with(EINVAL);
	return 0;
}

/* Who sets words that are reserved asks for what is not known here. @array: not a pointer */
#define check_reserved(array) check_zero(array, sizeof(array))

#endif
