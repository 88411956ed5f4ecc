/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU that runs: its stores beside a device that stores, which does not wait
 * for room as a CPU does, and beside the card's own DMA; its code.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "rfm5565-dma.h"

/* Where the test and the machine's only program meet */
#define GO          0x7000      /* byte: up to here it may go */
#define DONE        0x7001      /* byte: so far it has come */
#define TARGET      0x7004      /* where it is to store, in the card's memory */
#define DMA         0x7010      /* what fw_cfg is to do */

/* fw_cfg: read item 0 (4 bytes, and zeroes behind), as one burst of DMA */
#define FW_CFG_READ_ITEM_0  0x0a
#define BURST               (64 * 1024)
#define MIDDLE              0x400000u
#define STORES              65536   /* of the CPU, more than wait */

/*
 * The program starts in real mode at the last 16 bytes, in a segment whose
 * base is 0xffff0000.
 */
static const uint8_t program[] = {
    0x66, 0x2e, 0x0f, 0x01, 0x16, 0x50, 0x00,   /* lgdtl %cs:0x50 */
    0x0f, 0x20, 0xc0,               /* mov %cr0, %eax */
    0x0c, 0x01,                     /* or $1, %al: protected mode */
    0x0f, 0x22, 0xc0,               /* mov %eax, %cr0 */
    0xb8, 0x08, 0x00,               /* mov $8, %ax */
    0x8e, 0xd8,                     /* mov %ax, %ds: all of the memory */
    0x80, 0x3e, 0x00, 0x70, 0x01,   /* cmpb $1, GO */
    0x75, 0xf9,                     /* jne to the cmpb */
    0xba, 0x18, 0x05,               /* mov $0x518, %dx */
    0x66, 0xb8, 0x00, 0x00, 0x70, 0x10,     /* mov $bswap(DMA), %eax */
    0x66, 0xef,                     /* outl %eax, %dx: fw_cfg does it */
    0xc6, 0x06, 0x01, 0x70, 0x01,   /* movb $1, DONE */
    0x80, 0x3e, 0x00, 0x70, 0x02,   /* cmpb $2, GO */
    0x75, 0xf9,                     /* jne to the cmpb */
    0x66, 0x8b, 0x3e, 0x04, 0x70,   /* mov TARGET, %edi */
    0x66, 0xb9, 0x00, 0x00, 0x01, 0x00,     /* mov $STORES, %ecx */
    0x67, 0x66, 0x89, 0x07,         /* mov %eax, (%edi) */
    0x66, 0x83, 0xc7, 0x04,         /* add $4, %edi */
    0x66, 0x49,                     /* dec %ecx */
    0x75, 0xf4,                     /* jnz to the mov to memory */
    0xc6, 0x06, 0x01, 0x70, 0x02,   /* movb $2, DONE */
    0xf4,                           /* hlt */
};

QEMU_BUILD_BUG_ON(sizeof(program) > 0x50);

/* At 0x50: limit and base of the table; the null descriptor; the memory */
static const uint8_t tables[] = {
    0x17, 0x00, 0x58, 0x00, 0xff, 0xff, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xff, 0xff, 0x00, 0x00, 0x00, 0x92, 0xcf, 0x00,
};

static char *make_firmware(const uint8_t *code, size_t len)
{
    static uint8_t image[64 * 1024];
    char *path = lab_path("firmware");

    memcpy(image, code, len);
    memcpy(image + 0x50, tables, sizeof(tables));
    memcpy(image + 0xfff0, "\xe9\x0d\x00", 3);      /* jmp to 0 */
    g_assert_true(g_file_set_contents(path, (char *)image, sizeof(image),
                                      NULL));
    return path;
}

static void run_until(Vm *vm, uint8_t step)
{
    qtest_writeb(vm->qts, GO, step);
    wait_until(qtest_readb(vm->qts, DONE) == step);
}

/*
 * In the middle of an access of a CPU to another device, that one stores to
 * the card by DMA. It does not expect the BQL to be let go: what finds no room
 * is lost at once. A store of the CPU itself waits.
 */
