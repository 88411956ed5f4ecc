#!/bin/sh
# SPDX-License-Identifier: MIT
# The verbs of rmctl for the memory, good and bad, on a real card.  Runs inside a guest, prints TAP.
#
# usage: rmctl_memory_test.sh DEV PEER BASE
#
# DEV and PEER are cards of this machine on one closed ring whose memory nobody else uses: what
# PEER stores, DEV is told of.  BASE is a card without the extension block.
# rmctl_lib.sh has RMCTL, PROGRAMS and JSON_LOG.

dev=$1
peer=$2
base=$3

# shellcheck source-path=SCRIPTDIR source=rmctl_lib.sh
. "$(dirname "$0")/rmctl_lib.sh"

on_terminal=$programs/on_terminal
verbs='fill load save diff who trace watch top'
node=$("$rmctl" -j show "$peer" | sed 's/.*"node":\([0-9]*\).*/\1/')
own="0x[0-9a-f]{2} \\($("$rmctl" -j show "$dev" | sed 's/.*"node":\([0-9]*\).*/\1/')\\)"
from="0x[0-9a-f]{2} \\($node\\)"
age='[0-9]+(\.[0-9]{3})? (ns|us|ms|s)'
time='[0-9]+\.[0-9]{9}'
silence='([1-9][0-9]{2}\.[0-9]{3} ms|[0-9.]+ s)'	# of 100 ms; whoever tells may be late

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
  beat: {offset: 0x3100, type: uint32, period: 20 ms}
  far: {offset: 0xfffffff8, type: double}
END
printf 'rfm-regions: 1\nregions: {a: {offset: x}}\n' >"$dir/bad.yaml"
printf 'rfm-regions: 1\nregions: {}\n' >"$dir/none.yaml"
export RFM_REGIONS="$dir/rig.yaml"

# Lines of the file are these, each a regex, and no more.
lines() { # lines FILE REGEX...
	local file=$1 at=0
	shift
	[ "$(wc -l <"$file")" -eq $# ] || return 1
	for regex; do
		at=$((at + 1))
		sed -n "${at}p" "$file" | grep -qE -- "^$regex\$" || return 1
	done
}

bytes() { "$rmctl" dump "$dev" "$1" --raw | od -An -tx1 -v | tr -d ' \n'; }
holds() { [ "$(bytes "$1")" = "$2" ]; }	# holds RANGE DIGITS
store() { "$rmctl" poke "$peer" "$@"; }

# typed INPUT ARG...: rmctl on a terminal, all that it prints in $out
typed() {
	local input=$1
	shift
	"$on_terminal" "$input" "$rmctl" "$@" >"$out" 2>"$err"
	status=$?
}

# --- help and wrong usage ------------------------------------------------------------------

run --help
cp "$out" "$dir/help"
for verb in $verbs; do
	run "$verb" --help
	check "rmctl $verb --help fits on a screen" fits_screen
	check "rmctl --help has the verb $verb" grep -qE "^  (.* )?$verb( |\$)" "$dir/help"
	check "rmctl $verb --help begins with its usage" has_lines "$out" "^usage: rmctl \[-j\] $verb"
	bad 2 "(.*: )?$verb: unknown option '--bogus' \(see 'rmctl $verb --help'\)" "$verb" --bogus
	bad 2 "$verb: too few arguments, it needs: DEV.*" "$verb"
	case $verb in
	fill | save | diff) words='0+4 1' ;;
	load) words="$dir/rig.yaml 0" ;;
	*) words='0+4' ;;
	esac
	bad 3 "rfm255: $verb: no such card: /dev/rfm255 does not exist" "$verb" rfm255 $words
	bad 2 "$verb: '' names no card; say rfm0, /dev/rfm0 or a PCI address .*" "$verb" '' $words
done
for verb in fill load save diff; do
	bad 2 "$dev: $verb: too few arguments, it needs: DEV.*" "$verb" "$dev" 0+4
	bad 2 "$dev: $verb: too many arguments, it takes: DEV.*" "$verb" "$dev" 0+4 1 2
done
bad 2 "$dev: who: too many arguments, it takes: DEV.*" who "$dev" 0+4 1
bad 2 "$dev: watch: too many arguments, it takes: DEV.*" watch "$dev" 0+4 1

# Every verb takes the same ranges, and refuses the same.
beyond='are out of range: the memory ends at 0x4000000'
for verb in fill save diff who trace watch top; do
	case $verb in
	fill | save | diff) more=1 ;;
	*) more= ;;
	esac
	bad 2 "$dev: $verb: end '0x12z' is not a number .*" $verb "$dev" 0-0x12z $more
	bad 2 "$dev: $verb: there is no region 'x' in $dir/rig.yaml .*" $verb "$dev" x $more
	case $verb in
	who) bad 2 "$dev: $verb: the offset is empty .*" $verb "$dev" '' $more ;;
	*) bad 2 "$dev: $verb: '' is no range such as 0x1000-0x1fff, 0x1000\+4K or a name .*" \
		$verb "$dev" '' $more ;;
	esac
	bad 2 "$dev: $verb: range '0x20-0x10' ends before it begins.*" $verb "$dev" 0x20-0x10 $more
	bad 2 "$dev: $verb: length must be at least 1.*" $verb "$dev" 0x20+0 $more
	bad 2 "$dev: $verb: there is no 'presure' in 'pump'.*" $verb "$dev" pump.presure $more
	bad 2 "$dev: $verb: 'loop\[3\]' is beyond 'loop', which has 3.*" $verb "$dev" 'loop[3]' $more
	[ $verb = fill ] && more='1 -y'
	bad 3 "$dev: $verb: 8 bytes at offset 0xfffffff8 $beyond" $verb "$dev" far $more
	bad 3 "$dev: $verb: 4293918720 bytes at offset 0x0 $beyond" $verb "$dev" 0+4095M $more
done

# --- who, as long as nobody has stored anything ----------------------------------------------

run who "$peer" 60M-0x3cfffff
check "nobody, in one line" lines "$out" \
	'0x03c00000-0x03cfffff: nobody since the card was reset'

# --- peek and poke ---------------------------------------------------------------------------

good_silent poke "$dev" 0x100+12 1 2 3
run peek "$dev" 0x100-0x10b
check "peek of a range" lines "$out" '0x00000100: 0x00000001' '0x00000104: 0x00000002' \
	'0x00000108: 0x00000003'
