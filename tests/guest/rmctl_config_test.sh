#!/bin/sh
# SPDX-License-Identifier: MIT
# The verbs of rmctl that speak to the driver by netlink, on real cards.  Runs inside a guest,
# prints TAP.
#
# usage: rmctl_config_test.sh DEV PEER BASE ALONE BETWEEN LONELY
#
# rmctl_lib.sh has RMCTL, PROGRAMS and JSON_LOG.
# DEV, BETWEEN and PEER are a ring, in this order.  BASE has no extension block and is its own
# ring, as is LONELY, which has it.  ALONE has a window of 16 MiB that moves, and no neighbours.

dev=$1 peer=$2 base=$3 alone=$4 between=$5 lonely=$6

# shellcheck source-path=SCRIPTDIR source=rmctl_lib.sh
. "$(dirname "$0")/rmctl_lib.sh"

# value FILE KEY: of a flat key in the JSON of $1, as it is written there
value() { sed "s/.*\"$2\":\([^,}]*\).*/\1/" "$1"; }

run -j show "$dev"
node=$(value "$out" node)
size=$(value "$out" memory_size)
run -j show "$peer"
peer_node=$(value "$out" node)
run -j show "$between"
between_node=$(value "$out" node)

# has_cause CAUSE DEV: show names it
has_cause() { "$rmctl" -j show "$2" | grep -q "\"cause\":\"$1\""; }

# --- set --------------------------------------------------------------------------------

run set "$dev"
check "rmctl set shows all settings" [ "$status" -eq 0 -a ! -s "$err" -a "$(wc -l <"$out")" -eq 17 ]
check "each with its value" has_lines "$out" '^led +off$' '^transmit +on$' '^loopback +off$' \
	'^dark-on-dark +off$' '^parity +off$' '^own-data +(on|off)$' '^byte-swap +off$' '^dma-byte-swap +off$' \
	'^window +0$' '^offset +0$' '^policy +all$' '^dma-read-threshold +16K$' '^dma-write-threshold +4097$' \
	'^moderation-count +[0-9]+$' '^moderation-time +50us$' \
	'^burst +off$' '^burst-period +1ms$'
run -j set "$dev"
check "set -j has them too" has_lines "$out" '"led":false,"transmit":true,.*"base_policy":"all"'
generation=$(value "$out" generation)

good_silent set "$dev" led=on dark-on-dark=on
run -j set "$dev"
check "two are set at once" has_lines "$out" '"led":true,.*"dark_on_dark":true'
check "and that is one change" [ "$(value "$out" generation)" -eq $((generation + 1)) ]
run -j set "$dev" dark-on-dark=off led=off
check "set -j tells how they are afterwards" has_lines "$out" '"led":false,.*"dark_on_dark":false'
good_silent set "$dev" own-data=off
good_silent set "$dev" window=0
good_silent set "$dev" dma-read-threshold=0 dma-write-threshold=1M moderation-count=3 moderation-time=1ms
run set "$dev"
check "thresholds and moderation are as set" has_lines "$out" '^dma-read-threshold +0$' \
	'^dma-write-threshold +1M$' '^moderation-count +3$' '^moderation-time +1ms$'
good_silent set "$dev" dma-read-threshold=16K dma-write-threshold=4097 moderation-count=1 moderation-time=50us
good_silent set "$dev" burst=0x100000+64K burst-period=250us
run set "$dev"
check "a burst range is as set" has_lines "$out" '^burst +0x100000\+64K$' '^burst-period +250us$'
run show "$dev"
check "show has it" has_lines "$out" '^  burst range +0x100000\+64K$' '^  burst period +250us$'
run -j set "$dev"
check "set -j has it" has_lines "$out" '"burst":\{"offset":1048576,"length":65536\},"burst_period_ns":250000'
good_silent set "$dev" burst-period=1s
good_silent poke "$dev" 0x100ffc 0x12345678
run fence "$dev"
good '0x00100ffc: 0x12345678' peek "$dev" 0x100ffc
run -j stats "$dev"
check "what was stored there is sent before a fence" has_lines "$out" '"burst_bytes":4,"burst_late":0'
good_silent set "$dev" burst=off burst-period=1ms

run -j set "$dev"
before=$(cat "$out")
wrong_word() { bad 2 "$dev: set: $2 .*" set "$dev" parity=on "$1"; } # wrong_word WORD REGEX
for value in 1 '' ON onn; do
	wrong_word "led=$value" "led is on or off, not '$value'"
done
for name in '' LED leds 'led '; do
	wrong_word "$name=on" "there is no setting '$name'"
done
for value in mask '' some; do
	wrong_word "policy=$value" "policy is all or none, not '$value'"
done
for value in 2s 50xs; do
	wrong_word "moderation-time=$value" \
		"moderation-time is a time such as 50us, 1ms or 0, at most 1s, not '$value'"
done
no_range='is no range such as 0x1000-0x1fff, 0x1000\+4K or a name'
no_names='no file says what a name means: use -R FILE, RFM_REGIONS or /etc/rfm/regions.yaml'
wrong_word window=x "window 'x' is not a number"
wrong_word window=-1 "window '-1' is negative"
wrong_word offset=4G "offset '4G' is not a number"
wrong_word dma-read-threshold=x "dma-read-threshold 'x' is not a number"
for value in 0x1000+1 1+4096 0x800 0x1000-0x1ffe; do
	wrong_word "burst=$value" "burst begins and ends at a multiple of 4K, not '$(echo "$value" | tr + .)'"
done
for value in on 0x2000-0x1000 0x1000+ 4G+4K; do
	wrong_word "burst=$value" "burst is a range such as 0x800000\+8M, or off, not '$(echo "$value" | tr + .)'"
done
for value in 0 99us 2s 1ms1; do
	wrong_word "burst-period=$value" \
		"burst-period is a time such as 200us or 1ms, from 100us to 1s, not '$value'"
done
bad 3 "$dev: set: the burst range reaches past the end of the memory" set "$dev" parity=on \
	"burst=$size+4K"
bad 3 "$dev: set: the period of a burst range is in whole microseconds" set "$dev" parity=on \
	burst-period=100500ns
wrong_word moderation-count=0 'moderation-count must be at least 1'
wrong_word moderation-count=32768 "moderation-count '32768' is too large, at most 0x7fff fits"
wrong_word rx=x "$no_names"
wrong_word own=nosuchregion "$no_names"
wrong_word rx=0x10 "'0x10' $no_range"
wrong_word own= "'' $no_range"
wrong_word tx=0x2000-0x1000 "range '0x2000-0x1000' ends before it begins"
wrong_word rx=0x1000+0 'length must be at least 1'
wrong_word led "'led' is not of the form NAME=VALUE"
wrong_word own-data=on 'own-data can be cleared only'
wrong_word parity=off 'parity is given twice'
bad 2 "$dev: set: rx is given twice .*" set "$dev" rx=all rx=none
bad 3 "$dev: set: the address offset is 0, 64, 128 or 192 MiB" set "$dev" parity=on offset=32M
bad 3 "$dev: set: the window begins at a multiple of its size, inside the memory" \
	set "$dev" parity=on window=4K
