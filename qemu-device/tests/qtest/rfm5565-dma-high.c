/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The DMA engine: addresses of 64 bits. There is memory too wherever one would
 * end that has lost its high half, or a carry into it; that is looked at.
 */
#include "qemu/osdep.h"
#include "qemu/units.h"
#include "rfm5565-dma.h"

#define HIGH    (4 * GiB)

/*
 * 1 GiB at 0, and from 4 GiB until after 8 GiB: none of it takes any memory
 * before it is written to.
 */
#define MEMORY  "-m 5184M -machine memory-backend=ram,max-ram-below-4g=1G " \
                "-object memory-backend-ram,id=ram,size=5184M,reserve=off "

#define WINDOW  0x4000      /* more than the engine moves in one go */
#define AREA    0x6000      /* of the card's memory */
#define AT      0x100       /* in it */

/* Addresses on the bus, WINDOW of them, and what the machine has there. */
typedef struct Window {
    uint64_t bus, host;
} Window;

/* Carries into the high half, from 1 to 2, or from 0 to 1 */
#define LINE_MEMORY     (2 * HIGH)
#define LINE_IOMMU      HIGH

static const Window memory[] = {
    { 0, 0 },
    { BUFFER, BUFFER },
    { HIGH, HIGH },
    { HIGH + BUFFER, HIGH + BUFFER },
    { LINE_MEMORY - WINDOW, LINE_MEMORY - WINDOW },
    { LINE_MEMORY, LINE_MEMORY },
    { LINE_MEMORY + BUFFER, LINE_MEMORY + BUFFER },
};

static const Window iommu[] = {
    { 0, 0x2000000 },
    { BUFFER, 0x2200000 },
    { LINE_IOMMU - WINDOW, 0x2600000 - WINDOW },
    { LINE_IOMMU, HIGH + 0x1000000 },
    { LINE_IOMMU + BUFFER, 0x2600000 },
};

/* Another card's memory, behind the IOMMU too */
#define OTHER           0x800000

#define WINDOWS_MAX     ARRAY_SIZE(memory)

/* A machine, and what should be in it. */
typedef struct Bench {
    Lab *lab;
    uint64_t line;
    Window windows[WINDOWS_MAX];
    unsigned n;
    uint8_t *host[WINDOWS_MAX];
    uint8_t *card;
    uint32_t seed;
} Bench;

static void bench_start(Bench *bench, const char *machine)
{
    bench->lab = lab_build(&(LabSpec){
        .options = { "node-id=7", "node-id=9" }, .machine = machine,
    });
    bus_master(&bench->lab->card[0], true);
}

static void add_window(Bench *bench, uint64_t bus, uint64_t host)
{
    unsigned i = bench->n++;

    g_assert_cmpuint(i, <, WINDOWS_MAX);
    bench->windows[i] = (Window) { bus, host };
    bench->host[i] = dma_pattern(WINDOW, ++bench->seed);
    host_write(bench->lab->vm, host, bench->host[i], WINDOW);
}

static void bench_stop(Bench *bench)
{
    for (unsigned i = 0; i < bench->n; i++) {
        g_free(bench->host[i]);
    }
    g_free(bench->card);
    lab_stop(bench->lab);
}

/* Nothing that it has now is anywhere else. */
static void renew_card(Bench *bench)
{
    g_free(bench->card);
    bench->card = dma_pattern(AREA, ++bench->seed);
    mem_write(&bench->lab->card[0], 0, bench->card, AREA);
}

static uint8_t *byte_at(Bench *bench, uint64_t bus)
{
    for (unsigned i = 0; i < bench->n; i++) {
        if (bus - bench->windows[i].bus < WINDOW) {
            return bench->host[i] + (bus - bench->windows[i].bus);
        }
    }
    g_assert_not_reached();
}

static void expect_all(Bench *bench)
{
    card_expect(&bench->lab->card[0], 0, bench->card, AREA);
    for (unsigned i = 0; i < bench->n; i++) {
        host_expect(bench->lab->vm, bench->windows[i].host, bench->host[i],
                    WINDOW);
    }
}

/* --- what is moved -------------------------------------------------------- */

/* From the bench's line on, or from 0 on */
typedef struct Piece {
    bool high;
    int64_t offset;
    uint32_t bytes;
} Piece;

static uint64_t piece_address(const Bench *bench, const Piece *piece)
{
    return (piece->high ? bench->line : 0) + piece->offset;
}

/* The bytes of @piece are those of the card at @at, which are there already. */
static void was_moved(Bench *bench, uint32_t direction, const Piece *piece,
                      uint32_t at)
{
    for (uint32_t i = 0; i < piece->bytes; i++) {
        uint8_t *host = byte_at(bench, piece_address(bench, piece) + i);

        if (direction == TO_HOST) {
            *host = bench->card[at + i];
        } else {
            bench->card[at + i] = *host;
        }
    }
}

static void move_block(Bench *bench, uint32_t direction, const Piece *piece)
{
    g_test_message("%s %" PRIx64 ", %u bytes",
                   direction == TO_HOST ? "to" : "from",
                   piece_address(bench, piece), piece->bytes);
    renew_card(bench);
    dma_run(&bench->lab->card[0], &(Transfer){
        direction, piece_address(bench, piece), AT, piece->bytes,
    });
    was_moved(bench, direction, piece, AT);
    expect_all(bench);
}

