#include "tests/support/temp_dir.h"

#include <cstdlib>
#include <filesystem>

#include "base/check.h"
#include "base/file.h"

namespace shortlist {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "shortlist_test_XXXXXX").string();
  SHORTLIST_CHECK(mkdtemp(pattern.data()) != nullptr);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::Join(const std::string& name) const { return path_ + "/" + name; }

std::string TempDir::Write(const std::string& name, const std::string& contents) const {
  const std::string path = Join(name);
  SHORTLIST_CHECK(WriteFileAtomically(path, contents).ok());
  return path;
}

std::string SourcePath(const std::string& relative) {
  return (std::filesystem::path(SHORTLIST_SOURCE_DIR) / relative).string();
}

std::optional<std::string> FindSharedData(const std::string& relative) {
  const char* const configured = std::getenv("SHORTLIST_SHARED_DATA");
  const std::filesystem::path root = configured != nullptr
                                         ? std::filesystem::path(configured)
                                         : std::filesystem::path(SourcePath("../shared/data"));
  const std::filesystem::path path = root / relative;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path.string();
}

}  // namespace shortlist