bad 3 "$dev: set: so many events do not fit into half of the event ring" \
	set "$dev" parity=on moderation-count=32767
end=$(printf 0x%x "$size")
bad 3 "$dev: set: 64 bytes at offset $end are out of range: the memory ends at $end" \
	set "$dev" parity=on rx="$size+64"
run -j set "$dev"
check "bad input has set nothing" [ "$(cat "$out")" = "$before" ]

no_extension='the card has no extension block'
no_masks="$no_extension, it receives and sends everything"
bad 3 "$base: set: $no_masks" set "$base" led=on policy=none
bad 3 "$base: set: $no_masks" set "$base" led=on rx=0x1000+4K
bad 3 "$base: set: the card has no event ring, there is nothing to moderate" \
	set "$base" led=on moderation-count=2
bad 3 "$base: set: the card can have no burst range" set "$base" led=on burst=0+4K
bad 3 "$peer: set: this card can have no burst range: in QEMU it needs an iothread" set "$peer" led=on burst=0+4K
run set "$base"
check "refused on a base card, nothing is changed" has_lines "$out" '^led +off$'
bad 3 "rfm255: set: there is no such card" set rfm255 led=on
bad 2 "00:20.0: set: '00:20.0' names no card; say rfm0, /dev/rfm0 or a PCI address .*" set 00:20.0

good_silent set "$alone" window=16M
good_silent poke "$alone" 0x1000100 0x22222222
good '0x01000100: 0x22222222' peek "$alone" 0x1000100
run dump "$alone" 0x1000100 4 --raw
check "dump in a window that was moved" [ "$(cat "$out")" = '""""' ]
run show "$alone"
check "show says where a window that was moved begins" has_lines "$out" \
	'^  window +16 MiB from offset 0x1000000$'
bad 3 "$alone: peek: 4 bytes at offset 0x100 are outside the card's window, which is 0x1000000 bytes from 0x1000000" \
	peek "$alone" 0x100
run subscribe "$alone" 0x1000000+64 --while "\"$rmctl\" set $alone window=0 2>$dir/held"
check "a window that is in use does not move" has_lines "$dir/held" \
	"^rmctl: $alone: set: the window is not moved under a mapping, a subscription, a watch, a read or a write\$"
good_silent set "$alone" window=0
head -c 3000000 /dev/urandom >"$dir/random"
before pwrite "/dev/$alone" 2 "\"$rmctl\" set $alone window=16M 2>$dir/held" \
	load "$alone" "$dir/random" 8M -y
check "nor does it between two blocks of a transfer" has_lines "$dir/held" 'set: the window is not moved'
run save "$alone" 8M+3000000 "$dir/back"
check "which lands where it should" cmp "$dir/random" "$dir/back"

# --- rights -----------------------------------------------------------------------------

echo 'user:x:1000:1000::/:/bin/sh' >>/etc/passwd
as_user() { # as_user MODE RMCTL-ARG...: as somebody for whom the device node has this mode
	chmod "$1" "/dev/$dev"
	shift
	su -c 'exec "$0" "$@"' -- user "$rmctl" "$@" >"$out" 2>"$err"
	status=$?
	keep_json "$@"
	chmod 600 "/dev/$dev"
}
user_may() { as_user "$@"; check "a user with mode $1 may $2" [ "$status" -eq 0 -a ! -s "$err" ]; }
user_may_not() { # user_may_not SENTENCE MODE ARG...
	local sentence=$1
	shift
	as_user "$@"
	check "a user with mode $1 may not $2" complains 3 "$sentence"
}
write="needs a descriptor of the card that is open for writing, or CAP_NET_ADMIN"
any="needs a descriptor of the card, or CAP_NET_ADMIN"
chmod 711 "$dir"
user_may_not "list: cannot list the cards: $any" 600 list
echo 1 >/proc/sys/kernel/dmesg_restrict
as_user 600 report
check "a user with mode 600 is told what report could not ask" [ "$status" -eq 4 -a ! -s "$err" ]
check "and why" has_lines "$out" "^$dev: mode 0600, closed to this user; events unknown\$" \
	"^rmctl: list: cannot list the cards: $any\$" "^rmctl: $dev: show: $any\$" '^this user may not read it$'
user_may_not "$dev: show: $any" 600 show "$dev"
user_may_not "$dev: stats: $any" 600 stats "$dev"
user_may_not "$dev: map: $any" 600 map "$dev"
user_may_not "$dev: set: $any" 600 set "$dev"
user_may_not "monitor: hearing of all cards needs CAP_NET_ADMIN" 604 monitor --count=1
user_may 604 -j list
check "the list is of the card that may be opened" has_lines "$out" "\"device\":\"$dev\""
user_may 604 -j show "$dev"
user_may 604 stats "$dev"
user_may 604 map "$dev"
user_may 604 set "$dev"
user_may_not "$dev: set: $write" 604 set "$dev" led=on
user_may 606 set "$dev" led=on
user_may 606 set "$dev" led=off
user_may_not "$dev: set: $write" 604 set "$dev" dma-read-threshold=4K
user_may 606 set "$dev" dma-read-threshold=4K
user_may 606 set "$dev" dma-read-threshold=16K
user_may_not "$dev: stats: $write" 604 stats "$dev" --reset
user_may_not "$dev: subscribe: $write" 604 subscribe "$dev" 0x1000+64
user_may_not "$dev: poke: cannot open /dev/$dev for writing: Permission denied" 604 poke "$dev" 0 1
user_may_not "$dev: subscriptions: $any" 600 subscriptions "$dev"
user_may 604 -j subscriptions "$dev"
user_may 606 subscribe "$dev" 0x1000+64 --own --while true
run -j set "$dev"
check "nothing was changed without the right" has_lines "$out" '"led":false,.*"base_policy":"all"'

# --- stats ------------------------------------------------------------------------------

run stats "$dev"
check "rmctl stats" [ "$status" -eq 0 -a ! -s "$err" ]
check "stats has 50 counters of the card and 7 of the driver" \
	[ "$(grep -cE '^  [a-z_]+ +[0-9]' "$out")" -eq 57 ]
check "sizes and times of it are in units" has_lines "$out" '^  stores +[0-9]+$' \
	'^  sent_bytes +[0-9.]+ (B|[KMG]iB)$' '^  filtered_rx +[0-9.]+ (B|[KMG]iB)$' \
	'^  stall +[0-9.]+ [num]?s$' '^  turn +[0-9.]+ [num]?s$' '^  dma_bytes +[0-9.]+ (B|[KMG]iB)$'
