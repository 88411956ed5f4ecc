/* SPDX-License-Identifier: MIT */
/* Text that goes out: what a terminal can show, and what JSON can hold. */
#ifndef RMCTL_TEXT_H
#define RMCTL_TEXT_H

#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

void text_clean(char *text);
size_t text_length(const char *text, size_t length);
json_t *json_clean(const char *text);
json_t *json_bytes(const unsigned char *bytes, size_t length);
void json_put(const char *json, FILE *out);

#endif /* RMCTL_TEXT_H */
