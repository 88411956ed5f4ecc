// SPDX-License-Identifier: MIT
/*
 * rmctl report: what to send with a question.
 *
 * Of a card it says what other verbs say, by running them: each in a child of its own, so that one
 * that fails or does not end leaves the others. Nothing of a memory is in it, and no name of a
 * host, user or place.
 */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event_names.h"
#include "open.h"
#include "tools/rmctl/cli/out.h"

#define PATIENCE_S 60		/* for one verb, on a busy machine */
#define LOG_LINES 50		/* the last of the driver's */
#define SYSLOG_READ_ALL 3	/* klogctl(3) */
#define SYSLOG_SIZE 10
#define PCI_FUNCTIONS "/sys/bus/pci/devices/*"

/* What is asked of each card. */
static const char *const questions[][3] = {
	{ "show" }, { "save-config" }, { "stats", "--absolute" }, { "map" }, { "subscriptions" },
};

/* --- what no verb says ------------------------------------------------------------------ */

/* The first line of a file that begins with @prefix, from there on to a quote; or null. */
static json_t *file_line(const char *prefix, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static json_t *file_line(const char *prefix, const char *format, ...)
{
	char path[512], line[512];
	json_t *found = NULL;
	va_list args;
	FILE *file;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		if (strncmp(line, prefix, strlen(prefix)))
			continue;
		line[strlen(prefix) + strcspn(line + strlen(prefix), "\n\"")] = '\0';
		found = json_clean(line + strlen(prefix));
	}
	if (file)
		fclose(file);
	return found ? found : json_null();
}

/* Does the file hold just this text? */
static bool file_is(const char *folder, const char *name, const char *text)
{
	json_t *line = file_line("", "%s/%s", folder, name);
	bool same = json_is_string(line) && !strcmp(json_string_value(line), text);

	json_decref(line);
	return same;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static json_t *kernel_json(void)
{
	struct utsname name;

	uname(&name);
	return json_pack("{s:s, s:s, s:s}", "release", name.release, "version", name.version,
			 "machine", name.machine);
}

static json_t *module_json(const struct command *cmd)
{
	json_t *parameters = json_object();
	glob_t found = { 0 };

	if (access("/sys/module/rfm", F_OK)) {
		json_decref(parameters);
		return json_null();
	}
	glob("/sys/module/rfm/parameters/*", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		json_add(cmd, parameters, last_part(found.gl_pathv[i]),
			 file_line("", "%s", found.gl_pathv[i]));
	globfree(&found);
	return json_pack("{s:o, s:o, s:o}",
			 "srcversion", file_line("", "/sys/module/rfm/srcversion"),
			 "taint", file_line("", "/sys/module/rfm/taint"), "parameters", parameters);
}

/* Cards are PCI functions, whatever driver they have. */
static json_t *cards_json(void)
{
	json_t *list = json_array();
	glob_t found = { 0 };

	glob(PCI_FUNCTIONS, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *folder = found.gl_pathv[i];
		char link[512], target[512];
		ssize_t length;

		if (!file_is(folder, "vendor", "0x114a") || !file_is(folder, "device", "0x5565"))
			continue;
		snprintf(link, sizeof(link), "%s/driver", folder);
		length = readlink(link, target, sizeof(target) - 1);
		target[length < 0 ? 0 : length] = '\0';
		json_array_append_new(list, json_pack(
			"{s:s, s:s?, s:o, s:b}", "pci", last_part(folder),
			"driver", length < 0 ? NULL : last_part(target),
			"revision", file_line("", "%s/revision", folder),
			"enabled", !file_is(folder, "enable", "0")));
	}
	globfree(&found);
	return list;
}

/* How many events of each type the driver has taken; null where one may not ask. */
static json_t *events_json(const char *name)
{
	uint64_t counts[RFM_EVENT_TYPES];
	struct rfm *rfm = card_look(name);
	bool known = rfm && !rfm_event_counts(rfm, counts, RFM_EVENT_TYPES);
	json_t *events = known ? json_object() : json_null();

	for (int i = 0; known && i < RFM_EVENT_TYPES; i++)
		if (event_names()[i])
			json_object_set_new(events, event_names()[i],
					    json_integer((json_int_t)counts[i]));
	rfm_close(rfm);
	return events;
}

static json_t *devices_json(const struct card_names *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < names->count; i++) {
		char path[CARD_NAME_SIZE + 8];
		struct stat st;
		json_t *mode;

		snprintf(path, sizeof(path), "/dev/%s", names->names[i]);
		mode = stat(path, &st) ? json_null() : json_sprintf("%04o", st.st_mode & 07777);
		json_array_append_new(list, json_pack(
			"{s:s, s:o, s:b, s:b, s:o}", "device", names->names[i], "mode", mode,
			"readable", !access(path, R_OK), "writable", !access(path, W_OK),
			"events", events_json(names->names[i])));
	}
	return list;
}

/* Is it the driver's, behind level and time? */
static const char *driver_line(const char *line)
{
	while (*line == '<' || *line == '[') {
		line += strcspn(line, ">]");
		line += !!*line;
		line += strspn(line, " ");
	}
	return strncmp(line, "rfm ", 4) && strncmp(line, "rfm: ", 5) ? NULL : line;
}

/* What the driver has told the kernel's log, the last lines of it; null where one may not read. */
static json_t *log_json(const struct command *cmd)
{
	int size = klogctl(SYSLOG_SIZE, NULL, 0), length;
	char *text, *rest, *line;
	json_t *list;

	text = needed(cmd, calloc(1, size > 0 ? (size_t)size + 1 : 1));
	length = size > 0 ? klogctl(SYSLOG_READ_ALL, text, size) : -1;
	list = length < 0 ? json_null() : json_array();
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!driver_line(line))
			continue;
		json_array_append_new(list, json_clean(line + (*line == '<' ? strcspn(line, "[") : 0)));
		if (json_array_size(list) > LOG_LINES)
			json_array_remove(list, 0);
	}
	free(text);
	return list;
}

