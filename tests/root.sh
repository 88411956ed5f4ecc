# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# For tests in a bare Debian of their own: source it after scripts/lib.sh. It makes $work, and
# removes it at the end.

work=$(mktemp -d -p /var/tmp rfm-root.XXXXXX) || exit 1
trap 'rm -rf --one-file-system "$work"' EXIT
n=0 failed=0

# try TITLE COMMAND...
try() {
	local title=$1 start=$SECONDS
	shift
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $title ($(clock $((SECONDS - start))))"
	else
		echo "not ok $n - $title ($(clock $((SECONDS - start))))"
		failed=1
		return 1
	fi
}

# bare_root FOLDER RELEASE PACKAGE,...
bare_root() {
	command -v mmdebstrap >/dev/null || apt-get -qy install mmdebstrap || return
	if [ "$2" = "$(os_codename)" ]; then
		own_repositories
	else
		echo "$(own_mirror) $2"
	fi | awk '{ print "deb", $1, $2, "main" }' >"$work/sources.list"
	mmdebstrap --variant=minbase --include="$3" "$2" "$1" "$work/sources.list"
}

# inside ROOT USER COMMAND: in a mount namespace of its own, so that nothing stays mounted.
inside() {
	# shellcheck disable=SC2016 # the inner shell expands these
	unshare --mount --pid --fork --kill-child ${offline:+--net} -- sh -c '
		root=$1 &&
		mount -t proc proc "$root/proc" &&
		mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
		exec chroot "$root" su - "$2" -c "$3"' \
		sh "$1" "$2" "$3" </dev/null
}
