#include "model/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "kernels/arena.h"
#include "kernels/blocks.h"
#include "kernels/elementwise.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

// Trained weights do not hold so many zero bytes in a row. A hole of a file has whole pages.
constexpr int64_t kZeroRunBytes = 4096;

/// Returns a matrix over memory that it keeps alive: its rows are the first dimension of `shape`.
Matrix MatrixOver(std::shared_ptr<Arena> memory, const std::vector<int64_t>& shape, DType dtype) {
  const int64_t rows = shape.empty() ? 1 : shape[0];
  const int64_t cols = std::accumulate(shape.begin() + (shape.empty() ? 0 : 1), shape.end(),
                                       int64_t{1}, std::multiplies<>());
  void* const data = memory->data();
  return Matrix(std::shared_ptr<void>(std::move(memory), data), rows, cols, dtype);
}

/// Returns e.g. "model.layers.0.mlp.up_proj" for "model.layers.0.mlp.up_proj.weight".
std::string LinearName(const std::string& weight_name) {
  return std::string(absl::StripSuffix(weight_name, ".weight"));
}

/// Calls work(first, count) for every kUnpackBlock outputs.
template <typename Work>
void ForUnpackBlocks(int64_t out_features, ThreadPool& pool, Work&& work) {
  const int64_t num_blocks = (out_features + kUnpackBlock - 1) / kUnpackBlock;
  pool.ParallelFor(num_blocks, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * kUnpackBlock; first < std::min(end * kUnpackBlock, out_features);
         first += kUnpackBlock) {
      work(first, std::min(kUnpackBlock, out_features - first));
    }
  });
}

}  // namespace

absl::StatusOr<Checkpoint> Checkpoint::Open(const ModelSource& source,
                                            const WeightPacking& packing) {
  SHORTLIST_ASSIGN_OR_RETURN(WeightFiles files, source.OpenWeights());
  return Checkpoint(std::move(files), packing);
}

absl::StatusOr<Checkpoint> Checkpoint::OpenStateDict(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(WeightFiles files, WeightFiles::OpenStateDict(path));
  return Checkpoint(std::move(files), WeightPacking());
}

absl::Status Checkpoint::Invalid(const std::string& name, const std::string& problem) const {
  return absl::InvalidArgumentError(
      absl::StrCat(files_.file(files_.tensors().at(name)).path(), ": tensor ", name, " ", problem));
}

bool Checkpoint::IsPacked(const std::string& name) const {
  return packing_.kind != WeightPacking::Kind::kNone && absl::EndsWith(name, ".weight") &&
         !Contains(name) && Contains(absl::StrCat(LinearName(name), ".qweight"));
}

absl::StatusOr<DType> Checkpoint::StoredDType(const std::string& name) const {
  if (IsPacked(name)) return StoredDType(absl::StrCat(LinearName(name), ".scales"));
  const auto found = files_.tensors().find(name);
  if (found == files_.tensors().end()) {
    return absl::NotFoundError(absl::StrCat(files_.dir(), ": no tensor ", name));
  }
  const TensorEntry& entry = *found->second.entry;
  if (!entry.dtype) {
    return absl::UnimplementedError(absl::StrCat(files_.file(found->second).path(), ": tensor ",
                                                 name, " is ", Excerpt(entry.dtype_name),
                                                 "; weights can be F32, F16 or BF16"));
  }
  return *entry.dtype;
}

absl::StatusOr<std::vector<int64_t>> Checkpoint::StoredShape(const std::string& name) const {
  const auto found = files_.tensors().find(name);
  if (found != files_.tensors().end()) return found->second.entry->shape;
  return absl::NotFoundError(absl::StrCat(files_.dir(), ": no tensor ", name));
}

absl::StatusOr<WeightFiles::Location> Checkpoint::Find(const std::string& name,
                                                       const std::vector<int64_t>& shape) {
  const auto found = files_.tensors().find(name);
  if (found == files_.tensors().end()) {
    return absl::NotFoundError(absl::StrCat(files_.dir(), ": no tensor ", name));
  }
  if (found->second.entry->shape != shape) {
    return Invalid(name, absl::StrCat("is ", ShapeString(found->second.entry->shape),
                                      ", config.json makes it ", ShapeString(shape)));
  }
  known_.insert(name);
  return found->second;
}

absl::Status Checkpoint::Expect(const std::string& name, const std::vector<int64_t>& shape) {
  SHORTLIST_RETURN_IF_ERROR(StoredDType(name).status());
  return Find(name, shape).status();
}

