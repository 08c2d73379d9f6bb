#!/usr/bin/env python3
"""Writes text/script_ranges.h: the scripts of letters and marks.

Needs fonttools (Unicode's Scripts.txt). usage: make_script_ranges.py
Scripts that no language of today has as its usual one are "Other".
"""

import unicodedata
from pathlib import Path

from fontTools.unicodedata import script, script_name

OUT = Path(__file__).parent.parent.parent / "text" / "script_ranges.h"
LIVING = """Latn Grek Cyrl Armn Hebr Arab Syrc Thaa Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Thai Laoo Tibt Mymr
Geor Hang Ethi Cher Cans Khmr Mong Hira Kana Bopo Hani Yiii Java Bali Nkoo Tfng Adlm Olck""".split()
SHARED = ("Zyyy", "Zinh", "Zzzz")  # characters of several scripts, and unassigned ones


def runs():
    """Maximal runs of one script; characters that are neither letters nor marks end none."""
    found = []
    for c in map(chr, range(0x110000)):
        if unicodedata.category(c)[0] not in "LM" or script(c) in SHARED:
            continue
        name = script_name(script(c)) if script(c) in LIVING else "Other"
        if found and found[-1][2] == name:
            found[-1][1] = ord(c)
        else:
            found.append([ord(c), ord(c), name])
    return found


def main():
    lines, line = [], "   "
    for first, last, name in runs():
        entry = f' {{{first:#x}, {last:#x}, "{name}"}},'
        if len(line) + len(entry) > 100:
            lines.append(line)
            line = "   "
        line += entry
    lines.append(line)
    OUT.write_text(f"""#ifndef SHORTLIST_TEXT_SCRIPT_RANGES_H_
#define SHORTLIST_TEXT_SCRIPT_RANGES_H_

// Written by tests/reference/make_script_ranges.py.

namespace shortlist {{

/// Code points from `first` to `last`, of which the letters and marks are in `script`.
struct ScriptRange {{
  char32_t first, last;
  const char* script;
}};

/// Ascending, disjoint. Letters and marks of several scripts end no range.
inline constexpr ScriptRange kScriptRanges[] = {{
{chr(10).join(lines)}
}};

}}  // namespace shortlist

#endif  // SHORTLIST_TEXT_SCRIPT_RANGES_H_
""")


if __name__ == "__main__":
    main()
