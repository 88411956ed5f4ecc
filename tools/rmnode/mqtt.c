// SPDX-License-Identifier: MIT
/*
 * Values to an MQTT broker, with libmosquitto in the member's loop: one retained message a value,
 * when its bytes have changed.
 *
 * Nothing waits in a queue of messages. A value that has changed is marked and loaded when it is
 * sent, so the last one is what goes, and a broker that is slow or away costs no more memory
 * than one that is not. A topic is in one of two lists or in none:
 *
 *	ready	it has changed and may be sent
 *	resting	it was sent so lately that it has to wait; the one that is free first is first
 *
 * Each connection is a new client of libmosquitto, to which all values are new.
 *
 * The library is loaded by who has a broker: what it brings with it costs half a MiB, which a
 * member without one does not pay.
 */
#include "publish.h"

#include <dlfcn.h>
#include <errno.h>
#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "ring/host/address.h"
#include "tools/common/parse.h"

#define WINDOW		16	/* messages that libmosquitto has at once */
#define SENT_A_TURN	4	/* then the ring has its turn */
#define KEEPALIVE_S	10
#define CARE_NS		1000000000ull
#define CONNECT_NS	10000000000ull	/* a broker has that long to accept */
#define LASTING_NS	10000000000ull	/* a connection that lasts that long is good */
#define CONNACK		4		/* bytes, and so on */
#define PUBACK		4
#define PINGRESP	2
#define RETRY_FIRST_NS	250000000ull
#define RETRY_LAST_NS	16000000000ull
#define PREFIX_MAX	128
#define RATE_MAX	1000

/* Of libmosquitto, all that is called here. */
#define CALLS \
	CALL(publish) CALL(destroy) CALL(socket) CALL(want_write) CALL(strerror) \
	CALL(connack_string) CALL(loop_read) CALL(loop_write) CALL(new) \
	CALL(connect_callback_set) CALL(publish_callback_set) CALL(will_set) \
	CALL(connect_async) CALL(loop_misc) CALL(pub_topic_check) CALL(validate_utf8) \
	CALL(max_inflight_messages_set) CALL(lib_init) CALL(lib_cleanup)

static struct {
#define CALL(name) typeof(mosquitto_##name) *(name);
	CALLS
#undef CALL
} library;

enum topic_place { TOPIC_NOWHERE, TOPIC_READY, TOPIC_RESTING };

/**
 * struct topic - of a value
 * @place: in which list it is
 * @changed: since it was sent
 * @known: to the broker, as @sent
 * @free_at: resting: until then
 */
struct topic {
	TAILQ_ENTRY(topic) entry;
	enum topic_place place;
	bool changed, known;
	uint64_t free_at;
	uint8_t *sent;
};

TAILQ_HEAD(topics, topic);

/**
 * struct broker - one, and what it knows
 * @mosquitto: NULL: there is no connection, nor is one being made
 * @accepted: it takes messages
 * @greet: the status is still to be sent
 * @away: that it is has been said, and no connection has lasted since
 * @twice: it has accepted a connection that it had accepted
 * @waiting: messages that libmosquitto has
 * @since: when the connection was begun, or accepted
 * @owed: bytes that it may still send; a publisher asks for nothing else than answers
 * @retry_ns: how long to wait for the next one
 * @merged: updates of a value whose last one had not been sent yet
 * @lost: messages of which is not known whether they arrived, when a connection ended
 */
struct broker {
	struct outlet outlet;
	struct rfm_address address;
	char prefix[PREFIX_MAX], status[PREFIX_MAX + 8], client[32];
	uint64_t qos, interval_ns;

	struct rfm_loop *loop;
	struct rfm_route *route;
	struct mosquitto *mosquitto;
	struct rfm_loop_fd watch;
	struct rfm_timer care, rest;
	struct rfm_poller poller;
	bool accepted, greet, away, twice;
	unsigned int waiting, owed;
	uint64_t since, retry_ns;

	struct topic *topic;
	uint8_t *bytes;
	struct topics ready, resting;
	uint64_t sent, merged, lost;
};

static const struct values *values_of(const struct broker *broker)
{
	return broker->outlet.publisher->values;
}

static void say(struct broker *broker, const char *what, const char *why)
{
	char sentence[CONTROL_SENTENCE];

	snprintf(sentence, sizeof(sentence), "the broker %s:%s %s%s%s", broker->address.host,
		 broker->address.service, what, why ? ": " : "", why ?: "");
	on_log(broker->outlet.publisher->node, sentence);
}

/* --- topics -------------------------------------------------------------------------------- */

