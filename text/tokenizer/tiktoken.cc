#include "text/tokenizer/tiktoken.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/pipeline_tokenizer.h"
#include "text/tokenizer/split_step.h"
#include "text/tokenizer/words/bpe_model.h"
#include "text/tokenizer_config.h"

namespace shortlist {
namespace {

struct Line {
  std::string token;
  int64_t rank;
};

std::optional<Line> ParseLine(std::string_view text) {
  const size_t space = text.find(' ');
  Line line;
  if (space == std::string_view::npos || space == 0 ||
      !absl::Base64Unescape(absl::string_view(text.data(), space), &line.token) ||
      line.token.empty() ||
      !absl::SimpleAtoi(absl::string_view(text.data() + space + 1, text.size() - space - 1),
                        &line.rank)) {
    return std::nullopt;
  }
  return line;
}

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

absl::StatusOr<Vocabulary> ParseRanks(std::string_view contents) {
  Vocabulary::Entries entries;
  for (int64_t number = 1; !contents.empty(); ++number) {
    const std::string_view text = TakeLine(contents);
    if (text.empty()) continue;
    std::optional<Line> line = ParseLine(text);
    if (!line.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " is no token in Base64 and its rank"));
    }
    entries.emplace_back(std::move(line->token), line->rank);
  }
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Create(std::move(entries)));
  SHORTLIST_RETURN_IF_ERROR(vocabulary.CheckComplete(/*others=*/{}));
  return vocabulary;
}

std::vector<std::string> QwenSpecials() {
  std::vector<std::string> names = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (int i = 0; i < 205; ++i) names.push_back(absl::StrCat("<|extra_", i, "|>"));
  return names;
}

std::vector<std::string> Llama3Specials() {
  std::vector<std::string> names = {"<|begin_of_text|>",
                                    "<|end_of_text|>",
                                    "<|reserved_special_token_0|>",
                                    "<|reserved_special_token_1|>",
                                    "<|reserved_special_token_2|>",
                                    "<|reserved_special_token_3|>",
                                    "<|start_header_id|>",
                                    "<|end_header_id|>",
                                    "<|reserved_special_token_4|>",
                                    "<|eot_id|>"};
  for (int i = 5; i < 251; ++i) names.push_back(absl::StrCat("<|reserved_special_token_", i, "|>"));
  return names;
}

/// The properties that follow from the number of ranks.
struct Family {
  int32_t num_ranks;
  SplitPattern pattern;
  bool normalizes;  // to NFC
  std::vector<std::string> specials;
  const char* bos;  // null: none
  const char* eos;
};

absl::StatusOr<Family> FindFamily(int32_t num_ranks) {
  std::vector<Family> families = {
      {151643, SplitPattern::kQwen2, true, QwenSpecials(), nullptr, "<|endoftext|>"},
      {128000, SplitPattern::kLlama3, false, Llama3Specials(), "<|begin_of_text|>",
       "<|end_of_text|>"}};
  for (Family& family : families) {
    if (family.num_ranks == num_ranks) return std::move(family);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(num_ranks,
                   " ranks, neither Qwen's 151643 nor Llama 3's 128000: how words are "
                   "cut is not known"));
}

absl::StatusOr<std::optional<TokenId>> FindNamed(const std::optional<std::string>& spelling,
                                                 const char* fallback,
                                                 const TokenizerPipeline& pipeline) {
  if (!spelling.has_value() && fallback == nullptr) return std::nullopt;
  const std::string token = spelling.value_or(fallback == nullptr ? "" : fallback);
  const std::optional<int32_t> id = pipeline.FindToken(token);
  if (id.has_value()) return TokenId{*id};
  if (!spelling.has_value()) return std::nullopt;
  return absl::InvalidArgumentError(absl::StrCat("\"", token.substr(0, 80), "\" is no token"));
}

absl::Status AddSpecials(const Family& family, const nlohmann::json& config,
                         TokenizerPipeline& pipeline) {
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.added_tokens, ReadAddedTokensOfConfig(config));
  for (const AddedToken& token : pipeline.added_tokens) {
    if (token.id < family.num_ranks) {
      return absl::InvalidArgumentError(absl::StrCat("added token \"", Excerpt(token.content),
                                                     "\" has id ", token.id, ", which is a rank"));
    }
  }
  if (!pipeline.added_tokens.empty()) return absl::OkStatus();
  int32_t id = family.num_ranks;
  for (const std::string& name : family.specials) {
    pipeline.added_tokens.push_back(
        {.content = name, .id = id++, .normalized = false, .special = true});
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikeRanks(std::string_view contents) { return ParseLine(TakeLine(contents)).has_value(); }

absl::StatusOr<std::unique_ptr<Tokenizer>> ParseRanksTokenizer(std::string_view contents,
                                                               const nlohmann::json& config) {
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, ParseRanks(contents));
  SHORTLIST_ASSIGN_OR_RETURN(const Family family, FindFamily(vocabulary.size()));
  TokenizerPipeline pipeline{.kind = "tiktoken"};
  pipeline.vocabulary = std::make_unique<const Vocabulary>(std::move(vocabulary));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.model, BpeModel::CreateFromRanks(*pipeline.vocabulary));
  if (family.normalizes) pipeline.normalizer.push_back(MakeNormalFormStep(NormalForm::kNfc));
  pipeline.pre_tokenizer.steps.push_back(MakeTilingStep(family.pattern));
  SHORTLIST_RETURN_IF_ERROR(AddSpecials(family, config, pipeline));
  SHORTLIST_ASSIGN_OR_RETURN(const TokenizerConfig settings, ParseTokenizerConfig(config));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.bos, FindNamed(settings.bos, family.bos, pipeline));
  SHORTLIST_ASSIGN_OR_RETURN(pipeline.eos, FindNamed(settings.eos, family.eos, pipeline));
  if (family.bos != nullptr && settings.add_bos.value_or(true) && pipeline.bos.has_value()) {
    pipeline.sequence_template = WithEnds({*pipeline.bos}, {});
  }
  return PipelineTokenizer::Create(std::move(pipeline));
}

}  // namespace shortlist
