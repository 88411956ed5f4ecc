// SPDX-License-Identifier: MIT
#include "tests/unit/test.h"

#include <string.h>

#include "ring/crc32c.h"

/* RFC 3720, B.4. The RFC prints the four bytes as sent, lowest first. */
static void known_vectors(void **state)
{
	static const uint8_t read_pdu[48] = {
		0x01, 0xc0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x14, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00,
		0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x18,
		0x28, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	uint8_t bytes[32];

	(void)state;
	memset(bytes, 0x00, sizeof(bytes));
	assert_int_equal(rfm_crc32c(0, bytes, 32), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(rfm_crc32c(0, bytes, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(rfm_crc32c(0, bytes, 32), 0x46dd794e);
	for (int i = 0; i < 32; i++)
		bytes[i] = 31 - i;
	assert_int_equal(rfm_crc32c(0, bytes, 32), 0x113fdb5c);
	assert_int_equal(rfm_crc32c(0, read_pdu, 48), 0xd9963a56);
	/* The check value of the CRC catalogues. */
	assert_int_equal(rfm_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(rfm_crc32c(0, "", 0), 0);
}

/* Every length and alignment, with the table and with the instruction. */
static void table_equals_instruction(void **state)
{
	uint8_t bytes[160];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = test_random(&seed);
	for (size_t at = 0; at < 16; at++)
		for (size_t len = 0; len + at <= sizeof(bytes); len++)
			assert_int_equal(rfm_crc32c(0, bytes + at, len),
					 rfm_crc32c_table(0, bytes + at, len));
	assert_int_equal(rfm_crc32c_table(0, "123456789", 9), 0xe3069283);
}

/* Of those that are summed in lanes: round the lengths at which more of them fit. */
static void long_blocks_too(void **state)
{
	static uint8_t bytes[10000];
	uint64_t seed = 2;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = test_random(&seed);
	for (size_t len = 900; len < sizeof(bytes) - 8; len += 7)
		assert_int_equal(rfm_crc32c(len, bytes + len % 8, len),
				 rfm_crc32c_table(len, bytes + len % 8, len));
	for (size_t len = 4070; len < 4110; len++)
		assert_int_equal(rfm_crc32c(0, bytes, len), rfm_crc32c_table(0, bytes, len));
}

static void in_pieces_as_in_one(void **state)
{
	static const char text[] = "one memory, seen by every node of the ring";
	uint32_t whole = rfm_crc32c(0, text, sizeof(text));

	(void)state;
	for (size_t cut = 0; cut <= sizeof(text); cut++) {
		uint32_t crc = rfm_crc32c(0, text, cut);

		assert_int_equal(rfm_crc32c(crc, text + cut, sizeof(text) - cut), whole);
		crc = rfm_crc32c_table(0, text, cut);
		assert_int_equal(rfm_crc32c_table(crc, text + cut, sizeof(text) - cut), whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_vectors),
		cmocka_unit_test(table_equals_instruction),
		cmocka_unit_test(long_blocks_too),
		cmocka_unit_test(in_pieces_as_in_one),
	};

	return cmocka_run_group_tests_name("crc32c", tests, NULL, NULL);
}
