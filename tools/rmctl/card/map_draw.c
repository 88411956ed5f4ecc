// SPDX-License-Identifier: MIT
/*
 * The ring as a drawing of at most 80 columns: rows that go to the right and to the left in
 * turn, and a line that goes back from the end of the last one to the beginning of the first.
 *
 *   .--->[ *1]-->[  2]-->[  3]-.
 *   |                          |
 *   '----[  6]<--[  5]<--[  4]<'
 *
 * From the third row on the turns at the left lie inside that line.
 */
#include "map_draw.h"

#include <inttypes.h>

#define CELL 6u		/* "[*255]" */
#define LINK 3u		/* "-->" */
#define MARGIN 5u	/* the line that goes back, and the turns inside it */
#define ROW_MAX 8u
#define ROW_SHORT 4u	/* so many fit into one row and look well there */

/**
 * struct drawing - what every row needs
 * @nodes: in the order in which frames go round, this node first
 * @count: how many
 * @per_row: cells of a full row
 * @rows: an even number; the last may be empty
 * @dark: this node sees no light
 * @open: nothing of this node comes home
 */
struct drawing {
	const uint32_t *nodes;
	size_t count, per_row, rows;
	bool dark, open;
};

static void repeat(FILE *file, char c, size_t times)
{
	while (times--)
		fputc(c, file);
}

static void cell(FILE *file, const struct drawing *drawing, size_t at)
{
	if (drawing->nodes[at] == MAP_UNKNOWN)
		fputs("[   ?]", file);
	else
		fprintf(file, at ? "[ %3" PRIu32 "]" : "[*%3" PRIu32 "]", drawing->nodes[at]);
}

/* Cells of row @row, which may be none. */
static size_t cells_of(const struct drawing *drawing, size_t row)
{
	size_t before = row * drawing->per_row;
	size_t left = drawing->count > before ? drawing->count - before : 0;

	return left < drawing->per_row ? left : drawing->per_row;
}

static size_t width_of(const struct drawing *drawing)
{
	return drawing->per_row * (CELL + LINK) - LINK;
}

/* An even row: to the right. */
static void row_right(FILE *file, const struct drawing *drawing, size_t row)
{
	size_t cells = cells_of(drawing, row), first = row * drawing->per_row;
	size_t used = cells ? cells * (CELL + LINK) - LINK : 0;

	if (row)
		fputs("| '->", file);
	else
		fputs(drawing->dark ? ".-x->" : ".--->", file);
	for (size_t i = 0; i < cells; i++) {
		if (i)
			fputs(drawing->open && first + i == 1 ? "-x>" : "-->", file);
		cell(file, drawing, first + i);
	}
	repeat(file, '-', width_of(drawing) - used);
	fputs(drawing->open && drawing->count == 1 ? "x.\n" : "-.\n", file);
}

/* An odd row: to the left, so that its last cell stands first. */
static void row_left(FILE *file, const struct drawing *drawing, size_t row)
{
	size_t cells = cells_of(drawing, row), first = row * drawing->per_row;
	size_t used = cells ? cells * (CELL + LINK) - LINK : 0;
	bool last = row + 1 == drawing->rows;

	fputs(last ? "'----" : "| .--", file);
	repeat(file, '-', width_of(drawing) - used);
	for (size_t i = cells; i-- > 0;) {
		cell(file, drawing, first + i);
		if (i)
			fputs("<--", file);
	}
	fputs(cells ? "<'\n" : "-'\n", file);
}

/* Between two rows: the turn at the right or at the left, and the line that goes back. */
static void between(FILE *file, const struct drawing *drawing, bool at_right)
{
	if (at_right) {
		fputc('|', file);
		repeat(file, ' ', MARGIN + width_of(drawing));
		fputs("|\n", file);
	} else {
		fputs("| |\n", file);
	}
}

/**
 * map_draw - draw a ring
 * @file: where to
 * @nodes: node ids, or MAP_UNKNOWN, in the order in which frames go round, this node first
 * @count: how many, at least 1
 * @dark: this node sees no light: the link to it is drawn as broken
 * @open: nothing of this node comes home: so is the link to the next one that was heard
 */
void map_draw(FILE *file, const uint32_t *nodes, size_t count, bool dark, bool open)
{
	struct drawing drawing = { .nodes = nodes, .count = count, .dark = dark, .open = open };

	drawing.per_row = count <= ROW_SHORT ? count : (count + 1) / 2;
	if (drawing.per_row > ROW_MAX)
		drawing.per_row = ROW_MAX;
	drawing.rows = (count + drawing.per_row - 1) / drawing.per_row;
	drawing.rows += drawing.rows % 2;
	for (size_t row = 0; row < drawing.rows; row++) {
		if (row && (row % 2 == 0 || cells_of(&drawing, row)))
			between(file, &drawing, row % 2);
		if (row % 2)
			row_left(file, &drawing, row);
		else
			row_right(file, &drawing, row);
	}
}
