// SPDX-License-Identifier: MIT
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "ring/host/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SERVER_SUFFIX	",server"
#define BACKLOG		4
/* A TCP neighbour whose host has gone without a word is given up after about 5 s. */
#define KEEP_IDLE_S	2
#define KEEP_EVERY_S	1
#define KEEP_COUNT	3
#define UNSENT_MS	5000

static bool cut_suffix(char *text, const char *suffix)
{
	size_t len = strlen(text), tail = strlen(suffix);

	if (len < tail || strcmp(text + len - tail, suffix))
		return false;
	text[len - tail] = '\0';
	return true;
}

static bool is_port_number(const char *text)
{
	unsigned int value = 0;
	size_t len = strlen(text);

	if (!len || len > 5 || strspn(text, "0123456789") != len)
		return false;
	for (; *text; text++)
		value = value * 10 + (unsigned int)(*text - '0');
	return value <= UINT16_MAX;
}

static const char *parse_tcp(struct rfm_address *address, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon || !is_port_number(colon + 1))
		return "a TCP address is tcp:HOST:PORT, with a port from 0 to 65535";
	*colon = '\0';
	strcpy(address->service, colon + 1);
	if (*text == '[' && cut_suffix(text, "]"))
		text++;
	if (strchr(text, '[') || strchr(text, ']'))
		return "the brackets round the host of the TCP address do not match";
	if (!*text && !address->server)
		return "the TCP address has no host";
	strcpy(address->host, text);
	return NULL;
}

const char *rfm_address_parse(struct rfm_address *address, const char *text)
{
	char copy[RFM_ADDRESS_MAX];

	memset(address, 0, sizeof(*address));
	if (!text || !*text)
		return "the address is empty";
	if (strlen(text) >= sizeof(copy))
		return "the address is too long";
	strcpy(address->text, text);
	strcpy(copy, text);
	address->server = cut_suffix(copy, SERVER_SUFFIX);
	if (!strncmp(copy, "tcp:", 4))
		return parse_tcp(address, copy + 4);
	if (strncmp(copy, "unix:", 5))
		return "an address begins with unix: or tcp:";
	if (!copy[5])
		return "the unix address has no path";
	if (strchr(copy, ','))
		return "the only word after a comma in an address is server";
	if (strlen(copy + 5) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return "the path of the unix address is too long for a socket, at most 107 bytes";
	strcpy(address->path, copy + 5);
	return NULL;
}

static bool is_unix(const struct rfm_address *address)
{
	return *address->path;
}

static struct sockaddr_un unix_name(const struct rfm_address *address)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	strcpy(name.sun_path, address->path);
	return name;
}

/* Where a name leads: 0, or why not (gai_strerror()). */
static int look_up(const char *host, const char *service, int flags, struct addrinfo **found)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags,
	};

	*found = NULL;
	return getaddrinfo(*host ? host : NULL, service, &hints, found);
}

