// SPDX-License-Identifier: GPL-2.0-only
/* Module and PCI side: a card is taken on, started, let go. */

#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "api/api.h"
#include "core/notify.h"

/* The extension block, if there is one, as if nobody had used it yet. */
static int rfm_start_ext(struct rfm_card *card)
{
	if (card->hw.ext && readl(card->hw.ext + RFM_EXT_ID) != RFM_EXT_MAGIC)
		return dev_err_probe(&card->hw.pdev->dev, -ENODEV,
				     "the extension block does not answer\n");
	rfm_status_start(card);
	rfm_slots_reset(card);
	rfm_events_alloc(&card->hw);
	rfm_requests_alloc(&card->hw);
	return rfm_subscribe_start(card);
}

/* Who serves which vector. */
static const struct {
	unsigned int vector;
	const char *name;
	irq_handler_t handler;
} rfm_vectors[] = {
	{ RFM_VECTOR_EVENTS, "events", rfm_events_irq },
	{ RFM_VECTOR_DMA, "dma", rfm_dma_irq },
	{ RFM_VECTOR_LINK, "link", rfm_events_irq },
	{ RFM_VECTOR_ERRORS, "errors", rfm_irq },
};

static int rfm_request_vectors(struct rfm_card *card)
{
	struct pci_dev *pdev = card->hw.pdev;
	unsigned int i;
	int irq, ret;
	char *name;

	for (i = 0; i < ARRAY_SIZE(rfm_vectors); i++) {
		name = devm_kasprintf(&pdev->dev, GFP_KERNEL, "%s-%s",
				      dev_name(&card->dev),
				      rfm_vectors[i].name);
		if (!name)
			return -ENOMEM;
		irq = pci_irq_vector(pdev, rfm_vectors[i].vector);
		ret = devm_request_irq(&pdev->dev, irq, rfm_vectors[i].handler,
				       0, name, &card->hw);
		if (ret)
			return dev_err_probe(&pdev->dev, ret,
					     "cannot get vector %u\n",
					     rfm_vectors[i].vector);
	}
	return 0;
}

/* MSI-X where the card has it for its events, otherwise INTx. */
static int rfm_request_irqs(struct rfm_card *card)
{
	struct pci_dev *pdev = card->hw.pdev;
	int ret;

	if (card->hw.events.ring &&
	    pci_alloc_irq_vectors(pdev, RFM_VECTORS, RFM_VECTORS,
				  PCI_IRQ_MSIX) == RFM_VECTORS)
		return rfm_request_vectors(card);

	ret = devm_request_irq(&pdev->dev, pdev->irq, rfm_irq, IRQF_SHARED,
			       dev_name(&card->dev), &card->hw);
	if (ret)
		return dev_err_probe(&pdev->dev, ret,
				     "cannot get interrupt %u\n", pdev->irq);
	return 0;
}

/* Part the files from the hardware; the order is explained in core/card.h. */
static void rfm_stop(struct rfm_card *card)
{
	rfm_card_set_gone(card);
	rfm_dispatch_lock(card);
	rfm_events_stop(&card->hw);
	rfm_dispatch_unlock(card);
	rfm_card_drain(card);
	rfm_slots_reset(card);
	rfm_status_stop(card);
	rfm_subscribe_stop(card);
	rfm_hw_leave(&card->hw);
}

/*
 * A reset and a sleep take from the card all that its files have set: mappings,
 * subscriptions, watches. Nobody is to believe that they hold: who uses the card
 * learns that it has gone, as if it had been pulled out, and the same card is
 * probed anew when it is back.
 */

/* A work item: who resets or resumes a device holds its lock. */
static void rfm_reprobe_work(struct work_struct *work)
{
	struct rfm_card *card = container_of(work, struct rfm_card,
					     hw.reprobe_work);
	struct pci_dev *pdev = card->hw.pdev;
	int ret = 0;

	/* Not if somebody has unbound it meanwhile. */
	if (pci_get_drvdata(pdev) == card)
		ret = device_reprobe(&pdev->dev);
	/* rfm_probe() says itself what is wrong; while others resume, it has to wait. */
	if (ret && ret != -EPROBE_DEFER)
		dev_err(&pdev->dev, "the card cannot be probed anew: %d\n", ret);
	put_device(&card->dev);
	pci_dev_put(pdev);
}

static void rfm_reprobe(struct pci_dev *pdev)
{
	struct rfm_card *card = pci_get_drvdata(pdev);

	pci_dev_get(pdev);
	get_device(&card->dev);
	if (queue_work(rfm_wq, &card->hw.reprobe_work))
		return;
	put_device(&card->dev);
	pci_dev_put(pdev);
}

