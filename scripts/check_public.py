#!/usr/bin/env python3
"""Checks the public interface of an installed shortlist.

usage: check_public.py PREFIX [SHARED_OBJECT...]

  - every header below PREFIX/include compiles alone, as C++20, and includes our headers as shortlist/...; shortlist.h
    as C99 too
  - all macros that our headers define begin with SHORTLIST_
  - a shared object exports only names of shortlist: shortlist_* and, for a Python module, PyInit_*

Prints one line per breach and exits with 1 if there is any. CXX, CC and CXXFLAGS come from the environment.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CXX = os.environ.get("CXX", "c++")
CC = os.environ.get("CC", "cc")
MORE = os.environ.get("CXXFLAGS", "").split()
DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
EXPORTED = re.compile(r"shortlist_\w+|PyInit_\w+")


def compile_alone(header, root, compiler):
    reply = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root}", "-include",
                            str(header), "-"], input="", capture_output=True, text=True)
    return [f"{header} does not compile alone: {reply.stderr.strip().splitlines()[0]}"] if reply.returncode else []


def check_header(header, root):
    cxx = [CXX, "-std=c++20", *MORE, "-x", "c++"]
    found = compile_alone(header, root, cxx)
    if header.name == "shortlist.h":
        found += compile_alone(header, root, [CC, "-std=c99", "-pedantic", "-x", "c"])
    text = header.read_text(encoding="utf-8")
    return found + [f"{header}: macro {name} does not begin with SHORTLIST_" for name in DEFINE.findall(text)
                    if not name.startswith("SHORTLIST_")]


def check_exports(library):
    reply = subprocess.run(["nm", "--dynamic", "--defined-only", library], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in reply.stdout.splitlines()]
    found = [f"{library} exports {name}" for name in names if not EXPORTED.fullmatch(name)]
    return found if names else [f"{library} exports nothing"]


def main():
    if len(sys.argv) < 2 or not (Path(sys.argv[1]) / "include").is_dir():
        sys.exit(__doc__)
    include = Path(sys.argv[1]) / "include"
    headers = [(include / "shortlist.h", include)]
    headers += [(header, include) for header in sorted((include / "shortlist").rglob("*.h"))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = sum(pool.map(lambda pair: check_header(*pair), headers), [])
    for library in sys.argv[2:]:
        found += check_exports(library)
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(headers)} headers, {len(sys.argv) - 2} shared objects: {len(found)} breaches")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