"$rmctl" poke "$dev" 0x200 7
run -j stats "$dev"
check "stats counts stores" [ "$(value "$out" stores)" -gt 0 ]
good_silent stats "$dev" --reset
run -j stats "$dev"
check "after --reset it counts from there" [ "$(value "$out" stores)" -eq 0 ]
check "and says since when" has_lines "$out" '"reset_ns":[0-9]+'
"$rmctl" poke "$dev" 0x200 1 2 3
run -j stats "$dev"
check "three stores are three" [ "$(value "$out" stores)" -eq 3 ]
run -j stats "$dev" --absolute
check "--absolute counts what was before" [ "$(value "$out" stores)" -gt 3 ]
run -j stats "$dev" --reset
check "--reset -j prints what is left" [ "$(value "$out" stores)" -eq 0 ]
bad 2 "$dev: stats: --reset and --absolute exclude each other .*" stats "$dev" --reset --absolute
run -j stats "$base"
check "a base card counts nothing, its driver does" has_lines "$out" \
	'"clock_ns":null,.*"counters":null,"driver":\{"interrupts":[0-9]+,'
run stats "$base"
check "and says so" has_lines "$out" '^  nothing: it has no extension block$'

# --- the ring ---------------------------------------------------------------------------

run map "$dev"
nodes=$(printf '\\[\\*%3d\\]-->\\[ %3d\\]-->\\[ %3d\\]' "$node" "$between_node" "$peer_node")
check "map draws the ring" has_lines "$out" "^\.--->$nodes-\.\$" "^'-+'\$"
check "and has a row for each node" has_lines "$out" \
	"^$dev: 3 node\(s\), epoch [0-9]+, once round the ring: [0-9.]+ [um]s\$" \
	'^NODE +HOPS +TRANSIT +RECEIVED +MISSED +NOTE$' "^0x[0-9a-f]{2} \($node\) +0 +- +- +- +-\$" \
	"^0x[0-9a-f]{2} \($peer_node\) +1 +[0-9.]+ [um]s +[0-9]+ +0 +(-|lost its signal .* ago)\$" \
	"^0x[0-9a-f]{2} \($between_node\) +2 +[0-9.]+ [um]s +[0-9]+ +0 +(-|lost its signal .* ago)\$"
run -j map "$dev"
check "map -j" has_lines "$out" "\"count\":3,.*\"signal\":true,.*\{\"node\":$peer_node,\"hops\":1,"
run map "$alone"
check "map without light draws the break" has_lines "$out" '^\.-x->\[\* 18\]-\.$' \
	'^\* this node; -x-> it sees no light$'
bad 3 "$base: map: cannot read the ring map: $no_extension, it does not know who is on the ring" \
	map "$base"

# --- why is my update not arriving? -------------------------------------------------------

# finds CAUSE SENTENCE REMEDY DEV: show and stats say so, in words and in JSON, once the card knows
finds() {
	wait_until has_cause "$1" "$4"
	run show "$4"
	check "show says: $2" has_lines "$out" "^  - .*$2" "^      .*$3"
	run stats "$4"
	check "stats says: $2" has_lines "$out" "^  - .*$2" "^      .*$3"
	run -j show "$4"
	check "show -j has $1" has_lines "$out" "\"cause\":\"$1\""
	run -j stats "$4"
	check "stats -j has $1" has_lines "$out" "\"cause\":\"$1\""
}
quiet() { # quiet CAUSE DEV: it is gone
	run -j show "$2"
	check "show -j no longer has $1" [ "$(grep -c "\"cause\":\"$1\"" "$out")" -eq 0 ]
}

"$rmctl" stats "$dev" --reset
run show "$dev"
check "show finds nothing on a good ring" has_lines "$out" \
	"^nothing here keeps updates from arriving; 'rmctl test $dev' asks the ring\$"
good_silent set "$dev" loopback=on
finds loopback 'loopback is on' "rmctl set $dev loopback=off" "$dev"
of_itself="loopback is on: the packet came from this card's own transmitter, and tells nothing of the ring"
bad 4 "$dev: test: $of_itself" test "$dev"
run -j test "$dev"
check "test -j does not know, in loopback" matches "$out" \
	"\\{\"device\":\"$dev\",\"closed\":null,\"round_trip_ns\":null\\}"
check "and says why" says 4 "rmctl: $dev: test: $of_itself"
good_silent set "$dev" loopback=off
quiet loopback "$dev"
good_silent set "$dev" offset=64M
finds offset 'the offset is 64 MiB' "rmctl set $dev offset=0" "$dev"
good_silent set "$dev" offset=0 byte-swap=on
finds byte-swap 'byte-swap is on' "rmctl set $dev byte-swap=off" "$dev"
good_silent set "$dev" byte-swap=off dma-byte-swap=on
finds byte-swap 'dma-byte-swap is on' "rmctl set $dev dma-byte-swap=off" "$dev"
good_silent set "$dev" byte-swap=off
run set "$dev"
check "byte-swap alone is both" has_lines "$out" '^byte-swap +off$' '^dma-byte-swap +off$'
good_silent set "$dev" policy=none
finds not-subscribed 'the base policy is none' "rmctl subscribe $dev RANGE" "$dev"
run show "$dev"
check "show says what the policy none means" has_lines "$out" \
	'^  base policy +none: the card receives and sends what somebody has subscribed to$'
good_silent set "$dev" policy=all
quiet not-subscribed "$dev"
good_silent set "$dev" transmit=off
finds transmit-off 'the transmitter is off' "rmctl set $dev transmit=on" "$dev"
finds no-signal 'the receiver sees no light' 'fibre' "$alone"
good_silent set "$dev" transmit=on
good_silent set "$peer" transmit=off
finds no-signal 'the receiver sees no light' 'fibre' "$dev"
# What this one sends reaches the peer, and does not come home.
on_its_own() { "$rmctl" map "$1" | grep -q ': 1 node(s), .* the ring is open$'; }
wait_until on_its_own "$between"
absent="; (.*, )?node 0x[0-9a-f]{2} \\($peer_node\\) last heard .* ago.*"
bad 1 "$between: fence: it has not come home within 20 ms$absent" fence "$between" -t 20ms
run -j fence "$between" -t 20ms
check "fence -j, too" matches "$out" \
	"\{\"device\":\"$between\",\"complete\":false,\"flags\":\[\"timeout\"\],\"lost\":null,\"epoch\":null,\"wait_ns\":null,\"paused\":\[\],\"gone\":\[.*\]\}"
check "with the sentence" says 1 "rmctl: $between: fence: it has not come home within 20 ms$absent"
"$rmctl" -j fence "$between" -t 20ms >/dev/full 2>"$err"
status=$? && : >"$out"
check "when its output goes nowhere only that is said" complains 3 \
	"$between: fence: cannot write to standard output: No space left on device"
before ioctl "/dev/$between" 3 'kill -CONT $PROGRAM' fence "$between" -t 20ms
check "fence waits on when it was stopped" complains 1 \
	"$between: fence: it has not come home within 20 ms$absent"
before ioctl "/dev/$between" 3 'kill -INT $PROGRAM' fence "$between" -t 20
check "an interrupted fence says that it does not know" complains 3 \
	"$between: fence: interrupted: it has not come home yet"
