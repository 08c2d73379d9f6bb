#ifndef SHORTLIST_TESTS_EMBED_MODEL_DIR_H_
#define SHORTLIST_TESTS_EMBED_MODEL_DIR_H_

#include <map>
#include <string>

#include "nlohmann/json.hpp"
#include "tests/support/temp_dir.h"

namespace shortlist {

/// The JSON files of a model directory, by relative path. Write() writes them; Change() changes one
/// member first.
class ModelDir {
 public:
  explicit ModelDir(std::map<std::string, nlohmann::json> files) : files_(std::move(files)) {}

  /// Sets what `pointer` (RFC 6901) names in `file` to `value`, JSON text; null removes it.
  /// "" names the whole: `value` may be any text then, and null removes the file.
  void Change(const std::string& file, const std::string& pointer, const char* value);

  /// Writes all files; returns the directory.
  const std::string& Write();
  const TempDir& dir() const { return dir_; }

 private:
  std::map<std::string, nlohmann::json> files_;
  std::map<std::string, std::string> texts_;  // in place of a file's JSON
  TempDir dir_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_EMBED_MODEL_DIR_H_
