#ifndef SHORTLIST_TESTS_SUPPORT_MEMORY_FILES_H_
#define SHORTLIST_TESTS_SUPPORT_MEMORY_FILES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/model_source.h"

namespace shortlist {

/// A model's files in memory, without weights: name -> contents.
class MemoryFiles final : public SourceFiles {
 public:
  explicit MemoryFiles(std::map<std::string, std::string> files) : files_(std::move(files)) {}

  static ModelSource Source(std::map<std::string, std::string> files) {
    return ModelSource(std::make_shared<MemoryFiles>(std::move(files)));
  }

  std::string PathOf(const std::string& name) const override { return "memory/" + name; }
  bool Contains(const std::string& name) const override { return files_.contains(name); }

  absl::StatusOr<std::string> Read(const std::string& name, int64_t max_bytes) const override {
    const auto file = files_.find(name);
    if (file == files_.end()) return absl::NotFoundError(PathOf(name));
    if (std::ssize(file->second) > max_bytes) return absl::InvalidArgumentError(PathOf(name));
    return file->second;
  }

  std::vector<std::string> List(const std::string& folder) const override {
    const std::string prefix = folder.empty() ? "" : folder + "/";
    std::vector<std::string> names;
    for (const auto& [name, contents] : files_) {
      const bool is_inside = name.starts_with(prefix);
      if (is_inside && name.find('/', prefix.size()) == std::string::npos) {
        names.push_back(name.substr(prefix.size()));
      }
    }
    return names;
  }

  bool Encloses(const std::string&) const override { return true; }
  absl::StatusOr<WeightFiles> OpenWeights(const std::string& folder) const override {
    return absl::NotFoundError(PathOf(folder));
  }
  absl::Status CheckUnchanged() const override { return absl::OkStatus(); }

 private:
  const std::map<std::string, std::string> files_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_MEMORY_FILES_H_
