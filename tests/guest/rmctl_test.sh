#!/bin/sh
# SPDX-License-Identifier: MIT
# Every verb of rmctl, good and bad, on a real card.  Runs inside a guest, prints TAP.
#
# usage: rmctl_test.sh [DEV [PEER]]
#
# DEV (default rfm0) is a card on a closed ring whose memory nobody else uses.  PEER is a second
# card of this machine on the same ring; without it the tests that need a sender are skipped.
# RING=open says that DEV's ring is not closed; rmctl_lib.sh has RMCTL and JSON_LOG.

dev=${1:-rfm0}
peer=${2-}
ring=${RING:-closed}

# shellcheck source-path=SCRIPTDIR source=rmctl_lib.sh
. "$(dirname "$0")/rmctl_lib.sh"

contents() { "$rmctl" dump "$dev" 0 8K --raw | md5sum; }

# --- help and wrong usage ---------------------------------------------------------------

run --help
check "rmctl --help fits on a screen" fits_screen
cp "$out" "$dir/help"
verbs='list show stats set subscribe unsubscribe subscriptions monitor save-config apply map test
	fence verify send listen peek poke dump regions report'
for verb in $verbs; do
	check "rmctl --help has the verb $verb" grep -qE "^  (.* )?$verb( |\$)" "$dir/help"
	run "$verb" --help
	check "rmctl $verb --help fits on a screen" fits_screen
	check "rmctl $verb --help begins with its usage" has_lines "$out" "^usage: rmctl \[-j\] $verb"
	bad 2 "(.*: )?$verb: unknown option '--bogus' \(see 'rmctl $verb --help'\)" "$verb" --bogus
done
good 'rmctl [0-9.]+' --version
bad 2 "say what to do \(see 'rmctl --help'\)"
bad 2 "there is no verb 'pek' \(see 'rmctl --help'\)" pek "$dev" 0
bad 2 "unknown option '--bogus' .*" --bogus list
bad 2 "unknown option '-x' .*" -xj list
bad 2 "unknown option '-x' .*" -jx list
bad 2 "unknown option '-éj' .*" -éj list
bad 2 "list: too many arguments, it takes: none .*" list "$dev"
bad 2 "(.*: )?report: too many arguments, it takes: none .*" report "$dev"
for verb in show stats set subscribe unsubscribe subscriptions save-config map test fence \
	verify send listen peek poke dump; do
	bad 2 "$verb: too few arguments, it needs: DEV.*" "$verb"
done
bad 2 "$dev: show: too many arguments, it takes: DEV.*" show "$dev" "$dev"
bad 2 "$dev: test: too many arguments, it takes: DEV.*" test "$dev" 1
bad 2 "$dev: fence: too many arguments, it takes: DEV.*" fence "$dev" 1
bad 2 "$dev: map: too many arguments, it takes: DEV.*" map "$dev" 1
bad 2 "$dev: stats: too many arguments, it takes: DEV.*" stats "$dev" 1

# --- the device argument ----------------------------------------------------------------

pci=$(basename "$(readlink "/sys/class/rfm/$dev/device")")
for name in "$dev" "/dev/$dev" "$pci" "${pci#0000:}"; do
	run -j show "$name"
	check "'$name' finds the card" has_lines "$out" "^\{\"device\":\"$dev\",\"pci\":\"$pci\","
done
bad 3 'rfm255: show: there is no such card' show rfm255
bad 3 'rfm255: peek: no such card: /dev/rfm255 does not exist' peek rfm255 0
bad 3 'x: show: no such card: /dev/x does not exist' show /dev/x
bad 3 '0:0.0: show: there is no such card' show 0:0.0
bad 3 '.*peek: no reflective-memory card with a driver at PCI address 0000:00:00.0' peek 0:0.0 0
bad 3 'null: show: /dev/null is not a reflective-memory card' show /dev/null
bad 3 'null: peek: cannot ask /dev/null what it is: this is not a reflective-memory card' peek /dev/null 0
bad 3 'dev: show: /dev is not a device node' show /dev
for name in '' rfm rfm-1 "$dev/" 0 00:20.0 ./"$dev"; do
	bad 2 "(.*: )?show: '$name' names no card; say rfm0, /dev/rfm0 or a PCI address .*" \
		show "$name"
done

# --- list and show ----------------------------------------------------------------------

run list
check "rmctl list" [ "$status" -eq 0 -a ! -s "$err" ]
check "list has a heading, and a row for the card" has_lines "$out" \
	'^DEVICE +PCI +NODE +SIZE +SIGNAL +SYNC$' \
	"^$dev +$pci +0x[0-9a-f]{2} \([0-9]+\) +(64|128|256) MiB +(yes|no) +(ok|lost)\$"
bool='(true|false)'
row='\{"device":"rfm[0-9]+","pci":"[0-9a-f:.]+","node":[0-9]+,"memory_size":[0-9]+'
row="$row,\"signal\":$bool,\"sync\":$bool\}"
good "\[$row(,$row)*\]" list -j
good "\[$row(,$row)*\]" -j list

