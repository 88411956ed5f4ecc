// SPDX-License-Identifier: MIT
/* The verbs and their help. */
#include "tools/rmctl/cli/rmctl.h"

const struct verb verbs[] = {
	/* a card, its ring and its settings */
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
	  "  led transmit loopback dark-on-dark parity byte-swap dma-byte-swap   on or off\n"
	  "  own-data          off: no packet has come home yet\n"
	  "  window            where the window begins, a multiple of its size\n"
	  "  offset            added to the address of own updates: 0, 64M, 128M or 192M\n"
	  "  policy            what is received and sent unsubscribed: all or none\n"
	  "  rx tx own         what is received, sent, owned besides: all, none, RANGE,...\n"
	  "  read write home   what other nodes may read, write, change words of; likewise\n"
	  "  dma-read-threshold dma-write-threshold   DMA from so many bytes on; 0: never\n"
	  "  moderation-count  events that wait together for one interrupt\n"
	  "  moderation-time   least time between two interrupts of events: 50us, 0\n"
	  "  burst             where stores cost what RAM does and go in no order, or off\n"
	  "  burst-period      time between two scans of it, 100us to 1s\n"
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
	  "stale, fresh, conflict, incomplete, complete, ...; and OVERRUN, with how many,\n"
	  "where some were lost.\n"
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
	  "id-in-use incomplete.\n"
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
	/* what stands in the memory */
	{ "peek", "DEV OFFSET [COUNT] [-w WIDTH] | DEV RANGE|NAME [-w WIDTH]",
	  "Loads COUNT values (default 1) from OFFSET on and prints them, one a line. Each\n"
	  "is one load of WIDTH bytes; OFFSET must be a multiple of WIDTH. Loads cost no\n"
	  "traffic. Of a NAME such as pump or pump.pressure prints all values, in its\n"
	  "types and units.\n"
	  "\n"
	  "  -w, --width=WIDTH  1, 2, 4 (default) or 8 bytes\n",
	  "width", verb_peek },
	{ "poke", "DEV OFFSET|RANGE VALUE... [-w WIDTH] | DEV NAME VALUE...",
	  "Stores each VALUE in turn, from OFFSET on. Each is one store of WIDTH bytes,\n"
	  "and goes to every node of the ring in this order; OFFSET must be a multiple of\n"
	  "WIDTH. A NAME takes as many as it has, in its types: -12.5, true, 'a text'.\n"
	  "Nothing is stored unless all values are good.\n"
	  "\n"
	  "  -w, --width=WIDTH  1, 2, 4 (default) or 8 bytes\n",
	  "width", verb_poke },
	{ "dump", "DEV OFFSET LENGTH [--raw] | DEV RANGE [--raw]",
	  "Prints LENGTH bytes from OFFSET on as 'hexdump -C' does; rows that repeat the\n"
	  "one before are a single '*'. RANGE is 0x1000-0x1fff, 0x1000+4K, or a NAME,\n"
	  "whose values are shown beside their bytes.\n"
	  "\n"
	  "      --raw          write the bytes themselves to standard output\n",
	  "raw", verb_dump },
	{ "fill", "DEV RANGE|NAME VALUE [-w WIDTH] [-y]",
	  "Stores VALUE again and again, over all of RANGE, in the memory of every node.\n"
	  "Of a NAME in its type: 12.5, true, 'a text'; of a structure, or with -w, a\n"
	  "number.\n"
	  "\n"
	  "  -w, --width=WIDTH  1, 2, 4 (default) or 8 bytes\n"
	  "  -y, --yes          do not ask first\n",
	  "width yes", verb_fill },
	{ "load", "DEV FILE OFFSET|RANGE|NAME [-y]",
	  "Stores the bytes of FILE in the memory of every node. With a RANGE or NAME it\n"
	  "must be as long as that. FILE - is standard input.\n"
	  "\n"
	  "  -y, --yes          do not ask first\n",
	  "yes", verb_load },
	{ "save", "DEV RANGE|NAME FILE",
	  "Writes the bytes of RANGE into FILE; - is standard output.\n",
	  "", verb_save },
	{ "diff", "DEV RANGE|NAME FILE [-n COUNT]",
	  "Prints where the memory is not as FILE, and both values: by name where the file\n"
	  "of regions has one, otherwise 4 bytes. Status 1 if there is any difference.\n"
	  "\n"
	  "  -n, --count=COUNT  print so many differences at most (default 16)\n",
	  "count", verb_diff },
	{ "who", "DEV OFFSET|RANGE|NAME",
	  "Prints the node that was the last to write, the number of its frame, and how\n"
	  "long ago: a line for each 64 bytes, which is what the card keeps account of.\n",
	  "", verb_who },
	{ "trace", "DEV RANGE|NAME... [-n COUNT] [-t TIME]",
	  "Prints a line for each write of another node: time, age on arrival, node,\n"
	  "offset and length, value. What is missing is said where it is missing. Says\n"
	  "'tracing DEV ...' on standard error once nothing can be missed any more.\n"
	  "\n"
	  "  -n, --count=COUNT  end after COUNT writes\n"
	  "  -t, --timeout=TIME end after this time; status 1 if -n has not been reached\n"
	  "      --depth=N      writes that wait in the driver while this program is busy,\n"
	  "                     1 to 65536 (default 4096)\n",
	  "count timeout depth", verb_trace },
	{ "watch", "DEV RANGE|NAME [--exec CMD] [-n COUNT] [-t TIME] [...]",
	  "Prints a line for each update by another node, or runs CMD. Says 'watching DEV\n"
	  "...' on standard error once nothing can be missed any more.\n"
	  "\n"
	  "      --equal=VALUE  only when the word has become VALUE, or is VALUE already\n"
	  "      --not-equal=VALUE\n"
	  "                     only when it is VALUE no longer\n"
	  "      --changed      only when it has become another\n"
	  "      --deadline=TIME\n"
	  "                     mark updates that are older than TIME on arrival: 20ms, 0.5\n"
	  "      --silence=TIME say when none has come for TIME, and when one does again\n"
	  "      --exec=CMD     run CMD by sh, with RMCTL_VALUE and others set: rmctl(1);\n"
	  "                     never twice at once: once for all that come meanwhile; what\n"
	  "                     ends this program ends CMD first\n"
	  "  -n, --count=COUNT  end after COUNT events\n"
	  "  -t, --timeout=TIME end after this time; status 1 if -n has not been reached\n",
	  "count timeout equal not-equal changed deadline silence exec", verb_watch },
	{ "top", "DEV [RANGE|NAME...] [-i TIME] [-n COUNT]",
	  "Shows for each range, or each region of the file, how often other nodes write\n"
	  "it, how long ago the last did, how old updates are on arrival (mean and\n"
	  "greatest), by whom, and the value. STALE: no update for three of its periods.\n"
	  "\n"
	  "  -i, --interval=TIME\n"
	  "                     of a round, 0.1 s to an hour (default 1 s)\n"
	  "  -n, --count=COUNT  end after COUNT rounds\n",
	  "count interval", verb_top },
	{ "get", "DEV NODE OFFSET|RANGE|NAME [-w WIDTH] [-t TIME] [--raw]",
	  "Prints bytes of the memory of one node, behind all that this one has stored so\n"
	  "far: of a NAME its values, as peek. The node has to allow it: 'rmctl export'\n"
	  "there. NODE may be this one.\n"
	  "\n"
	  "  -w, --width=WIDTH  of OFFSET: 1, 2, 4 (default) or 8 bytes\n"
	  "  -t, --timeout=TIME how long to wait; it ends by itself after some seconds\n"
	  "      --raw          the bytes themselves\n",
	  "width timeout raw", verb_get },
	{ "put", "DEV NODE OFFSET|NAME VALUE | DEV NODE OFFSET|RANGE|NAME -f FILE [...]",
	  "Writes into the memory of one node, and of no other. Nobody is told there. To a\n"
	  "NAME, which is one value, in its type: -12.5, true, 'a text'.\n"
	  "\n"
	  "  -w, --width=WIDTH  of VALUE at OFFSET: 1, 2, 4 (default) or 8 bytes\n"
	  "  -f, --file=FILE    the bytes of FILE, at most 1 MiB, in place of VALUE; -:\n"
	  "                     standard input\n"
	  "  -t, --timeout=TIME how long to wait; it ends by itself after some seconds\n",
	  "width timeout file", verb_put },
	{ "cas", "DEV NODE OFFSET|NAME EXPECTED VALUE [-w WIDTH] [...]",
	  "Changes a word, which all nodes then have, to VALUE, if it is EXPECTED at its\n"
	  "home NODE, and prints what it was. Status 1 if it was another. A NAME is a value\n"
	  "of 4 or 8 bytes; EXPECTED and VALUE are in its type.\n"
	  "\n"
	  "  -w, --width=WIDTH  of OFFSET: 4 (default) or 8 bytes\n"
	  "  -t, --timeout=TIME how long to wait; it ends by itself after some seconds\n",
	  "width timeout", verb_cas },
	{ "add", "DEV NODE OFFSET|NAME VALUE [-w WIDTH] [...]",
	  "Adds VALUE, which may be negative, to a word at its home NODE, which all nodes\n"
	  "then have, and prints what it was. A NAME is an integer of 4 or 8 bytes.\n"
	  "\n"
	  "  -w, --width=WIDTH  of OFFSET: 4 (default) or 8 bytes\n"
	  "  -n, --count=COUNT  so often; prints how often it was done, and may have been\n"
	  "  -t, --timeout=TIME how long to wait; it ends by itself after some seconds\n",
	  "width count timeout", verb_add },
	{ "message", "DEV NODE PORT TEXT | DEV NODE PORT -f FILE [-t TIME]",
	  "Sends TEXT to a port of one node, whole or not at all, behind all that this one\n"
	  "has stored so far. Done when it is in the queue there. A TEXT that begins with\n"
	  "'-' stands behind --.\n"
	  "\n"
	  "  -f, --file=FILE    the bytes of FILE, at most 1 MiB; -: standard input\n"
	  "  -t, --timeout=TIME how long to wait; it ends by itself after some seconds\n",
	  "timeout file", verb_message },
	{ "receive", "DEV PORT [-n COUNT] [-t TIME] [--raw]",
	  "Listens at a port, and prints the next message, behind the id of its sender.\n"
	  "Says 'listening at port PORT ...' on standard error when others can send. 4\n"
	  "messages wait for a reader that is slow; then their senders do. What a terminal\n"
	  "cannot show is '?'.\n"
	  "\n"
	  "  -n, --count=COUNT  end after COUNT messages (default 1)\n"
	  "  -t, --timeout=TIME end after this time; status 1 if -n has not been reached\n"
	  "      --raw          the bytes and nothing else\n",
	  "count timeout raw", verb_receive },
	{ "resync", "DEV [NODE] [-t TIME] | DEV --as-is",
	  "Gets from a complete node, by default the nearest, what this memory lacks\n"
	  "because the card came late or has missed something, while all go on storing:\n"
	  "nothing newer is undone. Status 1 if something got lost meanwhile.\n"
	  "\n"
	  "  -t, --timeout=TIME give up then\n"
	  "      --as-is        get nothing: this memory is right as it is, and others may get\n"
	  "                     theirs from it; for a ring without a complete node\n",
	  "as-is timeout", verb_resync },
	{ "export", "DEV RANGE|NAME RIGHTS [--while CMD | --base]",
	  "Allows other nodes to read or write RANGE, or makes this node the home of its\n"
	  "words, for cas and add; RIGHTS is read, write, home, or several: read,home. For\n"
	  "as long as it runs, which it says on standard error: 'exporting from DEV ...'.\n"
	  "\n"
	  "      --while=CMD    only as long as this command runs; its exit status is that\n"
	  "                     of CMD\n"
	  "      --base         for good, and at once: these rights and no others; none ends it\n",
	  "while base", verb_export },
	{ "regions", "check|export|import [FILE] [--to|--from FORMAT]",
	  "  check [FILE] [--memory SIZE]       all that is wrong with it; then status 1\n"
	  "  export [FILE] --to csv|json|header to standard output\n"
	  "  import FILE --from csv|json        as a file of regions to standard output\n"
	  "With -j these two print JSON, on one line.\n"
	  "FILE is what -R names if it is not given; rfm-regions(5) describes it.\n"
	  "\n"
	  "      --memory=SIZE  bytes of the memory, in place of what the file says\n"
	  "      --prefix=NAME  what names in the header begin with (default: FILE's name)\n",
	  "to from memory prefix", verb_regions },
	{ "report", "",
	  "Prints what somebody who helps wants to know: versions, the cards and who may\n"
	  "open them; what 'list' says, and of each card 'show', 'save-config', 'stats',\n"
	  "'map' and 'subscriptions'; the driver's lines in the kernel's log. It changes\n"
	  "nothing. There are no contents of a memory in it and no names of hosts and\n"
	  "users, but those of programs that use a card. Status 4 if not all could be\n"
	  "asked; why stands where the answer would.\n",
	  "", verb_report },
	{ 0 },
};

