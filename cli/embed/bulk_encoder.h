#ifndef SHORTLIST_CLI_EMBED_BULK_ENCODER_H_
#define SHORTLIST_CLI_EMBED_BULK_ENCODER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "cli/embed/model_files.h"
#include "cli/embed/text_rows.h"
#include "cli/picture_reader.h"
#include "request/encoding.h"
#include "runtime/encoding_model.h"

namespace CLI {
class App;
}

namespace shortlist {

/// The flags that subcommands which run an encoder share.
struct EncodingFlags {
  EncodingModel::Options model;
  int64_t num_threads = 1;  // set to the hardware's when --threads is not given
  int64_t batch_tokens = 2048;
  bool truncates = true;  // false: a text that is too long is refused
};

/// Adds the flags to `command`; parsing fills `flags`, which must outlive it.
void AddEncodingFlags(CLI::App& command, EncodingFlags& flags);

/// An encoder and the threads that run it over many rows: one turns texts into ids, a few passes
/// ahead of those that compute. Used by one thread.
class BulkEncoder {
 public:
  /// Whether the vectors go into a file that names what made them.
  enum class Keeps { kNothing, kVectors };

  /// `model` is opened in place of that of `flags`. Errors as EncodingModel::Open, and, for
  /// kVectors, as ModelFiles.
  static absl::StatusOr<std::unique_ptr<BulkEncoder>> Open(const EncodingFlags& flags,
                                                           const std::string& model,
                                                           Keeps keeps = Keeps::kNothing);

  const EncodingFlags& flags() const { return flags_; }
  /// What the model was loaded from; null unless opened with Keeps::kVectors.
  const ModelFiles* files() const { return files_ ? &*files_ : nullptr; }

  EncodingModel& model() { return *model_; }
  ThreadPool& pool() { return pool_; }

  /// EncodingModel::Prepare, cut as the flags say. Any thread may call it.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second = std::nullopt);
  /// The input of the picture in a file. InvalidArgument where the model reads no pictures; else as
  /// PictureReader::ReadPath. Any thread may call it.
  absl::StatusOr<EncodeInput> PreparePicture(const std::string& path);
  /// Of all inputs that were prepared.
  int64_t num_cut() const { return num_cut_; }
  int64_t num_tokens() const { return num_tokens_; }

  /// The input of a row; called on a thread of its own, in the order of rows.
  using Source = std::function<absl::StatusOr<EncodeInput>(const std::string& text)>;
  /// Takes a row's result, which is OK; called on the caller's thread, in the order of rows.
  using Sink = std::function<absl::Status(int64_t row, const EncodeResult& result)>;

  /// The rows of `texts` from `begin` on, as many in a pass as --batch-tokens admits. The first
  /// error ends it: the source's or a result's, with the place of its row, or the sink's. The rows
  /// before that of the source have been taken. How far it is goes to stderr.
  absl::Status Run(const TextRows& texts, int64_t begin, const EncodeWish& wish,
                   const Source& source, const Sink& sink);

 private:
  explicit BulkEncoder(const EncodingFlags& flags)
      : flags_(flags), pool_(static_cast<int>(flags.num_threads)) {}

  const EncodingFlags flags_;
  ThreadPool pool_;
  std::optional<ModelFiles> files_;
  std::unique_ptr<EncodingModel> model_;
  std::optional<PictureReader> pictures_;  // of a model that reads them
  std::atomic<int64_t> num_cut_ = 0, num_tokens_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_BULK_ENCODER_H_
