// SPDX-License-Identifier: MIT
/*
 * How a card is set: rmctl set sees and changes it, save-config and apply have the whole
 * configuration as a text file.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "masks.h"
#include "settings.h"
#include "state.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"

#define CARD "card"	/* the line that names it */
#define LINE_MAX (1 << 20)	/* bytes; 4096 ranges take a tenth */
#define TRIES_MAX 100	/* who changes things without end has won */

/* What is to become different: the settings that have a value, and the planes that are given. */
struct change {
	struct settings settings;
	struct planes planes;
};

static bool change_is_empty(const struct change *change)
{
	return !change->settings.have && !change->planes.given;
}

/* Reads a setting, or what is to be on in a base mask. Returns an exit status. */
static int change_read(struct command *cmd, const char *name, size_t length, const char *value,
		       struct change *change)
{
	int id = setting_find(name, length);

	if (id >= 0)
		return setting_read(cmd, (enum setting_id)id, value, &change->settings);
	id = plane_find(name, length);
	if (id >= 0)
		return planes_read(cmd, (enum plane)id, value, &change->planes);
	return misused(cmd, "there is no setting '%.*s'", (int)length, name);
}

/*
 * Changes a card, all or nothing; planes_fit() has seen the ranges. @only_now: nothing is
 * changed if something else has been since @state was read. Returns 0 or an errno, EAGAIN: it has.
 */
static int change_make(const struct state *state, const struct change *change, bool only_now)
{
	struct nl_msg *request = card_request(RFM_CMD_CARD_SET, 0, state->name);

	if (request &&
	    ((only_now && nla_put_u64(request, RFM_A_CARD_GENERATION, state->generation)) ||
	     settings_put(request, &change->settings) ||
	     planes_put(request, &change->planes, state->memory_size) < 0)) {
		nlmsg_free(request);
		request = NULL;
	}
	return card_talk(state->name, true, request, NULL, NULL);
}

/* --- set --------------------------------------------------------------------------------- */

static int set_json(const struct command *cmd, const struct state *state)
{
	json_t *object = json_pack("{s:s, s:I}", "device", state->name, "generation",
				   (json_int_t)state->generation);

	return out_json(cmd, settings_json(cmd, object, &state->settings, true));
}

static int set_text(const struct command *cmd, const struct state *state)
{
	char word[UNIT_TEXT];

	for (unsigned int id = 0; id < SETTINGS; id++)
		if (setting_known(&state->settings, id))
			printf("%-16s %s\n", setting_name(id),
			       setting_word(word, id, state->settings.value[id]));
	return out_flush(cmd);
}

/* Reads NAME=VALUE. Returns an exit status. */
static int read_word(struct command *cmd, const char *word, struct change *change)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		return misused(cmd, "'%s' is not of the form NAME=VALUE", word);
	return change_read(cmd, word, (size_t)(equals - word), equals + 1, change);
}

static int set(struct command *cmd, const char *which, struct change *change)
{
	bool looking = change_is_empty(change);
	struct state state;
	int status = state_find(cmd, which, &state);

	if (!status && !looking) {
		status = planes_fit(cmd, &change->planes, state.memory_size);
		if (!status && change_make(&state, change, false))
			status = card_refused(cmd);
		if (!status && cmd->json)
			status = state_get(cmd, state.name, &state);
	}
	if (status || (!looking && !cmd->json))
		return status;
	return cmd->json ? set_json(cmd, &state) : set_text(cmd, &state);
}

int verb_set(struct command *cmd, int argc, char **argv)
{
	struct change change = { .planes.given = 0 };
	int status = STATUS_OK;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, argc))
		return STATUS_MISUSED;
	for (int i = optind + 1; i < argc && !status; i++)
		status = read_word(cmd, argv[i], &change);
	if (!status)
		status = set(cmd, argv[optind], &change);
	planes_free(&change.planes);
	return status;
}

/* --- saving ----------------------------------------------------------------------------- */

/* Settings and masks, which are two requests, of the same moment. Returns an exit status. */
static int config_get(struct command *cmd, struct state *state, struct planes *planes)
{
	int status, left = TRIES_MAX;
	uint64_t generation;

	memset(planes, 0, sizeof(*planes));
	do {
		generation = state->generation;
		planes_free(planes);
		status = planes_get(cmd, state->memory_size, planes);
		if (!status)
			status = state_get(cmd, state->name, state);
	} while (!status && state->generation != generation && --left);
	return left ? status : failed(cmd, "it changes faster than it can be read");
}

/* A mask is not a policy that can be set: the masks themselves say it. */
static bool is_saved(const struct state *state, enum setting_id id)
{
	return setting_known(&state->settings, id) && setting_kept(id) &&
	       !(id == SETTING_POLICY && state->settings.value[id] == RFM_POLICY_MASK);
}

static bool plane_is_saved(const struct state *state, enum plane plane)
{
	if (plane >= PLANE_READ)
		return state->features & RFM_EXT_FEATURE_REMOTE;
	return setting_known(&state->settings, SETTING_POLICY) && state->features &&
	       (plane == PLANE_OWN || !is_saved(state, SETTING_POLICY));
}

