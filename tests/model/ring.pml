/* SPDX-License-Identifier: MIT */
/*
 * The ring as a Promela model: NODES node engines, the links between them and
 * an environment that stores, cuts, kills and disturbs. docs/proof.md says
 * how it maps to ring/send.c, receive.c and node.c and what it leaves out;
 * tests/model/run has the configurations.
 *
 * One process takes one step after the other, each atomic, any that can be
 * taken: all interleavings. Nothing has an order in time but what the rules
 * give it, so every timer of the engine may fire at any moment. All that the
 * environment may do has a budget, so a run that never ends is a frame that
 * circles for ever, and one that ends with something waiting is a deadlock.
 */

/* --- how large ------------------------------------------------------------ */

#ifdef REDUNDANT
#define COPIES		2
#else
#define COPIES		1
#endif

#ifndef NODES
#define NODES		3
#endif
#ifndef STORES
#define STORES		1	/* of each node, in each of its lives; at most 7 */
#endif
#ifndef MUTE
#define MUTE		0	/* nodes that store nothing: a bit for each */
#endif
#define STORES_OF(i)	(MUTE >> i & 1 -> 0 : STORES)
#ifndef PACKETS
#define PACKETS		0	/* of each node that sends some, in each of its lives */
#endif
#ifndef SENDERS
#define SENDERS		7	/* nodes that do: a bit for each */
#endif
#define PACKETS_OF(i)	(SENDERS >> i & 1 -> PACKETS : 0)
#ifndef TO
#define TO		1	/* for the node so far downstream */
#endif
#ifndef ROOM
#define ROOM		1	/* packets that a node has room for; of requests, answers that it owes */
#endif
#ifndef WINDOW
#define WINDOW		1
#endif
#ifndef FIFO
#define FIFO		(NODES * WINDOW * COPIES + NODES)	/* transmit FIFO, frames */
#endif
#ifndef LINK
#define LINK		1	/* frames on a fibre, in the pipes of the host */
#endif
#ifndef INSERT
#define INSERT		1	/* stores that may wait for credit */
#endif
#ifndef HOP_LIMIT
#define HOP_LIMIT	(2 * NODES)
#endif
#define SOURCES		(NODES + 1)	/* the last one is on no ring */
#define NOBODY		NODES

/* --- what the environment may do ------------------------------------------ */

#ifndef BEATS
#define BEATS		0	/* heartbeats before the last ones */
#endif
#ifndef CUTS
#define CUTS		0	/* links lost, or nodes bypassed by the hub */
#endif
#ifndef DEATHS
#define DEATHS		0	/* a process killed */
#endif
#ifndef DROPS
#define DROPS		0	/* frames lost on a link that stays */
#endif
#ifndef DOUBLES
#define DOUBLES		0	/* frames that a link delivers twice */
#endif
#ifndef SWAPS
#define SWAPS		0	/* frames that overtake one on a link */
#endif
#ifndef ROGUES
#define ROGUES		0	/* frames of nobody */
#endif
#define FAULTS		(DROPS || DOUBLES || SWAPS || CUTS || DEATHS)
#ifndef MORTAL
#define MORTAL		1	/* which nodes may die: a bit for each */
#endif
#ifndef MASTER_0
#define MASTER_0	0	/* which rogue masters node 0 is: bits 0 and 1 */
#endif
#ifndef MASTER_1
#define MASTER_1	0	/* and node 1 */
#endif
#define MASTERS(i)	(MASTER_0 * (i == 0) | MASTER_1 * (i == 1))

/* --- a frame -------------------------------------------------------------- */

/* who: source, life of the source, kind. path: hops and marks; of a packet also whom it is for. */
#define WHO(src, life, kind)	((src) | (life) << 3 | (kind) << 6)
#define SOURCE(who)		((who) & 7)
#define LIFE(who)		((who) >> 3 & 7)
#define IS_NUMBERED(who)	(((who) & 64) == 0)
#define PATH(hops, marks)	((hops) | (marks) << 5)
#define HOPS(path)		((path) & 31)
#define MARKS(path)		((path) >> 5 & 31)
#define NUMBERED	0
#define NOTICE	1
#define UNSTORED	4		/* a mark: a node passed it on and will never store it */
#define SEEN		8		/* of a packet: by whom it is for */
#define TAKEN		16		/* and had room for it */

