// SPDX-License-Identifier: MIT
/* rmctl verify: is the memory of every node as that of this one? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/rfm_regs.h>

#include "card.h"
#include "out.h"
#include "regions.h"

#define TIMEOUT_DEFAULT_MS 1000u
#define TIMEOUT_MAX_MS 60000u
#define NODES 256u
#define WORD 4u			/* bytes of the values that are shown */
#define PIECE 8u		/* bytes of which an answer holds all */
#define ATTEMPTS 4		/* a page that is being written differs for a moment */
#define QUIET_MS 500u		/* what is over by then shows no progress */
#define REDRAW_MS 200u

/**
 * struct node - what was found out about a node
 * @asked: it is on the ring, or was
 * @behind: it stands still
 * @silent: pages for which it did not answer
 * @differing: pages in which it differs
 * @beyond: bytes of pages that it has not, or not as a whole: they are not compared
 * @placed: where it differs first is known: the others count
 * @offset: of the first byte that differs
 * @here: the word around it in this node's memory
 * @there: and in its
 * @word: bytes of both
 */
struct node {
	bool asked, behind;
	uint64_t silent, differing, beyond;
	bool placed;
	uint64_t offset;
	uint32_t here, there;
	unsigned int word;
};

/**
 * struct verify - a verification
 * @cmd: the command
 * @card: the card
 * @offset: of the range
 * @length: of the range
 * @timeout_ms: for each question
 * @pages: that were asked for
 * @begun_ms: when it began
 * @shown_ms: when the progress was drawn last, 0: never
 * @answers: to the last question
 * @node: what is known of each
 */
struct verify {
	struct command *cmd;
	const struct card *card;
	uint64_t offset, length;
	uint32_t timeout_ms;
	uint64_t pages;
	uint64_t begun_ms, shown_ms;
	struct rfm_verify answers;
	struct node node[NODES];
};

/* --- progress ----------------------------------------------------------------- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void show_progress(struct verify *verify, uint64_t done)
{
	uint64_t now = now_ms();

	if (!isatty(STDERR_FILENO) || now - verify->begun_ms < QUIET_MS ||
	    now - verify->shown_ms < REDRAW_MS)
		return;
	verify->shown_ms = now;
	fprintf(stderr, "\r%s: verify: %u %%\033[K", verify->cmd->card,
		(unsigned int)(done * 100 / verify->length));
}

static void end_progress(struct verify *verify)
{
	if (verify->shown_ms)
		fputs("\r\033[K", stderr);
	verify->shown_ms = 0;
}

/* --- asking -------------------------------------------------------------------- */

/* Returns an exit status. */
static int ask(struct verify *verify, uint64_t offset, uint32_t length)
{
	struct rfm_verify *args = &verify->answers;

	do {
		*args = (struct rfm_verify){
			.offset = offset, .length = length, .timeout_ms = verify->timeout_ms,
		};
		if (!ioctl(verify->card->fd, RFM_IOC_VERIFY, args)) {
			if (!(args->flags & RFM_FENCED_DARK))
				return STATUS_OK;
			end_progress(verify);
			return failed(verify->cmd, "nothing leaves this node any more, from 0x%"
				      PRIx64 " on: no signal, or its transmitter is off", offset);
		}
	} while (errno == EINTR);
	end_progress(verify);
	if (errno == ETIMEDOUT)
		return failed(verify->cmd, "the ring has not brought the question for 0x%" PRIx64
			      " back within %" PRIu32 " ms", offset, verify->timeout_ms);
	return failed(verify->cmd, "cannot ask the nodes for 0x%" PRIx64 ": %s", offset,
		      card_reason(errno));
}

static const struct rfm_node_answer *own_answer(const struct verify *verify)
{
	return &verify->answers.answer[verify->answers.node];
}

/* Has it all of the bytes that were asked for, and others than this node? More is no answer. */
static bool differs(const struct verify *verify, unsigned int id)
{
	const struct rfm_node_answer *own = own_answer(verify);
	const struct rfm_node_answer *its = &verify->answers.answer[id];

	return its->flags & RFM_ANSWER_GIVEN && its->length >= own->length &&
	       (its->length > own->length || its->crc != own->crc);
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
	}
}

/*
 * Is there nobody of whom asking again might tell something new? Who is known to
 * differ, or not to answer, is not waited for page after page.
 */
static bool is_settled(const struct verify *verify)
{
	for (unsigned int id = 0; id < NODES; id++) {
		const struct node *node = &verify->node[id];
		bool given = verify->answers.answer[id].flags & RFM_ANSWER_GIVEN;

		if (node->asked && ((!given && !node->silent) ||
				    (differs(verify, id) && !node->placed)))
			return false;
	}
	return true;
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
	node->placed = true;
}

