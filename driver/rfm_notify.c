// SPDX-License-Identifier: GPL-2.0-only
/*
 * The multicast group "monitor": who is told of what happens to the cards.
 *
 * Changes of settings are told by whoever makes them. What happens to a card is
 * noted where its events are delivered; a work item tells of the notes, at once
 * when there was quiet before, and otherwise no more often than every
 * RFM_NOTIFY_PACE. A note is added to the one before it if it says the same of the
 * same node and descriptor. When there is no room for more, they are counted, and
 * the next message about the card tells how many.
 *
 * All notifications of the family are numbered and sent under one lock, so a
 * gap in the numbers is what a socket did not get: either it was told ENOBUFS,
 * or the gap is as long as an overrun message in front of its end says.
 */

#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "rfm_netlink.h"
#include "rfm_notify.h"

#define RFM_NOTIFY_PACE		msecs_to_jiffies(10)

/*
 * What a card's monitors are to be told of.
 *
 * @next and @known under rfm_cards_lock, from @on on under dispatch.lock.
 */
struct rfm_notes {
	struct rfm_card *card;
	struct delayed_work work;	/* tells */
	unsigned long next;		/* jiffies, not before */
	bool known;			/* told of: after its creation, before its deletion */
	bool on;			/* notes are taken */
	unsigned int first;		/* index of the oldest */
	unsigned int count;		/* how many there are */
	u64 lost;			/* how many found no room behind these */
	u64 lost_ever;			/* sum of those */
	struct rfm_note ring[RFM_NOTES];
};

static u64 rfm_notify_seq;	/* under rfm_cards_lock */

static bool rfm_notify_heard(void)
{
	return genl_has_listeners(&rfm_nl_family, &init_net, RFM_NLGRP_MONITOR);
}

/* --- messages: under rfm_cards_lock --------------------------------------- */

/* A notification that is being made. */
struct rfm_message {
	struct sk_buff *skb;		/* NULL: there is no memory */
	void *hdr;			/* of generic netlink */
	int error;			/* what did not fit */
};

static void rfm_message_begin(struct rfm_message *message,
			      struct rfm_card *card, u8 cmd)
{
	lockdep_assert_held(&rfm_cards_lock);

	rfm_notify_seq++;
	message->error = -ENOMEM;
	message->skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!message->skb)
		return;
	message->error = -EMSGSIZE;
	message->hdr = genlmsg_put(message->skb, 0, 0, &rfm_nl_family, 0, cmd);
	if (message->hdr)
		message->error = rfm_put_handle(message->skb, card) ?:
				 rfm_put_u64(message->skb, RFM_A_CARD_SEQ,
					     rfm_notify_seq);
}

/* Returns false if it is lost, but for its number. */
static bool rfm_message_send(struct rfm_message *message)
{
	if (message->error) {
		nlmsg_free(message->skb);
		return false;
	}
	genlmsg_end(message->skb, message->hdr);
	/* A socket without room has been told so. */
	genlmsg_multicast(&rfm_nl_family, message->skb, 0, RFM_NLGRP_MONITOR,
			  GFP_KERNEL);
	return true;
}

static void rfm_notes_lose(struct rfm_notes *notes, u64 count)
{
	lockdep_assert_held(&notes->card->dispatch.lock);

	notes->lost += count;
	notes->lost_ever += count;
}

/* Its number is used up; an overrun message will say so. */
static void rfm_message_lost(struct rfm_card *card)
{
	rfm_notify_seq--;
	rfm_dispatch_lock(card);
	rfm_notes_lose(card->dispatch.notes, 1);
	rfm_dispatch_unlock(card);
	queue_delayed_work(rfm_wq, &card->dispatch.notes->work,
			   RFM_NOTIFY_PACE);
}

static bool rfm_tell_overrun(struct rfm_card *card, u64 lost)
{
	struct rfm_message message;

	/* Those that were lost had numbers, too. */
	rfm_notify_seq += lost;
	rfm_message_begin(&message, card, RFM_CMD_OVERRUN_NTF);
	if (!message.error)
		message.error = rfm_put_u64(message.skb, RFM_A_CARD_LOST, lost);
	if (rfm_message_send(&message))
		return true;
	rfm_notify_seq -= lost + 1;
	return false;
}