absl::Status Checkpoint::Split(const std::string& name, const std::vector<int64_t>& shape,
                               std::span<const WeightFiles::Rows> parts) {
  SHORTLIST_RETURN_IF_ERROR(Find(name, shape).status());
  return files_.Split(name, parts);
}

absl::StatusOr<Matrix> Checkpoint::Load(const std::string& name, const std::vector<int64_t>& shape,
                                        DType dtype, ThreadPool& pool) {
  if (IsPacked(name) && shape.size() == 2) {
    return LoadPacked(name, shape[0], shape[1], dtype, pool);
  }
  SHORTLIST_ASSIGN_OR_RETURN(const DType stored, StoredDType(name));
  SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles::Location location, Find(name, shape));
  const TensorEntry& entry = *location.entry;
  const TensorFile& file = files_.file(location);

  auto memory = std::make_shared<Arena>(entry.num_elements * DTypeBytes(dtype));
  char* out = static_cast<char*>(memory->data());
  // Converts piece by piece, so that a checkpoint of another type needs no second copy. Reading a
  // piece of a strided tensor would read all bytes that it spans, so it is one piece.
  constexpr int64_t kContiguousElements = int64_t{1} << 22;
  const int64_t piece_elements = entry.strides.empty() ? kContiguousElements : entry.num_elements;
  Arena piece;
  if (stored != dtype)
    piece = Arena(std::min(piece_elements, entry.num_elements) * DTypeBytes(stored));
  for (int64_t begin = 0; begin < entry.num_elements; begin += piece_elements) {
    const int64_t count = std::min(piece_elements, entry.num_elements - begin);
    char* const target = out + begin * DTypeBytes(dtype);
    char* const source = stored == dtype ? target : static_cast<char*>(piece.data());
    SHORTLIST_RETURN_IF_ERROR(
        file.Read(entry, begin * DTypeBytes(stored), count * DTypeBytes(stored), source));
    if (!AllFiniteCpu(source, stored, count, pool))
      return Invalid(name, "holds a NaN or infinite value");
    if (shape.size() > 1) CountZeros(name, source, count * DTypeBytes(stored));
    if (stored == dtype) continue;
    pool.ParallelFor(count, /*grain=*/4096, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        StoreFromFloat(target, dtype, i, LoadAsFloat(source, stored, i));
    });
    if (!AllFiniteCpu(target, dtype, count, pool)) {
      return Invalid(name, absl::StrCat("holds a value too large for ", DTypeName(dtype)));
    }
  }
  return MatrixOver(std::move(memory), shape, dtype);
}

std::optional<DType> Checkpoint::StoredBlocks(const std::string& name, int64_t num_rows,
                                              int64_t num_columns, ThreadPool& pool) {
  if (!keeps_blocks_) return std::nullopt;
  if (!IsPacked(name)) {
    const auto found = files_.tensors().find(name);
    return found == files_.tensors().end() ? std::nullopt : found->second.entry->block_type();
  }
  const auto known = packed_blocks_.find(name);
  if (known != packed_blocks_.end()) return known->second;
  const auto groups =
      ReadPacked(LinearName(name), num_rows, num_columns, /*with_words=*/false, pool);
  return packed_blocks_[name] = groups.ok() ? BlocksOf(*groups) : std::nullopt;
}

absl::StatusOr<std::shared_ptr<const void>> Checkpoint::LoadBlocks(const std::string& name,
                                                                   int64_t num_rows,
                                                                   int64_t num_columns,
                                                                   ThreadPool& pool) {
  const DType dtype = StoredBlocks(name, num_rows, num_columns, pool).value();
  std::shared_ptr<Arena> memory;
  if (IsPacked(name)) {
    SHORTLIST_ASSIGN_OR_RETURN(
        const PackedWeight weight,
        ReadPacked(LinearName(name), num_rows, num_columns, /*with_words=*/true, pool));
    const int64_t row_bytes = StoredRowBytes(dtype, num_columns);
    memory = std::make_shared<Arena>(num_rows * row_bytes);
    auto* const blocks = static_cast<uint8_t*>(memory->data());
    ForUnpackBlocks(num_rows, pool, [&](int64_t first, int64_t count) {
      PackRowsInBlocks(weight, dtype, first, count, blocks + first * row_bytes);
    });
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles::Location location,
                               Find(name, {num_rows, num_columns}));
    memory = std::make_shared<Arena>(num_rows * StoredRowBytes(dtype, num_columns));
    SHORTLIST_RETURN_IF_ERROR(
        files_.file(location).ReadBlocks(*location.entry, 0, num_rows, memory->data()));
    if (!BlocksAreFinite(memory->data(), dtype, num_rows, num_columns, pool)) {
      return Invalid(name, "holds a scale that is NaN or infinite");
    }
    CountZeros(name, memory->data(), memory->bytes());
  }
  loaded_blocks_.insert(dtype);
  return std::shared_ptr<const void>(memory, memory->data());
}

