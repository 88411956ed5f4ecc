# SPDX-License-Identifier: MIT
"""A program in a container without privileges, as container engines without root make one.

Namespaces of its own, a root that nobody can write to, without /dev, and no capability.
"""

import os
import shutil
import subprocess
from pathlib import Path

from suite import Skipped

NOBODY = 65534
# As root we become somebody first who may nothing, as everybody else is anyway.
DROP = ["setpriv", "--no-new-privs", "--inh-caps=-all"]
DROP_ROOT = [*DROP, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
             "--bounding-set=-all"]
UNSHARE = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "--mount",
           "--pid", "--net", "--ipc", "--uts", "--fork", "--kill-child"]
# Its root, what is shared with it, and its command. A namespace of users in the first one has none
# of the capabilities with which that was set up, and cannot get them back.
SET_UP = """
set -e
mount --bind "$1" "$1"
mount --bind "$2" "$1/ring"
mount -t proc proc "$1/proc"
mount -o remount,bind,ro "$1"
cd "$1"
shift 2
pivot_root . .
exec /bin/busybox sh -c '/bin/busybox umount -l . && exec /bin/busybox unshare --user "$@"' sh "$@"
"""


class Container:
    """What runs in it sees `shared` as /ring; `folder` is where its root is made."""

    def __init__(self, folder, shared, *programs):
        outer = [*(DROP if os.getuid() else DROP_ROOT), *UNSHARE]
        done = subprocess.run([*outer, "--mount-proc", "true"], text=True, capture_output=True,
                              check=False)
        if done.returncode:
            raise Skipped(f"no container without privileges here: {done.stderr.strip()}")
        self.root = Path(folder) / "root"
        for place in ("ring", "proc"):
            (self.root / place).mkdir(parents=True)
        for program in ("/bin/busybox", *programs):
            self._add(program)
        self.command = [*outer, "sh", "-c", SET_UP, "sh", str(self.root), str(shared)]

    def _add(self, program):
        """With the libraries that it is linked with, and what starts it."""
        said = subprocess.run(["ldd", program], text=True, capture_output=True, check=False).stdout
        libraries = [word for word in said.split() if word.startswith("/")]
        for file, to in ((program, f"/bin/{Path(program).name}"), *zip(libraries, libraries)):
            target = Path(f"{self.root}{to}")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)

    def start(self, *command, **environment):
        return subprocess.Popen(
            [*self.command, *map(str, command)], text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], **environment})

    def run(self, *command, timeout=60, **environment):
        return ended(self.start(*command, **environment), timeout)


def ended(process, timeout):
    """Wait for its end. Returns the finished process; what takes longer is killed."""
    try:
        out, errors = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)
