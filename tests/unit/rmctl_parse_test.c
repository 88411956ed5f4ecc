// SPDX-License-Identifier: MIT
/* links: tools/rmctl/cli/words.c tools/rmctl/card/event_names.c tools/librfm/names.c */
/* links: tools/common/parse.c tools/common/hex.c */
/* What rmctl makes of cards and events on its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/rfm.h>

#include "tools/rmctl/card/event_names.h"
#include "tools/rmctl/cli/words.h"

static void ages_are_never_negative(void **state)
{
	struct rfm_event event = { .type = RFM_EVENT_CONFLICT, .origin_ns = 500, .arrival_ns = 800 };
	uint64_t age = 7;

	(void)state;
	assert_true(event_age(&event, &age) && age == 300);
	event.origin_ns = 801;
	assert_true(event_age(&event, &age) && age == 0);
	event.flags = RFM_EVENT_AGE_UNKNOWN;
	assert_false(event_age(&event, &age));
	event = (struct rfm_event){ .type = RFM_EVENT_INT1, .arrival_ns = 800 };
	assert_false(event_age(&event, &age));
}

static void card_names(void **state)
{
	static const char *const bad[] = {
		"", "rfm", "rfm-1", "rfm0x", "rfm 0", "RFM0", "xrfm0", "rfm0/..", "rfm1234567", "0",
	};

	(void)state;
	assert_true(parse_card_name("rfm0"));
	assert_true(parse_card_name("rfm12"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(parse_card_name(bad[i]));
}

static void pci_addresses(void **state)
{
	static const char *const bad[] = {
		"", ":", "01:00", "01.0", "01:00.", "01:00.8", "01:20.0", "100:00.0", "01:00.0 ",
		"0000:01:00.00", ":01:00.0", "000000001:01:00.0", "0000:01:000.0", "g:00.0",
		"-1:00.0", "0x1:00.0", "0000:0000:01:00.0",
	};
	char address[PCI_ADDRESS_SIZE];

	(void)state;
	assert_true(parse_pci_address("0000:01:00.0", address));
	assert_string_equal(address, "0000:01:00.0");
	assert_true(parse_pci_address("1:0.7", address));
	assert_string_equal(address, "0000:01:00.7");
	assert_true(parse_pci_address("A:1F.0", address));
	assert_string_equal(address, "0000:0a:1f.0");
	assert_true(parse_pci_address("ffffffff:ff:1f.7", address));
	assert_string_equal(address, "ffffffff:ff:1f.7");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (parse_pci_address(bad[i], address))
			fail_msg("'%s' read as %s", bad[i], address);
}

static void event_types(void **state)
{
	uint32_t mask = 0;

	(void)state;
	for (uint32_t type = 0; type < RFM_EVENT_TYPES; type++)
		assert_int_equal(event_from_name(event_name(type)), type);
	assert_string_equal(event_name(RFM_EVENT_INT3), "int3");
	assert_string_equal(event_name(RFM_EVENT_SYNC_LOSS), "sync-loss");
	assert_string_equal(event_name(RFM_EVENT_TYPES), "unknown");
	assert_int_equal(event_from_name("int5"), -1);
	assert_int_equal(event_from_name(""), -1);
	assert_false(event_mask_from_name("unknown", &mask));
	assert_int_equal(mask, 0);
	assert_true(event_mask_from_name("int1", &mask));
	assert_true(event_mask_from_name("sync-loss", &mask));
	assert_int_equal(mask, 0x22);
	/* What a watch delivers, nobody can listen for; "all" depends on the card. */
	assert_false(event_mask_from_name("update", &mask));
	assert_false(event_mask_from_name("dropped", &mask));
	assert_false(event_mask_from_name("all", &mask));
	assert_true(event_mask_from_name("conflict", &mask));
	assert_int_equal(mask, 0x20022);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_are_never_negative),
		cmocka_unit_test(card_names),
		cmocka_unit_test(pci_addresses),
		cmocka_unit_test(event_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
