#ifndef SHORTLIST_IO_FOLDER_VERSIONS_H_
#define SHORTLIST_IO_FOLDER_VERSIONS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "base/file.h"

namespace shortlist {

/// The versions of a model's files. A model is read from several files, one after the other; if its
/// directory is replaced meanwhile, each file is whole but they are of two models. Immutable.
class FolderVersions {
 public:
  /// Reads the versions of the files in `dir`, and in the folders in it, whose names end as those
  /// of configurations, tokenizers, templates and weights do. What cannot be read is left out:
  /// whoever reads the model reports it.
  static FolderVersions Of(const std::string& dir);

  /// Returns Unavailable, naming the file, if one was written, replaced, added or removed since.
  absl::Status CheckUnchanged() const;

 private:
  std::string dir_;
  std::map<std::string, FileVersion> files_;  // by path
};

}  // namespace shortlist

#endif  // SHORTLIST_IO_FOLDER_VERSIONS_H_