bad 2 "$dev: peek: offset 0x104 is not a multiple of the width 8 .*" peek "$dev" 0x104+8 -w 8
bad 2 "$dev: peek: the length of '0x100\+6' is not a multiple of the width 4 .*" peek "$dev" 0x100+6
bad 2 "$dev: peek: a range has its own count .*" peek "$dev" 0x100+8 2
bad 2 "$dev: poke: '0x100\+8' has 2 value\(s\), not 1 .*" poke "$dev" 0x100+8 1

good_silent poke "$dev" pump.speed -3
good 'pump.speed: -3 rpm' peek "$dev" pump.speed
good_silent poke "$dev" loop -1.5 -inf -.25
run peek "$dev" loop
check "negative values need no --" lines "$out" 'loop\[0\]: -1.5 m' 'loop\[1\]: -inf m' \
	'loop\[2\]: -0.25 m'
good_silent poke "$dev" loop[0] -- -2
good 'loop\[0\]: -2 m' peek "$dev" 'loop[0]'
bad 2 "$dev: poke: value '-3' is negative .*" poke "$dev" 0x100 -3
bad 2 "$dev: poke: offset '-3' is negative .*" poke "$dev" -3 1
bad 2 "$dev: poke: width '-4' is not 1, 2, 4 or 8 .*" poke "$dev" 0x100 1 -w -4
bad 2 "$dev: poke: value '-1' does not fit 'pump.on', which is of type bool .*" \
	poke "$dev" pump.on -1
bad 2 "$dev: peek: unknown option '-3', and numbers cannot be negative .*" peek "$dev" -3

swapped='OFFSET comes before VALUE: are the two swapped\?'
bad 2 "$dev: poke: offset 0x5 is not a multiple of the width 4; $swapped .*" poke "$dev" 5 0x1000
bad 3 "$dev: poke: offset 0xcafef000 is out of range: the memory ends at 0x[0-9a-f]+; $swapped" \
	poke "$dev" 0xcafef000 0x1000
bad 2 "$dev: poke: offset 0x5 is not a multiple of the width 4 \(.*" poke "$dev" 5 0x1001
bad 2 "$dev: poke: offset 0x5 is not a multiple of the width 4 \(.*" poke "$dev" 5 0
bad 2 "$dev: poke: offset 0x5 is not a multiple of the width 4 \(.*" poke "$dev" 5 0x1000 1
bad 3 "$dev: poke: 4 bytes at offset 0xcafef000 $beyond" poke "$dev" 0xcafef000 3
for value in 12.5 1 0x1000; do
	bad 2 "$dev: poke: value 'pump.pressure' is a name; NAME comes before VALUE: are the two swapped\? .*" \
		poke "$dev" $value pump.pressure
done

# --- values as JSON, and where no single access can be -----------------------------------------

value() { "$rmctl" -j peek "$dev" "$1" | sed 's/.*"value":\(.*\),"unit".*/\1/'; }
holds_json() { # holds_json NAME STORED JSON: what is stored there is this in JSON
	"$rmctl" poke "$dev" "$1" "$2"
	check "$1, which is $(printf %s "$2" | tr -d '\\'), in JSON" [ "$(value "$1")" = "$3" ]
	run -j peek "$dev" "$1"
}
holds_json 'loop[0]' 0.1 0.1
holds_json 'loop[0]' 0.30000000000000004 0.30000000000000004
holds_json 'loop[0]' -0 -0.0
holds_json 'loop[0]' nan '"nan"'
holds_json pump.pressure 0.1 0.1
holds_json pump.pressure 12 12
holds_json pump.total 9007199254740993 '"9007199254740993"'
holds_json pump.name 'a"b\c' '"a\"b\\c"'
holds_json pump.name '\x41' '"\\x41"'
holds_json pump.name '"\x1b[2J"' '"\u001B[2J"'
holds_json pump.name 'Größe' '"Größe"'
holds_json pump.name '"a\xffb"' '"a�b"'
"$rmctl" poke "$dev" 'loop[0]' 0

cat >"$dir/odd.yaml" <<'END'
rfm-regions: 1
regions:
  odd:
    offset: 0x3200
    fields:
      tag: {offset: 0, type: uint8}
      split: {offset: 2, type: uint32}
END
good_silent poke "$dev" 0x3200 0x00341201 -w 4
good_silent poke "$dev" 0x3204 0x7856 -w 4
run -R "$dir/odd.yaml" dump "$dev" odd
check "dump shows what no single access can load" lines "$out" '00003200  01 +odd.tag: 1' \
	'00003201  1 bytes have no name' '00003202  34 00 56 78 +odd.split: 2018902068' \
	'00003206  2 bytes have no name'
bad 3 "$dev: peek: 'odd.split' at 0x3202 cannot be a single access of 4 bytes" \
	-R "$dir/odd.yaml" peek "$dev" odd

# --- fill ------------------------------------------------------------------------------------

good_silent fill "$dev" 0x1000+4K 0x01020304 -y
check "fill stores each word" [ "$("$rmctl" peek "$dev" 0x1000+4K | sort -u -k2 | cut -d' ' -f2)" = \
	0x01020304 ]
good_silent fill "$dev" 0x1002-0x1005 0xbeef -w2 --yes
check "fill ends where it should" holds 0x1000+8 0403efbeefbe0201
good "\{\"device\":\"$dev\",\"offset\":4096,\"length\":8,\"pattern\":\"0102030405060708\"\}" \
	-j fill "$dev" 0x1000+8 0x0807060504030201 -w 8 -y
good_silent fill "$dev" loop -1.5 -y
run peek "$dev" loop
check "fill of a name is typed" lines "$out" 'loop\[0\]: -1.5 m' 'loop\[1\]: -1.5 m' 'loop\[2\]: -1.5 m'
good_silent fill "$dev" pump.name 'Main' -y
good 'pump.name: "Main"' peek "$dev" pump.name
good_silent fill "$dev" pump 0 -y
check "fill of a structure" holds pump "$(printf %080d 0)"
good_silent fill "$dev" pump.speed 0x55 -w1 -y
check "fill of a name with -w" holds pump.speed 5555
before=$(bytes 0x1000+4K)
ask="this changes 4 KiB at 0x1000 on every node"
run fill "$dev" 0x1000+4K 7 </dev/null
check "fill without a terminal wants -y" complains 2 "$dev: fill: $ask: say -y if that is meant .*"
typed 'n
' fill "$dev" 0x1000+4K 7
check "fill asks, and takes no" lines "$out" \
	"$dev: $ask. Go on\? \[y/N\] rmctl: $dev: fill: nothing was changed"
