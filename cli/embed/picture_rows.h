#ifndef SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_
#define SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_

#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "cli/embed/text_rows.h"

namespace shortlist {

/// Lists the pictures in a folder, not in its subfolders: paths of files named like JPEG, PNG or
/// WebP, sorted by name. Other entries, and those with such a name that are not files or not
/// readable, are skipped with notes on standard error. InvalidArgument if there is no picture or a
/// name is not UTF-8; Unavailable if the system cannot list the folder.
absl::StatusOr<TextRows> ListPictures(const std::string& folder);

/// ListPictures if --in is a folder, else ReadTextRows.
absl::StatusOr<TextRows> ReadRows(const TextInputFlags& flags, BlankLines blank_lines,
                                  std::istream& in);

/// Hash of a picture's bytes, to detect that it was replaced; "unreadable" if it cannot be read,
/// which is reported when it is embedded.
std::string PictureHash(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_
