#ifndef SHORTLIST_IO_GGUF_GGUF_FILE_H_
#define SHORTLIST_IO_GGUF_GGUF_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "io/raw_file.h"
#include "io/tensor_file.h"

namespace shortlist {

/// A value of a GGUF file's metadata: integers and bools as int64_t, numbers as double.
using GgufValue = std::variant<int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>>;

/// The key-value pairs of a GGUF file. Errors name the file, the key and what was expected.
class GgufMetadata {
 public:
  GgufMetadata() = default;
  GgufMetadata(std::string path, std::map<std::string, GgufValue> values)
      : path_(std::move(path)), values_(std::move(values)) {}

  const std::map<std::string, GgufValue>& values() const { return values_; }
  bool Contains(const std::string& key) const { return values_.contains(key); }

  // nullopt if there is no such key. InvalidArgument for a value of another type or outside the
  // bounds, which are included.
  absl::StatusOr<std::optional<int64_t>> Int(const std::string& key, int64_t low,
                                             int64_t high) const;
  /// A finite number; integers count.
  absl::StatusOr<std::optional<double>> Real(const std::string& key) const;
  absl::StatusOr<std::optional<std::string>> String(const std::string& key) const;
  /// The list at `key`; null if there is no such key.
  absl::StatusOr<const std::vector<std::string>*> Strings(const std::string& key) const;
  absl::StatusOr<const std::vector<int64_t>*> Ints(const std::string& key) const;
  absl::StatusOr<const std::vector<double>*> Reals(const std::string& key) const;

  absl::Status Invalid(const std::string& key, const std::string& problem) const;

 private:
  template <typename T>
  absl::StatusOr<const T*> Find(const std::string& key, const char* expected) const;

  std::string path_;
  std::map<std::string, GgufValue> values_;
};

/// The header of a GGUF file, versions 2 and 3: metadata and tensors by the file's own names, their
/// shapes in PyTorch's order.
struct GgufFile {
  RawFile file;
  GgufMetadata metadata;
  std::map<std::string, TensorEntry> tensors;

  /// NotFound and Unavailable as RawFile::Open. InvalidArgument names the path and what is wrong:
  /// no GGUF file, another version, counts, lengths or offsets that exceed the file, a duplicate
  /// key or tensor, tensors that overlap or leave data out, a tensor type without support. Reads at
  /// most kMaxHeaderBytes.
  static absl::StatusOr<GgufFile> Open(const std::string& path);

  static constexpr int64_t kMaxHeaderBytes = int64_t{256} << 20;
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_GGUF_GGUF_FILE_H_