/* Halves, down to a piece. What changes meanwhile may not be found. Returns an exit status. */
static int find_place(struct verify *verify, unsigned int id, uint64_t offset, uint32_t length)
{
	int status = STATUS_OK;

	while (!status && length > PIECE) {
		uint64_t end = offset + length, middle = (offset + length / 2) / PIECE * PIECE;

		if (middle <= offset)
			middle = offset + length / 2;
		status = ask(verify, offset, middle - offset);
		if (!status && !differs(verify, id))
			offset = middle;
		else
			end = middle;
		length = end - offset;
	}
	if (!status)
		status = ask(verify, offset, length);
	if (!status && differs(verify, id))
		take_place(verify, id, offset);
	return status;
}

static int place_all(struct verify *verify, uint64_t offset, uint32_t length,
		     const bool *differing)
{
	int status = STATUS_OK;

	for (unsigned int id = 0; id < NODES; id++) {
		if (!differing[id] || verify->node[id].placed)
			continue;
		for (int i = 0; i < ATTEMPTS && !status && !verify->node[id].placed; i++)
			status = find_place(verify, id, offset, length);
	}
	return status;
}

/* --- page by page ----------------------------------------------------------------- */

/* What the last question has told. */
static void take_answers(struct verify *verify, bool *differing)
{
	const uint32_t length = verify->answers.length;

	for (unsigned int id = 0; id < NODES; id++) {
		const struct rfm_node_answer *its = &verify->answers.answer[id];
		struct node *node = &verify->node[id];

		if (!node->asked)
			continue;
		if (!(its->flags & RFM_ANSWER_GIVEN)) {
			node->silent++;
			continue;
		}
		node->behind |= its->flags & RFM_ANSWER_BEHIND;
		if (its->length < length)
			node->beyond += length;
		differing[id] = differs(verify, id);
		node->differing += differing[id];
	}
}

/* Until all agree, or for so many times. Returns an exit status. */
static int settle(struct verify *verify, uint64_t offset, uint32_t length)
{
	int status = STATUS_OK;

	for (int i = 0; i < ATTEMPTS && !status; i++) {
		status = ask(verify, offset, length);
		if (status)
			break;
		note_who_is_there(verify);
		if (is_settled(verify))
			break;
	}
	return status;
}

static int verify_page(struct verify *verify, uint64_t offset, uint32_t length)
{
	bool differing[NODES] = { 0 };
	int status = settle(verify, offset, length);

	if (status)
		return status;
	take_answers(verify, differing);
	verify->pages++;
	return place_all(verify, offset, length, differing);
}

static int verify_all(struct verify *verify)
{
	uint64_t at = verify->offset, end = verify->offset + verify->length;
	int status = STATUS_OK;

	verify->begun_ms = now_ms();
	while (!status && at < end) {
		uint32_t length = RFM_VERIFY_MAX - at % RFM_VERIFY_MAX;

		if (length > end - at)
			length = end - at;
		status = verify_page(verify, at, length);
		at += length;
		show_progress(verify, at - verify->offset);
	}
	end_progress(verify);
	return status;
}

/* --- what came of it ---------------------------------------------------------------- */

static bool is_equal(const struct node *node)
{
	return !node->differing && !node->silent;
}

static bool all_equal(const struct verify *verify)
{
	for (unsigned int id = 0; id < NODES; id++)
		if (verify->node[id].asked && !is_equal(&verify->node[id]))
			return false;
	return true;
}

static json_t *node_json(const struct verify *verify, unsigned int id)
{
	const struct node *node = &verify->node[id];
	bool placed = node->placed;

	return json_pack("{s:i, s:b, s:b, s:b, s:I, s:I, s:I, s:o, s:o, s:o}", "node", (int)id,
			 "equal", is_equal(node), "answered", node->silent < verify->pages,
			 "behind", node->behind, "unanswered_pages", (json_int_t)node->silent,
			 "differing_pages", (json_int_t)node->differing, "beyond_bytes",
			 (json_int_t)node->beyond, "first_offset",
			 placed ? json_integer((json_int_t)node->offset) : json_null(), "here",
			 placed ? json_hex(node->here, node->word) : json_null(), "there",
			 placed ? json_hex(node->there, node->word) : json_null());
}

static int print_json(const struct verify *verify)
{
	json_t *nodes = json_array();

	for (unsigned int id = 0; id < NODES; id++)
		if (verify->node[id].asked)
			json_array_append_new(nodes, node_json(verify, id));
	return out_json(verify->cmd, json_pack(
		"{s:s, s:I, s:I, s:i, s:I, s:b, s:o}", "device", verify->cmd->card, "offset",
		(json_int_t)verify->offset, "length", (json_int_t)verify->length, "node",
		(int)verify->answers.node, "pages", (json_int_t)verify->pages, "equal",
		all_equal(verify), "nodes", nodes));
}