/* --- what other verbs say --------------------------------------------------------------- */

/* All that was written to @fd. */
static char *written(const struct command *cmd, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = needed(cmd, calloc(1, size > 0 ? (size_t)size + 1 : 1));

	if (size > 0 && pread(fd, text, (size_t)size, 0) != size)
		*text = '\0';
	close(fd);
	return text;
}

/* Runs a verb of this program, whose output goes to two files. Returns what wait(2) says. */
static int run_verb(const struct command *cmd, char *argv[3], int out, int error)
{
	struct command asked = { .verb = verbs, .json = cmd->json };
	int status, argc = 0;
	pid_t child;

	while (asked.verb->name && strcmp(asked.verb->name, argv[0]))
		asked.verb++;
	while (argc < 3 && argv[argc])
		argc++;
	fflush(NULL);
	child = fork();
	if (child < 0 || out < 0 || error < 0)
		exit(failed(cmd, "cannot run a verb: %s", strerror(errno)));
	if (child)
		return waitpid(child, &status, 0) == child ? status : -1;
	alarm(PATIENCE_S);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	optind = 0;
	asked.card = argv[1];
	status = asked.verb->run(&asked, argc, argv);
	exit(out_flush(&asked) ? STATUS_FAILED : status);
}

/* Each line that a verb has printed, an object; or what is printed for people, as it is. */
static json_t *output_json(const struct command *cmd, char *text)
{
	json_t *list = json_array();
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_t *object = cmd->json ? json_loads(line, 0, NULL) : json_string(line);

		json_array_append_new(list, object ? object : json_null());
	}
	return list;
}

/* Asks @question of card @name, or of all if that is NULL. Is it answered? */
static bool ask(const struct command *cmd, json_t *asked, const char *const question[3],
		char *name)
{
	int out = memfd_create("out", MFD_CLOEXEC), error = memfd_create("error", MFD_CLOEXEC);
	char *argv[4] = { (char *)question[0], name, (char *)question[1] }, *text, *complaint;
	int status = run_verb(cmd, argv, out, error);

	text = written(cmd, out);
	complaint = written(cmd, error);
	complaint[strcspn(complaint, "\n")] = '\0';
	if (WIFSIGNALED(status)) {
		free(complaint);
		complaint = NULL;
		if (asprintf(&complaint, WTERMSIG(status) == SIGALRM ?
			     "it did not end within %d s" : "it was killed by signal %d",
			     WTERMSIG(status) == SIGALRM ? PATIENCE_S : WTERMSIG(status)) < 0)
			exit(failed(cmd, "out of memory"));
	}
	json_array_append_new(asked, json_pack(
		"{s:s, s:s?, s:s?, s:o?, s:o, s:o}", "verb", question[0], "device", name,
		"option", question[1],
		"status", WIFEXITED(status) ? json_integer(WEXITSTATUS(status)) : json_null(),
		"output", output_json(cmd, text),
		"error", *complaint ? json_clean(complaint) : json_null()));
	free(text);
	free(complaint);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* --- for people ------------------------------------------------------------------------- */

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "unknown";
}