static bool can_send(const struct broker *broker)
{
	return broker->accepted && broker->waiting < WINDOW &&
	       (broker->greet || !TAILQ_EMPTY(&broker->ready));
}

static void go_on(struct broker *broker)
{
	if (can_send(broker))
		rfm_poller_activate(&broker->poller);
}

static void make_ready(struct broker *broker, struct topic *topic)
{
	topic->place = TOPIC_READY;
	TAILQ_INSERT_TAIL(&broker->ready, topic, entry);
	go_on(broker);
}

static void broker_stored(struct outlet *outlet, unsigned int number)
{
	struct broker *broker = (struct broker *)outlet;
	struct topic *topic = &broker->topic[number];

	if (topic->changed) {
		broker->merged++;
		return;
	}
	topic->changed = true;
	if (topic->place == TOPIC_NOWHERE)
		make_ready(broker, topic);
}

static void set_rest(struct broker *broker)
{
	const struct topic *first = TAILQ_FIRST(&broker->resting);

	rfm_timer_set(broker->loop, &broker->rest, first ? first->free_at : RFM_NEVER);
}

static void free_rested(struct broker *broker, uint64_t now)
{
	struct topic *topic;

	while ((topic = TAILQ_FIRST(&broker->resting)) && topic->free_at <= now) {
		TAILQ_REMOVE(&broker->resting, topic, entry);
		topic->place = TOPIC_NOWHERE;
		if (topic->changed)
			make_ready(broker, topic);
	}
	set_rest(broker);
}

static void rest_over(void *opaque, uint64_t now)
{
	free_rested(opaque, now);
}

/* Whoever connects next is told all. */
static void forget(struct broker *broker)
{
	for (unsigned int i = 0; i < values_of(broker)->count; i++) {
		struct topic *topic = &broker->topic[i];

		topic->known = false;
		topic->changed = true;
		if (topic->place == TOPIC_NOWHERE)
			make_ready(broker, topic);
	}
}

/* --- sending --------------------------------------------------------------------------------- */

/* PREFIX/axes/2/limit/0 */
static void topic_name(const struct broker *broker, const char *name, char *topic)
{
	char *to = topic + sprintf(topic, "%s/", broker->prefix);

	for (; *name; name++)
		if (*name != ']')
			*to++ = *name == '.' || *name == '[' ? '/' : *name;
	*to = '\0';
}

/* Returns, as those below, what libmosquitto does. */
static int send_message(struct broker *broker, const char *topic, const char *payload,
			unsigned int length)
{
	int error;

	broker->waiting++;
	error = library.publish(broker->mosquitto, NULL, topic, length, payload, broker->qos, true);
	if (error) {
		broker->waiting--;
		return error;
	}
	broker->sent++;
	broker->owed += broker->qos * PUBACK;
	return MOSQ_ERR_SUCCESS;
}

/* Loaded now, and sent unless it is what the broker knows. */
static int send_value(struct broker *broker, struct topic *topic, uint64_t now)
{
	const struct value *value = &values_of(broker)->value[topic - broker->topic];
	char name[PREFIX_MAX + RFM_REGION_PATH_MAX], plain[VALUES_PAYLOAD_MAX];
	uint8_t bytes[VALUES_TEXT_MAX];
	int error;

	TAILQ_REMOVE(&broker->ready, topic, entry);
	topic->place = TOPIC_NOWHERE;
	topic->changed = false;
	value_load(values_of(broker), value, bytes);
	if (topic->known && !memcmp(bytes, topic->sent, value->place.length))
		return MOSQ_ERR_SUCCESS;
	topic_name(broker, value->name, name);
	error = send_message(broker, name, plain, value_plain(value, bytes, plain));
	if (error) {
		topic->changed = true;
		make_ready(broker, topic);
		return error;
	}
	memcpy(topic->sent, bytes, value->place.length);
	topic->known = true;
	topic->place = TOPIC_RESTING;
	topic->free_at = now + broker->interval_ns;
	TAILQ_INSERT_TAIL(&broker->resting, topic, entry);
	return MOSQ_ERR_SUCCESS;
}

static int send_next(struct broker *broker, uint64_t now)
{
	static const char online[] = "online";
	int error;

	if (!broker->greet)
		return send_value(broker, TAILQ_FIRST(&broker->ready), now);
	error = send_message(broker, broker->status, online, strlen(online));
	broker->greet = error;
	return error;
}

/* --- the connection --------------------------------------------------------------------------- */

