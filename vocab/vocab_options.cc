#include "vocab/vocab_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "vocab/base_ladder.h"

namespace shortlist {
namespace {

constexpr const char* kVocabFlag =
    "full, empty, ratio:R or FILE[:top=N|:ratio=R|:coverage=C|:auto[=MIN..MAX]][:successors=M]";

absl::Status CheckShare(const char* name, double value) {
  // Written so that NaN fails.
  if (value > 0 && value <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " not in (0, 1]"));
}

template <typename T>
absl::StatusOr<T> ParseNumber(const char* name, std::string_view text) {
  T value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = stop == text.data() + text.size() && error == std::errc();
  if (is_number) return value;
  return absl::InvalidArgumentError(absl::StrCat(
      name, " \"", std::string(text.substr(0, 40)),
      std::is_integral_v<T> ? "\" is not an integer below 2^63" : "\" is not a number"));
}

/// `asked`: the option that asks for these rows, for errors.
absl::StatusOr<std::vector<TokenId>> TakeFirst(const VocabList& list, int64_t num_rows,
                                               const std::string& asked) {
  if (!list.ranked) {
    return absl::InvalidArgumentError(
        absl::StrCat(asked, " takes the best ids, and its ids have no ranks"));
  }
  std::vector<TokenId> taken = list.PinnedFirst();
  if (num_rows < std::ssize(list.pinned)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its ", list.pinned.size(), " pinned ids are more than the ", num_rows, " asked for"));
  }
  if (num_rows > std::ssize(taken)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it holds ", taken.size(), " ids, fewer than the ", num_rows, " asked for"));
  }
  taken.resize(num_rows);
  return taken;
}

absl::StatusOr<std::vector<TokenId>> TakeCoverage(const VocabList& list, double coverage) {
  if (!list.ranked || list.counts.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("coverage ", coverage, " needs counts, and it holds none"));
  }
  const double all = std::accumulate(list.counts.begin(), list.counts.end(), 0.0);
  if (all == 0) return absl::InvalidArgumentError("coverage of counts that are all 0");
  std::vector<double> count_of(list.vocab_size);
  for (size_t i = 0; i < list.ids.size(); ++i) {
    count_of[Raw(list.ids[i])] = static_cast<double>(list.counts[i]);
  }

  std::vector<TokenId> taken = list.PinnedFirst();
  double covered = 0;
  size_t num_taken = 0;
  while (num_taken < taken.size() && (num_taken < list.pinned.size() || covered / all < coverage)) {
    covered += count_of[Raw(taken[num_taken++])];
  }
  taken.resize(num_taken);
  return taken;
}

/// Returns floor(ratio * vocab_size); InvalidArgument if it is below 1.
absl::StatusOr<int64_t> NumRows(const char* name, double ratio, int64_t vocab_size) {
  const int64_t num_rows = static_cast<int64_t>(std::floor(ratio * vocab_size));
  if (num_rows > 0) return num_rows;
  return absl::InvalidArgumentError(
      absl::StrCat(name, " ", ratio, " of ", vocab_size, " ids comes to none"));
}

absl::StatusOr<std::vector<TokenId>> TakeFromList(const VocabOptions& options,
                                                  const VocabList& list) {
  if (options.top_n.has_value()) {
    if (*options.top_n > list.vocab_size) {
      return absl::InvalidArgumentError(
          absl::StrCat("top_n ", *options.top_n, " not in [1, ", list.vocab_size, "]"));
    }
    return TakeFirst(list, *options.top_n, absl::StrCat("top_n ", *options.top_n));
  }
  if (options.ratio.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t num_rows,
                               NumRows("ratio", *options.ratio, list.vocab_size));
    return TakeFirst(list, num_rows, absl::StrCat("ratio ", *options.ratio));
  }
  if (options.coverage.has_value()) return TakeCoverage(list, *options.coverage);
  return list.PinnedFirst();
}

