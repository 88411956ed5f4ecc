// SPDX-License-Identifier: MIT
/* The calls on a handle: requests with the structures of linux/rfm.h, and the memory. */
#include "private.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a request takes at most, see linux/rfm.h. */
#define FENCE_MAX_MS		60000
#define RING_TEST_MAX_MS	10000

int take_struct(void *to, size_t have, const void *from, size_t size)
{
	size_t both = size < have ? size : have;

	if (check_zero((const char *)from + both, size - both))
		return -1;
	memset(to, 0, have);
	memcpy(to, from, both);
	return 0;
}

static int call(struct rfm *rfm, unsigned long request, void *argument)
{
	return rfm->backend->call(rfm, request, argument);
}

/*
 * A request that waits, in turns of @max_ms for as long as @timeout_ms says.
 * @field: its timeout in @argument
 */
static int call_in_time(struct rfm *rfm, unsigned long request, void *argument, uint32_t *field,
			uint32_t max_ms, int timeout_ms)
{
	uint64_t until = timeout_ms < 0 ? UINT64_MAX : clock_ns() + timeout_ms * 1000000ull;

	if (timeout_ms < -1)
		return fail_with(EINVAL);
	for (;;) {
		uint64_t now = clock_ns();
		/* A request waits for a ms at least. */
		uint64_t left = now < until ? (until - now + 999999) / 1000000 : 1;

		*field = left < max_ms ? left : max_ms;
		/* One that has failed leaves the rest of its structure as it was. */
		if (!call(rfm, request, argument))
			return 0;
		if (errno != ETIMEDOUT || left <= max_ms)
			return -1;
	}
}

/* --- asking and setting ------------------------------------------------------------------ */

int rfm_info_sized(struct rfm *rfm, struct rfm_info *info, size_t size)
{
	struct rfm_info all;

	if (call(rfm, RFM_IOC_INFO, &all))
		return -1;
	give_struct(info, size, &all, sizeof(all));
	return 0;
}

int rfm_get_config_sized(struct rfm *rfm, struct rfm_config *config, size_t size)
{
	struct rfm_config all;

	if (call(rfm, RFM_IOC_GET_CONFIG, &all))
		return -1;
	give_struct(config, size, &all, sizeof(all));
	return 0;
}

int rfm_set_config_sized(struct rfm *rfm, const struct rfm_config *config, size_t size)
{
	struct rfm_config all;

	if (take_struct(&all, sizeof(all), config, size))
		return -1;
	return call(rfm, RFM_IOC_SET_CONFIG, &all);
}

int rfm_writer_sized(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer, size_t size)
{
	struct rfm_writer asked = { .offset = offset };

	if (call(rfm, RFM_IOC_WRITER, &asked))
		return -1;
	give_struct(writer, size, &asked, sizeof(asked));
	return 0;
}

int rfm_counters_sized(struct rfm *rfm, struct rfm_counters *counters, size_t size)
{
	struct rfm_counters all;

	if (call(rfm, RFM_IOC_COUNTERS, &all))
		return -1;
	give_struct(counters, size, &all, sizeof(all));
	return 0;
}

int rfm_ring_map_sized(struct rfm *rfm, struct rfm_member *members, size_t member_size,
		       uint32_t count, struct rfm_ring_map *map, size_t map_size)
{
	struct rfm_member all[RFM_NODES];
	struct rfm_ring_map asked = {
		.members = (uintptr_t)all, .count = count, .member_size = sizeof(*all),
	};

	if (count > RFM_NODES)
		return fail_with(EINVAL);
	if (call(rfm, RFM_IOC_RING_MAP, &asked))
		return -1;
	for (uint32_t i = 0; i < count; i++)
		give_struct((char *)members + i * member_size, member_size, &all[i], sizeof(all[i]));
	asked.members = (uintptr_t)members;
	asked.member_size = member_size;
	if (map)
		give_struct(map, map_size, &asked, sizeof(asked));
	return 0;
}

int rfm_event_counts(struct rfm *rfm, uint64_t *counts, size_t count)
{
	struct rfm_event_counts all;

	if (call(rfm, RFM_IOC_EVENT_COUNTS, &all))
		return -1;
	give_struct(counts, count * sizeof(*counts), all.count, sizeof(all.count));
	return 0;
}

