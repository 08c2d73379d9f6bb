#ifndef SHORTLIST_CLI_EMBED_VECTOR_FILE_H_
#define SHORTLIST_CLI_EMBED_VECTOR_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "request/encoding.h"

namespace shortlist {

/// {"index":3,"embedding":[...]} and a line end; digits are as many as tell f32 values apart.
std::string VectorJson(int64_t row, std::span<const float> values);

/// {"index":3,"sparse":[{"index":17,"value":0.5}]} and a line end, ids and weights.
std::string SparseJson(int64_t row, std::span<const SparseWeight> weights);

/// Where what a file of vectors was made of is written down: model, settings and texts.
std::string SettingsPath(const std::string& path);

/// The setting that holds hashes of the model's files, by their names: one that differs is named
/// without its value.
inline constexpr const char* kFilesSetting = "files";

/// InvalidArgument names the first of `settings` that `path`'s own settings file has another value
/// for, and both, or none, as one that an older version wrote may; NotFound where there is no such
/// file.
absl::Status CheckSettings(const std::string& path, const nlohmann::ordered_json& settings);

/// Whether `path` is there already, whole and of these settings; false where nothing has its name,
/// and nothing that of its settings file but settings whose vectors were removed. InvalidArgument
/// for anything else that has such a name, a link too: it is never written over.
absl::StatusOr<bool> IsWritten(const std::string& path, const nlohmann::ordered_json& settings);

/// A file of vectors that is written row by row and may be left and taken up again: .npy (f32,
/// [num_rows, width]) or .jsonl (VectorJson). Rows are appended to PATH.part, beside which
/// PATH.part.json has the settings; both get their own names when all rows are there. So PATH is
/// whole or is not there, and a run that was killed at any moment loses no more than the last 64
/// KiB. What the .part holds is told by its length, and ends before a row of zeros, as a power
/// failure may leave it; bytes that somebody has changed are not noticed. Used by one thread.
class VectorFile {
 public:
  /// Begins PATH.part, or goes on behind the rows that it holds; it changes with the first Append.
  /// InvalidArgument, before anything is written, for another ending, where PATH or its settings
  /// file is there, for a .part of other settings (CheckSettings) or of none, one that no run has
  /// left like that, and where something else has a name of these, a link too. FailedPrecondition
  /// while another run writes to it. Unavailable names what the system refused; a .part that this
  /// call has made is removed then.
  static absl::StatusOr<std::unique_ptr<VectorFile>> Open(const std::string& path,
                                                          const nlohmann::ordered_json& settings,
                                                          int64_t num_rows, int64_t width);
  /// Closes the .part, with all rows that were appended as far as they can be written; without any
  /// it is removed.
  ~VectorFile();
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  /// Rows that are there.
  int64_t num_done() const { return num_done_; }
  /// Whether the first row, of which there is one, has the bits of `values`. InvalidArgument where
  /// not: another model has made it.
  absl::Status CheckFirstRow(std::span<const float> values) const;

  /// Appends row num_done(), [width]. Unavailable as Open.
  absl::Status Append(std::span<const float> values);
  /// Both for a row's bytes as they stand in the file: a line with its end.
  absl::Status CheckFirstLine(const std::string& line) const;
  absl::Status AppendLine(const std::string& line);
  /// All rows are there: gives the files their names. InvalidArgument where something has got them
  /// since Open; Unavailable as Open. What is there then goes on, as it does behind a kill.
  absl::Status Finish();

 private:
  VectorFile(std::string path, nlohmann::ordered_json settings, int64_t num_rows, int64_t width);

  absl::Status CheckNotWritten() const;
  absl::Status Begin();
  absl::Status Resume(int64_t size);
  absl::StatusOr<int64_t> CountRows(int64_t size);
  absl::StatusOr<int64_t> CountLines(int64_t size);
  absl::Status CutTornRow();
  absl::Status Flush();
  absl::Status Refused(const char* call) const;
  std::string RowBytes(int64_t row, std::span<const float> values) const;

  const std::string path_, part_;
  const nlohmann::ordered_json settings_;
  const bool is_npy_;
  const int64_t num_rows_, width_;
  const std::string header_;  // empty for .jsonl
  int fd_ = -1;
  bool is_ours_ = false;  // the .part and its settings, locked and checked
  int64_t num_done_ = 0;
  std::optional<int64_t> torn_from_;  // in the file, where whole rows end; none: at its end
  std::string unwritten_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_VECTOR_FILE_H_
