/* SPDX-License-Identifier: MIT */
/* What peek, poke and dump do with a name, and the accesses that they make. */
#ifndef RMCTL_NAMED_H
#define RMCTL_NAMED_H

#include <stdint.h>

#include "tools/rmctl/cli/rmctl.h"

int show_name(struct command *cmd, const char *dev, const char *name, bool dump);
int poke_name(struct command *cmd, const char *dev, const char *name, char **words, int count);

/* A row of a dump with room for @room bytes, of which @count are known; without its end. */
void print_row(uint64_t offset, const unsigned char *bytes, uint64_t count, unsigned int room);

#define WIDTH_DEFAULT 4u	/* bytes of an access, if there is no -w */
int get_width(struct command *cmd, unsigned int *width);

/* One access of @width bytes, 1, 2, 4 or 8. */
uint64_t load_word(const volatile void *at, unsigned int width);
void store_word(volatile void *at, unsigned int width, uint64_t value);

#endif /* RMCTL_NAMED_H */
