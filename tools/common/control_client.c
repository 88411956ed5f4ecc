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

#define ANSWER_MAX	(2 * (size_t)CONTROL_BACKLOG)

int control_connect(const char *path, char *error)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(name.sun_path)) {
		snprintf(error, CONTROL_SENTENCE, "the path of the control socket is too long");
		return -1;
	}
	strcpy(name.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&name, sizeof(name)))
		return fd;
	snprintf(error, CONTROL_SENTENCE, "cannot reach the control socket %s: %s", path,
		 errno == ENOENT || errno == ECONNREFUSED ? "nobody is there" : strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

bool control_send_more(int fd, json_t *object, char *error)
{
	char *text = json_dumps(object, JSON_COMPACT);
	size_t len = text ? strlen(text) + 1 : 0, done = 0;

	json_decref(object);
	if (!text)
		return control_why(error, "a word is not UTF-8");
	text[len - 1] = '\n';
	while (done < len) {
		ssize_t sent = send(fd, text + done, len - done, MSG_NOSIGNAL);

		if (sent > 0)
			done += sent;
		else if (errno != EINTR)
			break;
	}
	free(text);
	return done == len || control_why(error, "the other side has closed the control socket");
}

bool control_send(int fd, const char *verb, json_t *args, char *error)
{
	return control_send_more(fd, json_pack("{s:s, s:o}", "verb", verb, "args",
					       args ? args : json_object()), error);
}

/*
 * The next line and no more, so that whatever else has come makes the socket readable. NULL if
 * there is none, or if it is no JSON.
 */
static json_t *read_line(int fd)
{
	size_t fill = 0, size = 0;
	char *text = NULL, *end = NULL;
	json_t *line = NULL;

	while (!end) {
		ssize_t len;

		if (fill == size) {
			char *bigger = NULL;

			size = size ? size * 2 : 256;
			if (size <= ANSWER_MAX)
				bigger = realloc(text, size);
			if (!bigger)
				break;
			text = bigger;
		}
		len = recv(fd, text + fill, size - fill, MSG_PEEK);
		if (len > 0) {
			end = memchr(text + fill, '\n', len);
			len = recv(fd, text + fill, end ? end + 1 - (text + fill) : len, 0);
		}
		if (!len || (len < 0 && errno != EINTR))
			break;
		if (len > 0)
			fill += len;
	}
	if (end)
		line = json_loadb(text, fill, 0, NULL);
	free(text);
	return line;
}

enum control_answer control_receive(int fd, json_t **object, char *error)
{
	json_t *line = read_line(fd);
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
