// SPDX-License-Identifier: GPL-2.0-only
/*
 * tell_overrun CARD SEQ LOST: tells monitors that the driver has lost notifications of a card, as
 * it does itself, but when a test wants it to. Must run as root.
 */
#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/netlink.h>

#include <linux/rfm_netlink.h>

#include "genl.h"

int main(int argc, char **argv)
{
	struct sockaddr_nl group = { .nl_family = AF_NETLINK };
	static struct genl genl;
	uint32_t number;
	uint16_t family;
	int fd = genl_open();

	if (argc != 4)
		errx(2, "usage: tell_overrun CARD SEQ LOST");
	if (fd < 0 || !genl_family(fd, RFM_FAMILY_NAME, "monitor", &family, &number))
		err(1, "no netlink family " RFM_FAMILY_NAME);
	if (number > 32)
		errx(1, "its group is number %u, beyond the mask of an address", number);
	group.nl_groups = 1u << (number - 1);
	genl_begin(&genl, family, 0, RFM_CMD_OVERRUN_NTF);
	genl_put(&genl, RFM_A_CARD_NAME, argv[1], strlen(argv[1]) + 1);
	genl_put_u64(&genl, RFM_A_CARD_SEQ, strtoull(argv[2], NULL, 0));
	genl_put_u64(&genl, RFM_A_CARD_LOST, strtoull(argv[3], NULL, 0));
	if (sendto(fd, genl.bytes, genl.len, 0, (struct sockaddr *)&group, sizeof(group)) < 0)
		err(1, "sendto");
	return 0;
}
