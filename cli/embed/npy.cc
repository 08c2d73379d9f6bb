#include "cli/embed/npy.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "embed/hidden_states.h"
#include "io/npy.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {

std::string NpyHeader(int64_t num_rows, int64_t width) {
  const int64_t shape[] = {num_rows, width};
  return NpyHeaderOf("<f4", shape);
}

absl::StatusOr<std::vector<float>> ReadNpy(const std::string& path, int64_t num_rows,
                                           int64_t width) {
  const std::string header = NpyHeader(num_rows, width);
  const int64_t num_bytes = num_rows * width * static_cast<int64_t>(sizeof(float));
  const int64_t want = std::ssize(header) + num_bytes;
  SHORTLIST_ASSIGN_OR_RETURN(const std::string contents, ReadFile(path, want));
  if (!contents.starts_with(header)) {
    const std::string found = contents.substr(0, header.size());
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": begins with ", Quote(found.substr(0, found.find_last_not_of(" \n") + 1)),
        ", not as an .npy file of f32, [", num_rows, ", ", width, "], does"));
  }
  if (std::ssize(contents) != want) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": has ", contents.size(), " bytes, not ", want));
  }
  std::vector<float> values(num_rows * width);
  std::memcpy(values.data(), contents.data() + header.size(), num_bytes);
  if (const auto place = FindNotFinite(values)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": row ", *place / width, " holds ", values[*place]));
  }
  return values;
}

}  // namespace shortlist