good "\{\"device\":\"$dev\",\"pci\":\"$pci\",.*\"board\":\{\"id\":101,.*\}" show "$dev" -j
node=$(sed 's/.*"node":\([0-9]*\).*/\1/' "$out")
size=$(sed 's/.*"memory_size":\([0-9]*\).*/\1/' "$out")
window=$(sed 's/.*"window_size":\([0-9]*\).*/\1/' "$out")
features=$(sed 's/.*"features":\([0-9]*\).*/\1/' "$out")
extension=$(sed 's/.*"extension":\[\([^]]*\)\].*/\1/' "$out")
run show "$dev"
check "rmctl show $dev" [ "$status" -eq 0 -a ! -s "$err" ]
check "show names every field" has_lines "$out" "^$dev: 5565 at PCI $pci\$" \
	"^  node +0x[0-9a-f]{2} \($node\)\$" '^  board +id 0x65, revision 0x' \
	"^  memory +$((size >> 20)) MiB\$" '^  window +' '^  network offset +' '^  features +0x' \
	'^  status LED +(on|off)$' '^  transmit +(enabled|disabled)$' '^  dark-on-dark +off$' \
	'^  loopback +off$' '^  parity +off$' '^  redundant mode +(on|off)$' \
	'^  rogue master 0 +' '^  rogue master 1 +' '^  tx FIFO empty +(yes|no)$' \
	'^  tx FIFO almost full +(yes|no)$' '^  rx FIFO full +' '^  signal detect +(yes|no)$' \
	'^  sync loss +' '^  bad data +' '^  own data +(not )?seen$' '^  LCSR1 +0x[0-9a-f]{8}, ' \
	'^  seen since bound +.*\(LISR 0x[0-9a-f]{8}\)$' '^  interrupts +[0-9]+$' \
	'^  sync losses +[0-9]+$' '^  base policy +(all|none): the card receives '
if [ "$features" -eq 0 ]; then
	check "show says why there are no subscriptions" has_lines "$out" '^  features +0x0 \(a base card\)$' \
		'^  subscriptions, watches +not available: the card has no extension block$' \
		'^  base policy +all: '
	check "show -j lists no feature" [ -z "$extension" ]
else
	check "show names the features" has_lines "$out" \
		"^  features +0x7ff \(subscribe, watch, writer, multicast, fence, counters, clock, query, remote, burst, short-dma\)\$" \
		'^  clock domain +0x[0-9a-f]{8}$' '^  events dropped +[0-9]+$' \
		'^  open +0 file\(s\), 0 watch\(es\), 0 listener\(s\)$'
	check "show -j lists the features" [ "$extension" = \
		'"subscribe","watch","writer","multicast","fence","counters","clock","query","remote","burst","short-dma"' ]
fi

# --- peek and poke ----------------------------------------------------------------------

good_silent poke "$dev" 0x100 0x11223344
good '0x00000100: 0x11223344' peek "$dev" 0x100
good '0x00000100: 0x11223344' peek "/dev/$dev" 256 1
good_silent poke "$pci" 0x108 0x0123456789abcdef -w 8
good '0x00000108: 0x0123456789abcdef' peek "$dev" 0x108 -w8
good '0x00000108: 0xef' peek "$dev" 0x108 --width=1
good '0x0000010e: 0x0123' peek -w 2 "$dev" 0x10e
good_silent poke "$dev" 0x10f 0xff -w1
good_silent poke "$dev" 0x10c 0xbeef -w 2
good '0x00000108: 0xff23beef89abcdef' peek "$dev" 0x108 -w 8
good_silent poke "$dev" 4K 1 2 3 0xffffffff
values='"0x00000001","0x00000002","0x00000003","0xffffffff"'
good "\{\"device\":\"$dev\",\"offset\":4096,\"width\":4,\"values\":\[$values\]\}" \
	-j peek "$dev" 4K 4
values='"0xffffffffffffffff"'
good "\{\"device\":\"$dev\",\"offset\":4104,\"width\":8,\"values\":\[$values\]\}" \
	poke -j "$dev" 0x1008 0xffffffffffffffff -w 8
run peek "$dev" 0x1000 4
check "peek prints a value a line" [ "$(cut -d' ' -f2 "$out" | tr '\n' ' ')" = \
	"0x00000001 0x00000002 0xffffffff 0xffffffff " ]
run -j peek "$dev" 0 1500
check "peek prints an object for each 1024 values" [ "$(grep -c '^{.*}$' "$out")" -eq 2 ]
good_silent poke "$dev" $((window - 4)) 0xcafef00d
good "0x0*$(printf %x $((window - 4))): 0xcafef00d" peek "$dev" $((window - 4))
good_silent poke "$dev" $((window - 4)) 0

