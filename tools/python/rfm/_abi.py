# SPDX-License-Identifier: MIT
"""librfm and librfmregions as this package calls them.

The binary interface of the libraries is a promise, librfm(7): so this is loaded as it is, and
nothing of the package is compiled. The declarations are those of rfm/rfm.h, rfm/cycle.h, rfm/regions.h,
rfm/io.h and linux/rfm.h, numbers included; tests/system/python.py lets a compiler compare them.
"""

from typing import Any

import cffi

DECLARATIONS = """
#define RFM_NODE_ALL 0xffff
#define RFM_CAN_PUBLISH 0x0001
#define RFM_CAN_SUBSCRIBE 0x0002
#define RFM_CAN_OWN 0x0004
#define RFM_CAN_WATCH 0x0008
#define RFM_CAN_WRITER 0x0010
#define RFM_CAN_SEND_SET 0x0020
#define RFM_CAN_FENCE 0x0040
#define RFM_CAN_COUNTERS 0x0080
#define RFM_CAN_VERIFY 0x0100
#define RFM_CAN_FD 0x0200
#define RFM_CAN_FORK 0x0400
#define RFM_CAN_REGS 0x0800
#define RFM_CAN_REMOTE 0x1000
#define RFM_CAN_REGION 0x2000
#define RFM_EVENT_RESET 0
#define RFM_EVENT_INT1 1
#define RFM_EVENT_INT2 2
#define RFM_EVENT_INT3 3
#define RFM_EVENT_INT4 4
#define RFM_EVENT_SYNC_LOSS 5
#define RFM_EVENT_BAD_DATA 6
#define RFM_EVENT_TX_FULL 7
#define RFM_EVENT_RX_FULL 8
#define RFM_EVENT_RX_ALMOST_FULL 9
#define RFM_EVENT_ROGUE 10
#define RFM_EVENT_WRITE_INHIBITED 11
#define RFM_EVENT_PARITY 12
#define RFM_EVENT_UPDATE 13
#define RFM_EVENT_MATCH 14
#define RFM_EVENT_STALE 15
#define RFM_EVENT_FRESH 16
#define RFM_EVENT_CONFLICT 17
#define RFM_EVENT_SIGNAL 18
#define RFM_EVENT_BREAK 19
#define RFM_EVENT_MEMBERSHIP 20
#define RFM_EVENT_LOSS 21
#define RFM_EVENT_ID_IN_USE 22
#define RFM_EVENT_DROPPED 23
#define RFM_EVENT_INCOMPLETE 24
#define RFM_EVENT_WRITTEN 25
#define RFM_EVENT_LATE 0x1
#define RFM_EVENT_AGE_UNKNOWN 0x2
#define RFM_EVENT_NEVER 0x4
#define RFM_EVENT_INFERRED 0x8
#define RFM_LISTEN_DISCARD 0x4
#define RFM_LISTEN_EXCLUSIVE 0x8
#define RFM_SUBSCRIBE_RX 0x1
#define RFM_SUBSCRIBE_TX 0x2
#define RFM_SUBSCRIBE_OWN 0x4
#define RFM_WATCH_COALESCE 0x04
#define RFM_WATCH_COMPARE 0x10
#define RFM_COMPARE_EQUAL 1
#define RFM_COMPARE_NOT_EQUAL 2
#define RFM_COMPARE_CHANGED 3
#define RFM_CONFIG_LED 0x001
#define RFM_CONFIG_TRANSMIT 0x002
#define RFM_CONFIG_LOOPBACK 0x004
#define RFM_CONFIG_DARK_ON_DARK 0x008
#define RFM_CONFIG_PARITY 0x010
#define RFM_CONFIG_OWN_DATA 0x020
#define RFM_CONFIG_BYTE_SWAP 0x040
#define RFM_CONFIG_WINDOW 0x080
#define RFM_CONFIG_OFFSET 0x100
#define RFM_CONFIG_DMA_BYTE_SWAP 0x200
#define RFM_ANSWER_GIVEN 0x1
#define RFM_ANSWER_BEHIND 0x2
#define RFM_NODES 256
#define RFM_OP_READ 1
#define RFM_OP_WRITE 2
#define RFM_OP_CAS 3
#define RFM_OP_ADD 4
#define RFM_OP_MAX 0x100000
#define RFM_OP_MS_MAX 60000
#define RFM_MEMORY_READ 0x01
#define RFM_MEMORY_WRITE 0x02
#define RFM_MEMORY_CHANGE 0x04
#define RFM_MEMORY_WATCH 0x08
#define RFM_EXPORT_READ 0x1
#define RFM_EXPORT_WRITE 0x2
#define RFM_EXPORT_HOME 0x4

struct rfm;
struct rfm_events;
struct rfm_messages;

struct rfm_info {
    uint64_t memory_size, window_size, window_offset;
    uint8_t node, board_id, board_revision, pad;
    uint16_t build, pad2;
    uint32_t lcsr1, lisr;
    uint64_t features;
    char pci_name[32];
    uint64_t irqs, sync_losses;
    uint32_t base_policy, clock_domain;
    uint64_t events_dropped;
    uint32_t watches;
    uint16_t runtime_at, control_at;
    uint64_t reserved[4];
    uint64_t burst_offset, burst_length;
};
struct rfm_config {
    uint32_t mask, on;
    uint64_t window_offset;
    uint32_t address_offset, pad;
    uint64_t reserved[2];
};
struct rfm_event {
    uint32_t type, node, data, flags;
    uint64_t seq, time_ns, dropped, offset;
    uint32_t length, count;
    uint64_t frame, origin_ns, arrival_ns, age_ns, late;
    uint8_t bytes[64];
    uint64_t reserved[2];
};
struct rfm_range {
    uint64_t offset, length;
};
struct rfm_watch {
    uint64_t ranges;
    uint32_t count, flags, depth;
    int32_t eventfd;
    uint64_t deadline_ns, silence_ns;
    uint32_t compare, compare_width;
    uint64_t compare_offset, compare_mask, compare_value;
    uint32_t record_size, pad;
    uint64_t reserved[3];
};
struct rfm_fence_wait {
    uint32_t timeout_ms, flags;
    uint64_t lost;
    uint32_t epoch, pad;
    uint64_t wait_ns;
    uint64_t reserved[2];
};
struct rfm_writer {
    uint64_t offset;
    uint32_t node, flags;
    uint64_t frame, time_ns;
    uint64_t reserved[2];
};
struct rfm_counters {
    uint32_t count, pad;
    uint64_t clock_ns, value[64], changed_ns[64], reset_ns, reset[64];
};
struct rfm_member {
    uint16_t present, hops, hubs, pad;
    uint32_t flags, pad2;
    uint64_t transit_ns, received, missed, heard_ns, broke_ns;
};
struct rfm_ring_map {
    uint64_t members;
    uint32_t count, member_size;
    uint64_t turn_ns;
    uint32_t epoch, present;
    uint64_t clock_ns, reserved;
};
struct rfm_node_answer {
    uint32_t flags, length, crc, pad;
    uint8_t first[8];
};
struct rfm_verify {
    uint64_t offset;
    uint32_t length, timeout_ms, flags, node;
    uint64_t lost;
    uint32_t epoch, pad;
    uint64_t reserved[2];
    struct rfm_node_answer answer[256];
};
struct rfm_operation {
    uint32_t op, node, width, key;
    uint64_t offset, data;
    uint32_t length, timeout_ms;
    uint64_t compare, value, old;
    uint64_t reserved[2];
};
struct rfm_resync_wait {
    uint32_t node, timeout_ms, flags, donor;
    uint64_t bytes;
    uint64_t reserved[2];
};
struct rfm_record_part {
    const volatile void *record;
    void *data;
    size_t size;
    uint64_t sequence;
    uint64_t reserved[4];
};
struct rfm_cycle {
    uint64_t period_ns, number, missed, late_ns, begin_ns, seq;
    uint32_t type, node, data, pad;
    uint64_t reserved[2];
};

struct rfm *rfm_open(const char *card, int flags);
const char *rfm_error(void);
int rfm_close(struct rfm *rfm);
uint64_t rfm_can(const struct rfm *rfm);
int rfm_fd(const struct rfm *rfm);
int rfm_cards(uint32_t *numbers, size_t count);
uint32_t rfm_version(void);
int rfm_info_sized(struct rfm *rfm, struct rfm_info *info, size_t size);
int rfm_get_config_sized(struct rfm *rfm, struct rfm_config *config, size_t size);
int rfm_set_config_sized(struct rfm *rfm, const struct rfm_config *config, size_t size);
void *rfm_map(struct rfm *rfm, uint64_t offset, size_t length);
int rfm_unmap(void *address, size_t length);
int rfm_load8(struct rfm *rfm, uint64_t offset, uint8_t *value);
int rfm_load16(struct rfm *rfm, uint64_t offset, uint16_t *value);
int rfm_load32(struct rfm *rfm, uint64_t offset, uint32_t *value);
int rfm_load64(struct rfm *rfm, uint64_t offset, uint64_t *value);
int rfm_store8(struct rfm *rfm, uint64_t offset, uint8_t value);
int rfm_store16(struct rfm *rfm, uint64_t offset, uint16_t value);
int rfm_store32(struct rfm *rfm, uint64_t offset, uint32_t value);
int rfm_store64(struct rfm *rfm, uint64_t offset, uint64_t value);
int rfm_read(struct rfm *rfm, uint64_t offset, void *data, size_t length);
int rfm_write(struct rfm *rfm, uint64_t offset, const void *data, size_t length);
int rfm_set_threshold(struct rfm *rfm, size_t bytes);
int rfm_subscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags, uint32_t *result);
int rfm_unsubscribe(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t flags);
void rfm_watch_init_sized(struct rfm_watch *watch, size_t size, const struct rfm_range *ranges,
                          uint32_t count);
struct rfm_events *rfm_watch_with_sized(struct rfm *rfm, const struct rfm_watch *watch, size_t size);
struct rfm_events *rfm_listen(struct rfm *rfm, uint32_t types, uint32_t flags, uint32_t depth);
int rfm_events_fd(const struct rfm_events *events);
int rfm_events_wait_until_sized(struct rfm_events *events, struct rfm_event *records, size_t size,
                                size_t count, uint64_t until_ns);
int rfm_events_cancel(struct rfm_events *events);
int rfm_events_close(struct rfm_events *events);
int64_t rfm_age_ns(const struct rfm_event *event);
int rfm_send(struct rfm *rfm, uint32_t node, uint32_t type, uint32_t data);
int rfm_send_set(struct rfm *rfm, const uint8_t *nodes, size_t count, uint32_t type, uint32_t data);
int rfm_fence_sized(struct rfm *rfm, int timeout_ms, struct rfm_fence_wait *result, size_t size);
int rfm_verify_sized(struct rfm *rfm, uint64_t offset, uint32_t length, int timeout_ms,
                     struct rfm_verify *result, size_t size);
int rfm_ring_test(struct rfm *rfm, int timeout_ms, uint64_t *round_trip_ns);
int rfm_writer_sized(struct rfm *rfm, uint64_t offset, struct rfm_writer *writer, size_t size);
int rfm_counters_sized(struct rfm *rfm, struct rfm_counters *counters, size_t size);
int rfm_ring_map_sized(struct rfm *rfm, struct rfm_member *members, size_t member_size, uint32_t count,
                       struct rfm_ring_map *map, size_t map_size);
int rfm_event_counts(struct rfm *rfm, uint64_t *counts, size_t count);
int rfm_operate_sized(struct rfm *rfm, struct rfm_operation *operation, size_t size);
int rfm_message(struct rfm *rfm, uint32_t node, uint32_t port, const void *data, size_t length, int timeout_ms);
struct rfm_messages *rfm_listen_port(struct rfm *rfm, uint32_t port, uint32_t depth, uint32_t length_max);
int rfm_receive(struct rfm_messages *port, void *data, size_t size, size_t *length, uint32_t *node, int timeout_ms);
int rfm_messages_fd(const struct rfm_messages *port);
void rfm_messages_close(struct rfm_messages *port);
int rfm_export(struct rfm *rfm, uint64_t offset, uint64_t length, uint32_t rights);
struct rfm_events *rfm_region_open(struct rfm *rfm, void *address, size_t length, uint32_t flags, uint32_t *key);
int rfm_resync_sized(struct rfm *rfm, uint32_t donor, int timeout_ms, struct rfm_resync_wait *result, size_t size);
const char *rfm_event_name(uint32_t type);
const char *rfm_counter_name(uint32_t counter);
const char *rfm_error_text(int error);
int rfm_record_store(struct rfm *rfm, uint64_t offset, const void *data, size_t size);
int rfm_records_read(struct rfm_record_part *parts, size_t count);
int rfm_cycle_wait_sized(struct rfm_cycle *cycle, size_t size, struct rfm_events *source);
"""

