// SPDX-License-Identifier: MIT
/* rmctl monitor: what happens to the cards of this machine, as it happens. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What is printed of one notification; bit n of @have: attribute n of the event is known. */
struct line {
	const char *device, *event;
	uint64_t seq, have, pid, lost;
	union {
		uint64_t number[RFM_A_EVENT_MAX + 1];
		RFM_EVENT_NUMBERS;
	};
	char comm[32];
	struct settings changed;
	bool is_change, masks, reset, after_gap;
};

#define NOTICES (sizeof(rfm_notice_names) / sizeof(*rfm_notice_names))

static void unknown(struct line *line, const char *device, const char *event, uint64_t seq)
{
	*line = (struct line){
		.device = device, .event = event, .seq = seq,
		.number[RFM_A_EVENT_TIME_NS] = now_ns(),
	};
}

/* --- printing ----------------------------------------------------------------------------- */

static bool known(const struct line *line, unsigned int attribute)
{
	return line->have >> attribute & 1;
}

static json_t *changed_json(const struct command *cmd, const struct line *line)
{
	return line->is_change ? settings_json(cmd, json_object(), &line->changed, false) :
				 json_null();
}

/* What only a change has. */
static json_t *flag_json(const struct line *line, bool flag)
{
	return line->is_change ? json_boolean(flag) : json_null();
}

static int print_json(const struct command *cmd, const struct line *line)
{
	static const uint8_t shown[] = {
		RFM_A_EVENT_NODE, RFM_A_EVENT_COUNT, RFM_A_EVENT_MISSING, RFM_A_EVENT_EPOCH,
		RFM_A_EVENT_OFFSET, RFM_A_EVENT_LENGTH, RFM_A_EVENT_FRAME, RFM_A_EVENT_AGE_NS,
		RFM_A_EVENT_DESCRIPTOR,
	};
	json_t *object = json_pack("{s:s?, s:I, s:s, s:I}", "device", line->device, "time_ns",
				   (json_int_t)line->time_ns, "event", line->event, "seq",
				   (json_int_t)line->seq);

	for (size_t i = 0; i < sizeof(shown); i++)
		json_add(cmd, object, rfm_event_keys[shown[i]],
			 json_known(known(line, shown[i]), line->number[shown[i]]));
	json_add(cmd, object, "pid", json_known(line->pid, line->pid));
	json_add(cmd, object, "comm", *line->comm ? json_string(line->comm) : json_null());
	json_add(cmd, object, "changed", changed_json(cmd, line));
	json_add(cmd, object, "masks_changed", flag_json(line, line->masks));
	json_add(cmd, object, "counters_reset", flag_json(line, line->reset));
	json_add(cmd, object, "since_overrun", flag_json(line, line->after_gap));
	json_add(cmd, object, "lost", json_known(line->lost, line->lost));
	return out_json(cmd, object);
}

static void print_event(const struct line *line)
{
	char text[UNIT_TEXT];

	if (known(line, RFM_A_EVENT_NODE))
		printf(" node %s", node_text(text, line->node));
	if (known(line, RFM_A_EVENT_OFFSET))
		printf(" 0x%08" PRIx64 "+%" PRIu64, line->offset, line->length);
	if (known(line, RFM_A_EVENT_MISSING))
		printf(" %" PRIu64 " missing", line->missing);
	if (known(line, RFM_A_EVENT_EPOCH))
		printf(" epoch %" PRIu64, line->epoch);
	if (known(line, RFM_A_EVENT_AGE_NS))
		printf(" after %s", time_text(text, line->age_ns));
	if (known(line, RFM_A_EVENT_DESCRIPTOR))
		printf(" watch %" PRIu64, line->descriptor);
	if (line->count > 1)
		printf(" (%" PRIu64 " times)", line->count);
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
	       line->lost ? "OVERRUN" : line->event);
	if (line->lost)
		printf(": %" PRIu64 " notification(s) before number %" PRIu64 " were lost",
		       line->lost, line->seq);
	if (line->is_change)
		print_change(line);
	else
		print_event(line);
	if (line->pid)
		printf(" by %s (pid %" PRIu64 ")", *line->comm ? line->comm : "?", line->pid);
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
	line.lost = lost;
	print(monitor, &line);
}

/* --- taking notifications ------------------------------------------------------------------ */

static void take_event(struct monitor *monitor, const char *device, uint64_t seq,
		       struct nlattr *nest)
{
	struct nlattr *values[RFM_A_EVENT_MAX + 1];
	struct line line;

	if (!nest || nla_parse_nested(values, RFM_A_EVENT_MAX, nest, NULL) ||
	    !values[RFM_A_EVENT_TYPE])
		return;
	unknown(&line, device, "unknown", seq);
	line.have = numbers_take(line.number, values, RFM_A_EVENT_MAX);
	if (line.type < NOTICES && rfm_notice_names[line.type])
		line.event = rfm_notice_names[line.type];
	print(monitor, &line);
}

/* The entry for a card, made if there is none. */
static struct state *remembered(struct states *states, const struct state *state)
{
	for (size_t i = 0; i < states->count; i++)
		if (!strcmp(states->list[i].name, state->name))
			return &states->list[i];
	states->list = grown(states->cmd, states->list, states->count, sizeof(*state));
	/* Until it is told that it is there. */
	states->list[states->count].after_gap = true;
	return &states->list[states->count++];
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

static void take_card(struct monitor *monitor, struct nlmsghdr *message)
{
	uint8_t command = genlmsg_hdr(message)->cmd;
	struct state state, *before;
	struct line line;

	if (!state_take(&state, message))
		return;
	unknown(&line, state.name, command == RFM_CMD_CARD_CREATE_NTF ? "created" :
		command == RFM_CMD_CARD_DELETE_NTF ? "deleted" : "changed", state.seq);
	before = remembered(&monitor->states, &state);
	if (command == RFM_CMD_CARD_CHANGE_NTF)
		find_changes(&line, before, &state);
	*before = state;
	line.pid = state.pid;
	if (state.pid)
		memcpy(line.comm, state.comm, sizeof(line.comm));
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
	case RFM_CMD_CARD_CHANGE_NTF:
	case RFM_CMD_CARD_DELETE_NTF:
		take_card(monitor, message);
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
	struct pollfd pollfd = { .fd = nl_socket_get_fd(nl->socket), .events = POLLIN };

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
static int run(struct monitor *monitor, const char *which)
{
	struct command *cmd = monitor->cmd;
	struct netlink hearing;
	struct state state;
	int status = netlink_open(cmd, &hearing);

	if (status)
		return status;
	status = netlink_join(cmd, &hearing, RFM_MCGRP_MONITOR);
	if (!status)
		status = states_get(cmd, &monitor->states);
	if (!status && which)
		status = state_get(cmd, which, &state);
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
	int status = STATUS_OK;

	for (int option; !status && (option = next_option(cmd, argc, argv)) != -1;)
		status = until_option(cmd, &monitor.until, option);
	if (!status)
		status = check_operands(cmd, argc, argv, 0, 1);
	if (status)
		return status;
	if (argc == optind)
		return run(&monitor, NULL);
	cmd->card = argv[optind];
	status = card_find(cmd, argv[optind], name);
	return status ? status : run(&monitor, name);
}
