#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints uapi/netlink/rfm.yaml as the tables that netlink_table.h declares, for the tests.

They are made anew, not taken from the driver's policy: what the driver lets through is held
to the specification.
"""

import sys

import yaml

BITS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64, "s32": 32}
KINDS = {"u8": "U8", "u16": "U16", "u32": "U32", "u64": "U64", "s32": "S32", "string": "STRING",
         "flag": "FLAG", "nest": "NEST", "pad": "PAD"}


def c_name(*words):
    return "_".join(words).replace("-", "_")


def enum_limits(enum):
    """The kind of limit, the least and the greatest value."""
    count, start = len(enum["entries"]), enum.get("value-start", 0)
    if enum["type"] == "flags":
        return "MASK", 0, (1 << count) - 1
    return "RANGE", start, start + count - 1


def limits(attribute, enums):
    kind = attribute["type"]
    checks = attribute.get("checks", {})
    if kind == "string":
        return "RANGE", 0, checks.get("max-len", 0)
    if kind not in BITS:
        return "RANGE", 0, 0
    if "enum" in attribute:
        return enum_limits(enums[attribute["enum"]])
    bits = BITS[kind] - (kind[0] == "s")
    least = checks.get("min", -(1 << bits) if kind[0] == "s" else 0)
    return "RANGE", least, checks.get("max", (1 << bits) - 1)


def print_set(number_of, attributes, enums):
    """The attributes of a set, each at the place of its number."""
    name = attributes["name"]
    print(f"\nstatic const struct spec_attr {c_name('spec', name)}_attrs[] = {{")
    for attribute in attributes["attributes"]:
        limit, least, most = limits(attribute, enums)
        nest = attribute.get("nested-attributes")
        print(f'\t[{number_of(name, attribute["name"])}] = {{ .name = "{attribute["name"]}", '
              f'.kind = SPEC_{KINDS[attribute["type"]]}, .limit = SPEC_{limit}, '
              f'.min = {least}, .max = {most}ull'
              + (f", .nest = &{c_name('spec', nest)}" if nest else "")
              + (", .multi = true" if attribute.get("multi-attr") else "") + " },")
    print(f"}};\nconst struct spec_set {c_name('spec', name)} = {{ \"{name}\", "
          f"{c_name('spec', name)}_attrs,\n\tARRAY_SIZE({c_name('spec', name)}_attrs) - 1 }};")


def numbers(number_of, name, attributes):
    return "(const uint16_t[]){ " + ", ".join(
        [number_of(name, attribute) for attribute in attributes] + ["0"]) + " }"


def operations(spec):
    """Yields each operation with its mode (do, dump, event) and what belongs to that."""
    by_name = {op["name"]: op for op in spec["operations"]["list"]}
    for op in spec["operations"]["list"]:
        if "notify" in op:
            yield op, "EVENT", by_name[op["notify"]]["attribute-set"], {
                "reply": by_name[op["notify"]]["do"]["reply"]}
        if "event" in op:
            yield op, "EVENT", op["attribute-set"], {"reply": op["event"]}
        for mode in "do", "dump":
            if mode in op:
                yield op, mode.upper(), op["attribute-set"], op[mode]


def main():
    spec = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
    family = spec["name"]
    enums = {d["name"]: d for d in spec["definitions"]}

    def number_of(name, attribute):
        return c_name(family, "a", name, attribute).upper()

    print("/* Made by netlink_spec.py. */")
    for attributes in spec["attribute-sets"]:
        print(f"extern const struct spec_set {c_name('spec', attributes['name'])};")
    for attributes in spec["attribute-sets"]:
        print_set(number_of, attributes, enums)
    print("\nstatic const struct spec_op spec_ops[] = {")
    for op, mode, name, messages in sorted(operations(spec), key=lambda op: op[1] == "EVENT"):
        request, reply = (messages.get(way, {}).get("attributes", ())
                          for way in ("request", "reply"))
        print(f'\t{{ "{op["name"]}", {c_name(family, "cmd", op["name"]).upper()}, '
              f"SPEC_{mode}, &{c_name('spec', name)},\n"
              f"\t  {numbers(number_of, name, request)},\n\t  {numbers(number_of, name, reply)} }},")
    print("};")


if __name__ == "__main__":
    main()
