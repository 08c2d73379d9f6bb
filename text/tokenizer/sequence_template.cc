#include "text/tokenizer/sequence_template.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/vocabulary.h"

namespace shortlist {
namespace {

using nlohmann::json;
using Part = SequenceTemplate::Part;

constexpr size_t kMaxParts = 1000;  // of a template; real ones have a few

/// Checks that a template names sequence A once, and a template of a pair B once too.
absl::Status CheckTexts(const std::vector<Part>& parts, bool has_second, const char* name) {
  int num_first = 0, num_second = 0;
  for (const Part& part : parts) {
    num_first += part.kind == Part::Kind::kFirst;
    num_second += part.kind == Part::Kind::kSecond;
  }
  if (num_first == 1 && num_second == (has_second ? 1 : 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("template \"", name, "\" names sequence A ",
                                                 num_first, " times and B ", num_second, " times"));
}

/// Appends the tokens that the special token `name` of the template stands for.
absl::Status AppendTokens(const json& special_tokens, const std::string& name, int32_t type_id,
                          std::vector<Part>& parts) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* token, FindMember(special_tokens, name.c_str()));
  if (token == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("no special token \"", Excerpt(name), "\""));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const json* ids, ReadArray(*token, "ids"));
  for (const json& id : *ids) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t value,
                               ToInteger(id, "ids of " + name, 0, kMaxVocabularySize - 1));
    if (parts.size() >= kMaxParts) {
      return absl::InvalidArgumentError(
          absl::StrCat("a template of more than ", kMaxParts, " tokens"));
    }
    parts.push_back(SequenceTemplate::Token(TokenId{static_cast<int32_t>(value)}, type_id));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Part>> ParseParts(const json& spec, const char* name,
                                             const json& special_tokens) {
  constexpr int64_t kMaxTypeId = std::numeric_limits<int32_t>::max();
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, name));
  std::vector<Part> parts;
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(const json* token, FindMember(member, "SpecialToken"));
    SHORTLIST_ASSIGN_OR_RETURN(const json* sequence, FindMember(member, "Sequence"));
    const json* body = token != nullptr ? token : sequence;
    if (body == nullptr) {
      return absl::InvalidArgumentError("a part is neither SpecialToken nor Sequence");
    }
    SHORTLIST_ASSIGN_OR_RETURN(const std::string id, ReadString(*body, "id"));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t type, ReadInteger(*body, "type_id", 0, kMaxTypeId, 0));
    const int32_t type_id = static_cast<int32_t>(type);
    if (token != nullptr) {
      SHORTLIST_RETURN_IF_ERROR(AppendTokens(special_tokens, id, type_id, parts));
    } else if (id == "A") {
      parts.push_back(SequenceTemplate::First(type_id));
    } else if (id == "B") {
      parts.push_back(SequenceTemplate::Second(type_id));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence \"", Excerpt(id), "\" is neither A nor B"));
    }
  }
  SHORTLIST_RETURN_IF_ERROR(CheckTexts(parts, std::string_view(name) == "pair", name));
  return parts;
}

absl::StatusOr<SequenceTemplate> ParseTemplateProcessing(const json& spec) {
  static const json kNone = json::object();
  SHORTLIST_ASSIGN_OR_RETURN(const json* special_tokens, FindMember(spec, "special_tokens"));
  const json& tokens = special_tokens == nullptr ? kNone : *special_tokens;
  SequenceTemplate result;
  SHORTLIST_ASSIGN_OR_RETURN(result.single, ParseParts(spec, "single", tokens));
  SHORTLIST_ASSIGN_OR_RETURN(const json* pair, FindMember(spec, "pair"));
  if (pair != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(result.pair, ParseParts(spec, "pair", tokens));
  }
  return result;
}

/// Reads a member such as "sep": ["[SEP]", 102].
absl::StatusOr<TokenId> ReadToken(const json& spec, const char* name) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* pair, ReadArray(spec, name));
  if (pair->size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is not a pair of token and id"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t id,
                             ToInteger((*pair)[1], name, 0, kMaxVocabularySize - 1));
  return TokenId{static_cast<int32_t>(id)};
}

absl::StatusOr<SequenceTemplate> ParseBertOrRoberta(const json& spec, bool is_roberta) {
  SHORTLIST_ASSIGN_OR_RETURN(const TokenId sep, ReadToken(spec, "sep"));
  SHORTLIST_ASSIGN_OR_RETURN(const TokenId cls, ReadToken(spec, "cls"));
  SequenceTemplate result;
  const int32_t type = is_roberta ? 0 : 1;  // of the second text
  result.single = {SequenceTemplate::Token(cls), SequenceTemplate::First(),
                   SequenceTemplate::Token(sep)};
  result.pair = result.single;
  if (is_roberta) result.pair.push_back(SequenceTemplate::Token(sep));
  result.pair.push_back(SequenceTemplate::Second(type));
  result.pair.push_back(SequenceTemplate::Token(sep, type));
  return result;
}

absl::StatusOr<SequenceTemplate> Parse(const json& spec) {
  if (spec.is_null()) return SequenceTemplate();
  SHORTLIST_ASSIGN_OR_RETURN(const std::string type, ReadString(spec, "type"));
  if (type == "ByteLevel") return SequenceTemplate();  // affects offsets only
  if (type == "TemplateProcessing") return ParseTemplateProcessing(spec);
  if (type == "BertProcessing") return ParseBertOrRoberta(spec, /*is_roberta=*/false);
  if (type == "RobertaProcessing") return ParseBertOrRoberta(spec, /*is_roberta=*/true);
  if (type != "Sequence") {
    return absl::InvalidArgumentError(
        absl::StrCat("type \"", Excerpt(type), "\" is not supported"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "processors"));
  std::optional<SequenceTemplate> result;
  for (const json& member : *members) {
    if (member.is_object() && member.value("type", json()) == "ByteLevel") continue;
    if (result.has_value()) return absl::InvalidArgumentError("more than one template");
    SHORTLIST_ASSIGN_OR_RETURN(result, Parse(member));
  }
  return result.value_or(SequenceTemplate());
}

}  // namespace

SequenceTemplate WithEnds(const std::vector<TokenId>& before, const std::vector<TokenId>& after) {
  const auto append = [&](std::vector<Part>& parts, Part text) {
    for (const TokenId id : before) parts.push_back(SequenceTemplate::Token(id, text.type_id));
    parts.push_back(text);
    for (const TokenId id : after) parts.push_back(SequenceTemplate::Token(id, text.type_id));
  };
  SequenceTemplate result{.single = {}, .pair = {}};
  append(result.single, SequenceTemplate::First());
  append(result.pair, SequenceTemplate::First());
  append(result.pair, SequenceTemplate::Second());
  return result;
}

absl::StatusOr<SequenceTemplate> ParseSequenceTemplate(const json& spec, int32_t vocab_size) {
  absl::StatusOr<SequenceTemplate> result = Parse(spec);
  if (!result.ok()) return Within("post_processor", result.status());
  for (const auto* parts : {&result->single, &result->pair}) {
    for (const Part& part : *parts) {
      if (part.kind == Part::Kind::kToken && Raw(part.token) >= vocab_size) {
        return absl::InvalidArgumentError(absl::StrCat("post_processor: token id ", Raw(part.token),
                                                       " not in [0, ", vocab_size, ")"));
      }
    }
  }
  return result;
}

}  // namespace shortlist
