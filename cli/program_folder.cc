#include "cli/program_folder.h"

#include <system_error>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::StatusOr<std::filesystem::path> FindAtOrAboveProgram(const std::string& relative) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return absl::UnavailableError("cannot determine where the executable lies");
  for (std::filesystem::path dir = program.parent_path();; dir = dir.parent_path()) {
    if (std::filesystem::exists(dir / relative, error)) return dir;
    if (!dir.has_relative_path()) break;
  }
  return absl::NotFoundError(
      absl::StrCat("no ", relative, " at or above ", program.parent_path().string()));
}

}  // namespace shortlist
