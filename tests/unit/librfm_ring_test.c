// SPDX-License-Identifier: MIT
/* librfm's nodes in this process. links: tools/librfm ring/host tests/unit/rings.c */
/*
 * What tests/guest/librfm and librfm_events, which run on both, leave out: the
 * words that open a node, and how it comes and goes.
 */
#include "tests/unit/test.h"
#include "tests/unit/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* --- opening ------------------------------------------------------------------------ */

static void what_means_no_node_is_refused(void **state)
{
	static const struct {
		const char *card, *says;
	} bad[] = {
		{ "ring:", "node= and size=" },
		{ "ring:unix:/tmp/x?node=1", "node= and size=" },
		{ "ring:unix:/tmp/x?size=1M", "node= and size=" },
		{ "ring:?node=1&size=1M", "no address" },
		{ "ring:unix:/tmp/x?node=256&size=1M", "0 to 255" },
		{ "ring:unix:/tmp/x?node=0300&size=1M", "0 to 255, not 300" },
		{ "ring:unix:/tmp/x?node=-1&size=1M", "'node'" },
		{ "ring:unix:/tmp/x?node=0x&size=1M", "'node'" },
		{ "ring:unix:/tmp/x?node=4294967297&size=1M", "'node'" },
		{ "ring:unix:/tmp/x?node=1&size=1X", "'size'" },
		{ "ring:unix:/tmp/x?node=1&size=1MM", "'size'" },
		{ "ring:unix:/tmp/x?node=1&size=17179869184G", "'size'" },
		{ "ring:unix:/tmp/x?node=1&size=100", "multiple of 4096" },
		{ "ring:unix:/tmp/x?node=1&size=1M&node=2", "twice 'node'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&colour=red", "no setting 'colour'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&", "no setting ''" },
		{ "ring:unix:/tmp/x?node=1&size=1M&redundant=2", "'redundant'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&line=%zz", "'line'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&line=", "'line'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&line=slow", "no line" },
		{ "ring:unix:/tmp/x?node=1&size=1M&rx=unix:/tmp/y", "rx= or tx=" },
		{ "ring:unix:/tmp/x?node=1&size=1M&window=16385", "window" },
		{ "ring:unix:/tmp/x?node=1&size=1M&priority=100", "priority" },
		{ "ring:unix:/tmp/x?node=1&size=1M&cpus=3-", "list of processors" },
		{ "ring:unix:/tmp/x?node=1&size=1M&cpus=0x3", "list of processors" },
		{ "ring:unix:/tmp/x?node=1&size=1M&clock", "'clock'" },
		{ "ring:unix:/tmp/x?node=1&size=1M&clock=utc", "'clock'" },
		{ "ring:tcp:host:1?node=1&size=1M", "unix:PATH" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		assert_null(rfm_open(bad[i].card, O_RDWR));
		assert_int_equal(errno, EINVAL);
		if (!strstr(rfm_error(), bad[i].says))
			fail_msg("%s: '%s' does not say '%s'", bad[i].card, rfm_error(),
				 bad[i].says);
	}
}

/* Sooner or later: the first may have waited for less than it takes to be seen. */
static void has_waited_in_vain(const char *card, const char *why)
{
	struct rfm *first = rfm_open(card, O_RDWR);
	uint64_t begun = now_ns();

	assert_non_null(first);
	while (!strstr(rfm_error(), why)) {
		if (now_ns() - begun > PATIENCE_MS * 1000000ull)
			fail_msg("'%s' does not say '%s'", rfm_error(), why);
		assert_int_equal(rfm_close(rfm_open(card, O_RDWR)), 0);
	}
	assert_int_equal(rfm_close(first), 0);
}

/* A ring that is not whole in time is no error, but why it is not is said. */
static void what_a_ring_lacks_is_said(void **state)
{
	struct sockaddr_un other = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[700];

	(void)state;
	snprintf(text, sizeof(text), "%s&wait-ms=100", alone(3));
	has_waited_in_vain(text, "nobody sends to it");
	snprintf(other.sun_path, sizeof(other.sun_path), "%s/b3", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&other, sizeof(other)), 0);
	has_waited_in_vain(text, "cannot connect to");
	close(fd);
	unlink(other.sun_path);

	name_node(0, "");
	near = rfm_open(words[0], O_RDWR);
	assert_non_null(near);
	assert_string_equal(rfm_error(), "");
	snprintf(text, sizeof(text), "ring:?rx=unix:%s/1,server&tx=unix:%s/0&node=1&size=1M&wait-ms=100",
		 folder, folder);
	has_waited_in_vain(text, "another node has its id");
	assert_int_equal(rfm_close(near), 0);
}

