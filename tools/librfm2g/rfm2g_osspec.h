/* SPDX-License-Identifier: MIT */
/* All that rfm2g_api.h needs on this system. */
#ifndef RFM2G_OSSPEC_H
#define RFM2G_OSSPEC_H

/* Programs use these without including them. */
#include <pthread.h>
#include <semaphore.h>
#include <sys/ioctl.h>

/* The vendor's samples, and what was made of them, ask for it; their Makefiles say it. */
#ifndef RFM2G_LINUX
#define RFM2G_LINUX 1
#endif

#include "rfm2g_types.h"
#include "rfm2g_errno.h"
#include "rfm2g_defs.h"
#include "rfm2g_defs_linux.h"

#endif
