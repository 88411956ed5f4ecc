/* SPDX-License-Identifier: GPL-2.0-only */
/* Found where the kernel has no such file: before 6.7. */
#include <linux/io_uring.h>