before=$(contents)
most=0xffffffffffffffff
for word in -1 12z '' 0x 0xg 1.5 +4 ' 4' 4KK 1G 18446744073709551616 99999999999999999999999; do
	value=$(not_a_number value "$word" 0xffffffff)
	bad 2 "$dev: peek: $(not_an_option offset "$word" $most) .*" peek "$dev" "$word"
	bad 2 "$dev: poke: $(not_a_number offset "$word" $most) .*" poke "$dev" "$word" 1
	bad 2 "$dev: poke: $value .*" poke "$dev" 0x100 "$word"
	bad 2 "$dev: poke: $value .*" poke "$dev" 0x100 5 "$word"
	bad 2 "$dev: dump: $(not_an_option offset "$word" $most) .*" dump "$dev" "$word" 16
	bad 2 "$dev: dump: $(not_an_option length "$word" $most) .*" dump "$dev" 0 "$word"
	bad 2 "$dev: send: $(not_an_option node "$word" 0xff) .*" send "$dev" "$word" 1
	bad 2 "$dev: send: $(not_an_option data "$word" 0xffffffff) .*" send "$dev" all 1 "$word"
done
for width in 0 3 16 -4 '' 4x; do
	bad 2 ".*width '$width' is not 1, 2, 4 or 8 .*" peek "$dev" 0 -w "$width"
	bad 2 ".*width '$width' is not 1, 2, 4 or 8 .*" poke "$dev" 0 7 -w "$width"
done
bad 2 "$dev: peek: option '-w' needs an argument .*" peek "$dev" 0 -w
for pair in 1:2 1:4 2:4 3:4 4:8 0xfff:8; do
	bad 2 "$dev: peek: offset 0x[0-9a-f]+ is not a multiple of the width ${pair#*:} .*" \
		peek "$dev" "${pair%:*}" -w "${pair#*:}"
	bad 2 "$dev: poke: offset 0x[0-9a-f]+ is not a multiple of the width ${pair#*:} .*" \
		poke "$dev" "${pair%:*}" 7 -w "${pair#*:}"
done
bad 2 "$dev: poke: value '256' is too large, at most 0xff fits .*" poke "$dev" 0x100 256 -w 1
bad 2 "$dev: poke: value '0x10000' is too large, at most 0xffff fits .*" poke "$dev" 0x100 7 0x10000 -w 2
bad 2 "$dev: poke: value '4294967296' is too large, at most 0xffffffff fits .*" poke "$dev" 0x100 4294967296
bad 2 "$dev: poke: too few arguments, it needs: DEV.*" poke "$dev" 0x100
bad 2 "$dev: peek: count must be at least 1 .*" peek "$dev" 0 0
bad 2 "$dev: peek: too many arguments, it takes: DEV.*" peek "$dev" 0 1 2
end=$(printf 0x%x "$size")
last=$(printf 0x%x $((size - 4)))
beyond="are out of range: the memory ends at $end"
bad 3 "$dev: peek: 4 bytes at offset $end $beyond" peek "$dev" "$size"
bad 3 "$dev: peek: 8 bytes at offset $last $beyond" peek "$dev" $((size - 4)) 2
bad 3 "$dev: peek: 4 bytes at offset 0xfffffffffffffffc $beyond" peek "$dev" 0xfffffffffffffffc
bad 3 "$dev: peek: [0-9]+ bytes at offset 0x0 $beyond" peek "$dev" 0 0x1fffffffffffffff -w 8
bad 3 "$dev: poke: 4 bytes at offset $end $beyond" poke "$dev" "$size" 7
bad 3 "$dev: poke: 8 bytes at offset $last $beyond" poke "$dev" $((size - 4)) 7 7
if [ "$window" -lt "$size" ]; then
	shown=$(printf 0x%x "$window")
	bad 3 "$dev: peek: 4 bytes at offset $shown are outside the card's window, which is $shown bytes from 0x0" \
		peek "$dev" "$window"
else
	skip "peek outside the window" "the window shows the whole memory"
fi
check "bad input has changed nothing" [ "$(contents)" = "$before" ]
good '0x[0-9a-f]+: 0x00000000' peek "$dev" $((window - 4))

# --- dump -------------------------------------------------------------------------------

dd if=/dev/zero of="/dev/$dev" bs=4096 count=1 conv=notrunc 2>/dev/null
printf 'reflective memory\n' | dd of="/dev/$dev" bs=1 seek=32 conv=notrunc 2>/dev/null
run dump "$dev" 0 64
cat >"$dir/expected" <<'END'
00000000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|
*
00000020  72 65 66 6c 65 63 74 69  76 65 20 6d 65 6d 6f 72  |reflective memor|
00000030  79 0a 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |y...............|
00000040
END
check "rmctl dump $dev 0 64" cmp "$dir/expected" "$out"
run dump "$dev" 0x21 17
cat >"$dir/expected" <<'END'
00000021  65 66 6c 65 63 74 69 76  65 20 6d 65 6d 6f 72 79  |eflective memory|
00000031  0a                                                |.|
00000032
END
check "rmctl dump $dev 0x21 17" cmp "$dir/expected" "$out"
if command -v hexdump >/dev/null; then
	dd if="/dev/$dev" bs=4096 count=2 2>/dev/null | hexdump -C >"$dir/expected"
	run dump "$dev" 0 8K
	check "dump equals hexdump -C" cmp "$dir/expected" "$out"
else
	skip "dump equals hexdump -C" "no hexdump here"
