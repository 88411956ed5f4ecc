#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rmctl regions on this machine: files are checked, converted and come back the same."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import TOP, expect, plan, run
from schemas import fitting

RMCTL = TOP / "build" / "tools" / "rmctl"
COMPILERS = [["gcc", "-x", "c", "-std=c11", "-pedantic"], ["g++", "-x", "c++", "-std=c++17"],
             ["clang", "-x", "c", "-std=c11"], ["clang", "-x", "c++", "-std=c++17"]]
SIZES = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
         "uint64": 8, "float": 4, "double": 8, "bool": 1, "char": 1}
TEXTS = ["bar", "%", "°C", "m/s, or so", 'a "quoted" word', "it's", "=1+1", "# no comment",
         "back\\slash", "*/ int x; /*", "yes", "1e3", "{a: b}", "two  blanks", "last \\"]


def rmctl(*words, env=None):
    return subprocess.run([RMCTL, *map(str, words)], text=True, capture_output=True, check=False,
                          timeout=60, env=None if env is None else {**os.environ, **env})


def good(*words):
    done = rmctl(*words)
    expect(done.returncode == 0 and not done.stderr, f"rmctl {words}: {done}")
    return done.stdout


def example():
    """The file that rfm-regions(5) shows."""
    page = (TOP / "docs" / "man" / "rfm-regions.5").read_text(encoding="utf-8")
    return page.split(".EX\n")[1].split(".EE\n")[0].replace("\\-", "-")


