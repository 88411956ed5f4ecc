// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family's group "monitor": what is told, by whom, how often, and
 * what of it is lost. Which cards it wants: netlink_ask.h; the plain one's ring is
 * its own. Must run as root.
 */

#include "netlink_ask.h"

/* One notification, prefilled: what it does not carry is ABSENT. */
#define ABSENT	UINT64_MAX

#define OUR_NAME	"netlink_monitor"

struct note {
	uint8_t cmd;
	uint64_t id, seq, pid, lost, generation, led;
	uint64_t type, count, node, offset, length, missing, age, descriptor;
	bool tells_owner;	/* our number or our name is in the event */
	char comm[16];
};

static int monitor = -1;
static uint64_t last_seq;	/* 0: any may come next */

static uint64_t number_or(const struct nlattr *attr)
{
	return attr ? genl_number(attr) : ABSENT;
}

/* As a number or as text, wherever in an event. A descriptor may have that number, too. */
static bool tells_of_us(const struct nlattr *event)
{
	const uint8_t *at = event ? genl_data(event) : NULL;
	const uint8_t *end = event ? at + genl_len(event) : NULL;
	const struct nlattr *attr;

	if (event && memmem(at, end - at, OUR_NAME, strlen(OUR_NAME)))
		return true;
	while (event && (attr = genl_next(&at, end)))
		if (genl_type(attr) != RFM_A_EVENT_DESCRIPTOR &&
		    genl_number(attr) == (uint64_t)getpid())
			return true;
	return false;
}

static void note_read(struct note *note, const struct nlmsghdr *head)
{
	const struct nlattr *event = message_attr(head, RFM_A_CARD_EVENT), *comm;

	memset(note, 0, sizeof(*note));
	note->cmd = ((const struct genlmsghdr *)((const uint8_t *)head + NLMSG_HDRLEN))->cmd;
	note->id = number_or(message_attr(head, RFM_A_CARD_ID));
	note->seq = number_or(message_attr(head, RFM_A_CARD_SEQ));
	note->pid = number_or(message_attr(head, RFM_A_CARD_PID));
	note->lost = number_or(message_attr(head, RFM_A_CARD_LOST));
	note->generation = number_or(message_attr(head, RFM_A_CARD_GENERATION));
	note->led = number_or(message_attr(head, RFM_A_CARD_LED));
	note->type = number_or(nest_attr(event, RFM_A_EVENT_TYPE));
	note->count = number_or(nest_attr(event, RFM_A_EVENT_COUNT));
	note->node = number_or(nest_attr(event, RFM_A_EVENT_NODE));
	note->offset = number_or(nest_attr(event, RFM_A_EVENT_OFFSET));
	note->length = number_or(nest_attr(event, RFM_A_EVENT_LENGTH));
	note->missing = number_or(nest_attr(event, RFM_A_EVENT_MISSING));
	note->age = number_or(nest_attr(event, RFM_A_EVENT_AGE_NS));
	note->descriptor = number_or(nest_attr(event, RFM_A_EVENT_DESCRIPTOR));
	note->tells_owner = tells_of_us(event);
	comm = message_attr(head, RFM_A_CARD_COMM);
	if (comm)
		snprintf(note->comm, sizeof(note->comm), "%s", (const char *)genl_data(comm));
}

/* No number is missing but those that an overrun message is about. */
static void check_seq(const struct note *note)
{
	uint64_t next = last_seq + 1 + (note->cmd == RFM_CMD_OVERRUN_NTF ? note->lost : 0);

	if (last_seq)
		CHECK_EQ(note->seq, next);
	last_seq = note->seq;
}

/* The next notification, waiting for up to @ms for it. */
static bool next_note(struct note *note, int ms)
{
	struct pollfd pollfd = { monitor, POLLIN, 0 };
	static struct genl datagram;
	const struct nlmsghdr *head;
	size_t at = 0;

	if (poll(&pollfd, 1, ms) != 1)
		return false;
	if (!CHECK(genl_recv(monitor, &datagram, GENL_MAX, 0) > 0))
		return false;
	head = genl_message(&datagram, &at);
	if (!CHECK(head && head->nlmsg_type == family))
		return false;
	note_read(note, head);
	check_seq(note);
	return true;
}

