/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI identity, BARs, and every register: reset value, widths, access rules. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "rfm5565-lab.h"

/* --- configuration space -------------------------------------------------- */

typedef struct ConfigField {
    const char *name;
    unsigned offset, width;
    uint32_t mask, value;
} ConfigField;

static const ConfigField config_fields[] = {
    { "vendor",           0x00, 2, 0xffff,     0x114a },
    { "device",           0x02, 2, 0xffff,     0x5565 },
    { "command",          0x04, 2, 0xffff,     0x0000 },
    /* 66 MHz, DEVSEL slow, no interrupt */
    { "status",           0x06, 2, 0x0628,     0x0420 },
    { "revision, class",  0x08, 4, 0xffffffff, 0x02800001 },
    { "latency timer",    0x0d, 1, 0xff,       0x40 },
    { "header type",      0x0e, 1, 0xff,       0x00 },
    { "BIST",             0x0f, 1, 0xff,       0x00 },
    { "subsystem",        0x2c, 4, 0xffffffff, 0x00801556 },
    { "interrupt pin",    0x3d, 1, 0xff,       0x01 },
    { "min_gnt, max_lat", 0x3e, 2, 0xffff,     0x0000 },
};

static void test_config(void)
{
    Vm *vm = vm_start("-device rfm5565,addr=%u", FIRST_SLOT);
    QPCIDevice *pci = qpci_device_find(vm->bus, QPCI_DEVFN(FIRST_SLOT, 0));
    const ConfigField *field;
    uint16_t command;

    g_assert_nonnull(pci);
    for (field = config_fields;
         field < config_fields + ARRAY_SIZE(config_fields); field++) {
        uint32_t value;

        value = field->width == 1 ? qpci_config_readb(pci, field->offset)
              : field->width == 2 ? qpci_config_readw(pci, field->offset)
              : qpci_config_readl(pci, field->offset);
        g_test_message("%s: 0x%x", field->name, value);
        g_assert_cmphex(value & field->mask, ==, field->value);
    }

    /*
     * I/O, memory, bus master, parity, SERR and INTx disable can be switched;
     * there is no expansion ROM.
     */
    qpci_config_writew(pci, PCI_COMMAND, 0xffff);
    command = qpci_config_readw(pci, PCI_COMMAND);
    g_assert_cmphex(command, ==, 0x0547);
    qpci_config_writeb(pci, PCI_LATENCY_TIMER, 0xf8);
    g_assert_cmphex(qpci_config_readb(pci, PCI_LATENCY_TIMER), ==, 0xf8);
    qpci_config_writel(pci, PCI_ROM_ADDRESS, 0xffffffff);
    g_assert_cmphex(qpci_config_readl(pci, PCI_ROM_ADDRESS), ==, 0);
    qtest_system_reset(vm->qts);
    g_assert_cmphex(qpci_config_readw(pci, PCI_COMMAND), ==, 0);
    g_assert_cmphex(qpci_config_readb(pci, PCI_LATENCY_TIMER), ==, 0x40);

    g_free(pci);
    vm_stop(vm);
}

/*
 * Behind a root port, as rmlab plugs it: an Express endpoint that still has
 * INTx, and no capability but that; neither power management nor MSI.
 */
static void test_express(void)
{
    Vm *vm = vm_start("-machine q35 "
                      "-device pcie-root-port,id=rp0,chassis=1,slot=1,addr=4 "
                      "-device rfm5565,bus=rp0,extension=off");
    QPCIDevice *pci;
    unsigned at;

    qpci_secondary_buses_init(vm->bus);
    pci = qpci_device_find(vm->bus, QPCI_DEVFN(1 << 5, 0));
    g_assert_nonnull(pci);
    g_assert_cmphex(qpci_config_readl(pci, PCI_VENDOR_ID), ==, 0x5565114a);
    g_assert_cmphex(qpci_config_readb(pci, PCI_INTERRUPT_PIN), ==, 1);
    g_assert_cmphex(qpci_config_readw(pci, PCI_STATUS) & 0x0630, ==, 0x0010);
    g_assert_cmphex(qpci_config_readb(pci, PCI_LATENCY_TIMER), ==, 0);
    at = qpci_config_readb(pci, PCI_CAPABILITY_LIST);
    g_assert_cmphex(at, ==, 0x78);
    g_assert_cmphex(qpci_config_readb(pci, at), ==, PCI_CAP_ID_EXP);
    g_assert_cmphex(qpci_config_readb(pci, at + 1), ==, 0);
    g_free(pci);
    vm_stop(vm);
}

