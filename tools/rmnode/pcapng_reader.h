/* SPDX-License-Identifier: MIT */
/* Reads captures (docs/capture.md), also those that Wireshark's tools have cut or merged. */
#ifndef RMNODE_PCAPNG_READER_H
#define RMNODE_PCAPNG_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct pcapng_record - a packet of a file
 * @interface: number of its interface in the file, from 0
 * @direction: enum rfm_pcapng_direction
 * @time: ns since 1970
 * @wire: its bytes, valid until the next call; what they mean is unchecked
 * @len: how many, 0..RFM_PCAPNG_PACKET
 * @interface_name: its name, "" if it has none; valid until the next call
 */
struct pcapng_record {
	uint32_t interface;
	uint8_t direction;
	uint64_t time;
	const uint8_t *wire;
	unsigned int len;
	const char *interface_name;
};

/**
 * struct pcapng_reader - a capture that is being read
 * @skipped: blocks that hold a packet without a time, or nothing we know
 * @error: what pcapng_read_next() found wrong
 */
struct pcapng_reader {
	uint64_t skipped;
	char error[160];

	FILE *file;
	uint64_t at;
	bool swapped, failed, in_section;
	uint32_t interfaces;
	struct pcapng_interface *known;
	uint8_t *block;
};

/**
 * pcapng_read_begin() - read a capture
 * @file: of any origin; stays the caller's
 *
 * Returns 0, or -1 with errno ENOMEM.
 */
int pcapng_read_begin(struct pcapng_reader *reader, FILE *file);

/**
 * pcapng_read_next() - the next packet
 *
 * Packets in the order of the file, of our writer or of a program that cut or
 * merged its files, in either byte order. Returns 1, 0 at the end, or -1 with
 * one sentence in @reader->error: not pcapng, damaged, cut off, or of another
 * link type. After 0 or -1 there is nothing more.
 */
int pcapng_read_next(struct pcapng_reader *reader, struct pcapng_record *record);

/** pcapng_read_end() - free; harmless on a zeroed reader and after itself */
void pcapng_read_end(struct pcapng_reader *reader);

#endif
