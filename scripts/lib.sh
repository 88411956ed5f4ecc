# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the shell scripts beside it: places, messages, timed steps, locks and
# private apt lists.  Source it; it changes no file when read.

top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rfm
export top cache

# Messages go to stderr: stdout is kept for what a script prints as its result.
say() { printf '%s\n' "$*" >&2; }
die() { say "${0##*/}: $*"; exit 1; }
usage_error() { say "${0##*/}: $*"; say "Try '${0##*/} --help'."; exit 2; }

# seconds -> 1:05
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# step TITLE COMMAND...: runs COMMAND with its output in a log file, and shows TITLE with the
# time elapsed: on a terminal in place, elsewhere as a line now and then.  When COMMAND
# fails, the end of the log is printed and the log is kept.
step() {
	local title=$1 log job watcher start=$SECONDS status=0
	shift
	mkdir -p "$cache/logs"
	log=$(mktemp "$cache/logs/${0##*/}.XXXXXX")
	# Job control gives the command a process group of its own, to be ended as a whole.
	set -m
	"$@" >"$log" 2>&1 </dev/null &
	job=$!
	set +m
	show_progress "$title" "$job" "$log" &
	watcher=$!
	# shellcheck disable=SC2064 # the values of now
	trap "kill -- -$job $watcher 2>/dev/null || :; rm -f '$log'; die 'interrupted'" INT TERM HUP
	wait "$job" || status=$?
	trap - INT TERM HUP
	kill "$watcher" 2>/dev/null || :
	wait "$watcher" 2>/dev/null || :
	[ ! -t 2 ] || printf '\r\033[K' >&2
	if [ "$status" -ne 0 ]; then
		tail -n 30 "$log" >&2
		die "$title: failed after $(clock $((SECONDS - start))), exit status $status; all output is in $log"
	fi
	rm -f "$log"
	say "$title: done in $(clock $((SECONDS - start)))"
}

# Ninja's "[12/345]" is the one thing worth showing from a running log.
show_progress() {
	local title=$1 pid=$2 log=$3 start=$SECONDS every=20 count
	[ ! -t 2 ] || every=1
	local nap=
	# A sleep left behind would go on holding the lock it has inherited.
	trap 'kill $nap 2>/dev/null; exit 0' TERM
	while kill -0 "$pid" 2>/dev/null; do
		sleep "$every" &
		nap=$!
		wait "$nap" || :
		count=$(tail -c 4000 "$log" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1 || :)
		if [ -t 2 ]; then
			printf '\r\033[K%s ... %s %s' "$title" "$(clock $((SECONDS - start)))" "$count" >&2
		else
			say "$title ... $(clock $((SECONDS - start))) $count"
		fi
	done
}

# lock FILE: held until this script ends; says so when it has to wait.
lock() {
	local fd
	mkdir -p "$(dirname "$1")"
	exec {fd}>"$1"
	flock -n "$fd" && return
	say "${0##*/}: another build is at work, waiting for it"
	flock "$fd"
}

# --- private apt lists: the machine's own apt configuration is read, never changed ---

keyring=/usr/share/keyrings/debian-archive-keyring.gpg

os_codename() { (. /etc/os-release && printf '%s' "${VERSION_CODENAME:?}"); }

# Prints "URI SUITE" for each Debian repository this machine's apt knows.
own_repositories() {
	local found
	found=$(debian_targets)
	[ -n "$found" ] || found=$(targets_of_private_update)
	printf '%s\n' "$found"
}

debian_targets() {
	# shellcheck disable=SC2016 # apt fills these in
	apt-get indextargets "$@" --format '$(ORIGIN) $(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
		awk '$1 == "Debian" { print $2, $3 }' | sort -u
}

# apt tells nothing before the first `apt-get update`, as in a fresh container; so one is made
# of the machine's sources into lists of our own.
targets_of_private_update() {
	local dir=$cache/apt/own
	lock "$dir/.lock"
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	local options=(-o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir" -o APT::Sandbox::User=root)
	step "package lists (this machine's own)" apt-get -q "${options[@]}" update
	debian_targets "${options[@]}"
}

# The mirror that carries this machine's own release carries its neighbours too.
own_mirror() {
	local mirror
	mirror=$(own_repositories | awk -v own="$(os_codename)" '$2 == own { print $1; exit }')
	[ -n "$mirror" ] ||
		die "apt on this machine knows no Debian mirror of $(os_codename); see 'apt-get indextargets'"
	printf '%s\n' "$mirror"
}

# apt_prepare NAME < "URI SUITE" lines: makes a private set of lists with binary and source
# packages of these repositories.  Afterwards `apt_in NAME get|cache ...` works on it.
# A process of its own has the lock: apt does not wait for others who update the same lists.
apt_prepare() (
	dir=$cache/apt/$1
	lock "$dir/.lock"
	mkdir -p "$dir/lists/partial" "$dir/archives/partial" "$dir/etc"
	while read -r uri suite; do
		printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite"
		printf 'deb-src [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$suite"
	done >"$dir/sources.list.new"
	[ -s "$dir/sources.list.new" ] ||
		die "apt knows no Debian repository on this machine; run 'apt-get update' and see 'apt-get indextargets'"
	mv "$dir/sources.list.new" "$dir/sources.list"	# others may be reading the lists
	: >"$dir/status"
	step "package lists ($1)" apt_in "$1" get update
)

apt_in() {
	local dir=$cache/apt/$1 tool=$2
	shift 2
	"apt-$tool" -q \
		-o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o Dir::State="$dir" -o Dir::State::lists="$dir/lists" -o Dir::State::status="$dir/status" \
		-o Dir::Cache="$dir" -o Dir::Cache::archives="$dir/archives" \
		-o APT::Sandbox::User=root -o APT::Update::Error-Mode=any -o Acquire::Languages=none \
		-o Acquire::Retries=3 "$@"
}
