// SPDX-License-Identifier: MIT
/*
 * Regions as a table, for the spreadsheets in which people have them: a row for the
 * file, for each type, region and field, RFC 4180. A field's name has the names
 * around it before it, "pump.motor.current".
 *
 * The way back makes of each row the same in YAML, on the line of the row: so there
 * is one judge of what is right, and its complaints name the lines of the table.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "regions.h"
#include "tools/rmctl/cli/out.h"

enum column {
	KIND, NAME, OFFSET, TYPE, COUNT, SIZE, ORDER, OWNER, PERIOD, UNIT, DESCRIPTION, COLUMNS
};

/* And the key in the file of regions. */
static const struct {
	const char *name, *key;
} columns[COLUMNS] = {
	[KIND] = { "kind", NULL },
	[NAME] = { "name", NULL },
	[OFFSET] = { "offset", "offset" },
	[TYPE] = { "type", "type" },
	[COUNT] = { "count", "count" },
	[SIZE] = { "size", "size" },
	[ORDER] = { "byte_order", "byte-order" },
	[OWNER] = { "owner", "owner" },
	[PERIOD] = { "period", "period" },
	[UNIT] = { "unit", "unit" },
	[DESCRIPTION] = { "description", "description" },
};

#define STRUCTURE "struct"	/* the type of what is defined by the rows below */

/* --- there -------------------------------------------------------------------------- */

static void put_cell(const char *cell)
{
	if (!cell[strcspn(cell, ",\"\r\n")]) {
		fputs(cell, stdout);
		return;
	}
	putchar('"');
	for (; *cell; cell++) {
		if (*cell == '"')
			putchar('"');
		putchar(*cell);
	}
	putchar('"');
}

/* @size: the key for the column of that name. */
static void put_row(const char *kind, const char *name, const char *size, const json_t *object)
{
	for (int i = 0; i < COLUMNS; i++) {
		const char *key = i == SIZE ? size : columns[i].key;
		const json_t *value = key ? json_object_get(object, key) : NULL;
		char number[24];

		if (i)
			putchar(',');
		if (i == KIND || i == NAME)
			put_cell(i == KIND ? kind : name);
		else if (i == TYPE && json_object_get(object, "fields"))
			put_cell(STRUCTURE);
		else if (json_is_string(value))
			put_cell(json_string_value(value));
		else if (value)
			put_cell(number_word(number, key, value));
	}
	putchar('\n');
}

static void put_list(const char *kind, const char *around, json_t *list)
{
	char name[RFM_REGION_PATH_MAX];
	const char *last;
	json_t *region;

	json_object_foreach(list, last, region) {
		snprintf(name, sizeof(name), "%s%s%s", around, *around ? "." : "", last);
		put_row(kind, name, "size", region);
		put_list(kind, name, json_object_get(region, "fields"));
	}
}

/* Prints the table, in which @prefix is nowhere. Returns an exit status. */
int regions_write_csv(struct command *cmd, const char *prefix)
{
	json_t *object = needed(cmd, regions_json(cmd->regions));

	for (int i = 0; i < COLUMNS; i++)
		printf("%s%s", i ? "," : "", columns[i].name);
	putchar('\n');
	put_row("file", "", "memory", object);
	put_list("type", "", json_object_get(object, "types"));
	put_list("region", "", json_object_get(object, "regions"));
	json_decref(object);
	return out_flush(cmd);
}

/* --- and back ------------------------------------------------------------------------- */

#define CELLS_MAX	64	/* in a row */

/* A table that is being read. */
struct table {
	const char *path;
	char *at;				/* what is still to be read */
	char *end;				/* of the text */
	uint32_t line;				/* of @at, from 1 */
	char *cells[CELLS_MAX];			/* of the row, in the text itself */
	int count;				/* of them */
	/* The column in which each of the keys is, -1: in none. */
	int where[COLUMNS];
	const char *section;			/* "types" or "regions" is open, or NULL */
	/* Full name of the region or field whose mapping is open, and all around it. */
	char around[RFM_REGION_PATH_MAX];
	bool fresh;				/* it has no fields yet */
	bool has_regions;			/* a section of regions has been begun */
	FILE *out;				/* the YAML so far */
	uint32_t out_line;			/* of it */
	rfm_regions_report *report;
	void *context;
};

