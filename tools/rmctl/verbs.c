// SPDX-License-Identifier: MIT
/* The verbs for a card, its ring and its settings. */
#include "tools/rmctl/cli/rmctl.h"

const struct verb card_verbs[] = {
	{ "list", "",
	  "Prints each card's device, PCI address, node id and memory size, whether its\n"
	  "receiver sees light (signal), and whether it is in step with it (sync).\n",
	  "", verb_list },
	{ "show", "DEV",
	  "Prints what the card and its driver say about themselves: the board, the memory\n"
	  "and the part of it that can be mapped, the bits of LCSR1 by name, how it is\n"
	  "set, what has happened since the driver was bound; and at the end, in one\n"
	  "sentence each, what keeps updates from arriving, or has done so, and what to do\n"
	  "about it.\n",
	  "", verb_show },
	{ "stats", "DEV [--reset|--absolute]",
	  "Prints what the card and its driver have counted, and what that points at when\n"
	  "updates do not arrive; rmctl(1) says what each counter counts.\n"
	  "\n"
	  "      --reset        count from here (the card itself counts on)\n"
	  "      --absolute     as the card counts, whatever was reset\n",
	  "reset absolute", verb_stats },
	{ "set", "DEV [NAME=VALUE...]",
	  "Without NAME=VALUE prints how the card is set, else sets all of these, or\n"
	  "nothing:\n"
	  "  led transmit loopback dark-on-dark parity byte-swap   on or off\n"
	  "  own-data          off: no packet has come home yet\n"
	  "  window            where the window begins, a multiple of its size\n"
	  "  offset            added to the address of own updates: 0, 64M, 128M or 192M\n"
	  "  policy            what is received and sent unsubscribed: all or none\n"
	  "  rx tx own         what is received, sent, owned besides: all, none, RANGE,...\n"
	  "  dma-read-threshold dma-write-threshold   DMA from so many bytes on; 0: never\n"
	  "  moderation-count  events that wait together for one interrupt\n"
	  "  moderation-time   least time between two interrupts of events: 50us, 0\n"
	  "Takes a card that one may open for writing, or CAP_NET_ADMIN.\n",
	  "", verb_set },
	{ "subscribe", "DEV RANGE... [--rx] [--tx] [--own] [--while CMD]",
	  "Adds each RANGE to what the card receives though no program has subscribed to\n"
	  "it. That lasts until unsubscribe.\n"
	  "\n"
	  "      --rx           receive what others write there (the default)\n"
	  "      --tx           send what is written there\n"
	  "      --own          nobody else should write there: conflict if one does\n"
	  "      --while=CMD    only as long as this command runs, with the rights of a\n"
	  "                     program; its exit status is that of CMD\n",
	  "rx tx own while", verb_subscribe },
	{ "unsubscribe", "DEV RANGE... [--rx] [--tx] [--own]",
	  "Takes each RANGE out of what the card receives though no program has subscribed\n"
	  "to it. What programs have subscribed to stays.\n"
	  "\n"
	  "      --rx           receive what others write there (the default)\n"
	  "      --tx           send what is written there\n"
	  "      --own          nobody else should write there\n",
	  "rx tx own", verb_unsubscribe },
	{ "subscriptions", "DEV",
	  "Prints the base masks, and for each open file, mapping, watch and listener who\n"
	  "made it, what it holds of the memory, and how full its queue is.\n",
	  "", verb_subscriptions },
	{ "monitor", "[DEV] [-n COUNT] [-t TIME]",
	  "Prints a line for each thing that happens to the cards of this machine:\n"
	  "created, changed (what, and by whom), deleted, link-down, link-up, sync-loss,\n"
	  "bad-data, rogue, tx-full, rx-full, loss, break, membership, id-in-use, late,\n"
	  "stale, fresh, conflict, ...; and OVERRUN, with how many, where some were lost.\n"
	  "Says 'monitoring ...' on standard error once nothing can be missed any more.\n"
	  "\n"
	  "  -n, --count=COUNT  end after COUNT lines\n"
	  "  -t, --timeout=TIME end after this time; status 1 if -n has not been reached\n",
	  "count timeout", verb_monitor },
	{ "save-config", "DEV",
	  "Prints how the card is set, base masks included, as a file for 'rmctl apply'.\n",
	  "", verb_save_config },
	{ "apply", "FILE [DEV]",
	  "Sets the card that FILE names, or DEV, as the file says, all or nothing, and\n"
	  "prints what it changed. The file has lines NAME = VALUE, as 'rmctl set' takes\n"
	  "them; -: from standard input.\n",
	  "", verb_apply },
	{ "send", "DEV NODE|all TYPE [DATA]",
	  "TYPE is 1 to 4 (or int1 to int4), or reset, which carries no DATA. DATA is 32\n"
	  "bits, 0 if not given. The interrupt travels behind every store made before it.\n"
	  "Success means that it is queued, not that anybody has received it.\n",
	  "", verb_send },
	{ "listen", "DEV [TYPE...] [-n COUNT] [-t TIME] [--discard]",
	  "Prints 'time type from data' for each event of these types, until interrupted:\n"
	  "  reset int1 int2 int3 int4 sync-loss bad-data tx-full rx-full rx-almost-full\n"
	  "  rogue write-inhibited parity all (default: all)\n"
	  "and, on a card with the extension block, conflict signal break membership loss\n"
	  "id-in-use.\n"
	  "Says 'listening on DEV ...' on standard error once nothing can be missed any\n"
	  "more. Interrupts that came while nobody listened for their type are printed\n"
	  "first.\n"
	  "\n"
	  "  -n, --count=COUNT  end after COUNT events\n"
	  "  -t, --timeout=TIME end after this time; status 1 if -n has not been reached\n"
	  "      --discard      throw away the interrupts that waited in the card\n"
	  "      --depth=N      events that wait in the driver while this program is busy,\n"
	  "                     1 to 65536 (default 256)\n",
	  "count timeout discard depth", verb_listen },
	{ "test", "DEV [-t TIME]",
	  "Sends a packet that no node reacts to, and prints how long it took to come back.\n"
	  "Status 1 if it did not.\n"
	  "\n"
	  "  -t, --timeout=TIME how long to wait, at most 10 (default 0.5)\n",
	  "timeout", verb_test },
	{ "fence", "DEV [-t TIME]",
	  "Waits until everything that this machine has stored is in the memory of every\n"
	  "node, and prints how long that took. Status 1 if it is not, and why.\n"
	  "\n"
	  "  -t, --timeout=TIME how long to wait, at most 60 (default 1)\n",
	  "timeout", verb_fence },
	{ "verify", "DEV [RANGE|NAME] [-t TIME]",
	  "After a fence, compares RANGE, or the whole memory, with that of every other\n"
	  "node, by a checksum of each page. Prints for each node where it differs first,\n"
	  "with the values here and there. Where somebody stores meanwhile, pages are asked\n"
	  "for again; those that change each time cannot be compared, and are counted.\n"
	  "Status 1 if any differs; 4 if none does, but a node has not answered, or not all\n"
	  "could be compared.\n"
	  "\n"
	  "  -t, --timeout=TIME how long to wait for one page, at most 60 (default 1)\n",
	  "timeout", verb_verify },
	{ "map", "DEV",
	  "Draws the ring as this card sees it, with the time once round, and prints a row\n"
	  "for each node, in the order in which their frames come here: links from there\n"
	  "to here, the time its last frame took, frames taken from it, frames of it that\n"
	  "never arrived, and a note: that it stands still, when it lost its signal, or, of\n"
	  "one that has gone, when it was last heard.\n",
	  "", verb_map },
	{ 0 },
};
