#ifndef SHORTLIST_IO_NEW_FOLDER_H_
#define SHORTLIST_IO_NEW_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shortlist {

/// A folder that gets its name once its files are complete. Until then it is NAME.tmp.RANDOM in the
/// same folder, and is removed with all it holds unless it is committed; a killed process leaves
/// it.
class NewFolder {
 public:
  /// Makes the folder. InvalidArgument if `path` exists, unless it is an empty folder, or names
  /// none; Unavailable names the path and the system's reason.
  static absl::StatusOr<NewFolder> Create(const std::string& path);
  NewFolder(NewFolder&& other) noexcept;
  ~NewFolder();

  const std::string& path() const { return path_; }  // final
  /// The path of a file of the folder, before Commit().
  std::string Join(const std::string& name) const { return temporary_ + "/" + name; }

  /// Gives the folder its name, and brings it to the disk. Unavailable names the path and the
  /// system's reason: another folder of that name now exists, for one.
  absl::Status Commit();

 private:
  NewFolder(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;  // empty: committed or moved
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_NEW_FOLDER_H_
