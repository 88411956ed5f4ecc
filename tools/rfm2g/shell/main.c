/* SPDX-License-Identifier: MIT */
/* rfm2g-shell: a board by hand, with the commands that users of these boards know. */
#define _POSIX_C_SOURCE 200809L
#include "shell.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DEVICE	"/dev/rfm2g0"

RFM2GHANDLE board;
volatile sig_atomic_t is_interrupted;
static int is_over;

static int help(char **words);
static int repeat(char **words);
static int leave(char **words);

static const struct command shell_commands[] = {
	{ "help", "[command]", "what there is, or one of them", 0, 1, help },
	{ "repeat", "[-p] count command [argument]...", "so many times; -p: tells which", 2,
	  WORDS_MAX, repeat },
	{ "exit", "", "the end", 0, 0, leave },
	{ "quit", "", "the same", 0, 0, leave },
	{ NULL, NULL, NULL, 0, 0, NULL }
};

static const struct command *const tables[] = {
	shell_commands, memory_commands, event_commands, board_commands
};
#define TABLES	(sizeof(tables) / sizeof(tables[0]))

/* --- words ------------------------------------------------------------------------- */

int check(RFM2G_STATUS status)
{
	if (status == RFM2G_SUCCESS)
		return 0;
	fprintf(stderr, "%s (%d)\n", RFM2gErrorMsg(status), (int)status);
	return -1;
}

int get_number(const char *word, RFM2G_UINT64 limit, RFM2G_UINT64 *number)
{
	int base = word[0] == '0' && (word[1] == 'x' || word[1] == 'X') ? 16 : 10;
	char *end;

	errno = 0;
	*number = strtoull(word, &end, base);
	if (*word >= '0' && *word <= '9' && !*end && !errno && *number <= limit)
		return 0;
	fprintf(stderr, "'%s' is no number from 0 to 0x%llx\n", word, limit);
	return -1;
}

int get_number32(const char *word, RFM2G_UINT32 *number)
{
	RFM2G_UINT64 wide;

	if (get_number(word, 0xffffffff, &wide))
		return -1;
	*number = (RFM2G_UINT32)wide;
	return 0;
}

int get_switch(const char *word, RFM2G_BOOL *on)
{
	if (!strcmp(word, "on") || !strcmp(word, "1")) {
		*on = RFM2G_ON;
	} else if (!strcmp(word, "off") || !strcmp(word, "0")) {
		*on = RFM2G_OFF;
	} else {
		fprintf(stderr, "'%s' is neither on nor off\n", word);
		return -1;
	}
	return 0;
}

/* --- commands ---------------------------------------------------------------------- */

/* By its name, or so much of it that no other command can be meant. */
static const struct command *find(const char *name)
{
	const struct command *command, *found = NULL;
	int several = 0;
	size_t i;

	for (i = 0; i < TABLES; i++)
		for (command = tables[i]; command->name; command++) {
			if (strncasecmp(command->name, name, strlen(name)))
				continue;
			if (strlen(command->name) == strlen(name))
				return command;
			several |= found && found->run != command->run;
			found = command;
		}
	if (found && !several)
		return found;
	fprintf(stderr, several ? "'%s' is short for more than one command: try help\n" :
				  "there is no command '%s': try help\n", name);
	return NULL;
}

static void show(const struct command *command)
{
	char line[80];

	snprintf(line, sizeof(line), "%s %s", command->name, command->arguments);
	if (*command->does)
		printf("  %-44s %s\n", line, command->does);
	else
		printf("  %s\n", line);
}

static int help(char **words)
{
	const struct command *command;
	size_t i;

	if (words[0]) {
		command = find(words[0]);
		if (!command)
			return -1;
		show(command);
		return 0;
	}
	for (i = 0; i < TABLES; i++)
		for (command = tables[i]; command->name; command++)
			show(command);
	printf("Events are 0 to 11 or their names, see event; numbers may be hexadecimal.\n");
	return 0;
}

static int leave(char **words)
{
	(void)words;
	is_over = 1;
	return 0;
}

/* One that fails is the last. */
static int repeat(char **words)
{
	int tells = !strcmp(words[0], "-p"), length = 0, status = 0;
	RFM2G_UINT32 count, i;

	words += tells;
	if (get_number32(words[0], &count))
		return -1;
	while (words[1 + length])
		length++;
	if (!length) {
		fprintf(stderr, "repeat needs a command\n");
		return -1;
	}
	for (i = 0; i < count && !status && !is_over && !is_interrupted; i++) {
		if (tells)
			printf("%u\n", i + 1);
		status = run_command(words + 1, length);
	}
	return status;
}

int run_command(char **words, int count)
{
	const struct command *command = find(words[0]);

	if (!command)
		return -1;
	if (count - 1 < command->least || count - 1 > command->most) {
		fprintf(stderr, "usage: %s %s\n", command->name, command->arguments);
		return -1;
	}
	return command->run(words + 1);
}

/* --- lines ------------------------------------------------------------------------- */

/* What follows a # is for people. */
static int run_line(char *line)
{
	char *words[WORDS_MAX + 2], *rest = NULL, *word;
	int count = 0;

	line[strcspn(line, "#\n")] = '\0';
	for (word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
		if (count > WORDS_MAX) {
			fprintf(stderr, "too many words\n");
			return -1;
		}
		words[count++] = word;
	}
	words[count] = NULL;
	is_interrupted = 0;
	return count ? run_command(words, count) : 0;
}

/* From people until they leave; from a pipe until one has failed. */
static int run_lines(void)
{
	int people = isatty(STDIN_FILENO), status = 0;
	char *line = NULL;
	size_t size = 0;

	while (!is_over && (people || !status)) {
		if (people) {
			printf("rfm2g> ");
			fflush(stdout);
		}
		if (getline(&line, &size, stdin) >= 0) {
			status = run_line(line);
			fflush(stdout);
		} else if (ferror(stdin) && errno == EINTR) {
			clearerr(stdin);
			putchar('\n');
		} else {
			break;
		}
	}
	free(line);
	return people ? 0 : status;
}

static void interrupt(int signo)
{
	(void)signo;
	is_interrupted = 1;
}

/* Ends a line, a wait, a dump and a repetition, not the shell. */
static void catch_interrupts(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = interrupt;
	sigaction(SIGINT, &action, NULL);
}

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: rfm2g-shell [-d DEVICE] [COMMAND [ARGUMENT]...]\n"
		"DEVICE is %s, unless given. Without COMMAND reads commands from standard input;\n"
		"help is one of them.\n", DEVICE);
	return status;
}

int main(int argc, char **argv)
{
	char *device = DEVICE;
	RFM2G_STATUS status;
	int failed, at = 1;

	if (argc > 1 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")))
		return usage(stdout, 0);
	if (argc > 2 && !strcmp(argv[1], "-d")) {
		device = argv[2];
		at = 3;
	} else if (argc > 1 && argv[1][0] == '-') {
		return usage(stderr, 2);
	}
	status = RFM2gOpen(device, &board);
	if (status != RFM2G_SUCCESS) {
		fprintf(stderr, "rfm2g-shell: cannot open %s: %s\n", device, RFM2gErrorMsg(status));
		return 1;
	}
	if (at < argc) {
		failed = run_command(argv + at, argc - at);
	} else {
		if (isatty(STDIN_FILENO))
			catch_interrupts();
		failed = run_lines();
	}
	RFM2gClose(&board);
	return failed ? 1 : 0;
}
