#ifndef SHORTLIST_VOCAB_FORMATS_DRAFT_CHECKPOINT_H_
#define SHORTLIST_VOCAB_FORMATS_DRAFT_CHECKPOINT_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "io/model_source.h"
#include "io/weight_files.h"
#include "nlohmann/json.hpp"
#include "vocab/formats/map_faults.h"

namespace shortlist {

/// A tensor of WeightFiles, by its full name.
struct NamedTensor {
  std::string name;  // empty: there is none
  WeightFiles::Location location{};
  bool exists() const { return !name.empty(); }
};

/// The checkpoint of a draft that has a head of its own: what its files say about the head's rows.
/// The network itself is not looked at. Immutable.
struct DraftCheckpoint {
  /// By the tensors' names, never by the architecture's: kEagle3 has d2t, `midlayer.` or
  /// `layers.0.hidden_norm`; kEagle1 another `fc.weight`; kMtp multi-token-prediction layers;
  /// kTarget those next to the layers of a whole target.
  enum class Kind { kEagle3, kEagle1, kMtp, kTarget, kOther };

  std::string path;
  Kind kind = Kind::kOther;
  ModelSource source;     // the directory; without files for a single file
  nlohmann::json config;  // of the directory's config.json; null: none
  WeightFiles weights;
  bool is_gguf = false;
  NamedTensor d2t, t2d, head, embedding;

  /// Opens a directory (or org/name of the Hugging Face cache) with config.json and weights, or one
  /// file of tensors: *.safetensors, *.bin, *.pt, *.pth, *.gguf. Errors are those of their readers;
  /// InvalidArgument for two tensors that could be the head.
  static absl::StatusOr<DraftCheckpoint> Open(const std::string& path);
  DraftCheckpoint(DraftCheckpoint&&) = default;

  /// The target's vocabulary by config.json, flat or of `transformer_layer_config`; else the rows
  /// of the embedding; else 0: unknown.
  int64_t vocab_size() const;
  /// `draft_vocab_size` of config.json; nullopt if there is none, or null.
  std::optional<int64_t> draft_vocab_size() const;
  /// Number of rows of the head; 0: it has none.
  int64_t num_head_rows() const;

  /// d2t and t2d. NotFound if there is no d2t; InvalidArgument for more than
  /// VocabList::kMaxVocabSize elements. Errors of TensorFile::ReadIntegers.
  absl::StatusOr<StoredMap> ReadMap() const;

 private:
  DraftCheckpoint(std::string path, WeightFiles weights)
      : path(std::move(path)), weights(std::move(weights)) {}
};

/// Returns the tensor with one of the names, or with a name that ends in "." and one of them; of
/// several the first name that any tensor has. InvalidArgument if two tensors end in it.
absl::StatusOr<NamedTensor> FindTensor(const WeightFiles& weights,
                                       std::initializer_list<const char*> names);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_DRAFT_CHECKPOINT_H_
