// SPDX-License-Identifier: GPL-2.0-only
/*
 * Long reads and writes, by callers who wait for their end:
 *
 *	dma_test [DEVICE]
 *	dma_test DEVICE FAR
 *
 * FAR is another card on the ring of DEVICE, in the same machine: then only
 * what needs two cards is tested.
 */

#define TAP_CASE_SECONDS 600

#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "dma.h"

#define LIMIT 0x7ffff8ul	/* of the engine */
#define MIB (1ul << 20)

static const char *path, *far_path;
static int card;
static struct rfm_info info;
static uint8_t *map;		/* the whole window */

static void *pages(size_t bytes)
{
	void *some = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return some == MAP_FAILED ? NULL : some;
}

/* Many card_fill()s would be slow. */
static bool card_set(off_t at, uint8_t byte, size_t len)
{
	uint8_t *buf = pages(len);
	bool good;

	if (!buf)
		return false;
	memset(buf, byte, len);
	good = pwrite(card, buf, len, at) == (ssize_t)len;
	munmap(buf, len);
	return good;
}

/* The engine is used from the given length on, and only from there. */
static void which_way(void)
{
	static const struct {
		long long threshold;
		size_t len;
		bool engine;
	} ways[] = {
		{ 4096, 4096, true }, { 4096, 4095, false },
		{ 4096, 65536, true }, { 64, 64, true }, { 64, 63, false },
		{ 64, 8, false }, { 0, 65536, false }, { 1, 4096, true },
		{ 65536, 65535, false }, { 0xffffffff, MIB, false },
	};
	uint8_t *buf = pages(MIB);
	long long errors = dma_figure("errors");
	unsigned int i, direction;

	REQUIRE(buf && errors >= 0);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		for (direction = 0; direction < 2; direction++) {
			long long before = dma_figure("operations"), after;
			ssize_t len = ways[i].len;

			REQUIRE(dma_threshold(ways[i].threshold));
			CHECK_EQ(direction ? pwrite(card, buf, len, 4096) :
					     pread(card, buf, len, 4096), len);
			after = dma_figure("operations");
			if (!CHECK_EQ(after > before, ways[i].engine))
				tap_note("threshold %lld, %zd bytes, direction %u",
					 ways[i].threshold, len, direction);
		}
	}
	CHECK_EQ(dma_figure("errors"), errors);
	munmap(buf, MIB);
}

/* They need not be the same: each direction has its own. */
static void directions_differ(void)
{
	uint8_t *buf = pages(65536);
	long long before;

	REQUIRE(buf && dma_set(RFM_A_CARD_DMA_READ_THRESHOLD, 0) &&
		dma_set(RFM_A_CARD_DMA_WRITE_THRESHOLD, 64));
	before = dma_figure("operations");
	CHECK_EQ(pread(card, buf, 65536, 0), 65536);
	CHECK_EQ(dma_figure("operations"), before);
	CHECK_EQ(pwrite(card, buf, 65536, 0), 65536);
	before = dma_figure("operations");
	REQUIRE(dma_set(RFM_A_CARD_DMA_READ_THRESHOLD, 64) &&
		dma_set(RFM_A_CARD_DMA_WRITE_THRESHOLD, 0));
	CHECK_EQ(pwrite(card, buf, 65536, 0), 65536);
	CHECK_EQ(dma_figure("operations"), before);
	CHECK_EQ(pread(card, buf, 65536, 0), 65536);
	CHECK(dma_figure("operations") > before);
	munmap(buf, 65536);
}

/* To the card and back; nothing around it changes, on either side. */
static void there_and_back(uint8_t *buf, uint8_t *seen, size_t skew, size_t len,
			   off_t at, uint64_t who)
{
	uint8_t before[16], after[16];
	size_t same;

	pattern_fill(buf + skew, len, who);
	memcpy(before, map + at - 16, 16);
	memcpy(after, map + at + len, 16);

	CHECK_EQ(pwrite(card, buf + skew, len, at), len);
	same = first_difference(map + at, buf + skew, len);
	if (!CHECK_EQ(same, len))
		tap_note("write: skew %zu, at %#llx", skew, (long long)at);
	CHECK(!memcmp(map + at - 16, before, 16));
	CHECK(!memcmp(map + at + len, after, 16));

	memset(seen, 0xa5, len + skew + 16);
	CHECK_EQ(pread(card, seen + skew, len, at), len);
	same = first_difference(seen + skew, buf + skew, len);
	if (!CHECK_EQ(same, len))
		tap_note("read: skew %zu, at %#llx", skew, (long long)at);
	CHECK_EQ(first_other(seen, 0xa5, skew), skew);
	CHECK_EQ(first_other(seen + skew + len, 0xa5, 16), 16);
}

