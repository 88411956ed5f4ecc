/* SPDX-License-Identifier: MIT */
/* All that rfm2g_api.h needs on this system. */
#ifndef RFM2G_OSSPEC_H
#define RFM2G_OSSPEC_H

#include "rfm2g_types.h"
#include "rfm2g_errno.h"
#include "rfm2g_defs.h"
#include "rfm2g_defs_linux.h"

#endif
