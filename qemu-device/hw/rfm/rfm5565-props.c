// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Properties of the 5565: what a user sets, and how its links stand.
 * docs/system/devices/rfm5565.rst explains them.
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/lockable.h"
#include "qapi/error.h"
#include "hw/qdev-properties.h"
#include "hw/qdev-properties-system.h"
#include "crypto/tlscreds.h"
#include "ring/util/line-text.h"
#include "rfm5565.h"

/* --- what is set ---------------------------------------------------------- */

static const QEnumLookup window_names = {
    .array = (const char *const []) { "full", "64M", "16M", "2M" },
    .size = 4,
};
static const QEnumLookup rogue_names = {
    .array = (const char *const []) { "discard", "authentic" },
    .size = 2,
};
static const QEnumLookup duplicate_ids_names = {
    .array = (const char *const []) { "leave", "authentic" },
    .size = 2,
};

static const QEnumLookup clock_names = {
    .array = (const char *const []) { "host", "tai" },
    .size = 2,
};

static PropertyInfo window_info, rogue_info, duplicate_ids_info, clock_info;

/* One of these names: as qdev_prop_on_off_auto is one of its own. */
static void init_enum(PropertyInfo *info, const char *type,
                      const QEnumLookup *names)
{
    *info = qdev_prop_on_off_auto;
    info->type = type;
    info->enum_table = names;
}

static const Property rfm5565_properties[] = {
    DEFINE_PROP_UINT32("node-id", Rfm5565State, node_id, 0),
    DEFINE_PROP_SIZE("memory-size", Rfm5565State, memory_size, 64 * MiB),
    DEFINE_PROP_SIGNED("window", Rfm5565State, window, RFM5565_WINDOW_FULL,
                       window_info, Rfm5565Window),
    DEFINE_PROP_CHR("rx", Rfm5565State, rx.chr),
    DEFINE_PROP_CHR("tx", Rfm5565State, tx.chr),
    DEFINE_PROP_LINK("iothread", Rfm5565State, iothread, TYPE_IOTHREAD,
                     IOThread *),
    DEFINE_PROP_LINK("rx-tls", Rfm5565State, rx.tls.creds,
                     TYPE_QCRYPTO_TLS_CREDS, QCryptoTLSCreds *),
    DEFINE_PROP_LINK("tx-tls", Rfm5565State, tx.tls.creds,
                     TYPE_QCRYPTO_TLS_CREDS, QCryptoTLSCreds *),
    DEFINE_PROP_BOOL("shm", Rfm5565State, use_shm, true),
    DEFINE_PROP_UINT32("stall-limit-ms", Rfm5565State, stall_limit_ms, 500),
    DEFINE_PROP_STRING("line", Rfm5565State, line),
    DEFINE_PROP_UINT32("frames-in-flight", Rfm5565State, frames_in_flight,
                       RFM_NODE_WINDOW),
    DEFINE_PROP_BOOL("packing", Rfm5565State, packing, true),
    DEFINE_PROP_UINT8("train", Rfm5565State, train, RFM_TRAIN_FRAMES),
    DEFINE_PROP_BOOL("redundant", Rfm5565State, redundant, false),
    DEFINE_PROP_BOOL("rogue-master-0", Rfm5565State, rogue_master[0], false),
    DEFINE_PROP_BOOL("rogue-master-1", Rfm5565State, rogue_master[1], false),
    DEFINE_PROP_SIGNED("rogue", Rfm5565State, rogue, RFM5565_OURS,
                       rogue_info, Rfm5565Behaviour),
    DEFINE_PROP_SIGNED("duplicate-ids", Rfm5565State, duplicate_ids,
                       RFM5565_OURS, duplicate_ids_info, Rfm5565Behaviour),
    DEFINE_PROP_SIGNED("clock", Rfm5565State, clock_kind, RFM5565_CLOCK_HOST,
                       clock_info, Rfm5565Clock),
    DEFINE_PROP_STRING("pcap", Rfm5565State, pcap),
    DEFINE_PROP_BOOL("extension", Rfm5565State, extension, true),
    DEFINE_PROP_ON_OFF_AUTO("firmware-bus-master", Rfm5565State,
                            firmware_bus_master, ON_OFF_AUTO_AUTO),
    DEFINE_PROP_SIZE("burst-offset", Rfm5565State, burst.first_offset, 0),
    DEFINE_PROP_SIZE("burst-size", Rfm5565State, burst.first_size, 0),
    DEFINE_PROP_BOOL("auto-resync", Rfm5565State, auto_resync, false),
    DEFINE_PROP_NETDEV("netdev", Rfm5565State, net.conf.peers),
    DEFINE_PROP_UINT8("bridge-revision", Rfm5565State, bridge_revision,
                      RFM_PCIHREV_PIORC),
};