/* A packet: whom it is for, and whether it is an answer; 0: it is none. */
#define FOR(to, answer)		((to) + 1 | (answer) << 2)
#if PACKETS
#define PATH_TYPE	short
#define FOR_OF(path)		((path) >> 10)
#define ADDRESS(packet)		((packet) << 10)
#else
#define PATH_TYPE	byte
#define FOR_OF(path)		0
#define ADDRESS(packet)		0
#endif
#define IS_PACKET(path)		(FOR_OF(path) != 0)
#define IS_FOR(path, i)		((FOR_OF(path) & 3) == (i) + 1)
#define IS_ANSWER(path)		(FOR_OF(path) >> 2)

/* who, number, path, and what its originator had seen of the others: seen_by() */
#define FRAME	byte, byte, PATH_TYPE, byte

/* What waits in the insertion queue: drops before it; what its node had seen, and FOR(). */
#define RECORD	byte, PATH_TYPE
#define FOR_IN(record)		((record) >> 8)
#define SEEN_IN(record)		((record) & 255)

/* --- a node, and what is known of it -------------------------------------- */

typedef Source {
	byte life, seq;			/* current */
	byte other_life, other_seq;
	byte newest;			/* ghost: latest life of which something was stored */
	byte first;			/* ghost: numbers sent before they met */
	byte got;			/* ghost: a bit for each number stored */
	byte missed;
#if PACKETS && COPIES == 2
	byte verdict;			/* marks that its last packet for this node got */
#endif
}

typedef Node {
	byte life;			/* 0: dead */
	byte seq, home_seq;
	byte home, lost;
	byte own_queued;
	byte stores;			/* still to be made */
	byte dropped;			/* by the producer, not numbered yet */
	bool open;
	bool lit, down;
#if PACKETS
	byte packets;			/* still to be sent */
	byte given, ended;
	byte under_way;			/* numbered and not ended: a bit for each number */
	byte answering;			/* and which of them are answers */
	byte used;			/* of its ROOM */
#endif
	Source from[SOURCES];
}

Node node[NODES];
byte lives[NODES];			/* ghost: last life begun */
byte next[NODES];
bool fibre[NODES];			/* from the node to the next one */

chan insert[NODES] = [INSERT] of { RECORD };
chan fifo[NODES] = [FIFO] of { FRAME };
chan link[NODES] = [LINK] of { FRAME };
#ifdef HANDED_OVER_AHEAD
#define UNFINISHED	2
#else
#define UNFINISHED	1
#endif
#ifdef CAUSAL
chan taken[NODES] = [UNFINISHED] of { FRAME };		/* passed on, not stored yet */
#endif
#if PACKETS
chan owed[NODES] = [ROOM + 1] of { byte };			/* to whom a node owes an answer */

/* Ghosts: of each source a bit for each number of each of its lives. */
#define NUMBER(life, seq)	(1 << 8 * ((life) - 1) + (seq))
int handed[NODES];			/* packets that were handed over */
int denied[NODES];			/* packets of which it was said that they were not */
#if !FAULTS
byte left[NODES];			/* numbers that entered the FIFO */
#endif
#endif

byte beats = BEATS, cuts = CUTS, deaths = DEATHS, drops = DROPS, doubles = DOUBLES;
byte swaps = SWAPS, rogues = ROGUES;
byte phase;				/* 0: all may happen; k: last heartbeat of node k - 1 */
#ifdef SILENCE_REVIVES
bool quiet;				/* sources unheard for long: any life is welcome */
#else
#define quiet	false
#endif
bool overrun;				/* ghost: a FIFO was full */
PATH_TYPE p;
byte w, s, d, k, q;			/* of a step; 0 between steps */
#if PACKETS
byte n, v;				/* the same: a number, a verdict */
#endif

