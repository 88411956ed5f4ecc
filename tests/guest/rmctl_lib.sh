# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the tests of rmctl inside a guest share; sourced.  Prints TAP.
#
# RMCTL names the program, PROGRAMS is the folder of the tests' own.  MISUSE=no leaves out what is
# wrong whatever the card (status 2), and has been tested on another.  With JSON_LOG, every line
# that `run` sees of a command with -j is added to that file as "VERB<tab>LINE": the host holds them
# to the schemas in docs/json.

rmctl=${RMCTL:-rmctl}
programs=${PROGRAMS:-/usr/lib/rfm/tests}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
out=$dir/out
err=$dir/err
number=0
failures=0

plain_text() { tr -c '\11\12\40-\176' '?'; }

report() { # report RESULT DESCRIPTION
	number=$((number + 1))
	echo "$1 $number - $2"
	[ "$1" = ok ] && return
	failures=$((failures + 1))
	# What it complained of first: a summary shows the first lines only.
	sed 's/^/# err: /' "$err" | head -n 5 | plain_text
	sed 's/^/# out: /' "$out" | head -n 50 | plain_text
}

skip() { # skip DESCRIPTION REASON
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

check() { # check DESCRIPTION COMMAND...: passes if COMMAND does
	local what=$1
	shift
	if "$@"; then report ok "$what"; else report 'not ok' "$what"; fi
}

# keep_json ARG...: what rmctl ARG... has printed to $out goes to the log, if it is JSON
keep_json() {
	[ -n "${JSON_LOG-}" ] || return 0
	case " $* " in *' -j '* | *' --json '*) ;; *) return 0 ;; esac
	while [ $# -gt 0 ]; do
		case $1 in
		-R) shift 2 ;;
		-*) shift ;;
		regions) sed "s/^/regions-$2\t/" "$out" >>"$JSON_LOG"; return ;;
		*) sed "s/^/$1\t/" "$out" >>"$JSON_LOG"; return ;;
		esac
	done
}

# run ARG...: leaves $out, $err and $status
run() {
	"$rmctl" "$@" >"$out" 2>"$err"
	status=$?
	keep_json "$@"
}

# matches FILE REGEX: the whole file is one line, and it matches
matches() { [ "$(wc -l <"$1")" -eq 1 ] && grep -qE -- "^$2\$" "$1"; }

prints_line() { [ $status -eq 0 ] && [ ! -s "$err" ] && matches "$out" "$1"; }

# good REGEX ARG...: succeeds, says nothing on stderr, prints one line that matches
good() {
	local regex=$1
	shift
	run "$@"
	check "rmctl $*" prints_line "$regex"
}

silent() { [ $status -eq 0 ] && [ ! -s "$err" ] && [ ! -s "$out" ]; }
good_silent() { run "$@"; check "rmctl $*" silent; }

complains() { [ "$status" -eq "$1" ] && [ ! -s "$out" ] && matches "$err" "rmctl: $2"; }

# bad STATUS REGEX ARG...: fails with this status, and one sentence on stderr
bad() {
	local want=$1 regex=$2
	shift 2
	[ "$want" != 2 ] || [ "${MISUSE-}" != no ] || return 0
	run "$@"
	check "rmctl $* (refused)" complains "$want" "$regex"
}

# not_a_number WHAT WORD MOST: the regex of what is said about a word that is none, or above MOST
not_a_number() {
	local quoted
	quoted=$(printf %s "$2" | sed 's/[.+]/\\&/g')
	case $2 in
	'') echo "the $1 is empty" ;;
	-*) echo "$1 '$quoted' is negative" ;;
	*[!0-9]*) echo "$1 '$quoted' is not a number" ;;
	*) echo "$1 '$quoted' is too large, at most $3 fits" ;;
	esac
}

# not_an_option WHAT WORD MOST: the same where what begins with - is taken for an option
not_an_option() {
	case $2 in
	-*) echo "unknown option '$2', and numbers cannot be negative" ;;
	*) not_a_number "$@" ;;
	esac
}

