/* SPDX-License-Identifier: MIT */
#ifndef RMCTL_NAMES_H
#define RMCTL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const char *event_name(uint32_t type);
int event_from_name(const char *name);
bool event_mask_from_name(const char *name, uint32_t *mask);

#endif /* RMCTL_NAMES_H */
