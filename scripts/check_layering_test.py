#!/usr/bin/env python3
"""Tests of check_layering.py: a wrong include is caught, a right one is not."""

import tempfile
import unittest
from pathlib import Path

import check_layering


class CheckLayeringTest(unittest.TestCase):
    def breaches_of(self, path, text):
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / path
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            return check_layering.breaches(Path(directory))

    def assert_caught(self, path, text, reason):
        found = self.breaches_of(path, text)
        self.assertEqual(len(found), 1, found)
        self.assertIn(path, found[0])
        self.assertIn(reason, found[0])

    def test_right_includes_pass(self):
        for path, text in [
            ("draft/a.cc", '#include <ATen/ATen.h>\n#include "vocab/b.h"\n#include "draft/c.h"\n'),
            ("kernels/cpu/a.cc", '#include "base/thread_pool.h"\n#include "kernels/cpu/b.h"\n'),
            ("cli/a.cc", '#include "text/tokenizer.h"\n#include "draft/engine.h"\n'),
            ("vocab/a.cc", '#include "absl/status/status.h"\n#include "nlohmann/json.hpp"\n'),
            ("model/CMakeLists.txt", "DEPS shortlist::kernels shortlist::base)\n"),
        ]:
            self.assertEqual(self.breaches_of(path, text), [], path)

    def test_wrong_arrow_is_caught_with_its_line(self):
        self.assert_caught("vocab/a.cc", '#include "base/ids.h"\n#include "kernels/head.h"\n',
                           ":2: kernels/head.h: vocab may not include kernels")
        self.assert_caught("base/a.h", '  #  include "vocab/a.h"\n', "base may not include vocab")
        self.assert_caught("draft/a.cc", '#include "text/tokenizer.h"\n', "draft may not include text")
        self.assert_caught("model/a.cc", '#include "tests/model/b.h"\n', "model may not include tests")

    def test_wrong_cmake_dependency_is_caught(self):
        self.assert_caught("text/CMakeLists.txt", "DEPS shortlist::model)\n",
                           "text may not depend on model")

    def test_kernels_stay_free_of_abseil_and_torch(self):
        self.assert_caught("kernels/a.h", '#include "absl/status/status.h"\n', "abseil")
        self.assert_caught("kernels/a.h", '#include "base/status_macros.h"\n', "of base")
        self.assert_caught("kernels/cuda/a.cu", "#include <torch/torch.h>\n", "torch-free")

    def test_torch_headers_stay_where_they_belong(self):
        self.assert_caught("text/a.cc", "#include <c10/util/Half.h>\n", "torch-free")
        self.assert_caught("cli/a.h", "#include <ATen/core/Tensor.h>\n", "headers of cli")
        self.assert_caught("model/a.h", "#include <torch/torch.h>\n", "never <torch/torch.h>")

    def test_relative_includes_are_caught(self):
        self.assert_caught("model/a.cc", '#include "../base/ids.h"\n', "repository root")
        self.assert_caught("model/a.cc", '#include "config.h"\n', "repository root")


if __name__ == "__main__":
    unittest.main()
