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

/// Flags shared by subcommands that run an encoder.
struct EncodingFlags {
  EncodingModel::Options model;
  int64_t num_threads = 1;  // set to the hardware's when --threads is not given
  int64_t batch_tokens = 2048;
  bool truncates = true;  // false: a text that is too long is rejected
};

/// Adds the flags to `command`; parsing fills `flags`, which must outlive it.
void AddEncodingFlags(CLI::App& command, EncodingFlags& flags);

/// An encoder and the threads that run it over many rows. One thread tokenizes texts a few passes
/// ahead of the threads that compute. Used by one thread.
class BulkEncoder {
 public:
  /// kVectors: the vectors go to a file that records the model's files.
  enum class Keeps { kNothing, kVectors };

  /// Opens `model` in place of the model in `flags`. Errors as EncodingModel::Open and, for
  /// kVectors, as ModelFiles.
  static absl::StatusOr<std::unique_ptr<BulkEncoder>> Open(const EncodingFlags& flags,
                                                           const std::string& model,
                                                           Keeps keeps = Keeps::kNothing);

  const EncodingFlags& flags() const { return flags_; }
  /// The files that the model was loaded from; null unless opened with Keeps::kVectors.
  const ModelFiles* files() const { return files_ ? &*files_ : nullptr; }

  EncodingModel& model() { return *model_; }
  ThreadPool& pool() { return pool_; }

  /// EncodingModel::Prepare with truncation as set in the flags. Thread-safe.
  absl::StatusOr<EncodeInput> Prepare(std::string_view instruction, std::string_view text,
                                      std::optional<std::string_view> second = std::nullopt);
  /// Returns the model input for a picture file. InvalidArgument if the model reads no pictures;
  /// other errors as PictureReader::ReadPath. Thread-safe.
  absl::StatusOr<EncodeInput> PreparePicture(const std::string& path);
  /// Totals over all prepared inputs; num_cut() counts truncated texts.
  int64_t num_cut() const { return num_cut_; }
  int64_t num_tokens() const { return num_tokens_; }

  /// Returns the input of a row. Called on a separate thread, in row order.
  using Source = std::function<absl::StatusOr<EncodeInput>(const std::string& text)>;
  /// Receives a row's result, which is OK. Called on the caller's thread, in row order.
  using Sink = std::function<absl::Status(int64_t row, const EncodeResult& result)>;

  /// Encodes the rows of `texts` from `begin` on, with as many rows per pass as --batch-tokens
  /// admits. Stops at the first error: of `source` or of a result, with its row's place, or of
  /// `sink`. Rows before a `source` error have been passed to `sink`. Progress goes to stderr.
  absl::Status Run(const TextRows& texts, int64_t begin, const EncodeWish& wish,
                   const Source& source, const Sink& sink);

 private:
  explicit BulkEncoder(const EncodingFlags& flags)
      : flags_(flags), pool_(static_cast<int>(flags.num_threads)) {}

  const EncodingFlags flags_;
  ThreadPool pool_;
  std::optional<ModelFiles> files_;
  std::unique_ptr<EncodingModel> model_;
  std::optional<PictureReader> pictures_;  // only if the model reads pictures
  std::atomic<int64_t> num_cut_ = 0, num_tokens_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_BULK_ENCODER_H_
