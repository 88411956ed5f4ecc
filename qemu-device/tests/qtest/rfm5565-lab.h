/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bench on which the rfm5565 card is tested: machines that run no CPU,
 * the cards in them, the fibres between them, and a fault box for a fibre.
 *
 * The numbers below are copied from the vendor's tables (docs/card.md names
 * them) and not from the header that device and driver share, so that a wrong
 * number there shows here.
 */
#ifndef RFM5565_LAB_H
#define RFM5565_LAB_H

#include "libqtest.h"
#include "libqos/pci.h"

/* BAR0 */
enum {
    MARBR     = 0x08,
    BIGEND    = 0x0c,
    LBRD0     = 0x18,
    INTCSR    = 0x68,
    CNTRL     = 0x6c,
    PCIHREV   = 0x74,
    DMAMODE0  = 0x80,
    DMAPADR0  = 0x84,
    DMALADR0  = 0x88,
    DMASIZ0   = 0x8c,
    DMADPR0   = 0x90,
    DMACSR0   = 0xa8,
    MARBR2    = 0xac,
    DMADAC0   = 0xb4,
    LAS1RR    = 0xf0,
    LAS1BA    = 0xf4,
};

/* BAR2 */
enum {
    BRV   = 0x00,
    BID   = 0x01,
    BRB   = 0x02,
    NID   = 0x04,
    LCSR1 = 0x08,
    LISR  = 0x10,
    LIER  = 0x14,
    NTD   = 0x18,
    NTN   = 0x1c,
    NIC   = 0x1d,
    ISD1  = 0x20,
    SID1  = 0x24,
};
#define ISD(fifo) (ISD1 + 8 * ((fifo) - 1))
#define SID(fifo) (SID1 + 8 * ((fifo) - 1))

#define FIFO_DEPTH 127

/* LCSR1 */
#define LED           (1u << 31)
#define TX_DISABLE    (1u << 30)
#define DARK_ON_DARK  (1u << 29)
#define LOOPBACK      (1u << 28)
#define PARITY        (1u << 27)
#define REDUNDANT     (1u << 26)
#define ROGUE_1       (1u << 25)
#define ROGUE_0       (1u << 24)
#define OFFSET_SHIFT  16
#define TX_EMPTY      (1u << 7)
#define TX_ALMOST_FULL (1u << 6)
#define RX_FULL       (1u << 5)
#define RX_ALMOST_FULL (1u << 4)
#define SYNC_LOST     (1u << 3)
#define SIGNAL        (1u << 2)
#define BAD           (1u << 1)
#define OWN_DATA      (1u << 0)

/* LISR and LIER */
#define AUTO_CLEAR    (1u << 15)
#define GIE           (1u << 14)
#define L_INHIBITED   (1u << 12)
#define L_SYNC_LOSS   (1u << 11)
#define L_RX_FULL     (1u << 10)
#define L_RX_ALMOST_FULL (1u << 9)
#define L_BAD_DATA    (1u << 8)
#define L_INT4        (1u << 7)
#define L_ROGUE       (1u << 6)
#define L_TX_FULL     (1u << 5)
#define L_RESET       (1u << 3)
#define L_INT3        (1u << 2)
#define L_INT2        (1u << 1)
#define L_INT1        (1u << 0)
#define L_FIFOS       (L_INT1 | L_INT2 | L_INT3 | L_INT4)

/* INTCSR */
#define PCI_INT_ENABLE    (1u << 8)
#define LOCAL_INT_ENABLE  (1u << 11)
#define LOCAL_INT_ACTIVE  (1u << 15)

/* NIC codes */
enum {
    NIC_RESET = 0,
    NIC_INT1 = 1,
    NIC_INT2 = 2,
    NIC_INT3 = 3,
    NIC_PROBE = 4,          /* reserved; the vendor's ring check uses it */
    NIC_INT4 = 7,
    NIC_GLOBAL = 8,
};

#define MIB (1024u * 1024)

