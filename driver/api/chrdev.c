// SPDX-License-Identifier: GPL-2.0-only
/* /dev/rfmN: open, ioctl. The calls are described in uapi/linux/rfm.h. */

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "api/api.h"
#include "core/notify.h"
#include "io/io.h"

static dev_t rfm_devt;

/* For udev, which makes /dev/rfm/by-node/N of it. */
static ssize_t node_id_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct rfm_card *card = container_of(dev, struct rfm_card, dev);

	return sysfs_emit(buf, "%u\n", card->hw.node);
}
static DEVICE_ATTR_RO(node_id);

static struct attribute *rfm_card_attrs[] = {
	&dev_attr_node_id.attr,
	NULL
};

static const struct attribute_group rfm_card_group = {
	.attrs = rfm_card_attrs,
};

static const struct attribute_group *rfm_card_groups[] = {
	&rfm_card_group,
	&rfm_dma_group,
	NULL
};

/* No devnode: devtmpfs makes nodes 0600, who may use them is udev's affair. */
struct class rfm_class = {
	.name = "rfm",
	.dev_groups = rfm_card_groups,
};

static int rfm_open(struct inode *inode, struct file *filp)
{
	struct rfm_card *card = container_of(inode->i_cdev, struct rfm_card,
					     cdev);
	struct rfm_file *file;

	if (READ_ONCE(card->hw.gone))
		return -ENODEV;

	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	file->card = card;
	file->mode = filp->f_mode & (FMODE_READ | FMODE_WRITE);
	file->holder.sets = file->sets;
	if (file->mode & FMODE_READ)
		file->holder.flags |= RFM_DESCRIPTOR_FLAG_READ;
	if (file->mode & FMODE_WRITE)
		file->holder.flags |= RFM_DESCRIPTOR_FLAG_WRITE;
	rfm_fence_open(file);
	rfm_holder_add(card, &file->holder, &rfm_file_ops);

	/* Without, io_uring leaves all of it to its workers. */
	filp->f_mode |= FMODE_NOWAIT;
	/* Nothing is cached: all I/O is direct, whatever the alignment. */
	filp->f_mode |= FMODE_CAN_ODIRECT;
	filp->private_data = file;
	filp->f_mapping = card->inode->i_mapping;
	return 0;
}

static int rfm_release(struct inode *inode, struct file *filp)
{
	struct rfm_file *file = filp->private_data;

	rfm_holder_del(file->card, &file->holder);
	rfm_subscribe_close(file);
	kfree(file);
	return 0;
}

static int rfm_call_info(struct rfm_file *file, void *arg)
{
	return rfm_info(file->card, arg);
}

/* One ioctl. */
struct rfm_call {
	unsigned int cmd;		/* says how large the argument is, and where it goes */
	unsigned int inputs;		/* bytes of the argument that need not be 0 */
	/* @arg: a copy of the argument, or zeros. Returns the result. */
	int (*run)(struct rfm_file *file, void *arg);
	enum rfm_function function;	/* in the table of rights */
	u32 feature;			/* what the card must have, 0: nothing */
};

