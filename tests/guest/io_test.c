// SPDX-License-Identifier: GPL-2.0-only
/* read(), write(), lseek() and their relatives. Wants one card. */

#include <sys/uio.h>
#include <sys/wait.h>

#include "tap.h"
#include "card.h"

#define PAGE 4096ul

static const char *path;
static int card;
static struct rfm_info info;
static uint8_t *map;	/* the whole window */

/* Every length at every alignment; the bytes around stay as they were. */
static void all_lengths_and_alignments(void)
{
	enum { AREA = 64, FROM = 8 };
	const off_t base = 3 * PAGE - AREA / 2;
	uint8_t data[AREA], shadow[AREA], seen[AREA + 2];
	unsigned int len, offset, i;
	uint64_t seed = 7;

	memset(shadow, 0, AREA);
	REQUIRE(pwrite(card, shadow, AREA, base) == AREA);
	for (offset = FROM; offset < FROM + 16; offset++) {
		for (len = 0; len <= 40; len++) {
			for (i = 0; i < len; i++)
				data[i] = random_next(&seed);
			memcpy(shadow + offset, data, len);
			CHECK_EQ(pwrite(card, data, len, base + offset), len);

			memset(seen, 0xa5, sizeof(seen));
			CHECK_EQ(pread(card, seen + 1, len, base + offset), len);
			CHECK_EQ(seen[0], 0xa5);
			CHECK_EQ(seen[len + 1], 0xa5);
			CHECK(!memcmp(seen + 1, data, len));
			if (!CHECK(!memcmp(map + base, shadow, AREA)))
				tap_note("offset %u length %u", offset, len);
		}
	}
}

static void long_transfers(void)
{
	static const struct {
		off_t offset;
		size_t len;
	} spans[] = {
		{ 0, 1 << 20 }, { 1, (1 << 20) + 1 }, { 511, 513 },
		{ 4093, 70001 }, { 7, 4096 },
	};
	size_t max = (1 << 20) + 2, i, j;
	uint8_t *data = malloc(max), *seen = malloc(max);
	uint64_t seed = 99;

	REQUIRE(data && seen);
	for (i = 0; i < ARRAY_SIZE(spans); i++) {
		for (j = 0; j < spans[i].len; j++)
			data[j] = random_next(&seed) >> 32;
		memset(seen, 0, max);
		CHECK_EQ(pwrite(card, data, spans[i].len, spans[i].offset),
			 spans[i].len);
		CHECK_EQ(pread(card, seen, spans[i].len, spans[i].offset),
			 spans[i].len);
		CHECK(!memcmp(data, seen, spans[i].len));
		CHECK(!memcmp(data, map + spans[i].offset, spans[i].len));
	}
	free(data);
	free(seen);
}

static void across_the_end(void)
{
	uint8_t data[64], seen[64];
	off_t size = info.window_size;

	memset(data, 0x3c, sizeof(data));
	CHECK_EQ(pwrite(card, data, 64, size - 24), 24);
	CHECK_ERRNO(pwrite(card, data, 64, size), ENOSPC);
	CHECK_ERRNO(pwrite(card, data, 1, size), ENOSPC);
	CHECK_ERRNO(pwrite(card, data, 1, size + (1ll << 40)), ENOSPC);
	CHECK_EQ(pwrite(card, data, 0, size), 0);

	memset(seen, 0xa5, sizeof(seen));
	CHECK_EQ(pread(card, seen, 64, size - 24), 24);
	CHECK(!memcmp(seen, data, 24));
	CHECK_EQ(seen[24], 0xa5);
	CHECK_EQ(pread(card, seen, 64, size), 0);
	CHECK_EQ(pread(card, seen, 64, size + (1ll << 40)), 0);
	CHECK_EQ(pread(card, seen, 64, 0x7fffffffffffffff - 64), 0);
	CHECK_ERRNO(pread(card, seen, 1, -1), EINVAL);
	CHECK_ERRNO(pwrite(card, data, 1, -1), EINVAL);
}