fi
run dump "$dev" 32 18 --raw
check "dump --raw writes the bytes" [ "$(cat "$out")" = 'reflective memory' ]
good "\{\"device\":\"$dev\",\"offset\":32,\"length\":4,\"data\":\"7265666c\"\}" dump "$dev" 32 4 -j
run -j dump "$dev" 1 5000
check "dump prints an object for each 4096 bytes" \
	[ "$(grep -cE '^\{.*"length":(4096|904),.*\}$' "$out")" -eq 2 ]
good_last=$((window - 1))
run dump "$dev" $good_last 1 --raw
check "the last byte can be dumped" [ "$status" -eq 0 -a "$(wc -c <"$out")" -eq 1 ]
if [ "$window" -lt "$size" ]; then
	beyond_it="are outside the card's window, which is $shown bytes from 0x0"
else
	beyond_it=$beyond
fi
bad 3 "$dev: dump: 2 bytes at offset $(printf 0x%x $good_last) $beyond_it" dump "$dev" $good_last 2
bad 3 "$dev: dump: 18446744073709551615 bytes at offset 0xffffffffffffffff $beyond" \
	dump "$dev" 0xffffffffffffffff 0xffffffffffffffff
bad 2 "$dev: dump: length must be at least 1 .*" dump "$dev" 0 0
bad 2 "$dev: dump: too few arguments, it needs: DEV.*" dump "$dev"
bad 2 "$dev: dump: '0' is no range such as 0x1000-0x1fff, 0x1000\+4K or a name .*" dump "$dev" 0
bad 2 "$dev: dump: --raw and --json exclude each other .*" dump "$dev" 0 16 --raw -j
"$rmctl" dump "$dev" 0 1M --raw >/dev/full 2>"$err"
status=$? && : >"$out"
check "a full disk is no success" complains 3 "$dev: dump: cannot write to standard output: No space left on device"

# --- names ------------------------------------------------------------------------------

cat >"$dir/rig.yaml" <<'END'
rfm-regions: 1
regions:
  pump:
    offset: 0x3000
    fields:
      pressure: {offset: 0, type: float, unit: bar}
      speed: {offset: 4, type: int16, byte-order: big, unit: rpm}
      name: {offset: 8, type: char, count: 13}
      total: {offset: 0x18, type: uint64}
      on: {offset: 0x20, type: bool}
  loop: {offset: 0x3080, type: double, count: 3, unit: m}
  split: {offset: 0x3102, type: uint32}
  far: {offset: 0xfffffff8, type: double}
END
dd if=/dev/zero of="/dev/$dev" bs=4096 count=1 seek=3 conv=notrunc 2>/dev/null
run -R "$dir/rig.yaml" poke "$dev" pump 12.5 -- -2 'Main "P"' 18446744073709551615 true
check "poke by name" silent
run dump "$dev" 0x3000+0x24 --raw
printf '\000\000HA\377\376\000\000Main "P"\000\000\000\000\000\000\000\000\377\377\377\377\377\377\377\377\001\000\000\000' >"$dir/expected"
check "each value is where and as the file says" cmp "$dir/expected" "$out"
run peek "$dev" pump -R "$dir/rig.yaml"
cat >"$dir/expected" <<'END'
pump.pressure: 12.5 bar
pump.speed: -2 rpm
pump.name: "Main \"P\""
pump.total: 18446744073709551615
pump.on: true
END
check "peek by name" cmp "$dir/expected" "$out"
run dump "$dev" pump -R "$dir/rig.yaml"
sed -i 's/ *$//' "$out"
cat >"$dir/expected" <<'END'
00003000  00 00 48 41              pump.pressure: 12.5 bar
00003004  ff fe                    pump.speed: -2 rpm
00003006  2 bytes have no name
00003008  4d 61 69 6e 20 22 50 22  pump.name: "Main \"P\""
00003010  00 00 00 00 00
00003015  3 bytes have no name
00003018  ff ff ff ff ff ff ff ff  pump.total: 18446744073709551615
00003020  01                       pump.on: true
00003021  7 bytes have no name
END
check "dump by name" cmp "$dir/expected" "$out"
export RFM_REGIONS="$dir/rig.yaml"
good_silent poke "$dev" 'loop[1]' 0.1
good 'loop\[1\]: 0\.1 m' peek "$dev" 'loop[1]'
good '0x00003088: 0x3fb999999999999a' peek "$dev" 0x3088 -w 8
entry='\{"name":"loop\[1\]","offset":12424,"type":"double","value":0\.1,"unit":"m"\}'
good "\{\"device\":\"$dev\",\"name\":\"loop\[1\]\",\"offset\":12424,\"length\":8,\"values\":\[$entry\]\}" \
	-j peek "$dev" 'loop[1]'