absl::StatusOr<std::vector<int32_t>> Checkpoint::LoadIntegers(const std::string& name,
                                                              const std::vector<int64_t>& shape) {
  SHORTLIST_ASSIGN_OR_RETURN(const WeightFiles::Location location, Find(name, shape));
  if (location.entry->dtype_name != "I32") {
    return Invalid(name, absl::StrCat("is ", Excerpt(location.entry->dtype_name), ", not I32"));
  }
  std::vector<int32_t> values(static_cast<size_t>(location.entry->num_elements));
  SHORTLIST_RETURN_IF_ERROR(
      files_.file(location).Read(*location.entry, 0, location.entry->num_bytes, values.data()));
  if (name.ends_with(".qweight")) CountZeros(name, values.data(), location.entry->num_bytes);
  return values;
}

void Checkpoint::CountZeros(const std::string& name, const void* data, int64_t bytes) {
  static constexpr char kZeros[kZeroRunBytes] = {};
  const char* const begin = static_cast<const char*>(data);
  int64_t num_runs = 0;
  for (int64_t at = 0; at + kZeroRunBytes <= bytes; at += kZeroRunBytes) {
    num_runs += std::memcmp(begin + at, kZeros, kZeroRunBytes) == 0 ? 1 : 0;
  }
  if (num_runs == 0 && !zeros_.contains(name)) return;
  ZeroRuns& zeros = zeros_[name];
  zeros.num_runs += num_runs;
  zeros.num_bytes += bytes;
}

std::string Checkpoint::warning() const {
  std::vector<std::string> names;
  for (const auto& [name, zeros] : zeros_) {
    const bool may_have_padding = name.find("embed") != name.npos || name.find("head") != name.npos;
    const int64_t zero_bytes = zeros.num_runs * kZeroRunBytes;
    if (!may_have_padding || zero_bytes > zeros.num_bytes / 4) names.push_back(name);
  }
  if (names.empty()) return "";
  const auto found = files_.tensors().find(names.front());
  const std::string path =
      found == files_.tensors().end() ? "" : files_.file(found->second).path() + ": ";
  const size_t num_others = names.size() - 1;
  return absl::StrCat(path, Excerpt(names.front()),
                      num_others == 0 ? "" : absl::StrCat(" and ", num_others, " other tensors"),
                      num_others == 0 ? " holds " : " hold ", kZeroRunBytes,
                      " bytes of zeros in a row: if that is not padding, the file is damaged, for "
                      "example cut off while it was written");
}

absl::Status Checkpoint::AdmitZeroBias(const std::string& name, int64_t out_features,
                                       ThreadPool& pool) {
  if (!Contains(name) || known_.contains(name)) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const Matrix bias, Load(name, {out_features}, DType::kF32, pool));
  const float* const values = bias.floats();
  const bool is_zero =
      std::all_of(values, values + out_features, [](float value) { return value == 0.0f; });
  if (!is_zero) known_.erase(name);  // unknown unless the model requests it
  return absl::OkStatus();
}