static void short_lengths_at_all_alignments(void)
{
	static const size_t lengths[] = {
		63, 64, 65, 71, 72, 73, 127, 128, 4095, 4096, 4097, 4104, 8200,
	};
	uint8_t *buf = pages(5 * PAGE), *seen = pages(5 * PAGE);
	size_t skew, offset, i;

	REQUIRE(buf && seen && dma_threshold(64));
	for (skew = 0; skew < 9 && !tap_failed; skew++)
		for (offset = 0; offset < 9; offset++)
			for (i = 0; i < ARRAY_SIZE(lengths); i++)
				there_and_back(buf, seen, skew, lengths[i],
					       3 * PAGE + offset, i + 1);
	/* And where the buffer's first page ends at once. */
	for (skew = PAGE - 9; skew <= PAGE && !tap_failed; skew++)
		there_and_back(buf, seen, skew, 4200, 3 * PAGE + skew % 8,
			       skew);
	munmap(buf, 5 * PAGE);
	munmap(seen, 5 * PAGE);
}

/* Who asks for the engine from the first byte on gets it where it can. */
static void shortest_lengths(void)
{
	uint8_t *buf = pages(2 * PAGE), *seen = pages(2 * PAGE);
	size_t skew, offset, len;
	long long before;

	REQUIRE(buf && seen && dma_threshold(1));
	for (skew = 0; skew < 9 && !tap_failed; skew++)
		for (offset = 0; offset < 9; offset++)
			for (len = 1; len <= 16; len++)
				there_and_back(buf, seen, skew, len,
					       3 * PAGE + offset, len);
	for (len = 1; len <= 16; len++) {
		before = dma_figure("bytes");
		CHECK_EQ(pwrite(card, buf, len, PAGE), len);
		CHECK_EQ(dma_figure("bytes") - before, len / 8 * 8);
	}
	munmap(buf, 2 * PAGE);
	munmap(seen, 2 * PAGE);
}

static void long_lengths(void)
{
	const size_t slice = dma_slice(), max = 3 * LIMIT + PAGE;
	const size_t lengths[] = {
		slice - 8, slice - 1, slice, slice + 1, slice + 8, slice + 64,
		2 * slice, 3 * slice + 77, LIMIT - 8, LIMIT - 1, LIMIT,
		LIMIT + 1, LIMIT + 8, LIMIT + 4096, 2 * LIMIT + 8,
	};
	uint8_t *buf = pages(max), *seen = pages(max);
	size_t i;

	REQUIRE(buf && seen && dma_threshold(4096));
	for (i = 0; i < ARRAY_SIZE(lengths) && !tap_failed; i++)
		there_and_back(buf, seen, 16 + (i & 7), lengths[i],
			       MIB + (i & 7), i);
	for (i = 0; i < ARRAY_SIZE(lengths) && !tap_failed; i++)
		there_and_back(buf, seen, 2048, lengths[i], 2 * MIB, i + 100);
	munmap(buf, max);
	munmap(seen, max);
}

/* Where buffer and offset do not agree, only slowness may tell. */
static void long_and_crooked(void)
{
	uint8_t *buf = pages(2 * MIB), *seen = pages(2 * MIB);
	long long before;
	size_t skew;

	REQUIRE(buf && seen && dma_threshold(4096));
	for (skew = 1; skew < 8 && !tap_failed; skew += 2) {
		before = dma_figure("bytes");
		there_and_back(buf, seen, skew, MIB + 5, MIB, skew);
		there_and_back(buf, seen, 0, 4096 + 16, MIB + skew, skew);
		there_and_back(buf, seen, 2 * skew, 300001, MIB + skew, skew);
		CHECK(dma_figure("bytes") - before > (long long)(2 * MIB));
	}
	munmap(buf, 2 * MIB);
	munmap(seen, 2 * MIB);
}

