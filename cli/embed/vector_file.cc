#include "cli/embed/vector_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "cli/embed/npy.h"
#include "cli/embed/xxh64.h"
#include "io/quote.h"
#include "io/raw_file.h"

namespace shortlist {
namespace {

constexpr size_t kFlushBytes = 1 << 16;

absl::Status Unavailable(const std::string& path, const char* call) {
  return absl::UnavailableError(absl::StrCat(path, ": ", call, ": ", std::strerror(errno)));
}

/// Returns the size of a regular file, nullopt if the path does not exist. InvalidArgument for any
/// other kind of file, including links: writing would go elsewhere.
absl::StatusOr<std::optional<int64_t>> SizeOf(const std::string& path) {
  struct stat info = {};
  if (lstat(path.c_str(), &info) != 0) return std::nullopt;
  if (S_ISREG(info.st_mode)) return info.st_size;
  return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
}

absl::Status RefuseName(const std::string& path, const std::string& problem) {
  return absl::InvalidArgumentError(absl::StrCat(path, " is there already, and ", problem,
                                                 "; remove it, or choose another name"));
}

/// True if a file is a settings file. Called if its vectors are missing: they were removed, or a
/// run ended before it wrote any.
bool HasKeysOf(const std::string& path, const nlohmann::ordered_json& settings) {
  const absl::StatusOr<nlohmann::json> found = ReadJsonFile(path, kMaxConfigBytes);
  if (!found.ok() || !found->is_object()) return false;
  for (const auto& [key, value] : settings.items()) {
    if (!found->contains(key)) return false;
  }
  return true;
}

/// Checks that a run may create or resume `part`, judging by the files present. InvalidArgument if
/// one of them is not from such a run.
absl::Status CheckPart(const std::string& part, const nlohmann::ordered_json& settings) {
  const std::string settings_path = SettingsPath(part);
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOf(part));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> settings_size, SizeOf(settings_path));
  if (size.value_or(0) > 0) {
    if (settings_size) return absl::OkStatus();
    return RefuseName(part, absl::StrCat("is not taken up without its settings, ", settings_path));
  }
  if (!settings_size || HasKeysOf(settings_path, settings)) return absl::OkStatus();
  return RefuseName(settings_path, "tells of no vectors");
}

/// Returns the first file that differs between two sets; empty if they are equal.
std::string OtherFile(const nlohmann::json& a, const nlohmann::json& b) {
  for (const auto& [name, hash] : a.items()) {
    if (!b.is_object() || b.value(name, nlohmann::json()) != hash) return name;
  }
  for (const auto& [name, unused] : b.items()) {
    if (!a.contains(name)) return name;
  }
  return "";
}

}  // namespace

std::string VectorJson(int64_t row, std::span<const float> values) {
  std::string json = absl::StrCat("{\"index\":", row, ",\"embedding\":[");
  char digits[32];
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) json.push_back(',');
    json.append(digits, std::to_chars(digits, digits + sizeof(digits), values[i]).ptr);
  }
  return json + "]}\n";
}

std::string SparseJson(int64_t row, std::span<const SparseWeight> weights) {
  std::string json = absl::StrCat("{\"index\":", row, ",\"sparse\":[");
  char digits[32];
  for (size_t i = 0; i < weights.size(); ++i) {
    absl::StrAppend(&json, i > 0 ? "," : "", "{\"index\":", Raw(weights[i].id), ",\"value\":");
    json.append(digits, std::to_chars(digits, digits + sizeof(digits), weights[i].weight).ptr);
    json.push_back('}');
  }
  return json + "]}\n";
}

std::string SettingsPath(const std::string& path) { return path + ".json"; }

absl::Status CheckSettings(const std::string& path, const nlohmann::ordered_json& settings) {
  const std::string settings_path = SettingsPath(path);
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json found,
                             ReadJsonFile(settings_path, kMaxConfigBytes));
  for (const auto& [key, value] : settings.items()) {
    const nlohmann::json wanted = value;
    const nlohmann::json has =
        found.is_object() && found.contains(key) ? found[key] : nlohmann::json();
    if (has == wanted) continue;
    if (has.is_null()) {
      return absl::InvalidArgumentError(absl::StrCat(
          settings_path, ": does not say with which ", Quote(key), " ", path,
          " was made, as an older version may have left it; remove ", path, " to begin anew"));
    }
    if (key == kFilesSetting) {
      return absl::InvalidArgumentError(absl::StrCat(
          settings_path, ": ", path, " was made with another ", Quote(OtherFile(wanted, has)),
          " in the model's directory; remove ", path, " to begin anew"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat(settings_path, ": ", path, " was made with ", Quote(key), " ", Quote(has),
                     ", this run has ", Quote(wanted), "; remove ", path, " to begin anew"));
  }
  return absl::OkStatus();
}

absl::Status CheckContent(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json found,
                             ReadJsonFile(SettingsPath(path), kMaxConfigBytes));
  if (!found.is_object() || !found.contains(kContentSetting)) {
    return absl::InvalidArgumentError(absl::StrCat(SettingsPath(path), ": no \"", kContentSetting,
                                                   "\", the hash of the vectors; remove both files "
                                                   "to make them anew"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const RawFile file, RawFile::Open(path));
  SHORTLIST_ASSIGN_OR_RETURN(const std::string hash, Xxh64Of(file));
  if (found[kContentSetting] == hash) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": is damaged or was changed, its hash is ",
                                                 hash, ", not ", Quote(found[kContentSetting]),
                                                 "; remove it to make it anew"));
}