#define can_originate(i)	(node[i].lit && node[i].down)
#define in_flight(i)		(node[i].seq - node[i].home_seq)
#define room(i)			(len(fifo[i]) < FIFO)
#define room_for_own(i)		(len(fifo[i]) + COPIES <= FIFO)

#ifdef NO_WINDOW
#define has_credit(i)	true
#else
/* Each frame stands in the FIFO COPIES times. */
#define has_credit(i)	(node[i].own_queued < COPIES * WINDOW && \
			 (node[i].open || in_flight(i) < WINDOW))
#endif

/* What a store depends on: the numbers that its node had seen of the others. */
#ifdef CAUSAL
#define seen_by(i)	(node[i].from[(i + 1) % NODES].seq | node[i].from[(i + 2) % NODES].seq << 4)
#else
#define seen_by(i)	0
#endif

/* What comes in: of a life that counts? After which number? */
#define src	node[i].from[SOURCE(w)]
#ifdef LIVES_IGNORED
#define welcome(i)	true
#else
#define welcome(i)	(LIFE(w) == src.life || !src.life || quiet || (LIFE(w) > src.life && s))
#endif
#define last_of(i)	(LIFE(w) == src.life -> src.seq : \
			 (LIFE(w) == src.other_life -> src.other_seq : s - IS_NUMBERED(w)))

#include "packet.pml"

/* --- sending -------------------------------------------------------------- */

/* rfm_insert_dropped(): what the producer dropped takes its numbers. */
inline number_drops(i, n)
{
#ifndef DROPS_UNNUMBERED
	node[i].seq = node[i].seq + n;
#endif
	n = 0
}

/* Records that wait leave unsent: they take numbers, so all can see the gap. */
inline drop_waiting(i)
{
	do
	:: nempty(insert[i]) ->
		insert[i]?d, p;
		number_drops(i, d);
		node[i].seq++;
		drop_packet(i, p)
	:: empty(insert[i]) -> break
	od;
	number_drops(i, node[i].dropped);
	d = 0; p = 0
}

inline give_up_own(i)
{
	end_packets(i, 7, IS_LOST);
	drop_waiting(i);
	node[i].open = true
}

inline give_up_waiting(i)
{
#ifndef NO_GIVE_UP
	do
	:: nempty(fifo[i]) -> fifo[i]?w, s, p, d
	:: empty(fifo[i]) -> break
	od;
	node[i].own_queued = 0;
	give_up_own(i);
#endif
	w = 0; s = 0
}

/* A notice: the last number given to what has left, or is gone, before it. */
inline send_notice(i)
{
	if
	:: empty(insert[i]) -> number_drops(i, node[i].dropped)
	:: nempty(insert[i])
	fi;
	if
	:: room(i) ->
#ifdef HEARTBEAT_WITHOUT_NUMBER
		fifo[i]!WHO(i, node[i].life, NOTICE), 0, PATH(1, 0), 0
#else
		fifo[i]!WHO(i, node[i].life, NOTICE), node[i].seq, PATH(1, 0), 0
#endif
	:: !room(i)
	fi
}

/* Something about the optics may have changed; @was: it could originate. */
inline optics_changed(i, was)
{
	if
	:: was && !can_originate(i) -> give_up_waiting(i)
	:: !was && can_originate(i) -> send_notice(i)
	:: else
	fi
}

/* Whoever loses its signal says so downstream, in words that count as a notice. */
inline send_break(i)
{
	if
	:: node[i].down && room(i) ->
		fifo[i]!WHO(i, node[i].life, NOTICE), node[i].seq, PATH(1, 0), 0
	:: else
	fi
}

inline set_light(i, on)
{
	k = can_originate(i);
	node[i].lit = on;
	optics_changed(i, k);
	k = 0;
	if
	:: !on -> send_break(i)
	:: on
	fi
}

