// SPDX-License-Identifier: MIT
/*
 * Regions as a C header. What lies between the fields is a member of its own, so no
 * compiler has to add anything, and assertions say so. A structure in a structure
 * has no tag: only what is defined at the top can be named twice.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "regions.h"
#include "tools/rmctl/cli/out.h"

/* A header that is being printed. */
struct header {
	const struct command *cmd;
	const char *prefix;			/* of all names */
	const struct rfm_region *types;
	json_t *done;				/* names of the types that have been printed */
};

static void indent(unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++)
		putchar('\t');
}

/* Text of the file in a comment, which it cannot end or spoil. */
static void put_text(const char *text)
{
	for (; *text; text++) {
		putchar(*text);
		if ((*text == '*' && text[1] == '/') || (*text == '/' && text[1] == '*') ||
		    (*text == '\\' && !text[1]) || (*text == '?' && text[1] == '?'))
			putchar(' ');
	}
}

/* Unit, description and byte order, as far as said. Returns whether there was any. */
static bool put_comment(const char *before, const struct rfm_region *region)
{
	const char *order = region->order == RFM_REGION_BIG ? "big-endian" :
			    region->order == RFM_REGION_LITTLE ? "little-endian" : "";
	const char *parts[] = { region->unit, region->description, order };
	bool any = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!*parts[i])
			continue;
		fputs(any ? "; " : before, stdout);
		put_text(parts[i]);
		any = true;
	}
	if (any)
		fputs(" */", stdout);
	return any;
}

/* --- structures ----------------------------------------------------------------------- */

static int by_offset(const void *one, const void *other)
{
	const struct rfm_region *const *a = one, *const *b = other;

	return (*a)->offset < (*b)->offset ? -1 : (*a)->offset > (*b)->offset;
}

static void put_gap(uint64_t from, uint64_t to, unsigned int depth)
{
	if (from == to)
		return;
	indent(depth);
	printf("uint8_t _gap_0x%" PRIx64 "[%" PRIu64 "];\n", from, to - from);
}

static void put_fields(const struct header *header, const struct rfm_region *region,
		       unsigned int depth);

/* The type of one element. */
static void put_type(const struct header *header, const struct rfm_region *region,
		     unsigned int depth)
{
	if (region->type) {
		printf("%s%s", rfm_region_type_name(region->type),
		       region->type <= RFM_REGION_UINT64 ? "_t" : "");
	} else if (region->type_name) {
		printf("%s_type_%s", header->prefix, region->type_name);
	} else {
		puts("struct {");
		put_fields(header, region, depth + 1);
		indent(depth);
		putchar('}');
	}
}

/* In the order of offsets, as C has them. */
static void put_fields(const struct header *header, const struct rfm_region *region,
		       unsigned int depth)
{
	const struct rfm_region **sorted;
	size_t count = 0, i = 0;
	uint64_t end = 0;

	for (const struct rfm_region *field = region->fields; field; field = field->next)
		count++;
	sorted = needed(header->cmd, calloc(count + 1, sizeof(*sorted)));
	for (const struct rfm_region *field = region->fields; field; field = field->next)
		sorted[i++] = field;
	qsort(sorted, count, sizeof(*sorted), by_offset);
	for (i = 0; i < count; i++) {
		put_gap(end, sorted[i]->offset, depth);
		indent(depth);
		put_type(header, sorted[i], depth);
		printf(" %s", sorted[i]->name);
		if (sorted[i]->count > 1)
			printf("[%" PRIu32 "]", sorted[i]->count);
		putchar(';');
		put_comment("\t/* ", sorted[i]);
		putchar('\n');
		end = sorted[i]->offset + sorted[i]->size * sorted[i]->count;
	}
	put_gap(end, region->size, depth);
	free(sorted);
}

/* --- assertions -------------------------------------------------------------------------- */

#define ASSERT "RFM_REGIONS_ASSERT("

/* @type has the layout of @region; @path is where in it, for what lies in itself. */
static void assert_fields(const char *type, const char *path, const struct rfm_region *region)
{
	char inside[RFM_REGION_PATH_MAX];

	for (const struct rfm_region *field = region->fields; field; field = field->next) {
		snprintf(inside, sizeof(inside), "%s%s%s", path, *path ? "." : "", field->name);
		printf(ASSERT "offsetof(%s, %s)", type, inside);
		if (*path)
			printf(" - offsetof(%s, %s)", type, path);
		printf(" == 0x%" PRIx64 ");\n", field->offset);
		printf(ASSERT "sizeof(((%s *)0)->%s) == 0x%" PRIx64 ");\n", type, inside,
		       field->size * field->count);
		if (field->type || field->type_name)
			continue;
		if (field->count > 1)
			strncat(inside, "[0]", sizeof(inside) - strlen(inside) - 1);
		assert_fields(type, inside, field);
	}
}

