/* SPDX-License-Identifier: MIT */
/*
 * JSON objects, each taken by a table of its fields. Numbers and times may also be
 * strings, which is what words of the command line are, and how a file can have
 * them in hexadecimal. What is wrong first is told in one sentence.
 */
#ifndef RMHUB_FIELDS_H
#define RMHUB_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FIELDS_SENTENCE	256
/* Says what is wrong in so many bytes at @error; false. */
#define fields_why(error, ...)	(snprintf(error, FIELDS_SENTENCE, __VA_ARGS__), false)

struct settings;

/**
 * struct fields - an object that is being taken
 * @what: "port 3", for the sentence
 * @to: what is filled in
 * @settings: whose ports names are
 * @error: FIELDS_SENTENCE bytes
 */
struct fields {
	const char *what;
	void *to;
	struct settings *settings;
	char *error;
};

enum field_kind {
	FIELD_TEXT,	/* stored as a copy, in place of one before */
	FIELD_FLAG,
	FIELD_NUMBER,
	FIELD_TIME,	/* seconds, or a string with a unit: "5ms", "100us", "250ns", "1.5s" */
	FIELD_ANY,	/* not stored */
};

/**
 * struct field - a row of a table, which ends without a name
 * @at, @size: where the value is stored; @size 0: nowhere
 * @min, @max: of a number; @max of a time, ns
 * @take: what there is more to do, for a text before it is stored; false after fields_fail()
 */
struct field {
	const char *name;
	enum field_kind kind;
	size_t at, size;
	uint64_t min, max;
	bool (*take)(struct fields *fields, const struct field *field, json_t *value);
	bool needed;
};

/* Behind it may be @min and @max. */
#define FIELD_AT(type, member) \
	.at = offsetof(type, member), .size = sizeof(((type *)0)->member)

/** fields_take() - false after @fields->error says what is wrong with @object */
bool fields_take(struct fields *fields, const struct field *rows, json_t *object);

/** fields_fail() - field @name is wrong; returns false */
bool fields_fail(struct fields *fields, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** fields_number() - of the field @name; false after fields_fail() */
bool fields_number(struct fields *fields, const char *name, json_t *value, uint64_t min,
		   uint64_t max, uint64_t *number);

#endif