check "fill asks, no is status 3" [ "$status" -eq 3 ]
typed '
' fill "$dev" 0x1000+4K 7
check "fill asks, an empty line is no" [ "$status" -eq 3 ]
bad 2 "$dev: fill: '0x1002\+8' does not begin and end at a multiple of the width 4: say -w .*" \
	fill "$dev" 0x1002+8 1 -y
bad 2 "$dev: fill: value '256' is too large, at most 0xff fits .*" fill "$dev" 0x1000+8 256 -w1 -y
bad 2 "$dev: fill: value '-1' is negative .*" fill "$dev" 0x1000+8 -1 -y
bad 2 "$dev: fill: width '3' is not 1, 2, 4 or 8 .*" fill "$dev" 0x1000+8 1 -w 3 -y
bad 2 "$dev: fill: value '70000' does not fit 'pump.speed', which is of type int16 .*" \
	fill "$dev" pump.speed 70000 -y
bad 2 "$dev: fill: value 'x' is none for 'loop', which is of type double .*" fill "$dev" loop x -y
check "what was refused has changed nothing" [ "$(bytes 0x1000+4K)" = "$before" ]
typed 'yes
' fill "$dev" 0x1000+4K 7
check "fill asks, and takes yes" [ "$status" -eq 0 ]
check "and then does it" holds 0x1ffc+4 07000000

# --- save, load and diff -----------------------------------------------------------------------

head -c 3000000 /dev/urandom >"$dir/random"
good_silent load "$dev" "$dir/random" 0x10001 -y
good_silent save "$dev" 0x10001+3000000 "$dir/back"
check "what was loaded is saved the same" cmp "$dir/random" "$dir/back"
good_silent diff "$dev" 0x10001+3000000 "$dir/random"
good "\{\"device\":\"$dev\",\"offset\":65537,\"length\":3000,\"file\":\"$dir/back\"\}" \
	-j save "$dev" 0x10001+3000 "$dir/back"
head -c 40 "$dir/random" >"$dir/forty"
good "\{\"device\":\"$dev\",\"offset\":12288,\"length\":40,\"file\":\"$dir/forty\"\}" \
	load -j -y "$dev" "$dir/forty" pump
odd_name=$(printf '%s/forty\377\033[2J' "$dir")
cp "$dir/forty" "$odd_name"
for words in "load -y $dev $odd_name pump" "save $dev pump $odd_name" "diff $dev pump $odd_name"; do
	run -j $words
	check "${words%% *} -j: what is no text in a name is ?" matches "$out" ".*\"file\":\"$dir/forty\?\?\[2J\".*"
done
check "load by name" holds pump "$(od -An -tx1 -v "$dir/forty" | tr -d ' \n')"
"$rmctl" load "$dev" - 0x2000+40 -y <"$dir/forty"
check "load from standard input" holds 0x2000+40 "$(bytes pump)"
cat "$dir/forty" | "$rmctl" load "$dev" - 0x2040+40 -y
check "load from a pipe" holds 0x2040+40 "$(bytes pump)"
"$rmctl" save "$dev" pump - >"$dir/back"
check "save to standard output" cmp "$dir/forty" "$dir/back"

before=$(bytes 0x2000+4K)
run load "$dev" "$dir/forty" 0x2000 </dev/null
check "load without a terminal wants -y" complains 2 \
	"$dev: load: this changes 40 B at 0x2000 on every node: say -y if that is meant .*"
typed 'n
' load "$dev" "$dir/random" 0x2000
check "load asks, and takes no" lines "$out" \
	"$dev: this changes 2.8 MiB at 0x2000 on every node. Go on\? \[y/N\] rmctl: .*nothing was changed"
bad 3 "$dev: load: cannot read $dir/nofile: No such file or directory" \
	load "$dev" "$dir/nofile" 0x2000 -y
bad 3 "$dev: load: cannot read $dir: Is a directory" load "$dev" "$dir" 0x2000 -y
: >"$dir/empty"
bad 3 "$dev: load: $dir/empty is empty" load "$dev" "$dir/empty" 0x2000 -y
bad 3 "$dev: load: $dir/forty has 40 bytes, the range 41" load "$dev" "$dir/forty" 0x2000+41 -y
bad 3 "$dev: load: $dir/forty has 40 bytes, the range 24" load "$dev" "$dir/forty" loop -y
bad 2 "$dev: load: /dev/null is no regular file, its length is not known: say a range such as 0x1000\+4K .*" \
	load "$dev" /dev/null 0x2000 -y
bad 3 "$dev: load: /dev/zero has more than the range's 40 bytes" load "$dev" /dev/zero 0x2000+40 -y
bad 3 "$dev: load: /dev/null has 0 bytes, the range 40" load "$dev" /dev/null 0x2000+40 -y
bad 3 "$dev: load: 3000000 bytes at offset 0x3f00000 $beyond" \
	load "$dev" "$dir/random" 63M -y
bad 2 "$dev: load: the offset is empty .*" load "$dev" "$dir/forty" '' -y
bad 2 "$dev: load: the name of the file is empty .*" load "$dev" '' 0x2000 -y
bad 2 "$dev: save: the name of the file is empty .*" save "$dev" pump ''
bad 2 "$dev: diff: the name of the file is empty .*" diff "$dev" pump ''
bad 2 "$dev: load: offset '12z' is not a number .*" load "$dev" "$dir/forty" 12z -y
check "what was refused has changed nothing" [ "$(bytes 0x2000+4K)" = "$before" ]
bad 3 "$dev: save: cannot write $dir: Is a directory" save "$dev" pump "$dir"
bad 3 "$dev: save: cannot write /dev/full: No space left on device" save "$dev" pump /dev/full
bad 2 "$dev: save: standard output cannot have both the bytes and JSON .*" -j save "$dev" pump -

"$rmctl" poke "$dev" pump.pressure 12.5
"$rmctl" poke "$dev" pump.speed -3
"$rmctl" fill "$dev" 0x3024+12 0x01010101 -y
"$rmctl" save "$dev" 0x3000+64 "$dir/old"
good_silent diff "$dev" 0x3000+64 "$dir/old"
good "\{\"device\":\"$dev\",\"offset\":12288,\"length\":64,\"file\":\"$dir/old\",\"equal\":true,\"differing_bytes\":0,\"differences\":\[\]\}" \
	-j diff "$dev" 0x3000+64 "$dir/old"
