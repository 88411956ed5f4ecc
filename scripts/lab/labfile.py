# SPDX-License-Identifier: MIT
"""The file that `rmlab run` is given: what a lab is, what runs in it, what goes wrong.

What may stand in it, and what it means, is said by lab.schema.json, which editors read, too.
"""

import difflib
import json
import re
import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import jsonschema

from . import LabError, WrongFile
from .saved import Saved

SCHEMA = json.loads((Path(__file__).parent / "lab.schema.json").read_text())
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
ON_FRAMES = ("drop", "corrupt", "delay", "duplicate", "reorder", "freeze")
# What the hub takes as it stands.
OF_FRAMES = ("type", "address", "interrupt", "value", "at", "copy", "nth", "count", "probability",
             "seed", "for", "time", "depth", "bit")
# What a saved lab has from its time, and its machines.
OF_BOOTED = ("topology", "size", "kernel", "kernel-args")
OF_BOOTED_MACHINES = ("image", "login", "device-args", "qemu-args")
OF_MACHINES = ("push", "pull", "image", "login", "device-args", "qemu-args")
# A header, or a key; what else a line may begin with does not count.
LINE = re.compile(r"\s*(?:\[+\s*([^\]]+?)\s*\]+|([A-Za-z0-9_\"'.-]+)\s*=)")


@dataclass
class Node:
    name: str
    number: int             # from 1, in the order of the ring
    id: int
    kind: str
    line: int
    run: list
    timeout: float
    status: int
    background: bool
    settings: dict          # of a machine

    def __str__(self):
        return f"node '{self.name}'"


@dataclass
class Fault:
    name: str
    kind: str
    line: int
    when: float
    node: Node | None
    words: list             # for the hub

    def __str__(self):
        return f"fault '{self.name}'"


@dataclass
class LabFile:
    path: Path
    saved: Saved | None
    topology: str
    size: str
    timeout: float
    timeout_line: int
    kernel: str | None
    kernel_args: str
    regions: Path | None
    capture: bool
    nodes: list = field(default_factory=list)
    faults: list = field(default_factory=list)

    def where(self, thing):
        return f"{self.path}:{thing.line}: {thing}"

    def of_kind(self, kind):
        return [node for node in self.nodes if node.kind == kind]


def seconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    return float(number) * UNITS[unit]


class Lines:
    """On which line what stands, as far as one can see without reading TOML."""

    def __init__(self, text):
        self.lines, table = {(): 1}, ()
        for number, line in enumerate(text.splitlines(), 1):
            match = LINE.match(line)
            if not match:
                continue
            words = tuple(word.strip().strip("\"'") for word in (match[1] or match[2]).split("."))
            if match[1]:
                table = words
            self.lines.setdefault(table if match[1] else (*table, *words), number)

    def of(self, path):
        """Of that, or of what it lies in."""
        path = tuple(map(str, path))
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def sentence(error):
    """What is wrong, for people."""
    what = ".".join(map(str, error.absolute_path)) or "the file"
    if error.validator == "additionalProperties" and error.schema["additionalProperties"] is False:
        known = error.schema["properties"]
        wrong = next(key for key in error.instance if key not in known)
        near = difflib.get_close_matches(wrong, known, 1)
        return (*error.absolute_path, wrong), f"{what} has no '{wrong}'" + (
            f"; is it '{near[0]}'?" if near else "; there are " + ", ".join(k for k in known if k[0] != "$"))
    if error.validator == "enum":
        return error.absolute_path, f"{what} is '{error.instance}', not one of {', '.join(error.validator_value)}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return error.absolute_path, f"{what} lacks '{missing}'"
    times = SCHEMA["definitions"]["time"], SCHEMA["definitions"]["some-time"]
    if error.validator == "pattern" and error.schema not in times and "pull" in error.absolute_path:
        return error.absolute_path, f"'{error.instance}' is no plain name of a file"
    if error.validator == "pattern" and error.schema not in times:
        return (*error.absolute_path, error.instance), f"'{error.instance}' is no name: letters, digits, '_' and '-', at most 32"
    if error.validator == "pattern":
        return error.absolute_path, f"{what} is '{error.instance}', which is no time such as 500ms, 2s or 5m" + (
            "" if error.schema == times[0] else ", and more than 0")
    return error.absolute_path, f"{what}: {error.message}"