static void test_dma_never_waits(void)
{
    g_autofree char *firmware = make_firmware(program, sizeof(program));
    g_autofree char *near = lab_path("fibre");
    g_autofree char *far = lab_path("fibre");
    g_autofree char *rx = chardev_rx("rx", far);
    g_autofree char *tx = chardev_tx("tx", near);
    g_autofree char *file = lab_path("migration");
    Fibre *box = fibre_new(near, far);
    uint64_t longest;
    struct {
        uint32_t control, length;
        uint64_t address;
    } dma;
    Card card;
    Vm *vm = vm_start("-accel tcg -bios %s %s %s -device rfm5565,id=card0,"
                      "addr=%u,node-id=7,packing=off,stall-limit-ms=100,"
                      "rx=rx,tx=tx", firmware, rx, tx, FIRST_SLOT);

    card_init(&card, vm, FIRST_SLOT);
    ring_wait_closed(&card, 1);
    dma.control = cpu_to_be32(FW_CFG_READ_ITEM_0);
    dma.length = cpu_to_be32(BURST);
    dma.address = cpu_to_be64(card.bar[3].addr);
    qtest_memwrite(vm->qts, DMA, &dma, sizeof(dma));
    qtest_writel(vm->qts, TARGET, card.bar[3].addr + BURST);
    fibre_hold(box, true);

    run_until(vm, 1);
    g_assert_cmphex(mem_readl(&card, 0), ==, 0x554d4551);    /* "QEMU" */
    g_assert_cmpuint(counter(&card, "frames-full"), >, 0);
    g_assert_cmpuint(counter(&card, "longest-stall-us"), ==, 0);
    run_until(vm, 2);
    g_assert_cmphex(mem_readl(&card, BURST + 4 * STORES - 4), ==, 0x10700000);
    longest = counter(&card, "longest-stall-us");
    g_assert_cmpuint(longest, >=, 99 * 1000);

    /* It goes with the guest, as all that the card has counted. */
    migrate_to_file(vm, file);
    fibre_hold(box, false);
    card_fini(&card);
    vm_stop(vm);
    fibre_free(box);
    card.vm = vm_start("-accel tcg -bios %s -incoming defer"
                       " -device rfm5565,id=card0,addr=%u,node-id=7",
                       firmware, FIRST_SLOT);
    migrate_from_file(card.vm, file);
    g_assert_cmpuint(counter(&card, "longest-stall-us"), ==, longest);
    vm_stop(card.vm);
}

/*
 * A CPU stores while @len bytes come by DMA, of which at least @share must have
 * when it is ready: both find room in turn, and both nodes have all of it, in
 * one order. @options of both cards
 */
