// SPDX-License-Identifier: MIT
#include "words.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/parse.h"

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

/*
 * Has somebody typed the value where the offset belongs? So it is when @offset is none for an
 * access of @width bytes, and @value, the word behind it, would be a good one.
 */
bool looks_swapped(uint64_t offset, const char *value, unsigned int width, uint64_t memory_size)
{
	bool good = offset % width == 0 && offset <= memory_size - width;
	uint64_t other;

	if (good || parse_number(value, memory_size - width, &other))
		return false;
	return other && other % width == 0;
}

/* Is it rfm0, rfm1, ...? */
bool parse_card_name(const char *text)
{
	size_t digits;

	if (strncmp(text, "rfm", 3))
		return false;
	text += 3;
	digits = strspn(text, "0123456789");
	return digits >= 1 && digits <= 6 && !text[digits];
}

/* Reads 0000:01:00.0 or, in domain 0, 01:00.0; @address becomes what the kernel writes. */
bool parse_pci_address(const char *text, char address[PCI_ADDRESS_SIZE])
{
	unsigned int domain, bus, device, function;
	regex_t form;
	bool good;

	if (regcomp(&form, "^([0-9a-fA-F]{1,8}:)?[0-9a-fA-F]{1,2}:[0-9a-fA-F]{1,2}\\.[0-7]$",
		    REG_EXTENDED | REG_NOSUB))
		return false;
	good = !regexec(&form, text, 0, NULL, 0);
	regfree(&form);
	if (!good)
		return false;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
		domain = 0;
		sscanf(text, "%x:%x.%x", &bus, &device, &function);
	}
	if (device > 0x1f)
		return false;
	snprintf(address, PCI_ADDRESS_SIZE, "%04x:%02x:%02x.%x", domain, bus, device, function);
	return true;
}