/* Wait for a condition, fail after a minute: who has to run may stand still. */
#define WAIT_US (60 * G_USEC_PER_SEC)
#define wait_until(condition) do { \
    gint64 end_ = g_get_monotonic_time() + WAIT_US; \
    while (!(condition)) { \
        if (g_get_monotonic_time() > end_) { \
            g_error("%s:%d: waited in vain for " #condition, \
                    __FILE__, __LINE__); \
        } \
        g_usleep(200); \
    } \
} while (0)

/*
 * What waits for nobody is done by then, also if somebody who has to run for
 * it stands still; a link that is silent is given up after ten seconds.
 */
#define PROMPT_US (8 * G_USEC_PER_SEC)

/* --- machines and cards --------------------------------------------------- */

typedef struct Fibre Fibre;

#define FIRST_SLOT 4
#define MAX_CARDS  2

typedef struct Vm {
    QTestState *qts;
    QPCIBus *bus;
    char *errors;           /* file that holds QEMU's error output */
} Vm;

typedef struct Card {
    Vm *vm;
    unsigned slot;
    uint8_t node;
    QPCIDevice *pci;
    QPCIBar bar[5];         /* the last one only after block_map() */
    uint64_t size[5];
} Card;

typedef struct Lab {
    Vm *vm;
    Card card[MAX_CARDS];
    unsigned cards;
} Lab;

/* lab_init: call first in main(); lab_cleanup: last. */
void lab_init(void);
void lab_cleanup(void);

/* A fresh path for a socket or file, to be freed; gone after lab_cleanup(). */
char *lab_path(const char *name);

/* "-chardev ..." options of the two ends of a card, to be freed. */
char *chardev_rx(const char *id, const char *path);
char *chardev_tx(const char *id, const char *path);

/* A machine with these options beside the usual ones. */
Vm *vm_start(const char *format, ...) G_GNUC_PRINTF(1, 2);
void vm_stop(Vm *vm);
/* Lets it go on, or pauses it. */
void vm_set_running(Vm *vm, bool running);

/* The error output so far, to be freed. */
char *vm_error_text(Vm *vm);
/* How many lines of its error output contain @text? */
unsigned vm_errors(Vm *vm, const char *text);
/*
 * How often has a card complained? That its own neighbour does not answer in
 * time says only that the host had something else to do.
 */
unsigned vm_complaints(Vm *vm);

/* Find the card in @slot, map its BARs, let it decode. */
void card_init(Card *card, Vm *vm, unsigned slot);
/* Find it, and its BARs where @twin has them in another machine. */
void card_attach(Card *card, Vm *vm, const Card *twin);
void card_fini(Card *card);

/*
 * What a lab is made of: a machine with one card or two, without fibres or
 * in a ring among themselves. A ring of one brings a card's own frames home.
 */
typedef struct LabSpec {
    const char *options[MAX_CARDS];     /* of each card; NULL: no such card */
    bool fibres;
    Fibre **fault_box;                  /* in the fibre that leaves card 0 */
    bool incoming;          /* wait for a migration; then card_attach() */
    const char *machine;    /* more options of QEMU, or NULL */
} LabSpec;

Lab *lab_build(const LabSpec *spec);
/* Without fibres */
Lab *lab_dark(const char *options0, const char *options1);
/* A closed ring, with OWN DATA clear */
Lab *lab_ring(const char *options0, const char *options1);
void lab_stop(Lab *lab);

/*
 * Wait until the ring through these cards is closed and nothing travels on it,
 * clear OWN DATA.
 */
void ring_wait_closed(Card *cards, unsigned n);
void ring_wait_current(Card *from, Card *to);

/* --- hot plug ------------------------------------------------------------- */

/* Card @i leaves the machine, or comes back; the last one needs no return. */
void lab_unplug(Lab *lab, unsigned i);
void lab_replug(Lab *lab, unsigned i, unsigned node);

/* --- migration ------------------------------------------------------------ */

void migrate_to_file(Vm *vm, const char *file);
/* Into a machine that waits for it; it does not go on if the source did not. */
void load_from_file(Vm *vm, const char *file);
/* The same, until it runs. */
void migrate_from_file(Vm *vm, const char *file);