/* One that did not even accept may do so at the next of its addresses. */
static void lose(struct broker *broker, uint64_t now, const char *why)
{
	bool other_place = !broker->accepted && rfm_route_more(broker->route);

	if (!broker->away && !other_place)
		say(broker, "is away", why);
	broker->away |= !other_place;
	broker->lost += broker->waiting;
	broker->waiting = 0;
	broker->accepted = false;
	forget(broker);
	rfm_poller_deactivate(&broker->poller);
	rfm_loop_unwatch(broker->loop, &broker->watch);
	library.destroy(broker->mosquitto);
	broker->mosquitto = NULL;
	rfm_timer_set(broker->loop, &broker->care, other_place ? now : now + broker->retry_ns);
	if (!other_place && broker->retry_ns < RETRY_LAST_NS)
		broker->retry_ns *= 2;
}

/* After each call of libmosquitto. */
static void check(struct broker *broker, int error, uint64_t now)
{
	int fd = library.socket(broker->mosquitto);
	uint32_t events = EPOLLIN | (library.want_write(broker->mosquitto) ? EPOLLOUT : 0);

	/* Less than 0 is no error. */
	if (error > 0)
		lose(broker, now, error == MOSQ_ERR_ERRNO ? strerror(errno) : library.strerror(error));
	else if (fd < 0 || rfm_loop_watch(broker->loop, &broker->watch, fd, events))
		lose(broker, now, "its socket cannot be watched");
}

static bool send_some(void *opaque, uint64_t now)
{
	struct broker *broker = opaque;
	int error = MOSQ_ERR_SUCCESS;

	for (unsigned int i = 0; !error && i < SENT_A_TURN && can_send(broker); i++)
		error = send_next(broker, now);
	set_rest(broker);
	check(broker, error, now);
	/* While there is more it stays: activated anew, it would be polled in this round again. */
	if (!can_send(broker))
		rfm_poller_deactivate(&broker->poller);
	return true;
}

static void on_accepted(struct mosquitto *mosquitto, void *opaque, int refused)
{
	struct broker *broker = opaque;

	if (refused) {
		if (!broker->away)
			say(broker, "refuses", library.connack_string(refused));
		broker->away = true;
		return;
	}
	broker->twice = broker->accepted;
	if (broker->twice)
		return;
	if (!broker->away)
		say(broker, "takes the values", NULL);
	broker->accepted = broker->greet = true;
	broker->since = rfm_loop_now(broker->loop);
	go_on(broker);
}

/* One that accepts and hangs up, again and again, is away. */
static void is_lasting(struct broker *broker)
{
	if (broker->away)
		say(broker, "takes the values", NULL);
	broker->away = false;
	broker->retry_ns = RETRY_FIRST_NS;
}

static void on_sent(struct mosquitto *mosquitto, void *opaque, int message)
{
	struct broker *broker = opaque;

	broker->waiting--;
	go_on(broker);
}

/* libmosquitto would take packets of 256 MiB, and as many as come. */
static bool take_bytes(struct broker *broker)
{
	int bytes = 0;

	ioctl(broker->watch.fd, FIONREAD, &bytes);
	if ((unsigned int)bytes > broker->owed)
		return false;
	broker->owed -= bytes;
	return true;
}