"$rmctl" poke "$dev" pump.pressure 13.5
"$rmctl" poke "$dev" pump.speed 4
"$rmctl" poke "$dev" 0x3029 2 -w1
run diff "$dev" 0x3000+64 "$dir/old"
check "diff by name and by word" lines "$out" \
	'0x00003000: pump.pressure: card 13.5 bar, file 12.5 bar' \
	'0x00003004: pump.speed: card 4 rpm, file -3 rpm' \
	'0x00003028: card 0x01010201, file 0x01010101' '4 B of 64 B differ'
check "a difference is status 1" [ "$status" -eq 1 -a ! -s "$err" ]
run diff "$dev" 0x3000+64 "$dir/old" -n 1
check "diff -n" lines "$out" '0x00003000: pump.pressure: .*' '4 B of 64 B differ'
run -j diff "$dev" 0x3000+64 "$dir/old"
entry='\{"offset":12288,"length":4,"name":"pump.pressure","type":"float","unit":"bar","card":13.5,"file":12.5\}'
last='\{"offset":12328,"length":4,"name":null,"type":null,"unit":null,"card":"0x01010201","file":"0x01010101"\}'
check "diff -j" lines "$out" ".*\"equal\":false,\"differing_bytes\":4,\"differences\":\[$entry,.*,$last\]\}"
check "diff -j, status" [ "$status" -eq 1 ]
run diff "$dev" 0x3001+3 "$dir/old"
check "diff wants a file of the range's size" complains 3 "$dev: diff: $dir/old has 64 bytes, the range 3"
tail -c +2 "$dir/old" | head -c 3 >"$dir/three"
run diff "$dev" 0x3001+3 "$dir/three"
check "what is only a part of a value is shown as bytes" lines "$out" \
	'0x00003001: card 0x415800, file 0x414800' '1 B of 3 B differ'
run -R '' diff "$dev" 0x3000+64 "$dir/old" -n 1
check "diff without names" lines "$out" '0x00003000: card 0x41580000, file 0x41480000' '.*'
run -R "$dir/bad.yaml" diff "$dev" 0x3000+64 "$dir/old" -n 0
check "a bad file of regions costs only the names" says 1 \
	"rmctl: $dev: diff: no names will be shown: $dir/bad.yaml:2: offset 'x' is not a number"
run -R /nofile diff "$dev" 0x3000+64 "$dir/old" -n 0
check "so does one that is not there" says 1 \
	"rmctl: $dev: diff: no names will be shown: cannot read /nofile: No such file or directory"
bad 2 "$dev: diff: count 'x' is not a number .*" diff "$dev" 0x3000+64 "$dir/old" -n x

# A file is replaced as a whole, or stays.
mkdir "$dir/small"
mount -t tmpfs -o size=1m none "$dir/small"
good_silent save "$dev" pump "$dir/small/file"
cp "$dir/small/file" "$dir/before"
run save "$dev" 0+4M "$dir/small/file"
check "a save that fails says so, and what has become of the file" lines "$err" \
	"rmctl: $dev: save: cannot write $dir/small/file: No space left on device" \
	"rmctl: $dev: save: $dir/small/file is as it was"
check "with status 3" [ "$status" -eq 3 ]
check "the file is as it was" cmp "$dir/before" "$dir/small/file"
bad_end="rmctl: $dev: save: $dir/small/new has not been made"
run save "$dev" 0+4M "$dir/small/new"
check "a new file that fails is not made" says 3 "$bad_end"
check "nothing is left beside them" [ "$(ls "$dir/small")" = file ]
umount "$dir/small"

# --- long transfers ---------------------------------------------------------------------------------

# What is over within half a second shows no progress.
slow_on_terminal() { # slow_on_terminal FILE ARG...: rmctl ARG..., which waits before it reads more of FILE
	local file=$1
	shift
	"$on_terminal" '' "$programs/before_request" -c pread "$file" 2 'sleep 1' "$rmctl" "$@" \
		>"$out" 2>"$err"
	status=$?
}
slow_on_terminal "/dev/$dev" save "$dev" 0+4M "$dir/back"
check "save shows how far it is" grep -qE \
	"$dev: save \[#+ *\] +[0-9]+ %  [0-9.]+ MiB of 4 MiB  [0-9.]+ [KM]iB/s  [0-9.]+ m?s left" "$out"
check "save on a terminal is silent otherwise" [ "$status" -eq 0 ]
before pread "/dev/$dev" 2 'sleep 1' save "$dev" 0+4M "$dir/back"
check "without a terminal there is nothing to see" silent
slow_on_terminal "$dir/random" load "$dev" "$dir/random" 0x10000 -y
check "load shows how far it is" grep -qE \
	"$dev: load \[#+ *\] +[0-9]+ %  [0-9.]+ MiB of 2.8 MiB  [0-9.]+ [KM]iB/s  [0-9.]+ m?s left" "$out"
check "load on a terminal is silent otherwise" [ "$status" -eq 0 ]

# They are interrupted before the second block, or while it is compared.
"$rmctl" fill "$dev" 0x10000+3M 0 -y
before pread "$dir/random" 2 'kill -INT $PROGRAM' load "$dev" "$dir/random" 0x10000 -y
check "an interrupted load says how much has been stored" complains 3 \
	"$dev: load: interrupted: the first 1 MiB of 2.8 MiB have been stored, up to 0x110000; what is behind is as it was"
head -c 1048576 "$dir/random" >"$dir/first"
good_silent diff "$dev" 0x10000+1M "$dir/first"
check "and what is behind is so" holds 0x110000+8 0000000000000000
before pread "/dev/$dev" 2 'kill -INT $PROGRAM' save "$dev" 0+4M "$dir/new"
check "an interrupted save says how far it came, and what has become of the file" lines "$err" \
	"rmctl: $dev: save: interrupted after the first 1 MiB of 4 MiB" \
	"rmctl: $dev: save: $dir/new has not been made"
