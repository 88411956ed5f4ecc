// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_REMOTE, RFM_IOC_RESYNC: operations at one node.
 *
 * The data go by pages of our own: so no operation ever waits for memory of a user while
 * the card has it, and none of his is touched once the call has ended.
 *
 * Whoever calls looks for the end for a while before it sleeps. A signal, or the
 * time, has the card end it; how it ended then may be known or not.
 */

#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/notify.h"
#include "core/remote.h"

/* So long it is looked for before the caller sleeps: longer while that finds it. */
#define RFM_LOOK_NS_MIN	25000u
#define RFM_LOOK_NS_MAX	400000u

/* What the card is told to end, or what ends at once, should have; else it is looked at. */
#define RFM_END_TIME	(10 * HZ)

static_assert((u32)RFM_OP_READ == (u32)RFM_REQUEST_READ);
static_assert((u32)RFM_OP_WRITE == (u32)RFM_REQUEST_WRITE);
static_assert((u32)RFM_OP_CAS == (u32)RFM_REQUEST_CAS);
static_assert((u32)RFM_OP_ADD == (u32)RFM_REQUEST_ADD);
static_assert((u32)RFM_OP_SEND == (u32)RFM_REQUEST_SEND);
static_assert(RFM_OP_MAX == RFM_EXT_REQUEST_MAX);

/* --- pages ---------------------------------------------------------------- */

/* Pages of our own, that are not mapped. Return: 0 or -ENOMEM. */
int rfm_pages_alloc(struct rfm_pages *pages, u32 bytes,
		    enum dma_data_direction direction)
{
	unsigned int count = DIV_ROUND_UP(bytes, PAGE_SIZE);
	gfp_t gfp = GFP_KERNEL_ACCOUNT;