static int rfm_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct device *dev = &pdev->dev;
	struct rfm_card *card;
	int ret;

	ret = pcim_enable_device(pdev);
	if (ret)
		return dev_err_probe(dev, ret, "cannot enable the device\n");

	card = rfm_card_alloc(pdev);
	if (IS_ERR(card))
		return dev_err_probe(dev, PTR_ERR(card),
				     "cannot take on another card\n");
	INIT_WORK(&card->hw.reprobe_work, rfm_reprobe_work);

	ret = rfm_hw_find(&card->hw) ?: rfm_dma_alloc(card);
	if (ret)
		return ret;
	rfm_settings_init(card);

	ret = rfm_start_ext(card);
	if (!ret) {
		/* Nothing of an earlier driver's is left that could write to us. */
		pci_set_master(pdev);
		ret = rfm_request_irqs(card);
	}
	if (ret) {
		rfm_stop(card);
		return ret;
	}
	rfm_dispatch_start(card);
	rfm_led_set(&card->hw, false);

	ret = rfm_chrdev_add(card);
	if (ret) {
		rfm_stop(card);
		return dev_err_probe(dev, ret, "cannot add the device node\n");
	}

	pci_set_drvdata(pdev, card);
	rfm_cards_set(card, true);
	rfm_notify_start(card);
	dev_info(dev, "%s: node %u, %llu MiB of memory, %llu MiB mapped\n",
		 dev_name(&card->dev), card->hw.node, card->hw.memory_size >> 20,
		 card->hw.window_size >> 20);
	return 0;
}

static void rfm_remove(struct pci_dev *pdev)
{
	struct rfm_card *card = pci_get_drvdata(pdev);

	/* Files that are open stay open. */
	cdev_device_del(&card->cdev, &card->dev);
	rfm_cards_set(card, false);
	rfm_stop(card);
	rfm_notify_stop(card);
}

static void rfm_shutdown(struct pci_dev *pdev)
{
	rfm_stop(pci_get_drvdata(pdev));
}

static void rfm_reset_prepare(struct pci_dev *pdev)
{
	struct rfm_card *card = pci_get_drvdata(pdev);

	dev_warn(&card->dev, "the card is reset: who uses it loses it\n");
	rfm_stop(card);
}

static const struct pci_error_handlers rfm_error_handlers = {
	.reset_prepare	= rfm_reset_prepare,
	.reset_done	= rfm_reprobe,
};

static int rfm_pm_suspend(struct device *dev)
{
	rfm_stop(dev_get_drvdata(dev));
	return 0;
}

/* Also of a sleep that has come to nothing: then the card may not have gone. */
static void rfm_pm_complete(struct device *dev)
{
	struct rfm_card *card = dev_get_drvdata(dev);

	if (READ_ONCE(card->hw.gone))
		rfm_reprobe(card->hw.pdev);
}

static const struct dev_pm_ops rfm_pm_ops = {
	.suspend	= pm_sleep_ptr(rfm_pm_suspend),
	.freeze		= pm_sleep_ptr(rfm_pm_suspend),
	.poweroff	= pm_sleep_ptr(rfm_pm_suspend),
	.complete	= pm_sleep_ptr(rfm_pm_complete),
};

static const struct pci_device_id rfm_ids[] = {
	{ PCI_DEVICE(RFM_PCI_VENDOR_ID, RFM_PCI_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, rfm_ids);

static struct pci_driver rfm_driver = {
	.name		= KBUILD_MODNAME,
	.id_table	= rfm_ids,
	.probe		= rfm_probe,
	.remove		= rfm_remove,
	.shutdown	= rfm_shutdown,
	.err_handler	= &rfm_error_handlers,
	.driver.pm	= pm_sleep_ptr(&rfm_pm_ops),
};

struct workqueue_struct *rfm_wq, *rfm_dma_wq;

static int __init rfm_init(void)
{
	int ret = -ENOMEM;

	rfm_wq = alloc_workqueue("rfm", WQ_UNBOUND | WQ_SYSFS, 0);
	if (!rfm_wq)
		return ret;

	rfm_dma_wq = alloc_workqueue("rfm-dma", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!rfm_dma_wq)
		goto err_wq;

	ret = rfm_card_init_fs();
	if (ret)
		goto err_dma_wq;

	ret = rfm_chrdev_init();
	if (ret)
		goto err_fs;

	ret = rfm_netlink_init();
	if (ret)
		goto err_chrdev;

	ret = pci_register_driver(&rfm_driver);
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	rfm_netlink_exit();
err_chrdev:
	rfm_chrdev_exit();
err_fs:
	rfm_card_exit_fs();
err_dma_wq:
	destroy_workqueue(rfm_dma_wq);
err_wq:
	destroy_workqueue(rfm_wq);
	return ret;
}
module_init(rfm_init);

static void __exit rfm_exit(void)
{
	pci_unregister_driver(&rfm_driver);
	/* What was to be probed anew keeps its card until it has run. */
	flush_workqueue(rfm_wq);
	rfm_netlink_exit();
	rfm_chrdev_exit();
	rfm_card_exit_fs();
	destroy_workqueue(rfm_dma_wq);
	destroy_workqueue(rfm_wq);
}
module_exit(rfm_exit);

MODULE_DESCRIPTION("5565 reflective-memory card");
MODULE_AUTHOR("The rfm project");
MODULE_LICENSE("GPL");
