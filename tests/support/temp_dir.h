#ifndef SHORTLIST_TESTS_SUPPORT_TEMP_DIR_H_
#define SHORTLIST_TESTS_SUPPORT_TEMP_DIR_H_

#include <optional>
#include <string>

namespace shortlist {

/// A new directory below the system's temporary one, removed with all it holds at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  /// path() + "/" + name; creates nothing.
  std::string Join(const std::string& name) const;
  /// Writes a file and returns its path.
  std::string Write(const std::string& name, const std::string& contents) const;

 private:
  std::string path_;
};

/// `relative` inside the shared data (SHORTLIST_SHARED_DATA, else ../shared/data next to the
/// repository), nullopt when it is absent: the test then skips.
std::optional<std::string> FindSharedData(const std::string& relative);

/// `relative` inside the repository's source tree.
std::string SourcePath(const std::string& relative);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SUPPORT_TEMP_DIR_H_
