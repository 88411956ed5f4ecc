// SPDX-License-Identifier: MIT
/* The command line's end of the control socket. It waits for every answer. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/common/control.h"

#define ANSWER_MAX	(CONTROL_BACKLOG + 1)

struct control_client {
	int fd;
	char *bytes;
	size_t fill, size;
};

struct control_client *control_connect(const char *path, char *error)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct control_client *client = calloc(1, sizeof(*client));

	if (!client || strlen(path) >= sizeof(name.sun_path)) {
		snprintf(error, CONTROL_SENTENCE, client ?
			 "the path of the control socket is too long" : "no memory");
		free(client);
		return NULL;
	}
	strcpy(name.sun_path, path);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd >= 0 && !connect(client->fd, (struct sockaddr *)&name, sizeof(name)))
		return client;
	snprintf(error, CONTROL_SENTENCE, "cannot reach the control socket %s: %s", path,
		 errno == ENOENT || errno == ECONNREFUSED ? "nobody is there" : strerror(errno));
	control_disconnect(client);
	return NULL;
}

void control_disconnect(struct control_client *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		close(client->fd);
	free(client->bytes);
	free(client);
}

int control_fd(const struct control_client *client)
{
	return client->fd;
}

bool control_pending(const struct control_client *client)
{
	return client->fill && memchr(client->bytes, '\n', client->fill);
}

int control_send_more(struct control_client *client, json_t *object, char *error)
{
	char *text = json_dumps(object, JSON_COMPACT);
	size_t len = text ? strlen(text) + 1 : 0, done = 0;

	json_decref(object);
	if (!text) {
		snprintf(error, CONTROL_SENTENCE, "a word is not UTF-8");
		return -1;
	}
	text[len - 1] = '\n';
	while (done < len) {
		ssize_t sent = send(client->fd, text + done, len - done, MSG_NOSIGNAL);

		if (sent > 0)
			done += sent;
		else if (errno != EINTR)
			break;
	}
	free(text);
	if (done < len)
		snprintf(error, CONTROL_SENTENCE, "the other side has closed the control socket");
	return done < len ? -1 : 0;
}

int control_send(struct control_client *client, const char *verb, json_t *args, char *error)
{
	json_t *line = json_pack("{s:s, s:o}", "verb", verb, "args",
				 args ? args : json_object());

	if (!line) {
		snprintf(error, CONTROL_SENTENCE, "a word is not UTF-8");
		return -1;
	}
	return control_send_more(client, line, error);
}

static bool read_more(struct control_client *client)
{
	size_t size = client->size ? client->size * 2 : 16384;
	ssize_t len;

	if (client->fill == client->size) {
		char *bigger = size <= 2 * (size_t)ANSWER_MAX ? realloc(client->bytes, size) : NULL;

		if (!bigger)
			return false;
		client->bytes = bigger;
		client->size = size;
	}
	do {
		len = recv(client->fd, client->bytes + client->fill, client->size - client->fill,
			   0);
	} while (len < 0 && errno == EINTR);
	if (len <= 0)
		return false;
	client->fill += len;
	return true;
}

/* The next line as an object, NULL if there is none or it is nothing of the kind. */
static json_t *read_line(struct control_client *client)
{
	size_t seen = 0;
	json_t *line;
	char *end;

	while (!client->fill ||
	       !(end = memchr(client->bytes + seen, '\n', client->fill - seen))) {
		seen = client->fill;
		if (!read_more(client))
			return NULL;
	}
	line = json_loadb(client->bytes, end - client->bytes, 0, NULL);
	client->fill -= end + 1 - client->bytes;
	memmove(client->bytes, end + 1, client->fill);
	return line;
}

enum control_answer control_receive(struct control_client *client, json_t **object, char *error)
{
	json_t *line = read_line(client);
	const char *why = json_string_value(json_object_get(line, "error"));
	enum control_answer answer = CONTROL_EVENT;

	*object = json_incref(json_object_get(line, "event"));
	if (!*object) {
		*object = json_incref(json_object_get(line, "result"));
		answer = CONTROL_RESULT;
	}
	if (!*object) {
		snprintf(error, CONTROL_SENTENCE, "%s", why ? why :
			 line ? "the answer is not understood" :
			 "the other side has closed the control socket");
		answer = json_is_true(json_object_get(line, "misused")) ? CONTROL_MISUSED :
									 CONTROL_ERROR;
	}
	json_decref(line);
	return answer;
}

enum control_answer control_call(const char *path, const char *verb, json_t *args, json_t **result,
				 char *error)
{
	struct control_client *client = control_connect(path, error);
	enum control_answer answer = CONTROL_ERROR;

	*result = NULL;
	if (!client) {
		json_decref(args);
		return answer;
	}
	if (!control_send(client, verb, args, error))
		while ((answer = control_receive(client, result, error)) == CONTROL_EVENT)
			json_decref(*result);
	control_disconnect(client);
	return answer;
}
