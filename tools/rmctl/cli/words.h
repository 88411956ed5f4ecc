/* SPDX-License-Identifier: MIT */
/* What words of rmctl's command line are. */
#ifndef RMCTL_WORDS_H
#define RMCTL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Negative values among the operands: getopt(3) would take "-3" for an option. They are
 * hidden from it behind a character that no word begins with, and the verb looks at its
 * words through plain_word().
 */
bool word_is_negative(const char *word);
void hide_negatives(int argc, char **argv);
const char *plain_word(const char *word);

/* Room for the longest PCI address, "ffffffff:ff:1f.7". */
#define PCI_ADDRESS_SIZE 17

bool looks_swapped(uint64_t offset, const char *value, unsigned int width, uint64_t memory_size);
bool parse_card_name(const char *text);
bool parse_pci_address(const char *text, char address[PCI_ADDRESS_SIZE]);

#endif /* RMCTL_WORDS_H */
