// SPDX-License-Identifier: MIT
/* rmctl regions: check and convert files of regions. */
#include "regions.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/rmctl/cli/out.h"

/* What the command line says. */
struct wanted {
	const char *file;	/* to be read */
	bool given;		/* and it is an operand */
	const char *options[4];	/* word of each option, NULL: not given */
	uint64_t memory_size;	/* of --memory, 0: not given */
};

#define OPTION(wanted, option) ((wanted)->options[(option) - OPTION_TO])

/* --- complaints --------------------------------------------------------------------- */

static const char *const faults[] = {
	[RFM_REGIONS_FORM] = "form",
	[RFM_REGIONS_OVERLAP] = "overlap",
	[RFM_REGIONS_ALIGNMENT] = "alignment",
	[RFM_REGIONS_BEYOND] = "beyond",
	[RFM_REGIONS_OWNERS] = "owners",
};

/* As compilers do, so that editors find the place. */
static void print_complaint(void *context, const struct rfm_regions_complaint *complaint)
{
	unsigned int *count = context;

	++*count;
	if (complaint->line)
		fprintf(stderr, "%s:%" PRIu32 ": %s\n", complaint->path, complaint->line,
			complaint->sentence);
	else
		fprintf(stderr, "%s: %s\n", complaint->path, complaint->sentence);
}

/* All but owners keeps a file from being a header. */
static void print_fault(void *context, const struct rfm_regions_complaint *complaint)
{
	if (complaint->fault != RFM_REGIONS_OWNERS)
		print_complaint(context, complaint);
}

static void collect(void *context, const struct rfm_regions_complaint *complaint)
{
	json_array_append_new(context, json_pack(
		"{s:i, s:s, s:s}", "line", (int)complaint->line, "fault", faults[complaint->fault],
		"text", complaint->sentence));
}

static int cannot_read(const struct command *cmd, const char *path, int error)
{
	return failed(cmd, "cannot read %s: %s", path, strerror(error));
}

/* --- check ----------------------------------------------------------------------------- */

static int check(struct command *cmd, const struct wanted *wanted)
{
	json_t *complaints = cmd->json ? json_array() : NULL;
	unsigned int count = 0;
	int wrong = rfm_regions_check(wanted->file, wanted->memory_size,
				      cmd->json ? collect : print_complaint,
				      cmd->json ? (void *)complaints : &count);

	if (wrong < 0) {
		json_decref(complaints);
		return cannot_read(cmd, wanted->file, errno);
	}
	if (cmd->json &&
	    out_json(cmd, json_pack("{s:o, s:b, s:o}", "file", json_clean(wanted->file), "good",
				    !wrong, "complaints", complaints)))
		return STATUS_FAILED;
	return wrong ? STATUS_NO : STATUS_OK;
}

/* --- export ----------------------------------------------------------------------------- */

/* For people and version control: one key a line. With -j as all verbs: one object a line. */
static int to_json(struct command *cmd, const char *prefix)
{
	json_t *object = regions_json(cmd->regions);
	int status;

	if (cmd->json)
		return out_json(cmd, object);
	status = object ? json_dumpf(object, stdout, JSON_INDENT(2)) : -1;
	json_decref(object);
	if (status && !ferror(stdout))
		return failed(cmd, "out of memory while writing JSON");
	putchar('\n');
	return out_flush(cmd);
}

/* From "/etc/rig-a.yaml" to "rig_a". */
static void prefix_of(const char *path, char prefix[RFM_REGION_NAME_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t length;

	path = slash ? slash + 1 : path;
	length = strcspn(path, ".");
	if (length >= RFM_REGION_NAME_MAX)
		length = RFM_REGION_NAME_MAX - 1;
	for (size_t i = 0; i < length; i++)
		prefix[i] = isalnum((unsigned char)path[i]) ? path[i] : '_';
	prefix[length] = '\0';
	if (!isalpha((unsigned char)*prefix))
		strcpy(prefix, "rig");
}

static bool is_prefix(const char *word)
{
	size_t length = strlen(word);

	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)word[i]) && word[i] != '_')
			return false;
	return isalpha((unsigned char)*word) && length < RFM_REGION_NAME_MAX;
}

