/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fifth of netlink_storm_test.c, who listens: every notification has its
 * number, a gap was told of, and what was read of a generation is what was told
 * of it.
 */
#ifndef NETLINK_HEAR_H
#define NETLINK_HEAR_H

#include "netlink_storm.h"

/* What the monitor has heard, and what it knows that it has not. */
static struct hearing {
	int fd;
	bool begun;
	uint64_t seq;			/* of the last notification */
	uint64_t generation;		/* of near at the last change */
	unsigned int excuses;		/* ENOBUFS: a gap may follow */
	uint64_t gaps, missed;		/* notifications that the socket had no room for */
	uint64_t overruns, lost;	/* notifications that the driver had no room for */
	uint64_t changes[CHANGERS];	/* heard */
	uint32_t last[CHANGERS];	/* the how-manyth */
	uint64_t missing;		/* changes that were not heard */
	uint64_t unheard;		/* notifications since near's last change: some may be changes */
	uint64_t events;		/* heard */
	uint64_t counted, others;	/* conflicts and late updates of near; what else happened */
	struct sample told[2 * SAMPLES];	/* by generation */
	uint64_t looked[CHANGERS + 1];	/* samples compared */
	uint64_t compared;
	unsigned int wrong;
} hearing;

__attribute__((format(printf, 1, 2)))
static void wrong(const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (hearing.wrong++ < 5)
		tap_note("%s", text);
}

/* A gap in the numbers is told of by an overrun message, or by ENOBUFS before. */
static void hear_number(const struct nlmsghdr *head, uint8_t cmd)
{
	uint64_t seq = field(head, RFM_A_CARD_SEQ), gap = 0;
	uint64_t lost = cmd == RFM_CMD_OVERRUN_NTF ? field(head, RFM_A_CARD_LOST) : 0;

	if (cmd == RFM_CMD_OVERRUN_NTF) {
		hearing.overruns++;
		hearing.lost += lost;
		if (!lost)
			wrong("an overrun of none");
	}
	if (hearing.begun) {
		gap = seq - hearing.seq - 1 - lost;
		if (gap && !hearing.excuses)
			wrong("notification %llu follows %llu, and nothing was said",
			      (unsigned long long)seq, (unsigned long long)hearing.seq);
		hearing.gaps += !!gap;
		hearing.missed += gap;
		hearing.excuses -= gap && hearing.excuses;
	}
	hearing.begun = true;
	hearing.seq = seq;
	hearing.unheard += gap + lost;
}

static unsigned int changer_of(pid_t pid)
{
	unsigned int who = 0;

	while (who < CHANGERS && shared->pid[who] != pid)
		who++;
	return who;
}

/* A change by one of the four: whose, and the how-manyth of his. */
static void hear_changer(const struct nlmsghdr *head)
{
	uint32_t value = field(head, RFM_A_CARD_DMA_READ_THRESHOLD), n = value >> 2;
	unsigned int who = changer_of(field(head, RFM_A_CARD_PID));

	if (who == CHANGERS) {
		if (field(head, RFM_A_CARD_PID) != (uint64_t)getpid())
			wrong("a change by process %llu",
			      (unsigned long long)field(head, RFM_A_CARD_PID));
		return;
	}
	hearing.changes[who]++;
	/* What is done by ioctl does not say the how-manyth, but which half. */
	if (by_ioctl(who, field(head, RFM_A_CARD_PARITY)))
		n = hearing.last[who] + 1 + (hearing.last[who] & 1);
	else if ((value & 3) != who)
		wrong("changer %u is said to have set what %u set", who, value & 3);
	if (n <= hearing.last[who] || (n != hearing.last[who] + 1 && !hearing.missed))
		wrong("changer %u: change %u follows %u", who, n, hearing.last[who]);
	hearing.last[who] = n;
}

static void hear_change(const struct nlmsghdr *head)
{
	uint64_t generation = field(head, RFM_A_CARD_GENERATION);
	uint64_t missing = generation - hearing.generation - 1;
	const char *what = torn(head);

	if (field(head, RFM_A_CARD_ID) != storm.near_id)
		return;
	if (what)
		wrong("a notification has half a change: %s", what);
	if (missing && hearing.generation) {
		if (missing > hearing.unheard)
			wrong("generation %llu follows %llu, a gap of %llu",
			      (unsigned long long)generation,
			      (unsigned long long)hearing.generation,
			      (unsigned long long)hearing.unheard);
		hearing.missing += missing;
	}
	hearing.unheard = 0;
	hearing.generation = generation;
	hearing.told[generation % ARRAY_SIZE(hearing.told)] = sample_of(head);
	hear_changer(head);
	__atomic_add_fetch(&shared->heard, 1 + missing, __ATOMIC_RELEASE);
}

