// SPDX-License-Identifier: MIT
/* A node in this process as a back end: its memory, and the driver's requests. */
#include "ring_private.h"

#include <sys/mman.h>

/* --- the memory --------------------------------------------------------------------- */

static void *ring_map(struct rfm *rfm, uint64_t offset, size_t length)
{
	struct ring_node *node = node_of(rfm);
	size_t lead = into_page(offset);
	char *map;

	if (node_check(node))
		return NULL;
	map = mmap(NULL, length + lead, PROT_READ, MAP_SHARED, node->memory_fd, offset - lead);
	return map == MAP_FAILED ? NULL : map + lead;
}

static int ring_read(struct rfm *rfm, uint64_t offset, void *data, size_t length)
{
	struct ring_node *node = node_of(rfm);

	return node_check(node) ? -1 : rfmring_read(node->ring, offset, data, length);
}

static int ring_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length)
{
	struct ring_node *node = node_of(rfm);
	int status;

	if (node_check(node))
		return -1;
	ring_storing(node, offset, data, length);
	status = rfmring_write(node->ring, offset, data, length);
	if (status && errno != ENOBUFS)
		ring_not_stored(node, offset, length);
	return status;
}

static int ring_load(struct rfm *rfm, uint64_t offset, void *word, size_t size)
{
	struct rfmring *ring = node_of(rfm)->ring;

	if (node_check(node_of(rfm)))
		return -1;
	switch (size) {
	case 8:
		return rfmring_load64(ring, offset, word);
	case 4:
		return rfmring_load32(ring, offset, word);
	case 2:
		return rfmring_load16(ring, offset, word);
	default:
		return rfmring_load8(ring, offset, word);
	}
}

static int ring_set_threshold(struct rfm *rfm, size_t bytes)
{
	(void)rfm;
	(void)bytes;
	return 0;
}

static int ring_fd(const struct rfm *rfm)
{
	(void)rfm;
	return fail_with(EOPNOTSUPP);
}

/* --- the table ---------------------------------------------------------------------- */

static int ring_call(struct rfm *rfm, unsigned long request, void *argument)
{
	static const struct {
		unsigned long request;
		int (*answer)(struct rfm *rfm, void *argument);
	} table[] = {
		{ RFM_IOC_INFO, ring_info },
		{ RFM_IOC_SEND, ring_send },
		{ RFM_IOC_RING_TEST, ring_ring_test },
		{ RFM_IOC_SUBSCRIBE, ring_subscribe },
		{ RFM_IOC_UNSUBSCRIBE, ring_unsubscribe },
		{ RFM_IOC_FENCE, ring_fence },
		{ RFM_IOC_SEND_SET, ring_send_set },
		{ RFM_IOC_GET_CONFIG, ring_get_config },
		{ RFM_IOC_SET_CONFIG, ring_set_config },
		{ RFM_IOC_WRITER, ring_writer },
		{ RFM_IOC_COUNTERS, ring_counters },
		{ RFM_IOC_RING_MAP, ring_ring_map },
		{ RFM_IOC_VERIFY, ring_verify },
		{ RFM_IOC_REG, ring_reg },
		{ RFM_IOC_EVENT_COUNTS, ring_event_counts },
		{ RFM_IOC_REMOTE, ring_remote },
		{ RFM_IOC_RESYNC, ring_resync },
		{ RFM_IOC_EXPORT, ring_export },
	};

	if (node_check(node_of(rfm)))
		return -1;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].request == request)
			return table[i].answer(rfm, argument);
	return fail_with(ENOTTY);
}

const struct rfm_backend ring_backend = {
	.call = ring_call,
	.stream = ring_stream,
	.map = ring_map,
	.read = ring_read,
	.write = ring_write,
	.load = ring_load,
	.store = ring_write,
	.set_threshold = ring_set_threshold,
	.listen_port = ring_listen_port,
	.fd = ring_fd,
	.close = ring_close,
};