static void positions(void)
{
	int fd = open(path, O_RDWR), copy;
	off_t size = info.window_size;
	uint8_t byte = 0x66, two[2];

	REQUIRE(fd >= 0);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_END), size);
	CHECK_EQ(lseek(fd, -1, SEEK_END), size - 1);
	CHECK_ERRNO(lseek(fd, 1, SEEK_END), EINVAL);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_ERRNO(lseek(fd, size + 1, SEEK_SET), EINVAL);
	CHECK_ERRNO(lseek(fd, 0, 77), EINVAL);
	/* What was refused has not moved it. */
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), size - 1);

	CHECK_EQ(write(fd, &byte, 1), 1);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), size);
	CHECK_ERRNO(write(fd, &byte, 1), ENOSPC);
	CHECK_EQ(read(fd, two, 2), 0);
	CHECK_EQ(lseek(fd, size - 1, SEEK_SET), size - 1);
	CHECK_EQ(read(fd, two, 2), 1);
	CHECK_EQ(two[0], 0x66);

	/* A copy of the descriptor shares the position, pread leaves it. */
	copy = dup(fd);
	CHECK_EQ(lseek(copy, 100, SEEK_SET), 100);
	CHECK_EQ(lseek(fd, 28, SEEK_CUR), 128);
	CHECK_EQ(pread(fd, two, 2, 0), 2);
	CHECK_EQ(lseek(copy, 0, SEEK_CUR), 128);
	close(copy);
	close(fd);
}

static void bad_buffers(void)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t before[64], after[64];
	void *volatile nowhere = NULL;	/* the compiler knows read(2) */
	const off_t base = 5 * PAGE;

	REQUIRE(pages != MAP_FAILED);
	REQUIRE(mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
	card_fill(map + base, 0x12, 64);
	memcpy(before, map + base, 64);

	CHECK_ERRNO(pread(card, nowhere, 8, base), EFAULT);
	CHECK_ERRNO(pread(card, pages + PAGE, 8, base), EFAULT);
	CHECK_ERRNO(pwrite(card, nowhere, 8, base), EFAULT);
	CHECK_ERRNO(pwrite(card, pages + PAGE, 8, base), EFAULT);
	memcpy(after, map + base, 64);
	CHECK(!memcmp(before, after, 64));

	/* Half of it is good: that half is done, and said so. */
	memset(pages + PAGE - 20, 0x77, 20);
	CHECK_EQ(pwrite(card, pages + PAGE - 20, 40, base), 20);
	memset(before, 0x77, 20);
	memcpy(after, map + base, 64);
	CHECK(!memcmp(before, after, 64));
	memset(pages + PAGE - 20, 0, 20);
	CHECK_EQ(pread(card, pages + PAGE - 20, 40, base), 20);
	CHECK(!memcmp(pages + PAGE - 20, before, 20));
	munmap(pages, 2 * PAGE);
}

static void access_modes(void)
{
	int reader = open(path, O_RDONLY), writer = open(path, O_WRONLY);
	uint8_t byte = 0;

	REQUIRE(reader >= 0 && writer >= 0);
	CHECK_ERRNO(pwrite(reader, &byte, 1, 0), EBADF);
	CHECK_ERRNO(pread(writer, &byte, 1, 0), EBADF);
	CHECK_EQ(pread(reader, &byte, 1, 0), 1);
	CHECK_EQ(pwrite(writer, &byte, 1, 0), 1);
	close(reader);
	close(writer);
}

static void vectors(void)
{
	uint8_t a[3] = { 1, 2, 3 }, b[5] = { 4, 5, 6, 7, 8 }, c[8];
	uint8_t d[6], e[2];
	struct iovec out[] = { { a, 3 }, { b, 5 } };
	struct iovec in[] = { { d, 6 }, { e, 2 } };
	const off_t base = 7 * PAGE + 8;

	CHECK_EQ(pwritev(card, out, 2, base), 8);
	CHECK_EQ(pread(card, c, 8, base), 8);
	CHECK(!memcmp(c, a, 3) && !memcmp(c + 3, b, 5));
	CHECK_EQ(preadv(card, in, 2, base), 8);
	CHECK(!memcmp(d, c, 6) && !memcmp(e, c + 6, 2));
}

