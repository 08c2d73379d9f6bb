#ifndef SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_
#define SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_

#include <istream>
#include <string>

#include "absl/status/statusor.h"
#include "cli/embed/text_rows.h"

namespace shortlist {

/// The pictures in a folder, not in those below it: paths of files whose names end as JPEG, PNG and
/// WebP files' do, in the order of their names. What is called so and is not a file, or may not be
/// read, is left out, with a note on standard error. InvalidArgument where there is none, or one's
/// name is not UTF-8; Unavailable where the system refuses to list it.
absl::StatusOr<TextRows> ListPictures(const std::string& folder);

/// ListPictures where --in is a folder, else ReadTextRows.
absl::StatusOr<TextRows> ReadRows(const TextInputFlags& flags, BlankLines blank_lines,
                                  std::istream& in);

/// What tells a file from what stood there before: its size and when it was last written.
std::string FileStamp(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_PICTURE_ROWS_H_