/* Many parts of all sizes, some empty, together and each for itself. */
static void many_vectors(void)
{
	enum { PARTS = 1024 };
	static struct iovec vector[PARTS], back[PARTS];
	uint8_t *buf = pages(4 * MIB), *seen = pages(4 * MIB);
	uint8_t *flat = pages(4 * MIB);
	size_t at = 0, sum = 0, len;
	unsigned int round, i;
	uint64_t seed = 11;

	REQUIRE(buf && seen && flat && dma_threshold(64));
	for (round = 0; round < 3 && !tap_failed; round++) {
		for (i = 0, at = 0, sum = 0; i < PARTS; i++) {
			len = random_next(&seed) % 3072;
			if (round == 0)
				len &= ~7ul;
			if (i % 16 == 3 || !i)
				len = 0;
			if (round == 2 && i % 8)
				len = 16 + i % 5;
			vector[i] = (struct iovec){ buf + at, len };
			back[i] = (struct iovec){ seen + at, len };
			pattern_fill(buf + at, len, i);
			memcpy(flat + sum, buf + at, len);
			sum += len;
			at += round ? len : (len + 7) & ~7ul;
		}
		memset(seen, 0, 4 * MIB);
		CHECK_EQ(pwritev(card, vector, PARTS, 8 * MIB + round), sum);
		CHECK_EQ(first_difference(map + 8 * MIB + round, flat, sum),
			 sum);
		CHECK_EQ(preadv(card, back, PARTS, 8 * MIB + round), sum);
		CHECK_EQ(first_difference(seen, buf, at), at);
	}
	munmap(buf, 4 * MIB);
	munmap(seen, 4 * MIB);
	munmap(flat, 4 * MIB);
}

static void the_end(void)
{
	const off_t size = info.window_size;
	uint8_t *buf = pages(MIB);

	REQUIRE(buf && dma_threshold(4096));
	memset(buf, 0x3c, MIB);
	CHECK_EQ(pwrite(card, buf, MIB, size - 65536), 65536);
	CHECK_ERRNO(pwrite(card, buf, MIB, size), ENOSPC);
	CHECK_EQ(pwrite(card, buf, 0, 0), 0);
	CHECK_EQ(pwrite(card, buf, MIB, size - 4099), 4099);
	memset(buf, 0xa5, MIB);
	CHECK_EQ(pread(card, buf, MIB, size - 65536), 65536);
	CHECK_EQ(first_other(buf, 0x3c, 65536), 65536);
	CHECK_EQ(first_other(buf + 65536, 0xa5, MIB - 65536), MIB - 65536);
	CHECK_EQ(pread(card, buf, MIB, size), 0);
	CHECK_EQ(pread(card, buf, MIB, size + (1ll << 40)), 0);
	CHECK_EQ(pread(card, buf, 0, 0), 0);
	munmap(buf, MIB);
}

/* The whole card by one call that asks for 2 GiB, and by one with a position. */
static void two_gigabytes(void)
{
	const size_t asked = 2ul << 30;
	void *huge = mmap(NULL, asked, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ssize_t size = info.window_size;
	int fd = open(path, O_RDWR);

	REQUIRE(huge != MAP_FAILED && fd >= 0 && dma_threshold(4096));
	CHECK_EQ(pread(card, huge, asked, 0), size);
	CHECK_EQ(first_difference(huge, map, size), size);
	CHECK_EQ(pwrite(card, huge, asked, 0), size);
	CHECK_EQ(first_difference(huge, map, size), size);
	CHECK_EQ(lseek(fd, size - (ssize_t)MIB, SEEK_SET), size - (ssize_t)MIB);
	CHECK_EQ(read(fd, huge, asked), MIB);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), size);
	CHECK_EQ(read(fd, huge, asked), 0);
	munmap(huge, asked);
	close(fd);
}

