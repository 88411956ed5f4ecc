// SPDX-License-Identifier: MIT
/* rmctl --help: the verbs, by the question that a person has. */
#include <stdio.h>

#include "rmctl.h"

/* A terminal of 24 rows shows all of it, and the prompt. */
static const char verbs_help[] =
	"usage: rmctl [-j] VERB ARGUMENT...            for reflective-memory cards (5565)\n"
	"Who is on the ring, and is it whole?\n"
	"  list | map DEV            cards of this machine | the ring, node by node\n"
	"  test DEV | fence DEV      does a packet come back? | did all I stored arrive?\n"
	"  verify DEV [RANGE]        is the memory of every node as it is here?\n"
	"Why is my update not arriving?\n"
	"  show DEV | stats DEV | subscriptions DEV   settings | counters | who has what\n"
	"Wake me when this word changes, or something happens\n"
	"  watch DEV RANGE [--exec CMD]      a line, or a command, for each update\n"
	"  trace DEV RANGE | top DEV         each write | live rates, ages, latencies\n"
	"  listen DEV [TYPE...] | monitor    interrupts, events | changes, link, losses\n"
	"Who overwrites my word?\n"
	"  who DEV RANGE             the last writer; 'listen DEV conflict' tells of more\n"
	"Look into the memory, or change it on every node\n"
	"  peek DEV RANGE | dump DEV RANGE | poke DEV RANGE VALUE | fill DEV RANGE VALUE\n"
	"  save DEV RANGE FILE | load DEV FILE RANGE | diff DEV RANGE FILE\n"
	"  regions check|export|import [FILE]         names for places\n"
	"Set up the card, and speak to other nodes\n"
	"  set DEV [NAME=VALUE...]   LED, transmitter, loopback, offset, policy, owners\n"
	"  subscribe DEV RANGE | unsubscribe DEV RANGE     what is received and sent\n"
	"  save-config DEV >FILE | apply FILE | send DEV NODE TYPE [DATA] (an interrupt)\n"
	"DEV: rfm0 or a PCI address. RANGE: 0x1000-0x1fff, 0x1000+4K or a NAME in the -R\n"
	"FILE. -j: JSON, an object a line. 'rmctl VERB --help' says more. -V: the version\n";

void print_help(void)
{
	fputs(verbs_help, stdout);
}

void print_verb_help(const struct verb *verb)
{
	printf("usage: rmctl [-j] %s%s%s\n\n%s", verb->name, *verb->synopsis ? " " : "",
	       verb->synopsis, verb->help);
}