good ".*\"values\":\[$entry\]\}" poke "$dev" 'loop[1]' 1e-1 -j
entry='\{"name":"pump.total","offset":12312,"type":"uint64","value":"18446744073709551615","unit":"","data":"f{16}"\}'
good ".*\"values\":\[$entry\]\}" dump -j "$dev" pump.total
run dump "$dev" pump.name --raw
check "dump --raw by name" [ "$(tr -d '\000' <"$out")" = 'Main "P"' ]
run dump "$dev" 0x3000-0x3003
check "a range in numbers" has_lines "$out" '^00003000  00 00 48 41 ' '^00003004$'
page() { dd if="/dev/$dev" bs=4096 count=1 skip=3 2>/dev/null | md5sum; }
before=$(page)
bad 2 "$dev: peek: there is no 'presure' in 'pump' \($dir/rig.yaml:3\) .*" peek "$dev" pump.presure
bad 2 "$dev: peek: there is no region 'pumps' in $dir/rig.yaml .*" peek "$dev" pumps
bad 2 "$dev: peek: 'loop\[3\]' is beyond 'loop', which has 3 .*" peek "$dev" 'loop[3]'
bad 2 "$dev: peek: a name has its own count and width .*" peek "$dev" pump 2
bad 2 "$dev: peek: a name has its own count and width .*" peek "$dev" pump -w 4
bad 2 "$dev: poke: a name has its own width .*" poke "$dev" pump.speed 1 -w 2
bad 2 "$dev: dump: a name has its own length .*" dump "$dev" pump 4
bad 2 "$dev: dump: '0x3000' is no range such as 0x1000-0x1fff, 0x1000\+4K or a name .*" dump "$dev" 0x3000
bad 2 "$dev: dump: range '0x3000-0x2fff' ends before it begins .*" dump "$dev" 0x3000-0x2fff
bad 2 "$dev: poke: 'loop' has 3 value\(s\), not 2 .*" poke "$dev" loop 1 2
bad 2 "$dev: poke: value 'x' is none for 'loop\[2\]', which is of type double .*" \
	poke "$dev" loop 1 2 x
bad 2 "$dev: poke: value '32768' does not fit 'pump.speed', which is of type int16 .*" \
	poke "$dev" pump.speed 32768
bad 2 "$dev: poke: value '01234567890123' is longer than 'pump.name', which has 13 bytes .*" \
	poke "$dev" pump.name 01234567890123
bad 3 "$dev: peek: 'split' at 0x3102 cannot be a single access of 4 bytes" peek "$dev" split
bad 3 "$dev: poke: 'split' at 0x3102 cannot be a single access of 4 bytes" poke "$dev" split 1
bad 3 "$dev: peek: 8 bytes at offset 0xfffffff8 $beyond" peek "$dev" far
bad 3 "$dev: peek: cannot read /nofile, which says what names mean: No such file or directory" \
	-R /nofile peek "$dev" pump
bad 2 "option '-R' needs an argument .*" -R
check "wrong names and values change nothing" [ "$(page)" = "$before" ]
unset RFM_REGIONS
bad 2 "$dev: peek: no file says what a name means: use -R FILE, RFM_REGIONS or /etc/rfm/regions.yaml .*" \
	peek "$dev" pump
good '0x00003000: 0x41480000' -R /nofile peek "$dev" 0x3000

# --- the ring, and sending --------------------------------------------------------------

bad_times() { # bad_times VERB MOST: seconds
	local time
	for time in 0 "$2.1" "$(($2 + 1))s" 0ms; do
		bad 2 "$dev: $1: the time must be above 0 and at most $2 s .*" "$1" "$dev" -t "$time"
	done
	for time in -1 x '' 1m; do
		bad 2 "$dev: $1: time '$time' is no time such as 0.5, 20ms or 100us .*" "$1" "$dev" -t "$time"
	done
}

if [ "$ring" = closed ]; then
	ring_closes "$dev"
	good "$dev: the ring is closed, round trip [0-9]+\.[0-9]{3} us" test "$dev" -t 10
	good "\{\"device\":\"$dev\",\"closed\":true,\"round_trip_ns\":[0-9]+\}" -j test "$dev" -t 10
	good "$dev: the ring is closed, .*" test "$dev" -t 10000ms
	run show "$dev"
	check "show sees own data after the test" has_lines "$out" '^  own data +seen$'
else
	bad 1 "$dev: test: the ring is open: nothing came back within 500 ms" test "$dev"
	run -j test "$dev" -t 0.1
	check "rmctl -j test, open ring" [ "$status" -eq 1 -a "$(cat "$out")" = \
		"{\"device\":\"$dev\",\"closed\":false,\"round_trip_ns\":null}" ]
fi
bad_times test 10

other=$(((node + 1) % 256))
good_silent send "$dev" $other 1
good_silent send "$dev" $other int4 0xffffffff
good_silent send "$dev" "$(printf 0x%x $other)" reset
good_silent send "$dev" all 2 42
good "\{\"device\":\"$dev\",\"node\":$other,\"type\":\"int3\",\"data\":7\}" \
	-j send "$dev" $other 3 7
good "\{\"device\":\"$dev\",\"node\":\"all\",\"type\":\"reset\",\"data\":0\}" \
	send "$dev" all reset -j
bad 3 "$dev: send: node 0x[0-9a-f]{2} \($node\) is this card itself, and a node never interrupts itself" \
	send "$dev" "$node" 1
