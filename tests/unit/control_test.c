// SPDX-License-Identifier: MIT
/* The control socket. links: tools/common/control.c ring/host/loop.c ring/host/address.c */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/common/control.h"

/**
 * struct served - a server and one client of it
 * @request: of the verb "stay", under way
 * @gone, @room: how often that was told
 * @client: the other end
 * @text: what has come there
 */
struct served {
	struct rfm_loop *loop;
	struct control *control;
	char folder[32], path[48];
	struct control_request *request;
	unsigned int gone, room;
	int client;
	char *text;
	size_t fill;
	bool closed;
};

static void has_gone(void *context)
{
	struct served *served = context;

	served->gone++;
	served->request = NULL;
}

static void has_room(void *context)
{
	struct served *served = context;

	served->room++;
}

static void verb_stay(struct control_request *request, json_t *args, void *opaque)
{
	struct served *served = opaque;

	(void)args;
	served->request = request;
	control_on_gone(request, has_gone, served);
	control_on_room(request, has_room, served);
	control_event(request, json_object());
}

static void verb_answer(struct control_request *request, json_t *args, void *opaque)
{
	(void)args;
	(void)opaque;
	control_done(request, NULL);
}

static const struct control_verb verbs[] = {
	{ "stay", verb_stay },
	{ "answer", verb_answer },
	{ NULL, NULL },
};

static int set_up(void **state)
{
	struct served *served = calloc(1, sizeof(*served));
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	char error[CONTROL_SENTENCE];

	assert_non_null(served);
	strcpy(served->folder, "/tmp/control-test-XXXXXX");
	assert_non_null(mkdtemp(served->folder));
	snprintf(served->path, sizeof(served->path), "%s/socket", served->folder);
	served->loop = rfm_loop_new();
	served->control = control_listen(served->loop, served->path, verbs, served, error);
	assert_non_null(served->control);
	served->client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	strcpy(name.sun_path, served->path);
	assert_int_equal(connect(served->client, (struct sockaddr *)&name, sizeof(name)), 0);
	*state = served;
	return 0;
}

static int tear_down(void **state)
{
	struct served *served = *state;

	control_close(served->control);
	rfm_loop_free(served->loop);
	close(served->client);
	rmdir(served->folder);
	free(served->text);
	free(served);
	return 0;
}

static void serve(struct served *served)
{
	while (rfm_loop_once(served->loop, 0))
		;
}

/* Whatever has come, until there is nothing more. */
static void take(struct served *served)
{
	ssize_t len;

	do {
		serve(served);
		served->text = realloc(served->text, served->fill + 65537);
		len = recv(served->client, served->text + served->fill, 65536, 0);
		if (len > 0)
			served->fill += len;
		served->text[served->fill] = '\0';
	} while (len > 0);
	served->closed |= !len;
}

static void say(struct served *served, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = send(served->client, text, len, MSG_NOSIGNAL);

		if (sent > 0) {
			text += sent;
			len -= sent;
		}
		serve(served);
	}
}

static void say_endlessly(struct served *served)
{
	char *line = malloc(CONTROL_LINE);

	assert_non_null(line);
	memset(line, 'x', CONTROL_LINE);
	say(served, line, CONTROL_LINE);
	free(line);
}

static void test_requests(void **state)
{
	static const char lines[] = "{\"verb\":\"answer\"}\n\n{\"verb\":\"fly\"}\n[]\n";
	struct served *served = *state;

	say(served, lines, strlen(lines));
	take(served);
	assert_string_equal(served->text, "{\"result\":{}}\n"
			    "{\"error\":\"there is no verb 'fly'\",\"misused\":true}\n"
			    "{\"error\":\"the request is not a JSON object: it is something "
			    "else\",\"misused\":true}\n");
	assert_false(served->closed);
}

static void test_endless_line(void **state)
{
	struct served *served = *state;

	say_endlessly(served);
	take(served);
	assert_string_equal(served->text,
			    "{\"error\":\"the request is longer than 1048576 bytes\",\"misused\":true}\n");
	assert_true(served->closed);
}

/* Who had asked for something before is gone, and its owner must know. */
static void test_endless_line_in_a_request(void **state)
{
	static const char stay[] = "{\"verb\":\"stay\"}\n";
	struct served *served = *state;

	say(served, stay, strlen(stay));
	assert_non_null(served->request);
	say_endlessly(served);
	take(served);
	assert_int_equal(served->gone, 1);
	assert_string_equal(served->text, "{\"event\":{}}\n");
	assert_true(served->closed);
}

static void test_room(void **state)
{
	static const char stay[] = "{\"verb\":\"stay\"}\n";
	struct served *served = *state;
	size_t events = 1, lines = 0;
	char filler[4000];

	memset(filler, 'x', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	say(served, stay, strlen(stay));
	while (control_event(served->request, json_pack("{s:s}", "filler", filler)))
		events++;
	serve(served);
	assert_int_equal(served->room, 0);
	take(served);
	assert_int_equal(served->room, 1);
	for (size_t i = 0; i < served->fill; i++)
		lines += served->text[i] == '\n';
	assert_int_equal(lines, events);
	assert_true(control_event(served->request, json_object()));
	take(served);
	assert_int_equal(served->room, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_requests, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endless_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_endless_line_in_a_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_room, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("control socket", tests, NULL, NULL);
}
