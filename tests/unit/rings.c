// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tests/unit/test.h"
#include "tests/unit/rings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char folder[64];
char addresses[NODES][2][128];

int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/rfmring-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

struct rfmring_config config_of(unsigned int i, unsigned int count)
{
	struct rfmring_config config = RFMRING_CONFIG_INIT;

	snprintf(addresses[i][0], sizeof(addresses[i][0]), "unix:%s/%u,server", folder, i);
	snprintf(addresses[i][1], sizeof(addresses[i][1]), "unix:%s/%u", folder,
		 (i + 1) % count);
	config.id = i + 1;
	config.memory_size = MEMORY;
	config.rx = addresses[i][0];
	config.tx = addresses[i][1];
	return config;
}

struct rfmring *open_with(const struct rfmring_config *config)
{
	char error[256] = "";
	struct rfmring *ring = rfmring_open(config, error, sizeof(error));

	if (!ring)
		print_message("%s\n", error);
	assert_non_null(ring);
	return ring;
}

struct rfmring_state state_of(struct rfmring *ring)
{
	struct rfmring_state state = { .size = sizeof(state) };

	assert_int_equal(rfmring_get_state(ring, &state), 0);
	return state;
}

struct rfmring_stats stats_of(struct rfmring *ring)
{
	struct rfmring_stats stats = { .size = sizeof(stats) };

	assert_int_equal(rfmring_get_stats(ring, &stats), 0);
	return stats;
}

bool is_up(struct rfmring *ring)
{
	struct rfmring_state state = state_of(ring);

	return state.signal && state.downstream;
}

void wait_up(struct rfmring **rings, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		while (!is_up(rings[i]))
			usleep(1000);
	for (unsigned int i = 0; i < count; i++)
		while (rfmring_fence(rings[i], NULL, 1000))
			usleep(1000);
}

void open_ring(struct rfmring **rings, unsigned int count, uint32_t flags)
{
	for (unsigned int i = 0; i < count; i++) {
		struct rfmring_config config = config_of(i, count);

		config.flags = flags;
		config.stall_ms = 10000;
		rings[i] = open_with(&config);
		assert_int_equal(rfmring_start(rings[i]), 0);
	}
	wait_up(rings, count);
}

void close_ring(struct rfmring **rings, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		rfmring_close(rings[i]);
}