static void print_module(const json_t *module)
{
	const char *name;
	json_t *value;

	if (json_is_null(module)) {
		puts("module rfm: not loaded");
		return;
	}
	printf("module rfm: srcversion %s, taint '%s'", text_of(module, "srcversion"),
	       text_of(module, "taint"));
	json_object_foreach(json_object_get(module, "parameters"), name, value)
		printf(", %s=%s", name, json_is_string(value) ? json_string_value(value) : "unknown");
	putchar('\n');
}

static void print_cards(const json_t *report)
{
	json_t *row, *count;
	const char *name;
	size_t i;

	if (!json_array_size(json_object_get(report, "cards")))
		puts("no card on the PCI bus (114a:5565)");
	json_array_foreach(json_object_get(report, "cards"), i, row)
		printf("card at PCI %s: driver %s, revision %s, %s\n", text_of(row, "pci"),
		       json_is_null(json_object_get(row, "driver")) ? "none" : text_of(row, "driver"),
		       text_of(row, "revision"),
		       json_is_true(json_object_get(row, "enabled")) ? "enabled" : "not enabled");
	json_array_foreach(json_object_get(report, "devices"), i, row) {
		printf("%s: mode %s, %s to this user; events", text_of(row, "device"),
		       text_of(row, "mode"),
		       json_is_true(json_object_get(row, "writable")) ? "writable" :
		       json_is_true(json_object_get(row, "readable")) ? "readable" : "closed");
		if (json_is_null(json_object_get(row, "events")))
			printf(" unknown");
		json_object_foreach(json_object_get(row, "events"), name, count)
			if (json_integer_value(count))
				printf(" %s %lld", name, (long long)json_integer_value(count));
		putchar('\n');
	}
}

static void print_lines(const json_t *lines)
{
	json_t *line;
	size_t i;

	json_array_foreach(lines, i, line)
		puts(json_string_value(line));
}

static int print_text(const struct command *cmd, const json_t *report)
{
	const json_t *kernel = json_object_get(report, "kernel"), *log = json_object_get(report, "log");
	json_t *answer;
	size_t i;

	printf("rmctl %s\nkernel %s %s %s\nsystem %s\n", text_of(report, "rmctl"),
	       text_of(kernel, "release"), text_of(kernel, "version"), text_of(kernel, "machine"),
	       text_of(report, "system"));
	print_module(json_object_get(report, "module"));
	print_cards(report);
	json_array_foreach(json_object_get(report, "asked"), i, answer) {
		const char *device = json_string_value(json_object_get(answer, "device"));
		const char *option = json_string_value(json_object_get(answer, "option"));

		printf("\n== %s%s%s%s%s\n", text_of(answer, "verb"), device ? " " : "",
		       device ? device : "", option ? " " : "", option ? option : "");
		print_lines(json_object_get(answer, "output"));
		if (json_is_string(json_object_get(answer, "error")))
			puts(text_of(answer, "error"));
	}
	puts("\n== the driver's lines in the kernel's log");
	if (json_is_null(log))
		puts("this user may not read it");
	print_lines(log);
	return out_flush(cmd);
}

/* ---------------------------------------------------------------------------------------- */

int verb_report(struct command *cmd, int argc, char **argv)
{
	static const char *const list[3] = { "list" };
	struct card_names names;
	json_t *report, *asked = json_array();
	bool all;
	int status;

	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 0, 0))
		return STATUS_MISUSED;
	card_names_get(&names);
	all = ask(cmd, asked, list, NULL);
	for (size_t i = 0; i < names.count; i++)
		for (size_t j = 0; j < sizeof(questions) / sizeof(*questions); j++)
			all &= ask(cmd, asked, questions[j], names.names[i]);
	report = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rmctl", PROGRAM_VERSION,
			   "kernel", kernel_json(),
			   "system", file_line("PRETTY_NAME=\"", "/etc/os-release"),
			   "module", module_json(cmd), "cards", cards_json(),
			   "devices", devices_json(&names), "asked", asked, "log", log_json(cmd));
	free(names.names);
	all &= !json_is_null(json_object_get(report, "log"));
	if (cmd->json) {
		status = out_json(cmd, report);
	} else {
		status = print_text(cmd, report);
		json_decref(report);
	}
	return status || all ? status : STATUS_UNKNOWN;
}
