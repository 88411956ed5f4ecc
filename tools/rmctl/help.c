// SPDX-License-Identifier: MIT
/* rmctl --help: the verbs, by the question that a person has. */
#include <stdio.h>

#include "rmctl.h"

static const char verbs_help[] =
	"usage: rmctl [-j] VERB ARGUMENT...        for reflective-memory cards (5565)\n"
	"\n"
	"Who is on the ring, and is it whole?\n"
	"  list | map DEV            the cards of this machine | the ring, node by node\n"
	"  test DEV | fence DEV      does a packet come back? | did all I stored arrive?\n"
	"  verify DEV [RANGE]        is the memory of every node as it is here?\n"
	"Why is my update not arriving?\n"
	"  show DEV | stats DEV      settings | counters; and what keeps updates away\n"
	"  subscriptions DEV         who subscribes to, owns and watches what\n"
	"Wake me when this word changes, or something happens\n"
	"  watch DEV RANGE [--exec CMD]      a line, or a command, for each update\n"
	"  trace DEV RANGE | top DEV         each write | live rates, ages and latencies\n"
	"  listen DEV [TYPE...]      network interrupts and other events of one card\n"
	"  monitor [DEV]             changes of settings, link, losses, of all cards\n"
	"Who overwrites my word?\n"
	"  who DEV RANGE             the last writer; 'listen DEV conflict' tells of more\n"
	"Look into the memory, and change it on every node\n"
	"  peek DEV RANGE | poke DEV RANGE VALUE...          values\n"
	"  dump DEV RANGE | fill DEV RANGE VALUE             many of them\n"
	"  save DEV RANGE FILE | load DEV FILE RANGE | diff DEV RANGE FILE\n"
	"  regions check|export|import [FILE]                names for places\n"
	"Set up the card, and speak to other nodes\n"
	"  set DEV [NAME=VALUE...]   LED, transmitter, loopback, offset, policy, owners\n"
	"  subscribe DEV RANGE... [--while CMD] | unsubscribe DEV RANGE...\n"
	"  save-config DEV >FILE | apply FILE                the whole configuration\n"
	"  send DEV NODE|all TYPE [DATA]                     a network interrupt\n";

static const char common_help[] =
	"\n"
	"  -j, --json                JSON, an object a line; docs/json has the schemas\n"
	"  -R, --regions=FILE        what names mean; default: what $RFM_REGIONS names\n"
	"  -h, --help                'rmctl VERB --help' says more; -V, --version\n"
	"DEV is rfm0, /dev/rfm0 or a PCI address. RANGE is 0x1000-0x1fff, 0x1000+4K or a\n"
	"NAME. Exit status: 0 done, 1 failed, 2 wrong usage. Manual: rmctl(1), rfm(4).";

void print_help(void)
{
	fputs(verbs_help, stdout);
	puts(common_help);
}

void print_verb_help(const struct verb *verb)
{
	printf("usage: rmctl [-j] %s%s%s\n\n%s", verb->name, *verb->synopsis ? " " : "",
	       verb->synopsis, verb->help);
}