check "and that is so" [ "$status" -eq 3 -a ! -e "$dir/new" ]
good_silent save "$dev" 0+4M "$dir/new"
before pread "$dir/new" 2 'kill -INT $PROGRAM' diff "$dev" 0+4M "$dir/new"
check "an interrupted diff says how much it has compared" complains 3 \
	"$dev: diff: interrupted: only the first 2 MiB of 4 MiB have been compared"
rm "$dir/new"

# A reader that takes some and then no more: save has to wait until it is interrupted.
mkfifo "$dir/fifo" "$dir/enough" "$dir/go"
(head -c 100000 >/dev/null; echo >"$dir/enough"; read -r _ <"$dir/go") <"$dir/fifo" &
"$rmctl" save "$dev" 0+4M "$dir/fifo" >"$out" 2>"$err" &
saver=$!
read -r _ <"$dir/enough"
kill -INT $saver
wait $saver
status=$?
echo >"$dir/go"
check "an interrupted save says how much there is" says 3 \
	"rmctl: $dev: save: interrupted: $dir/fifo has the first [0-9.]+ KiB of 4 MiB"

"$rmctl" fill "$dev" 0+64M 0x11111111 -y
before pwrite "/dev/$dev" 3 'kill -INT $PROGRAM' fill "$dev" 0+64M 0x22222222 -y
done=$(sed -n 's/.*interrupted: the first .* of 64 MiB have been stored, up to \(0x[0-9a-f]*\); what is behind is as it was$/\1/p' "$err")
check "an interrupted fill says how much it has done" [ "$status" -eq 3 -a -n "$done" ]
check "and that is so" [ "$("$rmctl" peek "$dev" $((done - 4)) 2>&1 | cut -d' ' -f2)" = 0x22222222 -a \
	"$("$rmctl" peek "$dev" $((done)) 2>&1 | cut -d' ' -f2)" = 0x11111111 ]

# A file that becomes shorter meanwhile.
truncate -s 64M "$dir/big"
before pread "$dir/big" 3 "truncate -s 1K $dir/big" load "$dev" "$dir/big" 0 -y
check "load of a file that becomes shorter says how much has been stored" lines "$err" \
	"rmctl: $dev: load: cannot read $dir/big at byte [0-9]+: it has become shorter" \
	"rmctl: $dev: load: the first [1-9][0-9.]* MiB of 64 MiB have been stored, up to 0x[0-9a-f]*00000; what is behind is as it was"
check "with status 3" [ "$status" -eq 3 ]
rm "$dir/big"

# --- who ----------------------------------------------------------------------------------------------

"$rmctl" fill "$dev" 0x3000+4K 0 -y
store 0x3040 8
store 0x3044 9
all_sent "$peer"
run who "$dev" 0x3000+4K
check "rmctl who, a range" lines "$out" \
	"0x00003000-0x0000303f: node 0x[0-9a-f]{2} \([0-9]+\), this machine, $age ago" \
	"0x00003040-0x0000307f: node $from, frame [0-9]+, $age ago" \
	"0x00003080-0x00003fff: node 0x[0-9a-f]{2} \([0-9]+\), the last: this machine, $age ago"
good "0x00003044: node $from, frame [0-9]+, $age ago" who "$dev" 0x3044
good "0x00003080-0x00003097: node .* this machine, .*" who "$dev" loop
good "\{\"device\":\"$dev\",\"offset\":12356,\"length\":4,\"node\":$node,\"frame\":[0-9]+,\"clock_ns\":[0-9]+,\"age_ns\":[0-9]+\}" \
	-j who "$dev" 0x3044+4
run -j who "$dev" 0x3000+256
check "who -j tells of each 64 bytes" [ "$(grep -c '"length":64,' "$out")" -eq 4 ]
for word in 12z '' 0x -1; do
	bad 2 "$dev: who: $(not_an_option offset "$word") .*" who "$dev" "$word"
done

"$on_terminal" -s 'who [' '' "$rmctl" who "$dev" 0+64M >"$out" 2>"$err"
check "who shows how far it is, and ends by Ctrl-C with status 3" [ $? -eq 3 ]
check "and says how far it has come" grep -qE \
	"who: interrupted: only the first [0-9.]+ [KM]iB of 64 MiB have been asked for" "$out"

# --- trace --------------------------------------------------------------------------------------------

in_background '^tracing' trace "$dev" -t 20 0x3000+4K 0x5000+4 -n 5
store pump.pressure 4.5
store 0x4000 1
store 0x3018 7
store 0x3040 0x2a
store 0x5000 0xbeef -w2
store 0x3048 0x0123456789abcdef -w 8
wait_background
check "rmctl trace, a line a write" lines "$out" \
	"$time  $age  $from  0x00003000\+4  pump.pressure: 4.5 bar" \
	"$time  $age  $from  0x00003018\+4  pump.total \(a part\): 0x00000007" \
	"$time  $age  $from  0x00003040\+4  0x0000002a" \
	"$time  $age  $from  0x00005000\+2  0xbeef" \
	"$time  $age  $from  0x00003048\+8  0x0123456789abcdef"
check "trace ends with status 0" says 0 "tracing $dev ..."
in_background '^tracing' -j trace "$dev" -t 20 pump -n 3
store pump.speed -3
head -c 4096 /dev/zero | tr "\\000" A >"$dir/page"
"$rmctl" load "$peer" "$dir/page" 0x3000 -y
store pump.total 18446744073709551615
wait_background
value='\{"name":"pump.speed","offset":12292,"type":"int16","value":-3,"unit":"rpm"\}'
check "trace -j" has_lines "$out" \
	"^\{\"device\":\"$dev\",\"time_ns\":[0-9]+,\"type\":\"update\",\"node\":$node,\"offset\":12292,\"length\":2,\"frame\":[0-9]+,\"age_ns\":[0-9]+,\"silent_ns\":null,\"late\":false,\"updates\":1,\"seq\":1,\"data\":\"fffd\",\"values\":\[$value\],\"lost\":0\}\$" \
	'"length":64,.*"data":"[0-9a-f]{128}","values":\[(\{[^{]*\},?){5}\]' \
	'"seq":3,.*"value":"18446744073709551615"'
run trace "$dev" 0x3000+4 -n 3 -t 0.2
check "trace -n -t, nothing comes" says 1 "rmctl: $dev: trace: 3 write\(s\) still missing after 0.2 s"
run trace "$dev" 0x3000+4 -t 0.2
check "trace -t" says 0 "tracing $dev ..."

