// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers in the hands of a program: RFM_IOC_REG, and mapping of them. Wants one
 * card that nobody else uses, and root.
 *
 *	registers_test DEVICE [NARROW]
 *	registers_test --locked DEVICE
 *
 * With --locked the kernel is locked down, and all this is refused.
 * The window of NARROW is smaller than its memory. Offsets and bits are spelt as the
 * manual of the card has them, so that a wrong number in a header shows.
 */

#include <linux/capability.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tap.h"
#include "card.h"

#define PAGE 4096ul
#define RW (PROT_READ | PROT_WRITE)
#define PLACE 0x3000ull

#define BIGEND	0x0c
#define CNTRL	0x6c
#define LAS1BA	0xf4
#define LCSR1	0x08
#define NTD	0x18

static const char *path, *narrow_path;
static int card;
static struct rfm_info info;

static int reg(int fd, struct rfm_reg *args)
{
	return ioctl(fd, RFM_IOC_REG, args);
}

static uint32_t reg_read(uint32_t set, uint32_t offset, uint32_t width)
{
	struct rfm_reg args = { .set = set, .offset = offset, .width = width };

	CHECK_EQ(reg(card, &args), 0);
	return args.before;
}

/* Returns what it was before. */
static uint32_t reg_change(uint32_t set, uint32_t offset, uint32_t width, uint32_t mask,
			   uint32_t value)
{
	struct rfm_reg args = { set, offset, width, mask, value, 0, 0 };

	CHECK_EQ(reg(card, &args), 0);
	return args.before;
}

static uint32_t lcsr1(void)
{
	struct rfm_info now;

	CHECK_EQ(card_info(card, &now), 0);
	return now.lcsr1;
}

static void reading(void)
{
	uint32_t width, offset;

	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 0x00, 1), info.board_revision);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 0x01, 1), 0x65);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 0x02, 2), info.build);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 0x04, 1), info.node);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 0x00, 4),
		 info.board_revision | 0x65 << 8 | (uint32_t)info.build << 16);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, LCSR1, 4) >> 16, lcsr1() >> 16);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, LCSR1 + 2, 2), lcsr1() >> 16);
	CHECK_EQ(reg_read(RFM_REGS_RUNTIME, 0x74, 1), 0xc0);
	CHECK_EQ(reg_read(RFM_REGS_RUNTIME, 0xf0, 4), -(uint32_t)info.window_size);
	/* Up to the last of both, in all widths; what reading takes out nobody has sent. */
	for (width = 1; width <= 4; width *= 2) {
		for (offset = 0; offset < 0x200; offset += width)
			reg_read(RFM_REGS_RUNTIME, offset, width);
		for (offset = 0; offset < 0x40; offset += width)
			reg_read(RFM_REGS_CONTROL, offset, width);
	}
}

/* Data of an interrupt that nobody sends. */
static void writing(void)
{
	uint32_t before = reg_read(RFM_REGS_CONTROL, NTD, 4);

	/* What is only written is not read. */
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD, 4, 0xffffffff, 0x12345678), 0);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), 0x12345678);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD + 1, 1, 0xff, 0xab), 0);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD + 2, 2, 0xffff, 0xcdef), 0);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), 0xcdefab78);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD, 4, 0xff00ff00, 0x11002200), 0xcdefab78);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), 0x11ef2278);
	/* Bits set, and cleared. */
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD + 3, 1, 0x0e, 0x0e), 0x11);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, NTD + 2, 2, 0x00f0, 0), 0x1fef);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), 0x1f0f2278);
	reg_change(RFM_REGS_CONTROL, NTD, 4, 0xffffffff, before);

	before = reg_change(RFM_REGS_RUNTIME, CNTRL, 4, 0x5, 0x5);
	CHECK_EQ(reg_read(RFM_REGS_RUNTIME, CNTRL, 1) & 0xf, (before & 0xf) | 0x5);
	reg_change(RFM_REGS_RUNTIME, CNTRL, 4, 0xf, before & 0xf);

	CHECK_EQ(lcsr1() >> 31, 0);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, LCSR1, 4, 0x80000001, 0x80000001) >> 31, 0);
	CHECK_EQ(lcsr1() >> 31, 1);
	CHECK_EQ(reg_change(RFM_REGS_CONTROL, LCSR1 + 3, 1, 0x80, 0) >> 7, 1);
	CHECK_EQ(lcsr1() >> 31, 0);
}

