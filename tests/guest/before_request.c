// SPDX-License-Identifier: GPL-2.0-only
/*
 * before_request [-c CALL FILE] N COMMAND PROGRAM ARGUMENT...: runs a program, and when it is about
 * to send its Nth message to the kernel, from 1, a shell's COMMAND before that; with N 0 before
 * each. With -c it is the Nth pread, pwrite or ioctl on that file instead. So what happens between
 * two requests of the program happens there each time. COMMAND has the program's id in $PROGRAM.
 * Ends with the status of the program, or with 125 if it never came to its Nth.
 */
#include <err.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct call {
	const char *name;
	unsigned long numbers[2];
} calls[] = {
	{ "send", { SYS_sendmsg, SYS_sendto } },
	{ "pread", { SYS_pread64, SYS_pread64 } },
	{ "pwrite", { SYS_pwrite64, SYS_pwrite64 } },
	{ "ioctl", { SYS_ioctl, SYS_ioctl } },
};

#define CALLS (sizeof(calls) / sizeof(*calls))

/**
 * struct wanted - what is counted
 * @call: which
 * @path: of the file, NULL: any
 */
struct wanted {
	const struct call *call;
	const char *path;
};

static void await(pid_t child, int *status)
{
	while (waitpid(child, status, 0) < 0)
		if (errno != EINTR)
			err(125, "waitpid");
}

/* Is this descriptor of the child that file? */
static bool is_file(pid_t child, unsigned long long fd, const char *path)
{
	char link[64], target[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/fd/%llu", child, fd);
	length = readlink(link, target, sizeof(target));
	return length == (ssize_t)strlen(path) && !memcmp(target, path, strlen(path));
}

/* Is it at the beginning of a call that is counted? */
static bool is_wanted(pid_t child, const struct wanted *wanted)
{
	struct __ptrace_syscall_info info = {};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) < 0)
		err(125, "ptrace");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY &&
	       (info.entry.nr == wanted->call->numbers[0] ||
		info.entry.nr == wanted->call->numbers[1]) &&
	       (!wanted->path || is_file(child, info.entry.args[0], wanted->path));
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

static void usage(void)
{
	errx(125, "usage: before_request [-c CALL FILE] N COMMAND PROGRAM ARGUMENT...");
}

static const struct call *find_call(const char *name)
{
	for (size_t i = 0; i < CALLS; i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	usage();
	return NULL;
}

/* For COMMAND, not for the program. */
static void tell_id(pid_t child)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", child);
	setenv("PROGRAM", id, 1);
}

int main(int argc, char **argv)
{
	struct wanted wanted = { .call = &calls[0] };
	int status, deliver = 0, left;
	bool each;
	pid_t child;

	if (argc > 3 && !strcmp(argv[1], "-c")) {
		wanted = (struct wanted){ .call = find_call(argv[2]), .path = argv[3] };
		argc -= 3;
		argv += 3;
	}
	if (argc < 4)
		usage();
	left = atoi(argv[1]);
	each = !left;
	child = start(argv + 3);
	tell_id(child);
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
		if (is_wanted(child, &wanted) && (each || !--left) && system(argv[2]))
			errx(125, "%s failed", argv[2]);
	}
	if (left > 0)
		return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