good_silent set "$peer" transmit=on
ring_closes "$dev"
finds sync-lost 'the receiver lost its signal' "rmctl monitor $dev" "$dev"
# Else the last that is heard of a node may still be that it has lost its signal, above.
all_are_back() { "$rmctl" map "$1" | grep -q ': 3 node(s), '; }
wait_until all_are_back "$dev"
good_silent set "$between" transmit=off
wait_until has_cause no-signal "$peer"
"$rmctl" poke "$dev" 0x300 1 2 3
finds ring-open 'the ring is open behind this node: .* [1-9][0-9]* own frame\(s\)' \
	"rmctl map $dev shows where" "$dev"
finds breaks "node 0x[0-9a-f]+ \($peer_node\) has lost its signal: the ring is open just before it" \
	"rmctl map $dev says" "$dev"
wait_until on_its_own "$dev"
gone='last heard [0-9.]+ m?s ago'
run map "$dev"
check "map draws an open ring as open" has_lines "$out" \
	"^\.--->$(printf '\\[\\*%3d\\]' "$node")x\.\$" '^\* this node; -x it is open behind this node$'
check "and has a row for each node that went" has_lines "$out" \
	"^0x[0-9a-f]{2} \($peer_node\) +- +- +[0-9]+ +[0-9]+ +$gone, when it lost its signal\$" \
	"^0x[0-9a-f]{2} \($between_node\) +- +- +[0-9]+ +[0-9]+ +$gone\$"
run -j map "$dev"
check "map -j has no old time of a turn, and who went" has_lines "$out" \
	"\"turn_ns\":null,.*\"gone\":\[.*\{\"node\":$between_node,\"heard_ago_ns\":[0-9]+,\"broke_ago_ns\":"
finds absent "node 0x[0-9a-f]+ \($between_node\) $gone" 'look at it' "$dev"
good_silent set "$between" transmit=on
ring_closes "$dev"
nothing_now() { ! "$rmctl" -j show "$dev" | grep -q '"now":true'; }
wait_until nothing_now
run show "$dev"
check "what was is told behind what is, with its time" has_lines "$out" '^what has happened:$' \
	"^  - [1-9] time\(s\) another node .* node 0x[0-9a-f]+ \($peer_node\): .*, the last .* s ago\$"
run -j show "$dev"
check "show -j has no cause of now any more" [ "$(grep -c '"now":true' "$out")" -eq 0 ]
quiet ring-open "$dev"
bad 1 "$dev: fence: [1-9][0-9]* frame\(s\) did not reach every node" fence "$dev" -t 20
good "$dev: everything is at every node, after .*" fence "$dev" -t 20
"$rmctl" poke "$alone" 0x300 1
finds dark '[1-9][0-9]* own frame\(s\) were not sent' 'store again' "$alone"
finds alone 'no other node has been heard' 'look at the other nodes' "$lonely"
good_silent set "$base" own-data=off
finds no-own-data 'no packet of this node has come home' "rmctl test $base" "$base"
all_sent "$base"
quiet no-own-data "$base"

# --- base masks: subscribe, unsubscribe, owners -----------------------------------------------

# stored OFFSET VALUE: by the peer, and it is at every node that receives it; leaves what DEV has
stored() {
	"$rmctl" poke "$peer" "$1" "$2" && "$rmctl" fence "$peer" -t 20 >/dev/null &&
		has=$("$rmctl" peek "$dev" "$1")
}
received() { stored "$@" && [ "$has" = "$(printf '0x%08x: 0x%08x' "$1" "$2")" ]; }
not_received() { stored "$@" && [ "$has" != "$(printf '0x%08x: 0x%08x' "$1" "$2")" ]; }

for offset in 0x5000 0x5040 0x7000; do received $offset 0; done
good_silent set "$dev" policy=none
check "policy none: nothing arrives" not_received 0x5000 0x11
good_silent subscribe "$dev" 0x5000+64
check "what is subscribed arrives" received 0x5000 0x12
check "and only that" not_received 0x5040 0x13
run -j set "$dev"
check "the policy is a mask then" has_lines "$out" '"base_policy":"mask"'
run show "$dev"
check "show says what that means" has_lines "$out" \
	'^  base policy +a mask, and what somebody has subscribed to$'
good "\{\"device\":\"$dev\",\"subscribed\":true,\"planes\":\[\"rx\",\"tx\"\],\"ranges\":\[\{\"offset\":20480,\"length\":4096\},\{\"offset\":28672,\"length\":64\}\],\"base_policy\":\"mask\"\}" \
	subscribe "$dev" -j --rx --tx 0x5001-0x5fff 0x7000-0x7000
check "both arrive" received 0x7000 0x14
good "\{.*\"subscribed\":false,\"planes\":\[\"rx\"\],.*" -j unsubscribe "$dev" 0x7000+64
check "unsubscribed, it does not" not_received 0x7000 0x15
good_silent subscribe "$dev" 0x9000+4K --own
run subscriptions "$dev"
check "subscriptions shows the base masks" has_lines "$out" "^$dev: the base policy is mask\$" \
	'^base masks$' '^  0x00005000-0x00005fff rx( tx)?$' '^  0x00009000-0x00009fff own$'
finds not-subscribed 'the base policy is a mask' "rmctl subscriptions $dev" "$dev"
good_silent set "$dev" rx=0x1000-0x1fff,0x3000+64 tx=all own=none
run subscriptions "$dev"
check "set rx, tx and own give whole masks" has_lines "$out" '^  0x00001000-0x00001fff rx( tx)?$' \
	'^  0x00003000-0x0000303f rx( tx)?$'
check "what was there is not any more" [ "$(grep -cE '0x00005000|own' "$out")" -eq 0 ]
run subscribe "$dev" 0x100+64 --while "\"$rmctl\" -j subscriptions $dev >$dir/held; exit 3"
check "subscribe --while has the command's status" [ "$status" -eq 3 -a ! -s "$err" ]
check "while it runs, the range is held" has_lines "$dir/held" \
	'"kind":"file",.*"ranges":\[\{"offset":256,"length":64,"planes":\["rx"\]\}\]'
run -j subscriptions "$dev"
check "afterwards it is not" [ "$(grep -c '"kind":"file"' "$out")" -eq 0 ]
good_silent set "$dev" policy=all
run subscribe "$dev" 0x100+64 --while true
check "with policy all it says that it is of no use" has_lines "$err" \
	"^rmctl: $dev: subscribe: the base policy is all: the card receives and sends everything, subscribed to or not\$"
for signal in INT TERM; do
	in_background "the base policy is all" subscribe "$dev" 0x100+64 \
		--while "trap : $signal; sh -c 'trap \"echo told; exit 7\" $signal; echo begin; sleep 5 >/dev/null 2>&1 & wait; echo not told'; exit \$?"
	wait_for "$out" begin
	kill -$signal "$background"
	wait_background
	check "subscribe --while passes SIG$signal on, and waits" has_lines "$out" '^begin$' '^told$'
	check "and has the status of its command" [ "$status" -eq 7 -a "$(wc -l <"$out")" -eq 2 ]
