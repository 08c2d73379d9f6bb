#include "runtime/sketch_file.h"

#include <ATen/ATen.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "model/checkpoint/safetensors.h"
#include "model/checkpoint/safetensors_writer.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxHidden = 1 << 20, kMaxProbes = 1 << 16;
constexpr int64_t kMaxStates = int64_t{1} << 40;

absl::Status BadFile(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

/// The matrix `name` [rows, columns]; what is -1 may be anything up to its bound.
absl::StatusOr<at::Tensor> ReadMatrix(const TensorFile& file, const std::string& name, int64_t rows,
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
  at::Tensor matrix = at::empty({entry.shape[0], entry.shape[1]}, at::kFloat);
  SHORTLIST_RETURN_IF_ERROR(file.Read(entry, 0, entry.num_bytes, matrix.data_ptr()));
  const float* const values = matrix.data_ptr<float>();
  for (int64_t i = 0; i < matrix.numel(); ++i) {
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

/// The tensor `name`, I64 [1]; nullopt where there is none.
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

/// FNV-1a, which is the same everywhere.
uint64_t HashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

/// Of all that a basis is, so that a damaged file shows: a draft by it would only be slow.
int64_t ChecksumOf(const SketchBasis& basis) {
  uint64_t sum = static_cast<uint64_t>(basis.num_states);
  for (const at::Tensor* matrix : {&basis.rows, &basis.states, &basis.probes}) {
    const at::Tensor values = matrix->contiguous();
    sum = sum * 31 + HashOf({static_cast<const char*>(values.data_ptr()), values.nbytes()});
  }
  return static_cast<int64_t>(sum);
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
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> num_states,
                             ReadNumber(file, "num_states"));
  basis.num_states = num_states.value_or(0);
  if (basis.num_states < 0 || basis.num_states > kMaxStates) {
    return BadFile(
        path, absl::StrCat("num_states is ", basis.num_states, ", not in [0, ", kMaxStates, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int64_t> checksum, ReadNumber(file, "checksum"));
  if (checksum && *checksum != ChecksumOf(basis)) {
    return BadFile(path, "is damaged: its checksum is another");
  }
  return basis;
}

absl::Status WriteSketchFile(const SketchBasis& basis, const std::string& path) {
  SafetensorsWriter writer;
  writer.SetMetadata("format", "shortlist sketch 1");
  const auto add = [&writer](const char* name, const char* dtype, std::vector<int64_t> shape,
                             const void* values, size_t num_bytes) {
    writer.Add(name, dtype, shape, {static_cast<const char*>(values), num_bytes});
  };
  const auto add_matrix = [&](const char* name, const at::Tensor& matrix) {
    const at::Tensor rows = matrix.contiguous();
    add(name, "F32", {rows.size(0), rows.size(1)}, rows.data_ptr(), rows.nbytes());
  };
  add("probe_ids", "I64", {std::ssize(basis.probe_ids)}, basis.probe_ids.data(),
      basis.probe_ids.size() * sizeof(int64_t));
  if (basis.num_states > 0) add("num_states", "I64", {1}, &basis.num_states, sizeof(int64_t));
  const int64_t checksum = ChecksumOf(basis);
  add("checksum", "I64", {1}, &checksum, sizeof(checksum));
  add_matrix("rows", basis.rows);
  add_matrix("states", basis.states);
  add_matrix("probes", basis.probes);
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
