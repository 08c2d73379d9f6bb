#!/usr/bin/env python3
"""Checks that every #include and every CMake dependency follows the arrows of DESIGN.md.

usage: check_layering.py [REPOSITORY]
Prints one line per breach and exits 1 when there is any.
"""

import re
import sys
from pathlib import Path

# folder -> folders it may include. tests/ and bench/ may include everything.
ALLOWED = {
    "base": set(),
    "vocab": {"base"},
    "kernels": {"base"},
    "text": {"base"},
    "model": {"base", "kernels"},
    "draft": {"base", "kernels", "model", "vocab"},
    "embed": {"base", "kernels", "model"},
    "router": {"base", "draft", "embed"},
    "serve": {"base", "router", "text", "vocab"},
    "cli": {"base", "vocab", "kernels", "text", "model", "draft", "embed", "router", "serve"},
}
# kernels/ must build without abseil, so it sees only these headers of base/.
KERNELS_MAY_INCLUDE = {"base/check.h", "base/thread_pool.h"}
TORCH_FREE = {"base", "vocab", "kernels", "text", "serve"}
TORCH_IN_HEADERS = {"model", "draft", "embed", "router"}
TORCH = {"ATen", "c10", "torch"}

SOURCE_SUFFIXES = {".h", ".cc", ".inc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)
CMAKE_DEPENDENCY = re.compile(r"shortlist::(\w+)")


def include_breach(folder, is_header, quote, path):
    """What is wrong with this include in a file of `folder`, or None."""
    parts = path.split("/")
    if quote == '"' and (len(parts) == 1 or "." in parts or ".." in parts):
        return "includes start at the repository root"
    head = parts[0]
    if head in ALLOWED and head != folder and head not in ALLOWED[folder]:
        return f"{folder} may not include {head}"
    if head in ("tests", "bench"):
        return f"{folder} may not include {head}"
    if folder == "kernels":
        if head == "base" and path not in KERNELS_MAY_INCLUDE:
            return "of base, kernels may include only " + " and ".join(sorted(KERNELS_MAY_INCLUDE))
        if head == "absl":
            return "kernels may not include abseil"
    if head in TORCH:
        if folder in TORCH_FREE:
            return f"{folder} is torch-free"
        if is_header and folder not in TORCH_IN_HEADERS:
            return f"headers of {folder} are torch-free"
        if is_header and path == "torch/torch.h":
            return "headers include <ATen/core/Tensor.h>, never <torch/torch.h>"
    return None


def breaches(root):
    """All breaches below `root`, as lines `file:line: path: reason`."""
    found = []
    for folder, allowed in ALLOWED.items():
        for file in sorted((root / folder).rglob("*")):
            name = file.relative_to(root)
            if file.name == "CMakeLists.txt":
                text = file.read_text(encoding="utf-8")
                for match in CMAKE_DEPENDENCY.finditer(text):
                    other = match.group(1)
                    if other != folder and other in ALLOWED and other not in allowed:
                        line = text.count("\n", 0, match.start()) + 1
                        found.append(f"{name}:{line}: {match.group()}: "
                                     f"{folder} may not depend on {other}")
            if file.suffix not in SOURCE_SUFFIXES:
                continue
            text = file.read_text(encoding="utf-8")
            is_header = file.suffix in (".h", ".cuh")
            for match in INCLUDE.finditer(text):
                reason = include_breach(folder, is_header, match.group(1), match.group(2))
                if reason:
                    line = text.count("\n", 0, match.start()) + 1
                    found.append(f"{name}:{line}: {match.group(2)}: {reason}")
    return found


def main():
    default_root = Path(__file__).resolve().parent.parent
    found = breaches(Path(sys.argv[1]) if len(sys.argv) > 1 else default_root)
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