# What does not fit its queue is lost, and that is said where it is. Stopped, it cannot read.
in_background '^tracing' trace "$dev" -t 20 0x5000+4 --depth 2
stop_background
for i in 1 2 3 4 5; do store 0x5000 $i; done
told "$dev" 5
kill -CONT "$background"
wait_for "$out" '0x00005000\+4'
store 0x5000 6
wait_for "$out" '0x00000006'
kill -INT "$background"
wait_background
check "trace says what was lost, and where" lines "$out" ".*0x00000001" ".*0x00000002" \
	"-- 3 write\(s\) lost here: they came faster than they were read" ".*0x00000006"
check "and how much in the end" says 0 "rmctl: $dev: trace: 3 write\(s\) printed, at most 3 lost"
bad 2 "$dev: trace: depth must be at least 1 .*" trace "$dev" 0+4 --depth 0
bad 2 "$dev: trace: depth '65537' is too large, at most 0x10000 fits .*" \
	trace "$dev" 0+4 --depth 65537
bad 2 "$dev: trace: depth 'x' is not a number .*" trace "$dev" 0+4 --depth x
bad 2 "$dev: trace: count must be at least 1 .*" trace "$dev" 0+4 -n 0
bad 2 "$dev: trace: time 'x' is no time such as 0.5, 20ms or 100us .*" trace "$dev" 0+4 -t x

# --- watch ---------------------------------------------------------------------------------------------

in_background '^watching' watch "$dev" -t 20 pump.total -n 2
store pump.total 1
store pump.pressure 1
store pump.total 2
wait_background
check "rmctl watch, a line an update" lines "$out" \
	"$time update  $age  $from  0x00003018\+8  pump.total: 1" \
	"$time update  $age  $from  0x00003018\+8  pump.total: 2"
check "watch -n ends with status 0" says 0 "watching $dev ..."
in_background '^watching' watch "$dev" -t 20 pump.total --equal 3 -n 2
for i in 1 2 3 3 4 3 5; do store pump.total $i; done
wait_background
check "watch --equal" lines "$out" ".* match .* pump.total: 3" ".* match .* pump.total: 3"
store pump.total 4
all_sent "$peer"
run watch "$dev" -t 20 pump.total --equal 4 -n 1
check "watch --equal, when it is so already" lines "$out" \
	"$time match  -  -  0x00003018\+8  pump.total: 4"
run -j watch "$dev" -t 20 0x3018+8 --not-equal 5 -n 1
check "watch --not-equal, when it is so already" has_lines "$out" \
	'"type":"match","node":null,"offset":12312,"length":8,.*"seq":0,.*"run":null\}$'
store pump.speed -3
all_sent "$peer"
in_background '^watching' watch "$dev" -t 20 pump.speed --not-equal=-3 -n 1
store pump.speed -3
store pump.speed -2
wait_background
check "watch --not-equal, a value in the other byte order" lines "$out" ".* match .* pump.speed: -2 rpm"
store beat 0
all_sent "$peer"
in_background '^watching' watch "$dev" -t 20 beat --changed -n 2
for i in 0 0 1 1 2; do store beat $i; done
wait_background
check "watch --changed" lines "$out" ".*beat: 1" ".*beat: 2"
in_background '^watching' watch "$dev" -t 20 beat --silence 100ms --deadline 1ns -n 4
wait_for "$out" stale
store beat 1
wait_background
check "watch --silence and --deadline" lines "$out" \
	"$time stale  0x00003100  silent for $silence, since the watch began" \
	"$time update  $age  $from  0x00003100\+4  beat: 1  LATE" \
	"$time fresh  $age  $from  0x00003100\+4  beat: 1  after a silence of $age" \
	"$time stale  0x00003100  silent for $silence"
in_background '^watching' -j watch "$dev" -t 20 beat --silence 0.1 --deadline 1ns -n 2
wait_for "$out" stale
store beat 2
wait_background
check "watch -j --silence" has_lines "$out" '"type":"stale","node":null,"offset":12544,"length":null,"frame":null,"age_ns":null,"silent_ns":[0-9]+,"late":false,"updates":null,' \
	'"type":"update",.*"late":true,'
run watch "$dev" beat -n 1 -t 0.2
check "watch -n -t, nothing comes" says 1 "rmctl: $dev: watch: 1 event\(s\) still missing after 0.2 s"

# An update for each 64 bytes are more than are kept for one that stands still.
outrun() { # outrun ARG...: watch ARG..., which loses some and hears the next
	in_background '^watching' watch "$dev" -t 20 0x100000+64K "$@"
	stop_background
	"$rmctl" fill "$peer" 0x100000+64K 1 -y
	told "$dev" 1024
	kill -CONT "$background"
	wait_for "$out" '\+64  '
	store 0x100000 2
	wait_for "$out" '\+4  '
	kill -INT "$background"
	wait_background
}
outrun
check "watch says what was lost, and where" [ "$(grep -cE \
	'^-- [1-9][0-9]* event\(s\) lost here: they came faster than they were read$' "$out")" -eq 1 ]
outrun --exec 'echo "0x100000+$RMCTL_LENGTH  "'
check "watch --exec, too" has_lines "$err" \
	"^rmctl: $dev: watch: at most [1-9][0-9]* event\(s\) were lost\$"

# The command: never twice at once, once for all that come meanwhile.
in_background '^watching' watch "$dev" -t 20 pump.total -n 4 --exec \
	"echo begin \$RMCTL_EVENTS \$RMCTL_NAME \$RMCTL_VALUE; [ \$RMCTL_EVENTS -gt 1 ] || read x <$dir/go; echo end"
store pump.total 1
wait_for "$out" '^begin 1'
for i in 2 3 4; do store pump.total $i; done
told "$dev" 4 0
echo >"$dir/go"
wait_background
check "watch --exec runs the command once for all that come meanwhile" lines "$out" \
	'begin 1 pump.total 1' end 'begin 3 pump.total 4' end
check "and says so" says 0 "rmctl: $dev: watch: 3 events came while the command was running: it runs once for all of them, and is told of the last"
in_background '^watching' -j watch "$dev" -t 20 pump.total -n 3 --exec \
	"echo out; [ \$RMCTL_EVENTS -gt 1 ] || read x <$dir/go; exit 3"
