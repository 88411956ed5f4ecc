// SPDX-License-Identifier: MIT
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stop.h"

/* Is the command a process group of its own? There is one at a time. */
static bool apart;

/* sh would do nothing, and call that success. Returns an exit status. */
int child_check(const struct command *cmd, const char *option, const char *command)
{
	if (command[strspn(command, " \t\n")])
		return STATUS_OK;
	return misused(cmd, "the command of %s is empty", option);
}

/*
 * Lets sh run @command; before that @prepare, if it is not NULL, is called in the child.
 * Signals are held, see stop_hold_signals(). A signal must reach all that sh runs, so the
 * command gets a process group; but at a terminal, where it could not read then, and where
 * what is typed reaches all of them anyway. Returns its process, 0 when it has said why there
 * is none.
 */
pid_t child_start(const struct command *cmd, const char *command,
		  void (*prepare)(const void *context), const void *context)
{
	pid_t child;

	apart = !isatty(STDIN_FILENO);
	fflush(NULL);
	child = fork();
	if (child < 0) {
		failed(cmd, "cannot run the command: %s", strerror(errno));
		return 0;
	}
	/* In both, as nobody knows which is the first to need it. */
	if (apart)
		setpgid(child, 0);
	if (child)
		return child;
	stop_forget();
	if (prepare)
		prepare(context);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Has it ended? @status is that of wait(2) then. */
bool child_ended(pid_t child, int *status)
{
	return waitpid(child, status, WNOHANG) == child;
}

/* The signal that has come since the last call, if one has, is for the command. */
void child_pass_on(pid_t child)
{
	bool by_terminal;
	int signo = stop_signal(&by_terminal);

	if (signo && (apart || !by_terminal))
		kill(apart ? -child : child, signo);
}

/* Runs it to its end, with the signals that come meanwhile. Returns its exit status as a shell. */
int child_run(const struct command *cmd, const char *command)
{
	pid_t child;
	int status;

	stop_hold_signals();
	child = child_start(cmd, command, NULL, NULL);
	if (!child)
		return STATUS_FAILED;
	while (!child_ended(child, &status)) {
		stop_poll(NULL, 0, STOP_NEVER);
		child_pass_on(child);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
