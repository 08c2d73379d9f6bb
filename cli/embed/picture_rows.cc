#include "cli/embed/picture_rows.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "cli/embed/xxh64.h"
#include "io/quote.h"
#include "io/raw_file.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

bool IsPicture(const std::string& name) {
  constexpr std::array kEndings = {".jpg", ".jpeg", ".png", ".webp"};
  return std::ranges::any_of(
      kEndings, [&name](const char* ending) { return absl::EndsWithIgnoreCase(name, ending); });
}

/// Returns why the entry must not be opened (opening a pipe would block); null if it may be.
const char* Problem(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (!entry.is_regular_file(ignored)) return "not a file";
  return access(entry.path().c_str(), R_OK) == 0 ? nullptr : "may not be read";
}

}  // namespace

absl::StatusOr<TextRows> ListPictures(const std::string& folder) {
  std::vector<std::string> paths;
  std::string other;  // an entry that is not named like a picture
  int num_other = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!IsPicture(it->path().filename())) {
      if (++num_other == 1) other = it->path().filename();
      continue;
    }
    if (const char* const problem = Problem(*it); problem != nullptr) {
      std::cerr << "note: " << Quote(it->path().string()) << ": " << problem << ", left out\n";
    } else {
      paths.push_back(it->path());
    }
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": holds no .jpg, .jpeg, .png or .webp file"));
  }
  if (num_other > 0) {
    std::cerr << "note: " << Quote(folder) << ": " << num_other
              << " of its entries left out, such as " << Quote(other)
              << ": only files named .jpg, .jpeg, .png or .webp are read, and no folders\n";
  }
  std::ranges::sort(paths);
  TextRows rows{.origin = folder, .rows = {}, .are_pictures = true};
  for (std::string& path : paths) {
    if (FindInvalidUtf8(path)) {
      return absl::InvalidArgumentError(absl::StrCat(Quote(path), ": the name is not valid UTF-8"));
    }
    rows.rows.push_back({std::move(path), std::ssize(rows.rows) + 1});
  }
  return rows;
}

absl::StatusOr<TextRows> ReadRows(const TextInputFlags& flags, BlankLines blank_lines,
                                  std::istream& in) {
  std::error_code ignored;
  if (!flags.path.empty() && fs::is_directory(flags.path, ignored)) return ListPictures(flags.path);
  return ReadTextRows(flags, blank_lines, in);
}

std::string PictureHash(const std::string& path) {
  const auto file = RawFile::Open(path);
  const absl::StatusOr<std::string> hash =
      file.ok() ? Xxh64Of(*file) : absl::StatusOr<std::string>(file.status());
  return hash.ok() ? *hash : "unreadable";
}

}  // namespace shortlist
