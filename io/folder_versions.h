#ifndef SHORTLIST_IO_FOLDER_VERSIONS_H_
#define SHORTLIST_IO_FOLDER_VERSIONS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"

namespace shortlist {

/// The versions of a model's files. A model is read from several files in turn. If its directory is
/// replaced meanwhile, each file is whole, but they belong to two models; so each file that is read
/// is compared too, as the directory may be replaced and put back. Immutable.
class FolderVersions {
 public:
  /// Reads the versions of the files in `dir`, and in its folders, that have the file name endings
  /// of configurations, tokenizers, templates and weights. Skips unreadable files: the code that
  /// reads the model reports them.
  static FolderVersions Of(const std::string& dir);

  /// Returns Unavailable, naming the file, if one was written, replaced, added or removed since.
  absl::Status CheckUnchanged() const;
  /// Returns Unavailable if `path`, which was read in `version`, is one of these files and had
  /// another version.
  absl::Status Check(const std::string& path, const FileVersion& version) const;

 private:
  std::string dir_;
  std::map<std::string, FileVersion> files_;  // by path
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_FOLDER_VERSIONS_H_
