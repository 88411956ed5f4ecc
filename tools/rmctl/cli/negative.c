// SPDX-License-Identifier: MIT
#include "negative.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN '\001'

/* "-3", "-.5", "-inf", "-nan": no verb has options that begin like that. */
bool word_is_negative(const char *word)
{
	if (*word++ != '-')
		return false;
	return isdigit((unsigned char)*word) ||
	       (*word == '.' && isdigit((unsigned char)word[1])) || !strcmp(word, "inf") ||
	       !strcmp(word, "nan");
}

/* The copies live until the program ends; so does @argv. */
void hide_negatives(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		size_t size = strlen(argv[i]) + 1;
		char *hidden;

		if (!word_is_negative(argv[i]))
			continue;
		hidden = malloc(size + 1);
		if (!hidden)
			continue;	/* then it is an unknown option */
		hidden[0] = HIDDEN;
		memcpy(hidden + 1, argv[i], size);
		argv[i] = hidden;
	}
}

const char *plain_word(const char *word)
{
	return *word == HIDDEN ? word + 1 : word;
}
