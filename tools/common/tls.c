// SPDX-License-Identifier: MIT
#include "tls.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ring/host/address.h"

/*
 * AES first, on our word where we are the server: processors have instructions for
 * it, and none for ChaCha20, which GnuTLS took.
 */
#define VERSION		"NORMAL:-VERS-ALL:+VERS-TLS1.3:%SERVER_PRECEDENCE" \
			":-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:+CHACHA20-POLY1305"
#define WITH_PSK	":+ECDHE-PSK:+DHE-PSK"
#define NAME_MAX_BYTES	2048	/* of a certificate's name */
#define LINE_MAX_BYTES	1024	/* of a file of keys */

/**
 * struct tls - what struct rfm_tls is here
 * @x509: [true] of who listens, [false] of who connects; as the next
 */
struct tls {
	struct rfm_tls tls;
	gnutls_priority_t priority;
	gnutls_certificate_credentials_t x509[2];
	gnutls_psk_server_credentials_t psk_server;
	gnutls_psk_client_credentials_t psk_client;
};

struct rfm_tls_session {
	const struct tls *tls;
	gnutls_session_t session;
	bool server;
	char host[256];		/* a client's */
	char trouble[RFM_TLS_SENTENCE];
};

__attribute__((format(printf, 2, 3)))
static bool fail(char *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, TLS_SENTENCE, format, args);
	va_end(args);
	return false;
}

void tls_needs(const char *address, bool *server, bool *client)
{
	struct rfm_address parsed;

	if (!rfm_address_parse(&parsed, address) && !*parsed.path)
		*(parsed.server ? server : client) = true;
}

/* --- credentials --------------------------------------------------------------- */

static bool path_of(char *path, const char *folder, const char *file)
{
	return snprintf(path, TLS_SENTENCE / 2, "%s/%s", folder, file) < TLS_SENTENCE / 2;
}

static bool has(const char *folder, const char *file)
{
	char path[TLS_SENTENCE / 2];

	return path_of(path, folder, file) && !access(path, F_OK);
}

/* A file that is needed can be read; its path goes to @path. */
static bool need(char *path, const char *folder, const char *file, char *error)
{
	if (!path_of(path, folder, file))
		return fail(error, "the name of the folder for TLS is too long");
	return !access(path, R_OK) || fail(error, "cannot read %s: %s", path, strerror(errno));
}

static bool load_pair(gnutls_certificate_credentials_t *to, const char *folder, bool server,
		      char *error)
{
	char ca[TLS_SENTENCE / 2], cert[TLS_SENTENCE / 2], key[TLS_SENTENCE / 2];
	int status;

	if (!need(ca, folder, "ca-cert.pem", error) ||
	    !need(cert, folder, server ? "server-cert.pem" : "client-cert.pem", error) ||
	    !need(key, folder, server ? "server-key.pem" : "client-key.pem", error))
		return false;
	if (gnutls_certificate_allocate_credentials(to) < 0)
		return fail(error, "no memory");
	status = gnutls_certificate_set_x509_trust_file(*to, ca, GNUTLS_X509_FMT_PEM);
	if (status <= 0)
		return fail(error, "%s holds no certificate of an authority: %s", ca,
			    status ? gnutls_strerror(status) : "it is empty");
	status = gnutls_certificate_set_x509_key_file(*to, cert, key, GNUTLS_X509_FMT_PEM);
	if (status < 0)
		return fail(error, "%s and %s are no certificate and its key: %s", cert, key,
			    gnutls_strerror(status));
	if (!has(folder, "ca-crl.pem"))
		return true;
	path_of(ca, folder, "ca-crl.pem");
	status = gnutls_certificate_set_x509_crl_file(*to, ca, GNUTLS_X509_FMT_PEM);
	return status >= 0 || fail(error, "%s is no list of revoked certificates: %s", ca,
				   gnutls_strerror(status));
}

/* The first line: NAME:KEY. */
static bool first_key(const char *path, char *line, char *error)
{
	FILE *file = fopen(path, "re");
	char *colon;
	bool got;

	if (!file)
		return fail(error, "cannot read %s: %s", path, strerror(errno));
	got = fgets(line, LINE_MAX_BYTES, file);
	fclose(file);
	if (got) {
		line[strcspn(line, "\r\n")] = '\0';
		colon = strrchr(line, ':');
		got = colon && colon > line && colon[1] &&
		      strspn(colon + 1, "0123456789abcdefABCDEF") == strlen(colon + 1);
	}
	return got || fail(error, "the first line of %s is not NAME:KEY with a key in hexadecimal, as "
			   "psktool makes it", path);
}