/* What is not there ends a transfer exactly where it begins. */
static void bad_buffers(void)
{
	const size_t good = 40 * PAGE, all = 80 * PAGE;
	uint8_t *buf = pages(all), *around;
	void *volatile nowhere = NULL;	/* the compiler knows read(2) */
	size_t skew;

	REQUIRE(buf && dma_threshold(4096));
	CHECK(card_set(MIB, 0x11, all));
	memset(buf, 0x77, all);
	REQUIRE(mprotect(buf + good, all - good, PROT_NONE) == 0);

	CHECK_ERRNO(pwrite(card, buf + good, all - good, MIB), EFAULT);
	CHECK_ERRNO(pread(card, buf + good, all - good, MIB), EFAULT);
	CHECK_ERRNO(pwrite(card, (void *)-PAGE, 65536, MIB), EFAULT);
	CHECK_ERRNO(pread(card, nowhere, 65536, MIB), EFAULT);
	CHECK_EQ(first_other(map + MIB, 0x11, all), all);

	for (skew = 0; skew < 16; skew += 5) {
		CHECK(card_set(MIB, 0x11, all));
		CHECK_EQ(pwrite(card, buf + skew, all - skew, MIB),
			 good - skew);
		CHECK_EQ(first_other(map + MIB, 0x77, good - skew),
			 good - skew);
		CHECK_EQ(first_other(map + MIB + good - skew, 0x11,
				     all - good), all - good);
		memset(buf, 0, good);
		CHECK_EQ(pread(card, buf + skew, all - skew, MIB), good - skew);
		CHECK_EQ(first_other(buf + skew, 0x77, good - skew),
			 good - skew);
	}

	/* To be read only: good to write from. */
	around = pages(all);
	REQUIRE(around);
	memset(around, 0x42, all);
	REQUIRE(mprotect(around, all, PROT_READ) == 0);
	CHECK_EQ(pwrite(card, around, all, MIB), all);
	CHECK_EQ(first_other(map + MIB, 0x42, all), all);
	CHECK_ERRNO(pread(card, around, all, MIB), EFAULT);
	CHECK_EQ(first_other(around, 0x42, all), all);
	munmap(around, all);
	munmap(buf, all);
	CHECK(dma_is_idle());
}

/* All that a process can call its memory. */
static void kinds_of_memory(void)
{
	const size_t len = 2 * MIB;
	int memory = memfd_create("buffer", 0);
	struct {
		const char *name;
		uint8_t *at;
	} kinds[] = {
		{ "fresh", pages(len) },
		{ "shared", mmap(NULL, len, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0) },
		{ "of a file", NULL }, { "copy of a file", NULL },
		{ "huge", pages(2 * len) },
		{ "the card", mmap(NULL, len, PROT_READ | PROT_WRITE,
				   MAP_SHARED, card, 16 * MIB) },
	};
	uint8_t *pattern = pages(len);
	unsigned int i;

	REQUIRE(memory >= 0 && ftruncate(memory, len) == 0 && dma_threshold(4096));
	kinds[2].at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
			   memory, 0);
	kinds[3].at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			   memory, 0);
	madvise(kinds[4].at, 2 * len, MADV_HUGEPAGE);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		uint8_t *at = kinds[i].at;

		REQUIRE(at != MAP_FAILED && at);
		pattern_fill(pattern, len, i + 1);
		CHECK_EQ(pwrite(card, pattern, len, 4 * MIB), len);
		CHECK_EQ(pread(card, at, len, 4 * MIB), len);
		if (!CHECK_EQ(first_difference(at, pattern, len), len))
			tap_note("read into %s", kinds[i].name);
		CHECK_EQ(pwrite(card, at, len, 8 * MIB), len);
		if (!CHECK_EQ(first_difference(map + 8 * MIB, pattern, len),
			      len))
			tap_note("write from %s", kinds[i].name);
	}
	/* What was read into the file's pages is in the file. */
	pattern_fill(pattern, len, 3);
	CHECK_EQ(pread(memory, kinds[0].at, len, 0), len);
	CHECK_EQ(first_difference(kinds[0].at, pattern, len), len);
	/* Never touched, it is zeros. */
	munmap(kinds[0].at, len);
	kinds[0].at = pages(len);
	CHECK_EQ(pwrite(card, kinds[0].at, len, 8 * MIB), len);
	CHECK_EQ(first_other(map + 8 * MIB, 0, len), len);
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		munmap(kinds[i].at, i == 4 ? 2 * len : len);
	munmap(pattern, len);
	close(memory);
}