static void refusals(void)
{
	static const struct {
		struct rfm_reg args;
		const char *why;
	} bad[] = {
		{ { 2, 0, 4, 0, 0, 0, 0 }, "no set" },
		{ { 0xffffffff, 0, 4, 0, 0, 0, 0 }, "no set" },
		{ { 1, 0, 0, 0, 0, 0, 0 }, "width 0" },
		{ { 1, 0, 3, 0, 0, 0, 0 }, "width 3" },
		{ { 1, 0, 8, 0, 0, 0, 0 }, "width 8" },
		{ { 1, 0, 0x80000000, 0, 0, 0, 0 }, "a large width" },
		{ { 1, NTD + 1, 2, 0, 0, 0, 0 }, "an odd word" },
		{ { 1, NTD + 2, 4, 0, 0, 0, 0 }, "half a step" },
		{ { 1, 0x40, 1, 0, 0, 0, 0 }, "behind the control registers" },
		{ { 1, 0x40, 4, 0xffffffff, 0, 0, 0 }, "behind the control registers" },
		{ { 0, 0x200, 1, 0, 0, 0, 0 }, "behind the runtime registers" },
		{ { 0, 0xfffffffc, 4, 0, 0, 0, 0 }, "far behind" },
		{ { 1, 0xffffffff, 1, 0, 0, 0, 0 }, "far behind" },
		{ { 1, NTD, 1, 0x100, 0x100, 0, 0 }, "a mask wider than a byte" },
		{ { 1, NTD, 2, 0xffffffff, 1, 0, 0 }, "a mask wider than a word" },
		{ { 1, NTD, 4, 0, 1, 0, 0 }, "a value of no bits" },
		{ { 1, NTD, 4, 0xf0, 0xff, 0, 0 }, "a value outside the mask" },
		{ { 1, NTD, 4, 0, 0, 1, 0 }, "before is set" },
		{ { 1, NTD, 4, 0, 0, 0, 1 }, "reserved is set" },
	};
	static void *const pointers[] = { NULL, (void *)8, (void *)0x7ffffffff000, (void *)-4096l };
	uint32_t before = reg_read(RFM_REGS_CONTROL, NTD, 4);
	struct rfm_reg args;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		args = bad[i].args;
		CHECK_ERRNO(reg(card, &args), EINVAL);
		if (!CHECK(!memcmp(&args, &bad[i].args, sizeof(args))))
			tap_note("%s", bad[i].why);
	}
	for (i = 0; i < ARRAY_SIZE(pointers); i++)
		CHECK_ERRNO(ioctl(card, RFM_IOC_REG, pointers[i]), EFAULT);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), before);
}

static void *map_regs(int fd, uint64_t offset, int protection)
{
	void *map = mmap(NULL, PAGE, protection, MAP_SHARED, fd, offset);

	return map == MAP_FAILED ? NULL : map;
}