/* The buffer is the card's own memory, pages not yet touched. */
static void card_as_buffer(void)
{
	const size_t len = 4 * PAGE;
	uint8_t *own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED,
			    card, 64 * PAGE);

	REQUIRE(own != MAP_FAILED);
	card_fill(map + 64 * PAGE, 0x5e, len);
	CHECK_EQ(pwrite(card, own, len, 96 * PAGE), len);
	CHECK(!memcmp(map + 64 * PAGE, map + 96 * PAGE, len));
	munmap(own, len);

	own = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, card,
		   64 * PAGE);
	REQUIRE(own != MAP_FAILED);
	card_fill(map + 96 * PAGE, 0x6f, len);
	CHECK_EQ(pread(card, own, len, 96 * PAGE), len);
	CHECK(!memcmp(map + 64 * PAGE, map + 96 * PAGE, len));
	munmap(own, len);
}

/* An aligned pwrite() of up to 8 bytes is one store: never seen in halves. */
static void aligned_writes_are_whole(void)
{
	static const unsigned int widths[] = { 2, 4, 8 };
	unsigned int w;

	for (w = 0; w < ARRAY_SIZE(widths); w++) {
		volatile uint64_t *word = (volatile uint64_t *)(map + 9 * PAGE);
		uint64_t mask = ~0ull >> (64 - 8 * widths[w]), value;
		unsigned long i, torn = 0;
		int status;
		pid_t pid;

		*word = 0;
		pid = fork();
		REQUIRE(pid >= 0);
		if (!pid) {
			for (i = 0; i < 20000; i++) {
				value = i & 1 ? mask : 0;
				if (pwrite(card, &value, widths[w], 9 * PAGE) !=
				    (ssize_t)widths[w])
					_exit(1);
			}
			_exit(0);
		}
		while (waitpid(pid, &status, WNOHANG) == 0) {
			for (i = 0; i < 1000; i++) {
				value = *word & mask;
				torn += value && value != mask;
			}
		}
		CHECK_EQ(status, 0);
		if (!CHECK_EQ(torn, 0))
			tap_note("width %u", widths[w]);
	}
}

/* A signal ends a long transfer early, with what was done so far. */
static void on_signal(int signo)
{
	(void)signo;
}

static void signals_cut_transfers_short(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	size_t len = info.window_size;
	uint8_t *data = malloc(len);
	unsigned int tries, cut = 0;
	int status;
	pid_t pid;

	REQUIRE(data);
	sigaction(SIGUSR1, &action, NULL);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		for (;;) {
			sleep_ms(5);
			kill(getppid(), SIGUSR1);
		}
	}
	for (tries = 0; tries < 40 && cut < 2; tries++) {
		ssize_t done = pread(card, data, len, 0);

		if (done < 0 && errno == EINTR)
			continue;
		CHECK(done > 0);
		cut += done < (ssize_t)len;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	signal(SIGUSR1, SIG_DFL);
	CHECK(cut > 0);
	free(data);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(all_lengths_and_alignments),
		TAP_CASE(long_transfers),
		TAP_CASE(across_the_end),
		TAP_CASE(positions),
		TAP_CASE(bad_buffers),
		TAP_CASE(access_modes),
		TAP_CASE(vectors),
		TAP_CASE(card_as_buffer),
		TAP_CASE(aligned_writes_are_whole),
		TAP_CASE(signals_cut_transfers_short),
	};

	path = card_path(argc, argv, 0);
	if (!path)
		tap_skip_all("no card");
	card = open(path, O_RDWR);
	if (card < 0 || card_info(card, &info)) {
		tap_note("%s: %s", path, strerror(errno));
		return TAP_FAIL;
	}
	map = card_map(card, info.window_size);
	if (!map) {
		tap_note("mmap: %s", strerror(errno));
		return TAP_FAIL;
	}
	return TAP_RUN(cases);
}