/* Who must not wait and needs not, is served at once. */
static void no_wait(void)
{
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	struct iovec out = { buf, MIB }, in = { seen, MIB };
	long long before;

	REQUIRE(buf && seen && dma_threshold(4096));
	pattern_fill(buf, MIB, 5);
	before = dma_figure("operations");
	CHECK_EQ(pwritev2(card, &out, 1, MIB, RWF_NOWAIT), MIB);
	CHECK_EQ(preadv2(card, &in, 1, MIB, RWF_NOWAIT), MIB);
	CHECK_EQ(first_difference(buf, seen, MIB), MIB);
	CHECK_EQ(dma_figure("operations"), before);
	munmap(buf, MIB);
	munmap(seen, MIB);
}

/* Below the threshold some cards fetch what is written; here, that it is right all the same. */
static void short_writes_of_every_length(void)
{
	uint8_t *buf = pages(3 * PAGE);
	size_t len;

	REQUIRE(buf && dma_threshold(PAGE + 1));
	pattern_fill(buf, 2 * PAGE, 9);
	for (len = 100; len <= PAGE && !tap_failed; len += len < 200 ? 1 : 61) {
		const off_t at = MIB + len % 9;

		CHECK_EQ(pwrite(card, buf + len % 13, len, at), (ssize_t)len);
		CHECK_EQ(first_difference(map + at, buf + len % 13, len), len);
	}
	/* One whose buffer ends in the middle writes what there is, as a long one does. */
	munmap(buf + 2 * PAGE, PAGE);
	CHECK_EQ(pwrite(card, buf + 2 * PAGE - 64, 256, MIB), 64);
	CHECK_ERRNO(pwrite(card, buf + 2 * PAGE, 256, MIB), EFAULT);
	CHECK_EQ(first_difference(map + MIB, buf + 2 * PAGE - 64, 64), 64);
	munmap(buf, 2 * PAGE);
}

static void on_signal(int signo)
{
	(void)signo;
}

