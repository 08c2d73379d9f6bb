#ifndef SHORTLIST_TESTS_CLI_VOCAB_DRAFT_FILES_H_
#define SHORTLIST_TESTS_CLI_VOCAB_DRAFT_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {

inline constexpr int64_t kDemoVocab = 16384;  // of models/demo/target
inline constexpr int64_t kDraftWidth = 8;     // of the head's rows
inline constexpr int64_t kDraftRows = 3000;   // of most heads

/// The files of an EAGLE-3 checkpoint for the demo target, as small as its tools allow. A member
/// that is empty or nullopt is not written.
struct DraftFiles {
  std::vector<int64_t> d2t;
  std::optional<std::vector<int64_t>> t2d_ids;  // the true elements of t2d
  int64_t t2d_len = kDemoVocab;
  std::string head;       // BF16, rows of kDraftWidth
  std::string embedding;  // BF16, rows of embedding_width
  int64_t embedding_width = 256;
  std::string layer = "midlayer.";
  nlohmann::ordered_json config;

  /// A sound checkpoint with a row of distinct values for each of `ids`, ascending.
  static DraftFiles Of(const std::vector<int64_t>& ids);

  /// The file of tensors.
  std::string Safetensors() const;
  /// Writes config.json and model.safetensors to `dir`, which is made.
  void WriteTo(const std::string& dir) const;
};

/// `count` ids, ascending: control tokens and single bytes, then those that the demo list selects
/// first.
std::vector<int64_t> FrequentIds(int64_t count);

/// `ids` as the offsets of EAGLE-3.
std::vector<int64_t> OffsetsOf(const std::vector<int64_t>& ids);

/// BF16 rows that differ from one another: row i of `seed`.
std::string RowsOf(int64_t num_rows, int64_t width, uint32_t seed);

/// The bytes of a BF16 tensor of the demo target.
std::string DemoTensor(const std::string& name);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_CLI_VOCAB_DRAFT_FILES_H_
