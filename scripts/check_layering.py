#!/usr/bin/env python3
"""Checks that every #include and every CMake dependency follows the arrows of DESIGN.md.

usage: check_layering.py [REPOSITORY]
Prints one line per breach and exits with 1 if there is any.
"""

import re
import sys
from pathlib import Path

# CMake target -> targets that it may include. tests/, bench/, fuzz/ and examples/ may include everything.
ALLOWED = {
    "base": set(),
    "io": {"base"},
    "vocab": {"base", "io"},
    "vocab_counting": {"base", "io", "vocab"},
    "vocab_formats": {"base", "io", "vocab"},
    "kernels": {"base"},
    "text": {"base", "io"},
    "text_jinja": {"base"},
    "text_chat": {"base", "io", "text", "text_jinja"},
    "text_reply": {"base"},
    "image": {"base", "io"},
    "request": {"base", "vocab"},
    "grammar": {"base", "request"},
    "model_checkpoint": {"base", "io", "kernels", "request", "vocab", "vocab_formats"},
    "model": {"base", "io", "kernels", "vocab", "model_checkpoint"},
    "head": {"base", "vocab", "kernels"},
    "c": {"base", "vocab", "vocab_formats", "kernels", "head"},
    "device": {"base", "vocab", "kernels", "head"},
    "open_cuda": {"base", "kernels", "head", "device"},
    "sketch": {"base", "kernels", "head"},
    "draft": {"base", "vocab", "kernels", "request", "head", "sketch", "model"},
    "embed": {"base", "io", "vocab", "request", "kernels", "text_chat", "head", "model", "model_checkpoint"},
    "router_core": {"base", "request"},
    "router": {"base", "request", "router_core", "draft"},
    "runtime": {"base", "io", "kernels", "vocab", "vocab_formats", "text", "text_chat", "text_reply", "request", "grammar", "embed", "head", "open_cuda", "sketch", "model",
                "model_checkpoint",
                "draft", "router_core", "router"},
    "serve_http": {"base"},
    "serve": {"base", "io", "vocab", "request", "grammar", "router_core", "text", "text_chat", "text_reply", "serve_http"},
}
ALLOWED["cli"] = set(ALLOWED)
# Folders whose target has another name. The longest matching folder counts.
ROOMS = {
    "vocab/counting": "vocab_counting",
    "vocab/formats": "vocab_formats",
    "text/jinja": "text_jinja",
    "text/chat": "text_chat",
    "text/reply": "text_reply",
    "model/checkpoint": "model_checkpoint",
    "serve/http": "serve_http",
}
# kernels/ must build without abseil, so it sees only these headers of base/.
KERNELS_MAY_INCLUDE = {"base/check.h", "base/dtype.h", "base/thread_pool.h", "base/weight_block.h"}
TORCH_ROOMS = {"device", "open_cuda"}  # tests and the Python package may include libtorch too
TORCH = {"ATen", "c10", "torch"}

SOURCE_SUFFIXES = {".h", ".cc", ".inc", ".cu", ".cuh"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.MULTILINE)
LIBRARY = re.compile(r"shortlist_library\((\w+)([^)]*)\)")
MORE_SOURCES = re.compile(r"target_sources\(shortlist_(\w+)([^)]*)\)")
CMAKE_DEPENDENCY = re.compile(r"shortlist::(\w+)")
CMAKE_COMMENT = re.compile(r"#[^\n]*")
# Targets other than libraries, which these may link if a build has them.
OTHER_TARGETS = {"kernels_cuda"}