static int to_header(struct command *cmd, const char *prefix)
{
	const char *path = cmd->regions->path;
	char made[RFM_REGION_NAME_MAX];
	unsigned int count = 0;

	if (prefix && !is_prefix(prefix))
		return misused(cmd, "prefix '%s' is no name in C", prefix);
	if (rfm_regions_check(path, 0, print_fault, &count) < 0)
		return cannot_read(cmd, path, errno);
	if (count)
		return failed(cmd, "no header can be made of %s", path);
	prefix_of(path, made);
	return regions_write_header(cmd, prefix ? prefix : made);
}

/* --- import ------------------------------------------------------------------------------ */

/* Returns the bytes of a file and a NUL, to be freed, or NULL after it has said why not. */
static char *read_text(struct command *cmd, const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *text = file ? calloc(1, RFM_REGIONS_FILE_MAX + 1) : NULL;
	int error = errno;

	if (text) {
		*length = fread(text, 1, RFM_REGIONS_FILE_MAX + 1, file);
		error = ferror(file) ? errno : *length > RFM_REGIONS_FILE_MAX ? EFBIG : 0;
	}
	if (file)
		fclose(file);
	if (text && !error)
		return text;
	free(text);
	cannot_read(cmd, path, error);
	return NULL;
}

static bool has_null(json_t *value)
{
	const char *key;
	json_t *inside;

	json_object_foreach(value, key, inside)
		if (has_null(inside))
			return true;
	return json_is_null(value);
}

/*
 * JSON writes a character beyond U+ffff as two escapes, \ud83d\ude00, where YAML wants one:
 * it becomes the character itself. @text is good JSON, in which every \ud8xx has its other half.
 */
static void join_surrogates(char *text)
{
	unsigned int high, low, code;
	char *to = text;

	while (*text) {
		if (*text != '\\' || sscanf(text, "\\u%4x\\u%4x", &high, &low) != 2 ||
		    high < 0xd800 || high > 0xdbff) {
			size_t length = *text == '\\' ? 2 : 1;

			memmove(to, text, length);
			to += length;
			text += length;
			continue;
		}
		code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
		*to++ = (char)(0xf0 | code >> 18);
		*to++ = (char)(0x80 | (code >> 12 & 0x3f));
		*to++ = (char)(0x80 | (code >> 6 & 0x3f));
		*to++ = (char)(0x80 | (code & 0x3f));
		text += strlen("\\ud83d\\ude00");
	}
	*to = '\0';
}

/* JSON is YAML, but only JSON is taken; its null would become a word. */
static char *from_json(const char *path, char *text, size_t length, rfm_regions_report *report,
		       void *context)
{
	json_error_t error;
	json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	char *yaml = NULL;

	if (!object) {
		report(context, &(struct rfm_regions_complaint){
			.path = path, .line = (uint32_t)error.line, .sentence = error.text });
		return NULL;
	}
	if (has_null(object))
		report(context, &(struct rfm_regions_complaint){
			.path = path, .sentence = "null is no value: leave the key out" });
	else
		yaml = strndup(text, length);
	if (yaml)
		join_surrogates(yaml);
	json_decref(object);
	return yaml;
}

/*
 * @to prints the command's regions; @prefix is that of names in a header, NULL: not given. @from
 * makes YAML of a file, on the same lines; NULL after a complaint.
 */
