/* SPDX-License-Identifier: MIT */
/* What other nodes may do with bytes of a memory, as words. */
#ifndef RFM_TOOLS_RIGHTS_H
#define RFM_TOOLS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>

/* As enum rfmring_rights, and as RFM_EXPORT_* of a card. */
enum { RIGHT_READ = 1 << 0, RIGHT_WRITE = 1 << 1, RIGHT_HOME = 1 << 2 };

#define RIGHTS 3

/* Of bit n. */
extern const char *const right_names[RIGHTS];

/**
 * parse_rights() - "read,write", "home", "none"...
 * @rights: a set of RIGHT_*
 * @bad: the word that is none of them, up to the next comma
 */
bool parse_rights(const char *text, uint32_t *rights, const char **bad);

#endif