/* A signal ends it early; so much as it says is done, and not a byte more. */
static void signals_cut_short(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	const size_t len = info.window_size;
	uint8_t *buf = pages(len);
	unsigned int cut = 0, tries;
	int status;
	pid_t pid;

	REQUIRE(buf && dma_threshold(4096));
	CHECK(card_set(0, 0x5a, len));
	sigaction(SIGUSR1, &action, NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		for (;;) {
			sleep_ms(7);
			kill(getppid(), SIGUSR1);
		}
	}
	for (tries = 0; tries < 40 && cut < 2; tries++) {
		ssize_t done;

		memset(buf, 0xa5, len);
		done = pread(card, buf, len, 0);
		if (done < 0 && errno == EINTR)
			continue;
		REQUIRE(done > 0);
		cut += done < (ssize_t)len;
		CHECK_EQ(first_other(buf, 0x5a, done), done);
		CHECK_EQ(first_other(buf + done, 0xa5, len - done), len - done);
	}
	CHECK(cut > 0);
	for (tries = 0, cut = 0; tries < 40 && cut < 2; tries++) {
		ssize_t done;

		memset(buf, 0x30 + tries, len);
		done = pwrite(card, buf, len, 0);
		if (done < 0 && errno == EINTR)
			continue;
		REQUIRE(done > 0);
		cut += done < (ssize_t)len;
		CHECK_EQ(first_other(map, 0x30 + tries, done), done);
		CHECK(done == (ssize_t)len || map[done] != 0x30 + tries);
	}
	CHECK(cut > 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	signal(SIGUSR1, SIG_DFL);
	munmap(buf, len);
	CHECK(dma_is_idle());
}

static int byte_swap(bool on)
{
	struct rfm_config args = {
		.mask = RFM_CONFIG_BYTE_SWAP,
		.on = on ? RFM_CONFIG_BYTE_SWAP : 0,
	};

	return ioctl(card, RFM_IOC_SET_CONFIG, &args);
}

/* Both ways reverse the bytes of each aligned 4, or neither does. */
static void byte_swap_is_the_same_for_both(void)
{
	const size_t len = 65536 + 32;
	uint8_t *buf = pages(2 * len), *seen = pages(2 * len);
	size_t skew, i, wrong;

	REQUIRE(buf && seen && dma_threshold(64));
	for (skew = 0; skew < 8; skew += 3) {
		pattern_fill(buf + skew, len, 3 + skew);
		REQUIRE(byte_swap(true) == 0);
		CHECK_EQ(pwrite(card, buf + skew, len, MIB + skew), len);
		CHECK_EQ(pread(card, seen + skew, len, MIB + skew), len);
		CHECK_EQ(first_difference(buf + skew, seen + skew, len), len);
		dma_threshold(0);
		CHECK_EQ(pread(card, seen + skew, len, MIB + skew), len);
		CHECK_EQ(first_difference(buf + skew, seen + skew, len), len);
		dma_threshold(64);
		REQUIRE(byte_swap(false) == 0);
		CHECK_EQ(pread(card, seen, len, MIB), len);
		/* Whole dwords only: those at the ends are not all ours. */
		for (i = 8, wrong = 0; i < len - 8; i++)
			wrong += seen[i] != buf[i ^ 3];
		CHECK_EQ(wrong, 0);
	}
	munmap(buf, 2 * len);
	munmap(seen, 2 * len);
}

static int byte_swaps(uint32_t on)
{
	struct rfm_config args = {
		.mask = RFM_CONFIG_BYTE_SWAP | RFM_CONFIG_DMA_BYTE_SWAP,
		.on = on,
	};

	return ioctl(card, RFM_IOC_SET_CONFIG, &args);
}

/* What pread() gives at any offset and length is what lies there with @flip. */
static unsigned int wrong_reads(const uint8_t *plain, uint8_t *seen, unsigned int flip)
{
	static const size_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 63, 64, 100, 8191 };
	unsigned int wrong = 0;
	size_t from, i, at;

	for (from = 0; from < 16; from++)
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			memset(seen, 0, lengths[i]);
			if (pread(card, seen, lengths[i], MIB + from) != (ssize_t)lengths[i])
				return 1000;
			for (at = 0; at < lengths[i]; at++)
				wrong += seen[at] != plain[(from + at) ^ flip];
		}
	return wrong;
}

/* And of what pwrite() writes, nothing else changes. */
static unsigned int wrong_writes(uint8_t *plain, uint8_t *seen, unsigned int flip, size_t len)
{
	static const size_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 63, 64, 100, 8191 };
	unsigned int wrong = 0;
	uint8_t data[8192];
	size_t from, i, at;

	for (from = 0; from < 16; from++)
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			pattern_fill(data, lengths[i], from * 16 + i);
			if (pwrite(card, data, lengths[i], MIB + from) != (ssize_t)lengths[i])
				return 1000;
			for (at = 0; at < lengths[i]; at++)
				plain[(from + at) ^ flip] = data[at];
			if (byte_swaps(0))
				return 1000;
			if (pread(card, seen, len, MIB) != (ssize_t)len)
				return 1000;
			wrong += first_difference(seen, plain, len) != len;
			if (byte_swaps(flip ? RFM_CONFIG_DMA_BYTE_SWAP : RFM_CONFIG_BYTE_SWAP))
				return 1000;
		}
	return wrong;
}

/*
 * With one of the two on, a read or write is in the order of DMA, all of it, by
 * whichever way the driver makes which part.
 */
static void byte_swaps_apart(void)
{
	const size_t len = 16384;
	uint8_t *plain = pages(len), *seen = pages(len);
	unsigned int dma;

	REQUIRE(plain && seen);
	for (dma = 0; dma < 2; dma++) {
		const uint32_t on = dma ? RFM_CONFIG_DMA_BYTE_SWAP : RFM_CONFIG_BYTE_SWAP;
		unsigned int flip = dma ? 3 : 0, threshold;

		for (threshold = 0; threshold <= 64; threshold += 64) {
			REQUIRE(byte_swaps(0) == 0 && dma_threshold(threshold));
			pattern_fill(plain, len, 7 + dma);
			CHECK_EQ(pwrite(card, plain, len, MIB), len);
			REQUIRE(byte_swaps(on) == 0);
			CHECK_EQ(wrong_reads(plain, seen, flip), 0);
			CHECK_EQ(wrong_writes(plain, seen, flip, len), 0);
			/* A mapping has the other order. */
			CHECK_EQ(map[MIB + 1], plain[1 ^ (flip ? 0 : 3)]);
		}
	}
	REQUIRE(byte_swaps(0) == 0);
	munmap(plain, len);
	munmap(seen, len);
}

