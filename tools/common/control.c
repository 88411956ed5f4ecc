// SPDX-License-Identifier: MIT
/*
 * The server of the control socket. A client is freed in one place only, at
 * the end of what its socket had to say (client_ready()) or with the server,
 * so a handler may answer whenever it likes: a client that cannot be written
 * to any more is only marked, and its socket says the rest.
 */
#include "tools/common/control.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/host/address.h"

#define READ_SIZE	16384

struct control_request {
	bool active;
	void (*gone)(void *context);
	void *gone_context;
	void (*more)(void *context, json_t *object);
	void *more_context;
	void (*room)(void *context);
	void *room_context;
	bool refused;		/* an event, for want of room */
};

struct buffer {
	char *bytes;
	size_t fill, size;
};

struct client {
	struct control *control;
	LIST_ENTRY(client) entry;
	struct control_request request;
	struct rfm_loop_fd watch;
	int fd;
	struct buffer in, out;
	bool broken;		/* cannot be written to */
	bool ended;		/* says no more */
};

LIST_HEAD(client_list, client);

struct control {
	struct rfm_loop *loop;
	const struct control_verb *verbs;
	void *opaque;
	struct rfm_address address;
	struct rfm_loop_fd watch;
	int fd;
	struct client_list clients;
	unsigned int count;
};

static struct client *client_of(struct control_request *request)
{
	return (struct client *)((char *)request - offsetof(struct client, request));
}

/* --- bytes -------------------------------------------------------------------- */

static bool append(struct buffer *buffer, const void *bytes, size_t len, size_t max)
{
	size_t need = buffer->fill + len;

	if (need > max)
		return false;
	if (need > buffer->size) {
		size_t size = buffer->size * 2 > need ? buffer->size * 2 : need;
		char *bigger = realloc(buffer->bytes, size);

		if (!bigger)
			return false;
		buffer->bytes = bigger;
		buffer->size = size;
	}
	memcpy(buffer->bytes + buffer->fill, bytes, len);
	buffer->fill = need;
	return true;
}

static void take_off(struct buffer *buffer, size_t len)
{
	buffer->fill -= len;
	memmove(buffer->bytes, buffer->bytes + len, buffer->fill);
	if (buffer->fill)
		return;
	free(buffer->bytes);
	*buffer = (struct buffer){ .bytes = NULL };
}

/* What to wait for; nothing is read while a line of the greatest length waits. */
static void watch_client(struct client *client)
{
	uint32_t events = 0;

	if (!client->ended && client->in.fill < CONTROL_LINE)
		events |= EPOLLIN;
	if (client->out.fill && !client->broken)
		events |= EPOLLOUT;
	/* Lines that waited for the end of a request have no event of their own. */
	if (client->in.fill && !client->request.active &&
	    memchr(client->in.bytes, '\n', client->in.fill))
		events |= EPOLLOUT;
	if (rfm_loop_watch(client->control->loop, &client->watch, client->fd, events))
		client->broken = true;
}

static void flush(struct client *client)
{
	while (client->out.fill && !client->broken) {
		ssize_t sent = send(client->fd, client->out.bytes, client->out.fill,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent > 0)
			take_off(&client->out, sent);
		else if (sent < 0 && errno == EAGAIN)
			break;
		else if (sent < 0 && errno != EINTR)
			client->broken = true;
	}
}

static bool send_line(struct client *client, json_t *line)
{
	char *text = json_dumps(line, JSON_COMPACT);
	size_t len = text ? strlen(text) : 0;
	bool sent = false;

	json_decref(line);
	if (text && !client->broken) {
		text[len] = '\n';	/* in place of the end */
		sent = append(&client->out, text, len + 1, CONTROL_BACKLOG);
	}
	free(text);
	if (sent) {
		flush(client);
		watch_client(client);
	}
	return sent && !client->broken;
}

/* --- answers ------------------------------------------------------------------ */

bool control_event(struct control_request *request, json_t *object)
{
	bool sent = send_line(client_of(request), json_pack("{s:o}", "event", object));

	request->refused |= !sent;
	return sent;
}

/* A last line that does not fit ends the connection: the client must not wait for it. */
static void finish(struct control_request *request, json_t *line)
{
	struct client *client = client_of(request);

	*request = (struct control_request){ .active = false };
	if (!send_line(client, line)) {
		client->broken = true;
		shutdown(client->fd, SHUT_RDWR);
	}
}

void control_done(struct control_request *request, json_t *result)
{
	finish(request, json_pack("{s:o}", "result", result ? result : json_object()));
}