static void put_definition(const struct header *header, const char *kind,
			   const struct rfm_region *region)
{
	char type[RFM_REGION_PATH_MAX];
	bool text = region->type == RFM_REGION_CHAR && region->count > 1;

	if (put_comment("/* ", region))
		putchar('\n');
	snprintf(type, sizeof(type), "%s_%s_%s", header->prefix, kind, region->name);
	fputs("typedef ", stdout);
	put_type(header, region, 0);
	printf(" %s", type);
	if (text)
		printf("[%" PRIu32 "]", region->count);
	puts(";");
	printf(ASSERT "sizeof(%s) == 0x%" PRIx64 ");\n", type,
	       text ? region->size * region->count : region->size);
	if (!region->type && !region->type_name)
		assert_fields(type, "", region);
	putchar('\n');
}

/* --- types, each behind those that it needs ------------------------------------------------- */

static void put_types_of(const struct header *header, const struct rfm_region *region);

static void put_type_named(const struct header *header, const char *name)
{
	const struct rfm_region *type = header->types;

	if (json_object_get(header->done, name))
		return;
	while (strcmp(type->name, name))
		type = type->next;
	json_add(header->cmd, header->done, name, json_true());
	put_types_of(header, type);
	put_definition(header, "type", type);
}

static void put_types_of(const struct header *header, const struct rfm_region *region)
{
	for (const struct rfm_region *field = region->fields; field; field = field->next) {
		if (field->type_name)
			put_type_named(header, field->type_name);
		else if (!field->type)
			put_types_of(header, field);
	}
}

/* --- the header ------------------------------------------------------------------------------ */

/* The numbers of a region, each with its name as it is: case may be all that tells two apart. */
static void put_numbers(const char *upper, const struct rfm_region *region)
{
	const char *name = region->name;

	printf("#define %s_OFFSET_%s 0x%" PRIx64 "u\n", upper, name, region->offset);
	printf("#define %s_LENGTH_%s 0x%" PRIx64 "u\n", upper, name, region->size * region->count);
	printf("#define %s_COUNT_%s %" PRIu32 "u\n", upper, name, region->count);
	if (region->owner != RFM_REGION_NOBODY)
		printf("#define %s_OWNER_%s %" PRId32 "\n", upper, name, region->owner);
	if (region->period_ns)
		printf("#define %s_PERIOD_NS_%s %" PRIu64 "ull\n", upper, name, region->period_ns);
}

static void put_beginning(const struct rfm_regions *regions, const char *upper)
{
	printf("/* Made from ");
	put_text(regions->path);
	printf(" by 'rmctl regions export --to header': change that file, not this one. */\n");
	if (*regions->description) {
		fputs("/* ", stdout);
		put_text(regions->description);
		puts(" */");
	}
	printf("#ifndef %s_REGIONS_H\n#define %s_REGIONS_H\n\n", upper, upper);
	puts("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n");
	puts("#ifdef __cplusplus\n"
	     "#define RFM_REGIONS_ASSERT(that) static_assert(that, #that)\n"
	     "#else\n"
	     "#define RFM_REGIONS_ASSERT(that) _Static_assert(that, #that)\n"
	     "#endif\n");
	printf("/* Values are %s-endian where nothing else is said. */\n\n",
	       regions->order == RFM_REGION_BIG ? "big" : "little");
}

/*
 * Prints a C header for regions without a fault in their layout; all names in it begin with
 * @prefix. Returns an exit status.
 */
int regions_write_header(struct command *cmd, const char *prefix)
{
	const struct rfm_regions *regions = cmd->regions;
	char upper[RFM_REGION_NAME_MAX] = "";
	const struct header header = {
		.cmd = cmd, .prefix = prefix, .types = regions->types, .done = json_object(),
	};

	for (size_t i = 0; prefix[i] && i + 1 < sizeof(upper); i++)
		upper[i] = (char)toupper((unsigned char)prefix[i]);
	put_beginning(regions, upper);
	for (const struct rfm_region *type = regions->types; type; type = type->next)
		put_type_named(&header, type->name);
	json_decref(header.done);
	for (const struct rfm_region *region = regions->regions; region; region = region->next) {
		put_numbers(upper, region);
		put_definition(&header, "region", region);
	}
	puts("#undef RFM_REGIONS_ASSERT\n\n#endif");
	return out_flush(cmd);
}
