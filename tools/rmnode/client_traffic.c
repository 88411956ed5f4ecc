// SPDX-License-Identifier: MIT
/* Command line: load, record, replay. */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

void print_load(json_t *result)
{
	double seconds = number_in(result, "nanoseconds") / 1e9;

	printf("%" PRIu64 " stores, %" PRIu64 " dropped, %" PRIu64 " bytes in %.3f s, %.3f MB/s\n",
	       number_in(result, "stores"), number_in(result, "dropped"),
	       number_in(result, "bytes"), seconds, number_in(result, "bytes") / seconds / 1e6);
}

/* The member may run in another folder. */
static bool add_path(json_t *args, const char *path)
{
	char *folder = *path == '/' ? NULL : getcwd(NULL, 0);
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
	free(folder);
	if (!json_object_set_new(args, "file", json_string(whole)))
		return true;
	return refuse("the file name is not UTF-8");
}

void print_nothing(json_t *event)
{
}

/* From here on signals come inside of ppoll() only, so that none is overlooked before it. */
static void hold_signals(sigset_t *before)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigprocmask(SIG_BLOCK, &held, before);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Until a signal, or until the member ends it. */
static json_t *await_end(struct ask *ask)
{
	struct pollfd poll_fd = { .fd = ask->fd, .events = POLLIN };
	sigset_t before;
	json_t *object;

	/* Begun when the first event is there; a signal before that ends the program. */
	if (receive(ask, &object) != CONTROL_EVENT)
		return object;
	hold_signals(&before);
	print_event(ask, object);
	while (!interrupted && ppoll(&poll_fd, 1, NULL, &before) < 0)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return interrupted && !send_more(ask) ? NULL : await(ask);
}

int run_record(struct ask *ask, int count, char **words)
{
	if (!add_path(ask->args, words[0]))
		return STATUS_MISUSED;
	for (int i = 1; i < count; i++)
		if (!add_to_ranges(ask->args, words[i]))
			return STATUS_MISUSED;
	return send_request(ask, "record", ask->args) ? finish(ask, await_end(ask)) : 1;
}

void print_record(json_t *result)
{
	printf("%" PRIu64 " frames recorded, %" PRIu64 " lost\n", number_in(result, "frames"),
	       number_in(result, "lost"));
}

void print_step(json_t *event)
{
	printf("%.9f %s from %" PRIu64 " at 0x%08" PRIx64 " %s\n",
	       number_in(event, "after_ns") / 1e9, text_in(event, "type"),
	       number_in(event, "source"), number_in(event, "offset"), text_in(event, "data"));
}

/* Pass one key of the user's on. False at the end of his input. */
static bool pass_key(struct ask *ask, unsigned int *steps)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) != 1)
		return false;
	if (key != '\n')
		return true;
	++*steps;
	return send_more(ask);
}

/* A line of the user's is a step; the end of his input, when all are done, is the end. */
static json_t *await_steps(struct ask *ask)
{
	struct pollfd fds[] = {
		{ .fd = ask->fd, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};
	unsigned int steps = 0, done = 0;
	json_t *object;
	char more;

	while (fds[1].fd >= 0 || done < steps) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents) {
			if (receive(ask, &object) != CONTROL_EVENT)
				return object;
			print_event(ask, object);
			done++;
		} else if (fds[1].revents && !pass_key(ask, &steps)) {
			fds[1].fd = -1;
		}
	}
	/* A refusal may still be on its way; a replay under way is ended without a word. */
	shutdown(ask->fd, SHUT_WR);
	return recv(ask->fd, &more, 1, MSG_PEEK) > 0 ? await(ask) : json_object();
}

void print_replay(json_t *result)
{
	if (json_object_size(result))
		printf("%" PRIu64 " frames replayed in %.3f s, %" PRIu64 " of them interrupts; %"
		       PRIu64 " skipped, %" PRIu64 " dropped\n", number_in(result, "frames"),
		       number_in(result, "nanoseconds") / 1e9, number_in(result, "interrupts"),
		       number_in(result, "skipped"), number_in(result, "dropped"));
}

int run_replay(struct ask *ask, int count, char **words)
{
	bool stepwise = json_object_get(ask->args, "step");

	if (!add_path(ask->args, words[0]))
		return STATUS_MISUSED;
	if (!send_request(ask, "replay", ask->args))
		return 1;
	return finish(ask, stepwise ? await_steps(ask) : await(ask));
}
