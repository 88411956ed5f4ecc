// SPDX-License-Identifier: MIT
/* rmctl verify: is the memory of every node as that of this one? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <linux/rfm_netlink.h>

#include "tools/common/units.h"
#include "tools/rmctl/card/open.h"
#include "tools/rmctl/card/state.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/progress.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/regions/value.h"
#include "transfer.h"

#define TIMEOUT_DEFAULT_MS 1000u
#define TIMEOUT_MAX_MS 60000u
#define NODES 256u
#define ALL NODES		/* not one of them */
#define WORD 4u			/* bytes of the values that are shown */
#define PIECE 8u		/* bytes of which an answer holds all */
#define PAGE 4096u
#define ATTEMPTS 4		/* questions for the same: it may be written meanwhile */
#define SEARCHES 256u		/* parts that are looked at for a difference, of one node */
#define SEARCHES_MIN 64u	/* enough to find one that is there */

/* What the answers of a node to one question, asked again, come to. */
enum verdict {
	UNKNOWN,	/* it was not asked yet */
	SILENT,		/* it has not answered */
	BEYOND,		/* its memory does not have all of it */
	EQUAL,		/* it had the same once */
	DIFFERS,	/* it has something else, and keeps it */
	CHANGES,	/* something else each time, as this node has */
};

/* What was found out about a node. */
struct node {
	bool asked;			/* it is on the ring, or was */
	bool behind;			/* it stands still */
	uint64_t silent;		/* pages for which it did not answer */
	uint64_t differing;		/* pages in which it differs */
	/* Pages that could not be compared, as they change all the time. */
	uint64_t changing;
	uint64_t changing_at;		/* the first of them */
	uint64_t compared;		/* pages that could be compared */
	/* Bytes of pages that it has not, or not as a whole: they are not compared. */
	uint64_t beyond;
	enum verdict verdict;		/* about what is asked for just now */
	uint32_t crc;			/* of its last answer */
	/* Parts of pages that may still be looked at; it may all change. */
	unsigned int searches;
	bool placed;			/* where it differs first is known: the others count */
	uint64_t offset;		/* of the first byte that differs */
	uint32_t here;			/* the word around it in this node's memory */
	uint32_t there;			/* and in its */
	unsigned int word;		/* bytes of both */
	char name[RFM_REGION_PATH_MAX];	/* of the value there, "": it has none */
	/* That value, of at most eight bytes, or the word, which has no type. */
	struct rfm_place value;
	uint8_t value_here[PIECE];	/* its bytes */
	uint8_t value_there[PIECE];	/* and in the node's memory */
};

/* A verification. */
struct verify {
	struct command *cmd;
	const char *which;		/* the card, as the user named it */
	const struct card *card;
	uint64_t offset;		/* of the range */
	uint64_t length;		/* of the range */
	uint32_t timeout_ms;		/* for each question */
	const char *policy;		/* this node's base policy, NULL: not known */
	uint64_t pages;			/* that were asked for */
	uint64_t done;			/* bytes that were compared */
	struct progress progress;	/* what is told of it */
	struct rfm_verify answers;	/* to the last question */
	uint32_t crc;			/* this node's own, to the one before */
	struct node node[NODES];	/* what is known of each */
};

/* --- asking -------------------------------------------------------------------- */

/* Returns an exit status; what is wrong has been said, but for an end by the user. */
static int ask(struct verify *verify, uint64_t offset, uint32_t length)
{
	struct rfm_verify *args = &verify->answers;
	int error = stop_asked() ? EINTR : 0;

	if (!error && rfm_verify(verify->card->rfm, offset, length, verify->timeout_ms, args))
		error = errno;
	if (!error && !(args->flags & RFM_FENCED_DARK))
		return STATUS_OK;
	progress_end(&verify->progress);
	switch (error) {
	case 0:
		return failed(verify->cmd, "nothing leaves this node any more, from 0x%" PRIx64
			      " on: no signal, or its transmitter is off", offset);
	case EINTR:
		return STATUS_FAILED;
	case ETIMEDOUT:
		return failed(verify->cmd, "the ring has not brought the question for 0x%" PRIx64
			      " back within %" PRIu32 " ms", offset, verify->timeout_ms);
	case ENOBUFS:
		return failed(verify->cmd, "no room on the ring for the question for 0x%" PRIx64
			      ": this node's queue is full", offset);
	default:
		return failed(verify->cmd, "cannot ask the nodes for 0x%" PRIx64 ": %s", offset,
			      card_reason(error));
	}
}

