/* SPDX-License-Identifier: MIT */
/*
 * The table of a board: how many MB/s and transfers a second there are with transfers of a
 * size, read and written by programmed I/O and by DMA; and a picture of it.
 */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rfm2g_api.h"

#define PAGE		4096u
#define LARGEST		0x200000u	/* 2 MiB */
#define SIZES		32
#define PLOT_WIDTH	50
#define NEVER		0xffffffff

enum { PIO_READ, PIO_WRITE, DMA_READ, DMA_WRITE, WAYS };

static const char *const way_names[WAYS] = { "PIO read", "PIO write", "DMA read", "DMA write" };
static const char way_letters[WAYS] = { 'r', 'w', 'R', 'W' };

static RFM2GHANDLE handle;
static RFM2G_UINT8 *pio_buffer;
static volatile void *dma_buffer;
static double seconds = 0.2;

static RFM2G_UINT32 sizes[SIZES];
static double rates[SIZES][WAYS];	/* transfers a second */
static int size_count;

static void check(const char *call, RFM2G_STATUS status)
{
	if (status == RFM2G_SUCCESS)
		return;
	fprintf(stderr, "rfm2g-perf: %s: %s\n", call, RFM2gErrorMsg(status));
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void transfer(int way, RFM2G_UINT32 size)
{
	void *buffer = way == DMA_READ || way == DMA_WRITE ? (void *)dma_buffer : pio_buffer;

	if (way == PIO_READ || way == DMA_READ)
		check("RFM2gRead", RFM2gRead(handle, 0, buffer, size));
	else
		check("RFM2gWrite", RFM2gWrite(handle, 0, buffer, size));
}

/* Transfers a second, of as many as fit into the time, one at least. */
static double measure(int way, RFM2G_UINT32 size)
{
	double begin, end;
	unsigned long count = 0;

	transfer(way, size);
	begin = now();
	do {
		transfer(way, size);
		count++;
		end = now();
	} while (end - begin < seconds);
	return (double)count / (end - begin);
}

static double mb_per_s(int i, int way)
{
	return rates[i][way] * sizes[i] / 1e6;
}

static void print_table(void)
{
	int i, way;

	printf("%10s", "bytes");
	for (way = 0; way < WAYS; way++)
		printf("  %20s", way_names[way]);
	printf("\n%10s", "");
	for (way = 0; way < WAYS; way++)
		printf("  %9s %10s", "MB/s", "1/s");
	printf("\n");
	for (i = 0; i < size_count; i++) {
		printf("%10u", sizes[i]);
		for (way = 0; way < WAYS; way++)
			printf("  %9.1f %10.0f", mb_per_s(i, way), rates[i][way]);
		printf("\n");
	}
}

static void print_csv(void)
{
	int i, way;

	printf("bytes,pio_read_mb_s,pio_read_1_s,pio_write_mb_s,pio_write_1_s,"
	       "dma_read_mb_s,dma_read_1_s,dma_write_mb_s,dma_write_1_s\n");
	for (i = 0; i < size_count; i++) {
		printf("%u", sizes[i]);
		for (way = 0; way < WAYS; way++)
			printf(",%.3f,%.1f", mb_per_s(i, way), rates[i][way]);
		printf("\n");
	}
}

static double most(void)
{
	double most = 0;
	int i, way;

	for (i = 0; i < size_count; i++)
		for (way = 0; way < WAYS; way++)
			if (mb_per_s(i, way) > most)
				most = mb_per_s(i, way);
	return most;
}

/* A line for each size, a letter for each way; where two meet there is a star. */
static void print_plot(void)
{
	char line[PLOT_WIDTH + 2];
	double scale = most();
	int i, way, at;

	printf("\n%10s  0%*.0f MB/s\n", "bytes", PLOT_WIDTH - 1, scale);
	for (i = 0; i < size_count; i++) {
		memset(line, ' ', sizeof(line));
		for (way = 0; way < WAYS; way++) {
			at = scale > 0 ? (int)(mb_per_s(i, way) / scale * PLOT_WIDTH + 0.5) : 0;
			line[at] = line[at] == ' ' ? way_letters[way] : '*';
		}
		printf("%10u  |%.*s|\n", sizes[i], PLOT_WIDTH + 1, line);
	}
	printf("%10s  r, w: programmed I/O, read and written; R, W: DMA; *: more than one\n", "");
}

static void measure_all(RFM2G_UINT32 memory)
{
	RFM2G_UINT32 size;
	int way;

	for (size = 4; size <= memory && size <= LARGEST && size_count < SIZES; size *= 2) {
		sizes[size_count] = size;
		for (way = 0; way < WAYS; way++) {
			check("RFM2gSetDMAThreshold", RFM2gSetDMAThreshold(handle,
			      way == DMA_READ || way == DMA_WRITE ? 0 : NEVER));
			rates[size_count][way] = measure(way, size);
		}
		size_count++;
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: rfm2g-perf [-c] DEVICE [SECONDS]\n"
		"Writes over the first 2 MiB of the memory. SECONDS: for each figure, 0.2\n"
		"-c: comma-separated values\n");
	return 2;
}

int main(int argc, char **argv)
{
	RFM2G_UINT32 memory;
	int csv = argc > 1 && !strcmp(argv[1], "-c");

	argc -= csv;
	argv += csv;
	if (argc < 2 || argc > 3 || argv[1][0] == '-')
		return usage();
	if (argc > 2)
		seconds = atof(argv[2]);
	pio_buffer = (RFM2G_UINT8 *)calloc(1, LARGEST);
	if (!pio_buffer)
		return 1;
	check("RFM2gOpen", RFM2gOpen(argv[1], &handle));
	check("RFM2gSize", RFM2gSize(handle, &memory));
	check("RFM2gUserMemory", RFM2gUserMemory(handle, &dma_buffer, RFM2G_DMA_MMAP_OFFSET,
						 LARGEST / PAGE));
	measure_all(memory);
	if (csv) {
		print_csv();
	} else {
		print_table();
		print_plot();
	}
	check("RFM2gUnMapUserMemory", RFM2gUnMapUserMemory(handle, &dma_buffer, LARGEST / PAGE));
	check("RFM2gClose", RFM2gClose(&handle));
	free(pio_buffer);
	return 0;
}
