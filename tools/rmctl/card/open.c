// SPDX-License-Identifier: MIT
/* Finding, opening and mapping a card. */
#include "open.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/cli/words.h"

#define CLASS_DIRECTORY "/sys/class/rfm"

/* The kernel's errors in the words of this device. */
const char *card_reason(int error)
{
	switch (error) {
	case ENODEV:
	case ENXIO:
		return "the card is gone (unplugged, or its driver was unbound)";
	case EOPNOTSUPP:
		return "the card has no extension block";
	case ENOTTY:
		return "this is not a reflective-memory card";
	default:
		return strerror(error);
	}
}

static int keep_cards(const struct dirent *entry)
{
	return parse_card_name(entry->d_name);
}

/*
 * Lists the cards of this machine; the caller frees the names. The driver's class in sysfs knows
 * them all; without it, device nodes do. Returns 0 or an errno.
 */
int card_names_get(struct card_names *list)
{
	struct dirent **entries;
	int count = scandir(CLASS_DIRECTORY, &entries, keep_cards, versionsort);

	*list = (struct card_names){ 0 };
	if (count < 0)
		count = scandir("/dev", &entries, keep_cards, versionsort);
	if (count < 0)
		return errno;
	list->names = calloc((size_t)count + 1, sizeof(*list->names));
	for (int i = 0; i < count; i++) {
		if (list->names)
			snprintf(list->names[list->count++], CARD_NAME_SIZE, "%s",
				 entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return list->names ? 0 : ENOMEM;
}

/* Opens card @name for reading. Returns NULL with errno if that fails. */
struct rfm *card_look(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/dev/%s", name);
	return rfm_open(path, O_RDONLY);
}

/* Has card @name this PCI address? sysfs tells of one that may refuse to be opened. */
static bool is_at(const char *name, const char *address)
{
	char path[PATH_MAX], target[PATH_MAX];
	struct rfm_info info;
	struct rfm *rfm;
	ssize_t length;
	bool same;

	snprintf(path, sizeof(path), CLASS_DIRECTORY "/%s/device", name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length >= 0) {
		target[length] = '\0';
		return !strcmp(strrchr(target, '/') ? strrchr(target, '/') + 1 : target, address);
	}
	rfm = card_look(name);
	same = rfm && !rfm_info(rfm, &info) &&
	       !strncmp(info.pci_name, address, sizeof(info.pci_name));
	rfm_close(rfm);
	return same;
}

/* Finds the card at @address. Returns 0 or an errno, ENOENT if there is none. */
int card_by_pci(const char *address, char name[CARD_NAME_SIZE])
{
	struct card_names list;
	int error = card_names_get(&list);

	if (!error)
		error = ENOENT;
	for (size_t i = 0; i < list.count && error; i++) {
		if (!is_at(list.names[i], address))
			continue;
		memcpy(name, list.names[i], CARD_NAME_SIZE);
		error = 0;
	}
	free(list.names);
	return error;
}

/* Sets @path to the device node that the user means. Returns an exit status. */
static int resolve(struct command *cmd, struct card *card, const char *which, char path[PATH_MAX])
{
	char found[CARD_NAME_SIZE];
	int status, error = 0;

	if (*which == '/') {
		const char *base = strrchr(which, '/') + 1;

		if (strlen(which) >= PATH_MAX || strlen(base) >= CARD_NAME_SIZE)
			return misused(cmd, "the path of the card is too long");
		strcpy(path, which);
		strcpy(card->name, base);
		cmd->card = card->name;
		return STATUS_OK;
	}
	status = card_find(cmd, which, found);
	if (status)
		return status;
	if (strchr(found, ':'))
		error = card_by_pci(found, card->name);
	else
		strcpy(card->name, found);
	if (error == ENOENT)
		return failed(cmd, "no reflective-memory card with a driver at PCI address %s",
			      found);
	if (error)
		return failed(cmd, "cannot list the cards: %s", strerror(error));
	cmd->card = card->name;
	snprintf(path, PATH_MAX, "/dev/%s", card->name);
	return STATUS_OK;
}

/*
 * Opens the card that the user named, rfm0, /dev/rfm0 or a PCI address, until the program ends.
 * @cmd gets its name for messages, so @card must outlive it. Returns an exit status; what is wrong
 * has been said.
 */
int card_open(struct command *cmd, struct card *card, const char *which, bool writing)
{
	char path[PATH_MAX];
	struct stat st;
	int status = resolve(cmd, card, which, path);

	if (status)
		return status;
	if (stat(path, &st))
		return errno == ENOENT ? failed(cmd, "no such card: %s does not exist", path) :
					 failed(cmd, "cannot open %s: %s", path, strerror(errno));
	if (!S_ISCHR(st.st_mode))
		return failed(cmd, "%s is not a device node", path);
	card->rfm = rfm_open(path, writing ? O_RDWR : O_RDONLY);
	if (!card->rfm && errno != ENOTTY)
		return failed(cmd, "cannot open %s for %s: %s", path,
			      writing ? "writing" : "reading", card_reason(errno));
	if (card->rfm && !rfm_info(card->rfm, &card->info))
		return STATUS_OK;
	failed(cmd, "cannot ask %s what it is: %s", path, card_reason(errno));
	rfm_close(card->rfm);
	return STATUS_FAILED;
}

/*
 * Keeps the window where it is: it does not move under a mapping. One page of it is enough,
 * of a file of its own whose mappings subscribe to nothing.
 */
static bool hold_window(struct card *card)
{
	void *page = MAP_FAILED;
	struct rfm *rfm;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", rfm_fd(card->rfm));
	rfm = rfm_open(path, O_RDONLY);
	if (!rfm)
		return false;
	if (!rfm_subscribe(rfm, 0, 0, RFM_SUBSCRIBE_NO_MAPS, NULL) || errno == EOPNOTSUPP)
		page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED,
			    rfm_fd(rfm), 0);
	rfm_close(rfm);
	/* It may have moved between the first look and now, but will not any more. */
	return page != MAP_FAILED && !rfm_info(card->rfm, &card->info);
}

/*
 * The same, for who reaches the memory through the card's window, which stays where it is until
 * the program ends.
 */
int card_open_window(struct command *cmd, struct card *card, const char *which, bool writing)
{
	int status = card_open(cmd, card, which, writing);

	if (status || hold_window(card))
		return status;
	return failed(cmd, "cannot keep the window where it is: %s", card_reason(errno));
}

/*
 * Are these bytes in a card's memory of @size bytes, be they in its window or not? Returns an exit
 * status; what is wrong has been said.
 */
int card_check_memory(const struct command *cmd, uint64_t size, uint64_t offset, uint64_t length)
{
	if (length > size || offset > size - length)
		return failed(cmd, "%" PRIu64 " bytes at offset 0x%" PRIx64
			      " are out of range: the memory ends at 0x%" PRIx64,
			      length, offset, size);
	return STATUS_OK;
}

/* The same for the window. */
int card_check_range(const struct command *cmd, const struct card *card, uint64_t offset,
		     uint64_t length)
{
	uint64_t start = card->info.window_offset, size = card->info.window_size;
	int status = card_check_memory(cmd, card->info.memory_size, offset, length);

	if (status)
		return status;
	if (offset < start || length > size || offset - start > size - length)
		return failed(cmd, "%" PRIu64 " bytes at offset 0x%" PRIx64
			      " are outside the card's window, which is 0x%" PRIx64
			      " bytes from 0x%" PRIx64, length, offset, size, start);
	return STATUS_OK;
}

/* Where in the card's file is @offset of the memory? The file shows the window. */
off_t card_position(const struct card *card, uint64_t offset)
{
	return (off_t)(offset - card->info.window_offset);
}

static char gone_message[2 * CARD_NAME_SIZE];

/* An unplugged card answers accesses to its mapping with SIGBUS. */
static void on_sigbus(int signal)
{
	ssize_t written = write(STDERR_FILENO, gone_message, strlen(gone_message));

	(void)written;
	_exit(STATUS_FAILED);
}

/*
 * Maps @length bytes, not 0, from any @offset of the memory on, for stores as well as loads if the
 * card is open for writing. The mapping lives until the program ends. If the card goes away while
 * it is in use, the program says so and ends with status 3. Returns the address of @offset, or
 * NULL when it has said what is wrong.
 */
volatile void *card_map(const struct command *cmd, const struct card *card, uint64_t offset,
			uint64_t length)
{
	struct sigaction action = { .sa_handler = on_sigbus };
	volatile void *memory;

	if (card_check_range(cmd, card, offset, length))
		return NULL;
	snprintf(gone_message, sizeof(gone_message), "rmctl: %s: %s: %s\n", cmd->card,
		 cmd->verb->name, card_reason(ENODEV));
	sigaction(SIGBUS, &action, NULL);
	memory = rfm_map(card->rfm, offset, length);
	if (!memory)
		failed(cmd, "cannot map %" PRIu64 " bytes at offset 0x%" PRIx64 ": %s", length,
		       offset, card_reason(errno));
	return memory;
}

/*
 * Waits until all that this node has stored has come home, for as long as @fence says, which is
 * told how it went; the card is open for writing. Signals that end the program are held from here
 * on, see stop.h. Returns 0, or an errno: EINTR only when the user has asked for the end.
 */
int card_fence(const struct card *card, struct rfm_fence_wait *fence)
{
	stop_on_signals();
	fence->flags = 0;
	/* With flags it came to an end, and they say to which. */
	return rfm_fence(card->rfm, fence->timeout_ms, fence) && !fence->flags ? errno : 0;
}
