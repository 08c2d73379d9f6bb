#include "tests/model/golden_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/check.h"
#include "io/safetensors.h"
#include "tests/model/model_fixture.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

Golden ReadGolden(const std::string& path) {
  const auto file = OpenSafetensors(path);
  SHORTLIST_CHECK(file.ok());
  Golden golden;
  for (const auto& [name, entry] : file->entries()) {
    std::string bytes(entry.num_bytes, '\0');
    SHORTLIST_CHECK(file->Read(entry, 0, entry.num_bytes, bytes.data()).ok());
    if (entry.dtype_name == "F32") {
      golden.floats[name].resize(entry.num_elements);
      std::memcpy(golden.floats[name].data(), bytes.data(), bytes.size());
    } else {
      SHORTLIST_CHECK(entry.dtype_name == "I32");
      golden.ids[name].resize(entry.num_elements);
      std::memcpy(golden.ids[name].data(), bytes.data(), bytes.size());
    }
  }
  return golden;
}

std::string GoldenDir(const std::string& name) {
  return SourcePath("tests/reference/golden/" + name);
}

void ExpectClose(DType dtype, const std::vector<float>& got, const std::vector<float>& want,
                 size_t width) {
  if (dtype == DType::kF32) {
    EXPECT_LE(RelativeError(got, want), 1e-4);
  } else {
    for (const double cosine : Cosines(got, want, width)) {
      EXPECT_GE(cosine, dtype == DType::kF16 ? 0.9999 : 0.999);
    }
  }
}

}  // namespace shortlist