/* A write that has returned is ahead of every later store, also elsewhere. */
static void writes_come_before_later_stores(void)
{
	const size_t len = 3 * MIB + 5;
	const uint64_t flag = 32 * MIB;
	uint8_t *buf = pages(len);
	volatile uint64_t *there;
	unsigned int round;
	uint8_t *other;
	int fd;

	fd = open(far_path, O_RDWR);
	other = fd < 0 ? NULL : card_map(fd, info.window_size);
	REQUIRE(buf && other && dma_threshold(4096));
	there = (volatile uint64_t *)(other + flag);
	for (round = 1; round <= 20 && !tap_failed; round++) {
		uint64_t deadline = now_ns() + 20000000000ull;

		pattern_fill(buf, len, round);
		CHECK_EQ(pwrite(card, buf, len, MIB), len);
		*(volatile uint64_t *)(map + flag) = round;
		while (*there != round && now_ns() < deadline)
			;
		CHECK_EQ(*there, round);
		CHECK_EQ(first_difference(other + MIB, buf, len), len);
	}
	munmap(buf, len);
	munmap(other, info.window_size);
	close(fd);
}

/* Two files take turns: the short one does not wait for the long one's end. */
static void files_take_turns(void)
{
	uint8_t *buf = pages(info.window_size), *small = pages(65536);
	unsigned int overtook = 0, tries;

	REQUIRE(buf && small && dma_threshold(4096));
	for (tries = 0; tries < 100 && overtook < 3; tries++) {
		long long bytes;
		int status = -1;
		pid_t pid = fork();

		REQUIRE(pid >= 0);
		if (!pid) {
			int fd = open(path, O_RDWR);

			_exit(pread(fd, buf, info.window_size, 0) !=
			      (ssize_t)info.window_size);
		}
		bytes = dma_figure("bytes");
		while (!waitpid(pid, &status, WNOHANG) &&
		       dma_figure("bytes") - bytes < (long long)MIB)
			;
		if (status == -1) {
			CHECK_EQ(pread(card, small, 65536, 0), 65536);
			overtook += !waitpid(pid, &status, WNOHANG);
		}
		while (status == -1 && waitpid(pid, &status, 0) < 0)
			;
		CHECK_EQ(status, 0);
	}
	CHECK(overtook >= 3);
	munmap(buf, info.window_size);
	munmap(small, 65536);
}

/* What the PCI device's command register has to say about the bus. */
static bool bus_master(bool on)
{
	char name[128];
	uint16_t command;
	bool good;
	int fd;

	snprintf(name, sizeof(name), "/sys/bus/pci/devices/%s/config",
		 info.pci_name);
	fd = open(name, O_RDWR);
	good = fd >= 0 && pread(fd, &command, 2, 4) == 2;
	command = on ? command | 4 : command & ~4;
	good = good && pwrite(fd, &command, 2, 4) == 2;
	close(fd);
	return good;
}

struct reader {
	uint8_t *buf;
	ssize_t done;
};

static void *read_all(void *data)
{
	struct reader *reader = data;

	reader->done = pread(card, reader->buf, MIB, MIB);
	return NULL;
}

/*
 * A transfer of a card without the bus waits for it, and touches nothing before;
 * what the processor moves does not. It must have the bus again before the driver
 * gives the engine up: RFM_DMA_LIMIT() of its dma.c.
 */