/* Where the fields of a note go. */
static const struct {
	u8 attr;
	u8 size;
	u16 offset;
} rfm_note_fields[] = {
#define RFM_FIELD(name, field) { RFM_A_EVENT_##name,			\
				 sizeof_field(struct rfm_note, field),	\
				 offsetof(struct rfm_note, field) }
	RFM_FIELD(NODE, node),
	RFM_FIELD(MISSING, missing),
	RFM_FIELD(EPOCH, epoch),
	RFM_FIELD(OFFSET, offset),
	RFM_FIELD(LENGTH, length),
	RFM_FIELD(FRAME, frame),
	RFM_FIELD(AGE_NS, age_ns),
	RFM_FIELD(DESCRIPTOR, holder),
#undef RFM_FIELD
};

static int rfm_put_note_field(struct sk_buff *skb, const struct rfm_note *note,
			      unsigned int i)
{
	const void *field = (const void *)note + rfm_note_fields[i].offset;
	u8 attr = rfm_note_fields[i].attr;

	if (!(note->has & BIT(attr)))
		return 0;
	if (rfm_note_fields[i].size == sizeof(u64))
		return nla_put_u64_64bit(skb, attr, *(const u64 *)field,
					 RFM_A_EVENT_PAD);
	return nla_put_u32(skb, attr, *(const u32 *)field);
}

static int rfm_put_note(struct sk_buff *skb, const struct rfm_note *note)
{
	struct nlattr *nest = nla_nest_start(skb, RFM_A_CARD_EVENT);
	unsigned int i;

	if (!nest ||
	    nla_put_u32(skb, RFM_A_EVENT_TYPE, note->type) ||
	    nla_put_u64_64bit(skb, RFM_A_EVENT_COUNT, note->count,
			      RFM_A_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, RFM_A_EVENT_TIME_NS, note->time_ns,
			      RFM_A_EVENT_PAD))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(rfm_note_fields); i++)
		if (rfm_put_note_field(skb, note, i))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static void rfm_tell_note(struct rfm_card *card, const struct rfm_note *note)
{
	struct rfm_message message;

	rfm_message_begin(&message, card, RFM_CMD_EVENT_NTF);
	if (!message.error)
		message.error = rfm_put_note(message.skb, note);
	if (!rfm_message_send(&message))
		rfm_message_lost(card);
}

/* Takes the oldest note out. @lost: how many found no room before it. */
static bool rfm_notes_pop(struct rfm_notes *notes, struct rfm_note *note,
			  u64 *lost)
{
	bool found;

	rfm_dispatch_lock(notes->card);
	found = notes->count;
	if (found) {
		*note = notes->ring[notes->first];
		*lost = note->lost;
		notes->first = (notes->first + 1) % RFM_NOTES;
		notes->count--;
	} else {
		*lost = notes->lost;
		notes->lost = 0;
	}
	rfm_dispatch_unlock(notes->card);
	return found;
}

/* Returns false if there was none, or no memory to tell of it. */
static bool rfm_notes_tell_next(struct rfm_notes *notes)
{
	struct rfm_card *card = notes->card;
	struct rfm_note note;
	bool found;
	u64 lost;

	found = rfm_notes_pop(notes, &note, &lost);
	if (lost && !rfm_tell_overrun(card, lost)) {
		rfm_dispatch_lock(card);
		notes->lost += lost + found;
		notes->lost_ever += found;
		rfm_dispatch_unlock(card);
		return false;
	}
	if (found)
		rfm_tell_note(card, &note);
	return found;
}

/* Everything that has been noted so far; what comes meanwhile has time. */
static void rfm_notes_tell(struct rfm_notes *notes)
{
	unsigned int turns = RFM_NOTES + 1;	/* and what was lost behind */
	bool more;

	lockdep_assert_held(&rfm_cards_lock);

	while (turns-- && rfm_notes_tell_next(notes))
		cond_resched();
	WRITE_ONCE(notes->next, jiffies + RFM_NOTIFY_PACE);
	rfm_dispatch_lock(notes->card);
	more = notes->count || notes->lost;
	rfm_dispatch_unlock(notes->card);
	if (more)
		queue_delayed_work(rfm_wq, &notes->work,
				   RFM_NOTIFY_PACE);
}