class Maker:
    """Random good files: aligned, nothing on the same bytes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.types = {}

    def extras(self, entry, value):
        if self.random.random() < .4:
            entry["description"] = self.random.choice(TEXTS).replace("  ", " ")
        if value and self.random.random() < .4:
            entry["unit"] = self.random.choice(TEXTS).replace("  ", " ")
        if self.random.random() < .3:
            entry["byte-order"] = self.random.choice(["big", "little"])
        if self.random.random() < .3:
            entry["period"] = self.random.choice(["10 ms", "1 s", "250 us", "7 ns", "1500 ms"])
        if value and self.random.random() < .5:
            entry.update(self.meaning(entry["type"]))

    def meaning(self, kind):
        choices = [{}]
        if kind[-1].isdigit():
            choices.append({"values": {"idle": 0, "busy": 1, "fault": 127}})
        if kind.startswith("int"):
            choices.append({"values": {"down": -1, "up": 1}})
        if kind.startswith("uint"):
            choices.append({"bits": {"on": 0, "mode": "4-6", "fault": 7}})
        if kind == "uint64":
            choices += [{"bits": {"low": "0-62", "top": 63}}, {"values": {"most": str(2 ** 64 - 1)}}]
        if kind[-1].isdigit() and not kind.endswith("64"):
            choices += [{"scale": 0.01}, {"scale": -1.5, "bias": 1e3}, {"scale": 0.1, "bias": -40.5}]
        return self.random.choice(choices)

    def entry(self, at, depth):
        """An entry that can stand at `at` or behind, its end and its alignment."""
        count = self.random.choice([1, 1, 1, 2, 7])
        kind = self.random.random()
        if depth < 3 and kind < .3:
            entry, size, align = self.structure(depth + 1)
        elif self.types and kind < .5:
            name = self.random.choice(list(self.types))
            size, align = self.types[name][1:]
            entry = {"type": name}
        else:
            name = self.random.choice(list(SIZES))
            size = align = SIZES[name]
            entry = {"type": name}
        self.extras(entry, entry.get("type") in SIZES)
        at += self.random.choice([0, 0, 1, 5])
        at = -(-at // align) * align
        if count > 1:
            entry["count"] = count
        return {"offset": at, **entry}, at + size * count, align

    def structure(self, depth):
        fields, end, largest = {}, 0, 1
        for i in range(self.random.randint(1, 5)):
            fields[f"f{i}"], end, align = self.entry(end, depth)
            largest = max(largest, align)
        size = -(-end // largest) * largest
        entry = {}
        if self.random.random() < .3:
            size += largest * self.random.randint(0, 3)
            entry["size"] = size
        return {**entry, "fields": fields}, size, largest

    def file(self):
        for i in range(self.random.randint(0, 4)):
            self.types[f"t{i}"] = self.structure(3)
        regions, end = {}, 0
        for i in range(self.random.randint(1, 8)):
            regions[f"r{i}"], end, _ = self.entry(end, 0)
            if self.random.random() < .5:
                regions[f"r{i}"]["owner"] = 200
        types = {name: made[0] for name, made in self.types.items()}
        return {"rfm-regions": 1, "memory": end, **({"types": types} if types else {}),
                "regions": regions}


def files(folder):
    """Some good files: the example, an empty one, many at random."""
    texts = [example(), "rfm-regions: 1\nregions: {}\n",
             *(json.dumps(Maker(seed).file(), ensure_ascii=False) for seed in range(60))]
    for number, text in enumerate(texts):
        path = folder / f"file-{number}.yaml"
        path.write_text(text, encoding="utf-8")
        yield path


def test_round_trip(folder):
    """What is exported and imported again, as a table or JSON, is the same"""
    for path in files(folder):
        good("regions", "check", path)
        exported = {form: good("regions", "export", path, "--to", form) for form in ("csv", "json")}
        if path.name not in ("file-0.yaml", "file-1.yaml"):
            told, made = json.loads(exported["json"]), json.loads(path.read_text("utf-8"))
            expect(told == made, f"{path}: {told} {made}")
        for form, text in exported.items():
            source, again = folder / f"source.{form}", folder / "again.yaml"
            source.write_text(text, encoding="utf-8", newline="")
            again.write_text(good("regions", "import", source, "--from", form), encoding="utf-8")
            for other, before in exported.items():
                expect(good("regions", "export", again, "--to", other) == before,
                       f"{path} by way of {form} has become another {other}")


def test_one_line(folder):
    """With -j export and import print the file as an object on one line"""
    for path in files(folder):
        told = json.loads(good("regions", "export", path, "--to", "json"))
        for form in ("csv", "json"):
            source = folder / f"source.{form}"
            source.write_text(good("regions", "export", path, "--to", form), encoding="utf-8",
                              newline="")
            for verb, words in (("export", [path]), ("export", [path, "--to", "json"]),
                                ("import", [source, "--from", form])):
                line = good("-j", "regions", verb, *words)
                expect(line.count("\n") == 1 and fitting(f"regions-{verb}", line) == told,
                       f"{path}: {line}")


def test_header(folder):
    """A header compiles as C11 and C++17, and its assertions hold; they fail when a file is wrong"""
    for path in list(files(folder))[:25]:
        header = folder / "rig.h"
        text = good("regions", "export", path, "--to", "header", "--prefix", "rig")
        expect("packed" not in text and text.count("(*)") == 0, text)
        header.write_text(text, encoding="utf-8")
        for compiler in COMPILERS:
            done = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", header,
                                   *(["-Wno-pragma-once-outside-header"]
                                     if compiler[0] == "clang" else [])],
                                  text=True, capture_output=True, check=False)
            expect(not done.returncode, f"{path} {compiler}: {done.stderr}")
    # Each assertion is one: a number changed is a compiler's error.
    text = good("regions", "export", folder / "file-0.yaml", "--to", "header", "--prefix", "rig")
    asserted = [line for line in text.splitlines() if line.startswith("RFM_REGIONS_ASSERT")]
    expect(len(asserted) > 20, text)
    for line in asserted[::5]:
        header.write_text(text.replace(line, re.sub(r"0x(\w+)\);$", r"0x1\1);", line)),
                          encoding="utf-8")
        done = subprocess.run(["gcc", "-x", "c", "-std=c11", "-fsyntax-only", header],
                              capture_output=True, text=True, check=False)
        expect(done.returncode and "static assertion failed" in done.stderr, f"{line}: {done}")


ORDERS = """rfm-regions: 1
byte-order: big
types:
  t: {byte-order: little, description: servo, fields: {x: {offset: 0, type: int32}}}
regions:
  a:
    offset: 0
    byte-order: little
    fields:
      b: {offset: 0, type: int16, byte-order: big, unit: m, description: way}
      c: {offset: 2, type: int16, byte-order: little}
      d: {offset: 4, type: int16}
  e: {offset: 8, type: float, unit: bar, description: pressure, byte-order: little}
