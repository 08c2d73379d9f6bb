#include "runtime/sketch_file.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxHidden = 1 << 20, kMaxProbes = 1 << 16;
constexpr int64_t kMaxStates = int64_t{1} << 40;

absl::Status BadFile(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

/// Reads the matrix `name` [rows, columns]; -1: any size up to the bound.
absl::StatusOr<Matrix> ReadMatrix(const TensorFile& file, const std::string& name, int64_t rows,
                                  int64_t columns) {
  const auto found = file.entries().find(name);
  if (found == file.entries().end()) return BadFile(file.path(), "has no tensor " + name);
  const TensorEntry& entry = found->second;
  const bool fits = entry.dtype_name == "F32" && entry.shape.size() == 2 &&
                    (rows < 0 || entry.shape[0] == rows) &&
                    (columns < 0 || entry.shape[1] == columns);
  if (!fits || entry.shape[0] > kMaxProbes || entry.shape[1] > kMaxHidden) {
    return BadFile(file.path(),
                   absl::StrCat(name, " is ", entry.dtype_name, " ", ShapeString(entry.shape),
                                ", not F32 [", rows < 0 ? "N" : absl::StrCat(rows), ", ",
                                columns < 0 ? "M" : absl::StrCat(columns), "]"));
  }
  Matrix matrix(entry.shape[0], entry.shape[1]);
  SHORTLIST_RETURN_IF_ERROR(file.Read(entry, 0, entry.num_bytes, matrix.data()));
  const float* const values = matrix.floats();
  for (int64_t i = 0; i < matrix.num_elements(); ++i) {
    if (std::isfinite(values[i])) continue;
    return BadFile(file.path(), absl::StrCat(name, " holds ", values[i], " at ", i));
  }
  return matrix;
}

absl::StatusOr<std::vector<int64_t>> ReadProbeIds(const TensorFile& file) {
  const auto found = file.entries().find("probe_ids");
  if (found == file.entries().end()) return BadFile(file.path(), "has no tensor probe_ids");
  const TensorEntry& entry = found->second;
  if (entry.dtype_name != "I64" || entry.shape.size() != 1 || entry.num_elements < 1 ||
      entry.num_elements > kMaxProbes) {
    return BadFile(file.path(),
                   absl::StrCat("probe_ids is ", entry.dtype_name, " ", ShapeString(entry.shape),
                                ", not I64 [N], N in [1, ", kMaxProbes, "]"));
  }
  std::vector<int64_t> ids(entry.num_elements);
  SHORTLIST_RETURN_IF_ERROR(file.Read(entry, 0, entry.num_bytes, ids.data()));
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] > (i > 0 ? ids[i - 1] : int64_t{-1})) continue;
    return BadFile(file.path(), absl::StrCat("probe_ids holds ", ids[i], " at ", i,
                                             ", where ids ascend from 0"));
  }
  return ids;
}

/// Reads the tensor `name`, I64 [1]; nullopt if there is none.
absl::StatusOr<std::optional<int64_t>> ReadNumber(const TensorFile& file, const std::string& name) {
  const auto found = file.entries().find(name);
  if (found == file.entries().end()) return std::nullopt;
  const TensorEntry& entry = found->second;
  if (entry.dtype_name != "I64" || entry.num_elements != 1) {
    return BadFile(file.path(), absl::StrCat(name, " is ", entry.dtype_name, " ",
                                             ShapeString(entry.shape), ", not I64 [1]"));
  }
  int64_t number = 0;
  SHORTLIST_RETURN_IF_ERROR(file.Read(entry, 0, entry.num_bytes, &number));
  return number;
}

/// Reads the tensor "num_states"; 0 if there is none.
absl::StatusOr<int64_t> ReadNumStates(const TensorFile& file) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> read, ReadNumber(file, "num_states"));
  const int64_t num_states = read.value_or(0);
  if (num_states >= 0 && num_states <= kMaxStates) return num_states;
  return BadFile(file.path(),
                 absl::StrCat("num_states is ", num_states, ", not in [0, ", kMaxStates, "]"));
}

/// FNV-1a, which is the same on every platform.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

/// Checksum of all values of a file. It reveals damage, which would otherwise only slow a draft
/// down.
int64_t Checksum(int64_t num_states, std::initializer_list<const Matrix*> matrices) {
  auto sum = static_cast<uint64_t>(num_states);
  for (const Matrix* matrix : matrices) {
    sum = sum * 31 +
          HashOf({static_cast<const char*>(matrix->data()), static_cast<size_t>(matrix->bytes())});
  }
  return static_cast<int64_t>(sum);
}

int64_t ChecksumOf(const SketchBasis& basis) {
  return Checksum(basis.num_states, {&basis.rows, &basis.states, &basis.probes});
}

