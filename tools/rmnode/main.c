// SPDX-License-Identifier: MIT
/* rmnode: the command line of a member; client.c has that of the verbs. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "ring/shm.h"
#include "rmnode.h"

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
	"  --window N            own frames in flight, 1 to 16384\n"
	"  --insert-slots N      stores that may wait, a power of two from 16 to 2048\n"
	"  --stall-limit-ms N    how long a store may wait for room\n"
	"  --redundant           send every update twice\n"
	"  --rogue-master 0|1    be that rogue master; may be given twice\n"
	"  --unpacked            a frame for each store\n"
	"  --authentic-late      store late frames too, as glass would\n"
	"  --authentic-ids       stay although another node has the same id\n"
	"  --auto-resync         what it misses it gets from a complete node by itself\n"
	"  --clock host|tai      of its times: this host's own, or CLOCK_TAI (host)\n"
	"  --shm on|off          shared memory with neighbours on this host (on)\n"
	"  --shm-slots N         frames in it, a power of two, 64 to 65536\n"
	"  --socket-buffer BYTES of the sockets to the neighbours\n"
	"  --tls FOLDER          certificates or keys for links over TCP: docs/tls.md\n"
	"  --tap NAME            a TAP device of this host is on the ring: Ethernet\n"
	"  --pcap FILE           write what passes to a pcapng file\n"
	"  --publish WHERE       tell the values of regions: openmetrics:[HOST:]PORT, or\n"
	"                        mqtt:HOST[:PORT][,prefix=TOPIC][,qos=0|1][,rate=N]; again\n"
	"                        for each place: docs/publish.md\n"
	"  --regions FILE        what --publish publishes (RFM_REGIONS, or /etc/rfm/regions.yaml)\n"
	"\n"
	"The second form asks a running member. Verbs (rmnode -S SOCKET VERB --help for more):\n";

enum kind { NUMBER, SIZE, TEXT, FLAG, LOG, ROGUE, CLOCK, SHM, PUBLISH };

#define AT(member)	offsetof(struct member_options, member)

/**
 * struct row - an option of a member
 * @at: where its value goes
 * @flag: FLAG: what is set instead
 * @what: of a number, for the sentence; from @min to @max
 */
static const struct row {
	const char *name;
	enum kind kind;
	size_t at;
	const char *what;
	uint64_t min, max;
	uint32_t flag;
} rows[] = {
	/* The first four must be given. */
	{ "id", NUMBER, AT(config.id), "the node id", 0, 255, 0 },
	{ "memory", SIZE, AT(config.memory_size), "the memory size", 4096, RFMRING_MEMORY_MAX, 0 },
	{ "rx", TEXT, .at = AT(config.rx) },
	{ "tx", TEXT, .at = AT(config.tx) },
	{ "memory-file", TEXT, .at = AT(config.memory_file) },
	{ "control", TEXT, .at = AT(control) },
	{ "log", .kind = LOG },
	{ "line", TEXT, .at = AT(config.line) },
	{ "window", NUMBER, AT(config.window), "the window", 1, RFM_NODE_WINDOW_MAX, 0 },
	{ "insert-slots", NUMBER, AT(config.insert_slots), "the number of slots", 1,
	  RFM_INSERT_SLOTS, 0 },
	{ "stall-limit-ms", NUMBER, AT(config.stall_ms), "the stall limit", 1, 10000, 0 },
	{ "redundant", FLAG, .flag = RFMRING_REDUNDANT },
	{ "rogue-master", .kind = ROGUE },
	{ "unpacked", FLAG, .flag = RFMRING_UNPACKED },
	{ "authentic-late", FLAG, .flag = RFMRING_AUTHENTIC_LATE },
	{ "authentic-ids", FLAG, .flag = RFMRING_AUTHENTIC_IDS },
	{ "auto-resync", FLAG, .flag = RFMRING_AUTO_RESYNC },
	{ "clock", .kind = CLOCK },
	{ "shm", .kind = SHM },
	{ "shm-slots", NUMBER, AT(config.shm_slots), "the number of slots", 2,
	  RFM_SHM_SLOTS_MAX, 0 },
	{ "socket-buffer", NUMBER, AT(config.socket_buffer), "the socket buffer", 1, 1 << 30, 0 },
	{ "tls", TEXT, .at = AT(tls) },
	{ "tap", TEXT, .at = AT(config.tap) },
	{ "pcap", TEXT, .at = AT(config.pcap) },
	{ "publish", .kind = PUBLISH },
	{ "regions", TEXT, .at = AT(regions) },
};