static void settings_are_passed_on(void **state)
{
	char file[100], more[250];
	struct rfm_config config;
	struct rfm_info info;
	struct rfm *rfm;

	(void)state;
	snprintf(file, sizeof(file), "%s/memory", folder);
	snprintf(more, sizeof(more), "&file=%s/%%6demory&redundant&rogue-master-1=1&unpacked=0&"
		 "stall-limit-ms=10&cpus=0,90-95&line=paced,hop=450", folder);
	name_node(0, more);
	rfm = rfm_open(words[0], O_RDWR);
	if (!rfm)
		fail_msg("%s", rfm_error());
	assert_int_equal(rfm_info(rfm, &info), 0);
	assert_true(info.lcsr1 & RFM_LCSR1_REDUNDANT && info.lcsr1 & RFM_LCSR1_ROGUE_MASTER1);
	assert_false(info.lcsr1 & RFM_LCSR1_ROGUE_MASTER0);
	assert_int_equal(info.node, 1);
	assert_true(info.memory_size == 1 << 20);
	assert_int_equal(rfm_get_config(rfm, &config), 0);
	config = (struct rfm_config){ .mask = RFM_CONFIG_OFFSET | RFM_CONFIG_TRANSMIT,
				      .address_offset = 64 << 20 };
	assert_int_equal(rfm_set_config(rfm, &config), 0);
	assert_int_equal(rfm_info(rfm, &info), 0);
	assert_true(info.lcsr1 & RFM_LCSR1_TX_DISABLE);
	assert_int_equal((info.lcsr1 & RFM_LCSR1_OFFSET_M) >> RFM_LCSR1_OFFSET_SHIFT, 1);
	config = (struct rfm_config){ .mask = RFM_CONFIG_BYTE_SWAP };
	assert_int_equal(rfm_set_config(rfm, &config), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	/* Dark: nothing comes home, and that is said. */
	assert_int_equal(rfm_fence(rfm, 1000, NULL), -1);
	assert_int_equal(errno, ENOLINK);
	assert_int_equal(rfm_ring_test(rfm, 100, NULL), -1);
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(rfm_close(rfm), 0);
	assert_int_equal(access(file, F_OK), 0);
	unlink(file);
}

/* By the same words it is one node, which ends with the last handle, stream or mapping. */
static void one_node_has_many_handles(void **state)
{
	struct rfm_events *events;
	struct rfm_event event;
	struct rfm_info info;
	const uint64_t *map;
	struct rfm *second;

	(void)state;
	open_pair();
	second = rfm_open(words[1], O_RDONLY);
	assert_non_null(second);
	put(near, 0x100, 42);
	map = rfm_map(second, 0x100, 8);
	assert_true(map && *map == 42);
	events = rfm_watch(second, 0x100, 8);
	assert_non_null(events);
	assert_int_equal(rfm_close(second), 0);
	assert_int_equal(rfm_close(far), 0);
	put(near, 0x100, 43);
	event = next(events);
	assert_int_equal(event.bytes[0], 43);
	assert_true(*map == 43);
	rfm_events_close(events);
	/* Now it has left; what it had can still be seen, and a new one begins with nothing. */
	assert_true(*map == 43);
	assert_int_equal(rfm_unmap((void *)map, 8), 0);
	far = rfm_open(words[1], O_RDWR);
	assert_non_null(far);
	map = rfm_map(far, 0x100, 8);
	assert_true(map && !*map);
	rfm_unmap((void *)map, 8);
	assert_int_equal(rfm_info(far, &info), 0);
	assert_int_equal(info.watches, 0);
	close_pair();
}

/* --- streams ---------------------------------------------------------------------------- */

/* Unlike a card's, in the order of all types; and those that ask for a reset, too. */
static void interrupts_wait_for_a_listener(void **state)
{
	const uint32_t types = RFM_EVENT_BIT(RFM_EVENT_INT1) | RFM_EVENT_BIT(RFM_EVENT_INT4);
	struct rfm_events *events, *copy;
	struct rfm_counters counters;
	struct rfm_event event;

	(void)state;
	open_pair();
	for (uint32_t i = 0; i < 130; i++)
		assert_int_equal(rfm_send(near, 2, i % 2 ? RFM_EVENT_INT4 : RFM_EVENT_INT1, i), 0);
	for (uint32_t i = 0; i < 130; i++)
		assert_int_equal(rfm_send(near, 2, RFM_EVENT_INT2, i), 0);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_counters(far, &counters), 0);
	assert_int_equal(counters.value[RFM_COUNTER_INTERRUPTS_DROPPED], 130 - RFM_FIFO_DEPTH);
	events = rfm_listen(far, types, RFM_LISTEN_EXCLUSIVE, 0);
	assert_non_null(events);
	for (uint32_t i = 0; i < 130; i++) {
		event = next(events);
		assert_int_equal(event.data, i);
		assert_int_equal(event.type, i % 2 ? RFM_EVENT_INT4 : RFM_EVENT_INT1);
		assert_int_equal(event.node, 1);
	}
	nothing_more(events);
	assert_null(rfm_listen(far, RFM_EVENT_BIT(RFM_EVENT_INT4), 0, 0));
	assert_int_equal(errno, EBUSY);
	copy = rfm_listen(far, RFM_EVENT_BIT(RFM_EVENT_INT2), RFM_LISTEN_DISCARD, 0);
	assert_non_null(copy);
	nothing_more(copy);
	rfm_events_close(copy);
	rfm_events_close(events);
	close_pair();
}