inline set_downstream(i, up)
{
	k = can_originate(i);
	node[i].down = up;
	if
	:: !up -> give_up_waiting(i)
	:: up
	fi;
	optics_changed(i, (k && up));
	k = 0
}

/* The producer: it waits for room, but not for ever. */
inline store(i)
{
	node[i].stores--;
	if
	:: !can_originate(i) -> node[i].dropped++
	:: can_originate(i) && nfull(insert[i]) ->
		insert[i]!node[i].dropped, seen_by(i);
		node[i].dropped = 0
	:: can_originate(i) && full(insert[i]) -> node[i].dropped++
	fi
}

inline launch(i)
{
	insert[i]?d, p;
	number_drops(i, d);
	node[i].seq++;
	node[i].own_queued = node[i].own_queued + COPIES;
	number_packet(i, p);
	fifo[i]!WHO(i, node[i].life, NUMBERED), node[i].seq, PATH(1, 0) | ADDRESS(FOR_IN(p)), SEEN_IN(p);
#if COPIES == 2
	fifo[i]!WHO(i, node[i].life, NUMBERED), node[i].seq, PATH(1, 0) | ADDRESS(FOR_IN(p)), SEEN_IN(p);
#endif
	overtake(i, ADDRESS(FOR_IN(p)));
	p = 0
}

/* rfm_node_pull() into the link. */
inline pull(i)
{
	fifo[i]?w, s, p, d;
	if
	:: SOURCE(w) == i && LIFE(w) == node[i].life && IS_NUMBERED(w) -> node[i].own_queued--
	:: else
	fi;
	link[i]!w, s, p, d;
	w = 0; s = 0; p = 0; d = 0
}

/* --- receiving ------------------------------------------------------------ */

/* Has everyone stored it? Asked of the nodes that it has passed, and that remember. */
#if defined(HUB) && CUTS
#define MUST_HAVE(k)	false
#else
#define MUST_HAVE(k)	(!DEATHS || !(MORTAL >> (k) & 1))
#endif
inline stored_by_all(i)
{
	k = 0;
	do
	:: k < NODES ->
		assert(k == i || !MUST_HAVE(k) ||
		       (node[k].from[i].life == LIFE(w) && node[k].from[i].got & 1 << s));
		k++
	:: k == NODES -> break
	od;
	k = 0
}

/* What comes home, and all before it that did not. What a node did not store is as good as lost. */
inline receive_own(i)
{
	assert(s <= node[i].seq);
	end_by_what_is_home(i);
	node[i].open = false;
	if
	:: s > node[i].home_seq ->
		q = IS_NUMBERED(w) && !(MARKS(p) & UNSTORED);
		if
		:: q -> stored_by_all(i)
		:: else
		fi;
#ifndef GAPS_UNCOUNTED
		node[i].lost = node[i].lost + s - node[i].home_seq - q;
#endif
		node[i].home = node[i].home + q;
		node[i].home_seq = s
	:: else
	fi;
	assert(node[i].home + node[i].lost <= node[i].seq)
}

/* A place in the FIFO for a frame of another node. */
inline forward(i)
{
	if
	:: node[i].down && room(i) ->
#ifdef NO_HOP_LIMIT
		fifo[i]!w, s, p | PATH(0, MASTERS(i)), d;
#else
		fifo[i]!w, s, (p + 1) | PATH(0, MASTERS(i)), d;
#endif
		overtake(i, p)
	:: node[i].down && !room(i) -> overrun = true
	:: !node[i].down
	fi
}

/* Is it of the life of its source that counts? Makes it so if it should be. */
inline of_current_life(i)
{
	q = 1;
	if
	:: LIFE(w) == src.life -> skip
	:: LIFE(w) != src.life ->
		if
		:: LIFE(w) != src.other_life ->
			src.other_life = LIFE(w);
			src.other_seq = s - IS_NUMBERED(w)
		:: else
		fi;
		if
#ifndef LIVES_IGNORED
		:: src.life && (LIFE(w) < src.life || !s) && !quiet -> q = 0
#endif
		:: else ->
			k = src.life; src.life = src.other_life; src.other_life = k;
			k = src.seq; src.seq = src.other_seq; src.other_seq = k;
			src.first = src.seq; src.missed = 0; src.got = 0;
			k = 0
		fi
	fi
}