static const struct rfm_node_answer *own_answer(const struct verify *verify)
{
	return &verify->answers.answer[verify->answers.node];
}

/* Has it others than this node? More is no answer. */
static bool differs(const struct verify *verify, unsigned int id)
{
	const struct rfm_node_answer *own = own_answer(verify);
	const struct rfm_node_answer *its = &verify->answers.answer[id];

	return its->length > own->length || its->crc != own->crc;
}

/* Nodes that have come since are asked too, and have not answered for what was before. */
static void note_who_is_there(struct verify *verify)
{
	for (unsigned int id = 0; id < NODES; id++) {
		if (verify->node[id].asked || id == verify->answers.node ||
		    !(verify->answers.answer[id].flags & RFM_ANSWER_GIVEN))
			continue;
		verify->node[id].asked = true;
		verify->node[id].silent = verify->pages;
		verify->node[id].searches = SEARCHES;
	}
}

/*
 * Takes a node's answer. Returns whether asking again might tell something new: who is
 * known not to answer is not waited for page after page.
 *
 * What is asked for is read here, there, here again and there again; and whatever was
 * stored in one of these memories by then is in the next, if all is well. So where one of
 * the two has stayed the same, the other must have had the same in between.
 */
static bool judge(struct verify *verify, unsigned int id)
{
	struct node *node = &verify->node[id];
	const struct rfm_node_answer *its = &verify->answers.answer[id];
	bool again = node->verdict == CHANGES;
	bool stayed = its->crc == node->crc || own_answer(verify)->crc == verify->crc;

	node->crc = its->crc;
	if (node->verdict == EQUAL || node->verdict == DIFFERS || node->verdict == BEYOND)
		return false;
	if (!(its->flags & RFM_ANSWER_GIVEN)) {
		node->verdict = SILENT;
		return !node->silent;
	}
	if (its->length < own_answer(verify)->length)
		node->verdict = BEYOND;
	else if (!differs(verify, id))
		node->verdict = EQUAL;
	else
		node->verdict = again && stayed ? DIFFERS : CHANGES;
	return node->verdict == CHANGES;
}

/*
 * Asks until what node @only has is clear, or what all have, or for so many times. Returns
 * an exit status.
 */
static int compare(struct verify *verify, unsigned int only, uint64_t offset, uint32_t length,
		   int attempts)
{
	unsigned int first = only == ALL ? 0 : only, end = only == ALL ? NODES : only + 1;
	bool open = true;

	for (unsigned int id = first; id < end; id++)
		verify->node[id].verdict = UNKNOWN;
	for (int i = 0; i < attempts && open; i++) {
		int status = ask(verify, offset, length);

		if (status)
			return status;
		if (only == ALL)
			note_who_is_there(verify);
		open = false;
		for (unsigned int id = first; id < end; id++)
			open |= verify->node[id].asked && judge(verify, id);
		verify->crc = own_answer(verify)->crc;
	}
	return STATUS_OK;
}

/* --- where ---------------------------------------------------------------------- */

/* The last question was for a piece at @offset in which node @id differs. */
static void take_place(struct verify *verify, unsigned int id, uint64_t offset)
{
	const struct rfm_node_answer *own = own_answer(verify);
	const uint8_t *here = own->first, *there = verify->answers.answer[id].first;
	struct node *node = &verify->node[id];
	unsigned int at = 0, word;

	while (at < own->length - 1 && here[at] == there[at])
		at++;
	node->offset = offset + at;
	word = node->offset % WORD < at ? at - node->offset % WORD : 0;
	node->word = own->length - word < WORD ? own->length - word : WORD;
	memcpy(&node->here, here + word, node->word);
	memcpy(&node->there, there + word, node->word);
	node->value = (struct rfm_place){ .length = node->word, .unit = "" };
	memcpy(node->value_here, here + word, node->word);
	memcpy(node->value_there, there + word, node->word);
	node->placed = true;
}

/* What lies at the first byte that differs, by its name. Returns an exit status. */
static int find_name(struct verify *verify, unsigned int id)
{
	struct node *node = &verify->node[id];
	const uint8_t *here, *there;
	struct rfm_place value;
	int status;

	if (!value_at(verify->cmd, node->offset, 0, UINT64_MAX, &value, node->name) ||
	    value.length > PIECE)
		return STATUS_OK;
	status = ask(verify, value.offset, value.length);
	here = own_answer(verify)->first;
	there = verify->answers.answer[id].first;
	/* It may have come back in step meanwhile: then the words say what it was. */
	if (status || !memcmp(here, there, value.length))
		return status;
	node->value = value;
	memcpy(node->value_here, here, value.length);
	memcpy(node->value_there, there, value.length);
	return STATUS_OK;
}