def load(path):
    """Reads it whole, and says the first thing that is wrong with it."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongFile(f"{path}: {getattr(error, 'strerror', None) or 'it is no text in UTF-8'}") from None
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        where = f"{path}:{at[1]}" if at else f"{path}:{len(text.splitlines())}"
        raise WrongFile(f"{where}: {str(error)[:at.start()] if at else error}") from None
    lines = Lines(text)

    def wrong(place, complaint):
        return WrongFile(f"{path}:{lines.of(place)}: {complaint}")

    errors = list(jsonschema.Draft7Validator(SCHEMA).iter_errors(content))
    if errors:
        told = [sentence(error) for error in errors]
        raise wrong(*min(told, key=lambda one: lines.of(one[0])))
    return make(path, content, lines, wrong)


def beside(path, name, place, wrong):
    """A file that is named in the file; it must be there."""
    found = path.parent / name
    if not found.exists():
        raise wrong(place, f"there is no {found}")
    return found


def make(path, content, lines, wrong):
    regions = content.get("regions")
    saved = find_saved(content, wrong)
    if saved:
        content = {**content, "topology": saved.config["topology"], "size": saved.config["size"]}
    lab = LabFile(path, saved, content.get("topology", "hub"), content.get("size", "64M"),
                  seconds(content.get("timeout", "10m")), lines.of(("timeout",)), content.get("kernel"),
                  content.get("kernel-args", ""), regions and beside(path, regions, ("regions",), wrong),
                  content.get("capture", False))
    if lab.capture and lab.topology == "chain":
        raise wrong(("capture",), "it is the hub that captures, and a chain has none")
    for number, (name, given) in enumerate(content["node"].items(), 1):
        lab.nodes.append(make_node(lab, name, number, given, lines, wrong))
    named = [node.name for node in lab.nodes]
    for name, given in content.get("fault", {}).items():
        lab.faults.append(make_fault(lab, name, given, lines, wrong))
    for node in lab.nodes:
        for other in lab.nodes[:node.number - 1]:
            if other.id == node.id:
                raise wrong(("node", node.name), f"nodes '{other.name}' and '{node.name}' both have the id "
                            f"{node.id}")
    if not any(node.run for node in lab.nodes):
        raise wrong(("node",), "no node runs anything: there is no verdict; one needs 'run'")
    if all(node.background for node in lab.nodes if node.run):
        raise wrong(("node", named[0]), "all commands are in the background: nothing would end the run")
    return lab


def find_saved(content, wrong):
    """The lab from which this one goes on, or None."""
    if "from" not in content:
        return None
    for key in OF_BOOTED:
        if key in content:
            raise wrong((key,), f"'{key}' is not for a lab that was saved: it is as it was")
    try:
        saved = Saved(content["from"])
    except LabError as error:
        raise wrong(("from",), error) from None
    if len(content["node"]) < len(saved.ids):
        raise wrong(("node",), f"saved lab '{saved.name}' has {len(saved.ids)} machines, and not all are named here")
    return saved


def check_saved(lab, name, number, given, wrong):
    """The first nodes are the machines that were saved; others may be on its hub."""
    place, ids = ("node", name), lab.saved.ids
    kind = given.get("kind", "machine")
    if number > len(ids):
        if kind == "machine" or lab.topology == "chain":
            raise wrong(place, f"'{name}' is not in saved lab '{lab.saved.name}', which has {len(ids)} machines" + (
                "" if kind == "machine" else " in a chain"))
        return given
    if kind != "machine":
        raise wrong((*place, "kind"), f"node {number} of saved lab '{lab.saved.name}' is a machine")
    for key in OF_BOOTED_MACHINES:
        if key in given:
            raise wrong((*place, key), f"'{key}' is not for a machine that was saved: it is as it was")
    if given.get("id", ids[number - 1]) != ids[number - 1]:
        raise wrong((*place, "id"), f"'{name}' was saved with the id {ids[number - 1]}")
    return {**given, "id": ids[number - 1]}


def make_node(lab, name, number, given, lines, wrong):
    place = ("node", name)
    if lab.saved:
        given = check_saved(lab, name, number, given, wrong)
    kind = given.get("kind", "machine")
    for key in OF_MACHINES:
        if key in given and kind != "machine":
            raise wrong((*place, key), f"'{key}' is for machines, and '{name}' is of kind {kind}")
    settings = {key: given[key] for key in OF_MACHINES if key in given}
    if "image" in settings:
        settings["image"] = beside(lab.path, settings["image"], (*place, "image"), wrong)
    elif "login" in settings:
        raise wrong((*place, "login"), f"'{name}' boots no image, so there is only root")
    settings["push"] = {beside(lab.path, source, (*place, "push"), wrong): target
                        for source, target in settings.get("push", {}).items()}
    if kind == "program" and lab.topology == "chain":
        raise wrong(place, "in a chain all nodes must be there before commands begin, and one of kind program is "
                    "not: it needs topology hub")
    if not isinstance(given.get("id", 0), int):
        raise wrong((*place, "id"), f"{given['id']} is no node id")
    try:
        shlex.split(settings.get("qemu-args", ""))
    except ValueError as error:
        raise wrong((*place, "qemu-args"), f"no shell takes that: {error}") from None
    if kind == "program" and "run" not in given:
        raise wrong(place, f"'{name}' is of kind program and has no 'run'")
    run = given.get("run")
    return Node(name, number, given.get("id", number), kind, lines.of(place),
                ["sh", "-c", run] if isinstance(run, str) else run,
                seconds(given.get("timeout", "60s")), given.get("status", 0),
                given.get("background", False), settings)


def make_fault(lab, name, given, lines, wrong):
    place = ("fault", name)
    kind, nodes = given["kind"], {node.name: node for node in lab.nodes}

    def node_of(key):
        if given[key] not in nodes:
            raise wrong((*place, key), f"there is no node '{given[key]}'; there are {', '.join(nodes)}")
        return nodes[given[key]]

    words = []
    for key, value in given.items():
        if key in ("port", "source"):
            node = node_of(key)
            words.append(f"{key}={node.id if key == 'source' else node.number - 1}")
        elif key in OF_FRAMES:
            words.append(f"{key}={value}")
    if kind in ON_FRAMES:
        if "node" in given:
            raise wrong((*place, "node"), f"'node' is not for {kind}; 'source' or 'port' say whose frames")
        if lab.topology == "chain":
            raise wrong(place, f"{kind} happens at the hub, and a chain has none")
    elif words:
        raise wrong(place, f"{kind} happens to a node, not to frames: it has 'node' and 'when' only")
    elif "node" not in given:
        raise wrong(place, f"{kind}: of which node? 'node' is missing")
    node = node_of("node") if "node" in given else None
    if kind in ("cut", "restore") and lab.topology == "chain" and node.kind != "machine":
        raise wrong(place, f"in a chain the fibres of machines can be cut, and '{node.name}' is none")
    if kind == "start" and node.kind == "program":
        raise wrong(place, f"'{node.name}' is of kind program, and not started again")
    return Fault(name, kind, lines.of(place), seconds(given.get("when", "0s")), node, words)
