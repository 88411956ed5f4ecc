/* SPDX-License-Identifier: MIT */
/*
 * The fields of a JSON object, taken one by one. Numbers and times may also be
 * strings, which is what words of the command line are, and how a file can have
 * them in hexadecimal. The first thing that is wrong is kept as one sentence;
 * fields_end() finds what nobody has asked for.
 */
#ifndef RMHUB_FIELDS_H
#define RMHUB_FIELDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELDS_MAX	32
#define FIELDS_SENTENCE	256

struct fields {
	json_t *object;
	const char *what;		/* "port 3", for the sentence */
	const char *known[FIELDS_MAX];
	unsigned int known_count;
	bool failed;
	char error[FIELDS_SENTENCE];
};

/** fields_begin() - look into @object, which sentences call @what */
void fields_begin(struct fields *fields, json_t *object, const char *what);

/** fields_end() - was everything good, and everything asked for? */
bool fields_end(struct fields *fields);

/** fields_fail() - field @name is wrong; only the first sentence is kept; returns false */
bool fields_fail(struct fields *fields, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Each returns whether the field is there and good; if not, the value is as
 * before.
 */
bool fields_any(struct fields *fields, const char *name, json_t **value);
bool fields_string(struct fields *fields, const char *name, const char **value);
bool fields_bool(struct fields *fields, const char *name, bool *value);
bool fields_number(struct fields *fields, const char *name, uint64_t min, uint64_t max,
		   uint64_t *value);
bool fields_real(struct fields *fields, const char *name, double min, double max,
		 double *value);

/** fields_time() - seconds, or a string with a unit: "5ms", "100us", "250ns", "1.5s" */
bool fields_time(struct fields *fields, const char *name, uint64_t max, uint64_t *ns);

#endif
