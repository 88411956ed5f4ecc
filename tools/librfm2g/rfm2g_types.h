/* SPDX-License-Identifier: MIT */
/* The types of the RFM2g API. For programs: include rfm2g_api.h. */
#ifndef RFM2G_TYPES_H
#define RFM2G_TYPES_H

typedef unsigned char RFM2G_UINT8;
typedef unsigned short RFM2G_UINT16;
typedef unsigned int RFM2G_UINT32;
__extension__ typedef unsigned long long RFM2G_UINT64;

typedef signed char RFM2G_INT8;
typedef short RFM2G_INT16;
typedef int RFM2G_INT32;
__extension__ typedef long long RFM2G_INT64;

typedef char RFM2G_CHAR;
typedef RFM2G_UINT8 RFM2G_BOOL;
typedef RFM2G_UINT16 RFM2G_NODE;
typedef unsigned long RFM2G_ADDR;

/* Of the type, as functions of C++ that are chosen by it need. */
#define RFM2G_FALSE		((RFM2G_BOOL)0)
#define RFM2G_TRUE		((RFM2G_BOOL)1)

typedef enum rfm2gDataWidth {
	RFM2G_BYTE	= 1,
	RFM2G_WORD	= 2,
	RFM2G_LONG	= 4,
	RFM2G_LONGLONG	= 8
} RFM2GDATAWIDTH;

/* Programs have it from here. */
#ifndef MAX_PATH
#define MAX_PATH		128
#endif

#endif
