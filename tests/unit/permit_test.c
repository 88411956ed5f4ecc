// SPDX-License-Identifier: MIT
/* links: tests/unit/ends.c */
/* Whom a certificate allows, and how a link holds its neighbour to that. */
#include "tests/unit/test.h"
#include "tests/unit/ends.h"

#include <string.h>

#include "ring/permit.h"

/* --- the name --------------------------------------------------------------------- */

static void allows(const char *name, bool hub, int first, int last)
{
	struct rfm_permit permit;

	assert_null(rfm_permit_parse(&permit, name));
	assert_int_equal(permit.hub, hub);
	for (int id = 0; id < RFM_RING_NODES; id++)
		assert_int_equal(rfm_permit_node(&permit, id), id >= first && id <= last);
}

static void a_name_says_who(void **state)
{
	struct rfm_permit permit;

	(void)state;
	allows("OU=rfm:node:17", false, 17, 17);
	allows("CN=node 17,OU=rfm:node:17,O=east hall", false, 17, 17);
	allows("CN=x, OU=rfm:node:0-255", false, 0, 255);
	allows("CN=x+OU=rfm:node:255;C=DE", false, 255, 255);
	allows("OU=rfm:node:16-31,OU=rfm:node:32-40", false, 16, 40);
	allows("OU=rfm:hub,CN=x", true, 1, 0);
	allows("OU=rfm:hub,OU=rfm:node:3", true, 3, 3);
	allows("OU=east hall,OU=rfm:node:3", false, 3, 3);
	assert_null(rfm_permit_parse(&permit, "OU=rfm:node:1,OU=rfm:node:200"));
	assert_true(rfm_permit_node(&permit, 1) && rfm_permit_node(&permit, 200));
	assert_false(rfm_permit_node(&permit, 2));
}

static void forbids(const char *name)
{
	static const struct rfm_permit nobody;
	struct rfm_permit permit;

	memset(&permit, 0xff, sizeof(permit));
	assert_non_null(rfm_permit_parse(&permit, name));
	assert_memory_equal(&permit, &nobody, sizeof(permit));
}

