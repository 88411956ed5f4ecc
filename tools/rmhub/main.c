// SPDX-License-Identifier: MIT
/* rmhub: the fibre hub of a ring. Either the hub itself, or a word to one that runs. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "rmhub.h"
#include "tools/common/parse.h"

#define STATUS_USAGE	2

/**
 * struct verb - a verb and its arguments
 * @usage: its arguments
 * @min, @max: number of words behind it
 * @run: exit status; @args without the verb; NULL: the hub is asked just that
 * @print: what it answers then, for people
 */
struct verb {
	const char *name, *usage, *brief;
	int min, max;
	int (*run)(int count, char **args);
	void (*print)(json_t *answer);
};

static char *socket_path;
static bool as_json;

static int fail(const char *sentence)
{
	fprintf(stderr, "rmhub: %s\n", sentence);
	return EXIT_FAILURE;
}

static int misuse(const char *sentence, const char *word)
{
	fprintf(stderr, "rmhub: %s%s%s%s (see 'rmhub --help')\n", sentence, word ? " '" : "",
		word ? word : "", word ? "'" : "");
	return STATUS_USAGE;
}

/* --- the hub itself ------------------------------------------------------- */

/* Those with a letter that take_options() does not name are long only. */
static const struct option run_options[] = {
	{ "ports", required_argument, NULL, 'n' },
	{ "dir", required_argument, NULL, 'd' },
	{ "config", required_argument, NULL, 'c' },
	{ "line", required_argument, NULL, 'l' },
	{ "glitchless", no_argument, NULL, 'g' },
	{ "bad-limit", required_argument, NULL, 'b' },
	{ "queue", required_argument, NULL, 'q' },
	{ "stream-only", no_argument, NULL, 'o' },
	{ "pcap", required_argument, NULL, 'w' },
	{ "tls", required_argument, NULL, 't' },
	{ "log", required_argument, NULL, 'L' },
	{ "scenario", required_argument, NULL, 's' },
	{ "socket", required_argument, NULL, 'S' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void print_help(void);

static int take_options(struct settings *settings, int argc, char **argv)
{
	char error[FIELDS_SENTENCE];
	int found;

	opterr = 0;
	optind = 1;
	while ((found = getopt_long(argc, argv, ":n:d:c:l:gw:s:S:h", run_options, NULL)) != -1) {
		const struct option *option = run_options;

		if (found == 'h') {
			print_help();
			exit(EXIT_SUCCESS);
		}
		if (found == ':')
			return misuse("a value is missing behind", argv[optind - 1]);
		if (found == '?')
			return misuse("there is no option", argv[optind - 1]);
		while (option->val != found)
			option++;
		if (!settings_option(settings, option->name, optarg, error))
			return misuse(error, NULL);
	}
	return optind < argc ? misuse("'run' takes options only, not", argv[optind]) : 0;
}

static int verb_run(int argc, char **argv)
{
	struct settings *settings = malloc(sizeof(*settings));
	char error[FIELDS_SENTENCE];
	int status;

	if (!settings)
		return fail("no memory");
	settings_init(settings);
	status = take_options(settings, argc, argv);
	if (!status && socket_path && !settings->control)
		settings->control = strdup(socket_path);
	if (!status && !settings_finish(settings, error))
		status = misuse(error, NULL);
	if (!status)
		status = rmhub_run(settings);
	settings_free(settings);
	free(settings);
	return status;
}

/* --- words to a hub that runs --------------------------------------------- */

/* Ask; print events, and the answer, as JSON, or the answer with @print. */
static int ask(const char *verb, json_t *args, void (*print)(json_t *answer))
{
	char *path = socket_path ? strdup(socket_path) : settings_control();
	enum control_answer how = CONTROL_ERROR;
	char error[CONTROL_SENTENCE];
	int fd = control_connect(path, error);
	json_t *answer = NULL;

	free(path);
	if (fd >= 0 && control_send(fd, verb, args, error))
		how = control_receive(fd, &answer, error);
	for (; how == CONTROL_EVENT; how = control_receive(fd, &answer, error)) {
		json_dumpf(answer, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
		json_decref(answer);
		putchar('\n');
		if (fflush(stdout))
			return fail("standard output cannot be written");
	}
	if (!answer)
		return how == CONTROL_MISUSED ? misuse(error, NULL) : fail(error);
	if (as_json) {
		json_dumpf(answer, stdout, JSON_REAL_PRECISION(9));
		putchar('\n');
	} else if (print) {
		print(answer);
	}
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output cannot be written");
	return EXIT_SUCCESS;
}

/* jansson takes UTF-8 only. */
static bool is_text(const char *word)
{
	json_t *string = json_string(word);

	json_decref(string);
	return string;
}

static int verb_bypass(int count, char **args)
{
	bool on = !strcmp(args[1], "on");

	if (!on && strcmp(args[1], "off"))
		return misuse("a bypass is on or off, not", args[1]);
	return ask("bypass", json_pack("{s:s, s:b}", "port", args[0], "on", on), NULL);
}

static int verb_cut(int count, char **args)
{
	return ask("cut", json_pack("{s:s, s:s}", "port", args[0], "side",
				    count > 1 ? args[1] : "both"), NULL);
}

static int verb_restore(int count, char **args)
{
	return ask("restore", json_pack("{s:s}", "port", args[0]), NULL);
}

static void print_number(json_t *answer)
{
	printf("fault %lld\n", (long long)json_integer_value(json_object_get(answer, "fault")));
}

/* KIND and KEY=VALUE words become one object. */
static int fault_add(int count, char **args)
{
	json_t *object;

	if (!count)
		return misuse("a kind is missing behind 'fault add'", NULL);
	object = json_pack("{s:s}", "kind", args[0]);
	for (int i = 1; i < count; i++) {
		char *value = strchr(args[i], '=');

		if (!value || value == args[i]) {
			json_decref(object);
			return misuse("a fault is described by KEY=VALUE, not by", args[i]);
		}
		*value++ = '\0';
		if (json_object_get(object, args[i])) {
			json_decref(object);
			return misuse("it is given twice:", args[i]);
		}
		json_object_set_new(object, args[i], json_string(value));
	}
	return ask("fault-add", object, print_number);
}

static int fault_clear(int count, char **args)
{
	uint64_t id;

	if (!count || (count == 1 && !strcmp(args[0], "all")))
		return ask("fault-clear", NULL, NULL);
	if (count > 1 || parse_number(args[0], UINT32_MAX, &id) != PARSE_OK || !id)
		return misuse("'fault clear' takes the number of a fault, or all", NULL);
	return ask("fault-clear", json_pack("{s:I}", "fault", (json_int_t)id), NULL);
}

static int verb_fault(int count, char **args)
{
	if (!strcmp(args[0], "add"))
		return fault_add(count - 1, args + 1);
	if (!strcmp(args[0], "clear"))
		return fault_clear(count - 1, args + 1);
	if (strcmp(args[0], "list") || count > 1)
		return misuse("'fault' takes add, list or clear, not", args[count > 1 ? 1 : 0]);
	return ask("fault-list", NULL, print_faults);
}

static int verb_scenario(int count, char **args)
{
	json_error_t where;
	bool from_stdin = !strcmp(args[0], "-");
	json_t *root = from_stdin ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &where) :
				    json_load_file(args[0], JSON_REJECT_DUPLICATES, &where);
	char error[FIELDS_SENTENCE];

	if (!root && where.line > 0) {
		snprintf(error, sizeof(error), "%s is no JSON: line %d: %s", args[0], where.line,
			 where.text);
		return misuse(error, NULL);
	}
	if (!root)
		return fail(where.text);
	if (!json_is_object(root))
		root = json_pack("{s:o}", "faults", root);
	return ask("scenario", root, NULL);
}

/* --- the command line ----------------------------------------------------- */

static const struct verb verbs[] = {
	{ "status", "", "the ports, who is behind them, their neighbours", 0, 0,
	  .print = print_status },
	{ "counters", "", "what each port has passed on, dropped, suffered", 0, 0,
	  .print = print_counters },
	{ "bypass", "PORT on|off", "take a port out of the ring, or back into it", 2, 2,
	  .run = verb_bypass },
	{ "cut", "PORT [in|out|both]", "cut the fibre from the card, to it, or both", 1, 2,
	  .run = verb_cut },
	{ "restore", "PORT", "mend the fibres of a port; give a bad one another chance", 1, 1,
	  .run = verb_restore },
	{ "fault", "add KIND [KEY=VALUE...] | list | clear [N|all]",
	  "drop, corrupt, delay, duplicate, reorder or freeze frames", 1, 32, .run = verb_fault },
	{ "scenario", "FILE|-", "play faults, one after the other", 1, 1, .run = verb_scenario },
	{ "monitor", "", "print changes and faults as they happen, as JSON lines", .max = 0 },
	{ "stop", "", "end the hub", .max = 0 },
};

#define VERBS (sizeof(verbs) / sizeof(*verbs))

static void print_help(void)
{
	puts("usage: rmhub [-S SOCK] [run] OPTION...       be a hub\n"
	     "       rmhub [-S SOCK] [-j] VERB ARGUMENT... a word to one that runs\n"
	     "\n"
	     "  -n, --ports N      number of ports, 1 to 256 (default 8)\n"
	     "  -d, --dir DIR      ports listen there: DIR/portN.in for the card's tx,\n"
	     "                     DIR/portN.out for its rx, DIR/control for verbs\n"
	     "  -c, --config FILE  ports with other addresses, names, lines: JSON, rmhub(1)\n"
	     "  -l, --line TEXT    'free' (default), or 'paced[,rate=GBAUD][,hop=NS][,fibre=M]'\n"
	     "  -g, --glitchless   a change of the ring loses nothing and shows no sync loss\n"
	     "      --bad-limit N  damaged frames a second that make a port bad; 0: never\n"
	     "      --queue N      frames that may wait for a port, a power of two\n"
	     "      --stream-only  no shared memory with the cards\n"
	     "      --tls FOLDER   certificates or keys for ports on TCP: docs/tls.md\n"
	     "  -w, --pcap FILE    capture what passes\n"
	     "      --log FILE     what faults did, JSON lines (default: standard output)\n"
	     "  -s, --scenario FILE\n"
	     "                     play these faults from the beginning\n");
	for (size_t i = 0; i < VERBS; i++)
		printf("  %-8s %s\n           %s\n", verbs[i].name, verbs[i].usage, verbs[i].brief);
	puts("\n"
	     "  -S, --socket SOCK  the control socket (default: DIR/control for a hub with --dir,\n"
	     "                     else $XDG_RUNTIME_DIR/rmhub.sock or /tmp/rmhub-UID.sock)\n"
	     "  -j, --json         print JSON\n"
	     "  -h, --help         this help\n"
	     "  -V, --version      the version\n"
	     "\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage. Manual page: rmhub(1).");
}

static int run_verb(const struct verb *verb, int count, char **args)
{
	int kept = 0;

	/* -j may stand behind the verb as well. */
	for (int i = 0; i < count; i++) {
		if (!strcmp(args[i], "-j") || !strcmp(args[i], "--json")) {
			as_json = true;
		} else if (!strcmp(args[i], "-h") || !strcmp(args[i], "--help")) {
			printf("usage: rmhub %s %s\n\n%s\n", verb->name, verb->usage, verb->brief);
			return EXIT_SUCCESS;
		} else if (!is_text(args[i])) {
			return misuse("an argument is no UTF-8", NULL);
		} else {
			args[kept++] = args[i];
		}
	}
	if (kept > verb->max)
		return misuse("too many words behind", verb->name);
	if (kept < verb->min)
		return misuse("too few words behind", verb->name);
	return verb->run ? verb->run(kept, args) : ask(verb->name, NULL, verb->print);
}

/* Options before the verb: -S, -j, -h, -V. Returns the index of what comes then. */
static int take_common(int argc, char **argv)
{
	int at = 1;

	while (at < argc) {
		if (!strcmp(argv[at], "-j") || !strcmp(argv[at], "--json")) {
			as_json = true;
		} else if (!strcmp(argv[at], "-h") || !strcmp(argv[at], "--help")) {
			print_help();
			exit(EXIT_SUCCESS);
		} else if (!strcmp(argv[at], "-V") || !strcmp(argv[at], "--version")) {
			puts("rmhub " PROGRAM_VERSION);
			exit(EXIT_SUCCESS);
		} else if ((!strcmp(argv[at], "-S") || !strcmp(argv[at], "--socket")) &&
			   at + 1 < argc) {
			socket_path = argv[++at];
		} else {
			break;
		}
		at++;
	}
	return at;
}

int main(int argc, char **argv)
{
	int at = take_common(argc, argv);

	if (at == argc)
		return misuse("there is nothing to do", NULL);
	if (argv[at][0] == '-')
		return verb_run(argc - at + 1, argv + at - 1);
	if (!strcmp(argv[at], "run"))
		return verb_run(argc - at, argv + at);
	for (size_t i = 0; i < VERBS; i++)
		if (!strcmp(argv[at], verbs[i].name))
			return run_verb(&verbs[i], argc - at - 1, argv + at + 1);
	return misuse("there is no verb", argv[at]);
}
