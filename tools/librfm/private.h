/* SPDX-License-Identifier: MIT */
/* What the files of librfm share. */
#ifndef RFM_PRIVATE_H
#define RFM_PRIVATE_H

#include "fail.h"
#include "rfm/rfm.h"

/* An open card. */
struct rfm {
	int fd;		/* its descriptor */
	int writable;	/* it was opened for writing */
};

#endif
