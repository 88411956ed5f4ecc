/* SPDX-License-Identifier: MIT */
#ifndef RFM_FAIL_H
#define RFM_FAIL_H

#include <errno.h>

/* How a call fails. */
static inline int fail_with(int error)
{
	errno = error;
	return -1;
}

#endif