"""


def test_header_comments(folder):
    """A header says unit, description and byte order of fields and of definitions"""
    path = folder / "orders.yaml"
    path.write_text(ORDERS, encoding="utf-8")
    text = good("regions", "export", path, "--to", "header", "--prefix", "rig")
    for told in ("\n/* Values are big-endian where nothing else is said. */\n",
                 "\n/* servo; little-endian */\ntypedef struct {\n\tint32_t x;\n} rig_type_t;\n",
                 "\n/* little-endian */\ntypedef struct {\n\tint16_t b;\t/* m; way; big-endian */\n"
                 "\tint16_t c;\t/* little-endian */\n\tint16_t d;\n} rig_region_a;\n",
                 "\n/* bar; pressure; little-endian */\ntypedef float rig_region_e;\n"):
        expect(told in text, f"{told!r} is not in {text}")
    path.write_text("rfm-regions: 1\nregions: {}\n", encoding="utf-8")
    expect("/* Values are little-endian where nothing else is said. */" in
           good("regions", "export", path, "--to", "header"), "no byte order")


BAD = """rfm-regions: 1
memory: 64
regions:
  a: {offset: 2, type: float, owner: 1}
  b: {offset: 5, type: bool, owner: 2}
  c: {offset: 64, type: unknown}
"""


def test_check(folder):
    """check tells all at once, and exits with 1; -j the same"""
    path = folder / "bad.yaml"
    path.write_text(BAD, encoding="utf-8")
    told = ["4: 'a' at 0x2 is misaligned: not at a multiple of 4",
            "5: 'b' at 0x5 to 0x5 overlaps 'a' at 0x2 to 0x5 of line 4",
            "5: two owners in the granule of 64 bytes at 0x0: node 2 of 'b', and node 1 of 'a' "
            "of line 4", "6: there is no type 'unknown', of which 'c' is said to be"]
    done = rmctl("regions", "check", path)
    expect(done.returncode == 1 and not done.stdout and
           done.stderr.splitlines() == [f"{path}:{line}" for line in told], f"{done}")
    for done in (rmctl("-j", "regions", "check", path),
                 rmctl("-j", "-R", path, "regions", "check"),
                 rmctl("regions", "check", "-j", env={"RFM_REGIONS": str(path)})):
        answer = fitting("regions-check", done.stdout)
        expect(done.returncode == 1 and not done.stderr and answer["file"] == str(path) and
               answer["good"] is False and
               [f"{it['line']}: {it['text']}" for it in answer["complaints"]] == told and
               [it["fault"] for it in answer["complaints"]] ==
               ["alignment", "overlap", "owners", "form"], f"{done}")
    # Of very many no more than a thousand are told.
    path.write_text("rfm-regions: 1\nregions:\n" + "".join(
        f"  r{i}: {{offset: x, type: int8}}\n" for i in range(1100)), encoding="utf-8")
    told = rmctl("regions", "check", path).stderr.splitlines()
    expect(len(told) == 1001 and told[999] == f"{path}:1002: offset 'x' is not a number" and
           told[1000] == f"{path}: there is more that is wrong", f"{told}")
    # What is quoted may end in the middle of a character.
    path.write_text(f"rfm-regions: 1\nbyte-order: {'a' * 69}ä\nregions: {{}}\n", encoding="utf-8")
    done = rmctl("-j", "regions", "check", path)
    expect([it["text"] for it in fitting("regions-check", done.stdout)["complaints"]] ==
           [f"byte-order is little or big, not '{'a' * 69}?'"], f"{done}")
    path.write_text("rfm-regions: 1\nregions: {a: {offset: 8, type: bool}}\n", encoding="utf-8")
    expect(fitting("regions-check", good("-j", "regions", "check", path)) ==
           {"file": str(path), "good": True, "complaints": []}, "-j check")
    good("regions", "check", path, "--memory", 9)
    done = rmctl("regions", "check", path, "--memory", "8")
    expect(done.returncode == 1 and "ends beyond the memory" in done.stderr, f"{done}")


def test_bad_tables(folder):
    """A table or JSON that is not good is refused with the line of the table"""
    head = "kind,name,offset,type\n"
    cases = [("csv", "name,colour\n", "1: there is no column 'colour'"),
             ("csv", "name,name\n", "1: column 'name' is here twice"),
             ("csv", "offset\n", "1: there is no column 'name'"),
             ("csv", head + "thing,a,0,int8\n", "2: kind 'thing' is none of file, type, region"),
             ("csv", head + '\nregion,"a\n', "3: a cell begins with \" and has no end"),
             ("csv", head + '"region"x,a\n', "2: there is something behind the \" of a cell"),
             ("csv", head + "region,a.b,0,int8\n", "2: 'a.b' does not follow the row of 'a'"),
             ("csv", head + ",a,0,int8\r\n,b,x,int8\r\n", "3: offset 'x' is not a number"),
             ("csv", head + ",a,0,struct\n,b,8,int8\n", "2: 'a' has neither a type nor fields"),
             ("csv", head + ",a,0,int8\n,a,1,int8\n", "3: 'a' is here a second time, after line 2"),
             ("csv", head + ",,0,int8\n",
              "2: the row has no name"),
             ("csv", head + "," * 64 + "\n", "2: a row has at most 64 cells"),
             ("csv", head + f",{'a' * 1500},0,int8\n",
              f"2: '{'a' * 70}...' is too long for a name"),
             ("csv", head + ",a\0,0,int8\n", "2: the table has a NUL in it"),
             ("csv", "name;offset;type\na;0;int8\n",
              "1: the cells of a table are separated by commas, not by semicolons or tabs"),
             ("csv", "name\toffset\ttype\na\t0\tint8\n",
              "1: the cells of a table are separated by commas, not by semicolons or tabs"),
             ("csv", (head + ",a,0,int8\n,b,8,double,1,0,little,1,1 s,\xb0C\n").encode("latin-1"),
              "3: this is not UTF-8: save the table again, as UTF-8 and not as ISO 8859-1, Windows "
              "or UTF-16 text"),
             ("csv", (head + ",a,0,int8\n").encode("utf-16"),
              "1: this is not UTF-8: save the table again, as UTF-8 and not as ISO 8859-1, Windows "
              "or UTF-16 text"),
             ("json", '{\n"rfm-regions": 1,\n}', "3: string or '}' expected near '}'"),
             ("json", "rfm-regions: 1\n", "1: '[' or '{' expected near 'rfm'"),
             ("json", '{"rfm-regions": 1, "regions":\n{"a": {"offset": 0}}}',
              "2: 'a' has neither a type nor fields"),
             ("json", '{"rfm-regions": 1, "regions":\n{"a": {"offset": 0, "type": "int8", '
              '"unit": null}}}', " null is no value: leave the key out")]
    for form, text, told in cases:
        path = folder / "bad"
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        done = rmctl("regions", "import", path, "--from", form)
        expect(done.returncode == 3 and not done.stdout and done.stderr == f"{path}:{told}\n",
               f"{text!r}: {done}")
    # A plain table, as people have them: a heading of their order, no structures.
    path.write_text("\ufeffunit,type,offset,name\nbar,float,0x40,pressure\n,,,\n", encoding="utf-8")
    expect(good("regions", "import", path, "--from", "csv").endswith(
        "regions:\n  pressure: {offset: 0x40, type: float, unit: 'bar'}\n"), "a plain table")
    # Blanks that nobody sees.
    path.write_text("name , offset,type\n pressure,0x40 ,\tfloat \n", encoding="utf-8")
    expect(good("regions", "import", path, "--from", "csv").endswith(
        "regions:\n  pressure: {offset: 0x40, type: float}\n"), "a table with blanks")


def test_escapes(folder):
    """JSON's escapes are taken as JSON means them, characters of two escapes included"""
    path = folder / "escapes.json"
    for text, meant in ((r"\ud83d\ude00", "\U0001f600"), (r"x\uDBFF\uDFFFy", "x\U0010ffffy"),
                        (r"\u00b0C", "\u00b0C"), (r"\\ud83d\\ude00", r"\ud83d\ude00"),
                        (r"\\\ud800\udc00", "\\\U00010000"), (r'a\/b\"', 'a/b"')):
        path.write_text('{"rfm-regions": 1, "description": "' + text + '", "regions": {}}\n',
                        encoding="utf-8")
        told = json.loads(good("-j", "regions", "import", path, "--from", "json"))
        expect(told["description"] == meant, f"{text!r}: {told}")


