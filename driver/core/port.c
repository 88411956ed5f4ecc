// SPDX-License-Identifier: GPL-2.0-only
/*
 * RFM_IOC_PORT: descriptors from which messages are read.
 *
 * The card has some empty buffers of each port, each as long as a message may be, and
 * fills them in the order in which it got them. A work item takes what is full, gives back
 * the pages that a message does not need, and gives the card another buffer, as long as
 * there is room for what would come in it. So a port whose queue is full has none, and
 * who sends waits: nothing is dropped.
 */

#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "core/remote.h"

/* Buffers of a port that the card has; hw/requests.c keeps slots for them. */
#define RFM_PORT_BUFFERS	2

/* Bytes that the messages of all ports of a card may take. */
#define RFM_PORT_BYTES_MAX	(128u << 20)

/* When there was no memory for a buffer. */
#define RFM_PORT_RETRY		(HZ / 10)

static_assert(RFM_PORT_NONBLOCK == RFM_LISTEN_NONBLOCK);
static_assert(RFM_PORT_CLOEXEC == RFM_LISTEN_CLOEXEC);

/* A buffer, and then the message that came in it. */
struct rfm_letter {
	struct list_head node;		/* in @port->buffers or ->letters */
	struct rfm_port *port;
	struct rfm_command command;
	struct rfm_pages pages;
	bool ended;			/* set by the interrupt handler */
	struct rfm_message_header header;
};

struct rfm_port {
	struct rfm_card *card;		/* constant; with a reference */
	struct rfm_port_listen args;	/* constant: what was asked for, with defaults */
	size_t bytes;			/* constant: of dispatch.port_bytes */
	struct list_head node;		/* in dispatch.ports */
	u32 generation;			/* dispatch.lock: of the table that knows it; 0: not yet */
	struct rfm_holder holder;	/* for descriptor-get */
	wait_queue_head_t wait;		/* readers, pollers, and the end */
	struct mutex read_lock;		/* one reader at a time: only readers take letters */
	struct mutex lock;		/* all below */
	bool listens;			/* the card has the port */
	int over;			/* no more will come: why; read anywhere */
	struct list_head buffers;	/* that the card has, in the order in which it got them */
	unsigned int buffer_count;
	struct list_head letters;	/* to be read */
	unsigned int letter_count;	/* read anywhere */
	u64 seq;			/* messages so far */
	atomic_t flying;		/* buffers that the card has, or just had */
	struct delayed_work work;
};

/* --- buffers ------------------------------------------------------------------ */

static void rfm_letter_free(struct rfm_letter *letter)
{
	rfm_pages_free(&letter->pages);
	kfree(letter);
}

/* Under requests.lock, any context. */
static void rfm_letter_ended(struct rfm_command *command)
{
	struct rfm_letter *letter = container_of(command, struct rfm_letter,
						 command);
	struct rfm_port *port = letter->port;

	WRITE_ONCE(letter->ended, true);
	mod_delayed_work(rfm_wq, &port->work, 0);
	if (atomic_dec_and_test(&port->flying))
		wake_up_all(&port->wait);
}

static struct rfm_letter *rfm_letter_new(struct rfm_port *port)
{
	struct rfm_letter *letter = kzalloc(sizeof(*letter), GFP_KERNEL_ACCOUNT);

	if (!letter)
		return NULL;
	if (rfm_pages_alloc(&letter->pages, port->args.length_max,
			    DMA_FROM_DEVICE)) {
		kfree(letter);
		return NULL;
	}
	letter->port = port;
	letter->command.pages = &letter->pages;
	letter->command.ended = rfm_letter_ended;
	letter->command.generation = port->generation;
	letter->command.request = (struct rfm_ext_request) {
		.op = RFM_REQUEST_RECEIVE,
		.key = cpu_to_le32(port->args.port),
		.length = cpu_to_le32(port->args.length_max),
	};
	return letter;
}

/* No more will come. Under port->lock. */
static void rfm_port_end(struct rfm_port *port, int why)
{
	/* Nobody closes a port here but we: the card has forgotten it. */
	WRITE_ONCE(port->over, why == -ENODEV ? why : -EIO);
	wake_up_interruptible_poll(&port->wait, EPOLLERR | EPOLLHUP);
}

