/* SPDX-License-Identifier: MIT */
/*
 * Packets in the model of the ring: ring/packet.c, and whoever answers requests
 * (ring/remote.c). Part of ring.pml, which says what a frame and a node are.
 *
 * A packet is a frame with a number whose path also says whom it is for. Each has
 * one piece; there is none for all nodes.
 */

#if PACKETS

/* --- own ------------------------------------------------------------------ */

/* Half of the window, and one always. */
#define may_packet(i)	(node[i].given == node[i].ended || \
			 node[i].given - node[i].ended + 1 <= WINDOW / 2)

/* The producer is told when there is no signal, and waits for room as long as it likes. */
inline send_packet(i, packet)
{
	node[i].given++;
	insert[i]!node[i].dropped, seen_by(i) | packet << 8;
	node[i].dropped = 0
}

/* The record got its number. */
#define number_packet(i, record) \
	node[i].under_way = node[i].under_way | (FOR_IN(record) != 0) << node[i].seq; \
	node[i].answering = node[i].answering | (FOR_IN(record) >> 2) << node[i].seq; \
	has_left(i)
#if FAULTS
#define has_left(i)	skip
#else
#define has_left(i)	left[i] = left[i] | 1 << node[i].seq
#endif

/* How a packet ends. */
#define IS_TAKEN	1
#define IS_NOT_TAKEN	2		/* NO_ROOM, NO_NODE; DARK */
#ifdef LOST_IS_NOT_TAKEN
#define IS_LOST		IS_NOT_TAKEN
#else
#define IS_LOST		3		/* taken or not */
#endif

/* Is it true? */
inline end_packet(i, x, fate)
{
	assert(fate != IS_TAKEN || handed[i] & NUMBER(node[i].life, x));
	assert(fate != IS_NOT_TAKEN || !(handed[i] & NUMBER(node[i].life, x)));
#if defined(LOSES_NOTHING) || defined(NO_EXPIRY) && !FAULTS
	assert(fate != IS_LOST || overrun);
#endif
	if
	:: fate == IS_NOT_TAKEN -> denied[i] = denied[i] | NUMBER(node[i].life, x)
	:: else
	fi;
	if
	:: node[i].answering >> x & 1 -> node[i].used--
	:: else
	fi;
	node[i].under_way = node[i].under_way & ~(1 << x);
	node[i].answering = node[i].answering & ~(1 << x);
	node[i].ended++
}

/* rfm_packets_end(): those up to that number. */
inline end_packets(i, last, fate)
{
	n = 1;
	do
	:: n <= last && n <= 7 ->
		if
		:: node[i].under_way >> n & 1 -> end_packet(i, n, fate)
		:: else
		fi;
		n++
	:: else -> break
	od;
	n = 0
}

/* rfm_packet_dropped(): the record that has just got its number, after those before it. */
inline drop_packet(i, record)
{
	if
	:: FOR_IN(record) ->
		end_packets(i, 7, IS_LOST);
		node[i].answering = (FOR_IN(record) >> 2) << node[i].seq;
		end_packet(i, node[i].seq, IS_NOT_TAKEN)
	:: else
	fi
}

/* fate_of() */
#ifdef LATE_IS_NO_NODE
#define nobody_knows(marks)	false
#elif COPIES == 2 && !defined(COPY_IS_NO_NODE)
/* Of two copies one may pass a node by that has the other. */
#define nobody_knows(marks)	(!(marks & SEEN))
#else
#define nobody_knows(marks)	((marks & (SEEN | UNSTORED)) == UNSTORED)
#endif
#define fate_of(marks) \
	(marks & TAKEN -> IS_TAKEN : (nobody_knows(marks) -> IS_LOST : IS_NOT_TAKEN))

/* rfm_packet_home(), and what rfm_retire_up_to() does about packets */
inline end_by_what_is_home(i)
{
	if
	:: IS_PACKET(p) && s > node[i].home_seq ->
		end_packets(i, s - 1, IS_LOST);
		end_packets(i, s, fate_of(MARKS(p)))
	:: else
	fi;
	end_packets(i, s, IS_LOST)
}

/* The program gives room for messages when it likes. */
inline begin_packets(i)
{
	node[i].packets = PACKETS_OF(i);
#ifndef ANSWERED
	node[i].used = (PACKETS_OF((i + NODES - TO) % NODES) -> ROOM : 0)
#endif
}

inline forget_packets(i)
{
	node[i].packets = 0; node[i].given = 0; node[i].ended = 0; node[i].used = 0;
	do
	:: nempty(owed[i]) -> owed[i]?d
	:: empty(owed[i]) -> break
	od;
	d = 0
}

#ifdef PACKETS_FIRST
/* As a FIFO of its own would do: what has just come in, if it is a packet, goes first. */
hidden byte w2, s2, d2;
hidden PATH_TYPE p2;
inline overtake(i, path)
{
	n = (IS_PACKET(path) -> len(fifo[i]) : 1);
	do
	:: n > 1 -> fifo[i]?w2, s2, p2, d2; fifo[i]!w2, s2, p2, d2; n--
	:: n <= 1 -> break
	od;
	n = 0
}
#else
#define overtake(i, path)	skip
#endif

/* --- of others ------------------------------------------------------------ */

