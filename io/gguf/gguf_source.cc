#include "io/gguf/gguf_source.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/gguf_model.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxParts = 1000;
constexpr int64_t kMaxRopeFactors = 1 << 16;

class GgufFiles final : public SourceFiles {
 public:
  struct Part {
    RawFile file;
    std::map<std::string, TensorEntry> tensors;
  };

  GgufFiles(std::string path, std::map<std::string, std::string> documents, std::vector<Part> parts)
      : path_(std::move(path)), documents_(std::move(documents)), parts_(std::move(parts)) {}

  std::string PathOf(const std::string& name) const override {
    // Its metadata stand for the files of a Hugging Face directory.
    return name.empty() ? path_ : absl::StrCat(path_, " (as ", name, ")");
  }

  bool Contains(const std::string& name) const override { return documents_.contains(name); }

  absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const override {
    const auto found = documents_.find(name);
    if (found == documents_.end()) {
      return absl::NotFoundError(absl::StrCat(path_, ": a GGUF file has no ", name));
    }
    if (std::ssize(found->second) > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(PathOf(name), " has ", found->second.size(),
                                                     " bytes, more than ", max_bytes));
    }
    return found->second;
  }

  std::vector<std::string> List(const std::string& folder) const override {
    std::vector<std::string> names;
    if (!folder.empty()) return names;
    for (const auto& [name, document] : documents_) names.push_back(name);
    return names;
  }

  bool Encloses(const std::string&) const override { return true; }

  absl::StatusOr<WeightFiles> OpenWeights(const std::string& folder) const override {
    if (!folder.empty()) return absl::NotFoundError(absl::StrCat(PathOf(folder), ": no weights"));
    std::vector<TensorFile> files;
    files.reserve(parts_.size());
    for (const Part& part : parts_) files.emplace_back(part.file, part.tensors);
    return WeightFiles::Of(path_, std::move(files));
  }

  absl::Status CheckUnchanged() const override {
    for (const Part& part : parts_) {
      if (VersionOf(part.file.path()) == part.file.version()) continue;
      return absl::UnavailableError(
          absl::StrCat(part.file.path(), " has changed since it was opened; load it again"));
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const std::map<std::string, std::string> documents_;
  const std::vector<Part> parts_;
};

/// The file name of part `number` of `count`, counted from 0, given that of the first; empty if
/// `first` is not the name of a first part.
std::string PartName(const std::string& first, int64_t number, int64_t count) {
  const std::string ending = absl::StrFormat("-00001-of-%05d.gguf", count);
  if (!first.ends_with(ending)) return "";
  return absl::StrCat(first.substr(0, first.size() - ending.size()),
                      absl::StrFormat("-%05d-of-%05d.gguf", number + 1, count));
}

/// Checks that what a further part says of the model is what the first part says.
absl::Status CheckSameModel(const GgufMetadata& first, const GgufMetadata& part) {
  for (const auto& [key, value] : part.values()) {
    if (key == "split.no") continue;
    const auto found = first.values().find(key);
    if (found == first.values().end()) return part.Invalid(key, "not in the first part");
    if (found->second != value) return part.Invalid(key, "differs from the first part's");
  }
  return absl::OkStatus();
}

/// Opens the other files of a model in `count` parts.
absl::StatusOr<std::vector<GgufFile>> OpenParts(const std::string& path, const GgufMetadata& first,
                                                int64_t count) {
  std::vector<GgufFile> parts;
  for (int64_t number = 1; number < count; ++number) {
    const std::string name = PartName(path, number, count);
    if (name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the first of ", count, " parts, whose name must end in ",
                       absl::StrFormat("-00001-of-%05d.gguf", count)));
    }
    SHORTLIST_ASSIGN_OR_RETURN(GgufFile part, GgufFile::Open(name));
    SHORTLIST_ASSIGN_OR_RETURN(const auto own_count,
                               part.metadata.Int("split.count", 1, kMaxParts));
    SHORTLIST_ASSIGN_OR_RETURN(const auto own_number, part.metadata.Int("split.no", 0, kMaxParts));
    if (own_count != count || own_number != number) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": says it is part ", own_number.value_or(-1) + 1, " of ",
                       own_count.value_or(0), ", not ", number + 1, " of ", count));
    }
    SHORTLIST_RETURN_IF_ERROR(CheckSameModel(first, part.metadata));
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Names the file in an error that does not name one yet; those of GgufMetadata and GgufFile do.
absl::Status Named(const std::string& path, const absl::Status& status) {
  const bool names_file = std::string(status.message()).find(".gguf") != std::string::npos;
  return names_file ? status : WithPath(path, status);
}

