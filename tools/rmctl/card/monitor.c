// SPDX-License-Identifier: MIT
/* rmctl monitor: what happens to the cards of this machine, as it happens. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/rfm_netlink.h>

#include "state.h"
#include "tools/common/clock.h"
#include "tools/common/units.h"
#include "tools/rmctl/cli/out.h"
#include "tools/rmctl/cli/stop.h"
#include "tools/rmctl/cli/until.h"

/**
 * struct monitor - what the user asked for, and how far it has come
 * @cmd: the command
 * @only: one card, or NULL
 * @states: how the cards were when they were last heard of
 * @until: when to end
 * @seq: number of the last notification, 0: none yet
 * @status: exit status
 */
struct monitor {
	struct command *cmd;
	const char *only;
	struct states states;
	struct until until;
	uint64_t seq;
	int status;
};

/* What is printed of one notification; negative: not known. */
struct line {
	const char *device, *event;
	uint64_t time_ns, seq;
	int64_t node, count, missing, epoch, offset, length, frame, age_ns, descriptor, pid, lost;
	char comm[32];
	struct settings changed;
	bool is_change, masks, reset, after_gap;
};

static const char *const notices[] = {
	[RFM_NOTICE_LINK_DOWN] = "link-down",
	[RFM_NOTICE_LINK_UP] = "link-up",
	[RFM_NOTICE_SYNC_LOSS] = "sync-loss",
	[RFM_NOTICE_BAD_DATA] = "bad-data",
	[RFM_NOTICE_ROGUE] = "rogue",
	[RFM_NOTICE_TX_FULL] = "tx-full",
	[RFM_NOTICE_RX_FULL] = "rx-full",
	[RFM_NOTICE_WRITE_INHIBITED] = "write-inhibited",
	[RFM_NOTICE_PARITY] = "parity",
	[RFM_NOTICE_LOSS] = "loss",
	[RFM_NOTICE_BREAK] = "break",
	[RFM_NOTICE_MEMBERSHIP] = "membership",
	[RFM_NOTICE_ID_IN_USE] = "id-in-use",
	[RFM_NOTICE_DROPPED] = "dropped",
	[RFM_NOTICE_LATE] = "late",
	[RFM_NOTICE_STALE] = "stale",
	[RFM_NOTICE_FRESH] = "fresh",
	[RFM_NOTICE_CONFLICT] = "conflict",
	[RFM_NOTICE_GONE] = "gone",
};

#define NOTICES (sizeof(notices) / sizeof(*notices))

static void unknown(struct line *line, const char *device, const char *event, uint64_t seq)
{
	*line = (struct line){
		.device = device, .event = event, .time_ns = now_ns(), .seq = seq,
		.node = -1, .count = -1, .missing = -1, .epoch = -1, .offset = -1, .length = -1,
		.frame = -1, .age_ns = -1, .descriptor = -1, .pid = -1, .lost = -1,
	};
}

/* --- printing ----------------------------------------------------------------------------- */

static json_t *known(int64_t value)
{
	return json_known(value >= 0, (uint64_t)value);
}

static json_t *changed_json(const struct line *line)
{
	json_t *all, *changed, *value;
	const char *key;

	if (!line->is_change)
		return json_null();
	all = json_object();
	changed = json_object();
	settings_json(all, &line->changed);
	json_object_foreach(all, key, value)
		if (!json_is_null(value))
			json_object_set(changed, key, value);
	json_decref(all);
	return changed;
}

/* What only a change has. */
static json_t *flag_json(const struct line *line, bool flag)
{
	return line->is_change ? json_boolean(flag) : json_null();
}

static int print_json(const struct command *cmd, const struct line *line)
{
	return out_json(cmd, json_pack(
		"{s:s?, s:I, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o,"
		" s:o, s:o, s:o, s:o}",
		"device", line->device, "time_ns", (json_int_t)line->time_ns, "event", line->event,
		"seq", (json_int_t)line->seq, "node", known(line->node), "count", known(line->count),
		"missing", known(line->missing), "epoch", known(line->epoch),
		"offset", known(line->offset), "length", known(line->length),
		"frame", known(line->frame), "age_ns", known(line->age_ns),
		"descriptor", known(line->descriptor), "pid", known(line->pid),
		"comm", *line->comm ? json_string(line->comm) : json_null(),
		"changed", changed_json(line),
		"masks_changed", flag_json(line, line->masks),
		"counters_reset", flag_json(line, line->reset),
		"since_overrun", flag_json(line, line->after_gap),
		"lost", known(line->lost)));
}

static void print_event(const struct line *line)
{
	char text[UNIT_TEXT];

	if (line->node >= 0)
		printf(" node %s", node_text(text, line->node));
	if (line->offset >= 0)
		printf(" 0x%08" PRIx64 "+%" PRId64, (uint64_t)line->offset, line->length);
	if (line->missing >= 0)
		printf(" %" PRId64 " missing", line->missing);
	if (line->epoch >= 0)
		printf(" epoch %" PRId64, line->epoch);
	if (line->age_ns >= 0)
		printf(" after %s", time_text(text, (uint64_t)line->age_ns));
	if (line->descriptor >= 0)
		printf(" watch %" PRId64, line->descriptor);
	if (line->count > 1)
		printf(" (%" PRId64 " times)", line->count);
}