/* The next about a card that is of that kind; others are passed over. */
static bool await(struct note *note, unsigned int card, uint8_t cmd, uint64_t type)
{
	while (next_note(note, PATIENCE_MS))
		if (note->id == cards[card].id && note->cmd == cmd && note->type == type)
			return true;
	return false;
}

static bool await_event(struct note *note, unsigned int card, uint64_t type)
{
	return await(note, card, RFM_CMD_EVENT_NTF, type);
}

/* A socket with much room, which has heard nothing yet. */
static void listen_anew(void)
{
	int room = 16 << 20;

	if (monitor >= 0)
		close(monitor);
	monitor = monitor_open();
	setsockopt(monitor, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	last_seq = 0;
}

static void set_u8(unsigned int card, uint16_t attr, uint8_t value)
{
	ask_of(RFM_CMD_CARD_SET, card);
	genl_put_u8(&request, attr, value);
	CHECK_TAKEN();
}

/* --- changes --------------------------------------------------------------- */

static void changes_are_told_with_their_maker(void)
{
	struct rfm_config args = { .mask = RFM_CONFIG_LED, .on = RFM_CONFIG_LED };
	uint64_t generation = setting(HEARER, RFM_A_CARD_GENERATION);
	struct note note;
	pid_t pid;

	listen_anew();
	set_u8(HEARER, RFM_A_CARD_LED, 1);
	REQUIRE(await(&note, HEARER, RFM_CMD_CARD_CHANGE_NTF, ABSENT));
	CHECK_EQ(note.pid, getpid());
	CHECK(!strncmp(note.comm, OUR_NAME, strlen(OUR_NAME)));
	CHECK_EQ(note.led, 1);
	CHECK_EQ(note.generation, generation + 1);

	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_NAME, "somebody");
		args.on = 0;
		_exit(ioctl(cards[HEARER].fd, RFM_IOC_SET_CONFIG, &args) != 0);
	}
	REQUIRE(await(&note, HEARER, RFM_CMD_CARD_CHANGE_NTF, ABSENT));
	CHECK_EQ(note.pid, pid);
	CHECK(!strcmp(note.comm, "somebody"));
	CHECK_EQ(note.led, 0);
	CHECK_EQ(note.generation, generation + 2);
	waitpid(pid, NULL, 0);

	/* What changes nothing, or is refused, is not told. */
	args.mask = 0;
	CHECK_EQ(ioctl(cards[HEARER].fd, RFM_IOC_SET_CONFIG, &args), 0);
	ask_of(RFM_CMD_CARD_SET, HEARER);
	attr_put(OWN_DATA, (uint8_t)1);
	CHECK_EQ(ask(), EINVAL);
	ask_of(RFM_CMD_COUNTERS_RESET, HEARER);
	CHECK_TAKEN();
	REQUIRE(await(&note, HEARER, RFM_CMD_CARD_CHANGE_NTF, ABSENT));
	CHECK_EQ(note.generation, generation + 3);
}

/* --- what happens ---------------------------------------------------------- */

static void light_is_told(void)
{
	struct note note;

	await_light(TALKER);
	listen_anew();
	set_u8(TALKER, RFM_A_CARD_TRANSMIT, 0);
	REQUIRE(await_event(&note, HEARER, RFM_NOTICE_SYNC_LOSS));
	CHECK_EQ(note.count, 1);
	REQUIRE(await_event(&note, HEARER, RFM_NOTICE_LINK_DOWN));
	CHECK_EQ(setting(HEARER, RFM_A_CARD_LINK), RFM_LINK_DOWN);
	set_u8(TALKER, RFM_A_CARD_TRANSMIT, 1);
	REQUIRE(await_event(&note, HEARER, RFM_NOTICE_LINK_UP));
	CHECK_EQ(setting(HEARER, RFM_A_CARD_LINK), RFM_LINK_UP);
	await_light(TALKER);
}

static void others_breaks_are_told(void)
{
	struct note note;

	listen_anew();
	set_u8(TALKER, RFM_A_CARD_TRANSMIT, 0);
	REQUIRE(await_event(&note, TALKER, RFM_NOTICE_BREAK));
	CHECK_EQ(note.node, cards[HEARER].info.node);
	set_u8(TALKER, RFM_A_CARD_TRANSMIT, 1);
	await_light(TALKER);
}

