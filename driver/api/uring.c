// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_REMOTE as a command of io_uring. What its call does before and after the
 * operation is done in the submitter's task, where his memory is; in between nobody
 * waits.
 */

#ifndef RFM_NO_URING_CMD
#include <linux/io_uring/cmd.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/remote.h"

/* What an entry has in its command. */
struct rfm_uring_args {
	u64 operation;			/* address of a struct rfm_operation */
};

struct rfm_uring {
	struct rfm_operate operate;
	struct io_uring_cmd *cmd;
	struct rfm_operation __user *user;
	size_t given;			/* bytes of it as the program knows it */
};

static struct rfm_uring **rfm_uring_in(struct io_uring_cmd *cmd)
{
	BUILD_BUG_ON(sizeof(struct rfm_uring *) > sizeof(cmd->pdu));

	return (struct rfm_uring **)cmd->pdu;
}

static int rfm_uring_finish(struct rfm_uring *uring)
{
	struct rfm_operation *args = &uring->operate.args;
	int ret;

	/* Of a task that is at its end it is done by one that has not its memory. */
	if (current->flags & (PF_EXITING | PF_KTHREAD))
		uring->operate.command.error = -ECANCELED;
	ret = rfm_operate_finish(&uring->operate);
	if (!ret && copy_struct_to_user(uring->user, uring->given, args,
					sizeof(*args), NULL))
		ret = -EFAULT;
	kfree(uring);
	return ret;
}

/* In the submitter's task. */
static void rfm_uring_end(struct io_tw_req tw_req, io_tw_token_t tw)
{
	struct io_uring_cmd *cmd = io_uring_cmd_from_tw(tw_req);

	io_uring_cmd_done(cmd, rfm_uring_finish(*rfm_uring_in(cmd)),
			  IO_URING_CMD_TASK_WORK_ISSUE_FLAGS);
}

/* Under requests.lock, any context. */
static void rfm_uring_ended(struct rfm_command *command)
{
	struct rfm_uring *uring = container_of(command, struct rfm_uring,
					       operate.command);

	io_uring_cmd_complete_in_task(uring->cmd, rfm_uring_end);
}

static int rfm_uring_prepare(struct rfm_file *file, struct rfm_uring *uring)
{
	struct rfm_operation *args = &uring->operate.args;
	int ret;

	ret = rfm_argument_get(args, sizeof(*args),
			       offsetofend(struct rfm_operation, value),
			       uring->user, uring->given);
	if (ret)
		return ret;
	/* It ends by itself; who wants it earlier cannot cancel it. */
	if (args->timeout_ms)
		return -EINVAL;
	return rfm_operate_prepare(file, &uring->operate);
}

/**
 * rfm_uring_cmd - begin an operation
 * @cmd: the command
 * @issue_flags: of io_uring
 *
 * Return: -EIOCBQUEUED, and it will be told of the end; -EAGAIN if that would mean to wait
 * and it must not; another negative errno.
 */
int rfm_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	const struct rfm_uring_args *args;
	struct rfm_file *file = cmd->file->private_data;
	struct rfm_uring *uring;
	long left = MAX_SCHEDULE_TIMEOUT;
	int ret;

	if ((cmd->cmd_op ^ RFM_IOC_REMOTE) & ~IOCSIZE_MASK)
		return -ENOTTY;
	if (!(file->card->hw.features & RFM_EXT_FEATURE_REMOTE))
		return -EOPNOTSUPP;
	args = io_uring_sqe_cmd(cmd->sqe, struct rfm_uring_args);
	uring = kzalloc(sizeof(*uring), GFP_KERNEL_ACCOUNT);
	if (!uring)
		return -ENOMEM;
	uring->user = u64_to_user_ptr(READ_ONCE(args->operation));
	uring->given = _IOC_SIZE(cmd->cmd_op);
	uring->cmd = cmd;
	ret = rfm_uring_prepare(file, uring);
	if (ret) {
		kfree(uring);
		return ret;
	}
	*rfm_uring_in(cmd) = uring;
	uring->operate.command.ended = rfm_uring_ended;
	ret = rfm_command_begin(file->card, &uring->operate.command,
				issue_flags & IO_URING_F_NONBLOCK ? NULL : &left);
	if (!ret)
		return -EIOCBQUEUED;
	uring->operate.command.error = ret;
	rfm_operate_finish(&uring->operate);
	kfree(uring);
	return ret;
}
#endif