REGIONS = """
#define RFM_REGION_STRUCT 0
#define RFM_REGION_INT8 1
#define RFM_REGION_UINT8 2
#define RFM_REGION_INT16 3
#define RFM_REGION_UINT16 4
#define RFM_REGION_INT32 5
#define RFM_REGION_UINT32 6
#define RFM_REGION_INT64 7
#define RFM_REGION_UINT64 8
#define RFM_REGION_FLOAT 9
#define RFM_REGION_DOUBLE 10
#define RFM_REGION_BOOL 11
#define RFM_REGION_CHAR 12
#define RFM_REGION_BIG 2
#define RFM_REGION_TEXT_MAX 512
#define RFM_IO_CHANGED 0x1

struct rfm_region_name {
    const struct rfm_region_name *next;
    const char *name;
    uint64_t value;
    uint32_t first, last, line, pad;
    uint64_t reserved[2];
};
struct rfm_region {
    const struct rfm_region *next, *fields;
    const char *name, *type_name, *unit, *description;
    uint64_t offset, size, stated_size, period_ns;
    uint32_t count, align, line;
    int32_t owner;
    uint32_t type, order;
    double scale, bias;
    const struct rfm_region_name *bits, *values;
    uint64_t reserved[8];
};
struct rfm_regions {
    const char *path, *description;
    const struct rfm_region *types, *regions;
    uint64_t memory_size;
    uint32_t order, pad;
    uint64_t reserved[8];
};
struct rfm_place {
    const struct rfm_region *region;
    const char *unit;
    uint64_t offset, length, period_ns;
    uint32_t count;
    int32_t owner;
    uint32_t type, order;
    uint64_t reserved[8];
};
struct rfm_regions_complaint {
    const char *path, *sentence;
    uint32_t line, fault;
    uint64_t reserved[4];
};
typedef void rfm_regions_report(void *context, const struct rfm_regions_complaint *complaint);

struct rfm_regions *rfm_regions_load(const char *path, rfm_regions_report *report, void *context);
void rfm_regions_free(struct rfm_regions *regions);
int rfm_regions_find(const struct rfm_regions *regions, const char *name, struct rfm_place *place,
                     rfm_regions_report *report, void *context);
int rfm_regions_at(const struct rfm_regions *regions, uint64_t offset, uint64_t length,
                   int (*each)(void *context, const char *name, const struct rfm_place *value),
                   void *context);
int rfm_value_print(const struct rfm_place *place, const void *bytes, char *text, size_t size);
int rfm_value_scan(const struct rfm_place *place, const char *text, void *bytes);
int rfm_value_real(const struct rfm_place *place, const void *bytes, double *real);
int rfm_value_set_real(const struct rfm_place *place, double real, void *bytes);

struct rfm_io;
struct rfm_io *rfm_io_open(struct rfm *rfm, const struct rfm_regions *regions, const char *const *names,
                           size_t count, rfm_regions_report *report, void *context);
size_t rfm_io_count(const struct rfm_io *io);
const char *rfm_io_name(const struct rfm_io *io, size_t index);
int rfm_io_get(struct rfm_io *io, double *reals);
int rfm_io_put(struct rfm_io *io, const double *reals, uint32_t flags);
void rfm_io_close(struct rfm_io *io);
"""

ffi: Any = cffi.FFI()
ffi.cdef(DECLARATIONS + REGIONS)


def _load(name: str) -> Any:
    try:
        # A node that nobody has closed runs until the process ends, and so its code must stay.
        return ffi.dlopen(name, ffi.RTLD_NOW | ffi.RTLD_NODELETE)
    except OSError as problem:
        raise ImportError(f"{name} cannot be loaded: install librfm1, or let LD_LIBRARY_PATH name its folder "
                          f"and that of librfmring ({problem})") from None


lib: Any = _load("librfm.so.1")
regions_lib: Any = _load("librfmregions.so.1")


def text(words: Any) -> str:
    """A text of the library's, "" for none."""
    return str(ffi.string(words), errors="backslashreplace") if words else ""