/* Nor what only looks like one, in another attribute or behind an escaped separator. */
static void other_names_say_nothing(void **state)
{
	static const char *const names[] = {
		"", "CN=node 17", "CN=rfm:node:17", "OU=node:17", "XOU=rfm:node:17", "CN=OU=rfm:node:17",
		"CN=x\\,OU=rfm:node:17", "CN=x\\+OU=rfm:node:17", "CN=x\\;OU=rfm:node:17",
		"CN=x\\,", "CN=x\\", "OU= rfm:node:17",
		/* What is begun and wrong allows nothing, whatever else there is. */
		"OU=rfm:", "OU=rfm:node", "OU=rfm:node:", "OU=rfm:node:256", "OU=rfm:node:x",
		"OU=rfm:node:1-", "OU=rfm:node:-1", "OU=rfm:node:2-1", "OU=rfm:node:1-256", "OU=rfm:node:1 ",
		"OU=rfm:node:1-2-3", "OU=rfm:hubs", "OU=rfm:hub\\,", "OU=rfm:node:17\\,OU=rfm:hub",
		"OU=rfm:node:3,OU=rfm:node:300", "OU=rfm:node:4294967299", "OU=rfm:NODE:3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		forbids(names[i]);
}

/* --- a link: the messages are of node 3 ---------------------------------------------- */

static struct rfm_permit permit_of(const char *name)
{
	struct rfm_permit permit;

	assert_null(rfm_permit_parse(&permit, name));
	return permit;
}

static void greeted(const char *name, const uint8_t *greeting, bool welcome_it)
{
	struct rfm_permit permit = permit_of(name);
	struct end *end = end_new(7);

	end->rx.permit = &permit;
	rfm_link_rx_opened(&end->rx, 0);
	assert_int_equal(!rfm_link_rx_received(&end->rx, greeting, RFM_LINK_MESSAGE, 0), welcome_it);
	assert_int_equal(end->rx.agreed, welcome_it);
	assert_int_equal(end->rx.reply_length, RFM_LINK_MESSAGE);
	assert_int_equal(end->rx.reply[3], welcome_it ? 2 : 3);
	assert_int_equal(end->rx.reply[5], welcome_it ? 0 : RFM_REFUSE_PERMIT);
	end_free(end);
}

static void upstream_is_who_it_may_be(void **state)
{
	uint8_t hub[RFM_LINK_MESSAGE];

	(void)state;
	changed(hub, hello, 5, 1);
	greeted("OU=rfm:node:3", hello, true);
	greeted("OU=rfm:node:4", hello, false);
	greeted("OU=rfm:hub", hello, false);
	greeted("OU=rfm:hub", hub, true);
	greeted("OU=rfm:node:3", hub, false);
}

static void answered_by(const char *name, const uint8_t *answer, bool good)
{
	struct rfm_permit permit = permit_of(name);
	struct end *end = end_new(3);
	uint8_t buf[RFM_LINK_BATCH];

	end->tx.permit = &permit;
	rfm_link_tx_opened(&end->tx, true, 0);
	rfm_link_tx_output(&end->tx, buf, 0);
	assert_int_equal(!rfm_link_tx_received(&end->tx, answer, RFM_LINK_MESSAGE, 0), good);
	assert_int_equal(end->tx.welcome, good);
	assert_int_equal(end->tx.refusal, good ? RFM_REFUSE_NONE : RFM_REFUSE_PERMIT);
	rfm_link_tx_closed(&end->tx, 0);
	assert_int_equal(end->tx.refusal, RFM_REFUSE_NONE);
	end_free(end);
}

static void downstream_is_who_it_may_be(void **state)
{
	(void)state;
	answered_by("OU=rfm:node:3", welcome, true);
	answered_by("OU=rfm:node:8", welcome, false);
	answered_by("OU=rfm:hub", welcome, false);
	answered_by("OU=rfm:hub", welcome_hub, true);
	answered_by("OU=rfm:node:3", welcome_hub, false);
}

/* What it says when it is refused, either way round. */
static void refusals_have_words(void **state)
{
	struct rfm_link_self self = { .id = 3, .incarnation = 1 };
	const char *last = NULL;

	(void)state;
	for (int why = RFM_REFUSE_NONE; why <= RFM_REFUSE_PERMIT + 1; why++) {
		struct end *end = end_new(7);
		uint8_t message[RFM_LINK_MESSAGE];
		const char *said;

		rfm_link_refuse(message, why, &self);
		rfm_link_rx_opened(&end->rx, 0);
		said = rfm_link_rx_received(&end->rx, message, sizeof(message), 0);
		assert_non_null(strstr(said, "the upstream neighbour"));
		assert_ptr_not_equal(said, last);
		assert_int_equal(end->rx.reply_length, 0);
		last = said;
		end_free(end);
	}
}

static const char *frame_with(const struct rfm_permit *permit, uint16_t hops)
{
	struct end *end = end_lit();
	uint8_t wire[RFM_FRAME_MAX];
	unsigned int len = data_frame(wire, 1, 0x55);
	const char *said;

	end->rx.permit = permit;
	rfm_frame_set_path(wire, hops, 0);
	said = rfm_link_rx_received(&end->rx, wire, len, 0);
	assert_int_equal(end->memory[0], said ? 0 : 0x55);
	end_free(end);
	return said;
}

static void its_own_frames_are_of_who_it_may_be(void **state)
{
	struct rfm_permit node = permit_of("OU=rfm:node:3"), other = permit_of("OU=rfm:node:4");
	struct rfm_permit hub = permit_of("OU=rfm:hub");

	(void)state;
	assert_null(frame_with(&node, 1));
	assert_null(frame_with(&other, 2));	/* it may have come by there */
	assert_null(frame_with(NULL, 1));
	assert_null(frame_with(&hub, 2));
	assert_non_null(frame_with(&other, 1));
	assert_non_null(frame_with(&other, 0));
	assert_non_null(frame_with(&hub, 1));	/* a hub has none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_who),
		cmocka_unit_test(other_names_say_nothing),
		cmocka_unit_test(upstream_is_who_it_may_be),
		cmocka_unit_test(downstream_is_who_it_may_be),
		cmocka_unit_test(refusals_have_words),
		cmocka_unit_test(its_own_frames_are_of_who_it_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
