/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations at one node, and the pages that commands carry. */
#ifndef RFM_REMOTE_H
#define RFM_REMOTE_H

#include "core/card.h"

/* An operation that is under way. */
struct rfm_operate {
	struct rfm_command command;
	struct rfm_pages pages;		/* our own: what is sent or comes */
	struct rfm_operation args;
};

int rfm_operate_prepare(struct rfm_file *file, struct rfm_operate *operate);
int rfm_operate_finish(struct rfm_operate *operate);
int rfm_command_begin(struct rfm_card *card, struct rfm_command *command,
		      long *left);

int rfm_pages_alloc(struct rfm_pages *pages, u32 bytes,
		    enum dma_data_direction direction);
void rfm_pages_trim(struct rfm_pages *pages, u32 bytes);
void rfm_pages_free(struct rfm_pages *pages);

#endif /* RFM_REMOTE_H */
