/* SPDX-License-Identifier: MIT */
/*
 * librfmregions: values that have names, all at once, each cycle: rfm_io_open(3) has an example.
 *
 * Only rfm_io_open() allocates. Each value is one load or store: on a card a system call, unless
 * rfm_set_threshold() leaves it to the processor.
 */
#ifndef RFM_IO_H
#define RFM_IO_H

#include "regions.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rfm_io;		/* a list of values; one thread at a time may use it */

/**
 * rfm_io_open() - values that are got or put together
 * @rfm: of rfm_open(); must stay until rfm_io_close()
 * @regions: where the names are looked up, which must stay as well; NULL: the file that
 *	rfm_regions_load() takes by default, which is read now and kept
 * @names: @count of them; a structure, or an array, stands for all its values, in the order
 *	of the file
 * @report: told what is wrong with a name, or the file; may be NULL
 * @context: for @report
 *
 * Returns NULL with errno: as rfm_regions_find(), rfm_regions_each(), rfm_regions_load();
 * EINVAL also for a text, and for a value that lies across a multiple of its size, or is
 * beyond the memory; ENOMEM.
 */
RFM_API struct rfm_io *rfm_io_open(struct rfm *rfm, const struct rfm_regions *regions,
				   const char *const *names, size_t count,
				   rfm_regions_report *report, void *context);

/** rfm_io_count() - how many values there are */
RFM_API size_t rfm_io_count(const struct rfm_io *io);

/** rfm_io_name() - the full name of value @index, from 0; NULL: there is none */
RFM_API const char *rfm_io_name(const struct rfm_io *io, size_t index);

/** rfm_io_place() - where it is, and what; NULL: there is none */
RFM_API const struct rfm_place *rfm_io_place(const struct rfm_io *io, size_t index);

/**
 * rfm_io_get() - load all values, in the order of the names
 * @reals: room for rfm_io_count() of them; after an error some may have been set
 *
 * Each as rfm_place_load_real(), with its errors; of 64 bits only 53 count. A value is never seen
 * in part; of several some may be older than others: rfm_records_read() is for those that
 * belong together.
 */
RFM_API int rfm_io_get(struct rfm_io *io, double *reals);

#define RFM_IO_CHANGED	0x1u	/* only what is not what was put there last, by this list */

/**
 * rfm_io_put() - store all values, in the order of the names
 * @reals: rfm_io_count() of them
 * @flags: RFM_IO_CHANGED or 0
 *
 * All that does not fit in the memory is refused (ERANGE, EINVAL) before anything is stored.
 * With RFM_IO_CHANGED a node that was not there, or to which something was lost, does not get
 * a value until it changes; without, it has all of them a cycle later. Returns how many were
 * stored, or -1 with errno, as rfm_place_store_real(): those before the one that failed have
 * been stored, and the next call with RFM_IO_CHANGED stores the others.
 */
RFM_API int rfm_io_put(struct rfm_io *io, const double *reals, uint32_t flags);

/** rfm_io_failed() - the index of the value with which the last get or put that failed has ended */
RFM_API size_t rfm_io_failed(const struct rfm_io *io);

/** rfm_io_close() - no more; NULL is allowed */
RFM_API void rfm_io_close(struct rfm_io *io);

#ifdef __cplusplus
}
#endif

#endif