__attribute__((format(printf, 3, 4)))
static bool wrong(struct table *table, uint32_t line, const char *format, ...)
{
	char sentence[300];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	text_clean(sentence);
	table->report(table->context, &(struct rfm_regions_complaint){
		.path = table->path, .sentence = sentence, .line = line,
		.fault = RFM_REGIONS_FORM });
	return false;
}

/* No blanks around a cell: people type them behind numbers, where they are not seen. */
static char *trim(char *cell)
{
	size_t length;

	cell += strspn(cell, " \t");
	length = strlen(cell);
	while (length && strchr(" \t", cell[length - 1]))
		length--;
	cell[length] = '\0';
	return cell;
}

/* Takes a cell, and the character behind it: @behind, 0 at the end of the text. */
static bool read_cell(struct table *table, char *behind)
{
	uint32_t first = table->line;
	bool quoted = table->at < table->end && *table->at == '"';
	char *cell = table->at, *to = cell;

	table->at += quoted;
	for (; table->at < table->end; table->at++) {
		char c = *table->at;

		if (!c)
			return wrong(table, table->line, "the table has a NUL in it");
		if (quoted && c == '"') {
			if (table->at + 1 == table->end || table->at[1] != '"') {
				table->at++;
				quoted = false;
				break;
			}
			table->at++;
		} else if (!quoted && (c == ',' || c == '\n' || c == '\r')) {
			break;
		}
		table->line += c == '\n';
		*to++ = c;
	}
	if (quoted)
		return wrong(table, first, "a cell begins with \" and has no end");
	*behind = table->at < table->end ? *table->at : '\0';
	if (table->at < table->end && !memchr(",\r\n", *table->at++, 3))
		return wrong(table, table->line, "there is something behind the \" of a cell");
	if (table->count == CELLS_MAX)
		return wrong(table, table->line, "a row has at most %d cells", CELLS_MAX);
	*to = '\0';
	table->cells[table->count++] = trim(cell);
	return true;
}

/* Reads the cells of a row. */
static bool read_row(struct table *table)
{
	char behind = ',';

	for (table->count = 0; behind == ',';)
		if (!read_cell(table, &behind))
			return false;
	if (behind == '\r' && table->at < table->end && *table->at == '\n')
		behind = *table->at++;
	table->line += behind == '\n';
	return true;
}

/* The heading says which column is what; unknown ones would be lost silently. */
static bool read_heading(struct table *table)
{
	static const char bom[] = "\xef\xbb\xbf";	/* of a spreadsheet */
	uint32_t line = table->line;

	if (table->end - table->at >= 3 && !memcmp(table->at, bom, 3))
		table->at += 3;
	if (!read_row(table))
		return false;
	if (table->count == 1 && strpbrk(table->cells[0], ";\t"))
		return wrong(table, line, "the cells of a table are separated by commas, not by "
			     "semicolons or tabs");
	for (int i = 0; i < COLUMNS; i++)
		table->where[i] = -1;
	for (int i = 0; i < table->count; i++) {
		int column = 0;

		while (column < COLUMNS && strcmp(columns[column].name, table->cells[i]))
			column++;
		if (column == COLUMNS)
			return wrong(table, line, "there is no column '%.70s'", table->cells[i]);
		if (table->where[column] >= 0)
			return wrong(table, line, "column '%s' is here twice", table->cells[i]);
		table->where[column] = i;
	}
	if (table->where[NAME] < 0)
		return wrong(table, line, "there is no column 'name'");
	return true;
}

static const char *cell_of(const struct table *table, enum column column)
{
	int where = table->where[column];

	return where >= 0 && where < table->count ? table->cells[where] : "";
}

/* A word in quotes, which YAML has as JSON has them. */
static void put_quoted(FILE *out, const char *word)
{
	json_t *string = json_string(word);

	json_dumpf(string, out, JSON_ENCODE_ANY);
	json_decref(string);
}

/* @size: the key for the column of that name. */
static void put_keys(struct table *table, const char *size)
{
	for (int i = 0; i < COLUMNS; i++) {
		const char *cell = cell_of(table, (enum column)i);

		if (!columns[i].key || !*cell || (i == TYPE && !strcmp(cell, STRUCTURE)))
			continue;
		fprintf(table->out, "\"%s\": ", i == SIZE ? size : columns[i].key);
		put_quoted(table->out, cell);
		fputs(", ", table->out);
	}
}

