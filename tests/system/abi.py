#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether programs that were linked with the last libraries go on with these: librfm(7).

tests/abi has what each library showed to programs, as abidw tells it from what is installed; abidiff
compares. A commit that changes it writes it there with --record, and says why. What is recorded is compared
first: what breaks a program is refused, unless --record anyway says that it shall.
"""

import contextlib
import copy
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from library import Libraries, made
from suite import TOP, expect, plan, run

RECORDED = TOP / "tests" / "abi"
# Structures whose size a program says to the library: these may become longer.
GROWS = [f"rfm_{name}" for name in ("config", "counters", "cycle", "event", "event_counts", "fence_wait", "info",
                                    "member", "operation", "resync_wait", "ring_map", "verify", "watch", "writer")]
GROWS += ["rfmring_config", "rfmring_operation", "rfmring_stats", "rfmring_state"]
# What abidiff says by bits of its status: a change, and one that certainly breaks programs.
FAILED, CHANGED = 1 | 2, 4 | 8


def shown(installed):
    """What programs see of a library: its calls, and the types of its headers; no place of this machine."""
    text = made("abidw", "--no-architecture", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs",
                "--no-elf-needed", "--no-parameter-names", "--type-id-style", "hash",
                "--exported-interfaces-only", "--drop-undefined-syms", "--drop-private-types",
                "--headers-dir", installed.root / "include", installed.library)
    expect("<class-decl" in text, f"{installed.library} has no debugging information: it was not built with -g")
    return re.sub(r" path='[^']*/", " path='", text)


def recorded(name):
    return (RECORDED / f"{name}.xml").read_text(encoding="ascii")


def changes(before, after, *options):
    """What abidiff says of two texts, of which it wants files."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("before.xml", "after.xml")]
        for file, text in zip(files, (before, after)):
            file.write_text(text, encoding="ascii")
        done = subprocess.run(["abidiff", *options, *files], capture_output=True, text=True, check=False)
    expect(not done.returncode & FAILED, done.stderr)
    return done.stdout if done.returncode & CHANGED else ""


def structure(tree, name):
    return tree.find(f".//class-decl[@name='{name}'][@size-in-bits]")


def without_growth(before, after):
    """`after`, its structures cut to what they were. (A suppression of abidiff's would hide more.)"""
    before, after = map(ElementTree.fromstring, (before, after))
    for name in GROWS:
        old, new = structure(before, name), structure(after, name)
        if old is None or new is None or int(new.get("size-in-bits")) <= int(old.get("size-in-bits")):
            continue
        for member in new.findall("data-member"):
            if int(member.get("layout-offset-in-bits")) >= int(old.get("size-in-bits")):
                new.remove(member)
        new.set("size-in-bits", old.get("size-in-bits"))
    return ElementTree.tostring(after, encoding="unicode")


def breaks(before, after):
    """What is more than a new call, or a structure that is longer and may be."""
    return changes(before, without_growth(before, after), "--no-added-syms")


def record(folder, name, before, after, anyway):
    """Whether it is refused."""
    broken = "" if anyway or not before else breaks(before, after)
    if broken:
        print(f"lib{name}: programs of before break:\n{broken}", file=sys.stderr)
    elif not before or changes(before, after):
        (folder / f"{name}.xml").write_text(after, encoding="ascii")
    return bool(broken)


def test_promise(libraries):
    """Programs that were linked with the libraries of before go on with these"""
    for installed in libraries.all:
        broken = breaks(recorded(installed.name), shown(installed))
        expect(not broken, f"lib{installed.name}: {broken}")


def test_recorded(libraries):
    """What the libraries show to programs is what is recorded"""
    for installed in libraries.all:
        changed = changes(recorded(installed.name), shown(installed))
        expect(not changed, f"lib{installed.name}: run tests/system/abi.py --record: {changed}")


