/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room on the ring: who waits for it, and how long. */
#ifndef HW_RFM_RFM5565_ROOM_H
#define HW_RFM_RFM5565_ROOM_H

typedef struct Rfm5565State Rfm5565State;

/* Of what moves much beside the stores of CPUs */
typedef struct Rfm5565Share {
    uint64_t no_room_since;     /* there is none; 0: there is */
    uint32_t dequeued_seen;     /* by the ring, when it was stuck */
    uint32_t dequeued_before;   /* when something was sent last */
} Rfm5565Share;

bool rfm5565_wait_in_turn(Rfm5565State *s);
bool rfm5565_share_has_turn(const Rfm5565State *s, const Rfm5565Share *share);
bool rfm5565_ring_has_room(const Rfm5565State *s, unsigned frames);
bool rfm5565_share_has_room(const Rfm5565State *s, const Rfm5565Share *share,
                            unsigned frames, uint32_t queued);
void rfm5565_share_taken(const Rfm5565State *s, Rfm5565Share *share);
uint64_t rfm5565_share_waits_until(const Rfm5565State *s, Rfm5565Share *share);

#endif
