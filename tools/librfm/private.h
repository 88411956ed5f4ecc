/* SPDX-License-Identifier: MIT */
/* What the files of librfm share. */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "fail.h"
#include "rfm/rfm.h"

/**
 * struct rfm - an open card
 * @fd: its descriptor
 * @writable: it was opened for writing
 */
struct rfm {
	int fd;
	int writable;
};

#endif