/*
 * A lab as @spec says, in which the machine goes on that was saved in @file:
 * each card has its BARs where its twin has them. As load_from_file(), or as
 * migrate_from_file().
 */
Lab *lab_load(const LabSpec *spec, const char *file, const Card *twins);
Lab *lab_migrate(const LabSpec *spec, const char *file, const Card *twins);

/* --- registers ------------------------------------------------------------ */

uint32_t bar_read(Card *card, int bar, unsigned offset, unsigned width);
void bar_write(Card *card, int bar, unsigned offset, unsigned width,
               uint32_t value);

/* BAR2 as the vendor's driver accesses it. */
uint8_t ctl_readb(Card *card, unsigned offset);
uint32_t ctl_readl(Card *card, unsigned offset);
void ctl_writeb(Card *card, unsigned offset, uint8_t value);
void ctl_writel(Card *card, unsigned offset, uint32_t value);

/* Wait until (register & mask) == want, fail after a minute. */
uint32_t ctl_wait(Card *card, unsigned offset, uint32_t mask, uint32_t want);

/* Read-modify-write of LCSR1 as every driver does it. */
void lcsr1_set(Card *card, uint32_t bits);
void lcsr1_clear(Card *card, uint32_t bits);

/* --- memory --------------------------------------------------------------- */

void mem_write(Card *card, uint64_t offset, const void *data, size_t len);
void mem_read(Card *card, uint64_t offset, void *data, size_t len);
void mem_writel(Card *card, uint64_t offset, uint32_t value);
uint32_t mem_readl(Card *card, uint64_t offset);
void mem_waitl(Card *card, uint64_t offset, uint32_t want);

/* --- the network ---------------------------------------------------------- */

/* NTD, NTN, NIC, in the order the manual asks for. */
void nic_send(Card *card, uint8_t target, uint8_t code, uint32_t data);

/* A counter of a card with the id "cardN" (N from 0), by its property. */
uint64_t counter(Card *card, const char *name);
/* A property of it that is a string, to be freed. */
char *property(Card *card, const char *name);

/* Does this variant share memory between neighbours? */
bool lab_shares_memory(void);

/* Expect one entry in a FIFO of @card, take it. */
void fifo_expect(Card *card, int fifo, uint8_t sender, uint32_t data);

/*
 * A latch of LISR, and of LCSR1 if it shows there too (else 0): wait for it
 * and check how it interrupts and how it is cleared, and only then. LISR must
 * not have been read since. GIE and LIER are 0 before and after.
 */
void latch_expect(Card *card, uint32_t lisr, uint32_t lcsr1);

/*
 * Return when all that @from sent so far has arrived at @to: interrupts stay
 * behind data, so an interrupt 3 is the marker. FIFO 3 of @to must be empty.
 */
void fence(Card *from, Card *to);

/* --- INTx ----------------------------------------------------------------- */

/* Route the PCI interrupt lines of the machine and watch them. */
void intx_watch(Vm *vm);
/* The level of the card's line. */
bool intx_level(Card *card);

/* --- a fibre with a fault box --------------------------------------------- */

/*
 * Carry bytes between a card's transmitter, which connects to @from, and a
 * receiver, which listens at @to. Accepts again after a cut.
 */
Fibre *fibre_new(const char *from, const char *to);
void fibre_free(Fibre *fibre);

typedef enum FibreFault {
    FIBRE_FLIP,             /* flip one bit of the marker */
    FIBRE_TRUNCATE,         /* cut the fibre in the middle of the marker */
    FIBRE_NOISE,            /* put 256 bytes of noise in front of the marker */
} FibreFault;

/* Do @fault to the next passing chunk that holds the eight bytes @marker. */
void fibre_aim(Fibre *fibre, FibreFault fault, uint64_t marker);
/* Wait until that has happened. */
void fibre_wait_hit(Fibre *fibre);
/* Pass nothing on towards the receiver until told otherwise. */
void fibre_hold(Fibre *fibre, bool hold);

/* --- a neighbour played by the test, on both sides of one card ------------ */

#define PEER_NODE        33
#define PEER_INCARNATION 1000
#define PEER_MESSAGE     40
#define PEER_FRAME       112
#define PEER_TRAIN       2096
#define PEER_FDS         4