absl::Status CheckRows(const VocabOptions& options, const VocabBase& base,
                       const VocabTarget& target) {
  const std::string origin = options.custom_vocab_path.empty()
                                 ? absl::StrCat("static_vocab_ratio ", options.static_vocab_ratio)
                                 : options.custom_vocab_path;
  if (target.head_rows != nullptr && base.size() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        origin, ": none of its tokens has a row in the draft's head, which has rows for ",
        target.head_rows->size(), " of ", target.head_rows->vocab_size(), " tokens"));
  }
  if (target.num_rows == 0 || base.largest_id() < target.num_rows) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(origin, ": token id ", base.largest_id(),
                                                    " has no row in the draft's head, which has ",
                                                    target.num_rows, ": take fewer ids"));
}

}  // namespace

absl::Status VocabOptions::Validate() const {
  if (!use_static_vocab || empty) return absl::OkStatus();
  const int num_choices =
      top_n.has_value() + ratio.has_value() + coverage.has_value() + (auto_size ? 1 : 0);
  if (num_choices > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(num_choices, " of top_n, ratio, coverage and auto are set, at most 1 may be"));
  }
  if (custom_vocab_path.empty() && (num_choices > 0 || successors.has_value())) {
    return absl::InvalidArgumentError(
        "top_n, ratio, coverage, auto and successors choose from a list, and custom_vocab_path is "
        "empty");
  }
  if (custom_vocab_path.empty()) return CheckShare("static_vocab_ratio", static_vocab_ratio);
  if (top_n.has_value() && *top_n < 1) {
    return absl::InvalidArgumentError(absl::StrCat("top_n ", *top_n, " not in [1, vocab_size]"));
  }
  if (min_rows.has_value() && (*min_rows < 1 || max_rows.value_or(*min_rows) < *min_rows)) {
    return absl::InvalidArgumentError(absl::StrCat("auto from ", *min_rows, " to ",
                                                   max_rows.value_or(*min_rows),
                                                   " rows: not 1 <= MIN <= MAX"));
  }
  if (successors.has_value() && *successors < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("successors ", *successors, " not in [1, vocab_size]"));
  }
  if (ratio.has_value()) return CheckShare("ratio", *ratio);
  if (coverage.has_value()) return CheckShare("coverage", *coverage);
  return absl::OkStatus();
}

namespace {

/// Parses `auto` or `auto=MIN..MAX`; returns false if `text` is neither.
absl::StatusOr<bool> ParseAuto(std::string_view text, VocabOptions& options) {
  constexpr std::string_view kAuto = "auto", kTo = "..";
  if (text != kAuto && !text.starts_with("auto=")) return false;
  if (std::exchange(options.auto_size, true)) {
    return absl::InvalidArgumentError("auto is there twice");
  }
  if (text == kAuto) return true;
  text.remove_prefix(kAuto.size() + 1);
  const size_t to = text.find(kTo);
  if (to == std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("auto \"", std::string(text.substr(0, 40)),
                                                   "\" is not MIN..MAX, two numbers of rows"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(options.min_rows, ParseNumber<int64_t>("auto", text.substr(0, to)));
  SHORTLIST_ASSIGN_OR_RETURN(options.max_rows,
                             ParseNumber<int64_t>("auto", text.substr(to + kTo.size())));
  return true;
}

/// Parses `auto` or NAME=VALUE into `options`; returns false if `text` is no option of a list.
absl::StatusOr<bool> ParseListOption(std::string_view text, VocabOptions& options) {
  SHORTLIST_ASSIGN_OR_RETURN(const bool is_auto, ParseAuto(text, options));
  if (is_auto) return true;
  const size_t end = text.find('=');
  if (end == std::string_view::npos) return false;
  const std::string_view name = text.substr(0, end), value = text.substr(end + 1);
  const auto parse = [&](const char* known, auto& field) -> absl::StatusOr<bool> {
    if (name != known) return false;
    if (field.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(known, " is there twice"));
    }
    using Number = typename std::decay_t<decltype(field)>::value_type;
    SHORTLIST_ASSIGN_OR_RETURN(field, ParseNumber<Number>(known, value));
    return true;
  };
  for (const auto& [known, field] :
       {std::pair("top", &options.top_n), std::pair("successors", &options.successors)}) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_it, parse(known, *field));
    if (is_it) return true;
  }
  for (const auto& [known, field] :
       {std::pair("ratio", &options.ratio), std::pair("coverage", &options.coverage)}) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_it, parse(known, *field));
    if (is_it) return true;
  }
  return false;
}