/* Such a card does not tell of the light's return; it is looked for. */
static void light_of_a_plain_card_is_told(void)
{
	struct note note;

	listen_anew();
	set_u8(PLAIN, RFM_A_CARD_TRANSMIT, 0);
	REQUIRE(await_event(&note, PLAIN, RFM_NOTICE_SYNC_LOSS));
	REQUIRE(await_event(&note, PLAIN, RFM_NOTICE_LINK_DOWN));
	set_u8(PLAIN, RFM_A_CARD_TRANSMIT, 1);
	REQUIRE(await_event(&note, PLAIN, RFM_NOTICE_LINK_UP));
}

static void own(unsigned int card, uint64_t offset, uint64_t length, uint32_t action)
{
	ask_of(RFM_CMD_CARD_SET, card);
	put_step(offset, length, RFM_PLANES_OWNED, action);
	CHECK_TAKEN();
}

/* Many more than are worth an interrupt each; how many there were is known all the same. */
static void conflicts_are_told_and_counted(void)
{
	enum { STORES = 3000 };
	volatile uint32_t *memory = card_map(cards[TALKER].fd, 0x10000);
	uint64_t count = 0;
	struct note note;
	unsigned int i;

	REQUIRE(memory);
	own(HEARER, 0x8000, 64, RFM_ACTION_ADD);
	listen_anew();
	memory[0x2001] = 1;
	REQUIRE(await_event(&note, HEARER, RFM_NOTICE_CONFLICT));
	CHECK_EQ(note.node, cards[TALKER].info.node);
	CHECK_EQ(note.offset, 0x8004);
	CHECK_EQ(note.length, 4);
	count = note.count;
	for (i = 1; i < STORES; i++) {
		memory[0x2001] = i;
		if (i % 500 == 0)
			await_light(TALKER);
	}
	while (count < STORES && await_event(&note, HEARER, RFM_NOTICE_CONFLICT))
		count += note.count;
	CHECK_EQ(count, STORES);
	own(HEARER, 0x8000, 64, RFM_ACTION_REMOVE);
	/* And no more. */
	memory[0x2001] = 0;
	await_light(TALKER);
	while (next_note(&note, 300))
		CHECK(note.type != RFM_NOTICE_CONFLICT);
	munmap((void *)memory, 0x10000);
}

static int watch_with(uint64_t offset, uint64_t deadline, uint64_t silence)
{
	struct rfm_range range = { offset, 64 };
	struct rfm_watch args = { .ranges = (uintptr_t)&range, .count = 1,
				  .flags = RFM_WATCH_NONBLOCK, .depth = 1,
				  .deadline_ns = deadline, .silence_ns = silence };

	return ioctl(cards[HEARER].fd, RFM_IOC_WATCH, &args);
}

/* By its number: who has it is told only to who may ask for descriptors. */
static void silence_is_told_with_its_watch(void)
{
	volatile uint32_t *memory = card_map(cards[TALKER].fd, 4096);
	struct note note, fresh;
	int fd;

	REQUIRE(memory);
	listen_anew();
	fd = watch_with(0x100, 0, 20000000);
	REQUIRE(fd >= 0 && await_event(&note, HEARER, RFM_NOTICE_STALE));
	CHECK(!note.tells_owner);
	CHECK_EQ(note.offset, 0x100);
	CHECK(see(HEARER, RFM_DESCRIPTOR_KIND_WATCH));
	CHECK_EQ(note.descriptor, seen.id);
	CHECK_EQ(seen.pid, getpid());
	CHECK_EQ(note.node, ABSENT);
	memory[0x41] = 1;
	REQUIRE(await_event(&fresh, HEARER, RFM_NOTICE_FRESH));
	CHECK_EQ(fresh.descriptor, note.descriptor);
	CHECK_EQ(fresh.node, cards[TALKER].info.node);
	CHECK_EQ(fresh.offset, 0x104);
	CHECK(fresh.age >= 20000000 && fresh.age != ABSENT);
	close(fd);
	munmap((void *)memory, 4096);
}