#define RFM_CALL(name, inputs, ...)					\
	[_IOC_NR(RFM_IOC_##name)] = { RFM_IOC_##name, inputs, __VA_ARGS__ }

/* Everything up to its last input. */
#define RFM_INPUTS(type, last)	offsetofend(struct rfm_##type, last)

static const struct rfm_call rfm_calls[] = {
	RFM_CALL(INFO, 0, rfm_call_info, RFM_FUNCTION_INFO),
	RFM_CALL(SEND, RFM_INPUTS(send, data), rfm_send, RFM_FUNCTION_SEND),
	RFM_CALL(LISTEN, RFM_INPUTS(listen, record_size), rfm_listen,
		 RFM_FUNCTION_LISTEN),
	RFM_CALL(RING_TEST, RFM_INPUTS(ring_test, timeout_ms),
		 rfm_ring_test, RFM_FUNCTION_RING_TEST),
	RFM_CALL(SUBSCRIBE, RFM_INPUTS(subscribe, flags), rfm_subscribe,
		 RFM_FUNCTION_SUBSCRIBE, RFM_EXT_FEATURE_SUBSCRIBE),
	RFM_CALL(UNSUBSCRIBE, RFM_INPUTS(subscribe, flags), rfm_unsubscribe,
		 RFM_FUNCTION_SUBSCRIBE, RFM_EXT_FEATURE_SUBSCRIBE),
	RFM_CALL(WATCH, RFM_INPUTS(watch, record_size), rfm_watch,
		 RFM_FUNCTION_WATCH, RFM_EXT_FEATURE_WATCH),
	RFM_CALL(FENCE, RFM_INPUTS(fence_wait, timeout_ms), rfm_fence,
		 RFM_FUNCTION_FENCE, RFM_EXT_FEATURE_FENCE),
	RFM_CALL(SEND_SET, RFM_INPUTS(send_set, data), rfm_send_set,
		 RFM_FUNCTION_SEND, RFM_EXT_FEATURE_MULTICAST),
	RFM_CALL(GET_CONFIG, 0, rfm_config_get, RFM_FUNCTION_INFO),
	RFM_CALL(SET_CONFIG, RFM_INPUTS(config, address_offset),
		 rfm_config_set, RFM_FUNCTION_SETTINGS),
	RFM_CALL(WRITER, RFM_INPUTS(writer, offset), rfm_writer,
		 RFM_FUNCTION_WRITER, RFM_EXT_FEATURE_WRITER),
	RFM_CALL(COUNTERS, 0, rfm_counters, RFM_FUNCTION_COUNTERS,
		 RFM_EXT_FEATURE_SNAPSHOT),
	RFM_CALL(RING_MAP, RFM_INPUTS(ring_map, member_size), rfm_ring_map,
		 RFM_FUNCTION_RING_MAP, RFM_EXT_FEATURE_SNAPSHOT),
	RFM_CALL(VERIFY, RFM_INPUTS(verify, timeout_ms), rfm_verify,
		 RFM_FUNCTION_VERIFY, RFM_EXT_FEATURE_QUERY),
	RFM_CALL(REG, RFM_INPUTS(reg, value), rfm_reg, RFM_FUNCTION_REGISTERS),
	RFM_CALL(EVENT_COUNTS, 0, rfm_listen_counts, RFM_FUNCTION_COUNTERS),
	RFM_CALL(REMOTE, RFM_INPUTS(operation, value), rfm_remote,
		 RFM_FUNCTION_REMOTE, RFM_EXT_FEATURE_REMOTE),
	RFM_CALL(RESYNC, RFM_INPUTS(resync_wait, timeout_ms), rfm_resync,
		 RFM_FUNCTION_RESYNC, RFM_EXT_FEATURE_REMOTE),
	RFM_CALL(PORT, RFM_INPUTS(port_listen, header_size), rfm_port,
		 RFM_FUNCTION_PORT, RFM_EXT_FEATURE_REMOTE),
	RFM_CALL(REGION, RFM_INPUTS(memory_region, record_size), rfm_region,
		 RFM_FUNCTION_REGION, RFM_EXT_FEATURE_REMOTE),
	RFM_CALL(EXPORT, RFM_INPUTS(export, rights), rfm_export,
		 RFM_FUNCTION_EXPORT, RFM_EXT_FEATURE_REMOTE),
};

/* The argument of a call that is under way. */
struct rfm_argument {
	void __user *user;
	size_t given;			/* bytes of it as the caller knows it */
	size_t size;			/* and as we do; the rest is 0, in and out */
	bool answered;
	u64 data[];
};

/**
 * rfm_argument_get - copy an argument from a program
 * @arg: where to; @size bytes
 * @size: of it
 * @inputs: bytes that need not be 0
 * @user: where from
 * @given: bytes of it as the program knows it
 *
 * Return: 0, -EINVAL, -EFAULT.
 */
int rfm_argument_get(void *arg, size_t size, size_t inputs, const void __user *user,
		     size_t given)
{
	int ret = copy_struct_from_user(arg, size, user, given);

	if (ret == -E2BIG || (!ret && memchr_inv(arg + inputs, 0, size - inputs)))
		ret = -EINVAL;
	return ret;
}

int rfm_answer(void *arg)
{
	struct rfm_argument *argument = container_of(arg, struct rfm_argument, data);

	argument->answered = true;
	if (copy_struct_to_user(argument->user, argument->given, arg,
				argument->size, NULL))
		return -EFAULT;
	return 0;
}

static int rfm_call_run(const struct rfm_call *call, struct rfm_file *file,
			struct rfm_argument *argument)
{
	void *arg = argument->data;
	int ret = 0;

	if (_IOC_DIR(call->cmd) & _IOC_WRITE)
		ret = rfm_argument_get(arg, argument->size, call->inputs,
				       argument->user, argument->given);
	if (ret)
		return ret;
	ret = call->run(file, arg);
	/* Who was only stopped or frozen, and has handled no signal, asks again. */
	if (ret == -EINTR)
		ret = -ERESTARTNOHAND;
	if (ret >= 0 && _IOC_DIR(call->cmd) & _IOC_READ && !argument->answered)
		ret = rfm_answer(arg) ?: ret;
	return ret;
}

static int rfm_call(const struct rfm_call *call, struct rfm_file *file,
		    void __user *user, size_t given)
{
	size_t size = _IOC_SIZE(call->cmd);
	struct rfm_argument *argument;
	int ret;

	argument = kvzalloc(struct_size(argument, data, DIV_ROUND_UP(size, sizeof(u64))),
			    GFP_KERNEL);
	if (!argument)
		return -ENOMEM;
	argument->user = user;
	argument->given = given;
	argument->size = size;
	ret = rfm_call_run(call, file, argument);
	kvfree(argument);
	return ret;
}

static long rfm_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct rfm_file *file = filp->private_data;
	unsigned int nr = _IOC_NR(cmd);
	const struct rfm_call *call;
	int ret;

	if (nr >= ARRAY_SIZE(rfm_calls))
		return -ENOIOCTLCMD;
	call = &rfm_calls[array_index_nospec(nr, ARRAY_SIZE(rfm_calls))];
	/* The caller's structure may be of another version. */
	if ((call->cmd ^ cmd) & ~IOCSIZE_MASK)
		return -ENOIOCTLCMD;
	if (call->feature & ~file->card->hw.features)
		return -EOPNOTSUPP;
	ret = rfm_may_ioctl(call->function, file->mode);
	if (ret)
		return ret;
	return rfm_call(call, file, (void __user *)arg, _IOC_SIZE(cmd));
}

static void rfm_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct rfm_file *file = filp->private_data;

	rfm_holder_show(m, file->card, &file->holder);
}