def test_odd_names(folder):
    """A file's name may be any bytes: what is not text is ? in JSON"""
    path = os.fsencode(folder) + b"/rig\xff\x1b[2J.yaml"
    with open(path, "wb") as file:
        file.write(b"rfm-regions: 1\nregions: {}\n")
    done = subprocess.run([RMCTL, "-j", "regions", "check", path], capture_output=True, check=False)
    expect(done.returncode == 0 and not done.stderr and
           fitting("regions-check", done.stdout.decode()) ==
           {"file": f"{folder}/rig??[2J.yaml", "good": True, "complaints": []}, f"{done}")


def test_names_of_c(folder):
    """What the header includes defines no name that a region may have"""
    source, path = folder / "names.c", folder / "names.yaml"
    source.write_text("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n", "utf-8")
    names = set()
    for compiler in COMPILERS:
        for standard in ("c", "gnu"):
            words = [word.replace("=c", f"={standard}") for word in compiler]
            told = subprocess.run([*words, "-dM", "-E", source], text=True, capture_output=True,
                                  check=True).stdout
            names.update(re.findall(r"^#define ([A-Za-z]\w*) ", told, re.MULTILINE))
    expect({"NULL", "INT32_MAX", "SIZE_MAX", "bool"} <= names, f"{names}")
    path.write_text("rfm-regions: 1\nregions:\n" + "".join(
        f"  {name}: {{offset: {at * 8}, type: int8}}\n" for at, name in enumerate(sorted(names))),
                    encoding="utf-8")
    told = rmctl("regions", "check", path).stderr
    allowed = [name for name in names if f"'{name}' is a word of C, of C++" not in told]
    expect(not allowed, f"{allowed}")