/*
 * Halves, down to a piece; the other half too where this one only changes. Returns an exit
 * status; node->placed says whether there is such a place.
 */
static int find_place(struct verify *verify, unsigned int id, uint64_t offset, uint32_t length)
{
	struct node *node = &verify->node[id];
	uint64_t middle = (offset + length / 2) / PIECE * PIECE;
	int status;

	if (!node->searches)
		return STATUS_OK;
	node->searches--;
	status = compare(verify, id, offset, length, ATTEMPTS);
	if (status || (node->verdict != DIFFERS && node->verdict != CHANGES))
		return status;
	if (length <= PIECE) {
		if (node->verdict == DIFFERS)
			take_place(verify, id, offset);
		return STATUS_OK;
	}
	if (middle <= offset)
		middle = offset + length / 2;
	status = find_place(verify, id, offset, middle - offset);
	if (!status && !node->placed)
		status = find_place(verify, id, middle, offset + length - middle);
	return status;
}

/* A page in which node @id differs, or which changes. Returns an exit status. */
static int look_into(struct verify *verify, unsigned int id, uint64_t offset, uint32_t length)
{
	struct node *node = &verify->node[id];
	bool differs_for_good = node->verdict == DIFFERS;
	int status;

	if (!node->placed) {
		if (differs_for_good && node->searches < SEARCHES_MIN)
			node->searches = SEARCHES_MIN;
		status = find_place(verify, id, offset, length);
		if (!status && node->placed)
			status = find_name(verify, id);
		if (status)
			return status;
		differs_for_good = node->placed;
	}
	if (differs_for_good) {
		node->compared++;
		node->differing++;
	} else if (!node->changing++) {
		node->changing_at = offset;
	}
	return STATUS_OK;
}

/* --- page by page ----------------------------------------------------------------- */

/* What the last question, for so many pages, has told besides differences. */
static void take_answers(struct verify *verify, uint64_t pages)
{
	for (unsigned int id = 0; id < NODES; id++) {
		const struct rfm_node_answer *its = &verify->answers.answer[id];
		struct node *node = &verify->node[id];

		if (!node->asked)
			continue;
		if (node->verdict == SILENT)
			node->silent += pages;
		else if (node->verdict == BEYOND)
			node->beyond += verify->answers.length;
		else if (node->verdict == EQUAL)
			node->compared += pages;
		node->behind |= its->flags & RFM_ANSWER_BEHIND;
	}
	verify->pages += pages;
}

static int verify_page(struct verify *verify, uint64_t offset, uint32_t length)
{
	int status = compare(verify, ALL, offset, length, ATTEMPTS);

	if (status)
		return status;
	take_answers(verify, 1);
	for (unsigned int id = 0; id < NODES && !status; id++)
		if (verify->node[id].asked && (verify->node[id].verdict == DIFFERS ||
					       verify->node[id].verdict == CHANGES))
			status = look_into(verify, id, offset, length);
	return status;
}

/* Does what the nodes have said of several pages at once hold for each of them? */
static bool is_clear(const struct verify *verify)
{
	for (unsigned int id = 0; id < NODES; id++) {
		const struct node *node = &verify->node[id];

		if (!node->asked || node->verdict == EQUAL)
			continue;
		if (node->verdict == BEYOND && !verify->answers.answer[id].length)
			continue;
		if (node->verdict != SILENT || !node->silent)
			return false;
	}
	return true;
}

/* Pages from @offset on that one question can ask for. Returns an exit status. */
static int verify_block(struct verify *verify, uint64_t offset, uint32_t length)
{
	uint64_t pages = (offset + length - 1) / PAGE - offset / PAGE + 1;
	int status = pages > 1 ? compare(verify, ALL, offset, length, 1) : STATUS_OK;

	if (!status && pages > 1 && is_clear(verify)) {
		take_answers(verify, pages);
		verify->done += length;
		return STATUS_OK;
	}
	for (uint32_t at = 0, piece; at < length && !status; at += piece) {
		piece = PAGE - (offset + at) % PAGE;
		if (piece > length - at)
			piece = length - at;
		status = verify_page(verify, offset + at, piece);
		if (!status)
			verify->done += piece;
	}
	return status;
}

