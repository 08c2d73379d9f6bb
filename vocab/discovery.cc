#include "vocab/discovery.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxBudget = 1 << 20;

/// What a member of Discovered holds, as it is.
class AsTold final : public DiscoverySource {
 public:
  AsTold(RowSource source, std::span<const TokenId> Discovered::*ids)
      : source_(source), ids_(ids) {}

  RowSource source() const override { return source_; }
  void Find(const Discovered& news, std::vector<TokenId>& ids) const override {
    ids.insert(ids.end(), (news.*ids_).begin(), (news.*ids_).end());
  }

 private:
  const RowSource source_;
  std::span<const TokenId> Discovered::*const ids_;
};

/// Variants of what the text holds: of tokens that were emitted, and of the prompt's.
class Variants final : public DiscoverySource {
 public:
  explicit Variants(std::shared_ptr<const std::vector<std::vector<TokenId>>> of_token)
      : of_token_(std::move(of_token)) {}

  RowSource source() const override { return RowSource::kVariants; }
  void Find(const Discovered& news, std::vector<TokenId>& ids) const override {
    for (const std::span<const TokenId> tokens : {news.prompt, news.output}) {
      for (const TokenId token : tokens) {
        const std::vector<TokenId>& variants = (*of_token_)[Raw(token)];
        ids.insert(ids.end(), variants.begin(), variants.end());
      }
    }
  }

 private:
  const std::shared_ptr<const std::vector<std::vector<TokenId>>> of_token_;
};

}  // namespace

absl::StatusOr<DiscoveryOptions> ParseDiscoveryFlag(std::string_view flag) {
  DiscoveryOptions options;
  const struct {
    std::string_view name;
    int64_t DiscoveryOptions::*rows;
    int64_t least, most;
  } kSources[] = {{"continuations", &DiscoveryOptions::continuation_rows, 0, kMaxBudget},
                  {"prompt_target", &DiscoveryOptions::prompt_target_rows, 0, 32},
                  {"target", &DiscoveryOptions::target_rows, 0, kMaxBudget},
                  {"variants", &DiscoveryOptions::variant_rows, 0, kMaxBudget},
                  {"top", &DiscoveryOptions::target_top_k, 1, 32}};
  while (true) {
    const std::string_view part = flag.substr(0, flag.find(','));
    const std::string_view name = part.substr(0, part.find('='));
    const auto* const source = std::find_if(std::begin(kSources), std::end(kSources),
                                            [&](const auto& known) { return known.name == name; });
    if (source == std::end(kSources) || name.size() == part.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", std::string(part.substr(0, 40)),
          "\" is not NAME=ROWS with continuations, prompt_target, target, variants or top"));
    }
    const std::string_view text = part.substr(name.size() + 1);
    int64_t& rows = options.*source->rows;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
    const bool is_number = error == std::errc() && stop == text.data() + text.size();
    if (!is_number || rows < source->least || rows > source->most) {
      return absl::InvalidArgumentError(
          absl::StrCat(std::string(name), " \"", std::string(text.substr(0, 40)),
                       "\" not a number in [", source->least, ", ", source->most, "]"));
    }
    if (part.size() == flag.size()) return options;
    flag.remove_prefix(part.size() + 1);
  }
}

Discovery::Discovery(const DiscoveryOptions& options) {
  constexpr int64_t kAll = INT64_MAX;
  if (options.variants != nullptr) {
    Add(std::make_unique<Variants>(options.variants), options.variant_rows);
  }
  const auto told = [this](RowSource source, std::span<const TokenId> Discovered::*ids,
                           int64_t budget) { Add(std::make_unique<AsTold>(source, ids), budget); };
  told(RowSource::kTarget, &Discovered::likely, options.target_rows);
  told(RowSource::kPromptTarget, &Discovered::prompt_likely, options.prompt_target_rows);
  told(RowSource::kContinuations, &Discovered::continuations, options.continuation_rows);
  told(RowSource::kPrefix, &Discovered::prefix, kAll);
  told(RowSource::kPrompt, &Discovered::prompt, kAll);
  told(RowSource::kGiven, &Discovered::given, kAll);
  told(RowSource::kOutput, &Discovered::output, kAll);
  if (options.target_rows > 0) target_top_k_ = options.target_top_k;
  prompt_top_k_ = options.prompt_target_rows;
}

void Discovery::Add(std::unique_ptr<DiscoverySource> source, int64_t budget) {
  if (budget > 0) sources_.push_back({std::move(source), budget});
}

void Discovery::Extend(const Discovered& news, const ActiveVocab& active, RequestTail& tail,
                       CountsBySource& added) const {
  if (tail.capacity() == 0 || active.is_full_head()) return;
  std::vector<TokenId> ids;
  for (const Budgeted& of : sources_) {
    ids.clear();
    of.source->Find(news, ids);
    if (ids.empty()) continue;
    added[Index(of.source->source())] += tail.Add(ids, active, of.source->source(), of.budget);
  }
}

}  // namespace shortlist
