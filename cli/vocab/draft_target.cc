#include "cli/vocab/draft_target.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "cli/warnings.h"
#include "nlohmann/json.hpp"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// The ids of `eos_token_id`: one or a list.
void AddEndIds(const json& object, int64_t vocab_size, std::vector<TokenId>& ids) {
  const auto member = object.find("eos_token_id");
  if (member == object.end()) return;
  for (const json& id : member->is_array() ? *member : json::array({*member})) {
    if (!id.is_number_integer()) continue;
    const auto value = id.get<int64_t>();
    if (value < 0 || value >= vocab_size) continue;
    ids.push_back(TokenId{static_cast<int32_t>(value)});
  }
}

/// `vocab_size` of a text model, or of the text model in it; nullopt if there is none.
std::optional<int64_t> VocabSize(const json& config) {
  for (const char* const part : {"", "text_config", "llm_config"}) {
    const json& object = *part == '\0' ? config : config.value(part, json::object());
    const auto size = object.is_object() ? object.find("vocab_size") : object.end();
    if (size == object.end() || !size->is_number_integer()) continue;
    const auto value = size->get<int64_t>();
    if (value > 0 && value <= VocabList::kMaxVocabSize) return value;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<DraftTarget> DraftTarget::Open(const std::string& model) {
  SHORTLIST_ASSIGN_OR_RETURN(ModelSource source, ModelSource::Open(model));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(source));
  PrintTokenizerWarnings(source.path(), *tokenizer);
  SHORTLIST_ASSIGN_OR_RETURN(const auto config, source.ReadObject("config.json"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto generation, source.ReadObject("generation_config.json"));
  int64_t vocab_size = tokenizer->size();
  if (config.has_value()) vocab_size = VocabSize(*config).value_or(vocab_size);
  std::vector<TokenId> end_ids;
  if (tokenizer->eos().has_value() && Raw(*tokenizer->eos()) < vocab_size) {
    end_ids.push_back(*tokenizer->eos());
  }
  if (config.has_value()) AddEndIds(*config, vocab_size, end_ids);
  if (generation.has_value()) AddEndIds(*generation, vocab_size, end_ids);
  std::ranges::sort(end_ids);
  end_ids.erase(std::ranges::unique(end_ids).begin(), end_ids.end());
  absl::StatusOr<WeightFiles> weights = source.OpenWeights();
  if (absl::IsNotFound(weights.status())) weights = WeightFiles::Of(source.path(), {});
  SHORTLIST_RETURN_IF_ERROR(weights.status());
  ListTokenizer list_tokenizer(std::move(tokenizer), vocab_size);
  return DraftTarget{std::move(source), std::move(list_tokenizer), std::move(end_ids),
                     *std::move(weights)};
}

}  // namespace shortlist
