/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bank of registers: a table says what each is, and functions exist only
 * where an access has an effect beyond the value.
 *
 * Values and masks are relative to the register's own lowest bit.
 */
#ifndef HW_RFM_RFM5565_REGBANK_H
#define HW_RFM_RFM5565_REGBANK_H

#include "exec/hwaddr.h"

typedef struct Rfm5565State Rfm5565State;

/* An access, as far as one register sees it */
typedef struct Rfm5565RegOp {
    unsigned index;     /* of several registers of a row */
    uint64_t mask;      /* bits that the access covers */
    uint64_t value;     /* what is written to them */
} Rfm5565RegOp;

/* A register, or a row of equal ones */
typedef struct Rfm5565Reg {
    const char *name;
    uint16_t offset;
    uint8_t width;      /* bytes */
    uint8_t stride;     /* bytes from one to the next, also of the fields */
    uint16_t count;     /* how many; 0: one */
    uint64_t reset;     /* or the fixed value, if there is no field */
    uint64_t writable;  /* bits that simply take what is written */
    uint64_t latched;   /* bits of the field that something else sets */
    size_t field;       /* offset in Rfm5565State, or 0; see below */
    uint64_t (*read)(Rfm5565State *s, const Rfm5565RegOp *op);
    void (*write)(Rfm5565State *s, const Rfm5565RegOp *op);
} Rfm5565Reg;

/*
 * The field of a register of 8 bytes is a uint64_t, of all others a uint32_t.
 *
 * Where a bank is exact, an access is one register, or a half of one of 8
 * bytes; anything else reads 0, writes nothing, and is the driver's mistake.
 * Where it is not, an access may cover part of a register or several, lowest
 * address first, but not two of one row.
 */
typedef struct Rfm5565Bank {
    unsigned bar;
    const Rfm5565Reg *regs;
    size_t count;
    bool exact;
    void (*written)(Rfm5565State *s);   /* or NULL; without the lock */
} Rfm5565Bank;

uint64_t rfm5565_bank_read(Rfm5565State *s, const Rfm5565Bank *bank,
                           hwaddr addr, unsigned size);
void rfm5565_bank_write(Rfm5565State *s, const Rfm5565Bank *bank, hwaddr addr,
                        uint64_t value, unsigned size);
void rfm5565_bank_reset(Rfm5565State *s, const Rfm5565Bank *bank);
/* Could the registers have come to these values by themselves? */
bool rfm5565_bank_is_valid(Rfm5565State *s, const Rfm5565Bank *bank);

#endif