/* The card gets as many buffers as there is room for messages. Under port->lock. */
static void rfm_port_supply(struct rfm_port *port)
{
	struct rfm_letter *letter;
	int ret;

	lockdep_assert_held(&port->lock);

	while (port->listens && !port->over &&
	       port->buffer_count < RFM_PORT_BUFFERS &&
	       port->buffer_count + port->letter_count < port->args.depth) {
		letter = rfm_letter_new(port);
		ret = letter ? 0 : -ENOMEM;
		if (!ret) {
			list_add_tail(&letter->node, &port->buffers);
			port->buffer_count++;
			atomic_inc(&port->flying);
			ret = rfm_command_begin(port->card, &letter->command,
						NULL);
			if (!ret)
				continue;
			atomic_dec(&port->flying);
			port->buffer_count--;
			list_del(&letter->node);
			rfm_letter_free(letter);
		}
		if (ret == -ENOMEM || ret == -EAGAIN)
			queue_delayed_work(rfm_wq, &port->work, RFM_PORT_RETRY);
		else
			rfm_port_end(port, ret);
		return;
	}
}

/* What has come in the first buffer, or why nothing will. Under port->lock. */
static void rfm_port_take(struct rfm_port *port, struct rfm_letter *letter)
{
	const struct rfm_command *command = &letter->command;
	int ret = rfm_command_error(command);
	u64 bytes = le64_to_cpu(command->request.old);

	if (!ret && bytes > letter->pages.bytes)
		ret = -EIO;
	list_del(&letter->node);
	port->buffer_count--;
	rfm_pages_forget(&letter->pages);
	if (ret == -EREMOTEIO) {
		/* The machine has moved to another host: the card gets another. */
		rfm_letter_free(letter);
		return;
	}
	if (ret) {
		rfm_letter_free(letter);
		rfm_port_end(port, ret);
		return;
	}
	letter->header.node = command->request.node;
	letter->header.length = bytes;
	letter->header.seq = ++port->seq;
	letter->header.time_ns = ktime_get_ns();
	rfm_pages_trim(&letter->pages, bytes);
	list_add_tail(&letter->node, &port->letters);
	WRITE_ONCE(port->letter_count, port->letter_count + 1);
	wake_up_interruptible_poll(&port->wait, EPOLLIN | EPOLLRDNORM);
}

static void rfm_port_work(struct work_struct *work)
{
	struct rfm_port *port = container_of(to_delayed_work(work),
					     struct rfm_port, work);
	struct rfm_letter *letter;

	mutex_lock(&port->lock);
	while (port->listens &&
	       (letter = list_first_entry_or_null(&port->buffers,
						  struct rfm_letter, node)) &&
	       READ_ONCE(letter->ended))
		rfm_port_take(port, letter);
	rfm_port_supply(port);
	mutex_unlock(&port->lock);
}

/* --- read and poll ------------------------------------------------------------ */

static int rfm_port_over(const struct rfm_port *port)
{
	return READ_ONCE(port->card->hw.gone) ? -ENODEV : READ_ONCE(port->over);
}

static ssize_t rfm_letter_copy(const struct rfm_port *port,
			       const struct rfm_letter *letter,
			       struct iov_iter *to)
{
	size_t size = port->args.header_size, length = letter->header.length;
	size_t known = min(size, sizeof(letter->header)), done, some;

	if (iov_iter_count(to) < size + length)
		return -EMSGSIZE;
	if (copy_to_iter(&letter->header, known, to) != known ||
	    iov_iter_zero(size - known, to) != size - known)
		return -EFAULT;
	for (done = 0; done < length; done += some) {
		some = min_t(size_t, length - done, PAGE_SIZE);
		if (copy_to_iter(page_address(letter->pages.pages[done / PAGE_SIZE]),
				 some, to) != some)
			return -EFAULT;
	}
	return size + length;
}