done
in_background "the base policy is all" subscribe "$dev" 0x100+64 --while "echo begin; exec sleep 60"
wait_for "$out" begin
kill "$background"
wait_background
check "of which a signal that ended it is a part" [ "$status" -eq 143 ]
on_a_terminal() { # on_a_terminal INPUT COMMAND: --while there, which prints "begin"
	timeout 20 "$programs/on_terminal" -s begin "$1" "$rmctl" subscribe "$dev" 0x100+64 --own \
		--while "$2" >"$out" 2>"$err"
	status=$?
}
on_a_terminal 'a word
' 'read x; echo "got $x"; trap "echo told; exit 7" INT; echo begin; sleep 5 >/dev/null 2>&1 & wait; echo not told'
check "--while COMMAND can read from a terminal" has_lines "$out" '^got a word$'
check "and is told of Ctrl-C" [ "$status" -eq 7 -a "$(grep -c '^told' "$out")" -eq 1 ]
for word in '' ' 	'; do
	bad 2 "$dev: subscribe: the command of --while is empty .*" \
		subscribe "$dev" 0+64 --while "$word"
done
bad 2 "subscribe: '' names no card; say rfm0, /dev/rfm0 or a PCI address .*" subscribe '' 0+64
bad 2 "$dev: subscribe: '' $no_range .*" subscribe "$dev" ''
run subscribe "$dev" $(awk 'BEGIN { for (i = 0; i < 4097; i++) print i "+64" }')
check "subscribe takes at most 4096 ranges at once" \
	complains 2 "$dev: subscribe: too many ranges, at most 4096 at once .*"
bad 2 "$dev: subscribe: --while and --json exclude each other: the output is that of the command .*" \
	-j subscribe "$dev" 0+64 --while true
bad 2 "$dev: subscribe: too few arguments, it needs: DEV.*" subscribe "$dev"
bad 2 "$dev: subscribe: '0x1000' $no_range .*" subscribe "$dev" 0x1000
bad 2 ".*unsubscribe: unknown option '--while'.*" unsubscribe "$dev" 0+64 --while true
bad 3 "$dev: subscribe: the range reaches past the end of the memory" subscribe "$dev" "$size+64"
bad 3 "$dev: subscribe: 64 bytes at offset $end are out of range" \
	subscribe "$dev" "$size+64" --while true
bad 3 "$base: subscribe: $no_masks" subscribe "$base" 0+64
bad 3 "$base: subscribe: cannot subscribe: $no_extension" \
	subscribe "$base" 0+64 --while true

# --- subscriptions: who has what ---------------------------------------------------------------

in_background "^listening on $dev" listen "$dev" int1 int2 -t 20
run subscriptions "$dev"
check "a listener is named with its types" has_lines "$out" \
	"^listen [0-9]+, made by rmctl \(pid $background\).* 0 of 256 wait, 0 dropped" '^  int1 int2$'
run -j subscriptions "$dev"
check "in JSON too" has_lines "$out" \
	"\"kind\":\"listen\",\"pid\":$background,\"comm\":\"rmctl\",.*\"types\":\[\"int1\",\"int2\"\],\"depth\":256,"
kill "$background"
wait_background
in_background "^watching" watch "$dev" 0x100+8 -t 20
run subscriptions "$dev"
check "a watch is named with its range" has_lines "$out" \
	"^watch [0-9]+, made by rmctl \(pid $background\)" '^  0x00000100-0x00000107 '
kill "$background"
wait_background
in_background "^watching" watch "$dev" 0x100+4 --equal 5 --silence 60s --deadline 20ms -t 20
run subscriptions "$dev"
check "with what it waits for" has_lines "$out" \
	', 0 later than 20.000 ms, stale after 1 min, when 0x100 & 0xffffffff is equal to 0x5$'
run -j subscriptions "$dev"
check "in JSON too" has_lines "$out" \
	'"compare":\{"how":"equal","offset":256,"width":4,"mask":"0xffffffff","value":"0x00000005"\}'
kill "$background"
wait_background

# A name that somebody else has chosen: with what moves a terminal, what is no UTF-8, and cut in
# a character after 15 bytes.
odd="$dir/$(printf 'e\303\251\033[7m\377xxxxxx\303\251')"
odd_shown='eé\?\[7m\?xxxxxx\?'
ln -s "$(command -v "$rmctl")" "$odd"
plain=$rmctl
rmctl=$odd
in_background "^listening on $dev" listen "$dev" int1 -t 20
rmctl=$plain
run subscriptions "$dev"
check "an odd name of a process can be shown" has_lines "$out" \
	"^listen [0-9]+, made by $odd_shown \(pid $background\)"
run -j subscriptions "$dev"
check "in JSON too" has_lines "$out" "\"pid\":$background,\"comm\":\"$odd_shown\""
kill "$background"
wait_background

# --- monitor ------------------------------------------------------------------------------------

# monitor_in_background ARG...: returns when it hears; end it with wait_background
monitor_in_background() { in_background '^monitoring ' "$@"; }
time='[0-9]+\.[0-9]{9}'

monitor_in_background monitor "$dev" -n 3 -t 20
"$rmctl" set "$peer" led=on
"$rmctl" set "$dev" led=on parity=on &
changer=$!
wait $changer
"$rmctl" set "$dev" led=off parity=off
"$rmctl" subscribe "$dev" 0x100+64 --own
wait_background
check "monitor -n 3 ends with 0 after three lines" [ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 3 ]
check "a change says what, and by whom" has_lines "$out" \
	"^$time $dev changed led=on parity=on by rmctl \(pid $changer\)\$" \
	"^$time $dev changed led=off parity=off by rmctl" \
	"^$time $dev changed( policy=mask)? base masks by rmctl"
"$rmctl" set "$peer" led=off
good_silent set "$dev" own=none policy=all

