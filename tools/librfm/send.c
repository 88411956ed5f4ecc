// SPDX-License-Identifier: MIT
/* Network interrupts, fences, and what every node has. */
#include "private.h"

#include <sys/ioctl.h>

int rfm_send(struct rfm *rfm, uint32_t node, uint32_t type, uint32_t data)
{
	struct rfm_send send = { .node = node, .type = type, .data = data };

	return ioctl(rfm->fd, RFM_IOC_SEND, &send);
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
	return ioctl(rfm->fd, RFM_IOC_SEND_SET, &set);
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

int rfm_fence(struct rfm *rfm, uint32_t timeout_ms, struct rfm_fence_wait *result)
{
	struct rfm_fence_wait fence = { .timeout_ms = timeout_ms };

	if (ioctl(rfm->fd, RFM_IOC_FENCE, &fence))
		return -1;
	if (result)
		*result = fence;
	for (size_t i = 0; i < sizeof(fence_errors) / sizeof(*fence_errors); i++)
		if (fence.flags & fence_errors[i].flag)
			return fail_with(fence_errors[i].error);
	return 0;
}

int rfm_verify(struct rfm *rfm, uint64_t offset, uint32_t length, uint32_t timeout_ms,
	       struct rfm_verify *result)
{
	struct rfm_verify verify = {
		.offset = offset, .length = length, .timeout_ms = timeout_ms,
	};

	if (ioctl(rfm->fd, RFM_IOC_VERIFY, &verify))
		return -1;
	*result = verify;
	return 0;
}