static const struct format {
	const char *name;
	int (*to)(struct command *cmd, const char *prefix);
	char *(*from)(const char *path, char *text, size_t length, rfm_regions_report *report,
		      void *context);
} formats[] = {
	{ "csv", regions_write_csv, csv_as_yaml },
	{ "json", to_json, from_json },
	{ "header", to_header, NULL },
};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static int export(struct command *cmd, const struct wanted *wanted)
{
	const char *asked = OPTION(wanted, OPTION_TO);
	const char *name = !asked && cmd->json ? "json" : asked;
	const struct format *format = name ? find_format(name) : NULL;
	unsigned int count = 0;

	if (!format)
		return misused(cmd, "say --to csv, json or header");
	if (cmd->json && format->to != to_json)
		return misused(cmd, "--to %s and --json exclude each other", name);
	cmd->regions = rfm_regions_load(wanted->file, print_complaint, &count);
	if (cmd->regions)
		return format->to(cmd, OPTION(wanted, OPTION_PREFIX));
	return count ? STATUS_FAILED : cannot_read(cmd, wanted->file, errno);
}

static int import(struct command *cmd, const struct wanted *wanted)
{
	const char *name = OPTION(wanted, OPTION_FROM);
	const struct format *format = name ? find_format(name) : NULL;
	unsigned int count = 0;
	char *text, *yaml;
	size_t length;
	int error;

	if (!format || !format->from)
		return misused(cmd, "say --from csv or json");
	if (!wanted->given)
		return misused(cmd, "say which file to import");
	text = read_text(cmd, wanted->file, &length);
	if (!text)
		return STATUS_FAILED;
	yaml = format->from(wanted->file, text, length, print_complaint, &count);
	free(text);
	if (!yaml)
		return STATUS_FAILED;
	cmd->regions = rfm_regions_parse(wanted->file, yaml, strlen(yaml), print_complaint, &count);
	error = errno;
	free(yaml);
	if (cmd->regions)
		return cmd->json ? out_json(cmd, regions_json(cmd->regions)) :
				   regions_write_yaml(cmd);
	return count ? STATUS_FAILED :
		       failed(cmd, "cannot import %s: %s", wanted->file, strerror(error));
}

/* --- the verb ------------------------------------------------------------------------------ */

#define ACTIONS 3

static const struct {
	const char *name;
	int (*run)(struct command *cmd, const struct wanted *wanted);
} actions[ACTIONS] = { { "check", check }, { "export", export }, { "import", import } };

/* From OPTION_TO on, and who has them. */
static const struct {
	const char *name;
	int (*of)(struct command *cmd, const struct wanted *wanted);
} options[] = { { "to", export }, { "from", import }, { "memory", check }, { "prefix", export } };

static int run_action(struct command *cmd, const char *name, const struct wanted *wanted)
{
	int action = 0;

	while (action < ACTIONS && strcmp(actions[action].name, name))
		action++;
	if (action == ACTIONS)
		return misused(cmd, "say check, export or import, not '%s'", name);
	for (int i = 0; i < 4; i++)
		if (wanted->options[i] && options[i].of != actions[action].run)
			return misused(cmd, "%s has no option --%s", name, options[i].name);
	return actions[action].run(cmd, wanted);
}

int verb_regions(struct command *cmd, int argc, char **argv)
{
	struct wanted wanted = { .memory_size = 0 };
	const char *memory;

	cmd->card = NULL;	/* there is none in this */
	for (int option; (option = next_option(cmd, argc, argv)) != -1;) {
		if (option < OPTION_TO || option > OPTION_PREFIX)
			return STATUS_MISUSED;
		OPTION(&wanted, option) = optarg;
	}
	if (check_operands(cmd, argc, argv, 1, 2))
		return STATUS_MISUSED;
	cmd->card = NULL;
	wanted.given = argc - optind > 1;
	wanted.file = wanted.given ? argv[optind + 1] : regions_path(cmd);
	if (!*wanted.file)
		return misused(cmd, "the name of the file is empty");
	memory = OPTION(&wanted, OPTION_MEMORY);
	if (memory && get_number(cmd, "memory", memory, UINT64_MAX, &wanted.memory_size))
		return STATUS_MISUSED;
	if (memory && !wanted.memory_size)
		return misused(cmd, "the memory must have at least 1 byte");
	return run_action(cmd, argv[optind], &wanted);
}