#define ROWS	(sizeof(rows) / sizeof(*rows))
#define NEEDED	0xfu
#define ROW_0	256	/* option of getopt(3) */

static bool set_log(enum log_style *log, const char *text)
{
	static const char *const styles[] = { "text", "json", "none" };

	for (size_t i = 0; i < 3; i++)
		if (!strcmp(text, styles[i])) {
			*log = i;
			return true;
		}
	return refuse("the log can be text, json or none, not '%s'", text);
}

static bool set_row(struct member_options *options, const struct row *row, const char *text)
{
	uint32_t *flags = &options->config.flags;
	char *at = (char *)options + row->at;
	uint64_t number;
	bool on;

	switch (row->kind) {
	case NUMBER:
	case SIZE:
		if (!word_number(row->what, text, row->min, row->max, &number))
			return false;
		/* Little-endian: its low half is first. */
		memcpy(at, &number, row->kind == SIZE ? sizeof(number) : sizeof(uint32_t));
		return true;
	case TEXT:
		memcpy(at, &text, sizeof(text));
		return true;
	case FLAG:
		*flags |= row->flag;
		return true;
	case LOG:
		return set_log(&options->log, text);
	case ROGUE:
		if (!word_number("the rogue master", text, 0, 1, &number))
			return false;
		*flags |= number ? RFMRING_ROGUE_1 : RFMRING_ROGUE_0;
		return true;
	case CLOCK:
		if (!strcmp(text, "tai"))
			*flags |= RFMRING_CLOCK_TAI;
		else if (strcmp(text, "host"))
			return refuse("the clock can be host or tai, not '%s'", text);
		return true;
	case SHM:
		if (!word_switch("--shm", text, &on))
			return false;
		*flags &= ~(uint32_t)RFMRING_STREAM_ONLY;
		*flags |= on ? 0 : RFMRING_STREAM_ONLY;
		return true;
	case PUBLISH:
		if (options->published == PUBLISH_MAX)
			return refuse("values are published to %d places at most", PUBLISH_MAX);
		options->publish[options->published++] = text;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	static struct option options[ROWS + 5] = {
		[ROWS] = { "socket", required_argument, NULL, 'S' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
	};
	struct member_options member = { .config = RFMRING_CONFIG_INIT };
	const char *socket = NULL;
	unsigned int given = 0;
	bool json = false;

	for (size_t i = 0; i < ROWS; i++)
		options[i] = (struct option){ rows[i].name, rows[i].kind != FLAG, NULL, ROW_0 + i };
	for (int option; (option = getopt_long(argc, argv, "+S:jhV", options, NULL)) != -1;) {
		if (option == 'h') {
			fputs(usage, stdout);
			print_verbs();
			return 0;
		}
		if (option == 'V') {
			puts("rmnode " PROGRAM_VERSION);
			return 0;
		}
		if (option == 'S')
			socket = optarg;
		else if (option == 'j')
			json = true;
		else if (option < ROW_0 || !set_row(&member, &rows[option - ROW_0], optarg))
			return STATUS_MISUSED;
		if (option >= ROW_0)
			given |= 1u << (option - ROW_0);
	}
	if (socket && optind < argc)
		return run_verb(socket, json, argc - optind, argv + optind);
	if (socket)
		complain("say what to do; rmnode --help lists the verbs");
	else if (optind < argc)
		complain("'%s' is not understood; to ask a running member, say -S SOCKET",
			 argv[optind]);
	else if ((given & NEEDED) != NEEDED)
		complain("a member needs --id, --memory, --rx and --tx; see rmnode --help");
	else if (member.regions && !member.published)
		complain("--regions says what --publish publishes, which is missing");
	else
		return run_member(&member);
	return STATUS_MISUSED;
}
