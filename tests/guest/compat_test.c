// SPDX-License-Identifier: GPL-2.0-only
/*
 * A 32-bit program calls a 64-bit driver: the same structs, the same answers.
 *
 *	compat_test DEVICE
 *
 * Built with -m32 and without a C library, which many machines do not have
 * for 32 bits. Built otherwise it says SKIP. Prints TAP.
 */

#include <linux/rfm.h>

#ifndef __i386__

#include "tap.h"

int main(void)
{
	tap_skip_all("this compiler makes no 32-bit programs");
}

#else

#define _STRINGIFY(x) #x
#define STRINGIFY(x) _STRINGIFY(x)

/* What the 64-bit kernel takes them for. */
_Static_assert(sizeof(struct rfm_info) == 168, "rfm_info");
_Static_assert(sizeof(struct rfm_send) == 16, "rfm_send");
_Static_assert(sizeof(struct rfm_listen) == 16, "rfm_listen");
_Static_assert(sizeof(struct rfm_event) == 176, "rfm_event");
_Static_assert(sizeof(struct rfm_ring_test) == 16, "rfm_ring_test");
_Static_assert(sizeof(struct rfm_subscribe) == 40, "rfm_subscribe");
_Static_assert(sizeof(struct rfm_watch) == 104, "rfm_watch");
_Static_assert(sizeof(struct rfm_fence_wait) == 48, "rfm_fence_wait");
_Static_assert(sizeof(struct rfm_send_set) == 48, "rfm_send_set");
_Static_assert(sizeof(struct rfm_config) == 40, "rfm_config");
_Static_assert(sizeof(struct rfm_writer) == 48, "rfm_writer");
_Static_assert(sizeof(struct rfm_counters) == 1560, "rfm_counters");
_Static_assert(sizeof(struct rfm_member) == 56, "rfm_member");
_Static_assert(sizeof(struct rfm_ring_map) == 48, "rfm_ring_map");
_Static_assert(sizeof(struct rfm_node_answer) == 24, "rfm_node_answer");
_Static_assert(sizeof(struct rfm_verify) == 6200, "rfm_verify");
_Static_assert(sizeof(struct rfm_reg) == 32, "rfm_reg");
_Static_assert(sizeof(struct rfm_event_counts) == 256, "rfm_event_counts");

enum { NR_EXIT = 1, NR_READ = 3, NR_WRITE = 4, NR_OPEN = 5, NR_CLOSE = 6,
       NR_IOCTL = 54, O_RDWR = 2, EINVAL = 22, ENOTTY = 25, EAGAIN = 11,
       EOPNOTSUPP = 95, EFAULT = 14 };

static int call(int number, long a, long b, long c)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result)
			 : "0"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}

static void say(const char *text)
{
	int length = 0;

	while (text[length])
		length++;
	call(NR_WRITE, 1, (long)text, length);
}

static int failed;

#define CHECK(condition) do {						\
	if (!(condition)) {						\
		failed = 1;						\
		say("# line " STRINGIFY(__LINE__) ": not true: "	\
		    #condition "\n");					\
	}								\
} while (0)

static int card;
static struct rfm_info info;

static int ask(int fd, unsigned long cmd, void *arg)
{
	return call(NR_IOCTL, fd, cmd, (long)arg);
}

