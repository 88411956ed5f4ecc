// SPDX-License-Identifier: MIT
/* Values of regions in the memory of a handle: one load or one store each. */
#include "regions_private.h"

#include <string.h>

#include "rfm/rfm.h"

#define WORD_MAX	8

static bool is_text(const struct rfm_place *place)
{
	return place->type == RFM_REGION_CHAR;
}

/* Room for the bytes of a value, of which a text may have many. */
static int check_room(const struct rfm_place *place)
{
	if (is_text(place))
		return place->length > RFM_PLACE_TEXT_MAX ? fail_with(EMSGSIZE) : 0;
	return place->type && place->count == 1 && place->length <= WORD_MAX ? 0 : fail_with(EINVAL);
}

static int load(struct rfm *rfm, const struct rfm_place *place, void *bytes)
{
	if (check_room(place))
		return -1;
	if (is_text(place))
		return rfm_read(rfm, place->offset, bytes, place->length);
	switch (place->length) {
	case 1:
		return rfm_load8(rfm, place->offset, bytes);
	case 2:
		return rfm_load16(rfm, place->offset, bytes);
	case 4:
		return rfm_load32(rfm, place->offset, bytes);
	default:
		return rfm_load64(rfm, place->offset, bytes);
	}
}

int place_store(struct rfm *rfm, const struct rfm_place *place, const void *bytes)
{
	uint64_t word = 0;
	uint32_t half;
	uint16_t quarter;

	if (is_text(place))
		return rfm_write(rfm, place->offset, bytes, place->length);
	switch (place->length) {
	case 1:
		return rfm_store8(rfm, place->offset, *(const uint8_t *)bytes);
	case 2:
		memcpy(&quarter, bytes, sizeof(quarter));
		return rfm_store16(rfm, place->offset, quarter);
	case 4:
		memcpy(&half, bytes, sizeof(half));
		return rfm_store32(rfm, place->offset, half);
	default:
		memcpy(&word, bytes, sizeof(word));
		return rfm_store64(rfm, place->offset, word);
	}
}

int rfm_place_load(struct rfm *rfm, const struct rfm_place *place, char *text, size_t size)
{
	uint64_t bytes[RFM_PLACE_TEXT_MAX / WORD_MAX];

	return load(rfm, place, bytes) ? -1 : rfm_value_print(place, bytes, text, size);
}

int rfm_place_store(struct rfm *rfm, const struct rfm_place *place, const char *text)
{
	uint64_t bytes[RFM_PLACE_TEXT_MAX / WORD_MAX];

	return check_room(place) || rfm_value_scan(place, text, bytes) ? -1 :
	       place_store(rfm, place, bytes);
}

int rfm_place_load_real(struct rfm *rfm, const struct rfm_place *place, double *real)
{
	uint64_t word;

	if (is_text(place))
		return fail_with(EINVAL);
	return load(rfm, place, &word) ? -1 : rfm_value_real(place, &word, real);
}

int rfm_place_store_real(struct rfm *rfm, const struct rfm_place *place, double real)
{
	uint64_t word;

	return rfm_value_set_real(place, real, &word) ? -1 : place_store(rfm, place, &word);
}

int rfm_place_load_integer(struct rfm *rfm, const struct rfm_place *place, int64_t *integer)
{
	uint64_t word;

	if (is_text(place))
		return fail_with(EINVAL);
	return load(rfm, place, &word) ? -1 : rfm_value_integer(place, &word, integer);
}

int rfm_place_store_integer(struct rfm *rfm, const struct rfm_place *place, int64_t integer)
{
	uint64_t word;

	return rfm_value_set_integer(place, integer, &word) ? -1 : place_store(rfm, place, &word);
}
