// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pages of the guest, and regions of them that other nodes may reach by a key.
 *
 * They are accessed under the BQL, so that the guest need
 * only revoke a region to have it for itself. What others ask for waits until
 * then with the answer that is owed: so it is as limited as those are.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/main-loop.h"
#include "hw/pci/pci.h"
#include "migration/qemu-file-types.h"
#include "rfm5565.h"
#include "trace.h"

#define PAGE            4096
#define SERVED_PER_RUN  RFM_REMOTE_ANSWERS  /* before others have their turn */

/* --- the guest's memory --------------------------------------------------- */

/* Refused where there is no RAM: our own BARs must not be accessed so. */
static const MemTxAttrs guest_attrs = { .memory = 1 };

bool rfm5565_guest_rw(Rfm5565State *s, uint64_t address, void *data,
                      uint64_t len, DMADirection direction)
{
    return pci_dma_rw(PCI_DEVICE(s), address, data, len, direction,
                      guest_attrs) == MEMTX_OK;
}

/* How many pages have @length bytes, the first at @first? */
static uint32_t pages_of(uint64_t first, uint32_t length)
{
    return DIV_ROUND_UP(first % PAGE + length, PAGE);
}

/*
 * A list of pages of @length bytes, in the order of this host, to be freed. If
 * there is none: RFM_REQUEST_INVALID, and whether the memory did not answer.
 */
enum rfm_ext_request_result rfm5565_pages_read(Rfm5565State *s, uint64_t list,
                                               uint32_t length,
                                               uint64_t **pages, bool *fault)
{
    g_autofree uint64_t *read = NULL;
    uint64_t first;
    uint32_t count;

    *fault = false;
    if (list % sizeof(*read) || !length) {
        return RFM_REQUEST_INVALID;
    }
    if (!rfm5565_guest_rw(s, list, &first, sizeof(first),
                          DMA_DIRECTION_TO_DEVICE)) {
        *fault = true;
        return RFM_REQUEST_INVALID;
    }
    first = le64_to_cpu(first);
    count = pages_of(first, length);
    read = g_new(uint64_t, count);
    read[0] = first;
    if (count > 1 &&
        !rfm5565_guest_rw(s, list + sizeof(*read), read + 1,
                          (count - 1) * sizeof(*read),
                          DMA_DIRECTION_TO_DEVICE)) {
        *fault = true;
        return RFM_REQUEST_INVALID;
    }
    for (uint32_t i = 1; i < count; i++) {
        read[i] = le64_to_cpu(read[i]);
        if (read[i] % PAGE) {
            return RFM_REQUEST_INVALID;
        }
    }
    *pages = g_steal_pointer(&read);
    return RFM_REQUEST_OK;
}

static uint64_t address_in(const uint64_t *pages, uint32_t offset)
{
    uint32_t place = pages[0] % PAGE + offset;

    return QEMU_ALIGN_DOWN(pages[place / PAGE], PAGE) + place % PAGE;
}

/* Bytes from @offset of what they hold. Returns false if one did not answer. */
bool rfm5565_pages_rw(Rfm5565State *s, const uint64_t *pages, uint32_t offset,
                      void *data, uint32_t len, DMADirection direction)
{
    uint8_t *at = data;

    while (len) {
        uint64_t address = address_in(pages, offset);
        uint32_t piece = MIN(len, PAGE - address % PAGE);

        if (!rfm5565_guest_rw(s, address, at, piece, direction)) {
            return false;
        }
        at += piece;
        offset += piece;
        len -= piece;
    }
    return true;
}

/* --- regions: changed under both locks ------------------------------------ */

static Rfm5565Region *find_region(const Rfm5565State *s, uint32_t key)
{
    for (unsigned i = 0; i < RFM_EXT_REGIONS; i++) {
        const Rfm5565Region *region = &s->remote.regions[i];

        if (region->pages && region->key == key) {
            return (Rfm5565Region *)region;
        }
    }
    return NULL;
}

/* Its pages are the card's then. */
enum rfm_ext_request_result rfm5565_region_add(Rfm5565State *s,
                                               const Rfm5565Region *region)
{
    if (find_region(s, region->key)) {
        return RFM_REQUEST_IN_USE;
    }
    for (unsigned i = 0; i < RFM_EXT_REGIONS; i++) {
        if (!s->remote.regions[i].pages) {
            s->remote.regions[i] = *region;
            trace_rfm5565_region(s->node_id, region->key, region->length,
                                 region->flags);
            return RFM_REQUEST_OK;
        }
    }
    return RFM_REQUEST_FULL;
}

