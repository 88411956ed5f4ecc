// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card can no longer write its events: it is no master of the bus any
 * more. What depends on that must end with an error, not sleep for ever.
 *
 * The driver has to be loaded anew afterwards.
 */

#include "watch.h"

#define PCI_COMMAND		4
#define PCI_COMMAND_MASTER	0x4

static bool bus_master_off(void)
{
	uint16_t command;
	char path[128];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config",
		 pair.info.pci_name);
	fd = open(path, O_RDWR);
	done = fd >= 0 && pread(fd, &command, 2, PCI_COMMAND) == 2;
	command &= ~PCI_COMMAND_MASTER;
	done = done && pwrite(fd, &command, 2, PCI_COMMAND) == 2;
	close(fd);
	return done;
}

/* An update that the card cannot tell of, and a look whether it could. */
static void stumble(void)
{
	struct rfm_info info;

	CHECK(far_sets(AT, now_ns()));
	CHECK(fence(pair.far));
	/* The card writes to the guest a moment after the update has come. */
	sleep_ms(20);
	CHECK_EQ(card_info(pair.near, &info), 0);
}

static void what_depends_on_it_ends(void)
{
	struct rfm_listen listen = { .types = RFM_EVENT_BIT(RFM_EVENT_CONFLICT),
				     .flags = RFM_LISTEN_NONBLOCK };
	struct rfm_listen plain = { .types = RFM_EVENT_BIT(RFM_EVENT_INT1),
				    .flags = RFM_LISTEN_NONBLOCK };
	struct rfm_range range = { AT, 8 };
	struct rfm_watch args = watch_of(&range);
	struct pollfd pollfd = { -1, POLLIN, 0 };
	struct rfm_event event;
	int fd, listener, fifo;
	unsigned int tries;

	fd = watch(&args);
	listener = ioctl(pair.near, RFM_IOC_LISTEN, &listen);
	fifo = ioctl(pair.near, RFM_IOC_LISTEN, &plain);
	REQUIRE(fd >= 0 && listener >= 0 && fifo >= 0);
	REQUIRE(bus_master_off());
	pollfd.fd = fd;
	for (tries = 0; tries < 1000 && !(pollfd.revents & POLLERR); tries++) {
		stumble();
		CHECK(poll(&pollfd, 1, 0) >= 0);
	}
	CHECK(pollfd.revents & POLLERR);
	CHECK(!(pollfd.revents & POLLHUP));

	while (read(fd, &event, sizeof(event)) == sizeof(event))
		CHECK_EQ(event.type, RFM_EVENT_DROPPED);
	CHECK_EQ(errno, EIO);
	while (read(listener, &event, sizeof(event)) == sizeof(event))
		CHECK_EQ(event.type, RFM_EVENT_DROPPED);
	CHECK_EQ(errno, EIO);
	CHECK_ERRNO(watch(&args), EIO);
	CHECK_ERRNO(ioctl(pair.near, RFM_IOC_LISTEN, &listen), EIO);

	/* Interrupts go on through the card's FIFOs. */
	while (read(fifo, &event, sizeof(event)) == sizeof(event))
		CHECK_EQ(event.type, RFM_EVENT_DROPPED);
	CHECK_EQ(errno, EAGAIN);
	close(fd);
	close(listener);
	close(fifo);
}

int main(int argc, char **argv)
{
	static const struct tap_case cases[] = {
		TAP_CASE(what_depends_on_it_ends),
	};

	watch_open(argc, argv);
	return TAP_RUN(cases);
}