/* Those whose descriptor, or who themselves, may not. */
static void rights(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct rfm_reg args = { .set = RFM_REGS_CONTROL, .offset = NTD, .width = 4 };
	int reader = open(path, O_RDONLY), writer = open(path, O_WRONLY), status;
	struct __user_cap_data_struct caps[2];
	struct rfm_info now;
	pid_t pid;

	REQUIRE(reader >= 0 && writer >= 0);
	CHECK_ERRNO(reg(reader, &args), EBADF);
	CHECK_ERRNO(reg(writer, &args), EBADF);
	CHECK(!map_regs(reader, RFM_MAP_CONTROL, PROT_READ) && errno == EBADF);
	CHECK(!map_regs(reader, RFM_MAP_CONTROL, RW) && errno == EACCES);
	CHECK(!map_regs(writer, RFM_MAP_CONTROL, PROT_READ) && errno == EACCES);
	close(reader);
	close(writer);

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		if (syscall(SYS_capget, &head, caps))
			_exit(1);
		caps[0].effective &= ~(1u << CAP_SYS_RAWIO);
		if (syscall(SYS_capset, &head, caps))
			_exit(2);
		if (reg(card, &args) != -1 || errno != EPERM)
			_exit(3);
		if (map_regs(card, RFM_MAP_CONTROL, RW) || errno != EPERM)
			_exit(4);
		if (map_regs(card, RFM_MAP_RUNTIME, PROT_READ) || errno != EPERM)
			_exit(5);
		_exit(card_info(card, &now) || !map_regs(card, 0, RW) ? 6 : 0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(reg(card, &args), 0);
}

/* With every capability; all else goes on. */
static void a_kernel_that_is_locked_down(void)
{
	struct rfm_reg args = { .set = RFM_REGS_CONTROL, .offset = NTD, .width = 4 };
	struct rfm_config config = { .mask = RFM_CONFIG_LED };
	uint64_t word = 0;
	void *memory;

	CHECK_ERRNO(reg(card, &args), EPERM);
	args.mask = 1;
	CHECK_ERRNO(reg(card, &args), EPERM);
	CHECK(!map_regs(card, RFM_MAP_CONTROL, RW) && errno == EPERM);
	CHECK(!map_regs(card, RFM_MAP_RUNTIME, PROT_READ) && errno == EPERM);
	CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &config), 0);
	CHECK_EQ(pwrite(card, &word, sizeof(word), PLACE), sizeof(word));
	memory = map_regs(card, 0, RW);
	CHECK(memory);
	munmap(memory, PAGE);
}

/* Another's bits of a register stay as they are while ours change all the time. */
static atomic_bool enough;

static void *switch_led(void *rounds)
{
	struct rfm_config config = { .mask = RFM_CONFIG_LED };

	while (!atomic_load(&enough)) {
		config.on ^= RFM_CONFIG_LED;
		if (ioctl(card, RFM_IOC_SET_CONFIG, &config) ||
		    lcsr1() >> 31 != !!config.on)
			return "the LED is not as it was set";
		++*(unsigned long *)rounds;
	}
	config.on = 0;
	ioctl(card, RFM_IOC_SET_CONFIG, &config);
	return NULL;
}

static void changes_are_one_step(void)
{
	const uint32_t bit = 0x20000000;	/* dark-on-dark */
	unsigned long ours, theirs = 0, lost = 0;
	uint64_t end = now_ns() + 1000000000;
	pthread_t thread;
	void *wrong;

	REQUIRE(!pthread_create(&thread, NULL, switch_led, &theirs));
	for (ours = 0; now_ns() < end || theirs < 1000; ours++) {
		uint32_t on = ours & 1 ? bit : 0;

		reg_change(RFM_REGS_CONTROL, LCSR1, 4, bit, on);
		lost += (reg_read(RFM_REGS_CONTROL, LCSR1, 4) & bit) != on;
	}
	atomic_store(&enough, true);
	pthread_join(thread, &wrong);
	reg_change(RFM_REGS_CONTROL, LCSR1, 4, bit, 0);
	if (!CHECK(!wrong))
		tap_note("%s", (char *)wrong);
	CHECK_EQ(lost, 0);
	tap_note("%lu changes here, %lu there", ours, theirs);
}