	memset(pages, 0, sizeof(*pages));
	pages->bytes = bytes;
	pages->direction = direction;
	pages->pages = kmalloc_array(count, sizeof(*pages->pages),
				     GFP_KERNEL_ACCOUNT);
	if (!pages->pages)
		return -ENOMEM;
	/* What a card does not write after all must be nobody else's. */
	if (direction == DMA_FROM_DEVICE)
		gfp |= __GFP_ZERO;
	for (; pages->count < count; pages->count++) {
		pages->pages[pages->count] = alloc_page(gfp);
		if (!pages->pages[pages->count]) {
			rfm_pages_free(pages);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Only the first bytes are still needed. */
void rfm_pages_trim(struct rfm_pages *pages, u32 bytes)
{
	while (pages->count > DIV_ROUND_UP(bytes, PAGE_SIZE))
		__free_page(pages->pages[--pages->count]);
	pages->bytes = bytes;
}

/* Pages of our own, also none; not mapped. */
void rfm_pages_free(struct rfm_pages *pages)
{
	rfm_pages_forget(pages);
	rfm_pages_trim(pages, 0);
	kfree(pages->pages);
	pages->pages = NULL;
}

static int rfm_pages_to_user(const struct rfm_pages *pages, void __user *to,
			     u32 bytes)
{
	u32 done, some;

	for (done = 0; done < bytes; done += some) {
		some = min_t(u32, bytes - done, PAGE_SIZE);
		if (copy_to_user(to + done,
				 page_address(pages->pages[done / PAGE_SIZE]),
				 some))
			return -EFAULT;
	}
	return 0;
}

static int rfm_pages_from_user(struct rfm_pages *pages, const void __user *from)
{
	u32 done, some;

	for (done = 0; done < pages->bytes; done += some) {
		some = min_t(u32, pages->bytes - done, PAGE_SIZE);
		if (copy_from_user(page_address(pages->pages[done / PAGE_SIZE]),
				   from + done, some))
			return -EFAULT;
	}
	return 0;
}

/* --- commands --------------------------------------------------------------- */

/* What each result of the card is for programs, as of librfmring. */
static const int rfm_command_errors[] = {
	[RFM_REQUEST_OK]		= 0,
	[RFM_REQUEST_DENIED]		= -EACCES,
	[RFM_REQUEST_RANGE]		= -EINVAL,
	[RFM_REQUEST_NOT_HOME]		= -EACCES,
	[RFM_REQUEST_INVALID]		= -EINVAL,
	[RFM_REQUEST_INCOMPLETE]	= -ENODATA,
	[RFM_REQUEST_CLOSED]		= -ECONNREFUSED,
	[RFM_REQUEST_NO_NODE]		= -EHOSTUNREACH,
	[RFM_REQUEST_NO_ROOM]		= -EBUSY,
	[RFM_REQUEST_UNKNOWN]		= -EREMOTEIO,
	[RFM_REQUEST_DARK]		= -ENOLINK,
	[RFM_REQUEST_CANCELLED]		= -EREMOTEIO,
	[RFM_REQUEST_IN_USE]		= -EADDRINUSE,
	[RFM_REQUEST_FULL]		= -ENOSPC,
	[RFM_REQUEST_DOUBTFUL]		= 0,
	[RFM_REQUEST_TOO_LONG]		= -EMSGSIZE,
};

/* How a command has ended: 0 or a negative errno. */
int rfm_command_error(const struct rfm_command *command)
{
	u32 result = command->result;

	if (command->error)
		return command->error;
	if (result >= ARRAY_SIZE(rfm_command_errors) ||
	    (result && result != RFM_REQUEST_DOUBTFUL &&
	     !rfm_command_errors[result]))
		return -EIO;
	return rfm_command_errors[result];
}

static int rfm_command_try(struct rfm_card *card, struct rfm_command *command)
{
	int idx, ret = 0;

	/* Pages are not mapped for nothing. */
	if (!rfm_requests_room(&card->hw, command->asks))
		return READ_ONCE(card->hw.gone) ? -ENODEV : -EAGAIN;
	if (!rfm_card_enter(card, &idx))
		return -ENODEV;
	if (command->pages)
		ret = rfm_pages_map(&card->hw, command->pages);
	if (!ret)
		ret = rfm_requests_begin(&card->hw, command);
	if (ret && command->pages)
		rfm_pages_unmap(&card->hw, command->pages);
	rfm_card_exit(card, idx);
	if (ret && command->pages)
		rfm_pages_forget(command->pages);
	return ret;
}

/*
 * Hands a command to the card, and waits for a slot before if it must, for @left jiffies,
 * of which the rest is left then; NULL: not at all. Return: 0, and it will be told of the
 * end; -ENODEV, -ENOMEM, -EIO; -EAGAIN: no slot; -EINTR, -ETIMEDOUT: none yet.
 */
int rfm_command_begin(struct rfm_card *card, struct rfm_command *command,
		      long *left)
{
	struct rfm_hw *hw = &card->hw;
	long ret;

	for (;;) {
		ret = rfm_command_try(card, command);
		if (ret != -EAGAIN || !left)
			return ret;
		/* Others may be faster each time. */
		if (signal_pending(current))
			return -EINTR;
		ret = wait_event_interruptible_timeout(hw->requests.room,
						       rfm_requests_room(hw, command->asks) ||
						       READ_ONCE(hw->gone), *left);
		if (ret <= 0)
			return ret ? -EINTR : -ETIMEDOUT;
		*left = ret;
		cond_resched();
	}
}

/*
 * Looks for the end of a command that was just begun: another node may be as near as
 * some microseconds. Where that is in vain, the next ones are looked for half as long.
 */
static void rfm_command_look(struct rfm_card *card, struct rfm_command *command)
{
	u32 look = clamp(READ_ONCE(card->look_ns), RFM_LOOK_NS_MIN, RFM_LOOK_NS_MAX);
	u64 until = ktime_get_ns() + look;
	bool found;
	int idx;

	if (!rfm_card_enter(card, &idx))
		return;
	while (!(found = completion_done(&command->end) ||
		 rfm_requests_look(&card->hw, command)) &&
	       ktime_get_ns() < until && !need_resched())
		cpu_relax();
	rfm_card_exit(card, idx);
	WRITE_ONCE(card->look_ns, found ? look * 2 : look / 2);
}

/* Is the card there, and at work? One that has gone has said so already. */
static bool rfm_card_works(struct rfm_card *card)
{
	bool works = true;
	int idx;

	if (rfm_card_enter(card, &idx)) {
		works = rfm_requests_work(&card->hw);
		rfm_card_exit(card, idx);
	}
	return works;
}

/*
 * Waits for an end that must come by itself; a host may have so much to do that it takes
 * long.
 */
static void rfm_command_settle(struct rfm_card *card, struct rfm_command *command)
{
	while (!wait_for_completion_timeout(&command->end, RFM_END_TIME)) {
		dev_warn_ratelimited(&card->dev,
				     "the card has not ended a request in %u s\n",
				     RFM_END_TIME / HZ);
		if (rfm_card_works(card))
			continue;
		spin_lock_irq(&card->hw.irq.lock);
		rfm_card_lost(card);
		spin_unlock_irq(&card->hw.irq.lock);
		wait_for_completion(&command->end);
		return;
	}
}

/*
 * A command that ends at once, from its begin to its end. No signal ends it. Return: 0, or
 * a negative errno as of rfm_command_error(); with -ENODEV the card has done with all that
 * commands had given it.
 */
int rfm_command_run(struct rfm_card *card, struct rfm_command *command)
{
	int ret;

	init_completion(&command->end);
	/* It has no pages of its own, so this does not sleep. */
	wait_event(card->hw.requests.room,
		   (ret = rfm_command_try(card, command)) != -EAGAIN);
	if (ret == -ENODEV) {
		/* Whoever has set gone has queued this under the lock: when it is done, */
		spin_lock_irq(&card->hw.irq.lock);
		spin_unlock_irq(&card->hw.irq.lock);
		/* what was begun before has ended, and the card touches nothing. */
		flush_work(&card->hw.gone_work);
	}
	if (ret)
		return ret;
	rfm_command_look(card, command);
	rfm_command_settle(card, command);
	return rfm_command_error(command);
}

/*
 * The same of one that waits for other nodes, at most for so many jiffies, and for its slot
 * before. Only a kill ends what is @once: a cancelled one may have been done, and a signal is
 * also how a task is stopped, frozen, or called to work of io_uring. Return: -EINTR, -ETIMEDOUT
 * if it was not begun, or was cancelled; else as rfm_command_run().
 */
static int rfm_command_ask(struct rfm_card *card, struct rfm_command *command,
			   long left, bool once)
{
	int idx, ret;

	init_completion(&command->end);
	command->asks = true;
	ret = rfm_command_begin(card, command, &left);
	if (ret)
		return ret;
	rfm_command_look(card, command);
	left = once ? wait_for_completion_killable_timeout(&command->end, left) :
		      wait_for_completion_interruptible_timeout(&command->end, left);
	if (left <= 0) {
		if (rfm_card_enter(card, &idx)) {
			rfm_requests_cancel(&card->hw, command);
			rfm_card_exit(card, idx);
		}
		rfm_command_settle(card, command);
	}
	ret = rfm_command_error(command);
	/* Those of a machine that has moved to another host are cancelled, too. */
	if (left <= 0 && !command->error &&
	    command->result == RFM_REQUEST_CANCELLED)
		return left ? -EINTR : -ETIMEDOUT;
	return ret;
}

/* 0: for ever. */
static long rfm_jiffies(u32 timeout_ms)
{
	return timeout_ms ? msecs_to_jiffies(timeout_ms) : MAX_SCHEDULE_TIMEOUT;
}

/* --- operations ------------------------------------------------------------- */

static bool rfm_word_good(const struct rfm_operation *args)
{
	u64 all = args->width == 8 ? U64_MAX : U32_MAX;

	return (args->width == 4 || args->width == 8) && !args->data &&
	       !args->length && args->value <= all && args->compare <= all &&
	       (args->op == RFM_OP_CAS || !args->compare);
}

static bool rfm_operation_good(const struct rfm_operation *args)
{
	if (args->node >= RFM_NODES || args->timeout_ms > RFM_OP_MS_MAX)
		return false;
	switch (args->op) {
	case RFM_OP_CAS:
	case RFM_OP_ADD:
		return rfm_word_good(args);
	case RFM_OP_SEND:
		if (args->key >= RFM_PORTS || args->offset)
			return false;
		fallthrough;
	case RFM_OP_READ:
	case RFM_OP_WRITE:
		return args->length && args->length <= RFM_OP_MAX &&
		       !args->width && !args->compare && !args->value;
	default:
		return false;
	}
}

/**
 * rfm_operate_prepare - make a command of an operation
 * @file: the caller's
 * @operate: zeroed, but for its args
 *
 * Touches the caller's memory. After success rfm_operate_finish() must follow, after the
 * command has ended or could not be begun; then its error says so.
 * Return: 0; -EINVAL, -EBADF, -EFAULT, -ENOMEM.
 */
int rfm_operate_prepare(struct rfm_file *file, struct rfm_operate *operate)
{
	const struct rfm_operation *args = &operate->args;
	bool read = args->op == RFM_OP_READ;
	int ret;

	if (!rfm_operation_good(args))
		return -EINVAL;
	ret = rfm_may_ioctl(read ? RFM_FUNCTION_REMOTE_READ :
				   RFM_FUNCTION_REMOTE_CHANGE, file->mode);
	if (ret)
		return ret;
	operate->command.request = (struct rfm_ext_request) {
		.op = args->op,
		.node = args->node,
		.width = args->width,
		.key = cpu_to_le32(args->key),
		.offset = cpu_to_le64(args->offset),
		.length = cpu_to_le32(args->length),
		.compare = cpu_to_le64(args->compare),
		.value = cpu_to_le64(args->value),
	};
	operate->command.asks = true;
	if (!args->length)
		return 0;
	ret = rfm_pages_alloc(&operate->pages, args->length,
			      read ? DMA_FROM_DEVICE : DMA_TO_DEVICE);
	if (ret)
		return ret;
	operate->command.pages = &operate->pages;
	if (!read)
		ret = rfm_pages_from_user(&operate->pages,
					  u64_to_user_ptr(args->data));
	if (ret)
		rfm_pages_free(&operate->pages);
	return ret;
}

/* Its result, which is in its args and in the caller's memory then. Return: 0 or an errno. */
int rfm_operate_finish(struct rfm_operate *operate)
{
	struct rfm_operation *args = &operate->args;
	int ret = rfm_command_error(&operate->command);

	args->old = ret ? 0 : le64_to_cpu(operate->command.request.old);
	if (args->op != RFM_OP_CAS && args->op != RFM_OP_ADD)
		args->old = 0;
	if (!ret && args->op == RFM_OP_READ)
		ret = rfm_pages_to_user(&operate->pages,
					u64_to_user_ptr(args->data),
					args->length);
	if (operate->command.pages)
		rfm_pages_free(&operate->pages);
	return ret;
}

/*
 * RFM_IOC_REMOTE. Return: as rfm_operate_prepare() and rfm_command_ask(). To read or write
 * the same bytes twice does no harm.
 */
int rfm_remote(struct rfm_file *file, void *arg)
{
	struct rfm_operation *args = arg;
	struct rfm_operate operate = { .args = *args };
	int ret;

	ret = rfm_operate_prepare(file, &operate);
	if (ret)
		return ret;
	ret = rfm_command_ask(file->card, &operate.command,
			      rfm_jiffies(args->timeout_ms),
			      args->op != RFM_OP_READ && args->op != RFM_OP_WRITE);
	if (ret)
		operate.command.error = ret;
	ret = rfm_operate_finish(&operate);
	args->old = operate.args.old;
	return ret;
}

/* --- resync ------------------------------------------------------------------ */

/*
 * RFM_IOC_RESYNC. Return: 0; -EINVAL for a node that cannot be; -EALREADY, -EINTR, and as
 * rfm_command_error().
 */
int rfm_resync(struct rfm_file *file, void *arg)
{
	struct rfm_resync_wait *args = arg;
	bool nearest = args->node == RFM_NODE_ALL;
	struct rfm_card *card = file->card;
	struct rfm_command command = {
		.request = {
			.op = RFM_REQUEST_RESYNC,
			.node = nearest ? 0 : args->node,
			.flags = nearest,
		},
	};
	int ret;

	if (!nearest && args->node >= RFM_NODES)
		return -EINVAL;
	ret = rfm_command_ask(card, &command, rfm_jiffies(args->timeout_ms),
			      false);
	if (ret == -EADDRINUSE)
		return -EALREADY;
	if (ret == -ENODATA && nearest)
		return -EHOSTUNREACH;
	if (ret)
		return ret;
	args->flags = command.result == RFM_REQUEST_DOUBTFUL ?
		      RFM_RESYNCED_DOUBTFUL : 0;
	args->bytes = le64_to_cpu(command.request.old);
	args->donor = command.request.node;
	return 0;
}
