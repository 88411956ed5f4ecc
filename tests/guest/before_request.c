// SPDX-License-Identifier: GPL-2.0-only
/*
 * before_request N COMMAND PROGRAM ARGUMENT...: runs a program, and when it is about to send its
 * Nth message to the kernel, from 1, a shell's COMMAND before that. So what happens between two
 * requests of the program happens there each time. Ends with the status of the program, or with
 * 125 if it never sent so many.
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void await(pid_t child, int *status)
{
	while (waitpid(child, status, 0) < 0)
		if (errno != EINTR)
			err(125, "waitpid");
}

/* Is it at the beginning of a call that sends? */
static bool is_sending(pid_t child)
{
	struct __ptrace_syscall_info info = {};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) < 0)
		err(125, "ptrace");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	       (info.entry.nr == SYS_sendmsg || info.entry.nr == SYS_sendto);
}

static pid_t start(char **argv)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		err(125, "fork");
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(*argv, argv);
		err(127, "%s", *argv);
	}
	await(child, &status);
	if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC))
		err(125, "ptrace");
	return child;
}

int main(int argc, char **argv)
{
	int status, deliver = 0, left;
	pid_t child;

	if (argc < 4)
		errx(125, "usage: before_request N COMMAND PROGRAM ARGUMENT...");
	left = atoi(argv[1]);
	child = start(argv + 3);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, 0, deliver))
			err(125, "ptrace");
		await(child, &status);
		if (!WIFSTOPPED(status))
			break;
		deliver = WSTOPSIG(status);
		if (deliver == SIGTRAP)		/* of exec */
			deliver = 0;
		if (deliver != (SIGTRAP | 0x80))
			continue;
		deliver = 0;
		if (is_sending(child) && !--left && system(argv[2]))
			errx(125, "%s failed", argv[2]);
	}
	if (left > 0)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
