// SPDX-License-Identifier: MIT
#include "ring/permit.h"

#include <string.h>

#include "ring/frame-layout.h"
#include "ring/link.h"
#include "ring/wire.h"

#define UNIT	"OU="
#define OURS	"rfm:"

static const char not_understood[] =
	"the certificate names something of a ring that is none: a unit that begins with rfm: is "
	"rfm:node:ID, rfm:node:FIRST-LAST or rfm:hub, with ids from 0 to 255";

static bool take_word(const char **text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*text, word, len))
		return false;
	*text += len;
	return true;
}

static bool take_id(const char **text, unsigned int *id)
{
	const char *p = *text;

	for (*id = 0; *p >= '0' && *p <= '9' && *id < RFM_RING_NODES; p++)
		*id = *id * 10 + (unsigned int)(*p - '0');
	if (p == *text || *id >= RFM_RING_NODES)
		return false;
	*text = p;
	return true;
}

/* Where the value of an attribute that begins here ends. */
static const char *end_of_value(const char *text)
{
	while (*text && !strchr(",+;", *text))
		text += *text == '\\' && text[1] ? 2 : 1;
	return text;
}

/* What stands behind "rfm:", up to @end. */
static bool take_unit(struct rfm_permit *permit, const char *text, const char *end)
{
	unsigned int first, last;

	if (take_word(&text, "hub")) {
		permit->hub = true;
		return text == end;
	}
	if (!take_word(&text, "node:") || !take_id(&text, &first))
		return false;
	last = first;
	if (take_word(&text, "-") && !take_id(&text, &last))
		return false;
	if (text != end || last < first)
		return false;
	for (; first <= last; first++)
		permit->nodes[first / 8] |= 1u << first % 8;
	return true;
}

const char *rfm_permit_parse(struct rfm_permit *permit, const char *name)
{
	bool any = false;

	memset(permit, 0, sizeof(*permit));
	while (*name) {
		const char *end = end_of_value(name);

		if (take_word(&name, UNIT OURS)) {
			any = true;
			if (!take_unit(permit, name, end)) {
				memset(permit, 0, sizeof(*permit));
				return not_understood;
			}
		}
		name = *end ? end + 1 : end;
		while (*name == ' ')
			name++;
	}
	return any ? NULL : "the certificate names no node of a ring (a unit rfm:node:ID) and no hub "
			    "(rfm:hub)";
}

bool rfm_permit_self(const struct rfm_permit *permit, const struct rfm_link_self *self)
{
	return self->hub ? permit->hub : rfm_permit_node(permit, self->id);
}

bool rfm_permit_frame(const struct rfm_permit *permit, const uint8_t *wire)
{
	/* A damaged hop count says nothing; the frame goes no further. */
	return frame_hops(wire) > 1 || wire[AT_HOP_CHECK] != hop_check(wire) ||
	       rfm_permit_node(permit, wire[AT_SOURCE]);
}