static void rfm_notify_work(struct work_struct *work)
{
	struct rfm_notes *notes = container_of(to_delayed_work(work),
					       struct rfm_notes, work);

	mutex_lock(&rfm_cards_lock);
	if (notes->known)
		rfm_notes_tell(notes);
	mutex_unlock(&rfm_cards_lock);
}

/* --- notes: under dispatch.lock ------------------------------------- */

/* The newest note, if it says the same. */
static struct rfm_note *rfm_notes_same(struct rfm_notes *notes,
				       const struct rfm_note *note)
{
	struct rfm_note *newest;

	if (!notes->count || notes->lost)
		return NULL;
	newest = &notes->ring[(notes->first + notes->count - 1) % RFM_NOTES];
	return newest->type == note->type && newest->node == note->node &&
	       newest->holder == note->holder && newest->has == note->has ?
	       newest : NULL;
}

static void rfm_notes_put(struct rfm_notes *notes, struct rfm_note *note)
{
	struct rfm_note *newest = rfm_notes_same(notes, note);

	if (newest) {
		note->count += newest->count;
		note->missing += newest->missing;
		note->lost = newest->lost;
		*newest = *note;
		return;
	}
	if (notes->count == RFM_NOTES) {
		rfm_notes_lose(notes, 1);
		return;
	}
	note->lost = notes->lost;
	notes->lost = 0;
	notes->ring[(notes->first + notes->count++) % RFM_NOTES] = *note;
}

/**
 * rfm_notify_note - monitors are to be told of something
 * @card: the card
 * @note: its type, what it has, and that; its count, if that is not 1; time and lost
 *	are set here
 *
 * Context: dispatch.lock held.
 */
void rfm_notify_note(struct rfm_card *card, struct rfm_note *note)
{
	struct rfm_notes *notes = card->dispatch.notes;
	unsigned long next;

	lockdep_assert_held(&card->dispatch.lock);

	if (!notes->on || !rfm_notify_heard())
		return;
	if (!note->count)
		note->count = 1;
	note->time_ns = ktime_get_ns();
	rfm_notes_put(notes, note);
	next = READ_ONCE(notes->next);
	queue_delayed_work(rfm_wq, &notes->work,
			   time_after(next, jiffies) ? next - jiffies : 0);
}

/**
 * rfm_notify_room - is there room for two more notes?
 * @card: the card
 *
 * Context: dispatch.lock held.
 */
bool rfm_notify_room(struct rfm_card *card)
{
	lockdep_assert_held(&card->dispatch.lock);

	return card->dispatch.notes->count + 2 <= RFM_NOTES;
}

#define RFM_NOTE_UPDATE	(RFM_NOTE_HAS(NODE) | RFM_NOTE_HAS(OFFSET) | \
			 RFM_NOTE_HAS(LENGTH) | RFM_NOTE_HAS(FRAME))