/* A reset request is a bit, and no interrupt that finds a FIFO full. */
static void one_reset_waits_for_a_listener(void **state)
{
	const uint32_t type = RFM_EVENT_BIT(RFM_EVENT_RESET);
	uint64_t counts[RFM_EVENT_TYPES];
	struct rfm_counters counters;
	struct rfm_events *events;
	struct rfm_event event;
	struct rfm_info info;

	(void)state;
	open_pair();
	assert_int_equal(rfm_info(far, &info), 0);
	assert_false(info.lisr & RFM_LISR_RESET_REQ);
	for (uint32_t i = 0; i < 130; i++)
		assert_int_equal(rfm_send(near, 2, RFM_EVENT_RESET, 0), 0);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	assert_int_equal(rfm_info(far, &info), 0);
	assert_true(info.lisr & RFM_LISR_RESET_REQ);
	assert_int_equal(rfm_counters(far, &counters), 0);
	assert_int_equal(counters.value[RFM_COUNTER_INTERRUPTS_DROPPED], 0);
	assert_int_equal(rfm_event_counts(far, counts, RFM_EVENT_TYPES), 0);
	assert_int_equal(counts[RFM_EVENT_RESET], 0);
	events = rfm_listen(far, type, 0, 0);
	assert_non_null(events);
	event = next(events);
	assert_true(event.type == RFM_EVENT_RESET && event.node == RFM_NODE_ALL);
	nothing_more(events);
	assert_int_equal(rfm_send(near, 2, RFM_EVENT_RESET, 0), 0);
	assert_int_equal(next(events).type, RFM_EVENT_RESET);
	assert_int_equal(rfm_event_counts(far, counts, RFM_EVENT_TYPES), 0);
	assert_int_equal(counts[RFM_EVENT_RESET], 2);
	rfm_events_close(events);
	assert_int_equal(rfm_send(near, 2, RFM_EVENT_RESET, 0), 0);
	assert_int_equal(rfm_fence(near, PATIENCE_MS, NULL), 0);
	events = rfm_listen(far, type, RFM_LISTEN_DISCARD, 0);
	assert_non_null(events);
	nothing_more(events);
	rfm_events_close(events);
	close_pair();
}

