/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bench for the DMA engine. The numbers are copied from the vendor's tables
 * and not from the header that device and driver share, so that a wrong number
 * there shows here.
 */
#ifndef RFM5565_DMA_H
#define RFM5565_DMA_H

#include "rfm5565-lab.h"

/* DMAMODE0, DMADPR0, DMACSR0, INTCSR, BIGEND */
#define CHAIN           (1u << 9)
#define TO_CARD         0u
#define TO_HOST         (1u << 3)
#define DMA_ENABLE      0x01
#define DMA_START       0x02
#define DMA_CLEAR       0x08
#define DMA_DONE        0x10
#define DMA_INT_ENABLE  (1u << 18)
#define DMA_INT_ACTIVE  (1u << 21)
#define DMA_NO_ABORT    (1u << 25)
#define PIO_SWAP        0x20
#define DMA_SWAP        0x80

#define DMA_MAX         0x7ffff8u
#define LAST            1u          /* of a chain */

/* Addresses in the machine's memory, which is 128 MiB */
#define BUFFER          0x400000u
#define BUFFER2         0x1000000u
#define DESCRIPTORS     0x300000u
#define NO_MEMORY       0x20000000u

/* As lab_ring() and lab_dark(), with the cards as bus masters. */
Lab *dma_ring(const char *options0, const char *options1);
Lab *dma_dark(const char *options);
void bus_master(Card *card, bool on);

/*
 * A ring of two, in which card 0's fibre leads through a box: while that is
 * held, card 0 can send nothing.
 */
Lab *dma_boxed(const char *options0, Fibre **box);

/* @len bytes of which no two dwords are alike, to be freed. */
uint8_t *dma_pattern(size_t len, uint32_t seed);

/* What a transfer is to do */
typedef struct Transfer {
    uint32_t direction;
    uint64_t host;
    uint32_t at;            /* in the card's memory */
    uint32_t len;
    uint32_t first;         /* descriptor; 0: it is a block at @host */
} Transfer;

void dma_program(Card *card, const Transfer *transfer);
void dma_start(Card *card, const Transfer *transfer);
bool dma_is_done(Card *card);
/* Wait until it is done, check how it ended, clear the interrupt. */
void dma_expect(Card *card, bool good);
/* The same from its start. */
void dma_run(Card *card, const Transfer *transfer);
void dma_fail(Card *card, const Transfer *transfer);

/* Put the @n-th descriptor at DESCRIPTORS; @next is its address, or LAST. */
void dma_descriptor(Vm *vm, unsigned n, uint64_t host, uint32_t bytes,
                    uint32_t next);
#define DESCRIPTOR(n) (DESCRIPTORS + 16 * (n))

/*
 * An IOMMU as intel-iommu,aw-bits=39 has it, its tables below DESCRIPTORS.
 * Pages are mapped before the start: the card's address and the machine's, with
 * rights.
 */
#define VTD_PAGE        0x200000u
#define VTD_READ_ONLY   1u
#define VTD_READ_WRITE  3u

void vtd_map(Vm *vm, uint64_t iova, uint64_t page);
/* From here on the card in @slot sees these pages, and nothing else. */
void vtd_start(Vm *vm, unsigned slot);

void host_write(Vm *vm, uint64_t at, const void *data, size_t len);
/* The memory of a card, or of the machine, is what it should be. */
void card_expect(Card *card, uint32_t at, const void *data, size_t len);
void host_expect(Vm *vm, uint64_t at, const void *data, size_t len);

#endif
