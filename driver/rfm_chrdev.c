// SPDX-License-Identifier: GPL-2.0-only
/* /dev/rfmN: open, ioctl. The calls are described in uapi/linux/rfm.h. */

#include <linux/fs.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "rfm_drv.h"

static dev_t rfm_devt;

/* No devnode: devtmpfs makes nodes 0600, who may use them is udev's affair. */
struct class rfm_class = {
	.name = "rfm",
};

static int rfm_open(struct inode *inode, struct file *file)
{
	struct rfm_card *card = container_of(inode->i_cdev, struct rfm_card,
					     cdev);

	if (READ_ONCE(card->gone))
		return -ENODEV;

	file->private_data = card;
	file->f_mapping = card->inode->i_mapping;
	return 0;
}

static int rfm_info(struct rfm_card *card, struct rfm_info *info)
{
	info->memory_size = card->memory_size;
	info->window_size = card->window_size;
	info->node = card->node;
	info->board_id = RFM_BID_5565;
	info->board_revision = card->board_revision;
	info->build = card->build;
	strscpy(info->pci_name, card->pci_name, sizeof(info->pci_name));

	return rfm_irq_status(card, info);
}

static long rfm_ioctl_info(struct file *file, void __user *arg)
{
	struct rfm_info info = {};
	int ret;

	ret = rfm_info(file->private_data, &info);
	if (ret)
		return ret;
	return copy_to_user(arg, &info, sizeof(info)) ? -EFAULT : 0;
}

static long rfm_ioctl_send(struct file *file, void __user *arg)
{
	struct rfm_send args;

	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.reserved)
		return -EINVAL;
	return rfm_send(file->private_data, &args);
}

static long rfm_ioctl_listen(struct file *file, void __user *arg)
{
	struct rfm_listen args;

	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.reserved || args.flags & ~RFM_LISTEN_FLAGS)
		return -EINVAL;
	return rfm_listen(file->private_data, &args);
}

static long rfm_ioctl_ring_test(struct file *file, void __user *arg)
{
	struct rfm_ring_test args;
	int ret;

	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (copy_from_user(&args, arg, sizeof(args)))
		return -EFAULT;
	if (args.reserved)
		return -EINVAL;

	ret = rfm_ring_test(file->private_data, &args);
	if (ret)
		return ret;
	return copy_to_user(arg, &args, sizeof(args)) ? -EFAULT : 0;
}

static long rfm_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case RFM_IOC_INFO:
		return rfm_ioctl_info(file, argp);
	case RFM_IOC_SEND:
		return rfm_ioctl_send(file, argp);
	case RFM_IOC_LISTEN:
		return rfm_ioctl_listen(file, argp);
	case RFM_IOC_RING_TEST:
		return rfm_ioctl_ring_test(file, argp);
	default:
		return -ENOIOCTLCMD;
	}
}

static const struct file_operations rfm_fops = {
	.owner		= THIS_MODULE,
	.open		= rfm_open,
	.llseek		= rfm_llseek,
	.read_iter	= rfm_read_iter,
	.write_iter	= rfm_write_iter,
	.mmap		= rfm_mmap,
	.unlocked_ioctl	= rfm_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

/**
 * rfm_chrdev_add - make /dev/rfmN appear
 * @card: a card that is ready for use
 *
 * Return: 0 or a negative errno.
 */
int rfm_chrdev_add(struct rfm_card *card)
{
	card->dev.devt = MKDEV(MAJOR(rfm_devt), card->id);
	cdev_init(&card->cdev, &rfm_fops);
	card->cdev.owner = THIS_MODULE;
	return cdev_device_add(&card->cdev, &card->dev);
}

/**
 * rfm_chrdev_del - make /dev/rfmN disappear
 * @card: the card; files that are open stay open
 */
void rfm_chrdev_del(struct rfm_card *card)
{
	cdev_device_del(&card->cdev, &card->dev);
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
