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

/* Who sets words that are reserved asks for what is not known here. */
static inline int check_reserved(const uint64_t *words, size_t count)
{
	while (count && !words[count - 1])
		count--;
	return count ? fail_with(EINVAL) : 0;
}

#endif