static bool load_psk(struct tls *tls, const char *folder, char *error)
{
	char path[TLS_SENTENCE / 2], line[LINE_MAX_BYTES];
	gnutls_datum_t key;
	char *colon;
	int status;

	if (!need(path, folder, "keys.psk", error) || !first_key(path, line, error))
		return false;
	colon = strrchr(line, ':');
	*colon = '\0';
	key = (gnutls_datum_t){ (unsigned char *)colon + 1, (unsigned int)strlen(colon + 1) };
	if (gnutls_psk_allocate_server_credentials(&tls->psk_server) < 0 ||
	    gnutls_psk_allocate_client_credentials(&tls->psk_client) < 0)
		return fail(error, "no memory");
	status = gnutls_psk_set_server_credentials_file(tls->psk_server, path);
	if (status >= 0)
		status = gnutls_psk_set_client_credentials(tls->psk_client, line, &key,
							   GNUTLS_PSK_KEY_HEX);
	gnutls_memset(line, 0, sizeof(line));
	return status >= 0 || fail(error, "%s: %s", path, gnutls_strerror(status));
}

static bool load(struct tls *tls, const char *folder, bool server, bool client, char *error)
{
	bool psk = has(folder, "keys.psk");
	int status;

	if (psk && has(folder, "ca-cert.pem"))
		return fail(error, "%.200s has both ca-cert.pem and keys.psk: it is to have certificates "
			    "or keys that all share", folder);
	status = gnutls_priority_init(&tls->priority, psk ? VERSION WITH_PSK : VERSION, NULL);
	if (status < 0)
		return fail(error, "GnuTLS cannot do TLS 1.3 here: %s", gnutls_strerror(status));
	if (psk)
		return load_psk(tls, folder, error);
	return (!server || load_pair(&tls->x509[true], folder, true, error)) &&
	       (!client || load_pair(&tls->x509[false], folder, false, error));
}

void tls_free(struct rfm_tls *tls)
{
	struct tls *mine = (struct tls *)tls;

	if (!mine)
		return;
	for (int i = 0; i < 2; i++)
		if (mine->x509[i])
			gnutls_certificate_free_credentials(mine->x509[i]);
	if (mine->psk_server)
		gnutls_psk_free_server_credentials(mine->psk_server);
	if (mine->psk_client)
		gnutls_psk_free_client_credentials(mine->psk_client);
	if (mine->priority)
		gnutls_priority_deinit(mine->priority);
	free(mine);
}

/* --- sessions -------------------------------------------------------------------- */

static void session_close(struct rfm_tls_session *session)
{
	if (!session)
		return;
	if (session->session)
		gnutls_deinit(session->session);
	free(session);
}

static bool set_up(struct rfm_tls_session *session, int fd)
{
	const struct tls *tls = session->tls;
	unsigned int flags = session->server ? GNUTLS_SERVER : GNUTLS_CLIENT;
	int status;

	if (gnutls_init(&session->session, flags | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL) < 0 ||
	    gnutls_priority_set(session->session, tls->priority) < 0)
		return false;
	if (tls->psk_server && session->server)
		status = gnutls_credentials_set(session->session, GNUTLS_CRD_PSK, tls->psk_server);
	else if (tls->psk_server)
		status = gnutls_credentials_set(session->session, GNUTLS_CRD_PSK, tls->psk_client);
	else
		status = gnutls_credentials_set(session->session, GNUTLS_CRD_CERTIFICATE,
						tls->x509[session->server]);
	/* Who shows none is told so in words of ours, when it is over. */
	if (session->server)
		gnutls_certificate_server_set_request(session->session, GNUTLS_CERT_REQUEST);
	gnutls_transport_set_int(session->session, fd);
	return status >= 0;
}

static struct rfm_tls_session *session_open(struct rfm_tls *tls, int fd, bool server,
					    const char *host)
{
	struct rfm_tls_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->tls = (struct tls *)tls;
	session->server = server;
	if (!server)
		snprintf(session->host, sizeof(session->host), "%s", host);
	if (set_up(session, fd))
		return session;
	session_close(session);
	return NULL;
}

/* --- who is it? -------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4)))
static void refuse(struct rfm_tls_peer *peer, enum rfm_link_refusal why, const char *format, ...)
{
	va_list args;

	peer->refusal = why;
	va_start(args, format);
	vsnprintf(peer->why, sizeof(peer->why), format, args);
	va_end(args);
}

/* What the certificate says, which is a good one. */
static void read_certificate(const struct rfm_tls_session *session, gnutls_x509_crt_t certificate,
			     struct rfm_tls_peer *peer)
{
	char name[NAME_MAX_BYTES];
	size_t size = sizeof(name);
	const char *why;

	if (!session->server && !gnutls_x509_crt_check_hostname(certificate, session->host))
		refuse(peer, RFM_REFUSE_PERMIT, "its certificate is not of the host %.100s",
		       session->host);
	else if (gnutls_x509_crt_get_dn(certificate, name, &size) < 0)
		refuse(peer, RFM_REFUSE_UNTRUSTED, "the name in its certificate cannot be read");
	else if ((why = rfm_permit_parse(&peer->permit, name)))
		refuse(peer, RFM_REFUSE_PERMIT, "%s", why);
	peer->named = true;
}

