#include "io/weight_files.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "io/safetensors.h"
#include "io/torch_file.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr int64_t kMaxIndexBytes = 100'000'000;
constexpr size_t kMaxNameBytes = 255;  // of a file, in every file system

/// Reads the index's weight_map: tensor name to shard, a plain name of a file next to the index.
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
    if (file.empty() || file.size() > kMaxNameBytes || file == "." || file == ".." ||
        file.find('/') != std::string::npos || file.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": weight_map puts ", Quote(name), " in ", Quote(shard),
                       ", which is no file name inside the directory"));
    }
    shard_of.emplace(name, file);
  }
  return shard_of;
}

}  // namespace

absl::Status WeightFiles::AddFile(absl::StatusOr<TensorFile> file) {
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

absl::Status WeightFiles::AddShards(const std::string& index, OpenFile open) {
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

absl::StatusOr<WeightFiles> WeightFiles::OpenStateDict(const std::string& path) {
  WeightFiles weights;
  weights.dir_ = path;
  SHORTLIST_RETURN_IF_ERROR(weights.AddFile(OpenTorchFile(path)));
  return weights;
}

absl::StatusOr<WeightFiles> WeightFiles::Of(const std::string& path,
                                            std::vector<TensorFile> files) {
  WeightFiles weights;
  weights.dir_ = path;
  weights.files_.reserve(files.size());
  for (TensorFile& file : files) SHORTLIST_RETURN_IF_ERROR(weights.AddFile(std::move(file)));
  return weights;
}

absl::Status WeightFiles::Split(const std::string& name, std::span<const Rows> parts) {
  const Location whole = tensors_.at(name);
  const std::string& path = files_[whole.file].path();
  if (!whole.entry->strides.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(path, ": tensor ", Quote(name), " is stored with strides, not row by row"));
  }
  int64_t first = 0;
  for (const Rows& part : parts) {
    parts_.push_back(RowsOf(*whole.entry, first, part.num_rows));
    first += part.num_rows;
    if (!tensors_.emplace(part.name, Location{whole.file, &parts_.back()}).second) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": tensor ", Quote(part.name),
                                                     " is also a part of tensor ", Quote(name)));
    }
  }
  tensors_.erase(name);
  return absl::OkStatus();
}

absl::StatusOr<WeightFiles> WeightFiles::Open(const std::string& dir) {
  WeightFiles weights;
  weights.dir_ = dir;
  struct Format {
    const char* name;
    OpenFile open;
  };
  for (const auto& [name, open] :
       {Format{"model.safetensors", OpenSafetensors}, Format{"pytorch_model.bin", OpenTorchFile}}) {
    const std::string single = absl::StrCat(dir, "/", name);
    const std::string index = absl::StrCat(single, ".index.json");
    if (FileExists(single)) {
      SHORTLIST_RETURN_IF_ERROR(weights.AddFile(open(single)));
      return weights;
    }
    if (FileExists(index)) {
      SHORTLIST_RETURN_IF_ERROR(weights.AddShards(index, open));
      return weights;
    }
  }
  return absl::NotFoundError(absl::StrCat(
      dir,
      ": no weights: neither model.safetensors nor pytorch_model.bin, nor an index of either "
      "(*.index.json)"));
}

}  // namespace shortlist