static void on_socket(void *opaque, uint32_t events, uint64_t now)
{
	struct broker *broker = opaque;
	int error = MOSQ_ERR_SUCCESS;

	if (!take_bytes(broker)) {
		lose(broker, now, "it sends what nobody asked for");
		return;
	}
	if (events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		error = library.loop_read(broker->mosquitto, 1);
	if (broker->twice)
		error = MOSQ_ERR_PROTOCOL;
	if (error <= 0 && events & EPOLLOUT)
		error = library.loop_write(broker->mosquitto, 1);
	check(broker, error, now);
}

static void begin_connection(struct broker *broker, uint64_t now)
{
	static const char offline[] = "offline";
	char host[RFM_ADDRESS_MAX];
	int error;

	if (!rfm_route_number(broker->route, now, host, sizeof(host))) {
		if (rfm_route_trouble(broker->route))
			lose(broker, now, rfm_route_trouble(broker->route));
		else
			rfm_timer_set(broker->loop, &broker->care, now + RETRY_FIRST_NS);
		return;
	}
	broker->mosquitto = library.new(broker->client, true, broker);
	if (!broker->mosquitto) {
		lose(broker, now, "no memory");
		return;
	}
	library.connect_callback_set(broker->mosquitto, on_accepted);
	library.publish_callback_set(broker->mosquitto, on_sent);
	library.max_inflight_messages_set(broker->mosquitto, 0);	/* the window is ours */
	broker->since = now;
	broker->owed = CONNACK;
	broker->twice = false;
	error = library.will_set(broker->mosquitto, broker->status, strlen(offline), offline,
				 broker->qos, true) ?:
		library.connect_async(broker->mosquitto, host, atoi(broker->address.service),
				      KEEPALIVE_S);
	check(broker, error, now);
	if (broker->mosquitto)
		rfm_timer_set(broker->loop, &broker->care, now + CARE_NS);
}

static void take_care(void *opaque, uint64_t now)
{
	struct broker *broker = opaque;

	if (!broker->mosquitto) {
		begin_connection(broker, now);
	} else if (!broker->accepted && now - broker->since >= CONNECT_NS) {
		lose(broker, now, "it does not answer");
	} else {
		if (broker->accepted && now - broker->since >= LASTING_NS)
			is_lasting(broker);
		if (broker->owed < PINGRESP)
			broker->owed += PINGRESP;
		rfm_timer_set(broker->loop, &broker->care, now + CARE_NS);
		check(broker, library.loop_misc(broker->mosquitto), now);
	}
}

/* --- the library ------------------------------------------------------------------------------ */

/* Once it is there it stays. */
static bool load_library(char *error)
{
	static const struct {
		const char *name;
		size_t at;
	} calls[] = {
#define CALL(name) { "mosquitto_" #name, offsetof(typeof(library), name) },
		CALLS
#undef CALL
	};
	void *handle = dlopen("libmosquitto.so.1", RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; handle && i < sizeof(calls) / sizeof(*calls); i++) {
		void *call = dlsym(handle, calls[i].name);

		memcpy((char *)&library + calls[i].at, &call, sizeof(call));
		if (!call)
			handle = NULL;
	}
	return handle || control_why(error, "a broker needs libmosquitto: %s", dlerror());
}

/* --- the words of the command line ------------------------------------------------------------ */

static bool set_prefix(struct broker *broker, const char *text)
{
	if (strlen(text) >= PREFIX_MAX || !*text || library.pub_topic_check(text) ||
	    library.validate_utf8(text, strlen(text)))
		return false;
	strcpy(broker->prefix, text);
	return true;
}

static bool set_qos(struct broker *broker, const char *text)
{
	return parse_number(text, 1, &broker->qos) == PARSE_OK;
}

static bool set_rate(struct broker *broker, const char *text)
{
	uint64_t rate;

	if (parse_number(text, RATE_MAX, &rate) != PARSE_OK || !rate)
		return false;
	broker->interval_ns = 1000000000 / rate;
	return true;
}

static const struct {
	const char *name;
	bool (*set)(struct broker *broker, const char *text);
	const char *what;
} settings[] = {
	{ "prefix=", set_prefix, "a topic without wildcards, of at most 127 bytes of UTF-8" },
	{ "qos=", set_qos, "0 or 1" },
	{ "rate=", set_rate, "the messages of a topic in a second, from 1 to 1000" },
};

static bool set(struct broker *broker, const char *word, char *error)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		size_t length = strlen(settings[i].name);

		if (strncmp(word, settings[i].name, length))
			continue;
		return settings[i].set(broker, word + length) ||
		       control_why(error, "%s of a broker is %s, not '%s'", settings[i].name,
				   settings[i].what, word + length);
	}
	return control_why(error, "'%s' is no setting of a broker; there are prefix=, qos= and rate=",
			   word);
}

static bool set_all(struct broker *broker, char *words, char *error)
{
	char address[RFM_ADDRESS_MAX + 16], *host = strsep(&words, ",");
	const char *trouble;

	snprintf(address, sizeof(address), "tcp:%s%s", host,
		 strchr(strrchr(host, ']') ?: host, ':') ? "" : ":1883");
	trouble = rfm_address_parse(&broker->address, address);
	if (trouble || !atoi(broker->address.service))
		return control_why(error, "'mqtt:%s' is not understood; it is mqtt:HOST[:PORT]", host);
	while (words)
		if (!set(broker, strsep(&words, ","), error))
			return false;
	sprintf(broker->status, "%s/status", broker->prefix);
	return true;
}

static struct outlet *broker_open(const char *word, char *error)
{
	struct broker *broker = calloc(1, sizeof(*broker));
	char *words = strdup(word);
	bool good;

	if (!broker || !words) {
		free(broker);
		free(words);
		snprintf(error, CONTROL_SENTENCE, "no memory");
		return NULL;
	}
	strcpy(broker->prefix, "rfm");
	broker->interval_ns = 100000000;
	TAILQ_INIT(&broker->ready);
	TAILQ_INIT(&broker->resting);
	good = load_library(error) && set_all(broker, words, error);
	free(words);
	if (good)
		return &broker->outlet;
	free(broker);
	return NULL;
}