def test_beyond(folder):
    """A name with values beyond its end is neither shown nor stored to"""
    path = folder / "beyond.yaml"
    path.write_text("rfm-regions: 1\nregions: {a: {offset: 0, size: 4, fields: "
                    "{x: {offset: 0, type: int32}, y: {offset: 4096, type: int32}}}}\n",
                    encoding="utf-8")
    for verb, *words in (["peek"], ["dump"], ["poke", "1", "2"]):
        done = rmctl("-R", path, verb, "/dev/null", "a", *words)
        expect(done.returncode == 3 and not done.stdout and done.stderr.endswith(
            "'a' has values beyond its end: 'rmctl regions check' shows them\n"), f"{done}")


def test_usage(folder):
    """What makes no sense is refused, with a sentence"""
    path = folder / "file-0.yaml"
    for status, words, told in (
            (2, [], "too few arguments"), (2, ["chek"], "say check, export or import, not 'chek'"),
            (2, ["export", path], "say --to csv, json or header"),
            (2, ["export", path, "--to", "xml"], "say --to csv, json or header"),
            (2, ["import", path], "say --from csv or json"),
            (2, ["import", path, "--from", "header"], "say --from csv or json"),
            (2, ["import", "--from", "csv"], "say which file to import"),
            (2, ["export", path, "--to", "csv", "-j"], "--to csv and --json exclude each other"),
            (2, ["export", path, "--to", "header", "-j"],
             "--to header and --json exclude each other"),
            (2, ["check", ""], "the name of the file is empty"),
            (2, ["check", path, "--to", "csv"], "check has no option --to"),
            (2, ["check", path, "--memory", "x"], "memory 'x' is not a number"),
            (2, ["check", path, "--memory", "0"], "the memory must have at least 1 byte"),
            (2, ["export", path, "--to", "header", "--prefix", "9"], "prefix '9' is no name in C"),
            (3, ["check", folder / "none"], "No such file or directory"),
            (3, ["export", folder / "none", "--to", "csv"], "No such file or directory"),
            (3, ["import", folder / "none", "--from", "csv"], "No such file or directory")):
        done = rmctl("regions", *words)
        expect(done.returncode == status and done.stderr.count("\n") == 1 and not done.stdout and
               done.stderr.startswith("rmctl: regions: ") and told in done.stderr,
               f"{words}: {done}")
    bad = folder / "overlap.yaml"
    bad.write_text("rfm-regions: 1\nregions:\n  a: {offset: 0, type: int16}\n"
                   "  b: {offset: 1, type: int8}\n", encoding="utf-8")
    done = rmctl("regions", "export", bad, "--to", "header")
    expect(done.returncode == 3 and not done.stdout and "overlaps" in done.stderr and
           f"no header can be made of {bad}" in done.stderr, f"{done}")


TESTS = [test_round_trip, test_one_line, test_header, test_header_comments, test_check,
         test_bad_tables, test_escapes, test_odd_names, test_names_of_c, test_beyond, test_usage]

if __name__ == "__main__":
    plan(TESTS)
    with tempfile.TemporaryDirectory(prefix="regions-test-") as place:
        sys.exit(bool(run(TESTS, Path(place))))