store pump.total 1
wait_for "$err" '^out'
for i in 2 3; do store pump.total $i; done
told "$dev" 3 0
echo >"$dir/go"
wait_background
check "watch -j --exec, an object a run" lines "$out" \
	'.*"seq":1,.*"value":"1".*"lost":0,"run":\{"status":3,"signal":null,"events":1\}\}' \
	'.*"seq":3,.*"value":"3".*"lost":0,"run":\{"status":3,"signal":null,"events":2\}\}'
check "what the command prints is not among the JSON" has_lines "$err" '^out$' \
	"watch: the command has ended with status 3\$"
check "a command that fails makes watch fail" [ "$status" -eq 3 ]
in_background '^watching' -j watch "$dev" -t 20 pump.total -n 1 --exec 'kill -9 $$'
store pump.total 1
wait_background
check "a command that is killed" has_lines "$out" '"run":\{"status":null,"signal":9,"events":1\}\}$'
check "is said" says 3 "rmctl: $dev: watch: the command was ended by signal 9"
in_background '^watching' watch "$dev" -t 20 beat -n 1 --exec 'env | grep RMCTL_ | sort'
store beat 42
wait_background
check "what the command is told" lines "$out" 'RMCTL_AGE_NS=[0-9]+' "RMCTL_DEVICE=$dev" \
	'RMCTL_EVENTS=1' 'RMCTL_FRAME=[0-9]+' 'RMCTL_LATE=0' 'RMCTL_LENGTH=4' 'RMCTL_LOST=0' \
	'RMCTL_NAME=beat' "RMCTL_NODE=$node" 'RMCTL_OFFSET=0x3100' 'RMCTL_SILENT_NS=' \
	'RMCTL_TIME_NS=[0-9]+' 'RMCTL_TYPE=update' 'RMCTL_UNIT=' 'RMCTL_VALUE=42'
in_background '^watching' watch "$dev" -t 20 beat --silence 0.1 -n 1 \
	--exec 'echo $RMCTL_TYPE "$RMCTL_NODE" $RMCTL_SILENT_NS'
wait_background
check "and of a silence" lines "$out" 'stale  [1-9][0-9]{8,}'

# A signal is for all that the command runs, and rmctl ends after it. These end without one too.
for signal in INT TERM HUP; do
	in_background '^watching' watch "$dev" -t 20 beat --exec \
		"trap : $signal; sh -c 'trap \"echo told; exit 0\" $signal; echo begin; sleep 20 >/dev/null 2>&1 & wait; echo not told'; exit \$?"
	store beat 1
	wait_for "$out" begin
	store beat 2
	told "$dev" 2
	kill -$signal "$background"
	wait_background
	check "watch --exec passes SIG$signal on, and waits" lines "$out" begin told
	check "what is not run for any more is said" says 0 \
		"rmctl: $dev: watch: the command was not run for the last 1 event\(s\)"
done
in_background '^watching' -j watch "$dev" -t 20 beat -n 1 --exec 'echo begin >&2; exec sleep 5'
store beat 1
wait_for "$err" begin
kill -TERM "$background"
wait_background
check "a command that ends by that signal has failed" says 3 \
	"rmctl: $dev: watch: the command was ended by signal 15"
check "watch -j tells of it" has_lines "$out" '"run":\{"status":null,"signal":15,"events":1\}\}$'

# cut_short REGEX WHAT VERB ARG...: begun, told of one of a thousand, interrupted; rounds go on
cut_short() {
	local hears=$1 what=$2
	shift 2
	in_background "$hears" "$@" -n 1000
	store beat 7
	wait_for "$out" 'beat'
	kill -INT "$background"
	wait_background
	check "$1 -n that is interrupted says how many are missing" \
		says 1 "rmctl: $dev: $1: interrupted: [0-9]+ $what\(s\) still missing"
}
cut_short '^tracing' write trace "$dev" -t 20 beat
cut_short '^watching' event watch "$dev" -t 20 beat
cut_short '^watching' round top "$dev" beat -i 0.1
in_background '^tracing' trace "$dev" -t 20 beat
kill -TERM "$background"
wait_background
check "trace without -n is not cut short" says 0 "tracing $dev ..."
run watch "$dev" beat -n 1 -t 200ms
check "a time with its unit" says 1 "rmctl: $dev: watch: 1 event\(s\) still missing after 200ms"

word='is not one word that can be compared: it must have 1, 2, 4 or 8 bytes, and begin at a multiple of that .*'
bad 2 "$dev: watch: '0x3000\+3' $word" watch "$dev" 0x3000+3 --equal 1
bad 2 "$dev: watch: '0x3002\+4' $word" watch "$dev" 0x3002+4 --changed
bad 2 "$dev: watch: 'pump' $word" watch "$dev" pump --equal 1
bad 2 "$dev: watch: 'loop' $word" watch "$dev" loop --equal 1
bad 2 "$dev: watch: value '256' is too large, at most 0xff fits .*" watch "$dev" 0x3000+1 --equal 256
bad 2 "$dev: watch: value '40000' does not fit 'pump.speed', which is of type int16 .*" \
	watch "$dev" pump.speed --equal 40000
bad 2 "$dev: watch: value 'x' is none for 'beat', which is of type uint32 .*" \
	watch "$dev" beat --not-equal x
bad 2 "$dev: watch: only one of --equal, --not-equal and --changed .*" \
	watch "$dev" beat --equal 1 --changed
no_time='is no time such as 0.5, 20ms or 100us'
for time in x -1 5m 1.5ns; do
	bad 2 "$dev: watch: deadline '$time' $no_time .*" watch "$dev" beat --deadline=$time
	bad 2 "$dev: watch: silence '$time' $no_time .*" watch "$dev" beat --silence=$time
done
bad 2 "$dev: watch: deadline '0' is out of range .*" watch "$dev" beat --deadline 0
for time in 0 0.5ms; do
	bad 2 "$dev: watch: silence '$time' is out of range .*" watch "$dev" beat --silence $time
done
for word in '' ' 	'; do
	bad 2 "$dev: watch: the command of --exec is empty .*" watch "$dev" beat --exec "$word"
done
bad 2 "$dev: watch: count must be at least 1 .*" watch "$dev" beat -n 0

# --- top -------------------------------------------------------------------------------------------------

