/* SPDX-License-Identifier: MIT */
/*
 * Negative values among the operands: getopt(3) would take "-3" for an option. They are
 * hidden from it behind a character that no word begins with, and the verb looks at its
 * words through plain_word().
 */
#ifndef RMCTL_NEGATIVE_H
#define RMCTL_NEGATIVE_H

#include <stdbool.h>

bool word_is_negative(const char *word);
void hide_negatives(int argc, char **argv);
const char *plain_word(const char *word);

#endif /* RMCTL_NEGATIVE_H */
