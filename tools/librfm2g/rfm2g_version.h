/* SPDX-License-Identifier: MIT */
/* The vendor's release whose API this is: scripts that configure programs grep for it. */
#ifndef RFM2G_VERSION_H
#define RFM2G_VERSION_H

#define RFM2G_PRODUCT_STRING "SW-RFM2G-DRV-LNX"
#define RFM2G_PRODUCT_OS "LINUX"
#define RFM2G_PRODUCT_VERSION "R09.00"

#endif