/* The oldest message, if there is one: bytes, 0, or why it stays. Under read_lock. */
static ssize_t rfm_port_take_letter(struct rfm_port *port, struct iov_iter *to)
{
	struct rfm_letter *letter;
	ssize_t ret;

	mutex_lock(&port->lock);
	letter = list_first_entry_or_null(&port->letters, struct rfm_letter,
					  node);
	mutex_unlock(&port->lock);
	if (!letter)
		return 0;
	ret = rfm_letter_copy(port, letter, to);
	if (ret < 0)
		return ret;
	mutex_lock(&port->lock);
	list_del(&letter->node);
	WRITE_ONCE(port->letter_count, port->letter_count - 1);
	rfm_port_supply(port);
	mutex_unlock(&port->lock);
	rfm_letter_free(letter);
	return ret;
}

/* read(): one message. */
static ssize_t rfm_port_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct rfm_port *port = iocb->ki_filp->private_data;
	ssize_t ret;
	int over;

	for (;;) {
		/* Before the look: after that nothing more comes. */
		over = rfm_port_over(port);
		if (mutex_lock_interruptible(&port->read_lock))
			return -ERESTARTSYS;
		ret = rfm_port_take_letter(port, to);
		mutex_unlock(&port->read_lock);
		if (ret)
			return ret;
		if (over)
			return over;
		if (iocb->ki_filp->f_flags & O_NONBLOCK ||
		    iocb->ki_flags & IOCB_NOWAIT)
			return -EAGAIN;
		if (wait_event_interruptible(port->wait,
					     READ_ONCE(port->letter_count) ||
					     rfm_port_over(port)))
			return -ERESTARTSYS;
	}
}

static __poll_t rfm_port_poll(struct file *file, poll_table *table)
{
	struct rfm_port *port = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &port->wait, table);
	if (READ_ONCE(port->letter_count))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rfm_port_over(port))
		mask |= EPOLLERR;
	if (READ_ONCE(port->card->hw.gone))
		mask |= EPOLLHUP;
	return mask;
}

/* --- life ---------------------------------------------------------------------- */

/* After a fault the card knows the port no more, or as another's: then -EIO. */
static int rfm_port_command(struct rfm_port *port, u8 op)
{
	struct rfm_command command = {
		.request = {
			.op = op,
			.key = cpu_to_le32(port->args.port),
		},
		.generation = port->generation,
	};
	int ret = rfm_command_run(port->card, &command);

	rfm_dispatch_lock(port->card);
	port->generation = command.generation;
	rfm_dispatch_unlock(port->card);
	return ret;
}

static void rfm_port_free(struct rfm_port *port)
{
	struct rfm_card *card = port->card;

	rfm_dispatch_lock(card);
	list_del(&port->node);
	card->dispatch.port_bytes -= port->bytes;
	rfm_dispatch_unlock(card);
	kfree(port);
	put_device(&card->dev);
}

static void rfm_port_empty(struct list_head *letters)
{
	struct rfm_letter *letter, *next;

	list_for_each_entry_safe(letter, next, letters, node)
		rfm_letter_free(letter);
}

/* On return the card has none of its buffers, and nobody waits for them. */
static void rfm_port_stop(struct rfm_port *port)
{
	bool listens = port->listens;

	mutex_lock(&port->lock);
	port->listens = false;
	mutex_unlock(&port->lock);
	/* Which ends all that receive; also if there is no port any more, or no card. */
	while (listens && rfm_port_command(port, RFM_REQUEST_UNLISTEN) == -EREMOTEIO)
		;
	wait_event(port->wait, !atomic_read(&port->flying));
	rfm_requests_barrier(&port->card->hw);
	cancel_delayed_work_sync(&port->work);
	rfm_port_empty(&port->buffers);
	rfm_port_empty(&port->letters);
}

static int rfm_port_release(struct inode *inode, struct file *file)
{
	struct rfm_port *port = file->private_data;

	rfm_holder_del(port->card, &port->holder);
	rfm_port_stop(port);
	rfm_port_free(port);
	return 0;
}

static void rfm_port_show_fdinfo(struct seq_file *m, struct file *file)
{
	struct rfm_port *port = file->private_data;

	rfm_holder_show(m, port->card, &port->holder);
}

static const struct file_operations rfm_port_fops = {
	.owner		= THIS_MODULE,
	.read_iter	= rfm_port_read_iter,
	.poll		= rfm_port_poll,
	.release	= rfm_port_release,
	.show_fdinfo	= rfm_port_show_fdinfo,
};

