/* SPDX-License-Identifier: MIT */
#ifndef RMCTL_OUT_H
#define RMCTL_OUT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "rmctl.h"
#include "text.h"

int out_json(const struct command *cmd, json_t *object);
int out_flush(const struct command *cmd);
const char *out_node(char *buffer, size_t size, uint32_t node);
const char *out_size(char *buffer, size_t size, uint64_t bytes);
json_t *json_known(bool condition, uint64_t value);
json_t *json_hex(uint64_t value, unsigned int width);

/* Room for what out_node() and out_size() write. */
#define OUT_WORD 32

#endif /* RMCTL_OUT_H */