absl::Status CheckSum(const TensorFile& file, int64_t expected) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> checksum, ReadNumber(file, "checksum"));
  if (!checksum || *checksum == expected) return absl::OkStatus();
  return BadFile(file.path(), "is damaged: its checksum is another");
}

void AddNumber(const char* name, const int64_t& number, SafetensorsWriter& writer) {
  writer.Add(name, "I64", std::vector<int64_t>{1},
             {reinterpret_cast<const char*>(&number), sizeof(number)});
}

void AddMatrix(const char* name, const Matrix& matrix, SafetensorsWriter& writer) {
  writer.Add(name, "F32", std::vector{matrix.rows(), matrix.cols()},
             {static_cast<const char*>(matrix.data()), static_cast<size_t>(matrix.bytes())});
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

absl::StatusOr<SketchBasis> ReadSketchFile(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const TensorFile file, OpenSafetensors(path));
  SketchBasis basis;
  SHORTLIST_ASSIGN_OR_RETURN(basis.rows, ReadMatrix(file, "rows", -1, -1));
  const int64_t rank = basis.rank();
  const absl::Status fits = SketchBasis::CheckRank(rank, basis.hidden());
  if (!fits.ok()) return BadFile(path, std::string(fits.message()));
  SHORTLIST_ASSIGN_OR_RETURN(basis.states, ReadMatrix(file, "states", rank, basis.hidden()));
  SHORTLIST_ASSIGN_OR_RETURN(basis.probe_ids, ReadProbeIds(file));
  SHORTLIST_ASSIGN_OR_RETURN(basis.probes,
                             ReadMatrix(file, "probes", std::ssize(basis.probe_ids), rank));
  SHORTLIST_ASSIGN_OR_RETURN(basis.num_states, ReadNumStates(file));
  SHORTLIST_RETURN_IF_ERROR(CheckSum(file, ChecksumOf(basis)));
  return basis;
}

absl::Status WriteSketchFile(const SketchBasis& basis, const std::string& path) {
  SafetensorsWriter writer;
  writer.SetMetadata("format", "shortlist sketch 1");
  writer.Add("probe_ids", "I64", std::vector{std::ssize(basis.probe_ids)},
             {reinterpret_cast<const char*>(basis.probe_ids.data()),
              basis.probe_ids.size() * sizeof(int64_t)});
  if (basis.num_states > 0) AddNumber("num_states", basis.num_states, writer);
  const int64_t checksum = ChecksumOf(basis);
  AddNumber("checksum", checksum, writer);
  AddMatrix("rows", basis.rows, writer);
  AddMatrix("states", basis.states, writer);
  AddMatrix("probes", basis.probes, writer);
  return WriteFileAtomically(path, writer.File());
}

absl::StatusOr<StateMoments> ReadMomentsFile(const std::string& path, int64_t hidden) {
  SHORTLIST_ASSIGN_OR_RETURN(const TensorFile file, OpenSafetensors(path));
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix mean, ReadMatrix(file, "mean", hidden, hidden));
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_states, ReadNumStates(file));
  if (num_states < 1) return BadFile(path, "num_states is 0, not at least 1");
  SHORTLIST_RETURN_IF_ERROR(CheckSum(file, Checksum(num_states, {&mean})));
  return StateMoments(mean, num_states);
}

absl::Status WriteMomentsFile(const StateMoments& moments, const std::string& path) {
  SafetensorsWriter writer;
  writer.SetMetadata("format", "shortlist state moments 1");
  const int64_t num_states = moments.num_states();
  const Matrix mean = moments.Mean();
  const int64_t checksum = Checksum(num_states, {&mean});
  AddNumber("num_states", num_states, writer);
  AddNumber("checksum", checksum, writer);
  AddMatrix("mean", mean, writer);
  return WriteFileAtomically(path, writer.File());
}

std::string CachedSketchPath(const std::string& draft_dir, int64_t num_rows) {
  std::filesystem::path cache = Variable("XDG_CACHE_HOME");
  if (!cache.is_absolute()) {
    const std::string home = Variable("HOME");
    if (home.empty()) return "";
    cache = std::filesystem::path(home) / ".cache";
  }
  std::error_code error;
  const std::filesystem::path dir = std::filesystem::canonical(draft_dir, error);
  if (error) return "";
  const std::string key = absl::StrCat(absl::Hex(HashOf(dir.string()), absl::kZeroPad16));
  const std::string name = dir.filename().string().substr(0, 100);
  return cache / "shortlist" / "sketches" /
         absl::StrCat(name, "-", num_rows, "-", key, ".safetensors");
}

}  // namespace shortlist