bad 2 "$dev: send: node '256' is too large, at most 0xff fits .*" send "$dev" 256 1
bad 2 "$dev: send: node '0xffff' is too large, at most 0xff fits .*" send "$dev" 0xffff 1
bad 2 "$dev: send: node 'ALL' is not a number .*" send "$dev" ALL 1
for type in 0 5 int0 int5 sync-loss all 0x1 '' RESET 11; do
	bad 2 "$dev: send: type '$type' cannot be sent; say 1 to 4, int1 to int4 or reset .*" \
		send "$dev" all "$type"
done
bad 2 "$dev: send: data '4294967296' is too large, at most 0xffffffff fits .*" send "$dev" all 1 4294967296
bad 2 "$dev: send: a reset request carries no data .*" send "$dev" all reset 1
bad 2 "$dev: send: too few arguments, it needs: DEV.*" send "$dev" all
bad 2 "$dev: send: too many arguments, it takes: DEV.*" send "$dev" all 1 2 3

# --- what the extension block knows -----------------------------------------------------

bad_times fence 60
if [ "$features" -eq 0 ]; then
	none='the card has no extension block'
	bad 3 "$dev: fence: cannot fence: $none" fence "$dev"
	bad 3 "$dev: map: cannot read the ring map: $none, it does not know who is on the ring" map "$dev" -j
	bad 3 "$dev: listen: cannot listen: $none" listen "$dev" conflict -t 0.1
else
	run map "$dev"
	check "rmctl map" [ "$status" -eq 0 -a ! -s "$err" ]
	check "map has a heading, and a row for this node" has_lines "$out" \
		"^$dev: [0-9]+ node\(s\), epoch [0-9]+, (once round the ring: |the ring is open\$)" \
		'^NODE +HOPS +TRANSIT +RECEIVED +MISSED +NOTE$' "^0x[0-9a-f]{2} \($node\) +0 +- +- +- +(-|incomplete: .+)\$"
	good "\{\"device\":\"$dev\",\"count\":[0-9]+,.*\"members\":\[.+\]\}" -j map "$dev"
	if [ "$ring" = closed ]; then
		good "$dev: everything is at every node, after [0-9]+\.[0-9]{3} us" fence "$dev" -t 20
		good "\{\"device\":\"$dev\",\"complete\":true,\"flags\":\[\],\"lost\":0,\"epoch\":[0-9]+,\"wait_ns\":[0-9]+,\"paused\":null,\"gone\":null\}" \
			-j fence "$dev" -t 20
	else
		bad 1 "$dev: fence: nothing leaves this node: no signal, or its transmitter is off" \
			fence "$dev"
		run -j fence "$dev"
		check "rmctl -j fence, open ring" [ "$status" -eq 1 ]
		check "says why in JSON" has_lines "$out" '"complete":false,"flags":\["dark"\]'
	fi
fi
# --- listening --------------------------------------------------------------------------

run listen "$dev" int1 int2 -n 1 -t 0.2 --discard
check "listen -n 1 -t 0.2 ends with 1 when nothing comes" [ "$status" -eq 1 -a ! -s "$out" ]
check "listen says when it hears, and that time is up" has_lines "$err" \
	"^listening on $dev \.\.\.\$" \
	"^rmctl: $dev: listen: 1 event\(s\) still missing after 0.2 s\$"
run listen "$dev" int1 -t 200ms
check "listen -t alone ends with 0" [ "$status" -eq 0 -a ! -s "$out" ]
for type in int5 1 resets '' ALL; do
	bad 2 "$dev: listen: '$type' is not an event type .*" listen "$dev" "$type"
done
bad 2 '.*listen: count must be at least 1 .*' listen "$dev" -n 0
bad 2 ".*listen: count '-1' is negative .*" listen "$dev" -n -1
bad 2 ".*listen: count 'x' is not a number .*" listen "$dev" -n x
bad 2 ".*listen: time 'x' is no time such as 0.5, 20ms or 100us .*" listen "$dev" -t x
bad 2 ".*listen: time '-1' is no time such as 0.5, 20ms or 100us .*" listen "$dev" -t -1
bad 2 ".*listen: time '' is no time such as 0.5, 20ms or 100us .*" listen "$dev" -t ''
bad 2 '.*listen: depth must be at least 1 .*' listen "$dev" --depth 0
bad 2 ".*listen: depth '65537' is too large, at most 0x10000 fits .*" listen "$dev" --depth=65537

# listen_in_background ARG...: returns when it hears; end it with wait_background
listen_in_background() { in_background "^listening on $dev" "$@"; }