static void an_engine_without_the_bus(void)
{
	uint8_t *buf = pages(MIB), *seen = pages(MIB);
	struct reader reader = { .buf = seen };
	struct timespec end;
	pthread_t thread;
	bool waits;

	REQUIRE(buf && seen && dma_threshold(4096));
	pattern_fill(buf, MIB, 9);
	CHECK_EQ(pwrite(card, buf, MIB, MIB), MIB);
	memset(seen, 0xa5, MIB);
	REQUIRE(bus_master(false));
	if (pthread_create(&thread, NULL, read_all, &reader)) {
		bus_master(true);
		REQUIRE(false);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += 2;
	waits = CHECK_EQ(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &end),
			 ETIMEDOUT);
	CHECK_EQ(first_other(seen, 0xa5, MIB), MIB);
	CHECK_EQ(pread(card, seen, 4095, MIB), 4095);
	CHECK_EQ(first_difference(seen, buf, 4095), 4095);
	CHECK_EQ(first_other(seen + 4095, 0xa5, MIB - 4095), MIB - 4095);
	CHECK(bus_master(true));
	if (waits)
		pthread_join(thread, NULL);
	CHECK_EQ(reader.done, MIB);
	CHECK_EQ(first_difference(seen, buf, MIB), MIB);
	munmap(buf, MIB);
	munmap(seen, MIB);
	CHECK(dma_is_idle());
}

struct writer {
	const uint8_t *buf;
	ssize_t done;
};

static void *write_all(void *data)
{
	struct writer *writer = data;

	writer->done = pwrite(card, writer->buf, 16 * MIB, 0);
	return NULL;
}

/*
 * A slice fails in the middle of a write: those behind it are not moved, though
 * the engine could.
 */
static void nothing_follows_an_error(void)
{
	const size_t len = 16 * MIB, slice = dma_slice();
	uint8_t *buf = pages(len);
	unsigned int cut = 0, tries;

	REQUIRE(buf && dma_threshold(4096));
	if (slice > MIB) {
		munmap(buf, len);
		tap_skip("the slices are too long for this");
		return;
	}
	for (tries = 0; tries < 100 && cut < 5 && !tap_failed; tries++) {
		struct writer writer = { .buf = buf };
		long long bytes;
		pthread_t thread;
		size_t after;

		CHECK(card_set(0, 0, len));
		memset(buf, 0xe1, len);
		bytes = dma_figure("bytes");
		REQUIRE(!pthread_create(&thread, NULL, write_all, &writer));
		while (dma_figure("bytes") - bytes < (long long)(4 * slice))
			;
		REQUIRE(bus_master(false) && bus_master(true));
		pthread_join(thread, NULL);
		REQUIRE(writer.done > 0);
		after = writer.done;
		CHECK_EQ(first_other(map, 0xe1, after), after);
		if (after == len)
			continue;
		cut++;
		/* It itself was moved in part. */
		after += slice;
		if (after < len)
			CHECK_EQ(first_other(map + after, 0, len - after),
				 len - after);
	}
	CHECK(cut > 0);
	munmap(buf, len);
	CHECK(dma_is_idle());
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(which_way),
		TAP_CASE(directions_differ),
		TAP_CASE(short_lengths_at_all_alignments),
		TAP_CASE(shortest_lengths),
		TAP_CASE(long_lengths),
		TAP_CASE(long_and_crooked),
		TAP_CASE(many_vectors),
		TAP_CASE(the_end),
		TAP_CASE(two_gigabytes),
		TAP_CASE(bad_buffers),
		TAP_CASE(kinds_of_memory),
		TAP_CASE(no_wait),
		TAP_CASE(short_writes_of_every_length),
		TAP_CASE(signals_cut_short),
		TAP_CASE(byte_swap_is_the_same_for_both),
		TAP_CASE(byte_swaps_apart),
		TAP_CASE(files_take_turns),
		TAP_CASE(an_engine_without_the_bus),
		TAP_CASE(nothing_follows_an_error),
	};
	static const struct tap_case pair_cases[] = {
		TAP_CASE(writes_come_before_later_stores),
	};

	path = card_path(argc, argv, 0);
	far_path = argc > 2 ? argv[2] : NULL;
	if (!path)
		tap_skip_all("no card");
	card = dma_begin(path, &info, 0);
	map = card_map(card, info.window_size);
	if (!map) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	return dma_end(far_path ? TAP_RUN(pair_cases) : TAP_RUN(cases));
}
