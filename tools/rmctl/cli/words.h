/* SPDX-License-Identifier: MIT */
#ifndef RMCTL_WORDS_H
#define RMCTL_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum parse_result {
	PARSE_OK,
	PARSE_EMPTY,
	PARSE_NEGATIVE,
	PARSE_MALFORMED,
	PARSE_TOO_LARGE,
};

/* Room for the longest PCI address, "ffffffff:ff:1f.7". */
#define PCI_ADDRESS_SIZE 17

enum parse_result parse_number(const char *text, uint64_t max, uint64_t *value);
enum parse_result parse_duration(const char *text, uint64_t *nanoseconds);
bool looks_swapped(uint64_t offset, const char *value, unsigned int width, uint64_t memory_size);
bool parse_width(const char *text, unsigned int *width);
bool parse_card_name(const char *text);
bool parse_pci_address(const char *text, char address[PCI_ADDRESS_SIZE]);
uint64_t width_max(unsigned int width);

#endif /* RMCTL_WORDS_H */