static int verify_all(struct verify *verify)
{
	int status = STATUS_OK;

	progress_begin(&verify->progress, verify->cmd, verify->length);
	while (!status && verify->done < verify->length) {
		uint64_t at = verify->offset + verify->done, left = verify->length - verify->done;
		uint32_t length = RFM_VERIFY_MAX - at % RFM_VERIFY_MAX;

		if (length > left)
			length = left;
		status = verify_block(verify, at, length);
		progress_show(&verify->progress, verify->done);
	}
	progress_end(&verify->progress);
	if (progress_stopped(&verify->progress, verify->done))
		return transfer_cut_short(verify->cmd, verify->done, verify->length, "compared");
	return status;
}

/* --- what came of it ---------------------------------------------------------------- */

/* STATUS_NO: something differs; STATUS_UNKNOWN: nothing does, but not all was compared. */
static int verdict_of(const struct node *node)
{
	if (node->differing)
		return STATUS_NO;
	return node->silent || node->beyond || node->changing ? STATUS_UNKNOWN : STATUS_OK;
}

static int verdict_of_all(const struct verify *verify)
{
	int status = STATUS_OK;

	for (unsigned int id = 0; id < NODES && status != STATUS_NO; id++)
		if (verify->node[id].asked && verdict_of(&verify->node[id]))
			status = verdict_of(&verify->node[id]);
	return status;
}

/* Whether it is equal: true, false or not known. */
static json_t *json_verdict(int status)
{
	return status == STATUS_UNKNOWN ? json_null() : json_boolean(status == STATUS_OK);
}

static json_t *node_json(const struct verify *verify, unsigned int id)
{
	const struct node *node = &verify->node[id];
	bool placed = node->placed;

	return json_pack(
		"{s:i, s:o, s:b, s:b, s:I, s:I, s:I, s:I, s:o, s:I, s:o, s:s?, s:o, s:o}", "node",
		(int)id, "equal", json_verdict(verdict_of(node)), "answered",
		node->silent < verify->pages, "behind", node->behind, "compared_pages",
		(json_int_t)node->compared, "unanswered_pages", (json_int_t)node->silent, "differing_pages",
		(json_int_t)node->differing, "changing_pages", (json_int_t)node->changing,
		"changing_offset", json_known(node->changing, node->changing_at), "beyond_bytes",
		(json_int_t)node->beyond, "first_offset", json_known(placed, node->offset), "name",
		*node->name ? node->name : NULL, "here",
		placed ? json_hex(node->here, node->word) : json_null(), "there",
		placed ? json_hex(node->there, node->word) : json_null());
}

/* Where it differs first: by name and in its type, as far as it has one, else the words. */
static void print_place(const struct verify *verify, const struct node *node)
{
	char here[VALUE_TEXT(PIECE)], there[VALUE_TEXT(PIECE)];
	const char *unit = node->value.unit, *blank = *unit ? " " : "";

	place_text(&node->value, node->value_here, here, sizeof(here));
	place_text(&node->value, node->value_there, there, sizeof(there));
	printf("first differs at 0x%08" PRIx64 "%s%s: %s%s%s here, %s%s%s there; %" PRIu64 " of %"
	       PRIu64 " pages", node->offset, *node->name ? " " : "", node->name, here,
	       blank, unit, there, blank, unit, node->differing, verify->pages);
}

static void print_node(const struct verify *verify, unsigned int id)
{
	const struct node *node = &verify->node[id];
	char name[UNIT_TEXT], size[UNIT_TEXT];

	printf("  %s: ", node_text(name, id));
	if (node->placed)
		print_place(verify, node);
	else if (node->silent == verify->pages)
		printf("did not answer");
	else if (!node->compared)
		printf("not compared");
	else
		printf("%s", verdict_of(node) ? "equal as far as compared" : "equal");
	if (node->changing)
		printf("; %" PRIu64 " of %" PRIu64 " pages change all the time, the first at 0x%08"
		       PRIx64, node->changing, verify->pages, node->changing_at);
	if (node->silent && node->silent < verify->pages)
		printf("; no answer for %" PRIu64 " pages", node->silent);
	if (node->beyond)
		printf("; %s of it not compared: they lie outside its memory",
		       size_exact(size, node->beyond));
	printf("%s\n", node->behind ? "; it stands still, and may have more to store" : "");
}

