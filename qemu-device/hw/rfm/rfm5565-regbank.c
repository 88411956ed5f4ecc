// SPDX-License-Identifier: GPL-2.0-or-later
/* Banks of registers: how an access finds its registers. */

#include "qemu/osdep.h"
#include "rfm5565.h"
#include "rfm5565-regbank.h"
#include "trace.h"

static uint64_t field_get(Rfm5565State *s, const Rfm5565Reg *reg,
                          unsigned index)
{
    void *field = (char *)s + reg->field + index * reg->stride;

    return reg->width == 8 ? *(uint64_t *)field : *(uint32_t *)field;
}

static void field_set(Rfm5565State *s, const Rfm5565Reg *reg, unsigned index,
                      uint64_t value)
{
    void *field = (char *)s + reg->field + index * reg->stride;

    if (reg->width == 8) {
        *(uint64_t *)field = value;
    } else {
        *(uint32_t *)field = value;
    }
}

static uint64_t shift_by(uint64_t value, int shift)
{
    return shift >= 0 ? value << shift : value >> -shift;
}

/*
 * Do the @size bytes at @addr reach @reg? Then @op says which one of a row and
 * which bits of it. @shift: by how many bits the register begins later than
 * the access.
 */
static bool find_part(const Rfm5565Bank *bank, const Rfm5565Reg *reg,
                      hwaddr addr, unsigned size, Rfm5565RegOp *op, int *shift)
{
    unsigned index = reg->count && addr > reg->offset
                   ? MIN((addr - reg->offset) / reg->stride, reg->count - 1)
                   : 0;
    int begin = (int)(reg->offset + index * reg->stride) - (int)addr;
    int end = begin + reg->width;

    if (bank->exact ? size < 4 || addr % size || begin > 0 || end < (int)size
                    : begin >= (int)size || end <= 0) {
        return false;
    }
    *shift = begin * 8;
    *op = (Rfm5565RegOp) {
        .index = index,
        .mask = shift_by(MAKE_64BIT_MASK(0, size * 8), -*shift) &
                MAKE_64BIT_MASK(0, reg->width * 8),
    };
    return true;
}

/* Drivers of the 5565 look at registers that it shares with other cards. */
static void log_miss(const Rfm5565State *s, const Rfm5565Bank *bank,
                     const char *what, hwaddr addr, unsigned size)
{
    qemu_log_mask(bank->exact ? LOG_GUEST_ERROR : LOG_UNIMP,
                  "rfm5565: node 0x%02x: BAR%u has no register for a %s of %u "
                  "bytes at 0x%" HWADDR_PRIx "\n", s->node_id, bank->bar, what,
                  size, addr);
}

static uint64_t reg_read(Rfm5565State *s, const Rfm5565Reg *reg,
                         const Rfm5565RegOp *op)
{
    uint64_t value = reg->read ? reg->read(s, op)
                   : reg->field ? field_get(s, reg, op->index) : reg->reset;

    trace_rfm5565_reg_read(s->node_id, reg->name, op->index, value, op->mask);
    return value & op->mask;
}

static void reg_write(Rfm5565State *s, const Rfm5565Reg *reg,
                      const Rfm5565RegOp *op)
{
    uint64_t plain = reg->writable & op->mask;

    trace_rfm5565_reg_write(s->node_id, reg->name, op->index, op->value,
                            op->mask);
    if (reg->field) {
        field_set(s, reg, op->index,
                  (field_get(s, reg, op->index) & ~plain) |
                  (op->value & plain));
    }
    if (reg->write) {
        reg->write(s, op);
    }
}

uint64_t rfm5565_bank_read(Rfm5565State *s, const Rfm5565Bank *bank,
                           hwaddr addr, unsigned size)
{
    const uint64_t all = MAKE_64BIT_MASK(0, size * 8);
    uint64_t left = all, result = 0;
    Rfm5565RegOp op;
    int shift;

    if (rfm5565_is_unreachable(s)) {
        return all;
    }
    rfm5565_lock(s);
    for (size_t i = 0; i < bank->count && left; i++) {
        if (find_part(bank, &bank->regs[i], addr, size, &op, &shift)) {
            result |= shift_by(reg_read(s, &bank->regs[i], &op), shift);
            left &= ~shift_by(op.mask, shift);
        }
    }
    rfm5565_update_and_unlock(s);
    if (left == all) {
        log_miss(s, bank, "read", addr, size);
    }
    return result;
}

void rfm5565_bank_write(Rfm5565State *s, const Rfm5565Bank *bank, hwaddr addr,
                        uint64_t value, unsigned size)
{
    const uint64_t all = MAKE_64BIT_MASK(0, size * 8);
    uint64_t left = all;
    Rfm5565RegOp op;
    bool here;
    int shift;

    if (rfm5565_is_unreachable(s)) {
        return;
    }
    rfm5565_lock(s);
    here = rfm5565_engine_come(s);
    for (size_t i = 0; i < bank->count && left; i++) {
        if (find_part(bank, &bank->regs[i], addr, size, &op, &shift)) {
            op.value = shift_by(value, -shift) & op.mask;
            reg_write(s, &bank->regs[i], &op);
            left &= ~shift_by(op.mask, shift);
        }
    }
    if (here) {
        rfm5565_engine_leave(s, true);
    }
    rfm5565_update_and_unlock(s);
    if (left == all) {
        log_miss(s, bank, "write", addr, size);
    }
    if (bank->written) {
        bank->written(s);
    }
}

void rfm5565_bank_reset(Rfm5565State *s, const Rfm5565Bank *bank)
{
    for (size_t i = 0; i < bank->count; i++) {
        const Rfm5565Reg *reg = &bank->regs[i];

        for (unsigned n = 0; reg->field && n < MAX(reg->count, 1); n++) {
            field_set(s, reg, n, reg->reset);
        }
    }
}

bool rfm5565_bank_is_valid(Rfm5565State *s, const Rfm5565Bank *bank)
{
    for (size_t i = 0; i < bank->count; i++) {
        const Rfm5565Reg *reg = &bank->regs[i];
        uint64_t can_be = reg->reset | reg->writable | reg->latched;

        for (unsigned n = 0; reg->field && n < MAX(reg->count, 1); n++) {
            if (field_get(s, reg, n) & ~can_be) {
                return false;
            }
        }
    }
    return true;
}