/// The values of rope_freqs.weight; none in most models.
absl::StatusOr<std::vector<float>> ReadRopeFactors(const std::vector<GgufFile>& files) {
  std::vector<float> factors;
  for (const GgufFile& file : files) {
    const auto found = file.tensors.find(kRopeFactors);
    if (found == file.tensors.end()) continue;
    if (!factors.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.file.path(), ": tensor ", kRopeFactors, " is in an earlier part too"));
    }
    const TensorEntry& entry = found->second;
    if (entry.dtype != DType::kF32 || entry.shape.size() != 1 || entry.shape[0] > kMaxRopeFactors) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.file.path(), ": tensor ", kRopeFactors, " is ", entry.dtype_name, " ",
          ShapeString(entry.shape), ", not a list of at most ", kMaxRopeFactors, " F32 numbers"));
    }
    factors.resize(static_cast<size_t>(entry.shape[0]));
    SHORTLIST_RETURN_IF_ERROR(file.file.Read(entry.offset,
                                             entry.shape[0] * static_cast<int64_t>(sizeof(float)),
                                             reinterpret_cast<char*>(factors.data())));
  }
  return factors;
}

absl::StatusOr<std::shared_ptr<const SourceFiles>> Assemble(const std::string& path,
                                                            GgufFile first) {
  const GgufMetadata metadata = std::move(first.metadata);
  SHORTLIST_ASSIGN_OR_RETURN(const auto count, metadata.Int("split.count", 1, kMaxParts));
  SHORTLIST_ASSIGN_OR_RETURN(const auto number, metadata.Int("split.no", 0, kMaxParts));
  if (number.value_or(0) != 0) {
    return metadata.Invalid("split.no", absl::StrCat("this is part ", *number + 1,
                                                     "; open the first, ...-00001-of-..."));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<GgufFile> files,
                             OpenParts(path, metadata, count.value_or(1)));
  files.insert(files.begin(), std::move(first));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<float> factors, ReadRopeFactors(files));
  std::vector<GgufFiles::Part> parts;
  std::map<std::string, TensorEntry> all;
  int64_t num_tensors = 0;
  for (GgufFile& file : files) {
    absl::StatusOr<std::map<std::string, TensorEntry>> tensors = GgufTensors(metadata, file);
    if (!tensors.ok()) return Named(file.file.path(), tensors.status());
    num_tensors += std::ssize(file.tensors);
    all.insert(tensors->begin(), tensors->end());
    parts.push_back({std::move(file.file), *std::move(tensors)});
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto promised,
                             metadata.Int("split.tensors.count", 0, INT64_MAX));
  if (promised && *promised != num_tensors) {
    return metadata.Invalid("split.tensors.count",
                            absl::StrCat(*promised, ", but the parts have ", num_tensors));
  }
  SHORTLIST_ASSIGN_OR_RETURN(auto documents, GgufDocuments(metadata, all, factors));
  return std::make_shared<const GgufFiles>(path, std::move(documents), std::move(parts));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SourceFiles>> OpenGguf(const std::string& path) {
  SHORTLIST_ASSIGN_OR_RETURN(GgufFile first, GgufFile::Open(path));
  auto source = Assemble(path, std::move(first));
  if (!source.ok()) return Named(path, source.status());
  return source;
}

}  // namespace shortlist
