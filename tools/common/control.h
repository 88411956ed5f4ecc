/* SPDX-License-Identifier: MIT */
/*
 * The control socket of a long-running program: a unix socket on which a
 * request is one JSON object on one line, and the answer one or more lines of
 * one JSON object each.
 *
 *   {"verb": "read", "args": {"offset": 0, "length": 4}}
 *   {"event": {...}}                 any number, of verbs that go on
 *   {"result": {...}}                the last line when it was done,
 *   {"error": "one sentence"}        or when it was not
 *
 * After the last line the same connection takes the next request. A request
 * that arrives while one is under way is handed to that one (control_on_more()).
 * Closing the connection ends whatever it had asked for.
 */
#ifndef RFM_TOOLS_CONTROL_H
#define RFM_TOOLS_CONTROL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ring/host/loop.h"

#define CONTROL_LINE		(1u << 20)	/* longest request */
#define CONTROL_BACKLOG		(4u << 20)	/* bytes that may wait for a slow reader */
#define CONTROL_CLIENTS		64
#define CONTROL_SENTENCE	512
/* Says in so many bytes at @error why not; false. */
#define control_why(error, ...)	(snprintf(error, CONTROL_SENTENCE, __VA_ARGS__), false)

/* --- server ----------------------------------------------------------------- */

struct control;
struct control_request;

/**
 * control_run - answer @request now, or later, or stream events
 * @args: an object (empty if the request had none), valid during the call
 */
typedef void control_run(struct control_request *request, json_t *args, void *opaque);

/** struct control_verb - one line of a program's table */
struct control_verb {
	const char *name;
	control_run *run;
};

/**
 * control_listen() - serve the verbs on @path
 * @verbs: kept; ends with a NULL name
 * @error: CONTROL_SENTENCE bytes: why it failed
 *
 * A socket that nobody listens on any more is replaced; the new one is open to
 * its owner only. Returns NULL on failure.
 */
struct control *control_listen(struct rfm_loop *loop, const char *path,
			       const struct control_verb *verbs, void *opaque, char *error);

/** control_close() - ends all connections (their on_gone is called), removes the socket */
void control_close(struct control *control);

/**
 * control_event() - one line, more follow
 * @object: taken over
 *
 * Returns false if the reader is so slow that it was not sent; the owner
 * counts that.
 */
bool control_event(struct control_request *request, json_t *object);

/** control_done() - the last line; @result is taken over, NULL: {}; @request is over */
void control_done(struct control_request *request, json_t *result);

/** control_refuse() - the last line says why not; @request is over */
void control_refuse(struct control_request *request, bool misused, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** control_fail() - the same; returns false */
#define control_fail(request, ...)	({ control_refuse(request, false, __VA_ARGS__); false; })
/** control_misused() - it is the request that was wrong, or a word is missing; returns false */
#define control_misused(request, ...)	({ control_refuse(request, true, __VA_ARGS__); false; })

/** control_alloc() - all zero; NULL after it has failed the request */
void *control_alloc(struct control_request *request, size_t size);

/**
 * control_on_gone() - who to tell when the client leaves before the last line
 * @gone: @request is over
 */
void control_on_gone(struct control_request *request, void (*gone)(void *context), void *context);

/**
 * control_on_more() - who takes further lines while the request is under way
 * @more: @object is the line, valid during the call
 *
 * Without it such lines wait until the request is over.
 */
void control_on_more(struct control_request *request,
		     void (*more)(void *context, json_t *object), void *context);

/**
 * control_on_room() - who to tell when the reader has taken all that waited for
 *	it, after control_event() has said false
 * @room: may send events, and end @request
 */
void control_on_room(struct control_request *request, void (*room)(void *context), void *context);

/* Arguments. Each returns false after it has failed the request with a sentence. */

/** control_get_number() - from @min to @max; if absent and not @needed @value stays as it is */
bool control_get_number(struct control_request *request, json_t *args, const char *name,
			bool needed, uint64_t min, uint64_t max, uint64_t *value);

/** control_get_string() - valid as long as @args */
bool control_get_string(struct control_request *request, json_t *args, const char *name,
			bool needed, const char **value);

/** control_get_bool() */
bool control_get_bool(struct control_request *request, json_t *args, const char *name,
		      bool needed, bool *value);

/* --- client ----------------------------------------------------------------- */

enum control_answer {
	CONTROL_EVENT,		/* more follow */
	CONTROL_RESULT,
	CONTROL_ERROR,		/* the sentence is in @error */
	CONTROL_MISUSED,	/* so it is; the request itself was wrong */
};

/** control_connect() - the socket; -1 after @error (CONTROL_SENTENCE bytes) says why */
int control_connect(const char *path, char *error);

/** control_send() - ask; @args is taken over, may be NULL; false after @error says why */
bool control_send(int fd, const char *verb, json_t *args, char *error);

/** control_send_more() - a further line for the request under way; @object is taken over */
bool control_send_more(int fd, json_t *object, char *error);

/**
 * control_receive() - the next line of the answer; waits
 * @object: the event or result, to be released; NULL with an error
 * @error: CONTROL_SENTENCE bytes
 *
 * Takes no more than that line from the socket.
 */
enum control_answer control_receive(int fd, json_t **object, char *error);

#endif
