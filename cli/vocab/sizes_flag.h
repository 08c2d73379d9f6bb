#ifndef SHORTLIST_CLI_VOCAB_SIZES_FLAG_H_
#define SHORTLIST_CLI_VOCAB_SIZES_FLAG_H_

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/flags/flag_kinds.h"

namespace shortlist {

/// Adds --sizes: how many ids are taken from a list, one or several numbers. Parsing fills `sizes`,
/// which must outlive `command`.
inline void AddSizesFlag(CLI::App& command, std::vector<int64_t>& sizes) {
  constexpr int64_t kMaxSizes = 64;
  const auto parse = [&sizes](const std::string& given) {
    sizes.clear();
    for (const std::string& text : CLI::detail::split(given, ',')) {
      const std::optional<int64_t> size = ParseNumber<int64_t>(text);
      if (!size || *size < 1 || *size > kMaxCount) {
        RefuseFlag("--sizes", text, absl::StrCat("[1, ", kMaxCount, "]"));
      }
      sizes.push_back(*size);
    }
    if (std::ssize(sizes) > kMaxSizes) {
      RefuseFlag("--sizes", given, absl::StrCat("at most ", kMaxSizes, " sizes"));
    }
  };
  command
      .add_option_function<std::string>(
          "--sizes", parse, "How many ids are taken of each list, several sizes in turn")
      ->type_name("N,N,...");
}

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_SIZES_FLAG_H_