class Targets:
    """The targets in the CMakeLists.txt files below a repository's root."""

    def __init__(self, root):
        self.of_file = {}  # path -> target, if CMake lists it
        self.links = {}  # target -> targets that it links directly
        self.shared_folders = set()  # shared by several libraries: each file is listed
        self.breaches = []
        for folder in sorted({target.split("_")[0] for target in ALLOWED}):
            for file in sorted((root / folder).rglob("CMakeLists.txt")):
                self._read(file, root)

    def _read(self, file, root):
        name = file.relative_to(root)
        text = CMAKE_COMMENT.sub("", file.read_text(encoding="utf-8"))
        libraries = LIBRARY.findall(text)
        if len(libraries) > 1:
            self.shared_folders.add(str(name.parent))
        for match in LIBRARY.finditer(text):
            target, body = match.groups()
            if target not in ALLOWED:
                self.breaches.append(f"{name}: {target}: no such target in DESIGN.md")
                continue
            links = self.links.setdefault(target, set())
            for dependency in CMAKE_DEPENDENCY.finditer(body):
                other = dependency.group(1)
                links.add(other)
                if other not in ALLOWED and other not in OTHER_TARGETS:
                    self.breaches.append(f"{name}: {dependency.group()}: no such target in DESIGN.md")
                elif other in ALLOWED and other not in ALLOWED[target]:
                    line = text.count("\n", 0, match.start(2) + dependency.start()) + 1
                    self.breaches.append(
                        f"{name}:{line}: {dependency.group()}: {target} may not depend on {other}")
            self._take_files(target, body, name.parent)
        for target, body in MORE_SOURCES.findall(text):
            self._take_files(target, body, name.parent)

    def _take_files(self, target, body, folder):
        for word in body.split():
            if word.endswith((".cc", ".h")):
                self.of_file[str(folder / word)] = target

    def of(self, path):
        """Returns the target of a file; None if it has none."""
        if path in self.of_file:
            return self.of_file[path]
        for room in sorted(ROOMS, key=len, reverse=True):
            if path.startswith(room + "/"):
                return ROOMS[room]
        folder = path.split("/")[0]
        return folder if folder in ALLOWED else None

    def reaches(self, target, other):
        """True if `target` links `other`, directly or indirectly, or if CMake does not list `target`."""
        if target not in self.links:
            return True
        seen, pending = set(), [target]
        while pending:
            for link in self.links.get(pending.pop(), ()):
                if link not in seen:
                    seen.add(link)
                    pending.append(link)
        return other in seen


def include_breach(targets, target, is_header, quote, path):
    """Returns what is wrong with this include in a file of `target`, or None."""
    parts = path.split("/")
    if quote == '"' and (len(parts) == 1 or "." in parts or ".." in parts):
        return "includes start at the repository root"
    if quote == '"' and parts[0] in ("tests", "bench", "fuzz", "examples"):
        return f"{target} may not include {parts[0]}"
    other = targets.of(path)
    if other is not None and other != target:
        if other not in ALLOWED[target]:
            return f"{target} may not include {other}"
        if not targets.reaches(target, other):
            return f"{target} includes {other}, which its DEPS do not name"
    if target == "kernels":
        if parts[0] == "base" and path not in KERNELS_MAY_INCLUDE:
            return "of base, kernels may include only " + " and ".join(sorted(KERNELS_MAY_INCLUDE))
        if parts[0] == "absl":
            return "kernels may not include abseil"
    if parts[0] in TORCH:
        if target in ALLOWED and target not in TORCH_ROOMS:
            return f"{target} is torch-free"
        if is_header and path == "torch/torch.h":
            return "headers include <ATen/core/Tensor.h>, never <torch/torch.h>"
    return None


def breaches(root):
    """Returns all breaches below `root`, as lines `file:line: path: reason`."""
    targets = Targets(root)
    found = list(targets.breaches)
    for folder in sorted({target.split("_")[0] for target in ALLOWED}):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCE_SUFFIXES:
                continue
            name = str(file.relative_to(root))
            target = targets.of(name)
            if str(Path(name).parent) in targets.shared_folders and name not in targets.of_file:
                found.append(f"{name}: no library of {Path(name).parent}/CMakeLists.txt lists it")
            text = file.read_text(encoding="utf-8")
            is_header = file.suffix in (".h", ".cuh")
            for match in INCLUDE.finditer(text):
                reason = include_breach(targets, target, is_header, match.group(1), match.group(2))
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