/* --- BARs ----------------------------------------------------------------- */

typedef struct Sizing {
    const char *options;
    uint32_t bar3;          /* bytes */
    uint32_t lcsr1;         /* straps: {22, 21:20, 19} */
    uint32_t las1rr;
    uint32_t las1ba_mask;   /* what of the remap address can be set */
} Sizing;

static const Sizing sizings[] = {
    { "node-id=0",                    64 * MIB,  0x00000000, 0xfc000000, 0 },
    { "memory-size=64M",              64 * MIB,  0x00000000, 0xfc000000, 0 },
    { "memory-size=128M",             128 * MIB, 0x00100000, 0xf8000000, 0 },
    { "memory-size=256M",             256 * MIB, 0x00200000, 0xf0000000, 0 },
    { "memory-size=256M,window=full", 256 * MIB, 0x00200000, 0xf0000000, 0 },
    { "memory-size=64M,window=64M",   64 * MIB,  0x00080000, 0xfc000000, 0 },
    { "memory-size=64M,window=16M",   16 * MIB,  0x00400000, 0xff000000,
      0x03000000 },
    { "memory-size=64M,window=2M",    2 * MIB,   0x00480000, 0xffe00000,
      0x03e00000 },
    { "memory-size=128M,window=64M",  64 * MIB,  0x00180000, 0xfc000000,
      0x04000000 },
    { "memory-size=128M,window=16M",  16 * MIB,  0x00500000, 0xff000000,
      0x07000000 },
    { "memory-size=256M,window=64M",  64 * MIB,  0x00280000, 0xfc000000,
      0x0c000000 },
    { "memory-size=256M,window=16M",  16 * MIB,  0x00600000, 0xff000000,
      0x0f000000 },
    { "memory-size=256M,window=2M",   2 * MIB,   0x00680000, 0xffe00000,
      0x0fe00000 },
};

static void test_sizes(void)
{
    const Sizing *s;

    for (s = sizings; s < sizings + ARRAY_SIZE(sizings); s++) {
        Lab *lab = lab_dark(s->options, NULL);
        Card *card = &lab->card[0];

        g_test_message("%s", s->options);
        g_assert_cmphex(card->size[0], ==, 0x200);
        g_assert_cmphex(card->size[1], ==, 0x100);
        g_assert_cmphex(card->size[2], ==, 0x40);
        g_assert_cmphex(card->size[3], ==, s->bar3);

        g_assert_cmphex(ctl_readl(card, LCSR1) & 0x007c0000, ==, s->lcsr1);
        g_assert_cmphex(bar_read(card, 0, LAS1RR, 4), ==, s->las1rr);
        g_assert_cmphex(bar_read(card, 0, LAS1BA, 4), ==, 1);
        bar_write(card, 0, LAS1BA, 4, 0xffffffff);
        g_assert_cmphex(bar_read(card, 0, LAS1BA, 4), ==, s->las1ba_mask | 1);
        bar_write(card, 0, LAS1BA, 4, 0);
        g_assert_cmphex(bar_read(card, 0, LAS1BA, 4), ==, 1);
        lab_stop(lab);
    }
}

static void test_bar_types(void)
{
    static const uint32_t low_bits[6] = { 0, 1, 0, 0, 0, 0 };
    Lab *lab = lab_dark("node-id=0", NULL);
    int i;

    /* Memory BARs are 32 bits wide and not prefetchable; 4 and 5 are empty. */
    for (i = 0; i < 6; i++) {
        uint32_t bar = qpci_config_readl(lab->card[0].pci,
                                         PCI_BASE_ADDRESS_0 + 4 * i);

        g_assert_cmphex(bar & 0xf, ==, low_bits[i]);
        g_assert_true(i < 4 ? bar >= 0x100 : bar == 0);
    }
    lab_stop(lab);
}

/* The vendor's driver sizes BARs by all ones while they decode. */
static void test_live_sizing(void)
{
    static const int bars[] = { 0, 2, 3 };
    Lab *lab = lab_ring("node-id=7", "node-id=9");
    Card *a = &lab->card[0], *b = &lab->card[1];
    unsigned i;

    mem_writel(a, 0, 0x51e);
    for (i = 0; i < ARRAY_SIZE(bars); i++) {
        uint8_t at = PCI_BASE_ADDRESS_0 + 4 * bars[i];
        uint32_t bar = qpci_config_readl(a->pci, at);

        qpci_config_writel(a->pci, at, 0xffffffff);
        g_assert_cmphex(qpci_config_readl(a->pci, at), ==,
                        -(uint32_t)a->size[bars[i]]);
        qpci_config_writel(a->pci, at, bar);
        g_assert_cmphex(qpci_config_readl(a->pci, at), ==, bar);
    }
    fence(a, b);
    g_assert_cmphex(mem_readl(a, 0), ==, 0x51e);
    g_assert_cmphex(mem_readl(b, 0), ==, 0x51e);
    lab_stop(lab);
}