/// InvalidArgument if `name` is no file, but its part before a colon is one: the option is
/// misspelt.
absl::Status CheckNoOption(std::string_view name) {
  std::error_code absent;
  if (std::filesystem::exists(name, absent)) return absl::OkStatus();
  for (size_t colon = name.find(':'); colon != std::string_view::npos;
       colon = name.find(':', colon + 1)) {
    const std::string file(name.substr(0, colon));
    if (!std::filesystem::is_regular_file(file, absent)) continue;
    const std::string_view option = name.substr(name.rfind(':') + 1);  // the last one: it was tried
    return absl::InvalidArgumentError(absl::StrCat("\"", Excerpt(option), "\" is no option of ",
                                                   Excerpt(file), "; ", kVocabFlag));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VocabOptions> ParseVocabFlag(const std::string& flag) {
  VocabOptions options;
  if (flag == "full") return options;
  options.use_static_vocab = true;
  options.empty = flag == "empty";
  if (options.empty) return options;

  constexpr std::string_view kRatio = "ratio:";
  std::string_view rest = flag;
  if (rest.starts_with(kRatio)) {
    rest.remove_prefix(kRatio.size());
    SHORTLIST_ASSIGN_OR_RETURN(options.static_vocab_ratio, ParseNumber<double>("ratio", rest));
    SHORTLIST_RETURN_IF_ERROR(CheckShare("ratio", options.static_vocab_ratio));
    return options;
  }

  // Parses options from the last one on; the rest is the file's name.
  while (true) {
    const size_t colon = rest.rfind(':');
    if (colon == std::string_view::npos) break;
    SHORTLIST_ASSIGN_OR_RETURN(const bool is_option,
                               ParseListOption(rest.substr(colon + 1), options));
    if (!is_option) break;
    rest = rest.substr(0, colon);
  }
  if (rest.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", Excerpt(flag), "\" names no file; ", kVocabFlag));
  }
  SHORTLIST_RETURN_IF_ERROR(CheckNoOption(rest));
  options.custom_vocab_path = rest;
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  return options;
}

absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabTarget& target) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  if (!options.use_static_vocab) return VocabBase::FullHead(target.vocab_size, target.head_rows);
  if (constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
      target.vocab_size < 1 || target.vocab_size > kMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("vocab_size ", target.vocab_size, " not in [1, ", kMax, "]"));
  }

  const auto create = [&target](std::span<const TokenId> ids) {
    return VocabBase::Create(ids, target.vocab_size, /*successors=*/{}, /*max_successors=*/0,
                             target.head_rows);
  };
  if (options.empty) return create({});
  SHORTLIST_CHECK(!options.names_list());
  SHORTLIST_ASSIGN_OR_RETURN(
      const int64_t num_rows,
      NumRows("static_vocab_ratio", options.static_vocab_ratio, target.vocab_size));
  std::vector<TokenId> ids;
  for (int32_t id = 0; id < num_rows; ++id) ids.push_back(TokenId{id});
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> base, create(ids));
  SHORTLIST_RETURN_IF_ERROR(CheckRows(options, *base, target));
  return base;
}

absl::StatusOr<std::shared_ptr<const VocabBase>> SelectVocabBase(const VocabOptions& options,
                                                                 const VocabList& list,
                                                                 const VocabTarget& target) {
  SHORTLIST_RETURN_IF_ERROR(options.Validate());
  if (options.auto_size) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::shared_ptr<const BaseLadder> ladder,
                               BaseLadder::Create(options, list, target));
    return ladder->Base(ladder->start());
  }
  const absl::StatusOr<std::vector<TokenId>> taken = TakeFromList(options, list);
  if (!taken.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.custom_vocab_path, ": ", std::string(taken.status().message())));
  }
  const int64_t max_successors = options.successors.value_or(0);
  if (max_successors > 0 && list.successors.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(options.custom_vocab_path,
                                                   ": it holds no successors, and ", max_successors,
                                                   " of a token are asked for"));
  }
  if (max_successors > list.vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("successors ", max_successors, " not in [1, ", list.vocab_size, "]"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> base,
                             VocabBase::Create(*taken, list.vocab_size, list.successors,
                                               max_successors, target.head_rows));
  SHORTLIST_RETURN_IF_ERROR(CheckRows(options, *base, target));
  return base;
}

}  // namespace shortlist
