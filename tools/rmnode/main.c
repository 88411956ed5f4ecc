// SPDX-License-Identifier: MIT
/* rmnode: the command line of a member; client.c has that of the verbs. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/shm.h"
#include "rmnode.h"

#define VERSION "rmnode 0.1"

static const char usage[] =
	"usage: rmnode --id ID --memory SIZE --rx ADDRESS --tx ADDRESS [OPTION]...\n"
	"       rmnode -S SOCKET [-j] VERB [ARGUMENT]...\n"
	"\n"
	"The first form is a member of the ring, until SIGTERM, SIGINT or the verb stop. It\n"
	"says ready on standard output when it listens. ADDRESS is unix:PATH or\n"
	"tcp:HOST:PORT, with ,server at the end to listen.\n"
	"\n"
	"  --id ID               node id, 0 to 255, unique on the ring\n"
	"  --memory SIZE         e.g. 64M; at most 256M\n"
	"  --rx ADDRESS          receiving end of the fibre from upstream\n"
	"  --tx ADDRESS          sending end of the fibre to downstream\n"
	"  --memory-file FILE    the memory is this file, which others may read\n"
	"  --control SOCKET      serve the verbs there\n"
	"  --log text|json|none  what happens: sentences on standard error, or one JSON\n"
	"                        object a line on standard output\n"
	"  --line LINE           free, or paced[,rate=GBAUD][,hop=NS][,fibre=M]\n"
	"  --window N            own frames in flight, 1 to 1024\n"
	"  --insert-slots N      stores that may wait, a power of two from 16 to 2048\n"
	"  --stall-limit-ms N    how long a store may wait for room\n"
	"  --redundant           send every update twice\n"
	"  --rogue-master 0|1    be that rogue master; may be given twice\n"
	"  --unpacked            a frame for each store\n"
	"  --authentic-late      store late frames too, as glass would\n"
	"  --authentic-ids       stay although another node has the same id\n"
	"  --shm on|off          shared memory with neighbours on this host (on)\n"
	"  --shm-slots N         frames in it, a power of two, 64 to 65536\n"
	"  --socket-buffer BYTES of the sockets to the neighbours\n"
	"  --pcap FILE           write what passes to a pcapng file\n"
	"\n"
	"The second form asks a running member. Verbs (rmnode -S SOCKET VERB --help for more):\n";

enum option_code {
	OPTION_ID = 256, OPTION_MEMORY, OPTION_RX, OPTION_TX, OPTION_FILE, OPTION_CONTROL,
	OPTION_LOG, OPTION_LINE, OPTION_WINDOW, OPTION_INSERT, OPTION_STALL, OPTION_REDUNDANT,
	OPTION_ROGUE, OPTION_UNPACKED, OPTION_LATE, OPTION_IDS, OPTION_SHM, OPTION_SLOTS,
	OPTION_BUFFER, OPTION_PCAP,
};

static const struct option options[] = {
	{ "id",			required_argument,	NULL, OPTION_ID },
	{ "memory",		required_argument,	NULL, OPTION_MEMORY },
	{ "rx",			required_argument,	NULL, OPTION_RX },
	{ "tx",			required_argument,	NULL, OPTION_TX },
	{ "memory-file",	required_argument,	NULL, OPTION_FILE },
	{ "control",		required_argument,	NULL, OPTION_CONTROL },
	{ "log",		required_argument,	NULL, OPTION_LOG },
	{ "line",		required_argument,	NULL, OPTION_LINE },
	{ "window",		required_argument,	NULL, OPTION_WINDOW },
	{ "insert-slots",	required_argument,	NULL, OPTION_INSERT },
	{ "stall-limit-ms",	required_argument,	NULL, OPTION_STALL },
	{ "redundant",		no_argument,		NULL, OPTION_REDUNDANT },
	{ "rogue-master",	required_argument,	NULL, OPTION_ROGUE },
	{ "unpacked",		no_argument,		NULL, OPTION_UNPACKED },
	{ "authentic-late",	no_argument,		NULL, OPTION_LATE },
	{ "authentic-ids",	no_argument,		NULL, OPTION_IDS },
	{ "shm",		required_argument,	NULL, OPTION_SHM },
	{ "shm-slots",		required_argument,	NULL, OPTION_SLOTS },
	{ "socket-buffer",	required_argument,	NULL, OPTION_BUFFER },
	{ "pcap",		required_argument,	NULL, OPTION_PCAP },
	{ "socket",		required_argument,	NULL, 'S' },
	{ "json",		no_argument,		NULL, 'j' },
	{ "help",		no_argument,		NULL, 'h' },
	{ "version",		no_argument,		NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/** struct command_line - what was given, and what must be */
struct command_line {
	struct member_options member;
	const char *socket;
	bool json, has_id, has_memory;
};

/* --- options whose value is a number of the configuration ------------------------ */