/* What becomes of events. */
static const struct {
	u32 type;
	u32 has;
} rfm_notices[RFM_EVENT_TYPES] = {
	[RFM_EVENT_SYNC_LOSS]		= { RFM_NOTICE_SYNC_LOSS },
	[RFM_EVENT_SIGNAL]		= { RFM_NOTICE_LINK_UP },
	[RFM_EVENT_BAD_DATA]		= { RFM_NOTICE_BAD_DATA },
	[RFM_EVENT_ROGUE]		= { RFM_NOTICE_ROGUE },
	[RFM_EVENT_TX_FULL]		= { RFM_NOTICE_TX_FULL },
	[RFM_EVENT_RX_FULL]		= { RFM_NOTICE_RX_FULL },
	[RFM_EVENT_WRITE_INHIBITED]	= { RFM_NOTICE_WRITE_INHIBITED },
	[RFM_EVENT_PARITY]		= { RFM_NOTICE_PARITY },
	[RFM_EVENT_LOSS]		= { RFM_NOTICE_LOSS,
					    RFM_NOTE_HAS(NODE) |
					    RFM_NOTE_HAS(MISSING) |
					    RFM_NOTE_HAS(FRAME) },
	[RFM_EVENT_BREAK]		= { RFM_NOTICE_BREAK,
					    RFM_NOTE_HAS(NODE) },
	[RFM_EVENT_MEMBERSHIP]		= { RFM_NOTICE_MEMBERSHIP,
					    RFM_NOTE_HAS(EPOCH) },
	[RFM_EVENT_ID_IN_USE]		= { RFM_NOTICE_ID_IN_USE,
					    RFM_NOTE_HAS(NODE) },
	[RFM_EVENT_UPDATE]		= { RFM_NOTICE_LATE, RFM_NOTE_UPDATE |
					    RFM_NOTE_HAS(AGE_NS) },
	[RFM_EVENT_MATCH]		= { RFM_NOTICE_LATE, RFM_NOTE_UPDATE |
					    RFM_NOTE_HAS(AGE_NS) },
	[RFM_EVENT_STALE]		= { RFM_NOTICE_STALE, RFM_NOTE_UPDATE |
					    RFM_NOTE_HAS(AGE_NS) },
	[RFM_EVENT_FRESH]		= { RFM_NOTICE_FRESH, RFM_NOTE_UPDATE |
					    RFM_NOTE_HAS(AGE_NS) },
	[RFM_EVENT_CONFLICT]		= { RFM_NOTICE_CONFLICT,
					    RFM_NOTE_UPDATE },
};

/**
 * rfm_notify_event - monitors are to be told of an event
 * @card: the card
 * @event: the event
 * @holder: whose watch it is about, or NULL
 *
 * Context: dispatch.lock held.
 */
void rfm_notify_event(struct rfm_card *card, const struct rfm_event *event,
		      const struct rfm_holder *holder)
{
	struct rfm_note note = {
		.type = rfm_notices[event->type].type,
		.has = rfm_notices[event->type].has,
		.node = event->node,
		.epoch = event->data,
		.length = event->length,
		.offset = event->offset,
		.missing = event->type == RFM_EVENT_LOSS ? event->data : 0,
		.frame = event->frame,
		.age_ns = event->age_ns ?:
			  event->arrival_ns - event->origin_ns,
	};

	if (event->node == RFM_NODE_ALL)
		note.has &= ~RFM_NOTE_HAS(NODE);
	if (event->flags & (RFM_EVENT_NEVER | RFM_EVENT_INFERRED))
		note.has &= ~RFM_NOTE_HAS(FRAME);
	if (event->flags & RFM_EVENT_INFERRED)
		note.has &= ~RFM_NOTE_HAS(AGE_NS);
	/* Anybody may hear this; whose it is, only descriptor-get tells. */
	if (holder) {
		note.has |= RFM_NOTE_HAS(DESCRIPTOR);
		note.holder = holder->id;
	}
	rfm_notify_note(card, &note);
}

/**
 * rfm_notify_dropped - monitors are to be told that the card dropped events
 * @card: the card
 * @missing: how many more
 *
 * Context: dispatch.lock held.
 */
void rfm_notify_dropped(struct rfm_card *card, u64 missing)
{
	struct rfm_note note = {
		.type = RFM_NOTICE_DROPPED,
		.has = RFM_NOTE_HAS(MISSING),
		.missing = missing,
	};

	rfm_notify_note(card, &note);
}

/**
 * rfm_notify_gone - monitors are to be told that the card does not answer
 * @card: the card
 *
 * Context: dispatch.lock held.
 */
void rfm_notify_gone(struct rfm_card *card)
{
	struct rfm_note note = { .type = RFM_NOTICE_GONE };

	rfm_notify_note(card, &note);
}

/* --- cards and their settings --------------------------------------------- */

static int rfm_put_actor(struct sk_buff *skb)
{
	char comm[TASK_COMM_LEN];

	get_task_comm(comm, current);
	return nla_put_u32(skb, RFM_A_CARD_PID, task_tgid_nr(current)) ?:
	       nla_put_string(skb, RFM_A_CARD_COMM, comm);
}