static void hear_event(const struct nlmsghdr *head)
{
	const uint8_t *begin = (const uint8_t *)head;
	const struct nlattr *event = genl_find(begin + GENL_ATTRS, begin + head->nlmsg_len,
					       RFM_A_CARD_EVENT);
	const uint8_t *in = event ? genl_data(event) : NULL;
	uint64_t type, count;

	if (!event) {
		wrong("an event that is none");
		return;
	}
	type = genl_number(genl_find(in, in + genl_len(event), RFM_A_EVENT_TYPE));
	count = genl_number(genl_find(in, in + genl_len(event), RFM_A_EVENT_COUNT));
	hearing.events++;
	if (field(head, RFM_A_CARD_ID) == storm.near_id &&
	    (type == RFM_NOTICE_CONFLICT || type == RFM_NOTICE_LATE))
		hearing.counted += count;
	else
		hearing.others += count;
}

static void hear(const struct nlmsghdr *head)
{
	uint8_t cmd = ((const struct genlmsghdr *)(head + 1))->cmd;
	const char *fault = spec_answer_fault(head, SPEC_EVENT);

	hear_number(head, cmd);
	if (fault)
		wrong("notification %u: %s", cmd, fault);
	if (cmd == RFM_CMD_CARD_CHANGE_NTF)
		hear_change(head);
	else if (cmd == RFM_CMD_EVENT_NTF)
		hear_event(head);
}

/*
 * One datagram; false if there is none within @ms. A second gap may hide
 * behind one ENOBUFS, if the socket runs full again while it is being emptied.
 */
static bool listen_once(int ms)
{
	static struct genl genl;
	struct pollfd pollfd = { hearing.fd, POLLIN, 0 };
	const struct nlmsghdr *head;
	size_t at = 0;

	if (poll(&pollfd, 1, ms) < 1)
		return false;
	if (genl_recv(hearing.fd, &genl, GENL_MAX, MSG_DONTWAIT) < 0) {
		if (errno == ENOBUFS)
			hearing.excuses = 2;
		else if (errno != EAGAIN)
			wrong("monitor: %s", strerror(errno));
		return errno == ENOBUFS;
	}
	while ((head = genl_message(&genl, &at)))
		hear(head);
	return true;
}

static bool hearing_begin(int room)
{
	memset(&hearing, 0, sizeof(hearing));
	hearing.fd = genl_open();
	return hearing.fd >= 0 &&
	       !setsockopt(hearing.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) &&
	       !setsockopt(hearing.fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &storm.group,
			   sizeof(storm.group));
}

static void compare_values(const struct sample *is, const struct sample *as)
{
	unsigned int i;

	for (i = 0; i < ATTRS; i++)
		if (is->value[i] != as->value[i])
			wrong("of generation %llu somebody read %s %llu, told was %llu",
			      (unsigned long long)is->generation, spec_card.attrs[i].name,
			      (unsigned long long)is->value[i],
			      (unsigned long long)as->value[i]);
}

/* What somebody has read, with what was told. False: it has not been told yet. */
static bool compare(const struct sample *sample)
{
	const struct sample *as = &hearing.told[sample->generation % ARRAY_SIZE(hearing.told)];

	if (sample->generation > hearing.generation)
		return false;
	/* Else it was missed, or is long forgotten. */
	if (as->generation == sample->generation) {
		hearing.compared++;
		compare_values(sample, as);
	}
	return true;
}

static void compare_all(void)
{
	unsigned int who;

	for (who = 0; who <= CHANGERS; who++) {
		uint64_t end = __atomic_load_n(&shared->sampled[who], __ATOMIC_ACQUIRE);
		uint64_t *at = &hearing.looked[who];

		/* It writes on while we read; what is about to be overwritten is left out. */
		if (end - *at > SAMPLES / 2)
			*at = end - SAMPLES / 2;
		while (*at != end && compare(&shared->sample[who][*at % SAMPLES]))
			++*at;
	}
}

#endif /* NETLINK_HEAR_H */