time='[0-9]+\.[0-9]{9}'
if [ -n "$peer" ]; then
	from=$("$rmctl" -j show "$peer" | sed 's/.*"node":\([0-9]*\).*/\1/')
	from_text=$(printf '0x%02x \\(%d\\)' "$from" "$from")

	"$rmctl" listen "$dev" -t 0.2 --discard 2>/dev/null
	listen_in_background listen "$dev" -n 6 -t 20
	"$rmctl" send "$peer" "$node" 1 0x10000001
	"$rmctl" send "$peer" "$node" int2 2
	"$rmctl" send "$peer" "$node" 3
	"$rmctl" send "$peer" "$node" int4 4K
	"$rmctl" send "$peer" all 1 0xffffffff
	"$rmctl" send "$peer" all reset
	wait_background
	check "listen -n 6 ends with 0 after six events" \
		[ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 6 ]
	check "each shows time, type, sender and data" has_lines "$out" \
		"^$time int1 $from_text 0x10000001\$" "^$time int2 $from_text 0x00000002\$" \
		"^$time int3 $from_text 0x00000000\$" "^$time int4 $from_text 0x00001000\$" \
		"^$time int1 $from_text 0xffffffff\$" "^$time reset (-|$from_text) -\$"

	for signal in INT TERM; do
		listen_in_background listen "$dev" int1 -n 3 -t 20
		"$rmctl" send "$peer" "$node" 1
		wait_for "$out" int1
		kill -$signal "$background"
		wait_background
		check "listen -n that is ended by SIG$signal says how many are missing" \
			says 1 "rmctl: $dev: listen: interrupted: 2 event\(s\) still missing"
	done
	listen_in_background listen "$dev" int1 -t 20
	kill "$background"
	wait_background
	check "listen without -n is not cut short" says 0 "listening on $dev \.\.\."

	listen_in_background -j listen "$dev" int1 reset -n 2 -t 20
	"$rmctl" send "$peer" "$node" 1 4294967295
	"$rmctl" send "$peer" "$node" reset
	wait_background
	check "listen -j prints an object a line" [ "$status" -eq 0 -a "$(wc -l <"$out")" -eq 2 ]
	head="^\{\"device\":\"$dev\",\"time_ns\":[0-9]+"
	none="\"offset\":null,\"length\":null,\"frame\":null,\"age_ns\":null"
	tail="\"lost\":0,\"dropped\":0\}\$"
	check "the object has every field" has_lines "$out" \
		"$head,\"type\":\"int1\",\"from\":$from,\"data\":4294967295,$none,\"seq\":1,$tail" \
		"$head,\"type\":\"reset\",\"from\":(null|$from),\"data\":null,$none,\"seq\":2,$tail"

	"$rmctl" send "$peer" "$node" 2 77
	all_sent "$peer"
	run listen "$dev" int2 -n 1 -t 20
	check "an interrupt waits for its first listener" \
		has_lines "$out" "^$time int2 $from_text 0x0000004d\$"
	"$rmctl" send "$peer" "$node" 2 78
	all_sent "$peer"
	run listen "$dev" int2 -n 1 -t 0.3 --discard
	check "--discard throws it away" [ "$status" -eq 1 -a ! -s "$out" ]

	listen_in_background listen "$dev" int1 -t 20
	"$rmctl" send "$peer" "$node" 2 79
	"$rmctl" send "$peer" "$node" 1 80
	wait_for "$out" 0x00000050
	kill "$background"
	wait_background
	check "only the asked types are heard" matches "$out" "$time int1 $from_text 0x00000050"
	"$rmctl" listen "$dev" -t 0.1 --discard 2>/dev/null

	listen_in_background listen "$dev" int1 -n 3 -t 20 --depth 1
	"$rmctl" send "$peer" "$node" 1 1
	wait_for "$out" 0x00000001
	stop_background
	for data in 2 3 4 5; do "$rmctl" send "$peer" "$node" 1 $data; done
	told "$dev" 5
	kill -CONT "$background"
	wait_for "$out" 0x00000002
	"$rmctl" send "$peer" "$node" 1 6
	wait_background
	check "a queue that ran over is reported" has_lines "$err" \
		"^rmctl: $dev: listen: LOST 3 event\(s\) before number 6: they came faster than they were read \(3 lost so far\)\$"

	"$rmctl" poke "$peer" 0x200 0x5ca1ab1e
	listen_in_background listen "$dev" int3 -n 1 -t 20
	"$rmctl" send "$peer" "$node" 3
	wait_background
	good '0x00000200: 0x5ca1ab1e' peek "$dev" 0x200

	if [ "$features" -ne 0 ]; then
		"$rmctl" listen "$dev" -t 0.1 --discard 2>/dev/null
		listen_in_background listen "$dev" sync-loss signal -n 2 -t 20
		"$rmctl" set "$peer" transmit=off
		wait_for "$out" sync-loss
		"$rmctl" set "$peer" transmit=on
		wait_background
		check "light that goes and comes back is heard" has_lines "$out" \
			"^$time sync-loss - -\$" "^$time signal - -\$"
		ring_closes "$peer"
	else
		skip "light that comes back" "no extension block"
	fi
else
	skip "listening to another card" "no second card given"
fi

# --- report -----------------------------------------------------------------------------

read -r host </proc/sys/kernel/hostname
echo rig-of-somebody >/proc/sys/kernel/hostname
"$rmctl" poke "$dev" 0x200 0x5ec4e7a1
"$rmctl" save-config "$dev" >"$dir/before"
[ -z "$peer" ] || { "$rmctl" send "$peer" "$node" 1 0x77 && all_sent "$peer"; }
run report
echo "$host" >/proc/sys/kernel/hostname
# One of the cards of this machine may have no extension block, and no map.
check "rmctl report" [ \( "$status" -eq 0 -o "$status" -eq 4 \) -a ! -s "$err" ]
check "report has versions, cards, and who may open them" has_lines "$out" '^rmctl [0-9.]+$' \
	"^kernel $(uname -r) " '^module rfm: srcversion [0-9a-zA-Z]+, .*base_policy=' \
	"^card at PCI $pci: driver rfm, revision 0x[0-9a-f]{2}, enabled\$" \
	"^$dev: mode 0[0-7]{3}, writable to this user; events( |\$)" '^\[.*\] rfm '"$pci: "