typedef struct Peer {
    int upstream;           /* what is written here comes to the card */
    int downstream;         /* what the card sends is read here */
} Peer;

/* Link message: 1 HELLO, 2 WELCOME, 4 LIGHT */
void peer_message(uint8_t *wire, uint8_t kind, uint8_t node, uint8_t value);
/* A frame with @len bytes of data; returns its length. */
typedef struct PeerFrame {
    uint8_t type;           /* 0: DATA */
    uint8_t source;
    uint8_t dest;
    uint8_t kind;
    uint8_t marks;
    uint8_t len;
    uint32_t address;
    uint32_t domain;        /* of clocks */
    uint64_t seq;
    uint64_t time;
    uint8_t data[64];
} PeerFrame;
size_t peer_frame(uint8_t *wire, const PeerFrame *frame);
/*
 * A train of @len bytes, more than 64 and at most PEER_TRAIN - 48, with what
 * else @first says of its first frame
 */
size_t peer_train(uint8_t *wire, const PeerFrame *first, const void *data,
                  size_t len);
/* One of four bytes */
size_t peer_update(uint8_t *wire, uint8_t source, uint64_t seq, uint8_t marks,
                   uint32_t address, uint32_t value);
int peer_listen(const char *path);
/*
 * Shake hands on both sides, and shine. The card is offered the @n descriptors
 * @fds as a queue; it must not take them.
 */
void peer_connect(Peer *peer, const char *rx_path, int listener,
                  const int *fds, unsigned n);
void peer_send(int fd, const void *data, size_t len);
void peer_receive(int fd, void *data, size_t len);
void peer_next_update(int fd, uint8_t *wire);

/* A ring of one card, with node id 7, and the test, whose light stays on. */
typedef struct PeerLab {
    Vm *vm;
    Card card;
    Peer peer;
    int listener;
    char *rx_path, *tx_path;
    GThread *light;
    int quit[2];
} PeerLab;

/* @options of the card begin with a comma. */
PeerLab *peer_lab(const char *options);
/* The same, with descriptors for peer_connect(). */
PeerLab *peer_lab_offering(const char *options, const int *fds, unsigned n);
void peer_lab_stop(PeerLab *lab);
/* A frame that comes home tells the card that the ring is closed. */
void peer_close_ring(PeerLab *lab);
/* Is the property "rx-link" or "tx-link" @want? */
bool link_is(Card *card, const char *name, const char *want);

/*
 * Add a test, once with the cards' engines in a thread of their own and memory
 * shared between neighbours, and once in the main loop over sockets.
 */
void lab_add_test(const char *name, void (*run)(void));
/* The first of these only. */
void lab_add_thread_test(const char *name, void (*run)(void));

/* --- test groups ---------------------------------------------------------- */

void rfm5565_add_register_tests(void);
void rfm5565_add_interrupt_tests(void);
void rfm5565_add_memory_tests(void);
void rfm5565_add_ring_tests(void);
void rfm5565_add_life_tests(void);
void rfm5565_add_mode_tests(void);
void rfm5565_add_snapshot_tests(void);
void rfm5565_add_saved_tests(void);
void rfm5565_add_cpu_tests(void);
void rfm5565_add_ext_tests(void);
void rfm5565_add_clock_tests(void);
void rfm5565_add_fence_tests(void);
void rfm5565_add_query_tests(void);
void rfm5565_add_event_tests(void);
void rfm5565_add_vector_tests(void);
void rfm5565_add_slot_tests(void);
void rfm5565_add_ext_life_tests(void);
void rfm5565_add_dma_tests(void);
void rfm5565_add_dma_bad_tests(void);
void rfm5565_add_dma_high_tests(void);
void rfm5565_add_dma_life_tests(void);
void rfm5565_add_ether_tests(void);
void rfm5565_add_vendor_tests(void);
void rfm5565_add_guest_error_tests(void);
void rfm5565_add_random_tests(void);
void rfm5565_add_remote_tests(void);
void rfm5565_add_request_tests(void);
void rfm5565_add_burst_tests(void);

#endif