class Changed:
    """A library's text, of which a test changes something."""

    def __init__(self, name):
        self.before = recorded(name)
        self.tree = ElementTree.fromstring(self.before)

    def text(self):
        return ElementTree.tostring(self.tree, encoding="unicode")

    def members(self, name):
        return structure(self.tree, name).findall("data-member")

    def longer(self, name):
        longer = structure(self.tree, name)
        size = int(longer.get("size-in-bits"))
        member = copy.deepcopy(self.members(name)[0])
        member.set("layout-offset-in-bits", str(size))
        member.find("var-decl").set("name", "grown")
        longer.append(member)
        longer.set("size-in-bits", str(size + 64))

    def without(self, function):
        for parent in self.tree.iter():
            for child in list(parent):
                if child.get("name") == function and child.tag in ("elf-symbol", "function-decl"):
                    parent.remove(child)


def moved(changed):
    changed.members("rfm_config")[1].set("layout-offset-in-bits", "16")


def wider(changed):
    first, third = changed.members("rfm_config")[0], changed.members("rfm_config")[2]
    first.find("var-decl").set("type-id", third.find("var-decl").get("type-id"))


def shorter(changed):
    config = structure(changed.tree, "rfm_config")
    config.remove(changed.members("rfm_config")[-1])
    config.set("size-in-bits", str(int(config.get("size-in-bits")) - 128))


def moved_and_longer(changed):
    changed.longer("rfm_config")
    moved(changed)


def other_argument(changed):
    function = changed.tree.find(".//function-decl[@name='rfm_store8']")
    first, last = function.findall("parameter")[1:3]
    expect(first.get("type-id") != last.get("type-id"), "the arguments of rfm_store8() are of one type")
    first.set("type-id", last.get("type-id"))


def other_version(changed):
    changed.tree.find(".//elf-symbol[@name='rfm_open']").set("version", "RFM_9.9")


BREAKS = {
    "a call that is gone": lambda changed: changed.without("rfm_fence_sized"),
    "a call with an argument of another type": other_argument,
    "a call whose symbol has another version": other_version,
    "a member that has moved": moved,
    "a member of another type": wider,
    "a member that has moved, in a structure that is longer": moved_and_longer,
    "a structure that is shorter": shorter,
    "a longer structure whose size nobody says": lambda changed: changed.longer("rfm_range"),
    "another soname": lambda changed: changed.tree.set("soname", "librfm.so.2"),
}


def test_seen(_):
    """A call that is gone or changed, and a structure that has other members, are reported"""
    for what, change in BREAKS.items():
        changed = Changed("rfm")
        expect(not breaks(changed.before, changed.text()), "a text differs from itself")
        change(changed)
        expect(breaks(changed.before, changed.text()), f"{what} is not seen")


def test_growth(_):
    """A structure whose size programs say may be longer, and calls may be new"""
    for name, structures in (("rfm", ("rfm_info", "rfm_counters", "rfm_watch", "rfm_event")),
                             ("rfmring", ("rfmring_config", "rfmring_stats", "rfmring_state"))):
        changed = Changed(name)
        for structure in structures:
            changed.longer(structure)
        broken = breaks(changed.before, changed.text())
        expect(not broken and changes(changed.before, changed.text()), f"lib{name}: {broken}")
    changed = Changed("rfm")
    changed.without("rfm_fence_sized")
    broken = breaks(changed.text(), changed.before)
    expect(not broken and changes(changed.text(), changed.before), broken)


def test_refused(_):
    """What breaks a program is not recorded, unless asked for"""
    changed = Changed("rfm")
    changed.without("rfm_fence_sized")
    with tempfile.TemporaryDirectory() as place:
        folder, said = Path(place), io.StringIO()
        with contextlib.redirect_stderr(said):
            expect(record(folder, "rfm", changed.before, changed.text(), False), "it is not refused")
        expect("rfm_fence_sized" in said.getvalue() and not list(folder.iterdir()), said.getvalue())
        expect(not record(folder, "rfm", changed.before, changed.text(), True) and list(folder.iterdir()),
               "it is refused for ever")


def main():
    with tempfile.TemporaryDirectory(prefix="abi-test-") as place:
        libraries = Libraries(place)
        if sys.argv[1:2] == ["--record"]:
            return any([record(RECORDED, one.name,
                               recorded(one.name) if (RECORDED / f"{one.name}.xml").exists() else "",
                               shown(one), sys.argv[2:] == ["anyway"]) for one in libraries.all])
        tests = [test_promise, test_recorded, test_seen, test_growth, test_refused]
        plan(tests)
        return bool(run(tests, libraries))


if __name__ == "__main__":
    sys.exit(main())
