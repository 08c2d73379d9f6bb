#include "model/checkpoint.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "kernels/arena.h"
#include "kernels/elementwise.h"
#include "model/quote.h"
#include "model/safetensors.h"
#include "model/torch_file.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxIndexBytes = 100'000'000;

at::ScalarType ToScalarType(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return at::kFloat;
    case DType::kF16:
      return at::kHalf;
    case DType::kBf16:
      return at::kBFloat16;
    case DType::kInt8:
    case DType::kInt4:
      break;
  }
  SHORTLIST_CHECK(!IsQuantized(dtype));
  return at::kFloat;
}

/// The index's weight_map: tensor name to shard, a plain file name beside the index.
absl::StatusOr<std::map<std::string, std::string>> ReadIndex(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(const nlohmann::json index, ReadJsonFile(path, kMaxIndexBytes));
  const auto weight_map = index.is_object() ? index.find("weight_map") : index.end();
  if (weight_map == index.end() || !weight_map->is_object() || weight_map->empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": weight_map missing, empty or not an object"));
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, shard] : weight_map->items()) {
    const std::string file = shard.is_string() ? shard.get<std::string>() : "";
    if (file.empty() || file == "." || file == ".." || file.find('/') != std::string::npos ||
        file.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": weight_map puts ", Quote(name), " in ", Quote(shard),
                       ", which is no file name inside the directory"));
    }
    shard_of.emplace(name, file);
  }
  return shard_of;
}

}  // namespace

absl::Status Checkpoint::AddFile(absl::StatusOr<TensorFile> file) {
  SHORTLIST_RETURN_IF_ERROR(file.status());
  files_.push_back(*std::move(file));
  for (const auto& [name, entry] : files_.back().entries()) {
    if (!tensors_.emplace(name, Location{files_.size() - 1, &entry}).second) {
      return absl::InvalidArgumentError(absl::StrCat(files_.back().path(), ": tensor ", Quote(name),
                                                     " is also in another shard"));
    }
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::AddShards(const std::string& index, OpenFile open) {
  SHORTLIST_ASSIGN_OR_RETURN(const auto shard_of, ReadIndex(index));
  std::map<std::string, size_t> file_index;
  for (const auto& [name, shard] : shard_of) file_index.emplace(shard, 0);
  for (auto& [shard, position] : file_index) {
    position = files_.size();
    SHORTLIST_RETURN_IF_ERROR(AddFile(open(absl::StrCat(dir_, "/", shard))));
  }
  for (const auto& [name, shard] : shard_of) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end() || found->second.file != file_index[shard]) {
      return absl::InvalidArgumentError(
          absl::StrCat(index, ": tensor ", Quote(name), " is not in ", shard));
    }
  }
  for (const auto& [name, location] : tensors_) {
    if (!shard_of.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat(files_[location.file].path(), ": tensor ",
                                                     Quote(name), " is not in the index"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> Checkpoint::Open(const std::string& dir) {
  Checkpoint checkpoint;
  checkpoint.dir_ = dir;
  struct Format {
    const char* name;
    OpenFile open;
  };
  for (const auto& [name, open] :
       {Format{"model.safetensors", OpenSafetensors}, Format{"pytorch_model.bin", OpenTorchFile}}) {
    const std::string single = absl::StrCat(dir, "/", name);
    const std::string index = absl::StrCat(single, ".index.json");
    std::error_code ignored;
    if (std::filesystem::exists(single, ignored)) {
      SHORTLIST_RETURN_IF_ERROR(checkpoint.AddFile(open(single)));
      return checkpoint;
    }
    if (std::filesystem::exists(index, ignored)) {
      SHORTLIST_RETURN_IF_ERROR(checkpoint.AddShards(index, open));
      return checkpoint;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      dir,
      ": no weights: neither model.safetensors nor pytorch_model.bin, nor an index of either "
      "(*.index.json)"));
}

absl::StatusOr<DType> Checkpoint::StoredDType(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return absl::NotFoundError(absl::StrCat(dir_, ": no tensor ", name));
  const TensorEntry& entry = *found->second.entry;
  if (!entry.dtype) {
    return absl::UnimplementedError(absl::StrCat(files_[found->second.file].path(), ": tensor ",
                                                 name, " is ", entry.dtype_name,
                                                 "; weights can be F32, F16 or BF16"));
  }
  return *entry.dtype;
}

absl::StatusOr<Checkpoint::Location> Checkpoint::Find(const std::string& name,
                                                      const std::vector<int64_t>& shape) {
  SHORTLIST_RETURN_IF_ERROR(StoredDType(name).status());
  const Location location = tensors_.at(name);
  if (location.entry->shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat(files_[location.file].path(), ": tensor ", name,
                                                   " is ", ShapeString(location.entry->shape),
                                                   ", config.json makes it ", ShapeString(shape)));
  }
  known_.insert(name);
  return location;
}

absl::Status Checkpoint::Expect(const std::string& name, const std::vector<int64_t>& shape) {
  return Find(name, shape).status();
}

absl::StatusOr<at::Tensor> Checkpoint::Load(const std::string& name,
                                            const std::vector<int64_t>& shape, DType dtype,
                                            ThreadPool& pool) {
  SHORTLIST_ASSIGN_OR_RETURN(const Location location, Find(name, shape));
  const TensorEntry& entry = *location.entry;
  const TensorFile& file = files_[location.file];
  const DType stored = *entry.dtype;
  const auto bad_weight = [&](const std::string& problem) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": tensor ", name, " ", problem));
  };

  auto memory = std::make_shared<Arena>(entry.num_elements * DTypeBytes(dtype));
  char* out = static_cast<char*>(memory->data());
  // Converted piece by piece, so that a checkpoint in another type needs no second copy of itself.
  constexpr int64_t kPieceElements = int64_t{1} << 22;
  Arena piece;
  if (stored != dtype)
    piece = Arena(std::min(kPieceElements, entry.num_elements) * DTypeBytes(stored));
  for (int64_t begin = 0; begin < entry.num_elements; begin += kPieceElements) {
    const int64_t count = std::min(kPieceElements, entry.num_elements - begin);
    char* const target = out + begin * DTypeBytes(dtype);
    char* const source = stored == dtype ? target : static_cast<char*>(piece.data());
    SHORTLIST_RETURN_IF_ERROR(
        file.Read(entry, begin * DTypeBytes(stored), count * DTypeBytes(stored), source));
    if (!AllFiniteCpu(source, stored, count, pool))
      return bad_weight("holds a NaN or infinite value");
    if (stored == dtype) continue;
    pool.ParallelFor(count, /*grain=*/4096, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        StoreFromFloat(target, dtype, i, LoadAsFloat(source, stored, i));
    });
    if (!AllFiniteCpu(target, dtype, count, pool)) {
      return bad_weight(absl::StrCat("holds a value too large for ", DTypeName(dtype)));
    }
  }
  return at::from_blob(
      out, shape, [memory](void*) {}, at::TensorOptions().dtype(ToScalarType(dtype)));
}

absl::Status Checkpoint::CheckNothingUnknown() const {
  for (const auto& [name, location] : tensors_) {
    if (known_.contains(name) || absl::EndsWith(name, "rotary_emb.inv_freq")) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        files_[location.file].path(), ": tensor ", Quote(name), " ",
        ShapeString(location.entry->shape), " has no place in the model config.json describes"));
  }
  return absl::OkStatus();
}

}  // namespace shortlist