/* Will apply() not store it? Said before it is passed on. */
#ifdef UNMARKED
#define refused(i)	false
#else
/* A second copy of what was stored is not refused. */
#define refused(i)	(IS_NUMBERED(w) && SOURCE(w) != i && \
			 !(welcome(i) && s + (COPIES == 2) > last_of(i)))
#endif

/* The store: newer than all of that source that was stored before, and once. */
inline apply(i)
{
	of_current_life(i);
	if
	:: q && s > src.seq ->
#ifndef MISSED_UNCOUNTED
		src.missed = src.missed + s - src.seq - IS_NUMBERED(w);
#endif
		src.seq = s;
		if
		:: IS_NUMBERED(w) ->
			assert(LIFE(w) >= src.newest);
			src.newest = LIFE(w);
			assert(!(src.got & 1 << s));
			src.got = src.got | 1 << s;
			hand_over_if_taken(i);
#ifdef CAUSAL
			k = (SOURCE(w) + 1) % NODES;
			assert(k == i || node[i].from[k].seq >= (d & 15));
			k = (SOURCE(w) + 2) % NODES;
			assert(k == i || node[i].from[k].seq >= (d >> 4));
			k = 0
#endif
		:: else
		fi
	:: else
	fi
}

/* rfm_node_receive(); a frame of a former life of ours is nobody's. */
inline receive(i)
{
	if
	:: SOURCE(w) == i && LIFE(w) == node[i].life -> receive_own(i)
	:: else ->
		if
		:: MARKS(p) & MASTERS(i) || HOPS(p) >= HOP_LIMIT	/* is_removed() */
		:: else ->
			if
			:: refused(i) -> p = p | PATH(0, UNSTORED)
			:: else
			fi;
#ifndef JUDGED_AFTER
			judge(i);
#endif
#ifdef CAUSAL
#ifndef STORE_BEFORE_FORWARD
			forward(i);
#ifdef HANDED_OVER_AHEAD
			hand_over_if_taken(i);
#endif
			taken[i]!w, s, p, d
#else
			apply(i);
			taken[i]!w, s, p, d
#endif
#else
			forward(i);
#ifdef JUDGED_AFTER
			judge(i);
#endif
			if
			:: SOURCE(w) != i -> apply(i)
			:: else
			fi
#endif
		fi
	fi;
	w = 0; s = 0; p = 0; d = 0; q = 0;
	verdict_is(0)
}

#ifdef CAUSAL
#define busy(i)	(len(taken[i]) == UNFINISHED)
inline finish(i)
{
	taken[i]?w, s, p, d;
#ifndef HANDED_OVER_AHEAD
	verdict_is(IS_FOR(p, i) * MARKS(p));
#endif
#ifndef STORE_BEFORE_FORWARD
	apply(i);
#else
	forward(i);
#endif
	w = 0; s = 0; p = 0; d = 0; q = 0;
	verdict_is(0)
}
#else
#define busy(i)	false
#endif

#ifdef FORWARD_WAITS
/* What the ring must not do: take nothing while there is no room to pass it on. */
#define may_take(i)	room(i)
#elif defined(TAKING_WAITS)
#define may_take(i)	(node[i].used <= ROOM)
#else
#define may_take(i)	true
#endif

/* --- life, death and the hub ---------------------------------------------- */

/* The incarnation of a node's n-th life. */
#ifdef CLOCK_BACK
#define life_of(n)	(3 - (n))
#else
#define life_of(n)	(n)
#endif

inline begin_life(i)
{
	lives[i]++;
	node[i].life = life_of(lives[i]);
	node[i].stores = STORES_OF(i);
	begin_packets(i);
	node[i].open = true
}

