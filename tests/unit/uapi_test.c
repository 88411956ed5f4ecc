// SPDX-License-Identifier: MIT
/* The ioctls of <linux/rfm.h> where their sizes have the fewest bits. */
#include "tests/unit/test.h"

/* As on powerpc, mips and sparc. */
#define _IOC_SIZEBITS	13
#define _IOC_DIRBITS	3
#define _IOC_NONE	1U
#define _IOC_READ	2U
#define _IOC_WRITE	4U
#include <asm-generic/ioctl.h>

#include <linux/rfm.h>

#define CALL(name, type) { #name, RFM_IOC_##name, sizeof(struct rfm_##type) }

static void sizes_fit(void **state)
{
	static const struct {
		const char *name;
		unsigned long cmd;
		size_t size;
	} calls[] = {
		CALL(INFO, info), CALL(SEND, send), CALL(LISTEN, listen),
		CALL(RING_TEST, ring_test), CALL(SUBSCRIBE, subscribe),
		CALL(UNSUBSCRIBE, subscribe), CALL(WATCH, watch), CALL(FENCE, fence_wait),
		CALL(SEND_SET, send_set), CALL(GET_CONFIG, config),
		CALL(SET_CONFIG, config), CALL(WRITER, writer), CALL(COUNTERS, counters),
		CALL(RING_MAP, ring_map), CALL(VERIFY, verify), CALL(REMOTE, operation),
		CALL(RESYNC, resync_wait), CALL(PORT, port_listen),
		CALL(REGION, memory_region), CALL(EXPORT, export),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (_IOC_SIZE(calls[i].cmd) != calls[i].size)
			print_message("RFM_IOC_%s: %zu bytes are too many\n", calls[i].name,
				      calls[i].size);
		assert_int_equal(_IOC_SIZE(calls[i].cmd), calls[i].size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_fit),
	};

	return cmocka_run_group_tests_name("uapi", tests, NULL, NULL);
}