static const struct {
	int option;
	const char *what;
	uint64_t least, most;
	size_t at;
} numbers[] = {
	{ OPTION_ID,		"the node id",		0, 255,
	  offsetof(struct rfmring_config, id) },
	{ OPTION_WINDOW,	"the window",		1, RFM_NODE_WINDOW,
	  offsetof(struct rfmring_config, window) },
	{ OPTION_INSERT,	"the number of slots",	1, RFM_INSERT_SLOTS,
	  offsetof(struct rfmring_config, insert_slots) },
	{ OPTION_STALL,		"the stall limit",	1, 10000,
	  offsetof(struct rfmring_config, stall_ms) },
	{ OPTION_SLOTS,		"the number of slots",	2, RFM_SHM_SLOTS_MAX,
	  offsetof(struct rfmring_config, shm_slots) },
	{ OPTION_BUFFER,	"the socket buffer",	1, 1 << 30,
	  offsetof(struct rfmring_config, socket_buffer) },
};

static const struct {
	int option;
	size_t at;
} texts[] = {
	{ OPTION_RX,		offsetof(struct rfmring_config, rx) },
	{ OPTION_TX,		offsetof(struct rfmring_config, tx) },
	{ OPTION_FILE,		offsetof(struct rfmring_config, memory_file) },
	{ OPTION_LINE,		offsetof(struct rfmring_config, line) },
	{ OPTION_PCAP,		offsetof(struct rfmring_config, pcap) },
};

static const struct {
	int option;
	uint32_t flag;
} flags[] = {
	{ OPTION_REDUNDANT,	RFMRING_REDUNDANT },
	{ OPTION_UNPACKED,	RFMRING_UNPACKED },
	{ OPTION_LATE,		RFMRING_AUTHENTIC_LATE },
	{ OPTION_IDS,		RFMRING_AUTHENTIC_IDS },
};

static bool set_number(struct rfmring_config *config, size_t i, const char *text)
{
	uint64_t value;
	uint32_t number;

	if (!word_number(numbers[i].what, text, numbers[i].least, numbers[i].most, &value))
		return false;
	number = value;
	memcpy((char *)config + numbers[i].at, &number, sizeof(number));
	return true;
}

static bool set_log(enum log_style *log, const char *text)
{
	static const char *const styles[] = { "text", "json", "none" };

	for (size_t i = 0; i < 3; i++)
		if (!strcmp(text, styles[i])) {
			*log = i;
			return true;
		}
	complain("the log can be text, json or none, not '%s'", text);
	return false;
}

static bool set_special(struct command_line *line, int option, const char *text)
{
	struct rfmring_config *config = &line->member.config;
	uint64_t number;
	bool on;

	switch (option) {
	case OPTION_MEMORY:
		line->has_memory = true;
		return word_number("the memory size", text, 4096, RFMRING_MEMORY_MAX,
				   &config->memory_size);
	case OPTION_CONTROL:
		line->member.control = text;
		return true;
	case OPTION_LOG:
		return set_log(&line->member.log, text);
	case OPTION_ROGUE:
		if (!word_number("the rogue master", text, 0, 1, &number))
			return false;
		config->flags |= number ? RFMRING_ROGUE_1 : RFMRING_ROGUE_0;
		return true;
	case OPTION_SHM:
		if (!word_switch("--shm", text, &on))
			return false;
		config->flags = on ? config->flags & ~(uint32_t)RFMRING_STREAM_ONLY :
				     config->flags | RFMRING_STREAM_ONLY;
		return true;
	case 'S':
		line->socket = text;
		return true;
	case 'j':
		line->json = true;
		return true;
	default:
		return false;	/* getopt has said why */
	}
}

static bool set_option(struct command_line *line, int option, const char *text)
{
	struct rfmring_config *config = &line->member.config;

	line->has_id |= option == OPTION_ID;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i].option == option)
			return set_number(config, i, text);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].option == option) {
			memcpy((char *)config + texts[i].at, &text, sizeof(text));
			return true;
		}
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (flags[i].option == option) {
			config->flags |= flags[i].flag;
			return true;
		}
	return set_special(line, option, text);
}

int main(int argc, char **argv)
{
	struct command_line line = { .member.config = RFMRING_CONFIG_INIT };
	const struct rfmring_config *config = &line.member.config;
	int option;

	while ((option = getopt_long(argc, argv, "+S:jhV", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			print_verbs();
			return 0;
		}
		if (option == 'V') {
			puts(VERSION);
			return 0;
		}
		if (!set_option(&line, option, optarg))
			return STATUS_MISUSED;
	}
	if (line.socket && optind < argc)
		return run_verb(line.socket, line.json, argc - optind, argv + optind);
	if (line.socket)
		complain("say what to do; rmnode --help lists the verbs");
	else if (optind < argc)
		complain("'%s' is not understood; to ask a running member, say -S SOCKET",
			 argv[optind]);
	else if (!line.has_id || !line.has_memory || !config->rx || !config->tx)
		complain("a member needs --id, --memory, --rx and --tx; see rmnode --help");
	else
		return run_member(&line.member);
	return STATUS_MISUSED;
}
