/* SPDX-License-Identifier: MIT */
/* The ring as a drawing. */
#ifndef RMCTL_MAP_DRAW_H
#define RMCTL_MAP_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAP_UNKNOWN UINT32_MAX	/* a node that says nothing */

void map_draw(FILE *file, const uint32_t *nodes, size_t count, bool dark, bool open);

#endif /* RMCTL_MAP_DRAW_H */
