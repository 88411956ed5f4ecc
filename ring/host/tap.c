// SPDX-License-Identifier: MIT
/*
 * librfmring: a TAP device on the ring: a network interface of this host, whose wire is the ring.
 *
 * All of it is done in the loop, which waits for neither side. A frame of the host that finds no
 * room on the ring waits in the ether, and the ones behind it in the device's own queue, which is
 * not read meanwhile. One that has come, and that the device does not take, is dropped: it is down,
 * or full, or has gone.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring/host/internal.h"

#define TUN		"/dev/net/tun"
#define MTU		9000
/* Before others in the loop: the host's network stack works in the call that writes. */
#define FRAMES_PER_RUN	8

/* --- opening ---------------------------------------------------------------------- */

/* Of one with a % the kernel would make another. */
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	return length && length < IFNAMSIZ && !strpbrk(name, "/:% \t\n\v\f\r") &&
	       strcmp(name, ".") && strcmp(name, "..");
}

static const char *why_not(int error)
{
	switch (error) {
	case EBUSY:
		return "another program has it";
	case EPERM:
		return "this user may neither make it nor use it";
	case EINVAL:
		return "it is no TAP device with one queue";
	default:
		return strerror(error);
	}
}

/* Errno becomes @why. Returns false. */
static bool tap_refused(char *error, int why, const char *what, const char *name,
			const char *sentence)
{
	snprintf(error, RFM_PORT_SENTENCE, "cannot %s %s: %s", what, name, sentence);
	errno = why;
	return false;
}

/* Of a device that stays when its program ends somebody else has set the MTU. */
static bool set_mtu(int fd, struct ifreq *request)
{
	int any, status;

	if (ioctl(fd, TUNGETIFF, request))
		return false;
	if (request->ifr_flags & IFF_PERSIST)
		return true;
	any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (any < 0)
		return false;
	request->ifr_mtu = MTU;
	status = ioctl(any, SIOCSIFMTU, request);
	close(any);
	return !status;
}

static bool open_device(struct rfm_tap *tap, char *error)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };

	tap->fd = open(TUN, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tap->fd < 0)
		return tap_refused(error, errno, "open", TUN, strerror(errno));
	memcpy(request.ifr_name, tap->name, sizeof(tap->name));
	if (ioctl(tap->fd, TUNSETIFF, &request))
		return tap_refused(error, errno, "use the TAP device", tap->name, why_not(errno));
	if (!set_mtu(tap->fd, &request))
		return tap_refused(error, errno, "set the MTU of the TAP device", tap->name,
				   strerror(errno));
	return true;
}

/* --- what the host sends ------------------------------------------------------------- */

static void close_device(struct rfmring *ring)
{
	struct rfm_tap *tap = ring->tap;

	rfm_loop_unwatch(ring->host->loop, &tap->watch);
	if (tap->fd >= 0)
		close(tap->fd);
	tap->fd = -1;
}

/* Somebody has deleted it, which the descriptor would tell again and again. */
static void end_device(struct rfmring *ring, const char *why)
{
	char sentence[RFM_PORT_SENTENCE];

	snprintf(sentence, sizeof(sentence), "node 0x%02x has lost its TAP device %s: %s",
		 ring->node.config.id, ring->tap->name, why);
	close_device(ring);
	rfm_host_log(ring->host, sentence);
}

/* What is not read is not watched: the loop would not sleep. */
static void set_watch(struct rfmring *ring)
{
	struct rfm_tap *tap = ring->tap;

	if (!rfm_ether_may_send(&tap->ether))
		rfm_loop_unwatch(ring->host->loop, &tap->watch);
	else if (rfm_loop_watch(ring->host->loop, &tap->watch, tap->fd, EPOLLIN))
		end_device(ring, strerror(errno));
}

static void send_read_frame(struct rfmring *ring, const uint8_t *data, uint32_t length,
			    uint64_t now)
{
	pthread_mutex_lock(&ring->producer);
	rfm_ether_send(&ring->tap->ether, data, length, now);
	pthread_mutex_unlock(&ring->producer);
}