/* What of the registers the driver remembers. */
static void the_driver_knows(void)
{
	static const struct {
		uint32_t bigend, on;
	} orders[] = {
		{ 0x20, RFM_CONFIG_BYTE_SWAP }, { 0x80, RFM_CONFIG_DMA_BYTE_SWAP },
		{ 0xa0, RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP }, { 0, 0 },
	};
	const uint32_t both = RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP;
	uint64_t word = 0x0123456789abcdef;
	volatile uint64_t *map = card_map(card, info.window_size);
	struct rfm_config config;
	unsigned int i;

	REQUIRE(map && pwrite(card, &word, 8, PLACE) == 8);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		reg_change(RFM_REGS_RUNTIME, BIGEND, 1, 0xa0, orders[i].bigend);
		CHECK_EQ(ioctl(card, RFM_IOC_GET_CONFIG, &config), 0);
		CHECK_EQ(config.on & both, orders[i].on);
		CHECK_EQ(map[PLACE / 8], orders[i].on & RFM_CONFIG_BYTE_SWAP ?
					 0x67452301efcdab89 : 0x0123456789abcdef);
		CHECK_EQ(pread(card, &word, 8, PLACE), 8);
		CHECK_EQ(word, orders[i].on & RFM_CONFIG_DMA_BYTE_SWAP ?
			       0x67452301efcdab89 : 0x0123456789abcdef);
	}
	munmap((void *)map, info.window_size);
}

/* The window moves under a mapping, and what asks where it is is told. */
static void a_window_is_moved(void)
{
	volatile uint64_t *map;
	struct rfm_info now;
	int fd, mine = card;

	if (!narrow_path)
		return tap_skip("no card with a narrow window");
	fd = open(narrow_path, O_RDWR);
	REQUIRE(fd >= 0 && !card_info(fd, &now));
	map = card_map(fd, PAGE);
	REQUIRE(map);
	card = fd;
	map[0] = 1;
	reg_change(RFM_REGS_RUNTIME, LAS1BA, 4, 0xffffffff, now.window_size | 1);
	CHECK_EQ(card_info(fd, &now), 0);
	CHECK_EQ(now.window_offset, now.window_size);
	map[0] = 2;
	reg_change(RFM_REGS_RUNTIME, LAS1BA, 4, 0xffffffff, 1);
	CHECK_EQ(card_info(fd, &now), 0);
	CHECK_EQ(now.window_offset, 0);
	CHECK_EQ(map[0], 1);
	card = mine;
	munmap((void *)map, PAGE);
	close(fd);
}

static void mapping(void)
{
	volatile uint8_t *control = map_regs(card, RFM_MAP_CONTROL, RW);
	volatile uint8_t *runtime = map_regs(card, RFM_MAP_RUNTIME, PROT_READ);
	volatile uint32_t *ntd;
	struct rfm_config config = { .mask = RFM_CONFIG_WINDOW };
	int status;
	pid_t pid;

	REQUIRE(control && runtime);
	CHECK(info.control_at <= PAGE - 0x40 && info.runtime_at < PAGE);
	ntd = (volatile uint32_t *)(control + info.control_at + NTD);
	CHECK_EQ(control[info.control_at + 1], 0x65);
	CHECK_EQ(control[info.control_at + 4], info.node);
	CHECK_EQ(runtime[info.runtime_at + 0x74], 0xc0);
	*ntd = 0x55aa1234;
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, NTD, 4), 0x55aa1234);
	reg_change(RFM_REGS_CONTROL, NTD, 2, 0xffff, 0);
	CHECK_EQ(*ntd, 0x55aa0000);
	CHECK_EQ(store_fault((volatile uint8_t *)runtime + info.runtime_at + CNTRL), SIGSEGV);
	/* A child has it too, touched or not; and no window stays where it is for it. */
	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		*ntd = 7;
		_exit(runtime[info.runtime_at + 0x74] != 0xc0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(*ntd, 7);
	CHECK_EQ(ioctl(card, RFM_IOC_SET_CONFIG, &config), 0);
	CHECK_EQ(munmap((void *)control, PAGE), 0);
	CHECK_EQ(munmap((void *)runtime, PAGE), 0);
}

