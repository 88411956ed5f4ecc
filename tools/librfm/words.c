// SPDX-License-Identifier: MIT
/* The inline functions of the header, for languages that cannot use it. */
#define RFM_INLINE	__attribute__((visibility("default")))
#include "rfm/rfm.h"
