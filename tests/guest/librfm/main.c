// SPDX-License-Identifier: MIT
/*
 * librfm: librfm_test NEAR FAR [NARROW]. Two nodes on one ring, see librfm_pair.h, and a card
 * whose window is smaller than its memory. What queues, watches and fences do in detail is in
 * librfm_events_test.
 */
#include "tests/guest/librfm/private.h"

/* --- a card without the extension block --------------------------------------------- */

static void base_card_says_so(void)
{
	struct rfm_counters counters;
	struct rfm_writer writer;
	uint8_t node = far_info.node;

	CHECK_NULL(rfm_watch(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_NULL(rfm_listen(near_card, RFM_EVENT_BIT(RFM_EVENT_CONFLICT), 0, 0), EOPNOTSUPP);
	CHECK_ERRNO(rfm_own(near_card, PLACE, 8), EOPNOTSUPP);
	CHECK_ERRNO(rfm_fence(near_card, 1000, NULL), EOPNOTSUPP);
	CHECK_ERRNO(rfm_send_set(near_card, &node, 1, RFM_EVENT_INT1, 0), EOPNOTSUPP);
	CHECK_ERRNO(rfm_writer(near_card, PLACE, &writer), EOPNOTSUPP);
	CHECK_ERRNO(rfm_counters(near_card, &counters), EOPNOTSUPP);
}

/* --- what a program for the 5565 asks -------------------------------------------------- */

static void registers(void)
{
	struct rfm *reader = rfm_open(near_path, O_RDONLY);
	volatile uint8_t *map;
	uint32_t value = 0, before = 0;
	size_t size = 0;

	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 1, 1, &value), 0);
	CHECK_EQ(value, 0x65);
	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 4, 1, &value), 0);
	CHECK_EQ(value, near_info.node);
	CHECK_EQ(rfm_reg_read(near_card, RFM_REGS_CONTROL, 8, 4, &value), 0);
	CHECK_EQ(value >> 24, near_info.lcsr1 >> 24);
	CHECK_ERRNO(rfm_reg_read(near_card, RFM_REGS_CONTROL, 0x40, 1, &value), EINVAL);
	CHECK_ERRNO(rfm_reg_read(near_card, RFM_REGS_CONTROL, 8, 3, &value), EINVAL);
	CHECK_ERRNO(rfm_reg_update(near_card, RFM_REGS_CONTROL, 8, 1, 1, 2, &value), EINVAL);
	CHECK(reader);
	CHECK_ERRNO(rfm_reg_read(reader, RFM_REGS_CONTROL, 8, 4, &value), EBADF);
	CHECK_EQ(rfm_close(reader), 0);
	if (!(rfm_can(near_card) & RFM_CAN_REGS)) {
		CHECK_ERRNO(rfm_reg_write(near_card, RFM_REGS_CONTROL, 0x18, 4, 1), EOPNOTSUPP);
		CHECK_NULL(rfm_map_regs(near_card, RFM_REGS_CONTROL, &size), EOPNOTSUPP);
		return;
	}
	/* The data of an interrupt that nobody sends. */
	CHECK_EQ(rfm_reg_write(near_card, RFM_REGS_CONTROL, 0x18, 4, 0x12345678), 0);
	CHECK_EQ(rfm_reg_update(near_card, RFM_REGS_CONTROL, 0x18, 2, 0xff, 0x11, &before), 0);
	CHECK_EQ(before, 0x5678);
	map = rfm_map_regs(near_card, RFM_REGS_CONTROL, &size);
	REQUIRE(map);
	CHECK_EQ(size, 0x40);
	CHECK_EQ(map[1], 0x65);
	CHECK_EQ(*(volatile uint32_t *)(map + 0x18), 0x12345611);
	CHECK_EQ(rfm_unmap((void *)map, size), 0);
	map = rfm_map_regs(near_card, RFM_REGS_RUNTIME, &size);
	REQUIRE(map);
	CHECK_EQ(size, 0x200);
	CHECK_EQ(map[0x74], 0xc0);
	CHECK_EQ(rfm_unmap((void *)map, size), 0);
	CHECK_NULL(rfm_map_regs(near_card, 2, &size), EINVAL);
}

static void counts_of_events(void)
{
	uint64_t before[RFM_EVENT_TYPES], after[RFM_EVENT_TYPES];
	struct rfm_events *events = rfm_listen(far_card, RFM_EVENT_BIT(RFM_EVENT_INT3),
					       RFM_LISTEN_DISCARD, 0);
	struct rfm_event record;

	REQUIRE(events);
	CHECK_EQ(rfm_event_counts(far_card, before, RFM_EVENT_TYPES), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(rfm_send(near_card, far_info.node, RFM_EVENT_INT3, i), 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK(next(events, &record));
	CHECK_EQ(rfm_event_counts(far_card, after, RFM_EVENT_TYPES), 0);
	CHECK_EQ(after[RFM_EVENT_INT3], before[RFM_EVENT_INT3] + 3);
	rfm_events_close(events);
}

#define EVERY_CARD							\
	TAP_CASE(registers),						\
	TAP_CASE(counts_of_events),					\
	TAP_CASE(opening),						\
	TAP_CASE(cards_are_listed),					\
	TAP_CASE(what_is_no_place),					\
	TAP_CASE(settings),						\
	TAP_CASE(everything_has_a_name),				\
	TAP_CASE(waits_end_when_they_should),				\
	TAP_CASE(mapping),						\
	TAP_CASE(mapping_through_a_window),				\
	TAP_CASE(read_only),						\
	TAP_CASE(interrupts),						\
	TAP_CASE(signals_end_a_wait)

/* librfm_test DEVICE record OFFSET: only that; says whether it is stored. */
static int store_a_record(const char *device, const char *offset)
{
	struct rfm *rfm = rfm_open(device, O_RDWR);
	uint8_t data[64] = { 1 };

	if (!rfm)
		return TAP_FAIL;
	puts(rfm_record_store(rfm, strtoull(offset, NULL, 0), data, sizeof(data)) ?
	     strerror(errno) : "stored");
	rfm_close(rfm);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct tap_case base[] = {
		EVERY_CARD,
		TAP_CASE(base_card_says_so),
	};
	static const struct tap_case full[] = {
		EVERY_CARD,
		TAP_CASE(words_and_copies),
		TAP_CASE(words_and_copies_by_the_processor),
		TAP_CASE(a_publication_is_one_store),
		TAP_CASE(a_store_is_one_store),
		TAP_CASE(what_every_node_has),
		TAP_CASE(fences),
		TAP_CASE(updates_are_told),
		TAP_CASE(watches_with_conditions),
		TAP_CASE(closing_in_any_order),
		TAP_CASE(sets_of_nodes),
		TAP_CASE(owners_learn_of_conflicts),
		TAP_CASE(subscriptions),
		TAP_CASE(who_is_there),
		TAP_CASE(a_record_wakes_once),
		TAP_CASE(a_record_is_whole_or_not_there),
	};

	if (argc == 4 && !strcmp(argv[2], "record"))
		return store_a_record(argv[1], argv[3]);
	narrow_path = argc > 3 ? argv[3] : NULL;
	if (!open_cards(argc, argv))
		return TAP_FAIL;
	return near_info.features ? TAP_RUN(full) : TAP_RUN(base);
}