static const struct file_operations rfm_fops = {
	.owner		= THIS_MODULE,
	.open		= rfm_open,
	.release	= rfm_release,
	.llseek		= rfm_llseek,
	.read_iter	= rfm_read_iter,
	.write_iter	= rfm_write_iter,
	.mmap		= rfm_mmap,
	.unlocked_ioctl	= rfm_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
#ifndef RFM_NO_URING_CMD
	.uring_cmd	= rfm_uring_cmd,
#endif
	.show_fdinfo	= rfm_show_fdinfo,
};

/* NULL: no descriptor of a card. */
struct rfm_file *rfm_file_of(const struct file *filp)
{
	return filp->f_op == &rfm_fops ? filp->private_data : NULL;
}

/* From now on programs can open /dev/rfmN. */
int rfm_chrdev_add(struct rfm_card *card)
{
	card->dev.devt = MKDEV(MAJOR(rfm_devt), card->id);
	cdev_init(&card->cdev, &rfm_fops);
	card->cdev.owner = THIS_MODULE;
	return cdev_device_add(&card->cdev, &card->dev);
}

int rfm_chrdev_init(void)
{
	int ret;

	ret = alloc_chrdev_region(&rfm_devt, 0, RFM_MINORS, KBUILD_MODNAME);
	if (ret)
		return ret;

	ret = class_register(&rfm_class);
	if (ret)
		unregister_chrdev_region(rfm_devt, RFM_MINORS);
	return ret;
}

void rfm_chrdev_exit(void)
{
	class_unregister(&rfm_class);
	unregister_chrdev_region(rfm_devt, RFM_MINORS);
}
