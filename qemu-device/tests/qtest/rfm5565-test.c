/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QTest of the rfm5565 reflective-memory card.
 *
 * One program of several sources; whoever builds it compiles
 *   rfm5565-test.c       main
 *   rfm5565-lab.c        machines, cards, migration, registers
 *   rfm5565-fibre.c      a fibre with a fault box
 *   rfm5565-registers.c  PCI identity, every register, access rules
 *   rfm5565-interrupts.c LISR, LIER, INTCSR, INTx, FIFOs, network interrupts
 *   rfm5565-memory.c     BAR3: widths, window, address offset, parity
 *   rfm5565-ring.c       light, sync loss, damage, strangers
 *   rfm5565-life.c       properties, reset, unplug, migration
 *   rfm5565-modes.c      transfer modes, rogue masters, pause, line, capture
 *   rfm5565-snapshot.c   snapshots
 *   rfm5565-saved.c      what a saved state must not do
 *   rfm5565-cpu.c        a CPU that runs beside DMA: its stores, its code
 *   rfm5565-ext.c        extension block: how it is found, registers, granules,
 *                        writers, snapshot
 *   rfm5565-clock.c      extension block: the clock
 *   rfm5565-fence.c      extension block: multicast, fences
 *   rfm5565-query.c      extension block: what stands in every memory
 *   rfm5565-events.c     extension block: the event ring
 *   rfm5565-vectors.c    extension block: INTx, MSI-X, moderation
 *   rfm5565-slots.c      extension block: comparators and timers
 *   rfm5565-ext-life.c   extension block: byte swap, pause, reset, unplug,
 *                        migration
 *   rfm5565-dma.c        the DMA engine: what it moves, and how it ends
 *   rfm5565-dma-bad.c    the DMA engine: what cannot be done
 *   rfm5565-dma-high.c   the DMA engine: addresses of 64 bits
 *   rfm5565-dma-life.c   the DMA engine: waiting, pause, reset, unplug,
 *                        migration
 *   rfm5565-ether.c      Ethernet on the ring
 *   rfm5565-vendor.c     what the field's drivers do, access by access
 *   rfm5565-guest-errors.c  what QEMU's log says of a driver's mistakes
 *   rfm5565-random.c     random accesses: what registers may read
 *   rfm5565-remote.c     operations at one node: what they do
 *   rfm5565-request.c    operations at one node: their table, how they end
 *   rfm5565-burst.c      the burst range
 *   rfm5565-asker.c      the bench for them
 *   rfm5565-mover.c      the bench for the DMA engine
 *   rfm5565-block.c      the bench for the extension block
 *   rfm5565-peer.c       a neighbour that the test plays itself
 */
#include "qemu/osdep.h"
#include "rfm5565-lab.h"

int main(int argc, char **argv)
{
    int status;

    g_test_init(&argc, &argv, NULL);
    lab_init();

    rfm5565_add_register_tests();
    rfm5565_add_interrupt_tests();
    rfm5565_add_memory_tests();
    rfm5565_add_ring_tests();
    rfm5565_add_life_tests();
    rfm5565_add_mode_tests();
    rfm5565_add_snapshot_tests();
    rfm5565_add_saved_tests();
    rfm5565_add_cpu_tests();
    rfm5565_add_ext_tests();
    rfm5565_add_clock_tests();
    rfm5565_add_fence_tests();
    rfm5565_add_query_tests();
    rfm5565_add_event_tests();
    rfm5565_add_vector_tests();
    rfm5565_add_slot_tests();
    rfm5565_add_ext_life_tests();
    rfm5565_add_dma_tests();
    rfm5565_add_dma_bad_tests();
    rfm5565_add_dma_high_tests();
    rfm5565_add_dma_life_tests();
    rfm5565_add_ether_tests();
    rfm5565_add_vendor_tests();
    rfm5565_add_guest_error_tests();
    rfm5565_add_random_tests();
    rfm5565_add_remote_tests();
    rfm5565_add_request_tests();
    rfm5565_add_burst_tests();

    status = g_test_run();
    lab_cleanup();
    return status;
}
