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

/// {"index":3,"embedding":[...]} and a newline, with enough digits to restore each f32 value.
std::string VectorJson(int64_t row, std::span<const float> values);

/// {"index":3,"sparse":[{"index":17,"value":0.5}]} and a newline; "index" is a token id.
std::string SparseJson(int64_t row, std::span<const SparseWeight> weights);

/// Path of the settings file of a vector file. It records model, settings and texts.
std::string SettingsPath(const std::string& path);

/// Setting with the hashes of the model's files, by file name. If hashes differ, the error names
/// the file without its hash.
inline constexpr const char* kFilesSetting = "files";

/// Setting of a complete file: the hash of all its bytes (Xxh64Of).
inline constexpr const char* kContentSetting = "content";

/// InvalidArgument if the bytes of `path` do not have the hash in its settings file, or if there is
/// no hash.
absl::Status CheckContent(const std::string& path);

/// Compares `settings` with those in the settings file of `path`. InvalidArgument names the first
/// setting that differs, with both values, or that is missing there, as in a file of an older
/// version. NotFound if there is no settings file.
absl::Status CheckSettings(const std::string& path, const nlohmann::ordered_json& settings);

/// True if `path` exists, complete and with these settings. False if neither `path` nor its
/// settings file exists, or only a settings file whose vectors were removed. InvalidArgument if
/// another file, or a link, has one of the names: it is never overwritten.
absl::StatusOr<bool> IsWritten(const std::string& path, const nlohmann::ordered_json& settings);

/// A file of vectors, written row by row, that an interrupted run can resume: .npy (f32, [num_rows,
/// width]) or .jsonl (VectorJson). Rows are appended to PATH.part; PATH.part.json holds the
/// settings. Both are renamed when all rows are written. Hence PATH is complete or does not exist,
/// and a run killed at any moment loses at most the last 64 KiB. The length of the .part determines
/// its rows; they end before a row of zeros, which a power failure may leave. Modified bytes of a
/// .part are not detected, those of a complete file by CheckContent. Used by one thread.
class VectorFile {
 public:
  /// Creates PATH.part, or resumes after the rows in it; existing bytes do not change before the
  /// first Append(). InvalidArgument, before anything is written, for another file extension, if
  /// PATH exists or IsWritten() fails, if a .part has rows of other settings (CheckSettings) or no
  /// settings, if a .part is not one that a run can have left, and if another kind of file, or a
  /// link, has one of these names. FailedPrecondition while another run writes to the .part.
  /// Unavailable names the system call that failed; a .part that this call created is then removed.
  static absl::StatusOr<std::unique_ptr<VectorFile>> Open(const std::string& path,
                                                          const nlohmann::ordered_json& settings,
                                                          int64_t num_rows, int64_t width);
  /// Writes buffered rows to the .part if possible and closes it. Removes it if it has no rows.
  ~VectorFile();
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  /// Number of rows written or appended so far.
  int64_t num_done() const { return num_done_; }
  /// Checks that the first row has the bits of `values`. InvalidArgument if not: another model
  /// wrote it. Precondition: num_done() > 0.
  absl::Status CheckFirstRow(std::span<const float> values) const;

  /// Appends row num_done(), [width]. Unavailable as for Open().
  absl::Status Append(std::span<const float> values);
  /// Variants for the bytes of a row as stored in the file: a line including its newline.
  absl::Status CheckFirstLine(const std::string& line) const;
  absl::Status AppendLine(const std::string& line);
  /// Gives the files their final names. Precondition: all rows are appended. InvalidArgument if a
  /// file has got one of the names since Open(); Unavailable as for Open(). After an error, a later
  /// run can resume.
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
  bool is_ours_ = false;  // this object holds the .part and its settings, locked and checked
  int64_t num_done_ = 0;
  std::optional<int64_t> torn_from_;  // end of whole rows in the file; nullopt: the file's end
  std::string unwritten_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_VECTOR_FILE_H_