static void lateness_is_told(void)
{
	volatile uint32_t *memory = card_map(cards[TALKER].fd, 4096);
	struct note note;
	int fd;

	REQUIRE(memory);
	listen_anew();
	fd = watch_with(0x200, 1, 0);
	REQUIRE(fd >= 0);
	memory[0x80] = 1;
	REQUIRE(await_event(&note, HEARER, RFM_NOTICE_LATE));
	CHECK_EQ(note.node, cards[TALKER].info.node);
	CHECK_EQ(note.offset, 0x200);
	CHECK(note.age > 1 && note.age < 10000000000);
	CHECK(!note.tells_owner);
	close(fd);
	munmap((void *)memory, 4096);
}

/* Errors that only monitors heard of have waited for the first listener, as in the card. */
static void errors_wait_for_the_first_listener(void)
{
	struct rfm_listen args = { .types = RFM_EVENT_BIT(RFM_EVENT_WRITE_INHIBITED),
				   .flags = RFM_LISTEN_NONBLOCK };
	volatile uint8_t *memory = card_map(cards[PLAIN].fd, 4096);
	struct rfm_event event;
	struct note note;
	unsigned int i;
	int fd, latched;

	REQUIRE(memory);
	set_u8(PLAIN, RFM_A_CARD_PARITY, 1);
	listen_anew();
	/* Also if the card has another one by then. */
	for (latched = 0; latched < 2; latched++) {
		for (i = 0; i < 3; i++) {
			memory[i] = 1;
			REQUIRE(await_event(&note, PLAIN, RFM_NOTICE_WRITE_INHIBITED));
		}
		if (latched)
			memory[3] = 1;
		fd = ioctl(cards[PLAIN].fd, RFM_IOC_LISTEN, &args);
		REQUIRE(fd >= 0);
		CHECK_EQ(read(fd, &event, sizeof(event)), sizeof(event));
		CHECK_EQ(event.type, RFM_EVENT_WRITE_INHIBITED);
		CHECK_EQ(event.seq, 1);
		CHECK_ERRNO(read(fd, &event, sizeof(event)), EAGAIN);
		close(fd);
	}

	/* The next has nothing to wait for; nor has one who does not want it. */
	fd = ioctl(cards[PLAIN].fd, RFM_IOC_LISTEN, &args);
	CHECK_ERRNO(read(fd, &event, sizeof(event)), EAGAIN);
	close(fd);
	memory[0] = 1;
	REQUIRE(await_event(&note, PLAIN, RFM_NOTICE_WRITE_INHIBITED));
	args.flags |= RFM_LISTEN_DISCARD;
	fd = ioctl(cards[PLAIN].fd, RFM_IOC_LISTEN, &args);
	CHECK_ERRNO(read(fd, &event, sizeof(event)), EAGAIN);
	close(fd);
	set_u8(PLAIN, RFM_A_CARD_PARITY, 0);
	munmap((void *)memory, 4096);
}

/* --- more than there is room for ------------------------------------------- */


static uint64_t late;

static void add_late(const struct nlmsghdr *head)
{
	late += genl_number(nest_attr(message_attr(head, RFM_A_CARD_DESCRIPTOR),
				      RFM_A_DESCRIPTOR_LATE));
}

/*
 * Until all of them have come, so that neither card has to drop anything: one has room for 2048
 * stores that wait, and the other for 4096 records.
 */
static void await_late(uint64_t count)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	do {
		late = 0;
		ask_of(RFM_CMD_DESCRIPTOR_GET, HEARER);
		CHECK_EQ(ask_all(add_late), 0);
	} while (late < count && now_ns() < end);
	CHECK_EQ(late, count);
}

/* Returns how many notifications of lateness there were. */
static unsigned int sum_up(int ms, uint64_t count, uint64_t *told, uint64_t *lost)
{
	unsigned int notes = 0;
	struct note note;

	while (*told + *lost < count && next_note(&note, ms)) {
		if (note.cmd == RFM_CMD_OVERRUN_NTF) {
			*lost += note.lost;
		} else if (note.type == RFM_NOTICE_LATE) {
			*told += note.count;
			notes++;
		}
	}
	return notes;
}