enum rfm_ext_request_result rfm5565_region_revoke(Rfm5565State *s, uint32_t key)
{
    Rfm5565Region *region = find_region(s, key);

    if (!region) {
        return RFM_REQUEST_DENIED;
    }
    trace_rfm5565_region(s->node_id, key, 0, 0);
    g_clear_pointer(&region->pages, g_free);
    return RFM_REQUEST_OK;
}

bool rfm5565_regions_are_any(const Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_REGIONS; i++) {
        if (s->remote.regions[i].pages) {
            return true;
        }
    }
    return false;
}

void rfm5565_regions_clear(Rfm5565State *s)
{
    for (unsigned i = 0; i < RFM_EXT_REGIONS; i++) {
        g_clear_pointer(&s->remote.regions[i].pages, g_free);
    }
}

/* --- what is done there --------------------------------------------------- */

static const uint32_t rights[] = {
    [RFM_REMOTE_LOADS]   = RFM_REGION_READ,
    [RFM_REMOTE_STORES]  = RFM_REGION_WRITE,
    [RFM_REMOTE_CHANGES] = RFM_REGION_CHANGE,
};

/* Under either lock. */
enum rfm_remote_result rfm5565_region_check(const Rfm5565State *s,
                                            enum rfm_remote_access access,
                                            uint32_t key, uint64_t offset,
                                            uint32_t length)
{
    const Rfm5565Region *region = find_region(s, key);

    if (!region || access == RFM_REMOTE_MERGES ||
        !(region->flags & rights[access])) {
        return RFM_REMOTE_DENIED;
    }
    if (offset > region->length || length > region->length - offset) {
        return RFM_REMOTE_RANGE;
    }
    /* A word must be one in the guest's memory, too. */
    if (access == RFM_REMOTE_CHANGES &&
        (offset % length || region->pages[0] % length)) {
        return RFM_REMOTE_RANGE;
    }
    return RFM_REMOTE_OK;
}

/*
 * Returns the word before; it has become @new if it was @old. CPUs of the guest
 * that do the same are kept out by that, and by nothing else.
 */
static uint64_t swap_word(void *word, unsigned width, uint64_t old,
                          uint64_t new)
{
    uint32_t *word32 = word;
    uint64_t *word64 = word;

    if (width == 4) {
        return le32_to_cpu(qatomic_cmpxchg(word32, cpu_to_le32(old),
                                           cpu_to_le32(new)));
    }
    return le64_to_cpu(qatomic_cmpxchg__nocheck(word64, cpu_to_le64(old),
                                                cpu_to_le64(new)));
}

/* Returns false if it is in no RAM. @changed: it is another than before. */
static bool change_word(Rfm5565State *s, const Rfm5565Region *region,
                        const struct rfm_remote_request *ask, uint64_t *old,
                        bool *changed)
{
    AddressSpace *as = pci_get_address_space(PCI_DEVICE(s));
    uint64_t seen = 0, new = 0;
    dma_addr_t len = ask->width;
    ram_addr_t offset;
    void *word;
    bool is_ram;

    word = dma_memory_map(as, address_in(region->pages, ask->offset), &len,
                          DMA_DIRECTION_FROM_DEVICE, guest_attrs);
    if (!word) {
        return false;
    }
    /* Else it is a copy. */
    is_ram = len == ask->width && memory_region_from_host(word, &offset);
    if (is_ram) {
        do {
            *old = seen;
            new = rfm_remote_new_word(ask->op, ask->width, *old, ask->compare,
                                      ask->value);
            seen = swap_word(word, ask->width, *old, new);
        } while (seen != *old);
    }
    *changed = is_ram && new != *old;
    dma_memory_unmap(as, word, len, DMA_DIRECTION_FROM_DEVICE,
                     *changed ? len : 0);
    return is_ram;
}

static void tell_written(Rfm5565State *s, uint8_t from,
                         const struct rfm_remote_request *ask, uint32_t length)
{
    struct rfm_ext_record *record;

    rfm5565_lock(s);
    record = rfm5565_event(s, RFM_RECORD_WRITTEN,
                           rfm_node_clock(&s->node, rfm5565_now()));
    if (record) {
        record->node = cpu_to_le16(from);
        record->value = cpu_to_le32(ask->key);
        record->offset = cpu_to_le32(ask->offset);
        record->length = cpu_to_le32(length);
    }
    rfm5565_update_and_unlock(s);
}

/*
 * READ, WRITE, CAS or ADD at a region here, with a width that can be. Under
 * the BQL.
 */