static void set(int fd, int level, int option, int value)
{
	/* What the system does not know or want is no reason to do without a link. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

static int new_socket(int family, uint32_t buffer)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && buffer) {
		set(fd, SOL_SOCKET, SO_SNDBUF, (int)buffer);
		set(fd, SOL_SOCKET, SO_RCVBUF, (int)buffer);
	}
	return fd;
}

static void tune(const struct rfm_address *address, int fd)
{
	if (is_unix(address))
		return;
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEP_IDLE_S);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEP_EVERY_S);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEP_COUNT);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNSENT_MS);
}

static void close_keep_errno(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

/* Is the socket file left over from somebody who has gone? */
static bool is_stale(const struct rfm_address *address)
{
	struct sockaddr_un name = unix_name(address);
	int fd = new_socket(AF_UNIX, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = connect(fd, (struct sockaddr *)&name, sizeof(name)) && errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static int bind_unix(const struct rfm_address *address, int fd)
{
	struct sockaddr_un name = unix_name(address);

	if (!bind(fd, (struct sockaddr *)&name, sizeof(name)))
		return 0;
	if (errno != EADDRINUSE)
		return -1;
	if (!is_stale(address)) {
		errno = EADDRINUSE;
		return -1;
	}
	unlink(address->path);
	return bind(fd, (struct sockaddr *)&name, sizeof(name));
}

static int listen_unix(const struct rfm_address *address, uint32_t buffer)
{
	int fd = new_socket(AF_UNIX, buffer);

	if (fd < 0)
		return -1;
	if (!bind_unix(address, fd) && !listen(fd, BACKLOG))
		return fd;
	close_keep_errno(fd);
	return -1;
}

static int listen_at(const struct addrinfo *info, uint32_t buffer)
{
	int fd = new_socket(info->ai_family, buffer);

	if (fd < 0)
		return -1;
	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!bind(fd, info->ai_addr, info->ai_addrlen) && !listen(fd, BACKLOG))
		return fd;
	close_keep_errno(fd);
	return -1;
}

/* At the first of the places that the name leads to where it can be done. */
static int listen_tcp(const struct rfm_address *address, uint32_t buffer, bool open)
{
	const char *host = *address->host || open ? address->host : "127.0.0.1";
	struct addrinfo *found;
	int fd = -1;

	if (look_up(host, address->service, AI_PASSIVE, &found)) {
		errno = EHOSTUNREACH;
		return -1;
	}
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
		fd = listen_at(at, buffer);
	freeaddrinfo(found);
	return fd;
}

int rfm_address_listen(const struct rfm_address *address, uint32_t buffer, bool open, char *error,
		       unsigned int size)
{
	int fd = is_unix(address) ? listen_unix(address, buffer) :
				    listen_tcp(address, buffer, open);

	if (fd < 0 && errno == EADDRINUSE)
		snprintf(error, size, "cannot listen on %s: another process does already",
			 address->text);
	else if (fd < 0)
		snprintf(error, size, "cannot listen on %s: %s", address->text, strerror(errno));
	return fd;
}

bool rfm_address_exposed(int listener)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} name = { 0 };
	socklen_t len = sizeof(name);

	if (getsockname(listener, &name.any, &len))
		return false;
	if (name.any.sa_family == AF_INET)
		return ntohl(name.in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
	return name.any.sa_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&name.in6.sin6_addr);
}

static int begin_connect(int fd, const struct sockaddr *name, socklen_t len, bool *under_way)
{
	*under_way = false;
	if (!connect(fd, name, len))
		return fd;
	if (errno == EINPROGRESS) {
		*under_way = true;
		return fd;
	}
	close_keep_errno(fd);
	return -1;
}

/* --- where a name leads ------------------------------------------------------------ */

/* One lookup to the system; whoever of its two users goes last frees it. */
struct lookup {
	_Atomic int users;
	_Atomic bool answered;
	char host[RFM_ADDRESS_MAX];
	char service[8];
	struct addrinfo *found;
	int error;
};

/**
 * struct rfm_route - where an address leads
 * @lookup: under way; NULL: none
 * @lookup_started_ns: when the last one was begun
 * @found: the last answer that was one
 * @next: of these, to be tried next; NULL: all have been
 * @error: of the last answer
 * @fixed: the host is a number: nothing to look up
 */
struct rfm_route {
	const struct rfm_address *address;
	struct lookup *lookup;
	uint64_t lookup_started_ns;
	struct addrinfo *found, *next;
	int error;
	bool fixed;
};

static void put_lookup(struct lookup *lookup)
{
	if (!lookup || atomic_fetch_sub(&lookup->users, 1) > 1)
		return;
	if (lookup->found)
		freeaddrinfo(lookup->found);
	free(lookup);
}

static void *run_lookup(void *opaque)
{
	struct lookup *lookup = opaque;

	lookup->error = look_up(lookup->host, lookup->service, 0, &lookup->found);
	atomic_store(&lookup->answered, true);
	put_lookup(lookup);
	return NULL;
}

