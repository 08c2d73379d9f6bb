#!/usr/bin/env python3
"""Tests of check_names.py: two types with one name are detected, other repetitions are accepted."""

import tempfile
import unittest
from pathlib import Path

import check_names


class CheckNamesTest(unittest.TestCase):
    def repeated(self, first, second):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in [("text/a.cc", first), ("model/b.h", second)]:
                file = Path(directory) / name
                file.parent.mkdir(parents=True)
                file.write_text(f"namespace shortlist {{\n{text}\n}}  // namespace shortlist\n", encoding="utf-8")
            return check_names.repeated(Path(directory))

    def test_two_types_of_one_name_are_caught(self):
        for text in ("struct Job {\n  int a;\n};", "class Job final : public Base<int> {};", "enum class Job : int { kA };",
                     "template <class T>\nstruct Job {};", "union Job {};"):
            found = self.repeated(text, "struct Job {};")
            self.assertEqual(len(found), 1, text)
            self.assertTrue(found[0].startswith("shortlist::Job: text/a.cc:"), found)
        self.assertEqual(len(self.repeated("namespace jinja {\nstruct Job {};\n}", "namespace jinja {\nclass Job {};\n}")), 1)

    def test_what_the_linker_tells_apart_passes(self):
        for text in ("struct Job;", "namespace {\nstruct Job {};\n}", "struct Other {\n  struct Job {};\n};",
                     "struct Other::Job {};", "// struct Job {};", "const char* a = \"struct Job {\";",
                     "namespace jinja {\nstruct Job {};\n}", "template <typename A, class Job>\nvoid F() {}"):
            self.assertEqual(self.repeated(text, "struct Job {};"), [], text)


if __name__ == "__main__":
    unittest.main()