static void print_change(const struct line *line)
{
	char word[UNIT_TEXT];

	for (unsigned int id = 0; id < SETTINGS; id++)
		if (setting_known(&line->changed, id))
			printf(" %s=%s", setting_name(id),
			       setting_word(word, id, line->changed.value[id]));
	if (line->masks)
		fputs(" base masks", stdout);
	if (line->reset)
		fputs(" counters reset", stdout);
	if (line->after_gap)
		fputs(" since the overrun, last", stdout);
}

static int print_text(const struct command *cmd, const struct line *line)
{
	printf("%" PRIu64 ".%09" PRIu64 " %s %s", (uint64_t)(line->time_ns / NSEC_PER_SEC),
	       (uint64_t)(line->time_ns % NSEC_PER_SEC), line->device ? line->device : "-",
	       line->lost >= 0 ? "OVERRUN" : line->event);
	if (line->lost >= 0)
		printf(": %" PRId64 " notification(s) before number %" PRIu64 " were lost",
		       line->lost, line->seq);
	if (line->is_change)
		print_change(line);
	else
		print_event(line);
	if (line->pid >= 0)
		printf(" by %s (pid %" PRId64 ")", *line->comm ? line->comm : "?", line->pid);
	putchar('\n');
	return out_flush(cmd);
}

static void print(struct monitor *monitor, const struct line *line)
{
	if (until_done(&monitor->until))
		return;
	if (monitor->only && line->device && strcmp(line->device, monitor->only))
		return;
	monitor->status = monitor->cmd->json ? print_json(monitor->cmd, line) :
					       print_text(monitor->cmd, line);
	until_count(&monitor->until, 1);
}

/* Never silent about what did not come, about @device or any card. */
static void print_lost(struct monitor *monitor, const char *device, uint64_t seq, uint64_t lost)
{
	struct line line;

	for (size_t i = 0; i < monitor->states.count; i++) {
		struct state *state = &monitor->states.list[i];

		state->after_gap |= !device || !strcmp(state->name, device);
	}
	unknown(&line, device, "overrun", seq);
	line.lost = (int64_t)lost;
	print(monitor, &line);
}

/* --- taking notifications ------------------------------------------------------------------ */

static int64_t number(struct nlattr *attribute)
{
	if (!attribute)
		return -1;
	return nla_len(attribute) >= (int)sizeof(uint64_t) ? (int64_t)nla_get_u64(attribute) :
							     (int64_t)nla_get_u32(attribute);
}

static void take_event(struct monitor *monitor, const char *device, uint64_t seq,
		       struct nlattr *nest)
{
	struct nlattr *values[RFM_A_EVENT_MAX + 1];
	struct line line;
	uint32_t type;

	if (!nest || nla_parse_nested(values, RFM_A_EVENT_MAX, nest, NULL) ||
	    !values[RFM_A_EVENT_TYPE])
		return;
	type = nla_get_u32(values[RFM_A_EVENT_TYPE]);
	unknown(&line, device, type < NOTICES && notices[type] ? notices[type] : "unknown", seq);
	if (values[RFM_A_EVENT_TIME_NS])
		line.time_ns = nla_get_u64(values[RFM_A_EVENT_TIME_NS]);
	line.node = number(values[RFM_A_EVENT_NODE]);
	line.count = number(values[RFM_A_EVENT_COUNT]);
	line.missing = number(values[RFM_A_EVENT_MISSING]);
	line.epoch = number(values[RFM_A_EVENT_EPOCH]);
	line.offset = number(values[RFM_A_EVENT_OFFSET]);
	line.length = number(values[RFM_A_EVENT_LENGTH]);
	line.frame = number(values[RFM_A_EVENT_FRAME]);
	line.age_ns = number(values[RFM_A_EVENT_AGE_NS]);
	line.descriptor = number(values[RFM_A_EVENT_DESCRIPTOR]);
	print(monitor, &line);
}

/* The entry for a card, made if there is none; NULL without memory. */
static struct state *remembered(struct states *states, const struct state *state)
{
	struct state *list;

	for (size_t i = 0; i < states->count; i++)
		if (!strcmp(states->list[i].name, state->name))
			return &states->list[i];
	list = realloc(states->list, (states->count + 1) * sizeof(*list));
	if (!list)
		return NULL;
	states->list = list;
	memset(&list[states->count], 0, sizeof(*list));
	/* Until it is told that it is there. */
	list[states->count].after_gap = true;
	return &list[states->count++];
}

/* The settings of @now that are not as in @before. */
static void find_changes(struct line *line, const struct state *before, const struct state *now)
{
	line->is_change = true;
	line->masks = before->base_generation != now->base_generation;
	line->reset = before->reset_generation != now->reset_generation;
	line->after_gap = before->after_gap;
	for (unsigned int id = 0; id < SETTINGS; id++) {
		uint64_t value = now->settings.value[id];

		if (!setting_known(&now->settings, id) ||
		    (setting_known(&before->settings, id) &&
		     before->settings.value[id] == value))
			continue;
		line->changed.have |= 1u << id;
		line->changed.value[id] = value;
	}
}

