# SPDX-License-Identifier: MIT
"""A verdict as JUnit XML, which CI systems show."""

import re
from xml.etree import ElementTree

# What XML cannot hold, whatever a command has printed.
UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


def write(path, suite, cases, seconds):
    """cases: (what, seconds, complaint or None, output)."""
    root = ElementTree.Element("testsuites")
    top = ElementTree.SubElement(root, "testsuite", name=suite, tests=str(len(cases)), errors="0", skipped="0",
                                 failures=str(sum(case[2] is not None for case in cases)),
                                 time=f"{seconds:.3f}")
    for what, took, complaint, output in cases:
        case = ElementTree.SubElement(top, "testcase", classname=suite, name=str(what), time=f"{took:.3f}")
        if complaint is not None:
            failure = ElementTree.SubElement(case, "failure", message=UNPRINTABLE.sub("?", complaint))
            failure.text = UNPRINTABLE.sub("?", complaint)
        if output:
            ElementTree.SubElement(case, "system-out").text = UNPRINTABLE.sub("?", output)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)