static void rfm_tell_card(struct rfm_card *card, u8 cmd)
{
	struct rfm_message message;

	lockdep_assert_held(&card->lock);

	rfm_message_begin(&message, card, cmd);
	if (!message.error && cmd == RFM_CMD_CARD_CHANGE_NTF)
		message.error = rfm_put_actor(message.skb);
	if (!message.error)
		message.error = cmd == RFM_CMD_CARD_DELETE_NTF ? -ENODEV :
				rfm_put_card(message.skb, card, false);
	/* Nothing is there then, and of one that is gone there is not more. */
	if (message.error == -ENODEV)
		message.error = nla_put_u32(message.skb, RFM_A_CARD_NODE,
					    card->hw.node);
	if (!rfm_message_send(&message))
		rfm_message_lost(card);
}

/**
 * rfm_notify_change - tell monitors that the calling process changed settings
 * @card: the card
 *
 * What happened to the card before is told first.
 *
 * Context: process, with card->lock held; sleeps.
 */
void rfm_notify_change(struct rfm_card *card)
{
	mutex_lock(&rfm_cards_lock);
	if (card->dispatch.notes->known && rfm_notify_heard()) {
		rfm_notes_tell(card->dispatch.notes);
		rfm_tell_card(card, RFM_CMD_CARD_CHANGE_NTF);
	}
	mutex_unlock(&rfm_cards_lock);
}

/**
 * rfm_notify_start - tell monitors of a new card, and then what happens to it
 * @card: a card that netlink knows already
 */
void rfm_notify_start(struct rfm_card *card)
{
	mutex_lock(&card->lock);
	mutex_lock(&rfm_cards_lock);
	if (rfm_notify_heard())
		rfm_tell_card(card, RFM_CMD_CARD_CREATE_NTF);
	card->dispatch.notes->known = true;
	rfm_dispatch_lock(card);
	card->dispatch.notes->on = true;
	rfm_dispatch_unlock(card);
	mutex_unlock(&rfm_cards_lock);
	mutex_unlock(&card->lock);
}

/**
 * rfm_notify_stop - tell monitors that a card is no longer there
 * @card: one that netlink no longer knows, with no user of its hardware left
 */
void rfm_notify_stop(struct rfm_card *card)
{
	rfm_dispatch_lock(card);
	card->dispatch.notes->on = false;
	rfm_dispatch_unlock(card);

	mutex_lock(&card->lock);
	mutex_lock(&rfm_cards_lock);
	rfm_notes_tell(card->dispatch.notes);
	if (rfm_notify_heard())
		rfm_tell_card(card, RFM_CMD_CARD_DELETE_NTF);
	card->dispatch.notes->known = false;
	mutex_unlock(&rfm_cards_lock);
	mutex_unlock(&card->lock);
	cancel_delayed_work_sync(&card->dispatch.notes->work);
}

/**
 * rfm_notify_lost - how many notifications of a card were lost in the driver?
 * @card: the card
 *
 * Return: since the driver was bound.
 */
u64 rfm_notify_lost(struct rfm_card *card)
{
	u64 lost;

	rfm_dispatch_lock(card);
	lost = card->dispatch.notes->lost_ever;
	rfm_dispatch_unlock(card);
	return lost;
}

/**
 * rfm_notify_init - room for a card's notes
 * @card: one that nobody uses yet
 *
 * Return: 0 or -ENOMEM.
 */
int rfm_notify_init(struct rfm_card *card)
{
	struct rfm_notes *notes = kvzalloc(sizeof(*notes), GFP_KERNEL);

	if (!notes)
		return -ENOMEM;
	notes->card = card;
	notes->next = jiffies;
	INIT_DELAYED_WORK(&notes->work, rfm_notify_work);
	card->dispatch.notes = notes;
	return 0;
}

/**
 * rfm_notify_free - the end of that
 * @card: one that nobody uses any more
 */
void rfm_notify_free(struct rfm_card *card)
{
	kvfree(card->dispatch.notes);
}