static bool start_thread(struct lookup *lookup)
{
	sigset_t all, before;
	pthread_t thread;
	bool started;

	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(&thread, NULL, run_lookup, lookup);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		pthread_detach(thread);
	return started;
}

static void start_lookup(struct rfm_route *route, uint64_t now)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	route->lookup_started_ns = now;
	if (!lookup)
		return;
	strcpy(lookup->host, route->address->host);
	strcpy(lookup->service, route->address->service);
	atomic_init(&lookup->users, 2);
	if (start_thread(lookup))
		route->lookup = lookup;
	else
		free(lookup);
}

static void finish_lookup(struct rfm_route *route)
{
	struct lookup *lookup = route->lookup;

	if (!lookup || !atomic_load(&lookup->answered))
		return;
	route->error = lookup->error;
	if (!lookup->error) {
		if (route->found)
			freeaddrinfo(route->found);
		route->found = route->next = lookup->found;
		lookup->found = NULL;
	}
	put_lookup(lookup);
	route->lookup = NULL;
}

struct rfm_route *rfm_route_new(const struct rfm_address *address, uint64_t now)
{
	struct rfm_route *route = calloc(1, sizeof(*route));

	if (!route)
		return NULL;
	route->address = address;
	if (is_unix(address))
		return route;
	route->fixed = !look_up(address->host, address->service, AI_NUMERICHOST, &route->found);
	if (!route->fixed)
		start_lookup(route, now);
	return route;
}

void rfm_route_free(struct rfm_route *route)
{
	if (!route)
		return;
	put_lookup(route->lookup);
	if (route->found)
		freeaddrinfo(route->found);
	free(route);
}

const char *rfm_route_trouble(const struct rfm_route *route)
{
	return route->error && !route->found ? gai_strerror(route->error) : NULL;
}

bool rfm_route_more(const struct rfm_route *route)
{
	return route->next;
}

/* The place to be tried now; NULL: none is known. */
static const struct addrinfo *next_place(struct rfm_route *route, uint64_t now)
{
	const struct addrinfo *place;

	finish_lookup(route);
	if (!route->next) {
		if (!route->fixed && !route->lookup && now - route->lookup_started_ns >= RFM_ROUTE_LOOKUP_NS)
			start_lookup(route, now);
		route->next = route->found;
	}
	place = route->next;
	if (place)
		route->next = place->ai_next;
	return place;
}

static int connect_unix(const struct rfm_address *address, uint32_t buffer, bool *under_way)
{
	struct sockaddr_un name = unix_name(address);
	int fd = new_socket(AF_UNIX, buffer);

	return fd < 0 ? -1 : begin_connect(fd, (struct sockaddr *)&name, sizeof(name), under_way);
}

int rfm_route_connect(struct rfm_route *route, uint32_t buffer, uint64_t now, bool *under_way)
{
	const struct addrinfo *place;
	int fd;

	if (is_unix(route->address))
		return connect_unix(route->address, buffer, under_way);
	place = next_place(route, now);
	if (!place) {
		errno = rfm_route_trouble(route) ? EHOSTUNREACH : EAGAIN;
		return -1;
	}
	fd = new_socket(place->ai_family, buffer);
	if (fd < 0)
		return -1;
	tune(route->address, fd);
	return begin_connect(fd, place->ai_addr, place->ai_addrlen, under_way);
}

bool rfm_route_number(struct rfm_route *route, uint64_t now, char *host, unsigned int size)
{
	const struct addrinfo *place = next_place(route, now);

	return place && !getnameinfo(place->ai_addr, place->ai_addrlen, host, size, NULL, 0,
				     NI_NUMERICHOST);
}

/* --- the other side --------------------------------------------------------------- */

int rfm_address_accept(const struct rfm_address *address, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		tune(address, fd);
	return fd;
}

void rfm_address_remove(const struct rfm_address *address)
{
	if (is_unix(address) && address->server)
		unlink(address->path);
}