static void beside_dma(const char *options, uint32_t len, uint64_t share)
{
    g_autofree char *firmware = make_firmware(program, sizeof(program));
    g_autofree char *near = lab_path("fibre");
    g_autofree char *far = lab_path("fibre");
    g_autofree char *rx = chardev_rx("rx", far);
    g_autofree char *tx = chardev_tx("tx", near);
    g_autofree char *rx1 = chardev_rx("rx1", near);
    g_autofree char *tx1 = chardev_tx("tx1", far);
    g_autofree uint8_t *data = dma_pattern(DMA_MAX, 1);
    g_autofree uint8_t *seen = g_malloc(4 * STORES);
    struct {
        uint32_t control, length;
        uint64_t address;
    } nothing = {};
    Card card[2];
    Vm *vm = vm_start("-accel tcg -bios %s %s %s %s %s "
                      "-device rfm5565,id=card0,addr=%u,node-id=7,packing=off,"
                      "stall-limit-ms=10000,rx=rx,tx=tx%s "
                      "-device rfm5565,id=card1,addr=%u,node-id=9,"
                      "rx=rx1,tx=tx1%s", firmware, rx, tx, rx1, tx1, FIRST_SLOT,
                      options, FIRST_SLOT + 1, options);
    uint64_t stores;
    unsigned i;

    card_init(&card[0], vm, FIRST_SLOT);
    card_init(&card[1], vm, FIRST_SLOT + 1);
    ring_wait_closed(card, 2);
    bus_master(&card[0], true);
    host_write(vm, BUFFER, data, len);
    /* Where the transfer stores too: what comes last is the same everywhere. */
    qtest_writel(vm->qts, TARGET, card[0].bar[3].addr + MIDDLE);
    qtest_memwrite(vm->qts, DMA, &nothing, sizeof(nothing));
    run_until(vm, 1);
    stores = counter(&card[0], "stores");
    dma_start(&card[0], &(Transfer){ TO_CARD, BUFFER, 0, len });
    run_until(vm, 2);
    g_assert_cmpuint(counter(&card[0], "dma-bytes"), >=, share);
    dma_expect(&card[0], true);
    g_assert_cmpuint(counter(&card[0], "stores"), ==,
                     stores + STORES + DIV_ROUND_UP(len, 64));
    fence(&card[0], &card[1]);

    mem_read(&card[0], MIDDLE, seen, 4 * STORES);
    card_expect(&card[1], MIDDLE, seen, 4 * STORES);
    for (i = 0; i < STORES; i++) {
        uint32_t word = ldl_le_p(seen + 4 * i);

        g_assert_true(word == 0x10700000 ||
                      !memcmp(seen + 4 * i, data + MIDDLE + 4 * i, 4));
    }
    memcpy(data + MIDDLE, seen, 4 * STORES);
    card_expect(&card[0], 0, data, len);
    card_expect(&card[1], 0, data, len);
    g_assert_cmpuint(counter(&card[0], "frames-full"), ==, 0);
    g_assert_cmpuint(counter(&card[0], "frames-lost"), ==, 0);
    g_assert_cmpuint(counter(&card[1], "frames-missed"), ==, 0);
    card_fini(&card[0]);
    card_fini(&card[1]);
    vm_stop(vm);
}

static void test_beside_dma(void)
{
    beside_dma("", DMA_MAX, 0);
}

/* On a fibre that is slower than the CPU, which leaves it no room */
static void test_share(void)
{
    beside_dma(",line=paced,,rate=0.1", 2 * MIB, 256 * 1024);
}

/* A program that goes on in memory, and what it finds there */
#define CODE        0x6000

static const uint8_t jumper[] = {
    0x80, 0x3e, 0x00, 0x70, 0x01,   /* cmpb $1, GO */
    0x75, 0xf9,                     /* jne to the cmpb */
    0xea, 0x00, 0x60, 0x00, 0x00,   /* jmp CODE */
};

static const uint8_t loop[] = {
    0xc6, 0x06, 0x01, 0x70, 0x01,   /* movb $1, DONE */
    0xeb, 0xf9,                     /* jmp to it */
};

/* What the card puts where a CPU runs is what it runs from then on. */
static void test_code(void)
{
    g_autofree char *firmware = make_firmware(jumper, sizeof(jumper));
    Vm *vm = vm_start("-accel tcg -bios %s -device rfm5565,id=card0,addr=%u",
                      firmware, FIRST_SLOT);
    Card card;
    uint8_t code[sizeof(loop)];

    card_init(&card, vm, FIRST_SLOT);
    qtest_memwrite(vm->qts, CODE, loop, sizeof(loop));
    run_until(vm, 1);
    memcpy(code, loop, sizeof(loop));
    for (code[4] = 2; code[4] < 10; code[4]++) {
        mem_write(&card, 0, code, sizeof(code));
        dma_run(&card, &(Transfer){ TO_HOST, CODE, 0, sizeof(code) });
        wait_until(qtest_readb(vm->qts, DONE) == code[4]);
    }
    card_fini(&card);
    vm_stop(vm);
}

void rfm5565_add_cpu_tests(void)
{
    lab_add_test("cpu/dma-never-waits", test_dma_never_waits);
    lab_add_test("cpu/beside-dma", test_beside_dma);
    lab_add_test("cpu/share", test_share);
    lab_add_test("cpu/code", test_code);
}
