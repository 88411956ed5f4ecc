/* SPDX-License-Identifier: MIT */
#ifndef RMCTL_EVENT_NAMES_H
#define RMCTL_EVENT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/rfm.h>

const char *const *event_names(void);
const char *event_name(uint32_t type);
int event_from_name(const char *name);
bool event_mask_from_name(const char *name, uint32_t *mask);
bool event_is_update(const struct rfm_event *event);
bool event_age(const struct rfm_event *event, uint64_t *age);

#endif /* RMCTL_EVENT_NAMES_H */
