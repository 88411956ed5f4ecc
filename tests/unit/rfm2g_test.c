// SPDX-License-Identifier: MIT
/* links: tools/librfm2g tools/librfm ring/host tests/guest/rfm2g */
/*
 * tests/guest/rfm2g on nodes in this process: a ring of two, and one of two for the
 * process that ends in between.
 */
#include "tests/guest/rfm2g/private.h"

static char folder[] = "/tmp/rfm2g-test-XXXXXX";
static char addresses[4][300];

/* A process that ends without closing leaves its sockets. */
static void remove_folder(void)
{
	char path[sizeof(folder) + 2];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%d", folder, i);
		unlink(path);
	}
	rmdir(folder);
}

int main(int argc, char **argv)
{
	char *arguments[] = { argv[0], addresses[0], addresses[1], addresses[2], addresses[3], NULL };
	int status;

	if (argc > 1)
		return rfm2g_test_main(argc, argv);
	if (!mkdtemp(folder))
		return TAP_FAIL;
	for (int i = 0; i < 4; i++)
		snprintf(addresses[i], sizeof(addresses[i]),
			 "ring:?rx=unix:%s/%d,server&tx=unix:%s/%d&node=%d&size=1M",
			 folder, i, folder, i ^ 1, i + 1);
	status = rfm2g_test_main(5, arguments);
	RFM2gClose(&near);
	RFM2gClose(&far);
	remove_folder();
	return status == TAP_SKIP ? 0 : status;
}
