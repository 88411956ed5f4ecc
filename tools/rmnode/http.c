// SPDX-License-Identifier: MIT
/*
 * OpenMetrics by HTTP, with libmicrohttpd in the member's loop. A connection is one request and
 * has its time; there are few at once. A long text is sent in pieces, and the ring has its turn
 * between them.
 */
#include "publish.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "ring/host/address.h"

#define CONNECTIONS	16u
#define CONNECTION_ROOM	((size_t)32 << 10)	/* bytes, of its request and what waits to be sent */
#define CONNECTION_NS	10000000000ull		/* then it is cut */
#define LINES_A_TURN	16
#define MIME_OPENMETRICS "application/openmetrics-text"

/** struct connection - @end: when it is cut */
struct connection {
	TAILQ_ENTRY(connection) entry;
	int fd;
	uint64_t end;
};

TAILQ_HEAD(connections, connection);

/**
 * struct scraped - who listens
 * @turn: libmicrohttpd wants to go on
 * @cut: the time of a connection is over
 */
struct scraped {
	struct outlet outlet;
	struct rfm_address address;
	struct rfm_loop *loop;
	struct MHD_Daemon *daemon;
	struct rfm_loop_fd watch;
	struct rfm_timer turn, cut;
	struct connections connections;
	uint64_t scrapes, late;
};

/** struct scrape - an answer under way; @taken: of the bytes of @line */
struct scrape {
	struct metrics_text text;
	char line[METRICS_LINE];
	size_t length, taken;
};

static ssize_t more(void *opaque, uint64_t position, char *to, size_t room)
{
	struct scrape *scrape = opaque;
	size_t done = 0;

	for (unsigned int lines = 0; done < room && lines < LINES_A_TURN; lines++) {
		size_t piece;

		if (scrape->taken == scrape->length) {
			scrape->length = metrics_line(&scrape->text, scrape->line);
			scrape->taken = 0;
		}
		if (!scrape->length)
			break;
		piece = scrape->length - scrape->taken;
		if (piece > room - done)
			piece = room - done;
		memcpy(to + done, scrape->line + scrape->taken, piece);
		scrape->taken += piece;
		done += piece;
	}
	return done ? (ssize_t)done : MHD_CONTENT_READER_END_OF_STREAM;
}

/* OpenMetrics, unless it is only the older format that is asked for. */
static bool wants_plain(struct MHD_Connection *connection)
{
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");

	return accept && strstr(accept, "text/plain") && !strstr(accept, MIME_OPENMETRICS);
}

static struct MHD_Response *metrics_response(struct scraped *scraped, bool plain)
{
	const struct publisher *publisher = scraped->outlet.publisher;
	struct rfmring *ring = publisher->node->ring;
	struct scrape *scrape = calloc(1, sizeof(*scrape));
	struct MHD_Response *response;

	if (!scrape)
		return NULL;
	scrape->text.metrics = publisher->metrics;
	scrape->text.plain = plain;
	scrape->text.moment = (struct metrics_moment){
		.stats = member_stats(publisher->node), .epoch_ns = rfm_real_time() - rfm_now(),
		.id = publisher->node->id, .members = rfmring_members(ring, NULL, 0),
		.signal = state_of(ring).signal,
	};
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, METRICS_LINE, more, scrape, free);
	if (!response) {
		free(scrape);
		return NULL;
	}
	MHD_add_response_header(response, "Content-Type", plain ? "text/plain; version=0.0.4" :
				MIME_OPENMETRICS "; version=1.0.0; charset=utf-8");
	scraped->scrapes++;
	return response;
}

static enum MHD_Result answer(void *opaque, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *length, void **state)
{
	static char nothing[] = "there is only /metrics\n", only_get[] = "only GET\n";
	unsigned int status = MHD_HTTP_OK;
	struct MHD_Response *response;
	enum MHD_Result result;

	if (strcmp(url, "/metrics")) {
		status = MHD_HTTP_NOT_FOUND;
		response = MHD_create_response_from_buffer(strlen(nothing), nothing,
							   MHD_RESPMEM_PERSISTENT);
	} else if (strcmp(method, "GET")) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		response = MHD_create_response_from_buffer(strlen(only_get), only_get,
							   MHD_RESPMEM_PERSISTENT);
		MHD_add_response_header(response, "Allow", "GET");
	} else {
		response = metrics_response(opaque, wants_plain(connection));
	}
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Connection", "close");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* --- connections ------------------------------------------------------------------------------ */

static void set_cut(struct scraped *scraped)
{
	uint64_t first = RFM_NEVER;

	for (const struct connection *each = TAILQ_FIRST(&scraped->connections); each;
	     each = TAILQ_NEXT(each, entry))
		if (each->end < first)
			first = each->end;
	rfm_timer_set(scraped->loop, &scraped->cut, first);
}