static const struct {
    const char *name, *text;
} property_help[] = {
    { "node-id", "node id, 0 to 255, unique on its ring (switch S2)" },
    { "memory-size", "reflected memory: 64M, 128M or 256M" },
    { "window", "size of BAR3: full, 64M, 16M or 2M (switches S1-3, S1-4)" },
    { "rx", "chardev from the upstream neighbour, usually a server socket" },
    { "tx", "chardev to the downstream neighbour's rx, with reconnect-ms" },
    { "rx-tls", "credentials of TLS on rx: a tls-creds-x509 or tls-creds-psk "
      "object" },
    { "tx-tls", "the same on tx" },
    { "iothread", "iothread in which the ring runs, else the main loop" },
    { "shm", "share memory with a neighbour on this host: on or off" },
    { "stall-limit-ms", "how long a store may wait for room before it is "
      "lost to the ring, 0 to 10000" },
    { "line", "free, or paced[,rate=GBAUD][,hop=NS][,fibre=METRES]" },
    { "frames-in-flight", "own frames on the ring at a time, 1 to 16384 "
      "(redundant: at most 512)" },
    { "packing", "put adjacent stores that wait into one frame: on or off" },
    { "train", "frames that share a header where blocks are sent, 1 to 32 "
      "(1: none; nor with packing=off, redundant or a paced line)" },
    { "redundant", "send every update twice; all nodes alike (switch S1-1)" },
    { "rogue-master-0", "remove frames that pass twice (switch S1-5)" },
    { "rogue-master-1", "the same as a second master (switch S1-6)" },
    { "rogue", "late and repeated updates: discard, or authentic (stored)" },
    { "duplicate-ids", "another node with this id: leave, or authentic "
      "(stay, as the real card)" },
    { "clock", "of the times it tells: host (this host's own), or tai "
      "(CLOCK_TAI, which hosts share whose clocks PTP or NTP keep)" },
    { "burst-offset", "where the burst range begins: a multiple of 4096" },
    { "burst-size", "bytes of the memory in which stores cost what RAM does, "
      "and are sent in no order: a multiple of 4096, 0 for none" },
    { "auto-resync", "what its memory misses it gets from a complete node by "
      "itself: on, or off as the real card" },
    { "netdev", "network that is on the ring: the id of a netdev, for "
      "instance a hubport beside that of a virtio-net" },
    { "pcap", "write every frame of both fibres to this pcapng file" },
    { "extension", "what no 5565 has, in BAR4: on, or off for a plain 5565" },
    { "firmware-bus-master", "the firmware has made the card a bus master, for "
      "a driver that never does: on, off, or auto (on if extension=off)" },
    { "bridge-revision", "what PCIHREV says, 0 to 255 (default 0xc0: PIORC), "
      "to test drivers" },
    { "dead", "set while running: the card answers all ones, as if pulled" },
    { "dma-hung", "set while running: the DMA engine answers and never ends" },
};

/* Switches S1-3 and S1-4, as LCSR1 shows them. */
static const struct {
    uint64_t size;
    uint32_t switches;
} windows[] = {
    [RFM5565_WINDOW_FULL] = { UINT64_MAX, 0 },
    [RFM5565_WINDOW_64M]  = { 64 * MiB, RFM_LCSR1_WINDOW0 },
    [RFM5565_WINDOW_16M]  = { 16 * MiB, RFM_LCSR1_WINDOW1 },
    [RFM5565_WINDOW_2M]   = { 2 * MiB, RFM_LCSR1_WINDOW1 | RFM_LCSR1_WINDOW0 },
};

static bool check_burst(const Rfm5565State *s, Error **errp)
{
    uint64_t offset = s->burst.first_offset, size = s->burst.first_size;

    if ((offset | size) % RFM_EXT_BURST_PAGE || offset > s->memory_size ||
        size > s->memory_size - offset) {
        error_setg(errp, "rfm5565: burst-offset and burst-size must be "
                   "multiples of 4096, within the memory");
        return false;
    }
    if (size && !(s->extension && s->iothread)) {
        error_setg(errp, "rfm5565: burst-size needs extension=on and an "
                   "iothread");
        return false;
    }
    return true;
}

static bool check_card(Rfm5565State *s, Error **errp)
{
    if (s->node_id >= RFM_RING_NODES) {
        error_setg(errp, "rfm5565: node-id must be 0 to 255, not %u",
                   s->node_id);
        return false;
    }
    if (s->memory_size != 64 * MiB && s->memory_size != 128 * MiB &&
        s->memory_size != 256 * MiB) {
        g_autofree char *size = size_to_str(s->memory_size);

        error_setg(errp, "rfm5565: memory-size must be 64M, 128M or 256M, "
                   "not %s", size);
        return false;
    }
    if (s->stall_limit_ms > 10000) {
        error_setg(errp, "rfm5565: stall-limit-ms must be 0 to 10000, not %u",
                   s->stall_limit_ms);
        return false;
    }
    if (s->auto_resync && !s->extension) {
        error_setg(errp, "rfm5565: auto-resync needs extension=on");
        return false;
    }
    if (!check_burst(s, errp)) {
        return false;
    }
    if (qemu_chr_fe_backend_connected(&s->rx.chr) !=
        qemu_chr_fe_backend_connected(&s->tx.chr)) {
        error_setg(errp, "rfm5565: rx and tx belong together: give both, or "
                   "none for a card without fibres");
        return false;
    }
    return rfm5565_tls_check(s, errp);
}