/* --- registers ------------------------------------------------------------ */

typedef struct Register {
    const char *name;
    int bar;
    unsigned offset;        /* of the dword */
    uint32_t reset;
    uint32_t rw;            /* bits that read back what was written */
    uint32_t unknown;       /* bits that are not compared */
} Register;

/*
 * A dark card, so that what a write to NIC sends goes nowhere. Bit 0 of LCSR1
 * can be written, but a 1 sets nothing.
 */
static const Register registers[] = {
    { "MARBR",          0, MARBR,    0x02040000, 0x01000000 },
    { "INTCSR",         0, INTCSR,   0x0f010100, 0x00040900 },
    { "CNTRL",          0, CNTRL,    0,          0x0000000f },
    { "PLX id",         0, 0x70,     0,          0 },
    { "PCIHREV",        0, PCIHREV,  0x000000c0, 0 },
    { "BIGEND",         0, BIGEND,   0,          0x000000a0 },
    { "DMAMODE0",       0, DMAMODE0, 0x00020583, 0x00000200 },
    { "DMAPADR0",       0, DMAPADR0, 0,          0xffffffff },
    { "DMALADR0",       0, DMALADR0, 0,          0xffffffff },
    { "DMASIZ0",        0, DMASIZ0,  0,          0x007fffff },
    { "DMADPR0",        0, DMADPR0,  0x00000001, 0xfffffff8 },
    { "DMACSR0",        0, DMACSR0,  0x00000010, 0x00000001 },
    { "DMADAC0",        0, DMADAC0,  0,          0xffffffff },
    { "channel 1",      0, 0x94,     0,          0 },
    { "DMATHR",         0, 0xb0,     0,          0 },
    { "MARBR, again",   0, MARBR2,   0x02040000, 0x01000000 },
    { "LAS1RR",         0, LAS1RR,   0xfc000000, 0 },
    { "LAS1BA",         0, LAS1BA,   0x00000001, 0 },
    { "BAR0 0x00",      0, 0x00,     0,          0 },
    { "BAR0 0x100",     0, 0x100,    0,          0 },
    { "flash data",     0, 0x1f0,    0,          0 },
    { "BAR0 0x1fc",     0, 0x1fc,    0,          0 },

    { "BRV, BID, BRB",  2, BRV,      0x0001658c, 0 },
    { "NID",            2, NID,      0x00000011, 0 },
    { "LCSR1",          2, LCSR1,    0x80000080, 0xf8030000, 0x0000007e },
    { "BAR2 0x0c",      2, 0x0c,     0,          0 },
    { "LISR",           2, LISR,     0,          0x00004000 },
    { "LIER",           2, LIER,     0,          0x0000bfef },
    { "NTD",            2, NTD,      0,          0xffffffff },
    { "NTN, NIC",       2, NTN,      0,          0x0000ffff },
    { "ISD1",           2, ISD(1),   0,          0 },
    { "SID1",           2, SID(1),   0,          0 },
    { "ISD2",           2, ISD(2),   0,          0 },
    { "SID2",           2, SID(2),   0,          0 },
    { "ISD3",           2, ISD(3),   0,          0 },
    { "SID3",           2, SID(3),   0,          0 },
    { "ISD4",           2, ISD(4),   0,          0 },
    { "SID4",           2, SID(4),   0,          0 },
};

static uint32_t lanes(unsigned offset, unsigned width)
{
    uint32_t mask = width == 4 ? 0xffffffff : (1u << 8 * width) - 1;

    return mask << 8 * (offset & 3);
}

/* Read by all widths; they must agree. */
static uint32_t read_each_way(Card *card, const Register *reg)
{
    uint32_t whole = bar_read(card, reg->bar, reg->offset, 4) & ~reg->unknown;
    unsigned width, at;

    for (width = 1; width <= 2; width++) {
        for (at = 0; at < 4; at += width) {
            uint32_t mask = lanes(at, width) & ~reg->unknown;
            uint32_t part = bar_read(card, reg->bar, reg->offset + at, width);

            g_assert_cmphex((part << 8 * at) & mask, ==, whole & mask);
        }
    }
    return whole;
}