static void look_at_certificate(struct rfm_tls_session *session, struct rfm_tls_peer *peer)
{
	gnutls_x509_crt_t certificate;
	const gnutls_datum_t *chain;
	unsigned int status, count;

	chain = gnutls_certificate_get_peers(session->session, &count);
	if (!chain || !count)
		refuse(peer, RFM_REFUSE_UNKNOWN, "it shows no certificate");
	else if (gnutls_certificate_verify_peers2(session->session, &status) < 0)
		refuse(peer, RFM_REFUSE_UNTRUSTED, "its certificate cannot be verified");
	else if (status & GNUTLS_CERT_SIGNER_NOT_FOUND)
		refuse(peer, RFM_REFUSE_UNTRUSTED,
		       "its certificate is not of the authority in ca-cert.pem");
	else if (status & GNUTLS_CERT_REVOKED)
		refuse(peer, RFM_REFUSE_UNTRUSTED, "its certificate has been revoked");
	else if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED))
		refuse(peer, RFM_REFUSE_EXPIRED, "its certificate %s", status & GNUTLS_CERT_EXPIRED ?
		       "has expired" : "is not valid yet");
	else if (status)
		refuse(peer, RFM_REFUSE_UNTRUSTED, "its certificate is not trusted");
	else if (gnutls_x509_crt_init(&certificate) < 0)
		refuse(peer, RFM_REFUSE_UNTRUSTED, "no memory for its certificate");
	else {
		if (gnutls_x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER) < 0)
			refuse(peer, RFM_REFUSE_UNTRUSTED, "its certificate cannot be read");
		else
			read_certificate(session, certificate, peer);
		gnutls_x509_crt_deinit(certificate);
	}
}

/* Why it did not come about. */
static void describe(const struct rfm_tls_session *session, int status, char *why)
{
	const char *alert = "";

	if (status == GNUTLS_E_FATAL_ALERT_RECEIVED || status == GNUTLS_E_WARNING_ALERT_RECEIVED)
		alert = gnutls_alert_get_name(gnutls_alert_get(session->session));
	if (status == GNUTLS_E_PREMATURE_TERMINATION || status == GNUTLS_E_PULL_ERROR ||
	    status == GNUTLS_E_PUSH_ERROR)
		snprintf(why, RFM_TLS_SENTENCE, "it hung up in the middle of the TLS handshake");
	else if (status == GNUTLS_E_UNEXPECTED_PACKET ||
		 status == GNUTLS_E_UNSUPPORTED_VERSION_PACKET ||
		 status == GNUTLS_E_UNEXPECTED_PACKET_LENGTH ||
		 status == GNUTLS_E_RECORD_OVERFLOW)
		snprintf(why, RFM_TLS_SENTENCE, "it does not speak TLS (%s)", gnutls_strerror(status));
	else
		snprintf(why, RFM_TLS_SENTENCE, "the TLS handshake failed: %s%s%s",
			 gnutls_strerror(status), *alert ? " " : "", alert);
}

static int session_handshake(struct rfm_tls_session *session, struct rfm_tls_peer *peer)
{
	int status = gnutls_handshake(session->session);

	if (status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED)
		return gnutls_record_get_direction(session->session) ? EPOLLOUT : EPOLLIN;
	if (status < 0 && !gnutls_error_is_fatal(status))
		return EPOLLIN;
	if (status < 0) {
		describe(session, status, peer->why);
		gnutls_alert_send_appropriate(session->session, status);
		return -1;
	}
	if (!session->tls->psk_server)
		look_at_certificate(session, peer);
	return 0;
}

/* --- what is said ------------------------------------------------------------------ */

static ssize_t failed(struct rfm_tls_session *session, ssize_t status, const char *doing)
{
	if (status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED ||
	    !gnutls_error_is_fatal((int)status)) {
		errno = EAGAIN;
		return -1;
	}
	errno = ECONNRESET;
	if (status == GNUTLS_E_PULL_ERROR || status == GNUTLS_E_PUSH_ERROR)
		return -1;
	snprintf(session->trouble, sizeof(session->trouble), "TLS, %s the neighbour: %s", doing,
		 gnutls_strerror((int)status));
	errno = EPROTO;
	return -1;
}

static ssize_t session_receive(struct rfm_tls_session *session, void *buf, size_t size)
{
	ssize_t got = gnutls_record_recv(session->session, buf, size);

	/* The ring does not mind how a connection ends. */
	if (!got || got == GNUTLS_E_PREMATURE_TERMINATION)
		return 0;
	return got > 0 ? got : failed(session, got, "receiving from");
}

static ssize_t session_send(struct rfm_tls_session *session, const void *buf, size_t size)
{
	ssize_t sent = gnutls_record_send(session->session, buf, size);

	return sent >= 0 ? sent : failed(session, sent, "sending to");
}

static const char *session_trouble(const struct rfm_tls_session *session)
{
	return *session->trouble ? session->trouble : NULL;
}

struct rfm_tls *tls_load(const char *folder, bool server, bool client, char *error)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls) {
		fail(error, "no memory");
		return NULL;
	}
	tls->tls = (struct rfm_tls){
		.open = session_open,
		.handshake = session_handshake,
		.receive = session_receive,
		.send = session_send,
		.trouble = session_trouble,
		.close = session_close,
	};
	if (load(tls, folder, server, client, error))
		return &tls->tls;
	tls_free(&tls->tls);
	return NULL;
}