static int report(const struct verify *verify)
{
	const struct command *cmd = verify->cmd;
	json_t *nodes = json_array();
	int verdict = verdict_of_all(verify), status;
	char size[UNIT_TEXT];

	if (!cmd->json)
		printf("%s: %s from 0x%" PRIx64 " on, compared with this node's\n", cmd->card,
		       size_exact(size, verify->length), verify->offset);
	for (unsigned int id = 0; id < NODES; id++)
		if (verify->node[id].asked && cmd->json)
			json_array_append_new(nodes, node_json(verify, id));
		else if (verify->node[id].asked)
			print_node(verify, id);
	if (cmd->json)
		status = out_json(cmd, json_pack(
			"{s:s, s:I, s:I, s:i, s:s?, s:I, s:o, s:O}", "device", cmd->card, "offset",
			(json_int_t)verify->offset, "length", (json_int_t)verify->length, "node",
			(int)verify->answers.node, "base_policy", verify->policy, "pages",
			(json_int_t)verify->pages, "equal", json_verdict(verdict), "nodes", nodes));
	else
		status = out_flush(cmd);
	json_decref(nodes);
	return status ? status : verdict;
}

/* --- the verb ------------------------------------------------------------------------ */

/* All that was stored here must have gone round first. Returns an exit status. */
static int fence_first(const struct verify *verify)
{
	struct rfm_fence_wait fence = { .timeout_ms = verify->timeout_ms };
	int error = card_fence(verify->card, &fence);

	if (error == EINTR)
		return transfer_cut_short(verify->cmd, verify->done, verify->length, "compared");
	if (error == ETIMEDOUT)
		return failed(verify->cmd, "the fence before it has not come home within %" PRIu32
			      " ms", verify->timeout_ms);
	if (error)
		return failed(verify->cmd, "cannot fence: %s", card_reason(error));
	if (fence.flags & RFM_FENCED_DARK)
		return failed(verify->cmd, "nothing leaves this node: no signal, its transmitter "
			      "is off, or its queue is full");
	return STATUS_OK;
}

/* What is not received, or not sent, differs rightly. */
static void look_at_policy(struct verify *verify)
{
	static char word[UNIT_TEXT];
	struct state state;
	uint64_t policy;

	/* Why it is not known has been said; it is no reason not to compare. */
	if (state_find(verify->cmd, verify->which, &state) ||
	    !setting_known(&state.settings, SETTING_POLICY))
		return;
	policy = state.settings.value[SETTING_POLICY];
	verify->policy = setting_word(word, SETTING_POLICY, policy);
	if (policy != RFM_POLICY_ALL && !verify->cmd->json)
		warn_user(verify->cmd, "this node's base policy is %s: what nobody here has subscribed "
			  "to is neither received nor sent, and differs rightly", verify->policy);
}

/* Returns an exit status. */
static int find_members(struct verify *verify)
{
	struct rfm_member member[NODES] = { 0 };
	unsigned int others = 0;

	if (rfm_ring_map(verify->card->rfm, member, NODES, NULL))
		return failed(verify->cmd, "cannot get the ring map: %s", card_reason(errno));
	for (unsigned int id = 0; id < NODES; id++) {
		verify->node[id].asked = member[id].present && id != verify->card->info.node;
		verify->node[id].searches = SEARCHES;
		others += verify->node[id].asked;
	}
	return others ? STATUS_OK :
			refuse(verify->cmd, STATUS_UNKNOWN, "no other node is on the ring");
}

static int verify_card(struct verify *verify)
{
	const struct card *card = verify->card;
	int status;

	if (!verify->length)
		verify->length = card->info.memory_size;
	status = card_check_memory(verify->cmd, card->info.memory_size, verify->offset,
				   verify->length);
	if (!status && !(card->info.features & RFM_EXT_FEATURE_QUERY))
		status = failed(verify->cmd, "%s", card->info.features ?
				"the card cannot ask other nodes (feature query)" :
				card_reason(EOPNOTSUPP));
	if (!status)
		status = fence_first(verify);
	if (!status)
		status = find_members(verify);
	if (status)
		return status;
	look_at_policy(verify);
	status = verify_all(verify);
	return status ? status : report(verify);
}

int verb_verify(struct command *cmd, int argc, char **argv)
{
	struct target target = { .length = 0 };
	static struct verify verify;
	struct card card;
	int status;

	verify = (struct verify){ .cmd = cmd, .card = &card, .timeout_ms = TIMEOUT_DEFAULT_MS };
	status = get_timeout(cmd, argc, argv, TIMEOUT_MAX_MS, &verify.timeout_ms);
	if (!status)
		status = check_operands(cmd, argc, argv, 1, 2);
	if (!status && argc - optind == 2)
		status = get_target(cmd, argv[optind + 1], &target);
	if (status)
		return status;
	verify.offset = target.offset;
	verify.length = target.length;
	regions_try(cmd);
	verify.which = argv[optind];
	status = card_open(cmd, &card, verify.which, true);
	return status ? status : verify_card(&verify);
}