monitor_in_background monitor "$dev" -n 4 -t 20
"$rmctl" set "$dev" own=0x1000+64
"$rmctl" set "$dev" own=0x2000+64
"$rmctl" stats "$dev" --reset
"$odd" set "$dev" own=none led=off
wait_background
check "base masks are told of that have as many ranges as before" \
	[ "$(grep -c " $dev changed base masks by rmctl (pid" "$out")" -eq 2 ]
check "so is a reset of the counters" has_lines "$out" " $dev changed counters reset by rmctl "
check "and the odd name" has_lines "$out" " $dev changed base masks by $odd_shown \(pid [0-9]+\)\$"
monitor_in_background -j monitor "$dev" -n 3 -t 20
"$odd" set "$dev" own=0x1000+64
"$rmctl" stats "$dev" --reset
"$rmctl" set "$dev" own=none
wait_background
check "all that in JSON" has_lines "$out" \
	"\"comm\":\"$odd_shown\",\"changed\":\{\},\"masks_changed\":true,\"counters_reset\":false,\"since_overrun\":false," \
	'"changed":\{\},"masks_changed":false,"counters_reset":true,'

# The driver says how many of a card's it has lost: the first change of that card after those may
# be of several.
monitor_in_background -j monitor -t 20
"$rmctl" set "$dev" led=on
wait_for "$out" '"led":true'
seq=$(value "$out" seq)
"$programs/tell_overrun" "$dev" $((seq + 5)) 4
"$rmctl" set "$peer" led=on
"$rmctl" set "$dev" led=off
"$rmctl" set "$dev" parity=on
wait_for "$out" '"parity":true'
check "what the driver has lost is told once" \
	[ "$(grep -c '"lost":[0-9]' "$out")" -eq 1 -a "$(value "$out" lost | grep -v null)" = 4 ]
check "the first change of that card after it may be of several" has_lines "$out" \
	"^\{\"device\":\"$dev\",.*\"led\":false.*\"since_overrun\":true"
check "no other one, and of no other card" [ "$(grep -c '"since_overrun":true' "$out")" -eq 1 ]
# And more are missing: those the socket had no room for, of whatever card.
seq=$(tail -n 1 "$out" | sed 's/.*"seq":\([0-9]*\).*/\1/')
"$programs/tell_overrun" "$dev" $((seq + 10)) 4
"$rmctl" set "$peer" led=off
wait_for "$out" "^.\"device\":\"$peer\".*\"led\":false"
kill "$background"
wait_background
"$rmctl" set "$dev" parity=off
check "what the driver and what the socket has lost is told" has_lines "$out" \
	"^\{\"device\":null,.*\"event\":\"overrun\",\"seq\":$((seq + 6)),.*\"lost\":5\}" \
	"^\{\"device\":\"$dev\",.*\"event\":\"overrun\",\"seq\":$((seq + 10)),.*\"lost\":4\}"
check "and then of each card" has_lines "$out" \
	"^\{\"device\":\"$peer\",.*\"led\":false.*\"since_overrun\":true"

monitor_in_background monitor "$dev" -n 3 -t 20
"$programs/tell_overrun" "$dev" 1000000 4
"$rmctl" set "$dev" led=on
"$rmctl" set "$dev" led=off
wait_background
check "people are told of it, too" has_lines "$out" \
	"^$time $dev OVERRUN: 4 notification\(s\) before number 1000000 were lost\$" \
	"^$time $dev changed led=on since the overrun, last by rmctl \(pid [0-9]+\)\$" \
	"^$time $dev changed led=off by rmctl \(pid [0-9]+\)\$"

monitor_in_background -j monitor -n 3 -t 20
"$rmctl" set "$peer" led=on
"$rmctl" set "$dev" offset=64M
"$rmctl" set "$dev" offset=0
wait_background
check "monitor -j hears all cards, an object a line" [ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 3 ]
check "with what is different" has_lines "$out" \
	"^\{\"device\":\"$peer\",.*\"event\":\"changed\",.*\"changed\":\{\"led\":true\}" \
	"^\{\"device\":\"$dev\",.*\"changed\":\{\"address_offset\":67108864\}"
"$rmctl" set "$peer" led=off

for signal in INT TERM; do
	monitor_in_background monitor "$dev" -n 3 -t 20
	"$rmctl" set "$dev" led=on
	wait_for "$out" led=on
	kill -$signal "$background"
	wait_background
	check "monitor -n that is ended by SIG$signal says how many are missing" \
		says 1 "rmctl: $dev: monitor: interrupted: 2 event\(s\) still missing"
	"$rmctl" set "$dev" led=off
done

monitor_in_background -j monitor "$dev" -t 20
"$rmctl" set "$peer" transmit=off
wait_for "$out" '"event":"(sync-loss|link-down)"'
"$rmctl" set "$peer" transmit=on
wait_for "$out" '"event":"link-up"'
ring_closes "$dev"
"$rmctl" subscribe "$dev" 0x9000+64 --own
"$rmctl" poke "$peer" 0x9010 1 2
wait_for "$out" '"event":"conflict"'
kill "$background"
wait_background
check "monitor ends with 0 when it is told to" [ "$status" -eq 0 ]
check "a link that goes and comes, and a conflict, are told" has_lines "$out" \
	"\"event\":\"(sync-loss|link-down)\"" '"event":"link-up"' \
	"\"event\":\"conflict\",.*\"node\":$peer_node,.*\"offset\":3688[04],\"length\":[48],"
good_silent set "$dev" own=none policy=all

# So little room for what waits to be read that a monitor which stands still soon has none.
room=/proc/sys/net/core/rmem_max
before=$(cat $room)
echo 4096 >$room
monitor_in_background -j monitor -t 60
echo "$before" >$room
stop_background
changes=0
for value in on off on off on off on off on off on off on off on off on off on off; do
	"$rmctl" set "$dev" led=$value
	changes=$((changes + 1))
done
kill -CONT "$background"
wait_for "$err" OVERRUN
# Nothing has room before all that waits has been read, and nobody tells when that is.
since_overrun() {
	"$rmctl" set "$dev" led=on
	"$rmctl" set "$dev" led=off
	changes=$((changes + 2))
	wait_for "$out" '"since_overrun":true' 1
}
wait_until since_overrun
"$rmctl" set "$dev" parity=on
changes=$((changes + 1))
wait_for "$out" '"parity":true'
kill "$background"
wait_background
check "a monitor that was too slow says so" has_lines "$err" \
	'^rmctl: monitor: OVERRUN: they come faster than they are read; the next line says how many were lost$'
told=$(grep -c '"event":"changed"' "$out")
lost=$(value "$out" lost | awk '/[0-9]/ { sum += $1 } END { print sum + 0 }')
check "the first change after that may be of several" awk '
	BEGIN { gap = 0 }
	/"event":"overrun"/ { gap = 1; gaps++ }
	/"event":"changed"/ { if (gap != /"since_overrun":true/) wrong++; gap = 0 }
	END { exit wrong || !gaps }' "$out"
check "and how many it has lost: $told told and $lost lost of $changes" [ $((told + lost)) -eq $changes ]
"$rmctl" set "$dev" parity=off

run monitor "$dev" -t 0.2
check "monitor -t alone ends with 0" [ "$status" -eq 0 -a ! -s "$out" ]
run monitor -n 1 -t 0.2
check "monitor -n 1 -t 0.2 ends with 1 when nothing comes" [ "$status" -eq 1 ]
check "and says so" has_lines "$err" '^monitoring all cards \.\.\.$' \
	'^rmctl: monitor: 1 event\(s\) still missing after 0.2 s$'
bad 2 'monitor: count must be at least 1 .*' monitor -n 0
bad 2 "monitor: time 'x' is no time such as 0.5, 20ms or 100us .*" monitor -t x
bad 3 'rfm255: monitor: there is no such card' monitor rfm255

# --- save-config and apply -------------------------------------------------------------------------

run save-config "$dev"
check "rmctl save-config" [ "$status" -eq 0 -a ! -s "$err" ]
check "the file names the card, and every setting" has_lines "$out" "^# Configuration of $dev, " \
	"^card = $dev\$" '^led = off$' '^transmit = on$' '^offset = 0$' '^policy = all$' \
	'^moderation-time = 50us$' '^burst = off$' '^burst-period = 1ms$' '^own = none$'
cp "$out" "$dir/plain"
good "$dev: nothing to change" apply "$dir/plain"
"$rmctl" set "$dev" led=on policy=none rx=0x1000+4K,0x8000+64 own=0x2000+128 moderation-time=1ms
run save-config "$dev"
cp "$out" "$dir/odd"
check "masks are saved" has_lines "$dir/odd" '^rx = 0x00001000-0x00001fff,0x00008000-0x0000803f$' \
	'^tx = none$' '^own = 0x00002000-0x0000207f$'
check "instead of the policy" [ "$(grep -c '^policy' "$dir/odd")" -eq 0 ]
run apply "$dir/plain"
check "apply says what it changed" has_lines "$out" "^$dev: led: on -> off\$" \
	"^$dev: moderation-time: 1ms -> 50us\$" \
	"^$dev: rx: 0x00001000-0x00001fff,0x00008000-0x0000803f -> all\$" \
	"^$dev: own: 0x00002000-0x0000207f -> none\$"
run save-config "$dev"
check "the configuration is as it was" cmp "$dir/plain" "$out"
good "\{\"device\":\"$dev\",\"changed\":\[\{\"name\":\"led\",\"before\":\"off\",\"after\":\"on\"\},.*" \
	-j apply "$dir/odd"
run save-config "$dev"
check "and the other way round" cmp "$dir/odd" "$out"
good "$dev: nothing to change" apply "$dir/odd"
run -j save-config "$dev"
check "save-config -j has the same words" has_lines "$out" \
	'"config":\{"led":"on",.*"rx":"0x00001000-0x00001fff,0x00008000-0x0000803f","tx":"none"'
sed '/^card/d' "$dir/plain" >"$dir/nocard"
bad 2 "apply: .*nocard does not say which card; say it behind the file .*" apply "$dir/nocard"
run apply - "$peer" <"$dir/nocard"
check "apply - DEV sets another card, from standard input" prints_line "$peer: nothing to change"
"$rmctl" apply "$dir/plain" >/dev/null
# A mistake on the last line of a file that changes much before; one sentence, with the line.
wrong_line() { # wrong_line REGEX LINE: as printf(1) has it
	sed 's/^led.*/led = on/; s/^policy.*/policy = none/' "$dir/plain" >"$dir/wrong"
	printf "$2\n" >>"$dir/wrong"
	bad 2 "apply: $dir/wrong:$(wc -l <"$dir/wrong"): $1 .*" apply "$dir/wrong"
}
wrong_line 'led is given twice' 'led = off'
wrong_line "there is no setting 'rxx'" 'rxx = all'
wrong_line "'transmit' is not of the form NAME = VALUE" transmit
wrong_line "'0x10' $no_range" 'rx = 0+64,0x10'
wrong_line "range '0x20-0x10' ends before it begins" 'tx = 0x20-0x10'
wrong_line 'card is given twice' 'card = rfm9'
wrong_line "there is no setting ''" ' = 1'
wrong_line 'there is a NUL in it' 'rx = all\000'
bad 2 "apply: /dev/zero:1: there is a NUL in it .*" apply /dev/zero
line_of() { printf '#'; head -c $(($1 - 1)) /dev/zero | tr '\0' x; echo; } # line_of BYTES
line_of 1048577 >"$dir/wrong"
bad 2 "apply: $dir/wrong:1: it is longer than 1048576 bytes .*" apply "$dir/wrong"
{
	line_of 1048576
	cat "$dir/plain"
} >"$dir/wrong"
good "$dev: nothing to change" apply "$dir/wrong"
bad 3 "$dev: apply: $((size + 64)) bytes at offset 0x0 are out of range: the memory ends at $end" \
	apply - <<-END
	card = $dev
	led = on
	rx = 0+$((size + 64))
	END
# The third of five is refused by the driver, which does none of them.
printf 'led = on # a remark\nparity = on\n\noffset = 32M\nmoderation-time = 1ms\nrx = 0+64\n' \
	>"$dir/wrong"
bad 3 "$dev: apply: the address offset is 0, 64, 128 or 192 MiB" apply "$dir/wrong" "$dev"
run save-config "$dev"
check "all or nothing: nothing" cmp "$dir/plain" "$out"
bad 3 'apply: cannot read /nofile: No such file or directory' apply /nofile
bad 3 "apply: cannot read $dir: Is a directory" apply "$dir"
bad 2 'apply: the name of the file is empty .*' apply ''
bad 2 'apply: too few arguments, it needs: FILE \[DEV\] .*' apply
awk -v card="$dev" 'BEGIN {
	printf "card = %s\npolicy = none\nrx = ", card
	for (i = 0; i < 1000; i++)
		printf "%s0x%08x-0x%08x", i ? "," : "", i * 256, i * 256 + 127
	print ""
}' >"$dir/many"
run apply "$dir/many"
check "a thousand ranges are set at once" has_lines "$out" "^$dev: rx: all -> 0x00000000-0x0000007f,"
run save-config "$dev"
check "and saved" [ "$(grep '^rx' "$out")" = "$(grep '^rx' "$dir/many")" ]
"$rmctl" apply "$dir/plain" >/dev/null
run save-config "$dev"
check "and gone again" cmp "$dir/plain" "$out"
# The largest masks that there are, all three in one change.
awk -v card="$dev" 'BEGIN {
	printf "card = %s\n", card
	split("rx tx own", names, " ")
	for (plane = 1; plane <= 3; plane++) {
		printf "%s = ", names[plane]
		for (i = 0; i < 4096; i++)
			printf "%s0x%08x-0x%08x", i ? "," : "", (i * 4 + plane) * 64, (i * 4 + plane) * 64 + 63
		print ""
	}
}' >"$dir/most"
{
	cat "$dir/most"
	echo 'offset = 32M'
} >"$dir/wrong"
bad 3 "$dev: apply: the address offset is 0, 64, 128 or 192 MiB" apply "$dir/wrong"
user_may_not "$dev: apply: a request that long needs CAP_NET_ADMIN" 606 apply "$dir/most"
run save-config "$dev"
check "three masks of 4096 ranges that are refused change nothing" cmp "$dir/plain" "$out"
run -j set "$dev"
generation=$(value "$out" generation)
run apply "$dir/most"
check "three masks of 4096 ranges are set" [ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 3 ]
run -j set "$dev"
check "at once" [ "$(value "$out" generation)" -eq $((generation + 1)) ]
run save-config "$dev"
check "and saved" [ "$(grep -E '^(rx|tx|own)' "$out")" = "$(grep -v '^card' "$dir/most")" ]
"$rmctl" apply "$dir/plain" >/dev/null
sed 's/^tx = /&0x03000000-0x0300003f,/' "$dir/most" >"$dir/wrong"
bad 3 "$dev: apply: tx would have 4097 separate ranges, at most 4096 can be set" apply "$dir/wrong"
run save-config "$dev"
check "one more changes nothing" cmp "$dir/plain" "$out"
# What comes between two requests of a command: it may be before any of them.
sed 's/^led.*/led = on/; s/^own.*/own = 0x00001000-0x0000103f/' "$dir/plain" >"$dir/one"
sed 's/^parity.*/parity = on/; s/^own.*/own = 0x00002000-0x0000203f/' "$dir/plain" >"$dir/two"
sed 's/^led.*/led = on/; s/^own.*/own = 0x00003000-0x0000303f/' "$dir/plain" >"$dir/three"
# between N ARG...: rmctl ARG..., and before its Nth request from 1 the card becomes as in "two"
between() {
	local number=$1
	shift
	"$rmctl" apply "$dir/one" >/dev/null
	"$programs/before_request" "$number" "$rmctl apply $dir/two >/dev/null" "$rmctl" "$@" \
		>"$out" 2>"$err"
	status=$?
}
is_file() { [ $status -eq 0 ] && [ ! -s "$err" ] && cmp -s "$dir/$1" "$out"; }
for request in 1 2 3 4; do
	between $request save-config "$dev"
	check "save-config is of one moment, whatever comes before its request $request" is_file two