void control_refuse(struct control_request *request, bool misused, const char *format, ...)
{
	char sentence[CONTROL_SENTENCE];
	va_list args;
	json_t *text;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	/* It may quote bytes that are not UTF-8. */
	text = json_string(sentence);
	finish(request, json_pack("{s:o, s:o*}", "error", text ? text :
				  json_string("a word of the request is not UTF-8"),
				  "misused", misused ? json_true() : NULL));
}

void *control_alloc(struct control_request *request, size_t size)
{
	void *memory = calloc(1, size);

	if (!memory)
		control_fail(request, "no memory");
	return memory;
}

void control_on_gone(struct control_request *request, void (*gone)(void *context), void *context)
{
	request->gone = gone;
	request->gone_context = context;
}

void control_on_more(struct control_request *request,
		     void (*more)(void *context, json_t *object), void *context)
{
	request->more = more;
	request->more_context = context;
}

void control_on_room(struct control_request *request, void (*room)(void *context), void *context)
{
	request->room = room;
	request->room_context = context;
}

/* --- requests ----------------------------------------------------------------- */

static void run_request(struct client *client, json_t *line)
{
	const char *name = json_string_value(json_object_get(line, "verb"));
	const struct control_verb *verb = client->control->verbs;
	json_t *args = json_object_get(line, "args");
	json_t *none = args ? NULL : json_object();

	while (name && verb->name && strcmp(verb->name, name))
		verb++;
	client->request = (struct control_request){ .active = true };
	if (!name)
		control_misused(&client->request, "the request has no verb");
	else if (!verb->name)
		control_misused(&client->request, "there is no verb '%.100s'", name);
	else if (args && !json_is_object(args))
		control_misused(&client->request, "the arguments are not an object");
	else
		verb->run(&client->request, args ? args : none, client->control->opaque);
	json_decref(none);
}

static void take_line(struct client *client, const char *text, size_t len)
{
	json_error_t error;
	json_t *line = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	if (line && json_is_object(line)) {
		if (client->request.active)
			client->request.more(client->request.more_context, line);
		else
			run_request(client, line);
	} else if (!client->request.active) {
		client->request.active = true;
		control_misused(&client->request, "the request is not a JSON object: %s",
			     line ? "it is something else" : error.text);
	}
	json_decref(line);
}

/* As many lines as can be taken now. */
static void take_lines(struct client *client)
{
	char *end;

	while (client->in.fill && (!client->request.active || client->request.more) &&
	       (end = memchr(client->in.bytes, '\n', client->in.fill))) {
		size_t len = end - client->in.bytes;

		if (len)
			take_line(client, client->in.bytes, len);
		take_off(&client->in, len + 1);
	}
	if (client->ended || client->in.fill < CONTROL_LINE ||
	    memchr(client->in.bytes, '\n', client->in.fill))
		return;
	client->ended = true;
	if (client->request.active) {
		client->broken = true;	/* its owner is told that it has gone */
		return;
	}
	client->request.active = true;
	control_misused(&client->request, "the request is longer than %u bytes", CONTROL_LINE);
}

/* Who was refused an event may have room for it now. */
static void offer_room(struct client *client)
{
	struct control_request *request = &client->request;

	if (!request->active || !request->refused || client->out.fill || client->broken)
		return;
	request->refused = false;
	if (request->room)
		request->room(request->room_context);
}

/* --- connections -------------------------------------------------------------- */

static void free_client(struct client *client)
{
	if (client->request.active && client->request.gone)
		client->request.gone(client->request.gone_context);
	LIST_REMOVE(client, entry);
	client->control->count--;
	rfm_loop_unwatch(client->control->loop, &client->watch);
	close(client->fd);
	free(client->in.bytes);
	free(client->out.bytes);
	free(client);
}

static void read_some(struct client *client)
{
	char bytes[READ_SIZE];
	size_t room = CONTROL_LINE - client->in.fill;
	ssize_t len = recv(client->fd, bytes, room < sizeof(bytes) ? room : sizeof(bytes),
			   MSG_DONTWAIT);

	if (len > 0) {
		if (!append(&client->in, bytes, len, CONTROL_LINE))
			client->ended = true;
	} else if (!len || (errno != EAGAIN && errno != EINTR)) {
		client->ended = true;
	}
}

static void client_ready(void *opaque, uint32_t events, uint64_t now)
{
	struct client *client = opaque;

	if (events & EPOLLIN)
		read_some(client);
	else if (events & (EPOLLHUP | EPOLLERR))
		client->ended = client->broken = true;
	take_lines(client);
	flush(client);
	offer_room(client);
	/* Who says no more gets what is ready for him, and whatever else he had asked for ends. */
	if (client->broken || (client->ended && (client->request.active || !client->out.fill)))
		free_client(client);
	else
		watch_client(client);
}