/* A storm of one kind is few notifications, and none of it is lost. */
static void the_same_is_told_together(void)
{
	enum { STORES = 4000 };
	volatile uint32_t *memory = card_map(cards[TALKER].fd, 4096);
	uint64_t told = 0, lost = 0;
	unsigned int i, notes;
	int fd;

	REQUIRE(memory);
	fd = watch_with(0x380, 1, 0);
	REQUIRE(fd >= 0);
	listen_anew();
	for (i = 1; i <= STORES; i++) {
		memory[0xe0] = i;
		if (i % 1000 == 0)
			await_late(i);
	}
	notes = sum_up(PATIENCE_MS, STORES, &told, &lost);
	CHECK_EQ(told, STORES);
	CHECK_EQ(lost, 0);
	CHECK(notes < STORES / 4);
	close(fd);
	munmap((void *)memory, 4096);
}

/*
 * Two watches in turn, so that nothing can be told together. Each late update is
 * told, or among those that an overrun message counts.
 */
static void overruns_are_counted(void)
{
	enum { PAIRS = 1000 };
	volatile uint32_t *memory = card_map(cards[TALKER].fd, 4096);
	uint64_t told = 0, lost = 0, stores = 0;
	unsigned int i;
	int one, other;

	REQUIRE(memory);
	one = watch_with(0x300, 1, 0);
	other = watch_with(0x340, 1, 0);
	REQUIRE(one >= 0 && other >= 0);
	listen_anew();
	while (!lost && !tap_failed && stores < 200 * PAIRS) {
		for (i = 0; i < PAIRS; i++, stores += 2) {
			memory[0xc0] = i;
			memory[0xd0] = i;
		}
		await_late(stores);
		sum_up(0, stores, &told, &lost);
	}
	sum_up(PATIENCE_MS, stores, &told, &lost);
	tap_note("%llu stores, %llu told, %llu lost", (unsigned long long)stores,
		 (unsigned long long)told, (unsigned long long)lost);
	CHECK(lost > 0);
	CHECK_EQ(told + lost, stores);
	card_get(HEARER);
	CHECK(genl_number(nest_attr(answer_attr(RFM_A_CARD_DRIVER),
				    RFM_A_DRIVER_NOTIFICATIONS_LOST)) >= lost);
	close(one);
	close(other);
	munmap((void *)memory, 4096);
}

/* A socket without room is told so by its next read. */
static void a_full_socket_is_told(void)
{
	static struct genl datagram;
	unsigned int i;
	int room = 1;

	listen_anew();
	setsockopt(monitor, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	for (i = 0; i < 100; i++)
		set_u8(HEARER, RFM_A_CARD_LED, i & 1);
	CHECK(genl_recv(monitor, &datagram, GENL_MAX, MSG_DONTWAIT) < 0 && errno == ENOBUFS);
}

/* --- coming and going ------------------------------------------------------ */

static bool driver_write(const char *file, const char *text)
{
	char path[128];
	int fd;
	bool good;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/rfm/%s", file);
	fd = open(path, O_WRONLY);
	good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return good;
}

static void cards_come_and_go(void)
{
	struct note note;
	uint64_t led, generation = setting(PLAIN, RFM_A_CARD_GENERATION);

	listen_anew();
	REQUIRE(driver_write("unbind", cards[PLAIN].info.pci_name));
	REQUIRE(await(&note, PLAIN, RFM_CMD_CARD_DELETE_NTF, ABSENT));
	led = note.led;
	CHECK_EQ(led, ABSENT);
	ask_of(RFM_CMD_CARD_GET, PLAIN);
	CHECK_EQ(ask(), ENODEV);
	/* Our descriptor outlives it. */
	ask_for(RFM_CMD_CARD_GET);
	put_fd(cards[PLAIN].fd);
	CHECK_REFUSED(ENODEV, "the card of this descriptor is gone", RFM_A_CARD_FD);
	close(cards[PLAIN].fd);
	REQUIRE(driver_write("bind", cards[PLAIN].info.pci_name));
	REQUIRE(await(&note, PLAIN, RFM_CMD_CARD_CREATE_NTF, ABSENT));
	CHECK_EQ(note.led, 0);
	/* One that was read before does not fit the card that comes. */
	CHECK(note.generation > generation);
	cards[PLAIN].fd = open(cards[PLAIN].path, O_RDWR);
	CHECK(cards[PLAIN].fd >= 0);
}

/* As soon as there is such a card, changes it; netlink may not know it yet. */
static void change_at_once(void)
{
	struct rfm_config args = { .mask = RFM_CONFIG_LED, .on = RFM_CONFIG_LED };
	int card;

	do
		card = open(cards[PLAIN].path, O_RDWR);
	while (card < 0 && errno == ENOENT);
	_exit(ioctl(card, RFM_IOC_SET_CONFIG, &args) != 0);
}

/* Nobody is told of a card before it has come. */
static void a_card_comes_before_its_changes(void)
{
	enum { TIMES = 16 };
	struct note note;
	unsigned int i;
	int status;
	pid_t pid;

	for (i = 0; i < TIMES && !tap_failed; i++) {
		listen_anew();
		close(cards[PLAIN].fd);
		REQUIRE(driver_write("unbind", cards[PLAIN].info.pci_name));
		REQUIRE(await(&note, PLAIN, RFM_CMD_CARD_DELETE_NTF, ABSENT));
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid)
			change_at_once();
		REQUIRE(driver_write("bind", cards[PLAIN].info.pci_name));
		CHECK(waitpid(pid, &status, 0) == pid && !status);
		do
			REQUIRE(next_note(&note, PATIENCE_MS));
		while (note.id != cards[PLAIN].id);
		CHECK_EQ(note.cmd, RFM_CMD_CARD_CREATE_NTF);
		cards[PLAIN].fd = open(cards[PLAIN].path, O_RDWR);
		CHECK(cards[PLAIN].fd >= 0);
	}
}