absl::StatusOr<bool> IsWritten(const std::string& path, const nlohmann::ordered_json& settings) {
  const std::string settings_path = SettingsPath(path);
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> size, SizeOf(path));
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> settings_size, SizeOf(settings_path));
  if (!size) {
    if (!settings_size || HasKeysOf(settings_path, settings)) return false;
    return RefuseName(settings_path, "tells of no vectors");
  }
  if (!settings_size) {
    return RefuseName(path, absl::StrCat("no ", settings_path, " says that it holds vectors"));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckSettings(path, settings));
  return true;
}

VectorFile::VectorFile(std::string path, nlohmann::ordered_json settings, int64_t num_rows,
                       int64_t width)
    : path_(std::move(path)),
      part_(path_ + ".part"),
      settings_(std::move(settings)),
      is_npy_(path_.ends_with(".npy")),
      num_rows_(num_rows),
      width_(width),
      header_(is_npy_ ? NpyHeader(num_rows, width) : "") {}

VectorFile::~VectorFile() {
  if (fd_ < 0) return;
  if (is_ours_ && num_done_ == 0) {
    std::remove(part_.c_str());
    std::remove(SettingsPath(part_).c_str());
  } else if (is_ours_ && !unwritten_.empty()) {
    Flush().IgnoreError();
  }
  close(fd_);
}

absl::StatusOr<std::unique_ptr<VectorFile>> VectorFile::Open(const std::string& path,
                                                             const nlohmann::ordered_json& settings,
                                                             int64_t num_rows, int64_t width) {
  if (!path.ends_with(".npy") && !path.ends_with(".jsonl")) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quote(path), " ends in neither .npy nor .jsonl"));
  }
  std::unique_ptr<VectorFile> file(new VectorFile(path, settings, num_rows, width));
  SHORTLIST_RETURN_IF_ERROR(file->CheckNotWritten());
  SHORTLIST_RETURN_IF_ERROR(CheckPart(file->part_, settings));
  struct stat info = {};
  // Links are not followed: the name belongs to this program.
  file->fd_ = open(file->part_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file->fd_ < 0) return file->Refused("open");
  if (flock(file->fd_, LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(file->part_, ": another run is writing to it"));
  }
  if (fstat(file->fd_, &info) != 0) return file->Refused("stat");
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(file->part_, ": not a regular file"));
  }
  if (info.st_size == 0) {
    file->is_ours_ = true;  // set before Begin(): on error, both files are removed
    SHORTLIST_RETURN_IF_ERROR(file->Begin());
  } else {
    SHORTLIST_RETURN_IF_ERROR(file->Resume(info.st_size));
    file->is_ours_ = true;
  }
  return file;
}

absl::Status VectorFile::CheckNotWritten() const {
  SHORTLIST_ASSIGN_OR_RETURN(const bool is_written, IsWritten(path_, settings_));
  if (!is_written) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path_, ": is written already"));
}

absl::Status VectorFile::Begin() {
  SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(SettingsPath(part_), settings_.dump(2) + "\n"));
  unwritten_ = header_;
  return absl::OkStatus();
}