static void move_chain(Bench *bench, uint32_t direction, const Piece *pieces,
                       unsigned n)
{
    uint32_t len = 0;

    renew_card(bench);
    for (unsigned i = 0; i < n; i++) {
        dma_descriptor(bench->lab->vm, i, piece_address(bench, &pieces[i]),
                       pieces[i].bytes, i < n - 1 ? DESCRIPTOR(i + 1) : LAST);
        len += pieces[i].bytes;
    }
    dma_run(&bench->lab->card[0], &(Transfer){
        direction, 0, AT, len, DESCRIPTOR(0),
    });
    len = 0;
    for (unsigned i = 0; i < n; i++) {
        was_moved(bench, direction, &pieces[i], AT + len);
        len += pieces[i].bytes;
    }
    expect_all(bench);
}

/* The manual keeps only descriptors from crossing a line. */
static void moves(Bench *bench)
{
    static const Piece blocks[] = {
        { true, 0, WINDOW },
        { true, BUFFER + 3, 5 },
        { true, BUFFER + 1, 0x2fff },
        { true, -1, 2 },
        { true, -8, 16 },
        { true, -0x1000, 0x2000 },      /* between two goes of the engine */
        { true, -0x1803, 0x3001 },      /* in the middle of one */
        { false, BUFFER + 8, 64 },
    };
    static const Piece chain[] = {
        { true, BUFFER + 16, 0x1008 },
        { false, BUFFER + 64, 64 },
        { true, -0x1010, 0x1010 },      /* up to the line */
        { true, 0, 24 },                /* and from it */
        { false, 32, 8 },
        { true, BUFFER, 8 },
    };
    static const uint32_t directions[] = { TO_CARD, TO_HOST };

    for (unsigned k = 0; k < ARRAY_SIZE(directions); k++) {
        for (unsigned i = 0; i < ARRAY_SIZE(blocks); i++) {
            move_block(bench, directions[k], &blocks[i]);
        }
        move_chain(bench, directions[k], chain, ARRAY_SIZE(chain));

        dma_descriptor(bench->lab->vm, 0, bench->line - 8, 16, LAST);
        dma_fail(&bench->lab->card[0], &(Transfer){
            directions[k], 0, AT, 16, DESCRIPTOR(0),
        });
        expect_all(bench);

        /* After the last address of all there is not the first one. */
        dma_fail(&bench->lab->card[0], &(Transfer){
            directions[k], ~0ull - 7, AT, 64,
        });
        expect_all(bench);
    }
}

/* --- tests ---------------------------------------------------------------- */

/* Below 4 GiB itself is the firmware, which can be read. */
static void from_firmware(Bench *bench)
{
    const Piece after = { true, HIGH - LINE_MEMORY, 40 };
    uint32_t before = 24;

    renew_card(bench);
    dma_run(&bench->lab->card[0], &(Transfer){
        TO_CARD, HIGH - before, AT, before + after.bytes,
    });
    qtest_bufread(bench->lab->vm->qts, HIGH - before, bench->card + AT, before);
    was_moved(bench, TO_CARD, &after, AT + before);
    expect_all(bench);
}

static void test_memory(void)
{
    Bench bench = { .line = LINE_MEMORY };

    bench_start(&bench, MEMORY);
    for (unsigned i = 0; i < ARRAY_SIZE(memory); i++) {
        add_window(&bench, memory[i].bus, memory[i].host);
    }
    moves(&bench);
    from_firmware(&bench);
    bench_stop(&bench);
}

static void add_page(Bench *bench, uint64_t bus, uint64_t host)
{
    vtd_map(bench->lab->vm, QEMU_ALIGN_DOWN(bus, VTD_PAGE),
            QEMU_ALIGN_DOWN(host, VTD_PAGE) | VTD_READ_WRITE);
}

/* There it works in another context. */
static void test_iommu(void)
{
    Bench bench = { .line = LINE_IOMMU };
    const Piece other = { true, OTHER + 3, 0x1801 };
    uint64_t bar;

    bench_start(&bench, MEMORY "-machine q35 -device intel-iommu,aw-bits=39");
    for (unsigned i = 0; i < ARRAY_SIZE(iommu); i++) {
        add_window(&bench, iommu[i].bus, iommu[i].host);
        add_page(&bench, iommu[i].bus, iommu[i].host);
    }
    bar = bench.lab->card[1].bar[3].addr;
    add_window(&bench, LINE_IOMMU + OTHER, bar);
    add_page(&bench, LINE_IOMMU + OTHER, bar);
    add_page(&bench, DESCRIPTORS, DESCRIPTORS);
    vtd_start(bench.lab->vm, FIRST_SLOT);
    moves(&bench);
    move_block(&bench, TO_CARD, &other);
    move_block(&bench, TO_HOST, &other);
    bench_stop(&bench);
}

void rfm5565_add_dma_high_tests(void)
{
    lab_add_test("dma-high/memory", test_memory);
    lab_add_test("dma-high/iommu", test_iommu);
}
