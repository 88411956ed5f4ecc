// SPDX-License-Identifier: MIT
/* The verbs for what stands in the memory. */
#include "tools/rmctl/cli/rmctl.h"

const struct verb memory_verbs[] = {
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
	{ 0 },
};