/* @context is libmicrohttpd's, of the connection. */
static void come_or_gone(void *opaque, struct MHD_Connection *from, void **context,
			 enum MHD_ConnectionNotificationCode what)
{
	struct scraped *scraped = opaque;
	struct connection *connection = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		connection = calloc(1, sizeof(*connection));
		*context = connection;
		if (!connection)
			return;
		connection->fd = MHD_get_connection_info(from, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		connection->end = rfm_loop_now(scraped->loop) + CONNECTION_NS;
		TAILQ_INSERT_TAIL(&scraped->connections, connection, entry);
	} else if (connection) {
		TAILQ_REMOVE(&scraped->connections, connection, entry);
		free(connection);
	}
	set_cut(scraped);
}

/* Those whose time is over; libmicrohttpd finds them closed, and lets them go. */
static void cut_late(void *opaque, uint64_t now)
{
	struct scraped *scraped = opaque;
	for (struct connection *each = TAILQ_FIRST(&scraped->connections); each;
	     each = TAILQ_NEXT(each, entry)) {
		if (each->end > now)
			continue;
		shutdown(each->fd, SHUT_RDWR);
		each->end = RFM_NEVER;
		scraped->late++;
	}
	set_cut(scraped);
}

static void take_turn(void *opaque, uint64_t now)
{
	struct scraped *scraped = opaque;
	MHD_UNSIGNED_LONG_LONG ms;

	MHD_run(scraped->daemon);
	if (MHD_get_timeout(scraped->daemon, &ms) == MHD_YES)
		rfm_timer_set(scraped->loop, &scraped->turn, now + ms * 1000000);
	else
		rfm_timer_set(scraped->loop, &scraped->turn, RFM_NEVER);
}

static void on_ready(void *opaque, uint32_t events, uint64_t now)
{
	take_turn(opaque, now);
}

/* --- from beginning to end -------------------------------------------------------------------- */

static struct outlet *scraped_open(const char *word, char *error)
{
	struct scraped *scraped = calloc(1, sizeof(*scraped));
	char address[RFM_ADDRESS_MAX + 16];

	if (!scraped) {
		snprintf(error, CONTROL_SENTENCE, "no memory");
		return NULL;
	}
	snprintf(address, sizeof(address), "tcp:%s%s,server", strchr(word, ':') ? "" : ":", word);
	TAILQ_INIT(&scraped->connections);
	if (!rfm_address_parse(&scraped->address, address) && atoi(scraped->address.service))
		return &scraped->outlet;
	snprintf(error, CONTROL_SENTENCE, "'openmetrics:%s' is not understood; it is "
		 "openmetrics:[HOST:]PORT", word);
	free(scraped);
	return NULL;
}

static bool scraped_begin(struct outlet *outlet, char *error)
{
	struct scraped *scraped = (struct scraped *)outlet;
	int fd = rfm_address_listen(&scraped->address, 0, false, error, CONTROL_SENTENCE);
	const union MHD_DaemonInfo *info;

	if (fd < 0)
		return false;
	scraped->loop = outlet->publisher->node->loop;
	scraped->turn = (struct rfm_timer){ .fire = take_turn, .opaque = scraped };
	scraped->cut = (struct rfm_timer){ .fire = cut_late, .opaque = scraped };
	scraped->watch = (struct rfm_loop_fd){ .ready = on_ready, .opaque = scraped };
	scraped->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, scraped,
					   MHD_OPTION_LISTEN_SOCKET, fd,
					   MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
					   MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_ROOM,
					   MHD_OPTION_NOTIFY_CONNECTION, come_or_gone, scraped,
					   MHD_OPTION_END);
	info = scraped->daemon ? MHD_get_daemon_info(scraped->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	return (info && !rfm_loop_watch(scraped->loop, &scraped->watch, info->epoll_fd, EPOLLIN)) ||
	       control_why(error, "HTTP cannot be served on %s", outlet->word);
}

static json_t *scraped_json(const struct outlet *outlet)
{
	const struct scraped *scraped = (const struct scraped *)outlet;

	return json_pack("{s:I, s:I}", "scrapes", (json_int_t)scraped->scrapes,
			 "late", (json_int_t)scraped->late);
}

static void scraped_close(struct outlet *outlet)
{
	struct scraped *scraped = (struct scraped *)outlet;

	if (scraped->daemon) {
		rfm_loop_unwatch(scraped->loop, &scraped->watch);
		MHD_stop_daemon(scraped->daemon);
		rfm_timer_set(scraped->loop, &scraped->turn, RFM_NEVER);
		rfm_timer_set(scraped->loop, &scraped->cut, RFM_NEVER);
	}
	free(scraped);
}

const struct outlet_kind openmetrics_outlet = {
	.prefix = "openmetrics:", .open = scraped_open, .begin = scraped_begin,
	.json = scraped_json, .close = scraped_close,
};