inline forget_source(i, x)
{
	node[i].from[x].life = 0; node[i].from[x].seq = 0; node[i].from[x].first = 0;
	node[i].from[x].other_life = 0; node[i].from[x].other_seq = 0;
	node[i].from[x].got = 0; node[i].from[x].missed = 0; node[i].from[x].newest = 0;
	forget_verdict(i, x)
}

inline end_life(i)
{
	give_up_waiting(i);
	forget_packets(i);
	node[i].life = 0; node[i].seq = 0; node[i].home_seq = 0;
	node[i].home = 0; node[i].lost = 0; node[i].stores = 0; node[i].dropped = 0;
	node[i].open = false; node[i].lit = false; node[i].down = false;
	k = 0;
	do
	:: k < SOURCES -> forget_source(i, k); k++
	:: k == SOURCES -> break
	od;
	k = 0
}

inline lose_link(i)
{
	do
	:: nempty(link[i]) -> link[i]?w, s, p, d
	:: empty(link[i]) -> break
	od;
	w = 0; s = 0; p = 0; d = 0
}

inline find_previous(i)
{
	q = (i + NODES - 1) % NODES;
	do
	:: next[q] == i -> break
	:: else -> q = (q + NODES - 1) % NODES
	od
}

#ifdef HUB
/* The hub joins the neighbours of node i; what was on its segments is lost. */
inline bypass(i)
{
	find_previous(i);
	lose_link(q);
	lose_link(i);
	next[q] = next[i];
	next[i] = NOBODY;
	fibre[i] = false;
	q = next[q];
	set_light(q, false);
	q = 0
}

/* And takes it in again, behind the nearest one before it. */
inline take_in(i)
{
	q = (i + NODES - 1) % NODES;
	do
	:: next[q] != NOBODY || q == i -> break
	:: else -> q = (q + NODES - 1) % NODES
	od;
	lose_link(q);
	next[i] = (q == i -> i : next[q]);
	next[q] = i;
	fibre[i] = true;
	q = next[i];
	if
	:: q != i -> set_light(q, false)
	:: else
	fi;
	q = 0;
	set_downstream(i, true)
}
#endif

/* --- the end -------------------------------------------------------------- */

/* Nothing can move any more: then nothing may be waiting. */
inline nothing_waits()
{
	k = 0;
	do
	:: k < NODES ->
		assert(empty(fifo[k]) && empty(link[k]) && empty(insert[k]));
		assert(!busy(k) && !node[k].stores);
#if PACKETS
		assert(!node[k].packets && empty(owed[k]));
#endif
		k++
	:: k == NODES -> break
	od;
	k = 0
}

/* Do frames of k reach all nodes and come back? */
inline ring_is_whole()
{
	q = 1;
	k = 0;
	do
	:: k < NODES ->
		q = q && (!node[k].life || can_originate(k));
		k++
	:: k == NODES -> break
	od;
	k = 0
}

/* The books of sender k at receiver w: every number is stored or missed. */
inline receiver_balances()
{
	p = 0;
	s = 0;
	do
	:: s <= 7 -> p = p + (node[w].from[k].got >> s & 1); s++
	:: s > 7 -> break
	od;
	s = 0;
	d = node[w].from[k].first + p + node[w].from[k].missed;
	assert(d == node[w].from[k].seq);
	if
#ifndef CLOCK_BACK
	:: q && node[k].life && node[k].seq ->
		assert(node[w].from[k].life == node[k].life);
		assert(d == node[k].seq)
#endif
	:: else
	fi;
#ifdef LOSES_NOTHING
	assert(!node[w].from[k].missed);
#endif
	p = 0; d = 0
}