/* Names and values, as the file has them. */
static json_t *config_json(const struct command *cmd, const struct state *state,
			   const struct planes *planes)
{
	json_t *config = json_object();
	char word[UNIT_TEXT], *ranges;

	for (unsigned int id = 0; id < SETTINGS; id++)
		if (is_saved(state, id))
			json_add(cmd, config, setting_name(id), json_string(
				setting_word(word, id, state->settings.value[id])));
	for (unsigned int plane = 0; plane < PLANES; plane++) {
		if (!plane_is_saved(state, plane))
			continue;
		ranges = ranges_word(&planes->of[plane], state->memory_size);
		json_add(cmd, config, plane_names[plane], json_string(ranges));
		free(ranges);
	}
	return config;
}

static int save(const struct command *cmd, const struct state *state, const struct planes *planes)
{
	json_t *config = config_json(cmd, state, planes), *value;
	const char *name;

	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:o}", "device", state->name, "config", config));
	printf("# Configuration of %s, a 5565 with node id %" PRIu64 " at PCI %s; 'rmctl apply FILE' sets "
	       "it.\n" CARD " = %s\n", state->name, state->node, state->pci, state->name);
	json_object_foreach(config, name, value)
		printf("%s = %s\n", name, json_string_value(value));
	json_decref(config);
	return out_flush(cmd);
}

int verb_save_config(struct command *cmd, int argc, char **argv)
{
	struct planes planes;
	struct state state;
	int status = state_of_only_card(cmd, argc, argv, &state);

	if (status)
		return status;
	status = config_get(cmd, &state, &planes);
	if (!status)
		status = save(cmd, &state, &planes);
	planes_free(&planes);
	return status;
}

/* --- reading a file ---------------------------------------------------------------------- */

/* Without white space at its ends. */
static char *trimmed(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text + strspn(text, " \t");
}

/* Reads "NAME = VALUE", an empty line or a remark. Returns an exit status. */
static int read_line(struct command *cmd, char *line, struct change *change, char **card)
{
	char *name, *value;

	line[strcspn(line, "#")] = '\0';
	name = trimmed(line);
	if (!*name)
		return STATUS_OK;
	value = strchr(name, '=');
	if (!value)
		return misused(cmd, "'%s' is not of the form NAME = VALUE", name);
	*value++ = '\0';
	name = trimmed(name);
	value = trimmed(value);
	if (strcmp(name, CARD))
		return change_read(cmd, name, strlen(name), value, change);
	if (*card)
		return misused(cmd, CARD " is given twice");
	*card = needed(cmd, strdup(value));
	return STATUS_OK;
}

/* Gets the next line, without its end. Returns an exit status; @more: there was one. */
static int get_line(struct command *cmd, FILE *file, char *line, bool *more)
{
	size_t length = 0;
	int byte;

	cmd->line++;
	while ((byte = getc(file)) != EOF && byte != '\n') {
		if (!byte)
			return misused(cmd, "there is a NUL in it");
		if (length == LINE_MAX)
			return misused(cmd, "it is longer than %d bytes", LINE_MAX);
		line[length++] = (char)byte;
	}
	line[length] = '\0';
	*more = length || byte != EOF;
	return STATUS_OK;
}

/* Reads all of it, up to the first mistake, whose line is said. Returns an exit status. */
static int read_lines(struct command *cmd, FILE *file, struct change *change, char **card)
{
	char *line = needed(cmd, malloc(LINE_MAX + 1));
	int status = STATUS_OK;
	bool more = true;

	while (!status && more) {
		status = get_line(cmd, file, line, &more);
		if (!status && more)
			status = read_line(cmd, line, change, card);
	}
	free(line);
	return status;
}

static int read_file(struct command *cmd, const char *path, struct change *change, char **card)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	FILE *file;
	int status;

	if (!*path)
		return misused(cmd, "the name of the file is empty");
	file = is_stdin ? stdin : fopen(path, "re");
	if (!file)
		return failed(cmd, "cannot read %s: %s", name, strerror(errno));
	cmd->file = name;
	cmd->line = 0;
	status = read_lines(cmd, file, change, card);
	cmd->file = NULL;
	if (!status && ferror(file))
		status = failed(cmd, "cannot read %s: %s", name, strerror(errno));
	if (!is_stdin)
		fclose(file);
	return status;
}

/* --- applying it -------------------------------------------------------------------------- */

/* Tells of a setting that is not as wanted. */
static void differ(struct command *cmd, json_t *changed, const char *name, const char *before,
		   const char *after)
{
	json_t *told = json_pack("{s:s, s:s, s:s}", "name", name, "before", before, "after", after);

	json_array_append_new(changed, needed(cmd, told));
}

