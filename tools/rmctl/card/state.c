// SPDX-License-Identifier: MIT
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/words.h"

/* A dump that something changes is begun again; who changes things without end has won. */
#define DUMPS_MAX 100

/* --- what a message says --------------------------------------------------------------- */

/**
 * numbers_take - take the numbers of a message, or of a nest in it
 * @numbers: a place for each attribute, see netlink_gen.h; those without one stay as they are
 * @attributes: parsed
 * @max: the last of them
 *
 * Returns which there are: bit n, attribute n.
 */
uint64_t numbers_take(uint64_t *numbers, struct nlattr **attributes, int max)
{
	uint64_t have = 0;

	for (int i = 1; i <= max; i++) {
		int length = attributes[i] ? nla_len(attributes[i]) : 0;

		if (length != sizeof(uint8_t) && length != sizeof(uint32_t) &&
		    length != sizeof(uint64_t))
			continue;
		/* Little-endian: the bytes of a narrower one are first. */
		numbers[i] = 0;
		memcpy(&numbers[i], nla_data(attributes[i]), (size_t)length);
		have |= UINT64_C(1) << i;
	}
	return have;
}

static void take_text(char *text, size_t size, struct nlattr *attribute)
{
	if (attribute)
		nla_strlcpy(text, attribute, size);
}

/* Takes what a message says of a card. Returns false if it is not of one. */
bool state_take(struct state *state, struct nlmsghdr *message)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1], *driver[RFM_A_DRIVER_MAX + 1];

	memset(state, 0, sizeof(*state));
	if (genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL) ||
	    !attributes[RFM_A_CARD_NAME])
		return false;
	take_text(state->name, sizeof(state->name), attributes[RFM_A_CARD_NAME]);
	take_text(state->pci, sizeof(state->pci), attributes[RFM_A_CARD_PCI]);
	take_text(state->comm, sizeof(state->comm), attributes[RFM_A_CARD_COMM]);
	text_clean(state->comm);
	state->have = numbers_take(state->number, attributes, RFM_A_CARD_MAX);
	settings_take(&state->settings, state->have, state->number);
	if (attributes[RFM_A_CARD_DRIVER] &&
	    !nla_parse_nested(driver, RFM_A_DRIVER_MAX, attributes[RFM_A_CARD_DRIVER], NULL))
		numbers_take(state->driver.number, driver, RFM_A_DRIVER_MAX);
	return true;
}

/* The receiver sees light, and has not latched that it had lost it. */
bool state_synchronous(const struct state *state)
{
	return state->link && !(state->lcsr1 & RFM_LCSR1_SYNC_LOSS);
}

/* --- which card ------------------------------------------------------------------------ */