done
for request in 1 2 3 4 5; do
	between $request apply "$dir/three"
	check "apply sets all, whatever comes before its request $request" [ $status -eq 0 ]
	run save-config "$dev"
	check "and nothing else is set then" is_file three
done
"$rmctl" apply "$dir/plain" >/dev/null
# And when something comes before each of them, for ever.
always() { # always ARG...: rmctl ARG..., which has no end to wait for
	"$programs/before_request" 0 "$rmctl set $dev dma-read-threshold=16384 >/dev/null" \
		"$rmctl" "$@" >"$out" 2>"$err"
	status=$?
}
always save-config "$dev"
check "save-config gives up when there is no such moment" complains 3 \
	"$dev: save-config: it changes faster than it can be read"
printf 'card = %s\nled = on\n' "$dev" >"$dir/led"
always apply "$dir/led"
check "so does apply" complains 3 "$dev: apply: others change it all the time; nothing was changed"
run save-config "$dev"
check "and that is so" is_file plain
run save-config "$base"
check "a base card has no masks" [ "$status" -eq 0 -a "$(grep -cE '^(rx|tx|own|read|write|home) ' "$out")" -eq 0 ]
cp "$out" "$dir/base"
good "$base: nothing to change" apply "$dir/base"
# Every setting in another state, there and back; on a card that has all of them, and no neighbours.
run save-config "$alone"
cp "$out" "$dir/before"
sed 's/^led = off/led = on/; s/^transmit = on/transmit = off/; s/^loopback = off/loopback = on/
	s/^dark-on-dark = off/dark-on-dark = on/; s/^parity = off/parity = on/
	s/^byte-swap = off/byte-swap = on/; s/^dma-byte-swap = off/dma-byte-swap = on/; s/^window = 0/window = 16M/; s/^offset = 0/offset = 64M/
	s/^policy = all/policy = none/; s/^dma-read-threshold = .*/dma-read-threshold = 4097/
	s/^dma-write-threshold = .*/dma-write-threshold = 0/; s/^moderation-count = .*/moderation-count = 7/
	s/^moderation-time = .*/moderation-time = 1500ns/
	s/^burst = off/burst = 0x0+8M/; s/^burst-period = 1ms/burst-period = 100us/; s/^own = none/own = all/
	s/^read = none/read = all/; s/^write = none/write = 0x00001000-0x00001fff/
	s/^home = none/home = 0x00000000-0x0000003f/' \
	"$dir/before" >"$dir/other"
