// SPDX-License-Identifier: MIT
/* links: tools/rmctl/card/monitor.c tools/rmctl/card/state.c tools/rmctl/card/settings.c
 * links: tools/rmctl/card/netlink_gen.c
 * links: tools/rmctl/cli/out.c tools/rmctl/cli/text.c tools/rmctl/cli/until.c tools/common/hex.c
 * links: tools/rmctl/cli/stop.c tools/rmctl/cli/words.c tools/common/units.c tools/common/parse.c
 *
 * rmctl monitor, when the driver does not answer to the end.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

#include <linux/rfm_netlink.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "tests/unit/test.h"
#include "tools/rmctl/card/state.h"

/* --- a driver that tells of one card, and then fails ---------------------------- */

int netlink_talk(struct netlink *nl, struct nl_msg *request, netlink_take take, void *context)
{
	struct nl_msg *answer = nlmsg_alloc();

	(void)request;
	genlmsg_put(answer, 0, 0, 0, 0, 0, RFM_CMD_CARD_GET, 1);
	nla_put_string(answer, RFM_A_CARD_NAME, "rfm0");
	take(nlmsg_hdr(answer), context);
	nlmsg_free(answer);
	snprintf(nl->reason, sizeof(nl->reason), "it has gone away");
	return EIO;
}

int netlink_open(struct command *cmd, struct netlink *nl)
{
	(void)cmd;
	(void)nl;
	return STATUS_OK;
}

void netlink_close(struct netlink *nl)
{
	(void)nl;
}

int netlink_join(struct command *cmd, struct netlink *nl, const char *group)
{
	(void)cmd;
	(void)nl;
	(void)group;
	return STATUS_OK;
}

/* --- a command line of the verb alone; the others are not called ------------------- */

int next_option(struct command *cmd, int argc, char **argv)
{
	(void)cmd;
	(void)argc;
	(void)argv;
	return -1;
}

int check_operands(struct command *cmd, int argc, char **argv, int min, int max)
{
	(void)cmd;
	(void)argc;
	(void)argv;
	(void)min;
	(void)max;
	return STATUS_OK;
}

int netlink_receive(struct netlink *nl, netlink_take take, void *context)
{
	(void)nl;
	(void)take;
	(void)context;
	abort();
}

int card_by_pci(const char *address, char name[CARD_NAME_SIZE])
{
	(void)address;
	(void)name;
	abort();
}

int card_names_get(struct card_names *list)
{
	(void)list;
	abort();
}

int get_number(struct command *cmd, const char *what, const char *text, uint64_t max,
	       uint64_t *value)
{
	(void)cmd;
	(void)what;
	(void)text;
	(void)max;
	(void)value;
	abort();
}

int get_duration(struct command *cmd, const char *what, const char *text, uint64_t *nanoseconds)
{
	(void)cmd;
	(void)what;
	(void)text;
	(void)nanoseconds;
	abort();
}

/* --- what monitor makes of it -------------------------------------------------------- */

static void cards_that_are_read_in_part_are_released_once(void **state)
{
	const struct verb verb = { .name = "monitor", .synopsis = "", .run = verb_monitor };
	struct command cmd = { .verb = &verb };
	char *argv[] = { "monitor", NULL };

	(void)state;
	optind = 1;
	assert_int_equal(verb_monitor(&cmd, 1, argv), STATUS_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cards_that_are_read_in_part_are_released_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