static void check_register(Card *card, const Register *reg)
{
    static const uint32_t patterns[] = {
        0xffffffff, 0x00000000, 0xa5a5a5a5, 0x5a5a5a5a, 0x12345678,
    };
    uint32_t expect = reg->reset;
    unsigned width, at, i;

    g_test_message("%s", reg->name);
    g_assert_cmphex(read_each_way(card, reg), ==, expect & ~reg->unknown);

    for (width = 1; width <= 4; width *= 2) {
        for (at = 0; at < 4; at += width) {
            for (i = 0; i < ARRAY_SIZE(patterns); i++) {
                uint32_t mask = reg->rw & lanes(at, width);

                bar_write(card, reg->bar, reg->offset + at, width,
                          patterns[i] >> 8 * at);
                expect = (expect & ~mask) | (patterns[i] & mask);
                g_assert_cmphex(read_each_way(card, reg), ==,
                                expect & ~reg->unknown);
            }
        }
    }
    bar_write(card, reg->bar, reg->offset, 4, reg->reset);
    if (reg->bar == 2 && reg->offset == LCSR1) {
        /* Leaving loopback on a dark card is a loss of sync. */
        g_assert_cmphex(ctl_readl(card, LISR), ==, L_SYNC_LOSS);
        ctl_writel(card, LISR, 0);
    }
    g_assert_cmphex(read_each_way(card, reg), ==, reg->reset & ~reg->unknown);
}

static void test_registers(void)
{
    Lab *lab = lab_dark("node-id=17", NULL);
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        check_register(&lab->card[0], &registers[i]);
    }
    /* Nothing that was done to one register has changed another. */
    for (i = 0; i < ARRAY_SIZE(registers); i++) {
        const Register *reg = &registers[i];

        g_assert_cmphex(read_each_way(&lab->card[0], reg), ==,
                        reg->reset & ~reg->unknown);
    }
    lab_stop(lab);
}

/* What drivers look at before they touch anything else. */
static void test_identity(void)
{
    static const struct {
        const char *options;
        uint8_t node;
    } ids[] = {
        { "memory-size=64M", 0 },
        { "node-id=0",       0 },
        { "node-id=1",       1 },
        { "node-id=0x80",    128 },
        { "node-id=255",     255 },
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(ids); i++) {
        Lab *lab = lab_dark(ids[i].options, NULL);
        Card *card = &lab->card[0];

        g_assert_cmphex(ctl_readb(card, BID), ==, 0x65);
        g_assert_cmphex(ctl_readb(card, BRV), >=, 0x8c);
        g_assert_cmphex(ctl_readb(card, NID), ==, ids[i].node);
        lab_stop(lab);
    }
}

/*
 * The vendor's driver sets the low nibble of CNTRL to 0xc and reads it back.
 * Bit 30, with which a PLX resets itself, does nothing.
 */
static void test_cntrl(void)
{
    Lab *lab = lab_dark("node-id=1", NULL);
    Card *card = &lab->card[0];
    uint32_t cntrl = (bar_read(card, 0, CNTRL, 4) & ~0xfu) | 0xc;

    bar_write(card, 0, CNTRL, 4, cntrl);
    g_assert_cmphex(bar_read(card, 0, CNTRL, 4), ==, cntrl);
    ctl_writel(card, LIER, 0x3f40);
    bar_write(card, 0, CNTRL, 4, 0x40000000);
    g_assert_cmphex(ctl_readl(card, LIER), ==, 0x3f40);
    g_assert_cmphex(bar_read(card, 0, CNTRL, 4), ==, 0);
    lab_stop(lab);
}

