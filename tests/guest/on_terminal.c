// SPDX-License-Identifier: GPL-2.0-only
/*
 * on_terminal [-s SIGNAL-AT] INPUT COMMAND ARGUMENT...: runs a command on a terminal of its
 * own, where a person has typed INPUT, and prints all that the command prints there. With
 * -s Ctrl-C is typed once the command has printed SIGNAL-AT. Ends with the
 * status of the command.
 */
#include <err.h>
#include <errno.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#define PRINTED_MAX 65536

/* Lines end as programs write them, and what is typed is not printed. */
static void plain(int terminal)
{
	struct termios settings;

	if (tcgetattr(terminal, &settings))
		err(1, "tcgetattr");
	settings.c_oflag &= ~(tcflag_t)OPOST;
	settings.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(terminal, TCSANOW, &settings))
		err(1, "tcsetattr");
}

static void type(int terminal, const char *text)
{
	if (*text && write(terminal, text, strlen(text)) < 0)
		err(1, "write");
}

/* Copies what is printed until the command has ended. */
static void copy(int terminal, const char *signal_at)
{
	static char printed[PRINTED_MAX];
	size_t length = 0;
	ssize_t got;

	while ((got = read(terminal, printed + length, sizeof(printed) - 1 - length)) > 0 ||
	       (got < 0 && errno == EINTR)) {
		if (got < 0)
			continue;
		fwrite(printed + length, 1, (size_t)got, stdout);
		fflush(stdout);
		length += (size_t)got;
		printed[length] = '\0';
		if (signal_at && strstr(printed, signal_at)) {
			type(terminal, "\003");
			signal_at = NULL;
		}
		if (length > sizeof(printed) / 2 && !signal_at)
			length = 0;
	}
}

int main(int argc, char **argv)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	const char *signal_at = NULL;
	int terminal, its, status;
	pid_t child;

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		signal_at = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 3)
		errx(2, "usage: on_terminal [-s SIGNAL-AT] INPUT COMMAND ARGUMENT...");
	if (openpty(&terminal, &its, NULL, NULL, &size))
		err(1, "openpty");
	plain(its);
	child = fork();
	if (child < 0)
		err(1, "fork");
	if (!child) {
		close(terminal);
		if (login_tty(its))
			err(127, "login_tty");
		execvp(argv[2], argv + 2);
		err(127, "%s", argv[2]);
	}
	close(its);
	type(terminal, argv[1]);
	copy(terminal, signal_at);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