/* A part of a dump is made when it is asked for, and one more whenever one is read. */
static void dump_begin(void)
{
	ask_for(RFM_CMD_CARD_GET);
	genl_head(&request)->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	CHECK(genl_send(asking, &request));
}

/* Reads all of it: does it say that it was interrupted behind its first part? */
static bool dump_was_interrupted(void)
{
	static struct genl datagram;
	bool first = true, interrupted = false, done = false;
	const struct nlmsghdr *head;
	size_t at;

	for (; !done && genl_recv(asking, &datagram, GENL_MAX, 0) > 0; first = false) {
		for (at = 0; (head = genl_message(&datagram, &at));) {
			CHECK(!first || !(head->nlmsg_flags & NLM_F_DUMP_INTR));
			interrupted |= head->nlmsg_flags & NLM_F_DUMP_INTR;
			done = head->nlmsg_type == NLMSG_DONE;
		}
	}
	return done && interrupted;
}

/*
 * From outside: says when a card no longer answers, and that a dump which has begun
 * before knows of it. Returns the exit status.
 */
static int wait_until_gone(const char *path)
{
	struct note note;

	cards[TALKER].id = atoi(strrchr(path, '/') + 4);
	listen_anew();
	dump_begin();
	printf("ready\n");
	fflush(stdout);
	do {
		if (!CHECK(next_note(&note, 60000)))
			return TAP_FAIL;
		/* Its registers read as if there were light. */
		CHECK(note.id != cards[TALKER].id || note.type != RFM_NOTICE_LINK_UP);
	} while (note.id != cards[TALKER].id || note.type != RFM_NOTICE_GONE);
	CHECK(dump_was_interrupted());
	return tap_failed ? TAP_FAIL : TAP_PASS;
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(changes_are_told_with_their_maker),
		TAP_CASE(light_is_told),
		TAP_CASE(others_breaks_are_told),
		TAP_CASE(light_of_a_plain_card_is_told),
		TAP_CASE(conflicts_are_told_and_counted),
		TAP_CASE(silence_is_told_with_its_watch),
		TAP_CASE(lateness_is_told),
		TAP_CASE(errors_wait_for_the_first_listener),
		TAP_CASE(the_same_is_told_together),
		TAP_CASE(overruns_are_counted),
		TAP_CASE(a_full_socket_is_told),
		TAP_CASE(cards_come_and_go),
		TAP_CASE(a_card_comes_before_its_changes),
	};

	if (argc == 3 && !strcmp(argv[1], "-g")) {
		open_family();
		return wait_until_gone(argv[2]);
	}
	open_cards(argc, argv);
	return leave_cards(TAP_RUN(cases));
}
