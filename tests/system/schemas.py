# SPDX-License-Identifier: MIT
"""Holds what rmctl prints as JSON to the schemas in docs/json."""

import functools
import json

from jsonschema import Draft202012Validator

from suite import TOP, expect
from labkit import Failed

FOLDER = TOP / "docs" / "json"
GUEST_LOG = "/tmp/rmctl.json.log"       # tests/guest/rmctl_lib.sh writes it as $JSON_LOG


def closed(schema):
    """A schema without room for keys that it does not name: those are for later versions."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    if isinstance(parts.get("properties"), dict):
        parts.setdefault("additionalProperties", False)
    return parts


@functools.cache
def validator(verb):
    """The schema of a verb; a bad schema is a failure as well."""
    file = FOLDER / f"{verb}.json"
    expect(file.exists(), f"docs/json has no schema for the verb {verb}")
    schema = json.loads(file.read_text())
    expect('"additionalProperties": false' not in file.read_text() or verb.startswith("regions-"),
           f"{file.name} forbids keys that a later version may add")
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(closed(schema))


def fitting(verb, line):
    """The object that a line is, if it is as the schema of the verb says."""
    try:
        value = json.loads(line)
    except ValueError as problem:
        raise Failed(f"rmctl -j {verb}: {problem}: {line}") from problem
    for error in validator(verb).iter_errors(value):
        raise Failed(f"rmctl -j {verb}: {error.json_path}: {error.message}: {line}")
    for asked in value["asked"] if verb == "report" else ():
        for output in asked["output"]:
            fitting(asked["verb"], json.dumps(output))
    return value


def rmctl(lab, node, verb, *args, check=True):
    """Run `rmctl -j VERB ARG...` on a node. Returns its objects, each of which fits the schema."""
    done = lab.run(node, "rmctl", "-j", verb, *args, check=check)
    return [fitting(verb, line) for line in done.stdout.splitlines()]


def check_log(lab, node, verbs):
    """One TAP test about guest scripts that have kept their JSON: all fits, each verb was seen.

    Returns how many failed.
    """
    print("1..1")
    verdict = "ok"
    try:
        seen = set()
        for line in lab.out(node, "cat", GUEST_LOG).splitlines():
            verb, printed = line.split("\t", 1)
            fitting(verb, printed)
            seen.add(verb)
        expect(seen >= set(verbs), f"no JSON was seen of {', '.join(sorted(set(verbs) - seen))}")
    except Failed as problem:
        print(f"# {problem}")
        verdict = "not ok"
    print(f"{verdict} 1 - every JSON output fits its schema in docs/json", flush=True)
    return int(verdict != "ok")