absl::Status VectorFile::Resume(int64_t size) {
  SHORTLIST_RETURN_IF_ERROR(CheckSettings(part_, settings_));
  const int64_t header_bytes = std::ssize(header_);
  std::string begins(header_bytes, '\0');
  const int64_t num_read = pread(fd_, begins.data(), header_bytes, 0);
  if (num_read < 0) return Refused("read");
  if (begins.substr(0, num_read) != header_.substr(0, num_read)) {
    return absl::InvalidArgumentError(absl::StrCat(
        part_, ": does not begin as an .npy file of f32, [", num_rows_, ", ", width_, "], does"));
  }
  if (size < header_bytes) {
    unwritten_ = header_;
    torn_from_ = 0;
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(num_done_, is_npy_ ? CountRows(size) : CountLines(size));
  if (num_done_ <= num_rows_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(part_, ": holds ", Counted(num_done_, "row"), ", more than ", num_rows_));
}

/// Counts rows up to the first that is all zeros, which no model produces. After a power failure,
/// the file system may leave such a row, and a torn row before it.
absl::StatusOr<int64_t> VectorFile::CountRows(int64_t size) {
  const int64_t row_bytes = width_ * static_cast<int64_t>(sizeof(float));
  const int64_t num_rows = (size - std::ssize(header_)) / row_bytes;
  if (num_rows > num_rows_) return num_rows;  // too many; the caller reports it
  std::string row(row_bytes, '\0');
  int64_t num_whole = 0;
  int64_t end = std::ssize(header_);
  for (; num_whole < num_rows; ++num_whole, end += row_bytes) {
    if (pread(fd_, row.data(), row_bytes, end) != row_bytes) return Refused("read");
    if (row.find_first_not_of('\0') != std::string::npos) continue;
    if (num_whole > 0) --num_whole, end -= row_bytes;
    break;
  }
  torn_from_ = end;
  return num_whole;
}

/// Counts lines up to the first with a zero byte, which a power failure may leave.
absl::StatusOr<int64_t> VectorFile::CountLines(int64_t size) {
  int64_t num_lines = 0, end = 0;
  std::string block(kFlushBytes, '\0');
  for (int64_t offset = 0; offset < size;) {
    const int64_t num_read = pread(fd_, block.data(), block.size(), offset);
    if (num_read <= 0) return Refused("read");
    for (int64_t i = 0; i < num_read; ++i) {
      if (block[i] == '\0') {
        torn_from_ = end;
        return num_lines;
      }
      if (block[i] != '\n') continue;
      ++num_lines;
      end = offset + i + 1;
    }
    offset += num_read;
  }
  torn_from_ = end;
  return num_lines;
}

absl::Status VectorFile::CutTornRow() {
  const std::optional<int64_t> size = std::exchange(torn_from_, std::nullopt);
  if (!size) return absl::OkStatus();
  if (ftruncate(fd_, *size) != 0) return Refused("truncate");
  if (lseek(fd_, *size, SEEK_SET) != *size) return Refused("seek");
  return absl::OkStatus();
}

absl::Status VectorFile::CheckFirstRow(std::span<const float> values) const {
  return CheckFirstLine(RowBytes(0, values));
}

absl::Status VectorFile::CheckFirstLine(const std::string& want) const {
  std::string found(want.size(), '\0');
  const int64_t num_read = pread(fd_, found.data(), found.size(), std::ssize(header_));
  if (num_read < 0) return Refused("read");
  if (num_read == std::ssize(found) && found == want) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      part_, ": its first vector is not what this model makes of the first text; remove ", part_,
      " to begin anew"));
}

absl::Status VectorFile::Append(std::span<const float> values) {
  SHORTLIST_CHECK(std::ssize(values) == width_);
  return AppendLine(RowBytes(num_done_, values));
}

absl::Status VectorFile::AppendLine(const std::string& line) {
  SHORTLIST_CHECK(num_done_ < num_rows_);
  ++num_done_;
  unwritten_ += line;
  return unwritten_.size() < kFlushBytes ? absl::OkStatus() : Flush();
}

absl::Status VectorFile::Finish() {
  SHORTLIST_CHECK(num_done_ == num_rows_);
  SHORTLIST_RETURN_IF_ERROR(Flush());
  if (fsync(fd_) != 0) return Refused("fsync");
  // Another process may have written it since Open().
  SHORTLIST_RETURN_IF_ERROR(CheckNotWritten());
  // The settings exist under both names until the vectors are renamed. A run that ends in between
  // leaves a .part that another run can resume, or a complete PATH.
  SHORTLIST_ASSIGN_OR_RETURN(const RawFile written, RawFile::Open(part_));
  nlohmann::ordered_json settings = settings_;
  SHORTLIST_ASSIGN_OR_RETURN(settings[kContentSetting], Xxh64Of(written));
  SHORTLIST_RETURN_IF_ERROR(WriteFileAtomically(SettingsPath(path_), settings.dump(2) + "\n"));
  if (std::rename(part_.c_str(), path_.c_str()) != 0) return Refused("rename");
  is_ours_ = false;
  std::remove(SettingsPath(part_).c_str());
  return SyncFolderOf(path_);
}

absl::Status VectorFile::Flush() {
  SHORTLIST_RETURN_IF_ERROR(CutTornRow());
  const std::string bytes = std::exchange(unwritten_, {});
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    // A partly written row is cut off by the run that resumes.
    if (written < 0) return Refused("write");
    rest.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status VectorFile::Refused(const char* call) const { return Unavailable(part_, call); }

std::string VectorFile::RowBytes(int64_t row, std::span<const float> values) const {
  if (!is_npy_) return VectorJson(row, values);
  return std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

}  // namespace shortlist