/*
 * rmctl --help: the verbs, by the question that a person has. A terminal of 24 rows shows all of
 * it, and the prompt.
 */
const char verbs_help[] =
	"usage: rmctl [-j] VERB ARGUMENT...            for reflective-memory cards (5565)\n"
	"Who is on the ring, and is it whole?\n"
	"  list | map DEV            cards of this machine | the ring, node by node\n"
	"  test DEV | fence DEV      does a packet come back? | did all I stored arrive?\n"
	"  verify DEV [RANGE] | report   is every memory as here? | for a support mail\n"
	"Why is my update not arriving?\n"
	"  show DEV | stats DEV | subscriptions DEV   settings | counters | who has what\n"
	"Wake me when this word changes, or something happens\n"
	"  watch DEV RANGE [--exec CMD]      a line, or a command, for each update\n"
	"  trace DEV RANGE | who DEV RANGE | top DEV  each write | last writer | rates\n"
	"  listen DEV [TYPE...] | monitor    interrupts, events | changes, link, losses\n"
	"Look into the memory, or change it on every node\n"
	"  peek DEV RANGE | dump DEV RANGE | poke DEV RANGE VALUE | fill DEV RANGE VALUE\n"
	"  save DEV RANGE FILE | load DEV FILE RANGE | diff DEV RANGE FILE\n"
	"  regions check|export|import [FILE]         names for places\n"
	"Set up the card, and speak to other nodes\n"
	"  set DEV [NAME=VALUE...]   LED, transmitter, loopback, offset, policy, owners\n"
	"  subscribe DEV RANGE | unsubscribe DEV RANGE     what is received and sent\n"
	"  save-config DEV >FILE | apply FILE | send DEV NODE TYPE [DATA] (an interrupt)\n"
	"  get | put | cas | add DEV NODE OFFSET ... | export DEV RANGE RIGHTS (allow it)\n"
	"  message DEV NODE PORT TEXT | receive DEV PORT | resync DEV (what I missed)\n"
	"DEV: rfm0 or a PCI address. RANGE: 0x1000-0x1fff, 0x1000+4K or a NAME in the -R\n"
	"FILE. -j: JSON, an object a line. 'rmctl VERB --help' says more. -V: the version\n";