in_background '^watching' top "$dev" beat pump.total 0x5000+2 loop -i 1
for i in 1 2 3 4 5; do store beat $i; done
store 0x5000 0xbeef -w2
wait_for "$out" '^0x5000.*0xbeef$'
wait_for "$out" '^beat +0 .*STALE  5$'
kill -INT "$background"
wait_background
check "rmctl top, a line a range and round" [ $(($(wc -l <"$out") % 4)) -eq 1 ]
check "rmctl top" has_lines "$out" '^RANGE +RATE/s +AGE +LATENCY +AT MOST +NODE +VALUE$' \
	"^beat +([1-9][0-9.]*|0\.[0-9]+) +$age +$age +$age +$from +(STALE  )?[1-5]" \
	'^pump.total +0 +never +- +- +-  1$' \
	"^0x5000\+2 +[0-9.]+ +$age +($age|-) +($age|-) +$from +0xbeef\$" \
	'^loop +0 +never +- +- +-  $' "^beat +0 +$age +- +- +$from +STALE  5\$"
in_background '^watching' -j top "$dev" beat 0x5000+2 loop -i 500ms
for i in 1 2 3; do store beat $i; done
wait_for "$out" '"updates":0,"rate_hz":0.0,"total_updates":3,'
kill -INT "$background"
wait_background
check "top -j, an object a round" [ "$(grep -c '"round":' "$out")" -eq "$(wc -l <"$out")" ]
check "top -j" has_lines "$out" \
	"^\{\"device\":\"$dev\",\"time_ns\":[0-9]+,\"round\":[0-9]+,\"interval_ns\":[0-9]+,\"ranges\":\[\{\"name\":\"beat\",\"offset\":12544,\"length\":4,\"updates\":[1-3],\"rate_hz\":[0-9.]+,\"total_updates\":[1-3],\"age_ns\":[0-9]+,\"latency_min_ns\":[0-9]+,\"latency_mean_ns\":[0-9]+,\"latency_max_ns\":[0-9]+,\"node\":$node,\"value\":[1-3],\"unit\":\"\",\"stale\":(true|false),\"lost\":0\}," \
	'"round":[0-9]+,.*"updates":0,"rate_hz":0.0,"total_updates":3,' \
	'\{"name":"0x5000\+2",.*"value":"0xbeef","unit":"",' '\{"name":"loop",.*"value":null,"unit":null,'
# What this machine itself writes is not stale, though no update comes.
printf 'rfm-regions: 1\nregions:\n  own: {offset: 0x3180, type: uint32, period: 0.3 s}\n' >"$dir/own.yaml"
while "$rmctl" poke "$dev" 0x3180 7; do :; done &
writer=$!
in_background '^watching' -R "$dir/own.yaml" top "$dev" -i 0.1
wait_for "$out" "^own +0 +$age +- +- +$own +7"
check "top on the node that writes a region itself" has_lines "$out" "^own +0 +$age +- +- +$own +7\$"
kill -INT "$background"
wait_background
kill "$writer"
wait "$writer"
sed '/far:/d' "$dir/rig.yaml" >"$dir/near.yaml"
run -R "$dir/near.yaml" top "$dev" -n 1 -i 0.1
check "top without a name shows all regions" lines "$out" 'RANGE .*' 'pump .*' 'loop .*' 'beat .*'
check "the heading has no more than 80 columns" [ "$(grep -c '^RANGE.\{76\}' "$out")" -eq 0 ]
typed '' -R "$dir/near.yaml" top "$dev" -n 2 -i 0.1
check "top draws on a terminal, and wraps no row" [ "$(grep -c "$(printf '\033')\[?7l$(printf '\033')\[H.*rmctl top $dev: 3 range(s), every 0.1 s" "$out")" -eq 2 ]
"$on_terminal" -s RANGE '' "$rmctl" top "$dev" beat -i 0.1 >"$out" 2>"$err"
check "Ctrl-C ends top, with status 0" [ $? -eq 0 ]
# More regions than there can be watches, or open files.
awk 'BEGIN { print "rfm-regions: 1\nregions:"; for (i = 0; i < 1100; i++)
	printf "  r%d: {offset: %d, type: int8}\n", i, i }' >"$dir/many.yaml"
reason='regions are shown: the card has no room for more watches, or this program none for more open files \(ulimit -n\)'
run -j -R "$dir/many.yaml" top "$dev" -n 1 -i 0.1
check "top shows the first that fit" says 0 "watching ..."
check "and says so" has_lines "$err" "^rmctl: $dev: top: only the first 1024 of 1100 $reason\$"
check "in JSON, too" has_lines "$out" '"ranges":\[\{"name":"r0",.*"name":"r1023".*\],"left_out":76\}$'
sh -c 'ulimit -n 50; exec "$@"' - "$rmctl" -R "$dir/many.yaml" top "$dev" -n 1 -i 0.1 \
	>"$out" 2>"$err"
check "so it does with few open files" [ $? -eq 0 -a "$(wc -l <"$out")" -gt 40 ]
check "and says it" has_lines "$err" "top: only the first 4[0-9] of 1100 $reason\$"
typed '' -R "$dir/many.yaml" top "$dev" -n 1 -i 0.1
check "on a terminal how many more there are" has_lines "$out" "^and 1080 more"
bad 3 "$dev: top: there are no regions in $dir/none.yaml" -R "$dir/none.yaml" top "$dev"
bad 3 "$dev: top: $dir/bad.yaml:2: offset 'x' is not a number, and 1 more \('rmctl regions check' shows them\)" \
	-R "$dir/bad.yaml" top "$dev"
bad 2 "$dev: top: no file says what a name means: use -R FILE, RFM_REGIONS or /etc/rfm/regions.yaml .*" \
	-R '' top "$dev"
for time in 0 0.05 3601 x -1; do
	bad 2 "$dev: top: interval '$time' is no time from 0.1 s to an hour .*" top "$dev" beat --interval=$time
done
bad 2 "$dev: top: count must be at least 1 .*" top "$dev" beat -n 0

# --- a card without the extension block ------------------------------------------------------------------

none='the card has no extension block'
bad 3 "$base: who: cannot ask who wrote there: $none" who "$base" 0+4
for verb in trace watch top; do
	bad 3 "$base: $verb: cannot watch: $none" $verb "$base" 0+4
done
good_silent fill "$base" 0x1000+4K 0x01020304 -y
good_silent save "$base" 0x1000+4K "$dir/back"
good_silent load "$base" "$dir/back" 0x2000 -y
good_silent diff "$base" 0x2000+4K "$dir/back"

the_end
