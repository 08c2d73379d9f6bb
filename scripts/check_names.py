#!/usr/bin/env python3
"""Checks that no two files define types with the same name: the linker would confuse their functions.

usage: check_names.py [REPOSITORY]
Prints one line per name that is defined twice and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("base", "c", "vocab", "kernels", "text", "request", "device", "sketch", "model", "head", "draft", "embed", "router", "runtime",
           "serve", "cli")
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r'|^[ \t]*#(?:[^\n\\]|\\.)*', re.DOTALL | re.MULTILINE)
TOKEN = re.compile(r"namespace(?:\s+[\w:]+)?\s*\{|[{}]|\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+"
                   r"(?:\[\[\w+\]\]\s*)?(\w+)\b(?!\s*::)(?=[^;{}]*\{)")


def types_of(text):
    """Qualified names and lines of the types that `text` defines in named namespaces."""
    text = SKIPPED.sub(lambda match: "\n" * match.group().count("\n"), text)
    scopes, found = [], []
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.startswith("namespace"):
            scopes.append(token[len("namespace"):-1].strip() or "(anonymous)")
        elif token == "{":
            scopes.append("")
        elif token == "}":
            if scopes:
                scopes.pop()
        elif match.group(1) and all(scopes) and "(anonymous)" not in scopes:
            # After a comma or an angle bracket it is a template parameter.
            if not text[:match.start()].rstrip().endswith(("<", ",")):
                found.append(("::".join([*scopes, match.group(1)]), text.count("\n", 0, match.start()) + 1))
    return found


def repeated(root):
    """Returns lines `name: file:line and file:line` for types that two files define."""
    places = {}
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cc", ".inc", ".cu", ".cuh"):
                for name, line in types_of(file.read_text(encoding="utf-8")):
                    places.setdefault(name, []).append(f"{file.relative_to(root)}:{line}")
    return [f"{name}: {' and '.join(where)}" for name, where in sorted(places.items()) if len(where) > 1]


def main():
    found = repeated(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