/* --- from beginning to end -------------------------------------------------------------------- */

static bool broker_check(const struct outlet *outlet, char *error)
{
	const struct broker *broker = (const struct broker *)outlet;
	const struct values *values = values_of(broker);

	for (unsigned int i = 0; i < values->count; i++)
		if (!strcmp(values->value[i].name, "status"))
			return control_why(error, "'status' would have the topic %s, which says whether the "
					   "member is there", broker->status);
	return true;
}

static bool make_topics(struct broker *broker, char *error)
{
	const struct values *values = values_of(broker);
	size_t bytes = 0;

	for (unsigned int i = 0; i < values->count; i++)
		bytes += values->value[i].place.length;
	broker->topic = calloc(values->count + 1, sizeof(*broker->topic));
	broker->bytes = malloc(bytes + 1);
	if (!broker->topic || !broker->bytes)
		return control_why(error, "no memory");
	bytes = 0;
	for (unsigned int i = 0; i < values->count; i++) {
		broker->topic[i].sent = broker->bytes + bytes;
		bytes += values->value[i].place.length;
	}
	return true;
}

static bool broker_begin(struct outlet *outlet, char *error)
{
	struct broker *broker = (struct broker *)outlet;
	struct rmnode *node = outlet->publisher->node;
	uint64_t now = rfm_loop_now(node->loop);

	if (!make_topics(broker, error))
		return false;
	broker->route = rfm_route_new(&broker->address, now);
	if (!broker->route || library.lib_init())
		return control_why(error, "no memory");
	broker->loop = node->loop;
	snprintf(broker->client, sizeof(broker->client), "rmnode%u-%08x", node->id,
		 (uint32_t)state_of(node->ring).incarnation);
	broker->watch = (struct rfm_loop_fd){ .ready = on_socket, .opaque = broker };
	broker->care = (struct rfm_timer){ .fire = take_care, .opaque = broker };
	broker->rest = (struct rfm_timer){ .fire = rest_over, .opaque = broker };
	broker->poller = (struct rfm_poller){ .poll = send_some, .opaque = broker };
	rfm_poller_add(broker->loop, &broker->poller);
	forget(broker);
	broker->retry_ns = RETRY_FIRST_NS;
	rfm_timer_set(broker->loop, &broker->care, now);
	return true;
}

static json_t *broker_json(const struct outlet *outlet)
{
	const struct broker *broker = (const struct broker *)outlet;

	return json_pack("{s:b, s:I, s:I, s:I}", "connected", (int)broker->accepted,
			 "sent", (json_int_t)broker->sent, "merged", (json_int_t)broker->merged,
			 "lost", (json_int_t)broker->lost);
}

static bool broker_busy(struct outlet *outlet)
{
	struct broker *broker = (struct broker *)outlet;

	if (!broker->accepted)
		return false;
	free_rested(broker, RFM_NEVER);
	return broker->greet || broker->waiting || !TAILQ_EMPTY(&broker->ready);
}

/* Of one that has run: what has not gone, and what has of which is not known whether it arrived. */
static void say_rest(struct broker *broker)
{
	unsigned int left = broker->waiting;
	char what[64];

	for (unsigned int i = 0; i < values_of(broker)->count; i++)
		left += broker->topic[i].changed;
	snprintf(what, sizeof(what), "may lack the last of %u value%s", left, left == 1 ? "" : "s");
	if (left && broker->outlet.publisher->node->stopping)
		say(broker, what, NULL);
}

/* Then the broker sends the will. */
static void broker_close(struct outlet *outlet)
{
	struct broker *broker = (struct broker *)outlet;

	if (broker->loop) {
		say_rest(broker);
		rfm_poller_remove(&broker->poller);
		rfm_loop_unwatch(broker->loop, &broker->watch);
		rfm_timer_set(broker->loop, &broker->care, RFM_NEVER);
		rfm_timer_set(broker->loop, &broker->rest, RFM_NEVER);
		library.destroy(broker->mosquitto);
		library.lib_cleanup();
	}
	rfm_route_free(broker->route);
	free(broker->topic);
	free(broker->bytes);
	free(broker);
}

const struct outlet_kind mqtt_outlet = {
	.prefix = "mqtt:", .open = broker_open, .check = broker_check, .begin = broker_begin,
	.stored = broker_stored, .busy = broker_busy, .json = broker_json, .close = broker_close,
};