#if PACKETS
#define packets_of(k)	node[k].given
#else
#define packets_of(k)	0
#endif
inline books_balance()
{
	ring_is_whole();
#ifdef ENDS_WHOLE
	assert(q);
#endif
	k = 0;
	do
	:: k < NODES ->
#if PACKETS
		assert(node[k].given == node[k].ended && !node[k].under_way && !node[k].used);
#endif
		if
		:: q && node[k].life ->
			assert(node[k].seq == STORES_OF(k) + packets_of(k));
			assert(node[k].home + node[k].lost == node[k].seq);
#ifdef LOSES_NOTHING
			assert(!node[k].lost)
#endif
		:: else
		fi;
		w = 0;
		do
		:: w < NODES ->
			if
			:: w != k && node[w].life -> receiver_balances()
			:: else
			fi;
			w++
		:: w == NODES -> break
		od;
		k++
	:: k == NODES -> break
	od;
#ifdef NO_OVERRUN
	assert(!overrun);
#endif
	k = 0; w = 0; q = 0
}

/* --- steps ---------------------------------------------------------------- */

#ifdef NO_EXPIRY
#define EXPIRY(i)
#else
#define EXPIRY(i) \
	:: d_step { !node[i].open && in_flight(i) -> node[i].open = true }
#endif

#define NODE_STEPS(i) \
	:: d_step { node[i].stores -> store(i) } \
	:: d_step { can_originate(i) && nempty(insert[i]) && has_credit(i) && room_for_own(i) -> \
		launch(i) } \
	RACE_STEPS(i) \
	:: d_step { node[i].down && fibre[i] && !busy(i) && nfull(link[i]) && \
		nempty(fifo[i]) -> pull(i) } \
	:: d_step { beats && can_originate(i) -> beats--; send_notice(i) } \
	EXPIRY(i) FINISH(i) PACKET_STEPS(i)

#ifdef RACE
/* A store that looked before the signal went, and comes in after. */
#define RACE_STEPS(i) \
	:: d_step { node[i].stores && !can_originate(i) && nfull(insert[i]) -> \
		node[i].stores--; insert[i]!node[i].dropped, 0; node[i].dropped = 0 } \
	:: d_step { node[i].life && !can_originate(i) && nempty(insert[i]) -> drop_waiting(i) }
#else
#define RACE_STEPS(i)
#endif

#ifdef CAUSAL
#define FINISH(i)	:: d_step { busy(i) -> finish(i) }
#else
#define FINISH(i)
#endif

/* What passes from i to j, and what may become of it on the way. */
#define LINK_STEPS(i, j) \
	:: d_step { next[i] == j && nempty(link[i]) && node[j].lit && !busy(j) && may_take(j) -> \
		link[i]?w, s, p, d; receive(j) } \
	:: d_step { next[i] == j && fibre[i] && node[j].life && !node[j].lit -> set_light(j, true) } \
	LINK_FAULTS(i) CUT_STEPS(i, j)

#if DROPS || DOUBLES || SWAPS || ROGUES
#define LINK_FAULTS(i) \
	:: d_step { drops && nempty(link[i]) -> \
		drops--; link[i]?w, s, p, d; w = 0; s = 0; p = 0; d = 0 } \
	:: d_step { doubles && nempty(link[i]) && nfull(link[i]) -> \
		doubles--; link[i]?<w, s, p, d>; link[i]!w, s, p, d; w = 0; s = 0; p = 0; d = 0 } \
	:: d_step { swaps && len(link[i]) == LINK -> \
		swaps--; link[i]?w, s, p, d; link[i]!w, s, p, d; w = 0; s = 0; p = 0; d = 0 } \
	:: d_step { rogues && nfull(link[i]) -> \
		rogues--; link[i]!WHO(NOBODY, 1, NUMBERED), 1, PATH(1, 0), 0 }
#else
#define LINK_FAULTS(i)
#endif

#if defined(HUB)
#define CUT_STEPS(i, j)
#define NODE_FAULTS(i) \
	:: d_step { cuts && next[i] != NOBODY && next[i] != i -> \
		cuts--; bypass(i); set_light(i, false); set_downstream(i, false) } \
	:: d_step { deaths && MORTAL >> i & 1 && node[i].life && next[i] != NOBODY && next[i] != i -> \
		deaths--; end_life(i); bypass(i) } \
	BIRTH(i) \
	:: d_step { next[i] == NOBODY && node[i].life -> take_in(i) }