static void take_card(struct monitor *monitor, struct nlmsghdr *message, const char *event)
{
	struct state state, *before;
	struct line line;

	if (!state_take(&state, message))
		return;
	unknown(&line, state.name, event, state.seq);
	before = remembered(&monitor->states, &state);
	if (before && genlmsg_hdr(message)->cmd == RFM_CMD_CARD_CHANGE_NTF)
		find_changes(&line, before, &state);
	if (before)
		*before = state;
	if (state.pid) {
		line.pid = state.pid;
		memcpy(line.comm, state.comm, sizeof(line.comm));
	}
	print(monitor, &line);
}

static void take(struct nlmsghdr *message, void *context)
{
	struct nlattr *attributes[RFM_A_CARD_MAX + 1];
	struct monitor *monitor = context;
	uint64_t seq, told = 0;
	char device[32] = "";

	if (genlmsg_parse(message, 0, attributes, RFM_A_CARD_MAX, NULL) ||
	    !attributes[RFM_A_CARD_SEQ])
		return;
	seq = nla_get_u64(attributes[RFM_A_CARD_SEQ]);
	if (attributes[RFM_A_CARD_NAME])
		nla_strlcpy(device, attributes[RFM_A_CARD_NAME], sizeof(device));
	/* What the driver lost it tells itself; the numbers of those come right before. */
	if (attributes[RFM_A_CARD_LOST])
		told = nla_get_u64(attributes[RFM_A_CARD_LOST]);
	if (monitor->seq && seq - told > monitor->seq + 1)
		print_lost(monitor, NULL, seq - told, seq - told - monitor->seq - 1);
	monitor->seq = seq;
	switch (genlmsg_hdr(message)->cmd) {
	case RFM_CMD_CARD_CREATE_NTF:
		take_card(monitor, message, "created");
		break;
	case RFM_CMD_CARD_CHANGE_NTF:
		take_card(monitor, message, "changed");
		break;
	case RFM_CMD_CARD_DELETE_NTF:
		take_card(monitor, message, "deleted");
		break;
	case RFM_CMD_EVENT_NTF:
		take_event(monitor, device, seq, attributes[RFM_A_CARD_EVENT]);
		break;
	case RFM_CMD_OVERRUN_NTF:
		print_lost(monitor, device, seq, told);
		break;
	}
}

/* --- the verb ------------------------------------------------------------------------------- */

static int monitor_loop(struct monitor *monitor, struct netlink *nl)
{
	struct pollfd pollfd = { .fd = netlink_fd(nl), .events = POLLIN };

	while (!monitor->status && !until_done(&monitor->until)) {
		int error, ready = stop_poll(&pollfd, 1, monitor->until.deadline_ns);

		if (!ready || stop_asked())
			return until_end(monitor->cmd, &monitor->until, "event");
		error = netlink_receive(nl, take, monitor);
		if (error == ENOBUFS)
			warn_user(monitor->cmd, "OVERRUN: they come faster than they are read; the "
				  "next line says how many were lost");
		else if (error && error != EAGAIN)
			return failed(monitor->cmd, "%s", nl->reason);
	}
	return monitor->status;
}

/* Nothing is missed between how the cards are now and what comes next. */
static int run(struct monitor *monitor, struct netlink *asking, const char *which)
{
	struct command *cmd = monitor->cmd;
	struct netlink hearing;
	struct state state;
	int status = netlink_open(cmd, &hearing);

	if (status)
		return status;
	status = netlink_join(cmd, &hearing, RFM_MCGRP_MONITOR);
	if (!status)
		status = states_get(cmd, asking, &monitor->states);
	if (!status && which)
		status = state_get(cmd, asking, which, &state);
	if (!status) {
		monitor->only = which ? state.name : NULL;
		stop_hold_signals();
		until_begin(&monitor->until);
		fprintf(stderr, "monitoring %s ...\n", which ? state.name : "all cards");
		status = monitor_loop(monitor, &hearing);
	}
	free(monitor->states.list);
	netlink_close(&hearing);
	return status;
}

int verb_monitor(struct command *cmd, int argc, char **argv)
{
	struct monitor monitor = { .cmd = cmd };
	char name[CARD_NAME_SIZE];
	struct netlink asking;
	int status = STATUS_OK;
	bool one;

	until_init(&monitor.until);
	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;)
		status = until_option(cmd, &monitor.until, option);
	if (status)
		return status;
	if (check_operands(cmd, argc, argv, 0, 1))
		return STATUS_MISUSED;
	one = argc > optind;
	if (one)
		cmd->card = argv[optind];
	if (one && (status = card_find(cmd, argv[optind], name)))
		return status;
	status = netlink_open(cmd, &asking);
	if (status)
		return status;
	status = run(&monitor, &asking, one ? name : NULL);
	netlink_close(&asking);
	return status;
}