#define is_for_us(i)	(IS_PACKET(p) && IS_FOR(p, i) && SOURCE(w) != i && welcome(i))

/* An answer finds the place that was kept when it was asked for. */
#if defined(ANSWERS_WITHOUT_SLOT) || defined(TAKING_WAITS)
#define has_room(i)	true
#else
#define has_room(i)	(IS_ANSWER(p) || node[i].used < ROOM)
#endif

/* rfm_packet_judge(): is there room? Said before it is passed on, and then so. */
inline judge(i)
{
	if
	:: is_for_us(i) && s > last_of(i) ->
		v = SEEN | (has_room(i) -> TAKEN : 0);
		node[i].used = node[i].used + (v & TAKEN && !IS_ANSWER(p));
#if COPIES == 2
		src.verdict = v
	/* A second copy. */
	:: is_for_us(i) && s == last_of(i) ->
#ifndef COPY_NOT_JUDGED
		v = src.verdict
#endif
#endif
	:: else
	fi;
#ifdef TAKEN_UNSEEN
	p = p | PATH(0, (v -> SEEN | TAKEN : 0))
#else
	p = p | PATH(0, v)
#endif
}

#ifdef ANSWERS_WITHOUT_SLOT
/* Numbered, but like a notice: into the FIFO, for which no credit is asked. */
inline owe_answer(i)
{
	if
	:: room(i) ->
		node[i].seq++;
		node[i].given++;
		node[i].own_queued++;
		number_packet(i, FOR(SOURCE(w), 1) << 8);
		fifo[i]!WHO(i, node[i].life, NUMBERED), node[i].seq, PATH(1, 0) | ADDRESS(FOR(SOURCE(w), 1)), 0
	:: !room(i) -> overrun = true
	fi
}
#else
inline owe_answer(i)
{
	owed[i]!SOURCE(w)
}
#endif

/* Once; never, if it was said that it was not; and with all that its sender has sent before. */
inline hand_over(i)
{
	assert(!(handed[SOURCE(w)] & NUMBER(LIFE(w), s)));
	assert(!(denied[SOURCE(w)] & NUMBER(LIFE(w), s)));
	handed[SOURCE(w)] = handed[SOURCE(w)] | NUMBER(LIFE(w), s);
#if !FAULTS
	assert(overrun || !(left[SOURCE(w)] & (1 << s) - 1 & ~src.got));
#endif
#ifdef ANSWERED
	if
	:: !IS_ANSWER(p) -> owe_answer(i)
	:: IS_ANSWER(p)
	fi
#endif
}

inline hand_over_if_taken(i)
{
	if
	:: v & TAKEN -> hand_over(i)
	:: else
	fi
}

#define verdict_is(marks)	v = marks
#if COPIES == 2
#define forget_verdict(i, x)	node[i].from[x].verdict = 0
#else
#define forget_verdict(i, x)	skip
#endif

/* --- steps ---------------------------------------------------------------- */

#define may_queue_packet(i)	(can_originate(i) && nfull(insert[i]) && may_packet(i))

#define PACKET_STEPS(i) \
	:: d_step { node[i].packets && may_queue_packet(i) -> \
		node[i].packets--; send_packet(i, FOR((i + TO) % NODES, 0)) } \
	:: d_step { node[i].packets && !can_originate(i) -> node[i].packets-- } \
	ROOM_STEPS(i) PACKET_EXPIRY(i) PACKET_RACE(i)

#ifdef ANSWERED
#define ROOM_STEPS(i) \
	:: d_step { nempty(owed[i]) && may_queue_packet(i) -> \
		owed[i]?d; send_packet(i, FOR(d, 1)); d = 0 } \
	:: d_step { nempty(owed[i]) && !can_originate(i) -> owed[i]?d; node[i].used--; d = 0 }
#else
/* The program has looked at what has come. */
#define ROOM_STEPS(i) \
	:: d_step { node[i].used -> node[i].used-- }
#endif

#if defined(NO_EXPIRY) || defined(PACKETS_NEVER_EXPIRE)
#define PACKET_EXPIRY(i)
#else
#define FIRST_OF(bits)	(bits & 2 -> 1 : (bits & 4 -> 2 : (bits & 8 -> 3 : (bits & 16 -> 4 : \
			 (bits & 32 -> 5 : (bits & 64 -> 6 : 7))))))
#define PACKET_EXPIRY(i) \
	:: d_step { node[i].under_way -> end_packets(i, FIRST_OF(node[i].under_way), IS_LOST) }
#endif

#ifdef RACE
#define PACKET_RACE(i) \
	:: d_step { node[i].packets && !can_originate(i) && nfull(insert[i]) -> \
		node[i].packets--; send_packet(i, FOR((i + TO) % NODES, 0)) }
#else
#define PACKET_RACE(i)
#endif

#else
#define number_packet(i, record)	skip
#define end_packets(i, last, fate)	skip
#define drop_packet(i, record)		skip
#define end_by_what_is_home(i)		skip
#define begin_packets(i)		skip
#define forget_packets(i)		skip
#define overtake(i, path)		skip
#define judge(i)			skip
#define hand_over_if_taken(i)		skip
#define verdict_is(marks)		skip
#define forget_verdict(i, x)		skip
#define PACKET_STEPS(i)
#endif