static bool check_node(Rfm5565State *s, struct rfm_node_config *config,
                       Error **errp)
{
    const char *error = s->line ? rfm_line_parse(&config->line, s->line) : NULL;

    if (error) {
        error_setg(errp, "rfm5565: line=%s: %s", s->line, error);
        return false;
    }
    if (!s->frames_in_flight || s->frames_in_flight > RFM_NODE_WINDOW_MAX) {
        error_setg(errp, "rfm5565: frames-in-flight must be 1 to %u, not %u",
                   RFM_NODE_WINDOW_MAX, s->frames_in_flight);
        return false;
    }
    if (!s->train || s->train > RFM_TRAIN_FRAMES) {
        error_setg(errp, "rfm5565: train must be 1 to %u, not %u",
                   RFM_TRAIN_FRAMES, s->train);
        return false;
    }
    return true;
}

bool rfm5565_check_properties(Rfm5565State *s, struct rfm_node_config *config,
                              Error **errp)
{
    *config = (struct rfm_node_config) {};
    if (!check_card(s, errp) || !check_node(s, config, errp)) {
        return false;
    }
    config->id = s->node_id;
    config->memory_size = s->memory_size;
    config->window = s->frames_in_flight;
    config->redundant = s->redundant;
    config->rogue_master = s->rogue_master[0] | s->rogue_master[1] << 1;
    config->unpacked = !s->packing;
    config->train = s->train;
    config->authentic_late = s->rogue == RFM5565_AUTHENTIC;
    config->authentic_ids = s->duplicate_ids == RFM5565_AUTHENTIC;
    /* Without the extension no driver of ours can be meant. */
    if (s->firmware_bus_master == ON_OFF_AUTO_AUTO) {
        s->firmware_bus_master = s->extension ? ON_OFF_AUTO_OFF
                                              : ON_OFF_AUTO_ON;
    }
    s->window_size = MIN(windows[s->window].size, s->memory_size);
    s->switches = windows[s->window].switches |
                   (s->redundant ? RFM_LCSR1_REDUNDANT : 0) |
                   (s->rogue_master[0] ? RFM_LCSR1_ROGUE_MASTER0 : 0) |
                   (s->rogue_master[1] ? RFM_LCSR1_ROGUE_MASTER1 : 0);
    return true;
}

/* --- what is read --------------------------------------------------------- */

enum { LINK_NONE, LINK_STREAM, LINK_SHARED_MEMORY };

static const QEnumLookup link_names = {
    .array = (const char *const []) { "none", "stream", "shared-memory" },
    .size = 3,
};

static int link_value(bool up, bool shm)
{
    return !up ? LINK_NONE : shm ? LINK_SHARED_MEMORY : LINK_STREAM;
}

static int get_rx_link(Object *obj, Error **errp)
{
    Rfm5565State *s = RFM5565(obj);

    QEMU_LOCK_GUARD(&s->lock);
    return link_value(s->link_rx.agreed, s->link_rx.shm);
}

static int get_tx_link(Object *obj, Error **errp)
{
    Rfm5565State *s = RFM5565(obj);

    QEMU_LOCK_GUARD(&s->lock);
    return link_value(s->link_tx.welcome, s->link_tx.shm);
}

/* After the properties dead and dma-hung were added. */
void rfm5565_add_class_properties(ObjectClass *klass)
{
    init_enum(&window_info, "Rfm5565Window", &window_names);
    init_enum(&rogue_info, "Rfm5565Rogue", &rogue_names);
    init_enum(&duplicate_ids_info, "Rfm5565DuplicateIds", &duplicate_ids_names);
    init_enum(&clock_info, "Rfm5565Clock", &clock_names);
    device_class_set_props(DEVICE_CLASS(klass), rfm5565_properties);
    for (size_t i = 0; i < ARRAY_SIZE(property_help); i++) {
        object_class_property_set_description(klass, property_help[i].name,
                                              property_help[i].text);
    }
    object_class_property_add_enum(klass, "rx-link", "Rfm5565Link",
                                   &link_names, get_rx_link, NULL);
    object_class_property_add_enum(klass, "tx-link", "Rfm5565Link",
                                   &link_names, get_tx_link, NULL);
    object_class_property_set_description(klass, "rx-link",
        "how frames arrive: none, stream or shared-memory");
    object_class_property_set_description(klass, "tx-link",
        "how frames leave: none, stream or shared-memory");
    rfm5565_add_counters(klass);
}
