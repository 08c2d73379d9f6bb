#!/usr/bin/env python3
"""Tests of check_layering.py: a wrong include is detected, a right one is accepted."""

import tempfile
import unittest
from pathlib import Path

import check_layering


ROUTER = """shortlist_library(router_core
  SRCS scheduler.cc
  HDRS req.h
  DEPS shortlist::request shortlist::base)
shortlist_library(router
  SRCS router.cc
  HDRS router.h
  DEPS shortlist::router_core shortlist::draft)
"""


class CheckLayeringTest(unittest.TestCase):
    def breaches_of(self, path, text, others=()):
        with tempfile.TemporaryDirectory() as directory:
            for name, content in [(path, text), *others]:
                file = Path(directory) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, encoding="utf-8")
            return check_layering.breaches(Path(directory))

    def assert_caught(self, path, text, reason, others=()):
        found = self.breaches_of(path, text, others)
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(reason, found[0])

    def test_right_includes_pass(self):
        for path, text in [
            ("device/a.cc", '#include <ATen/ATen.h>\n#include "head/b.h"\n#include "device/c.h"\n'),
            ("kernels/cpu/a.cc", '#include "base/thread_pool.h"\n#include "kernels/cpu/b.h"\n'),
            ("cli/a.cc", '#include "text/tokenizer.h"\n#include "draft/engine.h"\n'),
            ("vocab/a.cc", '#include "absl/status/status.h"\n#include "nlohmann/json.hpp"\n'),
            ("model/CMakeLists.txt", "shortlist_library(model DEPS shortlist::kernels)\n"),
        ]:
            self.assertEqual(self.breaches_of(path, text), [], path)

    def test_wrong_arrow_is_caught_with_its_line(self):
        self.assert_caught("vocab/a.cc", '#include "base/ids.h"\n#include "kernels/head.h"\n',
                           ":2: kernels/head.h: vocab may not include kernels")
        self.assert_caught("base/a.h", '  #  include "vocab/a.h"\n', "base may not include vocab")
        self.assert_caught("draft/a.cc", '#include "text/tokenizer.h"\n', "draft may not include text")
        self.assert_caught("model/a.cc", '#include "tests/model/b.h"\n', "model may not include tests")
        self.assert_caught("vocab/a.cc", '#include "fuzz/b.h"\n', "vocab may not include fuzz")

    def test_targets_of_one_folder_are_told_apart(self):
        router = [("router/CMakeLists.txt", ROUTER)]
        self.assertEqual(self.breaches_of("router/router.cc", '#include "draft/engine.h"\n', router), [])
        self.assert_caught("router/scheduler.cc", '#include "draft/engine.h"\n',
                           ":1: draft/engine.h: router_core may not include draft", router)
        self.assert_caught("router/req.h", '#include "router/router.h"\n',
                           "router_core may not include router", router)
        self.assert_caught("router/scheduler.cc", "#include <ATen/ATen.h>\n", "router_core is torch-free", router)
        self.assert_caught("router/batch.h", "", "no library of router/CMakeLists.txt lists it", router)
        self.assert_caught("serve/http/server.cc", '#include "serve/generator.h"\n',
                           "serve_http may not include serve")
        self.assert_caught("text/jinja/parser.cc", '#include "text/tokenizer.h"\n', "text_jinja may not include text")

    def test_includes_are_linked(self):
        library = "shortlist_library(draft SRCS a.cc DEPS shortlist::base shortlist::model)\n"
        self.assert_caught("draft/a.cc", '#include "base/ids.h"\n#include "vocab/active_vocab.h"\n',
                           "draft includes vocab, which its DEPS do not name", [("draft/CMakeLists.txt", library)])

    def test_wrong_cmake_dependency_is_caught(self):
        self.assert_caught("text/CMakeLists.txt", "shortlist_library(text\n  DEPS shortlist::model)\n",
                           ":2: shortlist::model: text may not depend on model")
        self.assert_caught("text/CMakeLists.txt", "shortlist_library(prose DEPS shortlist::base)\n", "no such target")
        self.assert_caught("text/CMakeLists.txt", "shortlist_library(text DEPS shortlist::test_support)\n",
                           "no such target")
        self.assertEqual(self.breaches_of("text/CMakeLists.txt", "# shortlist_library(text DEPS shortlist::model)\n"), [])

    def test_kernels_stay_free_of_abseil_and_torch(self):
        self.assert_caught("kernels/a.h", '#include "absl/status/status.h"\n', "abseil")
        self.assert_caught("kernels/a.h", '#include "base/status_macros.h"\n', "of base")
        self.assert_caught("kernels/cuda/a.cu", "#include <torch/torch.h>\n", "torch-free")

    def test_torch_headers_stay_where_they_belong(self):
        self.assert_caught("text/a.cc", "#include <c10/util/Half.h>\n", "torch-free")
        self.assert_caught("sketch/a.cc", "#include <ATen/ATen.h>\n", "torch-free")
        self.assert_caught("device/a.h", "#include <torch/torch.h>\n", "never <torch/torch.h>")

    def test_relative_includes_are_caught(self):
        self.assert_caught("model/a.cc", '#include "../base/ids.h"\n', "repository root")
        self.assert_caught("model/a.cc", '#include "config.h"\n', "repository root")


if __name__ == "__main__":
    unittest.main()
