#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints uapi/netlink/rfm.yaml as what rmctl decodes messages by.

usage: netlink_tables.py header|source SPECIFICATION

For sets of attributes, the members of a union that has a number for each of them, which can be
filled in as an array by attribute; and what JSON calls them. For enumerations the names of their
values, or of their bits. The compiler holds all of it to the header of the interface.
"""

import sys
import textwrap

import yaml

# What rmctl needs.
NUMBERS = "card", "driver", "descriptor", "event"
KEYS = "driver", "event"
NAMES = "policy", "descriptor-kind", "descriptor-flag", "notice"

HEAD = """\
/* SPDX-License-Identifier: MIT */
/* Do not edit: scripts/netlink-generate makes this from uapi/netlink/rfm.yaml. */
"""


def c_name(*words):
    return "_".join(words).replace("-", "_")


def is_number(attribute):
    return attribute["type"] in ("u8", "u32", "u64")


def lines(words, end="", between=", "):
    """The words, and what is between them, on lines that fit, each but the last with an end."""
    return (end + "\n").join(textwrap.wrap(between.join(words), 88, break_on_hyphens=False))


def arrays(spec):
    """Yields the name of each array of names and what is in it."""
    for attributes in spec["attribute-sets"]:
        if attributes["name"] in KEYS:
            yield c_name("rfm", attributes["name"], "keys"), [None] + [
                c_name(a["name"]) if is_number(a) else None for a in attributes["attributes"]]
    for enum in spec["definitions"]:
        if enum["name"] in NAMES:
            yield c_name("rfm", enum["name"], "names"), [None] * enum.get("value-start", 0) + [
                e["name"] if isinstance(e, dict) else e for e in enum["entries"]]


def refuse_unhandled(spec):
    """A number is a place in its list here, and nothing else."""
    for attributes in spec["attribute-sets"]:
        entries = attributes.get("attributes", [])
        if "subset-of" in attributes:
            sys.exit(f"{sys.argv[2]}: '{attributes['name']}' is a subset-of, which "
                     "scripts/netlink_tables.py does not handle")
        refuse_values(attributes["name"], entries)
    for enum in spec["definitions"]:
        refuse_values(enum["name"], enum.get("entries", []))


def refuse_values(name, entries):
    for entry in entries:
        if isinstance(entry, dict) and "value" in entry:
            sys.exit(f"{sys.argv[2]}: '{entry['name']}' of '{name}' has a value of its own, which "
                     "scripts/netlink_tables.py does not handle")


def print_promises(spec):
    """What the tables rely on."""
    print()
    for attributes in spec["attribute-sets"]:
        name = attributes["name"]
        most = c_name("RFM_A", name, "MAX").upper()
        if name in NUMBERS:
            # Which of them are known is told in 64 bits.
            print(f'_Static_assert({most} < 64, "");')
        if name in KEYS:
            print(f'_Static_assert({most} == {len(attributes["attributes"])}, "");')
    for enum in spec["definitions"]:
        if enum["name"] in NAMES:
            last = enum["entries"][-1]
            last = last["name"] if isinstance(last, dict) else last
            place = enum.get("value-start", 0) + len(enum["entries"]) - 1
            place = f"1 << {place}" if enum["type"] == "flags" else place
            print(f'_Static_assert({c_name("RFM", enum["name"], last).upper()} == {place}, "");')


def print_header(spec):
    print(HEAD + "#ifndef RMCTL_NETLINK_GEN_H\n#define RMCTL_NETLINK_GEN_H\n\n"
          "#include <stdint.h>\n\n#include <linux/rfm_netlink.h>\n\n"
          "/* In a union with an array by attribute: a member that lies over its number there. */\n"
          "#define NUMBER_AT(attribute, member) \\\n"
          "\tstruct { uint64_t before_##member[RFM_A_##attribute], member; }\n")
    for attributes in spec["attribute-sets"]:
        if attributes["name"] not in NUMBERS:
            continue
        # A blank is no place to wrap inside of one.
        members = [f"NUMBER_AT({c_name(attributes['name'], a['name']).upper()},\0{c_name(a['name'])})"
                   for a in attributes["attributes"] if is_number(a)]
        print(f"#define {c_name('rfm', attributes['name'], 'numbers').upper()} \\\n\t"
              + lines(members, " \\", "; ").replace("\n", "\n\t").replace("\0", " ") + "\n")
    print("/* The same, as JSON calls them; and names by value, of flags by bit. */")
    for name, words in arrays(spec):
        print(f"extern const char *const {name}[{len(words)}];")
    print("\n#endif /* RMCTL_NETLINK_GEN_H */")


def print_source(spec):
    print(HEAD + '#include "netlink_gen.h"\n\n#include <stddef.h>')
    for name, words in arrays(spec):
        text = lines([f'"{word}"' if word else "NULL" for word in words]).replace("\n", "\n\t")
        print(f"\nconst char *const {name}[{len(words)}] = {{\n\t{text},\n}};")
    print_promises(spec)


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        spec = yaml.safe_load(file)
    refuse_unhandled(spec)
    {"header": print_header, "source": print_source}[sys.argv[1]](spec)


if __name__ == "__main__":
    main()