for asked in list "show $dev" "save-config $dev" "stats $dev --absolute" "map $dev" "subscriptions $dev"; do
	check "report asks $asked" grep -qx "== $asked" "$out"
done
check "report has what a verb prints" [ -z "$(grep -vxFf "$out" "$dir/before")" ]
check "report has no contents of the memory, and no name of the host" \
	[ -z "$(grep -iE '5ec4e7a1|a1e7c45e|rig-of-somebody' "$out")" ]
if [ -n "$peer" ]; then
	run listen "$dev" int1 -n 1 -t 20
	check "report takes no event from anybody" has_lines "$out" 'int1 .*0x0*77'
fi
run -j report
check "report -j counts each type of event" grep -q "\"device\":\"$dev\",\"mode\":.*\"events\":{\"reset\":[0-9]*,\"int1\":" "$out"
check "rmctl -j report" has_lines "$out" "^\{\"rmctl\":\"[0-9.]+\",.*\"verb\":\"show\",\"device\":\"$dev\".*\}\$"

# --- the card goes away -----------------------------------------------------------------

driver=/sys/bus/pci/drivers/rfm
gone='the card is gone \(unplugged, or its driver was unbound\)'

# goes_before CALL N SENTENCE ARG...: rmctl ARG... whose card goes before its Nth CALL on it
goes_before() {
	local call=$1 nth=$2 sentence=$3
	shift 3
	before "$call" "/dev/$dev" "$nth" "echo $pci >$driver/unbind" "$@"
	check "rmctl $1, whose card goes" [ "$status" -eq 3 ]
	check "says so" has_lines "$err" "^rmctl: $dev: $1: $sentence\$"
	echo "$pci" >"$driver/bind"
}

if [ -w "$driver/unbind" ]; then
	listen_in_background listen "$dev" -t 20
	mkfifo "$dir/peeking"
	"$rmctl" peek "$dev" 0 "$window" -w 1 >"$dir/peeking" 2>"$dir/peek" &
	peeker=$!
	exec 3<"$dir/peeking"
	read -r _ <&3
	cat <&3 >/dev/null &
	exec 3<&-
	echo "$pci" >"$driver/unbind"
	wait_background
	check "listen ends when the card goes" [ "$status" -eq 3 ]
	check "and says so" has_lines "$err" "^rmctl: $dev: listen: no more events: $gone\$"
	wait "$peeker"
	status=$?
	check "peek ends when the card goes" [ "$status" -eq 3 ]
	check "and says so" matches "$dir/peek" "rmctl: $dev: peek: $gone"
	bad 3 "$pci: show: there is no such card" show "$pci"
	bad 3 "$dev: show: there is no such card" show "$dev"
	bad 3 ".*peek: no reflective-memory card with a driver at PCI address $pci" peek "$pci" 0
	bad 3 "$dev: peek: no such card: /dev/$dev does not exist" peek "$dev" 0
	echo "$pci" >"$driver/bind"
	good '0x[0-9a-f]+: 0x[0-9a-f]+' peek "$pci" 0x100
	goes_before pread 3 "cannot read at offset 0x2000: $gone" dump "$dev" 0 64K --raw
	goes_before pread 2 "cannot read at offset 0x100000: $gone" save "$dev" 0+2M "$dir/saved"
	check "and has made no file" says 3 "rmctl: $dev: save: $dir/saved has not been made"
	head -c 2097152 /dev/zero >"$dir/zeroes"
	goes_before pwrite 2 \
		"cannot store at offset 0x100000: $gone; what is before it, 1 MiB, has been stored" \
		load "$dev" "$dir/zeroes" 0 -y
	if [ "$features" -ne 0 ]; then
		goes_before pread 1 "cannot read at offset 0x400: $gone" \
			watch "$dev" 0x400+4 --equal 1 -n 1 -t 20
	fi
	if [ -n "$peer" ] && [ "$features" -ne 0 ]; then
		ring_closes "$peer"
		mkfifo "$dir/go"
		in_background '^watching' -j watch "$dev" 0x400+4 \
			--exec "echo begin >&2; read x <$dir/go; exit 4"
		"$rmctl" poke "$peer" 0x400 1
		wait_for "$err" begin
		echo "$pci" >"$driver/unbind"
		wait_for "$err" 'no more events: the card is gone'
		echo >"$dir/go"
		wait_background
		check "watch --exec whose card goes waits for the command" [ "$status" -eq 3 ]
		check "and tells how it ended" has_lines "$out" '"run":\{"status":4,.*\}$'
		echo "$pci" >"$driver/bind"
	else
		skip "watch --exec whose card goes" "nobody who stores"
	fi
else
	skip "the card goes away" "cannot unbind the driver"
fi

the_end