#elif CUTS || DEATHS
/* A cut, or the death of an end; each end learns of it in its own time. */
#define CUT_STEPS(i, j) \
	:: d_step { cuts && fibre[i] -> cuts--; fibre[i] = false } \
	:: d_step { !fibre[i] && nempty(link[i]) -> lose_link(i) } \
	:: d_step { !fibre[i] && node[i].down -> set_downstream(i, false) } \
	:: d_step { !fibre[i] && empty(link[i]) && node[j].lit -> set_light(j, false) } \
	RESTORE(i, j)
#define NODE_FAULTS(i) \
	:: d_step { deaths && MORTAL >> i & 1 && node[i].life -> \
		deaths--; end_life(i); fibre[i] = false; \
		fibre[(i + NODES - 1) % NODES] = false; lose_link((i + NODES - 1) % NODES) } \
	BIRTH(i)
#else
#define CUT_STEPS(i, j)
#define NODE_FAULTS(i)
#endif

#ifdef NO_RETURN
#define BIRTH(i)
#define RESTORE(i, j)
#else
#define BIRTH(i) \
	:: d_step { !node[i].life -> begin_life(i) }
#define RESTORE(i, j) \
	:: d_step { !fibre[i] && empty(link[i]) && node[i].life && node[j].life && \
		!node[i].down && !node[j].lit -> fibre[i] = true; set_downstream(i, true) }
#endif

#define ALL_OF(i)	NODE_STEPS(i) NODE_FAULTS(i)
#if NODES == 2
#ifdef HUB
#define ALL_LINKS	LINK_STEPS(0, 0) LINK_STEPS(0, 1) LINK_STEPS(1, 0) LINK_STEPS(1, 1)
#else
#define ALL_LINKS	LINK_STEPS(0, 1) LINK_STEPS(1, 0)
#endif
#define ALL_STEPS	ALL_OF(0) ALL_OF(1) ALL_LINKS
#else
#ifdef HUB
#define ALL_LINKS \
	LINK_STEPS(0, 0) LINK_STEPS(0, 1) LINK_STEPS(0, 2) LINK_STEPS(1, 0) LINK_STEPS(1, 1) \
	LINK_STEPS(1, 2) LINK_STEPS(2, 0) LINK_STEPS(2, 1) LINK_STEPS(2, 2)
#else
#define ALL_LINKS	LINK_STEPS(0, 1) LINK_STEPS(1, 2) LINK_STEPS(2, 0)
#endif
#define ALL_STEPS	ALL_OF(0) ALL_OF(1) ALL_OF(2) ALL_LINKS
#endif

#define may_happen	(beats || cuts || deaths || drops || doubles || swaps || rogues)

active proctype ring()
{
	d_step {
		do
		:: k < NODES ->
			begin_life(k);
			next[k] = (k + 1) % NODES;
			fibre[k] = true;
			node[k].lit = true;
			node[k].down = true;
#ifndef STARTS_OPEN
			/* The first heartbeats are home. */
			node[k].open = false;
			do
			:: q < NODES -> node[k].from[q].life = (q != k -> life_of(1) : 0); q++
			:: q == NODES -> break
			od;
			q = 0;
#endif
			k++
		:: k == NODES -> break
		od;
		k = 0
	}
	do
	ALL_STEPS
#ifdef SILENCE_REVIVES
	:: !quiet -> quiet = true
#endif
	:: d_step { may_happen -> beats = 0; cuts = 0; deaths = 0; drops = 0; doubles = 0;
		swaps = 0; rogues = 0 }
	:: else ->
		/* All is quiet. Each node's last heartbeat, one after the other. */
		d_step {
			nothing_waits();
			if
			:: phase < NODES && can_originate(phase) -> send_notice(phase)
			:: else
			fi;
			phase++
		}
		if
		:: phase > NODES -> break
		:: else
		fi
	od;
	skip;
	d_step { books_balance() }
}