static int subscription(struct rfm *rfm, unsigned long request, uint64_t offset, uint64_t length,
			uint32_t flags, uint32_t *result)
{
	struct rfm_subscribe subscribe = {
		.range = { .offset = offset, .length = length },
		.flags = flags,
	};

	if (call(rfm, request, &subscribe))
		return -1;
	if (result)
		*result = subscribe.result;
	return 0;
}

int rfm_subscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags,
		  uint32_t *result)
{
	return subscription(rfm, RFM_IOC_SUBSCRIBE, offset, length, flags, result);
}

int rfm_unsubscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags)
{
	return subscription(rfm, RFM_IOC_UNSUBSCRIBE, offset, length, flags, NULL);
}

int rfm_own(struct rfm *rfm, uint64_t offset, uint64_t length)
{
	return rfm_subscribe(rfm, offset, length, RFM_SUBSCRIBE_OWN, NULL);
}

/* --- registers ----------------------------------------------------------------------------- */

int rfm_reg_update(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset, unsigned int width,
		   uint32_t mask, uint32_t value, uint32_t *before)
{
	struct rfm_reg reg = {
		.set = set, .offset = offset, .width = width, .mask = mask, .value = value,
	};

	if (call(rfm, RFM_IOC_REG, &reg))
		return -1;
	if (before)
		*before = reg.before;
	return 0;
}

int rfm_reg_read(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset, unsigned int width,
		 uint32_t *value)
{
	return rfm_reg_update(rfm, set, offset, width, 0, 0, value);
}

int rfm_reg_write(struct rfm *rfm, enum rfm_reg_set set, uint32_t offset, unsigned int width,
		  uint32_t value)
{
	uint32_t all = width < 4 ? (1u << 8 * width) - 1 : UINT32_MAX;

	return rfm_reg_update(rfm, set, offset, width, all, value, NULL);
}

void *rfm_map_regs(struct rfm *rfm, enum rfm_reg_set set, size_t *size)
{
	const bool runtime = set == RFM_REGS_RUNTIME;
	int fd = rfm_fd(rfm);
	struct rfm_info info;
	uint32_t none;
	char *map;

	if (fd < 0)
		return NULL;
	if (set > RFM_REGS_CONTROL) {
		errno = EINVAL;
		return NULL;
	}
	if (rfm_info(rfm, &info))
		return NULL;
	map = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   runtime ? RFM_MAP_RUNTIME : RFM_MAP_CONTROL);
	if (map == MAP_FAILED)
		return NULL;
	/* A BAR0 may end before the registers that this reads, which are none of the card's. */
	if (size)
		*size = !runtime ? 0x40 : rfm_reg_read(rfm, set, 0x1fc, 4, &none) ? 0x100 : 0x200;
	return map + (runtime ? info.runtime_at : info.control_at);
}

/* --- the memory ---------------------------------------------------------------------------- */

size_t into_page(uint64_t address)
{
	return address & (sysconf(_SC_PAGESIZE) - 1);
}

void *rfm_map(struct rfm *rfm, uint64_t offset, size_t length)
{
	if (!length || !range_is_inside(rfm->memory_size, offset, length)) {
		errno = EINVAL;
		return NULL;
	}
	return rfm->backend->map(rfm, offset, length);
}

int rfm_unmap(void *address, size_t length)
{
	size_t lead = into_page((uintptr_t)address);

	if (!length || length > SIZE_MAX - lead)
		return fail_with(EINVAL);
	return munmap((char *)address - lead, length + lead);
}

int rfm_set_threshold(struct rfm *rfm, size_t bytes)
{
	return rfm->backend->set_threshold(rfm, bytes);
}

int rfm_read(struct rfm *rfm, uint64_t offset, void *data, size_t length)
{
	if (!range_is_inside(rfm->memory_size, offset, length))
		return fail_with(EINVAL);
	return rfm->backend->read(rfm, offset, data, length);
}