/* Everything the vendor's driver does when it is loaded, in its order. */
static void test_vendor_probe(void)
{
    Lab *lab = lab_ring("node-id=7,memory-size=128M", NULL);
    Card *card = &lab->card[0];
    uint32_t cntrl;
    int bit;

    g_assert_cmphex(ctl_readb(card, BRV), >=, 0x8c);
    bar_read(card, 2, BRB, 2);
    g_assert_cmphex(ctl_readb(card, BID), ==, 0x65);
    g_assert_cmphex(ctl_readb(card, NID), ==, 7);
    g_assert_cmphex(ctl_readl(card, LCSR1) & 0x00300000, ==, 0x00100000);
    g_assert_cmphex(bar_read(card, 0, LAS1BA, 4) & ~1u, ==, 0);
    ctl_writel(card, LIER, 0);
    for (bit = 1; bit <= 4; bit++) {
        ctl_writeb(card, SID(bit), 0);
    }
    ctl_readl(card, LISR);
    ctl_writel(card, LISR, 0x4000);
    lcsr1_clear(card, LED);
    g_assert_cmphex(bar_read(card, 0, PCIHREV, 1), >=, 0xad);
    cntrl = (bar_read(card, 0, CNTRL, 4) & ~0xfu) | 0xc;
    bar_write(card, 0, CNTRL, 4, cntrl);
    g_assert_cmphex(bar_read(card, 0, CNTRL, 4), ==, cntrl);
    ctl_writel(card, LISR, 0x4000);
    for (bit = 0x2000; bit >= 0x40; bit >>= 1) {
        ctl_writel(card, LIER, ctl_readl(card, LIER) | (bit & 0x3f40));
        bar_write(card, 0, INTCSR, 4, bar_read(card, 0, INTCSR, 4) | 0x900);
    }
    g_assert_cmphex(ctl_readl(card, LISR), ==, 0x4000);
    g_assert_cmphex(ctl_readl(card, LIER), ==, 0x3f40);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010900);
    g_assert_cmphex(ctl_readl(card, LCSR1) & (LED | SIGNAL), ==, SIGNAL);
    lab_stop(lab);
}

/* The registers at 0x08 and 0xac are one. */
static void test_marbr_alias(void)
{
    Lab *lab = lab_dark("node-id=1", NULL);
    Card *card = &lab->card[0];

    bar_write(card, 0, MARBR2, 4, 0x01000000);
    g_assert_cmphex(bar_read(card, 0, MARBR, 4), ==, 0x03040000);
    bar_write(card, 0, MARBR + 3, 1, 0);
    g_assert_cmphex(bar_read(card, 0, MARBR2, 4), ==, 0x02040000);
    lab_stop(lab);
}

/* BAR1 shows the first 256 bytes of BAR0 in I/O space. */
static void test_io_alias(void)
{
    Lab *lab = lab_dark("node-id=1", NULL);
    Card *card = &lab->card[0];
    unsigned offset, width;

    for (width = 1; width <= 4; width *= 2) {
        for (offset = 0; offset < 0x100; offset += width) {
            g_assert_cmphex(bar_read(card, 1, offset, width), ==,
                            bar_read(card, 0, offset, width));
        }
    }
    bar_write(card, 1, INTCSR, 4, LOCAL_INT_ENABLE);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010800);
    bar_write(card, 1, INTCSR + 1, 1, PCI_INT_ENABLE >> 8);
    g_assert_cmphex(bar_read(card, 0, INTCSR, 4), ==, 0x0f010100);
    bar_write(card, 0, INTCSR, 2, LOCAL_INT_ENABLE | PCI_INT_ENABLE);
    g_assert_cmphex(bar_read(card, 1, INTCSR, 2), ==, 0x0900);
    lab_stop(lab);
}

/* Not even a whole-BAR scribble disturbs a dark card. */
static void test_scribble(void)
{
    Lab *lab = lab_dark("node-id=1", NULL);
    Card *card = &lab->card[0];
    unsigned bar, offset, width, round;

    for (round = 0; round < 2; round++) {
        for (bar = 0; bar <= 2; bar += 2) {
            for (width = 1; width <= 4; width *= 2) {
                for (offset = 0; offset < card->size[bar]; offset += width) {
                    bar_write(card, bar, offset, width, round ? 0 : ~0u);
                    bar_read(card, bar, offset, width);
                }
            }
        }
    }
    g_assert_cmphex(ctl_readb(card, BID), ==, 0x65);
    g_assert_cmphex(ctl_readl(card, LISR) & L_FIFOS, ==, 0);
    lab_stop(lab);
}

void rfm5565_add_register_tests(void)
{
    lab_add_test("pci/config", test_config);
    lab_add_test("pci/express", test_express);
    lab_add_test("pci/bar-types", test_bar_types);
    lab_add_test("pci/sizes-and-straps", test_sizes);
    lab_add_test("pci/live-sizing", test_live_sizing);
    lab_add_test("registers/vendor-probe", test_vendor_probe);
    lab_add_test("registers/identity", test_identity);
    lab_add_test("registers/table", test_registers);
    lab_add_test("registers/cntrl", test_cntrl);
    lab_add_test("registers/marbr-alias", test_marbr_alias);
    lab_add_test("registers/io-alias", test_io_alias);
    lab_add_test("registers/scribble", test_scribble);
}
