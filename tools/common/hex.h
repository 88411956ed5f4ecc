/* SPDX-License-Identifier: MIT */
/* Bytes as pairs of hexadecimal digits. */
#ifndef RFM_TOOLS_HEX_H
#define RFM_TOOLS_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** hex_text() - @length bytes as digits, to be freed; NULL: no memory */
char *hex_text(const uint8_t *data, size_t length);

/** hex_digit() - its value; 16: it is none */
int hex_digit(char c);

/**
 * hex_bytes() - the bytes that @text says, in capital or small digits
 * @bytes: room for @max of them
 *
 * Returns how many; -1 if it has anything but pairs of digits, or more.
 */
ssize_t hex_bytes(const char *text, uint8_t *bytes, size_t max);

#endif