static void refused_mappings(void)
{
	static const uint64_t ends[] = { RFM_MAP_RUNTIME, RFM_MAP_CONTROL };
	unsigned int i;
	void *map;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		CHECK(mmap(NULL, 2 * PAGE, RW, MAP_SHARED, card, ends[i]) == MAP_FAILED &&
		      errno == EINVAL);
		CHECK(!map_regs(card, ends[i] - PAGE, RW) && errno == EINVAL);
		CHECK(!map_regs(card, ends[i] + PAGE, RW) && errno == EINVAL);
		CHECK(mmap(NULL, PAGE, RW, MAP_PRIVATE, card, ends[i]) == MAP_FAILED &&
		      errno == EINVAL);
		CHECK(!map_regs(card, ends[i], RW | PROT_EXEC) && errno == EACCES);
		map = map_regs(card, ends[i], RW);
		REQUIRE(map);
		CHECK_ERRNO(mprotect(map, PAGE, PROT_READ | PROT_EXEC), EACCES);
		CHECK(mremap(map, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
		munmap(map, PAGE);
	}
}

static bool tell_driver(const char *what)
{
	char name[64];
	int fd;
	bool told;

	snprintf(name, sizeof(name), "/sys/bus/pci/drivers/rfm/%s", what);
	fd = open(name, O_WRONLY);
	told = write(fd, info.pci_name, strlen(info.pci_name)) > 0;
	close(fd);
	return told;
}

/* The driver leaves the card: who has registers of it has none any more. */
static void gone(void)
{
	volatile uint8_t *control = map_regs(card, RFM_MAP_CONTROL, RW);
	volatile uint8_t *runtime = map_regs(card, RFM_MAP_RUNTIME, RW);
	struct rfm_reg args = { .set = RFM_REGS_CONTROL, .offset = NTD, .width = 4 };
	struct rfm_event_counts counts;

	REQUIRE(control && runtime);
	CHECK_EQ(control[info.control_at + 1], 0x65);
	REQUIRE(tell_driver("unbind"));
	CHECK_EQ(load_fault(control + info.control_at + 1), SIGBUS);
	CHECK_EQ(store_fault(control + info.control_at + NTD), SIGBUS);
	CHECK_EQ(load_fault(runtime + info.runtime_at), SIGBUS);
	CHECK_ERRNO(reg(card, &args), ENODEV);
	CHECK_ERRNO(ioctl(card, RFM_IOC_EVENT_COUNTS, &counts), ENODEV);
	CHECK(!map_regs(card, RFM_MAP_CONTROL, RW) && errno == ENODEV);
	munmap((void *)control, PAGE);
	munmap((void *)runtime, PAGE);
	close(card);
	REQUIRE(tell_driver("bind"));
	card = open(path, O_RDWR);
	REQUIRE(card >= 0);
	CHECK_EQ(reg_read(RFM_REGS_CONTROL, 1, 1), 0x65);
}

int main(int argc, char **argv)
{
	static const struct tap_case locked[] = { TAP_CASE(a_kernel_that_is_locked_down) };
	static const struct tap_case cases[] = {
		TAP_CASE(reading),
		TAP_CASE(writing),
		TAP_CASE(refusals),
		TAP_CASE(rights),
		TAP_CASE(changes_are_one_step),
		TAP_CASE(the_driver_knows),
		TAP_CASE(a_window_is_moved),
		TAP_CASE(mapping),
		TAP_CASE(refused_mappings),
		TAP_CASE(gone),
	};

	bool is_locked = argc > 1 && !strcmp(argv[1], "--locked");

	argc -= is_locked;
	argv += is_locked;
	path = card_path(argc, argv, 0);
	narrow_path = argc > 2 ? argv[2] : NULL;
	if (!path)
		tap_skip_all("no card");
	card = open(path, O_RDWR);
	if (card < 0 || card_info(card, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	return is_locked ? TAP_RUN(locked) : TAP_RUN(cases);
}