static void somebody_connects(void *opaque, uint32_t events, uint64_t now)
{
	struct control *control = opaque;
	int fd = rfm_address_accept(&control->address, control->fd);
	struct client *client;

	if (fd < 0)
		return;
	client = control->count < CONTROL_CLIENTS ? calloc(1, sizeof(*client)) : NULL;
	if (!client) {
		static const char full[] = "{\"error\":\"too many clients are connected\"}\n";

		(void)!send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		return;
	}
	client->control = control;
	client->fd = fd;
	client->watch = (struct rfm_loop_fd){ .ready = client_ready, .opaque = client };
	LIST_INSERT_HEAD(&control->clients, client, entry);
	control->count++;
	watch_client(client);
	if (client->broken)
		free_client(client);
}

/* --- life --------------------------------------------------------------------- */

static bool open_socket(struct control *control, const char *path, char *error)
{
	char address[RFM_ADDRESS_MAX];
	const char *why;
	mode_t mask;

	if (snprintf(address, sizeof(address), "unix:%s,server", path) >= (int)sizeof(address))
		return control_why(error, "the path of the control socket is too long");
	why = rfm_address_parse(&control->address, address);
	if (why)
		return control_why(error, "'%.200s' cannot be a control socket: %s", path, why);
	mask = umask(0177);
	control->fd = rfm_address_listen(&control->address, 0, false, error, CONTROL_SENTENCE);
	umask(mask);
	return control->fd >= 0;
}

struct control *control_listen(struct rfm_loop *loop, const char *path,
			       const struct control_verb *verbs, void *opaque, char *error)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control) {
		snprintf(error, CONTROL_SENTENCE, "no memory");
		return NULL;
	}
	control->loop = loop;
	control->verbs = verbs;
	control->opaque = opaque;
	control->watch = (struct rfm_loop_fd){ .ready = somebody_connects, .opaque = control };
	if (!open_socket(control, path, error)) {
		free(control);
		return NULL;
	}
	if (rfm_loop_watch(loop, &control->watch, control->fd, EPOLLIN)) {
		snprintf(error, CONTROL_SENTENCE, "cannot watch the control socket: %s",
			 strerror(errno));
		control_close(control);
		return NULL;
	}
	return control;
}

void control_close(struct control *control)
{
	struct client *client, *next;

	if (!control)
		return;
	for (client = LIST_FIRST(&control->clients); client; client = next) {
		next = LIST_NEXT(client, entry);
		flush(client);
		free_client(client);
	}
	rfm_loop_unwatch(control->loop, &control->watch);
	close(control->fd);
	rfm_address_remove(&control->address);
	free(control);
}

/* --- arguments ---------------------------------------------------------------- */

/* @given: NULL if it is absent. Returns false if it is @needed then, or is of none of @types. */
static bool get(struct control_request *request, json_t *args, const char *name, bool needed,
		unsigned int types, const char *what, json_t **given)
{
	*given = json_object_get(args, name);
	if (*given ? types & 1u << json_typeof(*given) : !needed)
		return true;
	if (*given)
		return control_misused(request, "the argument '%s' must be %s", name, what);
	return control_misused(request, "the argument '%s' is missing", name);
}

bool control_get_number(struct control_request *request, json_t *args, const char *name,
			bool needed, uint64_t min, uint64_t max, uint64_t *value)
{
	json_int_t number;
	json_t *given;

	if (!get(request, args, name, needed, ~0u, "", &given))
		return false;
	if (!given)
		return true;
	/* JSON has no unsigned numbers; those from 2^63 on come as negative ones. */
	number = json_integer_value(given);
	if (!json_is_integer(given) || (number < 0 && max <= INT64_MAX) ||
	    (uint64_t)number < min || (uint64_t)number > max)
		return control_misused(request, "the argument '%s' must be a number from %llu to "
				       "%llu", name, (unsigned long long)min,
				       (unsigned long long)max);
	*value = number;
	return true;
}

bool control_get_string(struct control_request *request, json_t *args, const char *name,
			bool needed, const char **value)
{
	json_t *given;
	bool good = get(request, args, name, needed, 1u << JSON_STRING, "a text", &given);

	if (good && given)
		*value = json_string_value(given);
	return good;
}

bool control_get_bool(struct control_request *request, json_t *args, const char *name,
		      bool needed, bool *value)
{
	json_t *given;
	bool good = get(request, args, name, needed, 1u << JSON_TRUE | 1u << JSON_FALSE,
			"true or false", &given);

	if (good && given)
		*value = json_is_true(given);
	return good;
}
