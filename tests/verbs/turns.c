// SPDX-License-Identifier: MIT
/*
 * Two machines write 8 bytes to each other's memory by RDMA, in turns.
 *
 *	turns imm|poll COUNT server ADDRESS
 *	turns imm|poll COUNT client ADDRESS
 *
 * imm: write-with-immediate; the other one sleeps until its completion comes. poll: the other one
 * looks at its memory all the time. The client prints half of the median turn: `imm MICROSECONDS`.
 * ADDRESS is the server's, for both; the server prints `listening` when a client may begin.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#define PORT	"18516"

static volatile uint64_t memory[2];	/* what the other one writes; what is written there */
static struct ibv_mr *mr;
static struct rdma_cm_id *id;
static bool with_imm;

struct place {
	uint64_t address;
	uint32_t key;
} __attribute__((packed));

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A place for one more to come. */
static void post_receive(void)
{
	check(rdma_post_recv(id, NULL, (void *)&memory[0], sizeof(memory[0]), mr), "a receive");
}

static struct place connect_both(bool server, const char *address)
{
	struct rdma_addrinfo hints = {
		.ai_flags = server ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP,
	}, *found;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	struct place own, there;
	struct rdma_conn_param param = {
		.private_data = &own, .private_data_len = sizeof(own), .responder_resources = 1,
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_id *listener;

	check(rdma_getaddrinfo(address, PORT, &hints, &found), address);
	if (server) {
		check(rdma_create_ep(&listener, found, NULL, &attr), "an endpoint");
		check(rdma_listen(listener, 1), "listen");
		puts("listening");
		fflush(stdout);
		check(rdma_get_request(listener, &id), "a request");
		memcpy(&there, id->event->param.conn.private_data, sizeof(there));
	} else {
		check(rdma_create_ep(&id, found, NULL, &attr), "an endpoint");
	}
	mr = rdma_reg_write(id, (void *)memory, sizeof(memory));
	check(!mr, "memory");
	post_receive();
	own = (struct place){ (uintptr_t)&memory[0], mr->rkey };
	check(server ? rdma_accept(id, &param) : rdma_connect(id, &param), "a connection");
	if (!server)
		memcpy(&there, id->event->param.conn.private_data, sizeof(there));
	return there;
}

static void give(const struct place *there, uint64_t turn)
{
	struct ibv_sge piece = {
		.addr = (uintptr_t)&memory[1], .length = sizeof(memory[1]), .lkey = mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &piece, .num_sge = 1,
		.opcode = with_imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = there->address, .rkey = there->key },
	}, *bad;
	struct ibv_wc done;

	memory[1] = turn;
	check(ibv_post_send(id->qp, &wr, &bad), "a write");
	check(rdma_get_send_comp(id, &done) != 1 || done.status, "a completion");
}

static void wait_for(uint64_t turn)
{
	struct ibv_wc done;

	if (with_imm) {
		check(rdma_get_recv_comp(id, &done) != 1 || done.status, "what has come");
		post_receive();
	}
	while (memory[0] != turn)
		;
}

int main(int argc, char **argv)
{
	struct place there;
	uint64_t *times, start;
	unsigned long count;
	bool server;

	if (argc != 5) {
		fprintf(stderr, "usage: turns imm|poll COUNT server|client ADDRESS\n");
		return 2;
	}
	with_imm = !strcmp(argv[1], "imm");
	count = strtoul(argv[2], NULL, 0);
	times = calloc(count, sizeof(*times));
	server = !strcmp(argv[3], "server");
	there = connect_both(server, argv[4]);
	for (unsigned long turn = 1; turn <= count; turn++) {
		start = now_ns();
		if (!server)
			give(&there, turn);
		wait_for(turn);
		times[turn - 1] = now_ns() - start;
		if (server)
			give(&there, turn);
	}
	qsort(times, count, sizeof(*times), compare);
	if (!server)
		printf("%s %.1f\n", argv[1], times[count / 2] / 2000.0);
	return 0;
}