/* What needs no extension block. */
static void base_calls(void)
{
	struct rfm_send send = { RFM_NODE_ALL, RFM_EVENT_TYPES, 0, 0 };
	struct rfm_config config = { 0 };
	struct rfm_listen listen = { RFM_EVENT_BIT(RFM_EVENT_INT1),
				     RFM_LISTEN_NONBLOCK, 0, 0 };
	struct rfm_reg reg = { .set = RFM_REGS_CONTROL, .offset = 1, .width = 1 };
	static struct rfm_event_counts counts;
	struct rfm_event event;
	int fd;

	CHECK(ask(card, RFM_IOC_INFO, &info) == 0);
	CHECK(info.board_id == 0x65 && info.memory_size >= 64 << 20);
	CHECK(info.pci_name[0] && info.reserved[3] == 0);
	CHECK(ask(card, RFM_IOC_INFO, (void *)8) == -EFAULT);
	CHECK(ask(card, RFM_IOC_SEND, &send) == -EINVAL);
	CHECK(ask(card, RFM_IOC_GET_CONFIG, &config) == 0);
	CHECK(config.on & RFM_CONFIG_TRANSMIT);
	CHECK(ask(card, RFM_IOC_REG, &reg) == 0);
	CHECK(reg.before == 0x65);
	counts.count[31] = 1;
	CHECK(ask(card, RFM_IOC_EVENT_COUNTS, &counts) == 0);
	CHECK(counts.count[31] == 0);
	CHECK(ask(card, _IO(RFM_IOC_MAGIC, 0x7f), &config) == -ENOTTY);
	fd = ask(card, RFM_IOC_LISTEN, &listen);
	CHECK(fd >= 0);
	CHECK(call(NR_READ, fd, (long)&event, sizeof(event) - 1) == -EINVAL);
	CHECK(call(NR_READ, fd, (long)&event, sizeof(event)) == -EAGAIN);
	call(NR_CLOSE, fd, 0, 0);
}

static void extension_calls(void)
{
	static struct rfm_member member[RFM_NODES];
	static struct rfm_counters counters;
	struct rfm_subscribe subscribe = { .range = { 0x1000, 64 },
					   .flags = RFM_SUBSCRIBE_RX };
	struct rfm_fence_wait fence = { .timeout_ms = 10000 };
	struct rfm_writer writer = { .offset = 0x1000 };
	/* A 32-bit address, in a field of 64 bits. */
	struct rfm_ring_map map = { .members = (unsigned long)member,
				    .count = RFM_NODES };
	struct rfm_range range = { 0x2000, 8 };
	struct rfm_watch watch = { .ranges = (unsigned long)&range, .count = 1 };
	int fd;

	CHECK(ask(card, RFM_IOC_SUBSCRIBE, &subscribe) == 0);
	CHECK(subscribe.result == (info.base_policy == RFM_BASE_ALL));
	subscribe.result = 0;
	CHECK(ask(card, RFM_IOC_UNSUBSCRIBE, &subscribe) == 0);
	subscribe.result = 0;
	subscribe.range.length = ~0ull;
	CHECK(ask(card, RFM_IOC_SUBSCRIBE, &subscribe) == -EINVAL);
	CHECK(ask(card, RFM_IOC_FENCE, &fence) == 0);
	CHECK(fence.wait_ns != 0);
	CHECK(ask(card, RFM_IOC_WRITER, &writer) == 0);
	CHECK(writer.node <= RFM_NODE_ALL);
	CHECK(ask(card, RFM_IOC_COUNTERS, &counters) == 0);
	CHECK(counters.count > 30);
	CHECK(ask(card, RFM_IOC_RING_MAP, &map) == 0);
	CHECK(map.present && member[info.node].present == 1);
	fd = ask(card, RFM_IOC_WATCH, &watch);
	CHECK(fd >= 0);
	call(NR_CLOSE, fd, 0, 0);
}

__attribute__((noreturn, used))
static void run(long *stack)
{
	const char *device = (const char *)stack[2];

	say("TAP version 13\n1..2\n");
	card = stack[0] > 1 ? call(NR_OPEN, (long)device, O_RDWR, 0) : -1;
	if (card < 0)
		say("Bail out! cannot open the device\n");
	base_calls();
	say(failed ? "not ok 1 base_calls\n" : "ok 1 base_calls\n");
	if (!info.features) {
		say("ok 2 extension_calls # SKIP no extension block\n");
	} else {
		int before = failed;

		failed = 0;
		extension_calls();
		say(failed ? "not ok 2 extension_calls\n" :
			     "ok 2 extension_calls\n");
		failed |= before;
	}
	call(NR_EXIT, failed, 0, 0);
	__builtin_unreachable();
}

/* argc is on the top of the stack, argv behind it. */
__asm__(".globl _start\n_start:\n\tmov %esp, %eax\n\tand $-16, %esp\n"
	"\tsub $12, %esp\n\tpush %eax\n\tcall run\n");

#endif
