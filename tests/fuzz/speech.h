/* SPDX-License-Identifier: MIT */
#ifndef RFM_TESTS_FUZZ_SPEECH_H
#define RFM_TESTS_FUZZ_SPEECH_H

#include <stdint.h>

#include "ring/link.h"
#include "ring/node.h"
#include "tests/fuzz/fuzz.h"

/* What is left of an input. */
struct input {
	const uint8_t *at, *end;
};

/* The next bytes of it; 0 behind its end. */
uint8_t fuzz_byte(struct input *in);
unsigned int fuzz_word(struct input *in);
/* Up to @len of them; returns how many there were. */
unsigned int fuzz_bytes(struct input *in, uint8_t *to, unsigned int len);

/**
 * fuzz_message() - a link message, RFM_LINK_MESSAGE bytes
 * @damage: low four bits all set: of another version; bit 7: a bit is wrong
 */
void fuzz_message(uint8_t *wire, uint8_t kind, uint8_t value, uint8_t damage);

/**
 * fuzz_frame() - a frame that somebody may have meant
 * @node: what it knows makes the interesting numbers
 * @wire: RFM_UNIT_MAX bytes
 *
 * Nearly valid in nearly every field; sometimes a byte is wrong. Returns its
 * length as it was before that.
 */
unsigned int fuzz_frame(struct input *in, const struct rfm_node *node, uint8_t *wire);

#endif
