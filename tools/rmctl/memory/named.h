/* SPDX-License-Identifier: MIT */
/* What peek, poke and dump do with a name, and the accesses that they make. */
#ifndef RMCTL_NAMED_H
#define RMCTL_NAMED_H

#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

int peek_name(struct command *cmd, const char *dev, const char *name);
int poke_name(struct command *cmd, const char *dev, const char *name, char **words, int count);
int dump_name(struct command *cmd, const char *dev, const char *name);

/* One access of @width bytes, 1, 2, 4 or 8. */
uint64_t load_word(const volatile void *address, unsigned int width);
void store_word(volatile void *address, unsigned int width, uint64_t value);

#endif /* RMCTL_NAMED_H */
