#include "tests/embed/embed_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "io/safetensors.h"
#include "tests/support/temp_dir.h"

namespace shortlist {

std::span<float> OwnedStates::Token(int64_t seq, int64_t token) {
  return std::span(data).subspan((seq_begin[seq] + token) * hidden, hidden);
}

OwnedStates OwnedStates::Only(int64_t seq) const {
  OwnedStates one = {.hidden = hidden};
  one.data.assign(data.begin() + seq_begin[seq] * hidden,
                  data.begin() + seq_begin[seq + 1] * hidden);
  one.seq_begin.push_back(seq_begin[seq + 1] - seq_begin[seq]);
  return one;
}

OwnedStates RandomStates(const std::vector<int64_t>& lengths, int64_t hidden,
                         std::mt19937& random) {
  OwnedStates states = {.hidden = hidden};
  for (const int64_t length : lengths) {
    states.seq_begin.push_back(states.seq_begin.back() + static_cast<int32_t>(length));
  }
  std::normal_distribution<float> normal;
  states.data.resize(states.seq_begin.back() * hidden);
  for (float& value : states.data) value = normal(random);
  return states;
}

std::string EmbedGoldenDir(const std::string& name) {
  return SourcePath("tests/reference/golden/embed/" + name);
}

EmbedGolden ReadEmbedGolden(const std::string& dir, int64_t hidden) {
  const auto file = OpenSafetensors(dir + "/golden.safetensors");
  SHORTLIST_CHECK(file.ok());
  EmbedGolden golden;
  for (const auto& [name, entry] : file->entries()) {
    std::string bytes(entry.num_bytes, '\0');
    SHORTLIST_CHECK(file->Read(entry, 0, entry.num_bytes, bytes.data()).ok());
    if (entry.dtype_name == "F32") {
      golden.floats[name].resize(entry.num_elements);
      std::memcpy(golden.floats[name].data(), bytes.data(), bytes.size());
    } else if (name == "seq_begin") {
      golden.states.seq_begin.resize(entry.num_elements);
      std::memcpy(golden.states.seq_begin.data(), bytes.data(), bytes.size());
    }
  }
  golden.states.data = golden.floats.at("hidden");
  golden.states.hidden = hidden;
  return golden;
}

std::vector<float> VectorOf(const SequenceVectors& vectors, int64_t seq) {
  const auto vector = vectors.of_sequence(seq);
  EXPECT_TRUE(vector.ok()) << vector.status();
  if (!vector.ok()) return {};
  return std::vector<float>(vector->begin(), vector->end());
}

void ExpectSameBits(std::span<const float> got, std::span<const float> want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i]))
        << "element " << i << ": " << got[i] << ", " << want[i];
  }
}

double Cosine(std::span<const float> a, std::span<const float> b) {
  double ab = 0.0, aa = 0.0, bb = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

void ExpectError(const absl::Status& status, absl::StatusCode code,
                 const std::vector<std::string>& parts) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& part : parts) {
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(part));
  }
}

}  // namespace shortlist
