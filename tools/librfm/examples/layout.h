/* SPDX-License-Identifier: MIT */
/*
 * Where the records of loop.h lie: that is not written here, but in a file of regions,
 * loop.yaml. Whoever moves them there moves them for all programs, and for rmctl.
 *
 * A file cannot move what is in a record without this program noticing: it ends.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "loop.h"

#include <rfm/regions.h>

/* Of each only the range is valid: the file has gone. */
struct loop_layout {
	struct rfm_place state, output;
};

/* The fields as the structures here have them; the data of a record begins at byte 8. */
static const struct loop_field {
	const char *name;
	size_t offset;
	enum rfm_region_type type;
	bool of_output;
} loop_fields[] = {
	{ "loop.state.level", offsetof(struct loop_state, level), RFM_REGION_DOUBLE, false },
	{ "loop.state.valve", offsetof(struct loop_state, valve), RFM_REGION_DOUBLE, false },
	{ "loop.state.setpoint", offsetof(struct loop_state, setpoint), RFM_REGION_DOUBLE, false },
	{ "loop.state.step", offsetof(struct loop_state, step), RFM_REGION_UINT64, false },
	{ "loop.state.mode", offsetof(struct loop_state, mode), RFM_REGION_UINT64, false },
	{ "loop.output.valve", offsetof(struct loop_output, valve), RFM_REGION_DOUBLE, true },
	{ "loop.output.setpoint", offsetof(struct loop_output, setpoint), RFM_REGION_DOUBLE, true },
	{ "loop.output.answers", offsetof(struct loop_output, answers), RFM_REGION_UINT64, true },
};

static inline void layout_complain(void *context, const struct rfm_regions_complaint *complaint)
{
	(void)context;
	errx(1, "%s:%u: %s", complaint->path, complaint->line, complaint->sentence);
}

/* The file that rmctl reads, if the user names one; otherwise what was built in. */
static inline struct rfm_regions *layout_load(void)
{
	static const char text[] =
#include "loop.yaml.h"
		;
	const char *path = getenv("RFM_REGIONS");
	struct rfm_regions *regions;

	if (!path || !*path)
		regions = rfm_regions_parse("loop.yaml, built in", text, sizeof(text) - 1,
					    layout_complain, NULL);
	else
		regions = rfm_regions_load(path, layout_complain, NULL);
	if (!regions)
		err(1, "cannot read %s", path);
	return regions;
}

static inline struct rfm_place layout_record(const struct rfm_regions *regions, const char *name,
					     size_t size)
{
	struct rfm_place place;

	if (rfm_regions_find(regions, name, &place, layout_complain, NULL))
		err(1, "cannot find %s", name);
	if (place.length != RFM_RECORD_SIZE(size) || place.offset % 8)
		errx(1, "%s:%u: %s is no record of %zu bytes", regions->path, place.region->line,
		     name, size);
	return place;
}

/* Before the loop begins: this reads a file and allocates. */
static inline struct loop_layout layout_find(void)
{
	struct rfm_regions *regions = layout_load();
	struct loop_layout layout = {
		.state = layout_record(regions, "loop.state", sizeof(struct loop_state)),
		.output = layout_record(regions, "loop.output", sizeof(struct loop_output)),
	};
	struct rfm_place place;

	for (size_t i = 0; i < sizeof(loop_fields) / sizeof(*loop_fields); i++) {
		const struct loop_field *field = &loop_fields[i];
		uint64_t record = field->of_output ? layout.output.offset : layout.state.offset;

		if (rfm_regions_find(regions, field->name, &place, layout_complain, NULL))
			err(1, "cannot find %s", field->name);
		if (place.offset != record + 8 + field->offset || place.type != field->type ||
		    place.count > 1 || place.order != RFM_REGION_LITTLE)
			errx(1, "%s:%u: %s is not what this program was built for", regions->path,
			     place.region->line, field->name);
	}
	rfm_regions_free(regions);
	return layout;
}

#endif