enum rfm_remote_result rfm5565_region_do(Rfm5565State *s, uint8_t from,
                                         const struct rfm_remote_request *ask,
                                         uint64_t *old)
{
    bool reads = ask->op == RFM_REMOTE_READ;
    bool writes = ask->op == RFM_REMOTE_WRITE;
    uint32_t length = reads || writes ? ask->length : ask->width;
    enum rfm_remote_access access = reads ? RFM_REMOTE_LOADS
                                  : writes ? RFM_REMOTE_STORES
                                           : RFM_REMOTE_CHANGES;
    enum rfm_remote_result result;
    const Rfm5565Region *region;
    bool done, changed = writes;

    result = rfm5565_region_check(s, access, ask->key, ask->offset, length);
    if (result != RFM_REMOTE_OK) {
        return result;
    }
    region = find_region(s, ask->key);
    done = reads || writes
         ? rfm5565_pages_rw(s, region->pages, ask->offset, ask->data, length,
                            reads ? DMA_DIRECTION_TO_DEVICE
                                  : DMA_DIRECTION_FROM_DEVICE)
         : change_word(s, region, ask, old, &changed);
    if (!done) {
        rfm5565_guest_error(s, "a page of region 0x%x does not answer",
                            ask->key);
        return RFM_REMOTE_DENIED;
    }
    if (changed && from != s->node_id && (region->flags & RFM_REGION_WATCH)) {
        tell_written(s, from, ask, length);
    }
    return RFM_REMOTE_OK;
}

/* What others wait for. Returns whether there may be more. */
bool rfm5565_regions_serve(Rfm5565State *s)
{
    struct rfm_remote_answer *answer;
    enum rfm_remote_result result;
    unsigned served = 0;

    rfm5565_lock(s);
    while (served < SERVED_PER_RUN &&
           (answer = rfm_remote_away(&s->remote.engine))) {
        const struct rfm_remote_request ask = {
            .op = answer->op, .width = answer->width, .key = answer->key,
            .offset = answer->offset, .length = answer->length,
            .data = answer->data, .compare = answer->compare,
            .value = answer->value,
        };
        uint64_t old = 0;

        rfm5565_update_and_unlock(s);
        result = rfm5565_region_do(s, answer->to, &ask, &old);
        rfm5565_lock(s);
        rfm_remote_back(&s->remote.engine, answer, result, old);
        served++;
    }
    rfm5565_update_and_unlock(s);
    return served == SERVED_PER_RUN;
}

/* --- migration ------------------------------------------------------------ */

static int put_regions(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, JSONWriter *desc)
{
    const Rfm5565State *s = pv;

    for (unsigned i = 0; i < RFM_EXT_REGIONS; i++) {
        const Rfm5565Region *region = &s->remote.regions[i];
        uint32_t count;

        if (!region->pages) {
            continue;
        }
        count = pages_of(region->pages[0], region->length);
        qemu_put_be32(f, region->length);
        qemu_put_be32(f, region->key);
        qemu_put_be32(f, region->flags);
        for (uint32_t page = 0; page < count; page++) {
            qemu_put_be64(f, region->pages[page]);
        }
    }
    qemu_put_be32(f, 0);
    return 0;
}

/* The rest of one, whose length is known. Returns whether it can be. */
static bool get_region(QEMUFile *f, Rfm5565State *s, uint32_t length)
{
    Rfm5565Region region = { .length = length };
    uint64_t first;
    uint32_t count;
    bool sound = true;

    region.key = qemu_get_be32(f);
    region.flags = qemu_get_be32(f);
    first = qemu_get_be64(f);
    if (length > RFM_EXT_REGION_MAX || !region.key || qemu_file_get_error(f)) {
        return false;
    }
    count = pages_of(first, length);
    region.pages = g_new(uint64_t, count);
    region.pages[0] = first;
    for (uint32_t i = 1; i < count; i++) {
        region.pages[i] = qemu_get_be64(f);
        sound &= !(region.pages[i] % PAGE);
    }
    if (!sound || rfm5565_region_add(s, &region) != RFM_REQUEST_OK) {
        g_free(region.pages);
        return false;
    }
    return true;
}

/* The card is quiesced: nobody else looks. */
static int get_regions(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field)
{
    Rfm5565State *s = pv;
    uint32_t length;

    rfm5565_regions_clear(s);
    while ((length = qemu_get_be32(f))) {
        if (!get_region(f, s, length)) {
            return rfm5565_refuse_state("its regions");
        }
    }
    return 0;
}

const VMStateInfo rfm5565_info_regions = {
    .name = "rfm5565/regions",
    .get = get_regions,
    .put = put_regions,
};
