#ifndef SHORTLIST_CLI_PROGRAM_FOLDER_H_
#define SHORTLIST_CLI_PROGRAM_FOLDER_H_

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

namespace shortlist {

/// Returns the nearest folder, at or above that of the running program, that contains a file or
/// folder `relative`. NotFound names what is missing and the program's folder. Unavailable if the
/// system does not report the program's folder.
absl::StatusOr<std::filesystem::path> FindAtOrAboveProgram(const std::string& relative);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_PROGRAM_FOLDER_H_