static const struct rfm_holder_ops rfm_port_holder_ops = {
	.kind = RFM_DESCRIPTOR_KIND_PORT,
};

/*
 * Ours, for as long as the card may know it as ours: of a request that was cancelled nobody
 * can tell whose port it was about. Return: 0, -EADDRINUSE, -ENOSPC.
 */
static int rfm_port_enlist(struct rfm_card *card, struct rfm_port *port)
{
	struct rfm_dispatch *dispatch = &card->dispatch;
	u32 now = READ_ONCE(card->hw.requests.generation);
	struct rfm_port *other;

	lockdep_assert_held(&dispatch->lock);

	list_for_each_entry(other, &dispatch->ports, node)
		if (other->args.port == port->args.port &&
		    (!other->generation || other->generation == now))
			return -EADDRINUSE;
	if (port->bytes > RFM_PORT_BYTES_MAX - dispatch->port_bytes)
		return -ENOSPC;
	dispatch->port_bytes += port->bytes;
	list_add_tail(&port->node, &dispatch->ports);
	return 0;
}

static struct rfm_port *rfm_port_alloc(struct rfm_card *card,
				       const struct rfm_port_listen *args)
{
	struct rfm_port *port = kzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!port)
		return ERR_PTR(-ENOMEM);
	port->args = *args;
	port->args.depth = args->depth ?: RFM_PORT_DEPTH_DEFAULT;
	port->args.length_max = args->length_max ?: RFM_PORT_LENGTH_DEFAULT;
	port->args.header_size = args->header_size ?: RFM_MESSAGE_SIZE_VER0;
	port->bytes = (size_t)port->args.depth * PAGE_ALIGN(port->args.length_max);
	rfm_dispatch_lock(card);
	ret = rfm_port_enlist(card, port);
	rfm_dispatch_unlock(card);
	if (ret) {
		kfree(port);
		return ERR_PTR(ret);
	}
	get_device(&card->dev);
	port->card = card;
	init_waitqueue_head(&port->wait);
	mutex_init(&port->read_lock);
	mutex_init(&port->lock);
	INIT_LIST_HEAD(&port->buffers);
	INIT_LIST_HEAD(&port->letters);
	INIT_DELAYED_WORK(&port->work, rfm_port_work);
	return port;
}

static int rfm_port_listen(struct rfm_port *port)
{
	int ret = rfm_port_command(port, RFM_REQUEST_LISTEN);

	/* Of one that was cancelled nobody knows. */
	port->listens = ret == -EREMOTEIO;
	if (ret)
		return ret;
	mutex_lock(&port->lock);
	port->listens = true;
	rfm_port_supply(port);
	mutex_unlock(&port->lock);
	return 0;
}

/* RFM_IOC_PORT. Return: the descriptor, or a negative errno. */
int rfm_port(struct rfm_file *owner, void *arg)
{
	const struct rfm_port_listen *args = arg;
	struct rfm_port *port;
	struct file *file;
	int fd, ret;

	if (args->port >= RFM_PORTS || args->flags & ~RFM_PORT_FLAGS ||
	    args->depth > RFM_PORT_DEPTH_MAX || args->length_max > RFM_OP_MAX ||
	    (args->header_size &&
	     !rfm_record_size_good(args->header_size, RFM_MESSAGE_SIZE_VER0)))
		return -EINVAL;
	port = rfm_port_alloc(owner->card, args);
	if (IS_ERR(port))
		return PTR_ERR(port);
	file = anon_inode_getfile("[rfm-port]", &rfm_port_fops, port,
				  O_RDONLY | (args->flags & RFM_PORT_NONBLOCK ?
					      O_NONBLOCK : 0));
	if (IS_ERR(file)) {
		rfm_port_free(port);
		return PTR_ERR(file);
	}
	rfm_holder_add(port->card, &port->holder, &rfm_port_holder_ops);
	fd = get_unused_fd_flags(args->flags & RFM_PORT_CLOEXEC ? O_CLOEXEC : 0);
	ret = fd < 0 ? fd : rfm_port_listen(port);
	if (!ret) {
		fd_install(fd, file);
		return fd;
	}
	if (fd >= 0)
		put_unused_fd(fd);
	fput(file);
	return ret;
}