absl::StatusOr<PackedWeight> Checkpoint::ReadPacked(const std::string& linear, int64_t out_features,
                                                    int64_t in_features, bool with_words,
                                                    ThreadPool& pool) {
  const std::string words_name = absl::StrCat(linear, ".qweight");
  if (in_features < 1 || in_features % kCodesPerWord != 0 || out_features % kCodesPerWord != 0) {
    return Invalid(words_name, absl::StrCat("packs ", out_features, " x ", in_features,
                                            " weights, not multiples of ", kCodesPerWord));
  }
  PackedWeight weight = {packing_, in_features, out_features};
  const int64_t group_size = packing_.group_size > 0 ? packing_.group_size : in_features;
  weight.num_groups = (in_features + group_size - 1) / group_size;
  const bool is_gptq = packing_.kind == WeightPacking::Kind::kGptq;
  if (with_words) {
    const std::vector<int64_t> shape =
        is_gptq ? std::vector<int64_t>{in_features / kCodesPerWord, out_features}
                : std::vector<int64_t>{in_features, out_features / kCodesPerWord};
    SHORTLIST_ASSIGN_OR_RETURN(weight.words, LoadIntegers(words_name, shape));
  }
  SHORTLIST_ASSIGN_OR_RETURN(weight.zeros,
                             LoadIntegers(absl::StrCat(linear, ".qzeros"),
                                          {weight.num_groups, out_features / kCodesPerWord}));
  SHORTLIST_ASSIGN_OR_RETURN(
      const Matrix scales,
      Load(absl::StrCat(linear, ".scales"), {weight.num_groups, out_features}, DType::kF32, pool));
  weight.scales.assign(scales.floats(), scales.floats() + scales.num_elements());
  const std::string groups_name = absl::StrCat(linear, ".g_idx");
  if (is_gptq && (packing_.act_order || Contains(groups_name))) {
    SHORTLIST_ASSIGN_OR_RETURN(weight.group_of, LoadIntegers(groups_name, {in_features}));
    for (const int32_t group : weight.group_of) {
      if (group < 0 || group >= weight.num_groups) {
        return Invalid(groups_name, absl::StrCat("holds group ", group, ", not in [0, ",
                                                 weight.num_groups, ")"));
      }
    }
  } else {
    for (int64_t i = 0; i < in_features; ++i) {
      weight.group_of.push_back(static_cast<int32_t>(i / group_size));
    }
  }
  SHORTLIST_RETURN_IF_ERROR(AdmitZeroBias(absl::StrCat(linear, ".bias"), out_features, pool));
  return weight;
}

absl::StatusOr<Matrix> Checkpoint::LoadPacked(const std::string& name, int64_t out_features,
                                              int64_t in_features, DType dtype, ThreadPool& pool) {
  const std::string linear = LinearName(name);
  SHORTLIST_ASSIGN_OR_RETURN(
      const PackedWeight weight,
      ReadPacked(linear, out_features, in_features, /*with_words=*/true, pool));
  auto memory = std::make_shared<Arena>(out_features * in_features * DTypeBytes(dtype));
  void* const out = memory->data();
  ForUnpackBlocks(out_features, pool, [&](int64_t first, int64_t count) {
    std::vector<float> rows(static_cast<size_t>(count * in_features));
    UnpackRows(weight, first, count, rows.data());
    for (int64_t i = 0; i < count * in_features; ++i) {
      StoreFromFloat(out, dtype, first * in_features + i, rows[i]);
    }
  });
  if (!AllFiniteCpu(out, dtype, out_features * in_features, pool)) {
    return Invalid(absl::StrCat(linear, ".qweight"),
                   absl::StrCat("holds a value too large for ", DTypeName(dtype)));
  }
  return MatrixOver(std::move(memory), {out_features, in_features}, dtype);
}

absl::Status Checkpoint::CheckPacked(const std::string& name) const {
  if (packing_.kind == WeightPacking::Kind::kNone || !Contains(name)) return absl::OkStatus();
  const bool is_gptq = packing_.kind == WeightPacking::Kind::kGptq;
  return Invalid(name,
                 absl::StrCat("is dense, but all linear layers of a ", is_gptq ? "gptq" : "awq",
                              " checkpoint must be packed: layers left out of the "
                              "quantization are not supported"));
}

absl::Status Checkpoint::CheckNothingUnknown(std::span<const std::string> others) const {
  for (const auto& [name, location] : files_.tensors()) {
    if (IsKnown(name)) continue;
    if (std::any_of(others.begin(), others.end(),
                    [&name](const std::string& other) { return absl::StartsWith(name, other); })) {
      continue;
    }
    return NoPlace(name, location);
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::CheckNothingUnknownBelow(std::string_view prefix) const {
  for (const auto& [name, location] : files_.tensors()) {
    if (name.starts_with(prefix) && !IsKnown(name)) return NoPlace(name, location);
  }
  return absl::OkStatus();
}

bool Checkpoint::IsKnown(const std::string& name) const {
  return known_.contains(name) || absl::EndsWith(name, "rotary_emb.inv_freq");
}

absl::Status Checkpoint::NoPlace(const std::string& name,
                                 const WeightFiles::Location& location) const {
  return absl::InvalidArgumentError(absl::StrCat(
      files_.file(location).path(), ": tensor ", Quote(name), " ",
      ShapeString(location.entry->shape), " has no place in the model config.json describes"));
}

}  // namespace shortlist