int rfm_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length)
{
	if (!rfm->writable)
		return fail_with(EBADF);
	if (!range_is_inside(rfm->memory_size, offset, length))
		return fail_with(EINVAL);
	return rfm->backend->write(rfm, offset, data, length);
}

static int load(struct rfm *rfm, uint64_t offset, void *word, size_t size)
{
	if (offset % size || !range_is_inside(rfm->memory_size, offset, size))
		return fail_with(EINVAL);
	return rfm->backend->load(rfm, offset, word, size);
}

static int store(struct rfm *rfm, uint64_t offset, const void *word, size_t size)
{
	if (!rfm->writable)
		return fail_with(EBADF);
	if (offset % size || !range_is_inside(rfm->memory_size, offset, size))
		return fail_with(EINVAL);
	return rfm->backend->store(rfm, offset, word, size);
}

#define WORD(name, type)							\
int rfm_load##name(struct rfm *rfm, uint64_t offset, __typeof__(type) *value)	\
{										\
	return load(rfm, offset, value, sizeof(*value));			\
}										\
int rfm_store##name(struct rfm *rfm, uint64_t offset, type value)		\
{										\
	return store(rfm, offset, &value, sizeof(value));			\
}

WORD(8, uint8_t)
WORD(16, uint16_t)
WORD(32, uint32_t)
WORD(64, uint64_t)
WORD(_float, float)
WORD(_double, double)

/* --- interrupts, fences, and what every node has ----------------------------------------- */

int rfm_send(struct rfm *rfm, uint32_t node, uint32_t type, uint32_t data)
{
	struct rfm_send send = { .node = node, .type = type, .data = data };

	return call(rfm, RFM_IOC_SEND, &send);
}

int rfm_send_all(struct rfm *rfm, uint32_t type, uint32_t data)
{
	return rfm_send(rfm, RFM_NODE_ALL, type, data);
}

int rfm_send_set(struct rfm *rfm, const uint8_t *nodes, size_t count, uint32_t type,
		 uint32_t data)
{
	struct rfm_send_set set = { .type = type, .data = data };
	size_t i;

	for (i = 0; i < count; i++)
		set.nodes[nodes[i] / 64] |= (uint64_t)1 << (nodes[i] % 64);
	return call(rfm, RFM_IOC_SEND_SET, &set);
}

/* Why a fence has failed: the first that applies. */
static const struct {
	uint32_t flag;
	int error;
} fence_errors[] = {
	{ RFM_FENCED_DARK, ENOLINK },
	{ RFM_FENCED_LOST, EIO },
	{ RFM_FENCED_PAUSED, EBUSY },
	{ RFM_FENCED_EPOCH, EAGAIN },
};

int rfm_fence_sized(struct rfm *rfm, int timeout_ms, struct rfm_fence_wait *result, size_t size)
{
	struct rfm_fence_wait fence = { 0 };

	if (call_in_time(rfm, RFM_IOC_FENCE, &fence, &fence.timeout_ms, FENCE_MAX_MS, timeout_ms))
		return -1;
	if (result)
		give_struct(result, size, &fence, sizeof(fence));
	for (size_t i = 0; i < sizeof(fence_errors) / sizeof(*fence_errors); i++)
		if (fence.flags & fence_errors[i].flag)
			return fail_with(fence_errors[i].error);
	return 0;
}

int rfm_verify_sized(struct rfm *rfm, uint64_t offset, uint32_t length, int timeout_ms,
		     struct rfm_verify *result, size_t size)
{
	struct rfm_verify verify = { .offset = offset, .length = length };

	if (call_in_time(rfm, RFM_IOC_VERIFY, &verify, &verify.timeout_ms, FENCE_MAX_MS,
			 timeout_ms))
		return -1;
	give_struct(result, size, &verify, sizeof(verify));
	return 0;
}

int rfm_ring_test(struct rfm *rfm, int timeout_ms, uint64_t *round_trip_ns)
{
	struct rfm_ring_test test = { 0 };

	if (call_in_time(rfm, RFM_IOC_RING_TEST, &test, &test.timeout_ms, RING_TEST_MAX_MS,
			 timeout_ms))
		return -1;
	if (round_trip_ns)
		*round_trip_ns = test.round_trip_ns;
	return 0;
}