/* Those that say what the node says anyway, in all widths; and no other. */
static void a_node_has_few_registers(void **state)
{
	static const struct {
		uint32_t set, offset, width, mask, value;
		int error;
	} bad[] = {
		{ RFM_REGS_CONTROL, 0x14, 4, 0, 0, EOPNOTSUPP },
		{ RFM_REGS_CONTROL, 0x3c, 1, 0, 0, EOPNOTSUPP },
		{ RFM_REGS_RUNTIME, 0x0c, 4, 0, 0, EOPNOTSUPP },
		{ RFM_REGS_CONTROL, 0x08, 4, 1, 0, EOPNOTSUPP },
		{ RFM_REGS_CONTROL, 0x40, 1, 0, 0, EINVAL },
		{ RFM_REGS_RUNTIME, 0x200, 4, 0, 0, EINVAL },
		{ RFM_REGS_CONTROL, 0x09, 4, 0, 0, EINVAL },
		{ RFM_REGS_CONTROL, 0x08, 3, 0, 0, EINVAL },
		{ RFM_REGS_CONTROL, 0x08, 0, 0, 0, EINVAL },
		{ RFM_REGS_CONTROL, 0x08, 1, 0x100, 0, EINVAL },
		{ RFM_REGS_CONTROL, 0x08, 4, 1, 2, EINVAL },
		{ 2, 0x08, 4, 0, 0, EINVAL },
	};
	struct rfm_info info;
	uint32_t value;
	struct rfm *reader;

	(void)state;
	open_pair();
	assert_false(rfm_can(near) & RFM_CAN_REGS);
	assert_int_equal(rfm_info(near, &info), 0);
	assert_int_equal(rfm_reg_read(near, RFM_REGS_CONTROL, 1, 1, &value), 0);
	assert_int_equal(value, 0x65);
	assert_int_equal(rfm_reg_read(near, RFM_REGS_CONTROL, 4, 4, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(rfm_reg_read(near, RFM_REGS_CONTROL, 8, 4, &value), 0);
	assert_int_equal(value & ~RFM_LCSR1_OWN_DATA, info.lcsr1 & ~RFM_LCSR1_OWN_DATA);
	assert_int_equal(rfm_reg_read(near, RFM_REGS_CONTROL, 10, 2, &value), 0);
	assert_int_equal(value, info.lcsr1 >> 16);
	assert_int_equal(rfm_reg_read(near, RFM_REGS_CONTROL, 0x10, 4, &value), 0);
	assert_int_equal(value, info.lisr);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		value = 42;
		errno = 0;
		assert_int_equal(rfm_reg_update(near, bad[i].set, bad[i].offset, bad[i].width,
						bad[i].mask, bad[i].value, &value), -1);
		assert_int_equal(errno, bad[i].error);
		assert_int_equal(value, 42);
	}
	errno = 0;
	assert_null(rfm_map_regs(near, RFM_REGS_CONTROL, NULL));
	assert_int_equal(errno, EOPNOTSUPP);
	reader = rfm_open(words[0], O_RDONLY);
	assert_non_null(reader);
	errno = 0;
	assert_int_equal(rfm_reg_read(reader, RFM_REGS_CONTROL, 4, 1, &value), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(rfm_close(reader), 0);
	close_pair();
}

/* What happens on the ring: a node leaves. */
static void the_ring_is_told_of(void **state)
{
	struct rfm_events *events;
	struct rfm_event event;
	uint32_t seen = 0;

	(void)state;
	open_pair();
	events = rfm_listen(near, RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS) |
			    RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP), 0, 0);
	assert_non_null(events);
	assert_int_equal(rfm_close(far), 0);
	while (seen != (RFM_EVENT_BIT(RFM_EVENT_SYNC_LOSS) | RFM_EVENT_BIT(RFM_EVENT_MEMBERSHIP))) {
		event = next(events);
		seen |= RFM_EVENT_BIT(event.type);
	}
	rfm_events_close(events);
	far = rfm_open(words[1], O_RDWR);
	close_pair();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(what_means_no_node_is_refused),
		ring_test(what_a_ring_lacks_is_said),
		ring_test(settings_are_passed_on),
		ring_test(one_node_has_many_handles),
		ring_test(interrupts_wait_for_a_listener),
		ring_test(one_reset_waits_for_a_listener),
		ring_test(a_node_has_few_registers),
		ring_test(the_ring_is_told_of),
	};

	return cmocka_run_group_tests_name("librfm_ring", tests, NULL, NULL);
}