/* How many bytes of @name are the names around its last? */
static size_t length_around(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? (size_t)(dot - name) : 0;
}

/* Ends the innermost mapping that is open. */
static void close_region(struct table *table)
{
	fputs(table->fresh ? "}, " : "}}, ", table->out);
	table->fresh = false;
	table->around[length_around(table->around)] = '\0';
}

/* Begins the mapping of @name in those around it, which must be open or just closed. */
static bool open_region(struct table *table, uint32_t line, const char *name)
{
	size_t length = length_around(name);

	if (!*name)
		return wrong(table, line, "the row has no name");
	if (strlen(name) >= sizeof(table->around))
		return wrong(table, line, "'%.70s...' is too long for a name", name);
	while (*table->around && (strlen(table->around) != length ||
				  strncmp(table->around, name, length)))
		close_region(table);
	if (length && !*table->around)
		return wrong(table, line, "'%.70s' does not follow the row of '%.*s'", name,
			     length > 70 ? 70 : (int)length, name);
	if (*table->around && table->fresh)
		fputs("\"fields\": {", table->out);
	put_quoted(table->out, name + length + (length > 0));
	fputs(": {", table->out);
	strcpy(table->around, name);
	table->fresh = true;
	return true;
}

static void close_section(struct table *table)
{
	while (*table->around)
		close_region(table);
	if (table->section)
		fputs("}, ", table->out);
	table->section = NULL;
}

static bool put_yaml_row(struct table *table, uint32_t line)
{
	const char *kind = cell_of(table, KIND), *section;

	for (; table->out_line < line; table->out_line++)
		fputc('\n', table->out);
	if (!strcmp(kind, "file")) {
		close_section(table);
		put_keys(table, "memory");
		return true;
	}
	if (*kind && strcmp(kind, "region") && strcmp(kind, "type"))
		return wrong(table, line, "kind '%.70s' is none of file, type, region", kind);
	section = *kind == 't' ? "types" : "regions";
	if (!table->section || strcmp(table->section, section)) {
		close_section(table);
		fprintf(table->out, "\"%s\": {", section);
		table->section = section;
		table->has_regions |= *section == 'r';
	}
	if (!open_region(table, line, cell_of(table, NAME)))
		return false;
	put_keys(table, "size");
	return true;
}

/* Spreadsheets offer other encodings, too. */
static bool check_encoding(struct table *table)
{
	const char *end = table->at + text_length(table->at, (size_t)(table->end - table->at));
	uint32_t line = table->line;

	if (end == table->end)
		return true;
	for (const char *at = table->at; at < end; at++)
		line += *at == '\n';
	return wrong(table, line, "this is not UTF-8: save the table again, as UTF-8 and not as "
		     "ISO 8859-1, Windows or UTF-16 text");
}

static bool read_table(struct table *table)
{
	bool good = check_encoding(table) && read_heading(table);

	fputs("{\"rfm-regions\": 1, ", table->out);
	while (good && table->at < table->end) {
		uint32_t line = table->line;

		bool blank = true;

		good = read_row(table);
		for (int i = 0; i < table->count && good; i++)
			blank &= !*table->cells[i];
		if (good && !blank)
			good = put_yaml_row(table, line);
	}
	close_section(table);
	/* A table without rows is a memory without regions. */
	fputs(table->has_regions ? "}\n" : "\"regions\": {}}\n", table->out);
	return good;
}

/*
 * A table as a file of regions, on the same lines; @path is for complaints. @text, behind which
 * there is a NUL, is taken apart. Returns what is made of it, to be freed, or NULL after @report
 * has been told what is wrong with it as a table.
 */
char *csv_as_yaml(const char *path, char *text, size_t length, rfm_regions_report *report,
		  void *context)
{
	struct table table = {
		.path = path, .at = text, .end = text + length, .line = 1, .out_line = 1,
		.report = report, .context = context,
	};
	char *yaml = NULL;
	size_t size;
	bool good = false;

	table.out = open_memstream(&yaml, &size);
	if (table.out)
		good = read_table(&table);
	if (!table.out || fclose(table.out))
		good = wrong(&table, 0, "there is no memory");
	if (good)
		return yaml;
	free(yaml);
	return NULL;
}