static void print_node(const struct verify *verify, unsigned int id)
{
	const struct node *node = &verify->node[id];
	char name[OUT_WORD], size[OUT_WORD];

	printf("  %s: ", out_node(name, sizeof(name), id));
	if (node->placed)
		printf("first differs at 0x%08" PRIx64 ": 0x%0*" PRIx32 " here, 0x%0*" PRIx32
		       " there; %" PRIu64 " of %" PRIu64 " pages", node->offset,
		       (int)node->word * 2, node->here, (int)node->word * 2, node->there,
		       node->differing, verify->pages);
	else if (node->differing)
		printf("%" PRIu64 " of %" PRIu64 " pages differ, and change all the time",
		       node->differing, verify->pages);
	else if (node->silent == verify->pages)
		printf("did not answer");
	else
		printf("%s", is_equal(node) ? "equal" : "equal as far as it answered");
	if (node->silent && node->silent < verify->pages)
		printf("; no answer for %" PRIu64 " pages", node->silent);
	if (node->beyond)
		printf("; its memory does not have %s of it",
		       out_size(size, sizeof(size), node->beyond));
	printf("%s\n", node->behind ? "; it stands still, and may have more to store" : "");
}

static int report(const struct verify *verify)
{
	char size[OUT_WORD];
	int status = STATUS_OK;

	if (verify->cmd->json) {
		status = print_json(verify);
	} else {
		printf("%s: %s from 0x%" PRIx64 " on, compared with this node's\n",
		       verify->cmd->card, out_size(size, sizeof(size), verify->length),
		       verify->offset);
		for (unsigned int id = 0; id < NODES; id++)
			if (verify->node[id].asked)
				print_node(verify, id);
		status = out_flush(verify->cmd);
	}
	return status ? status : all_equal(verify) ? STATUS_OK : STATUS_FAILED;
}

/* --- the verb ------------------------------------------------------------------------ */

/* All that was stored here must have gone round first. Returns an exit status. */
static int fence_first(const struct verify *verify)
{
	struct rfm_fence_wait fence = { .timeout_ms = verify->timeout_ms };

	if (ioctl(verify->card->fd, RFM_IOC_FENCE, &fence))
		return errno == ETIMEDOUT ?
		       failed(verify->cmd, "the fence before it has not come home within %" PRIu32
			      " ms", verify->timeout_ms) :
		       failed(verify->cmd, "cannot fence: %s", card_reason(errno));
	if (fence.flags & RFM_FENCED_DARK)
		return failed(verify->cmd, "nothing leaves this node: no signal, or its "
			      "transmitter is off");
	return STATUS_OK;
}

/* Returns an exit status. */
static int find_members(struct verify *verify)
{
	struct rfm_ring_map map;
	unsigned int others = 0;

	if (ioctl(verify->card->fd, RFM_IOC_RING_MAP, &map))
		return failed(verify->cmd, "cannot get the ring map: %s", card_reason(errno));
	for (unsigned int id = 0; id < NODES; id++) {
		verify->node[id].asked = map.member[id].present &&
					 id != verify->card->info.node;
		others += verify->node[id].asked;
	}
	return others ? STATUS_OK : failed(verify->cmd, "no other node is on the ring");
}

static int verify_card(struct verify *verify)
{
	const struct card *card = verify->card;
	int status;

	if (!verify->length)
		verify->length = card->info.memory_size;
	status = card_check_memory(verify->cmd, card, verify->offset, verify->length);
	if (!status && !(card->info.features & RFM_EXT_FEATURE_QUERY))
		status = failed(verify->cmd, "the card cannot ask other nodes (feature query)");
	if (!status)
		status = fence_first(verify);
	if (!status)
		status = find_members(verify);
	if (!status)
		status = verify_all(verify);
	return status ? status : report(verify);
}

int verb_verify(struct command *cmd, int argc, char **argv)
{
	static struct verify verify;
	struct card card;
	int status;

	verify = (struct verify){
		.cmd = cmd, .card = &card, .timeout_ms = TIMEOUT_DEFAULT_MS,
	};
	status = get_timeout(cmd, argc, argv, TIMEOUT_MAX_MS, &verify.timeout_ms);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 1, 2))
		return STATUS_MISUSED;
	if (argc - optind == 2) {
		status = get_range(cmd, argv[optind + 1], &verify.offset, &verify.length);
		if (status)
			return status;
	}
	status = card_open(cmd, &card, argv[optind], true);
	if (status)
		return status;
	status = verify_card(&verify);
	card_close(&card);
	return status;
}