/* Drops the settings that the card has already. byte-swap alone is dma-byte-swap, too. */
static void compare_settings(struct command *cmd, const struct state *state, struct change *change,
			     json_t *changed)
{
	struct settings *settings = &change->settings;
	char before[UNIT_TEXT], after[UNIT_TEXT];

	if (setting_known(settings, SETTING_BYTE_SWAP) &&
	    !setting_known(settings, SETTING_DMA_BYTE_SWAP)) {
		settings->have |= 1u << SETTING_DMA_BYTE_SWAP;
		settings->value[SETTING_DMA_BYTE_SWAP] = settings->value[SETTING_BYTE_SWAP];
	}
	for (unsigned int id = 0; id < SETTINGS; id++) {
		uint64_t is = state->settings.value[id], wanted = settings->value[id];
		bool known = setting_known(&state->settings, id);

		/* compare_masks() looks at this one. */
		if (id == SETTING_POLICY || !setting_known(settings, id))
			continue;
		if (known && is == wanted)
			settings->have &= ~(1u << id);
		else
			differ(cmd, changed, setting_name(id),
			       known ? setting_word(before, id, is) : "nothing",
			       setting_word(after, id, wanted));
	}
	if (setting_known(settings, SETTING_BYTE_SWAP))
		settings->have |= 1u << SETTING_DMA_BYTE_SWAP;
}

/* Drops policy and masks if the card has them already, which is true of all or none of them. */
static void compare_masks(struct command *cmd, const struct state *state, const struct planes *have,
			  struct change *change, json_t *changed)
{
	bool policy = setting_known(&change->settings, SETTING_POLICY), same = true;
	struct range whole = { .length = state->memory_size };

	for (unsigned int plane = 0; plane < PLANES; plane++) {
		struct ranges wanted = change->planes.of[plane];
		char *before, *after;

		/* A policy is what is on in the planes that are not given besides. */
		if (!(change->planes.given & 1u << plane)) {
			if (plane >= PLANE_OWN || !policy)
				continue;
			wanted.list = &whole;
			wanted.count = change->settings.value[SETTING_POLICY] == RFM_POLICY_ALL;
		}
		if (ranges_equal(&wanted, &have->of[plane]))
			continue;
		same = false;
		before = ranges_word(&have->of[plane], state->memory_size);
		after = ranges_word(&wanted, state->memory_size);
		differ(cmd, changed, plane_names[plane], before, after);
		free(before);
		free(after);
	}
	if (same) {
		change->settings.have &= ~(1u << SETTING_POLICY);
		change->planes.given = 0;
	}
}

/* Releases @changed. */
static int report(const struct command *cmd, json_t *changed)
{
	const char *name, *before, *after;
	size_t i;
	json_t *it;

	if (cmd->json)
		return out_json(cmd, json_pack("{s:s, s:o}", "device", cmd->card, "changed", changed));
	if (!json_array_size(changed))
		printf("%s: nothing to change\n", cmd->card);
	json_array_foreach(changed, i, it)
		if (!json_unpack(it, "{s:s, s:s, s:s}", "name", &name, "before", &before, "after", &after))
			printf("%s: %s: %s -> %s\n", cmd->card, name, before, after);
	json_decref(changed);
	return out_flush(cmd);
}

/*
 * Makes the card as the file says unless it is changed meanwhile, which @again says. What it has
 * already is not sent, as that may take rights that the rest does not take. Returns an exit
 * status.
 */
static int apply_once(struct command *cmd, struct state *state, const struct change *file,
		      json_t *changed, bool *again)
{
	bool masks = file->planes.given || setting_known(&file->settings, SETTING_POLICY);
	struct planes have = { .given = 0 };
	struct change change = *file;
	int status, error = 0;

	status = masks ? config_get(cmd, state, &have) : state_get(cmd, state->name, state);
	if (!status)
		compare_settings(cmd, state, &change, changed);
	if (!status && masks)
		compare_masks(cmd, state, &have, &change, changed);
	if (!status && !change_is_empty(&change))
		error = change_make(state, &change, true);
	*again = error == EAGAIN;
	if (error && !*again)
		status = card_refused(cmd);
	planes_free(&have);
	return status;
}

static int apply(struct command *cmd, struct state *state, struct change *change)
{
	json_t *changed = needed(cmd, json_array());
	int status = planes_fit(cmd, &change->planes, state->memory_size), left = TRIES_MAX;
	bool again = true;

	while (!status && again) {
		json_array_clear(changed);
		status = left-- ?
			apply_once(cmd, state, change, changed, &again) :
			failed(cmd, "others change it all the time; nothing was changed");
	}
	if (!status)
		return report(cmd, changed);
	json_decref(changed);
	return status;
}

/* apply FILE [DEV]: the file names the card unless DEV does. */
int verb_apply(struct command *cmd, int argc, char **argv)
{
	struct change change = { .planes.given = 0 };
	struct state state;
	char *card = NULL;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, 2))
		return STATUS_MISUSED;
	cmd->card = argc - optind > 1 ? argv[optind + 1] : NULL;
	status = read_file(cmd, argv[optind], &change, &card);
	if (!status && !cmd->card && !card)
		status = misused(cmd, "%s does not say which card; say it behind the file",
				 argv[optind]);
	if (!status)
		status = state_find(cmd, cmd->card ? cmd->card : card, &state);
	if (!status)
		status = apply(cmd, &state, &change);
	planes_free(&change.planes);
	free(card);
	return status;
}