check "every setting of a file can be another" \
	[ "$(grep -cFxvf "$dir/before" "$dir/other")" -eq "$(grep -c '^[^#c]' "$dir/before")" ]
run apply "$dir/other"
check "apply changes them all" [ "$status" -eq 0 -a ! -s "$err" -a "$(wc -l <"$out")" -eq 21 ]
run save-config "$alone"
check "and they are saved" is_file other
run apply "$dir/before"
check "and back" [ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 21 ]
run save-config "$alone"
check "as they were" is_file before
for setting in led=on transmit=off loopback=on dark-on-dark=on parity=on dma-byte-swap=on; do
	"$rmctl" set "$alone" $setting
	run save-config "$alone"
	check "$setting is that setting and no other" \
		[ "$(grep -Fxvf "$dir/before" "$out")" = "${setting%=*} = ${setting#*=}" ]
	"$rmctl" apply "$dir/before" >/dev/null
done
# Each of the two byte swaps is as the file says, whichever of them is to change.
sed 's/^byte-swap = off/byte-swap = on/' "$dir/before" >"$dir/apart"
run apply "$dir/apart"
check "one byte swap is changed, and told of" matches "$out" "$alone: byte-swap: off -> on"
run save-config "$alone"
check "and the other is as it was" is_file apart
# A file of a version that knew one for both.
grep -v '^dma-byte-swap' "$dir/before" >"$dir/old"
run apply "$dir/old"
run save-config "$alone"
check "an old file has one for both" is_file before

# --- a card goes and comes ----------------------------------------------------------------------

driver=/sys/bus/pci/drivers/rfm
pci=$(basename "$(readlink "/sys/class/rfm/$alone/device")")
monitor_in_background -j monitor -t 20
echo "$pci" >"$driver/unbind"
wait_for "$out" '"event":"deleted"'
echo "$pci" >"$driver/bind"
wait_for "$out" '"event":"created"'
kill "$background"
wait_background
check "monitor tells of a card that goes and comes" has_lines "$out" \
	"^\{\"device\":\"$alone\",.*\"event\":\"deleted\"" \
	"^\{\"device\":\"$alone\",.*\"event\":\"created\""

# --- without the driver ---------------------------------------------------------------------------

for device in "$driver"/0*; do basename "$device" >"$driver/unbind"; done
run list
check "without a card list says so" \
	says 0 'rmctl: list: no card found; is there one \(lspci -d 114a:5565\)\?'
# The last file of a program that has ended may be closed a moment later.
unused() { [ "$(cat /sys/module/rfm/refcnt)" = 0 ]; }
wait_until unused
rmmod rfm
bad 3 'list: the kernel does not know the netlink family rfm; is module rfm loaded\?' list
bad 3 "$dev: show: the kernel does not know the netlink family rfm; is module rfm loaded\\?" show "$dev"
modprobe rfm
run list
check "with it all cards are there again" grep -q "^$lonely " "$out"

the_end
