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
void json_add(const struct command *cmd, json_t *object, const char *key, json_t *value);
json_t *json_known(bool condition, uint64_t value);
json_t *json_hex(uint64_t value, unsigned int width);
json_t *bits_json(uint64_t bits, const char *const *names, size_t count);
void bits_print(uint64_t bits, const char *const *names, size_t count, const char *first,
		const char *between);

void *needed(const struct command *cmd, void *memory);
void *grown(const struct command *cmd, void *list, size_t count, size_t size);

#endif /* RMCTL_OUT_H */