static void send_from_device(struct rfmring *ring, uint64_t now)
{
	uint8_t frame[RFM_ETHER_MAX + 1];	/* one that is too long is not cut to what is not */
	struct rfm_tap *tap = ring->tap;

	for (unsigned int i = 0; i < FRAMES_PER_RUN && rfm_ether_may_send(&tap->ether); i++) {
		ssize_t length = read(tap->fd, frame, sizeof(frame));

		if (length < 0 && errno == EAGAIN)
			break;
		if (length < 0) {
			end_device(ring, strerror(errno));
			return;
		}
		send_read_frame(ring, frame, length, now);
	}
	set_watch(ring);
}

static void device_ready(void *opaque, uint32_t events, uint64_t now)
{
	struct rfmring *ring = opaque;

	if (events & (EPOLLERR | EPOLLHUP))
		end_device(ring, "it has been deleted");
	else
		send_from_device(ring, now);
}

/* --- what has come for it ------------------------------------------------------------- */

/* False: there may be more. */
static bool give_to_device(struct rfm_tap *tap)
{
	for (unsigned int i = 0; i < FRAMES_PER_RUN; i++) {
		struct rfm_ether_frame *frame = rfm_ether_fetch(&tap->ether);

		if (!frame)
			return true;
		if (write(tap->fd, frame->data, frame->length) < 0)
			tap->dropped++;
		free(frame);
	}
	return false;
}

/* --- in the loop ----------------------------------------------------------------------- */

static bool tap_poll(void *opaque, uint64_t now)
{
	struct rfmring *ring = opaque;
	struct rfm_tap *tap = ring->tap;

	rfm_poller_deactivate(&tap->poller);
	pthread_mutex_lock(&ring->producer);
	rfm_ether_run(&tap->ether, now);
	pthread_mutex_unlock(&ring->producer);
	if (tap->fd >= 0 && !tap->watch.on)
		send_from_device(ring, now);
	if (!give_to_device(tap))
		rfm_poller_activate(&tap->poller);
	return true;
}

static void wake_tap(void *opaque)
{
	struct rfm_tap *tap = ((struct rfmring *)opaque)->tap;

	if (tap->there)
		rfm_poller_kick(&tap->poller);
}

/* --- lifecycle ----------------------------------------------------------------------------- */

bool rfm_host_tap_open(struct rfmring *ring, const char *name, char *error)
{
	struct rfm_tap *tap;

	if (!is_name(name)) {
		snprintf(error, RFM_PORT_SENTENCE, "'%.100s' is no name of a TAP device: it has 1 to "
			 "%d characters, none of them a blank, / : or %%", name, IFNAMSIZ - 1);
		errno = EINVAL;
		return false;
	}
	tap = calloc(1, sizeof(*tap));
	if (!tap) {
		snprintf(error, RFM_PORT_SENTENCE, "no memory");
		return false;
	}
	ring->tap = tap;
	strcpy(tap->name, name);
	rfm_ether_init(&tap->ether, &ring->node, wake_tap, ring);
	return open_device(tap, error);
}

/* The first run finds out whether there is something to be read, and watches. */
void rfm_host_tap_attach(struct rfmring *ring)
{
	struct rfm_tap *tap = ring->tap;

	if (!tap)
		return;
	tap->watch = (struct rfm_loop_fd){ .ready = device_ready, .opaque = ring };
	tap->poller = (struct rfm_poller){ .poll = tap_poll, .opaque = ring };
	rfm_poller_add(ring->host->loop, &tap->poller);
	tap->there = true;
	rfm_poller_kick(&tap->poller);
}

void rfm_host_tap_leave(struct rfmring *ring)
{
	if (ring->tap)
		close_device(ring);
}

void rfm_host_tap_detach(struct rfmring *ring)
{
	if (!ring->tap)
		return;
	close_device(ring);
	ring->tap->there = false;
	rfm_poller_remove(&ring->tap->poller);
}

void rfm_host_tap_destroy(struct rfmring *ring)
{
	struct rfm_tap *tap = ring->tap;

	if (!tap)
		return;
	if (tap->fd >= 0)
		close(tap->fd);
	rfm_ether_destroy(&tap->ether);
	free(tap);
}