/* Sets @name to the card whose device node is at @path. Returns an exit status. */
static int find_by_path(struct command *cmd, const char *path, char name[CARD_NAME_SIZE])
{
	char link[64], target[PATH_MAX];
	struct stat st;
	ssize_t length;

	cmd->card = strrchr(path, '/') + 1;
	if (stat(path, &st))
		return errno == ENOENT ? failed(cmd, "no such card: %s does not exist", path) :
					 failed(cmd, "cannot look at %s: %s", path, strerror(errno));
	if (!S_ISCHR(st.st_mode))
		return failed(cmd, "%s is not a device node", path);
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	length = readlink(link, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = '\0';
	if (!strstr(target, "/rfm/") || !parse_card_name(strrchr(target, '/') + 1))
		return failed(cmd, "%s is not a reflective-memory card", path);
	snprintf(name, CARD_NAME_SIZE, "%s", strrchr(target, '/') + 1);
	return STATUS_OK;
}

/*
 * The name of the card that the user named, rfm0, /dev/rfm0 or a PCI address: @name is set to rfm0,
 * or to the PCI address as the kernel writes it. Whether there is such a card is for the driver to
 * say, unless @which is a path. Returns an exit status; what is wrong has been said.
 */
int card_find(struct command *cmd, const char *which, char name[CARD_NAME_SIZE])
{
	char address[PCI_ADDRESS_SIZE];

	if (*which == '/')
		return find_by_path(cmd, which, name);
	if (parse_pci_address(which, address))
		snprintf(name, CARD_NAME_SIZE, "%s", address);
	else if (parse_card_name(which))
		snprintf(name, CARD_NAME_SIZE, "%s", which);
	else
		return misused(cmd, "'%s' names no card; say rfm0, /dev/rfm0 or a PCI address",
			       which);
	return STATUS_OK;
}

/* --- requests about a card ------------------------------------------------------------- */

/* The connection over which cards are asked, until the program ends. */
static struct netlink asking;

static int connect_once(struct command *cmd)
{
	return asking.socket ? STATUS_OK : netlink_open(cmd, &asking);
}

/**
 * card_request - begin a request about a card; there is a connection
 * @command: RFM_CMD_*
 * @flags: NLM_F_DUMP or 0
 * @name: as card_find() sets it; NULL: of all cards
 *
 * Returns a message to which attributes can be added, or NULL without memory.
 */
struct nl_msg *card_request(uint8_t command, int flags, const char *name)
{
	struct nl_msg *request = nlmsg_alloc_size(NETLINK_REQUEST);

	if (request)
		genlmsg_put(request, NL_AUTO_PORT, NL_AUTO_SEQ, asking.family, 0, flags, command,
			    RFM_FAMILY_VERSION);
	if (request && name)
		nla_put_string(request, strchr(name, ':') ? RFM_A_CARD_PCI : RFM_A_CARD_NAME, name);
	return request;
}

/**
 * card_talk - send a request, with the rights of a descriptor if it takes some
 * @card: the one that the request is about, as card_find() sets it; NULL: all
 * @writing: the right is that of a descriptor open for writing, otherwise for reading
 * @request: of card_request(), which is released; NULL: there was no memory for it
 * @take: takes the answer, or NULL
 * @context: for @take
 *
 * Who administers the network needs no descriptor, so it is opened only when the driver asks
 * for one. Returns 0 or an errno of netlink_talk(); card_refused() says why.
 */
int card_talk(const char *card, bool writing, struct nl_msg *request, netlink_take take,
	      void *context)
{
	int error = netlink_talk(&asking, request, take, context), fd = -1;
	char path[PATH_MAX], name[CARD_NAME_SIZE];

	if (error == EPERM && card && (!strchr(card, ':') || !card_by_pci(card, name))) {
		snprintf(path, sizeof(path), "/dev/%s", strchr(card, ':') ? name : card);
		fd = open(path, (writing ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
	}
	if (fd >= 0) {
		nla_put_s32(request, RFM_A_CARD_FD, fd);
		nlmsg_hdr(request)->nlmsg_seq = NL_AUTO_SEQ;
		error = netlink_talk(&asking, request, take, context);
		close(fd);
	}
	nlmsg_free(request);
	return error;
}

/* Says why the last request failed. Returns an exit status. */
int card_refused(const struct command *cmd)
{
	return failed(cmd, "%s", asking.reason);
}

/* For messages, which may be printed when a verb has ended. */
static char card_name[sizeof(((struct state *)NULL)->name)];

static void take_state(struct nlmsghdr *message, void *context)
{
	state_take(context, message);
}

/*
 * Asks what a card is and how it is; there is a connection. @which is as card_find() sets it; the
 * command's card is named as the driver names it from now on. Returns an exit status; what is
 * wrong has been said.
 */
int state_get(struct command *cmd, const char *which, struct state *state)
{
	if (card_talk(which, false, card_request(RFM_CMD_CARD_GET, 0, which), take_state, state))
		return card_refused(cmd);
	snprintf(card_name, sizeof(card_name), "%s", state->name);
	cmd->card = card_name;
	return STATUS_OK;
}

/* The same for a card as the user named it; makes the connection. */
int state_find(struct command *cmd, const char *which, struct state *state)
{
	char name[CARD_NAME_SIZE];
	int status = card_find(cmd, which, name);

	if (!status)
		status = connect_once(cmd);
	return status ? status : state_get(cmd, name, state);
}

/* For a verb without options whose only operand is the card: reads both. */
int state_of_only_card(struct command *cmd, int argc, char **argv, struct state *state)
{
	if (next_option(cmd, argc, argv) != -1 || check_operands(cmd, argc, argv, 1, 1))
		return STATUS_MISUSED;
	return state_find(cmd, argv[optind], state);
}

static void take_another(struct nlmsghdr *message, void *context)
{
	struct states *states = context;

	states->list = grown(states->cmd, states->list, states->count, sizeof(*states->list));
	states->count += state_take(&states->list[states->count], message);
}

static int by_number(const void *a, const void *b)
{
	const struct state *first = a, *second = b;

	return first->id < second->id ? -1 : first->id > second->id;
}

/*
 * One after the other, each with a descriptor of its own, for somebody who may not ask about all
 * at once. Returns 0, or an errno if none of them answers.
 */
static int ask_each(struct states *states)
{
	struct card_names list;
	int error = card_names_get(&list);

	for (size_t i = 0; i < list.count; i++)
		error = card_talk(list.names[i], false,
				  card_request(RFM_CMD_CARD_GET, 0, list.names[i]), take_another,
				  states);
	free(list.names);
	return states->count ? 0 : error;
}

/*
 * Asks about all cards, or all that one may open; makes the connection. The caller frees the
 * list. Returns an exit status; what is wrong has been said.
 */
int states_get(struct command *cmd, struct states *states)
{
	int error, left = DUMPS_MAX;

	*states = (struct states){ .cmd = cmd };
	if (connect_once(cmd))
		return STATUS_FAILED;
	do {
		states->count = 0;
		error = card_talk(NULL, false, card_request(RFM_CMD_CARD_GET, NLM_F_DUMP, NULL),
				  take_another, states);
	} while (error == EAGAIN && --left);
	if (error == EPERM)
		error = ask_each(states);
	if (error) {
		free(states->list);
		states->list = NULL;
		return failed(cmd, "cannot list the cards: %s", asking.reason);
	}
	if (states->count)
		qsort(states->list, states->count, sizeof(*states->list), by_number);
	return STATUS_OK;
}