# before CALL FILE N COMMAND ARG...: rmctl ARG..., and before its Nth CALL on that file a shell's
# COMMAND, which has rmctl's id in $PROGRAM; leaves $out, $err and $status
before() {
	local call=$1 file=$2 nth=$3 command=$4
	shift 4
	"$programs/before_request" -c "$call" "$file" "$nth" "$command" "$rmctl" "$@" >"$out" 2>"$err"
	status=$?
	keep_json "$@"
}

# says STATUS REGEX: the last run has ended with it, the last line on standard error matches
says() { [ "$status" -eq "$1" ] && tail -n 1 "$err" | grep -qE -- "^$2\$"; }

# fits_screen: the last run was good, and a terminal of 24 rows shows what it has printed
fits_screen() {
	[ "$status" -eq 0 ] && [ -s "$out" ] && [ ! -s "$err" ] &&
		[ "$(wc -l <"$out")" -le 23 ] && ! grep -q '.\{81\}' "$out"
}

has_lines() { # has_lines FILE REGEX...: each matches some line
	local file=$1
	shift
	for regex; do grep -qE -- "$regex" "$file" || return 1; done
}

# wait_for FILE REGEX [SECONDS]: until what runs in the background has printed such a line, and no
# longer than that for each line; FILE is $out or $err, which has all lines up to there then
wait_for() {
	local line
	until grep -qE -- "$2" "$1"; do
		# shellcheck disable=SC3045
		case $1 in
		"$out") IFS= read -r -t "${3-20}" line <&8 ;;
		*) IFS= read -r -t "${3-20}" line <&9 ;;
		esac || return 1
		printf '%s\n' "$line" >>"$1"
	done
}

# in_background REGEX ARG...: starts rmctl, returns when a line on stderr matches, which says
# that it hears; end it with wait_background
in_background() {
	local regex=$1
	shift
	[ -p "$dir/out.pipe" ] || mkfifo "$dir/out.pipe" "$dir/err.pipe"
	"$rmctl" "$@" >"$dir/out.pipe" 2>"$dir/err.pipe" &
	background=$!
	background_args=$*
	exec 8<"$dir/out.pipe" 9<"$dir/err.pipe"
	: >"$out"
	: >"$err"
	wait_for "$err" "$regex"
}

# wait_background: until it ends, and all that it runs; leaves $out, $err and $status
wait_background() {
	cat <&8 >>"$out"
	cat <&9 >>"$err"
	exec 8<&- 9<&-
	wait "$background"
	status=$?
	keep_json $background_args
}

# wait_until COMMAND...: until it succeeds, for half a minute at most
wait_until() {
	local limit uptime
	read -r limit _ </proc/uptime
	limit=$((${limit%.*} + 30))
	until "$@"; do
		read -r uptime _ </proc/uptime
		[ "${uptime%.*}" -le "$limit" ] || return 1
	done
}

# stop_background: it stands still then; another processor may still run it when kill has ended
stop_background() {
	kill -STOP "$background"
	wait_until grep -q '^State:.T' "/proc/$background/status"
}

# A packet that was sent while light was away does not come home, the next one does.
packet_comes_home() { "$rmctl" test "$1" >/dev/null 2>&1; }
ring_closes() { wait_until packet_comes_home "$1"; }

# all_sent DEV: what it has sent so far has been at every node
all_sent() { "$rmctl" test "$1" -t 10 >/dev/null; }

# told DEV EVENTS [WAIT]: until the driver has told what runs in the background of so many events,
# those that it dropped included, and WAIT of them have not been read
told() { wait_until is_told "$@"; }
is_told() {
	"$rmctl" subscriptions "$1" |
		grep -qE "\\(pid $background\\).*; $2 event\\(s\\), ${3-[0-9]+} of "
}

the_end() {
	echo "1..$number"
	[ "$failures" -eq 0 ]
}

echo "TAP version 13"
