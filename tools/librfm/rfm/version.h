/* SPDX-License-Identifier: MIT */
/* Made from VERSION by tools/librfm/Makefile. */
#ifndef RFM_VERSION_H
#define RFM_VERSION_H

#define RFM_VERSION		0x010000	/* major << 16 | minor << 8 | patch */
#define RFM_VERSION_TEXT	"1.0.0"

#endif
